/* links: hs_heaps hs_process hs_symbols hs_base */
/* fuzz: -max_len=200 */
/* The reader of PostgreSQL's memory contexts against damage to a made backend.
 *
 *   u8 release; u8 more of everything, whether malloc is known; then words are overwritten:
 *   {u16 place, u8 how, u16 what}... */
#include <assert.h>
#include <string.h>

#include "fake_malloc_allocator.h"
#include "fake_postgres.h"
#include "patch_word.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { PATCH_BYTES = 5, MOST_PATCHES = 36, N_WORDS = FAKE_POSTGRES_BYTES / 8 };

static struct fake_postgres fake;
static struct hs_heaps heaps;

/* The words that the reader may look at begin with the variable; most are used up to the heap's
 * end. */
static void patch(const uint8_t *bytes)
{
    const hs_addr n_used = fake.heap - FAKE_POSTGRES_BASE;
    uint16_t place, what;

    memcpy(&place, bytes, sizeof place);
    memcpy(&what, bytes + 3, sizeof what);
    uint64_t *word = fake_postgres_word(&fake, FAKE_POSTGRES_BASE + place % (n_used / 8) * 8);
    uint64_t *other = fake_postgres_word(&fake, FAKE_POSTGRES_BASE + what % (n_used / 8) * 8);
    const uint64_t pointers[] = {FAKE_POSTGRES_BASE + what, *word + (uint64_t)what * 8};
    patch_word(word, other, bytes[2], what, pointers);
}

static bool is_inside(hs_addr begin, hs_addr end)
{
    return begin >= FAKE_POSTGRES_BASE && begin <= end && end <= FAKE_POSTGRES_END;
}

static bool is_object(const struct hs_heap_block *block)
{
    return block->span->tag % 2 != 0;
}

/* All that is said to be owned: how many blocks of these ranges say so, too. */
static uint64_t walk_owned(const struct hs_heap_block *owner)
{
    uint64_t cursor = 0, n_ranges = 0, n_owned = 0;
    hs_addr begin, end;

    while (hs_heaps_owned(&heaps, owner, &cursor, &begin, &end)) {
        struct hs_heap_iterator it = {.map = &heaps.map};
        struct hs_heap_block block;
        assert(is_inside(begin, end) && ++n_ranges <= N_WORDS);
        uint64_t rank = hs_heap_map_below(&heaps.map, begin);
        if (rank >= heaps.map.n_blocks)
            continue;
        hs_heap_map_seek(&it, rank);
        while (hs_heap_map_next(&it, &block) && block.begin < end)
            n_owned += block.span->owner == HS_OWNER_postgres &&
                       hs_heaps_owner(&heaps, &block) == owner->begin;
    }
    return n_owned;
}

/* Of one block of ours; how many it owns. */
static uint64_t check_block(const struct hs_heap_block *block)
{
    struct hs_object_name name = {0};
    hs_addr owner = hs_heaps_owner(&heaps, block);
    uint64_t cursor = 0;
    hs_addr begin, end;

    assert(hs_heaps_pool_name(&heaps, block->span) != 0);
    assert(is_inside(owner, owner + 8));
    assert(hs_heaps_object_name(&heaps, block, &name) == is_object(block));
    if (!is_object(block)) {
        assert(!hs_heaps_owned(&heaps, block, &cursor, &begin, &end));
        return 0;
    }
    assert(name.name != 0 &&
           (block->n_bytes == 112 || block->n_bytes == 128 || block->n_bytes == 152 ||
            block->n_bytes == 200 || block->n_bytes == 224));
    return walk_owned(block);
}

/* Is its owner a context that is a block? Only damage makes it none. */
static bool has_owner(const struct hs_heap_block *block)
{
    struct hs_heap_block owner;
    hs_addr at = hs_heaps_owner(&heaps, block);

    return hs_heap_map_resolve(&heaps.map, at, &owner) == HS_POINTER_START &&
           owner.span->owner == HS_OWNER_postgres && is_object(&owner);
}

/* Blocks are disjoint, and who is owned by a context is what it owns. */
static void check_blocks(void)
{
    struct hs_heap_iterator it = {.map = &heaps.map};
    struct hs_heap_block block;
    hs_addr before = FAKE_POSTGRES_BASE;
    uint64_t n_owned = 0, n_with_owner = 0;

    while (hs_heap_map_next(&it, &block)) {
        assert(block.n_bytes != 0 && block.begin >= before && block.bytes != NULL &&
               is_inside(block.begin, block.begin + block.n_bytes));
        before = block.begin + block.n_bytes;
        if (block.span->owner != HS_OWNER_postgres)
            continue;
        n_owned += check_block(&block);
        n_with_owner += has_owner(&block);
    }
    assert(n_owned == n_with_owner);
}

static void check_ledger(void)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t n_resident, n_bytes = 0;

    if (hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err) != HS_OK)
        assert(false);
    for (size_t i = 0; i < heaps.ledger.n_rows; i++) {
        const struct hs_memory_row *row = &heaps.ledger.rows[i];
        assert(row->n_bytes <= FAKE_POSTGRES_BYTES && row->resident_bytes <= row->n_bytes);
        n_bytes += row->n_bytes;
    }
    assert(n_bytes == FAKE_POSTGRES_BYTES && n_resident == FAKE_POSTGRES_BYTES);
}

/* Without damage all contexts but the slabs are read. */
static void check_sound(void)
{
    assert(fake.findings.n_torn == 0 && fake.findings.n_proofs == 1);
    assert(fake.findings.proofs[0].holds && fake.findings.proofs[0].found == fake.n_contexts - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;

    if (n_bytes < 2)
        return 0;
    fake_postgres_make(&fake, bytes[0] % FAKE_POSTGRES_RELEASES, bytes[1] % 8);
    fake.has_no_malloc = bytes[1] / 8 % 2 != 0;
    const size_t n_most = (n_bytes - 2) / PATCH_BYTES;
    for (size_t i = 0; i < n_most && i < MOST_PATCHES; i++)
        patch(bytes + 2 + i * PATCH_BYTES);
    hs_status status = fake_postgres_read(&fake, &heaps, &err);
    assert(status == HS_OK);
    if (n_most == 0)
        check_sound();
    check_blocks();
    check_ledger();
    hs_heaps_close(&heaps);
    fake_postgres_close(&fake);
    return 0;
}
