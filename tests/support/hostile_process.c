/* links: hs_dump hs_native hs_runtimes hs_heaps hs_process hs_format hs_symbols hs_base */
#include "hostile_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "process/image_shadow.h"

#define DATA FAKE_DATA_AT /* jemalloc's is there too */
#define BIAS (DATA - 0x3000)
#define DEBUG_AT (p->data_at + 0x3080) /* r_debug */
#define MAP_AT (p->data_at + 0x3100)   /* its first entry */
#define REGISTRY_AT (p->data_at + 0x2800)
#define VECTOR_AT (p->data_at + 0x2b00) /* Python's arenas */
#define TYPES_AT (p->data_at + 0x2c00)  /* Python's "type" and "dict" */
#define TABLE_AT (p->data_at + 0x2f00)  /* a virtual table */
#define GLOBALS_AT (p->data_at + 0x3800)
#define NOTE_VADDR 0x300
#define NAME_VADDR 0x1800 /* names in constant memory */
#define POOL_BYTES ((uint64_t)4096)

_Static_assert(FAKE_DATA_AT == FAKE_JE_DATA_AT, "one program for both");

static struct hs_error fatal;

#define MUST(call)                                                   \
    do {                                                             \
        if ((call) != HS_OK) {                                       \
            (void)fprintf(stderr, "%s: %s\n", #call, fatal.message); \
            abort();                                                 \
        }                                                            \
    } while (0)

static uint64_t *word_at(struct hostile_process *p, hs_addr at)
{
    for (size_t i = 0; i < p->n_areas; i++)
        if (at >= p->areas[i].at && at - p->areas[i].at < p->areas[i].n_bytes)
            return &p->areas[i].words[(at - p->areas[i].at) / 8];
    abort();
}

static void put(struct hostile_process *p, hs_addr at, uint64_t word)
{
    *word_at(p, at) = word;
}

static void put_text(struct hostile_process *p, hs_addr at, const char *text)
{
    memcpy(word_at(p, at), text, strlen(text) + 1);
}

static void put_bytes(struct hostile_process *p, hs_addr at, const uint32_t *halves, size_t n)
{
    memcpy(word_at(p, at), halves, n * sizeof *halves);
}

static void add_area(struct hostile_process *p, hs_addr at, void *words, size_t n_bytes)
{
    p->areas[p->n_areas++] = (struct hostile_area){at, words, n_bytes};
}

/* ---- heaps */

static void add_mmapped(struct hostile_process *p)
{
    fake_params(p->glibc, 2, 0x5000);
    put(p, FAKE_MAP_AT + 8, 0x3000 | GLIBC_IS_MMAPPED);
    put(p, FAKE_MAP_AT + 0x3008, 0x2000 | GLIBC_IS_MMAPPED);
}

/* Every kind of chunk, in the break and in an arena of two heaps. */
static void make_glibc(struct hostile_process *p, unsigned layout)
{
    static const struct fake_sizes small = {0x4000, 0x4000, 0x8000};
    struct fake_glibc *g = p->glibc =
        p->is_small ? fake_glibc_sized(layout, &small) : fake_glibc_new(layout);
    const hs_addr heap_end = FAKE_HEAP_AT + g->sizes.heap;
    struct fake_pen pen = fake_pen_main(g, FAKE_BREAK_AT);

    add_area(p, FAKE_DATA_AT, g->data, sizeof g->data);
    add_area(p, FAKE_BREAK_AT, g->brk, g->sizes.brk);
    add_area(p, FAKE_HEAP_AT, g->heaps[0], g->sizes.heap);
    add_area(p, FAKE_HEAP_AT + FAKE_HEAP_MAX, g->heaps[1], g->sizes.heap);
    add_area(p, FAKE_MAP_AT, g->maps, g->sizes.maps);
    add_area(p, FAKE_TLS_AT, g->tls, sizeof g->tls);
    *fake_tcache_slot(g, 0) = fake_used(&pen, layout == 2 ? 0x300 : layout == 1 ? 0x250 : 0x290);
    for (unsigned i = 0; i < 40; i++) {
        fake_used(&pen, 48);
        fake_used(&pen, 32 + 16 * (i % 7));
        if (i % 8 == 0)
            fake_freed(&pen, 0x100);
    }
    fake_fence(&pen);
    pen.at += 0x1000;
    for (unsigned i = 0; i < 20; i++)
        fake_used(&pen, 64);
    fake_top(&pen, FAKE_BREAK_AT + g->sizes.brk);
    struct fake_pen arena = fake_arena(g, layout == 0 ? 48 : 32);
    fake_used(&arena, 0x2000);
    fake_freed(&arena, 0x1010);
    for (; arena.at < heap_end - 0x400;)
        fake_used(&arena, 0x200);
    fake_used(&arena, heap_end - 32 - arena.at);
    fake_heap_fence(&arena);
    struct fake_pen second = fake_second_heap(g, layout == 0 ? 48 : 32);
    fake_used(&second, 0x80);
    fake_top(&second, heap_end + FAKE_HEAP_MAX);
    add_mmapped(p);
}

static void make_jemalloc(struct hostile_process *p, bool is_52)
{
    struct fake_jemalloc *j = &p->jemalloc;
    const uint64_t live[8] = {0x5555555555555555, 0xff, 1, 0, 3, 0, 7, 0};

    if (p->is_small)
        fake_jemalloc_init_small(j, is_52, 24);
    else
        fake_jemalloc_init(j, 57, is_52);
    add_area(p, FAKE_JE_DATA_AT, j->data, j->data_bytes);
    add_area(p, FAKE_JE_BASE_AT, j->base, j->base_bytes);
    add_area(p, FAKE_JE_HEAP_AT, j->heap, j->heap_pages * JEMALLOC_PAGE);
    add_area(p, FAKE_JE_TLS_AT, j->tls, j->tls_stride * FAKE_JE_THREADS);
    unsigned small = fake_jemalloc_slab(j, 1, 2, live);
    fake_jemalloc_slab(j, 3, 3, live);
    fake_jemalloc_extent(j, 5, 232, false, JEMALLOC_DIRTY);
    unsigned stack = fake_jemalloc_extent(j, 5, 36, false, JEMALLOC_ACTIVE);
    fake_jemalloc_extent(j, 9, 232, false, JEMALLOC_RETAINED);
    hs_addr cached[2] = {fake_jemalloc_begin(j, small), fake_jemalloc_begin(j, small) + 64};
    for (unsigned i = 0; i < 2; i++)
        fake_jemalloc_cache(j, i, fake_jemalloc_begin(j, stack), 2, cached, 2);
}

/* ---- what lies in the program's data */

static void make_registered(struct hostile_process *p)
{
    hs_addr record = REGISTRY_AT + 0x40;
    uint32_t head[8] = {0};

    memcpy(head, "heapsnap", 8);
    head[2] = 1;
    head[3] = 128;
    put_bytes(p, REGISTRY_AT, head, 8);
    put(p, REGISTRY_AT + 16, record);
    for (unsigned i = 0; i < 3; i++, record += 128) {
        bool is_root = i == 0;
        put(p, record, is_root ? 1 : 2);
        put(p, record + 8, i == 2 ? 0 : record + 128);
        put(p, record + 24, is_root ? GLOBALS_AT : HOSTILE_STACK_AT + 0x1000 * i);
        put(p, record + 32, is_root ? 64 : 512);
        put(p, record + 40, i == 2 ? 0 : 64);
        put(p, record + 48, i == 1 ? REGISTRY_AT + 0x30 : 0);
        put_text(p, record + 64, is_root ? "globals" : "cells");
    }
    put(p, REGISTRY_AT + 0x30, 0x7f);
}

static void make_link_map(struct hostile_process *p)
{
    const uint64_t tls[7] = {BIAS + 0x3000, 0x40, 0x40, 8, 0, 0x40, 1};

    put(p, DEBUG_AT, 1);
    put(p, DEBUG_AT + 8, MAP_AT);
    put(p, MAP_AT, BIAS);
    for (unsigned i = 0; i < 7; i++)
        put(p, MAP_AT + 0x100 + 8 * (hs_addr)i, tls[i]);
}

static void make_python(struct hostile_process *p)
{
    uint32_t counts[2] = {1, 64};
    hs_addr type = TYPES_AT, dict = TYPES_AT + 0x100;

    put(p, type + 8, type);
    put(p, dict + 8, type);
    put(p, type + 24, TYPES_AT + 0x200);
    put(p, dict + 24, TYPES_AT + 0x208);
    put_text(p, TYPES_AT + 0x200, "type");
    put_text(p, TYPES_AT + 0x208, "dict");
    put(p, GLOBALS_AT + 0x100, VECTOR_AT);
    put(p, VECTOR_AT, FAKE_MAP_AT);
    put(p, VECTOR_AT + 8, FAKE_MAP_AT + 8 * POOL_BYTES);
    put_bytes(p, VECTOR_AT + 16, counts, 2);
    memset(word_at(p, FAKE_MAP_AT), 0, p->glibc->sizes.maps);
    for (unsigned i = 0; i < 8; i++) {
        hs_addr pool = FAKE_MAP_AT + i * POOL_BYTES, first = pool + 48;
        uint32_t size = 32, tail[4] = {0, 1, 48 + 16 * size, (uint32_t)POOL_BYTES - size};
        put(p, pool, 14);
        put(p, pool + 8, first);
        put(p, first, first + size);
        put_bytes(p, pool + 32, tail, 4);
        for (unsigned k = 2; k < 16; k++) {
            put(p, first + k * size, 1);
            put(p, first + k * size + 8, dict);
            put(p, first + k * size + 16, first + (k + 1) * size);
        }
    }
}

/* Objects of a class, a ring of nodes, pointers of all sorts in blocks, globals and stacks. */
static void make_graph(struct hostile_process *p)
{
    hs_addr heap = p->glibc != NULL ? FAKE_BREAK_AT + 0x2a0 : FAKE_JE_HEAP_AT;
    hs_addr fs_base = p->dump.target.threads[0].regs.fs_base;

    put(p, TABLE_AT + 8, TABLE_AT + 0x40);
    put(p, TABLE_AT + 0x40, TABLE_AT + 0x10);
    put(p, TABLE_AT + 0x48, BIAS + NAME_VADDR);
    for (hs_addr i = 0; i < 32; i++) {
        if (p->glibc == NULL || i % 2 == 0)
            put(p, heap + 8 * i * (p->glibc == NULL), TABLE_AT + 16);
        put(p, GLOBALS_AT + 8 * i, heap + 32 * i);
        put(p, HOSTILE_STACK_AT + 0x2100 + 64 * i, heap + 48 * i);
        put(p, HOSTILE_STACK_AT + 0x2108 + 64 * i, BIAS + 0x1000 + 16 * i);
    }
    for (unsigned i = 0; i < 2; i++, fs_base = p->dump.target.threads[1].regs.fs_base) {
        put(p, fs_base - 0x40, heap);
        if (i == 1 && p->glibc == NULL)
            break;
        put(p, fs_base, fs_base);
        put(p, fs_base + 8, fs_base + 0x400);
        put(p, fs_base + 16, fs_base);
        put(p, fs_base + 0x3f0, 2);
        put(p, fs_base + 0x410, fs_base - 0x40);
    }
}

/* ---- the process around it */

static uint64_t bss_bytes(const struct hostile_process *p)
{
    return p->is_small ? UINT64_C(1) << 26 : HOSTILE_BSS_BYTES;
}

static void make_program(struct hostile_process *p)
{
    struct elf_writer *w = &p->writer;
    struct hs_object *o = &p->object;
    size_t n_bytes = p->areas[0].n_bytes + (p->is_sparse ? bss_bytes(p) : 0);
    uint32_t note[10] = {9, 16, 1};
    uint64_t distance = REGISTRY_AT - (BIAS + NOTE_VADDR + 32);

    memcpy(note + 3, "heapsnap", 9);
    note[6] = 1;
    memcpy(note + 8, &distance, 8);
    memcpy(p->note, note, sizeof note);
    memset(p->text, 0xe8, 0x200);
    memcpy(p->text + (NAME_VADDR - 0x1000), "N2ns6WidgetE", 13);
    elf_writer_init(w);
    size_t text = elf_writer_section(w, ".text", SHT_PROGBITS, 0x1000, p->text, sizeof p->text);
    size_t data = elf_writer_section(w, ".data", SHT_PROGBITS, 0x3000, p->areas[0].words, 0x4000);
    size_t notes = elf_writer_section(w, ".note", SHT_NOTE, NOTE_VADDR, p->note, sizeof note);
    w->sections[notes].sh_flags = SHF_ALLOC;
    elf_writer_segment(w, PT_LOAD, PF_R, NOTE_VADDR, sizeof note, notes);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_X, 0x1000, sizeof p->text, text);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, 0x3000, n_bytes, data);
    elf_writer_segment(w, PT_TLS, PF_R, 0x3000, 0x40, 0);
    elf_writer_symbol(w, "main", STT_FUNC, STB_GLOBAL, 0x1000, 256, (uint16_t)text);
    elf_writer_symbol(w, "__gxx_personality_v0", STT_FUNC, STB_GLOBAL, 0x1200, 16, (uint16_t)text);
    elf_writer_symbol(w, "_r_debug", STT_OBJECT, STB_GLOBAL, DEBUG_AT - BIAS, 40, (uint16_t)data);
    elf_writer_symbol(w, "table", STT_OBJECT, STB_LOCAL, GLOBALS_AT - BIAS, 128, (uint16_t)data);
    elf_writer_symbol(w, "_PyRuntime", STT_OBJECT, STB_GLOBAL, VECTOR_AT - BIAS, 8, (uint16_t)data);
    elf_writer_finish(w);
    MUST(hs_elf_open_memory(w->bytes, w->n_bytes, "prog", &o->elf, &fatal));
    o->name = o->path = (char *)"prog";
    o->bias = BIAS;
    o->begin = BIAS;
    o->end = DATA + n_bytes;
    o->is_executable = true;
    p->dump.objects = (struct hs_objects){.objects = o, .n = 1, .capacity = 1};
}

