/* links: hs_heaps hs_runtimes hs_process hs_symbols */
/* The recorder's table as a reader meets it: sound, half written, damaged, another's. */
#include "unit.h"

#include "base/alloc.h"
#include "elf_writer.h"
#include "fail_each.h"
#include "heaps/sampled.h"
#include "symbols/elf.h"
#include <heapsnap/recorded.h>

#define BIAS ((hs_addr)0x555500000000)
#define DATA (BIAS + 0x3000)
#define ANCHOR DATA
#define SLOTS (DATA + 0x1000)
#define STACKS (DATA + 0x9000)
#define BLOCK ((hs_addr)0x7f0000001000)
enum { DATA_BYTES = 0x10000, N_SLOTS = 1024, STACKS_BYTES = 4096, PID = 4242 };

static struct hs_error err;
static struct elf_writer writer;
static _Alignas(8) uint8_t data[DATA_BYTES];
static struct hs_record_anchor anchor;
static char object_name[] = "made-up";
static struct hs_object object;
static struct hs_objects objects;
static struct hs_image image;
static struct hs_strtab strings;
static struct hs_findings findings;
static struct hs_target target;
static struct hs_process_copy process;
static struct hs_heap_map map;
static struct hs_ledger ledger;
static struct hs_sampled_set set;
static void *allocator;

static void put(hs_addr at, const void *bytes, size_t n)
{
    memcpy(data + (at - DATA), bytes, n);
}

static void put_slot(unsigned at, struct hs_record_slot slot)
{
    put(SLOTS + at * sizeof slot, &slot, sizeof slot);
}

static void put_stack(uint32_t at, uint32_t n_frames, uint64_t first)
{
    const struct hs_record_stack head = {.n_frames = n_frames};

    put(STACKS + 8 * (hs_addr)at, &head, sizeof head);
    for (uint32_t i = 0; i < n_frames && i < 8; i++, first++)
        put(STACKS + 8 * (hs_addr)at + sizeof head + 8 * (hs_addr)i, &first, 8);
}

/* A program with the anchor's symbol, of those that have no symbol table but the dynamic one. */
static void open_object(void)
{
    static const uint8_t file_data[512];

    elf_writer_init(&writer);
    writer.as_dynsym = true;
    size_t text = elf_writer_section(&writer, ".text", SHT_PROGBITS, 0x1000, "code", 4);
    size_t section =
        elf_writer_section(&writer, ".data", SHT_PROGBITS, 0x3000, file_data, sizeof file_data);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_X, 0x1000, 4, text);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_W, 0x3000, sizeof file_data, section);
    elf_writer_symbol(&writer, HS_RECORD_ANCHOR_NAME, STT_OBJECT, STB_GLOBAL, 0x3000, sizeof anchor,
                      (uint16_t)section);
    elf_writer_finish(&writer);
    if (hs_elf_open_memory(writer.bytes, writer.n_bytes, "made-up", &object.elf, &err) != HS_OK)
        fail_msg("%s", err.message);
}

static int set_up(void **state)
{
    memset(data, 0, sizeof data);
    anchor = (struct hs_record_anchor){.magic = HS_RECORD_MAGIC,
                                       .version = HS_RECORD_VERSION,
                                       .bytes = sizeof anchor,
                                       .pid = PID,
                                       .is_enabled = 1,
                                       .period_bytes = 524288,
                                       .begun_us = 1700000000000000,
                                       .n_samples = 10,
                                       .n_lost = 3,
                                       .slots = SLOTS,
                                       .n_slots = N_SLOTS,
                                       .stacks = STACKS,
                                       .stacks_bytes = STACKS_BYTES,
                                       .trace_path = "/var/tmp/a\nb.ctf"};
    object =
        (struct hs_object){.bias = BIAS, .begin = BIAS, .end = BIAS + 0x4000, .name = object_name};
    objects = (struct hs_objects){.objects = &object, .n = 1};
    target = (struct hs_target){.pid = PID, .core = (struct hs_core *)&target};
    findings = (struct hs_findings){.strings = &strings};
    process = (struct hs_process_copy){&target, &image, &objects, &findings, NULL, NULL};
    open_object();
    return hs_image_add(&image, DATA, data, sizeof data, &err) == HS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    hs_sampled_fini(&set);
    hs_allocator_recorded.close(allocator);
    allocator = NULL;
    hs_heap_map_fini(&map);
    hs_ledger_fini(&ledger);
    hs_findings_fini(&findings);
    hs_strtab_fini(&strings);
    hs_image_fini(&image);
    hs_elf_close(object.elf);
    return 0;
}

