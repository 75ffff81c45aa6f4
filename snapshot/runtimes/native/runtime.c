/* C, C++, Rust and what interpreters have from malloc, as the driver of a dump sees them
 * (runtimes/runtime.h). The blocks are the allocators', in dump->heaps. */
#include <limits.h>
#include <stddef.h>

#include "ahead.h"
#include "base/alloc.h"
#include "computed.h"
#include "copies.h"
#include "copy.h"
#include "disguise.h"
#include "elements.h"
#include "emit.h"
#include "enclosing.h"
#include "encoded.h"
#include "facts.h"
#include "firm.h"
#include "flow.h"
#include "foreign.h"
#include "garbage.h"
#include "guess.h"
#include "handles.h"
#include "opaque.h"
#include "prepare.h"
#include "qt.h"
#include "records.h"
#include "rings.h"
#include "rule_lines.h"
#include "signal_stacks.h"
#include "sites.h"
#include "sole.h"
#include "strangers.h"
#include "target/kernel_words.h"
#include "tiers.h"
#include "visits.h"

/* The least resident memory from which blocks are gone through by region, whatever memory there is
 * for the dump: the same heap gives the same types. */
#define LARGE_BYTES ((uint64_t)32 << 20)

struct native_state {
    struct hs_native native;
    struct hs_flow flow;
    struct hs_scan scan;
    struct hs_native_samples samples;
    struct hs_native_allocators allocators;
    struct hs_heap_iterator it; /* of the blocks, while they are written */
    struct hs_heap_block next;
    bool has_next;                   /* it was peeked at */
    struct hs_ahead *ahead;          /* owned; NULL: edges are collected as blocks are written */
    struct hs_ahead_block collected; /* with `ahead`: the next */
};
/* A state is known to the other runtimes by its first member. */
_Static_assert(offsetof(struct native_state, native) == 0, "hs_dump_node is given &state->native");

/* ---- opening, and what comes before a stop */

/* Serves every process: whatever else it is, it has memory of C. */
static bool native_serves(const struct hs_objects *objects)
{
    (void)objects;
    return true;
}

static hs_status native_open(struct hs_dump *dump, void **ret_state, struct hs_error *err)
{
    struct native_state *s;
    HS_TRY(HS_ALLOC(&s, 1, err));
    s->native.dump = dump;
    *ret_state = s;
    return HS_OK;
}

static void native_forget(void *state)
{
    struct native_state *s = state;

    hs_native_forget_objects(&s->native);
}

static void native_close(void *state)
{
    struct native_state *s = state;

    if (s == NULL)
        return;
    hs_ahead_close(s->ahead);
    hs_native_samples_fini(&s->samples);
    hs_scan_close(&s->scan);
    hs_flow_fini(&s->flow);
    hs_roots_fini(&s->native.roots);
    hs_range_set_fini(&s->native.root_ranges);
    hs_free(s->native.seeds);
    hs_native_counts_fini(&s->native.counts);
    hs_native_told_fini(&s->native.told);
    hs_native_tasks_fini(&s->native.tasks);
    hs_unions_fini(&s->native.unions);
    hs_free(s->native.ended);
    hs_native_foreign_fini(&s->native.foreign);
    native_forget(s);
    hs_free(s);
}

static hs_status native_prepare(void *state, struct hs_error *err)
{
    struct native_state *s = state;
    struct hs_dump *dump = s->native.dump;

    HS_TRY(hs_progress_tell(dump->options->progress, "looking for debug information", 0, 0, err));
    HS_TRY(hs_dump_find_debug(dump, err));
    return dump->target.core != NULL ? HS_OK : hs_kernel_words_of_files(&dump->target, err);
}

/* Takes every moment, and reads what would be gone after it. */
static hs_status native_judge(void *state, struct hs_moment *moment, struct hs_error *err)
{
    struct native_state *s = state;
    struct hs_target *target = &s->native.dump->target;
    (void)moment;
    if (target->core != NULL)
        return HS_OK;
    HS_TRY(hs_kernel_words_of_threads(target, err));
    return hs_kernel_words_of_queues(target, err);
}

