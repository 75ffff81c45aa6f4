/* From facts to checks: every cause in its own words. Pure, but for hs_diagnose.
 *
 * Who may trace whom: kernel/ptrace.c (__ptrace_may_access), security/commoncap.c
 * (cap_ptrace_access_check), security/yama/yama_lsm.c. */
#include "target/diagnosis.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "arch/processor.h"
#include "diagnosis_facts.h"

typedef void check_judge(const struct hs_process_facts *facts, struct hs_check *check);

const char *hs_verdict_name(enum hs_verdict verdict)
{
    static const char *const names[HS_N_VERDICTS] = {"ok", "warning", "refused", "unknown"};
    return verdict < HS_N_VERDICTS ? names[verdict] : "unknown";
}

static void __attribute__((format(printf, 3, 4)))
say(struct hs_check *check, enum hs_verdict verdict, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(check->found, sizeof check->found, format, args);
    va_end(args);
    check->verdict = verdict;
    check->hint[0] = '\0';
}

static void __attribute__((format(printf, 2, 3)))
advise(struct hs_check *check, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)vsnprintf(check->hint, sizeof check->hint, format, args);
    va_end(args);
}

/* More rights are needed. Root has them but in a container, where it is not told to become root. */
static void advise_rights(const struct hs_process_facts *f, struct hs_check *check,
                          const char *advice)
{
    advise(check, "%s",
           f->own_uid != 0
               ? advice
               : "start the container with --cap-add SYS_PTRACE, or dump from the host");
}

bool hs_facts_has_capability(const struct hs_process_facts *facts)
{
    if (facts->userns == HS_USERNS_ELSEWHERE)
        return false;
    return facts->has_ptrace || (facts->userns == HS_USERNS_BELOW && facts->owns_userns);
}

static bool is_refused(const struct hs_process_facts *facts)
{
    return facts->may_trace == HS_FACT_NO;
}

/* ---- who it is */

static void judge_process(const struct hs_process_facts *f, struct hs_check *check)
{
    if (f->is_foreign_proc) {
        say(check, HS_VERDICT_REFUSED,
            "/proc belongs to another pid namespace, so that its numbers mean other processes");
        advise(check, "mount the /proc of this namespace: mount -t proc proc /proc (unshare has "
                      "--mount-proc)");
    } else if (f->is_hidden) {
        say(check, HS_VERDICT_REFUSED, "it exists, but /proc does not show it");
        advise(check,
               f->own_uid != 0
                   ? "/proc is mounted with hidepid: run heapsnap as that user or as root"
                   : "/proc is mounted with hidepid: it shows all to whom has CAP_SYS_PTRACE");
    } else if (!f->exists && f->namesake != 0) {
        say(check, HS_VERDICT_REFUSED,
            "no such process here; '%s' has that number inside a container", f->namesake_name);
        advise(check, "seen from here it is another number: heapsnap dump %d", f->namesake);
    } else if (!f->exists) {
        say(check, HS_VERDICT_REFUSED, "no such process");
        advise(check,
               "list processes with 'ps -e'; inside a container numbers differ from outside");
    } else if (f->leader != f->pid) {
        say(check, HS_VERDICT_REFUSED, "it is a thread of process %d", f->leader);
        advise(check, "dump the whole process: heapsnap dump %d", f->leader);
    } else {
        say(check, HS_VERDICT_OK, "it exists");
    }
}

static void judge_zombie(const struct hs_process_facts *f, struct hs_check *check)
{
    bool has_ended = f->state == 'Z' || f->state == 'X';

    if (has_ended && f->speaker != 0 && f->has_memory) {
        say(check, HS_VERDICT_OK,
            "its main thread has ended before the others; it is read by thread %d", f->speaker);
    } else if (has_ended) {
        say(check, HS_VERDICT_REFUSED, "it is a zombie, its memory is already gone");
        advise(check, "its parent %d has not collected its exit status yet", f->parent);
    } else if (!f->has_memory && !f->is_kernel_thread) {
        say(check, HS_VERDICT_REFUSED, "it is ending");
        advise(check, "its memory is already gone");
    } else {
        say(check, HS_VERDICT_OK, "it is alive (state %c)", f->state);
    }
}

static void judge_kernel_thread(const struct hs_process_facts *f, struct hs_check *check)
{
    if (f->is_kernel_thread) {
        say(check, HS_VERDICT_REFUSED, "it is a kernel thread and has no heap");
        advise(check, "give the pid of a program");
    } else {
        say(check, HS_VERDICT_OK, "it is a program, no kernel thread");
    }
}

static void judge_ourselves(const struct hs_process_facts *f, struct hs_check *check)
{
    if (f->is_ourselves) {
        say(check, HS_VERDICT_REFUSED, "it is heapsnap itself");
        advise(check, "give the pid of another process");
    } else {
        say(check, HS_VERDICT_OK, "it is not heapsnap itself");
    }
}

