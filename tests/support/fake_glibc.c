/* links: hs_heaps hs_runtimes hs_process hs_format hs_base */
#include "fake_glibc.h"

#include <stdlib.h>

#define DIE_UNLESS(condition) \
    do {                      \
        if (!(condition))     \
            abort();          \
    } while (0)

struct fake_area {
    hs_addr at;
    uint64_t *words;
    size_t n_bytes;
};

static size_t fake_areas(struct fake_glibc *fake, struct fake_area areas[6])
{
    areas[0] = (struct fake_area){FAKE_DATA_AT, fake->data, sizeof fake->data};
    areas[1] = (struct fake_area){FAKE_BREAK_AT, fake->brk, fake->sizes.brk};
    areas[2] = (struct fake_area){FAKE_HEAP_AT, fake->heaps[0], fake->sizes.heap};
    areas[3] = (struct fake_area){FAKE_HEAP_AT + FAKE_HEAP_MAX, fake->heaps[1], fake->sizes.heap};
    areas[4] = (struct fake_area){FAKE_MAP_AT, fake->maps, fake->sizes.maps};
    areas[5] = (struct fake_area){FAKE_TLS_AT, fake->tls, sizeof fake->tls};
    return 6;
}

uint64_t *fake_glibc_word(struct fake_glibc *fake, hs_addr address)
{
    struct fake_area areas[6];
    size_t n = fake_areas(fake, areas);

    for (size_t i = 0; i < n; i++)
        if (address >= areas[i].at && address - areas[i].at < areas[i].n_bytes)
            return &areas[i].words[(address - areas[i].at) / 8];
    abort();
}

static void fake_put(struct fake_glibc *fake, hs_addr address, uint64_t value)
{
    *fake_glibc_word(fake, address) = value;
}

/* ---- arenas */

static void fake_state(struct fake_glibc *fake, hs_addr at)
{
    hs_addr bins = at + fake->layout->bins;

    for (unsigned i = 0; i < GLIBC_N_BINS; i++) {
        fake_put(fake, bins + 16 * i, bins + 16 * i - 16);
        fake_put(fake, bins + 16 * i + 8, bins + 16 * i - 16);
    }
    fake_put(fake, at + fake->layout->top, bins - 16);
    fake_put(fake, bins + GLIBC_NEXT, at);
}

static const struct {
    uint16_t n_mmaps, mmapped_mem, sbrk_base, tcache;
} fake_params_layouts[] = {{60, 80, 96, 104}, {40, 56, 72, 80}, {68, 88, 104, 112}};

void fake_params(struct fake_glibc *fake, uint64_t n_mmaps, uint64_t mmapped_bytes)
{
    hs_addr at = FAKE_PARAMS_AT;
    uint8_t *b = (uint8_t *)fake_glibc_word(fake, at);
    uint32_t ints[4] = {(uint32_t)n_mmaps, 65536, (uint32_t)n_mmaps, 0};

    memset(b, 0, 160);
    fake_put(fake, at, 128 << 10);
    fake_put(fake, at + 8, 128 << 10);
    fake_put(fake, at + 16, 128 << 10);
    fake_put(fake, at + 24, 8);
    memcpy(b + fake_params_layouts[fake->params_kind].n_mmaps, ints, sizeof ints);
    at += fake_params_layouts[fake->params_kind].mmapped_mem;
    fake_put(fake, at, mmapped_bytes);
    fake_put(fake, at + 8, mmapped_bytes);
    at = FAKE_PARAMS_AT + fake_params_layouts[fake->params_kind].sbrk_base;
    fake_put(fake, at, FAKE_BREAK_AT);
    at = FAKE_PARAMS_AT + fake_params_layouts[fake->params_kind].tcache;
    fake_put(fake, at, 64);
    fake_put(fake, at + 8, fake->params_kind == 2 ? 1041 : 1032);
    fake_put(fake, at + 16, fake->params_kind == 2 ? 16 : 7);
}

void fake_system_mem(struct fake_glibc *fake, hs_addr arena, uint64_t bytes)
{
    fake_put(fake, arena + fake->layout->bins + GLIBC_SYSTEM_MEM, bytes);
}

struct fake_glibc *fake_glibc_new(unsigned layout)
{
    return fake_glibc_sized(
        layout, &(struct fake_sizes){FAKE_BREAK_BYTES, FAKE_HEAP_BYTES, FAKE_MAP_BYTES});
}

struct fake_glibc *fake_glibc_sized(unsigned layout, const struct fake_sizes *sizes)
{
    struct fake_glibc *fake = calloc(1, sizeof *fake);
    struct fake_area areas[6];
    struct hs_error err = HS_ERROR_INIT;

