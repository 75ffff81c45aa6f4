/* Roots on the interpreter's own stacks: of each thread the frames from the innermost on, of each
 * the variables by name. Up to 3.10 frames are objects.
 *
 * A variable owns what it holds, as a name of a module does, unless a module has it. What else a
 * frame needs (values on its stack while it calls, its function) is passing: it holds, and owns
 * nothing that others refer to. While a frame runs its stack has no known end: then the stack of C
 * holds such values. What a call of the standard library has it was handed, as a rule, and only
 * borrows; what a generator of it has is its own. */
#include <stdio.h>
#include <string.h>

#include "base/load.h"
#include "python.h"

enum {
    MAX_FRAMES = 1 << 20,
    MAX_SLOTS = 1 << 12,
    TEXT_BYTES = 4 * PY_NAME_BYTES,
};

struct thread {
    struct py_state *s;
    const struct py_threads *own;
};

/* A frame of a thread. */
struct frame {
    struct py_frame is;
    hs_addr slot; /* what leads to it */
    uint32_t number;
    hs_str unit;
};

void hs_python_lower_borrowed(struct hs_root_leaf *leaf)
{
    hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_BORROWED_BY_CALL);
}

/* Tells whether a text may be a qualified name: "Session.load", "main.<locals>.<lambda>". */
static bool is_qualified_name(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if ((*at < 'a' || *at > 'z') && (*at < 'A' || *at > 'Z') && (*at < '0' || *at > '9') &&
            strchr("_.<>", *at) == NULL)
            return false;
    return text[0] != '\0';
}

/* Returns the instruction that a frame is at, in bytes from the start of its code. Up to 3.10 a
 * frame has it as a number, in 3.10 of units of two bytes; negative before it begins. */
static uint64_t instruction_of(const struct py_view *view, const struct py_frame *f)
{
    const struct hs_python_layout *layout = view->layout;

    if (layout->code_bytes != PY_NONE)
        return hs_python_word(view, f->at + layout->frame_instr) - (f->code + layout->code_bytes);
    uint32_t at = hs_python_u32(view, f->at + layout->frame_instr);
    return at > INT32_MAX ? 0 : layout->minor == 10 ? (uint64_t)at * 2 : at;
}

hs_status hs_python_describe_frame(struct py_state *s, struct py_frame *f, struct hs_error *err)
{
    const struct py_view *view = &s->view;
    const struct hs_python_layout *layout = view->layout;

    if (!hs_python_ascii(view, hs_python_word(view, f->code + layout->code_qualname), f->function,
                         sizeof f->function) ||
        !is_qualified_name(f->function))
        (void)snprintf(f->function, sizeof f->function, "[...]");
    hs_python_base_name(view, hs_python_word(view, f->code + layout->code_file), f->file);
    f->line = hs_python_line(view, f->code, instruction_of(view, f));
    f->library =
        hs_python_library(view, hs_python_word(view, f->code + layout->code_file), s->main_file);
    f->file_id = 0;
    HS_TRY(hs_strtab_add(&s->dump->strings, f->function, &f->function_id, err));
    return f->file[0] == '\0' ? HS_OK : hs_strtab_add(&s->dump->strings, f->file, &f->file_id, err);
}

uint64_t hs_python_n_locals(const struct py_view *view, hs_addr code)
{
    uint64_t n = hs_python_n_variables(view, code);
    return n > MAX_SLOTS ? 0 : n;
}

void hs_python_local_name(const struct py_view *view, hs_addr code, uint64_t i,
                          char text[PY_LOCAL_BYTES])
{
    char name[PY_NAME_BYTES];
    bool is_name =
        hs_python_identifier(view, hs_python_variable(view, code, i), false, name, sizeof name);
    (void)snprintf(text, PY_LOCAL_BYTES, "local %s", is_name ? name : "[...]");
}

