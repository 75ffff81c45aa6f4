#include "typing.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "pointers.h"

enum {
    TYPE_BYTES = 48,
    FLAGS_AT = 20,
    ALIGN_AT = 21,
    KIND_AT = 23,
    NAME_AT = 40,
    ELEM_AT = 48,
    FIELDS_AT = 56,
    FIELD_BYTES = 24,
    FIELDS_MAX = 1 << 16,
    MAP_BUCKET_AT = 64, /* of buckets, since 1.24 of groups */
    DEPTH_MAX = 64,
    NAME_BYTES = 512,
    SLOTS_MAX = 1 << 22,
    KIND_MASK = 31
};
enum type_kind {
    KIND_ARRAY = 17,
    KIND_CHAN,
    KIND_FUNC,
    KIND_INTERFACE,
    KIND_MAP,
    KIND_POINTER,
    KIND_SLICE,
    KIND_STRING,
    KIND_STRUCT,
    KIND_UNSAFE
};
enum { FLAG_STAR = 2, KIND_DIRECT = 32, FLAG_DIRECT = 32, MINOR_OF_FLAG_DIRECT = 26 };
enum { MINOR_OF_GROUPS = 24, MINOR_OF_HEADERS = 22, HEADER_FROM_BYTES = 512 };
/* The holding of a value: one, or several in a row. */
enum holding { HOLD_ONE, HOLD_ROW, HOLD_CHAN, HOLD_CLOSURE, N_HOLDINGS };

/* A word of a type: what it leads to. */
struct hs_go_slot_kind {
    uint8_t kind; /* enum type_kind; 0: nothing that is known */
    hs_addr of;   /* the type of what it leads to; of a map the map's */
};

struct go_type {
    hs_addr address;
    uint64_t n_bytes;
    unsigned kind, flags;
    bool is_direct;
};

void hs_go_typing_fini(struct hs_go_typing *t)
{
    hs_pages_free(t->of_rank, t->n_ranks, sizeof *t->of_rank);
    hs_free(t->types);
    hs_free(t->kinds);
    hs_free(t->waiting);
    hs_dict_fini(&t->numbers);
    hs_dict_fini(&t->slots);
    hs_dict_fini(&t->dynamic);
    *t = (struct hs_go_typing){0};
}

/* ---- types */

static bool read_type(const struct hs_go_heap *heap, hs_addr address, struct go_type *ret)
{
    const struct hs_go_module *m = &heap->module;

    if (address < m->types || address >= m->etypes || address % HS_WORD_BYTES != 0)
        return false;
    const uint8_t *bytes = hs_go_bytes(heap, address, TYPE_BYTES);
    if (bytes == NULL)
        return false;
    uint8_t kind = bytes[KIND_AT], align = bytes[ALIGN_AT];
    *ret = (struct go_type){.address = address,
                            .n_bytes = hs_load_u64(bytes),
                            .kind = kind & KIND_MASK,
                            .flags = bytes[FLAGS_AT],
                            .is_direct = heap->layout->minor < MINOR_OF_FLAG_DIRECT
                                             ? (kind & KIND_DIRECT) != 0
                                             : (bytes[FLAGS_AT] & FLAG_DIRECT) != 0};
    uint64_t pointer_bytes = hs_load_u64(bytes + HS_WORD_BYTES);
    uint32_t name = hs_load_u32(bytes + NAME_AT);
    return pointer_bytes <= ret->n_bytes && ret->kind != 0 && ret->kind <= KIND_UNSAFE &&
           align != 0 && align <= 16 && (align & (align - 1)) == 0 && name != 0 &&
           name < m->etypes - m->types;
}

/* Reads a name: a byte of flags, the length, the text. */
static bool type_name(const struct hs_go_heap *heap, const struct go_type *type, char *text)
{
    uint32_t offset;
    const uint8_t *bytes;
    size_t n = 0, at = 1, skips = (type->flags & FLAG_STAR) != 0;

    if (!hs_go_u32(heap, type->address + NAME_AT, &offset) ||
        (bytes = hs_go_bytes(heap, heap->module.types + offset, 4)) == NULL)
        return false;
    n = bytes[at] & 127;
    if ((bytes[at++] & 128) != 0)
        n |= (size_t)(bytes[at++] & 127) << 7;
    if (n <= skips || n >= NAME_BYTES ||
        (bytes = hs_go_bytes(heap, heap->module.types + offset + at, n)) == NULL)
        return false;
    memcpy(text, bytes + skips, n - skips);
    text[n - skips] = '\0';
    return true;
}

