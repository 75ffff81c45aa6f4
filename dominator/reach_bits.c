#include "reach_bits.h"

#include <assert.h>
#include <string.h>

#include "base/table.h"
#include "condensed_ends.h"
#include "condensed_files.h"
#include "graph/pages.h"

#define BITS_FIRST 512
#define BITS_MAX 4096
#define SETS_MIN 4096                /* a pass may always keep so many, if there is memory */
#define SETS_LEAST 64                /* or else so many */
#define SETS_WANTED ((uint64_t)8192) /* where memory is planned: 13 bits a pass at the worst */

/* Interned sets of queries, a bit for each. Set 0 is the empty one. */
struct bit_sets {
    uint32_t n_words; /* per set */
    uint32_t n_sets, max_sets;
    uint64_t *bits;        /* max_sets * n_words */
    struct hs_sizes *sums; /* credited to each set */
    uint64_t *numbers;     /* of each set */
    uint32_t *slots;       /* open addressing; 0 = free */
    size_t n_slots;        /* a power of two */
    struct hs_budget *budget;
    uint64_t reserved_bytes;
};

/* Returns the bytes of one set: its bits, its sum, and the slots, which are at most 8 per set, and
 * 2 while they grow. */
static uint64_t set_bytes(uint32_t n_words)
{
    return (n_words + 1) * sizeof(uint64_t) + sizeof(struct hs_sizes) + 10 * sizeof(uint32_t);
}

/* Returns the memory of the tables that tell the bits apart, and of the first slots. */
static uint64_t pass_fixed_bytes(uint32_t n_words)
{
    return n_words * (uint64_t)8 * 256 * (sizeof(struct hs_sizes) + sizeof(uint64_t)) +
           SETS_MIN * sizeof(uint32_t);
}

struct bit_pass {
    const struct hs_condensed *condensed; /* its graph reversed, or stored */
    struct hs_spill_reader rows, sizes;   /* of a stored one, while they are read */
    struct root_query *queries;           /* of this pass, descending nodes */
    uint32_t n_queries;
    struct bit_sets sets;
    uint32_t *set_of;  /* by node */
    uint64_t *mixed;   /* the set being made */
    uint64_t *tables;  /* by byte of a set and its value: the number of those queries; NULL where
                          there are no signatures */
    uint64_t n_signed; /* ends that have the pass's numbers in their signatures */
    bool overflowed;
};

/* Hashes a set with a secret: whoever makes a snapshot can choose the sets, but not ones that
 * collide. */
static uint64_t set_hash(const uint64_t *bits, uint32_t n_words)
{
    return hs_hash_bytes(bits, n_words * sizeof *bits);
}

static void sets_fini(struct bit_sets *sets)
{
    hs_pages_free(sets->bits, (size_t)sets->max_sets * sets->n_words, sizeof(uint64_t));
    hs_pages_free(sets->sums, sets->max_sets, sizeof *sets->sums);
    hs_pages_free(sets->numbers, sets->max_sets, sizeof *sets->numbers);
    hs_pages_free(sets->slots, sets->n_slots, sizeof(uint32_t));
    hs_budget_release(sets->budget, sets->reserved_bytes);
    *sets = (struct bit_sets){0};
}

static hs_status sets_init(struct bit_sets *sets, uint32_t n_words, uint32_t max_sets,
                           struct hs_budget *budget, struct hs_error *err)
{
    uint64_t n_bytes = max_sets * set_bytes(n_words) + pass_fixed_bytes(n_words);

    *sets =
        (struct bit_sets){.n_words = n_words, .max_sets = max_sets, .n_sets = 1, .budget = budget};
    HS_TRY(hs_budget_reserve(budget, n_bytes, "telling roots apart", err));
    sets->reserved_bytes = n_bytes;
    HS_TRY(HS_PAGES_ALLOC(&sets->bits, (size_t)max_sets * n_words, err));
    HS_TRY(HS_PAGES_ALLOC(&sets->sums, max_sets, err));
    HS_TRY(HS_PAGES_ALLOC(&sets->numbers, max_sets, err));
    HS_TRY(HS_PAGES_ALLOC(&sets->slots, SETS_MIN, err));
    sets->n_slots = SETS_MIN;
    return HS_OK;
}

static inline const uint64_t *set_bits(const struct bit_sets *sets, uint32_t set)
{
    return sets->bits + (size_t)set * sets->n_words;
}

