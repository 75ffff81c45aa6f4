/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_native.h"
static struct hs_error err;

#define ANON_AT UINT64_C(0x7f6000000000)
#define FILE_AT UINT64_C(0x7f6100000000)
enum { ANON_BYTES = 3 << 20 };

static uint64_t anon[ANON_BYTES / 8], file[512];

static size_t n_pieces(const struct fake_native *f, hs_addr *ret_begin, hs_addr *ret_end)
{
    const struct hs_heap_map *map = &f->dump.heaps.map;
    size_t n = 0;
    for (size_t i = 0; i < map->n_spans; i++) {
        const struct hs_heap_span *s = &map->spans[i];
        if (s->owner != HS_OWNER_MAPPING)
            continue;
        assert_int_equal(s->form, HS_SPAN_SINGLE);
        assert_int_equal(s->states, HS_BLOCK_STATIC | HS_BLOCK_MAPPING);
        assert_true(s->end - s->begin <= 1 << 20);
        if (n++ == 0)
            *ret_begin = s->begin;
        *ret_end = s->end;
    }
    return n;
}

static struct fake_native *with_mappings(void)
{
    struct fake_native *f = fake_native_new();
    memset(anon, 0, sizeof anon);
    memset(file, 0, sizeof file);
    fake_native_map(f, ANON_AT, anon, sizeof anon, "rw-p", "");
    f->has_tls = true;
    fake_native_open(f);
    struct hs_thread *t = fake_native_thread(f, FAKE_N_PID);
    t->regs.rsp = FAKE_N_STACK_AT + 0x1000;
    t->regs.fs_base = FAKE_N_TCB_AT;
    f->tls[512] = f->tls[514] = FAKE_N_TCB_AT;
    return f;
}

static void add(struct fake_native *f)
{
    assert_int_equal(hs_native_add_unclaimed(&f->native, &err), HS_OK);
}

static void what_nobody_claims_is_cut_in_pieces(void **state)
{
    struct fake_native *f = with_mappings();
    hs_addr begin = 0, end = 0;
    fake_native_map(f, FILE_AT, file, sizeof file, "rw-p", "/tmp/private data");
    fake_native_map(f, FILE_AT + 0x10000, file, sizeof file, "rw-s", "/dev/shm/shared");
    fake_native_map(f, FILE_AT + 0x20000, file, sizeof file, "r--p", "/usr/lib/locale");
    fake_native_map(f, FILE_AT + 0x30000, file, sizeof file, "rw-p", "[vvar]");
    fake_native_map(f, FILE_AT + 0x40000, NULL, 0x1000, "rw-p", ""); /* not in the copy */
    add(f);
    /* Three of the anonymous mapping, one of the private file and one of shared memory; data, stack
     * and TLS are others'. */
    assert_int_equal(n_pieces(f, &begin, &end), 5);
    assert_true(begin == ANON_AT && end == FILE_AT + 0x10000 + sizeof file);
    fake_native_mark(f);
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&f->dump.heaps.map, ANON_AT + (2 << 20) + 5, &block),
                     HS_POINTER_INTERIOR);
    assert_true(block.begin == ANON_AT + (2 << 20) && block.n_bytes == 1 << 20);
    fake_native_free(f);
}

static void claims_and_stacks_are_left_out(void **state)
{
    struct fake_native *f = with_mappings();
    hs_addr begin = 0, end = 0;
    assert_int_equal(hs_ledger_claim(&f->dump.heaps.ledger, "glibc", HS_MEMORY_LIVE, ANON_AT,
                                     ANON_AT + (1 << 20), 1, &err),
                     HS_OK);
    struct hs_thread *t = fake_native_thread(f, 8); /* its stack is not merged with the rest */
    t->regs.rsp = FILE_AT + 0x100;
    fake_native_map(f, FILE_AT, file, sizeof file, "rw-p", "");
    add(f);
    assert_int_equal(n_pieces(f, &begin, &end), 2);
    assert_true(begin == ANON_AT + (1 << 20) && end == ANON_AT + (3 << 20));
    fake_native_free(f);
}

static void memory_that_was_never_touched_is_no_node(void **state)
{
    struct fake_native *f = with_mappings();
    hs_addr begin = 0, end = 0;
    fake_native_map(f, UINT64_C(0x600000000000), NULL, (size_t)1 << 44, "rw-p", "");
    add(f);
    assert_int_equal(n_pieces(f, &begin, &end), 3);
    fake_native_free(f);
}

static void stacks_of_ended_threads_are_told_in_a_note(void **state)
{
    enum { WORDS = 2048, TCB = WORDS - 304 };
    static uint64_t stack[WORDS];
    hs_addr guard = FILE_AT, at = guard + 0x1000, tcb = at + TCB * 8, begin = 0, end = 0;
    struct fake_native *f = with_mappings();
    memset(stack, 0, sizeof stack);
    stack[TCB] = stack[TCB + 2] = tcb;
    stack[TCB + 200] = guard;
    stack[TCB + 201] = 0x1000 + sizeof stack;
    stack[TCB + 202] = 0x1000;
    fake_native_map(f, guard, NULL, 0x1000, "---p", "");
    fake_native_map(f, at, stack, sizeof stack, "rw-p", "");
    add(f);
    assert_int_equal(n_pieces(f, &begin, &end), 3);
    assert_true(fake_native_notes(f, "1 stack of ended threads (16 KiB resident)"));
    hs_addr part, part_end;
    assert_false(
        hs_ledger_next_unclaimed(&f->dump.heaps.ledger, at, at + sizeof stack, &part, &part_end));
    fake_native_free(f);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 1) {
        struct fake_native *f = with_mappings();
        (void)FAIL_EACH_TRY(each, hs_native_add_unclaimed(&f->native, &err));
        fake_native_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_claims_is_cut_in_pieces),
        cmocka_unit_test(claims_and_stacks_are_left_out),
        cmocka_unit_test(memory_that_was_never_touched_is_no_node),
        cmocka_unit_test(stacks_of_ended_threads_are_told_in_a_note),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
