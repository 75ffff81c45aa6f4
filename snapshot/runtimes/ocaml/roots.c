/* All root kinds, in the order of the runtime's caml_do_roots (runtime/roots_nat.c): globals,
 * dynamic globals, stack and C locals, C global roots, finalisers, memprof, and what the scan hook
 * adds. */
#include "bytecode/bytecode.h"
#include "recorded.h"
#include "v5/ocaml5.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"

void hs_ocaml_roots_fini(struct hs_ocaml_roots *roots)
{
    if (roots == NULL)
        return;
    hs_roots_fini(&roots->roots);
    hs_free(roots->samples);
    hs_free(roots->site_frames);
    hs_free(roots->module_blocks);
    hs_free(roots->cells);
    hs_frame_table_fini(roots->frames);
    hs_free(roots->frames);
    hs_ocaml_stops_fini(roots->stops);
    hs_free(roots->stops);
    memset(roots, 0, sizeof *roots);
}

bool hs_ocaml_is_module_block(const struct hs_ocaml_roots *roots, hs_addr block)
{
    size_t low = HS_FIRST_NOT(at, 0, roots->n_module_blocks, roots->module_blocks[at] < block);
    return low < roots->n_module_blocks && roots->module_blocks[low] == block;
}

static hs_status walk_all5(struct hs_root_walk *walk)
{
    HS_TRY(hs_ocaml_walk_globals(walk));
    HS_TRY(hs_ocaml5_walk_stacks(walk));
    HS_TRY(hs_ocaml_walk_c_roots(walk));
    HS_TRY(hs_ocaml5_walk_domains(walk));
    HS_TRY(hs_ocaml5_walk_finalisers(walk));
    HS_TRY(hs_ocaml5_walk_memprof(walk));
    HS_TRY(hs_ocaml5_walk_threads(walk));
    return walk->status;
}

static hs_status walk_all(struct hs_root_walk *walk)
{
    if (walk->rt->five != NULL)
        return walk_all5(walk);
    if (walk->rt->is_bytecode) {
        HS_TRY(hs_bytecode_walk_globals(walk));
        HS_TRY(hs_bytecode_walk_stacks(walk));
    } else {
        HS_TRY(hs_ocaml_walk_globals(walk));
    }
    HS_TRY(hs_ocaml_walk_stacks(walk));
    HS_TRY(hs_ocaml_walk_c_roots(walk));
    HS_TRY(hs_ocaml_walk_finalisers(walk));
    HS_TRY(hs_ocaml_walk_memprof(walk));
    HS_TRY(hs_ocaml_walk_threads(walk));
    return walk->status;
}

/* Returns how many stacks of OCaml 5 there can be: those of a sound program lie apart. */
static uint64_t max_stacks5(const struct hs_target *target)
{
    uint64_t n_bytes = 0;

    for (size_t i = 0; i < target->n_mappings; i++) {
        if (target->mappings[i].readable)
            n_bytes += target->mappings[i].end - target->mappings[i].begin;
    }
    return n_bytes / (HS_STACK5_BYTES + HS_HANDLER5_BYTES);
}

/* Copies the stacks of a thread of OCaml 5. *n_left: how many may still be copied, of all threads.
 */
static hs_status copy_thread5(struct hs_ocaml *rt, const struct hs_ocaml_thread *thread,
                              uint64_t *n_left, struct hs_error *err)
{
    struct hs_cycle cycle = {0};
    hs_addr from = thread->words_begin < thread->words_end ? thread->words_begin : 0;
    hs_addr stack = thread->stack;

    if (thread->c_words_begin < thread->c_words_end)
        HS_TRY(
            hs_image_copy(rt->image, rt->target, thread->c_words_begin, thread->c_words_end, err));
    for (bool is_sane = true;
         stack != 0 && is_sane && *n_left != 0 && !hs_cycle_found(&cycle, stack); from = 0) {
        --*n_left;
        HS_TRY(hs_ocaml5_copy_stack(rt, stack, from, &is_sane, &stack, err));
    }
    return HS_OK;
}

