/* links: hs_recorder */
/* Frames of Python in backtraces: made-up interpreters of each version that is known, sound ones
 * and ones whose every word may be anything. */
#include "unit.h"

#include <pthread.h>

#include "recorder/record_draw.h"
#include "recorder/record_python.h"

/* Places in the made-up memory, in bytes. */
enum {
    THREAD = 0,
    TYPES = 512, /* of code, str and bytes */
    CODES = 1024,
    CODE_BYTES = 512,
    LINES = 4096,
    NAMES = 8192,
    NAME_BYTES = 256,
    FRAMES = 16384,
    FRAME_BYTES = 128,
    STACK = 24576, /* of C: a frame of it each 256 bytes */
    STACK_BYTES = 256,
    WORLD_BYTES = 32768,
};
enum { N_CODES = 4, N_NATIVE = 6, OWNER_THREAD = 0, OWNER_GENERATOR = 1, OWNER_C = 3 };

static _Alignas(4096) uint8_t world[WORLD_BYTES];
static const struct hs_python_layout *layout;
static struct hs_record_anchor anchor;
static struct hs_record_table table;
static struct hs_record_backtrace backtrace;

static uint64_t at(unsigned offset)
{
    return (uint64_t)(uintptr_t)(world + offset);
}

static void put(unsigned offset, uint64_t value, unsigned n_bytes)
{
    memcpy(world + offset, &value, n_bytes);
}

static void *thread_state(void)
{
    return world + THREAD;
}

static void put_str(unsigned offset, unsigned char_bytes, bool is_ascii, const void *text,
                    unsigned n)
{
    put(offset + 8, at(TYPES + 8), 8);
    put(offset + 16, n, 8);
    put(offset + 32, 0x20 | char_bytes << 2 | (is_ascii ? 0x40 : 0), 4);
    memcpy(world + offset + (is_ascii ? layout->str_ascii : layout->str_compact), text,
           (size_t)n * char_bytes);
}

static unsigned name_at(unsigned i)
{
    return NAMES + i * NAME_BYTES;
}

/* Code number i begins in line 100 * i; instructions of two units each are one line on. */
static void put_code(unsigned i)
{
    static const uint8_t lines[] = {
        0x80 | 13 << 3 | 1, 0,                /* the first line, no columns */
        0x80 | 11 << 3 | 1, 3,       4,       /* one on, columns */
        0x80 | 14 << 3 | 1, 2,       0, 9, 9, /* one on, the long form */
        0x80 | 15 << 3 | 1,                   /* none */
        0x80 | 13 << 3 | 1, 3,                /* one back: -1 */
        0x80 | 13 << 3 | 1, 64 | 40, 1,       /* (40 + 64) / 2 = 52 on */
    };
    unsigned code = CODES + i * CODE_BYTES, table_at = LINES + i * 256;
    char function[32];

    (void)snprintf(function, sizeof function, "Class%u.method", i);
    put(code + 8, at(TYPES), 8);
    put(code + layout->code_first_line, 100 * i, 4);
    put(code + layout->code_first_traced, 0, 4);
    put(code + 112, at(name_at(0)), 8);
    put(code + 128, at(name_at(1 + i)), 8);
    put(code + 136, at(table_at), 8);
    put(table_at + 8, at(TYPES + 16), 8);
    put(table_at + 16, sizeof lines, 8);
    memcpy(world + table_at + 32, lines, sizeof lines);
    put_str(name_at(1 + i), 1, true, function, (unsigned)strlen(function));
}

/* Frame i runs code i % N_CODES, at instruction `unit`; the next one out is i + 1. */
static unsigned put_frame(unsigned i, unsigned unit, unsigned owner, bool is_last)
{
    unsigned frame = FRAMES + i * FRAME_BYTES, code = CODES + i % N_CODES * CODE_BYTES;

    put(frame + layout->frame_code, at(code) | (layout->frame_owner > 70 ? 1 : 0), 8); /* 3.14 */
    put(frame + layout->frame_instr, at(code) + layout->code_bytes + 2 * unit, 8);
    put(frame + layout->frame_owner, owner, 1);
    put(frame + layout->frame_previous, is_last ? 0 : at(frame + FRAME_BYTES), 8);
    return frame;
}