static hs_status add_type(struct hs_go_typing *t, uint64_t key, const char *name, uint8_t form,
                          uint32_t *ret, struct hs_error *err)
{
    struct hs_go_named_type type = {.form = form};

    HS_TRY(hs_strtab_add(&t->heap->dump->strings, name, &type.name, err));
    HS_TRY(HS_GROW(&t->types, &t->types_capacity, t->n_types + 1, err));
    HS_TRY(hs_dict_put(&t->numbers, key, t->n_types, err));
    *ret = (uint32_t)t->n_types;
    t->types[t->n_types++] = type;
    return HS_OK;
}

/* Finds the number of a type as it is held: "tsdb.Head", "[]string", "chan int". */
static hs_status number_of(struct hs_go_typing *t, const struct go_type *type, enum holding holding,
                           uint32_t *ret, struct hs_error *err)
{
    static const char *const before[N_HOLDINGS] = {
        [HOLD_ONE] = "", [HOLD_ROW] = "[]", [HOLD_CHAN] = "chan "};
    uint64_t key = type->address * N_HOLDINGS + holding;
    const uint64_t *known = hs_dict_find(&t->numbers, key);
    char name[NAME_BYTES], text[NAME_BYTES + 8];

    if (known != NULL) {
        *ret = (uint32_t)*known;
        return HS_OK;
    }
    if (!type_name(t->heap, type, name))
        snprintf(name, sizeof name, "a type without a name");
    snprintf(text, sizeof text, "%s%s", before[holding], name);
    return add_type(t, key, text, HS_FORM_RECORD, ret, err);
}

/* ---- objects */

/* Finds the live object that begins at an address, behind its header where it has one, and has no
 * type yet. */
static bool find_untyped(const struct hs_go_typing *t, hs_addr at, struct hs_go_block *ret,
                         uint64_t *ret_rank)
{
    if (!hs_go_resolve(t->heap, at, ret))
        return false;
    bool has_header = t->heap->layout->minor >= MINOR_OF_HEADERS && ret->span->spanclass > 1 &&
                      (ret->span->spanclass & 1) == 0 && ret->span->elem_bytes > HEADER_FROM_BYTES;
    if (at != ret->begin + (has_header ? HS_WORD_BYTES : 0))
        return false;
    *ret_rank = hs_bitmap_rank(&t->heap->live, ret->slot);
    return t->of_rank[*ret_rank] == 0;
}

static void set_type(struct hs_go_typing *t, const struct hs_go_block *block, uint64_t rank,
                     uint32_t number)
{
    t->of_rank[rank] = number + 1;
    t->n_typed++;
    t->typed_bytes += block->span->elem_bytes;
}

/* Says that values of a type begin at an address. */
static hs_status put(struct hs_go_typing *t, hs_addr at, hs_addr address, enum holding holding,
                     struct hs_error *err)
{
    struct hs_go_block block;
    struct go_type type;
    uint64_t rank;
    uint32_t number;

    if (!find_untyped(t, at, &block, &rank) || !read_type(t->heap, address, &type) ||
        type.n_bytes == 0 || (holding == HOLD_ONE && type.n_bytes > block.span->elem_bytes))
        return HS_OK;
    HS_TRY(number_of(t, &type, holding, &number, err));
    set_type(t, &block, rank, number);
    if (holding == HOLD_CHAN || (block.span->spanclass & 1) != 0)
        return HS_OK;
    HS_TRY(HS_GROW(&t->waiting, &t->waiting_capacity, t->n_waiting + 1, err));
    t->waiting[t->n_waiting++] = (struct hs_go_typed){.begin = at, .type = address};
    return HS_OK;
}

