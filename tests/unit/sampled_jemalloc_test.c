/* links: hs_heaps hs_runtimes hs_process hs_symbols */
/* Samples of jemalloc's profiler: the right ones, their period, and none from damaged tables. */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_prof.h"
#include "heaps/sampled.h"

/* Class 8 is of 128 bytes, class 40 of 32 KiB would not fit: 36 is of 16 KiB. */
enum { CLASS_SMALL = 8, SMALL_BYTES = 128, CLASS_LARGE = 36, LARGE_BYTES = 16384, LG = 14 };

static struct fake_jemalloc fake;
static struct fake_prof prof;
static struct hs_heap_map map;
static struct hs_ledger ledger;
static void *allocator;
static struct hs_sampled_set set;

static void begin(bool is_52, const char *environment)
{
    static const uint64_t live[8] = {0xffff};

    fake_jemalloc_init(&fake, 48, is_52);
    fake_prof_init(&prof, &fake, environment);
    for (unsigned i = 0; i < 4; i++)
        fake_jemalloc_slab(&fake, 1, 1, live);
    for (unsigned i = 0; i < 4; i++)
        (void)fake_jemalloc_extent(&fake, 6, 37, false, JEMALLOC_ACTIVE);
}

static hs_status walk(struct hs_error *err)
{
    uint64_t n_refused;

    hs_heap_map_init(&map, &fake.image);
    hs_ledger_init(&ledger, &fake.strings, &fake.image);
    HS_TRY(hs_allocator_jemalloc.open(&fake.process, &allocator, err));
    if (allocator == NULL)
        return hs_fail(err, HS_BUG, "no jemalloc");
    HS_TRY(hs_allocator_jemalloc.add_spans(allocator, &map, &ledger, err));
    hs_ledger_seal(&ledger);
    HS_TRY(hs_heap_map_seal(&map, &n_refused, err));
    HS_TRY(hs_allocator_jemalloc.mark(allocator, &map, &ledger, err));
    return hs_heap_map_index(&map, err);
}

static void run(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_heaps heaps = {0};

    if (walk(&err) != HS_OK)
        fail_msg("%s", err.message);
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        heaps.states[i] = hs_allocators[i] == &hs_allocator_jemalloc ? allocator : NULL;
    heaps.map = map;
    assert_int_equal(hs_sampled_read(&heaps, &fake.process, &set, &err), HS_OK);
}

static void end(void)
{
    hs_sampled_fini(&set);
    hs_allocator_jemalloc.close(allocator);
    allocator = NULL;
    hs_heap_map_fini(&map);
    hs_ledger_fini(&ledger);
    fake_jemalloc_fini(&fake);
}

static const struct hs_proof *proof(const char *what)
{
    for (size_t i = 0; i < fake.findings.n_proofs; i++)
        if (strstr(hs_strtab_get(&fake.strings, fake.findings.proofs[i].what), what) != NULL)
            return &fake.findings.proofs[i];
    return NULL;
}

static const struct hs_note *note(const char *what)
{
    for (size_t i = 0; i < fake.findings.n_notes; i++)
        if (strstr(hs_strtab_get(&fake.strings, fake.findings.notes[i].text), what) != NULL)
            return &fake.findings.notes[i];
    return NULL;
}

static void samples_have_their_backtraces(void **state)
{
    begin(false, NULL);
    unsigned one = fake_prof_context(&prof, 3), other = fake_prof_context(&prof, 8);
    unsigned first = fake_prof_sample(&prof, one, CLASS_SMALL, SMALL_BYTES, LG);
    (void)fake_prof_sample(&prof, one, CLASS_LARGE, LARGE_BYTES, LG);
    (void)fake_prof_sample(&prof, other, CLASS_SMALL, SMALL_BYTES, LG);
    run();
    assert_int_equal(set.n_samplers, 1);
    assert_int_equal(set.samplers[0].facts.kind, HS_SAMPLER_JEMALLOC);
    assert_true(set.samplers[0].facts.period_words == (1 << LG) / 8);
    assert_int_equal(set.n_blocks, 3);
    assert_int_equal(set.blocks[0].address, fake_jemalloc_begin(&fake, first));
    assert_int_equal(set.blocks[0].id, set.blocks[0].address);
    assert_int_equal(set.blocks[0].n_bytes, SMALL_BYTES);
    assert_int_equal(set.blocks[1].n_bytes, LARGE_BYTES);
    assert_int_equal(set.blocks[0].n_frames, 3);
    assert_int_equal(set.blocks[2].n_frames, 8);
    assert_int_equal(hs_sampled_frame(&set.blocks[0], 2), FAKE_PROF_CODE_AT + 0x20);
    assert_int_equal(hs_sampled_frame(&set.blocks[2], 0), FAKE_PROF_CODE_AT + 0x100);
    assert_true(proof("as many as")->holds && proof("as many as")->expected == 2);
    assert_true(proof("has estimated")->holds && proof("has estimated")->expected == 2);
    assert_null(note("samples"));
    end();
}

