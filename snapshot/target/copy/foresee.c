/* Foresees, without a stop, whether a copy can be made and how long either way will take. */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/budget.h"
#include "base/checked.h"
#include "base/progress.h"
#include "copy_private.h"
#include "forecast.h"
#include "target/procfs.h"

#define FORESEE_FRESH_NS ((uint64_t)5000000000)
/* The saved bytes may be at most one part in so many of the memory that is left to us: they are
 * kept twice, here and in the image, for as long as the copy lives. */
#define FORESEE_SAVED_SHARE 4
/* The most saved bytes that never speak against a copy: they take a moment, which is no reason to
 * hold a process while all of it is read. */
#define FORESEE_SAVED_FEW ((uint64_t)16 << 20)
/* The most bytes shared with other processes by a fork that may be read in the way that pins page
 * by page (process_vm_readv); with more of them the file `mem` is read. */
#define FORESEE_LENT_BYTES_MAX ((uint64_t)1 << 20)
/* Page tables of the copy, and what the target writes meanwhile. */
#define FORESEE_ROOM(bytes) ((bytes) / 512 + (bytes) / 64 + ((uint64_t)16 << 20))

bool hs_copy_facts_status(struct hs_copy_facts *facts, const char *text)
{
    const char *pids = strstr(text, "\nNSpid:"), *features = strstr(text, "\nx86_Thread_features:");
    uint64_t seccomp = 0;

    if (!hs_proc_number(text, "Seccomp", 10, &seccomp))
        seccomp = 0;
    (void)hs_proc_number(text, "Threads", 10, &facts->n_threads);
    if (!hs_proc_number(text, "VmPTE", 10, &facts->table_bytes) ||
        !hs_mul_fits(facts->table_bytes, 1024, &facts->table_bytes))
        facts->table_bytes = 0;
    facts->is_filtered = seccomp != 0;
    if (pids != NULL) {
        const char *end = strchrnul(pids + 1, '\n'), *last = end;
        while (last > pids && last[-1] >= '0' && last[-1] <= '9')
            last--;
        facts->is_first = end - last == 1 && *last == '1';
    }
    if (features != NULL) {
        const char *end = strchrnul(features + 1, '\n');
        const char *shadow = strstr(features, "shstk");
        facts->has_shadow_stack = shadow != NULL && shadow < end;
    }
    return strstr(text, "\nPid:") != NULL || strncmp(text, "Pid:", 4) == 0;
}

/* Private memory of its own making: what can be read again from elsewhere is no loss. */
static bool foresee_is_lacking(const struct hs_smaps_entry *entry)
{
    bool is_lacking =
        entry->is_kept_from_children || entry->is_wiped_in_children || entry->is_hugetlb;
    return is_lacking && !entry->shared && !entry->is_device &&
           (!entry->has_file || entry->is_hugetlb);
}

static hs_status foresee_area(struct hs_copy_facts *facts, const struct hs_smaps_entry *entry,
                              struct hs_error *err)
{
    HS_TRY(HS_GROW(&facts->areas, &facts->areas_capacity, facts->n_areas + 1, err));
    facts->areas[facts->n_areas++] = (struct hs_copy_area){entry->begin, entry->end};
    facts->saved_bytes += entry->anonymous_bytes + entry->hugetlb_bytes + entry->swap_bytes;
    return HS_OK;
}

hs_status hs_copy_facts_smaps(struct hs_copy_facts *facts, const char *text, size_t n_bytes,
                              struct hs_error *err)
{
    struct hs_smaps_walk walk = {text, text + n_bytes};
    struct hs_smaps_entry entry;
    hs_addr end = 0;

    while (hs_smaps_next(&walk, &entry)) {
        if (entry.begin < end)
            continue; /* of a later moment */
        end = entry.end;
        facts->n_mappings++;
        facts->has_own_faults |= entry.has_own_faults;
        facts->huge_bytes += entry.huge_bytes;
        if (!entry.shared)
            facts->lent_bytes += entry.shared_bytes < entry.anonymous_bytes ? entry.shared_bytes
                                                                            : entry.anonymous_bytes;
        facts->small_bytes += entry.anonymous_bytes - entry.huge_bytes + entry.swap_bytes;
        if (foresee_is_lacking(&entry))
            HS_TRY(foresee_area(facts, &entry, err));
    }
    return HS_OK;
}

