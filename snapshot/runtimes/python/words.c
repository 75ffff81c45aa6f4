/* The words of a block that may be pointers, by what the block is. */
#include <string.h>

#include "base/load.h"
#include "python.h"

enum { AT_SIZE = 16, MASK_WORDS = 64, ITEM_WORDS = 1 };

static void add_run(struct hs_object_words *words, int i, uint64_t begin, uint64_t end)
{
    words->runs[i] =
        (struct hs_word_run){.begin = begin, .end = end, .period = ITEM_WORDS, .which = 1};
}

static void own_not(struct hs_object_words *words, uint64_t from)
{
    if (from < MASK_WORDS)
        words->owning &= (UINT64_C(1) << from) - 1;
}

/* Finds the words of a text by its state { interned:2, kind:3, compact:1, ascii:1 }. Compact text
 * has its characters in itself; up to 3.11 all may have a copy in wide characters. */
static void words_of_text(const struct py_state *s, const struct py_class *class,
                          const struct hs_heap_block *block, struct hs_object_words *words)
{
    enum { AT_STATE = 32, COMPACT = 1 << 5, ASCII = 1 << 6 };
    uint64_t object = class->object_at / PY_WORD;
    uint32_t state = hs_load_u32(block->bytes + class->object_at + AT_STATE);
    uint64_t ascii = s->view.layout->str_ascii / PY_WORD;
    uint64_t compact = s->view.layout->str_compact / PY_WORD;

    words->owning &= ~(UINT64_C(1) << (object + ascii));     /* utf8_length */
    words->owning &= ~(UINT64_C(1) << (object + ascii + 2)); /* wstr_length, or characters */
    if (s->view.layout->minor < 12)                          /* wstr; below it only the state */
        words->owning |= UINT64_C(1) << (object + ascii - 1);
    else
        words->owning |= UINT64_C(1) << (object + compact); /* characters elsewhere */
    if ((state & COMPACT) != 0)
        own_not(words, object + ((state & ASCII) != 0 ? ascii : compact));
}

/* Finds the words behind the digits of a number or the bytes of a text: there an object of a class
 * of the program has its dictionary. */
static void words_behind(const struct py_class *class, uint64_t n_bytes,
                         struct hs_object_words *words)
{
    uint64_t begin = (class->object_at + class->kind_bytes + n_bytes + PY_WORD - 1) / PY_WORD;

    own_not(words, (class->object_at + class->kind_bytes) / PY_WORD);
    if (class->has_dict_behind)
        add_run(words, 0, begin, begin + 1);
}

/* Finds the items of a tuple. The sequences of C with names for their fields may have more of these
 * than items: their types are called after a module. */
static void words_of_tuple(const struct py_class *class, uint64_t n_items, uint64_t most,
                           struct hs_object_words *words)
{
    uint64_t first = (class->object_at + class->kind_bytes) / PY_WORD;

    if (!class->is_exact && class->is_of_c)
        add_run(words, 0, first, most);
    else
        add_run(words, 0, first, first + n_items + class->has_dict_behind);
}

static uint64_t size_of(const struct py_state *s, const struct py_class *class,
                        const uint8_t *object, uint64_t most)
{
    uint64_t size = hs_load_u64(object + AT_SIZE);

    if (class->kind == PY_INT && s->view.layout->minor >= 12)
        size >>= 3;
    else if ((int64_t)size < 0)
        size = 0 - size;
    return size < most ? size : most;
}

/* Finds the words of a frame in an object: what lies above its stack is left from before. `at` is
 * where it begins in the object. */
static void words_of_frame(const struct py_state *s, const struct py_class *class,
                           const struct hs_heap_block *block, uint16_t at, bool is_live,
                           struct hs_object_words *words)
{
    const struct hs_python_layout *layout = s->view.layout;
    uint64_t frame = class->object_at + (uint64_t)at, first = frame + layout->frame_localsplus;

    if (hs_python_has_tags(layout))
        words->tagged_from = frame / PY_WORD;
    if (!is_live || first + PY_WORD > block->n_bytes + PY_WORD) {
        bool has_code = hs_python_has_tags(layout) && class->kind == PY_GENERATOR;
        own_not(words, frame / PY_WORD + has_code); /* which 3.14 keeps for its name */
        return;
    }
    own_not(words, first / PY_WORD);
    int64_t top = hs_python_stack_top(&s->view, block->begin + frame);
    uint64_t room = (block->n_bytes - first) / PY_WORD;
    uint64_t n = top < 0 || (uint64_t)top > room ? room : (uint64_t)top;
    if (top < 0) /* it runs: its thread has its variables, and knows how high its stack is */
        words->guessed_from = first / PY_WORD;
    add_run(words, 0, first / PY_WORD, first / PY_WORD + n);
}

