/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
/* The table of source types, hostile as it may be, and their way through a made-up heap. */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "ocaml/types.h"
#include "typed_heap.h"

#define HEAD TYPES_HEAD

static struct hs_error err;

/* ---- the table */

static const char whole[] = HEAD "#compiler 4.13.1\n"
                                 "type\tblock\tM.t\tM.t\n"
                                 "inner\t1\n"
                                 "row\t0\t0\t2\tfields\tA\n"
                                 "child\t1\tleft\n"
                                 "child\t-\tx\\x5cy\n"
                                 "row\t0\t1\t3\tfields\tB\n"
                                 "witness\t0\t1\t7\n"
                                 "type\tleaf\tstring\tstring\n"
                                 "row\t1\t252\t*\tleaf\t-\n"
                                 "row\t0\t0\t*\thash\t-\n"
                                 "case\t-5\t`A\t1\n"
                                 "known\t7\t1\tM\t2\tvalue\n"
                                 "root\tM\t1\t0\n"
                                 "root\tM\t0\t1\n"
                                 "key\tM\t5\t1\n"
                                 "key\tM\t4\t-\n"
                                 "ext\tM\t3\tBad\n"
                                 "child\t1\t0\n"
                                 "captured\tM\tf\t1\n"
                                 "child\t1\tv\n"
                                 "held\tN\t4\tM\tf\t1\n"
                                 "child\t0\tv\n"
                                 "scope\tm.ml\t3\t4\t5\n"
                                 "child\t-\tw\n"
                                 "unit\tM\ttyped\t/m.cmt\n"
                                 "unit\tN\tno_cmt\t-\n"
                                 "#end types=2 rows=4 children=6 roots=2\n";

static void parses(void **state)
{
    struct hs_stables t = {0};
    assert_int_equal(hs_stables_parse(&t, whole, strlen(whole), &err), HS_OK);
    assert_int_equal(t.n_types, 2);
    assert_int_equal(t.n_rows, 4);
    assert_int_equal(t.n_children, 6);
    const struct hs_scaptured *captured = hs_stables_captured(&t, "M", "f");
    assert_non_null(captured);
    assert_int_equal(captured->children.n, 1);
    assert_int_equal(t.children[captured->children.first].type, 1);
    assert_int_equal(t.n_held, 1);
    assert_int_equal(t.held[0].slot, 4);
    assert_int_equal(t.held[0].unit, captured->unit);
    assert_int_equal(t.held[0].function, captured->function);
    assert_int_equal(t.children[t.held[0].children.first].type, 0);
    assert_null(hs_stables_captured(&t, "M", "v"));
    assert_null(hs_stables_captured(&t, "M", "absent"));
    assert_int_equal(hs_stables_scope(&t, "m.ml", 3, 4, 5)->children.n, 1);
    assert_null(hs_stables_scope(&t, "m.ml", 3, 4, 6));
    assert_null(hs_stables_scope(&t, "n.ml", 3, 4, 5));
    assert_true(t.is_whole);
    assert_string_equal(t.compiler, "4.13.1");
    assert_int_equal(t.types[0].inner, 1);
    assert_true(t.types[0].has_constructors);
    const struct hs_srow *row = hs_stables_row(&t, 0, 0, 2);
    assert_non_null(row);
    assert_string_equal(hs_strtab_get(&t.strings, row->constructor), "A");
    assert_int_equal(row->children.n, 2);
    assert_string_equal(hs_strtab_get(&t.strings, t.children[row->children.first + 1].label),
                        "x\\y");
    assert_int_equal(hs_stables_row(&t, 0, 0, 9)->kind, HS_SROW_HASH);
    assert_int_equal(hs_stables_row(&t, 0, 1, 3)->witnesses.n, 1);
    assert_null(hs_stables_row(&t, 0, 1, 4));
    assert_null(hs_stables_row(&t, 0, 2, 2));
    hs_stype type = 0;
    assert_non_null(hs_stables_fit(&t, &type, 252, 12));
    assert_int_equal(type, 1);
    assert_int_equal(t.cases[0].hash, -5);
    assert_int_equal(hs_stables_root(&t, "M", 0), 1);
    assert_int_equal(hs_stables_root(&t, "M", 1), 0);
    assert_int_equal(hs_stables_root(&t, "M", 2), HS_STYPE_NONE);
    assert_int_equal(hs_stables_root(&t, "N", 0), HS_STYPE_NONE);
    assert_true(hs_stables_key(&t, "M", 5, &type));
    assert_int_equal(type, 1);
    assert_true(hs_stables_key(&t, "M", 4, &type));
    assert_int_equal(type, HS_STYPE_NONE);
    assert_false(hs_stables_key(&t, "M", 3, &type));
    assert_false(hs_stables_key(&t, "absent", 4, &type));
    assert_int_equal(t.n_units[HS_SUNIT_TYPED], 1);
    assert_int_equal(t.n_units[HS_SUNIT_NO_CMT], 1);
    hs_stables_fini(&t);
}

