#include "abi.h"

#include <string.h>

#include "base/load.h"

enum {
    TYPE_BYTES = 48,
    PTR_BYTES_AT = 8,
    FLAGS_AT = 20,
    ALIGN_AT = 21,
    KIND_AT = 23,
    NAME_AT = 40,
    FIELDS_AT = 56,
    LENGTH_AT = 64,
    FIELD_BYTES = 24,
    KIND_MASK = 31,
    DEPTH_MAX = 64,
    ALIGN_MAX = 16,
    FLAG_STAR = 2,
    KIND_DIRECT = 32,
    FLAG_DIRECT = 32,
    MINOR_OF_FLAG_DIRECT = 26
};
/* The length of a name: seven bits a byte, two bytes at the most. */
enum { LENGTH_MORE = 128, LENGTH_BITS = 7, LENGTH_MASK = 127 };

bool hs_go_read_type(const struct hs_go_heap *heap, hs_addr address, struct hs_go_type *ret)
{
    const struct hs_go_module *m = &heap->module;

    if (address < m->types || address >= m->etypes || address % HS_WORD_BYTES != 0)
        return false;
    const uint8_t *bytes = hs_go_bytes(heap, address, TYPE_BYTES);
    if (bytes == NULL)
        return false;
    uint8_t kind = bytes[KIND_AT], align = bytes[ALIGN_AT];
    *ret = (struct hs_go_type){.address = address,
                               .n_bytes = hs_load_u64(bytes),
                               .n_pointer_bytes = hs_load_u64(bytes + PTR_BYTES_AT),
                               .kind = kind & KIND_MASK,
                               .flags = bytes[FLAGS_AT],
                               .is_direct = heap->layout->minor < MINOR_OF_FLAG_DIRECT
                                                ? (kind & KIND_DIRECT) != 0
                                                : (bytes[FLAGS_AT] & FLAG_DIRECT) != 0};
    uint32_t name = hs_load_u32(bytes + NAME_AT);
    return ret->n_pointer_bytes <= ret->n_bytes && ret->kind != 0 && ret->kind <= HS_GO_UNSAFE &&
           align != 0 && align <= ALIGN_MAX && (align & (align - 1)) == 0 && name != 0 &&
           name < m->etypes - m->types;
}

/* Finds the text of a name: a byte of flags, the length, the text. */
static const uint8_t *find_text(const struct hs_go_heap *heap, hs_addr name, size_t *ret_n)
{
    const uint8_t *bytes = hs_go_bytes(heap, name, 3);
    size_t at = 1;

    if (bytes == NULL)
        return NULL;
    *ret_n = bytes[at] & LENGTH_MASK;
    if ((bytes[at++] & LENGTH_MORE) != 0)
        *ret_n |= (size_t)(bytes[at++] & LENGTH_MASK) << LENGTH_BITS;
    return *ret_n == 0 ? NULL : hs_go_bytes(heap, name + at, *ret_n);
}

bool hs_go_text(const struct hs_go_heap *heap, hs_addr name, char *text, size_t n)
{
    size_t length;
    const uint8_t *bytes = find_text(heap, name, &length);

    if (bytes == NULL)
        return false;
    length = length < n ? length : n - 1;
    memcpy(text, bytes, length);
    text[length] = '\0';
    return true;
}

bool hs_go_type_name(const struct hs_go_heap *heap, const struct hs_go_type *type, char *text)
{
    size_t skips = (type->flags & FLAG_STAR) != 0, n;
    uint32_t offset;

    if (!hs_go_u32(heap, type->address + NAME_AT, &offset))
        return false;
    const uint8_t *bytes = find_text(heap, heap->module.types + offset, &n);
    if (bytes == NULL || n <= skips || n >= HS_GO_TYPE_NAME_BYTES)
        return false;
    memcpy(text, bytes + skips, n - skips);
    text[n - skips] = '\0';
    return true;
}

bool hs_go_is_named(const struct hs_go_heap *heap, hs_addr type, const char *name)
{
    char text[HS_GO_TYPE_NAME_BYTES];
    struct hs_go_type of;

    return hs_go_read_type(heap, type, &of) && hs_go_type_name(heap, &of, text) &&
           strcmp(text, name) == 0;
}

