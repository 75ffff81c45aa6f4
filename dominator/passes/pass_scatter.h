/* Rows of numbers by key, put once each in any order and emitted in ascending order of the keys, in
 * bounded memory: what leads from positions back to nodes.
 *
 *   keys:    | part 0: in memory from the start | part 1: spilled | part 2: spilled | ...
 *   record:  key within its part | one number per column
 *            4 bytes               varints
 *
 * With the highest bit of the key the numbers are differences from those of the part's last *large*
 * record, one with a number that takes several bytes: along a chain they differ by little.
 *
 * Keys without a row are emitted as zeros. Where all fits, there is one part and no file. */
#ifndef HS_PASS_SCATTER_H
#define HS_PASS_SCATTER_H

#include <string.h>

#include "base/spill.h"

#define SCATTER_COLUMNS 4
#define SCATTER_PARTS 256

/* A part that is not in memory from the start. */
struct scatter_part {
    struct hs_spill spill;
    uint64_t large[SCATTER_COLUMNS]; /* of the last large record written */
};

struct pass_scatter {
    uint64_t n_keys, per_part; /* per_part < 2^31 */
    unsigned n_columns, width[SCATTER_COLUMNS], row_bytes;
    uint8_t *rows; /* owned pages: of one part; 8 bytes more */
    uint64_t reserved_bytes;
    struct scatter_part *parts; /* owned; [0] is not used */
    uint32_t n_parts;
    struct hs_budget *budget;
    const char *what;
};

struct pass_scatter_shape {
    uint64_t n_keys;
    unsigned n_columns;
    uint64_t max[SCATTER_COLUMNS]; /* the greatest number of each column */
    uint64_t reserve_bytes;        /* of the budget, left for others */
};

/* Returns the bytes that a step of `now` bytes must leave so that, once it gives back `given_back`,
 * the next step can take `later`. */
static inline uint64_t pass_scatter_leave(uint64_t now, uint64_t given_back, uint64_t later)
{
    uint64_t missing = later > given_back ? later - given_back : 0;
    return now > missing ? now : missing;
}

/* Begins with as few parts as the budget allows. HS_LIMIT when SCATTER_PARTS do not do. */
hs_status pass_scatter_init(const struct pass_scatter_shape *shape, struct hs_budget *budget,
                            const char *what, struct pass_scatter *ret, struct hs_error *err);
void pass_scatter_fini(struct pass_scatter *scatter);

/* Returns the number of parts: one in memory, the others in files first. */
uint64_t pass_scatter_parts(uint64_t n_keys, unsigned row_bytes, uint64_t room);

/* Returns the bytes that hold a number. */
static inline unsigned pass_scatter_width(uint64_t max)
{
    return max == 0 ? 1 : (71 - (unsigned)__builtin_clzll(max)) / 8;
}

static inline void pass_scatter_place(const struct pass_scatter *scatter, uint64_t at,
                                      const uint64_t *values)
{
    uint8_t *row = scatter->rows + at * scatter->row_bytes;
    for (unsigned i = 0; i < scatter->n_columns; i++) {
        memcpy(row, &values[i], scatter->width[i]); /* little-endian machines only */
        row += scatter->width[i];
    }
}

hs_status pass_scatter_spill(struct pass_scatter *scatter, uint64_t key, const uint64_t *values,
                             struct hs_error *err);

static inline hs_status pass_scatter_put(struct pass_scatter *scatter, uint64_t key,
                                         const uint64_t *values, struct hs_error *err)
{
    assert(key < scatter->n_keys);
    if (key >= scatter->per_part)
        return pass_scatter_spill(scatter, key, values, err);
    pass_scatter_place(scatter, key, values);
    return HS_OK;
}

struct pass_scatter_sink {
    hs_status (*put)(void *context, uint64_t key, const uint64_t *values, struct hs_error *err);
    void *context;
};

/* Emits every key, once, when all are put. */
hs_status pass_scatter_emit(struct pass_scatter *scatter, const struct pass_scatter_sink *sink,
                            struct hs_error *err);

#endif
