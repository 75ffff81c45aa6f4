/* Cuts as a sentence and as rows. */
#include "cut_print.h"

#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/path_find.h"
#include "analysis/path_fold.h"
#include "base/append.h"

enum { NAME_BYTES = 1024 };

/* ---- what a point is called */

/* Writes a path by which one root comes to the point, as source would write it; "" when no member
 * on the way has a name. */
static hs_status expression(struct hs_view *view, const struct hs_cut_point *point, char *text,
                            size_t n_bytes, struct hs_error *err)
{
    struct hs_paths paths = {0};
    struct hs_path_fold fold = {0};
    text[0] = 0;
    HS_TRY(hs_paths_to(view, point->node, 1, /* disjoint= */ false, &paths, err));
    hs_status status = HS_OK;
    if (paths.n_paths != 0)
        status = hs_path_fold_nodes(&fold, view, paths.nodes + 1, paths.n_nodes - 1, err);
    if (status == HS_OK && fold.n_steps != 0) {
        const struct hs_root *leaf = hs_snap_root(view->snap, paths.nodes[0]);
        fold.steps[fold.n_steps - 1].offset_words = point->offset_words;
        hs_field_path(view, hs_view_string(view, leaf->name), &fold, text, n_bytes);
    }
    hs_path_fold_fini(&fold);
    hs_paths_fini(&paths);
    return status;
}

/* "struct A.x", "B *[][17]", "block of 48 bytes+24", "struct A", "server.db". */
static void short_name(const struct hs_view *view, const struct hs_cut_point *point,
                       const struct hs_node_facts *facts, char *text, size_t n_bytes)
{
    char place[HS_FIELD_NAME_BYTES];
    if (point->kind != HS_CUT_FIELD)
        (void)snprintf(text, n_bytes, "%.400s", facts->label);
    else if (hs_field_name(view, facts->type, point->offset_words, place, sizeof place) == 0)
        (void)snprintf(text, n_bytes, "%.400s+%lu", facts->label,
                       (unsigned long)(point->offset_words * view->facts->word_bytes));
    else
        (void)snprintf(text, n_bytes, "%.400s%s%s", facts->label, place[0] == '[' ? "" : ".",
                       place);
}

/* ---- the sentence */

enum { NAMES_BYTES = HS_CUT_MOST * (NAME_BYTES + 64) };

/* Writes the names of the points, and where one alone does not tell, the blocks they are of. */
static hs_status put_names(struct hs_view *view, const struct hs_cut_point *points, unsigned n,
                           char text[NAMES_BYTES], struct hs_error *err)
{
    char names[HS_CUT_MOST][NAME_BYTES];
    for (unsigned i = 0; i < n; i++) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, points[i].node, &facts, err));
        short_name(view, &points[i], &facts, names[i], sizeof names[i]);
    }
    text[0] = '\0';
    for (unsigned i = 0; i < n; i++) {
        const char *before = i == 0 ? "" : i + 1 == n ? " and " : ", ";
        bool is_told = points[i].kind != HS_CUT_BLOCK;
        for (unsigned j = 0; j < n; j++)
            is_told = is_told && (j == i || strcmp(names[i], names[j]) != 0);
        hs_append(text, NAMES_BYTES, "%s`%s`", before, names[i]);
        if (!is_told)
            hs_append(text, NAMES_BYTES, " (#%lu)", (unsigned long)points[i].node);
    }
    return HS_OK;
}

/* "two fields keep all of it: `struct A.x` and `struct B.y`" */
static hs_status print_near_object(struct hs_tool *tool, struct hs_view *view,
                                   const struct hs_cut_point *points, unsigned n,
                                   struct hs_error *err)
{
    static const char *const numbers[] = {"no", "one", "two", "three", "four"};
    const char *kind = hs_cut_kind_name(points[0].kind);
    char names[NAMES_BYTES];
    for (unsigned i = 1; i < n; i++)
        if (points[i].kind != points[0].kind)
            kind = "place";
    HS_TRY(put_names(view, points, n, names, err));
    return hs_tool_say(tool, err, "%s %s%s all of it: %s", numbers[n], kind,
                       n == 1 ? " keeps" : "s keep", names);
}

static hs_status print_near_roots(struct hs_tool *tool, struct hs_view *view,
                                  const struct hs_cut_point *points, unsigned n,
                                  struct hs_error *err)
{
    char names[NAMES_BYTES];
    HS_TRY(put_names(view, points, n, names, err));
    return hs_tool_say(tool, err, "nearest to the roots: %s", names);
}

hs_status hs_cut_sentence(struct hs_tool *tool, struct hs_view *view, const struct hs_cut *cut,
                          struct hs_error *err)
{
    struct hs_out *out = &tool->out;
    char size[HS_SIZE_TEXT_BYTES];
    if (cut->n > HS_CUT_MOST)
        return hs_print(out, err,
                        "more than %d ways that share nothing keep it: no %d roots, fields or "
                        "blocks free it\n",
                        HS_CUT_MOST, HS_CUT_MOST);
    if (cut->n == 0)
        return hs_print(out, err, "nothing keeps it\n");
    HS_TRY(print_near_object(tool, view, cut->near_object, cut->n, err));
    bool is_same = true;
    for (unsigned i = 0; i < cut->n; i++)
        is_same &= cut->near_object[i].node == cut->near_roots[i].node;
    if (!is_same)
        HS_TRY(print_near_roots(tool, view, cut->near_roots, cut->n, err));
    return hs_print(out, err, "without %s %s in %lu objects are freed\n",
                    cut->n == 1 ? "it" : "them",
                    hs_tool_size(tool, cut->freed.words, view->facts->word_bytes, size),
                    (unsigned long)cut->freed.objects);
}

