/* The checks that a trace is of the process that was dumped. */
#include "trace_agree.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define RATE_ROUNDING 1e-6 /* of a rate that went through a double or two */

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static bool is_word(const char *word, const char *text, size_t n)
{
    return strlen(word) == n && memcmp(word, text, n) == 0;
}

/* The program is named first in the command line, unless an interpreter or a loader is; then it is
 * one of the binaries. */
static bool runs(const struct hs_snap *snap, const char *executable)
{
    const struct hs_snap_facts *facts = hs_snap_facts(snap);
    const char *name = file_of(executable), *command = hs_snap_string(snap, facts->command);
    size_t n = strcspn(command, " ");
    const char *first = command;
    for (size_t i = 0; i < n; i++)
        if (command[i] == '/')
            first = command + i + 1;
    if (n == 0 || is_word(name, first, (size_t)(command + n - first)))
        return true;
    for (size_t i = 0; i < facts->n_binaries; i++)
        if (strcmp(file_of(hs_snap_string(snap, facts->binaries[i].path)), name) == 0)
            return true;
    return false;
}

/* Tells whether a sampler writes a trace at all. */
static bool has_trace(const struct hs_sampler *sampler)
{
    return sampler->kind != HS_SAMPLER_JEMALLOC && sampler->kind != HS_SAMPLER_GO;
}

/* Tells whether a snapshot of a process under heapsnap record has this begin of a trace, to the
 * microsecond. Names need not agree: the program may be a link to a file of another name, as
 * redis-server is. */
static bool is_recorded(const struct hs_snap_facts *facts, uint64_t begun_us)
{
    for (size_t i = 0; i < facts->n_samplers; i++)
        if (has_trace(&facts->samplers[i]) && facts->samplers[i].begun_ns != 0 &&
            facts->samplers[i].begun_ns / 1000 == begun_us)
            return true;
    return false;
}

/* The same file under two names; files that are not on this machine are not. */
static bool is_same_file(const struct hs_snap *snap, const char *executable)
{
    const struct hs_snap_facts *facts = hs_snap_facts(snap);
    struct stat one, other;
    if (executable[0] != '/' || stat(executable, &one) != 0)
        return false;
    for (size_t i = 0; i < facts->n_binaries; i++) {
        const char *path = hs_snap_string(snap, facts->binaries[i].path);
        if (path[0] == '/' && stat(path, &other) == 0 && one.st_dev == other.st_dev &&
            one.st_ino == other.st_ino)
            return true;
    }
    return false;
}

static hs_status hint_same(struct hs_error *err)
{
    return hs_hint(err, "give the trace that the dumped process wrote itself, in the same run");
}

static double seconds(uint64_t from_ns, uint64_t to_ns)
{
    return (double)(to_ns - from_ns) / 1e9;
}

static hs_status check_times(const struct hs_trace_info *info, const struct hs_snap_facts *facts,
                             struct hs_error *err)
{
    uint64_t begun_ns = info->begun_us > UINT64_MAX / 1000 ? UINT64_MAX : info->begun_us * 1000;
    if (facts->started_ns > HS_TRACE_TOLERANCE_NS &&
        begun_ns < facts->started_ns - HS_TRACE_TOLERANCE_NS) {
        (void)hs_fail(err, HS_USAGE,
                      "the trace is of another run: it begins %.1f s before the process did",
                      seconds(begun_ns, facts->started_ns));
        return hint_same(err);
    }
    if (facts->taken_ns != 0 && begun_ns > facts->taken_ns &&
        begun_ns - facts->taken_ns > HS_TRACE_TOLERANCE_NS) {
        (void)hs_fail(err, HS_USAGE,
                      "the trace is of another run: it begins %.1f s after the dump was taken",
                      seconds(facts->taken_ns, begun_ns));
        return hint_same(err);
    }
    return HS_OK;
}

hs_status hs_trace_agree(const struct hs_trace_info *info, const struct hs_snap *snap,
                         const char **ret_unknown, struct hs_error *err)
{
    const struct hs_snap_facts *facts = hs_snap_facts(snap);
    if (facts->pid != 0 && info->pid != facts->pid) {
        (void)hs_fail(err, HS_USAGE, "the trace is of another process: of %lu, the snapshot of %u",
                      (unsigned long)info->pid, facts->pid);
        return hs_hint(err,
                       "a process's trace can be joined with its own snapshots alone; a forked "
                       "child has none");
    }
    HS_TRY(check_times(info, facts, err));
    if (info->executable[0] != 0 && !runs(snap, info->executable) &&
        !is_recorded(facts, info->begun_us) && !is_same_file(snap, info->executable)) {
        (void)hs_fail(err, HS_USAGE,
                      "the trace is of another program: of '%.80s', the snapshot of '%.80s'",
                      info->executable, hs_snap_string(snap, facts->command));
        return hint_same(err);
    }
    *ret_unknown = NULL;
    if (facts->pid == 0)
        *ret_unknown = "the snapshot does not say of which process it is";
    else if (facts->taken_ns == 0 || facts->started_ns == 0)
        *ret_unknown = "the snapshot does not say when it was taken: only the pid was compared";
    return HS_OK;
}

bool hs_trace_is_shared(const struct hs_sampler *one, const struct hs_sampler *other)
{
    return one->begun_ns != 0 && one->begun_ns == other->begun_ns && one->trace == other->trace;
}

static bool is_rate(const struct hs_sampler *sampler, const struct hs_trace_info *info)
{
    double words = 1 / info->samples_per_word;
    return fabs(words - sampler->period_words) <= RATE_ROUNDING * words;
}

static bool is_file(const struct hs_snap *snap, const struct hs_sampler *sampler, const char *path)
{
    const char *trace = hs_snap_string(snap, sampler->trace);
    return trace[0] != 0 && strcmp(file_of(trace), file_of(path)) == 0;
}

hs_status hs_trace_sampler(const char *path, const struct hs_trace_info *info,
                           const struct hs_snap *snap, uint32_t *ret, struct hs_error *err)
{
    const struct hs_snap_facts *facts = hs_snap_facts(snap);
    uint32_t best = UINT32_MAX;
    unsigned best_points = 0;
    bool is_tie = false;
    for (uint32_t i = 0; i < facts->n_samplers; i++) {
        const struct hs_sampler *sampler = &facts->samplers[i];
        if (!has_trace(sampler))
            continue;
        unsigned points =
            1u + (is_file(snap, sampler, path) ? 4u : 0u) + (is_rate(sampler, info) ? 2u : 0u);
        if (best != UINT32_MAX && hs_trace_is_shared(&facts->samplers[best], sampler))
            continue;
        is_tie = points == best_points || (is_tie && points < best_points);
        if (points > best_points) {
            best_points = points;
            best = i;
        }
    }
    if (best != UINT32_MAX && is_tie) {
        (void)hs_fail(err, HS_USAGE, "'%.100s' may be the trace of either of two samplers", path);
        return hs_hint(err, "call the file as the process does: 'heapsnap samples' names it");
    }
    if (best != UINT32_MAX && facts->samplers[best].period_words > 0 &&
        !is_rate(&facts->samplers[best], info)) {
        (void)hs_fail(
            err, HS_USAGE,
            "the trace is of another run: a sample every %.6g words, in the process every "
            "%.6g",
            1 / info->samples_per_word, facts->samplers[best].period_words);
        return hint_same(err);
    }
    *ret = best;
    return HS_OK;
}
