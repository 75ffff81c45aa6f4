/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* fuzz: -entropic=0 */
/* A valid OCaml 4 process and any damage to its memory. The first byte chooses what is asked: the
 * list of its chunks and its bounds (locate), or blocks, roots, marks and the snapshot that comes
 * of them. Then comes the damage (word_damage.h). */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fake_dump.h"
#include "fake_roots.h"
#include "ocaml/locate.h"
#include "symbols/elf.h"
#include "word_damage.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { PAGE = 512 };
#define MUST(call)           \
    do {                     \
        if ((call) != HS_OK) \
            abort();         \
    } while (0)

/* ---- the list of chunks */

#define BIAS UINT64_C(0x550000000000)
#define DATA_AT (BIAS + 0x3000)
#define STATE_AT UINT64_C(0x7e0000000000)
#define CHUNKS_AT UINT64_C(0x7f0000000000)

enum { N_CHUNKS = 3, CHUNK_PAGES = 4, DATA_ATOMS = 3, DATA_SEGMENTS = 4, CODE_SEGMENTS = 14 };

struct listed {
    uint64_t data[PAGE], state[PAGE], heap[N_CHUNKS * CHUNK_PAGES * PAGE];
    struct elf_writer writer;
    struct hs_target target;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_ocaml rt;
};

static void listed_fill(struct listed *l, unsigned head_words)
{
    static const struct {
        uint8_t word;
        uint64_t value;
    } variables[] = {{0, STATE_AT},
                     {1, CHUNKS_AT + PAGE * 8},
                     {2, DATA_AT + 0x700},
                     {DATA_ATOMS, DATA_AT + 0x100},
                     {DATA_SEGMENTS, DATA_AT + 0x400},
                     {DATA_SEGMENTS + 1, DATA_AT + 0x500},
                     {CODE_SEGMENTS, BIAS + 0x3801},
                     {CODE_SEGMENTS + 1, BIAS + 0x3900}};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        l->data[variables[i].word] = variables[i].value;
    l->state[1] = STATE_AT + 0x800;
    l->state[4] = l->state[6] = STATE_AT + 0x400;
    l->state[5] = l->state[7] = STATE_AT + 0xc00;
    l->state[42] = N_CHUNKS * 2 * PAGE;
    l->state[46] = N_CHUNKS;
    for (uint64_t i = 0; i < N_CHUNKS; i++) {
        uint64_t first = (i * CHUNK_PAGES + 1) * PAGE;
        uint64_t *head = &l->heap[first - head_words];
        head[0] = CHUNKS_AT + first * 8 - 4096;
        head[2] = 2 * PAGE * 8;
        head[3] = i + 1 < N_CHUNKS ? CHUNKS_AT + (first + CHUNK_PAGES * PAGE) * 8 : 0;
    }
}

static void listed_open(struct listed *l)
{
    static const char *const names[] = {"Caml_state", "caml_heap_start", "caml_ephe_none",
                                        "caml_atom_table", "caml_data_segments"};
    static const char *const others[] = {"caml_code_segments", "caml_frametable", "caml_globals",
                                         "caml_do_exit"};
    struct hs_error err = HS_ERROR_INIT;
    elf_writer_init(&l->writer);
    size_t data =
        elf_writer_section(&l->writer, ".data", SHT_PROGBITS, 0x3000, l->data, sizeof l->data);
    elf_writer_segment(&l->writer, PT_LOAD, PF_R | PF_W, 0x3000, sizeof l->data, data);
    for (size_t i = 0; i < 5; i++)
        elf_writer_symbol(&l->writer, names[i], STT_OBJECT, STB_GLOBAL, 0x3000 + 8 * i, 8,
                          (uint16_t)data);
    for (size_t i = 0; i < 4; i++)
        elf_writer_symbol(&l->writer, others[i], STT_OBJECT, STB_GLOBAL,
                          i == 0 ? 0x3000 + 8 * CODE_SEGMENTS : 0x3800, 8, (uint16_t)data);
    elf_writer_finish(&l->writer);
    MUST(hs_elf_open_memory(l->writer.bytes, l->writer.n_bytes, "program", &l->object.elf, &err));
    l->object = (struct hs_object){.elf = l->object.elf,
                                   .bias = BIAS,
                                   .begin = DATA_AT,
                                   .end = DATA_AT + sizeof l->data,
                                   .is_executable = true,
                                   .name = (char *)"program"};
    l->objects = (struct hs_objects){.objects = &l->object, .n = 1, .capacity = 1};
    MUST(hs_image_add(&l->image, DATA_AT, l->data, sizeof l->data, &err));
    MUST(hs_image_add(&l->image, STATE_AT, l->state, sizeof l->state, &err));
    MUST(hs_image_add(&l->image, CHUNKS_AT, l->heap, sizeof l->heap, &err));
    l->rt = (struct hs_ocaml){.target = &l->target,
                              .image = &l->image,
                              .objects = &l->objects,
                              .strings = &l->strings,
                              .findings.strings = &l->strings};
}

