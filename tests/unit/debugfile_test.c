/* links: hs_symbols hs_base */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "elf_writer.h"
#include "fail_each.h"
#include "symbols/debugfile.h"

static struct elf_writer program, debug;
static char root[64];
static const char *const directories[] = {"/nonexistent", root};

static void write_file(const char *name, const void *bytes, size_t n_bytes)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n_bytes, f), n_bytes);
    assert_int_equal(fclose(f), 0);
}

static int set_up(void **state)
{
    snprintf(root, sizeof(root), "%s", "/tmp/hs_debugfile.XXXXXX");
    return mkdtemp(root) == NULL;
}

static int tear_down(void **state)
{
    static const char *const names[] = {".build-id/de/adbeef01234567.debug",
                                        ".build-id/de",
                                        ".build-id",
                                        "bin/x.debug",
                                        "bin/.debug/x.debug",
                                        "bin/.debug",
                                        "bin/x",
                                        "bin",
                                        "x.debug",
                                        "x.dwz",
                                        "its.debug",
                                        "usr/bin/x.debug",
                                        "usr/bin",
                                        "usr",
                                        ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", root, names[i]);
        (void)remove(path);
    }
    return 0;
}

static struct hs_elf *open_writer(struct elf_writer *w)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    assert_int_equal(hs_elf_open_memory(w->bytes, w->n_bytes, "program", &elf, &err), HS_OK);
    return elf;
}

static struct hs_elf *find(struct hs_elf *elf, const char *own_path)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *found = NULL;
    assert_int_equal(hs_debugfile_open(elf, own_path, directories, 2, &found, &err), HS_OK);
    return found;
}

static void finds_by_build_id(void **state)
{
    elf_writer_sample(&program);
    elf_writer_finish(&program);
    hs_auto(hs_elf) *elf = open_writer(&program);
    assert_null(find(elf, NULL));
    write_file(".build-id/de/adbeef01234567.debug", program.bytes, program.n_bytes);
    hs_auto(hs_elf) *found = find(elf, NULL);
    assert_non_null(found);
    assert_non_null(hs_elf_find(found, "main"));
    assert_non_null(strstr(hs_elf_name(found), "/.build-id/de/adbeef01234567.debug"));
}

static void passes_over_another_build(void **state)
{
    elf_writer_sample(&program);
    elf_writer_finish(&program);
    hs_auto(hs_elf) *elf = open_writer(&program);
    program.bytes[elf_writer_section_header(&program, 1)->sh_offset + 16] ^= 1;
    write_file(".build-id/de/adbeef01234567.debug", program.bytes, program.n_bytes);
    program.bytes[elf_writer_section_header(&program, 1)->sh_offset + 16] ^= 1;
    assert_null(find(elf, NULL));
    write_file(".build-id/de/adbeef01234567.debug", "not ELF", 7);
    assert_null(find(elf, NULL));
}

/* A program without a build-id that links to a debug file, and that file. */
static struct hs_elf *linked_program(const char *link, uint32_t crc_change)
{
    static uint8_t section[64];
    size_t n = strlen(link) + 1;
    elf_writer_init(&debug);
    elf_writer_symbol(&debug, "debug_symbol", STT_FUNC, STB_LOCAL, 0x1000, 8, 1);
    elf_writer_finish(&debug);
    memset(section, 0, sizeof(section));
    memcpy(section, link, n);
    n = (n + 3) & ~(size_t)3;
    uint32_t crc = hs_debugfile_crc(0, debug.bytes, debug.n_bytes) + crc_change;
    memcpy(section + n, &crc, 4);
    elf_writer_init(&program);
    elf_writer_section(&program, ".gnu_debuglink", SHT_PROGBITS, 0, section, n + 4);
    elf_writer_finish(&program);
    return open_writer(&program);
}

static void finds_by_debuglink(void **state)
{
    static const char *const places[] = {"bin/x.debug", "bin/.debug/x.debug"};
    for (size_t i = 0; i < 2; i++) {
        hs_auto(hs_elf) *elf = linked_program("x.debug", 0);
        char own[128];
        snprintf(own, sizeof(own), "%s/bin/x", root);
        assert_null(find(elf, own));
        write_file(places[i], debug.bytes, debug.n_bytes);
        hs_auto(hs_elf) *found = find(elf, own);
        assert_non_null(found);
        assert_non_null(hs_elf_find(found, "debug_symbol"));
        assert_null(find(elf, NULL));
        assert_null(find(elf, "x")); /* no directory to look in */
        char path[256];
        snprintf(path, sizeof(path), "%s/%s", root, places[i]);
        assert_int_equal(remove(path), 0);
    }
    hs_auto(hs_elf) *elf = linked_program("x.debug", 0);
    write_file("usr/bin/x.debug", debug.bytes, debug.n_bytes);
    hs_auto(hs_elf) *found = find(elf, "/usr/bin/x");
    assert_non_null(found);
}

