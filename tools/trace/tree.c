/* trace tree: the calls that lead to allocations, as a tree. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "look.h"
#include "stats/call_tree.h"
#include "trace_commands.h"

enum { DEFAULT_DEPTH = 24, DEFAULT_CHILDREN = 8, INDENT_LEVELS = 60, LEAST_PERMILLE = 5 };

static const struct hs_column columns[] = {
    {"words", "WORDS", HS_COLUMN_WORDS, 0},
    {"words_error", "+-", HS_COLUMN_WORDS, 0},
    {"percent", "%", HS_COLUMN_PERCENT, 0},
    {"own_words", "OWN", HS_COLUMN_WORDS, 0},
    {"live_words", "LIVE", HS_COLUMN_WORDS, 0},
    {"live_words_error", "LIVE +-", HS_COLUMN_WORDS, HS_COLUMN_DATA_ONLY},
    {"allocations", "ALLOCS", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"allocations_error", "ALLOCS +-", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"samples", "SAMPLES", HS_COLUMN_COUNT, 0},
    {"own_samples", "OWN SAMPLES", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"hidden_samples", "HIDDEN", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"hidden_children", "HIDDEN", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"node", "NODE", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"parent", "PARENT", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"depth", "DEPTH", HS_COLUMN_COUNT, HS_COLUMN_DATA_ONLY},
    {"estimates", "ESTIMATES", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"name", "CALLS", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

/* A node that waits to be printed, or the rest of its parent's children. */
struct waiting {
    uint32_t node, depth;
    uint64_t n_rest, rest_samples; /* above 0: a line "[n others]" below `node` */
};

struct tree_print {
    struct hs_sheet *sheet;
    const struct hs_trace_look *look;
    const struct hs_call_tree *tree;
    uint64_t max_depth, max_children, min_samples;
    bool is_table;
    struct waiting *stack; /* owned */
    size_t n, capacity;
    struct hs_buffer name;
};

static hs_status push(struct tree_print *print, struct waiting item, struct hs_error *err)
{
    HS_TRY(hs_grow((void **)&print->stack, &print->capacity, print->n + 1, sizeof item, err));
    print->stack[print->n++] = item;
    return HS_OK;
}

static hs_status begin_name(struct tree_print *print, uint32_t depth, struct hs_error *err)
{
    size_t indent = print->is_table ? 2 * (depth < INDENT_LEVELS ? depth : INDENT_LEVELS) : 0;
    print->name.n_bytes = 0;
    HS_TRY(hs_buffer_reserve(&print->name, indent, err));
    while (indent-- > 0)
        hs_buffer_put_u8(&print->name, ' ');
    return HS_OK;
}

static hs_status put_name(struct tree_print *print, struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(&print->name, 1, err));
    hs_buffer_put_u8(&print->name, 0);
    hs_sheet_string(print->sheet, (const char *)print->name.bytes);
    return HS_OK;
}

static hs_status put_rest(struct tree_print *print, const struct waiting *at, struct hs_error *err)
{
    char text[48];
    struct hs_trace_estimate words = hs_trace_words(&print->look->scale, at->rest_samples);
    hs_sheet_u64(print->sheet, words.value);
    hs_sheet_u64(print->sheet, words.error);
    hs_sheet_u64(print->sheet, at->rest_samples);
    for (size_t i = 3; i + 1 < N_COLUMNS; i++) {
        if (columns[i].kind == HS_COLUMN_COUNT && strcmp(columns[i].key, "samples") == 0)
            hs_sheet_u64(print->sheet, at->rest_samples);
        else
            hs_sheet_null(print->sheet);
    }
    HS_TRY(begin_name(print, at->depth, err));
    int n = snprintf(text, sizeof text, "[%llu other%s]", (unsigned long long)at->n_rest,
                     at->n_rest == 1 ? "" : "s");
    HS_TRY(hs_buffer_reserve(&print->name, (size_t)n, err));
    hs_buffer_put_bytes(&print->name, text, (size_t)n);
    return put_name(print, err);
}

