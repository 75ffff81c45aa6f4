/* links: hs_heaps hs_process hs_symbols hs_base */
/* fuzz: -entropic=0 */
/* The readers of GLib's slices and containers, of GObject's types and of fontconfig's patterns,
 * against damage.
 *
 *   words of {u16 place, u64 value}    written over a process with an allocator, three slabs, the
 *                                      magazines of a thread and of the depot, ten types, a pattern
 *                                      and a set of characters, a table, an array and a text
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_writer.h"
#include "heaps/allocator.h"
#include "symbols/elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

#define BASE UINT64_C(0x555500000000)
enum {
    PLACE_BYTES = 0x4000,
    PATCH_BYTES = 10,
    ALLOCATOR = 0x000,
    TABLE_AT = 0x080,
    MAGAZINES = 0x100,
    STACK = 0x300,
    THREAD = 0x600,
    SLABS = 0x1000, /* two of 512 bytes, of class 2; one of 1024, of class 5 */
    TABLE = 0x1800,
    KEYS = 0x1900,
    HASHES = 0x1a00,
    VALUES = 0x1a80,
    NAMES = 0x1c00,
    NODES = 0x2000,
    DATA = 0x2800,
    CLASSES = 0x3000,
    N_TYPES = 10,
    SMALL = 0x3800, /* blocks of 32 bytes: a pattern, a set, its numbers, two lists, three leaves;
                       keys and hashes of a table, an array, its items, a text, its letters */
    N_SMALL = 14,
    SET = SMALL + 32,
    NUMBERS = SET + 32,
    LISTS = NUMBERS + 32,
    LEAF = LISTS + 2 * 32,
    SET_KEYS = LEAF + 3 * 32,
    ARRAY = SET_KEYS + 2 * 32,
    TEXT = ARRAY + 2 * 32,
    HASH_TABLE = 0x3b80,
    HASH_TABLE_BYTES = 96,
    ELTS = 0x3a00,
    ELTS_BYTES = 256,
    LEAVES = 0x3b00,
    LEAVES_BYTES = 32,
    N_LEAVES = 3,
};
static _Alignas(8192) uint8_t place[PLACE_BYTES];

static void put(unsigned at, uint64_t word)
{
    memcpy(place + at, &word, sizeof word);
}

static void put_u32(unsigned at, uint32_t word)
{
    memcpy(place + at, &word, sizeof word);
}

/* A slab of `bytes`, whose chunks from number `first` on are free in its own list. */
static void put_slab(unsigned at, unsigned bytes, unsigned chunk_bytes, unsigned colour,
                     unsigned first, unsigned next)
{
    unsigned info = at + bytes - 48, n = (bytes - 48) / chunk_bytes;

    for (unsigned i = first; i < n; i++)
        put(at + colour + i * chunk_bytes,
            i + 1 < n ? BASE + at + colour + (i + 1) * chunk_bytes : 0);
    put(info, first < n ? BASE + at + colour + first * chunk_bytes : 0);
    put_u32(info + 8, first);
    put(info + 16, BASE + next);
    put(info + 24, BASE + next);
}

static void put_slices(void)
{
    const unsigned chunks = SLABS + 16;

    put(ALLOCATOR, 128);
    put(ALLOCATOR + 8, 8192);
    put(ALLOCATOR + 48, 1018);
    put(ALLOCATOR + 64, BASE + MAGAZINES);
    put(ALLOCATOR + 104, BASE + STACK);
    put_slab(SLABS, 512, 48, 16, 9, SLABS + 1024 - 48); /* all in use */
    put_slab(SLABS + 512, 512, 48, 0, 6, SLABS + 512 - 48);
    put_slab(SLABS + 1024, 1024, 96, 0, 4, SLABS + 2048 - 48);
    put(STACK + 2 * 8, BASE + SLABS + 512 - 48);
    put(STACK + 5 * 8, BASE + SLABS + 2048 - 48);
    put(THREAD, BASE + THREAD + 16);
    put(THREAD + 8, BASE + THREAD + 16 + 63 * 16);
    put(THREAD + 16 + 2 * 16, BASE + chunks);
    put(chunks, BASE + chunks + 48);
    put(chunks + 8, BASE + chunks + 2 * 48);
    put(MAGAZINES + 2 * 8, BASE + chunks + 3 * 48);
    for (unsigned i = 3; i < 6; i++)
        put(chunks + i * 48, BASE + chunks + (i + 1) * 48);
    put(chunks + 3 * 48 + 8, BASE + chunks + 3 * 48);
    put(chunks + 5 * 48 + 8, BASE + chunks + 3 * 48);
}

