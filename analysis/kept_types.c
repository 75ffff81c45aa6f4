#include "kept_types.h"

#include "base/alloc.h"
#include "base/cursor.h"
#include "kept_file.h"

#define KEPT_TYPES_MAGIC 0x657079742e736e73ULL /* "sns.type" */
#define KEPT_TYPES_VERSION 1                   /* of what is counted, too */
enum { ROW_NUMBERS = 7 };

#define KIND(name_end)                                                              \
    {                                                                               \
        .what = "the table of types", .end = (name_end), .magic = KEPT_TYPES_MAGIC, \
        .version = KEPT_TYPES_VERSION                                               \
    }
static const struct hs_kept_file_kind kinds[] = {
    [HS_TYPE_CONSTRUCTOR] = KIND(".types-constructor"),
    [HS_TYPE_INSTANCE] = KIND(".types-instance"),
    [HS_TYPE_HEAD] = KIND(".types"),
};

struct work {
    const struct hs_view *view;
    enum hs_type_level level;
    struct hs_type_rows *rows;
};

static bool is_empty(const struct hs_type_row *row)
{
    return row->shallow.objects == 0 && row->shallow.static_objects == 0;
}

/* ---- reading */

static hs_status damaged(struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "the table of types is damaged: it is not the heap");
}

static hs_status take_row(struct hs_cursor *c, uint64_t n_types, uint64_t retained_most,
                          struct hs_type_row *row)
{
    row->n_types = (uint32_t)hs_kept_file_below(c, n_types + 1);
    row->shallow.words = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
    row->shallow.objects = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
    row->shallow.static_words = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
    row->shallow.static_objects = hs_kept_file_below(c, HS_KEPT_FILE_VALUE_MOST);
    row->retained_words = hs_kept_file_below(c, retained_most + 1);
    return c->failed || is_empty(row) ? HS_FORMAT : HS_OK;
}

/* Reads the rows. They are damaged unless the types have together all that a root reaches, to the
 * word. */
static hs_status take_rows(struct hs_cursor *c, const struct hs_view *view,
                           struct hs_type_row *rows, struct hs_error *err)
{
    const struct hs_sizes all = hs_index_reached_total(view->index);
    const uint64_t n_types = view->totals->n_types;
    struct hs_sizes sum = {0};
    uint64_t next = 0, n = hs_kept_file_below(c, n_types + 1);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t type = next + hs_kept_file_below(c, n_types - next);
        if (c->failed || take_row(c, n_types, all.words, &rows[type]) != HS_OK)
            return damaged(err);
        hs_sizes_add(&sum, &rows[type].shallow);
        if (sum.words > all.words || sum.static_words > all.static_words)
            return damaged(err);
        next = type + 1;
    }
    bool is_all = sum.words == all.words && sum.objects == all.objects &&
                  sum.static_words == all.static_words && sum.static_objects == all.static_objects;
    return is_all && hs_cursor_left(c) == 0 && !c->failed ? HS_OK : damaged(err);
}

static hs_status take_head(struct hs_cursor *c, const struct hs_kept_file_key *key,
                           const struct work *work, struct hs_error *err)
{
    bool is_of = hs_cursor_varint(c) == key->snap_checksum;
    is_of = hs_cursor_varint(c) == key->snap_bytes && is_of;
    is_of = hs_cursor_varint(c) == key->policy && is_of;
    is_of = hs_cursor_varint(c) == work->level && is_of;
    is_of = hs_cursor_varint(c) == work->view->totals->n_types && is_of;
    return is_of && !c->failed ? HS_OK : hs_fail(err, HS_FORMAT, "it is of another snapshot");
}

static hs_status take(void *context, const struct hs_kept_file_key *key, const uint8_t *bytes,
                      size_t n_bytes, struct hs_error *err)
{
    const struct work *work = context;
    const uint64_t n_types = work->view->totals->n_types;
    hs_auto_free uint8_t *raw = NULL;
    hs_auto_free struct hs_type_row *rows = NULL;
    size_t n_raw;
    HS_TRY(hs_kept_file_unpack(&kinds[work->level], bytes, n_bytes, &raw, &n_raw, err));
    struct hs_cursor c = hs_cursor_make(raw, n_raw);
    HS_TRY(take_head(&c, key, work, err));
    HS_TRY(HS_ALLOC(&rows, n_types, err));
    HS_TRY(take_rows(&c, work->view, rows, err));
    for (uint32_t i = 0; i < n_types; i++)
        rows[i].type = i;
    if (n_types != 0)
        memcpy(work->rows->rows, rows, n_types * sizeof *rows);
    return HS_OK;
}

hs_status hs_kept_types_find(const struct hs_view *view, enum hs_type_level level,
                             struct hs_type_rows *rows, bool *ret_found, struct hs_error *err)
{
    struct work work = {view, level, rows};
    hs_auto_free char *path = NULL;
    HS_TRY(hs_kept_file_find(view, &kinds[level], take, &work, &path, err));
    *ret_found = path != NULL;
    return HS_OK;
}

/* ---- writing */

static hs_status put(struct hs_buffer *b, const uint64_t *values, size_t n, struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(b, n * HS_VARINT_MAX_BYTES, err));
    for (size_t i = 0; i < n; i++)
        hs_buffer_put_varint(b, values[i]);
    return HS_OK;
}

static hs_status put_rows(struct hs_buffer *b, const struct hs_type_rows *rows,
                          struct hs_error *err)
{
    uint64_t n = 0, next = 0;
    for (size_t i = 0; i < rows->n_rows; i++)
        n += !is_empty(&rows->rows[i]);
    HS_TRY(put(b, &n, 1, err));
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct hs_type_row *row = &rows->rows[i];
        const uint64_t values[ROW_NUMBERS] = {i - next,
                                              row->n_types,
                                              row->shallow.words,
                                              row->shallow.objects,
                                              row->shallow.static_words,
                                              row->shallow.static_objects,
                                              row->retained_words};
        if (is_empty(row))
            continue;
        HS_TRY(put(b, values, ROW_NUMBERS, err));
        next = i + 1;
    }
    return HS_OK;
}

static hs_status put_all(struct hs_buffer *b, const struct hs_view *view, enum hs_type_level level,
                         const struct hs_type_rows *rows, struct hs_error *err)
{
    uint64_t policy;
    HS_TRY(hs_index_policy_key(view->snap, &view->session.policy, &policy, err));
    const uint64_t head[] = {view->totals->checksum, view->totals->file_bytes, policy, level,
                             view->totals->n_types};
    HS_TRY(put(b, head, sizeof head / sizeof *head, err));
    return put_rows(b, rows, err);
}

hs_status hs_kept_types_keep(const struct hs_view *view, enum hs_type_level level,
                             const struct hs_type_rows *rows, struct hs_error *err)
{
    struct hs_buffer raw = {0}, bytes = {0};
    hs_auto_free char *path = NULL;
    hs_status status = put_all(&raw, view, level, rows, err);
    if (status == HS_OK)
        status = hs_kept_file_pack(&kinds[level], &raw, &bytes, err);
    if (status == HS_OK)
        status = hs_kept_file_keep(view, &kinds[level], &bytes, &path, err);
    hs_buffer_fini(&bytes);
    hs_buffer_fini(&raw);
    return status;
}
