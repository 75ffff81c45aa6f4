/* Roots on stacks and in registers.
 *
 * A register that a function saves belongs to the caller whose variable lives in it. So a saved
 * word waits until the frames further out have been looked at: the first of them that has a
 * variable in that register names it, and one that saves the register again shows that none did.
 * The registers of the thread itself are the first words that wait.
 *
 * Only variables that live at the instruction are firm: what no variable is known for may be dead.
 *
 *   frame 1   r3 in the thread          -> waits -> named by a variable of frame 1, 2, ...
 *   frame 2   saves r3 at sp+8          -> the one before is no variable's; this one waits
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "borrowed.h"
#include "frames_label.h"
#include "roots.h"
#include "rule_lines.h"
#include "unplaced.h"

enum {
    STACKS_FIRST = 1000, /* frames of a deep stack that are told one by one */
    STACKS_LAST = 100,
    STACKS_CARRIED = 16,
    STACKS_ARGUMENT_BYTES = 128, /* at the bottom of a frame may be its callee's arguments */
    STACKS_WAITING = HS_N_DATA_REGISTERS,
};

/* A register's word of which it is not known yet whose it is. */
struct waiting {
    bool is_waiting;
    uint64_t word;
    hs_addr address;                   /* where it was saved; 0: it is in the thread's register */
    struct hs_native_frame_label home; /* the frame that saved it */
};

/* An argument on the stack lies in the caller's frame. */
struct carried {
    struct hs_local local;
    struct hs_native_frame_label of;
};

struct stacks {
    struct hs_native *native;
    const struct hs_thread *thread;
    struct hs_frames frames;
    struct hs_locals *locals; /* owned */
    struct hs_native_frame_label label;
    bool has_label, is_folded;
    hs_str module, folded; /* the thread; the group of the middle of a deep stack */
    uint32_t fold_end;     /* number of the first frame behind the middle */
    struct waiting waiting[STACKS_WAITING];
    struct carried carried[STACKS_CARRIED], next_carried[STACKS_CARRIED];
    size_t n_carried, n_next_carried;
    bool callee_is_known;
    struct hs_error *err;
};

static struct hs_native_variable variable_in(const struct stacks *s, enum hs_root_kind kind,
                                             const struct hs_native_frame_label *label)
{
    return (struct hs_native_variable){
        .leaf = {
            .root = {.kind = (uint8_t)kind,
                     .certainty = HS_CONSERVATIVE,
                     .tier = label->tier,
                     .reason = label->tier == HS_TIER_FIRM ? HS_REASON_NONE : HS_REASON_INTERPRETER,
                     .module = label->module,
                     .thread = (uint32_t)s->thread->tid,
                     .frame = label->number,
                     .function = label->function,
                     .file = label->file,
                     .line = label->line},
            .group_module = s->module,
            .group_unit = label->unit}};
}

static const char *function_of(const struct stacks *s, const struct hs_native_frame_label *label)
{
    return hs_strtab_get(&s->native->dump->strings, label->function);
}

/* Makes the label of the frame at hand, when it is first needed. */
static hs_status need_label(struct stacks *s)
{
    if (s->has_label)
        return HS_OK;
    HS_TRY(hs_native_label_frame(&s->frames, s->is_folded ? NULL : s->locals, &s->label, s->err));
    if (s->is_folded)
        s->label.unit = s->folded;
    s->has_label = true;
    return HS_OK;
}

/* Sets file and line of a variable of an inlined function to those of that function. */
static hs_status place_in_inlined(struct stacks *s, const struct hs_local *local,
                                  struct hs_native_variable *ret)
{
    const struct hs_inlined *place = &s->locals->chain[s->locals->n_chain - 1 - local->n_inlined];

    ret->leaf.root.line = place->line;
    return hs_strtab_add(&s->native->dump->strings, place->file, &ret->leaf.root.file, s->err);
}

/* Makes the variable of a frame of which the slot at `offset` is to be added, which holds `word`.
 */
