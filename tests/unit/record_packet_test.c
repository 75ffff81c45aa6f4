/* links: hs_recorder hs_trace */
/* What the recorder writes, the reader of traces gives back: random events over many packets, and
 * after packets were lost. */
#include "unit.h"

#include "recorder/record_draw.h"
#include "recorder/record_packet.h"
#include "trace/trace.h"

#define N_EVENTS 40000U
#define BEGUN UINT64_C(1795346143015588)

struct expected {
    bool is_alloc, is_promotion;
    unsigned source; /* an own block moves; 3: it does not */
    uint64_t id, words, n_samples, time_us;
    unsigned n_frames;
    uint64_t frames[HS_RECORD_FRAMES_MAX]; /* the innermost first */
};

static struct hs_record_codes codes;
static struct hs_record_packet packet = {.codes = &codes};
static uint8_t file[64U << 20];
static size_t n_file;
static struct expected expected[N_EVENTS];
static unsigned n_expected;

static void flush(uint64_t now, bool is_lost, unsigned *n_sure)
{
    hs_record_packet_end(&packet, now);
    assert_true(packet.n_bytes <= HS_RECORD_PACKET_BYTES);
    assert_true(n_file + packet.n_bytes <= sizeof file);
    if (is_lost) {
        n_expected = *n_sure;
    } else {
        memcpy(file + n_file, packet.bytes, packet.n_bytes);
        n_file += packet.n_bytes;
        *n_sure = n_expected;
    }
    hs_record_packet_begin(&packet, now, 42);
}

static void begin(void)
{
    struct hs_record_info info = {0.25, "program", "host", "", "heapsnap record"};
    unsigned n_sure = 0;

    n_file = n_expected = 0;
    packet.id_next = 0;
    hs_record_packet_begin(&packet, BEGUN, 42);
    assert_true(hs_record_packet_info(&packet, &info));
    flush(BEGUN, false, &n_sure);
    for (unsigned i = 0; i < 100; i++) {
        struct hs_record_place place = {
            .code = 0x7000 + i, .file = i < 50 ? "one.so" : "two.so", .offset = 0x1000 + i};

        if (i % 10 == 9) {
            place.function = "Session.load";
            place.line = 1000 * i;
        }

        assert_true(hs_record_packet_place(&packet, &place, i % 50 != 0));
    }
    flush(BEGUN, false, &n_sure);
}

/* Neighbours share their outer frames, as calls do. */
static void random_frames(struct expected *to, uint64_t *random)
{
    unsigned n_outer;

    *random = hs_record_seed(*random);
    to->n_frames = (unsigned)(*random % 40 == 0 ? HS_RECORD_FRAMES_MAX : *random % 30);
    n_outer = (unsigned)(*random >> 40) % (to->n_frames + 1);
    for (unsigned i = 0; i < to->n_frames; i++) {
        *random = hs_record_seed(*random);
        to->frames[to->n_frames - 1 - i] = i < n_outer ? 0x7000 + i : 0x7000 + *random % 5000;
    }
}

static bool encode(const struct expected *event)
{
    struct hs_record_slot slot = {.bytes = 8 * event->words - (event->words > 1 ? 7 : 0),
                                  .n_samples = (uint32_t)event->n_samples};

    if (event->source < 3)
        slot.address = hs_record_key(event->id, event->source);
    if (event->is_promotion)
        return hs_record_packet_promote(&packet, event->id, event->time_us);
    return event->is_alloc ? hs_record_packet_alloc(&packet, &slot, event->frames, event->n_frames,
                                                    event->time_us)
                           : hs_record_packet_free(&packet, event->id, event->time_us);
}

static void write_events(bool with_losses)
{
    uint64_t random = hs_record_seed(9), now = BEGUN;
    unsigned n_sure = 0, n_packets = 0;

    begin();
    while (n_expected < N_EVENTS) {
        struct expected *event = &expected[n_expected];

        random = hs_record_seed(random);
        now += random % 900;
        *event = (struct expected){.is_alloc = random >> 62 != 0 || packet.id_next < 10,
                                   .time_us = now,
                                   .id = packet.id_next};
        event->words = random % 7 == 0 ? random >> 30 : 1 + random % 300;
        event->n_samples = random % 5 == 0 ? 1 + (random >> 33) % UINT32_MAX : 1;
        event->source = random >> 20 & 3;
        random_frames(event, &random);
        event->is_promotion = !event->is_alloc && random % 3 == 0;
        if (!event->is_alloc)
            event->id = random % packet.id_next;
        while (!encode(event)) {
            struct expected kept = *event;

            flush(now, with_losses && ++n_packets % 3 == 0, &n_sure);
            event = &expected[n_expected];
            *event = kept;
        }
        n_expected++;
    }
    flush(now, false, &n_sure);
}

static void check_event(const struct expected *want, const struct hs_trace_event *got)
{
    assert_int_equal(got->kind, want->is_alloc       ? HS_TRACE_ALLOC
                                : want->is_promotion ? HS_TRACE_PROMOTE
                                                     : HS_TRACE_COLLECT);
    assert_int_equal(got->id, want->id);
    assert_int_equal(got->time_us, want->time_us - BEGUN);
    if (!want->is_alloc)
        return;
    assert_int_equal(got->source, want->source < 3 ? want->source : HS_TRACE_EXTERNAL);
    assert_int_equal(got->words, want->words);
    assert_int_equal(got->n_samples, want->n_samples);
    assert_int_equal(got->n_frames, want->n_frames);
    for (unsigned i = 0; i < got->n_frames; i++)
        assert_int_equal(got->frames[i], want->frames[want->n_frames - 1 - i]);
}

static void check_file(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace *trace;
    struct hs_trace_event event;
    const struct hs_trace_location *location;
    bool is_more = true;
    size_t n;

    assert_int_equal(hs_trace_open_bytes(file, n_file, &trace, &err), HS_OK);
    assert_string_equal(hs_trace_info(trace)->executable, "program");
    assert_string_equal(hs_trace_info(trace)->context, "heapsnap record");
    assert_int_equal(hs_trace_info(trace)->begun_us, BEGUN);
    for (unsigned i = 0; i < n_expected; i++) {
        assert_int_equal(hs_trace_next(trace, &event, &is_more, &err), HS_OK);
        assert_true(is_more);
        check_event(&expected[i], &event);
    }
    assert_int_equal(hs_trace_next(trace, &event, &is_more, &err), HS_OK);
    assert_false(is_more);
    location = hs_trace_locations(trace, 0x7000 + 60, &n);
    assert_int_equal(n, 1);
    assert_string_equal(hs_trace_string(trace, location->file), "two.so");
    assert_string_equal(hs_trace_string(trace, location->function), "+0x103c");
    location = hs_trace_locations(trace, 0x7000 + 69, &n);
    assert_int_equal(n, 1);
    assert_string_equal(hs_trace_string(trace, location->file), "two.so");
    assert_string_equal(hs_trace_string(trace, location->function), "Session.load");
    assert_int_equal(location->line, 69000);
    assert_int_equal(hs_trace_gaps(trace)->n_damaged_packets, 0);
    assert_int_equal(hs_trace_gaps(trace)->n_damaged_locations, 0);
    hs_trace_close(trace);
}

static void test_whole(void **state)
{
    write_events(false);
    assert_int_equal(n_expected, N_EVENTS);
    check_file();
}

static void test_lost_packets(void **state)
{
    write_events(true);
    check_file();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_whole),
                                       cmocka_unit_test(test_lost_packets)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
