/* Tables of 32-bit distances from an address that nothing says: a block's that only a block has, a
 * chunk's, an element's. Of each part of memory one column of 32 bits in 64 may be one, where most
 * of its numbers have the same last four bits, as distances of blocks do. The largest are kept, and
 * judged as words under a constant are (encoded_runs.c): one address must make nearly all of them
 * addresses of lost blocks. */
#include "base/alloc.h"
#include "encoded_search.h"

enum { WORD = 8, HALF = 4, LEAST_DISTANCE = 16, LAST_BITS = 15, MOST_OTHERS = 4, PAGE = 4096 };

/* The last four bits that most numbers of a column have, found by votes. */
struct column {
    uint32_t bits;
    uint64_t n_votes, n, n_same;
};

static inline uint32_t number_at(const struct hs_encoded_part *part, uint64_t at)
{
    return hs_load_u32(part->bytes + at);
}

static void vote(struct column *column, uint32_t number)
{
    if (number < LEAST_DISTANCE)
        return;
    column->n++;
    if (column->n_votes == 0)
        column->bits = number & LAST_BITS;
    if ((number & LAST_BITS) == column->bits) {
        column->n_votes++;
        column->n_same++;
    } else {
        column->n_votes--;
    }
}

/* Finds the place of a table of n_met numbers: a new one, or that of the smallest; NULL: all are
 * larger. */
static struct hs_encoded_run *place_for(struct hs_encoded *e, uint64_t n_met)
{
    struct hs_encoded_run *least = &e->tables[0];

    if (e->n_tables < ENCODED_TABLES)
        return &e->tables[e->n_tables];
    for (size_t i = 1; i < e->n_tables; i++)
        if (e->tables[i].n_met < least->n_met)
            least = &e->tables[i];
    return least->n_met < n_met ? least : NULL;
}

/* Fills a run with different numbers of a column. Those that are lower halves of addresses are left
 * out. */
static void fill(const struct hs_encoded *e, struct hs_encoded_run *run,
                 const struct hs_encoded_part *part, uint64_t first, uint32_t bits)
{
    const struct hs_target *target = &e->scan->native->dump->target;

    run->n = run->n_met = run->most = 0;
    run->least = UINT64_MAX;
    run->at = part->begin + first;
    for (uint64_t at = first; at + HALF <= part->n_bytes; at += WORD) {
        uint64_t number = number_at(part, at);
        if (number < LEAST_DISTANCE || (number & LAST_BITS) != bits)
            continue;
        if (run->n < ENCODED_RUN_LEAST &&
            hs_target_mapping_at(target, hs_load_u64(part->bytes + at - first)) != NULL)
            continue;
        hs_encoded_run_add(run, number, part->begin + at);
    }
}

static void add_column(struct hs_encoded *e, const struct hs_encoded_part *part, uint64_t first,
                       const struct column *column)
{
    struct hs_encoded_run *run = place_for(e, column->n_same);

    if (run == NULL)
        return;
    fill(e, &e->tables[ENCODED_TABLES], part, first, column->bits);
    if (e->tables[ENCODED_TABLES].n < ENCODED_RUN_LEAST)
        return;
    e->n_tables += run == &e->tables[e->n_tables];
    *run = e->tables[ENCODED_TABLES];
}

void hs_encoded_add_to_tables(struct hs_encoded *e, const struct hs_encoded_part *part)
{
    struct column columns[2] = {0};

    if (part->n_bytes < (uint64_t)ENCODED_RUN_LEAST * WORD)
        return;
    for (uint64_t at = 0; at + WORD <= part->n_bytes; at += WORD) {
        uint64_t word = hs_load_u64(part->bytes + at);
        if (word == 0 || word - e->low <= e->high - e->low)
            continue;
        vote(&columns[0], (uint32_t)word);
        vote(&columns[1], (uint32_t)(word >> 32));
    }
    for (unsigned i = 0; i < 2; i++)
        if (columns[i].n_same >= ENCODED_RUN_LEAST &&
            (columns[i].n - columns[i].n_same) * MOST_OTHERS <= columns[i].n)
            add_column(e, part, i * (uint64_t)HALF, &columns[i]);
}
