#include "what_if_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/block_name.h"
#include "analysis/object_lookup.h"
#include "analysis/unread.h"
#include "base/alloc.h"
#include "base/append.h"
#include "base/units.h"

/* ---- asking */

static hs_status add_set(struct hs_view *view, const char *number, struct hs_what_if *what_if,
                         struct hs_error *err)
{
    uint64_t id;
    HS_TRY(hs_parse_count(number, &id, err));
    if (id == 0 || id > hs_index_n_sets(view->index)) {
        (void)hs_fail(err, HS_USAGE, "there is no set:%.20s", number);
        return hs_hint(err, "there are %u sets: 'heapsnap roots %s' lists the largest",
                       hs_index_n_sets(view->index), HS_SHELL(view->path));
    }
    struct hs_row roots = hs_index_set_roots(view->index, (uint32_t)id);
    for (hs_node root; hs_row_next(&roots, &root);)
        hs_what_if_add(view, what_if, root);
    return HS_OK;
}

/* Adds what a name means: #N, root:NAME and set:N as they are; any other name is that of a root. */
static hs_status add_named(struct hs_view *view, const char *name, struct hs_what_if *what_if,
                           struct hs_error *err)
{
    struct hs_object_spec what;
    char text[1024];

    if (strncmp(name, "set:", 4) == 0)
        return add_set(view, name + 4, what_if, err);
    bool is_spelt = name[0] == '#' || strncmp(name, "root:", 5) == 0;
    if (snprintf(text, sizeof text, "%s%s", is_spelt ? "" : "root:", name) >= (int)sizeof text)
        return hs_fail(err, HS_USAGE, "the name '%.60s...' is too long", name);
    HS_TRY(hs_object_lookup(view, text, &what, err));
    if (what.nodes[0] >= view->n_tree)
        return hs_fail(err, HS_USAGE, "'%s' is an object: only roots can let go", name);
    hs_what_if_add(view, what_if, what.nodes[0]);
    return HS_OK;
}

/* A list, unless it is the name of one root: "std::map<int, User> registry". */
static hs_status add_list(struct hs_view *view, const char *text, struct hs_what_if *what_if,
                          struct hs_error *err)
{
    hs_auto_free char *list = NULL;
    char *rest = NULL;

    if (strchr(text, ',') == NULL)
        return add_named(view, text, what_if, err);
    if (add_named(view, text, what_if, err) == HS_OK)
        return HS_OK;
    *err = (struct hs_error)HS_ERROR_INIT;
    HS_TRY(hs_strdup(text, &list, err));
    for (char *name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
        name += strspn(name, " ");
        HS_TRY(add_named(view, name, what_if, err));
    }
    return HS_OK;
}

static hs_status answer_best(struct hs_view *view, const struct hs_invocation *inv,
                             struct hs_what_if_answers *answers, struct hs_error *err)
{
    uint64_t n = inv->number[HS_OPT_BEST];

    if (n < 1 || n > HS_BEST_MOST)
        return hs_fail(err, HS_USAGE, "--best: '%s' is not from 1 to %d", inv->text[HS_OPT_BEST],
                       HS_BEST_MOST);
    answers->n_best = (unsigned)n;
    return hs_best_find(view, answers->n_best, answers->best, err);
}

hs_status hs_what_if_answer(struct hs_view *view, const struct hs_invocation *inv,
                            struct hs_what_if_answers *ret, struct hs_error *err)
{
    ret->n_names = hs_repeated(inv, HS_OPT_WITHOUT, ret->names);
    ret->has_without = ret->n_names != 0;
    if (ret->has_without) {
        HS_TRY(hs_what_if_init(view, &ret->without, err));
        for (size_t i = 0; i < ret->n_names; i++)
            HS_TRY(add_list(view, ret->names[i], &ret->without, err));
        hs_what_if_find(view, &ret->without);
        HS_TRY(hs_what_if_reserve(view, &ret->without, &ret->reserve, err));
        if (ret->reserve.reserve == HS_RESERVE_CONVENTION)
            HS_TRY(hs_block_name(view, ret->reserve.aliases.referrer, &ret->alias, err));
    }
    return hs_given(inv, HS_OPT_BEST) ? answer_best(view, inv, ret, err) : HS_OK;
}

