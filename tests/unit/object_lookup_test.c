/* links: hs_analysis */
#include "unit.h"

#include "analysis/object_lookup.h"
#include "made_view.h"

/*  Stm.VCS -> a -> b -> shared <- c <- Vernac.VCS;  lost;  Stm.none -> nothing */
struct fixture {
    struct made_view made;
    uint32_t a, b, c, shared, lost;
    uint32_t stm, vernac, none;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    struct hs_graph_builder *b = &f.made.builder;
    f.a = hs_graph_builder_block(b, 3, false);
    f.b = hs_graph_builder_block(b, 10, false);
    f.c = hs_graph_builder_block(b, 4, false);
    f.shared = hs_graph_builder_block(b, 100, false);
    f.lost = hs_graph_builder_block(b, 50, false);
    hs_graph_builder_edge(b, f.a, f.b, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, f.b, f.shared, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, f.c, f.shared, HS_EDGE_EXACT);
    uint32_t type = hs_graph_builder_type(b, "string", 252, HS_FORM_STRING);
    b->blocks[f.shared].type = type;
    b->blocks[f.lost].type = hs_graph_builder_type(b, "lost", 0, HS_FORM_BLOCK);
    f.stm = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "coqtop", "Stm", "Stm.VCS", f.a);
    f.vernac = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "coqtop", "Vernac", "Vernac.VCS", f.c);
    f.none = hs_graph_builder_leaf(b, HS_ROOT_STACK, "thread 7", "#1 main", "Stm", f.lost);
    b->leaves[f.none].weak = true;
    hs_graph_builder_sample(b, 0, f.lost);
    hs_graph_builder_sample(b, 1234, f.b);
    made_view_open(&f.made);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    made_view_close(&f->made);
    return 0;
}

static struct hs_object_spec find(struct fixture *f, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_object_spec what = {0};
    if (hs_object_lookup(&f->made.view, text, &what, &err) != HS_OK)
        fail_msg("'%s': %s", text, err.message);
    return what;
}

static void finds(struct fixture *f, const char *text, enum hs_object_kind kind, hs_node node)
{
    struct hs_object_spec what = find(f, text);
    assert_int_equal(what.kind, kind);
    assert_int_equal(what.n_nodes, 1);
    assert_int_equal(what.nodes[0], node);
}

static void finds_nothing(struct fixture *f, const char *text, const char *message)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_object_spec what = {.n_nodes = 77};
    assert_int_equal(hs_object_lookup(&f->made.view, text, &what, &err), HS_USAGE);
    if (strstr(err.message, message) == NULL)
        fail_msg("no '%s' in: %s", message, err.message);
    assert_int_equal(what.n_nodes, 77); /* untouched */
}

static void samples(void **state)
{
    struct fixture *f = *state;
    hs_node b = hs_graph_builder_node(&f->made.builder, f->b);
    finds(f, "1234", HS_OBJECT_SAMPLE, b);
    finds(f, "sample:1234", HS_OBJECT_SAMPLE, b);
    assert_int_equal(find(f, "1234").sample->id, 1234);
    finds(f, "0", HS_OBJECT_SAMPLE, hs_graph_builder_node(&f->made.builder, f->lost));
    finds_nothing(f, "1235", "no sampled allocation '1235'");
    finds_nothing(f, "18446744073709551616", "too large");
    finds_nothing(f, "12 ", "not a count");
}

static void addresses(void **state)
{
    struct fixture *f = *state;
    char text[40];
    hs_addr begin = f->made.builder.blocks[f->b].address;
    hs_node b = hs_graph_builder_node(&f->made.builder, f->b);
    for (unsigned inside = 0; inside < 80; inside += 79) {
        snprintf(text, sizeof text, "0x%lx", (unsigned long)(begin + inside));
        finds(f, text, HS_OBJECT_ADDRESS, b);
    }
    snprintf(text, sizeof text, "0x%lx", (unsigned long)(begin + 80));
    finds(f, text, HS_OBJECT_ADDRESS, b + 1);
    finds_nothing(f, "0x1", "no block holds the address '0x1'");
    finds_nothing(f, "0xffffffffffffffff", "no block holds");
    finds_nothing(f, "0xg", "");
}

static void nodes(void **state)
{
    struct fixture *f = *state;
    char text[40];
    finds(f, "#0", HS_OBJECT_NODE, 0);
    snprintf(text, sizeof text, "#%lu", (unsigned long)(f->made.view.n_nodes - 1));
    finds(f, text, HS_OBJECT_NODE, f->made.view.n_nodes - 1);
    snprintf(text, sizeof text, "#%lu", (unsigned long)f->made.view.n_nodes);
    finds_nothing(f, text, "there is no node");
    finds_nothing(f, "#", "not a count");
}

