/* An open snapshot, its index, and a small cache of decoded chunks. */
#include "analysis/view.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/block_file.h"
#include "analysis/used_edges.h"
#include "base/alloc.h"
#include "base/bisect.h"
#include "base/file.h"
#include "nearest_dominator.h"

/* Reports that a kept index is not used, and why: computing it again takes time. */
static void say_stale(void *context, const char *path, const char *why)
{
    const struct hs_session *session = context;
    char line[PATH_MAX + 256];
    (void)snprintf(line, sizeof line, "'%s' is not used: %s", path, why);
    session->say(session->context, line);
}

void hs_view_index_places(const struct hs_view *view, char *cache, size_t n,
                          struct hs_index_options *options)
{
    options->policy = view->session.policy;
    options->snap_path = strcmp(view->path, "-") == 0 ? NULL : view->path;
    options->cache_dir = hs_cache_dir(cache, n) ? cache : NULL;
}

static hs_status index_open(struct hs_view *view, struct hs_index_options *options,
                            struct hs_error *err)
{
    char cache[PATH_MAX];
    hs_view_index_places(view, cache, sizeof cache, options);
    options->budget = view->session.budget;
    options->access = view->session.access;
    options->progress = view->session.progress;
    return hs_index_open(view->snap, options, &view->index, err);
}

/* The one that is kept, or else one that is computed, after saying what that costs. */
static hs_status open_index(bool rebuild, struct hs_view *view, struct hs_error *err)
{
    struct hs_index_options kept = {.only_kept = true}, computed = {.rebuild = rebuild};
    if (view->session.say != NULL) {
        kept.stale = say_stale;
        kept.context = &view->session;
    }
    if (!rebuild)
        HS_TRY(index_open(view, &kept, err));
    if (view->index != NULL)
        return HS_OK;
    if (view->session.before_index != NULL)
        view->session.before_index(view->session.context, view->snap);
    if (index_open(view, &computed, err) != HS_OK)
        return hs_context(err, "cannot compute the index of '%s'", view->path);
    return HS_OK;
}

hs_status hs_view_policy_index(const struct hs_view *view, enum hs_policy_kind policy,
                               struct hs_index **ret, struct hs_error *err)
{
    struct hs_view other = {.path = view->path, .snap = view->snap, .session = view->session};
    other.session.policy = (struct hs_policy){.kind = policy};
    HS_TRY(open_index(/* rebuild= */ false, &other, err));
    *ret = other.index;
    return HS_OK;
}

hs_status hs_view_find_index(struct hs_view *view, struct hs_error *err)
{
    struct hs_index_options kept = {.only_kept = true, .must_read = true};
    HS_TRY(index_open(view, &kept, err));
    return view->index == NULL ? HS_OK : hs_used_edges_open(view, err);
}

static hs_status view_open(const struct hs_session *session, const char *path,
                           enum hs_view_needs needs, bool rebuild, struct hs_view *ret,
                           struct hs_error *err)
{
    struct hs_view view = {
        .path = path,
        .session = *session,
    };
    HS_TRY(hs_snap_open(path, 0, &view.snap, err));
    view.totals = hs_snap_totals(view.snap);
    view.facts = hs_snap_facts(view.snap);
    view.n_tree = view.totals->n_tree;
    view.n_nodes = view.n_tree + view.totals->n_blocks;
    hs_status status = HS_OK;
    if (needs == HS_VIEW_INDEX)
        status = open_index(rebuild, &view, err);
    if (view.index != NULL && status == HS_OK)
        status = hs_used_edges_open(&view, err);
    if (status != HS_OK) {
        hs_view_close(&view);
        return status;
    }
    *ret = view;
    return HS_OK;
}

hs_status hs_view_open(const struct hs_session *session, const char *path, enum hs_view_needs needs,
                       struct hs_view *ret, struct hs_error *err)
{
    return view_open(session, path, needs, /* rebuild= */ false, ret, err);
}

hs_status hs_view_open_index(const struct hs_session *session, const char *path, bool rebuild,
                             struct hs_view *ret, struct hs_error *err)
{
    return view_open(session, path, HS_VIEW_INDEX, rebuild, ret, err);
}

void hs_view_forget_chunks(struct hs_view *view)
{
    for (size_t i = 0; i < HS_VIEW_CHUNKS; i++) {
        hs_chunk_fini(&view->chunks[i].chunk);
        view->chunks[i] = (struct hs_view_chunk){0};
    }
    hs_budget_release(view->session.budget, view->n_chunks * HS_VIEW_CHUNK_BYTES);
    view->n_chunks = 0;
}

void hs_view_close(struct hs_view *view)
{
    if (view->give_back != NULL) {
        view->give_back(view->lender, view);
        *view = (struct hs_view){0};
        return;
    }
    hs_view_forget_chunks(view);
    hs_free(view->kept);
    hs_used_edges_close(view);
    hs_block_file_close(view);
    hs_index_close(view->index);
    hs_snap_close(view->snap);
    *view = (struct hs_view){0};
}

