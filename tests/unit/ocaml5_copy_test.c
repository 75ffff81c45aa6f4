/* links: hs_ocaml hs_runtimes hs_process hs_format hs_target hs_symbols */
/* The lists of a made OCaml 5 heap, in a core file: sound, and damaged in each place; and a whole
 * made process, walked as a dump does it. */
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fake_ocaml5.h"
#include "word_damage.h"

static struct fake_ocaml5 *fake;
static const struct hs_ocaml *rt;

static uint64_t *word(hs_addr at)
{
    return fake5_word(fake, at);
}

static hs_addr slot(unsigned pool, unsigned i)
{
    return fake5_slot(fake, pool, i);
}

static int make_heap(void **state)
{
    if (fake == NULL)
        fake = fake_ocaml5_new();
    fake_ocaml5_heap(fake, 3);
    return 0;
}

static void open_heap(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_ocaml5 *five;
    void *block;

    fake_ocaml5_seal(fake);
    rt = &fake->rt;
    assert_int_equal(hs_alloc(1, sizeof *five, &block, &err), HS_OK);
    five = fake->rt.five = block;
    five->layout = (struct hs_ocaml5_layout){.minor = 3, .n_words = 60};
    five->n_running = 1;
    five->pool_freelist = FAKE5_ENDED;
    assert_int_equal(hs_alloc(1, sizeof *five->domains, &block, &err), HS_OK);
    five->domains = block;
    five->n_domains = 1;
    five->domains[0] =
        (struct hs_ocaml5_domain){.state = FAKE5_STATE(0),
                                  .shared_heap = FAKE5_HEAP(0),
                                  .young_start = FAKE5_YOUNG(0),
                                  .young_ptr = FAKE5_YOUNG(0),
                                  .young_end = FAKE5_YOUNG(0) + FAKE5_YOUNG_WORDS * HS_WORD};
    assert_int_equal(hs_ocaml5_copy_heap(&fake->rt, &err), HS_OK);
}

static int close_all(void **state)
{
    fake_ocaml5_free(fake);
    return 0;
}

static void a_sound_heap_is_listed_and_proved(void **state)
{
    open_heap();
    assert_int_equal(rt->chunks.n, 4);
    assert_true(fake5_proofs_hold(fake));
    assert_int_equal(rt->findings.n_notes, 0);
    assert_true(rt->chunks.spans[0].begin == slot(0, 0) && rt->chunks.spans[0].slot_words == 3);
    assert_int_equal(rt->chunks.spans[0].end, FAKE5_POOL(1));
    assert_int_equal(rt->chunks.spans[3].slot_words, 0);
    assert_int_equal(rt->chunks.spans[3].end - rt->chunks.spans[3].begin,
                     (FAKE5_LARGE_WOSIZE + 1) * HS_WORD);
}

static void a_continuation_owns_its_stack_and_the_parents_of_it(void **state)
{
    size_t n;
    open_heap();
    const struct hs_ocaml5_fiber *fibers = hs_ocaml5_fibers_of(rt->five, slot(0, 5) + HS_WORD, &n);
    assert_int_equal(n, 2);
    assert_true(fibers[0].stack == FAKE5_STACK(0) && fibers[1].stack == FAKE5_STACK(1));
    assert_false(fibers[0].is_damaged || fibers[1].is_damaged);
    uint64_t parent;
    assert_true(hs_image_u64(&fake->image, FAKE5_STACK(0) + 0x900 + HS_HANDLER5_PARENT, &parent));
    assert_null(hs_ocaml5_fibers_of(rt->five, slot(0, 6) + HS_WORD, &n));
}

