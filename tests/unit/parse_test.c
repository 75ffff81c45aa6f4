/* links: hs_tools_lib */
#include "unit.h"

#include "base/parts.h"
#include "tools/options.h"

enum { MAX_WORDS = 80 };

/* Parses words that are separated by single spaces; "''" is an empty word. */
static hs_status parse(const char *line, struct hs_invocation *ret, struct hs_error *err)
{
    static char text[4096];
    static char *argv[MAX_WORDS + 1];
    memset(argv, 0, sizeof argv);
    static char program[] = "heapsnap";
    argv[0] = program;
    int argc = 1;
    assert_true(strlen(line) < sizeof text);
    memcpy(text, line, strlen(line) + 1);
    for (char *rest = text, *word; (word = strsep(&rest, " ")) != NULL;) {
        assert_true(argc < MAX_WORDS);
        if (word[0] != 0)
            argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    }
    return hs_parse(argc, argv, ret, err);
}

static struct hs_invocation good(const char *line)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_invocation inv = {0};
    if (parse(line, &inv, &err) != HS_OK)
        fail_msg("'%s': %s", line, err.message);
    return inv;
}

static void bad(const char *line, const char *message, const char *hint)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_invocation inv = {.n_arguments = 77};
    assert_int_equal(parse(line, &inv, &err), HS_USAGE);
    assert_string_equal(err.message, message);
    assert_string_equal(err.hint, hint);
    assert_int_equal(inv.n_arguments, 77); /* untouched */
}

static void arguments(void **state)
{
    struct hs_invocation inv = good("object heap.snap 0x10");
    assert_string_equal(inv.command->name, "object");
    assert_int_equal(inv.n_arguments, 2);
    assert_string_equal(inv.arguments[0], "heap.snap");
    assert_string_equal(inv.arguments[1], "0x10");
    inv = good("roots -"); /* standard input is no option */
    assert_string_equal(inv.arguments[0], "-");
    inv = good("roots --json -- --json");
    assert_string_equal(inv.arguments[0], "--json");
    inv = good("help");
    assert_int_equal(inv.n_arguments, 0);
    inv = good("");
    assert_null(inv.command);
    bad("roots", "'roots' needs SNAP|PID", "usage: heapsnap roots SNAP|PID");
    bad("object a", "'object' needs SNAP|PID WHAT",
        "usage: heapsnap object SNAP|PID WHAT; '#4' wants quotes: to a shell # begins a comment");
    bad("roots a b", "'roots' does not take 'b'", "'heapsnap diff a b' compares two snapshots");
    bad("object a b c", "'object' does not take 'c'", "");
    inv = good("-V");
    assert_string_equal(inv.command->name, "version");
    bad("version a", "'version' does not take 'a'", "");
}

static void values(void **state)
{
    struct hs_invocation inv = good("roots x -n 5 --min-words=100 --sort name --json -o -");
    assert_int_equal(inv.number[HS_OPT_ROWS], 5);
    assert_int_equal(inv.number[HS_OPT_MIN_WORDS], 100);
    assert_int_equal(inv.number[HS_OPT_ROOT_SORT], 2);
    assert_true(hs_given(&inv, HS_OPT_JSON));
    assert_string_equal(inv.text[HS_OPT_OUTPUT], "-");
    assert_false(hs_given(&inv, HS_OPT_KIND));
    inv = good("roots x --min-words 100k");
    assert_int_equal(inv.number[HS_OPT_MIN_WORDS], 100000);
    assert_false(inv.in_bytes[HS_OPT_MIN_WORDS]);
    static const char *const in_bytes[] = {"--min-words 1.5MiB", "--min-bytes 1.5Mi",
                                           "--min-bytes 1572864"};
    for (size_t i = 0; i < 3; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "types x %s", in_bytes[i]);
        inv = good(line);
        assert_int_equal(inv.number[HS_OPT_MIN_WORDS], 1572864);
        assert_true(inv.in_bytes[HS_OPT_MIN_WORDS]);
        assert_true(hs_given(&inv, HS_OPT_MIN_WORDS));
    }
    inv = good("roots -n5 -ofile x"); /* a letter's value may stand right behind it */
    assert_int_equal(inv.number[HS_OPT_ROWS], 5);
    assert_string_equal(inv.text[HS_OPT_OUTPUT], "file");
    assert_string_equal(inv.arguments[0], "x");
    inv = good("types x --sort objects"); /* one name, another option */
    assert_false(hs_given(&inv, HS_OPT_ROOT_SORT));
    assert_int_equal(inv.number[HS_OPT_TYPE_SORT], 2);
    inv = good("paths x --to --json"); /* the next word is the value, whatever it is */
    assert_string_equal(inv.text[HS_OPT_TO], "--json");
    inv = good("roots x --output=");
    assert_string_equal(inv.text[HS_OPT_OUTPUT], "");
    inv = good("roots x --output=a=b");
    assert_string_equal(inv.text[HS_OPT_OUTPUT], "a=b");
    inv = good("roots x --kind stack,global,stack");
    assert_string_equal(inv.text[HS_OPT_KIND], "stack,global,stack");
    inv = good("dump 1 --names-path a --names-path=b");
    assert_int_equal(inv.n_repeated, 2);
    assert_string_equal(inv.repeated[0], "a");
    assert_string_equal(inv.repeated[1], "b");
    const char *list[HS_MAX_REPEATED];
    inv = good("dump 1 --names-path a --debug-path x --names-path b --debug-path=y");
    assert_int_equal(hs_repeated(&inv, HS_OPT_NAMES_PATH, list), 2);
    assert_string_equal(list[0], "a");
    assert_string_equal(list[1], "b");
    assert_int_equal(hs_repeated(&inv, HS_OPT_DEBUG_PATH, list), 2);
    assert_string_equal(list[0], "x");
    assert_string_equal(list[1], "y");
    static const struct {
        const char *line;
        uint64_t n_bytes;
    } sizes[] = {{"roots x --memory 300000000", 300000000},
                 {"dump 1 --memory 64k", 64000},
                 {"index x --memory=1GiB", (uint64_t)1 << 30},
                 {"types x --memory 2Mi", (uint64_t)2 << 20},
                 {"leaks x --memory 3G", UINT64_C(3000000000)}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_true(good(sizes[i].line).number[HS_OPT_MEMORY] == sizes[i].n_bytes);
    inv = good("index x -v --spill-dir d --threads 3");
    assert_true(hs_given(&inv, HS_OPT_VERBOSE));
    assert_string_equal(inv.text[HS_OPT_SPILL_DIR], "d");
    assert_int_equal(inv.number[HS_OPT_THREADS], 3);
    inv = good("dump 1 --debug-path x");
    assert_int_equal(hs_repeated(&inv, HS_OPT_NAMES_PATH, list), 0);
}

