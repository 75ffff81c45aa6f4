/* sets: what several roots keep together, by the exact set of roots that reach it. */
#include "analysis/set_tops.h"
#include "tables.h"
#include "value.h"

enum { SETS_ID, SETS_ROOTS, SETS_WORDS, SETS_OBJECTS, SETS_STATIC, SETS_TOPS, SETS_NAMES };
enum { NAMES_BYTES = 4096 };

static hs_status sets_count(struct hs_sql_source *source, uint64_t *ret, struct hs_error *err)
{
    (void)err;
    *ret = hs_index_n_sets(source->view.index);
    return HS_OK;
}

static double sets_estimate(const struct hs_sql_source *source)
{
    return hs_index_n_sets(source->view.index);
}

static hs_status sets_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                             struct hs_error *err)
{
    const struct hs_view *view = &cursor->source->view;
    uint32_t id = (uint32_t)cursor->row + 1;
    struct hs_owner_set set = hs_index_set(view->index, id);
    char text[NAMES_BYTES];
    (void)err;
    if (column == SETS_NAMES) {
        hs_set_roots_text(view, id, text, sizeof text);
        hs_sql_put_text(ret, text);
        return HS_OK;
    }
    const uint64_t numbers[] = {
        [SETS_ID] = id,
        [SETS_ROOTS] = set.n_roots,
        [SETS_WORDS] = set.retained.words,
        [SETS_OBJECTS] = set.retained.objects,
        [SETS_STATIC] = set.retained.static_words,
        [SETS_TOPS] = set.n_tops,
    };
    hs_sql_put(ret, numbers[column]);
    return HS_OK;
}

static const struct hs_sql_key keys[] = {{SETS_ID, HS_SQL_KEY_ORDERED, true, 1}};

const struct hs_sql_table hs_sql_table_sets = {
    .name = "sets",
    .columns = "id INTEGER, n_roots INTEGER, retained_words WORDS, retained_objects INTEGER, "
               "static_retained_words WORDS, n_tops INTEGER, roots TEXT",
    .keys = keys,
    .n_keys = 1,
    .estimate = sets_estimate,
    .first_id = 1,
    .count = sets_count,
    .column = sets_column,
};
