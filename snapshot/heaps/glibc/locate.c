/* Finding the copies of malloc in a process: each has a main arena in the data of its module.
 *
 * By structure, which no stripping removes: a main arena has 127 doubly linked lists in a row, and
 * each list head is its own neighbour (an empty list) or is the neighbour of its neighbours. */
#include <string.h>

#include "base/alloc.h"
#include "heap.h"
#include "symbols/elf.h"

enum {
    BINS_ENOUGH = 124, /* of 127: a thread may be in the middle of unlinking */
    INSTANCES_MAX = 16,
    ARENAS_MAX = 1 << 16, /* of all instances */
    SHIFT_MAX = 4,        /* entries by which an array may be taken to begin too early */
};

const struct glibc_layout hs_glibc_layouts[GLIBC_N_LAYOUTS] = {
    {.fastbins = 16, .top = 96, .bins = 112},            /* 2.27 to 2.42 */
    {.fastbins = 8, .top = 88, .bins = 104},             /* 2.26 */
    {.top = 8, .bins = 24, .has_inner_mmap_size = true}, /* after 2.42 */
};

bool hs_glibc_view_move(struct glibc_view *view, hs_addr address)
{
    const struct hs_image_range *range = hs_image_find(view->image, address, NULL);

    if (range == NULL)
        return false;
    view->begin = range->begin;
    view->end = range->end;
    view->bytes = range->bytes;
    return true;
}

/* Is the pair of words at `at` the head of a doubly linked list of chunks? `other` is used for the
 * neighbours, which lie elsewhere. */
static bool bin_holds(struct glibc_view *view, struct glibc_view *other, hs_addr at)
{
    hs_addr head = at - 16;
    uint64_t forward, backward, back, forth = 0;

    if (!hs_glibc_word(view, at, &forward) || !hs_glibc_word(view, at + 8, &backward))
        return false;
    if (forward == head && backward == head)
        return true;
    if (forward == 0 || backward == 0 || ((forward | backward) & 15) != 0)
        return false;
    return hs_glibc_word(other, forward + 24, &back) && back == head &&
           hs_glibc_word(other, backward + 16, &forth) && forth == head;
}

unsigned hs_glibc_bins_held(struct glibc_view *view, hs_addr bins)
{
    struct glibc_view other = {.image = view->image};
    unsigned n = 0;

    for (unsigned i = 0; i < GLIBC_N_BINS; i++)
        n += bin_holds(view, &other, bins + 16 * i);
    return n;
}

/* Heads seen along every second word: how many of the last 127 hold. */
struct bin_window {
    uint64_t seen[2]; /* a bit for each of the last 128, newest lowest */
    unsigned n;       /* of the last 127 */
};

static unsigned bin_window_push(struct bin_window *w, bool holds)
{
    unsigned leaves = w->seen[1] >> 62 & 1; /* the 127th oldest */

    w->n += holds;
    w->n -= leaves;
    w->seen[1] = w->seen[1] << 1 | w->seen[0] >> 63;
    w->seen[0] = w->seen[0] << 1 | holds;
    return w->n;
}

static hs_addr arena_word(const struct glibc_state *g, hs_addr arena, unsigned offset)
{
    uint64_t word = 0;

    hs_image_u64(g->process->image, arena + offset, &word);
    return word;
}

/* Does the ring of arenas lead back to `main_arena`? *ret_n: how many it has. Brent's search ends a
 * ring that closes elsewhere. */
static bool ring_closes(const struct glibc_state *g, hs_addr main_arena, unsigned next,
                        size_t *ret_n)
{
    hs_addr at = main_arena, mark = main_arena;
    size_t n = 0, until = 2;

    do {
        if (!hs_image_u64(g->process->image, at + next, &at) || (at & 7) != 0 || ++n > ARENAS_MAX)
            return false;
        if (at == mark && at != main_arena)
            return false;
        if (n == until) {
            mark = at;
            until *= 2;
        }
    } while (at != main_arena);
    *ret_n = n;
    return true;
}