static void wrong_values(void **state)
{
    static const char digits[] = "write digits only, for example 1000";
    static const char formats[] = "one of table|json|ndjson|tsv";
    bad("roots x -n", "-n needs a value (ROWS)", "");
    bad("roots x --rows", "--rows needs a value (ROWS)", "");
    bad("roots x -n -1", "-n: '-1' is not a count", digits);
    static const char sizes[] =
        "write digits and k, M, G, T or Ki, Mi, Gi, Ti, for example 512Mi or 1.5GiB";
    bad("roots x --min-words 1q", "--min-words: '1q' is not a size", sizes);
    bad("roots x --min-words=", "--min-words: '' is not a size", sizes);
    bad("roots x --min-bytes 1 --min-words 1", "--min-words is given twice, as words or as bytes",
        "");
    bad("roots x --memory 12Q", "--memory: '12Q' is not a size", sizes);
    bad("roots x --memory -1", "--memory: '-1' is not a size", sizes);
    bad("roots x --memory 1.5", "--memory: '1.5' is not a size", sizes);
    bad("roots x --memory=", "--memory: '' is not a size", sizes);
    bad("roots x --memory 99999999999Gi",
        "--memory: '99999999999Gi' is too large: it does not fit 64 bits", "");
    bad("roots x --memory", "--memory needs a value (SIZE)", "");
    bad("roots x --threads two", "--threads: 'two' is not a count", digits);
    bad("roots x --format XML", "'XML' is not a value of --format", formats);
    bad("roots x --format ''", "'' is not a value of --format", formats);
    bad("roots x --format table,json", "'table,json' is not a value of --format", formats);
    bad("roots x --json=1", "--json takes no value", "");
    bad("roots x --json --json", "--json is given twice", "");
    bad("roots x -n 1 --rows 2", "--rows is given twice", "");
    struct hs_error err = HS_ERROR_INIT;
    struct hs_invocation inv = {0};
    assert_int_equal(parse("roots x --kind global,,stack", &inv, &err), HS_USAGE);
    assert_string_equal(err.message, "'' is not a value of --kind");

    char line[2048] = "dump 1";
    for (int i = 0; i < HS_MAX_REPEATED; i++)
        strncat(line, " --names-path d", sizeof line - strlen(line) - 1);
    assert_int_equal(good(line).n_repeated, HS_MAX_REPEATED);
    strncat(line, " --names-path d", sizeof line - strlen(line) - 1);
    bad(line, "--names-path is given more than 32 times", "");
}

