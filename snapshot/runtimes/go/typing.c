#include "typing.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "code.h"
#include "fits.h"
#include "pointers.h"

enum { SLOTS_MAX = 1 << 22 };
enum { MINOR_OF_HEADERS = 22, HEADER_FROM_BYTES = 512 };
enum { COUNTS_MAX = 1 << 20, COUNTED_FROM_BYTES = 256 };
enum { STATIC_BYTES_MAX = 1 << 20, STATIC_WORDS_MAX = 1 << 22 };

void hs_go_typing_fini(struct hs_go_typing *t)
{
    hs_pages_free(t->of_rank, t->n_ranks, sizeof *t->of_rank);
    hs_free(t->types);
    hs_free(t->kinds);
    hs_free(t->waiting);
    hs_dict_fini(&t->numbers);
    hs_dict_fini(&t->slots);
    hs_dict_fini(&t->dynamic);
    hs_dict_fini(&t->statics);
    hs_dict_fini(&t->count_of_rank);
    hs_free(t->counts);
    *t = (struct hs_go_typing){0};
}

/* ---- types */

static hs_status add_type(struct hs_go_typing *t, uint64_t key, const char *name,
                          struct hs_go_named_type type, uint32_t *ret, struct hs_error *err)
{
    HS_TRY(hs_strtab_add(&t->heap->dump->strings, name, &type.name, err));
    HS_TRY(HS_GROW(&t->types, &t->types_capacity, t->n_types + 1, err));
    HS_TRY(hs_dict_put(&t->numbers, key, t->n_types, err));
    *ret = (uint32_t)t->n_types;
    t->types[t->n_types++] = type;
    return HS_OK;
}

/* Finds the number of a type as it is held, "tsdb.Head", "[]string", "chan int"; `of` is that of
 * the values, which for entries of a map is another. */
static hs_status number_of(struct hs_go_typing *t, const struct hs_go_type *type, hs_addr of,
                           enum hs_go_holding holding, uint32_t *ret, struct hs_error *err)
{
    static const char *const before[HS_GO_N_HOLDINGS] = {[HS_GO_HOLD_ONE] = "",
                                                         [HS_GO_HOLD_ROW] = "[]",
                                                         [HS_GO_HOLD_CHAN] = "chan ",
                                                         [HS_GO_HOLD_MAP] = "",
                                                         [HS_GO_HOLD_BUCKETS] = "entries of ",
                                                         [HS_GO_HOLD_DIRECTORY] = "directory of ",
                                                         [HS_GO_HOLD_TABLE] = "table of "};
    uint64_t key = type->address * HS_GO_N_HOLDINGS + holding;
    const uint64_t *known = hs_dict_find(&t->numbers, key);
    char name[HS_GO_TYPE_NAME_BYTES], text[HS_GO_TYPE_NAME_BYTES + 16];
    struct hs_go_named_type made = {.form = HS_FORM_GO, .holding = (uint8_t)holding, .type = of};
    struct hs_go_type value;

    if (known != NULL) {
        *ret = (uint32_t)*known;
        return HS_OK;
    }
    if (holding == HS_GO_HOLD_DIRECTORY)
        made.stride_bytes = HS_WORD_BYTES;
    if ((holding == HS_GO_HOLD_ROW || holding == HS_GO_HOLD_BUCKETS) &&
        hs_go_read_type(t->heap, of, &value) && value.n_bytes % HS_WORD_BYTES == 0)
        made.stride_bytes = value.n_bytes;
    if (!hs_go_type_name(t->heap, type, name))
        snprintf(name, sizeof name, "a type without a name");
    snprintf(text, sizeof text, "%s%s", before[holding], name);
    return add_type(t, key, text, made, ret, err);
}

/* ---- objects */

/* Finds the live object that begins at an address, behind its header where it has one. */
static bool find_object(const struct hs_go_typing *t, hs_addr at, struct hs_go_block *ret,
                        uint64_t *ret_rank)
{
    if (!hs_go_resolve(t->heap, at, ret) ||
        at != ret->begin + hs_go_header_bytes(t->heap, ret->span))
        return false;
    *ret_rank = hs_bitmap_rank(&t->heap->live, ret->slot);
    return true;
}

/* The same of one that has no type yet. */
static bool find_untyped(const struct hs_go_typing *t, hs_addr at, struct hs_go_block *ret,
                         uint64_t *ret_rank)
{
    return find_object(t, at, ret, ret_rank) && t->of_rank[*ret_rank] == 0;
}

