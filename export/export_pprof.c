/* export --to pprof: profile.proto, in gzip, as Go's pprof and continuous profilers read it.
 *
 *   profile    1 sample types | 2 samples | 3 mappings | 4 locations | 5 functions | 6 strings |
 *              9 time | 11 period type | 12 period | 13 comments | 14 default sample type
 *   sample     1 locations, the leaf first | 2 values | 3 labels {1 key, 2 text}
 *   mapping    1 id | 5 file | 6 build id | 7 to 10 has functions, files, lines, inlined frames
 *   location   1 id | 2 mapping | 4 line {1 function, 2 line}
 *   function   1 id | 2 name | 4 file
 *
 * A function's system name stays unset: where it equals the name, pprof takes that for C++ and
 * deletes what looks like template arguments from it. drop_frames and keep_frames stay unset, too:
 * they are patterns that would take frames away. Mappings say that all is named, or pprof would
 * look names up by address. Source: proto/profile.proto and profile/profile.go of google/pprof. */
#include "export/exporter.h"
#include "gzip.h"
#include "proto.h"
#include "trace/trace.h"

enum { MOST_FRAMES = 1024, FLUSH_BYTES = 64 << 10 };
enum { PROFILE_TYPE = 1, PROFILE_SAMPLE, PROFILE_MAPPING, PROFILE_LOCATION, PROFILE_FUNCTION };
enum { PROFILE_STRING = 6, PROFILE_TIME = 9, PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD };
enum { PROFILE_COMMENT = 13, PROFILE_DEFAULT };
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES, SAMPLE_LABEL, LABEL_KEY = 1, LABEL_TEXT };
enum { MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_BUILD_ID, MAPPING_HAS, MAPPING_HAS_LAST = 10 };
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_LINE = 4, LINE_FUNCTION = 1, LINE_LINE };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_FILE = 4 };

/* Strings of our own stand behind those of the tree. */
enum { TEXT_ROOT, TEXT_KIND, TEXT_TYPE, TEXT_TIER, TEXT_SPACE, TEXT_BYTES };
enum { TEXT_HEAP = TEXT_BYTES + 1, TEXT_PROMOTED, TEXT_NO, TEXT_YES, TEXT_HEAPS };
enum { TEXT_TIERS = TEXT_HEAPS + HS_N_TRACE_SOURCES, TEXT_KINDS = TEXT_TIERS + HS_TIER_NONE + 1 };
enum { TEXT_VALUES = TEXT_KINDS + HS_N_ROOT_KINDS };
static const char *const texts[] = {"root",  "kind", "type",     "tier", "space",
                                    "bytes", "heap", "promoted", "no",   "yes"};

struct dump {
    const struct hs_stack_tree *tree;
    struct hs_pen pen;
    struct hs_gzip gzip;
    struct hs_proto proto;
};

static uint64_t text_id(const struct dump *d, unsigned text)
{
    return d->tree->strings.n_strings + 1 + text;
}

/* Returns the text of value k: its type, and with `unit` its unit. */
static uint64_t value_text(const struct dump *d, unsigned k, bool unit)
{
    return text_id(d, TEXT_VALUES + 2 * k + unit);
}

static void flush(struct dump *d)
{
    if (d->proto.status != HS_OK && hs_pen_ok(&d->pen)) {
        d->pen.status = d->proto.status;
        d->pen.error = d->proto.error;
    }
    hs_gzip_write(&d->gzip, d->proto.buffer.bytes, d->proto.buffer.n_bytes);
    d->proto.buffer.n_bytes = 0;
}

static void flush_some(struct dump *d)
{
    if (d->proto.buffer.n_bytes >= FLUSH_BYTES)
        flush(d);
}

static void put_type(struct dump *d, unsigned field, uint64_t type, uint64_t unit)
{
    size_t begun = hs_proto_begin(&d->proto, field);
    hs_proto_number(&d->proto, TYPE_TYPE, type);
    hs_proto_number(&d->proto, TYPE_UNIT, unit);
    hs_proto_end(&d->proto, begun);
}

static void put_label(struct dump *d, unsigned key, uint64_t text)
{
    size_t begun = hs_proto_begin(&d->proto, SAMPLE_LABEL);
    hs_proto_number(&d->proto, LABEL_KEY, text_id(d, key));
    hs_proto_number(&d->proto, LABEL_TEXT, text);
    hs_proto_end(&d->proto, begun);
}

