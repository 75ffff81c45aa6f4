#include "outgrown_copies.h"

#include <stdlib.h>

#include "analysis/block_name.h"
#include "analysis/neighbours.h"

struct copy {
    uint64_t words;
    hs_node block;
};

static int compare_copies(const void *left, const void *right)
{
    const struct copy *a = left, *b = right;
    return (a->words > b->words) - (a->words < b->words);
}

static int compare_words(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

enum { MOST_COPIES = 256 };

/* Tells whether nearly all are a step larger than the one before, to a twentieth: an array that
 * grows by a fixed number of elements. Of those that double, realloc frees the copies. */
static bool grow_by_steps(const struct copy *copies, size_t n)
{
    enum { STEPS_PERCENT = 85 };
    uint64_t steps[MOST_COPIES];
    size_t n_equal = 0;
    for (size_t i = 1; i < n; i++)
        steps[i - 1] = copies[i].words - copies[i - 1].words;
    qsort(steps, n - 1, sizeof *steps, compare_words);
    uint64_t usual = steps[(n - 1) / 2];
    for (size_t i = 0; i < n - 1; i++) {
        uint64_t off = steps[i] > usual ? steps[i] - usual : usual - steps[i];
        n_equal += off * 20 <= usual;
    }
    return n_equal * 100 >= (n - 1) * STEPS_PERCENT;
}

/* Lists the large lost blocks without a type of which none is of the same size. */
static size_t list_copies(const struct hs_leak_report *report, struct copy *copies,
                          uint64_t *ret_words)
{
    enum { LEAST_WORDS = 512 };
    size_t n = 0;
    *ret_words = 0;
    for (size_t i = 0; i < report->groups.n_groups && n < MOST_COPIES; i++) {
        const struct hs_leak_group *group = &report->groups.groups[i];
        if (group->certainty != HS_LEAK_CERTAIN || group->count != 1 ||
            group->words_each < LEAST_WORDS || group->type == HS_UNTYPED ||
            hs_snap_type(report->view->snap, group->type)->form != HS_FORM_BYTES)
            continue;
        copies[n++] = (struct copy){group->words_each, group->first};
        *ret_words += group->words_each;
    }
    return n;
}

/* Tells whether most of the fields stand in the other block, too, at the same places. */
static hs_status agrees(struct hs_view *view, const struct hs_links *fields, hs_node other,
                        bool *ret, struct hs_error *err)
{
    enum { LEAST = 4 };
    size_t n_equal = 0;
    for (size_t i = 0; i < fields->n; i++) {
        struct hs_links links = {0};
        hs_status status = hs_links_between(view, other, fields->links[i].other, &links, err);
        for (size_t k = 0; k < links.n; k++)
            n_equal += links.links[k].offset_words == fields->links[i].offset_words;
        hs_links_fini(&links);
        HS_TRY(status);
    }
    *ret = n_equal >= LEAST && n_equal >= fields->n / 4 * 3;
    return HS_OK;
}

/* Looks among the referrers of one field's target for a larger block that a root reaches and whose
 * fields are the copy's. */
static hs_status look_behind(struct hs_view *view, const struct hs_links *fields, size_t at,
                             uint64_t copy_words, hs_node *ret, struct hs_error *err)
{
    enum { MOST_REFERRERS = 64 };
    struct hs_referrers referrers = hs_referrers_of(view, fields->links[at].other, MOST_REFERRERS);
    struct hs_links links = {0};
    hs_status status = hs_referrers_next(&referrers, MOST_REFERRERS, &links, err);
    for (size_t i = 0; i < links.n && status == HS_OK && *ret == HS_NO_NODE; i++) {
        const struct hs_link *link = &links.links[i];
        struct hs_node_facts facts;
        bool is_same = false;
        if (link->offset_words != fields->links[at].offset_words ||
            hs_index_idom(view->index, link->other) == HS_NO_NODE)
            continue;
        status = hs_view_facts(view, link->other, &facts, err);
        if (status == HS_OK && !facts.is_root && facts.words > copy_words)
            status = agrees(view, fields, link->other, &is_same, err);
        if (is_same)
            *ret = link->other;
    }
    hs_links_fini(&links);
    return status;
}

/* Finds the array that is in use now. HS_NO_NODE: not found, as of numbers. */
static hs_status find_in_use(struct hs_view *view, const struct copy *copy, hs_node *ret,
                             struct hs_error *err)
{
    enum { MOST_FIELDS = 16 };
    struct hs_links fields = {0};
    uint64_t n_fields;
    *ret = HS_NO_NODE;
    hs_status status = hs_links_out_first(view, copy->block, MOST_FIELDS, &fields, &n_fields, err);
    for (size_t i = 0; i < fields.n && status == HS_OK && *ret == HS_NO_NODE; i++)
        status = look_behind(view, &fields, i, copy->words, ret, err);
    hs_links_fini(&fields);
    return status;
}

hs_status hs_outgrown_copies_find(const struct hs_leak_report *report, uint64_t all_words,
                                  struct hs_suspect *suspect, struct hs_error *err)
{
    enum { LEAST = 8, WORDS_PERCENT = 70 };
    struct copy copies[MOST_COPIES];
    uint64_t words;
    hs_node in_use;
    size_t n = list_copies(report, copies, &words);
    suspect->n_copies = 0;
    if (n < LEAST || words < all_words / 100 * WORDS_PERCENT)
        return HS_OK;
    qsort(copies, n, sizeof *copies, compare_copies);
    if (!grow_by_steps(copies, n))
        return HS_OK;
    suspect->n_copies = n;
    suspect->each_words = copies[0].words;
    suspect->held_words = copies[n - 1].words;
    HS_TRY(find_in_use(report->view, &copies[n - 1], &in_use, err));
    if (in_use == HS_NO_NODE)
        return HS_OK;
    hs_node root = hs_view_retaining_root(report->view, in_use);
    suspect->holder_root = root == HS_NO_NODE ? 0 : root;
    return hs_block_name(report->view, in_use, &suspect->holder, err);
}
