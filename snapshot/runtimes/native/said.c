#include "said.h"

#include "agree.h"
#include "base/bisect.h"
#include "base/load.h"
#include "ends.h"
#include "flow.h"
#include "pairs.h"
#include "qt.h"

/* All allocators round to 16. */
enum { ROUNDED_BYTES = 16, WIDE_ONE_IN = 8, WORD = 8 };
/* What is within so many bytes of the beginning of a block is a head or an alignment. */
enum { HALF_HEAD_BYTES = 4096, HALF_SMALL = 1 << 20, HALF_MUCH = 1 << 28 };

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

/* glibc leaves no rest below 32 bytes, so that some blocks are 16 larger: when nearly all others of
 * the type are not, these are. Else there may be more behind what the type describes. */
static bool said_is_rounded(const struct hs_scan *scan, const struct hs_heap_block *block,
                            uint64_t end)
{
    if (hs_said_is_tight(block, end))
        return true;
    const struct hs_scan_sizes *sizes = &scan->sizes[hs_flow_type(scan->flow, block->rank) - 1];
    return block->n_bytes - end < 2 * ROUNDED_BYTES &&
           sizes->n_wide <= sizes->n_tight / WIDE_ONE_IN;
}

/* The least block of glibc's has 24 bytes: an object of C++ that is nothing but a pointer to its
 * virtual table leaves two words of it. An array of such would have the table in these, too. */
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

/* Is it an array of records because its size and its first words allow it, and nobody says so? */
static bool said_is_guessed(const struct hs_said *said)
{
    const struct hs_native_type *type = said->type;

    return type->is_array && type->ctype != 0 && type->type.form == HS_FORM_RECORD &&
           !type->is_table && type->n_slots != 0 && !said->use.is_said &&
           said->block->bytes != NULL;
}

struct hs_said hs_said_of(const struct hs_scan *scan, const struct hs_native_type *type,
                          const struct hs_heap_block *block)
{
    struct hs_said said = {.sure_end = UINT64_MAX,
                           .native = scan->native,
                           .flow = scan->flow,
                           .block = block,
                           .type = type,
                           .slack = &scan->slack};

    said.use = hs_native_reserves_use(&scan->flow->reserves, block->rank, block->n_bytes);
    said.listed = hs_native_listed_of(&scan->native->dump->image, &said.use);

    hs_ntype number = hs_flow_type(scan->flow, block->rank);
    if (number != 0) /* of those that say themselves what they are, whatever else is known */
        said.other_words = hs_native_type_of(&scan->flow->types, number)->other_words;
    said.are_pairs = number == 0 && hs_pairs_are(scan->native, block);
    if (type == NULL || type->is_plain)
        return said;
    if (type->is_table)
        (void)hs_swiss_table_of(block, type->n_bytes, &said.table);
    if (type->tail_type != 0 && block->bytes != NULL) {
        said.tail = hs_native_type_of(&scan->flow->types, type->tail_type);
        said.tail_use = hs_native_tail_use(&type->tail, block, said.tail->n_bytes);
    }
    said.end = type->is_array ? block->n_bytes - block->n_bytes % type->n_bytes : type->n_bytes;
    if (said.end > block->n_bytes)
        said.end = block->n_bytes;
    if (said_is_guessed(&said)) {
        const struct hs_agree_by by = {.native = scan->native, .flow = scan->flow};
        said.sure_end = hs_native_agree_array(&by, block, type);
    }
    said.has_rest = type->is_open_text || type->is_sized ||
                    (type->is_dynamic && said_is_rounded(scan, block, said.end)) ||
                    (!type->is_open && type->said_bytes == type->n_bytes &&
                     (said_is_rounded(scan, block, said.end) ||
                      (!type->is_array && said_is_least(scan, block, said.end))));
    return said;
}

/* A number of 32 bits is written over the lower half of an address that stood there before. Of the
 * upper half alone it then depends where the word leads: a small number leads into the block that
 * the 4 GiB begin in, any number does so into one that has much of them. */
