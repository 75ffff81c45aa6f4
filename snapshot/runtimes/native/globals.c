/* Roots in the writable data of objects, and in what the dynamic linker keeps elsewhere.
 *
 * Linear in the memory; a word that leads to a block costs a search among the symbols when it is in
 * another variable than the one before. */
#include "globals.h"

#include <string.h>

#include "base/alloc.h"
#include "globals_pointed.h"
#include "process/ranges.h"
#include "stacks_extent.h"

#define GLOBALS_PAGE UINT64_C(4096)

struct globals {
    struct hs_native *native;
    size_t object;
    struct hs_root_leaf leaf; /* module and group */
    struct hs_native_variable variable;
    hs_addr known_begin, known_end; /* where `variable` is what a word belongs to */
    uint64_t n_unnamed;
    struct hs_owned_range *segments; /* owned: by object */
    size_t n_segments, segments_capacity;
    hs_str no_source;
    struct hs_range_set registered;
    struct hs_range_set loader;
    struct hs_pointed pointed;
    hs_status status; /* of filling `loader` */
    struct hs_error *err;
};

/* Tells whether an address lies in a registered range: these are roots of their own. */
static bool is_registered(const struct globals *g, hs_addr at)
{
    hs_addr begin, end;
    return g->registered.n != 0 &&
           !hs_range_set_next_outside(&g->registered, at, at + 1, &begin, &end);
}

static hs_status find_registered(struct globals *g)
{
    size_t n;
    const struct hs_registered_root *roots = hs_heaps_roots(&g->native->dump->heaps, &n);
    for (size_t i = 0; i < n; i++)
        HS_TRY(hs_range_set_add(&g->registered, roots[i].begin, roots[i].end, g->err));
    hs_range_set_merge(&g->registered);
    return HS_OK;
}

static hs_status find_variable(struct globals *g, hs_addr at)
{
    struct hs_native_variable *v = &g->variable;
    *v = (struct hs_native_variable){.leaf = g->leaf};
    HS_TRY(hs_native_find_variable(g->native, g->object, at, v, &g->known_end, g->err));
    g->known_begin = at;
    hs_native_variable_text(g->native, v);
    v->leaf.group_unit = v->leaf.root.file != 0 ? v->leaf.root.file : g->no_source;
    return HS_OK;
}

static hs_status add_global(struct globals *g, hs_addr at, uint64_t word)
{
    struct hs_native_variable *v = &g->variable;
    if (at < g->known_begin || at >= g->known_end)
        HS_TRY(find_variable(g, at));
    bool is_unnamed = !v->is_whole && v->n_bytes > HS_WORD_BYTES;
    if (is_unnamed)
        v->n_slots = g->n_unnamed++;
    return hs_native_add_slot(g->native, v, at - v->begin, at, word, g->err);
}

static hs_status scan_part(struct globals *g, hs_addr begin, hs_addr end)
{
    struct hs_word_scan scan = hs_native_scan(begin, end);
    hs_addr at;
    uint64_t word;
    while (hs_native_next_word(g->native, &scan, &at, &word))
        if (!is_registered(g, at))
            HS_TRY(add_global(g, at, word));
    return HS_OK;
}

/* Scans a range without the memory that an allocator claims: its bookkeeping leads to free memory
 * too. */
static hs_status scan_unclaimed(struct globals *g, hs_addr begin, hs_addr end)
{
    hs_addr part, part_end;
    for (; hs_ledger_next_unclaimed(&g->native->dump->heaps.ledger, begin, end, &part, &part_end);
         begin = part_end)
        HS_TRY(scan_part(g, part, part_end));
    return HS_OK;
}

/* Lists the writable segments of an object. */
static hs_status find_segments(struct globals *g, size_t number)
{
    const struct hs_object *object = &g->native->dump->objects.objects[number];
    size_t n;
    const struct hs_elf_segment *segments = hs_elf_segments(object->elf, &n);
    for (size_t i = 0; i < n; i++) {
        hs_addr begin = segments[i].vaddr + object->bias;
        hs_addr end = begin + segments[i].n_memory_bytes;
        if (!segments[i].writable || begin < object->begin || end < begin)
            continue;
        end = (end < object->end ? end : object->end);
        /* The linker allocates from what is left of its last page. */
        end = (end + GLOBALS_PAGE - 1) & ~(GLOBALS_PAGE - 1);
        if (begin >= end)
            continue;
        HS_TRY(HS_GROW(&g->segments, &g->segments_capacity, g->n_segments + 1, g->err));
        g->segments[g->n_segments++] = (struct hs_owned_range){begin, end, number};
    }
    return HS_OK;
}

