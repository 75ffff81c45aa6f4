#include "graph/packed.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/load.h"
#include "packed_table.h"

#define RELEASE_BYTES ((uint64_t)1 << 20)
#define SYSTEM_PAGE 4096
/* The bytes that the system maps around a byte that is looked at. */
#define STRETCH ((uint64_t)64 << 10)

static hs_status packed_damaged(struct hs_error *err, const char *what)
{
    return hs_fail(err, HS_FORMAT, "the index is damaged: %s", what);
}

/* ---- opening ---- */

/* A bit for each stretch that a map of so many bytes touches, wherever it begins. */
static uint64_t packed_near_words(uint64_t n_bytes)
{
    return (n_bytes / STRETCH + 2) / 64 + 1;
}

uint64_t hs_packed_map_bytes(const struct hs_packed *packed)
{
    return packed->n_bytes + packed_pages(packed->n_nodes) * HS_PACKED_TABLE_ENTRY;
}

hs_status hs_packed_open(const void *bytes, uint64_t n_bytes, uint64_t n_nodes,
                         hs_packed_skip *skip, struct hs_packed *ret, struct hs_error *err)
{
    uint64_t n_pages = packed_pages(n_nodes);
    void *bits, *near;

    if (n_bytes / HS_PACKED_TABLE_ENTRY < n_pages)
        return packed_damaged(err, "a section is too short for its table");
    HS_TRY(hs_pages_alloc(n_pages / 64 + 1, sizeof(uint64_t), &bits, err));
    hs_status status = hs_pages_alloc(packed_near_words(n_bytes), sizeof(uint64_t), &near, err);
    if (status != HS_OK) {
        hs_pages_free(bits, n_pages / 64 + 1, sizeof(uint64_t));
        return status;
    }
    *ret = (struct hs_packed){
        .bytes = bytes,
        .n_bytes = n_bytes - n_pages * HS_PACKED_TABLE_ENTRY,
        .n_nodes = n_nodes,
        .n_values = n_nodes,
        .skip = skip,
        .is_verified = bits,
        .is_near = near,
    };
    return HS_OK;
}

void hs_packed_close(struct hs_packed *packed)
{
    hs_pages_free(packed->is_verified, packed_pages(packed->n_nodes) / 64 + 1, sizeof(uint64_t));
    hs_pages_free(packed->is_near, packed_near_words(hs_packed_map_bytes(packed)),
                  sizeof(uint64_t));
    *packed = (struct hs_packed){0};
}

/* ---- pages ---- */

static uint64_t table_number(const struct hs_packed *packed, uint64_t page, unsigned at)
{
    uint64_t value;
    memcpy(&value, packed->bytes + packed->n_bytes + page * HS_PACKED_TABLE_ENTRY + at * 8,
           sizeof value);
    return value;
}

/* Counts the stretch of a byte that is looked at, unless it is there already. */
static void packed_touch(struct hs_packed *packed, uint64_t at)
{
    uint64_t stretch = ((uintptr_t)packed->bytes % STRETCH + at) / STRETCH;
    uint64_t *word = packed->is_near + stretch / 64, bit = (uint64_t)1 << stretch % 64;

    packed->pool->near.n_bytes += (*word & bit) == 0 ? STRETCH : 0;
    *word |= bit;
}

static void packed_touch_page(struct hs_packed *packed, uint64_t page, struct packed_place place)
{
    packed_touch(packed, packed->n_bytes + page * HS_PACKED_TABLE_ENTRY);
    packed_touch(packed, place.begin);
    if (place.n_bytes > 1)
        packed_touch(packed, place.begin + place.n_bytes - 1);
}

