/* links: hs_base */
#include "unit.h"

#include "base/units.h"

typedef hs_status (*parser)(const char *text, uint64_t *ret, struct hs_error *err);

static void takes(parser parse, const char *text, uint64_t expected)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t value = ~expected;
    assert_int_equal(parse(text, &value, &err), HS_OK);
    assert_true(value == expected);
}

static void refuses(parser parse, const char *text, const char *message)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t value = 77;
    assert_int_equal(parse(text, &value, &err), HS_USAGE);
    assert_int_equal(value, 77);
    assert_string_equal(err.message, message);
}

static void counts(void **state)
{
    takes(hs_parse_count, "0", 0);
    takes(hs_parse_count, "007", 7);
    takes(hs_parse_count, "18446744073709551615", UINT64_MAX);
    refuses(hs_parse_count, "18446744073709551616",
            "'18446744073709551616' is too large: it does not fit 64 bits");
    refuses(hs_parse_count, "99999999999999999999999",
            "'99999999999999999999999' is too large: it does not fit 64 bits");
    refuses(hs_parse_count, "", "'' is not a count");
    refuses(hs_parse_count, "-1", "'-1' is not a count");
    refuses(hs_parse_count, "+1", "'+1' is not a count");
    refuses(hs_parse_count, " 1", "' 1' is not a count");
    refuses(hs_parse_count, "1 ", "'1 ' is not a count");
    refuses(hs_parse_count, "1B", "'1B' is not a count");
    refuses(hs_parse_count, "1k", "'1k' is not a count");
    refuses(hs_parse_count, "0x10", "'0x10' is not a count");
    refuses(hs_parse_count, "1.5", "'1.5' is not a count");
}

static void sizes(void **state)
{
    takes(hs_parse_size, "512", 512);
    takes(hs_parse_size, "512B", 512);
    takes(hs_parse_size, "1k", 1000);
    takes(hs_parse_size, "1kB", 1000);
    takes(hs_parse_size, "2Ki", 2048);
    takes(hs_parse_size, "3M", 3000000);
    takes(hs_parse_size, "3Mi", 3U << 20);
    takes(hs_parse_size, "2GiB", 2ULL << 30);
    takes(hs_parse_size, "4G", 4000000000);
    takes(hs_parse_size, "1T", 1000000000000);
    takes(hs_parse_size, "1TiB", 1ULL << 40);
    takes(hs_parse_size, "16777215Ti", 16777215ULL << 40);
    refuses(hs_parse_size, "16777216Ti", "'16777216Ti' is too large: it does not fit 64 bits");
    refuses(hs_parse_size, "1K", "'1K' is not a size");
    refuses(hs_parse_size, "1KB", "'1KB' is not a size");
    refuses(hs_parse_size, "1mi", "'1mi' is not a size");
    refuses(hs_parse_size, "1BB", "'1BB' is not a size");
    refuses(hs_parse_size, "1MiBx", "'1MiBx' is not a size");
    /* As they are printed. */
    takes(hs_parse_size, "1 Mi", 1U << 20);
    takes(hs_parse_size, "1.5 GiB", 3ULL << 29);
    takes(hs_parse_size, "1.5Gi", 3ULL << 29);
    takes(hs_parse_size, "38.3k", 38300);
    takes(hs_parse_size, "38.3 KiB", 39219);
    takes(hs_parse_size, "0.1 Ki", 102);
    takes(hs_parse_size, "6.34 M", 6340000);
    takes(hs_parse_size, "1.000000000000000000001k", 1000);
    takes(hs_parse_size, "312 B", 312);
    refuses(hs_parse_size, "1  Mi", "'1  Mi' is not a size");
    refuses(hs_parse_size, "1 ", "'1 ' is not a size");
    refuses(hs_parse_size, "1.Mi", "'1.Mi' is not a size");
    refuses(hs_parse_size, ".5Mi", "'.5Mi' is not a size");
    refuses(hs_parse_size, "1.5", "'1.5' is not a size");
    refuses(hs_parse_size, "1.5 B", "'1.5 B' is not a size");
    refuses(hs_parse_size, "1.5.5k", "'1.5.5k' is not a size");
    refuses(hs_parse_size, "1.5 MiB B", "'1.5 MiB B' is not a size");
    takes(hs_parse_size, "16777215.9 TiB", 18446743963758388838U);
    refuses(hs_parse_size, "18446744073709551.7k",
            "'18446744073709551.7k' is too large: it does not fit 64 bits");
    refuses(hs_parse_size, "Mi", "'Mi' is not a size");
    refuses(hs_parse_size, "B", "'B' is not a size");
    refuses(hs_parse_size, "", "'' is not a size");
    refuses(hs_parse_size, "-1Mi", "'-1Mi' is not a size");
}

