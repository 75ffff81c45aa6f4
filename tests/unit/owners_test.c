/* links: hs_report hs_heaps hs_process hs_symbols hs_rules hs_base */
#include "unit.h"

#include "base/budget.h"
#include "fail_each.h"
#include "fake_talloc.h"
#include "process/dump_plan.h"
#include "rules/rules.h"

#define HEADER "header 96 parent 24 child 32 next 8 prev 16 size 64 name 56"
#define MARKED HEADER " magic 0 0x2fee48a0 mask 0xfffffff0 when symbol \"_talloc_free\""
#define LINKED HEADER " when library \"mad*\""

static struct fake_talloc fake;
static struct hs_heaps heaps;
static struct hs_rules rules;
static struct hs_error err = HS_ERROR_INIT;
static uint32_t server, first, second, third, user, alone;

static void use_rule(const char *says)
{
    char text[300];
    int n = snprintf(text, sizeof text, "heapsnap-rules 1\nowners \"house chunk\" %s\n", says);
    const struct hs_rule_source source = {
        .name = "house", .bytes = text, .n_bytes = (size_t)n, .is_enabled = true};
    hs_rules_fini(&rules);
    if (hs_rules_add(&rules, &source, &err) != HS_OK)
        fail_msg("%s", err.message);
    fake.rules = &rules;
}

/* A server with three sessions, one of which has a user, and a chunk that hangs nowhere. */
static int set_up(void **state)
{
    (void)state;
    fake_talloc_begin(&fake);
    hs_addr name = fake_talloc_text(&fake, "struct session");
    server =
        fake_talloc_chunk(&fake, FAKE_TALLOC_NONE, fake_talloc_text(&fake, "struct server"), 40);
    first = fake_talloc_chunk(&fake, server, name, 100);
    second = fake_talloc_chunk(&fake, server, name, 200);
    third = fake_talloc_chunk(&fake, server, FAKE_TALLOC_HEAP + 8, 300); /* a name that was made */
    user = fake_talloc_chunk(&fake, second, name, 24);
    alone = fake_talloc_chunk(&fake, FAKE_TALLOC_NONE, 0, 64);
    use_rule(MARKED);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hs_heaps_close(&heaps);
    fake_talloc_close(&fake);
    hs_rules_fini(&rules);
    return 0;
}

static void read_fake(void)
{
    hs_heaps_close(&heaps);
    assert_int_equal(fake_talloc_read(&fake, &heaps, &err), HS_OK);
}

static uint64_t *word(uint32_t chunk, unsigned at)
{
    return fake_talloc_word(&fake, fake.chunks[chunk].header + at);
}

static struct hs_heap_block block_at(hs_addr at)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&heaps.map, at, &block), HS_POINTER_START);
    return block;
}

static hs_addr at(uint32_t chunk)
{
    return fake.chunks[chunk].block;
}

static hs_addr owner_of(uint32_t chunk)
{
    const struct hs_heap_block block = block_at(at(chunk));
    return hs_heaps_owner(&heaps, &block);
}

/* Counts what a block says it owns; each says so, too, and is told once. */
static size_t n_owned(const struct hs_heap_block *owner)
{
    uint64_t cursor = 0;
    hs_addr begin, end;
    size_t n = 0;

    while (hs_heaps_owned(&heaps, owner, &cursor, &begin, &end)) {
        const struct hs_heap_block block = block_at(begin);
        assert_int_equal(end, begin + 1);
        assert_int_equal(hs_heaps_owner(&heaps, &block), owner->begin);
        assert_true(++n <= heaps.map.n_blocks);
    }
    return n;
}

static void is_the_tree(void)
{
    assert_int_equal(owner_of(server), 0);
    assert_int_equal(owner_of(first), at(server));
    assert_int_equal(owner_of(second), at(server));
    assert_int_equal(owner_of(third), at(server));
    assert_int_equal(owner_of(user), at(second));
    assert_int_equal(owner_of(alone), 0);
    const struct hs_heap_block root = block_at(at(server)), leaf = block_at(at(user));
    assert_int_equal(n_owned(&root), 3);
    assert_int_equal(n_owned(&leaf), 0);
    assert_int_equal(hs_heaps_links(&heaps, &root), 0x1e);
    for (size_t i = 0; i < fake.findings.n_proofs; i++)
        assert_true(fake.findings.proofs[i].holds);
    assert_int_equal(fake.findings.n_notes, 0);
}

static void parents_own(void **state)
{
    (void)state;
    read_fake();
    is_the_tree();
    assert_int_equal(fake.findings.proofs[0].found, 6);
}

