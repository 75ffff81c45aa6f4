#include "base/alloc.h"
#include "trace_reader.h"

/* Makes room for n frames in the domain's last backtrace; *ret is false over our bounds. */
static hs_status reserve_frames(struct hs_trace *trace, size_t n, bool *ret, struct hs_error *err)
{
    struct trace_domain *domain = trace->domain;
    size_t old = domain->capacity;
    *ret = n <= TRACE_MAX_FRAMES;
    if (!*ret || n <= old)
        return HS_OK;
    if (trace->n_all_frames - old + 2 * n > TRACE_MAX_ALL_FRAMES) {
        *ret = false;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&domain->frames, &domain->capacity, n, err));
    trace->n_all_frames += domain->capacity - old;
    return HS_OK;
}

/* Stands in for a last backtrace that was lost: as many unknown frames as the next one shares with
 * it. */
static hs_status stand_in(struct hs_trace *trace, uint64_t n_common, struct hs_error *err)
{
    struct trace_domain *domain = trace->domain;
    bool fits = n_common <= TRACE_MAX_FRAMES;
    if (fits)
        HS_TRY(reserve_frames(trace, (size_t)n_common, &fits, err));
    domain->is_backtrace_lost = false;
    domain->n_frames = fits ? (size_t)n_common : 0;
    if (domain->n_frames != 0)
        memset(domain->frames, 0, domain->n_frames * sizeof *domain->frames);
    return HS_OK;
}

/* The most frames for which one code word may stand. */
#define MAX_RUN 256

/* Reads one word: a miss brings its code; a hit is a slot and up to 255 more that the predictions
 * lead to. There is room for MAX_RUN frames at `to`; returns how many it was. */
static inline size_t read_word(struct trace_slot *slots, unsigned next_mask,
                               struct trace_bytes *bytes, unsigned *previous, uint64_t *to)
{
    unsigned word = trace_bytes_u16(bytes);
    unsigned at = word >> 2, tag = word & 3, n = tag;
    if (*previous != TRACE_LOST_SLOT)
        slots[*previous].next = (uint16_t)(at ^ next_mask);
    if (tag == 3) {
        to[0] = slots[at].code = trace_bytes_code(bytes);
        *previous = at;
        return 1;
    }
    if (tag == 2)
        n = trace_bytes_u8(bytes);
    to[0] = slots[at].code;
    for (unsigned i = 1; i <= n; i++) {
        at = slots[at].next ^ next_mask;
        to[i] = slots[at].code;
    }
    *previous = at;
    return n + 1;
}

hs_status hs_trace_read_backtrace(struct hs_trace *trace, struct trace_bytes *bytes,
                                  uint64_t n_common, unsigned n_words, struct hs_error *err)
{
    struct trace_domain *domain = trace->domain;
    struct trace_slot *slots = domain->slots;
    unsigned next_mask = domain->next_mask, previous = 0;
    uint64_t unused[MAX_RUN];
    if (domain->is_backtrace_lost)
        HS_TRY(stand_in(trace, n_common, err));
    if (n_common > domain->n_frames) { /* it was cut when it was written: only the cache learns */
        for (unsigned i = 0; i < n_words && !bytes->failed; i++)
            (void)read_word(slots, next_mask, bytes, &previous, unused);
        return HS_OK;
    }
    size_t n = (size_t)n_common;
    for (unsigned i = 0; i < n_words && !bytes->failed; i++) {
        if (domain->capacity - n < MAX_RUN) {
            bool fits;
            HS_TRY(reserve_frames(trace, n + MAX_RUN, &fits, err));
            if (!fits) {
                bytes->failed = true;
                domain->n_frames = (size_t)n_common;
                return HS_OK;
            }
        }
        n += read_word(slots, next_mask, bytes, &previous, domain->frames + n);
    }
    domain->n_frames = n;
    return HS_OK;
}