hs_status hs_python_add_variable(struct py_state *s, struct hs_root_leaf *leaf, hs_addr value,
                                 struct hs_error *err)
{
    enum { CONTENT = 16 };
    const struct py_class *class = hs_python_class_of(&s->view, &s->classes, value);

    if (class == NULL || strcmp(class->name, "cell") != 0)
        return hs_python_add_root(s, leaf, value, false, err);
    leaf->group_variable = leaf->root.name;
    HS_TRY(hs_python_add_root(s, leaf, value, false, err));
    leaf->root.address = value + CONTENT;
    leaf->root.offset = CONTENT; /* it is no second variable */
    value = hs_python_word(&s->view, leaf->root.address);
    return value == 0 || hs_python_is_named(s, value)
               ? HS_OK
               : hs_python_add_root(s, leaf, value, false, err);
}

static hs_status describe(const struct thread *t, struct frame *f, struct hs_error *err)
{
    char unit[TEXT_BYTES];

    HS_TRY(hs_python_describe_frame(t->s, &f->is, err));
    (void)snprintf(unit, sizeof unit, "#%u %s() (%s:%u)", f->number, f->is.function, f->is.file,
                   f->is.line);
    return hs_strtab_add(&t->s->dump->strings, unit, &f->unit, err);
}

/* Tells whether a frame is that of a generator, which runs: its variables are not those of a call
 * that ends, and were not borrowed for it. */
static bool is_of_generator(const struct py_state *s, hs_addr frame)
{
    const struct hs_python_layout *layout = s->view.layout;
    const struct py_class *class =
        layout->gen_frame == PY_NONE
            ? NULL
            : hs_python_class_of(&s->view, &s->classes, frame - layout->gen_frame);
    return class != NULL && class->kind == PY_GENERATOR && strcmp(class->name, "generator") == 0;
}

static hs_status add_slot(const struct thread *t, const struct frame *f, hs_addr slot,
                          const char *name, bool is_passing, struct hs_error *err)
{
    char text[TEXT_BYTES];
    hs_addr value = hs_python_untagged(t->s->view.layout, hs_python_word(&t->s->view, slot));
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_STACK,
                                         .address = slot,
                                         .thread = t->own->tid,
                                         .frame = f->number,
                                         .line = f->is.line,
                                         .function = f->is.function_id,
                                         .file = f->is.file_id},
                                .group_module = t->own->module,
                                .group_unit = f->unit};

    if (!hs_python_may_look(&t->s->view, 1) || value == 0 || hs_python_is_named(t->s, value))
        return HS_OK;
    if (f->is.library != PY_LIBRARY_NONE && hs_python_is_loop(t->s, value))
        (void)snprintf(text, sizeof text, PY_LOOP_NAME);
    else
        (void)snprintf(text, sizeof text, "%s() %s", f->is.function, name);
    HS_TRY(hs_strtab_add(&t->s->dump->strings, text, &leaf.root.name, err));
    if (f->is.library == PY_LIBRARY_STANDARD && !is_of_generator(t->s, f->is.at)) {
        hs_python_lower_borrowed(&leaf);
        is_passing = true;
    }
    return is_passing ? hs_python_add_root(t->s, &leaf, value, true, err)
                      : hs_python_add_variable(t->s, &leaf, value, err);
}

static hs_status add_locals(const struct thread *t, const struct frame *f, uint64_t n,
                            struct hs_error *err)
{
    const struct py_view *view = &t->s->view;
    char text[PY_LOCAL_BYTES];

    for (uint64_t i = 0; i < n; i++) {
        hs_addr slot = f->is.at + view->layout->frame_localsplus + i * PY_WORD;
        hs_python_local_name(view, f->is.code, i, text);
        HS_TRY(add_slot(t, f, slot, text, false, err));
    }
    return HS_OK;
}

