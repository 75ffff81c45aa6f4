/* links: hs_report */
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "report/json.h"

static struct hs_buffer buffer;
static struct hs_json json;

static int start(void **state)
{
    buffer = (struct hs_buffer){0};
    hs_json_init_buffer(&json, &buffer, HS_JSON_COMPACT);
    return 0;
}

static int stop(void **state)
{
    hs_buffer_fini(&buffer);
    return 0;
}

static void restart(void)
{
    (void)stop(NULL);
    (void)start(NULL);
}

static void assert_written(const char *expected)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_json_finish(&json, &err), HS_OK);
    assert_int_equal(hs_buffer_reserve(&buffer, 1, &err), HS_OK);
    hs_buffer_put_u8(&buffer, '\0');
    assert_string_equal((const char *)buffer.bytes, expected);
}

static void write_sample(void)
{
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.roots/1");
    hs_json_begin_object(&json, "heap", HS_JSON_LINE);
    hs_json_u64(&json, "objects", UINT64_MAX);
    hs_json_i64(&json, "change", INT64_MIN);
    hs_json_end_object(&json);
    hs_json_begin_array(&json, "roots", HS_JSON_BLOCK);
    hs_json_begin_object(&json, NULL, HS_JSON_LINE);
    hs_json_node(&json, "id", 0);
    hs_json_node(&json, "dominator", HS_NO_NODE);
    hs_json_begin_array(&json, "group", HS_JSON_BLOCK); /* inside a line: on the line */
    hs_json_string(&json, NULL, "globals");
    hs_json_string(&json, NULL, "Stm");
    hs_json_end_array(&json);
    hs_json_address(&json, "address", 0x7f00);
    hs_json_end_object(&json);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_end_object(&json);
    hs_json_begin_array(&json, NULL, HS_JSON_LINE);
    hs_json_end_array(&json);
    hs_json_end_array(&json);
    hs_json_percent(&json, "share", 1, 3);
    hs_json_percent(&json, "all", UINT64_MAX, UINT64_MAX);
    hs_json_percent(&json, "of_nothing", 1, 0);
    hs_json_bool(&json, "complete", true);
    hs_json_bool(&json, "cut", false);
    hs_json_string(&json, "file", NULL);
    hs_json_null(&json, "line");
    hs_json_end_object(&json);
}

static void compact_has_no_blanks(void **state)
{
    write_sample();
    assert_written("{\"schema\":\"heapsnap.roots/1\","
                   "\"heap\":{\"objects\":18446744073709551615,\"change\":-9223372036854775808},"
                   "\"roots\":[{\"id\":\"#0\",\"dominator\":null,\"group\":[\"globals\",\"Stm\"],"
                   "\"address\":\"0x7f00\"},{},[]],\"share\":33.33,\"all\":100.00,"
                   "\"of_nothing\":null,\"complete\":true,\"cut\":false,\"file\":null,"
                   "\"line\":null}\n");
}

static void pretty_indents_by_two(void **state)
{
    hs_json_init_buffer(&json, &buffer, HS_JSON_PRETTY);
    write_sample();
    assert_written("{\n"
                   "  \"schema\": \"heapsnap.roots/1\",\n"
                   "  \"heap\": { \"objects\": 18446744073709551615, "
                   "\"change\": -9223372036854775808 },\n"
                   "  \"roots\": [\n"
                   "    { \"id\": \"#0\", \"dominator\": null, \"group\": [\"globals\", \"Stm\"], "
                   "\"address\": \"0x7f00\" },\n"
                   "    {},\n"
                   "    []\n"
                   "  ],\n"
                   "  \"share\": 33.33,\n"
                   "  \"all\": 100.00,\n"
                   "  \"of_nothing\": null,\n"
                   "  \"complete\": true,\n"
                   "  \"cut\": false,\n"
                   "  \"file\": null,\n"
                   "  \"line\": null\n"
                   "}\n");
}

static void each_document_is_a_line(void **state)
{
    for (uint64_t i = 0; i < 2; i++) {
        hs_json_begin_object(&json, NULL, HS_JSON_LINE);
        hs_json_u64(&json, "i", i);
        hs_json_end_object(&json);
    }
    hs_json_u64(&json, NULL, 7);
    assert_written("{\"i\":0}\n{\"i\":1}\n7\n");
}