static bool said_is_half(uint64_t offset, const struct hs_heap_block *target)
{
    uint64_t low = (target->begin + offset) & UINT32_MAX;
    uint64_t before = offset < low ? offset : low;
    uint64_t above = UINT64_C(1) + UINT32_MAX - low, rest = target->n_bytes - offset;
    uint64_t behind = rest < above ? rest : above;

    return offset >= HALF_HEAD_BYTES &&
           ((low < HALF_SMALL && offset > low) || before + behind >= HALF_MUCH);
}

/* A weak pointer of Qt: the word before is what those to this object share. */
static bool said_is_qt_weak(const struct hs_said *said, uint64_t at, uint64_t word)
{
    const struct hs_dict *shared = &said->flow->qt_shared;

    return shared->n != 0 && at >= WORD &&
           hs_dict_get(shared, hs_load_u64(said->block->bytes + at - WORD), 0) == word;
}

/* The class of a word of which nobody says whether it is a pointer. */
static unsigned said_untold(const struct hs_said *said, const struct hs_object_words *words,
                            uint64_t at, enum hs_pointer how, const struct hs_heap_block *target)
{
    uint64_t word = hs_object_address(words, at / WORD, hs_load_u64(said->block->bytes + at));
    if (said_is_qt_weak(said, at, word) || (said->are_pairs && at % (2 * WORD) == 0) ||
        (!words->is_exact && said->type == NULL &&
         hs_slack_is(said->slack, said->block, at, how, target->rank)))
        return HS_EDGE_GUESSED;
    if (how != HS_POINTER_INTERIOR)
        return hs_scan_class(how);
    return said_is_half(hs_flow_offset(said->native, word, target), target) ? HS_EDGE_GUESSED
                                                                            : HS_EDGE_INTERIOR;
}

/* In glibc's least block two of three pointers may be what it adds. They lead into the middle of
 * blocks, where the first one leads to a block? */
static bool said_is_least_array(const struct hs_said *said, enum hs_pointer how)
{
    struct hs_heap_block first;

    return how == HS_POINTER_INTERIOR && said->block->n_bytes == HS_LEAST_BYTES &&
           hs_flow_resolve(said->native, hs_load_u64(said->block->bytes), &first) ==
               HS_POINTER_START;
}

/* An array of pointers of C's says nowhere how many it has: behind those that are in use stands
 * what the memory had before. A word that leads to what is known to be another record is none of
 * them. */
static bool said_is_old(const struct hs_said *said, const struct hs_cslot *slot,
                        enum hs_pointer how, const struct hs_heap_block *target)
{
    hs_ntype number = hs_flow_type(said->flow, target->rank);
    struct hs_ctype_facts facts;

    if (!said->type->is_array || said->type->n_bytes != WORD || said->use.is_said ||
        slot->pointee == 0 || number == 0 ||
        (how != HS_POINTER_START && !said_is_least_array(said, how)))
        return false;
    const struct hs_native_type *type = hs_native_type_of(&said->flow->types, number);
    if (type->ctype == 0 || type->ctype == slot->pointee || type->type.form != HS_FORM_RECORD)
        return false;
    hs_ctype_facts(said->native->ctypes, slot->pointee, &facts);
    return facts.kind == HS_CTYPE_RECORD && !facts.is_declaration && facts.n_bytes != 0 &&
           hs_native_is_other(said->native->ctypes, type->ctype, slot->pointee);
}

/* Where a word stands: at `offset` in an element of this type, of those that go on to `end`. */
struct said_part {
    const struct hs_native_type *type;
    uint64_t offset, end;
};

static unsigned said_by_part(const struct hs_said *said, const struct said_part *part,
                             const struct hs_object_words *words, uint64_t at, enum hs_pointer how,
                             const struct hs_heap_block *target)
{
    if (part->offset >= part->type->said_bytes)
        return said_untold(said, words, at, how, target);
    const struct hs_cslot *slot = hs_said_slot(part->type, part->offset);
    /* A sure pointer is there whichever alternative is. */
    bool is_there = slot != NULL && !slot->is_weak &&
                    (slot->n_choices == 0 || !slot->may_be_pointer_only ||
                     hs_native_is_chosen(said->native, slot, said->block->bytes, part->end, at)) &&
                    (!slot->is_untold ||
                     hs_unions_is_sure(said->native, slot, said->block->bytes, part->end, at));
    return is_there && !said_is_old(said, slot, how, target) ? hs_scan_class(how) : HS_EDGE_GUESSED;
}