static void add_mapping(struct hostile_process *p, const struct hs_mapping *mapping)
{
    struct hs_target *t = &p->dump.target;
    size_t at = t->n_mappings++;

    for (; at > 0 && p->mappings[at - 1].begin > mapping->begin; at--)
        p->mappings[at] = p->mappings[at - 1];
    p->mappings[at] = *mapping;
}

/* Memory of which the page in the middle is all that was ever touched. */
static void add_sparse(struct hostile_process *p, hs_addr begin, uint64_t n_bytes)
{
    struct hs_image *image = &p->dump.image;
    struct hs_image_shadow shadow = {.begin = begin, .end = begin + n_bytes};
    uint64_t page = n_bytes / 8192, word = p->areas[1].at + 16;
    size_t at = 0;

    MUST(hs_image_shadow_reserve(NULL, &shadow, &fatal));
    hs_image_shadow_set_present(&shadow, begin + page * 4096, begin + (page + 1) * 4096);
    memcpy(shadow.bytes + page * 4096, &word, sizeof word);
    MUST(hs_grow((void **)&image->shadows, &image->shadows_capacity, image->n_shadows + 1,
                 sizeof *image->shadows, &fatal));
    MUST(hs_grow((void **)&image->ranges, &image->capacity, image->n_ranges + 1,
                 sizeof *image->ranges, &fatal));
    while (at < image->n_ranges && image->ranges[at].begin < begin)
        at++;
    memmove(image->ranges + at + 1, image->ranges + at,
            (image->n_ranges++ - at) * sizeof *image->ranges);
    image->ranges[at] =
        (struct hs_image_range){begin, begin + n_bytes, shadow.bytes, n_bytes, image->n_shadows};
    image->shadows[image->n_shadows++] = shadow;
    add_mapping(p, &(struct hs_mapping){
                       .begin = begin, .end = begin + n_bytes, .readable = true, .writable = true});
}

