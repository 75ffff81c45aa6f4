/* paths: how roots reach an object; or all samples of an allocation site. */
#include <string.h>

#include "analysis/object_lookup.h"
#include "analysis/root_name.h"
#include "analysis/set_tops.h"
#include "commands.h"
#include "cut_print.h"
#include "open_view.h"
#include "path_print.h"
#include "root_json.h"
#include "sample_print.h"
#include "set_object.h"
#include "set_places.h"
#include "site_paths_print.h"
#include "site_print.h"
#include "type_paths_print.h"

/* ---- the target */

/* The sample that was asked for, else the first one of the target. */
static const struct hs_sample *sample_of(const struct hs_view *view,
                                         const struct hs_object_spec *what, hs_node target)
{
    if (what->sample != NULL)
        return what->sample;
    for (size_t i = 0; i < view->totals->n_samples; i++)
        if (hs_snap_sample(view->snap, i)->node == target)
            return hs_snap_sample(view->snap, i);
    return NULL;
}

struct sample_of {
    struct hs_sample_join *join;
    const struct hs_sample *sample;
};

static hs_status put_sample(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct sample_of *of = context;
    return of->sample != NULL ? hs_sample_put(sink, of->join, of->sample, err) : HS_OK;
}

struct answer {
    struct hs_sample_join *join;
    const struct hs_object_spec *what;
    hs_node target;
    struct hs_paths paths;
    bool with_why; /* each step tells why it counts for less */
};

static hs_status put_target(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct answer *answer = context;
    struct hs_view *view = answer->join->view;
    hs_node target = answer->target, root = hs_view_retaining_root(view, target);
    struct sample_of sample_context = {answer->join, sample_of(view, answer->what, target)};
    struct hs_root_of root_of = {view, root};
    struct hs_set_of set_of = {view, root == HS_NO_NODE ? hs_set_keeping(view, target) : 0, 16};
    const struct hs_list sample = {.each = put_sample, .context = &sample_context};
    const struct hs_list keeper = {.each = hs_root_one, .context = &root_of};
    const struct hs_list set = {.each = hs_set_one, .context = &set_of, .is_block = true};
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, target, &facts, err));
    return hs_sink_pairs(
        sink,
        HS_PAIRS(HS_VALUE("id", NODE, target), HS_VALUE("address", ADDRESS, facts.address),
                 HS_COUNT("words", facts.words), HS_TEXT("type", facts.label),
                 HS_VALUE("reached", BOOL, hs_index_is_reached(view->index, target)),
                 HS_COUNT("retained_words", hs_index_retained(view->index, target).words),
                 HS_ONE("sample", &sample),
                 HS_VALUE("dominator", NODE, hs_index_idom(view->index, target)),
                 HS_ONE("retaining_root", &keeper), HS_ONE("set", &set)),
        err);
}

/* Says of a variable of several slots that the target is one of those it leads to. */
static hs_status print_slots(struct hs_tool *tool, const struct hs_view *view,
                             const struct hs_object_spec *what, struct hs_error *err)
{
    char slots[200];
    hs_node node = what->nodes[0];
    if (node >= view->n_tree || hs_snap_root(view->snap, node)->level != HS_LEVEL_VARIABLE)
        return HS_OK;
    hs_object_list_slots(view, node, slots, sizeof slots);
    HS_TRY(
        hs_tool_print_clean(tool, hs_view_string(view, hs_snap_root(view->snap, node)->name), err));
    HS_TRY(hs_print(&tool->out, err, " is a variable of several slots ("));
    HS_TRY(hs_tool_print_clean(tool, slots, err));
    return hs_print(&tool->out, err, "); of what they lead to, this retains most:\n");
}

