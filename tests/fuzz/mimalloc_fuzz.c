/* links: hs_heaps hs_process hs_base */
/* fuzz: -max_len=200 */
/* The reader of mimalloc 2 against damage to a made process: words are overwritten.
 *
 *   u8 how it is made; {u16 place, u8 how, u16 what}... */
#include <assert.h>
#include <string.h>

#include "fake_mimalloc.h"
#include "patch_word.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum {
    PATCH_BYTES = 5,
    MOST_PATCHES = 36,
    WORD = 8,
    WORDS_OF_HEADER = 9, /* from the pages in use on, whatever stands between */
    WORDS_OF_HEAP = 7,   /* around its list */
    SOUND_BLOCKS = 128,
    SOUND_PAGES = 8, /* that have blocks */
};

static struct fake_mimalloc fake;
static struct hs_heaps heaps;

static struct {
    bool header[FAKE_MI_MOST], entries[FAKE_MI_MOST]; /* of segments */
    bool page[FAKE_MI_MOST];
    bool lists; /* blocks or heaps */
} touched;

/* ---- damage */

static hs_addr entry_word(unsigned which)
{
    unsigned page = which % fake.n_pages, word = which / fake.n_pages;
    const struct fake_mi_segment *of = &fake.segments[fake.pages[page].segment];

    touched.entries[fake.pages[page].segment] = touched.page[page] = true;
    hs_addr entry = word % 16 == 15 && of->next < of->n_entries /* the free slices behind */
                        ? fake_mimalloc_entry(&fake, fake.pages[page].segment, of->next)
                        : fake.pages[page].entry;
    return entry + word % (fake.shape.entry_bytes / WORD) * WORD;
}

static hs_addr header_word(unsigned which)
{
    unsigned segment = which % fake.n_segments;

    touched.header[segment] = true;
    return fake_mimalloc_used(&fake, segment) + which / fake.n_segments % WORDS_OF_HEADER * WORD;
}

static hs_addr heap_word(unsigned which)
{
    touched.lists = true;
    return fake_mimalloc_heap(which % FAKE_MI_THREADS) +
           (fake.shape.delayed_word + which / FAKE_MI_THREADS % WORDS_OF_HEAP - 1) * WORD;
}

/* A block, or what is beside its beginning. */
static hs_addr some_block(unsigned page, unsigned which)
{
    return fake_mimalloc_block(&fake, page, which % (fake.pages[page].capacity + 1)) +
           (which % 11 == 10 ? WORD : 0);
}

/* Where a block of a page with lists says what is next. */
static hs_addr link_word(unsigned which, unsigned *ret_page)
{
    static const uint8_t pages[] = {FAKE_MI_SMALL, FAKE_MI_MEDIUM, FAKE_MI_FULL, FAKE_MI_SECOND,
                                    FAKE_MI_OLD};
    unsigned page = pages[which % sizeof pages];
    hs_addr at = fake_mimalloc_block(&fake, page, which / sizeof pages % fake.pages[page].capacity);

    touched.lists = true;
    for (unsigned i = 0; !fake_mimalloc_has(&fake, at); i++)
        at = fake_mimalloc_block(&fake, page, i);
    *ret_page = page;
    return at;
}

static hs_addr place_of(uint16_t number, unsigned *ret_page)
{
    unsigned which = number / 4;

    switch (number % 4) {
    case 0:
        return entry_word(which);
    case 1:
        return header_word(which);
    case 2:
        return link_word(which, ret_page);
    default:
        return heap_word(which);
    }
}

static void patch(const uint8_t *bytes)
{
    uint16_t place, what;
    unsigned page = FAKE_MI_PAGES, other_page;

    memcpy(&place, bytes, sizeof place);
    memcpy(&what, bytes + 3, sizeof what);
    const hs_addr at = place_of(place, &page);
    /* both words are changed where they are exchanged; else the other one is only looked at */
    const hs_addr other = bytes[2] % 8 == 4 || bytes[2] % 8 == 5 ? place_of(what, &other_page) : at;
    const unsigned to = page == FAKE_MI_PAGES ? what % fake.n_pages : page;
    const hs_addr block = some_block(to, what / fake.n_pages);
    const struct fake_mi_segment *segment = &fake.segments[what % fake.n_segments];
    const uint64_t pointers[] = {page == FAKE_MI_PAGES ? block
                                                       : fake_mimalloc_link(&fake, page, block),
                                 segment->begin + what / fake.n_segments % 16 * FAKE_MI_SLICE};
    patch_word(fake_mimalloc_word(&fake, at), fake_mimalloc_word(&fake, other), bytes[2], what,
               pointers);
}

