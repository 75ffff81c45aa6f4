/* The interpreters of a process, the main one first, and the threads of all. */
#include <stdio.h>

#include "arch/processor.h"
#include "python.h"

enum { MAX_INTERPRETERS = 64, MAX_THREADS = 1 << 16 };

static hs_addr next_in_list(const struct py_state *s, const struct py_interpreters *it)
{
    const struct hs_python_layout *layout = s->view.layout;
    hs_addr from = it->listed == 0 ? s->interpreter.runtime + layout->runtime_interpreters
                                   : it->listed + layout->interp_next;
    return hs_python_word(&s->view, from);
}

/* Goes on to the next interpreter; the first is in the list, too. */
bool hs_python_next_interpreter(const struct py_state *s, struct py_interpreters *it)
{
    if (it->n++ == 0) {
        it->at = s->interpreter.first;
        return it->at != 0;
    }
    for (; it->n < MAX_INTERPRETERS; it->n++) {
        it->at = it->listed = next_in_list(s, it);
        if (it->at != s->interpreter.first)
            return it->at != 0;
    }
    return false;
}

void hs_python_interpreter_name(const struct py_state *s, hs_addr interpreter, char *text, size_t n)
{
    uint64_t id = hs_python_word(&s->view, interpreter + s->view.layout->interp_id);

    text[0] = '\0';
    if (interpreter != s->interpreter.first)
        (void)snprintf(text, n, "interpreter %llu: ", (unsigned long long)id);
}

/* Finds the kernel's id of a thread; up to 3.10 the interpreter remembers what C calls the thread.
 */
static uint32_t find_tid(const struct py_view *view, hs_addr state)
{
    const struct hs_python_layout *layout = view->layout;
    const struct hs_target *target = &view->dump->target;

    if (layout->thread_native_id != PY_NONE)
        return (uint32_t)hs_python_word(view, state + layout->thread_native_id);
    hs_addr own = hs_python_word(view, state + layout->thread_pthread);
    for (size_t i = 0; i < target->n_threads && own != 0; i++)
        if (hs_regs_thread_pointer(&target->threads[i].regs) == own)
            return (uint32_t)target->threads[i].tid;
    return 0;
}

/* Goes on to the next state of an interpreter's threads. A chain that leads back into itself ends:
 * a state that was met at a power of two steps is not met again in a sound one. */
static bool next_state(const struct py_state *s, struct py_threads *it)
{
    const struct hs_python_layout *layout = s->view.layout;

    if (it->n == 0)
        it->state = hs_python_word(&s->view, it->interpreters.at + layout->interp_threads);
    else
        it->state = hs_python_word(&s->view, it->state + layout->thread_next);
    if (it->state == 0 || it->state == it->met || ++it->n >= MAX_THREADS)
        return false;
    if ((it->n & (it->n - 1)) == 0)
        it->met = it->state;
    return true;
}

hs_status hs_python_next_thread(struct py_state *s, struct py_threads *it, bool *ret,
                                struct hs_error *err)
{
    char text[32];

    *ret = true;
    while (it->interpreters.at == 0 || !next_state(s, it)) {
        it->n = 0;
        it->met = 0;
        *ret = hs_python_next_interpreter(s, &it->interpreters);
        if (!*ret)
            return HS_OK;
    }
    it->tid = find_tid(&s->view, it->state);
    (void)snprintf(text, sizeof text, "thread %u", it->tid);
    return hs_strtab_add(&s->dump->strings, text, &it->module, err);
}