static void roots(void **state)
{
    struct fixture *f = *state;
    struct hs_graph_builder *b = &f->made.builder;
    finds(f, "root:Stm.VCS", HS_OBJECT_ROOT, hs_graph_builder_leaf_node(b, f->stm));
    finds(f, "root:ernac.VCS", HS_OBJECT_ROOT, hs_graph_builder_leaf_node(b, f->vernac));
    /* A leaf of that very name wins over a group of it, a group over the end of a leaf's name. */
    finds(f, "root:Stm", HS_OBJECT_ROOT, hs_graph_builder_leaf_node(b, f->none));
    struct hs_object_spec what = find(f, "root:Vernac");
    assert_int_equal(hs_snap_root(f->made.view.snap, what.nodes[0])->level, HS_LEVEL_UNIT);
    finds_nothing(f, "root:VCS", "2 roots are called 'VCS'");
    finds_nothing(f, "root:", "there is no root ''");
    finds_nothing(f, "root:stm.vcs", "there is no root 'stm.vcs'");
}

static void types(void **state)
{
    struct fixture *f = *state;
    struct hs_graph_builder *b = &f->made.builder;
    finds(f, "type:string", HS_OBJECT_TYPE, hs_graph_builder_node(b, f->shared));
    finds_nothing(f, "type:lost", "no root reaches an object of type 'lost'");
    finds_nothing(f, "type:", "there is no type ''");
    struct hs_object_spec what = find(f, "type:block"); /* by what they retain: a 13, b 10, c 4 */
    assert_int_equal(what.n_nodes, 3);
    assert_int_equal(what.nodes[0], hs_graph_builder_node(b, f->a));
    assert_int_equal(what.nodes[1], hs_graph_builder_node(b, f->b));
    assert_int_equal(what.nodes[2], hs_graph_builder_node(b, f->c));
}

/* Of many instances the ten largest, in order, whatever the order they stand in. */
static void largest_instances(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    for (uint32_t i = 0; i < 101; i++) {
        uint32_t block = hs_graph_builder_block(b, 1 + i * 37 % 101, false);
        hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", block);
    }
    made_view_open(&made);
    struct hs_error err = HS_ERROR_INIT;
    struct hs_object_spec what;
    assert_int_equal(hs_object_lookup(&made.view, "type:block", &what, &err), HS_OK);
    assert_int_equal(what.n_nodes, HS_OBJECT_INSTANCES);
    for (unsigned i = 0; i < HS_OBJECT_INSTANCES; i++)
        assert_int_equal(hs_index_retained(made.view.index, what.nodes[i]).words, 101 - i);
    assert_int_equal(hs_object_lookup(&made.view, "root:U.x", &what, &err), HS_USAGE);
    assert_non_null(strstr(err.message, "101 roots are called 'U.x'"));
    assert_non_null(strstr(err.hint, "..."));
    made_view_close(&made);
}

static void anything_else(void **state)
{
    struct fixture *f = *state;
    finds_nothing(f, "", "'' names no object");
    finds_nothing(f, "-1", "no root and no type is called '-1'");
    finds_nothing(f, "Root:Stm.VCS", "no root and no type is called");
}

/* A root or a type of that very name, then the end of a root's name. */
static void bare_names(void **state)
{
    struct fixture *f = *state;
    struct hs_graph_builder *b = &f->made.builder;
    finds(f, "Stm.VCS", HS_OBJECT_ROOT, hs_graph_builder_leaf_node(b, f->stm));
    finds(f, "string", HS_OBJECT_TYPE, hs_graph_builder_node(b, f->shared));
    finds(f, "nac.VCS", HS_OBJECT_ROOT, hs_graph_builder_leaf_node(b, f->vernac));
    finds_nothing(f, "VCS", "2 roots are called 'VCS'");
    assert_true(hs_object_is_bare("Stm.VCS"));
    assert_false(hs_object_is_bare("site:x"));
    assert_false(hs_object_is_bare("12"));
    assert_true(hs_object_is_known(&f->made.view, "nac.VCS"));
    assert_false(hs_object_is_known(&f->made.view, "nac.VC"));
}

/* Several roots hold `shared` together: it is the only top unit of the only set. */
static void sets(void **state)
{
    struct fixture *f = *state;
    struct hs_object_spec what = find(f, "set:1");
    assert_int_equal(what.kind, HS_OBJECT_SET);
    assert_int_equal(what.set, 1);
    assert_int_equal(what.n_nodes, 1);
    assert_int_equal(what.nodes[0], hs_graph_builder_node(&f->made.builder, f->shared));
    finds_nothing(f, "set:2", "there is no owner set 'set:2'");
    finds_nothing(f, "set:0", "there is no owner set");
    finds_nothing(f, "set:18446744073709551616", "too large");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples),       cmocka_unit_test(addresses),
        cmocka_unit_test(nodes),         cmocka_unit_test(roots),
        cmocka_unit_test(types),         cmocka_unit_test(largest_instances),
        cmocka_unit_test(anything_else), cmocka_unit_test(bare_names),
        cmocka_unit_test(sets),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
