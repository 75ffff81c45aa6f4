#include "ahead.h"

#include <pthread.h>
#include <signal.h>

#include "base/alloc.h"

enum { MOST_THREADS = 4, EDGES_OF_BLOCK = 4, IS_LEFT = 0xff };

struct unit {
    struct hs_edge *edges; /* owned, as the next */
    struct of_block {
        struct hs_heap_block block;
        uint32_t end;   /* of its edges */
        uint8_t states; /* IS_LEFT: they were not collected */
    } * blocks;
    bool is_ready;
};

struct collector {
    struct hs_ahead *ahead; /* borrowed */
    struct hs_scan scan;
};

struct hs_ahead {
    struct hs_dump *dump; /* borrowed, as the next */
    const struct hs_heap_map *map;
    uint64_t n_of_unit, n_units;
    uint64_t reserved_bytes;
    uint64_t rank; /* of the next block to give */
    unsigned n_slots, n_collectors;
    struct unit units[MOST_THREADS + 1];
    struct collector collectors[MOST_THREADS]; /* the first is the caller's */
    unsigned n_threads;
    pthread_t threads[MOST_THREADS];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t next, taken; /* units: the next to collect; done */
    bool stops;
};

/* ---- collecting */

/* Adds the edges of block i to its unit. What is not light, and what there is no room for, is left.
 */
static void collect_block(struct hs_scan *scan, struct unit *unit, uint64_t n_of_unit, uint64_t i)
{
    struct of_block *of = &unit->blocks[i];
    struct hs_error ignored = HS_ERROR_INIT;
    uint32_t n = i == 0 ? 0 : unit->blocks[i - 1].end;

    of->end = n;
    of->states = IS_LEFT;
    if (!hs_scan_is_light(scan, &of->block) || hs_scan_block(scan, &of->block, &ignored) != HS_OK ||
        scan->n_edges > EDGES_OF_BLOCK * n_of_unit - n)
        return;
    for (size_t k = 0; k < scan->n_edges; k++)
        unit->edges[n + k] = scan->edges[k];
    of->end = n + (uint32_t)scan->n_edges;
    of->states = scan->states;
}

static void collect(struct collector *c, uint64_t at, struct unit *unit)
{
    struct hs_heap_iterator it = {.map = c->ahead->map};

    hs_heap_map_seek(&it, at * c->ahead->n_of_unit);
    for (uint64_t i = 0; i < c->ahead->n_of_unit; i++) {
        if (!hs_heap_map_next(&it, &unit->blocks[i].block))
            break;
        collect_block(&c->scan, unit, c->ahead->n_of_unit, i);
    }
}

/* Collects the next unit, if there is one and a slot for it. Called and left with the mutex. */
static bool collect_next(struct collector *c)
{
    struct hs_ahead *a = c->ahead;

    if (a->next == a->n_units || a->next - a->taken >= a->n_slots)
        return false;
    uint64_t at = a->next++;
    (void)pthread_mutex_unlock(&a->mutex);
    collect(c, at, &a->units[at % a->n_slots]);
    (void)pthread_mutex_lock(&a->mutex);
    a->units[at % a->n_slots].is_ready = true;
    (void)pthread_cond_broadcast(&a->changed);
    return true;
}

static void *collecting_thread(void *argument)
{
    struct collector *c = argument;
    struct hs_ahead *a = c->ahead;

    (void)pthread_mutex_lock(&a->mutex);
    while (!a->stops && a->next != a->n_units)
        if (!collect_next(c))
            (void)pthread_cond_wait(&a->changed, &a->mutex);
    (void)pthread_mutex_unlock(&a->mutex);
    return NULL;
}

/* ---- taking */

/* Gives back the unit before, and waits for this one, or collects others meanwhile. */
static void ahead_turn_to(struct hs_ahead *a, uint64_t at)
{
    (void)pthread_mutex_lock(&a->mutex);
    if (at != 0) {
        a->units[(at - 1) % a->n_slots].is_ready = false;
        a->taken = at;
        (void)pthread_cond_broadcast(&a->changed);
    }
    while (!a->units[at % a->n_slots].is_ready)
        if (!collect_next(&a->collectors[0]))
            (void)pthread_cond_wait(&a->changed, &a->mutex);
    (void)pthread_mutex_unlock(&a->mutex);
}