static void set_type(struct hs_go_typing *t, const struct hs_go_block *block, uint64_t rank,
                     uint32_t number)
{
    t->of_rank[rank] = number + 1;
    t->n_typed++;
    t->typed_bytes += block->span->elem_bytes;
}

/* Says how many elements are in the object at an address; of several numbers the largest counts,
 * as slices of one array may have parts of it. */
static hs_status count(struct hs_go_typing *t, hs_addr at, uint64_t entries, uint64_t room,
                       uint64_t element_bytes, struct hs_error *err)
{
    struct hs_go_block block;
    uint64_t rank;

    if (!find_object(t, at, &block, &rank) || block.span->elem_bytes < COUNTED_FROM_BYTES ||
        entries > room || (element_bytes != 0 && room > block.span->elem_bytes / element_bytes))
        return HS_OK;
    const uint64_t *known = hs_dict_find(&t->count_of_rank, rank);
    if (known != NULL) {
        struct hs_go_count *there = &t->counts[*known];
        there->entries = entries > there->entries ? entries : there->entries;
        there->room = room > there->room ? room : there->room;
        return HS_OK;
    }
    if (t->n_counts == COUNTS_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&t->counts, &t->counts_capacity, t->n_counts + 1, err));
    HS_TRY(hs_dict_put(&t->count_of_rank, rank, t->n_counts, err));
    t->counts[t->n_counts++] = (struct hs_go_count){entries, room};
    return HS_OK;
}

const struct hs_go_count *hs_go_count_of(const struct hs_go_typing *t, uint64_t rank)
{
    const uint64_t *known = hs_dict_find(&t->count_of_rank, rank);
    return known == NULL ? NULL : &t->counts[*known];
}

/* Has the words of an object followed, by a type. */
static hs_status wait_for(struct hs_go_typing *t, hs_addr at, hs_addr type, hs_addr map,
                          struct hs_error *err)
{
    HS_TRY(HS_GROW(&t->waiting, &t->waiting_capacity, t->n_waiting + 1, err));
    t->waiting[t->n_waiting++] = (struct hs_go_typed){.begin = at, .type = type, .map = map};
    return HS_OK;
}

/* ---- values in the module's data */

/* Has the words of a static value followed, once for each type: a struct begins where its first
 * field does. */
static hs_status put_static(struct hs_go_typing *t, hs_addr at, hs_addr address,
                            struct hs_error *err)
{
    uint64_t key = hs_hash_bytes(&at, sizeof at) ^ address;
    struct hs_go_type type;

    if (!hs_go_is_in_data(t->heap, at) || hs_dict_find(&t->statics, key) != NULL ||
        t->n_static_words >= STATIC_WORDS_MAX || !hs_go_read_type(t->heap, address, &type) ||
        type.n_bytes > STATIC_BYTES_MAX)
        return HS_OK;
    t->n_static_words += type.n_bytes / HS_WORD_BYTES + 1;
    HS_TRY(hs_dict_put(&t->statics, key, 1, err));
    if (!hs_go_is_static_value(t->heap, at, address))
        return HS_OK;
    HS_TRY(wait_for(t, at, address, 0, err));
    t->waiting[t->n_waiting - 1].n_bytes = type.n_pointer_bytes;
    return HS_OK;
}

/* Says that values of a type begin at an address, in a block that is called by another, `named`. */
static hs_status put_as(struct hs_go_typing *t, hs_addr at, hs_addr address, hs_addr named,
                        enum hs_go_holding holding, struct hs_error *err)
{
    struct hs_go_block block;
    struct hs_go_type type, name;
    uint64_t rank;
    uint32_t number;

    if (!find_untyped(t, at, &block, &rank) || !hs_go_read_type(t->heap, address, &type) ||
        !hs_go_read_type(t->heap, named, &name) || type.n_bytes == 0 ||
        (holding == HS_GO_HOLD_ONE && type.n_bytes > block.span->elem_bytes))
        return HS_OK;
    HS_TRY(number_of(t, &name, address, holding, &number, err));
    set_type(t, &block, rank, number);
    if (holding == HS_GO_HOLD_CHAN || (block.span->spanclass & 1) != 0)
        return HS_OK;
    return wait_for(t, at, address, holding == HS_GO_HOLD_BUCKETS ? named : 0, err);
}

