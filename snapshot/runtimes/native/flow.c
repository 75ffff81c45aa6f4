/* Types flow from typed roots through typed pointers. In which order is all one: of all that is
 * said of a block the strongest counts (flow_judge.c), and what may yet be replaced flows on last.
 *
 * What an object says of itself goes before what others say of it: C++'s virtual tables, then
 * Python's types, then the declared types of pointers. Text and numbers are the weakest: a char *
 * may lead to anything. */
#include "flow.h"

#include "base/alloc.h"
#include "base/huge.h"
#include "ends.h"
#include "flow_private.h"
#include "qt.h"
#include "records.h"
#include "shapes.h"
#include "swiss.h"

enum { WORD = 8, BLOCKS_PER_TELL = 1 << 20 };
/* The most looks at blocks that are not at hand, by pointers into their middle: all words of these
 * may be needed. */
enum { FAR_LOOKS = 1 << 20 };
/* The words on either side of a pointer where others to the same block may stand: begin, end, end
 * of room. */
enum { NEAR_WORDS = 4 };
/* The elements behind a record after which it is asked again what was touched. */
enum { TAIL_PART = 1 << 12 };
/* The bounds of judging which records have been led into, and of the runs of types flowing until
 * nothing is withdrawn. */
enum { FLOW_ROUNDS = 16, FLOW_PASSES = 4, FLOW_RUNS = 4 };

void hs_flow_fini(struct hs_flow *flow)
{
    if (flow == NULL)
        return;
    hs_pages_free(flow->small, flow->n_blocks, sizeof *flow->small);
    hs_pages_free(flow->large, flow->n_blocks, sizeof *flow->large);
    hs_native_types_fini(&flow->types);
    hs_native_reserves_fini(&flow->reserves);
    hs_bitmap_fini(&flow->owned_alone);
    hs_bitmap_fini(&flow->sole);
    hs_dict_fini(&flow->shared_counters);
    *flow = (struct hs_flow){0};
}

uint64_t hs_flow_next_part(const struct hs_native *native, const struct hs_heap_block *block,
                           uint64_t at)
{
    hs_addr end = block->begin + block->n_bytes, part, part_end;
    hs_addr stop = end - block->begin - at > HS_FLOW_PART ? block->begin + at + HS_FLOW_PART : end;

    if (hs_image_resident_bytes(&native->dump->image, block->begin + at, stop) != 0)
        return at;
    if (!hs_image_next_present(&native->dump->image, stop, end, &part, &part_end))
        return block->n_bytes;
    return (part - block->begin) & ~(HS_FLOW_PART - 1);
}

/* The place of a pointer: in memory at `at`, or in words[at / 8] of a block. */
struct flow_place {
    hs_addr address; /* of `bytes`; 0: in no memory */
    hs_ctype holder; /* the type of the value that it is in; 0: of a root */
    const uint8_t *bytes;
    uint64_t n_bytes, at;
};

static bool flow_near_word(const struct flow *f, const struct flow_place *place, int nth,
                           uint64_t *ret)
{
    uint64_t at = place->at + (uint64_t)(int64_t)(nth * WORD);

    if (place->bytes == NULL)
        return place->address != 0 &&
               hs_image_u64(&f->native->dump->image, place->address + at, ret);
    if (at > place->n_bytes || place->n_bytes - at < WORD)
        return false;
    *ret = hs_load_u64(place->bytes + at);
    return true;
}

/* Tells whether a pointer to the start of this block may rather be one behind the end of the block
 * before it. Where blocks have no headers both are the same word; then a pointer to that block
 * stands beside it. */
static bool flow_may_be_end(const struct flow *f, const struct hs_heap_block *block,
                            const struct flow_place *place)
{
    struct hs_heap_block before;

    if (block->span->form == HS_SPAN_HEADERS ||
        hs_flow_resolve(f->native, block->begin - 1, &before) == HS_POINTER_NONE ||
        before.begin + before.n_bytes != block->begin)
        return false;
    for (int i = -NEAR_WORDS; i <= NEAR_WORDS; i++) {
        uint64_t word;
        if (flow_near_word(f, place, i, &word) && word - before.begin < before.n_bytes)
            return true;
    }
    return false;
}

