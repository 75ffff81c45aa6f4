/* Addresses under one constant that stands in no data (an operand of an instruction, or computed):
 * by exclusive or, by addition, or subtracted from it. The constant is not known, but all words of
 * such a table have one upper half and the same last bits, and one constant makes addresses of lost
 * blocks of all of them. */
#include "base/alloc.h"
#include "encoded_search.h"

enum {
    SLOTS_BITS = 10,
    VOTES_SHIFT = 60, /* above a key of 36 bits */
    ALIGNED_BITS = 4, /* blocks begin at multiples of 16 */
    RUNS = 32,        /* at most */
    PAGE = 4096,
    MET_MOST = 1 << 12,
    TRIES = 1 << 22,
    TRIES_LEAST = 1 << 12,
    FEW_ANCHORS = 2,
    ANCHORS = 16,
    MANY = 64,
    SURE_BITS = 40, /* chance is less than 2^-40 for each constant that is tried, and less of all */
    MISSES = 2,     /* and one in four */
    QUARTERS = 4,
    TENTH = 10,
    ENDS = 2, /* of a run: its least and its most word, again */
};
static_assert(ENCODED_RUN_LEAST >= 2 * QUARTERS);

/* The ways in which a constant hides an address. */
enum hidden_by { BY_XOR, BY_ADDITION, BY_SUBTRACTION, N_HIDDEN_BY };

static uint64_t constant_of(enum hidden_by by, uint64_t word, hs_addr address)
{
    return by == BY_XOR ? word ^ address : by == BY_ADDITION ? word - address : word + address;
}

static hs_addr address_of(enum hidden_by by, uint64_t word, uint64_t constant)
{
    return by == BY_XOR ? word ^ constant : by == BY_ADDITION ? word - constant : constant - word;
}

/* ---- words with one upper half */

hs_status hs_encoded_runs_init(struct hs_encoded *e)
{
    HS_TRY(HS_ALLOC(&e->run_keys, (size_t)1 << SLOTS_BITS, e->err));
    HS_TRY(HS_ALLOC(&e->run_slots, (size_t)1 << SLOTS_BITS, e->err));
    HS_TRY(HS_ALLOC(&e->tables, ENCODED_TABLES + 1, e->err)); /* and room for another one */
    return HS_ALLOC(&e->runs, RUNS, e->err);
}

static bool has_word(const uint64_t *words, size_t n, uint64_t word)
{
    for (size_t i = 0; i < n; i++)
        if (words[i] == word)
            return true;
    return false;
}

void hs_encoded_run_add(struct hs_encoded_run *run, uint64_t word, hs_addr at)
{
    run->at = run->n < 2 * ENCODED_RUN_LEAST ? at : run->at;
    run->least = word < run->least ? word : run->least;
    run->most = word > run->most ? word : run->most;
    if (run->n_met++ < MET_MOST && run->n < ENCODED_RUN_WORDS &&
        !has_word(run->words, run->n, word))
        run->words[run->n++] = word;
}

/* Returns the run of a key, which begins with what its slot has; NULL: the words are addresses, or
 * there are too many runs. */
static struct hs_encoded_run *run_of(struct hs_encoded *e, uint64_t key,
                                     const struct hs_encoded_slot *slot, hs_addr at)
{
    const struct hs_target *target = &e->scan->native->dump->target;

    for (size_t i = 0; i < e->n_runs; i++)
        if (e->runs[i].key == key)
            return &e->runs[i];
    if (e->n_runs == RUNS || (hs_target_mapping_at(target, slot->words[0]) != NULL &&
                              hs_target_mapping_at(target, slot->words[slot->n - 1]) != NULL))
        return NULL;
    struct hs_encoded_run *run = &e->runs[e->n_runs++];
    run->key = key;
    run->least = run->most = slot->words[0];
    for (size_t i = 0; i < slot->n; i++)
        hs_encoded_run_add(run, slot->words[i], at);
    return run;
}

/* Tells whether the slot is this key's, or becomes it. Words that come but once do not end a run:
 * each word of another key takes a vote from the one that has the slot. */
static bool has_slot(struct hs_encoded *e, size_t i, uint64_t key)
{
    uint64_t *of_slot = &e->run_keys[i];
    uint64_t n_votes = *of_slot >> VOTES_SHIFT;

    if (*of_slot << (64 - VOTES_SHIFT) >> (64 - VOTES_SHIFT) == key) {
        *of_slot += n_votes < ENCODED_RUN_LEAST ? UINT64_C(1) << VOTES_SHIFT : 0;
        return true;
    }
    if (n_votes > 1) {
        *of_slot -= UINT64_C(1) << VOTES_SHIFT;
        return false;
    }
    *of_slot = key | UINT64_C(1) << VOTES_SHIFT;
    e->run_slots[i] = (struct hs_encoded_slot){0};
    return true;
}

