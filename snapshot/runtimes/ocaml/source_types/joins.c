#include "joins.h"

#include "base/alloc.h"

enum { STEPS_MAX = 1 << 22 };
enum { IS_NOT_BELOW, IS_BELOW, IS_ASKED, IS_OPEN }; /* values of joins.below */

void hs_sjoins_fini(struct hs_sjoins *joins)
{
    hs_dict_fini(&joins->below);
    hs_dict_fini(&joins->joined);
    hs_free(joins->asked);
    hs_free(joins->made);
    *joins = (struct hs_sjoins){0};
}

static uint64_t pair_key(hs_stype a, hs_stype b)
{
    return (uint64_t)a << 32 | b;
}

static const struct hs_srow *rows_of(const struct hs_stables *t, hs_stype type)
{
    return t->types[type].n_rows == 0 ? NULL : &t->rows[t->types[type].first_row];
}

/* Tells whether two types are of one declaration, and laid out alike. */
static bool are_alike(const struct hs_stables *t, hs_stype a, hs_stype b)
{
    const struct hs_stype_entry *x = &t->types[a], *y = &t->types[b];

    if (x->head != y->head || x->kind != y->kind || x->n_rows != y->n_rows ||
        x->has_inner != y->has_inner)
        return false;
    const struct hs_srow *p = rows_of(t, a), *q = rows_of(t, b);
    for (uint32_t i = 0; i < x->n_rows; i++)
        if (p[i].tag != q[i].tag || p[i].size != q[i].size || p[i].kind != q[i].kind ||
            p[i].children.n != q[i].children.n || p[i].cases.n != q[i].cases.n)
            return false;
    return true;
}

/* Compares two parts without a look at theirs: below, not below, or it depends on their own parts.
 */
static int child_is_below(const struct hs_stables *t, hs_stype a, hs_stype b)
{
    if (a == b || b == HS_STYPE_FORGOTTEN || a == HS_STYPE_NONE)
        return IS_BELOW;
    if (a == HS_STYPE_FORGOTTEN)
        return IS_NOT_BELOW;
    if (hs_stype_is_open(t, a))
        return IS_BELOW;
    if (b == HS_STYPE_NONE || hs_stype_is_open(t, b))
        return IS_NOT_BELOW;
    return are_alike(t, a, b) ? IS_ASKED : IS_NOT_BELOW;
}

/* Asks for a pair on which another one depends. */
static hs_status ask(struct hs_sjoins *j, hs_stype a, hs_stype b, bool *is_below,
                     struct hs_error *err)
{
    a = hs_stype_proper(j->tables, a);
    b = hs_stype_proper(j->tables, b);
    int answer = child_is_below(j->tables, a, b);

    if (answer != IS_ASKED) {
        *is_below = answer == IS_BELOW;
        return HS_OK;
    }
    uint64_t known = hs_dict_get(&j->below, pair_key(a, b), IS_OPEN);
    if (known != IS_OPEN) {
        *is_below = known != IS_NOT_BELOW;
        return HS_OK;
    }
    *is_below = ++j->n_steps <= STEPS_MAX;
    HS_TRY(HS_GROW(&j->asked, &j->asked_capacity, j->n_asked + 1, err));
    j->asked[j->n_asked++] = (struct hs_sjoin_pair){a, b};
    return hs_dict_put(&j->below, pair_key(a, b), IS_ASKED, err);
}

static hs_status ask_parts(struct hs_sjoins *j, struct hs_sjoin_pair pair, bool *is_below,
                           struct hs_error *err)
{
    const struct hs_stables *t = j->tables;
    const struct hs_srow *p = rows_of(t, pair.a), *q = rows_of(t, pair.b);

    HS_TRY(ask(j, t->types[pair.a].inner, t->types[pair.b].inner, is_below, err));
    for (uint32_t i = 0; i < t->types[pair.a].n_rows && *is_below; i++) {
        for (uint32_t k = 0; k < p[i].children.n && *is_below; k++)
            HS_TRY(ask(j, t->children[p[i].children.first + k].type,
                       t->children[q[i].children.first + k].type, is_below, err));
        for (uint32_t k = 0; k < p[i].cases.n && *is_below; k++) {
            const struct hs_scase *c = &t->cases[p[i].cases.first + k],
                                  *d = &t->cases[q[i].cases.first + k];
            *is_below = c->hash == d->hash;
            if (*is_below)
                HS_TRY(ask(j, c->type, d->type, is_below, err));
        }
    }
    return HS_OK;
}

/* Tells whether b says all that a says. Pairs that depend on each other do unless one of them does
 * not. */
static hs_status is_below(struct hs_sjoins *j, hs_stype a, hs_stype b, bool *ret,
                          struct hs_error *err)
{
    hs_status status;

    j->n_asked = 0;
    status = ask(j, a, b, ret, err);
    for (size_t i = 0; i < j->n_asked && *ret && status == HS_OK; i++)
        status = ask_parts(j, j->asked[i], ret, err);
    for (size_t i = 0; i < j->n_asked; i++) {
        uint64_t *known = hs_dict_find(&j->below, pair_key(j->asked[i].a, j->asked[i].b));
        if (known != NULL)
            *known = status == HS_OK && *ret ? IS_BELOW : i == 0 ? IS_NOT_BELOW : IS_OPEN;
    }
    j->n_asked = 0;
    return status;
}