/* Scans the segments of an object. `*at`: the first segment that is not scanned yet. */
static hs_status scan_object(struct globals *g, size_t *at)
{
    const struct hs_object *object = &g->native->dump->objects.objects[g->object];
    g->known_begin = g->known_end = 0;
    g->n_unnamed = 0;
    g->leaf = (struct hs_root_leaf){.root = {.kind = HS_ROOT_GLOBAL, .certainty = HS_CONSERVATIVE}};
    HS_TRY(hs_native_set_module(g->native, object, &g->leaf, g->err));
    size_t first = g->native->roots.n_leaves;
    for (; *at < g->n_segments && g->segments[*at].of == g->object; ++*at)
        HS_TRY(scan_unclaimed(g, g->segments[*at].begin, g->segments[*at].end));
    HS_TRY(hs_native_pointed_name(&g->pointed, g->native, first, g->err));
    HS_TRY(hs_native_find_objects(g->native, g->object, first, g->err));
    hs_native_join_containers(g->native, first);
    return hs_native_fold_pools(g->native, g->object, first, g->err);
}

static void loader_range(void *context, hs_addr begin, hs_addr end)
{
    struct globals *g = context;
    if (g->status == HS_OK)
        g->status = hs_range_set_add(&g->loader, begin, end, g->err);
}

/* Scans a range of the loader's memory without the first thread's static TLS, which lies there,
 * too, and is a root of its own. */
static hs_status scan_loader_range(struct globals *g, const struct hs_range *range)
{
    const struct hs_target *target = &g->native->dump->target;
    struct hs_native_variable *v = &g->variable;
    struct hs_word_scan scan = hs_native_scan(range->begin, range->end);
    hs_addr tls_begin = 0, tls_end = 0, at;
    uint64_t word;
    for (size_t i = 0; i < target->n_threads; i++)
        if (target->threads[i].tid == target->pid)
            (void)hs_native_static_tls(g->native, &target->threads[i], &tls_begin, &tls_end);
    v->begin = range->begin;
    v->n_bytes = range->end - range->begin;
    while (hs_native_next_word(g->native, &scan, &at, &word))
        if (at < tls_begin || at >= tls_end)
            HS_TRY(hs_native_add_slot(g->native, v, at - v->begin, at, word, g->err));
    return HS_OK;
}

/* Scans the memory that the dynamic linker allocated before there was an allocator to ask. */
static hs_status scan_loader(struct globals *g)
{
    struct hs_native_variable *v = &g->variable;
    *v = (struct hs_native_variable){.is_whole = true};
    v->leaf.root = (struct hs_root){
        .kind = HS_ROOT_GLOBAL, .certainty = HS_CONSERVATIVE, .tier = HS_TIER_RUNTIME};
    HS_TRY(hs_native_name(g->native, &v->name, g->err, HS_PLACE_LOADER));
    hs_native_variable_text(g->native, v);
    HS_TRY(hs_native_name(g->native, &v->leaf.group_module, g->err, "system: dynamic linker"));
    v->leaf.root.module = v->leaf.group_module;
    v->leaf.group_unit = g->no_source;
    hs_native_each_loader_range(g->native, loader_range, g);
    HS_TRY(g->status);
    hs_range_set_merge(&g->loader);
    for (size_t i = 0; i < g->loader.n; i++)
        HS_TRY(scan_loader_range(g, &g->loader.ranges[i]));
    return HS_OK;
}

static hs_status globals_run(struct globals *g)
{
    HS_TRY(hs_strtab_add(&g->native->dump->strings, "(no source)", &g->no_source, g->err));
    HS_TRY(find_registered(g));
    for (size_t i = 0; i < g->native->dump->objects.n; i++)
        HS_TRY(find_segments(g, i));
    g->n_segments = hs_owned_ranges_disjoin(g->segments, g->n_segments);
    hs_owned_ranges_sort(g->segments, g->n_segments);
    for (size_t i = 0; i < g->n_segments; i++)
        HS_TRY(hs_native_pointed_look(&g->pointed, g->native, g->segments[i].of,
                                      g->segments[i].begin, g->segments[i].end, g->err));
    hs_native_pointed_sort(&g->pointed);
    size_t at = 0;
    for (g->object = 0; g->object < g->native->dump->objects.n; g->object++)
        HS_TRY(scan_object(g, &at));
    return scan_loader(g);
}

hs_status hs_native_collect_globals(struct hs_native *native, struct hs_error *err)
{
    struct globals g = {.native = native, .err = err};
    hs_status status = globals_run(&g);
    hs_native_pointed_fini(&g.pointed);
    hs_range_set_fini(&g.loader);
    hs_range_set_fini(&g.registered);
    hs_free(g.segments);
    return status;
}
