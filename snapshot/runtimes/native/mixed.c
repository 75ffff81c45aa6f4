#include "mixed.h"

#include <string.h>

#include "base/alloc.h"
#include "copy.h"
#include "facts.h"
#include "flow.h"
#include "snapshot/writer.h"

#define OCAML_OWNER "ocaml"
#define OCAML_STATIC_OWNER "static data of OCaml"
/* A pool of OCaml 5 begins with its header and what is over of it: shared_heap.c. */
enum { BEFORE_AREA_BYTES = 160 * 8, BLOCKS_PER_TELL = 1 << 18 };

struct mixed {
    struct hs_native native;
    struct hs_out *out; /* borrowed */
    struct hs_flow flow;
    struct hs_scan scan;
    struct hs_mixed_roots roots;
    struct hs_mixed_types types;
    struct hs_mixed_samples samples;
    struct hs_ocaml_emitter *emitter; /* owned */
    struct hs_snap_writer *writer;    /* owned */
    struct hs_native_facts native_facts;
    struct hs_snap_facts facts;  /* of both */
    struct hs_runtime *runtimes; /* owned, as the next two */
    struct hs_proof *proofs;
    struct hs_note *notes;
    uint64_t n_total, n_done;
};

/* ---- which memory is whose */

/* No block of malloc is there. */
static hs_status claim_span(struct hs_native *native, hs_addr begin, hs_addr end,
                            struct hs_error *err)
{
    const struct hs_heap_span span = {
        .begin = begin, .end = end, .form = HS_SPAN_SINGLE, .owner = HS_OWNER_RUNTIME};
    return hs_heap_map_add(&native->heaps.map, &span, err);
}

/* Areas of the collector's own memory, those of blocks and all of its minor heaps. Static data is
 * claimed on the way; the table of atoms is static, and in memory of malloc. */
static hs_status claim_gather(struct hs_native *native, struct hs_range_set *set,
                              struct hs_error *err)
{
    struct hs_ocaml_area area;

    for (size_t i = 0; hs_ocaml_area_at(native->ocaml, i, &area); i++) {
        if (!area.is_static) {
            HS_TRY(hs_range_set_add(set, area.begin, area.end, err));
            continue;
        }
        HS_TRY(hs_ledger_claim(&native->heaps.ledger, OCAML_STATIC_OWNER, HS_MEMORY_OTHER,
                               area.begin, area.end, 0, err));
        HS_TRY(claim_span(native, area.begin, area.end, err));
    }
    for (size_t i = 0; hs_ocaml_minor_heap_at(native->ocaml, i, &area); i++)
        if (area.begin < area.end)
            HS_TRY(hs_range_set_add(set, area.begin, area.end, err));
    hs_range_set_merge(set);
    return HS_OK;
}

static hs_status claim_set(struct hs_native *native, const struct hs_range_set *set,
                           struct hs_error *err)
{
    hs_addr end_before = 0;

    for (size_t i = 0; i < set->n; i++) {
        const struct hs_range *range = &set->ranges[i];
        bool is_near = range->begin - end_before < BEFORE_AREA_BYTES;
        hs_addr begin = is_near ? end_before : range->begin - BEFORE_AREA_BYTES;
        HS_TRY(hs_ledger_claim(&native->heaps.ledger, OCAML_OWNER, HS_MEMORY_LIVE, begin,
                               range->end, 0, err));
        HS_TRY(claim_span(native, range->begin, range->end, err));
        end_before = range->end;
    }
    hs_ledger_seal(&native->heaps.ledger);
    return HS_OK;
}

hs_status hs_native_claim_ocaml(struct hs_native *native, struct hs_error *err)
{
    struct hs_range_set set = {0};
    hs_status status = claim_gather(native, &set, err);

    if (status == HS_OK)
        status = claim_set(native, &set, err);
    hs_range_set_fini(&set);
    return status;
}

/* ---- marking */

static hs_status mark_outside(struct mixed *m, struct hs_error *err)
{
    struct hs_ocaml_block block;
    bool more;

    for (;;) {
        hs_ocaml_emitter_next_outside(m->emitter, &block, &more);
        if (!more)
            break;
        for (uint64_t i = 0; block.is_reached && i < block.n_outside_words; i++)
            HS_TRY(hs_scan_mark_word(&m->scan, hs_native_load(block.outside + i * HS_WORD_BYTES),
                                     err));
    }
    hs_ocaml_emitter_rewind(m->emitter);
    return HS_OK;
}