static hs_status put(struct hs_go_typing *t, hs_addr at, hs_addr address,
                     enum hs_go_holding holding, struct hs_error *err)
{
    hs_addr element;

    if (address != 0 && address == t->map)
        return HS_OK;
    if (address != 0 && address == t->channel) {
        element = hs_go_member(t->heap, at, t->heap->layout->hchan_elemtype);
        return put_as(t, at, element, element, HS_GO_HOLD_CHAN, err);
    }
    if (holding == HS_GO_HOLD_ONE)
        HS_TRY(put_static(t, at, address, err));
    return put_as(t, at, address, address, holding, err);
}

/* Says that an object has a type whose words are told by the runtime, not by fields. */
static hs_status put_record(struct hs_go_typing *t, hs_addr at, hs_addr address,
                            enum hs_go_holding holding, bool *ret_is_new, struct hs_error *err)
{
    struct hs_go_block block;
    struct hs_go_type type;
    uint64_t rank;
    uint32_t number;

    *ret_is_new = false;
    if (!find_untyped(t, at, &block, &rank) || !hs_go_read_type(t->heap, address, &type))
        return HS_OK;
    HS_TRY(number_of(t, &type, address, holding, &number, err));
    set_type(t, &block, rank, number);
    *ret_is_new = true;
    return HS_OK;
}

/* Says that a text's bytes begin at an address: in an object of which it is a part. */
static hs_status put_text(struct hs_go_typing *t, hs_addr at, struct hs_error *err)
{
    enum { WHOLE, PART }; /* no type has these addresses */
    static const struct hs_go_named_type whole = {.form = HS_FORM_STRING},
                                         part = {.form = HS_FORM_GO};
    struct hs_go_block block;

    if (!hs_go_resolve(t->heap, at, &block) || (block.span->spanclass & 1) == 0)
        return HS_OK;
    uint64_t rank = hs_bitmap_rank(&t->heap->live, block.slot);
    if (t->of_rank[rank] != 0)
        return HS_OK;
    /* Tiny objects share a slot. */
    bool is_part = at != block.begin && block.span->elem_bytes > HS_GO_TINY_BYTES;
    const uint64_t *known = hs_dict_find(&t->numbers, is_part ? PART : WHOLE);
    uint32_t number = known == NULL ? 0 : (uint32_t)*known;
    if (known == NULL)
        HS_TRY(add_type(t, is_part ? PART : WHOLE, is_part ? "array behind a substring" : "string",
                        is_part ? part : whole, &number, err));
    set_type(t, &block, rank, number);
    return HS_OK;
}

/* Says that a closure begins at an address: its first word is where a function begins. */
static hs_status put_closure(struct hs_go_typing *t, hs_addr at, struct hs_error *err)
{
    struct hs_go_block block;
    struct hs_go_function function;
    char name[HS_GO_NAME_BYTES], text[HS_GO_NAME_BYTES + 16];
    uint64_t rank, key;
    uint32_t number;

    if (!find_untyped(t, at, &block, &rank))
        return HS_OK;
    hs_addr entry = hs_go_member(t->heap, at, 0);
    if (!hs_go_function_at(t->heap, entry, &function) || function.entry != entry ||
        !hs_go_function_name(t->heap, &function, name, sizeof name))
        return HS_OK;
    key = entry * HS_GO_N_HOLDINGS + HS_GO_HOLD_CLOSURE;
    const uint64_t *known = hs_dict_find(&t->numbers, key),
                   *of = hs_dict_find(&t->code->closures, entry);
    struct hs_go_named_type made = {.form = HS_FORM_GO, .holding = HS_GO_HOLD_CLOSURE};
    made.type = of == NULL ? 0 : *of;
    number = known == NULL ? 0 : (uint32_t)*known;
    snprintf(text, sizeof text, "closure %s", name);
    if (known == NULL)
        HS_TRY(add_type(t, key, text, made, &number, err));
    set_type(t, &block, rank, number);
    return made.type == 0 ? HS_OK : wait_for(t, at, made.type, 0, err);
}

/* ---- maps */

/* Up to 1.23: {count, ..., log2 of buckets +9, buckets +16, old ones +24}. */
static hs_status put_buckets(struct hs_go_typing *t, hs_addr map, hs_addr type, hs_addr bucket,
                             struct hs_error *err)
{
    enum { LOG_AT = 9, LOG_MAX = 40, OLD_AT = 24 };
    uint64_t buckets = hs_go_member(t->heap, map, HS_GO_MAP_ENTRIES_AT);
    uint8_t log;

