/* links: hs_heaps hs_process hs_symbols hs_base */
/* fuzz: -max_len=200 */
/* The reader of talloc's chunks against damage to a made process: words are overwritten.
 *
 *   {u16 place, u8 how, u16 what}... */
#include <assert.h>
#include <string.h>

#include "fake_talloc.h"
#include "patch_word.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { PATCH_BYTES = 5, MOST_PATCHES = 40, HEADER_WORDS = FAKE_TALLOC_HEADER / 8, SOUND = 11 };

static struct fake_talloc fake;
static struct hs_heaps heaps;

/* A word of a chunk's header, or of what lies behind it. */
static uint64_t *word_of(uint16_t number)
{
    hs_addr at = fake.chunks[number % fake.n_chunks].header - 32;
    return fake_talloc_word(&fake, at + number / fake.n_chunks % (HEADER_WORDS + 8) * 8);
}

static void patch(const uint8_t *bytes)
{
    uint16_t place, what;

    memcpy(&place, bytes, sizeof place);
    memcpy(&what, bytes + 3, sizeof what);
    const uint64_t pointers[] = {fake.chunks[what % fake.n_chunks].header, /* any chunk */
                                 FAKE_TALLOC_BASE + what};
    patch_word(word_of(place), word_of(what), bytes[2], what, pointers);
}

/* All that is said to be owned says so, too, and is told once. */
static uint64_t count_owned(const struct hs_heap_block *owner)
{
    uint64_t cursor = 0, n = 0;
    hs_addr begin, end;

    while (hs_heaps_owned(&heaps, owner, &cursor, &begin, &end)) {
        struct hs_heap_block block;
        enum hs_pointer how = hs_heap_map_resolve(&heaps.map, begin, &block);
        assert(how == HS_POINTER_START && end == begin + 1 && ++n <= heaps.map.n_blocks);
        assert(hs_heaps_owner(&heaps, &block) == owner->begin);
    }
    return n;
}

static void check_block(const struct hs_heap_block *block)
{
    struct hs_object_name name;

    if (!hs_heaps_object_name(&heaps, block, &name)) {
        assert(hs_heaps_owner(&heaps, block) == 0 && hs_heaps_links(&heaps, block) == 0);
        return;
    }
    assert(name.name != 0 && name.offset_bytes >= FAKE_TALLOC_HEADER);
    assert(name.n_bytes <= block->n_bytes && name.offset_bytes <= block->n_bytes - name.n_bytes);
    uint64_t links = hs_heaps_links(&heaps, block);
    assert(links != 0 && (block->n_bytes >= 64 * 8 || links >> block->n_bytes / 8 == 0));
}

static void check_blocks(void)
{
    struct hs_heap_iterator it = {.map = &heaps.map}, others;
    struct hs_heap_block block, other;
    uint64_t n_owned = 0, n_with_owner = 0;

    while (hs_heap_map_next(&it, &block)) {
        check_block(&block);
        n_owned += count_owned(&block);
        n_with_owner += hs_heaps_owner(&heaps, &block) != 0;
        others = (struct hs_heap_iterator){.map = &heaps.map};
        while (hs_heap_map_next(&others, &other))
            assert(!hs_heaps_shares(&heaps, &block, &other) || hs_heaps_owner(&heaps, &other) != 0);
    }
    assert(n_owned == n_with_owner);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;

    fake_talloc_make(&fake);
    for (size_t i = 0; i < n_bytes / PATCH_BYTES && i < MOST_PATCHES; i++)
        patch(bytes + i * PATCH_BYTES);
    hs_status status = fake_talloc_read(&fake, &heaps, &err);
    assert(status == HS_OK);
    if (n_bytes < PATCH_BYTES)
        assert(fake.findings.n_proofs == 1 && fake.findings.proofs[0].found == SOUND);
    check_blocks();
    hs_heaps_close(&heaps);
    fake_talloc_close(&fake);
    return 0;
}