static void needs_the_checksum_and_a_plain_name(void **state)
{
    char own[128];
    snprintf(own, sizeof(own), "%s/bin/x", root);
    hs_auto(hs_elf) *elf = linked_program("x.debug", 1);
    write_file("bin/x.debug", debug.bytes, debug.n_bytes);
    assert_null(find(elf, own));
    static const char *const names[] = {"../bin/x.debug", "/bin/x.debug", "..", ""};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        hs_auto(hs_elf) *other = linked_program(names[i], 0);
        assert_null(find(other, own));
    }
}

static struct hs_debugfile_search search_for(struct hs_elf *elf, const char *own_path)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *found = NULL;
    struct hs_debugfile_search search = {.outcome = 99};
    assert_int_equal(hs_debugfile_find(elf, own_path, directories, 2, &found, &search, &err),
                     HS_OK);
    assert_int_equal(found != NULL, search.outcome == HS_DEBUGFILE_FOUND);
    hs_elf_close(found);
    return search;
}

static void assert_says(const struct hs_debugfile_search *search, uint8_t outcome, const char *path,
                        const char *part)
{
    char text[700], small[10];
    assert_int_equal(search->outcome, outcome);
    assert_non_null(strstr(search->path, path));
    size_t n = hs_debugfile_explain(search, text, sizeof(text));
    assert_int_equal(n, strlen(text));
    assert_non_null(strstr(text, part));
    assert_int_equal(hs_debugfile_explain(search, small, sizeof(small)), 9);
    assert_memory_equal(small, text, 9);
}

