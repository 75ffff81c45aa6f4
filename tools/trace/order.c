#include "order.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

struct order_entry {
    size_t row;
    double key;
    uint64_t n_samples;
    const char *name; /* NULL unless names are the order */
};

static int in_order(const void *left, const void *right)
{
    const struct order_entry *a = left, *b = right;
    int by_name = a->name == NULL ? 0 : strcmp(a->name, b->name);
    if (by_name != 0)
        return by_name;
    if (a->key > b->key || a->key < b->key)
        return a->key > b->key ? -1 : 1;
    if (a->n_samples != b->n_samples)
        return a->n_samples > b->n_samples ? -1 : 1;
    return a->row < b->row ? -1 : 1;
}

static double key_of(const struct hs_trace_row *row, enum hs_trace_sort sort)
{
    double n_samples = (double)row->all.n_samples;
    switch (sort) {
    case HS_TRACE_BY_ALLOCATIONS:
        return row->all.allocations;
    case HS_TRACE_BY_LIVE:
        return (double)row->live.n_samples;
    case HS_TRACE_BY_LEAKED:
        return (double)row->live.n_samples / (n_samples > 0 ? n_samples : 1);
    case HS_TRACE_BY_LIFETIME:
        return (double)row->median_us;
    case HS_TRACE_BY_NAME:
        return 0;
    case HS_TRACE_BY_WORDS:
    default:
        return n_samples;
    }
}

hs_status hs_trace_order_name(const struct hs_trace_look *look, const struct hs_trace_rows *rows,
                              const struct hs_trace_row *row, struct hs_buffer *name,
                              struct hs_error *err)
{
    name->n_bytes = 0;
    HS_TRY(hs_trace_rows_print(rows, &look->places, row, look->info->word_bytes, name, err));
    HS_TRY(hs_buffer_reserve(name, 1, err));
    hs_buffer_put_u8(name, 0);
    return HS_OK;
}

/* Names all entries at once: pointers into a table stay only while it does not grow. */
static hs_status name_entries(const struct hs_trace_look *look, const struct hs_trace_rows *rows,
                              struct order_entry *entries, size_t n, struct hs_strtab *names,
                              struct hs_error *err)
{
    hs_auto_free hs_str *ids = NULL;
    struct hs_buffer name = {0};
    HS_TRY(HS_ALLOC(&ids, n, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < n && status == HS_OK; i++) {
        status = hs_trace_order_name(look, rows, &rows->rows[entries[i].row], &name, err);
        if (status == HS_OK)
            status = hs_strtab_add(names, (const char *)name.bytes, &ids[i], err);
    }
    for (size_t i = 0; i < n && status == HS_OK; i++)
        entries[i].name = hs_strtab_get(names, ids[i]);
    hs_buffer_fini(&name);
    return status;
}

static hs_status sort_rows(struct hs_trace_order *ret, const struct hs_trace_look *look,
                           const struct hs_trace_rows *rows, enum hs_trace_sort sort,
                           const bool *keeps, struct hs_error *err)
{
    hs_auto_free struct order_entry *entries = NULL;
    struct hs_strtab names = {0};
    size_t n = 0;
    HS_TRY(HS_ALLOC(&entries, rows->n, err));
    for (size_t i = 0; i < rows->n; i++)
        if (keeps[i])
            entries[n++] = (struct order_entry){i, key_of(&rows->rows[i], sort),
                                                rows->rows[i].all.n_samples, NULL};
    hs_status status =
        sort == HS_TRACE_BY_NAME ? name_entries(look, rows, entries, n, &names, err) : HS_OK;
    if (status == HS_OK)
        qsort(entries, n, sizeof *entries, in_order);
    hs_strtab_fini(&names);
    for (size_t i = 0; i < n; i++)
        ret->rows[i] = entries[i].row;
    ret->n = n;
    return status;
}

hs_status hs_trace_order_init(struct hs_trace_order *ret, const struct hs_trace_look *look,
                              const struct hs_trace_rows *rows, const struct hs_invocation *inv,
                              struct hs_error *err)
{
    hs_auto_free bool *keeps = NULL;
    uint64_t most = hs_tool_rows(inv);
    HS_TRY(HS_ALLOC(&keeps, rows->n, err));
    HS_TRY(hs_trace_look_keep_rows(look, rows, keeps, err));
    HS_TRY(HS_ALLOC(&ret->rows, rows->n, err));
    HS_TRY(
        sort_rows(ret, look, rows, (enum hs_trace_sort)inv->number[HS_OPT_TRACE_SORT], keeps, err));
    if (ret->n > most)
        ret->n = (size_t)most;
    return HS_OK;
}

void hs_trace_order_fini(struct hs_trace_order *order)
{
    hs_free(order->rows);
    *order = (struct hs_trace_order){0};
}

static void subtract(struct hs_trace_sum *sum, const struct hs_trace_sum *other)
{
    sum->n_objects -= other->n_objects;
    sum->n_samples -= other->n_samples;
    sum->allocations -= other->allocations;
    sum->allocations_sq -= other->allocations_sq;
    if (sum->n_objects == 0 || sum->allocations < 0 || sum->allocations_sq < 0)
        sum->allocations = sum->allocations_sq = 0;
}

/* Sums what is left out. Rows of functions overlap, so what is left of all is no sum of rows:
 * nothing is said then. */
void hs_trace_order_others(const struct hs_trace_order *order, const struct hs_trace_rows *rows,
                           struct hs_trace_row *ret)
{
    *ret = (struct hs_trace_row){0};
    if (rows->by == HS_ROWS_BY_FUNCTION)
        return;
    *ret = rows->total;
    for (size_t i = 0; i < order->n; i++) {
        subtract(&ret->all, &rows->rows[order->rows[i]].all);
        subtract(&ret->live, &rows->rows[order->rows[i]].live);
    }
}