static hs_status local_variable(struct stacks *s, enum hs_root_kind kind,
                                const struct hs_native_frame_label *label,
                                const struct hs_local *local, uint64_t offset, uint64_t word,
                                struct hs_native_variable *ret)
{
    const char *function = local->function != NULL && local->function[0] != '\0'
                               ? local->function
                               : function_of(s, label);
    *ret = variable_in(s, kind, label);
    ret->begin = local->address - local->offset_bytes;
    ret->n_bytes = local->n_bytes + local->offset_bytes;
    ret->type = local->type;
    ret->leaf.n_inlined = local->n_inlined;
    ret->is_alone = local->offset_bytes != 0;
    ret->is_whole = ret->n_bytes > HS_WORD_BYTES && local->reg >= HS_N_REGISTERS;
    uint8_t by;
    enum hs_borrowed borrowed = hs_native_borrowed(s->native, label, local, offset, word, &by);
    if (borrowed == HS_BORROWED)
        hs_root_lower(&ret->leaf.root, HS_TIER_RUNTIME,
                      hs_native_line(s->native, HS_REASON_BORROWED_BY_CALL, by));
    ret->leaf.may_own = borrowed == HS_MAYBE_OWNED;
    ret->leaf.may_share = borrowed == HS_SHARED;
    ret->leaf.is_argument = local->is_argument;
    ret->leaf.is_mains = label->is_main && local->n_inlined == 0;
    if (borrowed != HS_BORROWED && !label->is_c)
        ret->leaf.owning =
            (uint8_t)hs_native_owning(s->native, local->type, offset, &ret->leaf.owning_depth);
    ret->leaf.n_variable_bytes = ret->n_bytes < UINT32_MAX ? (uint32_t)ret->n_bytes : UINT32_MAX;
    snprintf(ret->text, sizeof ret->text, "%s %s %s", function,
             local->is_argument ? "argument" : "local",
             local->name != NULL && local->name[0] != '\0' ? local->name : "(unnamed)");
    if (local->n_inlined != 0 && label == &s->label)
        HS_TRY(place_in_inlined(s, local, ret));
    return hs_strtab_add(&s->native->dump->strings, ret->text, &ret->name, s->err);
}

static bool covers(const struct hs_local *local, hs_addr at)
{
    uint64_t n = local->n_bytes != 0 ? local->n_bytes : HS_WORD_BYTES; /* its type is unknown */
    return local->reg >= HS_N_REGISTERS && !local->is_entry_value && local->address != 0 &&
           at >= local->address && at - local->address < n;
}

/* Finds the smallest variable of the frame that covers a word: the innermost, of those that share a
 * place one after another. */
static const struct hs_local *local_at(const struct stacks *s, hs_addr at)
{
    const struct hs_local *found = NULL;
    for (size_t i = 0; s->label.has_locals && i < s->locals->n_locals; i++) {
        const struct hs_local *local = &s->locals->locals[i];
        if (covers(local, at) && (found == NULL || local->n_bytes < found->n_bytes))
            found = local;
    }
    return found;
}

static hs_status add_in_local(struct stacks *s, const struct hs_native_frame_label *label,
                              const struct hs_local *local, hs_addr at, uint64_t word)
{
    struct hs_native_variable v;
    uint64_t offset = at - (local->address - local->offset_bytes);
    HS_TRY(local_variable(s, HS_ROOT_STACK, label, local, offset, word, &v));
    return hs_native_add_slot(s->native, &v, offset, at, word, s->err);
}

/* Adds a word of the frame where no variable is known. When the debug information of the frame is
 * complete, none lives there, except for arguments of the function that it called: what is left is
 * dead, or a temporary, or memory of alloca. Nothing tells these apart, so it is a doubtful root,
 * and its name says how little is known. */
static hs_status add_in_slot(struct stacks *s, hs_addr at, uint64_t word)
{
    hs_addr sp = s->frames.r.value[HS_REG_SP];
    bool is_argument = !s->callee_is_known && at - s->frames.low < STACKS_ARGUMENT_BYTES;
    bool is_bare = s->label.has_locals && s->locals->is_complete && !is_argument;
    struct hs_native_variable v = variable_in(s, HS_ROOT_STACK, &s->label);
    v.begin = at;
    hs_root_lower(&v.leaf.root, HS_TIER_DOUBTFUL, HS_REASON_NO_VARIABLE);
    snprintf(v.text, sizeof v.text, "%s %s sp%s%llu", function_of(s, &s->label),
             is_bare ? "slot without a variable" : "slot", at >= sp ? "+" : "-",
             (unsigned long long)(at >= sp ? at - sp : sp - at));
    return hs_native_add_slot(s->native, &v, 0, at, word, s->err);
}

