/* GLib's slices: pools inside of malloc's blocks. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/load.h"
#include "gslice/slabs.h"
#include "region_bits.h"
#include "symbols/elf.h"

static void gslice_close(void *state)
{
    struct gslice *gslice = state;

    if (gslice == NULL)
        return;
    hs_free(gslice->slabs);
    hs_free(gslice->threads);
    hs_free(gslice->votes);
    hs_free(gslice);
}

/* glib_major_version and glib_minor_version are constants of libglib. */
static bool gslice_constant(const struct gslice *gslice, const char *name, uint32_t *ret)
{
    struct hs_live_symbol symbol;

    if (!hs_objects_find(gslice->process->objects, name, &symbol))
        return false;
    const uint8_t *bytes =
        hs_elf_bytes_at(symbol.object->elf, symbol.address - symbol.object->bias, sizeof *ret);
    if (bytes == NULL)
        return false;
    *ret = hs_load_u32(bytes);
    return true;
}

static hs_status gslice_find(struct gslice *gslice, struct hs_error *err)
{
    uint32_t major, minor;

    HS_TRY(hs_gslice_locate(gslice, err));
    if (gslice->n_slabs == 0)
        return HS_OK;
    if (gslice_constant(gslice, "glib_major_version", &major) &&
        gslice_constant(gslice, "glib_minor_version", &minor))
        snprintf(gslice->version, sizeof gslice->version, "%u.%u", major & 255, minor & 65535);
    hs_gslice_read_slabs(gslice);
    HS_TRY(hs_gslice_read_pointers(gslice, err));
    hs_gslice_read_magazines(gslice);
    hs_gslice_settle_colours(gslice);
    return HS_OK;
}

static hs_status gslice_open(const struct hs_process_copy *process, void **ret_state,
                             struct hs_error *err)
{
    struct gslice *gslice;

    HS_TRY(HS_ALLOC(&gslice, 1, err));
    gslice->process = process;
    hs_status status = gslice_find(gslice, err);
    if (status == HS_OK && gslice->n_slabs != 0)
        *ret_state = gslice;
    else
        gslice_close(gslice);
    return status;
}

static struct hs_heap_span gslice_span(const struct gslice_slab *slab)
{
    const struct gslice_form form = hs_gslice_form(slab->class_number);
    hs_addr begin = slab->begin + slab->colour;
    bool is_known = slab->is_sound && slab->colour_by != GSLICE_BY_NOTHING;

    return (struct hs_heap_span){.begin = begin,
                                 .end = begin + (uint64_t)form.n_chunks * form.chunk_bytes,
                                 .unit_bytes = form.chunk_bytes,
                                 .tag = slab->class_number,
                                 .form = HS_SPAN_UNIFORM,
                                 .owner = HS_OWNER_gslice,
                                 .states = is_known ? 0 : HS_BLOCK_UNSURE};
}

static hs_addr gslice_slab_end(const struct gslice_slab *slab)
{
    return slab->begin + hs_gslice_form(slab->class_number).slab_bytes - GSLICE_TAIL_BYTES;
}

/* Adds a span for each slab and claims its memory; where that is a block of malloc's, the claim of
 * malloc stays. */
static hs_status gslice_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                  struct hs_error *err)
{
    const struct gslice *gslice = state;

    for (size_t i = 0; i < gslice->n_slabs; i++) {
        const struct gslice_slab *slab = &gslice->slabs[i];
        const struct hs_heap_span span = gslice_span(slab);
        HS_TRY(hs_heap_map_add(map, &span, err));
        HS_TRY(hs_ledger_claim(ledger, GSLICE_OWNER, HS_MEMORY_INTERNAL, slab->begin,
                               gslice_slab_end(slab), 0, err));
    }
    return HS_OK;
}

/* The slab is a block of another allocator: no longer, and its bytes are ours. */
static hs_status gslice_take_over(const struct gslice *gslice, const struct gslice_slab *slab,
                                  struct hs_heap_map *map, struct hs_ledger *ledger,
                                  struct hs_error *err)
{
    const struct hs_strtab *strings = gslice->process->findings->strings;
    const char *owner = hs_strtab_get(strings, hs_ledger_owner_at(ledger, slab->begin));
    uint64_t n_bytes;