static void damaged_lists_end_and_are_told(void **state)
{
    const struct {
        hs_addr at;
        uint64_t value;
        size_t n_chunks;
    } cases[] = {
        {FAKE5_POOL(1), FAKE5_POOL(0), 4},                          /* goes in a circle */
        {FAKE5_POOL(0) + 24, 7, 2},                                 /* another size class */
        {FAKE5_POOL(1) + 16, FAKE5_AT + 8, 3},                      /* another owner */
        {FAKE5_POOL(0), 0x1000, 3},                                 /* no memory there */
        {FAKE5_POOL(0), FAKE5_POOL(1) + 4, 3},                      /* no word */
        {FAKE5_LARGE + 16, 3 << 10, 3},                             /* too small to be large */
        {FAKE5_LARGE + 16, UINT64_MAX, 3},                          /* longer than memory */
        {FAKE5_LARGE + 8, FAKE5_LARGE, 4},                          /* goes in a circle */
        {FAKE5_ENDED + 8 * (14 + FAKE5_CLASS_3), FAKE5_POOL(1), 3}, /* a pool in two lists */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_heap(NULL);
        *word(cases[i].at) = cases[i].value;
        open_heap();
        if (rt->chunks.n != cases[i].n_chunks ||
            !fake5_has_note(fake, "lists of pools or large blocks"))
            fail_msg("case %zu: %zu chunks, %zu notes", i, rt->chunks.n, rt->findings.n_notes);
    }
}

static void stacks_that_go_in_circles_end(void **state)
{
    size_t n;
    fake5_stack(fake, 1, FAKE5_STACK(1));
    fake5_stack(fake, 2, 0);
    *word(FAKE5_STACK(2) + HS_STACK5_SP) = 1; /* no stack */
    fake5_continuation(fake, slot(0, 7), FAKE5_STACK(2));
    fake5_continuation(fake, slot(0, 8), FAKE5_STACK(0)); /* has an owner */
    open_heap();
    assert_non_null(hs_ocaml5_fibers_of(rt->five, slot(0, 5) + HS_WORD, &n));
    assert_in_range(n, 2, 8);
    const struct hs_ocaml5_fiber *damaged = hs_ocaml5_fibers_of(rt->five, slot(0, 7) + HS_WORD, &n);
    assert_non_null(damaged);
    assert_true(n == 1 && damaged->is_damaged);
    assert_null(hs_ocaml5_fibers_of(rt->five, slot(0, 8) + HS_WORD, &n));
    assert_int_equal(rt->five->n_shared_fibers, 1);
}

/* Each of them is walked to its end. */
static void of_stacks_that_share_memory_the_first_stays(void **state)
{
    size_t n;
    fake5_stack(fake, 2, FAKE5_STACK(1));
    fake5_stack(fake, 3, FAKE5_STACK(1)); /* so the parent would be walked three times */
    *word(FAKE5_STACK(2) + HS_STACK5_HANDLER) = FAKE5_STACK_END(3);
    *word(FAKE5_STACK(2) + HS_STACK5_SP) = FAKE5_STACK(3) + 0x800;
    fake5_continuation(fake, slot(0, 7), FAKE5_STACK(2));
    fake5_continuation(fake, slot(0, 8), FAKE5_STACK(3));
    open_heap();
    const struct hs_ocaml5_fiber *first = hs_ocaml5_fibers_of(rt->five, slot(0, 7) + HS_WORD, &n);
    assert_true(n > 0 && !first->is_damaged);
    const struct hs_ocaml5_fiber *second = hs_ocaml5_fibers_of(rt->five, slot(0, 8) + HS_WORD, &n);
    assert_true(n > 0 && second->is_damaged);
    size_t n_walked = 0;
    for (size_t i = 0; i < rt->five->n_fibers; i++)
        n_walked += rt->five->fibers[i].stack == FAKE5_STACK(1) && !rt->five->fibers[i].is_damaged;
    assert_int_equal(n_walked, 1);
}

