/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* Tracked blocks: ids, user data, flags, entries of threads, and tables that lie. */
#include "unit.h"

#include "fake_roots.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_become_samples),
        cmocka_unit_test(entries_of_a_thread_hold_their_call_stack),
        cmocka_unit_test(lengths_that_lie_end_with_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
