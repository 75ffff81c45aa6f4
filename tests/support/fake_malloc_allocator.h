/* The malloc of made processes, in glibc's place. In no library: each program that reads one
 * includes it once, and no other gets it. */
#ifndef HS_TESTS_FAKE_MALLOC_ALLOCATOR_H
#define HS_TESTS_FAKE_MALLOC_ALLOCATOR_H

#include "fake_malloc.h"
#include "heaps/allocator.h"

static hs_status malloc_open(const struct hs_process_copy *process, void **ret_state,
                             struct hs_error *err)
{
    static char state;

    (void)process, (void)err;
    if (fake_malloc_n_blocks != 0)
        *ret_state = &state;
    return HS_OK;
}

static void malloc_close(void *state)
{
    (void)state;
}

static const char *malloc_version(const void *state)
{
    (void)state;
    return "";
}

static hs_status malloc_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                  struct hs_error *err)
{
    (void)state;
    for (size_t i = 0; i < fake_malloc_n_blocks; i++) {
        const struct fake_malloc_block *block = &fake_malloc_blocks[i];
        struct hs_heap_span span = {.begin = block->begin,
                                    .end = block->end,
                                    .form = HS_SPAN_SINGLE,
                                    .owner = HS_OWNER_glibc};
        HS_TRY(hs_heap_map_add(map, &span, err));
        HS_TRY(hs_ledger_claim(ledger, "glibc", HS_MEMORY_LIVE, block->begin, block->end, 0, err));
    }
    return HS_OK;
}

static hs_status malloc_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                             struct hs_error *err)
{
    (void)state, (void)ledger, (void)err;
    for (size_t i = 0; i < fake_malloc_n_blocks; i++)
        (void)hs_heap_map_set(map, fake_malloc_blocks[i].begin);
    return HS_OK;
}

const struct hs_allocator hs_allocator_glibc = {.name = "glibc",
                                                .open = malloc_open,
                                                .close = malloc_close,
                                                .version = malloc_version,
                                                .add_spans = malloc_add_spans,
                                                .mark = malloc_mark};

#endif