static uint32_t name_hash(const char *name)
{
    uint32_t hash = 5381;

    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static void put_types(void)
{
    put(TABLE_AT, BASE + TABLE);
    put(TABLE, 16);
    put_u32(TABLE + 12, 15);
    put_u32(TABLE + 16, N_TYPES);
    put_u32(TABLE + 20, N_TYPES);
    put(TABLE + 32, BASE + KEYS);
    put(TABLE + 40, BASE + HASHES);
    put(TABLE + 48, BASE + VALUES);
    for (unsigned i = 0; i < N_TYPES; i++) {
        unsigned node = NODES + i * 128, shift = i % 2 * 8, data = DATA + i * 96;
        unsigned class_at = CLASSES + i * 32;
        char *name = (char *)place + NAMES + i * 16;
        snprintf(name, 16, "FuzzType%u", i);
        put(KEYS + i * 8, BASE + NAMES + i * 16);
        put_u32(HASHES + i * 4, name_hash(name));
        put(VALUES + i * 8, BASE + node);
        put_u32(node + 12 + shift, 1);
        put(node + 24 + shift, BASE + data);
        put(node + 64 + shift, BASE + node);
        put(node + 72 + shift, 80);
        put(data + 32, BASE);
        put(data + 56, BASE + class_at);
        put_u32(data + 64, 32 + (i << 20)); /* 32 bytes, and 16 of private parts for each */
        put(class_at, BASE + node);
    }
    for (unsigned i = 0; i < 4; i++) /* instances in the slab of class 5 */
        put(SLABS + 1024 + i * 96 + i * 16, BASE + CLASSES + i * 32);
}

static void put_fonts(void)
{
    put_u32(SMALL, 2);
    put_u32(SMALL + 4, 16);
    put(SMALL + 8, ELTS - SMALL);
    put_u32(SMALL + 16, 1);
    put_u32(ELTS, 1);
    put(ELTS + 8, BASE + LISTS);
    put_u32(ELTS + 16, 7);
    put(ELTS + 24, 1 + 8);
    put(LISTS, BASE + LISTS + 32);
    put_u32(SET, 1);
    put_u32(SET + 4, N_LEAVES);
    put(SET + 8, LEAVES - SET);
    put(SET + 16, NUMBERS - SET);
    put(NUMBERS, UINT64_C(0x000300020000));
    for (unsigned i = 0; i < N_LEAVES; i++)
        put(LEAVES + i * 8, (uint64_t)LEAF + i * 32 - LEAVES);
}

static void put_containers(void)
{
    put(HASH_TABLE, 8);
    put(HASH_TABLE + 8, UINT64_C(7) << 32 | 7);
    put(HASH_TABLE + 16, UINT64_C(2) << 32 | 1);
    put(HASH_TABLE + 32, BASE + SET_KEYS);
    put(HASH_TABLE + 40, BASE + SET_KEYS + 32);
    put(HASH_TABLE + 48, BASE + SET_KEYS);
    put(HASH_TABLE + 56, BASE + 1);
    put(HASH_TABLE + 72, 1);
    put(ARRAY, BASE + ARRAY + 32);
    put(ARRAY + 8, UINT64_C(4) << 32 | 3);
    put(ARRAY + 16, 1);
    put(TEXT, BASE + TEXT + 32);
    put(TEXT + 8, 5);
    put(TEXT + 16, 32);
    memcpy(place + TEXT + 32, "letter", 5);
}

static hs_status add_blocks(struct hs_heap_map *map, struct hs_error *err)
{
    struct hs_heap_span span = {.begin = BASE + SMALL,
                                .end = BASE + SMALL + N_SMALL * 32,
                                .unit_bytes = 32,
                                .form = HS_SPAN_UNIFORM,
                                .owner = HS_OWNER_registered};

    HS_TRY(hs_heap_map_add(map, &span, err));
    span.form = HS_SPAN_SINGLE;
    span.begin = BASE + ELTS;
    span.end = span.begin + ELTS_BYTES;
    HS_TRY(hs_heap_map_add(map, &span, err));
    span.begin = BASE + LEAVES;
    span.end = span.begin + LEAVES_BYTES;
    HS_TRY(hs_heap_map_add(map, &span, err));
    span.begin = BASE + HASH_TABLE;
    span.end = span.begin + HASH_TABLE_BYTES;
    return hs_heap_map_add(map, &span, err);
}

/* What is damaged may have slabs there. */
static void mark_blocks(struct hs_heap_map *map)
{
    for (unsigned i = 0; i < N_SMALL; i++)
        (void)hs_heap_map_set(map, BASE + SMALL + i * 32);
    (void)hs_heap_map_set(map, BASE + ELTS);
    (void)hs_heap_map_set(map, BASE + LEAVES);
    (void)hs_heap_map_set(map, BASE + HASH_TABLE);
}

/* What is said of a block must lie in it; of a process without damage all is found: what is in use
 * of 9, 9 and 10 slices, without 7 in magazines, and two instances; a pattern with one distance, a
 * set with two, and its three leaves; three containers. */
static void check_blocks(const struct hs_heaps *heaps, bool is_sound)
{
    unsigned n_names = 0, n_distances = 0;
    struct hs_heap_iterator it = {.map = &heaps->map};
    struct hs_heap_block block;
    struct hs_object_name name;

    while (hs_heap_map_next(&it, &block)) {
        assert(block.begin >= BASE && block.begin + block.n_bytes <= BASE + PLACE_BYTES);
        const struct hs_distances distances = hs_heaps_distances(heaps, &block);
        n_distances += distances.n_words;
        assert(((uint64_t)distances.first_word + distances.n_words) * 8 <= block.n_bytes);
        if (!hs_heaps_object_name(heaps, &block, &name))
            continue;
        n_names++;
        assert(name.name != 0 && name.n_bytes <= block.n_bytes &&
               name.offset_bytes <= block.n_bytes - name.n_bytes);
    }
    assert(!is_sound || (heaps->map.n_blocks == 12 + N_SMALL + 3 && n_names == 2 + 10 + 3 &&
                         n_distances == 1 + 2 + N_LEAVES));
}

static const enum hs_heap_owner readers[] = {HS_OWNER_gslice, HS_OWNER_gobject, HS_OWNER_fontconfig,
                                             HS_OWNER_gcontainers};
enum { N_READERS = sizeof readers / sizeof *readers };

static void read_all(const struct hs_process_copy *process, bool is_sound)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_heaps heaps = {0};
    uint64_t n_refused;

    hs_heap_map_init(&heaps.map, process->image);
    hs_ledger_init(&heaps.ledger, process->findings->strings, process->image);
    hs_status status = add_blocks(&heaps.map, &err);
    for (size_t i = 0; i < N_READERS && status == HS_OK; i++) {
        void **state = &heaps.states[readers[i]];
        status = hs_allocators[readers[i]]->open(process, state, &err);
        if (status == HS_OK && *state != NULL && hs_allocators[readers[i]]->add_spans != NULL)
            status = hs_allocators[readers[i]]->add_spans(*state, &heaps.map, &heaps.ledger, &err);
    }
    hs_ledger_seal(&heaps.ledger);
    if (status == HS_OK)
        status = hs_heap_map_seal(&heaps.map, &n_refused, &err);
    mark_blocks(&heaps.map);
    for (size_t i = 0; i < N_READERS && status == HS_OK; i++)
        if (heaps.states[readers[i]] != NULL && hs_allocators[readers[i]]->mark != NULL)
            status = hs_allocators[readers[i]]->mark(heaps.states[readers[i]], &heaps.map,
                                                     &heaps.ledger, &err);
    if (status == HS_OK)
        status = hs_heap_map_index(&heaps.map, &err);
    for (size_t i = 0; i < N_READERS && status == HS_OK; i++)
        if (heaps.states[readers[i]] != NULL && hs_allocators[readers[i]]->look != NULL)
            status = hs_allocators[readers[i]]->look(heaps.states[readers[i]], &heaps.map, &err);
    assert(status == HS_OK);
    check_blocks(&heaps, is_sound);
    hs_heaps_close(&heaps);
}

