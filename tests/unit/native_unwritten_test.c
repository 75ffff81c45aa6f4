/* links: hs_native */
/* Tells from where on nobody wrote a block of glibc's since the memory was another's. */
#include "unit.h"

#include "native/unwritten.h"

#define HEAP UINT64_C(0x564911fe0000)
enum { BLOCK_AT = 0x84c0, NEXT_AT = 0x8160, HEAP_BYTES = 1 << 20 };

static struct hs_heap_span span;
static uint8_t bytes[264];
static struct hs_image image;

static int set_up(void **state)
{
    span = (struct hs_heap_span){
        .begin = HEAP, .end = HEAP + HEAP_BYTES, .form = HS_SPAN_HEADERS, .unit_bytes = 16};
    memset(bytes, 0, sizeof bytes);
    return 0;
}

static uint64_t from(void)
{
    const struct hs_heap_block block = {
        .begin = HEAP + BLOCK_AT, .n_bytes = sizeof bytes, .bytes = bytes, .span = &span};
    return hs_unwritten_from(&image, &block);
}

static void put(uint64_t at, uint64_t word)
{
    memcpy(bytes + at, &word, sizeof word);
}

/* The link to `next` (0: the last one) under `n_text` bytes of a text. */
static bool is_unwritten(uint64_t next, const char *text, size_t n_text)
{
    const uint64_t link = (HEAP + BLOCK_AT) >> 12 ^ next;
    put(0, link);
    memcpy(bytes, text, n_text);
    return from() == 0;
}

static void links(void **state)
{
    assert_true(is_unwritten(0, "", 0));
    assert_true(is_unwritten(HEAP + NEXT_AT, "", 0));
    assert_false(is_unwritten(HEAP + NEXT_AT + 8, "", 0)); /* no block begins there */
    assert_false(is_unwritten(HEAP + 2 * HEAP_BYTES, "", 0));
}

static void below_a_text(void **state)
{
    assert_true(is_unwritten(0, "", 1));
    assert_true(is_unwritten(HEAP + NEXT_AT, "%", 2));
    assert_true(is_unwritten(HEAP + NEXT_AT, "ab", 3));
    assert_false(is_unwritten(HEAP + NEXT_AT, "ab", 2)); /* it does not end */
    assert_false(is_unwritten(0, "four", 5));
}

static void what_is_written(void **state)
{
    const uint64_t pointer = HEAP + NEXT_AT;
    assert_false(is_unwritten(0, (const char *)&pointer, sizeof pointer));
    assert_false(is_unwritten(0, "\0\0\0\0\0\0\0", 8));
    bytes[8] = 1; /* a key of the list would be 0 */
    assert_false(is_unwritten(0, "", 0));
}

static void below_a_number(void **state)
{
    const uint32_t zero = 0, seven = 7, large = 1 << 20;
    assert_true(is_unwritten(HEAP + NEXT_AT, (const char *)&seven, 4));
    assert_false(is_unwritten(HEAP + NEXT_AT, (const char *)&large, 4));
    assert_true(is_unwritten(0, (const char *)&zero, 4));
    assert_true(is_unwritten(0, (const char *)&seven, 4));
    assert_false(is_unwritten(0, (const char *)&large, 4));
    put(0, UINT64_C(8) << 32 | 7); /* as none of its addresses is masked */
    assert_int_equal(from(), UINT64_MAX);
    put(8, 1);
    assert_false(is_unwritten(0, (const char *)&seven, 4));
}

/* Texts of 264 bytes less `n_rest`, and behind them addresses. */
static uint64_t behind_text(size_t n_rest, enum hs_span_form form)
{
    span.form = (uint8_t)form;
    for (uint64_t at = 0; at < sizeof bytes; at += 8)
        put(at, HEAP + NEXT_AT);
    memset(bytes, 'x', sizeof bytes - n_rest);
    bytes[20] = 0;
    bytes[sizeof bytes - n_rest - 1] = 0;
    return from();
}

static void texts(void **state)
{
    assert_int_equal(behind_text(18, HS_SPAN_HEADERS), 248);
    assert_int_equal(behind_text(64, HS_SPAN_HEADERS), 200);
    assert_int_equal(behind_text(18, HS_SPAN_UNIFORM), 248);
    assert_int_equal(behind_text(80, HS_SPAN_HEADERS), UINT64_MAX); /* a name in a record */
    assert_int_equal(behind_text(3, HS_SPAN_HEADERS), UINT64_MAX);  /* no word is behind it */
    behind_text(18, HS_SPAN_HEADERS);
    bytes[100] = 0x80;
    assert_int_equal(from(), UINT64_MAX);
}

/* Chunks of 64 bytes, the last of which goes on behind the block; `free`: each has its size behind
 * it, too. */
static void tile(uint64_t at, bool is_free)
{
    for (; at < sizeof bytes; at += 64) {
        put(at, is_free ? 64 : 64 | 1);
        put(at - 8, is_free ? 64 : HEAP + NEXT_AT);
    }
}

static void headers(void **state)
{
    tile(88, false);
    assert_int_equal(from(), UINT64_MAX); /* three lengths beside addresses may be */
    memset(bytes, 0, sizeof bytes);
    tile(24, false);
    assert_int_equal(from(), 16);
    memset(bytes, 0, sizeof bytes);
    tile(152, true);
    assert_int_equal(from(), 144);
    put(216, 72); /* no chunk has this size */
    assert_int_equal(from(), UINT64_MAX);
}