static void every_period_is_found(void **state)
{
    for (unsigned lg = 10; lg < 40; lg++) {
        begin(false, "x");
        unsigned context = fake_prof_context(&prof, 2);
        (void)fake_prof_sample(&prof, context, CLASS_SMALL, SMALL_BYTES, lg);
        (void)fake_prof_sample(&prof, context, CLASS_SMALL + 4, 2 * SMALL_BYTES, lg);
        run();
        assert_true(set.samplers[0].facts.period_words == (double)(UINT64_C(1) << lg) / 8);
        end();
    }
}

static void counters_that_disagree_prove_nothing(void **state)
{
    begin(false, NULL);
    unsigned context = fake_prof_context(&prof, 3);
    (void)fake_prof_sample(&prof, context, CLASS_SMALL, SMALL_BYTES, LG);
    fake_put(fake_prof_bytes(&prof, fake_prof_tctx_at(&prof, context)), 32, 5);
    run();
    assert_int_equal(set.n_blocks, 1);
    assert_false(proof("as many as")->holds);
    assert_int_equal(proof("as many as")->found, 0);
    end();
}

/* 5.2 keeps no estimates. */
static void old_period_is_what_was_told(void **state)
{
    static const struct {
        const char *environment;
        uint64_t period;
    } cases[] = {
        {"MALLOC_CONF=prof:true,lg_prof_sample:16", 65536},
        {"MALLOC_CONF=lg_prof_sample:99,lg_prof_sample:12", 4096},
        {"MALLOC_CONF=lg_prof_sample:12,lg_prof_sample:x", 0},
        {"MALLOC_CONF=prof:true,lg_prof_sample:99", 0},
        {"XMALLOC_CONF=prof:true,lg_prof_sample:16", 0},
        {NULL, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(true, cases[i].environment);
        unsigned context = fake_prof_context(&prof, 3);
        (void)fake_prof_sample(&prof, context, CLASS_SMALL, SMALL_BYTES, LG);
        (void)fake_prof_sample(&prof, context, CLASS_LARGE, LARGE_BYTES, LG);
        run();
        assert_int_equal(set.n_blocks, 2);
        assert_true(proof("as many as")->holds);
        assert_null(proof("has estimated"));
        assert_true(set.samplers[0].facts.period_words == (double)cases[i].period / 8);
        assert_true(cases[i].period != 0 ? note("was told") != NULL : note("is unknown")->is_gap);
        end();
    }
}

/* With its profiler off the words of an edata are left from something else. */
static void other_words_are_no_samples(void **state)
{
    static const uint64_t words[] = {1,
                                     2,
                                     3,
                                     UINT64_MAX,
                                     0xffffffffffff0000,
                                     FAKE_JE_HEAP_AT,
                                     FAKE_JE_DATA_AT + 0x100,
                                     FAKE_PROF_CODE_AT};
    begin(false, NULL);
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        unsigned extent = fake_jemalloc_extent(&fake, 5, CLASS_SMALL, false, JEMALLOC_ACTIVE);
        fake_put(fake_jemalloc_edata(&fake, extent), 80, words[i]);
    }
    run();
    assert_int_equal(set.n_samplers, 0);
    assert_int_equal(set.n_blocks, 0);
    assert_null(note("samples"));
    end();
}

