/* A copy of parts of a target's memory.
 *
 * Copied pages lie in *shadows*: lazily backed reservations, one per run of adjacent mappings, in
 * which a page stands at the distance it has in the target. So ranges that grow together are merged
 * without moving a byte, and pages that the target never touched are never read and never paid for:
 * reading them would even fill holes in the target's page tables for good. */
#include "process/image.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/units.h"

#define IMAGE_PAGE ((uint64_t)4096)
#define IMAGE_PAGE_SHIFT 12
#define IMAGE_PAGEMAP_ENTRIES ((size_t)512)
/* pagemap entries, Documentation/admin-guide/mm/pagemap.rst: bit 63 present, bit 62 swapped */
#define IMAGE_PAGE_IS_PRESENT ((uint64_t)1 << 63)
#define IMAGE_PAGE_IS_THERE ((uint64_t)3 << 62)
/* A larger run of mappings is shadowed around the request only. */
#define IMAGE_SHADOW_BYTES ((uint64_t)1 << 40)
/* What is read at once on its way to a file. */
#define IMAGE_BOUNCE_BYTES ((size_t)4 << 20)

/* Words of a shadow's bits of present pages. */
static size_t image_present_words(const struct hs_image_shadow *shadow)
{
    return (size_t)((shadow->end - shadow->begin) >> IMAGE_PAGE_SHIFT) / 64 + 1;
}

void hs_image_fini(struct hs_image *image)
{
    if (image == NULL)
        return;
    for (size_t i = 0; i < image->n_shadows; i++) {
        const struct hs_image_shadow *shadow = &image->shadows[i];
        if (image->paged == NULL)
            hs_pages_free(shadow->bytes, shadow->end - shadow->begin, 1);
        hs_pages_free(shadow->present, image_present_words(shadow), sizeof *shadow->present);
    }
    hs_paged_free(image->paged);
    hs_pages_free(image->bounce, IMAGE_BOUNCE_BYTES, 1);
    hs_free(image->shadows);
    hs_free(image->ranges);
    hs_free(image->gaps);
    memset(image, 0, sizeof *image);
}

void hs_image_rewind(struct hs_image *image)
{
    image->n_ranges = 0;
    image->n_gaps = 0;
    image->kept_bytes = 0;
    image->shadows_are_used = true;
    if (image->paged != NULL)
        hs_paged_clear(image->paged);
    for (size_t i = 0; i < image->n_shadows; i++) {
        const struct hs_image_shadow *shadow = &image->shadows[i];
        hs_pages_discard(shadow->present, image_present_words(shadow) * sizeof *shadow->present);
    }
}

hs_status hs_image_spill(struct hs_image *image, struct hs_budget *budget, uint64_t resident_bytes,
                         struct hs_error *err)
{
    struct hs_image spilled = {0};

    HS_TRY(HS_PAGES_ALLOC(&spilled.bounce, IMAGE_BOUNCE_BYTES, err));
    hs_status status = hs_paged_new(budget, resident_bytes, &spilled.paged, err);
    hs_image_fini(status == HS_OK ? image : &spilled);
    if (status == HS_OK)
        *image = spilled;
    return status;
}

hs_status hs_image_check(const struct hs_image *image, struct hs_error *err)
{
    return hs_paged_check(image->paged, err);
}

/* The first range that ends behind `address`, or n_ranges. */
static size_t image_lower(const struct hs_image *image, hs_addr address)
{
    return HS_FIRST_ABOVE(image->ranges, image->n_ranges, end, address);
}

const struct hs_image_range *hs_image_find(const struct hs_image *image, hs_addr address,
                                           size_t *hint)
{
    if (hint != NULL && *hint < image->n_ranges && image->ranges[*hint].begin <= address &&
        address < image->ranges[*hint].end)
        return &image->ranges[*hint];
    size_t at = image_lower(image, address);
    if (at == image->n_ranges || image->ranges[at].begin > address)
        return NULL;
    if (hint != NULL)
        *hint = at;
    return &image->ranges[at];
}