static const struct glibc_layout *layout_choose(const struct glibc_state *g, hs_addr bins)
{
    size_t n;

    for (size_t i = 0; i < GLIBC_N_LAYOUTS; i++)
        if (ring_closes(g, bins - hs_glibc_layouts[i].bins,
                        hs_glibc_layouts[i].bins + (unsigned)GLIBC_NEXT, &n))
            return &hs_glibc_layouts[i];
    return NULL;
}

static hs_status instance_add(struct glibc_state *g, hs_addr main_arena,
                              const struct glibc_layout *layout, unsigned held,
                              struct hs_error *err)
{
    for (size_t i = 0; i < g->n_instances; i++)
        if (g->instances[i].main_arena == main_arena)
            return HS_OK;
    if (g->n_instances == INSTANCES_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&g->instances, &g->instances_capacity, g->n_instances + 1, err));
    g->instances[g->n_instances++] =
        (struct glibc_instance){.main_arena = main_arena, .layout = layout, .bins_held = held};
    return HS_OK;
}

/* An array of bins begins at `bins` or a few entries later: where most of them hold. */
static hs_status bins_found(struct glibc_state *g, struct glibc_view *view, hs_addr bins,
                            struct hs_error *err)
{
    unsigned best = 0;
    hs_addr at = bins;

    for (unsigned i = 0; i < SHIFT_MAX; i++) {
        unsigned held = hs_glibc_bins_held(view, bins + 16 * i);
        if (held > best) {
            best = held;
            at = bins + 16 * i;
        }
    }
    const struct glibc_layout *layout = layout_choose(g, at);
    if (layout == NULL)
        layout =
            &hs_glibc_layouts[0]; /* the ring is being changed: noticed again in instance_arenas */
    return instance_add(g, at - layout->bins, layout, best, err);
}

/* Looks through [begin, end) of module data, which was touched. Linear: once there are as many
 * instances as there can be, following further rings would lead to nothing. */
static hs_status scan_part(struct glibc_state *g, hs_addr begin, hs_addr end, struct hs_error *err)
{
    struct glibc_view view = {.image = g->process->image}, other = view;
    struct bin_window windows[2] = {0};
    hs_addr skip_until = 0;

    for (hs_addr a = (begin + 7) & ~(hs_addr)7; a + 16 <= end && g->n_instances < INSTANCES_MAX;
         a += 8) {
        struct bin_window *w = &windows[a >> 3 & 1];
        if (bin_window_push(w, bin_holds(&view, &other, a)) < BINS_ENOUGH || a < skip_until)
            continue;
        HS_TRY(bins_found(g, &view, a - 16 * (GLIBC_N_BINS - 1), err));
        skip_until = a + GLIBC_BINS_BYTES;
    }
    return HS_OK;
}

/* An array of bins that some arena is in use with lies in pages that were written. */
static hs_status scan_data(struct glibc_state *g, hs_addr begin, hs_addr end, struct hs_error *err)
{
    hs_addr part, part_end;

    for (; hs_image_next_present(g->process->image, begin, end, &part, &part_end); begin = part_end)
        HS_TRY(scan_part(g, part, part_end, err));
    return HS_OK;
}

/* File-backed private data, or the zeroed memory that follows it in the module. */
static bool is_module_data(const struct hs_target *target, size_t at, bool previous)
{
    const struct hs_mapping *m = &target->mappings[at];

    if (!m->readable || !m->writable || m->shared)
        return false;
    if (m->inode != 0)
        return hs_mapping_path(target, m)[0] == '/' &&
               strncmp(hs_mapping_path(target, m), "/anon_hugepage", 14) != 0;
    return previous && at > 0 && m[-1].end == m->begin;
}

static hs_status scan_modules(struct glibc_state *g, struct hs_error *err)
{
    const struct hs_target *target = g->process->target;
    bool previous = false;

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        bool is_data = is_module_data(target, i, previous);
        previous = m->inode != 0 && !m->shared && is_data;
        if (!is_data)
            continue;
        hs_addr end = m->end;
        if (m->inode == 0) { /* what was mapped behind .bss is none of it */
            const struct hs_object *object = hs_objects_object_at(g->process->objects, m->begin);
            if (object != NULL && object->end < end)
                end = object->end;
        }
        HS_TRY(scan_data(g, m->begin, end, err));
    }
    return HS_OK;
}

