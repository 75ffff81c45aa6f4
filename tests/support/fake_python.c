/* links: hs_python hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
#include "fake_python.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "symbols/elf.h"

enum {
    HAS_INLINE = 1 << 2,
    HAS_DICT = 1 << 4,
    IS_HEAP = 1 << 9,
    HAS_GC = 1 << 14,
    TYPE_WORDS = 56, /* of a static one */
    GC_BYTES = 16,
    LONG_HEAD_BYTES = 32,
    MAX_ENTRIES = 8,
};

/* The built-in types, in the order of their numbers here. */
enum kind {
    TYPE,
    DICT,
    STR,
    LIST,
    SET,
    DEQUE,
    MODULE,
    FUNCTION,
    CODE,
    GENERATOR,
    BYTES,
    TUPLE,
    FRAME, /* up to 3.10 */
    LOCAL,
    CONTEXT, /* and the map and the node in it, alike */
    MAP_NODE,
    INT,
    TASK,
    GREENLET,
    N_KINDS
};

struct builtin {
    const char *name;
    unsigned n_bytes, item_bytes;
    bool has_gc;
};

static struct builtin builtin_of(const struct hs_python_layout *layout, enum kind kind)
{
    const struct builtin all[N_KINDS] = {
        [TYPE] = {"type", layout->ht_cached_keys + 8U, 40, true},
        [DICT] = {"dict", 48, 0, true},
        [STR] = {"str", layout->str_compact + 8U, 0, false},
        [LIST] = {"list", 40, 0, true},
        [SET] = {"set", 200, 0, true},
        [DEQUE] = {"collections.deque", layout->minor >= 11 ? 208 : 72, 0, true},
        [MODULE] = {"module", 56, 0, true},
        [FUNCTION] = {"function", 136, 0, true},
        [CODE] = {"code", 208, layout->minor >= 11 ? 1 : 0, false},
        [GENERATOR] = {"generator",
                       layout->minor >= 11 ? layout->gen_frame + layout->frame_localsplus + 0U
                                           : 112,
                       layout->minor >= 11 ? 8 : 0, true},
        [BYTES] = {"bytes", 33, 1, false},
        [TUPLE] = {"tuple", layout->tuple_items, 8, true},
        [FRAME] = {"frame",
                   layout->frame_localsplus +
                       (layout->minor < 11 ? 0U : layout->frame_object_data + 0U),
                   8, true},
        [LOCAL] = {"_thread._local", 64, 0, true},
        [CONTEXT] = {"Context", 48, 0, true},
        [INT] = {"int", 24, 4, false},
        [TASK] = {"_asyncio.Task", 184, 0, true},
        [GREENLET] = {"greenlet.greenlet", 40, 0, true},
        [MAP_NODE] = {"hamt_bitmap_node", 32, 8, true},
    };
    return all[kind];
}

uint64_t *fake_python_word(struct fake_python *fake, hs_addr at)
{
    if (at - FAKE_PYTHON_HEAP < sizeof fake->heap)
        return &fake->heap[(at - FAKE_PYTHON_HEAP) / PY_WORD];
    assert(at - FAKE_PYTHON_DATA < sizeof fake->data);
    return &fake->data[(at - FAKE_PYTHON_DATA) / PY_WORD];
}

static void put(struct fake_python *fake, hs_addr at, uint64_t word)
{
    *fake_python_word(fake, at) = word;
}

/* Part of a word. */
static void put_u32(struct fake_python *fake, hs_addr at, uint32_t number)
{
    memcpy((uint8_t *)fake_python_word(fake, at & ~UINT64_C(7)) + at % PY_WORD, &number,
           sizeof number);
}

static hs_addr take_data(struct fake_python *fake, size_t n_words)
{
    hs_addr at = FAKE_PYTHON_DATA + fake->n_data * PY_WORD;
    fake->n_data += n_words;
    assert(fake->n_data <= FAKE_PYTHON_DATA_WORDS);
    return at;
}

static hs_addr c_text(struct fake_python *fake, const char *text)
{
    hs_addr at = take_data(fake, strlen(text) / PY_WORD + 1);
    memcpy(fake_python_word(fake, at), text, strlen(text) + 1);
    return at;
}

