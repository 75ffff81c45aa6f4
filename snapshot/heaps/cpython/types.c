/* The Python type of the object in a block, and what follows from it: which of its words own
 * nothing, and which blocks it has for itself.
 *
 * An object begins with its count of references and its type. What the collector tracks has two
 * words of the collector before that, and since 3.11 objects may have two more words (dictionary
 * or values, weak references) before those (_PyType_PreHeaderSize in pycore_object.h):
 *
 *   | refs, type ...                      ob_type at  8
 *   | gc, gc | refs, type ...             ob_type at 24
 *   | dict, weak | gc, gc | refs, type    ob_type at 40
 *
 * Up to 3.7 the collector had four words. A type is believed when the chain of types of types ends
 * in one that is its own type and is called "type", and when its flags say what stands before its
 * objects.
 *
 * What owns nothing: gc_next and gc_prev of what the collector tracks (pycore_gc.h); wr_object,
 * wr_prev and wr_next of a weak reference (weakrefobject.h, the same from 3.6 to 3.14); the head of
 * an object's list of weak references, at tp_weaklistoffset or since 3.12 before the object. */
#include "base/alloc.h"
#include "base/load.h"
#include "pools.h"
#include "process/constants.h"

enum {
    TYPES_SLOTS = 4096, /* direct-mapped: a program with more types asks some of them again */
    TYPES_NAME_BYTES = 96,
    TYPES_MAX_CHAIN = 8,
    TYPES_HEAD_BYTES = 176, /* of PyTypeObject, up to tp_flags */
    TYPES_AT_TYPE = 8,
    TYPES_AT_NAME = 24,
    TYPES_AT_BASIC_SIZE = 32,
    TYPES_AT_ITEM_SIZE = 40,
    TYPES_AT_FLAGS = 168,
    TYPES_AT_WEAK_LIST = 208,
    TYPES_AT_BASE = 256,
    /* tp_flags: object.h */
    TYPES_HAS_INLINE = 1 << 2, /* Py_TPFLAGS_INLINE_VALUES, 3.13: more stands behind the object */
    TYPES_HAS_WEAK = 1 << 3,   /* Py_TPFLAGS_MANAGED_WEAKREF, 3.12 */
    TYPES_HAS_DICT = 1 << 4,   /* Py_TPFLAGS_MANAGED_DICT, 3.11 */
    TYPES_IS_HEAP = 1 << 9,
    TYPES_HAS_GC = 1 << 14,
    TYPES_IS_LIST = 1 << 25,
    TYPES_IS_STR = 1 << 28,
    TYPES_IS_DICT = 1 << 29,
    TYPES_STR_BYTES = 40,     /* the smallest, since 3.12; a long one has its text elsewhere */
    TYPES_ROUNDED_BYTES = 16, /* all that a pool adds to what was asked for */
    TEXT_WORDS = 10,
    ASCII_WORDS = 6,
};

/* Below are no heaps; above is no object. */
#define TYPES_SURE_COUNT (UINT64_C(1) << 22)
#define TYPES_MAX_BYTES (UINT64_C(1) << 30)

/* The collections, by how they say how many elements they have. */
enum types_collection { TYPES_NONE, TYPES_A_LIST, TYPES_A_DICT, TYPES_A_SET, TYPES_A_DEQUE };

struct types_slot {
    hs_addr address; /* of the type object; 0: empty */
    uint8_t at;      /* where ob_type stands in a block of it; 0: no type */
    uint8_t n_parts;
    bool is_fixed;        /* its objects are of one size */
    uint8_t collection;   /* enum types_collection */
    uint64_t least_bytes; /* of a block of it */
    struct hs_object_words words;
    struct hs_object_part parts[HS_OBJECT_PARTS];
    char name[TYPES_NAME_BYTES]; /* tp_name */
};

struct cpython_types {
    const struct hs_process_copy *process; /* borrowed */
    const struct hs_object *interpreter;
    bool is_old;       /* 3.7 or earlier */
    hs_addr type_type; /* 0 until seen */
    struct types_slot slots[TYPES_SLOTS];
};

hs_status hs_cpython_types_new(const struct hs_process_copy *process, bool is_old,
                               struct cpython_types **ret, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(ret, 1, err));
    (*ret)->process = process;
    (*ret)->interpreter = hs_cpython_object(process->objects);
    (*ret)->is_old = is_old;
    return HS_OK;
}

void hs_cpython_types_free(struct cpython_types *types)
{
    hs_free(types);
}

