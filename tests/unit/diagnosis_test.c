/* links: hs_target hs_symbols */
/* From facts to words: every cause, those of settings that this machine lacks included. */
#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live_child.h"
#include "target/doctor/diagnosis_facts.h"

static struct hs_error err;

/* A program of ours that may be dumped; yama_scope -1. */
static struct hs_process_facts sound(void)
{
    return (struct hs_process_facts){
        .pid = 42,
        .exists = true,
        .leader = 42,
        .parent = 7,
        .state = 'S',
        .has_memory = true,
        .n_namespaces = 1,
        .inner_pid = 42,
        .may_trace = HS_FACT_YES,
        .is_readable_program = HS_FACT_YES,
        .is_elf = HS_FACT_YES,
        .is_64_bit = HS_FACT_YES,
        .is_our_machine = HS_FACT_YES,
        .own_uid = 7,
        .uid = 7,
        .euid = 7,
        .yama_scope = -1,
        .userns = HS_USERNS_SAME,
        .is_dumpable = HS_FACT_YES,
        .may_call_ptrace = HS_FACT_YES,
        .may_call_readv = HS_FACT_YES,
    };
}

/* The same, to which the kernel says no. */
static struct hs_process_facts refused(void)
{
    struct hs_process_facts facts = sound();
    facts.may_trace = HS_FACT_NO;
    return facts;
}

static struct hs_process_facts refused_of_other(void)
{
    struct hs_process_facts facts = refused();
    facts.uid = facts.euid = 8;
    facts.is_other_user = true;
    return facts;
}

static struct hs_process_facts refused_to_root(void)
{
    struct hs_process_facts facts = refused_of_other();
    facts.own_uid = 0;
    return facts;
}

static const struct hs_check *check_named(const struct hs_diagnosis *diagnosis, const char *name)
{
    for (size_t i = 0; i < diagnosis->n_checks; i++)
        if (strcmp(diagnosis->checks[i].name, name) == 0)
            return &diagnosis->checks[i];
    return NULL;
}

/* One check of these facts, and what the error of a dump would be. */
static void expect(const struct hs_process_facts *facts, const char *name, enum hs_verdict verdict,
                   const char *found, const char *hint)
{
    struct hs_diagnosis diagnosis;
    hs_facts_judge(facts, &diagnosis);
    const struct hs_check *check = check_named(&diagnosis, name);
    if (check == NULL)
        fail_msg("no check '%s'", name);
    if (check->verdict != verdict || strstr(check->found, found) == NULL ||
        strstr(check->hint, hint) == NULL)
        fail_msg("%s: %s: '%s' | '%s', not %s '%s' | '%s'", name, hs_verdict_name(check->verdict),
                 check->found, check->hint, hs_verdict_name(verdict), found, hint);
}

/* The first refusal, which is the error of a dump. */
static void expect_refusal(const struct hs_process_facts *facts, const char *name,
                           const char *found, const char *hint)
{
    struct hs_diagnosis diagnosis;
    expect(facts, name, HS_VERDICT_REFUSED, found, hint);
    hs_facts_judge(facts, &diagnosis);
    assert_string_equal(hs_diagnosis_refusal(&diagnosis)->name, name);
    assert_int_equal(hs_diagnosis_error(&diagnosis, &err), HS_TARGET);
    assert_string_equal(err.message, hs_diagnosis_refusal(&diagnosis)->found);
    if (strstr(err.message, found) == NULL || strstr(err.hint, hint) == NULL || err.hint[0] == '\0')
        fail_msg("%s | %s", err.message, err.hint);
}

static void a_sound_process(void **state)
{
    static const char *const order[] = {
        "process", "zombie",        "kernel_thread", "ourselves", "traced",
        "user",    "yama",          "capability",    "dumpable",  "security_module",
        "seccomp", "pid_namespace", "machine",
    };
    struct hs_process_facts facts = sound();
    struct hs_diagnosis diagnosis;
    hs_facts_judge(&facts, &diagnosis);
    assert_int_equal(diagnosis.n_checks, sizeof order / sizeof *order);
    for (size_t i = 0; i < diagnosis.n_checks; i++) {
        assert_string_equal(diagnosis.checks[i].name, order[i]);
        assert_int_equal(diagnosis.checks[i].verdict, HS_VERDICT_OK);
        assert_true(diagnosis.checks[i].found[0] != '\0');
        assert_true(diagnosis.checks[i].hint[0] == '\0');
    }
    assert_null(hs_diagnosis_refusal(&diagnosis));
    assert_int_equal(hs_diagnosis_error(&diagnosis, &err), HS_OK);
}

