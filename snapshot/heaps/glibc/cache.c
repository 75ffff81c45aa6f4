/* Free blocks that are in use by their headers: fastbins; and a check of the other free lists. */
#include "heap.h"

bool hs_glibc_is_used(const struct glibc_state *g, hs_addr user, struct glibc_segment **ret,
                      uint64_t *ret_bit)
{
    struct glibc_segment *segment = NULL;

    if (user >= 16 && (user & 15) == 0)
        segment = hs_glibc_segment_at(g, user - 16);
    if (segment == NULL || user - 16 < segment->first || user - 16 >= segment->stop)
        return false;
    uint64_t bit = (user - 16 - segment->bits_base) >> 4;
    *ret = segment;
    *ret_bit = bit;
    return (g->used[segment->bits_at + (bit >> 6)] >> (bit & 63) & 1) != 0;
}

uint64_t hs_glibc_user_bytes(const struct glibc_state *g, hs_addr user)
{
    uint64_t size = 0;

    if (!hs_image_u64(g->process->image, user - 8, &size))
        return 0;
    size &= ~(uint64_t)GLIBC_FLAGS;
    return size < GLIBC_MIN_CHUNK ? 0 : size - 8;
}

hs_status hs_glibc_clear_used(struct glibc_state *g, hs_addr user, enum hs_memory_state to,
                              struct hs_ledger *ledger, bool *ret_was_used, struct hs_error *err)
{
    struct glibc_segment *segment;
    uint64_t bit, n_bytes;

    *ret_was_used = hs_glibc_is_used(g, user, &segment, &bit);
    if (!*ret_was_used)
        return HS_OK;
    g->used[segment->bits_at + (bit >> 6)] &= ~(UINT64_C(1) << (bit & 63));
    n_bytes = hs_glibc_user_bytes(g, user);
    segment->n_used--;
    segment->used_bytes -= n_bytes;
    return hs_ledger_move(ledger, GLIBC_OWNER, HS_MEMORY_LIVE, to, user, user + n_bytes, 1, err);
}

static bool is_link(const struct glibc_state *g, hs_addr target, unsigned user_offset)
{
    struct glibc_segment *segment;
    uint64_t bit;

    return hs_glibc_is_used(g, target + user_offset, &segment, &bit);
}

/* PROTECT_PTR in malloc.c, from 2.32 on: stored = link ^ (address of the link >> 12). */
hs_addr hs_glibc_link(const struct glibc_state *g, struct glibc_instance *instance, hs_addr at,
                      unsigned user_offset)
{
    uint64_t stored;

    if (!hs_image_u64(g->process->image, at, &stored))
        return 0;
    hs_addr masked = stored ^ at >> 12;
    if (!instance->knows_links) {
        bool plain = stored == 0 || is_link(g, stored, user_offset);
        bool safe = masked == 0 || is_link(g, masked, user_offset);
        instance->knows_links = plain != safe;
        instance->has_safe_links = safe;
    }
    return instance->has_safe_links ? masked : stored;
}

/* One list; each member is cleared as it is met, so that a list without end has one. */
static hs_status take_fastbin(struct glibc_state *g, struct glibc_instance *instance, hs_addr head,
                              uint64_t n_bytes, struct hs_ledger *ledger, struct hs_error *err)
{
    hs_addr p = 0;

    if (!hs_image_u64(g->process->image, head, &p))
        return HS_OK;
    while (p != 0) {
        bool was_used = false;
        g->n_fast++;
        if (hs_glibc_user_bytes(g, p + 16) == n_bytes)
            HS_TRY(hs_glibc_clear_used(g, p + 16, HS_MEMORY_CACHED, ledger, &was_used, err));
        if (!was_used) {
            g->process->findings->n_torn++;
            return HS_OK;
        }
        g->n_fast_known++;
        p = hs_glibc_link(g, instance, p + 16, 16);
    }
    return HS_OK;
}

hs_status hs_glibc_clear_fastbins(struct glibc_state *g, struct hs_ledger *ledger,
                                  struct hs_error *err)
{
    for (size_t i = 0; i < g->n_arenas; i++) {
        struct glibc_instance *instance = &g->instances[g->arenas[i].instance];
        for (unsigned k = 0; k < GLIBC_N_FASTBINS && instance->layout->fastbins != 0; k++) {
            hs_addr head = g->arenas[i].address + instance->layout->fastbins + 8u * k;
            HS_TRY(take_fastbin(g, instance, head, 32 + 16 * k - 8, ledger, err));
        }
    }
    return HS_OK;
}

/* ---- Bins: every free chunk but the tops is in one. Following a list is a cache miss per chunk,
 * so all lists of an arena are followed at once, each step fetching ahead for its next. */

struct bin_cursor {
    hs_addr head, at, before;
    const uint64_t *word; /* of the bits of free chunks, with that of `at`; NULL: it has none */
    uint64_t mask;
};

static void bin_fetch(const struct glibc_state *g, const struct glibc_view *view,
                      struct bin_cursor *c)
{
    const struct glibc_segment *segment = hs_glibc_segment_at(g, c->at);
    hs_addr p = c->at;

    c->word = NULL;
    if (segment == NULL || (p & 15) != 0 || p < segment->first || p >= segment->stop)
        return;
    uint64_t bit = (p - segment->bits_base) >> 4;
    c->word = &g->freed[segment->bits_at + (bit >> 6)];
    c->mask = UINT64_C(1) << (bit & 63);
    __builtin_prefetch(c->word);
    if (p - view->begin < view->end - view->begin)
        __builtin_prefetch(view->bytes + (p - view->begin) + 16);
}

/* False at the end of the list, or where it is none. */
static bool bin_step(struct glibc_state *g, struct glibc_view *view, struct bin_cursor *c,
                     uint64_t most)
{
    uint64_t back, next;

    g->n_binned++;
    if (c->word == NULL || (*c->word & c->mask) == 0 || !hs_glibc_word(view, c->at + 24, &back) ||
        back != c->before || !hs_glibc_word(view, c->at + 16, &next) || g->n_binned_known >= most) {
        g->process->findings->n_torn++;
        return false;
    }
    g->n_binned_known++;
    c->before = c->at;
    c->at = next;
    if (next == c->head)
        return false;
    bin_fetch(g, view, c);
    return true;
}

static void check_arena(struct glibc_state *g, hs_addr bins, uint64_t most)
{
    struct glibc_view view = {.image = g->process->image};
    struct bin_cursor cursors[GLIBC_N_BINS];
    size_t n = 0;

    for (unsigned k = 0; k < GLIBC_N_BINS; k++) {
        struct bin_cursor c = {.head = bins + 16u * k - 16};
        c.before = c.head;
        if (!hs_glibc_word(&view, c.head + 16, &c.at) || c.at == c.head)
            continue;
        bin_fetch(g, &view, &c);
        cursors[n++] = c;
    }
    while (n > 0) {
        for (size_t i = 0; i < n;) {
            if (bin_step(g, &view, &cursors[i], most))
                i++;
            else
                cursors[i] = cursors[--n];
        }
    }
}

void hs_glibc_check_bins(struct glibc_state *g)
{
    uint64_t most = 0;

    for (size_t i = 0; i < g->n_segments; i++)
        most += g->segments[i].n_free;
    for (size_t i = 0; i < g->n_arenas; i++) {
        const struct glibc_layout *layout = g->instances[g->arenas[i].instance].layout;
        check_arena(g, g->arenas[i].address + layout->bins, most);
    }
}
