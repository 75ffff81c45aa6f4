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
#include "base/huge.h"
#include "base/units.h"
#include "image_shadow.h"

#define IMAGE_PAGE ((uint64_t)4096)
#define IMAGE_RUNS ((size_t)512)
/* Runs that stand alone take a reservation each. */
#define IMAGE_LONE_RUNS ((size_t)4096)
/* A larger run of mappings is shadowed around the request only. */
#define IMAGE_SHADOW_BYTES ((uint64_t)1 << 40)
/* The bytes that are read at once on their way to a file. */
#define IMAGE_BOUNCE_BYTES ((size_t)4 << 20)

void hs_image_fini(struct hs_image *image)
{
    if (image == NULL)
        return;
    for (size_t i = 0; i < image->n_shadows; i++)
        hs_image_shadow_fini(image->paged, &image->shadows[i]);
    hs_paged_free(image->paged);
    hs_pages_free(image->bounce, IMAGE_BOUNCE_BYTES, 1);
    hs_free(image->shadows);
    hs_free(image->by_address);
    hs_free(image->ranges);
    hs_free(image->gaps);
    memset(image, 0, sizeof *image);
}

void hs_image_rewind(struct hs_image *image)
{
    image->n_ranges = 0;
    image->n_gaps = 0;
    image->kept_bytes = 0;
    image->n_lone_runs = 0;
    image->lacks_runs = false;
    image->lacks_shared = false;
    image->lacks_memory = false;
    image->shadows_are_used = true;
    if (image->paged != NULL)
        hs_paged_clear(image->paged);
    for (size_t i = 0; i < image->n_shadows; i++)
        hs_image_shadow_forget(&image->shadows[i]);
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

    if (begin >= end)
        return HS_OK;
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

/* The mappings around number `at` that touch. They are asked for one by one, and there may be tens
 * of thousands of them. */
static const struct hs_image_piece *image_piece(struct hs_image *image,
                                                const struct hs_target *target, size_t at)
{
    struct hs_image_piece *piece = &image->piece;
    const struct hs_mapping *m = target->mappings;

    if (piece->n_refreshes == target->n_refreshes && at >= piece->first && at < piece->past)
        return piece;
    *piece = (struct hs_image_piece){target->n_refreshes, at, at + 1};
    while (piece->first > 0 && m[piece->first - 1].end == m[piece->first].begin)
        piece->first--;
    while (piece->past < target->n_mappings && m[piece->past].begin == m[piece->past - 1].end)
        piece->past++;
    return piece;
}

/* The span of adjacent mappings around mapping number `at`, cut around [begin, end) when huge. */
static void image_shadow_span(struct hs_image *image, const struct hs_target *target, size_t at,
                              hs_addr begin, hs_addr end, struct hs_image_shadow *ret)
{
    const struct hs_image_piece *piece = image_piece(image, target, at);

    ret->begin = target->mappings[piece->first].begin;
    ret->end = target->mappings[piece->past - 1].end;
    if (ret->end - ret->begin > IMAGE_SHADOW_BYTES) {
        ret->begin = begin;
        ret->end = end;
    }
}

/* Returns the index in by_address of the first shadow that ends behind `address`. */
static size_t image_shadow_lower(const struct hs_image *image, hs_addr address)
{
    size_t low = 0, high = image->n_by_address;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (image->shadows[image->by_address[middle]].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* The number of the shadow that holds [begin, end), or n_shadows. */
static size_t image_shadow_at(const struct hs_image *image, hs_addr begin, hs_addr end)
{
    size_t at = image_shadow_lower(image, begin);

    if (at == image->n_by_address)
        return image->n_shadows;
    const struct hs_image_shadow *shadow = &image->shadows[image->by_address[at]];
    return shadow->begin <= begin && end <= shadow->end ? image->by_address[at] : image->n_shadows;
}

/* Enters a shadow by its address, in place of those that it overlaps. */
static hs_status image_add_shadow(struct hs_image *image, const struct hs_image_shadow *new,
                                  struct hs_error *err)
{
    HS_TRY(HS_GROW(&image->by_address, &image->by_address_capacity, image->n_by_address + 1, err));
    HS_TRY(HS_GROW(&image->shadows, &image->shadows_capacity, image->n_shadows + 1, err));
    size_t at = image_shadow_lower(image, new->begin), past = at;
    while (past < image->n_by_address && image->shadows[image->by_address[past]].begin < new->end)
        past++;
    memmove(image->by_address + at + 1, image->by_address + past,
            (image->n_by_address - past) * sizeof *image->by_address);
    image->n_by_address -= past - at;
    image->by_address[at] = image->n_shadows;
    image->n_by_address++;
    image->shadows[image->n_shadows++] = *new;
    return HS_OK;
}

/* The place in a shadow where the bytes of a range go. */
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

/* A shadow for [begin, end), as large as *new says if there is room. */
static hs_status image_make_shadow(struct hs_image *image, struct hs_image_shadow *new,
                                   hs_addr begin, hs_addr end, struct hs_error *err)
{
    bool is_part = hs_image_shadow_reserve(image->paged, new, err) != HS_OK;

    if (is_part) {
        new->begin = begin; /* a limit on address space: reserve just this */
        new->end = end;
        HS_TRY(hs_image_shadow_reserve(image->paged, new, err));
    }
    new->is_part = is_part;
    hs_status status = image_add_shadow(image, new, err);
    if (status != HS_OK)
        hs_image_shadow_fini(image->paged, new);
    return status;
}

/* The place for [begin, end), which lies in mapping number `at`. */
static hs_status image_place(struct hs_image *image, const struct hs_target *target, size_t at,
                             hs_addr begin, hs_addr end, struct image_place *ret,
                             struct hs_error *err)
{
    size_t found = image_shadow_at(image, begin, end);
    struct hs_image_shadow new = {0};

    image_shadow_span(image, target, at, begin, end, &new);
    if (found != image->n_shadows && image_outgrown(&image->shadows[found], &new)) {
        const struct hs_image_shadow *old = &image->shadows[found];
        if (image->paged == NULL)
            hs_pages_discard(old->bytes, old->end - old->begin); /* of an earlier copy */
        found = image->n_shadows;
    }
    if (found == image->n_shadows)
        HS_TRY(image_make_shadow(image, &new, begin, end, err));
    ret->shadow = found;
    ret->bytes = image->shadows[found].bytes + (begin - image->shadows[found].begin);
    return HS_OK;
}

static hs_status image_is_full(struct hs_image *image, struct hs_error *err)
{
    char limit[HS_UNIT_TEXT_BYTES];

    image->is_full = true;
    hs_format_bytes(image->limit_bytes, limit);
    return hs_fail(err, HS_LIMIT, "the copy of the process does not fit in %s of memory", limit);
}

/* The file that shared memory is read from in place of the target: `address` is at offset +
 * (address - begin). */
struct hs_image_file {
    int fd;
    hs_addr begin;
    uint64_t offset;
};

static hs_status image_fetch(struct hs_image *image, struct hs_target *target, hs_addr begin,
                             uint8_t *bytes, size_t n_bytes, size_t *ret_n, struct hs_error *err)
{
    const struct hs_image_file *file = image->file;

    return file == NULL ? hs_target_read_some(target, begin, bytes, n_bytes, ret_n, err)
                        : hs_shared_read(target, file->fd, begin - file->begin + file->offset,
                                         bytes, n_bytes, ret_n, err);
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
    HS_TRY(image_fetch(image, target, begin - before, image->bounce, whole, &n, err));
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
    HS_TRY(image_fetch(image, target, begin, place, most, ret_n, err));
    image->kept_bytes += *ret_n;
    return HS_OK;
}

/* Is it memory that has no file which may have become shorter? What a core lacks is another matter.
 */
static bool image_is_nobodys_file(const struct hs_target *target, hs_addr at)
{
    const struct hs_mapping *m = hs_target_mapping_at(target, at);
    return m != NULL && target->core == NULL &&
           (m->inode == 0 || strncmp(hs_mapping_path(target, m), "/secretmem", 10) == 0);
}

/* Reads [begin, end) to its place and inserts it; unreadable pages become gaps. */
static hs_status image_read_run(struct hs_image *image, struct hs_target *target, hs_addr begin,
                                hs_addr end, struct image_place place, struct hs_error *err)
{
    if (image->paged == NULL)
        hs_pages_prefer_huge(place.bytes, end - begin);
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
            image->lacks_memory |= image_is_nobodys_file(target, begin);
            HS_TRY(image_add_gap(image, begin, begin + n, err));
        }
        begin += n;
        place.bytes += n;
    }
    return HS_OK;
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

static struct image_place image_place_at(struct image_place place, uint64_t offset)
{
    place.bytes += offset;
    return place;
}

/* The state of copying private anonymous memory. Up to `done` it is in the image, up to `there` it
 * is still to be read: runs that touch are read as one. */
struct image_anonymous {
    hs_addr begin, end;
    struct image_place place;
    hs_addr done, there;
};

static hs_status image_read_there(struct hs_image *image, struct hs_target *target,
                                  struct image_anonymous *what, struct hs_error *err)
{
    hs_addr begin = what->done;

    what->done = what->there;
    return image_read_run(image, target, begin, what->there,
                          image_place_at(what->place, begin - what->begin), err);
}

/* Up to `until` nothing is there. */
static hs_status image_pass_hole(struct hs_image *image, struct hs_target *target,
                                 struct image_anonymous *what, hs_addr until, struct hs_error *err)
{
    if (until <= what->there)
        return HS_OK;
    HS_TRY(image_read_there(image, target, what, err));
    hs_addr begin = what->done;
    what->done = what->there = until;
    return image_insert_zero(image, begin, until, image_place_at(what->place, begin - what->begin),
                             err);
}

static hs_status image_add_pages(struct hs_image *image, struct hs_target *target,
                                 struct image_anonymous *what, const struct hs_page_run *run,
                                 struct hs_error *err)
{
    hs_addr begin = run->begin > what->there ? run->begin : what->there;
    hs_addr end = run->end < what->end ? run->end : what->end;

    if (begin >= end)
        return HS_OK;
    HS_TRY(image_pass_hole(image, target, what, begin, err));
    what->there = end;
    if (run->kind & HS_PAGES_PRESENT)
        hs_image_shadow_set_present(&image->shadows[what->place.shadow], begin, end);
    return HS_OK;
}

/* Pages that are not there are zero in the shadow already. Where the system does not tell, all is
 * read, and taken as present. */
static hs_status image_copy_anonymous(struct hs_image *image, struct hs_target *target,
                                      hs_addr begin, hs_addr end, struct image_place place,
                                      struct hs_error *err)
{
    struct hs_page_run runs[IMAGE_RUNS];
    struct image_anonymous what = {begin, end, place, begin, begin};
    hs_addr at = begin, told;

    for (; at < end; at = told) {
        size_t n = hs_target_page_runs(target, at, end, runs, IMAGE_RUNS, &told);
        for (size_t i = 0; i < n; i++)
            HS_TRY(image_add_pages(image, target, &what, &runs[i], err));
        if (told <= at)
            break;
        HS_TRY(image_pass_hole(image, target, &what, told < end ? told : end, err));
    }
    if (at < end) {
        hs_image_shadow_set_present(&image->shadows[place.shadow], at, end);
        what.there = end;
    }
    return image_read_there(image, target, &what, err);
}

/* Memory of which only the pages that are there may be asked for: what the program has protected
 * since it wrote to it, else a reserve without a page. */
static bool image_goes_by_page(const struct hs_mapping *mapping)
{
    return !mapping->readable && !mapping->shared && mapping->inode == 0;
}

/* Such memory, and shared memory, in which to read where there is no page would make one: each run
 * of pages for itself, the rest is a gap. */
static hs_status image_copy_by_page(struct hs_image *image, struct hs_target *target, size_t at,
                                    hs_addr begin, hs_addr end, struct hs_error *err)
{
    struct hs_page_run runs[IMAGE_RUNS];
    struct image_place place;
    hs_addr told;

    while (begin < end && image->n_lone_runs < IMAGE_LONE_RUNS) {
        size_t n = hs_target_page_runs(target, begin, end, runs, IMAGE_RUNS, &told);
        for (size_t i = 0; i < n && image->n_lone_runs < IMAGE_LONE_RUNS; i++) {
            HS_TRY(image_add_gap(image, begin, runs[i].begin, err));
            begin = runs[i].end;
            image->n_lone_runs++;
            HS_TRY(image_place(image, target, at, runs[i].begin, begin, &place, err));
            hs_image_shadow_set_present(&image->shadows[place.shadow], runs[i].begin, begin);
            HS_TRY(image_read_run(image, target, runs[i].begin, begin, place, err));
        }
        if (told <= begin && n == 0)
            break;
        if (image->n_lone_runs < IMAGE_LONE_RUNS && told > begin) {
            HS_TRY(image_add_gap(image, begin, told, err));
            begin = told;
        }
    }
    image->lacks_runs |= begin < end;
    return image_add_gap(image, begin, end, err);
}

/* Shared memory by its file: each part that has pages for itself, the rest is a gap. */
static hs_status image_copy_file(struct hs_image *image, struct hs_target *target, size_t at,
                                 hs_addr begin, hs_addr end, struct hs_error *err)
{
    const uint64_t shift = image->file->offset - image->file->begin; /* may wrap, and back again */
    struct image_place place;
    uint64_t from, to;

    while (image->n_lone_runs < IMAGE_LONE_RUNS &&
           hs_shared_next(image->file->fd, begin + shift, end + shift, &from, &to)) {
        HS_TRY(image_add_gap(image, begin, from - shift, err));
        begin = to - shift;
        image->n_lone_runs++;
        HS_TRY(image_place(image, target, at, from - shift, begin, &place, err));
        hs_image_shadow_set_present(&image->shadows[place.shadow], from - shift, begin);
        HS_TRY(image_read_run(image, target, from - shift, begin, place, err));
    }
    image->lacks_runs |= begin < end && image->n_lone_runs == IMAGE_LONE_RUNS;
    return image_add_gap(image, begin, end, err);
}

static hs_status image_copy_shared(struct hs_image *image, struct hs_target *target, size_t at,
                                   hs_addr begin, hs_addr end, struct hs_error *err)
{
    const struct hs_mapping *mapping = &target->mappings[at];
    const struct hs_image_file file = {hs_shared_open(target, mapping), mapping->begin,
                                       mapping->file_offset};

    if (file.fd < 0) {
        HS_TRY(image_copy_by_page(image, target, at, begin, end, err));
        image->lacks_shared |= target->core == NULL && hs_shared_is_in_memory(target, mapping) &&
                               hs_image_resident_bytes(image, begin, end) < end - begin;
        return HS_OK;
    }
    image->file = &file;
    hs_status status = image_copy_file(image, target, at, begin, end, err);
    image->file = NULL;
    (void)close(file.fd);
    return status;
}

/* Copies only the pages that are there, of memory for which there is not even room to reserve
 * addresses: in the rest there is nothing to be found. */
static hs_status image_copy_parts(struct hs_image *image, struct hs_target *target, size_t at,
                                  hs_addr begin, hs_addr end, struct hs_error *err)
{
    struct hs_page_run runs[IMAGE_RUNS];
    struct image_place place;
    hs_addr told;

    for (; begin < end; begin = told) {
        size_t n = hs_target_page_runs(target, begin, end, runs, IMAGE_RUNS, &told);
        if (told <= begin)
            return hs_fail(err, HS_LIMIT, "there is no room for %llu bytes of addresses",
                           (unsigned long long)(end - begin));
        told = told < end ? told : end;
        for (size_t i = 0; i < n; i++) {
            hs_addr from = runs[i].begin > begin ? runs[i].begin : begin;
            hs_addr to = runs[i].end < told ? runs[i].end : told;
            HS_TRY(image_place(image, target, at, from, to, &place, err));
            if (runs[i].kind & HS_PAGES_PRESENT)
                hs_image_shadow_set_present(&image->shadows[place.shadow], from, to);
            HS_TRY(image_read_run(image, target, from, to, place, err));
        }
    }
    return HS_OK;
}

/* [begin, end) lies in mapping number `at` and nothing of it is in the image yet. */
static hs_status image_copy_mapped(struct hs_image *image, struct hs_target *target, size_t at,
                                   hs_addr begin, hs_addr end, struct hs_error *err)
{
    const struct hs_mapping *mapping = &target->mappings[at];
    const char *path = hs_mapping_path(target, mapping);
    struct image_place place;

    if (hs_mapping_is_shared_memory(target, mapping))
        return image_copy_shared(image, target, at, begin, end, err);
    if (image_goes_by_page(mapping))
        return image_copy_by_page(image, target, at, begin, end, err);
    if (!mapping->readable)
        return image_add_gap(image, begin, end, err);
    bool special = path[0] == '[' && (strncmp(path, "[v", 2) == 0); /* vdso, vvar, vsyscall */
    bool is_anonymous = mapping->inode == 0 && !mapping->shared && !special;
    hs_status status = image_place(image, target, at, begin, end, &place, err);
    if (status == HS_LIMIT && is_anonymous)
        return image_copy_parts(image, target, at, begin, end, err);
    HS_TRY(status);
    if (is_anonymous)
        return image_copy_anonymous(image, target, begin, end, place, err);
    hs_image_shadow_set_present(&image->shadows[place.shadow], begin, end);
    return image_read_run(image, target, begin, end, place, err);
}

/* Number of the first mapping that ends behind `address`. */
static size_t image_first_mapping(const struct hs_target *target, hs_addr address)
{
    return HS_FIRST_ABOVE(target->mappings, target->n_mappings, end, address);
}

/* Copies [begin, end), of which nothing is in the image yet. */
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
                       : hs_image_shadow_present_bytes(&image->shadows[range->shadow], begin, stop);
        begin = stop;
    }
    return n_bytes;
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
        if (hs_image_shadow_present_part(&image->shadows[range->shadow], begin, stop, ret_begin,
                                         ret_end))
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

static inline bool load(const struct hs_image *image, hs_addr address, void *ret, size_t n_bytes)
{
    const uint8_t *bytes = hs_image_bytes(image, address, n_bytes);
    if (bytes != NULL)
        memcpy(ret, bytes, n_bytes);
    return bytes != NULL;
}

bool hs_image_u64(const struct hs_image *image, hs_addr address, uint64_t *ret)
{
    return load(image, address, ret, sizeof *ret);
}

bool hs_image_u32(const struct hs_image *image, hs_addr address, uint32_t *ret)
{
    return load(image, address, ret, sizeof *ret);
}

bool hs_image_u16(const struct hs_image *image, hs_addr address, uint16_t *ret)
{
    return load(image, address, ret, sizeof *ret);
}

bool hs_image_u8(const struct hs_image *image, hs_addr address, uint8_t *ret)
{
    return load(image, address, ret, sizeof *ret);
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
