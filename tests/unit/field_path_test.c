/* links: hs_analysis */
#include "unit.h"

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "made_view.h"

enum { DB, DICT, TABLE, ENTRY, BYTES, N_TYPES };

/*  server.db -> redisDb[2] -> struct dict -> dictEntry *[8] -> entry -> entry -> entry -> bytes */
static void fill(struct hs_graph_builder *b, uint32_t *types)
{
    types[BYTES] = hs_graph_builder_type(b, "block of 48 bytes", 0, HS_FORM_BYTES);
    types[DB] = hs_graph_builder_type(b, "redisDb[]", 0, HS_FORM_RECORD);
    types[DICT] = hs_graph_builder_type(b, "struct dict", 0, HS_FORM_RECORD);
    types[TABLE] = hs_graph_builder_type(b, "dictEntry *[]", 0, HS_FORM_POINTER);
    types[ENTRY] = hs_graph_builder_type(b, "dictEntry", 0, HS_FORM_RECORD);
    b->types[types[DB]].stride_bytes = 24;
    b->types[types[TABLE]].stride_bytes = 8;
    hs_graph_builder_member(b, types[DB], 8, "dict", "dict *");
    hs_graph_builder_member(b, types[DICT], 16, "ht_table[0]", "dictEntry **");
    hs_graph_builder_member(b, types[DICT], 24, "ht_table[1]", "dictEntry **");
    hs_graph_builder_member(b, types[ENTRY], 8, "v.val", "void *");
    hs_graph_builder_member(b, types[ENTRY], 16, "next", "dictEntry *");
    uint32_t words[] = {6, 5, 8, 3, 3, 3, 6};
    uint32_t kinds[] = {DB, DICT, TABLE, ENTRY, ENTRY, ENTRY, BYTES};
    uint32_t offsets[] = {4, 3, 5, 2, 2, 1};
    for (uint32_t i = 0; i < 7; i++) {
        hs_graph_builder_block(b, words[i], false);
        b->blocks[i].type = types[kinds[i]];
    }
    for (uint32_t i = 0; i < 6; i++)
        hs_graph_builder_edge_at(b, i, i + 1, HS_EDGE_EXACT, offsets[i]);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "redis-server", "server.c", "server.db", 0);
}

static void test_steps(void **state)
{
    struct made_view made = {0};
    uint32_t types[N_TYPES];
    char text[HS_FIELD_NAME_BYTES];
    fill(&made.builder, types);
    made_view_open(&made);
    const struct {
        int type;
        uint64_t offset_words;
        const char *expected;
    } cases[] = {{DB, 1, "[0].dict"},
                 {DB, 4, "[1].dict"},
                 {DB, 5, "[1]+16"},
                 {DB, 3, "[1]"},
                 {DICT, 2, "ht_table[0]"},
                 {DICT, 4, ""},
                 {DICT, 0, ""},
                 {TABLE, 17, "[17]"},
                 {BYTES, 2, ""},
                 {ENTRY, HS_NO_OFFSET, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t n = hs_field_name(&made.view, types[cases[i].type], cases[i].offset_words, text,
                                 sizeof text);
        assert_string_equal(text, cases[i].expected);
        assert_int_equal(n, strlen(text));
    }
    made_view_close(&made);
}

static void test_path(void **state)
{
    struct made_view made = {0};
    struct hs_error err = HS_ERROR_INIT;
    uint32_t types[N_TYPES];
    hs_node nodes[7];
    char text[HS_FIELD_PATH_BYTES];
    fill(&made.builder, types);
    for (uint32_t i = 0; i < 7; i++)
        nodes[i] = hs_graph_builder_node(&made.builder, i);
    made_view_open(&made);
    struct hs_path_fold fold = {0};
    assert_int_equal(hs_path_fold_nodes(&fold, &made.view, nodes, 7, &err), HS_OK);
    hs_field_path(&made.view, "server.db", &fold, text, sizeof text);
    assert_string_equal(text, "server.db[1].dict->ht_table[1][5]->next{x2}->v.val");
    assert_int_equal(hs_field_path(&made.view, "server.db", &fold, text, 12), 11); /* cut */
    assert_string_equal(text, "server.db[1");
    hs_path_fold_fini(&fold);
    /* nothing is known of a block of bytes */
    fold = (struct hs_path_fold){0};
    struct hs_path_step step = {
        .node = nodes[6], .offset_words = 2, .type = types[BYTES], .repeat = 1};
    assert_int_equal(hs_path_fold_add(&fold, &step, &err), HS_OK);
    assert_int_equal(hs_field_path(&made.view, "x", &fold, text, sizeof text), 0);
    assert_string_equal(text, "");
    hs_path_fold_fini(&fold);
    made_view_close(&made);
}

static void test_short(void **state)
{
    const struct {
        const char *text, *expected;
    } cases[] = {{"/build/redis/src/server.c:86", "src/server.c:86"},
                 {"./libio/./libio/stdfiles.c:53", "libio/stdfiles.c:53"},
                 {"../src/a.c:1", "src/a.c:1"},
                 {"/a.c:1", "/a.c:1"},
                 {"./a.c:1", "./a.c:1"},
                 {"/usr/a.c:1", "usr/a.c:1"},
                 {"/usr/", "usr/"},
                 {"/", "/"},
                 {"stm/deep/stm.ml:318", "stm/deep/stm.ml:318"},
                 {".bss+168", ".bss+168"},
                 {"", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(hs_file_short(cases[i].text), cases[i].expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps), cmocka_unit_test(test_path),
                                       cmocka_unit_test(test_short)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
