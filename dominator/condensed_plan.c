/* The memory needed by queries of a condensed graph: the sums of what each step reserves. */
#include "condensed_reach.h"
#include "owner_table.h"
#include "reach_bits.h"

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns the bytes of n bits, with ranks. */
static uint64_t bits(uint64_t n)
{
    return n / 8 + n / 64 + 64;
}

uint64_t hs_condensed_memory_bytes(const struct hs_condensed_room *room, uint64_t n,
                                   uint64_t n_edges, uint64_t n_tree)
{
    uint64_t graph = hs_condensed_graph_bytes(n, n_edges), places = n + room->n_ends;
    uint64_t sizes = hs_unit_sizes_bytes(places, room->n_wide), numbers = 4 * n;
    uint64_t table = owner_table_bytes(places) + room->sink_bytes;
    uint64_t lists = owner_lists_bytes(n, room->n_ends);
    uint64_t made = most(numbers, 2 * numbers + n + 4 * room->n_ends);
    uint64_t weighed = n + sizes + 4 * room->n_ends;
    uint64_t reached = n + sizes + 8 * places + most(graph, numbers + reach_bits_bytes());
    uint64_t told = n + sizes + table + most(8 * places, most(graph, lists));

    return graph + condensed_reach_bytes(n, n_tree) +
           most(most(made, weighed), most(reached, told));
}

bool hs_condensed_fits(const struct hs_condensed_room *room, uint64_t n_nodes, uint64_t n_edges,
                       uint64_t n_tree)
{
    uint64_t left = hs_budget_left_bytes(room->budget);
    return hs_condensed_memory_bytes(room, n_nodes, n_edges, n_tree) <= left;
}

uint64_t hs_condensed_stored_bytes(uint64_t n_units, uint64_t n_tree, uint64_t sink_bytes)
{
    uint64_t table = owner_table_bytes(n_units) + sink_bytes;
    uint64_t made = 8 * n_units + 4 * n_tree + bits(n_units) + HS_STORED_LEAST_BYTES;
    uint64_t reached = 12 * n_units + reach_bits_bytes();
    uint64_t told = table + most(8 * n_units, owner_lists_bytes(n_units, n_units));

    return condensed_reach_bytes(n_units, n_tree) + most(made, most(reached, told));
}