/* Nothing more is said of what is no process with memory. */
static void who_it_is(void **state)
{
    struct hs_process_facts facts = {.pid = 42, .yama_scope = -1};
    struct hs_diagnosis diagnosis;
    expect_refusal(&facts, "process", "no such process", "ps -e");
    hs_facts_judge(&facts, &diagnosis);
    assert_int_equal(diagnosis.n_checks, 1);
    facts.namesake = 4711;
    snprintf(facts.namesake_name, sizeof facts.namesake_name, "nginx");
    expect_refusal(&facts, "process", "'nginx' has that number inside a container",
                   "heapsnap dump 4711");
    facts = (struct hs_process_facts){.pid = 42, .is_hidden = true};
    expect_refusal(&facts, "process", "/proc does not show it", "hidepid");
    facts = (struct hs_process_facts){.pid = 42, .is_foreign_proc = true};
    expect_refusal(&facts, "process", "another pid namespace", "mount -t proc");
    facts = sound();
    facts.leader = 40;
    expect_refusal(&facts, "process", "it is a thread of process 40", "heapsnap dump 40");
    facts = sound();
    facts.is_kernel_thread = true;
    facts.has_memory = false;
    expect_refusal(&facts, "kernel_thread", "no heap", "program");
    facts = sound();
    facts.is_ourselves = true;
    expect_refusal(&facts, "ourselves", "heapsnap itself", "another process");
    hs_facts_judge(&facts, &diagnosis);
    assert_int_equal(diagnosis.n_checks, 4);
}

static void who_has_ended(void **state)
{
    struct hs_process_facts facts = sound();
    facts.state = 'Z';
    facts.has_memory = false;
    expect_refusal(&facts, "zombie", "it is a zombie", "parent 7");
    facts.speaker = 41;
    facts.has_memory = true;
    expect(&facts, "zombie", HS_VERDICT_OK, "main thread has ended", "");
    facts.has_memory = false;
    expect_refusal(&facts, "zombie", "it is a zombie", "parent 7");
    facts = sound();
    facts.has_memory = false;
    expect_refusal(&facts, "zombie", "it is ending", "already gone");
}

static void a_tracer(void **state)
{
    struct hs_process_facts facts = refused_of_other();
    facts.tracer = 991;
    snprintf(facts.tracer_name, sizeof facts.tracer_name, "gdb");
    expect_refusal(&facts, "traced", "traced by 'gdb' (pid 991)", "let 'gdb' detach");
    expect(&facts, "user", HS_VERDICT_REFUSED, "user 8 and you are user 7", "as root");
}

static void another_user(void **state)
{
    struct hs_process_facts facts = refused_of_other();
    expect_refusal(&facts, "user", "belongs to user 8 and you are user 7", "CAP_SYS_PTRACE");
    expect(&facts, "capability", HS_VERDICT_WARNING, "not held, and would be needed", "setcap");
    facts.uid = 7;
    expect_refusal(&facts, "user", "runs as user 8 (set-user-id), started by you", "as root");
    facts = refused();
    facts.gid = 9;
    facts.is_other_group = true;
    expect_refusal(&facts, "user", "groups or saved user differ", "as root");
    /* what the capability allows is no complaint */
    facts = refused_of_other();
    facts.may_trace = HS_FACT_YES;
    facts.has_ptrace = true;
    expect(&facts, "user", HS_VERDICT_OK, "user 8 and you are user 7", "");
    expect(&facts, "capability", HS_VERDICT_OK, "CAP_SYS_PTRACE is held", "");
}

static void yama(void **state)
{
    struct hs_process_facts facts = refused();
    facts.yama_scope = 1;
    expect_refusal(&facts, "yama", "kernel.yama.ptrace_scope is 1: only descendants",
                   "sysctl kernel.yama.ptrace_scope=0");
    facts.yama_scope = 2;
    expect_refusal(&facts, "yama", "ptrace_scope is 2: only a tool with CAP_SYS_PTRACE", "as root");
    facts.yama_scope = 3;
    expect_refusal(&facts, "yama", "ptrace_scope is 3: nobody", "boot");
    /* root has to know of 3 as well, and of no other */
    facts.has_ptrace = true;
    expect_refusal(&facts, "yama", "ptrace_scope is 3: nobody", "boot");
    facts.yama_scope = 2;
    expect(&facts, "yama", HS_VERDICT_OK, "is 2", "");
    /* 3 before the other user: to become root would not help */
    facts = refused_of_other();
    facts.yama_scope = 3;
    expect_refusal(&facts, "yama", "is 3", "boot");
    expect(&facts, "user", HS_VERDICT_WARNING, "user 8", "");
    facts.yama_scope = 1; /* of another user's process that one is not the cause */
    expect_refusal(&facts, "user", "user 8", "as root");
    expect(&facts, "yama", HS_VERDICT_WARNING, "is 1", "sysctl");
    facts = sound();
    facts.yama_scope = 0;
    expect(&facts, "yama", HS_VERDICT_OK, "is 0: any process of the same user", "");
    facts.yama_scope = -1;
    expect(&facts, "yama", HS_VERDICT_OK, "no Yama", "");
    facts.yama_scope = 9;
    expect(&facts, "yama", HS_VERDICT_OK, "not known", "");
}

