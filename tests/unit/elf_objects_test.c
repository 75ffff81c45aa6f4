/* links: hs_symbols hs_base */
#include "unit.h"

#include <string.h>

#include "arch/followed.h"
#include "elf_writer.h"
#include "fail_each.h"
#include "symbols/elf_objects.h"

enum { TEXT = 0x1000, RODATA = 0x2000, DATA = 0x3000, FRAMES = 0x4000, FRAMES_BYTES = 0x400 };
enum { MOVED = 0x5000 };

/* Functions of 32 bytes each:
 *
 *   1000  lea rdi,[3010]; mov rax,[rdi+0x18]; mov [rdi+0x20],rax; mov rax,[30b8]; ret
 *   1020  mov rax,[3028]; mov rcx,[3040]; lea rsi,["src/dict.c"]; lea rdx,[".cc"]; ret
 *   1040  mov [3040],rax; lea rsi,["dict.h"]; ret   `use_it`
 *   1060  mov rax,[3080]; lea rsi,["other.c"]; ret
 *   1080  mov rax,[3080]; mov rax,[30b8] twice; mov rax,[30c0]; ret
 *   10a0  mov rax,[3088]; lea rsi,["other.c"]; mov rax,[3068] twice (in `table`); ret
 *   10c0  mov rax,[3098] twice; mov rax,[30a8]; lea rsi,["other.c"]; ret
 *   10e0  mov rax,[3098]; lea rsi,["src/dict.c"]; ret
 *   1100  mov rax,[30a8]; ret
 *   1120  lea rsi,["src/dict.c"]; ret
 *
 * A word of data has the address 30c0. */
static const uint8_t text[0x140] = {
    [0x00] = 0x48,
    0x8d,
    0x3d,
    0x09,
    0x20,
    0,
    0,
    0x48,
    0x8b,
    0x47,
    0x18,
    0x48,
    0x89,
    0x47,
    0x20,
    0x48,
    0x8b,
    0x05,
    0xa2,
    0x20,
    0x00,
    0x00,
    0xc3,
    [0x20] = 0x48,
    0x8b,
    0x05,
    0x01,
    0x20,
    0,
    0,
    0x48,
    0x8b,
    0x0d,
    0x12,
    0x20,
    0,
    0,
    0x48,
    0x8d,
    0x35,
    0xcb,
    0x0f,
    0,
    0,
    0x48,
    0x8d,
    0x15,
    0xcf,
    0x0f,
    0,
    0,
    0xc3,
    [0x40] = 0x48,
    0x89,
    0x05,
    0xf9,
    0x1f,
    0,
    0,
    0x48,
    0x8d,
    0x35,
    0xc2,
    0x0f,
    0,
    0,
    0xc3,
    [0x60] = 0x48,
    0x8b,
    0x05,
    0x19,
    0x20,
    0,
    0,
    0x48,
    0x8d,
    0x35,
    0xb2,
    0x0f,
    0,
    0,
    0xc3,
    [0x80] = 0x48,
    0x8b,
    0x05,
    0xf9,
    0x1f,
    0,
    0,
    0x48,
    0x8b,
    0x05,
    0x2a,
    0x20,
    0x00,
    0x00,
    0x48,
    0x8b,
    0x05,
    0x23,
    0x20,
    0x00,
    0x00,
    0x48,
    0x8b,
    0x05,
    0x24,
    0x20,
    0x00,
    0x00,
    0xc3,
    [0xa0] = 0x48,
    0x8b,
    0x05,
    0xe1,
    0x1f,
    0,
    0,
    0x48,
    0x8d,
    0x35,
    0x72,
    0x0f,
    0,
    0,
    0xc3,
    [0xc0] = 0x48,
    0x8b,
    0x05,
    0xd1,
    0x1f,
    0x00,
    0x00,
    0x48,
    0x8b,
    0x05,
    0xca,
    0x1f,
    0x00,
    0x00,
    0x48,
    0x8b,
    0x05,
    0xd3,
    0x1f,
    0x00,
    0x00,
    0x48,
    0x8d,
    0x35,
    0x44,
    0x0f,
    0x00,
    0x00,
    0xc3,
    [0xe0] = 0x48,
    0x8b,
    0x05,
    0xb1,
    0x1f,
    0x00,
    0x00,
    0x48,
    0x8d,
    0x35,
    0x12,
    0x0f,
    0x00,
    0x00,
    0xc3,
    [0x100] = 0x48,
    0x8b,
    0x05,
    0xa1,
    0x1f,
    0x00,
    0x00,
    0xc3,
    [0x120] = 0x48,
    0x8d,
    0x35,
    0xd9,
    0x0e,
    0x00,
    0x00,
    0xc3,
};
/* 2000 "src/dict.c", 200b ".cc", 2010 "dict.h", 2020 "other.c" */
static const char rodata[0x40] = "src/dict.c\0.cc\0\0dict.h\0\0\0\0\0\0\0\0\0\0other.c";

