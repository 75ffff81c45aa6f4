/* Type objects: what their objects are made of, and which of the words of these own something.
 *
 * A type is believed when the chain of types of types ends in the type of types and its flags say
 * what stands before its objects (_PyType_PreHeaderSize in pycore_object.h). Its kind is that of
 * the nearest of the interpreter's own types that it derives from: classes that a program makes add
 * words behind those of their base, and all that they add are references. Of types that are not
 * known (PY_OTHER) any word of the fixed part may be a pointer, none behind it. */
#include <string.h>

#include "arch/processor.h"
#include "base/alloc.h"
#include "base/load.h"
#include "python.h"

enum {
    MAX_CLASSES = 1 << 19,
    MAX_METATYPES = 8,
    HEAD_BYTES = 264, /* of PyTypeObject, up to tp_base */
    AT_TYPE = 8,
    AT_NAME = 24,
    AT_BASIC_SIZE = 32,
    AT_ITEM_SIZE = 40,
    AT_TYPE_FLAGS = 168,
    AT_WEAK_LIST = 208,
    AT_TYPE_BASE = 256,
    AT_DICT = 288,
    /* tp_flags: object.h */
    HAS_INLINE = 1 << 2, /* 3.13 */
    HAS_WEAK = 1 << 3,   /* 3.12 */
    HAS_DICT = 1 << 4,   /* 3.11 */
    IS_HEAP = 1 << 9,
    HAS_GC = 1 << 14,
    MAX_BYTES = 1 << 20, /* of the fixed part of an object */
    MASK_BITS = 64,
};

void hs_python_classes_fini(struct py_classes *classes)
{
    hs_free(classes->all);
    hs_table_fini(&classes->by_address);
    *classes = (struct py_classes){0};
}

static bool is_type(const struct py_view *view, hs_addr type)
{
    for (int i = 0; i < MAX_METATYPES && type % PY_WORD == 0 && type != 0; i++) {
        if (type == view->type_type)
            return true;
        type = hs_python_word(view, type + AT_TYPE);
    }
    return false;
}

/* Tells whether a text is a name as types have them: "dict", "collections.deque", "method-wrapper".
 */
static bool is_name(const char *name)
{
    bool may_begin = true;

    for (const char *at = name; *at != '\0'; at++) {
        bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_' ||
                         (*at & 0x80) != 0;
        bool is_digit = *at >= '0' && *at <= '9';
        if ((!is_letter && !is_digit && *at != '.' && *at != '-') || (may_begin && !is_letter))
            return false;
        may_begin = *at == '.';
    }
    return !may_begin;
}

struct known_type {
    const char *name;
    uint8_t kind;
};

static uint8_t kind_named(const char *name)
{
    static const struct known_type known[] = {
        {"str", PY_STR},
        {"int", PY_INT},
        {"bytes", PY_BYTES},
        {"float", PY_FLOAT},
        {"complex", PY_COMPLEX},
        {"tuple", PY_TUPLE},
        {"list", PY_LIST},
        {"dict", PY_DICT},
        {"set", PY_SET},
        {"frozenset", PY_SET},
        {"collections.deque", PY_DEQUE},
        {"type", PY_TYPE},
        {"code", PY_CODE},
        {"generator", PY_GENERATOR},
        {"coroutine", PY_GENERATOR},
        {"async_generator", PY_GENERATOR},
        {"frame", PY_FRAME},
        {"bytearray", PY_BYTEARRAY},
        {"array.array", PY_ARRAY},
        {"numpy.ndarray", PY_NDARRAY},
        {"memoryview", PY_MEMORYVIEW},
        {"module", PY_MODULE},
        {"_thread.lock", PY_LOCK},
        {"_thread.RLock", PY_LOCK},
        {"_io.BufferedReader", PY_BUFFERED},
        {"_io.BufferedWriter", PY_BUFFERED},
        {"_io.BufferedRandom", PY_BUFFERED},
        {"_io.StringIO", PY_TEXT_FILE},
        {"_asyncio.Task", PY_TASK},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].name, name) == 0)
            return known[i].kind;
    return PY_OTHER;
}