static void capabilities(void **state)
{
    struct hs_process_facts facts = refused_to_root();
    expect_refusal(&facts, "capability", "this root lacks CAP_SYS_PTRACE", "--cap-add SYS_PTRACE");
    facts.has_ptrace = true;
    facts.userns = HS_USERNS_ELSEWHERE;
    assert_false(hs_facts_has_capability(&facts));
    expect_refusal(&facts, "capability", "user namespace in which your capabilities do not count",
                   "from the host");
    facts.userns = HS_USERNS_BELOW;
    assert_true(hs_facts_has_capability(&facts));
    facts.has_ptrace = false;
    assert_false(hs_facts_has_capability(&facts));
    facts.owns_userns = true; /* who made a user namespace has every capability in it */
    assert_true(hs_facts_has_capability(&facts));
    facts.may_trace = HS_FACT_YES;
    expect(&facts, "capability", HS_VERDICT_OK, "also in its user namespace, which is yours", "");
    facts = refused();
    facts.has_more_capabilities = true;
    expect_refusal(&facts, "capability", "it has capabilities that heapsnap has not", "as root");
    facts = sound();
    expect(&facts, "capability", HS_VERDICT_OK, "not held, and not needed", "");
}

static void not_dumpable(void **state)
{
    struct hs_process_facts facts = refused();
    facts.is_dumpable = HS_FACT_NO;
    expect_refusal(&facts, "dumpable", "PR_SET_DUMPABLE", "as root");
    facts.has_ptrace = true;
    expect(&facts, "dumpable", HS_VERDICT_OK, "CAP_SYS_PTRACE overrides", "");
    facts = refused_to_root();
    facts.is_dumpable = HS_FACT_UNKNOWN;
    expect(&facts, "dumpable", HS_VERDICT_UNKNOWN, "nobody else can tell", "");
}

static void security_modules(void **state)
{
    struct hs_process_facts facts = refused();
    snprintf(facts.modules, sizeof facts.modules, "apparmor, landlock");
    snprintf(facts.label, sizeof facts.label, "docker-default (enforce)");
    expect_refusal(&facts, "security_module", "apparmor, landlock", "apparmor=unconfined");
    expect_refusal(&facts, "security_module", "docker-default (enforce)", "kernel's log");
    facts.has_ptrace = true;
    expect_refusal(&facts, "security_module", "although CAP_SYS_PTRACE is held", "log");
    facts = refused_of_other();
    expect(&facts, "security_module", HS_VERDICT_UNKNOWN, "no security module is known", "");
    facts = sound();
    snprintf(facts.modules, sizeof facts.modules, "selinux");
    expect(&facts, "security_module", HS_VERDICT_OK, "selinux does not stand in the way", "");
}

static void own_filter(void **state)
{
    struct hs_process_facts facts = refused();
    facts.may_call_ptrace = HS_FACT_NO;
    facts.own_seccomp = 2;
    expect_refusal(&facts, "seccomp", "a seccomp filter forbids heapsnap to call ptrace",
                   "--security-opt seccomp=unconfined");
    facts.own_seccomp = 0;
    expect_refusal(&facts, "seccomp", "the system forbids", "--cap-add");
    facts = sound();
    facts.own_seccomp = 2;
    expect(&facts, "seccomp", HS_VERDICT_OK, "allows what it needs", "");
    facts.may_call_readv = HS_FACT_NO;
    expect(&facts, "seccomp", HS_VERDICT_WARNING, "read through /proc/42/mem", "");
    facts = sound();
    facts.may_call_ptrace = HS_FACT_UNKNOWN;
    expect(&facts, "seccomp", HS_VERDICT_UNKNOWN, "could not be tried", "");
}

