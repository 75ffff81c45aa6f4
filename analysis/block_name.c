#include "analysis/block_name.h"

#include <ctype.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/path_find.h"
#include "analysis/type_family.h"
#include "base/alloc.h"
#include "base/append.h"
#include "short_way.h"
#include "type_rank.h"

enum { MOST_STEPS = 4096 };

/* Finds the dominators of a block from its root's leaf, or the root itself, downwards: their
 * number, at most MOST_STEPS, the outermost ones; *ret_is_cut: whether there are more, as in a long
 * list. 0: it is too deep. */
static size_t way_down(const struct hs_view *view, hs_node node, hs_node *way, hs_node *ret_root,
                       bool *ret_is_cut)
{
    static const size_t most_depth = (size_t)1 << 24; /* no idle minute, and no endless circle */
    size_t depth = 0, n;
    hs_node at = node;

    for (; at != HS_NO_NODE && at >= view->n_tree; at = hs_index_idom(view->index, at))
        if (++depth > most_depth)
            return 0;
    *ret_root = at;
    *ret_is_cut = depth > MOST_STEPS;
    n = *ret_is_cut ? MOST_STEPS : depth;
    for (at = node; depth > 0; at = hs_index_idom(view->index, at))
        if (--depth < n)
            way[depth] = at;
    return n;
}

static hs_status fold_step(struct hs_view *view, hs_node node, hs_node next,
                           struct hs_path_fold *fold, struct hs_error *err)
{
    struct hs_path_step step = {.node = node, .offset_words = HS_NO_OFFSET, .repeat = 1};
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, node, &facts, err));
    step.type = facts.type;
    if (next != HS_NO_NODE)
        HS_TRY(hs_link_offset(view, node, next, &step.offset_words, err));
    return hs_path_fold_add(fold, &step, err);
}

/* Finds the block that a shortest way from the roots goes on with behind a dominator; HS_NO_NODE
 * when it is not found, as by what is not used. */
static hs_status next_behind(struct hs_view *view, hs_node from, hs_node to, hs_node *ret,
                             struct hs_error *err)
{
    struct hs_paths paths = {0};

    *ret = HS_NO_NODE;
    HS_TRY(hs_paths_to(view, to, 1, /* disjoint= */ false, &paths, err));
    size_t n = paths.n_paths == 0 ? 0 : paths.begin[1];
    for (size_t i = 0; i + 1 < n; i++)
        if (paths.nodes[i] == from)
            *ret = paths.nodes[i + 1];
    hs_paths_fini(&paths);
    return HS_OK;
}

/* Fills the gap behind a dominator that does not point to the next: with a short way from one to
 * the other, as there are several; where they are long, with the member where one begins. Searches
 * from the roots, which may go through all blocks, are taken from *n_searches. */
static hs_status fold_gap(struct hs_view *view, hs_node from, hs_node to, unsigned *n_searches,
                          struct hs_path_fold *fold, struct hs_error *err)
{
    enum { FEW = 6 };
    static const struct hs_path_step gap = {.node = HS_NO_NODE, .repeat = 1};
    hs_node way[HS_SHORT_WAY_STEPS], next = HS_NO_NODE;
    size_t n;
    HS_TRY(hs_short_way(view, from, to, way, &n, err));
    if (n != 0 && n <= FEW) {
        fold->n_steps--; /* that of `from`, which had no place */
        for (size_t i = 0; i + 1 < n; i++)
            HS_TRY(fold_step(view, way[i], way[i + 1], fold, err));
        return HS_OK;
    }
    if (n != 0) {
        next = way[1];
    } else if (*n_searches != 0) {
        --*n_searches;
        HS_TRY(next_behind(view, from, to, &next, err));
    }
    if (next != HS_NO_NODE) {
        fold->n_steps--;
        HS_TRY(fold_step(view, from, next, fold, err));
    }
    return hs_path_fold_add(fold, &gap, err);
}

