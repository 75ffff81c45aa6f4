#include "visits.h"

#include <string.h>

#include "base/alloc.h"

enum { LITTLE_ONE_IN = 2, LITTLE_OF_MAIN_ONE_IN = 8 };

hs_status hs_visits_open(struct hs_visits *visits, struct hs_scan *scan, struct hs_firm *walk,
                         struct hs_error *err)
{
    uint64_t n_blocks = scan->native->dump->heaps.map.n_blocks;

    *visits = (struct hs_visits){.scan = scan, .walk = walk};
    HS_TRY(hs_bitmap_init(&scan->visits, n_blocks, err));
    HS_TRY(hs_bitmap_init(&visits->lasting, n_blocks, err));
    HS_TRY(hs_bitmap_init(&visits->marks, n_blocks, err));
    HS_TRY(hs_firm_open_beyond(&visits->beyond, walk, &visits->marks, err));
    walk->news = visits->beyond.news = &visits->news;
    return HS_OK;
}

void hs_visits_close(struct hs_visits *visits)
{
    if (visits->scan == NULL)
        return;
    hs_firm_close_beyond(&visits->beyond, visits->walk);
    visits->walk->news = NULL;
    hs_bitmap_fini(&visits->lasting);
    hs_bitmap_fini(&visits->marks);
    hs_free(visits->news.ranks);
    *visits = (struct hs_visits){0};
}

static hs_status add_strangers(struct hs_visits *visits, struct hs_error *err)
{
    const struct hs_roots *roots = &visits->scan->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++)
        if (roots->leaves[i].is_strangers && roots->leaves[i].root.tier == HS_TIER_FIRM)
            HS_TRY(hs_firm_add(&visits->beyond, &roots->leaves[i], err));
    return hs_firm_drain(&visits->beyond, err);
}

hs_status hs_visits_begin(struct hs_visits *visits, struct hs_error *err)
{
    visits->news.is_more = true; /* of this nobody asks which blocks it is */
    HS_TRY(hs_firm_drain(&visits->beyond, err));
    memcpy(visits->lasting.words, visits->marks.words,
           (visits->marks.n_bits + 63) / 64 * sizeof *visits->marks.words);
    uint64_t n_bytes = visits->news.n_bytes;
    HS_TRY(add_strangers(visits, err));
    visits->lasting_bytes = visits->news.n_bytes =
        n_bytes; /* strangers' memory is no measure of the program's */
    return HS_OK;
}

bool hs_visits_is_met(const struct hs_visits *visits, uint64_t rank)
{
    return hs_bitmap_get(visits->walk->marks, rank) || hs_bitmap_get(&visits->lasting, rank);
}

void hs_visits_call_begin(struct hs_visits *visits)
{
    visits->news.n = 0;
    visits->news.is_more = false;
    visits->before = visits->news.n_bytes;
}

hs_status hs_visits_call_end(struct hs_visits *visits, bool is_main, bool *ret,
                             struct hs_error *err)
{
    HS_TRY(hs_firm_drain(&visits->beyond, err));
    uint64_t own = visits->news.n_bytes - visits->before;

    *ret = !visits->news.is_more &&
           own < visits->lasting_bytes / (is_main ? LITTLE_OF_MAIN_ONE_IN : LITTLE_ONE_IN);
    if (is_main)
        visits->lasting_bytes += own;
    for (size_t i = 0; *ret && i < visits->news.n; i++)
        hs_bitmap_set(&visits->scan->visits, visits->news.ranks[i]);
    return HS_OK;
}