static hs_status mixed_mark(struct mixed *m, struct hs_error *err)
{
    HS_TRY(hs_progress_tell(m->native.options->progress, "marking", 0, m->native.heaps.map.n_blocks,
                            err));
    HS_TRY(hs_scan_begin(&m->scan, &m->native, &m->flow, err));
    HS_TRY(hs_mixed_roots_make(&m->native, &m->scan, &m->roots, err));
    HS_TRY(mark_outside(m, err));
    return hs_scan_end(&m->scan, err);
}

static hs_status note_borders(struct mixed *m, struct hs_error *err)
{
    struct hs_ocaml_area area;
    struct hs_heap_block block;
    uint64_t n = 0;

    for (size_t i = 0; hs_ocaml_area_at(m->native.ocaml, i, &area); i++)
        n += hs_heap_map_resolve(&m->native.heaps.map, area.end, &block) == HS_POINTER_START;
    if (n == 0)
        return HS_OK;
    return hs_findings_note(&m->native.findings, false, err,
                            "at most %llu OCaml blocks, which memory of C follows at once, are "
                            "counted a word short",
                            (unsigned long long)n);
}

/* ---- facts */

static void *joined(const void *a, size_t n_a, const void *b, size_t n_b, size_t size, void *to)
{
    if (n_a != 0)
        memcpy(to, a, n_a * size);
    if (n_b != 0)
        memcpy((char *)to + n_a * size, b, n_b * size);
    return to;
}

/* OCaml's first. */
static hs_status mixed_facts(struct mixed *m, struct hs_error *err)
{
    const struct hs_snap_facts *a = m->native.ocaml->facts, *b = &m->native.facts;
    void *runtimes, *proofs, *notes;

    m->facts = *b;
    m->facts.n_stop_attempts = a->n_stop_attempts;
    m->facts.samplers = m->samples.samplers;
    m->facts.n_samplers = m->samples.n_samplers;
    HS_TRY(hs_alloc(a->n_runtimes + b->n_runtimes, sizeof *m->runtimes, &runtimes, err));
    m->runtimes = joined(a->runtimes, a->n_runtimes, b->runtimes, b->n_runtimes,
                         sizeof *m->runtimes, runtimes);
    HS_TRY(hs_alloc(a->n_proofs + b->n_proofs, sizeof *m->proofs, &proofs, err));
    m->proofs = joined(a->proofs, a->n_proofs, b->proofs, b->n_proofs, sizeof *m->proofs, proofs);
    HS_TRY(hs_alloc(a->n_notes + b->n_notes, sizeof *m->notes, &notes, err));
    m->notes = joined(a->notes, a->n_notes, b->notes, b->n_notes, sizeof *m->notes, notes);
    m->facts.runtimes = m->runtimes;
    m->facts.n_runtimes = a->n_runtimes + b->n_runtimes;
    m->facts.proofs = m->proofs;
    m->facts.n_proofs = a->n_proofs + b->n_proofs;
    m->facts.notes = m->notes;
    m->facts.n_notes = a->n_notes + b->n_notes;
    return HS_OK;
}

/* ---- writing */

static hs_node ocaml_node(const void *context, hs_addr block, uint64_t rank)
{
    const struct mixed *m = context;
    return m->scan.n_tree + rank + hs_heap_map_below(&m->native.heaps.map, block);
}

static uint64_t mixed_rank(const void *context, hs_addr address)
{
    const struct mixed *m = context;
    struct hs_heap_block block;
    uint64_t rank = hs_ocaml_block_rank(m->native.ocaml, address);

    if (rank != HS_NO_NODE)
        return rank + hs_heap_map_below(&m->native.heaps.map, address);
    if (hs_heap_map_resolve(&m->native.heaps.map, address, &block) != HS_POINTER_START)
        return HS_NO_NODE;
    return block.rank + hs_ocaml_blocks_below(m->native.ocaml, address);
}

static hs_status mixed_open_writer(struct mixed *m, struct hs_error *err)
{
    const struct hs_rank_of rank_of = {.rank = mixed_rank, .context = m};
    struct hs_root *tree = NULL;

    HS_TRY(hs_roots_finish(&m->roots.roots, &m->native.strings, &rank_of, &tree, &m->scan.n_tree,
                           err));
    hs_status status = hs_snap_writer_new(m->out, &m->native.strings, &m->facts, tree,
                                          m->scan.n_tree, m->n_total, &m->writer, err);
    hs_free(tree);
    return status;
}

