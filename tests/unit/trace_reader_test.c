/* links: hs_trace */
/* The reader of allocation traces: what is sound comes back as it was written, what is not is
 * skipped and counted. */
#include "unit.h"

#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/load.h"
#include "ctf_writer.h"
#include "fail_each.h"
#include "trace/trace_packet.h"

static const uint64_t codes[] = {0x1000, 0x2000, UINT64_C(0x8000000000003000), 0x4000};
enum { PID = 4711, N_CODES = sizeof codes / sizeof *codes };

static struct hs_trace *open_written(const struct ctf_writer *w)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace *trace = NULL;
    hs_status status = hs_trace_open_bytes(w->out.bytes, w->out.n_bytes, &trace, &err);
    if (status != HS_OK)
        fail_msg("%s", err.message);
    return trace;
}

/* False at the end. */
static bool next(struct hs_trace *trace, struct hs_trace_event *event)
{
    struct hs_error err = HS_ERROR_INIT;
    bool more = false;
    assert_int_equal(hs_trace_next(trace, event, &more, &err), HS_OK);
    return more;
}

static size_t count_events(struct hs_trace *trace)
{
    struct hs_trace_event event;
    size_t n = 0;
    while (next(trace, &event))
        n++;
    return n;
}

/* Locations, and two allocations of which the first is promoted and freed. */
static void write_small(struct ctf_writer *w, uint32_t version)
{
    ctf_writer_init(w, version, PID);
    ctf_writer_begin(w, 0, 0, 10);
    ctf_writer_location(w, codes[0], "Main.run", "main.ml", 7);
    ctf_writer_location(w, codes[1], "Cache.add", "lib/cache.ml", 1 << 19);
    ctf_writer_location(w, codes[2], "Cache.grow", "lib/cache.ml", 99);
    ctf_writer_end(w);
    ctf_writer_begin(w, 0, 0, 10);
    ctf_writer_alloc(w, 11, 3, 1, HS_TRACE_MINOR, codes, 3);
    ctf_writer_alloc(w, 12, 70000, 8, HS_TRACE_MAJOR, codes, N_CODES);
    ctf_writer_fate(w, HS_TRACE_PROMOTE, 500, 0);
    ctf_writer_fate(w, HS_TRACE_COLLECT, 30000010, 0);
    ctf_writer_end(w);
}

static void check_small(struct hs_trace *trace)
{
    struct hs_trace_event event;
    size_t n;
    assert_true(next(trace, &event));
    assert_int_equal(event.kind, HS_TRACE_ALLOC);
    assert_int_equal(event.id, 0);
    assert_int_equal(event.time_us, 11);
    assert_int_equal(event.words, 3);
    assert_int_equal(event.n_samples, 1);
    assert_int_equal(event.n_frames, 3);
    assert_int_equal(event.frames[2], 0x3000); /* without the bit that OCaml's integers lack */
    const struct hs_trace_location *location = hs_trace_locations(trace, event.frames[2], &n);
    assert_int_equal(n, 1);
    assert_string_equal(hs_trace_string(trace, location->function), "Cache.grow");
    assert_string_equal(hs_trace_string(trace, location->file), "lib/cache.ml");
    assert_int_equal(location->line, 99);
    assert_int_equal(location->char_begin, 2);
    assert_int_equal(location->char_end, 9);
    assert_null(hs_trace_locations(trace, codes[3], &n));
    assert_true(next(trace, &event));
    assert_int_equal(event.id, 1);
    assert_int_equal(event.words, 70000);
    assert_int_equal(event.n_samples, 8);
    assert_int_equal(event.source, HS_TRACE_MAJOR);
    assert_int_equal(event.n_frames, N_CODES);
    assert_true(next(trace, &event));
    assert_int_equal(event.kind, HS_TRACE_PROMOTE);
    assert_int_equal(event.id, 0);
    assert_int_equal(event.time_us, 500);
    assert_true(next(trace, &event));
    assert_int_equal(event.kind, HS_TRACE_COLLECT);
    assert_int_equal(event.time_us, 30000010); /* its 25 bits have begun anew on the way */
    assert_false(next(trace, &event));
    assert_int_equal(hs_trace_gaps(trace)->n_locations, 3);
    assert_int_equal(hs_trace_gaps(trace)->n_damaged_packets, 0);
    assert_int_equal(hs_trace_gaps(trace)->cut_bytes, 0);
}