static const uint8_t *types_head(const struct cpython_types *types, hs_addr type)
{
    return type % 8 != 0 || type < 4096 || type >= HS_USER_END
               ? NULL
               : hs_image_bytes(types->process->image, type, TYPES_HEAD_BYTES);
}

static bool types_text(const struct cpython_types *types, hs_addr address, char *text, size_t n)
{
    return hs_constant_string(types->process->image, types->process->objects, address, text, n);
}

static bool types_is_of_name(char c, bool is_first)
{
    bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';

    return is_letter || (!is_first && c >= '0' && c <= '9');
}

/* A name as Python's types have them: "dict", "collections.deque", "method-wrapper". */
static bool types_is_name(const char *name)
{
    bool is_first = true; /* of an identifier: no digit */

    for (const char *at = name; *at != '\0'; at++) {
        bool is_mark = !is_first && (*at == '.' || *at == '-');
        if (!is_mark && !types_is_of_name(*at, is_first))
            return false;
        is_first = *at == '.';
    }
    return !is_first;
}

/* Does the chain of types of types end in `type`? */
static bool types_is_type(struct cpython_types *types, hs_addr type)
{
    char name[8];

    for (int i = 0; i < TYPES_MAX_CHAIN; i++) {
        const uint8_t *head = types_head(types, type);
        if (head == NULL)
            return false;
        hs_addr next = hs_load_u64(head + TYPES_AT_TYPE);
        if (next != type) {
            type = next;
            continue;
        }
        if (types->type_type == 0 &&
            types_text(types, hs_load_u64(head + TYPES_AT_NAME), name, sizeof name) &&
            strcmp(name, "type") == 0)
            types->type_type = type;
        return types->type_type == type;
    }
    return false;
}

/* Classes of a program may be called anything, "Page[Item]": their names are characters of a str
 * object, behind its header of 48 bytes, or of 40 since 3.12. What is told of it is the identifier
 * that it begins with. */
static bool types_class_text(const struct cpython_types *types, hs_addr at,
                             char text[TYPES_NAME_BYTES])
{
    enum { HEAD_BYTES = 36, AT_LENGTH = 16, AT_STATE = 32, COMPACT_ASCII = 0x60, MOST = 512 };
    static const char rest[] = "[...]";
    char type[sizeof "str"];

    for (hs_addr object = at - 48; at >= 4096 && object != at - 32; object += 8) {
        const uint8_t *head = hs_image_bytes(types->process->image, object, HEAD_BYTES);
        if (head == NULL || (head[AT_STATE] & COMPACT_ASCII) != COMPACT_ASCII ||
            hs_load_u64(head + AT_LENGTH) > MOST)
            continue;
        const uint8_t *of = types_head(types, hs_load_u64(head + TYPES_AT_TYPE));
        if (of == NULL || !types_text(types, hs_load_u64(of + TYPES_AT_NAME), type, sizeof type) ||
            strcmp(type, "str") != 0)
            continue;
        size_t length = (size_t)hs_load_u64(head + AT_LENGTH), n = 0;
        const uint8_t *bytes = hs_image_bytes(types->process->image, at, length + 1);
        if (bytes == NULL || strnlen((const char *)bytes, length + 1) != length)
            continue;
        while (n + sizeof rest < TYPES_NAME_BYTES && types_is_of_name((char)bytes[n], n == 0))
            n++;
        memcpy(text, bytes, n);
        memcpy(text + n, rest, sizeof rest);
        return true;
    }
    return false;
}

/* A count of references: 32 bits, above them an overflow that is 0 and flags (3.14); never the
 * upper half of a pointer. Where a program is not moved when it is loaded the addresses of its heap
 * have no more bits than a count: such a word is an address when something is there. */
static bool types_is_count(const struct cpython_types *types, uint64_t word)
{
    if ((uint32_t)word == 0 || (word >> 32 & 0xffff) != 0 || word >> 56 != 0)
        return false;
    return word < TYPES_SURE_COUNT || hs_image_bytes(types->process->image, word, 1) == NULL;
}

static bool types_find_name(const struct cpython_types *types, const uint8_t *head,
                            char text[TYPES_NAME_BYTES])
{
    hs_addr name = hs_load_u64(head + TYPES_AT_NAME);

    if (types_text(types, name, text, TYPES_NAME_BYTES) && types_is_name(text))
        return true;
    return (hs_load_u64(head + TYPES_AT_FLAGS) & TYPES_IS_HEAP) != 0 &&
           types_is_count(types, hs_load_u64(head)) && types_class_text(types, name, text);
}