/* Owned ranges that touch and lie in one shadow are one range. */
static bool image_joins(const struct hs_image_range *a, const struct hs_image_range *b)
{
    return a->end == b->begin && a->owned_bytes != 0 && b->owned_bytes != 0 &&
           a->shadow == b->shadow && a->bytes + (a->end - a->begin) == b->bytes;
}

/* Puts a range that overlaps no other at its place, merged with its neighbours. */
static hs_status image_insert(struct hs_image *image, struct hs_image_range range,
                              struct hs_error *err)
{
    size_t at = image_lower(image, range.begin);
    struct hs_image_range *ranges = image->ranges;

    assert(at == image->n_ranges || ranges[at].begin >= range.end);
    bool before = at > 0 && image_joins(&ranges[at - 1], &range);
    bool after = at < image->n_ranges && image_joins(&range, &ranges[at]);
    if (before && after) {
        ranges[at - 1].end = ranges[at].end;
        ranges[at - 1].owned_bytes = ranges[at - 1].end - ranges[at - 1].begin;
        memmove(ranges + at, ranges + at + 1, (image->n_ranges - at - 1) * sizeof *ranges);
        image->n_ranges--;
    } else if (before) {
        ranges[at - 1].end = range.end;
        ranges[at - 1].owned_bytes = range.end - ranges[at - 1].begin;
    } else if (after) {
        ranges[at].begin = range.begin;
        ranges[at].bytes = range.bytes;
        ranges[at].owned_bytes = ranges[at].end - range.begin;
    } else {
        HS_TRY(HS_GROW(&image->ranges, &image->capacity, image->n_ranges + 1, err));
        ranges = image->ranges;
        memmove(ranges + at + 1, ranges + at, (image->n_ranges - at) * sizeof *ranges);
        ranges[at] = range;
        image->n_ranges++;
    }
    return HS_OK;
}

/* Notes [begin, end) as unreadable, merged with the gaps that it touches. */
static hs_status image_add_gap(struct hs_image *image, hs_addr begin, hs_addr end,
                               struct hs_error *err)
{
    size_t low = HS_FIRST_FROM(image->gaps, image->n_gaps, end, begin);
    size_t past = low;
    for (; past < image->n_gaps && image->gaps[past].begin <= end; past++) {
        if (image->gaps[past].begin < begin)
            begin = image->gaps[past].begin;
        if (image->gaps[past].end > end)
            end = image->gaps[past].end;
    }
    if (past == low)
        HS_TRY(HS_GROW(&image->gaps, &image->gaps_capacity, image->n_gaps + 1, err));
    memmove(image->gaps + low + 1, image->gaps + past,
            (image->n_gaps - past) * sizeof *image->gaps);
    image->n_gaps = image->n_gaps + 1 - (past - low);
    image->gaps[low] = (struct hs_range_gap){begin, end};
    return HS_OK;
}

/* The span of adjacent mappings around mapping number `at`, cut around [begin, end) when huge. */
static void image_shadow_span(const struct hs_target *target, size_t at, hs_addr begin, hs_addr end,
                              struct hs_image_shadow *ret)
{
    size_t first = at, last = at;
    const struct hs_mapping *m = target->mappings;

    while (first > 0 && m[first - 1].end == m[first].begin)
        first--;
    while (last + 1 < target->n_mappings && m[last + 1].begin == m[last].end)
        last++;
    ret->begin = m[first].begin;
    ret->end = m[last].end;
    if (ret->end - ret->begin > IMAGE_SHADOW_BYTES) {
        ret->begin = begin;
        ret->end = end;
    }
}

/* The number of the shadow that holds [begin, end), or n_shadows. */
static size_t image_shadow_at(const struct hs_image *image, hs_addr begin, hs_addr end)
{
    for (size_t i = image->n_shadows; i-- > 0;)
        if (image->shadows[i].begin <= begin && end <= image->shadows[i].end)
            return i;
    return image->n_shadows;
}

