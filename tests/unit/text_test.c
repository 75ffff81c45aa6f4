/* links: hs_report */
#include "unit.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "report/text.h"

static struct hs_buffer buffer;

static int stop(void **state)
{
    hs_buffer_fini(&buffer);
    return 0;
}

static void assert_content(const char *expected)
{
    assert_int_equal(buffer.n_bytes, strlen(expected));
    if (buffer.n_bytes != 0)
        assert_memory_equal(buffer.bytes, expected, buffer.n_bytes);
}

static void sanitises(enum hs_text_escape escape, const char *text, const char *expected)
{
    struct hs_error err = HS_ERROR_INIT;
    buffer.n_bytes = 0;
    assert_int_equal(hs_text_sanitise(text, strlen(text), escape, &buffer, &err), HS_OK);
    assert_content(expected);
}

static void decodes_only_valid_utf8(void **state)
{
    for (uint32_t code = 0x80; code <= 0x10ffff; code++) {
        char text[4];
        size_t n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        static const unsigned char firsts[] = {0, 0, 0xc0, 0xe0, 0xf0};
        for (size_t i = n; i-- > 1;)
            text[i] = (char)(0x80 | (code >> (6 * (n - 1 - i)) & 0x3f));
        text[0] = (char)(firsts[n] | code >> (6 * (n - 1)));
        const char *at = text;
        bool surrogate = code >= 0xd800 && code < 0xe000;
        assert_true(hs_text_next(&at, text + n) == (surrogate ? HS_TEXT_BAD : code));
        assert_true(at - text == (surrogate ? 1 : (ptrdiff_t)n));
        /* Cut anywhere, it is bad and one byte is consumed. */
        for (size_t cut = 1; cut < n; cut++) {
            at = text;
            assert_true(hs_text_next(&at, text + cut) == HS_TEXT_BAD);
            assert_ptr_equal(at, text + 1);
        }
    }
}

static void refuses_other_forms(void **state)
{
    static const char *const bad[] = {
        "\x80",
        "\xbf",
        "\xc0\xaf",
        "\xc1\xbf",
        "\xe0\x9f\xbf",
        "\xed\xbf\xbf",
        "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xff",
        "\xc3(",
        "\xe4\xb8(",
        "\xf0\x9f\x90(",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        const char *at = bad[i];
        assert_true(hs_text_next(&at, bad[i] + strlen(bad[i])) == HS_TEXT_BAD);
        assert_ptr_equal(at, bad[i] + 1);
    }
}

static void makes_names_safe_for_the_terminal(void **state)
{
    sanitises(HS_TEXT_TERMINAL, "", "");
    sanitises(HS_TEXT_TERMINAL, "Stm.VCS \\ caf\xc3\xa9 \xe4\xb8\xad",
              "Stm.VCS \\ caf\xc3\xa9 \xe4\xb8\xad");
    sanitises(HS_TEXT_TERMINAL, "\x1b]0;owned\x07", "\\x1b]0;owned\\x07");
    sanitises(HS_TEXT_TERMINAL, "a\tb\nc\rd\x7f", "a\\x09b\\x0ac\\x0dd\\x7f");
    sanitises(HS_TEXT_TERMINAL,
              "\xc2\x9b"
              "2J",
              "\\u{9b}2J");
    sanitises(HS_TEXT_TERMINAL,
              "\x9b"
              "2J",
              "\\x9b2J"); /* the same as a lone byte */
    sanitises(HS_TEXT_TERMINAL, "ab\xff\xfe", "ab\\xff\\xfe");
    for (unsigned code = 0x202a; code <= 0x2069; code++) {
        char text[4] = {(char)0xe2, 0, 0, 0};
        text[1] = (char)(0x80 | ((code >> 6) & 0x3f));
        text[2] = (char)(0x80 | (code & 0x3f));
        bool bidi = code <= 0x202e || code >= 0x2066;
        if (bidi) {
            static const char digits[] = "0123456789abcdef";
            char expected[] = "\\u{20__}";
            expected[5] = digits[code >> 4 & 15];
            expected[6] = digits[code & 15];
            sanitises(HS_TEXT_TERMINAL, text, expected);
        }
    }
    struct hs_error err = HS_ERROR_INIT;
    buffer.n_bytes = 0;
    assert_int_equal(hs_text_sanitise("a\0b", 3, HS_TEXT_TERMINAL, &buffer, &err), HS_OK);
    assert_content("a\\x00b");
}