static void reads_every_version(void **state)
{
    for (uint32_t version = 1; version <= 3; version++) {
        struct ctf_writer w;
        write_small(&w, version);
        struct hs_trace *trace = open_written(&w);
        const struct hs_trace_info *info = hs_trace_info(trace);
        assert_int_equal(info->version, version);
        assert_int_equal(info->pid, PID);
        assert_int_equal(info->word_bytes, 8);
        assert_true(info->begun_us == CTF_WRITER_BEGUN_US);
        assert_true(info->samples_per_word == CTF_WRITER_RATE);
        assert_string_equal(info->executable, "app.exe");
        assert_string_equal(info->context, version >= 2 ? "context" : "");
        check_small(trace);
        hs_trace_rewind(trace);
        check_small(trace);
        hs_trace_close(trace);
        ctf_writer_fini(&w);
    }
}

/* Each domain draws numbers in runs of its own; one frees what another made: its delta is below 0.
 */
static void reads_domains(void **state)
{
    struct ctf_writer w;
    struct hs_trace_event event;
    ctf_writer_init(&w, 3, PID);
    ctf_writer_begin(&w, 1, 0, 1);
    ctf_writer_alloc(&w, 2, 1, 1, HS_TRACE_MINOR, codes, 1);
    ctf_writer_end(&w);
    ctf_writer_begin(&w, 70, 10000, 1);
    ctf_writer_alloc(&w, 1, 1, 1, HS_TRACE_MINOR, codes, 2);
    ctf_writer_end(&w);
    ctf_writer_begin(&w, 1, 1, 3);
    ctf_writer_fate(&w, HS_TRACE_COLLECT, 4, 10000);
    ctf_writer_end(&w);
    struct hs_trace *trace = open_written(&w);
    assert_true(next(trace, &event));
    assert_int_equal(event.domain, 1);
    assert_true(next(trace, &event));
    assert_int_equal(event.domain, 70);
    assert_int_equal(event.id, 10000);
    assert_int_equal(event.n_frames, 2);
    assert_int_equal(event.n_common, 0);
    assert_true(next(trace, &event));
    assert_int_equal(event.id, 10000);
    assert_int_equal(event.kind, HS_TRACE_COLLECT);
    assert_false(next(trace, &event));
    hs_trace_close(trace);
    ctf_writer_fini(&w);
}

/* Packets of a forked child, with numbers and caches of its own, between the parent's. */
static void skips_other_processes(void **state)
{
    struct ctf_writer w;
    ctf_writer_init(&w, 2, PID);
    for (unsigned i = 0; i < 6; i++) {
        w.pid = i % 2 == 0 ? PID : PID + 1;
        ctf_writer_begin(&w, 0, i / 2, i);
        ctf_writer_alloc(&w, i, 2, 1, HS_TRACE_MINOR, codes, 4);
        ctf_writer_end(&w);
    }
    struct hs_trace *trace = open_written(&w);
    struct hs_trace_event event;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(next(trace, &event));
        assert_int_equal(event.id, i);
        assert_int_equal(event.time_us, 2 * i);
    }
    assert_false(next(trace, &event));
    assert_int_equal(hs_trace_gaps(trace)->n_foreign_packets, 3);
    assert_int_equal(hs_trace_gaps(trace)->n_damaged_packets, 0);
    hs_trace_close(trace);
    ctf_writer_fini(&w);
}

static void takes_any_cut(void **state)
{
    struct ctf_writer w;
    struct hs_error err;
    write_small(&w, 2);
    size_t ends[3], n_whole = 0, at = 0;
    for (unsigned i = 0; i < 3; i++) {
        uint32_t n_bits = hs_load_u32(w.out.bytes + at + 4);
        ends[i] = at += n_bits / 8;
    }
    for (size_t n = 0; n <= w.out.n_bytes; n++) {
        struct hs_trace *trace;
        hs_status status = hs_trace_open_bytes(w.out.bytes, n, &trace, &err);
        assert_int_equal(status, n < ends[0] ? HS_FORMAT : HS_OK);
        if (status != HS_OK)
            continue;
        while (n_whole < 2 && ends[n_whole + 1] <= n)
            n_whole++;
        assert_int_equal(count_events(trace), n == ends[2] ? 4 : 0);
        assert_int_equal(hs_trace_gaps(trace)->cut_bytes, n - ends[n_whole]);
        assert_int_equal(hs_trace_gaps(trace)->n_damaged_packets, 0);
        hs_trace_close(trace);
    }
    ctf_writer_fini(&w);
}

