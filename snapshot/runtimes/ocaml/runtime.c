/* OCaml's native programs, as the driver of a dump sees them (runtimes/runtime.h). */
#include <stdio.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "custom_data.h"
#include "locate.h"
#include "map.h"
#include "process/ranges.h"
#include "session.h"
#include "target/freeze.h"
#include "v5/ocaml5.h"

#define OCAML_OWNER "ocaml"
#define OCAML_STATIC_OWNER "static data of OCaml"
/* A pool of OCaml 5 begins with its header and what is over of it: shared_heap.c. */
enum { BEFORE_AREA_BYTES = 160 * 8, CALM_STOPS = 8, PLAN_NOTE_BYTES = 128 };

/* ---- opening, and what comes before a stop */

static void ocaml_forget(void *state)
{
    struct hs_ocaml_session *s = state;
    struct hs_dump *dump = s->dump;

    hs_block_map_fini(&s->map);
    hs_ocaml_roots_fini(&s->roots);
    hs_ocaml_fini(&s->rt);
    s->rt = (struct hs_ocaml){.target = &dump->target,
                              .image = &dump->image,
                              .objects = &dump->objects,
                              .strings = &dump->strings,
                              .findings.strings = &dump->strings};
}

static hs_status ocaml_open(struct hs_dump *dump, void **ret_state, struct hs_error *err)
{
    struct hs_ocaml_session *s;
    HS_TRY(HS_ALLOC(&s, 1, err));
    s->dump = dump;
    ocaml_forget(s);
    *ret_state = s;
    return HS_OK;
}

static void ocaml_close(void *state)
{
    struct hs_ocaml_session *s = state;

    if (s == NULL)
        return;
    hs_ocaml_emitter_free(s->emitter);
    hs_ocaml_marks_fini(&s->marks);
    ocaml_forget(s);
    hs_ocaml_fini(&s->rt);
    hs_names_fini(&s->names);
    hs_names_abandon(&s->types_helper);
    hs_buffer_fini(&s->question);
    hs_spush_fini(&s->push);
    hs_stables_fini(&s->source_types);
    hs_free(s);
}

static hs_status ocaml_describe(const struct hs_objects *objects, char *runtime, char *heap,
                                size_t n, struct hs_error *err)
{
    unsigned minor;

    HS_TRY(hs_ocaml_recognise(objects, &minor, err));
    if (hs_ocaml_is_bytecode(objects))
        snprintf(runtime, n, "a bytecode program of OCaml 4.13 or 4.14");
    else if (minor == 0)
        snprintf(runtime, n, "a native program of OCaml 5");
    else
        snprintf(runtime, n, "a native program of OCaml 4.%u", minor);
    snprintf(heap, n, "OCaml's own heap");
    return HS_OK;
}

static uint64_t ocaml_own_bytes(void *state)
{
    struct hs_ocaml_session *s = state;
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t n_bytes = 0;

    if (hs_ocaml_locate(&s->rt, &ignored) == HS_OK)
        n_bytes = s->rt.five != NULL
                      ? hs_ocaml5_heap_bytes(&s->rt)
                      : s->rt.heap_words * HS_WORD + (s->rt.young_end - s->rt.young_start);
    ocaml_forget(s);
    hs_image_rewind(&s->dump->image);
    return n_bytes;
}

static hs_status ocaml_prepare(void *state, struct hs_error *err)
{
    struct hs_ocaml_session *s = state;

    hs_ocaml_prepare(&s->dump->objects);
    HS_TRY(hs_progress_tell(s->dump->options->progress, "looking for source names", 0, 0, err));
    HS_TRY(hs_ocaml_start_source_types(s, err));
    return hs_ocaml_find_names(s, err);
}

static void ocaml_rehearse(void *state, bool copies)
{
    struct hs_ocaml_session *s = state;
    struct hs_error ignored = HS_ERROR_INIT;

    s->was_located = hs_ocaml_locate(&s->rt, &ignored) == HS_OK;
    if (s->was_located && copies)
        (void)hs_ocaml_copy_heap(&s->rt, &ignored);
}

/* ---- stopped */

/* Tells whether no thread runs C code: that may be the runtime half way through an allocation: a
 * block without its header yet, a new array without its elements. Nothing tells, so another moment
 * is better. */
static bool ocaml_is_calm(const struct hs_ocaml_session *s)
{
    const struct hs_target *target = &s->dump->target;

    for (size_t i = 0; i < target->n_threads; i++) {
        const struct hs_regs *regs = &target->threads[i].regs;
        if (!hs_regs_in_call(regs) && hs_range_set_find(&s->rt.code, hs_regs_pc(regs)) == NULL)
            return false; /* neither in a system call nor in OCaml code */
    }
    return true;
}

