/* links: hs_heaps hs_symbols */
#include "unit.h"

#include "base/alloc.h"
#include "elf_writer.h"
#include "fail_each.h"
#include "heaps/registered/parts.h"
#include "heapsnap/register.h"
#include "symbols/elf.h"

/* ---- a made-up process: an object with a note at NOTE_AT, data behind DATA */

#define BIAS ((hs_addr)0x555500000000)
#define NOTE_AT ((hs_addr)0x300)
#define DATA (BIAS + 0x10000)
#define REGISTRY DATA
#define RECORDS (DATA + 0x100)
#define POOL (DATA + 0x8000)
#define DATA_BYTES ((size_t)0x20000)

static struct hs_error err;
static struct elf_writer writer;
static uint8_t data[DATA_BYTES];
static uint8_t note[256];
static size_t n_note;
static struct hs_object object;
static struct hs_objects objects;
static struct hs_image image;
static struct hs_strtab strings;
static struct hs_findings findings;
static struct hs_process_copy process;
static struct hs_heaps heaps;
static char object_name[] = "made-up";

static void put(hs_addr at, const void *bytes, size_t n)
{
    memcpy(data + (at - DATA), bytes, n);
}

static void put_u64(hs_addr at, uint64_t value)
{
    put(at, &value, sizeof value);
}

static void put_u32(hs_addr at, uint32_t value)
{
    put(at, &value, sizeof value);
}

static void put_registry(hs_addr first)
{
    put(REGISTRY, "heapsnap", 8);
    put_u32(REGISTRY + 8, 1);
    put_u32(REGISTRY + 12, 128);
    put_u64(REGISTRY + 16, first);
}

static hs_addr record_at(unsigned number)
{
    return RECORDS + number * 128;
}

/* Written by the specification, not by the header's struct. */
static void put_record(unsigned number, uint32_t kind, hs_addr begin, uint64_t n_bytes,
                       const char *name, hs_addr next)
{
    hs_addr at = record_at(number);
    memset(data + (at - DATA), 0, 128);
    put_u32(at, kind);
    put_u64(at + 8, next);
    put_u64(at + 24, begin);
    put_u64(at + 32, n_bytes);
    put(at + 64, name, strlen(name));
}

static void put_pool(unsigned number, uint64_t block_bytes, hs_addr live_bits)
{
    put_u64(record_at(number) + 40, block_bytes);
    put_u64(record_at(number) + 48, live_bits);
}

static void add_note(const char *name, uint32_t n_name, uint32_t n_desc, uint32_t type,
                     uint32_t version, hs_addr registry)
{
    uint32_t words[3] = {n_name, n_desc, type};
    uint8_t *at = note + n_note;
    memcpy(at, words, 12);
    memcpy(at + 12, name, strlen(name));
    at += 12 + (strlen(name) + 1 + 3) / 4 * 4;
    memcpy(at, &version, 4);
    uint64_t distance = registry - (BIAS + NOTE_AT + (hs_addr)(at - note) + 8);
    memcpy(at + 8, &distance, 8);
    n_note = (size_t)(at - note) + 16;
}

static void open_object(bool with_sections)
{
    elf_writer_init(&writer);
    size_t text = elf_writer_section(&writer, ".text", SHT_PROGBITS, 0x1000, "code", 4);
    size_t notes = elf_writer_section(&writer, ".note.any", SHT_NOTE, NOTE_AT, note, n_note);
    writer.sections[notes].sh_flags = SHF_ALLOC;
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_X, 0x1000, 4, text);
    elf_writer_segment(&writer, PT_LOAD, PF_R, NOTE_AT, n_note, notes);
    elf_writer_segment(&writer, PT_NOTE, PF_R, NOTE_AT, n_note, notes);
    elf_writer_segment(&writer, PT_LOAD, PF_R, 0, 0x200, 0);
    elf_writer_finish(&writer);
    if (!with_sections) {
        Elf64_Phdr *first = elf_writer_program_header(&writer, 3);
        first->p_offset = 0;
        first->p_filesz = first->p_memsz = 0x200;
        elf_writer_header(&writer)->e_shnum = 0;
        elf_writer_header(&writer)->e_shoff = 0;
        elf_writer_header(&writer)->e_shstrndx = 0;
    }
    if (hs_elf_open_memory(writer.bytes, writer.n_bytes, "made-up", &object.elf, &err) != HS_OK)
        fail_msg("%s", err.message);
}

