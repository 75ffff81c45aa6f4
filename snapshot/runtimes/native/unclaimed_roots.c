/* Roots of last resort: the unclaimed mappings that nothing else leads to.
 *
 * Whether something leads there takes a mark over the whole heap, unless no unclaimed mapping holds
 * a pointer to a block: then nothing hangs on the answer but the mappings themselves. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "queue.h"
#include "roots.h"

enum { UNCLAIMED_LARGE = 1 << 16 };

struct mark {
    struct hs_native *native;
    struct hs_bitmap marked; /* by rank */
    struct hs_block_queue queue;
    bool follows; /* into blocks; else only what roots lead to is marked */
    struct hs_error *err;
};

static hs_status mark_block(struct mark *m, const struct hs_heap_block *block)
{
    if (hs_bitmap_get(&m->marked, block->rank))
        return HS_OK;
    hs_bitmap_set(&m->marked, block->rank);
    return m->follows ? hs_block_queue_push(&m->queue, block, m->err) : HS_OK;
}

static hs_status mark_word(struct mark *m, uint64_t word)
{
    struct hs_heap_block target;
    enum hs_pointer how;
    return hs_native_resolve(m->native, word, &how, &target) ? mark_block(m, &target) : HS_OK;
}

/* Marks what the words of a block lead to: of large blocks by the scan that passes over what was
 * never touched; looking for that would cost more than the words of a small one. */
static hs_status mark_words(struct mark *m, const struct hs_heap_block *block)
{
    struct hs_word_scan scan = hs_native_scan(block->begin, block->begin + block->n_bytes);
    hs_addr at;
    uint64_t word;
    if (block->bytes == NULL || block->n_bytes >= UNCLAIMED_LARGE) {
        while (hs_native_next_word(m->native, &scan, &at, &word))
            HS_TRY(mark_word(m, word));
        return HS_OK;
    }
    for (uint64_t i = 0; i + HS_WORD_BYTES <= block->n_bytes; i += HS_WORD_BYTES) {
        memcpy(&word, block->bytes + i, sizeof word);
        HS_TRY(mark_word(m, word));
    }
    return HS_OK;
}

static hs_status mark_drain(struct mark *m)
{
    struct hs_heap_block block;
    while (m->follows && hs_block_queue_pop(&m->queue, &block))
        HS_TRY(mark_words(m, &block));
    return HS_OK;
}

static hs_status mark_roots(struct mark *m)
{
    const struct hs_roots *roots = &m->native->roots;
    for (size_t i = 0; i < roots->n_leaves; i++) {
        struct hs_heap_block block;
        if (hs_heap_map_resolve(&m->native->dump->heaps.map, roots->leaves[i].target, &block) ==
            HS_POINTER_START)
            HS_TRY(mark_block(m, &block));
    }
    return mark_drain(m);
}

/* Tells whether it holds a pointer to a block of an allocator. */
static bool holds_pointer(const struct hs_native *native, const struct hs_heap_span *span)
{
    struct hs_word_scan scan = hs_native_scan(span->begin, span->end);
    hs_addr at;
    uint64_t word;
    while (hs_native_next_word(native, &scan, &at, &word)) {
        struct hs_heap_block target;
        enum hs_pointer how;
        if (hs_native_resolve(native, word, &how, &target) &&
            target.span->owner != HS_OWNER_MAPPING)
            return true;
    }
    return false;
}

/* Makes the label of a mapping: "[anon 0x7f12a0000000 64.0 MiB]", "[heap 0x...]", "[data.bin 0x...
 * 12.0 KiB]". */
static void mapping_label(const struct hs_native *native, const struct hs_mapping *mapping,
                          char *text, size_t n)
{
    const char *path = hs_mapping_path(&native->dump->target, mapping);
    const char *slash = strrchr(path, '/');
    char size[HS_UNIT_TEXT_BYTES], name[128];
    snprintf(name, sizeof name, "%s", path[0] == '\0' ? "anon" : slash != NULL ? slash + 1 : path);
    size_t length = strlen(name);
    bool is_bracketed = name[0] == '[' && name[length - 1] == ']';
    if (is_bracketed)
        name[length - 1] = '\0';
    hs_format_bytes(mapping->end - mapping->begin, size);
    snprintf(text, n, "[%s 0x%llx %s]", name + (is_bracketed ? 1 : 0),
             (unsigned long long)mapping->begin, size);
}

