/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* Frame descriptors: every form, source places with inlining, and tables cut or lying. */
#include "unit.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "fail_each.h"
#include "ocaml/frame_table.h"

#define TABLE_AT UINT64_C(0x1000)

struct fixture {
    struct hs_buffer bytes;
    struct hs_image image;
    struct hs_frame_table table;
    struct hs_error err;
};

static void put(struct fixture *f, uint64_t value, size_t n_bytes)
{
    assert_int_equal(hs_buffer_reserve(&f->bytes, n_bytes, &f->err), HS_OK);
    for (size_t i = 0; i < n_bytes; i++)
        hs_buffer_put_u8(&f->bytes, (uint8_t)(value >> (8 * i)));
}

static void align(struct fixture *f, size_t n)
{
    while (f->bytes.n_bytes % n != 0)
        put(f, 0xAA, 1);
}

static void put_text(struct fixture *f, const char *text)
{
    for (size_t i = 0; i <= strlen(text); i++)
        put(f, (uint8_t)text[i], 1);
}

/* Makes the bytes written so far the image, and parses the table at its start. */
static void load(struct fixture *f)
{
    assert_int_equal(hs_image_add(&f->image, TABLE_AT, f->bytes.bytes, f->bytes.n_bytes, &f->err),
                     HS_OK);
    assert_int_equal(hs_frame_table_add(&f->table, &f->image, TABLE_AT, &f->err), HS_OK);
    assert_int_equal(hs_frame_table_seal(&f->table, &f->err), HS_OK);
}

static void fini(struct fixture *f)
{
    hs_buffer_fini(&f->bytes);
    hs_image_fini(&f->image);
    hs_frame_table_fini(&f->table);
}

/* Four forms: plain, link, with debug, allocation point with debug. */
static void put_four(struct fixture *f)
{
    put(f, 4, 8);
    put(f, 0x400010, 8);
    put(f, 32, 2);
    put(f, 2, 2);
    put(f, 8, 2);
    put(f, (3 << 1) | 1, 2);
    align(f, 8);
    put(f, 0x400020, 8);
    put(f, HS_FRAME_LINK, 2);
    put(f, 0, 2);
    align(f, 8);
    put(f, 0x400030, 8);
    put(f, 48 | 1, 2);
    put(f, 1, 2);
    put(f, 16, 2);
    align(f, 4);
    put(f, 0, 4); /* no place */
    align(f, 8);
    put(f, 0x400040, 8);
    put(f, 64 | 3, 2);
    put(f, 0, 2);
    put(f, 3, 1); /* three allocations */
    put(f, 0x020100, 3);
    align(f, 4);
    put(f, 0, 4);
    put(f, 12, 4); /* the second has a place: 12 bytes on, after the third */
    put(f, 0, 4);
    align(f, 4);
}

/* At the current offset: a place record whose name record lies `name_offset` bytes on. */
static void put_place(struct fixture *f, uint32_t name_offset, bool has_next, uint32_t line,
                      uint32_t begin, uint32_t end)
{
    put(f, name_offset | (has_next ? 1 : 0) | (uint64_t)(end & 63) << 26, 4);
    put(f, (uint64_t)line << 12 | begin << 4 | end >> 6, 4);
}

static void reads_every_form(void **state)
{
    struct fixture f = {0};
    put_four(&f);
    size_t place_at = f.bytes.n_bytes;
    put_place(&f, 20, true, 42, 7, 130);
    put_place(&f, 12, false, 77, 1, 2);
    put(&f, 0, 4);
    /* One name record for both: file 14 bytes on, behind the function's name. */
    assert_int_equal(f.bytes.n_bytes - place_at, 20);
    put(&f, 4 + sizeof "M.inner", 4);
    put_text(&f, "M.inner");
    put_text(&f, "dir/m.ml");
    load(&f);
    assert_int_equal(f.table.n_damaged, 0);
    assert_int_equal(f.table.n_entries, 4);

    struct hs_frame_descriptor d;
    uint16_t live;
    const struct hs_frame_entry *e = hs_frame_table_find(&f.table, 0x400010);
    assert_true(hs_frame_descriptor_read(&f.image, e->at, &d));
    assert_int_equal(hs_frame_bytes(&d), 32);
    assert_int_equal(d.n_live, 2);
    assert_true(hs_frame_live(&f.image, &d, 0, &live) && live == 8);
    assert_true(hs_frame_live(&f.image, &d, 1, &live) && live == 7);
    assert_false(hs_frame_live(&f.image, &d, 2, &live));
    struct hs_frame_place place;
    assert_false(hs_frame_first_place(&f.image, HS_PLACES_UP_TO_5_1, &d, &place));

    e = hs_frame_table_find(&f.table, 0x400020);
    assert_true(hs_frame_descriptor_read(&f.image, e->at, &d));
    assert_int_equal(d.frame_size, HS_FRAME_LINK);
    e = hs_frame_table_find(&f.table, 0x400030);
    assert_true(hs_frame_descriptor_read(&f.image, e->at, &d));
    assert_int_equal(hs_frame_bytes(&d), 48);
    assert_false(hs_frame_first_place(&f.image, HS_PLACES_UP_TO_5_1, &d, &place));

    e = hs_frame_table_find(&f.table, 0x400040);
    assert_true(hs_frame_descriptor_read(&f.image, e->at, &d));
    assert_int_equal(hs_frame_bytes(&d), 64);
    assert_int_equal(d.n_debug, 3);
    fini(&f);
}

