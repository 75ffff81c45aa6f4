/* The second half of a reversal: buckets are sorted in slots, by any thread, and emitted in order
 * by the calling one, which also sorts while it would otherwise have to wait.
 *
 *   slot:     counters of a bucket's targets, then their sources
 *   emitted:  buckets before this one have been emitted. Bucket i is sorted in slot i % n_slots,
 *             which is free once i < emitted + n_slots */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/pages.h"
#include "reverse_parts.h"

#define EMIT_NODES ((uint32_t)1 << 14)
#define EMIT_TARGETS ((uint64_t)1 << 16)
#define WINDOW ((uint32_t)1 << 15) /* targets of too large a bucket that are counted at a time */

/* The rows of targets [first, first + n) of a bucket. */
struct sorted {
    uint32_t first, n;
    uint32_t *end; /* of each row: in the slot's memory */
    void *sources; /* behind that */
};

struct slot {
    uint8_t *memory;  /* owned pages: slot_bytes */
    uint32_t *buffer; /* owned: an extent */
    struct sorted rows;
    bool is_ready, is_sorted;
    hs_status status;
    struct hs_error err;
};

struct emission {
    const struct hs_reverse_emission *of;
    const struct hs_reverse_buckets *buckets;
    uint64_t *begin;   /* owned: of the piece being emitted */
    hs_node *target;   /* owned */
    uint64_t *nothing; /* owned: EMIT_NODES + 1 zeros */
    uint64_t *window;  /* owned */
    uint64_t told;
    struct slot slots[HS_REVERSE_MAX_SLOTS];
    unsigned n_threads;
    pthread_t threads[HS_REVERSE_MAX_SLOTS];
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint32_t next, emitted; /* buckets */
    bool stops;
};

uint64_t hs_reverse_emit_bytes(void)
{
    return (2 * ((uint64_t)EMIT_NODES + 1) + EMIT_TARGETS + WINDOW) * sizeof(uint64_t);
}

/* ---- sorting ---- */

static hs_status bucket_count(struct hs_reverse_reader reader, unsigned shift,
                              const struct sorted *rows, struct hs_error *err)
{
    uint32_t *count = rows->end;
    bool more;

    memset(count, 0, ((size_t)rows->n + 1) * sizeof *count);
    for (;;) {
        HS_TRY(hs_reverse_read_extent(&reader, &more, err));
        if (!more)
            return HS_OK;
        struct hs_reverse_reader at = reader;
        while (at.at != at.stop) {
            uint32_t target = hs_reverse_next(&at, shift) - rows->first;
            if (target < rows->n) /* wraps where it is smaller */
                count[target]++;
        }
    }
}

/* The records from reader->at to reader->stop; counters move from begins to ends of rows. */
static void scatter_span(struct hs_reverse_reader *reader, unsigned shift, bool is_wide,
                         const struct sorted *rows)
{
    uint32_t *end = rows->end, *narrow = rows->sources;
    uint64_t *wide = rows->sources;

    while (reader->at != reader->stop) {
        uint32_t target = hs_reverse_next(reader, shift) - rows->first;
        if (target >= rows->n)
            continue;
        uint32_t place = end[target]++;
        if (is_wide)
            wide[place] = reader->source;
        else
            narrow[place] = (uint32_t)reader->source;
    }
}

/* The counters become begins, and then, as sources are put, ends. `loaded` is NULL, or all records
 * one behind the other. */
static hs_status bucket_scatter(const struct emission *g, const struct hs_reverse_bucket *bucket,
                                const uint32_t *loaded, struct slot *slot, struct hs_error *err)
{
    struct hs_reverse_reader reader = hs_reverse_read(g->buckets, bucket, slot->buffer, false);
    const struct sorted *rows = &slot->rows;
    const bool is_wide = g->of->source_bytes == 8;
    bool more = true;

    for (uint32_t i = 0, sum = 0; i < rows->n; i++) {
        uint32_t n = rows->end[i];
        rows->end[i] = sum;
        sum += n;
    }
    if (loaded != NULL) {
        reader.at = loaded;
        reader.stop = loaded + bucket->n_words;
        scatter_span(&reader, bucket->shift, is_wide, rows);
        return HS_OK;
    }
    for (;;) {
        HS_TRY(hs_reverse_read_extent(&reader, &more, err));
        if (!more)
            return HS_OK;
        scatter_span(&reader, bucket->shift, is_wide, rows);
    }
}

/* Sorts some targets of a bucket: hs_reverse_cost of them fits into the slot. Where there is room
 * for the records behind it, too, they are read once. */