static hs_status add_piece(struct hs_native *native, const struct hs_heap_block *block,
                           struct hs_error *err)
{
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_UNCLAIMED,
                                         .certainty = HS_CONSERVATIVE,
                                         .tier = HS_TIER_DOUBTFUL,
                                         .reason = HS_REASON_UNREAD_MEMORY,
                                         .field = HS_NO_FIELD}};
    const struct hs_mapping *mapping = hs_target_mapping_at(&native->dump->target, block->begin);
    char label[256];
    hs_str name;
    if (mapping == NULL)
        return HS_OK;
    const char *path = hs_mapping_path(&native->dump->target, mapping);
    const char *slash = strrchr(path, '/');
    mapping_label(native, mapping, label, sizeof label);
    leaf.root.offset = block->begin - mapping->begin;
    HS_TRY(hs_strtab_add(&native->dump->strings, label, &name, err));
    HS_TRY(hs_strtab_add(&native->dump->strings,
                         path[0] == '\0' ? "anonymous"
                         : slash != NULL ? slash + 1
                                         : path,
                         &leaf.group_module, err));
    HS_TRY(hs_strtab_add(&native->dump->strings,
                         mapping->shared ? "shared memory" : "private mappings", &leaf.group_unit,
                         err));
    leaf.root.module = leaf.group_module;
    leaf.root.name = name;
    if (block->n_bytes != mapping->end - mapping->begin) {
        leaf.group_variable = name;
        HS_TRY(hs_native_name(native, &leaf.root.name, err, "%s+0x%llx", label,
                              (unsigned long long)leaf.root.offset));
    }
    return hs_native_add_word(native, block->begin, &leaf, 0, err);
}

/* Adds roots for the mappings that are not reached, in address order: what one mapping leads to is
 * reached when its turn comes. */
static hs_status add_unreached(struct mark *m)
{
    const struct hs_heap_map *map = &m->native->dump->heaps.map;
    for (size_t i = 0; i < map->n_spans; i++) {
        struct hs_heap_block block;
        if (map->spans[i].owner != HS_OWNER_MAPPING ||
            hs_heap_map_resolve(map, map->spans[i].begin, &block) != HS_POINTER_START ||
            hs_bitmap_get(&m->marked, block.rank))
            continue;
        HS_TRY(add_piece(m->native, &block, m->err));
        HS_TRY(mark_block(m, &block));
        HS_TRY(mark_drain(m));
    }
    return HS_OK;
}

static hs_status mark_run(struct mark *m)
{
    const struct hs_heap_map *map = &m->native->dump->heaps.map;
    HS_TRY(hs_bitmap_init(&m->marked, map->n_blocks, m->err));
    if (m->follows)
        HS_TRY(hs_block_queue_init(&m->queue, map, HS_QUEUE_BLOCKS, m->err));
    if (m->native->is_large)
        hs_block_queue_go_by_region(&m->queue);
    HS_TRY(mark_roots(m));
    return add_unreached(m);
}

hs_status hs_native_collect_unclaimed(struct hs_native *native, struct hs_error *err)
{
    const struct hs_heap_map *map = &native->dump->heaps.map;
    struct mark m = {.native = native, .err = err};
    bool has_any = false;
    for (size_t i = 0; i < map->n_spans && !m.follows; i++) {
        if (map->spans[i].owner != HS_OWNER_MAPPING)
            continue;
        has_any = true;
        m.follows = holds_pointer(native, &map->spans[i]);
    }
    if (!has_any)
        return HS_OK;
    hs_status status = mark_run(&m);
    hs_block_queue_fini(&m.queue);
    hs_bitmap_fini(&m.marked);
    return status;
}
