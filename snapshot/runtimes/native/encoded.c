/* Which blocks are lost, what is searched for them, and the order in which that is done. */
#include "encoded.h"

#include "base/alloc.h"
#include "base/load.h"
#include "encoded_search.h"
#include "flow.h"
#include "stacks_extent.h"

enum { WORD = 8 };
/* Beside the bytes per block: filters, values, samples, hits. */
#define ENCODED_FIXED_BYTES (UINT64_C(12) << 20)
#define ENCODED_BYTES(n_blocks) (ENCODED_FIXED_BYTES + (n_blocks) + (n_blocks) / 4)

static void encoded_fini(struct hs_encoded *e)
{
    hs_free(e->pages);
    hs_pages_free(e->found_by, e->n_blocks, sizeof *e->found_by);
    hs_bitmap_fini(&e->beside);
    hs_bitmap_fini(&e->held);
    hs_dict_fini(&e->group_of);
    hs_free(e->groups);
    hs_free(e->samples);
    hs_encoded_values_fini(&e->before);
    hs_encoded_values_fini(&e->offsets);
    hs_free(e->constants);
    hs_table_fini(&e->by_upper);
    for (size_t i = 0; i < 2; i++) {
        hs_bitmap_fini(&e->hits[i]);
        hs_bitmap_fini(&e->in_table[i]);
    }
    hs_bitmap_fini(&e->in_row);
}

static hs_status encoded_init(struct hs_encoded *e)
{
    HS_TRY(HS_ALLOC(&e->pages, (size_t)1 << (ENCODED_PAGE_BITS - 6), e->err));
    HS_TRY(HS_PAGES_ALLOC(&e->found_by, e->n_blocks, e->err));
    HS_TRY(hs_bitmap_init(&e->beside, e->n_blocks, e->err));
    HS_TRY(hs_bitmap_init(&e->held, e->n_blocks, e->err));
    HS_TRY(HS_ALLOC(&e->groups, ENCODED_GROUPS, e->err));
    HS_TRY(HS_ALLOC(&e->samples, ENCODED_SAMPLES, e->err));
    HS_TRY(HS_ALLOC(&e->constants, ENCODED_CONSTANTS, e->err));
    for (size_t i = 0; i < 2; i++) {
        HS_TRY(hs_bitmap_init(&e->hits[i], hs_encoded_hit_bit(ENCODED_N, 0), e->err));
        HS_TRY(hs_bitmap_init(&e->in_table[i], hs_encoded_hit_bit(ENCODED_N, 0), e->err));
    }
    return hs_bitmap_init(&e->in_row, ENCODED_SAMPLES, e->err);
}

/* ---- what is lost */

/* Calls `visit` for each lost block. */
static hs_status each_lost(struct hs_encoded *e,
                           hs_status (*visit)(struct hs_encoded *, const struct hs_heap_block *))
{
    struct hs_heap_iterator it = {.map = e->map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block))
        if (hs_scan_is_lost(e->scan, &block))
            HS_TRY(visit(e, &block));
    return HS_OK;
}

static struct hs_encoded_group *group_of(const struct hs_encoded *e, uint64_t n_bytes)
{
    return &e->groups[hs_dict_get(&e->group_of, n_bytes, ENCODED_GROUPS - 1)];
}

static void note_upper(struct hs_encoded *e, uint64_t upper)
{
    for (size_t i = 0; i < e->n_uppers; i++)
        if (e->uppers[i] == upper)
            return;
    if (e->n_uppers < sizeof e->uppers / sizeof *e->uppers)
        e->uppers[e->n_uppers++] = upper;
}

