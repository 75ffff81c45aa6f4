#include "condensed_files.h"

#include "base/alloc.h"
#include "engine.h"

#define WHAT "the condensed graph"

/* ---- rows ---- */

/* An edge between components; HS_NONE: what is not reached has none. */
static inline bool parts_edge(const struct condensed_parts *parts, uint32_t *from, uint32_t *to)
{
    const uint32_t *of = parts->components->of;
    uint32_t source = of[*from], target = of[*to];

    *from = source;
    *to = target;
    return source != HS_NONE && source != target;
}

/* The edges between components turned round; and what nodes of the root tree lead to. */
struct turning {
    const struct condensed_parts *parts;
    void (*put)(void *sink, uint32_t from, uint32_t to);
    void *sink;
};

static void turning_put(void *sink, uint32_t from, uint32_t to)
{
    const struct turning *turning = sink;
    if (parts_edge(turning->parts, &from, &to))
        turning->put(turning->sink, to, from);
}

static hs_status turning_run(const void *context,
                             void (*put)(void *sink, uint32_t from, uint32_t to), void *sink,
                             struct hs_error *err)
{
    const struct condensed_parts *parts = context;
    struct turning turning = {parts, put, sink};
    return parts->edges->run(parts->edges->context, turning_put, &turning, err);
}

struct leading {
    const struct condensed_parts *parts;
    struct hs_condensed *condensed;
};

static void leading_put(void *sink, uint32_t from, uint32_t to)
{
    const struct leading *leading = sink;
    uint32_t unit = from;

    if (unit >= leading->condensed->n_tree || !parts_edge(leading->parts, &from, &to))
        return;
    uint32_t *alone = &leading->condensed->files.alone[unit];
    *alone = *alone == HS_NONE || *alone == to ? to : from;
}

static hs_status alone_find(const struct condensed_parts *parts, struct hs_condensed *condensed,
                            struct hs_error *err)
{
    struct leading leading = {parts, condensed};
    uint32_t **alone = &condensed->files.alone;

    HS_TRY(engine_array_init(condensed->budget, condensed->n_tree, WHAT, alone, err));
    for (uint32_t i = 0; i < condensed->n_tree; i++)
        (*alone)[i] = HS_NONE;
    return parts->edges->run(parts->edges->context, leading_put, &leading, err);
}

hs_status condensed_files_make(const struct condensed_parts *parts, struct hs_condensed *condensed,
                               struct hs_error *err)
{
    const struct hs_unit_edge_source turned = {turning_run, parts};
    struct hs_stored_rows rows;

    condensed->is_stored = true;
    condensed->n_nodes = parts->components->n_components;
    HS_TRY(alone_find(parts, condensed, err));
    HS_TRY(hs_stored_rows_make(condensed->n_nodes, &turned, condensed->budget, WHAT, &rows, err));
    condensed->files.rows = rows.spill; /* begins are not needed from here on */
    rows.spill = (struct hs_spill){0};
    condensed->files.rows.is_read_often = true;
    hs_stored_rows_fini(&rows);
    return HS_OK;
}

void condensed_files_fini(struct hs_condensed *condensed)
{
    struct hs_condensed_files *files = &condensed->files;

    hs_spill_close(&files->rows);
    hs_spill_close(&files->sizes);
    engine_array_fini(condensed->budget, &files->alone, condensed->n_tree);
    hs_free(files->tree_own);
    *files = (struct hs_condensed_files){0};
}

/* ---- sizes ---- */

hs_status condensed_files_sizes(const struct hs_condensed *condensed, bool nodes, bool ends,
                                struct hs_spill_reader *ret, struct hs_error *err)
{
    const struct hs_condensed_files *files = &condensed->files;

    if (!condensed->is_stored)
        return HS_OK;
    return hs_spill_read(&files->sizes, nodes ? 0 : files->ends_at,
                         ends ? files->sizes.n_bytes : files->ends_at, ret, err);
}

hs_status hs_condensed_put_sizes(struct hs_spill *spill, const struct hs_sizes *sizes,
                                 struct hs_error *err)
{
    bool has_static = sizes->static_words != 0 || sizes->static_objects != 0;

    HS_TRY(hs_spill_put_varint(spill, sizes->objects << 1 | has_static, err));
    HS_TRY(hs_spill_put_varint(spill, sizes->words, err));
    if (!has_static)
        return HS_OK;
    HS_TRY(hs_spill_put_varint(spill, sizes->static_words, err));
    return hs_spill_put_varint(spill, sizes->static_objects, err);
}

hs_status condensed_files_next(struct hs_spill_reader *reader, struct hs_sizes *ret,
                               struct hs_error *err)
{
    uint64_t objects;

    *ret = (struct hs_sizes){0};
    HS_TRY(hs_spill_get_varint(reader, &objects, err));
    HS_TRY(hs_spill_get_varint(reader, &ret->words, err));
    ret->objects = objects >> 1;
    if ((objects & 1) == 0)
        return HS_OK;
    HS_TRY(hs_spill_get_varint(reader, &ret->static_words, err));
    return hs_spill_get_varint(reader, &ret->static_objects, err);
}