/* Without a magic number it is links that lead back which tell a block of the tree. */
static void links_tell_as_well(void **state)
{
    (void)state;
    use_rule(LINKED);
    read_fake();
    is_the_tree();
    assert_int_equal(fake.findings.proofs[0].found, 5); /* all but the one that hangs nowhere */
    const struct hs_heap_block block = block_at(at(alone));
    assert_int_equal(hs_heaps_links(&heaps, &block), 0);
}

static void a_parent_alone_tells(void **state)
{
    (void)state;
    *word(first, 24) = *word(second, 24) = at(server);
    use_rule("header 96 parent 24 magic 0 0x2fee48a0 mask 0xfffffff0 when library \"made\"");
    read_fake();
    assert_int_equal(owner_of(first), at(server));
    assert_int_equal(owner_of(second), at(server));
    assert_int_equal(owner_of(user), at(second));
    *word(server, 24) = at(user); /* a circle */
    *word(third, 24) = at(third);
    *word(alone, 24) = FAKE_TALLOC_HEAP + 8; /* into the middle of a block */
    read_fake();
    assert_int_equal(owner_of(server), at(user));
    assert_int_equal(owner_of(third), 0);
    assert_int_equal(owner_of(alone), 0);
}

/* A chunk of an obstack owns the one that was full before it. */
static void an_end_tells_chunks(void **state)
{
    (void)state;
    hs_addr older = fake_talloc_other(&fake, 400), newer = fake_talloc_other(&fake, 400);
    hs_addr other = fake_talloc_other(&fake, 400);
    *fake_talloc_word(&fake, older) = older + 400;
    *fake_talloc_word(&fake, newer) = newer + 400;
    *fake_talloc_word(&fake, newer + 8) = older;
    *fake_talloc_word(&fake, other) = other + 200; /* half of it is no end */
    *fake_talloc_word(&fake, other + 8) = newer;
    use_rule("header 16 end 0 child 8 when symbol \"_talloc_free\"");
    read_fake();
    const struct hs_heap_block a = block_at(older), b = block_at(newer);
    assert_int_equal(hs_heaps_owner(&heaps, &a), newer);
    assert_int_equal(hs_heaps_owner(&heaps, &b), 0);
    struct hs_object_name said;
    assert_false(hs_heaps_object_name(&heaps, &a, &said)); /* debug information may know more */
}

/* The record of an obstack has the newest chunk, and where that ends beside it; who only has the
 * chunk does not, and of two such records neither is believed. */
static void a_record_holds_the_newest(void **state)
{
    (void)state;
    hs_addr chunk = fake_talloc_other(&fake, 400), record = fake_talloc_other(&fake, 96);
    hs_addr reader = fake_talloc_other(&fake, 96), copy = fake_talloc_other(&fake, 96);
    *fake_talloc_word(&fake, chunk) = chunk + 400;
    *fake_talloc_word(&fake, record + 8) = chunk;
    *fake_talloc_word(&fake, record + 32) = chunk + 400;
    *fake_talloc_word(&fake, reader) = chunk;
    *fake_talloc_word(&fake, reader + 24) = chunk + 64;
    use_rule("header 16 end 0 child 8 held 24 when symbol \"_talloc_free\"");
    read_fake();
    const struct hs_heap_block block = block_at(chunk);
    assert_int_equal(hs_heaps_owner(&heaps, &block), record);
    *fake_talloc_word(&fake, copy + 8) = chunk;
    *fake_talloc_word(&fake, copy + 32) = chunk + 400;
    read_fake();
    const struct hs_heap_block again = block_at(chunk);
    assert_int_equal(hs_heaps_owner(&heaps, &again), 0);
}

static void blocks_are_called_by_their_names(void **state)
{
    (void)state;
    struct hs_object_name said;
    read_fake();
    struct hs_heap_block block = block_at(at(first));
    assert_true(hs_heaps_object_name(&heaps, &block, &said));
    assert_string_equal(hs_strtab_get(&fake.strings, said.name), "struct session");
    assert_int_equal(said.offset_bytes, FAKE_TALLOC_HEADER);
    assert_int_equal(said.n_bytes, 100);
    block = block_at(at(third));
    assert_true(hs_heaps_object_name(&heaps, &block, &said));
    assert_string_equal(hs_strtab_get(&fake.strings, said.name), "house chunk");
}

static void programs_without_it_are_not_looked_at(void **state)
{
    (void)state;
    static const char *const none[] = {HEADER " when symbol \"house_free\"",
                                       HEADER " when library \"other*\""};
    for (size_t i = 0; i < 2; i++) {
        use_rule(none[i]);
        read_fake();
        assert_null(heaps.states[HS_OWNER_owners]);
    }
    use_rule("header 96 parent 24 child 32 magic 0 7 when library \"made\"");
    read_fake();
    assert_int_equal(owner_of(first), 0);
    assert_int_equal(fake.findings.n_proofs, 0);
}