/* Folds a way by dominators; where it is cut it ends in a gap. */
static hs_status fold_way(struct hs_view *view, const hs_node *way, size_t n, bool is_cut,
                          struct hs_path_fold *fold, struct hs_error *err)
{
    static const struct hs_path_step gap = {.node = HS_NO_NODE, .repeat = 1};
    unsigned n_searches = 4; /* a name has few containers that are so deep */
    for (size_t i = 0; i < n; i++) {
        size_t n_before = fold->n_steps;
        HS_TRY(fold_step(view, way[i], i + 1 < n ? way[i + 1] : HS_NO_NODE, fold, err));
        bool has_gap = i + 1 < n && fold->n_steps > n_before &&
                       fold->steps[fold->n_steps - 1].offset_words == HS_NO_OFFSET;
        if (has_gap)
            HS_TRY(fold_gap(view, way[i], way[i + 1], &n_searches, fold, err));
    }
    if (is_cut)
        HS_TRY(hs_path_fold_add(fold, &gap, err));
    hs_path_fold_finish(fold);
    return HS_OK;
}

/* The text of a folded way from a root; the root's name alone where types say nothing. */
hs_status hs_fold_text(const struct hs_view *view, hs_node root, const struct hs_path_fold *fold,
                       char **ret, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    const char *name = hs_view_string(view, hs_snap_root(view->snap, root)->name);
    HS_TRY(HS_ALLOC(&text, HS_FIELD_PATH_BYTES, err));
    if (hs_field_path(view, name, fold, text, HS_FIELD_PATH_BYTES) == 0)
        return hs_strdup(name, ret, err);
    return hs_strdup(text, ret, err);
}

static bool has_pointer(const struct hs_view *view, hs_node from, hs_node to)
{
    struct hs_row row = hs_index_predecessors(view->index, to);

    for (hs_node node; hs_row_next(&row, &node);)
        if (node == from)
            return true;
    return false;
}

/* Tells whether the name of a slot says in what member, not only how far from the beginning. */
static bool names_member(const struct hs_view *view, hs_node slot)
{
    return strstr(hs_view_string(view, hs_snap_root(view->snap, slot)->name), "+0x") == NULL;
}

/* Folds the shortest way to the first dominator below a variable, of whose slots several lead to it
 * (a tree's root, first and last): *root becomes the slot where it begins, whose name says in what
 * member. It stays where something else is nearer. */
static hs_status fold_from_slot(struct hs_view *view, hs_node first, hs_node *root,
                                struct hs_path_fold *fold, struct hs_error *err)
{
    struct hs_paths paths = {0};
    hs_status status = HS_OK;

    if (has_pointer(view, *root, first))
        return HS_OK;
    HS_TRY(hs_paths_to(view, first, 1, /* disjoint= */ false, &paths, err));
    const hs_node *way = paths.nodes;
    size_t n = paths.n_paths == 0 ? 0 : paths.begin[1];
    if (n != 0 && n <= MOST_STEPS && hs_path_root(view, way[0]) == *root &&
        names_member(view, way[0])) {
        *root = way[0];
        for (size_t i = 1; i + 1 < n && status == HS_OK; i++)
            status = fold_step(view, way[i], way[i + 1], fold, err);
    }
    hs_paths_fini(&paths);
    return status;
}

/* Names what one root alone retains, by dominators: all ways pass through these. */
hs_status hs_name_by_dominators(struct hs_view *view, hs_node block, hs_node root, char **ret,
                                struct hs_error *err)
{
    hs_auto_free hs_node *way = NULL;
    struct hs_path_fold fold = {0};
    bool is_cut = false;
    HS_TRY(HS_ALLOC(&way, MOST_STEPS, err));
    size_t n = way_down(view, block, way, &root, &is_cut);
    if (root >= view->n_tree)
        return hs_view_fail_circle(view, err);
    hs_status status = n == 0 ? HS_OK : fold_from_slot(view, way[0], &root, &fold, err);
    if (status == HS_OK)
        status = fold_way(view, way, n, is_cut, &fold, err);
    if (status == HS_OK)
        status = hs_fold_text(view, root, &fold, ret, err);
    hs_path_fold_fini(&fold);
    return status;
}

