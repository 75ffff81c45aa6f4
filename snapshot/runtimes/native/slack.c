#include "slack.h"

#include "base/alloc.h"

enum {
    SLACK_WORD = 8,
    SLACK_STEP = 16,
    SLACK_SIZES = 1 << 10, /* up to 16 KiB */
    SLACK_ENOUGH = 1 << 14 /* blocks of a size */
};
/* The bounds of what is a pointer: in so many blocks of a size, in one of so many, and more than
 * half of what is there. */
enum { SLACK_LEAST = 4, SLACK_ONE_IN = 8 };

hs_status hs_slack_init(struct hs_slack *slack, struct hs_error *err)
{
    return HS_ALLOC(&slack->sizes, SLACK_SIZES, err);
}

void hs_slack_fini(struct hs_slack *slack)
{
    hs_free(slack->sizes);
    hs_bitmap_fini(&slack->late);
    hs_bitmap_fini(&slack->sure);
    hs_bitmap_fini(&slack->told);
    *slack = (struct hs_slack){0};
}

static struct hs_slack_size *slack_size(const struct hs_slack *slack,
                                        const struct hs_heap_block *block)
{
    uint64_t number = block->n_bytes / SLACK_STEP;
    return number < SLACK_SIZES ? &slack->sizes[number] : NULL;
}

struct hs_slack_size *hs_slack_open(const struct hs_slack *slack, const struct hs_heap_block *block)
{
    struct hs_slack_size *size = slack_size(slack, block);
    return size == NULL || size->n == SLACK_ENOUGH ? NULL : size;
}

bool hs_slack_is(const struct hs_slack *slack, const struct hs_heap_block *block, bool is_own,
                 uint64_t at, enum hs_pointer how, uint64_t target_rank)
{
    if (!hs_slack_has(block) || at + SLACK_WORD < block->n_bytes ||
        !hs_slack_is_led_to(slack, target_rank))
        return false;
    const struct hs_slack_size *size = slack_size(slack, block);
    if (is_own && slack->told.n_bits != 0 && (size == NULL || size->n < SLACK_LEAST))
        return hs_bitmap_get(&slack->told, target_rank);
    if (size == NULL)
        return true;
    uint32_t n = how == HS_POINTER_START      ? size->n_starts
                 : how == HS_POINTER_INTERIOR ? size->n_middles
                                              : 0;
    return n < SLACK_LEAST || n < size->n_words - n || (uint64_t)n * SLACK_ONE_IN < size->n;
}