hs_addr hs_go_dynamic_type(const struct hs_go_heap *heap, uint64_t word)
{
    struct hs_go_type type, of;
    uint64_t first, second;

    if (hs_go_read_type(heap, word, &type))
        return word;
    return word % HS_WORD_BYTES == 0 && hs_go_u64(heap, word, &first) &&
                   hs_go_u64(heap, word + HS_WORD_BYTES, &second) &&
                   hs_go_read_type(heap, first, &type) && type.kind == HS_GO_INTERFACE &&
                   hs_go_read_type(heap, second, &of)
               ? second
               : 0;
}

uint64_t hs_go_n_fields(const struct hs_go_heap *heap, hs_addr type)
{
    uint64_t n = 0;

    return hs_go_u64(heap, type + FIELDS_AT + HS_WORD_BYTES, &n) && n <= HS_GO_FIELDS_MAX ? n : 0;
}

bool hs_go_field(const struct hs_go_heap *heap, hs_addr type, uint64_t number,
                 struct hs_go_field *ret)
{
    uint64_t fields;
    const uint8_t *bytes;

    if (number >= hs_go_n_fields(heap, type) || !hs_go_u64(heap, type + FIELDS_AT, &fields) ||
        (bytes = hs_go_bytes(heap, fields + number * FIELD_BYTES, FIELD_BYTES)) == NULL)
        return false;
    *ret = (struct hs_go_field){.name = hs_load_u64(bytes),
                                .type = hs_load_u64(bytes + HS_WORD_BYTES),
                                .offset = hs_load_u64(bytes + 2ul * HS_WORD_BYTES)};
    return true;
}

bool hs_go_field_at(const struct hs_go_heap *heap, hs_addr type, uint64_t *offset, hs_addr *ret)
{
    struct hs_go_field field;

    for (uint64_t i = hs_go_n_fields(heap, type); i-- > 0;) {
        struct hs_go_type of;
        if (!hs_go_field(heap, type, i, &field) || field.offset > *offset ||
            !hs_go_read_type(heap, field.type, &of) || *offset - field.offset >= of.n_bytes)
            continue;
        *offset -= field.offset;
        *ret = of.address;
        return true;
    }
    return false;
}

uint64_t hs_go_array_length(const struct hs_go_heap *heap, hs_addr type)
{
    uint64_t n = 0;
    return hs_go_u64(heap, type + LENGTH_AT, &n) ? n : 0;
}

/* Finds what an atomic.Pointer leads to: its first field, without room, says so: "_ [0]*T". */
static hs_addr atomic_element(const struct hs_go_heap *heap, hs_addr type)
{
    struct hs_go_type array, pointer;
    struct hs_go_field first;
    uint64_t of, element;

    return hs_go_field(heap, type, 0, &first) && hs_go_read_type(heap, first.type, &array) &&
                   array.kind == HS_GO_ARRAY && array.n_bytes == 0 &&
                   hs_go_u64(heap, array.address + HS_GO_ELEM_AT, &of) &&
                   hs_go_read_type(heap, of, &pointer) && pointer.kind == HS_GO_POINTER &&
                   hs_go_u64(heap, of + HS_GO_ELEM_AT, &element)
               ? element
               : 0;
}

struct hs_go_slot_kind hs_go_find_slot(const struct hs_go_heap *heap, hs_addr address,
                                       uint64_t offset)
{
    struct hs_go_type type, of;
    hs_addr holder = 0;
    uint64_t element;

    for (unsigned i = 0; i < DEPTH_MAX && hs_go_read_type(heap, address, &type); i++) {
        if (type.kind == HS_GO_STRUCT) {
            holder = address;
            if (!hs_go_field_at(heap, address, &offset, &address))
                break;
            continue;
        }
        if (type.kind == HS_GO_UNSAFE)
            return (struct hs_go_slot_kind){
                .kind = HS_GO_UNSAFE, .of = atomic_element(heap, holder), .holder = holder};
        if (!hs_go_u64(heap, address + HS_GO_ELEM_AT, &element))
            break;
        if (type.kind == HS_GO_ARRAY) {
            if (!hs_go_read_type(heap, element, &of) || of.n_bytes == 0)
                break;
            offset %= of.n_bytes;
            address = element;
            continue;
        }
        return (struct hs_go_slot_kind){.kind = (uint8_t)type.kind,
                                        .of = type.kind == HS_GO_MAP ? address : element};
    }
    return (struct hs_go_slot_kind){.kind = 0};
}
