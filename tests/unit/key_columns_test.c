/* links: hs_viewer */
/* Keys in columns: which have room, whose rows they are, and that every row has its parent. */
#include "viewer/key_columns.h"

#include "unit.h"

#include "fail_each.h"

/* all 100: a 60 (> t 50 (> u 20), > w 10), b 40 */
static void make_keys(struct hs_keys *keys)
{
    static const struct {
        const char *name;
        uint32_t parent;
        uint8_t form;
        uint64_t own, all;
    } rows[] = {
        {"", HS_NO_KEY, HS_KEY_ALL, 0, 100}, {"a", 0, HS_KEY_ROOT, 0, 60},
        {"b\"", 0, HS_KEY_ROOT, 40, 40},     {"t", 1, HS_KEY_TYPE, 30, 50},
        {"w", 1, HS_KEY_TYPE, 10, 10},       {"t", 3, HS_KEY_TYPE, 20, 20},
    };
    struct hs_error err = HS_ERROR_INIT;
    *keys = (struct hs_keys){0};
    assert_int_equal(hs_grow((void **)&keys->keys, &keys->capacity, 6, sizeof *keys->keys, &err),
                     HS_OK);
    for (keys->n = 0; keys->n < 6; keys->n++) {
        struct hs_key *key = &keys->keys[keys->n];
        key->parent = rows[keys->n].parent;
        key->form = rows[keys->n].form;
        key->own.words = rows[keys->n].own;
        key->all.words = rows[keys->n].all;
        key->all.objects = keys->n;
        key->set = (uint32_t)keys->n % 2;
        assert_int_equal(hs_strtab_add(&keys->names, rows[keys->n].name, &key->name, &err), HS_OK);
    }
}

static void expect(size_t most, const char *json)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer buffer = {0};
    struct hs_keys keys;
    make_keys(&keys);
    assert_int_equal(hs_key_columns_write(&keys, NULL, most, &buffer, &err), HS_OK);
    assert_int_equal(buffer.n_bytes, strlen(json));
    assert_memory_equal(buffer.bytes, json, strlen(json));
    hs_buffer_fini(&buffer);
    hs_keys_fini(&keys);
}

static void columns(void **state)
{
    expect(100, "{\"names\":[\"\",\"a\",\"b\\\"\",\"t\",\"w\"],\"parent\":[0,0,0,1,1,3],"
                "\"name\":[0,1,2,3,4,3],\"form\":[0,1,1,2,2,2],\"words\":[100,60,40,50,10,20],"
                "\"own_words\":[0,0,40,30,10,20],\"objects\":[0,1,2,3,4,5],"
                "\"set\":[0,1,0,1,0,1]}\n");
    expect(3, "{\"names\":[\"\",\"a\",\"t\"],\"parent\":[0,0,1],\"name\":[0,1,2],"
              "\"form\":[0,1,2],\"words\":[100,60,50],\"own_words\":[0,0,30],"
              "\"objects\":[0,1,3],\"set\":[0,1,1]}\n");
    expect(1, "{\"names\":[\"\"],\"parent\":[0],\"name\":[0],\"form\":[0],\"words\":[100],"
              "\"own_words\":[0],\"objects\":[0],\"set\":[0]}\n");
}

static void allocations_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_keys keys;
    make_keys(&keys);
    FAIL_EACH (each, .at_least = 3) {
        struct hs_buffer buffer = {0};
        (void)FAIL_EACH_TRY(each, hs_key_columns_write(&keys, NULL, 4, &buffer, &err));
        hs_buffer_fini(&buffer);
    }
    hs_keys_fini(&keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(columns),
                                       cmocka_unit_test(allocations_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