/* A list that does not lead back is followed no further, and one that is a circle ends. */
static void damage_is_told(void **state)
{
    (void)state;
    static const struct {
        unsigned at;
        bool is_owned; /* the last of three, whose word it is */
    } cases[] = {{8, true}, {16, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t before = *word(first, cases[i].at);
        *word(first, cases[i].at) = at(user);
        read_fake();
        assert_int_equal(owner_of(first), cases[i].is_owned ? at(server) : 0);
        assert_int_equal(owner_of(second), at(server));
        assert_true(fake.findings.n_notes > 0);
        *word(first, cases[i].at) = before;
    }
    use_rule("header 96 child 32 next 8 magic 0 0x2fee48a0 mask 0xfffffff0 when library \"made\"");
    *word(first, 8) = at(third);
    read_fake();
    assert_int_equal(owner_of(first), at(server));
    assert_true(fake.findings.n_notes > 0);
}

static uint32_t random_of(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525 + 1013904223;
    return (*seed >> 8) % n;
}

/* Whatever the rule and the words are: each block is owned once, by who says so. */
static void nothing_of_it_is_believed(void **state)
{
    static const char *const kinds[] = {
        ("header 96 parent %u child %u next %u prev %u magic 0 0x2fee48a0 mask 0xf0 when library "
         "\"made\""),
        "header 96 parent %u child %u next %u prev %u when library \"made\"",
        "header 104 child %u next %u end %u size %u when library \"made\""};
    uint32_t seed = 41;
    char says[200];

    for (unsigned round = 0; round < 300; round++) {
        uint64_t n_owning = 0, n_with_owner = 0;
        unsigned o[4];
        tear_down(state);
        set_up(state);
        for (size_t i = 0; i < 4; i++)
            o[i] = random_of(&seed, 2) != 0 ? (unsigned[]){24, 32, 8, 16}[i]
                                            : 8 * random_of(&seed, 12);
        // NOLINTNEXTLINE(clang-diagnostic-format-nonliteral)
        (void)snprintf(says, sizeof says, kinds[random_of(&seed, 3)], o[0], o[1], o[2], o[3]);
        use_rule(says);
        for (unsigned i = random_of(&seed, 8); i > 0; i--)
            *word(random_of(&seed, fake.n_chunks), 8 * random_of(&seed, 12)) =
                at(random_of(&seed, fake.n_chunks)) + (random_of(&seed, 4) == 0 ? 8 : 0);
        read_fake();
        struct hs_heap_iterator it = {.map = &heaps.map};
        struct hs_heap_block block;
        while (hs_heap_map_next(&it, &block)) {
            n_owning += n_owned(&block);
            n_with_owner += hs_heaps_owner(&heaps, &block) != 0;
        }
        assert_int_equal(n_owning, n_with_owner);
    }
}

static void room_is_planned(void **state)
{
    (void)state;
    struct hs_budget budget;
    struct hs_dump_plan plan = {.budget = &budget, .image = &fake.image};
    hs_budget_init(UINT64_C(1) << 30, NULL, 1, &budget);
    fake.plan = &plan;
    read_fake();
    const uint64_t needed_bytes = plan.reserved_bytes;
    assert_in_range(needed_bytes, 6 * 32, 6 * 32 + 64);
    hs_heaps_close(&heaps);
    assert_int_equal(plan.reserved_bytes, 0);
    uint64_t taken_bytes = hs_budget_left_bytes(&budget) - needed_bytes;
    assert_int_equal(hs_budget_reserve(&budget, taken_bytes, "a copy", &err), HS_OK);
    read_fake();
    assert_int_equal(owner_of(first), 0);
    assert_non_null(strstr(hs_strtab_get(&fake.strings, fake.findings.notes[0].text),
                           "allow more with --memory"));
    hs_heaps_close(&heaps);
    fake.plan = NULL;
}

static void without_memory(void **state)
{
    (void)state;
    hs_heaps_close(&heaps);
    FAIL_EACH (f, .at_least = 8, .keeps = true) {
        if (FAIL_EACH_TRY(f, fake_talloc_read(&fake, &heaps, &err)) == HS_OK)
            assert_int_equal(owner_of(first), at(server));
        hs_heaps_close(&heaps);
        fake_talloc_close(&fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parents_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_tell_as_well, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_parent_alone_tells, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_end_tells_chunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_record_holds_the_newest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_are_called_by_their_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(programs_without_it_are_not_looked_at, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_of_it_is_believed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(room_is_planned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
