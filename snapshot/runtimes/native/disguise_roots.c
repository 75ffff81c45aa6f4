/* Words in disguise in the data of objects, on stacks and in thread-local variables. */
#include "base/load.h"
#include "disguise.h"
#include "globals.h"
#include "stacks_extent.h"

struct disguised {
    struct hs_native *native;
    struct hs_scan *scan;
    struct hs_disguise how;
    size_t object;            /* that the memory is of; SIZE_MAX: it is a thread's */
    struct hs_root_leaf leaf; /* of that thread */
    struct hs_error *err;
};

static hs_status describe(struct disguised *d, hs_addr at, struct hs_root_leaf *ret)
{
    struct hs_native_variable v = {.leaf = d->leaf};
    hs_addr end;

    if (d->object != SIZE_MAX) {
        v.leaf.root = (struct hs_root){.kind = HS_ROOT_GLOBAL};
        HS_TRY(hs_native_set_module(d->native, &d->native->dump->objects.objects[d->object],
                                    &v.leaf, d->err));
        HS_TRY(hs_native_find_variable(d->native, d->object, at, &v, &end, d->err));
        hs_native_variable_text(d->native, &v);
        HS_TRY(hs_native_name(d->native, &v.leaf.root.name, d->err, "%s+0x%llx (in disguise)",
                              v.text, (unsigned long long)(at - v.begin)));
        v.leaf.group_unit = v.leaf.root.file != 0 ? v.leaf.root.file : v.leaf.group_module;
    } else {
        HS_TRY(hs_native_name(d->native, &v.leaf.root.name, d->err, "0x%llx (in disguise)",
                              (unsigned long long)at));
    }
    v.leaf.root.certainty = HS_CONSERVATIVE;
    hs_root_lower(&v.leaf.root, HS_TIER_DOUBTFUL, HS_REASON_ENCODED);
    v.leaf.root.edge_class = HS_EDGE_GUESSED;
    v.leaf.root.field = HS_NO_FIELD;
    v.leaf.root.address = at;
    *ret = v.leaf;
    return HS_OK;
}

static hs_status add(struct disguised *d, hs_addr at, const struct hs_heap_block *block)
{
    struct hs_root_leaf leaf;

    if (hs_bitmap_get(&d->scan->reached, block->rank) || (block->span->states & HS_BLOCK_STATIC))
        return HS_OK;
    HS_TRY(describe(d, at, &leaf));
    HS_TRY(hs_native_add_word(d->native, block->begin, &leaf, 0, d->err));
    return hs_scan_mark_word(d->scan, block->begin, d->err);
}

static hs_status look_at_bytes(struct disguised *d, hs_addr begin, const uint8_t *bytes, size_t n)
{
    struct hs_heap_block block;

    for (size_t at = 0; at + HS_WORD_BYTES <= n; at++) {
        uint64_t word = hs_load_u64(bytes + at);
        bool is_aligned = at % HS_WORD_BYTES == 0;
        if (word == 0 && is_aligned) { /* the next seven begin with zeros: their words are small */
            at += n - at >= 2 * HS_WORD_BYTES && hs_load_u64(bytes + at + HS_WORD_BYTES) == 0
                      ? HS_WORD_BYTES - 1
                      : 0;
            continue;
        }
        if (is_aligned
                ? hs_disguise_resolve(&d->how, word, &block)
                : word % HS_WORD_BYTES == 0 && word - d->how.low < d->how.high - d->how.low &&
                      hs_heap_map_resolve(d->how.map, word, &block) == HS_POINTER_START)
            HS_TRY(add(d, begin + at, &block));
    }
    return HS_OK;
}

static hs_status look_at(struct disguised *d, hs_addr begin, hs_addr end)
{
    const struct hs_image *image = &d->native->dump->image;
    hs_addr at, part_end;

    begin = (begin + HS_WORD_BYTES - 1) & ~(hs_addr)(HS_WORD_BYTES - 1);
    for (; hs_image_next_present(image, begin, end, &at, &part_end); begin = part_end) {
        const uint8_t *bytes = hs_image_bytes(image, at, part_end - at);
        if (bytes != NULL)
            HS_TRY(look_at_bytes(d, at, bytes, part_end - at));
    }
    return HS_OK;
}

static hs_status look_at_objects(struct disguised *d)
{
    const struct hs_target *target = &d->native->dump->target;

    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *m = &target->mappings[i];
        const struct hs_object *object = hs_objects_object_at(&d->native->dump->objects, m->begin);
        hs_addr begin = m->begin, part, part_end;
        if (object == NULL || !m->writable || m->shared)
            continue;
        d->object = (size_t)(object - d->native->dump->objects.objects);
        for (; hs_ledger_next_unclaimed(&d->native->dump->heaps.ledger, begin, m->end, &part,
                                        &part_end);
             begin = part_end)
            HS_TRY(look_at(d, part, part_end));
    }
    d->object = SIZE_MAX;
    return HS_OK;
}

static hs_status look_at_threads(struct disguised *d)
{
    const struct hs_target *target = &d->native->dump->target;

    for (size_t i = 0; i < target->n_threads; i++) {
        const struct hs_thread *thread = &target->threads[i];
        struct hs_stack_extent extent;
        hs_addr begin, end;
        d->leaf =
            (struct hs_root_leaf){.root = {.kind = HS_ROOT_STACK, .thread = (uint32_t)thread->tid}};
        HS_TRY(hs_native_name(d->native, &d->leaf.group_module, d->err, "thread %d", thread->tid));
        HS_TRY(hs_native_name(d->native, &d->leaf.group_unit, d->err, "(in disguise)"));
        d->leaf.root.module = d->leaf.group_module;
        if (hs_native_stack_extent(d->native, thread, &extent))
            HS_TRY(look_at(d, extent.begin, extent.end));
        d->leaf.root.kind = HS_ROOT_TLS;
        if (hs_native_static_tls(d->native, thread, &begin, &end))
            HS_TRY(look_at(d, begin, end));
    }
    return HS_OK;
}

hs_status hs_native_collect_disguised(struct hs_native *native, struct hs_scan *scan,
                                      struct hs_error *err)
{
    struct disguised d = {.native = native,
                          .scan = scan,
                          .how = hs_disguise_begin(native),
                          .object = SIZE_MAX,
                          .err = err};

    if (hs_scan_reaches_all(scan))
        return HS_OK;
    HS_TRY(look_at_objects(&d));
    return look_at_threads(&d);
}
