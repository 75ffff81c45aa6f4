/* links: hs_heaps hs_symbols */
#include "unit.h"

#include <unistd.h>

#include "elf_writer.h"
#include "heaps/allocator.h"
#include "shipped_rules.h"
#include "symbols/elf.h"

static struct hs_error err;
static struct elf_writer writer;
static struct hs_object object[2];
static struct hs_objects objects = {.objects = object};
static struct hs_process_copy process = {.objects = &objects};
static char text[512];

static const char *recognise(size_t n_objects)
{
    objects.n = n_objects;
    memset(text, 'x', sizeof text);
    hs_heaps_recognise(&process, shipped_rules(), 0, text, sizeof text);
    return text;
}

static void by_the_name_of_a_file(void **state)
{
    static const char *const names[][2] = {
        {"libtcmalloc_minimal.so.4.5.10", "tcmalloc (libtcmalloc_minimal.so.4.5.10)\n"},
        {"libmimalloc.so.2.0", "mimalloc (libmimalloc.so.2.0)\n"},
        {"ld-musl-x86_64.so.1", "musl (ld-musl-x86_64.so.1)\n"},
        {"libsnmallocshim.so", "snmalloc (libsnmallocshim.so)\n"},
        {"libhoard.so", "hoard (libhoard.so)\n"},
        {"libclang_rt.scudo_standalone-x86_64.so",
         "scudo (libclang_rt.scudo_standalone-x86_64.so)\n"},
        {"libasan.so.8.0.0", "AddressSanitizer (libasan.so.8.0.0)\n"},
        {"libmimalloc\n\x1b.so", "mimalloc (libmimalloc??.so)\n"},
        {"libc.so.6", ""},
        {"libjemalloc.so.2", ""},
        {"my-libtcmalloc.so", ""},
        {"", ""},
    };
    memset(object, 0, sizeof object);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s", names[i][0]);
        object[0].name = name;
        assert_string_equal(recognise(1), names[i][1]);
    }
    assert_string_equal(recognise(0), "");
}

static void by_a_symbol_or_a_section(void **state)
{
    static char name[] = "server";
    static const char *const symbols[][2] = {
        {"tc_malloc", "tcmalloc (server)\n"},
        {"TCMallocInternalMalloc", "tcmalloc (server)\n"},
        {"mi_malloc", "mimalloc (server)\n"},
        {"__libc_malloc_impl", "musl (server)\n"},
        {"sn_rust_alloc", "snmalloc (server)\n"},
        {"runtime.mheap_", "Go's runtime (server)\n"},
        {"__scudo_print_stats", "scudo (server)\n"},
        {".go.buildinfo", "Go's runtime (server)\n"},
        {"malloc", ""},
        {"mi_mallocx", ""},
    };
    memset(object, 0, sizeof object);
    object[0].name = name;
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        const char *symbol = symbols[i][0];
        elf_writer_init(&writer);
        size_t code = elf_writer_section(&writer, symbol[0] == '.' ? symbol : ".text", SHT_PROGBITS,
                                         0x1000, "code", 4);
        elf_writer_segment(&writer, PT_LOAD, PF_R | PF_X, 0x1000, 4, code);
        elf_writer_symbol(&writer, symbol[0] == '.' ? "x" : symbol, STT_FUNC, STB_GLOBAL, 0x1000, 4,
                          (uint16_t)code);
        elf_writer_finish(&writer);
        assert_int_equal(
            hs_elf_open_memory(writer.bytes, writer.n_bytes, "server", &object[0].elf, &err),
            HS_OK);
        assert_string_equal(recognise(1), symbols[i][1]);
        hs_elf_close(object[0].elf);
    }
}

