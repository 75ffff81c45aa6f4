/* The names of roots. */
#include "analysis/root_name.h"

#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"
#include "analysis/field_path.h"
#include "analysis/rows.h"
#include "base/append.h"

enum { NAMES = 8, LOOKED_AT = 64 };

/* A place in a section says nothing without the binary that has it. */
static bool is_in_section(const struct hs_view *view, const struct hs_root *root)
{
    return root->module != 0 && root->kind == HS_ROOT_GLOBAL &&
           hs_view_string(view, root->name)[0] == '.';
}

/* Tells whether a name begins with a symbol, or ends with it: "server.list", "sync.Pool main.free".
 */
static bool is_said(const char *name, const char *symbol)
{
    size_t n = strlen(name), n_symbol = strlen(symbol);

    return strncmp(name, symbol, n_symbol) == 0 || (n > n_symbol && name[n - n_symbol - 1] == ' ' &&
                                                    strcmp(name + n - n_symbol, symbol) == 0);
}

void hs_root_place(const struct hs_view *view, const struct hs_root *root, char *text, size_t n)
{
    const char *file = hs_view_string(view, root->file);
    const char *symbol = hs_view_string(view, root->symbol);
    const char *module = hs_view_string(view, root->module);
    bool says_symbol = is_said(hs_view_string(view, root->name), symbol);
    if (symbol[0] == '.' && module[0] != 0 && root->function != 0)
        (void)snprintf(text, n, "%s, used by %s", module, hs_view_string(view, root->function));
    else if (symbol[0] == '.' && module[0] != 0 && file[0] != 0) /* by texts of who uses it */
        (void)snprintf(text, n, "%s, of %s", module, hs_file_short(file));
    else if (file[0] != 0 && root->line != 0)
        (void)snprintf(text, n, "%s:%u", file, root->line);
    else if (file[0] != 0)
        (void)snprintf(text, n, "%s", file);
    else if (symbol[0] == '.' && module[0] != 0) /* where in a section says the name */
        (void)snprintf(text, n, "%s", module);
    else if (says_symbol && module[0] != 0) /* many libraries have one of a name */
        (void)snprintf(text, n, "%s", module);
    else if (symbol[0] != 0 && root->offset != 0)
        (void)snprintf(text, n, "%s+%lu", symbol, (unsigned long)root->offset);
    else if (symbol[0] != 0 && !says_symbol)
        (void)snprintf(text, n, "%s", symbol);
    else if (root->thread != 0)
        (void)snprintf(text, n, "thread %u", root->thread);
    else
        (void)snprintf(text, n, "%s", module);
}

/* A register is called so already. */
static const char *how_of_thread(const struct hs_root *root)
{
    return root->kind == HS_ROOT_TLS                                    ? "thread-local, "
           : root->kind == HS_ROOT_STACK || root->kind == HS_ROOT_LOCAL ? "on the stack, "
                                                                        : "";
}

void hs_root_where(const struct hs_view *view, const struct hs_root *root, char *text)
{
    char place[HS_ROOT_WHERE_BYTES - 64];
    const char *function = hs_view_string(view, root->function);
    bool says_function = strstr(hs_view_string(view, root->name), function) != NULL;
    hs_root_place(view, root, place, sizeof place);
    text[0] = '\0';
    if (root->thread == 0)
        hs_append(text, HS_ROOT_WHERE_BYTES, "%s", hs_file_short(place));
    else if (root->file != 0)
        hs_append(text, HS_ROOT_WHERE_BYTES, "%s, thread %u", hs_file_short(place), root->thread);
    else
        hs_append(text, HS_ROOT_WHERE_BYTES, "%s%.200s%sthread %u", how_of_thread(root),
                  says_function ? "" : function, says_function ? "" : ", ", root->thread);
}

void hs_root_tail(const struct hs_view *view, const struct hs_root *root, char *text)
{
    text[0] = '\0';
    if (!is_in_section(view, root))
        return;
    if (root->function == 0 && root->file != 0)
        hs_append(text, HS_ROOT_WHERE_BYTES, " of %.200s in %.200s",
                  hs_file_short(hs_view_string(view, root->file)),
                  hs_view_string(view, root->module));
    else
        hs_append(text, HS_ROOT_WHERE_BYTES, root->function != 0 ? " used by %.400s" : " of %.400s",
                  hs_view_string(view, root->function != 0 ? root->function : root->module));
}

/* ---- of a set */

static unsigned rank_of(const struct hs_view *view, hs_node root)
{
    return 2 * hs_root_firmest_tier(view, root) + !hs_root_is_named(view, root);
}

size_t hs_set_first_roots(const struct hs_view *view, uint32_t set, hs_node *roots, size_t most)
{
    size_t n = 0;
    for (unsigned rank = 0; rank < 2 * HS_N_TIERS && n < most; rank++) {
        struct hs_row row = hs_index_set_roots(view->index, set);
        for (hs_node node; n < most && hs_row_next(&row, &node);)
            if (rank_of(view, node) == rank)
                roots[n++] = node;
    }
    return n;
}

static void put_name(const struct hs_view *view, hs_node node, char *text, size_t n)
{
    char tail[HS_ROOT_WHERE_BYTES];
    const struct hs_root *root = hs_snap_root(view->snap, node);
    hs_root_tail(view, root, tail);
    text[0] = '\0';
    hs_append(text, n, "%s%s", hs_view_string(view, root->name), tail);
}

static bool is_told(const hs_str *told, size_t n, hs_str name)
{
    for (size_t i = 0; i < n; i++)
        if (told[i] == name)
            return true;
    return false;
}

void hs_set_roots_text(const struct hs_view *view, uint32_t set, char *text, size_t n_bytes)
{
    hs_node roots[LOOKED_AT];
    hs_str told[NAMES];
    char name[2 * HS_ROOT_WHERE_BYTES];
    uint64_t n_roots = hs_index_set(view->index, set).n_roots;
    size_t n = hs_set_first_roots(view, set, roots, n_roots <= NAMES ? NAMES : LOOKED_AT);
    size_t n_told = 0, used = 0;
    bool is_cut = n_roots > NAMES;
    text[0] = '\0';
    for (size_t i = 0; i < n && n_told < NAMES; i++) {
        hs_str of = hs_snap_root(view->snap, roots[i])->name;
        if (n_roots > NAMES && is_told(told, n_told, of))
            continue;
        put_name(view, roots[i], name, sizeof name);
        if (used + strlen(name) + sizeof ", , ..." > n_bytes) {
            is_cut = true;
            break;
        }
        told[n_told++] = of;
        hs_append_item(text, n_bytes, ", ", name);
        used = strlen(text);
    }
    if (is_cut)
        hs_append(text, n_bytes, "%s", n_told == 0 ? "..." : ", ...");
}

void hs_set_label(const struct hs_view *view, uint32_t set, char *text, size_t n_bytes)
{
    char roots[256];
    uint64_t n = hs_index_set(view->index, set).n_roots;
    hs_set_roots_text(view, set, roots, sizeof roots);
    (void)snprintf(text, n_bytes, "set:%u: %lu roots%s%s", set, (unsigned long)n,
                   roots[0] != 0 ? ": " : "", roots);
}
