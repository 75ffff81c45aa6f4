/* The rows of the blocks: chunks are decoded ahead by other threads and emitted in order.
 *
 *   slot:     one decoded chunk; chunk `at` goes to slot at % n_slots, by whichever thread is free
 *   emitted:  chunks before this one have been emitted: a slot is free for chunks below
 *             emitted + n_slots
 *
 * The calling thread decodes, too, while it would have to wait. Only it touches the budget. */
#include <assert.h>
#include <pthread.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "sweep_parts.h"

#define MAX_SLOTS 8

struct slot {
    struct hs_chunk chunk;
    uint64_t *begin; /* of the rows: in `chunk`, or merged */
    hs_node *target;
    uint64_t *merged_begin; /* owned */
    hs_node *merged_target; /* owned */
    size_t begin_capacity, target_capacity;
    bool is_ready;
    hs_status status;
    struct hs_error err;
};

struct decoding {
    const struct hs_snap_sweep *source;
    struct hs_edge_choice choice;
    unsigned columns;
    bool merges;
    uint64_t n_chunks;
    uint64_t reserved; /* of the budget */
    unsigned n_slots;
    struct slot *slots; /* owned */
    /* of the threads */
    unsigned n_threads;
    pthread_t threads[MAX_SLOTS];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t next, emitted; /* chunks: the next to decode; done */
    bool stops;
};

/* ---- rows of one chunk ---- */

/* Takes duplicates and self loops out of a chunk, in place. */
static void rows_compact(struct hs_chunk *chunk)
{
    uint64_t *begin = chunk->edge_begin, n = 0, e = 0;
    hs_node *target = chunk->target;

    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        hs_node source = chunk->first + i, last = source;
        for (uint64_t end = begin[i + 1]; e < end; e++) {
            hs_node node = target[e];
            target[n] = node;
            n += (node != source) & (node != last);
            last = node;
        }
        begin[i + 1] = n;
    }
    chunk->n_edges = n;
}

/* The next extra edge of a block that retains: at *at or behind. */
static bool extra_next(const struct hs_chunk *chunk, hs_node source, uint64_t *at, hs_node *ret)
{
    for (; *at < chunk->n_extra && chunk->extra[*at].source <= source; ++*at) {
        const struct hs_extra_edge *edge = &chunk->extra[*at];
        if (edge->source == source && edge->edge_class == HS_EDGE_EPHEMERON) {
            *ret = edge->target;
            return true;
        }
    }
    return false;
}

/* Merges one block's targets with its extra ones; both ascend. Returns the new end of `out`. */
static uint64_t row_merge(const struct hs_chunk *chunk, uint32_t block, uint64_t *extra_at,
                          hs_node *out, uint64_t n)
{
    uint64_t e = chunk->edge_begin[block], end = chunk->edge_begin[block + 1];
    hs_node source = chunk->first + block, last = source, extra = 0;
    bool more = extra_next(chunk, source, extra_at, &extra);

    while (e < end || more) {
        hs_node node;
        if (more && (e == end || extra < chunk->target[e])) {
            node = extra;
            ++*extra_at;
            more = extra_next(chunk, source, extra_at, &extra);
        } else {
            node = chunk->target[e++];
        }
        out[n] = node;
        n += (node != source) & (node != last);
        last = node;
    }
    return n;
}

static hs_status slot_merge(struct slot *slot, struct hs_error *err)
{
    const struct hs_chunk *chunk = &slot->chunk;
    void *begin = slot->merged_begin, *target = slot->merged_target;
    uint64_t n_edges, extra_at = 0, n = 0;

    if (!hs_add_fits(chunk->n_edges, chunk->n_extra, &n_edges) || n_edges >= SIZE_MAX)
        return hs_fail(err, HS_LIMIT, "a chunk has too many edges");
    HS_TRY(
        hs_grow(&begin, &slot->begin_capacity, (size_t)chunk->n_blocks + 1, sizeof(uint64_t), err));
    slot->merged_begin = begin;
    HS_TRY(hs_grow(&target, &slot->target_capacity, n_edges + 1, sizeof(hs_node), err));
    slot->merged_target = target;
    slot->merged_begin[0] = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        n = row_merge(chunk, i, &extra_at, slot->merged_target, n);
        slot->merged_begin[i + 1] = n;
    }
    slot->begin = slot->merged_begin;
    slot->target = slot->merged_target;
    return HS_OK;
}