static void walk_process(unsigned minor, enum fake5_stand stand, bool is_library)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    int fd = memfd_create("snapshot", MFD_CLOEXEC);

    assert_true(fd >= 0);
    fake_ocaml5_process(fake, minor, stand);
    fake->objects.objects[0].is_executable = !is_library;
    fake_ocaml5_seal(fake);
    rt = &fake->rt;
    assert_int_equal(hs_out_open_fd(fd, "memory", &out, &err), HS_OK);
    if (fake_ocaml5_walk(fake, &out, &err) != HS_OK || hs_out_commit(&out, &err) != HS_OK)
        fail_msg("%s", err.message);
    hs_out_close(&out);
    damage_check_snapshot(fd);
    close(fd);
}

static size_t n_leaves(enum hs_root_kind kind)
{
    size_t n = 0;
    for (size_t i = 0; i < fake->roots.roots.n_leaves; i++)
        n += fake->roots.roots.leaves[i].root.kind == kind;
    return n;
}

/* What the fuzzer damages is sound, and every part of it is reached; once with the runtime in a
 * library, whose thread-local data is elsewhere. */
static void a_sound_process_is_walked_whole(void **state)
{
    for (unsigned minor = 1; minor <= 4; minor++) {
        walk_process(minor, FAKE5_BLOCKED, minor == 4);
        assert_int_equal(rt->five->layout.minor, minor);
        assert_int_equal(rt->findings.n_notes, 0);
        assert_true(fake5_proofs_hold(fake));
        assert_true(rt->five->n_domains == FAKE5_DOMAINS && rt->chunks.n == 5);
        assert_int_equal(n_leaves(HS_ROOT_GLOBAL), 3);
        assert_int_equal(n_leaves(HS_ROOT_C_ROOT), 3 + 2 * FAKE5_DOMAINS);
        assert_int_equal(n_leaves(HS_ROOT_STACK), 4 * 3 + 3);
        assert_int_equal(n_leaves(HS_ROOT_LOCAL), 1);
        assert_int_equal(n_leaves(HS_ROOT_FINALISER), 2 * 6);
        assert_int_equal(n_leaves(HS_ROOT_HOOK), 3 * 2);
        assert_int_equal(n_leaves(HS_ROOT_MEMPROF), minor < 3 ? 0 : 3 * 2);
        assert_int_equal(fake->roots.n_samples, minor < 3 ? 0 : 2);
        assert_int_equal(fake->marks.n_ephemerons, 4);
        assert_int_equal(rt->five->n_fibers, 3);
    }
}

/* A ring of many threads, between the two of the first domain, that all stand on one long chain of
 * stacks without frames. */
static void put_threads_on_a_chain(void)
{
    enum { THREADS = 60, STACKS = 2000, STACK_BYTES = 96, INFO_BYTES = 128 };
    const hs_addr stacks = FAKE5_POOL(4), infos = FAKE5_C_STACK + 0x2000;
    uint64_t *first = word(FAKE5_FIRST_THREAD), *second = word(first[1]);

    for (hs_addr i = 0, at = stacks; i < STACKS; i++, at += STACK_BYTES) {
        *word(at + HS_STACK5_SP) = *word(at + HS_STACK5_HANDLER) = at + HS_STACK5_BYTES;
        *word(at + HS_STACK5_BYTES + HS_HANDLER5_PARENT) = i + 1 < STACKS ? at + STACK_BYTES : 0;
    }
    for (hs_addr i = 0, at = infos; i < THREADS; i++, at += INFO_BYTES) {
        word(at)[1] = i + 1 < THREADS ? at + INFO_BYTES : first[1];
        word(at)[2] = i > 0 ? at - INFO_BYTES : FAKE5_FIRST_THREAD;
        word(at)[4] = stacks;
    }
    first[1] = infos;
    second[2] = infos + (THREADS - 1) * INFO_BYTES;
}