/* Finds the nearest dominator of the type, or the one above it of a few in each other: its place on
 * the way; n: none has it. */
static hs_status find_above(struct hs_view *view, const hs_node *way, size_t n, uint32_t type,
                            bool is_outermost, size_t *ret, struct hs_error *err)
{
    enum { MOST_BETWEEN = 4 };
    *ret = n;
    for (size_t i = n; i-- > 1 && (*ret == n || (is_outermost && *ret - i <= MOST_BETWEEN));) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, way[i - 1], &facts, err));
        if (facts.type == type)
            *ret = i - 1;
    }
    return HS_OK;
}

/* Finds a way from a block through another of its type that it dominates: a view leads to the
 * memory of its array by a pointer of its own, but the array owns it. *ret_n: 0 when there is none.
 */
static hs_status through_inner(struct hs_view *view, hs_node from, hs_node to, uint32_t type,
                               hs_node *ret, size_t *ret_n, struct hs_error *err)
{
    enum { MOST_CHILDREN = 64 };
    struct hs_row row = hs_index_dominated(view->index, from);
    hs_node inner = HS_NO_NODE, child;
    size_t n_first, n_rest;

    *ret_n = 0;
    for (unsigned i = 0; i < MOST_CHILDREN && inner == HS_NO_NODE && hs_row_next(&row, &child);
         i++) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, child, &facts, err));
        if (facts.type == type && child != to)
            inner = child;
    }
    if (inner == HS_NO_NODE)
        return HS_OK;
    HS_TRY(hs_short_way(view, from, inner, ret, &n_first, err));
    if (n_first == 0)
        return HS_OK;
    HS_TRY(hs_short_way(view, inner, to, ret + n_first - 1, &n_rest, err));
    *ret_n = n_rest == 0 ? 0 : n_first - 1 + n_rest;
    return HS_OK;
}

hs_status hs_name_below(struct hs_view *view, hs_node block, uint32_t type, bool is_outermost,
                        char **ret, struct hs_error *err)
{
    hs_auto_free hs_node *way = NULL;
    hs_auto_free char *text = NULL;
    struct hs_path_fold fold = {0};
    hs_node root, by_pointers[2 * HS_SHORT_WAY_STEPS];
    size_t from, n_pointers;
    bool is_cut = false;
    HS_TRY(HS_ALLOC(&way, MOST_STEPS, err));
    HS_TRY(HS_ALLOC(&text, HS_FIELD_PATH_BYTES, err));
    size_t n = way_down(view, block, way, &root, &is_cut);
    if (is_cut)
        return HS_OK; /* the block is not on the way */
    HS_TRY(find_above(view, way, n, type, is_outermost, &from, err));
    if (from == n)
        return HS_OK;
    n_pointers = 0;
    if (is_outermost)
        HS_TRY(through_inner(view, way[from], block, type, by_pointers, &n_pointers, err));
    if (n_pointers == 0)
        HS_TRY(hs_short_way(view, way[from], block, by_pointers, &n_pointers, err));
    hs_status status = n_pointers != 0
                           ? hs_path_fold_nodes(&fold, view, by_pointers, n_pointers, err)
                           : fold_way(view, way + from, n - from, /* is_cut= */ false, &fold, err);
    if (status == HS_OK && hs_field_path(view, "", &fold, text, HS_FIELD_PATH_BYTES) != 0)
        status = hs_strdup(text, ret, err);
    hs_path_fold_fini(&fold);
    return status;
}

/* Tells whether references to a block are counted, by its type: of these a cycle is never freed. */
static bool is_counted(const char *type)
{
    static const char *const counted[] = {"make_shared<", "allocate_shared<", "_Sp_counted_",
                                          "sp_counted_",  "RcInner<",         "RcBox<",
                                          "ArcInner<"};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (strstr(type, counted[i]) != NULL)
            return true;
    return false;
}

