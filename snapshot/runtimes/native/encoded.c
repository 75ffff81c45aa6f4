/* The search of memory for encoded addresses of lost blocks, and its order. */
#include "encoded.h"

#include "base/alloc.h"
#include "base/load.h"
#include "encoded_search.h"
#include "flow.h"
#include "stacks_extent.h"

enum { WORD = 8 };
/* The bytes taken beside those per block: filters, values, samples, hits. */
#define ENCODED_FIXED_BYTES (UINT64_C(12) << 20)
#define ENCODED_RANGE_BYTES(n_blocks) ((n_blocks) + (n_blocks) / 4)
/* The bytes taken when there is little memory. The columns of the snapshot, which every dump has
 * room for, are not there yet when this is searched, so that there is so much in any case. */
#define ENCODED_LEAST_BYTES (UINT64_C(5) << 20)
#define ENCODED_LEAST_RANGE (UINT64_C(1) << 20)
#define ENCODED_TRIES (UINT64_C(1) << 26)
#define ENCODED_TEST_BLOCK_BYTES 128 /* a region of struct hs_dump_order has so many blocks */

static void encoded_fini(struct hs_encoded *e)
{
    hs_free(e->pages);
    hs_pages_free(e->found_by, e->n_range, sizeof *e->found_by);
    hs_bitmap_fini(&e->beside);
    hs_bitmap_fini(&e->held);
    hs_dict_fini(&e->group_of);
    hs_free(e->groups);
    hs_free(e->samples);
    hs_encoded_values_fini(&e->before);
    hs_encoded_values_fini(&e->offsets);
    hs_free(e->constants);
    hs_free(e->counts);
    hs_free(e->run_keys);
    hs_free(e->run_slots);
    hs_free(e->runs);
    hs_free(e->tables);
    hs_table_fini(&e->by_upper);
    for (size_t i = 0; i < 2; i++) {
        hs_bitmap_fini(&e->hits[i]);
        hs_bitmap_fini(&e->in_table[i]);
    }
    hs_bitmap_fini(&e->in_row);
}

static hs_status encoded_init(struct hs_encoded *e)
{
    e->n_ranges = (e->n_blocks + e->n_range - 1) / e->n_range;
    e->n_groups = 1;
    HS_TRY(HS_ALLOC(&e->pages, (size_t)1 << (ENCODED_PAGE_BITS - 6), e->err));
    HS_TRY(HS_PAGES_ALLOC(&e->found_by, e->n_range, e->err));
    HS_TRY(hs_bitmap_init(&e->beside, e->n_range, e->err));
    HS_TRY(hs_bitmap_init(&e->held, e->n_range, e->err));
    HS_TRY(HS_ALLOC(&e->groups, ENCODED_GROUPS, e->err));
    HS_TRY(HS_ALLOC(&e->samples, ENCODED_SAMPLES, e->err));
    HS_TRY(HS_ALLOC(&e->constants, ENCODED_CONSTANTS, e->err));
    HS_TRY(hs_encoded_runs_init(e));
    for (size_t i = 0; i < 2; i++) {
        HS_TRY(hs_bitmap_init(&e->hits[i], hs_encoded_hit_bit(ENCODED_N, 0), e->err));
        HS_TRY(hs_bitmap_init(&e->in_table[i], hs_encoded_hit_bit(ENCODED_N, 0), e->err));
    }
    return hs_bitmap_init(&e->in_row, ENCODED_SAMPLES, e->err);
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

    /* Non-owning tables have the addresses of neighbours, and say nothing of any disguise. */
    if (e->scan->has_owners && hs_heaps_finds(&e->scan->native->dump->heaps, block) == UINT64_MAX)
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

    e->n_parts = 0;
    HS_TRY(hs_progress_tell(progress, "looking for addresses in disguise", 0, 0, e->err));
    HS_TRY(each_of_objects(e, look));
    HS_TRY(each_of_threads(e, true, look));
    while (hs_heap_map_next(&it, &block)) {
        if (!e->scan->is_counted)
            hs_scan_count_block(e->scan, &block);
        if (block.bytes != NULL)
            look_at_block(e, &block);
    }
    e->scan->is_counted = true; /* each block is gone over here, so it is done at once */
    return HS_OK;
}

/* ---- all */

/* Goes over memory for all ranges of blocks and all bases. */
static hs_status look_for_all(struct hs_encoded *e)
{
    for (uint64_t i = 0; i < e->n_ranges || e->next_base < e->n_bases; i++) {
        e->has_strong = i < e->n_ranges;
        e->has_before = e->has_runs = i == 0;
        if (e->has_strong)
            hs_encoded_go_to(e, i);
        hs_encoded_next_offsets(e);
        HS_TRY(look_at_all(e));
        if (e->has_strong)
            HS_TRY(hs_encoded_count(e));
    }
    return HS_OK;
}

/* Marks what was found, range by range. With several, memory is gone over again for each, as what
 * was found in those before the last is not kept. */
