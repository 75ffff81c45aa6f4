/* links: hs_index hs_passes hs_dominator hs_graph hs_format */
/* An index that was ended before it was done: what is finished of it is taken over, what is damaged
 * is not, and the bytes come out the same. */
#include <dirent.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "graph_builder.h"
#include "index/index.h"
#include "index/index_format.h"
#include "made_directory.h"
#include "seeds.h"

enum { BYTES_MAX = 1 << 18 };

static struct hs_error err;
static char directory[MADE_DIRECTORY_BYTES];
static char snap_path[MADE_DIRECTORY_BYTES + 16], index_path[MADE_DIRECTORY_BYTES + 32];
static char part_path[MADE_DIRECTORY_BYTES + 48];
static struct hs_graph_builder builder;
static struct hs_snap *snap;
static uint8_t whole[BYTES_MAX]; /* the index as it should be */
static size_t n_whole;

static void fill(struct hs_graph_builder *b, bool with_ephemerons)
{
    uint64_t random = 7;
    for (uint32_t i = 0; i < 900; i++)
        (void)hs_graph_builder_block(b, 2 + hs_random_below(&random, 9), i % 50 == 0);
    for (uint32_t i = 0; i < 1500; i++)
        hs_graph_builder_edge(b, hs_random_below(&random, 900), hs_random_below(&random, 900),
                              with_ephemerons && i % 10 == 0 ? HS_EDGE_EPHEMERON : HS_EDGE_EXACT);
    for (uint32_t i = 0; i < 20; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "U.v%u", i);
        (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", name,
                                    hs_random_below(&random, 900));
    }
}

static size_t slurp(const char *path, uint8_t *bytes)
{
    FILE *f = fopen(path, "rb");
    if (f == NULL)
        return 0;
    size_t n = fread(bytes, 1, BYTES_MAX, f);
    assert_true(n < BYTES_MAX);
    (void)fclose(f);
    return n;
}

static void spill(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Counts what is told; from `end_at` on it asks for the end. */
struct listener {
    unsigned n_told, end_at;
};

static bool tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct listener *listener = context;
    (void)phase, (void)done, (void)total;
    return ++listener->n_told < listener->end_at;
}

static hs_status build(unsigned end_at, unsigned *ret_n_told)
{
    struct listener listener = {.end_at = end_at};
    const struct hs_progress progress = {tell, &listener};
    const struct hs_index_options options = {.snap_path = snap_path, .progress = &progress};
    struct hs_index *index = NULL;
    hs_status status = hs_index_open(snap, &options, &index, &err);
    assert_int_equal(index != NULL, status == HS_OK);
    assert_true(index == NULL || hs_index_was_built(index));
    hs_index_close(index);
    if (ret_n_told != NULL)
        *ret_n_told = listener.n_told;
    return status;
}

static unsigned n_files(void)
{
    unsigned n = 0;
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        n += entry->d_name[0] != '.';
    (void)closedir(dir);
    return n;
}

/* The index is there, as it should be, and nothing else is. */
static void check_whole(void)
{
    static uint8_t bytes[BYTES_MAX];
    assert_int_equal(slurp(index_path, bytes), n_whole);
    assert_memory_equal(bytes, whole, n_whole);
    assert_int_equal(n_files(), 1);
    assert_int_equal(unlink(index_path), 0);
}

static void make_whole(bool with_ephemerons)
{
    builder = (struct hs_graph_builder){0};
    fill(&builder, with_ephemerons);
    snap = hs_graph_builder_open(&builder);
    assert_int_equal(build(UINT32_MAX, NULL), HS_OK);
    n_whole = slurp(index_path, whole);
    assert_true(n_whole != 0);
    check_whole();
}

static void drop_whole(void)
{
    hs_snap_close(snap);
    hs_graph_builder_fini(&builder);
}

