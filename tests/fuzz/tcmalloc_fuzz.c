/* links: hs_heaps hs_process hs_base */
/* fuzz: -max_len=200 */
/* The reader of gperftools' tcmalloc against damage to a made process: words are overwritten, and
 * put back when it was read, which takes less time than to make it again.
 *
 *   u8 how it is made; {u16 place, u8 how, u16 what}... */
#include <assert.h>
#include <string.h>

#include "fake_tcmalloc.h"
#include "patch_word.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { WORD = 8, PATCH_BYTES = 5, MOST_PATCHES = 36 };

static struct fake_tcmalloc fakes[2]; /* by where the number of sizes is; both are one process */
static struct hs_heaps heaps;

/* Words that mean something, in a row. */
static const struct place {
    hs_addr at;
    unsigned n_words;
} places[] = {
    {FAKE_TC_OWN + 0x100, (FAKE_TC_SPANS + 1) * FAKE_TC_SPAN_BYTES / WORD},
    {FAKE_TC_LEAF + FAKE_TC_LEAF_BYTES - 13 * WORD, FAKE_TC_PAGES + 2},
    {FAKE_TC_ROOT_WORD - 2 * WORD, 6},
    {FAKE_TC_VARIABLE, 2},
    {FAKE_TC_SIZES - 4, 8},
    {FAKE_TC_NUMBER, 2},
    {FAKE_TC_CACHE, FAKE_TC_CLASSES *FAKE_TC_LIST_BYTES / WORD},
    {FAKE_TC_CACHE + FAKE_TC_CACHE_BYTES, 8},
    {FAKE_TC_CACHE + FAKE_TC_CACHE_STRIDE, FAKE_TC_CLASSES *FAKE_TC_LIST_BYTES / WORD},
    {FAKE_TC_CACHE + FAKE_TC_CACHE_STRIDE + FAKE_TC_CACHE_BYTES, 8},
};

/* The central list of a class: its number, how many are free, three slots, how many these are. */
static hs_addr central_word(unsigned which)
{
    static const unsigned offsets[] = {0,
                                       FAKE_TC_CENTRAL_FREE,
                                       FAKE_TC_CENTRAL_SLOTS,
                                       FAKE_TC_CENTRAL_SLOTS + 16,
                                       FAKE_TC_CENTRAL_SLOTS + 32,
                                       FAKE_TC_CENTRAL_USED};
    const unsigned n = sizeof offsets / sizeof *offsets;
    return fake_tcmalloc_central(1 + which / n % (FAKE_TC_CLASSES - 1), offsets[which % n]);
}

/* The link of a block that is free or cached, or the first word of any block of 16 bytes. */
static hs_addr link_word(unsigned which)
{
    const struct fake_tcmalloc *f = &fakes[0];
    const unsigned n = (unsigned)(f->n_free + f->n_cached), i = which % (2 * n);

    if (i < f->n_free)
        return f->free[i];
    if (i < n)
        return f->cached[i - f->n_free];
    return FAKE_TC_HEAP + which * 16 % (FAKE_TC_HEAP_END - FAKE_TC_HEAP);
}

static hs_addr place_of(uint16_t number)
{
    const unsigned n = sizeof places / sizeof *places, which = number / (n + 2);

    if (number % (n + 2) == n)
        return central_word(which);
    if (number % (n + 2) == n + 1)
        return link_word(which);
    const struct place *place = &places[number % (n + 2)];
    return place->at + which % place->n_words * WORD;
}

/* ---- damage, and its undoing */

static struct {
    uint64_t *word, before;
} done[2 * MOST_PATCHES];
static size_t n_done;

static uint64_t *remembered(hs_addr at)
{
    uint64_t *word = fake_tcmalloc_word(at);

    done[n_done].word = word;
    done[n_done++].before = *word;
    return word;
}

static void patch(const uint8_t *bytes)
{
    uint16_t place, what;

    memcpy(&place, bytes, sizeof place);
    memcpy(&what, bytes + 3, sizeof what);
    const uint64_t pointers[] = {link_word(what), fakes[0].spans[what % FAKE_TC_SPANS].address};
    patch_word(remembered(place_of(place)), remembered(place_of(what)), bytes[2], what, pointers);
}

static void undo(void)
{
    while (n_done > 0) {
        n_done--;
        *done[n_done].word = done[n_done].before;
    }
}

/* The other form of the table differs by where the number is. */
static struct fake_tcmalloc *made(bool is_late)
{
    static bool is_made;

    if (!is_made) {
        fake_tcmalloc_make(&fakes[1], true);
        fake_tcmalloc_make(&fakes[0], false);
        is_made = true;
    }
    if (is_late) {
        *remembered(FAKE_TC_NUMBER) = 0;
        *remembered(FAKE_TC_NUMBER + WORD) = FAKE_TC_CLASSES;
    }
    return &fakes[is_late];
}

/* ---- what holds */

static uint64_t check_blocks(void)
{
    struct hs_heap_iterator it = {.map = &heaps.map};
    struct hs_heap_block block;
    hs_addr before = 0;
    uint64_t n = 0;

    while (hs_heap_map_next(&it, &block)) {
        assert(block.begin >= before && block.span->owner == HS_OWNER_tcmalloc);
        assert(block.n_bytes != 0 && block.begin + block.n_bytes <= block.span->end);
        assert(block.begin >= block.span->begin && block.span->end <= HS_USER_END);
        before = block.begin + block.n_bytes;
        n++;
    }
    assert(n == heaps.map.n_blocks);
    return n;
}

static void check_ledger(struct fake_tcmalloc *f)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t n_resident, n_mapped = 0, sum = 0;

    hs_status status = hs_ledger_close(&heaps.ledger, &f->process, NULL, &n_resident, &err);
    assert(status == HS_OK);
    for (size_t i = 0; i < f->target.n_mappings; i++)
        n_mapped += f->mappings[i].end - f->mappings[i].begin;
    for (size_t i = 0; i < heaps.ledger.n_rows; i++)
        sum += heaps.ledger.rows[i].n_bytes;
    assert(sum == n_mapped);
}

/* What does not hold is counted, so that another moment is tried. */
static void check_findings(const struct hs_findings *findings)
{
    for (size_t i = 0; i < findings->n_proofs; i++)
        assert(findings->proofs[i].holds || findings->n_torn != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;

    if (n_bytes == 0)
        return 0;
    struct fake_tcmalloc *f = made(bytes[0] % 2 != 0);
    for (size_t i = 0; i < (n_bytes - 1) / PATCH_BYTES && i + 1 < MOST_PATCHES; i++)
        patch(bytes + 1 + i * PATCH_BYTES);
    hs_status status = fake_tcmalloc_read(f, &heaps, &err);
    assert(status == HS_OK);
    uint64_t n = check_blocks();
    if (n_bytes <= PATCH_BYTES)
        assert(n == 2 + (170 - 3 - 5) + (16 - 1 - 2) + (170 - 1) && f->findings.n_torn == 0);
    check_findings(&f->findings);
    check_ledger(f);
    hs_heaps_close(&heaps);
    fake_tcmalloc_close(f);
    undo();
    return 0;
}
