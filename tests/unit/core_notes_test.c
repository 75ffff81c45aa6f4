/* links: hs_target hs_symbols */

#include "base/load.h"

#include "unit.h"

#include "core_writer.h"
#include "target/core/core_private.h"

static struct core_writer w;

static hs_status open_core(struct hs_target *ret, struct hs_error *err)
{
    struct hs_core_options options = {.path = core_writer_save(w.bytes, w.n_bytes)};
    return hs_core_open(&options, ret, err);
}

static struct hs_target opened(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_target target;
    if (open_core(&target, &err) != HS_OK)
        fail_msg("%s", err.message);
    return target;
}

static void made(void)
{
    core_writer_sample(&w, "/nowhere/program", NULL);
}

static int done(void **state)
{
    core_writer_fini(&w);
    core_writer_clean();
    return 0;
}

/* The note number i of the finished image: where its head is. */
static uint8_t *note_at(size_t number)
{
    uint8_t *at = w.bytes + w.notes_at;
    for (; number != 0; number--) {
        uint32_t n = hs_load_u32(at + 4);
        at += 20 + ((n + 3) & ~3u);
    }
    return at;
}

/* thread 42, info, thread 40, auxv, files */
enum { NOTE_THREAD, NOTE_INFO, NOTE_THREAD_2, NOTE_AUXV, NOTE_FILES, N_NOTES };

static void set_u32(uint8_t *at, uint32_t value)
{
    memcpy(at, &value, sizeof value);
}

static void set_u64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* Whatever a note says of its own sizes, we neither fail for more than lack of a thread nor read
 * beyond. */
static void hostile_sizes(void **state)
{
    static const uint32_t sizes[] = {0,          1,          11,         16,         135,
                                     136,        335,        337,        4096,       65536,
                                     0x7fffffff, 0x80000000, 0xfffffffb, 0xfffffffd, 0xffffffff};
    for (size_t note = 0; note < N_NOTES; note++) {
        for (size_t field = 0; field < 2; field++) {
            for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                struct hs_error err = HS_ERROR_INIT;
                struct hs_target target;
                made();
                core_writer_finish(&w);
                set_u32(note_at(note) + 4 * field, sizes[i]);
                hs_status status = open_core(&target, &err);
                if (status == HS_OK) {
                    assert_true(target.n_threads >= 1 && target.n_threads <= 2);
                    hs_target_close(&target);
                } else {
                    assert_int_equal(status, HS_FORMAT);
                    assert_int_equal(note, NOTE_THREAD);
                    assert_non_null(strstr(err.message, "no thread"));
                }
                core_writer_fini(&w);
            }
        }
    }
}

static void threads_without_a_number_or_twice_are_left_out(void **state)
{
    made();
    core_writer_thread(&w, 0, 1, 2);
    core_writer_thread(&w, -5, 1, 2);
    core_writer_thread(&w, 42, 1, 2);
    core_writer_finish(&w);
    struct hs_target target = opened();
    assert_int_equal(target.n_threads, 2);
    assert_non_null(strstr(hs_core_note(&target), "3 of its headers and notes"));
    hs_target_close(&target);
}

static void a_core_without_threads_is_refused(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_target target;
    made();
    w.n_notes = 0;
    core_writer_info(&w, 40, "made", "made");
    core_writer_finish(&w);
    assert_int_equal(open_core(&target, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "no thread"));
}

static void without_info_the_first_thread_names_the_process(void **state)
{
    made();
    w.n_notes = 0;
    core_writer_thread(&w, 77, 1, 2);
    core_writer_thread(&w, 55, 1, 2);
    w.n_auxv = 0;
    core_writer_finish(&w);
    struct hs_target target = opened();
    assert_int_equal(target.pid, 55);
    assert_string_equal(target.command, "?");
    hs_target_close(&target);
}

static void the_command_of_the_note(void **state)
{
    static const char long_text[] = "12345678901234567890123456789012345678901234567890"
                                    "123456789012345678901234567890";
    made();
    w.n_notes = 0;
    w.n_auxv = 0;
    core_writer_thread(&w, 40, 1, 2);
    core_writer_info(&w, 40, "name", "a\033b  ");
    core_writer_info(&w, 41, "other", "second");
    core_writer_finish(&w);
    struct hs_target target = opened();
    assert_string_equal(target.command, "a?b");
    assert_string_equal(target.name, "name");
    assert_int_equal(target.pid, 40);
    hs_target_close(&target);
    core_writer_fini(&w);

    made();
    w.n_notes = 0;
    w.n_auxv = 0;
    core_writer_thread(&w, 40, 1, 2);
    core_writer_info(&w, 40, "sixteenletters!!", "   ");
    core_writer_finish(&w);
    target = opened();
    assert_string_equal(target.command, "sixteenletters!!");
    assert_string_equal(target.name, "sixteenletters!");
    hs_target_close(&target);
    core_writer_fini(&w);

    made();
    w.n_notes = 0;
    w.n_auxv = 0;
    core_writer_thread(&w, 40, 1, 2);
    core_writer_info(&w, 40, "name", long_text);
    core_writer_finish(&w);
    target = opened();
    assert_string_equal(target.command, long_text); /* all 80 bytes, no end in the note */
    hs_target_close(&target);
}

