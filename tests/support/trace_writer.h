/* Writes small allocation traces in memtrace's format, version 2, without any of its compression:
 * every frame is a miss in slot 0. Times are microseconds since the begin.
 *
 *     struct trace_writer w;
 *     trace_writer_init(&w, pid, begun_us, samples_per_word, "program");
 *     trace_writer_location(&w, 0x1000, "M.f", "m.ml", 12);    before its first use
 *     trace_writer_alloc(&w, 5, words, 1, codes, n_codes);     gives the id
 *     trace_writer_collect(&w, 9, id);
 *     trace_writer_end(&w);                                    w.bytes[w.n_bytes]
 *
 * Keep it within 30 seconds: the low bits of times would wrap. */
#ifndef HS_TEST_TRACE_WRITER_H
#define HS_TEST_TRACE_WRITER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/types.h"

struct trace_writer {
    uint8_t bytes[1 << 16];
    size_t n_bytes, packet; /* where the packet begins */
    uint64_t pid, begun_us, last_us, first_id, next_id;
    bool has_events;
};

static inline void trace_writer_put(struct trace_writer *w, const void *bytes, size_t n)
{
    if (n > sizeof w->bytes - w->n_bytes)
        abort();
    memcpy(w->bytes + w->n_bytes, bytes, n);
    w->n_bytes += n;
}

/* Little-endian, as the machines that this runs on. */
static inline void trace_writer_number(struct trace_writer *w, uint64_t value, unsigned n_bytes)
{
    trace_writer_put(w, &value, n_bytes);
}

static inline void trace_writer_patch(struct trace_writer *w, size_t at, uint64_t value,
                                      unsigned n_bytes)
{
    memcpy(w->bytes + w->packet + at, &value, n_bytes);
}

static inline void trace_writer_text(struct trace_writer *w, const char *text)
{
    trace_writer_put(w, text, strlen(text) + 1);
}

static inline void trace_writer_vint(struct trace_writer *w, uint64_t value)
{
    trace_writer_number(w, 255, 1);
    trace_writer_number(w, value, 8);
}

/* Ends the packet. */
static inline void trace_writer_end(struct trace_writer *w)
{
    if (!w->has_events)
        return;
    trace_writer_patch(w, 4, 8 * (w->n_bytes - w->packet), 4);
    trace_writer_patch(w, 16, w->last_us, 8);
    trace_writer_patch(w, 58, w->next_id, 8);
    w->packet = w->n_bytes;
    w->has_events = false;
}

static inline void trace_writer_event(struct trace_writer *w, uint64_t time_us, unsigned kind)
{
    uint64_t at = w->begun_us + time_us;
    if (!w->has_events) {
        trace_writer_number(w, 0xC1FC1FC1, 4);
        trace_writer_number(w, 0, 4); /* bits */
        trace_writer_number(w, at, 8);
        trace_writer_number(w, at, 8);
        trace_writer_number(w, 0, 4);
        trace_writer_number(w, 2, 2); /* version */
        trace_writer_number(w, w->pid, 8);
        trace_writer_number(w, 0xFFFF, 2);
        trace_writer_number(w, 0, 2);
        trace_writer_number(w, 0, 8);
        trace_writer_number(w, w->next_id, 8);
        trace_writer_number(w, w->next_id, 8);
        w->has_events = true;
    }
    w->last_us = at;
    trace_writer_number(w, (at & 0x1FFFFFF) | (uint64_t)kind << 25, 4);
}

static inline void trace_writer_init(struct trace_writer *w, uint64_t pid, uint64_t begun_us,
                                     double samples_per_word, const char *executable)
{
    memset(w, 0, sizeof *w);
    w->pid = pid;
    w->begun_us = begun_us;
    trace_writer_event(w, 0, 0);
    trace_writer_put(w, &samples_per_word, 8);
    trace_writer_number(w, 64, 1);
    trace_writer_text(w, executable);
    trace_writer_text(w, "host");
    trace_writer_text(w, "");
    trace_writer_number(w, pid, 8);
    trace_writer_text(w, "a test");
    trace_writer_end(w);
}

/* One function at a code, in a packet of its own. */
static inline void trace_writer_location(struct trace_writer *w, uint64_t code,
                                         const char *function, const char *file, unsigned line)
{
    uint64_t record = line | (uint64_t)1 << 28 | (uint64_t)31 << 38 | (uint64_t)31 << 43;
    trace_writer_end(w);
    trace_writer_event(w, w->last_us > w->begun_us ? w->last_us - w->begun_us : 0, 1);
    trace_writer_number(w, code, 8);
    trace_writer_number(w, 1, 1);
    trace_writer_number(w, record, 6);
    trace_writer_text(w, file);
    trace_writer_text(w, function);
    trace_writer_end(w);
}

/* `codes` the outermost first. */
static inline uint64_t trace_writer_alloc(struct trace_writer *w, uint64_t time_us, uint64_t words,
                                          uint64_t n_samples, const uint64_t *codes,
                                          unsigned n_codes)
{
    trace_writer_event(w, time_us, 2);
    trace_writer_vint(w, words);
    trace_writer_vint(w, n_samples);
    trace_writer_number(w, 0, 1);
    trace_writer_vint(w, 0);
    trace_writer_number(w, n_codes, 2);
    for (unsigned i = 0; i < n_codes; i++) {
        trace_writer_number(w, 3, 2);
        trace_writer_number(w, codes[i], 8);
    }
    return w->next_id++;
}

static inline void trace_writer_collect(struct trace_writer *w, uint64_t time_us, uint64_t id)
{
    trace_writer_event(w, time_us, 4);
    trace_writer_vint(w, w->next_id - 1 - id);
}

static inline void trace_writer_file(struct trace_writer *w, const char *path)
{
    FILE *file = fopen(path, "wb");
    trace_writer_end(w);
    if (file == NULL || fwrite(w->bytes, 1, w->n_bytes, file) != w->n_bytes || fclose(file) != 0)
        abort();
}

#endif
