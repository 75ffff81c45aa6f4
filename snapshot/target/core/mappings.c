/* The mappings of a core: its segments laid over the rows of its NT_FILE.
 *
 *   segments   |------r-x-----|      |--rw-|   |--rw-|  |--rw-|     permissions, bytes
 *   NT_FILE    |--libc--|--libc--|   |-libc|                        paths, offsets
 *
 * The kernel writes both of the same list; gcore leaves segments out of which it keeps nothing.
 * What maps(5) calls [heap], [stack], [vdso] and [vvar] is told by the auxiliary vector and by
 * where the kernel puts the heap: behind the program. Which mappings were shared is not in a core:
 * a writable one that was not written out is, unless it is of a program's file. */
#include <elf.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "core_private.h"

/* The range in which the kernel usually maps a program: from ELF_ET_DYN_BASE of asm/elf.h up to the
 * libraries. Where the program is mapped among these instead (ld.so PROGRAM, old static-pie), the
 * heap is put there all the same. */
#define MAPPINGS_PROGRAM_BASE UINT64_C(0x555555554000)
#define MAPPINGS_LIBRARIES UINT64_C(0x700000000000)
/* arch_randomize_brk; older kernels use 32 MiB. */
#define MAPPINGS_HEAP_GAP ((uint64_t)1 << 30)

static const char *const mapping_names[] = {"",       "[heap]", "[stack]",
                                            "[vdso]", "[vvar]", "[vsyscall]"};
enum mapping_name { NAME_NONE, NAME_HEAP, NAME_STACK, NAME_VDSO, NAME_VVAR, NAME_VSYSCALL };
enum { N_NAMES = sizeof mapping_names / sizeof *mapping_names };

struct mappings_make {
    struct hs_core *core;
    struct hs_target *target;
    uint32_t name_at[N_NAMES];
    uint32_t paths_at; /* of the core's paths in the target's */
};

static hs_status make_texts(struct mappings_make *m, struct hs_error *err)
{
    struct hs_target *target = m->target;
    size_t n = m->core->n_path_bytes;

    for (size_t i = 0; i < N_NAMES; i++)
        n += strlen(mapping_names[i]) + 1;
    if (n > UINT32_MAX)
        return hs_fail(err, HS_FORMAT, "cannot keep the paths in '%s': too many",
                       m->core->file->name);
    HS_TRY(HS_GROW(&target->path_text, &target->path_text_capacity, n, err));
    for (size_t i = 0; i < N_NAMES; i++) {
        m->name_at[i] = (uint32_t)target->path_text_bytes;
        size_t n_name = strlen(mapping_names[i]) + 1;
        memcpy(target->path_text + target->path_text_bytes, mapping_names[i], n_name);
        target->path_text_bytes += n_name;
    }
    m->paths_at = (uint32_t)target->path_text_bytes;
    if (m->core->n_path_bytes != 0)
        memcpy(target->path_text + m->paths_at, m->core->paths, m->core->n_path_bytes);
    target->path_text_bytes = n;
    return HS_OK;
}

/* Returns the permissions (PF_R, PF_X) of memory that only NT_FILE tells of: what the file says.
 * Nothing of it was written to. */
static uint32_t make_row_flags(struct hs_core *core, const struct hs_core_row *row)
{
    (void)hs_core_binary_open(core, row->binary);
    const struct hs_core_load *load = hs_core_load_of(core, row);
    return load != NULL ? load->flags & ~(uint32_t)PF_W : PF_R;
}

