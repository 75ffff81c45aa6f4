/* Finds GLib's allocator of slices, and all slabs by its rings. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "data_words.h"
#include "gslice/slabs.h"

/* struct _Allocator */
enum {
    ALLOCATOR_LEAST_SLAB = 128, /* its first word */
    ALLOCATOR_LIMIT = 48,       /* the largest chunk that magazines take; 0: they are not used */
    ALLOCATOR_MAGAZINES = 64,
    ALLOCATOR_SLABS = 104,
    ALLOCATOR_BYTES = 120,
    LARGEST_CHUNK = 1018,
};

struct gslice_form hs_gslice_form(unsigned class_number)
{
    struct gslice_form form = {.chunk_bytes = GSLICE_STEP * (class_number + 1)};

    form.slab_bytes = ALLOCATOR_LEAST_SLAB;
    while (form.slab_bytes < 8 * form.chunk_bytes + GSLICE_INFO_BYTES)
        form.slab_bytes *= 2;
    uint32_t room = form.slab_bytes - GSLICE_INFO_BYTES;
    form.n_chunks = room / form.chunk_bytes;
    uint32_t rest = room % form.chunk_bytes;
    form.n_colours = rest == 0 ? 1 : (rest + GSLICE_STEP - 1) / GSLICE_STEP;
    return form;
}

struct gslice_slab *hs_gslice_slab_at(const struct gslice *gslice, hs_addr address)
{
    size_t after = HS_FIRST_ABOVE(gslice->slabs, gslice->n_slabs, begin, address);

    if (after == 0)
        return NULL;
    struct gslice_slab *slab = &gslice->slabs[after - 1];
    return address - slab->begin < hs_gslice_form(slab->class_number).slab_bytes ? slab : NULL;
}

/* An empty table of slabs is one, too: a program may have freed all. */
static bool locate_is_allocator(const struct hs_image *image, hs_addr address)
{
    const uint8_t *bytes = hs_image_bytes(image, address, ALLOCATOR_BYTES);

    if (bytes == NULL || hs_load_u64(bytes) != ALLOCATOR_LEAST_SLAB ||
        hs_load_u64(bytes + 8) != GSLICE_LARGEST_SLAB)
        return false;
    uint64_t limit = hs_load_u64(bytes + ALLOCATOR_LIMIT);
    const size_t n_bytes = GSLICE_N_CLASSES * HS_WORD_BYTES;
    return (limit == LARGEST_CHUNK || limit == 0) &&
           hs_image_bytes(image, hs_load_u64(bytes + ALLOCATOR_MAGAZINES), n_bytes) != NULL &&
           hs_image_bytes(image, hs_load_u64(bytes + ALLOCATOR_SLABS), n_bytes) != NULL;
}

static void locate_in(struct gslice *gslice, const struct hs_object *object)
{
    struct hs_data_words words = {.process = gslice->process, .object = object};
    hs_addr address;
    uint64_t word;

    while (gslice->n_allocators < GSLICE_MOST_ALLOCATORS &&
           hs_data_words_next(&words, &address, &word))
        if (word == ALLOCATOR_LEAST_SLAB && locate_is_allocator(gslice->process->image, address))
            gslice->allocators[gslice->n_allocators++] = address;
}

/* The record at the end of a slab. */
struct slab_info {
    uint64_t chunks, next, previous;
    uint32_t n_in_use;
};

static bool locate_info(const struct hs_image *image, hs_addr address, struct slab_info *ret)
{
    const uint8_t *bytes = address % GSLICE_STEP != 0 ? NULL : hs_image_bytes(image, address, 32);

    if (bytes == NULL)
        return false;
    *ret = (struct slab_info){.chunks = hs_load_u64(bytes),
                              .n_in_use = hs_load_u32(bytes + 8),
                              .next = hs_load_u64(bytes + 16),
                              .previous = hs_load_u64(bytes + 24)};
    return true;
}

/* All slabs of a ring. Each names the one before it, so that the walk can only end where it began,
 * or where the ring is broken. */
static hs_status locate_ring(struct gslice *gslice, unsigned class_number, hs_addr head,
                             struct hs_error *err)
{
    const struct hs_image *image = gslice->process->image;
    const struct gslice_form form = hs_gslice_form(class_number);
    hs_addr at = head;
    struct slab_info info, next;

    do {
        hs_addr begin = at + GSLICE_INFO_BYTES - form.slab_bytes;
        if (!locate_info(image, at, &info) || begin % form.slab_bytes != 0 ||
            begin >= HS_USER_END || gslice->n_slabs == gslice->most_slabs ||
            info.n_in_use > form.n_chunks || !locate_info(image, info.next, &next) ||
            next.previous != at) {
            gslice->n_broken++;
            return HS_OK;
        }
        HS_TRY(HS_GROW(&gslice->slabs, &gslice->capacity, gslice->n_slabs + 1, err));
        gslice->slabs[gslice->n_slabs++] =
            (struct gslice_slab){.begin = begin,
                                 .first_free = info.chunks,
                                 .n_in_use = info.n_in_use,
                                 .class_number = (uint8_t)class_number};
        at = info.next;
    } while (at != head);
    return HS_OK;
}

static hs_status locate_slabs(struct gslice *gslice, hs_addr allocator, struct hs_error *err)
{
    const struct hs_image *image = gslice->process->image;
    hs_addr table, head;

    for (unsigned i = 0; i < GSLICE_N_CLASSES; i++)
        if (hs_image_u64(image, allocator + ALLOCATOR_SLABS, &table) &&
            hs_image_u64(image, table + i * HS_WORD_BYTES, &head) && head != 0)
            HS_TRY(locate_ring(gslice, i, head, err));
    return HS_OK;
}

static int locate_compare(const void *left, const void *right)
{
    const struct gslice_slab *a = left, *b = right;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

/* Rings of damaged memory may lead through others' slabs. */
static void locate_disjoin(struct gslice *gslice)
{
    size_t n = 0;
    hs_addr end = 0;

    if (gslice->n_slabs > 1)
        qsort(gslice->slabs, gslice->n_slabs, sizeof *gslice->slabs, locate_compare);
    for (size_t i = 0; i < gslice->n_slabs; i++) {
        struct gslice_slab slab = gslice->slabs[i];
        if (slab.begin < end) {
            gslice->n_broken++;
            continue;
        }
        end = slab.begin + hs_gslice_form(slab.class_number).slab_bytes;
        gslice->slabs[n++] = slab;
    }
    gslice->n_slabs = n;
}

hs_status hs_gslice_locate(struct gslice *gslice, struct hs_error *err)
{
    const struct hs_objects *objects = gslice->process->objects;
    struct hs_live_symbol symbol;

    for (size_t i = 0; objects != NULL && i < objects->n; i++)
        if (hs_object_find(&objects->objects[i], "g_slice_alloc", &symbol))
            locate_in(gslice, &objects->objects[i]);
    gslice->most_slabs =
        hs_image_resident_bytes(gslice->process->image, 0, UINT64_MAX) / GSLICE_LEAST_SLAB;
    for (size_t i = 0; i < gslice->n_allocators; i++)
        HS_TRY(locate_slabs(gslice, gslice->allocators[i], err));
    locate_disjoin(gslice);
    return HS_OK;
}