static hs_status note_lost(struct hs_encoded *e, const struct hs_heap_block *block)
{
    const unsigned length = 64 - (unsigned)__builtin_clzll(block->begin);
    uint64_t page = hs_encoded_page_bit(block->begin);
    struct hs_heap_block target;

    if (e->low == 0)
        e->low = block->begin;
    e->high = block->begin;
    e->lengths |= UINT64_C(1) << length;
    e->pages[page >> 6] |= UINT64_C(1) << (page & 63);
    note_upper(e, block->begin >> 32);
    if (hs_dict_find(&e->group_of, block->n_bytes) == NULL && e->n_groups < ENCODED_GROUPS - 1) {
        e->groups[e->n_groups].n_bytes = block->n_bytes;
        HS_TRY(hs_dict_put(&e->group_of, block->n_bytes, e->n_groups++, e->err));
    }
    group_of(e, block->n_bytes)->n_lost++;
    for (uint64_t at = 0; block->bytes != NULL && at + WORD <= block->n_bytes; at += WORD) {
        at = hs_flow_touched(e->scan->native, block, at);
        if (at + WORD <= block->n_bytes &&
            hs_flow_resolve(e->scan->native, hs_load_u64(block->bytes + at), &target) !=
                HS_POINTER_NONE &&
            target.rank != block->rank)
            hs_bitmap_set(&e->held, target.rank);
    }
    return HS_OK;
}

static hs_status count_head(struct hs_encoded *e, const struct hs_heap_block *block)
{
    group_of(e, block->n_bytes)->n_heads += !hs_bitmap_get(&e->held, block->rank);
    return HS_OK;
}

/* Heads first: what only they hold hangs on them. In a ring there is none. */
static hs_status sample(struct hs_encoded *e, const struct hs_heap_block *block)
{
    struct hs_encoded_group *group = group_of(e, block->n_bytes);
    uint64_t n = group->n_heads != 0 ? group->n_heads : group->n_lost;
    uint64_t n_most = ENCODED_SAMPLES / (e->n_groups + 1);

    n_most = n_most > ENCODED_OF_GROUP ? ENCODED_OF_GROUP : n_most == 0 ? 1 : n_most;
    n_most = n_most > n ? n : n_most;
    if ((group->n_heads != 0 && hs_bitmap_get(&e->held, block->rank)) ||
        e->n_samples == ENCODED_SAMPLES)
        return HS_OK;
    uint64_t seen = group->n_seen++;
    if (seen >= n || seen * n_most / n == (seen + 1) * n_most / n)
        return HS_OK;
    group->n_sampled++;
    e->samples[e->n_samples++] = (struct hs_encoded_sample){
        .begin = block->begin, .n_bytes = block->n_bytes, .group = (uint32_t)(group - e->groups)};
    return HS_OK;
}

static hs_status find_lost(struct hs_encoded *e)
{
    HS_TRY(each_lost(e, note_lost));
    if (e->lengths == 0)
        return HS_OK;
    e->least_length = (unsigned)__builtin_ctzll(e->lengths);
    HS_TRY(each_lost(e, count_head));
    return each_lost(e, sample);
}

/* ---- what is searched */

typedef hs_status visit_bytes(struct hs_encoded *e, hs_addr at, const uint8_t *bytes, uint64_t n);

static hs_status look(struct hs_encoded *e, hs_addr at, const uint8_t *bytes, uint64_t n)
{
    const struct hs_encoded_part part = {.begin = at, .bytes = bytes, .n_bytes = n};

    hs_encoded_look(e, &part);
    return HS_OK;
}

static hs_status add_constants(struct hs_encoded *e, hs_addr at, const uint8_t *bytes, uint64_t n)
{
    (void)at;
    return hs_encoded_add_constants(e, bytes, n);
}

static hs_status each_present(struct hs_encoded *e, hs_addr begin, hs_addr end, visit_bytes *visit)
{
    const struct hs_image *image = &e->scan->native->dump->image;
    hs_addr at, part_end;

    begin = (begin + WORD - 1) & ~(hs_addr)(WORD - 1);
    for (; hs_image_next_present(image, begin, end, &at, &part_end); begin = part_end) {
        const uint8_t *bytes = hs_image_bytes(image, at, part_end - at);
        if (bytes != NULL)
            HS_TRY(visit(e, at, bytes, part_end - at));
    }
    return HS_OK;
}

static hs_status each_of_objects(struct hs_encoded *e, visit_bytes *visit)
{
    struct hs_dump *dump = e->scan->native->dump;

    for (size_t i = 0; i < dump->target.n_mappings; i++) {
        const struct hs_mapping *m = &dump->target.mappings[i];
        hs_addr begin = m->begin, part, part_end;
        if (!m->writable || m->shared || hs_objects_object_at(&dump->objects, m->begin) == NULL)
            continue;
        for (; hs_ledger_next_unclaimed(&dump->heaps.ledger, begin, m->end, &part, &part_end);
             begin = part_end)
            HS_TRY(each_present(e, part, part_end, visit));
    }
    return HS_OK;
}