static int set_up(void **state)
{
    memset(data, 0, sizeof data);
    memset(note, 0, sizeof note);
    n_note = 0;
    object = (struct hs_object){.bias = BIAS, .name = object_name};
    objects = (struct hs_objects){.objects = &object, .n = 1};
    findings = (struct hs_findings){.strings = &strings};
    process = (struct hs_process_copy){.image = &image, .objects = &objects, .findings = &findings};
    add_note("heapsnap", 9, 16, 1, 1, REGISTRY);
    put_registry(0);
    return hs_image_add(&image, DATA, data, sizeof data, &err) == HS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    hs_heap_map_fini(&heaps.map);
    hs_ledger_fini(&heaps.ledger);
    if (heaps.states[0] != NULL)
        hs_allocator_registered.close(heaps.states[0]);
    memset(&heaps, 0, sizeof heaps);
    hs_elf_close(object.elf);
    object.elf = NULL;
    hs_findings_fini(&findings);
    hs_image_fini(&image);
    hs_strtab_fini(&strings);
    return 0;
}

static hs_status walk(void)
{
    uint64_t n_refused;
    const struct hs_allocator *w = &hs_allocator_registered;

    hs_heap_map_init(&heaps.map, &image);
    hs_ledger_init(&heaps.ledger, &strings, &image);
    HS_TRY(w->open(&process, &heaps.states[0], &err));
    if (heaps.states[0] == NULL)
        return HS_OK;
    HS_TRY(w->add_spans(heaps.states[0], &heaps.map, &heaps.ledger, &err));
    HS_TRY(hs_heap_map_seal(&heaps.map, &n_refused, &err));
    HS_TRY(w->mark(heaps.states[0], &heaps.map, &heaps.ledger, &err));
    return hs_heap_map_index(&heaps.map, &err);
}

static size_t n_roots(void)
{
    size_t n = 99;
    if (heaps.states[0] == NULL)
        return 0;
    (void)hs_allocator_registered.roots(heaps.states[0], &n);
    return n;
}

static const char *text_of(hs_str id)
{
    return hs_strtab_get(&strings, id);
}

static const char *note_text(size_t number)
{
    return number < findings.n_notes ? text_of(findings.notes[number].text) : "";
}

/* ---- what is right */

static void roots_and_pools(void **state)
{
    size_t n = 0;
    put_registry(record_at(1));
    put_record(1, 1, POOL, 64, "first", record_at(0));
    put_u32(record_at(1) + 4, 1);
    put_record(0, 1, POOL + 64, 32, "second", record_at(2));
    put_record(2, 2, POOL + 4096, 4096, "pool", record_at(3));
    put_pool(2, 48, POOL);
    put_record(3, 2, POOL + 8192, 100, "whole", 0);
    data[POOL - DATA] = 0x81;
    data[POOL - DATA + 10] = 0xff; /* 85 blocks: the last three bits are none of them */
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(findings.n_notes, 0);
    const struct hs_registered_root *roots = hs_allocator_registered.roots(heaps.states[0], &n);
    assert_int_equal(n, 2); /* in order of the records' addresses */
    assert_string_equal(text_of(roots[0].name), "second");
    assert_true(roots[0].begin == POOL + 64 && roots[0].end == POOL + 96);
    assert_false(roots[0].is_precise);
    assert_true(roots[0].entry == record_at(0));
    assert_string_equal(text_of(roots[1].name), "first");
    assert_true(roots[1].is_precise);
    assert_ptr_equal(roots[1].object, &object);
    assert_int_equal(heaps.map.n_blocks, 2 + 5 + 1);
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(&heaps.map, POOL + 4096 + 7 * 48 + 1, &block),
                     HS_POINTER_INTERIOR);
    assert_int_equal(block.n_bytes, 48);
    assert_int_equal(block.span->states, 0);
    assert_int_equal(block.span->owner, HS_OWNER_registered);
    assert_string_equal(
        text_of(hs_allocator_registered.pool_name(heaps.states[0], block.span->tag)), "pool");
    assert_int_equal(hs_heap_map_resolve(&heaps.map, POOL + 4096 + 48, &block), HS_POINTER_NONE);
    assert_int_equal(hs_heap_map_resolve(&heaps.map, POOL + 8192, &block), HS_POINTER_START);
    assert_int_equal(block.n_bytes, 100);
    assert_int_equal(block.span->states, HS_BLOCK_UNSURE);
    assert_int_equal(hs_allocator_registered.pool_name(heaps.states[0], 2), 0);
    assert_string_equal(hs_allocator_registered.version(heaps.states[0]), "1");
    hs_addr begin, end; /* the four records are no memory where roots are looked for */
    hs_ledger_seal(&heaps.ledger);
    assert_true(hs_ledger_next_unclaimed(&heaps.ledger, RECORDS, RECORDS + 1024, &begin, &end));
    assert_int_equal(begin, record_at(4));
}

