/* links: hs_analysis */
#include "unit.h"

#include <xxhash.h>
#include <zstd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "made_keys.h"

static void fill(struct hs_snap_keys *table)
{
    struct hs_error err = HS_ERROR_INIT;
    made_keys_begin(table, 1000);
    uint32_t root = made_keys_add(table, 0, "server.sessions", HS_KEY_ROOT, 0, 0);
    uint32_t session = made_keys_add(table, root, "struct session", HS_KEY_TYPE, 10, 40);
    (void)made_keys_add(table, session, "char[]", HS_KEY_TYPE, 10, 50);
    (void)made_keys_add(table, 0, "[unreached]", HS_KEY_UNREACHED, 1, 3);
    table->lists[HS_KEY_LIST_KEYS].rows[session].set = UINT32_MAX;
    table->lists[HS_KEY_LIST_KEYS].rows[session].tells = 9;
    made_keys_end(table);
    made_keys_put(table, HS_KEY_LIST_ROOTS, "server.sessions", 20, 90);
    made_keys_put(table, HS_KEY_LIST_SETS, "a, b", 2, 7);
    made_keys_put(table, HS_KEY_LIST_TYPES, "char[]", 10, 50);
    made_keys_put(table, HS_KEY_LIST_LEAKS, "char[]", 1, 3);
    table->lists[HS_KEY_LIST_LEAKS].rows[0].tells = 300;
    const struct hs_key_row site = {.parent = session, .objects = 3, .words = 30};
    assert_int_equal(hs_snap_keys_add(table, HS_KEY_LIST_SITES, "add_session", &site, &err), HS_OK);
    table->facts.snap_checksum = UINT64_MAX;
    assert_int_equal(HS_GROW(&table->builds, &table->builds_capacity, 1, &err), HS_OK);
    table->builds[0].path = table->facts.command;
    table->builds[0].build_id = table->facts.tool_version;
    table->n_builds = 1;
}

static struct hs_buffer encoded(const struct hs_snap_keys *table)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer bytes = {0};
    assert_int_equal(hs_snap_keys_encode(table, &bytes, &err), HS_OK);
    return bytes;
}

static void assert_same(const struct hs_snap_keys *a, const struct hs_snap_keys *b)
{
    assert_int_equal(a->n_builds, b->n_builds);
    assert_memory_equal(&a->facts, &b->facts, sizeof a->facts);
    for (unsigned list = 0; list < HS_N_KEY_LISTS; list++) {
        assert_int_equal(a->lists[list].n, b->lists[list].n);
        for (size_t i = 0; i < a->lists[list].n; i++) {
            const struct hs_key_row *x = &a->lists[list].rows[i], *y = &b->lists[list].rows[i];
            assert_string_equal(hs_strtab_get(&a->names, x->name),
                                hs_strtab_get(&b->names, y->name));
            assert_true(x->parent == y->parent && x->form == y->form && x->objects == y->objects &&
                        x->words == y->words && x->detail == y->detail && x->set == y->set &&
                        x->tells == y->tells);
        }
    }
}

static void what_is_written_is_read(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap_keys table = {0}, back;
    fill(&table);
    struct hs_buffer bytes = encoded(&table);
    assert_true(hs_key_file_is(bytes.bytes, bytes.n_bytes));
    assert_false(hs_key_file_is((const uint8_t *)"heapsnap", 8));
    assert_int_equal(hs_snap_keys_decode(bytes.bytes, bytes.n_bytes, &back, &err), HS_OK);
    assert_same(&table, &back);
    hs_snap_keys_fini(&back);
    hs_snap_keys_fini(&table);
    hs_buffer_fini(&bytes);
}

static hs_status decode(const uint8_t *bytes, size_t n, struct hs_error *err)
{
    struct hs_snap_keys back;
    hs_status status = hs_snap_keys_decode(bytes, n, &back, err);
    if (status == HS_OK)
        hs_snap_keys_fini(&back);
    return status;
}

/* Each cut and each flipped bit is seen: by the head, by zstd, or by the checksum. */
static void damage_is_refused(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap_keys table = {0};
    fill(&table);
    struct hs_buffer bytes = encoded(&table);
    for (size_t n = 0; n < bytes.n_bytes; n++)
        assert_int_equal(decode(bytes.bytes, n, &err), HS_FORMAT);
    for (size_t bit = 0; bit < bytes.n_bytes * 8; bit++) {
        bytes.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        hs_status status = decode(bytes.bytes, bytes.n_bytes, &err);
        bytes.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        /* A flag of zstd's frame may say less of the same. */
        assert_true(status == HS_FORMAT || status == HS_OK);
        assert_true(status == HS_FORMAT || bit / 8 >= 28);
    }
    hs_buffer_fini(&bytes);
    hs_snap_keys_fini(&table);
}

