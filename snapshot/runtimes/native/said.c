#include "said.h"

#include "agree.h"
#include "base/bisect.h"
#include "base/load.h"
#include "borrowed.h"
#include "ends.h"
#include "flow.h"
#include "pairs.h"
#include "said.h"
#include "unwritten.h"

/* The bytes that all allocators round to. */
enum { ROUNDED_BYTES = 16, WIDE_ONE_IN = 8, WORD = 8, LEAST_ALIKE = 16 };

bool hs_said_is_tight(const struct hs_heap_block *block, uint64_t n)
{
    return block->n_bytes - n < ROUNDED_BYTES ||
           (block->span->owner < HS_N_ALLOCATORS &&
            hs_allocators[block->span->owner]->may_round != NULL &&
            hs_allocators[block->span->owner]->may_round(block, n));
}

const struct hs_cslot *hs_said_slot(const struct hs_native_type *type, uint64_t offset)
{
    size_t low = HS_FIRST_FROM(type->slots, type->n_slots, offset_bytes, offset);

    return low < type->n_slots && type->slots[low].offset_bytes == offset ? &type->slots[low]
                                                                          : NULL;
}

/* Tells whether what lies behind `end` is only the allocator's rounding. glibc leaves no rest below
 * 32 bytes, so that some blocks are 16 larger: when nearly all others of the type are not, these
 * are. Else there may be more behind what the type describes. */
static bool said_is_rounded(const struct hs_scan *scan, const struct hs_heap_block *block,
                            uint64_t end)
{
    if (hs_said_is_tight(block, end))
        return true;
    const struct hs_scan_sizes *sizes = &scan->sizes[hs_flow_type(scan->flow, block->rank) - 1];
    return block->n_bytes - end < 2 * ROUNDED_BYTES &&
           sizes->n_wide <= sizes->n_tight / WIDE_ONE_IN;
}

/* Tells whether the block is glibc's least, of 24 bytes, and an object of C++ that is nothing but a
 * pointer to its virtual table leaves two words of it. An array of such would have the table in
 * these, too. */
static bool said_is_least(const struct hs_scan *scan, const struct hs_heap_block *block,
                          uint64_t end)
{
    const struct hs_objects *objects = &scan->native->dump->objects;

    if (end != WORD || block->n_bytes != HS_LEAST_BYTES || block->bytes == NULL)
        return false;
    uint64_t table = hs_load_u64(block->bytes);
    return hs_objects_object_at(objects, table) != NULL &&
           hs_load_u64(block->bytes + WORD) != table &&
           hs_load_u64(block->bytes + 2 * WORD) != table;
}

/* Tells whether a record of at most 8 bytes has glibc's least block to itself: all blocks of its
 * type are such, many, and no record that is known begins with it. What has something behind its
 * first member is, among many, larger once. */
static bool said_is_alone(const struct hs_scan *scan, const struct hs_heap_block *block,
                          const struct hs_native_type *type)
{
    if (!hs_native_is_least(block) || type->is_array || type->is_dynamic || type->is_header ||
        type->larger != 0 || type->heir_bytes != 0 || type->tail_type != 0)
        return false;
    const struct hs_scan_sizes *sizes = &scan->sizes[hs_flow_type(scan->flow, block->rank) - 1];
    return sizes->n_least >= LEAST_ALIKE && sizes->n_wide == sizes->n_least && sizes->n_tight == 0;
}

/* Tells whether it is an array of records only because its size and its first words allow it. */
static bool said_is_guessed(const struct hs_said *said)
{
    const struct hs_native_type *type = said->type;

    return type->is_array && type->ctype != 0 && type->type.form == HS_FORM_RECORD &&
           !type->is_table && type->n_slots != 0 && !said->use.is_said &&
           said->block->bytes != NULL;
}

/* Adds what the block's type says: how far it describes the words, elements behind a record, and
 * whether the rest is rounding. */
static void said_by_type(const struct hs_scan *scan, struct hs_said *said)
{
    const struct hs_heap_block *block = said->block;
    const struct hs_native_type *type = said->type;

    if (type->is_table)
        (void)hs_swiss_table_of(block, type->n_bytes, &said->table);
    if (type->tail_type != 0 && block->bytes != NULL) {
        said->tail = hs_native_type_of(&scan->flow->types, type->tail_type);
        said->tail_use = hs_native_tail_use(&type->tail, block, said->tail->n_bytes);
        if (type->tail.is_table)
            (void)hs_flat_table_of(block, said->tail->n_bytes, type->tail.at_bytes, &said->table);
    }
    said->end = type->is_array ? block->n_bytes - block->n_bytes % type->n_bytes : type->n_bytes;
    if (said->end > block->n_bytes)
        said->end = block->n_bytes;
    if (said_is_guessed(said)) {
        const struct hs_agree_by by = {.native = scan->native, .flow = scan->flow};
        said->sure_end = hs_native_agree_array(&by, block, type);
    }
    said->has_rest =
        type->is_open_text || type->is_sized ||
        (type->is_dynamic && said_is_rounded(scan, block, said->end)) ||
        (!type->is_open && type->said_bytes == type->n_bytes &&
         (said_is_rounded(scan, block, said->end) || said_is_alone(scan, block, type) ||
          (!type->is_array && said_is_least(scan, block, said->end))));
}

