/* A key file that anybody may have written. */
#include "analysis/key_file.h"
#include "analysis/leak_groups.h"
#include "base/alloc.h"
#include "base/cursor.h"
#include "key_format.h"

static hs_status damaged(struct hs_error *err, const char *what)
{
    return hs_fail(err, HS_FORMAT, "the key file is damaged: %s", what);
}

/* ---- the packed part ---- */

static hs_status take_strings(struct hs_cursor *c, struct hs_strtab *names, struct hs_error *err)
{
    uint64_t n = hs_cursor_varint(c);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t n_bytes = hs_cursor_varint(c);
        const uint8_t *bytes = hs_cursor_bytes(c, n_bytes);
        hs_str id;
        HS_TRY(hs_cursor_check(c, "the key file", err));
        if (n_bytes == 0 || memchr(bytes, 0, n_bytes) != NULL)
            return damaged(err, "an odd name");
        HS_TRY(hs_strtab_add_n(names, (const char *)bytes, n_bytes, &id, err));
        if (id != i + 1)
            return damaged(err, "a name twice");
    }
    return hs_cursor_check(c, "the key file", err);
}

static hs_str take_name(struct hs_cursor *c, const struct hs_strtab *names)
{
    return (hs_str)hs_kept_file_below(c, names->n_strings + 1);
}

static hs_status take_facts(struct hs_cursor *c, const struct hs_strtab *names,
                            struct hs_key_facts *f, struct hs_error *err)
{
    const uint64_t narrow = (uint64_t)UINT32_MAX + 1;
    f->snap_checksum = hs_cursor_varint(c);
    f->snap_bytes = hs_cursor_varint(c);
    f->policy = hs_cursor_varint(c);
    f->taken_ns = hs_cursor_varint(c);
    f->started_ns = hs_cursor_varint(c);
    f->resident_bytes = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
    f->available_bytes = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
    f->heap_words = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
    f->sets_hash = hs_cursor_varint(c);
    f->pid = (uint32_t)hs_kept_file_below(c, narrow);
    f->word_bytes = (uint32_t)hs_kept_file_below(c, 9);
    f->command = take_name(c, names);
    f->tool_version = take_name(c, names);
    f->moves = hs_kept_file_below(c, 2) != 0;
    f->is_cut = hs_kept_file_below(c, 2) != 0;
    if (c->failed || f->word_bytes == 0 || (f->word_bytes & (f->word_bytes - 1)) != 0)
        return damaged(err, "its facts");
    return HS_OK;
}

static hs_status take_builds(struct hs_cursor *c, struct hs_snap_keys *table, struct hs_error *err)
{
    uint64_t n = hs_kept_file_below(c, HS_KEY_BUILDS_MOST + 1);
    HS_TRY(HS_GROW(&table->builds, &table->builds_capacity, (size_t)n, err));
    for (uint64_t i = 0; i < n; i++) {
        table->builds[i].path = take_name(c, &table->names);
        table->builds[i].build_id = take_name(c, &table->names);
    }
    table->n_builds = (size_t)n;
    return c->failed ? damaged(err, "its builds") : HS_OK;
}

static bool key_is_sound(const struct hs_key_row *rows, size_t at)
{
    const struct hs_key_row *row = &rows[at];
    if (at == 0 || row->form == HS_KEY_ALL)
        return at == 0 && row->form == HS_KEY_ALL && row->parent == HS_NO_KEY && row->name == 0 &&
               row->detail <= row->words;
    return row->parent < at && row->name != 0 && row->form <= HS_KEY_UNREACHED &&
           row->words <= rows[row->parent].words && row->detail <= row->words &&
           row->objects <= rows[row->parent].objects;
}