/* Finds the words of a frame object up to 3.10. It is an object with its variables and its stack
 * behind it: where that begins and how high it is (3.9: its top, or 0; 3.10: how many are on it, or
 * -1) stands in the frame. */
static void words_of_old_frame(const struct py_state *s, const struct py_class *class,
                               const struct hs_heap_block *block, struct hs_object_words *words)
{
    enum { AT_STACK = 64, AT_TOP = 72, AT_DEPTH = 80 };
    const uint8_t *object = block->bytes + class->object_at;
    hs_addr stack = hs_load_u64(object + AT_STACK), top = hs_load_u64(object + AT_TOP);
    uint64_t first = (class->object_at + class->n_bytes) / PY_WORD, end = block->n_bytes / PY_WORD;
    uint64_t at = (stack - block->begin) / PY_WORD, n = (top - stack) / PY_WORD;
    bool runs = top == 0;

    if (s->view.layout->minor == 10) {
        n = hs_load_u32(object + AT_DEPTH);
        runs = (int32_t)n < 0;
    }
    if (stack < block->begin || at < first || at > end)
        at = end;
    if (runs)
        words->guessed_from = at;
    add_run(words, 0, first, runs || n > end - at ? end : at + n);
}

static void words_of_frames(const struct py_state *s, const struct py_class *class,
                            const struct hs_heap_block *block, struct hs_object_words *words)
{
    enum { CLEARED = 4, IN_FRAME_OBJECT = 2 };
    const struct hs_python_layout *layout = s->view.layout;
    const uint8_t *object = block->bytes + class->object_at;

    if (layout->minor < 11) {
        if (class->kind == PY_FRAME)
            words_of_old_frame(s, class, block, words);
        return;
    }
    if (class->kind == PY_GENERATOR) {
        words_of_frame(s, class, block, layout->gen_frame,
                       (int8_t)object[layout->gen_state] < CLEARED, words);
        return;
    }
    uint64_t owner = (uint64_t)layout->frame_object_data + layout->frame_owner;
    words_of_frame(s, class, block, layout->frame_object_data, object[owner] == IN_FRAME_OBJECT,
                   words);
}

/* Finds the values behind the fixed part, since 3.13: { room, used, is embedded, is valid },
 * values. */
static void words_inline(const struct py_class *class, const struct hs_heap_block *block,
                         struct hs_object_words *words)
{
    enum { VALID = 3 };
    const uint8_t *values = block->bytes + class->object_at + class->n_bytes;
    uint64_t first = (class->object_at + class->n_bytes) / PY_WORD + 1;

    if (values[VALID] != 0)
        add_run(words, 1, first, first + values[0]);
}

/* Leaves out the values of a dictionary that are those in an object, since 3.13. */
static void words_of_dict(const struct py_state *s, const struct py_class *class,
                          const struct hs_heap_block *block, struct hs_object_words *words)
{
    enum { AT_VALUES = 40, EMBEDDED = 2 };
    const uint8_t *object = block->bytes + class->object_at;

    if (s->view.layout->minor < 13)
        return;
    const uint8_t *head = hs_python_bytes(&s->view, hs_load_u64(object + AT_VALUES), 4);
    if (head != NULL && head[EMBEDDED] != 0)
        words->owning &= ~(UINT64_C(1) << (class->object_at + AT_VALUES) / PY_WORD);
}

/* Finds the words of a set. The table of a small one is in itself; when there is another, what is
 * left in it is old. */
static void words_of_set(const struct py_class *class, const struct hs_heap_block *block,
                         struct hs_object_words *words)
{
    enum { TABLE = 5, SMALL_TABLE = 8, SMALL_END = 24 };
    unsigned object = class->object_at / PY_WORD;
    hs_addr small = block->begin + class->object_at + (hs_addr)SMALL_TABLE * PY_WORD;

    if (class->n_bytes < (SMALL_END + 1) * (unsigned)PY_WORD)
        return;
    if (hs_load_u64(block->bytes + (object + TABLE) * (size_t)PY_WORD) == small)
        words->owning &= ~(UINT64_C(1) << (object + TABLE));
    else
        words->owning &=
            ~(((UINT64_C(1) << (SMALL_END - SMALL_TABLE)) - 1) << (object + SMALL_TABLE));
}

