/* The memory that the bytes of a copy stand in, and which of its pages were present in the target.
 *
 * A bit per page, in memory that is only backed where a page was there; and a bit per page of these
 * bits, so that terabytes of reserved memory are passed over without touching them. */
#include "image_shadow.h"

#include "base/alloc.h"

#define SHADOW_PAGE ((uint64_t)4096)
#define SHADOW_PAGE_SHIFT 12
/* Bits that are one group: a page of them, which stands for 128 MiB. */
#define SHADOW_GROUP_SHIFT 15
#define SHADOW_SMALL_WORDS ((size_t)256)

/* Words of a shadow's bits of present pages. */
static size_t shadow_present_words(const struct hs_image_shadow *shadow)
{
    return (size_t)((shadow->end - shadow->begin) >> SHADOW_PAGE_SHIFT) / 64 + 1;
}

static size_t shadow_group_words(const struct hs_image_shadow *shadow)
{
    uint64_t n_pages = (shadow->end - shadow->begin) >> SHADOW_PAGE_SHIFT;

    return (size_t)(n_pages >> SHADOW_GROUP_SHIFT) / 64 + 1;
}

/* The bits of groups stand behind those of pages. */
static size_t shadow_words(const struct hs_image_shadow *shadow)
{
    return shadow_present_words(shadow) + shadow_group_words(shadow);
}

/* A program may have tens of thousands of mappings of a page each. */
static bool shadow_is_small(const struct hs_image_shadow *shadow)
{
    return shadow_words(shadow) <= SHADOW_SMALL_WORDS;
}

static hs_status shadow_alloc_bits(struct hs_image_shadow *shadow, struct hs_error *err)
{
    if (shadow_is_small(shadow))
        HS_TRY(HS_ALLOC(&shadow->present, shadow_words(shadow), err));
    else
        HS_TRY(HS_PAGES_ALLOC(&shadow->present, shadow_words(shadow), err));
    shadow->groups = shadow->present + shadow_present_words(shadow);
    return HS_OK;
}

static void shadow_free_bits(const struct hs_image_shadow *shadow)
{
    if (shadow_is_small(shadow))
        hs_free(shadow->present);
    else
        hs_pages_free(shadow->present, shadow_words(shadow), sizeof *shadow->present);
}

hs_status hs_image_shadow_reserve(struct hs_paged *paged, struct hs_image_shadow *shadow,
                                  struct hs_error *err)
{
    struct hs_image_shadow new = {.begin = shadow->begin, .end = shadow->end};
    uint64_t n_bytes = shadow->end - shadow->begin;

    HS_TRY(shadow_alloc_bits(&new, err));
    hs_status status = paged != NULL ? hs_paged_reserve(paged, n_bytes, &new.bytes, err)
                                     : HS_PAGES_ALLOC(&new.bytes, n_bytes, err);
    if (status == HS_OK)
        *shadow = new;
    else
        shadow_free_bits(&new);
    return status;
}

void hs_image_shadow_fini(const struct hs_paged *paged, const struct hs_image_shadow *shadow)
{
    if (paged == NULL)
        hs_pages_free(shadow->bytes, shadow->end - shadow->begin, 1);
    shadow_free_bits(shadow);
}

void hs_image_shadow_forget(const struct hs_image_shadow *shadow)
{
    size_t n_bytes = shadow_words(shadow) * sizeof *shadow->present;

    if (shadow_is_small(shadow))
        memset(shadow->present, 0, n_bytes);
    else
        hs_pages_discard(shadow->present, n_bytes);
}

void hs_image_shadow_set_present(const struct hs_image_shadow *in, hs_addr begin, hs_addr end)
{
    uint64_t page = (begin - in->begin) >> SHADOW_PAGE_SHIFT;
    uint64_t stop = (end - in->begin + SHADOW_PAGE - 1) >> SHADOW_PAGE_SHIFT;

    for (; page < stop && page % 64 != 0; page++)
        in->present[page / 64] |= (uint64_t)1 << (page % 64);
    for (; page + 64 <= stop; page += 64)
        in->present[page / 64] = UINT64_MAX;
    for (; page < stop; page++)
        in->present[page / 64] |= (uint64_t)1 << (page % 64);
    if (begin >= end)
        return;
    uint64_t group = (begin - in->begin) >> SHADOW_PAGE_SHIFT >> SHADOW_GROUP_SHIFT;
    for (; group << SHADOW_GROUP_SHIFT < stop; group++)
        in->groups[group / 64] |= (uint64_t)1 << (group % 64);
}