/* Names the classes between the ends of a way, as far as these are known or guessed: "through X";
 * "" where none is. *ret_counted: whether references to any block on it are counted. */
static hs_status name_classes(struct hs_view *view, const hs_node *way, size_t n, char *text,
                              size_t n_bytes, bool *ret_counted, struct hs_error *err)
{
    static const char of[] = "of "; /* a binary: no record is guessed */

    text[0] = '\0';
    *ret_counted = false;
    for (size_t i = 0; i + 1 < n; i++) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, way[i], &facts, err));
        if (facts.type == HS_UNTYPED)
            continue;
        const struct hs_type *type = hs_snap_type(view->snap, facts.type);
        const char *name = hs_view_string(view, type->name), *guess = strstr(name, HS_TYPE_PERHAPS);
        bool is_told = i != 0 && (type->form != HS_FORM_BYTES || guess != NULL);
        *ret_counted |= type->form == HS_FORM_PYTHON || is_counted(name);
        if (guess != NULL)
            name = guess + strlen(HS_TYPE_PERHAPS);
        bool is_of_binary = guess != NULL && strncmp(name, of, strlen(of)) == 0;
        if (is_told)
            hs_append(text, n_bytes, "%s%s%s", text[0] == '\0' ? "through " : ", ",
                      is_of_binary ? "a block " : "", name);
    }
    return HS_OK;
}

hs_status hs_name_cycle(struct hs_view *view, hs_node block, char **ret, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    struct hs_path_fold fold = {0};
    hs_node way[HS_SHORT_WAY_STEPS];
    char classes[512] = "";
    size_t n;
    HS_TRY(HS_ALLOC(&text, HS_FIELD_PATH_BYTES, err));
    HS_TRY(hs_short_way(view, block, block, way, &n, err));
    bool is_of_counted = false;
    HS_TRY(name_classes(view, way, n, classes, sizeof classes, &is_of_counted, err));
    if (n == 0 || !is_of_counted)
        return HS_OK;
    hs_status status = hs_path_fold_nodes(&fold, view, way, n, err);
    if (status == HS_OK) {
        bool has_members = hs_field_path(view, "", &fold, text, HS_FIELD_PATH_BYTES) != 0;
        status = hs_strdup(has_members ? text : classes, ret, err);
    }
    hs_path_fold_fini(&fold);
    return status;
}

hs_status hs_cycle_hidden(struct hs_view *view, hs_node block, uint32_t *ret, struct hs_error *err)
{
    hs_node way[HS_SHORT_WAY_STEPS];
    size_t n;

    *ret = HS_UNTYPED;
    HS_TRY(hs_short_way(view, block, block, way, &n, err));
    for (size_t i = 0; i < n && *ret == HS_UNTYPED; i++) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, way[i], &facts, err));
        if (facts.type == HS_UNTYPED)
            continue;
        const struct hs_type *type = hs_snap_type(view->snap, facts.type);
        if (type->form == HS_FORM_PYTHON && type->tag == HS_TAG_HIDDEN &&
            !hs_type_is_part(hs_view_string(view, type->name), type->form))
            *ret = facts.type;
    }
    return HS_OK;
}

void hs_fold_indices(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0';) {
        *to++ = *at++;
        size_t n = to[-1] == '[' ? strspn(at, "0123456789") : 0;
        if (n != 0 && at[n] == ']') {
            *to++ = '*';
            at += n;
        }
    }
    *to = '\0';
}

/* Cuts a path where no member leads on by name; the way so far says as much. */
static void cut_gap(char *text)
{
    static const char gap[] = "->...";
    size_t n = strlen(text), n_gap = sizeof gap - 1;
    if (n > n_gap && strcmp(text + n - n_gap, gap) == 0)
        text[n - n_gap] = '\0';
}