static void notes_without_sections(void **state)
{
    put_registry(record_at(0));
    put_record(0, 1, POOL, 64, "root", 0);
    open_object(false);
    assert_int_equal(hs_elf_n_sections(object.elf) <= 1, 1);
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(n_roots(), 1);
}

static void notes_of_others_and_repeated_ones(void **state)
{
    n_note = 0;
    add_note("GNU", 4, 16, 3, 1, REGISTRY);
    add_note("heapsnap", 9, 16, 2, 1, REGISTRY); /* another type */
    add_note("heapsnap", 9, 16, 1, 2, REGISTRY); /* another version */
    add_note("heapsnap", 9, 16, 1, 1, REGISTRY);
    add_note("heapsnap", 9, 16, 1, 1, REGISTRY); /* of another source file */
    put_registry(record_at(0));
    put_record(0, 1, POOL, 64, "root", 0);
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(n_roots(), 1);
    assert_int_equal(findings.n_notes, 0);
}

static void without_a_note_there_is_nothing(void **state)
{
    n_note = 0;
    add_note("GNU", 4, 16, 3, 1, REGISTRY);
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    assert_null(heaps.states[0]);
    assert_int_equal(n_roots(), 0);
}

/* ---- what is not */

static void cut_notes(void **state)
{
    for (size_t cut = 1; cut <= n_note; cut++) {
        tear_down(state);
        set_up(state);
        memset(note + n_note - cut, 0xff, cut);
        n_note -= cut % 2 == 0 ? cut : 0;
        if (n_note == 0)
            break;
        open_object(true);
        assert_int_equal(walk(), HS_OK);
        assert_int_equal(n_roots(), 0);
    }
}

static void a_registry_that_is_none(void **state)
{
    static const struct {
        unsigned at;
        uint32_t value;
    } lies[] = {{0, 0}, {4, 1}, {8, 0}, {8, 2}, {12, 127}, {12, 4097}};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        tear_down(state);
        set_up(state);
        put_registry(record_at(0));
        put_record(0, 1, POOL, 64, "root", 0);
        put_u32(REGISTRY + lies[i].at, lies[i].value);
        open_object(true);
        assert_int_equal(walk(), HS_OK);
        assert_int_equal(n_roots(), 0);
        assert_string_equal(note_text(0), "'made-up' has a note of registered memory, but no "
                                          "registry of a known version");
    }
}

static void a_registry_outside_of_the_copy(void **state)
{
    n_note = 0;
    add_note("heapsnap", 9, 16, 1, 1, DATA + DATA_BYTES - 31);
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(findings.n_notes, 1);
}

static void several_registries_in_one_file(void **state)
{
    add_note("heapsnap", 9, 16, 1, 1, REGISTRY + 0x10000);
    put_registry(record_at(0));
    put_record(0, 1, POOL, 64, "root", 0);
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(n_roots(), 1);
    assert_string_equal(note_text(0), "'made-up' has several registries of memory: only one is "
                                      "read");
}

static void lists_that_run_in_circles(void **state)
{
    for (unsigned n = 1; n <= 12; n++)
        for (unsigned back = 0; back < n; back++) {
            tear_down(state);
            set_up(state);
            put_registry(record_at(0));
            for (unsigned i = 0; i < n; i++)
                put_record(i, 1, POOL + i * 8, 8, "root", record_at(i + 1 < n ? i + 1 : back));
            open_object(true);
            assert_int_equal(walk(), HS_OK);
            assert_int_equal(n_roots(), n);
            assert_string_equal(note_text(0), "the list of registered memory of 'made-up' is "
                                              "damaged");
        }
}

static void a_list_that_leads_away(void **state)
{
    put_registry(record_at(0));
    put_record(0, 1, POOL, 64, "root", UINT64_MAX - 3);
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(n_roots(), 1);
    assert_int_equal(findings.n_notes, 1);
}

