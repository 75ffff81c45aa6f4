/* links: hs_heaps */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "heaps/ledger.h"

#define PAGE ((uint64_t)4096)
#define BASE ((hs_addr)0x10000000)
#define N_PAGES ((size_t)64)

static struct hs_error err;
static struct hs_strtab strings;
static struct hs_image image;
static struct hs_ledger ledger;
static struct hs_mapping mappings[8];
static struct hs_thread thread;
static char paths[] = "\0[stack]\0[vdso]\0/lib/x.so\0[heap]";
enum { PATH_NONE = 0, PATH_STACK = 1, PATH_VDSO = 9, PATH_FILE = 16, PATH_HEAP = 26 };
static struct hs_target target;
static struct hs_objects objects;
static struct hs_object object;
static struct hs_process_copy process;
static uint64_t random_state = 12345;

static uint64_t next_random(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % below;
}

static enum hs_memory_state any_state(void)
{
    return (enum hs_memory_state)next_random(HS_N_MEMORY_STATES);
}

/* The pages of the copy are those that were present: it consists of borrowed pieces. */
static void present(size_t page, size_t n)
{
    static const uint8_t zeros[N_PAGES * PAGE];
    assert_int_equal(hs_image_add(&image, BASE + page * PAGE, zeros, n * PAGE, &err), HS_OK);
}

static struct hs_mapping *map_pages(size_t page, size_t n, uint32_t path_at)
{
    struct hs_mapping *m = &mappings[target.n_mappings++];
    *m = (struct hs_mapping){.begin = BASE + page * PAGE,
                             .end = BASE + (page + n) * PAGE,
                             .readable = true,
                             .writable = true,
                             .path_at = path_at};
    return m;
}

static int set_up(void **state)
{
    hs_ledger_init(&ledger, &strings, &image);
    target = (struct hs_target){.mappings = mappings,
                                .path_text = paths,
                                .path_text_bytes = sizeof paths,
                                .threads = &thread,
                                .n_threads = 1};
    thread = (struct hs_thread){0};
    object = (struct hs_object){0};
    objects = (struct hs_objects){.objects = &object, .n = 1};
    process = (struct hs_process_copy){.target = &target, .image = &image, .objects = &objects};
    return 0;
}

static int tear_down(void **state)
{
    hs_ledger_fini(&ledger);
    hs_ledger_fini(&ledger);
    hs_ledger_fini(NULL);
    hs_image_fini(&image);
    hs_strtab_fini(&strings);
    return 0;
}

static void claim(const char *owner, enum hs_memory_state state, hs_addr begin, hs_addr end,
                  uint64_t n_blocks)
{
    assert_int_equal(
        hs_ledger_claim(&ledger, owner, state, BASE + begin, BASE + end, n_blocks, &err), HS_OK);
}

static void move(const char *owner, enum hs_memory_state from, enum hs_memory_state to,
                 hs_addr begin, hs_addr end, uint64_t n_blocks)
{
    assert_int_equal(
        hs_ledger_move(&ledger, owner, from, to, BASE + begin, BASE + end, n_blocks, &err), HS_OK);
}

/* Closes, and checks what must hold of every ledger. */
static uint64_t close_ledger(const struct hs_residency *residency)
{
    uint64_t resident_bytes = UINT64_MAX, sum_resident = 0, sum = 0, mapped = 0;

    assert_int_equal(hs_ledger_close(&ledger, &process, residency, &resident_bytes, &err), HS_OK);
    for (size_t i = 0; i < ledger.n_rows; i++) {
        assert_true(ledger.rows[i].resident_bytes <= ledger.rows[i].n_bytes);
        sum += ledger.rows[i].n_bytes;
        sum_resident += ledger.rows[i].resident_bytes;
    }
    for (size_t i = 0; i < target.n_mappings; i++)
        mapped += mappings[i].end - mappings[i].begin;
    assert_int_equal(sum, mapped);
    assert_int_equal(sum_resident, resident_bytes);
    return resident_bytes;
}

static struct hs_memory_row row(const char *owner, enum hs_memory_state state)
{
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (ledger.rows[i].state == state &&
            strcmp(hs_strtab_get(&strings, ledger.rows[i].owner), owner) == 0)
            return ledger.rows[i];
    return (struct hs_memory_row){0};
}