/* Adds a word that is a variable of the frame at hand to which debug information gives no place
 * here; *ret_is_one is false when it is none. */
static hs_status add_unplaced(struct stacks *s, enum hs_root_kind kind, hs_addr at, uint64_t word,
                              bool *ret_is_one)
{
    struct hs_native_variable v;
    struct hs_local local;
    uint64_t offset;

    *ret_is_one = s->label.has_locals && s->native->ctypes != NULL &&
                  hs_native_unplaced(s->native, s->locals, word, &local, &offset);
    if (!*ret_is_one)
        return HS_OK;
    HS_TRY(local_variable(s, kind, &s->label, &local, offset, word, &v));
    v.begin = at - offset;
    v.is_alone = true;
    return hs_native_add_slot(s->native, &v, offset, at, word, s->err);
}

static hs_status add_stack_word(struct stacks *s, hs_addr at, uint64_t word)
{
    HS_TRY(need_label(s));
    const struct hs_local *local = local_at(s, at);
    if (local != NULL)
        return add_in_local(s, &s->label, local, at, word);
    for (size_t i = 0; i < s->n_carried; i++)
        if (covers(&s->carried[i].local, at))
            return add_in_local(s, &s->carried[i].of, &s->carried[i].local, at, word);
    bool is_unplaced;
    HS_TRY(add_unplaced(s, HS_ROOT_STACK, at, word, &is_unplaced));
    return is_unplaced ? HS_OK : add_in_slot(s, at, word);
}

/* Adds a word that waited and is nobody's variable: a register, or where a frame saved one. */
static hs_status add_register(struct stacks *s, unsigned number)
{
    struct waiting *w = &s->waiting[number];
    struct hs_native_variable v =
        variable_in(s, w->address == 0 ? HS_ROOT_REGISTER : HS_ROOT_STACK, &w->home);
    if (!w->is_waiting)
        return HS_OK;
    w->is_waiting = false;
    v.begin = w->address;
    v.is_alone = true;
    hs_root_lower(&v.leaf.root, HS_TIER_DOUBTFUL, HS_REASON_NO_VARIABLE);
    if (w->address == 0) {
        snprintf(v.text, sizeof v.text, "register %s", hs_register_name(number));
        HS_TRY(hs_native_name(s->native, &v.leaf.group_unit, s->err, "registers"));
    } else {
        snprintf(v.text, sizeof v.text, "%s saved %s", function_of(s, &w->home),
                 hs_register_name(number));
    }
    return hs_native_add_slot(s->native, &v, 0, w->address, w->word, s->err);
}

/* Adds a word that waited for its variable, which is one of the frame at hand and lives in the
 * register. */
static hs_status claim_waiting(struct stacks *s, const struct hs_local *local)
{
    struct hs_native_variable v;
    if (local->reg >= STACKS_WAITING || local->is_entry_value || !s->waiting[local->reg].is_waiting)
        return HS_OK;
    struct waiting *w = &s->waiting[local->reg];
    w->is_waiting = false;
    HS_TRY(local_variable(s, w->address == 0 ? HS_ROOT_REGISTER : HS_ROOT_STACK, &s->label, local,
                          local->offset_bytes, w->word, &v));
    v.is_alone = true;
    return hs_native_add_slot(s->native, &v, local->offset_bytes, w->address, w->word, s->err);
}

static bool leads_somewhere(const struct stacks *s, uint64_t word)
{
    struct hs_heap_block block;
    enum hs_pointer how;
    return hs_native_resolve(s->native, word, &how, &block);
}

/* Has the words of registers wait that the frame at hand saved for its caller. What waited for
 * these before is no variable's. */
