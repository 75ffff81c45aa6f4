/* links: hs_heaps hs_process hs_symbols hs_base */
#include "check_postgres.h"

#include "unit.h"

enum { MOST_BLOCKS = 4 * FAKE_POSTGRES_MOST };

static const char *const names[] = {
    "TopMemoryContext", "CacheMemoryContext", "Type cache", "(unnamed)",
    "changes",          "under changes",      "tuples",     "sort"};
struct fake_postgres backend;
struct hs_heaps backend_heaps;
static struct hs_error err;

/* ---- what must be found */

struct wanted {
    hs_addr begin;
    uint64_t n_bytes;
    enum hs_heap_owner owner;
    uint32_t context;
    bool is_object, is_unsure;
};
static struct wanted wanted[MOST_BLOCKS];
static size_t n_wanted;

static bool is_to_be_read(const struct backend_expected *e, uint32_t context)
{
    return backend.contexts[context].kind != FAKE_SLAB && !((e->unread | e->unmet) >> context & 1);
}

static bool is_empty(const struct fake_block *block)
{
    return backend.contexts[block->context].layout.counts != 0 && block->n_free == block->n_chunks;
}

static bool is_unsure(const struct fake_block *block)
{
    return backend.contexts[block->context].layout.counts != 0 && block->n_free != 0 &&
           fake_postgres_is_masked(&backend) && !is_empty(block);
}

static void want(const struct wanted *one)
{
    assert_true(n_wanted < MOST_BLOCKS);
    wanted[n_wanted++] = *one;
}