static bool make_is_shared(struct hs_core *core, const struct hs_core_segment *segment,
                           const struct hs_core_row *row)
{
    static const char *const beginnings[] = {"/dev/zero (deleted)", "/SYSV", "/memfd:"};
    static const char in_memory[] = "/dev/shm/"; /* programs can be run from there, too */
    const char *path = hs_core_path(core, row->binary);

    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(path, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    if (strncmp(path, in_memory, strlen(in_memory)) == 0)
        return !hs_core_binary_open(core, row->binary);
    return segment != NULL && (segment->flags & PF_W) != 0 && segment->n_claimed_bytes == 0 &&
           !hs_core_binary_open(core, row->binary);
}

/* [begin, end) lies in one segment, one row, or both. */
static hs_status make_add(struct mappings_make *m, hs_addr begin, hs_addr end,
                          struct hs_core_source source, struct hs_error *err)
{
    struct hs_target *target = m->target;
    struct hs_core *core = m->core;
    struct hs_mapping mapping = {.begin = begin, .end = end, .path_at = m->name_at[NAME_NONE]};
    const struct hs_core_segment *segment =
        source.segment != HS_CORE_NONE ? &core->segments[source.segment] : NULL;
    uint32_t flags = segment != NULL ? segment->flags : 0;

    if (source.row != HS_CORE_NONE) {
        const struct hs_core_row *row = &core->rows[source.row];
        mapping.file_offset = row->file_offset + (begin - row->begin);
        mapping.inode = (uint64_t)row->binary + 1;
        mapping.path_at = m->paths_at + core->binaries[row->binary].path_at;
        mapping.shared = make_is_shared(core, segment, row);
        if (segment == NULL) /* shared memory was made to be written to */
            flags = mapping.shared ? PF_R | PF_W : make_row_flags(core, row);
    }
    mapping.readable = (flags & PF_R) != 0;
    mapping.writable = (flags & PF_W) != 0;
    mapping.executable = (flags & PF_X) != 0;
    HS_TRY(HS_GROW(&target->mappings, &target->mappings_capacity, target->n_mappings + 1, err));
    HS_TRY(HS_GROW(&core->sources, &core->sources_capacity, target->n_mappings + 1, err));
    core->sources[target->n_mappings] = source;
    target->mappings[target->n_mappings++] = mapping;
    return HS_OK;
}

/* The part of a segment or row that is left from an address on; none: [UINT64_MAX, UINT64_MAX). */
struct piece {
    hs_addr begin, end;
};

static struct piece piece_from(hs_addr begin, hs_addr end, hs_addr at)
{
    return (struct piece){begin > at ? begin : at, end};
}

static struct piece make_segment_piece(const struct hs_core *core, size_t i, hs_addr at)
{
    return i < core->n_segments ? piece_from(core->segments[i].begin, core->segments[i].end, at)
                                : (struct piece){UINT64_MAX, UINT64_MAX};
}

static struct piece make_row_piece(const struct hs_core *core, size_t j, hs_addr at)
{
    return j < core->n_rows ? piece_from(core->rows[j].begin, core->rows[j].end, at)
                            : (struct piece){UINT64_MAX, UINT64_MAX};
}

/* Both lists ascend and are disjoint. */
static hs_status make_merge(struct mappings_make *m, struct hs_error *err)
{
    const struct hs_core *core = m->core;
    size_t i = 0, j = 0;
    hs_addr at = 0;

    while (i < core->n_segments || j < core->n_rows) {
        struct piece s = make_segment_piece(core, i, at), r = make_row_piece(core, j, at);
        bool has_s = s.begin <= r.begin, has_r = r.begin <= s.begin;
        hs_addr end = has_s ? s.end : s.begin, row_end = has_r ? r.end : r.begin;
        if (row_end < end)
            end = row_end;
        struct hs_core_source source = {has_s ? (uint32_t)i : HS_CORE_NONE,
                                        has_r ? (uint32_t)j : HS_CORE_NONE};
        HS_TRY(make_add(m, has_s ? s.begin : r.begin, end, source, err));
        at = end;
        i += s.end <= at;
        j += r.end <= at;
    }
    return HS_OK;
}

static size_t make_index_at(const struct hs_target *target, hs_addr address)
{
    const struct hs_mapping *mapping = hs_target_mapping_at(target, address);
    return mapping != NULL ? (size_t)(mapping - target->mappings) : target->n_mappings;
}

static bool make_is_anonymous(const struct hs_mapping *mapping)
{
    return mapping->inode == 0;
}

/* Known first: the user may have named its file. */
static void make_find_program(struct hs_core *core)
{
    const hs_addr addresses[] = {core->auxv.phdr, core->auxv.entry};

    for (size_t k = 0; k < 2 && core->program == HS_CORE_NONE; k++) {
        size_t at = HS_FIRST_ABOVE(core->rows, core->n_rows, end, addresses[k]);
        if (at < core->n_rows && core->rows[at].begin <= addresses[k])
            core->program = core->rows[at].binary;
    }
}

/* The kernel's own: what it lends to every process. */
static void make_name_kernel(struct mappings_make *m)
{
    struct hs_mapping *all = m->target->mappings;
    size_t at = make_index_at(m->target, m->core->auxv.vdso);

    if (m->core->auxv.vdso != 0 && at < m->target->n_mappings && make_is_anonymous(&all[at])) {
        all[at].path_at = m->name_at[NAME_VDSO];
        for (; at > 0 && all[at - 1].end == all[at].begin && make_is_anonymous(&all[at - 1]) &&
               !all[at - 1].writable && !all[at - 1].executable;
             at--)
            all[at - 1].path_at = m->name_at[NAME_VVAR];
    }
    at = make_index_at(m->target, HS_CORE_VSYSCALL);
    if (at < m->target->n_mappings && make_is_anonymous(&all[at]))
        all[at].path_at = m->name_at[NAME_VSYSCALL];
}

/* The kernel puts the bytes of AT_RANDOM and the program's name there. */
static void make_name_stack(struct mappings_make *m)
{
    const hs_addr addresses[] = {m->core->auxv.random, m->core->auxv.execfn};

    for (size_t k = 0; k < 2; k++) {
        size_t at = make_index_at(m->target, addresses[k]);
        if (addresses[k] == 0)
            continue;
        /* It was written to, so a core that has nothing of it left private memory out: gcore the
         * mapping as well. */
        if (at == m->target->n_mappings) {
            m->core->lacks_anonymous = true;
            continue;
        }
        if (!make_is_anonymous(&m->target->mappings[at]))
            continue;
        m->target->mappings[at].path_at = m->name_at[NAME_STACK];
        const struct hs_core_source *source = &m->core->sources[at];
        m->core->lacks_anonymous = source->segment == HS_CORE_NONE ||
                                   m->core->segments[source->segment].n_claimed_bytes == 0;
        return;
    }
}

/* [*ret_begin, *ret_end) of the program's mappings, its zeroed memory included. */
static bool make_program_extent(const struct mappings_make *m, hs_addr *ret_begin, hs_addr *ret_end)
{
    const struct hs_target *target = m->target;
    hs_addr begin = 0, end = 0;

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *mapping = &target->mappings[i];
        if (m->core->program == HS_CORE_NONE || mapping->inode != (uint64_t)m->core->program + 1)
            continue;
        begin = end == 0 ? mapping->begin : begin;
        end = mapping->end;
    }
    if (end == 0)
        return false;
    hs_addr memory_end = hs_core_memory_end(m->core, m->core->program, begin);
    if (memory_end == 0) { /* unknown: what adjoins it */
        size_t at = make_index_at(target, end);
        memory_end = at < target->n_mappings && make_is_anonymous(&target->mappings[at])
                         ? target->mappings[at].end
                         : end;
    }
    *ret_begin = begin;
    *ret_end = memory_end > end ? memory_end : end;
    return true;
}

