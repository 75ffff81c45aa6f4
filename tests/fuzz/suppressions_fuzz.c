/* links: hs_analysis */
/* Any bytes as a file of suppressions; its patterns against names, compared with a plain table of
 * which part of a pattern matches which part of a name. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analysis/suppressions.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_FILE_BYTES = 1 << 16, MAX_SHORT = 48, MAX_ITEMS = 32 };

/* matches[i][j]: pattern from i on matches name from j on, up to an end of the pattern's own. */
static bool plain_matches(const char *pattern, const char *name)
{
    static bool matches[MAX_SHORT + 2][MAX_SHORT + 2];
    bool is_tied = pattern[0] == '^';
    pattern += is_tied;
    size_t n_pattern = strlen(pattern), n_name = strlen(name);
    for (size_t i = n_pattern + 1; i-- > 0;)
        for (size_t j = n_name + 1; j-- > 0;) {
            bool is_end = pattern[i] == '$' && i + 1 == n_pattern;
            if (i == n_pattern)
                matches[i][j] = true;
            else if (is_end)
                matches[i][j] = j == n_name;
            else if (pattern[i] == '*')
                matches[i][j] = matches[i + 1][j] || (j < n_name && matches[i][j + 1]);
            else
                matches[i][j] = j < n_name && pattern[i] == name[j] && matches[i + 1][j + 1];
        }
    bool any = matches[0][0];
    for (size_t j = 1; !is_tied && j <= n_name; j++)
        any = any || matches[0][j];
    return any;
}

static void check_pattern(const char *pattern, const char *name)
{
    if (strlen(pattern) <= MAX_SHORT && strlen(name) <= MAX_SHORT)
        assert(hs_pattern_matches(pattern, name) == plain_matches(pattern, name));
}

static void check_items(const struct hs_suppressions *s)
{
    for (size_t i = 0; i < s->n && i < MAX_ITEMS; i++) {
        const struct hs_suppression *item = &s->items[i];
        assert(item->pattern[0] != '\0' && strchr(item->pattern, '\n') == NULL);
        for (size_t k = 0; k < s->n && k < MAX_ITEMS; k++)
            check_pattern(item->pattern, s->items[k].pattern);
        check_pattern(item->pattern, "");
        check_pattern(item->pattern, "std::vector<int>");
        if (strpbrk(item->pattern, "*^$") == NULL)
            assert(hs_suppressions_match(s, item->kind, item->pattern));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_suppressions s = {0};
    char path[64];
    if (n_bytes > MAX_FILE_BYTES)
        return 0;
    int fd = memfd_create("suppressions", MFD_CLOEXEC);
    if (fd < 0 || (n_bytes != 0 && write(fd, bytes, n_bytes) != (ssize_t)n_bytes))
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    hs_status status = hs_suppressions_load(path, &s, &err);
    if (status == HS_OK) {
        check_items(&s);
    } else {
        assert(status == HS_USAGE && err.message[0] != '\0');
        assert(s.text == NULL && s.items == NULL);
    }
    hs_suppressions_fini(&s);
    close(fd);
    return 0;
}