/* Reserves the bytes and the bits of a shadow. */
static hs_status image_reserve(struct hs_paged *paged, struct hs_image_shadow *shadow,
                               struct hs_error *err)
{
    void *bytes, *present;
    uint64_t n_bytes = shadow->end - shadow->begin;

    HS_TRY(hs_pages_alloc(image_present_words(shadow), sizeof(uint64_t), &present, err));
    hs_status status = paged != NULL ? hs_paged_reserve(paged, n_bytes, &shadow->bytes, err)
                                     : hs_pages_alloc(n_bytes, 1, &bytes, err);
    if (status != HS_OK) {
        hs_pages_free(present, image_present_words(shadow), sizeof(uint64_t));
        return status;
    }
    if (paged == NULL)
        shadow->bytes = bytes;
    shadow->present = present;
    return HS_OK;
}

/* Where what is copied goes. */
struct image_place {
    size_t shadow;
    uint8_t *bytes;
};

/* Has the memory around a shadow grown since it was made? What is copied there now would lie in two
 * shadows, and what is in one piece in the target must be in one piece here. */
static bool image_outgrown(const struct hs_image_shadow *shadow, const struct hs_image_shadow *now)
{
    return !shadow->is_part && (now->begin < shadow->begin || now->end > shadow->end);
}

/* The place for [begin, end), which lies in mapping number `at`. */
static hs_status image_place(struct hs_image *image, const struct hs_target *target, size_t at,
                             hs_addr begin, hs_addr end, struct image_place *ret,
                             struct hs_error *err)
{
    size_t found = image_shadow_at(image, begin, end);
    struct hs_image_shadow new = {0};

    image_shadow_span(target, at, begin, end, &new);
    if (found != image->n_shadows && image_outgrown(&image->shadows[found], &new)) {
        const struct hs_image_shadow *old = &image->shadows[found];
        if (image->paged == NULL)
            hs_pages_discard(old->bytes, old->end - old->begin); /* of an earlier copy */
        found = image->n_shadows;
    }
    if (found == image->n_shadows) {
        HS_TRY(HS_GROW(&image->shadows, &image->shadows_capacity, image->n_shadows + 1, err));
        if (image_reserve(image->paged, &new, err) != HS_OK) {
            new.begin = begin; /* a limit on address space: reserve just this */
            new.end = end;
            new.is_part = true;
            HS_TRY(image_reserve(image->paged, &new, err));
        }
        image->shadows[image->n_shadows++] = new;
    }
    ret->shadow = found;
    ret->bytes = image->shadows[found].bytes + (begin - image->shadows[found].begin);
    return HS_OK;
}

/* Notes the pages of [begin, end) as present. */
static void image_set_present(const struct hs_image *image, size_t shadow, hs_addr begin,
                              hs_addr end)
{
    const struct hs_image_shadow *in = &image->shadows[shadow];
    uint64_t page = (begin - in->begin) >> IMAGE_PAGE_SHIFT;
    uint64_t stop = (end - in->begin + IMAGE_PAGE - 1) >> IMAGE_PAGE_SHIFT;

    for (; page < stop && page % 64 != 0; page++)
        in->present[page / 64] |= (uint64_t)1 << (page % 64);
    for (; page + 64 <= stop; page += 64)
        in->present[page / 64] = UINT64_MAX;
    for (; page < stop; page++)
        in->present[page / 64] |= (uint64_t)1 << (page % 64);
}

static hs_status image_is_full(struct hs_image *image, struct hs_error *err)
{
    char limit[HS_UNIT_TEXT_BYTES];

    image->is_full = true;
    hs_format_bytes(image->limit_bytes, limit);
    return hs_fail(err, HS_LIMIT, "the copy of the process does not fit in %s of memory", limit);
}

/* The same on the way to a file, which takes whole pages. */
static hs_status image_read_to_file(struct hs_image *image, struct hs_target *target, hs_addr begin,
                                    size_t most, uint8_t *place, size_t *ret_n,
                                    struct hs_error *err)
{
    size_t before = (size_t)(begin & (IMAGE_PAGE - 1)), n = 0;

