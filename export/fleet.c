/* Opens, writes and commits the tables of a snapshot: all of them, or none. */
#include "fleet_sheet.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "export/exporter.h"
#include "place.h"

static const struct fleet_table tables[HS_FLEET_N_TABLES] = {
    [HS_FLEET_SNAPSHOTS] = {"snapshots", "heapsnap.snapshots/2", &hs_noun_snapshots},
    [HS_FLEET_KEYS] = {"keys", "heapsnap.keys/2", &hs_noun_keys},
    [HS_FLEET_ROOTS] = {"roots", "heapsnap.roots/2", &hs_noun_roots},
    [HS_FLEET_SETS] = {"sets", "heapsnap.sets/2", &hs_noun_sets},
    [HS_FLEET_TYPES] = {"types", "heapsnap.types/2", &hs_noun_types},
    [HS_FLEET_LEAKS] = {"leaks", "heapsnap.leaks/2", &hs_noun_leaks},
    [HS_FLEET_BLOCKS] = {"blocks", "heapsnap.blocks/2", NULL},
};

/* ---- names */

static void put_time(uint64_t taken_ns, char *text, size_t n_bytes)
{
    const uint64_t ns_per_s = 1000000000;
    time_t seconds = (time_t)(taken_ns / ns_per_s);
    struct tm at;
    size_t n = 0;
    if (taken_ns != 0 && gmtime_r(&seconds, &at) != NULL)
        n = strftime(text, n_bytes, "%Y%m%dT%H%M%S", &at);
    if (n == 0)
        (void)snprintf(text, n_bytes, "unknown");
    else
        (void)snprintf(text + n, n_bytes - n, ".%09" PRIu64 "Z", taken_ns % ns_per_s);
}

/* The program's name stands behind the last slash of the first word. */
void hs_fleet_service(const struct hs_view *view, const struct hs_fleet_options *options,
                      char *text, size_t n_bytes)
{
    if (options != NULL && options->service != NULL) {
        (void)snprintf(text, n_bytes, "%s", options->service);
        return;
    }
    const char *command = hs_view_string(view, view->facts->command);
    size_t end = strcspn(command, " \t\n"), begin = end;
    while (begin > 0 && command[begin - 1] != '/')
        begin--;
    (void)snprintf(text, n_bytes, "%.*s", end - begin < 60 ? (int)(end - begin) : 60,
                   command + begin);
    if (text[0] == 0)
        (void)snprintf(text, n_bytes, "unknown");
}

struct export
{
    struct hs_view *view;
    const struct hs_fleet_options *options;
    struct fleet_names names;
    char host[256], service[64], time[40];
    struct place place;
    struct fleet_sheet sheets[HS_FLEET_N_TABLES];
};

static hs_status find_place(struct export *x, const char *directory, struct hs_error *err)
{
    if (gethostname(x->host, sizeof x->host - 1) != 0 || x->host[0] == 0)
        (void)snprintf(x->host, sizeof x->host, "localhost");
    hs_fleet_service(x->view, NULL, x->service, sizeof x->service);
    put_time(x->view->facts->taken_ns, x->time, sizeof x->time);
    x->names.host = x->options->host != NULL ? x->options->host : x->host;
    x->names.service = x->options->service != NULL ? x->options->service : x->service;
    if (snprintf(x->place.path, sizeof x->place.path, "%s", directory) >= (int)sizeof x->place.path)
        return hs_fail(err, HS_USAGE, "the name '%.80s...' is too long", directory);
    HS_TRY(place_add(&x->place, 0, "host", x->names.host, err));
    HS_TRY(place_add(&x->place, 1, "service", x->names.service, err));
    return place_add(&x->place, 2, "time", x->time, err);
}

/* ---- files */

static bool is_wanted(const struct export *x, unsigned table)
{
    return x->options->tables == 0 || (x->options->tables >> table & 1);
}

static hs_status write_sheet(struct export *x, unsigned number, struct hs_error *err)
{
    char path[PATH_MAX];
    struct fleet_sheet *sheet = &x->sheets[number];
    const struct fleet_table *table = &tables[number];
    sheet->table = table;
    hs_fleet_columns(sheet);
    sheet->names = &x->names;
    sheet->no_addresses = x->options->no_addresses;
    if (snprintf(path, sizeof path, "%s/%s.parquet", x->place.path, table->name) >=
        (int)sizeof path)
        return hs_fail(err, HS_USAGE, "the path '%.80s...' is too long", x->place.path);
    HS_TRY(hs_out_open_path_as(path, x->view->session.access, &sheet->out, err));
    HS_TRY(hs_parquet_open(&sheet->out, table->schema, sheet->columns, sheet->n_columns,
                           x->view->session.budget, &sheet->writer, err));
    HS_TRY(hs_fleet_write_rows(x->view, sheet, err));
    HS_TRY(hs_parquet_finish(sheet->writer, err));
    hs_parquet_close(HS_STEAL(sheet->writer)); /* its memory serves the next table */
    return HS_OK;
}

/* Writes the sheets; nothing has its name before all is written. */
static hs_status write_sheets(struct export *x, struct hs_fleet_report *ret, struct hs_error *err)
{
    HS_TRY(place_make(&x->place, x->view->session.access, err));
    for (unsigned i = 0; i < HS_FLEET_N_TABLES; i++)
        if (is_wanted(x, i))
            HS_TRY(hs_view_check(x->view, write_sheet(x, i, err), err));
    for (unsigned i = 0; i < HS_FLEET_N_TABLES; i++) {
        if (!is_wanted(x, i))
            continue;
        uint64_t n_bytes = x->sheets[i].out.n_written;
        HS_TRY(hs_out_commit(&x->sheets[i].out, err));
        ret->n_files++;
        ret->n_bytes += n_bytes;
    }
    return HS_OK;
}

static void close_sheets(struct export *x)
{
    for (unsigned i = 0; i < HS_FLEET_N_TABLES; i++) {
        struct fleet_sheet *sheet = &x->sheets[i];
        hs_parquet_close(sheet->writer);
        hs_out_close(&sheet->out);
        for (size_t k = 0; k < FLEET_COLUMNS_MAX; k++)
            hs_buffer_fini(&sheet->texts[k]);
    }
}

hs_status hs_fleet_write(struct hs_view *view, const char *directory,
                         const struct hs_fleet_options *options, struct hs_fleet_report *ret,
                         struct hs_error *err)
{
    static const struct hs_fleet_options defaults;
    hs_auto_free struct export *x = NULL;
    struct hs_fleet_report report = {0};
    HS_TRY(HS_ALLOC(&x, 1, err));
    x->view = view;
    x->options = options != NULL ? options : &defaults;
    for (unsigned i = 0; i < HS_FLEET_N_TABLES; i++)
        x->sheets[i].out.fd = -1;
    hs_status status = find_place(x, directory, err);
    if (status == HS_OK)
        status = write_sheets(x, &report, err);
    close_sheets(x);
    if (status != HS_OK)
        place_undo(&x->place);
    else if (ret != NULL)
        *ret = report;
    return status;
}