static hs_status wait_for_saved(struct stacks *s)
{
    for (unsigned i = 0; i < STACKS_WAITING; i++) {
        hs_addr at = s->frames.step.saved_at[i];
        uint64_t word;
        if (at == 0)
            continue;
        HS_TRY(add_register(s, i));
        if (at < s->frames.low || at >= s->frames.high ||
            !hs_image_u64(&s->native->dump->image, at, &word) || !leads_somewhere(s, word))
            continue;
        HS_TRY(need_label(s));
        s->waiting[i] =
            (struct waiting){.is_waiting = true, .word = word, .address = at, .home = s->label};
    }
    return HS_OK;
}

static bool is_saved_here(const struct stacks *s, hs_addr at)
{
    for (unsigned i = 0; i < STACKS_WAITING; i++)
        if (s->frames.step.saved_at[i] == at)
            return true;
    return false;
}

static bool any_waiting(const struct stacks *s)
{
    for (unsigned i = 0; i < STACKS_WAITING; i++)
        if (s->waiting[i].is_waiting)
            return true;
    return false;
}

/* Carries arguments that lie above the frame, where its caller is looked at. */
static void carry_arguments(struct stacks *s)
{
    s->n_next_carried = 0;
    for (size_t i = 0; s->has_label && s->label.has_locals && i < s->locals->n_locals; i++) {
        const struct hs_local *local = &s->locals->locals[i];
        if (local->reg < HS_N_REGISTERS || local->address < s->frames.step.cfa ||
            s->n_next_carried == STACKS_CARRIED)
            continue;
        s->next_carried[s->n_next_carried++] = (struct carried){*local, s->label};
    }
    memcpy(s->carried, s->next_carried, s->n_next_carried * sizeof *s->carried);
    s->n_carried = s->n_next_carried;
}

static hs_status claim_registers(struct stacks *s)
{
    if (s->is_folded || !any_waiting(s))
        return HS_OK;
    HS_TRY(need_label(s));
    for (size_t i = 0; s->label.has_locals && i < s->locals->n_locals; i++)
        HS_TRY(claim_waiting(s, &s->locals->locals[i]));
    for (unsigned i = 0; i < STACKS_WAITING; i++) {
        struct waiting *w = &s->waiting[i];
        bool is_unplaced = false;
        if (w->is_waiting)
            HS_TRY(add_unplaced(s, w->address == 0 ? HS_ROOT_REGISTER : HS_ROOT_STACK, w->address,
                                w->word, &is_unplaced));
        w->is_waiting &= !is_unplaced;
    }
    return HS_OK;
}

static hs_status add_frame(struct stacks *s)
{
    struct hs_word_scan scan = hs_native_scan(s->frames.low, s->frames.high);
    hs_addr at;
    uint64_t word;
    s->has_label = false;
    HS_TRY(claim_registers(s));
    while (hs_native_next_word(s->native, &scan, &at, &word))
        if (!is_saved_here(s, at))
            HS_TRY(add_stack_word(s, at, word));
    for (unsigned i = 0; !s->frames.is_return_address && i < STACKS_WAITING; i++)
        if ((HS_REGS_CALLER_SAVED >> i & 1) != 0)
            HS_TRY(add_register(s, i));
    HS_TRY(wait_for_saved(s));
    carry_arguments(s);
    /* Without a label nothing of it was asked for: its callee's arguments are not known either. */
    s->callee_is_known = s->has_label && s->label.has_locals;
    return HS_OK;
}

/* Adds the words above the last frame, or below the first when the thread runs on another stack. */
static hs_status add_rest(struct stacks *s)
{
    struct hs_word_scan scan = hs_native_scan(s->frames.end, s->frames.extent.end);
    struct hs_native_frame_label label = {0};
    const char *what = s->frames.is_whole     ? "above the first frame"
                       : s->frames.was_inside ? "no frame information"
                                              : "stack that the thread has left";
    hs_addr at;
    uint64_t word;
    if (!s->frames.has_extent)
        return HS_OK;
    HS_TRY(hs_native_name(s->native, &label.unit, s->err, "(%s)", what));
    while (hs_native_next_word(s->native, &scan, &at, &word)) {
        struct hs_native_variable v = variable_in(s, HS_ROOT_STACK, &label);
        v.begin = at;
        hs_root_lower(&v.leaf.root, HS_TIER_DOUBTFUL, HS_REASON_NO_VARIABLE);
        snprintf(v.text, sizeof v.text, "stack end-0x%llx",
                 (unsigned long long)(s->frames.extent.end - at));
        HS_TRY(hs_native_add_slot(s->native, &v, 0, at, word, s->err));
    }
    return HS_OK;
}