static hs_addr type_at(enum kind kind)
{
    return FAKE_PYTHON_DATA + kind * (hs_addr)TYPE_WORDS * PY_WORD;
}

/* ---- blocks */

static hs_addr block(struct fake_python *fake, uint64_t n_bytes)
{
    n_bytes = (n_bytes + 15) & ~UINT64_C(15);
    hs_addr begin = FAKE_PYTHON_HEAP + fake->n_heap * PY_WORD;
    struct hs_heap_span span = {.begin = begin,
                                .end = begin + n_bytes,
                                .form = HS_SPAN_SINGLE,
                                .owner = HS_OWNER_registered};
    struct hs_error err = HS_ERROR_INIT;

    fake->n_heap += n_bytes / PY_WORD;
    assert(fake->n_heap <= FAKE_PYTHON_HEAP_WORDS && fake->n_blocks < FAKE_PYTHON_BLOCKS);
    if (hs_heap_map_add(&fake->dump.heaps.map, &span, &err) != HS_OK)
        abort();
    fake->blocks[fake->n_blocks++] = begin;
    return begin;
}

/* With so much before it. */
static hs_addr object(struct fake_python *fake, hs_addr type, unsigned head_bytes, uint64_t n_bytes)
{
    hs_addr at = block(fake, head_bytes + n_bytes) + head_bytes;
    put(fake, at, 1);
    put(fake, at + 8, type);
    return at;
}

static hs_addr builtin(struct fake_python *fake, enum kind kind, uint64_t more_bytes)
{
    struct builtin b = builtin_of(fake->layout, kind);
    return object(fake, type_at(kind), b.has_gc ? GC_BYTES : 0, b.n_bytes + more_bytes);
}

static hs_addr text(struct fake_python *fake, const char *characters)
{
    uint64_t n = strlen(characters);
    hs_addr at = object(fake, type_at(STR), 0, fake->layout->str_ascii + n + 1);

    put(fake, at + 16, n);
    put(fake, at + 32, 0x64); /* compact, ASCII, of one byte each */
    memcpy((uint8_t *)fake_python_word(fake, at + fake->layout->str_ascii), characters, n + 1);
    return at;
}

/* The table of a dictionary, of eight places. */
static hs_addr keys(struct fake_python *fake, size_t n, const char *const names[],
                    const hs_addr values[])
{
    bool is_old = fake->layout->minor < 11;
    unsigned head = (is_old ? 40 : 32) + 8, words = is_old ? 3 : 2;
    hs_addr at = block(fake, head + (uint64_t)MAX_ENTRIES * words * PY_WORD);

    put(fake, at, 1);
    put(fake, at + 8, is_old ? MAX_ENTRIES : 3 | 3 << 8 | 1 << 16);
    put(fake, at + head - 16, n);
    for (size_t i = 0; i < n; i++) {
        hs_addr entry = at + head + (i * words + words - 2) * PY_WORD;
        put(fake, entry, text(fake, names[i]));
        put(fake, entry + 8, values == NULL ? 0 : values[i]);
    }
    return at;
}

static hs_addr dict(struct fake_python *fake, size_t n, const char *const names[],
                    const hs_addr values[])
{
    hs_addr at = builtin(fake, DICT, 0);
    put(fake, at + 16, n);
    put(fake, at + 32, keys(fake, n, names, values));
    return at;
}

static hs_addr list(struct fake_python *fake, size_t n, const hs_addr items[])
{
    hs_addr at = builtin(fake, LIST, 0), table = block(fake, (n + 2) * PY_WORD);

    put(fake, at + 16, n);
    put(fake, at + 24, table);
    put(fake, at + 32, n + 2);
    for (size_t i = 0; i < n; i++)
        put(fake, table + i * PY_WORD, items[i]);
    return at;
}

/* ---- what a program has */

static void make_types(struct fake_python *fake)
{
    for (enum kind kind = 0; kind < N_KINDS; kind++) {
        struct builtin b = builtin_of(fake->layout, kind);
        hs_addr at = type_at(kind);
        put(fake, at, 1);
        put(fake, at + 8, type_at(TYPE));
        put(fake, at + 24, c_text(fake, b.name));
        put(fake, at + 32, b.n_bytes);
        put(fake, at + 40, b.item_bytes);
        put(fake, at + 168, b.has_gc ? HAS_GC : 0);
    }
}

