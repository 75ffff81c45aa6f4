/* What both probes do: stop a process, copy its memory, and print what was found. */
#ifndef HS_TEST_PROBE_H
#define HS_TEST_PROBE_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "heaps/allocator.h"

struct probe {
    struct hs_target target;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_heap_map map;
    struct hs_ledger ledger;
    struct hs_process_copy process;
};

static inline void probe_check(hs_status status, const struct hs_error *err)
{
    if (status == HS_OK)
        return;
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, err->message);
    exit(1);
}

/* Stops the process, copies its private writable memory, lets it go. */
static inline void probe_copy(struct probe *p, struct hs_error *err)
{
    uint64_t began = hs_now_ns();

    probe_check(hs_target_stop(&p->target, err), err);
    probe_check(hs_objects_update(&p->objects, &p->target, err), err);
    for (size_t i = 0; i < p->target.n_mappings; i++) {
        const struct hs_mapping *m = &p->target.mappings[i];
        if (m->readable && m->writable && !m->shared)
            probe_check(hs_image_copy(&p->image, &p->target, m->begin, m->end, err), err);
    }
    hs_target_resume(&p->target);
    fprintf(stderr, "copy %.3f s\n", (double)(hs_now_ns() - began) / 1e9);
}

static inline void probe_open(struct probe *p, const char *pid, struct hs_error *err)
{
    probe_check(hs_target_open((pid_t)strtol(pid, NULL, 10), &p->target, err), err);
    probe_check(hs_objects_open(&p->objects, &p->target, err), err);
}

static inline void probe_close(struct probe *p)
{
    hs_image_fini(&p->image);
    hs_objects_close(&p->objects);
    hs_target_close(&p->target);
    hs_strtab_fini(&p->strings);
}

/* Before and after each walk of a copy. */
static inline void probe_begin(struct probe *p)
{
    p->findings.strings = &p->strings;
    p->process =
        (struct hs_process_copy){&p->target, &p->image, &p->objects, &p->findings, NULL, NULL};
    hs_heap_map_init(&p->map, &p->image);
    hs_ledger_init(&p->ledger, &p->strings, &p->image);
}

static inline void probe_end(struct probe *p)
{
    hs_heap_map_fini(&p->map);
    hs_ledger_fini(&p->ledger);
    hs_findings_fini(&p->findings);
    p->findings = (struct hs_findings){0};
}

static inline void probe_print_findings(const struct probe *p)
{
    for (size_t i = 0; i < p->findings.n_proofs; i++) {
        const struct hs_proof *proof = &p->findings.proofs[i];
        printf("P %" PRIu64 " %" PRIu64 " %s\n", proof->expected, proof->found,
               hs_strtab_get(&p->strings, proof->what));
    }
    for (size_t i = 0; i < p->findings.n_notes; i++)
        printf("N %d %s\n", p->findings.notes[i].is_gap,
               hs_strtab_get(&p->strings, p->findings.notes[i].text));
    printf("T %" PRIu64 "\n", p->findings.n_torn);
}

#endif
