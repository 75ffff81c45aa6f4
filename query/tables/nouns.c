/* The tables of nouns: the rows of analysis/rows.h, and nothing of their own. */
#include "rows.h"
#include "tables.h"

static double estimate_roots(const struct hs_sql_source *source)
{
    return (double)source->view.n_tree;
}

static double estimate_sets(const struct hs_sql_source *source)
{
    return hs_index_n_sets(source->view.index);
}

static double estimate_types(const struct hs_sql_source *source)
{
    return (double)source->view.totals->n_types;
}

static double estimate_samples(const struct hs_sql_source *source)
{
    return (double)source->view.totals->n_samples;
}

static double estimate_sites(const struct hs_sql_source *source)
{
    return (double)hs_snap_n_sites(source->view.snap);
}

/* The key by the number of a row, which column 0 is. */
static const struct hs_sql_key by_id[] = {{0, HS_SQL_KEY_ORDERED, true, 1}};

#define NOUN_TABLE(noun_, NOUN, ...)                                                   \
    const struct hs_sql_table hs_sql_table_##noun_ = {.name = #noun_,                  \
                                                      .columns = HS_SQL_COLUMNS(NOUN), \
                                                      .noun = &hs_noun_##noun_,        \
                                                      .count = hs_sql_rows_count,      \
                                                      .column = hs_sql_rows_column,    \
                                                      __VA_ARGS__}
#define BY_ID(first) .keys = by_id, .n_keys = 1, .first_id = (first)

NOUN_TABLE(roots, ROOTS, BY_ID(0), .estimate = estimate_roots);
NOUN_TABLE(sets, SETS, BY_ID(1), .estimate = estimate_sets);
NOUN_TABLE(types, TYPES, .estimate = estimate_types);
NOUN_TABLE(keys, KEYS, BY_ID(0));
NOUN_TABLE(samples, SAMPLES, .estimate = estimate_samples);
NOUN_TABLE(sites, SITES, BY_ID(0), .estimate = estimate_sites);
NOUN_TABLE(leaks, LEAKS, .estimate = NULL);
NOUN_TABLE(suspects, SUSPECTS, .estimate = NULL);
