/* links: hs_ocaml hs_runtimes hs_process */
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "ocaml/names/private.h"

static struct hs_error err;
static char script[64];

/* A helper that is a shell script. */
static void write_script(const char *text)
{
    snprintf(script, sizeof script, "/tmp/hs_names_run_test.XXXXXX");
    int fd = mkstemp(script);
    assert_true(fd >= 0);
    assert_true(dprintf(fd, "#!/bin/sh\n%s\n", text) > 0);
    assert_int_equal(fchmod(fd, 0755), 0);
    close(fd);
}

static hs_status run_script(const char *text, const char *input, uint64_t timeout_ns,
                            struct hs_buffer *out, char *note)
{
    write_script(text);
    struct hs_names_process process = {
        .program = script,
        .what = "source names",
        .input = input,
        .n_input_bytes = strlen(input),
        .uid = geteuid(),
        .gid = getegid(),
        .timeout_ns = timeout_ns,
    };
    hs_status status = hs_names_run(&process, out, note, 160, &err);
    unlink(script);
    return status;
}

static size_t n_descriptors(void)
{
    size_t n = 0;
    DIR *all = opendir("/proc/self/fd");
    assert_non_null(all);
    while (readdir(all) != NULL)
        n++;
    closedir(all);
    return n;
}

#define SECOND ((uint64_t)1000000000)

static void collects_what_it_says(void **state)
{
    struct hs_buffer out = {0};
    char note[160];
    size_t before = n_descriptors();
    assert_int_equal(run_script("cat; echo end; echo talk >&2", "in\n", 20 * SECOND, &out, note),
                     0);
    assert_int_equal(out.n_bytes, 7);
    assert_memory_equal(out.bytes, "in\nend\n", 7);
    assert_string_equal(note, "");
    assert_int_equal(n_descriptors(), before);
    hs_buffer_fini(&out);
}

static void a_large_answer_to_a_large_question(void **state)
{
    struct hs_buffer out = {0};
    char note[160];
    size_t n = 3 << 20;
    char *input = malloc(n + 1);
    assert_non_null(input);
    memset(input, 'x', n);
    input[n] = '\0';
    assert_int_equal(run_script("cat; cat /dev/null", input, 60 * SECOND, &out, note), HS_OK);
    assert_int_equal(out.n_bytes, n);
    hs_buffer_fini(&out);
    free(input);
}

