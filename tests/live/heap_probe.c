/* What is found of glibc's malloc in a live process, for tests.
 *
 *   heap_probe PID                every block, the ledger, proofs and notes:
 *                                 "B address bytes state", "M owner state bytes resident blocks",
 *                                 "P expected found what", "N gap text", "T torn", "V version"
 *   heap_probe PID stops N        N stops at random moments: one line each, "stop damaged torn"
 *
 * Times go to standard error. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "probe.h"

static void *state; /* of the allocator */

static double probe_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void probe_walk(struct probe *p, struct hs_error *err)
{
    double began = probe_now(), found, sealed;
    uint64_t n_refused;

    probe_begin(p);
    probe_check(hs_allocator_glibc.open(&p->process, &state, err), err);
    if (state == NULL) {
        puts("unused");
        exit(0);
    }
    double opened = probe_now();
    probe_check(hs_allocator_glibc.add_spans(state, &p->map, &p->ledger, err), err);
    found = probe_now();
    hs_ledger_seal(&p->ledger);
    probe_check(hs_heap_map_seal(&p->map, &n_refused, err), err);
    sealed = probe_now();
    probe_check(hs_allocator_glibc.mark(state, &p->map, &p->ledger, err), err);
    double marked = probe_now();
    uint64_t resident;
    probe_check(hs_ledger_close(&p->ledger, &p->process, NULL, &resident, err), err);
    probe_check(hs_heap_map_index(&p->map, err), err);
    fprintf(stderr,
            "open %.3f s, walk %.3f s, seal %.3f s, mark %.3f s, blocks %" PRIu64
            ", refused spans %" PRIu64 "\n",
            opened - began, found - opened, sealed - found, marked - sealed, p->map.n_blocks,
            n_refused);
}

static void probe_forget(struct probe *p)
{
    hs_allocator_glibc.close(state);
    state = NULL;
    probe_end(p);
    hs_image_rewind(&p->image);
}

static void probe_print(const struct probe *p)
{
    struct hs_heap_iterator it = {.map = &p->map};
    struct hs_heap_block b;

    while (hs_heap_map_next(&it, &b))
        printf("B %" PRIx64 " %" PRIu64 " %u\n", b.begin, b.n_bytes, b.span->states);
    for (size_t i = 0; i < p->ledger.n_rows; i++) {
        const struct hs_memory_row *row = &p->ledger.rows[i];
        printf("M %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
               hs_strtab_get(&p->strings, row->owner), hs_memory_state_name(row->state),
               row->n_bytes, row->resident_bytes, row->n_blocks);
    }
    probe_print_findings(p);
    printf("V %s\n", hs_allocator_glibc.version(state));
}

static void probe_stops(struct probe *p, unsigned n, struct hs_error *err)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t damaged = 0;
        usleep((useconds_t)(1000 + rand() % 20000));
        probe_copy(p, err);
        probe_walk(p, err);
        for (size_t k = 0; k < p->ledger.n_rows; k++)
            if (p->ledger.rows[k].state == HS_MEMORY_DAMAGED)
                damaged += p->ledger.rows[k].n_bytes;
        bool holds = true;
        for (size_t k = 0; k < p->findings.n_proofs; k++)
            holds &= p->findings.proofs[k].holds;
        printf("%u %" PRIu64 " %" PRIu64 " %d\n", i, damaged, p->findings.n_torn, holds);
        probe_forget(p);
    }
}

int main(int n_arguments, char **arguments)
{
    static struct probe p;
    struct hs_error err = HS_ERROR_INIT;

    if (n_arguments < 2)
        return 2;
    probe_open(&p, arguments[1], &err);
    if (n_arguments > 3) {
        probe_stops(&p, (unsigned)strtoul(arguments[3], NULL, 10), &err);
    } else {
        probe_copy(&p, &err);
        probe_walk(&p, &err);
        probe_print(&p);
    }
    probe_forget(&p);
    probe_close(&p);
    return 0;
}
