/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
#include "fake_heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "symbols/elf.h"

#define DIE_UNLESS(condition) \
    do {                      \
        if (!(condition))     \
            abort();          \
    } while (0)

static const uint8_t fake_code[64] = {0xc3};

static void fake_elf(struct fake_heap *fake)
{
    struct elf_writer *w = &fake->writer;
    struct hs_error err = HS_ERROR_INIT;

    elf_writer_init(w);
    size_t text = elf_writer_section(w, ".text", SHT_PROGBITS, 0x1000, fake_code, sizeof fake_code);
    static const char identifiers[] = "_fake\0_\x1b[31m\0";
    size_t rodata =
        elf_writer_section(w, ".rodata", SHT_PROGBITS, 0x2000, identifiers, sizeof identifiers);
    size_t data =
        elf_writer_section(w, ".data", SHT_PROGBITS, 0x3000, fake->statics, sizeof fake->statics);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_X, 0x1000, sizeof fake_code, text);
    elf_writer_segment(w, PT_LOAD, PF_R, 0x2000, sizeof identifiers, rodata);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, 0x3000, sizeof fake->statics, data);
    static const struct {
        const char *name;
        uint64_t vaddr, n_bytes;
        bool is_code;
    } symbols[] = {{"camlM__f_12", 0x1000, 16, true},
                   {"camlM__g_13", 0x1010, 16, true},
                   {"caml_curry2", 0x1020, 16, true},
                   {"caml_ephe_list_head", 0x3000, 8, false},
                   {"camlM", FAKE_UNIT_AT - FAKE_OBJECT_AT, 8, false}};
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++)
        elf_writer_symbol(w, symbols[i].name, symbols[i].is_code ? STT_FUNC : STT_OBJECT,
                          STB_GLOBAL, symbols[i].vaddr, symbols[i].n_bytes,
                          (uint16_t)(symbols[i].is_code ? text : data));
    elf_writer_finish(w);
    DIE_UNLESS(hs_elf_open_memory(w->bytes, w->n_bytes, "fake", &fake->object.elf, &err) == HS_OK);
    fake->object.bias = FAKE_OBJECT_AT;
    fake->object.begin = FAKE_OBJECT_AT + 0x1000;
    fake->object.end = FAKE_STATIC_AT + sizeof fake->statics;
    fake->object.is_executable = true;
    fake->object.name = (char *)"fake";
    fake->objects = (struct hs_objects){.objects = &fake->object, .n = 1, .capacity = 1};
}

struct fake_heap *fake_heap_new(void)
{
    struct fake_heap *fake = calloc(1, sizeof *fake);

    DIE_UNLESS(fake != NULL);
    fake_elf(fake);
    fake->rt = (struct hs_ocaml){.image = &fake->image,
                                 .objects = &fake->objects,
                                 .strings = &fake->strings,
                                 .findings.strings = &fake->strings,
                                 .ephe_none = FAKE_NONE,
                                 .young_start = FAKE_YOUNG_AT,
                                 .young_alloc_start = FAKE_YOUNG_AT,
                                 .young_end = FAKE_YOUNG_AT + sizeof fake->young,
                                 .young_alloc_end = FAKE_YOUNG_AT + sizeof fake->young,
                                 .atoms_begin = FAKE_ATOM_AT,
                                 .atoms_end = FAKE_ATOM_AT + sizeof fake->atoms};
    fake->statics[1] = FAKE_OBJECT_AT + 0x2000; /* custom operations: the identifier */
    fake->n_statics = 4;                        /* runtime variables come first */
    for (unsigned tag = 0; tag < 256; tag++)
        fake->atoms[tag] = fake_header(0, HS_BLACK, tag);
    return fake;
}

void fake_heap_free(struct fake_heap *fake)
{
    hs_ocaml_fini(&fake->rt);
    hs_image_fini(&fake->image);
    hs_strtab_fini(&fake->strings);
    hs_elf_close(fake->object.elf);
    hs_free(fake->roots.roots.leaves);
    hs_free(fake->roots.module_blocks);
    free(fake);
}

uint64_t fake_header(size_t n, unsigned colour, unsigned tag)
{
    return (uint64_t)n << 10 | (uint64_t)colour << 8 | tag;
}

hs_addr fake_raw(struct fake_heap *fake, uint64_t header, size_t n)
{
    DIE_UNLESS(fake->n_heap + n + 1 <= FAKE_HEAP_WORDS);
    fake->heap[fake->n_heap] = header;
    hs_addr block = FAKE_HEAP_AT + (fake->n_heap + 1) * HS_WORD;
    fake->n_heap += n + 1;
    return block;
}

static void fake_fill(struct fake_heap *fake, hs_addr block, size_t n, const uint64_t *fields)
{
    for (size_t i = 0; i < n; i++)
        *fake_word(fake, block + i * HS_WORD) = fields == NULL ? 1 : fields[i];
}

