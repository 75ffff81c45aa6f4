/* export --to folded: a line for each stack, for flamegraph.pl, inferno and whatever else draws
 * flame graphs.
 *
 *     outermost;...;innermost BYTES
 *
 * A semicolon in a name is written as \x3b. */
#include <string.h>

#include "export/exporter.h"
#include "pen.h"

enum { MOST_FRAMES = 1024 };

static void put_name(struct hs_pen *pen, const char *name)
{
    for (const char *semicolon; (semicolon = strchr(name, ';')) != NULL; name = semicolon + 1) {
        hs_pen_clean_n(pen, name, (size_t)(semicolon - name), HS_TEXT_TERMINAL);
        hs_pen_text(pen, "\\x3b");
    }
    hs_pen_clean(pen, name, HS_TEXT_TERMINAL);
}

static hs_status write_folded(const struct hs_stack_tree *tree,
                              const struct hs_export_target *target, struct hs_error *err)
{
    struct hs_pen pen = hs_pen_of(target->out);
    uint32_t frames[MOST_FRAMES];
    size_t n_cut;
    for (uint32_t i = 0; i < tree->n && hs_pen_ok(&pen); i++) {
        uint64_t value = tree->nodes[i].values[tree->shown];
        if (value == 0)
            continue;
        size_t n = hs_stack_path(tree, i, frames, MOST_FRAMES, &n_cut);
        if (n_cut != 0)
            hs_pen_text(&pen, "[cut];");
        for (size_t k = 0; k < n; k++) {
            put_name(&pen, hs_stack_string(tree, tree->frames[frames[k]].name));
            hs_pen_byte(&pen, k + 1 < n ? ';' : ' ');
        }
        hs_pen_number(&pen, value);
        hs_pen_byte(&pen, '\n');
    }
    return hs_pen_finish(&pen, HS_OK, err);
}

const struct hs_exporter hs_exporter_folded = {
    .needs = HS_VIEW_INDEX,
    .write_stacks = write_folded,
};
