/* Roots of greenlets that wait (gevent, eventlet, SQLAlchemy): of each the variables of its frames.
 *
 * Since 3.11 a greenlet has a stack of frames of its own, in chunks (_PyStackChunk of
 * pycore_frame.h) that it exchanges with the thread's state when it is switched to. What of these
 * is valid stands in its state (TPythonState.cpp of greenlet 2 and 3), in one order since then:
 *
 *   ... the frame object of its innermost frame ... | that frame | chunk | top | limit
 *
 * The three are found by what they say of each other: a chunk is as long as it says. While a
 * greenlet runs it has no such frame object, and its variables are on the stack of its thread. The
 * first of its frames begins its first chunk, and each is as long as its code says: so all of them
 * are found, also where code in C has called the next one. */
#include <string.h>

#include "base/load.h"
#include "python.h"

enum {
    AT_STATE = 32, /* of a greenlet: what it is made of, in C++ */
    MAX_STATE_BYTES = 512,
    CHUNK_HEAD = 24, /* previous, size, top */
    AT_CHUNK_SIZE = 8,
    AT_CHUNK_TOP = 16,
    STACK_SIZE_BEFORE = 8, /* of code: before its number of variables */
    AT_FRAME = 24,         /* of a frame object */
    MAX_CHUNKS = 64,
    MAX_FRAMES = 1 << 16,
    MAX_CHUNK_BYTES = 1 << 30,
};

struct stack {
    hs_addr frame;              /* the innermost */
    hs_addr begins[MAX_CHUNKS]; /* of chunks, the newest first */
    hs_addr ends[MAX_CHUNKS];
    size_t n;
};

static bool is_greenlet(const struct py_view *view, const struct py_class *class)
{
    hs_addr type = class->address;
    char name[PY_NAME_BYTES];

    for (int i = 0; class->is_type && i < PY_MAX_CHAIN && type != 0 && type % PY_WORD == 0; i++) {
        if (!hs_python_may_look(view, 1))
            return false;
        if (hs_python_string(view, hs_python_word(view, type + PY_AT_TYPE_NAME), name,
                             sizeof name) &&
            strcmp(name, "greenlet.greenlet") == 0)
            return true;
        type = hs_python_word(view, type + PY_AT_TYPE_BASE);
    }
    return false;
}

/* ---- its stack */

static bool is_chunk(const struct py_view *view, hs_addr chunk, hs_addr top, hs_addr limit)
{
    if (chunk == 0 || chunk % PY_WORD != 0 || top % PY_WORD != 0 || top < chunk + CHUNK_HEAD ||
        top > limit || limit - chunk > MAX_CHUNK_BYTES)
        return false;
    return hs_python_word(view, chunk + AT_CHUNK_SIZE) == limit - chunk;
}

/* Tells whether the words of its state up to `end` have the object of its innermost frame. */
static bool has_frame_object(const struct py_state *s, const uint8_t *state, size_t end,
                             hs_addr frame)
{
    for (size_t at = PY_WORD; at < end; at += PY_WORD) {
        hs_addr object = hs_load_u64(state + at);
        const struct py_class *class =
            object == 0 ? NULL : hs_python_class_of(&s->view, &s->classes, object);
        if (class != NULL && class->kind == PY_FRAME &&
            hs_python_word(&s->view, object + AT_FRAME) == frame)
            return true;
    }
    return false;
}

/* Lists all of its chunks, from the newest on. False: too many, or they are no chain. */
static bool add_chunks(const struct py_view *view, hs_addr chunk, hs_addr top, struct stack *ret)
{
    for (ret->n = 0; chunk != 0; ret->n++) {
        if (ret->n == MAX_CHUNKS || !hs_python_may_look(view, 1))
            return false;
        hs_addr previous = hs_python_word(view, chunk);
        ret->begins[ret->n] = chunk + CHUNK_HEAD + (previous == 0 ? PY_WORD : 0);
        ret->ends[ret->n] = top;
        chunk = previous;
        uint64_t n_words = chunk == 0 ? 0 : hs_python_word(view, chunk + AT_CHUNK_TOP);
        if (n_words > MAX_CHUNK_BYTES / PY_WORD)
            return false;
        top = chunk + CHUNK_HEAD + n_words * PY_WORD;
    }
    return true;
}