/* Whatever it is cut to, what came in whole lines is there, and refers to nothing beyond. */
static void parses_what_was_cut(void **state)
{
    for (size_t n = 0; n <= strlen(whole); n++) {
        struct hs_stables t = {0};
        if (n != 0 && whole[n - 1] != '\n')
            continue;
        assert_int_equal(hs_stables_parse(&t, whole, n, &err), HS_OK);
        assert_int_equal(t.is_whole, n == strlen(whole));
        for (size_t i = 0; i < t.n_types; i++)
            assert_true(t.types[i].inner == HS_STYPE_NONE || t.types[i].inner < t.n_types);
        for (size_t i = 0; i < t.n_children; i++)
            assert_true(t.children[i].type == HS_STYPE_NONE || t.children[i].type < t.n_types);
        for (size_t i = 0; i < t.n_rows; i++)
            assert_true(t.rows[i].type < t.n_types);
        hs_stables_fini(&t);
    }
}

static void refuses_damaged_lines(void **state)
{
    static const char *const bad[] = {
        "type\tblock\tM.t\n",
        "type\tbrick\tM.t\tM.t\n",
        "type\tblock\tM.t\tM.t\tmore\n",
        "type\tblock\tM\x01t\tM.t\n",
        "row\t0\t256\t2\tfields\tA\n",
        "row\t0\t-1\t2\tfields\tA\n",
        "row\t0\t0\t4294967295\tfields\tA\n",
        "row\t0\t0\t2\tparts\tA\n",
        "row\t1048576\t0\t2\tfields\tA\n",
        "row\t0\t0\t2\tfields\n",
        "child\t0\tx\n", /* of nothing */
        "case\t1\tA\t0\n",
        "witness\t0\t1\t2\n",
        "known\t0\t0\tM\t1\tguess\n",
        "root\tM\tx\t0\n",
        "root\tM\t0\t-\n",
        "root\tM\t0\n",
        "root\tM\t99999999999\t0\n",
        "key\tM\t5\n",
        "key\tM\t5\tx\n",
        "ext\tM\t-\tBad\n",
        "captured\tM\tf\tmany\n",
        "held\tN\tx\tM\tf\t1\n",
        "held\tN\t4\tM\tf\n",
        "scope\tm.ml\t1\t2\n",
        "scope\tm.ml\t1\t2\tx\n",
        "unit\tM\tfine\t-\n",
        "inner\t0\n", /* of nothing */
        "alias\t0\n",
        "else\t1\n",
        "\t\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[256];
        struct hs_stables t = {0};
        snprintf(text, sizeof text, HEAD "%s", bad[i]);
        if (hs_stables_parse(&t, text, strlen(text), &err) != HS_FORMAT)
            fail_msg("accepted: %s", bad[i]);
        assert_non_null(strstr(err.message, "line 2"));
        assert_null(t.types);
    }
    struct hs_stables t = {0};
    static const char *const heads[] = {"#heapsnap-ocaml-types 2\n", "type\tblock\tM.t\tM.t\n",
                                        "Segmentation fault\n", "\n"};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        assert_int_equal(hs_stables_parse(&t, heads[i], strlen(heads[i]), &err), HS_FORMAT);
    char child_of_case[] = HEAD "type\tblock\tM.t\tM.t\nrow\t0\t0\t1\tfields\t-\ncase\t1\tA\t0\n";
    assert_int_equal(hs_stables_parse(&t, child_of_case, strlen(child_of_case), &err), HS_FORMAT);
}

