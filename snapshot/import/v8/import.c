/* A .heapsnapshot of V8 becomes a snapshot. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "readers.h"
#include "run.h"

/* ---- nodes ---- */

static hs_status group_note(struct v8_run *run, uint64_t at, const struct v8_node *node,
                            struct hs_error *err)
{
    if (at == run->file.root) {
        hs_bitmap_set(&run->tree, at);
        return HS_OK;
    }
    if (node->kind != V8_SYNTHETIC || node->n_bytes != 0 || run->n_groups == V8_MAX_TREE)
        return HS_OK;
    HS_TRY(maker_grow(run->maker, (void **)&run->groups, &run->group_capacity, run->n_groups + 1,
                      sizeof *run->groups, "groups of roots", err));
    run->groups[run->n_groups++] = (struct v8_group){.node = at, .name = node->name};
    hs_bitmap_set(&run->tree, at);
    return HS_OK;
}

hs_status hs_v8_nodes_read(struct v8_run *run, struct hs_error *err)
{
    const struct v8_file *file = &run->file;
    uint64_t n_edges = 0;
    HS_TRY(hs_v8_bitmap(run, file->n_nodes, &run->tree, err));
    HS_TRY(hs_v8_bitmap(run, file->n_strings * V8_N_KEPT, &run->wanted, err));
    struct v8_walk walk = hs_v8_walk_begin(file);
    for (uint64_t at = 0; at < file->n_nodes; at++) {
        struct v8_node node;
        HS_TRY(hs_v8_next_node(&walk, &node, err));
        HS_TRY(group_note(run, at, &node, err));
        int kept = hs_v8_kept_kind(node.kind);
        if (kept >= 0)
            hs_bitmap_set(&run->wanted, node.name * V8_N_KEPT + (unsigned)kept);
        if (node.n_bytes > run->max_bytes)
            run->max_bytes = node.n_bytes;
        if (!hs_add_fits(n_edges, node.n_edges, &n_edges) || n_edges > file->n_edges)
            return hs_fail(err, HS_FORMAT, "its nodes have more edges than the %llu it says",
                           (unsigned long long)file->n_edges);
        HS_TRY(hs_v8_tell(run, &walk, "reading nodes", err));
    }
    if (n_edges != file->n_edges)
        return hs_fail(err, HS_FORMAT, "its nodes have %llu of the %llu edges it says",
                       (unsigned long long)n_edges, (unsigned long long)file->n_edges);
    return hs_v8_walk_end(&walk, false, err);
}

/* ---- edges ---- */

/* memlab counts every edge that is neither weak nor a shortcut as a holder, even one that its other
 * rules drop; DevTools counts those that retain. */
static bool counts_as_holder(const struct v8_run *run, uint64_t from, const struct v8_node *node,
                             const struct v8_edge *edge)
{
    if (run->policy->page == HS_PAGE_MEMLAB && edge->kind != V8_WEAK && edge->kind != V8_SHORTCUT)
        return true;
    return edge->to != from && hs_v8_retains(run, from, node->id, edge);
}

hs_status hs_v8_retained_read(struct v8_run *run, struct hs_error *err)
{
    const struct v8_file *file = &run->file;
    HS_TRY(hs_v8_bitmap(run, file->n_nodes, &run->retained, err));
    struct v8_walk walk = hs_v8_walk_begin(file);
    for (uint64_t from = 0; from < file->n_nodes; from++) {
        struct v8_node node;
        struct v8_edge edge;
        HS_TRY(hs_v8_next_node(&walk, &node, err));
        for (uint64_t i = 0; i < node.n_edges; i++) {
            HS_TRY(hs_v8_next_edge(&walk, &edge, err));
            if (counts_as_holder(run, from, &node, &edge))
                hs_bitmap_set(&run->retained, edge.to);
        }
        HS_TRY(hs_v8_tell(run, &walk, "looking for what nothing retains", err));
    }
    return HS_OK;
}

/* ---- writing ---- */

/* Addresses are made up so that they tell the node: no object is larger than the step. */
static hs_status address_shift(struct v8_run *run, struct hs_error *err)
{
    unsigned shift = 4;
    while (shift < 62 && (uint64_t)1 << shift < run->max_bytes)
        shift++;
    if (run->file.n_nodes > UINT64_MAX >> 2 >> shift)
        return hs_fail(err, HS_FORMAT, "its objects of up to %llu bytes fit no address space",
                       (unsigned long long)run->max_bytes);
    run->address_shift = shift;
    return HS_OK;
}

