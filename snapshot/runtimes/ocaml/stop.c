/* Judges a stop: are heap and roots well-defined where the threads stand, and where does the
 * precise part of each stack begin?
 *
 *   - In C, called through caml_c_call or caml_call_gc: what the runtime saved is true.
 *   - In OCaml code it is stale. One step by the unwind tables leads to the caller, whose return
 *     address has a descriptor; the words of the interrupted frame and the registers are scanned
 *     conservatively.
 *   - In C, by a [@@noalloc] call: likewise, and the words of the C frames too, since registers
 *     that C preserves may have been spilled there.
 *   - In the runtime's assembly, a collection, a compaction, a signal handler: try again.
 *
 * The proof that the saved state is true: unwinding the C frames gives a first return address into
 * OCaml code that equals it, at the very place. That it merely agrees with the stack proves
 * nothing: it still does when stale. Only the current thread needs judging; the others saved theirs
 * when they released the runtime.
 *
 * OCaml 5 has a current thread per domain, with its OCaml frames on another stack than those of C,
 * and one that stands in for it while it blocks. Sources: runtime/amd64.S, minor_gc.c, compact.c,
 * signals_nat.c, st_stubs.c; of OCaml 5 domain.c, shared_heap.c, major_gc.c, fiber.c. */
#include <string.h>

#include "base/alloc.h"
#include "mentions.h"
#include "process/unwind.h"
#include "symbols/elf.h"
#include "v5/ocaml5.h"

enum {
    MAX_C_FRAMES = 1 << 16,
    YOUNG_ALIGN = 8,
};

/* Functions in which, or below which, heap or roots are not as the runtime describes them. */
struct bad_function {
    const char *name, *reason;
    bool only_running; /* harmless while a system call waits */
};

static const struct bad_function bad_functions[] = {
    {"caml_compact_heap", "inside a compaction", false},
    {"caml_compact_heap_maybe", "inside a compaction", false},
    {"caml_stash_backtrace", "raising an exception", false},
    {"caml_enter_blocking_section", "releasing the runtime", true},
    {"caml_leave_blocking_section", "acquiring the runtime", true},
    {"caml_thread_yield", "handing over the runtime", true},
    /* A block of the major heap gets its header after it is taken from the free list (memory.c
     * caml_alloc_shr_aux), its fields later still; what is unmarshalled is one string until its
     * end. */
    {"caml_alloc_shr", "inside an allocation", true},
    {"caml_alloc_shr_with_profinfo", "inside an allocation", true},
    {"caml_alloc_shr_no_track_noexc", "inside an allocation", true},
    {"caml_alloc", "inside an allocation", true},
    {"caml_alloc_array", "inside an allocation", true},
    {"caml_make_vect", "inside an allocation", true},
    {"caml_make_array", "inside an allocation", true},
    {"caml_array_sub", "inside an allocation", true},
    {"caml_array_append", "inside an allocation", true},
    {"caml_array_concat", "inside an allocation", true},
    {"caml_obj_with_tag", "inside an allocation", true},
    {"caml_obj_dup", "inside an allocation", true},
    {"caml_obj_truncate", "inside an allocation", true},
    {"caml_ephe_create", "inside an allocation", true},
    {"caml_weak_create", "inside an allocation", true},
    {"caml_input_val", "inside unmarshalling", true},
    {"caml_input_value", "inside unmarshalling", true},
    {"caml_input_value_from_bytes", "inside unmarshalling", true},
    {"caml_input_val_from_bytes", "inside unmarshalling", true},
    {"caml_input_value_from_malloc", "inside unmarshalling", true},
    {"caml_input_value_from_block", "inside unmarshalling", true},
    /* OCaml 5: domains wait for each other in system calls. What is static (mark, ephe_mark) has no
     * name in a stripped program, but moves nothing; what it calls is told here. */
    {"caml_empty_minor_heap_promote", "inside a minor collection", false},
    {"caml_empty_minor_heap_domain_clear", "inside a minor collection", false},
    {"caml_final_update_last_minor", "inside a minor collection", false},
    {"caml_cycle_heap", "inside a collection", false},
    {"caml_cycle_heap_stw", "inside a collection", false},
    {"caml_sweep", "inside a collection", false},
    {"caml_final_update_first", "inside a collection", false},
    {"caml_major_collection_slice", "inside a collection", false},
    {"caml_opportunistic_major_collection_slice", "inside a collection", false},
    {"caml_finish_marking", "inside a collection", false},
    {"caml_finish_sweeping", "inside a collection", false},
    {"caml_teardown_shared_heap", "while a domain ends", false},
    {"caml_orphan_ephemerons", "while a domain ends", false},
    {"caml_orphan_finalisers", "while a domain ends", false},
    {"caml_shared_try_alloc", "inside an allocation", false},
    {"caml_alloc_shr_noexc", "inside an allocation", true},
    {"caml_allocN", "inside an allocation", true},
    {"caml_array_make", "inside an allocation", true},
    {"caml_uniform_array_make", "inside an allocation", true},
    {"caml_uniform_array_sub", "inside an allocation", true},
    {"caml_uniform_array_append", "inside an allocation", true},
    {"caml_uniform_array_concat", "inside an allocation", true},
    {"caml_alloc_shr_reserved", "inside an allocation", true},
    {"caml_alloc_shr_check_gc", "inside an allocation", true},
    {"caml_try_realloc_stack", "growing a stack", true},
    {"caml_continuation_use", "resuming a continuation", true},
    {"caml_continuation_use_noexc", "resuming a continuation", true},
    {"caml_continuation_use_and_update_handler_noexc", "resuming a continuation", true},
    {"caml_perform", "switching stacks", true},
    {"caml_reperform", "switching stacks", true},
    {"caml_resume", "switching stacks", true},
    {"caml_runstack", "switching stacks", true},
};

