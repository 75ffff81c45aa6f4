/* links: hs_heaps */
/* CPython's pools, arenas and types, made by hand: used, empty, torn and hostile ones. */
#include "unit.h"

#include "base/alloc.h"
#include "elf_writer.h"
#include "fail_each.h"
#include "heaps/cpython/pools.h"
#include "symbols/elf.h"

#define BIAS ((hs_addr)0x550000000000)
#define DATA_AT ((hs_addr)0x3000)
#define VECTOR_AT ((hs_addr)0x560000001000)
#define ARENA_AT ((hs_addr)0x7f0000100000)
#define STRAY_AT ((hs_addr)0x7f1000000000)
#define TREE_AT ((hs_addr)0x560000100000)

enum {
    DATA_BYTES = 0x1000,
    VECTOR_BYTES = 0x1000,
    POOL = 1 << 14,
    ARENA_BYTES = 1 << 20,
    STRAY_POOLS = 4,
    NODE_BYTES = 8 << 15,
    LEAF_BYTES = 8 << 14,
    TREE_BYTES = NODE_BYTES + LEAF_BYTES,
    TYPE_WORD = 0x800, /* where in the data `type` stands; further ones follow, 256 apart */
    NAMES = 0x100,     /* in the text, which the copy does not have */
};

static struct {
    uint8_t *data, *vector, *arena, *stray, *tree;
    uint8_t text[512];
    struct elf_writer writer;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_mapping mappings[5];
    struct hs_target target;
    char path_text[8];
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_findings findings;
    struct hs_process_copy process;
    struct hs_heap_map map;
    struct hs_ledger ledger;
    void *allocator;
} world;

static struct hs_error err;

static void put(uint8_t *bytes, size_t at, uint64_t word)
{
    memcpy(bytes + at, &word, sizeof word);
}

static void put_half(uint8_t *bytes, size_t at, uint32_t half)
{
    memcpy(bytes + at, &half, sizeof half);
}

static uint8_t *map_memory(size_t i, hs_addr begin, size_t n_bytes)
{
    uint8_t *bytes = calloc(1, n_bytes);
    world.mappings[i] = (struct hs_mapping){
        .begin = begin, .end = begin + n_bytes, .readable = true, .writable = true};
    assert_int_equal(hs_image_add(&world.image, begin, bytes, n_bytes, &err), HS_OK);
    return bytes;
}

/* An interpreter of the name `name`, with its names of types in read-only text. */
static void make_object(char *name)
{
    struct elf_writer *w = &world.writer;
    static const char names[] = "type\0dict\0Foo.Bar\0bad name\0 \0weakref\0set\0bytes\0str\0";

    memcpy(world.text + NAMES, names, sizeof names);
    elf_writer_init(w);
    size_t text =
        elf_writer_section(w, ".rodata", SHT_PROGBITS, 0x1000, world.text, sizeof world.text);
    size_t data = elf_writer_section(w, ".data", SHT_PROGBITS, DATA_AT, world.data, DATA_BYTES);
    elf_writer_segment(w, PT_LOAD, PF_R, 0x1000, sizeof world.text, text);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, DATA_AT, DATA_BYTES, data);
    elf_writer_symbol(w, "PyType_Type", STT_OBJECT, STB_GLOBAL, DATA_AT + TYPE_WORD, 256,
                      (uint16_t)data);
    elf_writer_finish(w);
    assert_int_equal(hs_elf_open_memory(w->bytes, w->n_bytes, "made", &world.object.elf, &err),
                     HS_OK);
    world.object.bias = BIAS;
    world.object.begin = BIAS + 0x1000;
    world.object.end = BIAS + DATA_AT + DATA_BYTES;
    world.object.is_executable = true;
    world.object.name = name;
    world.objects = (struct hs_objects){.objects = &world.object, .n = 1, .capacity = 1};
}

/* Type number i: its type, name and flags. */
static hs_addr make_type(unsigned i, unsigned meta, unsigned name, uint64_t flags)
{
    uint8_t *type = world.data + TYPE_WORD + i * 256;
    put(type, 0, 100);
    put(type, 8, BIAS + DATA_AT + TYPE_WORD + meta * 256);
    put(type, 24, BIAS + 0x1000 + NAMES + name);
    put(type, 168, flags);
    return BIAS + DATA_AT + TYPE_WORD + i * 256;
}

