/* Free chunks: of slabs, and of magazines. */
#include "gslice/slabs.h"

enum { ALLOCATOR_MAGAZINES = 64, MAGAZINE_BYTES = 16, THREAD_HEAD_BYTES = 16 };

/* The number of the chunk that begins at `address`; false when none can. The first chunk that is
 * seen tells the colour of the slab. */
static bool free_chunk(struct gslice_slab *slab, hs_addr address, uint32_t *ret)
{
    const struct gslice_form form = hs_gslice_form(slab->class_number);
    uint64_t offset = address - slab->begin;

    if (offset >= form.slab_bytes)
        return false;
    uint32_t colour = (uint32_t)offset % form.chunk_bytes;
    *ret = (uint32_t)offset / form.chunk_bytes;
    if (colour % GSLICE_STEP != 0 || colour / GSLICE_STEP >= form.n_colours ||
        *ret >= form.n_chunks)
        return false;
    if (slab->colour_by != GSLICE_BY_CHUNKS) {
        slab->colour = (uint16_t)colour;
        slab->colour_by = GSLICE_BY_CHUNKS;
    }
    return colour == slab->colour;
}

static void free_read_slab(const struct hs_image *image, struct gslice_slab *slab)
{
    const struct gslice_form form = hs_gslice_form(slab->class_number);
    hs_addr at = slab->first_free;
    uint32_t chunk, n = 0;

    if (form.n_colours == 1)
        slab->colour_by = GSLICE_BY_CHUNKS; /* there is only one */
    while (at != 0 && free_chunk(slab, at, &chunk) && (slab->free >> chunk & 1) == 0) {
        slab->free |= (uint32_t)1 << chunk;
        n++;
        if (!hs_image_u64(image, at, &at))
            return;
    }
    slab->is_sound = at == 0 && n == form.n_chunks - slab->n_in_use;
}

void hs_gslice_read_slabs(struct gslice *gslice)
{
    for (size_t i = 0; i < gslice->n_slabs; i++)
        free_read_slab(gslice->process->image, &gslice->slabs[i]);
}

/* ---- magazines: a list of chunks, each of which may have a list of others */

/* False when the chunk was taken before, or is none: then a list is at its end, or damaged. */
static bool free_take(struct gslice *gslice, unsigned class_number, hs_addr at)
{
    struct gslice_slab *slab = hs_gslice_slab_at(gslice, at);
    uint32_t chunk;

    if (slab == NULL || slab->class_number != class_number || !free_chunk(slab, at, &chunk) ||
        ((slab->free | slab->cached) >> chunk & 1) != 0)
        return false;
    slab->cached |= (uint32_t)1 << chunk;
    return true;
}

/* The words of a free chunk: the next one, and a list of others or what a depot notes. */
static bool free_links(const struct gslice *gslice, hs_addr at, hs_addr *ret_next,
                       hs_addr *ret_data)
{
    return hs_image_u64(gslice->process->image, at, ret_next) &&
           hs_image_u64(gslice->process->image, at + HS_WORD_BYTES, ret_data);
}

static void free_take_list(struct gslice *gslice, unsigned class_number, hs_addr at)
{
    hs_addr data;

    while (at != 0 && free_take(gslice, class_number, at) && free_links(gslice, at, &at, &data))
        continue;
}

/* Takes the free slots of a magazine, from a chunk on; the first n_noted chunks have something else
 * in place of a list. */
static void free_take_magazine(struct gslice *gslice, unsigned class_number, hs_addr at,
                               unsigned n_noted)
{
    hs_addr data;

    while (at != 0 && free_take(gslice, class_number, at) && free_links(gslice, at, &at, &data)) {
        if (n_noted != 0)
            n_noted--;
        else
            free_take_list(gslice, class_number, data);
    }
}

/* The depot's magazines of a class are a ring: the next one is named by the third chunk, what else
 * is noted stands in the first four. */
static void free_take_depot(struct gslice *gslice, unsigned class_number, hs_addr head)
{
    enum { N_NOTED = 4 };
    hs_addr at = head, second, third, next, data;

    do {
        if (!free_links(gslice, at, &second, &data) || !free_links(gslice, second, &third, &data) ||
            !free_links(gslice, third, &data, &next) || !free_take(gslice, class_number, at))
            return;
        free_take_magazine(gslice, class_number, second, N_NOTED - 1);
        at = next;
    } while (at != head);
}

/* The two magazines of each class that a thread has. */
static void free_take_thread(struct gslice *gslice, hs_addr thread)
{
    hs_addr chunks;

    for (unsigned i = 0; i < 2 * GSLICE_N_CLASSES; i++)
        if (hs_image_u64(gslice->process->image, thread + THREAD_HEAD_BYTES + i * MAGAZINE_BYTES,
                         &chunks))
            free_take_magazine(gslice, i % GSLICE_N_CLASSES, chunks, 0);
}

void hs_gslice_read_magazines(struct gslice *gslice)
{
    const struct hs_image *image = gslice->process->image;
    hs_addr table, head;

    for (size_t i = 0; i < gslice->n_threads; i++)
        free_take_thread(gslice, gslice->threads[i]);
    for (size_t i = 0; i < gslice->n_allocators; i++)
        for (unsigned class_number = 0; class_number < GSLICE_N_CLASSES; class_number++)
            if (hs_image_u64(image, gslice->allocators[i] + ALLOCATOR_MAGAZINES, &table) &&
                hs_image_u64(image, table + class_number * HS_WORD_BYTES, &head) && head != 0)
                free_take_depot(gslice, class_number, head);
}
