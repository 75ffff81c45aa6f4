/* export --to prometheus: gauges in the text format of Prometheus (version 0.0.4), for a textfile
 * collector, so that an alert needs no database of its own:
 *
 *     heapsnap_heap_bytes{service="shop"} 5676544
 *     heapsnap_retained_bytes{service="shop",kind="global",root="server"} 5195944
 *
 * There are at most MOST_ROOTS roots by name, those that retain most; all others are one series
 * without a name. What roots of one kind and name have is one series, as a collector refuses a file
 * that has one twice. With what roots share and what none reaches, they add up to the heap. */
#include <string.h>

#include "analysis/root_rows.h"
#include "analysis/rows.h"
#include "base/alloc.h"
#include "export/exporter.h"
#include "export/fleet.h"
#include "pen.h"

enum { MOST_ROOTS = 20, NAME_COLUMNS = 200, SERVICE_BYTES = 256 };

struct series {
    const char *kind; /* static */
    char *name;       /* owned: as it is written */
    uint64_t words;
};

struct metrics {
    struct hs_view *view;
    struct hs_pen pen;
    struct series series[MOST_ROOTS];
    size_t n;
    uint64_t others_words, word_bytes;
    struct hs_buffer service; /* owned: the value of its label */
};

/* ---- what is measured */

/* Makes the value of a label of a name from the target: on one line, and short. */
static hs_status make_label(const char *name, struct hs_buffer *ret, struct hs_error *err)
{
    struct hs_buffer clean = {0};
    hs_status status = hs_text_sanitise(name, strlen(name), HS_TEXT_TERMINAL, &clean, err);

    if (status == HS_OK)
        status = hs_text_fit((const char *)clean.bytes, clean.n_bytes, NAME_COLUMNS, ret, err);
    if (status == HS_OK)
        status = hs_buffer_reserve(ret, 1, err);
    if (status == HS_OK)
        hs_buffer_put_u8(ret, '\0');
    hs_buffer_fini(&clean);
    return status;
}

/* Adds to the series of that kind and name, of which there are no two. */
static hs_status series_add(struct metrics *m, const char *kind, const char *name, uint64_t words,
                            struct hs_error *err)
{
    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->series[i].name, name) == 0 && strcmp(m->series[i].kind, kind) == 0) {
            m->series[i].words += words;
            return HS_OK;
        }
    if (m->n == MOST_ROOTS || words == 0) {
        m->others_words += words;
        return HS_OK;
    }
    struct series *series = &m->series[m->n++];
    series->kind = kind;
    series->words = words;
    return hs_strdup(name, &series->name, err);
}

static hs_status add_root(struct metrics *m, struct hs_rows *rows, const struct hs_root_row *row,
                          struct hs_error *err)
{
    struct hs_row_value kind, name;
    struct hs_buffer label = {0};

    hs_rows_begin(rows);
    HS_TRY(hs_rows_get(rows, row->node, HS_ROOTS_kind, &kind, err));
    HS_TRY(hs_rows_get(rows, row->node, HS_ROOTS_name, &name, err));
    hs_status status = make_label(name.is_known ? name.text : "", &label, err);
    if (status == HS_OK)
        status = series_add(m, kind.is_known ? kind.text : "", (const char *)label.bytes,
                            row->retained.words, err);
    hs_buffer_fini(&label);
    return status;
}

static hs_status add_roots(struct metrics *m, const struct hs_root_rows *roots,
                           struct hs_error *err)
{
    struct hs_rows rows = hs_rows_of_roots(m->view);

    for (size_t i = 0; i < roots->n_rows; i++)
        HS_TRY(add_root(m, &rows, &roots->rows[i], err));
    m->others_words += roots->others_words;
    return HS_OK;
}

static hs_status find_lost(struct metrics *m, uint64_t *ret_certain, uint64_t *ret_possible,
                           struct hs_error *err)
{
    struct hs_row_value certainty, words;
    struct hs_rows rows;

    *ret_certain = *ret_possible = 0;
    HS_TRY(hs_rows_find(m->view, &hs_noun_leaks, &rows, err));
    hs_status status = HS_OK;
    for (uint64_t at = 0; at < rows.n && status == HS_OK; at++) {
        hs_rows_begin(&rows);
        status = hs_rows_get(&rows, at, HS_LEAKS_certainty, &certainty, err);
        if (status == HS_OK)
            status = hs_rows_get(&rows, at, HS_LEAKS_words, &words, err);
        if (status == HS_OK && strcmp(certainty.text, "certain") == 0)
            *ret_certain += words.number;
        else if (status == HS_OK)
            *ret_possible += words.number;
    }
    hs_rows_fini(&rows);
    return status;
}

/* ---- what is written */