    if (most > IMAGE_BOUNCE_BYTES - before)
        most = IMAGE_BOUNCE_BYTES - before;
    size_t whole = (before + most + IMAGE_PAGE - 1) / IMAGE_PAGE * IMAGE_PAGE;
    HS_TRY(hs_target_read_some(target, begin - before, image->bounce, whole, &n, err));
    size_t n_pages = (n + IMAGE_PAGE - 1) / IMAGE_PAGE;
    memset(image->bounce + n, 0, n_pages * IMAGE_PAGE - n);
    HS_TRY(hs_paged_store(image->paged, place - before, image->bounce, n_pages * IMAGE_PAGE, err));
    n = n > before ? n - before : 0;
    *ret_n = n < most ? n : most;
    return HS_OK;
}

/* Reads the first bytes of [begin, begin + most) to their place, as many as can be. */
static hs_status image_read_some(struct hs_image *image, struct hs_target *target, hs_addr begin,
                                 size_t most, uint8_t *place, size_t *ret_n, struct hs_error *err)
{
    if (image->paged != NULL)
        return image_read_to_file(image, target, begin, most, place, ret_n, err);
    if (image->limit_bytes != 0 && most > image->limit_bytes - image->kept_bytes)
        return image_is_full(image, err);
    HS_TRY(hs_target_read_some(target, begin, place, most, ret_n, err));
    image->kept_bytes += *ret_n;
    return HS_OK;
}

/* Reads [begin, end) to its place and inserts it; unreadable pages become gaps. */
static hs_status image_read_run(struct hs_image *image, struct hs_target *target, hs_addr begin,
                                hs_addr end, struct image_place place, struct hs_error *err)
{
    while (begin < end) {
        size_t n = 0;
        HS_TRY(image_read_some(image, target, begin, end - begin, place.bytes, &n, err));
        if (n > 0) {
            struct hs_image_range range = {begin, begin + n, place.bytes, n, place.shadow};
            HS_TRY(image_insert(image, range, err));
        } else {
            n = IMAGE_PAGE - (begin & (IMAGE_PAGE - 1));
            if (n > end - begin)
                n = end - begin;
            HS_TRY(image_add_gap(image, begin, begin + n, err));
        }
        begin += n;
        place.bytes += n;
    }
    return HS_OK;
}

/* Which pages from that of `begin` on are there; number of entries read, 0 when unknown. */
static size_t image_pages_there(const struct hs_target *target, hs_addr begin, hs_addr end,
                                uint64_t *entries)
{
    uint64_t first = begin >> IMAGE_PAGE_SHIFT;
    uint64_t n = ((end + IMAGE_PAGE - 1) >> IMAGE_PAGE_SHIFT) - first;

    if (n > IMAGE_PAGEMAP_ENTRIES)
        n = IMAGE_PAGEMAP_ENTRIES;
    return hs_target_pages(target, begin, entries, n);
}

/* Inserts [begin, end), which the target never touched: the place is zero unless used before. */
static hs_status image_insert_zero(struct hs_image *image, hs_addr begin, hs_addr end,
                                   struct image_place place, struct hs_error *err)
{
    struct hs_image_range zero = {begin, end, place.bytes, end - begin, place.shadow};

    if (image->shadows_are_used && image->paged == NULL)
        hs_pages_discard(place.bytes, end - begin);
    return image_insert(image, zero, err);
}

/* A part of [begin, ...) at `place` of which all or nothing is there. */
static hs_status image_add_run(struct hs_image *image, struct hs_target *target, bool is_there,
                               hs_addr begin, hs_addr end, struct image_place place,
                               struct hs_error *err)
{
    if (begin >= end)
        return HS_OK;
    if (is_there)
        return image_read_run(image, target, begin, end, place, err);
    return image_insert_zero(image, begin, end, place, err);
}

