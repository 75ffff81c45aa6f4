/* links: hs_import hs_format */
/* Whole imports: what becomes of small files that hold one of each, by several policies. */
#include "unit.h"

#include "import_bytes.h"

#define KEPT HS_SOURCE_DIR "/tests/fuzz/corpus/"

enum { LIMIT_BYTES = 96 << 20 };

struct imported {
    struct hs_buffer bytes;
    struct hs_snap *snap;
};

static void import_all(const char *name, enum hs_import_from from,
                       const struct hs_import_policy *policy, struct imported *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer file = {0};
    char path[512];
    *ret = (struct imported){0};
    (void)snprintf(path, sizeof path, KEPT "%s", name);
    hs_import_kept(path, &file);
    hs_status status =
        hs_import_bytes(file.bytes, file.n_bytes, from, policy, LIMIT_BYTES, &ret->bytes, &err);
    assert_string_equal(err.message, "");
    assert_int_equal(status, HS_OK);
    assert_int_equal(hs_snap_open_bytes(ret->bytes.bytes, ret->bytes.n_bytes, 0, &ret->snap, &err),
                     HS_OK);
    assert_int_equal(hs_snap_check(ret->snap, NULL, &err), HS_OK);
    hs_buffer_fini(&file);
}

static struct hs_import_policy preset(enum hs_import_from from, enum hs_import_preset preset)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_import_policy policy;
    assert_int_equal(hs_import_policy_init(from, preset, &policy, &err), HS_OK);
    return policy;
}

static void imported_fini(struct imported *imported)
{
    hs_snap_close(imported->snap);
    hs_buffer_fini(&imported->bytes);
}

/* The leaf of a name, or NULL. */
static const struct hs_root *root_named(const struct hs_snap *snap, const char *name)
{
    for (uint64_t i = 0; i < hs_snap_totals(snap)->n_tree; i++)
        if (hs_snap_root(snap, i)->level == HS_LEVEL_LEAF &&
            strcmp(hs_snap_string(snap, hs_snap_root(snap, i)->name), name) == 0)
            return hs_snap_root(snap, i);
    return NULL;
}

static bool has_type(const struct hs_snap *snap, const char *name)
{
    for (uint32_t i = 0; i < hs_snap_totals(snap)->n_types; i++)
        if (strcmp(hs_snap_string(snap, hs_snap_type(snap, i)->name), name) == 0)
            return true;
    return false;
}

/* Edges from the block at one address to that at another: 1 strong, 2 extra, 0 none. */
static unsigned edge_between(const struct hs_snap *snap, hs_addr from, hs_addr to)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk chunk = {0};
    hs_node source = 0, target = 0;
    unsigned found = 0;
    assert_int_equal(hs_snap_find_address(snap, from, &source, &err), HS_OK);
    assert_int_equal(hs_snap_find_address(snap, to, &target, &err), HS_OK);
    assert_true(source != HS_NO_NODE && target != HS_NO_NODE);
    assert_int_equal(hs_snap_load_chunk(snap, 0, HS_COL_ALL, &chunk, &err), HS_OK);
    uint64_t at = source - chunk.first;
    for (uint64_t e = chunk.edge_begin[at]; e < chunk.edge_begin[at + 1]; e++)
        found |= chunk.target[e] == target ? 1 : 0;
    for (uint64_t e = 0; e < chunk.n_extra; e++)
        found |= chunk.extra[e].source == source && chunk.extra[e].target == target ? 2 : 0;
    hs_chunk_fini(&chunk);
    return found;
}

/* ---- V8 ---- */

/* The file's largest object has 1001 bytes: node K is at K * 1024. */
static hs_addr v8_at(unsigned node)
{
    return (hs_addr)node << 10;
}

