/* Paths as objects of JSON and as lines. */
#include "path_print.h"

#include <stdio.h>

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/root_name.h"
#include "root_json.h"
#include "why.h"

struct line {
    uint64_t path, repeat, offset, field, id, address, words, retained_words;
    const char *place, *type, *class, *tier, *rule, *what;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, NUMBER, path, "PATH", HS_COLUMN_NOT_JSON),
    HS_COLUMN(4, NODE, id, "ID", 0),
    HS_COLUMN(5, ADDRESS, address, "ADDRESS", HS_COLUMN_SPARE(2)),
    HS_FIELD(COUNT, offset),
    HS_COLUMN(3, NUMBER, field, "FIELD", HS_COLUMN_NARROW(2)),
    HS_FIELD(STRING, place),
    HS_FIELD(STRING, type),
    HS_COLUMN(6, WORDS, words, "WORDS", HS_COLUMN_SPARE(1)),
    HS_COLUMN(7, WORDS, retained_words, "RETAINED", 0),
    HS_FIELD(STRING, class),
    HS_FIELD(STRING, tier),
    HS_FIELD(STRING, rule),
    HS_COLUMN(2, COUNT, repeat, "TIMES", HS_COLUMN_NARROW(1)),
    HS_COLUMN(8, STRING, what, "WHAT", HS_COLUMN_FLEXIBLE | HS_COLUMN_TREE | HS_COLUMN_NOT_JSON),
};
const struct hs_record hs_path_record = HS_RECORD(fields);

/* A line that tells nothing but `what`. */
static struct line line_of(size_t path, const char *what)
{
    return (struct line){
        .path = path + 1,
        .repeat = HS_UNKNOWN,
        .offset = HS_UNKNOWN,
        .field = HS_UNKNOWN,
        .id = HS_UNKNOWN,
        .address = HS_UNKNOWN,
        .words = HS_UNKNOWN,
        .retained_words = HS_UNKNOWN,
        .what = what,
    };
}

/* "  [in doubt: non-owning by rule weak-pointer]" */
static void mark_of(const struct hs_view *view, unsigned reason, bool is_doubtful, bool with_why,
                    char *text, size_t n_bytes)
{
    char why[HS_WHY_BYTES];
    (void)snprintf(text, n_bytes, "%s", is_doubtful ? "  [doubtful]" : "");
    hs_why_text(view, reason, /* counts= */ true, why);
    if (with_why && why[0] != '\0')
        (void)snprintf(text, n_bytes, "  [%s]", why);
}

static hs_status put_step(struct hs_sink *sink, struct hs_view *view, size_t path,
                          const struct hs_path_step *step, bool with_why, struct hs_error *err)
{
    struct hs_node_facts facts;
    char what[512 + HS_FIELD_NAME_BYTES + HS_WHY_BYTES], place[HS_FIELD_NAME_BYTES];
    char mark[HS_WHY_BYTES + 8], rule[HS_WHY_BYTES];
    struct line line = line_of(path, "  [objects left out]");
    line.repeat = step->repeat;
    if (step->node == HS_NO_NODE)
        return hs_sink_row(sink, &line, err);
    HS_TRY(hs_view_facts(view, step->node, &facts, err));
    hs_field_name(view, step->type, step->offset_words, place, sizeof place);
    mark_of(view, step->reason, step->tier == HS_TIER_DOUBTFUL, with_why, mark, sizeof mark);
    (void)snprintf(what, sizeof what, "  %.400s%s%s%s%s", facts.label, place[0] == 0 ? "" : "  ",
                   hs_field_arrow(view, step->type, place), place, mark);
    line.id = step->node;
    line.address = facts.address;
    if (step->offset_words != HS_NO_OFFSET) {
        line.offset = step->offset_words * view->facts->word_bytes;
        line.field = step->offset_words;
    }
    line.place = hs_or_null(place);
    line.type = facts.label;
    line.words = facts.words;
    line.retained_words = hs_index_retained(view->index, step->node).words;
    if (step->edge_class < HS_N_EDGE_CLASSES) {
        line.class = hs_edge_class_name(step->edge_class);
        line.tier = hs_tier_name(step->tier);
        line.rule = hs_why_rule(view, step->reason, rule);
    }
    line.what = what;
    return hs_sink_row(sink, &line, err);
}

