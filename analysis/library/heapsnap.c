/* libheapsnap: the answers of the analysis in structures that do not change with it. */
#include <heapsnap/heapsnap.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "analysis/leak_groups.h"
#include "analysis/neighbours.h"
#include "analysis/object_lookup.h"
#include "analysis/path_find.h"
#include "analysis/root_rows.h"
#include "analysis/type_rows.h"
#include "base/alloc.h"
#include "handle.h"

static_assert((int)HS_USAGE == HEAPSNAP_USAGE && (int)HS_FORMAT == HEAPSNAP_FORMAT &&
              (int)HS_IO == HEAPSNAP_IO && (int)HS_LIMIT == HEAPSNAP_LIMIT &&
              (int)HS_BUG == HEAPSNAP_BUG);
static_assert(HEAPSNAP_NO_NODE == HS_NO_NODE && HEAPSNAP_NO_OFFSET == HS_NO_OFFSET);

/* ---- errors */

int heapsnap_finish_(const struct heapsnap *snap, hs_status status, const struct hs_error *error,
                     struct heapsnap_error *err)
{
    struct hs_error found = *error;
    if (snap != NULL)
        status = hs_view_check(&snap->view, status, &found);
    if (status == HS_OK)
        return HEAPSNAP_OK;
    *err = (struct heapsnap_error){.status = (int)status, .sys_errno = found.sys_errno};
    (void)snprintf(err->message, sizeof err->message, "%s", found.message);
    (void)snprintf(err->hint, sizeof err->hint, "%s", found.hint);
    return err->status;
}

static hs_status check_node(const struct heapsnap *snap, hs_node node, struct hs_error *err)
{
    if (node < snap->view.n_nodes)
        return HS_OK;
    return hs_fail(err, HS_USAGE, "there is no node %lu: the last one is %lu", (unsigned long)node,
                   (unsigned long)snap->view.n_nodes - 1);
}

static hs_status check_block(const struct heapsnap *snap, hs_node node, struct hs_error *err)
{
    HS_TRY(check_node(snap, node, err));
    if (node >= snap->view.n_tree)
        return HS_OK;
    return hs_fail(err, HS_USAGE, "node %lu is no block but a root", (unsigned long)node);
}

/* ---- opening */

static bool tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    const struct heapsnap_options *options = context;
    return options->progress(options->context, phase, done, total) == 0;
}

static hs_status set_options(struct heapsnap *snap, const struct heapsnap_options *options,
                             struct hs_error *err)
{
    if (options == NULL)
        options = &snap->options;
    else if (options->struct_bytes != sizeof *options)
        return hs_fail(err, HS_USAGE, "options of %zu bytes: struct_bytes is to be %zu",
                       options->struct_bytes, sizeof *options);
    snap->options = *options;
    if (options->spill_dir != NULL)
        HS_TRY(hs_strdup(options->spill_dir, &snap->spill_dir, err));
    hs_budget_init(options->memory_bytes, snap->spill_dir, options->n_threads, &snap->budget);
    if (options->progress != NULL)
        snap->progress = (struct hs_progress){tell, &snap->options};
    return HS_OK;
}

static hs_status open_snap(struct heapsnap *snap, const char *path,
                           const struct heapsnap_options *options, struct hs_error *err)
{
    struct hs_session session = {.budget = &snap->budget, .progress = &snap->progress};
    HS_TRY(set_options(snap, options, err));
    HS_TRY(hs_strdup(path, &snap->path, err));
    return hs_view_open(&session, snap->path, HS_VIEW_INDEX, &snap->view, err);
}

int heapsnap_open(const char *path, const struct heapsnap_options *options, struct heapsnap **ret,
                  struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    struct heapsnap *snap = NULL;
    hs_status status = HS_ALLOC(&snap, 1, &error);
    if (status == HS_OK)
        status = open_snap(snap, path, options, &error);
    if (status == HS_OK)
        *ret = snap;
    else
        heapsnap_close(snap);
    return heapsnap_finish_(NULL, status, &error, err);
}

void heapsnap_close(struct heapsnap *snap)
{
    if (snap == NULL)
        return;
    hs_view_close(&snap->view);
    hs_chunk_fini(&snap->chunk);
    hs_free(snap->numbers);
    hs_free(snap->marks);
    hs_free(snap->keys);
    hs_free(snap->key_texts);
    hs_free(snap->path);
    hs_free(snap->spill_dir);
    hs_free(snap);
}

void heapsnap_free(void *array)
{
    hs_free(array);
}