static void native_rehearse(void *state, bool copies)
{
    struct native_state *s = state;
    struct hs_error ignored = HS_ERROR_INIT;

    if (copies)
        (void)hs_native_copy(&s->native, &ignored);
}

static hs_status native_copy(void *state, struct hs_error *err)
{
    struct native_state *s = state;
    return hs_native_copy(&s->native, err);
}

/* ---- blocks and roots */

static hs_status native_list(void *state, struct hs_error *err)
{
    struct native_state *s = state;
    struct hs_dump *dump = s->native.dump;

    HS_TRY(hs_progress_tell(dump->options->progress, "listing blocks", 0, 0, err));
    HS_TRY(hs_dump_find_debug(dump, err)); /* of what was loaded since */
    return hs_native_prepare_objects(&s->native, err);
}

static hs_status native_claim(void *state, struct hs_error *err)
{
    struct native_state *s = state;

    HS_TRY(hs_native_add_unclaimed(&s->native, err));
    s->native.is_large =
        hs_image_resident_bytes(&s->native.dump->image, 0, UINT64_MAX) >= LARGE_BYTES;
    return HS_OK;
}

/* Returns the memory of types that flow, of calls that visit, and of words that speak against
 * slack: they come one after the other, so that the largest counts. */
static uint64_t passing_bytes(uint64_t n_blocks)
{
    uint64_t most = HS_VISITS_CALLS_BYTES(n_blocks);

    most = most > HS_FLOW_LATE_BYTES(n_blocks) ? most : HS_FLOW_LATE_BYTES(n_blocks);
    return most > HS_TOLD_BYTES(n_blocks) ? most : HS_TOLD_BYTES(n_blocks);
}

/* Reserves memory for the table of blocks, for the marks, and for types: a program without debug
 * information, C++, GObject or Python has none. */
static hs_status native_reserve(struct hs_native *native, struct hs_error *err)
{
    struct hs_dump *dump = native->dump;
    uint64_t n_blocks = dump->heaps.map.n_blocks;
    uint64_t table_bytes = hs_heap_map_table_bytes(&dump->heaps.map);

    if (dump->n_listing > 1) /* the tables of the other were thought of first */
        HS_TRY(hs_dump_plan_reserve(&dump->plan, table_bytes + n_blocks / CHAR_BIT,
                                    "the table of blocks", err));
    else
        HS_TRY(hs_dump_plan_adjust(&dump->plan, table_bytes, err));
    HS_TRY(hs_dump_plan_reserve(&dump->plan, HS_MARK_BYTES(n_blocks), "the marks of blocks", err));
    if (native->is_interpreter)
        HS_TRY(hs_dump_plan_reserve(&dump->plan, HS_BELOW_NAMES_BYTES(n_blocks), "what names reach",
                                    err));
    if (native->ctypes != NULL)
        HS_TRY(hs_dump_plan_reserve(&dump->plan,
                                    HS_OWN_BYTES(n_blocks) + HS_VISITS_BYTES(n_blocks) +
                                        passing_bytes(n_blocks),
                                    "what the program reaches", err));
    if (hs_heaps_have_owners(&dump->heaps))
        HS_TRY(hs_dump_plan_reserve(&dump->plan, HS_OWNED_BYTES(n_blocks), "who owns blocks", err));
    if (native->ctypes == NULL && hs_heaps_interpreter(&dump->heaps).model == NULL &&
        !hs_heaps_have_object_names(&dump->heaps) && !hs_rtti_is_possible(&dump->objects) &&
        !hs_native_has_records(native))
        return HS_OK;
    HS_TRY(
        hs_dump_plan_reserve(&dump->plan, n_blocks * sizeof(uint16_t), "the types of blocks", err));
    if (native->ctypes != NULL)
        HS_TRY(hs_dump_plan_reserve(&dump->plan, HS_ENCLOSING_BYTES(n_blocks),
                                    "what is said of types and of members", err));
    if (native->ctypes != NULL)
        native->counts.n_most =
            hs_dump_plan_reserve_most(&dump->plan, hs_native_counts_bytes(n_blocks),
                                      "the counts of containers") /
            sizeof *native->counts.rows;
    bool is_cpp = hs_rtti_is_possible(&dump->objects);
    bool is_rust = native->ctypes != NULL && hs_native_rust_object(&dump->objects) != NULL;
    if (!is_cpp && !is_rust && native->ctypes == NULL)
        return HS_OK;
    HS_TRY(hs_dump_plan_reserve(
        &dump->plan,
        hs_native_reserves_bits_bytes(n_blocks) + (is_rust ? HS_TASKS_BYTES(n_blocks) : 0) +
            hs_sole_bytes(native, n_blocks) + hs_native_qt_bytes(&dump->objects, n_blocks),
        "what vectors and tasks say", err));
    uint64_t lists_bytes = hs_dump_plan_reserve_most(
        &dump->plan, hs_native_reserves_lists_bytes(n_blocks), "the reserves of vectors");
    native->n_reserves_without_room = hs_native_reserves_without_room(n_blocks, lists_bytes);
    return HS_OK;
}

