/* Looks at memory word by word for addresses of lost blocks in disguise. */
#include "base/alloc.h"
#include "base/load.h"
#include "encoded_search.h"
#include "flow.h"

enum { WORD = 8, HALF = 4, PAGE = 4096, ROW_BYTES = 64, NEIGHBOURS = 3, LOOKS_OF_BEFORE = 8 };
enum { UPPER_BITS = 32 };
enum { SIXTH = 5, IN_TABLE = 4, MOST_STEP = 4 };
enum { MANTISSA_BITS = 52, EXPONENT_BIAS = 1023 };
enum { LEAST_CONSTANT_BITS = 12, MOST_CONSTANT_BITS = 52, LEAST_OFFSET = 8 };
#define PACKED_MASK UINT64_C(0xffffffffffff)
#define LOW_BITS UINT64_C(0x0101010101010101)
#define HIGH_BITS UINT64_C(0x8080808080808080)
#define USER_BITS 47
#define USER_MASK ((UINT64_C(1) << USER_BITS) - 1)
/* The bits of an address that are a tag where blocks are aligned. */
#define TAG_BITS UINT64_C(7)

static bool leads_to_lost(struct hs_encoded *e, uint64_t address, struct hs_heap_block *ret)
{
    return hs_encoded_may_be_lost(e, address) &&
           hs_heap_map_resolve(e->map, address, ret) == HS_POINTER_START &&
           hs_scan_is_lost(e->scan, ret);
}

/* Keeps the earliest place where an encoding was met, of all times that memory is gone over. */
static void note_first(struct hs_encoded *e, unsigned id, hs_addr at)
{
    struct hs_encoded_place *first = &e->first_at[id];

    if (first->at == 0 || e->n_parts < first->part || (e->n_parts == first->part && at < first->at))
        *first = (struct hs_encoded_place){at, e->n_parts};
}

/* Counts a word at `at` that is `address` in disguise, if that leads to a lost block; if it leads
 * `beside` bytes behind one, where no other begins, it counts against the encoding: then it is one
 * by chance. */
static void meet(struct hs_encoded *e, unsigned id, uint64_t address, uint64_t beside, hs_addr at)
{
    struct hs_heap_block block;

    hs_encoded_try(e);
    if (leads_to_lost(e, address, &block)) {
        uint64_t i = block.rank - e->first;
        if (i >= e->n_range || e->found_by[i] != 0)
            return;
        e->found_by[i] = (uint8_t)(id + 1);
        e->n_found[id]++;
        note_first(e, id, at);
    } else if (leads_to_lost(e, address - beside, &block) &&
               hs_encoded_is_in_range(e, block.rank) &&
               !hs_bitmap_get(&e->beside, block.rank - e->first)) {
        hs_bitmap_set(&e->beside, block.rank - e->first);
        e->n_beside[id]++;
    }
}

/* Looks at a word as a shifted address: its length, and those of lost blocks' addresses, say by how
 * much it would be shifted. */
static void look_for_shift(struct hs_encoded *e, uint64_t word, hs_addr at)
{
    const int length = 64 - __builtin_clzll(word);

    for (uint64_t lengths = e->lengths; lengths != 0; lengths &= lengths - 1) {
        int n = length - __builtin_ctzll(lengths);
        if (n > 0 && n <= ENCODED_SHIFTS) {
            if (hs_encoded_may_be_lost(e, word >> n))
                meet(e, ENCODED_LEFT + (unsigned)n - 1, (word >> n) & ~TAG_BITS, WORD, at);
        } else if (n < 0 && n >= -ENCODED_SHIFTS) {
            if (hs_encoded_may_be_lost(e, word << -n))
                meet(e, ENCODED_RIGHT + (unsigned)-n - 1, word << -n,
                     -n > 3 ? UINT64_C(1) << -n : WORD, at);
        }
    }
}

/* Looks at a word as an address shifted to the left by so much that its first bits are cut off:
 * those of any lost address may have stood there. */
static void look_for_cut(struct hs_encoded *e, uint64_t word, hs_addr at)
{
    for (unsigned cut = e->cut_shifts[word >> 56]; cut != 0; cut &= cut - 1) {
        unsigned n = ENCODED_WHOLE_SHIFTS + 1 + (unsigned)__builtin_ctz(cut);
        for (size_t i = 0; i < e->n_cut_off; i++) {
            uint64_t first = e->cut_off[i] << (64 - ENCODED_SHIFTS) >> (64 - n) << (64 - n);
            if (hs_encoded_may_be_lost(e, first | word >> n))
                meet(e, ENCODED_LEFT + n - 1, (first | word >> n) & ~TAG_BITS, WORD, at);
        }
    }
}

