#include "set_places.h"

#include <stdlib.h>

#include "analysis/field_path.h"
#include "analysis/root_name.h"
#include "base/table.h"

/* A key of a place: the number of a thread, or the names of a binary and a source. */
#define OF_THREAD (UINT64_C(1) << 63)
#define OF_MODULE 32

static uint64_t place_of(const struct hs_root *root, bool with_files)
{
    bool is_of_call = root->kind == HS_ROOT_STACK || root->kind == HS_ROOT_LOCAL ||
                      root->kind == HS_ROOT_REGISTER;

    if (is_of_call || (root->kind == HS_ROOT_TLS && root->thread != 0))
        return OF_THREAD | root->thread;
    return ((uint64_t)root->module << OF_MODULE & ~OF_THREAD) | (with_files ? root->file : 0);
}

static hs_status count_places(const struct hs_view *view, uint32_t set, bool with_files,
                              struct hs_dict *places, struct hs_error *err)
{
    struct hs_row row = hs_index_set_roots(view->index, set);

    for (hs_node node; hs_row_next(&row, &node);) {
        uint64_t place = place_of(hs_snap_root(view->snap, node), with_files);
        HS_TRY(hs_dict_put(places, place, hs_dict_get(places, place, 0) + 1, err));
    }
    return hs_row_check(&row, err);
}

static int by_roots(const void *left, const void *right)
{
    const struct hs_dict_entry *a = left, *b = right;

    if (a->value != b->value)
        return a->value < b->value ? 1 : -1;
    return (a->key > b->key) - (a->key < b->key);
}

static hs_status print_place(struct hs_tool *tool, const struct hs_view *view, uint64_t place,
                             struct hs_error *err)
{
    hs_str module = (hs_str)(place >> OF_MODULE), file = (hs_str)place;

    if ((place & OF_THREAD) != 0 && (uint32_t)place == 0)
        return hs_print(&tool->out, err, "calls");
    if ((place & OF_THREAD) != 0)
        return hs_print(&tool->out, err, "calls of thread %u", (uint32_t)place);
    HS_TRY(hs_print(&tool->out, err, "variables of "));
    if (file != 0) {
        HS_TRY(hs_tool_print_clean(tool, hs_file_short(hs_view_string(view, file)), err));
        HS_TRY(hs_print(&tool->out, err, " in "));
    }
    return hs_tool_print_clean(tool, module == 0 ? "no binary" : hs_view_string(view, module), err);
}

static hs_status print_places(struct hs_tool *tool, const struct hs_view *view,
                              struct hs_dict *places, struct hs_error *err)
{
    uint64_t n_others = 0;

    if (places->n > 1)
        qsort(places->entries, places->n, sizeof *places->entries, by_roots);
    for (size_t i = 0; i < places->n; i++) {
        if (i >= HS_SET_PLACES) {
            n_others += places->entries[i].value;
            continue;
        }
        HS_TRY(hs_print(&tool->out, err, "%s", i == 0 ? "" : ", "));
        HS_TRY(print_place(tool, view, places->entries[i].key, err));
        HS_TRY(hs_print(&tool->out, err, " (%lu)", (unsigned long)places->entries[i].value));
    }
    if (n_others != 0)
        HS_TRY(hs_print(&tool->out, err, ", and %lu roots elsewhere", (unsigned long)n_others));
    return HS_OK;
}

static hs_status print_roots(struct hs_tool *tool, const struct hs_view *view, uint32_t set,
                             struct hs_error *err)
{
    struct hs_row row = hs_index_set_roots(view->index, set);
    char tail[HS_ROOT_WHERE_BYTES];
    size_t n = 0;

    for (hs_node node; hs_row_next(&row, &node);) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        hs_root_tail(view, root, tail);
        HS_TRY(hs_print(&tool->out, err, "%s", n++ == 0 ? "" : ", "));
        HS_TRY(hs_tool_print_clean(tool, hs_view_string(view, root->name), err));
        HS_TRY(hs_tool_print_clean(tool, tail, err));
    }
    return hs_row_check(&row, err);
}

hs_status hs_set_places_print(struct hs_tool *tool, struct hs_view *view, uint32_t set,
                              struct hs_error *err)
{
    struct hs_dict places = {0}, coarse = {0};
    uint64_t n_roots = hs_index_set_roots(view->index, set).n;

    if (n_roots == 0)
        return HS_OK;
    HS_TRY(hs_print(&tool->out, err, "it would take letting go of: "));
    hs_status status = HS_OK;
    if (n_roots <= HS_SET_PLACES) {
        status = print_roots(tool, view, set, err);
    } else {
        status = count_places(view, set, /* with_files= */ true, &places, err);
        bool is_few = places.n <= HS_SET_PLACES;
        if (status == HS_OK && !is_few)
            status = count_places(view, set, /* with_files= */ false, &coarse, err);
        if (status == HS_OK)
            status = print_places(tool, view, is_few ? &places : &coarse, err);
    }
    hs_dict_fini(&places);
    hs_dict_fini(&coarse);
    return status == HS_OK ? hs_print(&tool->out, err, "\n") : status;
}