static const uint8_t relocation[sizeof(Elf64_Rela)] = {
    [0] = 0xf0, 0x30, [8] = R_X86_64_RELATIVE, [16] = 0xc0, 0x30};

static size_t put_word(uint8_t *at, size_t n, uint32_t word)
{
    memcpy(at + n, &word, sizeof word);
    return n + sizeof word;
}

/* A common entry and a description of each function, as compilers write them; n_marks letters more
 * in the augmentation, which say that it is a frame of a signal. */
static size_t make_frames(uint8_t frames[FRAMES_BYTES], size_t n_marks)
{
    static const uint8_t begin[] = {1, 'z', 'R'};
    static const uint8_t common[] = {0, 1, 0x78, 16, 1, 0x1b, 0, 0, 0};
    size_t n = put_word(frames, 0, (uint32_t)(4 + sizeof begin + n_marks + sizeof common));

    n = put_word(frames, n, 0);
    memcpy(frames + n, begin, sizeof begin);
    n += sizeof begin;
    memset(frames + n, 'S', n_marks);
    n += n_marks;
    memcpy(frames + n, common, sizeof common);
    n += sizeof common;
    for (uint32_t at = TEXT; at < TEXT + sizeof text; at += 0x20) {
        n = put_word(frames, n, 16);
        uint32_t back = (uint32_t)n;
        n = put_word(frames, n, back);
        n = put_word(frames, n, at - (FRAMES + (uint32_t)n));
        n = put_word(frames, n, 0x20);
        n = put_word(frames, n, 0);
    }
    return put_word(frames, n, 0);
}

static void make(struct elf_writer *w, uint8_t frames[FRAMES_BYTES], size_t n_marks)
{
    elf_writer_init(w);
    w->as_dynsym = true;
    size_t code = elf_writer_section(w, ".text", SHT_PROGBITS, TEXT, text, sizeof text);
    size_t texts = elf_writer_section(w, ".rodata", SHT_PROGBITS, RODATA, rodata, sizeof rodata);
    size_t data = elf_writer_section(w, ".bss", SHT_NOBITS, DATA, NULL, 0x100);
    size_t eh = elf_writer_section(w, ".eh_frame", SHT_PROGBITS, FRAMES, frames,
                                   make_frames(frames, n_marks));
    size_t moved =
        elf_writer_section(w, ".rela.dyn", SHT_RELA, MOVED, relocation, sizeof relocation);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_X, TEXT, sizeof text, code);
    elf_writer_segment(w, PT_LOAD, PF_R, RODATA, sizeof rodata, texts);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, DATA, 0x100, 0);
    elf_writer_segment(w, PT_LOAD, PF_R, FRAMES, FRAMES_BYTES, eh);
    elf_writer_segment(w, PT_LOAD, PF_R, MOVED, sizeof relocation, moved);
    elf_writer_symbol(w, "use_it", STT_FUNC, STB_GLOBAL, TEXT + 0x40, 0x20, (uint16_t)code);
    elf_writer_symbol(w, "table", STT_OBJECT, STB_GLOBAL, DATA + 0x60, 0x10, (uint16_t)data);
    elf_writer_finish(w);
    elf_writer_section_header(w, data)->sh_flags |= SHF_WRITE;
}

static const hs_addr places[] = {0x3010, 0x3028, 0x3030, 0x3040, 0x3050, 0x3070,
                                 0x3080, 0x3088, 0x3098, 0x30a8, 0x30b8, 0x30c0};
enum { PLACES = sizeof places / sizeof *places };

static hs_status find(struct elf_writer *w, struct hs_elf_objects *ret, struct hs_error *err)
{
    hs_auto(hs_elf) *elf = NULL;
    static struct hs_elf *kept; /* results borrow names of functions */

    hs_elf_close(kept);
    kept = NULL;
    HS_TRY(hs_elf_open_memory(w->bytes, w->n_bytes, "made", &elf, err));
    HS_TRY(hs_elf_objects_find(elf, elf, places, PLACES, ret, err));
    kept = elf;
    elf = NULL;
    return HS_OK;
}