/* Looks at a word with other bits above the 47 of an address: tags, above the address, its
 * complement, or one that is shifted right by 3 or 4 bits. */
static void look_for_tags(struct hs_encoded *e, uint64_t word, hs_addr at)
{
    if (hs_encoded_may_be_lost(e, word & USER_MASK))
        meet(e, ENCODED_TAGGED, word & USER_MASK, WORD, at);
    for (unsigned n = 3; n <= 4; n++) {
        uint64_t address = word << n & USER_MASK;
        if (hs_encoded_may_be_lost(e, address))
            meet(e, ENCODED_RIGHT + n - 1, address, n > 3 ? UINT64_C(1) << n : WORD, at);
    }
}

/* Looks at a word as the complement of an address, with any bits above, or as its negative. */
static void look_for_complement(struct hs_encoded *e, uint64_t word, hs_addr at)
{
    if (hs_encoded_may_be_lost(e, ~word & USER_MASK))
        meet(e, ENCODED_COMPLEMENT, ~word & USER_MASK, WORD, at);
    if (hs_encoded_may_be_lost(e, 0 - word))
        meet(e, ENCODED_COMPLEMENT, 0 - word, WORD, at);
}

/* Looks at a word that has an address's bytes in the other order: eight of them, or six that stand
 * at its beginning or its end. */
static void look_for_swapped(struct hs_encoded *e, uint64_t word, hs_addr at)
{
    const uint64_t begins = __builtin_bswap64(word << 16), ends = __builtin_bswap64(word);

    if (hs_encoded_may_be_lost(e, ends & PACKED_MASK))
        meet(e, ENCODED_SWAPPED, ends & PACKED_MASK, WORD, at);
    if (hs_encoded_may_be_lost(e, begins))
        meet(e, ENCODED_SWAPPED, begins, WORD, at);
}

static unsigned mask_number(struct hs_encoded *e, uint64_t constant)
{
    for (size_t i = 0; i < e->n_masks; i++)
        if (e->masks[i] == constant)
            return (unsigned)i;
    if (e->n_masks == ENCODED_MASKS)
        return ENCODED_MASKS;
    e->masks[e->n_masks] = constant;
    return (unsigned)e->n_masks++;
}

static bool is_upper(const struct hs_encoded *e, uint64_t word)
{
    for (size_t i = 0; i < e->n_uppers; i++)
        if (word >> UPPER_BITS == e->uppers[i])
            return true;
    return false;
}

/* Looks at a word as the exclusive or of an address and a constant: one whose upper half makes that
 * of the word a lost block's. */
static void look_for_mask(struct hs_encoded *e, uint64_t word, hs_addr at)
{
    for (size_t i = 0; i < e->n_uppers; i++) {
        uint64_t hash = hs_hash((word >> 32) ^ e->uppers[i]);
        size_t slot = (uint32_t)hash;
        for (uint32_t k; (k = hs_table_next_(&e->by_upper, hash, &slot)) != HS_NO_NUMBER;) {
            struct hs_heap_block block;
            hs_encoded_try(e);
            if (!leads_to_lost(e, word ^ e->constants[k], &block) &&
                !leads_to_lost(e, (word ^ e->constants[k]) - WORD, &block))
                continue;
            unsigned mask = mask_number(e, e->constants[k]);
            if (mask < ENCODED_MASKS)
                meet(e, ENCODED_MASKED + mask, word ^ e->constants[k], WORD, at);
        }
    }
}

/* Looks for an address packed in six bytes at `from`; its sixth byte is in the word that is looked
 * at. At multiples of eight they are tagged addresses: disguise.h. Where the two bytes above are 0
 * it is a plain address, only not aligned: scan.h has an edge by it. */
static void look_for_packed(struct hs_encoded *e, const struct hs_encoded_part *part, uint64_t from)
{
    if (part->n_bytes < WORD || from > part->n_bytes - WORD) /* before the part: it wraps */
        return;
    uint64_t word = hs_load_u64(part->bytes + from), address = word & PACKED_MASK;
    if (word != address && hs_encoded_may_be_lost(e, address))
        meet(e, ENCODED_PACKED, address, WORD, part->begin + from);
}

