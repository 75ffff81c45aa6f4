/* The blocks that are objects, and those that are parts of objects.
 *
 * First every block says whether it is an object; then objects name their parts: a part is one of
 * the first object that says so, and never an object by itself. */
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "python.h"

enum {
    POOL_BLOCK_BYTES = 512, /* larger ones are malloc's, which rounds in its own ways */
    ROUNDED_BYTES = 16,     /* all that a pool adds */
    AT_TYPE = 8,
    AT_SIZE = 16,
    SPARE_STEPS = 1 << 10,
    INLINE_HEAD_BYTES = 8,
    AT_TYPE_NAME = 24,
    AT_DOCUMENTATION = 176,
};

void hs_python_blocks_fini(struct py_blocks *blocks)
{
    hs_pages_free(blocks->known, blocks->n, sizeof *blocks->known);
    hs_free(blocks->syntax);
    *blocks = (struct py_blocks){0};
}

/* ---- objects */

/* Returns the number of items that an object of several sizes says it has. */
static uint64_t n_items(const struct py_view *view, const struct py_class *class,
                        const uint8_t *object)
{
    enum { INT_SIZE_SHIFT = 3 };
    uint64_t size = hs_load_u64(object + AT_SIZE);

    if (class->kind == PY_INT && view->layout->minor >= 12)
        return size >> INT_SIZE_SHIFT;
    return (int64_t)size < 0 ? 0 - size : size;
}

static bool has_items(const struct py_class *class)
{
    return class->item_bytes != 0 && class->n_bytes >= AT_SIZE + PY_WORD &&
           class->kind != PY_GENERATOR && class->kind != PY_FRAME;
}

/* Tells whether a block is as large as an object of the class: memory that is no object may have a
 * type where an object has its own, as the states of modules do. */
static bool fits(const struct py_view *view, const struct py_class *class,
                 const struct hs_heap_block *block)
{
    uint64_t least = class->object_at + (uint64_t) class->n_bytes;

    if (class->kind == PY_STR) /* those of ASCII are shorter than tp_basicsize */
        least = class->object_at + (class->is_exact ? view->layout->str_ascii : class->n_bytes);
    if (block->n_bytes < least)
        return false;
    uint64_t room = block->n_bytes - least;
    const uint8_t *object = block->bytes + class->object_at;
    if (class->has_inline)
        return room >= INLINE_HEAD_BYTES &&
               object[class->n_bytes] * (uint64_t)PY_WORD <= room - INLINE_HEAD_BYTES;
    if (has_items(class))
        return n_items(view, class, object) <= room / class->item_bytes;
    return class->kind == PY_STR || class->item_bytes != 0 || block->n_bytes > POOL_BLOCK_BYTES ||
           room < ROUNDED_BYTES;
}

static hs_status find_object(struct py_view *view, struct py_classes *classes,
                             const struct hs_heap_block *block, uint64_t *ret, struct hs_error *err)
{
    static const uint8_t places[] = {0, 16, 32};
    uint32_t number;

    for (size_t i = 0; i < sizeof places && places[i] + 16U <= block->n_bytes; i++) {
        hs_addr type = hs_load_u64(block->bytes + places[i] + AT_TYPE);
        if (type % PY_WORD != 0 || type < 4096 || type >= HS_USER_END ||
            !hs_python_is_count(view, hs_load_u64(block->bytes + places[i])))
            continue;
        HS_TRY(hs_python_class(view, classes, type, &number, err));
        if (number == HS_NO_NUMBER || classes->all[number].object_at != places[i] ||
            !fits(view, &classes->all[number], block))
            continue;
        *ret = hs_python_known(PY_BLOCK_OBJECT, 0, number);
        return HS_OK;
    }
    return HS_OK;
}

/* ---- parts */

struct parts {
    struct py_view *view;
    const struct py_classes *classes;
    struct py_blocks *blocks;
    uint64_t n_deque_steps; /* that are left, of counting items */
};

/* Finds the block that a word leads into, if it may be a part: it is neither an object nor a part
 * yet. `at`: at which word of the block. */