static void v8_is_taken_whole(void **state)
{
    static const char *const files[] = {"importv8/all_kinds.heapsnapshot",
                                        "importv8/other_fields.heapsnapshot"};
    struct hs_import_policy policy = preset(HS_IMPORT_V8, HS_POLICY_OWN);
    for (size_t i = 0; i < 2; i++) {
        struct imported x;
        import_all(files[i], HS_IMPORT_V8, &policy, &x);
        const struct hs_snap_totals *totals = hs_snap_totals(x.snap);
        assert_int_equal(totals->n_blocks, 16);
        assert_int_equal(totals->n_static_blocks, 1); /* an object of no size */
        assert_int_equal(totals->heap_words, 1455);
        assert_int_equal(hs_snap_facts(x.snap)->word_bytes, 1);
        assert_true(has_type(x.snap, "object User"));
        assert_true(has_type(x.snap, "closure listen"));
        assert_true(has_type(x.snap, "hidden system / Map"));
        assert_true(has_type(x.snap, "string"));
        assert_non_null(root_named(x.snap, "(Strong roots).empty_array"));
        assert_non_null(root_named(x.snap, "(Global handles)[1]"));
        /* What nothing holds but itself, or nothing at all, is a root: V8 had found it. */
        assert_non_null(root_named(x.snap, "(weakly held)[16]"));
        imported_fini(&x);
    }
}

static void v8_keeps_no_contents(void **state)
{
    struct imported x;
    struct hs_import_policy policy = preset(HS_IMPORT_V8, HS_POLICY_ALL);
    import_all("importv8/all_kinds.heapsnapshot", HS_IMPORT_V8, &policy, &x);
    for (hs_str id = 1; id <= hs_snap_totals(x.snap)->n_strings; id++) {
        const char *text = hs_snap_string(x.snap, id);
        assert_null(strstr(text, "secret"));
        assert_null(strstr(text, "a+b"));
        assert_null(strstr(text, "heap number"));
    }
    imported_fini(&x);
}

static void v8_edges_follow_the_policy(void **state)
{
    static const struct {
        enum hs_import_preset preset;
        unsigned weak, shortcut, table, key;
    } expected[] = {
        {HS_POLICY_OWN, 2, 2, 2, 1},
        {HS_POLICY_DEVTOOLS, 2, 2, 2, 1},
        {HS_POLICY_MEMLAB, 2, 2, 1, 1},
        {HS_POLICY_ALL, 1, 1, 1, 1},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        struct imported x;
        struct hs_import_policy policy = preset(HS_IMPORT_V8, expected[i].preset);
        import_all("importv8/all_kinds.heapsnapshot", HS_IMPORT_V8, &policy, &x);
        assert_int_equal(edge_between(x.snap, v8_at(9), v8_at(8)), expected[i].weak);
        assert_int_equal(edge_between(x.snap, v8_at(9), v8_at(13)), expected[i].shortcut);
        assert_int_equal(edge_between(x.snap, v8_at(12), v8_at(11)), expected[i].table);
        assert_int_equal(edge_between(x.snap, v8_at(10), v8_at(11)), expected[i].key);
        imported_fini(&x);
    }
    struct imported x;
    struct hs_import_policy policy = preset(HS_IMPORT_V8, HS_POLICY_OWN);
    policy.weak = HS_WEAK_DROP;
    import_all("importv8/all_kinds.heapsnapshot", HS_IMPORT_V8, &policy, &x);
    assert_int_equal(hs_snap_totals(x.snap)->n_extra_edges, 0);
    imported_fini(&x);
}

/* ---- HPROF ---- */