void hs_encoded_add_to_runs(struct hs_encoded *e, uint64_t word, hs_addr at)
{
    const uint64_t last_bits = word & ((UINT64_C(1) << ALIGNED_BITS) - 1);
    const uint64_t key = word >> 32 << ALIGNED_BITS | last_bits;
    const size_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SLOTS_BITS);

    if (!has_slot(e, i, key))
        return;
    struct hs_encoded_slot *slot = &e->run_slots[i];
    if (slot->n < ENCODED_RUN_LEAST) {
        if (!has_word(slot->words, slot->n, word))
            slot->words[slot->n++] = word;
        if (slot->n < ENCODED_RUN_LEAST)
            return;
        struct hs_encoded_run *run = run_of(e, key, slot, at);
        slot->run = run == NULL ? 0 : (uint32_t)(run - e->runs) + 1;
    } else if (slot->run != 0) {
        hs_encoded_run_add(&e->runs[slot->run - 1], word, at);
    }
}

/* ---- what hides them */

/* The tries of one run. */
struct tries {
    struct hs_encoded_run *run;
    enum hidden_by by;
    bool is_table; /* of distances: by addition alone */
    uint64_t step; /* of so many lost blocks one is tried */
    size_t n_anchors;
    size_t n_best;
    uint64_t best; /* the constant that makes most words addresses of lost blocks */
};

static bool is_lost_at(const struct hs_encoded *e, hs_addr address, struct hs_heap_block *ret)
{
    return hs_encoded_may_be_lost(e, address) &&
           hs_heap_map_resolve(e->map, address, ret) == HS_POINTER_START &&
           hs_scan_is_lost(e->scan, ret);
}

/* Counts the words that a constant makes addresses of lost blocks; 0 when too few are. From the
 * middle on: a run may begin with words from elsewhere. */
static size_t count_hits(struct hs_encoded *e, const struct tries *t, uint64_t constant)
{
    const struct hs_encoded_run *run = t->run;
    struct hs_heap_block block;
    size_t n_misses = 0;

    for (size_t i = 0; i < run->n; i++) {
        e->n_tries++;
        n_misses += !is_lost_at(
            e, address_of(t->by, run->words[(i + run->n / 2) % run->n], constant), &block);
        if (n_misses > MISSES + i / QUARTERS)
            return 0;
    }
    return run->n - n_misses;
}

static void try_block(struct hs_encoded *e, struct tries *t, hs_addr address)
{
    for (size_t i = 0; i < t->n_anchors; i++) {
        uint64_t word = t->run->words[(i + 1) * t->run->n / (t->n_anchors + 1)];
        uint64_t constant = constant_of(t->by, word, address);
        size_t n = constant == 0 ? 0 : count_hits(e, t, constant);
        if (n > t->n_best) {
            t->n_best = n;
            t->best = constant;
        }
    }
}

/* Returns four times the bits that one hit tells: by how much of the pages in which lost blocks
 * begin these do, of the places that are multiples of 2^aligned_bits. */
static uint64_t quarter_bits(const struct hs_encoded *e, uint64_t n_lost, unsigned aligned_bits)
{
    uint64_t n_pages = 0;

    for (size_t i = 0; i < (size_t)1 << (ENCODED_PAGE_BITS - 6); i++)
        n_pages += (unsigned)__builtin_popcountll(e->pages[i]);
    /* in sixteenths, 4096 at most */
    uint64_t ratio = (n_pages * PAGE * 16 >> aligned_bits) / n_lost;
    ratio = ratio > 4096 ? 4096 : ratio;
    uint64_t power = ratio * ratio * ratio * ratio >> 16;
    return power == 0 ? 0 : 63 - (unsigned)__builtin_clzll(power);
}

/* Returns the last bits in which all words agree. */
static unsigned common_bits(const struct hs_encoded_run *run)
{
    uint64_t differ = 0;

    for (size_t i = 0; i < run->n; i++)
        differ |= run->words[i] ^ run->words[0];
    return differ == 0 ? 63 : (unsigned)__builtin_ctzll(differ);
}

static uint64_t n_words(const struct hs_encoded_run *run)
{
    return run->n - ENDS == ENCODED_RUN_WORDS ? run->n_met : run->n - ENDS;
}

/* Tells whether the best constant is no chance. Words that agree in their last bits as lost blocks
 * do that lie in a row would all lead to some of these: then they must be many, and all of them
 * lead to some. */