/* A word of a type object; 0 when it is not in the copy. */
static uint64_t types_field(const struct cpython_types *types, hs_addr type, size_t at)
{
    uint64_t word = 0;
    hs_image_u64(types->process->image, type + at, &word);
    return word;
}

/* Is it, or does it derive from, one of the interpreter's own types of weak references? */
static bool types_is_weak_reference(const struct cpython_types *types, hs_addr type)
{
    static const char *const names[] = {"weakref",
                                        "weakproxy",
                                        "weakcallableproxy", /* 3.11 and earlier */
                                        "weakref.ReferenceType",
                                        "weakref.ProxyType",
                                        "weakref.CallableProxyType"};
    char name[TYPES_NAME_BYTES];

    for (int i = 0; i < TYPES_MAX_CHAIN && types_head(types, type) != NULL; i++) {
        bool is_own = types->interpreter != NULL && type >= types->interpreter->begin &&
                      type < types->interpreter->end;
        if (is_own && types_text(types, types_field(types, type, TYPES_AT_NAME), name, sizeof name))
            for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
                if (strcmp(name, names[k]) == 0)
                    return true;
        type = types_field(types, type, TYPES_AT_BASE);
    }
    return false;
}

/* The object of a slot's type begins here in its block. */
static unsigned types_object_at(const struct types_slot *slot)
{
    return slot->at - 8u;
}

/* Returns how many of an object's words, from the first on, may be pointers; UINT64_MAX: all,
 * unless its type is one of the interpreter's own of plain data. Of text the headers of all forms
 * are taken: 72 bytes, and a pointer to the characters elsewhere. */
static uint64_t types_owning_words(const struct cpython_types *types, const struct types_slot *slot)
{
    static const struct {
        const char *name;
        uint64_t n_words;
    } plain[] = {{"bytes", 2}, {"int", 2},     {"float", 2},
                 {"bool", 2},  {"complex", 2}, {"str", TEXT_WORDS}};

    if (types->interpreter == NULL || slot->address < types->interpreter->begin ||
        slot->address >= types->interpreter->end)
        return UINT64_MAX;
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
        if (strcmp(slot->name, plain[i].name) == 0)
            return plain[i].n_words;
    return UINT64_MAX;
}

/* Compact text of ASCII has no pointer but wstr, which 3.12 did away with. Its state is
 * {interned:2, kind:3, compact:1, ascii:1}; since 3.14 {interned:16, kind:3, ...}
 * (unicodeobject.h). */
static bool types_is_ascii(const struct types_slot *slot, const struct hs_heap_block *block)
{
    enum { AT_STATE = 32, BYTE_KIND = 1 << 2, COMPACT = 1 << 5, ASCII = 1 << 6, ALL = 0x7c };
    uint64_t at = types_object_at(slot) + AT_STATE;

    if (block->n_bytes < at + 8)
        return false;
    uint64_t state = hs_load_u64(block->bytes + at);
    uint64_t flags = (state & ALL) != 0 ? state & ALL : state >> 14 & ALL;
    return flags == (BYTE_KIND | COMPACT | ASCII);
}

static struct hs_object_words types_words(const struct cpython_types *types,
                                          const struct types_slot *slot, uint64_t flags)
{
    enum { WR_OBJECT = 2, WR_PREV = 5, WR_NEXT = 6 };
    struct hs_object_words words = {.n_owning = types_owning_words(types, slot),
                                    .is_tracked = (flags & TYPES_HAS_GC) != 0};
    unsigned object = types_object_at(slot) / 8;
    uint64_t list = types_field(types, slot->address, TYPES_AT_WEAK_LIST);

    if (words.is_tracked)
        words.links |= UINT64_C(3) << (types->is_old ? 0 : object - 2);
    if (types_is_weak_reference(types, slot->address)) {
        words.links |= (UINT64_C(1) << WR_PREV | UINT64_C(1) << WR_NEXT) << object;
        words.weak |= UINT64_C(1) << WR_OBJECT << object;
    }
    if (list >= 16 && list % 8 == 0 && list / 8 + object < 64)
        words.weak |= UINT64_C(1) << (list / 8 + object);
    if ((flags & TYPES_HAS_WEAK) != 0 && words.is_tracked && !types->is_old)
        words.weak |= 1;
    return words;
}

/* Blocks that lists, dictionaries and sets have beside themselves: listobject.h, dictobject.h,
 * setobject.h, the same from 3.6 to 3.14. */