static hs_addr names_tuple(struct fake_python *fake, size_t n, const char *const names[])
{
    hs_addr at = builtin(fake, TUPLE, n * PY_WORD);

    put(fake, at + 16, n);
    for (size_t i = 0; i < n; i++)
        put(fake, at + fake->layout->tuple_items + i * PY_WORD, text(fake, names[i]));
    return at;
}

static hs_addr bytes(struct fake_python *fake, const void *content, size_t n)
{
    hs_addr at = builtin(fake, BYTES, n);
    put(fake, at + 16, n);
    memcpy((uint8_t *)fake_python_word(fake, at + 32), content, n);
    return at;
}

/* Two variables; its first sixteen bytes are of line 11. */
static hs_addr make_code(struct fake_python *fake, const char *name)
{
    static const uint8_t lines[] = {0x80 | 11 << 3 | 7, 0, 0, 0x80 | 13 << 3 | 7, 2};
    static const uint8_t lines_10[] = {16, 1, 16, 1}, lines_9[] = {0, 1, 16, 1};
    static const char *const names[] = {"rows", "self"};
    const struct hs_python_layout *layout = fake->layout;
    bool is_old = layout->minor < 11;
    hs_addr at = builtin(fake, CODE, 16);

    put(fake, at + layout->code_local_names, names_tuple(fake, is_old ? 1 : 2, names));
    if (is_old) {
        put(fake, at + layout->code_local_names + 8, names_tuple(fake, 1, &names[1]));
        put(fake, at + layout->code_lines,
            bytes(fake, layout->minor == 9 ? lines_9 : lines_10, sizeof lines_9));
    } else {
        put(fake, at + layout->code_local_names + 8, bytes(fake, "  ", 2)); /* two locals */
        put(fake, at + layout->code_lines, bytes(fake, lines, sizeof lines));
        put(fake, at + 16, 16);
        put_u32(fake, at + layout->code_n_locals, 2);
        put_u32(fake, at + layout->code_n_locals - 8U, 1); /* and one place for values */
    }
    put_u32(fake, at + layout->code_first_line, 10);
    put(fake, at + layout->code_file, text(fake, "/srv/app.py"));
    put(fake, at + layout->code_qualname, text(fake, name));
    return at;
}

static hs_addr make_function(struct fake_python *fake, const char *name, hs_addr code)
{
    const struct hs_python_layout *layout = fake->layout;
    hs_addr at = builtin(fake, FUNCTION, 0);

    put(fake, at + layout->func_code, code);
    put(fake, at + layout->func_qualname, text(fake, name));
    put(fake, at + layout->func_module, text(fake, "__main__"));
    return at;
}

static void make_class(struct fake_python *fake, hs_addr code)
{
    enum { INSTANCE_BYTES = 24 };
    static const char *const names[] = {"__module__", "entries", "run"};
    static const char *const attributes[] = {"left", "right"};
    const struct hs_python_layout *layout = fake->layout;
    hs_addr values[] = {text(fake, "__main__"), list(fake, 0, NULL),
                        make_function(fake, "App.run", code)};
    uint64_t flags = HAS_GC | IS_HEAP | (layout->minor >= 11 ? HAS_DICT : 0) |
                     (layout->minor >= 13 ? HAS_INLINE : 0);

    fake->class = builtin(fake, TYPE, 0);
    put(fake, fake->class + 24, c_text(fake, "App"));
    put(fake, fake->class + 32, INSTANCE_BYTES);
    put(fake, fake->class + 168, flags);
    put(fake, fake->class + 264, dict(fake, 3, names, values));
    put(fake, fake->class + layout->ht_qualname, text(fake, "App"));
    put(fake, fake->class + layout->ht_cached_keys, keys(fake, 2, attributes, NULL));
    fake->instance = object(fake, fake->class, layout->minor >= 11 ? LONG_HEAD_BYTES : GC_BYTES,
                            INSTANCE_BYTES + (layout->minor >= 13 ? 8 + 2 * PY_WORD : 0));
    if (layout->minor == 11 || layout->minor == 12) {
        hs_addr of_it = block(fake, 32) + 8;
        put(fake, of_it, values[1]);
        put(fake, fake->instance - (layout->minor == 11 ? 32 : 24), of_it - (layout->minor == 12));
    } else if (layout->minor >= 13) {
        put(fake, fake->instance + INSTANCE_BYTES, 2 | 1 << 16 | 1 << 24);
        put(fake, fake->instance + INSTANCE_BYTES + 8, values[1]);
    }
}

