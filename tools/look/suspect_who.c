/* The roots that keep a suspect's memory, as the beginning of its sentence. */
#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/root_name.h"
#include "report/text.h"
#include "suspect_text.h"
#include "suspect_writer.h"

void hs_suspect_put_name(struct writer *w, const char *name, size_t columns)
{
    struct hs_buffer clean = {0}, fit = {0};
    hs_status status = w->status;
    if (status == HS_OK)
        status = hs_text_sanitise(name, strlen(name), HS_TEXT_TERMINAL, &clean, w->err);
    if (status == HS_OK && clean.n_bytes != 0)
        status = hs_text_fit((const char *)clean.bytes, clean.n_bytes, columns, &fit, w->err);
    if (status == HS_OK && fit.n_bytes != 0)
        put(w, "%.*s", (int)fit.n_bytes, (const char *)fit.bytes);
    hs_buffer_fini(&clean);
    hs_buffer_fini(&fit);
    w->status = status;
}

bool hs_suspect_has_type(const struct hs_view *view, uint32_t type)
{
    return type != HS_UNTYPED && hs_snap_type(view->snap, type)->form != HS_FORM_BYTES;
}

bool hs_suspect_tells_type(const struct hs_view *view, const struct hs_suspect *suspect)
{
    const struct hs_accumulated *classes = suspect->at.classes;
    return has_type(view, suspect->type) ||
           (classes[0].n_blocks != 0 && has_type(view, classes[0].type)) ||
           (classes[1].n_blocks != 0 && has_type(view, classes[1].type));
}

static void put_root(struct writer *w, const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    char where[HS_ROOT_WHERE_BYTES];
    put_name(w, hs_view_string(view, root->name), NAME_COLUMNS);
    hs_root_where(view, root, where);
    if (where[0] == '\0')
        return;
    put(w, " (");
    put_name(w, where, WHERE_COLUMNS);
    put(w, ")");
}

/* Puts a node as one of several; of a long name so many columns. */
static void put_short(struct writer *w, const struct hs_view *view, hs_node node, size_t columns)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    char tail[HS_ROOT_WHERE_BYTES];
    put_name(w, hs_view_string(view, root->name), columns);
    hs_root_tail(view, root, tail);
    put_name(w, tail, NAME_COLUMNS);
}

/* Tells whether a root is a module whose own field another root is: "Rewrite" and
 * "Rewrite.normalise" of one file are one holder, called by the field. */
static bool is_module_of(const struct hs_view *view, hs_node module, hs_node field)
{
    const struct hs_root *outer = hs_snap_root(view->snap, module);
    const struct hs_root *inner = hs_snap_root(view->snap, field);
    const char *name = hs_view_string(view, outer->name);
    size_t n = strlen(name);

    return outer->kind == HS_ROOT_GLOBAL && inner->kind == HS_ROOT_GLOBAL && outer->file != 0 &&
           outer->file == inner->file && n != 0 &&
           strncmp(hs_view_string(view, inner->name), name, n) == 0 &&
           hs_view_string(view, inner->name)[n] == '.';
}

/* Takes those of the shown roots that are no module of another of them; returns their number. */
static unsigned take_holders(const struct hs_view *view, const struct hs_suspect *suspect,
                             hs_node ret[HS_SUSPECT_SHOWN_ROOTS])
{
    unsigned n = 0;
    for (uint32_t i = 0; i < suspect->n_shown; i++) {
        bool is_module = false;
        for (uint32_t j = 0; j < suspect->n_shown && !is_module; j++)
            is_module = is_module_of(view, suspect->roots[i], suspect->roots[j]);
        if (!is_module)
            ret[n++] = suspect->roots[i];
    }
    return n;
}

/* Tells whether a root is a variable of those that wait, and how much of its name says where. */
static bool is_waiting(const struct hs_view *view, hs_node node, size_t *ret_n)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    const char *name = hs_view_string(view, root->name), *local = strstr(name, " local ");

    if (root->kind != HS_ROOT_STACK || root->thread != 0 || root->frame == 0 || local == NULL)
        return false;
    *ret_n = (size_t)(local - name);
    return true;
}

/* Tells whether a root is of the same wait, or of the call right within it: further calls are told
 * by the innermost alone, and one task may have several of these. */
