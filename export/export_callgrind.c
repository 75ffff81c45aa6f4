/* export --to callgrind: for callgrind_annotate and KCachegrind. A frame is a function, its types
 * are what it calls, bytes and objects are the events: what KCachegrind calls inclusive is what is
 * owned. Names are numbered at their first use, as in "(1) name". Source: the manual of valgrind,
 * "Callgrind Format Specification". */
#include "base/alloc.h"
#include "export/exporter.h"
#include "pen.h"

struct dump {
    const struct hs_stack_tree *tree;
    struct hs_pen pen;
    struct hs_stack_children children;
    uint64_t (*all)[HS_STACK_VALUES]; /* owned: by node, with all on top of it */
    bool *is_named;                   /* owned: by frame */
};

static hs_status sums_find(struct dump *d, struct hs_error *err)
{
    const struct hs_stack_tree *tree = d->tree;
    HS_TRY(HS_ALLOC(&d->all, tree->n, err));
    HS_TRY(HS_ALLOC(&d->is_named, tree->n_frames, err));
    for (size_t i = tree->n; i-- != 0;)
        for (unsigned k = 0; k < tree->n_values; k++) {
            d->all[i][k] += tree->nodes[i].values[k];
            if (tree->nodes[i].parent != HS_NO_STACK)
                d->all[tree->nodes[i].parent][k] += d->all[i][k];
        }
    return HS_OK;
}

/* "fl=(1) file" and "fn=(1) name", or those that begin with a c: of what is called. A file has the
 * number of the first frame that is in it; ours are as many as frames, which costs little. */
static void put_function(struct dump *d, uint32_t frame, const char *file_key, const char *name_key)
{
    const struct hs_stack_frame *at = &d->tree->frames[frame];
    const struct {
        const char *key, *text;
    } lines[] = {{file_key, at->file == 0 ? "???" : hs_stack_string(d->tree, at->file)},
                 {name_key, hs_stack_string(d->tree, at->name)}};
    for (unsigned i = 0; i < 2; i++) {
        hs_pen_text(&d->pen, lines[i].key);
        hs_pen_number(&d->pen, (uint64_t)frame + 1);
        hs_pen_byte(&d->pen, ')');
        if (!d->is_named[frame]) {
            hs_pen_byte(&d->pen, ' ');
            hs_pen_clean(&d->pen, lines[i].text, HS_TEXT_TERMINAL);
        }
        hs_pen_byte(&d->pen, '\n');
    }
    d->is_named[frame] = true;
}

static void put_costs(struct dump *d, uint32_t line, const uint64_t *values)
{
    hs_pen_number(&d->pen, line);
    for (unsigned k = d->tree->n_values; k != 0; k -= 2) { /* bytes before objects */
        hs_pen_byte(&d->pen, ' ');
        hs_pen_number(&d->pen, values[k - 1]);
        hs_pen_byte(&d->pen, ' ');
        hs_pen_number(&d->pen, values[k - 2]);
    }
    hs_pen_byte(&d->pen, '\n');
}

static void put_node(struct dump *d, uint32_t node)
{
    const struct hs_stack_tree *tree = d->tree;
    const struct hs_stack_node *at = &tree->nodes[node];
    uint32_t line = tree->frames[at->frame].line;
    put_function(d, at->frame, "fl=(", "fn=(");
    put_costs(d, line, at->values);
    for (uint32_t i = d->children.begin[node]; i < d->children.begin[node + 1]; i++) {
        uint32_t child = d->children.children[i], frame = tree->nodes[child].frame;
        uint64_t objects = d->all[child][tree->n_values - 2];
        put_function(d, frame, "cfi=(", "cfn=(");
        hs_pen_text(&d->pen, "calls=");
        hs_pen_number(&d->pen, objects == 0 ? 1 : objects);
        hs_pen_byte(&d->pen, ' ');
        hs_pen_number(&d->pen, tree->frames[frame].line);
        hs_pen_byte(&d->pen, '\n');
        put_costs(d, line, d->all[child]);
    }
    hs_pen_byte(&d->pen, '\n');
}

static void put_head(struct dump *d)
{
    static const char *const events[] = {"Bytes Objects", "Bytes Objects AllocBytes AllocObjects"};
    uint64_t totals[HS_STACK_VALUES];
    hs_pen_text(&d->pen, "# callgrind format\nversion: 1\ncreator: heapsnap " HS_VERSION "\ncmd: ");
    hs_pen_clean(&d->pen, hs_stack_string(d->tree, d->tree->command), HS_TEXT_TERMINAL);
    hs_pen_text(&d->pen, "\npositions: line\nevents: ");
    hs_pen_text(&d->pen, events[d->tree->n_values / 2 - 1]);
    hs_pen_text(&d->pen, "\nsummary:");
    for (unsigned k = 0; k < d->tree->n_values; k++)
        totals[k] = hs_stack_total(d->tree, k);
    for (unsigned k = d->tree->n_values; k != 0; k -= 2) {
        hs_pen_byte(&d->pen, ' ');
        hs_pen_number(&d->pen, totals[k - 1]);
        hs_pen_byte(&d->pen, ' ');
        hs_pen_number(&d->pen, totals[k - 2]);
    }
    hs_pen_text(&d->pen, "\n\n");
}

static hs_status put_all(struct dump *d, struct hs_error *err)
{
    HS_TRY(hs_stack_children_find(d->tree, &d->children, err));
    HS_TRY(sums_find(d, err));
    put_head(d);
    for (uint32_t i = 0; i < d->tree->n && hs_pen_ok(&d->pen); i++)
        put_node(d, i);
    return HS_OK;
}

static hs_status write_callgrind(const struct hs_stack_tree *tree,
                                 const struct hs_export_target *target, struct hs_error *err)
{
    struct dump d = {.tree = tree, .pen = hs_pen_of(target->out)};
    hs_status status = hs_pen_finish(&d.pen, put_all(&d, err), err);
    hs_stack_children_fini(&d.children);
    hs_free(d.all);
    hs_free(d.is_named);
    return status;
}

const struct hs_exporter hs_exporter_callgrind = {
    .needs = HS_VIEW_INDEX,
    .write_stacks = write_callgrind,
};