void heapsnap_get_summary(const struct heapsnap *snap, struct heapsnap_summary *ret)
{
    const struct hs_view *view = &snap->view;
    *ret = (struct heapsnap_summary){
        .command = hs_view_string(view, view->facts->command),
        .tool_version = hs_view_string(view, view->facts->tool_version),
        .word_bytes = view->facts->word_bytes,
        .pid = view->facts->pid,
        .taken_ns = view->facts->taken_ns,
        .resident_bytes = view->facts->resident_bytes,
        .n_nodes = view->n_nodes,
        .n_tree = view->n_tree,
        .n_blocks = view->totals->n_blocks,
        .n_edges = view->totals->n_edges,
        .n_types = view->totals->n_types,
        .heap_words = view->totals->heap_words,
        .static_words = view->totals->static_words,
        .reached_words = hs_index_reached_total(view->index).words,
        .unreached_words = hs_index_unreached_total(view->index).words,
    };
}

/* ---- roots */

static struct heapsnap_root root_of(const struct hs_view *view, const struct hs_root_row *row)
{
    const struct hs_root *root = hs_snap_root(view->snap, row->node);
    return (struct heapsnap_root){
        .node = row->node,
        .name = hs_view_string(view, root->name),
        .kind = hs_root_kind_name(root->kind),
        .module = hs_view_string(view, root->module),
        .file = hs_view_string(view, root->file),
        .function = hs_view_string(view, root->function),
        .line = root->line,
        .thread = root->thread,
        .reachable_words = row->reachable.words,
        .reachable_objects = row->reachable.objects,
        .retained_words = row->retained.words,
        .retained_objects = row->retained.objects,
    };
}

int heapsnap_roots(struct heapsnap *snap, struct heapsnap_root **ret, size_t *ret_n,
                   uint64_t *ret_shared_words, struct heapsnap_error *err)
{
    struct hs_root_query query = {.kinds = UINT64_MAX, .max_rows = UINT64_MAX};
    struct hs_error error = HS_ERROR_INIT;
    struct hs_root_rows rows = {0};
    hs_auto_free struct heapsnap_root *roots = NULL;
    hs_status status = hs_root_rows_select(&snap->view, &query, &rows, &error);
    if (status == HS_OK)
        status = HS_ALLOC(&roots, rows.n_rows, &error);
    for (size_t i = 0; status == HS_OK && i < rows.n_rows; i++)
        roots[i] = root_of(&snap->view, &rows.rows[i]);
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(roots);
        *ret_n = rows.n_rows;
        if (ret_shared_words != NULL)
            *ret_shared_words = rows.shared_words;
    }
    hs_root_rows_fini(&rows);
    return result;
}

/* ---- nodes */

int heapsnap_get_node(struct heapsnap *snap, uint64_t node, struct heapsnap_node *ret,
                      struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    struct hs_node_facts facts = {0};
    struct hs_sizes retained = {0};
    hs_node dominator = HS_NO_NODE;
    hs_status status = check_node(snap, node, &error);
    if (status == HS_OK)
        status = hs_view_facts(&snap->view, node, &facts, &error);
    if (status == HS_OK) {
        retained = hs_index_retained(snap->view.index, node);
        dominator = hs_index_idom(snap->view.index, node);
    }
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK)
        *ret = (struct heapsnap_node){
            .node = node,
            .is_root = facts.is_root,
            .is_static = facts.is_static,
            .address = facts.address,
            .words = facts.words,
            .name = facts.label,
            .dominator = dominator,
            .retained_words = retained.words,
            .retained_objects = retained.objects,
        };
    return result;
}

int heapsnap_find(struct heapsnap *snap, const char *text, uint64_t *ret,
                  struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    struct hs_object_spec found;
    hs_status status = hs_object_lookup(&snap->view, text, &found, &error);
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK)
        *ret = found.nodes[0];
    return result;
}

/* Appends links to an array of edges. */
static hs_status add_edges(const struct hs_links *links, struct heapsnap_edge **edges, size_t *n,
                           size_t *capacity, struct hs_error *err)
{
    HS_TRY(HS_GROW(edges, capacity, *n + links->n, err));
    for (size_t i = 0; i < links->n; i++)
        (*edges)[(*n)++] = (struct heapsnap_edge){
            .other = links->links[i].other,
            .offset_words = links->links[i].offset_words,
            .edge_class = hs_edge_class_name(links->links[i].edge_class),
        };
    return HS_OK;
}

int heapsnap_targets(struct heapsnap *snap, uint64_t node, struct heapsnap_edge **ret,
                     size_t *ret_n, struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    struct hs_links links = {0};
    hs_auto_free struct heapsnap_edge *edges = NULL;
    size_t n = 0, capacity = 0;
    hs_status status = check_node(snap, node, &error);
    if (status == HS_OK)
        status = hs_links_out(&snap->view, node, &links, &error);
    if (status == HS_OK)
        status = add_edges(&links, &edges, &n, &capacity, &error);
    hs_links_fini(&links);
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(edges);
        *ret_n = n;
    }
    return result;
}