static int compare(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void want_all(const struct backend_expected *e)
{
    n_wanted = 0;
    for (uint32_t i = 0; i < backend.n_contexts; i++)
        if (is_to_be_read(e, i))
            want(&(struct wanted){backend.contexts[i].at, backend.contexts[i].layout.object,
                                  HS_OWNER_postgres, i, true, false});
    for (size_t i = 0; i < backend.n_chunks; i++) {
        const struct fake_chunk *chunk = &backend.chunks[i];
        const struct fake_block *block = &backend.blocks[chunk->block];
        if (is_to_be_read(e, block->context) && !is_empty(block) &&
            (!chunk->is_free || is_unsure(block)))
            want(&(struct wanted){chunk->begin, chunk->n_bytes, HS_OWNER_postgres, block->context,
                                  false, is_unsure(block)});
    }
    for (size_t i = 0; i < backend.n_mallocs && !backend.has_no_malloc; i++) {
        const struct fake_malloc_block *block = &backend.mallocs[i];
        if (!is_to_be_read(e, block->context))
            want(&(struct wanted){.begin = block->begin,
                                  .n_bytes = block->end - block->begin,
                                  .owner = HS_OWNER_glibc});
    }
    qsort(wanted, n_wanted, sizeof *wanted, compare);
}

/* ---- what is found */

static void check_name(const struct hs_heap_block *block, const struct wanted *one)
{
    struct hs_object_name name = {0};
    char object[64], chunk[64];

    bool has_name = hs_heaps_object_name(&backend_heaps, block, &name);
    const char *pool =
        hs_strtab_get(&backend.strings, hs_heaps_pool_name(&backend_heaps, block->span));
    if (one->owner != HS_OWNER_postgres) {
        assert_false(has_name);
        assert_string_equal(pool, "");
        return;
    }
    const char *known = one->context < FAKE_MADE ? names[one->context] : "more";
    snprintf(object, sizeof object, "MemoryContext %s", known);
    snprintf(chunk, sizeof chunk, "chunk in %s", known);
    assert_true(has_name == one->is_object);
    if (has_name)
        assert_string_equal(hs_strtab_get(&backend.strings, name.name), object);
    assert_true(name.offset_bytes == 0 && name.n_bytes == 0);
    assert_string_equal(pool, one->is_object ? object : chunk);
}

/* The nearest context above that is read. */
static uint32_t parent_of(const struct backend_expected *e, uint32_t context)
{
    uint32_t parent = backend.contexts[context].parent;

    while (parent != FAKE_POSTGRES_NONE && !is_to_be_read(e, parent))
        parent = backend.contexts[parent].parent;
    return parent;
}

/* His blocks as they are linked, then every context that hangs on him, once. */
static void check_owned(const struct backend_expected *e, const struct hs_heap_block *block,
                        uint32_t number)
{
    const struct fake_context *context = &backend.contexts[number];
    uint64_t cursor = 0;
    hs_addr begin, end;
    size_t n_children = 0, n_found = 0;

    for (size_t i = 0; i < context->n_blocks; i++) {
        assert_true(hs_heaps_owned(&backend_heaps, block, &cursor, &begin, &end));
        assert_int_equal(begin, backend.blocks[context->blocks[i]].first);
        assert_int_equal(end, backend.blocks[context->blocks[i]].used);
    }
    for (uint32_t i = 0; i < backend.n_contexts; i++)
        n_children += is_to_be_read(e, i) && parent_of(e, i) == number;
    for (; hs_heaps_owned(&backend_heaps, block, &cursor, &begin, &end); n_found++) {
        uint32_t i = 0;
        while (i < backend.n_contexts && backend.contexts[i].at != begin)
            i++;
        assert_true(i < backend.n_contexts && is_to_be_read(e, i) && parent_of(e, i) == number);
        assert_int_equal(end - begin, backend.contexts[i].layout.object);
        assert_true(n_found < n_children);
    }
    assert_int_equal(n_found, n_children);
}

static void check_owner(const struct backend_expected *e, const struct hs_heap_block *block,
                        const struct wanted *one)
{
    uint64_t cursor = 0;
    hs_addr begin, end, owner = 0;

    if (one->owner == HS_OWNER_postgres)
        owner = backend.contexts[one->context].at;
    if (one->is_object) {
        uint32_t parent = parent_of(e, one->context);
        owner = parent == FAKE_POSTGRES_NONE ? FAKE_POSTGRES_VARIABLE : backend.contexts[parent].at;
        check_owned(e, block, one->context);
    } else {
        assert_false(hs_heaps_owned(&backend_heaps, block, &cursor, &begin, &end));
    }
    assert_int_equal(hs_heaps_owner(&backend_heaps, block), owner);
}

static void check_blocks(const struct backend_expected *e)
{
    struct hs_heap_iterator it = {.map = &backend_heaps.map};
    struct hs_heap_block block;
    size_t n = 0;

    want_all(e);
    for (; hs_heap_map_next(&it, &block); n++) {
        const struct wanted *one = &wanted[n];
        assert_true(n < n_wanted);
        assert_int_equal(block.begin, one->begin);
        assert_int_equal(block.n_bytes, one->n_bytes);
        assert_int_equal(block.span->owner, one->owner);
        assert_int_equal(block.span->states, one->is_unsure ? HS_BLOCK_UNSURE : 0);
        check_name(&block, one);
        check_owner(e, &block, one);
    }
    assert_int_equal(n, n_wanted);
    assert_int_equal(backend_heaps.map.n_blocks, n_wanted);
}

/* ---- where the bytes are */

struct sums {
    uint64_t live, free, internal, n_live, n_free, malloc;
};

static void add_block(const struct fake_block *block, uint32_t number, struct sums *sums)
{
    sums->internal += block->first - block->begin;
    if (is_empty(block)) {
        sums->free += block->end - block->first;
        return;
    }
    sums->free += block->end - block->used;
    for (size_t i = 0; i < backend.n_chunks; i++) {
        const struct fake_chunk *chunk = &backend.chunks[i];
        if (chunk->block != number)
            continue;
        sums->internal += chunk->begin - chunk->header;
        bool is_live = !chunk->is_free || is_unsure(block);
        *(is_live ? &sums->live : &sums->free) += chunk->n_bytes;
        sums->n_live += is_live;
        sums->n_free += !is_live;
    }
}

static struct sums sums_of(const struct backend_expected *e)
{
    struct sums sums = {0};

    for (uint32_t i = 0; i < backend.n_contexts; i++) {
        bool is_read = is_to_be_read(e, i);
        sums.live += is_read ? backend.contexts[i].layout.object : 0;
        sums.n_live += is_read;
    }
    for (uint32_t i = 0; i < backend.n_blocks; i++)
        if (is_to_be_read(e, backend.blocks[i].context))
            add_block(&backend.blocks[i], i, &sums);
    for (size_t i = 0; i < backend.n_mallocs && !backend.has_no_malloc; i++)
        sums.malloc += is_to_be_read(e, backend.mallocs[i].context)
                           ? FAKE_MALLOC_SPARE
                           : backend.mallocs[i].end - backend.mallocs[i].begin;
    return sums;
}

struct hs_memory_row backend_row(const char *owner, enum hs_memory_state state)
{
    for (size_t i = 0; i < backend_heaps.ledger.n_rows; i++)
        if (backend_heaps.ledger.rows[i].state == state &&
            strcmp(hs_strtab_get(&backend.strings, backend_heaps.ledger.rows[i].owner), owner) == 0)
            return backend_heaps.ledger.rows[i];
    return (struct hs_memory_row){0};
}

static void check_row(const char *owner, enum hs_memory_state state, uint64_t n_bytes,
                      uint64_t n_blocks)
{
    struct hs_memory_row row = backend_row(owner, state);

    assert_int_equal(row.n_bytes, n_bytes);
    assert_int_equal(row.resident_bytes, n_bytes);
    if (n_blocks != UINT64_MAX)
        assert_int_equal(row.n_blocks, n_blocks);
}

static void check_ledger(const struct backend_expected *e)
{
    const struct sums sums = sums_of(e);
    uint64_t n_resident, rest = FAKE_POSTGRES_BYTES - FAKE_POSTGRES_TEXT_BYTES;

    assert_int_equal(
        hs_ledger_close(&backend_heaps.ledger, &backend.process, NULL, &n_resident, &err), HS_OK);
    assert_int_equal(n_resident, FAKE_POSTGRES_BYTES);
    check_row("postgres", HS_MEMORY_LIVE, sums.live, sums.n_live);
    check_row("postgres", HS_MEMORY_FREE, sums.free, sums.n_free);
    check_row("postgres", HS_MEMORY_INTERNAL, sums.internal, 0);
    check_row("glibc", HS_MEMORY_LIVE, sums.malloc, UINT64_MAX);
    rest -= sums.live + sums.free + sums.internal + sums.malloc;
    check_row(HS_MEMORY_OF_DATA, HS_MEMORY_OTHER, rest, 0);
    check_row(HS_MEMORY_OF_CODE, HS_MEMORY_OTHER, FAKE_POSTGRES_TEXT_BYTES, 0);
}

/* ---- what is said of it */

/* The one that begins so; "" when there is none. */
const char *backend_note(const char *begin, bool *ret_is_gap)
{
    for (size_t i = 0; i < backend.findings.n_notes; i++) {
        const char *text = hs_strtab_get(&backend.strings, backend.findings.notes[i].text);
        *ret_is_gap = backend.findings.notes[i].is_gap;
        if (strstr(text, begin) != NULL)
            return text;
    }
    return "";
}

void backend_check_notes(uint64_t n_others, uint64_t n_torn, uint64_t n_overlaps)
{
    char text[160] = "";
    bool is_gap = false;

    if (n_others != 0)
        snprintf(text, sizeof text,
                 "postgres: %u contexts are slabs or of a kind that is not known; their blocks are "
                 "malloc's",
                 (unsigned)n_others);
    assert_string_equal(backend_note("slabs", &is_gap), text);
    assert_true(n_others == 0 || !is_gap);
    text[0] = '\0';
    if (n_torn + n_overlaps != 0)
        snprintf(text, sizeof text,
                 "postgres: %u contexts or free lists were caught in a change, %u blocks overlap "
                 "others",
                 (unsigned)n_torn, (unsigned)n_overlaps);
    assert_string_equal(backend_note("caught", &is_gap), text);
    assert_true(n_torn + n_overlaps == 0 || is_gap);
    assert_int_equal(backend.findings.n_torn, n_torn);
}

/* Is it of the type of one that is read? Then it was caught in a change, else it is of another
 * kind.
 */
static bool is_of_known_type(const struct backend_expected *e, uint32_t context)
{
    uint32_t type = (uint32_t)*fake_postgres_word(&backend, backend.contexts[context].at);

    for (uint32_t i = 0; i < backend.n_contexts; i++)
        if (is_to_be_read(e, i) &&
            (uint32_t)*fake_postgres_word(&backend, backend.contexts[i].at) == type)
            return true;
    return false;
}

static void check_findings(const struct backend_expected *e)
{
    uint64_t n_others = 0, n_torn = e->n_torn, n_read = 0, n_known = 0;

    for (uint32_t i = 0; i < backend.n_contexts; i++) {
        bool is_unread = !is_to_be_read(e, i) && !(e->unmet >> i & 1);
        bool is_torn = is_unread && is_of_known_type(e, i);
        n_read += is_to_be_read(e, i);
        n_torn += is_torn;
        n_others += is_unread && !is_torn;
        n_known += is_to_be_read(e, i) || is_torn;
    }
    assert_int_equal(backend.findings.n_proofs, 1);
    assert_string_equal(hs_strtab_get(&backend.strings, backend.findings.proofs[0].what),
                        "postgres: contexts whose blocks add up to what they say");
    assert_int_equal(backend.findings.proofs[0].expected, n_known);
    assert_int_equal(backend.findings.proofs[0].found, n_read);
    backend_check_notes(n_others, n_torn, 0);
    assert_int_equal(backend.findings.n_notes, (n_others != 0) + (n_torn != 0));
}

/* Reads the backend, in which all must be as it was made but for what is expected. */
void backend_check(const struct backend_expected *e)
{
    assert_int_equal(fake_postgres_read(&backend, &backend_heaps, &err), HS_OK);
    assert_non_null(backend_heaps.states[HS_OWNER_postgres]);
    assert_string_equal(hs_allocator_postgres.version(backend_heaps.states[HS_OWNER_postgres]),
                        fake_postgres_version(&backend));
    assert_true(hs_heaps_have_owners(&backend_heaps) && hs_heaps_have_object_names(&backend_heaps));
    check_blocks(e);
    check_findings(e);
    check_ledger(e);
    hs_heaps_close(&backend_heaps);
    fake_postgres_close(&backend);
}

void backend_check_none(bool is_told)
{
    bool is_gap = false;
    const struct backend_expected e = {.unmet = UINT32_MAX};

    assert_int_equal(fake_postgres_read(&backend, &backend_heaps, &err), HS_OK);
    assert_null(backend_heaps.states[HS_OWNER_postgres]);
    check_blocks(&e);
    check_ledger(&e);
    assert_true(backend.findings.n_proofs == 0 && backend.findings.n_notes == is_told);
    assert_true((backend_note("are damaged, or of a release", &is_gap)[0] != '\0') == is_told);
    assert_true(is_gap == is_told);
    hs_heaps_close(&backend_heaps);
    fake_postgres_close(&backend);
}
