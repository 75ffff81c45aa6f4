#include "memory_report.h"

#include <stdio.h>
#include <string.h>

#include "base/spill.h"
#include "base/units.h"
#include "index/index.h"

/* jemalloc's, when it is what malloc is; see its manual, section "MALLCTL NAMESPACE". */
extern int mallctl(const char *name, void *old, size_t *old_bytes, void *new, size_t new_bytes)
    __attribute__((weak));

static void format_limit(const struct hs_budget *budget, char *text)
{
    if (budget->limit_bytes == UINT64_MAX)
        (void)snprintf(text, HS_UNIT_TEXT_BYTES, "no limit");
    else
        hs_format_bytes(budget->limit_bytes, text);
}

void hs_tool_talk_plan(const struct hs_tool *tool, const struct hs_snap *snap)
{
    char memory[HS_UNIT_TEXT_BYTES], limit[HS_UNIT_TEXT_BYTES];
    char spilled[HS_UNIT_TEXT_BYTES], file[HS_UNIT_TEXT_BYTES];
    struct hs_index_estimate estimate = {0};
    if (!tool->is_verbose)
        return;
    hs_index_estimate(snap, &tool->budget, &estimate);
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    hs_format_bytes(hs_budget_round_up(estimate.memory_bytes + estimate.used_bytes), memory);
    hs_format_bytes(estimate.spill_bytes, spilled);
    hs_format_bytes(estimate.file_bytes, file);
    format_limit(&tool->budget, limit);
    hs_talk("plan: index of %lu nodes and %lu edges, computed %s: %s%s of memory (limit %s), "
            "at most %s of disk (temporary files in '%s'), some %s for the index, %u threads, some "
            "%lu s",
            (unsigned long)(totals->n_tree + totals->n_blocks), (unsigned long)totals->n_edges,
            estimate.in_memory ? "in memory" : "by passes over files",
            estimate.in_memory || estimate.is_counted ? "" : "at least ", memory, limit, spilled,
            tool->budget.spill_dir != NULL ? tool->budget.spill_dir : "TMPDIR or /var/tmp", file,
            tool->budget.n_threads, (unsigned long)estimate.seconds);
}

/* Reads one number of the allocator as text; false when it does not tell. */
static bool ask_allocator(const char *name, char *text)
{
    size_t value = 0, n_bytes = sizeof value;
    if (mallctl(name, &value, &n_bytes, NULL, 0) != 0)
        return false;
    hs_format_bytes(value, text);
    return true;
}

static void talk_allocator(void)
{
    static const char *const names[] = {"stats.allocated", "stats.active", "stats.resident",
                                        "stats.mapped"};
    char texts[4][HS_UNIT_TEXT_BYTES];
    if (mallctl == NULL) {
        hs_talk("memory: built without jemalloc, whose statistics would stand here");
        return;
    }
    uint64_t epoch = 1; /* statistics are those of the last epoch begun */
    (void)mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!ask_allocator(names[i], texts[i]))
            (void)snprintf(texts[i], sizeof texts[i], "unknown");
    hs_talk("memory: jemalloc at the end: %s allocated, %s active, %s resident, %s mapped",
            texts[0], texts[1], texts[2], texts[3]);
}

/* A line "NAME:  N kB" of our own status, as text. */
static bool ask_kernel(const char *name, char *text)
{
    char line[256];
    unsigned long kib;
    size_t n = strlen(name);
    bool is_known = false;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && !is_known && fgets(line, sizeof line, file) != NULL)
        is_known = strncmp(line, name, n) == 0 && sscanf(line + n, ": %lu", &kib) == 1;
    if (file != NULL)
        (void)fclose(file);
    if (is_known)
        hs_format_bytes((uint64_t)kib << 10, text);
    return is_known;
}

void hs_talk_memory_report(const struct hs_budget *budget)
{
    char peak[HS_UNIT_TEXT_BYTES], limit[HS_UNIT_TEXT_BYTES];
    char spilled[HS_UNIT_TEXT_BYTES];
    char resident[HS_UNIT_TEXT_BYTES] = "unknown", own[HS_UNIT_TEXT_BYTES] = "unknown";
    char files[HS_UNIT_TEXT_BYTES] = "unknown";
    hs_format_bytes(budget->peak_bytes, peak);
    format_limit(budget, limit);
    hs_talk("memory: at most %s were taken of the limit of %s", peak, limit);
    talk_allocator();
    (void)ask_kernel("VmHWM", resident);
    (void)ask_kernel("RssAnon", own);
    (void)ask_kernel("RssFile", files);
    hs_talk("memory: at most %s were resident (VmHWM), mapped files included; at the end %s are "
            "our own (RssAnon), %s those of mapped files (RssFile)",
            resident, own, files);
    hs_format_bytes(hs_spill_most_bytes(), spilled);
    hs_talk("temporary files: at most %s at a time", spilled);
}