static void sets_place(const struct bit_sets *sets, uint32_t *slots, size_t n_slots, uint32_t set)
{
    size_t at = set_hash(set_bits(sets, set), sets->n_words) & (n_slots - 1);
    while (slots[at] != 0)
        at = (at + 1) & (n_slots - 1);
    slots[at] = set;
}

static hs_status sets_grow(struct bit_sets *sets, struct hs_error *err)
{
    size_t n_slots = sets->n_slots * 4;
    void *slots;

    HS_TRY(hs_pages_alloc(n_slots, sizeof(uint32_t), &slots, err));
    for (uint32_t set = 1; set < sets->n_sets; set++)
        sets_place(sets, slots, n_slots, set);
    hs_pages_free(sets->slots, sets->n_slots, sizeof(uint32_t));
    sets->slots = slots;
    sets->n_slots = n_slots;
    return HS_OK;
}

/* The number of a set that is not empty; 0 when there is no room for one more. */
static hs_status sets_intern(struct bit_sets *sets, const uint64_t *bits, uint32_t *ret,
                             struct hs_error *err)
{
    size_t n_bytes = sets->n_words * sizeof *bits;
    size_t at = set_hash(bits, sets->n_words) & (sets->n_slots - 1);

    for (; sets->slots[at] != 0; at = (at + 1) & (sets->n_slots - 1)) {
        if (memcmp(set_bits(sets, sets->slots[at]), bits, n_bytes) == 0) {
            *ret = sets->slots[at];
            return HS_OK;
        }
    }
    *ret = 0;
    if (sets->n_sets == sets->max_sets)
        return HS_OK;
    uint32_t set = sets->n_sets++;
    memcpy(sets->bits + (size_t)set * sets->n_words, bits, n_bytes);
    sets->slots[at] = set;
    *ret = set;
    return sets->n_sets * (uint64_t)2 > sets->n_slots ? sets_grow(sets, err) : HS_OK;
}

/* ---- numbers ---- */

static size_t tables_n(const struct bit_sets *sets)
{
    return (size_t)sets->n_words * 8 * 256;
}

/* Makes the tables: each value of a byte is one with a bit less, and that bit. */
static hs_status tables_make(struct bit_pass *pass, struct hs_error *err)
{
    if (pass->condensed->signature == NULL)
        return HS_OK;
    HS_TRY(HS_PAGES_ALLOC(&pass->tables, tables_n(&pass->sets), err));
    for (uint32_t byte = 0; byte < pass->sets.n_words * 8; byte++) {
        uint64_t *table = pass->tables + (size_t)byte * 256;
        for (uint32_t value = 1; value < 256; value++) {
            uint32_t bit = byte * 8 + (uint32_t)__builtin_ctz(value);
            uint64_t number = bit < pass->n_queries ? pass->queries[bit].number : 0;
            table[value] = table[value & (value - 1)] ^ number;
        }
    }
    return HS_OK;
}

static void set_number(struct bit_pass *pass, uint32_t set)
{
    const uint64_t *bits = set_bits(&pass->sets, set);
    uint64_t number = 0;

    for (uint32_t i = 0; i < pass->sets.n_words; i++)
        for (uint32_t byte = 0; byte < 8 && bits[i] >> (byte * 8) != 0; byte++)
            number ^= pass->tables[((size_t)i * 8 + byte) * 256 + (bits[i] >> (byte * 8) & 0xff)];
    pass->sets.numbers[set] = number;
}

/* Signs the nodes, once the pass has come to its end. */
static void nodes_sign(struct bit_pass *pass)
{
    for (uint32_t node = 0; node <= pass->queries[0].node; node++)
        pass->condensed->signature[node] ^= pass->sets.numbers[pass->set_of[node]];
}

/* ---- one pass ---- */

static void mixed_add(struct bit_pass *pass, uint32_t set)
{
    const uint64_t *bits = set_bits(&pass->sets, set);
    for (uint32_t i = 0; i < pass->sets.n_words; i++)
        pass->mixed[i] |= bits[i];
}

/* The bits that arrive at a node or an end from above: a set when all arrivals agree, otherwise
 * their union is in `mixed`. */
struct arrivals {
    uint32_t first, last;
    bool is_mixed;
};

static inline void arrivals_add(struct bit_pass *pass, struct arrivals *arrivals, uint32_t from)
{
    uint32_t set = pass->set_of[from];

    if (set == arrivals->last || set == 0 || set == arrivals->first)
        return;
    arrivals->last = set;
    if (arrivals->first == 0) {
        arrivals->first = set;
        return;
    }
    if (!arrivals->is_mixed)
        memcpy(pass->mixed, set_bits(&pass->sets, arrivals->first),
               pass->sets.n_words * sizeof(uint64_t));
    arrivals->is_mixed = true;
    mixed_add(pass, set);
}