    if (slab->colour != 0)
        (void)hs_heap_map_take(map, slab->begin, &n_bytes);
    if (owner[0] == '\0' || strcmp(owner, GSLICE_OWNER) == 0)
        return HS_OK;
    return hs_ledger_hand_over(ledger, owner, GSLICE_OWNER, slab->begin, gslice_slab_end(slab),
                               err);
}

static hs_status gslice_mark_slab(struct gslice *gslice, const struct gslice_slab *slab,
                                  struct hs_heap_map *map, struct hs_ledger *ledger,
                                  struct hs_error *err)
{
    const struct gslice_form form = hs_gslice_form(slab->class_number);
    const struct hs_heap_span expected = gslice_span(slab);
    const struct hs_heap_span *span = hs_heap_map_span_at(map, expected.begin);
    struct hs_region_move move = {GSLICE_OWNER, HS_MEMORY_INTERNAL, HS_MEMORY_LIVE, expected.begin,
                                  form.chunk_bytes};

    if (span == NULL || span->begin != expected.begin || span->end != expected.end ||
        span->owner != HS_OWNER_gslice)
        return HS_OK; /* overlaps others, which is told */
    const uint64_t all = (UINT64_C(1) << form.n_chunks) - 1;
    const uint64_t free = slab->free, cached = slab->cached, live = all & ~(free | cached);
    HS_TRY(gslice_take_over(gslice, slab, map, ledger, err));
    hs_region_bits_set(&map->starts, span->first_bit, &live, form.n_chunks);
    HS_TRY(hs_region_bits_move(ledger, &move, &live, form.n_chunks, err));
    move.to = HS_MEMORY_FREE;
    HS_TRY(hs_region_bits_move(ledger, &move, &free, form.n_chunks, err));
    move.to = HS_MEMORY_CACHED;
    return hs_region_bits_move(ledger, &move, &cached, form.n_chunks, err);
}

static hs_status gslice_report(struct gslice *gslice, uint64_t n_sound, uint64_t n_unknown,
                               struct hs_error *err)
{
    struct hs_findings *findings = gslice->process->findings;

    findings->n_torn += gslice->n_slabs - n_sound + gslice->n_broken;
    HS_TRY(hs_findings_proof(findings, "gslice: slabs with as many free slices as they say",
                             gslice->n_slabs, n_sound, err));
    if (gslice->n_broken != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "gslice: %llu slabs or rings of slabs are damaged and left out",
                                (unsigned long long)gslice->n_broken));
    if (n_unknown != 0)
        HS_TRY(
            hs_findings_note(findings, true, err,
                             "gslice: where the slices of %llu of %llu slabs begin is not known: "
                             "no free one and no pointer tells",
                             (unsigned long long)n_unknown, (unsigned long long)gslice->n_slabs));
    return HS_OK;
}

static hs_status gslice_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                             struct hs_error *err)
{
    struct gslice *gslice = state;
    uint64_t n_sound = 0, n_unknown = 0, n_free = 0, n_cached = 0;

    for (size_t i = 0; i < gslice->n_slabs; i++) {
        const struct gslice_slab *slab = &gslice->slabs[i];
        n_sound += slab->is_sound;
        n_unknown += slab->colour_by == GSLICE_BY_NOTHING;
        n_free += (unsigned)__builtin_popcount(slab->free);
        n_cached += (unsigned)__builtin_popcount(slab->cached);
        HS_TRY(gslice_mark_slab(gslice, slab, map, ledger, err));
    }
    HS_TRY(hs_ledger_set_blocks(ledger, GSLICE_OWNER, HS_MEMORY_FREE, n_free, err));
    HS_TRY(hs_ledger_set_blocks(ledger, GSLICE_OWNER, HS_MEMORY_CACHED, n_cached, err));
    return gslice_report(gslice, n_sound, n_unknown, err);
}

static const char *gslice_version(const void *state)
{
    return ((const struct gslice *)state)->version;
}

const struct hs_allocator hs_allocator_gslice = {
    .name = GSLICE_OWNER,
    .open = gslice_open,
    .add_spans = gslice_add_spans,
    .mark = gslice_mark,
    .close = gslice_close,
    .version = gslice_version,
};