static struct image_place image_place_at(struct image_place place, uint64_t offset)
{
    place.bytes += offset;
    return place;
}

/* Private anonymous memory: pages that are not there are zero in the shadow already. */
static hs_status image_copy_anonymous(struct hs_image *image, struct hs_target *target,
                                      hs_addr begin, hs_addr end, struct image_place place,
                                      struct hs_error *err)
{
    uint64_t entries[IMAGE_PAGEMAP_ENTRIES];
    hs_addr run_begin = begin; /* what is to be taken up to here lies in [run_begin, at) */
    hs_addr at = begin;
    bool run_there = true;

    while (at < end) {
        size_t n = image_pages_there(target, at, end, entries);
        if (n == 0)
            break;
        for (size_t i = 0; i < n && at < end; i++) {
            bool there = (entries[i] & IMAGE_PAGE_IS_THERE) != 0;
            if (there != run_there) {
                HS_TRY(image_add_run(image, target, run_there, run_begin, at,
                                     image_place_at(place, run_begin - begin), err));
                run_begin = at;
            }
            run_there = there;
            if (entries[i] & IMAGE_PAGE_IS_PRESENT)
                image_set_present(image, place.shadow, at, at + 1);
            at = (at & ~(IMAGE_PAGE - 1)) + IMAGE_PAGE;
        }
    }
    if (at < end) { /* no page map from here on: all is read, and taken as present */
        if (!run_there) {
            HS_TRY(image_add_run(image, target, false, run_begin, at,
                                 image_place_at(place, run_begin - begin), err));
            run_begin = at;
        }
        run_there = true;
        image_set_present(image, place.shadow, at, end);
    }
    return image_add_run(image, target, run_there, run_begin, end,
                         image_place_at(place, run_begin - begin), err);
}

/* [begin, end) lies in mapping number `at` and nothing of it is in the image yet. */
static hs_status image_copy_mapped(struct hs_image *image, struct hs_target *target, size_t at,
                                   hs_addr begin, hs_addr end, struct hs_error *err)
{
    const struct hs_mapping *mapping = &target->mappings[at];
    const char *path = hs_mapping_path(target, mapping);
    struct image_place place;

    if (!mapping->readable)
        return image_add_gap(image, begin, end, err);
    HS_TRY(image_place(image, target, at, begin, end, &place, err));
    bool special = path[0] == '[' && (strncmp(path, "[v", 2) == 0); /* vdso, vvar, vsyscall */
    if (mapping->inode == 0 && !mapping->shared && !special)
        return image_copy_anonymous(image, target, begin, end, place, err);
    image_set_present(image, place.shadow, begin, end);
    return image_read_run(image, target, begin, end, place, err);
}

/* Number of the first mapping that ends behind `address`. */
static size_t image_first_mapping(const struct hs_target *target, hs_addr address)
{
    return HS_FIRST_ABOVE(target->mappings, target->n_mappings, end, address);
}

/* Nothing of [begin, end) is in the image yet. */
static hs_status image_copy_missing(struct hs_image *image, struct hs_target *target, hs_addr begin,
                                    hs_addr end, struct hs_error *err)
{
    size_t at = image_first_mapping(target, begin);

    while (begin < end) {
        if (at == target->n_mappings || target->mappings[at].begin >= end)
            return image_add_gap(image, begin, end, err);
        const struct hs_mapping *mapping = &target->mappings[at];
        if (begin < mapping->begin) {
            HS_TRY(image_add_gap(image, begin, mapping->begin, err));
            begin = mapping->begin;
        }
        hs_addr stop = end < mapping->end ? end : mapping->end;
        HS_TRY(image_copy_mapped(image, target, at, begin, stop, err));
        begin = stop;
        at++;
    }
    return HS_OK;
}