/* The set that has arrived; 0 when there is none, or when there is no room for it. */
static hs_status arrivals_set(struct bit_pass *pass, const struct arrivals *arrivals, uint32_t *ret,
                              struct hs_error *err)
{
    *ret = arrivals->first;
    if (!arrivals->is_mixed)
        return HS_OK;
    uint32_t n_sets = pass->sets.n_sets;
    HS_TRY(sets_intern(&pass->sets, pass->mixed, ret, err));
    pass->overflowed = *ret == 0;
    if (pass->tables != NULL && pass->sets.n_sets != n_sets)
        set_number(pass, *ret);
    return HS_OK;
}

static hs_status set_credit(struct bit_pass *pass, uint32_t set, uint64_t at, struct hs_error *err)
{
    struct hs_sizes sizes;

    if (pass->condensed->is_stored) {
        HS_TRY(condensed_files_next(&pass->sizes, &sizes, err));
        if (set != 0)
            hs_sizes_add(&pass->sets.sums[set], &sizes);
    } else if (set != 0) {
        hs_unit_sizes_sum(&pass->condensed->sizes, at, &pass->sets.sums[set]);
    }
    return HS_OK;
}

/* Adds the bit of a query's own node. */
static void arrivals_add_bit(struct bit_pass *pass, struct arrivals *arrivals, uint32_t bit)
{
    size_t n_bytes = pass->sets.n_words * sizeof(uint64_t);
    if (!arrivals->is_mixed) /* set 0 has no bits */
        memcpy(pass->mixed, set_bits(&pass->sets, arrivals->first), n_bytes);
    pass->mixed[bit / 64] |= (uint64_t)1 << (bit % 64);
    arrivals->is_mixed = true;
}

/* Adds the row of a stored graph before the one that was read last. */
static hs_status stored_row_add(struct bit_pass *pass, struct arrivals *arrivals,
                                struct hs_error *err)
{
    uint64_t from;

    while (!hs_spill_at_end(&pass->rows)) {
        HS_TRY(hs_spill_get_fixed_back(&pass->rows, sizeof(uint32_t), &from, err));
        if (from == HS_NONE)
            break;
        arrivals_add(pass, arrivals, (uint32_t)from);
    }
    return HS_OK;
}

static hs_status row_add(struct bit_pass *pass, uint32_t node, struct arrivals *arrivals,
                         struct hs_error *err)
{
    const struct hs_graph *reverse = &pass->condensed->graph;

    if (pass->condensed->is_stored)
        return stored_row_add(pass, arrivals, err);
    for (uint32_t e = reverse->begin[node]; e < reverse->begin[node + 1]; e++)
        arrivals_add(pass, arrivals, reverse->target[e]);
    return HS_OK;
}

/* Sweeps from the node `end` down. */
static hs_status nodes_sweep(struct bit_pass *pass, uint32_t end, struct hs_error *err)
{
    uint32_t bit = 0;

    for (uint32_t node = end; node-- > 0 && !pass->overflowed;) {
        struct arrivals arrivals = {0};
        HS_TRY(row_add(pass, node, &arrivals, err));
        if (bit < pass->n_queries && pass->queries[bit].node == node)
            arrivals_add_bit(pass, &arrivals, bit++);
        HS_TRY(arrivals_set(pass, &arrivals, &pass->set_of[node], err));
        HS_TRY(set_credit(pass, pass->set_of[node], node, err));
    }
    assert(bit == pass->n_queries || pass->overflowed);
    return HS_OK;
}

/* Files are read from their ends on, whichever node the first query is of. */
static hs_status stored_sweep(struct bit_pass *pass, struct hs_error *err)
{
    const struct hs_spill *rows = &pass->condensed->files.rows;
    uint64_t last;

    HS_TRY(hs_spill_read(rows, 0, rows->n_bytes, &pass->rows, err));
    HS_TRY(condensed_files_sizes(pass->condensed, true, false, &pass->sizes, err));
    HS_TRY(hs_spill_get_fixed_back(&pass->rows, sizeof(uint32_t), &last, err));
    assert(last == HS_NONE);
    return nodes_sweep(pass, pass->condensed->n_nodes, err);
}