/* A binary that has the symbols of all these libraries; made once. */
static struct hs_elf *made_elf(void)
{
    static const uint8_t file_data[512];
    static struct elf_writer writer;
    static struct hs_elf *elf;
    struct hs_error err = HS_ERROR_INIT;

    if (elf != NULL)
        return elf;
    elf_writer_init(&writer);
    size_t section =
        elf_writer_section(&writer, ".data", SHT_PROGBITS, 0, file_data, sizeof file_data);
    elf_writer_segment(&writer, PT_LOAD, PF_R | PF_W, 0, sizeof file_data, section);
    elf_writer_symbol(&writer, "g_slice_alloc", STT_OBJECT, STB_GLOBAL, 0, 8, (uint16_t)section);
    elf_writer_symbol(&writer, "g_type_register_static", STT_OBJECT, STB_GLOBAL, 8, 8,
                      (uint16_t)section);
    elf_writer_symbol(&writer, "g_hash_table_new", STT_OBJECT, STB_GLOBAL, 24, 8,
                      (uint16_t)section);
    elf_writer_symbol(&writer, "FcPatternCreate", STT_OBJECT, STB_GLOBAL, 16, 8, (uint16_t)section);
    elf_writer_finish(&writer);
    if (hs_elf_open_memory(writer.bytes, writer.n_bytes, "fuzz", &elf, &err) != HS_OK)
        abort();
    return elf;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_object object = {.bias = BASE,
                               .begin = BASE,
                               .end = BASE + PLACE_BYTES,
                               .name = (char *)"fuzz",
                               .elf = made_elf()};
    struct hs_objects objects = {.objects = &object, .n = 1};
    struct hs_mapping mapping = {
        .begin = BASE, .end = BASE + PLACE_BYTES, .writable = true, .executable = true};
    struct hs_target target = {
        .pid = 1, .core = (struct hs_core *)place, .mappings = &mapping, .n_mappings = 1};
    struct hs_image image = {0};
    struct hs_strtab strings = {0};
    struct hs_findings findings = {.strings = &strings};
    const struct hs_process_copy process = {&target, &image, &objects, &findings, NULL, NULL};

    const bool is_sound = n_bytes < PATCH_BYTES;

    memset(place, 0, sizeof place);
    put_slices();
    put_types();
    put_fonts();
    put_containers();
    for (; n_bytes >= PATCH_BYTES; bytes += PATCH_BYTES, n_bytes -= PATCH_BYTES) {
        uint16_t at;
        memcpy(&at, bytes, sizeof at);
        memcpy(place + at % (PLACE_BYTES - 8), bytes + sizeof at, 8);
    }
    if (hs_image_add(&image, BASE, place, sizeof place, &err) != HS_OK)
        abort();
    read_all(&process, is_sound);
    hs_findings_fini(&findings);
    hs_strtab_fini(&strings);
    hs_image_fini(&image);
    return 0;
}
