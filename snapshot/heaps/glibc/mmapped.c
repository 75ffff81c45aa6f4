/* Blocks with a mapping of their own. No list of them exists: their mappings are searched for the
 * headers that malloc wrote at page starts, and mp_ says how many there are and how many bytes.
 *
 * memalign moves such a block forward in its mapping and leaves the header at the start as it was;
 * realloc (mremap) then changes only the real one. So the real one is looked for first: an
 * alignment says where it can be, it says how far in it is, and its end is the end of a page. Where
 * mremap moved the mapping, only alignments below a page still tell the place: when what is found
 * does not add up, all pages of such mappings are looked at. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "heap.h"
#include "symbols/elf.h"

/* The largest mapping in which an allocator gives blocks; larger ones are reserves, such as a
 * sanitizer's. */
#define MAPPING_MAX ((uint64_t)1 << 40)
#define PAGES_MAX ((uint64_t)1 << 24)
#define FALSE_MAX 64

/* Returns the end of .bss if `begin` lies in it: what malloc mapped may have been merged with it.
 * There may also be something of malloc's in the gaps between an object's segments. */
static hs_addr behind_bss(const struct glibc_state *g, hs_addr begin)
{
    const struct hs_object *object = hs_objects_object_at(g->process->objects, begin);
    const struct hs_elf_segment *segment = NULL;

    if (object != NULL && object->elf != NULL)
        segment = hs_elf_segment_at(object->elf, begin - object->bias);
    if (segment == NULL)
        return begin;
    hs_addr end = segment->vaddr + segment->n_memory_bytes + object->bias;
    return end > begin ? (end + GLIBC_PAGE - 1) & ~(GLIBC_PAGE - 1) : begin;
}

bool hs_glibc_next_page(const struct glibc_state *g, hs_addr *page, hs_addr end)
{
    hs_addr begin, part_end;

    if (*page >= end || !hs_image_next_present(g->process->image, *page, end, &begin, &part_end))
        return false;
    if (begin != *page) /* a page begins there: pages are present or not as a whole */
        *page = (begin + GLIBC_PAGE - 1) & ~(GLIBC_PAGE - 1);
    return *page < end;
}

static bool is_huge(const struct glibc_state *g, const struct hs_mapping *mapping)
{
    return strncmp(hs_mapping_path(g->process->target, mapping), "/anon_hugepage", 14) == 0;
}

/* Memory of the process alone, of no file and of no more than a block. */
static bool is_private(const struct glibc_state *g, const struct hs_mapping *mapping)
{
    const char *path = hs_mapping_path(g->process->target, mapping);

    return !mapping->shared && mapping->end - mapping->begin <= MAPPING_MAX &&
           (is_huge(g, mapping) ||
            (mapping->inode == 0 && (path[0] == '\0' || strncmp(path, "[anon", 5) == 0)));
}

bool hs_glibc_may_map(const struct glibc_state *g, const struct hs_mapping *mapping,
                      hs_addr *ret_begin)
{
    if (!mapping->readable || !mapping->writable || !is_private(g, mapping))
        return false;
    *ret_begin = is_huge(g, mapping) ? mapping->begin : behind_bss(g, mapping->begin);
    return *ret_begin < mapping->end;
}

/* A mapped chunk's header at `p`, `offset` bytes into its mapping of at most `room` bytes. */
static bool header_read(struct glibc_view *view, hs_addr p, uint64_t offset, uint64_t room,
                        bool has_inner_size, struct glibc_mmapped *ret)
{
    uint64_t before, size;

    if (!hs_glibc_word(view, p, &before) || !hs_glibc_word(view, p + 8, &size))
        return false;
    if (has_inner_size)
        before &= ~(uint64_t)1; /* huge pages */
    if (before != offset || (size & GLIBC_FLAGS) != GLIBC_IS_MMAPPED)
        return false;
    size &= ~(uint64_t)GLIBC_FLAGS;
    uint64_t length = size + offset + (has_inner_size ? 16 : 0);
    if (size < GLIBC_MIN_CHUNK || length < size || length % GLIBC_PAGE != 0 || length > room)
        return false;
    ret->begin = p - offset;
    ret->end = ret->begin + length;
    ret->user = p + 16;
    ret->usable_bytes = size - (has_inner_size ? 8 : 16);
    return true;
}