static hs_status ocaml_judge(void *state, struct hs_moment *moment, struct hs_error *err)
{
    struct hs_ocaml_session *s = state;
    enum hs_stop_verdict verdict = HS_STOP_GOOD;
    const char *reason = "";

    hs_status located = hs_ocaml_locate(&s->rt, err);
    if (located == HS_TARGET && s->was_located && !moment->is_last) {
        moment->is_good = false; /* in the middle of a change to the list of its chunks */
        return HS_OK;
    }
    HS_TRY(located);
    HS_TRY(hs_ocaml_judge(&s->rt, &verdict, &reason, err));
    moment->is_good = moment->is_last || (verdict == HS_STOP_GOOD &&
                                          (moment->attempt > CALM_STOPS || ocaml_is_calm(s)));
    if (verdict == HS_STOP_GOOD || !moment->is_good)
        return HS_OK;
    if (s->dump->target.core != NULL)
        return hs_findings_note(&s->rt.findings, true, err, "the core was taken %s", reason);
    return hs_findings_note(&s->rt.findings, true, err, "taken %s, after %u stop%s", reason,
                            s->dump->n_stops, s->dump->n_stops == 1 ? "" : "s");
}

static hs_status ocaml_copy(void *state, struct hs_error *err)
{
    struct hs_ocaml_session *s = state;

    HS_TRY(hs_ocaml_copy_roots(&s->rt, &s->roots, err));
    return hs_ocaml_copy_heap(&s->rt, err);
}

/* ---- blocks and whose memory they are in */

static hs_status ocaml_list(void *state, struct hs_error *err)
{
    struct hs_ocaml_session *s = state;

    HS_TRY(hs_progress_tell(s->dump->options->progress, "listing blocks", 0, 0, err));
    return hs_block_map_build(&s->map, &s->rt, err);
}

static hs_status ocaml_outside(void *state,
                               hs_status (*visit)(void *context, hs_addr data, const char *name,
                                                  struct hs_error *err),
                               void *context, struct hs_error *err)
{
    const struct hs_ocaml_session *s = state;
    const struct hs_ocaml5 *five = s->rt.five;

    for (size_t i = 0; five != NULL && i < five->n_fibers; i++)
        if (!five->fibers[i].is_damaged)
            HS_TRY(visit(context, five->fibers[i].stack, "stack of a continuation", err));
    return hs_custom_data_each(&s->rt, &s->map, visit, context, err);
}

static hs_status claim_span(struct hs_dump *dump, hs_addr begin, hs_addr end, struct hs_error *err)
{
    const struct hs_heap_span span = {
        .begin = begin, .end = end, .form = HS_SPAN_SINGLE, .owner = HS_OWNER_RUNTIME};
    return hs_heap_map_add(&dump->heaps.map, &span, err);
}

static hs_status claim_minor_heaps(const struct hs_ocaml *rt, struct hs_range_set *set,
                                   struct hs_error *err)
{
    if (rt->five == NULL)
        return rt->young_start < rt->young_end
                   ? hs_range_set_add(set, rt->young_start, rt->young_end, err)
                   : HS_OK;
    for (size_t i = 0; i < rt->five->n_domains; i++)
        if (rt->five->domains[i].young_start < rt->five->domains[i].young_end)
            HS_TRY(hs_range_set_add(set, rt->five->domains[i].young_start,
                                    rt->five->domains[i].young_end, err));
    return HS_OK;
}

/* Gathers the areas of the collector's own memory, those of blocks and all of its minor heaps.
 * Static data is claimed on the way; the table of atoms is static, and in memory of malloc. */
static hs_status claim_gather(struct hs_ocaml_session *s, struct hs_range_set *set,
                              struct hs_error *err)
{
    for (size_t i = 0; i < s->map.spans.n; i++) {
        const struct hs_span *area = &s->map.spans.spans[i];
        if (area->area == HS_AREA_HEAP || area->area == HS_AREA_YOUNG) {
            HS_TRY(hs_range_set_add(set, area->begin, area->end, err));
            continue;
        }
        HS_TRY(hs_ledger_claim(&s->dump->heaps.ledger, OCAML_STATIC_OWNER, HS_MEMORY_OTHER,
                               area->begin, area->end, 0, err));
        HS_TRY(claim_span(s->dump, area->begin, area->end, err));
    }
    HS_TRY(claim_minor_heaps(&s->rt, set, err));
    hs_range_set_merge(set);
    return HS_OK;
}

