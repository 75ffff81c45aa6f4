/* links: hs_capture hs_format hs_target hs_symbols */
/* The lists of a made OCaml 5 heap, in a core file: sound, and damaged in each place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "core_writer.h"
#include "ocaml5.h"
#include "target/core.h"

#define AT UINT64_C(0x7f0000100000)
#define POOL(i) (AT + 0x10000 + (uint64_t)(i)*POOL_BYTES)
#define LARGE (AT + 0x60000)
#define STACK(i) (AT + 0x70000 + (uint64_t)(i)*0x1000)
#define YOUNG (AT + 0x80000)
#define STATE AT
#define HEAP (AT + 0x1000)
#define ENDED (AT + 0x3000)

enum {
    POOL_BYTES = 0x8000,
    ALL_BYTES = 0x90000,
    CLASS_3 = 2, /* slots of three words */
    N_SLOTS = (4096 - 4) / 3,
    YOUNG_WORDS = 8,
    LARGE_WOSIZE = 200
};

static struct core_writer w;
static uint8_t memory[ALL_BYTES];
static struct hs_target target;
static struct hs_image image;
static struct hs_objects objects;
static struct hs_strtab strings;
static struct hs_ocaml rt;

static uint64_t *word(hs_addr at)
{
    return (uint64_t *)(void *)(memory + (at - AT));
}

static hs_addr slot(unsigned pool, unsigned i)
{
    return POOL(pool) + (4096 - (uint64_t)N_SLOTS * 3) * HS_WORD + (uint64_t)i * 3 * HS_WORD;
}

static void make_pool(unsigned i, hs_addr next, hs_addr owner)
{
    word(POOL(i))[0] = next;
    word(POOL(i))[2] = owner;
    word(POOL(i))[3] = CLASS_3;
}

static void make_stack(unsigned i, hs_addr parent)
{
    uint64_t *info = word(STACK(i));
    info[HS_STACK5_SP / HS_WORD] = STACK(i) + 0x800;
    info[HS_STACK5_HANDLER / HS_WORD] = STACK(i) + 0x900;
    word(STACK(i) + 0x900)[3] = parent;
}

/* A continuation in a pool, by its header's place. */
static void make_continuation(hs_addr at, hs_addr stack)
{
    word(at)[0] = 2 << 10 | HS_TAG_CONT;
    word(at)[1] = stack | 1;
}

/* Two pools and a large block of a domain, a pool of one that ended; a fiber with a parent. */
static void make_heap(void)
{
    memset(memory, 0, sizeof memory);
    make_pool(0, POOL(1), STATE);
    make_pool(1, 0, 0); /* adopted */
    make_pool(2, 0, 0);
    word(HEAP)[CLASS_3] = POOL(0);
    word(HEAP)[128] = LARGE;
    word(HEAP)[131] = STATE;
    word(LARGE)[2] = (uint64_t)LARGE_WOSIZE << 10;
    word(HEAP)[132] = 2 * 4096;             /* words of pools */
    word(HEAP)[137] = LARGE_WOSIZE + 1 + 2; /* of large blocks */
    word(HEAP)[139] = 1;
    word(ENDED)[14 + CLASS_3] = POOL(2);
    word(ENDED)[6] = 4096;
    make_stack(0, STACK(1));
    make_stack(1, 0);
    make_continuation(slot(0, 5), STACK(0));
}

static void open_heap(void)
{
    struct hs_core_options options = {0};
    struct hs_error err = HS_ERROR_INIT;
    void *five;

    core_writer_sample(&w, "/nowhere/program", NULL);
    core_writer_segment(&w, AT, AT + ALL_BYTES, PF_R | PF_W, memory, ALL_BYTES);
    core_writer_finish(&w);
    options.path = core_writer_save(w.bytes, w.n_bytes);
    if (hs_core_open(&options, &target, &err) != HS_OK)
        fail_msg("%s", err.message);
    rt = (struct hs_ocaml){
        .target = &target, .image = &image, .objects = &objects, .strings = &strings};
    assert_int_equal(hs_alloc(1, sizeof *rt.five, &five, &err), HS_OK);
    rt.five = five;
    rt.five->layout = (struct hs_ocaml5_layout){.minor = 3, .n_words = 60};
    rt.five->n_running = 1;
    rt.five->pool_freelist = ENDED;
    assert_int_equal(hs_alloc(1, sizeof *rt.five->domains, &five, &err), HS_OK);
    rt.five->domains = five;
    rt.five->n_domains = 1;
    rt.five->domains[0] = (struct hs_ocaml5_domain){.state = STATE,
                                                    .shared_heap = HEAP,
                                                    .young_start = YOUNG,
                                                    .young_ptr = YOUNG,
                                                    .young_end = YOUNG + YOUNG_WORDS * HS_WORD};
    assert_int_equal(hs_ocaml5_copy_heap(&rt, &err), HS_OK);
}

