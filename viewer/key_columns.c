#include "viewer/key_columns.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "report/json.h"

/* ---- which keys */

static int descending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

/* The keys that have more than this many words are all shown; of those that have as many, *ret_n.
 */
static hs_status find_least(const struct hs_keys *keys, size_t most, uint64_t *ret, size_t *ret_n,
                            struct hs_error *err)
{
    hs_auto_free uint64_t *words = NULL;
    HS_TRY(HS_ALLOC(&words, keys->n, err));
    for (size_t i = 0; i < keys->n; i++)
        words[i] = keys->keys[i].all.words;
    qsort(words, keys->n, sizeof *words, descending);
    *ret = most >= keys->n ? 0 : words[most - 1];
    *ret_n = 0;
    for (size_t i = 0; i < keys->n && i < most; i++)
        *ret_n += words[i] == *ret;
    return HS_OK;
}

/* Numbers, by key, its row; HS_NO_KEY when it has none. A key has at least what the ones below it
 * have, and comes before them: whoever has a row, has a parent that has one. */
static hs_status number_rows(const struct hs_keys *keys, size_t most, uint32_t **ret,
                             uint32_t *ret_n, struct hs_error *err)
{
    uint64_t least;
    size_t n_least;
    HS_TRY(find_least(keys, most, &least, &n_least, err));
    HS_TRY(HS_ALLOC(ret, keys->n, err));
    *ret_n = 0;
    for (size_t i = 0; i < keys->n; i++) {
        uint64_t words = keys->keys[i].all.words;
        bool is_shown = words > least || (words == least && n_least > 0);
        if (is_shown && words == least)
            n_least--;
        (*ret)[i] = is_shown ? (*ret_n)++ : HS_NO_KEY;
    }
    return HS_OK;
}

/* ---- columns */

struct columns {
    const struct hs_keys *keys;
    const uint32_t *row;   /* by key */
    const uint32_t *named; /* by string: its place among the names */
    struct hs_json json;
};

typedef uint64_t value_of(const struct columns *columns, const struct hs_key *key);

static uint64_t parent_of(const struct columns *columns, const struct hs_key *key)
{
    return key->parent == HS_NO_KEY ? 0 : columns->row[key->parent];
}

static uint64_t name_of(const struct columns *columns, const struct hs_key *key)
{
    return columns->named[key->name];
}

static uint64_t form_of(const struct columns *columns, const struct hs_key *key)
{
    (void)columns;
    return key->form;
}

static uint64_t words_of(const struct columns *columns, const struct hs_key *key)
{
    (void)columns;
    return key->all.words;
}

static uint64_t own_words_of(const struct columns *columns, const struct hs_key *key)
{
    (void)columns;
    return key->own.words;
}

static uint64_t objects_of(const struct columns *columns, const struct hs_key *key)
{
    (void)columns;
    return key->all.objects;
}

static uint64_t set_of(const struct columns *columns, const struct hs_key *key)
{
    (void)columns;
    return key->set;
}

static void put_column(struct columns *columns, const char *name, value_of *value)
{
    hs_json_begin_array(&columns->json, name, HS_JSON_LINE);
    for (size_t i = 0; i < columns->keys->n; i++)
        if (columns->row[i] != HS_NO_KEY)
            hs_json_u64(&columns->json, NULL, value(columns, &columns->keys->keys[i]));
    hs_json_end_array(&columns->json);
}

/* Puts only names that are used, in the order of rows. */
static void put_names(struct columns *columns, uint32_t *named)
{
    uint32_t n = 0;
    hs_json_begin_array(&columns->json, "names", HS_JSON_LINE);
    for (size_t i = 0; i < columns->keys->n; i++) {
        hs_str name = columns->keys->keys[i].name;
        if (columns->row[i] == HS_NO_KEY || named[name] != HS_NO_KEY)
            continue;
        named[name] = n++;
        hs_json_string(&columns->json, NULL, hs_strtab_get(&columns->keys->names, name));
    }
    hs_json_end_array(&columns->json);
}

hs_status hs_key_columns_write(const struct hs_keys *keys, size_t most, struct hs_buffer *buffer,
                               struct hs_error *err)
{
    hs_auto_free uint32_t *row = NULL;
    hs_auto_free uint32_t *named = NULL;
    uint32_t n_rows;
    size_t n_names = keys->names.n_strings + 1;
    HS_TRY(number_rows(keys, most, &row, &n_rows, err));
    HS_TRY(HS_ALLOC(&named, n_names, err));
    for (size_t i = 0; i < n_names; i++)
        named[i] = HS_NO_KEY;
    struct columns columns = {.keys = keys, .row = row, .named = named};
    hs_json_init_buffer(&columns.json, buffer, HS_JSON_COMPACT);
    hs_json_begin_object(&columns.json, NULL, HS_JSON_LINE);
    put_names(&columns, named);
    put_column(&columns, "parent", parent_of);
    put_column(&columns, "name", name_of);
    put_column(&columns, "form", form_of);
    put_column(&columns, "words", words_of);
    put_column(&columns, "own_words", own_words_of);
    put_column(&columns, "objects", objects_of);
    put_column(&columns, "set", set_of);
    hs_json_end_object(&columns.json);
    return hs_json_finish(&columns.json, err);
}