static void reads_places_with_inlining(void **state)
{
    struct fixture f = {0};
    char text[32];
    put(&f, 1, 8);
    put(&f, 0x400010, 8);
    put(&f, 16 | 1, 2);
    put(&f, 0, 2);
    put(&f, 4, 4); /* the place follows */
    put_place(&f, 16, true, 1048575, 255, 1023);
    put_place(&f, 16, false, 5, 0, 63);
    put(&f, 28, 4); /* inner's file */
    put_text(&f, "A.b");
    put(&f, 12, 4); /* outer's file */
    put_text(&f, "C.d.(e)");
    put_text(&f, "c.ml");
    align(&f, 4);
    put_text(&f, "a.ml");
    align(&f, 8);
    load(&f);
    struct hs_frame_descriptor d;
    struct hs_frame_place place;
    const struct hs_frame_entry *e = hs_frame_table_find(&f.table, 0x400010);
    assert_true(hs_frame_descriptor_read(&f.image, e->at, &d));
    assert_true(hs_frame_first_place(&f.image, HS_PLACES_UP_TO_5_1, &d, &place));
    assert_int_equal(place.line, 1048575);
    assert_int_equal(place.char_begin, 255);
    assert_int_equal(place.char_end, 1023);
    assert_true(place.has_next);
    assert_true(hs_image_string(&f.image, place.function, text, sizeof text));
    assert_string_equal(text, "A.b");
    assert_true(hs_image_string(&f.image, place.file, text, sizeof text));
    assert_string_equal(text, "a.ml");
    assert_true(hs_frame_place_read(&f.image, HS_PLACES_UP_TO_5_1, place.next, &place));
    assert_int_equal(place.line, 5);
    assert_int_equal(place.char_end, 63);
    assert_false(place.has_next);
    assert_true(hs_image_string(&f.image, place.function, text, sizeof text));
    assert_string_equal(text, "C.d.(e)");
    assert_true(hs_image_string(&f.image, place.file, text, sizeof text));
    assert_string_equal(text, "c.ml");
    fini(&f);
}

static uint32_t full_place(uint32_t line, uint32_t begin, uint32_t end)
{
    return line << 19 | 5 << 16 | begin << 10 | end << 3 | 7;
}

/* Since 5.2: fully packed while the numbers are small, else partly in the name record. */
static void reads_places_of_5_2(void **state)
{
    struct fixture f = {0};
    char text[32];
    put(&f, 1, 8);
    put(&f, 0x400010, 8);
    put(&f, 16 | 1, 2);
    put(&f, 0, 2);
    put(&f, 4, 4); /* the place follows */
    put(&f, UINT32_C(63) << 26 | 16 | 1, 4);
    put(&f, full_place(4095, 63, 127), 4);
    put(&f, UINT32_C(5) << 26 | 16 | 2, 4);
    put(&f, UINT32_C(1) << 31 | 524287u << 12 | 9, 4);
    put(&f, 28, 4); /* inner's file */
    put_text(&f, "A.b");
    put(&f, 20, 4); /* outer's file */
    put(&f, 1000, 2);
    put(&f, 65535, 2);
    put(&f, 70000, 4);
    put_text(&f, "C.d.(e)");
    align(&f, 4);
    put_text(&f, "a.ml");
    align(&f, 8);
    load(&f);
    struct hs_frame_descriptor d;
    struct hs_frame_place place;
    const struct hs_frame_entry *e = hs_frame_table_find(&f.table, 0x400010);
    assert_true(hs_frame_descriptor_read(&f.image, e->at, &d));
    assert_true(hs_frame_first_place(&f.image, HS_PLACES_FROM_5_2, &d, &place));
    assert_int_equal(place.line, 4095);
    assert_int_equal(place.char_begin, 63);
    assert_int_equal(place.char_end, 127);
    assert_false(place.is_raise);
    assert_true(hs_image_string(&f.image, place.function, text, sizeof text));
    assert_string_equal(text, "A.b");
    assert_true(place.has_next);
    assert_true(hs_frame_place_read(&f.image, HS_PLACES_FROM_5_2, place.next, &place));
    assert_int_equal(place.line, 524287);
    assert_int_equal(place.char_begin, 1000);
    assert_int_equal(place.char_end, 65535);
    assert_true(place.is_raise);
    assert_false(place.has_next);
    assert_true(hs_image_string(&f.image, place.function, text, sizeof text));
    assert_string_equal(text, "C.d.(e)");
    assert_true(hs_image_string(&f.image, place.file, text, sizeof text));
    assert_string_equal(text, "a.ml");
    fini(&f);
}