static void unknown(void **state)
{
    bad("root x", "unknown command 'root'", "did you mean 'heapsnap roots'?");
    bad("-v", "unknown command '-v'", "'heapsnap help' lists the commands");
    bad("zzzzzz", "unknown command 'zzzzzz'", "'heapsnap help' lists the commands");
    bad("roots x --sor name", "unknown option '--sor' of 'roots'", "did you mean '--sort'?");
    bad("roots x --sorts=name", "unknown option '--sorts' of 'roots'", "did you mean '--sort'?");
    bad("info x --sort name", "unknown option '--sort' of 'info'",
        "'heapsnap info -h' lists its options");
    bad("info x -x", "unknown option '-x' of 'info'", "'heapsnap info -h' lists its options");
    bad("info x --=", "unknown option '--' of 'info'", "'heapsnap info -h' lists its options");

    char word[400];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = 0;
    char *argv[] = {"heapsnap", "info", "x", word, NULL};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_invocation inv = {0};
    memcpy(word, "--", 2);
    assert_int_equal(hs_parse(4, argv, &inv, &err), HS_USAGE); /* long, and cut in the message */
    assert_true(strlen(err.message) < 120);
}

static void help(void **state)
{
    struct hs_invocation inv = good("roots -h");
    assert_true(inv.wants_short_help);
    assert_string_equal(inv.command->name, "roots");
    inv = good("roots --nonsense --help x y z");
    assert_true(inv.wants_help);
    inv = good("-h");
    assert_true(inv.wants_short_help);
    assert_null(inv.command);
    inv = good("--help roots");
    assert_true(inv.wants_help);
    inv = good("--version");
    assert_string_equal(inv.command->name, "version");
}

/* What belongs to another program is not looked at. */
/* A command of a part that is not built is no unknown one: what is said names the part. */
static void missing(void **state)
{
    static const struct {
        const char *name, *part, *with;
    } commands[] = {
#define COMMAND(name, part, with, packages) {name, part, with},
        HS_MISSING_COMMANDS(COMMAND)
#undef COMMAND
            {NULL, NULL, NULL}};
    (void)state;
    for (size_t i = 0; i + 1 < sizeof commands / sizeof *commands; i++) {
        struct hs_error err = HS_ERROR_INIT;
        char message[128];
        snprintf(message, sizeof message,
                 "cannot run '%s': this heapsnap was built without the part %s", commands[i].name,
                 commands[i].part);
        assert_null(hs_find_command(commands[i].name));
        assert_true(hs_is_missing_command(commands[i].name, &err));
        assert_string_equal(err.message, message);
        assert_non_null(strstr(err.hint, commands[i].with));
    }
    for (size_t i = 0; i < hs_n_commands; i++)
        assert_false(hs_is_missing_command(hs_commands[i].name, &(struct hs_error)HS_ERROR_INIT));
}

#if HS_WITH_RECORD
static void rest(void **state)
{
    static const char *const lines[] = {"record -o a.trace -- prog -o --help -- x",
                                        "record -o a.trace prog -o --help -- x"};
    for (size_t i = 0; i < 2; i++) {
        struct hs_invocation inv = good(lines[i]);
        assert_false(inv.wants_help);
        assert_int_equal(inv.n_rest, 5);
        assert_string_equal(inv.rest[0], "prog");
        assert_string_equal(inv.rest[2], "--help");
        assert_string_equal(inv.rest[4], "x");
        assert_null(inv.rest[5]);
        assert_string_equal(inv.text[HS_OPT_TRACE_FILE], "a.trace");
        assert_int_equal(inv.n_arguments, 0);
    }
    struct hs_invocation inv = good("record -- -x");
    assert_string_equal(inv.rest[0], "-x");
    inv = good("record -o --help prog"); /* a value */
    assert_string_equal(inv.text[HS_OPT_TRACE_FILE], "--help");
    assert_true(good("record --help prog").wants_help);
    assert_true(good("record --quiet -h").wants_short_help);
    bad("record", "'record' needs PROGRAM [ARGUMENT]...",
        "usage: heapsnap record [OPTION]... PROGRAM [ARGUMENT]...");
    bad("record --", "'record' needs PROGRAM [ARGUMENT]...",
        "usage: heapsnap record [OPTION]... PROGRAM [ARGUMENT]...");
    bad("record --outptu x", "unknown option '--outptu' of 'record'", "did you mean '--output'?");
}
#endif

static const char *const words[] = {"roots", NULL, "report", "x"};

static const char *word_at(const void *context, size_t at)
{
    return words[at];
}

static void nearest(void **state)
{
    assert_string_equal(hs_nearest("rots", word_at, NULL, 4), "roots");
    assert_string_equal(hs_nearest("roosts", word_at, NULL, 4), "roots");
    assert_string_equal(hs_nearest("reprot", word_at, NULL, 4), "report");
    assert_null(hs_nearest("dominate", word_at, NULL, 4));
    assert_null(hs_nearest("y", word_at, NULL, 4)); /* as far from "x" as from nothing */
    assert_null(hs_nearest("", word_at, NULL, 4));
    assert_null(hs_nearest("roots", word_at, NULL, 0));
    assert_null(hs_nearest("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", word_at, NULL, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments),
        cmocka_unit_test(values),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(unknown),
        cmocka_unit_test(help),
        cmocka_unit_test(nearest),
        cmocka_unit_test(missing),
#if HS_WITH_RECORD
        cmocka_unit_test(rest),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