static void amounts(void **state)
{
    static const struct {
        const char *text;
        uint64_t value;
        bool in_bytes;
    } cases[] = {{"100k", 100000, false}, {"1.5 k", 1500, false}, {"2Mi", 2U << 20, false},
                 {"7", 7, false},         {"7B", 7, true},        {"1.5 MiB", 3U << 19, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hs_error err = HS_ERROR_INIT;
        uint64_t value = 0;
        bool in_bytes = !cases[i].in_bytes;
        assert_int_equal(hs_parse_amount(cases[i].text, &value, &in_bytes, &err), HS_OK);
        assert_true(value == cases[i].value);
        assert_int_equal(in_bytes, cases[i].in_bytes);
    }
}

static void durations(void **state)
{
    takes(hs_parse_duration, "2", 2000000000);
    takes(hs_parse_duration, "2s", 2000000000);
    takes(hs_parse_duration, "7ns", 7);
    takes(hs_parse_duration, "7us", 7000);
    takes(hs_parse_duration, "200ms", 200000000);
    takes(hs_parse_duration, "10m", 600000000000);
    takes(hs_parse_duration, "1h", 3600000000000);
    takes(hs_parse_duration, "0h", 0);
    refuses(hs_parse_duration, "5124095577h",
            "'5124095577h' is too large: it does not fit 64 bits");
    refuses(hs_parse_duration, "1d", "'1d' is not a duration");
    refuses(hs_parse_duration, "1sB", "'1sB' is not a duration");
    refuses(hs_parse_duration, "-1s", "'-1s' is not a duration");
    refuses(hs_parse_duration, "s", "'s' is not a duration");
    refuses(hs_parse_duration, "", "'' is not a duration");
}

static void addresses(void **state)
{
    takes(hs_parse_address, "0x0", 0);
    takes(hs_parse_address, "0x7fFf00001000", 0x7fff00001000);
    takes(hs_parse_address, "0xffffffffffffffff", UINT64_MAX);
    takes(hs_parse_address, "0x0000000000000000000001", 1);
    refuses(hs_parse_address, "0x10000000000000000",
            "'0x10000000000000000' is too large: it does not fit 64 bits");
    refuses(hs_parse_address, "0x", "'0x' is not an address");
    refuses(hs_parse_address, "", "'' is not an address");
    refuses(hs_parse_address, "0", "'0' is not an address");
    refuses(hs_parse_address, "1x10", "'1x10' is not an address");
    refuses(hs_parse_address, "0X10", "'0X10' is not an address");
    refuses(hs_parse_address, "7f00", "'7f00' is not an address");
    refuses(hs_parse_address, "0x12g", "'0x12g' is not an address");
    refuses(hs_parse_address, "0x-1", "'0x-1' is not an address");
    refuses(hs_parse_address, "0x 1", "'0x 1' is not an address");
}

static void hints_say_how_to_write_it(void **state)
{
    const parser parsers[] = {hs_parse_count, hs_parse_size, hs_parse_duration, hs_parse_address};
    for (int i = 0; i < 4; i++) {
        struct hs_error err = HS_ERROR_INIT;
        uint64_t value;
        assert_int_equal(parsers[i]("?", &value, &err), HS_USAGE);
        assert_non_null(strstr(err.hint, "for example"));
    }
}

static void prints(void (*format)(uint64_t, char *), uint64_t value, const char *expected)
{
    char text[HS_UNIT_TEXT_BYTES];
    format(value, text);
    assert_string_equal(text, expected);
}

static void bytes_for_eyes(void **state)
{
    prints(hs_format_bytes, 0, "0 B");
    prints(hs_format_bytes, 312, "312 B");
    prints(hs_format_bytes, 1023, "1023 B");
    prints(hs_format_bytes, 1024, "1.0 KiB");
    prints(hs_format_bytes, 1536, "1.5 KiB");
    prints(hs_format_bytes, 1572864, "1.5 MiB");
    prints(hs_format_bytes, 1048575, "1.0 MiB"); /* never "1024.0 KiB" */
    prints(hs_format_bytes, 5ULL << 40, "5.0 TiB");
    prints(hs_format_bytes, UINT64_MAX, "16.0 EiB");
}

static void durations_for_eyes(void **state)
{
    prints(hs_format_duration, 0, "0 ns");
    prints(hs_format_duration, 999, "999 ns");
    prints(hs_format_duration, 1000, "1.0 us");
    prints(hs_format_duration, 2100000, "2.1 ms");
    prints(hs_format_duration, 999960000, "1.0 s"); /* never "1000.0 ms" */
    prints(hs_format_duration, 59940000000, "59.9 s");
    prints(hs_format_duration, 59960000000, "1 m 00 s"); /* never "60.0 s" */
    prints(hs_format_duration, 125000000000, "2 m 05 s");
    prints(hs_format_duration, 3599600000000, "1 h 00 m");
    prints(hs_format_duration, 108000000000000, "30 h 00 m");
    prints(hs_format_duration, UINT64_MAX, "5124095 h 35 m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),         cmocka_unit_test(sizes),
        cmocka_unit_test(amounts),        cmocka_unit_test(durations),
        cmocka_unit_test(addresses),      cmocka_unit_test(hints_say_how_to_write_it),
        cmocka_unit_test(bytes_for_eyes), cmocka_unit_test(durations_for_eyes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