    DIE_UNLESS(fake != NULL);
    DIE_UNLESS(sizes->brk <= FAKE_BREAK_BYTES && sizes->heap <= FAKE_HEAP_BYTES &&
               sizes->maps <= FAKE_MAP_BYTES);
    fake->sizes = *sizes;
    fake->layout = &hs_glibc_layouts[layout];
    fake->params_kind = layout == 2 ? 2 : layout;
    static const char paths[] = "\0/lib/libc.so.6\0[heap]";
    memcpy(fake->paths, paths, sizeof paths);
    size_t n = fake_areas(fake, areas);
    for (size_t i = 0; i < n; i++) {
        fake->mappings[i] = (struct hs_mapping){.begin = areas[i].at,
                                                .end = areas[i].at + areas[i].n_bytes,
                                                .inode = i == 0 ? 7 : 0,
                                                .readable = true,
                                                .writable = true,
                                                .path_at = i == 0   ? 1
                                                           : i == 1 ? 16
                                                                    : 0};
        if (hs_image_add(&fake->image, areas[i].at, areas[i].words, areas[i].n_bytes, &err) !=
            HS_OK)
            abort();
    }
    for (size_t i = 0; i < FAKE_THREADS; i++)
        fake->threads[i].regs.fs_base = FAKE_TLS_AT + 4096 * (i + 1);
    fake->target = (struct hs_target){.mappings = fake->mappings,
                                      .n_mappings = n,
                                      .threads = fake->threads,
                                      .n_threads = FAKE_THREADS,
                                      .path_text = fake->paths,
                                      .path_text_bytes = sizeof paths};
    fake_state(fake, FAKE_ARENA_AT);
    fake_params(fake, 0, 0);
    return fake;
}

void fake_glibc_free(struct fake_glibc *fake)
{
    fake_glibc_forget(fake);
    hs_image_fini(&fake->image);
    hs_strtab_fini(&fake->strings);
    free(fake);
}

/* ---- chunks */

struct fake_pen fake_pen_main(struct fake_glibc *fake, hs_addr at)
{
    return (struct fake_pen){.fake = fake, .at = at, .arena = FAKE_ARENA_AT, .is_main = true};
}

static hs_addr fake_chunk(struct fake_pen *pen, uint64_t bytes, uint64_t flags)
{
    hs_addr p = pen->at;

    fake_put(pen->fake, p + 8, bytes | flags | (pen->previous_is_free ? 0 : GLIBC_PREV_INUSE));
    pen->previous_is_free = false;
    pen->at += bytes;
    return p;
}

hs_addr fake_used(struct fake_pen *pen, uint64_t bytes)
{
    return fake_chunk(pen, bytes, pen->is_main ? 0 : GLIBC_NON_MAIN) + 16;
}

hs_addr fake_freed(struct fake_pen *pen, uint64_t bytes)
{
    hs_addr head = pen->arena + pen->fake->layout->bins - 16, p = fake_chunk(pen, bytes, 0);
    hs_addr first = *fake_glibc_word(pen->fake, head + 16);

    fake_put(pen->fake, p + 16, first);
    fake_put(pen->fake, p + 24, head);
    fake_put(pen->fake, first + 24, p);
    fake_put(pen->fake, head + 16, p);
    fake_put(pen->fake, p + bytes, bytes);
    pen->previous_is_free = true;
    return p;
}

void fake_fence(struct fake_pen *pen)
{
    fake_chunk(pen, GLIBC_FENCE, 0);
    fake_chunk(pen, GLIBC_FENCE, 0);
}

void fake_heap_fence(struct fake_pen *pen)
{
    fake_chunk(pen, GLIBC_FENCE, 0);
    fake_chunk(pen, 0, 0);
}

void fake_top(struct fake_pen *pen, hs_addr end)
{
    fake_put(pen->fake, pen->arena + pen->fake->layout->top, pen->at);
    fake_chunk(pen, end - pen->at, 0);
}

/* ---- heaps */

static hs_addr fake_heap_info(struct fake_glibc *fake, unsigned number, hs_addr arena)
{
    hs_addr at = FAKE_HEAP_AT + number * FAKE_HEAP_MAX;

    fake_put(fake, at, arena);
    fake_put(fake, at + 8, number == 0 ? 0 : at - FAKE_HEAP_MAX);
    fake_put(fake, at + 16, fake->sizes.heap);
    fake_put(fake, at + 24, fake->sizes.heap);
    return at;
}

struct fake_pen fake_arena(struct fake_glibc *fake, uint64_t info_bytes)
{
    hs_addr arena = FAKE_HEAP_AT + info_bytes;
    hs_addr first = arena + fake->layout->bins + GLIBC_STATE_TAIL;