/* Leaves out, of a deque, the number of blocks that it keeps for later, since 3.11, and the places
 * that have none. */
static void words_of_queue(const struct py_class *class, const struct hs_heap_block *block,
                           struct hs_object_words *words)
{
    enum { COUNT = 9, FIRST = 10, PAST = 26 };
    unsigned object = class->object_at / PY_WORD;

    if (class->n_bytes < PAST * (unsigned)PY_WORD)
        return;
    uint64_t n = hs_load_u64(block->bytes + (object + COUNT) * (size_t)PY_WORD);
    uint64_t first = n < PAST - FIRST ? FIRST + n : PAST;
    words->owning &= ~(((UINT64_C(1) << (PAST - first)) - 1) << (object + first));
    words->owning &= ~(UINT64_C(1) << (object + COUNT));
}

/* Finds the { next, previous } of a task's list, whose neighbours lead back here: they are links,
 * as no task keeps the next one. */
static void words_of_task(const struct py_state *s, const struct py_class *class,
                          const struct hs_heap_block *block, struct hs_object_words *words)
{
    uint64_t first = class->object_at / PY_WORD + 2;
    uint64_t end = (class->object_at + class->n_bytes) / PY_WORD;

    for (uint64_t i = first; s->view.layout->minor >= 14 && i + 1 < end && i < MASK_WORDS; i++) {
        hs_addr node = block->begin + i * PY_WORD;
        hs_addr next = hs_load_u64(block->bytes + i * PY_WORD);
        hs_addr previous = hs_load_u64(block->bytes + (i + 1) * PY_WORD);
        if (next != 0 && next % PY_WORD == 0 && next != node &&
            hs_python_word(&s->view, next + PY_WORD) == node &&
            hs_python_word(&s->view, previous) == node) {
            words->links |= UINT64_C(3) << i;
            words->owning &= ~words->links;
            return;
        }
    }
}

static void words_of_kind(const struct py_state *s, const struct py_class *class,
                          const struct hs_heap_block *block, struct hs_object_words *words)
{
    const uint8_t *object = block->bytes + class->object_at;
    uint64_t fixed = (class->object_at + class->n_bytes) / PY_WORD;
    uint64_t most = block->n_bytes / PY_WORD;

    switch (class->kind) {
    case PY_STR:
        words_of_text(s, class, block, words);
        break;
    case PY_INT:
    case PY_BYTES:
        words_behind(class, size_of(s, class, object, block->n_bytes) * class->item_bytes, words);
        break;
    case PY_TUPLE:
        words_of_tuple(class, size_of(s, class, object, most), most, words);
        break;
    case PY_SET:
        words_of_set(class, block, words);
        break;
    case PY_DEQUE:
        words_of_queue(class, block, words);
        break;
    case PY_GENERATOR:
    case PY_FRAME:
        words_of_frames(s, class, block, words);
        break;
    case PY_DICT:
        words_of_dict(s, class, block, words);
        break;
    case PY_TASK:
        words_of_task(s, class, block, words);
        break;
    case PY_CODE:
    case PY_MEMORYVIEW: /* bytes, or sizes */
        break;
    default:
        if (hs_python_items_lead(class))
            add_run(words, 0, fixed,
                    fixed + size_of(s, class, object, most) * class->item_bytes / PY_WORD);
    }
}

/* Returns the number of references to an object; 0 of one that lives for ever, since 3.12: then its
 * lower half is negative. Since 3.14 the upper half has flags. */
static uint64_t references_of(const struct py_state *s, const uint8_t *object)
{
    uint64_t n = hs_load_u64(object);

    if (s->view.layout->minor >= 14)
        n &= UINT32_MAX;
    return s->view.layout->minor >= 12 && (n & 0x80000000) != 0 ? 0 : n;
}

static void words_of_object(const struct py_state *s, const struct py_class *class,
                            const struct hs_heap_block *block, struct hs_object_words *ret)
{
    ret->owning = class->owning;
    ret->links = class->links;
    ret->weak = class->weak;
    ret->is_tracked = class->has_gc;
    ret->is_hidden = !class->has_gc;
    if (class->has_gc)
        ret->n_references = references_of(s, block->bytes + class->object_at);
    if ((class->object_at + class->n_bytes) / PY_WORD > MASK_WORDS)
        add_run(ret, 1, MASK_WORDS, (class->object_at + class->n_bytes) / PY_WORD);
    words_of_kind(s, class, block, ret);
    if (class->has_inline)
        words_inline(class, block, ret);
}

