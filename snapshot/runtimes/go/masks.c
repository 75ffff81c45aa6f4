#include "masks.h"

#include <limits.h>

#include "base/alloc.h"
#include "base/load.h"

/* Offsets of a type, and of what follows it by kind. */
enum {
    TYPE_BYTES = 48,
    PTR_BYTES_AT = 8,
    FLAGS_AT = 20,
    KIND_AT = 23,
    GC_DATA_AT = 32,
    ELEM_AT = 48,
    ARRAY_LENGTH_AT = 64,
    FIELDS_AT = 56,
    FIELD_BYTES = 24
};
enum { KIND_MASK = 31, KIND_ARRAY = 17, KIND_STRUCT = 25 };
/* A mask that is a program (up to 1.23), or is made when it is needed (since 1.24). */
enum { KIND_PROGRAM = 64, FLAG_ON_DEMAND = 16, MINOR_OF_ON_DEMAND = 24 };
enum { DEPTH_MAX = 1 << 12, STEPS_MAX = 1 << 22, FIELDS_MAX = 1 << 16, TYPES_MAX = 1 << 20 };

struct type {
    uint64_t n_bytes, n_pointer_bytes;
    hs_addr address, data;
    unsigned kind;
    bool has_no_mask;
};

static bool read_type(const struct hs_go_heap *heap, hs_addr address, struct type *ret)
{
    const uint8_t *bytes =
        address % HS_WORD_BYTES != 0 ? NULL : hs_go_bytes(heap, address, TYPE_BYTES);

    if (bytes == NULL)
        return false;
    uint8_t kind = bytes[KIND_AT], flags = bytes[FLAGS_AT];
    *ret = (struct type){.n_bytes = hs_load_u64(bytes),
                         .n_pointer_bytes = hs_load_u64(bytes + PTR_BYTES_AT),
                         .address = address,
                         .data = hs_load_u64(bytes + GC_DATA_AT),
                         .kind = kind & KIND_MASK,
                         .has_no_mask = heap->layout->minor < MINOR_OF_ON_DEMAND
                                            ? (kind & KIND_PROGRAM) != 0
                                            : (flags & FLAG_ON_DEMAND) != 0};
    return ret->n_bytes != 0 && ret->n_pointer_bytes <= ret->n_bytes &&
           ret->n_pointer_bytes % HS_WORD_BYTES == 0;
}

/* ---- masks that are put together */

/* Values of one type in a row, of which the bits are still to be set. */
struct part {
    hs_addr type;
    uint64_t at, n, stride; /* bytes; how many */
};

struct making {
    const struct hs_go_heap *heap;
    struct hs_go_mask *mask;
    struct part *parts; /* owned: the last is next */
    size_t n_parts, capacity;
    unsigned n_steps;
};

static bool push(struct making *m, hs_addr type, uint64_t at, uint64_t n, uint64_t stride)
{
    struct hs_error ignored = HS_ERROR_INIT;

    if (m->n_parts == DEPTH_MAX ||
        HS_GROW(&m->parts, &m->capacity, m->n_parts + 1, &ignored) != HS_OK)
        return false;
    m->parts[m->n_parts++] = (struct part){type, at, n, stride};
    return true;
}

/* Sets the bits of a value whose type has a mask. */
static bool add_bits(struct making *m, const struct type *type, uint64_t at)
{
    uint64_t n = type->n_pointer_bytes / HS_WORD_BYTES;
    const uint8_t *bits = hs_go_bytes(m->heap, type->data, (n + CHAR_BIT - 1) / CHAR_BIT);

    if (bits == NULL && n != 0)
        return false;
    for (uint64_t i = 0; i < n && at / HS_WORD_BYTES + i < m->mask->n_masked_words; i++) {
        uint64_t word = at / HS_WORD_BYTES + i;
        if ((bits[i / CHAR_BIT] >> i % CHAR_BIT & 1) != 0)
            m->mask->made[word / CHAR_BIT] |= (uint8_t)(1 << word % CHAR_BIT);
    }
    return true;
}

static bool push_fields(struct making *m, const struct type *type, uint64_t at)
{
    uint64_t fields, n;

    if (!hs_go_u64(m->heap, type->address + FIELDS_AT, &fields) ||
        !hs_go_u64(m->heap, type->address + FIELDS_AT + HS_WORD_BYTES, &n) || n > FIELDS_MAX)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *field = hs_go_bytes(m->heap, fields + i * FIELD_BYTES, FIELD_BYTES);
        if (field == NULL)
            return false;
        uint64_t offset = hs_load_u64(field + 2ul * HS_WORD_BYTES);
        if (offset < type->n_bytes &&
            !push(m, hs_load_u64(field + HS_WORD_BYTES), at + offset, 1, 0))
            return false;
    }
    return true;
}

