/* Private mappings that nobody claims become nodes: what is in them may be all that keeps a block
 * alive. What belongs to objects, stacks and the dynamic linker is left out, being roots already.
 */
#include <string.h>

#include "link_map.h"
#include "process/ranges.h"
#include "stacks_extent.h"

#define UNCLAIMED_PAGE UINT64_C(4096)
#define UNCLAIMED_PIECE (UINT64_C(1) << 20)

/* Memory that is no unclaimed mapping. */
struct excluded {
    struct hs_range_set set;
    hs_status status;
    struct hs_error *err;
};

static void exclude(void *context, hs_addr begin, hs_addr end)
{
    struct excluded *excluded = context;
    if (excluded->status == HS_OK)
        excluded->status = hs_range_set_add(&excluded->set, begin, end, excluded->err);
}

static void exclude_objects(const struct hs_native *native, struct excluded *excluded)
{
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_object *object = &native->dump->objects.objects[i];
        exclude(excluded, object->begin,
                (object->end + UNCLAIMED_PAGE - 1) & ~(UNCLAIMED_PAGE - 1));
    }
}

static void exclude_threads(const struct hs_native *native, struct excluded *excluded)
{
    for (size_t i = 0; i < native->dump->target.n_threads; i++) {
        const struct hs_thread *thread = &native->dump->target.threads[i];
        struct hs_stack_extent extent;
        hs_addr begin, end;
        if (hs_native_stack_extent(native, thread, &extent))
            exclude(excluded, extent.mapping_begin, extent.end);
        if (hs_native_static_tls(native, thread, &begin, &end))
            exclude(excluded, begin, (end + UNCLAIMED_PAGE - 1) & ~(UNCLAIMED_PAGE - 1));
    }
}

/* Excludes what is registered: it would else be kept by the mapping as well as by the root of its
 * name. */
static void exclude_registered(const struct hs_native *native, struct excluded *excluded)
{
    size_t n;
    const struct hs_registered_root *roots = hs_heaps_roots(&native->dump->heaps, &n);
    for (size_t i = 0; i < n; i++)
        exclude(excluded, roots[i].begin, roots[i].end);
}

/* Stacks of threads that have ended: kept for new threads, or until they are joined. */
struct ended {
    struct hs_range_set kept, unjoined;
};

/* Finds all such stacks before the first is claimed: a claim unseals the ledger that is asked on
 * the way. */
static hs_status find_ended(struct hs_native *native, struct ended *ended, struct hs_error *err)
{
    struct hs_thread_result places = {0};
    struct hs_native_tcb tcb;

    native->n_ended = 0;
    for (size_t at = 0; hs_native_next_ended(native, &at, &tcb);) {
        if (native->n_ended == 0)
            places = hs_native_thread_result(native);
        bool awaits_join = hs_native_awaits_join(native, &places, tcb.tcb);
        HS_TRY(HS_GROW(&native->ended, &native->ended_capacity, native->n_ended + 1, err));
        native->ended[native->n_ended++] = (struct hs_native_ended){tcb.tcb, awaits_join};
        HS_TRY(hs_range_set_add(awaits_join && places.result != 0 ? &ended->unjoined : &ended->kept,
                                tcb.stack_begin, tcb.stack_end, err));
    }
    return HS_OK;
}

static hs_status claim_set(struct hs_native *native, const struct hs_range_set *set,
                           const char *owner, const char *what, struct hs_error *err)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < set->n; i++) {
        const struct hs_range *range = &set->ranges[i];
        HS_TRY(hs_ledger_claim(&native->dump->heaps.ledger, owner, HS_MEMORY_OTHER, range->begin,
                               range->end, 1, err));
        n_bytes += hs_image_resident_bytes(&native->dump->image, range->begin, range->end);
    }
    if (set->n == 0)
        return HS_OK;
    hs_ledger_seal(&native->dump->heaps.ledger);
    return hs_findings_note(&native->dump->findings, false, err,
                            "%zu stack%s of ended threads (%llu KiB resident), %s", set->n,
                            set->n == 1 ? "" : "s", (unsigned long long)(n_bytes >> 10), what);
}