/* What follows a damaged packet is read; frames that only the lost part knew are 0. */
static void goes_on_behind_damage(void **state)
{
    struct ctf_writer w;
    struct hs_trace_event event;
    ctf_writer_init(&w, 3, PID);
    ctf_writer_begin(&w, 0, 0, 1);
    ctf_writer_alloc(&w, 1, 4, 1, HS_TRACE_MINOR, codes, 4);
    ctf_writer_event(&w, 77, 2); /* there is no such event */
    ctf_writer_alloc(&w, 3, 4, 1, HS_TRACE_MINOR, codes, 4);
    ctf_writer_end(&w);
    ctf_writer_begin(&w, 0, 2, 5);
    ctf_writer_event(&w, 104, 5);
    ctf_writer_vint(&w, 2);           /* two frames of a backtrace that is lost */
    ctf_writer_number(&w, 2, 1);      /* two words: */
    ctf_writer_number(&w, 1 << 2, 2); /* slot 1, whose code is lost, */
    ctf_writer_number(&w, 9 << 2 | 3, 2);
    ctf_writer_number(&w, codes[3], 8); /* and a new one */
    w.next_id++;
    ctf_writer_end(&w);
    struct hs_trace *trace = open_written(&w);
    assert_true(next(trace, &event));
    assert_true(next(trace, &event));
    assert_int_equal(event.id, 2);
    assert_int_equal(event.n_frames, 4);
    assert_int_equal(event.n_common, 0);
    assert_true(event.frames[0] == 0 && event.frames[1] == 0 && event.frames[2] == 0);
    assert_int_equal(event.frames[3], codes[3]);
    assert_false(next(trace, &event));
    assert_int_equal(hs_trace_gaps(trace)->n_damaged_packets, 1);
    hs_trace_close(trace);
    ctf_writer_fini(&w);
}

/* The header says what one slot holds: when it holds something else the packet is left out. */
static void checks_the_cache(void **state)
{
    for (unsigned is_wrong = 0; is_wrong < 2; is_wrong++) {
        struct ctf_writer w;
        ctf_writer_init(&w, 2, PID);
        ctf_writer_begin(&w, 0, 0, 1);
        ctf_writer_alloc(&w, 1, 4, 1, HS_TRACE_MINOR, codes, 3);
        ctf_writer_end(&w);
        w.check_slot = 1;
        w.check_code = codes[1] + is_wrong;
        w.check_prediction = 2;
        ctf_writer_begin(&w, 0, 1, 2);
        ctf_writer_alloc(&w, 2, 4, 1, HS_TRACE_MINOR, codes, 3);
        ctf_writer_end(&w);
        w.check_slot = CTF_WRITER_NO_CHECK;
        ctf_writer_begin(&w, 0, 2, 3);
        ctf_writer_alloc(&w, 3, 4, 1, HS_TRACE_MINOR, codes, 3);
        ctf_writer_end(&w);
        struct hs_trace *trace = open_written(&w);
        assert_int_equal(count_events(trace), is_wrong ? 2 : 3);
        assert_int_equal(hs_trace_gaps(trace)->n_damaged_packets, is_wrong);
        hs_trace_close(trace);
        ctf_writer_fini(&w);
    }
}

