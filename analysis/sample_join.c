/* Samples, sites and traces put together. */
#include "analysis/sample_join.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "trace_agree.h"

/* The most by which clocks may disagree: a sample that was collected longer than that before the
 * dump and is yet there is a mismatch. */
#define CLOCKS_NS UINT64_C(1000000000)

const char *hs_sample_join_case_name(unsigned join_case)
{
    static const char *const names[HS_N_SAMPLE_JOIN_CASES] = {
        "no trace given", "in both", "process only", "lost", "mismatch",
    };
    return join_case < HS_N_SAMPLE_JOIN_CASES ? names[join_case] : NULL;
}

const char *hs_sample_join_case_text(unsigned join_case)
{
    static const char *const texts[HS_N_SAMPLE_JOIN_CASES] = {
        "no trace given",
        "in the trace too",
        "allocated after the trace's last flush: no backtrace yet",
        "not in the trace, which goes on behind it",
        "the trace disagrees about it",
    };
    return join_case < HS_N_SAMPLE_JOIN_CASES ? texts[join_case] : NULL;
}

static bool can_be_joined(const struct hs_sample_join *join, size_t at)
{
    uint32_t sampler = hs_snap_sample(join->view->snap, at)->sampler;
    return join->traced_sampler != UINT32_MAX &&
           (sampler == join->traced_sampler ||
            hs_trace_is_shared(&join->samplers[sampler], &join->samplers[join->traced_sampler]));
}

const struct hs_traced *hs_sample_join_traced(const struct hs_sample_join *join, size_t sample_at)
{
    if (!can_be_joined(join, sample_at))
        return NULL;
    return hs_trace_join_find(&join->trace, hs_snap_sample(join->view->snap, sample_at)->id);
}

size_t hs_sample_join_at(const struct hs_sample_join *join, const struct hs_sample *sample)
{
    return (size_t)(sample - hs_snap_sample(join->view->snap, 0));
}

/* ---- joining */

/* A custom block of OCaml has the words of its memory outside of the heap, which its maker made up.
 * A word for the header is added where the sampler counts it. */
static bool is_same_size(const struct hs_sample_join *join, const struct hs_traced *traced,
                         const struct hs_sample *sample)
{
    bool is_memprof = hs_sample_join_sampler(join, sample)->kind == HS_SAMPLER_MEMPROF;
    if (is_memprof && traced->source == HS_TRACE_EXTERNAL)
        return true;
    return sample->words == traced->words + (is_memprof ? 1 : 0);
}

static bool is_dead_too_early(const struct hs_sample_join *join, const struct hs_traced *traced)
{
    uint64_t taken_ns = join->view->facts->taken_ns;
    const struct hs_trace_info *info = hs_trace_info(join->trace.trace);
    if (taken_ns < CLOCKS_NS || !traced->is_collected)
        return false;
    uint64_t taken_us = (taken_ns - CLOCKS_NS) / 1000;
    return taken_us > info->begun_us && traced->collected_us < taken_us - info->begun_us;
}

static enum hs_sample_join_case case_of(const struct hs_sample_join *join,
                                        const struct hs_sample *sample,
                                        const struct hs_traced *traced)
{
    if (!traced->is_allocated) {
        bool is_behind = join->trace.has_domains || sample->id > join->trace.last_id ||
                         join->trace.n_allocated == 0;
        return is_behind ? HS_SAMPLE_JOIN_UNFLUSHED : HS_SAMPLE_JOIN_LOST;
    }
    bool agrees = traced->n_samples == sample->n_samples && is_same_size(join, traced, sample) &&
                  !is_dead_too_early(join, traced);
    return agrees ? HS_SAMPLE_JOIN_BOTH : HS_SAMPLE_JOIN_MISMATCH;
}

