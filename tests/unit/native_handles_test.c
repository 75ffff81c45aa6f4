/* links: hs_native */
/* Records that a handle lists, as a rule says where. */
#include "unit.h"

#include "fail_each.h"
#include "native/flow.h"
#include "native/handles.h"
#include "native/opaque.h"
#include "native_world.h"
#include "rules/rules.h"

enum { HOLDER = 1, ENGINE, HOLDER_BYTES = 40, OPAQUE_BYTES = 88 };
enum { RECORDS = 10, RECORD_BYTES = 96, HEADER = 8, FIRST = 16, NEXT = 32, BACK = 24 };

static struct world *w;
static struct hs_flow flow;
static struct hs_rules rules;

/* A holder leads to an engine, which is described nowhere. */
static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    world_type(HOLDER, "struct holder", HS_CTYPE_RECORD, HOLDER_BYTES);
    world_slot(HOLDER, "engine", 8, ENGINE);
    world_types[ENGINE].facts = (struct hs_ctype_facts){
        .name = "struct engine", .kind = HS_CTYPE_RECORD, .is_declaration = true};
    return 0;
}

static int tear_down(void **state)
{
    hs_native_counts_fini(&w->native.counts);
    w->options.rules = NULL;
    hs_rules_fini(&rules);
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

/* An engine behind its library's header, and its records, each behind such, from the last on. */
static hs_addr list_records(hs_addr records[RECORDS])
{
    hs_addr engine = world_block(w, OPAQUE_BYTES) + HEADER;
    hs_addr holder = world_block(w, HOLDER_BYTES);
    *world_word(w, holder + 8) = engine;
    world_seed(w, holder, HOLDER);
    world_root(w, holder, HS_EDGE_EXACT);
    for (int i = 0; i < RECORDS; i++) {
        records[i] = world_block(w, RECORD_BYTES) + HEADER;
        *world_word(w, records[i] + BACK) = engine;
        *world_word(w, records[i] + NEXT) = i == 0 ? 0 : records[i - 1];
    }
    *world_word(w, engine + FIRST) = records[RECORDS - 1];
    return engine;
}

static void add_handle_rule(void)
{
    static const char text[] = "heapsnap-rules 1\n"
                               "handle \"engine\" lists \"cursor\" first 16 next 32 back 24\n";
    const struct hs_rule_source source = {
        .name = "house", .bytes = text, .n_bytes = sizeof text - 1, .is_enabled = true};
    WORLD_OK(hs_rules_add(&rules, &source, &world_err));
    w->options.rules = &rules;
    w->native.counts.n_most = RECORDS;
}

static void name_handles(void)
{
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(hs_native_opaque(&w->native, &flow, &world_err));
}

static uint64_t elements_of(hs_addr engine)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, engine, &block), HS_POINTER_INTERIOR);
    const struct hs_native_count *count = hs_native_counts_of(&w->native.counts, block.rank);
    return count == NULL ? 0 : count->entries;
}

/* Names the records; `n` of them are, and the engine has `n_elements`. */
static void lists(hs_addr engine, const hs_addr records[RECORDS], int n, uint64_t n_elements)
{
    int n_named = 0;
    add_handle_rule();
    name_handles();
    WORLD_OK(hs_native_handles(&w->native, &flow, &world_err));
    for (int i = 0; i < RECORDS; i++) {
        struct hs_heap_block block;
        (void)hs_heap_map_resolve(&w->dump.heaps.map, records[i], &block);
        hs_ntype type = hs_flow_type(&flow, block.rank);
        n_named += type != 0 &&
                   strcmp(hs_strtab_get(&w->dump.strings, flow.types.types[type - 1].type.name),
                          "cursor (opaque)") == 0;
    }
    assert_int_equal(n_named, n);
    assert_int_equal(elements_of(engine), n_elements);
}

static void by_a_handle(void **state)
{
    hs_addr records[RECORDS], engine = list_records(records);
    lists(engine, records, RECORDS, RECORDS);
}

static void not_by_a_list_in_a_circle(void **state)
{
    hs_addr records[RECORDS], engine = list_records(records);
    *world_word(w, records[0] + NEXT) = records[4];
    lists(engine, records, 0, 0);
}