/* Copies the stacks, in one run each: they are the bulk of what roots need. */
static hs_status copy_stacks(struct hs_ocaml *rt, const struct hs_ocaml_stops *stops,
                             struct hs_error *err)
{
    uint64_t n_left = max_stacks5(rt->target);

    for (size_t i = 0; i < stops->n; i++) {
        const struct hs_ocaml_thread *thread = &stops->threads[i];
        if (rt->five != NULL)
            HS_TRY(copy_thread5(rt, thread, &n_left, err));
        else if (thread->stack_begin < thread->stack_end)
            HS_TRY(
                hs_image_copy(rt->image, rt->target, thread->stack_begin, thread->stack_end, err));
    }
    return HS_OK;
}

hs_status hs_ocaml_copy_roots(struct hs_ocaml *rt, struct hs_ocaml_roots *roots,
                              struct hs_error *err)
{
    if (roots->stops == NULL)
        HS_TRY(HS_ALLOC(&roots->stops, 1, err));
    if (roots->frames == NULL)
        HS_TRY(HS_ALLOC(&roots->frames, 1, err));
    enum hs_stop_verdict verdict;
    const char *reason = NULL;
    hs_ocaml_stops_fini(roots->stops);
    HS_TRY(hs_ocaml_find_stops(rt, roots->stops, &verdict, &reason, err));
    rt->young_ptr = roots->stops->young_ptr;
    HS_TRY(copy_stacks(rt, roots->stops, err));
    struct hs_root_walk walk = {.rt = rt, .roots = roots, .err = err};
    hs_walk_allow(&walk);
    HS_TRY(walk_all(&walk));
    return hs_ocaml_walk_recorded(&walk);
}

static hs_status note_gaps(const struct hs_root_walk *walk)
{
    struct hs_ocaml *rt = walk->rt;
    const struct hs_ocaml_roots *roots = walk->roots;
    if (walk->n_unreadable != 0)
        HS_TRY(hs_findings_note(&rt->findings, true, walk->err,
                                "%llu words that hold roots could not be read",
                                (unsigned long long)walk->n_unreadable));
    if (walk->n_damaged != 0)
        HS_TRY(
            hs_findings_note(&rt->findings, true, walk->err,
                             "%llu lists or tables of roots are damaged, or of files that cannot "
                             "be opened: what follows there was left out",
                             (unsigned long long)walk->n_damaged));
    if (walk->n_spent == walk->allowance)
        HS_TRY(hs_findings_note(&rt->findings, true, walk->err,
                                "lists of roots go in circles or overlap: not all were followed"));
    if (roots->frames->n_damaged != 0)
        HS_TRY(hs_findings_note(&rt->findings, true, walk->err,
                                "%llu frame tables are damaged or not mapped",
                                (unsigned long long)roots->frames->n_damaged));
    if (roots->stops->lacks_unwinding)
        HS_TRY(hs_findings_note(&rt->findings, true, walk->err,
                                "a stack could not be unwound: the runtime's own record of it was "
                                "used, and the words below it were scanned conservatively"));
    if (roots->stops->lacks_threads)
        HS_TRY(
            hs_findings_note(&rt->findings, true, walk->err,
                             "the list of systhreads was not found whole: stacks of some threads "
                             "were not scanned"));
    if (roots->stops->lacks_stack)
        HS_TRY(hs_findings_note(&rt->findings, true, walk->err,
                                "a stack could not be delimited: it was scanned conservatively"));
    return HS_OK;
}

hs_status hs_ocaml_collect_roots(struct hs_ocaml *rt, const struct hs_block_map *blocks,
                                 struct hs_ocaml_roots *roots, struct hs_error *err)
{
    if (roots->stops == NULL || roots->frames == NULL)
        return hs_fail(err, HS_BUG, "roots were not copied while the target was stopped");
    HS_TRY(hs_ocaml_load_frames(rt, roots->frames, err));
    struct hs_root_walk walk = {.rt = rt, .roots = roots, .blocks = blocks, .err = err};
    hs_walk_allow(&walk);
    HS_TRY(walk_all(&walk));
    HS_TRY(hs_ocaml_walk_recorded(&walk));
    return note_gaps(&walk);
}
