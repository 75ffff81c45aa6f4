/* Leaks: groups of lost blocks of one certainty, type and size. */
#include "analysis/field_path.h"
#include "analysis/leak_report.h"
#include "analysis/type_family.h"
#include "getters.h"

static struct hs_row_value expression(struct hs_rows *rows, uint64_t at)
{
    char *room = hs_rows_room(rows, HS_FIELD_PATH_BYTES);
    rows->status = hs_leak_expression(rows->state, at, room, &rows->error);
    return rows->status == HS_OK ? text(room) : none;
}

/* Returns the name of the type without the guess ("perhaps ..."), which has a column of its own. */
static struct hs_row_value type_name(struct hs_rows *rows, const struct hs_leak_group *group)
{
    char *room = hs_rows_room(rows, HS_TYPE_NAME_BYTES);
    (void)hs_leak_perhaps(rows->state, group, room, HS_TYPE_NAME_BYTES);
    return text(room);
}

static struct hs_row_value perhaps(struct hs_rows *rows, const struct hs_leak_group *group)
{
    char *room = hs_rows_room(rows, HS_TYPE_NAME_BYTES);
    return text(hs_leak_perhaps(rows->state, group, room, HS_TYPE_NAME_BYTES));
}

static void get_one(struct hs_rows *rows, uint64_t at, unsigned column, struct hs_row_value *ret)
{
    const struct hs_leak_report *report = rows->state;
    const struct hs_leak_group *group = &report->groups.groups[at];
    HS_ROWS_SWITCH(LEAKS)
}

static hs_status find(struct hs_rows *rows, struct hs_error *err)
{
    static const struct hs_suppressions no_suppressions = {0};
    const struct hs_leak_query query = {.suppressions = &no_suppressions,
                                        .certainties = (1u << HS_N_LEAK_CERTAINTIES) - 1,
                                        .max_rows = UINT64_MAX};
    struct hs_leak_report *report = rows->state;
    HS_TRY(hs_leak_report_find(rows->view, &query, report, err));
    rows->n = report->groups.n_groups;
    return HS_OK;
}

static void fini(void *state)
{
    hs_leak_report_fini(state);
}

HS_ROWS_COLUMNS(LEAKS);
const struct hs_noun hs_noun_leaks = {
    HS_ROWS_NOUN(leaks),
    .state_bytes = sizeof(struct hs_leak_report),
    .find = find,
    .fini = fini,
};
