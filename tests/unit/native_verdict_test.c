/* links: hs_native */
/* Each rule of native/verdict.def decides one word, and does not when it is switched off. Owners'
 * blocks have their world in native_owned_test. */
#include "unit.h"

#include "native/verdict.h"
#include "native_world.h"

enum { NODE = 1, POINTER, OTHER };

static struct world *w;
static struct hs_flow flow;
static struct hs_scan scan;
static struct hs_heap_span span;
static struct hs_heap_block block, target;
static struct hs_said said;
static struct hs_bitmap bits; /* has the target */
static struct hs_object_model model;
static uint64_t at;
static enum hs_pointer how;

static int set_up(void **state)
{
    w = world_new();
    world_no_types();
    world_type(NODE, "struct node", HS_CTYPE_RECORD, 16);
    world_slot(NODE, "next", 0, NODE);
    world_type(POINTER, "struct node *", HS_CTYPE_POINTER, 8);
    world_types[POINTER].facts.of = NODE;
    world_slot(POINTER, "", 0, NODE);
    return 0;
}

static int tear_down(void **state)
{
    scan.named = NULL;
    hs_range_set_fini(&w->native.foreign.ranges);
    scan.interpreter.model = NULL;
    hs_bitmap_fini(&bits);
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

static void find(hs_addr address, struct hs_heap_block *ret)
{
    assert_int_equal(hs_heap_map_resolve(&w->dump.heaps.map, address, ret), HS_POINTER_START);
}

/* Two blocks, one behind the other, of which the first leads to the second by its first words; the
 * first is of `type`. */
static void begin(hs_ctype type)
{
    hs_addr from = world_block(w, 32), to;

    w->next = from + 32;
    to = world_block(w, 40);
    *world_word(w, from) = *world_word(w, from + 8) = to;
    if (type != 0)
        world_seed(w, from, type);
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(hs_scan_begin(&scan, &w->native, &flow, &world_err));
    find(from, &block);
    find(to, &target);
    span = *block.span;
    block.span = &span;
    WORLD_OK(hs_bitmap_init(&bits, w->dump.heaps.map.n_blocks, &world_err));
    hs_bitmap_set(&bits, target.rank);
    said = (struct hs_said){0};
    hs_scan_said(&scan, hs_scan_type(&scan, &block), &block, HS_RULES_ALL, &said);
    at = 0;
    how = HS_POINTER_START;
}

static unsigned reason_with(uint32_t rules)
{
    scan.rules = rules;
    said.rules = hs_verdict_rules(&said, HS_RULES_ALL);
    return hs_verdict_of(&said, at, how, &target).reason;
}

/* ---- what makes each rule hold */

static struct hs_cslot *first_slot(void)
{
    return &world_types[NODE].slots[0];
}

static void weak_reference(void)
{
    said.words.weak = 1;
}
static void runtime_record(void)
{
    said.is_record = true;
}
static void list_link(void)
{
    said.words.doubtful = 1;
}
static void left_behind(void)
{
    said.words.guessed_from = 1;
    at = 8;
}
static void qt_parent(void)
{
    flow.owned_alone = bits;
    bits = (struct hs_bitmap){0};
}
static void back_reference(void)
{
    said.other_words = 1;
}
static void spare_capacity(void)
{
    said.use = (struct hs_native_use){.from = 16, .end = 32, .is_said = true};
}
static void empty_bucket(void)
{
    static const uint8_t control[] = {0xff};
    said.table = (struct hs_swiss_table){
        .control = control, .n_buckets = 1, .n_bytes = 32, .element_bytes = 32};
}
static void size_alone(void)
{
    said.sure_end = 0;
}
static void weak_pointer(void)
{
    first_slot()->is_weak = true;
}
static void inactive_alternative(void)
{
    first_slot()->n_choices = 1;
    first_slot()->may_be_pointer_only = true;
}
static void unsure_union(void)
{
    first_slot()->is_untold = true;
}
static void no_pointer(void)
{
    at = 8;
}
static void allocator_padding(void)
{
    said.end = 16;
    said.has_rest = true;
    at = 16;
}
static void qt_weak_pointer(void)
{
    at = 8;
    WORLD_OK(hs_dict_put(&flow.shared_counters, target.begin, target.begin, &world_err));
}
static void number_beside_code(void)
{
    said.are_pairs = true;
}
static void slack_word(void)
{
    span.form = HS_SPAN_HEADERS;
    at = block.n_bytes - 8;
}
static void overwritten_half(void)
{
    target.n_bytes = UINT64_C(1) << 32;
    *world_word(w, block.begin) = target.begin + (UINT64_C(1) << 31);
    how = HS_POINTER_INTERIOR;
}
static void opaque_library(void)
{
    scan.own = bits;
    bits = (struct hs_bitmap){0};
}
static void python_named(void)
{
    scan.named = &bits;
}
static bool is_part(const void *state, const struct hs_heap_block *part)
{
    return part->rank == target.rank;
}
static void python_part(void)
{
    model.is_part = is_part;
    scan.interpreter.model = &model;
}
static void tokio_task(void)
{
    w->native.tasks.n_tasks = 1;
    w->native.tasks.of_block = bits;
    bits = (struct hs_bitmap){0};
}
static void unwritten(void)
{
    span.form = HS_SPAN_HEADERS;
    *world_word(w, block.begin) = block.begin >> 12; /* the last of glibc's list of free blocks */
    *world_word(w, block.begin + 8) = 0;
    hs_scan_said(&scan, NULL, &block, HS_RULES_ALL, &said);
    at = 16;
}
static void stale(void)
{
    hs_ntype array, other;

    world_type(OTHER, "struct other", HS_CTYPE_RECORD, 40);
    WORLD_OK(hs_native_types_of_ctype(&flow.types, POINTER, true, &array, &world_err));
    WORLD_OK(hs_native_types_of_ctype(&flow.types, OTHER, false, &other, &world_err));
    hs_flow_set_type(&flow, target.rank, other);
    hs_scan_said(&scan, hs_native_type_of(&flow.types, array), &block, HS_RULES_ALL, &said);
}
static void end_pointer(void)
{
    *world_word(w, block.begin) = block.begin;
    *world_word(w, block.begin + 16) = target.begin;
    at = 8;
}
static void unread_heap(void)
{
    static struct hs_heap_span mapping;

    mapping = *target.span;
    mapping.owner = HS_OWNER_MAPPING;
    target.span = &mapping;
    WORLD_OK(hs_range_set_add(&w->native.foreign.ranges, target.begin,
                              target.begin + target.n_bytes, &world_err));
}
/* The first member of a TAILQ leads to the head's word that leads to it. */
static void list_head(void)
{
    at = 16;
    how = HS_POINTER_INTERIOR;
    *world_word(w, block.begin + 8) = 0;
    *world_word(w, block.begin + at) = target.begin + 24;
    *world_word(w, target.begin + 24) = block.begin;
}
static void container_element(void)
{
    hs_ntype box;

    WORLD_OK(hs_native_types_of_name(&flow.types, "std::make_shared<Page>", HS_FORM_RECORD, &box,
                                     &world_err));
    hs_flow_set_type(&flow, target.rank, box);
    at = 8;
    how = HS_POINTER_INTERIOR;
    *world_word(w, block.begin + at) = target.begin + 16;
}
static void sole_owner(void)
{
    flow.sole = bits;
    bits = (struct hs_bitmap){0};
}
static void visitor(void)
{
    WORLD_OK(hs_bitmap_init(&scan.own, w->dump.heaps.map.n_blocks, &world_err));
    WORLD_OK(hs_bitmap_init(&scan.visits, w->dump.heaps.map.n_blocks, &world_err));
    hs_bitmap_set(&scan.visits, block.rank);
}
static void past_end(void)
{
    how = HS_POINTER_PAST_END;
}

static const struct verdict_case {
    enum hs_reason reason;
    hs_ctype type; /* 0: nothing is known of the block */
    void (*make)(void);
} cases[] = {
    {HS_REASON_WEAK_REFERENCE, 0, weak_reference},
    {HS_REASON_RUNTIME_RECORD, 0, runtime_record},
    {HS_REASON_LIST_LINK, 0, list_link},
    {HS_REASON_LEFT_BEHIND, 0, left_behind},
    {HS_REASON_QT_PARENT, 0, qt_parent},
    {HS_REASON_BACK_REFERENCE, 0, back_reference},
    {HS_REASON_SPARE_CAPACITY, 0, spare_capacity},
    {HS_REASON_EMPTY_BUCKET, 0, empty_bucket},
    {HS_REASON_SIZE_ALONE, NODE, size_alone},
    {HS_REASON_WEAK_POINTER, NODE, weak_pointer},
    {HS_REASON_INACTIVE_ALTERNATIVE, NODE, inactive_alternative},
    {HS_REASON_UNSURE_UNION, NODE, unsure_union},
    {HS_REASON_NO_POINTER, NODE, no_pointer},
    {HS_REASON_ALLOCATOR_PADDING, NODE, allocator_padding},
    {HS_REASON_QT_WEAK_POINTER, 0, qt_weak_pointer},
    {HS_REASON_NUMBER_BESIDE_CODE, 0, number_beside_code},
    {HS_REASON_SLACK_WORD, 0, slack_word},
    {HS_REASON_OVERWRITTEN_HALF, 0, overwritten_half},
    {HS_REASON_OPAQUE_LIBRARY, 0, opaque_library},
    {HS_REASON_PYTHON_NAMED, 0, python_named},
    {HS_REASON_PYTHON_PART, 0, python_part},
    {HS_REASON_TOKIO_TASK, 0, tokio_task},
    {HS_REASON_UNWRITTEN, 0, unwritten},
    {HS_REASON_STALE, NODE, stale},
    {HS_REASON_UNREAD_HEAP, 0, unread_heap},
    {HS_REASON_END_POINTER, 0, end_pointer},
    {HS_REASON_LIST_HEAD, 0, list_head},
    {HS_REASON_CONTAINER_ELEMENT, 0, container_element},
    {HS_REASON_SOLE_OWNER, 0, sole_owner},
    {HS_REASON_VISITOR, 0, visitor},
    {HS_REASON_PAST_END, 0, past_end},
};

static void each_rule_decides_and_can_be_switched_off(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct verdict_case *c = &cases[i];
        if (i != 0)
            (void)set_up(state);
        begin(c->type);
        c->make();
        unsigned with = reason_with(HS_RULES_ALL);
        if (with != c->reason)
            fail_msg("%s: it was %s", hs_reason_name(c->reason),
                     with == 0 ? "none" : hs_reason_name(with));
        if (reason_with(hs_verdict_without(UINT64_C(1) << c->reason)) == c->reason)
            fail_msg("%s was asked", hs_reason_name(c->reason));
        if (i + 1 < sizeof cases / sizeof *cases)
            (void)tear_down(state);
    }
}