enum { N_BAD_FUNCTIONS = sizeof bad_functions / sizeof *bad_functions };

/* OCaml 5: where domains wait for each other, and may find their minor heap emptied. So whoever
 * called these has heap and roots in order. */
static const char *const safe_functions[] = {
    "caml_try_run_on_all_domains", "caml_try_run_on_all_domains_async",
    "caml_try_run_on_all_domains_with_spin_work", "caml_handle_incoming_interrupts"};

enum { N_SAFE_FUNCTIONS = sizeof safe_functions / sizeof *safe_functions };

struct code_range {
    hs_addr begin, end;
};

struct judge {
    struct hs_ocaml *rt;
    struct hs_ocaml_stops *stops;
    struct hs_ocaml_thread *thread;  /* the current one */
    struct hs_ocaml5_domain *domain; /* of it; NULL in OCaml 4 */
    struct hs_registers top;         /* its registers */
    bool in_system_call;
    hs_addr system_begin, system_end; /* the runtime's assembly */
    hs_addr raise_begin, raise_end;   /* caml_raise_exn .. caml_callback_asm within it */
    struct code_range bad[N_BAD_FUNCTIONS], safe[N_SAFE_FUNCTIONS];
    bool is_safe;       /* a C frame of the thread was in one of the latter */
    const char *reason; /* why to try again; NULL: no need */
};

void hs_ocaml_prepare(struct hs_objects *objects)
{
    for (size_t i = 0; i < objects->n; i++)
        (void)hs_unwind_cfi(objects, &objects->objects[i]);
    struct hs_live_symbol symbol;
    size_t n_bytes;
    if (hs_objects_find(objects, "caml_final_do_roots", &symbol))
        (void)hs_elf_bytes_from(symbol.object->elf, symbol.address - symbol.object->bias,
                                HS_MENTIONS_CODE_BYTES, &n_bytes);
}

static void retry(struct judge *j, const char *reason)
{
    if (j->reason == NULL)
        j->reason = reason;
}

static hs_addr address_of(const struct hs_ocaml *rt, const char *name)
{
    struct hs_live_symbol symbol;
    return hs_objects_find(rt->objects, name, &symbol) ? symbol.address : 0;
}

static struct code_range code_of(const struct hs_ocaml *rt, const char *function)
{
    struct hs_live_symbol symbol;
    if (!hs_objects_find(rt->objects, function, &symbol))
        return (struct code_range){0};
    return (struct code_range){symbol.address, symbol.address + symbol.size};
}

static bool is_within(const struct code_range *range, hs_addr pc)
{
    return pc >= range->begin && pc < range->end;
}