static bool push_elements(struct making *m, const struct type *type, uint64_t at)
{
    uint64_t element, n;
    struct type of;

    return hs_go_u64(m->heap, type->address + ELEM_AT, &element) &&
           hs_go_u64(m->heap, type->address + ARRAY_LENGTH_AT, &n) &&
           read_type(m->heap, element, &of) && push(m, element, at, n, of.n_bytes);
}

static bool make_steps(struct making *m)
{
    while (m->n_parts != 0) {
        struct part *part = &m->parts[m->n_parts - 1];
        const struct part now = *part;
        struct type type;
        if (now.n == 0 || now.at / HS_WORD_BYTES >= m->mask->n_masked_words) {
            m->n_parts--;
            continue;
        }
        part->n--;
        part->at += now.stride;
        if (++m->n_steps == STEPS_MAX || !read_type(m->heap, now.type, &type))
            return false;
        bool is_done = true;
        if (type.n_pointer_bytes != 0 && !type.has_no_mask)
            is_done = add_bits(m, &type, now.at);
        else if (type.n_pointer_bytes != 0 && type.kind == KIND_STRUCT)
            is_done = push_fields(m, &type, now.at);
        else if (type.n_pointer_bytes != 0 && type.kind == KIND_ARRAY)
            is_done = push_elements(m, &type, now.at);
        if (!is_done)
            return false;
    }
    return true;
}

static bool make_mask(const struct hs_go_heap *heap, hs_addr type, struct hs_go_mask *mask)
{
    struct making m = {.heap = heap, .mask = mask};
    struct hs_error ignored = HS_ERROR_INIT;

    mask->n_made_bytes = (mask->n_masked_words + CHAR_BIT - 1) / CHAR_BIT;
    if (HS_PAGES_ALLOC(&mask->made, mask->n_made_bytes, &ignored) != HS_OK)
        return false;
    bool is_made = push(&m, type, 0, 1, 0) && make_steps(&m);
    hs_free(m.parts);
    mask->bits = mask->made;
    return is_made;
}

/* ---- all of them */

static void mask_fini(struct hs_go_mask *mask)
{
    hs_pages_free(mask->made, mask->n_made_bytes, 1);
}

void hs_go_masks_fini(struct hs_go_masks *masks)
{
    for (size_t i = 0; i < masks->n; i++)
        mask_fini(&masks->masks[i]);
    hs_free(masks->masks);
    hs_dict_fini(&masks->by_type);
    *masks = (struct hs_go_masks){0};
}

static bool read_mask(const struct hs_go_heap *heap, hs_addr address, uint64_t n_bytes,
                      struct hs_go_mask *ret)
{
    struct type type;

    if (!read_type(heap, address, &type) || type.n_pointer_bytes > n_bytes)
        return false;
    ret->n_words = (type.n_bytes + HS_WORD_BYTES - 1) / HS_WORD_BYTES;
    ret->n_masked_words = type.n_pointer_bytes / HS_WORD_BYTES;
    if (ret->n_masked_words == 0)
        return true;
    if (type.has_no_mask)
        return make_mask(heap, address, ret);
    ret->bits = hs_go_bytes(heap, type.data, (ret->n_masked_words + CHAR_BIT - 1) / CHAR_BIT);
    return ret->bits != NULL;
}

const struct hs_go_mask *hs_go_mask_of(const struct hs_go_heap *heap, struct hs_go_masks *masks,
                                       hs_addr type, uint64_t n_bytes)
{
    const uint64_t *known = hs_dict_find(&masks->by_type, type);
    struct hs_go_mask mask = {.n_words = 0};
    struct hs_error ignored = HS_ERROR_INIT;

    if (known != NULL)
        return masks->masks[*known].n_words == 0 ||
                       masks->masks[*known].n_masked_words > n_bytes / HS_WORD_BYTES
                   ? NULL
                   : &masks->masks[*known];
    if (masks->n == TYPES_MAX)
        return NULL;
    if (!read_mask(heap, type, n_bytes, &mask)) {
        mask_fini(&mask);
        mask = (struct hs_go_mask){.n_words = 0};
    }
    if (HS_GROW(&masks->masks, &masks->capacity, masks->n + 1, &ignored) != HS_OK ||
        hs_dict_put(&masks->by_type, type, masks->n, &ignored) != HS_OK) {
        mask_fini(&mask);
        return NULL;
    }
    masks->masks[masks->n++] = mask;
    return mask.n_words == 0 ? NULL : &masks->masks[masks->n - 1];
}
