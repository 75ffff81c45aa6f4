#include "key_roots.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/root_folds.h"
#include "analysis/type_family.h"
#include "analysis/used_edges.h"
#include "base/alloc.h"

#define OTHER_ROOTS "[other roots]"

enum key_round key_roots_round(enum hs_root_kind kind)
{
    switch (kind) {
    case HS_ROOT_GLOBAL:
    case HS_ROOT_DYNAMIC_GLOBAL:
    case HS_ROOT_C_ROOT:
    case HS_ROOT_REGISTERED:
        return KEY_ROUND_NAMES;
    case HS_ROOT_TLS:
        return KEY_ROUND_TLS;
    case HS_ROOT_STACK:
    case HS_ROOT_LOCAL:
    case HS_ROOT_REGISTER:
        return KEY_ROUND_STACKS;
    default:
        return KEY_ROUND_OTHERS;
    }
}

/* ---- names */

/* Returns the end of an index in brackets that begins at `at`, which changes from run to run; `at`
 * when there is none. */
static const char *skip_place(const char *at, const char *begin)
{
    bool is_index = at > begin && at[-1] == '[';
    const char *end = at + strspn(at, "0123456789");
    return is_index && end > at && *end == ']' ? end : at;
}

/* " sp+16" and "#3 " say where on a stack something lay. */
static const char *skip_words(const char *at, const char *begin)
{
    if (strncmp(at, " sp", 3) == 0 && (at[3] == '+' || at[3] == '-'))
        return at + 4 + strspn(at + 4, "0123456789");
    if (*at == '#' && at == begin) {
        size_t n = strspn(at + 1, "0123456789");
        if (n > 0 && at[1 + n] == ' ')
            return at + n + 2;
    }
    return at;
}

/* " 7" in what the kernel keeps: the number of a file or a timer, of which each start and each
 * connection has another. Signals are called by theirs. */
static const char *skip_number(const char *at, const char *begin)
{
    size_t n = *at == ' ' ? strspn(at + 1, "0123456789") : 0;
    bool is_whole = n > 0 && (at[1 + n] == ' ' || at[1 + n] == '\0');
    return is_whole && strncmp(begin, "signal ", 7) != 0 ? at + 1 + n : at;
}

static bool is_of_kernel(const struct hs_view *view, const struct hs_root *root)
{
    return root->kind == HS_ROOT_REGISTERED &&
           strcmp(hs_view_string(view, root->module), "kernel") == 0;
}

void hs_key_root_name(const struct hs_view *view, hs_node leaf, char *text, size_t n)
{
    const struct hs_root *root = hs_snap_root(view->snap, leaf);
    const char *begin = hs_view_string(view, root->name);
    bool has_numbers = is_of_kernel(view, root);
    size_t n_text = 0;
    for (const char *at = begin; *at != '\0' && n_text + 1 < n;) {
        const char *next = skip_words(at, begin);
        next = next == at ? skip_place(at, begin) : next;
        next = next == at ? at + hs_root_name_address(at) : next;
        next = next == at && has_numbers ? skip_number(at, begin) : next;
        if (next == at)
            text[n_text++] = *at++;
        at = next > at ? next : at;
    }
    if (n > 0)
        text[n_text] = '\0';
}

/* ---- roots that are called the same */

struct named_leaf {
    hs_node leaf;
    hs_str name;
    uint8_t kind, tier;
};

struct naming {
    const struct hs_view *view;
    struct hs_strtab *names;
    bool has_tiers;
    struct named_leaf *leaves; /* owned pages */
    size_t n;
};

static int compare_names(const struct naming *naming, const struct named_leaf *a,
                         const struct named_leaf *b)
{
    return a->name == b->name ? 0
                              : strcmp(hs_strtab_get(naming->names, a->name),
                                       hs_strtab_get(naming->names, b->name));
}

static int ascending(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Orders leaves so that those of one key stand side by side, the firmest first. */
static int compare_same(const void *left, const void *right, void *context)
{
    const struct named_leaf *a = left, *b = right;
    int order = compare_names(context, a, b);
    order = order != 0 ? order : ascending(a->kind, b->kind);
    order = order != 0 ? order : ascending(a->tier, b->tier);
    return order != 0 ? order : ascending(a->leaf, b->leaf);
}

static int compare_keys(const void *left, const void *right, void *context)
{
    const struct named_leaf *a = left, *b = right;
    int order = ascending(a->tier, b->tier);
    order = order != 0 ? order : ascending(key_roots_round(a->kind), key_roots_round(b->kind));
    order = order != 0 ? order : compare_names(context, a, b);
    return order != 0 ? order : ascending(a->kind, b->kind);
}

static bool is_root(const struct hs_root *root)
{
    return root->target != HS_NO_NODE && !root->weak;
}

static hs_status name_leaves(struct naming *naming, struct hs_error *err)
{
    const struct hs_view *view = naming->view;
    char name[HS_KEY_TEXT_BYTES];
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (!is_root(root))
            continue;
        struct named_leaf *leaf = &naming->leaves[naming->n++];
        *leaf = (struct named_leaf){.leaf = node, .kind = root->kind};
        leaf->tier = naming->has_tiers ? (uint8_t)hs_root_tier(root) : HS_TIER_FIRM;
        hs_key_root_name(view, node, name, sizeof name);
        HS_TRY(hs_strtab_add(naming->names, name, &leaf->name, err));
    }
    return HS_OK;
}

