/* Arrays of Qt's containers (corelib/tools/qarraydata.h, qlist.h).
 *
 *   Qt 5, QArrayData:  references, size | room, a bit | where elements are: 24 | elements ...
 *         QListData:   references, room | first, behind the last | a word for each element ...
 *   Qt 6, QArrayData:  references, flags | room | elements ...
 *         its holder:  array | first element in use | how many
 *
 * An array of Qt 5 says itself what is in use, in Qt 6 who has it does; what is behind that was
 * left by elements that are gone. The size of an element is the largest of which as many as there
 * is room for have room in the block. */
#include "shapes.h"

enum { WORD = 8, QT_HEADER_BYTES = 16, QT5_HEADER_BYTES = 24, LEAST_BYTES = 4, ROUNDED_BYTES = 16 };
enum { QT_MOST_REFERENCES = 1 << 24, QT_MOST_FLAGS = 3, QT5_ROOM_MASK = 0x7fffffff };
#define QT_FAR_BYTES (UINT64_C(1) << 28)
#define QT_MOST_ROOM (UINT64_C(1) << 40)

struct qt_array {
    uint64_t header_bytes, room;
    uint64_t first, n; /* in use: bytes from the start of the block, elements */
    uint64_t n_zeros;  /* characters behind the room */
};

/* Tells whether an array is text: characters with a zero behind them, and no words that lead to a
 * block. Where there is so little room that the block could hold a few pointers, it must be just
 * what such a text needs. */
static bool qt_is_text(struct hs_shapes *s, const struct hs_heap_block *block,
                       const struct qt_array *array, uint64_t each)
{
    struct hs_heap_block found;
    uint64_t n_bytes = array->header_bytes + (array->room + array->n_zeros) * each;
    uint64_t end = array->first + array->n * each;
    bool is_small = (block->n_bytes - array->header_bytes) / array->room >= LEAST_BYTES;

    if (array->n >= array->room + array->n_zeros || !hs_shapes_fits(block, n_bytes) ||
        (is_small && block->n_bytes - n_bytes >= ROUNDED_BYTES) || end + each > block->n_bytes ||
        block->bytes[end] != 0 || block->bytes[end + each - 1] != 0)
        return false;
    if (end / WORD > s->budget)
        return false;
    for (uint64_t at = array->header_bytes; at < end && at + WORD <= block->n_bytes; at += WORD)
        if (hs_flow_resolve(s->native, hs_load_u64(block->bytes + at), &found) != HS_POINTER_NONE) {
            hs_shapes_spend(s, at / WORD);
            return false;
        }
    return true;
}

/* Returns the size of an element; 0 where as many as there is room for do not fill the block. */
static uint64_t qt_element_bytes(const struct hs_heap_block *block, const struct qt_array *array)
{
    uint64_t each = (block->n_bytes - array->header_bytes) / array->room;

    each -= each % (each >= WORD ? WORD : each >= LEAST_BYTES ? LEAST_BYTES : 1);
    return each != 0 && hs_shapes_fits(block, array->header_bytes + each * array->room) ? each : 0;
}

static hs_status qt_set(struct hs_shapes *s, const struct hs_heap_block *block,
                        const struct qt_array *array, uint64_t each, struct hs_error *err)
{
    const struct hs_native_use use = {.from = array->first, .end = array->first + array->n * each};

    if (hs_flow_type(s->flow, block->rank) == 0)
        HS_TRY(hs_shapes_set(s, block, HS_SHAPE_QT_ARRAY, err));
    return hs_native_reserves_say(&s->flow->reserves, block->rank, block->n_bytes, use, each, err);
}

static hs_status qt_try(struct hs_shapes *s, const struct hs_heap_block *block,
                        const struct qt_array *array, struct hs_error *err)
{
    if (array->room == 0 || array->room > QT_MOST_ROOM || array->n > array->room)
        return HS_OK;
    bool is_new = hs_flow_type(s->flow, block->rank) == 0;
    for (uint64_t each = 1; is_new && each <= 2; each++)
        if (qt_is_text(s, block, array, each))
            return hs_shapes_set(s, block, HS_SHAPE_QT_TEXT, err);
    uint64_t each = qt_element_bytes(block, array);
    if (each >= WORD)
        return qt_set(s, block, array, each, err);
    if (each == 0 || !is_new)
        return HS_OK;
    return hs_shapes_set(s, block, each < LEAST_BYTES ? HS_SHAPE_QT_TEXT : HS_SHAPE_QT_NUMBERS,
                         err);
}

