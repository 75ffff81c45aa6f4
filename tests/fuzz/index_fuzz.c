/* links: hs_index hs_passes hs_dominator hs_graph hs_format */
/* fuzz: -entropic=0 -max_len=145 */
/* An index that was made to mislead: the bytes say how to damage a good one, and every hash is then
 * put in order, so that only what looks at the numbers is left. It is opened and all of it walked,
 * or it is what an earlier run has left to go on with.
 *
 *   byte 0: bits 0..1: 0 and 1 an index, 2 to go on with in memory, 3 by passes; bit 2 the larger
 *           snapshot; bits 3..6 which sections are there to go on with
 *   then damages of 6 bytes: | what | section | place: 16 bits | value: 16 bits | */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/load.h"
#include "edge_list.h"
#include "graph/packed_table.h"
#include "graph_builder.h"
#include "index/index_build.h"
#include "index/index_engine.h"
#include "index/index_passes.h"
#include "index/index_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes);

enum { DAMAGE_BYTES = 6, MAX_DAMAGES = 24, SECTION_ROOM = 1 << 16, MAX_CLIMB = 64 };

#ifdef HS_FUZZER
enum { LARGER = 400 }; /* the time of a run is that of walking it */
#else
enum { LARGER = 1200 };
#endif

/* ---- good ones ---- */

struct good {
    struct hs_graph_builder builder;
    struct hs_snap *snap;
    struct index_output out;
    struct index_policy policy;
};

static struct good goods[2];

/* Every block holds the last, and the first all others: rows longer than fit into a page. */
static void good_fill(struct hs_graph_builder *b, uint32_t n_blocks)
{
    uint64_t random = n_blocks;
    for (uint32_t i = 0; i < n_blocks; i++)
        (void)hs_graph_builder_block(b, i == 0 ? n_blocks : 2 + i % 300, i % 5 == 0);
    for (uint32_t i = 0; i + 1 < n_blocks; i++) {
        hs_graph_builder_edge(b, i, n_blocks - 1, HS_EDGE_EXACT);
        if (i != 0)
            hs_graph_builder_edge(b, 0, i, HS_EDGE_EXACT);
        if (i % 9 == 0)
            hs_graph_builder_edge(b, i, hs_random_below(&random, n_blocks),
                                  i % 2 != 0 ? HS_EDGE_EXACT : HS_EDGE_EPHEMERON);
    }
    (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.all", 0);
    for (uint32_t i = 0; i < 8; i++)
        (void)hs_graph_builder_leaf(b, HS_ROOT_STACK, "thread 1", "#0 f", "slot",
                                    hs_random_below(&random, n_blocks));
}

static void must(hs_status status, const struct hs_error *err)
{
    (void)err; /* for the debugger */
    if (status != HS_OK)
        abort();
}

static void good_make(struct good *good, uint32_t n_blocks)
{
    struct hs_error err = HS_ERROR_INIT;
    struct index_writer writer;

    good->builder.zstd_level = -1;
    good_fill(&good->builder, n_blocks);
    good->snap = hs_graph_builder_open(&good->builder);
    must(index_output_open_memory(index_engine_file_bytes_max(good->snap), NULL, &good->out, &err),
         &err);
    must(index_write_init(&good->out, good->snap, 0, NULL, &writer, &err), &err);
    must(index_policy_init(good->snap, &(struct hs_policy){0}, &good->policy, &err), &err);
    const struct index_work work = {.snap = good->snap, .policy = &good->policy};
    must(index_build_run(&work, &writer, &err), &err);
    must(index_write_finish(&writer, &err), &err);
    index_write_fini(&writer);
}

/* ---- damage ---- */

struct part {
    uint8_t bytes[SECTION_ROOM];
    size_t n_bytes; /* of cells or sizes, without table and hashes */
    uint64_t place[64];
    size_t n_pages;
};

static struct part parts[INDEX_N_SECTIONS];
static struct index_header header;

static void parts_take(const struct good *good)
{
    const uint8_t *bytes = good->out.memory;
    memcpy(&header, bytes, sizeof header);
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++) {
        const struct index_extent *extent = &header.sections[i];
        struct part *part = &parts[i];
        part->n_pages = 0; /* nothing is read behind n_bytes that was not written before */
        part->n_bytes = header.n_tree * sizeof(struct hs_sizes);
        if (i != INDEX_REACHABLE) {
            part->n_pages = packed_pages(index_n_cells(&header, i));
            part->n_bytes = extent->n_bytes - part->n_pages * HS_PACKED_TABLE_ENTRY;
        }
        assert(part->n_bytes < SECTION_ROOM / 2 && part->n_pages <= 64);
        memcpy(part->bytes, bytes + extent->offset, part->n_bytes);
        for (size_t page = 0; page < part->n_pages; page++)
            memcpy(&part->place[page],
                   bytes + extent->offset + part->n_bytes + page * HS_PACKED_TABLE_ENTRY, 8);
    }
}