static void judge_init(struct judge *j)
{
    j->system_begin = address_of(j->rt, "caml_system__code_begin");
    j->system_end = address_of(j->rt, "caml_system__code_end");
    j->raise_begin = address_of(j->rt, "caml_raise_exn");
    j->raise_end = address_of(j->rt, "caml_callback_asm");
    for (size_t i = 0; i < N_BAD_FUNCTIONS; i++)
        j->bad[i] = code_of(j->rt, bad_functions[i].name);
    for (size_t i = 0; i < N_SAFE_FUNCTIONS; i++)
        j->safe[i] = code_of(j->rt, safe_functions[i]);
}

static bool is_ocaml_code(const struct judge *j, hs_addr pc)
{
    return hs_range_set_find(&j->rt->code, pc) != NULL;
}

static bool is_system_code(const struct judge *j, hs_addr pc)
{
    return pc >= j->system_begin && pc < j->system_end;
}

/* Steps to the caller. In OCaml 5 compiled code and the runtime's assembly lead from one stack to
 * another. */
static bool judge_step(const struct judge *j, const struct hs_registers *r, bool is_return_address,
                       struct hs_frame *ret)
{
    hs_addr pc = r->value[HS_REG_PC];
    bool switches = j->rt->five != NULL && (is_system_code(j, pc) || is_ocaml_code(j, pc));

    return (switches ? hs_unwind_switch : hs_unwind_step)(j->rt->target, j->rt->objects, r,
                                                          is_return_address, ret);
}

static void judge_c_frame(struct judge *j, hs_addr pc)
{
    for (size_t i = 0; i < N_SAFE_FUNCTIONS; i++)
        j->is_safe |= is_within(&j->safe[i], pc);
    if (j->is_safe)
        return;
    if (pc >= j->raise_begin && pc < j->raise_end)
        retry(j, "raising an exception");
    for (size_t i = 0; i < N_BAD_FUNCTIONS; i++) {
        if (is_within(&j->bad[i], pc) && !(bad_functions[i].only_running && j->in_system_call))
            retry(j, bad_functions[i].reason);
    }
}

/* Sets how far the thread's stack reaches, in OCaml 5: the place where its handler stands is its
 * end. */
static void set_stack5(struct hs_ocaml *rt, struct hs_ocaml_thread *thread)
{
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t handler;

    if (thread->stack == 0 || hs_target_read(rt->target, thread->stack + HS_STACK5_HANDLER,
                                             &handler, sizeof handler, &ignored) != HS_OK)
        return;
    if (handler <= thread->stack || handler > UINT64_MAX / 2)
        return;
    thread->stack_begin = thread->stack + HS_STACK5_BYTES;
    thread->stack_end = handler;
}

/* Sets what of the thread's stack is copied: everything from the stack pointer up; the red zone
 * below it may hold spilled values. */
static void set_stack(struct hs_ocaml *rt, struct hs_ocaml_thread *thread)
{
    if (rt->five != NULL) {
        set_stack5(rt, thread);
        return;
    }
    const struct hs_thread *kernel = hs_ocaml_kernel_thread(rt, thread->tid);
    hs_addr sp = kernel != NULL ? hs_regs_sp(&kernel->regs) : thread->sp;
    if (thread->sp != 0 && thread->sp < sp)
        sp = thread->sp; /* on a signal stack, or not this thread's */
    const struct hs_mapping *mapping = hs_target_mapping_at(rt->target, sp);
    if (mapping == NULL)
        return;
    thread->stack_begin =
        sp - mapping->begin > HS_RED_ZONE_BYTES ? sp - HS_RED_ZONE_BYTES : mapping->begin;
    thread->stack_end = mapping->end;
}

static void set_conservative(struct judge *j, hs_addr begin, hs_addr end)
{
    j->thread->words_begin = begin;
    j->thread->words_end = end;
    j->thread->registers = true;
}

/* Takes a stack of OCaml 5 that cannot be unwound. A call through the runtime leaves {stack, sp,
 * previous} at the top of the C stack. The link agrees when it was the latest; otherwise newer
 * OCaml frames lie below the saved stack pointer. */