static bool part_at(const struct parts *p, hs_addr word, struct hs_heap_block *ret, uint64_t *at)
{
    enum hs_pointer how = word == 0 || word % PY_WORD != 0
                              ? HS_POINTER_NONE
                              : hs_heap_map_resolve(&p->view->dump->heaps.map, word, ret);

    if ((how != HS_POINTER_START && how != HS_POINTER_INTERIOR) || ret->bytes == NULL ||
        p->blocks->known[ret->rank] != 0)
        return false;
    *at = (word - ret->begin) / PY_WORD;
    return *at < UINT64_C(1) << PY_FIRST_BITS;
}

/* Notes a part: `n` words from where a word leads, or as many as there are. */
static void add_part(struct parts *p, enum py_block_kind kind, hs_addr word, uint64_t n)
{
    struct hs_heap_block block;
    uint64_t at;

    if (!part_at(p, word, &block, &at))
        return;
    uint64_t room = block.n_bytes / PY_WORD - at;
    if (kind == PY_BLOCK_VALUES && room >= UINT64_C(1) << PY_VALUES_BITS)
        room = (UINT64_C(1) << PY_VALUES_BITS) - 1;
    p->blocks->known[block.rank] = hs_python_known(kind, at,
                                                   n < room                ? n
                                                   : kind == PY_BLOCK_KEYS ? 0
                                                                           : room);
}

static uint64_t n_entries(const struct py_view *view, hs_addr table)
{
    struct py_keys keys;
    return hs_python_keys(view, table, &keys) ? keys.n_entries : 0;
}

/* Adds the format that ctypes keeps of a type, up to 3.12 a dictionary with more behind it: how its
 * values look in memory is a text of few characters, in a block that keeps what it held before. */
static void add_format(struct parts *p, const struct py_class *class, const uint8_t *object)
{
    enum { AT_FORMAT = 168 };

    if (!class->is_exact && !class->is_heap && class->n_bytes >= AT_FORMAT + PY_WORD &&
        strcmp(class->name, "StgDict") == 0)
        add_part(p, PY_BLOCK_TEXT, hs_load_u64(object + AT_FORMAT), 0);
}

static void add_dict(struct parts *p, const struct py_class *class, const uint8_t *object)
{
    hs_addr keys = hs_load_u64(object + 32);
    hs_addr values = hs_python_values(p->view, hs_load_u64(object + 40));

    add_part(p, PY_BLOCK_KEYS, keys, 0);
    if (values != 0)
        add_part(p, PY_BLOCK_VALUES, values, n_entries(p->view, keys));
    add_format(p, class, object);
}

/* Adds the values of an instance, of 3.11 and 3.12: values beside the object, as many as its class
 * has names for. */
static void add_values(struct parts *p, const struct py_class *class, const uint8_t *object)
{
    bool is_first = p->view->layout->minor == 11;
    hs_addr values = hs_load_u64(is_first ? object - 32 : object - 24);

    if (!is_first && (values & 1) == 0) /* a dictionary */
        return;
    values += !is_first;
    hs_addr keys = !class->is_heap
                       ? 0
                       : hs_python_word(p->view, class->address + p->view->layout->ht_cached_keys);
    add_part(p, PY_BLOCK_VALUES, values, n_entries(p->view, keys));
}

/* Finds a block of a deque. One that was taken for an object may be one where `may_be_object`: the
 * first block of a deque has items from its middle on, and before these what the memory held
 * before. */
static bool deque_block(const struct parts *p, hs_addr at, bool may_be_object,
                        struct hs_heap_block *ret)
{
    if (at == 0 || at % PY_WORD != 0 ||
        hs_heap_map_resolve(&p->view->dump->heaps.map, at, ret) != HS_POINTER_START ||
        ret->bytes == NULL || ret->n_bytes < (PY_DEQUE_ITEMS + 2) * PY_WORD)
        return false;
    uint64_t known = p->blocks->known[ret->rank];
    return known == 0 || (may_be_object && hs_python_known_kind(known) == PY_BLOCK_OBJECT);
}

/* Goes over the blocks of a deque from the left to the right one, and marks them if asked to; only
 * the places between the two indices are in use. True when there are as many items as the deque
 * says. */
