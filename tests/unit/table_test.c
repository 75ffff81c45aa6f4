/* links: hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "base/table.h"

static struct hs_error err;

static void finds_by_content(void **state)
{
    static const char *const words[] = {"root", "leaf", "", "stack", "leafs"};
    struct hs_table table = {0};
    uint64_t hash = hs_hash_bytes("root", 4);

    assert_int_equal(HS_TABLE_FIND(&table, hash, i, true), HS_NO_NUMBER);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(hs_table_add(&table, hs_hash_bytes(words[i], strlen(words[i])), i, &err),
                         HS_OK);
    for (size_t w = 0; w < 5; w++) {
        hash = hs_hash_bytes(words[w], strlen(words[w]));
        assert_int_equal(HS_TABLE_FIND(&table, hash, i, strcmp(words[i], words[w]) == 0), w);
    }
    assert_int_equal(table.n, 5);
    hs_table_fini(&table);
    hs_table_fini(&table);
    assert_int_equal(table.n_slots, 0);
}

/* Of things with one hash each is found, by what it is. */
static void tells_apart_what_has_one_hash(void **state)
{
    struct hs_table table = {0};
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(hs_table_add(&table, 7, i, &err), HS_OK);
    for (uint32_t wanted = 0; wanted < 1000; wanted++)
        assert_int_equal(HS_TABLE_FIND(&table, 7, i, i == wanted), wanted);
    assert_int_equal(HS_TABLE_FIND(&table, 7, i, i == 1000), HS_NO_NUMBER);
    assert_int_equal(HS_TABLE_FIND(&table, 8, i, true), HS_NO_NUMBER);
    hs_table_fini(&table);
}