void hs_what_if_answers_fini(struct hs_what_if_answers *answers)
{
    hs_what_if_fini(&answers->without);
    hs_free(answers->alias);
}

/* ---- sentences */

static double percent_of(const struct hs_view *view, uint64_t words)
{
    uint64_t all = hs_unread_whole(view);
    return all == 0 ? 0 : 100.0 * (double)words / (double)all;
}

enum { NAMES_BYTES = 1024 };

static hs_status say_best(struct hs_tool *tool, const struct hs_view *view,
                          const struct hs_best *best, struct hs_error *err)
{
    char names[NAMES_BYTES] = "";
    char much[HS_SIZE_TEXT_BYTES];
    bool is_one = best->n_roots == 1;

    for (unsigned i = 0; i < best->n_roots; i++)
        hs_append_item(names, sizeof names, ", ",
                       hs_view_string(view, hs_snap_root(view->snap, best->roots[i])->name));
    return hs_tool_say(tool, err, "%u root%s free%s %s (%.1f %%): %s", best->n_roots,
                       is_one ? "" : "s", is_one ? "s" : "",
                       hs_tool_size(tool, best->freed.words, view->facts->word_bytes, much),
                       percent_of(view, best->freed.words), names);
}

/* Says the reserve: why the figure may be something else (docs/answers.md). */
static hs_status say_reserve(struct hs_tool *tool, const struct hs_view *view,
                             const struct hs_what_if_answers *answers, struct hs_error *err)
{
    const struct hs_what_if_reserve *reserve = &answers->reserve;
    char much[HS_SIZE_TEXT_BYTES];
    unsigned word_bytes = view->facts->word_bytes;
    (void)hs_tool_size(tool, reserve->words, word_bytes, much);
    switch (reserve->reserve) {
    case HS_RESERVE_CONVENTION:
        return hs_tool_say(
            tool, err,
            "but that they own it is Python's convention: other objects refer to it, "
            "too (%lu references, such as %s), and keep it",
            (unsigned long)reserve->aliases.n_links, answers->alias != NULL ? answers->alias : "?");
    case HS_RESERVE_ALIAS:
        if (reserve->words == 0)
            return hs_tool_say(tool, err,
                               "but %s of it hangs on plain pointers, which do not say who frees",
                               hs_tool_size(tool, reserve->plain_words, word_bytes, much));
        return hs_tool_say(tool, err,
                           "and up to %s more, which others lead to that may only refer to it: no "
                           "pointer says who frees",
                           much);
    case HS_RESERVE_DOUBTFUL:
        if (reserve->words == 0 && reserve->untyped_words > reserve->doubtful_words)
            return hs_tool_say(
                tool, err,
                "but %s of it is blocks of unknown type, whose words count by their values",
                hs_tool_size(tool, reserve->untyped_words, word_bytes, much));
        if (reserve->words == 0)
            return hs_tool_say(tool, err, "but %s of it hangs on doubtful words alone",
                               hs_tool_size(tool, reserve->doubtful_words, word_bytes, much));
        return hs_tool_say(tool, err,
                           "and perhaps %s more, to which they lead by words that may be no "
                           "pointers",
                           much);
    default:
        return HS_OK;
    }
}

static hs_status say_without(struct hs_tool *tool, const struct hs_view *view,
                             const struct hs_what_if_answers *answers, struct hs_error *err)
{
    const struct hs_what_if *without = &answers->without;
    char names[NAMES_BYTES] = "", much[HS_SIZE_TEXT_BYTES];

    for (size_t i = 0; i < answers->n_names; i++)
        hs_append_item(names, sizeof names, ", ", answers->names[i]);
    return hs_tool_say(tool, err, "without %s: %s%s (%.1f %%) in %lu objects would be freed", names,
                       without->is_least ? "at least " : "",
                       hs_tool_size(tool, without->freed.words, view->facts->word_bytes, much),
                       percent_of(view, without->freed.words),
                       (unsigned long)without->freed.objects);
}