    HS_TRY(put_as(t, buckets, bucket, type, HS_GO_HOLD_BUCKETS, err));
    HS_TRY(put_as(t, hs_go_member(t->heap, map, OLD_AT), bucket, type, HS_GO_HOLD_BUCKETS, err));
    if (!hs_image_u8(&t->heap->dump->image, map + LOG_AT, &log) || log > LOG_MAX)
        return HS_OK;
    return count(t, buckets, hs_go_member(t->heap, map, 0), UINT64_C(8) << log, 1, err);
}

/* Since 1.24: one group, or a directory of tables of groups, each of them several times in a row.
 */
static hs_status put_groups(struct hs_go_typing *t, hs_addr map, hs_addr type, hs_addr group,
                            struct hs_error *err)
{
    enum { LENGTH_AT = 24, GROUPS_AT = 16, USED_BITS = 16 };
    uint64_t begin = hs_go_member(t->heap, map, HS_GO_MAP_ENTRIES_AT), table, last = 0, room = 0;
    uint64_t n = hs_go_member(t->heap, map, LENGTH_AT);
    struct hs_go_block block;
    bool is_new;

    if (n == 0)
        return put_as(t, begin, group, type, HS_GO_HOLD_BUCKETS, err);
    HS_TRY(put_record(t, begin, type, HS_GO_HOLD_DIRECTORY, &is_new, err));
    if (!is_new || !hs_go_resolve(t->heap, begin, &block) ||
        n > block.span->elem_bytes / HS_WORD_BYTES)
        return HS_OK;
    for (uint64_t i = 0; i < n; i++, last = table) {
        table = hs_go_member(t->heap, begin, (int64_t)(i * HS_WORD_BYTES));
        if (table == 0 || table == last)
            continue;
        /* {used, capacity, ...}: 16 bits each */
        uint64_t head = hs_go_member(t->heap, table, 0);
        hs_addr groups = hs_go_member(t->heap, table, GROUPS_AT);
        uint64_t used = head & UINT16_MAX, capacity = head >> USED_BITS & UINT16_MAX;
        HS_TRY(put_record(t, table, type, HS_GO_HOLD_TABLE, &is_new, err));
        HS_TRY(put_as(t, groups, group, type, HS_GO_HOLD_BUCKETS, err));
        HS_TRY(count(t, groups, used, capacity, 1, err));
        room += capacity;
    }
    return count(t, begin, hs_go_member(t->heap, map, 0), room, 0, err);
}

hs_status hs_go_put_entries(struct hs_go_typing *t, hs_addr map, hs_addr type, struct hs_error *err)
{
    uint64_t bucket;

    if (!hs_go_u64(t->heap, type + HS_GO_ENTRIES_AT, &bucket))
        return HS_OK;
    return t->heap->layout->minor < HS_GO_MINOR_OF_GROUPS ? put_buckets(t, map, type, bucket, err)
                                                          : put_groups(t, map, type, bucket, err);
}

static hs_status put_map(struct hs_go_typing *t, hs_addr at, hs_addr type, struct hs_error *err)
{
    bool is_new;

    HS_TRY(put_record(t, at, type, HS_GO_HOLD_MAP, &is_new, err));
    return is_new ? hs_go_put_entries(t, at, type, err) : HS_OK;
}

/* ---- words */

/* {entries, room, buffer, bytes of an element, ...}. */
static hs_status put_chan(struct hs_go_typing *t, hs_addr at, hs_addr element, struct hs_error *err)
{
    uint64_t buffer = hs_go_member(t->heap, at, 2 * HS_WORD_BYTES);
    struct hs_go_type type;

    HS_TRY(put(t, at, element, HS_GO_HOLD_CHAN, err));
    HS_TRY(put(t, buffer, element, HS_GO_HOLD_ROW, err));
    return hs_go_read_type(t->heap, element, &type)
               ? count(t, buffer, hs_go_member(t->heap, at, 0),
                       hs_go_member(t->heap, at, HS_WORD_BYTES), type.n_bytes, err)
               : HS_OK;
}

/* {first, entries, room}. */
static hs_status put_slice(struct hs_go_typing *t, hs_addr slice, uint64_t first, hs_addr element,
                           struct hs_error *err)
{
    struct hs_go_type type;

