/* links: hs_target hs_symbols */
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core_writer.h"
#include "elf_writer.h"
#include "target/core/core_private.h"

static struct core_writer w;
static struct elf_writer program, other;
static uint8_t header[4096];
static char root[PATH_MAX]; /* an absolute directory of the test's own */

static void save_at(const char *path, const struct elf_writer *elf)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, elf->bytes, elf->n_bytes), elf->n_bytes);
    close(fd);
}

static int begin(void **state)
{
    assert_non_null(realpath(core_writer_directory(), root));
    elf_writer_sample(&program);
    elf_writer_finish(&program);
    assert_true(program.n_bytes < sizeof header);
    memset(header, 0, sizeof header);
    memcpy(header, program.bytes, program.n_bytes);
    other = program;
    /* Another build-id: the last byte of the note that begins with "GNU". */
    uint8_t *name = memmem(other.bytes, other.n_bytes, "GNU\0", 4);
    assert_non_null(name);
    name[4] ^= 0xff;
    return 0;
}

static int done(void **state)
{
    core_writer_fini(&w);
    core_writer_clean();
    return 0;
}

static void path_of(char *path, const char *name)
{
    snprintf(path, PATH_MAX, "%.2000s/%s", root, name);
}

/* A core whose program is mapped from `path`, opened. */
static hs_status open_core(const char *path, const uint8_t *first_page,
                           const struct hs_core_options *more, struct hs_target *ret,
                           struct hs_error *err)
{
    core_writer_fini(&w);
    core_writer_sample(&w, path, first_page);
    core_writer_finish(&w);
    struct hs_core_options options = more != NULL ? *more : (struct hs_core_options){0};
    options.path = core_writer_save(w.bytes, w.n_bytes);
    return hs_core_open(&options, ret, err);
}

static struct hs_target opened(const char *path, const uint8_t *first_page,
                               const struct hs_core_options *more)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_target target;
    if (open_core(path, first_page, more, &target, &err) != HS_OK)
        fail_msg("%s", err.message);
    return target;
}

static hs_status file_path(const struct hs_target *target, char *path, struct hs_error *err)
{
    return hs_target_file_path(target, &target->mappings[0], path, PATH_MAX, err);
}

static void assert_found(struct hs_target *target, const char *wanted)
{
    char found[PATH_MAX];
    struct hs_error err = HS_ERROR_INIT;
    if (file_path(target, found, &err) != HS_OK)
        fail_msg("%s", err.message);
    assert_string_equal(found, wanted);
    assert_string_equal(hs_core_program_path(target), wanted);
    hs_target_close(target);
}

static void assert_not_found(struct hs_target *target, const char *part, const char *hint)
{
    char found[PATH_MAX];
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(file_path(target, found, &err), HS_TARGET);
    if (strstr(err.message, part) == NULL || strstr(err.hint, hint) == NULL)
        fail_msg("%s; %s", err.message, err.hint);
    assert_non_null(strstr(hs_core_note(target), "names are missing"));
    assert_null(hs_core_program_path(target));
    hs_target_close(target);
}

static void the_same_build_is_taken(void **state)
{
    char path[PATH_MAX];
    struct hs_target target;
    struct hs_error err = HS_ERROR_INIT;
    uint8_t bytes[16];
    path_of(path, "program");
    save_at(path, &program);
    target = opened(path, header, NULL);
    /* What the core left out of it is read from the file: here there is nothing behind its end. */
    assert_int_equal(hs_target_read(&target, CORE_SAMPLE_PROGRAM, bytes, 4, &err), HS_OK);
    assert_memory_equal(bytes, "\177ELF", 4);
    assert_int_equal(hs_target_read(&target, CORE_SAMPLE_PROGRAM + 0x1000, bytes, 4, &err),
                     HS_TARGET);
    assert_found(&target, path);
}

static void pages_of_the_file_that_are_not_in_the_core(void **state)
{
    char path[PATH_MAX];
    struct hs_target target;
    struct hs_error err = HS_ERROR_INIT;
    static uint8_t bytes[8192];
    path_of(path, "program");
    save_at(path, &program);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "text", 4, 4096 + 100), 4);
    close(fd);
    target = opened(path, header, NULL);
    assert_int_equal(hs_target_read(&target, CORE_SAMPLE_PROGRAM + 0x1064, bytes, 4, &err), HS_OK);
    assert_memory_equal(bytes, "text", 4);
    /* To the end of the page, as a mapping has it; and on into what the core has. */
    assert_int_equal(hs_target_read(&target, CORE_SAMPLE_PROGRAM + 0x1000, bytes, 8192, &err),
                     HS_OK);
    assert_true(bytes[4095] == 0 && bytes[4096] == 'd');
    hs_target_close(&target);
}

static void another_build_is_not(void **state)
{
    char path[PATH_MAX];
    path_of(path, "program");
    save_at(path, &other);
    struct hs_target target = opened(path, header, NULL);
    assert_not_found(&target, "it is another build (build-id", "--exe");
}

