/* export --to speedscope: a file for speedscope.app, with several profiles of the same frames: all
 * of a snapshot and each kind of root, or what a trace allocated and what of it is never freed.
 * Source: src/lib/file-format-spec.ts of speedscope. */
#include "export/exporter.h"
#include "pen.h"

enum { MOST_FRAMES = 1024, ALL_KINDS = HS_N_ROOT_KINDS };

struct profile {
    const struct hs_stack_tree *tree;
    const char *name;
    unsigned value; /* that is the weight */
    unsigned kind;  /* of the roots; ALL_KINDS */
};

static bool is_of(const struct profile *profile, uint32_t node)
{
    const struct hs_stack_node *of = &profile->tree->nodes[node];
    bool is_kind =
        profile->kind == ALL_KINDS || (of->kind == profile->kind && of->tier != HS_TIER_NONE);
    return is_kind && of->values[profile->value] != 0;
}

static void put_frames(struct hs_pen *pen, const struct hs_stack_tree *tree)
{
    for (size_t i = 0; i < tree->n_frames && hs_pen_ok(pen); i++) {
        const struct hs_stack_frame *frame = &tree->frames[i];
        hs_pen_text(pen, i == 0 ? "{\"name\":" : ",\n{\"name\":");
        hs_pen_json(pen, hs_stack_string(tree, frame->name));
        if (frame->file != 0) {
            hs_pen_text(pen, ",\"file\":");
            hs_pen_json(pen, hs_stack_string(tree, frame->file));
        }
        if (frame->line != 0) {
            hs_pen_text(pen, ",\"line\":");
            hs_pen_number(pen, frame->line);
        }
        hs_pen_byte(pen, '}');
    }
}

static void put_samples(struct hs_pen *pen, const struct profile *profile)
{
    uint32_t frames[MOST_FRAMES];
    size_t n_cut;
    bool is_first = true;
    for (uint32_t i = 0; i < profile->tree->n && hs_pen_ok(pen); i++) {
        if (!is_of(profile, i))
            continue;
        size_t n = hs_stack_path(profile->tree, i, frames, MOST_FRAMES, &n_cut);
        hs_pen_text(pen, is_first ? "[" : ",\n[");
        for (size_t k = 0; k < n; k++) {
            if (k != 0)
                hs_pen_byte(pen, ',');
            hs_pen_number(pen, frames[k]);
        }
        hs_pen_byte(pen, ']');
        is_first = false;
    }
}

static uint64_t put_weights(struct hs_pen *pen, const struct profile *profile)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < profile->tree->n && hs_pen_ok(pen); i++) {
        if (!is_of(profile, i))
            continue;
        if (sum != 0)
            hs_pen_byte(pen, ',');
        hs_pen_number(pen, profile->tree->nodes[i].values[profile->value]);
        sum += profile->tree->nodes[i].values[profile->value];
    }
    return sum;
}

static void put_profile(struct hs_pen *pen, const struct profile *profile)
{
    hs_pen_text(pen, "{\"type\":\"sampled\",\"name\":");
    hs_pen_json(pen, profile->name);
    hs_pen_text(pen, ",\"unit\":\"bytes\",\"startValue\":0,\"samples\":[");
    put_samples(pen, profile);
    hs_pen_text(pen, "],\n\"weights\":[");
    uint64_t sum = put_weights(pen, profile);
    hs_pen_text(pen, "],\"endValue\":");
    hs_pen_number(pen, sum);
    hs_pen_byte(pen, '}');
}

static void put_kinds(struct hs_pen *pen, const struct hs_stack_tree *tree)
{
    for (unsigned kind = 0; kind < HS_N_ROOT_KINDS; kind++) {
        struct profile profile = {tree, hs_root_group_name(kind), tree->shown, kind};
        bool has_any = false;
        for (uint32_t i = 0; i < tree->n && !has_any; i++)
            has_any = is_of(&profile, i);
        if (!has_any)
            continue;
        hs_pen_text(pen, ",\n");
        put_profile(pen, &profile);
    }
}

static hs_status write_speedscope(const struct hs_stack_tree *tree,
                                  const struct hs_export_target *target, struct hs_error *err)
{
    struct hs_pen pen = hs_pen_of(target->out);
    hs_pen_text(&pen, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
                      "\"exporter\":\"heapsnap\",\"name\":");
    hs_pen_json(&pen, hs_stack_string(tree, tree->command));
    hs_pen_text(&pen, ",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[");
    put_frames(&pen, tree);
    hs_pen_text(&pen, "]},\n\"profiles\":[");
    if (tree->has_roots) {
        put_profile(&pen, &(struct profile){tree, "all roots", tree->shown, ALL_KINDS});
        put_kinds(&pen, tree);
    }
    for (unsigned value = 1; value < tree->n_values && !tree->has_roots; value += 2) {
        if (value != 1)
            hs_pen_text(&pen, ",\n");
        put_profile(&pen, &(struct profile){tree, tree->types[value].type, value, ALL_KINDS});
    }
    hs_pen_text(&pen, "]}\n");
    return hs_pen_finish(&pen, HS_OK, err);
}

const struct hs_exporter hs_exporter_speedscope = {
    .needs = HS_VIEW_INDEX,
    .write_stacks = write_speedscope,
};
