#include "process/ranges.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"

void hs_range_set_fini(struct hs_range_set *set)
{
    if (set == NULL)
        return;
    hs_free(set->ranges);
    *set = (struct hs_range_set){0};
}

hs_status hs_range_set_add(struct hs_range_set *set, hs_addr begin, hs_addr end,
                           struct hs_error *err)
{
    if (begin >= end)
        return HS_OK;
    HS_TRY(HS_GROW(&set->ranges, &set->capacity, set->n + 1, err));
    set->ranges[set->n++] = (struct hs_range){begin, end};
    return HS_OK;
}

static int by_begin(const void *a, const void *b)
{
    const struct hs_range *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

void hs_range_set_merge(struct hs_range_set *set)
{
    size_t last = 0;
    if (set->n == 0)
        return;
    qsort(set->ranges, set->n, sizeof *set->ranges, by_begin);
    for (size_t i = 1; i < set->n; i++) {
        if (set->ranges[i].begin > set->ranges[last].end)
            set->ranges[++last] = set->ranges[i];
        else if (set->ranges[i].end > set->ranges[last].end)
            set->ranges[last].end = set->ranges[i].end;
    }
    set->n = last + 1;
}

const struct hs_range *hs_range_set_find(const struct hs_range_set *set, hs_addr address)
{
    size_t low = HS_FIRST_ABOVE(set->ranges, set->n, end, address);
    return low < set->n && set->ranges[low].begin <= address ? &set->ranges[low] : NULL;
}

bool hs_range_set_next_outside(const struct hs_range_set *set, hs_addr begin, hs_addr end,
                               hs_addr *ret_begin, hs_addr *ret_end)
{
    size_t low = HS_FIRST_ABOVE(set->ranges, set->n, end, begin);
    if (low < set->n && set->ranges[low].begin <= begin)
        begin = set->ranges[low++].end;
    if (begin >= end)
        return false;
    *ret_begin = begin;
    *ret_end = low < set->n && set->ranges[low].begin < end ? set->ranges[low].begin : end;
    return true;
}

static int owned_by_begin(const void *a, const void *b)
{
    const struct hs_owned_range *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->of < y->of ? -1 : x->of > y->of;
}

static int owned_by_number(const void *a, const void *b)
{
    const struct hs_owned_range *x = a, *y = b;
    if (x->of != y->of)
        return x->of < y->of ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

size_t hs_owned_ranges_disjoin(struct hs_owned_range *ranges, size_t n)
{
    size_t n_left = 0;
    if (n > 1)
        qsort(ranges, n, sizeof *ranges, owned_by_begin);
    for (size_t i = 0; i < n; i++) {
        struct hs_owned_range range = ranges[i];
        struct hs_owned_range *last = n_left != 0 ? &ranges[n_left - 1] : NULL;
        if (range.begin >= range.end || (last != NULL && last->begin == range.begin))
            continue;
        if (last != NULL && last->end > range.begin)
            last->end = range.begin;
        ranges[n_left++] = range;
    }
    return n_left;
}

void hs_owned_ranges_sort(struct hs_owned_range *ranges, size_t n)
{
    if (n > 1)
        qsort(ranges, n, sizeof *ranges, owned_by_number);
}