static void hprof_is_taken_whole(void **state)
{
    static const char *const files[] = {"importhprof/id8.hprof", "importhprof/id4.hprof"};
    struct hs_import_policy policy = preset(HS_IMPORT_HPROF, HS_POLICY_OWN);
    for (size_t i = 0; i < 2; i++) {
        struct imported x;
        import_all(files[i], HS_IMPORT_HPROF, &policy, &x);
        assert_int_equal(hs_snap_totals(x.snap)->n_blocks, 17);
        assert_true(has_type(x.snap, "Shop[]"));
        assert_true(has_type(x.snap, "class java.lang.ref.WeakReference"));
        const struct hs_root *root = root_named(x.snap, "Shop.all");
        assert_non_null(root);
        assert_int_equal(root->kind, HS_ROOT_GLOBAL);
        root = root_named(x.snap, "#1 Shop.main local 1");
        assert_non_null(root);
        assert_int_equal(root->kind, HS_ROOT_STACK);
        assert_int_equal(root->line, 31);
        assert_int_equal(root->thread, 1);
        assert_string_equal(hs_snap_string(x.snap, root->file), "Shop.java");
        /* Statics are shown at their class, and retained by their root alone. */
        assert_int_equal(edge_between(x.snap, 0x1400, 0x3000), 2);
        assert_int_equal(edge_between(x.snap, 0x3100, 0x3200), 1);
        assert_int_equal(edge_between(x.snap, 0x3100, 0x4000), 1);
        assert_int_equal(edge_between(x.snap, 0x5000, 0x3100), 2); /* the referent */
        assert_int_equal(edge_between(x.snap, 0x3100, 0x1400), 1); /* its class */
        imported_fini(&x);
    }
}

static void hprof_edges_follow_the_policy(void **state)
{
    struct imported x;
    struct hs_import_policy policy = preset(HS_IMPORT_HPROF, HS_POLICY_MAT);
    import_all("importhprof/id8.hprof", HS_IMPORT_HPROF, &policy, &x);
    assert_null(root_named(x.snap, "Shop.all"));
    assert_null(root_named(x.snap, "#1 Shop.main local 1"));
    assert_int_equal(edge_between(x.snap, 0x1400, 0x3000), 1);
    assert_int_equal(edge_between(x.snap, 0x5000, 0x3100), 1);
    assert_int_equal(edge_between(x.snap, 0x6000, 0x7000), 1); /* the thread holds its local */
    imported_fini(&x);
    policy = preset(HS_IMPORT_HPROF, HS_POLICY_VISUALVM);
    import_all("importhprof/id8.hprof", HS_IMPORT_HPROF, &policy, &x);
    assert_non_null(root_named(x.snap, "#1 Shop.main local 1"));
    assert_int_equal(edge_between(x.snap, 0x1400, 0x3000), 1);
    assert_int_equal(edge_between(x.snap, 0x3100, 0x1400), 0);
    assert_int_equal(edge_between(x.snap, 0x6000, 0x7000), 0);
    imported_fini(&x);
}

/* ---- tables ---- */

