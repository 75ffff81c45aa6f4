/* The table `keys`: who keeps what, by names that are the same in the next dump and on the next
 * host. The table that a fleet is asked by: some tens to thousands of rows a snapshot. */
#include "analysis/keys.h"
#include "fleet_sheet.h"
#include "set_names.h"

/* The moment and the process stand in each row, so that growth is asked without a join. */
static const struct hs_parquet_column columns[] = {
    {"key", HS_PARQUET_TEXT},         {"parent", HS_PARQUET_TEXT},
    {"root", HS_PARQUET_TEXT},        {"type", HS_PARQUET_TEXT},
    {"form", HS_PARQUET_TEXT},        {"kind", HS_PARQUET_TEXT},
    {"steps", HS_PARQUET_NUMBER},     {"tier", HS_PARQUET_TEXT},
    {"owners", HS_PARQUET_TEXT},      {"objects", HS_PARQUET_NUMBER},
    {"words", HS_PARQUET_NUMBER},     {"all_objects", HS_PARQUET_NUMBER},
    {"all_words", HS_PARQUET_NUMBER}, {"pid", HS_PARQUET_NUMBER},
    {"taken", HS_PARQUET_TIME},
};

static const char *const forms[] = {
    [HS_KEY_ALL] = "all",
    [HS_KEY_ROOT] = "root",
    [HS_KEY_TYPE] = "type",
    [HS_KEY_UNREACHED] = "unreached",
};

/* Parents have smaller numbers; number 0 is above all. */
static uint32_t first_step(const struct hs_keys *keys, uint32_t key)
{
    while (keys->keys[key].parent != 0)
        key = keys->keys[key].parent;
    return key;
}

static hs_status put_key(const struct hs_view *view, const struct hs_keys *keys, uint32_t number,
                         struct fleet_sheet *sheet, struct hs_error *err)
{
    const struct hs_key *key = &keys->keys[number];
    const struct hs_key *top = &keys->keys[first_step(keys, number)];
    const char *tier = hs_tier_name(key->tier);
    char text[HS_KEY_TEXT_BYTES], parent[HS_KEY_TEXT_BYTES], owners[SET_NAMES_BYTES];
    hs_key_text(keys, number, text, sizeof text);
    hs_key_text(keys, key->parent, parent, sizeof parent);
    set_names_put(view, key->set, owners);
    fleet_text(sheet, text);
    fleet_text(sheet, parent);
    fleet_text(sheet, hs_strtab_get(&keys->names, top->name));
    fleet_text(sheet, key->form == HS_KEY_TYPE ? hs_strtab_get(&keys->names, key->name) : "");
    fleet_text(sheet, forms[key->form]);
    fleet_text(sheet, top->form == HS_KEY_ROOT ? hs_root_kind_name(key->kind) : "");
    fleet_number(sheet, key->steps);
    fleet_text(sheet, tier != NULL ? tier : "");
    fleet_text(sheet, owners);
    fleet_number(sheet, key->own.objects);
    fleet_number(sheet, key->own.words);
    fleet_number(sheet, key->all.objects);
    fleet_number(sheet, key->all.words);
    fleet_number(sheet, view->facts->pid);
    fleet_number(sheet, view->facts->taken_ns / 1000);
    return fleet_row(sheet, err);
}

static hs_status write_keys(struct hs_view *view, struct fleet_sheet *sheet, struct hs_error *err)
{
    const struct hs_keys_query query = {0};
    struct hs_keys keys = {0};
    hs_status status = hs_keys_find(view, &query, &keys, err);
    for (uint32_t i = 1; i < keys.n && status == HS_OK; i++)
        status = put_key(view, &keys, i, sheet, err);
    hs_keys_fini(&keys);
    return status;
}

const struct fleet_table fleet_keys = {
    .name = "keys",
    .schema = "heapsnap.keys/1",
    FLEET_COLUMNS(columns),
    .write = write_keys,
};
