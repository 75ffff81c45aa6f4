#include "free_roots.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

hs_status free_roots_init(struct maker *maker, struct free_roots *ret, struct hs_error *err)
{
    struct free_roots roots = {.maker = maker, .n_rows = maker->n_roots};
    void *memory;

    if (maker->n_roots >= UINT32_MAX / 8)
        return hs_fail(err, HS_LIMIT, "%zu roots are too many", maker->n_roots);
    HS_TRY(
        maker_pages(maker, maker->n_roots, sizeof *roots.row, "the rows of roots", &memory, err));
    roots.row = memory;
    for (uint32_t i = 0; i < roots.n_rows; i++)
        roots.row[i].parent = i;
    roots.rows = maker->roots;
    maker->roots = NULL;
    maker->n_roots = maker->root_capacity = 0;
    *ret = roots;
    return HS_OK;
}

void free_roots_fini(struct free_roots *roots)
{
    if (roots->maker == NULL)
        return;
    hs_free(roots->rows);
    maker_pages_free(roots->maker, roots->row, roots->n_rows, sizeof *roots->row);
    *roots = (struct free_roots){0};
}

bool free_roots_below(struct free_roots *roots, uint64_t from, uint64_t to)
{
    if (to <= from || roots->row[to].parent != to)
        return false;
    roots->row[to].parent = (uint32_t)from;
    return true;
}

/* ---- the tree ---- */

static bool is_top(const struct free_roots *roots, uint32_t row)
{
    return roots->row[row].parent == row || (roots->has_all && roots->row[row].parent == 0);
}

/* Rows stand behind those above them. */
static void rows_use(struct free_roots *roots)
{
    struct free_row *row = roots->row;

    for (size_t i = roots->n_rows; i-- > 0;) {
        row[i].is_used |= row[i].n_targets != 0;
        row[row[i].parent].is_used |= row[i].is_used;
        roots->has_all |= i != 0 && row[i].parent == 0;
    }
    roots->has_all &= row[0].n_targets == 0;
}

static hs_status group_make(struct free_roots *roots, hs_node parent, hs_str name, uint32_t *ret,
                            struct hs_error *err)
{
    hs_node node;
    HS_TRY(maker_group(roots->maker, parent, HS_ROOT_GLOBAL, name, &node, err));
    if (node >= UINT32_MAX)
        return hs_fail(err, HS_LIMIT, "too many roots");
    *ret = (uint32_t)node;
    return HS_OK;
}

/* The names of a way, joined; too long ones are cut as all names are. */
static hs_status path_make(struct free_roots *roots, uint32_t at, struct hs_error *err)
{
    const struct hs_strtab *strings = &roots->maker->strings;
    struct free_row *row = &roots->row[at];
    hs_str above = roots->row[row->parent].path;
    char text[2 * MAKER_NAME_BYTES + 16];

    row->path = roots->rows[at].name;
    if (above == 0)
        return HS_OK;
    int n = snprintf(text, sizeof text, "%s.%s", hs_strtab_get(strings, above),
                     hs_strtab_get(strings, row->path));
    return maker_name(roots->maker, "", text, (size_t)n, &row->path, err);
}

/* The unit that a row which holds something stands in. */
static hs_status unit_make(struct free_roots *roots, uint32_t at, struct hs_error *err)
{
    uint32_t above = is_top(roots, at) ? at : roots->row[at].parent;
    struct free_row *row = &roots->row[above];
    hs_node module = row->module;

    if (row->unit != 0)
        return HS_OK;
    hs_str name = row->path != 0 ? row->path : roots->maker->roots[module].name;
    return group_make(roots, module, name, &row->unit, err);
}

static hs_status row_make(struct free_roots *roots, hs_node kind, uint32_t at, struct hs_error *err)
{
    struct free_row *row = &roots->row[at];

    if (is_top(roots, at)) {
        HS_TRY(group_make(roots, kind, roots->rows[at].name, &row->module, err));
    } else {
        row->module = roots->row[row->parent].module;
        HS_TRY(path_make(roots, at, err));
    }
    if (row->n_targets == 0)
        return HS_OK;
    HS_TRY(unit_make(roots, at, err));
    uint32_t unit = roots->row[is_top(roots, at) ? at : row->parent].unit;
    if (row->n_targets > 1)
        return group_make(roots, unit, roots->rows[at].name, &row->node, err);
    row->node = unit;
    return HS_OK;
}

hs_status free_roots_begin(struct free_roots *roots, struct hs_error *err)
{
    struct maker *maker = roots->maker;
    hs_node kind;
    hs_str name;

    rows_use(roots);
    if (roots->has_all)
        name = roots->rows[0].name;
    else
        HS_TRY(hs_strtab_add(&maker->strings, "all roots", &name, err));
    HS_TRY(maker_group(maker, 0, HS_ROOT_GLOBAL, name, NULL, err));
    HS_TRY(hs_strtab_add(&maker->strings, hs_root_group_name(HS_ROOT_GLOBAL), &name, err));
    HS_TRY(maker_group(maker, 0, HS_ROOT_GLOBAL, name, &kind, err));
    for (uint32_t i = roots->has_all; i < roots->n_rows; i++)
        if (roots->row[i].is_used)
            HS_TRY(row_make(roots, kind, i, err));
    return HS_OK;
}

/* ---- leaves ---- */

hs_status free_roots_leaf(struct free_roots *roots, uint64_t from, const struct hs_root *edge,
                          struct hs_error *err)
{
    struct free_row *row = &roots->row[from];
    const struct hs_root *of = &roots->rows[from];
    struct hs_root leaf = {.parent = row->node,
                           .target = edge->target,
                           .address = of->address,
                           .level = HS_LEVEL_LEAF,
                           .field = HS_NO_FIELD,
                           .weak = edge->weak,
                           .edge_class = edge->edge_class,
                           .tier = of->tier,
                           .name = of->name};
    if (row->n_targets > 1) {
        char name[MAKER_NAME_BYTES + 64];
        int n =
            snprintf(name, sizeof name, "%s[%llu]", hs_strtab_get(&roots->maker->strings, of->name),
                     (unsigned long long)row->n_made);
        HS_TRY(maker_name(roots->maker, "", name, (size_t)n, &leaf.name, err));
    }
    row->n_made++;
    return maker_root(roots->maker, &leaf, NULL, err);
}