    HS_TRY(put(t, first, element, HS_GO_HOLD_ROW, err));
    return hs_go_read_type(t->heap, element, &type)
               ? count(t, first, hs_go_member(t->heap, slice, HS_WORD_BYTES),
                       hs_go_member(t->heap, slice, 2 * HS_WORD_BYTES), type.n_bytes, err)
               : HS_OK;
}

hs_status hs_go_put(struct hs_go_typing *t, hs_addr at, uint64_t word, hs_addr type,
                    enum hs_go_holding holding, struct hs_error *err)
{
    (void)at;
    if (holding == HS_GO_HOLD_MAP)
        return put_map(t, word, type, err);
    return holding == HS_GO_HOLD_CHAN ? put_chan(t, word, type, err)
                                      : put(t, word, type, holding, err);
}

/* Says that the data word of an interface leads to an address. */
static hs_status put_dynamic(struct hs_go_typing *t, hs_addr at, hs_addr address,
                             struct hs_error *err)
{
    struct hs_go_type type;
    uint64_t of = 0;

    if (!hs_go_read_type(t->heap, address, &type))
        return HS_OK;
    if (!type.is_direct)
        return put(t, at, address, HS_GO_HOLD_ONE, err);
    (void)hs_go_u64(t->heap, address + HS_GO_ELEM_AT, &of);
    switch (type.kind) {
    case HS_GO_POINTER:
        return put(t, at, of, HS_GO_HOLD_ONE, err);
    case HS_GO_MAP:
        return put_map(t, at, address, err);
    case HS_GO_CHAN:
        return put_chan(t, at, of, err);
    case HS_GO_FUNC:
        return put_closure(t, at, err);
    default:
        return HS_OK;
    }
}

/* Finds the type that the first word of an interface says; 0: it says none. */
static hs_status dynamic_type(struct hs_go_typing *t, uint64_t word, hs_addr *ret,
                              struct hs_error *err)
{
    const struct hs_object *program = &t->heap->dump->objects.objects[0];

    *ret = 0;
    if (word < program->begin || word >= program->end || word % HS_WORD_BYTES != 0)
        return HS_OK;
    const uint64_t *known = hs_dict_find(&t->dynamic, word);
    if (known != NULL) {
        *ret = *known;
        return HS_OK;
    }
    *ret = hs_go_dynamic_type(t->heap, word);
    return hs_dict_put(&t->dynamic, word, *ret, err);
}

/* Takes a pointer with the word before it as an interface, where they are one. */
static hs_status try_interface(struct hs_go_typing *t, uint64_t before, uint64_t word,
                               struct hs_error *err)
{
    hs_addr type;

    HS_TRY(dynamic_type(t, before, &type, err));
    return type == 0 ? HS_OK : put_dynamic(t, word, type, err);
}

/* ---- what stands at an offset of a type */

static hs_status slot_of(struct hs_go_typing *t, hs_addr type, uint64_t offset,
                         struct hs_go_slot_kind *ret, struct hs_error *err)
{
    const uint64_t *known =
        offset < UINT16_MAX ? hs_dict_find(&t->slots, type << 16 | offset) : NULL;

    if (known != NULL) {
        *ret = t->kinds[*known];
        return HS_OK;
    }
    *ret = hs_go_find_slot(t->heap, type, offset);
    if (ret->holder != 0 && ret->of == 0 && hs_go_is_named(t->heap, ret->holder, "sync.Pool"))
        ret->of = t->pool_part;
    if (offset >= UINT16_MAX || t->n_kinds == SLOTS_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&t->kinds, &t->kinds_capacity, t->n_kinds + 1, err));
    HS_TRY(hs_dict_put(&t->slots, type << 16 | offset, t->n_kinds, err));
    t->kinds[t->n_kinds++] = *ret;
    return HS_OK;
}

/* Follows the pointer `word` that stands at an address, which a type says what it leads to. */
static hs_status follow_word(struct hs_go_typing *t, const struct hs_go_slot_kind *slot, hs_addr at,
                             uint64_t word, struct hs_error *err)
{
    enum hs_go_holding holding;

    switch (slot->kind) {
    case HS_GO_POINTER:
        return put(t, word, slot->of, HS_GO_HOLD_ONE, err);
    case HS_GO_SLICE:
        return put_slice(t, at, word, slot->of, err);
    case HS_GO_STRING:
        return put_text(t, word, err);
    case HS_GO_MAP:
        return put_map(t, word, slot->of, err);
    case HS_GO_CHAN:
        return put_chan(t, word, slot->of, err);
    case HS_GO_FUNC:
        return put_closure(t, word, err);
    case HS_GO_INTERFACE:
        return try_interface(t, hs_go_member(t->heap, at - HS_WORD_BYTES, 0), word, err);
    case HS_GO_UNSAFE:
        holding = slot->of == t->pool_part ? HS_GO_HOLD_ROW : HS_GO_HOLD_ONE;
        return hs_go_fits(t->heap, word, slot->of, holding) ? put(t, word, slot->of, holding, err)
                                                            : HS_OK;
    default:
        return HS_OK;
    }
}

