/* The facts that decide whether a process may be dumped, as plain values: gathered in
 * diagnosis_facts.c and diagnosis_own.c, judged in diagnosis.c. The judgement is pure, so that
 * every setting can be tested on any machine. */
#ifndef HS_DOCTOR_DIAGNOSIS_FACTS_H
#define HS_DOCTOR_DIAGNOSIS_FACTS_H

#include <sys/types.h>

#include "target/diagnosis.h"

#define HS_FACT_NAME_BYTES 64
#define HS_FACT_LABEL_BYTES 96

enum hs_fact { HS_FACT_UNKNOWN, HS_FACT_NO, HS_FACT_YES };

/* The relation of the user namespace of the process to ours: our capabilities count in our own and
 * in those below it (user_namespaces(7)). */
enum hs_userns { HS_USERNS_UNKNOWN, HS_USERNS_SAME, HS_USERNS_BELOW, HS_USERNS_ELSEWHERE };

struct hs_process_facts {
    pid_t pid;
    bool exists;          /* /proc shows it */
    bool is_hidden;       /* it does not, though the kernel knows the number */
    bool is_foreign_proc; /* /proc counts in another pid namespace than our system calls */
    pid_t namesake;       /* !exists: who has the number inside another pid namespace; 0: nobody */
    char namesake_name[HS_FACT_NAME_BYTES];
    bool is_ourselves;
    pid_t leader, parent; /* leader: of the thread group that pid is a thread of */
    char state;           /* R S D T t Z X I */
    pid_t speaker; /* whom to ask of it: pid, or a thread when the main one has ended; or 0 */
    bool is_kernel_thread, has_memory;
    pid_t tracer; /* 0: none */
    char tracer_name[HS_FACT_NAME_BYTES];
    uint32_t n_namespaces;  /* pid namespaces that count it, ours included */
    pid_t inner_pid;        /* its number in the innermost */
    enum hs_fact may_trace; /* what the kernel says to an attempt; unknown: not tried */
    /* the program: YES as soon as it is known that it can be dumped */
    enum hs_fact is_readable_program, is_elf, is_64_bit, is_our_machine;
    unsigned machine; /* ELF number */
    /* what may_trace follows from: hs_facts_of_permission */
    uint32_t own_uid, uid, euid, gid, own_gid;
    bool is_other_user, is_other_group; /* any of the three ids of each differs from ours */
    int yama_scope;                     /* -1: no Yama */
    bool has_ptrace;                    /* CAP_SYS_PTRACE, in our own user namespace */
    enum hs_userns userns;
    bool owns_userns;           /* userns below ours, made by our user: all capabilities */
    bool has_more_capabilities; /* than we have */
    enum hs_fact is_dumpable;
    char modules[HS_FACT_LABEL_BYTES]; /* security modules that can refuse a trace: "apparmor" */
    char label[HS_FACT_LABEL_BYTES], own_label[HS_FACT_LABEL_BYTES];
    unsigned own_seccomp;                         /* 0 none, 2 a filter */
    enum hs_fact may_call_ptrace, may_call_readv; /* tried on ourselves */
};

/* Gathers who it is, whether it lives, what its program is, and whether the kernel would let us
 * trace it. HS_LIMIT alone. */
hs_status hs_facts_of_process(pid_t pid, struct hs_process_facts *ret, struct hs_error *err);
/* The rest, into facts of a process that exists. HS_LIMIT alone. */
hs_status hs_facts_of_permission(struct hs_process_facts *facts, struct hs_error *err);

/* Says that a process traces it, or one of its threads. */
void hs_facts_set_tracer(struct hs_process_facts *facts, pid_t tracer);

/* Adds what the program at `path` is: whether it can be read, is ELF, of 64 bits, of our
 * machine. */
void hs_facts_of_program(struct hs_process_facts *facts, const char *path);

/* ---- diagnosis_own.c: what we ourselves may do. */
/* Sets own_seccomp, may_call_*. A filter may kill who calls: then a child of ours tries. */
void hs_facts_of_calls(struct hs_process_facts *facts);
/* Sets userns and owns_userns. HS_LIMIT alone. */
hs_status hs_facts_of_userns(struct hs_process_facts *facts, struct hs_error *err);

/* ---- diagnosis.c */
/* Every check of this floor. */
void hs_facts_judge(const struct hs_process_facts *facts, struct hs_diagnosis *ret);
/* Tells whether CAP_SYS_PTRACE counts for the user namespace of the process. */
bool hs_facts_has_capability(const struct hs_process_facts *facts);

#endif