/* Prints the target and its owner, before the paths. */
static hs_status print_heading(struct hs_tool *tool, struct hs_sample_join *join,
                               const struct hs_object_spec *what, hs_node target,
                               struct hs_error *err)
{
    struct hs_view *view = join->view;
    struct hs_node_facts facts;
    HS_TRY(print_slots(tool, view, what, err));
    HS_TRY(hs_view_facts(view, target, &facts, err));
    const struct hs_sample *sample = sample_of(view, what, target);
    hs_node idom = hs_index_idom(view->index, target);
    hs_node root = hs_view_retaining_root(view, target);
    struct hs_out *out = &tool->out;
    HS_TRY(
        hs_print(out, err, "#%lu at 0x%lx: ", (unsigned long)target, (unsigned long)facts.address));
    HS_TRY(hs_tool_print_clean(tool, facts.label, err));
    char size[HS_SIZE_TEXT_BYTES], retained[HS_SIZE_TEXT_BYTES];
    unsigned word_bytes = view->facts->word_bytes;
    HS_TRY(hs_print(
        out, err, ", %s, retains %s\n", hs_tool_size(tool, facts.words, word_bytes, size),
        hs_tool_size(tool, hs_index_retained(view->index, target).words, word_bytes, retained)));
    if (sample != NULL)
        HS_TRY(hs_sample_lines(tool, join, sample, err));
    if (idom == HS_NO_NODE)
        return hs_print(out, err, "no root reaches it\n");
    HS_TRY(hs_print(out, err, "dominator #%lu; retained by ", (unsigned long)idom));
    if (root == HS_NO_NODE) {
        char label[512];
        uint32_t set = hs_set_keeping(view, target);
        HS_TRY(hs_print(out, err, "no single root: several share it\n"));
        if (set == 0)
            return HS_OK;
        hs_set_label(view, set, label, sizeof label);
        HS_TRY(hs_tool_print_clean(tool, label, err));
        return hs_print(out, err, "\n");
    }
    const struct hs_root *record = hs_snap_root(view->snap, root);
    HS_TRY(hs_print(out, err, "#%lu ", (unsigned long)root));
    HS_TRY(hs_tool_print_clean(tool, hs_view_string(view, record->name), err));
    return hs_print(out, err, "\n");
}

/* ---- its paths */

static hs_status put_paths(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct answer *answer = context;
    for (size_t i = 0; i < answer->paths.n_paths; i++)
        HS_TRY(hs_path_put(sink, answer->join->view, &answer->paths, i, answer->with_why, err));
    return HS_OK;
}

static hs_status list_paths(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct answer *answer, const struct hs_type_paths_pairs *all,
                            struct hs_error *err)
{
    const struct hs_view *view = answer->join->view;
    const struct hs_list target = {.each = put_target, .context = answer, .is_block = true};
    const struct hs_list paths = {
        .record = &hs_path_record, .each = put_paths, .context = answer, .is_block = true};
    const struct hs_listing listing = {
        .rows = &paths,
        .is_one = true,
        .no_total = true,
        .word_bytes = view->facts->word_bytes,
        .document = HS_PAIRS(HS_TEXT("schema", "heapsnap.paths/1"), HS_TEXT("snapshot", view->path),
                             HS_ONE("target", &target), HS_ROWS("paths", &paths),
                             HS_VALUE("complete", BOOL, answer->paths.is_complete),
                             HS_SPLICE(all != NULL ? all->members : HS_NO_PAIRS),
                             HS_SPLICE(all != NULL ? all->tree.members : HS_NO_PAIRS)),
    };
    return hs_tool_list(tool, inv, &listing, err);
}

/* ---- the command */

static uint64_t limit_of(const struct hs_invocation *inv)
{
    return hs_given(inv, HS_OPT_LIMIT) ? inv->number[HS_OPT_LIMIT] : 10;
}

static hs_status list_cut(struct hs_tool *tool, const struct hs_invocation *inv,
                          struct answer *answer, const struct hs_cut *cut, struct hs_error *err)
{
    struct hs_view *view = answer->join->view;
    struct hs_cut_pairs pairs;
    const struct hs_list target = {.each = put_target, .context = answer, .is_block = true};
    hs_cut_pairs_init(view, cut, &pairs);
    const struct hs_listing listing = {
        .rows = &pairs.rows,
        .is_one = true,
        .no_total = true,
        .word_bytes = view->facts->word_bytes,
        .document = HS_PAIRS(HS_TEXT("schema", "heapsnap.paths/1"), HS_TEXT("snapshot", view->path),
                             HS_ONE("target", &target), HS_SPLICE(pairs.members)),
    };
    return hs_tool_list(tool, inv, &listing, err);
}