static void expect(const char *owner, enum hs_memory_state state, uint64_t n_bytes,
                   uint64_t resident_bytes, uint64_t n_blocks)
{
    struct hs_memory_row found = row(owner, state);
    if (found.n_bytes != n_bytes || found.resident_bytes != resident_bytes ||
        found.n_blocks != n_blocks)
        fail_msg("%s %s: %lu %lu %lu", owner, hs_memory_state_name(state), found.n_bytes,
                 found.resident_bytes, found.n_blocks);
}

static void claims_and_moves(void **state)
{
    map_pages(0, 10, PATH_HEAP);
    present(0, 4);
    claim("glibc", HS_MEMORY_LIVE, 0, 8 * PAGE, 100);
    move("glibc", HS_MEMORY_LIVE, HS_MEMORY_FREE, 100, 200, 1);
    move("glibc", HS_MEMORY_LIVE, HS_MEMORY_FREE, 3 * PAGE, 5 * PAGE, 2);
    move("glibc", HS_MEMORY_FREE, HS_MEMORY_CACHED, 100, 150, 1);
    move("glibc", HS_MEMORY_LIVE, HS_MEMORY_FREE, 300, 300, 0);
    assert_int_equal(
        hs_ledger_move_bytes(&ledger, "glibc", HS_MEMORY_LIVE, HS_MEMORY_INTERNAL, 800, 0, &err),
        HS_OK);
    assert_int_equal(close_ledger(NULL), 4 * PAGE);
    expect("glibc", HS_MEMORY_LIVE, 6 * PAGE - 900, 3 * PAGE - 900, 97);
    expect("glibc", HS_MEMORY_FREE, 2 * PAGE + 50, PAGE + 50, 2);
    expect("glibc", HS_MEMORY_CACHED, 50, 50, 1);
    expect("glibc", HS_MEMORY_INTERNAL, 800, 800, 0);
    expect(HS_MEMORY_OF_NOBODY, HS_MEMORY_OTHER, 2 * PAGE, 0, 0);
}

static void hand_over(const char *from, const char *to, hs_addr begin, hs_addr end)
{
    assert_int_equal(hs_ledger_hand_over(&ledger, from, to, BASE + begin, BASE + end, &err), HS_OK);
}

static void tables_in_blocks_of_another_allocator(void **state)
{
    map_pages(0, 10, PATH_HEAP);
    present(0, 4);
    claim("glibc", HS_MEMORY_LIVE, 0, 8 * PAGE, 100);
    claim("cpython", HS_MEMORY_FREE, 8 * PAGE, 9 * PAGE, 0);
    hand_over("glibc", "cpython", 3 * PAGE, 5 * PAGE);
    hand_over("glibc", "cpython", 7, 7);
    assert_int_equal(close_ledger(NULL), 4 * PAGE);
    expect("glibc", HS_MEMORY_LIVE, 6 * PAGE, 3 * PAGE, 100);
    expect("cpython", HS_MEMORY_INTERNAL, 2 * PAGE, PAGE, 0);
    expect("cpython", HS_MEMORY_FREE, PAGE, 0, 0);
}

static void the_number_of_blocks_can_be_set(void **state)
{
    map_pages(0, 1, PATH_HEAP);
    claim("glibc", HS_MEMORY_LIVE, 0, PAGE, 3);
    move("glibc", HS_MEMORY_LIVE, HS_MEMORY_FREE, 0, 10, 5);
    assert_int_equal(hs_ledger_set_blocks(&ledger, "glibc", HS_MEMORY_LIVE, 7, &err), HS_OK);
    close_ledger(NULL);
    assert_int_equal(row("glibc", HS_MEMORY_LIVE).n_blocks, 7);
    assert_int_equal(row("glibc", HS_MEMORY_FREE).n_blocks, 5);
}