/* Finds main arenas by the symbol `main_arena`: of use when too many of an arena's lists are
 * damaged. */
static hs_status ask_symbols(struct glibc_state *g, struct hs_error *err)
{
    struct glibc_view view = {.image = g->process->image};

    for (size_t i = 0; i < g->process->objects->n; i++) {
        const struct hs_object *object = &g->process->objects->objects[i];
        const struct hs_elf_symbol *symbol = NULL;
        if (object->elf != NULL)
            symbol = hs_elf_find(object->elf, "main_arena");
        if (symbol == NULL && object->debug != NULL)
            symbol = hs_elf_find(object->debug, "main_arena");
        if (symbol == NULL || symbol->kind != HS_SYMBOL_DATA)
            continue;
        hs_addr address = symbol->vaddr + object->bias;
        for (size_t k = 0; k < GLIBC_N_LAYOUTS; k++) {
            const struct glibc_layout *layout = &hs_glibc_layouts[k];
            unsigned held = hs_glibc_bins_held(&view, address + layout->bins);
            if (symbol->n_bytes == layout->bins + (uint64_t)GLIBC_STATE_TAIL &&
                held > GLIBC_N_BINS / 2)
                HS_TRY(instance_add(g, address, layout, held, err));
        }
    }
    return HS_OK;
}

/* The main arena first, then as far as the ring is sound. */
static hs_status instance_arenas(struct glibc_state *g, uint32_t number, struct hs_error *err)
{
    struct glibc_instance *instance = &g->instances[number];
    const struct glibc_layout *layout = instance->layout;
    unsigned next = layout->bins + (unsigned)GLIBC_NEXT;
    hs_addr at = instance->main_arena;
    size_t n = 1;

    if (!ring_closes(g, at, next, &n) || n > ARENAS_MAX - g->n_arenas) {
        g->process->findings->n_torn++;
        n = 1;
    }
    instance->first_arena = g->n_arenas;
    for (size_t i = 0; i < n; i++) {
        HS_TRY(HS_GROW(&g->arenas, &g->arenas_capacity, g->n_arenas + 1, err));
        struct glibc_arena arena = {.address = at, .instance = number};
        arena.top = arena_word(g, at, layout->top);
        arena.system_mem = arena_word(g, at, layout->bins + (unsigned)GLIBC_SYSTEM_MEM);
        hs_image_u32(g->process->image, at + 4, &arena.flags);
        g->arenas[g->n_arenas++] = arena;
        at = arena_word(g, at, next);
    }
    instance->n_arenas = n;
    return HS_OK;
}

/* A copy of malloc that never gave a block: the process uses another allocator. */
static bool instance_is_idle(const struct glibc_state *g, const struct glibc_instance *instance)
{
    const struct glibc_layout *layout = instance->layout;
    hs_addr unsorted = instance->main_arena + layout->bins - 16u;
    size_t n;

    return arena_word(g, instance->main_arena, layout->top) == unsorted &&
           instance->params.n_mmaps == 0 &&
           ring_closes(g, instance->main_arena, layout->bins + (unsigned)GLIBC_NEXT, &n) && n == 1;
}

hs_status hs_glibc_find_instances(struct glibc_state *g, struct hs_error *err)
{
    size_t n = 0;

    HS_TRY(scan_modules(g, err));
    HS_TRY(ask_symbols(g, err));
    for (size_t i = 0; i < g->n_instances; i++) {
        hs_glibc_find_params(g, &g->instances[i]);
        if (!instance_is_idle(g, &g->instances[i]))
            g->instances[n++] = g->instances[i];
    }
    g->n_instances = n;
    for (size_t i = 0; i < n; i++) {
        HS_TRY(instance_arenas(g, (uint32_t)i, err));
        hs_glibc_find_version(g, &g->instances[i]);
    }
    return HS_OK;
}
