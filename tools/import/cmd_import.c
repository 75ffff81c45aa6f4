/* import: from other programs' heap dumps to a snapshot on standard output or in a file. */
#include "base/units.h"
#include "commands.h"
#include "import/import.h"

static void policy_rules(const struct hs_invocation *inv, struct hs_import_policy *policy)
{
    if (hs_given(inv, HS_OPT_WEAK))
        policy->weak = (enum hs_import_weak)inv->number[HS_OPT_WEAK];
    if (hs_given(inv, HS_OPT_SHORTCUTS))
        policy->shortcuts = inv->number[HS_OPT_SHORTCUTS] == 1;
    if (hs_given(inv, HS_OPT_WEAKMAP))
        policy->weakmap_both = inv->number[HS_OPT_WEAKMAP] == 1;
    if (hs_given(inv, HS_OPT_PAGE))
        policy->page = (enum hs_import_page)inv->number[HS_OPT_PAGE];
    if (hs_given(inv, HS_OPT_SIZES))
        policy->sizes = (enum hs_import_sizes)inv->number[HS_OPT_SIZES];
    if (hs_given(inv, HS_OPT_THREAD_LOCALS))
        policy->thread_locals = inv->number[HS_OPT_THREAD_LOCALS] == 0;
    if (hs_given(inv, HS_OPT_CLASS_EDGES))
        policy->class_edges = inv->number[HS_OPT_CLASS_EDGES] == 0;
    if (hs_given(inv, HS_OPT_STATICS))
        policy->static_roots = inv->number[HS_OPT_STATICS] == 0;
}

/* A rule that says nothing about such files is a mistake of the user's. */
static hs_status rules_check(const struct hs_invocation *inv, enum hs_import_from from,
                             struct hs_error *err)
{
    static const struct {
        enum hs_option_id id;
        unsigned of; /* bit set of enum hs_import_from */
    } rules[] = {
        {HS_OPT_POLICY, 1 << HS_IMPORT_V8 | 1 << HS_IMPORT_HPROF},
        {HS_OPT_WEAK, 1 << HS_IMPORT_V8 | 1 << HS_IMPORT_HPROF},
        {HS_OPT_SIZES, 1 << HS_IMPORT_V8 | 1 << HS_IMPORT_HPROF},
        {HS_OPT_SHORTCUTS, 1 << HS_IMPORT_V8},
        {HS_OPT_WEAKMAP, 1 << HS_IMPORT_V8},
        {HS_OPT_PAGE, 1 << HS_IMPORT_V8},
        {HS_OPT_THREAD_LOCALS, 1 << HS_IMPORT_HPROF},
        {HS_OPT_CLASS_EDGES, 1 << HS_IMPORT_HPROF},
        {HS_OPT_STATICS, 1 << HS_IMPORT_HPROF},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (hs_given(inv, rules[i].id) && !(rules[i].of >> from & 1))
            return hs_fail(err, HS_USAGE, "--%s says nothing about such a file",
                           hs_options[rules[i].id].name);
    static const unsigned sizes_of[] = {
        [HS_SIZES_OWN] = 1 << HS_IMPORT_V8 | 1 << HS_IMPORT_HPROF,
        [HS_SIZES_FOLDED] = 1 << HS_IMPORT_V8,
        [HS_SIZES_MAT] = 1 << HS_IMPORT_HPROF,
        [HS_SIZES_VISUALVM] = 1 << HS_IMPORT_HPROF,
    };
    if (hs_given(inv, HS_OPT_SIZES) && !(sizes_of[inv->number[HS_OPT_SIZES]] >> from & 1)) {
        (void)hs_fail(err, HS_USAGE, "--sizes '%s' says nothing about such a file",
                      inv->text[HS_OPT_SIZES]);
        return hs_hint(err, "v8: own or folded; hprof: own, mat or visualvm");
    }
    return HS_OK;
}

hs_status hs_cmd_import(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    if (tool->terminal.is_terminal) {
        (void)hs_fail(err, HS_USAGE, "cannot write a snapshot to a terminal");
        return hs_hint(err, "give a file with -o heap.snap");
    }
    enum hs_import_from from = (enum hs_import_from)inv->number[HS_OPT_IMPORT_FROM];
    if (!hs_given(inv, HS_OPT_IMPORT_FROM))
        HS_TRY(hs_import_recognise(inv->arguments[0], &from, err));
    HS_TRY(rules_check(inv, from, err));
    struct hs_import_options options = {
        .from = from,
        .path = inv->arguments[0],
        .tool_version = HS_VERSION,
        .budget = hs_tool_budget(tool),
        .progress = &tool->progress,
    };
    enum hs_import_preset preset = hs_given(inv, HS_OPT_POLICY)
                                       ? (enum hs_import_preset)inv->number[HS_OPT_POLICY]
                                       : hs_import_default(from);
    HS_TRY(hs_import_policy_init(from, preset, &options.policy, err));
    policy_rules(inv, &options.policy);
    struct hs_import_report report = {0};
    if (hs_import(&options, &tool->out, &report, err) != HS_OK)
        return hs_context(err, "cannot import '%s'", options.path);
    HS_TRY(hs_tool_commit(tool, err));
    char bytes[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(report.totals.file_bytes, bytes);
    hs_talk("%lu objects, %lu words, %lu edges, %lu roots; snapshot of %s",
            (unsigned long)(report.totals.n_blocks - report.totals.n_static_blocks),
            (unsigned long)report.totals.heap_words, (unsigned long)report.totals.n_edges,
            (unsigned long)report.n_roots, bytes);
    return HS_OK;
}
