#include "set_print.h"

#include <stdio.h>

static const char *const nouns[] = {
    [HS_BY_ROOT] = "roots", [HS_BY_KIND] = "kinds",     [HS_BY_MODULE] = "modules",
    [HS_BY_UNIT] = "units", [HS_BY_THREAD] = "threads", [HS_BY_FRAME] = "frames",
};

struct names {
    char *text;
    size_t n_bytes;
    unsigned n;
};

static void names_add(struct names *names, const char *name)
{
    if (names->n_bytes + 1 < HS_SET_TEXT_BYTES && names->n < HS_SET_NAMES) {
        int n = snprintf(names->text + names->n_bytes, HS_SET_TEXT_BYTES - names->n_bytes, "%s%s",
                         names->n == 0 ? "" : ", ", name);
        names->n_bytes += n > 0 ? (size_t)n : 0;
        if (names->n_bytes >= HS_SET_TEXT_BYTES)
            names->n_bytes = HS_SET_TEXT_BYTES - 1;
    }
    names->n++;
}

const char *hs_set_noun(enum hs_group_by group_by)
{
    return nouns[group_by];
}

void hs_set_names(const struct hs_view *view, const struct hs_set_rows *sets, size_t row,
                  enum hs_group_by group_by, char *text)
{
    struct names names = {.text = text};

    text[0] = 0;
    for (int named = 1; named >= 0; named--) {
        struct hs_set_walk walk = {0};
        for (hs_node node;
             names.n <= HS_SET_NAMES && hs_set_member_next(view, sets, row, &walk, &node);) {
            bool is_named = group_by != HS_BY_ROOT || hs_root_is_named(view, node);
            if (is_named == (bool)named)
                names_add(&names, node == 0
                                      ? "other roots"
                                      : hs_view_string(view, hs_snap_root(view->snap, node)->name));
        }
    }
    if (sets->rows[row].n_members > HS_SET_NAMES)
        (void)snprintf(text + names.n_bytes, HS_SET_TEXT_BYTES - names.n_bytes, ", ...");
}

void hs_set_json(struct hs_json *json, const struct hs_view *view, const struct hs_set_rows *sets,
                 size_t row, enum hs_group_by group_by)
{
    const struct hs_set_row *set = &sets->rows[row];
    bool by_root = group_by == HS_BY_ROOT;
    struct hs_set_walk walk = {0};
    char id[16];

    (void)snprintf(id, sizeof id, "set:%u", set->id);
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    if (set->id != 0)
        hs_json_string(json, "id", id);
    else
        hs_json_null(json, "id");
    hs_json_begin_array(json, by_root ? "roots" : "groups", HS_JSON_LINE);
    for (hs_node node; hs_set_member_next(view, sets, row, &walk, &node);)
        hs_json_node(json, NULL, node);
    hs_json_end_array(json);
    hs_json_u64(json, by_root ? "n_roots" : "n_groups", set->n_members);
    hs_json_u64(json, "retained_words", set->retained.words);
    hs_json_u64(json, "retained_objects", set->retained.objects);
    hs_json_u64(json, "static_retained_words", set->retained.static_words);
    hs_json_end_object(json);
}

static double percent(uint64_t words, const struct hs_attribution *of)
{
    return of->reached_words == 0 ? 0 : 100.0 * (double)words / (double)of->reached_words;
}

hs_status hs_attribution_print(struct hs_tool *tool, const struct hs_attribution *a,
                               struct hs_error *err)
{
    char unread[64] = "";
    if (a->unread_words != 0)
        (void)snprintf(unread, sizeof unread, " and not read (%lu)",
                       (unsigned long)a->unread_words);
    HS_TRY(hs_tool_say(
        tool, err, "owned %.1f %%, attributed %.1f %% of what is reached (%lu words)%s",
        hs_owned_percent(a), hs_attributed_percent(a), (unsigned long)a->reached_words, unread));
    return hs_tool_say(tool, err,
                       "kept by 1 root %.1f %%, by 2-3 %.1f %%, by 4-8 %.1f %%, by more %.1f %%",
                       percent(a->by_1_words, a), percent(a->by_2_3_words, a),
                       percent(a->by_4_8_words, a), percent(a->by_more_words, a));
}
