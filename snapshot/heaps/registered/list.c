/* The records of one registry. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/cursor.h"
#include "parts.h"

/* Layout of version 1, docs/rules.md. */
#define LIST_MAGIC "heapsnap"
#define LIST_VERSION 1
#define LIST_REGISTRY_BYTES 32
#define LIST_MOST_RECORD_BYTES 4096 /* later versions may append to a record */
#define LIST_NEXT_AT 8
#define LIST_BEGIN_AT 24
#define LIST_NAME_AT 64
#define LIST_IS_PRECISE 1
#define LIST_LEAST_BLOCK 8
/* The most pieces of the copy over which a registered range may go: it lies in one mapping or a
 * few, and adjacent ones are one piece. */
#define LIST_PIECES 16
enum { LIST_KIND_ROOT = 1, LIST_KIND_POOL = 2 };

struct list_record {
    uint32_t kind, flags;
    hs_addr begin, live_bits;
    uint64_t n_bytes, block_bytes;
    char name[HS_REGISTERED_NAME_BYTES];
};

struct list_entries {
    hs_addr *at; /* owned */
    size_t n, capacity;
    bool is_damaged; /* does not end, or leads out of the copy */
};

/* The address of the first record; false when there is no registry here. */
static bool list_first(const struct hs_image *image, hs_addr registry, hs_addr *ret)
{
    const uint8_t *bytes = hs_image_bytes(image, registry, LIST_REGISTRY_BYTES);
    struct hs_cursor c = hs_cursor_make(bytes, bytes != NULL ? LIST_REGISTRY_BYTES : 0);

    const uint8_t *magic = hs_cursor_bytes(&c, 8);
    uint32_t version = hs_cursor_u32(&c);
    uint32_t record_bytes = hs_cursor_u32(&c);
    uint64_t first = hs_cursor_u64(&c);
    if (c.failed || memcmp(magic, LIST_MAGIC, 8) != 0 || version != LIST_VERSION ||
        record_bytes < HS_REGISTERED_RECORD_BYTES || record_bytes > LIST_MOST_RECORD_BYTES)
        return false;
    *ret = first;
    return true;
}

/* Follows the list to its end, or until it is known not to have one: one address is remembered, and
 * replaced at each power of two of steps (R. P. Brent, BIT 20, 1980). */
static hs_status list_follow(const struct hs_image *image, hs_addr first, size_t most,
                             struct list_entries *entries, struct hs_error *err)
{
    hs_addr remembered = 0, next;
    size_t power = 1;

    for (hs_addr at = first; at != 0; at = next) {
        if (at == remembered || entries->n == most ||
            !hs_image_u64(image, at + LIST_NEXT_AT, &next)) {
            entries->is_damaged = true;
            break;
        }
        HS_TRY(HS_GROW(&entries->at, &entries->capacity, entries->n + 1, err));
        entries->at[entries->n++] = at;
        if (entries->n == power) {
            remembered = at;
            power *= 2;
        }
    }
    return HS_OK;
}