/* A pool of n_carved blocks of 16 * (index + 1) bytes, of which those of free_blocks are free. */
static uint8_t *make_pool(uint8_t *memory, hs_addr base, unsigned number, unsigned index,
                          unsigned n_carved, const unsigned *free_blocks, unsigned n_free)
{
    uint8_t *pool = memory + number * POOL;
    unsigned size = 16 * (index + 1);
    size_t link = 8;

    put_half(pool, 0, n_carved - n_free);
    put_half(pool, 32, 0);
    put_half(pool, 36, index);
    put_half(pool, 40, 48 + n_carved * size);
    put_half(pool, 44, POOL - size);
    for (unsigned i = 0; i < n_free; i++) {
        size_t offset = 48 + free_blocks[i] * size;
        put(pool, link, base + number * POOL + offset);
        link = offset;
    }
    put(pool, link, 0);
    return pool;
}

static void make_vector(uint64_t n_pools)
{
    put(world.data, 0x200, VECTOR_AT);
    put(world.vector, 0, ARENA_AT);
    put(world.vector, 8, ARENA_AT + n_pools * POOL);
    put_half(world.vector, 16, (uint32_t)(64 - n_pools));
    put_half(world.vector, 20, 64);
    put(world.vector, 56, 0x1234); /* entry 1 is unused; entry 2 is none */
    put(world.vector, 96, 0x77);
}

static int set_up(void **state)
{
    static char name[] = "python3.11";
    memset(&world, 0, sizeof world);
    world.data = map_memory(0, BIAS + DATA_AT, DATA_BYTES);
    world.mappings[0].inode = 5;
    world.vector = map_memory(1, VECTOR_AT & ~(hs_addr)0xfff, VECTOR_BYTES);
    world.arena = map_memory(2, ARENA_AT, ARENA_BYTES);
    world.stray = map_memory(3, STRAY_AT, STRAY_POOLS * POOL);
    world.tree = map_memory(4, TREE_AT, TREE_BYTES);
    make_object(name);
    world.target = (struct hs_target){.mappings = world.mappings,
                                      .n_mappings = 5,
                                      .path_text = world.path_text,
                                      .path_text_bytes = sizeof world.path_text};
    world.findings.strings = &world.strings;
    world.process = (struct hs_process_copy){&world.target,   &world.image, &world.objects,
                                             &world.findings, NULL,         NULL};
    return 0;
}

static void forget(void)
{
    hs_allocator_cpython.close(world.allocator);
    world.allocator = NULL;
    hs_heap_map_fini(&world.map);
    hs_ledger_fini(&world.ledger);
    hs_findings_fini(&world.findings);
    memset(&world.findings, 0, sizeof world.findings);
    world.findings.strings = &world.strings;
}

static int tear_down(void **state)
{
    forget();
    hs_strtab_fini(&world.strings);
    hs_image_fini(&world.image);
    hs_elf_close(world.object.elf);
    free(world.data);
    free(world.vector);
    free(world.arena);
    free(world.stray);
    free(world.tree);
    return 0;
}

static hs_status walk(hs_addr claimed_begin, hs_addr claimed_end)
{
    uint64_t n_refused, resident;

    hs_heap_map_init(&world.map, &world.image);
    hs_ledger_init(&world.ledger, &world.strings, &world.image);
    HS_TRY(hs_allocator_cpython.open(&world.process, &world.allocator, &err));
    if (world.allocator == NULL)
        return HS_OK;
    HS_TRY(hs_ledger_claim(&world.ledger, "glibc", HS_MEMORY_LIVE, claimed_begin, claimed_end, 0,
                           &err));
    HS_TRY(hs_allocator_cpython.add_spans(world.allocator, &world.map, &world.ledger, &err));
    hs_ledger_seal(&world.ledger);
    HS_TRY(hs_heap_map_seal(&world.map, &n_refused, &err));
    HS_TRY(hs_allocator_cpython.mark(world.allocator, &world.map, &world.ledger, &err));
    HS_TRY(hs_ledger_close(&world.ledger, &world.process, NULL, &resident, &err));
    return hs_heap_map_index(&world.map, &err);
}

