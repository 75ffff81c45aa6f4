/* The numbers that addresses of the sample would be in the encodings that programs have many like
 * numbers of: one element before a block, and distances of 32 bits from a base. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "encoded_search.h"

enum { WORD = 8, HALF = 4, TWO_WORDS = 16 };
enum { ROOT_BASES = 40, MAPPING_BASES = 20, BEFORE_BYTES = 7 };
enum { BEFORE_FILTER_BITS = 18, OFFSET_FILTER_BITS = 22 };
enum { BEFORE_MOST = ENCODED_SAMPLES * (BEFORE_BYTES + 1) * 2 };
#define FLOOR_BYTES (UINT64_C(1) << 32)

const uint8_t hs_encoded_unit_bytes[ENCODED_UNITS] = {1, 8, 16};

static void add_value(struct hs_encoded_values *to, uint64_t key, unsigned id, size_t sample,
                      uint16_t beside)
{
    uint64_t bit = hs_encoded_filter_bit(to, key);

    if (to->n == to->n_most)
        return;
    to->values[to->n++] =
        (struct hs_encoded_value){(uint32_t)key, (uint16_t)id, (uint16_t)(sample | beside)};
    to->filter[bit >> 6] |= UINT64_C(1) << (bit & 63);
}

static int compare_values(const void *left, const void *right)
{
    const struct hs_encoded_value *a = left, *b = right;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    if (a->id != b->id)
        return a->id < b->id ? -1 : 1;
    return a->sample < b->sample ? -1 : a->sample > b->sample;
}

size_t hs_encoded_find(const struct hs_encoded_values *values, uint64_t key,
                       const struct hs_encoded_value **ret)
{
    size_t low = 0, high = values->n, n = 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (values->values[middle].key < (uint32_t)key)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + n < values->n && values->values[low + n].key == (uint32_t)key)
        n++;
    *ret = values->values + low;
    return n;
}

/* Tells whether no block begins there: then what leads there does so by chance. */
static bool is_beside(const struct hs_encoded *e, hs_addr address)
{
    struct hs_heap_block block;
    return hs_heap_map_resolve(e->map, address, &block) != HS_POINTER_START;
}

/* Adds the addresses one element before, as tables that are counted from 1 hold: an element before
 * the block, or as much as it has. Its size is what was asked for, or a power of two, where the
 * allocator rounds. */
static void add_before(struct hs_encoded *e, size_t number)
{
    const struct hs_encoded_sample *sample = &e->samples[number];
    uint64_t power = UINT64_C(1) << (63 - __builtin_clzll(sample->n_bytes));
    const uint64_t bytes[BEFORE_BYTES] = {
        1, 2, HALF, WORD, TWO_WORDS, sample->n_bytes, sample->n_bytes - WORD};

    for (size_t i = 0; i <= BEFORE_BYTES; i++) {
        uint64_t n = i < BEFORE_BYTES ? bytes[i] : power;
        bool is_known = n == 0 || n > sample->begin;
        for (size_t k = 0; k < i && k < BEFORE_BYTES; k++)
            is_known |= bytes[k] == n;
        if (is_known)
            continue;
        add_value(&e->before, sample->begin - n, ENCODED_BEFORE, number, 0);
        hs_addr beside = sample->begin - n - TWO_WORDS;
        if (is_beside(e, beside))
            add_value(&e->before, beside, ENCODED_BEFORE, number, HS_ENCODED_IS_BESIDE);
    }
}

/* Adds the distance of a sample from a base, and that of an address beside it, by which chance is
 * told; neither where one of them does not fit. */