static hs_addr make_queue(struct fake_python *fake, hs_addr item)
{
    hs_addr at = builtin(fake, DEQUE, 0), items = block(fake, 66 * PY_WORD);

    put(fake, at + 16, 2);
    put(fake, at + 24, items);
    put(fake, at + 32, items);
    put(fake, at + 40, 31);
    put(fake, at + 48, 32);
    put(fake, items, 1); /* what was there before: a bytes object */
    put(fake, items + 8, type_at(BYTES));
    put(fake, items + 16, 400);
    put(fake, items + (1 + 31) * PY_WORD, item);
    put(fake, items + (1 + 32) * PY_WORD, item);
    return at;
}

static hs_addr make_set(struct fake_python *fake, hs_addr item)
{
    hs_addr at = builtin(fake, SET, 0);

    put(fake, at + 32, 7);
    put(fake, at + 40, at + 64);
    put(fake, at + 64, item);
    return at;
}

static void fill_frame(struct fake_python *fake, hs_addr at, hs_addr code, hs_addr local)
{
    const struct hs_python_layout *layout = fake->layout;

    put(fake, at + layout->frame_code, code | (hs_python_has_tags(layout) ? 1 : 0));
    if (layout->minor < 11) {
        put(fake, at + 64, at + layout->frame_localsplus + 2 * (unsigned)PY_WORD); /* its stack */
        put(fake, at + layout->frame_localsplus, local);
        return;
    }
    put(fake, at + layout->frame_func, fake->function);
    put(fake, at + layout->frame_instr, code + layout->code_bytes);
    hs_addr places = at + layout->frame_localsplus;
    if (hs_python_has_tags(layout)) { /* another reference holds it, too */
        put(fake, at + layout->frame_stacktop, places + (hs_addr)3 * PY_WORD);
        local |= 1;
    } else {
        put_u32(fake, at + layout->frame_stacktop, 3);
    }
    put(fake, places, local);
    put(fake, places + 2 * (unsigned)PY_WORD, fake->instance);
}

static void make_thread(struct fake_python *fake, hs_addr code)
{
    const struct hs_python_layout *layout = fake->layout;
    hs_addr item = text(fake, "kept by a frame");

    put(fake, fake->thread + layout->thread_interp, fake->interpreter);
    put(fake, fake->interpreter + layout->interp_threads, fake->thread);
    bool is_old = layout->minor < 11;
    fake->frame = is_old ? builtin(fake, FRAME, 32) : take_data(fake, 16);
    fake->outer_frame = is_old ? builtin(fake, FRAME, 32) : take_data(fake, 16);
    fill_frame(fake, fake->frame, code, list(fake, 1, &item));
    fill_frame(fake, fake->outer_frame, code, fake->rows);
    put(fake, fake->frame + layout->frame_previous, fake->outer_frame);
    hs_addr first = fake->frame;
    if (layout->cframe_frame != PY_NONE) {
        first = take_data(fake, 2);
        put(fake, first + layout->cframe_frame, fake->frame);
    }
    put(fake, fake->thread + layout->thread_frame, first);
}

static void make_local(struct fake_python *fake)
{
    static const char *const names[] = {"mine"};
    const struct hs_python_layout *layout = fake->layout;
    hs_addr item = text(fake, "of the thread"), rows = list(fake, 1, &item);
    hs_addr key = text(fake, "thread.local"), of_it = dict(fake, 1, names, &rows);
    static const char *const keys_of_thread[] = {"thread.local"};

    fake->local = builtin(fake, LOCAL, 0);
    if (layout->thread_local_key == PY_NONE) {
        hs_addr dummy = object(fake, type_at(MODULE), GC_BYTES, 56);
        put(fake, fake->local + 16, key);
        put(fake, dummy + 16, of_it);
        put(fake, fake->thread + layout->thread_dict, dict(fake, 1, keys_of_thread, &dummy));
        return;
    }
    hs_addr all = dict(fake, 1, keys_of_thread, &of_it);
    put(fake, fake->local + 40, all);
    put(fake, fake->thread + layout->thread_local_key,
        *fake_python_word(fake, *fake_python_word(fake, all + 32) + 40));
}