static bool is_within_wait(const struct hs_view *view, hs_node node, const char *where, size_t n)
{
    const char *name = hs_view_string(view, hs_snap_root(view->snap, node)->name);
    size_t n_of;
    return is_waiting(view, node, &n_of) && n_of >= n && strncmp(name, where, n) == 0 &&
           strstr(name, " ... ") == NULL;
}

uint64_t hs_suspect_n_waiting(const struct hs_view *view, const struct hs_suspect *suspect)
{
    uint64_t most = 1, n = 0;
    hs_node above = 0;
    bool is_within = false;
    size_t n_where;

    if (suspect->list != HS_SUSPECT_OWNER || suspect->fold_name != NULL || suspect->n_shown == 0 ||
        !is_waiting(view, suspect->roots[0], &n_where))
        return 1;
    const char *where = hs_view_string(view, hs_snap_root(view->snap, suspect->roots[0])->name);
    for (hs_node i = 1; i < view->n_tree; i++) {
        const struct hs_root *root = hs_snap_root(view->snap, i);
        if (root->target == HS_NO_NODE)
            continue;
        if (root->parent != above) { /* the slots of a variable follow each other */
            above = root->parent;
            is_within = is_within_wait(view, above, where, n_where);
            n = 0;
        }
        n += is_within && root->offset == 0; /* else it is what a cell in the slot leads to */
        most = n > most ? n : most;
    }
    return most;
}

bool hs_suspect_is_one_holder(const struct hs_view *view, const struct hs_suspect *suspect)
{
    hs_node holders[HS_SUSPECT_SHOWN_ROOTS];
    if (hs_suspect_n_waiting(view, suspect) > 1)
        return false;
    return suspect->n_roots == 1 ||
           (suspect->fold_name == NULL && suspect->n_shown != 0 &&
            suspect->n_shown == suspect->n_roots && take_holders(view, suspect, holders) == 1);
}

const char *hs_suspect_place(const struct hs_view *view, const struct hs_suspect *suspect)
{
    static const char local[] = " local ";
    const char *place = suspect->holder;

    if (suspect->list != HS_SUSPECT_OWNER || suspect->n_roots != 1 ||
        strlen(place) <= HOLDER_COLUMNS)
        return place;
    const char *root = hs_view_string(view, hs_snap_root(view->snap, suspect->roots[0])->name);
    const char *variable = strstr(root, local);
    return variable != NULL && strncmp(place, root, strlen(root)) == 0
               ? place + (variable - root) + strlen(local)
               : place;
}

/* The thread that all its roots are of; 0: none, or more roots than are known here. */
static uint32_t common_thread(const struct hs_view *view, const struct hs_suspect *suspect)
{
    uint32_t thread = 0;
    if (suspect->n_shown < suspect->n_roots)
        return 0;
    for (uint32_t i = 0; i < suspect->n_shown; i++) {
        uint32_t of = hs_snap_root(view->snap, suspect->roots[i])->thread;
        if (of == 0 || (i > 0 && of != thread))
            return 0;
        thread = of;
    }
    return thread;
}

/* "server, lctx, engines, ..." */
static void put_some(struct writer *w, const struct hs_view *view, const hs_node *holders,
                     unsigned n_holders, uint64_t n_all)
{
    enum { NAMED = 3 };

    for (unsigned i = 0; i < n_holders && i < NAMED; i++) {
        put(w, "%s", i == 0 ? "" : ", ");
        put_short(w, view, holders[i], NAME_COLUMNS / NAMED * 2);
    }
    put(w, "%s", n_all > NAMED ? ", ..." : "");
}

/* "static variables of libgtk-3.so.0 (302), geany (154), ... and 12 slots of stacks" */
static void put_modules(struct writer *w, const struct hs_view *view,
                        const struct hs_suspect *suspect)
{
    uint64_t n = 0;

    put(w, "static variables of ");
    for (uint32_t i = 0; i < suspect->n_modules; i++) {
        put(w, "%s", i == 0 ? "" : ", ");
        put_name(w, hs_view_string(view, suspect->modules[i].module), NAME_COLUMNS);
        if (suspect->n_modules != 1)
            put(w, " (%lu)", (unsigned long)suspect->modules[i].n_roots);
        n += suspect->modules[i].n_roots;
    }
    put(w, "%s", n + suspect->n_on_stacks < suspect->n_roots ? ", ..." : "");
    if (suspect->n_on_stacks != 0)
        put(w, " and %lu slots of stacks", (unsigned long)suspect->n_on_stacks);
}