static void mappings_are_what_they_are(void **state)
{
    struct hs_mapping *m = map_pages(0, 1, PATH_FILE); /* code */
    m->inode = 7;
    m->writable = false;
    map_pages(1, 2, PATH_FILE)->inode = 7; /* data */
    map_pages(3, 1, PATH_NONE);            /* .bss */
    object = (struct hs_object){.begin = BASE, .end = BASE + 4 * PAGE};
    map_pages(10, 1, PATH_FILE)->inode = 8;
    map_pages(20, 3, PATH_NONE)->shared = true;
    thread.regs.rsp = BASE + 30 * PAGE + 5;
    map_pages(30, 1, PATH_NONE);
    m = map_pages(40, 4, PATH_NONE);
    m->readable = m->writable = false;
    m = map_pages(50, 1, PATH_VDSO);
    m->writable = false;
    present(1, 1);
    present(30, 1);
    assert_int_equal(close_ledger(NULL), 2 * PAGE);
    expect(HS_MEMORY_OF_CODE, HS_MEMORY_OTHER, PAGE, 0, 0);
    expect(HS_MEMORY_OF_DATA, HS_MEMORY_OTHER, 3 * PAGE, PAGE, 0);
    expect(HS_MEMORY_OF_FILES, HS_MEMORY_OTHER, PAGE, 0, 0);
    expect(HS_MEMORY_OF_SHARED, HS_MEMORY_OTHER, 3 * PAGE, 0, 0);
    expect(HS_MEMORY_OF_STACKS, HS_MEMORY_OTHER, PAGE, PAGE, 0);
    expect(HS_MEMORY_OF_RESERVES, HS_MEMORY_OTHER, 4 * PAGE, 0, 0);
    expect(HS_MEMORY_OF_KERNEL, HS_MEMORY_OTHER, PAGE, 0, 0);
    assert_int_equal(row(HS_MEMORY_OF_NOBODY, HS_MEMORY_OTHER).n_bytes, 0);
}

static void the_main_stack_by_name(void **state)
{
    map_pages(0, 5, PATH_STACK);
    process.objects = NULL;
    close_ledger(NULL);
    expect(HS_MEMORY_OF_STACKS, HS_MEMORY_OTHER, 5 * PAGE, 0, 0);
}

/* The kernel has the last word, and the rows add up to it: in the rest of a mapping, and when the
 * copy knows more or less than the kernel counts. */
static void the_kernel_has_the_last_word(void **state)
{
    struct hs_residency_entry entries[] = {
        {BASE, BASE + 10 * PAGE, 7 * PAGE},
        {BASE + 20 * PAGE, BASE + 24 * PAGE, PAGE},
        {BASE + 30 * PAGE, BASE + 34 * PAGE, 4 * PAGE},
        {BASE + 40 * PAGE, BASE + 44 * PAGE, 2 * PAGE},
    };
    struct hs_residency residency = {.entries = entries, .n_entries = 4};
    map_pages(0, 10, PATH_HEAP);
    map_pages(20, 4, PATH_NONE);
    map_pages(30, 4, PATH_NONE)->shared = true;
    map_pages(40, 5, PATH_NONE); /* not the mapping that the kernel speaks of */
    present(0, 4);
    present(20, 3);
    claim("a", HS_MEMORY_LIVE, 0, 5 * PAGE, 0);
    claim("a", HS_MEMORY_LIVE, 20 * PAGE, 22 * PAGE, 0);
    claim("b", HS_MEMORY_FREE, 22 * PAGE, 24 * PAGE, 0);
    claim("a", HS_MEMORY_FREE, 30 * PAGE, 33 * PAGE, 0);
    claim("c", HS_MEMORY_LIVE, 40 * PAGE, 41 * PAGE, 0);
    present(40, 1);
    assert_int_equal(close_ledger(&residency), 13 * PAGE);
    expect("a", HS_MEMORY_LIVE, 7 * PAGE, 4 * PAGE, 0);
    expect("b", HS_MEMORY_FREE, 2 * PAGE, PAGE, 0);
    expect("a", HS_MEMORY_FREE, 3 * PAGE, 3 * PAGE, 0);
    expect("c", HS_MEMORY_LIVE, PAGE, PAGE, 0);
    expect(HS_MEMORY_OF_NOBODY, HS_MEMORY_OTHER, 9 * PAGE, 3 * PAGE, 0);
    expect(HS_MEMORY_OF_SHARED, HS_MEMORY_OTHER, PAGE, PAGE, 0);
}

