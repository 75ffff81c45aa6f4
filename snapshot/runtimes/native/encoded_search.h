/* The state that the parts of the search for encoded addresses share (encoded.h). */
#ifndef HS_NATIVE_ENCODED_SEARCH_H
#define HS_NATIVE_ENCODED_SEARCH_H

#include "encoded.h"

/* Ways of writing an address, by number. */
enum {
    ENCODED_LEFT = 0,          /* by 1 to ENCODED_SHIFTS bits */
    ENCODED_SHIFTS = 23,       /* one by 24 begins as six packed bytes do */
    ENCODED_WHOLE_SHIFTS = 17, /* an address of 47 bits then begins with the word's first bit */
    ENCODED_RIGHT = ENCODED_LEFT + ENCODED_SHIFTS,
    ENCODED_SWAPPED = ENCODED_RIGHT + ENCODED_SHIFTS,
    ENCODED_COMPLEMENT,
    ENCODED_PACKED,
    ENCODED_TAGGED,
    ENCODED_DOUBLE,
    ENCODED_MASKED, /* by one of the constants that led to lost blocks */
    ENCODED_MASKS = 64,
    ENCODED_N_STRONG = ENCODED_MASKED + ENCODED_MASKS,
    ENCODED_BEFORE = ENCODED_N_STRONG,
    ENCODED_OFFSET, /* by base and unit */
    ENCODED_BASES = 80,
    ENCODED_UNITS = 3,
    ENCODED_N = ENCODED_OFFSET + ENCODED_BASES * ENCODED_UNITS,
    ENCODED_TOPS = 4,
    ENCODED_CUT_OFF = 8,
};
extern const uint8_t hs_encoded_unit_bytes[ENCODED_UNITS];

enum { ENCODED_GROUPS = 1 << 12, ENCODED_SAMPLES = 1 << 11, ENCODED_OF_GROUP = 32 };

/* Lost blocks of one size. The first group has all sizes that there is no room for. */
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

/* The values, by key, behind a filter of 2^filter_bits bits. */
struct hs_encoded_values {
    struct hs_encoded_value *values; /* owned */
    size_t n, n_most;
    uint64_t *filter; /* owned */
    unsigned filter_bits;
};

/* Words that may be addresses under one constant: of one upper half, and the same last bits. */
enum { ENCODED_RUN_LEAST = 8, ENCODED_RUN_WORDS = 256 };
struct hs_encoded_run {
    uint64_t key;                          /* the upper half, then the last bits */
    uint64_t words[ENCODED_RUN_WORDS + 2]; /* all different; in the end the least and the most */
    size_t n;
    uint64_t n_met, least, most; /* of all words that were met */
    hs_addr at;                  /* where one of them stands */
};

/* The first words of what may become a run. */
struct hs_encoded_slot {
    uint64_t words[ENCODED_RUN_LEAST];
    uint32_t n;
    uint32_t run; /* 1 + its number; 0: none */
};

/* The place where an encoding was met first: memory is gone over in one order, but may be so
 * several times. */
struct hs_encoded_place {
    hs_addr at; /* 0: not met */
    uint64_t part;
};

/* Memory is gone over once, where there is room for what is kept of all blocks and for all values;
 * else once for each range of blocks, and each part of the bases. All results are the same. */
struct hs_encoded {
    struct hs_scan *scan;
    const struct hs_heap_map *map;
    hs_addr low, high;     /* lost blocks begin in here */
    uint64_t lengths;      /* their addresses' lengths in bits: a bit each */
    unsigned least_length; /* the shortest of them */
    uint64_t *pages;       /* owned: a filter of the pages in which they begin */
    uint64_t n_blocks;
    uint64_t first, n_range; /* the range of blocks, by rank; the last may end behind all */
    uint64_t n_ranges;
    uint8_t *found_by;       /* owned pages: of the range, 1 + the strong encoding that led there */
    struct hs_bitmap beside; /* of the range: one led beside it */
    struct hs_bitmap held;   /* of the range: a lost block leads to it */
    bool has_strong, has_before; /* are they looked for, this time? */
    bool has_runs;
    bool counts_blocks;
    struct hs_dict group_of;         /* by size */
    struct hs_encoded_group *groups; /* owned */
    size_t n_groups;
    struct hs_encoded_sample *samples; /* owned */
    size_t n_samples;
    struct hs_encoded_values before, offsets;
    hs_addr bases[ENCODED_BASES];
    size_t n_bases, next_base; /* whose values come next */
    size_t n_values;           /* of bases, so far */
    uint64_t *constants;       /* owned: that may be masks */
    size_t n_constants;
    struct hs_table by_upper; /* of these, by the upper half */
    uint64_t uppers[8];       /* upper halves of lost addresses */
    size_t n_uppers;
    uint64_t tops[ENCODED_TOPS]; /* of lost addresses, the byte above 40 bits, in each byte */
    size_t n_tops;               /* ENCODED_TOPS + 1: more than there is room for */
    /* For each first byte of a word, the shifts beyond the whole ones by which it is a part of some
     * lost address, a bit each; and the bits that such shifts may cut off. */
    uint8_t cut_shifts[256];
    uint64_t cut_off[ENCODED_CUT_OFF];
    size_t n_cut_off;
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
    uint64_t *run_keys; /* owned: of each slot its key, and above it votes for that */
    struct hs_encoded_slot *run_slots; /* owned */
    struct hs_encoded_run *runs;       /* owned */
    size_t n_runs;
    struct hs_encoded_run *tables; /* owned: of 32-bit distances */
    size_t n_tables;
    uint32_t *counts; /* owned: by strong encoding and group, how many were found */
    struct hs_encoded_place first_at[ENCODED_N];
    uint64_t n_parts;             /* of memory, this time */
    size_t n_notes;               /* also those that were too many to be kept */
    uint64_t n_tries, most_tries; /* look-ups that a word asked for, however often memory is gone
                                     over; beyond the most the search is cut, and nothing certain */
    struct hs_error *err;
};