static void packed_give_back(struct hs_packed *packed)
{
    uint64_t n_bytes = hs_packed_map_bytes(packed);
    uintptr_t begin = (uintptr_t)packed->bytes, end = begin + n_bytes;

    begin -= begin % SYSTEM_PAGE;
    (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
    memset(packed->is_near, 0, packed_near_words(n_bytes) * sizeof(uint64_t));
}

/* Returns the bytes that may be resident now: less when there is less left for all else. */
static uint64_t pool_most(const struct hs_packed_pool *pool)
{
    const uint64_t least = (uint64_t)1 << 20;
    uint64_t left = hs_budget_left_bytes(pool->budget);

    left = left > least ? left : least;
    return left < pool->most_bytes ? left : pool->most_bytes;
}

static void pool_let_go(struct hs_budget_cache *near)
{
    struct hs_packed_pool *pool = (struct hs_packed_pool *)(void *)near; /* its first member */

    for (size_t i = 0; i < pool->n_members; i++)
        if (pool->members[i].pool == pool)
            packed_give_back(&pool->members[i]);
    near->n_bytes = 0;
}

void hs_packed_pool_begin(struct hs_packed_pool *pool)
{
    pool->near.let_go = pool_let_go;
    pool_let_go(&pool->near); /* what was looked at before is not counted */
    hs_budget_add_cache(pool->budget, &pool->near);
}

void hs_packed_pool_end(struct hs_packed_pool *pool)
{
    hs_budget_remove_cache(pool->budget, &pool->near);
}

/* Counts what is looked at here and there; when that is more than is allowed all members of the
 * pool are given back, and come again from the file. */
static void packed_visit(struct hs_packed *packed, uint64_t page, struct packed_place place)
{
    struct hs_packed_pool *pool = packed->pool;

    if (pool == NULL)
        return;
    packed_touch_page(packed, page, place);
    if (pool->near.n_bytes <= pool_most(pool))
        return;
    pool_let_go(&pool->near);
    packed_touch_page(packed, page, place);
}

hs_status packed_page_of(struct hs_packed *packed, uint64_t page, struct hs_cursor *ret,
                         uint64_t *ret_before, struct hs_error *err)
{
    struct packed_place place = packed_place_of(table_number(packed, page, 0)), last = {0};
    uint64_t *word = packed->is_verified + page / 64, bit = (uint64_t)1 << page % 64;

    if (page != 0)
        last = packed_place_of(table_number(packed, page - 1, 0));
    uint64_t before = last.begin + last.n_bytes;
    if (place.begin < before || place.begin > packed->n_bytes ||
        place.n_bytes > packed->n_bytes - place.begin)
        return packed_damaged(err, "a page lies outside its section");
    if ((*word & bit) == 0 &&
        XXH3_64bits(packed->bytes + place.begin, place.n_bytes) != table_number(packed, page, 1))
        return packed_damaged(err, "a page does not match its checksum");
    *word |= bit;
    packed_visit(packed, page, place);
    *ret = hs_cursor_make(packed->bytes + place.begin, place.n_bytes);
    *ret_before = before;
    return HS_OK;
}

void packed_release(struct hs_packed *packed, uint64_t to)
{
    if (to < packed->released) /* from the beginning again */
        packed->released = 0;
    if (!packed->is_mapped || to - packed->released < RELEASE_BYTES)
        return;
    uintptr_t begin = (uintptr_t)(packed->bytes + packed->released);
    uintptr_t end = (uintptr_t)(packed->bytes + to);
    begin -= begin % SYSTEM_PAGE; /* what is read again comes again from the file */
    end -= end % SYSTEM_PAGE;
    (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
    packed->released = to;
}

void hs_packed_release(struct hs_packed *packed)
{
    if (packed->near.bytes != NULL)
        packed_release(packed, (uint64_t)(packed->near.bytes - packed->bytes));
}

/* ---- cells ---- */

/* Counts the last bytes of numbers, eight bytes at a time. */
static void numbers_skip(struct hs_cursor *cursor, uint64_t n)
{
    while (n >= 8 && hs_cursor_left(cursor) >= 8) {
        uint64_t word = hs_load_u64(cursor->bytes + cursor->at);
        n -= (unsigned)__builtin_popcountll(~word & HS_PACKED_LAST_BYTES);
        cursor->at += 8;
    }
    while (n != 0 && hs_cursor_left(cursor) != 0)
        n -= cursor->bytes[cursor->at++] < 0x80;
    if (n != 0)
        cursor->failed = true;
}

void hs_packed_skip_number(struct hs_cursor *cursor, uint64_t n)
{
    numbers_skip(cursor, n);
}

static void row_skip(struct hs_cursor *cursor)
{
    uint64_t n = hs_packed_number(cursor);
    numbers_skip(cursor, n > HS_PACKED_LONG ? 1 : n);
}

/* Most rows are empty or short: eight bytes tell how many empty ones follow, or where a short one
 * ends. */
void hs_packed_skip_row(struct hs_cursor *cursor, uint64_t n)
{
    while (n != 0 && hs_cursor_left(cursor) >= 8) {
        uint64_t word = hs_load_u64(cursor->bytes + cursor->at), first = word & 0xff;
        uint64_t empty = word == 0 ? 8 : (unsigned)__builtin_ctzll(word) / 8;
        unsigned n_bytes = first < 8 ? hs_packed_numbers_bytes(word, (unsigned)first + 1) : 0;
        if (empty != 0) {
            empty = empty < n ? empty : n;
            cursor->at += empty;
            n -= empty;
            continue;
        }
        if (n_bytes != 0)
            cursor->at += n_bytes;
        else
            row_skip(cursor);
        n--;
    }
    for (; n != 0 && !cursor->failed; n--)
        row_skip(cursor);
}

hs_status hs_packed_cell_of(struct hs_packed *packed, hs_node node, struct hs_cursor *ret,
                            struct hs_error *err)
{
    hs_node at = packed->near_node;
    struct hs_cursor cursor = packed->near;

    assert(node < packed->n_nodes);
    if (cursor.bytes == NULL || at > node || at / HS_PACKED_PAGE != node / HS_PACKED_PAGE) {
        HS_TRY(packed_page_of(packed, node / HS_PACKED_PAGE, &cursor, &packed->near_before, err));
        at = node - node % HS_PACKED_PAGE;
        packed->near = (struct hs_cursor){0};
    }
    if (at < node)
        packed->skip(&cursor, node - at);
    if (cursor.failed)
        return packed_damaged(err, "a page ends early");
    packed->near_node = node;
    packed->near = *ret = cursor;
    return HS_OK;
}

/* ---- rows ---- */

hs_status packed_row_at(struct hs_packed *packed, hs_node node, uint64_t before,
                        const struct hs_cursor *cursor, struct hs_row *ret, struct hs_error *err)
{
    *ret = (struct hs_row){
        .packed = packed, .cursor = *cursor, .node = node, .n_values = packed->n_values};
    ret->n = ret->left = hs_packed_number(&ret->cursor);
    ret->is_long = ret->n > HS_PACKED_LONG;
    if (ret->is_long) {
        ret->block = hs_cursor_varint(&ret->cursor);
        ret->blocks_end = (uint64_t)(ret->cursor.bytes - packed->bytes);
    }
    if (ret->cursor.failed || ret->n > ret->n_values)
        return packed_damaged(err, "a row is too long");
    if (ret->is_long && (ret->block < before || ret->block > ret->blocks_end))
        return packed_damaged(err, "a row lies outside its place");
    return HS_OK;
}

hs_status hs_packed_row_of(struct hs_packed *packed, hs_node node, struct hs_row *ret,
                           struct hs_error *err)
{
    struct hs_cursor cursor;
    HS_TRY(hs_packed_cell_of(packed, node, &cursor, err));
    return packed_row_at(packed, node, packed->near_before, &cursor, ret, err);
}

hs_status hs_packed_row_in(struct hs_packed *packed, hs_node node, uint64_t place,
                           struct hs_row *ret, struct hs_error *err)
{
    struct hs_cursor cursor;
    uint64_t before;

    assert(node < packed->n_nodes);
    HS_TRY(packed_page_of(packed, node / HS_PACKED_PAGE, &cursor, &before, err));
    if (place > cursor.n_bytes)
        return packed_damaged(err, "a page ends early");
    cursor.at = place;
    return packed_row_at(packed, node, before, &cursor, ret, err);
}

/* The block at *at, which ends before `end`; *at moves behind it. */
static bool block_open(const struct hs_packed *packed, uint64_t *at, uint64_t end,
                       struct hs_cursor *ret)
{
    if (end - *at < PACKED_BLOCK_HEAD)
        return false;
    struct hs_cursor head = hs_cursor_make(packed->bytes + *at, PACKED_BLOCK_HEAD);
    uint64_t hash = hs_cursor_u64(&head), n_bytes = hs_cursor_u32(&head);
    uint64_t begin = *at + PACKED_BLOCK_HEAD;
    if (n_bytes > end - begin || XXH3_64bits(packed->bytes + begin, n_bytes) != hash)
        return false;
    *ret = hs_cursor_make(packed->bytes + begin, n_bytes);
    *at = begin + n_bytes;
    return true;
}

static bool row_fail(struct hs_row *row)
{
    row->cursor.failed = true;
    row->packed->is_damaged = true;
    return false;
}

bool hs_row_next(struct hs_row *row, hs_node *ret)
{
    struct hs_cursor *cursor = &row->cursor;
    hs_node value;

    if (row->left == 0 || cursor->failed)
        return false;
    if (row->is_long && (row->n - row->left) % HS_PACKED_LONG == 0 &&
        !block_open(row->packed, &row->block, row->blocks_end, cursor))
        return row_fail(row);
    uint64_t code = hs_packed_number(cursor);
    if (cursor->failed)
        return row_fail(row);
    if (row->left == row->n)
        value = row->node + (uint64_t)hs_zigzag_decode(code); /* wraps: then it is out of range */
    else if (code >= row->n_values - row->last - 1)
        return row_fail(row);
    else
        value = row->last + 1 + code;
    if (value >= row->n_values)
        return row_fail(row);
    row->left--;
    row->last = *ret = value;
    return true;
}

hs_status hs_row_check(const struct hs_row *row, struct hs_error *err)
{
    return row->cursor.failed ? packed_damaged(err, "a row is not in order") : HS_OK;
}

/* ---- all of it ---- */

/* Blocks fill the room between two pages. */
static hs_status blocks_verify(const struct hs_packed *packed, uint64_t begin, uint64_t end,
                               struct hs_error *err)
{
    struct hs_cursor cursor;
    while (begin != end)
        if (!block_open(packed, &begin, end, &cursor))
            return packed_damaged(err, "a long row does not match its checksum");
    return HS_OK;
}

hs_status hs_packed_verify(struct hs_packed *packed, struct hs_error *err)
{
    uint64_t n_pages = packed_pages(packed->n_nodes), end = 0;

    for (uint64_t page = 0; page < n_pages; page++) {
        struct hs_cursor cursor;
        uint64_t before;
        HS_TRY(packed_page_of(packed, page, &cursor, &before, err));
        uint64_t begin = (uint64_t)(cursor.bytes - packed->bytes);
        HS_TRY(blocks_verify(packed, before, begin, err));
        end = begin + cursor.n_bytes;
        packed_release(packed, end);
    }
    return end == packed->n_bytes ? HS_OK : packed_damaged(err, "pages do not fill a section");
}
