/* Memory without types, as so many times the same few blocks. */
#include "equal_groups.h"

#include <stdlib.h>

#include "analysis/chunk_pass.h"
#include "base/alloc.h"
#include "graph/pages.h"
#include "tree_walk.h"

enum { SIZES = 1 << 11, CANDIDATES = 3, LEAST_GROUPS = 8, LEAST_PERCENT = 40, TOLERANCE = 10 };

struct equal_size {
    uint64_t n, words; /* blocks; what they retain, counted again where they hang on each other */
};

struct equal_piece {
    uint64_t words;
    hs_node head;
    uint32_t n_blocks;
};

struct equal_walk {
    struct hs_view *view;
    const struct hs_node_order *order; /* borrowed */
    uint16_t *own;                     /* owned pages: words by block, at most SIZES */
    uint64_t reserved_bytes;
    struct equal_size *sizes;   /* owned: by the words of a block */
    struct equal_piece *pieces; /* owned: of one size */
    size_t n_pieces;
    uint64_t head_words;         /* that size */
    struct hs_equal_groups *ret; /* of the last walk */
};

/* The words of a block itself; SIZES for more. */
static uint64_t own_words(const struct equal_walk *walk, hs_node node)
{
    return walk->own[node - walk->view->n_tree];
}

static hs_status read_sizes(struct equal_walk *walk, struct hs_error *err)
{
    struct hs_chunk_pass pass = hs_chunk_pass_of(walk->view, HS_COL_SIZES, "reading sizes");
    while (hs_chunk_pass_next(&pass, err))
        for (uint32_t i = 0; i < pass.chunk.n_blocks; i++)
            walk->own[pass.chunk.first - walk->view->n_tree + i] =
                (uint16_t)(pass.chunk.words[i] < SIZES ? pass.chunk.words[i] : SIZES);
    return hs_chunk_pass_end(&pass);
}

/* Reads what the walks ask of each node, in the order of nodes. */
static hs_status prepare(struct equal_walk *walk, struct hs_error *err)
{
    struct hs_view *view = walk->view;
    uint64_t n = view->totals->n_blocks;
    uint64_t n_bytes = n * sizeof *walk->own + SIZES * sizeof *walk->sizes;
    void *pages;
    HS_TRY(hs_budget_reserve(view->session.budget, n_bytes, "sizes of blocks", err));
    walk->reserved_bytes = n_bytes;
    HS_TRY(hs_dense_pages(n, sizeof *walk->own, &pages, err));
    walk->own = pages;
    HS_TRY(HS_ALLOC(&walk->sizes, SIZES, err));
    return read_sizes(walk, err);
}

static void forget(struct equal_walk *walk)
{
    if (walk->own != NULL)
        hs_pages_free(walk->own, walk->view->totals->n_blocks, sizeof *walk->own);
    hs_free(walk->sizes);
    hs_budget_release(walk->view->session.budget, walk->reserved_bytes);
}

static struct hs_tree_walk walk_of(struct equal_walk *walk,
                                   hs_status (*enter)(void *, hs_node, uint32_t, uint32_t *,
                                                      struct hs_error *))
{
    return (struct hs_tree_walk){.view = walk->view,
                                 .enter = enter,
                                 .context = walk,
                                 .order = walk->order,
                                 .what = "comparing blocks"};
}

static hs_status enter_size(void *context, hs_node node, uint32_t above, uint32_t *ret,
                            struct hs_error *err)
{
    struct equal_walk *walk = context;
    (void)above;
    (void)err;
    *ret = 0;
    if (node < walk->view->n_tree)
        return HS_OK;
    uint64_t own = own_words(walk, node), words = hs_node_order_words(walk->order, node);
    if (own < SIZES) {
        struct equal_size *size = &walk->sizes[own];
        size->n++;
        size->words = words > UINT64_MAX - size->words ? UINT64_MAX : size->words + words;
    }
    return HS_OK;
}

/* The number that a node is given is that of its piece, from 1; 0: it is in none. */
static hs_status enter_piece(void *context, hs_node node, uint32_t above, uint32_t *ret,
                             struct hs_error *err)
{
    struct equal_walk *walk = context;
    (void)err;
    *ret = above;
    if (node < walk->view->n_tree)
        return HS_OK;
    uint64_t own = own_words(walk, node);
    if (own == walk->head_words && walk->n_pieces < walk->sizes[own].n) {
        uint64_t words = hs_node_order_words(walk->order, node);
        if (above != 0)
            walk->pieces[above - 1].words -= words;
        walk->pieces[walk->n_pieces++] = (struct equal_piece){.head = node, .words = words};
        *ret = (uint32_t)walk->n_pieces;
    }
    if (*ret != 0)
        walk->pieces[*ret - 1].n_blocks++;
    return HS_OK;
}