static bool walk_deque(struct parts *p, const uint8_t *object, bool marks, bool may_be_object)
{
    enum { LINK_RIGHT = PY_DEQUE_ITEMS + 1 };
    hs_addr at = hs_load_u64(object + 24), last = hs_load_u64(object + 32);
    uint64_t left = hs_load_u64(object + 40), right = hs_load_u64(object + 48);
    uint64_t n_items = hs_load_u64(object + AT_SIZE), n = 0;
    struct hs_heap_block block;

    /* each block is marked once, and what is only counted has a bound in all */
    for (bool is_first = true; deque_block(p, at, may_be_object, &block); is_first = false) {
        uint64_t first = is_first ? left : 0;
        uint64_t past =
            at == last ? right + 1 : PY_DEQUE_ITEMS; /* an empty one: left = right + 1 */
        if (first > past || past > PY_DEQUE_ITEMS || (!marks && p->n_deque_steps == 0))
            return false;
        uint64_t links =
            (is_first ? 0U : PY_DEQUE_HAS_LEFT) | (at == last ? 0U : PY_DEQUE_HAS_RIGHT);
        n += past - first;
        p->n_deque_steps -= !marks;
        if (marks)
            p->blocks->known[block.rank] =
                hs_python_known(PY_BLOCK_DEQUE, first + 1, links | (past - first));
        if (at == last)
            return n == n_items;
        at = hs_load_u64(block.bytes + (uint64_t)LINK_RIGHT * PY_WORD);
    }
    return false;
}

/* Adds the blocks of a deque. One whose items are as many as it says has its blocks, whatever these
 * look like. */
static void add_deque(struct parts *p, const uint8_t *object)
{
    bool agrees = walk_deque(p, object, /* marks= */ false, /* may_be_object= */ true);

    (void)walk_deque(p, object, /* marks= */ true, agrees);
}

/* Adds the blocks that a deque keeps for later, since 3.11. */
static void add_spare(struct parts *p, const struct py_class *class, const uint8_t *object)
{
    enum { AT_COUNT = 72, MAX_SPARE = 16, PAST = AT_COUNT + (MAX_SPARE + 1) * PY_WORD };
    uint64_t n = class->n_bytes < PAST ? 0 : hs_load_u64(object + AT_COUNT);

    for (uint64_t i = 0; i < n && i < MAX_SPARE; i++)
        add_part(p, PY_BLOCK_SPARE, hs_load_u64(object + AT_COUNT + (i + 1) * PY_WORD), 0);
}

/* Returns the kind of items of an array of numpy: a letter (PyArray_Descr.kind); 0: not known. */
static char kind_of_items(const struct py_view *view, const uint8_t *object)
{
    enum { AT_TYPE_OF_ITEMS = 56, AT_KIND = 24 };
    const uint8_t *kind =
        hs_python_bytes(view, hs_load_u64(object + AT_TYPE_OF_ITEMS) + AT_KIND, 1);

    return kind != NULL ? (char)*kind : 0;
}

/* Adds characters that are not in the text object: another form of it, or its own when it is not
 * compact. */
static void add_text(struct parts *p, const struct py_class *class,
                     const struct hs_heap_block *block)
{
    enum { AT_STATE = 32, COMPACT = 1 << 5, ASCII = 1 << 6, WIDE = 40 };
    const struct hs_python_layout *layout = p->view->layout;
    const uint8_t *object = block->bytes + class->object_at;
    uint32_t state = hs_load_u32(object + AT_STATE);
    uint64_t n_bytes = block->n_bytes - class->object_at;

    if (layout->minor < 12)
        add_part(p, PY_BLOCK_TEXT, hs_load_u64(object + WIDE), 0);
    if ((state & ASCII) == 0 && n_bytes >= layout->str_compact)
        add_part(p, PY_BLOCK_TEXT, hs_load_u64(object + layout->str_ascii + PY_WORD), 0);
    if ((state & COMPACT) == 0 && n_bytes >= layout->str_compact + (unsigned)PY_WORD)
        add_part(p, PY_BLOCK_TEXT, hs_load_u64(object + layout->str_compact), 0);
}