static void accept_unproven5(struct judge *j)
{
    struct hs_ocaml_thread *t = j->thread;
    struct hs_error ignored = HS_ERROR_INIT;
    hs_addr sp = j->top.value[HS_REG_SP], link = j->domain->words[HS_STATE5_C_STACK];
    uint64_t saved[2];
    if (link == 0)
        t->sp = 0;
    if (t->sp == 0)
        return; /* no OCaml code has run yet */
    const struct hs_mapping *mapping = hs_target_mapping_at(j->rt->target, sp);
    bool agrees = link > sp && mapping != NULL && link < mapping->end &&
                  hs_target_read(j->rt->target, link, saved, sizeof saved, &ignored) == HS_OK &&
                  saved[0] == t->stack && saved[1] + HS_WORD == t->sp;

    j->stops->lacks_unwinding |= agrees;
    j->stops->lacks_stack |= !agrees;
    set_conservative(j, t->stack_begin, agrees ? t->sp : t->stack_end);
    if (agrees) {
        t->c_words_begin = sp;
        t->c_words_end = link;
    } else {
        t->sp = 0;
    }
}

/* Takes a stack that cannot be unwound. The runtime's own record is right when the current thread
 * is in a C call made through the runtime; then what lies below it is C, otherwise it holds the
 * newer OCaml frames. Scanning it conservatively is safe both ways. */
static void accept_unproven(struct judge *j)
{
    struct hs_ocaml_thread *t = j->thread;
    struct hs_error ignored = HS_ERROR_INIT;
    hs_addr sp = j->top.value[HS_REG_SP];
    uint64_t saved;
    if (j->domain != NULL) {
        accept_unproven5(j);
        return;
    }
    if (t->sp == 0)
        return; /* no OCaml frame is recorded: the program begins or ends */
    bool agrees =
        t->sp > sp && t->sp < t->stack_end &&
        hs_target_read(j->rt->target, t->sp - HS_WORD, &saved, sizeof saved, &ignored) == HS_OK &&
        saved == t->pc;
    if (agrees) {
        j->stops->lacks_unwinding = true;
        set_conservative(j, sp, t->sp);
        return;
    }
    j->stops->lacks_stack = true;
    set_conservative(j, sp, t->stack_end);
    t->sp = 0;
}

/* Finds where the OCaml frame that made a direct call of C begins, in OCaml 5. The compiled code
 * keeps its stack pointer in a register that C preserves (emit.mlp, Iextcall): the one that leads
 * into the frame, the highest if several do. */
static hs_addr frame_begin(const struct judge *j, const struct hs_registers *r, hs_addr cfa)
{
    hs_addr begin = 0;

    for (size_t i = 0; i < HS_OCAML_N_PRESERVED; i++) {
        uint64_t value = r->value[hs_ocaml_preserved[i]];
        if (hs_register_known(r, hs_ocaml_preserved[i]) && value >= j->thread->stack_begin &&
            value <= cfa && value > begin)
            begin = value;
    }
    return begin != 0 ? begin : j->thread->stack_begin;
}

/* Begins the precise part of a stack of OCaml 5 where `frame` leads out of OCaml code that has no
 * descriptor for where it stands; `inner`, if not NULL, leads from C into that. */
static void begin_above5(struct judge *j, const struct hs_frame *inner,
                         const struct hs_frame *frame, hs_addr interrupted)
{
    struct hs_ocaml_thread *t = j->thread;

    if (frame->cfa < t->stack_begin || frame->cfa > t->stack_end) {
        accept_unproven5(j);
        return;
    }
    if (inner == NULL) {
        set_conservative(j, j->top.value[HS_REG_SP], frame->cfa);
    } else {
        set_conservative(j, frame_begin(j, &inner->caller, frame->cfa), frame->cfa);
        t->c_words_begin = j->top.value[HS_REG_SP];
        t->c_words_end = inner->cfa;
    }
    t->interrupted = interrupted;
    t->sp = frame->cfa;
    t->pc = frame->caller.value[HS_REG_PC];
}

/* Begins the precise part of a stack where `frame` leads out of OCaml code that has no descriptor
 * for where it stands. */
static void begin_above(struct judge *j, const struct hs_frame *inner, const struct hs_frame *frame,
                        hs_addr interrupted)
{
    hs_addr caller = frame->caller.value[HS_REG_PC];
    if (!is_ocaml_code(j, caller) && !is_system_code(j, caller)) {
        accept_unproven(j);
        return;
    }
    if (j->domain != NULL) {
        begin_above5(j, inner, frame, interrupted);
        return;
    }
    set_conservative(j, j->top.value[HS_REG_SP], frame->cfa);
    j->thread->interrupted = interrupted;
    j->thread->sp = frame->cfa;
    j->thread->pc = caller;
}

