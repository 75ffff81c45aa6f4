#include "base/strtab.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#include "base/alloc.h"

void hs_strtab_fini(struct hs_strtab *table)
{
    if (table == NULL)
        return;
    hs_free(table->text);
    hs_free(table->begin);
    hs_free(table->slots);
    *table = (struct hs_strtab){0};
}

/* One secret per process: whoever chooses the names of a target cannot choose collisions. Ids do
 * not depend on it. */
static uint64_t strtab_secret(void)
{
    static _Atomic uint64_t secret;
    uint64_t value = atomic_load_explicit(&secret, memory_order_relaxed);
    if (value == 0) {
        uint64_t fresh = 0;
        if (getrandom(&fresh, sizeof fresh, GRND_NONBLOCK) != (ssize_t)sizeof fresh)
            fresh = (uint64_t)(uintptr_t)&secret * 0x9e3779b97f4a7c15U;
        fresh |= 1;
        value = atomic_compare_exchange_strong(&secret, &value, fresh) ? fresh : value;
    }
    return value;
}

static uint64_t strtab_hash(const char *text, size_t n)
{
    return XXH3_64bits_withSeed(text, n, strtab_secret());
}

static size_t strtab_length(const struct hs_strtab *table, hs_str id)
{
    uint64_t end = id == table->n_strings ? table->text_bytes : table->begin[id];
    return (size_t)(end - table->begin[id - 1]) - 1;
}

/* The slot that holds the text, or the empty one where it belongs. */
static size_t strtab_find(const struct hs_strtab *table, const char *text, size_t n)
{
    size_t mask = table->n_slots - 1;
    size_t at = (size_t)strtab_hash(text, n) & mask;

    for (;; at = (at + 1) & mask) {
        hs_str id = table->slots[at];
        if (id == 0)
            return at;
        if (strtab_length(table, id) == n &&
            memcmp(table->text + table->begin[id - 1], text, n) == 0)
            return at;
    }
}

/* Keeps the table at most half full with one more string. */
static hs_status strtab_reserve_slot(struct hs_strtab *table, struct hs_error *err)
{
    if ((table->n_strings + 1) * 2 <= table->n_slots)
        return HS_OK;

    size_t n_slots = table->n_slots == 0 ? 64 : table->n_slots * 2;
    void *slots;
    HS_TRY(hs_alloc(n_slots, sizeof *table->slots, &slots, err));
    hs_free(table->slots);
    table->slots = slots;
    table->n_slots = n_slots;
    for (size_t i = 0; i < table->n_strings; i++) {
        hs_str id = (hs_str)(i + 1);
        const char *text = table->text + table->begin[i];
        size_t at = strtab_find(table, text, strtab_length(table, id));
        assert(table->slots[at] == 0);
        table->slots[at] = id;
    }
    return HS_OK;
}

/* Room for one more string of n bytes: after it the insertion cannot fail. */
static hs_status strtab_reserve_text(struct hs_strtab *table, size_t n, struct hs_error *err)
{
    size_t needed;
    if (table->n_strings >= UINT32_MAX - 1)
        return hs_fail(err, HS_LIMIT, "cannot hold more than %zu names", table->n_strings);
    if (__builtin_add_overflow(table->text_bytes, n, &needed) ||
        __builtin_add_overflow(needed, 1, &needed))
        return hs_fail(err, HS_LIMIT, "cannot hold a name of %zu bytes", n);
    HS_TRY(hs_grow((void **)&table->begin, &table->begin_capacity, table->n_strings + 1,
                   sizeof *table->begin, err));
    return hs_grow((void **)&table->text, &table->text_capacity, needed, 1, err);
}

static bool strtab_owns(const struct hs_strtab *table, const char *text)
{
    uintptr_t begin = (uintptr_t)table->text;
    return table->text != NULL && (uintptr_t)text - begin < table->text_bytes;
}

hs_status hs_strtab_add_n(struct hs_strtab *table, const char *text, size_t n_bytes, hs_str *ret,
                          struct hs_error *err)
{
    size_t n = text == NULL ? 0 : strnlen(text, n_bytes);
    if (n == 0) {
        *ret = 0;
        return HS_OK;
    }
    HS_TRY(strtab_reserve_slot(table, err));
    size_t at = strtab_find(table, text, n);
    if (table->slots[at] == 0) {
        /* Part of a text of ours may be added: it moves when the table grows. */
        bool ours = strtab_owns(table, text);
        size_t offset = ours ? (size_t)(text - table->text) : 0;
        HS_TRY(strtab_reserve_text(table, n, err));
        memcpy(table->text + table->text_bytes, ours ? table->text + offset : text, n);
        table->text[table->text_bytes + n] = '\0';
        table->begin[table->n_strings++] = table->text_bytes;
        table->text_bytes += n + 1;
        table->slots[at] = (hs_str)table->n_strings;
    }
    *ret = table->slots[at];
    return HS_OK;
}

hs_status hs_strtab_add(struct hs_strtab *table, const char *text, hs_str *ret,
                        struct hs_error *err)
{
    return hs_strtab_add_n(table, text, text == NULL ? 0 : strlen(text), ret, err);
}

const char *hs_strtab_get(const struct hs_strtab *table, hs_str id)
{
    if (id == 0 || id > table->n_strings)
        return "";
    return table->text + table->begin[id - 1];
}
