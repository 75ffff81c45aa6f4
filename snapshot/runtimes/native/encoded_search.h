/* What the parts of the search for addresses in disguise share (encoded.h). */
#ifndef HS_NATIVE_ENCODED_SEARCH_H
#define HS_NATIVE_ENCODED_SEARCH_H

#include "encoded.h"

/* Ways of writing an address, by number. */
enum {
    ENCODED_LEFT = 0, /* by 1 to ENCODED_SHIFTS bits */
    ENCODED_SHIFTS = 16,
    ENCODED_RIGHT = ENCODED_LEFT + ENCODED_SHIFTS,
    ENCODED_SWAPPED = ENCODED_RIGHT + ENCODED_SHIFTS,
    ENCODED_COMPLEMENT,
    ENCODED_PACKED,
    ENCODED_MASKED, /* by one of the constants that led to lost blocks */
    ENCODED_MASKS = 64,
    ENCODED_N_STRONG = ENCODED_MASKED + ENCODED_MASKS,
    ENCODED_BEFORE = ENCODED_N_STRONG,
    ENCODED_OFFSET, /* by base and unit */
    ENCODED_BASES = 80,
    ENCODED_UNITS = 3,
    ENCODED_N = ENCODED_OFFSET + ENCODED_BASES * ENCODED_UNITS,
};
extern const uint8_t hs_encoded_unit_bytes[ENCODED_UNITS];

enum { ENCODED_GROUPS = 1 << 12, ENCODED_SAMPLES = 1 << 11, ENCODED_OF_GROUP = 32 };

/* Lost blocks of one size. The last group has all sizes that there is no room for. */
struct hs_encoded_group {
    uint64_t n_bytes;
    uint64_t n_lost, n_heads; /* heads: nothing lost leads to them */
    uint32_t n_sampled, n_seen;
    bool is_possible; /* all of it */
};

struct hs_encoded_sample {
    hs_addr begin;
    uint64_t n_bytes;
    hs_addr before_at; /* where a word leads before it; 0: none does */
    uint32_t group;
};

/* A number that a sample's address may be written as. */
struct hs_encoded_value {
    uint32_t key; /* of 64 bits the lower half */
    uint16_t id;
    uint16_t sample; /* bit 15: an address beside it, at which no block begins */
};
#define HS_ENCODED_IS_BESIDE ((uint16_t)(1 << 15))

/* The values, by key, behind a filter of bits. */
struct hs_encoded_values {
    struct hs_encoded_value *values; /* owned */
    size_t n, capacity;
    uint64_t *filter; /* owned */
};

struct hs_encoded {
    struct hs_scan *scan;
    const struct hs_heap_map *map;
    hs_addr low, high;       /* lost blocks begin in here */
    uint64_t lengths;        /* their addresses' lengths in bits: a bit each */
    unsigned least_length;   /* the shortest of them */
    uint64_t *pages;         /* owned: a filter of the pages in which they begin */
    uint8_t *found_by;       /* owned pages: by rank, 1 + the strong encoding that led there */
    struct hs_bitmap beside; /* by rank: one led beside it */
    struct hs_bitmap held;   /* by rank: a lost block leads to it */
    uint64_t n_blocks;
    struct hs_dict group_of;         /* by size */
    struct hs_encoded_group *groups; /* owned */
    size_t n_groups;
    struct hs_encoded_sample *samples; /* owned */
    size_t n_samples;
    struct hs_encoded_values before, offsets;
    hs_addr bases[ENCODED_BASES];
    size_t n_bases;
    uint64_t *constants; /* owned: that may be masks */
    size_t n_constants;
    struct hs_table by_upper; /* of these, by the upper half */
    uint64_t uppers[8];       /* upper halves of lost addresses */
    size_t n_uppers;
    uint64_t masks[ENCODED_MASKS]; /* those that led to lost blocks */
    size_t n_masks;
    struct hs_bitmap hits[2];     /* by encoding and sample: met; met beside it */
    struct hs_bitmap in_table[2]; /* the same, among others that lead to blocks */
    struct hs_bitmap in_row;      /* by sample: one of several that lie before blocks */
    struct hs_encoded_row {
        uint16_t samples[4]; /* the last that were met so */
        hs_addr at;
        unsigned n;
    } row;
    uint64_t n_found[ENCODED_N_STRONG], n_beside[ENCODED_N_STRONG];
    hs_addr first_at[ENCODED_N]; /* 0: not met */
    struct hs_error *err;
};

/* Memory that is searched: part of a block or of a mapping. */
struct hs_encoded_part {
    hs_addr begin;
    const uint8_t *bytes;
    uint64_t n_bytes;
    bool is_lost; /* of a lost block: what holds such a block may be held in disguise itself */
};

/* encoded_words.c: all words of a part. */
void hs_encoded_look(struct hs_encoded *e, const struct hs_encoded_part *part);
/* The constants among words of the program's data, ENCODED_CONSTANTS of them at most, and addresses
 * of pages, which may be bases. */
enum { ENCODED_CONSTANTS = 1 << 14 };
hs_status hs_encoded_add_constants(struct hs_encoded *e, const uint8_t *bytes, uint64_t n);

/* encoded_values.c: what the samples' addresses would be. */
hs_status hs_encoded_make_values(struct hs_encoded *e, struct hs_error *err);
void hs_encoded_values_fini(struct hs_encoded_values *values);
/* May there be a value of this key? No for nearly all keys. */
enum { ENCODED_FILTER_BITS = 22 };
static inline uint64_t hs_encoded_filter_bit(uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ENCODED_FILTER_BITS);
}
static inline bool hs_encoded_may_have(const struct hs_encoded_values *values, uint64_t key)
{
    uint64_t bit = hs_encoded_filter_bit(key);
    return (values->filter[bit >> 6] >> (bit & 63) & 1) != 0;
}
/* The first value of such a key, and how many there are. O(log n). */
size_t hs_encoded_find(const struct hs_encoded_values *values, uint64_t key,
                       const struct hs_encoded_value **ret);
void hs_encoded_find_bases(struct hs_encoded *e);
void hs_encoded_add_base(struct hs_encoded *e, hs_addr base);

/* encoded_judge.c: which encodings are believed. Marks, and notes them. */
hs_status hs_encoded_judge(struct hs_encoded *e, struct hs_error *err);

static inline uint64_t hs_encoded_hit_bit(unsigned id, unsigned sample)
{
    return (uint64_t)id * ENCODED_SAMPLES + sample;
}

/* May a lost block begin in this page? */
enum { ENCODED_PAGE_BITS = 20 };
static inline uint64_t hs_encoded_page_bit(hs_addr address)
{
    return (address >> 12) * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ENCODED_PAGE_BITS);
}
static inline bool hs_encoded_may_be_lost(const struct hs_encoded *e, uint64_t address)
{
    if (address - e->low > e->high - e->low)
        return false;
    uint64_t bit = hs_encoded_page_bit(address);
    return (e->pages[bit >> 6] >> (bit & 63) & 1) != 0;
}

#endif
