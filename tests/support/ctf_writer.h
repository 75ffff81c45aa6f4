/* Writes memtrace's format (versions 1 to 3) in its plainest form: nothing is compressed, every
 * frame brings its code, no header checks the cache. Times count from the start. Everything that
 * fails aborts.
 *
 *     ctf_writer_init(&w, 3, 4711);          the first packet
 *     ctf_writer_begin(&w, domain, id, us);  a packet; id: of its first allocation
 *     ctf_writer_alloc(...) ...
 *     ctf_writer_end(&w);
 *     w.out.bytes, w.out.n_bytes */
#ifndef HS_TEST_CTF_WRITER_H
#define HS_TEST_CTF_WRITER_H

#include "base/buffer.h"
#include "trace/trace.h"

#define CTF_WRITER_BEGUN_US UINT64_C(1700000000123456)
#define CTF_WRITER_RATE 0.001
#define CTF_WRITER_NO_CHECK 0xFFFF

struct ctf_writer {
    struct hs_buffer out; /* owned */
    uint32_t version;
    uint64_t pid;
    size_t packet; /* where the packet that is written begins */
    uint64_t last_us, next_id;
    uint16_t check_slot, check_prediction; /* of the next packet */
    uint64_t check_code;
};

void ctf_writer_init(struct ctf_writer *w, uint32_t version, uint64_t pid);
void ctf_writer_fini(struct ctf_writer *w);

void ctf_writer_begin(struct ctf_writer *w, uint32_t domain, uint64_t first_id, uint64_t at_us);
/* Fills in what the header could not know. */
void ctf_writer_end(struct ctf_writer *w);

/* Bare parts. */
void ctf_writer_bytes(struct ctf_writer *w, const void *bytes, size_t n_bytes);
void ctf_writer_number(struct ctf_writer *w, uint64_t value, unsigned n_bytes);
void ctf_writer_vint(struct ctf_writer *w, int64_t value);
void ctf_writer_event(struct ctf_writer *w, unsigned event, uint64_t at_us);

/* A function at a code, both names new ones. */
void ctf_writer_location(struct ctf_writer *w, uint64_t code, const char *function,
                         const char *file, uint32_t line);
void ctf_writer_alloc(struct ctf_writer *w, uint64_t at_us, uint64_t words, uint64_t n_samples,
                      unsigned source, const uint64_t *codes, size_t n);
/* A promotion or collection. */
void ctf_writer_fate(struct ctf_writer *w, enum hs_trace_kind kind, uint64_t at_us, uint64_t id);

#endif
