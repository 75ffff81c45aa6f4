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
 * when they released the runtime. Sources: runtime/amd64.S, minor_gc.c, compact.c, signals_nat.c,
 * st_stubs.c. */
#include <string.h>

#include "base/alloc.h"
#include "capture/unwind.h"
#include "ocaml_roots.h"
#include "symbols/elf.h"

enum {
    MAX_C_FRAMES = 1 << 16,
    RED_ZONE_BYTES = 128,
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
};

enum { N_BAD_FUNCTIONS = sizeof bad_functions / sizeof *bad_functions };

struct judge {
    struct hs_ocaml *rt;
    struct hs_ocaml_stops *stops;
    const struct hs_ocaml_state *state;
    struct hs_ocaml_thread *thread; /* the current one */
    struct hs_registers top;        /* its registers */
    bool in_system_call;
    hs_addr system_begin, system_end; /* the runtime's assembly */
    hs_addr raise_begin, raise_end;   /* caml_raise_exn .. caml_callback_asm within it */
    hs_addr bad_begin[N_BAD_FUNCTIONS], bad_end[N_BAD_FUNCTIONS];
    const char *reason; /* why to try again; NULL: no need */
};

void hs_ocaml_prepare(struct hs_objects *objects)
{
    for (size_t i = 0; i < objects->n; i++)
        (void)hs_unwind_cfi(objects, &objects->objects[i]);
    struct hs_live_symbol symbol;
    if (hs_objects_find(objects, "caml_final_do_roots", &symbol))
        (void)hs_elf_bytes_at(symbol.object->elf, symbol.address - symbol.object->bias, 1);
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

static void judge_init(struct judge *j)
{
    j->system_begin = address_of(j->rt, "caml_system__code_begin");
    j->system_end = address_of(j->rt, "caml_system__code_end");
    j->raise_begin = address_of(j->rt, "caml_raise_exn");
    j->raise_end = address_of(j->rt, "caml_callback_asm");
    for (size_t i = 0; i < N_BAD_FUNCTIONS; i++) {
        struct hs_live_symbol symbol;
        if (hs_objects_find(j->rt->objects, bad_functions[i].name, &symbol)) {
            j->bad_begin[i] = symbol.address;
            j->bad_end[i] = symbol.address + symbol.size;
        }
    }
}

static bool is_ocaml_code(const struct judge *j, hs_addr pc)
{
    return hs_spans_find(&j->rt->code, pc) != NULL;
}

static bool is_system_code(const struct judge *j, hs_addr pc)
{
    return pc >= j->system_begin && pc < j->system_end;
}

static void judge_c_frame(struct judge *j, hs_addr pc)
{
    if (pc >= j->raise_begin && pc < j->raise_end)
        retry(j, "raising an exception");
    for (size_t i = 0; i < N_BAD_FUNCTIONS; i++) {
        if (pc >= j->bad_begin[i] && pc < j->bad_end[i] &&
            !(bad_functions[i].only_running && j->in_system_call))
            retry(j, bad_functions[i].reason);
    }
}

/* Everything from the stack pointer up is copied; the red zone below it may hold spilled values. */
static void set_stack(struct hs_ocaml *rt, struct hs_ocaml_thread *thread)
{
    const struct hs_thread *kernel = hs_ocaml_kernel_thread(rt, thread->tid);
    hs_addr sp = kernel != NULL ? kernel->regs.rsp : thread->sp;
    if (thread->sp != 0 && thread->sp < sp)
        sp = thread->sp; /* on a signal stack, or not this thread's */
    const struct hs_mapping *mapping = hs_target_mapping_at(rt->target, sp);
    if (mapping == NULL)
        return;
    thread->stack_begin =
        sp - mapping->begin > RED_ZONE_BYTES ? sp - RED_ZONE_BYTES : mapping->begin;
    thread->stack_end = mapping->end;
}

static void set_conservative(struct judge *j, hs_addr begin, hs_addr end)
{
    j->thread->words_begin = begin;
    j->thread->words_end = end;
    j->thread->registers = true;
}

/* The stack cannot be unwound. The runtime's own record is right when the current thread is in a C
 * call made through the runtime; then what lies below it is C, otherwise it holds the newer OCaml
 * frames. Scanning it conservatively is safe both ways. */
static void accept_unproven(struct judge *j)
{
    struct hs_ocaml_thread *t = j->thread;
    struct hs_error ignored = HS_ERROR_INIT;
    hs_addr rsp = j->top.value[HS_RSP];
    uint64_t saved;
    if (t->sp == 0)
        return; /* no OCaml frame is recorded: the program begins or ends */
    bool agrees =
        t->sp > rsp && t->sp < t->stack_end &&
        hs_target_read(j->rt->target, t->sp - HS_WORD, &saved, sizeof saved, &ignored) == HS_OK &&
        saved == t->pc;
    if (agrees) {
        j->stops->lacks_unwinding = true;
        set_conservative(j, rsp, t->sp);
        return;
    }
    j->stops->lacks_stack = true;
    set_conservative(j, rsp, t->stack_end);
    t->sp = 0;
}

/* `frame` leads out of OCaml code that has no descriptor for where it stands. */
static void begin_above(struct judge *j, const struct hs_frame *frame, hs_addr interrupted)
{
    hs_addr caller = frame->caller.value[HS_RIP];
    if (!is_ocaml_code(j, caller) && !is_system_code(j, caller)) {
        accept_unproven(j);
        return;
    }
    set_conservative(j, j->top.value[HS_RSP], frame->cfa);
    j->thread->interrupted = interrupted;
    j->thread->sp = frame->cfa;
    j->thread->pc = caller;
}

/* While OCaml code runs, the allocation pointer is in r15. */
static void take_young_ptr(struct judge *j, const struct hs_registers *r)
{
    uint64_t young = r->value[HS_R15];
    if (!hs_register_known(r, HS_R15) || young % YOUNG_ALIGN != 0 ||
        young < j->rt->young_alloc_start || young > j->rt->young_alloc_end)
        retry(j, "in the middle of an allocation");
    else
        j->stops->young_ptr = young;
}

static void judge_ocaml(struct judge *j)
{
    struct hs_frame frame;
    take_young_ptr(j, &j->top);
    if (hs_unwind_step(j->rt->target, j->rt->objects, &j->top, false, &frame))
        begin_above(j, &frame, j->top.value[HS_RIP]);
    else
        accept_unproven(j);
}

/* `inner` leads from C into OCaml code. */
static void judge_call(struct judge *j, const struct hs_frame *inner)
{
    struct hs_frame frame;
    hs_addr return_address = inner->caller.value[HS_RIP];
    if (return_address == j->thread->pc && inner->cfa == j->thread->sp)
        return; /* the saved state is true */
    take_young_ptr(j, &inner->caller);
    if (hs_unwind_step(j->rt->target, j->rt->objects, &inner->caller, true, &frame))
        begin_above(j, &frame, return_address);
    else
        accept_unproven(j);
}

static void judge_c(struct judge *j)
{
    struct hs_registers r = j->top;
    struct hs_frame frame;
    judge_c_frame(j, r.value[HS_RIP]);
    for (unsigned i = 0; i < MAX_C_FRAMES; i++) {
        if (!hs_unwind_step(j->rt->target, j->rt->objects, &r, i != 0, &frame))
            break;
        if (frame.is_signal_frame) {
            retry(j, "in a signal handler");
            break;
        }
        hs_addr pc = frame.caller.value[HS_RIP];
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
    const struct hs_thread *kernel = hs_ocaml_kernel_thread(j->rt, j->thread->tid);
    if (kernel == NULL)
        return; /* its kernel thread is gone or unknown: what it saved is all there is */
    j->top = hs_unwind_registers(kernel);
    j->in_system_call = (int64_t)kernel->regs.orig_rax >= 0;
    hs_addr pc = kernel->regs.rip;
    if (is_system_code(j, pc)) {
        retry(j, "in transition code of the runtime");
        accept_unproven(j);
    } else if (is_ocaml_code(j, pc)) {
        judge_ocaml(j);
    } else {
        judge_c(j);
    }
}

hs_status hs_ocaml_find_stops(struct hs_ocaml *rt, struct hs_ocaml_stops *stops,
                              enum hs_stop_verdict *ret, const char **ret_reason,
                              struct hs_error *err)
{
    struct hs_ocaml_state state;
    struct judge j = {.rt = rt, .stops = stops, .state = &state};
    HS_TRY(hs_target_read(rt->target, rt->state, state.words, sizeof state.words, err));
    hs_ocaml_find_statics(rt, &stops->statics);
    stops->young_ptr = state.words[HS_STATE_YOUNG_PTR];
    HS_TRY(hs_ocaml_find_threads(rt, &state, stops, err));
    judge_init(&j);
    if (state.words[HS_STATE_IN_MINOR] != 0)
        retry(&j, "inside a minor collection");
    for (size_t i = 0; i < stops->n; i++) {
        set_stack(rt, &stops->threads[i]);
        if (stops->threads[i].is_current) {
            j.thread = &stops->threads[i];
            judge_current(&j);
        }
    }
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
