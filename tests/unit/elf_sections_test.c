/* links: hs_symbols hs_base */
#include "unit.h"

#include "elf_writer.h"
#include "symbols/elf.h"

static struct elf_writer w;

static struct hs_elf *open_sample(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    if (hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err) != HS_OK)
        fail_msg("%s", err.message);
    return elf;
}

static void gives_sections(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    hs_auto(hs_elf) *elf = open_sample();
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf_section s;
    const uint8_t *bytes = NULL;
    size_t n = 0;
    assert_int_equal(hs_elf_n_sections(elf), w.n_sections + 1);
    assert_true(hs_elf_section_named(elf, ".data", &s));
    assert_true(s.vaddr == 0x3000 && s.n_bytes == 32 && s.is_in_file && !s.is_compressed);
    assert_int_equal(hs_elf_section_bytes_named(elf, ".data", &bytes, &n, &err), HS_OK);
    assert_int_equal(n, 32);
    assert_memory_equal(bytes, "sixteen bytes on", 16);
    assert_true(hs_elf_section_named(elf, ".bss", &s));
    assert_false(s.is_in_file);
    assert_int_equal(hs_elf_section_bytes_named(elf, ".bss", &bytes, &n, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "'.bss'"));
    assert_false(hs_elf_section_named(elf, ".none", &s));
    assert_int_equal(hs_elf_section_bytes_named(elf, ".none", &bytes, &n, &err), HS_FORMAT);
    assert_false(hs_elf_section(elf, w.n_sections + 1, &s));
    assert_int_equal(hs_elf_section_bytes(elf, SIZE_MAX, &bytes, &n, &err), HS_FORMAT);
    assert_int_equal(n, 32); /* untouched by failures */
}

static void leaves_out_sections_beyond_the_end(void **state)
{
    static const struct {
        uint64_t offset, size;
    } lies[] = {{0, UINT64_MAX}, {UINT64_MAX, 2}, {1 << 20, 16}, {64, 1 << 20}};
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        elf_writer_sample(&w);
        elf_writer_finish(&w);
        elf_writer_section_header(&w, 3)->sh_offset = lies[i].offset;
        elf_writer_section_header(&w, 3)->sh_size = lies[i].size;
        hs_auto(hs_elf) *elf = open_sample();
        struct hs_error err = HS_ERROR_INIT;
        struct hs_elf_section s;
        const uint8_t *bytes;
        size_t n;
        assert_true(hs_elf_section_named(elf, ".data", &s));
        assert_false(s.is_in_file);
        assert_int_equal(hs_elf_section_bytes_named(elf, ".data", &bytes, &n, &err), HS_FORMAT);
    }
}

static void survives_bad_section_names(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    elf_writer_section_header(&w, 2)->sh_name = UINT32_MAX;
    {
        hs_auto(hs_elf) *elf = open_sample();
        struct hs_elf_section s;
        assert_true(hs_elf_section(elf, 2, &s));
        assert_string_equal(s.name, "");
        assert_true(hs_elf_section_named(elf, ".data", &s));
    }
    elf_writer_header(&w)->e_shstrndx = 2000;
    hs_auto(hs_elf) *elf = open_sample();
    struct hs_elf_section s;
    assert_false(hs_elf_section_named(elf, ".data", &s));
    size_t n;
    assert_int_equal(hs_elf_symbols(elf, &n)[0].vaddr, 0x1000);
}

static void gives_bytes_by_address(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    hs_auto(hs_elf) *elf = open_sample();
    size_t n = 99;
    assert_memory_equal(hs_elf_bytes_at(elf, 0x3010, 4), ", da", 4);
    assert_int_equal(hs_elf_data_bytes(elf), 32);
    assert_non_null(hs_elf_bytes_at(elf, 0x3000, 32));
    assert_null(hs_elf_bytes_at(elf, 0x3000, 33)); /* runs into .bss */
    assert_null(hs_elf_bytes_at(elf, 0x3020, 1));
    assert_null(hs_elf_bytes_at(elf, 0x2fff, 2));
    assert_null(hs_elf_bytes_at(elf, 0x3000, SIZE_MAX));
    assert_null(hs_elf_bytes_at(elf, UINT64_MAX, 1));
    assert_non_null(hs_elf_bytes_from(elf, 0x301f, SIZE_MAX, &n));
    assert_int_equal(n, 1);
    assert_null(hs_elf_bytes_from(elf, 0x3020, SIZE_MAX, &n));
    assert_int_equal(n, 0);
}