static bool is_same_key(const struct named_leaf *a, const struct named_leaf *b)
{
    return a->name == b->name && a->kind == b->kind;
}

/* ---- their keys */

static struct hs_key key_of(const struct named_leaf *first)
{
    return (struct hs_key){.parent = 0,
                           .name = first->name,
                           .form = HS_KEY_ROOT,
                           .kind = first->kind,
                           .tier = first->tier,
                           .root = first->leaf,
                           .type = HS_UNTYPED};
}

/* Adds the keys of `first`, each the first of its name, in their order. `key_of_name` gets them by
 * place in `first`, which is sorted again by who asks. */
static hs_status add_keys(struct key_table *table, const struct named_leaf *first, size_t n,
                          uint32_t *keys, struct hs_error *err)
{
    size_t most = HS_KEYS_MOST / 2;
    uint32_t others = HS_NO_KEY;
    for (size_t i = 0; i < n; i++) {
        struct hs_key key = key_of(&first[i]);
        if (i + 1 >= most && n > most) {
            table->out->is_cut = true;
            if (others == HS_NO_KEY) {
                HS_TRY(hs_strtab_add(&table->out->names, OTHER_ROOTS, &key.name, err));
                HS_TRY(key_table_add(table, &key, 0, &others, err));
            }
            keys[i] = others;
        } else {
            HS_TRY(key_table_add(table, &key, 0, &keys[i], err));
        }
    }
    for (size_t i = table->n_ranked; i < table->out->n; i++)
        table->rank[i] = (uint32_t)i;
    table->n_ranked = table->out->n;
    return HS_OK;
}

struct keyed {
    struct named_leaf first; /* of its name */
    size_t at;               /* which name of the sorted leaves it is */
};

static int compare_keyed(const void *left, const void *right, void *context)
{
    return compare_keys(&((const struct keyed *)left)->first, &((const struct keyed *)right)->first,
                        context);
}

/* The leaves are sorted by name: the names' keys are found in the order of keys, then told to the
 * leaves. */
static hs_status key_names(struct naming *naming, struct key_table *table, struct key_leaf *leaves,
                           struct hs_error *err)
{
    hs_auto_free struct keyed *keyed = NULL;
    hs_auto_free struct named_leaf *first = NULL;
    hs_auto_free uint32_t *keys = NULL;
    hs_auto_free uint32_t *by_name = NULL;
    size_t n = 0;
    HS_TRY(HS_ALLOC(&keyed, naming->n, err));
    HS_TRY(HS_ALLOC(&first, naming->n, err));
    HS_TRY(HS_ALLOC(&keys, naming->n, err));
    HS_TRY(HS_ALLOC(&by_name, naming->n, err));
    for (size_t i = 0; i < naming->n; i++)
        if (i == 0 || !is_same_key(&naming->leaves[i - 1], &naming->leaves[i])) {
            keyed[n] = (struct keyed){naming->leaves[i], n};
            n++;
        }
    qsort_r(keyed, n, sizeof *keyed, compare_keyed, naming);
    for (size_t i = 0; i < n; i++)
        first[i] = keyed[i].first;
    HS_TRY(add_keys(table, first, n, keys, err));
    for (size_t i = 0; i < n; i++)
        by_name[keyed[i].at] = keys[i];
    for (size_t i = 0, name = 0; i < naming->n; i++) {
        const struct named_leaf *leaf = &naming->leaves[i];
        name += i > 0 && !is_same_key(&naming->leaves[i - 1], leaf);
        leaves[i] = (struct key_leaf){leaf->leaf, by_name[name], leaf->tier, leaf->kind};
    }
    return HS_OK;
}

static int compare_leaves(const void *a, const void *b)
{
    return ascending(((const struct key_leaf *)a)->leaf, ((const struct key_leaf *)b)->leaf);
}

static hs_status find_roots(struct naming *naming, struct key_table *table, struct key_roots *roots,
                            struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&naming->leaves, naming->view->n_tree, err));
    HS_TRY(name_leaves(naming, err));
    qsort_r(naming->leaves, naming->n, sizeof *naming->leaves, compare_same, naming);
    HS_TRY(HS_ALLOC(&roots->leaves, naming->n, err));
    roots->n = naming->n;
    HS_TRY(key_names(naming, table, roots->leaves, err));
    qsort(roots->leaves, roots->n, sizeof *roots->leaves, compare_leaves);
    return HS_OK;
}

hs_status key_roots_init(const struct hs_view *view, struct key_table *table, struct key_roots *ret,
                         struct hs_error *err)
{
    struct key_roots roots = {.budget = view->session.budget};
    const struct hs_bitmap *firm_types;
    struct naming naming = {.view = view,
                            .names = &table->out->names,
                            .has_tiers = hs_used_edges_by_tier(view, &firm_types)};
    uint64_t n_bytes = view->n_tree * (2 * sizeof(struct named_leaf) + sizeof(struct keyed) +
                                       sizeof(struct key_leaf) + 2 * sizeof(uint32_t));
    HS_TRY(hs_budget_reserve(roots.budget, n_bytes, "names of roots", err));
    roots.reserved_bytes = n_bytes;
    hs_status status = find_roots(&naming, table, &roots, err);
    hs_free(naming.leaves);
    if (status == HS_OK)
        *ret = roots;
    else
        key_roots_fini(&roots);
    return status;
}

void key_roots_fini(struct key_roots *roots)
{
    hs_free(roots->leaves);
    hs_budget_release(roots->budget, roots->reserved_bytes);
    *roots = (struct key_roots){0};
}