/* Stack of C: 0 and 2 are the interpreter's loops, 1 and 3 to 5 others. Frames 0 and 1 of Python
 * are run by the first loop, 2 by the other one; the marks of loops lie within their stacks. */
static void make_world(unsigned version)
{
    layout = hs_record_python_layout(version);
    memset(world, 0, sizeof world);
    hs_record_python = (struct hs_record_python){.layout = layout,
                                                 .thread = thread_state,
                                                 .code_type = at(TYPES),
                                                 .str_type = at(TYPES + 8),
                                                 .bytes_type = at(TYPES + 16)};
    put(THREAD + layout->thread_pthread, (uint64_t)pthread_self(), 8);
    put_str(name_at(0), 1, true, "/srv/app.py", 11);
    for (unsigned i = 0; i < N_CODES; i++)
        put_code(i);
    unsigned first = put_frame(0, 0, OWNER_THREAD, false);
    unsigned loops[] = {STACK + 64, STACK + 2 * STACK_BYTES + 64};
    put_frame(1, 2, OWNER_THREAD, false);
    put_frame(2, 4, OWNER_THREAD, true);
    put(THREAD + layout->thread_frame, at(first), 8);
    if (layout->cframe_frame != HS_PYTHON_NONE) {
        put(THREAD + layout->thread_frame, at(loops[0]), 8);
        put(loops[0] + layout->cframe_frame, at(first), 8);
        put(loops[0] + layout->cframe_previous, at(loops[1]), 8);
        put(loops[1] + layout->cframe_frame, at(FRAMES + 2 * FRAME_BYTES), 8);
    }
    if (layout->frame_is_entry != HS_PYTHON_NONE) {
        put(FRAMES + FRAME_BYTES + layout->frame_is_entry, 1, 1);
        put(FRAMES + 2 * FRAME_BYTES + layout->frame_is_entry, 1, 1);
    } else { /* frames without code, in the stack of C */
        if (layout->cframe_frame != HS_PYTHON_NONE) {
            loops[0] += 64;
            loops[1] += 64;
        }
        put(FRAMES + FRAME_BYTES + layout->frame_previous, at(loops[0]), 8);
        put(loops[0] + layout->frame_owner, OWNER_C, 1);
        put(loops[0] + layout->frame_previous, at(FRAMES + 2 * FRAME_BYTES), 8);
        put(FRAMES + 2 * FRAME_BYTES + layout->frame_previous, at(loops[1]), 8);
        put(loops[1] + layout->frame_owner, OWNER_C, 1);
        put(loops[1] + layout->frame_previous, 0, 8);
    }
    backtrace.n = N_NATIVE;
    for (unsigned i = 0; i < N_NATIVE; i++) {
        backtrace.frames[i] = 0x1000 + i;
        backtrace.sp[i] = at(STACK + i * STACK_BYTES);
    }
}

/* "Class0.method /srv/app.py:0", "$1001". */
static const char *text_of(uint64_t frame)
{
    static char text[HS_RECORD_SCRIPT_BYTES + 64];
    const struct hs_record_stack *kept;

    if ((frame & HS_RECORD_SCRIPT) == 0) {
        (void)snprintf(text, sizeof text, "$%lx", (unsigned long)frame);
        return text;
    }
    kept = (const void *)(uintptr_t)(anchor.stacks + 8 * (frame ^ HS_RECORD_SCRIPT));
    assert_in_range(kept->n_frames, 1, HS_RECORD_FRAMES_MAX);
    unsigned n_file = kept->frames[0] >> 32 & UINT16_MAX;
    unsigned n_function = (unsigned)(kept->frames[0] >> 48);
    const char *names = (const char *)&kept->frames[1];
    assert_true(n_file + n_function <= 8 * (kept->n_frames - 1));
    (void)snprintf(text, sizeof text, "%.*s %.*s:%u", (int)n_function, names + n_file, (int)n_file,
                   names, (unsigned)kept->frames[0]);
    return text;
}

