/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* What each domain of OCaml 5 keeps: local storage, finalisers, tracked blocks; and lists that lie.
 */
#include "unit.h"

#include "fake_roots.h"
#include "ocaml/v5/ocaml5.h"

enum {
    ORPHANS = FAKE_FREE + 40, /* word of `data` */
    FINAL = 100,              /* words of `memory`: a caml_final_info */
    FINAL_ORPHAN = 200,
    MEMPROF = 400, /* the domain's struct */
    PROMOTED = 1 << 4,
    DEALLOCATED = 1 << 5,
    DELETED = 1 << 6,
    OFFSET = 1 << 2,
};

struct world {
    struct fake_roots *fake;
    struct hs_ocaml5 five;
    struct hs_ocaml5_domain domain;
    hs_addr block, other;
};

static void world_init(struct world *w)
{
    *w = (struct world){.fake = fake_roots_new()};
    w->five.domains = &w->domain;
    w->five.n_domains = 1;
    w->five.orphans = fake_data_at(ORPHANS);
    w->five.layout = (struct hs_ocaml5_layout){
        .minor = 3, .final_info = 22, .backtrace_last_exn = 26, .dls_root = 38, .memprof = 58};
    w->domain.id = 4;
    w->domain.state = fake_data_at(FAKE_FREE + 60);
    w->block = fake_block(w->fake->heap, 0, 2, NULL);
    w->other = fake_block(w->fake->heap, 0, 5, NULL);
}

static void collect(struct world *w)
{
    struct hs_error err = HS_ERROR_INIT;
    fake_roots_seal(w->fake);
    w->fake->heap->rt.five = &w->five;
    assert_int_equal(
        hs_ocaml_collect_roots(&w->fake->heap->rt, &w->fake->map, &w->fake->roots, &err), HS_OK);
}

static void world_fini(struct world *w)
{
    w->fake->heap->rt.five = NULL;
    fake_roots_free(w->fake);
}

/* Registered as C global roots; told once, by their own names. */
static void words_of_the_state_are_named_roots(void **state)
{
    struct world w;
    world_init(&w);
    w.domain.words[38] = w.block;
    w.domain.words[26] = w.other;
    w.fake->data[FAKE_FREE + 60 + 38] = w.block;
    w.fake->data[FAKE_ROOTS_OLD] = fake_memory_at(0); /* a cell: key, data, next */
    w.fake->memory[0] = w.domain.state + 38 * HS_WORD;
    w.fake->memory[2] = 0;
    collect(&w);
    assert_int_equal(fake_n_leaves(w.fake, HS_ROOT_C_ROOT), 2);
    const struct hs_root_leaf *dls = fake_leaf(w.fake, HS_ROOT_C_ROOT, 0);
    assert_string_equal(fake_text(w.fake, dls->root.name), "Domain.DLS of domain 4");
    assert_true(dls->target == w.block && dls->root.address == w.domain.state + 38 * HS_WORD);
    assert_string_equal(fake_text(w.fake, fake_leaf(w.fake, HS_ROOT_C_ROOT, 1)->root.name),
                        "last exception of domain 4");
    world_fini(&w);
}

static void put_final(struct world *w, size_t at, size_t table)
{
    uint64_t *m = w->fake->memory;
    m[at] = m[at + 5] = fake_memory_at(table); /* first and last share it here */
    m[at + 2] = m[at + 3] = 1;
    m[at + 7] = m[at + 8] = 1;
    m[table] = w->block;
    m[table + 1] = w->other;
}

static void finalisers_of_living_and_ended_domains(void **state)
{
    struct world w;
    world_init(&w);
    w.domain.words[22] = fake_memory_at(FINAL);
    put_final(&w, FINAL, 150);
    put_final(&w, FINAL_ORPHAN, 250);
    w.fake->data[ORPHANS + 1] = fake_memory_at(FINAL_ORPHAN);
    collect(&w);
    assert_int_equal(fake_n_leaves(w.fake, HS_ROOT_FINALISER), 8);
    size_t n_weak = 0;
    for (size_t i = 0; i < 8; i++) {
        const struct hs_root_leaf *leaf = fake_leaf(w.fake, HS_ROOT_FINALISER, i);
        assert_true(leaf->target == (leaf->root.weak ? w.other : w.block));
        n_weak += leaf->root.weak;
    }
    assert_int_equal(n_weak, 4);
    world_fini(&w);
}

static void a_circle_of_ended_domains_ends(void **state)
{
    struct world w;
    world_init(&w);
    put_final(&w, FINAL_ORPHAN, 250);
    w.fake->data[ORPHANS + 1] = fake_memory_at(FINAL_ORPHAN);
    w.fake->memory[FINAL_ORPHAN + 13] = fake_memory_at(FINAL_ORPHAN);
    collect(&w);
    assert_true(fake_n_leaves(w.fake, HS_ROOT_FINALISER) <= 12);
    assert_non_null(fake_note(w.fake->heap, "are damaged"));
    world_fini(&w);
    world_init(&w);
    w.five.orphans = 0;
    collect(&w);
    assert_non_null(fake_note(w.fake->heap, "finalisers that ended domains left"));
    world_fini(&w);
}

/* entries_s at memory[at], with its table of n entries at memory[table]. */
static void put_entries(struct world *w, size_t at, size_t table, uint64_t n, uint64_t config)
{
    uint64_t *m = w->fake->memory;
    m[at] = fake_memory_at(table);
    m[at + 2] = m[at + 3] = n;
    m[at + 7] = config;
}

