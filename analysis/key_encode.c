/* The bytes of a key file. */
#include "analysis/key_file.h"
#include "base/alloc.h"
#include "key_format.h"

static hs_status put_number(struct hs_buffer *b, uint64_t value, struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(b, HS_VARINT_MAX_BYTES, err));
    hs_buffer_put_varint(b, value);
    return HS_OK;
}

static hs_status put_numbers(struct hs_buffer *b, const uint64_t *values, size_t n,
                             struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(b, n * HS_VARINT_MAX_BYTES, err));
    for (size_t i = 0; i < n; i++)
        hs_buffer_put_varint(b, values[i]);
    return HS_OK;
}

static hs_status put_strings(struct hs_buffer *b, const struct hs_strtab *names,
                             struct hs_error *err)
{
    HS_TRY(put_number(b, names->n_strings, err));
    for (size_t i = 1; i <= names->n_strings; i++) {
        const char *text = hs_strtab_get(names, (hs_str)i);
        size_t n = strlen(text);
        HS_TRY(put_number(b, n, err));
        HS_TRY(hs_buffer_reserve(b, n, err));
        hs_buffer_put_bytes(b, text, n);
    }
    return HS_OK;
}

static hs_status put_facts(struct hs_buffer *b, const struct hs_key_facts *f, struct hs_error *err)
{
    const uint64_t values[] = {
        f->snap_checksum,  f->snap_bytes,      f->policy,       f->taken_ns,  f->started_ns,
        f->resident_bytes, f->available_bytes, f->heap_words,   f->sets_hash, f->pid,
        f->word_bytes,     f->command,         f->tool_version, f->moves,     f->is_cut};
    return put_numbers(b, values, sizeof values / sizeof *values, err);
}

static hs_status put_list(struct hs_buffer *b, const struct hs_key_rows *list, struct hs_error *err)
{
    HS_TRY(put_number(b, list->n, err));
    for (size_t i = 0; i < list->n; i++) {
        const struct hs_key_row *row = &list->rows[i];
        const uint64_t values[] = {(uint32_t)(row->parent + 1),
                                   row->name,
                                   row->form,
                                   row->objects,
                                   row->words,
                                   row->detail,
                                   row->set};
        HS_TRY(put_numbers(b, values, sizeof values / sizeof *values, err));
    }
    return HS_OK;
}

static hs_status put_tells(struct hs_buffer *b, const struct hs_key_rows *list,
                           struct hs_error *err)
{
    for (size_t i = 0; i < list->n; i++)
        HS_TRY(put_number(b, list->rows[i].tells, err));
    return HS_OK;
}

static hs_status put_all(struct hs_buffer *b, const struct hs_snap_keys *table,
                         struct hs_error *err)
{
    HS_TRY(put_strings(b, &table->names, err));
    HS_TRY(put_facts(b, &table->facts, err));
    HS_TRY(put_number(b, table->n_builds, err));
    for (size_t i = 0; i < table->n_builds; i++) {
        const uint64_t values[] = {table->builds[i].path, table->builds[i].build_id};
        HS_TRY(put_numbers(b, values, 2, err));
    }
    for (unsigned i = 0; i < HS_N_KEY_LISTS; i++)
        HS_TRY(put_list(b, &table->lists[i], err));
    for (unsigned i = 0; i < HS_N_KEY_TELLING; i++)
        HS_TRY(put_tells(b, &table->lists[hs_key_telling[i]], err));
    return HS_OK;
}

hs_status hs_snap_keys_encode(const struct hs_snap_keys *table, struct hs_buffer *out,
                              struct hs_error *err)
{
    struct hs_buffer raw = {0};
    hs_status status = put_all(&raw, table, err);
    if (status == HS_OK)
        status = hs_kept_file_pack(&hs_key_file_kind, &raw, out, err);
    hs_buffer_fini(&raw);
    return status;
}