/* Takes the allocation pointer, which is in a register while OCaml code runs. */
static void take_young_ptr(struct judge *j, const struct hs_registers *r)
{
    uint64_t young = r->value[HS_REG_OCAML_YOUNG];
    hs_addr begin = j->domain != NULL ? j->domain->young_start : j->rt->young_alloc_start;
    hs_addr end = j->domain != NULL ? j->domain->young_end : j->rt->young_alloc_end;

    if (!hs_register_known(r, HS_REG_OCAML_YOUNG) || young % YOUNG_ALIGN != 0 || young < begin ||
        young > end)
        retry(j, "in the middle of an allocation");
    else if (j->domain == NULL)
        j->stops->young_ptr = young;
    else if (!hs_register_known(r, HS_REG_OCAML_STATE) ||
             r->value[HS_REG_OCAML_STATE] != j->domain->state)
        retry(j, "in transition code of the runtime");
    else
        j->domain->young_ptr = young;
}

/* Tells whether a continuation is being resumed, in OCaml 5: it gives up its stack before that is
 * switched to; in between the stack is in a register, as a number. */
static bool is_resuming(const struct judge *j)
{
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t info[HS_STACK5_BYTES / HS_WORD];

    for (size_t i = 0; i < HS_OCAML_N_ARGUMENTS; i++) {
        uint64_t value = j->top.value[hs_ocaml_saved[i]];
        if (value % HS_WORD == 1 && value > UINT64_C(1) << 16 && value < HS_USER_END &&
            value - 1 != j->thread->stack &&
            hs_target_read(j->rt->target, value - 1, info, sizeof info, &ignored) == HS_OK &&
            hs_ocaml5_is_stack(value - 1, info))
            return true;
    }
    return false;
}

static void judge_ocaml(struct judge *j)
{
    struct hs_frame frame;
    take_young_ptr(j, &j->top);
    if (j->domain != NULL && is_resuming(j))
        retry(j, "resuming a continuation");
    if (hs_unwind_step(j->rt->target, j->rt->objects, &j->top, false, &frame))
        begin_above(j, NULL, &frame, j->top.value[HS_REG_PC]);
    else
        accept_unproven(j);
}

/* Judges a call: `inner` leads from C into OCaml code. */
static void judge_call(struct judge *j, const struct hs_frame *inner)
{
    struct hs_frame frame;
    hs_addr return_address = inner->caller.value[HS_REG_PC];
    if (return_address == j->thread->pc && inner->cfa == j->thread->sp)
        return; /* the saved state is true */
    take_young_ptr(j, &inner->caller);
    if (judge_step(j, &inner->caller, true, &frame))
        begin_above(j, inner, &frame, return_address);
    else
        accept_unproven(j);
}

static void judge_c(struct judge *j)
{
    struct hs_registers r = j->top;
    struct hs_frame frame;
    judge_c_frame(j, r.value[HS_REG_PC]);
    for (unsigned i = 0; i < MAX_C_FRAMES; i++) {
        if (!judge_step(j, &r, i != 0, &frame))
            break;
        /* the runtime of OCaml 5 marks its own transitions so, too */
        if (frame.is_signal_frame && !is_system_code(j, r.value[HS_REG_PC])) {
            retry(j, "in a signal handler");
            break;
        }
        hs_addr pc = frame.caller.value[HS_REG_PC];
        if (is_ocaml_code(j, pc)) {
            judge_call(j, &frame);
            return;
        }
        judge_c_frame(j, pc - 1);
        r = frame.caller;
    }
    accept_unproven(j);
}

static void judge_current(struct judge *j)
{
    pid_t tid = j->domain != NULL ? j->domain->holder : j->thread->tid;
    const struct hs_thread *kernel = hs_ocaml_kernel_thread(j->rt, tid);
    if (kernel == NULL)
        return; /* its kernel thread is gone or unknown: what it saved is all there is */
    j->top = hs_registers_of(&kernel->regs);
    j->in_system_call = hs_regs_in_call(&kernel->regs);
    j->is_safe = false;
    hs_addr pc = hs_regs_pc(&kernel->regs);
    if (is_system_code(j, pc)) {
        retry(j, "in transition code of the runtime");
        accept_unproven(j);
    } else if (is_ocaml_code(j, pc)) {
        judge_ocaml(j);
    } else {
        judge_c(j);
    }
}