/* Of a map with one node: a pair, and a node that has none. */
static void make_context(struct fake_python *fake)
{
    hs_addr context = builtin(fake, CONTEXT, 0), map = builtin(fake, CONTEXT, 0);
    hs_addr variable = builtin(fake, CONTEXT, 0), item = text(fake, "of the context");

    fake->context_node = builtin(fake, MAP_NODE, 32);
    put(fake, variable + 16, text(fake, "request"));
    put(fake, fake->context_node + 16, 4);
    put(fake, fake->context_node + 32, variable);
    put(fake, fake->context_node + 40, list(fake, 1, &item));
    put(fake, map + 16, fake->context_node);
    put(fake, context + 24, map);
    put(fake, fake->thread + fake->layout->thread_context, context);
}

static void make_kept(struct fake_python *fake)
{
    const struct hs_python_layout *layout = fake->layout;
    hs_addr item = text(fake, "an argument"), args = builtin(fake, TUPLE, 8);
    bool is_list = layout->minor >= 14;
    hs_addr callback = is_list ? builtin(fake, TUPLE, 24) + layout->tuple_items : block(fake, 24);

    put(fake, args + 16, 1);
    put(fake, args + layout->tuple_items, list(fake, 1, &item));
    put(fake, callback, make_function(fake, "bye", 0));
    put(fake, callback + 8, args);
    put(fake, fake->interpreter + layout->interp_codecs + 16, dict(fake, 0, NULL, NULL));
    if (layout->interp_atexit == PY_NONE)
        return;
    fake->callbacks = fake->interpreter + layout->interp_atexit;
    if (is_list) {
        callback -= layout->tuple_items;
        put(fake, callback + 16, 3);
        put(fake, fake->callbacks, list(fake, 1, &callback));
        return;
    }
    hs_addr callbacks = block(fake, 16);
    put(fake, callbacks, callback);
    put(fake, fake->callbacks, callbacks);
    put(fake, fake->callbacks + 8, 1);
}

static hs_addr make_generator(struct fake_python *fake, hs_addr code)
{
    const struct hs_python_layout *layout = fake->layout;
    hs_addr at = builtin(fake, GENERATOR, (uint64_t)4 * PY_WORD);

    put(fake, at + 16, 4);
    if (layout->minor >= 11)
        fill_frame(fake, at + layout->gen_frame, code, fake->rows);
    return at;
}

/* Waits for what is on the top of its stack. */
static hs_addr make_coroutine(struct fake_python *fake, hs_addr code, hs_addr top, hs_addr *ret)
{
    enum { STACK = 64, TOP = 72, DEPTH = 80, PLACES = 2 };
    const struct hs_python_layout *layout = fake->layout;
    bool is_old = layout->minor < 11;
    hs_addr at = builtin(fake, GENERATOR, (uint64_t)4 * PY_WORD);
    hs_addr frame = is_old ? builtin(fake, FRAME, 32) : at + layout->gen_frame;
    hs_addr item = text(fake, "kept by a task");

    put(fake, at + 16, is_old ? frame : 4);
    fill_frame(fake, frame, code, list(fake, 1, &item));
    put(fake, frame + layout->frame_localsplus + PLACES * (unsigned)PY_WORD, top);
    if (is_old) {
        hs_addr end = *fake_python_word(fake, frame + STACK) + PY_WORD;
        put(fake, frame + (layout->minor == 9 ? TOP : DEPTH), layout->minor == 9 ? end : 1);
    } else {
        uint8_t *word = (uint8_t *)fake_python_word(fake, at + layout->gen_state / 8 * 8);
        word[layout->gen_state % 8] = UINT8_MAX; /* -1 */
    }
    *ret = frame;
    return at;
}

static void make_task(struct fake_python *fake, hs_addr code)
{
    enum { COROUTINE = 120 };

    fake->awaited = make_coroutine(fake, code, fake->instance, &fake->awaited_frame);
    fake->waiting = make_coroutine(fake, code, fake->awaited, &fake->waiting_frame);
    fake->task = builtin(fake, TASK, 0);
    put(fake, fake->task + 16, fake->instance); /* the loop */
    put(fake, fake->task + COROUTINE, fake->waiting);
}

