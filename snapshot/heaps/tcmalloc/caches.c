/* Blocks that are free, and in use for their spans: in central lists and in caches of threads. */
#include "base/load.h"
#include "tcmalloc/parts.h"

/* Offsets from the member that has the number of the class (CentralFreeList). */
enum {
    CENTRAL_FREE = 112,
    CENTRAL_SLOTS = 120,
    CENTRAL_USED = CENTRAL_SLOTS + 16 * TCMALLOC_SLOTS
};

struct caching {
    const struct tcmalloc *tcmalloc;
    struct hs_heap_map *map;
    struct hs_ledger *ledger;
    struct tcmalloc_cached *sum;
};

struct taken {
    uint64_t n;
    hs_addr last, behind; /* what the last one leads to */
};

/* Takes the blocks of a list, of which none can be met twice. */
static hs_status take_list(struct caching *c, hs_addr head, uint32_t class_bytes, struct taken *ret,
                           struct hs_error *err)
{
    uint64_t word, n_bytes;

    *ret = (struct taken){.behind = head};
    for (hs_addr at = head; at != 0; at = word) {
        const struct hs_heap_span *span = hs_heap_map_span_at(c->map, at);
        if (span == NULL || span->owner != HS_OWNER_tcmalloc || span->unit_bytes != class_bytes ||
            !hs_image_u64(c->tcmalloc->process->image, at, &word) ||
            !hs_heap_map_take(c->map, at, &n_bytes))
            break;
        *ret = (struct taken){ret->n + 1, at, word};
        HS_TRY(hs_ledger_move(c->ledger, TCMALLOC_OWNER, HS_MEMORY_LIVE, HS_MEMORY_CACHED, at,
                              at + n_bytes, 0, err));
    }
    c->sum->n_blocks += ret->n;
    return HS_OK;
}

static hs_addr central_of(const struct tcmalloc *tcmalloc, unsigned class_number)
{
    return tcmalloc->central + (class_number - 1) * tcmalloc->central_bytes;
}

uint64_t hs_tcmalloc_central_free(const struct tcmalloc *tcmalloc, unsigned class_number)
{
    uint64_t n = 0;

    if (tcmalloc->central != 0)
        (void)hs_image_u64(tcmalloc->process->image,
                           central_of(tcmalloc, class_number) + CENTRAL_FREE, &n);
    return n;
}

/* Takes the blocks of a slot of a class's central list: {first, last} of those that a thread has
 * given back. */
static hs_status take_slot(struct caching *c, hs_addr slot, uint32_t class_bytes,
                           struct hs_error *err)
{
    const struct hs_image *image = c->tcmalloc->process->image;
    struct taken taken;
    hs_addr head, tail;

    c->sum->n_lists++;
    if (!hs_image_u64(image, slot, &head) || !hs_image_u64(image, slot + HS_WORD_BYTES, &tail))
        return HS_OK;
    HS_TRY(take_list(c, head, class_bytes, &taken, err));
    c->sum->n_sound += taken.n != 0 && taken.last == tail && taken.behind == 0;
    return HS_OK;
}

static hs_status take_central(struct caching *c, unsigned class_number, struct hs_error *err)
{
    const hs_addr central = central_of(c->tcmalloc, class_number);
    uint32_t n_slots;

    if (!hs_image_u32(c->tcmalloc->process->image, central + CENTRAL_USED, &n_slots) ||
        n_slots > TCMALLOC_SLOTS) {
        c->sum->n_lists++;
        return HS_OK;
    }
    for (uint32_t i = 0; i < n_slots; i++)
        HS_TRY(take_slot(c, central + CENTRAL_SLOTS + i * 16,
                         c->tcmalloc->class_bytes[class_number], err));
    return HS_OK;
}

static hs_status take_cache(struct caching *c, hs_addr cache, struct hs_error *err)
{
    const struct hs_image *image = c->tcmalloc->process->image;
    struct taken taken;
    uint32_t length;
    hs_addr head;

    for (unsigned i = 1; i < c->tcmalloc->n_classes; i++) {
        const hs_addr list = cache + i * TCMALLOC_LIST_BYTES;
        if (!hs_image_u64(image, list, &head) || !hs_image_u32(image, list + 8, &length))
            continue;
        HS_TRY(take_list(c, head, c->tcmalloc->class_bytes[i], &taken, err));
        c->sum->n_lists++;
        c->sum->n_sound += taken.n == length;
    }
    return HS_OK;
}

hs_status hs_tcmalloc_caches(const struct tcmalloc *tcmalloc, struct hs_heap_map *map,
                             struct hs_ledger *ledger, struct tcmalloc_cached *ret,
                             struct hs_error *err)
{
    struct caching c = {tcmalloc, map, ledger, ret};

    *ret = (struct tcmalloc_cached){0};
    for (unsigned i = 1; tcmalloc->central != 0 && i < tcmalloc->n_classes; i++)
        HS_TRY(take_central(&c, i, err));
    for (size_t i = 0; i < tcmalloc->n_caches; i++)
        HS_TRY(take_cache(&c, tcmalloc->caches[i], err));
    return HS_OK;
}