static bool make_may_be_heap(const struct hs_mapping *mapping, uint32_t no_name)
{
    return make_is_anonymous(mapping) && mapping->readable && mapping->writable &&
           mapping->path_at == no_name;
}

static void make_name_heap(struct mappings_make *m)
{
    struct hs_target *target = m->target;
    hs_addr begin, end, low, high;

    if (!make_program_extent(m, &begin, &end))
        return;
    if (begin < MAPPINGS_LIBRARIES) {
        low = end;
        high = end + MAPPINGS_HEAP_GAP;
    } else {
        low = MAPPINGS_PROGRAM_BASE;
        high = MAPPINGS_LIBRARIES;
    }
    size_t at = HS_FIRST_ABOVE(target->mappings, target->n_mappings, end, low);
    if (at == target->n_mappings || target->mappings[at].begin > high ||
        !make_may_be_heap(&target->mappings[at], m->name_at[NAME_NONE]))
        return;
    do
        target->mappings[at].path_at = m->name_at[NAME_HEAP];
    while (++at < target->n_mappings &&
           target->mappings[at - 1].end == target->mappings[at].begin &&
           make_is_anonymous(&target->mappings[at]) &&
           target->mappings[at].path_at == m->name_at[NAME_NONE]);
}

hs_status hs_core_make_mappings(struct hs_core *core, struct hs_target *target,
                                struct hs_error *err)
{
    struct mappings_make m = {.core = core, .target = target};

    make_find_program(core);
    HS_TRY(make_texts(&m, err));
    HS_TRY(make_merge(&m, err));
    if (target->n_mappings == 0) {
        (void)hs_fail(err, HS_FORMAT, "cannot use '%s' as a core: no memory is in it",
                      core->file->name);
        return hs_hint(err, "it is cut within its first pages, or no core of a process");
    }
    make_name_kernel(&m);
    make_name_stack(&m);
    make_name_heap(&m);
    return HS_OK;
}
