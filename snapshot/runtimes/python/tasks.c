/* Roots of the tasks of asyncio and trio that wait: of each the coroutine that it runs and those
 * that this awaits, one in the other, and of each of these the variables by name, as of the frames
 * of a thread.
 *
 * Thousands of tasks wait at the same line: a variable of all these is one root, whose slots are
 * the tasks' own. From the outermost coroutine on: what it hands on is its own. A task that runs is
 * on the stack of its thread, and has its names there.
 *
 * Nobody but the collector knows whether a task that waits will ever go on: one that it has yet to
 * find counts as one that waits, as in asyncio.all_tasks(). */
#include <stdio.h>
#include <string.h>

#include "python.h"

enum {
    MAX_AWAITED = 1 << 10, /* the interpreter's own limit of what is called within another */
    FIRST_WORD = 16,       /* of a task, behind its head */
    WRAPPED = 16,          /* of an object that awaits a coroutine for another */
    GENERATOR_FRAME = 16,  /* up to 3.10: a frame object */
};

enum task_of { OF_NOBODY, OF_ASYNCIO, OF_TRIO, N_TASKS_OF };

static const struct py_class *class_at(const struct py_state *s, hs_addr object)
{
    return object == 0 ? NULL : hs_python_class_of(&s->view, &s->classes, object);
}

static bool is_coroutine(const struct py_state *s, hs_addr object)
{
    const struct py_class *class = class_at(s, object);
    return class != NULL && class->kind == PY_GENERATOR;
}

/* ---- what a coroutine waits for */

/* Returns a coroutine's frame, if it waits or has yet to begin; 0: it runs, or has ended. */
static hs_addr waiting_frame(const struct py_view *view, hs_addr coroutine)
{
    const struct hs_python_layout *layout = view->layout;

    if (layout->gen_frame == PY_NONE)
        return hs_python_word(view, coroutine + GENERATOR_FRAME);
    const uint8_t *state = hs_python_bytes(view, coroutine + layout->gen_state, 1);
    return state != NULL && (int8_t)*state < 0 ? coroutine + layout->gen_frame : 0;
}

/* Finds where the topmost value of a frame's stack stands, up to 3.10; 0: it has none, or runs. */
static hs_addr top_of_old(const struct py_view *view, hs_addr frame)
{
    enum { AT_STACK = 64, AT_TOP = 72, AT_DEPTH = 80 };
    hs_addr stack = hs_python_word(view, frame + AT_STACK);

    if (view->layout->minor == 10) {
        int32_t depth = (int32_t)hs_python_u32(view, frame + AT_DEPTH);
        return depth > 0 ? stack + ((hs_addr)depth - 1) * PY_WORD : 0;
    }
    hs_addr end = hs_python_word(view, frame + AT_TOP);
    return end > stack ? end - PY_WORD : 0;
}

/* Finds what a coroutine waits for, the value on the top of its stack: another one, itself or by an
 * object that stands for it; 0: something else, a future mostly. */
static hs_addr awaited(const struct py_state *s, hs_addr frame)
{
    static const char *const wrappers[] = {"coroutine_wrapper", "async_generator_asend",
                                           "async_generator_athrow", "anext_awaitable"};
    const struct hs_python_layout *layout = s->view.layout;
    hs_addr slot;

    if (layout->gen_frame == PY_NONE) {
        slot = top_of_old(&s->view, frame);
    } else {
        int64_t top = hs_python_stack_top(&s->view, frame);
        slot = top > 0 ? frame + layout->frame_localsplus + ((hs_addr)top - 1) * PY_WORD : 0;
    }
    hs_addr value = hs_python_untagged(layout, hs_python_word(&s->view, slot));
    const struct py_class *class = class_at(s, value);
    for (size_t i = 0; class != NULL && i < sizeof wrappers / sizeof *wrappers; i++)
        if (strcmp(class->name, wrappers[i]) == 0)
            value = hs_python_word(&s->view, value + WRAPPED);
    return is_coroutine(s, value) ? value : 0;
}

/* ---- tasks */

static hs_status add_chain(struct py_state *s, struct py_places *places, hs_str group,
                           hs_addr coroutine, struct hs_error *err)
{
    struct py_waiting w = {
        .s = s, .places = places, .kind = "task", .awaits = "await ", .group = group};
    struct py_frame f;

    while (coroutine != 0 && w.depth < MAX_AWAITED && hs_python_may_look(&s->view, 1)) {
        f.at = waiting_frame(&s->view, coroutine);
        f.code = hs_python_untagged(s->view.layout,
                                    hs_python_word(&s->view, f.at + s->view.layout->frame_code));
        if (f.at == 0 || !hs_python_is_code(s, f.code))
            return HS_OK;
        HS_TRY(hs_python_add_waiting(&w, &f, err));
        coroutine = awaited(s, f.at);
    }
    return HS_OK;
}

/* Adds a task by the one coroutine that it leads to, its own: others are behind futures, or
 * variables. */
static hs_status add_task(struct py_state *s, struct py_places *places, hs_str group, hs_addr task,
                          const struct py_class *class, struct hs_error *err)
{
    for (uint64_t at = FIRST_WORD; at + PY_WORD <= class->n_bytes; at += PY_WORD) {
        hs_addr value = hs_python_word(&s->view, task + at);
        if (is_coroutine(s, value))
            return add_chain(s, places, group, value, err);
    }
    return HS_OK;
}

static enum task_of tasks_of(const struct py_state *s, const struct py_class *class)
{
    char module[PY_NAME_BYTES];

    if (!class->is_type)
        return OF_NOBODY;
    if (class->kind == PY_TASK)
        return OF_ASYNCIO;
    bool is_of_trio = class->is_heap && strcmp(class->name, "Task") == 0 &&
                      hs_python_class_module(&s->view, class, module) &&
                      strcmp(module, "trio.lowlevel") == 0;
    return is_of_trio ? OF_TRIO : OF_NOBODY;
}

static bool find_classes(struct py_state *s)
{
    bool has_tasks = false;

    for (size_t i = 0; i < s->classes.n; i++) {
        s->classes.all[i].task_of = (uint8_t)tasks_of(s, &s->classes.all[i]);
        has_tasks |= s->classes.all[i].task_of != OF_NOBODY;
    }
    return has_tasks;
}

hs_status hs_python_name_tasks(struct py_state *s, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &s->dump->heaps.map};
    struct hs_heap_block block;
    struct py_places places = {0};
    hs_str groups[N_TASKS_OF] = {0};

    if (!find_classes(s))
        return HS_OK;
    HS_TRY(hs_strtab_add(&s->dump->strings, "asyncio tasks", &groups[OF_ASYNCIO], err));
    HS_TRY(hs_strtab_add(&s->dump->strings, "trio tasks", &groups[OF_TRIO], err));
    while (hs_heap_map_next(&it, &block)) {
        uint64_t known = s->blocks.known[block.rank];
        if (hs_python_known_kind(known) != PY_BLOCK_OBJECT)
            continue;
        const struct py_class *class = &s->classes.all[hs_python_known_number(known)];
        if (class->task_of != OF_NOBODY)
            HS_TRY(add_task(s, &places, groups[class->task_of], block.begin + class->object_at,
                            class, err));
    }
    return HS_OK;
}
