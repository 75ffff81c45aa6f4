/* links: hs_report hs_heaps hs_process hs_symbols hs_base */
#include "unit.h"

#include "base/budget.h"
#include "fail_each.h"
#include "fake_talloc.h"
#include "hostile_text.h"
#include "process/dump_plan.h"

static struct fake_talloc fake;
static struct hs_heaps heaps;
static struct hs_error err = HS_ERROR_INIT;

static int set_up(void **state)
{
    fake_talloc_make(&fake);
    return 0;
}

static int tear_down(void **state)
{
    hs_heaps_close(&heaps);
    fake_talloc_close(&fake);
    return 0;
}

static void read_fake(void)
{
    hs_heaps_close(&heaps);
    assert_int_equal(fake_talloc_read(&fake, &heaps, &err), HS_OK);
}

static struct hs_heap_block block_of(uint32_t chunk)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&heaps.map, fake.chunks[chunk].block, &block),
                     HS_POINTER_START);
    return block;
}

static hs_addr owner_of(uint32_t chunk)
{
    const struct hs_heap_block block = block_of(chunk);
    return hs_heaps_owner(&heaps, &block);
}

static hs_addr at(uint32_t chunk)
{
    return fake.chunks[chunk].block;
}

static void is_called(uint32_t chunk, const char *name)
{
    const struct hs_heap_block block = block_of(chunk);
    struct hs_object_name said;
    bool is_pool = fake.chunks[chunk].header != block.begin;

    assert_true(hs_heaps_object_name(&heaps, &block, &said));
    assert_string_equal(hs_strtab_get(&fake.strings, said.name), name);
    assert_int_equal(said.offset_bytes,
                     fake.chunks[chunk].header - block.begin + FAKE_TALLOC_HEADER);
    assert_int_equal(said.n_bytes, is_pool ? 0 : fake.chunks[chunk].size);
}

static void chunks_say_what_they_are(void **state)
{
    read_fake();
    is_called(FAKE_NULL, "null_context");
    is_called(FAKE_SERVER, "struct server");
    is_called(FAKE_SESSION, "struct session");
    is_called(FAKE_USER, "talloc text");
    is_called(FAKE_OTHER, "talloc chunk"); /* its name is data of the program */
    is_called(FAKE_HANDLE, "talloc reference");
    is_called(FAKE_POOL, "talloc pool");
    is_called(FAKE_OLD, "talloc pool");
    is_called(FAKE_OF_POOL, "char");
    is_called(FAKE_ALONE, "struct session");
    for (size_t i = 0; i < fake.findings.n_proofs; i++)
        assert_true(fake.findings.proofs[i].holds);
    assert_int_equal(fake.findings.n_proofs, 1);
    assert_int_equal(fake.findings.proofs[0].found, 11); /* four lie in pools */
}

/* A binary may bring along what it likes: it is kept as it stands, and printed so that nothing of
 * it is taken for a terminal's. What is longer than a name is none. */
static void names_may_be_hostile(void **state)
{
    const hs_addr name = fake_talloc_text(&fake, HOSTILE_TEXT);
    char text[120];

    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    uint32_t hostile = fake_talloc_chunk(&fake, FAKE_SERVER, name, 64);
    uint32_t longer = fake_talloc_chunk(&fake, FAKE_SERVER, fake_talloc_text(&fake, text), 64);
    read_fake();
    is_called(hostile, HOSTILE_TEXT);
    is_called(longer, "talloc chunk");
    is_printed_harmlessly(HOSTILE_TEXT);
}

static void parents_own(void **state)
{
    read_fake();
    assert_int_equal(owner_of(FAKE_NULL), 0);
    assert_int_equal(owner_of(FAKE_ALONE), 0);
    assert_int_equal(owner_of(FAKE_SERVER), 0); /* null_context owns nothing */
    assert_int_equal(owner_of(FAKE_OTHER), 0);
    assert_int_equal(owner_of(FAKE_SESSION), at(FAKE_SERVER));
    assert_int_equal(owner_of(FAKE_USER), at(FAKE_SESSION));
    assert_int_equal(owner_of(FAKE_HANDLE), at(FAKE_OTHER));
    assert_int_equal(owner_of(FAKE_POOL), at(FAKE_SERVER));
    assert_int_equal(owner_of(FAKE_OF_POOL), at(FAKE_POOL)); /* in which its parent lies */
    assert_int_equal(owner_of(FAKE_OLD), 0);
    assert_int_equal(owner_of(FAKE_OF_OLD), at(FAKE_OLD));
}