static void add_offset(struct hs_encoded *e, size_t number, size_t base, size_t unit)
{
    const struct hs_encoded_sample *sample = &e->samples[number];
    uint64_t n = hs_encoded_unit_bytes[unit], offset = sample->begin - e->bases[base];
    unsigned id = (unsigned)(ENCODED_OFFSET + base * ENCODED_UNITS + unit);

    if (sample->begin <= e->bases[base] || offset % n != 0 ||
        (offset + TWO_WORDS) / n > UINT32_MAX || e->n_values + 2 > ENCODED_VALUES_MOST)
        return;
    hs_addr beside = is_beside(e, sample->begin + TWO_WORDS) ? TWO_WORDS : WORD;
    if (beside % n != 0 || !is_beside(e, sample->begin + beside))
        return; /* no way to tell chance */
    e->n_values += 2;
    add_value(&e->offsets, offset / n, id, number, 0);
    add_value(&e->offsets, (offset + beside) / n, id, number, HS_ENCODED_IS_BESIDE);
}

/* ---- bases */

void hs_encoded_add_base(struct hs_encoded *e, hs_addr base)
{
    for (size_t i = 0; i < e->n_bases; i++)
        if (e->bases[i] == base)
            return;
    if (e->n_bases < ENCODED_BASES && base < e->high)
        e->bases[e->n_bases++] = base;
}

/* Adds the bases: 0, where the memory that the blocks lie in begins, and what variables of the
 * program hold. */
void hs_encoded_find_bases(struct hs_encoded *e)
{
    const struct hs_target *target = &e->scan->native->dump->target;
    const struct hs_roots *roots = &e->scan->native->roots;

    hs_encoded_add_base(e, 0);
    for (size_t i = 0; i < e->n_samples && e->n_bases < MAPPING_BASES; i++) {
        const struct hs_mapping *m = hs_target_mapping_at(target, e->samples[i].begin);
        hs_encoded_add_base(e, e->samples[i].begin & ~(FLOOR_BYTES - 1));
        if (m != NULL)
            hs_encoded_add_base(e, m->begin);
    }
    for (size_t i = 0; i < roots->n_leaves && e->n_bases < MAPPING_BASES + ROOT_BASES; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        if (!leaf->root.weak && leaf->root.edge_class == HS_EDGE_EXACT &&
            leaf->root.kind == HS_ROOT_GLOBAL && leaf->root.tier == HS_TIER_FIRM)
            hs_encoded_add_base(e, leaf->target);
    }
}

/* ---- all */

static hs_status make(struct hs_encoded_values *values, size_t n_most, unsigned filter_bits,
                      struct hs_error *err)
{
    values->n_most = n_most;
    values->filter_bits = filter_bits;
    HS_TRY(HS_ALLOC(&values->values, n_most, err));
    return HS_ALLOC(&values->filter, (size_t)1 << (filter_bits - 6), err);
}

static void sort(struct hs_encoded_values *values)
{
    if (values->n > 1)
        qsort(values->values, values->n, sizeof *values->values, compare_values);
}

hs_status hs_encoded_make_before(struct hs_encoded *e, struct hs_error *err)
{
    HS_TRY(make(&e->before, BEFORE_MOST, BEFORE_FILTER_BITS, err));
    for (size_t i = 0; i < e->n_samples; i++)
        add_before(e, i);
    sort(&e->before);
    return HS_OK;
}

hs_status hs_encoded_make_offsets(struct hs_encoded *e, size_t n_most, struct hs_error *err)
{
    return make(&e->offsets, n_most, OFFSET_FILTER_BITS, err);
}

void hs_encoded_next_offsets(struct hs_encoded *e)
{
    const size_t n_of_base = e->n_samples * ENCODED_UNITS * 2;

    e->offsets.n = 0;
    memset(e->offsets.filter, 0, sizeof(uint64_t) << (OFFSET_FILTER_BITS - 6));
    for (; e->next_base < e->n_bases; e->next_base++) {
        if (e->offsets.n_most < ENCODED_VALUES_MOST && e->offsets.n + n_of_base > e->offsets.n_most)
            break;
        for (size_t i = 0; i < e->n_samples; i++)
            for (size_t unit = 0; unit < ENCODED_UNITS; unit++)
                add_offset(e, i, e->next_base, unit);
    }
    sort(&e->offsets);
}

void hs_encoded_values_fini(struct hs_encoded_values *values)
{
    hs_free(values->values);
    hs_free(values->filter);
    *values = (struct hs_encoded_values){0};
}