hs_status hs_go_follow(struct hs_go_typing *t, hs_addr type, uint64_t offset, hs_addr at,
                       uint64_t word, struct hs_error *err)
{
    struct hs_go_slot_kind slot;

    HS_TRY(slot_of(t, type, offset, &slot, err));
    return follow_word(t, &slot, at, word, err);
}

/* Follows the words of a value in the module's data. */
static hs_status follow_static(struct hs_go_typing *t, const struct hs_go_typed *typed,
                               struct hs_error *err)
{
    uint64_t word;

    for (uint64_t offset = 0; offset < typed->n_bytes; offset += HS_WORD_BYTES)
        if (hs_go_u64(t->heap, typed->begin + offset, &word) && word != 0)
            HS_TRY(hs_go_follow(t, typed->type, offset, typed->begin + offset, word, err));
    return HS_OK;
}

/* Follows the pointers of an object, one value of its type after the other. */
static hs_status follow(struct hs_go_typing *t, const struct hs_go_typed *typed,
                        struct hs_error *err)
{
    struct hs_go_block block;
    struct hs_go_type type;
    struct hs_go_slot_kind slot;
    uint64_t word, offset;

    if (!hs_go_resolve(t->heap, typed->begin, &block) ||
        !hs_go_read_type(t->heap, typed->type, &type) || type.n_bytes == 0)
        return HS_OK;
    struct hs_go_pointers it = hs_go_pointers_begin(t->heap, &block);
    while (hs_go_pointers_next(&it, &word, &offset)) {
        hs_addr at = block.begin + offset * HS_WORD_BYTES;
        if (at < typed->begin)
            continue;
        uint64_t within = (at - typed->begin) % type.n_bytes;
        HS_TRY(slot_of(t, typed->type, within, &slot, err));
        if (typed->map != 0 && within + HS_WORD_BYTES == type.n_bytes &&
            slot.kind == HS_GO_UNSAFE) /* the overflow of a bucket */
            HS_TRY(put_as(t, word, typed->type, typed->map, HS_GO_HOLD_BUCKETS, err));
        else
            HS_TRY(follow_word(t, &slot, at, word, err));
    }
    return HS_OK;
}

/* ---- where types come from */