static void an_inner_circle_ends(void **state)
{
    static const char text[] = HEAD "type\tblock\ta\ta\ninner\t1\ntype\tblock\tb\tb\ninner\t0\n";
    struct hs_stables t = {0};
    hs_stype type = 0;
    assert_int_equal(hs_stables_parse(&t, text, strlen(text), &err), HS_OK);
    assert_null(hs_stables_fit(&t, &type, 0, 1));
    hs_stables_fini(&t);
}

static void names_of_names(void **state)
{
    static const char text[] = HEAD "type\tblock\ta\ta\nalias\t1\ntype\tblock\tb\tb\nalias\t2\n"
                                    "type\tblock\tc\tc\ntype\tblock\td\td\nalias\t4\n"
                                    "type\tblock\te\te\nalias\t3\ntype\tblock\tf\tf\nalias\t9\n"
                                    "#stopped time\n";
    struct hs_stables t = {0};
    assert_int_equal(hs_stables_parse(&t, text, strlen(text), &err), HS_OK);
    assert_int_equal(hs_stype_proper(&t, 0), 2);
    assert_int_equal(hs_stype_proper(&t, 1), 2);
    assert_int_equal(hs_stype_proper(&t, 2), 2);
    assert_int_equal(hs_stype_proper(&t, 5), 5);
    assert_int_equal(hs_stype_proper(&t, HS_STYPE_NONE), HS_STYPE_NONE);
    assert_string_equal(t.stopped, "time");
    hs_stables_fini(&t);
}

static void parsing_survives_failed_allocations(void **state)
{
    FAIL_EACH (f, .at_least = 10) {
        struct hs_stables t = {0};
        (void)FAIL_EACH_TRY(f, hs_stables_parse(&t, whole, strlen(whole), &err));
        hs_stables_fini(&t);
    }
}

/* However they come, each of 10,000 cases is found by its hash; of two of one hash the first. */
static void finds_cases_by_hash(void **state)
{
    enum { N = 10000, STEP = 7919, LINE_BYTES = 32 };
    static char text[(N + 9) * LINE_BYTES];
    struct hs_stables t = {0};
    int n = snprintf(text, sizeof text,
                     HEAD "row\t0\t0\t3\thash\t-\n"
                          "case\t5\t`B\t1\nrow\t0\t0\t2\thash\t-\n");
    for (int i = 0; i < N; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "case\t%d\t`A\t%d\n",
                      2 * (i * STEP % N) - N, i % 2);
    n += snprintf(text + n, sizeof text - (size_t)n, "case\t%d\t`A\t1\n", -N);
    for (int i = 0; i < 2; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "type\tblock\tM.t\tM.t\n");
    assert_int_equal(hs_stables_parse(&t, text, (size_t)n, &err), HS_OK);
    const struct hs_srow *row = hs_stables_row(&t, 0, 0, 2), *other = hs_stables_row(&t, 0, 0, 3);
    for (int i = 0; i < N; i++) {
        int hash = 2 * (i * STEP % N) - N;
        assert_int_equal(hs_stables_case(&t, row, hash), i % 2);
        assert_int_equal(hs_stables_case(&t, row, hash + 1), HS_STYPE_NONE);
    }
    assert_int_equal(hs_stables_case(&t, other, 5), 1);
    assert_int_equal(hs_stables_case(&t, other, 6), HS_STYPE_NONE);
    assert_int_equal(hs_stables_case(&t, row, INT64_MIN), HS_STYPE_NONE);
    assert_int_equal(hs_stables_case(&t, row, INT64_MAX), HS_STYPE_NONE);
    hs_stables_fini(&t);
}

/* ---- the push */

