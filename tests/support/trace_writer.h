/* Writes memtrace's format (versions 1 to 3) in its plainest form: nothing is compressed, every
 * frame brings its code, no header checks the cache. Times count from the start. Everything that
 * fails aborts.
 *
 *     trace_writer_init(&w, 3, 4711);          the first packet
 *     trace_writer_begin(&w, domain, id, us);  a packet; id: of its first allocation
 *     trace_writer_alloc(...) ...
 *     trace_writer_end(&w);
 *     w.out.bytes, w.out.n_bytes */
#ifndef HS_TEST_TRACE_WRITER_H
#define HS_TEST_TRACE_WRITER_H

#include "base/buffer.h"
#include "trace/trace.h"

#define TRACE_WRITER_BEGUN_US UINT64_C(1700000000123456)
#define TRACE_WRITER_RATE 0.001
#define TRACE_WRITER_NO_CHECK 0xFFFF

struct trace_writer {
    struct hs_buffer out; /* owned */
    uint32_t version;
    uint64_t pid;
    size_t packet; /* where the packet that is written begins */
    uint64_t last_us, next_id;
    uint16_t check_slot, check_prediction; /* of the next packet */
    uint64_t check_code;
};

void trace_writer_init(struct trace_writer *w, uint32_t version, uint64_t pid);
void trace_writer_fini(struct trace_writer *w);

void trace_writer_begin(struct trace_writer *w, uint32_t domain, uint64_t first_id, uint64_t at_us);
/* Fills in what the header could not know. */
void trace_writer_end(struct trace_writer *w);

/* Bare parts. */
void trace_writer_bytes(struct trace_writer *w, const void *bytes, size_t n_bytes);
void trace_writer_number(struct trace_writer *w, uint64_t value, unsigned n_bytes);
void trace_writer_vint(struct trace_writer *w, int64_t value);
void trace_writer_event(struct trace_writer *w, unsigned event, uint64_t at_us);

/* A function at a code, both names new ones. */
void trace_writer_location(struct trace_writer *w, uint64_t code, const char *function,
                           const char *file, uint32_t line);
void trace_writer_alloc(struct trace_writer *w, uint64_t at_us, uint64_t words, uint64_t n_samples,
                        unsigned source, const uint64_t *codes, size_t n);
/* A promotion or collection. */
void trace_writer_fate(struct trace_writer *w, enum hs_trace_kind kind, uint64_t at_us,
                       uint64_t id);

#endif
