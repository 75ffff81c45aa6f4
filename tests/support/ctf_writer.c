/* links: hs_trace */
#include "ctf_writer.h"

#include <stdlib.h>

enum { EVENT_INFO, EVENT_LOCATION, EVENT_ALLOC, EVENT_PROMOTE, EVENT_COLLECT };
enum { AT_SIZE = 4, AT_END_US = 16 };

void ctf_writer_bytes(struct ctf_writer *w, const void *bytes, size_t n_bytes)
{
    struct hs_error err;
    if (hs_buffer_reserve(&w->out, n_bytes, &err) != HS_OK)
        abort();
    hs_buffer_put_bytes(&w->out, bytes, n_bytes);
}

void ctf_writer_number(struct ctf_writer *w, uint64_t value, unsigned n_bytes)
{
    ctf_writer_bytes(w, &value, n_bytes);
}

void ctf_writer_vint(struct ctf_writer *w, int64_t value)
{
    if (value >= 0 && value < 253) {
        ctf_writer_number(w, (uint64_t)value, 1);
    } else if (value >= 0 && value <= UINT16_MAX) {
        ctf_writer_number(w, 253, 1);
        ctf_writer_number(w, (uint64_t)value, 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        ctf_writer_number(w, 254, 1);
        ctf_writer_number(w, (uint64_t)value, 4);
    } else {
        ctf_writer_number(w, 255, 1);
        ctf_writer_number(w, (uint64_t)value, 8);
    }
}

static void string(struct ctf_writer *w, const char *text)
{
    ctf_writer_bytes(w, text, strlen(text) + 1);
}

void ctf_writer_init(struct ctf_writer *w, uint32_t version, uint64_t pid)
{
    double rate = CTF_WRITER_RATE;
    *w = (struct ctf_writer){.version = version, .pid = pid, .check_slot = CTF_WRITER_NO_CHECK};
    ctf_writer_begin(w, 0, 0, 0);
    ctf_writer_event(w, EVENT_INFO, 0);
    ctf_writer_bytes(w, &rate, sizeof rate);
    ctf_writer_number(w, 64, 1);
    string(w, "app.exe");
    string(w, "host");
    string(w, "v=0");
    ctf_writer_number(w, pid, 8);
    if (version >= 2)
        string(w, "context");
    ctf_writer_end(w);
}

void ctf_writer_fini(struct ctf_writer *w)
{
    hs_buffer_fini(&w->out);
}

void ctf_writer_begin(struct ctf_writer *w, uint32_t domain, uint64_t first_id, uint64_t at_us)
{
    w->packet = w->out.n_bytes;
    w->last_us = CTF_WRITER_BEGUN_US + at_us;
    w->next_id = first_id;
    ctf_writer_number(w, 0xC1FC1FC1, 4);
    ctf_writer_number(w, 0, 4);
    ctf_writer_number(w, w->last_us, 8);
    ctf_writer_number(w, w->last_us, 8);
    ctf_writer_number(w, 0, 4);
    ctf_writer_number(w, w->version, 2);
    ctf_writer_number(w, w->pid, 8);
    if (w->version >= 3)
        ctf_writer_number(w, domain, 2);
    ctf_writer_number(w, w->check_slot, 2);
    ctf_writer_number(w, w->check_prediction, 2);
    ctf_writer_number(w, w->check_code, 8);
    ctf_writer_number(w, first_id, 8);
    ctf_writer_number(w, first_id, 8);
}

void ctf_writer_end(struct ctf_writer *w)
{
    uint8_t *packet = w->out.bytes + w->packet;
    uint32_t n_bits = (uint32_t)(w->out.n_bytes - w->packet) * 8;
    memcpy(packet + AT_SIZE, &n_bits, sizeof n_bits);
    memcpy(packet + AT_END_US, &w->last_us, sizeof w->last_us);
    memcpy(packet + (w->version >= 3 ? 60 : 58), &w->next_id, sizeof w->next_id);
}

void ctf_writer_event(struct ctf_writer *w, unsigned event, uint64_t at_us)
{
    w->last_us = CTF_WRITER_BEGUN_US + at_us;
    ctf_writer_number(w, (w->last_us & 0x1FFFFFF) | (uint64_t)event << 25, 4);
}

void ctf_writer_location(struct ctf_writer *w, uint64_t code, const char *function,
                         const char *file, uint32_t line)
{
    ctf_writer_event(w, EVENT_LOCATION, w->last_us - CTF_WRITER_BEGUN_US);
    ctf_writer_number(w, code, 8);
    ctf_writer_number(w, 1, 1);
    ctf_writer_number(
        w, line | (uint64_t)2 << 20 | (uint64_t)9 << 28 | (uint64_t)31 << 38 | (uint64_t)31 << 43,
        6);
    string(w, file);
    string(w, function);
}

void ctf_writer_alloc(struct ctf_writer *w, uint64_t at_us, uint64_t words, uint64_t n_samples,
                      unsigned source, const uint64_t *codes, size_t n)
{
    bool is_short = words >= 1 && words <= 16 && n_samples == 1 && source == 0 && n < 256;
    ctf_writer_event(w, is_short ? 100 + (unsigned)words : EVENT_ALLOC, at_us);
    if (!is_short) {
        ctf_writer_vint(w, (int64_t)words);
        ctf_writer_vint(w, (int64_t)n_samples);
        ctf_writer_number(w, source, 1);
    }
    ctf_writer_vint(w, 0);
    ctf_writer_number(w, n, is_short ? 1 : 2);
    for (size_t i = 0; i < n; i++) {
        ctf_writer_number(w, (i % 16384) << 2 | 3, 2);
        ctf_writer_number(w, codes[i], 8);
    }
    w->next_id++;
}

void ctf_writer_fate(struct ctf_writer *w, enum hs_trace_kind kind, uint64_t at_us, uint64_t id)
{
    ctf_writer_event(w, kind == HS_TRACE_PROMOTE ? EVENT_PROMOTE : EVENT_COLLECT, at_us);
    ctf_writer_vint(w, (int64_t)(w->next_id - 1 - id));
}