static hs_status slot_sort(const struct emission *g, const struct hs_reverse_bucket *bucket,
                           uint32_t first, uint32_t n, struct slot *slot, struct hs_error *err)
{
    uint32_t *end = (uint32_t *)slot->memory;
    uint32_t *sources = end + ((uint64_t)n + 2) / 2 * 2;
    uint64_t cost = hs_reverse_cost(n, bucket->n_records, g->of->source_bytes) + 8;
    bool keeps = !g->buckets->in_memory && cost <= g->of->slot_bytes &&
                 bucket->n_words <= (g->of->slot_bytes - cost) / sizeof(uint32_t);
    uint32_t *loaded =
        keeps ? (uint32_t *)(slot->memory + g->of->slot_bytes) - bucket->n_words : NULL;
    struct hs_reverse_reader reader =
        hs_reverse_read(g->buckets, bucket, keeps ? loaded : slot->buffer, keeps);

    slot->rows = (struct sorted){.first = first, .n = n, .end = end, .sources = sources};
    HS_TRY(bucket_count(reader, bucket->shift, &slot->rows, err));
    return bucket_scatter(g, bucket, loaded, slot, err);
}

static hs_status bucket_sort(const struct emission *g, uint32_t i, struct slot *slot,
                             struct hs_error *err)
{
    const struct hs_reverse_bucket *bucket = &g->buckets->buckets[i];
    slot->is_sorted =
        bucket->n_records != 0 &&
        hs_reverse_cost(bucket->n, bucket->n_records, g->of->source_bytes) <= g->of->slot_bytes;
    if (!slot->is_sorted)
        return HS_OK; /* nothing to do, or too much */
    HS_TRY(slot_sort(g, bucket, 0, bucket->n, slot, err));
    hs_reverse_drop(g->buckets, bucket);
    return HS_OK;
}

/* ---- emitting ---- */

static hs_status emit_piece(struct emission *g, const struct hs_piece *piece, struct hs_error *err)
{
    uint64_t n = piece->begin[piece->n];
    const struct hs_reverse_options *options = g->of->options;

    HS_TRY(hs_progress_tell(options->progress, options->phase, g->told, g->of->total, err));
    g->told += n;
    return g->of->sink->put(g->of->sink->context, piece, err);
}

/* Emits nodes without in-edges. */
static hs_status emit_nothing(struct emission *g, hs_node first, uint64_t n, struct hs_error *err)
{
    while (n != 0) {
        uint32_t part = n < EMIT_NODES ? (uint32_t)n : EMIT_NODES;
        const struct hs_piece piece = {
            .first = first, .n = part, .begin = g->nothing, .target = g->target};
        HS_TRY(emit_piece(g, &piece, err));
        first += part;
        n -= part;
    }
    return HS_OK;
}

static hs_status emit_part(struct emission *g, hs_node node, uint64_t of_row, uint64_t n,
                           struct hs_error *err)
{
    const uint64_t begin[2] = {0, n};
    const struct hs_piece piece = {
        .first = node, .n = 1, .of_row = of_row, .begin = begin, .target = g->target};
    return emit_piece(g, &piece, err);
}

/* The sources at [from, to) of a slot, made 64 bits wide. */
static void copy_sources(const struct emission *g, const struct sorted *rows, uint32_t from,
                         uint32_t to, hs_node *out)
{
    const uint32_t *narrow = rows->sources;
    if (g->of->source_bytes == 8)
        memcpy(out, (const hs_node *)rows->sources + from, (to - from) * sizeof *out);
    else
        for (uint32_t i = from; i < to; i++)
            *out++ = narrow[i];
}

static hs_status emit_long_row(struct emission *g, const struct sorted *rows, hs_node node,
                               uint32_t begin, uint32_t end, struct hs_error *err)
{
    for (uint32_t at = begin; at < end;) {
        uint32_t to = end - at < EMIT_TARGETS ? end : at + (uint32_t)EMIT_TARGETS;
        copy_sources(g, rows, at, to, g->target);
        HS_TRY(emit_part(g, node, end - begin, to - at, err));
        at = to;
    }
    return HS_OK;
}

static hs_status emit_rows(struct emission *g, const struct hs_reverse_bucket *bucket,
                           const struct sorted *rows, struct hs_error *err)
{
    hs_node first = bucket->first + rows->first;

    for (uint32_t i = 0; i < rows->n;) {
        uint32_t from = i == 0 ? 0 : rows->end[i - 1], n = 0;
        while (n < EMIT_NODES && i + n < rows->n && rows->end[i + n] - from <= EMIT_TARGETS) {
            n++;
            g->begin[n] = rows->end[i + n - 1] - from;
        }
        if (n == 0) {
            HS_TRY(emit_long_row(g, rows, first + i, from, rows->end[i], err));
            i++;
            continue;
        }
        copy_sources(g, rows, from, rows->end[i + n - 1], g->target);
        const struct hs_piece piece = {
            .first = first + i, .n = n, .begin = g->begin, .target = g->target};
        HS_TRY(emit_piece(g, &piece, err));
        i += n;
    }
    return HS_OK;
}

