/* Finds the segments of mimalloc by what stands before their slices, and all their pages. */
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "mimalloc/segments.h"

/* The words before the slices, from the number of slices on. */
enum {
    TAIL_SLICES,
    TAIL_OF_HEADER,
    TAIL_KIND, /* 32 bits */
    TAIL_ENTRIES,
    TAIL_THREAD,
    TAIL_WORDS
};
enum {
    MOST_OF_HEADER = 16,
    LEAST_WORDS = 12,
    GUARD_SLICES = 1, /* a secure build has one at the end that is nobody's */
};

/* Words of the cookie before the tail: 2.1.9 and later have two words in between. */
static const unsigned cookie_before[] = {1, 3};

/* The state of the search, in which a segment's layout is chosen by how many pages each layout
 * finds in all. */
struct locate {
    struct mimalloc *mimalloc;
    uint64_t totals[MIMALLOC_N_LAYOUTS]; /* pages that each layout finds, of all segments */
};

static uint64_t word_at(const uint8_t *bytes, unsigned number)
{
    return hs_load_u64(bytes + number * HS_WORD_BYTES);
}

/* Do the words at `tail` and the first entry behind them look like the end of a header? */
static bool locate_is_tail(const uint8_t *bytes, unsigned tail)
{
    const uint8_t *entry = bytes + (tail + TAIL_WORDS) * HS_WORD_BYTES;
    uint64_t n_slices = word_at(bytes, tail + TAIL_SLICES);
    uint64_t n_header = word_at(bytes, tail + TAIL_OF_HEADER);
    uint32_t kind = hs_load_u32(bytes + (tail + TAIL_KIND) * HS_WORD_BYTES);

    if (kind > 1 || n_header == 0 || n_header > MOST_OF_HEADER || n_slices <= n_header ||
        n_slices > HS_USER_END / MIMALLOC_SLICE || (kind == 0 && n_slices != MIMALLOC_SLICES))
        return false;
    uint64_t n_most = n_slices < MIMALLOC_SLICES ? n_slices : MIMALLOC_SLICES;
    uint64_t n_entries = word_at(bytes, tail + TAIL_ENTRIES);
    return n_entries <= n_most && n_entries + GUARD_SLICES >= n_most &&
           hs_load_u32(entry) == n_header && hs_load_u32(entry + 4) == 0;
}

/* The number of the first word of the tail; 0: there is none. */
static unsigned locate_tail(const uint8_t *bytes)
{
    for (unsigned i = LEAST_WORDS; i + TAIL_WORDS + 1 < MIMALLOC_HEADER_WORDS; i++)
        if (locate_is_tail(bytes, i))
            return i;
    return 0;
}

/* ---- the pages of a segment */

/* Goes over the runs of slices; every one must be where the one before ends, the last must end
 * where the segment does. Counts the pages, or adds them. */
struct locate_walk {
    const struct mimalloc_segment *segment;
    const struct mimalloc_layout *layout;
    const uint8_t *entries;
    uint64_t slice, n_slices; /* the next run; of all */
    struct mimalloc_page page;
    bool is_page;
};

static bool locate_walk_begin(const struct mimalloc *mimalloc,
                              const struct mimalloc_segment *segment,
                              const struct mimalloc_layout *layout, struct locate_walk *ret)
{
    *ret = (struct locate_walk){
        .segment = segment,
        .layout = layout,
        .slice = (segment->pages - segment->begin) / MIMALLOC_SLICE,
        .n_slices = (segment->end - segment->begin) / MIMALLOC_SLICE,
        .entries = hs_image_bytes(mimalloc->process->image, segment->begin + segment->at_slices,
                                  (size_t)segment->n_entries * layout->entry_bytes)};
    return ret->entries != NULL;
}