static void not_by_a_record_of_another_handle(void **state)
{
    hs_addr records[RECORDS], engine = list_records(records);
    *world_word(w, records[2] + BACK) = records[3];
    lists(engine, records, 0, 0);
}

static void not_by_a_list_that_ends_elsewhere(void **state)
{
    hs_addr records[RECORDS], engine = list_records(records);
    *world_word(w, records[0] + NEXT) = WORLD_UNMAPPED;
    lists(engine, records, 0, 0);
}

/* The handle is the head of its list, to which the last record leads. */
static void by_a_list_that_ends_in_its_handle(void **state)
{
    hs_addr records[RECORDS], engine = list_records(records);
    *world_word(w, records[0] + NEXT) = engine + FIRST;
    lists(engine, records, RECORDS, RECORDS);
}

static void not_by_a_list_that_begins_with_its_end(void **state)
{
    hs_addr records[RECORDS], engine = list_records(records);
    *world_word(w, engine + FIRST) = engine + FIRST;
    lists(engine, records, 0, 0);
}

/* The first record shares a large block with the second, as slots of one piece of memory do. */
static void not_what_records_share(void **state)
{
    hs_addr records[RECORDS], engine = list_records(records);
    hs_addr slots = world_block(w, 4 * RECORD_BYTES) + HEADER;
    for (int i = 0; i < 2; i++) {
        hs_addr slot = slots + (hs_addr)i * RECORD_BYTES;
        *world_word(w, slot + BACK) = engine;
        *world_word(w, slot + NEXT) = *world_word(w, records[i] + NEXT);
        records[i] = slot;
    }
    *world_word(w, records[1] + NEXT) = records[0];
    *world_word(w, records[2] + NEXT) = records[1];
    lists(engine, records, RECORDS - 2, RECORDS);
}

/* Counts a list of at most RECORDS places, two in each record, word by word; 0: it is wrong. */
static uint64_t plain_count(hs_addr engine)
{
    uint64_t n = 0, word = *world_word(w, engine + FIRST);
    for (; word != 0 && word != engine && n <= 2 * RECORDS; word = *world_word(w, word + NEXT), n++)
        if (*world_word(w, word + BACK) != engine)
            return 0;
    return word == 0 || word == engine ? n : 0;
}

/* Whatever words the records have, each walk ends, and says what a plain one does. */
static void hostile_lists(void **state)
{
    hs_addr records[RECORDS], engine = list_records(records);
    uint64_t random = 1, n_lists = 0;
    add_handle_rule();
    name_handles();
    for (int round = 0; round < 2000; round++) {
        for (int i = 0; i < RECORDS; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            hs_addr to = records[random >> 40 & 7] + (random >> 50 & 7) / 7 * 8;
            *world_word(w, records[i] + NEXT) =
                (random >> 60) < 4 ? (random >> 59 & 1) * engine : to;
            *world_word(w, records[i] + BACK) = (random >> 56 & 15) == 0 ? to : engine;
        }
        w->native.counts.n = 0;
        WORLD_OK(hs_native_handles(&w->native, &flow, &world_err));
        uint64_t n = plain_count(engine);
        assert_int_equal(elements_of(engine), n);
        n_lists += n > 1;
    }
    assert_true(n_lists > 100);
}

static void out_of_memory_for_lists(void **state)
{
    hs_addr records[RECORDS];
    (void)list_records(records);
    add_handle_rule();
    name_handles();
    FAIL_EACH (f, .at_least = 2)
        (void)FAIL_EACH_TRY(f, hs_native_handles(&w->native, &flow, &world_err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(by_a_handle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_a_list_in_a_circle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_a_record_of_another_handle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_a_list_that_ends_elsewhere, set_up, tear_down),
        cmocka_unit_test_setup_teardown(by_a_list_that_ends_in_its_handle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_by_a_list_that_begins_with_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(not_what_records_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(hostile_lists, set_up, tear_down),
        cmocka_unit_test_setup_teardown(out_of_memory_for_lists, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
