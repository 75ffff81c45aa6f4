/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* The rings of two domains, read from this very process: who holds a domain, ticks, damage. */
#include "unit.h"

#include <unistd.h>

#include "ocaml/v5/ocaml5.h"

enum { WORDS = 11, N = 4, STACK_WORDS = 40, TICKS = 200 };

/* Three threads of domain 0, one of domain 5; all lies in our own memory, which the target
 * (ourselves) lets us read. */
struct fixture {
    uint64_t info[N][WORDS];
    uint64_t pthread[N + 1][512];
    uint64_t stack[N][STACK_WORDS];
    struct hs_thread kernel[N + 1];
    struct hs_mapping mapping;
    struct hs_target target;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_ocaml5_domain domains[2];
    struct hs_ocaml5 five;
    struct hs_ocaml rt;
    struct hs_ocaml_stops stops;
};

static hs_addr address(const void *p)
{
    return (hs_addr)(uintptr_t)p;
}

static void put_thread(struct fixture *f, size_t i, size_t next, size_t previous, uint32_t domain)
{
    uint64_t *stack = f->stack[i];
    f->info[i][1] = address(f->info[next]);
    f->info[i][2] = address(f->info[previous]);
    f->info[i][3] = domain;
    f->info[i][4] = address(stack);
    f->info[i][6] = 0x4000 + i; /* local roots */
    f->info[i][10] = 0x3000 + i;
    stack[0] = address(&stack[10]); /* sp, where the return address is */
    stack[2] = address(&stack[30]);
    stack[10] = 0x2000 + i;
    f->kernel[i].tid = (pid_t)(100 + i);
    f->kernel[i].regs.fs_base = address(f->pthread[i]);
    f->pthread[i][100] = address(f->info[i]);
}

static struct fixture *fixture_new(void)
{
    static struct fixture f;
    memset(&f, 0, sizeof f);
    put_thread(&f, 0, 1, 2, 0);
    put_thread(&f, 1, 2, 0, 0);
    put_thread(&f, 2, 0, 1, 0);
    put_thread(&f, 3, 3, 3, 5);
    f.kernel[N].tid = TICKS;
    f.kernel[N].regs.fs_base = address(f.pthread[N]);
    f.mapping =
        (struct hs_mapping){.begin = address(&f), .end = address(&f) + sizeof f, .readable = true};
    f.target = (struct hs_target){.pid = getpid(),
                                  .live = {.pid = getpid(), .mem_fd = -1, .pagemap_fd = -1},
                                  .threads = f.kernel,
                                  .n_threads = N + 1,
                                  .mappings = &f.mapping,
                                  .n_mappings = 1};
    f.five = (struct hs_ocaml5){.domains = f.domains, .n_domains = 2};
    f.five.layout.local_roots = 20;
    f.domains[1].id = 5;
    f.domains[0].words[HS_STATE5_CURRENT_STACK] = address(f.stack[1]);
    f.domains[0].words[HS_STATE5_GC_REGS] = 0x7000;
    f.domains[0].words[20] = 0x8000;
    f.domains[1].words[HS_STATE5_CURRENT_STACK] = address(f.stack[3]);
    f.rt = (struct hs_ocaml){
        .target = &f.target, .image = &f.image, .objects = &f.objects, .five = &f.five};
    return &f;
}

static void find(struct fixture *f)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_ocaml5_find_threads(&f->rt, &f->stops, &err), HS_OK);
}

static const struct hs_ocaml_thread *current_of(const struct fixture *f, uint32_t domain)
{
    const struct hs_ocaml_thread *found = NULL;
    for (size_t i = 0; i < f->stops.n; i++) {
        if (f->stops.threads[i].domain == domain && f->stops.threads[i].is_current) {
            assert_null(found);
            found = &f->stops.threads[i];
        }
    }
    assert_non_null(found);
    return found;
}