static hs_status each_of_threads(struct hs_encoded *e, bool with_stacks, visit_bytes *visit)
{
    const struct hs_native *native = e->scan->native;

    for (size_t i = 0; i < native->dump->target.n_threads; i++) {
        const struct hs_thread *thread = &native->dump->target.threads[i];
        struct hs_stack_extent extent;
        hs_addr begin, end;
        if (with_stacks && hs_native_stack_extent(native, thread, &extent))
            HS_TRY(each_present(e, extent.begin, extent.end, visit));
        if (hs_native_static_tls(native, thread, &begin, &end))
            HS_TRY(each_present(e, begin, end, visit));
    }
    return HS_OK;
}

static void look_at_block(struct hs_encoded *e, const struct hs_heap_block *block)
{
    struct hs_encoded_part part = {.is_lost = hs_scan_is_lost(e->scan, block)};

    /* Tables that find have the addresses of neighbours, and say nothing of any disguise. */
    if (hs_heaps_finds(&e->scan->native->dump->heaps, block) == UINT64_MAX)
        return;

    for (uint64_t at = 0; at < block->n_bytes; at += part.n_bytes) {
        at = hs_flow_touched(e->scan->native, block, at);
        if (at >= block->n_bytes)
            break;
        part.begin = block->begin + at;
        part.bytes = block->bytes + at;
        part.n_bytes = block->n_bytes - at;
        if (block->n_bytes >= 2 * HS_FLOW_PART && part.n_bytes > HS_FLOW_PART)
            part.n_bytes = HS_FLOW_PART;
        hs_encoded_look(e, &part);
    }
}

static hs_status look_at_all(struct hs_encoded *e)
{
    const struct hs_progress *progress = e->scan->native->dump->options->progress;
    struct hs_heap_iterator it = {.map = e->map};
    struct hs_heap_block block;

    HS_TRY(hs_progress_tell(progress, "looking for addresses in disguise", 0, 0, e->err));
    HS_TRY(each_of_objects(e, look));
    HS_TRY(each_of_threads(e, true, look));
    while (hs_heap_map_next(&it, &block))
        if (block.bytes != NULL)
            look_at_block(e, &block);
    return HS_OK;
}

static hs_status search(struct hs_encoded *e)
{
    HS_TRY(find_lost(e));
    if (e->lengths == 0)
        return HS_OK;
    hs_encoded_find_bases(e);
    HS_TRY(each_of_objects(e, add_constants));
    HS_TRY(each_of_threads(e, false, add_constants));
    HS_TRY(hs_encoded_make_values(e, e->err));
    HS_TRY(look_at_all(e));
    return hs_encoded_judge(e, e->err);
}

/* Without room for it nobody has looked. */
static hs_status without_room(struct hs_native *native, struct hs_error *err)
{
    *err = (struct hs_error)HS_ERROR_INIT;
    native->is_blind = true;
    return hs_findings_note(&native->dump->findings, false, err,
                            "--memory leaves no room to look for addresses in "
                            "disguise" HS_NOTE_NOT_CERTAIN);
}

hs_status hs_scan_mark_encoded(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_dump_plan *plan = &scan->native->dump->plan;
    struct hs_encoded e = {.scan = scan, .map = &scan->native->dump->heaps.map, .err = err};

    e.n_blocks = e.map->n_blocks;
    if (e.map->n_spans == 0 || scan->native->is_blind || hs_scan_reaches_all(scan))
        return HS_OK;
    hs_status status =
        hs_dump_plan_reserve(plan, ENCODED_BYTES(e.n_blocks), "addresses in disguise", err);
    if (status == HS_LIMIT)
        return without_room(scan->native, err);
    HS_TRY(status);
    status = encoded_init(&e);
    if (status == HS_OK)
        status = search(&e);
    encoded_fini(&e);
    hs_dump_plan_release(plan, ENCODED_BYTES(e.n_blocks));
    return status;
}