static bool is_weak_reference(const char *name)
{
    static const char *const names[] = {"weakref",
                                        "weakproxy",
                                        "weakcallableproxy", /* 3.11 and earlier */
                                        "weakref.ReferenceType",
                                        "weakref.ProxyType",
                                        "weakref.CallableProxyType"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Returns how many bytes an object of a kind must have at least for its words to be read. */
static uint64_t least_bytes(const struct hs_python_layout *layout, uint8_t kind)
{
    static const uint8_t least[PY_N_KINDS] = {
        [PY_INT] = 24,       [PY_BYTES] = 24,    [PY_TUPLE] = 24,     [PY_LIST] = 40,
        [PY_DICT] = 48,      [PY_SET] = 64,      [PY_DEQUE] = 56,     [PY_MODULE] = 40,
        [PY_BYTEARRAY] = 48, [PY_ARRAY] = 48,    [PY_NDARRAY] = 88,   [PY_LOCK] = 24,
        [PY_CODE] = 136,     [PY_BUFFERED] = 64, [PY_TEXT_FILE] = 24,
    };
    bool is_new = layout->minor >= 11;

    switch (kind) {
    case PY_STR:
        return layout->str_ascii;
    case PY_TYPE:
        return (uint64_t)layout->ht_cached_keys + PY_WORD;
    case PY_GENERATOR:
        return is_new ? (uint64_t)layout->gen_frame + layout->frame_localsplus : 16;
    case PY_FRAME:
        return is_new ? (uint64_t)layout->frame_object_data + layout->frame_localsplus : 88;
    default:
        return least[kind];
    }
}

/* Tells whether a class was made in C: its name begins with the module's, and is not the text of a
 * Python object, as that of a class of the program is. */
static bool is_called_after_module(const struct py_view *view, hs_addr name_at, const char *name)
{
    return strchr(name, '.') != NULL && !hs_python_is_text(view, name_at);
}

/* Finds the kind of a class by its bases. A class of the program has a name without a module: it is
 * none of those above, whatever it is called. */
static void find_kind(const struct py_view *view, struct py_class *class, bool *ret_is_weak)
{
    hs_addr type = class->address;
    char name[PY_NAME_BYTES];

    *ret_is_weak = false;
    for (int i = 0; i < PY_MAX_CHAIN && type != 0 && type % PY_WORD == 0; i++) {
        if (!hs_python_may_look(view, 1))
            break;
        uint64_t flags = hs_python_word(view, type + AT_TYPE_FLAGS);
        hs_addr name_at = hs_python_word(view, type + AT_NAME);
        if (hs_python_string(view, name_at, name, sizeof name) &&
            ((flags & IS_HEAP) == 0 || is_called_after_module(view, name_at, name))) {
            class->kind = kind_named(name);
            class->is_exact = i == 0;
            uint64_t n_bytes = hs_python_word(view, type + AT_BASIC_SIZE);
            class->kind_bytes = n_bytes < MAX_BYTES ? (uint32_t)n_bytes : 0;
            *ret_is_weak = is_weak_reference(name);
            if (class->kind != PY_OTHER || *ret_is_weak)
                return;
        }
        type = hs_python_word(view, type + AT_TYPE_BASE);
    }
    class->is_exact = false;
}

/* ---- words */

static uint64_t bits(unsigned begin, unsigned end)
{
    if (end > MASK_BITS)
        end = MASK_BITS;
    if (begin >= end)
        return 0;
    return (end - begin == MASK_BITS ? UINT64_MAX : (UINT64_C(1) << (end - begin)) - 1) << begin;
}

static uint64_t numbers_behind_code(const struct hs_python_layout *layout)
{
    unsigned last = layout->code_first_traced / (unsigned)PY_WORD;
    return bits(layout->minor >= 14 ? last - 1 : last, last + 1);
}

/* Returns the words of PyTypeObject that are numbers: sizes, places, the version, and flags, which
 * look like an address where the heap lies low. */
static uint64_t numbers_of_type(void)
{
    static const uint16_t numbers[] = {16,           AT_BASIC_SIZE, AT_ITEM_SIZE, 56, AT_TYPE_FLAGS,
                                       AT_WEAK_LIST, AT_DICT,       384};
    uint64_t found = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        found |= bits(numbers[i] / PY_WORD, numbers[i] / PY_WORD + 1U);
    return found;
}

/* Returns the words of an object of a kind, from the object on, that are numbers. */
static uint64_t numbers_of(const struct hs_python_layout *layout, uint8_t kind)
{
    static const uint64_t sets = UINT64_C(0xaaaa00) /* hashes of the table in it */ | 0xdc;
    bool is_old = layout->minor < 11;

    switch (kind) {
    case PY_STR:
        return bits(2, layout->str_ascii / PY_WORD);
    case PY_INT:
    case PY_FLOAT:
        return bits(2, 3);
    case PY_TUPLE:
        return bits(2, layout->tuple_items / PY_WORD);
    case PY_BYTES:
    case PY_COMPLEX:
    case PY_DICT:
        return bits(2, 4);
    case PY_LIST:
    case PY_ARRAY:
        return bits(2, 3) | bits(4, 5);
    case PY_SET:
        return sets;
    case PY_DEQUE:
        return bits(2, 3) | bits(5, 9);
    case PY_TYPE:
        return numbers_of_type();
    case PY_CODE:
        return is_old ? bits(2, 6) : bits(6, 12) | numbers_behind_code(layout);
    case PY_BYTEARRAY:
        return bits(2, 4) | bits(5, 7);
    case PY_NDARRAY:
        return bits(3, 4) | bits(8, 9);
    default:
        return 0;
    }
}

/* Returns the words that own nothing in an interpreter's frame that begins at this word of an
 * object: numbers and borrowed references. */
static uint64_t numbers_of_frame(const struct hs_python_layout *layout, unsigned frame)
{
    const uint16_t borrowed[] = {
        layout->frame_globals,  (uint16_t)(layout->frame_globals + PY_WORD),
        layout->frame_previous, layout->frame_instr,
        layout->frame_stacktop, layout->frame_owner};
    uint64_t numbers = 0;

    for (size_t i = 0; i < sizeof borrowed / sizeof *borrowed; i++)
        numbers |= bits(frame + borrowed[i] / PY_WORD, frame + borrowed[i] / PY_WORD + 1);
    return numbers;
}

/* Returns the words that are numbers in a generator. A plain one has no finalizer, and does not
 * clear the place of one. */
static uint64_t numbers_of_generator(const struct hs_python_layout *layout, const char *name)
{
    unsigned state = layout->minor >= 11 ? layout->gen_state / (unsigned)PY_WORD : 3;
    bool is_plain = layout->minor >= 11 && strcmp(name, "generator") == 0;

    return layout->minor == 10 ? 0 : bits(is_plain ? state - 1 : state, state + 1);
}

static uint64_t numbers_of_frames(const struct hs_python_layout *layout,
                                  const struct py_class *class)
{
    uint8_t kind = class->kind;
    uint64_t numbers = 0;

    if (kind == PY_GENERATOR) {
        numbers = numbers_of_generator(layout, class->name);
        numbers |=
            bits(layout->gen_previous_item / PY_WORD, layout->gen_previous_item / PY_WORD + 1);
        if (layout->minor >= 11)
            numbers |= numbers_of_frame(layout, layout->gen_frame / PY_WORD);
    } else if (kind == PY_FRAME && layout->minor >= 11) {
        numbers = bits(3, 4) | numbers_of_frame(layout, layout->frame_object_data / PY_WORD);
    } else if (kind == PY_FRAME) {
        numbers = layout->minor == 9 ? bits(8, 10) | bits(13, 45)
                                     : bits(8, 9) | bits(10, 11) | bits(12, 44);
    }
    return numbers;
}

/* Tells whether it is a node of a context's map, which has a set of bits or a hash of 32 bits
 * behind its size (Python/hamt.c): with what is left beside it that may look like an address. */
static bool is_map_node(const struct py_class *class)
{
    return strcmp(class->name, "hamt_bitmap_node") == 0 ||
           strcmp(class->name, "hamt_collision_node") == 0;
}

/* Returns the words that are numbers in an object, with items, of a type that is not known: how
 * many items there are; and items that are shorter than an address (the code of a regular
 * expression), which begin within the fixed part. */
static uint64_t numbers_of_items(const struct py_class *class)
{
    unsigned end = class->n_bytes / (unsigned)PY_WORD;

    if (class->kind != PY_OTHER || class->item_bytes == 0)
        return 0;
    return bits(2, is_map_node(class) ? 4 : 3) |
           (hs_python_items_lead(class) ? 0 : bits(end - 1, end));
}

/* Returns the owning words before an object: since 3.11 a dictionary or values. What the collector
 * has there owns nothing. */
static uint64_t owning_before(const struct hs_python_layout *layout, const struct py_class *class)
{
    if (!class->has_dict || class->object_at != 32)
        return 0;
    return layout->minor == 11 ? bits(0, 2) : bits(1, 2);
}

static void set_words(const struct py_view *view, struct py_class *class, uint64_t flags,
                      bool is_weak_reference)
{
    enum { WR_OBJECT = 2, WR_HASH = 4, WR_PREV = 5, WR_NEXT = 6 };
    unsigned object = class->object_at / PY_WORD;
    uint64_t list = hs_python_word(view, class->address + AT_WEAK_LIST);
    uint64_t numbers = numbers_of(view->layout, class->kind) |
                       numbers_of_frames(view->layout, class) | numbers_of_items(class);

    class->owning = bits(object + 1, object + class->n_bytes / PY_WORD) & ~(numbers << object);
    class->owning |= owning_before(view->layout, class);
    if (class->has_gc)
        class->links = bits(object - 2, object);
    if (is_weak_reference) {
        class->weak |= bits(object + WR_OBJECT, object + WR_OBJECT + 1);
        class->links |= bits(object + WR_PREV, object + WR_NEXT + 1);
        class->owning &= ~bits(object + WR_HASH, object + WR_HASH + 1);
    }
    if (list >= 16 && list % PY_WORD == 0 && list / PY_WORD + object < MASK_BITS)
        class->weak |= UINT64_C(1) << (list / PY_WORD + object);
    if ((flags & HAS_WEAK) != 0 && class->object_at == 32)
        class->weak |= 1;
    class->owning &= ~(class->weak | class->links);
}

/* Tells whether a word is a count, which has 32 bits; above them are flags of 3.14: the object
 * lives for ever, or is no block. */
bool hs_python_is_count(const struct py_view *view, uint64_t word)
{
    enum { SURE_COUNT = 1 << 22, FLAGS_SHIFT = 48, MOST_FLAGS = 8 };
    const uint64_t immortal = UINT64_C(1) << 31;

    if (view->layout->minor >= 14 && word >> FLAGS_SHIFT < MOST_FLAGS)
        word &= (UINT64_C(1) << FLAGS_SHIFT) - 1;
    if (word == 0 || word >> 32 != 0)
        return false;
    return word < SURE_COUNT || word >= immortal ||
           hs_image_bytes(&view->dump->image, word, 1) == NULL;
}

/* Finds the name of a class. Classes of a program may be called anything, "Page[Item]": then the
 * type must be in use, and its name that of a text object. */
static bool find_name(const struct py_view *view, struct py_class *class, const uint8_t *head)
{
    hs_addr name = hs_load_u64(head + AT_NAME);

    if (hs_python_string(view, name, class->name, sizeof class->name) && is_name(class->name))
        return true;
    return (hs_load_u64(head + AT_TYPE_FLAGS) & IS_HEAP) != 0 &&
           hs_python_is_count(view, hs_load_u64(head)) &&
           hs_python_class_text(view, name, class->name);
}

static void fill(const struct py_view *view, struct py_class *class)
{
    const uint8_t *head = hs_python_bytes(view, class->address, HEAD_BYTES);
    bool is_weak = false;

    if (head == NULL || !find_name(view, class, head))
        return;
    uint64_t flags = hs_load_u64(head + AT_TYPE_FLAGS);
    uint64_t n_bytes = hs_load_u64(head + AT_BASIC_SIZE);
    uint64_t item_bytes = hs_load_u64(head + AT_ITEM_SIZE);
    if (n_bytes < 2 * PY_WORD || n_bytes > MAX_BYTES || item_bytes > MAX_BYTES)
        return;
    class->is_type = true;
    class->is_heap = (flags & IS_HEAP) != 0;
    class->is_of_c = is_called_after_module(view, hs_load_u64(head + AT_NAME), class->name);
    class->has_gc = (flags & HAS_GC) != 0;
    class->has_dict = view->layout->minor >= 11 && (flags & HAS_DICT) != 0;
    class->has_dict_behind = !class->has_dict && item_bytes != 0 &&
                             (int64_t)hs_python_word(view, class->address + AT_DICT) < 0;
    class->has_inline = view->layout->minor >= 13 && (flags & HAS_INLINE) != 0;
    class->n_bytes = (uint32_t)n_bytes;
    class->item_bytes = (uint32_t)item_bytes;
    bool is_long = view->layout->minor >= 11 && (flags & (HAS_DICT | HAS_WEAK)) != 0;
    class->object_at = !class->has_gc ? 0 : is_long ? 32 : 16;
    find_kind(view, class, &is_weak);
    if (n_bytes < least_bytes(view->layout, class->kind) || n_bytes < class->kind_bytes)
        class->kind = PY_OTHER; /* it says that it is shorter than its base */
    set_words(view, class, flags, is_weak);
}

hs_status hs_python_class(const struct py_view *view, struct py_classes *classes, hs_addr type,
                          uint32_t *ret, struct hs_error *err)
{
    uint64_t hash = hs_hash(type);
    uint32_t at = HS_TABLE_FIND(&classes->by_address, hash, i, classes->all[i].address == type);

    *ret = HS_NO_NUMBER;
    if (at == HS_NO_NUMBER) {
        if (!is_type(view, type)) /* most words are none: they are not remembered */
            return HS_OK;
        classes->is_full = classes->n >= MAX_CLASSES;
        if (classes->is_full)
            return HS_OK;
        HS_TRY(HS_GROW(&classes->all, &classes->capacity, classes->n + 1, err));
        HS_TRY(hs_table_add(&classes->by_address, hash, classes->n, err));
        at = (uint32_t)classes->n++;
        classes->all[at] = (struct py_class){.address = type};
        fill(view, &classes->all[at]);
    }
    if (classes->all[at].is_type)
        *ret = at;
    return HS_OK;
}

const struct py_class *hs_python_class_of(const struct py_view *view,
                                          const struct py_classes *classes, hs_addr object)
{
    hs_addr type = object % PY_WORD != 0 ? 0 : hs_python_word(view, object + AT_TYPE);
    uint32_t at =
        HS_TABLE_FIND(&classes->by_address, hs_hash(type), i, classes->all[i].address == type);
    return at == HS_NO_NUMBER || !classes->all[at].is_type ? NULL : &classes->all[at];
}
