/* The roots of each set: which nodes lead to its first top unit, many sets at a time.
 *
 *   lanes:  by node of the condensed graph a row of words, one bit for each set of the pass
 *
 * Every edge leads to a smaller number, so in ascending order a node's row is whole when it is come
 * to, and is added to the rows of all that leads to the node. A node whose row is empty costs one
 * bit; most are. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "condensed_ends.h"
#include "graph/pages.h"
#include "owner_table.h"

#define WORDS_MAX 64
#define LANES_BYTES_MAX ((uint64_t)16 << 20)
#define ROOM_MAX ((uint64_t)1 << 20) /* roots in memory at a time */
#define ROOM_LEAST ((uint64_t)4096)
#define PLANES 32 /* roots are less than 2^32 */
#define WHAT "listing the roots of what is shared"

/* An end that is some set's first top unit. */
struct wanted_end {
    uint32_t end, lane;
};

struct lanes {
    struct hs_owners *owners;
    const struct hs_owner_list_sink *sink;
    uint32_t n_words;        /* of a row */
    uint64_t *bits;          /* owned pages: rows */
    struct hs_bitmap is_met; /* by node: its row is not empty */
    struct hs_bitmap is_end; /* by end: among the wanted ones */
    struct wanted_end *ends; /* owned; ascending, of a pass */
    uint32_t n_ends;
    uint64_t *planes; /* owned: by word of a row, the binary digits of a counter for each lane */
    hs_node *room;    /* owned pages */
    uint64_t n_room;
    uint64_t next[WORDS_MAX * 64];   /* by lane: where its next root goes in the room */
    uint64_t number[WORDS_MAX * 64]; /* by lane: of the roots that are in the room */
    uint64_t wanted[WORDS_MAX];      /* lanes whose roots go there */
    uint32_t first, n;               /* of the pass: entries */
    uint64_t left;                   /* roots that may still be listed */
    uint64_t reserved_bytes;
};

static struct owner_entry *lane_entry(const struct lanes *lanes, uint32_t lane)
{
    return &lanes->owners->table.entries[lanes->first + lane];
}

static uint64_t *lanes_row(const struct lanes *lanes, uint64_t node)
{
    return lanes->bits + node * lanes->n_words;
}

static void lanes_fini(struct lanes *lanes)
{
    const struct hs_condensed *condensed = lanes->owners->condensed;

    hs_pages_free(lanes->bits, (size_t)condensed->n_nodes * lanes->n_words, sizeof(uint64_t));
    hs_bitmap_fini(&lanes->is_met);
    hs_bitmap_fini(&lanes->is_end);
    hs_free(lanes->ends);
    hs_free(lanes->planes);
    hs_pages_free(lanes->room, lanes->n_room, sizeof *lanes->room);
    hs_budget_release(condensed->budget, lanes->reserved_bytes);
}

/* Returns a width: as wide as there are sets and memory for. */
static uint32_t lanes_words(const struct hs_owners *owners)
{
    uint64_t left = hs_budget_left_bytes(owners->condensed->budget) / 2;
    uint64_t room = left < LANES_BYTES_MAX ? left : LANES_BYTES_MAX;
    uint64_t n_words = room / ((uint64_t)owners->condensed->n_nodes * sizeof(uint64_t));
    uint64_t wanted = (owners->table.n + 63) / 64;

    n_words = n_words < WORDS_MAX ? n_words : WORDS_MAX;
    n_words = n_words < wanted ? n_words : wanted;
    return n_words == 0 ? 1 : (uint32_t)n_words;
}

/* Returns the bytes without the room for roots. */
static uint64_t lanes_bytes(uint64_t n_nodes, uint64_t n_ends, uint32_t n_words)
{
    return n_nodes * n_words * sizeof(uint64_t) + (n_nodes + n_ends) / 8 + 16 +
           n_words * (64 * sizeof(struct wanted_end) + PLANES * sizeof(uint64_t));
}

