/* trace tree: the calls that lead to allocations, as a tree. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "look.h"
#include "stats/call_tree.h"
#include "trace_commands.h"

enum { DEFAULT_DEPTH = 24, DEFAULT_CHILDREN = 8, INDENT_LEVELS = 60, LEAST_PERMILLE = 5 };

struct line {
    const char *estimates, *name;
    struct hs_trace_estimate words, live, allocations;
    uint64_t own_words, samples, own_samples, hidden_samples, hidden_children, node, parent, depth;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN_AS("words", 1, WORDS, words.value, "WORDS", 0),
    HS_COLUMN_AS("words_error", 2, WORDS, words.error, "+-", 0),
    HS_COLUMN_AS("percent", 3, PERCENT, samples, "%", 0),
    HS_COLUMN(4, WORDS, own_words, "OWN", 0),
    HS_COLUMN_AS("live_words", 5, WORDS, live.value, "LIVE", HS_COLUMN_SPARE(1)),
    HS_COLUMN_AS("live_words_error", 6, WORDS, live.error, "LIVE +-", HS_COLUMN_DATA_ONLY),
    HS_COLUMN_AS("allocations", 7, COUNT, allocations.value, "ALLOCS", HS_COLUMN_DATA_ONLY),
    HS_COLUMN_AS("allocations_error", 8, COUNT, allocations.error, "", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(9, COUNT, samples, "SAMPLES", HS_COLUMN_SPARE(2)),
    HS_COLUMN(10, COUNT, own_samples, "OWN SAMPLES", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(11, COUNT, hidden_samples, "HIDDEN", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(12, COUNT, hidden_children, "HIDDEN", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(13, COUNT, node, "NODE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(14, COUNT, parent, "PARENT", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(15, COUNT, depth, "DEPTH", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(16, STRING, estimates, "ESTIMATES", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(17, STRING, name, "CALLS", HS_COLUMN_FLEXIBLE | HS_COLUMN_TREE),
};
static const struct hs_record record = HS_RECORD(fields);

/* A node that waits to be printed, or the rest of its parent's children. */
struct waiting {
    uint32_t node, depth;
    uint64_t n_rest, rest_samples; /* above 0: a line "[n others]" below `node` */
};

struct tree_print {
    struct hs_sink *sink;
    const struct hs_trace_look *look;
    const struct hs_call_tree *tree;
    uint64_t max_depth, max_children, min_samples;
    struct waiting *stack; /* owned */
    size_t n, capacity;
    struct hs_buffer name;
};

static hs_status push(struct tree_print *print, struct waiting item, struct hs_error *err)
{
    HS_TRY(HS_GROW(&print->stack, &print->capacity, print->n + 1, err));
    print->stack[print->n++] = item;
    return HS_OK;
}

static hs_status begin_name(struct tree_print *print, uint32_t depth, struct hs_error *err)
{
    size_t indent = print->sink->is_table ? 2 * (depth < INDENT_LEVELS ? depth : INDENT_LEVELS) : 0;
    print->name.n_bytes = 0;
    HS_TRY(hs_buffer_reserve(&print->name, indent, err));
    while (indent-- > 0)
        hs_buffer_put_u8(&print->name, ' ');
    return HS_OK;
}

static hs_status put_line(struct tree_print *print, struct line *line, struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(&print->name, 1, err));
    hs_buffer_put_u8(&print->name, 0);
    line->name = (const char *)print->name.bytes;
    return hs_sink_row(print->sink, line, err);
}

static hs_status put_rest(struct tree_print *print, const struct waiting *at, struct hs_error *err)
{
    char text[48];
    struct line line = {
        .words = hs_trace_words(&print->look->scale, at->rest_samples),
        .live = {HS_UNKNOWN, HS_UNKNOWN},
        .own_words = HS_UNKNOWN,
        .samples = at->rest_samples,
    };
    HS_TRY(begin_name(print, at->depth, err));
    int n = snprintf(text, sizeof text, "[%llu other%s]", (unsigned long long)at->n_rest,
                     at->n_rest == 1 ? "" : "s");
    HS_TRY(hs_buffer_reserve(&print->name, (size_t)n, err));
    hs_buffer_put_bytes(&print->name, text, (size_t)n);
    return put_line(print, &line, err);
}

static hs_status put_node(struct tree_print *print, const struct waiting *at,
                          const struct waiting *rest, struct hs_error *err)
{
    const struct hs_call_node *node = &print->tree->nodes[at->node];
    const struct hs_trace_scale *scale = &print->look->scale;
    struct line line = {
        .words = hs_trace_words(scale, node->all.n_samples),
        .live = hs_trace_words(scale, node->n_live_samples),
        .allocations = hs_trace_allocations(scale, &node->all),
        .own_words = hs_trace_words(scale, node->own.n_samples).value,
        .samples = node->all.n_samples,
        .own_samples = node->own.n_samples,
        .hidden_samples = rest->rest_samples,
        .hidden_children = rest->n_rest,
        .node = at->node,
        .parent = at->node == 0 ? HS_UNKNOWN : node->parent,
        .depth = at->depth,
        .estimates = hs_trace_scale_name(scale),
    };
    HS_TRY(begin_name(print, at->depth, err));
    HS_TRY(hs_call_tree_print(print->tree, &print->look->places, at->node, &print->name, err));
    return put_line(print, &line, err);
}

/* Lets the children wait that are large enough, the largest on top of the stack, and below them the
 * line of the others. */
