/* Finds by pointers where threads have their magazines, and where the chunks of a slab begin that
 * has no free one. */
#include "base/alloc.h"
#include "base/load.h"
#include "gobject/types.h"
#include "gslice/slabs.h"

enum {
    THREAD_FIRST = 16,
    THREAD_SECOND = THREAD_FIRST + GSLICE_N_CLASSES * 16,
    MOST_THREADS = 65536
};

static hs_status pointers_add_thread(struct gslice *gslice, hs_addr at, struct hs_error *err)
{
    if (gslice->n_threads == MOST_THREADS)
        return HS_OK;
    HS_TRY(HS_GROW(&gslice->threads, &gslice->threads_capacity, gslice->n_threads + 1, err));
    gslice->threads[gslice->n_threads++] = at;
    return HS_OK;
}

/* A chunk of the slab may begin at `offset`. */
static void pointers_vote_at(struct gslice *gslice, const struct gslice_slab *slab, uint32_t offset)
{
    const struct gslice_form form = hs_gslice_form(slab->class_number);
    uint32_t colour = offset % form.chunk_bytes, chunk = offset / form.chunk_bytes;

    if (colour % GSLICE_STEP == 0 && colour / GSLICE_STEP < form.n_colours && chunk < form.n_chunks)
        gslice->votes[slab->votes_at + colour / GSLICE_STEP] |= (uint32_t)1 << chunk;
}

/* A pointer says that the chunk it leads to begins there, or, where an instance of GObject is, its
 * private parts before it. Pointers to members say wrong things, but not of every chunk. */
static void pointers_vote(struct gslice *gslice, uint64_t word)
{
    const struct gslice_slab *slab = hs_gslice_slab_at(gslice, word);
    uint16_t before = 0;

    if (slab == NULL || slab->colour_by != GSLICE_BY_NOTHING || word % HS_WORD_BYTES != 0)
        return;
    uint32_t offset = (uint32_t)(word - slab->begin);
    (void)hs_gobject_is_instance(gslice->process->image, word, &before);
    if (before <= offset)
        pointers_vote_at(gslice, slab, offset - before);
}

/* Instances of GObject say where they begin, whoever leads to them. */
static void pointers_vote_within(struct gslice *gslice, const struct gslice_slab *slab)
{
    const uint32_t n_bytes = hs_gslice_form(slab->class_number).slab_bytes - GSLICE_INFO_BYTES;
    uint16_t before;

    for (uint32_t offset = 0; offset < n_bytes; offset += HS_WORD_BYTES)
        if (hs_gobject_is_instance(gslice->process->image, slab->begin + offset, &before) &&
            before <= offset)
            pointers_vote_at(gslice, slab, offset - before);
}

/* The words of a part of the copy, in one piece. */
static hs_status pointers_read(struct gslice *gslice, hs_addr begin, hs_addr end,
                               struct hs_error *err)
{
    const uint8_t *bytes = hs_image_bytes(gslice->process->image, begin, end - begin);
    const struct gslice_slab *last = &gslice->slabs[gslice->n_slabs - 1];
    const hs_addr least = gslice->slabs[0].begin;
    const uint64_t room = last->begin + GSLICE_LARGEST_SLAB - least;

    for (hs_addr at = 0; bytes != NULL && at + HS_WORD_BYTES <= end - begin; at += HS_WORD_BYTES) {
        uint64_t word = hs_load_u64(bytes + at);
        if (word == begin + at + THREAD_FIRST && end - begin - at >= THREAD_FIRST &&
            hs_load_u64(bytes + at + HS_WORD_BYTES) == begin + at + THREAD_SECOND)
            HS_TRY(pointers_add_thread(gslice, begin + at, err));
        if (word - least < room)
            pointers_vote(gslice, word);
    }
    return HS_OK;
}

/* Room for what may be said of the slabs of which nothing is known. */
static hs_status pointers_reserve(struct gslice *gslice, struct hs_error *err)
{
    for (size_t i = 0; i < gslice->n_slabs; i++) {
        struct gslice_slab *slab = &gslice->slabs[i];
        const struct gslice_form form = hs_gslice_form(slab->class_number);
        if (slab->colour_by != GSLICE_BY_NOTHING)
            continue;
        HS_TRY(HS_GROW(&gslice->votes, &gslice->votes_capacity, gslice->n_votes + form.n_colours,
                       err));
        slab->votes_at = (uint32_t)gslice->n_votes;
        for (uint32_t j = 0; j < form.n_colours; j++)
            gslice->votes[gslice->n_votes++] = 0;
    }
    return HS_OK;
}

hs_status hs_gslice_read_pointers(struct gslice *gslice, struct hs_error *err)
{
    const struct hs_image *image = gslice->process->image;

    HS_TRY(pointers_reserve(gslice, err));
    for (size_t i = 0; gslice->n_slabs != 0 && i < image->n_ranges; i++) {
        const struct hs_image_range *range = &image->ranges[i];
        hs_addr at = range->begin, part, part_end;
        for (; hs_image_next_present(image, at, range->end, &part, &part_end); at = part_end)
            HS_TRY(pointers_read(gslice, part, part_end, err));
    }
    return HS_OK;
}

/* The colour that most chunks speak for, if it is one. */
static void pointers_count(const struct gslice *gslice, struct gslice_slab *slab)
{
    const uint32_t n_colours = hs_gslice_form(slab->class_number).n_colours;
    int most = 0;

    for (uint32_t i = 0; i < n_colours; i++) {
        int n = __builtin_popcount(gslice->votes[slab->votes_at + i]);
        if (n == most)
            slab->colour_by = GSLICE_BY_NOTHING; /* as many for one as for another */
        if (n <= most)
            continue;
        most = n;
        slab->colour = (uint16_t)(i * GSLICE_STEP);
        slab->colour_by = GSLICE_BY_POINTERS;
    }
}

void hs_gslice_settle_colours(struct gslice *gslice)
{
    for (size_t i = 0; i < gslice->n_slabs; i++) {
        struct gslice_slab *slab = &gslice->slabs[i];
        if (slab->colour_by == GSLICE_BY_NOTHING)
            pointers_count(gslice, slab);
        if (slab->colour_by != GSLICE_BY_NOTHING)
            continue;
        pointers_vote_within(gslice, slab);
        pointers_count(gslice, slab);
    }
}