static hs_status write_one(struct mixed *m, struct hs_block_record *record, unsigned source,
                           struct hs_edge *edges, size_t n_edges, struct hs_error *err)
{
    HS_TRY(hs_mixed_types_number(&m->types, source, record->type, &record->type, err));
    HS_TRY(hs_snap_writer_block(m->writer, record, edges, n_edges, err));
    if (++m->n_done % BLOCKS_PER_TELL != 0)
        return HS_OK;
    return hs_progress_tell(m->native.options->progress, "writing blocks", m->n_done, m->n_total,
                            err);
}

/* Its values, and its words that lead to memory of C. */
static hs_status write_ocaml(struct mixed *m, struct hs_ocaml_block *block, struct hs_error *err)
{
    struct hs_heap_block target;

    for (uint64_t i = 0; i < block->n_outside_words; i++) {
        uint64_t word = hs_native_load(block->outside + i * HS_WORD_BYTES);
        enum hs_pointer how = hs_flow_resolve(&m->native, word, &target);
        if (how == HS_POINTER_NONE)
            continue;
        const struct hs_edge edge = {.target = hs_scan_node(&m->scan, &target),
                                     .offset_words = block->outside_offset_words + i,
                                     .edge_class = (uint8_t)hs_scan_class(how)};
        HS_TRY(hs_ocaml_emitter_add_edge(m->emitter, &edge, block, err));
    }
    return write_one(m, &block->record, HS_MIXED_OCAML, block->edges, block->n_edges, err);
}

/* Its words, and what the collector's roots in it hold. */
static hs_status write_native(struct mixed *m, const struct hs_heap_block *block,
                              struct hs_error *err)
{
    struct hs_block_record record;
    size_t n;
    const struct hs_mixed_cell *cells =
        hs_mixed_cells_in(&m->roots, block->begin, block->begin + block->n_bytes, &n);

    HS_TRY(hs_native_block_record(&m->native, &m->flow, block, &record, err));
    HS_TRY(hs_scan_block(&m->scan, block, err));
    record.state = m->scan.states;
    for (size_t i = 0; i < n; i++) {
        uint64_t rank = hs_ocaml_block_rank(m->native.ocaml, cells[i].block);
        if (rank == HS_NO_NODE)
            continue;
        const struct hs_edge edge = {.target = ocaml_node(m, cells[i].block, rank),
                                     .offset_words = (cells[i].at - block->begin) / HS_WORD_BYTES,
                                     .edge_class = HS_EDGE_EXACT};
        HS_TRY(hs_scan_add_edge(&m->scan, &edge, err));
    }
    return write_one(m, &record, HS_MIXED_NATIVE, m->scan.edges, m->scan.n_edges, err);
}

/* An OCaml block is where its first value is, and its size counts the header before that. At the
 * end of an area, a block of C that begins there would begin inside of it: one word of one of the
 * two is not counted, and the notes say so (note_borders). */
static void settle_border(struct hs_block_record *ocaml, struct hs_heap_block *native)
{
    hs_addr end = ocaml->address + ocaml->words * HS_WORD_BYTES;

    if (native->begin >= end)
        return;
    if (ocaml->words > 1) {
        ocaml->words--;
    } else if (native->n_bytes > HS_WORD_BYTES) { /* an atom: nothing but a header */
        native->begin += HS_WORD_BYTES;
        native->n_bytes -= HS_WORD_BYTES;
        native->bytes = native->bytes == NULL ? NULL : native->bytes + HS_WORD_BYTES;
    }
}

/* In one pass, by address. */
static hs_status write_blocks(struct mixed *m, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &m->native.heaps.map};
    struct hs_heap_block native;
    struct hs_ocaml_block ocaml;
    bool has_native = hs_heap_map_next(&it, &native), has_ocaml;

    HS_TRY(hs_ocaml_emitter_next(m->emitter, &ocaml, &has_ocaml, err));
    while (has_native || has_ocaml) {
        if (has_native && (!has_ocaml || native.begin < ocaml.record.address)) {
            HS_TRY(write_native(m, &native, err));
            has_native = hs_heap_map_next(&it, &native);
        } else {
            if (has_native)
                settle_border(&ocaml.record, &native);
            HS_TRY(write_ocaml(m, &ocaml, err));
            HS_TRY(hs_ocaml_emitter_next(m->emitter, &ocaml, &has_ocaml, err));
        }
    }
    return HS_OK;
}