static uint64_t extreme(unsigned value)
{
    const uint64_t n = header.n_nodes;
    const uint64_t values[] = {0,
                               1,
                               n - 1,
                               n,
                               n + 1,
                               2 * n,
                               2 * n + 1,
                               n * n,
                               INT32_MAX,
                               UINT32_MAX,
                               INT64_MAX,
                               1ULL << 63,
                               UINT64_MAX,
                               HS_PACKED_LONG,
                               HS_PACKED_LONG + 1};
    size_t n_values = sizeof values / sizeof values[0];
    return value < 1024 ? value : values[value % n_values];
}

/* Pages from the one with the place on move by `by` bytes. */
static void places_shift(struct part *part, size_t at, int64_t by)
{
    for (size_t page = 0; page < part->n_pages; page++) {
        struct packed_place place = packed_place_of(part->place[page]);
        if (place.begin > at)
            place.begin += (uint64_t)by;
        else if (at < place.begin + place.n_bytes)
            place.n_bytes += (uint64_t)by;
        place.begin &= PACKED_BEGIN_MAX - 1;
        place.n_bytes &= PACKED_PAGE_BYTES_MAX - 1;
        part->place[page] = packed_place_code(&place);
    }
}

static void bytes_insert(struct part *part, size_t at, size_t n, uint8_t value)
{
    if (part->n_bytes + n > SECTION_ROOM)
        return;
    memmove(part->bytes + at + n, part->bytes + at, part->n_bytes - at);
    memset(part->bytes + at, value, n);
    part->n_bytes += n;
    places_shift(part, at, (int64_t)n);
}

static void bytes_remove(struct part *part, size_t at, size_t n)
{
    if (n > part->n_bytes - at)
        n = part->n_bytes - at;
    memmove(part->bytes + at, part->bytes + at + n, part->n_bytes - at - n);
    part->n_bytes -= n;
    places_shift(part, at, -(int64_t)n);
}

/* The number at a place becomes another, of another length. */
static void number_set(struct part *part, size_t at, uint64_t value)
{
    size_t end = at;
    while (end < part->n_bytes && part->bytes[end] >= 0x80)
        end++;
    size_t n_old = end + 1 - at, n_new = 1;
    for (uint64_t rest = value >> 7; rest != 0; rest >>= 7)
        n_new++;
    if (n_new > n_old)
        bytes_insert(part, at, n_new - n_old, 0);
    else
        bytes_remove(part, at, n_old - n_new);
    for (size_t i = 0; i < n_new && at + i < part->n_bytes; i++, value >>= 7)
        part->bytes[at + i] = (uint8_t)((value & 0x7f) | (i + 1 < n_new ? 0x80 : 0));
}

static void place_move(struct part *part, unsigned which, unsigned value)
{
    if (part->n_pages == 0)
        return;
    uint64_t *code = &part->place[which / 2 % part->n_pages];
    *code += which % 2 == 0 ? (uint64_t)(int64_t)(int16_t)value : (uint64_t)value << 40;
}

static void total_set(unsigned which, unsigned value)
{
    uint64_t *const totals[] = {&header.n_predecessors,  &header.reached.words,
                                &header.reached.objects, &header.reached.static_words,
                                &header.unreached.words, &header.unreached.static_objects,
                                &header.n_sets,          &header.n_other_sets,
                                &header.other_sets.words};
    *totals[which % (sizeof totals / sizeof totals[0])] = extreme(value);
}

static void damage(const uint8_t *bytes)
{
    struct part *part = &parts[bytes[1] % INDEX_N_SECTIONS];
    unsigned place = bytes[2] | (unsigned)bytes[3] << 8;
    unsigned value = bytes[4] | (unsigned)bytes[5] << 8;
    size_t at = part->n_bytes == 0 ? 0 : place % part->n_bytes;

    switch (bytes[0] % 7) {
    case 0:
        part->bytes[at] = (uint8_t)value;
        break;
    case 1:
        part->bytes[at] ^= (uint8_t)(1U << value % 8);
        break;
    case 2:
        number_set(part, at, extreme(value));
        break;
    case 3:
        bytes_insert(part, at, value >> 8, (uint8_t)value);
        break;
    case 4:
        bytes_remove(part, at, value);
        break;
    case 5:
        place_move(part, place, value);
        break;
    default:
        total_set(place, value);
    }
}

/* ---- hashes ---- */

