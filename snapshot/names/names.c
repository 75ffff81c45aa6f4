#include "names/names.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/budget.h"
#include "names_private.h"

/* Gives all strings of the snapshot a number in the new one. */
static hs_status names_strings(struct names *names, struct hs_error *err)
{
    uint64_t n = hs_snap_totals(names->snap)->n_strings;

    HS_TRY(HS_ALLOC(&names->strings, n + 1, err));
    for (uint64_t i = 1; i <= n; i++)
        HS_TRY(hs_strtab_add(&names->dump.strings, hs_snap_string(names->snap, (hs_str)i),
                             &names->strings[i], err));
    return HS_OK;
}

static hs_status names_run(struct names *names, struct hs_out *out, struct hs_error *err)
{
    HS_TRY(hs_snap_open(names->options->snapshot, 0, &names->snap, err));
    if (hs_snap_format_version(names->snap) < 2) {
        (void)hs_fail(err, HS_FORMAT, "a snapshot of version 1 does not say where its roots are");
        return hs_hint(err, "dump the process again");
    }
    HS_TRY(names_strings(names, err));
    HS_TRY(hs_names_find_files(names, err));
    if (names->report->n_found == 0 && !names->options->is_always)
        return HS_OK;
    HS_TRY(hs_names_call_objects(names, err));
    HS_TRY(hs_later_new(&names->dump, &names->later, err));
    HS_TRY(hs_names_make_tree(names, err));
    HS_TRY(hs_names_flow(names, err));
    return hs_names_copy(names, out, err);
}

static void names_fini(struct names *names)
{
    hs_names_flow_fini(names);
    hs_later_free(names->later);
    hs_roots_fini(&names->roots);
    hs_objects_close(&names->dump.objects);
    hs_findings_fini(&names->dump.findings);
    hs_strtab_fini(&names->dump.strings);
    hs_free(names->seeds);
    hs_free(names->tree);
    hs_free(names->strings);
    hs_free(names->is_found);
    hs_snap_close(names->snap);
}

hs_status hs_names_add(const struct hs_names_options *options, struct hs_out *out,
                       struct hs_names_report *ret, struct hs_error *err)
{
    struct names names = {
        .options = options,
        .report = ret,
        .dump_options = {.rules = options->rules, .budget = options->budget},
    };

    *ret = (struct hs_names_report){0};
    names.dump.options = &names.dump_options;
    names.dump.findings.strings = &names.dump.strings;
    hs_status status = names_run(&names, out, err);
    names_fini(&names);
    return status;
}