static void makes_one_cell_of_tsv(void **state)
{
    sanitises(HS_TEXT_TSV, "a\tb\nc\rd\\e", "a\\tb\\nc\\rd\\\\e");
    sanitises(HS_TEXT_TSV, "\x1b[31m", "\\x1b[31m");
    sanitises(HS_TEXT_TSV, "caf\xc3\xa9", "caf\xc3\xa9");
}

static void nothing_hidden_comes_out(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    for (unsigned triple = 0; triple < 1 << 20; triple += 7) {
        const char text[3] = {(char)(0xc0 | triple >> 14), (char)(triple >> 7), (char)triple};
        buffer.n_bytes = 0;
        assert_int_equal(hs_text_sanitise(text, 3, HS_TEXT_TERMINAL, &buffer, &err), HS_OK);
        const char *at = (const char *)buffer.bytes;
        const char *end = at + buffer.n_bytes;
        while (at < end)
            assert_false(hs_text_is_hidden(hs_text_next(&at, end)));
    }
}

static void measures_columns(void **state)
{
    static const struct {
        const char *text;
        size_t width;
    } cases[] = {
        {"", 0},
        {"abc", 3},
        {"caf\xc3\xa9", 4},
        {"e\xcc\x81", 1},                /* e and a combining accent */
        {"\xe4\xb8\xad\xe6\x96\x87", 4}, /* two ideographs */
        {"\xf0\x9f\x90\xab", 2},         /* a camel */
        {"\xe2\x80\xa6", 1},             /* the ellipsis */
        {"\xef\xbc\xa1", 2},             /* fullwidth A */
        {"\xe2\x94\x9c\xe2\x94\x80", 2}, /* branches of a tree */
        {"\xf0\xa0\x80\x80", 2},         /* plane 2 */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(hs_text_width(cases[i].text, strlen(cases[i].text)), cases[i].width);
    assert_int_equal(hs_text_code_width(0x10ffff), 1);
    assert_int_equal(hs_text_code_width(0x300), 0);
    assert_int_equal(hs_text_code_width(0x1100), 2);
}

static void fits(const char *text, size_t width, const char *expected)
{
    struct hs_error err = HS_ERROR_INIT;
    buffer.n_bytes = 0;
    assert_int_equal(hs_text_fit(text, strlen(text), width, &buffer, &err), HS_OK);
    assert_content(expected);
    assert_true(hs_text_width(expected, strlen(expected)) <= width);
}

static void fits_names(const char *text, size_t width, const char *expected)
{
    struct hs_error err = HS_ERROR_INIT;
    buffer.n_bytes = 0;
    assert_int_equal(hs_text_fit_names(text, strlen(text), width, &buffer, &err), HS_OK);
    assert_content(expected);
    assert_true(hs_text_width(expected, strlen(expected)) <= width);
}

static void several_names_are_cut_behind_one(void **state)
{
    fits_names("server, cache, lctx", 19, "server, cache, lctx");
    fits_names("server, cache, lctx", 18, "server, cache, ...");
    fits_names("server, cache, lctx", 17, "server, ...");
    fits_names("server, cache, lctx", 10,
               "se\xe2\x80\xa6"
               "er, ...");
    fits_names("server, cache, lctx", 5,
               "se\xe2\x80\xa6"
               "tx");
    fits_names("map<int, long>::nodes, f(a, b)", 29, "map<int, long>::nodes, ...");
    fits_names("f(a, b), g(c, d), h", 18, "f(a, b), ...");
    fits_names("abcdefghij", 9, "abcd\xe2\x80\xa6ghij");
    fits_names("operator<, x, y", 9, "oper\xe2\x80\xa6x, y"); /* no bracket that is closed */
}

static void cuts_in_the_middle(void **state)
{
    fits("abcdefghij", 10, "abcdefghij");
    fits("abcdefghij", 9, "abcd\xe2\x80\xa6ghij");
    fits("abcdefghij", 8, "abcd\xe2\x80\xa6hij");
    fits("abcdefghij", 3, "a\xe2\x80\xa6j");
    fits("abcdefghij", 2, "a\xe2\x80\xa6");
    fits("abcdefghij", 1, "\xe2\x80\xa6");
    fits("abcdefghij", 0, "");
    fits("", 0, "");
    /* What a text leaves out itself goes first. */
    fits("task serve() ... await get() local x", 35,
         "task serve() ..\xe2\x80\xa6"
         "await get() local x");
    fits("task serve() ... await get() local x", 28,
         "task ser\xe2\x80\xa6"
         "await get() local x");
    fits("task serve() ... await get() local x", 22,
         "task serve(\xe2\x80\xa6"
         "() local x");
    /* So do namespaces without a name. */
    fits("(anonymous namespace)::Server::run local x", 42,
         "(anonymous namespace)::Server::run local x");
    fits("(anonymous namespace)::Server::run local x", 41, "\xe2\x80\xa6::Server::run local x");
    fits("(anonymous namespace)::Server::run local x", 20, "\xe2\x80\xa6Server::run local x");
    fits("map<(anonymous namespace)::A_long_name, int> node", 10, "map<\xe2\x80\xa6node");
    fits("map<(anonymous namespace)::A, (anonymous namespace)::B>", 30,
         "map<\xe2\x80\xa6::A, \xe2\x80\xa6::B>");
    /* Wide characters are not halved: one column stays free. */
    fits("\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", 6,
         "\xe4\xb8\xad\xe2\x80\xa6\xe4\xb8\xad");
    /* An accent stays with its letter or goes with it. */
    fits("abcdex\xcc\x81"
         "yz",
         5, "ab\xe2\x80\xa6yz");
}

#define DOTS "\xe2\x80\xa6"

static void qualified_names_keep_what_tells_most(void **state)
{
    /* Several arguments of an argument go before its name does; a single one tells most. */
    fits("std::map<std::string, std::variant<long, double, std::vector<int>>>::node", 48,
         "std::map<std::string, std::variant<" DOTS ">>::node");
    fits("std::map<app::Key, std::vector<app::Value>>", 40,
         DOTS "map<app::Key, std::vector<app::Value>>");
    const char *self = "core::result::Result<app::Args, alloc::boxed::Box<dyn E>>::and_then<T, fn("
                       ") -> i32> argument self";
    fits(self, 200, self);
    fits(self, hs_text_width(self, strlen(self)) - 1,
         DOTS "result::Result<app::Args, alloc::boxed::Box<dyn E>>::and_then<T, fn() -> i32> "
              "argument self");
    fits(self, 80,
         DOTS "Result<app::Args, " DOTS "boxed::Box<dyn E>>::and_then<T, fn() -> i32> argument "
              "self");
    fits(self, 70,
         DOTS "Result<" DOTS "Args, " DOTS "Box<dyn E>>::and_then<T, fn() -> i32> argument self");
    fits(self, 54, DOTS "Result<" DOTS "E>>::and_then<T, fn() -> i32> argument self");
    fits(self, 40, DOTS "Result<" DOTS ">::and_then<" DOTS "i32> argument self");
    fits(self, 28, DOTS "and_then<" DOTS "> argument self");
    fits(self, 20, DOTS "and_then<" DOTS "ment self");
    fits("alloc::sync::ArcInner<rg::args::ArgsImp>", 30, DOTS "ArcInner<" DOTS "args::ArgsImp>");
    fits("alloc::sync::ArcInner<rg::args::ArgsImp>", 20, DOTS "ArcInner<" DOTS "ArgsImp>");
    fits("qbt::Session::instance, qbt::net::Server::instance", 40,
         DOTS "Session::instance, " DOTS "Server::instance");
    fits("app::{impl#4}::run::{closure_env#0}<T>", 30, DOTS "run::{closure_env#0}<T>");
    fits("app::{impl#4}::run::{closure_env#0}<T>", 37, DOTS "run::{closure_env#0}<T>");
    fits("block_on<core::future::GenFuture<app::main::{async_env#0}>> local f", 52,
         "block_on<" DOTS "GenFuture<" DOTS "main::{async_env#0}>> local f");
    fits("block_on<core::future::GenFuture<app::main::{async_env#0}>> local f", 42,
         "block_on<" DOTS "main::{async_env#0}>> local f");
    fits("<app::Job as core::ops::Drop>::drop argument self", 36,
         "<" DOTS "Job as " DOTS "Drop>::drop argument self");
    fits("<app::Job as core::ops::Drop>::drop argument self", 30,
         "<" DOTS "Drop>::drop argument self");
    /* What is no list of arguments is left as it is, and cut. */
    fits("ns::Key::operator<<(int) local value", 24, DOTS "operator<<(" DOTS "local value");
    fits("ns::Key::operator-> argument this", 27, DOTS "operator-> argument this");
    fits("a::b<c", 5, DOTS "b<c");
    fits("a::b<>::long_name", 12, DOTS "b<>::" DOTS "_name");
    fits("trailing:: :: not a name", 12, "traili" DOTS " name");
    fits("{{{{a::b", 7, "{{{{" DOTS "b");
}

static void fills(const char *text, size_t width, const char *expected)
{
    struct hs_error err = HS_ERROR_INIT;
    buffer.n_bytes = 0;
    assert_int_equal(hs_text_fill(text, strlen(text), 2, width, &buffer, &err), HS_OK);
    assert_int_equal(buffer.n_bytes, strlen(expected));
    assert_memory_equal(buffer.bytes, expected, buffer.n_bytes);
}

static void sentences_are_filled(void **state)
{
    fills("", 30, "\n");
    fills("short", 30, "short\n");
    fills("hint: most of the heap is kept by several", 0,
          "hint: most of the heap is kept by several\n");
    fills("hint: most of the heap is kept by several", 24,
          "hint: most of the heap\n  is kept by several\n");
    /* An exact fit, and a space just behind it. */
    fills("hint: most of the heap i", 24, "hint: most of the heap i\n");
    fills("hint: most of the heap i k", 24, "hint: most of the heap i\n  k\n");
    /* A command is not broken, an apostrophe is no quote. */
    fills("the heap's words: 'heapsnap dominators a.snap' shows", 30,
          "the heap's words:\n  'heapsnap dominators a.snap'\n  shows\n");
    fills("'heapsnap object a.snap 0x7f0000001230' shows a block", 24,
          "'heapsnap object a.snap 0x7f0000001230'\n  shows a block\n");
    fills("it's what the process's own words, and so on, say", 24,
          "it's what the process's\n  own words, and so on,\n  say\n");
}

static void numbers_stay_with_their_units(void **state)
{
    fills("shop::app alone keeps 63.6 % of it", 27, "shop::app alone keeps\n  63.6 % of it\n");
    fills("sessions of the server, 168 B, each", 27, "sessions of the server,\n  168 B, each\n");
    fills("shop::app alone keeps 20000 sessions", 28, "shop::app alone keeps 20000\n  sessions\n");
    fills("of 0123456789012345678901 %", 24, "of\n  0123456789012345678901\n  %\n");
}

static void lines_of_wide_text_fit(void **state)
{
    const char *text = "a \xe4\xb8\xad e\xcc\x81 /lib/x86_64\xe4\xb8\xad-linux,b\xcc\x81";
    for (size_t width = 2; width < 30; width++)
        for (size_t at = 0; text[at] != 0;) {
            size_t n = hs_text_line(text + at, strlen(text + at), width);
            assert_true(n != 0 && n <= strlen(text + at));
            size_t shown = n > 1 && text[at + n - 1] == ' ' ? n - 1 : n;
            assert_true(hs_text_width(text + at, shown) <= width);
            at += n;
            assert_true((text[at] & 0xc0) != 0x80);
        }
    assert_int_equal(hs_text_line("", 0, 5), 0);
    assert_int_equal(hs_text_line("\xe4\xb8\xad", 3, 1), 3);
}

static void cut_text_always_fits(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    const char *text = "a\xe4\xb8\xad"
                       "e\xcc\x81\xf0\x9f\x90\xab/lib/x86_64\xe4\xb8\xad"
                       "b\xcc\x81";
    for (size_t n = 0; n <= strlen(text); n++)
        for (size_t width = 0; width < 30 && (text[n] & 0xc0) != 0x80; width++) {
            buffer.n_bytes = 0;
            assert_int_equal(hs_text_fit(text, n, width, &buffer, &err), HS_OK);
            size_t shown = hs_text_width((const char *)buffer.bytes, buffer.n_bytes);
            assert_true(shown <= width);
            if (hs_text_width(text, n) <= width)
                assert_int_equal(buffer.n_bytes, n);
            else
                assert_true(shown + 2 >= width);
        }
}

static void says_when_there_is_no_room(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    FAIL_EACH (each, .at_least = 1) {
        (void)FAIL_EACH_TRY(
            each, hs_text_sanitise("0123456789abcdef\x1b", 17, HS_TEXT_TERMINAL, &buffer, &err));
        hs_buffer_fini(&buffer);
    }
    hs_buffer_fini(&buffer);
    hs_alloc_fail_at(1, true);
    assert_int_equal(hs_text_fit("abc", 3, 2, &buffer, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    hs_buffer_fini(&buffer);
    const char *text = "(anonymous namespace)::Server<int>::run<T> local x";
    FAIL_EACH (each, .at_least = 2) {
        buffer.n_bytes = 0;
        (void)FAIL_EACH_TRY(each, hs_text_fit(text, strlen(text), 20, &buffer, &err));
        hs_buffer_fini(&buffer);
    }
}

static void what_is_no_terminal_is_plain_and_unlimited(void **state)
{
    struct hs_terminal terminal = {true, true, true, 7, 7};
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    hs_terminal_ask(fd, &terminal);
    assert_false(terminal.is_terminal);
    assert_false(terminal.colour);
    assert_false(terminal.is_plain);
    assert_int_equal(terminal.width, 0);
    (void)close(fd);
}

static void set(const char *name, const char *value)
{
    assert_int_equal(value == NULL ? unsetenv(name) : setenv(name, value, 1), 0);
}

static void terminals_are_asked(void **state)
{
    static const struct {
        const char *term, *no_colour, *columns;
        unsigned short window;
        bool colour;
        size_t width;
    } cases[] = {
        {"xterm", NULL, NULL, 123, true, 123}, {"xterm", "", NULL, 123, true, 123},
        {"xterm", "1", NULL, 123, false, 123}, {"dumb", NULL, NULL, 123, false, 123},
        {"", NULL, NULL, 123, false, 123},     {NULL, NULL, NULL, 0, false, 80},
        {"xterm", NULL, "200", 0, true, 200},  {"xterm", NULL, "-3", 0, true, 80},
        {"xterm", NULL, "5", 0, true, 80},     {"xterm", NULL, "99999999", 0, true, 80},
    };
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0)
        skip();
    int fd = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct winsize size = {.ws_col = cases[i].window};
        struct hs_terminal terminal = {0};
        set("TERM", cases[i].term);
        set("NO_COLOR", cases[i].no_colour);
        set("COLUMNS", cases[i].columns);
        assert_int_equal(ioctl(fd, TIOCSWINSZ, &size), 0);
        hs_terminal_ask(fd, &terminal);
        assert_true(terminal.is_terminal);
        assert_int_equal(terminal.colour, cases[i].colour);
        assert_int_equal(terminal.width, cases[i].width);
    }
    (void)close(fd);
    (void)close(master);
}

static void what_is_no_terminal_is_as_wide_as_it_is_told(void **state)
{
    static const struct {
        const char *columns;
        size_t width;
    } cases[] = {{NULL, 0}, {"80", 80}, {"", 0}, {"5", 0}, {"-3", 0}, {"wide", 0}};
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hs_terminal terminal = {0};
        set("COLUMNS", cases[i].columns);
        hs_terminal_ask(fds[1], &terminal);
        assert_false(terminal.is_terminal || terminal.colour || terminal.height != 0);
        assert_int_equal(terminal.width, cases[i].width);
    }
    (void)close(fds[0]);
    (void)close(fds[1]);
}

#define WITH_BUFFER(test) cmocka_unit_test_teardown(test, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_BUFFER(decodes_only_valid_utf8),
        WITH_BUFFER(refuses_other_forms),
        WITH_BUFFER(makes_names_safe_for_the_terminal),
        WITH_BUFFER(makes_one_cell_of_tsv),
        WITH_BUFFER(nothing_hidden_comes_out),
        WITH_BUFFER(measures_columns),
        WITH_BUFFER(cuts_in_the_middle),
        WITH_BUFFER(several_names_are_cut_behind_one),
        WITH_BUFFER(qualified_names_keep_what_tells_most),
        WITH_BUFFER(sentences_are_filled),
        WITH_BUFFER(numbers_stay_with_their_units),
        WITH_BUFFER(lines_of_wide_text_fit),
        WITH_BUFFER(cut_text_always_fits),
        WITH_BUFFER(says_when_there_is_no_room),
        WITH_BUFFER(what_is_no_terminal_is_plain_and_unlimited),
        WITH_BUFFER(terminals_are_asked),
        WITH_BUFFER(what_is_no_terminal_is_as_wide_as_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
