/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
#include "fake_roots.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "symbols/cfi.h"
#include "symbols/elf.h"

#define DIE_UNLESS(condition) \
    do {                      \
        if (!(condition))     \
            abort();          \
    } while (0)

struct named_place {
    const char *name;
    uint64_t vaddr, n_bytes;
    bool is_code;
};

static const struct named_place places[] = {
    {"camlM__deep_7", 0x1000, 16, true},
    {"camlM__top_8", 0x1010, 16, true},
    {"caml_globals", 0x3000 + FAKE_GLOBALS *HS_WORD, 0, false},
    {"camlM__gc_roots", 0x3000 + FAKE_GC_ROOTS *HS_WORD, 0, false},
    {"camlM", 0x3000 + (FAKE_MODULE_HEADER + 1) * HS_WORD, 0, false},
    {"caml_global_roots", 0x3000 + FAKE_ROOTS_PLAIN *HS_WORD, 144, false},
    {"caml_global_roots_young", 0x3000 + FAKE_ROOTS_YOUNG *HS_WORD, 144, false},
    {"caml_global_roots_old", 0x3000 + FAKE_ROOTS_OLD *HS_WORD, 144, false},
    {"caml_frametable", 0x3000 + FAKE_FRAMETABLE *HS_WORD, 0, false},
    {"caml_memprof_main_ctx", 0x3000 + FAKE_MAIN_CONTEXT *HS_WORD, 64, false},
    {"c_variable", 0x3000 + FAKE_C_VARIABLE *HS_WORD, 8, false},
    {"caml_scan_roots_hook", 0x3000 + FAKE_HOOK *HS_WORD, 8, false},
    {"heapsnap_record_anchor", 0x3000 + FAKE_RECORDER *HS_WORD, 8, false},
};

static void make_program(struct fake_roots *fake)
{
    static const char texts[] = "a string of the program\0in_binary";
    struct elf_writer *w = &fake->writer;
    struct hs_error err = HS_ERROR_INIT;
    elf_writer_init(w);
    size_t text =
        elf_writer_section(w, ".text", SHT_PROGBITS, 0x1000, fake->code, sizeof fake->code);
    size_t rodata = elf_writer_section(w, ".rodata", SHT_PROGBITS, 0x2000, texts, sizeof texts);
    size_t data =
        elf_writer_section(w, ".data", SHT_PROGBITS, 0x3000, fake->data, sizeof fake->data);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_X, 0x1000, sizeof fake->code, text);
    elf_writer_segment(w, PT_LOAD, PF_R, 0x2000, sizeof texts, rodata);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, 0x3000, sizeof fake->data, data);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        elf_writer_symbol(w, places[i].name, places[i].is_code ? STT_FUNC : STT_OBJECT, STB_GLOBAL,
                          places[i].vaddr, places[i].n_bytes,
                          (uint16_t)(places[i].is_code ? text : data));
    elf_writer_finish(w);
    DIE_UNLESS(hs_elf_open_memory(w->bytes, w->n_bytes, "fake", &fake->object.elf, &err) == HS_OK);
    fake->object.bias = FAKE_PROGRAM_AT;
    fake->object.begin = FAKE_TEXT_AT;
    fake->object.end = FAKE_DATA_AT + sizeof fake->data;
    fake->object.is_executable = true;
    fake->object.name = (char *)"prog";
    fake->objects = (struct hs_objects){.objects = &fake->object, .n = 1, .capacity = 1};
}

struct fake_roots *fake_roots_new(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct fake_roots *fake = calloc(1, sizeof *fake);
    DIE_UNLESS(fake != NULL);
    fake->heap = fake_heap_new();
    make_program(fake);
    fake->heap->rt.objects = &fake->objects;
    fake->heap->rt.target = &fake->target;
    fake->mapping = (struct hs_mapping){
        .begin = FAKE_MALLOC_AT, .end = FAKE_MALLOC_AT + (UINT64_C(64) << 20), .readable = true};
    fake->target.mappings = &fake->mapping;
    fake->target.n_mappings = 1;
    struct hs_ocaml_roots *r = &fake->roots;
    DIE_UNLESS(hs_alloc(1, sizeof *r->stops, (void **)&r->stops, &err) == HS_OK);
    DIE_UNLESS(hs_alloc(1, sizeof *r->frames, (void **)&r->frames, &err) == HS_OK);
    DIE_UNLESS(hs_alloc(1, sizeof *r->stops->threads, (void **)&r->stops->threads, &err) == HS_OK);
    r->stops->n = r->stops->capacity = 1;
    r->stops->threads[0] = (struct hs_ocaml_thread){.tid = 7, .is_current = true};
    return fake;
}

void fake_roots_free(struct fake_roots *fake)
{
    hs_ocaml_roots_fini(&fake->roots);
    hs_block_map_fini(&fake->map);
    hs_elf_close(fake->object.elf);
    fake_heap_free(fake->heap);
    free(fake);
}

struct hs_ocaml_thread *fake_thread(struct fake_roots *fake)
{
    return &fake->roots.stops->threads[0];
}

struct hs_ocaml_statics *fake_statics(struct fake_roots *fake)
{
    return &fake->roots.stops->statics;
}

void fake_roots_seal(struct fake_roots *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_image *image = &fake->heap->image;
    fake_heap_seal(fake->heap);
    DIE_UNLESS(hs_image_add(image, FAKE_DATA_AT, fake->data, sizeof fake->data, &err) == HS_OK);
    DIE_UNLESS(hs_image_add(image, FAKE_STACK_AT, fake->stack, sizeof fake->stack, &err) == HS_OK);
    DIE_UNLESS(hs_image_add(image, FAKE_MALLOC_AT, fake->memory, sizeof fake->memory, &err) ==
               HS_OK);
    DIE_UNLESS(hs_block_map_build(&fake->map, &fake->heap->rt, &err) == HS_OK);
}

hs_status fake_roots_collect(struct fake_roots *fake, struct hs_error *err)
{
    return hs_ocaml_collect_roots(&fake->heap->rt, &fake->map, &fake->roots, err);
}

const char *fake_text(const struct fake_roots *fake, hs_str id)
{
    return hs_strtab_get(&fake->heap->strings, id);
}

const struct hs_root_leaf *fake_leaf(const struct fake_roots *fake, enum hs_root_kind kind,
                                     size_t n)
{
    for (size_t i = 0; i < fake->roots.roots.n_leaves; i++) {
        const struct hs_root_leaf *leaf = &fake->roots.roots.leaves[i];
        if (leaf->root.kind == kind && n-- == 0)
            return leaf;
    }
    return NULL;
}

size_t fake_n_leaves(const struct fake_roots *fake, enum hs_root_kind kind)
{
    size_t n = 0;
    while (fake_leaf(fake, kind, n) != NULL)
        n++;
    return n;
}