hs_status hs_image_copy(struct hs_image *image, struct hs_target *target, hs_addr begin,
                        hs_addr end, struct hs_error *err)
{
    if (begin >= end)
        return HS_OK;
    begin &= ~(IMAGE_PAGE - 1);
    if (end <= UINT64_MAX - IMAGE_PAGE)
        end = (end + IMAGE_PAGE - 1) & ~(IMAGE_PAGE - 1);
    while (begin < end) {
        size_t at = image_lower(image, begin);
        hs_addr stop = end;
        if (at < image->n_ranges && image->ranges[at].begin <= begin) {
            begin = image->ranges[at].end;
            continue;
        }
        if (at < image->n_ranges && image->ranges[at].begin < stop)
            stop = image->ranges[at].begin;
        HS_TRY(image_copy_missing(image, target, begin, stop, err));
        begin = stop;
    }
    return HS_OK;
}

hs_status hs_image_add(struct hs_image *image, hs_addr begin, const void *bytes, size_t n_bytes,
                       struct hs_error *err)
{
    const uint8_t *from = bytes;
    hs_addr end;

    if (__builtin_add_overflow(begin, n_bytes, &end))
        return hs_fail(err, HS_TARGET, "cannot add %zu bytes at 0x%llx: past the last address",
                       n_bytes, (unsigned long long)begin);
    while (begin < end) {
        size_t at = image_lower(image, begin);
        hs_addr stop = end;
        bool is_new = at == image->n_ranges || image->ranges[at].begin > begin;
        if (!is_new)
            stop = image->ranges[at].end < end ? image->ranges[at].end : end;
        else if (at < image->n_ranges && image->ranges[at].begin < stop)
            stop = image->ranges[at].begin;
        if (is_new) {
            struct hs_image_range range = {begin, stop, from, 0, 0};
            HS_TRY(image_insert(image, range, err));
        }
        from += stop - begin;
        begin = stop;
    }
    return HS_OK;
}

/* Bytes of the present pages in [begin, end), which lies in one shadow. */
static uint64_t image_present_bytes(const struct hs_image_shadow *shadow, hs_addr begin,
                                    hs_addr end)
{
    uint64_t first = (begin - shadow->begin) >> IMAGE_PAGE_SHIFT;
    uint64_t last = (end - 1 - shadow->begin) >> IMAGE_PAGE_SHIFT;
    uint64_t n_pages = 0;

    for (uint64_t word = first / 64; word <= last / 64; word++) {
        uint64_t bits = shadow->present[word];
        if (word == first / 64)
            bits &= UINT64_MAX << (first % 64);
        if (word == last / 64)
            bits &= UINT64_MAX >> (63 - last % 64);
        if (bits != 0) /* most of a large reserve is not there */
            n_pages += (uint64_t)__builtin_popcountll(bits);
    }
    uint64_t n_bytes = n_pages << IMAGE_PAGE_SHIFT;
    /* less what lies outside of the range on its first and last page */
    if (shadow->present[first / 64] >> (first % 64) & 1)
        n_bytes -= begin & (IMAGE_PAGE - 1);
    if (shadow->present[last / 64] >> (last % 64) & 1)
        n_bytes -= (IMAGE_PAGE - (end & (IMAGE_PAGE - 1))) & (IMAGE_PAGE - 1);
    return n_bytes;
}

uint64_t hs_image_resident_bytes(const struct hs_image *image, hs_addr begin, hs_addr end)
{
    uint64_t n_bytes = 0;

    for (size_t i = image_lower(image, begin); i < image->n_ranges && begin < end; i++) {
        const struct hs_image_range *range = &image->ranges[i];
        if (range->begin > begin)
            begin = range->begin;
        hs_addr stop = range->end < end ? range->end : end;
        if (begin >= stop)
            break;
        n_bytes += range->owned_bytes == 0
                       ? stop - begin
                       : image_present_bytes(&image->shadows[range->shadow], begin, stop);
        begin = stop;
    }
    return n_bytes;
}

