/* links: hs_native */
/* Records of a library that a rule tells by their size and words. */
#include "unit.h"

#include "fail_each.h"
#include "native/flow.h"
#include "native/records.h"
#include "native_world.h"
#include "rules/rules.h"

enum { NODE_BYTES = 48, KIND = 0x505, KIND_AT = 8, SELF_AT = 16, BODY_AT = 24, SPARE_AT = 32 };

static struct world *w;
static struct hs_flow flow;
static struct hs_rules rules;
static char house[] = "libhouse.so.1";
static struct hs_object object = {.name = house};

static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    return 0;
}

static int tear_down(void **state)
{
    w->dump.objects = (struct hs_objects){0};
    w->options.rules = NULL;
    hs_rules_fini(&rules);
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

/* A node as the rule has it, and its body. */
static hs_addr node(hs_addr *ret_body)
{
    hs_addr at = world_block(w, NODE_BYTES);
    *ret_body = world_block(w, 2 * NODE_BYTES);
    *world_word(w, at + KIND_AT) = UINT64_C(0x1234567800000000) | KIND;
    *world_word(w, at + SELF_AT) = at + BODY_AT;
    *world_word(w, at + BODY_AT) = *ret_body;
    return at;
}

static const char *type_of(hs_addr at)
{
    struct hs_heap_block block;
    (void)hs_heap_map_resolve(&w->dump.heaps.map, at, &block);
    hs_ntype type = hs_flow_type(&flow, block.rank);
    return type == 0 ? "" : hs_strtab_get(&w->dump.strings, flow.types.types[type - 1].type.name);
}

static void add_rule(const char *when)
{
    char text[400];
    int n = snprintf(text, sizeof text,
                     "heapsnap-rules 1\n"
                     "record \"node\" bytes 48 magic 8 0x505 mask 0xffff self 16 24 block 24 "
                     "leads 32 finds 0 member 24 \"body\" to \"body of node\" when %s\n",
                     when);
    const struct hs_rule_source source = {
        .name = "house", .bytes = text, .n_bytes = (size_t)n, .is_enabled = true};
    WORLD_OK(hs_rules_add(&rules, &source, &world_err));
    w->options.rules = &rules;
}

/* Lets types flow, of which there are none, and then adds the library. */
static void begin(const char *when)
{
    add_rule(when);
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    w->dump.objects = (struct hs_objects){.objects = &object, .n = 1};
    w->dump.process.objects = &w->dump.objects;
}

static void find(const char *when)
{
    begin(when);
    WORLD_OK(hs_native_records(&w->native, &flow, &world_err));
}

static void by_its_words(void **state)
{
    hs_addr body, at = node(&body);
    find("library \"libhouse*\"");
    assert_string_equal(type_of(at), "node");
    assert_string_equal(type_of(body), "body of node");
    struct hs_heap_block block;
    (void)hs_heap_map_resolve(&w->dump.heaps.map, at, &block);
    const struct hs_native_type *type =
        hs_native_type_of(&flow.types, hs_flow_type(&flow, block.rank));
    assert_int_equal(type->other_words, 1);
    assert_int_equal(type->n_members, 1);
    assert_int_equal(type->members[0].offset_bytes, BODY_AT);
    assert_string_equal(hs_strtab_get(&w->dump.strings, type->members[0].name), "body");
}

static void not_without_its_library(void **state)
{
    hs_addr body, at = node(&body);
    find("library \"libnone.so*\"");
    assert_false(hs_native_has_records(&w->native));
    assert_string_equal(type_of(at), "");
}

/* One word at a time is not as the rule has it. */
static void not_by_other_words(void **state)
{
    static const struct {
        uint64_t at, word;
    } wrong[] = {
        {KIND_AT, 0x506}, {SELF_AT, 0}, {BODY_AT, 0}, {SPARE_AT, 12345}, {BODY_AT, WORLD_UNMAPPED}};
    hs_addr nodes[sizeof wrong / sizeof *wrong], body;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        nodes[i] = node(&body);
        *world_word(w, nodes[i] + wrong[i].at) = wrong[i].word;
    }
    find("library \"libhouse*\"");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_string_equal(type_of(nodes[i]), "");
}

static void not_of_another_size(void **state)
{
    hs_addr at = world_block(w, 2 * NODE_BYTES + 32);
    *world_word(w, at + KIND_AT) = KIND;
    *world_word(w, at + SELF_AT) = at + BODY_AT;
    *world_word(w, at + BODY_AT) = world_block(w, NODE_BYTES);
    find("library \"libhouse*\"");
    assert_string_equal(type_of(at), "");
}

static void out_of_memory(void **state)
{
    hs_addr body;
    (void)node(&body);
    begin("library \"libhouse*\"");
    FAIL_EACH (f, .at_least = 2, .keeps = true)
        (void)FAIL_EACH_TRY(f, hs_native_records(&w->native, &flow, &world_err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_its_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_without_its_library, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_other_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_of_another_size, set_up, tear_down),
        cmocka_unit_test_setup_teardown(out_of_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
