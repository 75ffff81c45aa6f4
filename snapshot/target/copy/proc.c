/* smaps of the moment of a copy. The copy has the same mappings, but page tables only for what it
 * would otherwise lose: of private memory. What is resident of files and shared memory is counted
 * in the process itself, which may have changed that since. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "copy_private.h"
#include "target/procfs.h"
#include "target/residency.h"

#define PROC_LINES_BYTES 96
#define PROC_RUNS ((size_t)256)
/* More than that is not counted where the kernel does not list pages: 32 GiB of addresses. */
#define PROC_COUNTED_BYTES_MAX ((uint64_t)32 << 30)

static bool proc_is_elsewhere(const struct hs_target *target, const struct hs_mapping *m)
{
    const char *path = hs_mapping_path(target, m);

    return (m->shared || m->inode != 0) &&
           (strncmp(path, "/dev/", 5) != 0 || strncmp(path, "/dev/shm/", 9) == 0 ||
            strncmp(path, "/dev/zero", 9) == 0);
}

static uint64_t proc_count_present(const struct hs_memory *memory, hs_addr begin, hs_addr end)
{
    struct hs_page_run runs[PROC_RUNS];
    uint64_t n_bytes = 0;
    hs_addr told;

    for (; begin < end; begin = told) {
        size_t n = hs_memory_page_runs(memory, begin, end, runs, PROC_RUNS, &told);
        for (size_t i = 0; i < n; i++)
            n_bytes += runs[i].kind & HS_PAGES_PRESENT ? runs[i].end - runs[i].begin : 0;
        if (told <= begin)
            break;
    }
    return n_bytes;
}

static uint64_t proc_saved_bytes(const struct hs_copy_saved *saved, hs_addr begin, hs_addr end)
{
    uint64_t n_bytes = 0;
    bool is_area = false;

    for (size_t i = 0; i < saved->n_areas; i++)
        is_area |= saved->areas[i].begin >= begin && saved->areas[i].end <= end;
    for (size_t i = 0; is_area && i < saved->n_runs; i++)
        if (saved->runs[i].begin >= begin && saved->runs[i].end <= end)
            n_bytes += saved->runs[i].end - saved->runs[i].begin;
    return n_bytes;
}

static hs_status proc_put(struct hs_buffer *text, const struct hs_mapping *m, uint64_t resident,
                          struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(text, PROC_LINES_BYTES, err));
    int n = snprintf((char *)text->bytes + text->n_bytes, PROC_LINES_BYTES,
                     "%llx-%llx %c%c%c%c\nRss: %llu kB\n", (unsigned long long)m->begin,
                     (unsigned long long)m->end, m->readable ? 'r' : '-', m->writable ? 'w' : '-',
                     m->executable ? 'x' : '-', m->shared ? 's' : 'p',
                     (unsigned long long)(resident / 1024));
    text->n_bytes += (size_t)n;
    return HS_OK;
}

static hs_status proc_smaps(const struct hs_target *target, const struct hs_residency *copied,
                            struct hs_buffer *text, struct hs_error *err)
{
    uint64_t n_counted = 0;

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        uint64_t resident = 0, elsewhere = 0;
        (void)hs_residency_of(copied, m->begin, m->end, &resident);
        if (proc_is_elsewhere(target, m) && n_counted < PROC_COUNTED_BYTES_MAX) {
            n_counted += target->live.lists_pages ? 0 : m->end - m->begin;
            elsewhere = proc_count_present(&target->live, m->begin, m->end);
        } else {
            elsewhere = proc_saved_bytes(&target->copy->saved, m->begin, m->end);
        }
        HS_TRY(proc_put(text, m, elsewhere > resident ? elsewhere : resident, err));
    }
    return HS_OK;
}

hs_status hs_copy_proc(const struct hs_target *target, const char *name, char **ret,
                       size_t *ret_n_bytes, struct hs_error *err)
{
    struct hs_residency copied = {0};
    struct hs_buffer text = {0};

    if (strcmp(name, "smaps") != 0)
        return hs_proc_read_of(strcmp(name, "maps") == 0 ? target->copy->memory.pid : target->pid,
                               name, ret, ret_n_bytes, err);
    hs_status status =
        hs_proc_read_of(target->copy->memory.pid, name, &copied.text, &copied.n_bytes, err);
    if (status == HS_OK)
        status = hs_residency_parse(&copied, err);
    if (status == HS_OK)
        status = proc_smaps(target, &copied, &text, err);
    if (status == HS_OK)
        status = hs_buffer_reserve(&text, 1, err);
    hs_residency_fini(&copied);
    if (status != HS_OK) {
        hs_buffer_fini(&text);
        return status;
    }
    text.bytes[text.n_bytes] = '\0';
    *ret = (char *)text.bytes;
    *ret_n_bytes = text.n_bytes;
    return HS_OK;
}