static const char *foresee_why_not(const struct hs_copy_facts *facts, uint64_t copy_pause_ns,
                                   uint64_t read_pause_ns)
{
    if (facts->lacks_main_thread)
        return "its main thread has ended";
    if (facts->has_shadow_stack)
        return "a shadow stack guards its returns";
    if (facts->is_filtered && !facts->may_suspend_filter)
        return "a seccomp filter is active; only root outside of any filter may suspend it";
    if (facts->has_own_faults)
        return "it handles page faults itself (userfaultfd)";
    if (facts->commits_strictly)
        return "the system promises no more memory than it has (vm.overcommit_memory is 2)";
    if (!facts->has_code)
        return "its code has no such calls as a copy needs";
    /* Children that wait for a processor are of this moment: they decide nothing. */
    read_pause_ns += FORECAST_CHILDREN * facts->costs.child_ns;
    if (facts->saved_bytes > FORESEE_SAVED_FEW && copy_pause_ns >= read_pause_ns)
        return "it keeps so much memory from its children (MADV_DONTFORK, MADV_WIPEONFORK, "
               "hugetlb) that a copy would take as long";
    if (facts->saved_bytes > FORESEE_SAVED_FEW &&
        facts->saved_bytes > facts->own_room_bytes / FORESEE_SAVED_SHARE)
        return "it keeps much memory from its children (MADV_DONTFORK, MADV_WIPEONFORK, hugetlb), "
               "and little is left to save it in";
    if (facts->room_bytes < FORESEE_ROOM(facts->small_bytes + facts->huge_bytes))
        return "little memory is left to it, under the limit of its control group or at all";
    return NULL;
}

void hs_copy_facts_judge(const struct hs_copy_facts *facts, struct hs_copy_outlook *ret)
{
    struct hs_copy_outlook outlook = {0};

    hs_copy_forecast(facts, &outlook.copy_pause_ns, &outlook.read_pause_ns);
    const char *why = foresee_why_not(facts, outlook.copy_pause_ns, outlook.read_pause_ns);
    outlook.variant = why != NULL       ? HS_COPY_NONE
                      : facts->is_first ? HS_COPY_DIRECT
                                        : HS_COPY_MIDDLE;
    hs_copy_forecast_busy(facts, &outlook);
    outlook.resident_bytes = facts->small_bytes + facts->huge_bytes;
    outlook.saved_bytes = facts->saved_bytes;
    snprintf(outlook.why, sizeof outlook.why, "%s", why == NULL ? "" : why);
    *ret = outlook;
}

void hs_copy_facts_fini(struct hs_copy_facts *facts)
{
    hs_free(facts->areas);
    memset(facts, 0, sizeof *facts);
}

static hs_status foresee_text(pid_t pid, const char *name, char **ret, size_t *ret_n,
                              struct hs_error *err)
{
    return hs_refusal_if_ended(pid, hs_proc_read_of(pid, name, ret, ret_n, err), err);
}

/* Suspending needs CAP_SYS_ADMIN, and that we ourselves are under no filter (ptrace(2)). */
static bool foresee_may_suspend(struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t seccomp = 1, capabilities = 0;

    return hs_proc_read("/proc/self/status", &text, &n, err) == HS_OK &&
           hs_proc_number(text, "Seccomp", 10, &seccomp) && seccomp == 0 &&
           hs_proc_number(text, "CapEff", 16, &capabilities) && (capabilities >> 21 & 1) != 0;
}

static bool foresee_commits_strictly(struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n;

    return hs_proc_read("/proc/sys/vm/overcommit_memory", &text, &n, err) == HS_OK &&
           text[0] == '2';
}

static uint64_t foresee_crowd(struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    long n_processors = sysconf(_SC_NPROCESSORS_ONLN);
    size_t n;

    return hs_proc_read("/proc/loadavg", &text, &n, err) == HS_OK && n_processors > 0
               ? hs_forecast_crowd(text, (uint64_t)n_processors)
               : 0;
}

/* A thread of a frozen group can be stopped and read, but not made to call. */
static void foresee_frozen(struct hs_copy_outlook *outlook, pid_t pid)
{
    char group[PATH_MAX];
    bool is_v1 = false;

    if (!hs_stuck_is_frozen(pid, group, sizeof group, &is_v1))
        return;
    outlook->variant = HS_COPY_NONE;
    snprintf(outlook->why, sizeof outlook->why, "its control group '%.*s' is frozen",
             (int)sizeof outlook->why - 40, group);
}

