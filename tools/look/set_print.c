#include "set_print.h"

#include "analysis/root_name.h"
#include "base/append.h"
#include <stdio.h>

static const char *const nouns[] = {
    [HS_BY_ROOT] = "roots", [HS_BY_KIND] = "kinds",     [HS_BY_MODULE] = "modules",
    [HS_BY_UNIT] = "units", [HS_BY_THREAD] = "threads", [HS_BY_FRAME] = "frames",
};

const char *hs_set_noun(enum hs_group_by group_by)
{
    return nouns[group_by];
}

void hs_set_names(const struct hs_view *view, const struct hs_set_rows *sets, size_t row,
                  enum hs_group_by group_by, char *text)
{
    struct hs_set_walk walk = {0};
    text[0] = 0;
    if (group_by == HS_BY_ROOT) {
        hs_set_roots_text(view, sets->rows[row].id, text, HS_SET_TEXT_BYTES);
        return;
    }
    unsigned n = 0;
    for (hs_node node; n < HS_SET_NAMES && hs_set_member_next(view, sets, row, &walk, &node); n++)
        hs_append_item(text, HS_SET_TEXT_BYTES, ", ",
                       node == 0 ? "other roots"
                                 : hs_view_string(view, hs_snap_root(view->snap, node)->name));
    if (sets->rows[row].n_members > HS_SET_NAMES)
        hs_append(text, HS_SET_TEXT_BYTES, ", ...");
}

struct members {
    const struct hs_view *view;
    const struct hs_set_rows *sets;
    size_t row;
};

static hs_status put_members(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct members *of = context;
    struct hs_set_walk walk = {0};
    for (hs_node node; hs_set_member_next(of->view, of->sets, of->row, &walk, &node);)
        HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_VALUE(NULL, NODE, node)), err));
    return HS_OK;
}

hs_status hs_set_put(struct hs_sink *sink, const struct hs_view *view,
                     const struct hs_set_rows *sets, size_t row, enum hs_group_by group_by,
                     struct hs_error *err)
{
    const struct hs_set_row *set = &sets->rows[row];
    bool by_root = group_by == HS_BY_ROOT;
    struct members context = {view, sets, row};
    const struct hs_list members = {.each = put_members, .context = &context, .is_line = true};
    char id[16];

    (void)snprintf(id, sizeof id, "set:%u", set->id);
    return hs_sink_pairs(sink,
                         HS_PAIRS(HS_TEXT("id", set->id != 0 ? id : NULL),
                                  HS_ROWS(by_root ? "roots" : "groups", &members),
                                  HS_COUNT(by_root ? "n_roots" : "n_groups", set->n_members),
                                  HS_COUNT("retained_words", set->retained.words),
                                  HS_COUNT("retained_objects", set->retained.objects),
                                  HS_COUNT("static_retained_words", set->retained.static_words)),
                         err);
}

static double percent(uint64_t words, const struct hs_attribution *of)
{
    return of->reached_words == 0 ? 0 : 100.0 * (double)words / (double)of->reached_words;
}

hs_status hs_attribution_print(struct hs_tool *tool, const struct hs_attribution *a,
                               unsigned word_bytes, struct hs_error *err)
{
    char of[4 * HS_SIZE_TEXT_BYTES], all[HS_SIZE_TEXT_BYTES], reached[HS_SIZE_TEXT_BYTES],
        unread[HS_SIZE_TEXT_BYTES];
    (void)hs_tool_size(tool, a->reached_words + a->unread_words, word_bytes, all);
    (void)hs_tool_size(tool, a->reached_words, word_bytes, reached);
    (void)hs_tool_size(tool, a->unread_words, word_bytes, unread);
    if (a->unread_words == 0)
        (void)snprintf(of, sizeof of, "what is reached (%s)", reached);
    else
        (void)snprintf(of, sizeof of, "%s: %s reached, %s not read", all, reached, unread);
    HS_TRY(hs_tool_say(tool, err, "owned %.1f %%, attributed %.1f %% of %s", hs_owned_percent(a),
                       hs_attributed_percent(a), of));
    return hs_tool_say(tool, err,
                       "kept by 1 root %.1f %%, by 2-3 %.1f %%, by 4-8 %.1f %%, by more %.1f %%",
                       percent(a->by_1_words, a), percent(a->by_2_3_words, a),
                       percent(a->by_4_8_words, a), percent(a->by_more_words, a));
}