static uint64_t booked(enum hs_memory_state state)
{
    for (size_t i = 0; i < world.ledger.n_rows; i++)
        if (world.ledger.rows[i].state == state &&
            strcmp(hs_strtab_get(&world.strings, world.ledger.rows[i].owner), "cpython") == 0)
            return world.ledger.rows[i].n_bytes;
    return 0;
}

static void pools_of_an_arena(void **state)
{
    static const unsigned free_blocks[] = {3, 0, 99};

    make_vector(4);
    make_pool(world.arena, ARENA_AT, 0, 2, 100, free_blocks, 3);               /* 48 bytes */
    make_pool(world.arena, ARENA_AT, 1, 31, 31, NULL, 0);                      /* 512 bytes, full */
    make_pool(world.arena, ARENA_AT, 2, 0, 1021, NULL, 0);                     /* 16 bytes, full */
    make_pool(world.arena, ARENA_AT, 3, 2, 3, (const unsigned[]){0, 1, 2}, 3); /* empty */
    assert_int_equal(walk(0, 0), HS_OK);
    assert_non_null(world.allocator);
    assert_string_equal(hs_allocator_cpython.version(world.allocator), "3.11");
    assert_int_equal(world.map.n_blocks, 97 + 31 + 1021);
    assert_int_equal(world.findings.n_proofs, 1);
    assert_int_equal(world.findings.proofs[0].expected, 3);
    assert_true(world.findings.proofs[0].holds);
    assert_int_equal(world.findings.n_notes, 0);
    assert_int_equal(world.findings.n_torn, 0);
    assert_false(hs_heap_map_is_set(&world.map, ARENA_AT + 48));
    assert_true(hs_heap_map_is_set(&world.map, ARENA_AT + 48 + 48));
    assert_false(hs_heap_map_is_set(&world.map, ARENA_AT + 48 + 3 * 48));
    assert_false(hs_heap_map_is_set(&world.map, ARENA_AT + 48 + 99 * 48));
    assert_int_equal(booked(HS_MEMORY_LIVE), 97 * 48 + 31 * 512 + 1021 * 16);
    assert_int_equal(booked(HS_MEMORY_LIVE) + booked(HS_MEMORY_FREE) + booked(HS_MEMORY_INTERNAL),
                     ARENA_BYTES);
}

static void pools_of_unknown_arenas(void **state)
{
    make_vector(1);
    make_pool(world.arena, ARENA_AT, 0, 2, 10, NULL, 0);
    make_pool(world.stray, STRAY_AT, 1, 4, 20, NULL, 0);
    make_pool(world.stray, STRAY_AT, 2, 4, 20, NULL, 0);
    assert_int_equal(walk(0, 0), HS_OK);
    assert_int_equal(world.map.n_blocks, 50);
    forget();
    /* what another allocator claims is not looked at, nor is an arena that lies there */
    assert_int_equal(walk(STRAY_AT + 2 * POOL + 100, STRAY_AT + 3 * POOL), HS_OK);
    assert_int_equal(world.map.n_blocks, 30);
    forget();
    assert_int_equal(walk(ARENA_AT - 4096, ARENA_AT + ARENA_BYTES), HS_OK);
    assert_int_equal(world.map.n_blocks, 40);
    forget();
    /* without a vector, by their own proof alone */
    put(world.data, 0x200, 0);
    assert_int_equal(walk(0, 0), HS_OK);
    assert_int_equal(world.map.n_blocks, 50);
    assert_int_equal(booked(HS_MEMORY_FREE) + booked(HS_MEMORY_LIVE) + booked(HS_MEMORY_INTERNAL),
                     3 * POOL);
}

/* The tree of 3.10 and later for an arena at ARENA_AT: a node and a leaf, blocks of malloc. */
static void make_tree(void)
{
    put(world.data, 0x300, TREE_AT);
    put(world.tree, (ARENA_AT >> 34 & 0x7fff) * 8, TREE_AT + NODE_BYTES);
    put_half(world.tree, NODE_BYTES + (ARENA_AT >> 20 & 0x3fff) * 8, UINT32_MAX);
}

static hs_status add_table(hs_addr begin, hs_addr end)
{
    struct hs_heap_span span = {
        .begin = begin, .end = end, .form = HS_SPAN_SINGLE, .owner = HS_OWNER_glibc};
    return hs_heap_map_add(&world.map, &span, &err);
}