/* The first page from `page` on, below `stop`, whose bit is `value`; `stop` when there is none. */
static uint64_t image_next_page(const uint64_t *present, uint64_t page, uint64_t stop, bool value)
{
    while (page < stop) {
        uint64_t word = (value ? present[page / 64] : ~present[page / 64]) >> (page % 64);
        if (word != 0) {
            page += (uint64_t)__builtin_ctzll(word);
            return page < stop ? page : stop;
        }
        page = (page / 64 + 1) * 64;
    }
    return stop;
}

/* The first present part of [begin, end), which lies in one shadow. */
static bool image_present_part(const struct hs_image_shadow *shadow, hs_addr begin, hs_addr end,
                               hs_addr *ret_begin, hs_addr *ret_end)
{
    uint64_t stop = ((end - 1 - shadow->begin) >> IMAGE_PAGE_SHIFT) + 1;
    uint64_t page = (begin - shadow->begin) >> IMAGE_PAGE_SHIFT;
    uint64_t first = image_next_page(shadow->present, page, stop, true);

    if (first == stop)
        return false;
    uint64_t last = image_next_page(shadow->present, first, stop, false);
    if (first > page)
        begin = shadow->begin + (first << IMAGE_PAGE_SHIFT);
    if (last < stop)
        end = shadow->begin + (last << IMAGE_PAGE_SHIFT);
    *ret_begin = begin;
    *ret_end = end;
    return true;
}

bool hs_image_next_present(const struct hs_image *image, hs_addr begin, hs_addr end,
                           hs_addr *ret_begin, hs_addr *ret_end)
{
    for (size_t i = image_lower(image, begin); i < image->n_ranges && begin < end; i++) {
        const struct hs_image_range *range = &image->ranges[i];
        if (range->begin > begin)
            begin = range->begin;
        hs_addr stop = range->end < end ? range->end : end;
        if (begin >= stop)
            return false;
        if (range->owned_bytes == 0) {
            *ret_begin = begin;
            *ret_end = stop;
            return true;
        }
        if (image_present_part(&image->shadows[range->shadow], begin, stop, ret_begin, ret_end))
            return true;
        begin = stop;
    }
    return false;
}

const uint8_t *hs_image_bytes(const struct hs_image *image, hs_addr address, size_t n_bytes)
{
    const struct hs_image_range *range = hs_image_find(image, address, NULL);

    if (range == NULL || range->end - address < n_bytes)
        return NULL;
    return range->bytes + (address - range->begin);
}

bool hs_image_u64(const struct hs_image *image, hs_addr address, uint64_t *ret)
{
    const uint8_t *bytes = hs_image_bytes(image, address, sizeof *ret);
    if (bytes != NULL)
        memcpy(ret, bytes, sizeof *ret);
    return bytes != NULL;
}

bool hs_image_u32(const struct hs_image *image, hs_addr address, uint32_t *ret)
{
    const uint8_t *bytes = hs_image_bytes(image, address, sizeof *ret);
    if (bytes != NULL)
        memcpy(ret, bytes, sizeof *ret);
    return bytes != NULL;
}

bool hs_image_u16(const struct hs_image *image, hs_addr address, uint16_t *ret)
{
    const uint8_t *bytes = hs_image_bytes(image, address, sizeof *ret);
    if (bytes != NULL)
        memcpy(ret, bytes, sizeof *ret);
    return bytes != NULL;
}

bool hs_image_u8(const struct hs_image *image, hs_addr address, uint8_t *ret)
{
    const uint8_t *bytes = hs_image_bytes(image, address, sizeof *ret);
    if (bytes != NULL)
        *ret = *bytes;
    return bytes != NULL;
}

bool hs_image_string(const struct hs_image *image, hs_addr address, char *text, size_t n)
{
    const struct hs_image_range *range = hs_image_find(image, address, NULL);

    if (range == NULL)
        return false;
    const uint8_t *from = range->bytes + (address - range->begin);
    size_t most = range->end - address < n ? range->end - address : n;
    const uint8_t *end = memchr(from, '\0', most);
    if (end == NULL)
        return false;
    memcpy(text, from, (size_t)(end - from) + 1);
    return true;
}
