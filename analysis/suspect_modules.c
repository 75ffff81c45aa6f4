/* The memory that many roots keep together: the block that most of it hangs on, the sources and the
 * binaries that have most of these roots, or on how many stacks they are. A reader who is told
 * three names of a thousand knows no more than before. */
#include "analysis/attribution.h"
#include "analysis/set_tops.h"
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

struct members {
    struct hs_dict modules; /* owned: of roots that are not on stacks, how many each has */
    struct hs_dict files;   /* owned: likewise, of those that have one */
    struct hs_dict threads; /* owned: of those that are */
    uint64_t n_named, n_with_file;
};

static hs_status count(const struct hs_view *view, struct hs_suspect *suspect,
                       struct members *members, struct hs_error *err)
{
    struct hs_row row = hs_index_set_roots(view->index, suspect->set);

    for (hs_node node; hs_row_next(&row, &node);) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        members->n_named += hs_root_is_named(view, node);
        if (is_on_stack(root)) {
            HS_TRY(count_on_stack(view, suspect, node, &members->threads, err));
            continue;
        }
        HS_TRY(hs_dict_put(&members->modules, root->module,
                           hs_dict_get(&members->modules, root->module, 0) + 1, err));
        members->n_with_file += root->file != 0;
        if (root->file != 0 && members->files.n <= HS_SUSPECT_FILES)
            HS_TRY(hs_dict_put(&members->files, root->file, 1, err));
    }
    return hs_row_check(&row, err);
}

/* Takes the files where all variables are of a few. */
static void take_files(struct hs_suspect *suspect, const struct members *members)
{
    if (members->n_with_file != suspect->n_roots - suspect->n_on_stacks ||
        members->files.n > HS_SUSPECT_FILES)
        return;
    for (size_t i = 0; i < members->files.n; i++)
        suspect->files[suspect->n_files++] = (hs_str)members->files.entries[i].key;
}

static void take_members(struct hs_suspect *suspect, const struct members *members)
{
    enum { ONE_NAMED_OF = 4 }; /* then names tell who it is */

    if (members->n_named >= suspect->n_roots / ONE_NAMED_OF)
        return;
    if (suspect->n_on_stacks == suspect->n_roots && members->threads.n != 0 &&
        hs_dict_find(&members->threads, 0) == NULL) /* of no known thread */
        suspect->n_threads = members->threads.n;
    for (size_t i = 0; i < members->modules.n; i++)
        if (members->modules.entries[i].key != 0)
            insert(suspect, (hs_str)members->modules.entries[i].key,
                   members->modules.entries[i].value);
    take_files(suspect, members);
}

hs_status hs_suspect_take_modules(const struct hs_view *view, struct hs_suspect *suspect,
                                  struct hs_error *err)
{
    struct members members = {.n_named = 0};

    if (suspect->n_roots <= HS_SUSPECT_FEW_ROOTS)
        return HS_OK;
    hs_status status = count(view, suspect, &members, err);
    if (status == HS_OK)
        take_members(suspect, &members);
    hs_dict_fini(&members.modules);
    hs_dict_fini(&members.files);
    hs_dict_fini(&members.threads);
    return status;
}

/* Tells whether a slot of a variable leads to the block itself. */
static bool leads_to(const struct hs_view *view, hs_node variable, hs_node block)
{
    for (hs_node node = variable; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (node != variable && root->parent != variable)
            return false;
        if (root->level == HS_LEVEL_LEAF && root->target == block)
            return true;
    }
    return false;
}

/* Finds the only variable that has the block as its own value, where all others lead there: a field
 * of a module of OCaml, to which copies of that module and functions that use it lead. */
static hs_status find_inner(struct hs_view *view, struct hs_suspect *suspect, hs_node block,
                            struct hs_error *err)
{
    struct hs_row row = hs_index_set_roots(view->index, suspect->set);
    hs_node inner = HS_NO_NODE;
    unsigned n = 0;

    for (hs_node node; hs_row_next(&row, &node);)
        if (leads_to(view, node, block)) {
            inner = node;
            n++;
        }
    HS_TRY(hs_row_check(&row, err));
    if (n == 1 && hs_snap_root(view->snap, inner)->kind == HS_ROOT_GLOBAL)
        suspect->inner = inner;
    return HS_OK;
}

hs_status hs_suspect_take_entry(struct hs_view *view, struct hs_suspect *suspect,
                                struct hs_error *err)
{
    struct hs_set_tops tops = hs_set_tops_of(view, suspect->set);
    enum { MOST_PERCENT = 90 };
    bool is_of_ocaml = hs_view_has_runtime(view, "ocaml");
    hs_node entry = HS_NO_NODE;
    uint64_t entry_words = 0;

    if (suspect->n_roots <= HS_SUSPECT_FEW_ROOTS && !is_of_ocaml)
        return HS_OK;
    for (hs_node top; hs_set_tops_next(&tops, &top);) {
        uint64_t words = hs_index_retained(view->index, top).words;
        if (words < suspect->words - words || words <= entry_words)
            continue;
        entry = top;
        entry_words = words;
    }
    if (entry != HS_NO_NODE && is_of_ocaml && entry_words >= suspect->words / 100 * MOST_PERCENT)
        HS_TRY(find_inner(view, suspect, entry, err));
    if (entry == HS_NO_NODE || suspect->n_roots <= HS_SUSPECT_FEW_ROOTS ||
        suspect->inner != HS_NO_NODE)
        return HS_OK;
    suspect->entry = entry;
    suspect->entry_words = entry_words;
    suspect->n_entry_referrers = hs_index_predecessors(view->index, entry).n;
    return HS_OK;
}