/* Returns a bit of each byte that is the sixth of some lost address, and of few others. */
static inline uint64_t sixth_bytes(const struct hs_encoded *e, uint64_t word)
{
    uint64_t found = 0;

    if (e->n_tops > ENCODED_TOPS)
        return HIGH_BITS;
    for (size_t i = 0; i < e->n_tops; i++) {
        uint64_t same = word ^ e->tops[i];
        found |= (same - LOW_BITS) & ~same & HIGH_BITS;
    }
    return found;
}

static void set_hit(struct hs_encoded *e, const struct hs_encoded_value *value, bool in_table,
                    hs_addr at)
{
    bool is_beside = (value->sample & HS_ENCODED_IS_BESIDE) != 0;
    uint64_t bit = hs_encoded_hit_bit(value->id, value->sample & (HS_ENCODED_IS_BESIDE - 1));

    hs_bitmap_set(&e->hits[is_beside], bit);
    if (in_table)
        hs_bitmap_set(&e->in_table[is_beside], bit);
    if (!is_beside && (e->first_at[value->id].at == 0 || in_table))
        e->first_at[value->id].at = at;
}

/* ---- before a block */

/* Tells whether it is an address of a block as it is, or the end of one whose beginning stands
 * beside it. */
static bool is_explained(const struct hs_encoded *e, const struct hs_encoded_part *part,
                         uint64_t at, uint64_t word)
{
    struct hs_heap_block block, other;
    enum hs_pointer how = hs_heap_map_resolve(e->map, word, &block);

    if (how == HS_POINTER_NONE || hs_scan_is_lost(e->scan, &block))
        return false;
    if (how == HS_POINTER_START)
        return true;
    for (uint64_t i = 0; i <= 2 * NEIGHBOURS; i++) {
        uint64_t there = at + i * WORD - NEIGHBOURS * WORD; /* wraps: then it is too large */
        if (i == NEIGHBOURS || there > part->n_bytes - WORD)
            continue;
        how = hs_heap_map_resolve(e->map, hs_load_u64(part->bytes + there), &other);
        if (how == HS_POINTER_START && other.rank == block.rank)
            return true;
    }
    return false;
}

/* Tells whether three of the words beside it lie as far before blocks of the same size, lost or
 * not. Words beside it may keep others of the kind by their ends. */
static bool is_among_equals(const struct hs_encoded *e, const struct hs_encoded_part *part,
                            uint64_t at, const struct hs_encoded_sample *sample, uint64_t distance)
{
    uint64_t last = sample->begin;
    struct hs_heap_block block;
    unsigned n = 0;

    for (uint64_t i = 0; i <= 4 * NEIGHBOURS; i++) {
        uint64_t there = at + i * WORD - 2 * NEIGHBOURS * WORD;
        if (there > part->n_bytes - WORD)
            continue;
        uint64_t address = hs_load_u64(part->bytes + there) + distance;
        if (address == sample->begin || address == last ||
            hs_heap_map_resolve(e->map, address, &block) != HS_POINTER_START ||
            block.n_bytes != sample->n_bytes)
            continue;
        last = address;
        n++;
    }
    return n >= NEIGHBOURS;
}

/* Notes one more word that leads before a lost block. Four in a row, of blocks of four sizes, are
 * no chance: not even where each is the address of another block, as those before it in a slab are.
 */
static void note_row(struct hs_encoded *e, unsigned sample, hs_addr at)
{
    const unsigned n = sizeof e->row.samples / sizeof *e->row.samples;

    if (e->row.n == 0 || at - e->row.at > ROW_BYTES)
        e->row.n = 0;
    for (unsigned i = 0; i < n && i < e->row.n; i++)
        if (e->samples[e->row.samples[(e->row.n - 1 - i) % n]].n_bytes ==
            e->samples[sample].n_bytes)
            return;
    e->row.samples[e->row.n++ % n] = (uint16_t)sample;
    e->row.at = at;
    for (unsigned i = 0; e->row.n >= n && i < n; i++)
        hs_bitmap_set(&e->in_row, e->row.samples[i]);
}