static hs_status show_cut(struct hs_tool *tool, const struct hs_invocation *inv,
                          struct hs_sample_join *join, const struct hs_object_spec *what,
                          hs_node target, struct hs_error *err)
{
    struct answer answer = {.join = join, .what = what, .target = target};
    struct hs_cut cut;
    if (what->kind == HS_OBJECT_SET)
        HS_TRY(hs_cut_find_set(join->view, what->set, &cut, err));
    else
        HS_TRY(hs_cut_find(join->view, &target, 1, &cut, err));
    if (hs_tool_format(inv) == HS_FORMAT_TABLE) {
        char label[512] = "";
        if (what->kind == HS_OBJECT_SET) {
            hs_set_label(join->view, what->set, label, sizeof label);
            HS_TRY(hs_tool_print_clean(tool, label, err));
            HS_TRY(hs_print(&tool->out, err, "\n"));
        } else {
            HS_TRY(print_heading(tool, join, what, target, err));
        }
        HS_TRY(hs_cut_sentence(tool, join->view, &cut, err));
        uint32_t set = what->kind == HS_OBJECT_SET ? what->set : hs_set_keeping(join->view, target);
        if (cut.n > HS_CUT_MOST && set != 0)
            HS_TRY(hs_set_places_print(tool, join->view, set, err));
        if (cut.n == 0 || cut.n > HS_CUT_MOST)
            return HS_OK;
    }
    return list_cut(tool, inv, &answer, &cut, err);
}

static hs_status show_target(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_sample_join *join, const struct hs_object_spec *what,
                             hs_node target, struct hs_error *err)
{
    struct answer answer = {.join = join, .what = what, .target = target};
    bool is_table = hs_tool_format(inv) == HS_FORMAT_TABLE;
    answer.with_why = hs_given(inv, HS_OPT_WHY);
    HS_TRY(hs_paths_to(join->view, target, limit_of(inv), hs_given(inv, HS_OPT_DISJOINT),
                       &answer.paths, err));
    hs_status status = is_table ? print_heading(tool, join, what, target, err) : HS_OK;
    if (status == HS_OK && (answer.paths.n_paths != 0 || !is_table))
        status = list_paths(tool, inv, &answer, NULL, err);
    hs_paths_fini(&answer.paths);
    return status;
}

/* Lists the paths of a type; JSON tells of the block that retains most, too. */
static hs_status list_type(struct hs_tool *tool, const struct hs_invocation *inv,
                           struct answer *answer, const struct hs_type_paths *all,
                           struct hs_error *err)
{
    struct hs_type_paths_pairs pairs;
    HS_TRY(hs_paths_to(answer->join->view, answer->target, limit_of(inv),
                       hs_given(inv, HS_OPT_DISJOINT), &answer->paths, err));
    hs_status status = hs_type_paths_pairs_init(all, hs_tool_rows(inv), &pairs, err);
    if (status == HS_OK) {
        status = list_paths(tool, inv, answer, &pairs, err);
        hs_path_tree_pairs_fini(&pairs.tree);
    }
    hs_paths_fini(&answer->paths);
    return status;
}

/* Shows the paths to all blocks of a type or a set. */
static hs_status show_type(struct hs_tool *tool, const struct hs_invocation *inv,
                           struct hs_sample_join *join, const struct hs_object_spec *what,
                           struct hs_error *err)
{
    struct hs_type_paths all;
    struct answer answer = {.join = join, .what = what, .target = what->nodes[0]};
    if (what->kind == HS_OBJECT_SET)
        HS_TRY(hs_set_paths_find(join->view, what->set, &all, err));
    else
        HS_TRY(hs_type_paths_find(join->view, what->type, &all, err));
    hs_status status = hs_tool_format(inv) == HS_FORMAT_JSON
                           ? list_type(tool, inv, &answer, &all, err)
                           : hs_type_paths_print(tool, inv, &all, err);
    hs_type_paths_fini(&all);
    return status;
}

