#include "index_rows.h"

#include "graph/pages.h"

/* Values in memory at a time, unless one row has more. */
#define ROOM_MIN ((uint64_t)1 << 20)
#define PIECE_ROWS ((uint32_t)4096)
#define PIECE_TARGETS ((uint32_t)65536)

/* ---- rows of 32-bit numbers as pieces ---- */

struct row_pieces {
    struct index_writer *writer;
    uint32_t n, n_target;
    hs_node first;
    uint64_t begin[PIECE_ROWS + 1];
    hs_node target[PIECE_TARGETS];
};

static hs_status pieces_emit(struct row_pieces *pieces, uint64_t of_row, struct hs_error *err)
{
    const struct hs_piece piece = {
        .first = pieces->first,
        .n = pieces->n,
        .of_row = of_row,
        .begin = pieces->begin,
        .target = pieces->target,
    };
    if (pieces->n == 0)
        return HS_OK;
    HS_TRY(index_write_rows(pieces->writer, &piece, err));
    pieces->first += pieces->n;
    pieces->n = pieces->n_target = 0;
    return HS_OK;
}

/* The values of a row but `node` itself. */
static inline void pieces_fill(struct row_pieces *pieces, hs_node node, const uint32_t *row,
                               uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        if (row[i] != node)
            pieces->target[pieces->n_target++] = row[i];
}

static hs_status pieces_add_long(struct row_pieces *pieces, const uint32_t *row, uint64_t n,
                                 struct hs_error *err)
{
    hs_node node;
    uint64_t of_row = 0;

    HS_TRY(pieces_emit(pieces, 0, err));
    node = pieces->first;
    for (uint64_t i = 0; i < n; i++)
        of_row += row[i] != node;
    for (uint64_t done = 0, some; done < n; done += some) {
        some = n - done < PIECE_TARGETS ? n - done : PIECE_TARGETS;
        pieces_fill(pieces, node, row + done, some);
        pieces->begin[1] = pieces->n_target;
        pieces->n = 1;
        HS_TRY(pieces_emit(pieces, of_row, err));
        pieces->first = node;
    }
    pieces->first = node + 1;
    return HS_OK;
}

static hs_status pieces_add(struct row_pieces *pieces, const uint32_t *row, uint64_t n,
                            struct hs_error *err)
{
    if (n > PIECE_TARGETS)
        return pieces_add_long(pieces, row, n, err);
    if (pieces->n == PIECE_ROWS || n > PIECE_TARGETS - pieces->n_target)
        HS_TRY(pieces_emit(pieces, 0, err));
    pieces_fill(pieces, pieces->first + pieces->n, row, n);
    pieces->begin[++pieces->n] = pieces->n_target;
    return HS_OK;
}

/* ---- ranges of rows ---- */

struct row_ranges {
    uint32_t n_nodes;
    uint32_t *begin; /* owned; n_nodes + 1 */
    uint32_t *room;  /* owned */
    uint64_t n_room;
    struct row_pieces *pieces; /* owned */
};

static void ranges_fini(struct row_ranges *ranges)
{
    hs_pages_free(ranges->begin, (size_t)ranges->n_nodes + 1, sizeof(uint32_t));
    hs_pages_free(ranges->room, ranges->n_room, sizeof(uint32_t));
    hs_pages_free(ranges->pieces, 1, sizeof *ranges->pieces);
}

static hs_status ranges_init(uint32_t n_nodes, struct index_writer *writer, struct row_ranges *ret,
                             struct hs_error *err)
{
    struct row_ranges ranges = {.n_nodes = n_nodes};
    void *memory;

    HS_TRY(hs_dense_pages((size_t)n_nodes + 1, sizeof(uint32_t), &memory, err));
    ranges.begin = memory;
    hs_status status = hs_pages_alloc(1, sizeof *ranges.pieces, &memory, err);
    if (status != HS_OK) {
        ranges_fini(&ranges);
        return status;
    }
    ranges.pieces = memory;
    ranges.pieces->writer = writer;
    *ret = ranges;
    return HS_OK;
}

/* Makes room, once the begins are there, for `wanted` values at a time, or what the longest row
 * has. */
static hs_status ranges_reserve(struct row_ranges *ranges, uint64_t wanted, struct hs_error *err)
{
    const uint32_t *begin = ranges->begin;
    void *room;

    ranges->n_room = wanted < ROOM_MIN ? ROOM_MIN : wanted;
    if (ranges->n_room > begin[ranges->n_nodes])
        ranges->n_room = begin[ranges->n_nodes];
    for (uint32_t i = 0; i < ranges->n_nodes; i++)
        if (begin[i + 1] - begin[i] > ranges->n_room)
            ranges->n_room = begin[i + 1] - begin[i];
    HS_TRY(hs_dense_pages(ranges->n_room, sizeof(uint32_t), &room, err));
    ranges->room = room;
    return HS_OK;
}

