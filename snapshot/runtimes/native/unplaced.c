/* Tells which variable without a place a word is. */
#include "unplaced.h"

#include "roots.h"
#include "said.h"

enum {
    WORD = 8,
    COUNTS_BYTES = 16, /* of a shared_ptr's counts, before the object in one block with them */
    LEAST_BYTES = 16,  /* of a record that its size and words say anything of */
    SMALL_BYTES = 24,  /* of one whose size says so little that two pointers must lead to blocks */
    LARGE_BYTES = 96,  /* of one of which no pointer need lead to a block */
};

/* A record within a block. */
struct seat {
    const struct hs_heap_block *block;
    uint64_t at, n_bytes;
};

static enum hs_pointer lead_of(const struct hs_native *native, uint64_t word)
{
    struct hs_heap_block block;
    enum hs_pointer how;
    return hs_native_resolve(native, word, &how, &block) ? how : HS_POINTER_NONE;
}

/* Tells whether the words of a record agree with its pointers. */
static bool agrees(const struct hs_native *native, hs_ctype record, const struct seat *seat)
{
    size_t n_slots, slot = 0, n_leading = 0;
    bool is_cut;
    const struct hs_cslot *slots = hs_ctypes_slots(native->ctypes, record, &n_slots, &is_cut);

    for (uint64_t at = 0; at + WORD <= seat->n_bytes; at += WORD) {
        uint64_t word = hs_load_u64(seat->block->bytes + seat->at + at);
        while (slot < n_slots && slots[slot].offset_bytes < at)
            slot++;
        bool is_slot = slot < n_slots && slots[slot].offset_bytes == at;
        enum hs_pointer how = lead_of(native, word);
        if (!is_slot && how == HS_POINTER_START)
            return false;
        if (!is_slot || word == 0 || slots[slot].may_be_pointer_only ||
            hs_cslot_dangles(&slots[slot], word))
            continue;
        if (how == HS_POINTER_NONE && hs_target_mapping_at(&native->dump->target, word) == NULL)
            return false;
        n_leading += how == HS_POINTER_START;
    }
    size_t least = seat->n_bytes < SMALL_BYTES ? 2 : seat->n_bytes < LARGE_BYTES ? 1 : 0;
    return !is_cut && n_leading >= least;
}

/* Tells whether a record fills a block from `at` on, and its words agree. */
static bool sits(const struct hs_native *native, hs_ctype record, const struct hs_heap_block *block,
                 uint64_t at)
{
    struct hs_ctype_facts facts;
    hs_ctype_facts(native->ctypes, record, &facts);
    if (facts.kind != HS_CTYPE_RECORD || facts.n_bytes < LEAST_BYTES || block->bytes == NULL ||
        facts.n_bytes > block->n_bytes || block->n_bytes - facts.n_bytes < at ||
        !hs_said_is_tight(block, at + facts.n_bytes))
        return false;
    const struct seat seat = {block, at, facts.n_bytes};
    return agrees(native, record, &seat);
}

/* Tells whether the word may be the variable, or one of its two words. */
static bool may_be(const struct hs_native *native, const struct hs_local *local, uint64_t word,
                   const struct hs_heap_block *block, uint64_t *ret_offset)
{
    struct hs_ctype_facts facts;
    size_t n = 0;
    bool is_cut, is_start = block->begin == word;

    *ret_offset = 0;
    hs_ctype_facts(native->ctypes, local->type, &facts);
    if (facts.kind == HS_CTYPE_POINTER)
        return is_start && sits(native, facts.of, block, 0);
    if (facts.kind != HS_CTYPE_RECORD || facts.n_bytes > 2 * WORD)
        return false;
    const struct hs_cslot *slots = hs_ctypes_slots(native->ctypes, local->type, &n, &is_cut);
    if (n == 0 || slots[0].offset_bytes != 0 || slots[0].is_weak)
        return false;
    if (is_start && sits(native, slots[0].pointee, block, 0))
        return true;
    if (n != 2 || slots[1].offset_bytes != WORD ||
        (!is_start && word != block->begin + COUNTS_BYTES))
        return false;
    *ret_offset = is_start ? WORD : 0;
    return sits(native, slots[0].pointee, block, COUNTS_BYTES);
}

bool hs_native_unplaced(const struct hs_native *native, struct hs_locals *locals, uint64_t word,
                        struct hs_local *ret, uint64_t *ret_offset)
{
    struct hs_heap_block block;
    enum hs_pointer how;
    size_t n_found = 0, found = 0;

    if (locals->n_unplaced == 0 || !hs_native_resolve(native, word, &how, &block))
        return false;
    for (size_t i = 0; i < locals->n_unplaced; i++) {
        uint64_t offset;
        if (!may_be(native, &locals->unplaced[i], word, &block, &offset))
            continue;
        found = i;
        *ret_offset = offset;
        n_found++;
    }
    if (n_found != 1)
        return false;
    *ret = locals->unplaced[found];
    locals->unplaced[found] = locals->unplaced[--locals->n_unplaced];
    return true;
}