static bool row_is_sound(const struct hs_snap_keys *table, unsigned list, size_t at)
{
    const struct hs_key_row *row = &table->lists[list].rows[at];
    if (list == HS_KEY_LIST_KEYS)
        return key_is_sound(table->lists[list].rows, at);
    if (row->name == 0 || at >= HS_KEY_ROWS_MOST)
        return false;
    if (list == HS_KEY_LIST_SITES)
        return row->parent < table->lists[HS_KEY_LIST_KEYS].n && row->form == 0;
    return row->parent == HS_NO_KEY &&
           row->form < (list == HS_KEY_LIST_LEAKS ? HS_N_LEAK_CERTAINTIES : 1);
}

static hs_status take_list(struct hs_cursor *c, struct hs_snap_keys *table, unsigned list,
                           struct hs_error *err)
{
    const uint64_t narrow = (uint64_t)UINT32_MAX + 1;
    enum { ROW_LEAST_BYTES = 7 };
    struct hs_key_rows *rows = &table->lists[list];
    uint64_t n = hs_kept_file_below(c, HS_KEYS_MOST + 1);
    if (c->failed || n > hs_cursor_left(c) / ROW_LEAST_BYTES)
        return damaged(err, "more rows than there is room for");
    HS_TRY(HS_GROW(&rows->rows, &rows->capacity, (size_t)n, err));
    while (rows->n < n) {
        struct hs_key_row *row = &rows->rows[rows->n];
        row->parent = (uint32_t)hs_kept_file_below(c, HS_KEYS_MOST + 1) - 1;
        row->name = take_name(c, &table->names);
        row->form = (uint8_t)hs_kept_file_below(c, HS_KEY_UNREACHED + 1);
        row->objects = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
        row->words = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
        row->detail = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
        row->set = (uint32_t)hs_kept_file_below(c, list == HS_KEY_LIST_KEYS ? narrow : 1);
        if (c->failed || !row_is_sound(table, list, rows->n))
            return damaged(err, "a row that cannot be");
        rows->n++;
    }
    return HS_OK;
}

static hs_status take_tells(struct hs_cursor *c, struct hs_key_rows *list, struct hs_error *err)
{
    for (size_t i = 0; i < list->n; i++)
        list->rows[i].tells = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
    return c->failed ? damaged(err, "how much its names tell") : HS_OK;
}

static hs_status take_all(struct hs_cursor *c, struct hs_snap_keys *table, struct hs_error *err)
{
    HS_TRY(take_strings(c, &table->names, err));
    HS_TRY(take_facts(c, &table->names, &table->facts, err));
    HS_TRY(take_builds(c, table, err));
    for (unsigned i = 0; i < HS_N_KEY_LISTS; i++)
        HS_TRY(take_list(c, table, i, err));
    for (unsigned i = 0; i < HS_N_KEY_TELLING && (i != 0 || hs_cursor_left(c) != 0); i++)
        HS_TRY(take_tells(c, &table->lists[hs_key_telling[i]], err));
    const struct hs_key_rows *keys = &table->lists[HS_KEY_LIST_KEYS];
    if (keys->n == 0 || keys->rows[0].words != table->facts.heap_words)
        return damaged(err, "its keys are not the heap");
    return hs_cursor_left(c) == 0 ? HS_OK : damaged(err, "bytes behind the last list");
}

/* ---- the file ---- */

bool hs_key_file_is(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes);
    return hs_cursor_u64(&c) == hs_key_file_kind.magic && !c.failed;
}

hs_status hs_snap_keys_decode(const uint8_t *bytes, size_t n_bytes, struct hs_snap_keys *ret,
                              struct hs_error *err)
{
    struct hs_snap_keys table = {0};
    hs_auto_free uint8_t *raw = NULL;
    size_t n_raw;
    HS_TRY(hs_kept_file_unpack(&hs_key_file_kind, bytes, n_bytes, &raw, &n_raw, err));
    struct hs_cursor all = hs_cursor_make(raw, n_raw);
    hs_status status = take_all(&all, &table, err);
    if (status == HS_OK)
        *ret = table;
    else
        hs_snap_keys_fini(&table);
    return status;
}
