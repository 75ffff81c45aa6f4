/* links: hs_dump hs_native hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
/* What a target can do to whoever reads it without a byte of its own being wrong: reserve more than
 * anybody has, have many threads in one place, register everything many times. */
#include "unit.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hostile_process.h"
#include "process/image_shadow.h"

static struct hs_error err;

static struct hostile_process *made(unsigned kind, unsigned flags)
{
    const uint8_t head[2] = {(uint8_t)kind, (uint8_t)flags};
    return hostile_process_new(head, sizeof head);
}

static void dump(struct hostile_process *p)
{
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    assert_true(fd >= 0);
    if (hostile_process_dump(p, fd, &err) != HS_OK)
        fail_msg("%s", err.message);
    close(fd);
}

static double cpu_seconds(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static uint64_t resident_bytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return (uint64_t)usage.ru_maxrss << 10;
}

/* A sound process of each kind gives a sound snapshot, of which the proofs hold. */
static void every_kind_is_sound(void **state)
{
    for (unsigned kind = 0; kind < HOSTILE_KINDS; kind++) {
        struct hostile_process *p = made(kind, 0);
        dump(p);
        assert_true(p->dump.heaps.map.n_blocks > 20);
        assert_true(p->native->roots.n_leaves > 20);
        assert_true(p->dump.findings.n_proofs > 0);
        hostile_process_free(p);
    }
}

/* 576 GB that were never touched: neither read page by page nor paid for. */
static void reserves_cost_nothing(void **state)
{
    for (unsigned kind = 0; kind < HOSTILE_KINDS; kind++) {
        struct hostile_process *p = made(kind, HOSTILE_SPARSE);
        uint64_t before = resident_bytes();
        double start = cpu_seconds();
        dump(p);
        assert_true(cpu_seconds() - start < 10);
        assert_true(resident_bytes() - before < UINT64_C(512) << 20);
        hostile_process_free(p);
    }
}

/* The whole reserve as one block of malloc's, a chunk with a mapping of its own. */
static void a_large_block_may_be_empty(void **state)
{
    struct hostile_process *p = made(0, HOSTILE_SPARSE);
    struct hs_heap_block block;
    double start = cpu_seconds();
    for (size_t i = 0; i < p->dump.image.n_ranges; i++) {
        struct hs_image_range *range = &p->dump.image.ranges[i];
        if (range->begin == HOSTILE_RESERVE_AT) {
            struct hs_image_shadow *shadow = &p->dump.image.shadows[range->shadow];
            ((uint64_t *)(void *)shadow->bytes)[1] = HOSTILE_RESERVE_BYTES | GLIBC_IS_MMAPPED;
            hs_image_shadow_set_present(shadow, shadow->begin, shadow->begin + 4096);
        }
    }
    dump(p);
    assert_int_equal(hs_heap_map_resolve(&p->dump.heaps.map, HOSTILE_RESERVE_AT + 16, &block),
                     HS_POINTER_START);
    assert_int_equal(block.n_bytes, HOSTILE_RESERVE_BYTES - 16);
    assert_true(cpu_seconds() - start < 10);
    hostile_process_free(p);
}

static size_t leaves_of(unsigned kind, size_t n_threads)
{
    struct hostile_process *p = made(kind, 0);
    for (size_t i = 3; i < n_threads; i++) {
        p->threads[i] = p->threads[1];
        p->threads[i].tid = 7 + (pid_t)i;
        p->threads[i].regs.rbx = p->threads[i].regs.rip = 0;
    }
    p->dump.target.n_threads = n_threads;
    dump(p);
    size_t n = p->native->roots.n_leaves;
    hostile_process_free(p);
    return n;
}

/* Threads that all say that they run on the same stack with the same thread-local storage. */
static void many_threads_share_one_stack(void **state)
{
    for (unsigned kind = 0; kind < HOSTILE_KINDS; kind += 4) {
        size_t few = leaves_of(kind, 3), many = leaves_of(kind, HOSTILE_THREADS);
        assert_true(many <= few + 2ul * HOSTILE_THREADS);
    }
}

static void put_everywhere(struct hostile_process *p, size_t area, hs_addr (*word)(hs_addr at))
{
    for (size_t i = 0; i < p->areas[area].n_bytes / 8; i++)
        p->areas[area].words[i] = word(p->areas[area].at + 8 * (hs_addr)i);
}

static hs_addr head_of_list(hs_addr at)
{
    return (at & ~(hs_addr)15) - 16;
}

static hs_addr itself(hs_addr at)
{
    return at & ~(hs_addr)31;
}

static hs_addr first_cache(hs_addr at)
{
    return FAKE_BREAK_AT + 16;
}

/* Data that is an array of empty lists from end to end, as a thousand main arenas have them; a
 * stack of control blocks; storage of threads where every word leads to a thread cache. */
static void all_words_mean_something(void **state)
{
    static hs_addr (*const words[])(hs_addr) = {head_of_list, itself, first_cache};
    double start = cpu_seconds();
    for (unsigned kind = 0; kind < HOSTILE_KINDS; kind += 4)
        for (size_t how = 0; how < 3; how++) {
            struct hostile_process *p = made(kind, 0);
            size_t n_areas = p->n_areas;
            for (size_t area = 0; area < n_areas; area++) {
                put_everywhere(p, area, words[how]);
                dump(p);
                hostile_process_free(p);
                p = made(kind, 0);
            }
            hostile_process_free(p);
        }
    assert_true(cpu_seconds() - start < 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_sound),
        cmocka_unit_test(reserves_cost_nothing),
        cmocka_unit_test(a_large_block_may_be_empty),
        cmocka_unit_test(many_threads_share_one_stack),
        cmocka_unit_test(all_words_mean_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