/* The first bit from `at` on, below `stop`, that is `value`; `stop` when there is none. */
static uint64_t shadow_next_bit(const uint64_t *bits, uint64_t at, uint64_t stop, bool value)
{
    while (at < stop) {
        uint64_t word = (value ? bits[at / 64] : ~bits[at / 64]) >> (at % 64);
        if (word != 0) {
            at += (uint64_t)__builtin_ctzll(word);
            return at < stop ? at : stop;
        }
        at = (at / 64 + 1) * 64;
    }
    return stop;
}

/* The same of present pages: bits of groups without any are not even looked at, for they would
 * become pages. */
static uint64_t shadow_next_page(const struct hs_image_shadow *shadow, uint64_t page, uint64_t stop)
{
    uint64_t group_stop = ((stop - 1) >> SHADOW_GROUP_SHIFT) + 1;

    while (page < stop) {
        uint64_t first = page >> SHADOW_GROUP_SHIFT;
        uint64_t group = shadow_next_bit(shadow->groups, first, group_stop, true);
        if (group == group_stop)
            return stop;
        if (group > first)
            page = group << SHADOW_GROUP_SHIFT;
        uint64_t end = (group + 1) << SHADOW_GROUP_SHIFT;
        uint64_t found = shadow_next_bit(shadow->present, page, end < stop ? end : stop, true);
        if (found < end)
            return found;
        page = end;
    }
    return stop;
}

/* Counts the set bits of [begin, end). */
static uint64_t shadow_count_bits(const uint64_t *bits, uint64_t begin, uint64_t end)
{
    uint64_t n = 0;

    for (uint64_t word = begin / 64; word * 64 < end; word++) {
        uint64_t here = bits[word];
        if (word == begin / 64)
            here &= UINT64_MAX << (begin % 64);
        if (word == (end - 1) / 64)
            here &= UINT64_MAX >> (63 - (end - 1) % 64);
        n += here != 0 ? (uint64_t)__builtin_popcountll(here) : 0;
    }
    return n;
}

static bool shadow_page_is_present(const struct hs_image_shadow *shadow, uint64_t page)
{
    return shadow_next_page(shadow, page, page + 1) == page;
}

uint64_t hs_image_shadow_present_bytes(const struct hs_image_shadow *shadow, hs_addr begin,
                                       hs_addr end)
{
    uint64_t first = (begin - shadow->begin) >> SHADOW_PAGE_SHIFT;
    uint64_t last = (end - 1 - shadow->begin) >> SHADOW_PAGE_SHIFT;
    uint64_t n_pages = 0;

    for (uint64_t page = first; (page = shadow_next_page(shadow, page, last + 1)) <= last;) {
        uint64_t stop = ((page >> SHADOW_GROUP_SHIFT) + 1) << SHADOW_GROUP_SHIFT;
        stop = stop < last + 1 ? stop : last + 1;
        n_pages += shadow_count_bits(shadow->present, page, stop);
        page = stop;
    }
    uint64_t n_bytes = n_pages << SHADOW_PAGE_SHIFT;
    /* less what lies outside of the range on its first and last page */
    if ((begin & (SHADOW_PAGE - 1)) != 0 && shadow_page_is_present(shadow, first))
        n_bytes -= begin & (SHADOW_PAGE - 1);
    if ((end & (SHADOW_PAGE - 1)) != 0 && shadow_page_is_present(shadow, last))
        n_bytes -= (SHADOW_PAGE - (end & (SHADOW_PAGE - 1))) & (SHADOW_PAGE - 1);
    return n_bytes;
}

bool hs_image_shadow_present_part(const struct hs_image_shadow *shadow, hs_addr begin, hs_addr end,
                                  hs_addr *ret_begin, hs_addr *ret_end)
{
    uint64_t stop = ((end - 1 - shadow->begin) >> SHADOW_PAGE_SHIFT) + 1;
    uint64_t page = (begin - shadow->begin) >> SHADOW_PAGE_SHIFT;
    uint64_t first = shadow_next_page(shadow, page, stop);

    if (first == stop)
        return false;
    uint64_t last = shadow_next_bit(shadow->present, first, stop, false);
    if (first > page)
        begin = shadow->begin + (first << SHADOW_PAGE_SHIFT);
    if (last < stop)
        end = shadow->begin + (last << SHADOW_PAGE_SHIFT);
    *ret_begin = begin;
    *ret_end = end;
    return true;
}
