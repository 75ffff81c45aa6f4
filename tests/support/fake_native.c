/* links: hs_rules hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "fake_native.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "shipped_rules.h"
#include "symbols/dwarf_box.h"

static struct hs_error err;

#define MUST(call)                                             \
    do {                                                       \
        if ((call) != HS_OK) {                                 \
            fprintf(stderr, "fake_native: %s\n", err.message); \
            abort();                                           \
        }                                                      \
    } while (0)

struct fake_native *fake_native_new(void)
{
    struct fake_native *f = calloc(1, sizeof *f);
    assert(f != NULL);
    f->native.dump = &f->dump;
    f->dump.options = &f->options;
    f->options.rules = shipped_rules();
    f->dump.target.pid = FAKE_N_PID;
    f->dump.target.mappings = f->mappings;
    f->dump.target.threads = f->threads;
    f->dump.target.path_text = f->paths;
    f->dump.target.path_text_bytes = 1; /* the empty path */
    f->dump.findings.strings = &f->dump.strings;
    elf_writer_init(&f->writer);
    f->text_section =
        elf_writer_section(&f->writer, ".text", SHT_PROGBITS, 0x1000, f->text, sizeof f->text);
    f->data_section = elf_writer_section(&f->writer, ".data", SHT_PROGBITS, 0x3000, f->data, 4096);
    f->bss_section = elf_writer_section(&f->writer, ".bss", SHT_NOBITS, 0x4000, NULL, 4096);
    elf_writer_segment(&f->writer, PT_LOAD, PF_R | PF_X, 0x1000, 4096, f->text_section);
    elf_writer_segment(&f->writer, PT_LOAD, PF_R | PF_W, 0x3000, 8192, f->data_section);
    return f;
}

void fake_native_free(struct fake_native *f)
{
    struct hs_native *n = &f->native;
    for (size_t i = 0; i < f->dump.objects.n; i++) {
        hs_cfi_close(f->dump.objects.objects[i].cfi);
        hs_elf_close(f->dump.objects.objects[i].elf);
    }
    hs_dwarf_box_free(f->dump.objects.box);
    hs_heap_map_fini(&f->dump.heaps.map);
    hs_ledger_fini(&f->dump.heaps.ledger);
    hs_findings_fini(&f->dump.findings);
    hs_roots_fini(&n->roots);
    hs_range_set_fini(&n->root_ranges);
    hs_free(n->seeds);
    hs_free(n->ended);
    hs_native_counts_fini(&n->counts);
    hs_image_fini(&f->dump.image);
    hs_strtab_fini(&f->dump.strings);
    free(f);
}

hs_addr fake_native_block(size_t i)
{
    return FAKE_N_BLOCKS_AT + i * FAKE_N_BLOCK_WORDS * HS_WORD_BYTES;
}

void fake_native_symbol(struct fake_native *f, const char *name, size_t at, size_t n_words,
                        unsigned bind)
{
    bool is_data = at < FAKE_N_DATA_WORDS / 2;
    elf_writer_symbol(&f->writer, name, STT_OBJECT, bind, 0x3000 + at * HS_WORD_BYTES,
                      n_words * HS_WORD_BYTES,
                      (uint16_t)(is_data ? f->data_section : f->bss_section));
}

struct hs_thread *fake_native_thread(struct fake_native *f, int tid)
{
    struct hs_thread *t = &f->threads[f->dump.target.n_threads++];
    assert(f->dump.target.n_threads <= sizeof f->threads / sizeof *f->threads);
    t->tid = tid;
    return t;
}

static uint32_t add_path(struct fake_native *f, const char *path)
{
    size_t at = f->dump.target.path_text_bytes, n = strlen(path) + 1;
    assert(at + n <= sizeof f->paths);
    memcpy(f->paths + at, path, n);
    f->dump.target.path_text_bytes += n;
    return (uint32_t)at;
}

void fake_native_map(struct fake_native *f, hs_addr begin, const void *bytes, size_t n_bytes,
                     const char *rights, const char *path)
{
    struct hs_target *t = &f->dump.target;
    size_t at = t->n_mappings++;
    assert(t->n_mappings <= sizeof f->mappings / sizeof *f->mappings);
    for (; at > 0 && f->mappings[at - 1].begin > begin; at--)
        f->mappings[at] = f->mappings[at - 1];
    f->mappings[at] = (struct hs_mapping){.begin = begin,
                                          .end = begin + n_bytes,
                                          .inode = path[0] == '/' ? 99 : 0,
                                          .readable = rights[0] == 'r',
                                          .writable = rights[1] == 'w',
                                          .executable = rights[2] == 'x',
                                          .shared = rights[3] == 's',
                                          .path_at = add_path(f, path)};
    if (bytes != NULL)
        MUST(hs_image_add(&f->dump.image, begin, bytes, n_bytes, &err));
}

