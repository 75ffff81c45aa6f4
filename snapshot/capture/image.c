/* A copy of parts of a target's memory.
 *
 * Copied pages lie in *shadows*: lazily backed reservations, one per run of adjacent mappings, in
 * which a page stands at the distance it has in the target. So ranges that grow together are merged
 * without moving a byte, and pages that the target never touched are never read and never paid for:
 * reading them would even fill holes in the target's page tables for good. */
#include "capture/image.h"

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target_private.h"

#define IMAGE_PAGE ((uint64_t)4096)
#define IMAGE_PAGE_SHIFT 12
#define IMAGE_PAGEMAP_ENTRIES ((size_t)512)
/* pagemap entries, Documentation/admin-guide/mm/pagemap.rst: bit 63 present, bit 62 swapped */
#define IMAGE_PAGE_IS_THERE ((uint64_t)3 << 62)
/* A larger run of mappings is shadowed around the request only. */
#define IMAGE_SHADOW_BYTES ((uint64_t)1 << 40)

void hs_image_fini(struct hs_image *image)
{
    if (image == NULL)
        return;
    for (size_t i = 0; i < image->n_shadows; i++)
        hs_pages_free(image->shadows[i].bytes, image->shadows[i].end - image->shadows[i].begin, 1);
    hs_free(image->shadows);
    hs_free(image->ranges);
    hs_free(image->gaps);
    memset(image, 0, sizeof *image);
}

void hs_image_rewind(struct hs_image *image)
{
    image->n_ranges = 0;
    image->n_gaps = 0;
    image->shadows_are_used = true;
}

/* The first range that ends behind `address`, or n_ranges. */
static size_t image_lower(const struct hs_image *image, hs_addr address)
{
    size_t low = 0, high = image->n_ranges;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->ranges[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
           a->bytes + (a->end - a->begin) == b->bytes;
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
        HS_TRY(hs_grow((void **)&image->ranges, &image->capacity, image->n_ranges + 1,
                       sizeof *ranges, err));
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
    size_t low = 0, high = image->n_gaps;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->gaps[middle].end < begin)
            low = middle + 1;
        else
            high = middle;
    }
    size_t past = low;
    for (; past < image->n_gaps && image->gaps[past].begin <= end; past++) {
        if (image->gaps[past].begin < begin)
            begin = image->gaps[past].begin;
        if (image->gaps[past].end > end)
            end = image->gaps[past].end;
    }
    if (past == low)
        HS_TRY(hs_grow((void **)&image->gaps, &image->gaps_capacity, image->n_gaps + 1,
                       sizeof *image->gaps, err));
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

/* The shadow that holds [begin, end), or NULL. */
static const struct hs_image_shadow *image_shadow_at(const struct hs_image *image, hs_addr begin,
                                                     hs_addr end)
{
    for (size_t i = image->n_shadows; i-- > 0;)
        if (image->shadows[i].begin <= begin && end <= image->shadows[i].end)
            return &image->shadows[i];
    return NULL;
}

/* The place for [begin, end), which lies in mapping number `at`. */
static hs_status image_place(struct hs_image *image, const struct hs_target *target, size_t at,
                             hs_addr begin, hs_addr end, uint8_t **ret, struct hs_error *err)
{
    const struct hs_image_shadow *found = image_shadow_at(image, begin, end);

    if (found == NULL) {
        struct hs_image_shadow new = {0};
        void *bytes;
        image_shadow_span(target, at, begin, end, &new);
        HS_TRY(hs_grow((void **)&image->shadows, &image->shadows_capacity, image->n_shadows + 1,
                       sizeof new, err));
        if (hs_pages_alloc(new.end - new.begin, 1, &bytes, err) != HS_OK) {
            new.begin = begin; /* a limit on address space: reserve just this */
            new.end = end;
            HS_TRY(hs_pages_alloc(end - begin, 1, &bytes, err));
        }
        new.bytes = bytes;
        image->shadows[image->n_shadows] = new;
        found = &image->shadows[image->n_shadows++];
    }
    *ret = found->bytes + (begin - found->begin);
    return HS_OK;
}

