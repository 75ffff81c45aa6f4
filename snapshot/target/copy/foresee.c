/* What speaks for or against a copy, and how long either way will take: looked at without a stop.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/budget.h"
#include "base/progress.h"
#include "copy_private.h"
#include "foresee.h"
#include "target/procfs.h"

#define FORESEE_FRESH_NS ((uint64_t)5000000000)
#define FORESEE_GIB ((uint64_t)1 << 30)
/* Nanoseconds per GiB, measured on a quiet machine with 9 threads; a busy one takes two to five
 * times as long. docs/performance.md */
#define FORESEE_COPY_NS ((uint64_t)12000000)
#define FORESEE_COPY_HUGE_NS ((uint64_t)1000000)
#define FORESEE_READ_NS ((uint64_t)180000000)
#define FORESEE_READ_HUGE_NS ((uint64_t)120000000)
#define FORESEE_FIXED_NS ((uint64_t)1500000)
/* What is saved in the pause is read at the price of a stopped read. */
#define FORESEE_SAVED_BYTES_MAX ((uint64_t)64 << 20)
/* What others share may be pinned page by page; more is read by a way that does not. */
#define FORESEE_LENT_BYTES_MAX ((uint64_t)1 << 20)
/* Page tables of the copy, and what the target writes meanwhile. */
#define FORESEE_ROOM(bytes) ((bytes) / 512 + (bytes) / 64 + ((uint64_t)16 << 20))

bool hs_copy_facts_status(struct hs_copy_facts *facts, const char *text)
{
    const char *pids = strstr(text, "\nNSpid:"), *features = strstr(text, "\nx86_Thread_features:");
    uint64_t seccomp = 0;

    if (!hs_proc_number(text, "Seccomp", 10, &seccomp))
        seccomp = 0;
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

static uint64_t foresee_time(uint64_t n_bytes, uint64_t ns_per_gib)
{
    return (uint64_t)((double)n_bytes / (double)FORESEE_GIB * (double)ns_per_gib);
}

static const char *foresee_why_not(const struct hs_copy_facts *facts)
{
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
    if (facts->saved_bytes > FORESEE_SAVED_BYTES_MAX)
        return "it keeps much memory from its children (MADV_DONTFORK, MADV_WIPEONFORK, hugetlb)";
    if (facts->room_bytes < FORESEE_ROOM(facts->small_bytes + facts->huge_bytes))
        return "little memory is left to it, under the limit of its control group or at all";
    return NULL;
}

void hs_copy_facts_judge(const struct hs_copy_facts *facts, struct hs_copy_outlook *ret)
{
    const char *why = foresee_why_not(facts);
    struct hs_copy_outlook outlook = {
        .variant = why != NULL       ? HS_COPY_NONE
                   : facts->is_first ? HS_COPY_DIRECT
                                     : HS_COPY_MIDDLE,
        .resident_bytes = facts->small_bytes + facts->huge_bytes,
        .saved_bytes = facts->saved_bytes,
    };

    snprintf(outlook.why, sizeof outlook.why, "%s", why == NULL ? "" : why);
    outlook.read_pause_ns = FORESEE_FIXED_NS + foresee_time(facts->small_bytes, FORESEE_READ_NS) +
                            foresee_time(facts->huge_bytes, FORESEE_READ_HUGE_NS);
    outlook.copy_pause_ns = FORESEE_FIXED_NS + foresee_time(facts->small_bytes, FORESEE_COPY_NS) +
                            foresee_time(facts->huge_bytes, FORESEE_COPY_HUGE_NS) +
                            foresee_time(facts->saved_bytes, FORESEE_READ_NS);
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

static hs_status foresee_facts(const struct hs_target *target, struct hs_copy_plan *plan,
                               struct hs_copy_facts *facts, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *status_text = NULL;
    hs_auto_free char *smaps = NULL;
    size_t n;

    HS_TRY(foresee_text(target->pid, "status", &status_text, &n, err));
    (void)hs_copy_facts_status(facts, status_text);
    plan->n_left = hs_copy_left_find(target->pid, status_text, plan->left, HS_COPY_LEFT_MAX);
    HS_TRY(foresee_text(target->pid, "smaps", &smaps, &n, err));
    HS_TRY(hs_copy_facts_smaps(facts, smaps, n, err));
    facts->may_suspend_filter = facts->is_filtered && foresee_may_suspend(&ignored);
    facts->commits_strictly = foresee_commits_strictly(&ignored);
    facts->room_bytes = hs_memory_available_to(target->pid);
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
        hs_free(plan->areas);
        plan->areas = HS_STEAL(facts.areas);
        plan->n_areas = facts.n_areas;
        plan->is_lent = facts.lent_bytes > FORESEE_LENT_BYTES_MAX;
        plan->made_at_ns = hs_now_ns();
    }
    hs_copy_facts_fini(&facts);
    return status;
}

void hs_copy_plan_free(struct hs_copy_plan *plan)
{
    if (plan == NULL)
        return;
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
    HS_TRY(foresee_plan(target, target->copy_plan, err));
    /* As a copy is read (freeze.c): to pin a page that is shared by a fork gives the process one of
     * its own, for good. */
    if (target->copy_plan->is_lent && target->live.mem_fd >= 0)
        target->live.reads_by_file = true;
    return HS_OK;
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