static void open_program(struct fake_native *f)
{
    struct hs_object *o = &f->object;
    static char name[] = "prog";
    if (f->has_tls)
        elf_writer_segment(&f->writer, PT_TLS, PF_R, 0x3000, 0x40, 0);
    elf_writer_finish(&f->writer);
    MUST(hs_elf_open_memory(f->writer.bytes, f->writer.n_bytes, name, &o->elf, &err));
    o->name = o->path = name;
    o->bias = FAKE_N_BIAS;
    o->begin = FAKE_N_TEXT_AT;
    o->end = FAKE_N_DATA_AT + sizeof f->data;
    o->is_executable = true;
    f->dump.objects = (struct hs_objects){.objects = o, .n = 1, .capacity = 1};
    f->native.of_object = &f->of_object;
}

void fake_native_open(struct fake_native *f)
{
    open_program(f);
    fake_native_map(f, FAKE_N_TEXT_AT, NULL, sizeof f->text, "r-xp", "/bin/prog");
    fake_native_map(f, FAKE_N_DATA_AT, f->data, sizeof f->data, "rw-p", "/bin/prog");
    fake_native_map(f, FAKE_N_BLOCKS_AT, f->blocks, sizeof f->blocks, "rw-p", "");
    fake_native_map(f, FAKE_N_TLS_AT, f->tls, sizeof f->tls, "rw-p", "");
    fake_native_map(f, FAKE_N_STACK_AT, f->stack, sizeof f->stack, "rw-p", "[stack]");
    hs_heap_map_init(&f->dump.heaps.map, &f->dump.image);
    hs_ledger_init(&f->dump.heaps.ledger, &f->dump.strings, &f->dump.image);
    struct hs_heap_span span = {.begin = FAKE_N_BLOCKS_AT,
                                .end = FAKE_N_BLOCKS_AT + sizeof f->blocks,
                                .unit_bytes = FAKE_N_BLOCK_WORDS * HS_WORD_BYTES,
                                .form = HS_SPAN_UNIFORM,
                                .owner = HS_OWNER_jemalloc};
    MUST(hs_heap_map_add(&f->dump.heaps.map, &span, &err));
    MUST(hs_ledger_claim(&f->dump.heaps.ledger, "jemalloc", HS_MEMORY_LIVE, span.begin, span.end,
                         FAKE_N_BLOCKS, &err));
    hs_ledger_seal(&f->dump.heaps.ledger);
}

void fake_native_mark(struct fake_native *f)
{
    struct hs_heap_map *map = &f->dump.heaps.map;
    uint64_t n_refused;
    MUST(hs_heap_map_seal(map, &n_refused, &err));
    assert(n_refused == 0);
    for (size_t i = 0; i < FAKE_N_BLOCKS; i++)
        hs_heap_map_set(map, fake_native_block(i));
    for (size_t i = 0; i < map->n_spans; i++)
        if (map->spans[i].owner == HS_OWNER_MAPPING)
            hs_heap_map_set(map, map->spans[i].begin);
    MUST(hs_heap_map_index(map, &err));
}

void fake_native_seal(struct fake_native *f)
{
    fake_native_open(f);
    fake_native_mark(f);
}

const char *fake_native_text(const struct fake_native *f, hs_str id)
{
    return hs_strtab_get(&f->dump.strings, id);
}

const struct hs_root_leaf *fake_native_leaf(const struct fake_native *f, const char *name)
{
    for (size_t i = 0; i < f->native.roots.n_leaves; i++)
        if (strcmp(fake_native_text(f, f->native.roots.leaves[i].root.name), name) == 0)
            return &f->native.roots.leaves[i];
    return NULL;
}

bool fake_native_notes(const struct fake_native *f, const char *text)
{
    for (size_t i = 0; i < f->dump.findings.n_notes; i++)
        if (strstr(fake_native_text(f, f->dump.findings.notes[i].text), text) != NULL)
            return true;
    return false;
}