    fake_heap_info(fake, 0, arena);
    fake_state(fake, arena);
    fake_put(fake, FAKE_ARENA_AT + fake->layout->bins + GLIBC_NEXT, arena);
    fake_put(fake, arena + fake->layout->bins + GLIBC_NEXT, FAKE_ARENA_AT);
    fake_system_mem(fake, arena, fake->sizes.heap);
    return (struct fake_pen){
        .fake = fake, .at = (first + 15) & ~(hs_addr)15, .arena = arena, .is_main = false};
}

struct fake_pen fake_second_heap(struct fake_glibc *fake, uint64_t info_bytes)
{
    hs_addr arena = FAKE_HEAP_AT + info_bytes, at = fake_heap_info(fake, 1, arena);

    fake_system_mem(fake, arena, 2 * fake->sizes.heap);
    return (struct fake_pen){.fake = fake, .at = at + info_bytes, .arena = arena};
}

/* ---- thread caches */

uint64_t *fake_tcache_slot(struct fake_glibc *fake, unsigned thread)
{
    return fake_glibc_word(fake, FAKE_TLS_AT + 4096 * (thread + 1) - FAKE_TCACHE_SLOT);
}

hs_addr fake_safe_link(hs_addr at, hs_addr target)
{
    return target ^ at >> 12;
}

/* ---- running */

static hs_status fake_go(struct fake_glibc *fake, struct hs_error *err)
{
    uint64_t n_refused;

    HS_TRY(hs_allocator_glibc.open(&fake->process, &fake->state, err));
    if (fake->state == NULL)
        return HS_OK;
    HS_TRY(hs_allocator_glibc.add_spans(fake->state, &fake->map, &fake->ledger, err));
    hs_ledger_seal(&fake->ledger);
    HS_TRY(hs_heap_map_seal(&fake->map, &n_refused, err));
    HS_TRY(hs_allocator_glibc.mark(fake->state, &fake->map, &fake->ledger, err));
    HS_TRY(hs_ledger_close(&fake->ledger, &fake->process, NULL, &n_refused, err));
    return hs_heap_map_index(&fake->map, err);
}

hs_status fake_glibc_run(struct fake_glibc *fake, struct hs_error *err)
{
    fake->findings.strings = &fake->strings;
    fake->process = (struct hs_process_copy){&fake->target,   &fake->image, &fake->objects,
                                             &fake->findings, NULL,         NULL};
    hs_heap_map_init(&fake->map, &fake->image);
    hs_ledger_init(&fake->ledger, &fake->strings, &fake->image);
    return fake_go(fake, err);
}

void fake_glibc_forget(struct fake_glibc *fake)
{
    if (fake->state != NULL)
        hs_allocator_glibc.close(fake->state);
    fake->state = NULL;
    hs_heap_map_fini(&fake->map);
    hs_ledger_fini(&fake->ledger);
    hs_findings_fini(&fake->findings);
    memset(&fake->findings, 0, sizeof fake->findings);
}

uint64_t fake_live(const struct fake_glibc *fake, hs_addr address)
{
    struct hs_heap_block block;

    if (hs_heap_map_resolve(&fake->map, address, &block) != HS_POINTER_START)
        return 0;
    return block.n_bytes;
}

bool fake_glibc_proofs_hold(const struct fake_glibc *fake)
{
    bool holds = fake->findings.n_proofs > 0;

    for (size_t i = 0; i < fake->findings.n_proofs; i++)
        holds &= fake->findings.proofs[i].holds;
    return holds;
}

bool fake_glibc_has_note(const struct fake_glibc *fake, const char *text)
{
    for (size_t i = 0; i < fake->findings.n_notes; i++)
        if (strstr(hs_strtab_get(&fake->strings, fake->findings.notes[i].text), text) != NULL)
            return true;
    return false;
}

uint64_t fake_booked(const struct fake_glibc *fake, enum hs_memory_state state)
{
    for (size_t i = 0; i < fake->ledger.n_rows; i++)
        if (fake->ledger.rows[i].state == state &&
            strcmp(hs_strtab_get(&fake->strings, fake->ledger.rows[i].owner), GLIBC_OWNER) == 0)
            return fake->ledger.rows[i].n_bytes;
    return 0;
}

struct fake_glibc *fake_glibc_with_main(unsigned layout)
{
    struct fake_glibc *fake = fake_glibc_new(layout);
    struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
    fake_used(&pen, 64);
    fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
    return fake;
}

void fake_glibc_must_run(struct fake_glibc *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    DIE_UNLESS(fake_glibc_run(fake, &err) == HS_OK && fake->state != NULL);
}
