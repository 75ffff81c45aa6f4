/* Makes the error that says why a process cannot be dumped: the first refusal of its diagnosis. */
#include <stdio.h>

#include "base/alloc.h"
#include "doctor/diagnosis_facts.h"
#include "target/procfs.h"
#include "target_private.h"

hs_status hs_refusal_if_ended(pid_t pid, hs_status status, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t n_kib;

    if (status != HS_TARGET)
        return status;
    pid_t speaker = hs_process_speaker(pid);
    if (speaker != 0 && hs_proc_read_of(speaker, "status", &text, &n, &ignored) == HS_OK &&
        hs_proc_number(text, "VmSize", 10, &n_kib))
        return status;
    if (ignored.status == HS_LIMIT)
        return status;
    return hs_fail(err, HS_TARGET, "it ended during the dump");
}

/* The kernel has said no to an attempt: the cause is looked for, and there is one. */
static hs_status refusal_explain(struct hs_process_facts *facts, struct hs_error *err)
{
    struct hs_diagnosis diagnosis;

    facts->may_trace = HS_FACT_NO;
    HS_TRY(hs_facts_of_permission(facts, err));
    hs_facts_judge(facts, &diagnosis);
    return hs_diagnosis_error(&diagnosis, err);
}

hs_status hs_refusal_permission(pid_t pid, struct hs_error *err)
{
    struct hs_process_facts facts;

    HS_TRY(hs_facts_of_process(pid, &facts, err));
    return refusal_explain(&facts, err);
}

hs_status hs_refusal_traced(pid_t pid, pid_t tracer, struct hs_error *err)
{
    struct hs_process_facts facts;
    struct hs_diagnosis diagnosis;

    HS_TRY(hs_facts_of_process(pid, &facts, err));
    hs_facts_set_tracer(&facts, tracer);
    hs_facts_judge(&facts, &diagnosis);
    return hs_diagnosis_error(&diagnosis, err);
}

hs_status hs_refusal_check(pid_t pid, struct hs_error *err)
{
    struct hs_process_facts facts;
    struct hs_diagnosis diagnosis;

    HS_TRY(hs_facts_of_process(pid, &facts, err));
    hs_facts_judge(&facts, &diagnosis);
    /* A refusal that needs no permission to be seen comes first: a tracer, a zombie. */
    if (facts.may_trace == HS_FACT_NO && facts.exists && facts.tracer == 0)
        return refusal_explain(&facts, err);
    return hs_diagnosis_error(&diagnosis, err);
}
