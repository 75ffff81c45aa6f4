#include "described.h"

#include <string.h>

#include "noun_fields.h"
#include "options.h"
#include "path_print.h"
#include "suspect_rows.h"

/* ---- roots, whose JSON has more columns than the record of the table */

struct root_cells {
    uint64_t cells[HS_ROOTS_N];
    const struct hs_list *group;
    const char *type;
};

#define HS_ROW struct root_cells
static const struct hs_field root_fields[] = {HS_ROWS_ROOTS(HS_NOUN_FIELD) HS_FIELD(LIST, group),
                                              HS_FIELD(STRING, type)};
static const struct hs_record root_record = HS_RECORD(root_fields);

/* ---- all */

static const struct described {
    const char *command, *array; /* array: the member of the JSON document that has the rows */
    const struct hs_record *json, *tsv;
} all[] = {
    {"roots", "roots", &root_record, &hs_roots_record},
    {"dominators", "nodes", &hs_dominators_record, &hs_dominators_record},
    {"types", "types", &hs_types_record, &hs_types_record},
    {"leaks", "groups", &hs_leaks_record, &hs_leaks_record},
    {"samples", "samples", &hs_samples_record, &hs_samples_record},
    {"suspects", "suspects", &hs_suspects_record, &hs_suspects_record},
    {"object", "fields", &hs_link_record, &hs_link_record},
    {"paths", "steps", &hs_path_record, &hs_path_record},
};
enum { N_ALL = sizeof all / sizeof *all };

static const char *const kinds[HS_N_COLUMN_KINDS] = {
    [HS_COLUMN_STRING] = "text",      [HS_COLUMN_COUNT] = "count",
    [HS_COLUMN_WORDS] = "words",      [HS_COLUMN_BYTES] = "bytes",
    [HS_COLUMN_PERCENT] = "percent",  [HS_COLUMN_ADDRESS] = "address",
    [HS_COLUMN_NODE] = "node",        [HS_COLUMN_DURATION] = "nanoseconds",
    [HS_COLUMN_BOOL] = "true, false", [HS_COLUMN_SECONDS] = "microseconds",
    [HS_COLUMN_SHARE] = "percent",    [HS_COLUMN_NUMBER] = "number",
    [HS_COLUMN_LIST] = "list",        [HS_COLUMN_ONE] = "object",
};

static bool is_member(const struct hs_field *field)
{
    return (field->cell.flags & (HS_COLUMN_TABLE_ONLY | HS_COLUMN_NOT_JSON)) == 0;
}

static hs_status man_members(struct hs_out *out, const struct hs_record *record,
                             struct hs_error *err)
{
    const char *between = "";
    for (size_t i = 0; i < record->n_fields; i++) {
        const struct hs_column *cell = &record->fields[i].cell;
        if (!is_member(&record->fields[i]))
            continue;
        HS_TRY(hs_print(out, err, "%s%s (%s)", between, cell->key, kinds[cell->kind]));
        between = ",\n";
    }
    return hs_print(out, err, "\n");
}

/* The headings of TSV, in the order of its columns. */
static hs_status man_columns(struct hs_out *out, const struct hs_record *record,
                             struct hs_error *err)
{
    for (unsigned column = 1; column <= record->n_fields; column++)
        for (size_t i = 0; i < record->n_fields; i++) {
            const struct hs_field *field = &record->fields[i];
            if (field->column == column && (field->cell.flags & HS_COLUMN_TABLE_ONLY) == 0)
                HS_TRY(hs_print(out, err, "%s%s", column == 1 ? "" : ",\n", field->cell.key));
        }
    return hs_print(out, err, "\n");
}

hs_status hs_described_man(struct hs_out *out, const char *command, struct hs_error *err)
{
    for (size_t i = 0; i < N_ALL; i++) {
        if (strcmp(all[i].command, command) != 0)
            continue;
        HS_TRY(hs_print(out, err, ".SH ROWS\n.TP\n.B JSON, NDJSON\n%s: ", all[i].array));
        HS_TRY(man_members(out, all[i].json, err));
        HS_TRY(hs_print(out, err, ".TP\n.B TSV\n"));
        HS_TRY(man_columns(out, all[i].tsv, err));
    }
    return HS_OK;
}

hs_status hs_described_list(struct hs_out *out, struct hs_error *err)
{
    for (size_t i = 0; i < N_ALL; i++)
        for (size_t k = 0; k < all[i].json->n_fields; k++) {
            const struct hs_field *field = &all[i].json->fields[k];
            if (is_member(field))
                HS_TRY(hs_print(out, err, "%s\t%s\t%s\t%s\n", all[i].command, all[i].array,
                                field->cell.key, kinds[field->cell.kind]));
        }
    return HS_OK;
}