/* ---- what must hold */

static void check_blocks(void)
{
    struct hs_heap_iterator it = {.map = &heaps.map};
    struct hs_heap_block block;
    hs_addr before = FAKE_MI_BASE;

    while (hs_heap_map_next(&it, &block)) {
        assert(block.span->owner == HS_OWNER_mimalloc && block.n_bytes % WORD == 0);
        assert(block.begin % WORD == 0 && block.begin >= before);
        before = block.begin + block.n_bytes;
        assert(before <= HS_USER_END && hs_ledger_owner_at(&heaps.ledger, block.begin) != 0);
        assert(hs_ledger_owner_at(&heaps.ledger, before - 1) != 0);
    }
}

static void check_ledger(void)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t n_resident, sum = 0, there = 0;

    hs_status status = hs_ledger_close(&heaps.ledger, &fake.process, NULL, &n_resident, &err);
    for (unsigned i = 0; i < fake.n_pieces; i++)
        there += fake.pieces[i].n_bytes;
    assert(status == HS_OK && n_resident == there);
    for (size_t i = 0; i < heaps.ledger.n_rows; i++)
        sum += heaps.ledger.rows[i].n_bytes;
    for (size_t i = 0; i < fake.target.n_mappings; i++)
        sum -= fake.mappings[i].end - fake.mappings[i].begin;
    assert(sum == 0);
}

/* What is missing is told. */
static void check_findings(void)
{
    const struct hs_findings *found = &fake.findings;

    assert(found->n_proofs == (heaps.states[HS_OWNER_mimalloc] == NULL ? 0 : 2));
    if (found->n_proofs == 0) {
        assert(found->n_torn == 0 && found->n_notes == 0 && heaps.map.n_blocks == 0);
        return;
    }
    assert((found->n_torn == 0) == (found->proofs[0].holds && found->proofs[1].holds));
}

static void check_page(unsigned page)
{
    for (unsigned i = 0; i < fake.pages[page].capacity; i++)
        assert(hs_heap_map_is_set(&heaps.map, fake_mimalloc_block(&fake, page, i)) !=
               fake.pages[page].is_free[i]);
}

/* A segment that nothing was done to is read as it is, whatever was done to others: unless one of
 * them says that it has it. Where one word of one entry was changed, and no segment is torn, all
 * other pages of its segment are read, too. */
static void check_others(bool is_one_word)
{
    bool headers = false;

    for (unsigned i = 0; i < fake.n_segments; i++)
        headers |= touched.header[i];
    for (unsigned i = 0; i < fake.n_pages && !headers && !touched.lists; i++)
        if (!touched.entries[fake.pages[i].segment] ||
            (is_one_word && !touched.page[i] && fake.findings.n_torn == 0))
            check_page(i);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;

    if (n_bytes == 0)
        return 0;
    memset(&touched, 0, sizeof touched);
    fake_mimalloc_begin(&fake, bytes[0] % FAKE_MI_LAYOUTS);
    fake.is_padded = bytes[0] / 8 % 2 != 0;
    fake.is_secure = bytes[0] / 16 % 2 != 0;
    if (bytes[0] / 32 % 2 != 0)
        fake.shape.words_between = 0;
    fake_mimalloc_fill(&fake);
    for (size_t i = 0; i < (n_bytes - 1) / PATCH_BYTES && i < MOST_PATCHES; i++)
        patch(bytes + 1 + i * PATCH_BYTES);
    hs_status status = fake_mimalloc_read(&fake, &heaps, &err);
    assert(status == HS_OK);
    check_findings();
    if (n_bytes <= PATCH_BYTES)
        assert(fake.findings.n_torn == 0 && heaps.map.n_blocks == SOUND_BLOCKS &&
               fake.findings.proofs[1].found == SOUND_PAGES);
    check_blocks();
    check_others(n_bytes <= 2 * PATCH_BYTES && (n_bytes < 4 || bytes[3] % 8 != 5));
    check_ledger();
    hs_heaps_close(&heaps);
    fake_mimalloc_close(&fake);
    return 0;
}