/* Has the thread's registers wait for the first frames. A stack pointer that leads to a block keeps
 * it: the stack is in there. */
static void wait_for_registers(struct stacks *s)
{
    for (unsigned i = 0; i < STACKS_WAITING; i++) {
        uint64_t word = s->frames.r.value[i];
        s->waiting[i] = (struct waiting){.is_waiting = leads_somewhere(s, word), .word = word};
    }
}

/* Gives the middle of a deep stack one group. */
static hs_status fold(struct stacks *s)
{
    uint32_t left = hs_frames_left(&s->frames);
    if (left <= STACKS_LAST + 1)
        return HS_OK;
    s->fold_end = s->frames.number + left - STACKS_LAST + 1;
    return hs_native_name(s->native, &s->folded, s->err, "... %u frames (#%u to #%u)",
                          s->fold_end - s->frames.number - 1, s->frames.number + 1,
                          s->fold_end - 1);
}

/* Ends the stack where another thread's begins: of threads whose stacks nobody tells apart each
 * would have the rest of the mapping. 0: another thread has it all. */
static void cut_stack(struct hs_frames *frames, hs_addr end)
{
    if (end < frames->extent.end)
        frames->extent.end = end;
    frames->has_extent &= frames->extent.begin < frames->extent.end;
}

static hs_status walk_stack(struct stacks *s, hs_addr end)
{
    hs_frames_begin(s->native, s->thread, &s->frames);
    cut_stack(&s->frames, end);
    wait_for_registers(s);
    s->callee_is_known = true;
    while (hs_frames_next(&s->frames)) {
        s->is_folded = s->frames.number < s->fold_end && s->frames.number > STACKS_FIRST;
        HS_TRY(add_frame(s));
        if (s->frames.number == STACKS_FIRST)
            HS_TRY(fold(s));
    }
    for (unsigned i = 0; i < STACKS_WAITING; i++)
        HS_TRY(add_register(s, i));
    return add_rest(s);
}

static hs_status collect_thread(struct hs_native *native, struct hs_locals *locals,
                                struct stacks *s, const struct hs_thread *thread, hs_addr end,
                                struct hs_error *err)
{
    *s = (struct stacks){.native = native, .thread = thread, .locals = locals, .err = err};
    HS_TRY(hs_native_name(native, &s->module, err, "thread %d", thread->tid));
    return walk_stack(s, end);
}

/* Finds the end of each thread's stack, so that no two have a word in common. */
static hs_status find_ends(const struct hs_native *native, hs_addr **ret, struct hs_error *err)
{
    hs_auto_free struct hs_owned_range *ranges = NULL;
    hs_addr *ends = NULL;
    size_t n = 0;
    HS_TRY(HS_ALLOC(&ranges, native->dump->target.n_threads, err));
    HS_TRY(HS_ALLOC(&ends, native->dump->target.n_threads, err));
    for (size_t i = 0; i < native->dump->target.n_threads; i++) {
        struct hs_stack_extent extent;
        if (hs_native_stack_extent(native, &native->dump->target.threads[i], &extent))
            ranges[n++] = (struct hs_owned_range){extent.begin, extent.end, i};
    }
    n = hs_owned_ranges_disjoin(ranges, n);
    for (size_t i = 0; i < n; i++)
        ends[ranges[i].of] = ranges[i].end;
    *ret = ends;
    return HS_OK;
}

hs_status hs_native_collect_stacks(struct hs_native *native, struct hs_error *err)
{
    hs_auto_free struct hs_locals *locals = NULL;
    hs_auto_free struct stacks *s = NULL;
    hs_auto_free hs_addr *ends = NULL;
    HS_TRY(HS_ALLOC(&locals, 1, err));
    HS_TRY(HS_ALLOC(&s, 1, err));
    HS_TRY(find_ends(native, &ends, err));
    for (size_t i = 0; i < native->dump->target.n_threads; i++)
        HS_TRY(collect_thread(native, locals, s, &native->dump->target.threads[i], ends[i], err));
    return HS_OK;
}