/* How many blocks it says it owns; each says so, too. */
static size_t n_owned(uint32_t chunk)
{
    const struct hs_heap_block owner = block_of(chunk);
    uint64_t cursor = 0;
    hs_addr begin, end;
    size_t n = 0;

    while (hs_heaps_owned(&heaps, &owner, &cursor, &begin, &end)) {
        struct hs_heap_block block;
        assert_int_equal(hs_heap_map_resolve(&heaps.map, begin, &block), HS_POINTER_START);
        assert_int_equal(end, begin + 1);
        assert_int_equal(hs_heaps_owner(&heaps, &block), owner.begin);
        n++;
    }
    return n;
}

static void owners_list_what_they_own(void **state)
{
    read_fake();
    assert_int_equal(n_owned(FAKE_NULL), 0);
    assert_int_equal(n_owned(FAKE_SERVER), 2);
    assert_int_equal(n_owned(FAKE_SESSION), 1);
    assert_int_equal(n_owned(FAKE_OTHER), 1);
    assert_int_equal(n_owned(FAKE_POOL), 1);
    assert_int_equal(n_owned(FAKE_OLD), 1);
    assert_int_equal(n_owned(FAKE_ALONE), 0);
}

static void references_share(void **state)
{
    read_fake();
    const struct hs_heap_block handle = block_of(FAKE_HANDLE), session = block_of(FAKE_SESSION);
    const struct hs_heap_block server = block_of(FAKE_SERVER), user = block_of(FAKE_USER);
    assert_true(hs_heaps_shares(&heaps, &handle, &session));
    assert_false(hs_heaps_shares(&heaps, &handle, &user));
    assert_false(hs_heaps_shares(&heaps, &user, &session));
    assert_false(hs_heaps_shares(&heaps, &handle, &server)); /* which has no owner */
    assert_false(hs_heaps_end_together(&heaps, &session, &session));
}

/* All of a header but its limit is of lists, or no pointer. */
static void headers_are_links(void **state)
{
    read_fake();
    struct hs_heap_block block = block_of(FAKE_SESSION);
    assert_int_equal(hs_heaps_links(&heaps, &block), 0x5ff);
    block = block_of(FAKE_POOL);
    assert_int_equal(hs_heaps_links(&heaps, &block), 0x5ff << 4);
    assert_int_equal(hs_heap_map_resolve(&heaps.map, FAKE_TALLOC_HEAP, &block), HS_POINTER_START);
    assert_int_equal(hs_heaps_links(&heaps, &block), 0x5ff); /* the null context */
}

/* A list that does not lead back is followed no further; the rest is as it was. */
static void damage_is_told(void **state)
{
    static const struct {
        unsigned at;
        bool is_still_owned;
    } links[] = {{8, true}, {16, false}, {24, false}};

    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        uint64_t *word = fake_talloc_word(&fake, fake.chunks[FAKE_HANDLE].header + links[i].at);
        uint64_t before = *word;
        *word = fake.chunks[FAKE_SERVER].header;
        read_fake();
        assert_true(fake.findings.n_notes > 0);
        assert_int_equal(owner_of(FAKE_HANDLE), links[i].is_still_owned ? at(FAKE_OTHER) : 0);
        assert_int_equal(owner_of(FAKE_SESSION), at(FAKE_SERVER));
        assert_int_equal(fake.findings.proofs[0].holds, links[i].is_still_owned);
        *word = before;
    }
}

/* Two that are each other's parents: nobody climbs. */
static void circles_end(void **state)
{
    hs_addr user = fake.chunks[FAKE_USER].header, session = fake.chunks[FAKE_SESSION].header;
    *fake_talloc_word(&fake, user + 32) = session;
    *fake_talloc_word(&fake, session + 24) = user;
    *fake_talloc_word(&fake, session + 16) = 0;
    read_fake();
    assert_int_equal(owner_of(FAKE_USER), at(FAKE_SESSION));
    assert_int_equal(n_owned(FAKE_USER), 1);
}