static void words_of_keys(const struct py_state *s, const struct hs_heap_block *block,
                          struct hs_object_words *ret)
{
    enum { KEY_AND_VALUE = 3, VALUE_IS_SECOND = 6 };
    struct py_keys keys;

    if (!hs_python_keys(&s->view, block->begin, &keys))
        return;
    uint64_t begin = keys.entries_at / PY_WORD, period = keys.is_text ? 2 : 3;
    ret->runs[0] = (struct hs_word_run){.begin = begin,
                                        .end = begin + keys.n_entries * period,
                                        .period = (uint8_t)period,
                                        .which = keys.is_text ? KEY_AND_VALUE : VALUE_IS_SECOND};
}

static void words_of_deque(uint64_t known, struct hs_object_words *ret)
{
    enum { COUNT = PY_DEQUE_HAS_LEFT - 1, RIGHT = PY_DEQUE_ITEMS + 1 };
    uint64_t first = hs_python_known_first(known), number = hs_python_known_number(known);

    add_run(ret, 0, first, first + (number & COUNT));
    ret->owning = (number & PY_DEQUE_HAS_LEFT) != 0;
    if ((number & PY_DEQUE_HAS_RIGHT) != 0)
        add_run(ret, 1, RIGHT, RIGHT + 1);
}

static bool object_words(const void *state, const struct hs_heap_block *block,
                         struct hs_object_words *ret)
{
    const struct py_state *s = state;
    uint64_t known = s->blocks.known[block->rank];
    enum py_block_kind kind = hs_python_known_kind(known);
    uint64_t first = hs_python_known_first(known), number = hs_python_known_number(known);

    *ret = (struct hs_object_words){.n_owning = UINT64_MAX, .is_exact = true};
    ret->is_part = kind != PY_BLOCK_OBJECT;
    ret->is_hidden = kind == PY_BLOCK_REFERENCES; /* numpy's arrays tell the collector nothing */
    switch (kind) {
    case PY_BLOCK_OBJECT:
        words_of_object(s, &s->classes.all[number], block, ret);
        return true;
    case PY_BLOCK_ITEMS:
    case PY_BLOCK_REFERENCES:
    case PY_BLOCK_STATE:
    case PY_BLOCK_SYNTAX:
    case PY_BLOCK_SPARE: /* what leads to the next one */
        add_run(ret, 0, first, first + number);
        return true;
    case PY_BLOCK_VALUES:
        number = hs_python_n_values(known);
        add_run(ret, 0, first, first + number);
        return true;
    case PY_BLOCK_KEYS:
        words_of_keys(s, block, ret);
        return true;
    case PY_BLOCK_SET_TABLE: /* entries of key and hash */
        ret->runs[0] = (struct hs_word_run){.begin = 0, .end = number, .period = 2, .which = 1};
        return true;
    case PY_BLOCK_DEQUE:
        words_of_deque(known, ret);
        return true;
    case PY_BLOCK_NUMBERS:
    case PY_BLOCK_TEXT:
        return true;
    case PY_BLOCK_RAW:
        ret->is_exact = false;
        ret->is_plain = true;
        return true;
    default:
        ret->is_exact = false;
        return false;
    }
}

static bool object_is_list_end(const void *state, const struct hs_heap_block *block, hs_addr slot,
                               uint64_t word)
{
    const uint64_t flags = 7; /* of gc_prev, and since 3.12 of gc_next */
    const struct py_state *s = state;
    uint64_t known = s->blocks.known[block->rank];

    if (hs_python_known_kind(known) != PY_BLOCK_OBJECT)
        return false;
    const struct py_class *class = &s->classes.all[hs_python_known_number(known)];
    if (!class->has_gc)
        return false;
    const uint8_t *head = block->bytes + class->object_at - 2 * PY_WORD;
    if ((word & ~flags) != block->begin + class->object_at - 2 * PY_WORD)
        return false;
    return (hs_load_u64(head + PY_WORD) & ~flags) == slot ||
           (hs_load_u64(head) & ~flags) == slot - PY_WORD;
}

