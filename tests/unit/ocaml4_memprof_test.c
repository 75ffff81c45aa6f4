/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* Tracked blocks: ids, user data, flags, entries of threads, and tables that lie. */
#include "unit.h"

#include "fake_roots.h"
#include "ocaml/recorded.h"
#include <heapsnap/recorded.h>

enum { PROMOTED = 1 << 3, DEALLOCATED = 1 << 4, DELETED = 1 << 7, ENTRY_WORDS = 6 };

static void collect(struct fake_roots *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    fake_roots_seal(fake);
    assert_int_equal(fake_roots_collect(fake, &err), HS_OK);
}

static void put_entry(struct fake_roots *fake, size_t n, uint64_t block, uint64_t user_data,
                      uint64_t running, uint64_t flags)
{
    uint64_t *e = &fake->memory[n * ENTRY_WORDS];
    e[0] = block;
    e[1] = 3;
    e[2] = 2;
    e[3] = user_data;
    e[4] = running;
    e[5] = flags;
}

static struct fake_roots *with_entries(size_t at, uint64_t len)
{
    struct fake_roots *fake = fake_roots_new();
    fake->data[at] = fake_memory_at(0);
    fake->data[at + 1] = 128;
    fake->data[at + 2] = len;
    fake->data[at + 3] = len;
    return fake;
}

static void ids_become_samples(void **state)
{
    struct fake_roots *fake = with_entries(FAKE_FREE, 7);
    fake_statics(fake)->entries_global = fake_data_at(FAKE_FREE);
    hs_addr block = fake_block(fake->heap, 0, 2, NULL);
    hs_addr data = fake_block(fake->heap, 0, 5, NULL);
    put_entry(fake, 0, block, 17 << 1 | 1, 0, 0);
    put_entry(fake, 1, block, 18 << 1 | 1, 0, 1 | PROMOTED);
    put_entry(fake, 2, 1, 19 << 1 | 1, 0, DEALLOCATED);
    put_entry(fake, 3, 1, 1, 0, DELETED);
    put_entry(fake, 4, block, data, 0, 0);             /* another tracker's data */
    put_entry(fake, 5, block, 1, 0x1000, PROMOTED);    /* its callback runs: no id just now */
    put_entry(fake, 6, 0x42000001, 20 << 1 | 1, 0, 0); /* a placeholder */
    collect(fake);
    assert_int_equal(fake->roots.n_samples, 2);
    assert_int_equal(fake->roots.samples[0].sample.id, 17);
    assert_int_equal(fake->roots.samples[0].sample.n_samples, 3);
    assert_int_equal(fake->roots.samples[0].sample.words, 3);
    assert_int_equal(fake->roots.samples[0].sample.state, HS_SAMPLE_LIVE);
    assert_true(fake->roots.samples[0].block == block);
    assert_int_equal(fake->roots.samples[1].sample.state, HS_SAMPLE_PROMOTED);
    size_t strong = 0;
    for (size_t i = 0; i < fake_n_leaves(fake, HS_ROOT_MEMPROF); i++) {
        const struct hs_root_leaf *leaf = fake_leaf(fake, HS_ROOT_MEMPROF, i);
        assert_true(leaf->target == (leaf->root.weak ? block : data));
        strong += !leaf->root.weak;
    }
    assert_int_equal(strong, 1);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_MEMPROF), 5);
    fake_roots_free(fake);
}

/* Entries of a thread have a call stack as user data and no id yet. */
static void entries_of_a_thread_hold_their_call_stack(void **state)
{
    struct fake_roots *fake = with_entries(FAKE_MAIN_CONTEXT + 2, 1);
    hs_addr stack = fake_block(fake->heap, 0, 5, NULL);
    put_entry(fake, 0, stack, stack, 0, 0);
    collect(fake);
    assert_int_equal(fake->roots.n_samples, 0);
    assert_int_equal(fake_n_leaves(fake, HS_ROOT_MEMPROF), 2);
    assert_non_null(fake_note(fake->heap, "memprof was not scanned")); /* no global table */
    fake_roots_free(fake);
}

static void lengths_that_lie_end_with_the_memory(void **state)
{
    struct fake_roots *fake = with_entries(FAKE_FREE, UINT64_C(1) << 31);
    fake_statics(fake)->entries_global = fake_data_at(FAKE_FREE);
    collect(fake);
    assert_int_equal(fake->roots.n_samples, 0);
    assert_non_null(fake_note(fake->heap, "could not be read"));
    fake_roots_free(fake);
}

/* ---- with the recorder's table, at words of `memory` */
enum { SLOTS = 1024, N_SLOTS = 64, STACKS = 2048, STACKS_BYTES = 2048, SITE = 4, OTHER = 40 };

static void put_slot(struct fake_roots *fake, unsigned n, uint64_t number, uint64_t id,
                     uint32_t stack)
{
    const struct hs_record_slot slot = {hs_record_key(number, 1), id, 16, stack, 2};
    memcpy(&fake->memory[SLOTS + n * sizeof slot / 8], &slot, sizeof slot);
}

/* A stack of one place: line 7 of function f in file a.ml. */
static void put_site(struct fake_roots *fake, unsigned at, unsigned place)
{
    const struct hs_record_stack head = {.n_frames = 1}, text = {.n_frames = 2};
    uint64_t *site = &fake->memory[STACKS + at], *named = &fake->memory[STACKS + place];
    memcpy(site, &head, sizeof head);
    site[sizeof head / 8] = HS_RECORD_SCRIPT | place;
    memcpy(named, &text, sizeof text);
    named[sizeof text / 8] = 7 | UINT64_C(4) << 32 | UINT64_C(1) << 48;
    memcpy(&named[sizeof text / 8 + 1], "a.mlf", 5);
}