/* A table that begins with types 0 to 5. */
static const char lists[] = HEAD "type\tblock\tlist\tint list\n"
                                 "row\t0\t0\t2\tfields\t::\nchild\t-\t0\nchild\t0\t1\n"
                                 "type\tleaf\tstring\tstring\n"
                                 "row\t1\t252\t*\tleaf\t-\n"
                                 "type\tblock\tlist\tstring list\n"
                                 "row\t2\t0\t2\tfields\t::\nchild\t1\t0\nchild\t2\t1\n"
                                 "type\tblock\tlist\t'a list\n"
                                 "row\t3\t0\t2\tfields\t::\nchild\t-\t0\nchild\t3\t1\n"
                                 "type\tblock\tlist\tstring list list\n"
                                 "row\t4\t0\t2\tfields\t::\nchild\t2\t0\nchild\t4\t1\n"
                                 "type\tblock\tM.t\tM.t\n"
                                 "row\t5\t3\t1\tfields\tT\nchild\t2\tx\n";

static void types_flow(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr text = fake_block(fake, HS_TAG_STRING, 2, NULL);
    hs_addr list = put_list(fake, 20000, text);
    put_unit(fake, (const uint64_t[]){list, 85}, 2);
    world_make(&w, fake, lists, "root\tM\t0\t2\n");
    assert_string_equal(type_at(&w, list), "string list");
    assert_string_equal(type_at(&w, text), "string");
    assert_int_equal(w.push.counts.n_fits, 20001);
    assert_int_equal(w.push.counts.n_agreements, 19999);
    assert_int_equal(w.push.counts.n_typed_blocks, 20000);
    assert_int_equal(w.push.counts.n_typed_words, 60000);
    assert_int_equal(w.marks.n_structured_blocks, 20000);
    assert_int_equal(w.marks.n_structured_words, 60000);
    assert_int_equal(w.push.counts.n_misfits + w.push.counts.n_conflicts, 0);
    world_close(&w);
}

/* A block that does not fit stays without a type, and what is behind it too. */
static void a_misfit_is_charged(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr text = fake_block(fake, HS_TAG_STRING, 2, NULL);
    hs_addr odd = fake_block(fake, 7, 2, (const uint64_t[]){text, 1});
    hs_addr list = fake_block(fake, 0, 2, (const uint64_t[]){odd, 1});
    put_unit(fake, (const uint64_t[]){list}, 1);
    world_make(&w, fake, lists, "root\tM\t0\t2\n");
    assert_int_equal(w.push.counts.n_misfits, 1);
    assert_int_equal(w.push.charged[2], 1);
    assert_string_equal(type_at(&w, odd), "");
    assert_string_equal(type_at(&w, text), "");
    world_close(&w);
}

/* What is known less is refined, different arguments are forgotten, other types conflict. */
static void types_join(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr text = fake_block(fake, HS_TAG_STRING, 2, NULL);
    hs_addr refined = put_list(fake, 3, text);
    hs_addr torn = put_list(fake, 2, put_list(fake, 1, text));
    hs_addr one = fake_block(fake, 3, 1, (const uint64_t[]){1});
    const hs_addr fields[8] = {refined, refined, torn, torn, one, one, one, one};
    put_unit(fake, fields, 8);
    world_make(&w, fake, lists,
               "root\tM\t0\t3\nroot\tM\t1\t2\nroot\tM\t2\t2\nroot\tM\t3\t4\n"
               "root\tM\t4\t5\nroot\tM\t5\t5\n"
               "type\tblock\tN.u\tN.u\n"
               "row\t6\t3\t1\tfields\t-\nchild\t-\ty\nroot\tM\t6\t6\n"
               "root\tM\t7\t6\n");
    assert_string_equal(type_at(&w, refined), "string list");
    assert_string_equal(type_at(&w, text), "string");
    assert_string_equal(type_at(&w, torn), "list");
    assert_string_equal(type_at(&w, one), "M.t");
    assert_int_equal(w.push.counts.n_conflicts, 1); /* of one block, though twice */
    assert_int_equal(w.push.counts.n_joins, 2);
    world_close(&w);
}