static void join_sample(struct hs_sample_join *join, size_t at)
{
    const struct hs_sample *sample = hs_snap_sample(join->view->snap, at);
    const struct hs_traced *traced = hs_sample_join_traced(join, at);
    join->sites[at] = sample->site;
    if (traced != NULL) {
        join->cases[at] = (uint8_t)case_of(join, sample, traced);
        if (join->cases[at] == HS_SAMPLE_JOIN_BOTH && traced->stack != HS_NO_STACK) {
            size_t n_codes;
            (void)hs_trace_join_stack(&join->trace, traced->stack, &n_codes);
            if (n_codes != 0)
                join->sites[at] = join->n_snap_sites + traced->stack;
        }
    }
    join->n_in_case[join->cases[at]]++;
}

/* Fails when one sample in ten disagrees: the ids are those of another run. */
static hs_status check_mismatches(const struct hs_sample_join *join, struct hs_error *err)
{
    uint64_t n_bad = join->n_in_case[HS_SAMPLE_JOIN_MISMATCH];
    uint64_t n_known = n_bad + join->n_in_case[HS_SAMPLE_JOIN_BOTH];
    if (n_bad * 10 <= n_known)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE,
                  "the trace is of another run: %lu of the %lu samples that both know differ",
                  (unsigned long)n_bad, (unsigned long)n_known);
    return hs_hint(err, "give the trace that the dumped process wrote itself, in the same run");
}

/* Does the trace have allocations of a sampler that the snapshot has not? The recorder's of OCaml's
 * heap alone is in a snapshot of that heap. */
static bool lacks_sampler(const struct hs_sample_join *join)
{
    const struct hs_snap_facts *facts = join->view->facts;
    bool is_recorders = false, has_malloc = false;
    for (size_t i = 0; i < facts->n_samplers; i++) {
        is_recorders |=
            facts->samplers[i].kind == HS_SAMPLER_MEMPROF && facts->samplers[i].begun_ns != 0;
        has_malloc |= facts->samplers[i].kind == HS_SAMPLER_RECORD;
    }
    return is_recorders && !has_malloc;
}

/* Counts what is alive in the trace and gone from the process: not where the snapshot lacks one of
 * the samplers, of which nobody can say what is gone. */
static void count_gone(struct hs_sample_join *join)
{
    if (lacks_sampler(join))
        return;
    uint64_t n_live = 0;
    for (size_t i = 0; i < join->view->totals->n_samples; i++) {
        const struct hs_traced *traced = hs_sample_join_traced(join, i);
        n_live += traced != NULL && traced->is_allocated && !traced->is_collected;
    }
    uint64_t n_dead = join->trace.n_collected + n_live;
    join->n_gone = join->trace.n_allocated > n_dead ? join->trace.n_allocated - n_dead : 0;
}

/* The ids that the trace is asked for: the sampler's, which ascend, and the one extra. */
static hs_status wanted_ids(const struct hs_sample_join *join, const uint64_t *id, uint64_t **ret,
                            size_t *ret_n, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    size_t n = 0;
    bool has_extra = id == NULL;
    HS_TRY(HS_ALLOC(ret, view->totals->n_samples + 1, err));
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        uint64_t known = hs_snap_sample(view->snap, i)->id;
        if (!can_be_joined(join, i))
            continue;
        if (!has_extra && *id <= known) {
            if (*id < known)
                (*ret)[n++] = *id;
            has_extra = true;
        }
        (*ret)[n++] = known;
    }
    if (!has_extra)
        (*ret)[n++] = *id;
    *ret_n = n;
    return HS_OK;
}

static void say_unknown(const struct hs_sample_join *join, const char *unknown)
{
    const struct hs_session *session = &join->view->session;
    char line[1024];
    (void)snprintf(line, sizeof line, "'%s': %s", join->path, unknown);
    if (session->say != NULL)
        session->say(session->context, line);
}