static hs_status slot_decode(const struct decoding *d, uint64_t at, struct slot *slot,
                             struct hs_error *err)
{
    HS_TRY(hs_snap_load_chunk(d->source->snap, at, d->columns, &slot->chunk, err));
    hs_chunk_choose(&slot->chunk, &d->choice);
    if (d->merges && slot->chunk.n_extra != 0)
        return slot_merge(slot, err);
    if (!slot->chunk.has_plain_rows)
        rows_compact(&slot->chunk);
    slot->begin = slot->chunk.edge_begin;
    slot->target = slot->chunk.target;
    return HS_OK;
}

/* ---- emitting ---- */

static hs_status slot_emit(struct decoding *d, uint64_t at, struct slot *slot, hs_node *next,
                           struct hs_sweep_out *out, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(d->source->snap);
    const struct hs_chunk *chunk = &slot->chunk;

    if (chunk->first != *next || chunk->n_blocks > totals->n_tree + totals->n_blocks - *next)
        return hs_fail(err, HS_FORMAT, "chunk %llu does not follow the one before it",
                       (unsigned long long)at);
    HS_TRY(hs_progress_tell(d->source->progress, d->source->phase, at, d->n_chunks, err));
    *next += chunk->n_blocks;
    return hs_sweep_emit(out, chunk->first, chunk->n_blocks, slot->begin, slot->target, err);
}

/* ---- threads ---- */

/* Decodes the next chunk, if there is one and a slot for it. Called and left with the mutex. */
static bool decoding_next(struct decoding *d)
{
    if (d->next == d->n_chunks || d->next - d->emitted >= d->n_slots)
        return false;
    uint64_t at = d->next++;
    struct slot *slot = &d->slots[at % d->n_slots];
    (void)pthread_mutex_unlock(&d->mutex);
    hs_status status = slot_decode(d, at, slot, &slot->err);
    (void)pthread_mutex_lock(&d->mutex);
    slot->status = status;
    slot->is_ready = true;
    (void)pthread_cond_broadcast(&d->changed);
    return true;
}

static void *decoding_thread(void *context)
{
    struct decoding *d = context;

    (void)pthread_mutex_lock(&d->mutex);
    while (!d->stops && d->next != d->n_chunks)
        if (!decoding_next(d))
            (void)pthread_cond_wait(&d->changed, &d->mutex);
    (void)pthread_mutex_unlock(&d->mutex);
    return NULL;
}

/* Waits for a chunk, or decodes others meanwhile; the slot is the caller's until decoding_release.
 */
static hs_status decoding_wait(struct decoding *d, uint64_t at, struct slot **ret,
                               struct hs_error *err)
{
    struct slot *slot = &d->slots[at % d->n_slots];

    (void)pthread_mutex_lock(&d->mutex);
    while (!slot->is_ready)
        if (!decoding_next(d))
            (void)pthread_cond_wait(&d->changed, &d->mutex);
    (void)pthread_mutex_unlock(&d->mutex);
    *ret = slot;
    if (slot->status != HS_OK)
        *err = slot->err;
    return slot->status;
}

static void decoding_release(struct decoding *d, struct slot *slot)
{
    (void)pthread_mutex_lock(&d->mutex);
    slot->is_ready = false;
    d->emitted++;
    (void)pthread_cond_broadcast(&d->changed);
    (void)pthread_mutex_unlock(&d->mutex);
}

static bool sweep_merges(const struct hs_snap_sweep *source)
{
    return source->edges != HS_GRAPH_STRONG && hs_snap_totals(source->snap)->n_extra_edges != 0;
}

static unsigned sweep_columns(const struct hs_snap_sweep *source)
{
    const struct hs_edge_choice choice = hs_sweep_choice(source);
    return HS_COL_EDGES | (sweep_merges(source) ? HS_COL_EXTRA : 0) | hs_edge_columns(&choice);
}

