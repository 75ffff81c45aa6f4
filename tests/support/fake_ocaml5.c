/* links: hs_ocaml hs_runtimes hs_process hs_format hs_target hs_symbols hs_base */
#include "fake_ocaml5.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fake_dump.h"
#include <unistd.h>

#include "symbols/cfi.h"
#include "symbols/dwarf_box.h"
#include "symbols/elf.h"
#include "target/core.h"

#define DIE_UNLESS(condition) \
    do {                      \
        if (!(condition))     \
            abort();          \
    } while (0)

enum { POOL_WORDS = 4096, POOL_HEAD_WORDS = 4, PAGE_BYTES = 4096 };

static void open_core(struct fake_ocaml5 *fake)
{
    struct hs_core_options options = {0};
    struct hs_error err = HS_ERROR_INIT;
    struct core_writer *w = &fake->writer;

    core_writer_sample(w, "/nowhere/program", NULL);
    core_writer_thread(w, 43, 0, 0);
    core_writer_thread(w, 44, 0, 0);
    core_writer_segment(w, FAKE5_AT, FAKE5_AT + FAKE5_BYTES, PF_R | PF_W, fake->memory,
                        FAKE5_BYTES);
    core_writer_finish(w);
    options.path = core_writer_save(w->bytes, w->n_bytes);
    DIE_UNLESS(hs_core_open(&options, &fake->target, &err) == HS_OK);
    DIE_UNLESS(fake->target.n_threads == FAKE5_THREADS);
    fake->fd = open(options.path, O_WRONLY | O_CLOEXEC);
    DIE_UNLESS(fake->fd >= 0);
    core_writer_clean(); /* both have it open */
}

struct fake_ocaml5 *fake_ocaml5_new(void)
{
    struct fake_ocaml5 *fake = calloc(1, sizeof *fake);

    DIE_UNLESS(fake != NULL);
    open_core(fake);
    return fake;
}

static void end_walk(struct fake_ocaml5 *fake)
{
    hs_ocaml_marks_fini(&fake->marks);
    fake->marks = (struct hs_ocaml_marks){0};
    hs_block_map_fini(&fake->map);
    hs_ocaml_roots_fini(&fake->roots);
    hs_ocaml_fini(&fake->rt);
    hs_image_fini(&fake->image);
    hs_strtab_fini(&fake->strings);
    fake->rt = (struct hs_ocaml){.target = &fake->target,
                                 .image = &fake->image,
                                 .objects = &fake->objects,
                                 .strings = &fake->strings,
                                 .findings.strings = &fake->strings};
}

void fake_ocaml5_free(struct fake_ocaml5 *fake)
{
    if (fake == NULL)
        return;
    end_walk(fake);
    for (size_t i = 0; i < sizeof fake->programs / sizeof *fake->programs; i++) {
        hs_cfi_close(fake->programs[i].object.cfi);
        hs_elf_close(fake->programs[i].object.elf);
    }
    hs_dwarf_box_free(fake->objects.box);
    hs_target_close(&fake->target);
    close(fake->fd);
    core_writer_fini(&fake->writer);
    free(fake);
}

uint64_t *fake5_word(struct fake_ocaml5 *fake, hs_addr at)
{
    DIE_UNLESS(at - FAKE5_AT < FAKE5_BYTES);
    return &fake->memory[(at - FAKE5_AT) / HS_WORD];
}

static unsigned class_of(const struct fake_ocaml5 *fake, unsigned pool)
{
    return (unsigned)fake->memory[(FAKE5_POOL(pool) - FAKE5_AT) / HS_WORD + 3];
}

hs_addr fake5_slot(const struct fake_ocaml5 *fake, unsigned pool, unsigned i)
{
    uint64_t slot_words = class_of(fake, pool) + 1; /* of the small classes */
    uint64_t n_words = (POOL_WORDS - POOL_HEAD_WORDS) / slot_words * slot_words;
    uint64_t first = fake->minor > 1 ? POOL_WORDS - n_words : (uint64_t)POOL_HEAD_WORDS;

    return FAKE5_POOL(pool) + (first + i * slot_words) * HS_WORD;
}

void fake5_stack(struct fake_ocaml5 *fake, unsigned i, hs_addr parent)
{
    uint64_t *info = fake5_word(fake, FAKE5_STACK(i));

    info[HS_STACK5_SP / HS_WORD] = FAKE5_STACK(i) + 0x800;
    info[HS_STACK5_HANDLER / HS_WORD] = FAKE5_STACK_END(i);
    fake5_word(fake, FAKE5_STACK_END(i))[3] = parent;
}

void fake5_continuation(struct fake_ocaml5 *fake, hs_addr at, hs_addr stack)
{
    fake5_word(fake, at)[0] = 2 << 10 | HS_TAG_CONT;
    fake5_word(fake, at)[1] = stack | 1;
    fake5_word(fake, at)[2] = 1;
}