static void make_target(struct hostile_process *p)
{
    static const char paths[] = "\0/bin/prog\0[heap]\0[stack]";
    struct hs_target *t = &p->dump.target;

    memcpy(p->paths, paths, sizeof paths);
    *t = (struct hs_target){.pid = 7,
                            .command = (char *)"prog",
                            .mappings = p->mappings,
                            .threads = p->threads,
                            .n_threads = 3,
                            .path_text = p->paths,
                            .path_text_bytes = sizeof paths,
                            .live = {.pid = 7, .pagemap_fd = -1, .mem_fd = -1}};
    for (size_t i = 0; i < p->n_areas; i++) {
        hs_addr at = p->areas[i].at;
        bool is_data = i == 0, is_stack = at == HOSTILE_STACK_AT;
        add_mapping(p, &(struct hs_mapping){.begin = at,
                                            .end = at + p->areas[i].n_bytes,
                                            .inode = is_data ? 9 : 0,
                                            .readable = true,
                                            .writable = true,
                                            .path_at = is_data               ? 1
                                                       : at == FAKE_BREAK_AT ? 11
                                                       : is_stack            ? 18
                                                                             : 0});
        MUST(hs_image_add(&p->dump.image, at, p->areas[i].words, p->areas[i].n_bytes, &fatal));
    }
    if (p->is_sparse) {
        add_sparse(p, HOSTILE_RESERVE_AT, p->is_small ? UINT64_C(1) << 30 : HOSTILE_RESERVE_BYTES);
        add_sparse(p, DATA + p->areas[0].n_bytes, bss_bytes(p));
    }
    add_mapping(p, &(struct hs_mapping){.begin = BIAS,
                                        .end = DATA,
                                        .inode = 9,
                                        .readable = true,
                                        .executable = true,
                                        .path_at = 1});
    for (size_t i = 0; i < 3; i++) {
        p->threads[i] = p->glibc != NULL ? p->glibc->threads[i] : p->jemalloc.threads[i];
        p->threads[i].tid = 7 + (pid_t)i;
        p->threads[i].regs.rip = BIAS + 0x1010;
        p->threads[i].regs.rsp = HOSTILE_STACK_AT + 0x2000 + 0x800 * i;
        p->threads[i].regs.rbp = p->threads[i].regs.rsp + 0x40;
    }
}

