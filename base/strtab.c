#include "base/strtab.h"

#include <string.h>

#include "base/alloc.h"

void hs_strtab_fini(struct hs_strtab *table)
{
    if (table == NULL)
        return;
    hs_free(table->text);
    hs_free(table->begin);
    hs_table_fini(&table->by_text);
    *table = (struct hs_strtab){0};
}

static size_t strtab_length(const struct hs_strtab *table, hs_str id)
{
    uint64_t end = id == table->n_strings ? table->text_bytes : table->begin[id];
    return (size_t)(end - table->begin[id - 1]) - 1;
}

static bool strtab_is(const struct hs_strtab *table, hs_str id, const char *text, size_t n)
{
    return strtab_length(table, id) == n &&
           memcmp(table->text + table->begin[id - 1], text, n) == 0;
}

/* Makes room for one more string of n bytes. */
static hs_status strtab_reserve_text(struct hs_strtab *table, size_t n, struct hs_error *err)
{
    size_t needed;
    if (table->n_strings >= UINT32_MAX - 1)
        return hs_fail(err, HS_LIMIT, "cannot hold more than %zu names", table->n_strings);
    if (__builtin_add_overflow(table->text_bytes, n, &needed) ||
        __builtin_add_overflow(needed, 1, &needed))
        return hs_fail(err, HS_LIMIT, "cannot hold a name of %zu bytes", n);
    HS_TRY(HS_GROW(&table->begin, &table->begin_capacity, table->n_strings + 1, err));
    return HS_GROW(&table->text, &table->text_capacity, needed, err);
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
    uint64_t hash = hs_hash_bytes(text, n);
    uint32_t found = HS_TABLE_FIND(&table->by_text, hash, i, strtab_is(table, i + 1, text, n));
    if (found == HS_NO_NUMBER) {
        /* Part of a text of ours may be added: it moves when the table grows. */
        bool ours = strtab_owns(table, text);
        size_t offset = ours ? (size_t)(text - table->text) : 0;
        HS_TRY(strtab_reserve_text(table, n, err));
        HS_TRY(hs_table_add(&table->by_text, hash, table->n_strings, err));
        memcpy(table->text + table->text_bytes, ours ? table->text + offset : text, n);
        table->text[table->text_bytes + n] = '\0';
        found = (uint32_t)table->n_strings;
        table->begin[table->n_strings++] = table->text_bytes;
        table->text_bytes += n + 1;
    }
    *ret = found + 1;
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