/* Stacks are read as often as memory has room for, not as often as threads lead to them. */
static void threads_on_one_chain_of_stacks_end(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    enum hs_stop_verdict verdict;
    const char *reason;
    fake_ocaml5_process(fake, 3, FAKE5_BLOCKED);
    put_threads_on_a_chain();
    fake_ocaml5_seal(fake);
    assert_int_equal(hs_ocaml_locate(&fake->rt, &err), HS_OK);
    assert_int_equal(hs_ocaml_judge(&fake->rt, &verdict, &reason, &err), HS_OK);
    uint64_t before = fake->target.read_bytes;
    assert_int_equal(hs_ocaml_copy_roots(&fake->rt, &fake->roots, &err), HS_OK);
    assert_int_equal(fake->roots.stops->n, 60 + 3);
    assert_false(fake->roots.stops->lacks_threads);
    assert_in_range(fake->target.read_bytes - before, 1, 4 * FAKE5_BYTES);
}

/* A stack may claim to be as long as memory: its words count as what else is looked at. */
static void words_of_stacks_are_counted_while_copying(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    fake_ocaml5_process(fake, 3, FAKE5_BLOCKED);
    *word(FAKE5_STACK(2) + HS_STACK5_HANDLER) = FAKE5_STACK_END(5);
    fake_ocaml5_seal(fake);
    assert_int_equal(hs_ocaml_locate(&fake->rt, &err), HS_OK);
    assert_int_equal(hs_ocaml_copy_roots(&fake->rt, &fake->roots, &err), HS_OK);
    struct hs_root_walk walk = {.rt = &fake->rt, .roots = &fake->roots, .err = &err};
    hs_walk_allow(&walk);
    assert_int_equal(hs_ocaml5_walk_stacks(&walk), HS_OK);
    assert_true(walk.n_spent > (FAKE5_STACK_END(5) - FAKE5_STACK_END(2)) / HS_WORD);
    assert_true(walk.n_spent < walk.allowance);
    *word(FAKE5_STACK(2) + HS_STACK5_HANDLER) = CORE_SAMPLE_STACK; /* with nothing in between */
    fake_ocaml5_seal(fake);
    assert_int_equal(hs_ocaml_locate(&fake->rt, &err), HS_OK);
    assert_int_equal(hs_ocaml_copy_roots(&fake->rt, &fake->roots, &err), HS_OK);
    hs_walk_allow(&walk);
    assert_int_equal(hs_ocaml5_walk_stacks(&walk), HS_OK);
    assert_true(walk.n_spent < FAKE5_BYTES / HS_WORD);
}

/* Its first thread in C whose link tells how far OCaml got; in OCaml code; in C called from there.
 */
static void a_thread_that_runs_is_judged(void **state)
{
    walk_process(3, FAKE5_IN_C, false);
    assert_true(fake->roots.stops->lacks_unwinding && !fake->roots.stops->lacks_stack);
    assert_true(fake5_proofs_hold(fake));
    for (unsigned stand = FAKE5_IN_OCAML; stand <= FAKE5_IN_CALL; stand++) {
        walk_process(3, stand, false);
        assert_int_equal(rt->findings.n_notes, 0);
        assert_true(fake5_proofs_hold(fake));
        assert_int_equal(n_leaves(HS_ROOT_REGISTER), 1);
        assert_true(fake->roots.stops->threads[0].interrupted != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_sound_heap_is_listed_and_proved, make_heap),
        cmocka_unit_test_setup(a_continuation_owns_its_stack_and_the_parents_of_it, make_heap),
        cmocka_unit_test_setup(damaged_lists_end_and_are_told, make_heap),
        cmocka_unit_test_setup(stacks_that_go_in_circles_end, make_heap),
        cmocka_unit_test_setup(of_stacks_that_share_memory_the_first_stays, make_heap),
        cmocka_unit_test_setup(a_sound_process_is_walked_whole, make_heap),
        cmocka_unit_test_setup(threads_on_one_chain_of_stacks_end, make_heap),
        cmocka_unit_test_setup(words_of_stacks_are_counted_while_copying, make_heap),
        cmocka_unit_test_setup(a_thread_that_runs_is_judged, make_heap),
    };
    return cmocka_run_group_tests(tests, NULL, close_all);
}