bool hs_ahead_next(struct hs_ahead *a, struct hs_ahead_block *ret)
{
    uint64_t at = a->rank / a->n_of_unit, i = a->rank % a->n_of_unit;

    if (a->rank == a->map->n_blocks)
        return false;
    if (i == 0)
        ahead_turn_to(a, at);
    const struct unit *unit = &a->units[at % a->n_slots];
    uint32_t begin = i == 0 ? 0 : unit->blocks[i - 1].end;
    *ret = (struct hs_ahead_block){.block = unit->blocks[i].block,
                                   .edges = unit->edges + begin,
                                   .n_edges = unit->blocks[i].end - begin,
                                   .states = unit->blocks[i].states,
                                   .is_left = unit->blocks[i].states == IS_LEFT};
    a->rank++;
    return true;
}

/* ---- opening */

static hs_status ahead_init(struct hs_ahead *a, const struct hs_scan *scan, struct hs_error *err)
{
    for (unsigned i = 0; i < a->n_slots; i++) {
        HS_TRY(HS_ALLOC(&a->units[i].edges, EDGES_OF_BLOCK * a->n_of_unit, err));
        HS_TRY(HS_ALLOC(&a->units[i].blocks, a->n_of_unit, err));
    }
    for (unsigned i = 0; i < a->n_collectors; i++) {
        a->collectors[i].ahead = a;
        HS_TRY(hs_scan_share(scan, &a->collectors[i].scan, err));
    }
    return HS_OK;
}

/* Begins the threads. Signals are for the one that writes; fewer threads, or none, are only slower.
 */
static void ahead_begin(struct hs_ahead *a)
{
    sigset_t all, before;

    sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    while (a->n_threads + 1 < a->n_collectors &&
           pthread_create(&a->threads[a->n_threads], NULL, collecting_thread,
                          &a->collectors[a->n_threads + 1]) == 0)
        a->n_threads++;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static uint64_t ahead_bytes(const struct hs_ahead *a)
{
    uint64_t of_block = EDGES_OF_BLOCK * sizeof(struct hs_edge) + sizeof(struct of_block);
    return sizeof *a + a->n_slots * a->n_of_unit * of_block +
           a->n_collectors * HS_SCAN_SHARED_BYTES;
}

static bool ahead_is_possible(const struct hs_scan *scan)
{
    const struct hs_dump *dump = scan->native->dump;
    return scan->is_bare && dump->n_serving <= 1 && dump->image.paged == NULL;
}

static struct hs_ahead *ahead_new(const struct hs_scan *scan, unsigned n_threads,
                                  uint64_t n_of_unit)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_ahead *a;

    if (HS_ALLOC(&a, 1, &ignored) != HS_OK)
        return NULL;
    a->dump = scan->native->dump;
    a->map = &a->dump->heaps.map;
    a->n_of_unit = n_of_unit;
    a->n_units = (a->map->n_blocks + n_of_unit - 1) / n_of_unit;
    a->n_collectors = n_threads < MOST_THREADS ? n_threads : MOST_THREADS;
    a->n_slots = a->n_collectors + 1;
    (void)pthread_mutex_init(&a->mutex, NULL);
    (void)pthread_cond_init(&a->changed, NULL);
    return a;
}

struct hs_ahead *hs_ahead_open(const struct hs_scan *scan, unsigned n_threads, uint64_t n_of_unit)
{
    struct hs_dump *dump = scan->native->dump;
    struct hs_error ignored = HS_ERROR_INIT;

    if (n_threads < 2 || !ahead_is_possible(scan))
        return NULL;
    struct hs_ahead *a = ahead_new(scan, n_threads, n_of_unit);
    if (a == NULL)
        return NULL;
    if (hs_dump_plan_reserve_spare(&dump->plan, ahead_bytes(a), "edges collected ahead",
                                   &ignored) == HS_OK) {
        a->reserved_bytes = ahead_bytes(a);
        if (ahead_init(a, scan, &ignored) == HS_OK) {
            ahead_begin(a);
            return a;
        }
    }
    hs_ahead_close(a);
    return NULL;
}

void hs_ahead_close(struct hs_ahead *a)
{
    if (a == NULL)
        return;
    (void)pthread_mutex_lock(&a->mutex);
    a->stops = true;
    (void)pthread_cond_broadcast(&a->changed);
    (void)pthread_mutex_unlock(&a->mutex);
    for (unsigned i = 0; i < a->n_threads; i++)
        (void)pthread_join(a->threads[i], NULL);
    for (unsigned i = 0; i < a->n_slots; i++) {
        hs_free(a->units[i].edges);
        hs_free(a->units[i].blocks);
    }
    for (unsigned i = 0; i < a->n_collectors; i++)
        hs_scan_close_shared(&a->collectors[i].scan);
    hs_dump_plan_release(&a->dump->plan, a->reserved_bytes);
    (void)pthread_cond_destroy(&a->changed);
    (void)pthread_mutex_destroy(&a->mutex);
    hs_free(a);
}