static bool qt_has_references(const struct hs_heap_block *block)
{
    uint32_t n = hs_load_u32(block->bytes);
    return n != 0 && n < QT_MOST_REFERENCES;
}

/* Tells whether all words in use lead to blocks, one at least. */
static bool qt5_leads_on(struct hs_shapes *s, const struct hs_heap_block *block,
                         const struct qt_array *list)
{
    struct hs_heap_block found;

    for (uint64_t i = 0; i < list->n; i++)
        if (hs_flow_resolve(s->native, hs_load_u64(block->bytes + list->first + i * WORD),
                            &found) != HS_POINTER_START)
            return false;
    return list->n != 0;
}

/* Tells whether the block is only the head of an array whose elements are somebody else's
 * (fromRawData): no room, and they stand somewhere else: before it, or so far behind that it is no
 * number of anything. */
static bool qt5_is_head(struct hs_shapes *s, const struct hs_heap_block *block)
{
    uint64_t at = block->begin + hs_load_u64(block->bytes + QT_HEADER_BYTES);

    return hs_shapes_fits(block, QT5_HEADER_BYTES) && hs_load_u32(block->bytes + 4) != 0 &&
           hs_load_u32(block->bytes + 8) == 0 && at - block->begin >= QT_FAR_BYTES &&
           hs_target_mapping_at(&s->native->dump->target, at) != NULL;
}

hs_status hs_shapes_try_qt5(struct hs_shapes *s, const struct hs_heap_block *block,
                            struct hs_error *err)
{
    if (block->n_bytes <= QT_HEADER_BYTES || !qt_has_references(block))
        return HS_OK;
    uint64_t size = hs_load_u32(block->bytes + 4), room = hs_load_u32(block->bytes + 8);
    uint64_t end = hs_load_u32(block->bytes + 12);
    if (block->n_bytes > QT5_HEADER_BYTES &&
        hs_load_u64(block->bytes + QT_HEADER_BYTES) == QT5_HEADER_BYTES)
        return qt_try(s, block,
                      &(struct qt_array){.header_bytes = QT5_HEADER_BYTES,
                                         .room = room & QT5_ROOM_MASK,
                                         .first = QT5_HEADER_BYTES,
                                         .n = size},
                      err);
    if (block->n_bytes >= QT5_HEADER_BYTES && qt5_is_head(s, block))
        return hs_shapes_set(s, block, HS_SHAPE_QT_TEXT, err);
    const struct qt_array list = {.header_bytes = QT_HEADER_BYTES,
                                  .room = size,
                                  .first = QT_HEADER_BYTES + room * WORD,
                                  .n = end - room};
    if (room > end || end > list.room || !hs_shapes_fits(block, QT_HEADER_BYTES + size * WORD) ||
        !qt5_leads_on(s, block, &list))
        return HS_OK;
    return qt_set(s, block, &list, WORD, err);
}

hs_status hs_shapes_try_qt6(struct hs_shapes *s, const uint64_t *words, struct hs_error *err)
{
    struct hs_heap_block block;
    uint64_t first = words[1] - words[0];

    if (first < QT_HEADER_BYTES || !hs_shapes_storage(s, words[0], HS_SHAPE_QT_ARRAY, &block) ||
        first > block.n_bytes || block.n_bytes <= QT_HEADER_BYTES || !qt_has_references(&block) ||
        hs_load_u32(block.bytes + 4) > QT_MOST_FLAGS)
        return HS_OK;
    const struct qt_array array = {.header_bytes = QT_HEADER_BYTES,
                                   .room = hs_load_u64(block.bytes + WORD),
                                   .first = first,
                                   .n = words[2],
                                   .n_zeros = 1};
    return qt_try(s, &block, &array, err);
}