static hs_status pass_sweep(struct bit_pass *pass, struct hs_error *err)
{
    memset(pass->set_of, 0, (size_t)pass->condensed->n_nodes * sizeof(uint32_t));
    if (!pass->condensed->is_stored)
        return nodes_sweep(pass, pass->queries[0].node + 1, err);
    hs_status status = stored_sweep(pass, err);
    hs_spill_reader_close(&pass->rows);
    hs_spill_reader_close(&pass->sizes);
    return status;
}

static void end_sign(struct bit_pass *pass, uint32_t set, uint64_t at)
{
    if (pass->tables == NULL)
        return;
    pass->condensed->signature[at] ^= pass->sets.numbers[set];
    pass->n_signed++;
}

/* Sweeps at most so many ends. */
static hs_status ends_sweep(struct bit_pass *pass, uint64_t most, struct ends_reader *reader,
                            struct hs_error *err)
{
    for (uint64_t n = 0; n < most; n++) {
        struct arrivals arrivals = {0};
        uint32_t end, node, set;
        bool more;
        HS_TRY(condensed_ends_next(reader, &end, &more, err));
        if (!more)
            return HS_OK;
        for (;;) {
            HS_TRY(condensed_ends_node(reader, &node, err));
            if (node == HS_NONE)
                break;
            arrivals_add(pass, &arrivals, node);
        }
        HS_TRY(arrivals_set(pass, &arrivals, &set, err));
        if (pass->overflowed)
            return HS_OK;
        HS_TRY(set_credit(pass, set, (uint64_t)pass->condensed->n_nodes + end, err));
        end_sign(pass, set, (uint64_t)pass->condensed->n_nodes + end);
    }
    return HS_OK;
}

static hs_status pass_ends(struct bit_pass *pass, uint64_t most, struct hs_error *err)
{
    struct ends_reader reader;

    hs_status status = condensed_ends_open(pass->condensed, &reader, err);
    if (status == HS_OK)
        status = condensed_files_sizes(pass->condensed, false, true, &pass->sizes, err);
    if (status == HS_OK)
        status = ends_sweep(pass, most, &reader, err);
    hs_spill_reader_close(&pass->sizes);
    condensed_ends_close(&reader);
    return status;
}

/* Takes back what a pass that is done again has added to the signatures of ends: the same once
 * more. All sets that these get are there. */
static hs_status pass_unsign(struct bit_pass *pass, struct hs_error *err)
{
    uint64_t n_signed = pass->n_signed;

    if (n_signed == 0)
        return HS_OK;
    pass->overflowed = false;
    HS_TRY(pass_ends(pass, n_signed, err));
    assert(!pass->overflowed);
    pass->overflowed = true;
    return HS_OK;
}

/* Distributes the sums of sets over the bits in them, by way of one table per byte of a set. */
static hs_status pass_answer(struct bit_pass *pass, struct hs_error *err)
{
    const struct bit_sets *sets = &pass->sets;
    uint32_t n_bytes = sets->n_words * 8;
    struct hs_sizes *tables;
    HS_TRY(HS_PAGES_ALLOC(&tables, (size_t)n_bytes * 256, err));
    for (uint32_t set = 1; set < sets->n_sets; set++) {
        for (uint32_t byte = 0; byte < n_bytes; byte++) {
            unsigned value = set_bits(sets, set)[byte / 8] >> (byte % 8 * 8) & 0xff;
            if (value != 0)
                hs_sizes_add(&tables[byte * 256 + value], &sets->sums[set]);
        }
    }
    for (uint32_t bit = 0; bit < pass->n_queries; bit++) {
        struct hs_sizes *answer = &pass->queries[bit].sizes;
        *answer = (struct hs_sizes){0};
        for (unsigned value = 1; value < 256; value++)
            if (value >> (bit % 8) & 1)
                hs_sizes_add(answer, &tables[bit / 8 * 256 + value]);
    }
    hs_pages_free(tables, (size_t)n_bytes * 256, sizeof(struct hs_sizes));
    return HS_OK;
}

static hs_status pass_steps(struct bit_pass *pass, struct hs_error *err)
{
    HS_TRY(tables_make(pass, err));
    HS_TRY(pass_sweep(pass, err));
    if (!pass->overflowed)
        HS_TRY(pass_ends(pass, UINT64_MAX, err));
    if (pass->overflowed)
        return pass_unsign(pass, err);
    if (pass->tables != NULL)
        nodes_sign(pass);
    return pass_answer(pass, err);
}