static hs_status native_collect(struct hs_native *native, struct hs_error *err)
{
    HS_TRY(hs_progress_tell(native->dump->options->progress, "collecting roots", 0, 0, err));
    HS_TRY(hs_native_collect_globals(native, err));
    HS_TRY(hs_native_collect_tls(native, err));
    HS_TRY(hs_native_collect_stacks(native, err));
    HS_TRY(hs_native_collect_registered(native, err));
    HS_TRY(hs_native_collect_kernel(native, err));
    HS_TRY(hs_native_collect_tasks(native, err));
    HS_TRY(hs_rings_find(native, err));
    HS_TRY(hs_copies_find(native, err));
    HS_TRY(hs_native_collect_foreign(native, err));
    return hs_native_collect_unclaimed(native, err);
}

/* Asks whether an interpreter's runtime names what it has, and whether the program is that
 * interpreter: one that has it in itself keeps its own stacks as they are. */
static void native_ask_names(struct hs_native *native)
{
    const struct hs_interpreter python = hs_dump_interpreter(native->dump);

    native->has_names = python.model != NULL && python.model->named != NULL &&
                        python.model->named(python.state) != NULL;
    native->is_interpreter = native->has_names && native->dump->objects.n != 0 &&
                             hs_native_is_interpreter_program(native->dump->options->rules,
                                                              &native->dump->objects.objects[0]);
}

static hs_status native_roots(void *state, struct hs_error *err)
{
    struct native_state *s = state;
    struct hs_dump *dump = s->native.dump;
    const struct hs_progress *progress = dump->options->progress;

    native_ask_names(&s->native);
    HS_TRY(native_reserve(&s->native, err));
    HS_TRY(hs_native_prepare_types(&s->native, err));
    HS_TRY(native_collect(&s->native, err));
    hs_native_raise_roots(&s->native);
    HS_TRY(hs_native_note_uncopied(&s->native, err));
    HS_TRY(hs_progress_tell(progress, "naming types", 0, 0, err));
    HS_TRY(hs_native_flow(&s->native, &s->flow, err));
    HS_TRY(hs_native_stdio_unused(&s->native, &s->flow, err));
    HS_TRY(hs_native_counts_find(&s->native, &s->flow, err));
    hs_elements_lower_roots(&s->native, &s->flow);
    HS_TRY(hs_sole_find(&s->native, &s->flow, err));
    HS_TRY(hs_progress_tell(progress, "marking", 0, dump->heaps.map.n_blocks, err));
    hs_native_find_signal_stacks(&s->native);
    HS_TRY(hs_scan_begin(&s->scan, &s->native, &s->flow, err));
    HS_TRY(hs_scan_find_owned(&s->scan, err));
    if (s->scan.entries.n_bits != 0) /* of three bits of a block one is kept */
        hs_dump_plan_release(&dump->plan, HS_OWNED_BYTES(dump->heaps.map.n_blocks) / 3 * 2);
    HS_TRY(hs_unions_learn(&s->scan, err));
    HS_TRY(hs_scan_find_owners(&s->scan, err));
    hs_native_raise_roots(&s->native);
    HS_TRY(hs_scan_mark_roots(&s->scan, err));
    HS_TRY(hs_scan_mark_below_names(&s->scan, err));
    if (dump->n_listing > 1)
        HS_TRY(hs_scan_mark_firm(&s->scan, err));
    return hs_native_collect_disguised(&s->native, &s->scan, err);
}