/* Reads [begin, end) to `bytes` and inserts it; unreadable pages become gaps. */
static hs_status image_read_run(struct hs_image *image, struct hs_target *target, hs_addr begin,
                                hs_addr end, uint8_t *bytes, struct hs_error *err)
{
    while (begin < end) {
        size_t n = 0;
        HS_TRY(hs_target_read_some(target, begin, bytes, end - begin, &n, err));
        if (n > 0) {
            struct hs_image_range range = {begin, begin + n, bytes, n};
            HS_TRY(image_insert(image, range, err));
        } else {
            n = IMAGE_PAGE - (begin & (IMAGE_PAGE - 1));
            if (n > end - begin)
                n = end - begin;
            HS_TRY(image_add_gap(image, begin, begin + n, err));
        }
        begin += n;
        bytes += n;
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
    if (target->pagemap_fd < 0)
        return 0;
    ssize_t got = pread(target->pagemap_fd, entries, n * 8, (off_t)(first * 8));
    return got > 0 ? (size_t)got / 8 : 0;
}

/* Inserts [begin, end), which the target never touched: `bytes` are zero unless used before. */
static hs_status image_insert_zero(struct hs_image *image, hs_addr begin, hs_addr end,
                                   uint8_t *bytes, struct hs_error *err)
{
    struct hs_image_range zero = {begin, end, bytes, end - begin};

    if (image->shadows_are_used)
        hs_pages_discard(bytes, end - begin);
    return image_insert(image, zero, err);
}

/* Private anonymous memory: pages that are not there are zero in the shadow already. */
static hs_status image_copy_anonymous(struct hs_image *image, struct hs_target *target,
                                      hs_addr begin, hs_addr end, uint8_t *bytes,
                                      struct hs_error *err)
{
    uint64_t entries[IMAGE_PAGEMAP_ENTRIES];
    hs_addr run_begin = begin; /* what is to be read up to here lies in [run_begin, at) */
    hs_addr at = begin;
    bool run_there = true;

    while (at < end) {
        size_t n = image_pages_there(target, at, end, entries);
        if (n == 0)
            break;
        for (size_t i = 0; i < n && at < end; i++) {
            bool there = (entries[i] & IMAGE_PAGE_IS_THERE) != 0;
            if (there != run_there && at > run_begin) {
                if (run_there)
                    HS_TRY(image_read_run(image, target, run_begin, at, bytes + (run_begin - begin),
                                          err));
                else
                    HS_TRY(
                        image_insert_zero(image, run_begin, at, bytes + (run_begin - begin), err));
                run_begin = at;
            }
            run_there = there;
            at = (at & ~(IMAGE_PAGE - 1)) + IMAGE_PAGE;
        }
    }
    if (at >= end && !run_there && run_begin < end)
        return image_insert_zero(image, run_begin, end, bytes + (run_begin - begin), err);
    return image_read_run(image, target, run_begin, end, bytes + (run_begin - begin), err);
}

/* [begin, end) lies in mapping number `at` and nothing of it is in the image yet. */
static hs_status image_copy_mapped(struct hs_image *image, struct hs_target *target, size_t at,
                                   hs_addr begin, hs_addr end, struct hs_error *err)
{
    const struct hs_mapping *mapping = &target->mappings[at];
    const char *path = hs_mapping_path(target, mapping);
    uint8_t *bytes;

    if (!mapping->readable)
        return image_add_gap(image, begin, end, err);
    HS_TRY(image_place(image, target, at, begin, end, &bytes, err));
    bool special = path[0] == '[' && (strncmp(path, "[v", 2) == 0); /* vdso, vvar, vsyscall */
    if (mapping->inode == 0 && !mapping->shared && !special)
        return image_copy_anonymous(image, target, begin, end, bytes, err);
    return image_read_run(image, target, begin, end, bytes, err);
}

/* Number of the first mapping that ends behind `address`. */
static size_t image_first_mapping(const struct hs_target *target, hs_addr address)
{
    size_t low = 0, high = target->n_mappings;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (target->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
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
            struct hs_image_range range = {begin, stop, from, 0};
            HS_TRY(image_insert(image, range, err));
        }
        from += stop - begin;
        begin = stop;
    }
    return HS_OK;
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