static void look_for_before(struct hs_encoded *e, const struct hs_encoded_part *part, uint64_t at,
                            uint64_t word)
{
    const struct hs_encoded_value *values;
    size_t n = hs_encoded_find(&e->before, word, &values);

    for (size_t i = 0; i < n; i++) {
        unsigned number = values[i].sample & (HS_ENCODED_IS_BESIDE - 1);
        struct hs_encoded_sample *sample = &e->samples[number];
        uint64_t distance = sample->begin - word;
        e->n_tries += LOOKS_OF_BEFORE; /* this is looked for once */
        bool is_beside = (values[i].sample & HS_ENCODED_IS_BESIDE) != 0;
        if (distance > UINT32_MAX)
            continue;
        if (!is_beside)
            sample->before_at = part->begin + at;
        if (!is_beside && distance >= sample->n_bytes / 2)
            note_row(e, number, part->begin + at);
        if (is_explained(e, part, at, word))
            continue;
        set_hit(e, &values[i], false, part->begin + at);
        if (!is_beside && is_among_equals(e, part, at, sample, distance))
            hs_bitmap_set(&e->in_row, number);
    }
}

/* ---- distances of 32 bits */

static hs_addr by_distance(const struct hs_encoded *e, unsigned id, uint32_t half)
{
    return e->bases[(id - ENCODED_OFFSET) / ENCODED_UNITS] +
           half * (uint64_t)hs_encoded_unit_bytes[(id - ENCODED_OFFSET) % ENCODED_UNITS];
}

/* Tells whether four numbers in a row, one in so many words, all lead to beginnings of blocks, or
 * all beside such, as this one does without its tag. */
static bool is_in_table(struct hs_encoded *e, const struct hs_encoded_part *part,
                        const struct hs_encoded_value *value, uint64_t at, uint32_t tag_bits)
{
    const hs_addr begin = e->samples[value->sample & (HS_ENCODED_IS_BESIDE - 1)].begin;
    uint64_t beside = by_distance(e, value->id, value->key) - begin;
    struct hs_heap_block block;

    for (int64_t step = -MOST_STEP; step <= MOST_STEP; step++) {
        uint32_t last = hs_load_u32(part->bytes + at) & ~tag_bits;
        unsigned n = 0;
        for (int64_t i = 1; step != 0 && i <= IN_TABLE; i++) {
            uint64_t there = at + (uint64_t)(i * step * HALF); /* wraps: then it is too large */
            if (there > part->n_bytes - HALF)
                break;
            uint32_t half = hs_load_u32(part->bytes + there) & ~tag_bits;
            hs_addr address = by_distance(e, value->id, half) - beside;
            e->n_tries++;
            if (half == last || half < LEAST_OFFSET ||
                hs_heap_map_resolve(e->map, address, &block) != HS_POINTER_START)
                break;
            last = half;
            n++;
        }
        if (n == IN_TABLE)
            return true;
    }
    return false;
}

/* Looks at 32 bits as a distance; one in bytes may have a tag below. */
static void look_for_offset(struct hs_encoded *e, const struct hs_encoded_part *part, uint64_t at,
                            uint32_t tag_bits)
{
    const struct hs_encoded_value *values;
    uint32_t half = hs_load_u32(part->bytes + at) & ~tag_bits;

    if (half < LEAST_OFFSET || !hs_encoded_may_have(&e->offsets, half))
        return;
    size_t n = hs_encoded_find(&e->offsets, half, &values);
    e->n_tries += n; /* each value is of one part of the bases */
    for (size_t i = 0; i < n; i++)
        if (tag_bits == 0 || (values[i].id - ENCODED_OFFSET) % ENCODED_UNITS == 0)
            set_hit(e, &values[i], is_in_table(e, part, &values[i], at, tag_bits),
                    part->begin + at);
}

/* Looks at a word as a fraction of 64 bits that has an address as its value. */
static void look_for_double(struct hs_encoded *e, uint64_t word, hs_addr at)
{
    const unsigned length = (unsigned)(word >> MANTISSA_BITS) - EXPONENT_BIAS + 1;
    const uint64_t mantissa =
        UINT64_C(1) << MANTISSA_BITS | (word & ((UINT64_C(1) << MANTISSA_BITS) - 1));

    if (length <= USER_BITS && (e->lengths >> length & 1) != 0 &&
        hs_encoded_may_be_lost(e, mantissa >> (MANTISSA_BITS + 1 - length)))
        meet(e, ENCODED_DOUBLE, mantissa >> (MANTISSA_BITS + 1 - length), WORD, at);
}