static hs_status native_check(const void *state, struct hs_error *err)
{
    const struct native_state *s = state;
    return s->native.ctypes == NULL ? HS_OK : hs_ctypes_check(s->native.ctypes, err);
}

static const struct hs_roots *native_leaves(const void *state)
{
    const struct native_state *s = state;
    return &s->native.roots;
}

static hs_status native_mark_word(void *state, uint64_t word, bool of_garbage, struct hs_error *err)
{
    struct native_state *s = state;
    struct hs_heap_block block;

    if (!of_garbage)
        return hs_scan_mark_word(&s->scan, word, err);
    return hs_heap_map_resolve(&s->native.dump->heaps.map, word, &block) != HS_POINTER_NONE &&
                   hs_scan_is_lost(&s->scan, &block)
               ? hs_scan_mark_unsure(&s->scan, &block, err)
               : HS_OK;
}

static hs_status native_mark_end(void *state, struct hs_error *err)
{
    struct native_state *s = state;
    HS_TRY(hs_garbage_mark(&s->scan, err)); /* what is not lost needs no further explanation */
    HS_TRY(hs_scan_mark_computed(&s->scan, err));
    HS_TRY(hs_signal_stacks_mark(&s->scan, err));
    HS_TRY(hs_scan_mark_encoded(&s->scan, err));
    HS_TRY(hs_scan_end(&s->scan, err));
    HS_TRY(hs_native_collect_samples(&s->native, &s->samples, err));
    HS_TRY(hs_native_opaque(&s->native, &s->flow, err));
    HS_TRY(hs_native_handles(&s->native, &s->flow, err));
    return hs_native_guess(&s->native, &s->flow, &s->scan, &s->samples, err);
}

/* Tells whether a word at this address is in a block that keeps what it leads to. Mappings that
 * nobody claims keep nothing for others: their blocks are guesses. Nor does a block that is only
 * guessed to be in use. */
static bool native_keeps(const void *state, hs_addr at)
{
    const struct native_state *s = state;
    struct hs_heap_block block;

    enum hs_pointer how = hs_heap_map_resolve(&s->native.dump->heaps.map, at, &block);
    return (how == HS_POINTER_START || how == HS_POINTER_INTERIOR) &&
           (block.span->states & HS_BLOCK_MAPPING) == 0 &&
           block.begin + block.n_bytes - at >= HS_WORD_BYTES &&
           hs_bitmap_get(&s->scan.firm, block.rank);
}

static hs_status native_facts(void *state, struct hs_runtime_facts *ret,
                              struct hs_snap_facts *facts, struct hs_error *err)
{
    struct native_state *s = state;
    struct hs_dump *dump = s->native.dump;

    HS_TRY(hs_dump_own_facts(dump, facts, err));
    HS_TRY(hs_native_list_allocators(&s->native, &s->allocators, err));
    HS_TRY(hs_native_note(&s->native, &s->flow, &s->scan, err));
    *ret = (struct hs_runtime_facts){.runtimes = s->allocators.facts,
                                     .n_runtimes = s->allocators.n,
                                     .findings = &dump->findings,
                                     .samplers = s->samples.samplers,
                                     .n_samplers = s->samples.n_samplers};
    return HS_OK;
}

/* ---- where the blocks are */

static uint64_t native_n_blocks(const void *state)
{
    const struct native_state *s = state;
    return s->native.dump->heaps.map.n_blocks;
}

static uint64_t native_below(const void *state, hs_addr address)
{
    const struct native_state *s = state;
    return hs_heap_map_below(&s->native.dump->heaps.map, address);
}

static uint64_t native_rank(const void *state, hs_addr address)
{
    const struct native_state *s = state;
    struct hs_heap_block block;

    return hs_heap_map_resolve(&s->native.dump->heaps.map, address, &block) == HS_POINTER_START
               ? block.rank
               : HS_NO_NODE;
}

