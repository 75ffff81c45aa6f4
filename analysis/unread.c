#include "analysis/unread.h"

#include "base/checked.h"

static uint64_t counted_words(const struct hs_view *view, const struct hs_unread *unread)
{
    uint64_t bytes = unread->sum.unread_bytes, words = bytes / view->facts->word_bytes;
    bool is_little = unread->runtime[0] == '\0' && bytes < HS_UNREAD_LEAST_BYTES;

    return is_little || words <= view->totals->heap_words / 99 ? 0 : words;
}

void hs_unread_find(const struct hs_view *view, struct hs_unread *ret)
{
    const struct hs_snap_facts *facts = view->facts;
    struct hs_unread unread = {.runtime = ""};

    for (size_t i = 0; i < facts->n_memory; i++)
        hs_unread_add(&unread.sum, hs_view_string(view, facts->memory[i].owner),
                      facts->memory[i].resident_bytes);
    for (size_t i = facts->n_runtimes; i-- > 0;)
        if (facts->runtimes[i].certainty == HS_UNREAD)
            unread.runtime = hs_view_string(view, facts->runtimes[i].name);
    unread.percent = hs_unread_percent(&unread.sum);
    unread.is_worth_saying = unread.percent >= (unread.runtime[0] != 0 ? HS_UNREAD_KNOWN_PERCENT
                                                                       : HS_UNREAD_MOST_PERCENT);
    unread.counted_words = counted_words(view, &unread);
    *ret = unread;
}

uint64_t hs_unread_whole(const struct hs_view *view)
{
    struct hs_unread unread;
    uint64_t whole;

    hs_unread_find(view, &unread);
    return hs_add_fits(view->totals->heap_words, unread.counted_words, &whole) ? whole : UINT64_MAX;
}