static void pid_namespaces(void **state)
{
    struct hs_process_facts facts = sound();
    facts.n_namespaces = 3;
    facts.inner_pid = 17;
    expect(&facts, "pid_namespace", HS_VERDICT_OK, "2 below, where its number is 17", "");
    facts.n_namespaces = 0;
    expect(&facts, "pid_namespace", HS_VERDICT_UNKNOWN, "does not tell", "");
}

/* Whatever the facts: who is refused is told a reason, and what to do. */
static void every_refusal_has_a_hint(void **state)
{
    for (unsigned bits = 0; bits < 1U << 9; bits++) {
        for (int scope = -1; scope <= 4; scope++) {
            struct hs_process_facts facts = refused();
            facts.yama_scope = scope;
            facts.is_other_user = bits & 1;
            facts.uid = facts.euid = bits & 1 ? 8 : 7;
            facts.own_uid = bits & 2 ? 0 : 7;
            facts.has_ptrace = bits & 4;
            facts.userns = bits & 8    ? HS_USERNS_ELSEWHERE
                           : bits & 16 ? HS_USERNS_BELOW
                                       : HS_USERNS_SAME;
            facts.has_more_capabilities = bits & 32;
            facts.is_dumpable = bits & 64 ? HS_FACT_NO : HS_FACT_YES;
            facts.may_call_ptrace = bits & 128 ? HS_FACT_NO : HS_FACT_YES;
            facts.tracer = bits & 256 ? 5 : 0;
            struct hs_diagnosis diagnosis;
            hs_facts_judge(&facts, &diagnosis);
            if (hs_diagnosis_error(&diagnosis, &err) != HS_TARGET || err.hint[0] == '\0')
                fail_msg("facts %x, scope %d: '%s' | '%s'", bits, scope, err.message, err.hint);
            for (size_t i = 0; i < diagnosis.n_checks; i++)
                if (diagnosis.checks[i].verdict == HS_VERDICT_REFUSED)
                    assert_true(diagnosis.checks[i].hint[0] != '\0');
        }
    }
}

static void more_than_there_is_room_for(void **state)
{
    struct hs_diagnosis diagnosis = {.pid = 42};
    char text[1000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    for (size_t i = 0; i < HS_CHECKS_MAX + 5; i++)
        hs_diagnosis_add(&diagnosis, "memory", HS_VERDICT_OK, text, text);
    assert_int_equal(diagnosis.n_checks, HS_CHECKS_MAX);
    assert_int_equal(strlen(diagnosis.checks[0].found), sizeof diagnosis.checks[0].found - 1);
    assert_int_equal(strlen(diagnosis.checks[0].hint), sizeof diagnosis.checks[0].hint - 1);
}

static void check_program(const unsigned char *bytes, size_t n, enum hs_verdict verdict,
                          const char *found)
{
    char path[] = "/tmp/hs_diagnosis_test.XXXXXX";
    struct hs_process_facts facts = sound();
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, n), n);
    close(fd);
    facts.is_readable_program = facts.is_elf = facts.is_64_bit = facts.is_our_machine =
        HS_FACT_UNKNOWN;
    hs_facts_of_program(&facts, path);
    unlink(path);
    expect(&facts, "machine", verdict, found, verdict == HS_VERDICT_OK ? "" : "64-bit x86-64");
}

static void other_machines_are_named(void **state)
{
    /* e_ident, e_type, e_machine of elf(5); the rest is not looked at */
    unsigned char head[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
    head[16] = 3;
    head[18] = 62;
    check_program(head, sizeof head, HS_VERDICT_OK, "64-bit x86-64");
    head[18] = 183;
    check_program(head, sizeof head, HS_VERDICT_REFUSED, "ELF number 183");
    head[4] = 1;
    head[18] = 3;
    check_program(head, sizeof head, HS_VERDICT_REFUSED, "32-bit");
    head[18] = 62; /* x32 */
    check_program(head, sizeof head, HS_VERDICT_REFUSED, "32-bit");
    check_program((const unsigned char *)"#!/bin/sh\n", 10, HS_VERDICT_REFUSED, "no ELF");
}

/* ---- real ones */

static void body_sleep(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;)
        pause();
}

static void a_child(void **state)
{
    struct live_child child = live_child_start(body_sleep);
    struct hs_diagnosis diagnosis;
    assert_int_equal(hs_diagnose(child.pid, &diagnosis, &err), HS_OK);
    if (hs_diagnosis_refusal(&diagnosis) != NULL)
        fail_msg("%s", hs_diagnosis_refusal(&diagnosis)->found);
    assert_int_equal(check_named(&diagnosis, "machine")->verdict, HS_VERDICT_OK);
    assert_int_equal(check_named(&diagnosis, "seccomp")->verdict, HS_VERDICT_OK);
    live_child_end(&child);
    assert_int_equal(hs_diagnose(child.pid, &diagnosis, &err), HS_OK);
    assert_int_equal(hs_diagnosis_refusal(&diagnosis) - diagnosis.checks, 0);
}

