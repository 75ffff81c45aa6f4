/* The event loops of asyncio, by the class that all derive from, and of uvloop. */
#include <string.h>

#include "python.h"

bool hs_python_is_loop(const struct py_state *s, hs_addr object)
{
    static const char *const bases[] = {"AbstractEventLoop", "uvloop.loop.Loop"};
    const struct py_class *class =
        object == 0 ? NULL : hs_python_class_of(&s->view, &s->classes, object);
    hs_addr type = class == NULL || !class->is_type ? 0 : class->address;
    char name[PY_NAME_BYTES];

    for (int i = 0; i < PY_MAX_CHAIN && type != 0 && type % PY_WORD == 0; i++) {
        if (!hs_python_may_look(&s->view, 1))
            return false;
        if (hs_python_string(&s->view, hs_python_word(&s->view, type + PY_AT_TYPE_NAME), name,
                             sizeof name))
            for (size_t k = 0; k < sizeof bases / sizeof *bases; k++)
                if (strcmp(name, bases[k]) == 0)
                    return true;
        type = hs_python_word(&s->view, type + PY_AT_TYPE_BASE);
    }
    return false;
}