/* Two frames in one chunk of its own, and behind them what calls left that have returned. */
static void make_greenlet(struct fake_python *fake, hs_addr code)
{
    enum { CHUNK_WORDS = 64, FIRST = 32, OBJECT = 40, INNERMOST = 56, STATE = 32 };
    const struct hs_python_layout *layout = fake->layout;
    hs_addr item = text(fake, "kept by a greenlet");

    if (layout->minor < 11)
        return;
    hs_addr chunk = fake->chunk = take_data(fake, CHUNK_WORDS), at = chunk + FIRST;
    for (int i = 0; i < 3; i++) {
        fill_frame(fake, at, code, list(fake, 1, &item));
        if (i == 1) {
            fake->top_frame = builtin(fake, FRAME, 0);
            put(fake, fake->top_frame + 24, at);
            fake->greenlet_state = block(fake, 128);
            put(fake, fake->greenlet_state + OBJECT, fake->top_frame);
            put(fake, fake->greenlet_state + INNERMOST, at);
        }
        at += layout->frame_localsplus + (hs_addr)3 * PY_WORD;
    }
    hs_addr top = at - layout->frame_localsplus - (hs_addr)3 * PY_WORD;
    put(fake, chunk + 8, (uint64_t)CHUNK_WORDS * PY_WORD);
    const hs_addr stack[] = {chunk, top, chunk + (hs_addr)CHUNK_WORDS * PY_WORD};
    for (size_t i = 0; i < sizeof stack / sizeof *stack; i++)
        put(fake, fake->greenlet_state + INNERMOST + (i + 1) * PY_WORD, stack[i]);
    put(fake, builtin(fake, GREENLET, 0) + STATE, fake->greenlet_state);
}

static hs_addr make_module(struct fake_python *fake, const char *name, hs_addr of_it)
{
    hs_addr at = builtin(fake, MODULE, 0);
    put(fake, at + 48, text(fake, name));
    put(fake, at + 16, of_it);
    return at;
}

static void make_program(struct fake_python *fake)
{
    static const char *const main_names[] = {"rows", "App", "run", "queue",
                                             "seen", "it",  "app", "tls"};
    static const char *const module_names[] = {"sys", "__main__"};
    static const char *const sys_names[] = {"modules", "hexversion"};
    hs_addr code = make_code(fake, "run"), item = text(fake, "an item");

    fake->thread = take_data(fake, 64);
    make_local(fake);
    fake->function = make_function(fake, "run", code);
    fake->rows = list(fake, 1, &item);
    make_class(fake, code);
    fake->queue = make_queue(fake, item);
    hs_addr values[] = {fake->rows,     fake->class,          fake->function,
                        fake->queue,    make_set(fake, item), make_generator(fake, code),
                        fake->instance, fake->local};
    fake->main_dict = dict(fake, 8, main_names, values);
    hs_addr of_sys[] = {text(fake, "soon the modules"), builtin(fake, INT, 8)};
    fake->hexversion = of_sys[1];
    put(fake, fake->hexversion + 24, (UINT64_C(0x300) | fake->layout->minor) << 16);
    hs_addr sys_dict = dict(fake, 2, sys_names, of_sys);
    hs_addr modules[] = {make_module(fake, "sys", sys_dict),
                         make_module(fake, "__main__", fake->main_dict)};
    fake->modules = dict(fake, 2, module_names, modules);
    bool is_old = fake->layout->minor < 11;
    hs_addr table = *fake_python_word(fake, sys_dict + 32);
    put(fake, table + (is_old ? 48 + 16 : 40 + 8), fake->modules);
    make_thread(fake, code);
    static const char *const other_names[] = {"kept"}, *const other_module[] = {"other"};
    hs_addr kept = list(fake, 1, &item);
    hs_addr other = make_module(fake, "other", dict(fake, 1, other_names, &kept));
    fake->other_modules = dict(fake, 1, other_module, &other);
    make_context(fake);
    make_kept(fake);
    make_task(fake, code);
    make_greenlet(fake, code);
}

/* ---- the process */

