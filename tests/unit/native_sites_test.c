/* links: hs_native */
/* From return addresses to sites: names, what is the allocator's own, which sites are the same. */
#include "unit.h"

#include "base/alloc.h"
#include "elf_writer.h"
#include "fail_each.h"
#include "native/sites.h"
#include "symbols/elf.h"

#define PROGRAM ((hs_addr)0x555500000000)
#define LIBRARY ((hs_addr)0x7f1000000000)
#define SECOND ((hs_addr)0x7f2000000000) /* the same file once more */
#define HEAP ((hs_addr)0x7f3000000000)
enum { MAX_STACKS = 16, MAX_FRAMES = 6, N_TREE = 3 };
enum { MAIN = 0x1000, WORK = 0x1010, NEW = 0x1020, JE = 0x1030, NAMELESS = 0x1040 };

static struct hs_error err;
static struct elf_writer writer;
static struct hs_object object[3];
static struct hs_dump dump;
static struct hs_native native;
static struct hs_native_samples samples;
static uint8_t heap[4096];
static uint64_t frames[MAX_STACKS][MAX_FRAMES];
static struct hs_sampled blocks[MAX_STACKS];
static size_t n_blocks;

/* The samples of the test instead of a process's: nothing else of heaps/sampled.h is asked. */
hs_status hs_sampled_read(const struct hs_heaps *heaps, const struct hs_process_copy *process,
                          struct hs_sampled_set *ret, struct hs_error *error)
{
    void *memory;

    struct hs_sampled_set set = {.n_samplers = 2, .n_blocks = n_blocks};
    HS_TRY(hs_alloc(2, sizeof *set.samplers, &memory, error));
    set.samplers = memory;
    set.samplers[0] =
        (struct hs_sampled_by){.facts = {.kind = HS_SAMPLER_JEMALLOC}, .own = &object[1]};
    set.samplers[1] =
        (struct hs_sampled_by){.facts = {.kind = HS_SAMPLER_RECORD}, .own = &object[0]};
    hs_status status = hs_alloc(n_blocks, sizeof *blocks, &memory, error);
    if (status != HS_OK) {
        hs_sampled_fini(&set);
        return status;
    }
    set.blocks = memory;
    memcpy(set.blocks, blocks, n_blocks * sizeof *blocks);
    *ret = set;
    return HS_OK;
}

void hs_sampled_fini(struct hs_sampled_set *set)
{
    hs_free(set->samplers);
    hs_free(set->blocks);
}

/* What readers call. There are none here. */
hs_status hs_sampled_add_sampler(struct hs_sampled_set *set, const struct hs_sampled_by *sampler,
                                 struct hs_error *error)
{
    return hs_fail(error, HS_BUG, "a reader of samples was asked");
}
hs_status hs_sampled_add(struct hs_sampled_set *set, const struct hs_sampled *block,
                         struct hs_error *error)
{
    return hs_fail(error, HS_BUG, "a reader of samples was asked");
}

static void add(uint32_t sampler, hs_addr address, const hs_addr *stack, uint32_t n_frames)
{
    for (uint32_t i = 0; i < n_frames; i++)
        frames[n_blocks][i] = stack[i];
    blocks[n_blocks] = (struct hs_sampled){.address = address,
                                           .id = n_blocks + 1,
                                           .n_bytes = 20,
                                           .n_samples = 1,
                                           .frames = (const uint8_t *)frames[n_blocks],
                                           .n_frames = n_frames,
                                           .sampler = sampler};
    n_blocks++;
}
#define ADD(sampler, address, ...)                        \
    add(sampler, address, (const hs_addr[]){__VA_ARGS__}, \
        sizeof((const hs_addr[]){__VA_ARGS__}) / sizeof(hs_addr))

