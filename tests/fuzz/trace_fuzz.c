/* links: hs_trace */
/* fuzz: -entropic_scale_per_exec_time=1 */
/* Any bytes as an allocation trace: every event keeps what the header of the reader promises, a
 * second pass gives the same, and no byte is left unaccounted for. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_BYTES = 1 << 17, N_DOMAINS = 65536, N_FOLLOWED = 64 };

struct tally {
    uint64_t n_events, sum;
};

static void touch_frames(const struct hs_trace *trace, const struct hs_trace_event *event,
                         struct tally *tally)
{
    for (uint32_t i = 0; i < event->n_frames; i++) {
        size_t n;
        const struct hs_trace_location *at = hs_trace_locations(trace, event->frames[i], &n);
        assert(event->frames[i] <= INT64_MAX && (at == NULL) == (n == 0));
        for (size_t j = 0; j < n; j++) {
            assert(!at[j].is_damaged || (at[j].file == 0 && at[j].function == 0));
            tally->sum += strlen(hs_trace_string(trace, at[j].function)) +
                          strlen(hs_trace_string(trace, at[j].file)) + at[j].line;
        }
        tally->sum = tally->sum * 31 + event->frames[i];
    }
}

static void check_event(const struct hs_trace *trace, const struct hs_trace_event *event,
                        uint64_t *last_us, struct tally *tally)
{
    tally->n_events++;
    tally->sum = tally->sum * 31 + event->id + event->time_us + event->kind;
    assert(event->domain < N_DOMAINS);
    if (event->domain < N_FOLLOWED) {
        assert(event->time_us >= last_us[event->domain]);
        last_us[event->domain] = event->time_us;
    }
    if (event->kind != HS_TRACE_ALLOC) {
        assert(event->kind == HS_TRACE_PROMOTE || event->kind == HS_TRACE_COLLECT);
        return;
    }
    assert(event->source < HS_N_TRACE_SOURCES && event->n_samples >= 1);
    assert(event->n_common <= event->n_frames);
    touch_frames(trace, event, tally);
}

static struct tally read_all(struct hs_trace *trace)
{
    uint64_t last_us[N_FOLLOWED] = {0};
    struct hs_trace_event event;
    struct hs_error err = HS_ERROR_INIT;
    struct tally tally = {0};
    bool more;
    for (;;) {
        hs_status status = hs_trace_next(trace, &event, &more, &err);
        assert(status == HS_OK);
        if (!more)
            return tally;
        check_event(trace, &event, last_us, &tally);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace *trace;
    if (n_bytes > MAX_BYTES)
        return 0;
    hs_status status = hs_trace_open_bytes(bytes, n_bytes, &trace, &err);
    if (status != HS_OK) {
        assert(status == HS_FORMAT && err.message[0] != '\0');
        return 0;
    }
    struct tally first = read_all(trace);
    struct hs_trace_gaps gaps = *hs_trace_gaps(trace);
    assert(gaps.cut_bytes <= n_bytes && gaps.n_damaged_locations <= gaps.n_locations);
    hs_trace_rewind(trace);
    struct tally second = read_all(trace);
    assert(first.n_events == second.n_events);
    (void)second;
    hs_trace_close(trace);
    return 0;
}