/* Tells whether it may become known which record the block is. */
static bool flow_is_awaited(const struct flow *f, const struct hs_heap_block *block)
{
    return !f->enclosing.is_closed && f->led_on.n_bits != 0 &&
           hs_bitmap_get(&f->led_on, block->rank);
}

/* Asks which record fills the block and has a `pointee` at `offset`; ret->record is 0 while none is
 * known. C's lists are linked by a member of what they hold. */
static hs_status flow_enclosing(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                                hs_ctype pointee, const struct hs_ctype_facts *facts,
                                struct hs_enclosing_answer *ret, struct hs_error *err)
{
    *ret = (struct hs_enclosing_answer){0};
    if (facts->n_bytes == 0 || !hs_flow_may_have_type_(block) || block->n_bytes < HS_SLACK_BYTES ||
        facts->n_bytes > block->n_bytes - HS_SLACK_BYTES)
        return HS_OK;
    if (offset != 0)
        HS_TRY(hs_native_types_counted(&f->result->types, pointee, offset, block->n_bytes,
                                       &ret->record, err));
    if (ret->record != 0 || facts->kind != HS_CTYPE_RECORD)
        return HS_OK;
    HS_TRY(
        hs_native_enclosing_ask(&f->enclosing, block, pointee, facts->n_bytes, offset, ret, err));
    return ret->leads_on ? hs_flow_lead_on_(f, block, offset, pointee, err) : HS_OK;
}

/* Tells whether there is anything that a pointer to `pointee` could say of a block that has this
 * type. */
static bool flow_is_news(const struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                         hs_ctype pointee, hs_ntype had, enum hs_flow_strength strength)
{
    if (!hs_flow_may_have_type_(block) || strength == HS_FLOW_WHOLE)
        return had != 0 && offset == 0 &&
               hs_native_type_of(&f->result->types, had)->ctype != pointee;
    return true;
}

/* Tells what a pointer to a `pointee` at `offset` says of the block: now, or when the block's words
 * are at hand. */
static hs_status flow_tell(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                           hs_ctype pointee, struct hs_error *err)
{
    if (!hs_block_queue_is_at_hand(&f->queue, block)) {
        bool waits = false;
        if (offset == 0)
            HS_TRY(hs_flow_wait_(f, block, pointee, &waits, err));
        if (waits || f->n_far_looks == FAR_LOOKS)
            return HS_OK;
        f->n_far_looks++;
    }
    HS_TRY(hs_flow_waited_(f, block, err));
    return hs_flow_look_within_(f, block, offset, pointee, err);
}

/* Tells whether the type is one of the C library or the loader. */
static bool flow_is_of_system(const struct flow *f, hs_ctype type)
{
    const struct hs_native *native = f->native;
    hs_type_file file = type == 0 ? 0 : hs_ctypes_file_of(native->ctypes, type);

    for (size_t i = 0; file != 0 && i < native->dump->objects.n; i++)
        if (native->of_object[i].types == file && native->of_object[i].is_system)
            return true;
    return false;
}

/* Tells whether a pointer to a type of the C library says nothing of the block. Programs have
 * mutexes and the like as members, and give the library pointers to these or to a number in them:
 * what such a type does not fill is something of the program's, unless the library itself holds the
 * pointer. */
static bool flow_is_lent(const struct flow *f, const struct hs_heap_block *block,
                         const struct hs_ctype_facts *facts, hs_ctype pointee,
                         const struct flow_place *place)
{
    const struct hs_objects *objects = &f->native->dump->objects;
    bool is_text = facts->kind == HS_CTYPE_SCALAR && facts->n_bytes <= 1;
    bool fills = facts->kind != HS_CTYPE_SCALAR && hs_native_fills(block, facts->n_bytes);

    if (is_text || fills || !flow_is_of_system(f, pointee))
        return false;
    if (place->holder != 0)
        return !flow_is_of_system(f, place->holder);
    const struct hs_object *object = hs_objects_object_at(objects, place->address);
    return object == NULL || !f->native->of_object[object - objects->objects].is_system;
}

