/* The nodes of a tree of paths that are shown, in order. */
#include <stdlib.h>

#include "analysis/path_tree.h"
#include "base/alloc.h"
#include "base/bisect.h"

struct shower {
    const struct hs_path_tree *tree;
    const struct hs_path_tree_sums *sums;
    uint32_t
        *by_parent; /* owned pages: nodes that paths go through, by parent, the largest first */
    size_t n;       /* of these */
    uint32_t *tops; /* owned pages: nodes that begin a line, the largest first */
    size_t n_tops;
    bool *is_shown; /* owned pages: of tops */
    bool chained;
};

static int by_size(const struct shower *shower, uint32_t a, uint32_t b)
{
    const struct hs_path_tree_sums *p = &shower->sums[a], *q = &shower->sums[b];
    if (p->words != q->words)
        return p->words > q->words ? -1 : 1;
    if (p->objects != q->objects)
        return p->objects > q->objects ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int largest_first(const void *left, const void *right, void *context)
{
    return by_size(context, *(const uint32_t *)left, *(const uint32_t *)right);
}

static int parents_first(const void *left, const void *right, void *context)
{
    const struct shower *shower = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    uint32_t p = shower->tree->nodes[a].parent, q = shower->tree->nodes[b].parent;
    return p != q ? (p < q ? -1 : 1) : by_size(shower, a, b);
}

static size_t first_child(const struct shower *shower, uint32_t parent)
{
    return HS_FIRST_NOT(at, 0, shower->n,
                        shower->tree->nodes[shower->by_parent[at]].parent < parent);
}

static bool is_child(const struct shower *shower, size_t at, uint32_t parent)
{
    return at < shower->n && shower->tree->nodes[shower->by_parent[at]].parent == parent;
}

/* The only child when it stands in its parent's line. */
static uint32_t next_in_line(const struct shower *shower, uint32_t node)
{
    size_t at = first_child(shower, node);
    if (!shower->chained || !is_child(shower, at, node) || is_child(shower, at + 1, node))
        return HS_PATH_TREE_NONE;
    uint32_t child = shower->by_parent[at];
    bool is_same = shower->sums[child].objects == shower->sums[node].objects &&
                   shower->sums[child].words == shower->sums[node].words;
    return is_same ? child : HS_PATH_TREE_NONE;
}

/* Picks the largest: at most `limit` (0: all), and of those with less words than `least_words` the
 * first few alone. A parent is never smaller than its child and was made before it: it is among the
 * largest, too. */
static void pick(struct shower *shower, uint64_t limit, uint64_t least_words)
{
    const struct hs_path_tree *tree = shower->tree;
    for (size_t i = 0; i < shower->n; i++) {
        uint32_t node = shower->by_parent[i], parent = tree->nodes[node].parent;
        if (parent == HS_PATH_TREE_NONE || next_in_line(shower, parent) != node)
            shower->tops[shower->n_tops++] = node;
    }
    qsort_r(shower->tops, shower->n_tops, sizeof *shower->tops, largest_first, shower);
    size_t n = limit == 0 || limit > shower->n_tops ? shower->n_tops : (size_t)limit;
    while (n > HS_PATH_TREE_FEW && shower->sums[shower->tops[n - 1]].words < least_words)
        n--;
    for (size_t i = 0; i < n; i++)
        shower->is_shown[shower->tops[i]] = true;
}

static void hide(const struct shower *shower, uint32_t node, struct hs_path_tree_sums *hidden)
{
    hidden->objects += shower->sums[node].objects;
    hidden->words += shower->sums[node].words;
}

static uint32_t line_end(const struct shower *shower, uint32_t first)
{
    uint32_t last = first;
    for (uint32_t next = first; next != HS_PATH_TREE_NONE; next = next_in_line(shower, next))
        last = next;
    return last;
}

/* A single one that hides is shown instead of its "[1 others]", unless more would hide below it. */
static bool shows_single(struct shower *shower, uint64_t n_hidden, uint32_t hidden)
{
    if (n_hidden != 1)
        return false;
    uint32_t last = line_end(shower, hidden);
    shower->is_shown[hidden] = !is_child(shower, first_child(shower, last), last);
    return shower->is_shown[hidden];
}

static hs_status add_line(struct shower *shower, uint32_t first, uint32_t depth,
                          struct hs_path_tree_lines *lines, struct hs_error *err)
{
    struct hs_path_tree_line line = {.first = first, .depth = depth};
    uint32_t hidden = HS_PATH_TREE_NONE;
    line.last = line_end(shower, first);
    for (size_t at = first_child(shower, line.last); is_child(shower, at, line.last); at++) {
        if (shower->is_shown[shower->by_parent[at]])
            continue;
        line.n_hidden++;
        hidden = shower->by_parent[at];
        hide(shower, hidden, &line.hidden);
    }
    if (shows_single(shower, line.n_hidden, hidden)) {
        line.n_hidden = 0;
        line.hidden = (struct hs_path_tree_sums){0};
    }
    HS_TRY(HS_GROW(&lines->lines, &lines->capacity, lines->n + 1, err));
    lines->lines[lines->n++] = line;
    return HS_OK;
}

/* Lines below each other: a place in `by_parent` for each depth. */
static hs_status walk(struct shower *shower, struct hs_path_tree_lines *lines, struct hs_error *err)
{
    size_t at[HS_PATH_TREE_DEPTH + 4];
    uint32_t parents[HS_PATH_TREE_DEPTH + 4], depth = 0;
    parents[0] = HS_PATH_TREE_NONE;
    at[0] = first_child(shower, HS_PATH_TREE_NONE);
    for (;;) {
        size_t here = at[depth];
        if (!is_child(shower, here, parents[depth])) {
            if (depth == 0)
                return HS_OK;
            depth--;
            continue;
        }
        at[depth]++;
        uint32_t node = shower->by_parent[here];
        if (!shower->is_shown[node]) {
            lines->n_hidden += depth == 0;
            if (depth == 0)
                hide(shower, node, &lines->hidden);
            continue;
        }
        HS_TRY(add_line(shower, node, depth, lines, err));
        parents[++depth] = lines->lines[lines->n - 1].last;
        at[depth] = first_child(shower, parents[depth]);
    }
}

static hs_status show(struct shower *shower, uint64_t limit, uint64_t least_words,
                      struct hs_path_tree_lines *lines, struct hs_error *err)
{
    size_t n = shower->tree->n;
    HS_TRY(HS_PAGES_ALLOC(&shower->by_parent, n, err));
    HS_TRY(HS_PAGES_ALLOC(&shower->tops, n, err));
    HS_TRY(HS_PAGES_ALLOC(&shower->is_shown, n, err));
    for (size_t i = 0; i < n; i++)
        if (shower->sums[i].objects != 0)
            shower->by_parent[shower->n++] = (uint32_t)i;
    qsort_r(shower->by_parent, shower->n, sizeof *shower->by_parent, parents_first, shower);
    pick(shower, limit, least_words);
    uint64_t n_hidden = 0;
    uint32_t hidden = HS_PATH_TREE_NONE;
    for (size_t at = first_child(shower, HS_PATH_TREE_NONE); at < shower->n; at++) {
        if (!shower->is_shown[shower->by_parent[at]]) {
            hidden = shower->by_parent[at];
            n_hidden++;
        }
    }
    (void)shows_single(shower, n_hidden, hidden);
    return walk(shower, lines, err);
}

hs_status hs_path_tree_show(const struct hs_path_tree *tree, const struct hs_path_tree_sums *sums,
                            uint64_t limit, uint64_t least_words, bool chained,
                            struct hs_path_tree_lines *ret, struct hs_error *err)
{
    struct shower shower = {.tree = tree, .sums = sums, .chained = chained};
    struct hs_path_tree_lines lines = {0};
    hs_status status = show(&shower, limit, least_words, &lines, err);
    hs_pages_free(shower.by_parent, tree->n, sizeof *shower.by_parent);
    hs_pages_free(shower.tops, tree->n, sizeof *shower.tops);
    hs_pages_free(shower.is_shown, tree->n, sizeof *shower.is_shown);
    if (status == HS_OK)
        *ret = lines;
    else
        hs_path_tree_lines_fini(&lines);
    return status;
}

void hs_path_tree_lines_fini(struct hs_path_tree_lines *lines)
{
    hs_free(lines->lines);
    *lines = (struct hs_path_tree_lines){0};
}

hs_status hs_path_tree_sum(const struct hs_path_tree *tree,
                           const struct hs_path_tree_target *targets,
                           struct hs_path_tree_sums **ret, struct hs_error *err)
{
    struct hs_path_tree_sums *sums;
    HS_TRY(HS_ALLOC(&sums, tree->n, err));
    for (size_t i = 0; i < tree->n_targets; i++) {
        uint32_t end = tree->of_target[i];
        if (end == HS_PATH_TREE_NONE)
            continue;
        sums[end].objects += targets[i].objects;
        sums[end].words += targets[i].words;
    }
    for (size_t i = tree->n; i-- > 0;) {
        uint32_t parent = tree->nodes[i].parent;
        if (parent == HS_PATH_TREE_NONE)
            continue;
        sums[parent].objects += sums[i].objects;
        sums[parent].words += sums[i].words;
    }
    *ret = sums;
    return HS_OK;
}