static hs_status read_trace(struct hs_sample_join *join, const uint64_t *id, struct hs_error *err)
{
    const struct hs_trace_info *info = hs_trace_info(join->trace.trace);
    hs_auto_free uint64_t *ids = NULL;
    const char *unknown;
    size_t n;
    HS_TRY(hs_trace_agree(info, join->view->snap, &unknown, err));
    HS_TRY(hs_trace_sampler(join->path, info, join->view->snap, &join->traced_sampler, err));
    if (unknown != NULL)
        say_unknown(join, unknown);
    HS_TRY(wanted_ids(join, id, &ids, &n, err));
    if (hs_trace_join_read(&join->trace, ids, n, join->view->session.progress, err) != HS_OK)
        return hs_context(err, "cannot read the trace '%s'", join->path);
    if (join->traced_sampler != UINT32_MAX)
        join->samplers[join->traced_sampler].period_words = 1 / info->samples_per_word;
    return HS_OK;
}

static hs_status join_all(struct hs_sample_join *join, const uint64_t *id, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    size_t n = view->totals->n_samples, n_samplers = view->facts->n_samplers;
    HS_TRY(hs_sample_join_reserve(join, sizeof *join->cases + sizeof *join->sites, err));
    HS_TRY(HS_ALLOC(&join->samplers, n_samplers, err));
    HS_TRY(HS_ALLOC(&join->cases, n, err));
    HS_TRY(HS_ALLOC(&join->sites, n, err));
    if (n_samplers != 0)
        memcpy(join->samplers, view->facts->samplers, n_samplers * sizeof *join->samplers);
    if (join->path != NULL) {
        HS_TRY(hs_trace_join_open(join->path, view->session.budget, &join->trace, err));
        if (read_trace(join, id, err) != HS_OK)
            return hs_context(err, "cannot join '%s' with '%s'", join->path, view->path);
    }
    join->n_snap_sites = hs_snap_n_sites(view->snap);
    if (join->trace.n_stacks >= UINT32_MAX - join->n_snap_sites)
        return hs_fail(err, HS_LIMIT, "%zu backtraces are too many", join->trace.n_stacks);
    join->n_sites = join->n_snap_sites + (uint32_t)join->trace.n_stacks;
    join->is_weighted = true;
    for (size_t i = 0; i < n; i++) {
        join_sample(join, i);
        join->has_several |=
            hs_snap_sample(view->snap, i)->sampler != hs_snap_sample(view->snap, 0)->sampler;
        join->is_weighted &=
            hs_sample_join_sampler(join, hs_snap_sample(view->snap, i))->period_words > 0;
    }
    if (check_mismatches(join, err) != HS_OK)
        return hs_context(err, "cannot join '%s' with '%s'", join->path, view->path);
    count_gone(join);
    return HS_OK;
}

hs_status hs_sample_join_open(struct hs_view *view, const char *path, const uint64_t *id,
                              struct hs_sample_join *ret, struct hs_error *err)
{
    struct hs_sample_join join = {.view = view, .path = path, .traced_sampler = UINT32_MAX};
    hs_status status = join_all(&join, id, err);
    if (status == HS_OK)
        *ret = join;
    else
        hs_sample_join_close(&join);
    return status;
}

hs_status hs_sample_join_reserve(struct hs_sample_join *join, uint64_t n_bytes,
                                 struct hs_error *err)
{
    struct hs_budget *budget = join->view->session.budget;
    n_bytes *= join->view->totals->n_samples;
    HS_TRY(hs_budget_reserve(budget, n_bytes, "the samples", err));
    join->reserved_bytes += n_bytes;
    return HS_OK;
}

void hs_sample_join_close(struct hs_sample_join *join)
{
    if (join->view != NULL)
        hs_budget_release(join->view->session.budget, join->reserved_bytes);
    hs_trace_join_close(&join->trace);
    hs_free(join->samplers);
    hs_free(join->cases);
    hs_free(join->sites);
    hs_free(join->frames);
    hs_free(join->places);
    hs_strtab_fini(&join->place_texts);
    *join = (struct hs_sample_join){0};
}

