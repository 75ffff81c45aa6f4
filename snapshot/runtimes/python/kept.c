/* Roots of what the interpreter keeps for a program, and the program has no name for: variables of
 * the contexts of threads (contextvars), functions to call at the end (atexit), what codecs were
 * registered with. Each kind of its own. */
#include <stdio.h>
#include <string.h>

#include "python.h"

enum {
    CONTEXT_VARIABLES = 24, /* of a context: its map */
    VARIABLE_NAME = 16,
    MAP_ROOT = 16,
    AT_SIZE = 16,
    AT_NODE = 16,  /* what a node of 32 branches leads to */
    AT_PAIRS = 32, /* of a node of pairs */
    NODE_BRANCHES = 32,
    MAX_PAIRS = 1 << 10,
    MAX_WAITING = 1 << 9, /* a map is seven deep, of 32 branches each */
    MAX_CALLBACKS = 1 << 16,
    MODULE_STATE = 32,
    N_CODECS = 3,
};

static bool is_called(const struct py_state *s, hs_addr object, const char *name)
{
    const struct py_class *class =
        object == 0 ? NULL : hs_python_class_of(&s->view, &s->classes, object);
    return class != NULL && strcmp(class->name, name) == 0;
}

static hs_status add(struct py_state *s, struct hs_root_leaf leaf, const char *name,
                     struct hs_error *err)
{
    hs_addr value = hs_python_word(&s->view, leaf.root.address);

    if (value == 0 || !hs_python_may_look(&s->view, 1) || hs_python_is_named(s, value))
        return HS_OK;
    HS_TRY(hs_strtab_add(&s->dump->strings, name, &leaf.root.name, err));
    return hs_python_add_root(s, &leaf, value, false, err);
}

static hs_status add_of(struct py_state *s, hs_addr interpreter, struct hs_root_leaf leaf,
                        const char *name, struct hs_error *err)
{
    char whose[PY_INTERPRETER_BYTES], text[PY_INTERPRETER_BYTES + PY_NAME_BYTES];

    hs_python_interpreter_name(s, interpreter, whose, sizeof whose);
    (void)snprintf(text, sizeof text, "%s%s", whose, name);
    return add(s, leaf, text, err);
}

/* ---- contexts: a tree of nodes, of pairs { variable, value } and { none, node } */

struct walk {
    struct py_state *s;
    struct hs_root_leaf leaf; /* without its address */
    hs_addr waiting[MAX_WAITING];
    size_t n_waiting;
};

static void wait_for(struct walk *w, hs_addr node)
{
    if (node != 0 && w->n_waiting < MAX_WAITING)
        w->waiting[w->n_waiting++] = node;
}

static hs_status add_pairs(struct walk *w, hs_addr node, struct hs_error *err)
{
    const struct py_view *view = &w->s->view;
    uint64_t n = hs_python_word(view, node + AT_SIZE);
    char name[PY_NAME_BYTES], text[PY_NAME_BYTES + 32];

    for (uint64_t i = 0; i + 1 < n && i < MAX_PAIRS && hs_python_may_look(view, 1); i += 2) {
        hs_addr slot = node + AT_PAIRS + (i + 1) * PY_WORD;
        hs_addr variable = hs_python_word(view, slot - PY_WORD);
        if (variable == 0) {
            wait_for(w, hs_python_word(view, slot));
            continue;
        }
        hs_addr name_at = hs_python_word(view, variable + VARIABLE_NAME);
        bool is_name = hs_python_identifier(view, name_at, true, name, sizeof name);
        (void)snprintf(text, sizeof text, "context variable %s", is_name ? name : "[...]");
        w->leaf.root.address = slot;
        HS_TRY(add(w->s, w->leaf, text, err));
    }
    return HS_OK;
}

static hs_status add_variables(struct walk *w, hs_addr context, struct hs_error *err)
{
    const struct py_view *view = &w->s->view;
    hs_addr map = hs_python_word(view, context + CONTEXT_VARIABLES);

    w->n_waiting = 0;
    wait_for(w, map == 0 ? 0 : hs_python_word(view, map + MAP_ROOT));
    while (w->n_waiting != 0 && hs_python_may_look(view, 1)) {
        hs_addr node = w->waiting[--w->n_waiting];
        if (is_called(w->s, node, "hamt_array_node"))
            for (unsigned i = 0; i < NODE_BRANCHES; i++)
                wait_for(w, hs_python_word(view, node + AT_NODE + i * (hs_addr)PY_WORD));
        else if (is_called(w->s, node, "hamt_bitmap_node") ||
                 is_called(w->s, node, "hamt_collision_node"))
            HS_TRY(add_pairs(w, node, err));
    }
    return HS_OK;
}

static hs_status add_thread(struct py_state *s, const struct py_threads *thread,
                            struct hs_error *err)
{
    const struct hs_python_layout *layout = s->view.layout;
    struct walk w = {.s = s,
                     .leaf = {.root = {.kind = HS_ROOT_TLS, .thread = thread->tid},
                              .group_module = thread->module}};
    hs_addr context = hs_python_word(&s->view, thread->state + layout->thread_context);