/* ---- rows */

struct line {
    const char *near, *kind, *place, *type, *name, *expression, *what;
    uint64_t field, offset, id, address, words, retained_words;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, STRING, near, "NEAR", HS_COLUMN_NOT_JSON),
    HS_COLUMN(2, STRING, kind, "KIND", HS_COLUMN_NARROW(3)),
    HS_COLUMN(4, NODE, id, "ID", 0),
    HS_COLUMN(5, ADDRESS, address, "ADDRESS", HS_COLUMN_DATA_ONLY),
    HS_FIELD(COUNT, offset),
    HS_COLUMN(3, COUNT, field, "FIELD", HS_COLUMN_NARROW(2)),
    HS_FIELD(STRING, place),
    HS_FIELD(STRING, type),
    HS_FIELD(STRING, name),
    HS_FIELD(STRING, expression),
    HS_COLUMN(6, WORDS, words, "WORDS", HS_COLUMN_NARROW(1)),
    HS_COLUMN(7, WORDS, retained_words, "RETAINED", 0),
    HS_COLUMN(8, STRING, what, "WHAT", HS_COLUMN_FLEXIBLE | HS_COLUMN_NOT_JSON),
};
static const struct hs_record record = HS_RECORD(fields);

static hs_status put_point(struct hs_sink *sink, struct hs_view *view, const char *near,
                           const struct hs_cut_point *point, struct hs_error *err)
{
    struct hs_node_facts facts;
    char name[NAME_BYTES], way[HS_FIELD_PATH_BYTES] = "", what[NAME_BYTES + HS_FIELD_PATH_BYTES];
    char place[HS_FIELD_NAME_BYTES] = "";
    bool has_offset = point->offset_words != HS_NO_OFFSET;
    HS_TRY(hs_view_facts(view, point->node, &facts, err));
    short_name(view, point, &facts, name, sizeof name);
    if (!facts.is_root)
        HS_TRY(expression(view, point, way, sizeof way, err));
    if (has_offset)
        hs_field_name(view, facts.type, point->offset_words, place, sizeof place);
    (void)snprintf(what, sizeof what, "%s%s%s", name, way[0] != 0 ? "  = " : "", way);
    const struct line line = {
        .near = near,
        .kind = hs_cut_kind_name(point->kind),
        .id = point->node,
        .address = hs_or_unknown(facts.address),
        .offset = has_offset ? point->offset_words * view->facts->word_bytes : HS_UNKNOWN,
        .field = has_offset ? point->offset_words : HS_UNKNOWN,
        .place = hs_or_null(place),
        .type = facts.is_root ? NULL : facts.label,
        .name = facts.is_root ? facts.label : NULL,
        .expression = hs_or_null(way),
        .words = facts.is_root ? HS_UNKNOWN : facts.words,
        .retained_words = hs_index_retained(view->index, point->node).words,
        .what = what,
    };
    return hs_sink_row(sink, &line, err);
}

static unsigned n_points(const struct hs_cut *cut)
{
    return cut->n > HS_CUT_MOST ? 0 : cut->n;
}

static hs_status put_near_roots(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_cut_pairs *pairs = context;
    for (unsigned i = 0; i < n_points(pairs->cut); i++)
        HS_TRY(put_point(sink, pairs->view, "roots", &pairs->cut->near_roots[i], err));
    return HS_OK;
}

static hs_status put_near_object(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_cut_pairs *pairs = context;
    for (unsigned i = 0; i < n_points(pairs->cut); i++)
        HS_TRY(put_point(sink, pairs->view, "object", &pairs->cut->near_object[i], err));
    return HS_OK;
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    HS_TRY(put_near_roots(context, sink, err));
    return put_near_object(context, sink, err);
}

void hs_cut_pairs_init(struct hs_view *view, const struct hs_cut *cut, struct hs_cut_pairs *ret)
{
    bool is_complete = cut->n <= HS_CUT_MOST;
    *ret = (struct hs_cut_pairs){
        .view = view,
        .cut = cut,
        .rows = {.record = &record, .each = put_rows, .context = ret},
        .near_roots = {.record = &record, .each = put_near_roots, .context = ret},
        .near_object = {.record = &record, .each = put_near_object, .context = ret},
        .members = {HS_BLOCK("cut"), HS_COUNT("size", is_complete ? cut->n : HS_UNKNOWN),
                    HS_COUNT("at_least", cut->n), HS_VALUE("complete", BOOL, is_complete),
                    HS_COUNT("freed_words", cut->freed.words),
                    HS_COUNT("freed_objects", cut->freed.objects),
                    HS_ROWS("near_roots", &ret->near_roots),
                    HS_ROWS("near_object", &ret->near_object), HS_END, HS_PAIRS_END},
    };
}