uint64_t owner_lists_bytes(uint64_t n_nodes, uint64_t n_ends)
{
    return lanes_bytes(n_nodes, n_ends, 1) + ROOM_LEAST * sizeof(hs_node);
}

static hs_status lanes_alloc(struct lanes *lanes, struct hs_error *err)
{
    const struct hs_condensed *condensed = lanes->owners->condensed;
    uint64_t n_nodes = condensed->n_nodes;
    uint32_t n_lanes = lanes->n_words * 64;
    uint64_t n_bytes = lanes_bytes(n_nodes, condensed->ends.n, lanes->n_words);

    HS_TRY(hs_budget_reserve(condensed->budget, n_bytes, WHAT, err));
    lanes->reserved_bytes = n_bytes;
    HS_TRY(HS_PAGES_ALLOC(&lanes->bits, n_nodes * lanes->n_words, err));
    HS_TRY(hs_bitmap_init(&lanes->is_met, n_nodes, err));
    HS_TRY(hs_bitmap_init(&lanes->is_end, condensed->ends.n, err));
    HS_TRY(HS_ALLOC(&lanes->ends, n_lanes, err));
    HS_TRY(HS_ALLOC(&lanes->planes, (size_t)lanes->n_words * PLANES, err));
    uint64_t room = hs_budget_left_bytes(condensed->budget) / 2 / sizeof *lanes->room;
    lanes->n_room = room > ROOM_MAX ? ROOM_MAX : room < ROOM_LEAST ? ROOM_LEAST : room;
    n_bytes = lanes->n_room * sizeof *lanes->room;
    HS_TRY(hs_budget_reserve(condensed->budget, n_bytes, WHAT, err));
    lanes->reserved_bytes += n_bytes;
    return HS_PAGES_ALLOC(&lanes->room, lanes->n_room, err);
}

/* ---- where the lanes begin ---- */

static void lanes_seed(struct lanes *lanes, uint64_t node, uint32_t lane)
{
    hs_bitmap_set(&lanes->is_met, node);
    lanes_row(lanes, node)[lane / 64] |= (uint64_t)1 << lane % 64;
}

static int by_end(const void *left, const void *right)
{
    const struct wanted_end *a = left, *b = right;
    return a->end < b->end ? -1 : a->end > b->end;
}

/* An end has no row: the nodes that lead to it begin. */
static hs_status ends_read(struct lanes *lanes, struct ends_reader *reader, struct hs_error *err)
{
    uint32_t end, node;
    bool more;

    for (;;) {
        HS_TRY(condensed_ends_next(reader, &end, &more, err));
        if (!more)
            return HS_OK;
        bool is_wanted = hs_bitmap_get(&lanes->is_end, end);
        const struct wanted_end key = {.end = end}, *wanted = NULL;
        if (is_wanted)
            wanted = bsearch(&key, lanes->ends, lanes->n_ends, sizeof key, by_end);
        for (;;) {
            HS_TRY(condensed_ends_node(reader, &node, err));
            if (node == HS_NONE)
                break;
            if (wanted != NULL)
                lanes_seed(lanes, node, wanted->lane);
        }
    }
}

static hs_status ends_seed(struct lanes *lanes, struct hs_error *err)
{
    struct ends_reader reader;

    if (lanes->n_ends == 0)
        return HS_OK;
    qsort(lanes->ends, lanes->n_ends, sizeof *lanes->ends, by_end);
    hs_status status = condensed_ends_open(lanes->owners->condensed, &reader, err);
    if (status == HS_OK)
        status = ends_read(lanes, &reader, err);
    condensed_ends_close(&reader);
    for (uint32_t i = 0; i < lanes->n_ends; i++)
        hs_bitmap_clear(&lanes->is_end, lanes->ends[i].end);
    return status;
}