/* The name of a chunk's own, and what is larger than its block. */
static void blocks_are_no_chunks(void **state)
{
    *fake_talloc_word(&fake, fake.chunks[FAKE_ALONE].header) ^= 0x100;
    *fake_talloc_word(&fake, fake.chunks[FAKE_OF_OLD].header + 64) = 64;
    read_fake();
    struct hs_object_name said;
    struct hs_heap_block block = block_of(FAKE_ALONE);
    assert_false(hs_heaps_object_name(&heaps, &block, &said));
    block = block_of(FAKE_OF_OLD);
    assert_false(hs_heaps_object_name(&heaps, &block, &said));
}

/* talloc keeps what is made a little smaller where it is, as often as that happens. */
static void shrunk_chunks_are_chunks(void **state)
{
    uint32_t large =
        fake_talloc_chunk(&fake, FAKE_SERVER, fake_talloc_text(&fake, "uint8_t"), 3000);
    fake.chunks[large].size = 5;
    *fake_talloc_word(&fake, fake.chunks[large].header + 64) = 5;
    read_fake();
    is_called(large, "uint8_t");
    assert_int_equal(owner_of(large), at(FAKE_SERVER));
    assert_true(fake.findings.proofs[0].holds);
}

static void nothing_is_found_where_nothing_is(void **state)
{
    fake_talloc_begin(&fake);
    for (unsigned i = 0; i < 4; i++)
        memset(fake_talloc_word(&fake, fake_talloc_other(&fake, 120)), 0x11, 120);
    read_fake();
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&heaps.map, FAKE_TALLOC_HEAP, &block), HS_POINTER_START);
    assert_int_equal(hs_heaps_owner(&heaps, &block), 0);
    assert_int_equal(hs_heaps_links(&heaps, &block), 0);
    assert_int_equal(fake.findings.n_proofs, 0);
}

/* What is known of chunks is in the plan of the dump, and is no more than half of what is left. */
static void room_is_planned(void **state)
{
    struct hs_budget budget;
    struct hs_dump_plan plan = {.budget = &budget, .image = &fake.image};
    hs_budget_init(UINT64_C(1) << 30, NULL, 1, &budget);
    const uint64_t all_bytes = hs_budget_left_bytes(&budget);

    fake.plan = &plan;
    read_fake();
    const uint64_t needed_bytes = plan.reserved_bytes;
    assert_in_range(needed_bytes, 11 * 24, 11 * 24 + 64); /* and some bits */
    assert_int_equal(hs_budget_left_bytes(&budget), all_bytes - needed_bytes);
    hs_heaps_close(&heaps);
    assert_int_equal(hs_budget_left_bytes(&budget), all_bytes);

    uint64_t taken_bytes = all_bytes - 2 * needed_bytes;
    assert_int_equal(hs_budget_reserve(&budget, taken_bytes, "a copy", &err), HS_OK);
    read_fake();
    assert_int_equal(owner_of(FAKE_SESSION), at(FAKE_SERVER));
    assert_int_equal(fake.findings.n_notes, 0);
    hs_heaps_close(&heaps);

    assert_int_equal(hs_budget_reserve(&budget, needed_bytes, "more", &err), HS_OK);
    read_fake();
    assert_int_equal(owner_of(FAKE_SESSION), 0);
    assert_int_equal(fake.findings.n_notes, 1);
    assert_non_null(strstr(hs_strtab_get(&fake.strings, fake.findings.notes[0].text),
                           "allow more with --memory"));
    hs_heaps_close(&heaps);
    assert_int_equal(plan.reserved_bytes, 0);
}

static void without_memory(void **state)
{
    hs_heaps_close(&heaps);
    FAIL_EACH (f, .at_least = 10, .keeps = true) {
        if (FAIL_EACH_TRY(f, fake_talloc_read(&fake, &heaps, &err)) == HS_OK)
            assert_int_equal(owner_of(FAKE_SESSION), at(FAKE_SERVER));
        hs_heaps_close(&heaps);
        fake_talloc_close(&fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(chunks_say_what_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_may_be_hostile, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parents_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(owners_list_what_they_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(references_share, set_up, tear_down),
        cmocka_unit_test_setup_teardown(headers_are_links, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damage_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(circles_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(blocks_are_no_chunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(shrunk_chunks_are_chunks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_is_found_where_nothing_is, set_up, tear_down),
        cmocka_unit_test_setup_teardown(room_is_planned, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
