#include "collect_sweep.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

static void must(bool holds, const char *what)
{
    if (holds)
        return;
    (void)fprintf(stderr, "a piece is malformed: %s\n", what);
    abort();
}

void hs_collected_init(struct hs_collected *collected, hs_node base, uint64_t n_nodes)
{
    struct hs_error err;
    void *memory;

    *collected = (struct hs_collected){
        .n_nodes = n_nodes, .base = base, .next = base, .max_targets = HS_PIECE_TARGETS};
    must(hs_alloc(n_nodes + 1, sizeof *collected->begin, &memory, &err) == HS_OK, err.message);
    collected->begin = memory;
}

void hs_collected_fini(struct hs_collected *collected)
{
    hs_free(collected->begin);
    hs_free(collected->target);
    *collected = (struct hs_collected){0};
}

static void collect_row(struct hs_collected *c, hs_node node, const hs_node *target, uint64_t n)
{
    uint64_t row = c->begin[node - c->base];
    for (uint64_t i = 0; i < n; i++) {
        must(target[i] != node, "a self loop");
        must(c->n_edges == row || c->target[c->n_edges - 1] < target[i], "targets do not ascend");
        c->target[c->n_edges++] = target[i];
    }
}

static hs_status collect(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct hs_collected *c = context;
    uint64_t n = piece->begin[piece->n];

    (void)err;
    must(piece->n >= 1 && piece->begin[0] == 0, "it has no rows, or does not begin at 0");
    must(piece->n <= HS_PIECE_NODES && n <= c->max_targets, "it is too large");
    must(piece->first == c->next && piece->first + piece->n <= c->base + c->n_nodes,
         "it is not the next");
    void *memory = c->target;
    must(hs_grow(&memory, &c->capacity, c->n_edges + n, sizeof *c->target, err) == HS_OK,
         "out of memory");
    c->target = memory;
    c->n_pieces++;
    if (piece->of_row != 0) {
        must(piece->n == 1 && n != 0, "a part with other rows, or empty");
        if (c->row_left == 0)
            c->row_left = piece->of_row;
        must(n <= c->row_left, "a row of more targets than it said");
        c->n_parts++;
    } else {
        must(c->row_left == 0, "a row with a part missing");
    }
    for (uint32_t i = 0; i < piece->n; i++) {
        must(piece->begin[i] <= piece->begin[i + 1], "its begins do not ascend");
        collect_row(c, piece->first + i, piece->target + piece->begin[i],
                    piece->begin[i + 1] - piece->begin[i]);
        c->begin[piece->first - c->base + i + 1] = c->n_edges;
    }
    if (piece->of_row != 0)
        c->row_left -= n;
    if (c->row_left == 0)
        c->next += piece->n;
    return HS_OK;
}

struct hs_piece_sink hs_collected_sink(struct hs_collected *collected)
{
    return (struct hs_piece_sink){collect, collected};
}

bool hs_collected_is_whole(const struct hs_collected *collected)
{
    return collected->next == collected->base + collected->n_nodes && collected->row_left == 0;
}

static bool rows_equal(const struct hs_collected *c, const struct hs_graph *graph)
{
    uint64_t at = 0;
    for (uint32_t u = 0; u < graph->n_nodes; u++) {
        uint32_t last = u;
        for (uint32_t e = graph->begin[u]; e < graph->begin[u + 1]; e++) {
            uint32_t v = graph->target[e];
            if (v != u && v != last && (at >= c->n_edges || c->target[at++] != v))
                return false;
            last = v;
        }
        if (c->begin[u + 1] != at)
            return false;
    }
    return at == c->n_edges;
}

bool hs_collected_equals(const struct hs_collected *collected, const struct hs_graph *graph,
                         bool reversed)
{
    struct hs_graph other;
    struct hs_error err;

    if (!hs_collected_is_whole(collected) || collected->n_nodes != graph->n_nodes)
        return false;
    if (!reversed)
        return rows_equal(collected, graph);
    must(hs_graph_reverse(graph, &other, &err) == HS_OK, err.message);
    bool equals = rows_equal(collected, &other);
    hs_graph_fini(&other);
    return equals;
}