static size_t object_parts(const void *state, const struct hs_heap_block *block,
                           struct hs_object_part ret[HS_OBJECT_PARTS])
{
    (void)state;
    (void)block;
    (void)ret;
    return 0; /* they are told as what they are */
}

static const struct hs_bitmap *object_named(const void *state)
{
    const struct py_state *s = state;
    return s->n_names == 0 ? NULL : &s->named;
}

static bool object_is_own(const void *state, const struct hs_heap_block *block)
{
    const struct py_state *s = state;
    return s->own.n_bits != 0 && hs_bitmap_get(&s->own, block->rank);
}

static bool object_is_part(const void *state, const struct hs_heap_block *block)
{
    const struct py_state *s = state;
    uint64_t known = s->blocks.known[block->rank];

    switch (hs_python_known_kind(known)) {
    case PY_BLOCK_ITEMS:
    case PY_BLOCK_REFERENCES:
    case PY_BLOCK_VALUES:
    case PY_BLOCK_KEYS:
    case PY_BLOCK_SET_TABLE:
    case PY_BLOCK_DEQUE:
        return true;
    case PY_BLOCK_RAW:
        return hs_python_known_number(known) != 0;
    default:
        return false; /* C may have the address of the others for itself */
    }
}

static bool object_is_inside(const void *state, const struct hs_heap_block *block, uint64_t word)
{
    const struct py_state *s = state;
    uint64_t known = s->blocks.known[block->rank];

    if (hs_python_known_kind(known) != PY_BLOCK_OBJECT)
        return object_is_part(state, block);
    uint64_t offset = word - block->begin; /* behind the block: the word has tags */
    return offset < block->n_bytes &&
           offset > s->classes.all[hs_python_known_number(known)].object_at;
}

/* Tells whether a dictionary is the table of all texts that are there once: each is its own key. Up
 * to 3.11 a variable has it. */
static bool is_of_interned(const struct py_state *s, hs_addr dict)
{
    enum { LOOK_AT = 32 };
    struct py_entries it;
    unsigned n = 0;

    hs_python_entries(&s->view, dict, &it);
    while (n < LOOK_AT && hs_python_next_entry(&s->view, &it)) {
        const struct py_class *class = hs_python_class_of(&s->view, &s->classes, it.key);
        if (it.key != it.value || class == NULL || class->kind != PY_STR)
            return false;
        n++;
    }
    return n == LOOK_AT;
}

static hs_str object_variable_name(const void *state, hs_addr variable,
                                   const struct hs_heap_block *target)
{
    const struct py_state *s = state;
    const struct hs_object *python = s->interpreter.object;
    uint64_t known = s->blocks.known[target->rank];

    if (python == NULL || hs_objects_object_at(&s->dump->objects, variable) != python ||
        hs_python_known_kind(known) != PY_BLOCK_OBJECT)
        return 0;
    const struct py_class *class = &s->classes.all[hs_python_known_number(known)];
    return class->kind == PY_DICT && is_of_interned(s, target->begin + class->object_at)
               ? s->interned_name
               : 0;
}

/* Tells whether a word of the interpreter's state leads to an object of a kind of which it has
 * lists of free ones, from 3.11 to 3.13: behind those that are free now stand the addresses of
 * objects that it has given out again. What it truly has of these kinds has a name (sys.modules),
 * or is kept all the same. */
static bool object_is_left(const void *state, const struct hs_heap_block *block, hs_addr slot)
{
    const struct py_state *s = state;
    uint64_t known = s->blocks.known[block->rank];

    if (s->view.layout->minor < 11 || s->view.layout->minor > 13 ||
        slot - s->interpreter.runtime >= s->interpreter.runtime_bytes ||
        hs_python_known_kind(known) != PY_BLOCK_OBJECT)
        return false;
    const struct py_class *class = &s->classes.all[hs_python_known_number(known)];
    return class->kind == PY_LIST || class->kind == PY_TUPLE || class->kind == PY_FLOAT ||
           (class->kind == PY_DICT && !is_of_interned(s, block->begin + class->object_at));
}

const struct hs_object_model hs_python_objects = {
    .knows_parts = true,
    .type = hs_python_type,
    .describe = hs_python_describe,
    .words = object_words,
    .is_list_end = object_is_list_end,
    .parts = object_parts,
    .named = object_named,
    .is_own = object_is_own,
    .is_part = object_is_part,
    .is_inside = object_is_inside,
    .is_left = object_is_left,
    .variable_name = object_variable_name,
};