    if (is_called(s, context, "Context") || is_called(s, context, "_contextvars.Context"))
        HS_TRY(add_variables(&w, context, err));
    w.leaf.root.address = thread->state + layout->thread_dict;
    HS_TRY(add(s, w.leaf, "thread-local storage", err));
    w.leaf.root.address = thread->state + layout->thread_context;
    return add(s, w.leaf, "context variables", err);
}

/* ---- atexit: an array of pointers to { function, arguments, arguments by name }; since 3.14 a
 * list of tuples of these, the last one first */

static bool has_list_of_callbacks(const struct py_state *s)
{
    return s->view.layout->minor >= 14;
}

static hs_status add_callback(struct py_state *s, hs_addr interpreter, struct hs_root_leaf leaf,
                              uint64_t i, hs_addr callback, struct hs_error *err)
{
    static const char *const parts[] = {"function", "args", "kwargs"};
    char text[64];

    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        leaf.root.address = callback + k * PY_WORD;
        hs_addr value = hs_python_word(&s->view, leaf.root.address);
        if (k == 1 && hs_python_word(&s->view, value + AT_SIZE) == 0)
            continue; /* the empty tuple is everybody's */
        (void)snprintf(text, sizeof text, "atexit[%llu] %s", (unsigned long long)i, parts[k]);
        HS_TRY(add_of(s, interpreter, leaf, text, err));
    }
    return HS_OK;
}

struct callbacks {
    hs_addr at; /* what leads to them */
    hs_addr first;
    uint64_t n;
};

static struct callbacks find_callbacks(const struct py_state *s, hs_addr interpreter)
{
    enum { LIST_ITEMS = 24 };
    const struct py_view *view = &s->view;
    struct callbacks found = {.at = interpreter + view->layout->interp_atexit};

    if (view->layout->interp_atexit == PY_NONE) {
        hs_addr modules = hs_python_word(view, interpreter + view->layout->interp_modules);
        hs_addr module = hs_python_dict_value(view, modules, "atexit");
        found.at = module == 0 ? 0 : hs_python_word(view, module + MODULE_STATE);
    }
    found.first = hs_python_word(view, found.at);
    if (!has_list_of_callbacks(s)) {
        found.n = hs_python_u32(view, found.at + PY_WORD);
    } else if (is_called(s, found.first, "list")) {
        found.n = hs_python_word(view, found.first + AT_SIZE);
        found.first = hs_python_word(view, found.first + LIST_ITEMS);
    }
    if (found.n > MAX_CALLBACKS)
        found.n = 0;
    return found;
}

static hs_status add_callbacks(struct py_state *s, hs_addr interpreter, struct hs_error *err)
{
    const struct py_view *view = &s->view;
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_FINALISER}};
    struct callbacks all = find_callbacks(s, interpreter);
    bool is_list = has_list_of_callbacks(s);

    HS_TRY(hs_strtab_add(&s->dump->strings, "atexit", &leaf.group_module, err));
    for (uint64_t i = 0; i < all.n && hs_python_may_look(view, 1); i++) {
        uint64_t place = is_list ? all.n - 1 - i : i;
        hs_addr callback = hs_python_word(view, all.first + place * PY_WORD);
        if (callback != 0) /* taken back */
            HS_TRY(add_callback(s, interpreter, leaf, i,
                                callback + (is_list ? view->layout->tuple_items : 0), err));
    }
    leaf.root.address = all.at;
    return all.n == 0 ? HS_OK : add_of(s, interpreter, leaf, "atexit callbacks", err);
}

/* ---- codecs */

static hs_status add_codecs(struct py_state *s, hs_addr interpreter, struct hs_error *err)
{
    static const char *const names[N_CODECS] = {"codecs search functions", "codecs found",
                                                "codecs error handlers"};
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_REGISTERED}};

    if (s->view.layout->interp_codecs == PY_NONE)
        return HS_OK;
    HS_TRY(hs_strtab_add(&s->dump->strings, "codecs", &leaf.group_module, err));
    for (unsigned i = 0; i < N_CODECS; i++) {
        leaf.root.address = interpreter + s->view.layout->interp_codecs + (hs_addr)i * PY_WORD;
        HS_TRY(add_of(s, interpreter, leaf, names[i], err));
    }
    return HS_OK;
}

hs_status hs_python_name_kept(struct py_state *s, struct hs_error *err)
{
    struct py_interpreters interpreters = {0};
    struct py_threads threads = {0};
    bool is_there;

    HS_TRY(hs_python_next_thread(s, &threads, &is_there, err));
    while (is_there) {
        HS_TRY(add_thread(s, &threads, err));
        HS_TRY(hs_python_next_thread(s, &threads, &is_there, err));
    }
    while (hs_python_next_interpreter(s, &interpreters)) {
        HS_TRY(add_callbacks(s, interpreters.at, err));
        HS_TRY(add_codecs(s, interpreters.at, err));
    }
    return HS_OK;
}