static void put_labels(struct dump *d, uint32_t node)
{
    uint32_t root = node;
    while (d->tree->nodes[root].parent != HS_NO_STACK)
        root = d->tree->nodes[root].parent;
    const struct hs_stack_node *at = &d->tree->nodes[root];
    bool is_variable = at->label != 0;
    put_label(d, TEXT_ROOT, is_variable ? at->label : hs_stack_frame_of(d->tree, root)->name);
    if (is_variable)
        put_label(d, TEXT_KIND, text_id(d, TEXT_KINDS + at->kind));
    if (!d->tree->nodes[node].is_root)
        put_label(d, TEXT_TYPE, hs_stack_frame_of(d->tree, node)->name);
    put_label(d, TEXT_TIER, text_id(d, TEXT_TIERS + d->tree->nodes[root].tier));
}

static void put_part_labels(struct dump *d, const struct hs_stack_sample *part)
{
    put_label(d, TEXT_HEAP, text_id(d, TEXT_HEAPS + part->heap));
    if (part->heap == HS_TRACE_MINOR)
        put_label(d, TEXT_PROMOTED, text_id(d, part->is_promoted ? TEXT_YES : TEXT_NO));
}

/* Puts the values of a node, or of a part of it; NULL: it has none. */
static void put_sample(struct dump *d, uint32_t node, const uint64_t *values,
                       const struct hs_stack_sample *part)
{
    uint32_t frames[MOST_FRAMES];
    size_t n_cut, n = hs_stack_path(d->tree, node, frames, MOST_FRAMES, &n_cut);
    size_t begun = hs_proto_begin(&d->proto, PROFILE_SAMPLE);
    size_t locations = hs_proto_begin(&d->proto, SAMPLE_LOCATIONS);
    while (n-- != 0)
        hs_proto_packed(&d->proto, (uint64_t)frames[n] + 1);
    hs_proto_end(&d->proto, locations);
    size_t numbers = hs_proto_begin(&d->proto, SAMPLE_VALUES);
    for (unsigned k = 0; k < d->tree->n_values; k++)
        hs_proto_packed(&d->proto, values[k]);
    hs_proto_end(&d->proto, numbers);
    if (d->tree->has_roots)
        put_labels(d, node);
    if (part != NULL)
        put_part_labels(d, part);
    hs_proto_end(&d->proto, begun);
    flush_some(d);
}

static bool has_any(const struct dump *d, const uint64_t *values)
{
    uint64_t any = 0;
    for (unsigned k = 0; k < d->tree->n_values; k++)
        any |= values[k];
    return any != 0;
}

static void put_samples(struct dump *d)
{
    const struct hs_stack_tree *tree = d->tree;
    for (size_t i = 0; i < tree->n_samples && hs_pen_ok(&d->pen); i++)
        if (has_any(d, tree->samples[i].values))
            put_sample(d, tree->samples[i].node, tree->samples[i].values, &tree->samples[i]);
    if (tree->n_samples != 0)
        return;
    for (uint32_t i = 0; i < tree->n && hs_pen_ok(&d->pen); i++)
        if (has_any(d, tree->nodes[i].values))
            put_sample(d, i, tree->nodes[i].values, NULL);
}

static void put_mapping(struct dump *d, uint64_t id, uint64_t file, uint64_t build_id)
{
    size_t begun = hs_proto_begin(&d->proto, PROFILE_MAPPING);
    hs_proto_number(&d->proto, MAPPING_ID, id);
    hs_proto_number(&d->proto, MAPPING_FILE, file);
    hs_proto_number(&d->proto, MAPPING_BUILD_ID, build_id);
    for (unsigned has = MAPPING_HAS; has <= MAPPING_HAS_LAST; has++)
        hs_proto_number(&d->proto, has, 1);
    hs_proto_end(&d->proto, begun);
}

/* Writes the mappings of the binaries; without one, of the program by its command line. */
static void put_mappings(struct dump *d)
{
    for (size_t i = 0; i < d->tree->n_binaries; i++)
        put_mapping(d, i + 1, d->tree->binaries[i].path, d->tree->binaries[i].build_id);
    if (d->tree->n_binaries == 0)
        put_mapping(d, 1, d->tree->command, 0);
}