/* Of the blocks that fill [begin, end). */
static void blocks_seal(uint8_t *bytes, size_t begin, size_t end)
{
    while (end - begin >= PACKED_BLOCK_HEAD) {
        uint32_t n = hs_load_u32(bytes + begin + 8);
        if (n > end - begin - PACKED_BLOCK_HEAD)
            n = (uint32_t)(end - begin - PACKED_BLOCK_HEAD);
        uint64_t hash = XXH3_64bits(bytes + begin + PACKED_BLOCK_HEAD, n);
        memcpy(bytes + begin, &hash, sizeof hash);
        memcpy(bytes + begin + 8, &n, sizeof n);
        begin += PACKED_BLOCK_HEAD + n;
    }
}

static size_t part_put(struct part *part, uint8_t *to)
{
    size_t before = 0;
    for (size_t i = 0; i < part->n_pages; i++) {
        struct packed_place place = packed_place_of(part->place[i]);
        if (place.begin <= part->n_bytes && before <= place.begin)
            blocks_seal(part->bytes, before, place.begin);
        before = place.begin + place.n_bytes;
    }
    memcpy(to, part->bytes, part->n_bytes);
    for (size_t i = 0; i < part->n_pages; i++) {
        struct packed_place place = packed_place_of(part->place[i]);
        bool is_inside =
            place.begin <= part->n_bytes && place.n_bytes <= part->n_bytes - place.begin;
        uint64_t hash = is_inside ? XXH3_64bits(part->bytes + place.begin, place.n_bytes) : 0;
        memcpy(to + part->n_bytes + i * HS_PACKED_TABLE_ENTRY, &part->place[i], 8);
        memcpy(to + part->n_bytes + i * HS_PACKED_TABLE_ENTRY + 8, &hash, 8);
    }
    return part->n_bytes + part->n_pages * HS_PACKED_TABLE_ENTRY;
}

static size_t sizes_put(const struct part *part, uint8_t *to)
{
    size_t at = header.n_tree * sizeof(struct hs_sizes);
    memcpy(to, part->bytes, at); /* what was cut off is as it was shifted: any bytes */
    for (uint64_t page = 0; page < index_sizes_pages(header.n_tree); page++, at += 8) {
        uint64_t first = page * INDEX_SIZES_PAGE, n = header.n_tree - first;
        n = n < INDEX_SIZES_PAGE ? n : INDEX_SIZES_PAGE;
        uint64_t hash =
            XXH3_64bits(part->bytes + first * sizeof(struct hs_sizes), n * sizeof(struct hs_sizes));
        memcpy(to + at, &hash, sizeof hash);
    }
    return at;
}

/* An index of these parts, of which only those in the set are said to be there. Returns its bytes,
 * in a block of that size. */
static uint8_t *file_make(unsigned set, size_t *ret_n)
{
    struct index_header head = header;
    static uint8_t bytes[INDEX_N_SECTIONS * (SECTION_ROOM + INDEX_PAGE)];
    size_t at = INDEX_PAGE;

    memset(bytes, 0, INDEX_PAGE);
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++) {
        size_t n = i == INDEX_REACHABLE ? sizes_put(&parts[i], bytes + at)
                                        : part_put(&parts[i], bytes + at);
        head.sections[i] = (struct index_extent){at, n};
        *ret_n = at + n;
        at = index_page_end(at + n);
        memset(bytes + *ret_n, 0, at - *ret_n);
    }
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        if ((set >> i & 1) == 0)
            head.sections[i] = (struct index_extent){0};
    head.checksum = XXH3_64bits(&head, offsetof(struct index_header, checksum));
    memcpy(bytes, &head, sizeof head);
    uint8_t *exact = malloc(*ret_n);
    assert(exact != NULL);
    memcpy(exact, bytes, *ret_n);
    return exact;
}

/* ---- walking ---- */

static void walk_row(struct hs_row row, uint64_t n_nodes)
{
    hs_node value, last = 0;
    uint64_t n = 0;
    assert(row.n <= n_nodes);
    for (; hs_row_next(&row, &value); n++, last = value)
        assert(value < n_nodes && (n == 0 || value > last));
    assert(n <= row.n);
}

static void walk_node(struct hs_index *index, hs_node node)
{
    uint64_t n_nodes = hs_index_n_nodes(index), n;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_child *child;
    hs_node up = node;

    unsigned n_climb = node % 16 == 0 ? MAX_CLIMB : 2;
    for (unsigned i = 0; i < n_climb && up != HS_NO_NODE; i++) {
        up = hs_index_idom(index, up);
        assert(up == HS_NO_NODE || up < n_nodes);
    }
    (void)hs_index_retained(index, node);
    (void)hs_index_is_reached(index, node);
    walk_row(hs_index_predecessors(index, node), n_nodes);
    walk_row(hs_index_dominated(index, node), n_nodes);
    if (node % 32 == 0 && hs_index_largest(index, node, 8, &child, &n, &err) == HS_OK) {
        assert(n <= 8);
        for (uint64_t i = 1; i < n; i++)
            assert(child[i].words <= child[i - 1].words);
        hs_free(child);
    }
}