/* Ended at any time, once and then again a little later, each time with what was done. */
static void test_ended_anywhere(void **state)
{
    for (int with = 0; with < 2; with++) {
        unsigned n_all, n_less = 0;
        make_whole(with);
        assert_int_equal(build(UINT32_MAX, &n_all), HS_OK);
        check_whole();
        for (unsigned at = 1; at <= n_all; at += HS_EVERY(3)) {
            unsigned n_told;
            assert_int_equal(build(at, NULL), HS_LIMIT);
            assert_int_equal(access(index_path, F_OK), -1);
            assert_int_equal(build(UINT32_MAX, &n_told), HS_OK);
            check_whole();
            n_less += n_told < n_all;
            unsigned n_ends = 0;
            for (unsigned end_at = at; build(end_at, NULL) != HS_OK; end_at++)
                assert_true(n_ends++ <= n_all);
            check_whole();
        }
        assert_true(n_less > 2); /* something was saved */
        drop_whole();
    }
}

/* A part file with as much finished as an interrupted run has at most. */
static size_t make_part(uint8_t *bytes)
{
    size_t n = 0;
    unsigned n_all;
    assert_int_equal(build(UINT32_MAX, &n_all), HS_OK);
    check_whole();
    assert_int_equal(build(n_all, NULL), HS_LIMIT);
    n = slurp(part_path, bytes);
    assert_true(n > INDEX_PAGE);
    return n;
}

static void test_damaged_parts(void **state)
{
    static uint8_t part[BYTES_MAX], damaged[BYTES_MAX];
    make_whole(true);
    size_t n = make_part(part);
    for (size_t at = 0; at < n; at += at < sizeof(struct index_header) ? 5 : 41 * HS_EVERY(4)) {
        memcpy(damaged, part, n);
        damaged[at] ^= (uint8_t)(1U << at % 8);
        spill(part_path, damaged, n);
        assert_int_equal(build(UINT32_MAX, NULL), HS_OK);
        check_whole();
    }
    for (size_t cut = 0; cut < n; cut += 499 * HS_EVERY(3)) {
        spill(part_path, part, cut);
        assert_int_equal(build(UINT32_MAX, NULL), HS_OK);
        check_whole();
    }
    memcpy(damaged, part, n);
    memset(damaged + n, 77, 10000); /* and what a crash left behind the last section */
    spill(part_path, damaged, n + 10000);
    assert_int_equal(build(UINT32_MAX, NULL), HS_OK);
    check_whole();
    drop_whole();
}

/* The first block with one predecessor gets the node behind that for it, under hashes in order;
 * what follows from predecessors is still to come. */
static void mislead(uint8_t *part)
{
    struct index_header header;
    uint64_t first, hash;
    memcpy(&header, part, sizeof header);
    uint8_t *rows = part + header.sections[INDEX_PREDECESSORS].offset;
    uint64_t n_pages = hs_packed_table_bytes(header.n_nodes) / HS_PACKED_TABLE_ENTRY;
    uint8_t *entry = rows + header.sections[INDEX_PREDECESSORS].n_bytes -
                     (n_pages - 1) * HS_PACKED_TABLE_ENTRY; /* of the second page */
    memcpy(&first, entry, sizeof first);
    uint8_t *page = rows + (first & 0xffffffffff), *at = page;
    while (at[0] != 1) /* over its other rows */
        for (unsigned n = *at++; n > 0; n -= *at++ < 0x80)
            ;
    at[1] ^= 4;
    hash = XXH3_64bits(page, first >> 40);
    memcpy(entry + 8, &hash, sizeof hash);
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        if (i != INDEX_PREDECESSORS)
            header.sections[i] = (struct index_extent){0};
    header.checksum = XXH3_64bits(&header, offsetof(struct index_header, checksum));
    memcpy(part, &header, sizeof header);
}

static void test_part_that_misleads(void **state)
{
    static uint8_t part[BYTES_MAX];
    struct listener listener = {.end_at = UINT32_MAX};
    const struct hs_progress progress = {tell, &listener};
    const struct hs_index_options options = {.snap_path = snap_path, .progress = &progress};
    struct hs_index *index;
    unsigned n_all;
    make_whole(false);
    assert_int_equal(build(UINT32_MAX, &n_all), HS_OK);
    check_whole();
    size_t n = make_part(part);
    mislead(part);
    spill(part_path, part, n);
    assert_int_equal(hs_index_open(snap, &options, &index, &err), HS_OK);
    assert_true(listener.n_told > n_all); /* it was gone on with, then not */
    hs_index_close(index);
    check_whole();
    drop_whole();
}

