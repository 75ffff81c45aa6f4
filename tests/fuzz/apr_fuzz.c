/* links: hs_heaps hs_process hs_symbols hs_base */
/* fuzz: -max_len=200 */
/* The reader of APR's pools against damage to a made process: words are overwritten.
 *
 *   u8 how it is made; {u16 place, u8 how, u16 what}... */
#include <assert.h>
#include <string.h>

#include "fake_apr.h"
#include "fake_malloc_allocator.h"
#include "patch_word.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { PATCH_BYTES = 5, MOST_PATCHES = 36, NODE_WORDS = 5, POOL_WORDS = 14, DATA_WORDS = 64 };

static struct fake_apr fake;
static struct hs_heaps heaps;

/* A word of a node, of a pool, or of the data with the allocators. */
static uint64_t *word_of(uint16_t number)
{
    unsigned which = number / 3;

    switch (number % 3) {
    case 0:
        return fake_apr_word(&fake, fake.nodes[which % fake.n_nodes].begin +
                                        which / fake.n_nodes % NODE_WORDS * 8);
    case 1:
        return fake_apr_word(&fake, fake.pools[which % fake.n_pools].at +
                                        which / fake.n_pools % POOL_WORDS * 8);
    default:
        return fake_apr_word(&fake, FAKE_APR_BASE + (which % 8 == 0 ? 16 : 0x400) +
                                        which / 8 % DATA_WORDS * 8);
    }
}

static void patch(const uint8_t *bytes)
{
    uint16_t place, what;

    memcpy(&place, bytes, sizeof place);
    memcpy(&what, bytes + 3, sizeof what);
    const uint64_t pointers[] = {fake.pools[what % fake.n_pools].at + what / fake.n_pools % 4 * 8,
                                 fake.nodes[what % fake.n_nodes].begin +
                                     what / fake.n_nodes % 3 * 4096};
    patch_word(word_of(place), word_of(what), bytes[2], what, pointers);
}

static bool is_object(const struct hs_heap_block *block)
{
    struct hs_object_name name;
    return hs_heaps_object_name(&heaps, block, &name);
}

/* All that is said to be owned says so, too, and is told once. */
static uint64_t count_owned(const struct hs_heap_block *owner)
{
    uint64_t cursor = 0, n = 0;
    hs_addr begin, end;

    while (hs_heaps_owned(&heaps, owner, &cursor, &begin, &end)) {
        struct hs_heap_block block;
        assert(begin <= end && begin >= FAKE_APR_NODES && end <= FAKE_APR_END);
        if (begin == end)
            continue;
        if (hs_heap_map_resolve(&heaps.map, begin, &block) != HS_POINTER_START)
            continue; /* malloc has part of it */
        assert(block.begin + block.n_bytes == end && ++n <= heaps.map.n_blocks);
        assert(hs_heaps_owner(&heaps, &block) == owner->begin);
    }
    return n;
}

static void check_blocks(void)
{
    struct hs_heap_iterator it = {.map = &heaps.map};
    struct hs_heap_block block;
    hs_addr before = FAKE_APR_NODES;
    uint64_t n_owned = 0, n_with_owner = 0;

    while (hs_heap_map_next(&it, &block)) {
        assert(block.begin >= before && block.begin + block.n_bytes <= FAKE_APR_END);
        before = block.begin + block.n_bytes;
        if (block.span->owner != HS_OWNER_apr)
            continue;
        assert(hs_heaps_pool_name(&heaps, block.span) != 0);
        hs_addr owner = hs_heaps_owner(&heaps, &block);
        assert(owner != 0);
        n_with_owner += owner >= FAKE_APR_NODES; /* not the variable */
        n_owned += is_object(&block) ? count_owned(&block) : 0;
    }
    assert(n_owned == n_with_owner);
}

static void check_ledger(void)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t n_resident, sum = 0;

    hs_status status = hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err);
    assert(status == HS_OK && n_resident == FAKE_APR_BYTES);
    for (size_t i = 0; i < heaps.ledger.n_rows; i++)
        sum += heaps.ledger.rows[i].n_bytes;
    assert(sum == FAKE_APR_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;

    if (n_bytes == 0)
        return 0;
    fake_apr_make(&fake, 112U + bytes[0] % 4 * 8U);
    fake.is_from_malloc = bytes[0] / 4 % 2 != 0;
    for (size_t i = 0; i < (n_bytes - 1) / PATCH_BYTES && i < MOST_PATCHES; i++)
        patch(bytes + 1 + i * PATCH_BYTES);
    hs_status status = fake_apr_read(&fake, &heaps, &err);
    assert(status == HS_OK);
    if (n_bytes <= PATCH_BYTES)
        assert(fake.findings.n_proofs == 1 && fake.findings.proofs[0].found == FAKE_APR_MADE);
    check_blocks();
    check_ledger();
    hs_heaps_close(&heaps);
    fake_apr_close(&fake);
    return 0;
}