static void walk_sets(struct hs_index *index)
{
    uint64_t n_others, n_nodes = hs_index_n_nodes(index);
    (void)hs_index_other_sets(index, &n_others);
    for (uint32_t set = 1; set <= hs_index_n_sets(index); set++) {
        assert(hs_index_set(index, set).first_top < n_nodes);
        walk_row(hs_index_set_roots(index, set), index->file.header->n_tree);
    }
    for (hs_node node = 0; node < n_nodes; node++) {
        uint32_t set = hs_index_set_of(index, node);
        assert(set <= hs_index_n_sets(index) || set == HS_SET_OTHERS);
        assert(hs_index_tier(index, node) <= HS_TIER_NONE);
    }
}

static void walk(struct hs_index *index)
{
    struct hs_error err = HS_ERROR_INIT;

    walk_sets(index);

    for (hs_node node = 0; node < hs_index_n_nodes(index); node++)
        walk_node(index, node);
    for (hs_node node = 0; node < index->file.header->n_tree; node++)
        (void)hs_index_reachable(index, node);
    (void)hs_index_reached_total(index);
    (void)hs_index_unreached_total(index);
    hs_status met = hs_index_check(index, &err);
    hs_status status = hs_index_check_all(index, NULL, &err);
    assert(status == HS_OK || status == HS_FORMAT);
    assert(met == HS_OK || (met == HS_FORMAT && status == HS_FORMAT));
}

static void try_index(const struct good *good)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_index index = {0};
    size_t n_bytes;
    uint8_t *bytes = file_make(~0U, &n_bytes);
    struct index_output out = {.memory = bytes, .capacity = n_bytes, .n_bytes = n_bytes};

    hs_status status = index_file_of_output(&out, good->snap, 0, &index.file, &err);
    assert(status == HS_OK || status == HS_FORMAT);
    if (status == HS_OK)
        walk(&index);
    index_file_close(&index.file);
    free(bytes);
}

/* ---- going on ---- */

static hs_status go_on(const struct good *good, bool by_passes, struct hs_budget *budget,
                       struct index_output *out, struct hs_error *err)
{
    const struct index_work work = {
        .snap = good->snap, .policy = &good->policy, .budget = by_passes ? budget : NULL};
    struct index_writer writer = {0};

    hs_status status = index_write_init(out, good->snap, 0, budget, &writer, err);
    if (status == HS_OK)
        status = by_passes ? index_passes_build(&work, &writer, err)
                           : index_build_run(&work, &writer, err);
    if (status == HS_OK)
        status = index_write_finish(&writer, err);
    index_write_fini(&writer);
    return status;
}

static void try_part(const struct good *good, unsigned set, bool by_passes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_index index = {0};
    struct hs_budget budget;
    size_t n_bytes;
    uint8_t *bytes = file_make(set, &n_bytes);

    hs_budget_init((uint64_t)64 << 20, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL, 1,
                   &budget);
    uint64_t used = budget.used_bytes;
    must(index_output_open_memory(4 * INDEX_N_SECTIONS * SECTION_ROOM, NULL, &index.memory, &err),
         &err);
    must(index_output_append(&index.memory, bytes, n_bytes, &err), &err);
    free(bytes);
    hs_status status = go_on(good, by_passes, &budget, &index.memory, &err);
    assert(budget.used_bytes == used);
    if (status == HS_OK) {
        must(index_file_of_output(&index.memory, good->snap, 0, &index.file, &err), &err);
        walk(&index);
    } else { /* it did not fit together: without it */
        must(index_output_cut(&index.memory, 0, &err), &err);
        must(go_on(good, by_passes, &budget, &index.memory, &err), &err);
        assert(index.memory.n_bytes == good->out.n_bytes &&
               memcmp(index.memory.memory, good->out.memory, good->out.n_bytes) == 0);
    }
    index_file_close(&index.file);
    index_output_close(&index.memory, false);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
    static bool is_made;
    if (!is_made) {
        good_make(&goods[0], 60);
        good_make(&goods[1], LARGER);
        is_made = true;
    }
    if (n_bytes == 0)
        return 0;
    const struct good *good = &goods[data[0] >> 2 & 1];
    parts_take(good);
    for (size_t at = 1, n = 0; at + DAMAGE_BYTES <= n_bytes && n < MAX_DAMAGES; n++) {
        damage(data + at);
        at += DAMAGE_BYTES;
    }
    if ((data[0] & 2) == 0) {
        try_index(good);
        return 0;
    }
    /* REACHABLE or not; the others up to one of them */
    unsigned set = (2U << (data[0] >> 4 & 7)) - 2 + (data[0] >> 3 & 1);
    try_part(good, set, (data[0] & 1) != 0);
    return 0;
}
