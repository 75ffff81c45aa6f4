/* Finding what the user names. */
#include "analysis/object_lookup.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analysis/chunk_pass.h"
#include "analysis/set_tops.h"
#include "base/append.h"
#include "base/nearest.h"
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
    HS_TRY(hs_view_find_address(view, address, &node, err));
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
    if (match->n < LISTED)
        hs_append(match->list, sizeof match->list, "%s#%lu %.60s", match->n == 0 ? "" : ", ",
                  (unsigned long)node, name);
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

/* The ways in which a name fits, the best first: a root, a slot of a variable, a group; then the
 * same by the end of the name. */
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

/* ---- what was meant */

enum { NEAR_NAMES = 3 };

struct near_name {
    const char *prefix, *name;
    unsigned distance;
};

/* Returns the edit distance of a name from what was asked for: 0 when they differ in case alone,
 * UINT32_MAX when it is too far to be suggested. */
static unsigned distance_of(const char *asked, const char *name)
{
    size_t n = strlen(asked);
    if (strcasecmp(asked, name) == 0)
        return 0;
    unsigned distance = hs_edit_distance(asked, name);
    unsigned most = n < 4 ? 1 : n < 12 ? 2 : 3;
    if (distance <= most)
        return distance;
    return n >= 4 && strcasestr(name, asked) != NULL ? most + 1 : UINT32_MAX;
}

static void put_near(struct near_name *near, const char *asked, const char *prefix,
                     const char *name)
{
    unsigned distance = distance_of(asked, name), at = NEAR_NAMES;
    for (unsigned i = 0; i < NEAR_NAMES; i++)
        if (near[i].name != NULL && strcmp(near[i].name, name) == 0 && near[i].prefix == prefix)
            return;
    while (at > 0 && (near[at - 1].name == NULL || near[at - 1].distance > distance))
        at--;
    if (at == NEAR_NAMES || distance == UINT32_MAX || name[0] == 0)
        return;
    memmove(&near[at + 1], &near[at], (NEAR_NAMES - 1 - at) * sizeof *near);
    near[at] = (struct near_name){prefix, name, distance};
}

static const char root_prefix[] = "root:", type_prefix[] = "type:";

/* Adds "type:Job", in quotes where a shell would take it apart, if there is room for all of it:
 * half a name finds nothing. */
static void list_near(char *list, size_t n_bytes, const struct near_name *near)
{
    bool is_plain = strpbrk(near->name, " <>()[]{}*&|;'\"#$!?~`\\") == NULL;
    const char *quote = is_plain ? "" : "'", *between = list[0] == '\0' ? "" : ", ";
    size_t used = strlen(list);
    size_t needed = strlen(between) + 2 * strlen(quote) + strlen(near->prefix) + strlen(near->name);
    if (used + needed < n_bytes && strchr(near->name, '\'') == NULL)
        hs_append(list, n_bytes, "%s%s%s%s%s", between, quote, near->prefix, near->name, quote);
}

/* The hint: names near to the one that was asked for, and where to look for others. */
static hs_status hint_near(const struct hs_view *view, const char *asked, bool roots, bool types,
                           struct hs_error *err)
{
    struct near_name near[NEAR_NAMES] = {{NULL, NULL, 0}};
    char list[200] = "";
    for (hs_node node = 1; node < view->n_tree && roots; node++)
        put_near(near, asked, root_prefix,
                 hs_view_string(view, hs_snap_root(view->snap, node)->name));
    for (uint32_t type = 0; type < view->totals->n_types && types; type++)
        put_near(near, asked, type_prefix,
                 hs_view_string(view, hs_snap_type(view->snap, type)->name));
    for (unsigned i = 0; i < NEAR_NAMES && near[i].name != NULL; i++)
        list_near(list, sizeof list, &near[i]);
    if (list[0] != 0)
        return hs_hint(err, "did you mean %s? 'heapsnap %s %s -n 0' lists all", list,
                       roots ? "roots" : "types", HS_SHELL(view->path));
    return hs_hint(err, "'heapsnap %s %s -n 0' lists all", roots ? "roots" : "types",
                   HS_SHELL(view->path));
}

/* ---- roots by name */

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
        return hint_near(view, name, /* roots= */ true, /* types= */ false, err);
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

static hs_status scan_type(struct hs_view *view, struct hs_type_family type,
                           struct hs_object_spec *ret, struct hs_error *err)
{
    uint64_t words[HS_OBJECT_INSTANCES] = {0};
    struct hs_object_spec what = {.kind = HS_OBJECT_TYPE, .type = type};
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_TYPES, /* what= */ NULL);
    struct hs_bitmap types = {0};
    HS_TRY(hs_type_family_members(view, type, &types, err));
    while (hs_chunk_pass_next(&pass, err))
        for (uint32_t i = 0; i < pass.chunk.n_blocks; i++) {
            hs_node node = pass.chunk.first + i;
            if (hs_bitmap_get(&types, pass.chunk.type[i]) && hs_index_is_reached(view->index, node))
                keep_largest(&what, words, node, hs_index_retained(view->index, node).words);
        }
    hs_status status = hs_chunk_pass_end(&pass);
    hs_bitmap_fini(&types);
    if (status == HS_OK)
        *ret = what;
    return status;
}