/* ---- buckets that a slot cannot sort ---- */

/* Emits one target with more sources than a slot has room for, as they are read. */
static hs_status emit_hub(struct emission *g, const struct hs_reverse_bucket *bucket, uint32_t hub,
                          uint64_t n_row, struct slot *slot, struct hs_error *err)
{
    struct hs_reverse_reader reader = hs_reverse_read(g->buckets, bucket, slot->buffer, false);
    uint64_t n = 0;
    bool more;

    for (;;) {
        HS_TRY(hs_reverse_read_extent(&reader, &more, err));
        if (!more)
            break;
        while (reader.at != reader.stop) {
            if (hs_reverse_next(&reader, bucket->shift) != hub)
                continue;
            g->target[n++] = reader.source;
            if (n == EMIT_TARGETS) {
                HS_TRY(emit_part(g, bucket->first + hub, n_row, n, err));
                n = 0;
            }
        }
    }
    return n == 0 ? HS_OK : emit_part(g, bucket->first + hub, n_row, n, err);
}

/* Counts the targets [first, first + n) alone; 64 bits, because one of them may be a hub. */
static hs_status window_count(const struct emission *g, const struct hs_reverse_bucket *bucket,
                              uint32_t first, uint32_t n, uint64_t *count, struct slot *slot,
                              struct hs_error *err)
{
    struct hs_reverse_reader reader = hs_reverse_read(g->buckets, bucket, slot->buffer, false);
    bool more;

    memset(count, 0, n * sizeof *count);
    for (;;) {
        HS_TRY(hs_reverse_read_extent(&reader, &more, err));
        if (!more)
            return HS_OK;
        while (reader.at != reader.stop) {
            uint32_t target = hs_reverse_next(&reader, bucket->shift) - first;
            if (target < n)
                count[target]++;
        }
    }
}

/* Targets [first, first + n): as many at a time as there is room for. */
static hs_status window_emit(struct emission *g, const struct hs_reverse_bucket *bucket,
                             uint32_t first, uint32_t n, const uint64_t *count, struct slot *slot,
                             struct hs_error *err)
{
    for (uint32_t i = 0; i < n;) {
        uint32_t end = i;
        uint64_t n_records = 0;
        while (end < n && hs_reverse_cost(end + 1 - i, n_records + count[end],
                                          g->of->source_bytes) <= g->of->slot_bytes)
            n_records += count[end++];
        if (end == i) {
            HS_TRY(emit_hub(g, bucket, first + i, count[i], slot, err));
            i++;
            continue;
        }
        if (n_records == 0) {
            HS_TRY(emit_nothing(g, bucket->first + first + i, end - i, err));
        } else {
            HS_TRY(slot_sort(g, bucket, first + i, end - i, slot, err));
            HS_TRY(emit_rows(g, bucket, &slot->rows, err));
        }
        i = end;
    }
    return HS_OK;
}

static hs_status emit_oversize(struct emission *g, const struct hs_reverse_bucket *bucket,
                               struct slot *slot, struct hs_error *err)
{
    for (uint32_t first = 0; first < bucket->n;) {
        uint32_t n = bucket->n - first < WINDOW ? bucket->n - first : WINDOW;
        HS_TRY(window_count(g, bucket, first, n, g->window, slot, err));
        HS_TRY(window_emit(g, bucket, first, n, g->window, slot, err));
        first += n;
    }
    hs_reverse_drop(g->buckets, bucket);
    return HS_OK;
}

static hs_status bucket_emit(struct emission *g, uint32_t i, struct slot *slot,
                             struct hs_error *err)
{
    const struct hs_reverse_bucket *bucket = &g->buckets->buckets[i];
    if (slot->is_sorted)
        return emit_rows(g, bucket, &slot->rows, err);
    if (bucket->n_records == 0)
        return emit_nothing(g, bucket->first, bucket->n, err);
    return emit_oversize(g, bucket, slot, err);
}

/* ---- threads ---- */