int heapsnap_sources(struct heapsnap *snap, uint64_t node, uint64_t most,
                     struct heapsnap_edge **ret, size_t *ret_n, struct heapsnap_error *err)
{
    enum { AT_ONCE = 4096 };
    struct hs_error error = HS_ERROR_INIT;
    struct hs_referrers referrers;
    struct hs_links links = {0};
    hs_auto_free struct heapsnap_edge *edges = NULL;
    size_t n = 0, capacity = 0;
    hs_status status = check_block(snap, node, &error);
    if (status == HS_OK)
        referrers = hs_referrers_of(&snap->view, node, most == 0 ? UINT64_MAX : most);
    while (status == HS_OK) {
        status = hs_referrers_next(&referrers, AT_ONCE, &links, &error);
        if (status != HS_OK || links.n == 0)
            break;
        status = add_edges(&links, &edges, &n, &capacity, &error);
    }
    hs_links_fini(&links);
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(edges);
        *ret_n = n;
    }
    return result;
}

int heapsnap_dominated(struct heapsnap *snap, uint64_t node, uint64_t most,
                       struct heapsnap_child **ret, size_t *ret_n, struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    hs_auto_free struct hs_child *found = NULL;
    hs_auto_free struct heapsnap_child *children = NULL;
    uint64_t n = 0;
    hs_status status = check_node(snap, node, &error);
    if (status == HS_OK) {
        uint64_t n_all = hs_index_dominated(snap->view.index, node).n;
        n = most == 0 || most > n_all ? n_all : most;
        if (n != 0)
            status = hs_index_largest(snap->view.index, node, n, &found, &n, &error);
    }
    if (status == HS_OK)
        status = HS_ALLOC(&children, n, &error);
    for (size_t i = 0; status == HS_OK && i < n; i++)
        children[i] = (struct heapsnap_child){found[i].node, found[i].words};
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(children);
        *ret_n = (size_t)n;
    }
    return result;
}

int heapsnap_path(struct heapsnap *snap, uint64_t node, uint64_t **ret, size_t *ret_n,
                  struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    struct hs_paths paths = {0};
    hs_auto_free uint64_t *nodes = NULL;
    size_t n = 0;
    hs_status status = check_block(snap, node, &error);
    if (status == HS_OK)
        status = hs_paths_to(&snap->view, node, 1, /* disjoint= */ false, &paths, &error);
    if (status == HS_OK && paths.n_paths != 0) {
        n = paths.begin[1];
        status = HS_ALLOC(&nodes, n, &error);
    }
    if (status == HS_OK && n != 0)
        memcpy(nodes, paths.nodes, n * sizeof *nodes);
    hs_paths_fini(&paths);
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(nodes);
        *ret_n = n;
    }
    return result;
}

/* ---- types and leaks */

int heapsnap_types(struct heapsnap *snap, struct heapsnap_type **ret, size_t *ret_n,
                   struct heapsnap_error *err)
{
    const struct hs_view *view = &snap->view;
    struct hs_type_query query = {.sort = HS_TYPE_BY_RETAINED, .max_rows = UINT64_MAX};
    struct hs_error error = HS_ERROR_INIT;
    struct hs_type_rows rows = {0};
    hs_auto_free struct heapsnap_type *types = NULL;
    hs_status status = hs_type_rows_select(view, &query, &rows, &error);
    if (status == HS_OK)
        status = HS_ALLOC(&types, rows.n_rows, &error);
    for (size_t i = 0; status == HS_OK && i < rows.n_rows; i++) {
        const struct hs_type_row *row = &rows.rows[i];
        types[i] = (struct heapsnap_type){
            .name = hs_view_string(view, hs_snap_type(view->snap, row->type)->name),
            .objects = row->shallow.objects,
            .words = row->shallow.words,
            .retained_words = row->retained_words,
        };
    }
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(types);
        *ret_n = rows.n_rows;
    }
    hs_type_rows_fini(&rows);
    return result;
}

int heapsnap_get_leaks(struct heapsnap *snap, struct heapsnap_leaks *ret,
                       struct heapsnap_error *err)
{
    const struct hs_suppressions none = {0};
    struct hs_leak_query query = {.suppressions = &none, .certainties = UINT_MAX};
    struct hs_error error = HS_ERROR_INIT;
    struct hs_leak_set set = {0};
    struct hs_leak_groups groups = {0};
    hs_status status = hs_leak_set_find(&snap->view, NULL, &set, &error);
    if (status == HS_OK)
        status = hs_leak_groups_find(&snap->view, &set, &query, &groups, &error);
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK)
        *ret = (struct heapsnap_leaks){
            .certain_blocks = groups.totals[HS_LEAK_CERTAIN].count,
            .certain_words = groups.totals[HS_LEAK_CERTAIN].words,
            .possible_blocks = groups.totals[HS_LEAK_POSSIBLE].count,
            .possible_words = groups.totals[HS_LEAK_POSSIBLE].words,
        };
    hs_leak_groups_fini(&groups);
    hs_leak_set_fini(&set);
    return result;
}
