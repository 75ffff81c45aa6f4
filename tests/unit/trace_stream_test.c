/* links: hs_tools_lib hs_recorder hs_trace hs_symbols hs_target */
/* Packets as the recorder's library writes them, checked, named and read again by the reader of
 * traces. */

#include "base/load.h"

#include "unit.h"

#include "fail_each.h"
#include "recorder/record_packet.h"
#include "symbols/elf.h"
#include "tools/record/translate.h"
#include "tools/trace/stream.h"
#include "trace/trace.h"

enum { PID = 4242 };
static struct hs_record_codes codes;
static struct hs_record_packet packet = {.codes = &codes};

/* One packet of two places, two allocations and one end of an allocation. */
static void make_packet(uint64_t begin_us, const char *file, uint64_t offset)
{
    const uint64_t frames[2] = {0x2000, 0x1000};
    const struct hs_record_place places[2] = {{.code = 0x1000, .file = file, .offset = offset},
                                              {.code = 0x2000, .file = file, .offset = offset + 9}};
    const struct hs_record_slot slot = {.address = 16, .bytes = 100, .n_samples = 1};
    hs_record_packet_begin(&packet, begin_us, PID);
    assert_true(hs_record_packet_place(&packet, &places[0], false));
    assert_true(hs_record_packet_place(&packet, &places[1], true));
    assert_true(hs_record_packet_alloc(&packet, &slot, frames, 2, begin_us + 1));
    assert_true(hs_record_packet_alloc(&packet, &slot, frames, 2, begin_us + 2));
    assert_true(hs_record_packet_free(&packet, packet.id_next - 1, begin_us + 3));
    hs_record_packet_end(&packet, begin_us + 4);
}

static void make_info(uint64_t begin_us)
{
    const struct hs_record_info info = {1.0 / 1024, "program", "host", "", "context"};
    packet.id_next = 0;
    hs_record_packet_begin(&packet, begin_us, PID);
    assert_true(hs_record_packet_info(&packet, &info));
    hs_record_packet_end(&packet, begin_us);
}

static struct hs_packet opened(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_packet ret;
    assert_int_equal(hs_packet_open(packet.bytes, packet.n_bytes, &ret, &err), HS_OK);
    return ret;
}

static void test_events(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_packet_event event;
    bool more = true;
    make_info(1000);
    make_packet(2000, "a-module", 0x1f3c);
    struct hs_packet found = opened();
    assert_int_equal(hs_packet_check(&found, &err), HS_OK);
    assert_int_equal(found.pid, PID);
    assert_int_equal(found.id_end - found.id_begin, 2);
    struct hs_packet_walk walk = {.packet = &found};
    static const enum hs_packet_kind kinds[] = {HS_PACKET_LOCATION, HS_PACKET_LOCATION,
                                                HS_PACKET_ALLOC, HS_PACKET_ALLOC, HS_PACKET_OTHER};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_int_equal(hs_packet_next(&walk, &event, &more, &err), HS_OK);
        assert_true(more);
        assert_int_equal(event.kind, kinds[i]);
        if (event.kind == HS_PACKET_LOCATION) {
            assert_string_equal(event.file, "a-module");
            assert_string_equal(event.name, i == 0 ? "+0x1f3c" : "+0x1f45");
            assert_int_equal(event.code, i == 0 ? 0x1000 : 0x2000);
        }
    }
    assert_int_equal(hs_packet_next(&walk, &event, &more, &err), HS_OK);
    assert_false(more);
}

/* Whatever is cut or changed is refused or read, and nothing else happens. */
static void test_damage(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_packet found;
    make_info(1000);
    make_packet(2000, "a-module", 0x1f3c);
    for (size_t n = 0; n < packet.n_bytes; n++) {
        uint8_t *copy = malloc(n == 0 ? 1 : n); /* ends where the sanitizer sees it */
        memcpy(copy, packet.bytes, n);
        assert_int_equal(hs_packet_open(copy, n, &found, &err), HS_FORMAT);
        free(copy);
    }
    size_t n_refused = 0;
    for (size_t bit = 0; bit < 8 * (size_t)packet.n_bytes; bit++) {
        uint8_t *copy = malloc(packet.n_bytes);
        memcpy(copy, packet.bytes, packet.n_bytes);
        copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (hs_packet_open(copy, packet.n_bytes, &found, &err) != HS_OK ||
            hs_packet_check(&found, &err) != HS_OK) {
            assert_int_equal(err.status, HS_FORMAT);
            n_refused++;
        }
        free(copy);
    }
    assert_true(n_refused > packet.n_bytes);
}