static bool find_stack(const struct py_state *s, hs_addr greenlet, struct stack *ret)
{
    hs_addr state = hs_python_word(&s->view, greenlet + AT_STATE);
    struct hs_heap_block block;

    if (state == 0 || state % PY_WORD != 0 ||
        hs_heap_map_resolve(&s->dump->heaps.map, state, &block) == HS_POINTER_NONE ||
        block.bytes == NULL)
        return false;
    size_t n = block.n_bytes < MAX_STATE_BYTES ? block.n_bytes : MAX_STATE_BYTES;
    for (size_t at = (size_t)2 * PY_WORD; at + (size_t)3 * PY_WORD <= n; at += PY_WORD) {
        hs_addr chunk = hs_load_u64(block.bytes + at);
        hs_addr top = hs_load_u64(block.bytes + at + PY_WORD);
        if (!is_chunk(&s->view, chunk, top, hs_load_u64(block.bytes + at + 2 * PY_WORD)))
            continue;
        ret->frame = hs_load_u64(block.bytes + at - PY_WORD);
        return has_frame_object(s, block.bytes, at - PY_WORD, ret->frame) &&
               add_chunks(&s->view, chunk, top, ret);
    }
    return false;
}

/* ---- its frames */

static uint64_t frame_bytes(const struct py_view *view, hs_addr code)
{
    const struct hs_python_layout *layout = view->layout;
    uint64_t n_words = hs_python_n_locals(view, code) +
                       hs_python_u32(view, code + layout->code_n_locals - STACK_SIZE_BEFORE);

    return layout->frame_localsplus + n_words * PY_WORD;
}

/* Adds the frames of a chunk up to the innermost: *ret_is_last when that was it. One that is longer
 * than the chunk is none. */
static hs_status add_chunk(struct py_waiting *w, const struct stack *stack, size_t chunk,
                           bool *ret_is_last, struct hs_error *err)
{
    const struct py_view *view = &w->s->view;
    struct py_frame f;

    f.at = stack->begins[chunk];
    while (!*ret_is_last && f.at < stack->ends[chunk] && w->depth < MAX_FRAMES &&
           hs_python_may_look(view, 1)) {
        f.code =
            hs_python_untagged(view->layout, hs_python_word(view, f.at + view->layout->frame_code));
        hs_addr next = f.at + frame_bytes(view, f.code);
        if (!hs_python_is_code(w->s, f.code) || next > stack->ends[chunk])
            return HS_OK;
        *ret_is_last = f.at == stack->frame;
        HS_TRY(hs_python_add_waiting(w, &f, err));
        f.at = next;
    }
    return HS_OK;
}

static hs_status add_greenlet(struct py_state *s, struct py_places *places, hs_str group,
                              hs_addr greenlet, struct hs_error *err)
{
    struct py_waiting w = {
        .s = s, .places = places, .kind = "greenlet", .awaits = "call ", .group = group};
    struct stack stack = {0};
    bool is_last = false;

    if (!find_stack(s, greenlet, &stack))
        return HS_OK;
    for (size_t i = stack.n; i-- > 0 && !is_last;)
        HS_TRY(add_chunk(&w, &stack, i, &is_last, err));
    return HS_OK;
}

static bool find_classes(struct py_state *s)
{
    bool has_greenlets = false;

    for (size_t i = 0; i < s->classes.n; i++) {
        s->classes.all[i].is_greenlet = is_greenlet(&s->view, &s->classes.all[i]);
        has_greenlets |= s->classes.all[i].is_greenlet;
    }
    return has_greenlets;
}

hs_status hs_python_name_greenlets(struct py_state *s, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &s->dump->heaps.map};
    struct hs_heap_block block;
    struct py_places places = {0};
    hs_str group;

    if (s->view.layout->minor < 11 || !find_classes(s))
        return HS_OK;
    HS_TRY(hs_strtab_add(&s->dump->strings, "greenlets", &group, err));
    while (hs_heap_map_next(&it, &block)) {
        uint64_t known = s->blocks.known[block.rank];
        if (hs_python_known_kind(known) != PY_BLOCK_OBJECT)
            continue;
        const struct py_class *class = &s->classes.all[hs_python_known_number(known)];
        if (class->is_greenlet)
            HS_TRY(add_greenlet(s, &places, group, block.begin + class->object_at, err));
    }
    return HS_OK;
}