hs_status hs_view_check(const struct hs_view *view, hs_status status, struct hs_error *err)
{
    bool may_follow = status == HS_OK || status == HS_USAGE || status == HS_FORMAT;
    struct hs_error damage = HS_ERROR_INIT;
    if (view->index == NULL || !may_follow || hs_index_check(view->index, &damage) == HS_OK)
        return status;
    *err = damage;
    return err->status;
}

hs_status hs_view_finish(struct hs_view *view, hs_status status, struct hs_error *err)
{
    status = hs_view_check(view, status, err);
    hs_view_close(view);
    return status;
}

/* Tells whether there is room for one more slot: as long as they take no more than a quarter of
 * what is left. */
static bool has_room(struct hs_view *view)
{
    uint64_t room = hs_budget_left_bytes(view->session.budget) / 4;
    return view->n_chunks < HS_VIEW_MIN_CHUNKS ||
           (view->n_chunks < HS_VIEW_CHUNKS && room >= HS_VIEW_CHUNK_BYTES);
}

/* The slot that holds the chunk, or else a new one, or the one longest unused. */
static hs_status chunk_slot(struct hs_view *view, uint64_t number, struct hs_view_chunk **ret,
                            struct hs_error *err)
{
    struct hs_view_chunk *oldest = &view->chunks[0];
    for (size_t i = 0; i < view->n_chunks; i++) {
        struct hs_view_chunk *slot = &view->chunks[i];
        *ret = slot;
        if (slot->columns != 0 && slot->number == number)
            return HS_OK;
        if (slot->used_at < oldest->used_at)
            oldest = slot;
    }
    *ret = oldest;
    if (!has_room(view))
        return HS_OK;
    HS_TRY(hs_budget_reserve(view->session.budget, HS_VIEW_CHUNK_BYTES, "decoded chunks", err));
    *ret = &view->chunks[view->n_chunks++];
    return HS_OK;
}

hs_status hs_view_chunk(struct hs_view *view, hs_node node, unsigned columns,
                        const struct hs_chunk **ret, uint32_t *ret_at, struct hs_error *err)
{
    uint64_t rank = node - view->n_tree;
    uint64_t number = rank / HS_CHUNK_BLOCKS;
    struct hs_view_chunk *slot;
    HS_TRY(chunk_slot(view, number, &slot, err));
    bool is_here = slot->columns != 0 && slot->number == number;
    if (!is_here || (slot->columns & columns) != columns) {
        unsigned had = is_here ? slot->columns : 0;
        slot->columns = 0;
        if (hs_snap_load_more(view->snap, number, had, columns, &slot->chunk, err) != HS_OK)
            return hs_context(err, "cannot read '%s'", view->path);
        slot->number = number;
        slot->columns = had | columns;
    }
    slot->used_at = ++view->clock;
    *ret = &slot->chunk;
    *ret_at = (uint32_t)(rank % HS_CHUNK_BLOCKS);
    return HS_OK;
}

hs_status hs_view_find_address(struct hs_view *view, hs_addr address, hs_node *ret,
                               struct hs_error *err)
{
    const struct hs_chunk *chunk;
    uint64_t number;
    uint32_t at;
    bool is_found;
    if (!hs_snap_address_chunk(view->snap, address, &number)) {
        *ret = HS_NO_NODE;
        return HS_OK;
    }
    HS_TRY(hs_block_file_find_address(view, number, address, ret, &is_found, err));
    if (is_found)
        return HS_OK;
    HS_TRY(hs_view_chunk(view, view->n_tree + number * HS_CHUNK_BLOCKS, HS_COL_SIZES, &chunk, &at,
                         err));
    *ret = hs_chunk_find_address(chunk, view->facts->word_bytes, address);
    return HS_OK;
}

static const struct hs_node_facts *find_kept(const struct hs_view *view, hs_node node)
{
    size_t low = HS_FIRST_FROM(view->kept, view->n_kept, node, node);
    return low < view->n_kept && view->kept[low].node == node ? &view->kept[low] : NULL;
}

static hs_status look_at(struct hs_view *view, hs_node node, struct hs_loose_block *ret,
                         struct hs_error *err)
{
    bool is_found;
    const struct hs_chunk *chunk;
    uint32_t at;
    HS_TRY(hs_block_file_look(view, node, ret, &is_found, err));
    if (is_found)
        return HS_OK;
    HS_TRY(hs_view_chunk(view, node, HS_COL_SIZES | HS_COL_TYPES, &chunk, &at, err));
    *ret = (struct hs_loose_block){
        .address = chunk->address[at],
        .words = chunk->words[at],
        .type = chunk->type[at],
        .state = chunk->state[at],
    };
    return HS_OK;
}

