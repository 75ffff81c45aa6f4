/* links: hs_native */
/* Whether anybody wrote the first word of a block of glibc's since it was in a list of free ones.
 */
#include "unit.h"

#include "native/unwritten.h"

#define HEAP UINT64_C(0x564911fe0000)
enum { BLOCK_AT = 0x84c0, NEXT_AT = 0x8160, HEAP_BYTES = 1 << 20 };

static struct hs_heap_span span;
static uint8_t bytes[264];

static int set_up(void **state)
{
    span = (struct hs_heap_span){
        .begin = HEAP, .end = HEAP + HEAP_BYTES, .form = HS_SPAN_HEADERS, .unit_bytes = 16};
    memset(bytes, 0, sizeof bytes);
    return 0;
}

/* The link to `next` (0: the last one) under `n_text` bytes of a text. */
static bool is_unwritten(uint64_t next, const char *text, size_t n_text)
{
    const uint64_t link = (HEAP + BLOCK_AT) >> 12 ^ next;
    const struct hs_heap_block block = {
        .begin = HEAP + BLOCK_AT, .n_bytes = sizeof bytes, .bytes = bytes, .span = &span};
    memcpy(bytes, &link, sizeof link);
    memcpy(bytes, text, n_text);
    return hs_unwritten_is(&block);
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

static void other_heaps(void **state)
{
    span.form = HS_SPAN_UNIFORM;
    assert_false(is_unwritten(0, "", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(links, set_up),
        cmocka_unit_test_setup(below_a_text, set_up),
        cmocka_unit_test_setup(what_is_written, set_up),
        cmocka_unit_test_setup(other_heaps, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
