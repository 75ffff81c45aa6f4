/* export --to folded: a line for each stack, for flamegraph.pl, inferno and whatever else draws
 * flame graphs.
 *
 *     outermost;...;innermost BYTES
 *
 * A semicolon in a name is written as \x3b. Variables without a name (.bss+0x1b78) that have less
 * than a thousandth of all are one root, `[other roots]`: a stripped program has thousands, which
 * nobody can tell apart in a picture. */
#include <string.h>

#include "base/alloc.h"
#include "export/exporter.h"
#include "pen.h"

enum { MOST_FRAMES = 1024, SMALL_PART = 1000 };

/* ---- small roots */

struct gathered {
    uint64_t *sums;        /* owned: by node, the bytes of all that it stands for */
    uint32_t *stands_for;  /* owned: by node, the one below a small root that is called the same */
    uint8_t *is_small;     /* owned: by node, whether it is of a small root */
    struct hs_table below; /* nodes of small roots, by what they stand on and their frame */
};

static void gathered_fini(struct gathered *g)
{
    hs_free(g->sums);
    hs_free(g->stands_for);
    hs_free(g->is_small);
    hs_table_fini(&g->below);
}

static bool has_no_name(const struct hs_stack_tree *tree, uint32_t node)
{
    const char *name = strrchr(hs_stack_name(tree, node), ' ');
    return tree->nodes[node].is_root && name != NULL && name[1] == '.' &&
           strstr(name, "+0x") != NULL;
}

/* Finds the small roots; a child comes behind its parent. */
static hs_status find_small(const struct hs_stack_tree *tree, struct gathered *g,
                            struct hs_error *err)
{
    uint64_t total = hs_stack_total(tree, tree->shown);
    HS_TRY(HS_ALLOC(&g->sums, tree->n, err));
    HS_TRY(HS_ALLOC(&g->is_small, tree->n, err));
    for (size_t i = tree->n; i-- > 0;) {
        uint32_t parent = tree->nodes[i].parent;
        g->sums[i] += tree->nodes[i].values[tree->shown];
        if (parent != HS_NO_STACK)
            g->sums[parent] += g->sums[i];
    }
    for (uint32_t i = 0; i < tree->n; i++) {
        uint32_t parent = tree->nodes[i].parent;
        g->is_small[i] = parent == HS_NO_STACK
                             ? g->sums[i] < total / SMALL_PART && has_no_name(tree, i)
                             : g->is_small[parent];
    }
    return HS_OK;
}

/* Below small roots the first of several ways with the same frames stands for all. */
static hs_status stand_for(const struct hs_stack_tree *tree, struct gathered *g, uint32_t node,
                           struct hs_error *err)
{
    const struct hs_stack_node *of = &tree->nodes[node];
    bool is_root = of->parent == HS_NO_STACK;
    uint32_t below = is_root ? HS_NO_STACK : g->stands_for[of->parent];
    uint64_t hash = hs_hash_pair(below, is_root ? 0 : of->frame);
    uint32_t at = HS_TABLE_FIND(&g->below, hash, i,
                                is_root ? tree->nodes[i].parent == HS_NO_STACK
                                        : tree->nodes[i].parent != HS_NO_STACK &&
                                              tree->nodes[i].frame == of->frame &&
                                              g->stands_for[tree->nodes[i].parent] == below);
    if (at == HS_NO_NUMBER)
        HS_TRY(hs_table_add(&g->below, hash, node, err));
    g->stands_for[node] = at == HS_NO_NUMBER ? node : at;
    return HS_OK;
}

static hs_status gather(const struct hs_stack_tree *tree, struct gathered *g, struct hs_error *err)
{
    HS_TRY(find_small(tree, g, err));
    HS_TRY(HS_ALLOC(&g->stands_for, tree->n, err));
    memset(g->sums, 0, tree->n * sizeof *g->sums);
    for (uint32_t i = 0; i < tree->n; i++) {
        g->stands_for[i] = i;
        if (g->is_small[i])
            HS_TRY(stand_for(tree, g, i, err));
        g->sums[g->stands_for[i]] += tree->nodes[i].values[tree->shown];
    }
    return HS_OK;
}

/* ---- */

static void put_name(struct hs_pen *pen, const char *name)
{
    for (const char *semicolon; (semicolon = strchr(name, ';')) != NULL; name = semicolon + 1) {
        hs_pen_clean_n(pen, name, (size_t)(semicolon - name), HS_TEXT_TERMINAL);
        hs_pen_text(pen, "\\x3b");
    }
    hs_pen_clean(pen, name, HS_TEXT_TERMINAL);
}

static void put_stack(struct hs_pen *pen, const struct hs_stack_tree *tree,
                      const struct gathered *g, uint32_t node)
{
    uint32_t frames[MOST_FRAMES];
    size_t n_cut, n = hs_stack_path(tree, node, frames, MOST_FRAMES, &n_cut);
    if (n_cut != 0)
        hs_pen_text(pen, "[cut];");
    for (size_t k = 0; k < n; k++) {
        if (k == 0 && n_cut == 0 && g->is_small[node])
            hs_pen_text(pen, "[other roots]");
        else
            put_name(pen, hs_stack_string(tree, tree->frames[frames[k]].name));
        hs_pen_byte(pen, k + 1 < n ? ';' : ' ');
    }
    hs_pen_number(pen, g->sums[node]);
    hs_pen_byte(pen, '\n');
}

static hs_status write_folded(const struct hs_stack_tree *tree,
                              const struct hs_export_target *target, struct hs_error *err)
{
    struct hs_pen pen = hs_pen_of(target->out);
    struct gathered g = {0};
    hs_status status = gather(tree, &g, err);
    for (uint32_t i = 0; i < tree->n && status == HS_OK && hs_pen_ok(&pen); i++)
        if (g.sums[i] != 0)
            put_stack(&pen, tree, &g, i);
    gathered_fini(&g);
    return hs_pen_finish(&pen, status, err);
}

const struct hs_exporter hs_exporter_folded = {
    .needs = HS_VIEW_INDEX,
    .write_stacks = write_folded,
};