/* Words of the stack that lead elsewhere, or count to nothing, leave the note's command. */
static void the_command_of_the_stack_may_lie(void **state)
{
    static const struct {
        size_t word;
        uint64_t value;
        const char *command;
    } lies[] = {
        {0, 3, "made --with some?arguments"},
        {0, 4, "made --with"},                    /* argc does not count them */
        {1, UINT64_MAX, "made --with"},           /* argv[0] is nowhere */
        {1, CORE_SAMPLE_HEAP, "made --with"},     /* and not on the stack */
        {2, CORE_SAMPLE_STACK, "made --with"},    /* argv[1] was moved */
        {4, 1, "made --with"},                    /* argv does not end */
        {10, CORE_SAMPLE_PROGRAM, "made --with"}, /* no auxiliary vector */
    };
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        made();
        core_writer_finish(&w);
        uint8_t *stack = w.bytes + w.n_bytes - 512;
        set_u64(stack + 8 * lies[i].word, lies[i].value);
        struct hs_target target = opened();
        assert_string_equal(target.command, lies[i].command);
        hs_target_close(&target);
        core_writer_fini(&w);
    }
}

static void hostile_rows(void **state)
{
    static const struct {
        uint64_t begin, end, pages;
        size_t n_left;
    } rows[] = {
        {0x1000, 0x1000, 0, 3},                /* empty */
        {0x2000, 0x1000, 0, 3},                /* backwards */
        {0x1001, 0x2000, 0, 3},                /* not of pages */
        {0x1000, 0x2001, 0, 3},                /* the same */
        {0x1000, 0x2000, UINT64_MAX, 3},       /* beyond any file */
        {0x1000, 0x2000, INT64_MAX / 4096, 3}, /* the same */
        {0x1000, 0x2000, 7, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made();
        core_writer_file(&w, rows[i].begin, rows[i].end, rows[i].pages, "/x");
        core_writer_finish(&w);
        struct hs_target target = opened();
        assert_int_equal(target.core->n_rows, rows[i].n_left);
        assert_int_equal(strstr(hs_core_note(&target), "damaged") != NULL, rows[i].n_left == 3);
        hs_target_close(&target);
        core_writer_fini(&w);
    }
}

static void rows_over_each_other_are_the_first_ones(void **state)
{
    made();
    core_writer_file(&w, 0x10000, 0x14000, 0, "/first");
    core_writer_file(&w, 0x12000, 0x16000, 5, "/second");
    core_writer_file(&w, 0x11000, 0x13000, 0, "/lost");
    core_writer_finish(&w);
    struct hs_target target = opened();
    const struct hs_mapping *m = hs_target_mapping_at(&target, 0x14000);
    assert_non_null(m);
    assert_true(m->begin == 0x14000 && m->end == 0x16000 && m->file_offset == 7 * 4096);
    assert_string_equal(hs_mapping_path(&target, m), "/second");
    assert_true(hs_target_mapping_at(&target, 0x13fff)->begin == 0x10000);
    hs_target_close(&target);
}

static void a_count_that_there_are_no_rows_for(void **state)
{
    static const uint64_t counts[] = {4, 5, 1000, UINT64_MAX / 24, UINT64_MAX / 24 + 1, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        made();
        core_writer_finish(&w);
        set_u64(note_at(NOTE_FILES) + 20, counts[i]);
        struct hs_target target = opened();
        assert_true(target.core->n_rows <= 4);
        assert_non_null(strstr(hs_core_note(&target), "damaged"));
        hs_target_close(&target);
        core_writer_fini(&w);
    }
}

static void a_unit_that_multiplies_to_nonsense(void **state)
{
    made();
    core_writer_finish(&w);
    set_u64(note_at(NOTE_FILES) + 28, UINT64_MAX / 2 + 1);
    struct hs_target target = opened();
    assert_int_equal(target.core->n_rows, 1); /* 0 times anything is 0 */
    hs_target_close(&target);
    core_writer_fini(&w);

    made(); /* gcore counts in bytes */
    core_writer_finish(&w);
    set_u64(note_at(NOTE_FILES) + 28, 1);
    target = opened();
    assert_true(target.core->rows[1].file_offset == 1);
    hs_target_close(&target);
}

static void notes_of_others_are_passed_over(void **state)
{
    made();
    size_t begin = w.n_notes;
    core_writer_thread(&w, 99, 1, 2);
    memcpy(w.notes + begin + 12, "XORE", 4);
    core_writer_note(&w, 0x202, "xsave", 5);
    core_writer_finish(&w);
    struct hs_target target = opened();
    assert_int_equal(target.n_threads, 2);
    assert_string_equal(hs_core_note(&target), "");
    hs_target_close(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(hostile_sizes, done),
        cmocka_unit_test_teardown(threads_without_a_number_or_twice_are_left_out, done),
        cmocka_unit_test_teardown(a_core_without_threads_is_refused, done),
        cmocka_unit_test_teardown(without_info_the_first_thread_names_the_process, done),
        cmocka_unit_test_teardown(the_command_of_the_note, done),
        cmocka_unit_test_teardown(the_command_of_the_stack_may_lie, done),
        cmocka_unit_test_teardown(hostile_rows, done),
        cmocka_unit_test_teardown(rows_over_each_other_are_the_first_ones, done),
        cmocka_unit_test_teardown(a_count_that_there_are_no_rows_for, done),
        cmocka_unit_test_teardown(a_unit_that_multiplies_to_nonsense, done),
        cmocka_unit_test_teardown(notes_of_others_are_passed_over, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
