#include "analysis/root_folds.h"

#include <string.h>

#include "base/alloc.h"

/* A digit of an address, or of an index. */
static bool is_digit(char c, bool is_address)
{
    return (c >= '0' && c <= '9') || (is_address && c >= 'a' && c <= 'f');
}

/* Returns how many characters at `at` are an index, or an address without its 0x; 0: none are. */
static size_t number_at(const char *name, const char *at)
{
    bool is_index = at > name && at[-1] == '[';
    bool is_address = at >= name + 2 && at[-1] == 'x' && at[-2] == '0';
    size_t n = 0;

    if (!is_index && !is_address)
        return 0;
    while (is_digit(at[n], is_address))
        n++;
    return is_index && at[n] != ']' ? 0 : n;
}

size_t hs_root_name_address(const char *at)
{
    static const char before[] = " at 0x";
    size_t n_before = sizeof before - 1;

    if (strncmp(at, before, n_before) != 0)
        return 0;
    size_t n = n_before + strspn(at + n_before, "0123456789abcdef");
    return n > n_before && at[n] == '\0' ? n : 0;
}

void hs_root_fold_name(const char *name, char text[HS_FOLD_NAME_BYTES])
{
    size_t n = 0;

    for (const char *at = name;
         hs_root_name_address(at) == 0 && *at != '\0' && n + 1 < HS_FOLD_NAME_BYTES;) {
        size_t n_digits = number_at(name, at);
        text[n++] = n_digits != 0 ? '*' : *at;
        at += n_digits != 0 ? n_digits : 1;
    }
    text[n] = '\0';
}

/* A root without a name of its own is not folded: each place is another thing. */
static bool may_fold(const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    return hs_view_root_of(view, node) == node && hs_view_string(view, root->name)[0] != '.' &&
           hs_index_retained(view->index, node).words != 0;
}

/* Returns the place that variables must share to fold: the node above a global one. Roots of other
 * kinds fold wherever they stand: HS_NO_NODE. */
static hs_node place_of(const struct hs_root *root)
{
    return root->kind == HS_ROOT_GLOBAL ? root->parent : HS_NO_NODE;
}

static bool is_alike(const struct hs_view *view, hs_node node, const struct hs_root *root,
                     const char *folded)
{
    const struct hs_root *other = hs_snap_root(view->snap, node);
    char text[HS_FOLD_NAME_BYTES];

    if (other->kind != root->kind || place_of(other) != place_of(root))
        return false;
    hs_root_fold_name(hs_view_string(view, other->name), text);
    return strcmp(text, folded) == 0;
}

static hs_status add_fold(struct hs_root_folds *folds, hs_node node, uint64_t hash,
                          struct hs_error *err)
{
    uint64_t more = hs_table_growth_bytes(&folds->by_name, 1);
    size_t capacity = folds->capacity;
    if (folds->n == capacity) {
        capacity = capacity == 0 ? 64 : 2 * capacity;
        more += (capacity - folds->capacity) * sizeof *folds->folds;
    }
    HS_TRY(hs_budget_reserve(folds->budget, more, "names of roots", err));
    folds->reserved_bytes += more;
    HS_TRY(HS_GROW(&folds->folds, &folds->capacity, capacity, err));
    HS_TRY(hs_table_add(&folds->by_name, hash, folds->n, err));
    folds->folds[folds->n++] = (struct hs_root_fold){.first = node, .begin = UINT64_MAX};
    return HS_OK;
}