static hs_status put_node(struct tree_print *print, const struct waiting *at,
                          const struct waiting *rest, struct hs_error *err)
{
    const struct hs_call_node *node = &print->tree->nodes[at->node];
    const struct hs_trace_scale *scale = &print->look->scale;
    struct hs_trace_estimate words = hs_trace_words(scale, node->all.n_samples);
    struct hs_trace_estimate live = hs_trace_words(scale, node->n_live_samples);
    struct hs_trace_estimate allocations = hs_trace_allocations(scale, &node->all);
    struct hs_sheet *sheet = print->sheet;
    hs_sheet_u64(sheet, words.value);
    hs_sheet_u64(sheet, words.error);
    hs_sheet_u64(sheet, node->all.n_samples);
    hs_sheet_u64(sheet, hs_trace_words(scale, node->own.n_samples).value);
    hs_sheet_u64(sheet, live.value);
    hs_sheet_u64(sheet, live.error);
    hs_sheet_u64(sheet, allocations.value);
    hs_sheet_u64(sheet, allocations.error);
    hs_sheet_u64(sheet, node->all.n_samples);
    hs_sheet_u64(sheet, node->own.n_samples);
    hs_sheet_u64(sheet, rest->rest_samples);
    hs_sheet_u64(sheet, rest->n_rest);
    hs_sheet_u64(sheet, at->node);
    if (at->node == 0)
        hs_sheet_null(sheet);
    else
        hs_sheet_u64(sheet, node->parent);
    hs_sheet_u64(sheet, at->depth);
    hs_sheet_string(sheet, hs_trace_scale_name(scale));
    HS_TRY(begin_name(print, at->depth, err));
    HS_TRY(hs_call_tree_print(print->tree, &print->look->places, at->node, &print->name, err));
    return put_name(print, err);
}

/* Lets the children wait that are large enough, the largest on top of the stack, and below them the
 * line of the others. */
static hs_status wait_for_children(struct tree_print *print, const struct waiting *at,
                                   const struct waiting *rest, uint64_t n_shown,
                                   struct hs_error *err)
{
    uint32_t child = print->tree->nodes[at->node].first_child;
    if (rest->n_rest != 0 && print->is_table)
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

/* --min-words in samples; in tables half a percent of all without it. */
static uint64_t least_samples(const struct hs_invocation *inv, const struct hs_trace_look *look,
                              const struct hs_call_tree *tree, bool is_table)
{
    if (hs_given(inv, HS_OPT_MIN_WORDS)) {
        double n = (double)inv->number[HS_OPT_MIN_WORDS] * look->scale.rate;
        uint64_t whole = n >= 0x1p63 ? UINT64_MAX : (uint64_t)n;
        return whole + ((double)whole < n);
    }
    return is_table ? (tree->nodes[0].all.n_samples * LEAST_PERMILLE + 999) / 1000 : 0;
}

static hs_status print_tree(struct hs_tool *tool, const struct hs_invocation *inv,
                            const struct hs_trace_look *look, const struct hs_call_tree *tree,
                            struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, tree->nodes[0].all.n_samples);
    struct hs_sheet sheet;
    bool is_table = options.format == HS_SHEET_TABLE;
    options.no_total = true;
    options.limit = 0; /* -n limits children, not lines */
    options.word_bytes = look->info->word_bytes;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    struct tree_print print = {
        .sheet = &sheet,
        .look = look,
        .tree = tree,
        .max_depth = hs_given(inv, HS_OPT_DEPTH) ? inv->number[HS_OPT_DEPTH]
                     : is_table                  ? DEFAULT_DEPTH
                                                 : UINT64_MAX,
        .max_children =
            is_table && !hs_given(inv, HS_OPT_ROWS) ? DEFAULT_CHILDREN : hs_tool_rows(inv),
        .min_samples = least_samples(inv, look, tree, is_table),
        .is_table = is_table,
    };
    hs_status status = push(&print, (struct waiting){.node = 0}, err);
    while (status == HS_OK && print.n > 0)
        status = visit(&print, print.stack[--print.n], err);
    if (status == HS_OK)
        status = hs_trace_look_write(look, tool, &sheet, options.format, "heapsnap.trace-tree/1",
                                     "nodes", err);
    hs_free(print.stack);
    hs_buffer_fini(&print.name);
    hs_sheet_fini(&sheet);
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
