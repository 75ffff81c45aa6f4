/* trace export: where memory was allocated, as stacks for other programs. */
#include <string.h>

#include "export/exporters.h"
#include "export/trace_stacks.h"
#include "look.h"
#include "trace_commands.h"

static hs_status choose(const struct hs_tool *tool, const struct hs_invocation *inv,
                        const struct hs_exporter **ret, struct hs_error *err)
{
    if (!hs_given(inv, HS_OPT_EXPORT_TO)) {
        (void)hs_fail(err, HS_USAGE, "'trace export' needs --to FORMAT");
        return hs_hint(err, "heapsnap trace export %s --to pprof -o FILE", inv->arguments[1]);
    }
    const char *name = hs_exporter_names[inv->number[HS_OPT_EXPORT_TO]];
    *ret = hs_exporters[inv->number[HS_OPT_EXPORT_TO]];
    if ((*ret)->write_stacks == NULL) {
        (void)hs_fail(err, HS_USAGE, "a trace has calls and no graph to export to %s", name);
        return hs_hint(err, "--to folded, pprof, speedscope, heaptrack, callgrind or ncdu");
    }
    if (!(*ret)->is_binary || !tool->terminal.is_terminal)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "cannot write %s to a terminal", name);
    return hs_hint(err, "heapsnap trace export %s --to %s -o FILE", inv->arguments[1], name);
}

static hs_status write_look(struct hs_tool *tool, struct hs_trace_look *look,
                            const struct hs_exporter *exporter, struct hs_error *err)
{
    struct hs_stack_tree tree = {0};
    const struct hs_trace_stacks trace = {
        .objects = &look->objects,
        .places = &look->places,
        .scale = &look->scale,
        .executable = look->info->executable,
        .word_bytes = look->info->word_bytes,
        .begun_ns = look->info->begun_us * 1000,
        .with_samples = exporter->takes_samples,
        .budget = hs_tool_budget(tool),
    };
    hs_status status = hs_stack_tree_of_trace(&trace, &tree, err);
    if (status == HS_OK)
        status = exporter->write_stacks(&tree, &(struct hs_export_target){.out = &tool->out}, err);
    hs_stack_tree_fini(&tree);
    return status;
}

hs_status hs_trace_cmd_export(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_error *err)
{
    const struct hs_exporter *exporter = NULL;
    struct hs_trace_look look;
    HS_TRY(choose(tool, inv, &exporter, err));
    hs_status status = hs_trace_look_open(tool, inv, &look, err);
    if (status == HS_OK)
        status = hs_trace_look_select_groups(tool, &look, err);
    if (status == HS_OK)
        status = write_look(tool, &look, exporter, err);
    hs_trace_look_close(&look);
    return status;
}