static void check_frames(const char *const *expected, unsigned n)
{
    assert_int_equal(backtrace.n, n);
    for (unsigned i = 0; i < n; i++)
        assert_string_equal(text_of(backtrace.frames[i]), expected[i]);
}
#define CHECK_FRAMES(...)                            \
    check_frames((const char *const[]){__VA_ARGS__}, \
                 sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static void each_loop_gives_way_to_what_it_runs(void **state)
{
    for (unsigned i = HS_RECORD_PYTHON_FIRST; i <= HS_RECORD_PYTHON_LAST; i++) {
        make_world(i);
        assert_true(hs_record_python_mix(&table, &backtrace));
        CHECK_FRAMES("Class0.method /srv/app.py:0", "Class1.method /srv/app.py:101", "$1001",
                     "Class2.method /srv/app.py:202", "$1003", "$1004", "$1005");
    }
    assert_null(hs_record_python_layout(HS_RECORD_PYTHON_FIRST - 1));
    assert_null(hs_record_python_layout(HS_RECORD_PYTHON_LAST + 1));
}

static void a_stack_that_ends_early_keeps_the_rest(void **state)
{
    for (unsigned i = HS_RECORD_PYTHON_FIRST; i <= HS_RECORD_PYTHON_LAST; i++) {
        make_world(i);
        backtrace.n = 2;
        assert_true(hs_record_python_mix(&table, &backtrace));
        CHECK_FRAMES("Class0.method /srv/app.py:0", "Class1.method /srv/app.py:101", "$1001",
                     "Class2.method /srv/app.py:202");
    }
}

static void lines_follow_the_table(void **state)
{
    static const unsigned lines[] = {300, 300, 301, 301, 302, 302, 0, 0, 301, 301, 353, 353, 0, 0};

    make_world(HS_RECORD_PYTHON_FIRST);
    for (unsigned unit = 0; unit < sizeof lines / sizeof *lines; unit++) {
        char expected[64];
        uint64_t code = at(CODES + 3 * CODE_BYTES);

        (void)snprintf(expected, sizeof expected, "Class3.method /srv/app.py:%u", lines[unit]);
        hs_record_script_begin();
        assert_string_equal(
            text_of(hs_record_script_place(&table, code, code + layout->code_bytes + 2 * unit)),
            expected);
    }
}

/* Other code may lie where some was that is gone. */
static void places_are_told_by_what_they_say(void **state)
{
    make_world(12);
    uint64_t code = at(CODES), here = code + layout->code_bytes;
    hs_record_script_begin();
    uint64_t first = hs_record_script_place(&table, code, here);
    assert_int_equal(hs_record_script_place(&table, code, here), first);
    put_str(name_at(1), 1, true, "Other0.method", 13);
    assert_string_equal(text_of(hs_record_script_place(&table, code, here)),
                        "Other0.method /srv/app.py:0");
    put(CODES + layout->code_first_line, 7, 4);
    assert_string_equal(text_of(hs_record_script_place(&table, code, here)),
                        "Other0.method /srv/app.py:7");
    assert_string_equal(text_of(first), "Class0.method /srv/app.py:0");
    put_str(name_at(1), 1, true, "Class0.method", 13);
    put(CODES + layout->code_first_line, 0, 4);
    assert_int_equal(hs_record_script_place(&table, code, here), first);
}

static void names_become_utf8(void **state)
{
    static const uint8_t latin[] = {'+', 0xe9, '\n', 'x'};
    static const uint16_t middle[] = {0x3b1, 0xd800, 'y'};
    static const uint32_t wide[] = {0x1f600, 0x110000, 'z'};
    static char longer[2000];

    make_world(11);
    uint64_t code = at(CODES), here = code + layout->code_bytes;
    hs_record_script_begin();
    put_str(name_at(1), 1, false, latin, 4);
    put_str(name_at(0), 2, false, middle, 3);
    assert_string_equal(text_of(hs_record_script_place(&table, code, here)),
                        "?\xc3\xa9?x \xce\xb1?y:0");
    put_str(name_at(1), 4, false, wide, 3);
    assert_string_equal(text_of(hs_record_script_place(&table, code, here)),
                        "\xf0\x9f\x98\x80?z \xce\xb1?y:0");
    memset(longer, 'l', sizeof longer);
    longer[1999] = 'r';
    put(CODES + 112, at(STACK), 8); /* where there is room: the end counts */
    put_str(STACK, 1, true, longer, 2000);
    const char *text = text_of(hs_record_script_place(&table, code, here));
    assert_int_equal(strlen(text), HS_RECORD_SCRIPT_BYTES - 256 + 6 + 1 + 2);
    assert_string_equal(text + strlen(text) - 4, "lr:0");
}

static void what_does_not_fit_has_no_frames(void **state)
{
    make_world(13);
    put(THREAD + layout->thread_pthread, 1, 8); /* another thread's */
    assert_false(hs_record_python_mix(&table, &backtrace));
    assert_int_equal(backtrace.n, N_NATIVE);
    make_world(13);
    put(CODES + 8, at(TYPES + 8), 8); /* no code */
    assert_true(hs_record_python_mix(&table, &backtrace));
    assert_string_equal(text_of(backtrace.frames[0]), "Class1.method /srv/app.py:101");
    make_world(13);
    put(CODES + CODE_BYTES + layout->code_first_traced, 3, 4); /* not begun */
    assert_true(hs_record_python_mix(&table, &backtrace));
    assert_string_equal(text_of(backtrace.frames[1]), "$1001");
    put(FRAMES + FRAME_BYTES + layout->frame_owner, OWNER_GENERATOR, 1);
    make_world(13);
    put(name_at(1) + 16, UINT64_MAX, 8); /* a text without end */
    put(LINES + 256 + 16, UINT64_C(1) << 40, 8);
    put(CODES + 2 * CODE_BYTES + 136, 8, 8);
    assert_true(hs_record_python_mix(&table, &backtrace));
    CHECK_FRAMES("$1001", "$1003", "$1004", "$1005");
}

/* Frames in a circle, and more of them than a backtrace has. */
static void walks_end(void **state)
{
    for (unsigned i = HS_RECORD_PYTHON_FIRST; i <= HS_RECORD_PYTHON_LAST; i++) {
        make_world(i);
        put(FRAMES + FRAME_BYTES + layout->frame_previous, at(FRAMES), 8);
        if (layout->frame_is_entry != HS_PYTHON_NONE)
            put(FRAMES + FRAME_BYTES + layout->frame_is_entry, 0, 1);
        assert_true(hs_record_python_mix(&table, &backtrace));
        assert_int_equal(backtrace.n, HS_RECORD_FRAMES_MAX);
    }
}

/* No word of it may lead to a read that fails; most words lead to others. */
static void any_word_may_be_anything(void **state)
{
    uint64_t random = hs_record_seed(18);

    for (unsigned round = 0; round < 3000; round++) {
        make_world(HS_RECORD_PYTHON_FIRST + round % 3);
        for (unsigned i = 0; i < 1 + round % 40; i++) {
            unsigned word = (unsigned)((random = hs_record_seed(random)) % (WORLD_BYTES / 8)) * 8;
            uint64_t value = (random = hs_record_seed(random));

            if (word == (THREAD + layout->thread_pthread) / 8 * 8)
                continue;
            value = value % 4 == 0   ? value
                    : value % 4 == 1 ? value >> 17
                                     : at((unsigned)(value >> 8) % WORLD_BYTES);
            if (i % 2 == 0) /* of what is there */
                while (word + 8 < WORLD_BYTES && *(uint64_t *)(void *)(world + word) == 0)
                    word += 8;
            if (word != (THREAD + layout->thread_pthread) / 8 * 8)
                put(word, value, 8);
        }
        (void)hs_record_python_mix(&table, &backtrace);
        assert_true(backtrace.n <= HS_RECORD_FRAMES_MAX);
        for (unsigned i = 0; i < backtrace.n; i++)
            (void)text_of(backtrace.frames[i]);
    }
}

static int set_up(void **state)
{
    hs_record_script_forget();
    return hs_record_table_init(&table, &anchor) ? 0 : -1;
}

static int tear_down(void **state)
{
    hs_record_script_forget();
    hs_record_table_fini(&table);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_loop_gives_way_to_what_it_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stack_that_ends_early_keeps_the_rest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lines_follow_the_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places_are_told_by_what_they_say, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_become_utf8, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_does_not_fit_has_no_frames, set_up, tear_down),
        cmocka_unit_test_setup_teardown(walks_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(any_word_may_be_anything, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
