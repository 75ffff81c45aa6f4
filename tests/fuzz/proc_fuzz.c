/* links: hs_target hs_base */
/* Any bytes as each of the texts of /proc that are parsed: maps, smaps, stat, status. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "target/procfs.h"
#include "target/residency.h"
#include "target/target_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { LINE_BYTES = 160, MAX_TEXT_BYTES = 1 << 16 };

/* They ascend and are disjoint, and what lies at an address is the one that holds it. */
static void check_mappings(const struct hs_target *t)
{
    for (size_t i = 0; i < t->n_mappings; i++) {
        const struct hs_mapping *m = &t->mappings[i];
        assert(m->begin < m->end);
        assert(i == 0 || m[-1].end <= m->begin);
        assert(m->path_at < t->path_text_bytes);
        assert(memchr(hs_mapping_path(t, m), '\0', t->path_text_bytes - m->path_at) != NULL);
        assert(hs_target_mapping_at(t, m->begin) == m);
        assert(hs_target_mapping_at(t, m->end - 1) == m);
        bool is_next = i + 1 < t->n_mappings && m[1].begin == m->end;
        assert(hs_target_mapping_at(t, m->end) == (is_next ? m + 1 : NULL));
    }
}

/* As the kernel writes it: seq_file_path escapes newlines. */
static void write_line(const struct hs_target *t, const struct hs_mapping *m, struct hs_buffer *out)
{
    struct hs_error err = HS_ERROR_INIT;
    const char *path = hs_mapping_path(t, m);
    char line[LINE_BYTES];
    int n = snprintf(line, sizeof line, "%llx-%llx %c%c%c%c %llx 00:01 %llu %*s",
                     (unsigned long long)m->begin, (unsigned long long)m->end,
                     m->readable ? 'r' : '-', m->writable ? 'w' : '-', m->executable ? 'x' : '-',
                     m->shared ? 's' : 'p', (unsigned long long)m->file_offset,
                     (unsigned long long)m->inode, (int)(path[0] == '\0'), "");
    assert(n > 0 && n < LINE_BYTES);
    if (hs_buffer_reserve(out, (size_t)n + 4 * strlen(path) + 1, &err) != HS_OK)
        abort();
    for (int i = 0; i < n; i++)
        hs_buffer_put_u8(out, (uint8_t)line[i]);
    for (; *path != '\0'; path++) {
        const char *text = *path == '\n' ? "\\012" : path;
        for (size_t i = 0; i < (*path == '\n' ? 4 : 1); i++)
            hs_buffer_put_u8(out, (uint8_t)text[i]);
    }
    hs_buffer_put_u8(out, '\n');
}

static void same_mappings(const struct hs_target *a, const struct hs_target *b)
{
    assert(a->n_mappings == b->n_mappings);
    for (size_t i = 0; i < a->n_mappings; i++) {
        const struct hs_mapping *x = &a->mappings[i], *y = &b->mappings[i];
        assert(x->begin == y->begin && x->end == y->end && x->inode == y->inode);
        assert(x->file_offset == y->file_offset && x->readable == y->readable);
        assert(x->writable == y->writable && x->executable == y->executable);
        assert(x->shared == y->shared);
        assert(strcmp(hs_mapping_path(a, x), hs_mapping_path(b, y)) == 0);
    }
}

/* What was understood, written again, is understood as the same; bad text changes nothing. */
static void fuzz_maps(const char *text, size_t n_bytes)
{
    static const char bad[] = "nonsense\n";
    struct hs_error err = HS_ERROR_INIT;
    struct hs_target t = {0}, again = {0};
    struct hs_buffer out = {0};
    if (hs_mappings_parse(&t, text, n_bytes, &err) != HS_OK) {
        assert(t.mappings == NULL && err.message[0] != '\0');
        return;
    }
    check_mappings(&t);
    for (size_t i = 0; i < t.n_mappings; i++)
        write_line(&t, &t.mappings[i], &out);
    if (hs_mappings_parse(&again, (const char *)out.bytes, out.n_bytes, &err) != HS_OK)
        abort();
    same_mappings(&t, &again);
    assert(hs_mappings_parse(&again, bad, sizeof bad - 1, &err) == HS_TARGET);
    same_mappings(&t, &again);
    hs_mappings_fini(&t);
    hs_mappings_fini(&again);
    hs_buffer_fini(&out);
}

static void fuzz_smaps(const char *text, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_residency r = {.text = (char *)text, .n_bytes = n_bytes};
    uint64_t total = 0, found = 0;
    if (hs_residency_parse(&r, &err) != HS_OK)
        abort();
    for (size_t i = 0; i < r.n_entries; i++) {
        const struct hs_residency_entry *e = &r.entries[i];
        assert(e->begin < e->end && e->resident_bytes <= e->end - e->begin);
        assert(i == 0 || e[-1].end <= e->begin);
        assert(hs_residency_of(&r, e->begin, e->end, &found) && found == e->resident_bytes);
        assert(!hs_residency_of(&r, e->begin, e->end - 1, &found));
        total += e->resident_bytes;
    }
    assert(total == r.total_bytes);
    hs_free(r.entries);
}

static void fuzz_status(const char *text)
{
    static const char *const keys[] = {"VmRSS", "SigBlk", "TracerPid",  "NSpid",
                                       "State", "",       "NoNewPrivs", "Uid"};
    struct hs_proc_stat stat;
    char wanted[32];
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        uint64_t value = 0;
        snprintf(wanted, sizeof wanted, "%s:", keys[i]);
        for (int base = 10; base <= 16; base += 6)
            if (hs_proc_number(text, keys[i], base, &value))
                assert(strstr(text, wanted) != NULL);
    }
    if (hs_proc_parse_stat(text, &stat)) {
        const char *after = strrchr(text, ')');
        assert(after != NULL && stat.state == after[2]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    if (n_bytes > MAX_TEXT_BYTES)
        return 0;
    char *text = malloc(n_bytes + 1); /* as hs_proc_read gives it */
    if (text == NULL)
        abort();
    memcpy(text, bytes, n_bytes);
    text[n_bytes] = '\0';
    fuzz_maps(text, n_bytes);
    fuzz_smaps(text, n_bytes);
    fuzz_status(text);
    free(text);
    return 0;
}