static hs_status read_all(void)
{
    struct hs_heaps heaps = {0};

    put(ANCHOR, &anchor, sizeof anchor);
    hs_heap_map_init(&map, &image);
    hs_ledger_init(&ledger, &strings, &image);
    HS_TRY(hs_allocator_recorded.open(&process, &allocator, &err));
    if (allocator != NULL) {
        HS_TRY(hs_allocator_recorded.add_spans(allocator, &map, &ledger, &err));
        HS_TRY(hs_allocator_recorded.mark(allocator, &map, &ledger, &err));
    }
    hs_ledger_seal(&ledger);
    for (size_t i = 0; i < HS_N_ALLOCATORS; i++)
        heaps.states[i] = hs_allocators[i] == &hs_allocator_recorded ? allocator : NULL;
    return hs_sampled_read(&heaps, &process, &set, &err);
}

static const struct hs_note *note(const char *what)
{
    for (size_t i = 0; i < findings.n_notes; i++)
        if (strstr(hs_strtab_get(&strings, findings.notes[i].text), what) != NULL)
            return &findings.notes[i];
    return NULL;
}

static bool is_claimed(hs_addr at)
{
    return strcmp(hs_strtab_get(&strings, hs_ledger_owner_at(&ledger, at)), "heapsnap record") == 0;
}

static void samples_are_read(void **state)
{
    put_stack(2, 3, 0x5555000010a0);
    put_slot(0, (struct hs_record_slot){BLOCK, 9, 100, 2, 2});
    put_slot(1, (struct hs_record_slot){1, 8, 100, 2, 1});                   /* was used */
    put_slot(2, (struct hs_record_slot){hs_record_key(3, 1), 3, 100, 2, 1}); /* of a runtime */
    put_slot(N_SLOTS - 1, (struct hs_record_slot){BLOCK + 64, 4, 0, 0, 1});
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(set.n_samplers, 1);
    const struct hs_sampler *sampler = &set.samplers[0].facts;
    assert_int_equal(sampler->kind, HS_SAMPLER_RECORD);
    assert_true(sampler->period_words == 65536);
    assert_int_equal(sampler->begun_ns, 1700000000000000000);
    assert_int_equal(sampler->n_lost, 3);
    assert_string_equal(hs_strtab_get(&strings, sampler->trace), "/var/tmp/a?b.ctf");
    assert_ptr_equal(set.samplers[0].own, &object);
    assert_int_equal(set.n_blocks, 2);
    assert_int_equal(set.blocks[0].id, 4);
    assert_int_equal(set.blocks[0].n_frames, 0);
    assert_int_equal(set.blocks[1].address, BLOCK);
    assert_int_equal(set.blocks[1].n_bytes, 100);
    assert_int_equal(set.blocks[1].n_samples, 2);
    assert_int_equal(set.blocks[1].n_frames, 3);
    assert_int_equal(hs_sampled_frame(&set.blocks[1], 2), 0x5555000010a2);
    assert_int_equal(findings.n_notes, 0);
}

/* Else it would keep every sampled block alive. */
static void tables_belong_to_the_recorder(void **state)
{
    assert_int_equal(read_all(), HS_OK);
    assert_true(is_claimed(ANCHOR) && is_claimed(ANCHOR + sizeof anchor - 1));
    assert_true(is_claimed(SLOTS) && is_claimed(SLOTS + N_SLOTS * 32 - 1));
    assert_true(is_claimed(STACKS) && is_claimed(STACKS + STACKS_BYTES - 1));
    assert_false(is_claimed(SLOTS - 1));
    assert_false(is_claimed(STACKS + STACKS_BYTES));
}

