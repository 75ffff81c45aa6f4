#include "heap_map_pages.h"

#include <assert.h>

#include "base/alloc.h"

/* The state of filling a page table: `next` is the first span that has not begun yet. */
struct pages_fill {
    struct hs_page_table *table;
    const struct hs_heap_span *spans;
    size_t n_spans, next;
    size_t n_middles, n_leaves; /* in use */
};

/* Counts the regions of 2^bits bytes that hold the begin of a span. */
static size_t pages_count_regions(const struct hs_heap_span *spans, size_t n_spans, unsigned bits)
{
    size_t n = 0;

    for (size_t i = 0; i < n_spans; i++)
        n += i == 0 || spans[i].begin >> bits != spans[i - 1].begin >> bits;
    return n;
}

static bool pages_begins_below(const struct pages_fill *fill, hs_addr end)
{
    return fill->next < fill->n_spans && fill->spans[fill->next].begin < end;
}

static uint32_t pages_answer(const struct pages_fill *fill)
{
    return fill->next == 0 ? HS_PAGE_NO_SPAN : (uint32_t)(fill->next - 1);
}

static uint32_t pages_fill_leaf(struct pages_fill *fill, hs_addr begin)
{
    uint32_t *leaf = fill->table->leaves + fill->n_leaves * HS_PAGE_STEP;

    assert(fill->n_leaves < fill->table->n_leaves);
    for (size_t page = 0; page < HS_PAGE_STEP; page++) {
        hs_addr end = begin + ((page + 1) << HS_PAGE_BITS);
        while (pages_begins_below(fill, end))
            fill->next++;
        leaf[page] = pages_answer(fill);
    }
    return (uint32_t)fill->n_leaves++;
}

static uint32_t pages_fill_middle(struct pages_fill *fill, hs_addr begin)
{
    uint32_t *middle = fill->table->middles + fill->n_middles * HS_PAGE_STEP;

    assert(fill->n_middles < fill->table->n_middles);
    for (size_t i = 0; i < HS_PAGE_STEP; i++) {
        hs_addr leaf_begin = begin + (i << HS_PAGE_LEAF_BITS);
        bool begins = pages_begins_below(fill, leaf_begin + ((hs_addr)1 << HS_PAGE_LEAF_BITS));
        middle[i] =
            begins ? pages_fill_leaf(fill, leaf_begin) : pages_answer(fill) | HS_PAGE_IS_ANSWER;
    }
    return (uint32_t)fill->n_middles++;
}

static void pages_fill_all(struct pages_fill *fill)
{
    for (size_t i = 0; i < HS_PAGE_ROOTS; i++) {
        hs_addr begin = (hs_addr)i << HS_PAGE_MIDDLE_BITS;
        bool begins = pages_begins_below(fill, begin + ((hs_addr)1 << HS_PAGE_MIDDLE_BITS));
        fill->table->root[i] =
            begins ? pages_fill_middle(fill, begin) : pages_answer(fill) | HS_PAGE_IS_ANSWER;
    }
    assert(fill->next == fill->n_spans);
}

static hs_status pages_alloc(struct hs_page_table *table, struct hs_error *err)
{
    HS_TRY(HS_PAGES_ALLOC(&table->middles, table->n_middles * HS_PAGE_STEP, err));
    HS_TRY(HS_PAGES_ALLOC(&table->leaves, table->n_leaves * HS_PAGE_STEP, err));
    return HS_OK;
}

hs_status hs_page_table_new(const struct hs_heap_span *spans, size_t n_spans,
                            struct hs_page_table **ret, struct hs_error *err)
{
    assert(n_spans < HS_PAGE_NO_SPAN);
    struct hs_page_table *table;
    HS_TRY(HS_ALLOC(&table, 1, err));
    table->n_middles = pages_count_regions(spans, n_spans, HS_PAGE_MIDDLE_BITS);
    table->n_leaves = pages_count_regions(spans, n_spans, HS_PAGE_LEAF_BITS);
    hs_status status = pages_alloc(table, err);
    if (status != HS_OK) {
        hs_page_table_free(table);
        return status;
    }
    struct pages_fill fill = {.table = table, .spans = spans, .n_spans = n_spans};
    pages_fill_all(&fill);
    *ret = table;
    return HS_OK;
}

void hs_page_table_free(struct hs_page_table *table)
{
    if (table == NULL)
        return;
    hs_pages_free(table->middles, table->n_middles * HS_PAGE_STEP, sizeof(uint32_t));
    hs_pages_free(table->leaves, table->n_leaves * HS_PAGE_STEP, sizeof(uint32_t));
    hs_free(table);
}
