/* The names of variables: of those that a function brought along in its closure, and of those in
 * the frame of a generator or coroutine. Both are told by the code object, since 3.11: a tuple of
 * all names, and as many bytes that say what each variable is. */
#include <stdio.h>
#include <string.h>

#include "base/load.h"
#include "python.h"

enum {
    AT_SIZE = 16,
    AT_ITEMS = 24,
    BYTES_AT = 32,    /* of a bytes object: its first one */
    IS_FREE = 1 << 7, /* CO_FAST_FREE of pycore_code.h */
    MOST_VARIABLES = 1 << 12,
    TEXT_BYTES = 2 * PY_NAME_BYTES,
};

hs_status hs_python_label_variables(struct py_state *s, const struct py_shape *shape,
                                    struct hs_error *err)
{
    const struct py_view *view = &s->view;
    hs_addr names = hs_python_word(view, shape->of + view->layout->code_local_names);
    hs_addr kinds = hs_python_word(view, shape->of + view->layout->code_local_names + PY_WORD);
    uint64_t n = hs_python_word(view, names + AT_SIZE), place = shape->at;
    char name[PY_NAME_BYTES];

    for (uint64_t i = 0; i < n && i < MOST_VARIABLES && hs_python_may_look(view, 1); i++) {
        const uint8_t *kind = hs_python_bytes(view, kinds + BYTES_AT + i, 1);
        if (kind == NULL)
            return HS_OK;
        if (shape->kind == PY_SHAPE_CLOSURE && (*kind & IS_FREE) == 0)
            continue;
        hs_addr text = hs_python_word(view, names + AT_ITEMS + i * PY_WORD);
        if (hs_python_identifier(view, text, false, name, sizeof name))
            HS_TRY(hs_python_add_label(s, place * PY_WORD, name, err));
        place++;
    }
    return HS_OK;
}

/* "worker()", "Server.handle()". */
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