static hs_status pass_run(struct bit_pass *pass, uint32_t width, uint32_t max_sets,
                          struct hs_error *err)
{
    uint64_t mixed[BITS_MAX / 64] = {0};

    assert(width % 64 == 0 && width <= BITS_MAX && pass->n_queries <= width);
    pass->mixed = mixed;
    pass->overflowed = false;
    pass->n_signed = 0;
    hs_status status = sets_init(&pass->sets, width / 64, max_sets, pass->condensed->budget, err);
    if (status == HS_OK)
        status = pass_steps(pass, err);
    hs_pages_free(HS_STEAL(pass->tables), tables_n(&pass->sets), sizeof(uint64_t));
    return status;
}

/* ---- all passes ---- */

/* Returns the number of sets that a pass of this width may keep. One of 64 bits and less may keep
 * all that there can be, where memory is not short. */
static uint64_t pass_max_sets(const struct bit_pass *pass, uint32_t width, uint64_t limit)
{
    uint64_t n_nodes = hs_condensed_places(pass->condensed);
    uint64_t most = width <= 64 || limit > n_nodes + 2 ? n_nodes + 2 : limit;
    uint32_t n_words = (width + 63) / 64;
    uint64_t left = hs_budget_left_bytes(pass->condensed->budget);
    uint64_t fixed = pass_fixed_bytes(n_words);
    uint64_t room = left > fixed ? (left - fixed) / set_bytes(n_words) : 0;

    return room >= most ? most : room < SETS_LEAST ? SETS_LEAST : room;
}

uint64_t reach_bits_bytes(void)
{
    return SETS_WANTED * set_bytes(1) + pass_fixed_bytes(1);
}

static uint32_t width_halve(uint32_t width)
{
    assert(width > 1);
    return width > 64 ? width / 128 * 64 : width / 2;
}

static bool pass_has_room(const struct bit_pass *pass, uint32_t width)
{
    uint64_t n_bytes = SETS_LEAST * set_bytes(width / 64) + pass_fixed_bytes(width / 64);
    return n_bytes <= hs_budget_left_bytes(pass->condensed->budget);
}

static hs_status passes_loop(struct bit_pass *pass, struct root_query *queries, uint32_t n_queries,
                             const struct reach_bits_options *options, struct hs_error *err)
{
    uint64_t n_nodes = hs_condensed_places(pass->condensed);
    uint64_t limit = options->max_sets != 0 ? options->max_sets : SETS_MIN + n_nodes / 2;
    uint32_t width = options->first_bits != 0 ? options->first_bits : BITS_FIRST;

    for (uint32_t done = 0; done < n_queries;) {
        while (width > 64 && !pass_has_room(pass, width))
            width = width_halve(width);
        uint32_t n = n_queries - done < width ? n_queries - done : width;
        HS_TRY(hs_progress_tell(options->progress, "adding up what roots reach", done, n_queries,
                                err));
        pass->queries = queries + done;
        pass->n_queries = n;
        uint64_t max_sets = pass_max_sets(pass, width, limit);
        hs_status status = pass_run(pass, (width + 63) / 64 * 64, (uint32_t)max_sets, err);
        uint32_t n_sets = pass->sets.n_sets;
        sets_fini(&pass->sets);
        if (status != HS_OK)
            return status;
        if (pass->overflowed) {
            width = width_halve(width);
            continue;
        }
        done += n;
        if (n_sets < (max_sets < limit ? max_sets : limit) / 64 && width <= BITS_MAX / 2)
            width *= 2;
    }
    return HS_OK;
}

hs_status reach_bits_run(const struct hs_condensed *condensed, struct root_query *queries,
                         uint32_t n_queries, const struct reach_bits_options *options,
                         struct hs_error *err)
{
    struct bit_pass pass = {.condensed = condensed};
    uint64_t n = condensed->n_nodes;
    uint64_t n_bytes = n * sizeof(uint32_t);
    void *memory;

    if (n_queries == 0)
        return HS_OK;
    HS_TRY(hs_budget_reserve(condensed->budget, n_bytes, "telling roots apart", err));
    hs_status status = hs_dense_pages(n, sizeof(uint32_t), &memory, err);
    if (status == HS_OK) {
        pass.set_of = memory;
        status = passes_loop(&pass, queries, n_queries, options, err);
    }
    hs_pages_free(pass.set_of, n, sizeof(uint32_t));
    hs_budget_release(condensed->budget, n_bytes);
    return status;
}