struct mmapped_search {
    struct glibc_view view;
    uint32_t instance;
    bool has_inner_size;
    bool is_thorough;
    uint64_t n_left; /* pages to look at in thorough searches: hostile headers make them overlap */
};

/* A header that a moved mapping has at the end of one of its first pages. */
static bool moved_read(struct mmapped_search *s, hs_addr m, uint64_t room, uint64_t stale,
                       struct glibc_mmapped *ret)
{
    uint64_t most = stale < room ? stale : room;

    hs_addr part, part_end;

    for (uint64_t user = GLIBC_PAGE; user + 16 < most && s->n_left > 0; user += GLIBC_PAGE) {
        if (!hs_image_next_present(s->view.image, m + user - 16, m + most, &part, &part_end))
            break;
        if (part > m + user - 16) /* a page's begin: a header may end with it */
            user = (part - m + GLIBC_PAGE) & ~(GLIBC_PAGE - 1);
        s->n_left--;
        if (header_read(&s->view, m + user - 16, user - 16, room, s->has_inner_size, ret))
            return true;
    }
    return false;
}

/* The block of the mapping that begins at page `m`. */
static bool mmapped_read(struct mmapped_search *s, hs_addr m, uint64_t room,
                         struct glibc_mmapped *ret)
{
    struct glibc_view *view = &s->view;
    bool has_inner_size = s->has_inner_size;
    uint64_t before, stale;

    if (!hs_glibc_word(view, m, &before) || !hs_glibc_word(view, m + 8, &stale) ||
        (before & ~(uint64_t)has_inner_size) != 0 || (stale & GLIBC_FLAGS) != GLIBC_IS_MMAPPED ||
        (stale & ~(uint64_t)GLIBC_FLAGS) == 0)
        return false;
    for (uint64_t align = 32; align < room; align <<= 1) {
        hs_addr user = (m + 16 + align - 1) & ~(align - 1);
        if (user - 16 - m < GLIBC_MIN_CHUNK)
            user += align;
        uint64_t offset = user - 16 - m;
        if (offset + GLIBC_MIN_CHUNK <= room &&
            header_read(view, user - 16, offset, room, has_inner_size, ret))
            return true;
    }
    return (s->is_thorough && moved_read(s, m, room, stale, ret)) ||
           header_read(view, m, 0, room, has_inner_size, ret);
}

static hs_status search_run(struct glibc_state *g, struct mmapped_search *s, hs_addr begin,
                            hs_addr end, struct hs_error *err)
{
    while (hs_glibc_next_page(g, &begin, end)) {
        const struct glibc_segment *known = hs_glibc_segment_at(g, begin);
        struct glibc_mmapped found = {.instance = s->instance};
        if (known != NULL) {
            begin = (known->end + GLIBC_PAGE - 1) & ~(GLIBC_PAGE - 1);
        } else if (mmapped_read(s, begin, end - begin, &found)) {
            HS_TRY(HS_GROW(&g->mmapped, &g->mmapped_capacity, g->n_mmapped + 1, err));
            g->mmapped[g->n_mmapped++] = found;
            g->mmapped_bytes += found.end - found.begin;
            begin = found.end;
        } else {
            begin += GLIBC_PAGE;
        }
    }
    return HS_OK;
}

/* One mapping of malloc's is several of the kernel's where a program has said something of part of
 * it (madvise, mlock, mprotect): numpy does of all large arrays, but for the page that they begin
 * in. From mapping *number on; false: there are no more. */
static bool next_run(const struct glibc_state *g, size_t *number, hs_addr *ret_begin,
                     hs_addr *ret_end)
{
    const struct hs_target *target = g->process->target;

    while (*number < target->n_mappings &&
           !hs_glibc_may_map(g, &target->mappings[*number], ret_begin))
        ++*number;
    if (*number == target->n_mappings)
        return false;
    do {
        *ret_end = target->mappings[(*number)++].end;
    } while (*number < target->n_mappings && target->mappings[*number].begin == *ret_end &&
             is_private(g, &target->mappings[*number]));
    return true;
}

static hs_status search_all(struct glibc_state *g, bool is_thorough, struct hs_error *err)
{
    hs_addr begin, end;
    struct mmapped_search search = {
        .view.image = g->process->image,
        .has_inner_size = g->instances[0].layout->has_inner_mmap_size,
        .is_thorough = is_thorough,
        .n_left = PAGES_MAX,
    };

    g->n_mmapped = 0;
    g->mmapped_bytes = 0;
    for (size_t i = 0; next_run(g, &i, &begin, &end);)
        HS_TRY(search_run(g, &search, begin, end, err));
    return HS_OK;
}