/* The next run; false at the end, and where there is damage. */
static bool locate_walk_next(struct locate_walk *walk)
{
    if (walk->slice >= walk->segment->n_entries)
        return false;
    const uint8_t *entry = walk->entries + walk->slice * walk->layout->entry_bytes;
    uint32_t n = hs_load_u32(entry);
    if (n == 0 || n > walk->n_slices - walk->slice || hs_load_u32(entry + 4) != 0)
        return false;
    hs_addr begin = walk->segment->begin + walk->slice * MIMALLOC_SLICE;
    walk->is_page = hs_mimalloc_is_page(walk->layout, entry);
    if (walk->is_page &&
        !hs_mimalloc_page(walk->layout, entry, begin, begin + n * MIMALLOC_SLICE, &walk->page))
        return false;
    walk->page.thread = walk->segment->thread;
    walk->page.entry =
        walk->segment->begin + walk->segment->at_slices + walk->slice * walk->layout->entry_bytes;
    walk->slice += n;
    return true;
}

static bool locate_walk_is_complete(const struct locate_walk *walk)
{
    return walk->slice <= walk->n_slices && walk->slice + GUARD_SLICES >= walk->n_slices;
}

/* Does the segment say that it has so many pages in use? Then what is behind that is its cookie. It
 * says that it has none in every place, since what else may stand there (those of a thread that has
 * ended, a link) is 0 in most segments. */
static bool locate_counts(const struct mimalloc *mimalloc, const struct mimalloc_segment *segment,
                          uint64_t n_pages)
{
    const unsigned n_places = sizeof cookie_before / sizeof *cookie_before;
    const uint8_t *tail = hs_image_bytes(
        mimalloc->process->image,
        segment->begin + segment->at_slices - (TAIL_WORDS + 4) * HS_WORD_BYTES, 4 * HS_WORD_BYTES);
    unsigned n_agree = 0;

    for (unsigned i = 0; tail != NULL && i < n_places; i++)
        n_agree += word_at(tail, 4 - cookie_before[i] - 1) == n_pages;
    return n_pages == 0 ? n_agree == n_places : n_agree != 0;
}

/* Counts the pages that the layout finds; false where it does not fit the segment. A layout that
 * finds none takes the pages of another one for free slices, so it fits only where the segment says
 * that it has none. */
static bool locate_fits(const struct mimalloc *mimalloc, const struct mimalloc_segment *segment,
                        unsigned layout, uint64_t *ret_n_pages)
{
    struct locate_walk walk;
    uint64_t n_pages = 0;

    if (!locate_walk_begin(mimalloc, segment, &hs_mimalloc_layouts[layout], &walk))
        return false;
    while (locate_walk_next(&walk))
        n_pages += walk.is_page;
    *ret_n_pages = n_pages;
    return locate_walk_is_complete(&walk) && (n_pages != 0 || locate_counts(mimalloc, segment, 0));
}

/* ---- segments */

static hs_status locate_segment(struct locate *l, hs_addr address, hs_addr present_end,
                                struct hs_error *err)
{
    const size_t n_bytes = MIMALLOC_HEADER_WORDS * HS_WORD_BYTES;
    const uint8_t *bytes = present_end - address < n_bytes
                               ? NULL
                               : hs_image_bytes(l->mimalloc->process->image, address, n_bytes);
    unsigned tail = bytes == NULL ? 0 : locate_tail(bytes);
    uint64_t n_pages;

    if (tail == 0)
        return HS_OK;
    struct mimalloc *m = l->mimalloc;
    struct mimalloc_segment segment = {
        .begin = address,
        .end = address + word_at(bytes, tail + TAIL_SLICES) * MIMALLOC_SLICE,
        .pages = address + word_at(bytes, tail + TAIL_OF_HEADER) * MIMALLOC_SLICE,
        .thread = word_at(bytes, tail + TAIL_THREAD),
        .at_slices = (tail + TAIL_WORDS) * HS_WORD_BYTES,
        .n_entries = (uint16_t)word_at(bytes, tail + TAIL_ENTRIES)};
    if (segment.end > HS_USER_END)
        return HS_OK;
    for (unsigned i = 0; i < MIMALLOC_N_LAYOUTS; i++)
        if (locate_fits(m, &segment, i, &n_pages))
            l->totals[i] += 1 + n_pages;
    HS_TRY(HS_GROW(&m->segments, &m->segments_capacity, m->n_segments + 1, err));
    m->segments[m->n_segments++] = segment;
    return HS_OK;
}