/* Tells whether a type is one that maps are made of: which map it is, whoever has the map says. */
static bool is_part_of_map(const struct hs_go_typing *t, const struct hs_go_type *type)
{
    static const char *const begins[] = {"map.", "maps.", "*maps.", "noalg.map."};
    char name[HS_GO_TYPE_NAME_BYTES];

    if (!hs_go_type_name(t->heap, type, name))
        return false;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

/* Takes the type that an object begins with; that of a part of a map only when it is asked again.
 */
static hs_status see_header(struct hs_go_typing *t, const struct hs_go_block *block, bool is_first,
                            struct hs_error *err)
{
    const struct hs_go_span *span = block->span;
    bool is_large = span->spanclass / 2 == 0;
    uint64_t header = hs_go_header_bytes(t->heap, span);

    if (t->heap->layout->minor < MINOR_OF_HEADERS || (span->spanclass & 1) != 0 ||
        span->elem_bytes <= HEADER_FROM_BYTES)
        return HS_OK;
    hs_addr address = is_large
                          ? hs_go_member(t->heap, span->record, t->heap->layout->mspan_largeType)
                          : hs_go_member(t->heap, block->begin, 0);
    struct hs_go_type type;
    uint64_t room = span->elem_bytes - header;
    if (!hs_go_read_type(t->heap, address, &type) || type.n_bytes == 0 ||
        (is_first && is_part_of_map(t, &type)))
        return HS_OK;
    return put(t, block->begin + header, address,
               room / type.n_bytes >= 2 ? HS_GO_HOLD_ROW : HS_GO_HOLD_ONE, err);
}

/* Looks at an object for the types of others: interfaces among its words. */
static hs_status see_object(struct hs_go_typing *t, const struct hs_go_block *block,
                            struct hs_error *err)
{
    struct hs_go_pointers it = hs_go_pointers_begin(t->heap, block);
    uint64_t word, offset, before;

    HS_TRY(see_header(t, block, true, err));
    while (hs_go_pointers_next(&it, &word, &offset)) {
        if (offset == 0)
            continue;
        before = hs_go_member(t->heap, block->begin, (int64_t)((offset - 1) * HS_WORD_BYTES));
        HS_TRY(try_interface(t, before, word, err));
    }
    return HS_OK;
}

static hs_status see_statics(struct hs_go_typing *t, struct hs_error *err)
{
    const struct hs_image *image = &t->heap->dump->image;

    for (unsigned i = 0; i < HS_GO_NOPTRDATA; i++) {
        const struct hs_go_data *data = &t->heap->module.data[i];
        uint64_t before = 0, word = 0;
        for (hs_addr at = data->begin; at + HS_WORD_BYTES <= data->end; at += HS_WORD_BYTES) {
            before = word;
            if (!hs_image_u64(image, at, &word))
                word = 0;
            if (word != 0 && before != 0)
                HS_TRY(try_interface(t, before, word, err));
        }
    }
    return HS_OK;
}

static hs_status see_slot(void *context, hs_addr at, uint64_t word, bool is_exact,
                          struct hs_error *err)
{
    struct hs_go_typing *t = context;
    (void)is_exact;

    return try_interface(t, hs_go_member(t->heap, at - HS_WORD_BYTES, 0), word, err);
}

static hs_status see_objects(struct hs_go_typing *t, bool is_first, struct hs_error *err)
{
    const struct hs_go_heap *heap = t->heap;
    size_t span = 0;

    for (uint64_t slot = hs_bitmap_next(&heap->live, 0); slot < heap->live.n_bits;
         slot = hs_bitmap_next(&heap->live, slot + 1)) {
        while (heap->spans[span].first_slot + heap->spans[span].n_elems <= slot)
            span++;
        const struct hs_go_span *s = &heap->spans[span];
        const struct hs_go_block block = {
            .span = s, .slot = slot, .begin = s->begin + (slot - s->first_slot) * s->elem_bytes};
        if (s->is_stack || (s->spanclass & 1) != 0)
            continue;
        HS_TRY(is_first ? see_object(t, &block, err) : see_header(t, &block, is_first, err));
    }
    return HS_OK;
}

static hs_status see_all(struct hs_go_typing *t, struct hs_go_goroutines *gs, struct hs_error *err)
{
    HS_TRY(see_statics(t, err));
    for (size_t i = 0; i < gs->n; i++)
        HS_TRY(hs_go_walk_stack(gs, &gs->goroutines[i], see_slot, t, err));
    return see_objects(t, true, err);
}

static hs_status follow_all(struct hs_go_typing *t, struct hs_error *err)
{
    while (t->n_waiting != 0) {
        const struct hs_go_typed typed = t->waiting[--t->n_waiting];
        HS_TRY(typed.n_bytes != 0 ? follow_static(t, &typed, err) : follow(t, &typed, err));
    }
    return HS_OK;
}

hs_status hs_go_see_types(const struct hs_go_heap *heap, struct hs_go_goroutines *gs,
                          struct hs_go_typing *ret, struct hs_error *err)
{
    ret->heap = heap;
    ret->channel = hs_go_type_named(ret->code, "runtime.hchan");
    ret->map = hs_go_type_named(
        ret->code, heap->layout->minor < HS_GO_MINOR_OF_GROUPS ? "runtime.hmap" : "maps.Map");
    ret->pool_part = hs_go_type_named(ret->code, "sync.poolLocal");
    HS_TRY(HS_PAGES_ALLOC(&ret->of_rank, heap->n_live + 1, err));
    ret->n_ranks = heap->n_live + 1;
    ret->goroutines = gs;
    return see_all(ret, gs, err);
}

hs_status hs_go_follow_types(struct hs_go_typing *t, struct hs_error *err)
{
    HS_TRY(follow_all(t, err));
    if (t->heap->layout->minor < MINOR_OF_HEADERS)
        return HS_OK;
    HS_TRY(see_objects(t, false, err));
    return follow_all(t, err);
}