/* Languages' runtimes have a list of their own. */
static void runtimes_apart(void **state)
{
    static char ruby[] = "libruby-3.1.so.3.1", malloc_name[] = "libmimalloc.so.2",
                program[] = "app";
    struct hs_mapping mapping = {.begin = 0x1000, .end = 0x2000};
    static char name[] = "[anon:partition_alloc]";
    struct hs_target target = {
        .mappings = &mapping, .n_mappings = 1, .path_text = name, .path_text_bytes = sizeof name};

    memset(object, 0, sizeof object);
    object[0].name = ruby;
    object[1].name = malloc_name;
    assert_string_equal(recognise(2), "mimalloc (libmimalloc.so.2)\n");
    hs_heaps_recognise_runtimes(&process, shipped_rules(), 0, text, sizeof text);
    assert_string_equal(text, "Ruby (libruby-3.1.so.3.1)\n");
    object[0].name = program;
    hs_heaps_recognise_runtimes(&process, shipped_rules(), 0, text, sizeof text);
    assert_string_equal(text, "");

    const char *runtime = NULL;
    assert_null(hs_heaps_runtime(&process, shipped_rules(), 0, &runtime));
    process.target = &target; /* GHC's reserve of addresses is at this one */
    assert_null(hs_heaps_runtime(&process, shipped_rules(), 0, &runtime));
    mapping = (struct hs_mapping){.begin = UINT64_C(0x4200000000), .end = UINT64_C(0x4200100000)};
    assert_ptr_equal(hs_heaps_runtime(&process, shipped_rules(), 0, &runtime), &object[0]);
    assert_string_equal(runtime, "Haskell's runtime");
    assert_string_equal(recognise(1), "PartitionAlloc (app)\n");
    name[1] = 'b';
    assert_string_equal(recognise(1), "");
    process.target = NULL;
}

static void names_become_a_list(void **state)
{
    char three[32] = "Ruby (a)\nV8 (b)\nmusl (c)\n", none[4] = "", one[] = "V8 (b)\n";
    char full[18] = "Ruby (a)\nV8 (b)\n";

    hs_heaps_join_names(three, sizeof three);
    assert_string_equal(three, "Ruby (a), V8 (b), musl (c)");
    hs_heaps_join_names(none, sizeof none);
    assert_string_equal(none, "");
    hs_heaps_join_names(one, sizeof one);
    assert_string_equal(one, "V8 (b)");
    hs_heaps_join_names(full, sizeof full);
    assert_string_equal(full, "Ruby (a), V8 (b)");
    memcpy(full, "Ruby (a)\nV8 (bc)\n", sizeof full);
    hs_heaps_join_names(full, sizeof full - 1); /* one less than it is long */
    assert_string_equal(full, "Ruby (a)");
}

static void each_once_and_several(void **state)
{
    static char first[] = "libmimalloc.so.2", second[] = "libtcmalloc.so.4";
    memset(object, 0, sizeof object);
    object[0].name = first;
    object[1].name = second;
    assert_string_equal(recognise(2), "tcmalloc (libtcmalloc.so.4)\nmimalloc (libmimalloc.so.2)\n");
    object[1].name = first;
    assert_string_equal(recognise(2), "mimalloc (libmimalloc.so.2)\n");
    for (size_t room = 1; room < 29; room++) { /* what does not fit is left out */
        hs_heaps_recognise(&process, shipped_rules(), 0, text, room);
        assert_string_equal(text, "");
    }
    hs_heaps_recognise(&process, shipped_rules(), 0, text, 29);
    assert_string_equal(text, "mimalloc (libmimalloc.so.2)\n");
    text[0] = 'y';
    hs_heaps_recognise(&process, shipped_rules(), 0, text, 0);
    assert_int_equal(text[0], 'y');
}

