#include "pass_units.h"

#include <assert.h>

#include "pass_steps.h"
#include "position_reader.h"

#define WHAT "the reachable sizes"

static void all_none(uint32_t *array, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        array[i] = HS_NONE;
}

static uint64_t max_marks(const struct pass_units *units)
{
    return 2 * (uint64_t)units->n_tree + 2;
}

/* ---- region 0 ---- */

/* The way from position to position. */
struct marking {
    struct pass_units *units;
    uint32_t *way;       /* owned pages: tree nodes by depth */
    uint64_t n_marks;    /* so far */
    uint32_t mark;       /* the last one's unit */
    uint64_t mark_depth; /* what is deeper belongs to it */
};

/* Positions may be those of work that an earlier run left, in a file that was damaged since. */
static hs_status marking_fail(uint64_t node, struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "node %llu of the root tree is out of its place",
                   (unsigned long long)node);
}

static hs_status marking_put(struct marking *m, uint64_t at, uint32_t unit, uint64_t depth,
                             struct hs_error *err)
{
    if (m->n_marks >= max_marks(m->units))
        return marking_fail(unit, err);
    hs_bitmap_set(&m->units->is_mark, at);
    m->units->of_mark[m->n_marks++] = unit;
    m->mark = unit;
    m->mark_depth = depth;
    return HS_OK;
}

static hs_status marking_take(struct marking *m, uint64_t at, hs_node node, uint64_t depth,
                              struct hs_error *err)
{
    struct pass_units *units = m->units;

    if (node < units->n_tree) {
        if (depth >= units->n_tree) /* only tree nodes lead to tree nodes */
            return marking_fail(node, err);
        if (depth != 0) {
            units->parent[node] = m->way[depth - 1];
            hs_bitmap_set(&units->is_inner, m->way[depth - 1]);
        }
        m->way[depth] = (uint32_t)node;
        return marking_put(m, at, (uint32_t)node, depth, err);
    }
    if (m->mark != 0 && depth > m->mark_depth)
        return HS_OK;
    if (depth != 1)
        return hs_fail(err, HS_FORMAT, "an inner node of the root tree holds block %llu",
                       (unsigned long long)node);
    /* else one more of those */
    return m->mark != HS_NONE ? marking_put(m, at, HS_NONE, 1, err) : HS_OK;
}

static hs_status marks_read(struct pass_units *units, uint32_t *way,
                            struct position_reader *positions, struct hs_error *err)
{
    struct marking m = {.units = units, .way = way, .mark = HS_NONE};
    uint64_t n_marks, end = pass_units_end(units);

    for (uint64_t at = 0; at < end; at++) {
        hs_node node;
        uint64_t depth;
        HS_TRY(position_next(positions, &node, &depth, err));
        HS_TRY(marking_take(&m, at, node, depth, err));
    }
    for (uint32_t node = 1; node < units->n_tree; node++)
        if (units->parent[node] >= units->n_tree)
            return marking_fail(node, err);
    HS_TRY(hs_bitmap_index(&units->is_mark, &n_marks, err));
    assert(n_marks == m.n_marks);
    return HS_OK;
}

static hs_status marks_find(struct pass_units *units, struct hs_error *err)
{
    struct hs_budget *budget = units->passes->budget;
    struct position_reader positions = {0};
    uint32_t *way = NULL;

    HS_TRY(pass_array_init(budget, units->n_tree, WHAT, &way, err));
    hs_status status = position_reader_open(units->passes, &positions, err);
    if (status == HS_OK)
        status = marks_read(units, way, &positions, err);
    position_reader_close(&positions);
    pass_array_fini(budget, &way, units->n_tree);
    return status;
}

/* ---- other regions ---- */

static uint32_t core_unit(struct pass_units *units, uint32_t core)
{
    const struct hs_passes *passes = units->passes;
    uint32_t region = passes->region[core];

    if (region != 0)
        return units->of_core[region];
    uint32_t unit = pass_units_of_mark(units, hs_ids_get(&passes->attach, core));
    if (unit == HS_NONE || unit >= units->n_tree || !hs_bitmap_get(&units->is_inner, unit))
        return unit;
    hs_bitmap_set(&units->is_head, core);
    if (units->roots != NULL && !hs_bitmap_get(&units->roots->is_root, unit))
        hs_bitmap_set(&units->is_top, core);
    return units->n_units++;
}

static hs_status cores_find(struct pass_units *units, struct hs_error *err)
{
    const struct hs_passes *passes = units->passes;

    if ((uint64_t)units->n_tree + passes->n_core >= HS_NONE)
        return hs_fail(err, HS_LIMIT, "%u roots and %u shared blocks are too many to tell apart",
                       units->n_tree, passes->n_core);
    for (uint32_t i = 1; i < passes->n_sequence; i++) {
        uint32_t core = passes->sequence[i];
        units->of_core[core] = core_unit(units, core);
    }
    return HS_OK;
}

/* ---- all of it ---- */

static hs_status units_find(struct pass_units *units, struct hs_error *err)
{
    const struct hs_passes *passes = units->passes;
    struct hs_budget *budget = passes->budget;
    uint64_t end =
        passes->n_positions < 2 ? passes->n_positions : hs_bitmap_next(&passes->is_head, 1);

    HS_TRY(pass_bitmap_init(budget, end, WHAT, &units->is_mark, err));
    HS_TRY(pass_bitmap_init(budget, units->n_tree, WHAT, &units->is_inner, err));
    HS_TRY(pass_bitmap_init(budget, passes->n_core, WHAT, &units->is_head, err));
    if (units->roots != NULL)
        HS_TRY(pass_bitmap_init(budget, passes->n_core, WHAT, &units->is_top, err));
    HS_TRY(pass_array_init(budget, max_marks(units), WHAT, &units->of_mark, err));
    HS_TRY(pass_array_init(budget, units->n_tree, WHAT, &units->parent, err));
    HS_TRY(pass_array_init(budget, passes->n_core, WHAT, &units->of_core, err));
    all_none(units->parent, units->n_tree);
    all_none(units->of_core, passes->n_core);
    hs_bitmap_set(&units->is_inner, 0);
    HS_TRY(marks_find(units, err));
    return cores_find(units, err);
}

hs_status pass_units_find(const struct hs_passes *passes, const struct hs_owner_roots *roots,
                          struct pass_units *ret, struct hs_error *err)
{
    struct pass_units units = {.passes = passes, .roots = roots};

    if (passes->n_tree >= HS_NONE / 2)
        return hs_fail(err, HS_LIMIT, "%llu roots are too many to tell apart",
                       (unsigned long long)passes->n_tree);
    units.n_tree = units.n_units = (uint32_t)passes->n_tree;
    hs_status status = units_find(&units, err);
    if (status == HS_OK)
        *ret = units;
    else
        pass_units_fini(&units);
    return status;
}

void pass_units_fini(struct pass_units *units)
{
    if (units->passes == NULL)
        return;
    struct hs_budget *budget = units->passes->budget;
    pass_bitmap_fini(budget, &units->is_mark);
    pass_bitmap_fini(budget, &units->is_inner);
    pass_bitmap_fini(budget, &units->is_head);
    pass_bitmap_fini(budget, &units->is_top);
    pass_array_fini(budget, &units->of_mark, max_marks(units));
    pass_array_fini(budget, &units->parent, units->n_tree);
    pass_array_fini(budget, &units->of_core, units->passes->n_core);
    *units = (struct pass_units){0};
}