static hs_status mark_all(struct hs_encoded *e)
{
    bool looks_again = e->n_ranges > 1 && hs_encoded_has_strong(e);

    e->has_strong = true;
    e->has_before = e->has_runs = false;
    e->offsets.n = 0;
    for (uint64_t i = 0; i < e->n_ranges; i++) {
        if (e->n_ranges > 1)
            hs_encoded_go_to(e, i);
        if (looks_again)
            HS_TRY(look_at_all(e));
        HS_TRY(hs_encoded_mark(e));
    }
    return HS_OK;
}

/* Returns the most look-ups: one for each word of the heap, and those of a second beside. Programs
 * ask for far fewer. */
static uint64_t most_tries(const struct hs_encoded *e)
{
    uint64_t n_bytes = 0, for_tests = e->scan->native->dump->options->order.most_tries;

    if (for_tests != 0)
        return for_tests;
    for (size_t i = 0; i < e->map->n_spans; i++)
        n_bytes += e->map->spans[i].end - e->map->spans[i].begin;
    return ENCODED_TRIES + n_bytes / WORD;
}

/* Says that the search was cut: what it did not find may still be there, so no leak is certain. */
static hs_status search_was_cut(struct hs_encoded *e)
{
    e->scan->native->is_blind = true;
    return hs_findings_note(&e->scan->native->dump->findings, false, e->err,
                            "the search for addresses in disguise was cut: too many words look "
                            "like such" HS_NOTE_NOT_CERTAIN);
}

static hs_status search(struct hs_encoded *e, size_t n_values)
{
    e->most_tries = most_tries(e);
    HS_TRY(hs_encoded_find_lost(e));
    if (e->lengths == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&e->counts, ENCODED_N_STRONG * e->n_groups, e->err));
    hs_encoded_find_bases(e);
    HS_TRY(each_of_objects(e, add_constants));
    HS_TRY(each_of_threads(e, false, add_constants));
    HS_TRY(hs_encoded_make_before(e, e->err));
    HS_TRY(hs_encoded_make_offsets(e, n_values, e->err));
    HS_TRY(look_for_all(e));
    if (hs_encoded_is_cut(e))
        return search_was_cut(e);
    HS_TRY(hs_encoded_judge(e));
    HS_TRY(hs_encoded_judge_runs(e));
    if (hs_encoded_is_cut(e))
        return search_was_cut(e);
    HS_TRY(hs_encoded_note_rest(e));
    return mark_all(e);
}

/* Takes memory for all blocks and values, or for as many as there is room for. */
static hs_status reserve(struct hs_encoded *e, uint64_t *ret_n_bytes, size_t *ret_n_values)
{
    struct hs_dump_plan *plan = &e->scan->native->dump->plan;
    uint64_t room = hs_dump_plan_room(plan);
    uint64_t n_bytes = ENCODED_FIXED_BYTES + ENCODED_RANGE_BYTES(e->n_blocks);

    unsigned region_bits = e->scan->native->dump->options->order.region_bits;

    e->n_range = e->n_blocks;
    *ret_n_values = ENCODED_VALUES_MOST;
    if (n_bytes > room) {
        uint64_t most = room > ENCODED_LEAST_BYTES ? (room - ENCODED_LEAST_BYTES) / 5 * 4 : 0;
        e->n_range = most > ENCODED_LEAST_RANGE ? most : ENCODED_LEAST_RANGE;
        *ret_n_values = ENCODED_VALUES_LEAST;
    }
    if (region_bits != 0) { /* for tests: as many ranges and parts as there can be */
        e->n_range = (UINT64_C(1) << region_bits) / ENCODED_TEST_BLOCK_BYTES + 1;
        *ret_n_values = ENCODED_SAMPLES * ENCODED_UNITS * 2;
    }
    e->n_range = e->n_range < e->n_blocks ? e->n_range : e->n_blocks;
    if (n_bytes > room) {
        n_bytes = ENCODED_LEAST_BYTES + ENCODED_RANGE_BYTES(e->n_range);
        n_bytes = n_bytes < room ? n_bytes : room;
    }
    *ret_n_bytes = n_bytes;
    return hs_dump_plan_reserve(plan, n_bytes, "addresses in disguise", e->err);
}

hs_status hs_scan_mark_encoded(struct hs_scan *scan, struct hs_error *err)
{
    struct hs_encoded e = {.scan = scan, .map = &scan->native->dump->heaps.map, .err = err};
    uint64_t n_bytes;
    size_t n_values;

    e.n_blocks = e.map->n_blocks;
    if (e.map->n_spans == 0 || scan->native->is_blind || hs_scan_reaches_all(scan))
        return HS_OK;
    HS_TRY(reserve(&e, &n_bytes, &n_values));
    hs_status status = encoded_init(&e);
    if (status == HS_OK)
        status = search(&e, n_values);
    encoded_fini(&e);
    hs_dump_plan_release(&scan->native->dump->plan, n_bytes);
    return status;
}
