/* Finds what no root leads to and Python's collector has yet to find: objects that refer to each
 * other in a circle, so that no count of references falls to zero. While the collector is off
 * (gc.disable()) they stay. */
#include "analysis/block_name.h"
#include "suspect_finds.h"
#include "type_rank.h"

bool hs_suspect_has_python(const struct hs_view *view)
{
    for (uint32_t i = 0; i < view->totals->n_types; i++)
        if (hs_snap_type(view->snap, i)->form == HS_FORM_PYTHON)
            return true;
    return false;
}

static bool is_garbage(const struct hs_view *view, const struct hs_leak_group *group)
{
    return group->certainty == HS_LEAK_POSSIBLE && (group->reasons & HS_LEAK_UNSURE) != 0 &&
           group->type != HS_UNTYPED &&
           hs_snap_type(view->snap, group->type)->form == HS_FORM_PYTHON;
}

static bool is_lost(const struct hs_view *view, const struct hs_leak_group *group)
{
    return group->certainty == HS_LEAK_CERTAIN && group->type != HS_UNTYPED &&
           hs_snap_type(view->snap, group->type)->form == HS_FORM_PYTHON;
}

typedef bool select_group(const struct hs_view *view, const struct hs_leak_group *group);

static enum hs_type_rank rank_of(const struct hs_view *view, const struct hs_leak_group *group)
{
    const struct hs_type *type = hs_snap_type(view->snap, group->type);
    return hs_type_rank(hs_view_string(view, type->name), type->form);
}

static bool is_part(const struct hs_view *view, const struct hs_leak_group *group)
{
    const struct hs_type *type = hs_snap_type(view->snap, group->type);
    return hs_type_is_part(hs_view_string(view, type->name), type->form);
}

/* Finds of some groups the one whose type tells most: of those that a quarter of them hangs on, and
 * of which there are as many as of what most hangs on. In a circle all hang on each other, and
 * which of them is first is chance. */
static const struct hs_leak_group *class_of(const struct hs_leak_report *report, uint64_t words,
                                            select_group *is_asked)
{
    enum { LEAST_PART = 4 };
    const struct hs_leak_group *first = NULL, *best = NULL; /* what most hangs on is the first */
    for (size_t i = 0; i < report->groups.n_groups; i++) {
        const struct hs_leak_group *group = &report->groups.groups[i];
        if (!is_asked(report->view, group))
            continue;
        if (first == NULL)
            first = group;
        bool is_alike = group->count >= first->count / 10 * 9;
        if (group->held_words < words / LEAST_PART && !is_alike)
            continue;
        if (best == NULL || (!is_part(report->view, group) &&
                             rank_of(report->view, group) > rank_of(report->view, best)))
            best = group;
    }
    return best;
}

const struct hs_leak_group *hs_suspect_lost_class(const struct hs_leak_report *report,
                                                  uint64_t words)
{
    const struct hs_leak_group *first = &report->groups.groups[0];

    return is_lost(report->view, first) && is_part(report->view, first)
               ? class_of(report, words, is_lost)
               : NULL;
}

hs_status hs_suspect_find_garbage(const struct hs_leak_report *report, struct hs_suspects *found,
                                  struct hs_error *err)
{
    for (size_t i = 0; i < report->groups.n_groups; i++)
        if (is_garbage(report->view, &report->groups.groups[i]))
            found->garbage_words += report->groups.groups[i].words;
    const struct hs_leak_group *class = class_of(report, found->garbage_words, is_garbage);
    if (class == NULL || found->garbage_words < found->threshold_words)
        return HS_OK;
    found->garbage_type = class->type;
    found->garbage_count = class->count;
    found->garbage_held_words =
        class->held_words > class->words ? class->held_words : found->garbage_words;
    HS_TRY(hs_name_cycle(report->view, class->first, &found->garbage_cycle, err));
    if (found->garbage_cycle != NULL)
        hs_fold_indices(found->garbage_cycle);
    return HS_OK;
}