static hs_status claim_ended(struct hs_native *native, struct hs_error *err)
{
    struct ended ended = {0};
    hs_status status = find_ended(native, &ended, err);
    if (status == HS_OK)
        status = claim_set(native, &ended.kept, HS_MEMORY_OF_ENDED,
                           "kept for new threads: neither roots nor blocks", err);
    if (status == HS_OK)
        status = claim_set(native, &ended.unjoined, HS_MEMORY_OF_UNJOINED,
                           "which nobody has joined: only their results are roots", err);
    hs_range_set_fini(&ended.kept);
    hs_range_set_fini(&ended.unjoined);
    return status;
}

/* Adds one span per piece; pieces that were never touched hold nothing and are no nodes. Pieces are
 * counted from where the mapping begins: a mapping no longer than a piece is one node wherever it
 * lies, which a pointer to its start holds whole. */
static hs_status add_pieces(struct hs_native *native, hs_addr begin, hs_addr end, uint32_t mapping,
                            struct hs_error *err)
{
    const hs_addr first = begin;
    hs_addr part, part_end;
    while (hs_image_next_present(&native->dump->image, begin, end, &part, &part_end)) {
        if (part - begin >= UNCLAIMED_PIECE) /* whole pieces were never touched */
            begin = first + ((part - first) & ~(UNCLAIMED_PIECE - 1));
        const struct hs_image_range *copied =
            hs_image_find(&native->dump->image, begin, /* hint= */ NULL);
        if (copied == NULL) { /* of shared and protected memory only pages that are there are */
            begin = part;
            copied = hs_image_find(&native->dump->image, part, /* hint= */ NULL);
        }
        hs_addr next = end;
        if (end - begin > UNCLAIMED_PIECE)
            next = first + (((begin - first) | (UNCLAIMED_PIECE - 1)) + 1);
        if (next > end)
            next = end;
        if (copied != NULL && next > copied->end)
            next = copied->end;
        struct hs_heap_span span = {.begin = begin,
                                    .end = next,
                                    .unit_bytes = next - begin,
                                    .tag = mapping,
                                    .form = HS_SPAN_SINGLE,
                                    .owner = HS_OWNER_MAPPING,
                                    .states = HS_BLOCK_STATIC | HS_BLOCK_MAPPING};
        if (copied != NULL && hs_image_resident_bytes(&native->dump->image, begin, next) != 0)
            HS_TRY(hs_heap_map_add(&native->dump->heaps.map, &span, err));
        begin = next;
    }
    return HS_OK;
}

static hs_status add_free(struct hs_native *native, const struct excluded *excluded, hs_addr begin,
                          hs_addr end, uint32_t mapping, struct hs_error *err)
{
    hs_addr part, part_end;
    for (; hs_range_set_next_outside(&excluded->set, begin, end, &part, &part_end);
         begin = part_end)
        HS_TRY(add_pieces(native, part, part_end, mapping, err));
    return HS_OK;
}

static bool may_be_unclaimed(const struct hs_target *target, const struct hs_mapping *m)
{
    const char *path = hs_mapping_path(target, m);
    if (m->shared) /* as far as it was copied */
        return hs_mapping_is_shared_memory(target, m);
    return (m->inode == 0 || (m->readable && m->writable)) && strncmp(path, "[v", 2) != 0 &&
           strncmp(path, "[uprobes", 8) != 0;
}

static hs_status add_mappings(struct hs_native *native, const struct excluded *excluded,
                              struct hs_error *err)
{
    for (size_t i = 0; i < native->dump->target.n_mappings; i++) {
        const struct hs_mapping *m = &native->dump->target.mappings[i];
        hs_addr begin = m->begin, part, part_end;
        if (!may_be_unclaimed(&native->dump->target, m))
            continue;
        for (;
             hs_ledger_next_unclaimed(&native->dump->heaps.ledger, begin, m->end, &part, &part_end);
             begin = part_end)
            HS_TRY(add_free(native, excluded, part, part_end, (uint32_t)i, err));
    }
    return HS_OK;
}

hs_status hs_native_add_unclaimed(struct hs_native *native, struct hs_error *err)
{
    struct excluded excluded = {.err = err};
    hs_ledger_seal(&native->dump->heaps.ledger);
    hs_native_read_link_map(native);
    exclude_objects(native, &excluded);
    exclude_threads(native, &excluded);
    exclude_registered(native, &excluded);
    hs_native_each_loader_range(native, exclude, &excluded);
    hs_status status = claim_ended(native, err);
    if (status == HS_OK)
        status = excluded.status;
    hs_range_set_merge(&excluded.set);
    if (status == HS_OK)
        status = add_mappings(native, &excluded, err);
    hs_range_set_fini(&excluded.set);
    return status;
}