/* Says that a text's bytes begin at an address. */
static hs_status put_text(struct hs_go_typing *t, hs_addr at, struct hs_error *err)
{
    struct hs_go_block block;
    uint64_t rank;
    const uint64_t *known = hs_dict_find(&t->numbers, 0);
    uint32_t number = known == NULL ? 0 : (uint32_t)*known;

    if (!find_untyped(t, at, &block, &rank) || (block.span->spanclass & 1) == 0)
        return HS_OK;
    if (known == NULL)
        HS_TRY(add_type(t, 0, "string", HS_FORM_STRING, &number, err));
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
    key = entry * N_HOLDINGS + HOLD_CLOSURE;
    const uint64_t *known = hs_dict_find(&t->numbers, key);
    number = known == NULL ? 0 : (uint32_t)*known;
    snprintf(text, sizeof text, "closure %s", name);
    if (known == NULL)
        HS_TRY(add_type(t, key, text, HS_FORM_CLOSURE, &number, err));
    set_type(t, &block, rank, number);
    return HS_OK;
}

/* ---- maps */

/* Up to 1.23: {count, ..., buckets +16, old ones +24}. */
static hs_status put_buckets(struct hs_go_typing *t, hs_addr map, hs_addr bucket,
                             struct hs_error *err)
{
    HS_TRY(put(t, hs_go_member(t->heap, map, 16), bucket, HOLD_ROW, err));
    return put(t, hs_go_member(t->heap, map, 24), bucket, HOLD_ROW, err);
}

/* Since 1.24: one group, or a directory of tables of groups, each of them several times in a row.
 */
static hs_status put_groups(struct hs_go_typing *t, hs_addr map, hs_addr group,
                            struct hs_error *err)
{
    enum { DIRECTORY_AT = 16, LENGTH_AT = 24, GROUPS_AT = 16 };
    uint64_t begin = hs_go_member(t->heap, map, DIRECTORY_AT), table, last = 0;
    uint64_t n = hs_go_member(t->heap, map, LENGTH_AT);
    struct hs_go_block block;

    if (n == 0)
        return put(t, begin, group, HOLD_ONE, err);
    if (!hs_go_resolve(t->heap, begin, &block) || n > block.span->elem_bytes / HS_WORD_BYTES)
        return HS_OK;
    for (uint64_t i = 0; i < n; i++, last = table) {
        table = hs_go_member(t->heap, begin, (int64_t)(i * HS_WORD_BYTES));
        if (table != 0 && table != last)
            HS_TRY(put(t, hs_go_member(t->heap, table, GROUPS_AT), group, HOLD_ROW, err));
    }
    return HS_OK;
}

static hs_status put_map(struct hs_go_typing *t, hs_addr at, hs_addr type, struct hs_error *err)
{
    struct hs_go_block block;
    struct go_type map;
    uint64_t rank, bucket;
    uint32_t number;

    if (!find_untyped(t, at, &block, &rank) || !read_type(t->heap, type, &map) ||
        !hs_go_u64(t->heap, type + MAP_BUCKET_AT, &bucket))
        return HS_OK;
    HS_TRY(number_of(t, &map, HOLD_ONE, &number, err));
    set_type(t, &block, rank, number);
    return t->heap->layout->minor < MINOR_OF_GROUPS ? put_buckets(t, at, bucket, err)
                                                    : put_groups(t, at, bucket, err);
}

/* ---- words */

static hs_status put_chan(struct hs_go_typing *t, hs_addr at, hs_addr element, struct hs_error *err)
{
    uint64_t buffer = hs_go_member(t->heap, at, 2 * HS_WORD_BYTES);

    HS_TRY(put(t, at, element, HOLD_CHAN, err));
    return put(t, buffer, element, HOLD_ROW, err);
}

/* Says that the data word of an interface leads to an address. */
static hs_status put_dynamic(struct hs_go_typing *t, hs_addr at, hs_addr address,
                             struct hs_error *err)
{
    struct go_type type;
    uint64_t of = 0;

    if (!read_type(t->heap, address, &type))
        return HS_OK;
    if (!type.is_direct)
        return put(t, at, address, HOLD_ONE, err);
    (void)hs_go_u64(t->heap, address + ELEM_AT, &of);
    switch (type.kind) {
    case KIND_POINTER:
        return put(t, at, of, HOLD_ONE, err);
    case KIND_MAP:
        return put_map(t, at, address, err);
    case KIND_CHAN:
        return put_chan(t, at, of, err);
    case KIND_FUNC:
        return put_closure(t, at, err);
    default:
        return HS_OK;
    }
}

/* Finds the type that the first word of an interface says: it is one, or a table of methods
 * {interface, type}. 0: it says none. */
