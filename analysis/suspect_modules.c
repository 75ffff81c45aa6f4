/* The memory that many roots keep together: the binaries that have most of these, or on how many
 * stacks they are. A reader who is told three names of a thousand knows no more than before. */
#include "analysis/attribution.h"
#include "base/table.h"
#include "suspect_finds.h"

#include <string.h>

/* Puts one among the most, in their order, where it has more than the last. */
static void insert(struct hs_suspect *suspect, hs_str module, uint64_t n_roots)
{
    uint32_t at = suspect->n_modules;

    if (at < HS_SUSPECT_MODULES)
        suspect->n_modules++;
    else if (n_roots <= suspect->modules[--at].n_roots)
        return;
    for (; at > 0 && suspect->modules[at - 1].n_roots < n_roots; at--)
        suspect->modules[at] = suspect->modules[at - 1];
    suspect->modules[at] = (struct hs_suspect_module){module, n_roots};
}

/* Tells whether a root lies on a stack: a variable in one of libc's frames is no variable of
 * libc's. */
static bool is_on_stack(const struct hs_root *root)
{
    return root->kind == HS_ROOT_STACK || root->kind == HS_ROOT_LOCAL ||
           root->kind == HS_ROOT_REGISTER;
}

/* Tells whether a root tells more than another: one in a frame of the program itself rather than of
 * a library, else one further out, since a library waits for what the program has. */
static bool is_further_out(const struct hs_view *view, const struct hs_root *root,
                           const struct hs_root *other)
{
    bool is_own = strstr(hs_view_string(view, root->module), ".so") == NULL;
    bool is_own_other = strstr(hs_view_string(view, other->module), ".so") == NULL;

    return is_own != is_own_other ? is_own : root->frame > other->frame;
}

static hs_status count_on_stack(const struct hs_view *view, struct hs_suspect *suspect,
                                hs_node node, struct hs_dict *threads, struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);

    if (suspect->n_on_stacks++ == 0 ||
        is_further_out(view, root, hs_snap_root(view->snap, suspect->outermost)))
        suspect->outermost = node;
    return hs_dict_put(threads, root->thread, 1, err);
}

/* Counts binaries, of roots that are not on stacks; threads of those that are. */
static hs_status count(const struct hs_view *view, struct hs_suspect *suspect,
                       struct hs_dict *modules, struct hs_dict *threads, uint64_t *ret_n_named,
                       struct hs_error *err)
{
    struct hs_row row = hs_index_set_roots(view->index, suspect->set);

    for (hs_node node; hs_row_next(&row, &node);) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (is_on_stack(root))
            HS_TRY(count_on_stack(view, suspect, node, threads, err));
        else
            HS_TRY(
                hs_dict_put(modules, root->module, hs_dict_get(modules, root->module, 0) + 1, err));
        *ret_n_named += hs_root_is_named(view, node);
    }
    return hs_row_check(&row, err);
}

hs_status hs_suspect_take_modules(const struct hs_view *view, struct hs_suspect *suspect,
                                  struct hs_error *err)
{
    enum { ONE_NAMED_OF = 4 }; /* then names tell who it is */
    struct hs_dict modules = {0}, threads = {0};
    uint64_t n_named = 0;

    if (suspect->n_roots <= HS_SUSPECT_FEW_ROOTS)
        return HS_OK;
    hs_status status = count(view, suspect, &modules, &threads, &n_named, err);
    bool is_told = status == HS_OK && n_named < suspect->n_roots / ONE_NAMED_OF;
    if (is_told && suspect->n_on_stacks == suspect->n_roots &&
        hs_dict_find(&threads, 0) == NULL) /* of no known thread */
        suspect->n_threads = threads.n;
    else if (modules.n + (suspect->n_on_stacks != 0) <= 1)
        is_told = false; /* all are of one binary: their names tell more */
    for (size_t i = 0; is_told && i < modules.n; i++)
        if (modules.entries[i].key != 0)
            insert(suspect, (hs_str)modules.entries[i].key, modules.entries[i].value);
    hs_dict_fini(&modules);
    hs_dict_fini(&threads);
    return status;
}
