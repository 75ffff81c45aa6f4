/* links: hs_process hs_symbols hs_base */
#include "unit.h"

#include "elf_writer.h"
#include "process/constants.h"
#include "symbols/elf.h"

#define COPY UINT64_C(0x10000)
#define FILE_AT UINT64_C(0x400000)

/* A binary whose constants are a word, a text that ends and one that does not; and a copy that has
 * a text of its own. */
struct world {
    struct elf_writer writer;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    uint8_t copied[16];
    uint8_t constants[24];
};
static struct world world;

static void open_world(uint16_t type)
{
    struct hs_error err = HS_ERROR_INIT;
    struct world *w = &world;

    *w = (struct world){.copied = "copied", .constants = {1, 2, 3, 4, 5, 6, 7, 8}};
    memcpy(w->constants + 8, "name\0endless texts", 16);
    elf_writer_init(&w->writer);
    w->writer.type = type;
    size_t section = elf_writer_section(&w->writer, ".rodata", SHT_PROGBITS, FILE_AT, w->constants,
                                        sizeof w->constants);
    elf_writer_segment(&w->writer, PT_LOAD, PF_R, FILE_AT, sizeof w->constants, section);
    elf_writer_finish(&w->writer);
    assert_int_equal(
        hs_elf_open_memory(w->writer.bytes, w->writer.n_bytes, "made", &w->object.elf, &err),
        HS_OK);
    w->object.begin = FILE_AT;
    w->object.end = FILE_AT + 0x1000;
    w->objects = (struct hs_objects){.objects = &w->object, .n = 1};
    assert_int_equal(hs_image_add(&w->image, COPY, w->copied, sizeof w->copied, &err), HS_OK);
}

static void close_world(void)
{
    hs_elf_close(world.object.elf);
    hs_image_fini(&world.image);
}

static bool has_text(hs_addr at, size_t n, const char *wanted)
{
    char text[16] = "";
    bool is_there = hs_constant_string(&world.image, &world.objects, at, text, n);

    assert_false(is_there && wanted == NULL);
    return is_there && strcmp(text, wanted) == 0;
}

static void reads_texts_of_the_copy_and_the_file(void **state)
{
    open_world(ET_DYN);
    assert_true(has_text(COPY, 16, "copied"));
    assert_true(has_text(COPY + 3, 16, "ied"));
    assert_true(has_text(FILE_AT + 8, 16, "name"));
    assert_true(has_text(FILE_AT + 12, 16, ""));
    assert_true(has_text(FILE_AT + 8, 5, "name"));
    assert_false(has_text(FILE_AT + 8, 4, NULL));   /* no room for its end */
    assert_false(has_text(FILE_AT + 13, 16, NULL)); /* the file ends first */
    assert_false(has_text(FILE_AT + 24, 16, NULL)); /* behind it */
    assert_false(has_text(FILE_AT - 8, 16, NULL));
    assert_false(has_text(0, 16, NULL));
    assert_false(has_text(UINT64_MAX - 3, 16, NULL));
    char text[8];
    assert_false(hs_constant_string(&world.image, NULL, FILE_AT + 8, text, sizeof text));
    close_world();
}

static void reads_bytes_in_one_piece(void **state)
{
    const struct hs_image *image = &world.image;
    const struct hs_objects *objects = &world.objects;

    open_world(ET_DYN);
    assert_memory_equal(hs_constant_bytes(image, objects, FILE_AT, 24), world.constants, 24);
    assert_null(hs_constant_bytes(image, objects, FILE_AT, 25));
    assert_null(hs_constant_bytes(image, objects, FILE_AT, SIZE_MAX));
    assert_memory_equal(hs_constant_bytes(image, objects, COPY + 8, 8), world.copied + 8, 8);
    assert_null(hs_constant_bytes(image, objects, COPY + 8, 9));
    assert_null(hs_constant_bytes(image, NULL, FILE_AT, 8));
    close_world();
}

/* What a loader moves is not what stands in the file. */
static void reads_words_of_files_that_are_not_moved(void **state)
{
    uint64_t word = 0;

    open_world(ET_EXEC);
    assert_true(hs_constant_u64(&world.image, &world.objects, FILE_AT, &word));
    assert_int_equal(word, UINT64_C(0x0807060504030201));
    assert_false(hs_constant_u64(&world.image, &world.objects, FILE_AT + 17, &word));
    assert_true(hs_constant_u64(&world.image, &world.objects, COPY, &word));
    close_world();
    open_world(ET_DYN);
    assert_false(hs_constant_u64(&world.image, &world.objects, FILE_AT, &word));
    assert_true(hs_constant_u64(&world.image, &world.objects, COPY, &word));
    close_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_texts_of_the_copy_and_the_file),
        cmocka_unit_test(reads_bytes_in_one_piece),
        cmocka_unit_test(reads_words_of_files_that_are_not_moved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
