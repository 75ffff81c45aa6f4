/* What the allocators make of a live process, for tests.
 *
 *   jemalloc_probe PID [types]    "V allocator version", "B owner address bytes [type]" per block,
 *                                 "M owner: state bytes resident blocks", "P expected found what",
 *                                 "N gap text", "T torn"
 *
 * Times go to standard error. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "heaps/allocator.h"

enum { N_ALLOCATORS = 3, CPYTHON = 2 };

static const struct hs_allocator *const allocators[N_ALLOCATORS] = {
    &hs_allocator_glibc, &hs_allocator_jemalloc, &hs_allocator_cpython};

struct probe {
    struct hs_target target;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_heap_map map;
    struct hs_ledger ledger;
    struct hs_process_copy process;
    void *states[N_ALLOCATORS];
};

static void probe_check(hs_status status, const struct hs_error *err)
{
    if (status == HS_OK)
        return;
    fprintf(stderr, "jemalloc_probe: %s\n", err->message);
    exit(1);
}

/* Stops the process, copies its private writable memory, lets it go. */
static void probe_copy(struct probe *p, struct hs_error *err)
{
    probe_check(hs_target_stop(&p->target, err), err);
    probe_check(hs_objects_update(&p->objects, &p->target, err), err);
    for (size_t i = 0; i < p->target.n_mappings; i++) {
        const struct hs_mapping *m = &p->target.mappings[i];
        if (m->readable && m->writable && !m->shared)
            probe_check(hs_image_copy(&p->image, &p->target, m->begin, m->end, err), err);
    }
    hs_target_resume(&p->target);
}

static double probe_lap(uint64_t *began)
{
    uint64_t now = hs_now_ns(), lap = now - *began;
    *began = now;
    return (double)lap / 1e6;
}

static void probe_walk(struct probe *p, struct hs_error *err)
{
    double laps[N_ALLOCATORS][3] = {{0}};
    uint64_t n_refused, resident, began;

    p->findings.strings = &p->strings;
    p->process = (struct hs_process_copy){&p->target, &p->image, &p->objects, &p->findings};
    hs_heap_map_init(&p->map, &p->image);
    hs_ledger_init(&p->ledger, &p->strings, &p->image);
    began = hs_now_ns();
    for (size_t i = 0; i < N_ALLOCATORS; i++) {
        probe_check(allocators[i]->open(&p->process, &p->states[i], err), err);
        laps[i][0] = probe_lap(&began);
    }
    for (size_t i = 0; i < N_ALLOCATORS; i++) {
        if (p->states[i] != NULL)
            probe_check(allocators[i]->add_spans(p->states[i], &p->map, &p->ledger, err), err);
        laps[i][1] = probe_lap(&began);
    }
    hs_ledger_seal(&p->ledger);
    probe_check(hs_heap_map_seal(&p->map, &n_refused, err), err);
    double sealed = probe_lap(&began);
    for (size_t i = 0; i < N_ALLOCATORS; i++) {
        if (p->states[i] != NULL)
            probe_check(allocators[i]->mark(p->states[i], &p->map, &p->ledger, err), err);
        laps[i][2] = probe_lap(&began);
    }
    probe_check(hs_ledger_close(&p->ledger, &p->process, NULL, &resident, err), err);
    probe_check(hs_heap_map_index(&p->map, err), err);
    for (size_t i = 0; i < N_ALLOCATORS; i++)
        fprintf(stderr, "%s: open %.1f ms, spans %.1f ms, mark %.1f ms\n", allocators[i]->name,
                laps[i][0], laps[i][1], laps[i][2]);
    fprintf(stderr, "seal %.1f ms, %" PRIu64 " blocks, %" PRIu64 " spans refused\n", sealed,
            p->map.n_blocks, n_refused);
}

static void probe_print(const struct probe *p, bool with_types)
{
    struct hs_heap_iterator it = {.map = &p->map};
    struct hs_heap_block b;
    char type[96];

    for (size_t i = 0; i < N_ALLOCATORS; i++)
        if (p->states[i] != NULL)
            printf("V %s %s\n", allocators[i]->name, allocators[i]->version(p->states[i]));
    while (hs_heap_map_next(&it, &b)) {
        bool has_type = with_types && hs_allocator_cpython.objects->type_name(
                                          p->states[CPYTHON], &b, type, sizeof type);
        printf("B %s %" PRIx64 " %" PRIu64 "%s%s\n", hs_heap_owner_name(b.span->owner), b.begin,
               b.n_bytes, has_type ? " " : "", has_type ? type : "");
    }
    for (size_t i = 0; i < p->ledger.n_rows; i++) {
        const struct hs_memory_row *row = &p->ledger.rows[i];
        printf("M %s: %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               hs_strtab_get(&p->strings, row->owner), hs_memory_state_name(row->state),
               row->n_bytes, row->resident_bytes, row->n_blocks);
    }
    for (size_t i = 0; i < p->findings.n_proofs; i++)
        printf("P %" PRIu64 " %" PRIu64 " %s\n", p->findings.proofs[i].expected,
               p->findings.proofs[i].found, hs_strtab_get(&p->strings, p->findings.proofs[i].what));
    for (size_t i = 0; i < p->findings.n_notes; i++)
        printf("N %d %s\n", p->findings.notes[i].is_gap,
               hs_strtab_get(&p->strings, p->findings.notes[i].text));
    printf("T %" PRIu64 "\n", p->findings.n_torn);
}

int main(int n_arguments, char **arguments)
{
    static struct probe p;
    struct hs_error err = HS_ERROR_INIT;

    if (n_arguments < 2)
        return 2;
    probe_check(hs_target_open((pid_t)strtol(arguments[1], NULL, 10), &p.target, &err), &err);
    probe_check(hs_objects_open(&p.objects, &p.target, &err), &err);
    probe_copy(&p, &err);
    probe_walk(&p, &err);
    probe_print(&p, n_arguments > 2 && strcmp(arguments[2], "types") == 0);
    for (size_t i = 0; i < N_ALLOCATORS; i++)
        allocators[i]->close(p.states[i]);
    hs_heap_map_fini(&p.map);
    hs_ledger_fini(&p.ledger);
    hs_findings_fini(&p.findings);
    hs_image_fini(&p.image);
    hs_objects_close(&p.objects);
    hs_target_close(&p.target);
    hs_strtab_fini(&p.strings);
    return 0;
}