/* The candidate that came nearest is named, and what was wrong with it. */
static void says_why_there_is_none(void **state)
{
    static const char by_id[] = ".build-id/de/adbeef01234567.debug";
    elf_writer_sample(&program);
    elf_writer_finish(&program);
    hs_auto(hs_elf) *elf = open_writer(&program);
    struct hs_debugfile_search search = search_for(elf, NULL);
    assert_says(&search, HS_DEBUGFILE_MISSING, "/nonexistent/.build-id/", "no debug file");
    write_file(".build-id/de/adbeef01234567.debug/x", "", 0); /* a directory */
    search = search_for(elf, NULL);
    assert_says(&search, HS_DEBUGFILE_UNREADABLE, by_id, "cannot be read");
    char path[256];
    snprintf(path, sizeof(path), "%s/%s/x", root, by_id);
    assert_int_equal(remove(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(remove(path), 0);
    write_file(by_id, "not ELF", 7);
    search = search_for(elf, NULL);
    assert_says(&search, HS_DEBUGFILE_UNREADABLE, by_id, "cannot be read");
    uint8_t *id = &program.bytes[elf_writer_section_header(&program, 1)->sh_offset + 16];
    *id ^= 1;
    write_file(by_id, program.bytes, program.n_bytes);
    *id ^= 1;
    search = search_for(elf, NULL);
    assert_says(&search, HS_DEBUGFILE_OTHER_BUILD, by_id, "another build");
    write_file(by_id, program.bytes, program.n_bytes);
    search = search_for(elf, NULL);
    assert_says(&search, HS_DEBUGFILE_FOUND, by_id, "debug file '");

    elf_writer_init(&program);
    elf_writer_finish(&program);
    hs_auto(hs_elf) *bare = open_writer(&program);
    search = search_for(bare, "/usr/bin/x");
    assert_says(&search, HS_DEBUGFILE_UNNAMED, "", "no build-id");
}

static void takes_links_from_a_directory_of_debug_files(void **state)
{
    hs_auto(hs_elf) *elf = linked_program("x.debug", 0);
    struct hs_debugfile_search search = search_for(elf, NULL);
    assert_says(&search, HS_DEBUGFILE_MISSING, "/nonexistent/x.debug", "neither");
    write_file("x.debug", "not ELF", 7);
    search = search_for(elf, NULL);
    assert_says(&search, HS_DEBUGFILE_UNREADABLE, "/x.debug", "cannot be read");
    write_file("x.debug", program.bytes, program.n_bytes);
    search = search_for(elf, NULL);
    assert_says(&search, HS_DEBUGFILE_OTHER_CONTENT, "/x.debug", "another checksum");
    write_file("x.debug", debug.bytes, debug.n_bytes);
    search = search_for(elf, NULL);
    assert_says(&search, HS_DEBUGFILE_FOUND, "/x.debug", "debug file '");
}

/* Where the kernel shows the files of a process: proc(5). */
#define OTHER_ROOT(process, path) \
    "/proc/" process "/"          \
    "root" path

static void looks_under_the_path_of_another_root(void **state)
{
    hs_auto(hs_elf) *elf = linked_program("x.debug", 0);
    write_file("usr/bin/x.debug", debug.bytes, debug.n_bytes);
    hs_auto(hs_elf) *found = find(elf, OTHER_ROOT("4242424", "/usr/bin/x"));
    assert_non_null(found);
    assert_null(find(elf, OTHER_ROOT("x", "/usr/bin/x")));
    assert_null(find(elf, "/proc/4242424/rooted/usr/bin/x"));
}

/* Its link leads to the file itself, whose checksum a forger can make fit. */
static void is_never_its_own_debug_file(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    char path[256];
    hs_elf_close(linked_program("x", 0)); /* leaves its bytes in `program` */
    write_file("bin/x", program.bytes, program.n_bytes);
    snprintf(path, sizeof(path), "%s/bin/x", root);
    hs_auto(hs_elf) *itself = NULL;
    assert_int_equal(hs_elf_open_path(path, &itself, &err), HS_OK);
    struct hs_debugfile_search search = search_for(itself, path);
    assert_says(&search, HS_DEBUGFILE_ITSELF, "/bin/x", "the file itself");
}

/* By its link, but both have a build-id and these differ. */
static void compares_builds_of_linked_files(void **state)
{
    static uint8_t section[16] = "x.debug";
    static const uint8_t other_id[] = {4, 0, 0,   0,   4,   0, 0, 0, 3, 0,
                                       0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4};
    elf_writer_sample(&debug);
    elf_writer_finish(&debug);
    uint32_t crc = hs_debugfile_crc(0, debug.bytes, debug.n_bytes);
    memcpy(section + 8, &crc, 4);
    for (int has_other = 0; has_other < 2; has_other++) {
        elf_writer_init(&program);
        elf_writer_section(&program, ".gnu_debuglink", SHT_PROGBITS, 0, section, 12);
        if (has_other)
            elf_writer_section(&program, ".note", SHT_NOTE, 0, other_id, sizeof(other_id));
        elf_writer_finish(&program);
        hs_auto(hs_elf) *elf = open_writer(&program);
        write_file("x.debug", debug.bytes, debug.n_bytes);
        struct hs_debugfile_search search = search_for(elf, NULL);
        assert_int_equal(search.outcome, has_other ? HS_DEBUGFILE_OTHER_BUILD : HS_DEBUGFILE_FOUND);
    }
}

/* Two programs with one build-id, and the debug file of the other. */
static void compares_the_layout_of_the_same_build(void **state)
{
    static const uint8_t id[] = {4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4};
    static const uint8_t code[32] = {0x90};
    for (int has_other = 0; has_other < 2; has_other++) {
        uint8_t section[16] = "x.debug";
        elf_writer_init(&debug);
        elf_writer_section(&debug, ".note", SHT_NOTE, 0, id, sizeof(id));
        elf_writer_section(&debug, ".text", SHT_PROGBITS, 0x1000, code, has_other ? 16 : 32);
        elf_writer_finish(&debug);
        uint32_t crc = hs_debugfile_crc(0, debug.bytes, debug.n_bytes);
        memcpy(section + 8, &crc, 4);
        elf_writer_init(&program);
        elf_writer_section(&program, ".gnu_debuglink", SHT_PROGBITS, 0, section, 12);
        elf_writer_section(&program, ".note", SHT_NOTE, 0, id, sizeof(id));
        elf_writer_section(&program, ".text", SHT_PROGBITS, 0x1000, code, 32);
        elf_writer_finish(&program);
        hs_auto(hs_elf) *elf = open_writer(&program);
        write_file("x.debug", debug.bytes, debug.n_bytes);
        struct hs_debugfile_search search = search_for(elf, NULL);
        assert_int_equal(search.outcome,
                         has_other ? HS_DEBUGFILE_OTHER_LAYOUT : HS_DEBUGFILE_FOUND);
    }
}

static void names_the_supplement_of_dwz(void **state)
{
    static const char alt[] = "/usr/lib/debug/.dwz/x.debug\0\x01\x0a\xf3";
    struct hs_debugfile_link link;
    for (size_t n = 0; n < sizeof(alt); n += sizeof(alt) - 1) {
        elf_writer_init(&program);
        elf_writer_section(&program, ".gnu_debugaltlink", SHT_PROGBITS, 0, alt, n);
        elf_writer_finish(&program);
        hs_auto(hs_elf) *elf = open_writer(&program);
        assert_int_equal(hs_debugfile_supplement(elf, &link), n != 0);
        if (n != 0) {
            assert_string_equal(link.path, "/usr/lib/debug/.dwz/x.debug");
            assert_string_equal(link.build_id, "010af3");
        }
    }
    elf_writer_init(&program);
    elf_writer_section(&program, ".gnu_debugaltlink", SHT_PROGBITS, 0, alt, 5); /* no end */
    elf_writer_finish(&program);
    hs_auto(hs_elf) *elf = open_writer(&program);
    assert_false(hs_debugfile_supplement(elf, &link));
}

static void opens_the_supplement_of_its_build(void **state)
{
    static const char relative[] = "x.dwz\0\xab\xcd\xef\x01";
    static const uint32_t note[6] = {4, 4, NT_GNU_BUILD_ID, 0x554e47, 0x01efcdab, 0};
    static const uint32_t other[6] = {4, 4, NT_GNU_BUILD_ID, 0x554e47, 0x02efcdab, 0};
    struct hs_debugfile_link link;
    (void)state;
    for (int is_other = 0; is_other < 2; is_other++) {
        struct hs_error err = HS_ERROR_INIT;
        hs_auto(hs_elf) *found = NULL;
        char path[256];
        elf_writer_init(&debug);
        elf_writer_section(&debug, ".note", SHT_NOTE, 0, is_other ? other : note, 20);
        elf_writer_finish(&debug);
        write_file("x.dwz", debug.bytes, debug.n_bytes);
        elf_writer_init(&program);
        elf_writer_section(&program, ".gnu_debugaltlink", SHT_PROGBITS, 0, relative,
                           sizeof(relative) - 1);
        elf_writer_finish(&program);
        write_file("its.debug", program.bytes, program.n_bytes);
        snprintf(path, sizeof(path), "%s/its.debug", root);
        hs_auto(hs_elf) *elf = NULL;
        assert_int_equal(hs_elf_open_path(path, &elf, &err), HS_OK);
        assert_true(hs_debugfile_supplement(elf, &link));
        assert_int_equal(hs_debugfile_open_supplement(elf, &link, "", NULL, 0, &found, &err),
                         HS_OK);
        assert_int_equal(found == NULL, is_other);
        hs_elf_close(found);
        found = NULL;
        snprintf(path, sizeof(path), "%s", root); /* no file */
        assert_int_equal(hs_debugfile_try_supplement(&link, path, &found, &err), HS_OK);
        assert_null(found);
    }
}

static void reports_running_out_of_memory(void **state)
{
    elf_writer_sample(&program);
    elf_writer_finish(&program);
    hs_auto(hs_elf) *elf = open_writer(&program);
    write_file(".build-id/de/adbeef01234567.debug", program.bytes, program.n_bytes);
    FAIL_EACH (each, .at_least = 3) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_debugfile_search search = {.outcome = 99};
        hs_auto(hs_elf) *found = NULL;
        hs_status status = FAIL_EACH_TRY(
            each, hs_debugfile_find(elf, NULL, directories, 2, &found, &search, &err));
        if (status == HS_OK)
            assert_non_null(found);
        else
            assert_null(found);
        assert_true((search.outcome == 99) == (status != HS_OK));
    }
}

static void computes_the_crc(void **state)
{
    assert_true(hs_debugfile_crc(0, "123456789", 9) == 0xcbf43926); /* the check value */
    assert_true(hs_debugfile_crc(hs_debugfile_crc(0, "1234", 4), "56789", 5) == 0xcbf43926);
    assert_true(hs_debugfile_crc(0, "", 0) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_by_build_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(passes_over_another_build, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_by_debuglink, set_up, tear_down),
        cmocka_unit_test_setup_teardown(needs_the_checksum_and_a_plain_name, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_why_there_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(takes_links_from_a_directory_of_debug_files, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(looks_under_the_path_of_another_root, set_up, tear_down),
        cmocka_unit_test_setup_teardown(is_never_its_own_debug_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(compares_builds_of_linked_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(compares_the_layout_of_the_same_build, set_up, tear_down),
        cmocka_unit_test(names_the_supplement_of_dwz),
        cmocka_unit_test_setup_teardown(opens_the_supplement_of_its_build, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_running_out_of_memory, set_up, tear_down),
        cmocka_unit_test(computes_the_crc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