static hs_status dynamic_type(struct hs_go_typing *t, uint64_t word, hs_addr *ret,
                              struct hs_error *err)
{
    const struct hs_object *program = &t->heap->dump->objects.objects[0];
    struct go_type type, of;
    uint64_t first, second;

    *ret = 0;
    if (word < program->begin || word >= program->end || word % HS_WORD_BYTES != 0)
        return HS_OK;
    const uint64_t *known = hs_dict_find(&t->dynamic, word);
    if (known != NULL) {
        *ret = *known;
        return HS_OK;
    }
    if (read_type(t->heap, word, &type))
        *ret = word;
    else if (hs_go_u64(t->heap, word, &first) && hs_go_u64(t->heap, word + 8, &second) &&
             read_type(t->heap, first, &type) && type.kind == KIND_INTERFACE &&
             read_type(t->heap, second, &of))
        *ret = second;
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

static bool field_at(const struct hs_go_heap *heap, hs_addr type, uint64_t *offset, hs_addr *ret)
{
    uint64_t fields, n;
    const uint8_t *bytes;

    if (!hs_go_u64(heap, type + FIELDS_AT, &fields) ||
        !hs_go_u64(heap, type + FIELDS_AT + HS_WORD_BYTES, &n) || n == 0 || n > FIELDS_MAX ||
        (bytes = hs_go_bytes(heap, fields, n * FIELD_BYTES)) == NULL)
        return false;
    for (uint64_t i = n; i-- > 0;) {
        uint64_t begin = hs_load_u64(bytes + i * FIELD_BYTES + 16);
        struct go_type of;
        if (begin > *offset || !read_type(heap, hs_load_u64(bytes + i * FIELD_BYTES + 8), &of) ||
            *offset - begin >= of.n_bytes)
            continue;
        *offset -= begin;
        *ret = of.address;
        return true;
    }
    return false;
}

static struct hs_go_slot_kind find_slot(const struct hs_go_heap *heap, hs_addr address,
                                        uint64_t offset)
{
    struct go_type type, of;
    uint64_t element;

    for (unsigned i = 0; i < DEPTH_MAX && read_type(heap, address, &type); i++) {
        if (type.kind == KIND_STRUCT) {
            if (!field_at(heap, address, &offset, &address))
                break;
            continue;
        }
        if (!hs_go_u64(heap, address + ELEM_AT, &element))
            break;
        if (type.kind == KIND_ARRAY) {
            if (!read_type(heap, element, &of) || of.n_bytes == 0)
                break;
            offset %= of.n_bytes;
            address = element;
            continue;
        }
        return (struct hs_go_slot_kind){.kind = (uint8_t)type.kind,
                                        .of = type.kind == KIND_MAP ? address : element};
    }
    return (struct hs_go_slot_kind){.kind = 0};
}

static hs_status slot_of(struct hs_go_typing *t, hs_addr type, uint64_t offset,
                         struct hs_go_slot_kind *ret, struct hs_error *err)
{
    const uint64_t *known =
        offset < UINT16_MAX ? hs_dict_find(&t->slots, type << 16 | offset) : NULL;

    if (known != NULL) {
        *ret = t->kinds[*known];
        return HS_OK;
    }
    *ret = find_slot(t->heap, type, offset);
    if (offset >= UINT16_MAX || t->n_kinds == SLOTS_MAX)
        return HS_OK;
    HS_TRY(HS_GROW(&t->kinds, &t->kinds_capacity, t->n_kinds + 1, err));
    HS_TRY(hs_dict_put(&t->slots, type << 16 | offset, t->n_kinds, err));
    t->kinds[t->n_kinds++] = *ret;
    return HS_OK;
}

static hs_status follow_word(struct hs_go_typing *t, const struct hs_go_slot_kind *slot,
                             uint64_t before, uint64_t word, struct hs_error *err)
{
    switch (slot->kind) {
    case KIND_POINTER:
        return put(t, word, slot->of, HOLD_ONE, err);
    case KIND_SLICE:
        return put(t, word, slot->of, HOLD_ROW, err);
    case KIND_STRING:
        return put_text(t, word, err);
    case KIND_MAP:
        return put_map(t, word, slot->of, err);
    case KIND_CHAN:
        return put_chan(t, word, slot->of, err);
    case KIND_FUNC:
        return put_closure(t, word, err);
    case KIND_INTERFACE:
        return try_interface(t, before, word, err);
    default:
        return HS_OK;
    }
}

/* Follows the pointers of an object, one value of its type after the other. */
static hs_status follow(struct hs_go_typing *t, const struct hs_go_typed *typed,
                        struct hs_error *err)
{
    struct hs_go_block block;
    struct go_type type;
    struct hs_go_slot_kind slot;
    uint64_t word, offset;