static hs_status wait_for_children(struct tree_print *print, const struct waiting *at,
                                   const struct waiting *rest, uint64_t n_shown,
                                   struct hs_error *err)
{
    uint32_t child = print->tree->nodes[at->node].first_child;
    if (rest->n_rest != 0 && print->sink->is_table)
        HS_TRY(push(print, *rest, err));
    size_t first = print->n;
    for (uint64_t i = 0; i < n_shown; i++) {
        HS_TRY(push(print, (struct waiting){.node = child, .depth = at->depth + 1}, err));
        child = print->tree->nodes[child].next_sibling;
    }
    for (size_t i = first, j = print->n; i + 1 < j; i++) {
        struct waiting other = print->stack[--j];
        print->stack[j] = print->stack[i];
        print->stack[i] = other;
    }
    return HS_OK;
}

static hs_status visit(struct tree_print *print, struct waiting at, struct hs_error *err)
{
    const struct hs_call_node *node = &print->tree->nodes[at.node];
    struct waiting rest = {.node = at.node,
                           .depth = at.depth + 1,
                           .n_rest = node->n_children,
                           .rest_samples = node->all.n_samples - node->own.n_samples};
    uint64_t most = at.depth < print->max_depth ? print->max_children : 0, n_shown = 0;
    if (at.n_rest != 0)
        return put_rest(print, &at, err);
    for (uint32_t child = node->first_child; child != 0 && n_shown < most; n_shown++) {
        const struct hs_call_node *next = &print->tree->nodes[child];
        if (next->all.n_samples < print->min_samples)
            break;
        rest.n_rest--;
        rest.rest_samples -= next->all.n_samples;
        child = next->next_sibling;
    }
    HS_TRY(put_node(print, &at, &rest, err));
    return wait_for_children(print, &at, &rest, n_shown, err);
}

/* Returns --min-words in samples; in tables half a percent of all without it. */
static uint64_t least_samples(const struct hs_invocation *inv, const struct hs_trace_look *look,
                              const struct hs_call_tree *tree, bool is_table)
{
    if (hs_given(inv, HS_OPT_MIN_WORDS)) {
        double n = (double)hs_tool_min_words(inv, look->info->word_bytes) * look->scale.rate;
        uint64_t whole = n >= 0x1p63 ? UINT64_MAX : (uint64_t)n;
        return whole + ((double)whole < n);
    }
    return is_table ? (tree->nodes[0].all.n_samples * LEAST_PERMILLE + 999) / 1000 : 0;
}

static hs_status put_tree(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct tree_print *print = context;
    print->sink = sink;
    HS_TRY(push(print, (struct waiting){.node = 0}, err));
    while (print->n > 0)
        HS_TRY(visit(print, print->stack[--print->n], err));
    return HS_OK;
}

static hs_status print_tree(struct hs_tool *tool, const struct hs_invocation *inv,
                            const struct hs_trace_look *look, const struct hs_call_tree *tree,
                            struct hs_error *err)
{
    bool is_table = hs_tool_format(inv) == HS_FORMAT_TABLE;
    struct tree_print print = {
        .look = look,
        .tree = tree,
        .max_depth = hs_given(inv, HS_OPT_DEPTH) ? inv->number[HS_OPT_DEPTH]
                     : is_table                  ? DEFAULT_DEPTH
                                                 : UINT64_MAX,
        .max_children =
            is_table && !hs_given(inv, HS_OPT_ROWS) ? DEFAULT_CHILDREN : hs_tool_rows(inv),
        .min_samples = least_samples(inv, look, tree, is_table),
    };
    struct hs_trace_head head = hs_trace_look_head(look, "heapsnap.trace-tree/1");
    const struct hs_list list = {.record = &record, .each = put_tree, .context = &print};
    struct hs_listing listing = {
        .rows = &list,
        .whole = tree->nodes[0].all.n_samples,
        .document = HS_PAIRS(HS_SPLICE(head.pairs), HS_ROWS("nodes", &list)),
    };
    hs_status status = hs_trace_look_list(look, tool, inv, listing, "", err);
    hs_free(print.stack);
    hs_buffer_fini(&print.name);
    return status;
}

static hs_status choose_by(const struct hs_invocation *inv, enum hs_call_tree_by *ret,
                           struct hs_error *err)
{
    *ret = HS_CALLS_BY_FUNCTION;
    if (!hs_given(inv, HS_OPT_BY) || inv->number[HS_OPT_BY] == HS_ROWS_BY_FUNCTION)
        return HS_OK;
    if (inv->number[HS_OPT_BY] == HS_ROWS_BY_SITE || inv->number[HS_OPT_BY] == HS_ROWS_BY_CALLER) {
        *ret = inv->number[HS_OPT_BY] == HS_ROWS_BY_SITE ? HS_CALLS_BY_LINE : HS_CALLS_BY_CALLER;
        return HS_OK;
    }
    (void)hs_fail(err, HS_USAGE, "there is no tree by %s", inv->text[HS_OPT_BY]);
    return hs_hint(err, "--by function (default), site for lines, or caller for the tree upside "
                        "down");
}

hs_status hs_trace_cmd_tree(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_error *err)
{
    enum hs_call_tree_by by;
    HS_TRY(choose_by(inv, &by, err));
    struct hs_trace_look look;
    struct hs_call_tree tree = {0};
    hs_status status = hs_trace_look_open(tool, inv, &look, err);
    if (status == HS_OK)
        status = hs_trace_look_select_groups(tool, &look, err);
    if (status == HS_OK)
        status =
            hs_call_tree_init(&tree, &look.objects, &look.places, by, hs_tool_budget(tool), err);
    if (status == HS_OK)
        status = print_tree(tool, inv, &look, &tree, err);
    hs_call_tree_fini(&tree);
    hs_trace_look_close(&look);
    return status;
}