static void hostile_names_are_escaped(void **state)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"plain \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\xab",
         "plain \xc3\xa9 \xe4\xb8\xad \xf0\x9f\x90\xab"},
        {"a\"b\\c/d", "a\\\"b\\\\c/d"},
        {"\n\t\r\b\x1b[31m\x7f", "\\n\\t\\u000d\\u0008\\u001b[31m\\u007f"},
        {"\xc2\x9b"
         "31m",
         "\\u009b31m"}, /* C1: CSI in one character */
        {"\xe2\x80\xae"
         "cba\xe2\x81\xa6",
         "\\u202ecba\\u2066"}, /* bidi override, isolate */
        {"\xe2\x80\xa8", "\\u2028"},
        {"\xf3\xa0\x81\x81", "\\udb40\\udc41"}, /* tag: a surrogate pair */
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                 /* overlong NUL */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, /* surrogate */
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"cut \xe4\xb8", "cut \xef\xbf\xbd\xef\xbf\xbd"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char expected[64];
        (void)snprintf(expected, sizeof expected, "\"%s\"\n", cases[i].expected);
        buffer.n_bytes = 0;
        hs_json_string(&json, NULL, cases[i].text);
        assert_written(expected);
    }
    buffer.n_bytes = 0;
    hs_json_string_n(&json, NULL, "a\0b", 3);
    assert_written("\"a\\u0000b\"\n");
}

/* Whatever the bytes, the string between the quotes is valid UTF-8 of printable characters. */
static void any_two_bytes_are_well_formed(void **state)
{
    for (unsigned pair = 0; pair < 65536; pair++) {
        char text[2] = {(char)(pair >> 8), (char)(pair & 255)};
        buffer.n_bytes = 0;
        hs_json_string_n(&json, NULL, text, 2);
        assert_true(buffer.n_bytes >= 4);
        assert_int_equal(buffer.bytes[0], '"');
        assert_int_equal(buffer.bytes[buffer.n_bytes - 1], '\n');
        for (size_t i = 0; i + 1 < buffer.n_bytes; i++) {
            assert_true(buffer.bytes[i] >= 0x20 && buffer.bytes[i] != 0x7f);
            if (buffer.bytes[i] == '\\')
                i++; /* its partner may be a quote */
            else if (i != 0 && buffer.bytes[i] == '"')
                assert_int_equal(i, buffer.n_bytes - 2);
        }
    }
}

static void assert_bug(const char *message)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_json_finish(&json, &err), HS_BUG);
    assert_string_equal(err.message, message);
}

static void misuse_is_told(void **state)
{
    hs_json_begin_array(&json, NULL, HS_JSON_LINE);
    assert_bug("cannot write json: a begin without its end");
    restart();
    hs_json_end_object(&json);
    assert_bug("cannot write json: an end without its begin");
    restart();
    hs_json_u64(&json, "key", 1);
    assert_bug("cannot write json: a key outside any object");
    restart();
    hs_json_begin_object(&json, NULL, HS_JSON_LINE);
    hs_json_end_array(&json);
    assert_bug("cannot write json: an end without its begin");
    restart();
    hs_json_begin_object(&json, NULL, HS_JSON_LINE);
    hs_json_null(&json, NULL);
    assert_bug("cannot write json: a member without key");
    restart();
    hs_json_begin_array(&json, NULL, HS_JSON_LINE);
    hs_json_null(&json, "key");
    assert_bug("cannot write json: a key in an array");
}

static void depth_is_bounded(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    for (int i = 0; i < HS_JSON_MAX_DEPTH; i++)
        hs_json_begin_array(&json, NULL, HS_JSON_LINE);
    for (int i = 0; i < HS_JSON_MAX_DEPTH; i++)
        hs_json_end_array(&json);
    assert_int_equal(hs_json_finish(&json, &err), HS_OK);
    for (int i = 0; i < HS_JSON_MAX_DEPTH + 5; i++)
        hs_json_begin_array(&json, NULL, HS_JSON_LINE);
    assert_bug("cannot write json: nested too deep");
}

static void the_first_failure_stays(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    FAIL_EACH (each, .at_least = 1) {
        fail_each_begin(&each);
        write_sample();
        (void)fail_each_end(&each, hs_json_finish(&json, &err));
        restart();
    }
}

static void a_full_output_is_told(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(hs_out_open_fd(fd, "standard output", &out, &err), HS_OK);
    hs_json_init(&json, &out, HS_JSON_PRETTY);
    for (int i = 0; i < 1000; i++)
        write_sample();
    assert_int_equal(hs_json_finish(&json, &err), HS_IO);
    assert_string_equal(err.message, "cannot write 'standard output': No space left on device");
    hs_out_close(&out);
    (void)close(fd);
}

#define WRITING(test) cmocka_unit_test_setup_teardown(test, start, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WRITING(compact_has_no_blanks),
        WRITING(pretty_indents_by_two),
        WRITING(each_document_is_a_line),
        WRITING(hostile_names_are_escaped),
        WRITING(any_two_bytes_are_well_formed),
        WRITING(misuse_is_told),
        WRITING(depth_is_bounded),
        WRITING(the_first_failure_stays),
        WRITING(a_full_output_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