/* ---- new types */

/* Makes a type above both, which gets its rows later; FORGOTTEN when there can be none. */
static hs_status make(struct hs_sjoins *j, hs_stype a, hs_stype b, hs_stype *ret,
                      struct hs_error *err)
{
    struct hs_stables *t = j->tables;
    uint64_t key = pair_key(a, b), known = hs_dict_get(&j->joined, key, HS_STYPE_NONE);

    *ret = (hs_stype)known;
    if (known != HS_STYPE_NONE)
        return HS_OK;
    *ret = HS_STYPE_FORGOTTEN;
    if (t->n_types >= j->most_types || t->n_rows + t->types[a].n_rows > HS_SROWS_MAX ||
        ++j->n_steps > STEPS_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&t->types, &t->types_capacity, t->n_types + 1, err));
    HS_TRY(HS_GROW(&j->made, &j->made_capacity, j->n_made + 1, err));
    HS_TRY(hs_dict_put(&j->joined, key, t->n_types, err));
    t->types[t->n_types] = t->types[a];
    t->types[t->n_types].display = t->types[a].head;
    t->types[t->n_types].n_rows = 0;
    t->types[t->n_types].alias = HS_STYPE_NONE;
    j->made[j->n_made++] = (struct hs_sjoin_pair){a, b};
    *ret = (hs_stype)t->n_types++;
    return HS_OK;
}

static hs_status join_part(struct hs_sjoins *j, hs_stype a, hs_stype b, hs_stype *ret,
                           struct hs_error *err)
{
    bool below;

    a = hs_stype_proper(j->tables, a);
    b = hs_stype_proper(j->tables, b);
    HS_TRY(is_below(j, a, b, &below, err));
    *ret = b;
    if (below)
        return HS_OK;
    HS_TRY(is_below(j, b, a, &below, err));
    *ret = a;
    if (below)
        return HS_OK;
    *ret = HS_STYPE_FORGOTTEN;
    return are_alike(j->tables, a, b) ? make(j, a, b, ret, err) : HS_OK;
}

static hs_status fill_row(struct hs_sjoins *j, hs_stype made, const struct hs_srow *p,
                          const struct hs_srow *q, struct hs_error *err)
{
    struct hs_stables *t = j->tables;
    struct hs_srow row = *p;

    row.type = made;
    row.children.first = (uint32_t)t->n_children;
    row.cases.first = (uint32_t)t->n_cases;
    HS_TRY(HS_GROW(&t->children, &t->children_capacity, t->n_children + row.children.n, err));
    for (uint32_t k = 0; k < row.children.n; k++) {
        struct hs_schild child = t->children[p->children.first + k];
        HS_TRY(join_part(j, child.type, t->children[q->children.first + k].type, &child.type, err));
        t->children[t->n_children++] = child;
    }
    HS_TRY(HS_GROW(&t->cases, &t->cases_capacity, t->n_cases + row.cases.n, err));
    for (uint32_t k = 0; k < row.cases.n; k++) {
        struct hs_scase one = t->cases[p->cases.first + k], other = t->cases[q->cases.first + k];
        if (one.hash != other.hash)
            one.type = HS_STYPE_FORGOTTEN;
        else
            HS_TRY(join_part(j, one.type, other.type, &one.type, err));
        t->cases[t->n_cases++] = one;
    }
    HS_TRY(HS_GROW(&t->rows, &t->rows_capacity, t->n_rows + 1, err));
    t->rows[t->n_rows++] = row;
    return HS_OK;
}

static hs_status fill(struct hs_sjoins *j, struct hs_sjoin_pair pair, struct hs_error *err)
{
    struct hs_stables *t = j->tables;
    hs_stype made = (hs_stype)hs_dict_get(&j->joined, pair_key(pair.a, pair.b), HS_STYPE_NONE);
    uint32_t first = (uint32_t)t->n_rows, n = t->types[pair.a].n_rows;
    hs_stype inner = t->types[pair.a].inner;

    if (t->types[pair.a].has_inner)
        HS_TRY(join_part(j, inner, t->types[pair.b].inner, &inner, err));
    for (uint32_t i = 0; i < n; i++) {
        const struct hs_srow p = rows_of(t, pair.a)[i], q = rows_of(t, pair.b)[i];
        HS_TRY(fill_row(j, made, &p, &q, err));
    }
    t->types[made].inner = inner == HS_STYPE_FORGOTTEN ? HS_STYPE_NONE : inner;
    t->types[made].first_row = first;
    t->types[made].n_rows = n;
    return HS_OK;
}

hs_status hs_sjoin(struct hs_sjoins *j, hs_stype a, hs_stype b, hs_stype *ret, struct hs_error *err)
{
    hs_stype joined;

    j->n_made = 0;
    HS_TRY(join_part(j, a, b, &joined, err));
    for (size_t i = 0; i < j->n_made; i++)
        HS_TRY(fill(j, j->made[i], err));
    *ret = joined == HS_STYPE_FORGOTTEN ? HS_STYPE_NONE : joined;
    return HS_OK;
}