static hs_status lanes_begin(struct lanes *lanes, struct hs_error *err)
{
    uint64_t n_nodes = lanes->owners->condensed->n_nodes;

    lanes->n_ends = 0;
    for (uint32_t lane = 0; lane < lanes->n; lane++) {
        uint64_t place = lane_entry(lanes, lane)->place;
        if (place < n_nodes) {
            lanes_seed(lanes, place, lane);
            continue;
        }
        uint32_t end = (uint32_t)(place - n_nodes);
        hs_bitmap_set(&lanes->is_end, end);
        lanes->ends[lanes->n_ends++] = (struct wanted_end){end, lane};
    }
    return ends_seed(lanes, err);
}

/* ---- against the edges ---- */

/* Adds wide rows by cache lines, which compilers make wide instructions of. */
static inline void row_add(uint64_t *restrict to, const uint64_t *restrict row, uint32_t n_words)
{
    uint32_t i = 0;

    for (; i + 8 <= n_words; i += 8)
        for (uint32_t k = 0; k < 8; k++)
            to[i + k] |= row[i + k];
    for (; i < n_words; i++)
        to[i] |= row[i];
}

/* Goes from the first row of the file to the last: the words of all are read, those of rows that
 * are met count. */
static hs_status stored_rows_run(struct lanes *lanes, struct hs_spill_reader *reader,
                                 struct hs_error *err)
{
    uint64_t n_nodes = lanes->owners->condensed->n_nodes, to;
    uint32_t n_words = lanes->n_words;

    for (uint64_t node = 0; node < n_nodes;) {
        HS_TRY(hs_spill_get_fixed(reader, sizeof(uint32_t), &to, err));
        if (to == HS_NONE) {
            node++;
        } else if (hs_bitmap_get(&lanes->is_met, node)) {
            hs_bitmap_set(&lanes->is_met, to);
            row_add(lanes_row(lanes, to), lanes_row(lanes, node), n_words);
        }
    }
    return HS_OK;
}

static hs_status lanes_run_stored(struct lanes *lanes, struct hs_error *err)
{
    const struct hs_spill *rows = &lanes->owners->condensed->files.rows;
    struct hs_spill_reader reader = {0};

    hs_status status = hs_spill_read(rows, 0, rows->n_bytes, &reader, err);
    if (status == HS_OK)
        status = stored_rows_run(lanes, &reader, err);
    hs_spill_reader_close(&reader);
    return status;
}

static void lanes_run_graph(struct lanes *lanes)
{
    const struct hs_graph *reverse = &lanes->owners->condensed->graph;
    uint32_t n_words = lanes->n_words;

    for (uint64_t node = hs_bitmap_next(&lanes->is_met, 0); node < reverse->n_nodes;
         node = hs_bitmap_next(&lanes->is_met, node + 1)) {
        const uint64_t *row = lanes_row(lanes, node);
        for (uint32_t e = reverse->begin[node]; e < reverse->begin[node + 1]; e++) {
            hs_bitmap_set(&lanes->is_met, reverse->target[e]);
            row_add(lanes_row(lanes, reverse->target[e]), row, n_words);
        }
    }
}

static hs_status lanes_run(struct lanes *lanes, struct hs_error *err)
{
    if (lanes->owners->condensed->is_stored)
        return lanes_run_stored(lanes, err);
    lanes_run_graph(lanes);
    return HS_OK;
}

static void lanes_clear(struct lanes *lanes)
{
    uint64_t n_nodes = lanes->owners->condensed->n_nodes;

    for (uint64_t node = hs_bitmap_next(&lanes->is_met, 0); node < n_nodes;
         node = hs_bitmap_next(&lanes->is_met, node + 1)) {
        memset(lanes_row(lanes, node), 0, lanes->n_words * sizeof(uint64_t));
        hs_bitmap_clear(&lanes->is_met, node);
    }
}

/* ---- the roots that are met ---- */

/* The next root from `root` on that leads to any of the sets, with its row; the number of roots
 * tree nodes when there is none. */