/* The empty array and static constants are of all types. */
static void shared_constants_do_not_conflict(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr constant = fake_static(fake, 3, 1, (const uint64_t[]){1});
    const hs_addr fields[] = {constant, constant, FAKE_ATOM_AT + HS_WORD};
    put_unit(fake, fields, 3);
    world_make(&w, fake, lists,
               "type\tblock\tN.u\tN.u\n"
               "row\t6\t3\t1\tfields\t-\nchild\t-\ty\n"
               "root\tM\t0\t5\nroot\tM\t1\t6\nroot\tM\t2\t5\n");
    assert_string_equal(type_at(&w, constant), "M.t");
    assert_int_equal(w.push.counts.n_conflicts + w.push.counts.n_misfits, 0);
    world_close(&w);
}

#define HASH_A 65

/* Extensible types by the constructor's block, polymorphic variants by the hash, payloads by their
 * witness, lazy values that were forced by the type inside. */
static void types_told_by_values(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr constructor = fake_block(fake, HS_TAG_OBJECT, 2, (const uint64_t[]){1, 5});
    hs_addr a = put_list(fake, 1, 1), b = put_list(fake, 1, 1), c = put_list(fake, 1, 1),
            d = put_list(fake, 1, 1), e = put_list(fake, 1, 1), g = put_list(fake, 1, 1);
    hs_addr exn = fake_block(fake, 0, 2, (const uint64_t[]){constructor, a});
    hs_addr variant = fake_block(fake, 0, 2, (const uint64_t[]){HASH_A << 1 | 1, b});
    hs_addr unknown = fake_block(fake, 0, 2, (const uint64_t[]){HASH_A << 2 | 1, g});
    hs_addr dyn = fake_block(fake, 0, 2, (const uint64_t[]){77, c});
    hs_addr stranger = fake_block(fake, 0, 2, (const uint64_t[]){79, g});
    hs_addr lazy_of_any = fake_block(fake, 5, 1, (const uint64_t[]){1});
    hs_addr thunk = fake_block(fake, HS_TAG_FORWARD, 1, (const uint64_t[]){d});
    const uint64_t captured[] = {FAKE_CODE_F, UINT64_C(1) << 56 | 5, 77};
    hs_addr closure = fake_block(fake, HS_TAG_CLOSURE, 3, captured);
    const hs_addr fields[] = {exn,         variant, dyn,      thunk,      e,
                              constructor, closure, stranger, lazy_of_any};
    put_unit(fake, fields, 9);
    fake_root(fake, unknown, false);
    world_make(&w, fake, lists,
               "type\tblock\texn\texn\n"
               "row\t6\t0\t*\text\t-\n" /* 6 */
               "type\tblock\t[ ]\t[ `A ]\n"
               "row\t7\t0\t2\thash\t-\ncase\t65\t`A\t0\n"
               "type\tblock\tDyn.t\tDyn.t\n"
               "row\t8\t0\t2\tfields\t-\nchild\t-\ttag\nchild\t-\tv\n"
               "witness\t0\t1\t3\n"
               "type\tblock\tlazy_t\tint list lazy_t\n"
               "inner\t0\n"
               "row\t9\t246\t*\tleaf\t-"
               "\nrow\t9\t250\t1\tfields\t-\nchild\t0\t-\n"
               "ext\tM\t5\tBad\nchild\t0\t0\n"
               "known\t3\t0\tM\t6\tcaptured\n"
               "root\tM\t0\t6\nroot\tM\t1\t7\nroot\tM\t2\t8\nro"
               "ot\tM\t3\t9\nroot\tM\t4\t9\n"
               "root\tM\t7\t8\n"
               "type\tblock\tlazy_t\t_ lazy_t\n"
               "inner\t-\nrow\t10\t246\t*"
               "\tleaf\t-\nroot\tM\t8\t10\n");
    assert_string_equal(type_at(&w, exn), "exn");
    assert_string_equal(type_at(&w, a), "int list");
    assert_string_equal(type_at(&w, b), "int list");
    assert_string_equal(type_at(&w, c), "int list");
    assert_string_equal(type_at(&w, d), "int list");
    assert_string_equal(type_at(&w, e), "int list");
    assert_string_equal(type_at(&w, stranger), "Dyn.t");
    assert_string_equal(type_at(&w, g), "");
    assert_int_equal(w.push.counts.n_misfits, 0);
    world_close(&w);
}