static void records_that_make_no_sense(void **state)
{
    hs_addr end = DATA + DATA_BYTES;
    put_registry(record_at(0));
    for (unsigned i = 0; i < 12; i++)
        put_record(i, 1, POOL, 64, "root", i < 11 ? record_at(i + 1) : 0);
    put_record(0, 0, POOL, 64, "evil\x1b[31m", record_at(1));
    put_record(1, 3, POOL, 64, "kind", record_at(2));
    put_record(2, 1, end - 8, 16, "beyond", record_at(3));
    put_record(3, 1, POOL, UINT64_MAX, "wraps", record_at(4));
    put_record(4, 1, 0x1000, 64, "elsewhere", record_at(5));
    put_record(5, 2, POOL, 64, "tiny blocks", record_at(6));
    put_pool(5, 7, 0);
    put_record(6, 2, POOL, 64, "large blocks", record_at(7));
    put_pool(6, 65, 0);
    put_record(7, 1, POOL, 0, "empty", record_at(8)); /* is nothing, and no fault */
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(n_roots(), 4);
    assert_int_equal(heaps.map.n_blocks, 0);
    assert_string_equal(note_text(0), "7 registered areas are left out, the first is 'evil?[31m': "
                                      "they must lie in private writable memory, blocks have at "
                                      "least 8 bytes");
}

static void long_and_missing_names(void **state)
{
    size_t n;
    put_registry(record_at(0));
    put_record(0, 1, POOL, 64, "", record_at(1));
    put_record(1, 1, POOL, 64, "", 0);
    memset(data + (record_at(1) + 64 - DATA), 'x', 64);
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    const struct hs_registered_root *roots = hs_allocator_registered.roots(heaps.states[0], &n);
    assert_int_equal(n, 2);
    assert_string_equal(text_of(roots[0].name), "root without a name");
    assert_int_equal(strlen(text_of(roots[1].name)), 63);
}

static void a_bitmap_that_cannot_be_read(void **state)
{
    put_registry(record_at(0));
    put_record(0, 2, POOL, 4096, "pool", 0);
    put_pool(0, 16, DATA + DATA_BYTES - 31); /* 256 blocks need 32 bytes */
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(heaps.map.n_blocks, 256);
    assert_int_equal(heaps.map.spans[0].states, HS_BLOCK_UNSURE);
    assert_int_equal(findings.n_notes, 1);
}

/* Two pools over each other: the first added has its blocks, the other none. */
static void pools_that_overlap(void **state)
{
    put_registry(record_at(0));
    put_record(0, 2, POOL, 4096, "a", record_at(1));
    put_pool(0, 64, 0);
    put_record(1, 2, POOL + 2048, 4096, "b", record_at(2));
    put_pool(1, 16, 0);
    put_record(2, 2, POOL, 4096, "c", 0);
    put_pool(2, 16, 0);
    open_object(true);
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(heaps.map.n_blocks, 64);
}

/* Any 64 bits anywhere in the registry and the records: no crash, no endless loop, no failure. */
static void random_damage(void **state)
{
    uint64_t random = 88172645463325252U;
    for (unsigned round = 0; round < 2000; round++) {
        tear_down(state);
        set_up(state);
        put_registry(record_at(0));
        for (unsigned i = 0; i < 6; i++) {
            put_record(i, 1 + i % 2, POOL + i * 4096, 4096, "x", i < 5 ? record_at(i + 1) : 0);
            put_pool(i, UINT64_C(8) << i, i % 3 == 0 ? POOL : 0);
        }
        for (unsigned i = 0; i < 3; i++) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            uint64_t values[] = {random,
                                 record_at((unsigned)(random % 6)),
                                 POOL + random % 8192,
                                 0,
                                 UINT64_MAX,
                                 random % 10000};
            put_u64(DATA + (random >> 20) % 0x400 / 8 * 8, values[(random >> 40) % 6]);
        }
        open_object(true);
        assert_int_equal(walk(), HS_OK);
    }
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 10, .keeps = true) {
        tear_down(state);
        set_up(state);
        put_registry(record_at(0));
        put_record(0, 1, POOL, 64, "root", record_at(1));
        put_record(1, 2, POOL + 64, 64, "pool", record_at(2));
        put_record(2, 9, POOL + 64, 64, "none", record_at(0));
        open_object(true);
        (void)FAIL_EACH_TRY(each, walk());
    }
}

/* ---- the header itself, in this very program */

static struct heapsnap_record root_record, pool_record, third_record;
static void *root_words[4];
static uint64_t pool_blocks[32][4];
static uint8_t pool_bits[4];