/* A backtrace that was cut as it was written: the next shares more with it than there is. */
static void keeps_a_cut_backtrace(void **state)
{
    struct ctf_writer w;
    struct hs_trace_event event;
    ctf_writer_init(&w, 2, PID);
    ctf_writer_begin(&w, 0, 0, 1);
    ctf_writer_alloc(&w, 1, 4, 1, HS_TRACE_MINOR, codes, 2);
    ctf_writer_event(&w, 102, 2);
    ctf_writer_vint(&w, 5);
    ctf_writer_number(&w, 1, 1);
    ctf_writer_number(&w, 7 << 2 | 3, 2);
    ctf_writer_number(&w, codes[3], 8);
    w.next_id++;
    ctf_writer_event(&w, 103, 2);
    ctf_writer_vint(&w, 1);
    ctf_writer_number(&w, 1, 1);
    ctf_writer_number(&w, 7 << 2, 2); /* the cache has learned it all the same */
    w.next_id++;
    ctf_writer_end(&w);
    struct hs_trace *trace = open_written(&w);
    assert_true(next(trace, &event));
    assert_true(next(trace, &event));
    assert_int_equal(event.n_frames, 2);
    assert_int_equal(event.n_common, 2);
    assert_int_equal(event.frames[1], codes[1]);
    assert_true(next(trace, &event));
    assert_int_equal(event.n_frames, 2);
    assert_int_equal(event.frames[0], codes[0]);
    assert_int_equal(event.frames[1], codes[3]);
    hs_trace_close(trace);
    ctf_writer_fini(&w);
}

/* One packet of 200 KB, with more frames than a byte counts. */
static void takes_large_packets(void **state)
{
    struct ctf_writer w;
    struct hs_trace_event event;
    uint64_t many[20000];
    for (size_t i = 0; i < 20000; i++)
        many[i] = 0x10000 + i;
    ctf_writer_init(&w, 2, PID);
    ctf_writer_begin(&w, 0, 0, 1);
    ctf_writer_alloc(&w, 1, 4, 1, HS_TRACE_EXTERNAL, many, 20000);
    ctf_writer_end(&w);
    struct hs_trace *trace = open_written(&w);
    assert_true(next(trace, &event));
    assert_int_equal(event.n_frames, 20000);
    assert_memory_equal(event.frames, many, sizeof many);
    assert_false(next(trace, &event));
    hs_trace_close(trace);
    ctf_writer_fini(&w);
}

/* Numbers that no allocation can have. */
static void refuses_hostile_numbers(void **state)
{
    static const int64_t hostile[][3] = {/* words, samples, common */
                                         {-1, 1, 0},       {INT64_MIN, 1, 0}, {1, 0, 0},
                                         {1, -7, 0},       {1, INT64_MIN, 0}, {1, 1, -1},
                                         {1, 1, INT64_MIN}};
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        struct ctf_writer w;
        ctf_writer_init(&w, 3, PID);
        ctf_writer_begin(&w, 0, 0, 1);
        ctf_writer_event(&w, 2, 1);
        ctf_writer_vint(&w, hostile[i][0]);
        ctf_writer_vint(&w, hostile[i][1]);
        ctf_writer_number(&w, 0, 1);
        ctf_writer_vint(&w, hostile[i][2]);
        ctf_writer_number(&w, 0, 2);
        w.next_id++;
        ctf_writer_end(&w);
        struct hs_trace *trace = open_written(&w);
        assert_int_equal(count_events(trace), 0);
        assert_int_equal(hs_trace_gaps(trace)->n_damaged_packets, 1);
        hs_trace_close(trace);
        ctf_writer_fini(&w);
    }
}

/* Runs of predictions that lead in circles make at most a million frames of a few bytes. */
static void bounds_backtraces(void **state)
{
    struct ctf_writer w;
    ctf_writer_init(&w, 2, PID);
    ctf_writer_begin(&w, 0, 0, 1);
    ctf_writer_event(&w, 2, 1);
    ctf_writer_vint(&w, 1);
    ctf_writer_vint(&w, 1);
    ctf_writer_number(&w, 0, 1);
    ctf_writer_vint(&w, 0);
    ctf_writer_number(&w, 65535, 2);
    for (unsigned i = 0; i < 65535; i++) {
        ctf_writer_number(&w, 2, 2);
        ctf_writer_number(&w, 255, 1);
    }
    w.next_id++;
    ctf_writer_end(&w);
    struct hs_trace *trace = open_written(&w);
    assert_int_equal(count_events(trace), 0);
    assert_int_equal(hs_trace_gaps(trace)->n_damaged_packets, 1);
    hs_trace_close(trace);
    ctf_writer_fini(&w);
}

static void expect_refusal(const void *bytes, size_t n, const char *message)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace *trace = NULL;
    assert_int_equal(hs_trace_open_bytes(bytes, n, &trace, &err), HS_FORMAT);
    assert_string_equal(err.message, message);
    assert_null(trace);
}

