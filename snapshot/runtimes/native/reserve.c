#include "reserve.h"

#include <limits.h>

#include "symbols/ctypes.h"

enum {
    RESERVES_MAX = 1 << 20,
    RESERVES_FEW = 64, /* of a small heap, each may have one */
    RESERVES_ONE_IN = 8,
    RESERVES_ENTRY_BYTES = 24,
    RESERVE_SLACK_BYTES = 16,
    WORD = 8,
    WHOLE = 3,
    LIST_UNSURE = 1, /* two say different ones */
    END_BITS = 36
};
#define END_MASK ((UINT64_C(1) << END_BITS) - 1)
#define FROM_MAX (UINT64_C(1) << (64 - END_BITS))

static uint64_t reserves_most(uint64_t n_blocks)
{
    uint64_t n = n_blocks / RESERVES_ONE_IN + RESERVES_FEW;
    return n < RESERVES_MAX ? n : RESERVES_MAX;
}

static bool reserves_are_full(struct hs_native_reserves *reserves)
{
    uint64_t n_most = reserves_most(reserves->n_blocks) - reserves->n_without_room;
    bool is_full = reserves->used.n + reserves->lists.n >= n_most;
    reserves->was_full = reserves->was_full || is_full;
    return is_full;
}

uint64_t hs_native_reserves_bits_bytes(uint64_t n_blocks)
{
    return 2 * n_blocks / CHAR_BIT;
}

uint64_t hs_native_reserves_lists_bytes(uint64_t n_blocks)
{
    return reserves_most(n_blocks) * RESERVES_ENTRY_BYTES;
}

uint64_t hs_native_reserves_without_room(uint64_t n_blocks, uint64_t lists_bytes)
{
    uint64_t n_most = reserves_most(n_blocks), n = lists_bytes / RESERVES_ENTRY_BYTES;
    return n < n_most ? n_most - n : 0;
}

void hs_native_reserves_fini(struct hs_native_reserves *reserves)
{
    hs_dict_fini(&reserves->used);
    hs_dict_fini(&reserves->lists);
    hs_bitmap_fini(&reserves->whole);
    *reserves = (struct hs_native_reserves){0};
}

/* Packs a use into one number: the words before what is in use, and those up to its end. */
static uint64_t reserves_pack(struct hs_native_use use)
{
    uint64_t from = use.from / WORD, end = use.end / WORD + (use.end % WORD != 0);
    return (from < FROM_MAX ? from : 0) << END_BITS | (end < END_MASK ? end : END_MASK);
}

static struct hs_native_use reserves_unpack(uint64_t packed, uint64_t n_bytes)
{
    uint64_t end = packed & END_MASK;
    bool is_all = end == END_MASK || end * WORD > n_bytes;
    return (struct hs_native_use){(packed >> END_BITS) * WORD, is_all ? n_bytes : end * WORD, true,
                                  0};
}

/* Returns 3 less the words, two at most, that an allocator added to a block else all in use; 0:
 * nothing was said. A larger number says more. */
static unsigned reserves_whole(const struct hs_native_reserves *reserves, uint64_t rank)
{
    return reserves->whole.n_bits == 0 ? 0
                                       : hs_bitmap_get(&reserves->whole, 2 * rank) +
                                             2U * hs_bitmap_get(&reserves->whole, 2 * rank + 1);
}

static void reserves_say_whole(struct hs_native_reserves *reserves, uint64_t rank, unsigned whole)
{
    if (whole <= reserves_whole(reserves, rank))
        return;
    for (unsigned bit = 0; bit < 2; bit++)
        if ((whole >> bit & 1) != 0)
            hs_bitmap_set(&reserves->whole, 2 * rank + bit);
        else
            hs_bitmap_clear(&reserves->whole, 2 * rank + bit);
}

hs_status hs_native_reserves_say(struct hs_native_reserves *reserves, uint64_t rank,
                                 uint64_t n_bytes, struct hs_native_use use, uint64_t element_bytes,
                                 struct hs_error *err)
{
    if (use.end > n_bytes || use.from > use.end)
        return HS_OK; /* it is not of this block */
    if (reserves->whole.n_bits == 0)
        HS_TRY(hs_bitmap_init(&reserves->whole, 2 * reserves->n_blocks, err));
    const uint64_t *known = hs_dict_find(&reserves->used, rank);
    if (known != NULL) {
        const struct hs_native_use other = reserves_unpack(*known, n_bytes);
        use.from = other.from < use.from ? other.from : use.from;
        use.end = other.end > use.end ? other.end : use.end;
    }
    uint64_t n_spare = n_bytes - use.end;
    if (use.from == 0 && n_spare <= RESERVE_SLACK_BYTES) {
        reserves_say_whole(reserves, rank, WHOLE - (unsigned)(n_spare / WORD));
        return HS_OK;
    }
    if (use.from == 0 && n_spare < element_bytes) {
        reserves_say_whole(reserves, rank, WHOLE);
        return HS_OK;
    }
    if (reserves_whole(reserves, rank) != 0 || (known != NULL && *known == reserves_pack(use)) ||
        (known == NULL && reserves_are_full(reserves)))
        return HS_OK;
    return hs_dict_put(&reserves->used, rank, reserves_pack(use), err);
}

hs_status hs_native_reserves_say_list(struct hs_native_reserves *reserves, uint64_t rank,
                                      hs_addr list, struct hs_error *err)
{
    const uint64_t *known = hs_dict_find(&reserves->lists, rank);
    if (known != NULL ? *known == list : reserves_are_full(reserves))
        return HS_OK;
    return hs_dict_put(&reserves->lists, rank, known == NULL ? list : LIST_UNSURE, err);
}

static struct hs_native_use reserves_use(const struct hs_native_reserves *reserves, uint64_t rank,
                                         uint64_t n_bytes)
{
    unsigned whole = reserves_whole(reserves, rank);
    if (whole != 0)
        return (struct hs_native_use){0, n_bytes - (WHOLE - whole) * WORD, true, 0};
    const uint64_t *known = reserves->used.n == 0 ? NULL : hs_dict_find(&reserves->used, rank);
    return known == NULL ? (struct hs_native_use){0, n_bytes, false, 0}
                         : reserves_unpack(*known, n_bytes);
}

struct hs_native_use hs_native_reserves_use(const struct hs_native_reserves *reserves,
                                            uint64_t rank, uint64_t n_bytes)
{
    struct hs_native_use use = reserves_use(reserves, rank, n_bytes);
    if (reserves->lists.n != 0)
        use.list = hs_dict_get(&reserves->lists, rank, 0);
    use.list = use.list == LIST_UNSURE ? 0 : use.list;
    return use;
}

struct hs_native_listed hs_native_listed_of(const struct hs_image *image,
                                            const struct hs_native_use *use)
{
    struct hs_native_listed listed = {0};
    const uint8_t *numbers =
        use->list == 0 ? NULL : hs_image_bytes(image, use->list, HS_CLIST_BYTES);

    for (size_t i = 0; numbers != NULL && i < HS_CLIST_BYTES; i++)
        if (numbers[i] != HS_CLIST_NONE)
            listed.bits[numbers[i] / 64] |= UINT64_C(1) << numbers[i] % 64;
    listed.is_any = numbers != NULL;
    return listed;
}