static void headers_of_the_block_itself(void **state)
{
    tile(8, true);
    assert_int_equal(from(), 0);
    memset(bytes, 0, sizeof bytes);
    put(200, 64 | 1); /* it ends where the next block's header is */
    assert_int_equal(from(), UINT64_MAX);
    put(192, 0);
    put(136, 64 | 1);
    put(72, 64 | 1);
    assert_int_equal(from(), 64);
    put(136, 64 | 1 | 4); /* of another arena */
    assert_int_equal(from(), UINT64_MAX);
}

static void tops(void **state)
{
    const uint64_t top = HEAP + HEAP_BYTES;
    put(40, (top - (HEAP + BLOCK_AT + 32)) | 1);
    assert_int_equal(from(), UINT64_MAX); /* one number may be any */
    put(104, (top - (HEAP + BLOCK_AT + 96)) | 1);
    assert_int_equal(from(), 32);
    put(104, (top + 4096 - (HEAP + BLOCK_AT + 96)) | 1);
    assert_int_equal(from(), UINT64_MAX);
}

/* The head of a ring in an arena, whose addresses lie 16 bytes behind where it is led to. */
static void rings(void **state)
{
    enum { HEAD = 0x7f1200003ce0 };
    struct hs_error err;
    uint64_t head[4] = {0, 0, HEAD, HEAD};

    assert_int_equal(hs_image_add(&image, HEAD, head, sizeof head, &err), HS_OK);
    put(8, HEAD);
    assert_int_equal(from(), 0);
    put(0, 3);
    assert_int_equal(from(), 0);
    head[3] = HEAD + 16; /* another list, whose links lead to links */
    assert_int_equal(from(), UINT64_MAX);
    put(8, HEAD + 4096);
    assert_int_equal(from(), UINT64_MAX);
    hs_image_fini(&image);
}

static void other_heaps(void **state)
{
    span.form = HS_SPAN_UNIFORM;
    assert_false(is_unwritten(0, "", 0));
    tile(8, true);
    assert_int_equal(from(), UINT64_MAX);
}

/* The pool for exceptions that libstdc++ sets aside, full of addresses of before. */
static void pool(void **state)
{
    static uint8_t whole[73736];
    struct hs_heap_block block = {
        .begin = HEAP + BLOCK_AT, .n_bytes = sizeof whole, .bytes = whole, .span = &span};
    uint64_t word = HEAP + NEXT_AT;

    for (size_t at = 0; at < sizeof whole; at += 8)
        memcpy(whole + at, &word, 8);
    assert_int_equal(hs_unwritten_from(&image, &block), UINT64_MAX);
    memcpy(whole, &(uint64_t){73728}, 8);
    assert_int_equal(hs_unwritten_from(&image, &block), UINT64_MAX); /* another part follows */
    memcpy(whole + 8, &(uint64_t){0}, 8);
    assert_int_equal(hs_unwritten_from(&image, &block), 16);
    memcpy(whole, &(uint64_t){73712}, 8); /* a part of it is in use */
    assert_int_equal(hs_unwritten_from(&image, &block), UINT64_MAX);
}

/* A table of the dynamic linker's, of entries of 40 bytes, in a block that begins `before` bytes
 * before it: as many entries as it says are in use, the rest is what was there before. */
static void counted(void **state)
{
    enum { ENTRY = 40, ROOM = 66, USED = 11 };
    static uint8_t whole[2808];
    for (unsigned before = 0; before < 128; before += 16) {
        struct hs_heap_block block = {.begin = HEAP + 0x8500 - before,
                                      .n_bytes = sizeof whole - 112 + before,
                                      .bytes = whole,
                                      .span = &span};
        uint64_t header[4] = {0, block.begin, USED, ROOM}, word = HEAP + NEXT_AT;
        for (size_t at = 0; at < sizeof whole; at += 8)
            memcpy(whole + at, &word, 8);
        assert_int_equal(hs_unwritten_from(&image, &block), UINT64_MAX);
        memcpy(whole + before, header, sizeof header);
        assert_int_equal(hs_unwritten_from(&image, &block), before + 32 + USED * ENTRY);
        memcpy(whole + before + 24, &(uint64_t){40}, 8); /* the block has more room */
        assert_int_equal(hs_unwritten_from(&image, &block), UINT64_MAX);
        memcpy(whole + before + 24, &(uint64_t){USED - 1}, 8); /* and less than are in use */
        assert_int_equal(hs_unwritten_from(&image, &block), UINT64_MAX);
        header[1] += 16; /* the address of another block */
        memcpy(whole + before, header, sizeof header);
        assert_int_equal(hs_unwritten_from(&image, &block), UINT64_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(links, set_up),
        cmocka_unit_test_setup(below_a_text, set_up),
        cmocka_unit_test_setup(what_is_written, set_up),
        cmocka_unit_test_setup(below_a_number, set_up),
        cmocka_unit_test_setup(pool, set_up),
        cmocka_unit_test_setup(counted, set_up),
        cmocka_unit_test_setup(texts, set_up),
        cmocka_unit_test_setup(headers, set_up),
        cmocka_unit_test_setup(headers_of_the_block_itself, set_up),
        cmocka_unit_test_setup(tops, set_up),
        cmocka_unit_test_setup(rings, set_up),
        cmocka_unit_test_setup(other_heaps, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