static void of_two_claims_the_first_stays(void **state)
{
    map_pages(0, 20, PATH_HEAP);
    claim("a", HS_MEMORY_LIVE, 2 * PAGE, 4 * PAGE, 0);
    claim("b", HS_MEMORY_LIVE, 0, 3 * PAGE, 0);            /* keeps its first part */
    claim("c", HS_MEMORY_LIVE, 3 * PAGE, 5 * PAGE, 0);     /* its second */
    claim("d", HS_MEMORY_LIVE, 2 * PAGE, 3 * PAGE, 0);     /* nothing */
    claim("e", HS_MEMORY_LIVE, 100 * PAGE, 200 * PAGE, 0); /* is not mapped */
    close_ledger(NULL);
    expect("a", HS_MEMORY_LIVE, 2 * PAGE, 0, 0);
    expect("b", HS_MEMORY_LIVE, 2 * PAGE, 0, 0);
    expect("c", HS_MEMORY_LIVE, PAGE, 0, 0);
    expect("d", HS_MEMORY_LIVE, 0, 0, 0);
    expect("e", HS_MEMORY_LIVE, 0, 0, 0);
}

static void what_is_sealed_is_first(void **state)
{
    map_pages(0, 20, PATH_HEAP);
    claim("a", HS_MEMORY_LIVE, 5 * PAGE, 7 * PAGE, 0);
    claim("a", HS_MEMORY_LIVE, 7 * PAGE, 9 * PAGE, 0);
    hs_ledger_seal(&ledger);
    assert_int_equal(ledger.n_claims, 1); /* joined */
    claim("b", HS_MEMORY_LIVE, 0, 20 * PAGE, 0);
    close_ledger(NULL);
    expect("a", HS_MEMORY_LIVE, 4 * PAGE, 0, 0);
    expect("b", HS_MEMORY_LIVE, 16 * PAGE, 0, 0); /* before and behind it */
}

/* Each page belongs to the first that has claimed it, whatever lies within what. */
static void first_claim_has_each_page(void **state)
{
    static const char *const owners[] = {"a", "b", "c", "d", "e"};

    for (unsigned round = 0; round < 300; round++) {
        const char *first[N_PAGES] = {0};
        map_pages(0, N_PAGES, PATH_HEAP);
        for (unsigned i = 0, n = 1 + (unsigned)next_random(24); i < n; i++) {
            const char *owner = owners[next_random(5)];
            uint64_t begin = next_random(N_PAGES), end = begin + next_random(N_PAGES - begin) + 1;
            claim(owner, HS_MEMORY_LIVE, begin * PAGE, end * PAGE, 0);
            for (uint64_t page = begin; page < end; page++)
                first[page] = first[page] == NULL ? owner : first[page];
            if (next_random(8) == 0)
                hs_ledger_seal(&ledger);
        }
        hs_ledger_seal(&ledger);
        for (uint64_t page = 0; page < N_PAGES; page++)
            assert_string_equal(
                hs_strtab_get(&strings, hs_ledger_owner_at(&ledger, BASE + page * PAGE)),
                first[page] == NULL ? "" : first[page]);
        tear_down(NULL);
        set_up(NULL);
    }
}

static void finds_what_nobody_claims(void **state)
{
    hs_addr begin = 1, end = 1;
    assert_true(hs_ledger_next_unclaimed(&ledger, 5, 9, &begin, &end));
    assert_true(begin == 5 && end == 9);
    claim("a", HS_MEMORY_LIVE, 100, 200, 0);
    claim("b", HS_MEMORY_LIVE, 200, 300, 0);
    claim("b", HS_MEMORY_LIVE, 400, 500, 0);
    hs_ledger_seal(&ledger);
    assert_true(hs_ledger_next_unclaimed(&ledger, BASE + 50, BASE + 600, &begin, &end));
    assert_true(begin == BASE + 50 && end == BASE + 100);
    assert_true(hs_ledger_next_unclaimed(&ledger, BASE + 150, BASE + 600, &begin, &end));
    assert_true(begin == BASE + 300 && end == BASE + 400);
    assert_true(hs_ledger_next_unclaimed(&ledger, BASE + 450, BASE + 600, &begin, &end));
    assert_true(begin == BASE + 500 && end == BASE + 600);
    assert_false(hs_ledger_next_unclaimed(&ledger, BASE + 110, BASE + 290, &begin, &end));
    assert_false(hs_ledger_next_unclaimed(&ledger, BASE + 50, BASE + 50, &begin, &end));
    assert_false(hs_ledger_next_unclaimed(&ledger, BASE + 450, BASE + 500, &begin, &end));
    assert_true(begin == BASE + 500);
}

