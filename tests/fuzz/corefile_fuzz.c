/* links: hs_target hs_symbols hs_base */
/* Any bytes as a core file, plain or compressed: its threads, mappings and memory. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/core.h"
#include "target/residency.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_BYTES = 1 << 20, MAX_LOOKED = 64, PAGES = 16, PAGE = 4096, READ_BYTES = 3 * PAGE };
#define NOWHERE "/dev/null" /* a sysroot in which there is no file */

static void check_threads(const struct hs_target *t)
{
    for (size_t i = 1; i < t->n_threads; i++)
        assert(t->threads[i - 1].tid < t->threads[i].tid);
    assert(t->command != NULL);
    for (const char *c = t->command; *c != '\0'; c++)
        assert((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static void check_mapping(const struct hs_target *t, const struct hs_mapping *m)
{
    assert(m->begin < m->end && m->begin % PAGE == 0 && m->end % PAGE == 0);
    assert(m == t->mappings || m[-1].end <= m->begin);
    assert(memchr(hs_mapping_path(t, m), '\0', t->path_text_bytes + 1) != NULL);
    assert(hs_target_mapping_at(t, m->begin) == m && hs_target_mapping_at(t, m->end - 1) == m);
    assert(hs_core_data_bytes(t, m->begin, m->end) <= m->end - m->begin);
}

/* What is read in one piece and in two is the same; what read_some stops at, read refuses. */
static void fuzz_read(struct hs_target *t, hs_addr at, size_t n_bytes)
{
    static uint8_t whole[READ_BYTES], some[READ_BYTES];
    struct hs_error err = HS_ERROR_INIT;
    size_t n = 0;
    hs_status status = hs_target_read_some(t, at, some, n_bytes, &n, &err);
    assert(status != HS_OK || n <= n_bytes);
    bool is_whole = status == HS_OK && n == n_bytes;
    assert((hs_target_read(t, at, whole, n_bytes, &err) == HS_OK) == is_whole);
    assert(!is_whole || memcmp(whole, some, n) == 0);
    if (is_whole && n > 1) {
        memset(some, 0xee, n);
        assert(hs_target_read(t, at, some, n / 2, &err) == HS_OK);
        assert(hs_target_read(t, at + n / 2, some + n / 2, n - n / 2, &err) == HS_OK);
        assert(memcmp(whole, some, n) == 0);
    }
}

static void fuzz_runs(const struct hs_target *t, const struct hs_mapping *m)
{
    struct hs_page_run runs[PAGES];
    hs_addr told, end = m->begin;
    size_t n = hs_target_page_runs(t, m->begin, m->end, runs, PAGES, &told);
    assert(n <= PAGES && told > m->begin);
    for (size_t i = 0; i < n; i++) {
        assert(runs[i].begin >= (end & ~(hs_addr)4095) && runs[i].begin < runs[i].end);
        end = runs[i].end;
    }
}

static void fuzz_mapping(struct hs_target *t, const struct hs_mapping *m)
{
    struct hs_error err = HS_ERROR_INIT;
    char path[4096];
    uint64_t n_bytes = m->end - m->begin < READ_BYTES ? m->end - m->begin : READ_BYTES;
    check_mapping(t, m);
    fuzz_read(t, m->begin, (size_t)n_bytes);
    fuzz_read(t, m->end - 8, 8);
    fuzz_read(t, m->end - 8, 16); /* into what follows, if anything does */
    fuzz_read(t, m->begin + 1, 7);
    fuzz_runs(t, m);
    (void)hs_core_found_path(t, m->begin);
    if (hs_target_file_path(t, m, path, sizeof path, &err) == HS_OK)
        assert(memchr(path, '\0', sizeof path) != NULL);
}

static void fuzz_target(struct hs_target *t)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_residency residency = {0};
    char *text = NULL;
    size_t n = 0;
    check_threads(t);
    for (size_t i = 0; i < t->n_mappings; i++)
        if (i < MAX_LOOKED)
            fuzz_mapping(t, &t->mappings[i]);
        else
            check_mapping(t, &t->mappings[i]);
    fuzz_read(t, 0, 16);
    fuzz_read(t, UINT64_MAX - 7, 16);
    assert(hs_target_proc(t, "maps", &text, &n, &err) == HS_TARGET);
    if (hs_target_stop(t, &err) != HS_OK || hs_target_freeze(t, &err) != HS_OK ||
        hs_residency_read(&residency, t, &err) != HS_OK)
        abort();
    hs_target_resume(t);
    hs_residency_fini(&residency);
    assert(strlen(hs_core_note(t)) < 4096 && strchr(hs_core_note(t), '\n') == NULL);
    assert(strcmp(hs_core_sysroot(t), NOWHERE) == 0);
    assert(hs_core_program_path(t) == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_target target = {0};
    char path[64];
    if (n_bytes > MAX_BYTES)
        return 0;
    int fd = memfd_create("core", MFD_CLOEXEC);
    if (fd < 0 || (n_bytes != 0 && write(fd, bytes, n_bytes) != (ssize_t)n_bytes))
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    struct hs_core_options options = {.path = path, .sysroot = NOWHERE};
    hs_status status = hs_core_open(&options, &target, &err);
    assert(status == HS_OK || status == HS_FORMAT || status == HS_LIMIT || status == HS_IO);
    if (status == HS_OK) {
        fuzz_target(&target);
        hs_target_close(&target);
    } else {
        assert(err.message[0] != '\0');
    }
    close(fd);
    return 0;
}