/* ---- damage */

static void list_words(struct hostile_process *p)
{
    for (size_t i = 0; i < p->n_areas; i++)
        for (size_t k = 0; k < p->areas[i].n_bytes / 8; k++)
            if (p->areas[i].words[k] != 0 && p->n_words < HOSTILE_WORDS)
                p->words[p->n_words++] = p->areas[i].at + 8 * k;
}

static hs_addr known_word(const struct hostile_process *p, unsigned number)
{
    return p->words[number % p->n_words];
}

static uint64_t hostile_value(struct hostile_process *p, unsigned kind, unsigned argument,
                              uint64_t old, hs_addr at)
{
    static const uint64_t values[] = {
        0,  UINT64_MAX, 1,    7,    8,    16,     17,      31,         32,
        33, 0x21,       0x31, 4096, 4095, 0xffff, 1 << 20, UINT32_MAX, UINT64_C(1) << 32};

    switch (kind % 12) {
    case 0:
        return values[argument % (sizeof values / sizeof values[0])];
    case 1:
        return known_word(p, argument);
    case 2:
        return *word_at(p, known_word(p, argument));
    case 3:
        return at + 8 * (uint64_t)(int64_t)(int16_t)argument;
    case 4:
        return old + 8 * (uint64_t)(int64_t)(int16_t)argument;
    case 5:
        return old ^ UINT64_C(1) << argument % 64;
    case 6:
        return UINT64_C(1) << argument % 64;
    case 7:
        return (UINT64_C(1) << 47) - argument;
    case 8:
        return (at & ~UINT64_C(4095)) + 16 * (uint64_t)(argument % 1024);
    case 9:
        return known_word(p, argument) - 16;
    case 10:
        return -(uint64_t)argument;
    default:
        return (uint64_t)argument << (argument % 48);
    }
}