static struct hs_record_anchor *anchor_of(struct fake_roots *fake)
{
    return (void *)&fake->data[FAKE_RECORDER];
}

static struct fake_roots *with_recorder(void)
{
    struct fake_roots *fake = with_entries(FAKE_FREE, 3);
    const struct hs_record_anchor anchor = {.magic = HS_RECORD_MAGIC,
                                            .version = HS_RECORD_VERSION,
                                            .bytes = sizeof anchor,
                                            .pid = (uint32_t)fake->target.pid,
                                            .period_bytes = 80000,
                                            .begun_us = 1700000000000000,
                                            .slots = fake_memory_at(SLOTS),
                                            .n_slots = N_SLOTS,
                                            .stacks = fake_memory_at(STACKS),
                                            .stacks_bytes = STACKS_BYTES,
                                            .ocaml = HS_RECORD_OCAML_SAMPLES};
    _Static_assert(FAKE_RECORDER + sizeof anchor / 8 <= FAKE_DATA_WORDS, "it has room");
    *anchor_of(fake) = anchor;
    fake_statics(fake)->entries_global = fake_data_at(FAKE_FREE);
    hs_addr block = fake_block(fake->heap, 0, 2, NULL);
    put_entry(fake, 0, block, 17 << 1 | 1, 0, 0);
    put_entry(fake, 1, block, (UINT64_C(1) << 40 | 3) << 1 | 1, 0, 0); /* another generation */
    put_entry(fake, 2, block, 19 << 1 | 1, 0, 0);
    put_slot(fake, 5, 17, 117, SITE);
    put_slot(fake, 9, UINT64_C(1) << 40 | 3, 103, 0);
    put_site(fake, SITE, OTHER);
    return fake;
}

static void samples_get_ids_and_sites_of_the_recorder(void **state)
{
    struct fake_roots *fake = with_recorder();
    collect(fake);
    assert_true(fake->roots.is_recorded);
    assert_true(fake->roots.recorder.period_words == 10000);
    assert_int_equal(fake->roots.recorder.kind, HS_SAMPLER_MEMPROF);
    assert_int_equal(fake->roots.n_samples, 2); /* the third is of nobody that is known */
    const struct hs_sample *first = &fake->roots.samples[0].sample;
    assert_int_equal(first->id, 117);
    assert_int_equal(first->n_samples, 2);
    assert_int_equal(first->site, 0);
    assert_int_equal(fake->roots.samples[1].sample.id, 103);
    assert_int_equal(fake->roots.samples[1].sample.site, HS_NO_SITE);
    assert_int_equal(fake->roots.n_site_frames, 1);
    assert_int_equal(fake->roots.site_frames[0].line, 7);
    struct hs_strtab *strings = fake->heap->rt.strings;
    assert_string_equal(hs_strtab_get(strings, fake->roots.site_frames[0].function), "f");
    assert_string_equal(hs_strtab_get(strings, fake->roots.site_frames[0].file), "a.ml");
    assert_true(hs_ocaml_is_recorders(&fake->heap->rt,
                                      fake_data_at(FAKE_RECORDER) +
                                          offsetof(struct hs_record_anchor, ocaml_blocks) + 8));
    assert_false(hs_ocaml_is_recorders(&fake->heap->rt, fake_data_at(FAKE_RECORDER)));
    fake_roots_free(fake);
}

/* Tables of another process, of a program that samples by itself, or that lie. */
static void tables_of_others_are_not_joined(void **state)
{
    for (unsigned i = 0; i < 6; i++) {
        struct fake_roots *fake = with_recorder();
        struct hs_record_anchor *anchor = anchor_of(fake);
        if (i == 0)
            anchor->pid++;
        if (i == 1)
            anchor->ocaml = HS_RECORD_OCAML_OF_PROGRAM;
        if (i == 2)
            anchor->magic++;
        if (i == 3)
            anchor->n_slots = 63;
        if (i == 4)
            anchor->slots = UINT64_MAX - 7;
        if (i == 5)
            anchor->bytes = 8;
        collect(fake);
        assert_false(fake->roots.is_recorded);
        assert_int_equal(fake->roots.n_samples, 3);
        assert_int_equal(fake->roots.samples[0].sample.id, 17);
        fake_roots_free(fake);
    }
}

static void damaged_stacks_leave_their_names_out(void **state)
{
    static const uint32_t places[] = {STACKS_BYTES / 8, UINT32_MAX - 1, 200};
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        struct fake_roots *fake = with_recorder();
        put_slot(fake, 5, 17, 117, places[i]);
        collect(fake);
        assert_int_equal(fake->roots.n_samples, 2);
        assert_int_equal(fake->roots.n_site_frames, 1);
        assert_string_equal(
            hs_strtab_get(fake->heap->rt.strings, fake->roots.site_frames[0].function), "?");
        assert_non_null(fake_note(fake->heap, "are damaged"));
        fake_roots_free(fake);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_become_samples),
        cmocka_unit_test(entries_of_a_thread_hold_their_call_stack),
        cmocka_unit_test(lengths_that_lie_end_with_the_memory),
        cmocka_unit_test(samples_get_ids_and_sites_of_the_recorder),
        cmocka_unit_test(tables_of_others_are_not_joined),
        cmocka_unit_test(damaged_stacks_leave_their_names_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