hs_status hs_view_facts(struct hs_view *view, hs_node node, struct hs_node_facts *ret,
                        struct hs_error *err)
{
    if (node < view->n_tree) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        *ret = (struct hs_node_facts){.node = node, .is_root = true, .address = root->address};
        ret->label = node == 0 ? "all roots" : hs_view_string(view, root->name);
        return HS_OK;
    }
    const struct hs_node_facts *kept = find_kept(view, node);
    if (kept != NULL) {
        *ret = *kept;
        return HS_OK;
    }
    struct hs_loose_block block;
    HS_TRY(look_at(view, node, &block, err));
    *ret = (struct hs_node_facts){
        .node = node,
        .is_static = block.state & HS_BLOCK_STATIC,
        .is_young = block.state & HS_BLOCK_YOUNG,
        .address = block.address,
        .words = block.words,
        .type = block.type,
        .label = hs_view_string(view, hs_snap_type(view->snap, block.type)->name),
    };
    return HS_OK;
}

static int by_node(const void *left, const void *right, void *context)
{
    const hs_node *nodes = context;
    hs_node a = nodes[*(const size_t *)left], b = nodes[*(const size_t *)right];
    return a < b ? -1 : a > b;
}

static hs_status look_up(struct hs_view *view, const hs_node *nodes, size_t n, size_t *order,
                         struct hs_node_facts *facts, struct hs_error *err)
{
    enum { TELL_EVERY = 4096 };
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, by_node, (void *)(uintptr_t)nodes);
    for (size_t i = 0; i < n; i++) {
        size_t at = order[i];
        if (nodes[at] == HS_NO_NODE)
            facts[at] = (struct hs_node_facts){.node = HS_NO_NODE, .label = ""};
        else
            HS_TRY(hs_view_facts(view, nodes[at], &facts[at], err));
        if (i % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(hs_progress_tell(view->session.progress, "reading blocks", i + 1, n, err));
    }
    return HS_OK;
}

hs_status hs_view_facts_of(struct hs_view *view, const hs_node *nodes, size_t n,
                           struct hs_node_facts *facts, struct hs_error *err)
{
    void *order;
    HS_TRY(hs_pages_alloc(n, sizeof(size_t), &order, err));
    hs_status status = look_up(view, nodes, n, order, facts, err);
    hs_pages_free(order, n, sizeof(size_t));
    return status;
}

static int ascending(const void *left, const void *right)
{
    const hs_node *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

hs_status hs_view_keep_facts(struct hs_view *view, hs_node *nodes, size_t n, struct hs_error *err)
{
    void *facts;
    hs_free(view->kept);
    view->kept = NULL;
    view->n_kept = 0;
    HS_TRY(hs_alloc(n, sizeof *view->kept, &facts, err));
    qsort(nodes, n, sizeof *nodes, ascending);
    hs_status status = hs_view_facts_of(view, nodes, n, facts, err);
    if (status != HS_OK) {
        hs_free(facts);
        return status;
    }
    view->kept = facts;
    view->n_kept = n;
    return HS_OK;
}

bool hs_view_has_runtime(const struct hs_view *view, const char *name)
{
    for (size_t i = 0; i < view->facts->n_runtimes; i++)
        if (strcmp(hs_view_string(view, view->facts->runtimes[i].name), name) == 0)
            return true;
    return false;
}

hs_node hs_view_root_of(const struct hs_view *view, hs_node tree_node)
{
    const struct hs_root *root = hs_snap_root(view->snap, tree_node);
    if (root->level == HS_LEVEL_VARIABLE)
        return tree_node;
    if (root->level != HS_LEVEL_LEAF)
        return HS_NO_NODE;
    bool is_slot = hs_snap_root(view->snap, root->parent)->level == HS_LEVEL_VARIABLE;
    return is_slot ? root->parent : tree_node;
}

hs_node hs_view_retaining_root(const struct hs_view *view, hs_node node)
{
    hs_node at = node;
    for (uint64_t n = 0; at != HS_NO_NODE && at >= view->n_tree; n++)
        at = n < view->n_nodes ? hs_index_idom(view->index, at) : HS_NO_NODE;
    return at == HS_NO_NODE ? HS_NO_NODE : hs_view_root_of(view, at);
}

static uint64_t root_value(const void *context, hs_node tree_node, hs_node below)
{
    (void)below;
    hs_node root = hs_view_retaining_root(context, tree_node);
    return root == HS_NO_NODE ? HS_NEAREST_NONE : root;
}

hs_status hs_view_retaining_roots(const struct hs_view *view, const hs_node *nodes, size_t n,
                                  hs_node *roots, struct hs_error *err)
{
    struct hs_nearest climb;
    hs_nearest_init(view, root_value, view, &climb);
    hs_status status = HS_OK;
    for (size_t i = 0; i < n && status == HS_OK; i++) {
        roots[i] = HS_NO_NODE;
        if (nodes[i] != HS_NO_NODE)
            status = hs_nearest_find(&climb, nodes[i], &roots[i], err);
    }
    hs_nearest_fini(&climb);
    return status;
}

hs_status hs_view_fail_circle(const struct hs_view *view, struct hs_error *err)
{
    const char *path = hs_index_path(view->index);
    (void)hs_fail(err, HS_FORMAT, "the index '%s' is damaged: its tree goes round in a circle",
                  path != NULL ? path : view->path);
    return hs_hint(err, "'heapsnap index --rebuild %s' makes it anew", view->path);
}
