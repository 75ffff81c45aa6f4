/* The interpreter's own tables: the states of interpreters and of threads, where these are blocks.
 *
 * They lead to all that there is, and to memory that was used before (the compiler's, for one). A
 * program that has Python in itself keeps pointers to them (what PyEval_SaveThread() returns, or
 * Py_NewInterpreter()), and does not keep by these what a name holds. So each is a root of its own
 * at the tier of a runtime, and whatever else leads there is no firmer. */
#include <stdio.h>

#include "python.h"

static hs_status add_state(struct py_state *s, hs_addr state, struct hs_root_leaf leaf,
                           const char *text, struct hs_error *err)
{
    struct hs_heap_block block;

    if (!hs_python_may_look(&s->view, 1) || hs_python_is_named(s, state) ||
        hs_heap_map_resolve(&s->dump->heaps.map, state, &block) != HS_POINTER_START)
        return HS_OK; /* in _PyRuntime, or in the state of the interpreter */
    hs_bitmap_set(&s->own, block.rank);
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &leaf.root.name, err));
    leaf.root.address = state;
    hs_root_lower(&leaf.root, HS_TIER_RUNTIME, HS_REASON_INTERPRETER);
    return hs_python_add_root(s, &leaf, state, false, err);
}

static hs_status add_interpreters(struct py_state *s, struct hs_error *err)
{
    struct py_interpreters it = {0};
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_REGISTERED}};
    char whose[PY_INTERPRETER_BYTES], text[PY_INTERPRETER_BYTES + 32];

    HS_TRY(hs_strtab_add(&s->dump->strings, "interpreter", &leaf.group_module, err));
    while (hs_python_next_interpreter(s, &it)) {
        hs_python_interpreter_name(s, it.at, whose, sizeof whose);
        (void)snprintf(text, sizeof text, "%sstate", whose[0] != '\0' ? whose : "interpreter ");
        HS_TRY(add_state(s, it.at, leaf, text, err));
    }
    return HS_OK;
}

static hs_status add_threads(struct py_state *s, struct hs_error *err)
{
    struct py_threads threads = {0};
    bool is_there;

    HS_TRY(hs_python_next_thread(s, &threads, &is_there, err));
    while (is_there) {
        const struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_TLS, .thread = threads.tid},
                                          .group_module = threads.module};
        HS_TRY(add_state(s, threads.state, leaf, "thread state", err));
        HS_TRY(hs_python_next_thread(s, &threads, &is_there, err));
    }
    return HS_OK;
}

hs_status hs_python_name_states(struct py_state *s, struct hs_error *err)
{
    HS_TRY(hs_bitmap_init(&s->own, s->dump->heaps.map.n_blocks, err));
    HS_TRY(add_interpreters(s, err));
    return add_threads(s, err);
}