/* Shows the paths to a set. One tree has one way to each object; of a set the table shows, too, how
 * each root reaches the largest of its top units, and that alone when there is but one. */
static hs_status show_set(struct hs_tool *tool, const struct hs_invocation *inv,
                          struct hs_sample_join *join, const struct hs_object_spec *what,
                          struct hs_error *err)
{
    bool is_table = hs_tool_format(inv) == HS_FORMAT_TABLE;
    bool is_one = hs_index_set(join->view->index, what->set).n_tops == 1;
    if (!is_table || !is_one)
        HS_TRY(show_type(tool, inv, join, what, err));
    if (is_table && !is_one)
        HS_TRY(hs_print(&tool->out, err, "\nhow its roots reach the largest of these:\n"));
    return is_table ? show_target(tool, inv, join, what, what->nodes[0], err) : HS_OK;
}

static hs_status show_objects(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_sample_join *join, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    struct hs_object_spec what;
    HS_TRY(hs_object_lookup_joined(join, inv->text[HS_OPT_TO], &what, err));
    hs_node target = what.nodes[0];
    if (what.kind == HS_OBJECT_SET && !hs_given(inv, HS_OPT_CUT))
        return show_set(tool, inv, join, &what, err);
    if (what.kind == HS_OBJECT_TYPE && !hs_given(inv, HS_OPT_CUT))
        return show_type(tool, inv, join, &what, err);
    if (target < view->n_tree)
        HS_TRY(hs_object_target(view, inv->text[HS_OPT_TO], target, &target, err));
    if (hs_given(inv, HS_OPT_CUT))
        return show_cut(tool, inv, join, &what, target, err);
    return show_target(tool, inv, join, &what, target, err);
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_view *view,
                     struct hs_error *err)
{
    const char *to = inv->text[HS_OPT_TO];
    const char *trace = hs_given(inv, HS_OPT_TRACE) ? inv->text[HS_OPT_TRACE] : NULL;
    struct hs_sample_join join = {0};
    struct hs_sample_name name;
    bool is_sample = hs_sample_is_named(to);
    if (hs_given(inv, HS_OPT_CUT) && strncmp(to, "site:", 5) == 0)
        return hs_fail(err, HS_USAGE, "--cut frees one object, and '%.100s' is many", to);
    if (is_sample && hs_sample_parse(to, &name, err) != HS_OK)
        return hs_context(err, "cannot find '%.100s'", to);
    HS_TRY(hs_sample_join_open(view, trace, is_sample ? &name.id : NULL, &join, err));
    hs_status status = HS_USAGE;
    struct hs_error no_site = HS_ERROR_INIT;
    bool is_site = strncmp(to, "site:", 5) == 0;
    /* A bare name that is neither a root's nor a type's may be a site's. */
    if (hs_object_is_bare(to) && !hs_object_is_known(view, to) && !hs_given(inv, HS_OPT_CUT))
        status = hs_site_paths_print(tool, inv, &join, to, limit_of(inv), &no_site);
    if (is_site)
        status = hs_site_paths_print(tool, inv, &join, to + 5, limit_of(inv), err);
    else if (status == HS_USAGE)
        status = show_objects(tool, inv, &join, err);
    else if (status != HS_OK)
        *err = no_site;
    if (status == HS_OK)
        hs_sample_join_talk(tool, &join);
    hs_sample_join_close(&join);
    return status;
}

hs_status hs_cmd_paths(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    if (!hs_given(inv, HS_OPT_TO)) {
        (void)hs_fail(err, HS_USAGE, "'paths' needs --to WHAT");
        return hs_hint(err, "WHAT is N or sample:N, 0xADDR, #N, root:NAME, type:NAME or site:NAME");
    }
    struct hs_view view = {0};
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    hs_status status = run(tool, inv, &view, err);
    return hs_view_finish(&view, status, err);
}
