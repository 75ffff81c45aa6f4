/* links: hs_format */
/* Refusals of the format that no golden file comes to: behind checksums that are not compared, and
 * before anything is written. */
#include "unit.h"

#include "base/file.h"
#include "format/layout.h"
#include "snapshot/reader.h"
#include "snapshot/writer.h"

/* Opens and checks as they are bytes whose checksums are wrong. */
static hs_status believe(const uint8_t *bytes, size_t n_bytes, struct hs_error *err)
{
    struct hs_snap *snap = NULL;
    hs_status status = hs_snap_open_bytes(bytes, n_bytes, HS_SNAP_TRUST_HASHES, &snap, err);
    if (status == HS_OK)
        status = hs_snap_check(snap, NULL, err);
    hs_snap_close(snap);
    return status;
}

static void a_broken_frame_does_not_unpack(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map;
    unsigned n_seen = 0;
    assert_int_equal(hs_map_open(HS_SOURCE_DIR "/tests/golden/zstd_broken.snap", &map, &err),
                     HS_OK);
    static uint8_t bytes[1 << 16];
    assert_true(map.n_bytes <= sizeof bytes);
    for (size_t i = 0; i < map.n_bytes; i++) {
        memcpy(bytes, map.bytes, map.n_bytes);
        bytes[i] ^= 0xff;
        hs_status status = believe(bytes, map.n_bytes, &err);
        assert_true(status == HS_OK || status == HS_FORMAT || status == HS_LIMIT);
        n_seen += status == HS_FORMAT && strstr(err.message, "does not unpack") != NULL;
    }
    assert_true(n_seen > 0);
    hs_map_close(&map);
}

static void more_blocks_than_there_are_numbers(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap_facts facts = {.word_bytes = 8};
    struct hs_strtab strings = {0};
    struct hs_root root = {.target = HS_NO_NODE};
    struct hs_out out = {0};
    struct hs_snap_writer *writer = NULL;
    assert_int_equal(
        hs_snap_writer_new(&out, &strings, &facts, &root, 1, HS_MAX_BLOCKS + 1, &writer, &err),
        HS_LIMIT);
    assert_non_null(strstr(err.message, "more than a snapshot holds"));
    assert_null(writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_broken_frame_does_not_unpack),
        cmocka_unit_test(more_blocks_than_there_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