/* A pointer that is weak by a line of a file of rules says which. */
static void a_line_of_a_file_has_a_number(void **state)
{
    (void)state;
    begin(NODE);
    weak_pointer();
    first_slot()->weak_by = 7;
    assert_int_equal(reason_with(HS_RULES_ALL), HS_FIRST_LINE_REASON + 6);
    assert_int_equal(w->dump.findings.rule_lines[0], 1 << 7);
    assert_int_equal(reason_with(hs_verdict_without(UINT64_C(1) << HS_REASON_WEAK_POINTER)), 0);
}

/* A number is for ever, and a name is one rule's. */
static void names_are_of_one_rule(void **state)
{
    begin(0);
    for (unsigned i = 1; i <= HS_MAX_REASON; i++)
        if (hs_reason_name(i) != NULL) {
            assert_int_equal(hs_reason_by_name(hs_reason_name(i)), i);
            assert_non_null(hs_reason_text(i));
            assert_true(i < 64); /* of which options have a bit */
        }
    assert_int_equal(hs_reason_by_name("weak-pointer"), 10);
    assert_int_equal(hs_reason_by_name("no-such-rule"), HS_REASON_NONE);
    assert_int_equal(hs_verdict_without(0), HS_RULES_ALL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_rule_decides_and_can_be_switched_off, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_line_of_a_file_has_a_number, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_are_of_one_rule, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