static hs_status flow_count(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                            hs_ctype pointee, const struct flow_place *place, struct hs_error *err)
{
    struct hs_ctype_facts facts;

    if (hs_dict_find(&f->contested, block->rank) == NULL)
        return HS_OK;
    hs_ctype_facts(f->native->ctypes, pointee, &facts);
    return flow_is_lent(f, block, &facts, pointee, place)
               ? HS_OK
               : hs_flow_count_(f, block, offset, pointee, err);
}

/* Takes what a pointer to a `pointee` at `offset` says of the block. In the middle of a block it
 * tells the type only of an array that begins with the block, and of what has a member there. */
static hs_status flow_try(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                          hs_ctype pointee, const struct flow_place *place, struct hs_error *err)
{
    hs_ntype had = hs_flow_had_(f, block->rank);
    enum hs_flow_strength strength = hs_flow_strength_(f, block, had);
    struct hs_ctype_facts facts;
    struct hs_enclosing_answer enclosing = {0};
    bool is_denied = false;

    if (f->is_confirming)
        return hs_flow_confirm_(f, block, pointee, err);
    if (offset == 0)
        HS_TRY(hs_flow_denies_(f, block, pointee, &is_denied, err));
    if (f->is_counting && !is_denied)
        return flow_count(f, block, offset, pointee, place, err);
    if (is_denied || !flow_is_news(f, block, offset, pointee, had, strength))
        return HS_OK;
    hs_ctype_facts(f->native->ctypes, pointee, &facts);
    if ((facts.kind == HS_CTYPE_SCALAR && strength > HS_FLOW_SCALAR) ||
        flow_is_lent(f, block, &facts, pointee, place))
        return HS_OK;
    if (strength != HS_FLOW_WHOLE)
        HS_TRY(flow_enclosing(f, block, offset, pointee, &facts, &enclosing, err));
    if (enclosing.is_open || (enclosing.is_part && offset != 0))
        return HS_OK;
    if (enclosing.record != 0) {
        pointee = enclosing.record;
        offset = 0;
    }
    if (offset != 0 && flow_is_awaited(f, block)) {
        f->enclosing.has_missed = true;
        return HS_OK;
    }
    if (facts.kind == HS_CTYPE_SCALAR && offset == 0 && flow_may_be_end(f, block, place))
        pointee |= HS_FLOW_MAY_BE_END;
    return flow_tell(f, block, offset, pointee, err);
}

/* Finds the size of the elements of which a vector says how many are in use. *ret_bytes is 0 for
 * numbers, which are no pointers, in use or not. */
static hs_status flow_used_element(struct flow *f, const struct hs_native_chosen *to,
                                   uint64_t *ret_bytes, struct hs_error *err)
{
    bool is_behind = to->used_by == HS_CUSED_COUNT && to->used_from != 0;
    struct hs_ctype_facts facts;
    hs_ctype element = to->pointee;
    hs_ntype record = 0;

    *ret_bytes = 0;
    if (is_behind) {
        HS_TRY(hs_native_types_of_ctype(&f->result->types, to->pointee, false, &record, err));
        element = record == 0 ? 0 : hs_native_type_of(&f->result->types, record)->tail.element;
    }
    hs_ctype_facts(f->native->ctypes, element, &facts);
    if (element != 0 && !hs_native_is_number(&facts))
        *ret_bytes = facts.n_bytes;
    return HS_OK;
}

/* Notes how much of its array a vector says is in use, or of its blocks a deque. */
static hs_status flow_say_used(struct flow *f, const struct hs_heap_block *block,
                               const struct hs_native_chosen *to, const struct flow_place *place,
                               struct hs_error *err)
{
    struct hs_native_use use;
    uint64_t element_bytes;

    HS_TRY(flow_used_element(f, to, &element_bytes, err));
    if (element_bytes == 0 || !hs_native_chosen_use(to, block, element_bytes, &use))
        return HS_OK;
    if (to->list_at != 0 && place->address != 0 && use.end <= block->n_bytes)
        HS_TRY(hs_native_reserves_say_list(&f->result->reserves, block->rank,
                                           place->address + place->at + (uint64_t)to->list_at,
                                           err));
    return hs_native_reserves_say(&f->result->reserves, block->rank, block->n_bytes, use,
                                  element_bytes, err);
}

/* Takes what is known of a word that leads into the block: how much of the block is in use, and its
 * type. */