static hs_status claim_set(struct hs_dump *dump, const struct hs_range_set *set,
                           struct hs_error *err)
{
    hs_addr end_before = 0;

    for (size_t i = 0; i < set->n; i++) {
        const struct hs_range *range = &set->ranges[i];
        bool is_near = range->begin - end_before < BEFORE_AREA_BYTES;
        hs_addr begin = is_near ? end_before : range->begin - BEFORE_AREA_BYTES;
        HS_TRY(hs_ledger_claim(&dump->heaps.ledger, OCAML_OWNER, HS_MEMORY_LIVE, begin, range->end,
                               0, err));
        HS_TRY(claim_span(dump, range->begin, range->end, err));
        end_before = range->end;
    }
    hs_ledger_seal(&dump->heaps.ledger);
    return HS_OK;
}

/* Claims the collector's memory: no root, no unclaimed mapping and no block of malloc is there. */
static hs_status ocaml_claim(void *state, struct hs_error *err)
{
    struct hs_ocaml_session *s = state;
    struct hs_range_set set = {0};
    hs_status status = claim_gather(s, &set, err);

    if (status == HS_OK)
        status = claim_set(s->dump, &set, err);
    hs_range_set_fini(&set);
    return status;
}

/* ---- roots */

/* Marks, with memory reserved for the tables: a bit per word each for what is reached, what waits,
 * what ephemerons wait for. */
static hs_status ocaml_mark(struct hs_ocaml_session *s, struct hs_error *err)
{
    struct hs_dump_plan *plan = &s->dump->plan;
    uint64_t n_bytes = s->map.starts.n_bits / 8;

    HS_TRY(hs_progress_tell(s->dump->options->progress, "marking", 0, s->map.n_live_words, err));
    HS_TRY(hs_dump_plan_adjust(plan, n_bytes + n_bytes / 8, err));
    HS_TRY(hs_dump_plan_reserve(plan, 3 * n_bytes, "the marks of blocks", err));
    HS_TRY(hs_ocaml_mark(&s->rt, &s->map, &s->roots, &s->marks, err));
    hs_dump_plan_release(plan, 2 * n_bytes);
    return HS_OK;
}

/* Notes how the copy was made. */
static hs_status ocaml_note_copy(struct hs_ocaml_session *s, struct hs_error *err)
{
    const struct hs_target *target = &s->dump->target;
    const char *core_note = target->core != NULL ? hs_core_note(target) : "";
    char text[PLAN_NOTE_BYTES];

    if (core_note[0] != '\0')
        HS_TRY(hs_findings_note(&s->rt.findings, true, err, "%s", core_note));
    if (hs_dump_plan_tell(&s->dump->plan, text, sizeof text))
        HS_TRY(hs_findings_note(&s->rt.findings, false, err, "%s", text));
    return hs_dump_note_missing(s->dump, &s->rt.findings, err);
}

static hs_status ocaml_roots(void *state, struct hs_error *err)
{
    struct hs_ocaml_session *s = state;

    HS_TRY(hs_progress_tell(s->dump->options->progress, "collecting roots", 0, 0, err));
    HS_TRY(hs_ocaml_collect_roots(&s->rt, &s->map, &s->roots, err));
    HS_TRY(hs_ocaml_apply_names(s, err));
    HS_TRY(ocaml_mark(s, err));
    HS_TRY(ocaml_note_copy(s, err));
    if (s->map.n_live_words == 0)
        return hs_fail(err, HS_TARGET, "no block was found in the OCaml heap of '%s'",
                       s->dump->objects.objects[0].name);
    HS_TRY(hs_ocaml_emitter_new(s, &s->emitter, err));
    return hs_ocaml_push_source_types(s, err);
}

static const struct hs_roots *ocaml_leaves(const void *state)
{
    const struct hs_ocaml_session *s = state;
    return &s->roots.roots;
}

static hs_status ocaml_foreign_words(void *state, bool of_garbage,
                                     hs_status (*visit)(void *context, uint64_t word,
                                                        struct hs_error *err),
                                     void *context, struct hs_error *err)
{
    const struct hs_ocaml_session *s = state;
    struct hs_runtime_block block;

    while (hs_ocaml_emitter_next_foreign(s->emitter, of_garbage, &block))
        for (uint64_t i = 0; i < block.n_foreign_words; i++)
            HS_TRY(visit(context, hs_load_u64(block.foreign + i * HS_WORD), err));
    hs_ocaml_emitter_rewind(s->emitter);
    return HS_OK;
}

/* ---- what the snapshot says of it */

static hs_status ocaml_facts(void *state, struct hs_runtime_facts *ret, struct hs_snap_facts *facts,
                             struct hs_error *err)
{
    struct hs_ocaml_session *s = state;