static size_t types_parts(const struct types_slot *slot, uint64_t flags,
                          struct hs_object_part ret[HS_OBJECT_PARTS])
{
    uint64_t object = types_object_at(slot);
    size_t n = 0;

    if ((flags & TYPES_IS_LIST) != 0) {
        ret[n++] = (struct hs_object_part){object + 24, "list items"};
    } else if ((flags & TYPES_IS_DICT) != 0) {
        ret[n++] = (struct hs_object_part){object + 32, "dict keys"};
        ret[n++] = (struct hs_object_part){object + 40, "dict values"};
    } else if (strcmp(slot->name, "set") == 0 || strcmp(slot->name, "frozenset") == 0) {
        ret[n++] = (struct hs_object_part){object + 40, "set table"};
    }
    if ((flags & TYPES_HAS_DICT) != 0 && slot->at == 40) { /* of 3.11, 3.12: no dictionary yet */
        ret[n++] = (struct hs_object_part){0, "instance values"};
        ret[n++] = (struct hs_object_part){8, "instance values"};
    }
    return n;
}

static enum types_collection types_collection_of(const struct types_slot *slot, uint64_t flags)
{
    if ((flags & TYPES_IS_LIST) != 0)
        return TYPES_A_LIST;
    if ((flags & TYPES_IS_DICT) != 0)
        return TYPES_A_DICT;
    if (strcmp(slot->name, "set") == 0 || strcmp(slot->name, "frozenset") == 0)
        return TYPES_A_SET;
    return strcmp(slot->name, "collections.deque") == 0 ? TYPES_A_DEQUE : TYPES_NONE;
}

/* Sets the least size of the blocks of its objects (what stands before the object, and
 * tp_basicsize), and whether that is all: items or text may stand behind it. */
static void types_size(const struct cpython_types *types, struct types_slot *slot, uint64_t flags)
{
    uint64_t n_bytes = types_field(types, slot->address, TYPES_AT_BASIC_SIZE);
    bool is_str = (flags & TYPES_IS_STR) != 0;

    if (n_bytes > TYPES_MAX_BYTES) /* damaged */
        n_bytes = 0;
    slot->is_fixed = n_bytes != 0 && !is_str && (flags & TYPES_HAS_INLINE) == 0 &&
                     types_field(types, slot->address, TYPES_AT_ITEM_SIZE) == 0;
    slot->least_bytes = types_object_at(slot) + (is_str ? TYPES_STR_BYTES : n_bytes);
}

/* Memory that is no object may well have a type where an object has its own, as the states of
 * modules do: its size gives it away, unless it fits, too. */
static bool types_fits(const struct types_slot *slot, const struct hs_heap_block *block)
{
    if (block->n_bytes < slot->least_bytes)
        return false;
    return !slot->is_fixed || block->n_bytes > CPYTHON_MAX_BLOCK_BYTES ||
           block->n_bytes - slot->least_bytes < TYPES_ROUNDED_BYTES;
}

/* Returns what is known of `type`, which is read on first sight. */
static const struct types_slot *types_look_up(struct cpython_types *types, hs_addr type)
{
    struct types_slot *slot =
        &types->slots[(type * UINT64_C(0x9e3779b97f4a7c15)) >> 52 & (TYPES_SLOTS - 1)];

    if (slot->address == type)
        return slot;
    slot->address = type;
    slot->at = 0;
    const uint8_t *head = types_head(types, type);
    if (head == NULL || !types_is_type(types, type) || !types_find_name(types, head, slot->name))
        return slot;
    uint64_t flags = hs_load_u64(head + TYPES_AT_FLAGS);
    if ((flags & TYPES_HAS_GC) == 0)
        slot->at = 8;
    else if (types->is_old)
        slot->at = 40;
    else
        slot->at = (flags & (TYPES_HAS_DICT | TYPES_HAS_WEAK)) != 0 ? 40 : 24;
    types_size(types, slot, flags);
    slot->words = types_words(types, slot, flags);
    slot->n_parts = (uint8_t)types_parts(slot, flags, slot->parts);
    slot->collection = (uint8_t)types_collection_of(slot, flags);
    return slot;
}