/* ---- who may trace it */

static void judge_traced(const struct hs_process_facts *f, struct hs_check *check)
{
    if (f->tracer != 0) {
        say(check, HS_VERDICT_REFUSED, "it is already traced by '%s' (pid %d)", f->tracer_name,
            f->tracer);
        advise(check, "let '%s' detach or end it; a process can have one tracer only",
               f->tracer_name);
    } else {
        say(check, HS_VERDICT_OK, "nobody traces it");
    }
}

static void judge_user(const struct hs_process_facts *f, struct hs_check *check)
{
    if (!f->is_other_user && !f->is_other_group) {
        say(check, HS_VERDICT_OK, "it belongs to user %u, as you do", f->uid);
        return;
    }
    /* Root expects to be let: what it lacks then is the capability. Yama's 3 stops root, too. */
    bool is_cause =
        is_refused(f) && !hs_facts_has_capability(f) && f->own_uid != 0 && f->yama_scope != 3;
    enum hs_verdict verdict = is_cause        ? HS_VERDICT_REFUSED
                              : is_refused(f) ? HS_VERDICT_WARNING
                                              : HS_VERDICT_OK;

    if (f->uid == f->own_uid && f->euid != f->uid)
        say(check, verdict, "it runs as user %u (set-user-id), started by you, user %u", f->euid,
            f->own_uid);
    else if (f->uid != f->own_uid)
        say(check, verdict, "it belongs to user %u and you are user %u", f->uid, f->own_uid);
    else
        say(check, verdict, "its groups or saved user differ from yours (group %u, you %u)", f->gid,
            f->own_gid);
    if (is_cause)
        advise(check, "run heapsnap as that user or as root, or give it CAP_SYS_PTRACE");
}

static void judge_yama(const struct hs_process_facts *f, struct hs_check *check)
{
    static const char *const meanings[] = {
        "any process of the same user may be traced",
        "only descendants and who asked for it (PR_SET_PTRACER) may be traced",
        "only a tool with CAP_SYS_PTRACE may trace",
        "nobody may trace",
    };

    if (f->yama_scope < 0 || f->yama_scope > 3) {
        say(check, HS_VERDICT_OK, f->yama_scope < 0 ? "this kernel has no Yama" : "not known");
        return;
    }
    bool is_cause =
        is_refused(f) && f->yama_scope != 0 && (f->yama_scope == 3 || !hs_facts_has_capability(f));
    if (!is_cause) {
        say(check, HS_VERDICT_OK, "kernel.yama.ptrace_scope is %d: %s", f->yama_scope,
            meanings[f->yama_scope]);
        return;
    }
    /* Yama is not the first obstacle to another user's process. */
    bool is_first = f->yama_scope == 3 || (!f->is_other_user && f->is_dumpable != HS_FACT_NO);
    say(check, is_first ? HS_VERDICT_REFUSED : HS_VERDICT_WARNING,
        "not permitted while kernel.yama.ptrace_scope is %d: %s", f->yama_scope,
        meanings[f->yama_scope]);
    if (f->yama_scope == 1)
        advise_rights(f, check,
                      "run heapsnap as root, or once: sudo sysctl kernel.yama.ptrace_scope=0; or "
                      "let the program call prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY)");
    else if (f->yama_scope == 2)
        advise_rights(f, check, "only a tool with CAP_SYS_PTRACE may trace: run heapsnap as root");
    else
        advise(check, "nobody may trace until the next boot; change the value in sysctl.d first");
}

/* Would the kernel want CAP_SYS_PTRACE of us? */
static bool needs_capability(const struct hs_process_facts *f)
{
    return f->is_other_user || f->is_other_group || f->is_dumpable == HS_FACT_NO ||
           f->yama_scope == 1 || f->yama_scope == 2 || f->has_more_capabilities ||
           f->userns == HS_USERNS_ELSEWHERE;
}

static void judge_capability_refused(const struct hs_process_facts *f, struct hs_check *check)
{
    if (f->userns == HS_USERNS_ELSEWHERE && (f->has_ptrace || f->own_uid == 0)) {
        say(check, HS_VERDICT_REFUSED,
            "not permitted, it is in a user namespace in which your capabilities do not count");
        advise(check, "run heapsnap in the namespace above both: from the host, outside of the "
                      "container");
    } else if (f->own_uid == 0) {
        say(check, HS_VERDICT_REFUSED, "not permitted, this root lacks CAP_SYS_PTRACE");
        advise_rights(f, check, "");
    } else if (f->has_more_capabilities && !f->is_other_user) {
        say(check, HS_VERDICT_REFUSED, "not permitted, it has capabilities that heapsnap has not");
        advise(check, "run heapsnap as root, or give it CAP_SYS_PTRACE");
    } else {
        say(check, HS_VERDICT_WARNING, "CAP_SYS_PTRACE is not held, and would be needed");
        advise(check, "run heapsnap as root, or: setcap cap_sys_ptrace=ep on its binary");
    }
}