static hs_status walk_tables(void)
{
    static const hs_addr at[] = {VECTOR_AT, TREE_AT, TREE_AT + NODE_BYTES};
    static const uint64_t n_bytes[] = {VECTOR_BYTES, NODE_BYTES, LEAF_BYTES};
    uint64_t n_refused, resident;

    hs_heap_map_init(&world.map, &world.image);
    hs_ledger_init(&world.ledger, &world.strings, &world.image);
    HS_TRY(hs_allocator_cpython.open(&world.process, &world.allocator, &err));
    for (size_t i = 0; i < 3; i++) {
        HS_TRY(hs_ledger_claim(&world.ledger, "glibc", HS_MEMORY_LIVE, at[i], at[i] + n_bytes[i], 1,
                               &err));
        HS_TRY(add_table(at[i], at[i] + n_bytes[i]));
    }
    HS_TRY(hs_allocator_cpython.add_spans(world.allocator, &world.map, &world.ledger, &err));
    HS_TRY(hs_heap_map_seal(&world.map, &n_refused, &err));
    for (size_t i = 0; i < 3; i++)
        assert_true(hs_heap_map_set(&world.map, at[i]));
    hs_ledger_seal(&world.ledger);
    HS_TRY(hs_allocator_cpython.mark(world.allocator, &world.map, &world.ledger, &err));
    HS_TRY(hs_ledger_close(&world.ledger, &world.process, NULL, &resident, &err));
    return hs_heap_map_index(&world.map, &err);
}

static void own_tables_are_no_blocks(void **state)
{
    enum { POOL_OVERHEAD = 48 + (POOL - 48) % 48 };

    make_vector(1);
    make_pool(world.arena, ARENA_AT, 0, 2, 10, NULL, 0);
    assert_int_equal(walk_tables(), HS_OK);
    assert_int_equal(world.map.n_blocks, 12); /* the vector alone is known */
    assert_int_equal(booked(HS_MEMORY_INTERNAL), POOL_OVERHEAD + VECTOR_BYTES);
    forget();
    make_tree();
    assert_int_equal(walk_tables(), HS_OK);
    assert_int_equal(world.map.n_blocks, 10);
    assert_int_equal(booked(HS_MEMORY_INTERNAL), POOL_OVERHEAD + VECTOR_BYTES + TREE_BYTES);
    forget();
    /* a leaf that has another arena, and one that is nowhere */
    put_half(world.tree, NODE_BYTES + (ARENA_AT >> 20 & 0x3fff) * 8, 4096);
    assert_int_equal(walk_tables(), HS_OK);
    assert_int_equal(world.map.n_blocks, 12);
    forget();
    make_tree();
    put(world.tree, (ARENA_AT >> 34 & 0x7fff) * 8, UINT64_MAX - 7);
    assert_int_equal(walk_tables(), HS_OK);
    assert_int_equal(world.map.n_blocks, 12);
}

static void torn_pools_are_unsure(void **state)
{
    static const unsigned free_blocks[] = {3, 1, 5};

    make_vector(2);
    make_pool(world.arena, ARENA_AT, 0, 2, 10, NULL, 0);
    uint8_t *pool = make_pool(world.arena, ARENA_AT, 1, 2, 10, free_blocks, 3);
    put_half(pool, 0, 8); /* counted, not yet taken off the list */
    assert_int_equal(walk(0, 0), HS_OK);
    assert_int_equal(world.map.n_blocks, 17);
    assert_int_equal(world.findings.n_torn, 1);
    assert_false(world.findings.proofs[0].holds);
    assert_int_equal(hs_heap_map_span_at(&world.map, ARENA_AT + POOL + 48)->states,
                     HS_BLOCK_UNSURE);
    forget();
    put_half(pool, 0, 7);
    static const uint64_t links[] = {ARENA_AT + POOL + 48 + 3 * 48, /* to itself */
                                     ARENA_AT + POOL + 49,          /* no block */
                                     ARENA_AT + 48,
                                     UINT64_MAX,
                                     8,
                                     ARENA_AT + POOL + 48 + 10 * 48}; /* never handed out */
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++) {
        put(pool, 48 + 3 * 48, links[i]);
        assert_int_equal(walk(0, 0), HS_OK);
        assert_int_equal(world.map.n_blocks, 10 + 9);
        assert_int_equal(world.findings.n_torn, 1);
        forget();
    }
}