static hs_status flow_by(struct flow *f, const struct hs_heap_block *block, uint64_t word,
                         const struct hs_native_chosen *to, const struct flow_place *place,
                         struct hs_error *err)
{
    uint64_t offset = hs_flow_offset(f->native, word, block);

    if (to->used_by != HS_CUSED_NOT && offset == 0 && hs_flow_may_have_type_(block))
        HS_TRY(flow_say_used(f, block, to, place, err));
    if (f->is_denying)
        hs_flow_deny_smaller_(f, block, offset, to->pointee);
    return to->pointee == 0 || f->is_denying ? HS_OK
                                             : flow_try(f, block, offset, to->pointee, place, err);
}

/* Flows from the pointers of a value of this type at `begin` in a block. */
static hs_status flow_from_value(struct flow *f, const struct hs_heap_block *block,
                                 const struct hs_native_type *type, uint64_t begin,
                                 struct hs_error *err)
{
    struct hs_heap_block target;

    for (size_t i = 0; i < type->n_slots; i++) {
        const struct hs_cslot *slot = &type->slots[i];
        uint64_t at = begin + slot->offset_bytes;
        if ((slot->pointee == 0 && slot->n_choices == 0) || at > block->n_bytes - WORD)
            continue;
        uint64_t word = hs_load_u64(block->bytes + at);
        enum hs_pointer how = hs_flow_resolve(f->native, word, &target);
        if (how != HS_POINTER_START && how != HS_POINTER_INTERIOR)
            continue;
        const struct hs_ends_place near = {block->bytes, block->n_bytes, at, NULL};
        struct hs_heap_block before;
        if (how == HS_POINTER_START && hs_ends_is(f->native, &near, &target, slot->is_end, &before))
            continue;
        struct hs_native_chosen to = {.pointee = slot->pointee};
        if (slot->n_choices != 0)
            HS_TRY(hs_native_choose(f->native, slot, block->bytes, block->n_bytes, at, &to, err));
        const struct flow_place place = {block->begin, type->ctype, block->bytes, block->n_bytes,
                                         at};
        HS_TRY(flow_by(f, &target, word, &to, &place, err));
    }
    return HS_OK;
}

/* Flows from the elements behind a record. */
static hs_status flow_from_tail(struct flow *f, const struct hs_heap_block *block, hs_ntype record,
                                struct hs_error *err)
{
    hs_ntype number;

    HS_TRY(hs_native_types_of_tail(&f->result->types, record, &number, err));
    if (number == 0)
        return HS_OK;
    const struct hs_native_type element = *hs_native_type_of(&f->result->types, number);
    if (!element.has_pointees)
        return HS_OK;
    const struct hs_native_use use = hs_flow_tail_use_(f, block, record, element.n_bytes);
    const struct hs_ctail *tail = &hs_native_type_of(&f->result->types, record)->tail;
    struct hs_swiss_table table;
    bool is_table =
        tail->is_table && hs_flat_table_of(block, element.n_bytes, tail->at_bytes, &table);
    for (uint64_t at = use.from, i = 0; at < use.end; at += element.n_bytes, i++) {
        if (i % TAIL_PART == 0) { /* past what was never touched */
            uint64_t next = hs_flow_touched(f->native, block, at & ~(HS_FLOW_PART - 1));
            at += next > at ? (next - at) / element.n_bytes * element.n_bytes : 0;
        }
        if (at < use.end && (!is_table || hs_swiss_table_has(&table, at)))
            HS_TRY(flow_from_value(f, block, &element, at, err));
    }
    return HS_OK;
}

static hs_status flow_from_block(struct flow *f, const struct hs_heap_block *block,
                                 struct hs_error *err)
{
    const hs_ntype number = hs_flow_type(f->result, block->rank);
    const struct hs_native_type type = *hs_native_type_of(&f->result->types, number);
    struct hs_native_use use =
        hs_native_reserves_use(&f->result->reserves, block->rank, block->n_bytes);
    uint64_t n = type.is_array ? use.end / type.n_bytes : 1;
    const struct hs_native_listed listed = hs_native_listed_of(&f->native->dump->image, &use);
    struct hs_swiss_table table;
    bool is_table = type.is_table && hs_swiss_table_of(block, type.n_bytes, &table);

