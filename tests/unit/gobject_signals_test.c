/* links: hs_heaps hs_process hs_base */
#include "unit.h"

#include "fail_each.h"
#include "gobject/signals.h"
#include "gobject/weak_pointers.h"

/* Blocks of 64 bytes from BASE on: instances, the arrays of their lists, handlers; behind them what
 * libgobject has in other memory: a type, its data, its class, and the table of instances. */
#define BASE UINT64_C(0x10000000)
enum { BLOCK = 64, N_BLOCKS = 256, N_INSTANCES = 6, LISTS = 16, HANDLERS = 32 };
enum {
    NODE = N_BLOCKS * BLOCK,
    DATA = NODE + 256,
    CLASS = DATA + 256,
    TABLE = CLASS + 256,
    KEYS = TABLE + 256,
    HASHES = KEYS + 256,
    VALUES = HASHES + 256,
    N_BYTES = VALUES + 256,
    N_ENTRIES = 8,
    FUNDAMENTAL_OBJECT = 20 << 2,
};

static uint8_t memory[N_BYTES];
static struct hs_image image;
static struct hs_heap_map map;

static void put(size_t at, uint64_t word)
{
    memcpy(memory + at, &word, sizeof word);
}

static hs_addr block(size_t number)
{
    return BASE + number * BLOCK;
}

static void put_type(void)
{
    put(NODE + 64, BASE + NODE);
    put(NODE + 8, UINT64_C(1) << 32); /* one type above, which is fundamental */
    put(NODE + 24, BASE + DATA);
    put(NODE + 72, FUNDAMENTAL_OBJECT);
    put(DATA + 56, BASE + CLASS);
    put(DATA + 64, BLOCK);
    put(CLASS, BASE + NODE);
}

/* Two handlers of one signal, but for the last instance, which has one. */
static void put_instance(size_t i)
{
    bool has_two = i + 1 < N_INSTANCES;

    put(i * BLOCK, BASE + CLASS);
    put((LISTS + i) * BLOCK, 1);
    put((LISTS + i) * BLOCK + 16, block(HANDLERS + 2 * i));
    put((HANDLERS + 2 * i) * BLOCK + 8, has_two ? block(HANDLERS + 2 * i + 1) : 0);
    put((HANDLERS + 2 * i) * BLOCK + 48, block(i));
    put((HANDLERS + 2 * i + 1) * BLOCK + 48, block(i));
    put(KEYS + i * 8, block(i));
    put(VALUES + i * 8, block(LISTS + i));
}

static void set_up(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_heap_span span = {.begin = BASE,
                                .end = BASE + NODE,
                                .unit_bytes = BLOCK,
                                .form = HS_SPAN_UNIFORM,
                                .owner = HS_OWNER_registered};
    uint64_t n_refused;

    memset(memory, 0, sizeof memory);
    put_type();
    for (size_t i = 0; i < N_INSTANCES; i++)
        put_instance(i);
    put(TABLE, N_ENTRIES);
    put(TABLE + 8, (uint64_t)(N_ENTRIES - 1) << 32);
    put(TABLE + 16, N_INSTANCES | (uint64_t)N_INSTANCES << 32);
    put(TABLE + 32, BASE + KEYS);
    put(TABLE + 40, BASE + HASHES);
    put(TABLE + 48, BASE + VALUES);
    for (size_t i = 0; i < N_INSTANCES; i += 2)
        put(HASHES + i * 4, 2 | UINT64_C(2) << 32);
    assert_int_equal(hs_image_add(&image, BASE, memory, N_BYTES, &err), HS_OK);
    hs_heap_map_init(&map, &image);
    assert_int_equal(hs_heap_map_add(&map, &span, &err), HS_OK);
    assert_int_equal(hs_heap_map_seal(&map, &n_refused, &err), HS_OK);
    for (size_t i = 0; i < N_BLOCKS; i++)
        assert_true(hs_heap_map_set(&map, block(i)));
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
}

static void tear_down(void)
{
    hs_heap_map_fini(&map);
    hs_image_fini(&image);
}

static struct hs_heap_block at(size_t number)
{
    struct hs_heap_block found;
    assert_int_equal(hs_heap_map_resolve(&map, block(number), &found), HS_POINTER_START);
    return found;
}

/* How many blocks an instance owns, each of which names it. */
static size_t n_owned(const struct gobject_signals *signals, size_t instance)
{
    const struct hs_heap_block owner = at(instance);
    uint64_t cursor = 0;
    hs_addr begin, end;
    size_t n = 0;

    for (; hs_gobject_owned(signals, &owner, &cursor, &begin, &end); n++) {
        struct hs_heap_block owned = at((begin - BASE) / BLOCK);
        assert_true(hs_gobject_owner(signals, &owned) == block(instance) && end > begin);
    }
    return n;
}

static size_t read_signals(struct gobject_signals *signals)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_gobject_read_lists(&image, &map, BASE + TABLE, signals, &err), HS_OK);
    return signals->n;
}

static void instances_own_their_handlers(void **state)
{
    struct gobject_signals signals = {0};
    set_up();
    assert_int_equal(read_signals(&signals), 3 * N_INSTANCES - 1);
    for (size_t i = 0; i < N_INSTANCES; i++)
        assert_int_equal(n_owned(&signals, i), i + 1 < N_INSTANCES ? 3 : 2);
    struct hs_heap_block handler = at(HANDLERS), instance = at(0), other = at(200);
    assert_int_equal(n_owned(&signals, 200), 0);
    assert_true(hs_gobject_owner(&signals, &instance) == 0);
    assert_true(hs_gobject_owner(&signals, &other) == 0);
    /* its neighbours and its instance, and not its closure */
    assert_true(hs_gobject_finds(&signals, &handler) == (2 | 4 | 64));
    assert_true(hs_gobject_finds(&signals, &other) == 0);
    hs_gobject_signals_fini(&signals);
    tear_down();
}