static void open_objects(void)
{
    static const uint8_t code[128];

    elf_writer_init(&writer);
    size_t text = elf_writer_section(&writer, ".text", SHT_PROGBITS, MAIN, code, sizeof code);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_X, MAIN, sizeof code, text);
    elf_writer_symbol(&writer, "main", STT_FUNC, STB_GLOBAL, MAIN, 16, (uint16_t)text);
    elf_writer_symbol(&writer, "_ZN4pool4workEi", STT_FUNC, STB_GLOBAL, WORK, 16, (uint16_t)text);
    elf_writer_symbol(&writer, "_Znwm", STT_FUNC, STB_GLOBAL, NEW, 16, (uint16_t)text);
    elf_writer_symbol(&writer, "je_malloc", STT_FUNC, STB_GLOBAL, JE, 16, (uint16_t)text);
    elf_writer_finish(&writer);
    static char names[3][8] = {"program", "library", "library"};
    const hs_addr begins[] = {PROGRAM, LIBRARY, SECOND};
    for (size_t i = 0; i < 3; i++) {
        object[i] = (struct hs_object){.bias = begins[i],
                                       .begin = begins[i],
                                       .end = begins[i] + 0x2000,
                                       .name = names[i],
                                       .is_executable = i == 0};
        if (hs_elf_open_memory(writer.bytes, writer.n_bytes, names[i], &object[i].elf, &err) !=
            HS_OK)
            fail_msg("%s", err.message);
    }
}

static int set_up(void **state)
{
    struct hs_heap_span span = {.begin = HEAP,
                                .end = HEAP + sizeof heap,
                                .unit_bytes = 32,
                                .form = HS_SPAN_UNIFORM,
                                .owner = HS_OWNER_jemalloc};
    uint64_t n_refused;

    n_blocks = 0;
    open_objects();
    dump = (struct hs_dump){.objects = {.objects = object, .n = 3}, .n_tree = N_TREE};
    native = (struct hs_native){.dump = &dump};
    dump.findings.strings = &dump.strings;
    assert_int_equal(hs_image_add(&dump.image, HEAP, heap, sizeof heap, &err), HS_OK);
    hs_heap_map_init(&dump.heaps.map, &dump.image);
    assert_int_equal(hs_heap_map_add(&dump.heaps.map, &span, &err), HS_OK);
    assert_int_equal(hs_heap_map_seal(&dump.heaps.map, &n_refused, &err), HS_OK);
    for (unsigned i = 0; i < 4; i++)
        assert_true(hs_heap_map_set(&dump.heaps.map, HEAP + 64 * i));
    return hs_heap_map_index(&dump.heaps.map, &err) == HS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    hs_native_samples_fini(&samples);
    hs_heap_map_fini(&dump.heaps.map);
    hs_findings_fini(&dump.findings);
    hs_strtab_fini(&dump.strings);
    hs_image_fini(&dump.image);
    for (size_t i = 0; i < 3; i++)
        hs_elf_close(object[i].elf);
    return 0;
}

static void collect(void)
{
    if (hs_native_collect_samples(&native, &samples, &err) != HS_OK)
        fail_msg("%s", err.message);
}

/* "main+3 library: ..." of a site, for comparison. */
static const char *site_text(uint32_t site)
{
    static char text[512];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < samples.n_frames; i++) {
        const struct hs_site_frame *f = &samples.frames[i];
        if (f->site == site)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s@%s+%llx", n == 0 ? "" : " ",
                                  hs_strtab_get(&dump.strings, f->function),
                                  hs_strtab_get(&dump.strings, f->module),
                                  (unsigned long long)f->offset);
    }
    return text;
}

static void own_frames_are_left_out(void **state)
{
    ADD(0, HEAP, LIBRARY + NAMELESS, LIBRARY + MAIN + 4, PROGRAM + WORK + 5, PROGRAM + MAIN + 3);
    ADD(0, HEAP + 64, LIBRARY + MAIN + 8, PROGRAM + WORK + 5, PROGRAM + MAIN + 3);
    ADD(1, HEAP + 128, PROGRAM + JE + 1, PROGRAM + NEW + 3, PROGRAM + WORK + 5, PROGRAM + MAIN + 3);
    ADD(0, HEAP + 192, LIBRARY + MAIN + 8, PROGRAM + MAIN + 3, LIBRARY + MAIN + 8);
    collect();
    assert_int_equal(samples.n_samples, 4);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(samples.samples[i].site, 0);
    assert_string_equal(site_text(0), "pool::work@program+1014 main@program+1002");
    assert_int_equal(samples.samples[3].site, 1);
    assert_string_equal(site_text(1), "main@program+1002 main@library+1007");
}