static void make_runtime(struct fake_python *fake)
{
    fake->n_data = (size_t)N_KINDS * TYPE_WORDS;
    fake->runtime = take_data(fake, 110);
    fake->interpreter = take_data(fake, 1536);
    fake->second = take_data(fake, 1536);
    put(fake, fake->runtime + fake->layout->runtime_interpreters, fake->interpreter);
}

static void make_object(struct fake_python *fake)
{
    struct elf_writer *w = &fake->writer;
    struct hs_error err = HS_ERROR_INIT;

    elf_writer_init(w);
    size_t data = elf_writer_section(w, ".data", SHT_PROGBITS, 0x3000, fake->data, 16);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, 0x3000, sizeof fake->data, data);
    elf_writer_symbol(w, "_PyRuntime", STT_OBJECT, STB_GLOBAL, fake->runtime - FAKE_PYTHON_BIAS, 8,
                      (uint16_t)data);
    elf_writer_finish(w);
    if (hs_elf_open_memory(w->bytes, w->n_bytes, "python", &fake->object.elf, &err) != HS_OK)
        abort();
    (void)snprintf(fake->path, sizeof fake->path, "/bin/python3.%u", fake->layout->minor);
    fake->object.name = fake->object.path = fake->path;
    fake->object.bias = fake->object.begin = FAKE_PYTHON_BIAS;
    fake->object.end = FAKE_PYTHON_DATA + sizeof fake->data;
    fake->object.is_executable = true;
    fake->dump.objects = (struct hs_objects){.objects = &fake->object, .n = 1, .capacity = 1};
}

static void seal(struct fake_python *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t n_refused = 1;

    if (hs_image_add(&fake->dump.image, FAKE_PYTHON_DATA, fake->data, sizeof fake->data, &err) !=
            HS_OK ||
        hs_image_add(&fake->dump.image, FAKE_PYTHON_HEAP, fake->heap, sizeof fake->heap, &err) !=
            HS_OK ||
        hs_heap_map_seal(&fake->dump.heaps.map, &n_refused, &err) != HS_OK || n_refused != 0)
        abort();
    for (size_t i = 0; i < fake->n_blocks; i++)
        if (!hs_heap_map_set(&fake->dump.heaps.map, fake->blocks[i]))
            abort();
    if (hs_heap_map_index(&fake->dump.heaps.map, &err) != HS_OK ||
        hs_runtime_python.open(&fake->dump, &fake->state, &err) != HS_OK)
        abort();
}

struct fake_python *fake_python_new(unsigned minor)
{
    struct hs_error err = HS_ERROR_INIT;
    struct fake_python *fake;

    if (HS_ALLOC(&fake, 1, &err) != HS_OK)
        abort();
    fake->layout = hs_python_layout(minor);
    assert(fake->layout != NULL);
    fake->dump.options = &fake->options;
    fake->dump.findings.strings = &fake->dump.strings;
    hs_heap_map_init(&fake->dump.heaps.map, &fake->dump.image);
    make_runtime(fake);
    make_types(fake);
    make_program(fake);
    put(fake, fake->interpreter + fake->layout->interp_modules, fake->modules);
    make_object(fake);
    seal(fake);
    return fake;
}

void fake_python_free(struct fake_python *fake)
{
    hs_runtime_python.close(fake->state);
    hs_heap_map_fini(&fake->dump.heaps.map);
    hs_image_fini(&fake->dump.image);
    hs_strtab_fini(&fake->dump.strings);
    hs_findings_fini(&fake->dump.findings);
    hs_elf_close(fake->object.elf);
    hs_free(fake);
}

/* ---- what it is read as */

static void check_text(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        assert(*at >= ' ' && *at <= '~');
}

static void check_roots(const struct fake_python *fake)
{
    const struct hs_roots *roots = hs_runtime_python.leaves(fake->state);

    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        struct hs_heap_block found;
        assert(hs_heap_map_resolve(&fake->dump.heaps.map, leaf->target, &found) ==
               HS_POINTER_START);
        check_text(hs_strtab_get(&fake->dump.strings, leaf->root.name));
        check_text(hs_strtab_get(&fake->dump.strings, leaf->group_module));
        check_text(hs_strtab_get(&fake->dump.strings, leaf->group_unit));
        check_text(hs_strtab_get(&fake->dump.strings, leaf->group_variable));
        check_text(hs_strtab_get(&fake->dump.strings, leaf->root.file));
    }
}