/* Adds the numbers of an array, which may have been noted for another array that looks at them. */
static void add_numbers(struct parts *p, hs_addr items, bool are_own)
{
    struct hs_heap_block block;
    uint64_t *known;

    add_part(p, PY_BLOCK_RAW, items, 0);
    enum hs_pointer how = hs_heap_map_resolve(&p->view->dump->heaps.map, items, &block);
    if (!are_own || (how != HS_POINTER_START && how != HS_POINTER_INTERIOR))
        return;
    known = &p->blocks->known[block.rank];
    if (hs_python_known_kind(*known) == PY_BLOCK_RAW)
        *known = hs_python_known(PY_BLOCK_RAW, hs_python_known_first(*known), 1);
}

/* Adds references from the beginning of a block to its end, as numpy allocates them. */
static void add_references(struct parts *p, hs_addr items)
{
    struct hs_heap_block block;
    uint64_t at;

    if (part_at(p, items, &block, &at) && at == 0)
        add_part(p, PY_BLOCK_REFERENCES, items, UINT64_MAX);
}

/* Adds the parts of an array of numpy: items, its own (NPY_ARRAY_OWNDATA) or another's; the sizes
 * and steps of its dimensions; what others were told of it (PEP 3118), at an address with a mark,
 * which begins with a text in a block that keeps what it held before. */
static void add_array(struct parts *p, const uint8_t *object)
{
    enum { AT_ITEMS = 16, AT_SIZES = 32, AT_ARRAY_FLAGS = 64, AT_TOLD = 80, OWNS = 4, MARKS = 7 };
    hs_addr items = hs_load_u64(object + AT_ITEMS), told = hs_load_u64(object + AT_TOLD);
    bool are_own = (hs_load_u32(object + AT_ARRAY_FLAGS) & OWNS) != 0;
    char kind = kind_of_items(p->view, object);

    if (kind == 'O' && are_own)
        add_references(p, items);
    else if (kind != '\0' && strchr("biufcSUmM?", kind) != NULL)
        add_numbers(p, items, are_own);
    add_part(p, PY_BLOCK_NUMBERS, hs_load_u64(object + AT_SIZES), 0);
    if ((told & MARKS) != 0)
        add_part(p, PY_BLOCK_TEXT, hs_python_word(p->view, told & ~(hs_addr)MARKS), 0);
}

/* Adds a module's state in C: as many bytes as the definition of the module says. */
static void add_state(struct parts *p, const uint8_t *object)
{
    enum { AT_DEFINITION = 24, AT_STATE = 32, AT_STATE_BYTES = 56 };
    uint64_t n_bytes =
        hs_python_word(p->view, hs_load_u64(object + AT_DEFINITION) + AT_STATE_BYTES);

    if (n_bytes <= INT32_MAX) /* negative: it has none */
        add_part(p, PY_BLOCK_STATE, hs_load_u64(object + AT_STATE), n_bytes / PY_WORD);
}

/* Tells whether a block is the format that ctypes keeps of a type, behind it since 3.13: how its
 * values look in memory is a text of few characters, in a block that keeps what it held before. */
static bool is_format(const struct hs_heap_block *block)
{
    static const char others[] = "<>@=!&{}():,?";

    for (uint64_t i = 0; i < block->n_bytes; i++) {
        char c = (char)block->bytes[i];
        if (c == '\0')
            return i != 0;
        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' &&
            memchr(others, c, sizeof others - 1) == NULL)
            return false;
    }
    return false;
}

static void add_formats(struct parts *p, const struct py_class *class, const uint8_t *object)
{
    uint64_t first = p->view->layout->ht_cached_keys + (uint64_t)PY_WORD;
    struct hs_heap_block block;
    uint64_t at;

    if (p->view->layout->minor < 13 || strncmp(class->name, "_ctypes.", 8) != 0)
        return;
    for (uint64_t i = first; i + PY_WORD <= class->n_bytes; i += PY_WORD) {
        hs_addr word = hs_load_u64(object + i);
        if (part_at(p, word, &block, &at) && at == 0 && is_format(&block))
            add_part(p, PY_BLOCK_TEXT, word, 0);
    }
}

static void add_raw(struct parts *p, const struct py_class *class, const uint8_t *object)
{
    if (class->kind == PY_BYTEARRAY)
        add_part(p, PY_BLOCK_RAW, hs_load_u64(object + 32), 1);
    else if (class->kind == PY_ARRAY)
        add_part(p, PY_BLOCK_RAW, hs_load_u64(object + 24), 1);
    else if (class->kind == PY_BUFFERED)
        add_part(p, PY_BLOCK_RAW, hs_load_u64(object + 56), 1);
    else if (class->kind == PY_TEXT_FILE)
        add_part(p, PY_BLOCK_RAW, hs_load_u64(object + 16), 1);
}