static void append(struct hs_buffer *all, const uint8_t *bytes, size_t n)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_buffer_reserve(all, n, &err), HS_OK);
    hs_buffer_put_bytes(all, bytes, n);
}

static void translate(struct hs_translator *t, struct hs_buffer *all, bool expects_info)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_packet found = opened();
    const uint8_t *bytes;
    size_t n;
    bool is_info;
    assert_int_equal(hs_translate(t, &found, &bytes, &n, &is_info, &err), HS_OK);
    assert_int_equal(is_info, expects_info);
    append(all, bytes, n);
}

/* The function that the test's own debug information must name. */
__attribute__((noinline)) static void *a_named_function(void)
{
    void *here = __builtin_return_address(0);
    __asm__ volatile("" : "+r"(here));
    return here;
}

static uint64_t own_offset(void)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &elf, &err), HS_OK);
    assert_non_null(a_named_function());
    const struct hs_elf_symbol *symbol = hs_elf_find(elf, "a_named_function");
    assert_non_null(symbol);
    return symbol->vaddr + 5;
}

static size_t count_events(const struct hs_buffer *all, const char *function, size_t *ret_named)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace *trace = NULL;
    struct hs_trace_event event;
    size_t n = 0;
    bool more = true;
    *ret_named = 0;
    assert_int_equal(hs_trace_open_bytes(all->bytes, all->n_bytes, &trace, &err), HS_OK);
    for (;; n++) {
        assert_int_equal(hs_trace_next(trace, &event, &more, &err), HS_OK);
        if (!more)
            break;
        if (event.kind != HS_TRACE_ALLOC)
            continue;
        size_t n_places;
        assert_int_equal(event.n_frames, 2);
        const struct hs_trace_location *places =
            hs_trace_locations(trace, event.frames[0], &n_places);
        assert_true(n_places >= 1);
        if (strcmp(hs_trace_string(trace, places[n_places - 1].function), function) == 0)
            ++*ret_named;
    }
    assert_int_equal(hs_trace_gaps(trace)->n_damaged_packets, 0);
    hs_trace_close(trace);
    return n;
}

static void test_names(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_namer) *namer = NULL;
    struct hs_buffer all = {0};
    char own[4096];
    size_t n_named;
    assert_non_null(realpath("/proc/self/exe", own));
    assert_int_equal(hs_namer_new(NULL, 0, &namer, &err), HS_OK);
    struct hs_translator t = {.namer = namer};
    uint64_t offset = own_offset();
    uint64_t late_us = UINT64_C(4000000000000000); /* the file was there before */
    make_info(late_us);
    translate(&t, &all, true);
    make_packet(late_us + 10, own, offset);
    translate(&t, &all, false);
    assert_int_equal(t.n_places, 2);
    make_packet(late_us + 20, own, offset);
    translate(&t, &all, false);
    assert_int_equal(t.n_places, 2); /* known */
    assert_int_equal(count_events(&all, "a_named_function", &n_named), 6);
    assert_int_equal(n_named, 4);
    hs_translate_undo(&t, PID); /* nothing new was in the last one */
    make_packet(late_us + 30, own, offset);
    translate(&t, &all, false);
    assert_int_equal(t.n_places, 2);
    hs_translator_fini(&t);
    hs_buffer_fini(&all);
}