/* Else what it has not written of its trace yet would pass for addresses in disguise. */
static void variables_belong_to_its_library(void **state)
{
    static char library[] = "libheapsnap-record.so";
    hs_addr variable = ANCHOR + sizeof anchor + 8;

    object.end = variable + 8;
    object.name = library;
    assert_int_equal(read_all(), HS_OK);
    assert_true(is_claimed(variable) && is_claimed(ANCHOR));
    assert_false(is_claimed(object.end));
}

static void those_of_a_program_stay_its_own(void **state)
{
    hs_addr variable = ANCHOR + sizeof anchor + 8;

    object.end = variable + 8;
    assert_int_equal(read_all(), HS_OK);
    assert_true(is_claimed(ANCHOR));
    assert_false(is_claimed(variable)); /* the recorder is linked into it */
}

static void what_never_began_is_no_sampler(void **state)
{
    anchor.magic = 0;
    assert_int_equal(read_all(), HS_OK);
    assert_null(allocator);
    assert_int_equal(set.n_samplers + findings.n_notes, 0);
}

static void a_forked_child_has_none(void **state)
{
    anchor.pid = PID - 1;
    put_slot(0, (struct hs_record_slot){BLOCK, 9, 100, 0, 1});
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(set.n_samplers, 0);
    assert_non_null(note("was forked from"));
    assert_true(is_claimed(SLOTS)); /* it keeps nothing alive there either */
}

static void damaged_anchors_are_told_of(void **state)
{
    static const struct {
        size_t at;
        uint64_t word;
        unsigned n_bytes;
    } cases[] = {
        {offsetof(struct hs_record_anchor, magic), 5, 8},
        {offsetof(struct hs_record_anchor, version), 2, 4},
        {offsetof(struct hs_record_anchor, bytes), 8, 4},
        {offsetof(struct hs_record_anchor, n_slots), 1000, 8},
        {offsetof(struct hs_record_anchor, n_slots), UINT64_C(1) << 63, 8},
        {offsetof(struct hs_record_anchor, slots), UINT64_MAX - 7, 8},
        {offsetof(struct hs_record_anchor, slots), SLOTS + 4, 8},
        {offsetof(struct hs_record_anchor, stacks), UINT64_MAX - 7, 8},
        {offsetof(struct hs_record_anchor, stacks), STACKS + 1, 8},
        {offsetof(struct hs_record_anchor, stacks_bytes), UINT64_MAX, 8},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (i != 0) {
            tear_down(state);
            memset(&set, 0, sizeof set);
            assert_int_equal(set_up(state), 0);
        }
        memcpy((uint8_t *)&anchor + cases[i].at, &cases[i].word, cases[i].n_bytes);
        assert_int_equal(read_all(), HS_OK);
        assert_int_equal(set.n_samplers, 0);
        assert_true(note("cannot be read")->is_gap);
    }
}

static void a_table_outside_of_the_copy_is_told_of(void **state)
{
    anchor.n_slots = 1 << 20;
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(set.n_blocks, 0);
    assert_true(note("not in the copy")->is_gap);
}

static void damaged_stacks_are_left_out(void **state)
{
    put_stack(2, 200, 1);                  /* more frames than there may be */
    put_stack(STACKS_BYTES / 8 - 3, 4, 1); /* beyond the end */
    put_slot(0, (struct hs_record_slot){BLOCK, 1, 8, 2, 1});
    put_slot(1, (struct hs_record_slot){BLOCK + 16, 2, 8, STACKS_BYTES / 8 - 3, 1});
    put_slot(2, (struct hs_record_slot){BLOCK + 32, 3, 8, UINT32_MAX, 1});
    put_slot(3, (struct hs_record_slot){BLOCK + 48, 4, 8, 100, 1}); /* no frames */
    put_slot(4, (struct hs_record_slot){UINT64_MAX, 5, 8, 0, 1});
    put_slot(5, (struct hs_record_slot){BLOCK + 64, 6, 8, 0, 0});
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(set.n_blocks, 4);
    for (size_t i = 0; i < set.n_blocks; i++)
        assert_int_equal(set.blocks[i].n_frames, 0);
    assert_non_null(note("6 samples recorded by 'made-up' are damaged"));
}

