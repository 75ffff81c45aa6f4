/* Roots on the interpreter's own stacks: of each thread the frames from the innermost on, of each
 * the variables by name. 3.11 and later, where frames are no objects.
 *
 * A variable owns what it holds, as a name of a module does, unless a module has it. What else a
 * frame needs (values on its stack while it calls, its function) is passing: it holds, and owns
 * nothing that others refer to. While a frame runs its stack has no known end: then the stack of C
 * holds such values. */
#include <stdio.h>
#include <string.h>

#include "base/load.h"
#include "python.h"

enum {
    MAX_INTERPRETERS = 64,
    MAX_THREADS = 1 << 16,
    MAX_FRAMES = 1 << 20,
    MAX_SLOTS = 1 << 12,
    AT_SIZE = 16,
    AT_ITEMS = 24,
    FILE_BYTES = 512,
    TEXT_BYTES = 4 * PY_NAME_BYTES,
};

struct thread {
    struct py_state *s;
    hs_addr state;
    uint32_t tid;
    hs_str module; /* "thread 4242" */
};

/* A frame as its roots show it. */
struct frame {
    hs_addr at, code;
    uint32_t number, line;
    char function[PY_NAME_BYTES];
    hs_str unit, function_name, file;
};

static hs_status intern(const struct thread *t, const char *text, hs_str *ret, struct hs_error *err)
{
    return hs_strtab_add(&t->s->dump->strings, text, ret, err);
}

/* "Session.load", "main.<locals>.<lambda>". */
static bool is_qualified_name(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if ((*at < 'a' || *at > 'z') && (*at < 'A' || *at > 'Z') && (*at < '0' || *at > '9') &&
            strchr("_.<>", *at) == NULL)
            return false;
    return text[0] != '\0';
}

/* The last part of the name of its file. */
static void base_name(const struct py_view *view, hs_addr object, char text[PY_NAME_BYTES])
{
    char path[FILE_BYTES];

    text[0] = '\0';
    if (!hs_python_ascii(view, object, path, sizeof path))
        return;
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    for (const char *at = base; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            return;
    size_t length = strlen(base);
    if (length < PY_NAME_BYTES)
        memcpy(text, base, length + 1);
}

static hs_status describe(const struct thread *t, struct frame *f, struct hs_error *err)
{
    const struct py_view *view = &t->s->view;
    const struct py_layout *layout = view->layout;
    char file[PY_NAME_BYTES], unit[TEXT_BYTES];
    uint64_t instruction = hs_python_word(view, f->at + layout->frame_instr);

    if (!hs_python_ascii(view, hs_python_word(view, f->code + layout->code_qualname), f->function,
                         sizeof f->function) ||
        !is_qualified_name(f->function))
        (void)snprintf(f->function, sizeof f->function, "[...]");
    base_name(view, hs_python_word(view, f->code + layout->code_file), file);
    f->line = hs_python_line(view, f->code, instruction - (f->code + layout->code_bytes));
    (void)snprintf(unit, sizeof unit, "#%u %s() (%s:%u)", f->number, f->function, file, f->line);
    HS_TRY(intern(t, unit, &f->unit, err));
    HS_TRY(intern(t, f->function, &f->function_name, err));
    return file[0] == '\0' ? HS_OK : intern(t, file, &f->file, err);
}

static hs_status add_slot(const struct thread *t, const struct frame *f, hs_addr slot,
                          const char *name, bool is_passing, struct hs_error *err)
{
    char text[TEXT_BYTES];
    hs_addr value = hs_python_word(&t->s->view, slot);
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_STACK,
                                         .address = slot,
                                         .thread = t->tid,
                                         .frame = f->number,
                                         .line = f->line,
                                         .function = f->function_name,
                                         .file = f->file},
                                .group_module = t->module,
                                .group_unit = f->unit};

    if (!hs_python_may_look(&t->s->view, 1) || value == 0 || hs_python_is_named(t->s, value))
        return HS_OK;
    (void)snprintf(text, sizeof text, "%s() %s", f->function, name);
    HS_TRY(intern(t, text, &leaf.root.name, err));
    return hs_python_add_root(t->s, &leaf, value, is_passing, err);
}

static hs_status add_locals(const struct thread *t, const struct frame *f, uint64_t n,
                            struct hs_error *err)
{
    const struct py_view *view = &t->s->view;
    hs_addr names = hs_python_word(view, f->code + view->layout->code_local_names);
    uint64_t n_names = hs_python_word(view, names + AT_SIZE);
    char name[PY_NAME_BYTES], text[PY_NAME_BYTES + 8];