/* A filter of `action` for one call. */
static bool filter_call(unsigned number, unsigned action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/* The exit code of a child that tries its calls below such a filter: 0 when `is_expected`. */
static int calls_below(unsigned number, unsigned action, bool (*is_expected)(void))
{
    int report;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(!filter_call(number, action) ? 77 : is_expected() ? 0 : 1);
    assert_int_equal(waitpid(child, &report, 0), child);
    return WIFEXITED(report) ? WEXITSTATUS(report) : -1;
}

static bool ptrace_is_refused(void)
{
    struct hs_process_facts facts = sound();
    hs_facts_of_calls(&facts);
    return facts.own_seccomp == 2 && facts.may_call_ptrace == HS_FACT_NO &&
           facts.may_call_readv == HS_FACT_YES;
}

static bool readv_is_refused(void)
{
    struct hs_process_facts facts = sound();
    hs_facts_of_calls(&facts);
    return facts.may_call_ptrace == HS_FACT_YES && facts.may_call_readv == HS_FACT_NO;
}

/* Of a filter that kills, too: a child of ours dies, not heapsnap. */
static void a_filter_of_our_own_is_found(void **state)
{
    if (calls_below(SYS_ptrace, SECCOMP_RET_ERRNO | EPERM, ptrace_is_refused) == 77)
        skip(); /* a kernel without filters */
    assert_int_equal(calls_below(SYS_ptrace, SECCOMP_RET_ERRNO | ENOSYS, ptrace_is_refused), 0);
    assert_int_equal(calls_below(SYS_ptrace, SECCOMP_RET_KILL_PROCESS, ptrace_is_refused), 0);
    assert_int_equal(calls_below(SYS_ptrace, SECCOMP_RET_ERRNO | EPERM, ptrace_is_refused), 0);
    assert_int_equal(calls_below(SYS_process_vm_readv, SECCOMP_RET_ERRNO | EPERM, readv_is_refused),
                     0);
}

/* Whatever stands in the way of root, it is not told to become root. */
static void root_is_not_told_to_become_root(void **state)
{
    enum { SETTINGS = 1 << 9 };
    for (unsigned bits = 0; bits < SETTINGS; bits++) {
        for (int yama = -1; yama <= 3; yama++) {
            struct hs_process_facts facts = refused_to_root();
            struct hs_diagnosis diagnosis;
            facts.yama_scope = yama;
            facts.exists = !(bits & 1);
            facts.is_hidden = (bits & 1) != 0;
            facts.is_other_user = (bits & 2) != 0;
            facts.is_other_group = (bits & 4) != 0;
            facts.has_ptrace = (bits & 8) != 0;
            facts.userns = bits & 16 ? HS_USERNS_ELSEWHERE : HS_USERNS_SAME;
            facts.has_more_capabilities = (bits & 32) != 0;
            facts.is_dumpable = bits & 64 ? HS_FACT_NO : HS_FACT_YES;
            facts.may_call_ptrace = bits & 128 ? HS_FACT_NO : HS_FACT_YES;
            (void)snprintf(facts.modules, sizeof facts.modules, "%s", bits & 256 ? "apparmor" : "");
            hs_facts_judge(&facts, &diagnosis);
            for (size_t i = 0; i < diagnosis.n_checks; i++)
                if (strstr(diagnosis.checks[i].hint, "as root") != NULL ||
                    strstr(diagnosis.checks[i].hint, "sudo") != NULL)
                    fail_msg("%s: %s", diagnosis.checks[i].name, diagnosis.checks[i].hint);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_process),
        cmocka_unit_test(who_it_is),
        cmocka_unit_test(who_has_ended),
        cmocka_unit_test(a_tracer),
        cmocka_unit_test(another_user),
        cmocka_unit_test(yama),
        cmocka_unit_test(capabilities),
        cmocka_unit_test(not_dumpable),
        cmocka_unit_test(security_modules),
        cmocka_unit_test(own_filter),
        cmocka_unit_test(pid_namespaces),
        cmocka_unit_test(every_refusal_has_a_hint),
        cmocka_unit_test(root_is_not_told_to_become_root),
        cmocka_unit_test(more_than_there_is_room_for),
        cmocka_unit_test(other_machines_are_named),
        cmocka_unit_test(a_child),
        cmocka_unit_test(a_filter_of_our_own_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
