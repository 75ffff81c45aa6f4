/* leaks: groups of lost blocks of one certainty, type and size, as `heapsnap leaks` lists them. */
#include "analysis/leak_report.h"
#include "kept.h"
#include "tables.h"
#include "value.h"

enum {
    LEAKS_CERTAINTY,
    LEAKS_TYPE,
    LEAKS_TYPE_ID,
    LEAKS_WORDS_EACH,
    LEAKS_COUNT,
    LEAKS_WORDS,
    LEAKS_HEADS,
    LEAKS_HELD,
    LEAKS_FIRST,
    LEAKS_HEAD_TYPE,
    LEAKS_REASON
};

static hs_status make(struct hs_sql_source *source, void *value, struct hs_error *err)
{
    static const struct hs_suppressions none = {0};
    const struct hs_leak_query query = {.suppressions = &none,
                                        .certainties = (1u << HS_N_LEAK_CERTAINTIES) - 1,
                                        .max_rows = UINT64_MAX};
    return hs_leak_report_find(&source->view, &query, value, err);
}

static void fini(void *value)
{
    hs_leak_report_fini(value);
}

static hs_status report_of(struct hs_sql_source *source, const struct hs_leak_report **ret,
                           struct hs_error *err)
{
    static const struct hs_sql_kept_kind kind = {HS_SQL_KEPT_LEAKS, sizeof(struct hs_leak_report),
                                                 make, fini};
    const void *report;
    HS_TRY(hs_sql_keep(source, &kind, &report, err));
    *ret = report;
    return HS_OK;
}

static hs_status leaks_count(struct hs_sql_source *source, uint64_t *ret, struct hs_error *err)
{
    const struct hs_leak_report *report;
    HS_TRY(report_of(source, &report, err));
    *ret = report->groups.n_groups;
    return HS_OK;
}

static hs_status leaks_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                              struct hs_error *err)
{
    const struct hs_leak_report *report;
    HS_TRY(report_of(cursor->source, &report, err));
    const struct hs_leak_group *group = &report->groups.groups[cursor->row];
    const uint64_t numbers[] = {
        [LEAKS_TYPE_ID] = group->type, [LEAKS_WORDS_EACH] = group->words_each,
        [LEAKS_COUNT] = group->count,  [LEAKS_WORDS] = group->words,
        [LEAKS_HEADS] = group->heads,  [LEAKS_HELD] = group->held_words,
        [LEAKS_FIRST] = group->first,
    };
    switch (column) {
    case LEAKS_CERTAINTY:
        hs_sql_put_name(ret, hs_leak_certainty_name(group->certainty));
        return HS_OK;
    case LEAKS_TYPE:
        hs_sql_put_name(ret, hs_leak_type_name(report, group));
        return HS_OK;
    case LEAKS_HEAD_TYPE:
        hs_sql_put_name(ret, hs_leak_head_type(report, cursor->row));
        return HS_OK;
    case LEAKS_REASON:
        hs_sql_put_text(ret, hs_leak_reason_text(report, group));
        return HS_OK;
    default:
        hs_sql_put(ret, numbers[column]);
        return HS_OK;
    }
}

const struct hs_sql_table hs_sql_table_leaks = {
    .name = "leaks",
    .columns = "certainty TEXT, type TEXT, type_id INTEGER, words_each WORDS, count INTEGER, "
               "words WORDS, heads INTEGER, held_words WORDS, first INTEGER, head_type TEXT, "
               "reason TEXT",
    .count = leaks_count,
    .column = leaks_column,
};