uint64_t hs_said_left_from(const struct hs_scan *scan, const struct hs_native_type *type,
                           const struct hs_heap_block *block)
{
    if (type == NULL)
        return hs_unwritten_from(&scan->native->dump->image, block);
    if (!type->is_array || type->is_plain || type->n_slots == 0 || type->is_table ||
        hs_native_reserves_use(&scan->flow->reserves, block->rank, block->n_bytes).is_said)
        return UINT64_MAX;
    uint64_t from = hs_unwritten_rest(block);
    return from == UINT64_MAX
               ? from
               : from + type->n_bytes - 1 - (from + type->n_bytes - 1) % type->n_bytes;
}

void hs_said_of(const struct hs_scan *scan, const struct hs_native_type *type,
                const struct hs_heap_block *block, struct hs_said *ret)
{
    ret->scan = scan;
    ret->native = scan->native;
    ret->flow = scan->flow;
    ret->slack = &scan->slack;
    ret->block = block;
    ret->type = type;
    ret->sure_end = UINT64_MAX;
    ret->use = hs_native_reserves_use(&scan->flow->reserves, block->rank, block->n_bytes);
    ret->listed = hs_native_listed_of(&scan->native->dump->image, &ret->use);

    hs_ntype number = hs_flow_type(scan->flow, block->rank);
    if (number != 0) { /* of those that say themselves what they are, whatever else is known */
        const struct hs_native_type *own = hs_native_type_of(&scan->flow->types, number);
        ret->other_words = own->other_words;
        ret->find_by = own->find_by;
    }
    ret->left_from = hs_said_left_from(scan, type, block);
    ret->are_pairs = number == 0 && hs_pairs_are(scan->native, block);
    if (type != NULL && !type->is_plain)
        said_by_type(scan, ret);
}

bool hs_said_is_bare(const struct hs_scan *scan, const struct hs_heap_block *block,
                     struct hs_said *ret)
{
    const struct hs_native_use use =
        hs_native_reserves_use(&scan->flow->reserves, block->rank, block->n_bytes);

    if (use.is_said || use.list != 0 || hs_flow_type(scan->flow, block->rank) != 0)
        return false;
    if (!ret->is_bare)
        *ret = (struct hs_said){.is_bare = true,
                                .scan = scan,
                                .native = scan->native,
                                .flow = scan->flow,
                                .slack = &scan->slack,
                                .sure_end = UINT64_MAX,
                                .words = hs_scan_bare_words};
    ret->block = block;
    ret->use = use;
    ret->left_from = hs_said_left_from(scan, NULL, block);
    ret->are_pairs = hs_pairs_are(scan->native, block);
    return true;
}

/* Returns the slot that the word at `at` is, as far as types say, or NULL. */
static const struct hs_cslot *said_slot_at(const struct hs_said *said, uint64_t at)
{
    const struct hs_native_type *type = said->type;

    if (type == NULL || type->is_plain)
        return NULL;
    if (said->tail != NULL && at >= type->tail.at_bytes)
        return hs_said_slot(said->tail, (at - type->tail.at_bytes) % said->tail->n_bytes);
    return at < said->end ? hs_said_slot(type, at % type->n_bytes) : NULL;
}

bool hs_said_is_plain(const struct hs_said *said, uint64_t at)
{
    const struct hs_native_type *type = said->type;

    if (said_slot_at(said, at) == NULL)
        return false;
    bool is_behind = said->tail != NULL && at >= type->tail.at_bytes;
    if (is_behind)
        type = said->tail;
    uint64_t from = is_behind ? said->type->tail.at_bytes : 0;
    return !hs_native_owns_alone(said->native, type->ctype, (at - from) % type->n_bytes);
}

bool hs_said_is_end(const struct hs_said *said, uint64_t at, enum hs_pointer how,
                    const struct hs_heap_block *target, struct hs_heap_block *ret_before)
{
    const struct hs_ends_place place = {said->block->bytes, said->block->n_bytes, at, said->block};

    bool may_be_named = said->type != NULL &&
                        (said->type->has_ends || (said->tail != NULL && said->tail->has_ends));
    if (how != HS_POINTER_START || said->words.is_exact || said->words.is_plain ||
        !hs_ends_may_be(&place, target, may_be_named))
        return false;
    const struct hs_cslot *slot = may_be_named ? said_slot_at(said, at) : NULL;
    return hs_ends_is(said->native, &place, target, slot != NULL && slot->is_end, ret_before);
}