/* A place in a script, as the recorder keeps it: n_words of line, lengths and texts. */
static hs_addr put_script(uint32_t at, uint32_t n_words, uint64_t word, const char *texts)
{
    put_stack(at, n_words, word);
    put(STACKS + 8 * (hs_addr)at + sizeof(struct hs_record_stack) + 8, texts, strlen(texts) + 1);
    return HS_SAMPLED_SCRIPT | at;
}

static bool read_script(hs_addr frame, struct hs_sampled_script *ret)
{
    return hs_sampled_script(&image, &set.samplers[0], frame, ret);
}

static void places_of_scripts_are_read(void **state)
{
    static struct hs_sampled_script script;
    const uint64_t lengths = UINT64_C(6) << 32 | UINT64_C(8) << 48;
    const uint32_t last = STACKS_BYTES / 8 - 3;

    hs_addr sound = put_script(2, 3, 42 | lengths,
                               "app.py"
                               "C.m\n()\x7f?"),
            end, outside;
    hs_addr longer = put_script(20, 2, 42 | lengths, "app.pyC.method");
    hs_addr huge = put_script(40, 3, UINT64_MAX, "app.pyC.method");
    hs_addr many = put_script(60, 200, 42 | lengths, "app.pyC.method");
    put_stack(last, 1, 7);
    end = HS_SAMPLED_SCRIPT | last;
    outside = HS_SAMPLED_SCRIPT | UINT32_MAX;
    assert_int_equal(read_all(), HS_OK);
    assert_true(read_script(sound, &script));
    assert_string_equal(script.file, "app.py");
    assert_string_equal(script.function, "C.m?()??");
    assert_int_equal(script.line, 42);
    assert_true(read_script(end, &script)); /* nothing but a line */
    assert_string_equal(script.file, "");
    assert_int_equal(script.line, 7);
    assert_false(read_script(longer, &script));
    assert_false(read_script(huge, &script));
    assert_false(read_script(many, &script));
    assert_false(read_script(outside, &script));
    assert_false(read_script(sound | UINT64_C(1) << 33, &script));
    assert_false(read_script(HS_SAMPLED_SCRIPT | (last + 1), &script));
    assert_false(read_script(HS_SAMPLED_SCRIPT | 100, &script)); /* no words */
}

static void numbers_given_twice_are_left_out(void **state)
{
    for (unsigned i = 0; i < 5; i++)
        put_slot(i, (struct hs_record_slot){BLOCK + 1024 - 16 * i, 7, 8, 0, 1});
    assert_int_equal(read_all(), HS_OK);
    assert_int_equal(set.n_blocks, 1);
    assert_int_equal(set.blocks[0].address, BLOCK + 1024 - 16 * 4);
    assert_true(note("4 samples have the number of another one")->is_gap);
}

static void every_allocation_may_fail(void **state)
{
    put_slot(0, (struct hs_record_slot){BLOCK, 1, 8, 0, 1});
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 4, .keeps = true) {
        if (each.nth > 1) {
            tear_down(state);
            memset(&set, 0, sizeof set);
            assert_int_equal(set_up(state), 0);
            put_slot(0, (struct hs_record_slot){BLOCK, 1, 8, 0, 1});
        }
        (void)FAIL_EACH_TRY(each, read_all());
    }
    assert_true(set.n_blocks == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(samples_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tables_belong_to_the_recorder, set_up, tear_down),
        cmocka_unit_test_setup_teardown(variables_belong_to_its_library, set_up, tear_down),
        cmocka_unit_test_setup_teardown(those_of_a_program_stay_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_never_began_is_no_sampler, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_forked_child_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_anchors_are_told_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_table_outside_of_the_copy_is_told_of, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_stacks_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(places_of_scripts_are_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_given_twice_are_left_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_allocation_may_fail, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