    if (!hs_flow_may_flow_(f, block->rank, number))
        return HS_OK;
    for (uint64_t i = type.is_array ? use.from / type.n_bytes : 0; i < n; i++) {
        if (i % HS_FLOW_PART == 0) /* then the element begins a part, whatever its size */
            i = hs_flow_touched(f->native, block, i * type.n_bytes) / type.n_bytes;
        if (hs_native_listed_has(&listed, i) &&
            (!is_table || hs_swiss_table_has(&table, i * type.n_bytes)))
            HS_TRY(flow_from_value(f, block, &type, i * type.n_bytes, err));
    }
    return type.tail.element == 0 ? HS_OK : flow_from_tail(f, block, number, err);
}

/* Flows from a member that a pointer leads to, of a block without a type. */
static hs_status flow_from_part(struct flow *f, const struct flow_part *part, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    struct hs_heap_block block;
    hs_ntype type;

    hs_heap_map_seek(&it, part->rank);
    HS_TRY(hs_native_types_of_ctype(&f->result->types, part->type, false, &type, err));
    if (type == 0 || !hs_heap_map_next(&it, &block))
        return HS_OK;
    const struct hs_native_type copy = *hs_native_type_of(&f->result->types, type);
    return flow_from_value(f, &block, &copy, part->offset, err);
}

/* Flows from a block that came out of the queue. One that has a type which may yet be another waits
 * until all others have told. */
static hs_status flow_visit(struct flow *f, const struct hs_heap_block *block, struct hs_error *err)
{
    if ((hs_flow_type(f->result, block->rank) & HS_FLOW_IS_TENTATIVE) != 0)
        return hs_flow_waited_(f, block, err); /* queues it again, if it is to be */
    hs_ntype type = hs_flow_type(f->result, block->rank);
    if (type == 0)
        return HS_OK; /* a tentative type, tried before the block came out */
    if (hs_flow_is_early_(f, block, type))
        return flow_from_block(f, block, err);
    if (f->late.n_bits == 0)
        HS_TRY(hs_bitmap_init(&f->late, f->result->n_blocks, err));
    hs_bitmap_set(&f->late, block->rank);
    return HS_OK;
}

static hs_status flow_drain_queue(struct flow *f, struct hs_error *err)
{
    struct hs_heap_block block;
    uint64_t n_done = 0;

    while (hs_block_queue_pop(&f->queue, &block)) {
        HS_TRY(flow_visit(f, &block, err));
        if (++n_done % BLOCKS_PER_TELL == 0)
            HS_TRY(hs_progress_tell(f->native->dump->options->progress, "naming types", n_done,
                                    f->native->dump->heaps.map.n_blocks, err));
    }
    return HS_OK;
}

/* Flows from the blocks that waited until nothing else tells anything, in order of address. *ret:
 * there were any. */
static hs_status flow_from_late(struct flow *f, bool *ret, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    struct hs_heap_block block;
    uint64_t rank = f->late.n_bits == 0 ? 0 : hs_bitmap_next(&f->late, 0);

    *ret = rank < f->late.n_bits;
    f->is_late |= *ret;
    for (; rank < f->late.n_bits; rank = hs_bitmap_next(&f->late, rank + 1)) {
        hs_ntype type = hs_flow_type(f->result, rank);
        if ((type & HS_FLOW_IS_TENTATIVE) != 0)
            continue; /* the next time */
        hs_bitmap_clear(&f->late, rank);
        hs_block_queue_seek(&it, rank, &block);
        if (!hs_flow_is_early_(f, &block, type)) /* else it is in the queue again */
            HS_TRY(flow_from_block(f, &block, err));
    }
    return HS_OK;
}

static hs_status flow_drain(struct flow *f, struct hs_error *err)
{
    bool is_any = true;

    while (is_any) {
        HS_TRY(flow_drain_queue(f, err));
        if (f->n_parts != 0) {
            const struct flow_part part = f->parts[--f->n_parts];
            HS_TRY(flow_from_part(f, &part, err));
        } else {
            HS_TRY(flow_from_late(f, &is_any, err));
        }
    }
    return HS_OK;
}