static hs_status facts_make(struct v8_run *run, struct hs_error *err)
{
    struct maker *maker = run->maker;
    char policy[MAKER_POLICY_BYTES];
    hs_policy_text(HS_IMPORT_V8, run->policy, policy);
    HS_TRY(hs_strtab_add(&maker->strings, "V8 heap snapshot", &maker->runtime.name, err));
    HS_TRY(maker_note(maker, false, err, "imported: a heap snapshot of V8, %llu nodes, %llu edges",
                      (unsigned long long)run->file.n_nodes,
                      (unsigned long long)run->file.n_edges));
    HS_TRY(maker_note(maker, false, err, "%s", policy));
    HS_TRY(maker_note(maker, false, err,
                      "words are bytes; what has no size is static; addresses are made up: node K "
                      "of the file is at K * %llu",
                      1ULL << run->address_shift));
    return maker_note(maker, false, err,
                      "names of strings, symbols, numbers and patterns are their contents, and "
                      "were left out");
}

static hs_status edges_write(struct v8_run *run, uint64_t from, const struct v8_node *node,
                             struct v8_walk *walk, struct hs_error *err)
{
    uint32_t type = hs_v8_type(run, node);
    for (uint64_t i = 0; i < node->n_edges; i++) {
        struct v8_edge edge;
        HS_TRY(hs_v8_next_edge(walk, &edge, err));
        if (hs_bitmap_get(&run->tree, from))
            continue;
        if (hs_bitmap_get(&run->tree, edge.to)) {
            run->n_dropped++; /* into the root: it keeps all it has anyway */
            continue;
        }
        bool retains = hs_v8_retains(run, from, node->id, &edge);
        if (!retains && run->policy->weak == HS_WEAK_DROP)
            continue;
        const struct hs_edge made = {
            .target = hs_v8_block(run, edge.to),
            .offset_words = hs_v8_offset(run, type, &edge, i),
            .edge_class = retains ? HS_EDGE_EXACT : HS_EDGE_WEAK,
        };
        HS_TRY(maker_edge(run->maker, made, err));
    }
    return HS_OK;
}

static hs_status blocks_write(struct v8_run *run, struct hs_error *err)
{
    struct v8_walk walk = hs_v8_walk_begin(&run->file);
    for (uint64_t at = 0; at < run->file.n_nodes; at++) {
        struct v8_node node;
        HS_TRY(hs_v8_next_node(&walk, &node, err));
        uint64_t n_bytes = run->sizes != NULL ? run->sizes[at] : node.n_bytes;
        maker_expect(run->maker, n_bytes, node.n_edges);
        HS_TRY(edges_write(run, at, &node, &walk, err));
        if (!hs_bitmap_get(&run->tree, at))
            HS_TRY(maker_block(run->maker, at << run->address_shift, n_bytes,
                               hs_v8_type(run, &node), err));
        HS_TRY(hs_v8_tell(run, &walk, "writing", err));
    }
    return HS_OK;
}

static hs_status run_all(struct v8_run *run, struct hs_import_report *ret, struct hs_error *err)
{
    HS_TRY(hs_v8_file_open(run->maker->options->path, &run->file, err));
    HS_TRY(hs_v8_nodes_read(run, err));
    HS_TRY(hs_v8_tree_read(run, err));
    HS_TRY(hs_v8_places_read(run, err));
    HS_TRY(hs_v8_names_read(run, err));
    HS_TRY(hs_v8_members_make(run, err));
    HS_TRY(hs_v8_graph_rules(run, err));
    HS_TRY(hs_v8_retained_read(run, err));
    HS_TRY(address_shift(run, err));
    HS_TRY(hs_v8_roots_make(run, err));
    HS_TRY(facts_make(run, err));
    uint64_t n_tree = hs_bitmap_rank(&run->tree, run->file.n_nodes);
    HS_TRY(maker_begin(run->maker, run->file.n_nodes - n_tree, err));
    HS_TRY(blocks_write(run, err));
    return maker_finish(run->maker, ret, err);
}

hs_status hs_v8_import(struct maker *maker, struct hs_import_report *ret, struct hs_error *err)
{
    struct v8_run run = {.maker = maker, .policy = &maker->options->policy};
    hs_status status = run_all(&run, ret, err);
    struct hs_bitmap *const bitmaps[] = {&run.tree, &run.wanted,   &run.labels,    &run.pairs,
                                         &run.page, &run.retained, &run.properties};
    for (size_t i = 0; i < sizeof bitmaps / sizeof *bitmaps; i++)
        hs_bitmap_fini(bitmaps[i]);
    hs_budget_release(maker->options->budget, run.n_bitmap_bytes);
    maker_pages_free(maker, run.sizes, run.file.n_nodes, sizeof *run.sizes);
    hs_v8_places_free(&run);
    hs_free(run.groups);
    hs_free(run.tree_edges);
    hs_free(run.label);
    hs_free(run.pair_table);
    hs_v8_file_close(&run.file);
    return status;
}
