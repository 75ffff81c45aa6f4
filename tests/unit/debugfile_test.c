/* links: hs_symbols hs_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_writer.h"
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
    (void)state;
    snprintf(root, sizeof(root), "%s", "/tmp/hs_debugfile.XXXXXX");
    return mkdtemp(root) == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const names[] = {".build-id/de/adbeef01234567.debug",
                                        ".build-id/de",
                                        ".build-id",
                                        "bin/x.debug",
                                        "bin/.debug/x.debug",
                                        "bin/.debug",
                                        "bin",
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
    (void)state;
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
    (void)state;
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
    (void)state;
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
    (void)state;
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

static void computes_the_crc(void **state)
{
    (void)state;
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
        cmocka_unit_test(computes_the_crc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