static void a_missing_one_is_told_of(void **state)
{
    struct hs_target target = opened("/nowhere/program", header, NULL);
    assert_not_found(&target, "cannot find '/nowhere/program'", "--sysroot");
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
    char path[PATH_MAX];
    path_of(path, "pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    struct hs_target target = opened(path, header, NULL);
    assert_not_found(&target, "cannot find", "--exe");
    target = opened("relative/program", header, NULL);
    assert_not_found(&target, "cannot find", "--exe");
    target = opened("/dev/zero", header, NULL);
    assert_not_found(&target, "cannot find", "--exe");
    target = opened(root, header, NULL);
    assert_not_found(&target, "cannot find", "--exe");
}

static void a_deleted_file_may_be_there_again(void **state)
{
    char path[PATH_MAX], mapped[PATH_MAX];
    path_of(path, "program");
    path_of(mapped, "program (deleted)");
    save_at(path, &program);
    struct hs_target target = opened(mapped, header, NULL);
    assert_found(&target, path);
}

static void the_user_names_the_program(void **state)
{
    char path[PATH_MAX], wrong[PATH_MAX];
    struct hs_target target;
    struct hs_error err = HS_ERROR_INIT;
    path_of(path, "elsewhere");
    path_of(wrong, "wrong");
    save_at(path, &program);
    save_at(wrong, &other);
    struct hs_core_options options = {.exe = path};
    target = opened("/nowhere/program", header, &options);
    assert_string_equal(hs_core_note(&target), "");
    assert_found(&target, path);

    options.exe = wrong;
    assert_int_equal(open_core("/nowhere/program", header, &options, &target, &err), HS_TARGET);
    assert_non_null(strstr(err.message, "another build than the program of the core"));
    assert_non_null(strstr(err.hint, "build-id"));
    options.exe = "/nowhere/at/all";
    assert_int_equal(open_core("/nowhere/program", header, &options, &target, &err), HS_TARGET);
    assert_non_null(strstr(err.message, "cannot open '/nowhere/at/all'"));
    /* Without a page of it in the core there is nothing to compare: the user's word counts. */
    options.exe = wrong;
    target = opened("/nowhere/program", NULL, &options);
    assert_non_null(strstr(hs_core_note(&target), "taken on trust"));
    assert_found(&target, wrong);
    options.exe = path;
    target = opened(path, NULL, NULL); /* that of the core's own path does not */
    assert_not_found(&target, "cannot tell whether", "--exe");
}

static void files_of_another_system_are_below_the_sysroot(void **state)
{
    char directory[PATH_MAX], path[PATH_MAX];
    path_of(directory, "sysroot");
    assert_int_equal(mkdir(directory, 0700), 0);
    path_of(path, "sysroot/usr");
    assert_int_equal(mkdir(path, 0700), 0);
    path_of(path, "sysroot/bin");
    assert_int_equal(symlink("/usr", path), 0); /* absolute: of the other system */
    path_of(path, "sysroot/usr/made");
    save_at(path, &program);
    struct hs_core_options options = {.sysroot = directory};
    struct hs_target target = opened("/bin/made", header, &options);
    assert_string_equal(hs_core_sysroot(&target), directory);
    assert_found(&target, path);
    /* Nothing leads out of it. */
    target = opened("/../../../../bin/made", header, &options);
    assert_found(&target, path);
    /* What is not there is looked for at its own place. */
    path_of(path, "program");
    save_at(path, &program);
    target = opened(path, header, &options);
    assert_found(&target, path);
}

static void a_file_without_a_build_id_is_known_by_its_headers(void **state)
{
    char path[PATH_MAX];
    struct elf_writer bare, changed;
    path_of(path, "bare");
    elf_writer_init(&bare);
    size_t text = elf_writer_section(&bare, ".text", SHT_PROGBITS, 0x1000, "code", 4);
    elf_writer_segment(&bare, PT_LOAD, PF_R | PF_X, 0x1000, 4, text);
    elf_writer_finish(&bare);
    memset(header, 0, sizeof header);
    memcpy(header, bare.bytes, bare.n_bytes);
    save_at(path, &bare);
    struct hs_target target = opened(path, header, NULL);
    assert_found(&target, path);
    changed = bare; /* stripped since */
    elf_writer_header(&changed)->e_shoff = elf_writer_header(&changed)->e_shnum = 0;
    save_at(path, &changed);
    target = opened(path, header, NULL);
    assert_found(&target, path);
    changed = bare;
    elf_writer_program_header(&changed, 0)->p_memsz++;
    save_at(path, &changed);
    target = opened(path, header, NULL);
    assert_not_found(&target, "another build", "--exe");
}

/* Hostile: a first page that says anything. */
static void a_first_page_of_noise_proves_nothing(void **state)
{
    char path[PATH_MAX];
    path_of(path, "program");
    save_at(path, &program);
    memset(header, 0xee, sizeof header);
    struct hs_target target = opened(path, header, NULL);
    assert_not_found(&target, "cannot tell whether", "--exe");
    for (size_t i = 16; i < 64; i++) { /* each byte of the ELF header */
        memcpy(header, program.bytes, program.n_bytes);
        header[i] = 0xff;
        struct hs_error err = HS_ERROR_INIT;
        assert_int_equal(open_core(path, header, NULL, &target, &err), HS_OK);
        char found[PATH_MAX];
        (void)!file_path(&target, found, &err);
        hs_target_close(&target);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_same_build_is_taken, begin, done),
        cmocka_unit_test_setup_teardown(pages_of_the_file_that_are_not_in_the_core, begin, done),
        cmocka_unit_test_setup_teardown(another_build_is_not, begin, done),
        cmocka_unit_test_setup_teardown(a_missing_one_is_told_of, begin, done),
        cmocka_unit_test_setup_teardown(what_is_no_regular_file_is_not_opened, begin, done),
        cmocka_unit_test_setup_teardown(a_deleted_file_may_be_there_again, begin, done),
        cmocka_unit_test_setup_teardown(the_user_names_the_program, begin, done),
        cmocka_unit_test_setup_teardown(files_of_another_system_are_below_the_sysroot, begin, done),
        cmocka_unit_test_setup_teardown(a_file_without_a_build_id_is_known_by_its_headers, begin,
                                        done),
        cmocka_unit_test_setup_teardown(a_first_page_of_noise_proves_nothing, begin, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