/* Every word of every block is asked for, as the scan of a dump does. */
/* A type has a name, and members that ascend; one of a stride has none above it. */
static uint64_t check_type(const struct fake_python *fake, const struct hs_object_model *model,
                           const struct hs_heap_block *block)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_object_type what;
    uint32_t type = model->type(fake->state, block);

    if (type == HS_NO_NUMBER)
        return 0;
    hs_status status = model->describe(fake->state, type, &what, &err);
    assert(status == HS_OK && what.name != 0);
    for (size_t i = 0; i < what.n_members; i++) {
        assert(what.members[i].name != 0);
        assert(i == 0 || what.members[i - 1].offset_bytes < what.members[i].offset_bytes);
        assert(what.stride_bytes == 0 || what.members[i].offset_bytes < what.stride_bytes);
    }
    return status == HS_OK ? what.n_members : 0;
}

static void check_words(const struct fake_python *fake, const struct hs_object_model *model)
{
    struct hs_heap_iterator it = {.map = &fake->dump.heaps.map};
    struct hs_heap_block block;
    uint64_t n = 0;

    while (hs_heap_map_next(&it, &block)) {
        struct hs_object_words words;
        struct hs_object_part parts[HS_OBJECT_PARTS];
        (void)model->words(fake->state, &block, &words);
        for (uint64_t i = 0; i < block.n_bytes / PY_WORD; i++) {
            n += hs_object_owns(&words, i);
            n += model->is_list_end(fake->state, &block, block.begin,
                                    hs_load_u64(block.bytes + i * PY_WORD));
        }
        n += check_type(fake, model, &block);
        assert(model->parts(fake->state, &block, parts) <= HS_OBJECT_PARTS);
    }
    assert(n <= UINT32_MAX);
}

void fake_python_forget(struct fake_python *fake)
{
    hs_runtime_python.forget(fake->state);
    hs_strtab_fini(&fake->dump.strings);
    fake->dump.strings = (struct hs_strtab){0};
}

hs_status fake_python_walk(struct fake_python *fake, struct hs_error *err)
{
    struct hs_runtime_facts facts;

    fake_python_forget(fake);
    if (!hs_runtime_python.serves(&fake->dump.objects))
        return HS_OK;
    HS_TRY(hs_runtime_python.roots(fake->state, err));
    check_roots(fake);
    const struct hs_object_model *model = hs_runtime_python.objects(fake->state);
    if (model != NULL)
        check_words(fake, model);
    return hs_runtime_python.facts(fake->state, &facts, NULL, err);
}

bool fake_python_has_member(const struct fake_python *fake, const char *type, const char *member)
{
    const struct hs_object_model *model = hs_runtime_python.objects(fake->state);
    const struct hs_strtab *strings = &fake->dump.strings;
    struct hs_heap_iterator it = {.map = &fake->dump.heaps.map};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block)) {
        struct hs_object_type what = {0};
        uint32_t number = model->type(fake->state, &block);
        if (number == HS_NO_NUMBER || model->describe(fake->state, number, &what, &err) != HS_OK ||
            strcmp(hs_strtab_get(strings, what.name), type) != 0)
            continue;
        for (size_t i = 0; i < what.n_members; i++)
            if (strcmp(hs_strtab_get(strings, what.members[i].name), member) == 0)
                return true;
    }
    return false;
}

const struct hs_root_leaf *fake_python_root(const struct fake_python *fake, const char *name)
{
    const struct hs_roots *roots = hs_runtime_python.leaves(fake->state);

    for (size_t i = 0; i < roots->n_leaves; i++)
        if (strcmp(hs_strtab_get(&fake->dump.strings, roots->leaves[i].root.name), name) == 0)
            return &roots->leaves[i];
    return NULL;
}

bool fake_python_says(const struct fake_python *fake, const char *text)
{
    const struct py_state *s = fake->state;

    for (size_t i = 0; i < s->findings.n_notes; i++)
        if (strstr(hs_strtab_get(&fake->dump.strings, s->findings.notes[i].text), text) != NULL)
            return true;
    return false;
}
