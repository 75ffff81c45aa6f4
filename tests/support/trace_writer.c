/* links: hs_trace */
#include "trace_writer.h"

#include <stdlib.h>

enum { EVENT_INFO, EVENT_LOCATION, EVENT_ALLOC, EVENT_PROMOTE, EVENT_COLLECT };
enum { AT_SIZE = 4, AT_END_US = 16 };

void trace_writer_bytes(struct trace_writer *w, const void *bytes, size_t n_bytes)
{
    struct hs_error err;
    if (hs_buffer_reserve(&w->out, n_bytes, &err) != HS_OK)
        abort();
    hs_buffer_put_bytes(&w->out, bytes, n_bytes);
}

void trace_writer_number(struct trace_writer *w, uint64_t value, unsigned n_bytes)
{
    trace_writer_bytes(w, &value, n_bytes);
}

void trace_writer_vint(struct trace_writer *w, int64_t value)
{
    if (value >= 0 && value < 253) {
        trace_writer_number(w, (uint64_t)value, 1);
    } else if (value >= 0 && value <= UINT16_MAX) {
        trace_writer_number(w, 253, 1);
        trace_writer_number(w, (uint64_t)value, 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        trace_writer_number(w, 254, 1);
        trace_writer_number(w, (uint64_t)value, 4);
    } else {
        trace_writer_number(w, 255, 1);
        trace_writer_number(w, (uint64_t)value, 8);
    }
}

static void string(struct trace_writer *w, const char *text)
{
    trace_writer_bytes(w, text, strlen(text) + 1);
}

void trace_writer_init(struct trace_writer *w, uint32_t version, uint64_t pid)
{
    double rate = TRACE_WRITER_RATE;
    *w = (struct trace_writer){.version = version, .pid = pid, .check_slot = TRACE_WRITER_NO_CHECK};
    trace_writer_begin(w, 0, 0, 0);
    trace_writer_event(w, EVENT_INFO, 0);
    trace_writer_bytes(w, &rate, sizeof rate);
    trace_writer_number(w, 64, 1);
    string(w, "app.exe");
    string(w, "host");
    string(w, "v=0");
    trace_writer_number(w, pid, 8);
    if (version >= 2)
        string(w, "context");
    trace_writer_end(w);
}

void trace_writer_fini(struct trace_writer *w)
{
    hs_buffer_fini(&w->out);
}

void trace_writer_begin(struct trace_writer *w, uint32_t domain, uint64_t first_id, uint64_t at_us)
{
    w->packet = w->out.n_bytes;
    w->last_us = TRACE_WRITER_BEGUN_US + at_us;
    w->next_id = first_id;
    trace_writer_number(w, 0xC1FC1FC1, 4);
    trace_writer_number(w, 0, 4);
    trace_writer_number(w, w->last_us, 8);
    trace_writer_number(w, w->last_us, 8);
    trace_writer_number(w, 0, 4);
    trace_writer_number(w, w->version, 2);
    trace_writer_number(w, w->pid, 8);
    if (w->version >= 3)
        trace_writer_number(w, domain, 2);
    trace_writer_number(w, w->check_slot, 2);
    trace_writer_number(w, w->check_prediction, 2);
    trace_writer_number(w, w->check_code, 8);
    trace_writer_number(w, first_id, 8);
    trace_writer_number(w, first_id, 8);
}

void trace_writer_end(struct trace_writer *w)
{
    uint8_t *packet = w->out.bytes + w->packet;
    uint32_t n_bits = (uint32_t)(w->out.n_bytes - w->packet) * 8;
    memcpy(packet + AT_SIZE, &n_bits, sizeof n_bits);
    memcpy(packet + AT_END_US, &w->last_us, sizeof w->last_us);
    memcpy(packet + (w->version >= 3 ? 60 : 58), &w->next_id, sizeof w->next_id);
}

void trace_writer_event(struct trace_writer *w, unsigned event, uint64_t at_us)
{
    w->last_us = TRACE_WRITER_BEGUN_US + at_us;
    trace_writer_number(w, (w->last_us & 0x1FFFFFF) | (uint64_t)event << 25, 4);
}

void trace_writer_location(struct trace_writer *w, uint64_t code, const char *function,
                           const char *file, uint32_t line)
{
    trace_writer_event(w, EVENT_LOCATION, w->last_us - TRACE_WRITER_BEGUN_US);
    trace_writer_number(w, code, 8);
    trace_writer_number(w, 1, 1);
    trace_writer_number(
        w, line | (uint64_t)2 << 20 | (uint64_t)9 << 28 | (uint64_t)31 << 38 | (uint64_t)31 << 43,
        6);
    string(w, file);
    string(w, function);
}

void trace_writer_alloc(struct trace_writer *w, uint64_t at_us, uint64_t words, uint64_t n_samples,
                        unsigned source, const uint64_t *codes, size_t n)
{
    bool is_short = words >= 1 && words <= 16 && n_samples == 1 && source == 0 && n < 256;
    trace_writer_event(w, is_short ? 100 + (unsigned)words : EVENT_ALLOC, at_us);
    if (!is_short) {
        trace_writer_vint(w, (int64_t)words);
        trace_writer_vint(w, (int64_t)n_samples);
        trace_writer_number(w, source, 1);
    }
    trace_writer_vint(w, 0);
    trace_writer_number(w, n, is_short ? 1 : 2);
    for (size_t i = 0; i < n; i++) {
        trace_writer_number(w, (i % 16384) << 2 | 3, 2);
        trace_writer_number(w, codes[i], 8);
    }
    w->next_id++;
}

void trace_writer_fate(struct trace_writer *w, enum hs_trace_kind kind, uint64_t at_us, uint64_t id)
{
    trace_writer_event(w, kind == HS_TRACE_PROMOTE ? EVENT_PROMOTE : EVENT_COLLECT, at_us);
    trace_writer_vint(w, (int64_t)(w->next_id - 1 - id));
}