/* Sound bytes that say what cannot be. */
static void lies_are_refused(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    for (unsigned lie = 0; lie < 17; lie++) {
        struct hs_snap_keys table = {0};
        fill(&table);
        struct hs_key_row *keys = table.lists[HS_KEY_LIST_KEYS].rows;
        struct hs_key_row *types = table.lists[HS_KEY_LIST_TYPES].rows;
        struct hs_key_row *leaks = table.lists[HS_KEY_LIST_LEAKS].rows;
        switch (lie) {
        case 0:
            keys[1].parent = 1;
            break;
        case 1:
            keys[2].parent = 3;
            break;
        case 2:
            keys[2].parent = HS_NO_KEY;
            break;
        case 3:
            keys[3].words = keys[2].words + 1;
            break;
        case 4:
            keys[3].detail = keys[3].words + 1;
            break;
        case 5:
            keys[1].form = HS_KEY_ALL;
            break;
        case 6:
            keys[2].name = 0;
            break;
        case 7:
            keys[0].words++;
            break;
        case 8:
            types[0].parent = 0;
            break;
        case 9:
            types[0].form = 1;
            break;
        case 10:
            leaks[0].form = 2;
            break;
        case 11:
            table.lists[HS_KEY_LIST_SITES].rows[0].parent = 5;
            break;
        case 12:
            table.facts.word_bytes = 3;
            break;
        case 13:
            types[0].words = UINT64_MAX;
            break;
        case 14:
            types[0].name = 100;
            break;
        case 15:
            types[0].set = 1;
            break;
        default:
            table.lists[HS_KEY_LIST_KEYS].n = 0;
            break;
        }
        struct hs_buffer bytes = encoded(&table);
        assert_int_equal(decode(bytes.bytes, bytes.n_bytes, &err), HS_FORMAT);
        hs_buffer_fini(&bytes);
        hs_snap_keys_fini(&table);
    }
}

/* A head with sound hashes around any bytes. */
static hs_status decode_raw(const char *raw, size_t n, uint64_t claimed, struct hs_error *err)
{
    struct hs_buffer b = {0};
    assert_int_equal(hs_buffer_reserve(&b, 28 + ZSTD_compressBound(n), err), HS_OK);
    hs_buffer_put_u64(&b, 0x7379656b2e736e73ULL);
    hs_buffer_put_u32(&b, HS_KEY_FILE_VERSION);
    hs_buffer_put_u64(&b, claimed);
    hs_buffer_put_u64(&b, XXH3_64bits(raw, n));
    b.n_bytes += ZSTD_compress(b.bytes + 28, b.capacity - 28, raw, n, 1);
    hs_status status = decode(b.bytes, b.n_bytes, err);
    hs_buffer_fini(&b);
    return status;
}

static void odd_bytes_are_refused(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(decode_raw("", 0, 0, &err), HS_FORMAT);
    assert_int_equal(decode_raw("\1\1a", 3, (uint64_t)1 << 40, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "its size"));
    assert_int_equal(decode_raw("\2\1a\1a", 5, 5, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "a name twice"));
    assert_int_equal(decode_raw("\1\1\0", 3, 3, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "an odd name"));
    assert_int_equal(decode_raw("\1\0", 2, 2, &err), HS_FORMAT);
    assert_int_equal(decode_raw("\377\377\377\377\17\1a", 7, 7, &err), HS_FORMAT);
}

static void each_allocation_may_fail(void **state)
{
    struct hs_snap_keys table = {0};
    fill(&table);
    struct hs_buffer bytes = encoded(&table);
    FAIL_EACH (f, .at_least = 10) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_snap_keys back = {0};
        hs_status status =
            FAIL_EACH_TRY(f, hs_snap_keys_decode(bytes.bytes, bytes.n_bytes, &back, &err));
        if (status == HS_OK)
            hs_snap_keys_fini(&back);
    }
    hs_buffer_fini(&bytes);
    FAIL_EACH (f, .at_least = 2) {
        struct hs_error err = HS_ERROR_INIT;
        (void)!FAIL_EACH_TRY(f, hs_snap_keys_encode(&table, &bytes, &err));
        hs_buffer_fini(&bytes);
        bytes = (struct hs_buffer){0};
    }
    hs_snap_keys_fini(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),  cmocka_unit_test(damage_is_refused),
        cmocka_unit_test(lies_are_refused),         cmocka_unit_test(odd_bytes_are_refused),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