uint64_t hs_glibc_mmapped_told(const struct glibc_state *g, uint64_t *ret_bytes, bool *ret_is_told)
{
    uint64_t n = 0;
    bool is_told = g->n_instances > 0, drifts = false;

    *ret_bytes = 0;
    for (size_t i = 0; i < g->n_instances; i++) {
        n += g->instances[i].params.n_mmaps;
        *ret_bytes += g->instances[i].params.mmapped_bytes;
        is_told &= g->instances[i].params.is_found;
        drifts |= g->instances[i].layout->has_inner_mmap_size;
    }
    *ret_is_told = is_told;
    /* After 2.42 each mremap adds 16 bytes to the counter that are not there. */
    if (drifts && n == g->n_mmapped && *ret_bytes > g->mmapped_bytes &&
        (*ret_bytes - g->mmapped_bytes) % 16 == 0)
        *ret_bytes = g->mmapped_bytes;
    return n;
}

/* The smallest of those from number `from` on by size, then by place. */
static size_t smallest_from(const struct glibc_mmapped *mmapped, size_t n, size_t from)
{
    size_t at = from;

    for (size_t i = from; i < n; i++)
        if (mmapped[i].end - mmapped[i].begin < mmapped[at].end - mmapped[at].begin)
            at = i;
    return at;
}

/* Puts the n_first smallest in front; their bytes in all. Others are no smaller than *ret_next. */
static uint64_t smallest_first(struct glibc_state *g, size_t n_first, uint64_t *ret_next)
{
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < n_first; i++) {
        size_t at = smallest_from(g->mmapped, g->n_mmapped, i);
        struct glibc_mmapped smallest = g->mmapped[at];
        g->mmapped[at] = g->mmapped[i];
        g->mmapped[i] = smallest;
        n_bytes += smallest.end - smallest.begin;
    }
    size_t next = smallest_from(g->mmapped, g->n_mmapped, n_first);
    *ret_next = next < g->n_mmapped ? g->mmapped[next].end - g->mmapped[next].begin : UINT64_MAX;
    return n_bytes;
}

static int compare_mmapped(const void *a, const void *b)
{
    const struct glibc_mmapped *x = a, *y = b;

    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Drops false headers: what a block's mapping held before may look like one, in a pool of Python's,
 * say. The counters are exact, so as many headers are false as there are too many, with as many
 * bytes. malloc maps no small blocks, so they are the smallest, if those have these bytes and all
 * others are larger. */
static void drop_false(struct glibc_state *g)
{
    uint64_t n_bytes, next;
    bool is_told;
    uint64_t n = hs_glibc_mmapped_told(g, &n_bytes, &is_told);

    if (!is_told || g->n_mmapped <= n || g->n_mmapped - n > FALSE_MAX ||
        g->mmapped_bytes <= n_bytes)
        return;
    size_t n_false = (size_t)(g->n_mmapped - n);
    uint64_t false_bytes = smallest_first(g, n_false, &next);
    const struct glibc_mmapped *largest = &g->mmapped[n_false - 1];
    if (false_bytes == g->mmapped_bytes - n_bytes && largest->end - largest->begin < next) {
        g->n_mmapped -= n_false;
        memmove(g->mmapped, g->mmapped + n_false, g->n_mmapped * sizeof *g->mmapped);
        g->mmapped_bytes = n_bytes;
    }
    qsort(g->mmapped, g->n_mmapped, sizeof *g->mmapped, compare_mmapped);
}

hs_status hs_glibc_find_mmapped(struct glibc_state *g, struct hs_error *err)
{
    uint64_t n_bytes, n;
    bool is_told;

    n = hs_glibc_mmapped_told(g, &n_bytes, &is_told);
    g->mmapped_is_sure = is_told;
    if (is_told && n == 0)
        return HS_OK;
    HS_TRY(search_all(g, false, err));
    drop_false(g);
    if (is_told && (n != g->n_mmapped || n_bytes != g->mmapped_bytes))
        HS_TRY(search_all(g, true, err));
    drop_false(g);
    n = hs_glibc_mmapped_told(g, &n_bytes, &is_told);
    g->mmapped_is_sure = is_told && n == g->n_mmapped && n_bytes == g->mmapped_bytes;
    return HS_OK;
}