static uint64_t root_next(const struct lanes *lanes, uint64_t root, const uint64_t **ret_row)
{
    const struct hs_condensed *condensed = lanes->owners->condensed;
    const struct hs_bitmap *is_root = &lanes->owners->roots->is_root;

    for (root = hs_bitmap_next(is_root, root); root < condensed->n_tree;
         root = hs_bitmap_next(is_root, root + 1)) {
        uint32_t node = condensed->of_tree[root];
        if (!hs_bitmap_get(&lanes->is_met, node))
            continue;
        *ret_row = lanes_row(lanes, node);
        break;
    }
    return root;
}

/* Counts for 64 lanes at once, as one adds in binary: a digit of all of them is one word. */
static void planes_add(uint64_t *planes, uint64_t bits)
{
    for (uint32_t i = 0; bits != 0; i++) {
        uint64_t carry = planes[i] & bits;
        planes[i] ^= bits;
        bits = carry;
    }
}

static uint64_t planes_count(const uint64_t *planes, uint32_t lane)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < PLANES; i++)
        n |= (planes[i] >> lane & 1) << i;
    return n;
}

static void lanes_count(struct lanes *lanes)
{
    uint64_t n_tree = lanes->owners->condensed->n_tree;
    const uint64_t *row;

    memset(lanes->planes, 0, (size_t)lanes->n_words * PLANES * sizeof *lanes->planes);
    for (uint64_t root = root_next(lanes, 1, &row); root < n_tree;
         root = root_next(lanes, root + 1, &row))
        for (uint32_t word = 0; word < lanes->n_words; word++)
            planes_add(lanes->planes + (size_t)word * PLANES, row[word]);
    for (uint32_t lane = 0; lane < lanes->n; lane++)
        lane_entry(lanes, lane)->set.n_roots =
            planes_count(lanes->planes + (size_t)lane / 64 * PLANES, lane % 64);
}

/* Checks that the backward search found what the forward search had found. */
static hs_status list_check(const struct lanes *lanes, uint32_t lane, struct hs_error *err)
{
    if (lanes->number[lane] == lane_entry(lanes, lane)->signature)
        return HS_OK;
    return hs_fail(err, HS_BUG, "the roots of set %u are not those that reach it",
                   lanes->first + lane + 1);
}

/* Puts the roots of the wanted lanes, which are among [first, end), where their places are. */
static void room_fill(struct lanes *lanes, uint32_t first, uint32_t end)
{
    uint64_t n_tree = lanes->owners->condensed->n_tree;
    const uint64_t *row;

    for (uint64_t root = root_next(lanes, 1, &row); root < n_tree;
         root = root_next(lanes, root + 1, &row)) {
        uint64_t number = hs_owner_number(lanes->owners->roots, root);
        for (uint32_t word = first / 64; word <= (end - 1) / 64; word++)
            for (uint64_t bits = row[word] & lanes->wanted[word]; bits != 0; bits &= bits - 1) {
                uint32_t lane = word * 64 + (uint32_t)__builtin_ctzll(bits);
                lanes->room[lanes->next[lane]++] = root;
                lanes->number[lane] ^= number;
            }
    }
}

/* The roots of one set, which has more of them than there is room for. */
static hs_status long_list(struct lanes *lanes, uint32_t lane, struct hs_error *err)
{
    const struct hs_owner_list_sink *sink = lanes->sink;
    uint64_t n_tree = lanes->owners->condensed->n_tree, n = 0;
    const uint64_t *row;

    lanes->number[lane] = 0;
    HS_TRY(sink->begin(sink->context, lane_entry(lanes, lane)->set.n_roots, err));
    for (uint64_t root = root_next(lanes, 1, &row); root < n_tree;
         root = root_next(lanes, root + 1, &row)) {
        if ((row[lane / 64] >> lane % 64 & 1) == 0)
            continue;
        lanes->number[lane] ^= hs_owner_number(lanes->owners->roots, root);
        lanes->room[n++] = root;
        if (n == lanes->n_room) {
            HS_TRY(sink->more(sink->context, lanes->room, n, err));
            n = 0;
        }
    }
    HS_TRY(sink->more(sink->context, lanes->room, n, err));
    return list_check(lanes, lane, err);
}