/* ---- sites */

static hs_status add_frame(struct hs_sample_join *join, size_t at, const struct hs_frame *frame,
                           struct hs_error *err)
{
    HS_TRY(HS_GROW(&join->frames, &join->frames_capacity, at + 1, err));
    join->frames[at] = *frame;
    return HS_OK;
}

static hs_status frames_of_snapshot(struct hs_sample_join *join, uint32_t site, size_t *ret_n,
                                    struct hs_error *err)
{
    const struct hs_view *view = join->view;
    const struct hs_site_frame *frames = hs_snap_site(view->snap, site, ret_n);
    for (size_t i = 0; i < *ret_n; i++) {
        struct hs_frame frame = {
            .function = hs_view_string(view, frames[i].function),
            .file = hs_view_string(view, frames[i].file),
            .module = hs_view_string(view, frames[i].module),
            .line = frames[i].line,
            .offset = frames[i].offset,
        };
        HS_TRY(add_frame(join, i, &frame, err));
    }
    return HS_OK;
}

/* A code is one function, or several that were inlined into each other, the outermost first; or
 * the trace says nothing of it. */
static hs_status add_code(struct hs_sample_join *join, uint64_t code, size_t *at,
                          struct hs_error *err)
{
    struct hs_trace *trace = join->trace.trace;
    size_t n;
    const struct hs_trace_location *locations = hs_trace_locations(trace, code, &n);
    if (n == 0) {
        struct hs_frame unknown = {.function = "", .file = "", .module = "", .offset = code};
        return add_frame(join, (*at)++, &unknown, err);
    }
    for (size_t i = n; i-- > 0;) {
        struct hs_frame frame = {
            .function = hs_trace_string(trace, locations[i].function),
            .file = hs_trace_string(trace, locations[i].file),
            .module = "",
            .line = locations[i].line,
            .is_damaged = locations[i].is_damaged,
        };
        HS_TRY(add_frame(join, (*at)++, &frame, err));
    }
    return HS_OK;
}

hs_status hs_sample_join_frames(struct hs_sample_join *join, uint32_t site,
                                const struct hs_frame **ret, size_t *ret_n, struct hs_error *err)
{
    size_t n_frames = 0, n_codes;
    if (site < join->n_snap_sites) {
        HS_TRY(frames_of_snapshot(join, site, &n_frames, err));
    } else {
        const uint64_t *codes =
            hs_trace_join_stack(&join->trace, site - join->n_snap_sites, &n_codes);
        for (size_t i = n_codes; i-- > 0;)
            HS_TRY(add_code(join, codes[i], &n_frames, err));
    }
    *ret = join->frames;
    *ret_n = n_frames;
    return HS_OK;
}

hs_status hs_sample_join_site_text(struct hs_sample_join *join, uint32_t site, char *text, size_t n,
                                   struct hs_error *err)
{
    const struct hs_frame *frames;
    size_t n_frames;
    text[0] = 0;
    if (site == HS_NO_SITE)
        return HS_OK;
    HS_TRY(hs_sample_join_frames(join, site, &frames, &n_frames, err));
    if (n_frames != 0)
        hs_frame_text(&frames[hs_site_frame_at(frames, n_frames)], text, n);
    return HS_OK;
}

hs_status hs_sample_join_find_places(struct hs_sample_join *join, struct hs_error *err)
{
    char text[HS_FRAME_BYTES];
    if (join->places != NULL)
        return HS_OK;
    HS_TRY(HS_ALLOC(&join->places, join->n_sites, err));
    for (uint32_t site = 0; site < join->n_sites; site++) {
        HS_TRY(hs_sample_join_site_text(join, site, text, sizeof text, err));
        HS_TRY(hs_strtab_add(&join->place_texts, text, &join->places[site], err));
    }
    return HS_OK;
}
