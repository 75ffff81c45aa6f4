/* suspects: where the memory has gone, as `heapsnap suspects` tells it; its sentences' parts. */
#include <stdio.h>

#include "analysis/suspects.h"
#include "base/append.h"
#include "kept.h"
#include "tables.h"
#include "value.h"

enum {
    SUSPECTS_LIST,
    SUSPECTS_WORDS,
    SUSPECTS_OBJECTS,
    SUSPECTS_CERTAINTY,
    SUSPECTS_ROOT_ID,
    SUSPECTS_ROOTS,
    SUSPECTS_N_ROOTS,
    SUSPECTS_SET_ID,
    SUSPECTS_HOLDER,
    SUSPECTS_TYPE,
    SUSPECTS_COUNT,
    SUSPECTS_EACH,
    SUSPECTS_DOUBTFUL,
    SUSPECTS_SITE,
    SUSPECTS_EVIDENCE
};
/* As the command presets them. */
enum { THRESHOLD = 2, FOLLOW = 70, FOLLOW_JOINT = 80, MOST = 1000, ROOTS_BYTES = 2048 };

static hs_status make(struct hs_sql_source *source, void *value, struct hs_error *err)
{
    const struct hs_suspect_query query = {.threshold_percent = THRESHOLD,
                                           .follow_percent = FOLLOW,
                                           .follow_joint_percent = FOLLOW_JOINT,
                                           .max_rows = MOST};
    return hs_suspects_find(&source->view, &query, value, err);
}

static void fini(void *value)
{
    hs_suspects_fini(value);
}

static hs_status suspects_of(struct hs_sql_source *source, const struct hs_suspects **ret,
                             struct hs_error *err)
{
    static const struct hs_sql_kept_kind kind = {HS_SQL_KEPT_SUSPECTS, sizeof(struct hs_suspects),
                                                 make, fini};
    const void *suspects;
    HS_TRY(hs_sql_keep(source, &kind, &suspects, err));
    *ret = suspects;
    return HS_OK;
}

static hs_status suspects_count(struct hs_sql_source *source, uint64_t *ret, struct hs_error *err)
{
    const struct hs_suspects *suspects;
    HS_TRY(suspects_of(source, &suspects, err));
    *ret = suspects->n;
    return HS_OK;
}

static void put_roots(const struct hs_view *view, const struct hs_suspect *suspect,
                      sqlite3_context *ret)
{
    char text[ROOTS_BYTES] = "";
    for (uint32_t i = 0; i < suspect->n_shown; i++) {
        const struct hs_root *root = hs_snap_root(view->snap, suspect->roots[i]);
        hs_append_item(text, sizeof text, ", ", hs_view_string(view, root->name));
    }
    hs_sql_put_text(ret, text);
}

static void put_name(const struct hs_view *view, const struct hs_suspect *suspect, int column,
                     sqlite3_context *ret)
{
    switch (column) {
    case SUSPECTS_LIST:
        hs_sql_put_name(ret, hs_suspect_list_name(suspect->list));
        return;
    case SUSPECTS_CERTAINTY:
        hs_sql_put_name(ret, hs_certainty_name(suspect->certainty));
        return;
    case SUSPECTS_HOLDER:
        hs_sql_put_name(ret, suspect->holder);
        return;
    case SUSPECTS_SITE:
        hs_sql_put_name(ret, suspect->site);
        return;
    case SUSPECTS_ROOTS:
        put_roots(view, suspect, ret);
        return;
    default:
        if (suspect->type != HS_UNTYPED)
            hs_sql_put_name(ret,
                            hs_view_string(view, hs_snap_type(view->snap, suspect->type)->name));
    }
}

static hs_status suspects_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                                 struct hs_error *err)
{
    const struct hs_suspects *suspects;
    HS_TRY(suspects_of(cursor->source, &suspects, err));
    const struct hs_suspect *suspect = &suspects->rows[cursor->row];
    const uint64_t none = UINT64_MAX;
    const uint64_t numbers[] = {
        [SUSPECTS_WORDS] = suspect->words,
        [SUSPECTS_OBJECTS] = suspect->objects,
        [SUSPECTS_ROOT_ID] = suspect->n_shown != 0 ? suspect->roots[0] : none,
        [SUSPECTS_N_ROOTS] = suspect->n_roots,
        [SUSPECTS_SET_ID] = suspect->set != 0 ? suspect->set : none,
        [SUSPECTS_COUNT] = suspect->count,
        [SUSPECTS_EACH] = suspect->each_words,
        [SUSPECTS_DOUBTFUL] = suspect->doubtful_words,
        [SUSPECTS_EVIDENCE] = suspect->evidence,
    };
    switch (column) {
    case SUSPECTS_LIST:
    case SUSPECTS_CERTAINTY:
    case SUSPECTS_HOLDER:
    case SUSPECTS_SITE:
    case SUSPECTS_ROOTS:
    case SUSPECTS_TYPE:
        put_name(&cursor->source->view, suspect, column, ret);
        return HS_OK;
    default:
        hs_sql_put_or(ret, numbers[column], none);
        return HS_OK;
    }
}

const struct hs_sql_table hs_sql_table_suspects = {
    .name = "suspects",
    .columns = "list TEXT, words WORDS, objects INTEGER, certainty TEXT, root_id INTEGER, "
               "roots TEXT, n_roots INTEGER, set_id INTEGER, holder TEXT, type TEXT, "
               "count INTEGER, each_words WORDS, doubtful_words WORDS, site TEXT, "
               "evidence INTEGER",
    .count = suspects_count,
    .column = suspects_column,
};
