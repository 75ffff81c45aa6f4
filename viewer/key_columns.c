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

/* ---- variables of several slots */

/* The variables that slots are of, by the names that the keys of slots have. */
struct variables {
    struct hs_strtab slots, names;
    hs_str *of_slot; /* owned: by string of slots, of names */
    size_t capacity, n_slots;
};

static void variables_fini(struct variables *variables)
{
    hs_strtab_fini(&variables->slots);
    hs_strtab_fini(&variables->names);
    hs_free(variables->of_slot);
}

static hs_status add_slot(struct variables *variables, const struct hs_view *view, hs_node leaf,
                          struct hs_error *err)
{
    char name[HS_KEY_TEXT_BYTES];
    hs_str slot, variable;
    hs_key_root_name(view, leaf, name, sizeof name);
    HS_TRY(hs_strtab_add(&variables->slots, name, &slot, err));
    hs_key_root_name(view, hs_snap_root(view->snap, leaf)->parent, name, sizeof name);
    HS_TRY(hs_strtab_add(&variables->names, name, &variable, err));
    HS_TRY(HS_GROW(&variables->of_slot, &variables->capacity, (size_t)slot + 1, err));
    variables->of_slot[slot] = variable;
    return HS_OK;
}

static hs_status find_variables(const struct hs_view *view, struct variables *variables,
                                struct hs_error *err)
{
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->level == HS_LEVEL_LEAF && root->parent < node &&
            hs_snap_root(view->snap, root->parent)->level == HS_LEVEL_VARIABLE)
            HS_TRY(add_slot(variables, view, node, err));
    }
    variables->n_slots = variables->slots.n_strings;
    return HS_OK;
}

/* Finds the variable that a key is a slot of; 0: of none. */
static hs_status variable_of(struct variables *variables, const struct hs_keys *keys,
                             const struct hs_key *key, hs_str *ret, struct hs_error *err)
{
    hs_str slot = 0;
    *ret = 0;
    if (key->form != HS_KEY_ROOT || variables->n_slots == 0)
        return HS_OK;
    HS_TRY(hs_strtab_add(&variables->slots, hs_strtab_get(&keys->names, key->name), &slot, err));
    if (slot != 0 && slot <= variables->n_slots)
        *ret = variables->of_slot[slot];
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

/* Puts the names of variables, and by row of a root which it is a slot of. */
static hs_status put_variables(struct columns *columns, struct variables *variables,
                               struct hs_error *err)
{
    hs_json_begin_array(&columns->json, "variables", HS_JSON_LINE);
    for (hs_str name = 1; name <= variables->names.n_strings; name++)
        hs_json_string(&columns->json, NULL, hs_strtab_get(&variables->names, name));
    hs_json_end_array(&columns->json);
    hs_json_begin_array(&columns->json, "variable", HS_JSON_LINE);
    for (size_t i = 0; i < columns->keys->n; i++) {
        hs_str variable;
        if (columns->row[i] == HS_NO_KEY)
            continue;
        HS_TRY(variable_of(variables, columns->keys, &columns->keys->keys[i], &variable, err));
        hs_json_u64(&columns->json, NULL, variable);
    }
    hs_json_end_array(&columns->json);
    return HS_OK;
}

static hs_status put_variables_of(struct columns *columns, const struct hs_view *view,
                                  struct hs_error *err)
{
    struct variables variables = {0};
    hs_status status = find_variables(view, &variables, err);
    if (status == HS_OK && variables.n_slots != 0)
        status = put_variables(columns, &variables, err);
    variables_fini(&variables);
    return status;
}

hs_status hs_key_columns_write(const struct hs_keys *keys, const struct hs_view *view, size_t most,
                               struct hs_buffer *buffer, struct hs_error *err)
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
    if (view != NULL)
        HS_TRY(put_variables_of(&columns, view, err));
    hs_json_end_object(&columns.json);
    return hs_json_finish(&columns.json, err);
}