/* Writes the value of a label: a backslash and a quote have a backslash in front of them. */
static void put_label(struct hs_pen *pen, const char *key, const char *value)
{
    hs_pen_text(pen, key);
    hs_pen_text(pen, "=\"");
    for (; *value != '\0' && hs_pen_ok(pen); value++) {
        if (*value == '\\' || *value == '"')
            hs_pen_byte(pen, '\\');
        hs_pen_byte(pen, (uint8_t)*value);
    }
    hs_pen_byte(pen, '"');
}

static void put_head(struct metrics *m, const char *name, const char *help)
{
    hs_pen_text(&m->pen, "# HELP ");
    hs_pen_text(&m->pen, name);
    hs_pen_byte(&m->pen, ' ');
    hs_pen_text(&m->pen, help);
    hs_pen_text(&m->pen, "\n# TYPE ");
    hs_pen_text(&m->pen, name);
    hs_pen_text(&m->pen, " gauge\n");
}

/* Writes the begin of a sample, up to where further labels stand. */
static void put_begin(struct metrics *m, const char *name)
{
    hs_pen_text(&m->pen, name);
    hs_pen_byte(&m->pen, '{');
    put_label(&m->pen, "service", (const char *)m->service.bytes);
}

static void put_end(struct metrics *m, uint64_t value)
{
    hs_pen_text(&m->pen, "} ");
    hs_pen_number(&m->pen, value);
    hs_pen_byte(&m->pen, '\n');
}

static void put_gauge(struct metrics *m, const char *name, const char *help, uint64_t value)
{
    put_head(m, name, help);
    put_begin(m, name);
    put_end(m, value);
}

static void put_root(struct metrics *m, const char *kind, const char *name, uint64_t words)
{
    put_begin(m, "heapsnap_retained_bytes");
    hs_pen_byte(&m->pen, ',');
    put_label(&m->pen, "kind", kind);
    hs_pen_byte(&m->pen, ',');
    put_label(&m->pen, "root", name);
    put_end(m, words * m->word_bytes);
}

static void put_roots(struct metrics *m, const struct hs_root_rows *roots)
{
    put_head(m, "heapsnap_retained_bytes", "What would be freed without this root.");
    for (size_t i = 0; i < m->n; i++)
        put_root(m, m->series[i].kind, m->series[i].name, m->series[i].words);
    put_root(m, "", "", m->others_words);
    put_gauge(m, "heapsnap_shared_bytes", "What several roots keep together, and none alone.",
              roots->shared_words * m->word_bytes);
}

static hs_status put_lost(struct metrics *m, struct hs_error *err)
{
    static const char name[] = "heapsnap_lost_bytes";
    uint64_t certain, possible;

    HS_TRY(find_lost(m, &certain, &possible, err));
    put_head(m, name, "Blocks that no root reaches.");
    put_begin(m, name);
    hs_pen_text(&m->pen, ",certainty=\"certain\"");
    put_end(m, certain * m->word_bytes);
    put_begin(m, name);
    hs_pen_text(&m->pen, ",certainty=\"possible\"");
    put_end(m, possible * m->word_bytes);
    return HS_OK;
}

static hs_status put_all(struct metrics *m, struct hs_error *err)
{
    const struct hs_root_query query = {.kinds = UINT64_MAX, .max_rows = UINT64_MAX};
    struct hs_root_rows roots = {0};
    uint64_t heap;

    HS_TRY(hs_root_rows_select(m->view, &query, &roots, err));
    hs_status status = add_roots(m, &roots, err);
    if (status == HS_OK) {
        heap =
            roots.shared_words + m->others_words + hs_index_unreached_total(m->view->index).words;
        for (size_t i = 0; i < m->n; i++)
            heap += m->series[i].words;
        put_gauge(m, "heapsnap_heap_bytes", "Live heap.", heap * m->word_bytes);
        put_gauge(m, "heapsnap_snapshot_timestamp_seconds", "When the snapshot was taken.",
                  m->view->facts->taken_ns / 1000000000);
        put_roots(m, &roots);
        status = put_lost(m, err);
    }
    hs_root_rows_fini(&roots);
    return status;
}

static hs_status write_prometheus(struct hs_view *view, const struct hs_export_target *target,
                                  struct hs_error *err)
{
    struct metrics m = {.view = view, .pen = hs_pen_of(target->out), .word_bytes = 8};

    char service[SERVICE_BYTES];

    hs_fleet_service(view, target->fleet, service, sizeof service);
    hs_status status = make_label(service, &m.service, err);
    if (status == HS_OK)
        status = put_all(&m, err);
    status = hs_pen_finish(&m.pen, status, err);
    hs_buffer_fini(&m.service);
    for (size_t i = 0; i < m.n; i++)
        hs_free(m.series[i].name);
    return status;
}

const struct hs_exporter hs_exporter_prometheus = {
    .needs = HS_VIEW_INDEX,
    .write = write_prometheus,
};