/* Of what was read nobody says that it is missing: of that one, and of no other. */
static void not_what_was_read(void **state)
{
    static char first[] = "libmimalloc.so.2", second[] = "libtcmalloc.so.4";
    const uint64_t mimalloc = HS_ALLOCATOR_BIT(mimalloc), tcmalloc = HS_ALLOCATOR_BIT(tcmalloc);
    const struct {
        uint64_t read;
        const char *told;
    } sets[] = {
        {0, "tcmalloc (libtcmalloc.so.4)\nmimalloc (libmimalloc.so.2)\n"},
        {mimalloc, "tcmalloc (libtcmalloc.so.4)\n"},
        {tcmalloc, "mimalloc (libmimalloc.so.2)\n"},
        {~(mimalloc | tcmalloc), "tcmalloc (libtcmalloc.so.4)\nmimalloc (libmimalloc.so.2)\n"},
        {~mimalloc, "mimalloc (libmimalloc.so.2)\n"},
        {~UINT64_C(0), ""},
    };
    memset(object, 0, sizeof object);
    object[0].name = first;
    object[1].name = second;
    objects.n = 2;
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++) {
        hs_heaps_recognise(&process, shipped_rules(), sets[i].read, text, sizeof text);
        assert_string_equal(text, sets[i].told);
    }
    object[1].name = first;
    hs_heaps_recognise(&process, shipped_rules(), mimalloc, text, sizeof text);
    assert_string_equal(text, "");
}

/* By a line of a file alone: a heap that the program knows nothing of. */
static void what_a_file_says(void **state)
{
    (void)state;
    static const char line[] =
        "heapsnap-rules 1\nlibrary \"libhouse*\" \"*arena.so\" heap \"arenas\"\n"
        "library \"libtcmalloc*\" runtime \"arenas\"\n";
    static char first[] = "my-arena.so", second[] = "libtcmalloc.so.4";
    struct hs_rules rules = {0};
    struct hs_rule_source source = {
        .name = "mine", .bytes = line, .n_bytes = sizeof line - 1, .is_enabled = true};

    assert_int_equal(hs_rules_add(&rules, &source, &err), HS_OK);
    memset(object, 0, sizeof object);
    object[0].name = first;
    object[1].name = second;
    objects.n = 2;
    hs_heaps_recognise(&process, &rules, 0, text, sizeof text);
    assert_string_equal(text, "arenas (my-arena.so)\n"); /* and no tcmalloc: no rule says so */
    hs_heaps_recognise(&process, NULL, 0, text, sizeof text);
    assert_string_equal(text, "");
    hs_rules_fini(&rules);
}

/* The bits are those of the allocators that have found something. */
static void those_in_use(void **state)
{
    struct hs_heaps heaps = {0};

    assert_int_equal(hs_heaps_in_use(&heaps), 0);
    heaps.states[HS_OWNER_mimalloc] = &heaps;
    assert_int_equal(hs_heaps_in_use(&heaps), HS_ALLOCATOR_BIT(mimalloc));
    heaps.states[HS_OWNER_glibc] = &heaps;
    assert_int_equal(hs_heaps_in_use(&heaps), HS_ALLOCATOR_BIT(mimalloc) | HS_ALLOCATOR_BIT(glibc));
}

/* The real ones, where they are installed: their symbols alone tell. */
static void real_libraries(void **state)
{
    static char name[] = "renamed";
    static const char *const files[][2] = {
        {"/usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4", "tcmalloc (renamed)\n"},
        {"/usr/lib/x86_64-linux-gnu/libmimalloc.so.2", "mimalloc (renamed)\n"},
        {"/usr/lib/x86_64-linux-gnu/libc.so.6", ""},
        {"/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", ""},
    };
    size_t n = 0;
    memset(object, 0, sizeof object);
    object[0].name = name;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (access(files[i][0], R_OK) != 0)
            continue;
        assert_int_equal(hs_elf_open_path(files[i][0], &object[0].elf, &err), HS_OK);
        assert_string_equal(recognise(1), files[i][1]);
        hs_elf_close(object[0].elf);
        n++;
    }
    assert_true(n > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_the_name_of_a_file), cmocka_unit_test(by_a_symbol_or_a_section),
        cmocka_unit_test(runtimes_apart),        cmocka_unit_test(names_become_a_list),
        cmocka_unit_test(each_once_and_several), cmocka_unit_test(not_what_was_read),
        cmocka_unit_test(those_in_use),          cmocka_unit_test(real_libraries),
        cmocka_unit_test(what_a_file_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