static void tells_objects_and_their_users(void **state)
{
    static const hs_addr begins[PLACES] = {0x3010, 0x3010, 0x3010, 0x3040, 0x3040, 0x3070,
                                           0x3080, 0x3088, 0x3098, 0x30a8, 0x30b8, 0x30c0};
    static const char *const files[PLACES] = {"src/dict.c", "src/dict.c", "src/dict.c",
                                              "src/dict.c", "src/dict.c", NULL, "other.c",
                                              "other.c",
                                              /* used from both files, so of neither */
                                              NULL, NULL,
                                              /* by code before that of all files, as main's is; and
                                               * a table of any file has it */
                                              NULL, NULL};
    static struct elf_writer w;
    struct hs_elf_objects objects;
    struct hs_error err = HS_ERROR_INIT;
    uint8_t frames[FRAMES_BYTES] = {0};

    if (!hs_code_is_followed())
        return;
    make(&w, frames, 0);
    assert_int_equal(find(&w, &objects, &err), HS_OK);
    assert_non_null(objects.of);
    for (size_t i = 0; i < PLACES; i++) {
        const struct hs_elf_object *of = &objects.of[i];
        if (of->begin != begins[i] || (of->file == NULL) != (files[i] == NULL))
            print_error("%zu: %lx %s\n", i, (unsigned long)of->begin, of->file);
        assert_int_equal(of->begin, begins[i]);
        assert_int_equal(of->file == NULL, files[i] == NULL);
        if (of->file != NULL)
            assert_string_equal(of->file, files[i]);
        bool is_used = places[i] == 0x3040 || places[i] == 0x3050;
        assert_int_equal(of->function != NULL, is_used);
        if (is_used)
            assert_string_equal(of->function->name, "use_it");
    }
    hs_elf_objects_fini(&objects);
}

/* Between places that stand far apart nobody looks for borders: no object reaches across, and what
 * stands together behind is one. */
static void does_not_reach_where_nothing_is_known(void **state)
{
    static const hs_addr apart[] = {0x3080, 0x43000, 0x43010};
    static const hs_addr begins[] = {0x3080, 0x43000, 0x43000};
    static struct elf_writer w;
    hs_auto(hs_elf) *elf = NULL;
    struct hs_elf_objects objects;
    struct hs_error err = HS_ERROR_INIT;
    uint8_t frames[FRAMES_BYTES] = {0};

    if (!hs_code_is_followed())
        return;
    make(&w, frames, 0);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "made", &elf, &err), HS_OK);
    assert_int_equal(hs_elf_objects_find(elf, elf, apart, 3, &objects, &err), HS_OK);
    assert_non_null(objects.of);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(objects.of[i].begin, begins[i]);
    assert_null(objects.of[1].file);
    hs_elf_objects_fini(&objects);
}

/* Each description may lead to another common entry, of which so only a bounded part is read. */
static void reads_a_part_of_a_common_entry(void **state)
{
    static const struct {
        size_t n_marks;
        hs_addr begin; /* of the first place: its function is known, or the section alone */
    } cases[] = {{8, 0x3010}, {500, DATA}};
    static struct elf_writer w;
    struct hs_elf_objects objects;
    struct hs_error err = HS_ERROR_INIT;

    for (size_t i = 0; hs_code_is_followed() && i < sizeof cases / sizeof *cases; i++) {
        uint8_t frames[FRAMES_BYTES] = {0};
        make(&w, frames, cases[i].n_marks);
        assert_int_equal(find(&w, &objects, &err), HS_OK);
        assert_non_null(objects.of);
        assert_int_equal(objects.of[0].begin, cases[i].begin);
        hs_elf_objects_fini(&objects);
    }
}

/* Whatever is damaged, an answer stays in bounds: an object begins at its place or before. */
static void damaged(void **state)
{
    static struct elf_writer w;
    struct hs_error err = HS_ERROR_INIT;
    uint8_t frames[FRAMES_BYTES] = {0};
    uint64_t random = 815;

    make(&w, frames, 0);
    for (unsigned i = 0; i < 3000; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        size_t at = (size_t)(random >> 33) % w.n_bytes;
        uint8_t before = w.bytes[at];
        struct hs_elf_objects objects = {0};
        w.bytes[at] = (uint8_t)(random >> 25);
        if (find(&w, &objects, &err) == HS_OK && objects.of != NULL)
            for (size_t k = 0; k < PLACES; k++)
                assert_true(objects.of[k].begin <= places[k]);
        hs_elf_objects_fini(&objects);
        w.bytes[at] = before;
        err = (struct hs_error)HS_ERROR_INIT;
    }
}

static void without_memory(void **state)
{
    static struct elf_writer w;
    struct hs_error error = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    uint8_t frames[FRAMES_BYTES] = {0};

    if (!hs_code_is_followed())
        return;
    make(&w, frames, 0);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "made", &elf, &error), HS_OK);
    FAIL_EACH (f, .at_least = 5, .keeps = true) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_elf_objects objects = {0};
        (void)FAIL_EACH_TRY(f, hs_elf_objects_find(elf, elf, places, PLACES, &objects, &err));
        hs_elf_objects_fini(&objects);
    }
    hs_elf_close(elf);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_objects_and_their_users),
        cmocka_unit_test(does_not_reach_where_nothing_is_known),
        cmocka_unit_test(reads_a_part_of_a_common_entry), cmocka_unit_test(damaged),
        cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