/* The end of the rows from `first` on that have room. Looks at begins from `first` on only: those
 * before have been moved. */
static uint32_t ranges_end(const struct row_ranges *ranges, uint32_t first)
{
    uint32_t end = first + 1;
    while (end < ranges->n_nodes && ranges->begin[end + 1] - ranges->begin[first] <= ranges->n_room)
        end++;
    return end;
}

/* The rows of a range that was filled: their begins are now their ends. `base`: where the range
 * began. */
static hs_status range_put(struct row_ranges *ranges, uint32_t first, uint32_t end, uint32_t base,
                           struct hs_error *err)
{
    uint32_t at = base;
    for (uint32_t i = first; i < end; at = ranges->begin[i++])
        HS_TRY(pieces_add(ranges->pieces, ranges->room + (at - base), ranges->begin[i] - at, err));
    return HS_OK;
}

/* ---- predecessors ---- */

static hs_status put_sources(const struct hs_graph *graph, struct row_ranges *ranges,
                             const struct hs_progress *progress, struct hs_error *err)
{
    uint32_t n_nodes = ranges->n_nodes;

    for (uint32_t first = 0, end; first < n_nodes; first = end) {
        uint32_t base = ranges->begin[first];
        HS_TRY(hs_progress_tell(progress, "reversing the graph", first, n_nodes, err));
        end = ranges_end(ranges, first);
        hs_graph_reverse_range(graph, ranges->begin, first, end, ranges->room);
        HS_TRY(range_put(ranges, first, end, base, err));
    }
    return pieces_emit(ranges->pieces, 0, err);
}

hs_status index_rows_put_predecessors(struct index_writer *writer, const struct hs_graph *graph,
                                      const struct hs_progress *progress, struct hs_error *err)
{
    struct row_ranges ranges;

    HS_TRY(ranges_init(graph->n_nodes, writer, &ranges, err));
    hs_graph_reverse_begin(graph, ranges.begin);
    hs_status status = ranges_reserve(&ranges, graph->n_nodes, err);
    if (status == HS_OK)
        status = index_write_begin(writer, INDEX_PREDECESSORS, err);
    if (status == HS_OK)
        status = put_sources(graph, &ranges, progress, err);
    if (status == HS_OK)
        status = index_write_end(writer, err);
    ranges_fini(&ranges);
    return status;
}

/* ---- children in the dominator tree ---- */

/* Takes the children of the nodes [first, end); their begins move to the ends of their rows. */
static void range_fill(struct row_ranges *ranges, const uint32_t *parent, uint32_t first,
                       uint32_t end)
{
    uint32_t *begin = ranges->begin, *room = ranges->room, base = begin[first];

    for (uint32_t i = 1; i < ranges->n_nodes; i++)
        if (parent[i] - first < end - first) /* wraps where it is smaller; HS_NONE is larger */
            room[begin[parent[i]]++ - base] = i;
}

static hs_status put_children(struct row_ranges *ranges, const uint32_t *parent,
                              const struct hs_progress *progress, struct hs_error *err)
{
    uint32_t n_nodes = ranges->n_nodes;

    for (uint32_t first = 0, end; first < n_nodes; first = end) {
        uint32_t base = ranges->begin[first];
        HS_TRY(hs_progress_tell(progress, "writing the dominator tree", first, n_nodes, err));
        end = ranges_end(ranges, first);
        range_fill(ranges, parent, first, end);
        HS_TRY(range_put(ranges, first, end, base, err));
    }
    return pieces_emit(ranges->pieces, 0, err);
}

hs_status index_rows_put_dominated(struct index_writer *writer, const uint32_t *parent,
                                   const struct hs_progress *progress, struct hs_error *err)
{
    uint32_t n_nodes = (uint32_t)writer->header.n_nodes;
    struct row_ranges ranges;

    HS_TRY(ranges_init(n_nodes, writer, &ranges, err));
    for (uint32_t i = 1; i < n_nodes; i++)
        if (parent[i] != HS_NONE)
            ranges.begin[parent[i] + 1]++;
    for (uint32_t i = 0; i < n_nodes; i++)
        ranges.begin[i + 1] += ranges.begin[i];
    hs_status status = ranges_reserve(&ranges, n_nodes / 2, err);
    if (status == HS_OK)
        status = index_write_begin(writer, INDEX_DOMINATED, err);
    if (status == HS_OK)
        status = put_children(&ranges, parent, progress, err);
    if (status == HS_OK)
        status = index_write_end(writer, err);
    ranges_fini(&ranges);
    return status;
}