static hs_status write_end(struct mixed *m, struct hs_snap_totals *ret, struct hs_error *err)
{
    struct hs_mixed_type_tables tables = {0};
    hs_auto_free struct hs_sample *samples = NULL;
    size_t n_ocaml_types, n_samples;
    const struct hs_type *ocaml_types = hs_ocaml_emitter_types(m->emitter, &n_ocaml_types);

    HS_TRY(hs_ocaml_emitter_samples(m->emitter, &samples, &n_samples, err));
    HS_TRY(hs_mixed_samples_place(&m->samples, &m->scan, samples, n_samples, err));
    HS_TRY(hs_mixed_types_finish(&m->types, &m->flow.types, ocaml_types, &tables, err));
    const struct hs_snap_ending ending = {.types = tables.types,
                                          .n_types = tables.n_types,
                                          .members = tables.members,
                                          .n_members = tables.n_members,
                                          .samples = m->samples.samples,
                                          .n_samples = m->samples.n_samples,
                                          .site_frames = m->samples.of_native.frames,
                                          .n_site_frames = m->samples.of_native.n_frames};
    hs_status status = hs_snap_writer_finish(m->writer, &ending, ret, err);
    hs_free(tables.types);
    hs_free(tables.members);
    return status;
}

/* ---- the order of things */

static hs_status mixed_copy(void *context, struct hs_error *err)
{
    struct mixed *m = context;

    HS_TRY(hs_native_copy(&m->native, err));
    return hs_residency_read(&m->native.residency, &m->native.target, err);
}

static hs_status mixed_walk(struct mixed *m, struct hs_error *err)
{
    struct hs_native *native = &m->native;

    HS_TRY(hs_native_list_blocks(native, err));
    HS_TRY(hs_native_take_tables(native, err));
    HS_TRY(hs_native_note_uncopied(native, err));
    HS_TRY(hs_native_collect_roots(native, err));
    HS_TRY(hs_mixed_samples_collect(native, &m->samples, err));
    HS_TRY(hs_progress_tell(native->options->progress, "naming types", 0, 0, err));
    HS_TRY(hs_native_flow(native, &m->flow, err));
    HS_TRY(mixed_mark(m, err));
    HS_TRY(note_borders(m, err));
    m->scan.ocaml = native->ocaml;
    m->n_total = native->heaps.map.n_blocks + hs_ocaml_n_blocks(native->ocaml);
    return HS_OK;
}

static hs_status mixed_write(void *context, const struct hs_ocaml_emission *emission,
                             struct hs_dump_report *ret, struct hs_error *err)
{
    struct mixed *m = context;
    const struct hs_ocaml_numbering numbering = {.node = ocaml_node, .context = m};

    m->native.ocaml = emission;
    m->out = emission->out;
    HS_TRY(hs_ocaml_emitter_new(emission, &numbering, &m->emitter, err));
    HS_TRY(mixed_walk(m, err));
    HS_TRY(hs_native_make_facts(&m->native, &m->flow, &m->scan, &m->native_facts, err));
    HS_TRY(mixed_facts(m, err));
    HS_TRY(mixed_open_writer(m, err));
    HS_TRY(write_blocks(m, err));
    HS_TRY(write_end(m, &ret->totals, err));
    HS_TRY(hs_image_check(&m->native.image, err));
    hs_dump_summarise(&m->facts, &m->native.strings, ret);
    hs_snap_writer_free(m->writer);
    m->writer = NULL;
    hs_ocaml_emitter_free(m->emitter); /* the numbering ends here */
    m->emitter = NULL;
    return HS_OK;
}

static void mixed_fini(struct mixed *m)
{
    hs_snap_writer_free(m->writer);
    hs_ocaml_emitter_free(m->emitter);
    hs_mixed_types_fini(&m->types);
    hs_mixed_samples_fini(&m->samples);
    hs_mixed_roots_fini(&m->roots);
    hs_native_facts_fini(&m->native_facts);
    hs_scan_close(&m->scan);
    hs_flow_fini(&m->flow);
    hs_free(m->runtimes);
    hs_free(m->proofs);
    hs_free(m->notes);
    hs_native_fini(&m->native);
}

hs_status hs_native_dump_mixed(const struct hs_dump_options *options, struct hs_out *out,
                               struct hs_dump_report *ret, struct hs_error *err)
{
    struct mixed m = {.native = {.options = options}};
    const struct hs_dump_beside beside = {.context = &m,
                                          .target = &m.native.target,
                                          .objects = &m.native.objects,
                                          .image = &m.native.image,
                                          .plan = &m.native.plan,
                                          .strings = &m.native.strings,
                                          .copy = mixed_copy,
                                          .write = mixed_write};

    hs_native_bind(&m.native);
    hs_status status = hs_dump_with(options, &beside, out, ret, err);
    mixed_fini(&m);
    return status;
}
