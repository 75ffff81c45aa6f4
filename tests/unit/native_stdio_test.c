/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "fake_native.h"

static struct hs_error err;

enum { LIST = 2, FIRST = 16, SECOND = 64, FLAGS = 0, BUFFER = 7, END = 8, NEXT = 13 };

static struct fake_native *with_files(void)
{
    struct fake_native *f = fake_native_new();
    fake_native_symbol(f, "_IO_list_all", LIST, 1, STB_GLOBAL);
    fake_native_seal(f);
    f->data[LIST] = FAKE_N_DATA_AT + FIRST * HS_WORD_BYTES;
    f->data[FIRST + FLAGS] = f->data[SECOND + FLAGS] = 0xfbad2084;
    f->data[FIRST + BUFFER] = fake_native_block(3);
    f->data[FIRST + END] = fake_native_block(3) + 64;
    f->data[FIRST + NEXT] = FAKE_N_DATA_AT + SECOND * HS_WORD_BYTES;
    f->data[SECOND + BUFFER] = fake_native_block(5);
    f->data[SECOND + END] = fake_native_block(5) + 32;
    return f;
}

static const char *type_of(struct fake_native *f, const struct hs_flow *flow, size_t block)
{
    hs_ntype type = hs_flow_type(flow, block);
    return type == 0 ? "" : fake_native_text(f, hs_native_type_of(&flow->types, type)->type.name);
}

static uint64_t run(struct fake_native *f, struct hs_flow *flow)
{
    assert_int_equal(hs_native_flow(&f->native, flow, &err), HS_OK);
    return flow->n_typed;
}

static void buffers_of_all_files(void **state)
{
    struct fake_native *f = with_files();
    struct hs_flow flow;
    assert_int_equal(run(f, &flow), 2);
    assert_string_equal(type_of(f, &flow, 3), "buffer of a FILE");
    assert_string_equal(type_of(f, &flow, 5), "buffer of a FILE");
    assert_true(hs_native_type_of(&flow.types, hs_flow_type(&flow, 3))->is_plain);
    hs_flow_fini(&flow);
    fake_native_free(f);
}

static void what_is_no_file_ends_the_list(void **state)
{
    struct fake_native *f = with_files();
    struct hs_flow flow;
    f->data[SECOND + NEXT] = FAKE_N_DATA_AT + FIRST * HS_WORD_BYTES; /* a circle */
    f->data[FIRST + END] = fake_native_block(3) + 65;                /* too long for its block */
    assert_int_equal(run(f, &flow), 1);
    hs_flow_fini(&flow);
    f->data[SECOND + NEXT] = 0;
    f->data[SECOND + FLAGS] = 0x1234;
    assert_int_equal(run(f, &flow), 0);
    hs_flow_fini(&flow);
    f->data[LIST] = 0x1000; /* nowhere */
    assert_int_equal(run(f, &flow), 0);
    hs_flow_fini(&flow);
    fake_native_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_of_all_files),
        cmocka_unit_test(what_is_no_file_ends_the_list),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
