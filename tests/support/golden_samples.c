/* links: hs_format */
/* The golden file of samples: three samplers, one id twice, two sites; and it with one thing wrong.
 */
#include <math.h>

#include "golden_forge.h"

enum { N_SAMPLERS = 3, N_SAMPLES = 4, N_FRAMES = 3 };
/* Where a column of samplers begins, in bytes a sampler. */
enum { KIND, PERIOD, BEGUN = PERIOD + 8, LOST, TRACE, SAMPLER_BYTES };

void hs_golden_samples(struct hs_graph_builder *b)
{
    static struct hs_sampler samplers[N_SAMPLERS];

    samplers[0] = (struct hs_sampler){.kind = HS_SAMPLER_MEMPROF, .period_words = 10000};
    samplers[1] = (struct hs_sampler){.kind = HS_SAMPLER_JEMALLOC, .period_words = 65536};
    samplers[2] = (struct hs_sampler){
        .kind = HS_SAMPLER_RECORD, .period_words = 0.5, .begun_ns = 100, .n_lost = 3};
    hs_golden_string(b, "server.ctf", &samplers[2].trace);
    b->facts.samplers = samplers;
    b->facts.n_samplers = N_SAMPLERS;
    b->facts.taken_ns = UINT64_C(1700000001000000000);
    b->facts.started_ns = UINT64_C(1700000000120000000);
    uint32_t first = hs_graph_builder_blocks(b, 3, 2);
    hs_graph_builder_sample(b, 5, first);
    hs_graph_builder_sample(b, 7, first);
    hs_graph_builder_sample(b, 7, first + 1);
    hs_graph_builder_sample(b, 9, HS_GRAPH_BUILDER_NOWHERE);
    b->samples[0].state = HS_SAMPLE_PROMOTED;
    b->samples[1].sampler = 1;
    b->samples[1].site = 1;
    b->samples[2].sampler = 2;
    b->samples[2].site = 0;
    b->samples[2].n_samples = 2;
    b->samples[3].sampler = 1;
    b->samples[3].site = 1;
    hs_graph_builder_frame(b, 0, "node_new", "server.c", 12);
    hs_graph_builder_frame(b, 0, "main", "server.c", 40);
    hs_graph_builder_frame(b, 1, NULL, NULL, 0);
    (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "demo", "server.c", "all", first);
}

/* ---- with one thing wrong */