/* Memory that is searched: part of a block or of a mapping. */
struct hs_encoded_part {
    hs_addr begin;
    const uint8_t *bytes;
    uint64_t n_bytes;
    bool is_lost; /* of a lost block: what holds such a block may be held in disguise itself */
};

/* Looks at all words of a part: encoded_words.c. */
void hs_encoded_look(struct hs_encoded *e, const struct hs_encoded_part *part);
/* Collects the constants among words of the program's data, ENCODED_CONSTANTS of them at most, and,
 * as bases, addresses of pages. */
enum { ENCODED_CONSTANTS = 1 << 14 };
hs_status hs_encoded_add_constants(struct hs_encoded *e, const uint8_t *bytes, uint64_t n);

/* Counts a look-up of those that are the same in each range, or of bases of one part. */
static inline void hs_encoded_try(struct hs_encoded *e)
{
    e->n_tries += e->has_before;
}
static inline bool hs_encoded_is_cut(const struct hs_encoded *e)
{
    return e->n_tries > e->most_tries;
}

/* Finds what is lost, and takes a sample of it: encoded_lost.c. */
hs_status hs_encoded_find_lost(struct hs_encoded *e);
/* Returns the number of a block's group. */
size_t hs_encoded_group_of(const struct hs_encoded *e, const struct hs_heap_block *block);
/* Calls `visit` for each lost block of the range. */
hs_status hs_encoded_each_lost(struct hs_encoded *e,
                               hs_status (*visit)(struct hs_encoded *,
                                                  const struct hs_heap_block *));
/* Goes to range number `i`, and forgets what was found in another. */
void hs_encoded_go_to(struct hs_encoded *e, uint64_t i);
static inline bool hs_encoded_is_in_range(const struct hs_encoded *e, uint64_t rank)
{
    return rank - e->first < e->n_range;
}

/* Makes the numbers that the samples' addresses would be: those before blocks; those of the next
 * bases for which there is room, sorted: encoded_values.c. */
hs_status hs_encoded_make_before(struct hs_encoded *e, struct hs_error *err);
hs_status hs_encoded_make_offsets(struct hs_encoded *e, size_t n_most, struct hs_error *err);
void hs_encoded_next_offsets(struct hs_encoded *e);
void hs_encoded_values_fini(struct hs_encoded_values *values);
/* The most values that are made of all bases, and as many as there is room for in any case. */
enum { ENCODED_VALUES_MOST = 1 << 19, ENCODED_VALUES_LEAST = 1 << 17 };
/* Returns the bit of a key in a filter of the keys, which says no for nearly all that have no
 * value. */
static inline uint64_t hs_encoded_filter_bit(const struct hs_encoded_values *values, uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - values->filter_bits);
}
static inline bool hs_encoded_may_have(const struct hs_encoded_values *values, uint64_t key)
{
    uint64_t bit = hs_encoded_filter_bit(values, key);
    return (values->filter[bit >> 6] >> (bit & 63) & 1) != 0;
}
/* Finds the first value of a key. Returns how many there are. O(log n). */
size_t hs_encoded_find(const struct hs_encoded_values *values, uint64_t key,
                       const struct hs_encoded_value **ret);
void hs_encoded_find_bases(struct hs_encoded *e);
void hs_encoded_add_base(struct hs_encoded *e, hs_addr base);

/* Decides which encodings are believed: encoded_judge.c. hs_encoded_count counts, after each range,
 * what was found there; hs_encoded_judge notes, after the last, what is believed, and
 * hs_encoded_note_rest that there was more; hs_encoded_mark marks, range by range. */
hs_status hs_encoded_count(struct hs_encoded *e);
hs_status hs_encoded_judge(struct hs_encoded *e);
hs_status hs_encoded_note_rest(struct hs_encoded *e);
hs_status hs_encoded_mark(struct hs_encoded *e);
/* Tells whether a single word of some strong encoding is enough to make its block possible. */
bool hs_encoded_has_strong(const struct hs_encoded *e);

/* Writes a note of an encoding that leads to `n_found` blocks of a group. */
hs_status hs_encoded_note(struct hs_encoded *e, size_t group, hs_addr at, uint64_t n_found,
                          const char *encoding);

/* Keeps the largest tables of what may be 32-bit distances from one address: encoded_tables.c. */
enum { ENCODED_TABLES = 64 };
void hs_encoded_add_to_tables(struct hs_encoded *e, const struct hs_encoded_part *part);

/* Words that one unknown constant makes addresses of lost blocks: encoded_runs.c. */
hs_status hs_encoded_runs_init(struct hs_encoded *e);
void hs_encoded_add_to_runs(struct hs_encoded *e, uint64_t word, hs_addr at);
hs_status hs_encoded_judge_runs(struct hs_encoded *e);
/* Adds a word, and keeps its place, where that is not one of the first, which may be from
 * elsewhere. */
void hs_encoded_run_add(struct hs_encoded_run *run, uint64_t word, hs_addr at);

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
