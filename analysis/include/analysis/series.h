/* A comparison of snapshots: the key tables of two or more snapshots, in the order of time, side by
 * side.
 *
 * Rows are matched by their names alone, never by addresses or numbers: keys step by step from the
 * root down, all else within its list. Of each there is the series of its words and objects; of
 * keys a score, in words a step:
 *
 *     steps   s1 .. s(n-1), the differences; m their mean; q the smallest and M the largest, or,
 *             of more than ten, those at the 10th and the 90th percentile; h = (n-1) / 2, at least
 *             1; r = mean of the last h steps / mean of the first h, at most 1
 *     score   q * (q / m)^2 * (q / M) * r^2;  0 for q <= 0
 *
 * Noise rises at each of the n-1 steps in one of n! series, and then at least as evenly as q/m in
 * (1 - q/m)^(n-2) of these (the gaps between n random numbers). So among k keys that move up and
 * down
 *
 *     chance  k (1 - q/m)^(n-2) / n!
 *
 * of them are expected to look like a growth that is none. What looks better than that comes first.
 *
 * So what grows evenly counts more than what grew once, and what slows down less. Steps are taken
 * between snapshots and, where all times are known, also by the time between them: the larger of
 * the two scores counts. A type that is known in one snapshot and not in another is one row: what
 * came under one name as it went under the other did not grow. With two snapshots the score is
 * their difference, and nothing tells a leak from a load. */
#ifndef HS_ANALYSIS_SERIES_H
#define HS_ANALYSIS_SERIES_H

#include "analysis/key_file.h"

/* The verdict about the series as a whole. */
enum hs_growth {
    HS_GROWTH_NONE,   /* no key grew at every step */
    HS_GROWTH_TWO,    /* two snapshots: something grew, and no more can be said */
    HS_GROWTH_UNSURE, /* something grew at every step: unevenly, tiring, little, or in three */
    HS_GROWTH_STEADY, /* something grew evenly, at every one of at least three steps */
    HS_N_GROWTHS
};
/* Returns "none", "two", "unsure" or "steady"; NULL out of range. */
const char *hs_growth_name(unsigned growth);

/* The bounds below which a growth is not called steady: the smallest step to the mean one, the last
 * steps to the first, and the mean step to the heap. */
#define HS_GROWTH_LEAST_EVEN 0.33
#define HS_GROWTH_LEAST_LASTING 0.6
#define HS_GROWTH_LEAST_SHARE 1e-4
/* The bound above which it is not: so many series of noise would look like it. */
#define HS_GROWTH_MOST_CHANCE 0.05
/* The share of the heap that its mean step must be for the heap to be said to grow by itself. */
#define HS_GROWTH_LEAST_HEAP 1e-3
/* The share of a key's score and growth that one below it must keep to be the answer in its
 * place. */
#define HS_GROWTH_FOLLOW 0.7

struct hs_series_score {
    double score;   /* words a step; 0: not at every step */
    double even;    /* the smallest step to the mean one, 0..1 */
    double lasting; /* mean of the last steps to that of the first; 1 when that is not known */
    double chance;  /* of keys with a score: how many that only move would look like it; else 0 */
    uint32_t n_up;  /* steps upwards */
};

struct hs_series_row {
    uint8_t list;    /* enum hs_key_list, sites excluded */
    uint8_t form;    /* as of struct hs_key_row */
    uint32_t parent; /* of keys a smaller row; HS_NO_KEY */
    hs_str name;
    uint64_t each_words; /* of leaks; else 0 */
    struct hs_series_score score;
    bool grows_itself;     /* of keys: its own blocks have a score, too */
    double growth_words;   /* the last less the first */
    double words_per_hour; /* NAN when times are not known */
    unsigned rank;         /* of keys: how much the type's name tells (type_rank.h); else 0 */
    double held_growth;    /* of leaks: the last less the first of all that hangs on them */
};

struct hs_series_site {
    hs_str name;
    uint64_t words, samples; /* estimated, in the newest snapshot that has samples */
};

