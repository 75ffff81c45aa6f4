/* Thread caches: free blocks in lists that hang on one thread-local variable.
 *
 * Its place has no name in a stripped libc, but is the same distance below every thread's pointer.
 * So each distance is tried, and the threads vote: the word there is the address of a used block of
 * the size of a tcache_perthread_struct whose lists begin at used blocks. */
#include "heap.h"
#include "symbols/elf.h"

enum {
    TLS_USUAL_BYTES = 0x2000,
    TLS_MAX_BYTES = 4 << 20,
    VOTERS_MAX = 16,
    TCACHE_BINS_MAX = 76,
    SCORE_ENTRY = 10, /* against 1 for being there, and these for being the arena's first block */
    SCORE_FIRST = 5,
};

struct tcache_layout {
    uint16_t chunk_bytes, n_bins, count_bytes, entries_at;
    bool counts_down; /* room left instead of blocks there */
};

static const struct tcache_layout tcache_layouts[] = {
    {0x290, 64, 2, 128, false}, /* 2.30 to 2.41 */
    {0x250, 64, 1, 64, false},  /* 2.26 to 2.29 */
    {0x300, 76, 2, 152, true},  /* from 2.42 */
};
/* The most places that are looked at for caches, of all instances together: takes a second. The
 * target chooses how much thread-local storage there is, and what looks like a cache. */
#define LOOKS_MAX (UINT64_C(1) << 25)
enum { N_TCACHE_LAYOUTS = sizeof tcache_layouts / sizeof tcache_layouts[0] };

/* A thread cache as read. */
struct tcache {
    hs_addr user;
    uint64_t entries[TCACHE_BINS_MAX];
    uint16_t counts[TCACHE_BINS_MAX];
};

static bool tcache_read(const struct glibc_state *g, hs_addr user, const struct tcache_layout *l,
                        struct tcache *ret)
{
    const uint8_t *b = hs_image_bytes(g->process->image, user, l->chunk_bytes - 8u);

    if (b == NULL)
        return false;
    ret->user = user;
    for (unsigned i = 0; i < l->n_bins; i++) {
        memcpy(&ret->entries[i], b + l->entries_at + 8 * i, 8);
        ret->counts[i] = b[i * l->count_bytes];
        if (l->count_bytes == 2)
            ret->counts[i] |= (uint16_t)(b[2 * i + 1] << 8);
    }
    return true;
}

/* Is the block at `user` a thread cache of `instance`? 0, or how much speaks for it. */
static unsigned tcache_score(struct glibc_state *g, uint32_t instance, hs_addr user,
                             const struct tcache_layout *l)
{
    struct glibc_segment *segment;
    struct tcache t;
    uint64_t bit;
    unsigned score = 1, n_odd = 0;

    if (!hs_glibc_is_used(g, user, &segment, &bit) ||
        g->arenas[segment->arena].instance != instance)
        return 0;
    uint64_t over = hs_glibc_user_bytes(g, user) - (l->chunk_bytes - 8u); /* of a chunk not split */
    if ((over != 0 && over != 16) || !tcache_read(g, user, l, &t))
        return 0;
    g->n_looks += l->n_bins;
    if (user - 16 == segment->first)
        score += SCORE_FIRST;
    for (unsigned i = 0; i < l->n_bins; i++) {
        if (!l->counts_down && (t.counts[i] == 0) != (t.entries[i] == 0))
            n_odd++; /* in the middle of a change */
        if (t.entries[i] == 0)
            continue;
        if (!hs_glibc_is_used(g, t.entries[i], &segment, &bit))
            return 0;
        score += SCORE_ENTRY;
    }
    return n_odd <= 1 ? score : 0;
}

static hs_addr tcache_of(const struct glibc_state *g, size_t thread, uint64_t distance)
{
    hs_addr tp = hs_regs_thread_pointer(&g->process->target->threads[thread].regs), user = 0;

    if (tp > distance)
        hs_image_u64(g->process->image, tp - distance, &user);
    return user;
}

/* The votes for one distance: 0 when too many are against it, or LOOKS_MAX places were looked at.
 */
static uint64_t tcache_vote(struct glibc_state *g, uint32_t instance, uint64_t distance,
                            const struct tcache_layout *l)
{
    size_t n = g->process->target->n_threads, n_for = 0, n_against = 0;
    uint64_t votes = 0;

    for (size_t i = 0; i < n && i < VOTERS_MAX; i++) {
        hs_addr user = ++g->n_looks <= LOOKS_MAX ? tcache_of(g, i, distance) : 0;
        if (user < 16 || (user & 15) != 0 || hs_glibc_segment_at(g, user - 16) == NULL)
            continue; /* it has none: 0, or a constant of libc's */
        unsigned score = tcache_score(g, instance, user, l);
        votes += score;
        n_for += score != 0;
        n_against += score == 0;
    }
    return n_against <= n_for / 4 ? votes : 0;
}