/* Sorts the next bucket, if there is one and a slot for it. Called and left with the mutex. */
static bool emission_sort_next(struct emission *g)
{
    if (g->next == g->buckets->n || g->next - g->emitted >= g->of->n_slots)
        return false;
    uint32_t i = g->next++;
    struct slot *slot = &g->slots[i % g->of->n_slots];
    (void)pthread_mutex_unlock(&g->mutex);
    if (i + g->of->n_threads < g->buckets->n)
        hs_reverse_expect(g->buckets, &g->buckets->buckets[i + g->of->n_threads]);
    hs_status status = bucket_sort(g, i, slot, &slot->err);
    (void)pthread_mutex_lock(&g->mutex);
    slot->status = status;
    slot->is_ready = true;
    (void)pthread_cond_broadcast(&g->changed);
    return true;
}

static void *giving_thread(void *context)
{
    struct emission *g = context;

    (void)pthread_mutex_lock(&g->mutex);
    while (!g->stops && g->next != g->buckets->n)
        if (!emission_sort_next(g))
            (void)pthread_cond_wait(&g->changed, &g->mutex);
    (void)pthread_mutex_unlock(&g->mutex);
    return NULL;
}

/* Waits for a sorted bucket, or sorts others meanwhile. */
static hs_status emission_wait(struct emission *g, struct slot *slot, struct hs_error *err)
{
    (void)pthread_mutex_lock(&g->mutex);
    while (!slot->is_ready)
        if (!emission_sort_next(g))
            (void)pthread_cond_wait(&g->changed, &g->mutex);
    (void)pthread_mutex_unlock(&g->mutex);
    if (slot->status != HS_OK)
        *err = slot->err;
    return slot->status;
}

static hs_status emission_run(struct emission *g, struct hs_error *err)
{
    for (uint32_t i = 0; i < g->buckets->n; i++) {
        struct slot *slot = &g->slots[i % g->of->n_slots];
        HS_TRY(emission_wait(g, slot, err));
        HS_TRY(bucket_emit(g, i, slot, err));
        (void)pthread_mutex_lock(&g->mutex);
        slot->is_ready = false;
        g->emitted = i + 1;
        (void)pthread_cond_broadcast(&g->changed);
        (void)pthread_mutex_unlock(&g->mutex);
    }
    return HS_OK;
}

static hs_status emission_init(struct emission *g, struct hs_error *err)
{
    void *memory;

    HS_TRY(HS_ALLOC(&g->begin, (size_t)EMIT_NODES + 1, err));
    HS_TRY(HS_ALLOC(&g->nothing, (size_t)EMIT_NODES + 1, err));
    HS_TRY(HS_ALLOC(&g->target, EMIT_TARGETS, err));
    HS_TRY(HS_ALLOC(&g->window, WINDOW, err));
    for (unsigned i = 0; i < g->of->n_slots; i++) {
        HS_TRY(hs_dense_pages(g->of->slot_bytes, 1, &memory, err));
        g->slots[i].memory = memory;
        if (g->buckets->in_memory)
            continue;
        HS_TRY(HS_ALLOC(&g->slots[i].buffer, g->buckets->extent_words, err));
    }
    return HS_OK;
}

static void emission_fini(struct emission *g)
{
    (void)pthread_mutex_lock(&g->mutex);
    g->stops = true;
    (void)pthread_cond_broadcast(&g->changed);
    (void)pthread_mutex_unlock(&g->mutex);
    for (unsigned i = 0; i < g->n_threads; i++)
        (void)pthread_join(g->threads[i], NULL);
    for (unsigned i = 0; i < g->of->n_slots; i++) {
        hs_pages_free(g->slots[i].memory, g->of->slot_bytes, 1);
        hs_free(g->slots[i].buffer);
    }
    hs_free(g->begin);
    hs_free(g->nothing);
    hs_free(g->target);
    hs_free(g->window);
    (void)pthread_cond_destroy(&g->changed);
    (void)pthread_mutex_destroy(&g->mutex);
}

hs_status hs_reverse_emit(const struct hs_reverse_emission *emission, struct hs_error *err)
{
    struct emission g = {.of = emission, .buckets = emission->buckets, .told = emission->told};

    assert(emission->n_slots >= 1 && emission->n_slots <= HS_REVERSE_MAX_SLOTS);
    (void)pthread_mutex_init(&g.mutex, NULL);
    (void)pthread_cond_init(&g.changed, NULL);
    hs_status status = emission_init(&g, err);
    while (status == HS_OK && g.n_threads < emission->n_threads - 1 &&
           pthread_create(&g.threads[g.n_threads], NULL, giving_thread, &g) == 0)
        g.n_threads++; /* without them it is only slower */
    if (status == HS_OK)
        status = emission_run(&g, err);
    emission_fini(&g);
    return status;
}