/* All wait: the one whose stack the state has is the current one. */
static void takes_what_waiting_threads_have_saved(void **state)
{
    struct fixture *f = fixture_new();
    find(f);
    assert_int_equal(f->stops.n, N);
    assert_false(f->stops.lacks_threads);
    for (size_t i = 0; i < N; i++) {
        const struct hs_ocaml_thread *t = &f->stops.threads[i];
        assert_int_equal(t->tid, 100 + i);
        assert_true(t->info == address(f->info[i]) && t->stack == address(f->stack[i]));
        assert_int_equal(t->domain, i == 3 ? 1 : 0);
        assert_true(t->sp == address(&f->stack[i][11]) && t->pc == 0x2000 + i);
        assert_int_equal(t->gc_regs, i == 1 ? 0x7000 : i == 3 ? 0 : 0x3000 + i);
        assert_int_equal(t->local_roots, i == 1 ? 0x8000 : i == 3 ? 0 : 0x4000 + i);
    }
    assert_int_equal(current_of(f, 0)->tid, 101);
    assert_int_equal(current_of(f, 1)->tid, 103);
    assert_int_equal(f->domains[0].holder, 0);
    hs_ocaml_stops_fini(&f->stops);
}

static void the_thread_of_ticks_holds_nothing(void **state)
{
    struct fixture *f = fixture_new();
    f->domains[0].holder = f->domains[0].holders[0] = TICKS;
    f->domains[0].holders[1] = 102;
    f->domains[0].n_holders = 2;
    f->domains[0].has_rival = true;
    f->domains[0].words[HS_STATE5_CURRENT_STACK] = address(f->stack[2]);
    find(f);
    assert_int_equal(f->domains[0].holder, 102);
    assert_false(f->domains[0].has_rival);
    assert_int_equal(current_of(f, 0)->tid, 102);
    hs_ocaml_stops_fini(&f->stops);
    f->domains[0].n_holders = 1; /* ticks alone */
    find(f);
    assert_int_equal(f->domains[0].holder, 0);
    assert_int_equal(current_of(f, 0)->tid, 102);
    hs_ocaml_stops_fini(&f->stops);
    f->domains[0].holders[0] = 100; /* two threads of the ring: one of them starts */
    f->domains[0].n_holders = 2;
    find(f);
    assert_true(f->domains[0].has_rival);
    (void)current_of(f, 0);
    hs_ocaml_stops_fini(&f->stops);
}

static void a_domain_without_threads_has_one(void **state)
{
    struct fixture *f = fixture_new();
    f->pthread[3][100] = 0;
    f->domains[1].first = 103;
    find(f);
    assert_int_equal(f->stops.n, N);
    assert_true(current_of(f, 1)->info == 0);
    assert_int_equal(current_of(f, 1)->tid, 103);
    assert_true(current_of(f, 1)->stack == address(f->stack[3]));
    hs_ocaml_stops_fini(&f->stops);
}

static void a_stack_without_frames_has_no_sp(void **state)
{
    struct fixture *f = fixture_new();
    f->stack[0][0] = f->stack[0][2];
    f->stack[2][0] = 0x10; /* not readable */
    find(f);
    assert_int_equal(f->stops.threads[0].sp, 0);
    assert_int_equal(f->stops.threads[2].sp, 0);
    assert_true(f->stops.threads[1].sp != 0);
    hs_ocaml_stops_fini(&f->stops);
}

static void damaged_rings_are_said(void **state)
{
    for (unsigned damage = 0; damage < 3; damage++) {
        struct fixture *f = fixture_new();
        switch (damage) {
        case 0: /* thread 1 is passed over by both its neighbours, who still know each other */
            f->info[0][1] = address(f->info[2]);
            f->info[2][2] = address(f->info[0]);
            f->info[1][1] = f->info[1][2] = address(f->info[1]);
            break;
        case 1:
            f->info[1][3] = 7; /* of no domain, and so is the ring's beginning */
            f->info[0][1] = 0x10;
            break;
        default:
            f->info[1][1] = 0x10;
            break; /* leads nowhere */
        }
        find(f);
        assert_true(f->stops.n <= N + 1);
        assert_true(f->stops.lacks_threads || f->stops.n < N);
        (void)current_of(f, 0);
        (void)current_of(f, 1);
        hs_ocaml_stops_fini(&f->stops);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_waiting_threads_have_saved),
        cmocka_unit_test(the_thread_of_ticks_holds_nothing),
        cmocka_unit_test(a_domain_without_threads_has_one),
        cmocka_unit_test(a_stack_without_frames_has_no_sp),
        cmocka_unit_test(damaged_rings_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