static size_t longest_run(const struct hs_table *table)
{
    size_t longest = 0, run = 0;
    for (size_t i = 0; i < 2 * table->n_slots; i++) {
        run = table->slots[i & (table->n_slots - 1)] != 0 ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

/* Keys that fall on one slot under the usual hashes: alike in their lower or their upper bits, or
 * multiples of the inverse of the usual multiplier. */
static void no_keys_collide_by_choice(uint64_t inverse)
{
    enum { N = 100000 };
    for (unsigned how = 0; how < 5; how++) {
        struct hs_dict dict = {0};
        for (uint64_t i = 0; i < N; i++) {
            uint64_t keys[] = {i, i << 12, i << 44, (i << 44) * inverse, i * inverse};
            assert_int_equal(hs_dict_put(&dict, keys[how], i, &err), HS_OK);
        }
        assert_int_equal(dict.n, N);
        assert_true(longest_run(&dict.table) < 100);
        hs_dict_fini(&dict);
    }
}

/* Under any secret: this process's, and those under which one multiplication keeps keys at equal
 * distances together. */
static void no_keys_collide(void **state)
{
    const uint64_t secrets[] = {hs_hash_secret(),    0xf33f7b63a4a1335fU, 0x4f5888005169a347U,
                                0x4116b14473b84f71U, 0xfcc0db234b27c89fU, 1};
    uint64_t inverse = 1;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - 0x9e3779b97f4a7c15U * inverse;
    assert_true(inverse * 0x9e3779b97f4a7c15U == 1);
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        hs_hash_secret_ = secrets[i];
        no_keys_collide_by_choice(inverse);
    }
    hs_hash_secret_ = secrets[0];
}

static void grows_and_keeps_the_order(void **state)
{
    enum { N = 200000 };
    struct hs_dict dict = {0};
    size_t n_bytes = 0;

    assert_null(hs_dict_find(&dict, 0));
    assert_int_equal(hs_dict_get(&dict, 0, 77), 77);
    for (uint64_t i = 0; i < N; i++) {
        n_bytes += hs_dict_growth_bytes(&dict);
        assert_int_equal(hs_dict_put(&dict, UINT64_MAX - i * i, i, &err), HS_OK);
        assert_true(dict.table.n * 3 <= dict.table.n_slots * 2);
    }
    assert_true(n_bytes == dict.table.n_slots * sizeof *dict.table.slots +
                               dict.capacity * sizeof *dict.entries);
    for (uint64_t i = 0; i < N; i++) {
        assert_true(dict.entries[i].key == UINT64_MAX - i * i);
        assert_true(hs_dict_get(&dict, UINT64_MAX - i * i, N) == i);
        assert_null(hs_dict_find(&dict, i));
    }
    assert_int_equal(hs_dict_put(&dict, UINT64_MAX, 5, &err), HS_OK); /* known */
    assert_int_equal(dict.n, N);
    assert_int_equal(hs_dict_get(&dict, UINT64_MAX, 0), 5);
    hs_dict_fini(&dict);
    hs_dict_fini(&dict);
}

static void takes_any_key_and_value(void **state)
{
    static const uint64_t numbers[] = {0, 1, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 32};
    struct hs_dict dict = {0};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(hs_dict_put(&dict, numbers[i], numbers[4 - i], &err), HS_OK);
    for (size_t i = 0; i < 5; i++)
        assert_true(hs_dict_get(&dict, numbers[i], 3) == numbers[4 - i]);
    hs_dict_fini(&dict);
}

/* Room that was reserved is there. */
static void reserved_room_is_there(void **state)
{
    struct hs_table table = {0};
    size_t n_bytes = hs_table_growth_bytes(&table, 1000);
    assert_int_equal(hs_table_reserve(&table, 1000, &err), HS_OK);
    assert_int_equal(n_bytes, table.n_slots * sizeof *table.slots);
    hs_alloc_fail_at(1, true);
    for (size_t i = 0; i < 1000; i++)
        assert_int_equal(hs_table_add(&table, hs_hash(i), i, &err), HS_OK);
    assert_int_equal(hs_table_growth_bytes(&table, 0), 0);
    hs_alloc_fail_at(0, false);
    assert_int_equal(hs_table_reserve(&table, HS_NO_NUMBER, &err), HS_LIMIT);
    assert_int_equal(table.n, 1000);
    hs_table_fini(&table);
}

/* Whichever allocation fails: what was there still is. */
static void lives_on_without_memory(void **state)
{
    struct hs_dict dict = {0};
    uint64_t n_failed = 0;
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t before = hs_alloc_count();
        hs_alloc_fail_at(1, false);
        hs_status status = hs_dict_put(&dict, i, i + 1, &err);
        hs_alloc_fail_at(0, false);
        assert_int_equal(status, hs_alloc_count() == before ? HS_OK : HS_LIMIT);
        n_failed += status != HS_OK;
        if (status != HS_OK) {
            assert_null(hs_dict_find(&dict, i));
            hs_alloc_fail_at(2, false); /* the table, if both have to grow */
            status = hs_dict_put(&dict, i, i + 1, &err);
            hs_alloc_fail_at(0, false);
            n_failed += status != HS_OK;
            assert_int_equal(hs_dict_put(&dict, i, i + 1, &err), HS_OK);
        }
        assert_int_equal(dict.n, i + 1);
        assert_true(hs_dict_get(&dict, i / 2, 0) == i / 2 + 1);
    }
    assert_true(n_failed > 8);
    hs_dict_fini(&dict);
}

static void one_secret_for_all(void **state)
{
    assert_true(hs_hash_secret() != 0);
    assert_true(hs_hash_secret() == hs_hash_secret());
    assert_true(hs_hash(1) == hs_hash(1) && hs_hash(1) != hs_hash(2));
    assert_true(hs_hash_pair(1, 2) != hs_hash_pair(2, 1));
    assert_true(hs_hash_bytes("ab", 2) != hs_hash_bytes("ab", 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_content),        cmocka_unit_test(tells_apart_what_has_one_hash),
        cmocka_unit_test(no_keys_collide),         cmocka_unit_test(grows_and_keeps_the_order),
        cmocka_unit_test(takes_any_key_and_value), cmocka_unit_test(reserved_room_is_there),
        cmocka_unit_test(lives_on_without_memory), cmocka_unit_test(one_secret_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