static void tells_refusals_apart(void **state)
{
    struct ctf_writer w;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace *trace = NULL;
    ctf_writer_init(&w, 2, PID);
    expect_refusal(NULL, 0, "the trace is empty");
    expect_refusal("#!/bin/sh\n", 10, "the trace is no allocation trace");
    expect_refusal(w.out.bytes, 100,
                   "the trace is cut before its first event: it ends after 100 bytes");
    expect_refusal(w.out.bytes, 2,
                   "the trace is cut before its first event: it ends after 2 bytes");
    w.out.bytes[28] = 4;
    expect_refusal(w.out.bytes, w.out.n_bytes, "the trace is a trace of version 4; we know 1 to 3");
    w.out.bytes[28] = 0;
    expect_refusal(w.out.bytes, w.out.n_bytes, "the trace is no allocation trace");
    w.out.bytes[28] = 2;
    w.out.bytes[69] = 2; /* an allocation in place of the information */
    expect_refusal(w.out.bytes, w.out.n_bytes,
                   "the trace is damaged: its first packet does not hold the trace's information");
    assert_int_equal(hs_trace_open(HS_SOURCE_DIR, &trace, &err), HS_IO);
    assert_int_equal(hs_trace_open(HS_SOURCE_DIR "/no such trace", &trace, &err), HS_IO);
    ctf_writer_fini(&w);
}

static void fail_each_allocation(const uint8_t *bytes, size_t n_bytes)
{
    FAIL_EACH (each, .at_least = 8) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_trace *trace = NULL;
        struct hs_trace_event event;
        bool more = true;
        fail_each_begin(&each);
        hs_status status = hs_trace_open_bytes(bytes, n_bytes, &trace, &err);
        while (status == HS_OK && more)
            status = hs_trace_next(trace, &event, &more, &err);
        (void)fail_each_end(&each, status);
        hs_trace_close(trace);
    }
}

static void survives_failed_allocations(void **state)
{
    struct ctf_writer w;
    struct hs_map map;
    struct hs_error err;
    write_small(&w, 3);
    fail_each_allocation(w.out.bytes, w.out.n_bytes);
    ctf_writer_fini(&w);
    /* One whose names are searched. */
    assert_int_equal(hs_map_open(HS_SOURCE_DIR "/tests/fuzz/corpus/trace/fault-v2", &map, &err),
                     HS_OK);
    fail_each_allocation(map.bytes, map.n_bytes);
    hs_map_close(&map);
}

/* Another damage than the writer's fault, in a trace whose names do not follow OCaml's: it costs
 * the names of no other location. */
static void loses_no_other_names(void **state)
{
    struct ctf_writer w;
    struct hs_trace_event event;
    size_t n;
    ctf_writer_init(&w, 2, PID);
    ctf_writer_begin(&w, 0, 0, 1);
    ctf_writer_location(&w, codes[0], "main", "src/main.cpp", 7);
    ctf_writer_location(&w, codes[1], "std::vector<\x01>::push_back", "bits/stl_vector.h", 8);
    ctf_writer_end(&w);
    ctf_writer_begin(&w, 0, 0, 1);
    ctf_writer_location(&w, codes[3], "shop::Cart::add", "src/cart.cpp", 9);
    ctf_writer_end(&w);
    ctf_writer_begin(&w, 0, 0, 1);
    ctf_writer_alloc(&w, 1, 3, 1, HS_TRACE_MINOR, codes, N_CODES);
    ctf_writer_end(&w);
    struct hs_trace *trace = open_written(&w);
    assert_true(next(trace, &event));
    const struct hs_trace_location *first = hs_trace_locations(trace, codes[0], &n);
    assert_string_equal(hs_trace_string(trace, first->function), "main");
    const struct hs_trace_location *last = hs_trace_locations(trace, codes[3], &n);
    assert_string_equal(hs_trace_string(trace, last->function), "shop::Cart::add");
    assert_int_equal(hs_trace_gaps(trace)->n_damaged_locations, 0);
    assert_false(next(trace, &event));
    hs_trace_close(trace);
    ctf_writer_fini(&w);
}

/* ---- traces of real programs, where they are at hand: cli.trace_dump has made ones ---- */

#define SHARED HS_SOURCE_DIR "/../shared/traces/"