static hs_status find_type(struct hs_view *view, const char *name, struct hs_object_spec *ret,
                           struct hs_error *err)
{
    struct hs_object_spec what = {0};
    struct hs_type_family type;
    if (hs_type_family_find(view, name, &type)) {
        HS_TRY(scan_type(view, type, &what, err));
        if (what.n_nodes == 0)
            return hs_fail(err, HS_USAGE, "no root reaches an object of type '%s'", name);
        *ret = what;
        return HS_OK;
    }
    (void)hs_fail(err, HS_USAGE, "there is no type '%s'", name);
    return hint_near(view, name, /* roots= */ false, /* types= */ true, err);
}

/* ---- sets */

static hs_status find_set(struct hs_view *view, const char *text, struct hs_object_spec *ret,
                          struct hs_error *err)
{
    struct hs_object_spec what = {.kind = HS_OBJECT_SET};
    uint64_t words[HS_OBJECT_INSTANCES] = {0}, set;
    uint32_t n_sets = hs_index_n_sets(view->index);
    HS_TRY(hs_parse_count(text, &set, err));
    if (set == 0 || set > n_sets) {
        (void)hs_fail(err, HS_USAGE, "there is no owner set 'set:%s'", text);
        if (n_sets == 0)
            return hs_hint(err, "no blocks are kept by several roots together");
        return hs_hint(err, "there are %u: set:1 to set:%u", n_sets, n_sets);
    }
    what.set = (uint32_t)set;
    struct hs_set_tops tops = hs_set_tops_of(view, what.set);
    hs_node top;
    while (hs_set_tops_next(&tops, &top))
        keep_largest(&what, words, top, hs_index_retained(view->index, top).words);
    if (what.n_nodes == 0)
        return hs_view_fail_circle(view, err);
    *ret = what;
    return HS_OK;
}

/* ---- bare names */

bool hs_object_is_bare(const char *text)
{
    static const char *const prefixes[] = {root_prefix, type_prefix, "set:", "site:", "0x", "#"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
            return false;
    return text[0] != 0 && !hs_sample_is_named(text);
}

static bool has_root(const struct hs_view *view, const char *name, bool by_end)
{
    for (hs_node node = 1; node < view->n_tree; node++) {
        enum root_fit fit = fit_of(view, node, name);
        if (by_end ? fit != N_FITS : fit <= FIT_GROUP)
            return true;
    }
    return false;
}

static bool has_type(const struct hs_view *view, const char *name)
{
    struct hs_type_family type;
    return hs_type_family_find(view, name, &type);
}

bool hs_object_is_known(const struct hs_view *view, const char *name)
{
    return has_root(view, name, /* by_end= */ true) || has_type(view, name);
}

/* A root or a type of that very name, then a root whose name ends so. */
static hs_status find_bare(struct hs_view *view, const char *name, struct hs_object_spec *ret,
                           struct hs_error *err)
{
    if (has_root(view, name, /* by_end= */ false))
        return find_root(view, name, ret, err);
    if (has_type(view, name))
        return find_type(view, name, ret, err);
    if (has_root(view, name, /* by_end= */ true))
        return find_root(view, name, ret, err);
    (void)hs_fail(err, HS_USAGE, "no root and no type is called '%s'", name);
    return hint_near(view, name, /* roots= */ true, /* types= */ true, err);
}

static hs_status find(struct hs_view *view, struct hs_sample_join *join, const char *text,
                      struct hs_object_spec *ret, struct hs_error *err)
{
    if (strncmp(text, root_prefix, 5) == 0)
        return find_root(view, text + 5, ret, err);
    if (strncmp(text, type_prefix, 5) == 0)
        return find_type(view, text + 5, ret, err);
    if (strncmp(text, "set:", 4) == 0)
        return find_set(view, text + 4, ret, err);
    if (strncmp(text, "0x", 2) == 0)
        return find_address(view, text, ret, err);
    if (text[0] == '#')
        return find_node(view, text + 1, ret, err);
    if (hs_sample_is_named(text))
        return find_sample(view, join, text, ret, err);
    if (hs_object_is_bare(text))
        return find_bare(view, text, ret, err);
    (void)hs_fail(err, HS_USAGE, "'%s' names no object", text);
    return hs_hint(err, "write N or sample:N, 0xADDR, #N, root:NAME, type:NAME, set:N or a name");
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

/* Finds the block that a variable's slots point to; of several the one that retains most, of equal
 * ones the first slot's. HS_NO_NODE when there is none. */
static hs_node largest_target(const struct hs_view *view, hs_node variable)
{
    hs_node largest = HS_NO_NODE;
    uint64_t most = 0;
    for (hs_node node = variable + 1; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->parent != variable || root->target == HS_NO_NODE || root->target == largest)
            continue;
        uint64_t words = hs_index_retained(view->index, root->target).words;
        if (largest != HS_NO_NODE && words <= most)
            continue;
        largest = root->target;
        most = words;
    }
    return largest;
}

hs_status hs_object_target(const struct hs_view *view, const char *text, hs_node node, hs_node *ret,
                           struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    hs_node target = root->level == HS_LEVEL_VARIABLE ? largest_target(view, node) : root->target;
    if (target != HS_NO_NODE) {
        *ret = target;
        return HS_OK;
    }
    if (root->level == HS_LEVEL_LEAF || root->level == HS_LEVEL_VARIABLE)
        return hs_fail(err, HS_USAGE, "'%s' points to no block", text);
    (void)hs_fail(err, HS_USAGE, "'%s' is a group of roots", text);
    return hs_hint(err, "paths lead to an object: name one of its roots");
}