static void put_entry(struct world *w, size_t at, uint64_t block, uint64_t user_data,
                      uint64_t runner, uint64_t flags)
{
    const uint64_t entry[] = {block, user_data, 3, 2, runner, flags};
    memcpy(&w->fake->memory[at], entry, sizeof entry);
}

static hs_addr profile(struct world *w, double lambda)
{
    uint64_t bits;
    memcpy(&bits, &lambda, sizeof bits);
    hs_addr boxed = fake_block(w->fake->heap, 253, 1, &bits);
    const uint64_t fields[] = {1, boxed, boxed, 21, 1, 1, 1, 1, 1};
    return fake_block(w->fake->heap, 0, 9, fields);
}

static void tracked_blocks_of_tables_orphans_and_threads(void **state)
{
    struct world w;
    world_init(&w);
    uint64_t *m = w.fake->memory;
    hs_addr config = profile(&w, 0.01);
    w.domain.words[58] = fake_memory_at(MEMPROF);
    put_entries(&w, MEMPROF + 1, 500, 6, config);
    put_entry(&w, 500, w.block, 17 << 1 | 1, 0, 1 << 3);
    put_entry(&w, 506, w.block, 18 << 1 | 1, 0, PROMOTED);
    put_entry(&w, 512, 1, 19 << 1 | 1, 0, DEALLOCATED);
    put_entry(&w, 518, 1, 1, 0, DELETED);
    put_entry(&w, 524, w.block, w.other, 0, 0);         /* another tracker's data */
    put_entry(&w, 530, 4 << 1, 20 << 1 | 1, 0, OFFSET); /* not allocated yet */
    m[MEMPROF + 9] = fake_memory_at(600);               /* orphans */
    put_entries(&w, 600, 620, 1, config);
    put_entry(&w, 620, w.other, 21 << 1 | 1, 0, 0);
    m[MEMPROF + 11] = fake_memory_at(700); /* threads */
    put_entries(&w, 700 + 3, 720, 1, config);
    put_entry(&w, 720, w.other, 22 << 1 | 1, 0, 0); /* no id yet */
    collect(&w);
    const uint64_t ids[] = {17, 18, 21};
    assert_int_equal(w.fake->roots.n_samples, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(w.fake->roots.samples[i].sample.id, ids[i]);
        assert_int_equal(w.fake->roots.samples[i].sample.words, 3);
        assert_int_equal(w.fake->roots.samples[i].sample.state,
                         i == 1 ? HS_SAMPLE_PROMOTED : HS_SAMPLE_LIVE);
    }
    assert_true(w.fake->roots.samples[2].block == w.other);
    assert_true(w.fake->roots.has_period && w.fake->roots.period_words == 100);
    size_t n_strong = 0;
    for (size_t i = 0; i < fake_n_leaves(w.fake, HS_ROOT_MEMPROF); i++)
        n_strong += !fake_leaf(w.fake, HS_ROOT_MEMPROF, i)->root.weak;
    assert_int_equal(n_strong, 1 + 3); /* user data, and the profile of each table */
    world_fini(&w);
}

/* Profiles of two rates: what a sample stands for is then not known. */
static void two_rates_have_no_period(void **state)
{
    struct world w;
    world_init(&w);
    w.domain.words[58] = fake_memory_at(MEMPROF);
    put_entries(&w, MEMPROF + 1, 500, 1, profile(&w, 0.5));
    put_entry(&w, 500, w.block, 17 << 1 | 1, 0, 0);
    w.fake->memory[MEMPROF + 9] = fake_memory_at(600);
    put_entries(&w, 600, 620, 1, profile(&w, 0.25));
    put_entry(&w, 620, w.other, 18 << 1 | 1, 0, 0);
    collect(&w);
    assert_int_equal(w.fake->roots.n_samples, 2);
    assert_true(w.fake->roots.period_words == 0);
    world_fini(&w);
}

static void tables_that_lie_are_left_out(void **state)
{
    static const double rates[] = {0, -1, 2, 1e-300, __builtin_nan(""), __builtin_inf()};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        struct world w;
        world_init(&w);
        w.domain.words[58] = fake_memory_at(MEMPROF);
        put_entries(&w, MEMPROF + 1, 500, 1, profile(&w, rates[i]));
        put_entry(&w, 500, w.block, 17 << 1 | 1, 0, 0);
        w.fake->memory[MEMPROF + 9] = fake_memory_at(600); /* its own next */
        w.fake->memory[608] = fake_memory_at(600);
        put_entries(&w, 600, 620, UINT64_MAX, 1);
        collect(&w);
        assert_int_equal(w.fake->roots.n_samples, 1);
        assert_true(w.fake->roots.period_words == 0);
        assert_non_null(fake_note(w.fake->heap, "are damaged"));
        world_fini(&w);
    }
    struct world w;
    world_init(&w);
    w.five.layout.minor = 2; /* there memprof does nothing, and its field holds anything */
    w.domain.words[58] = fake_memory_at(MEMPROF);
    put_entries(&w, MEMPROF + 1, 500, 1, 1);
    put_entry(&w, 500, w.block, 17 << 1 | 1, 0, 0);
    collect(&w);
    assert_int_equal(w.fake->roots.n_samples, 0);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_the_state_are_named_roots),
        cmocka_unit_test(finalisers_of_living_and_ended_domains),
        cmocka_unit_test(a_circle_of_ended_domains_ends),
        cmocka_unit_test(tracked_blocks_of_tables_orphans_and_threads),
        cmocka_unit_test(two_rates_have_no_period),
        cmocka_unit_test(tables_that_lie_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