/* A header was written, whatever else was not: memory that is not there is passed over, however
 * much of it there is. */
static hs_status locate_in(struct locate *l, const struct hs_mapping *mapping, struct hs_error *err)
{
    const struct hs_image *image = l->mimalloc->process->image;
    hs_addr at = mapping->begin, part, part_end;

    while (hs_image_next_present(image, at, mapping->end, &part, &part_end)) {
        at = (part + MIMALLOC_SEGMENT - 1) & ~(MIMALLOC_SEGMENT - 1);
        for (; at < part_end; at += MIMALLOC_SEGMENT)
            HS_TRY(locate_segment(l, at, part_end, err));
        if (at >= mapping->end)
            break;
    }
    return HS_OK;
}

/* Chooses the layout of a segment, of those that fit it the one that finds the most pages of all
 * segments. False: none fits. */
static bool locate_choose(const struct locate *l, struct mimalloc_segment *segment,
                          uint64_t *ret_n_pages)
{
    uint64_t best = 0, n_pages;

    for (unsigned i = 0; i < MIMALLOC_N_LAYOUTS; i++)
        if (l->totals[i] > best && locate_fits(l->mimalloc, segment, i, &n_pages)) {
            best = l->totals[i];
            segment->layout = (uint8_t)i;
            *ret_n_pages = n_pages;
        }
    return best != 0;
}

static hs_status locate_add_pages(struct mimalloc *m, const struct mimalloc_segment *segment,
                                  struct hs_error *err)
{
    struct locate_walk walk;

    if (!locate_walk_begin(m, segment, &hs_mimalloc_layouts[segment->layout], &walk))
        return HS_OK;
    while (locate_walk_next(&walk)) {
        if (!walk.is_page || walk.page.capacity == 0)
            continue;
        HS_TRY(HS_GROW(&m->pages, &m->pages_capacity, m->n_pages + 1, err));
        m->pages[m->n_pages++] = walk.page;
    }
    return HS_OK;
}

/* A header that fits has all that it says: what looks like one in there is the contents of a huge
 * block. But a header whose segment was given back may stay as it was, and then it says that it has
 * no pages: it has what is before the next. */
static bool locate_holds(const struct mimalloc_segment *last, hs_addr address)
{
    return !last->is_empty && last->end > address;
}

static void locate_keep(struct mimalloc *m, size_t *n, const struct mimalloc_segment *segment)
{
    if (*n != 0 && m->segments[*n - 1].end > segment->begin)
        m->segments[*n - 1].end = segment->begin;
    m->segments[(*n)++] = *segment;
}

/* One segment that is sound all through says that there is a mimalloc; others that are not are then
 * damaged, or were caught in a change. */
static hs_status locate_settle(struct locate *l, struct hs_error *err)
{
    struct mimalloc *m = l->mimalloc;
    size_t n = 0;
    bool is_sure = false;

    for (size_t i = 0; i < m->n_segments; i++) {
        struct mimalloc_segment segment = m->segments[i];
        uint64_t n_pages = 0;
        if (n != 0 && locate_holds(&m->segments[n - 1], segment.begin))
            continue;
        if (!locate_choose(l, &segment, &n_pages)) {
            m->n_damaged++;
            continue;
        }
        segment.is_empty = n_pages == 0;
        segment.is_sound = locate_counts(m, &segment, n_pages);
        is_sure |= segment.is_sound;
        locate_keep(m, &n, &segment);
    }
    m->n_segments = is_sure ? n : 0;
    m->n_damaged = is_sure ? m->n_damaged : 0;
    for (size_t i = 0; i < m->n_segments; i++)
        HS_TRY(locate_add_pages(m, &m->segments[i], err));
    return HS_OK;
}

hs_status hs_mimalloc_locate(struct mimalloc *mimalloc, struct hs_error *err)
{
    const struct hs_target *target = mimalloc->process->target;
    struct locate l = {.mimalloc = mimalloc};

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        if (m->inode == 0 && !m->shared && m->writable && m->end <= HS_USER_END)
            HS_TRY(locate_in(&l, m, err));
    }
    return locate_settle(&l, err);
}