/* The path as source would write it; 0 when no type says how. */
static size_t expression_of(const struct hs_view *view, hs_node leaf,
                            const struct hs_path_fold *fold, char *text, size_t n_bytes)
{
    const char *root = hs_view_string(view, hs_snap_root(view->snap, leaf)->name);
    return hs_field_path(view, root, fold, text, n_bytes);
}

/* ---- JSON */

struct steps {
    struct hs_view *view;
    const struct hs_path_fold *fold;
};

static hs_status put_steps(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct steps *steps = context;
    for (size_t i = 0; i < steps->fold->n_steps; i++)
        HS_TRY(put_step(sink, steps->view, 0, &steps->fold->steps[i], false, err));
    return HS_OK;
}

static hs_status put_object(struct hs_sink *sink, struct hs_view *view, hs_node leaf,
                            const struct hs_path_fold *fold, uint64_t length, struct hs_error *err)
{
    struct hs_root_of root_of = {view, hs_path_root(view, leaf)}, leaf_of = {view, leaf};
    struct steps context = {view, fold};
    const struct hs_list root = {.each = hs_root_one, .context = &root_of};
    const struct hs_list slot = {.each = hs_slot_one, .context = &leaf_of};
    const struct hs_list steps = {
        .record = &hs_path_record, .each = put_steps, .context = &context};
    char text[HS_FIELD_PATH_BYTES];
    (void)expression_of(view, leaf, fold, text, sizeof text);
    return hs_sink_pairs(
        sink,
        HS_PAIRS(HS_ONE("root", &root),
                 HS_SPLICE(root_of.node != leaf ? HS_PAIRS(HS_ONE("slot", &slot)) : HS_NO_PAIRS),
                 HS_COUNT("length", length), HS_TEXT("expression", hs_or_null(text)),
                 HS_ROWS("steps", &steps)),
        err);
}

/* ---- table and TSV */

/* A variable with the slot that the path begins in, by the slot's name. */
static hs_status put_root_line(struct hs_sink *sink, const struct hs_view *view, size_t path,
                               hs_node leaf, bool with_why, struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, leaf);
    char where[HS_ROOT_WHERE_BYTES], what[1200 + HS_WHY_BYTES], mark[HS_WHY_BYTES + 8];
    struct line line = line_of(path, what);
    hs_root_where(view, root, where);
    bool is_doubtful = hs_index_tier(view->index, leaf) == HS_TIER_DOUBTFUL;
    mark_of(view, root->reason, is_doubtful, with_why, mark, sizeof mark);
    (void)snprintf(what, sizeof what, "%s %.400s%s%s%s%s", hs_root_kind_name(root->kind),
                   hs_view_string(view, root->name), where[0] != 0 ? " (" : "", where,
                   where[0] != 0 ? ")" : "", mark);
    line.id = hs_path_root(view, leaf);
    line.address = hs_or_unknown(root->address);
    line.retained_words = hs_index_retained(view->index, line.id).words;
    return hs_sink_row(sink, &line, err);
}

static hs_status put_lines(struct hs_sink *sink, struct hs_view *view, size_t path, hs_node leaf,
                           const struct hs_path_fold *fold, bool with_why, struct hs_error *err)
{
    char text[HS_FIELD_PATH_BYTES] = "= ";
    HS_TRY(put_root_line(sink, view, path, leaf, with_why, err));
    for (size_t i = 0; i < fold->n_steps; i++)
        HS_TRY(put_step(sink, view, path, &fold->steps[i], with_why, err));
    if (expression_of(view, leaf, fold, text + 2, sizeof text - 2) == 0)
        return HS_OK;
    struct line line = line_of(path, text);
    return hs_sink_row(sink, &line, err);
}

hs_status hs_path_put(struct hs_sink *sink, struct hs_view *view, const struct hs_paths *paths,
                      size_t at, bool with_why, struct hs_error *err)
{
    struct hs_path_fold fold = {0};
    size_t begin = paths->begin[at] + 1, n = paths->begin[at + 1] - begin;
    hs_node leaf = paths->nodes[begin - 1]; /* of the root; objects follow */
    hs_status status = hs_path_fold_nodes(&fold, view, paths->nodes + begin, n, err);
    if (status == HS_OK)
        status = sink->json != NULL ? put_object(sink, view, leaf, &fold, n, err)
                                    : put_lines(sink, view, at, leaf, &fold, with_why, err);
    hs_path_fold_fini(&fold);
    return status;
}
