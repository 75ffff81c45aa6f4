/* Diagnoses whether a process can be dumped, and if not, which of many causes it is and what to do.
 *
 * A list of checks in a fixed order, each of one possible cause. The refusals of hs_target_open
 * and the lines of `heapsnap doctor` are made here, from the same facts: an error is the first
 * refusal of the list. Nothing here disturbs the process: it is asked about, never stopped.
 *
 *   process zombie kernel_thread ourselves     a refusal ends the list
 *   traced user yama capability dumpable security_module seccomp pid_namespace machine
 *
 * Those above target add what they know (runtime, memory, binaries) with hs_diagnosis_add. */
#ifndef HS_TARGET_DIAGNOSIS_H
#define HS_TARGET_DIAGNOSIS_H

#include <sys/types.h>

#include "base/error.h"

#define HS_CHECKS_MAX 32

enum hs_verdict {
    HS_VERDICT_OK,
    HS_VERDICT_WARNING, /* a dump is possible; it lacks something, or could go wrong */
    HS_VERDICT_REFUSED, /* no dump is possible */
    HS_VERDICT_UNKNOWN, /* the system does not tell */
    HS_N_VERDICTS
};

struct hs_check {
    const char *name; /* static: "yama"; lower case, stable */
    enum hs_verdict verdict;
    char found[384]; /* in the style of an error's message, without its subject */
    char hint[256];  /* what to do; empty when there is nothing to do */
};

struct hs_diagnosis {
    pid_t pid;
    struct hs_check checks[HS_CHECKS_MAX];
    size_t n_checks;
};

const char *hs_verdict_name(enum hs_verdict verdict);

/* All checks of this floor, into *ret. HS_LIMIT alone: a refusal is no failure. About 1 ms. */
hs_status hs_diagnose(pid_t pid, struct hs_diagnosis *ret, struct hs_error *err);

/* Appends a check; more than HS_CHECKS_MAX are dropped. `found` and `hint` (may be NULL) are kept
 * as they are: who prints them makes them safe. */
void hs_diagnosis_add(struct hs_diagnosis *diagnosis, const char *name, enum hs_verdict verdict,
                      const char *found, const char *hint);

/* The first refusal; NULL when there is none. Borrowed. */
const struct hs_check *hs_diagnosis_refusal(const struct hs_diagnosis *diagnosis);

/* The first refusal as an error, without the name of the process, with its hint; HS_OK when there
 * is none. */
hs_status hs_diagnosis_error(const struct hs_diagnosis *diagnosis, struct hs_error *err);

#endif