static hs_status foresee_facts(const struct hs_target *target, struct hs_copy_plan *plan,
                               struct hs_copy_facts *facts, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *status_text = NULL;
    hs_auto_free char *smaps = NULL;
    char who[32];
    size_t n;

    HS_TRY(foresee_text(target->pid, "status", &status_text, &n, err));
    (void)hs_copy_facts_status(facts, status_text);
    plan->n_left = hs_copy_left_find(target->pid, status_text, plan->left, HS_COPY_LEFT_MAX);
    uint64_t begun_ns = hs_now_ns();
    HS_TRY(foresee_text(target->live.pid, "smaps", &smaps, &n, err));
    facts->smaps_ns = hs_now_ns() - begun_ns;
    HS_TRY(hs_copy_facts_smaps(facts, smaps, n, err));
    hs_copy_costs_probe(&facts->costs);
    facts->crowd_percent = foresee_crowd(&ignored);
    facts->n_readers = target->options.n_threads;
    facts->may_suspend_filter = facts->is_filtered && foresee_may_suspend(&ignored);
    facts->lacks_main_thread = target->live.pid != target->pid;
    facts->commits_strictly = foresee_commits_strictly(&ignored);
    snprintf(who, sizeof who, "%d", target->pid);
    facts->room_bytes = hs_memory_groups_find("/proc", who, &plan->groups);
    plan->room_bytes = facts->room_bytes;
    facts->own_room_bytes = facts->saved_bytes == 0 ? 0 : hs_memory_available_bytes();
    if (!hs_copy_code_is_whole(&plan->code) || !hs_copy_code_stands(target, &plan->code))
        HS_TRY(hs_copy_code_find(target, &plan->code, err));
    facts->has_code = hs_copy_code_is_whole(&plan->code);
    return HS_OK;
}

static hs_status foresee_plan(const struct hs_target *target, struct hs_copy_plan *plan,
                              struct hs_error *err)
{
    struct hs_copy_facts facts = {0};
    hs_status status = foresee_facts(target, plan, &facts, err);

    if (status == HS_OK) {
        hs_copy_facts_judge(&facts, &plan->outlook);
        foresee_frozen(&plan->outlook, target->pid);
        hs_free(plan->areas);
        plan->areas = HS_STEAL(facts.areas);
        plan->n_areas = plan->areas_capacity = facts.n_areas;
        plan->is_lent = facts.lent_bytes > FORESEE_LENT_BYTES_MAX;
        plan->made_at_ns = hs_now_ns();
    }
    hs_copy_facts_fini(&facts);
    return status;
}

/* Code that was not found may lie in pages that a shortage of memory kept from being read, or in
 * mappings that changed while they were listed: it is looked for once more. */
static hs_status foresee_plan_twice(struct hs_target *target, struct hs_copy_plan *plan,
                                    struct hs_error *err)
{
    HS_TRY(foresee_plan(target, plan, err));
    if (hs_copy_code_is_whole(&plan->code) || target->is_stopped)
        return HS_OK;
    HS_TRY(hs_process_mappings(target, err));
    return foresee_plan(target, plan, err);
}

void hs_copy_plan_free(struct hs_copy_plan *plan)
{
    if (plan == NULL)
        return;
    hs_copy_saved_fini(&plan->store);
    hs_free(plan->areas);
    hs_free(plan);
}

hs_status hs_copy_plan_make(struct hs_target *target, struct hs_error *err)
{
    if (target->copy_plan == NULL) {
        HS_TRY(HS_ALLOC(&target->copy_plan, 1, err));
    }
    if (target->copy_plan->is_final)
        return HS_OK;
    if (target->copy_plan->made_at_ns != 0 &&
        hs_now_ns() - target->copy_plan->made_at_ns < FORESEE_FRESH_NS)
        return HS_OK;
    HS_TRY(foresee_plan_twice(target, target->copy_plan, err));
    /* Reads by file, as a copy is read (freeze.c): pinning a page that is shared by a fork would
     * give the process a page of its own, for good. */
    if (target->copy_plan->is_lent && target->live.mem_fd >= 0)
        target->live.reads_by_file = true;
    return HS_OK;
}

hs_status hs_copy_plan_prepare(struct hs_target *target, struct hs_error *err)
{
    struct hs_copy_plan *plan = target->copy_plan;
    uint64_t n_bytes = plan->outlook.saved_bytes;

    if (n_bytes == 0 || target->options.mode == HS_STOP_READ ||
        plan->outlook.variant == HS_COPY_NONE ||
        plan->store.store_capacity >= n_bytes + HS_COPY_STORE_SPARE(n_bytes))
        return HS_OK;
    hs_copy_saved_fini(&plan->store);
    return hs_copy_saved_init(&plan->store, n_bytes + HS_COPY_STORE_SPARE(n_bytes), n_bytes, err);
}

hs_status hs_copy_foresee(const struct hs_target *target, struct hs_copy_outlook *ret,
                          struct hs_error *err)
{
    struct hs_copy_plan plan = {0};
    hs_status status = foresee_plan(target, &plan, err);

    if (status == HS_OK)
        *ret = plan.outlook;
    hs_free(plan.areas);
    return status;
}
