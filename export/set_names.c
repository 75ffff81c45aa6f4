#include "set_names.h"

#include "base/append.h"

enum { NAMES_MAX = 8 };

void set_names_put(const struct hs_view *view, uint32_t set, char *text)
{
    hs_node root;
    uint64_t n = 0;
    text[0] = 0;
    if (set == 0)
        return;
    struct hs_row row = hs_index_set_roots(view->index, set);
    uint64_t n_roots = hs_index_set(view->index, set).n_roots;
    while (n < NAMES_MAX && hs_row_next(&row, &root)) {
        hs_append_item(text, SET_NAMES_BYTES, " + ",
                       hs_view_string(view, hs_snap_root(view->snap, root)->name));
        n++;
    }
    if (n < n_roots)
        hs_append(text, SET_NAMES_BYTES, "%s%lu more", n == 0 ? "" : " + ",
                  (unsigned long)(n_roots - n));
}