/* The record of a partly packed place may be cut by the end of the memory. */
static void refuses_a_cut_place_of_5_2(void **state)
{
    struct fixture f = {0};
    struct hs_frame_place place;
    put(&f, 0, 8);
    put(&f, 8, 4);
    put(&f, UINT32_C(1) << 31, 4);
    put(&f, 0, 4);
    put(&f, 7, 2);
    load(&f);
    assert_false(hs_frame_place_read(&f.image, HS_PLACES_FROM_5_2, TABLE_AT + 8, &place));
    assert_true(hs_frame_place_read(&f.image, HS_PLACES_UP_TO_5_1, TABLE_AT + 8, &place));
    fini(&f);
}

static void counts_tables_that_lie(void **state)
{
    static const uint64_t counts[] = {2, 1000, UINT64_MAX, UINT64_C(1) << 60};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct fixture f = {0};
        put(&f, counts[i], 8);
        put(&f, 0x400010, 8);
        put(&f, 32, 2);
        put(&f, 0, 2);
        put(&f, 0, 4);
        load(&f);
        assert_true(f.table.n_damaged >= 1);
        assert_int_equal(f.table.n_entries, 1);
        assert_non_null(hs_frame_table_find(&f.table, 0x400010));
        fini(&f);
    }
}

/* Every cut and every changed byte: never a crash, never an entry that cannot be read. */
static void survives_any_damage(void **state)
{
    struct fixture whole = {0};
    put_four(&whole);
    for (size_t n = 0; n <= whole.bytes.n_bytes; n++) {
        struct fixture f = {0};
        if (n != 0) {
            assert_int_equal(hs_buffer_reserve(&f.bytes, n, &f.err), HS_OK);
            hs_buffer_put_bytes(&f.bytes, whole.bytes.bytes, n);
            f.bytes.bytes[n - 1] ^= 0xFF;
            load(&f);
        }
        for (size_t i = 0; i < f.table.n_entries; i++) {
            struct hs_frame_descriptor d;
            struct hs_frame_place place;
            assert_true(hs_frame_descriptor_read(&f.image, f.table.entries[i].at, &d));
            (void)hs_frame_first_place(&f.image, HS_PLACES_UP_TO_5_1, &d, &place);
        }
        if (n >= 8 && n < whole.bytes.n_bytes - 12)
            assert_true(f.table.n_damaged != 0 || f.table.n_entries == 4);
        fini(&f);
    }
    fini(&whole);
}

static void tables_outside_the_image_are_damaged(void **state)
{
    struct fixture f = {0};
    assert_int_equal(hs_frame_table_add(&f.table, &f.image, TABLE_AT, &f.err), HS_OK);
    assert_int_equal(hs_frame_table_add(&f.table, &f.image, 3, &f.err), HS_OK);
    assert_int_equal(f.table.n_damaged, 2);
    assert_null(hs_frame_table_find(&f.table, 1)); /* not sealed: empty */
    assert_int_equal(hs_frame_table_seal(&f.table, &f.err), HS_OK);
    assert_null(hs_frame_table_find(&f.table, 1));
    struct hs_frame_descriptor d;
    assert_false(hs_frame_descriptor_read(&f.image, TABLE_AT, &d));
    fini(&f);
    hs_frame_table_fini(NULL);
}

static void finds_among_many_and_keeps_the_first(void **state)
{
    enum { N = 20000 };
    struct fixture f = {0};
    put(&f, N + 1, 8);
    for (uint64_t i = 0; i <= N; i++) {
        put(&f, 0x400000 + 8 * (i % N), 8);
        put(&f, 16, 2);
        put(&f, 0, 2);
        put(&f, 0, 4);
    }
    load(&f);
    assert_int_equal(f.table.n_entries, N + 1);
    for (uint64_t i = 0; i < N; i++) {
        const struct hs_frame_entry *e = hs_frame_table_find(&f.table, 0x400000 + 8 * i);
        assert_non_null(e);
        assert_int_equal(e->at, TABLE_AT + 8 + 16 * i);
        assert_null(hs_frame_table_find(&f.table, 0x400001 + 8 * i));
    }
    fini(&f);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 2) {
        struct fixture f = {0};
        put_four(&f);
        assert_int_equal(hs_image_add(&f.image, TABLE_AT, f.bytes.bytes, f.bytes.n_bytes, &f.err),
                         HS_OK);
        fail_each_begin(&each);
        hs_status status = hs_frame_table_add(&f.table, &f.image, TABLE_AT, &f.err);
        if (status == HS_OK)
            status = hs_frame_table_seal(&f.table, &f.err);
        (void)fail_each_end(&each, status);
        fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_form),
        cmocka_unit_test(reads_places_with_inlining),
        cmocka_unit_test(reads_places_of_5_2),
        cmocka_unit_test(refuses_a_cut_place_of_5_2),
        cmocka_unit_test(counts_tables_that_lie),
        cmocka_unit_test(survives_any_damage),
        cmocka_unit_test(tables_outside_the_image_are_damaged),
        cmocka_unit_test(finds_among_many_and_keeps_the_first),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