/* Two types of one witness: neither is believed. */
static void a_witness_of_two_types_is_none(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr list = put_list(fake, 1, 1);
    put_unit(fake, (const uint64_t[]){fake_block(fake, 0, 2, (const uint64_t[]){77, list}), 77, 77},
             3);
    world_make(&w, fake, lists,
               "type\tblock\tDyn.t\tDyn.t\n"
               "row\t6\t0\t2\tfields\t-\nchild\t-\ttag\nchild\t-\tv\nwitness\t0\t1\t3\n"
               "known\t3\t0\tM\t1\tvalue\nknown\t3\t2\tM\t2\tvalue\nknown\t3\t2\tM\t900\tvalu"
               "e\n"
               "known\t3\t2\tNone\t0\tvalue\nroot\tM\t0\t6\n");
    assert_string_equal(type_at(&w, list), "");
    world_close(&w);
}

/* Joins of joins end: each pair of these types disagrees in more places. */
static void joins_end(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    char lines[4096] = "";
    size_t used = 0;
    hs_addr list = put_list(fake, 40, put_list(fake, 3, 1));
    uint64_t fields[12];
    for (size_t i = 0; i < 12; i++)
        fields[i] = list;
    put_unit(fake, fields, 12);
    for (unsigned i = 0; i < 12; i++)
        used += (size_t)snprintf(
            lines + used, sizeof lines - used,
            "type\tblock\tlist\tlist%u\nrow\t%u\t0\t2\tfields\t::\nchild\t%u\t0\nchild\t%u\t1\n"
            "root\tM\t%u\t%u\n",
            i, i, (i * 5 + 1) % 12, (i * 7 + 3) % 12, i, i);
    world_make(&w, fake, HEAD, lines);
    assert_int_equal(w.push.counts.n_misfits + w.push.counts.n_conflicts, 0);
    assert_int_equal(w.push.counts.n_fits, 43);
    assert_true(w.tables.n_types < 12 + 12 * 12);
    world_close(&w);
}

/* ---- heaps by chance */

enum { CHANCE_BLOCKS = 3000, CHANCE_ROOTS = 8 };

static uint64_t chance(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x2545f4914f6cdd1d) >> 11;
}

/* Lists of strings, then lists of these, all with shared ends. */
static void put_lists_by_chance(struct fake_heap *fake, uint64_t *seed, hs_addr *blocks)
{
    enum { HALF = CHANCE_BLOCKS / 2 };
    hs_addr text = fake_block(fake, HS_TAG_STRING, 2, NULL);
    uint64_t fields[CHANCE_ROOTS];
    for (size_t i = 0; i < CHANCE_BLOCKS; i++) {
        size_t first = i < HALF ? 0 : HALF;
        hs_addr head = i < HALF ? text : blocks[chance(seed) % HALF];
        hs_addr tail =
            i == first ? 1 : blocks[i - 1 - chance(seed) % (i - first < 3 ? i - first : 3)];
        blocks[i] = fake_block(fake, 0, 2, (const uint64_t[]){head, tail});
    }
    for (size_t i = 0; i < CHANCE_ROOTS; i++)
        fields[i] = blocks[i < 3 ? HALF - 1 - i : CHANCE_BLOCKS - 1 - i % 4];
    put_unit(fake, fields, CHANCE_ROOTS);
}