static hs_status name_block(struct hs_view *view, hs_node block, char **ret, struct hs_error *err)
{
    struct hs_paths paths = {0};
    struct hs_path_fold fold = {0};
    hs_node root = hs_view_retaining_root(view, block);
    if (root != HS_NO_NODE)
        return hs_name_by_dominators(view, block, root, ret, err);
    HS_TRY(hs_paths_to(view, block, 1, /* disjoint= */ false, &paths, err));
    hs_status status = HS_OK;
    if (paths.n_paths != 0) {
        const hs_node *nodes = paths.nodes + paths.begin[0];
        size_t n = paths.begin[1] - paths.begin[0];
        status = hs_path_fold_nodes(&fold, view, nodes + 1, n - 1, err);
        if (status == HS_OK)
            status = hs_fold_text(view, nodes[0], &fold, ret, err);
    }
    hs_path_fold_fini(&fold);
    hs_paths_fini(&paths);
    return status;
}

hs_status hs_block_name(struct hs_view *view, hs_node block, char **ret, struct hs_error *err)
{
    HS_TRY(name_block(view, block, ret, err));
    if (*ret != NULL)
        cut_gap(*ret);
    return HS_OK;
}

/* Returns the bytes of the first of these that the text begins with and no identifier goes on; 0:
 * none. */
static size_t starts_with(const char *text, const char *const *of, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t n_bytes = strlen(of[i]);
        char after = strncmp(text, of[i], n_bytes) == 0 ? text[n_bytes] : 'a';
        if (!isalnum((unsigned char)after) && after != '_' && after != '.')
            return n_bytes;
    }
    return 0;
}

/* Returns what comes behind a container's own links to one of its elements, as containers.c calls
 * them: of ".root->left{x3}->second" the last member; the text itself where none begins. */
static const char *behind_links(const char *text)
{
    static const char *const links[] = {".root", ".first", ".last", ".buckets", ".head"};
    static const char *const steps[] = {"->left", "->right", "->parent", "->next",
                                        "->prev", "->edges", "->..."};
    const char *at = text + starts_with(text, links, sizeof links / sizeof *links);

    for (size_t n = at == text ? 0 : 1; n != 0;) {
        static const char *const closing[] = {"[]", "{}"};
        for (size_t i = 0; i < 2; i++)
            if (*at == closing[i][0] && strchr(at, closing[i][1]) != NULL)
                at = strchr(at, closing[i][1]) + 1;
        n = starts_with(at, steps, sizeof steps / sizeof *steps);
        at += n;
    }
    return at;
}

/* Cuts the way to one of the elements of a container where the container's own links begin, and
 * folds those of containers on the way there: "srv.root->left->second.q->all.first->next->value" is
 * "srv[*]->second.q->all". */
static void fold_links(char *holder)
{
    static const char any[] = "[*]";
    char *last = NULL;

    for (char *at = holder; *at != '\0';) {
        const char *rest = behind_links(at);
        if (rest == at) {
            at++;
            continue;
        }
        last = at;
        if (*rest == '\0')
            break;
        memcpy(at, any, sizeof any - 1); /* a link's name is longer */
        at += sizeof any - 1;
        memmove(at, rest, strlen(rest) + 1);
    }
    if (last != NULL)
        *last = '\0';
}

/* Returns where the step begins that is repeated at `end`: "next{x1588}", "[...]{x3}". */
static char *begin_of_repeated(char *holder, char *end)
{
    while (end > holder && end[-1] == ']') /* no member's dot is in these */
        for (end--; end > holder && *end != '[';)
            end--;
    while (end > holder && *end != '[' && *end != '>' && *end != '.')
        end--;
    return end - (end > holder && *end == '>');
}

void hs_holder_trim(char *holder, bool is_one_of_many)
{
    if (holder == NULL)
        return;
    if (is_one_of_many)
        fold_links(holder);
    char *end = strstr(holder, "{x");
    if (end != NULL) {
        end = begin_of_repeated(holder, end);
    } else if (is_one_of_many) {
        end = strrchr(holder, '[');
        end = end != NULL && end[1] >= '0' && end[1] <= '9' ? end : NULL;
    }
    if (end != NULL && end > holder)
        *end = '\0';
    cut_gap(holder);
}