/* Returns how many roots of a set are listed: all, or none when there is no room for all. */
static uint64_t lane_listed(struct lanes *lanes, uint32_t lane)
{
    uint64_t n = lane_entry(lanes, lane)->set.n_roots;
    return n <= lanes->left ? n : 0;
}

/* Gives the lists from `first` on that fit into the room together their places; their end. */
static uint32_t room_plan(struct lanes *lanes, uint32_t first)
{
    uint32_t end = first;

    memset(lanes->wanted, 0, sizeof lanes->wanted);
    for (uint64_t used = 0, n; end < lanes->n; end++, used += n) {
        n = lane_listed(lanes, end);
        if (n > lanes->n_room - used)
            break;
        lanes->next[end] = used;
        lanes->number[end] = 0;
        lanes->left -= n;
        if (n != 0)
            lanes->wanted[end / 64] |= (uint64_t)1 << end % 64;
    }
    return end;
}

static hs_status short_lists(struct lanes *lanes, uint32_t first, uint32_t *ret_end,
                             struct hs_error *err)
{
    const struct hs_owner_list_sink *sink = lanes->sink;
    uint32_t end = room_plan(lanes, first);

    room_fill(lanes, first, end);
    for (uint64_t lane = first, at = 0, n; lane < end; lane++, at += n) {
        n = lanes->next[lane] - at;
        HS_TRY(sink->begin(sink->context, n, err));
        HS_TRY(sink->more(sink->context, lanes->room + at, n, err));
        if (n != 0)
            HS_TRY(list_check(lanes, (uint32_t)lane, err));
    }
    *ret_end = end;
    return HS_OK;
}

static hs_status lanes_put(struct lanes *lanes, struct hs_error *err)
{
    for (uint32_t lane = 0; lane < lanes->n;) {
        uint64_t n = lane_listed(lanes, lane);
        if (n <= lanes->n_room) {
            HS_TRY(short_lists(lanes, lane, &lane, err));
            continue;
        }
        HS_TRY(long_list(lanes, lane, err));
        lanes->left -= n;
        lane++;
    }
    return HS_OK;
}

/* ---- all of them ---- */

static hs_status lanes_passes(struct lanes *lanes, struct hs_error *err)
{
    const struct hs_owners *owners = lanes->owners;
    uint32_t n_lanes = lanes->n_words * 64;

    for (uint64_t done = 0; done < owners->table.n; done += lanes->n) {
        uint64_t left = owners->table.n - done;
        HS_TRY(hs_progress_tell(owners->progress, "listing owners", done, owners->table.n, err));
        lanes->first = (uint32_t)done;
        lanes->n = left < n_lanes ? (uint32_t)left : n_lanes;
        HS_TRY(lanes_begin(lanes, err));
        HS_TRY(lanes_run(lanes, err));
        lanes_count(lanes);
        HS_TRY(lanes_put(lanes, err));
        lanes_clear(lanes);
    }
    return HS_OK;
}

hs_status hs_owners_lists(struct hs_owners *owners, const struct hs_owner_list_sink *sink,
                          struct hs_error *err)
{
    struct lanes *lanes;

    hs_condensed_drop_signatures(owners->condensed);
    if (owners->table.n == 0)
        return HS_OK;
    HS_TRY(hs_condensed_reverse(owners->condensed, err));
    HS_TRY(HS_ALLOC(&lanes, 1, err));
    lanes->owners = owners;
    lanes->sink = sink;
    lanes->left = owners->max_listed;
    lanes->n_words = lanes_words(owners);
    hs_status status = lanes_alloc(lanes, err);
    if (status == HS_OK)
        status = lanes_passes(lanes, err);
    lanes_fini(lanes);
    hs_free(lanes);
    return status;
}
