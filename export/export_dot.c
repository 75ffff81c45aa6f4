/* export --to dot: one neighbourhood as a picture for Graphviz, at most MOST_NODES nodes. Without
 * --of the dominator tree from all roots down; of an object who dominates it up to its root, what
 * it dominates, and dashed who points to it beside. */
#include <string.h>

#include "analysis/dominator_rows.h"
#include "analysis/neighbours.h"
#include "analysis/object_lookup.h"
#include "export/exporter.h"
#include "pen.h"

enum { MOST_ROWS = 120, MOST_ABOVE = 40, MOST_HOLDERS = 40, MOST_NODES = 200 };
enum { DEPTH = 8, CHILDREN = 12, LABEL_COLUMNS = 60 };
_Static_assert(MOST_ROWS + MOST_ABOVE + MOST_HOLDERS <= MOST_NODES, "a picture that can be read");

struct dump {
    struct hs_view *view;
    struct hs_pen pen;
    hs_node drawn[MOST_NODES];
    size_t n_drawn;
};

/* Writes a label inside of quotes. A backslash would begin an escape of Graphviz's. */
static void put_label(struct dump *d, const char *name)
{
    struct hs_pen *pen = &d->pen;
    struct hs_buffer clean = {0}, fit = {0};
    if (hs_pen_ok(pen))
        pen->status = hs_text_sanitise(name, strlen(name), HS_TEXT_TERMINAL, &clean, &pen->error);
    if (hs_pen_ok(pen))
        pen->status =
            hs_text_fit((const char *)clean.bytes, clean.n_bytes, LABEL_COLUMNS, &fit, &pen->error);
    for (size_t i = 0; i < fit.n_bytes && hs_pen_ok(pen); i++) {
        if (fit.bytes[i] == '"' || fit.bytes[i] == '\\')
            hs_pen_byte(pen, '\\');
        hs_pen_byte(pen, fit.bytes[i]);
    }
    hs_buffer_fini(&clean);
    hs_buffer_fini(&fit);
}

static bool is_drawn(const struct dump *d, hs_node node)
{
    for (size_t i = 0; i < d->n_drawn; i++)
        if (d->drawn[i] == node)
            return true;
    return false;
}

static void put_node(struct dump *d, const struct hs_node_facts *facts, bool is_asked)
{
    if (is_drawn(d, facts->node) || d->n_drawn == MOST_NODES)
        return;
    d->drawn[d->n_drawn++] = facts->node;
    hs_pen_text(&d->pen, "  n");
    hs_pen_number(&d->pen, facts->node);
    hs_pen_text(&d->pen, " [label=\"");
    put_label(d, facts->label);
    hs_pen_text(&d->pen, "\\n#");
    hs_pen_number(&d->pen, facts->node);
    hs_pen_text(&d->pen, ": retains ");
    hs_pen_number(&d->pen, hs_index_retained(d->view->index, facts->node).words);
    hs_pen_text(&d->pen, " words\"");
    hs_pen_text(&d->pen, facts->is_root ? ", shape=box" : "");
    hs_pen_text(&d->pen, is_asked ? ", penwidth=3];\n" : "];\n");
}

static void put_edge(struct dump *d, hs_node from, hs_node to, const char *style)
{
    if (!is_drawn(d, from) || !is_drawn(d, to))
        return;
    hs_pen_text(&d->pen, "  n");
    hs_pen_number(&d->pen, from);
    hs_pen_text(&d->pen, " -> n");
    hs_pen_number(&d->pen, to);
    hs_pen_text(&d->pen, style);
}

static hs_status put_below(struct dump *d, hs_node from, struct hs_error *err)
{
    const struct hs_dominator_query query = {
        .max_depth = DEPTH, .max_children = CHILDREN, .max_rows = MOST_ROWS};
    struct hs_dominator_rows rows = {0};
    hs_status status = hs_dominator_rows_select(d->view, from, &query, &rows, err);
    for (size_t i = 0; i < rows.n && status == HS_OK; i++)
        put_node(d, &rows.rows[i].facts, rows.rows[i].node == from && from != 0);
    for (size_t i = 0; i < rows.n && status == HS_OK; i++)
        if (rows.rows[i].node != from)
            put_edge(d, rows.rows[i].dominator, rows.rows[i].node, ";\n");
    hs_dominator_rows_fini(&rows);
    return status;
}

static hs_status put_above(struct dump *d, hs_node from, struct hs_error *err)
{
    hs_node below = from;
    for (unsigned i = 0; i < MOST_ABOVE; i++) {
        struct hs_node_facts facts;
        hs_node node = hs_index_idom(d->view->index, below);
        if (node == HS_NO_NODE)
            return HS_OK;
        HS_TRY(hs_view_facts(d->view, node, &facts, err));
        put_node(d, &facts, false);
        put_edge(d, node, below, ";\n");
        below = node;
    }
    return HS_OK;
}

static hs_status put_holders(struct dump *d, hs_node of, struct hs_error *err)
{
    struct hs_referrers referrers = hs_referrers_of(d->view, of, MOST_HOLDERS);
    struct hs_links links = {0};
    hs_status status = hs_referrers_next(&referrers, MOST_HOLDERS, &links, err);
    for (size_t i = 0; i < links.n && i < MOST_HOLDERS && status == HS_OK; i++) {
        struct hs_node_facts facts;
        status = hs_view_facts(d->view, links.links[i].other, &facts, err);
        if (status != HS_OK)
            break;
        put_node(d, &facts, false);
        put_edge(d, facts.node, of, " [style=dashed];\n");
    }
    hs_links_fini(&links);
    return status;
}

static hs_status put_all(struct dump *d, const char *what, struct hs_error *err)
{
    struct hs_object_spec spec = {.nodes = {0}, .n_nodes = 1};
    if (what != NULL)
        HS_TRY(hs_object_lookup(d->view, what, &spec, err));
    hs_node of = spec.nodes[0];
    hs_pen_text(&d->pen, "digraph heap {\n  node [fontname=monospace];\n  // ");
    hs_pen_clean(&d->pen, hs_view_string(d->view, d->view->facts->command), HS_TEXT_TERMINAL);
    hs_pen_text(&d->pen, "\n");
    HS_TRY(put_below(d, of, err));
    HS_TRY(put_above(d, of, err));
    if (of >= d->view->n_tree)
        HS_TRY(put_holders(d, of, err));
    hs_pen_text(&d->pen, "}\n");
    return HS_OK;
}

static hs_status export_dot(struct hs_view *view, const struct hs_export_target *target,
                            struct hs_error *err)
{
    struct dump d = {.view = view, .pen = hs_pen_of(target->out)};
    return hs_pen_finish(&d.pen, put_all(&d, target->of, err), err);
}

const struct hs_exporter hs_exporter_dot = {
    .needs = HS_VIEW_INDEX,
    .takes_of = true,
    .write = export_dot,
};