static void judge_capability(const struct hs_process_facts *f, struct hs_check *check)
{
    if (hs_facts_has_capability(f))
        say(check, HS_VERDICT_OK, "CAP_SYS_PTRACE is held%s%s",
            f->userns == HS_USERNS_BELOW ? ", also in its user namespace" : "",
            f->userns == HS_USERNS_BELOW && !f->has_ptrace ? ", which is yours" : "");
    else if (is_refused(f) && needs_capability(f))
        judge_capability_refused(f, check);
    else if (is_refused(f))
        say(check, HS_VERDICT_OK, "CAP_SYS_PTRACE is not held; nothing known asks for it");
    else
        say(check, HS_VERDICT_OK, "CAP_SYS_PTRACE is not held, and not needed");
}

static void judge_dumpable(const struct hs_process_facts *f, struct hs_check *check)
{
    if (f->is_dumpable == HS_FACT_NO && is_refused(f) && !hs_facts_has_capability(f)) {
        say(check, HS_VERDICT_REFUSED,
            "it is not dumpable (set-user-id, capabilities, or prctl PR_SET_DUMPABLE)");
        advise_rights(f, check, "run heapsnap as root");
    } else if (f->is_dumpable == HS_FACT_NO) {
        say(check, HS_VERDICT_OK, "it is not dumpable; CAP_SYS_PTRACE overrides that");
    } else if (f->is_dumpable == HS_FACT_UNKNOWN && is_refused(f)) {
        say(check, HS_VERDICT_UNKNOWN, "of a process of root nobody else can tell");
    } else {
        say(check, HS_VERDICT_OK, "nothing keeps it from being looked at");
    }
}

/* Refused, though none of the causes above would do so. */
static bool is_unexplained(const struct hs_process_facts *f)
{
    if (!is_refused(f) || f->tracer != 0 || f->may_call_ptrace == HS_FACT_NO || f->yama_scope == 3)
        return false;
    return hs_facts_has_capability(f) || !needs_capability(f);
}

static void judge_security_module(const struct hs_process_facts *f, struct hs_check *check)
{
    const char *label = f->label[0] != '\0' ? f->label : "unknown";

    if (is_unexplained(f)) {
        const char *although = hs_facts_has_capability(f) ? " although CAP_SYS_PTRACE is held" : "";
        if (f->modules[0] == '\0')
            say(check, HS_VERDICT_REFUSED,
                "not permitted%s: a security module may guard it, the system does not tell which",
                although);
        else
            say(check, HS_VERDICT_REFUSED,
                "not permitted%s: a security module may guard it (%s; its profile: %s)", although,
                f->modules, label);
        advise(check, "look into the kernel's log for 'ptrace'; in a container allow it in the "
                      "AppArmor or SELinux profile (--security-opt apparmor=unconfined)");
    } else if (f->modules[0] == '\0') {
        say(check, is_refused(f) ? HS_VERDICT_UNKNOWN : HS_VERDICT_OK,
            "no security module is known to guard it");
    } else {
        say(check, HS_VERDICT_OK, "%s does not stand in the way (profile '%s', yours '%s')",
            f->modules, label, f->own_label[0] != '\0' ? f->own_label : "unknown");
    }
}

static void judge_seccomp(const struct hs_process_facts *f, struct hs_check *check)
{
    const char *by = f->own_seccomp == 2 ? "a seccomp filter" : "the system";

    if (f->may_call_ptrace == HS_FACT_NO) {
        say(check, HS_VERDICT_REFUSED, "%s forbids heapsnap to call ptrace", by);
        advise(check, "start the container with --cap-add SYS_PTRACE, which also opens its seccomp "
                      "profile, or with --security-opt seccomp=unconfined; or dump from the host");
    } else if (f->may_call_readv == HS_FACT_NO) {
        say(check, HS_VERDICT_WARNING,
            "%s forbids process_vm_readv: memory is read through /proc/%d/mem, more slowly", by,
            f->pid);
    } else if (f->may_call_ptrace == HS_FACT_UNKNOWN) {
        say(check, HS_VERDICT_UNKNOWN, "whether heapsnap may call ptrace could not be tried");
    } else {
        say(check, HS_VERDICT_OK,
            f->own_seccomp == 2 ? "heapsnap has a seccomp filter, which allows what it needs"
                                : "no filter keeps heapsnap from calling what it needs");
    }
}