static struct hs_map map_shared(const char *name)
{
    struct hs_error err;
    struct hs_map map;
    char path[4096];
    (void)snprintf(path, sizeof path, SHARED "%s", name);
    assert_int_equal(hs_map_open(path, &map, &err), HS_OK);
    return map;
}

static void takes_any_cut_of_a_real_trace(void **state)
{
    struct hs_map map = map_shared("viewer-v2.ctf");
    struct hs_error err;
    for (size_t n = 0; n <= map.n_bytes; n++) {
        struct hs_trace *trace;
        size_t whole = n < 317 ? 0 : n < 1164 ? 317 : n < 2390 ? 1164 : 2390; /* packet borders */
        hs_status status = hs_trace_open_bytes(map.bytes, n, &trace, &err);
        assert_int_equal(status, whole == 0 ? HS_FORMAT : HS_OK);
        if (whole == 0)
            continue;
        assert_int_equal(count_events(trace), whole == 2390 ? 108 : 0);
        assert_int_equal(hs_trace_gaps(trace)->cut_bytes, n - whole);
        hs_trace_close(trace);
    }
    hs_map_close(&map);
}

/* The fault of memtrace 0.2.3: no name may differ from those of the sound twin. */
static void recovers_names(void **state)
{
    struct hs_map maps[2] = {map_shared("ocamlopt413-v2.ctf"),
                             map_shared("ocamlopt413-overflow-v2.ctf")};
    struct hs_trace *traces[2];
    struct hs_trace_event events[2];
    struct hs_error err;
    size_t n_events = 0;
    for (unsigned i = 0; i < 2; i++)
        assert_int_equal(hs_trace_open_bytes(maps[i].bytes, maps[i].n_bytes, &traces[i], &err),
                         HS_OK);
    while (next(traces[0], &events[0])) {
        assert_true(next(traces[1], &events[1]));
        n_events++;
        assert_int_equal(events[0].id, events[1].id);
        assert_int_equal(events[0].n_frames, events[1].n_frames);
        for (uint32_t k = 0; events[0].kind == HS_TRACE_ALLOC && k < events[0].n_frames; k++) {
            size_t n[2];
            const struct hs_trace_location *sound, *found;
            sound = hs_trace_locations(traces[0], events[0].frames[k], &n[0]);
            found = hs_trace_locations(traces[1], events[1].frames[k], &n[1]);
            assert_int_equal(n[0], n[1]);
            for (size_t j = 0; j < n[0]; j++) {
                assert_int_equal(sound[j].line, found[j].line);
                if (found[j].is_damaged)
                    continue;
                assert_string_equal(hs_trace_string(traces[0], sound[j].function),
                                    hs_trace_string(traces[1], found[j].function));
                assert_string_equal(hs_trace_string(traces[0], sound[j].file),
                                    hs_trace_string(traces[1], found[j].file));
            }
        }
    }
    assert_false(next(traces[1], &events[1]));
    assert_int_equal(n_events, 9843);
    assert_true(hs_trace_gaps(traces[1])->n_damaged_locations <= 62);
    assert_int_equal(hs_trace_gaps(traces[1])->n_damaged_packets, 0);
    for (unsigned i = 0; i < 2; i++) {
        hs_trace_close(traces[i]);
        hs_map_close(&maps[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_version),     cmocka_unit_test(reads_domains),
        cmocka_unit_test(skips_other_processes),   cmocka_unit_test(takes_any_cut),
        cmocka_unit_test(goes_on_behind_damage),   cmocka_unit_test(checks_the_cache),
        cmocka_unit_test(keeps_a_cut_backtrace),   cmocka_unit_test(takes_large_packets),
        cmocka_unit_test(refuses_hostile_numbers), cmocka_unit_test(bounds_backtraces),
        cmocka_unit_test(tells_refusals_apart),    cmocka_unit_test(survives_failed_allocations),
        cmocka_unit_test(loses_no_other_names),
    };
    const struct CMUnitTest of_real_traces[] = {
        cmocka_unit_test(takes_any_cut_of_a_real_trace),
        cmocka_unit_test(recovers_names),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (access(SHARED, F_OK) == 0)
        n_failed += cmocka_run_group_tests(of_real_traces, NULL, NULL);
    return n_failed;
}