static void something_remains_of_every_backtrace(void **state)
{
    ADD(0, HEAP, LIBRARY + MAIN + 4, LIBRARY + NAMELESS + 1);
    ADD(1, HEAP + 64, PROGRAM + NEW + 4);
    add(1, HEAP + 128, NULL, 0);
    ADD(1, HEAP + 192, 0x4242);
    ADD(1, HEAP + 192, PROGRAM); /* the first byte of the file: nothing is before it */
    collect();
    assert_string_equal(site_text(samples.samples[0].site), "@library+1040");
    assert_string_equal(site_text(samples.samples[1].site), "operator new@program+1023");
    assert_int_equal(samples.samples[2].site, HS_NO_SITE);
    assert_string_equal(site_text(samples.samples[3].site), "@+4241");
    assert_string_equal(site_text(samples.samples[4].site), "@+5554ffffffff");
}

/* Sites are told apart by what they say; their numbers follow the samples. */
static void no_two_sites_are_alike(void **state)
{
    ADD(1, HEAP, SECOND + WORK + 5, PROGRAM + MAIN + 3);
    ADD(1, HEAP + 64, PROGRAM + WORK + 5, PROGRAM + MAIN + 3);
    ADD(1, HEAP + 128, LIBRARY + WORK + 5, PROGRAM + MAIN + 3);
    ADD(1, HEAP + 192, PROGRAM + WORK + 6, PROGRAM + MAIN + 3);
    ADD(1, HEAP + 192, PROGRAM + MAIN + 3);
    collect();
    assert_int_equal(samples.samples[0].site, 0);
    assert_int_equal(samples.samples[1].site, 1);
    assert_int_equal(samples.samples[2].site, 0);
    assert_int_equal(samples.samples[3].site, 2);
    assert_int_equal(samples.samples[4].site, 3);
    assert_int_equal(samples.n_frames, 2 + 2 + 2 + 1);
}

static const char *note(void)
{
    return dump.findings.n_notes == 0 ? ""
                                      : hs_strtab_get(&dump.strings, dump.findings.notes[0].text);
}

static void samples_join_with_blocks(void **state)
{
    ADD(0, HEAP + 64, PROGRAM + MAIN + 3);
    ADD(0, HEAP + 65, PROGRAM + MAIN + 3); /* inside of a block */
    ADD(0, HEAP + 32, PROGRAM + MAIN + 3); /* a free one */
    ADD(0, 16, PROGRAM + MAIN + 3);
    collect();
    struct hs_runtime_samples placed;
    assert_int_equal(hs_native_samples_place(&native, &samples, &placed, &err), HS_OK);
    assert_int_equal(placed.n_samples, 4);
    assert_int_equal(placed.samples[0].node, N_TREE + 1);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(placed.samples[i].node, HS_NO_NODE);
    hs_free(placed.samples);
    assert_int_equal(samples.samples[0].words, 3);
    assert_non_null(strstr(note(), "3 samples are of blocks that no allocator"));
    assert_int_equal(samples.n_samplers, 2);
}

static void every_allocation_may_fail(void **state)
{
    ADD(0, HEAP, PROGRAM + WORK + 5, PROGRAM + MAIN + 3);
    ADD(1, HEAP + 64, PROGRAM + MAIN + 3);
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 10, .keeps = true) {
        (void)FAIL_EACH_TRY(each, hs_native_collect_samples(&native, &samples, &err));
    }
    assert_true(samples.n_samples == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(own_frames_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(something_remains_of_every_backtrace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_two_sites_are_alike, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_join_with_blocks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
