/* Roots of tasks and greenlets, which wait apart from the stack of a thread: of each of their
 * frames, from the outermost on, the variables by name.
 *
 * Thousands wait at the same line: a variable of all these is one root, whose slots are their own.
 * What the outer frames hand on to the inner ones is theirs. */
#include <stdio.h>
#include <string.h>

#include "python.h"

enum { TEXT_BYTES = PY_CHAIN_BYTES + 2 * PY_NAME_BYTES };

/* Adds a function to the text of a chain. The outermost and the innermost tell most: "serve() ...
 * await Queue.get()". */
static void add_to_chain(struct py_waiting *w, const char *function)
{
    char before[PY_CHAIN_BYTES];

    if (w->depth == 1) {
        (void)snprintf(w->outermost, sizeof w->outermost, "%s", function);
        (void)snprintf(w->chain, sizeof w->chain, "%s()", function);
        return;
    }
    (void)snprintf(before, sizeof before, "%s()%s", w->outermost, w->depth > 2 ? " ..." : "");
    (void)snprintf(w->chain, sizeof w->chain, "%s %s%s()", before, w->awaits, function);
}

static hs_status add_variable(const struct py_waiting *w, const struct py_frame *f, hs_str unit,
                              uint64_t i, struct hs_error *err)
{
    struct py_state *s = w->s;
    char local[PY_LOCAL_BYTES], text[TEXT_BYTES];
    hs_addr slot = f->at + s->view.layout->frame_localsplus + i * PY_WORD;
    hs_addr value = hs_python_untagged(s->view.layout, hs_python_word(&s->view, slot));
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_STACK,
                                         .address = slot,
                                         .frame = w->depth,
                                         .line = f->line,
                                         .function = f->function_id,
                                         .file = f->file_id},
                                .group_module = w->group,
                                .group_unit = unit};

    if (!hs_python_may_look(&s->view, 1) || value == 0 || hs_python_is_named(s, value))
        return HS_OK;
    hs_python_local_name(&s->view, f->code, i, local);
    (void)snprintf(text, sizeof text, "%s %s %s", w->kind, w->chain, local);
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &leaf.root.name, err));
    leaf.group_variable = leaf.root.name;
    if (f->library == PY_LIBRARY_NONE)
        return hs_python_add_variable(s, &leaf, value, err);
    hs_python_lower_borrowed(&leaf);
    return hs_python_add_root(s, &leaf, value, true, err);
}

static hs_status describe(const struct py_waiting *w, struct py_frame *f, struct hs_error *err)
{
    uint64_t instruction = hs_python_word(&w->s->view, f->at + w->s->view.layout->frame_instr);
    size_t i = (f->code / PY_WORD + instruction) % PY_N_PLACES;
    struct py_frame *known = &w->places->frames[i];
    hs_addr at = f->at;

    if (known->code != f->code || w->places->instructions[i] != instruction) {
        HS_TRY(hs_python_describe_frame(w->s, f, err));
        *known = *f;
        w->places->instructions[i] = instruction;
    }
    *f = *known;
    f->at = at;
    return HS_OK;
}

hs_status hs_python_add_waiting(struct py_waiting *w, struct py_frame *f, struct hs_error *err)
{
    uint64_t n = hs_python_n_locals(&w->s->view, f->code);
    char text[TEXT_BYTES];
    hs_str unit;

    w->depth++;
    HS_TRY(describe(w, f, err));
    add_to_chain(w, f->function);
    (void)snprintf(text, sizeof text, "%s %s (%s:%u)", w->kind, w->chain, f->file, f->line);
    HS_TRY(hs_strtab_add(&w->s->dump->strings, text, &unit, err));
    for (uint64_t i = 0; i < n; i++)
        HS_TRY(add_variable(w, f, unit, i, err));
    return HS_OK;
}