    for (uint64_t i = 0; i < n; i++) {
        hs_addr at = i < n_names ? hs_python_word(view, names + AT_ITEMS + i * PY_WORD) : 0;
        bool is_name = hs_python_identifier(view, at, false, name, sizeof name);
        (void)snprintf(text, sizeof text, "local %s", is_name ? name : "[...]");
        HS_TRY(
            add_slot(t, f, f->at + view->layout->frame_localsplus + i * PY_WORD, text, false, err));
    }
    return HS_OK;
}

static hs_status add_frame(const struct thread *t, struct frame *f, struct hs_error *err)
{
    const struct py_layout *layout = t->s->view.layout;
    uint64_t n_locals = hs_python_u32(&t->s->view, f->code + layout->code_n_locals);
    int32_t top = (int32_t)hs_python_u32(&t->s->view, f->at + layout->frame_stacktop);

    HS_TRY(describe(t, f, err));
    if (n_locals > MAX_SLOTS)
        n_locals = 0;
    HS_TRY(add_locals(t, f, n_locals, err));
    for (uint64_t i = n_locals; top > 0 && i < (uint64_t)top && i < MAX_SLOTS; i++)
        HS_TRY(add_slot(t, f, f->at + layout->frame_localsplus + i * PY_WORD, "value on its stack",
                        true, err));
    HS_TRY(add_slot(t, f, f->at + layout->frame_func, "function", true, err));
    HS_TRY(add_slot(t, f, f->at + layout->frame_locals, "namespace", true, err));
    return add_slot(t, f, f->at + layout->frame_object, "frame object", true, err);
}

static bool is_code(const struct py_state *s, hs_addr object)
{
    const struct py_class *class = hs_python_class_of(&s->view, &s->classes, object);
    return class != NULL && class->kind == PY_CODE;
}

/* A chain that leads back into itself ends: a frame that was met at a power of two steps is not met
 * again in a sound one. */
static hs_status add_frames(const struct thread *t, struct hs_error *err)
{
    const struct py_view *view = &t->s->view;
    const struct py_layout *layout = view->layout;
    struct frame f = {.at = hs_python_word(view, t->state + layout->thread_frame)};

    if (layout->cframe_frame != PY_NONE)
        f.at = f.at == 0 ? 0 : hs_python_word(view, f.at + layout->cframe_frame);
    hs_addr met = 0;
    for (uint32_t i = 1; i < MAX_FRAMES && f.at != met && hs_python_may_look(view, 1); i++) {
        if ((i & (i - 1)) == 0)
            met = f.at;
        f.code = hs_python_word(view, f.at + layout->frame_code);
        if (is_code(t->s, f.code)) {
            f.number++;
            f.file = 0;
            HS_TRY(add_frame(t, &f, err));
        }
        f.at = hs_python_word(view, f.at + layout->frame_previous);
        if (f.at == 0)
            break;
    }
    return HS_OK;
}

/* Its thread-local variables, and those of its context. */
static hs_status add_own(const struct thread *t, uint16_t offset, const char *name,
                         struct hs_error *err)
{
    hs_addr slot = t->state + offset, value = hs_python_word(&t->s->view, slot);
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_TLS, .address = slot, .thread = t->tid},
                                .group_module = t->module};

    if (value == 0 || hs_python_is_named(t->s, value))
        return HS_OK;
    HS_TRY(intern(t, name, &leaf.root.name, err));
    return hs_python_add_root(t->s, &leaf, value, false, err);
}

static hs_status add_thread(struct thread *t, struct hs_error *err)
{
    const struct py_layout *layout = t->s->view.layout;
    char text[32];

    if (layout->thread_native_id != PY_NONE)
        t->tid = (uint32_t)hs_python_word(&t->s->view, t->state + layout->thread_native_id);
    (void)snprintf(text, sizeof text, "thread %u", t->tid);
    HS_TRY(intern(t, text, &t->module, err));
    if (layout->frame_code != PY_NONE)
        HS_TRY(add_frames(t, err));
    HS_TRY(add_own(t, layout->thread_dict, "thread-local storage", err));
    return add_own(t, layout->thread_context, "context variables", err);
}

hs_status hs_python_name_frames(struct py_state *s, struct hs_error *err)
{
    const struct py_view *view = &s->view;
    hs_addr interpreter = s->interpreter.first;

    for (int i = 0; i < MAX_INTERPRETERS && interpreter != 0; i++) {
        struct thread t = {.s = s};
        hs_addr met = 0;
        t.state = hs_python_word(view, interpreter + view->layout->interp_threads);
        for (unsigned k = 1; k < MAX_THREADS && t.state != 0 && t.state != met; k++) {
            if ((k & (k - 1)) == 0)
                met = t.state;
            t.tid = 0;
            HS_TRY(add_thread(&t, err));
            t.state = hs_python_word(view, t.state + view->layout->thread_next);
        }
        interpreter = hs_python_word(view, interpreter + view->layout->interp_next);
    }
    return HS_OK;
}