/* Adds what code has up to 3.10: which cells are arguments, and the frame that the next call will
 * use. */
static void add_old_code(struct parts *p, const uint8_t *object)
{
    enum { AT_CELLS = 96, AT_FRAME = 128 };

    add_part(p, PY_BLOCK_NUMBERS, hs_load_u64(object + AT_CELLS), 0);
    add_part(p, PY_BLOCK_SPARE, hs_load_u64(object + AT_FRAME), 0);
}

/* Returns the words of a set's table: two for each entry. */
static uint64_t n_set_words(const uint8_t *object)
{
    uint64_t mask = hs_load_u64(object + 32);
    return mask < UINT32_MAX ? 2 * (mask + 1) : 0;
}

static void add_parts(struct parts *p, const struct py_class *class,
                      const struct hs_heap_block *block)
{
    const uint8_t *object = block->bytes + class->object_at;

    switch (class->kind) {
    case PY_LIST:
        add_part(p, PY_BLOCK_ITEMS, hs_load_u64(object + 24), hs_load_u64(object + AT_SIZE));
        break;
    case PY_DICT:
        add_dict(p, class, object);
        break;
    case PY_SET:
        add_part(p, PY_BLOCK_SET_TABLE, hs_load_u64(object + 40), n_set_words(object));
        break;
    case PY_DEQUE:
        add_deque(p, object);
        add_spare(p, class, object);
        break;
    case PY_STR:
        add_text(p, class, block);
        break;
    case PY_TYPE:
        add_part(p, PY_BLOCK_TEXT, hs_load_u64(object + AT_DOCUMENTATION), 0);
        add_part(p, PY_BLOCK_TEXT, hs_load_u64(object + AT_TYPE_NAME), 0);
        add_part(p, PY_BLOCK_KEYS, hs_load_u64(object + p->view->layout->ht_cached_keys), 0);
        add_formats(p, class, object);
        break;
    case PY_CODE:
        if (p->view->layout->minor < 11)
            add_old_code(p, object);
        break;
    case PY_MODULE:
        add_state(p, object);
        break;
    case PY_LOCK:
        add_part(p, PY_BLOCK_NUMBERS, hs_load_u64(object + AT_SIZE), 0);
        break;
    case PY_NDARRAY:
        add_array(p, object);
        break;
    default:
        add_raw(p, class, object);
    }
    if (class->has_dict && class->object_at == 32 && p->view->layout->minor < 13)
        add_values(p, class, object);
}

/* ---- both */

static hs_status find_objects(struct py_view *view, struct py_classes *classes,
                              struct py_blocks *blocks, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &view->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        uint64_t known = 0;
        if (block.bytes == NULL || (block.span->states & HS_BLOCK_MAPPING) != 0)
            continue;
        HS_TRY(find_object(view, classes, &block, &known, err));
        if (known != 0)
            blocks->known[block.rank] = known;
    }
    return HS_OK;
}

static hs_status find_parts(struct parts *p, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &p->view->dump->heaps.map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        uint64_t known = p->blocks->known[block.rank];
        if (block.bytes != NULL && hs_python_known_kind(known) == PY_BLOCK_OBJECT)
            add_parts(p, &p->classes->all[hs_python_known_number(known)], &block);
        else if (block.bytes != NULL && known == 0)
            HS_TRY(hs_python_note_syntax(p->view, p->blocks, &block, err));
    }
    return HS_OK;
}

hs_status hs_python_find_blocks(struct py_view *view, struct py_classes *classes,
                                struct py_blocks *ret, struct hs_error *err)
{
    ret->n = view->dump->heaps.map.n_blocks;
    HS_TRY(HS_PAGES_ALLOC(&ret->known, ret->n, err));
    HS_TRY(find_objects(view, classes, ret, err));
    struct parts parts = {
        .view = view, .classes = classes, .blocks = ret, .n_deque_steps = ret->n + SPARE_STEPS};
    return find_parts(&parts, err);
}
