/* The names of variables: of those that a function brought along in its closure, and of those in
 * the frame of a generator or coroutine. Both are told by the code object, since 3.11: a tuple of
 * all names, and as many bytes that say what each variable is. Before that it has a tuple of its
 * variables, one of those that came with the closure and one of cells for others; a frame has the
 * first, then the third and the second. */
#include <stdio.h>
#include <string.h>

#include "base/load.h"
#include "python.h"

enum {
    AT_SIZE = 16,
    BYTES_AT = 32,    /* of a bytes object: its first one */
    IS_FREE = 1 << 7, /* CO_FAST_FREE of pycore_code.h */
    MOST_VARIABLES = 1 << 12,
    OWN = 0, /* up to 3.10: the tuples */
    FREE = 1,
    CELLS = 2,
};

static uint64_t n_of_tuple(const struct py_view *view, hs_addr code, unsigned which)
{
    hs_addr tuple = hs_python_word(view, code + view->layout->code_local_names + which * PY_WORD);
    uint64_t n = tuple == 0 ? 0 : hs_python_word(view, tuple + AT_SIZE);
    return n > MOST_VARIABLES ? 0 : n;
}

static hs_addr item_of_tuple(const struct py_view *view, hs_addr code, unsigned which, uint64_t i)
{
    hs_addr tuple = hs_python_word(view, code + view->layout->code_local_names + which * PY_WORD);
    return hs_python_word(view, tuple + view->layout->tuple_items + i * PY_WORD);
}

static bool has_three_tuples(const struct py_view *view)
{
    return view->layout->minor < 11;
}

uint64_t hs_python_n_variables(const struct py_view *view, hs_addr code)
{
    if (has_three_tuples(view))
        return n_of_tuple(view, code, OWN) + n_of_tuple(view, code, FREE) +
               n_of_tuple(view, code, CELLS);
    uint64_t n = hs_python_u32(view, code + view->layout->code_n_locals);
    return n > MOST_VARIABLES ? 0 : n;
}

hs_addr hs_python_variable(const struct py_view *view, hs_addr code, uint64_t i)
{
    static const unsigned order[] = {OWN, CELLS, FREE};
    unsigned n_tuples = has_three_tuples(view) ? sizeof order / sizeof *order : 1;

    for (unsigned k = 0; k < n_tuples; k++) {
        uint64_t n = n_of_tuple(view, code, order[k]);
        if (i < n)
            return item_of_tuple(view, code, order[k], i);
        i -= n;
    }
    return 0;
}

int64_t hs_python_stack_top(const struct py_view *view, hs_addr frame)
{
    const struct hs_python_layout *layout = view->layout;

    if (!hs_python_has_tags(layout))
        return (int32_t)hs_python_u32(view, frame + layout->frame_stacktop);
    hs_addr end = hs_python_word(view, frame + layout->frame_stacktop);
    hs_addr begin = frame + layout->frame_localsplus;
    return end < begin || end % PY_WORD != 0 ? -1 : (int64_t)((end - begin) / PY_WORD);
}

static hs_status add_label(struct py_state *s, uint64_t place, hs_addr text, struct hs_error *err)
{
    char name[PY_NAME_BYTES];

    if (!hs_python_identifier(&s->view, text, false, name, sizeof name))
        return HS_OK;
    return hs_python_add_label(s, place * PY_WORD, name, err);
}

static hs_status label_old(struct py_state *s, const struct py_shape *shape, struct hs_error *err)
{
    const struct py_view *view = &s->view;
    bool is_closure = shape->kind == PY_SHAPE_CLOSURE;
    uint64_t n =
        is_closure ? n_of_tuple(view, shape->of, FREE) : hs_python_n_variables(view, shape->of);

    for (uint64_t i = 0; i < n && hs_python_may_look(view, 1); i++)
        HS_TRY(add_label(s, shape->at + i,
                         is_closure ? item_of_tuple(view, shape->of, FREE, i)
                                    : hs_python_variable(view, shape->of, i),
                         err));
    return HS_OK;
}

hs_status hs_python_label_variables(struct py_state *s, const struct py_shape *shape,
                                    struct hs_error *err)
{
    const struct py_view *view = &s->view;
    hs_addr names = hs_python_word(view, shape->of + view->layout->code_local_names);
    hs_addr kinds = hs_python_word(view, shape->of + view->layout->code_local_names + PY_WORD);
    uint64_t n = hs_python_word(view, names + AT_SIZE), place = shape->at;

    if (has_three_tuples(view))
        return label_old(s, shape, err);
    for (uint64_t i = 0; i < n && i < MOST_VARIABLES && hs_python_may_look(view, 1); i++) {
        const uint8_t *kind = hs_python_bytes(view, kinds + BYTES_AT + i, 1);
        if (kind == NULL)
            return HS_OK;
        if (shape->kind == PY_SHAPE_CLOSURE && (*kind & IS_FREE) == 0)
            continue;
        HS_TRY(add_label(s, place++,
                         hs_python_word(view, names + view->layout->tuple_items + i * PY_WORD),
                         err));
    }
    return HS_OK;
}

/* Makes the name of a function by its code: "worker()", "Server.handle()". */
void hs_python_function_name(const struct py_view *view, hs_addr code, char *text, size_t n)
{
    char name[PY_NAME_BYTES];

    if (!hs_python_ascii(view, hs_python_word(view, code + view->layout->code_qualname), name,
                         sizeof name))
        name[0] = '\0';
    for (const char *at = name; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~')
            name[0] = '\0';
    (void)snprintf(text, n, "%s()", name[0] != '\0' ? name : "[...]");
}