static void damage_thread(struct hostile_process *p, unsigned number, uint64_t value)
{
    struct hs_regs *r = &p->threads[number % 3].regs;

    switch (number / 3 % 5) {
    case 0:
        r->rsp = value;
        break;
    case 1:
        r->rip = value;
        break;
    case 2:
        r->rbp = value;
        break;
    case 3:
        r->fs_base = value;
        break;
    default:
        r->rbx = value;
        break;
    }
}

static void damage_mapping(struct hostile_process *p, unsigned number, unsigned how)
{
    struct hs_mapping *m = &p->mappings[number % p->dump.target.n_mappings];

    m->readable ^= (how & 1) != 0;
    m->writable ^= (how & 2) != 0;
    m->shared ^= (how & 4) != 0;
    m->inode = (how & 8) != 0 ? 9 : m->inode;
    m->path_at = (how & 16) != 0 ? 0 : m->path_at;
}

static void damage(struct hostile_process *p, const uint8_t operation[HOSTILE_OPERATION_BYTES])
{
    unsigned what = operation[0], kind = operation[1];
    unsigned place = operation[2] | (unsigned)operation[3] << 8;
    unsigned argument = operation[4] | (unsigned)operation[5] << 8;

    if (what < 4) {
        damage_mapping(p, place, argument);
        return;
    }
    if (what < 20) {
        damage_thread(p, place, hostile_value(p, kind, argument, 0, known_word(p, place)));
        return;
    }
    hs_addr at = known_word(p, place);
    if (what >= 160) {
        const struct hostile_area *area = &p->areas[what % p->n_areas];
        at = area->at + 8 * (place % (area->n_bytes / 8));
    }
    uint64_t *word = word_at(p, at);
    *word = hostile_value(p, kind, argument, *word, at);
}