uint64_t hs_sweep_slot_bytes(const struct hs_snap_sweep *source)
{
    uint64_t most = HS_SWEEP_SLOT_BYTES, n_chunks = hs_snap_totals(source->snap)->n_chunks;
    unsigned columns = sweep_columns(source);

    for (uint64_t at = 0; at < n_chunks; at++) {
        uint64_t n_extra, n_edges = hs_snap_chunk_edges(source->snap, at, &n_extra);
        uint64_t n_bytes = hs_snap_chunk_bytes(source->snap, at, columns);
        if (sweep_merges(source) && n_extra != 0) /* rows of both */
            n_bytes += (HS_CHUNK_BLOCKS + n_edges + n_extra + 2) * sizeof(uint64_t);
        most = n_bytes > most ? n_bytes : most;
    }
    return most;
}

/* Makes as many slots as there are threads and memory for. */
static hs_status decoding_init(const struct hs_snap_sweep *source, struct decoding *d,
                               struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(source->snap);
    unsigned n = source->budget == NULL ? 1 : source->budget->n_threads;
    uint64_t slot = hs_sweep_slot_bytes(source);
    uint64_t room = hs_budget_left_bytes(source->budget) / slot;

    *d = (struct decoding){.source = source,
                           .choice = hs_sweep_choice(source),
                           .n_chunks = totals->n_chunks,
                           .n_slots = 1};
    (void)pthread_mutex_init(&d->mutex, NULL);
    (void)pthread_cond_init(&d->changed, NULL);
    d->merges = sweep_merges(source);
    d->columns = sweep_columns(source);
    if (n > MAX_SLOTS - 1)
        n = MAX_SLOTS - 1;
    if (n > 1 && room > 1)
        d->n_slots = room < n + 1 ? (unsigned)room : n + 1;
    HS_TRY(hs_budget_reserve(source->budget, d->n_slots * slot, "decoding", err));
    d->reserved = d->n_slots * slot;
    HS_TRY(HS_ALLOC(&d->slots, d->n_slots, err));
    while (d->n_threads + 1 < n && d->n_threads + 1 < d->n_slots &&
           pthread_create(&d->threads[d->n_threads], NULL, decoding_thread, d) == 0)
        d->n_threads++;
    return HS_OK;
}

static void decoding_fini(struct decoding *d)
{
    (void)pthread_mutex_lock(&d->mutex);
    d->stops = true;
    (void)pthread_cond_broadcast(&d->changed);
    (void)pthread_mutex_unlock(&d->mutex);
    for (unsigned i = 0; i < d->n_threads; i++)
        (void)pthread_join(d->threads[i], NULL);
    for (unsigned i = 0; d->slots != NULL && i < d->n_slots; i++) {
        hs_chunk_fini(&d->slots[i].chunk);
        hs_free(d->slots[i].merged_begin);
        hs_free(d->slots[i].merged_target);
    }
    hs_free(d->slots);
    hs_budget_release(d->source->budget, d->reserved);
    (void)pthread_cond_destroy(&d->changed);
    (void)pthread_mutex_destroy(&d->mutex);
}

static hs_status decoding_run(struct decoding *d, struct hs_sweep_out *out, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(d->source->snap);
    hs_node next = totals->n_tree;

    for (uint64_t at = 0; at < d->n_chunks; at++) {
        struct slot *slot;
        HS_TRY(decoding_wait(d, at, &slot, err));
        HS_TRY(slot_emit(d, at, slot, &next, out, err));
        decoding_release(d, slot);
    }
    if (next != totals->n_tree + totals->n_blocks)
        return hs_fail(err, HS_FORMAT, "the snapshot has fewer blocks than its trailer says");
    return HS_OK;
}

hs_status hs_sweep_chunks(const struct hs_snap_sweep *source, struct hs_sweep_out *out,
                          struct hs_error *err)
{
    struct decoding decoding;
    hs_status status = decoding_init(source, &decoding, err);

    if (status == HS_OK)
        status = decoding_run(&decoding, out, err);
    decoding_fini(&decoding);
    return status;
}