/* "static variables of fast-import.c in git" */
static void put_files(struct writer *w, const struct hs_view *view,
                      const struct hs_suspect *suspect)
{
    put(w, "static variables of ");
    for (uint32_t i = 0; i < suspect->n_files; i++) {
        put(w, "%s", i == 0 ? "" : i + 1 == suspect->n_files ? " and " : ", ");
        put_name(w, hs_file_short(hs_view_string(view, suspect->files[i])), NAME_COLUMNS);
    }
    for (uint32_t i = 0; i < suspect->n_modules; i++) {
        put(w, "%s", i == 0 ? " in " : ", ");
        put_name(w, hs_view_string(view, suspect->modules[i].module), NAME_COLUMNS);
    }
    if (suspect->n_on_stacks != 0)
        put(w, " and %lu slots of stacks", (unsigned long)suspect->n_on_stacks);
}

/* "calls on the stacks of 4 threads, such as app+0x1af90 slot sp+8" */
static void put_stacks(struct writer *w, const struct hs_view *view,
                       const struct hs_suspect *suspect)
{
    const struct hs_root *root = hs_snap_root(view->snap, suspect->outermost);

    if (suspect->n_threads == 1)
        put(w, "calls of thread %u", root->thread);
    else
        put(w, "calls of %lu threads", (unsigned long)suspect->n_threads);
    put(w, ", such as ");
    put_name(w, hs_view_string(view, root->name), NAME_COLUMNS);
}

/* Puts who has more roots than a reader can look at one by one. */
static void put_many(struct writer *w, const struct hs_view *view, const struct hs_suspect *suspect)
{
    hs_node holders[HS_SUSPECT_SHOWN_ROOTS];

    if (suspect->n_threads != 0)
        put_stacks(w, view, suspect);
    else if (suspect->n_files != 0)
        put_files(w, view, suspect);
    else if (suspect->n_modules != 0)
        put_modules(w, view, suspect);
    else
        put_some(w, view, holders, take_holders(view, suspect, holders), suspect->n_roots);
    put(w, " (set:%u, %lu roots)", suspect->set, (unsigned long)suspect->n_roots);
}

/* "Lwt_react.E.keeped (lwt_react.ml:110), to which 8 more roots lead (set:1)," */
static void put_inner(struct writer *w, const struct hs_view *view,
                      const struct hs_suspect *suspect)
{
    uint64_t n = suspect->n_roots - 1;

    put_root(w, view, suspect->inner);
    put(w, ", to which %lu more %s (set:%u),", (unsigned long)n,
        n == 1 ? "root leads" : "roots lead", suspect->set);
}

hs_status hs_suspect_who(const struct hs_view *view, const struct hs_suspect *suspect, char *text,
                         struct hs_error *err)
{
    struct writer w = {.text = text, .n_bytes = HS_SUSPECT_WHO_BYTES, .err = err};
    hs_node holders[HS_SUSPECT_SHOWN_ROOTS];
    text[0] = '\0';
    if (suspect->fold_name != NULL) {
        put(&w, "%lu x ", (unsigned long)suspect->n_roots);
        put_name(&w, suspect->fold_name, NAME_COLUMNS);
        return w.status;
    }
    if (suspect->list == HS_SUSPECT_OWNER) {
        uint64_t n_waiting = hs_suspect_n_waiting(view, suspect);
        if (n_waiting > 1)
            put(&w, "%lu x ", (unsigned long)n_waiting);
        put_root(&w, view, suspect->roots[0]);
        return w.status;
    }
    if (suspect->inner != HS_NO_NODE && !hs_suspect_is_one_holder(view, suspect)) {
        put_inner(&w, view, suspect);
        return w.status;
    }
    unsigned n_holders = take_holders(view, suspect, holders);
    uint64_t n_roots = suspect->n_roots - (suspect->n_shown - n_holders);
    if (n_roots == 1 && n_holders == 1) {
        put_root(&w, view, holders[0]);
        return w.status;
    }
    if (suspect->n_roots > HS_SUSPECT_FEW_ROOTS) {
        put_many(&w, view, suspect);
        return w.status;
    }
    put(&w, "%lu roots together (set:%u%s", (unsigned long)n_roots, suspect->set,
        n_holders != 0 ? ": " : "");
    put_some(&w, view, holders, n_holders, n_roots);
    uint32_t thread = common_thread(view, suspect);
    if (thread != 0)
        put(&w, "; of thread %u", thread);
    put(&w, ")");
    return w.status;
}