    HS_TRY(hs_strtab_add(&s->dump->strings, "ocaml", &s->fact.name, err));
    HS_TRY(hs_strtab_add(&s->dump->strings, s->rt.version, &s->fact.version, err));
    if (s->dump->n_listing > 1)
        HS_TRY(hs_findings_note(&s->rt.findings, false, err,
                                "what no root reaches in OCaml's heap is garbage, which its "
                                "collector frees" HS_NOTE_NOT_CERTAIN));
    s->fact.certainty = HS_EXACT;
    for (size_t i = 0; i < s->roots.roots.n_leaves; i++)
        if (s->roots.roots.leaves[i].root.certainty == HS_CONSERVATIVE)
            s->fact.certainty = HS_CONSERVATIVE;
    *ret = (struct hs_runtime_facts){
        .runtimes = &s->fact,
        .n_runtimes = 1,
        .findings = &s->rt.findings,
        .remark = s->names_remark,
    };
    if (s->roots.n_samples != 0) {
        s->sampler =
            (struct hs_sampler){.kind = HS_SAMPLER_MEMPROF, .period_words = s->roots.period_words};
        if (s->roots.is_recorded)
            s->sampler = s->roots.recorder;
        ret->samplers = &s->sampler;
        ret->n_samplers = 1;
    }
    return hs_dump_own_facts(s->dump, facts, err);
}

/* ---- where the blocks are */

static uint64_t ocaml_n_blocks(const void *state)
{
    const struct hs_ocaml_session *s = state;
    return s->map.n_blocks;
}

static uint64_t ocaml_below(const void *state, hs_addr address)
{
    const struct hs_ocaml_session *s = state;
    const struct hs_spans *spans = &s->map.spans;
    size_t at = HS_FIRST_ABOVE(spans->spans, spans->n, begin, address);

    if (at == 0)
        return 0;
    const struct hs_span *span = &spans->spans[at - 1];
    hs_addr end = address < span->end ? address : span->end;
    return hs_bitmap_rank(&s->map.starts,
                          span->first_bit + (end - span->begin + HS_WORD - 1) / HS_WORD);
}

static uint64_t ocaml_rank(const void *state, hs_addr block)
{
    const struct hs_ocaml_session *s = state;
    return hs_block_map_rank(&s->map, block);
}

static const hs_addr *ocaml_records(const void *state, size_t *ret_n)
{
    const struct hs_ocaml_session *s = state;

    *ret_n = s->roots.n_cells;
    return s->roots.cells;
}

/* ---- writing */

static bool ocaml_peek(void *state, hs_addr *ret)
{
    const struct hs_ocaml_session *s = state;
    return hs_ocaml_emitter_peek(s->emitter, ret);
}

static hs_status ocaml_next(void *state, hs_addr not_before, struct hs_runtime_block *ret,
                            struct hs_error *err)
{
    const struct hs_ocaml_session *s = state;

    (void)not_before; /* a block of OCaml is cut at its end where another begins */
    return hs_ocaml_emitter_next(s->emitter, ret, err);
}

static hs_status ocaml_types(void *state, struct hs_type_tables *ret, struct hs_error *err)
{
    const struct hs_ocaml_session *s = state;
    return hs_ocaml_emitter_types(s->emitter, ret, err);
}

static hs_status ocaml_samples(void *state, struct hs_runtime_samples *ret, struct hs_error *err)
{
    const struct hs_ocaml_session *s = state;
    return hs_ocaml_emitter_samples(s->emitter, ret, err);
}

const struct hs_runtime hs_runtime_ocaml = {
    .name = "ocaml",
    .has_own_heap = true,
    .has_tables_of_data = true, /* of frames and static blocks */
    .serves = hs_is_ocaml,
    .describe = ocaml_describe,
    .open = ocaml_open,
    .close = ocaml_close,
    .own_bytes = ocaml_own_bytes,
    .prepare = ocaml_prepare,
    .rehearse = ocaml_rehearse,
    .forget = ocaml_forget,
    .judge = ocaml_judge,
    .copy = ocaml_copy,
    .list = ocaml_list,
    .outside = ocaml_outside,
    .claim = ocaml_claim,
    .roots = ocaml_roots,
    .leaves = ocaml_leaves,
    .foreign_words = ocaml_foreign_words,
    .facts = ocaml_facts,
    .n_blocks = ocaml_n_blocks,
    .below = ocaml_below,
    .rank = ocaml_rank,
    .records = ocaml_records,
    .peek = ocaml_peek,
    .next = ocaml_next,
    .types = ocaml_types,
    .samples = ocaml_samples,
};
