/* Suspects that are many roots of one name. */
#include <string.h>

#include "analysis/root_folds.h"
#include "base/alloc.h"
#include "suspect_finds.h"

/* Names a fold as its roots are named, but for numbers in which they differ. */
static hs_status name_fold(const struct hs_view *view, struct hs_suspect *suspect,
                           struct hs_error *err)
{
    char text[HS_FOLD_NAME_BYTES];
    const char *name = hs_view_string(view, hs_snap_root(view->snap, suspect->roots[0])->name);
    bool is_one = true;

    for (size_t i = 1; i < suspect->n_roots && is_one; i++)
        is_one = strcmp(hs_view_string(view, hs_snap_root(view->snap, suspect->all_roots[i])->name),
                        name) == 0;
    hs_root_fold_name(name, text);
    return hs_strdup(is_one ? name : text, &suspect->fold_name, err);
}

static hs_status add_fold(const struct hs_view *view, const uint8_t *tiers,
                          const struct hs_root_folds *folds, const struct hs_root_fold *fold,
                          struct hs_suspects *found, struct hs_error *err)
{
    const hs_node *nodes = folds->nodes + fold->begin;
    struct hs_suspect *suspect;
    HS_TRY(hs_suspect_add(found, HS_SUSPECT_OWNER, &suspect, err));
    suspect->words = fold->retained.words;
    suspect->objects = fold->retained.objects;
    suspect->n_roots = fold->n_roots;
    suspect->evidence = nodes[0];
    suspect->tier = HS_TIER_NONE;
    HS_TRY(HS_ALLOC(&suspect->all_roots, fold->n_roots, err));
    for (size_t i = 0; i < fold->n_roots; i++) {
        const struct hs_root *root = hs_snap_root(view->snap, nodes[i]);
        suspect->all_roots[i] = nodes[i];
        if (i < HS_SUSPECT_SHOWN_ROOTS)
            suspect->roots[suspect->n_shown++] = nodes[i];
        if (root->certainty > suspect->certainty)
            suspect->certainty = root->certainty;
        if (tiers[nodes[i]] < suspect->tier)
            suspect->tier = tiers[nodes[i]];
    }
    return name_fold(view, suspect, err);
}

/* Drops the roots that are folded: their words count in the fold. */
static void drop_folded(const struct hs_root_folds *folds, struct hs_suspects *found)
{
    size_t n = 0;
    for (size_t i = 0; i < found->n; i++) {
        struct hs_suspect row = found->rows[i];
        if (row.list == HS_SUSPECT_OWNER && folds->of_node[row.roots[0]] != HS_NO_NUMBER)
            hs_suspect_fini(&row);
        else
            found->rows[n++] = row;
    }
    found->n = n;
}

hs_status hs_suspect_add_folds(const struct hs_view *view, const uint8_t *tiers,
                               struct hs_suspects *found, struct hs_error *err)
{
    struct hs_root_folds folds = {0};
    uint64_t least_words = found->threshold_words > 0 ? found->threshold_words : 1;
    HS_TRY(hs_root_folds_find(view, least_words, &folds, err));
    drop_folded(&folds, found);
    hs_status status = HS_OK;
    for (size_t i = 0; i < folds.n && status == HS_OK; i++)
        if (folds.folds[i].begin != UINT64_MAX)
            status = add_fold(view, tiers, &folds, &folds.folds[i], found, err);
    hs_root_folds_fini(&folds);
    return status;
}