static int list_compare(const void *left, const void *right)
{
    const hs_addr *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Sorts by address and removes repetitions, which a circular list gives. */
static void list_sort(struct list_entries *entries)
{
    size_t n = 0;

    if (entries->n > 1)
        qsort(entries->at, entries->n, sizeof *entries->at, list_compare);
    for (size_t i = 0; i < entries->n; i++)
        if (n == 0 || entries->at[n - 1] != entries->at[i])
            entries->at[n++] = entries->at[i];
    entries->n = n;
}

/* Cuts at the first NUL; control characters become '?'. */
static void list_clean_name(const uint8_t *from, char to[HS_REGISTERED_NAME_BYTES])
{
    size_t i = 0;

    for (; i < HS_REGISTERED_NAME_BYTES - 1 && from[i] != 0; i++)
        to[i] = from[i] < 0x20 || from[i] == 0x7f ? '?' : (char)from[i];
    to[i] = '\0';
}

static bool list_record(const struct hs_image *image, hs_addr at, struct list_record *ret)
{
    const uint8_t *bytes = hs_image_bytes(image, at, HS_REGISTERED_RECORD_BYTES);
    struct hs_cursor c = hs_cursor_make(bytes, bytes != NULL ? HS_REGISTERED_RECORD_BYTES : 0);

    ret->kind = hs_cursor_u32(&c);
    ret->flags = hs_cursor_u32(&c);
    hs_cursor_seek(&c, LIST_BEGIN_AT);
    ret->begin = hs_cursor_u64(&c);
    ret->n_bytes = hs_cursor_u64(&c);
    ret->block_bytes = hs_cursor_u64(&c);
    ret->live_bits = hs_cursor_u64(&c);
    hs_cursor_seek(&c, LIST_NAME_AT);
    const uint8_t *name = hs_cursor_bytes(&c, HS_REGISTERED_NAME_BYTES);
    if (c.failed)
        return false;
    list_clean_name(name, ret->name);
    return true;
}

/* Is all of [begin, end) in the copy? */
static bool list_is_copied(const struct hs_image *image, hs_addr begin, hs_addr end)
{
    for (unsigned i = 0; i < LIST_PIECES && begin < end; i++) {
        const struct hs_image_range *range = hs_image_find(image, begin, NULL);
        if (range == NULL)
            return false;
        begin = range->end;
    }
    return begin >= end;
}

static hs_status list_add_root(struct hs_registered *registered, const struct hs_object *object,
                               const struct list_record *record, hs_addr entry,
                               struct hs_error *err)
{
    struct hs_registered_root root = {.begin = record->begin,
                                      .end = record->begin + record->n_bytes,
                                      .entry = entry,
                                      .is_precise = (record->flags & LIST_IS_PRECISE) != 0,
                                      .object = object};
    const char *name = record->name[0] != '\0' ? record->name : "root without a name";

    HS_TRY(hs_strtab_add(registered->process->findings->strings, name, &root.name, err));
    HS_TRY(HS_GROW(&registered->roots, &registered->roots_capacity, registered->n_roots + 1, err));
    registered->roots[registered->n_roots++] = root;
    return HS_OK;
}

static hs_status list_add_pool(struct hs_registered *registered, const struct list_record *record,
                               hs_addr entry, struct hs_error *err)
{
    struct hs_registered_pool pool = {.begin = record->begin,
                                      .end = record->begin + record->n_bytes,
                                      .entry = entry,
                                      .block_bytes = record->block_bytes,
                                      .live_bits = record->live_bits};
    const char *name = record->name[0] != '\0' ? record->name : "pool without a name";
    uint64_t n_blocks = record->block_bytes == 0 ? 1 : record->n_bytes / record->block_bytes;

    HS_TRY(hs_strtab_add(registered->process->findings->strings, name, &pool.name, err));
    HS_TRY(HS_GROW(&registered->pools, &registered->pools_capacity, registered->n_pools + 1, err));
    if (pool.live_bits != 0)
        pool.bits = hs_image_bytes(registered->process->image, pool.live_bits,
                                   (size_t)(n_blocks / 8 + (n_blocks % 8 != 0)));
    registered->n_blocks += n_blocks;
    registered->pools[registered->n_pools++] = pool;
    return HS_OK;
}

/* Can the pool be listed block by block? */
static bool list_fits(const struct hs_registered *registered, const struct list_record *record)
{
    if (registered->n_blocks >= HS_REGISTERED_MOST_BLOCKS)
        return false;
    if (record->block_bytes == 0)
        return true;
    return record->block_bytes >= LIST_LEAST_BLOCK && record->block_bytes <= record->n_bytes &&
           record->n_bytes / record->block_bytes <=
               HS_REGISTERED_MOST_BLOCKS - registered->n_blocks;
}

static hs_status list_add(struct hs_registered *registered, const struct hs_object *object,
                          hs_addr at, struct hs_error *err)
{
    struct list_record record = {0};
    hs_addr end;
    bool is_good = list_record(registered->process->image, at, &record) &&
                   hs_add_fits(record.begin, record.n_bytes, &end) &&
                   list_is_copied(registered->process->image, record.begin, end);

    if (is_good && record.n_bytes == 0)
        return HS_OK;
    if (is_good && record.kind == LIST_KIND_ROOT)
        return list_add_root(registered, object, &record, at, err);
    if (is_good && record.kind == LIST_KIND_POOL && list_fits(registered, &record))
        return list_add_pool(registered, &record, at, err);
    if (registered->n_left_out++ == 0)
        memcpy(registered->first_left_out, record.name, sizeof record.name);
    return HS_OK;
}

static hs_status list_add_all(struct hs_registered *registered, const struct hs_object *object,
                              const struct list_entries *entries, struct hs_error *err)
{
    for (size_t i = 0; i < entries->n; i++)
        HS_TRY(list_add(registered, object, entries->at[i], err));
    return HS_OK;
}

hs_status hs_registered_read(struct hs_registered *registered, const struct hs_object *object,
                             hs_addr registry, struct hs_error *err)
{
    const struct hs_image *image = registered->process->image;
    struct list_entries entries = {0};
    hs_addr first = 0;
    hs_status status = HS_OK;

    if (!list_first(image, registry, &first))
        return hs_findings_note(registered->process->findings, true, err,
                                "'%s' has a note of registered memory, but no registry of a known "
                                "version",
                                object->name);
    status = list_follow(image, first, HS_REGISTERED_MOST_RECORDS - registered->n_records, &entries,
                         err);
    registered->n_records += entries.n;
    list_sort(&entries);
    if (status == HS_OK)
        status = list_add_all(registered, object, &entries, err);
    if (status == HS_OK && entries.is_damaged)
        status = hs_findings_note(registered->process->findings, true, err,
                                  "the list of registered memory of '%s' is damaged", object->name);
    hs_free(entries.at);
    return status;
}