/* Adds what else a frame needs. Up to 3.10 its object leads to all of that. */
static hs_status add_rest(const struct thread *t, const struct frame *f, uint64_t n_locals,
                          struct hs_error *err)
{
    const struct hs_python_layout *layout = t->s->view.layout;

    if (layout->frame_object == PY_NONE)
        return add_slot(t, f, f->slot, "frame object", true, err);
    int64_t top = hs_python_stack_top(&t->s->view, f->is.at);
    for (uint64_t i = n_locals; top > 0 && i < (uint64_t)top && i < MAX_SLOTS; i++)
        HS_TRY(add_slot(t, f, f->is.at + layout->frame_localsplus + i * PY_WORD,
                        "value on its stack", true, err));
    HS_TRY(add_slot(t, f, f->is.at + layout->frame_func, "function", true, err));
    return add_slot(t, f, f->is.at + layout->frame_object, "frame object", true, err);
}

static hs_status add_frame(const struct thread *t, struct frame *f, struct hs_error *err)
{
    uint64_t n_locals = hs_python_n_locals(&t->s->view, f->is.code);

    HS_TRY(describe(t, f, err));
    HS_TRY(add_locals(t, f, n_locals, err));
    HS_TRY(add_slot(t, f, f->is.at + t->s->view.layout->frame_locals, "namespace", true, err));
    return add_rest(t, f, n_locals, err);
}

bool hs_python_is_code(const struct py_state *s, hs_addr object)
{
    const struct py_class *class = hs_python_class_of(&s->view, &s->classes, object);
    return class != NULL && class->kind == PY_CODE;
}

/* Tells whether a frame is none of Python: since 3.12 C code that calls Python has one on its own
 * stack, most of whose words nobody has written. */
static bool is_of_c(const struct py_view *view, hs_addr frame)
{
    enum { FIRST_OF_C = 3 }; /* of enum _frameowner */
    const struct hs_python_layout *layout = view->layout;
    const uint8_t *owner = layout->frame_owner == PY_NONE
                               ? NULL
                               : hs_python_bytes(view, frame + layout->frame_owner, 1);
    return owner != NULL && layout->minor >= 12 && *owner >= FIRST_OF_C;
}

/* Adds the frames of a thread. A chain that leads back into itself ends: a frame that was met at a
 * power of two steps is not met again in a sound one. */
static hs_status add_frames(const struct thread *t, struct hs_error *err)
{
    const struct py_view *view = &t->s->view;
    const struct hs_python_layout *layout = view->layout;
    struct frame f = {.slot = t->own->state + layout->thread_frame};
    hs_addr met = 0;

    f.is.at = hs_python_word(view, f.slot);
    if (layout->cframe_frame != PY_NONE)
        f.is.at = f.is.at == 0 ? 0 : hs_python_word(view, f.is.at + layout->cframe_frame);
    for (uint32_t i = 1; i < MAX_FRAMES && f.is.at != met && hs_python_may_look(view, 1); i++) {
        if ((i & (i - 1)) == 0)
            met = f.is.at;
        f.is.code = hs_python_untagged(layout, hs_python_word(view, f.is.at + layout->frame_code));
        if (hs_python_is_code(t->s, f.is.code) && !is_of_c(view, f.is.at)) {
            f.number++;
            HS_TRY(add_frame(t, &f, err));
        }
        f.slot = f.is.at + layout->frame_previous;
        f.is.at = hs_python_word(view, f.slot);
        if (f.is.at == 0)
            break;
    }
    return HS_OK;
}

hs_status hs_python_name_frames(struct py_state *s, struct hs_error *err)
{
    struct py_threads threads = {0};
    struct thread t = {.s = s, .own = &threads};
    bool is_there;

    HS_TRY(hs_python_next_thread(s, &threads, &is_there, err));
    while (is_there) {
        HS_TRY(add_frames(&t, err));
        HS_TRY(hs_python_next_thread(s, &threads, &is_there, err));
    }
    return HS_OK;
}
