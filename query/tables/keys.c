/* keys: `root > type > type`, names of blocks that survive a restart, with their sums. */
#include "graph/edges.h"
#include "key_list.h"
#include "node_columns.h"
#include "tables.h"

enum {
    KEYS_ID,
    KEYS_PARENT,
    KEYS_KEY,
    KEYS_NAME,
    KEYS_STEPS,
    KEYS_KIND,
    KEYS_TIER,
    KEYS_ROOT_ID,
    KEYS_TYPE_ID,
    KEYS_SET_ID,
    KEYS_COUNT,
    KEYS_WORDS,
    KEYS_ALL_COUNT,
    KEYS_ALL_WORDS
};

static hs_status keys_count(struct hs_sql_source *source, uint64_t *ret, struct hs_error *err)
{
    const struct hs_keys *keys;
    HS_TRY(hs_sql_keys_of(source, &keys, err));
    *ret = keys->n;
    return HS_OK;
}

static void put_text(const struct hs_keys *keys, uint32_t at, int column, sqlite3_context *ret)
{
    const struct hs_key *key = &keys->keys[at];
    char text[HS_KEY_TEXT_BYTES];
    switch (column) {
    case KEYS_KEY:
        hs_key_text(keys, at, text, sizeof text);
        hs_sql_put_text(ret, text);
        return;
    case KEYS_NAME:
        hs_sql_put_text(ret, hs_strtab_get(&keys->names, key->name));
        return;
    case KEYS_KIND:
        hs_sql_put_name(ret, key->root != HS_NO_NODE ? hs_root_kind_name(key->kind) : NULL);
        return;
    default:
        hs_sql_put_tier(ret, key->tier);
    }
}

static hs_status keys_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                             struct hs_error *err)
{
    const struct hs_keys *keys;
    HS_TRY(hs_sql_keys_of(cursor->source, &keys, err));
    const struct hs_key *key = &keys->keys[cursor->row];
    const uint64_t none = UINT64_MAX;
    bool has_type = key->form == HS_KEY_TYPE && key->type != UINT32_MAX;
    const uint64_t numbers[] = {
        [KEYS_ID] = cursor->row,
        [KEYS_PARENT] = key->parent == HS_NO_KEY ? none : key->parent,
        [KEYS_STEPS] = key->steps,
        [KEYS_ROOT_ID] = key->root,
        [KEYS_TYPE_ID] = has_type ? key->type : none,
        [KEYS_SET_ID] = key->set != 0 ? key->set : none,
        [KEYS_COUNT] = key->own.objects,
        [KEYS_WORDS] = key->own.words,
        [KEYS_ALL_COUNT] = key->all.objects,
        [KEYS_ALL_WORDS] = key->all.words,
    };
    if (column == KEYS_KEY || column == KEYS_NAME || column == KEYS_KIND || column == KEYS_TIER)
        put_text(keys, (uint32_t)cursor->row, column, ret);
    else
        hs_sql_put_or(ret, numbers[column], none);
    return HS_OK;
}

static const struct hs_sql_key keys_keys[] = {{KEYS_ID, HS_SQL_KEY_ORDERED, true, 1}};

const struct hs_sql_table hs_sql_table_keys = {
    .name = "keys",
    .columns = "id INTEGER, parent INTEGER, key TEXT, name TEXT, steps INTEGER, kind TEXT, "
               "tier TEXT, root_id INTEGER, type_id INTEGER, set_id INTEGER, count INTEGER, "
               "words WORDS, all_count INTEGER, all_words WORDS",
    .keys = keys_keys,
    .n_keys = 1,
    .count = keys_count,
    .column = keys_column,
};
