/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* The ring of systhreads, read from this very process: matching with kernel threads, damage. */
#include "unit.h"

#include <unistd.h>

#include "ocaml/roots.h"

enum { WORDS = 14, N = 4 };

/* Rings and pthread blocks lie in our own memory, which the target (ourselves) lets us read. */
struct fixture {
    uint64_t info[N][WORDS];
    uint64_t pthread[N][512];
    uint64_t current; /* the variable curr_thread */
    uint64_t stack[64];
    struct hs_thread kernel[N];
    struct hs_mapping mapping;
    struct hs_target target;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_ocaml rt;
    struct hs_ocaml_state runtime;
    struct hs_ocaml_stops stops;
};

static hs_addr address(const void *p)
{
    return (hs_addr)(uintptr_t)p;
}

static struct fixture *fixture_new(void)
{
    static struct fixture f;
    memset(&f, 0, sizeof f);
    for (size_t i = 0; i < N; i++) {
        f.info[i][1] = address(f.info[(i + 1) % N]);
        f.info[i][2] = address(f.info[(i + N - 1) % N]);
        f.info[i][4] = 0x1000 + i;
        f.info[i][5] = 0x2000 + i;
        f.info[i][6] = 0x3000 + i;
        f.info[i][8] = 0x4000 + i;
        f.kernel[i].tid = (pid_t)(100 + i);
        f.kernel[i].regs.fs_base = address(f.pthread[i]);
        f.pthread[i][100] = address(f.info[N - 1 - i]); /* thread 100 has the last structure */
    }
    f.current = address(f.info[1]);
    f.mapping = (struct hs_mapping){
        .begin = address(f.stack), .end = address(f.stack + 64), .readable = true};
    f.target = (struct hs_target){.pid = getpid(),
                                  .live = {.pid = getpid(), .mem_fd = -1, .pagemap_fd = -1},
                                  .threads = f.kernel,
                                  .n_threads = N,
                                  .mappings = &f.mapping,
                                  .n_mappings = 1};
    f.rt = (struct hs_ocaml){.target = &f.target, .image = &f.image, .objects = &f.objects};
    f.runtime.words[HS_STATE_BOTTOM_OF_STACK] = 0x5000;
    f.runtime.words[HS_STATE_LAST_RETURN] = 0x6000;
    f.runtime.words[HS_STATE_GC_REGS] = 0x7000;
    f.runtime.words[HS_STATE_LOCAL_ROOTS] = 0x8000;
    f.stops.statics.curr_thread = address(&f.current);
    return &f;
}

static void find(struct fixture *f)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_ocaml_find_threads(&f->rt, &f->runtime, &f->stops, &err), HS_OK);
}

static void matches_structures_and_kernel_threads(void **state)
{
    struct fixture *f = fixture_new();
    find(f);
    assert_int_equal(f->stops.n, N);
    assert_false(f->stops.lacks_threads);
    for (size_t i = 0; i < N; i++) {
        const struct hs_ocaml_thread *t = &f->stops.threads[i];
        size_t number = N - 1 - i;
        assert_int_equal(t->tid, 100 + i); /* ascending */
        assert_true(t->info == address(f->info[number]));
        assert_int_equal(t->is_current, number == 1);
        assert_int_equal(t->sp, number == 1 ? 0x5000 : 0x1000 + number);
        assert_int_equal(t->pc, number == 1 ? 0x6000 : 0x2000 + number);
        assert_int_equal(t->gc_regs, number == 1 ? 0x7000 : 0x3000 + number);
        assert_int_equal(t->local_roots, number == 1 ? 0x8000 : 0x4000 + number);
    }
    hs_ocaml_stops_fini(&f->stops);
}

static void a_ring_that_does_not_lead_back_is_said(void **state)
{
    struct fixture *f = fixture_new();
    f->info[3][2] = 0x1234;
    find(f);
    assert_true(f->stops.lacks_threads);
    assert_int_equal(f->stops.n, 2);
    hs_ocaml_stops_fini(&f->stops);

    f = fixture_new();
    f->info[1][1] = 0x10; /* leads nowhere */
    find(f);
    assert_true(f->stops.lacks_threads);
    assert_int_equal(f->stops.n, 1);
    assert_true(f->stops.threads[0].is_current);
    hs_ocaml_stops_fini(&f->stops);
}

/* A ring that never comes back to where it began, but is whole backwards, is a rho: prev tells. */
static void a_ring_with_a_tail_ends(void **state)
{
    struct fixture *f = fixture_new();
    f->info[0][1] = address(f->info[2]);
    find(f);
    assert_true(f->stops.lacks_threads);
    hs_ocaml_stops_fini(&f->stops);
}

static void without_systhreads_the_stack_tells_the_thread(void **state)
{
    struct fixture *f = fixture_new();
    f->current = 0;
    f->kernel[2].regs.rsp = address(&f->stack[10]);
    f->runtime.words[HS_STATE_BOTTOM_OF_STACK] = address(&f->stack[20]);
    find(f);
    assert_int_equal(f->stops.n, 1);
    assert_int_equal(f->stops.threads[0].tid, 102);
    assert_true(f->stops.threads[0].is_current);
    hs_ocaml_stops_fini(&f->stops);

    f = fixture_new();
    f->current = 0;
    find(f);
    assert_int_equal(f->stops.threads[0].tid, f->target.pid); /* nobody's stack: the first */
    hs_ocaml_stops_fini(&f->stops);
}

static void a_thread_without_specific_data_is_found_by_its_stack(void **state)
{
    struct fixture *f = fixture_new();
    f->pthread[0][100] = 0;
    f->kernel[0].regs.rsp = address(&f->stack[1]);
    f->info[3][4] = address(&f->stack[2]);
    find(f);
    assert_int_equal(f->stops.threads[0].tid, 100);
    assert_true(f->stops.threads[0].info == address(f->info[3]));
    hs_ocaml_stops_fini(&f->stops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matches_structures_and_kernel_threads),
        cmocka_unit_test(a_ring_that_does_not_lead_back_is_said),
        cmocka_unit_test(a_ring_with_a_tail_ends),
        cmocka_unit_test(without_systhreads_the_stack_tells_the_thread),
        cmocka_unit_test(a_thread_without_specific_data_is_found_by_its_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