static void judge_pid_namespace(const struct hs_process_facts *f, struct hs_check *check)
{
    if (f->n_namespaces == 0)
        say(check, HS_VERDICT_UNKNOWN, "the kernel does not tell its pid namespaces");
    else if (f->n_namespaces == 1)
        say(check, HS_VERDICT_OK, "it is in the pid namespace of heapsnap");
    else
        say(check, HS_VERDICT_OK,
            "it is in a pid namespace of its own, %u below, where its number is %d",
            f->n_namespaces - 1, f->inner_pid);
}

static void judge_machine(const struct hs_process_facts *f, struct hs_check *check)
{
    static const char hint[] = "only 64-bit " HS_ARCH_NAME " programs are supported";

    if (f->is_readable_program != HS_FACT_YES) {
        say(check, HS_VERDICT_UNKNOWN, "its program cannot be read%s",
            is_refused(f) ? " without the permission to trace it" : "");
    } else if (f->is_elf != HS_FACT_YES) {
        say(check, HS_VERDICT_REFUSED, "its program is no ELF file");
        advise(check, hint);
    } else if (f->is_64_bit != HS_FACT_YES) {
        say(check, HS_VERDICT_REFUSED, "it is a 32-bit program");
        advise(check, hint);
    } else if (f->is_our_machine != HS_FACT_YES) {
        say(check, HS_VERDICT_REFUSED, "it is a program for another machine (ELF number %u)",
            f->machine);
        advise(check, hint);
    } else {
        say(check, HS_VERDICT_OK, "it is a 64-bit " HS_ARCH_NAME " program");
    }
}

/* ---- the list */

static const struct {
    const char *name;
    check_judge *judge;
    bool is_final; /* a refusal leaves nothing more to say */
} judges[] = {
    {"process", judge_process, true},
    {"zombie", judge_zombie, true},
    {"kernel_thread", judge_kernel_thread, true},
    {"ourselves", judge_ourselves, true},
    {"traced", judge_traced, false},
    {"user", judge_user, false},
    {"yama", judge_yama, false},
    {"capability", judge_capability, false},
    {"dumpable", judge_dumpable, false},
    {"security_module", judge_security_module, false},
    {"seccomp", judge_seccomp, false},
    {"pid_namespace", judge_pid_namespace, false},
    {"machine", judge_machine, false},
};

_Static_assert(sizeof judges / sizeof *judges < HS_CHECKS_MAX, "others add theirs");

void hs_facts_judge(const struct hs_process_facts *facts, struct hs_diagnosis *ret)
{
    memset(ret, 0, sizeof *ret);
    ret->pid = facts->pid;
    for (size_t i = 0; i < sizeof judges / sizeof *judges; i++) {
        struct hs_check *check = &ret->checks[ret->n_checks++];
        check->name = judges[i].name;
        judges[i].judge(facts, check);
        if (judges[i].is_final && check->verdict == HS_VERDICT_REFUSED)
            return;
    }
    if (facts->may_trace == HS_FACT_NO && hs_diagnosis_refusal(ret) == NULL)
        hs_diagnosis_add(ret, "permission", HS_VERDICT_REFUSED, "the system does not permit it",
                         facts->own_uid != 0
                             ? "run heapsnap as root; in a container, allow ptrace in its seccomp "
                               "profile"
                             : "in a container, allow ptrace in its seccomp profile");
}

void hs_diagnosis_add(struct hs_diagnosis *diagnosis, const char *name, enum hs_verdict verdict,
                      const char *found, const char *hint)
{
    if (diagnosis->n_checks == HS_CHECKS_MAX)
        return;
    struct hs_check *check = &diagnosis->checks[diagnosis->n_checks++];
    check->name = name;
    say(check, verdict, "%s", found);
    if (hint != NULL)
        advise(check, "%s", hint);
}

const struct hs_check *hs_diagnosis_refusal(const struct hs_diagnosis *diagnosis)
{
    for (size_t i = 0; i < diagnosis->n_checks; i++)
        if (diagnosis->checks[i].verdict == HS_VERDICT_REFUSED)
            return &diagnosis->checks[i];
    return NULL;
}

hs_status hs_diagnosis_error(const struct hs_diagnosis *diagnosis, struct hs_error *err)
{
    const struct hs_check *refusal = hs_diagnosis_refusal(diagnosis);

    if (refusal == NULL)
        return HS_OK;
    (void)hs_fail(err, HS_TARGET, "%s", refusal->found);
    return refusal->hint[0] != '\0' ? hs_hint(err, "%s", refusal->hint) : HS_TARGET;
}

hs_status hs_diagnose(pid_t pid, struct hs_diagnosis *ret, struct hs_error *err)
{
    struct hs_process_facts facts;

    HS_TRY(hs_facts_of_process(pid, &facts, err));
    if (facts.exists)
        HS_TRY(hs_facts_of_permission(&facts, err));
    hs_facts_judge(&facts, ret);
    return HS_OK;
}
