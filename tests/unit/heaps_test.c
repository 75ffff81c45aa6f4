/* links: hs_heaps */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "heaps/allocator.h"

/* Allocators of our own take the place of the real ones. Each tells what was asked of it. */
#define BASE ((hs_addr)0x10000000)
static uint8_t memory[16384];
static char told[512];
static const char *fails; /* "open glibc" */
static bool is_absent[HS_N_ALLOCATORS];
static struct hs_error err;
static struct hs_strtab strings;
static struct hs_image image;
static struct hs_findings findings;
static struct hs_process_copy process;

static hs_status tell(const char *what, const char *who)
{
    char text[32];
    snprintf(text, sizeof text, "%s %s", what, who);
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%s;", text);
    if (fails != NULL && strcmp(fails, text) == 0)
        return hs_fail(&err, HS_LIMIT, "told to fail");
    return HS_OK;
}

struct fake {
    const struct hs_allocator *allocator;
    unsigned number; /* of those that are here */
    uint8_t owner;
};
static struct fake fakes[HS_N_ALLOCATORS];

static hs_status fake_open(const struct hs_allocator *allocator, unsigned number, uint8_t owner,
                           void **ret)
{
    HS_TRY(tell("open", allocator->name));
    fakes[number] = (struct fake){allocator, number, owner};
    if (!is_absent[number])
        *ret = &fakes[number];
    return HS_OK;
}

static hs_status fake_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                struct hs_error *error)
{
    const struct fake *fake = state;
    hs_addr begin = BASE + fake->number * 2048;
    struct hs_heap_span span = {.begin = begin,
                                .end = begin + 1024,
                                .unit_bytes = 64,
                                .form = HS_SPAN_UNIFORM,
                                .owner = fake->owner};
    HS_TRY(tell("add", fake->allocator->name));
    HS_TRY(hs_heap_map_add(map, &span, error));
    return hs_ledger_claim(ledger, fake->allocator->name, HS_MEMORY_LIVE, begin, begin + 1024, 0,
                           error);
}

static hs_status fake_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                           struct hs_error *error)
{
    const struct fake *fake = state;
    (void)ledger, (void)error;
    HS_TRY(tell("mark", fake->allocator->name));
    for (unsigned i = 0; i <= fake->number; i++)
        assert_true(hs_heap_map_set(map, BASE + fake->number * 2048 + i * 64));
    return HS_OK;
}

static void fake_close(void *state)
{
    const struct fake *fake = state;
    (void)tell("close", fake->allocator->name);
}

static const char *fake_version(const void *state)
{
    return "";
}

#define FAKE(variable, title, number, owner)                                             \
    static hs_status variable##_open(const struct hs_process_copy *at, void **ret_state, \
                                     struct hs_error *error)                             \
    {                                                                                    \
        (void)at, (void)error;                                                           \
        return fake_open(&variable, number, owner, ret_state);                           \
    }                                                                                    \
    const struct hs_allocator variable = {.name = title,                                 \
                                          .open = variable##_open,                       \
                                          .add_spans = fake_add_spans,                   \
                                          .mark = fake_mark,                             \
                                          .close = fake_close,                           \
                                          .version = fake_version};
FAKE(hs_allocator_glibc, "glibc", 0, HS_OWNER_glibc)
FAKE(hs_allocator_jemalloc, "jemalloc", 1, HS_OWNER_jemalloc)
FAKE(hs_allocator_cpython, "cpython", 2, HS_OWNER_cpython)
FAKE(hs_allocator_registered, "registered", 3, HS_OWNER_registered)
FAKE(hs_allocator_recorded, "record", 4, HS_OWNER_recorded)

static int set_up(void **state)
{
    told[0] = '\0';
    fails = NULL;
    memset(is_absent, 0, sizeof is_absent);
    findings = (struct hs_findings){.strings = &strings};
    process = (struct hs_process_copy){.image = &image, .findings = &findings};
    return hs_image_add(&image, BASE, memory, sizeof memory, &err) == HS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    hs_findings_fini(&findings);
    hs_image_fini(&image);
    hs_strtab_fini(&strings);
    return 0;
}

static void allocators_are_called_in_order(void **state)
{
    struct hs_heaps heaps;
    is_absent[1] = is_absent[4] = true;
    assert_int_equal(hs_heaps_open(&heaps, &process, &err), HS_OK);
    assert_true(heaps.ledger.is_sealed);
    struct hs_heap_span mapping = {.begin = BASE + 9000,
                                   .end = BASE + 9500,
                                   .form = HS_SPAN_SINGLE,
                                   .owner = HS_OWNER_MAPPING};
    struct hs_heap_span overlap = mapping;
    overlap.begin += 100;
    overlap.end += 100;
    assert_int_equal(hs_heap_map_add(&heaps.map, &mapping, &err), HS_OK);
    assert_int_equal(hs_heap_map_add(&heaps.map, &overlap, &err), HS_OK);
    assert_int_equal(hs_heaps_mark(&heaps, &process, &err), HS_OK);
    assert_int_equal(heaps.map.n_blocks, 1 + 3 + 4 + 1);
    assert_true(hs_heap_map_is_set(&heaps.map, BASE + 9000));
    assert_int_equal(heaps.ledger.n_rows, 3);
    assert_int_equal(heaps.ledger.rows[0].n_blocks, 1);
    assert_int_equal(heaps.ledger.rows[1].n_blocks, 3);
    assert_int_equal(heaps.ledger.rows[2].n_blocks, 4);
    assert_int_equal(findings.n_notes, 1);
    assert_string_equal(hs_strtab_get(&strings, findings.notes[0].text),
                        "1 pieces of heaps overlap others and are left out");
    hs_heaps_close(&heaps);
    hs_heaps_close(&heaps);
    hs_heaps_close(NULL);
    assert_string_equal(told, "open glibc;add glibc;open jemalloc;open cpython;add cpython;"
                              "open registered;add registered;open record;mark glibc;mark cpython;"
                              "mark registered;close registered;close cpython;close glibc;");
}

static void what_fails_leaves_nothing_open(void **state)
{
    struct hs_heaps heaps;
    fails = "open cpython";
    assert_int_equal(hs_heaps_open(&heaps, &process, &err), HS_LIMIT);
    assert_string_equal(told, "open glibc;add glibc;open jemalloc;add jemalloc;open cpython;"
                              "close jemalloc;close glibc;");
    hs_heaps_close(&heaps);
    fails = "mark cpython";
    assert_int_equal(hs_heaps_open(&heaps, &process, &err), HS_OK);
    assert_int_equal(hs_heaps_mark(&heaps, &process, &err), HS_LIMIT);
    hs_heaps_close(&heaps);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 8, .keeps = true) {
        struct hs_heaps heaps;
        fail_each_begin(&each);
        hs_status status = hs_heaps_open(&heaps, &process, &err);
        if (status == HS_OK)
            status = hs_heaps_mark(&heaps, &process, &err);
        (void)fail_each_end(&each, status);
        hs_heaps_close(&heaps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(allocators_are_called_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_fails_leaves_nothing_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