/* The type of the object in a block; NULL when it holds none. */
static const struct types_slot *types_of_block(struct cpython_types *types,
                                               const struct hs_heap_block *block)
{
    static const uint8_t places[] = {8, 24, 40};

    if (types == NULL || block->bytes == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof places && places[i] + 8u <= block->n_bytes; i++) {
        hs_addr type = hs_load_u64(block->bytes + places[i]);
        if (type % 8 != 0 || type < 4096 || type >= HS_USER_END ||
            !types_is_count(types, hs_load_u64(block->bytes + places[i] - 8u)))
            continue;
        const struct types_slot *slot = types_look_up(types, type);
        if (slot->at == places[i] && types_fits(slot, block))
            return slot;
    }
    return NULL;
}

static bool object_type_name(const void *state, const struct hs_heap_block *block, char *text,
                             size_t n_bytes)
{
    const struct types_slot *slot = types_of_block(hs_cpython_state_types(state), block);

    if (slot == NULL || n_bytes == 0)
        return false;
    size_t length = strlen(slot->name);
    if (length >= n_bytes)
        length = n_bytes - 1;
    memcpy(text, slot->name, length);
    text[length] = '\0';
    return true;
}

static bool object_words(const void *state, const struct hs_heap_block *block,
                         struct hs_object_words *ret)
{
    const struct types_slot *slot = types_of_block(hs_cpython_state_types(state), block);

    *ret = slot == NULL ? (struct hs_object_words){.n_owning = UINT64_MAX} : slot->words;
    if (slot != NULL && ret->n_owning == TEXT_WORDS && types_is_ascii(slot, block))
        ret->n_owning = ASCII_WORDS;
    return slot != NULL;
}

static bool object_is_list_end(const void *state, const struct hs_heap_block *block, hs_addr slot,
                               uint64_t word)
{
    const uint64_t flags = 7; /* of gc_prev, and since 3.12 of gc_next */
    struct hs_object_words words;

    if (!object_words(state, block, &words) || !words.is_tracked)
        return false;
    size_t head = (size_t)__builtin_ctzll(words.links) * 8;
    if (head + 16 > block->n_bytes || (word & ~flags) != block->begin + head)
        return false;
    return (hs_load_u64(block->bytes + head + 8) & ~flags) == slot ||
           (hs_load_u64(block->bytes + head) & ~flags) == slot - 8;
}

static size_t object_parts(const void *state, const struct hs_heap_block *block,
                           struct hs_object_part ret[HS_OBJECT_PARTS])
{
    const struct types_slot *slot = types_of_block(hs_cpython_state_types(state), block);

    if (slot == NULL)
        return 0;
    memcpy(ret, slot->parts, slot->n_parts * sizeof *ret);
    return slot->n_parts;
}

/* Reads the counts of lists {size, items, room}, dictionaries {used, ..., keys}, sets {filled,
 * used, ..., table} and deques {size, first block}: listobject.h, dictobject.h, setobject.h and
 * _collectionsmodule.c, the same from 3.6 to 3.14. */
static bool object_count(const void *state, const struct hs_heap_block *block,
                         struct hs_object_count *ret)
{
    enum { SIZE = 16, USED = 24, TABLE = 40, KEYS = 32, ITEMS = 24, ROOM = 32 };
    enum { HEAD_BYTES = 48, ITEM_BYTES = 8, ENTRY_BYTES = 16 };
    const struct types_slot *slot = types_of_block(hs_cpython_state_types(state), block);
    uint64_t at = slot == NULL ? 0 : types_object_at(slot);

    if (slot == NULL || slot->collection == TYPES_NONE || block->n_bytes < HEAD_BYTES + at - 8)
        return false;
    const uint8_t *object = block->bytes + at;
    *ret = (struct hs_object_count){.entries = hs_load_u64(object + SIZE), .room = UINT64_MAX};
    if (slot->collection == TYPES_A_LIST) {
        ret->room = hs_load_u64(object + ROOM);
        ret->body = hs_load_u64(object + ITEMS);
        ret->element_bytes = ITEM_BYTES;
    } else if (slot->collection == TYPES_A_DICT) {
        ret->body = hs_load_u64(object + KEYS);
        ret->element_bytes = ENTRY_BYTES;
    } else if (slot->collection == TYPES_A_SET && block->n_bytes - at >= HEAD_BYTES) {
        ret->entries = hs_load_u64(object + USED);
        ret->body = hs_load_u64(object + TABLE);
        ret->element_bytes = ENTRY_BYTES;
    }
    return true;
}

const struct hs_object_model hs_cpython_objects = {
    .type_name = object_type_name,
    .words = object_words,
    .is_list_end = object_is_list_end,
    .parts = object_parts,
    .count = object_count,
};