static void says_how_it_ended(void **state)
{
    static const struct {
        const char *script, *note;
    } cases[] = {
        {"echo part; kill -SEGV $$", "died early (signal 11)"},
        {"echo part; exit 3", "exit status 3"},
        {"echo part; exit 127", "could not be started"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hs_buffer out = {0};
        char note[160];
        assert_int_equal(run_script(cases[i].script, "", 20 * SECOND, &out, note), HS_OK);
        assert_int_equal(out.n_bytes, 5);
        if (strstr(note, cases[i].note) == NULL)
            fail_msg("%s", note);
        hs_buffer_fini(&out);
    }
}

static void ends_one_that_takes_too_long(void **state)
{
    struct hs_buffer out = {0};
    char note[160];
    uint64_t begin = hs_now_ns();
    assert_int_equal(run_script("echo part; exec sleep 60", "", SECOND / 2, &out, note), HS_OK);
    assert_true(hs_now_ns() - begin < 20 * SECOND);
    assert_non_null(strstr(note, "too long"));
    assert_int_equal(out.n_bytes, 5);
    hs_buffer_fini(&out);
}

/* The end of its output is not the end of it. */
static void ends_one_that_only_closes_its_output(void **state)
{
    struct hs_buffer out = {0};
    char note[160];
    uint64_t begin = hs_now_ns();
    assert_int_equal(run_script("echo part; exec sleep 60 >&-", "", SECOND / 2, &out, note), HS_OK);
    assert_true(hs_now_ns() - begin < 20 * SECOND);
    assert_non_null(strstr(note, "did not end"));
    assert_int_equal(out.n_bytes, 5);
    hs_buffer_fini(&out);
}

static void ends_one_that_says_too_much(void **state)
{
    struct hs_buffer out = {0};
    char note[160];
    assert_int_equal(run_script("exec cat /dev/zero", "", 60 * SECOND, &out, note), HS_OK);
    assert_non_null(strstr(note, "too much"));
    hs_buffer_fini(&out);
}

static void runs_as_the_owner_of_the_target(void **state)
{
    struct hs_buffer out = {0};
    char note[160], secret[] = "/tmp/hs_names_secret.XXXXXX", text[256];
    if (geteuid() != 0)
        skip();
    int fd = mkstemp(secret); /* root's own, mode 600 */
    assert_true(fd >= 0);
    snprintf(text, sizeof text, "id -u; id -g; id -G; cat %s && echo read", secret);
    write_script(text);
    struct hs_names_process process = {.program = script,
                                       .what = "source names",
                                       .uid = 65534,
                                       .gid = 65533,
                                       .timeout_ns = 20 * SECOND};
    assert_int_equal(hs_names_run(&process, &out, note, sizeof note, &err), HS_OK);
    assert_int_equal(hs_buffer_reserve(&out, 1, &err), HS_OK);
    hs_buffer_put_u8(&out, 0);
    assert_string_equal((const char *)out.bytes, "65534\n65533\n65533\n");
    unlink(script);
    unlink(secret);
    close(fd);
    hs_buffer_fini(&out);
}

/* Who may look at another's process without being root is not led by that other's files. */
static void does_not_read_another_users_files_as_us(void **state)
{
    struct hs_buffer out = {0};
    char note[160];
    bool is_root = geteuid() == 0;
    uint32_t us = is_root ? 65534 : geteuid();
    write_script("echo read");
    struct hs_names_process process = {
        .program = script, .what = "source names", .uid = us - 1, .timeout_ns = SECOND};
    if (is_root)
        assert_int_equal(seteuid(us), 0);
    hs_status status = hs_names_run(&process, &out, note, sizeof note, &err);
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(status, HS_IO);
    assert_non_null(strstr(err.message, "another user's"));
    assert_int_equal(out.n_bytes, 0);
    unlink(script);
    hs_buffer_fini(&out);
}

static void one_that_is_not_there_is_an_error(void **state)
{
    struct hs_buffer out = {0};
    char note[160];
    struct hs_names_process process = {
        .program = "/nonexistent/x", .uid = geteuid(), .timeout_ns = SECOND};
    size_t before = n_descriptors();
    assert_int_equal(hs_names_run(&process, &out, note, sizeof note, &err), HS_IO);
    assert_non_null(strstr(err.message, "'/nonexistent/x'"));
    assert_int_equal(n_descriptors(), before);
    hs_buffer_fini(&out);
}

static void a_failed_allocation_leaves_no_child(void **state)
{
    struct hs_buffer out = {0};
    char note[160];
    hs_alloc_fail_at(1, true);
    hs_status status = run_script("echo x; sleep 60", "", 60 * SECOND, &out, note);
    hs_alloc_fail_at(0, false);
    assert_int_equal(status, HS_LIMIT);
    hs_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collects_what_it_says),
        cmocka_unit_test(a_large_answer_to_a_large_question),
        cmocka_unit_test(says_how_it_ended),
        cmocka_unit_test(ends_one_that_takes_too_long),
        cmocka_unit_test(ends_one_that_only_closes_its_output),
        cmocka_unit_test(ends_one_that_says_too_much),
        cmocka_unit_test(runs_as_the_owner_of_the_target),
        cmocka_unit_test(does_not_read_another_users_files_as_us),
        cmocka_unit_test(one_that_is_not_there_is_an_error),
        cmocka_unit_test(a_failed_allocation_leaves_no_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