static hs_status flow_from_seeds(struct flow *f, struct hs_error *err)
{
    const struct hs_native *native = f->native;
    struct hs_heap_block block;

    for (size_t i = 0; i < native->n_seeds; i++) {
        const struct hs_native_seed *seed = &native->seeds[i];
        enum hs_pointer how = hs_flow_resolve(native, seed->word, &block);
        if (how != HS_POINTER_START && how != HS_POINTER_INTERIOR)
            continue;
        const struct flow_place place = {.address = seed->at};
        const struct hs_native_chosen to = {.pointee = seed->pointee,
                                            .used_by = seed->used_by,
                                            .used = seed->used,
                                            .used_from = seed->used_from};
        f->is_of_call = seed->is_of_call;
        f->is_bare = seed->is_bare;
        HS_TRY(flow_by(f, &block, seed->word, &to, &place, err));
    }
    f->is_of_call = f->is_bare = false;
    return HS_OK;
}

static hs_status flow_from_typed(struct flow *f, const struct hs_heap_block *block,
                                 struct hs_error *err)
{
    hs_ntype type = hs_flow_type(f->result, block->rank);

    return type != 0 && (type & HS_FLOW_IS_TENTATIVE) == 0 &&
                   hs_native_type_of(&f->result->types, type)->has_pointees
               ? flow_from_block(f, block, err)
               : HS_OK;
}

static hs_status flow_from_all(struct flow *f, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    struct hs_heap_block block;

    HS_TRY(flow_from_seeds(f, err));
    while (hs_heap_map_next(&it, &block))
        if (!f->is_confirming || !hs_bitmap_get(&f->suspected, block.rank))
            HS_TRY(flow_from_typed(f, &block, err));
    return HS_OK;
}

/* Flows from every pointer that has a type, once more. */
static hs_status flow_again(struct flow *f, struct hs_error *err)
{
    hs_bitmap_fini(&f->led_on);
    HS_TRY(flow_from_all(f, err));
    return flow_drain(f, err);
}

/* Tells the blocks that groups were judged by what these are now. *ret: there were such groups. */
static hs_status flow_take_votes(struct flow *f, bool *ret, struct hs_error *err)
{
    const struct flow_place nowhere = {0};

    *ret = false;
    for (size_t i = 0; i < f->enclosing.n_groups; i++) {
        bool is_new = f->enclosing.groups[i].is_new;
        f->enclosing.groups[i].is_new = false;
        *ret |= is_new;
        for (size_t j = 0; is_new && j < f->enclosing.groups[i].n_votes; j++) {
            const struct hs_enclosing_group group = f->enclosing.groups[i];
            struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
            struct hs_heap_block block;
            hs_heap_map_seek(&it, group.votes[j]);
            if (hs_heap_map_next(&it, &block))
                HS_TRY(flow_try(f, &block, group.offset, group.part, &nowhere, err));
        }
    }
    return flow_drain(f, err);
}

static hs_status flow_settle_groups(struct flow *f, struct hs_error *err)
{
    bool is_any = true;

    for (int round = 0; round < FLOW_ROUNDS && is_any; round++) {
        HS_TRY(hs_native_enclosing_settle(&f->enclosing, err));
        HS_TRY(flow_take_votes(f, &is_any, err));
    }
    return HS_OK;
}

/* Flows from the beginnings of lists that only a `void *` leads to. */
static hs_status flow_from_heads(struct flow *f, struct hs_error *err)
{
    bool is_any = true;
    for (int round = 0; round < FLOW_PASSES && is_any; round++) {
        hs_bitmap_fini(&f->led_on); /* makes room for a bit of each block */
        HS_TRY(hs_flow_heads_(f, &is_any, err));
        HS_TRY(flow_drain(f, err));
    }
    return HS_OK;
}

/* Flows from the words of blocks of which a header alone is known. */
static hs_status flow_from_objects(struct flow *f, struct hs_error *err)
{
    bool is_any = true;
    for (int round = 0; round < FLOW_ROUNDS && is_any; round++) {
        HS_TRY(hs_flow_objects_(f, &is_any, err));
        HS_TRY(flow_drain(f, err));
    }
    return HS_OK;
}

/* Judges groups of blocks (enclosing.h) and flows on, until no type that becomes known tells of
 * others. What is open then has the type that its pointers say. */