struct hs_series {
    size_t n;                   /* snapshots */
    uint64_t *taken_ns;         /* owned: of each; 0: unknown */
    struct hs_series_row *rows; /* owned: list by list, a key behind its parent */
    size_t n_rows, rows_capacity;
    /* Owned pages: of each row n. Of keys `words` with those below, `own_words` without. */
    uint64_t *words, *own_words, *objects;
    struct hs_strtab names;
    uint64_t heap_words;                           /* of the last */
    uint64_t resident_bytes, first_resident_bytes; /* of the last, of the first; 0: unknown */
    uint64_t room_bytes; /* what was still available beside it; 0: unknown */
    unsigned word_bytes;
    /* The row of what a collector will free, which is never among what is found: it comes and goes.
     * HS_NO_KEY: there is none, or what no root reaches is lost. */
    uint32_t garbage;

    enum hs_growth growth;
    /* The heap grew steadily, and of that what is found has less than half, but types that grew as
     * steadily half and more: blocks hang on other keys from snapshot to snapshot, as where the
     * objects of a runtime all hold each other. */
    bool heap_grows;
    /* Owned: keys that grew, best first, each the deepest that keeps most of its parents' score,
     * none below another. Only keys count of which blocks of their own grow: what merely leads to
     * several that do is their sum. Where none does, all count but the whole heap. */
    uint32_t *found;
    size_t n_found, found_capacity;
    /* The row of the population that the first found stands for, by whose number a reader knows
     * what grew: of its way, and what hangs on that, the class whose number grew; of what is lost
     * the row of leaks on which most hangs that came. HS_NO_KEY: its types tell nothing. */
    uint32_t population;
    struct hs_series_site sites[3]; /* that allocate the first found; largest first */
    size_t n_sites;

    struct hs_budget *budget; /* borrowed */
    uint64_t reserved_bytes;
};

/* Compares `tables`, which are n >= 2, borrowed for the call, in the order of time, of one word
 * size. O(rows * n); 24 bytes a row and table, of the budget (NULL: no limit): HS_LIMIT. */
hs_status hs_series_find(const struct hs_snap_keys *const *tables, size_t n,
                         struct hs_budget *budget, struct hs_series *ret, struct hs_error *err);
void hs_series_fini(struct hs_series *series);

static inline const uint64_t *hs_series_words(const struct hs_series *series, size_t row)
{
    return series->words + row * series->n;
}
static inline const uint64_t *hs_series_objects(const struct hs_series *series, size_t row)
{
    return series->objects + row * series->n;
}

/* Tells whether a key's type is a record or a class, of the program or of one of its libraries that
 * we have no list of. */
bool hs_series_is_record(const struct hs_series *series, uint32_t row);

/* Counts the blocks of a row's own in snapshot t, of keys without those below. O(rows). */
uint64_t hs_series_own_objects(const struct hs_series *series, uint32_t row, size_t t);

/* Finds, among the types that grew at every step, the `most` that grew most, largest first. Returns
 * how many. */
size_t hs_series_types(const struct hs_series *series, uint32_t *types, size_t most);

/* Tells whether a key is a collector's garbage, or a type of it. */
bool hs_series_is_garbage(const struct hs_series *series, uint32_t key);

/* Writes the name of a row, cut at n bytes: of a key "server.sessions > struct session > char[]",
 * "" of all; of leaks the type alone. */
void hs_series_text(const struct hs_series *series, uint32_t row, char *text, size_t n);

/* Computes the score of n >= 2 values; of times (NULL, or n, ascending) only the differences
 * count. */
struct hs_series_score hs_series_score(const uint64_t *values, const uint64_t *times_ns, size_t n);

/* The bounds of rates: snapshots nearer to each other say nothing of an hour, and of no more than
 * so many times as long as they are apart. */
#define HS_SERIES_LEAST_RATE_NS ((uint64_t)360 * 1000000000)
#define HS_SERIES_MOST_SPANS 100

/* Returns the words an hour that a row grows by: NAN where times are not known, or too near to
 * tell. */
double hs_series_rate(const struct hs_series *series, uint32_t row);

/* Returns the hours until what was available is taken; where that is not known, *ret_doubles, until
 * as much is added as was resident. The process grows as it did from the first snapshot to the
 * last, or, where that is not known, by so many words an hour. NAN when nothing is known, when it
 * does not grow, or so little that nothing is to be said of then. */
double hs_series_hours_left(const struct hs_series *series, double words_per_hour,
                            bool *ret_doubles);

#endif