static void freed_into_a_cache_is_no_sample(void **state)
{
    begin(false, NULL);
    unsigned context = fake_prof_context(&prof, 3);
    (void)fake_prof_sample(&prof, context, CLASS_SMALL, SMALL_BYTES, LG);
    unsigned freed = fake_jemalloc_extent(&fake, 5, CLASS_SMALL, false, JEMALLOC_ACTIVE);
    fake_put(fake_jemalloc_edata(&fake, freed), 80, fake_prof_tctx_at(&prof, context));
    hs_addr cached = fake_jemalloc_begin(&fake, freed);
    unsigned stack = fake_jemalloc_extent(&fake, 8, 39, false, JEMALLOC_ACTIVE);
    for (unsigned i = 0; i < FAKE_JE_THREADS; i++)
        fake_jemalloc_cache(&fake, i, fake_jemalloc_begin(&fake, stack), CLASS_SMALL, &cached,
                            i == 0);
    run();
    assert_int_equal(set.n_blocks, 1);
    assert_true(proof("as many as")->holds);
    end();
}

/* One sound sample, and one of a context with one thing wrong. */
static void damage_is_left_out(void **state)
{
    static const struct {
        bool in_gctx;
        unsigned at;
        uint64_t word;
        unsigned n_blocks;
    } cases[] = {
        {false, 96, 0, 1},                          /* no gctx */
        {false, 96, FAKE_JE_DATA_AT + 0x203008, 1}, /* another's memory */
        {false, 96, 0x123457, 1},                   /* not aligned */
        {true, 104, FAKE_JE_DATA_AT, 1},            /* the backtrace lies elsewhere */
        {true, 112, 0, 1},                          /* no frames */
        {true, 112, 100000, 1},                     /* too many */
        {true, 120, FAKE_JE_HEAP_AT, 1},            /* no code */
        {true, 128, UINT64_MAX, 1},                 /* no address */
        {true, 16, 0, 2},                           /* the tree of counters is empty */
        {true, 16, UINT64_MAX, 2},                  /* it leads nowhere */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(false, NULL);
        unsigned good = fake_prof_context(&prof, 3), bad = fake_prof_context(&prof, 3);
        (void)fake_prof_sample(&prof, good, CLASS_SMALL, SMALL_BYTES, LG);
        (void)fake_prof_sample(&prof, bad, CLASS_SMALL, SMALL_BYTES, LG);
        hs_addr at =
            cases[i].in_gctx ? fake_prof_gctx_at(&prof, bad) : fake_prof_tctx_at(&prof, bad);
        fake_put(fake_prof_bytes(&prof, at), cases[i].at, cases[i].word);
        run();
        assert_int_equal(set.n_blocks, cases[i].n_blocks);
        assert_true(cases[i].n_blocks == 2 ? !proof("as many as")->holds
                                           : note("lead to no backtrace")->is_gap);
        end();
    }
}

static void a_tree_in_a_circle_ends(void **state)
{
    begin(false, NULL);
    unsigned context = fake_prof_context(&prof, 3);
    (void)fake_prof_sample(&prof, context, CLASS_SMALL, SMALL_BYTES, LG);
    hs_addr tctx = fake_prof_tctx_at(&prof, context);
    fake_put(fake_prof_bytes(&prof, tctx), 112, tctx);
    fake_put(fake_prof_bytes(&prof, tctx), 120, tctx | 1);
    run();
    assert_int_equal(set.n_blocks, 1);
    assert_false(proof("as many as")->holds);
    end();
}

static void every_allocation_may_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;

    begin(false, NULL);
    unsigned context = fake_prof_context(&prof, 3);
    (void)fake_prof_sample(&prof, context, CLASS_SMALL, SMALL_BYTES, LG);
    assert_int_equal(walk(&err), HS_OK);
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 3) {
        hs_status status =
            FAIL_EACH_TRY(each, hs_jemalloc_sampled(allocator, &map, &fake.process, &set, &err));
        if (status != HS_OK)
            hs_sampled_fini(&set);
    }
    assert_true(set.n_blocks == 1);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_their_backtraces),
        cmocka_unit_test(every_period_is_found),
        cmocka_unit_test(counters_that_disagree_prove_nothing),
        cmocka_unit_test(old_period_is_what_was_told),
        cmocka_unit_test(other_words_are_no_samples),
        cmocka_unit_test(freed_into_a_cache_is_no_sample),
        cmocka_unit_test(damage_is_left_out),
        cmocka_unit_test(a_tree_in_a_circle_ends),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