static hs_status flow_settle(struct flow *f, struct hs_error *err)
{
    uint64_t n_typed = UINT64_MAX;

    HS_TRY(flow_settle_groups(f, err));
    for (int pass = 0; f->enclosing.has_missed && pass < FLOW_PASSES; pass++) {
        if (n_typed == f->result->n_typed)
            break;
        n_typed = f->result->n_typed;
        f->enclosing.has_missed = false;
        HS_TRY(flow_again(f, err));
        HS_TRY(flow_settle_groups(f, err));
    }
    f->enclosing.is_closed = true;
    for (size_t i = 0; i < f->enclosing.n_groups; i++)
        f->enclosing.groups[i].is_new = f->enclosing.groups[i].state == HS_ENCLOSING_OPEN;
    bool is_any;
    HS_TRY(flow_take_votes(f, &is_any, err));
    if (f->enclosing.has_missed)
        HS_TRY(flow_again(f, err));
    return flow_from_objects(f, err);
}

/* Shuffles the seeds, for tests: see struct hs_dump_order. */
static void flow_shuffle_seeds(struct hs_native *native, uint64_t random)
{
    for (size_t i = native->n_seeds; i > 1; i--) {
        random = hs_order_next(random);
        struct hs_native_seed *a = &native->seeds[i - 1], *b = &native->seeds[random % i];
        const struct hs_native_seed seed = *a;
        *a = *b;
        *b = seed;
    }
}

static struct hs_enclosing flow_enclosing_of(const struct flow *f)
{
    return (struct hs_enclosing){.by = {.native = f->native, .flow = f->result},
                                 .types = &f->result->types,
                                 .most_looks = f->fit.most_looks};
}

static struct hs_native_reserves reserves_of(const struct hs_native *native)
{
    return (struct hs_native_reserves){.n_blocks = native->dump->heaps.map.n_blocks,
                                       .n_without_room = native->n_reserves_without_room};
}

/* Forgets all that is known of blocks, but not which types have to be withdrawn. */
static void flow_forget(struct flow *f)
{
    struct hs_flow *flow = f->result;

    hs_pages_discard(flow->small, flow->n_blocks * sizeof *flow->small);
    flow->n_typed = flow->n_by_rtti = flow->n_by_interpreter = 0;
    hs_native_reserves_fini(&flow->reserves);
    flow->reserves = reserves_of(f->native);
    hs_native_enclosing_fini(&f->enclosing);
    f->enclosing = flow_enclosing_of(f);
    hs_bitmap_fini(&f->led_on);
    hs_bitmap_fini(&f->late);
    hs_dict_fini(&f->contested);
    f->is_late = false;
    f->n_changed = f->n_far_looks = f->n_parts = 0;
    f->fit = hs_fit_of(f->native);
}

static hs_status flow_once(struct flow *f, struct hs_error *err)
{
    HS_TRY(hs_flow_from_within_(f, err));
    HS_TRY(hs_native_stdio(f->native, f->result, err));
    HS_TRY(hs_native_outside(f->native, f->result, err));
    if (f->native->ctypes == NULL)
        return HS_OK;
    HS_TRY(flow_from_seeds(f, err));
    HS_TRY(flow_drain(f, err));
    HS_TRY(flow_from_heads(f, err));
    return flow_settle(f, err);
}

/* Finds the virtual tables of objects that are gone: those that no pointer agrees with, from all
 * blocks but the ones whose table is in question, and from these where something agrees. *ret:
 * there are such tables. */
static hs_status flow_find_stale(struct flow *f, bool *ret, struct hs_error *err)
{
    struct hs_heap_block block;

    *ret = false;
    if (f->suspected.n_bits == 0)
        return HS_OK;
    f->is_confirming = true;
    hs_status status = flow_from_all(f, err);
    while (status == HS_OK && hs_block_queue_pop(&f->queue, &block))
        status = flow_from_typed(f, &block, err);
    f->is_confirming = false;
    return status == HS_OK ? hs_flow_take_stale_(f, ret, err) : status;
}

/* Tells whether types must flow once more; where two records are said of one block, after counting.
 */
