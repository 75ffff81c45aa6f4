#include "id_table.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/bisect.h"

enum { IDS_PER_GUESS = 16 };

hs_status hs_id_put(struct maker *maker, struct id_table *table, uint64_t id, uint64_t at,
                    const char *what, struct hs_error *err)
{
    if (table->n == table->capacity)
        HS_TRY(maker_grow(maker, (void **)&table->places, &table->capacity, table->n + 1,
                          sizeof *table->places, what, err));
    table->places[table->n++] = (struct id_place){id, at};
    return HS_OK;
}

void hs_id_fini(struct maker *maker, struct id_table *table)
{
    maker_pages_free(maker, table->first, table->n_first, sizeof *table->first);
    hs_free(table->places);
    *table = (struct id_table){0};
}

static bool is_before(const struct id_place *a, const struct id_place *b)
{
    return a->id != b->id ? a->id < b->id : a->at < b->at;
}

static void place_swap(struct id_place *a, struct id_place *b)
{
    struct id_place t = *a;
    *a = *b;
    *b = t;
}

static void sift_down(struct id_place *heap, size_t at, size_t n)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            return;
        if (child + 1 < n && is_before(&heap[child], &heap[child + 1]))
            child++;
        if (!is_before(&heap[at], &heap[child]))
            return;
        place_swap(&heap[at], &heap[child]);
        at = child;
    }
}

/* Sorts in place and in O(n log n) whatever the file holds; dumps are mostly in order, which is
 * seen first. */
static void places_sort(struct id_place *places, size_t n)
{
    size_t i = 1;
    while (i < n && is_before(&places[i - 1], &places[i]))
        i++;
    if (i >= n)
        return;
    for (size_t at = n / 2; at-- > 0;)
        sift_down(places, at, n);
    for (size_t end = n; end-- > 1;) {
        place_swap(&places[0], &places[end]);
        sift_down(places, 0, end);
    }
}

static void doubles_drop(struct id_table *table)
{
    size_t kept = 0;
    for (size_t i = 0; i < table->n; i++)
        if (kept == 0 || table->places[kept - 1].id != table->places[i].id)
            table->places[kept++] = table->places[i];
    table->n_double = table->n - kept;
    table->n = kept;
}

static hs_status guesses_make(struct maker *maker, struct id_table *table, struct hs_error *err)
{
    void *pages;
    uint64_t low = table->places[0].id;
    uint64_t span = table->places[table->n - 1].id - low;
    uint64_t wanted = table->n / IDS_PER_GUESS + 1;
    while (span >> table->shift > wanted)
        table->shift++;
    uint64_t n = (span >> table->shift) + 2;
    HS_TRY(maker_pages(maker, n, sizeof *table->first, "look-ups of objects", &pages, err));
    table->first = pages;
    table->n_first = n;
    uint64_t run = 0;
    for (size_t i = 0; i < table->n; i++)
        for (uint64_t of = (table->places[i].id - low) >> table->shift; run <= of; run++)
            table->first[run] = i;
    while (run < n)
        table->first[run++] = table->n;
    return HS_OK;
}

hs_status hs_id_sort(struct maker *maker, struct id_table *table, struct hs_error *err)
{
    if (table->n == 0)
        return HS_OK;
    places_sort(table->places, table->n);
    doubles_drop(table);
    return guesses_make(maker, table, err);
}

uint64_t hs_id_find(const struct id_table *table, uint64_t id)
{
    if (table->n == 0 || id < table->places[0].id || id > table->places[table->n - 1].id)
        return UINT64_MAX;
    uint64_t run = (id - table->places[0].id) >> table->shift;
    assert(run + 1 < table->n_first);
    uint64_t low =
        HS_FIRST_NOT(at, table->first[run], table->first[run + 1], table->places[at].id < id);
    return low < table->n && table->places[low].id == id ? low : UINT64_MAX;
}