static void damaged_pools_are_left_out(void **state)
{
    static const struct {
        size_t at;
        uint32_t value;
    } wrong[] = {{36, 32}, {44, POOL}, {40, 47}, {40, 48 + 49}, {40, UINT32_MAX}, {0, 11}};

    make_vector(2);
    make_pool(world.arena, ARENA_AT, 0, 2, 10, NULL, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        uint8_t *pool = make_pool(world.arena, ARENA_AT, 1, 2, 10, NULL, 0);
        put_half(pool, wrong[i].at, wrong[i].value);
        assert_int_equal(walk(0, 0), HS_OK);
        assert_int_equal(world.map.n_blocks, 10);
        assert_int_equal(booked(HS_MEMORY_DAMAGED), POOL);
        assert_int_equal(world.findings.n_notes, 1);
        assert_true(world.findings.notes[0].is_gap);
        forget();
    }
}

static void vectors_have_to_prove_themselves(void **state)
{
    make_vector(1);
    make_pool(world.arena, ARENA_AT, 0, 2, 10, NULL, 0);
    put_half(world.arena, 32, 1); /* the pool says that its arena is another one */
    assert_int_equal(walk(0, 0), HS_OK);
    assert_int_equal(booked(HS_MEMORY_FREE) + booked(HS_MEMORY_LIVE) + booked(HS_MEMORY_INTERNAL),
                     POOL); /* a loose pool */
    forget();
    put_half(world.arena, 32, 0);
    static const uint64_t ends[] = {0, ARENA_AT - POOL, ARENA_AT + ARENA_BYTES + POOL, ARENA_AT + 1,
                                    UINT64_MAX};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        put(world.vector, 8, ends[i]);
        assert_int_equal(walk(0, 0), HS_OK);
        assert_int_equal(world.map.n_blocks, 10);
        assert_int_equal(
            booked(HS_MEMORY_FREE) + booked(HS_MEMORY_LIVE) + booked(HS_MEMORY_INTERNAL), POOL);
        forget();
    }
    /* every word of the data a pointer to the same thing that is none */
    for (size_t i = 0; i < TYPE_WORD; i += 8)
        put(world.data, i, VECTOR_AT + i % 64);
    assert_int_equal(walk(0, 0), HS_OK);
    assert_int_equal(world.map.n_blocks, 10);
}

static void other_programs_are_left_alone(void **state)
{
    struct hs_heap_block block = {.begin = ARENA_AT, .n_bytes = 64, .bytes = world.arena};
    char text[16];

    make_pool(world.arena, ARENA_AT, 0, 2, 10, NULL, 0);
    world.objects.n = 0;
    assert_int_equal(walk(0, 0), HS_OK);
    assert_null(world.allocator);
    assert_false(hs_allocator_cpython.objects->type_name(NULL, &block, text, sizeof text));
    assert_string_equal(hs_allocator_cpython.version(NULL), "");
}

enum { BLOCK_WORDS = 6 };

static bool name_of(const uint64_t *words, char *text, size_t n)
{
    struct hs_heap_block block = {
        .begin = STRAY_AT, .n_bytes = BLOCK_WORDS * 8, .bytes = (const uint8_t *)words};
    return hs_allocator_cpython.objects->type_name(world.allocator, &block, text, n);
}

#define WORDS(...) ((const uint64_t[BLOCK_WORDS]){__VA_ARGS__})