static void add_own(const void *memory, size_t n_bytes)
{
    assert_int_equal(hs_image_add(&image, (hs_addr)(uintptr_t)memory, memory, n_bytes, &err),
                     HS_OK);
}

static void open_self(void)
{
    hs_elf_close(object.elf);
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &object.elf, &err), HS_OK);
    const struct hs_elf_symbol *symbol = hs_elf_find(object.elf, "heapsnap_registry_v1");
    assert_non_null(symbol);
    object.bias = (hs_addr)(uintptr_t)&heapsnap_registry_v1 - symbol->vaddr;
    hs_image_fini(&image);
    add_own(&heapsnap_registry_v1, sizeof heapsnap_registry_v1);
    add_own(&root_record, sizeof root_record);
    add_own(&pool_record, sizeof pool_record);
    add_own(&third_record, sizeof third_record);
    add_own(root_words, sizeof root_words);
    add_own(pool_blocks, sizeof pool_blocks);
    add_own(pool_bits, sizeof pool_bits);
}

static void the_header_in_a_real_program(void **state)
{
    size_t n;
    heapsnap_register_root(&root_record, "words", root_words, sizeof root_words, HEAPSNAP_PRECISE);
    heapsnap_register_root(&third_record, "gone", root_words, 8, 0);
    heapsnap_register_pool(&pool_record, "blocks", pool_blocks, sizeof pool_blocks,
                           sizeof pool_blocks[0], pool_bits);
    heapsnap_register_root(&root_record, "twice", pool_bits, 1, 0); /* is registered: nothing */
    heapsnap_unregister(&third_record);
    heapsnap_unregister(&third_record);
    pool_bits[2] = 0x10;
    open_self();
    assert_int_equal(walk(), HS_OK);
    const struct hs_registered_root *roots = hs_allocator_registered.roots(heaps.states[0], &n);
    assert_int_equal(n, 1);
    assert_string_equal(text_of(roots[0].name), "words");
    assert_true(roots[0].is_precise && roots[0].begin == (hs_addr)(uintptr_t)root_words);
    assert_int_equal(heaps.map.n_blocks, 1);
    assert_true(hs_heap_map_is_set(&heaps.map, (hs_addr)(uintptr_t)pool_blocks[20]));
    assert_int_equal(findings.n_notes, 0);
    tear_down(state);
    set_up(state);
    heapsnap_set_length(&pool_record, 320);
    heapsnap_unregister(&root_record);
    pool_bits[0] = 0xff;
    open_self();
    assert_int_equal(walk(), HS_OK);
    assert_int_equal(n_roots(), 0);
    assert_int_equal(heaps.map.n_blocks, 8); /* of ten; block 20 is no more of the pool */
    heapsnap_unregister(&pool_record);
    assert_null(heapsnap_registry_v1.first);
}

static void the_layout_is_what_the_specification_says(void **state)
{
    assert_int_equal(sizeof(struct heapsnap_registry), 32);
    assert_int_equal(offsetof(struct heapsnap_registry, version), 8);
    assert_int_equal(offsetof(struct heapsnap_registry, record_bytes), 12);
    assert_int_equal(offsetof(struct heapsnap_registry, first), 16);
    assert_int_equal(sizeof(struct heapsnap_record), 128);
    assert_int_equal(offsetof(struct heapsnap_record, flags), 4);
    assert_int_equal(offsetof(struct heapsnap_record, next), 8);
    assert_int_equal(offsetof(struct heapsnap_record, begin), 24);
    assert_int_equal(offsetof(struct heapsnap_record, n_bytes), 32);
    assert_int_equal(offsetof(struct heapsnap_record, block_bytes), 40);
    assert_int_equal(offsetof(struct heapsnap_record, live_bits), 48);
    assert_int_equal(offsetof(struct heapsnap_record, name), 64);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(roots_and_pools),
        TEST(notes_without_sections),
        TEST(notes_of_others_and_repeated_ones),
        TEST(without_a_note_there_is_nothing),
        TEST(cut_notes),
        TEST(a_registry_that_is_none),
        TEST(a_registry_outside_of_the_copy),
        TEST(several_registries_in_one_file),
        TEST(lists_that_run_in_circles),
        TEST(a_list_that_leads_away),
        TEST(records_that_make_no_sense),
        TEST(long_and_missing_names),
        TEST(a_bitmap_that_cannot_be_read),
        TEST(pools_that_overlap),
        TEST(random_damage),
        TEST(every_allocation_may_fail),
        TEST(the_header_in_a_real_program),
        TEST(the_layout_is_what_the_specification_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