/* A location and a function for each frame. */
static void put_frames(struct dump *d)
{
    for (size_t i = 0; i < d->tree->n_frames && hs_pen_ok(&d->pen); i++) {
        const struct hs_stack_frame *frame = &d->tree->frames[i];
        size_t location = hs_proto_begin(&d->proto, PROFILE_LOCATION);
        hs_proto_number(&d->proto, LOCATION_ID, i + 1);
        hs_proto_number(&d->proto, LOCATION_MAPPING, frame->binary == 0 ? 1 : frame->binary);
        size_t line = hs_proto_begin(&d->proto, LOCATION_LINE);
        hs_proto_number(&d->proto, LINE_FUNCTION, i + 1);
        hs_proto_number(&d->proto, LINE_LINE, frame->line);
        hs_proto_end(&d->proto, line);
        hs_proto_end(&d->proto, location);
        size_t function = hs_proto_begin(&d->proto, PROFILE_FUNCTION);
        hs_proto_number(&d->proto, FUNCTION_ID, i + 1);
        hs_proto_number(&d->proto, FUNCTION_NAME, frame->name);
        hs_proto_number(&d->proto, FUNCTION_FILE, frame->file);
        hs_proto_end(&d->proto, function);
        flush_some(d);
    }
}

static void put_strings(struct dump *d)
{
    for (hs_str i = 0; i <= d->tree->strings.n_strings && hs_pen_ok(&d->pen); i++) {
        hs_proto_name(&d->proto, PROFILE_STRING, hs_stack_string(d->tree, i));
        flush_some(d);
    }
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        hs_proto_name(&d->proto, PROFILE_STRING, texts[i]);
    for (unsigned i = 0; i < HS_N_TRACE_SOURCES; i++)
        hs_proto_name(&d->proto, PROFILE_STRING, hs_trace_source_name(i));
    for (unsigned i = 0; i <= HS_TIER_NONE; i++)
        hs_proto_name(&d->proto, PROFILE_STRING, i == HS_TIER_NONE ? "none" : hs_tier_name(i));
    for (unsigned i = 0; i < HS_N_ROOT_KINDS; i++)
        hs_proto_name(&d->proto, PROFILE_STRING, hs_root_kind_name(i));
    for (unsigned k = 0; k < d->tree->n_values; k++) {
        hs_proto_name(&d->proto, PROFILE_STRING, d->tree->types[k].type);
        hs_proto_name(&d->proto, PROFILE_STRING, d->tree->types[k].unit);
    }
}

static void put_all(struct dump *d)
{
    for (unsigned k = 0; k < d->tree->n_values; k++)
        put_type(d, PROFILE_TYPE, value_text(d, k, false), value_text(d, k, true));
    put_mappings(d);
    put_samples(d);
    put_frames(d);
    put_strings(d);
    hs_proto_number(&d->proto, PROFILE_TIME, d->tree->time_ns);
    put_type(d, PROFILE_PERIOD_TYPE, text_id(d, TEXT_SPACE), text_id(d, TEXT_BYTES));
    hs_proto_number(&d->proto, PROFILE_PERIOD, 1);
    hs_proto_number(&d->proto, PROFILE_COMMENT, d->tree->comment);
    hs_proto_number(&d->proto, PROFILE_DEFAULT, value_text(d, d->tree->n_values - 1, false));
    flush(d);
}

static hs_status write_pprof(const struct hs_stack_tree *tree,
                             const struct hs_export_target *target, struct hs_error *err)
{
    struct dump d = {.tree = tree, .pen = hs_pen_of(target->out), .proto.error = HS_ERROR_INIT};
    _Static_assert(sizeof texts / sizeof *texts == TEXT_HEAPS, "heaps stand behind these");
    hs_gzip_open(&d.gzip, &d.pen);
    put_all(&d);
    hs_gzip_close(&d.gzip);
    hs_proto_fini(&d.proto);
    return hs_pen_finish(&d.pen, HS_OK, err);
}

const struct hs_exporter hs_exporter_pprof = {
    .needs = HS_VIEW_INDEX,
    .is_binary = true,
    .takes_samples = true,
    .write_stacks = write_pprof,
};