static void forge_sampler(struct hs_forge *f, size_t column, size_t row, uint8_t value)
{
    struct hs_forge_section *meta = hs_forge_section(f, HS_SECTION_META, 0);
    size_t width = column == PERIOD ? 8 : 1;
    size_t begin = meta->raw.n_bytes - (size_t)N_SAMPLERS * SAMPLER_BYTES;
    hs_forge_set_byte(meta, begin + N_SAMPLERS * column + width * row + width - 1, value);
}
static void forge_period(struct hs_forge *f, double period)
{
    struct hs_forge_section *meta = hs_forge_section(f, HS_SECTION_META, 0);
    size_t begin = meta->raw.n_bytes - (size_t)N_SAMPLERS * SAMPLER_BYTES;
    hs_forge_splice(meta, begin + N_SAMPLERS * PERIOD + sizeof period, sizeof period, &period,
                    sizeof period);
}
static void forge_kind(struct hs_forge *f)
{
    forge_sampler(f, KIND, 1, HS_N_SAMPLER_KINDS);
}
static void forge_period_nan(struct hs_forge *f)
{
    forge_period(f, NAN);
}
static void forge_period_infinite(struct hs_forge *f)
{
    forge_period(f, INFINITY);
}
static void forge_period_negative(struct hs_forge *f)
{
    forge_period(f, -1);
}
static void forge_trace(struct hs_forge *f)
{
    struct hs_forge_section *meta = hs_forge_section(f, HS_SECTION_META, 0);
    hs_forge_set_byte(meta, meta->raw.n_bytes - 1, 120);
}
static void forge_sample(struct hs_forge *f, size_t column, size_t row, uint8_t value)
{
    hs_golden_set_cell(f, HS_SECTION_SAMPLES, N_SAMPLES, column, row, value);
}
static void forge_sample_sampler(struct hs_forge *f)
{
    forge_sample(f, 5, 3, N_SAMPLERS);
}
static void forge_sample_site(struct hs_forge *f)
{
    forge_sample(f, 6, 3, 2 + 1);
}
static void forge_sample_state(struct hs_forge *f)
{
    forge_sample(f, 4, 0, HS_N_SAMPLE_STATES);
}
static void forge_sample_order(struct hs_forge *f)
{
    forge_sample(f, 0, 1, 1); /* 5 - 1 behind 5 */
}
static void forge_sampler_order(struct hs_forge *f)
{
    forge_sample(f, 5, 1, 2);
    forge_sample(f, 5, 2, 1); /* of id 7: sampler 2, then 1 */
}
static void forge_frame(struct hs_forge *f, size_t column, size_t row, uint8_t value)
{
    size_t begin = 1 + 7 * N_SAMPLES + 1;
    hs_golden_set(f, HS_SECTION_SAMPLES, begin + N_FRAMES * column + row, value);
}
static void forge_site_gap(struct hs_forge *f)
{
    forge_frame(f, 0, 2, 4);
}
static void forge_site_first(struct hs_forge *f)
{
    forge_frame(f, 0, 0, 2);
}
static void forge_site_back(struct hs_forge *f)
{
    forge_frame(f, 0, 1, 2);
    forge_frame(f, 0, 2, 1); /* 0 1 0 */
}
static void forge_frame_function(struct hs_forge *f)
{
    forge_frame(f, 1, 0, 120);
}
static void forge_frame_file(struct hs_forge *f)
{
    forge_frame(f, 2, 1, 120);
}
static void forge_frame_module(struct hs_forge *f)
{
    forge_frame(f, 3, 2, 120);
}
static void forge_frame_count(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_SAMPLES, 1 + 7 * N_SAMPLES, 0x7f);
}
static void forge_frame_line(struct hs_forge *f)
{
    forge_frame(f, 4, 0, 1); /* -1 */
}

const struct hs_golden_forged hs_golden_forged_samples[HS_N_GOLDEN_FORGED_SAMPLES] = {
    {"sampler_kind", forge_kind, OPEN, "over its limit 3", false},
    {"sampler_nan", forge_period_nan, OPEN, "sampler 1 has no period that can be", false},
    {"sampler_infinite", forge_period_infinite, OPEN, "sampler 1 has no period", false},
    {"sampler_negative", forge_period_negative, OPEN, "sampler 1 has no period", false},
    {"sampler_trace", forge_trace, OPEN, "over its limit", false},
    {"sample_sampler", forge_sample_sampler, OPEN, "sample 3 is of sampler 3 of 3", false},
    {"sample_site", forge_sample_site, OPEN, "sample 3 is of site 2 of 2", false},
    {"sample_state", forge_sample_state, OPEN, "over its limit 1", false},
    {"sample_order", forge_sample_order, OPEN, "sample 1 is out of order", false},
    {"sample_samplers", forge_sampler_order, OPEN, "sample 2 is out of order", false},
    {"site_gap", forge_site_gap, OPEN, "frame 2 is of site 2, where 1 comes next", false},
    {"site_first", forge_site_first, OPEN, "frame 0 is of site 1, where 0 comes next", false},
    {"site_back", forge_site_back, OPEN, "frame 2 is of site 0, where 2 comes next", false},
    {"frame_function", forge_frame_function, OPEN, "frame 0 is named by strings", false},
    {"frame_file", forge_frame_file, OPEN, "frame 1 is named by strings", false},
    {"frame_module", forge_frame_module, OPEN, "frame 2 is named by strings", false},
    {"frame_count", forge_frame_count, OPEN, "cannot stand in", false},
    {"frame_line", forge_frame_line, OPEN, "over its limit", false},
};
