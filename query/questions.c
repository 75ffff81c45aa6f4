/* The stored questions: views of every snapshot, for who would rather not begin with SQL. */
#include "query/query.h"

const struct hs_sql_question hs_sql_questions[] = {
    {"biggest", "which blocks retain most",
     "SELECT id, address, type, words, retained_words, tier FROM blocks"
     " ORDER BY retained_words DESC LIMIT 40"},
    {"biggest_roots", "which roots retain most",
     "SELECT retained_words, reachable_words, id, kind, name, module, file, line FROM roots"
     " WHERE is_root AND NOT weak ORDER BY retained_words DESC, reachable_words DESC"},
    {"by_kind", "how much each kind of root retains",
     "SELECT kind, retained_words, retained_objects, reachable_words FROM roots"
     " WHERE level = 'kind' ORDER BY retained_words DESC"},
    {"by_module", "how much each binary, library or thread retains",
     "SELECT kind, name AS module, retained_words, retained_objects, reachable_words FROM roots"
     " WHERE level = 'module' ORDER BY retained_words DESC"},
    {"by_unit", "how much each compilation unit or frame retains",
     "SELECT kind, module, name AS unit, retained_words, retained_objects, reachable_words"
     " FROM roots WHERE level = 'unit' ORDER BY retained_words DESC"},
    {"large_blocks", "which single blocks are largest",
     "SELECT id, address, type, words, retained_words, tier FROM blocks"
     " ORDER BY words DESC LIMIT 40"},
    {"sizes", "how many blocks there are of each size",
     "SELECT words, count(*) AS objects, count(*) * words AS sum_words FROM blocks"
     " GROUP BY words ORDER BY sum_words DESC"},
    {"reached", "how much some root reaches, and how much none does",
     "SELECT reached, static, count(*) AS objects, sum(words) AS sum_words FROM blocks"
     " GROUP BY reached, static"},
    {"tiers", "how much hangs on firm words, and how much on doubtful ones alone",
     "SELECT coalesce(tier, 'unreached') AS tier, count(*) AS objects, sum(words) AS sum_words"
     " FROM blocks WHERE NOT static GROUP BY tier ORDER BY sum_words DESC"},
    {"weak_roots", "which roots are listed and keep nothing alive",
     "SELECT id, kind, name, target FROM roots WHERE weak"},
    {"shared_by", "what several roots keep together, and which roots",
     "SELECT id, n_roots, retained_words, retained_objects, names FROM sets"
     " ORDER BY retained_words DESC"},
    {"where_it_went", "where the memory has gone, the most words first",
     "SELECT list, words, certainty, holder, names, count, type, site FROM suspects"},
    {"types_by_retained", "which types retain most",
     "SELECT type, objects, words, retained_words FROM types ORDER BY retained_words DESC"},
    {"types_by_words", "which types have most words themselves",
     "SELECT type, objects, words, retained_words FROM types ORDER BY words DESC"},
    {"unknown_types", "how much is of no known type, by size",
     "SELECT type, objects, words, retained_words FROM types WHERE NOT known ORDER BY words DESC"},
    {"owners", "which keys, root and types on the way, have most below them",
     "SELECT all_words, all_objects, key FROM keys WHERE steps > 0 ORDER BY all_words DESC"},
    {"lost", "which blocks are lost for certain, and what hangs on them",
     "SELECT type, words_each, count, words, held_words, first FROM leaks"
     " WHERE certainty = 'certain' ORDER BY held_words DESC"},
    {"perhaps_lost", "which blocks may be lost, and why",
     "SELECT type, words_each, count, words, held_words, first, why FROM leaks"
     " WHERE certainty = 'possible' ORDER BY held_words DESC"},
    {"top_sites", "where what is alive was allocated (sampled)",
     "SELECT place, objects, n_samples, estimated_words, error_words FROM sites"
     " ORDER BY estimated_words DESC"},
    {"sites_by_root", "who allocated it, and who keeps it (sampled)",
     "SELECT place, coalesce(root, '[shared or unreached]') AS root, count(*) AS objects,"
     " sum(estimated_words) AS sum_estimated_words FROM samples GROUP BY place, root"
     " ORDER BY sum_estimated_words DESC"},
};
const size_t hs_sql_n_questions = sizeof hs_sql_questions / sizeof *hs_sql_questions;