static void test_part_of_another_snapshot(void **state)
{
    static uint8_t part[BYTES_MAX];
    make_whole(true);
    size_t n = make_part(part);
    drop_whole();
    assert_int_equal(unlink(part_path), 0);
    make_whole(false);
    spill(part_path, part, n);
    assert_int_equal(build(UINT32_MAX, NULL), HS_OK);
    check_whole();
    drop_whole();
}

static void test_rebuild_uses_no_part(void **state)
{
    static uint8_t part[BYTES_MAX];
    struct listener listener = {.end_at = UINT32_MAX};
    const struct hs_progress progress = {tell, &listener};
    const struct hs_index_options options = {
        .snap_path = snap_path, .progress = &progress, .rebuild = true};
    struct hs_index *index;
    unsigned n_all, n_rest;
    make_whole(false);
    assert_int_equal(build(UINT32_MAX, &n_all), HS_OK);
    check_whole();
    size_t n = make_part(part);
    assert_int_equal(build(UINT32_MAX, &n_rest), HS_OK);
    check_whole();
    assert_true(n_rest < n_all);
    spill(part_path, part, n);
    assert_int_equal(hs_index_open(snap, &options, &index, &err), HS_OK);
    assert_int_equal(listener.n_told, n_all);
    hs_index_close(index);
    check_whole();
    drop_whole();
}

/* What another writes to, or could, is left alone. */
static void test_parts_of_others(void **state)
{
    static uint8_t part[BYTES_MAX], after[BYTES_MAX];
    char other[MADE_DIRECTORY_BYTES + 16];
    (void)snprintf(other, sizeof other, "%s/other", directory);
    make_whole(false);
    size_t n = make_part(part);
    FILE *held = fopen(part_path, "rb");
    assert_non_null(held);
    assert_int_equal(flock(fileno(held), LOCK_EX), 0);
    assert_int_equal(build(UINT32_MAX, NULL), HS_OK);
    assert_int_equal(slurp(part_path, after), n);
    assert_memory_equal(part, after, n);
    (void)fclose(held);
    assert_int_equal(rename(part_path, other), 0);
    assert_int_equal(unlink(index_path), 0);
    assert_int_equal(symlink(other, part_path), 0);
    assert_int_equal(build(UINT32_MAX, NULL), HS_OK);
    assert_int_equal(slurp(other, after), n);
    assert_memory_equal(part, after, n);
    assert_int_equal(unlink(part_path), 0);
    assert_int_equal(unlink(other), 0);
    check_whole();
    drop_whole();
}

/* Memory that runs out anywhere leaves nothing that misleads the next run. */
static void test_every_allocation_fails(void **state)
{
    static uint8_t part[BYTES_MAX];
    make_whole(true);
    size_t n = make_part(part);
    uint64_t before = hs_alloc_count();
    assert_int_equal(build(UINT32_MAX, NULL), HS_OK);
    uint64_t n_allocs = hs_alloc_count() - before;
    check_whole();
    for (uint64_t nth = 1; nth <= n_allocs; nth += HS_EVERY(4)) {
        spill(part_path, part, n);
        hs_alloc_fail_at(nth, true);
        hs_status status = build(UINT32_MAX, NULL);
        hs_alloc_fail_at(0, false);
        assert_int_equal(status, HS_LIMIT);
        if (access(index_path, F_OK) != 0) /* else only its opening failed */
            assert_int_equal(build(UINT32_MAX, NULL), HS_OK);
        check_whole();
    }
    drop_whole();
}

static int group_setup(void **state)
{
    made_directory(directory);
    (void)snprintf(snap_path, sizeof snap_path, "%s/heap.snap", directory);
    (void)snprintf(index_path, sizeof index_path, "%s.idx", snap_path);
    (void)snprintf(part_path, sizeof part_path, "%s.part", index_path);
    return 0;
}

static int group_teardown(void **state)
{
    (void)unlink(index_path);
    (void)unlink(part_path);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ended_anywhere),
        cmocka_unit_test(test_damaged_parts),
        cmocka_unit_test(test_part_that_misleads),
        cmocka_unit_test(test_part_of_another_snapshot),
        cmocka_unit_test(test_rebuild_uses_no_part),
        cmocka_unit_test(test_parts_of_others),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