static hs_status flow_is_unsettled(struct flow *f, bool *ret, struct hs_error *err)
{
    HS_TRY(flow_find_stale(f, ret, err));
    if (*ret)
        return HS_OK;
    HS_TRY(hs_flow_is_unsettled_(f, ret, err));
    if (*ret || !hs_flow_is_contested_(f))
        return HS_OK;
    f->is_counting = true;
    hs_status status = flow_from_all(f, err);
    f->is_counting = false;
    return status == HS_OK ? hs_flow_decide_(f, ret, err) : status;
}

/* Tells heirs that malloc gave more room than they fill from larger ones. */
static hs_status flow_smaller(struct flow *f, struct hs_error *err)
{
    HS_TRY(hs_flow_find_smaller_(f, err));
    if (f->smaller.n == 0)
        return HS_OK;
    f->is_denying = true;
    hs_status status = flow_from_all(f, err);
    f->is_denying = false;
    HS_TRY(status);
    HS_TRY(hs_flow_give_smaller_(f, err));
    return flow_drain(f, err);
}

static hs_status flow_run(struct flow *f, struct hs_error *err)
{
    const struct hs_native *native = f->native;
    const struct hs_dump_order *order = &native->dump->options->order;
    bool is_unsettled;

    HS_TRY(hs_block_queue_init(&f->queue, &native->dump->heaps.map, HS_QUEUE_BLOCKS, err));
    if (native->is_large)
        hs_block_queue_go_by_region(&f->queue);
    hs_block_queue_order(&f->queue, order->seed, order->region_bits);
    if (order->seed != 0)
        flow_shuffle_seeds(f->native, order->seed);
    HS_TRY(hs_rtti_open(&f->rtti, f->native, err));
    HS_TRY(flow_once(f, err));
    HS_TRY(flow_is_unsettled(f, &is_unsettled, err));
    for (int run = 1; run < FLOW_RUNS && is_unsettled; run++) {
        flow_forget(f);
        HS_TRY(flow_once(f, err));
        HS_TRY(flow_is_unsettled(f, &is_unsettled, err));
    }
    if (native->ctypes != NULL) {
        HS_TRY(flow_smaller(f, err));
        HS_TRY(hs_flow_alike_(f, err));
    }
    HS_TRY(hs_native_qt(f->native, f->result, err));
    HS_TRY(hs_native_records(f->native, f->result, err));
    if (!f->rtti.is_possible)
        return hs_native_shapes_of_c(f->native, f->result, err);
    HS_TRY(hs_native_shapes(f->native, f->result, err));
    hs_flow_learn_sizes_(f->native, f->result);
    return HS_OK;
}

static hs_status flow_alloc(struct hs_flow *flow, struct hs_error *err)
{
    HS_TRY(HS_PAGES_ALLOC(&flow->small, flow->n_blocks, err));
    hs_pages_prefer_huge(flow->small, flow->n_blocks * sizeof *flow->small);
    HS_TRY(HS_PAGES_ALLOC(&flow->large, flow->n_blocks, err));
    return HS_OK;
}

hs_status hs_native_flow(struct hs_native *native, struct hs_flow *ret, struct hs_error *err)
{
    struct hs_flow result = {
        .n_blocks = native->dump->heaps.map.n_blocks,
        .types = {.strings = &native->dump->strings, .ctypes = native->ctypes},
        .reserves = reserves_of(native),
    };
    struct flow f = {.native = native, .result = &result, .fit = hs_fit_of(native)};
    f.enclosing = flow_enclosing_of(&f);

    hs_status status = flow_alloc(&result, err);
    if (status == HS_OK)
        status = flow_run(&f, err);
    hs_block_queue_fini(&f.queue);
    hs_free(f.tentative);
    hs_table_fini(&f.tentative_of);
    hs_native_enclosing_fini(&f.enclosing);
    hs_free(f.parts);
    hs_bitmap_fini(&f.led_on);
    hs_bitmap_fini(&f.late);
    hs_bitmap_fini(&f.suspected);
    hs_bitmap_fini(&f.stale);
    hs_dict_fini(&f.settled);
    hs_dict_fini(&f.contested);
    hs_dict_fini(&f.decided);
    hs_dict_fini(&f.smaller);
    hs_dict_fini(&f.votes);
    hs_free(f.changed);
    hs_rtti_close(&f.rtti);
    if (status == HS_OK)
        *ret = result;
    else
        hs_flow_fini(&result);
    return status;
}