static void clips_segments_to_the_file(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    uint64_t offset = elf_writer_program_header(&w, 1)->p_offset;
    elf_writer_program_header(&w, 1)->p_filesz = 1 << 20;
    elf_writer_program_header(&w, 1)->p_memsz = 1 << 20;
    elf_writer_program_header(&w, 0)->p_offset = UINT64_MAX / 4;
    hs_auto(hs_elf) *elf = open_sample();
    size_t n = 0;
    assert_non_null(hs_elf_bytes_from(elf, 0x3000, SIZE_MAX, &n));
    assert_int_equal(n, w.n_bytes - offset);
    assert_null(hs_elf_bytes_at(elf, 0x1000, 1));
}

/* A zlib stream of one stored block: header, block, Adler-32. */
static const uint8_t compressed[] = {
    1,    0,    0,    0, 0, 0,    0,    0,   5,   0,   0,   0,   0,    0,    0,    0,
    1,    0,    0,    0, 0, 0,    0,    0, /* Elf64_Chdr */
    0x78, 0x01, 0x01, 5, 0, 0xfa, 0xff, 'h', 'e', 'l', 'l', 'o', 0x06, 0x2c, 0x02, 0x15,
};

/* The same of zstd: a frame of one raw block. */
static const uint8_t by_zstd[] = {
    2,    0,    0,    0,    0,    0, 0,    0, 5, 0,   0,   0,   0,   0,
    0,    0,    1,    0,    0,    0, 0,    0, 0, 0, /* Elf64_Chdr */
    0x28, 0xb5, 0x2f, 0xfd, 0x20, 5, 0x29, 0, 0, 'h', 'e', 'l', 'l', 'o',
};

static void write_compressed(uint64_t claimed, bool is_zstd)
{
    elf_writer_init(&w);
    size_t number =
        elf_writer_section(&w, ".debug_x", SHT_PROGBITS, 0, is_zstd ? by_zstd : compressed,
                           is_zstd ? sizeof(by_zstd) : sizeof(compressed));
    w.sections[number].sh_flags = SHF_COMPRESSED;
    w.sections[number].sh_addralign = 8;
    elf_writer_finish(&w);
    memcpy(w.bytes + elf_writer_section_header(&w, number)->sh_offset + 8, &claimed, 8);
}

static void decompresses(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    const uint8_t *bytes;
    size_t n;
    for (int i = 0; i < 4; i++) {
        write_compressed(5, i % 2 != 0);
        hs_auto(hs_elf) *elf = open_sample();
        assert_int_equal(hs_elf_section_bytes_named(elf, ".debug_x", &bytes, &n, &err), HS_OK);
        assert_int_equal(hs_elf_section_bytes_named(elf, ".debug_x", &bytes, &n, &err), HS_OK);
        assert_int_equal(n, 5);
        assert_memory_equal(bytes, "hello", 5);
    }
}

static void refuses_false_compression(void **state)
{
    static const uint64_t claims[] = {6, UINT64_C(1) << 20, UINT64_C(1) << 40, UINT64_MAX};
    for (size_t i = 0; i < 2 * sizeof(claims) / sizeof(claims[0]); i++) {
        write_compressed(claims[i / 2], i % 2 != 0);
        hs_auto(hs_elf) *elf = open_sample();
        struct hs_error err = HS_ERROR_INIT;
        const uint8_t *bytes;
        size_t n;
        assert_int_equal(hs_elf_section_bytes_named(elf, ".debug_x", &bytes, &n, &err), HS_FORMAT);
        assert_non_null(strstr(err.message, "decompressed"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_sections),
        cmocka_unit_test(leaves_out_sections_beyond_the_end),
        cmocka_unit_test(survives_bad_section_names),
        cmocka_unit_test(gives_bytes_by_address),
        cmocka_unit_test(clips_segments_to_the_file),
        cmocka_unit_test(decompresses),
        cmocka_unit_test(refuses_false_compression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
