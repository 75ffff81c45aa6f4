/* Finding what the user names. */
#include "analysis/object_lookup.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

static hs_status found(struct hs_object_spec *ret, enum hs_object_kind kind, hs_node node)
{
    *ret = (struct hs_object_spec){.kind = kind, .nodes = {node}, .n_nodes = 1};
    return HS_OK;
}

static hs_status find_sample(struct hs_view *view, struct hs_sample_join *join, const char *text,
                             struct hs_object_spec *ret, struct hs_error *err)
{
    const struct hs_sample *sample;
    HS_TRY(hs_sample_find(view, join, text, &sample, err));
    (void)found(ret, HS_OBJECT_SAMPLE, sample->node);
    ret->sample = sample;
    return HS_OK;
}

static hs_status find_address(struct hs_view *view, const char *text, struct hs_object_spec *ret,
                              struct hs_error *err)
{
    hs_addr address;
    hs_node node;
    HS_TRY(hs_parse_address(text, &address, err));
    HS_TRY(hs_snap_find_address(view->snap, address, &node, err));
    if (node != HS_NO_NODE)
        return found(ret, HS_OBJECT_ADDRESS, node);
    (void)hs_fail(err, HS_USAGE, "no block holds the address '%s'", text);
    return hs_hint(err, "addresses are those of the process that was dumped; free memory has none");
}

static hs_status find_node(struct hs_view *view, const char *text, struct hs_object_spec *ret,
                           struct hs_error *err)
{
    uint64_t node;
    HS_TRY(hs_parse_count(text, &node, err));
    if (node < view->n_nodes)
        return found(ret, HS_OBJECT_NODE, node);
    (void)hs_fail(err, HS_USAGE, "there is no node '#%s'", text);
    return hs_hint(err, "nodes are #0 to #%lu", (unsigned long)(view->n_nodes - 1));
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && memcmp(text + n - n_end, end, n_end) == 0;
}

struct root_match {
    hs_node first;
    uint64_t n;
    char list[200]; /* "#4 Stm.VCS, #9 Other.VCS" */
};

enum { LISTED = 10 };

static void match_add(struct root_match *match, hs_node node, const char *name)
{
    if (match->n == 0)
        match->first = node;
    size_t used = strlen(match->list);
    if (match->n < LISTED && used < sizeof match->list - 1)
        (void)snprintf(match->list + used, sizeof match->list - used, "%s#%lu %.60s",
                       used == 0 ? "" : ", ", (unsigned long)node, name);
    match->n++;
}

void hs_object_list_slots(const struct hs_view *view, hs_node variable, char *text, size_t n)
{
    struct root_match match = {0};
    for (hs_node node = variable + 1; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->parent == variable)
            match_add(&match, node, hs_view_string(view, root->name));
    }
    (void)snprintf(text, n, "%s%s", match.list, match.n > LISTED ? ", ..." : "");
}

/* How well a name fits, the best first: a root, a slot of a variable, a group; then the same by the
 * end of the name. */
enum root_fit { FIT_ROOT, FIT_SLOT, FIT_GROUP, FIT_ROOT_END, FIT_SLOT_END, N_FITS };

static enum root_fit fit_of(const struct hs_view *view, hs_node node, const char *name)
{
    const char *text = hs_view_string(view, hs_snap_root(view->snap, node)->name);
    hs_node root = hs_view_root_of(view, node);
    if (strcmp(text, name) == 0)
        return root == node ? FIT_ROOT : root == HS_NO_NODE ? FIT_GROUP : FIT_SLOT;
    if (root == HS_NO_NODE || !ends_with(text, name))
        return N_FITS;
    return root == node ? FIT_ROOT_END : FIT_SLOT_END;
}

static hs_status find_root(struct hs_view *view, const char *name, struct hs_object_spec *ret,
                           struct hs_error *err)
{
    struct root_match matches[N_FITS + 1] = {0}; /* the last one stays empty */
    for (hs_node node = 1; node < view->n_tree && name[0] != 0; node++) {
        enum root_fit fit = fit_of(view, node, name);
        if (fit != N_FITS)
            match_add(&matches[fit], node,
                      hs_view_string(view, hs_snap_root(view->snap, node)->name));
    }
    const struct root_match *match = matches;
    while (match->n == 0 && match < &matches[N_FITS])
        match++;
    if (match->n == 1)
        return found(ret, HS_OBJECT_ROOT, match->first);
    if (match->n == 0) {
        (void)hs_fail(err, HS_USAGE, "there is no root '%s'", name);
        return hs_hint(err, "'heapsnap roots %s -n 0' lists all", view->path);
    }
    (void)hs_fail(err, HS_USAGE, "%lu roots are called '%s'", (unsigned long)match->n, name);
    return hs_hint(err, "name one of them: %s%s", match->list, match->n > LISTED ? ", ..." : "");
}

