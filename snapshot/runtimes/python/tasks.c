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
    CHAIN_BYTES = 3 * PY_NAME_BYTES,
    TEXT_BYTES = CHAIN_BYTES + 2 * PY_NAME_BYTES,
    N_PLACES = 32,
};

enum task_of { OF_NOBODY, OF_ASYNCIO, OF_TRIO, N_TASKS_OF };

/* Thousands of tasks wait at few lines: what was described last is kept, by code and instruction.
 */
struct places {
    struct py_frame frames[N_PLACES];
    uint64_t instructions[N_PLACES];
};

struct task {
    struct py_state *s;
    struct places *places;
    hs_str group;
    uint32_t depth;          /* of the frame that is looked at, from 1 on */
    char chain[CHAIN_BYTES]; /* "serve() await Queue.get()": down to that frame */
    char outermost[PY_NAME_BYTES];
};

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

/* Its frame, if it waits or has yet to begin; 0: it runs, or has ended. */
static hs_addr waiting_frame(const struct py_view *view, hs_addr coroutine)
{
    const struct py_layout *layout = view->layout;

    if (layout->gen_frame == PY_NONE)
        return hs_python_word(view, coroutine + GENERATOR_FRAME);
    const uint8_t *state = hs_python_bytes(view, coroutine + layout->gen_state, 1);
    return state != NULL && (int8_t)*state < 0 ? coroutine + layout->gen_frame : 0;
}

/* Up to 3.10: where the topmost value of its stack stands; 0: it has none, or runs. */
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

/* The value on the top of its stack is what a coroutine waits for: another one, itself or by an
 * object that stands for it; 0: something else, a future mostly. */
static hs_addr awaited(const struct py_state *s, hs_addr frame)
{
    static const char *const wrappers[] = {"coroutine_wrapper", "async_generator_asend",
                                           "async_generator_athrow", "anext_awaitable"};
    const struct py_layout *layout = s->view.layout;
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

/* ---- names */

/* The outermost and the innermost tell most: "serve() ... await Queue.get()". */
static void add_to_chain(struct task *t, const char *function)
{
    char before[CHAIN_BYTES];

    if (t->depth == 1) {
        (void)snprintf(t->outermost, sizeof t->outermost, "%s", function);
        (void)snprintf(t->chain, sizeof t->chain, "%s()", function);
        return;
    }
    (void)snprintf(before, sizeof before, "%s()%s", t->outermost, t->depth > 2 ? " ..." : "");
    (void)snprintf(t->chain, sizeof t->chain, "%s await %s()", before, function);
}

static hs_status add_variable(const struct task *t, const struct py_frame *f, hs_str unit,
                              uint64_t i, struct hs_error *err)
{
    struct py_state *s = t->s;
    char local[PY_LOCAL_BYTES], text[TEXT_BYTES];
    hs_addr slot = f->at + s->view.layout->frame_localsplus + i * PY_WORD;
    hs_addr value = hs_python_untagged(s->view.layout, hs_python_word(&s->view, slot));
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_STACK,
                                         .address = slot,
                                         .frame = t->depth,
                                         .line = f->line,
                                         .function = f->function_id,
                                         .file = f->file_id},
                                .group_module = t->group,
                                .group_unit = unit};

    if (!hs_python_may_look(&s->view, 1) || value == 0 || hs_python_is_named(s, value))
        return HS_OK;
    hs_python_local_name(&s->view, f->code, i, local);
    (void)snprintf(text, sizeof text, "task %s %s", t->chain, local);
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &leaf.root.name, err));
    leaf.group_variable = leaf.root.name;
    return hs_python_add_variable(s, &leaf, value, err);
}

static hs_status describe(const struct task *t, struct py_frame *f, struct hs_error *err)
{
    uint64_t instruction = hs_python_word(&t->s->view, f->at + t->s->view.layout->frame_instr);
    size_t i = (f->code / PY_WORD + instruction) % N_PLACES;
    struct py_frame *known = &t->places->frames[i];
    hs_addr at = f->at;

    if (known->code != f->code || t->places->instructions[i] != instruction) {
        HS_TRY(hs_python_describe_frame(t->s, f, err));
        *known = *f;
        t->places->instructions[i] = instruction;
    }
    *f = *known;
    f->at = at;
    return HS_OK;
}

static hs_status add_variables(struct task *t, struct py_frame *f, struct hs_error *err)
{
    uint64_t n = hs_python_n_locals(&t->s->view, f->code);
    char text[TEXT_BYTES];
    hs_str unit;

    HS_TRY(describe(t, f, err));
    add_to_chain(t, f->function);
    (void)snprintf(text, sizeof text, "task %s (%s:%u)", t->chain, f->file, f->line);
    HS_TRY(hs_strtab_add(&t->s->dump->strings, text, &unit, err));
    for (uint64_t i = 0; i < n; i++)
        HS_TRY(add_variable(t, f, unit, i, err));
    return HS_OK;
}

static hs_status add_chain(struct py_state *s, struct places *places, hs_str group,
                           hs_addr coroutine, struct hs_error *err)
{
    struct task t = {.s = s, .places = places, .group = group};
    struct py_frame f;

    while (coroutine != 0 && t.depth < MAX_AWAITED && hs_python_may_look(&s->view, 1)) {
        f.at = waiting_frame(&s->view, coroutine);
        f.code = hs_python_untagged(s->view.layout,
                                    hs_python_word(&s->view, f.at + s->view.layout->frame_code));
        if (f.at == 0 || !hs_python_is_code(s, f.code))
            return HS_OK;
        t.depth++;
        HS_TRY(add_variables(&t, &f, err));
        coroutine = awaited(s, f.at);
    }
    return HS_OK;
}

/* The one coroutine that a task leads to is its own: others are behind futures, or variables. */
static hs_status add_task(struct py_state *s, struct places *places, hs_str group, hs_addr task,
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
    struct places places = {0};
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
