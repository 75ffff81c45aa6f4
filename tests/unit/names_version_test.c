/* links: hs_ocaml hs_runtimes hs_process hs_symbols */
/* Which compiler made a program, from the bytes of its file, and which helper fits. */
#include "unit.h"

#include <sys/stat.h>
#include <unistd.h>

#include "elf_writer.h"
#include "ocaml/names/private.h"
#include "symbols/elf.h"

enum { N_WORDS = 64, STRING = 252, AT = 0x3000 };

struct program {
    uint64_t data[N_WORDS];
    struct elf_writer writer;
    struct hs_object object;
    struct hs_objects objects;
};

static void program_open(struct program *p, const char *symbol)
{
    struct hs_error err = HS_ERROR_INIT;
    struct elf_writer *w = &p->writer;
    elf_writer_init(w);
    size_t data = elf_writer_section(w, ".data", SHT_PROGBITS, AT, p->data, sizeof p->data);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, AT, sizeof p->data, data);
    elf_writer_symbol(w, symbol, STT_OBJECT, STB_GLOBAL, AT, 0, (uint16_t)data);
    elf_writer_finish(w);
    assert_int_equal(hs_elf_open_memory(w->bytes, w->n_bytes, "fake", &p->object.elf, &err), HS_OK);
    p->objects = (struct hs_objects){.objects = &p->object, .n = 1, .capacity = 1};
}

static bool program_version(struct program *p, const char *symbol, char *version, size_t n)
{
    program_open(p, symbol);
    bool is_known = hs_names_version(&p->objects, version, n);
    hs_elf_close(p->object.elf);
    return is_known;
}

/* A string block at word `at`, as the compiler emits it. */
static void put_string(struct program *p, size_t at, const char *text)
{
    size_t n = strlen(text), n_words = n / 8 + 1;
    uint8_t *bytes = (uint8_t *)&p->data[at + 1];
    p->data[at] = (uint64_t)n_words << 10 | 3 << 8 | STRING;
    memset(bytes, 0, n_words * 8);
    memcpy(bytes, text, n);
    bytes[n_words * 8 - 1] = (uint8_t)(n_words * 8 - 1 - n);
}

static void reads_the_constant(void **state)
{
    static const char *const versions[] = {"5.3.0", "4.14.2", "5.10.11+flambda2~x", "5.4.0~rc1"};
    static const char *const symbols[] = {"camlStdlib__Sys.data_begin",
                                          "camlStdlib__Sys__data_begin"};
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
        struct program p = {0};
        char version[32];
        put_string(&p, 4, "Unix");
        put_string(&p, 9, "a longer text of the program");
        put_string(&p, 20, "4.13 is not it");
        put_string(&p, 30, versions[i]);
        put_string(&p, 40, "9.9.9");
        assert_true(program_version(&p, symbols[i % 2], version, sizeof version));
        assert_string_equal(version, versions[i]);
    }
}

static void is_not_misled(void **state)
{
    static const char *const others[] = {"",       "5",      "5.",      "x.y.z", "5.3.0\n",
                                         "5.3.0;", "a5.3.0", "100.2.0", ".5.3.0"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct program p = {0};
        char version[32];
        put_string(&p, 4, others[i]);
        assert_false(program_version(&p, "camlStdlib__Sys.data_begin", version, sizeof version));
    }
    struct program p = {0};
    char version[32], small[5];
    put_string(&p, 4, "5.3.0");
    assert_false(program_version(&p, "camlOther.data_begin", version, sizeof version));
    assert_false(program_version(&p, "camlStdlib__Sys.data_begin", small, sizeof small));
    p.data[5] &= ~(UINT64_C(0xFF) << 56); /* the padding lies: the text is cut by a NUL */
    assert_false(program_version(&p, "camlStdlib__Sys.data_begin", version, sizeof version));
    p.data[5] |= UINT64_C(9) << 56;
    assert_false(program_version(&p, "camlStdlib__Sys.data_begin", version, sizeof version));
    put_string(&p, N_WORDS - 2, "5.3.0"); /* the last block may end with the data */
    p.data[4] = 0;
    assert_true(program_version(&p, "camlStdlib__Sys.data_begin", version, sizeof version));
    p.data[N_WORDS - 2] += 1 << 10; /* but not beyond */
    assert_false(program_version(&p, "camlStdlib__Sys.data_begin", version, sizeof version));
}

static void prefers_the_helper_of_the_version(void **state)
{
    char directory[] = "/tmp/hs_names_version_test.XXXXXX", base[80], fitting[80], path[80];
    assert_non_null(mkdtemp(directory));
    snprintf(base, sizeof base, "%s/names", directory);
    snprintf(fitting, sizeof fitting, "%s/names-5.3", directory);
    hs_names_choose_helper(base, "5.3.0", path, sizeof path);
    assert_string_equal(path, base);
    FILE *file = fopen(fitting, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(fitting, 0755), 0);
    static const char *const fits[] = {"5.3.0", "5.3", "5.3.1+x", "5.3~beta"};
    static const char *const others[] = {"", "5", "5.", "5.30.0", "4.13.1", "/5.3"};
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        hs_names_choose_helper(base, fits[i], path, sizeof path);
        assert_string_equal(path, fitting);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        hs_names_choose_helper(base, others[i], path, sizeof path);
        assert_string_equal(path, base);
    }
    unlink(fitting);
    rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_constant),
        cmocka_unit_test(is_not_misled),
        cmocka_unit_test(prefers_the_helper_of_the_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
