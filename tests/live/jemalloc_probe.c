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

#include "probe.h"

enum { N_ALLOCATORS = 3, CPYTHON = 2 };

static const struct hs_allocator *const allocators[N_ALLOCATORS] = {
    &hs_allocator_glibc, &hs_allocator_jemalloc, &hs_allocator_cpython};

static void *states[N_ALLOCATORS];

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

    probe_begin(p);
    began = hs_now_ns();
    for (size_t i = 0; i < N_ALLOCATORS; i++) {
        probe_check(allocators[i]->open(&p->process, &states[i], err), err);
        laps[i][0] = probe_lap(&began);
    }
    for (size_t i = 0; i < N_ALLOCATORS; i++) {
        if (states[i] != NULL)
            probe_check(allocators[i]->add_spans(states[i], &p->map, &p->ledger, err), err);
        laps[i][1] = probe_lap(&began);
    }
    hs_ledger_seal(&p->ledger);
    probe_check(hs_heap_map_seal(&p->map, &n_refused, err), err);
    double sealed = probe_lap(&began);
    for (size_t i = 0; i < N_ALLOCATORS; i++) {
        if (states[i] != NULL)
            probe_check(allocators[i]->mark(states[i], &p->map, &p->ledger, err), err);
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
        if (states[i] != NULL)
            printf("V %s %s\n", allocators[i]->name, allocators[i]->version(states[i]));
    while (hs_heap_map_next(&it, &b)) {
        bool has_type = with_types && hs_allocator_cpython.objects->type_name(states[CPYTHON], &b,
                                                                              type, sizeof type);
        printf("B %s %" PRIx64 " %" PRIu64 "%s%s\n", hs_heap_owner_name(b.span->owner), b.begin,
               b.n_bytes, has_type ? " " : "", has_type ? type : "");
    }
    for (size_t i = 0; i < p->ledger.n_rows; i++) {
        const struct hs_memory_row *row = &p->ledger.rows[i];
        printf("M %s: %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               hs_strtab_get(&p->strings, row->owner), hs_memory_state_name(row->state),
               row->n_bytes, row->resident_bytes, row->n_blocks);
    }
    probe_print_findings(p);
}

int main(int n_arguments, char **arguments)
{
    static struct probe p;
    struct hs_error err = HS_ERROR_INIT;

    if (n_arguments < 2)
        return 2;
    probe_open(&p, arguments[1], &err);
    probe_copy(&p, &err);
    probe_walk(&p, &err);
    probe_print(&p, n_arguments > 2 && strcmp(arguments[2], "types") == 0);
    for (size_t i = 0; i < N_ALLOCATORS; i++)
        allocators[i]->close(states[i]);
    probe_end(&p);
    probe_close(&p);
    return 0;
}