hs_addr fake_block(struct fake_heap *fake, unsigned tag, size_t n, const uint64_t *fields)
{
    hs_addr block = fake_raw(fake, fake_header(n, HS_WHITE, tag), n);

    fake_fill(fake, block, n, fields);
    return block;
}

hs_addr fake_young(struct fake_heap *fake, unsigned tag, size_t n, const uint64_t *fields)
{
    DIE_UNLESS(fake->n_young + n + 1 <= FAKE_YOUNG_WORDS);
    fake->n_young += n + 1;
    hs_addr header = fake->rt.young_alloc_end - fake->n_young * HS_WORD;
    *fake_word(fake, header) = fake_header(n, HS_WHITE, tag);
    fake_fill(fake, header + HS_WORD, n, fields);
    return header + HS_WORD;
}

hs_addr fake_static(struct fake_heap *fake, unsigned tag, size_t n, const uint64_t *fields)
{
    DIE_UNLESS(fake->n_statics + n + 1 <= FAKE_STATIC_WORDS);
    fake->statics[fake->n_statics] = fake_header(n, HS_BLACK, tag);
    hs_addr block = FAKE_STATIC_AT + (fake->n_statics + 1) * HS_WORD;
    fake->n_statics += n + 1;
    fake_fill(fake, block, n, fields);
    return block;
}

uint64_t *fake_word(struct fake_heap *fake, hs_addr address)
{
    if (address - FAKE_HEAP_AT < sizeof fake->heap)
        return &fake->heap[(address - FAKE_HEAP_AT) / HS_WORD];
    if (address - FAKE_YOUNG_AT < sizeof fake->young)
        return &fake->young[(address - FAKE_YOUNG_AT) / HS_WORD];
    DIE_UNLESS(address - FAKE_STATIC_AT < sizeof fake->statics);
    return &fake->statics[(address - FAKE_STATIC_AT) / HS_WORD];
}

void fake_ephemeron(struct fake_heap *fake, hs_addr block)
{
    *fake_word(fake, block) = fake->statics[0];
    fake->statics[0] = block;
}

void fake_root(struct fake_heap *fake, hs_addr target, bool weak)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_C_ROOT,
                                         .level = HS_LEVEL_LEAF,
                                         .field = HS_NO_FIELD,
                                         .weak = weak},
                                .target = target};

    DIE_UNLESS(hs_roots_add(&fake->roots.roots, &leaf, &err) == HS_OK);
}

void fake_heap_seal(struct fake_heap *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_ocaml *rt = &fake->rt;
    hs_addr heap_end = FAKE_HEAP_AT + fake->n_heap * HS_WORD;
    hs_addr static_end = FAKE_STATIC_AT + fake->n_statics * HS_WORD;

    rt->young_ptr = rt->young_alloc_end - fake->n_young * HS_WORD;
    rt->heap_words = fake->n_heap;
    DIE_UNLESS(hs_spans_add(&rt->chunks, FAKE_HEAP_AT, heap_end, &err) == HS_OK);
    DIE_UNLESS(hs_range_set_add(&rt->statics, FAKE_STATIC_AT + 4 * HS_WORD, static_end + HS_WORD,
                                &err) == HS_OK);
    DIE_UNLESS(hs_range_set_add(&rt->code, FAKE_CODE_F, FAKE_CODE_F + 0x40, &err) == HS_OK);
    DIE_UNLESS(hs_image_add(&fake->image, FAKE_HEAP_AT, fake->heap, fake->n_heap * HS_WORD, &err) ==
               HS_OK);
    if (fake->n_young != 0)
        DIE_UNLESS(hs_image_add(&fake->image, rt->young_ptr,
                                &fake->young[FAKE_YOUNG_WORDS - fake->n_young],
                                fake->n_young * HS_WORD, &err) == HS_OK);
    DIE_UNLESS(hs_image_add(&fake->image, FAKE_STATIC_AT, fake->statics, sizeof fake->statics,
                            &err) == HS_OK);
    DIE_UNLESS(hs_image_add(&fake->image, FAKE_ATOM_AT, fake->atoms, sizeof fake->atoms, &err) ==
               HS_OK);
}

const char *fake_note(const struct fake_heap *fake, const char *text)
{
    for (size_t i = 0; i < fake->rt.findings.n_notes; i++) {
        const char *note = hs_strtab_get(&fake->strings, fake->rt.findings.notes[i].text);
        if (strstr(note, text) != NULL)
            return note;
    }
    return NULL;
}

bool fake_proofs_hold(const struct fake_heap *fake)
{
    for (size_t i = 0; i < fake->rt.findings.n_proofs; i++) {
        if (!fake->rt.findings.proofs[i].holds)
            return false;
    }
    return fake->rt.findings.n_proofs != 0;
}
