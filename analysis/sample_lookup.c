/* Finding a sample by its id, and saying why there is none. */
#include "analysis/sample_lookup.h"

#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/units.h"

static const char prefix[] = "sample:";

bool hs_sample_is_named(const char *text)
{
    bool is_number = text[0] >= '0' && text[0] <= '9' && strncmp(text, "0x", 2) != 0;
    return is_number || strncmp(text, prefix, sizeof prefix - 1) == 0;
}

hs_status hs_sample_parse(const char *text, struct hs_sample_name *ret, struct hs_error *err)
{
    struct hs_sample_name name = {.kind = -1};
    if (strncmp(text, prefix, sizeof prefix - 1) == 0)
        text += sizeof prefix - 1;
    const char *colon = strchr(text, ':');
    if (colon != NULL) {
        for (unsigned kind = 0; kind < HS_N_SAMPLER_KINDS; kind++) {
            const char *known = hs_sampler_kind_name(kind);
            if (strlen(known) == (size_t)(colon - text) && memcmp(known, text, strlen(known)) == 0)
                name.kind = (int)kind;
        }
        if (name.kind < 0) {
            (void)hs_fail(err, HS_USAGE, "'%.40s' is no kind of sampler", text);
            return hs_hint(err, "samplers are memprof, jemalloc, record and go: sample:memprof:N");
        }
        text = colon + 1;
    }
    HS_TRY(hs_parse_count(text, &name.id, err));
    *ret = name;
    return HS_OK;
}

static bool is_of(const struct hs_view *view, const struct hs_sample *sample, int kind)
{
    return kind < 0 || view->facts->samplers[sample->sampler].kind == kind;
}

static hs_status fail_ambiguous(const struct hs_view *view, const char *text,
                                const struct hs_sample *samples, size_t n, struct hs_error *err)
{
    char list[200] = "";
    for (size_t i = 0; i < n; i++) {
        unsigned kind = view->facts->samplers[samples[i].sampler].kind;
        hs_append(list, sizeof list, "%s%s%s:%lu", i == 0 ? "" : ", ", prefix,
                  hs_sampler_kind_name(kind), (unsigned long)samples[i].id);
    }
    (void)hs_fail(err, HS_USAGE, "%zu sampled allocations are called '%.40s'", n, text);
    return hs_hint(err, "name one of them: %s", list);
}

static double seconds(uint64_t us)
{
    return (double)us / 1e6;
}

/* The process has no such sample; the trace may tell what became of it. */
static hs_status fail_by_trace(struct hs_sample_join *join, const char *text,
                               const struct hs_traced *traced, struct hs_error *err)
{
    char site[HS_FRAME_BYTES] = "";
    if (traced == NULL || !traced->is_allocated) {
        (void)hs_fail(err, HS_USAGE,
                      "no sampled allocation '%.40s': neither the process nor the trace knows it",
                      text);
        return hs_hint(err, "'heapsnap samples %s' lists those that were alive",
                       HS_SHELL(join->view->path));
    }
    if (traced->stack != HS_NO_STACK)
        HS_TRY(hs_sample_join_site_text(join, join->n_snap_sites + traced->stack, site, sizeof site,
                                        err));
    if (traced->is_collected)
        (void)hs_fail(err, HS_USAGE, "the sampled allocation '%.40s' was collected at t = %.6f s",
                      text, seconds(traced->collected_us));
    else
        (void)hs_fail(err, HS_USAGE,
                      "the sampled allocation '%.40s' is gone from the process: its collection was "
                      "not flushed to the trace",
                      text);
    return hs_hint(err, "%lu words, allocated at t = %.6f s%s%.140s", (unsigned long)traced->words,
                   seconds(traced->allocated_us), site[0] != 0 ? " by " : "", site);
}

static hs_status fail_unknown(const struct hs_view *view, const char *text, struct hs_error *err)
{
    if (view->totals->n_samples == 0) {
        (void)hs_fail(err, HS_USAGE, "no sampled allocation '%s': the program was not sampling",
                      text);
        return hs_hint(err, "use an address (0x...), a node (#N) or a root (root:NAME)");
    }
    (void)hs_fail(err, HS_USAGE,
                  "no sampled allocation '%s' was alive: collected before the dump, or never "
                  "sampled (no trace given)",
                  text);
    return hs_hint(err, "'heapsnap samples %s' lists the %lu that were", HS_SHELL(view->path),
                   (unsigned long)view->totals->n_samples);
}

hs_status hs_sample_find(const struct hs_view *view, struct hs_sample_join *join, const char *text,
                         const struct hs_sample **ret, struct hs_error *err)
{
    struct hs_sample_name name;
    size_t n, n_fitting = 0;
    const struct hs_sample *sample = NULL;
    HS_TRY(hs_sample_parse(text, &name, err));
    if (strncmp(text, prefix, sizeof prefix - 1) == 0)
        text += sizeof prefix - 1;
    const struct hs_sample *samples = hs_snap_find_samples(view->snap, name.id, &n);
    for (size_t i = 0; i < n; i++) {
        if (!is_of(view, &samples[i], name.kind))
            continue;
        n_fitting++;
        sample = &samples[i];
    }
    if (n_fitting > 1)
        return fail_ambiguous(view, text, samples, n, err);
    if (sample == NULL && join != NULL && hs_sample_join_has_trace(join))
        return fail_by_trace(join, text, hs_trace_join_find(&join->trace, name.id), err);
    if (sample == NULL)
        return fail_unknown(view, text, err);
    if (sample->node == HS_NO_NODE) {
        (void)hs_fail(err, HS_USAGE, "the block of sampled allocation '%s' is not in the heap",
                      text);
        return hs_hint(err, "the sampler tracked memory outside the OCaml heap, or the block died");
    }
    *ret = sample;
    return HS_OK;
}