/* Returns how far below the thread pointer thread-local variables may lie. */
static uint64_t tls_bytes(const struct glibc_state *g)
{
    const struct hs_objects *objects = g->process->objects;
    uint64_t most = TLS_USUAL_BYTES;

    for (size_t i = 0; i < objects->n; i++) {
        struct hs_elf_tls tls;
        if (objects->objects[i].elf == NULL || !hs_elf_tls(objects->objects[i].elf, &tls))
            continue;
        if (tls.n_memory_bytes > TLS_MAX_BYTES || tls.align > TLS_MAX_BYTES)
            return TLS_MAX_BYTES;
        most += tls.n_memory_bytes + tls.align;
    }
    return most < TLS_MAX_BYTES ? most : TLS_MAX_BYTES;
}

static const struct tcache_layout *tcache_search(struct glibc_state *g, uint32_t instance,
                                                 uint64_t *ret_distance)
{
    const struct tcache_layout *layout = NULL;
    uint64_t best = 0, most = tls_bytes(g);

    for (uint64_t distance = 8; distance <= most; distance += 8) {
        for (size_t i = 0; i < N_TCACHE_LAYOUTS; i++) {
            uint64_t votes = tcache_vote(g, instance, distance, &tcache_layouts[i]);
            if (votes <= best)
                continue;
            best = votes;
            layout = &tcache_layouts[i];
            *ret_distance = distance;
        }
    }
    return layout;
}

/* One list. What is cleared is in use no more: a list without end has one. */
static hs_status take_list(struct glibc_state *g, struct glibc_instance *instance, hs_addr user,
                           struct hs_ledger *ledger, uint64_t *ret_n, struct hs_error *err)
{
    uint64_t n = 0;

    while (user != 0) {
        bool was_used;
        HS_TRY(hs_glibc_clear_used(g, user, HS_MEMORY_CACHED, ledger, &was_used, err));
        if (!was_used) {
            g->process->findings->n_torn++;
            break;
        }
        n++;
        user = hs_glibc_link(g, instance, user, 0);
    }
    *ret_n = n;
    return HS_OK;
}

static hs_status take_tcache(struct glibc_state *g, struct glibc_instance *instance,
                             const struct tcache_layout *l, const struct tcache *t,
                             struct hs_ledger *ledger, struct hs_error *err)
{
    bool was_used;

    HS_TRY(hs_glibc_clear_used(g, t->user, HS_MEMORY_INTERNAL, ledger, &was_used, err));
    if (!was_used) /* another thread's */
        return HS_OK;
    g->n_tcaches++;
    for (unsigned i = 0; i < l->n_bins; i++) {
        uint64_t n = 0, told = t->counts[i];
        if (t->entries[i] != 0)
            HS_TRY(take_list(g, instance, t->entries[i], ledger, &n, err));
        if (l->counts_down) {
            uint64_t room = instance->params.tcache_count;
            told = room >= told ? room - told : n;
        }
        g->n_cached += n;
        g->n_cached_told += told;
    }
    return HS_OK;
}

static hs_status take_instance(struct glibc_state *g, uint32_t number, struct hs_ledger *ledger,
                               struct hs_error *err)
{
    uint64_t distance = 0;
    const struct tcache_layout *l = tcache_search(g, number, &distance);
    struct glibc_segment *segment;
    struct tcache t;
    uint64_t bit;

    for (size_t i = 0; l != NULL && i < g->process->target->n_threads; i++) {
        hs_addr user = tcache_of(g, i, distance);
        if (user == 0 || !hs_glibc_is_used(g, user, &segment, &bit))
            continue;
        uint64_t over = hs_glibc_user_bytes(g, user) - (l->chunk_bytes - 8u);
        if ((over == 0 || over == 16) && tcache_read(g, user, l, &t))
            HS_TRY(take_tcache(g, &g->instances[number], l, &t, ledger, err));
        else
            g->process->findings->n_torn++;
    }
    return HS_OK;
}

hs_status hs_glibc_clear_tcaches(struct glibc_state *g, struct hs_ledger *ledger,
                                 struct hs_error *err)
{
    for (size_t i = 0; i < g->n_instances; i++)
        HS_TRY(take_instance(g, (uint32_t)i, ledger, err));
    return HS_OK;
}