/* What was not taken comes again. */
static void test_undo(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_namer) *namer = NULL;
    struct hs_buffer all = {0};
    assert_int_equal(hs_namer_new(NULL, 0, &namer, &err), HS_OK);
    struct hs_translator t = {.namer = namer};
    make_info(1000);
    translate(&t, &all, true);
    make_packet(2000, "relative", 7);
    translate(&t, &all, false);
    assert_int_equal(t.n_unnamed, 2);
    hs_translate_undo(&t, PID);
    make_packet(3000, "relative", 7);
    translate(&t, &all, false);
    assert_int_equal(t.n_places, 4);
    make_packet(4000, "other", 7); /* another module at the same addresses */
    translate(&t, &all, false);
    assert_int_equal(t.n_places, 6);
    make_info(5000); /* another program in the same process */
    translate(&t, &all, true);
    make_packet(6000, "other", 7);
    translate(&t, &all, false);
    assert_int_equal(t.n_places, 8);
    hs_translator_fini(&t);
    hs_buffer_fini(&all);
}

/* A file that was made after the program began is not the program's. */
static void test_replaced_file(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_namer) *namer = NULL;
    const struct hs_place_name *names;
    char own[4096];
    size_t n;
    assert_non_null(realpath("/proc/self/exe", own));
    assert_int_equal(hs_namer_new(NULL, 0, &namer, &err), HS_OK);
    hs_namer_process(namer, 0, 1);
    assert_int_equal(hs_namer_find(namer, own, own_offset(), &names, &n, &err), HS_OK);
    assert_int_equal(n, 1);
    assert_int_equal(strncmp(names[0].function, "+0x", 3), 0);
    assert_int_equal(hs_namer_n_notes(namer), 1);
    assert_non_null(strstr(hs_namer_note(namer, 0), "replaced"));
}

/* Many long names make several packets, none of them larger than others' readers take. */
static void test_split(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_location_packets locations = {0};
    static char name[5000];
    struct hs_packet found;
    size_t n_locations = 0, n_packets = 0;
    make_info(1000);
    make_packet(2000, "a-module", 0x1f3c);
    struct hs_packet like = opened();
    memset(name, 'x', sizeof name - 1);
    const struct hs_place_name names[3] = {{name, "file", 1}, {"f", name, 2}, {"g", "h", 1 << 21}};
    for (uint64_t code = 1; code <= 100; code++)
        assert_int_equal(hs_location_put(&locations, &like, code, names, 3, &err), HS_OK);
    hs_location_close(&locations);
    for (size_t at = 0; at < locations.buffer.n_bytes; at += found.n_bytes, n_packets++) {
        uint32_t n_bits = hs_load_u32(locations.buffer.bytes + at + 4);
        assert_true(n_bits / 8 <= HS_PACKET_PLAIN_BYTES);
        assert_int_equal(hs_packet_open(locations.buffer.bytes + at, n_bits / 8, &found, &err),
                         HS_OK);
        assert_int_equal(hs_packet_check(&found, &err), HS_OK);
        struct hs_packet_walk walk = {.packet = &found};
        struct hs_packet_event event;
        for (bool more = true; hs_packet_next(&walk, &event, &more, &err) == HS_OK && more;) {
            assert_int_equal(event.code, ++n_locations);
            assert_int_equal(event.n_records, 3);
            assert_int_equal(strlen(event.name), HS_PACKET_TEXT_BYTES - 1);
        }
    }
    assert_int_equal(n_locations, 100);
    assert_true(n_packets > 20);
    hs_buffer_fini(&locations.buffer);
}

static void test_out_of_memory(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    make_info(1000);
    make_packet(2000, "a-module", 0x1f3c);
    struct hs_packet found = opened();
    FAIL_EACH (each, .mode = FAIL_REST) {
        struct hs_namer *namer = NULL;
        struct hs_translator t = {0};
        const uint8_t *bytes;
        size_t n;
        bool is_info;
        fail_each_begin(&each);
        hs_status status = hs_namer_new(NULL, 0, &namer, &err);
        t.namer = namer;
        if (status == HS_OK)
            status = hs_translate(&t, &found, &bytes, &n, &is_info, &err);
        (void)fail_each_end(&each, status);
        hs_translator_fini(&t);
        hs_namer_free(namer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_events),        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_names),         cmocka_unit_test(test_undo),
        cmocka_unit_test(test_replaced_file), cmocka_unit_test(test_split),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