static void import_tables(const char *text, struct imported *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_import_policy policy =
        preset(HS_IMPORT_GRAPH, hs_import_default(HS_IMPORT_GRAPH));
    *ret = (struct imported){0};
    if (hs_import_bytes(text, strlen(text), HS_IMPORT_GRAPH, &policy, LIMIT_BYTES, &ret->bytes,
                        &err) != HS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(hs_snap_open_bytes(ret->bytes.bytes, ret->bytes.n_bytes, 0, &ret->snap, &err),
                     HS_OK);
    assert_int_equal(hs_snap_check(ret->snap, NULL, &err), HS_OK);
}

#define NODES "id\taddress\twords\tstatic\ttype\n"
#define EDGES "\1from\tto\toffset\tstrength\n"

/* The names above a root, from its module down. */
static void stands_in(const struct hs_snap *snap, const char *name, const char *module,
                      const char *unit, const char *variable)
{
    const struct hs_root *root = root_named(snap, name);
    assert_non_null(root);
    const struct hs_root *above = hs_snap_root(snap, root->parent);
    if (variable != NULL) {
        assert_string_equal(hs_snap_string(snap, above->name), variable);
        above = hs_snap_root(snap, above->parent);
    }
    assert_int_equal(above->level, HS_LEVEL_UNIT);
    assert_string_equal(hs_snap_string(snap, above->name), unit);
    above = hs_snap_root(snap, above->parent);
    assert_string_equal(hs_snap_string(snap, above->name), module);
}

#define THREE NODES "0\t0\t0\t0\ta\n1\t0\t0\t0\tb\n2\t0\t0\t0\tc\n3\t9\t1\t0\tx\n" EDGES

static bool is_noted(const struct hs_snap *snap, const char *text)
{
    const struct hs_snap_facts *facts = hs_snap_facts(snap);
    for (size_t i = 0; i < facts->n_notes; i++)
        if (strstr(hs_snap_string(snap, facts->notes[i].text), text) != NULL)
            return true;
    return false;
}

/* The rows of edges may stand in any order. What leads to a root that stands below another already,
 * or before it, or from an object, keeps nothing new: it is left out and told. */
static void edges_in_any_order_and_to_roots(void **state)
{
    static const struct {
        const char *edges;
        unsigned n_left_out;
    } tables[] = {
        {"3\t3\t0\tstrong\n0\t3\t0\tstrong\n", 0},
        {"2\t3\t0\tstrong\n1\t2\t0\tstrong\n0\t1\t0\tstrong\n", 0},
        {"0\t3\t0\tstrong\n3\t0\t0\tstrong\n", 1},
        {"2\t3\t0\tstrong\n0\t2\t0\tstrong\n1\t2\t0\tstrong\n", 1},
        {"1\t3\t0\tstrong\n2\t1\t0\tstrong\n1\t1\t0\tstrong\n", 2},
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct imported x;
        char text[512];
        (void)snprintf(text, sizeof text, "%s%s", THREE, tables[i].edges);
        import_tables(text, &x);
        const struct hs_snap_totals *totals = hs_snap_totals(x.snap);
        assert_int_equal(totals->n_blocks, 1);
        unsigned n_held = 0;
        for (hs_node node = 0; node < totals->n_tree; node++)
            n_held += hs_snap_root(x.snap, node)->target == totals->n_tree;
        assert_int_equal(n_held, 1);
        (void)snprintf(text, sizeof text, "%u edges lead to roots", tables[i].n_left_out);
        assert_int_equal(is_noted(x.snap, text), tables[i].n_left_out != 0);
        assert_int_equal(is_noted(x.snap, "lead to roots"), tables[i].n_left_out != 0);
        imported_fini(&x);
    }
}

/* One row for a root of several objects, and no row above it. */
static void tables_of_one_root(void **state)
{
    struct imported x;
    import_tables(NODES "0\t0x0\t0\t0\tcache\n"
                        "1\t0x1000\t2\t0\titem\n2\t0x2000\t2\t0\titem\n3\t0x3000\t1\t0\tkey\n" EDGES
                        "0\t1\t0\tstrong\n0\t2\t0\tstrong\n1\t3\t8\tstrong\n2\t3\t0\tweak\n",
                  &x);
    const struct hs_snap_totals *totals = hs_snap_totals(x.snap);
    assert_int_equal(totals->n_blocks, 3);
    assert_int_equal(totals->n_tree,
                     7); /* all, global, cache, its unit, the variable, two leaves */
    stands_in(x.snap, "cache[0]", "cache", "cache", "cache");
    assert_int_equal(root_named(x.snap, "cache[0]")->target, 7);
    assert_int_equal(root_named(x.snap, "cache[1]")->target, 8);
    assert_int_equal(edge_between(x.snap, 0x1000, 0x3000), 1);
    imported_fini(&x);
}

/* Rows below rows; one that holds nothing leaves nothing; edges without offsets and strengths. */
static void tables_of_any_depth(void **state)
{
    struct imported x;
    import_tables(NODES
                  "0\t0\t0\t0\teverything\n1\t0\t0\t0\tserver\n2\t0\t0\t0\tpools\n"
                  "3\t0\t0\t0\tsmall\n4\t0x77\t0\t0\tlist\n5\t0\t0\t0\tidle\n"
                  "6\t0\t0\t0\tdeeper\n7\t0x1000\t2\t0\titem\n8\t0x2000\t2\t0\titem\n"
                  "\1from\tto\n0\t1\n1\t2\n2\t3\n3\t4\n1\t5\n4\t6\n4\t7\n6\t7\n6\t8\n1\t8\n7\t8\n",
                  &x);
    stands_in(x.snap, "list", "server", "pools.small", NULL);
    assert_int_equal(root_named(x.snap, "list")->address, 0x77);
    stands_in(x.snap, "deeper[0]", "server", "pools.small.list", "deeper");
    stands_in(x.snap, "server", "server", "server", NULL);
    assert_null(root_named(x.snap, "idle"));
    assert_string_equal(hs_snap_string(x.snap, hs_snap_root(x.snap, 0)->name), "everything");
    assert_int_equal(edge_between(x.snap, 0x1000, 0x2000), 1);
    imported_fini(&x);
}

/* Several roots, none above the others; an object that two of them hold. */
static void tables_of_many_roots(void **state)
{
    struct imported x;
    import_tables(NODES "0\t0\t0\t0\ta\n1\t0\t0\t0\tb\n2\t0x1000\t2\t0\titem\n" EDGES
                        "0\t2\t0\tstrong\n1\t2\t0\tweak\n",
                  &x);
    stands_in(x.snap, "a", "a", "a", NULL);
    stands_in(x.snap, "b", "b", "b", NULL);
    assert_int_equal(root_named(x.snap, "b")->weak, 1);
    assert_int_equal(root_named(x.snap, "a")->target, root_named(x.snap, "b")->target);
    imported_fini(&x);
}

/* ---- all ---- */

static void cuts_and_failures_are_held(void **state)
{
    static const struct {
        const char *name;
        enum hs_import_from from;
        size_t n_whole; /* prefixes that are whole files of their own */
    } files[] = {
        {KEPT "importv8/other_fields.heapsnapshot", HS_IMPORT_V8, 1},
        {KEPT "importhprof/id4.hprof", HS_IMPORT_HPROF, 3}, /* each record of a heap */
        {KEPT "importgraph/native.tables", HS_IMPORT_GRAPH, 0},
        {KEPT "importgraph/deep.tables", HS_IMPORT_GRAPH, 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct hs_buffer bytes = {0};
        hs_import_kept(files[i].name, &bytes);
        size_t n_taken = hs_import_hold_cuts(&bytes, files[i].from);
        if (files[i].n_whole != 0)
            assert_int_equal(n_taken, files[i].n_whole);
        const struct hs_import_policy policy =
            preset(files[i].from, hs_import_default(files[i].from));
        hs_import_hold_failures(&bytes, files[i].from, &policy);
        hs_buffer_fini(&bytes);
    }
}

static void refused(enum hs_import_from from, const char *bytes, uint64_t limit, hs_status status,
                    const char *message)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer snapshot = {0};
    const struct hs_import_policy policy = preset(from, hs_import_default(from));
    assert_int_equal(hs_import_bytes(bytes, strlen(bytes), from, &policy, limit, &snapshot, &err),
                     status);
    assert_non_null(strstr(err.message, message));
    hs_buffer_fini(&snapshot);
}

static void refusals_say_why(void **state)
{
    refused(HS_IMPORT_V8, "", LIMIT_BYTES, HS_FORMAT, "it is empty");
    refused(HS_IMPORT_V8, "{\"nodes\":[]}", LIMIT_BYTES, HS_FORMAT, "not a heap snapshot of V8");
    refused(HS_IMPORT_V8, "{\"snapshot\":{},\"nodes\":[1,2", LIMIT_BYTES, HS_FORMAT, "cut");
    refused(HS_IMPORT_HPROF, "", LIMIT_BYTES, HS_FORMAT, "it is empty");
    refused(HS_IMPORT_HPROF, "\x1f\x8b\x08", LIMIT_BYTES, HS_FORMAT, "compressed");
    refused(HS_IMPORT_HPROF, "JAVA PROFILE 1.0.2", LIMIT_BYTES, HS_FORMAT, "cut in its header");
    refused(HS_IMPORT_HPROF, "PK", LIMIT_BYTES, HS_FORMAT, "not a heap dump of a Java");
    refused(HS_IMPORT_GRAPH, "id\n0\t0x0\t0\t0\tall\n5\t0x0\t0\t0\tx\n\1", LIMIT_BYTES, HS_FORMAT,
            "line 3 of its nodes");
    refused(HS_IMPORT_GRAPH, THREE "0\t4\t0\tstrong\n", LIMIT_BYTES, HS_FORMAT,
            "line 2 of its edges is malformed");
    refused(HS_IMPORT_GRAPH, NODES "0\t0\t0\t0\ta\n1\t9\t1\t0\tx\n2\t99\t0\t0\tb\n" EDGES,
            LIMIT_BYTES, HS_FORMAT, "line 4 of its nodes has no words, as roots have");
    struct hs_error err = HS_ERROR_INIT;
    struct hs_import_policy policy;
    assert_int_equal(hs_import_policy_init(HS_IMPORT_V8, HS_POLICY_MAT, &policy, &err), HS_USAGE);
    assert_int_equal(hs_import_policy_init(HS_IMPORT_GRAPH, HS_POLICY_OWN, &policy, &err),
                     HS_USAGE);
}

/* A hundred thousand objects in less memory than their graph takes. */
static void the_budget_refuses(void **state)
{
    enum { N = 100000 };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer text = {0}, snapshot = {0};
    char row[512];
    assert_int_equal(hs_buffer_reserve(&text, 64 + 24 * N, &err), HS_OK);
    int n = snprintf(row, sizeof row,
                     "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_"
                     "size\",\"edge_count\"],\"node_types\":[[\"object\"]],\"edge_fields\":[\"type"
                     "\",\"name_or_index\",\"to_node\"],\"edge_types\":[[\"element\"]]},"
                     "\"node_count\":%d,\"edge_count\":0},\"nodes\":[",
                     N);
    hs_buffer_put_bytes(&text, row, (size_t)n);
    for (int i = 0; i < N; i++) {
        n = snprintf(row, sizeof row, "%s0,0,%d,8,0", i == 0 ? "" : ",", i);
        hs_buffer_put_bytes(&text, row, (size_t)n);
    }
    static const char end[] = "],\"edges\":[],\"strings\":[\"\"]}";
    hs_buffer_put_bytes(&text, end, sizeof end - 1);
    struct hs_import_policy policy = preset(HS_IMPORT_V8, HS_POLICY_DEVTOOLS);
    uint64_t limit = HS_BUDGET_BASE_BYTES + (1 << 20);
    assert_int_equal(
        hs_import_bytes(text.bytes, text.n_bytes, HS_IMPORT_V8, &policy, limit, &snapshot, &err),
        HS_LIMIT);
    assert_non_null(strstr(err.hint, "--memory"));
    hs_buffer_fini(&text);
    hs_buffer_fini(&snapshot);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(v8_is_taken_whole),
        cmocka_unit_test(v8_keeps_no_contents),
        cmocka_unit_test(v8_edges_follow_the_policy),
        cmocka_unit_test(hprof_is_taken_whole),
        cmocka_unit_test(hprof_edges_follow_the_policy),
        cmocka_unit_test(tables_of_one_root),
        cmocka_unit_test(tables_of_any_depth),
        cmocka_unit_test(edges_in_any_order_and_to_roots),
        cmocka_unit_test(tables_of_many_roots),
        cmocka_unit_test(cuts_and_failures_are_held),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(the_budget_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