static void names_of_types(void **state)
{
    enum { GC = 1 << 14, DICT = 1 << 4, WEAK = 1 << 3 };
    char text[32];

    hs_addr type = make_type(0, 0, 0, GC), dict = make_type(1, 0, 5, GC);
    hs_addr plain = make_type(2, 0, 10, 0), managed = make_type(3, 1, 10, GC | DICT);
    hs_addr bad = make_type(4, 0, 18, 0), empty = make_type(5, 0, 27, 0);
    assert_int_equal(walk(0, 0), HS_OK);
    assert_true(name_of(WORDS(1, plain, 0, 0, 0, 0), text, sizeof text));
    assert_string_equal(text, "Foo.Bar");
    assert_true(name_of(WORDS(0, 0, 5, dict, 0, 0), text, sizeof text));
    assert_string_equal(text, "dict");
    assert_true(name_of(WORDS(STRAY_AT, STRAY_AT, 1, type, 0, 0), text, sizeof text));
    assert_string_equal(text, "type");
    assert_true(name_of(WORDS(0xffffffff, plain, 0, 0, 0, 0), text, 4)); /* immortal; cut */
    assert_string_equal(text, "Foo");
    /* where the flags say that it cannot stand; no count of references; names that are none */
    assert_false(name_of(WORDS(1, dict, 0, 0, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(0, 0, 1, plain, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(0, plain, 0, 0, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(STRAY_AT, plain, 0, 0, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(1, bad, 0, 0, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(1, empty, 0, 0, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(1, plain + 8, 1, UINT64_MAX, 1, 1), text, sizeof text));
    /* the type of `managed` is `dict`, whose type is `type`: a metaclass */
    assert_true(name_of(WORDS(0, 0, 0, 0, 1, managed), text, sizeof text));
    assert_string_equal(text, "Foo.Bar");
}

/* Type number i, of a program, called by the characters of a str object behind a head of so many
 * bytes. */
static hs_addr make_class(unsigned i, hs_addr str, size_t head_bytes, const char *name)
{
    enum { IS_HEAP = 1 << 9, AT_OBJECT = 184, COMPACT_ASCII = 0x60 };
    hs_addr type = make_type(i, 0, 0, IS_HEAP);
    uint8_t *bytes = world.data + TYPE_WORD + i * 256, *object = bytes + AT_OBJECT;
    put(object, 0, 1);
    put(object, 8, str);
    put(object, 16, strlen(name));
    put(object, 32, COMPACT_ASCII);
    memcpy(object + head_bytes, name, strlen(name) + 1);
    put(bytes, 24, type + AT_OBJECT + head_bytes);
    return type;
}

/* Told is what the name begins with: the rest may be data. */
static void classes_may_be_called_anything(void **state)
{
    enum { REFS_PLACE = 0, FLAGS_PLACE = 168, LENGTH_PLACE = 184 + 16 };
    char text[32];

    make_type(0, 0, 0, 0);
    hs_addr str = make_type(1, 0, 47, 0);
    hs_addr page = make_class(2, str, 40, "Page[Item]"), old = make_class(3, str, 48, "/tmp x");
    hs_addr ended = make_class(4, str, 40, "Page[Item]"), of_c = make_class(5, str, 40, "Page[a]");
    hs_addr no_text = make_class(6, page, 40, "Page[a]"), longer = make_class(7, str, 40, "Page[]");
    put(world.data + TYPE_WORD + (size_t)4 * 256, REFS_PLACE, 0);
    put(world.data + TYPE_WORD + (size_t)5 * 256, FLAGS_PLACE, 0);
    put(world.data + TYPE_WORD + (size_t)7 * 256, LENGTH_PLACE, 7);
    assert_int_equal(walk(0, 0), HS_OK);
    assert_true(name_of(WORDS(1, page, 0, 0, 0, 0), text, sizeof text));
    assert_string_equal(text, "Page[...]");
    assert_true(name_of(WORDS(1, old, 0, 0, 0, 0), text, sizeof text));
    assert_string_equal(text, "[...]");
    assert_false(name_of(WORDS(1, ended, 0, 0, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(1, of_c, 0, 0, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(1, no_text, 0, 0, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(1, longer, 0, 0, 0, 0), text, sizeof text));
}

static void chains_of_types_end(void **state)
{
    char text[32];

    make_type(0, 0, 0, 0);
    hs_addr a = make_type(1, 2, 10, 0);
    make_type(2, 1, 10, 0);                /* each the other's */
    hs_addr self = make_type(3, 3, 10, 0); /* its own, and not called "type" */
    assert_int_equal(walk(0, 0), HS_OK);
    assert_false(name_of(WORDS(1, a, 0, 0, 0, 0), text, sizeof text));
    assert_false(name_of(WORDS(1, self, 0, 0, 0, 0), text, sizeof text));
    put(world.data + TYPE_WORD, 24, UINT64_MAX); /* the name of `type` */
    assert_false(name_of(WORDS(1, make_type(4, 0, 10, 0)), text, sizeof text));
}

static struct hs_object_words words_of(const uint64_t words[BLOCK_WORDS])
{
    struct hs_heap_block block = {
        .begin = STRAY_AT, .n_bytes = BLOCK_WORDS * 8, .bytes = (const uint8_t *)words};
    struct hs_object_words ret;
    hs_allocator_cpython.objects->words(world.allocator, &block, &ret);
    return ret;
}

static void words_that_own_nothing(void **state)
{
    enum { GC = 1 << 14, DICT = 1 << 4, WEAK = 1 << 3, WEAK_LIST = 208, BASE = 256 };

    hs_addr type = make_type(0, 0, 0, GC), plain = make_type(1, 0, 10, 0);
    hs_addr managed = make_type(2, 0, 10, GC | DICT | WEAK), listed = make_type(3, 0, 10, GC);
    hs_addr reference = make_type(4, 0, 29, GC), derived = make_type(5, 0, 10, GC | DICT);
    put(world.data + TYPE_WORD + 3 * 256, WEAK_LIST, 24);
    put(world.data + TYPE_WORD + 5 * 256, BASE, reference);
    put(world.data + TYPE_WORD + 1 * 256, WEAK_LIST, (uint64_t)-32);
    assert_int_equal(walk(0, 0), HS_OK);
    struct hs_object_words words = words_of(WORDS(0, 0, 1, type, 0, 0));
    assert_true(words.is_tracked && words.links == 3 && words.weak == 0);
    words = words_of(WORDS(1, plain, 0, 0, 0, 0));
    assert_true(!words.is_tracked && words.links == 0 && words.weak == 0);
    words = words_of(WORDS(0, 0, 0, 0, 1, managed)); /* the first word is its weak references */
    assert_true(words.is_tracked && words.links == 3 << 2 && words.weak == 1);
    words = words_of(WORDS(0, 0, 1, listed, 0, 0));
    assert_true(words.links == 3 && words.weak == 1 << (2 + 3));
    words = words_of(WORDS(0, 0, 1, reference, 0, 0));
    assert_true(words.links == (3 | 3 << (2 + 5)) && words.weak == 1 << (2 + 2));
    words = words_of(WORDS(0, 0, 0, 0, 1, derived));
    assert_true(words.links == (3 << 2 | 3 << (4 + 5)) && words.weak == 1 << (4 + 2));
    words = words_of(WORDS(STRAY_AT, 0, 0, 0, 0, 0));
    assert_true(!words.is_tracked && words.links == 0 && words.weak == 0);
}

static void words_of_data(void **state)
{
    make_type(0, 0, 0, 0);
    hs_addr bytes = make_type(1, 0, 41, 0), text = make_type(2, 0, 47, 0);
    hs_addr plain = make_type(3, 0, 10, 0);
    assert_int_equal(walk(0, 0), HS_OK);
    assert_int_equal(words_of(WORDS(1, bytes, 0, 0, 0, 0)).n_owning, 2);
    assert_int_equal(words_of(WORDS(1, plain, 0, 0, 0, 0)).n_owning, UINT64_MAX);
    assert_int_equal(words_of(WORDS(0, 0, 0, 0, 0, 0)).n_owning, UINT64_MAX);
    /* compact text of ASCII before and since 3.14, then of Latin-1, then not compact */
    assert_int_equal(words_of(WORDS(1, text, 5, 0, 0xe5, 0)).n_owning, 6);
    assert_int_equal(words_of(WORDS(1, text, 5, 0, 0x190001, 0)).n_owning, 6);
    assert_int_equal(words_of(WORDS(1, text, 5, 0, 0xa5, 0)).n_owning, 10);
    assert_int_equal(words_of(WORDS(1, text, 5, 0, 0xc4, 0)).n_owning, 10);
    assert_int_equal(words_of(WORDS(1, text, 5, 0, 0x90001, 0)).n_owning, 10);
}

static bool is_list_end(const uint64_t words[BLOCK_WORDS], hs_addr slot, uint64_t word)
{
    struct hs_heap_block block = {
        .begin = STRAY_AT, .n_bytes = BLOCK_WORDS * 8, .bytes = (const uint8_t *)words};
    return hs_allocator_cpython.objects->is_list_end(world.allocator, &block, slot, word);
}

static void ends_of_the_list_of_the_tracked(void **state)
{
    enum { GC = 1 << 14, DICT = 1 << 4, SLOT = 0x5000 };

    hs_addr type = make_type(0, 0, 0, GC), managed = make_type(1, 0, 10, GC | DICT);
    hs_addr plain = make_type(2, 0, 10, 0);
    assert_int_equal(walk(0, 0), HS_OK);
    /* the first: its gc_prev leads to the head, flags in the low bits; the last: its gc_next */
    assert_true(is_list_end(WORDS(STRAY_AT + 64, SLOT | 1, 1, type), SLOT, STRAY_AT));
    assert_true(is_list_end(WORDS(SLOT, STRAY_AT + 64, 1, type), SLOT + 8, STRAY_AT));
    assert_true(is_list_end(WORDS(0, 0, 0, SLOT, 1, managed), SLOT, STRAY_AT + 16));
    assert_false(is_list_end(WORDS(STRAY_AT + 64, SLOT, 1, type), SLOT + 8, STRAY_AT));
    assert_false(is_list_end(WORDS(STRAY_AT + 64, SLOT, 1, type), SLOT, STRAY_AT + 16));
    assert_false(is_list_end(WORDS(0, 0, 1, type), SLOT, STRAY_AT));
    assert_false(is_list_end(WORDS(1, plain, 0, SLOT), SLOT, STRAY_AT));
    assert_false(hs_allocator_cpython.objects->is_list_end(NULL, &(struct hs_heap_block){0}, SLOT,
                                                           STRAY_AT));
}

static void parts_of_objects(void **state)
{
    enum { GC = 1 << 14, DICT = 1 << 4, IS_LIST = 1 << 25, IS_DICT = 1 << 29 };
    struct hs_object_part parts[HS_OBJECT_PARTS];
    uint64_t words[BLOCK_WORDS] = {0, 0, 1};
    struct hs_heap_block block = {
        .begin = STRAY_AT, .n_bytes = sizeof words, .bytes = (const uint8_t *)words};

    words[3] = make_type(0, 0, 0, GC);
    hs_addr list = make_type(1, 0, 10, GC | IS_LIST), set = make_type(2, 0, 37, GC);
    hs_addr dict = make_type(3, 0, 10, GC | DICT | IS_DICT);
    assert_int_equal(walk(0, 0), HS_OK);
    assert_int_equal(hs_allocator_cpython.objects->parts(world.allocator, &block, parts), 0);
    words[3] = list;
    assert_int_equal(hs_allocator_cpython.objects->parts(world.allocator, &block, parts), 1);
    assert_int_equal(parts[0].at, 16 + 24);
    assert_string_equal(parts[0].name, "list items");
    words[3] = set;
    assert_int_equal(hs_allocator_cpython.objects->parts(world.allocator, &block, parts), 1);
    assert_int_equal(parts[0].at, 16 + 40);
    words[3] = 0;
    words[4] = 1;
    words[5] = dict;
    assert_int_equal(hs_allocator_cpython.objects->parts(world.allocator, &block, parts), 4);
    assert_int_equal(parts[1].at, 32 + 40);
    assert_string_equal(parts[2].name, "instance values");
    assert_int_equal(hs_allocator_cpython.objects->parts(NULL, &block, parts), 0);
}

static void every_allocation_may_fail(void **state)
{
    make_vector(1);
    make_pool(world.arena, ARENA_AT, 0, 2, 10, NULL, 0);
    make_pool(world.stray, STRAY_AT, 1, 4, 20, NULL, 0);
    FAIL_EACH (each, .at_least = 8, .keeps = true) {
        if (FAIL_EACH_TRY(each, walk(0, 0)) != HS_OK)
            forget();
    }
    assert_int_equal(world.map.n_blocks, 30);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(pools_of_an_arena),
        CASE(pools_of_unknown_arenas),
        CASE(own_tables_are_no_blocks),
        CASE(torn_pools_are_unsure),
        CASE(damaged_pools_are_left_out),
        CASE(vectors_have_to_prove_themselves),
        CASE(other_programs_are_left_alone),
        CASE(names_of_types),
        CASE(classes_may_be_called_anything),
        CASE(chains_of_types_end),
        CASE(words_that_own_nothing),
        CASE(words_of_data),
        CASE(ends_of_the_list_of_the_tracked),
        CASE(parts_of_objects),
        CASE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