/* Reads the words of a block that has more than are told apart. */
static hs_status whole_words(struct equal_walk *walk, hs_node node, uint64_t *ret,
                             struct hs_error *err)
{
    const struct hs_chunk *chunk;
    uint32_t at;
    HS_TRY(hs_view_chunk(walk->view, node, HS_COL_SIZES, &chunk, &at, err));
    *ret = chunk->words[at];
    return HS_OK;
}

/* Counts the sizes of one piece. */
static hs_status enter_part(void *context, hs_node node, uint32_t above, uint32_t *ret,
                            struct hs_error *err)
{
    struct equal_walk *walk = context;
    struct hs_equal_groups *groups = walk->ret;
    *ret = 1;
    uint64_t own = own_words(walk, node);
    if (own == walk->head_words && above != 0) {
        *ret = HS_TREE_WALK_SKIP; /* the next one's head */
        return HS_OK;
    }
    if (own == SIZES)
        HS_TRY(whole_words(walk, node, &own, err));
    for (unsigned i = 0; i < groups->n_sizes; i++)
        if (groups->sizes[i].words == own) {
            groups->sizes[i].n_blocks++;
            return HS_OK;
        }
    if (groups->n_sizes < HS_EQUAL_SIZES)
        groups->sizes[groups->n_sizes++] = (struct hs_equal_size){own, 1};
    return HS_OK;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Tells whether blocks of size `a` head pieces rather than those of `b` do: more hangs on them; of
 * the same, they are fewer. */
static bool heads_before(const struct equal_size *sizes, uint64_t a, uint64_t b, uint64_t whole)
{
    uint64_t of_a = lesser(sizes[a].words, whole), of_b = lesser(sizes[b].words, whole);
    if (of_a != of_b)
        return of_a > of_b;
    return sizes[a].n != sizes[b].n ? sizes[a].n < sizes[b].n : a < b;
}

static size_t choose_sizes(const struct equal_size *sizes, uint64_t whole,
                           uint64_t chosen[CANDIDATES])
{
    size_t n = 0;
    for (uint64_t size = 1; size < SIZES; size++) {
        if (sizes[size].n < LEAST_GROUPS || sizes[size].words < whole / 100 * LEAST_PERCENT)
            continue;
        size_t at = n < CANDIDATES ? n++ : CANDIDATES;
        for (; at > 0 && heads_before(sizes, size, chosen[at - 1], whole); at--)
            if (at < CANDIDATES)
                chosen[at] = chosen[at - 1];
        if (at < CANDIDATES)
            chosen[at] = size;
    }
    return n;
}

static int compare_pieces(const void *left, const void *right)
{
    const struct equal_piece *a = left, *b = right;
    if (a->words != b->words)
        return a->words < b->words ? -1 : 1;
    if (a->n_blocks != b->n_blocks)
        return a->n_blocks < b->n_blocks ? -1 : 1;
    return (a->head > b->head) - (a->head < b->head);
}

/* Moves what comes before the piece in the middle to its left, all else to its right. Returns where
 * that piece is then. */
static size_t part(struct equal_piece *pieces, size_t n)
{
    struct equal_piece pivot = pieces[n / 2];
    size_t n_before = 0;
    pieces[n / 2] = pieces[n - 1];
    for (size_t i = 0; i < n - 1; i++)
        if (compare_pieces(&pieces[i], &pivot) < 0) {
            struct equal_piece piece = pieces[i];
            pieces[i] = pieces[n_before];
            pieces[n_before++] = piece;
        }
    pieces[n - 1] = pieces[n_before];
    pieces[n_before] = pivot;
    return n_before;
}

/* Finds the piece that would be the k-th in order (Hoare's Find), or sorts where that does not come
 * to an end soon. */
static const struct equal_piece *find_kth(struct equal_piece *pieces, size_t n, size_t k)
{
    enum { MOST_ROUNDS = 64, FEW = 16 };
    for (unsigned i = 0; i < MOST_ROUNDS && n > FEW; i++) {
        size_t at = part(pieces, n);
        if (at == k)
            return &pieces[k];
        if (at < k) {
            pieces += at + 1;
            n -= at + 1;
            k -= at + 1;
        } else {
            n = at;
        }
    }
    qsort(pieces, n, sizeof *pieces, compare_pieces);
    return &pieces[k];
}

static bool is_near(uint64_t value, uint64_t median)
{
    uint64_t off = value > median ? value - median : median - value;
    return off * TOLERANCE <= median;
}

/* Counts the pieces that are as the median is, and what they have together. */
static struct hs_equal_groups judge(struct equal_walk *walk)
{
    struct hs_equal_groups found = {0};
    if (walk->n_pieces < LEAST_GROUPS)
        return found;
    const struct equal_piece *median = find_kth(walk->pieces, walk->n_pieces, walk->n_pieces / 2);
    for (size_t i = 0; i < walk->n_pieces; i++)
        if (is_near(walk->pieces[i].words, median->words) &&
            is_near(walk->pieces[i].n_blocks, median->n_blocks)) {
            found.n++;
            found.words += walk->pieces[i].words;
        }
    found.head = median->head;
    found.each_words = median->words;
    found.n_each = median->n_blocks;
    return found;
}

/* Tells whether a group says more than another: alike pieces of one block each say little; of
 * nearly the same share larger pieces say more. */
static bool says_more(const struct hs_equal_groups *a, const struct hs_equal_groups *b)
{
    uint64_t of_a = a->n_each > 1 ? a->words : a->words / 2,
             of_b = b->n_each > 1 ? b->words : b->words / 2;
    uint64_t more = of_a > of_b ? of_a - of_b : of_b - of_a;
    if (more > (of_a > of_b ? of_a : of_b) / 20)
        return of_a > of_b;
    return a->each_words > b->each_words;
}

static hs_status try_size(struct equal_walk *walk, const struct hs_group_place *place,
                          uint64_t size, struct hs_equal_groups *best, struct hs_error *err)
{
    struct hs_budget *budget = walk->view->session.budget;
    struct hs_tree_walk tree = walk_of(walk, enter_piece);
    uint64_t n_bytes = walk->sizes[size].n * sizeof *walk->pieces, words;

    HS_TRY(hs_budget_reserve(budget, n_bytes, "groups of blocks", err));
    walk->n_pieces = 0;
    walk->head_words = size;
    hs_status status = HS_ALLOC(&walk->pieces, walk->sizes[size].n, err);
    if (status == HS_OK)
        status = hs_group_walk_place(place, &tree, &words, err);
    if (status == HS_OK) {
        struct hs_equal_groups found = judge(walk);
        if (found.n >= LEAST_GROUPS && (best->n == 0 || says_more(&found, best)))
            *best = found;
    }
    hs_free(walk->pieces);
    walk->pieces = NULL;
    hs_budget_release(budget, n_bytes);
    return status;
}

static int compare_sizes(const void *left, const void *right)
{
    const struct hs_equal_size *a = left, *b = right;
    uint64_t of_a = a->words * a->n_blocks, of_b = b->words * b->n_blocks;
    if (of_a != of_b)
        return of_a < of_b ? 1 : -1;
    return (a->words < b->words) - (a->words > b->words);
}

static hs_status list_sizes(struct equal_walk *walk, struct hs_equal_groups *best,
                            struct hs_error *err)
{
    struct hs_tree_walk tree = walk_of(walk, enter_part);
    walk->ret = best;
    walk->head_words = own_words(walk, best->head);
    HS_TRY(hs_tree_walk_run(&tree, best->head, 0, err));
    qsort(best->sizes, best->n_sizes, sizeof *best->sizes, compare_sizes);
    return HS_OK;
}

static hs_status find(struct equal_walk *walk, const struct hs_group_place *place,
                      struct hs_equal_groups *ret, struct hs_error *err)
{
    struct hs_tree_walk tree = walk_of(walk, enter_size);
    struct hs_equal_groups best = {0};
    uint64_t chosen[CANDIDATES], whole;

    HS_TRY(hs_group_walk_place(place, &tree, &whole, err));
    size_t n = choose_sizes(walk->sizes, whole, chosen);
    for (size_t i = 0; i < n; i++)
        HS_TRY(try_size(walk, place, chosen[i], &best, err));
    if (best.n == 0 || best.n_each < 2 || best.words < whole / 100 * LEAST_PERCENT)
        return HS_OK;
    HS_TRY(list_sizes(walk, &best, err));
    *ret = best;
    return HS_OK;
}

hs_status hs_equal_groups_find(const struct hs_group_kinds *kinds,
                               const struct hs_group_place *place, uint64_t n_blocks,
                               struct hs_equal_groups *ret, struct hs_error *err)
{
    struct equal_walk walk = {.view = kinds->view, .order = &kinds->order};
    *ret = (struct hs_equal_groups){0};
    if (kinds->view->totals->n_blocks > HS_EQUAL_MOST_BLOCKS || n_blocks < 2 * LEAST_GROUPS)
        return HS_OK;
    hs_status status = prepare(&walk, err);
    if (status == HS_OK)
        status = find(&walk, place, ret, err);
    forget(&walk);
    return status;
}