/* Variables that know less than others of the same lists. */
static const char tied[] =
    HEAD "type\tblock\tlist\t'a list\nrow\t0\t0\t2\tfields\t::\nchild\t-\t0\nchild\t0\t1\n"
         "type\tblock\tlist\tstring list\nrow\t1\t0\t2\tfields\t::\nchild\t4\t0\nchild\t1\t1\n"
         "type\tblock\tlist\t'a list list\nrow\t2\t0\t2\tfields\t::\nchild\t0\t0\nchild\t2\t1\n"
         "type\tblock\tlist\tstring list list\n"
         "row\t3\t0\t2\tfields\t::\nchild\t1\t0\nchild\t3\t1\n"
         "type\tleaf\tstring\tstring\nrow\t4\t252\t*\tleaf\t-\n"
         "root\tM\t0\t0\nroot\tM\t1\t1\nroot\tM\t2\t0\nroot\tM\t3\t0\nroot\tM\t4\t2\n"
         "root\tM\t5\t3\nroot\tM\t6\t0\nroot\tM\t7\t2\n";

/* Whatever is followed together, each block has the same type in the end. */
static void regions_do_not_matter(void **state)
{
    static const unsigned sizes[] = {24, 20, 16, 12, 9, 6, 3};
    static hs_addr blocks[CHANCE_BLOCKS];
    static const char *known[CHANCE_BLOCKS];
    for (uint64_t trial = 0; trial < 4; trial++) {
        struct world first;
        size_t n_typed = 0;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct fake_heap *fake = unit_heap();
            struct world w;
            uint64_t seed = trial + 1;
            put_lists_by_chance(fake, &seed, blocks);
            world_open(&w, fake, tied, "");
            w.push.region_bits = sizes[s];
            assert_int_equal(world_push(&w, &err), HS_OK);
            for (size_t i = 0; i < CHANCE_BLOCKS && s == 0; i++)
                n_typed += (known[i] = type_at(&w, blocks[i]))[0] != '\0';
            for (size_t i = 0; i < CHANCE_BLOCKS && s != 0; i++)
                assert_string_equal(type_at(&w, blocks[i]), known[i]);
            assert_int_equal(w.push.counts.n_conflicts + w.push.counts.n_misfits, 0);
            if (s == 0)
                first = w;
            else
                world_close(&w);
        }
        assert_true(n_typed > CHANCE_BLOCKS / 2);
        assert_true(first.push.counts.n_joins != 0);
        world_close(&first);
    }
}

/* Blocks of any tags and sizes, variables of any types: Obj.magic everywhere. What has a type has
 * one that allows it, and the rest is counted. */
static void magic_everywhere(void **state)
{
    static const unsigned tags[] = {0, 0, 0, 1, 3, 5, HS_TAG_STRING, HS_TAG_DOUBLE, 245, 0};
    static hs_addr blocks[CHANCE_BLOCKS];
    for (uint64_t seed = 1; seed < 40; seed++) {
        struct fake_heap *fake = unit_heap();
        struct world w;
        uint64_t random = seed, fields[CHANCE_ROOTS], n_fit = 0;
        for (size_t i = 0; i < CHANCE_BLOCKS; i++) {
            uint64_t words[5];
            size_t n = 1 + chance(&random) % 5;
            for (size_t k = 0; k < n; k++) {
                uint64_t r = chance(&random);
                words[k] = i == 0 || r % 3 == 0 ? r | 1 : blocks[(r >> 8) % i];
            }
            blocks[i] = fake_block(fake, tags[chance(&random) % 10], n, words);
        }
        for (size_t i = 0; i < CHANCE_ROOTS; i++)
            fields[i] = blocks[CHANCE_BLOCKS - 1 - i];
        put_unit(fake, fields, CHANCE_ROOTS);
        world_make(&w, fake, lists,
                   "root\tM\t0\t0\nroot\tM\t1\t1\nroot\tM\t2\t2\nroot\tM\t3\t3\n"
                   "root\tM\t4\t4\nroot\tM\t5\t5\nroot\tM\t6\t6\nroot\tM\t7\t6\n"
                   "type\tblock\tarray\tint list array\nrow\t6\t0\t*\tall\t-\nchild\t2\t-\n");
        for (size_t i = 0; i < CHANCE_BLOCKS; i++) {
            uint64_t header = *fake_word(fake, blocks[i] - HS_WORD);
            hs_stype type = hs_spush_type(&w.push, hs_block_map_rank(&w.map, blocks[i]));
            if (type == HS_STYPE_NONE)
                continue;
            assert_non_null(
                hs_stables_row(&w.tables, type, HS_HEADER_TAG(header), HS_HEADER_WOSIZE(header)));
            n_fit++;
        }
        assert_int_equal(w.push.counts.n_fits, n_fit);
        world_close(&w);
    }
}