static int close_heap(void **state)
{
    (void)state;
    hs_ocaml_fini(&rt);
    hs_image_fini(&image);
    hs_strtab_fini(&strings);
    hs_target_close(&target);
    core_writer_fini(&w);
    core_writer_clean();
    return 0;
}

static bool proofs_hold(void)
{
    for (size_t i = 0; i < rt.n_proofs; i++) {
        if (!rt.proofs[i].holds)
            return false;
    }
    return rt.n_proofs != 0;
}

static bool has_note(const char *text)
{
    for (size_t i = 0; i < rt.n_notes; i++) {
        if (strstr(hs_strtab_get(&strings, rt.notes[i].text), text) != NULL)
            return true;
    }
    return false;
}

static void a_sound_heap_is_listed_and_proved(void **state)
{
    (void)state;
    make_heap();
    open_heap();
    assert_int_equal(rt.chunks.n, 4);
    assert_true(proofs_hold());
    assert_int_equal(rt.n_notes, 0);
    assert_true(rt.chunks.spans[0].begin == slot(0, 0) && rt.chunks.spans[0].slot_words == 3);
    assert_int_equal(rt.chunks.spans[0].end, POOL(1));
    assert_int_equal(rt.chunks.spans[3].slot_words, 0);
    assert_int_equal(rt.chunks.spans[3].end - rt.chunks.spans[3].begin,
                     (LARGE_WOSIZE + 1) * HS_WORD);
}

static void a_continuation_owns_its_stack_and_the_parents_of_it(void **state)
{
    (void)state;
    size_t n;
    make_heap();
    open_heap();
    const struct hs_ocaml5_fiber *fibers = hs_ocaml5_fibers_of(rt.five, slot(0, 5) + HS_WORD, &n);
    assert_int_equal(n, 2);
    assert_true(fibers[0].stack == STACK(0) && fibers[1].stack == STACK(1));
    assert_false(fibers[0].is_damaged || fibers[1].is_damaged);
    uint64_t parent;
    assert_true(hs_image_u64(&image, STACK(0) + 0x900 + HS_HANDLER5_PARENT, &parent));
    assert_null(hs_ocaml5_fibers_of(rt.five, slot(0, 6) + HS_WORD, &n));
}

static void damaged_lists_end_and_are_told(void **state)
{
    (void)state;
    const struct {
        hs_addr at;
        uint64_t value;
        size_t n_chunks;
    } cases[] = {
        {POOL(1), POOL(0), 4},                    /* goes in a circle */
        {POOL(0) + 24, 7, 2},                     /* another size class */
        {POOL(1) + 16, AT + 8, 3},                /* another owner */
        {POOL(0), 0x1000, 3},                     /* no memory there */
        {POOL(0), POOL(1) + 4, 3},                /* no word */
        {LARGE + 16, 3 << 10, 3},                 /* too small to be large */
        {LARGE + 16, UINT64_MAX, 3},              /* longer than memory */
        {LARGE + 8, LARGE, 4},                    /* goes in a circle */
        {ENDED + 8 * (14 + CLASS_3), POOL(1), 3}, /* a pool in two lists */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_heap();
        *word(cases[i].at) = cases[i].value;
        open_heap();
        if (rt.chunks.n != cases[i].n_chunks || !has_note("lists of pools or large blocks"))
            fail_msg("case %zu: %zu chunks, %zu notes", i, rt.chunks.n, rt.n_notes);
        close_heap(NULL);
    }
    make_heap();
    open_heap();
}

static void stacks_that_go_in_circles_end(void **state)
{
    (void)state;
    size_t n;
    make_heap();
    make_stack(1, STACK(1));
    make_stack(2, 0);
    *word(STACK(2) + HS_STACK5_SP) = 1; /* no stack */
    make_continuation(slot(0, 7), STACK(2));
    make_continuation(slot(0, 8), STACK(0)); /* has an owner */
    open_heap();
    assert_non_null(hs_ocaml5_fibers_of(rt.five, slot(0, 5) + HS_WORD, &n));
    assert_in_range(n, 2, 8);
    const struct hs_ocaml5_fiber *damaged = hs_ocaml5_fibers_of(rt.five, slot(0, 7) + HS_WORD, &n);
    assert_non_null(damaged);
    assert_true(n == 1 && damaged->is_damaged);
    assert_null(hs_ocaml5_fibers_of(rt.five, slot(0, 8) + HS_WORD, &n));
    assert_int_equal(rt.five->n_shared_fibers, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_sound_heap_is_listed_and_proved, close_heap),
        cmocka_unit_test_teardown(a_continuation_owns_its_stack_and_the_parents_of_it, close_heap),
        cmocka_unit_test_teardown(damaged_lists_end_and_are_told, close_heap),
        cmocka_unit_test_teardown(stacks_that_go_in_circles_end, close_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