hs_status hs_what_if_sentences(struct hs_tool *tool, const struct hs_view *view,
                               const struct hs_what_if_answers *answers, struct hs_error *err)
{
    if (answers->has_without)
        HS_TRY(say_without(tool, view, answers, err));
    HS_TRY(say_reserve(tool, view, answers, err));
    for (unsigned i = 0; i < answers->n_best; i++)
        if (answers->best[i].n_roots == i + 1) /* else one more frees nothing more */
            HS_TRY(say_best(tool, view, &answers->best[i], err));
    return answers->has_without || answers->n_best != 0 ? hs_print(&tool->out, err, "\n") : HS_OK;
}

/* ---- JSON */

static hs_status put_names(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_what_if_pairs *pairs = context;
    for (size_t i = 0; i < pairs->answers->n_names; i++)
        HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_TEXT(NULL, pairs->answers->names[i])), err));
    return HS_OK;
}

struct best_of {
    const struct hs_view *view;
    const struct hs_best *best;
};

static hs_status put_best_roots(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct best_of *of = context;
    for (unsigned i = 0; i < of->best->n_roots; i++)
        HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_VALUE(NULL, NODE, of->best->roots[i])), err));
    return HS_OK;
}

static hs_status put_best_names(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct best_of *of = context;
    for (unsigned i = 0; i < of->best->n_roots; i++) {
        hs_str name = hs_snap_root(of->view->snap, of->best->roots[i])->name;
        HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_TEXT(NULL, hs_view_string(of->view, name))), err));
    }
    return HS_OK;
}

static hs_status put_best(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_what_if_pairs *pairs = context;
    for (unsigned i = 0; i < pairs->answers->n_best; i++) {
        struct best_of of = {pairs->view, &pairs->answers->best[i]};
        const struct hs_list roots = {.each = put_best_roots, .context = &of, .is_line = true};
        const struct hs_list names = {.each = put_best_names, .context = &of, .is_line = true};
        HS_TRY(hs_sink_pairs(sink,
                             HS_PAIRS(HS_COUNT("n_roots", of.best->n_roots),
                                      HS_ROWS("roots", &roots), HS_ROWS("names", &names),
                                      HS_COUNT("freed_words", of.best->freed.words),
                                      HS_COUNT("freed_objects", of.best->freed.objects)),
                             err));
    }
    return HS_OK;
}

/* Returns the words by which the figure may be wrong. */
static uint64_t reserve_words(const struct hs_what_if_reserve *reserve)
{
    switch (reserve->reserve) {
    case HS_RESERVE_CONVENTION:
        return reserve->aliases.words;
    case HS_RESERVE_ALIAS:
        return reserve->words != 0 ? reserve->words : reserve->plain_words;
    case HS_RESERVE_DOUBTFUL:
        return reserve->words != 0                                ? reserve->words
               : reserve->untyped_words > reserve->doubtful_words ? reserve->untyped_words
                                                                  : reserve->doubtful_words;
    default:
        return 0;
    }
}

void hs_what_if_pairs_init(const struct hs_view *view, const struct hs_what_if_answers *answers,
                           struct hs_what_if_pairs *ret)
{
    const struct hs_what_if *without = &answers->without;
    *ret = (struct hs_what_if_pairs){
        .view = view,
        .answers = answers,
        .names = {.each = put_names, .context = ret, .is_line = true},
        .best = {.each = put_best, .context = ret},
        .without_members = {HS_OBJECT("without"), HS_ROWS("names", &ret->names),
                            HS_COUNT("freed_words", without->freed.words),
                            HS_COUNT("freed_objects", without->freed.objects),
                            HS_TEXT("reserve", hs_reserve_name(answers->reserve.reserve)),
                            HS_COUNT("reserve_words", reserve_words(&answers->reserve)), HS_END,
                            HS_PAIRS_END},
        .best_members = {HS_ROWS("best", &ret->best), HS_PAIRS_END},
    };
    if (!answers->has_without)
        ret->without_members[0] = (struct hs_pair)HS_PAIRS_END;
    if (answers->n_best == 0)
        ret->best_members[0] = (struct hs_pair)HS_PAIRS_END;
}