static void pushing_survives_failed_allocations(void **state)
{
    FAIL_EACH (f, .at_least = 8) {
        struct fake_heap *fake = unit_heap();
        struct world w;
        hs_addr torn = put_list(fake, 2, put_list(fake, 1, 1));
        put_unit(fake, (const uint64_t[]){torn, torn, 77}, 3);
        world_open(&w, fake, lists,
                   "root\tM\t0\t2\nroot\tM\t1\t4\nknown\t3\t0\tM\t2\tvalue\n"
                   "ext\tM\t0\tBad\n");
        (void)FAIL_EACH_TRY(f, world_push(&w, &err));
        world_close(&w);
    }
}

/* ---- what the snapshot calls them */

static void names_and_members(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr leaf = fake_block(fake, 1, 1, (const uint64_t[]){1});
    hs_addr node = fake_block(fake, 0, 2, (const uint64_t[]){leaf, 1});
    hs_addr array = fake_block(fake, 0, 3, (const uint64_t[]){node, node, leaf});
    put_unit(fake, (const uint64_t[]){array}, 1);
    world_make(&w, fake, HEAD,
               "type\tblock\tM.t\tM.t\n"
               "row\t0\t0\t2\tfields\tNode\nchild\t0\tleft\n"
               "child\t-\tv\nrow\t0\t1\t1\tfields\tLeaf\nchild\t-\t0\n"
               "type\tblock\tarray\tM.t array\n"
               "row\t1\t0\t*\tall\t-\nchild\t0\t-\n"
               "root\tM\t0\t1\n");
    struct hs_ocaml_types types = {.rt = &fake->rt, .map = &w.map, .push = &w.push};
    const hs_addr blocks[] = {leaf, node, array};
    static const char *const names[] = {"M.t.Leaf", "M.t.Node", "M.t array"};
    for (uint32_t i = 0; i < 3; i++) {
        struct hs_block block;
        uint32_t type;
        assert_true(hs_map_resolve(&w.map, blocks[i], &block));
        bool is_found;
        assert_int_equal(
            hs_ocaml_source_type(&types, &block, hs_block_head(&block), &type, &is_found, &err),
            HS_OK);
        assert_true(is_found);
        assert_int_equal(type, i);
        assert_string_equal(hs_strtab_get(&fake->strings, types.types[type].name), names[i]);
        assert_int_equal(types.types[type].stride_bytes, i == 2 ? 8 : 0);
    }
    struct hs_member *members;
    size_t n;
    assert_int_equal(hs_ocaml_source_members(&types, &members, &n, &err), HS_OK);
    assert_int_equal(n, 3);
    assert_int_equal(members[1].type, 1);
    assert_string_equal(hs_strtab_get(&fake->strings, members[1].name), "left");
    assert_string_equal(hs_strtab_get(&fake->strings, members[1].type_name), "M.t");
    assert_int_equal(members[2].offset_bytes, 8);
    hs_free(members);
    hs_ocaml_types_fini(&types);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(parses_what_was_cut),
        cmocka_unit_test(refuses_damaged_lines),
        cmocka_unit_test(an_inner_circle_ends),
        cmocka_unit_test(names_of_names),
        cmocka_unit_test(finds_cases_by_hash),
        cmocka_unit_test(parsing_survives_failed_allocations),
        cmocka_unit_test(types_flow),
        cmocka_unit_test(a_misfit_is_charged),
        cmocka_unit_test(types_join),
        cmocka_unit_test(shared_constants_do_not_conflict),
        cmocka_unit_test(types_told_by_values),
        cmocka_unit_test(a_witness_of_two_types_is_none),
        cmocka_unit_test(joins_end),
        cmocka_unit_test(regions_do_not_matter),
        cmocka_unit_test(magic_everywhere),
        cmocka_unit_test(pushing_survives_failed_allocations),
        cmocka_unit_test(names_and_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