static void fuzz_locate(const uint8_t *bytes, size_t n_bytes, unsigned head_words)
{
    struct hs_error err = HS_ERROR_INIT;
    struct listed *l = calloc(1, sizeof *l);
    struct damage_areas areas = {0};
    if (l == NULL)
        abort();
    listed_fill(l, head_words);
    damage_add(&areas, DATA_AT, l->data, PAGE);
    damage_add(&areas, STATE_AT, l->state, 64);
    for (unsigned i = 0; i < N_CHUNKS; i++) /* the heads */
        damage_add(&areas, CHUNKS_AT + ((uint64_t)i * CHUNK_PAGES + 1) * PAGE * 8 - 64,
                   &l->heap[((size_t)i * CHUNK_PAGES + 1) * PAGE - 8], 8);
    damage_apply(&areas, bytes, n_bytes);
    listed_open(l);
    hs_status status = hs_ocaml_locate(&l->rt, &err);
    assert(status == HS_OK || status == HS_TARGET);
    if (status == HS_OK) {
        assert(l->rt.chunks.n > 0 && l->rt.findings.n_proofs >= 2);
        damage_check_spans(&l->rt.chunks);
        damage_check_ranges(&l->rt.statics);
        damage_check_ranges(&l->rt.code);
        assert(l->rt.young_start <= l->rt.young_ptr && l->rt.young_ptr <= l->rt.young_end);
    }
    hs_ocaml_fini(&l->rt);
    hs_image_fini(&l->image);
    hs_strtab_fini(&l->strings);
    hs_elf_close(l->object.elf);
    free(l);
}

/* ---- blocks, roots, marks */

static void put_cell(struct fake_roots *f, size_t at, hs_addr key, hs_addr next)
{
    f->memory[at] = key;
    f->memory[at + 2] = next;
}

static void put_u16s(uint64_t *words, size_t at_bytes, uint16_t a, uint16_t b, uint16_t c)
{
    const uint16_t all[3] = {a, b, c};
    memcpy((uint8_t *)words + at_bytes, all, sizeof all);
}

/* Two frames and a link, as the compiler and the runtime leave them. */
static void make_stack(struct fake_roots *f, hs_addr block)
{
    uint64_t *t = &f->data[FAKE_FREE];
    struct hs_ocaml_thread *thread = fake_thread(f);
    f->data[FAKE_FRAMETABLE] = fake_data_at(FAKE_FREE);
    t[0] = 3;
    t[1] = FAKE_TEXT_AT + 4;
    put_u16s(t, 16, 32, 2, 8);
    put_u16s(t, 22, 3, 0, 0);
    t[3] = FAKE_TEXT_AT + 0x14;
    put_u16s(t, 32, 16, 1, 0);
    t[5] = FAKE_TEXT_AT + 0x24;
    put_u16s(t, 48, HS_FRAME_LINK, 0, 0);
    thread->sp = fake_stack_at(0);
    thread->pc = FAKE_TEXT_AT + 4;
    thread->gc_regs = fake_stack_at(1000);
    thread->local_roots = fake_stack_at(200);
    thread->words_begin = fake_stack_at(300);
    thread->words_end = fake_stack_at(400);
    f->stack[1] = f->stack[4] = f->stack[310] = f->stack[1001] = block;
    f->stack[3] = FAKE_TEXT_AT + 0x14;
    f->stack[5] = FAKE_TEXT_AT + 0x24;
    f->stack[202] = f->stack[201] = 1; /* caml__roots_block: next, ntables, nitems, tables */
    f->stack[203] = fake_stack_at(320);
    f->stack[320] = block;
}

static void make_lists(struct fake_roots *f, hs_addr block, hs_addr closure)
{
    struct hs_ocaml_statics *s = fake_statics(f);
    uint64_t *free_data = &f->data[FAKE_FREE + 20];
    f->data[FAKE_C_VARIABLE] = f->data[FAKE_C_VARIABLE + 1] = block;
    put_cell(f, 0, fake_data_at(FAKE_C_VARIABLE), fake_memory_at(4));
    put_cell(f, 4, fake_data_at(FAKE_C_VARIABLE + 1), 0);
    f->data[FAKE_ROOTS_PLAIN] = fake_memory_at(0);
    s->finalisable_first = fake_data_at(FAKE_FREE + 20);
    s->finalisable_last = fake_data_at(FAKE_FREE + 24);
    s->to_do_hd = fake_data_at(FAKE_FREE + 28);
    s->entries_global = fake_data_at(FAKE_FREE + 30);
    s->dyn_globals = fake_data_at(FAKE_FREE + 40);
    s->named_values = fake_data_at(FAKE_FREE + 42);
    for (unsigned i = 0; i < 2; i++) {
        free_data[4 * i] = fake_memory_at(20 + 8 * i);
        free_data[4 * i + 1] = free_data[4 * i + 2] = free_data[4 * i + 3] = 1;
        f->memory[20 + 8 * i] = closure;
        f->memory[21 + 8 * i] = block;
    }
    free_data[8] = fake_memory_at(40);
    f->memory[41] = 1;
    f->memory[42] = closure;
    f->memory[43] = block;
    free_data[10] = fake_memory_at(60);
    free_data[11] = free_data[12] = free_data[13] = 2;
    for (unsigned i = 0; i < 2; i++) {
        f->memory[60 + 6 * i] = block;
        f->memory[61 + 6 * i] = 3;
        f->memory[62 + 6 * i] = 2;
        f->memory[63 + 6 * i] = (17 + i) << 1 | 1;
    }
    f->data[FAKE_GLOBALS] = fake_data_at(FAKE_GC_ROOTS);
    f->data[FAKE_GC_ROOTS] = fake_data_at(FAKE_MODULE_HEADER + 1);
    f->data[FAKE_MODULE_HEADER] = fake_header(3, 0, 0);
    for (unsigned i = 1; i <= 3; i++)
        f->data[FAKE_MODULE_HEADER + i] = block;
}

