/* Reads allocation traces in memtrace's format (CTF, versions 1 to 3), of memtrace itself and of
 * `heapsnap record`.
 *
 *   struct hs_trace *trace;
 *   HS_TRY(hs_trace_open(path, &trace, err));
 *   while (next gives an event) ...
 *   hs_trace_close(trace);
 *
 * The file is hostile. One that is cut, damaged in its locations (the released writer's fault with
 * long lines), or holds packets of forked children gives all events that are sound; what was left
 * out is counted in struct hs_trace_gaps. Only what is no trace, or of a future version, fails.
 *
 * The released writer of memtrace (up to 0.2.3) garbles file names where a line is longer than 1023
 * characters, and all that follow. Such traces are found out when they are opened; their names are
 * restored as far as they can be told, and what is in doubt is damaged, not guessed.
 *
 * Resident: the file is mapped and its pages given back on the way; 256 KiB for the code cache of
 * each domain (at most 1024) and its last backtrace; 20 bytes per location and up to 64 per code
 * that was seen (4 million locations at most), and their strings, each once (256 MiB at most). What
 * is beyond is left out: packets of more domains, backtraces of over a million frames are damaged,
 * codes of more locations have none. */
#ifndef HS_TRACE_TRACE_H
#define HS_TRACE_TRACE_H

#include "base/strtab.h"

struct hs_trace;

/* The first packet. */
struct hs_trace_info {
    uint32_t version;        /* of the format: 1 to 3 */
    double samples_per_word; /* of every word allocated, headers included; finite, above 0 */
    uint32_t word_bytes;
    uint64_t begun_us; /* since 1970 */
    uint64_t pid;
    uint64_t file_bytes;
    const char *executable, *host, *runtime, *context; /* borrowed until close; "" when missing */
};

enum hs_trace_kind { HS_TRACE_ALLOC, HS_TRACE_PROMOTE, HS_TRACE_COLLECT };
enum hs_trace_source { HS_TRACE_MINOR, HS_TRACE_MAJOR, HS_TRACE_EXTERNAL, HS_N_TRACE_SOURCES };
const char *hs_trace_source_name(unsigned source); /* "minor", "major", "external" */

struct hs_trace_event {
    uint8_t kind;
    uint8_t source; /* of an allocation */
    uint32_t domain;
    uint64_t time_us; /* since begun_us; not descending within one domain */
    uint64_t id;      /* of the allocation, unique in the file */
    /* The samples of an allocation: */
    uint64_t n_samples; /* at least 1 */
    uint64_t words;     /* without the header, as the format has it */
    uint32_t n_common;  /* frames that it shares with the allocation before it in its domain */
    uint32_t n_frames;
    /* The code of each, the outermost first; 0: lost with a damaged packet. Borrowed until the next
     * call. */
    const uint64_t *frames;
};

/* Opens and reads the first packet. HS_FORMAT with a message that tells apart: empty, no trace, a
 * version that is newer than we know, cut before its first event; HS_IO for what cannot be read,
 * directories included. */
hs_status hs_trace_open(const char *path, struct hs_trace **ret, struct hs_error *err);
/* The same over borrowed bytes (tests, fuzzing). */
hs_status hs_trace_open_bytes(const void *bytes, size_t n_bytes, struct hs_trace **ret,
                              struct hs_error *err);
void hs_trace_close(struct hs_trace *trace);
/* Goes back to before the first event; gaps count anew. */
void hs_trace_rewind(struct hs_trace *trace);

const struct hs_trace_info *hs_trace_info(const struct hs_trace *trace);

/* Reads the next event in the order of the file; *ret_more is false at the end. HS_FORMAT only
 * where nothing after it can be read; HS_LIMIT without memory. */
hs_status hs_trace_next(struct hs_trace *trace, struct hs_trace_event *ret, bool *ret_more,
                        struct hs_error *err);

/* One function at a code address. */
struct hs_trace_location {
    hs_str function, file; /* of hs_trace_string; 0 and is_damaged where the writer's fault lost
                              them */
    uint32_t line;
    uint16_t char_begin, char_end;
    bool is_damaged;
};
/* Finds the functions at a code, the outermost first (inlined ones follow), as far as read by now:
 * the writer puts them before the first event that uses the code. NULL with *ret_n 0 when the file
 * has none. O(1). Borrowed until the next call of hs_trace_next. */
const struct hs_trace_location *hs_trace_locations(const struct hs_trace *trace, uint64_t code,
                                                   size_t *ret_n);
/* Returns a string; "" for 0. Borrowed until close. */
const char *hs_trace_string(const struct hs_trace *trace, hs_str id);

/* The gaps of the trace so far. What was read of a damaged packet before the damage showed stays.
 */
struct hs_trace_gaps {
    uint64_t cut_bytes;           /* behind the last whole packet */
    uint64_t n_foreign_packets;   /* of forked children, or of another process altogether */
    uint64_t n_damaged_packets;   /* skipped, from where they are damaged on */
    uint64_t n_damaged_locations; /* names that print as ? */
    uint64_t n_locations;
};
const struct hs_trace_gaps *hs_trace_gaps(const struct hs_trace *trace);

#endif