static inline void look_for_strong(struct hs_encoded *e, uint64_t word, hs_addr at)
{
    look_for_shift(e, word, at);
    look_for_cut(e, word, at);
    look_for_swapped(e, word, at);
    look_for_complement(e, word, at);
    if (word >> USER_BITS != 0) {
        look_for_tags(e, word, at);
        look_for_double(e, word, at);
    }
    if (word >> UPPER_BITS != 0 && e->n_constants != 0 && !is_upper(e, word))
        look_for_mask(e, word, at);
}

static inline void look_for_weak(struct hs_encoded *e, const struct hs_encoded_part *part,
                                 uint64_t at, uint64_t word)
{
    if (is_upper(e, word)) {
        if (e->has_before && hs_encoded_may_have(&e->before, word))
            look_for_before(e, part, at, word);
        return;
    }
    if (e->offsets.n == 0)
        return;
    for (uint64_t half_at = at; half_at < at + WORD; half_at += HALF, word >>= UPPER_BITS) {
        look_for_offset(e, part, half_at, 0);
        if ((word & TAG_BITS) != 0)
            look_for_offset(e, part, half_at, TAG_BITS);
    }
}

/* Tells whether a word may be one of a run: no short number, nor an address where lost blocks are.
 */
static inline bool may_be_in_run(const struct hs_encoded *e, uint64_t word)
{
    uint64_t upper = word >> UPPER_BITS;
    return upper != 0 && upper != UINT32_MAX && word - e->low > e->high - e->low;
}

void hs_encoded_look(struct hs_encoded *e, const struct hs_encoded_part *part)
{
    const uint64_t sixth_of_word = UINT64_C(0x80) << (8 * SIXTH);
    uint64_t last = 0;

    e->n_parts++;
    if (e->has_runs && !part->is_lost)
        hs_encoded_add_to_tables(e, part);
    for (uint64_t at = 0; at + WORD <= part->n_bytes && !hs_encoded_is_cut(e); at += WORD) {
        uint64_t word = hs_load_u64(part->bytes + at);
        if (e->has_strong && (word | last) != 0) {
            uint64_t found = sixth_bytes(e, word) & ~sixth_of_word;
            for (; found != 0; found &= found - 1)
                look_for_packed(e, part, at + (uint64_t)__builtin_ctzll(found) / 8 - SIXTH);
        }
        last = word;
        if (word == 0)
            continue;
        if (e->has_strong)
            look_for_strong(e, word, part->begin + at);
        if (part->is_lost)
            continue;
        look_for_weak(e, part, at, word);
        if (e->has_runs && may_be_in_run(e, word))
            hs_encoded_add_to_runs(e, word, part->begin + at);
    }
}

/* Tells whether a word may be a constant that hides an address: it has about as many ones as zeros.
 * Small numbers, text and round fractions do not; addresses are none. */
static bool may_be_constant(const struct hs_encoded *e, uint64_t word)
{
    int n = __builtin_popcountll(word);
    bool is_mixed = n >= LEAST_CONSTANT_BITS && n <= MOST_CONSTANT_BITS;

    return is_mixed && (word >> USER_BITS != 0 ||
                        (word >> UPPER_BITS != 0 &&
                         hs_target_mapping_at(&e->scan->native->dump->target, word) == NULL));
}

hs_status hs_encoded_add_constants(struct hs_encoded *e, const uint8_t *bytes, uint64_t n)
{
    for (uint64_t at = 0; at + WORD <= n && e->n_constants < ENCODED_CONSTANTS; at += WORD) {
        uint64_t word = hs_load_u64(bytes + at);
        if (word != 0 && word % PAGE == 0 && word < e->high)
            hs_encoded_add_base(e, word);
        if (!may_be_constant(e, word))
            continue;
        uint64_t hash = hs_hash(word >> 32);
        if (HS_TABLE_FIND(&e->by_upper, hash, i, e->constants[i] == word) != HS_NO_NUMBER)
            continue;
        HS_TRY(hs_table_add(&e->by_upper, hash, e->n_constants, e->err));
        e->constants[e->n_constants++] = word;
    }
    return HS_OK;
}
