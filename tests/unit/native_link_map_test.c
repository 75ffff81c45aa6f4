/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "fake_native.h"
#include "native/link_map.h"

/* Where the test keeps the linker's structures: in the program's data. */
enum { DYNAMIC = 0, DEBUG = 64, MAP = 128, SECOND = 256, TLS_AT = 24 };

static hs_addr at(size_t word)
{
    return FAKE_N_DATA_AT + word * HS_WORD_BYTES;
}

/* A list of one entry, of the program, with its TLS as glibc keeps it. */
static struct fake_native *linked(void)
{
    struct fake_native *f = fake_native_new();
    f->has_tls = true;
    elf_writer_section(&f->writer, ".dynamic", SHT_DYNAMIC, 0x3000, f->data, 256);
    fake_native_seal(f);
    f->data[DYNAMIC] = DT_NEEDED;
    f->data[DYNAMIC + 2] = DT_DEBUG;
    f->data[DYNAMIC + 3] = at(DEBUG);
    f->data[DEBUG] = 1;
    f->data[DEBUG + 1] = at(MAP);
    f->data[MAP] = FAKE_N_BIAS;
    const uint64_t tls[] = {FAKE_N_BIAS + 0x3000, 0, 0x40, 16, 0, 0x80, 3};
    memcpy(&f->data[MAP + TLS_AT], tls, sizeof tls);
    return f;
}

static void reads_number_and_place_from_the_list(void **state)
{
    struct fake_native *f = linked();
    hs_native_read_link_map(&f->native);
    assert_int_equal(f->of_object.tls_module, 3);
    assert_int_equal(f->of_object.tls_offset, 0x80);
    f->data[MAP + TLS_AT + 5] = UINT64_MAX; /* dynamic only */
    hs_native_read_link_map(&f->native);
    assert_int_equal(f->of_object.tls_module, 3);
    assert_int_equal(f->of_object.tls_offset, 0);
    fake_native_free(f);
}

static void takes_the_abi_without_a_list(void **state)
{
    struct fake_native *f = linked();
    f->data[DYNAMIC + 3] = 0;
    hs_native_read_link_map(&f->native);
    assert_int_equal(f->of_object.tls_module, 1);
    assert_int_equal(f->of_object.tls_offset, 0x40); /* 0x40 bytes, aligned to 16 */
    /* An entry that contradicts the file proves nothing. */
    f->data[DYNAMIC + 3] = at(DEBUG);
    f->data[MAP + TLS_AT + 2] = 0x41;
    hs_native_read_link_map(&f->native);
    assert_int_equal(f->of_object.tls_module, 1);
    fake_native_free(f);
}

static void a_program_without_tls_has_no_number(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_seal(f);
    hs_native_read_link_map(&f->native);
    assert_int_equal(f->of_object.tls_module, 0);
    assert_int_equal(f->of_object.tls_offset, 0);
    fake_native_free(f);
}

static void count(void *context, hs_addr entry)
{
    ++*(unsigned *)context;
}

static void follows_namespaces_and_survives_circles(void **state)
{
    struct fake_native *f = linked();
    unsigned n = 0;
    hs_native_each_link_map(&f->native, count, &n);
    assert_int_equal(n, 1);
    f->data[DEBUG] = 2; /* version 2: another namespace may follow */
    f->data[DEBUG + 5] = at(SECOND);
    f->data[SECOND] = 1;
    f->data[SECOND + 1] = at(MAP);
    n = 0;
    hs_native_each_link_map(&f->native, count, &n);
    assert_int_equal(n, 2);
    f->data[MAP + 3] = at(MAP); /* its own successor */
    n = 0;
    hs_native_each_link_map(&f->native, count, &n);
    assert_true(n > 1000 && n <= 1 << 16);
    f->data[MAP + 3] = 0;
    f->data[DEBUG + 5] = at(DEBUG); /* a namespace that follows itself */
    n = 0;
    hs_native_each_link_map(&f->native, count, &n);
    assert_true(n > 1 && n < 100);
    f->data[DEBUG + 1] = 3; /* leads nowhere */
    f->data[DEBUG + 5] = 5;
    n = 0;
    hs_native_each_link_map(&f->native, count, &n);
    assert_int_equal(n, 0);
    fake_native_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_number_and_place_from_the_list),
        cmocka_unit_test(takes_the_abi_without_a_list),
        cmocka_unit_test(a_program_without_tls_has_no_number),
        cmocka_unit_test(follows_namespaces_and_survives_circles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