static hs_status add_root(const struct hs_view *view, struct hs_root_folds *folds, hs_node node,
                          struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    const struct hs_sizes retained = hs_index_retained(view->index, node);
    char text[HS_FOLD_NAME_BYTES];

    hs_root_fold_name(hs_view_string(view, root->name), text);
    uint64_t hash = hs_hash_pair(hs_hash_bytes(text, strlen(text)),
                                 place_of(root) + root->kind * UINT64_C(0x9e3779b9));
    uint32_t at =
        HS_TABLE_FIND(&folds->by_name, hash, i, is_alike(view, folds->folds[i].first, root, text));
    if (at == HS_NO_NUMBER) {
        at = (uint32_t)folds->n;
        HS_TRY(add_fold(folds, node, hash, err));
    }
    struct hs_root_fold *fold = &folds->folds[at];
    folds->of_node[node] = at;
    fold->n_roots++;
    fold->retained.words += retained.words;
    fold->retained.objects += retained.objects;
    if (retained.words > fold->largest_words)
        fold->largest_words = retained.words;
    return HS_OK;
}

/* Returns how many roots make a fold. A thread-local variable is one however few threads have it.
 */
static uint64_t least_roots(const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    const char *name = hs_view_string(view, root->name);
    bool is_variable =
        root->kind == HS_ROOT_TLS &&
        (!hs_root_is_place(name) || strncmp(name, HS_PLACE_TLS, sizeof HS_PLACE_TLS - 1) == 0);

    return is_variable ? HS_FOLD_LEAST_THREADS : HS_FOLD_LEAST_ROOTS;
}

static bool is_fold(const struct hs_view *view, const struct hs_root_fold *fold,
                    uint64_t least_words)
{
    return fold->n_roots >= least_roots(view, fold->first) && fold->retained.words >= least_words &&
           fold->largest_words / HS_FOLD_LARGEST_PERCENT <= fold->retained.words / 100;
}

/* Gives those that are folds their part of the list of roots. */
static void list_roots(const struct hs_view *view, uint64_t least_words,
                       struct hs_root_folds *folds)
{
    uint64_t n = 0;
    for (size_t i = 0; i < folds->n; i++) {
        struct hs_root_fold *fold = &folds->folds[i];
        if (is_fold(view, fold, least_words)) {
            fold->begin = n;
            n += fold->n_roots;
            fold->n_roots = 0;
        }
    }
    for (hs_node node = 0; node < view->n_tree; node++) {
        struct hs_root_fold *fold =
            folds->of_node[node] == HS_NO_NUMBER ? NULL : &folds->folds[folds->of_node[node]];
        if (fold != NULL && fold->begin != UINT64_MAX)
            folds->nodes[fold->begin + fold->n_roots++] = node;
        else
            folds->of_node[node] = HS_NO_NUMBER;
    }
}

static hs_status find(const struct hs_view *view, uint64_t least_words, struct hs_root_folds *folds,
                      struct hs_error *err)
{
    uint64_t n_bytes = view->n_tree * (sizeof *folds->nodes + sizeof *folds->of_node);
    folds->budget = view->session.budget;
    HS_TRY(hs_budget_reserve(folds->budget, n_bytes, "roots that are alike", err));
    folds->reserved_bytes = n_bytes;
    HS_TRY(HS_ALLOC(&folds->nodes, view->n_tree, err));
    HS_TRY(HS_ALLOC(&folds->of_node, view->n_tree, err));
    for (hs_node node = 0; node < view->n_tree; node++) {
        folds->of_node[node] = HS_NO_NUMBER;
        if (may_fold(view, node))
            HS_TRY(add_root(view, folds, node, err));
    }
    list_roots(view, least_words, folds);
    return HS_OK;
}

hs_status hs_root_folds_find(const struct hs_view *view, uint64_t least_words,
                             struct hs_root_folds *ret, struct hs_error *err)
{
    struct hs_root_folds folds = {0};
    hs_status status = find(view, least_words, &folds, err);
    if (status == HS_OK)
        *ret = folds;
    else
        hs_root_folds_fini(&folds);
    return status;
}

void hs_root_folds_fini(struct hs_root_folds *folds)
{
    if (folds->budget != NULL)
        hs_budget_release(folds->budget, folds->reserved_bytes);
    hs_free(folds->folds);
    hs_free(folds->nodes);
    hs_free(folds->of_node);
    hs_table_fini(&folds->by_name);
    *folds = (struct hs_root_folds){0};
}