    if (!hs_go_resolve(t->heap, typed->begin, &block) || !read_type(t->heap, typed->type, &type) ||
        type.n_bytes == 0)
        return HS_OK;
    struct hs_go_pointers it = hs_go_pointers_begin(t->heap, &block);
    while (hs_go_pointers_next(&it, &word, &offset)) {
        hs_addr at = block.begin + offset * HS_WORD_BYTES;
        if (at < typed->begin)
            continue;
        HS_TRY(slot_of(t, typed->type, (at - typed->begin) % type.n_bytes, &slot, err));
        HS_TRY(follow_word(t, &slot, hs_go_member(t->heap, at - HS_WORD_BYTES, 0), word, err));
    }
    return HS_OK;
}

/* ---- where types come from */

static hs_status see_header(struct hs_go_typing *t, const struct hs_go_block *block,
                            struct hs_error *err)
{
    const struct hs_go_span *span = block->span;
    bool is_large = span->spanclass / 2 == 0;

    if (t->heap->layout->minor < MINOR_OF_HEADERS || (span->spanclass & 1) != 0 ||
        span->elem_bytes <= HEADER_FROM_BYTES)
        return HS_OK;
    hs_addr address = is_large
                          ? hs_go_member(t->heap, span->record, t->heap->layout->mspan_largeType)
                          : hs_go_member(t->heap, block->begin, 0);
    struct go_type type;
    uint64_t room = span->elem_bytes - (is_large ? 0 : HS_WORD_BYTES);
    if (!read_type(t->heap, address, &type) || type.n_bytes == 0)
        return HS_OK;
    return put(t, block->begin + (is_large ? 0 : HS_WORD_BYTES), address,
               room / type.n_bytes >= 2 ? HOLD_ROW : HOLD_ONE, err);
}

/* Looks at an object for the types of others: interfaces among its words. */
static hs_status see_object(struct hs_go_typing *t, const struct hs_go_block *block,
                            struct hs_error *err)
{
    struct hs_go_pointers it = hs_go_pointers_begin(t->heap, block);
    uint64_t word, offset, before;

    HS_TRY(see_header(t, block, err));
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

static hs_status see_all(struct hs_go_typing *t, struct hs_go_goroutines *gs, struct hs_error *err)
{
    const struct hs_go_heap *heap = t->heap;
    size_t span = 0;

    HS_TRY(see_statics(t, err));
    for (size_t i = 0; i < gs->n; i++)
        HS_TRY(hs_go_walk_stack(gs, &gs->goroutines[i], see_slot, t, err));
    for (uint64_t slot = hs_bitmap_next(&heap->live, 0); slot < heap->live.n_bits;
         slot = hs_bitmap_next(&heap->live, slot + 1)) {
        while (heap->spans[span].first_slot + heap->spans[span].n_elems <= slot)
            span++;
        const struct hs_go_span *s = &heap->spans[span];
        const struct hs_go_block block = {
            .span = s, .slot = slot, .begin = s->begin + (slot - s->first_slot) * s->elem_bytes};
        if (!s->is_stack && (s->spanclass & 1) == 0)
            HS_TRY(see_object(t, &block, err));
    }
    return HS_OK;
}

hs_status hs_go_find_types(const struct hs_go_heap *heap, struct hs_go_goroutines *gs,
                           struct hs_go_typing *ret, struct hs_error *err)
{
    ret->heap = heap;
    HS_TRY(HS_PAGES_ALLOC(&ret->of_rank, heap->n_live + 1, err));
    ret->n_ranks = heap->n_live + 1;
    HS_TRY(see_all(ret, gs, err));
    while (ret->n_waiting != 0) {
        const struct hs_go_typed typed = ret->waiting[--ret->n_waiting];
        HS_TRY(follow(ret, &typed, err));
    }
    return HS_OK;
}