static void open_runtime(struct hostile_process *p)
{
    struct hs_serving *serving = &p->dump.serving[p->dump.n_serving++];

    serving->runtime = &hs_runtime_native;
    MUST(hs_runtime_native.open(&p->dump, &serving->state, &fatal));
    p->native = serving->state; /* stands first in it */
}

struct hostile_process *hostile_process_new(const uint8_t *bytes, size_t n_bytes)
{
    unsigned kind = n_bytes > 0 ? bytes[0] % HOSTILE_KINDS : 0;
    unsigned flags = n_bytes > 1 ? bytes[1] : 0;
    bool is_small = (flags & HOSTILE_SMALL) != 0;
    size_t n_threads = is_small ? 3 : HOSTILE_THREADS;
    struct hostile_process *p = calloc(1, sizeof *p + n_threads * sizeof p->threads[0]);

    if (p == NULL)
        abort();
    p->is_small = is_small;
    p->is_sparse = (flags & HOSTILE_SPARSE) != 0;
    p->data_at = DATA; /* behind the root of the tree */
    if (kind >= 4)
        p->data_at += is_small ? FAKE_JE_SMALL_ROOT_BYTES + 0x4000 : 0x100000;
    if (kind < 4)
        make_glibc(p, kind % 3);
    else
        make_jemalloc(p, kind == 4);
    add_area(p, HOSTILE_STACK_AT, p->stack, sizeof p->stack);
    make_target(p);
    make_registered(p);
    make_link_map(p);
    if (kind == 3)
        make_python(p);
    make_graph(p);
    make_program(p);
    list_words(p);
    p->options.no_names = (flags & HOSTILE_NO_NAMES) != 0;
    p->options.pointer_mask = (flags & HOSTILE_MASK) != 0 ? 7 : 0;
    p->options.tool_version = "0";
    p->dump.options = &p->options;
    p->object.debug_tried = true;
    hs_dump_bind(&p->dump);
    open_runtime(p);
    for (size_t i = 2; i + HOSTILE_OPERATION_BYTES <= n_bytes; i += HOSTILE_OPERATION_BYTES)
        damage(p, bytes + i);
    return p;
}

void hostile_process_free(struct hostile_process *p)
{
    struct hs_dump *d = &p->dump;

    hs_runtime_native.close(d->serving[0].state);
    hs_heaps_close(&d->heaps);
    hs_findings_fini(&d->findings);
    hs_image_fini(&d->image);
    hs_strtab_fini(&d->strings);
    hs_cfi_close(p->object.cfi);
    hs_dwarf_box_free(d->objects.box);
    hs_elf_close(p->object.elf);
    if (p->glibc != NULL)
        fake_glibc_free(p->glibc);
    else
        fake_jemalloc_fini(&p->jemalloc);
    free(p);
}