static bool native_resolve(const void *state, uint64_t word, hs_node *ret, unsigned *ret_class)
{
    const struct native_state *s = state;
    struct hs_heap_block target;
    enum hs_pointer how = hs_flow_resolve(&s->native, word, &target);

    if (how == HS_POINTER_NONE)
        return false;
    *ret = hs_scan_node(&s->scan, &target);
    *ret_class = hs_scan_class(how);
    return true;
}

/* ---- writing */

/* Begins to write; edges of many blocks are collected by other threads, too. */
static void native_begin(struct native_state *s)
{
    const struct hs_dump *dump = s->native.dump;
    const struct hs_budget *budget = dump->options->budget;

    s->it.map = &dump->heaps.map;
    if (budget != NULL && dump->heaps.map.n_blocks >= HS_AHEAD_LEAST)
        s->ahead = hs_ahead_open(&s->scan, budget->n_threads, HS_AHEAD_UNIT);
}

static bool native_peek(void *state, hs_addr *ret)
{
    struct native_state *s = state;

    if (s->it.map == NULL)
        native_begin(s);
    if (!s->has_next && s->ahead != NULL) {
        s->has_next = hs_ahead_next(s->ahead, &s->collected);
        s->next = s->collected.block;
    } else if (!s->has_next) {
        s->has_next = hs_heap_map_next(&s->it, &s->next);
    }
    *ret = s->next.begin;
    return s->has_next;
}

/* Collects the block's edges, unless another thread has. */
static hs_status native_edges(struct native_state *s, const struct hs_heap_block *block,
                              struct hs_runtime_block *ret, struct hs_error *err)
{
    if (s->ahead != NULL && !s->collected.is_left) {
        ret->record.state = s->collected.states;
        ret->edges = s->collected.edges;
        ret->n_edges = s->collected.n_edges;
        return HS_OK;
    }
    HS_TRY(hs_scan_block(&s->scan, block, err));
    ret->record.state = s->scan.states;
    ret->edges = s->scan.edges;
    ret->n_edges = s->scan.n_edges;
    return HS_OK;
}

static hs_status native_next(void *state, hs_addr not_before, struct hs_runtime_block *ret,
                             struct hs_error *err)
{
    struct native_state *s = state;
    struct hs_heap_block block = s->next;

    s->has_next = false;
    if (block.begin < not_before && not_before - block.begin < block.n_bytes) {
        uint64_t cut = not_before - block.begin;
        block.begin += cut;
        block.n_bytes -= cut;
        block.bytes = block.bytes == NULL ? NULL : block.bytes + cut;
    }
    *ret = (struct hs_runtime_block){0};
    HS_TRY(hs_native_block_record(&s->native, &s->flow, &block, &ret->record, err));
    HS_TRY(native_edges(s, &block, ret, err));
    return HS_OK;
}

static hs_status native_types(void *state, struct hs_type_tables *ret, struct hs_error *err)
{
    struct native_state *s = state;
    struct hs_type_tables tables = {.n_types = s->flow.types.n_types};

    HS_TRY(hs_native_types_list(&s->flow.types, &tables.types, err));
    hs_status status =
        hs_native_types_members(&s->flow.types, &tables.members, &tables.n_members, err);
    if (status == HS_OK)
        *ret = tables;
    else
        hs_free(tables.types);
    return status;
}

static hs_status native_samples(void *state, struct hs_runtime_samples *ret, struct hs_error *err)
{
    struct native_state *s = state;
    return hs_native_samples_place(&s->native, &s->samples, ret, err);
}

const struct hs_runtime hs_runtime_native = {
    .name = "native",
    .reads_heaps = true,
    .serves = native_serves,
    .open = native_open,
    .close = native_close,
    .prepare = native_prepare,
    .rehearse = native_rehearse,
    .forget = native_forget,
    .judge = native_judge,
    .copy = native_copy,
    .list = native_list,
    .claim = native_claim,
    .roots = native_roots,
    .check = native_check,
    .leaves = native_leaves,
    .mark_word = native_mark_word,
    .mark_end = native_mark_end,
    .keeps = native_keeps,
    .facts = native_facts,
    .n_blocks = native_n_blocks,
    .below = native_below,
    .rank = native_rank,
    .resolve = native_resolve,
    .peek = native_peek,
    .next = native_next,
    .types = native_types,
    .samples = native_samples,
};