/* Inserts into the list of the largest, ordered by retained words descending, then node. */
static void keep_largest(struct hs_object_spec *what, uint64_t *words, hs_node node,
                         uint64_t n_words)
{
    unsigned at = what->n_nodes;
    while (at > 0 && words[at - 1] < n_words)
        at--;
    if (at == HS_OBJECT_INSTANCES)
        return;
    unsigned n_moved =
        (what->n_nodes < HS_OBJECT_INSTANCES ? what->n_nodes : HS_OBJECT_INSTANCES - 1);
    for (unsigned i = n_moved; i > at; i--) {
        what->nodes[i] = what->nodes[i - 1];
        words[i] = words[i - 1];
    }
    what->nodes[at] = node;
    words[at] = n_words;
    what->n_nodes = n_moved + 1;
}

static hs_status scan_type(struct hs_view *view, uint32_t type, struct hs_object_spec *ret,
                           struct hs_error *err)
{
    uint64_t words[HS_OBJECT_INSTANCES] = {0};
    struct hs_object_spec what = {.kind = HS_OBJECT_TYPE, .type = type};
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;
    for (uint64_t i = 0; i < view->totals->n_chunks && status == HS_OK; i++) {
        status = hs_snap_load_chunk(view->snap, i, HS_COL_TYPES, &chunk, err);
        for (uint32_t j = 0; status == HS_OK && j < chunk.n_blocks; j++) {
            hs_node node = chunk.first + j;
            if (chunk.type[j] == type && hs_index_is_reached(view->index, node))
                keep_largest(&what, words, node, hs_index_retained(view->index, node).words);
        }
    }
    hs_chunk_fini(&chunk);
    if (status == HS_OK)
        *ret = what;
    return status;
}

static hs_status find_type(struct hs_view *view, const char *name, struct hs_object_spec *ret,
                           struct hs_error *err)
{
    struct hs_object_spec what = {0};
    for (uint32_t type = 0; type < view->totals->n_types; type++) {
        if (strcmp(hs_view_string(view, hs_snap_type(view->snap, type)->name), name) != 0)
            continue;
        HS_TRY(scan_type(view, type, &what, err));
        if (what.n_nodes == 0)
            return hs_fail(err, HS_USAGE, "no root reaches an object of type '%s'", name);
        *ret = what;
        return HS_OK;
    }
    (void)hs_fail(err, HS_USAGE, "there is no type '%s'", name);
    return hs_hint(err, "'heapsnap types %s -n 0' lists all", view->path);
}

static hs_status find(struct hs_view *view, struct hs_sample_join *join, const char *text,
                      struct hs_object_spec *ret, struct hs_error *err)
{
    if (strncmp(text, "root:", 5) == 0)
        return find_root(view, text + 5, ret, err);
    if (strncmp(text, "type:", 5) == 0)
        return find_type(view, text + 5, ret, err);
    if (strncmp(text, "0x", 2) == 0)
        return find_address(view, text, ret, err);
    if (text[0] == '#')
        return find_node(view, text + 1, ret, err);
    if (hs_sample_is_named(text))
        return find_sample(view, join, text, ret, err);
    (void)hs_fail(err, HS_USAGE, "'%s' names no object", text);
    return hs_hint(err, "write N or sample:N, 0xADDR, #N, root:NAME or type:NAME");
}

static hs_status find_named(struct hs_view *view, struct hs_sample_join *join, const char *text,
                            struct hs_object_spec *ret, struct hs_error *err)
{
    if (find(view, join, text, ret, err) != HS_OK)
        return hs_context(err, "cannot find '%.100s'", text);
    return HS_OK;
}

hs_status hs_object_lookup(struct hs_view *view, const char *text, struct hs_object_spec *ret,
                           struct hs_error *err)
{
    return find_named(view, /* join= */ NULL, text, ret, err);
}

hs_status hs_object_lookup_joined(struct hs_sample_join *join, const char *text,
                                  struct hs_object_spec *ret, struct hs_error *err)
{
    return find_named(join->view, join, text, ret, err);
}
