/* The edges into core nodes, as places: sources of many rows are gathered and fetched ahead, then
 * translated. */
#include "base/alloc.h"
#include "core_edges.h"
#include "forest_search.h"

#define SHORT 64 /* sorted by insertion */

/* Sources in a row of one core node. */
struct link_run {
    uint32_t core, n;
};

struct linker {
    struct hs_passes *passes;
    const struct hs_ids *places;
    const struct hs_progress *progress;
    hs_node node;  /* whose row is being read */
    uint32_t core; /* its number */
    uint32_t n_sources, n_runs;
    struct link_run runs[CORE_EDGES_MAX];
    hs_node sources[CORE_EDGES_MAX];
    uint64_t sorted[CORE_EDGES_MAX]; /* half way */
    struct core_edges edges;
};

static void link_sort_short(uint64_t *values, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        uint64_t value = values[i];
        uint32_t at = i;
        for (; at != 0 && values[at - 1] > value; at--)
            values[at] = values[at - 1];
        values[at] = value;
    }
}

/* Sorts by bytes from the lowest, those in which no two values differ left out. */
static void link_sort(struct linker *linker, uint64_t *values, uint32_t n)
{
    uint64_t *from = values, *to = linker->sorted, differ = 0;

    if (n <= SHORT) {
        link_sort_short(values, n);
        return;
    }
    for (uint32_t i = 1; i < n; i++)
        differ |= values[i] ^ values[0];
    for (unsigned shift = 0; shift < 64; shift += 8) {
        uint32_t next[256] = {0}, sum = 0;
        if ((differ >> shift & 0xff) == 0)
            continue;
        for (uint32_t i = 0; i < n; i++)
            next[from[i] >> shift & 0xff]++;
        for (unsigned digit = 0; digit < 256; digit++) {
            uint32_t n_digit = next[digit];
            next[digit] = sum;
            sum += n_digit;
        }
        for (uint32_t i = 0; i < n; i++)
            to[next[from[i] >> shift & 0xff]++] = from[i];
        uint64_t *other = from;
        from = to;
        to = other;
    }
    if (from != values)
        memcpy(values, from, n * sizeof *values);
}

static hs_status link_flush(struct linker *linker, struct hs_error *err)
{
    struct core_edges *edges = &linker->edges;
    const hs_node *source = linker->sources;

    for (uint32_t i = 0; i < linker->n_runs; i++) {
        edges->core = linker->runs[i].core;
        edges->n = 0;
        for (uint32_t k = 0; k < linker->runs[i].n; k++) {
            uint64_t place = hs_ids_get(linker->places, *source++);
            if (place != 0)
                edges->source[edges->n++] = place - 1;
        }
        link_sort(linker, edges->source, edges->n);
        if (edges->n != 0)
            HS_TRY(core_edges_put(&linker->passes->core_edges, edges, err));
    }
    linker->n_runs = linker->n_sources = 0;
    return HS_OK;
}

/* A row, or a part of one, of the core node that is at hand. */
static hs_status link_row(struct linker *linker, const hs_node *sources, uint64_t n,
                          struct hs_error *err)
{
    while (n != 0) {
        uint32_t room = CORE_EDGES_MAX - linker->n_sources;
        if (room == 0 || (n > room && n <= CORE_EDGES_MAX)) {
            HS_TRY(link_flush(linker, err));
            room = CORE_EDGES_MAX;
        }
        uint32_t n_now = n < room ? (uint32_t)n : room;
        for (uint32_t i = 0; i < n_now; i++) {
            linker->sources[linker->n_sources++] = sources[i];
            hs_ids_prefetch(linker->places, sources[i]);
        }
        linker->runs[linker->n_runs++] = (struct link_run){linker->core, n_now};
        sources += n_now;
        n -= n_now;
    }
    return HS_OK;
}

static hs_status link_put(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct linker *linker = context;
    const uint64_t *begin = piece->begin;

    HS_TRY(hs_progress_tell(linker->progress, "linking the regions", piece->first,
                            linker->passes->n_nodes, err));
    if (begin[piece->n] == 0)
        return HS_OK;
    for (uint32_t i = 0; i < piece->n; i++) {
        hs_node node = piece->first + i;
        uint64_t n = begin[i + 1] - begin[i];
        if (node == 0 || (piece->of_row != 0 ? piece->of_row : n) < 2)
            continue;
        if (node != linker->node && ++linker->core == linker->passes->n_core)
            return hs_fail(err, HS_BUG, "a second sweep gave other edges than the first");
        linker->node = node;
        HS_TRY(link_row(linker, piece->target + begin[i], n, err));
    }
    return HS_OK;
}

static hs_status link_all(struct linker *linker, const struct hs_sweep *backward,
                          struct hs_error *err)
{
    const struct hs_piece_sink sink = {link_put, linker};
    struct hs_passes *passes = linker->passes;

    HS_TRY(hs_spill_open(passes->budget, "the edges between regions", &passes->core_edges, err));
    HS_TRY(backward->run(backward->context, &sink, err));
    HS_TRY(link_flush(linker, err));
    if (linker->core + 1 != passes->n_core)
        return hs_fail(err, HS_BUG, "a second sweep gave other edges than the first");
    return hs_spill_seal(&passes->core_edges, err);
}

hs_status forest_link_write(const struct hs_sweep *backward, const struct hs_ids *places,
                            const struct hs_progress *progress, struct hs_passes *passes,
                            struct hs_error *err)
{
    hs_auto_free struct linker *linker = NULL;

    HS_TRY(HS_ALLOC(&linker, 1, err));
    linker->passes = passes;
    linker->places = places;
    linker->progress = progress;
    return link_all(linker, backward, err);
}