static void knows_who_claims_a_byte(void **state)
{
    assert_int_equal(hs_ledger_owner_at(&ledger, BASE), 0);
    claim("a", HS_MEMORY_LIVE, 100, 200, 0);
    claim("b", HS_MEMORY_FREE, 150, 300, 0); /* the first keeps what both want */
    hs_ledger_seal(&ledger);
    assert_int_equal(hs_ledger_owner_at(&ledger, BASE + 99), 0);
    assert_string_equal(hs_strtab_get(&strings, hs_ledger_owner_at(&ledger, BASE + 100)), "a");
    assert_string_equal(hs_strtab_get(&strings, hs_ledger_owner_at(&ledger, BASE + 199)), "a");
    assert_string_equal(hs_strtab_get(&strings, hs_ledger_owner_at(&ledger, BASE + 200)), "b");
    assert_int_equal(hs_ledger_owner_at(&ledger, BASE + 300), 0);
}

/* Any claims and any moves at all, with numbers that wrap: the sums hold (close_ledger checks). */
static void hostile_books_still_add_up(void **state)
{
    static const char *const owners[] = {"a", "b", "c"};
    for (unsigned round = 0; round < 400; round++) {
        struct hs_residency_entry entries[3];
        struct hs_residency residency = {.entries = entries, .n_entries = 3};
        for (size_t i = 0; i < 3; i++) {
            struct hs_mapping *m = map_pages(i * 20, 1 + next_random(20), PATH_NONE);
            uint64_t n_pages = (m->end - m->begin) / PAGE;
            entries[i] =
                (struct hs_residency_entry){m->begin, m->end, next_random(n_pages + 1) * PAGE};
            present(i * 20, 1 + next_random(20));
        }
        for (unsigned i = (unsigned)next_random(12); i-- > 0;) {
            hs_addr begin = next_random(62 * PAGE);
            claim(owners[next_random(3)], any_state(), begin, begin + next_random(20 * PAGE),
                  next_random(9));
            if (next_random(5) == 0)
                hs_ledger_seal(&ledger);
        }
        for (unsigned i = (unsigned)next_random(30); i-- > 0;) {
            hs_addr begin = next_random(62 * PAGE);
            move(owners[next_random(3)], any_state(), any_state(), begin,
                 begin + next_random(30 * PAGE), next_random(9));
        }
        for (unsigned i = (unsigned)next_random(6); i-- > 0;) {
            hs_addr begin = next_random(62 * PAGE);
            hand_over(owners[next_random(3)], owners[next_random(3)], begin,
                      begin + next_random(30 * PAGE));
        }
        if (next_random(3) == 0)
            assert_int_equal(hs_ledger_move_bytes(&ledger, "a", 0, 1, UINT64_MAX - next_random(9),
                                                  UINT64_MAX, &err),
                             HS_OK);
        uint64_t expected =
            entries[0].resident_bytes + entries[1].resident_bytes + entries[2].resident_bytes;
        assert_int_equal(close_ledger(&residency), expected);
        tear_down(state);
        set_up(state);
    }
}

static hs_status keep_books(void)
{
    uint64_t resident_bytes;
    HS_TRY(hs_ledger_claim(&ledger, "a", HS_MEMORY_LIVE, BASE, BASE + PAGE, 1, &err));
    HS_TRY(hs_ledger_move(&ledger, "b", HS_MEMORY_LIVE, HS_MEMORY_FREE, BASE, BASE + 5, 1, &err));
    HS_TRY(hs_ledger_set_blocks(&ledger, "c", HS_MEMORY_LIVE, 1, &err));
    return hs_ledger_close(&ledger, &process, NULL, &resident_bytes, &err);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 5) {
        map_pages(0, 20, PATH_HEAP);
        (void)FAIL_EACH_TRY(each, keep_books());
        tear_down(state);
        set_up(state);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(claims_and_moves),
        TEST(tables_in_blocks_of_another_allocator),
        TEST(the_number_of_blocks_can_be_set),
        TEST(mappings_are_what_they_are),
        TEST(the_main_stack_by_name),
        TEST(the_kernel_has_the_last_word),
        TEST(of_two_claims_the_first_stays),
        TEST(what_is_sealed_is_first),
        TEST(first_claim_has_each_page),
        TEST(finds_what_nobody_claims),
        TEST(knows_who_claims_a_byte),
        TEST(hostile_books_still_add_up),
        TEST(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
