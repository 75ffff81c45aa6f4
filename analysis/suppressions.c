#include "analysis/suppressions.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"

/* Does `pattern` match a beginning of `name` (all of it when the pattern ends in `$`)? Greedy with
 * one place to go back to: the last `*`. */
static bool matches_here(const char *pattern, const char *name)
{
    const char *star = NULL, *resume = NULL;
    for (;;) {
        if (*pattern == '\0')
            return true;
        if (pattern[0] == '$' && pattern[1] == '\0' && *name == '\0')
            return true;
        if (*pattern == '*') {
            star = ++pattern;
            resume = name;
            continue;
        }
        if (*name != '\0' && *pattern == *name && !(pattern[0] == '$' && pattern[1] == '\0')) {
            pattern++;
            name++;
            continue;
        }
        if (star == NULL || *resume == '\0')
            return false;
        pattern = star;
        name = ++resume;
    }
}

bool hs_pattern_matches(const char *pattern, const char *name)
{
    if (pattern[0] == '^')
        return matches_here(pattern + 1, name);
    for (;; name++) {
        if (matches_here(pattern, name))
            return true;
        if (*name == '\0' || pattern[0] == '*') /* a star has tried every place already */
            return false;
    }
}

static bool starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

static char *trim(char *line)
{
    size_t n = strlen(line);
    while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
        line[--n] = '\0';
    return line + strspn(line, " \t");
}

static hs_status add_line(struct hs_suppressions *s, char *line, uint64_t number, const char *path,
                          struct hs_error *err)
{
    struct hs_suppression item = {0};
    line = trim(line);
    if (line[0] == '\0' || line[0] == '#')
        return HS_OK;
    if (starts_with(line, "type:")) {
        item = (struct hs_suppression){line + strlen("type:"), HS_SUPPRESS_TYPE};
    } else if (starts_with(line, "root:")) {
        item = (struct hs_suppression){line + strlen("root:"), HS_SUPPRESS_ROOT};
    }
    if (item.pattern == NULL || item.pattern[0] == '\0') {
        (void)hs_fail(err, HS_USAGE, "cannot read line %llu of '%s': '%s' is no suppression",
                      (unsigned long long)number, path, line);
        return hs_hint(err, "a line is type:PATTERN, root:PATTERN or a # comment");
    }
    HS_TRY(HS_GROW(&s->items, &s->capacity, s->n + 1, err));
    s->items[s->n++] = item;
    return HS_OK;
}

static hs_status load(const char *path, const struct hs_map *map, struct hs_suppressions *s,
                      struct hs_error *err)
{
    uint64_t number = 0;
    HS_TRY(HS_ALLOC(&s->text, map->n_bytes + 1, err));
    if (map->n_bytes != 0)
        memcpy(s->text, map->bytes, map->n_bytes);
    for (char *line = s->text, *end = s->text + map->n_bytes; line < end;) {
        char *stop = memchr(line, '\n', (size_t)(end - line));
        char *next = stop != NULL ? stop + 1 : end;
        if (stop != NULL)
            *stop = '\0';
        HS_TRY(add_line(s, line, ++number, path, err));
        line = next;
    }
    return HS_OK;
}

hs_status hs_suppressions_load(const char *path, struct hs_suppressions *ret, struct hs_error *err)
{
    struct hs_suppressions s = {0};
    struct hs_map map;
    HS_TRY(hs_map_open(path, &map, err));
    hs_status status = load(path, &map, &s, err);
    hs_map_close(&map);
    if (status == HS_OK)
        *ret = s;
    else
        hs_suppressions_fini(&s);
    return status;
}

void hs_suppressions_fini(struct hs_suppressions *suppressions)
{
    hs_free(suppressions->text);
    hs_free(suppressions->items);
    *suppressions = (struct hs_suppressions){0};
}

bool hs_suppressions_match(const struct hs_suppressions *suppressions,
                           enum hs_suppression_kind kind, const char *name)
{
    for (size_t i = 0; i < suppressions->n; i++)
        if (suppressions->items[i].kind == kind &&
            hs_pattern_matches(suppressions->items[i].pattern, name))
            return true;
    return false;
}