/* One of everything in the heap: lists, strings, closures with infixes, ephemerons, free blocks,
 * fragments, objects, customs, forwards. */
static void make_heap(struct fake_heap *h, hs_addr *ret_block, hs_addr *ret_closure)
{
    const uint64_t code[5] = {FAKE_CODE_F, UINT64_C(1) << 56 | 7, fake_header(3, HS_WHITE, 249),
                              FAKE_CODE_G, 1};
    uint64_t fields[4] = {fake_block(h, HS_TAG_STRING, 3, NULL), 1, 3, 5};
    *ret_closure = fake_block(h, HS_TAG_CLOSURE, 5, code);
    for (unsigned i = 0; i < 24; i++) {
        fields[1] = fake_block(h, i % 3, 1 + i % 4, fields);
        fields[2] = *ret_closure + (i % 2) * 24; /* the infix too */
        if (i % 6 == 0)
            fake_raw(h, fake_header(i, HS_BLUE, 0), i);
        if (i % 8 == 0)
            fake_raw(h, 0, 0); /* a fragment */
    }
    fields[3] = fake_young(h, 1, 2, fields);
    const uint64_t ephemeron[3] = {1, fields[3], fields[1]};
    fake_ephemeron(h, fake_block(h, HS_TAG_ABSTRACT, 3, ephemeron));
    const uint64_t custom[2] = {FAKE_CUSTOM_OPS, 7};
    fields[2] = fake_block(h, HS_TAG_CUSTOM, 2, custom);
    fields[1] = fake_block(h, HS_TAG_FORWARD, 1, fields);
    fields[0] = fake_static(h, HS_TAG_LAZY, 1, fields);
    *ret_block = fake_block(h, HS_TAG_OBJECT, 4, fields);
    (void)fake_block(h, HS_TAG_DOUBLE_ARRAY, 4, fields);
}

static hs_status walk(struct fake_roots *f, struct hs_ocaml_marks *marks, int fd,
                      struct hs_error *err)
{
    struct hs_out out = {0};
    damage_check_blocks(&f->map);
    HS_TRY(fake_roots_collect(f, err));
    HS_TRY(hs_ocaml_mark(&f->heap->rt, &f->map, &f->roots, marks, err));
    HS_TRY(hs_out_open_fd(fd, "memory", &out, err));
    hs_status status = fake_dump_ocaml(&f->heap->rt, &f->map, marks, &f->roots, &out, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    if (status == HS_OK)
        damage_check_snapshot(fd);
    return status;
}

static void fuzz_walk(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct fake_roots *f = fake_roots_new();
    struct hs_ocaml_marks marks = {0};
    struct damage_areas areas = {0};
    hs_addr block, closure;
    struct fake_heap *h = f->heap;
    make_heap(h, &block, &closure);
    make_stack(f, block);
    make_lists(f, block, closure);
    damage_add(&areas, FAKE_HEAP_AT, h->heap, h->n_heap);
    damage_add(&areas, FAKE_YOUNG_AT + (FAKE_YOUNG_WORDS - h->n_young) * HS_WORD,
               &h->young[FAKE_YOUNG_WORDS - h->n_young], h->n_young);
    damage_add(&areas, FAKE_STATIC_AT, h->statics, h->n_statics);
    damage_add(&areas, FAKE_DATA_AT, f->data, FAKE_FREE + 60);
    damage_add(&areas, FAKE_STACK_AT, f->stack, 400);
    damage_add(&areas, FAKE_MALLOC_AT, f->memory, 128);
    damage_add(&areas, FAKE_HEAP_AT, h->heap, h->n_heap);
    damage_apply(&areas, bytes, n_bytes);
    fake_roots_seal(f);
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    if (fd < 0)
        abort();
    hs_status status = walk(f, &marks, fd, &err);
    assert(status == HS_OK || status == HS_LIMIT || status == HS_TARGET);
    close(fd);
    hs_ocaml_marks_fini(&marks);
    fake_roots_free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    if (n_bytes == 0)
        return 0;
    if (bytes[0] % 4 == 0)
        fuzz_locate(bytes + 1, n_bytes - 1, bytes[0] % 8 == 0 ? 6 : 7);
    else
        fuzz_walk(bytes + 1, n_bytes - 1);
    return 0;
}