/* Without a function that has a name it is a handler all the same; what is none has no name. */
static void handlers_have_names(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct gobject_signals signals = {0};
    struct hs_strtab strings = {0};
    struct hs_findings findings = {.strings = &strings};
    const struct hs_process_copy process = {.image = &image, .findings = &findings};
    hs_str name;

    set_up();
    put(HANDLERS * BLOCK + 40, UINT64_MAX); /* a closure that is nowhere */
    (void)read_signals(&signals);
    struct hs_heap_block handler = at(HANDLERS), instance = at(0), array = at(LISTS);
    assert_false(hs_gobject_handler_name(&signals, &handler, &name));
    assert_int_equal(hs_gobject_name_handlers(&process, &signals, &err), HS_OK);
    assert_true(hs_gobject_handler_name(&signals, &handler, &name));
    assert_string_equal(hs_strtab_get(&strings, name), "signal handler");
    assert_false(hs_gobject_handler_name(&signals, &instance, &name));
    assert_false(hs_gobject_handler_name(&signals, &array, &name));
    hs_gobject_signals_fini(&signals);
    hs_strtab_fini(&strings);
    tear_down();
}

/* One entry that does not lead back: nothing is believed. */
static void nothing_is_believed_by_halves(void **state)
{
    static const struct {
        size_t at;
        uint64_t word;
    } damages[] = {
        {3 * BLOCK, 0},                          /* no instance */
        {KEYS + 3 * 8, BASE + 200 * BLOCK},      /* another block */
        {VALUES + 3 * 8, 8},                     /* no lists */
        {(LISTS + 3) * BLOCK, 1000},             /* more than there is room for */
        {(LISTS + 3) * BLOCK + 16, BASE + DATA}, /* no block */
        {(HANDLERS + 6) * BLOCK + 48, BASE},     /* another instance's */
        {(HANDLERS + 7) * BLOCK + 8, BASE + (HANDLERS + 6) * BLOCK}, /* a circle */
        {TABLE, 7},                                                  /* no power of two */
        {TABLE + 48, BASE + KEYS},                                   /* a set */
        {TABLE + 40, 8},                                             /* nowhere */
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        struct gobject_signals signals = {0};
        set_up();
        put(damages[i].at, damages[i].word);
        if (read_signals(&signals) != 0 || signals.n_arrays != 0)
            fail_msg("damage %zu is believed", i);
        hs_gobject_signals_fini(&signals);
        tear_down();
    }
}

static void every_allocation_may_fail(void **state)
{
    set_up();
    FAIL_EACH (f, .at_least = 3) {
        struct gobject_signals signals = {0};
        struct hs_error err = HS_ERROR_INIT;
        if (FAIL_EACH_TRY(f, hs_gobject_read_lists(&image, &map, BASE + TABLE, &signals, &err)) ==
            HS_OK)
            assert_int_equal(signals.n, 3 * N_INSTANCES - 1);
        hs_gobject_signals_fini(&signals);
    }
    tear_down();
}

/* The data of instance 0 is in block 100: something else is to be told first; then a place in block
 * 101 and one in a variable. */
enum { NULLIFY = 0x7000, LIST = 100, HOLDER = 101, VARIABLE = DATA + 128 };

static void put_places(void)
{
    put(LIST * BLOCK, block(0));
    put(LIST * BLOCK + 8, 3);
    put(LIST * BLOCK + 16, NULLIFY + 16);
    put(LIST * BLOCK + 32, NULLIFY);
    put(LIST * BLOCK + 40, block(HOLDER) + 24);
    put(LIST * BLOCK + 48, NULLIFY);
    put(LIST * BLOCK + 56, BASE + VARIABLE);
    put(HOLDER * BLOCK + 24, block(0));
    put(VARIABLE, block(0));
}

static size_t read_places(struct gobject_weak *weak)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_gobject_read_weak(&image, &map, NULLIFY, weak, &err), HS_OK);
    return weak->n;
}

static void places_that_are_cleared_keep_nothing(void **state)
{
    (void)state;
    struct gobject_weak weak = {0};
    set_up();
    put_places();
    put(LIST * BLOCK + 8, 4);
    assert_int_equal(read_places(&weak), 0); /* more than the block has room for */
    put(LIST * BLOCK + 8, 3);
    assert_int_equal(read_places(&weak), 2);
    struct hs_heap_block holder = at(HOLDER), list = at(LIST);
    assert_true(hs_gobject_weak_words(&weak, &holder) == 8);
    assert_true(hs_gobject_weak_words(&weak, &list) == 0);
    assert_true(hs_gobject_is_weak_at(&weak, BASE + VARIABLE));
    assert_false(hs_gobject_is_weak_at(&weak, BASE + VARIABLE + 8));
    hs_gobject_weak_fini(&weak);
    put(VARIABLE, block(1)); /* it leads to another object by now */
    assert_int_equal(read_places(&weak), 1);
    hs_gobject_weak_fini(&weak);
    put(0, 0); /* no instance */
    assert_int_equal(read_places(&weak), 0);
    put(0, BASE + CLASS);
    FAIL_EACH (f, .at_least = 1) {
        struct hs_error err = HS_ERROR_INIT;
        (void)FAIL_EACH_TRY(f, hs_gobject_read_weak(&image, &map, NULLIFY, &weak, &err));
        hs_gobject_weak_fini(&weak);
    }
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instances_own_their_handlers),
        cmocka_unit_test(handlers_have_names),
        cmocka_unit_test(nothing_is_believed_by_halves),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(places_that_are_cleared_keep_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
