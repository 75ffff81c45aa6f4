/* Key tables made by a test: a heap of which each key has so many words.
 *
 *     struct hs_snap_keys table = {0};
 *     made_keys_begin(&table, taken_ns);
 *     uint32_t root = made_keys_add(&table, 0, "server.sessions", HS_KEY_ROOT, 0, 0);
 *     made_keys_add(&table, root, "struct session", HS_KEY_TYPE, 10, 40);
 *     made_keys_end(&table);          adds up */
#ifndef HS_TEST_MADE_KEYS_H
#define HS_TEST_MADE_KEYS_H

#include <stdlib.h>

#include "analysis/key_file.h"

static inline void made_keys_must(hs_status status)
{
    if (status != HS_OK)
        abort();
}

static inline void made_keys_begin(struct hs_snap_keys *table, uint64_t taken_ns)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_key_row all = {.parent = HS_NO_KEY, .form = HS_KEY_ALL};
    made_keys_must(hs_snap_keys_add(table, HS_KEY_LIST_KEYS, "", &all, &err));
    made_keys_must(hs_strtab_add(&table->names, "./server", &table->facts.command, &err));
    made_keys_must(hs_strtab_add(&table->names, "0.1.0", &table->facts.tool_version, &err));
    table->facts.taken_ns = taken_ns;
    table->facts.word_bytes = 8;
    table->facts.pid = 42;
}

static inline uint32_t made_keys_add(struct hs_snap_keys *table, uint32_t parent, const char *name,
                                     enum hs_key_form form, uint64_t objects, uint64_t words)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_key_row row = {.parent = parent,
                                   .form = (uint8_t)form,
                                   .objects = objects,
                                   .words = words,
                                   .detail = words};
    made_keys_must(hs_snap_keys_add(table, HS_KEY_LIST_KEYS, name, &row, &err));
    return (uint32_t)table->lists[HS_KEY_LIST_KEYS].n - 1;
}

/* A row of another list. */
static inline void made_keys_put(struct hs_snap_keys *table, enum hs_key_list list,
                                 const char *name, uint64_t objects, uint64_t words)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_key_row row = {.parent = HS_NO_KEY, .objects = objects, .words = words};
    made_keys_must(hs_snap_keys_add(table, list, name, &row, &err));
}

static inline void made_keys_end(struct hs_snap_keys *table)
{
    struct hs_key_rows *keys = &table->lists[HS_KEY_LIST_KEYS];
    for (size_t i = keys->n - 1; i > 0; i--) {
        keys->rows[keys->rows[i].parent].words += keys->rows[i].words;
        keys->rows[keys->rows[i].parent].objects += keys->rows[i].objects;
    }
    table->facts.heap_words = keys->rows[0].words;
}

#endif