/* Not in a vector's reserve, nor in an empty bucket or entry. */
static bool said_is_in_use(const struct hs_said *said, uint64_t at)
{
    bool is_in_bucket = said->table.control == NULL || hs_swiss_table_has(&said->table, at);
    bool is_listed = said->type == NULL || !said->type->is_array ||
                     hs_native_listed_has(&said->listed, at / said->type->n_bytes);
    return at >= said->use.from && at < said->use.end && is_in_bucket && is_listed;
}

static unsigned said_class(const struct hs_said *said, const struct hs_object_words *words,
                           uint64_t at, enum hs_pointer how, const struct hs_heap_block *target)
{
    const struct hs_native_type *type = said->type;

    bool is_link = at / WORD < 64 && (words->doubtful >> at / WORD & 1) != 0;
    if (words->is_plain || is_link ||
        (words->guessed_from != 0 && at / WORD >= words->guessed_from))
        return HS_EDGE_GUESSED;
    if (words->is_exact)
        return said_untold(said, words, at, how, target);
    if (hs_qt_finds(said->flow, said->block, target))
        return HS_EDGE_GUESSED;
    bool is_other = at / WORD < 16 && (said->other_words >> at / WORD & 1) != 0;
    if (is_other || !said_is_in_use(said, at))
        return HS_EDGE_GUESSED;
    if (type == NULL)
        return said_untold(said, words, at, how, target);
    if (type->is_plain)
        return HS_EDGE_GUESSED;
    if (said->tail != NULL && at >= type->tail.at_bytes) {
        bool is_in_use = at >= said->tail_use.from && at < said->tail_use.end;
        uint64_t offset = (at - type->tail.at_bytes) % said->tail->n_bytes;
        const struct said_part tail = {said->tail, offset, said->tail_use.end};
        return is_in_use ? said_by_part(said, &tail, words, at, how, target) : HS_EDGE_GUESSED;
    }
    if (at >= said->sure_end)
        return HS_EDGE_GUESSED;
    if (at >= said->end)
        return said->has_rest ? HS_EDGE_GUESSED : said_untold(said, words, at, how, target);
    const struct said_part part = {type, at % type->n_bytes, said->end};
    return said_by_part(said, &part, words, at, how, target);
}

/* The slot that the word at `at` is, as far as types say. */
static const struct hs_cslot *said_slot_at(const struct hs_said *said, uint64_t at)
{
    const struct hs_native_type *type = said->type;

    if (type == NULL || type->is_plain)
        return NULL;
    if (said->tail != NULL && at >= type->tail.at_bytes)
        return hs_said_slot(said->tail, (at - type->tail.at_bytes) % said->tail->n_bytes);
    return at < said->end ? hs_said_slot(type, at % type->n_bytes) : NULL;
}

bool hs_said_is_end(const struct hs_said *said, const struct hs_object_words *words, uint64_t at,
                    enum hs_pointer how, const struct hs_heap_block *target,
                    struct hs_heap_block *ret_before)
{
    const struct hs_ends_place place = {said->block->bytes, said->block->n_bytes, at};

    bool may_be_named = said->type != NULL &&
                        (said->type->has_ends || (said->tail != NULL && said->tail->has_ends));
    if (how != HS_POINTER_START || words->is_exact || words->is_plain ||
        !hs_ends_may_be(&place, target, may_be_named))
        return false;
    const struct hs_cslot *slot = may_be_named ? said_slot_at(said, at) : NULL;
    return hs_ends_is(said->native, &place, target, slot != NULL && slot->is_end, ret_before);
}

unsigned hs_said_class(const struct hs_said *said, const struct hs_object_words *words, uint64_t at,
                       enum hs_pointer how, const struct hs_heap_block *target)
{
    struct hs_heap_block before;
    unsigned edge_class = said_class(said, words, at, how, target);

    return edge_class == HS_EDGE_EXACT && hs_said_is_end(said, words, at, how, target, &before)
               ? HS_EDGE_GUESSED
               : edge_class;
}