static bool is_believed(const struct hs_encoded *e, const struct tries *t, uint64_t n_lost)
{
    const size_t n_misses = t->run->n - t->n_best;
    if (n_lost == 0 || t->n_best <= 2 * n_misses + 1)
        return false;
    const uint64_t n = t->n_best - 2 * n_misses - 1, least = SURE_BITS * QUARTERS;
    return n * quarter_bits(e, n_lost, ALIGNED_BITS) >= least &&
           (n * quarter_bits(e, n_lost, common_bits(t->run)) >= least ||
            (n_misses == 0 && n >= MANY && n_words(t->run) * QUARTERS >= n_lost));
}

/* Marks the groups of what the best constant leads to, and notes it for the largest. */
static hs_status believe(struct hs_encoded *e, const struct tries *t)
{
    const struct hs_encoded_run *run = t->run;
    const size_t n_of_run = run->n - ENDS;
    hs_auto_free uint64_t *n_found = NULL;
    struct hs_heap_block block;

    HS_TRY(HS_ALLOC(&n_found, e->n_groups, e->err));
    for (size_t i = 0; i < n_of_run; i++)
        if (is_lost_at(e, address_of(t->by, run->words[i], t->best), &block)) {
            n_found[hs_encoded_group_of(e, &block)]++;
            HS_TRY(hs_scan_mark_unsure(e->scan, &block, e->err));
        }
    for (size_t g = 0; g < e->n_groups; g++) {
        struct hs_encoded_group *group = &e->groups[g];
        uint64_t n_of = group->n_heads != 0 ? group->n_heads : group->n_lost;
        uint64_t n = n_found[g] * n_words(run) / n_of_run;
        if (n_found[g] == 0 || group->is_possible)
            continue;
        group->is_possible = n * TENTH >= n_of;
        HS_TRY(hs_encoded_note(e, g, run->at, n < group->n_lost ? n : group->n_lost,
                               t->is_table       ? "32-bit distances from one address"
                               : t->by == BY_XOR ? "exclusive or of addresses and a constant"
                                                 : "addresses added to or subtracted from a "
                                                   "constant"));
    }
    return HS_OK;
}

static void try_run(struct hs_encoded *e, struct tries *t)
{
    struct hs_heap_iterator it = {.map = e->map};
    struct hs_heap_block block;

    for (uint64_t i = 0;
         t->n_best < t->run->n && !hs_encoded_is_cut(e) && hs_scan_next_lost(e->scan, &it, &block);
         i++)
        if (i % t->step == 0)
            try_block(e, t, block.begin);
}

/* Believes of the three ways the one that makes most words addresses: where none of the sums has a
 * carry, most are exclusive or as well. */
static hs_status judge_run(struct hs_encoded *e, struct tries *t, uint64_t n_lost)
{
    const enum hidden_by end = t->is_table ? BY_ADDITION + 1 : N_HIDDEN_BY;
    struct tries best = {.run = t->run};

    for (; t->by < end && best.n_best < t->run->n; t->by++) {
        t->n_best = 0;
        try_run(e, t);
        best = t->n_best > best.n_best ? *t : best;
    }
    return is_believed(e, &best, n_lost) ? believe(e, &best) : HS_OK;
}

/* Judges runs, or tables of distances; for each way of hiding as many blocks are tried as there is
 * time for. */
static hs_status judge_each(struct hs_encoded *e, struct hs_encoded_run *runs, size_t n,
                            bool are_tables, uint64_t n_lost)
{
    const unsigned n_ways = are_tables ? 1 : N_HIDDEN_BY;

    for (size_t i = 0; i < n; i++) {
        struct hs_encoded_run *run = &runs[i];
        uint64_t n_most = TRIES / (n * n_ways);
        n_most = n_most < TRIES_LEAST ? TRIES_LEAST : n_most;
        struct tries tries = {.run = run,
                              .by = are_tables ? BY_ADDITION : BY_XOR,
                              .is_table = are_tables,
                              .step = 1,
                              .n_anchors = FEW_ANCHORS};
        run->words[run->n++] = run->least; /* where the table ends, others of its kind do not fit */
        run->words[run->n++] = run->most;
        if (n_lost * FEW_ANCHORS >
            n_most) { /* of fewer blocks, but as the addresses of several words */
            tries.n_anchors = ANCHORS;
            tries.step = (n_lost * ANCHORS + n_most - 1) / n_most;
        }
        HS_TRY(judge_run(e, &tries, n_lost));
    }
    return HS_OK;
}

hs_status hs_encoded_judge_runs(struct hs_encoded *e)
{
    uint64_t n_lost = 0;

    for (size_t g = 0; g < e->n_groups; g++)
        n_lost += e->groups[g].n_lost;
    HS_TRY(judge_each(e, e->runs, e->n_runs, false, n_lost));
    return judge_each(e, e->tables, e->n_tables, true, n_lost);
}