/* Judges the thread that stands in for a blocked domain, which runs C alone. */
static void judge_backup(struct judge *j, const struct hs_thread *kernel)
{
    struct hs_registers r = hs_registers_of(&kernel->regs);
    struct hs_frame frame;

    j->in_system_call = hs_regs_in_call(&kernel->regs);
    j->is_safe = false;
    judge_c_frame(j, r.value[HS_REG_PC]);
    for (unsigned i = 0; i < MAX_C_FRAMES; i++) {
        if (!judge_step(j, &r, i != 0, &frame))
            return;
        judge_c_frame(j, frame.caller.value[HS_REG_PC] - 1);
        r = frame.caller;
    }
}

static void judge_domains(struct judge *j)
{
    struct hs_ocaml5 *five = j->rt->five;

    if (five->n_running != five->n_domains)
        retry(j, "while a domain starts or ends");
    for (size_t i = 0; i < five->n_domains; i++) {
        struct hs_ocaml5_domain *domain = &five->domains[i];
        const struct hs_thread *backup = hs_ocaml_kernel_thread(j->rt, domain->backup);
        if (domain->has_rival)
            retry(j, "while a thread starts");
        if (domain->words[HS_STATE5_CURRENT_STACK] == 0)
            retry(j, "while a domain starts or ends");
        domain->young_ptr = domain->words[HS_STATE5_YOUNG_PTR];
        if (backup != NULL)
            judge_backup(j, backup);
    }
}

/* Judges young_ptr; more may have been taken off for an allocation than there was: then nothing is
 * known of the minor heap. */
static void judge_young(struct judge *j, hs_addr *young_ptr, hs_addr begin, hs_addr end)
{
    if (*young_ptr >= begin && *young_ptr <= end && *young_ptr % YOUNG_ALIGN == 0)
        return;
    retry(j, "in the middle of an allocation");
    *young_ptr = end;
}

static void judge_threads(struct judge *j)
{
    struct hs_ocaml5 *five = j->rt->five;

    if (five != NULL)
        judge_domains(j);
    for (size_t i = 0; i < j->stops->n; i++) {
        j->thread = &j->stops->threads[i];
        j->domain = five != NULL ? &five->domains[j->thread->domain] : NULL;
        set_stack(j->rt, j->thread);
        if (j->thread->is_current)
            judge_current(j);
    }
    if (five == NULL)
        judge_young(j, &j->stops->young_ptr, j->rt->young_alloc_start, j->rt->young_alloc_end);
    for (size_t i = 0; five != NULL && i < five->n_domains; i++) {
        struct hs_ocaml5_domain *domain = &five->domains[i];
        judge_young(j, &domain->young_ptr, domain->young_start, domain->young_end);
    }
}

void hs_ocaml_stops_fini(struct hs_ocaml_stops *stops)
{
    if (stops == NULL)
        return;
    hs_free(stops->threads);
    memset(stops, 0, sizeof *stops);
}

hs_status hs_ocaml_find_stops(struct hs_ocaml *rt, struct hs_ocaml_stops *stops,
                              enum hs_stop_verdict *ret, const char **ret_reason,
                              struct hs_error *err)
{
    struct hs_ocaml_state state;
    struct judge j = {.rt = rt, .stops = stops};
    hs_ocaml_find_statics(rt, &stops->statics);
    judge_init(&j);
    if (rt->five != NULL) {
        HS_TRY(hs_ocaml5_find_threads(rt, stops, err));
    } else {
        HS_TRY(hs_target_read(rt->target, rt->state, state.words, sizeof state.words, err));
        stops->young_ptr = state.words[HS_STATE_YOUNG_PTR];
        HS_TRY(hs_ocaml_find_threads(rt, &state, stops, err));
        if (state.words[HS_STATE_IN_MINOR] != 0)
            retry(&j, "inside a minor collection");
    }
    judge_threads(&j);
    *ret = j.reason == NULL ? HS_STOP_GOOD : HS_STOP_RETRY;
    *ret_reason = j.reason;
    return HS_OK;
}

hs_status hs_ocaml_judge(struct hs_ocaml *rt, enum hs_stop_verdict *ret, const char **ret_reason,
                         struct hs_error *err)
{
    struct hs_ocaml_stops stops = {0};
    hs_status status = hs_ocaml_find_stops(rt, &stops, ret, ret_reason, err);
    if (status == HS_OK)
        rt->young_ptr = stops.young_ptr;
    hs_ocaml_stops_fini(&stops);
    return status;
}