static void put_pool(struct fake_ocaml5 *fake, unsigned i, hs_addr next, hs_addr owner)
{
    uint64_t *head = fake5_word(fake, FAKE5_POOL(i));

    head[0] = next;
    head[2] = owner;
    head[3] = FAKE5_CLASS_3;
}

void fake_ocaml5_heap(struct fake_ocaml5 *fake, unsigned minor)
{
    uint64_t *heap = fake5_word(fake, FAKE5_HEAP(0)), *ended = fake5_word(fake, FAKE5_ENDED);

    memset(fake->memory, 0, sizeof fake->memory);
    fake->minor = minor;
    put_pool(fake, 0, FAKE5_POOL(1), FAKE5_STATE(0));
    put_pool(fake, 1, 0, 0); /* adopted */
    put_pool(fake, 2, 0, 0);
    heap[FAKE5_CLASS_3] = FAKE5_POOL(0);
    heap[128] = FAKE5_LARGE;
    heap[131] = FAKE5_STATE(0);
    fake5_word(fake, FAKE5_LARGE)[2] = (uint64_t)FAKE5_LARGE_WOSIZE << 10;
    heap[FAKE5_HEAP_STATS] = 2 * POOL_WORDS;
    heap[FAKE5_HEAP_STATS + 5] = FAKE5_LARGE_WOSIZE + 1 + 2;
    heap[FAKE5_HEAP_STATS + 7] = 1;
    ended[14 + FAKE5_CLASS_3] = FAKE5_POOL(2);
    ended[FAKE5_ENDED_STATS] = POOL_WORDS;
    fake5_stack(fake, 0, FAKE5_STACK(1));
    fake5_stack(fake, 1, 0);
    fake5_continuation(fake, fake5_slot(fake, 0, 5), FAKE5_STACK(0));
    heap[FAKE5_HEAP_STATS + 2] += 3; /* words and blocks that live */
    heap[FAKE5_HEAP_STATS + 3] += 1;
}

/* The writer's image is what the core has: pages that differ are written. */
void fake_ocaml5_seal(struct fake_ocaml5 *fake)
{
    const uint8_t *bytes = (const uint8_t *)fake->memory;
    const size_t last = fake->writer.n_segments; /* program header 0 is of the notes */
    const size_t at = core_writer_program_header(&fake->writer, last)->p_offset;

    end_walk(fake);
    for (size_t n = 0; n < sizeof fake->memory; n += PAGE_BYTES) {
        uint8_t *known = fake->writer.bytes + at + n;
        if (memcmp(known, bytes + n, PAGE_BYTES) == 0)
            continue;
        memcpy(known, bytes + n, PAGE_BYTES);
        DIE_UNLESS(pwrite(fake->fd, known, PAGE_BYTES, (off_t)(at + n)) == PAGE_BYTES);
    }
}

/* As dump.c does it. */
static hs_status copy(struct fake_ocaml5 *fake, struct hs_error *err)
{
    enum hs_stop_verdict verdict;
    const char *reason = NULL;

    HS_TRY(hs_ocaml_locate(&fake->rt, err));
    HS_TRY(hs_ocaml_judge(&fake->rt, &verdict, &reason, err));
    DIE_UNLESS((verdict == HS_STOP_GOOD) == (reason == NULL));
    if (verdict == HS_STOP_RETRY) /* a core cannot be stopped again */
        HS_TRY(hs_findings_note(&fake->rt.findings, true, err, "the core was taken %s", reason));
    HS_TRY(hs_ocaml_copy_roots(&fake->rt, &fake->roots, err));
    return hs_ocaml_copy_heap(&fake->rt, err);
}

hs_status fake_ocaml5_walk(struct fake_ocaml5 *fake, struct hs_out *out, struct hs_error *err)
{
    HS_TRY(copy(fake, err));
    HS_TRY(hs_block_map_build(&fake->map, &fake->rt, err));
    HS_TRY(hs_ocaml_collect_roots(&fake->rt, &fake->map, &fake->roots, err));
    HS_TRY(hs_ocaml_mark(&fake->rt, &fake->map, &fake->roots, &fake->marks, err));
    return fake_dump_ocaml(&fake->rt, &fake->map, &fake->marks, &fake->roots, out, err);
}

bool fake5_proofs_hold(const struct fake_ocaml5 *fake)
{
    for (size_t i = 0; i < fake->rt.findings.n_proofs; i++) {
        if (!fake->rt.findings.proofs[i].holds)
            return false;
    }
    return fake->rt.findings.n_proofs != 0;
}

bool fake5_has_note(const struct fake_ocaml5 *fake, const char *text)
{
    for (size_t i = 0; i < fake->rt.findings.n_notes; i++) {
        if (strstr(hs_strtab_get(&fake->strings, fake->rt.findings.notes[i].text), text) != NULL)
            return true;
    }
    return false;
}
