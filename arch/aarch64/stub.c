/* The parts of the AArch64 interface that are not implemented yet: every question is answered with
 * "no". */
#include <string.h>

#include "arch/calls.h"
#include "arch/moves.h"
#include "arch/operands.h"
#include "arch/registers.h"
#include "arch/sigframe.h"
#include "base/load.h"

struct hs_registers hs_registers_of(const struct hs_regs *regs)
{
    struct hs_registers r = {.known = HS_ALL_REGISTERS};
    memcpy(r.value, regs->x, sizeof regs->x);
    r.value[HS_REG_SP] = regs->sp;
    r.value[HS_REG_PC] = regs->pc;
    return r;
}

const char *hs_register_name(unsigned number)
{
    static const char names[HS_N_REGISTERS][4] = {
        "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",  "x7",  "x8",  "x9",  "x10",
        "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
        "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",  "pc"};
    return names[number];
}

/* Tells whether the code ends in BL or BLR. */
bool hs_code_ends_in_call(const uint8_t *bytes)
{
    uint32_t code = hs_load_u32(bytes);
    return code >> 26 == 0x25 || (code & 0xfffffc1f) == 0xd63f0000;
}

const uint8_t hs_ocaml_saved[HS_OCAML_N_SAVED] = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 19, 20, 21, 22, 23, 24, 25, 16, 17, 29};
const uint8_t hs_ocaml_preserved[HS_OCAML_N_PRESERVED] = {19, 20, 21, 22, 23, 24, 25};

bool hs_call_may_break_off(uint64_t number)
{
    (void)number;
    return false;
}

bool hs_regs_call_is_broken_off(const struct hs_regs *regs)
{
    (void)regs;
    return false;
}

bool hs_regs_call_restart(struct hs_regs *regs)
{
    (void)regs;
    return false;
}

bool hs_call_is_partial(uint64_t number, const uint64_t arguments[6], struct hs_partial_call *ret)
{
    (void)number, (void)arguments, (void)ret;
    return false;
}

bool hs_regs_call_is_cut(const struct hs_regs *regs, struct hs_partial_call *ret)
{
    (void)regs, (void)ret;
    return false;
}

bool hs_call_closes(uint64_t number)
{
    (void)number;
    return false;
}

bool hs_regs_call_has_closed(const struct hs_regs *regs)
{
    (void)regs;
    return false;
}

bool hs_call_reads(uint64_t number)
{
    (void)number;
    return false;
}

bool hs_regs_read_begins_anew(const struct hs_regs *regs)
{
    (void)regs;
    return false;
}

struct hs_wait hs_wait_of(uint64_t number, const uint64_t arguments[6])
{
    (void)number, (void)arguments;
    return (struct hs_wait){.form = HS_WAIT_UNTIMED};
}

struct hs_wait hs_regs_wait(const struct hs_regs *regs)
{
    (void)regs;
    return (struct hs_wait){.form = HS_WAIT_UNTIMED};
}

struct hs_wait hs_regs_wait_kept(const struct hs_regs *framed)
{
    (void)framed;
    return (struct hs_wait){.form = HS_WAIT_UNTIMED};
}

uint64_t hs_regs_call_number(const struct hs_regs *regs)
{
    (void)regs;
    return 0;
}

bool hs_call_is_kept(uint64_t number)
{
    (void)number;
    return false;
}

void hs_regs_wait_ms(struct hs_regs *regs, const struct hs_wait *wait, uint64_t ms)
{
    (void)regs, (void)wait, (void)ms;
}

void hs_regs_wait_at(struct hs_regs *regs, const struct hs_wait *wait, hs_addr at)
{
    (void)regs, (void)wait, (void)at;
}

bool hs_regs_may_call(const struct hs_regs *regs)
{
    (void)regs;
    return false;
}

void hs_regs_call(struct hs_regs *regs, hs_addr code, hs_addr stack, uint64_t number,
                  const uint64_t arguments[5])
{
    memcpy(regs->x, arguments, 5 * sizeof *arguments);
    regs->x[8] = number;
    regs->sp = stack;
    regs->pc = code;
}

int64_t hs_regs_call_result(const struct hs_regs *regs)
{
    return (int64_t)regs->x[0];
}

void hs_regs_sigreturn(struct hs_regs *regs, hs_addr code, hs_addr frame)
{
    regs->sp = frame;
    regs->pc = code;
}

/* None: then no frozen copy can be made, and the process is read stopped. */
const struct hs_code_sequence hs_code_sequences[1] = {0};
const size_t hs_n_code_sequences = 0;

bool hs_sigframe_choose(hs_addr stack_begin, hs_addr stack_pointer, size_t xstate_bytes,
                        struct hs_sigframe_place *ret)
{
    (void)stack_begin, (void)stack_pointer, (void)xstate_bytes, (void)ret;
    return false;
}

bool hs_sigframe_is_taken(hs_addr stack_begin, hs_addr stack_pointer)
{
    (void)stack_begin, (void)stack_pointer;
    return false;
}

bool hs_sigframe_state(uint8_t *xstate, size_t *n_bytes, size_t capacity)
{
    (void)xstate, (void)n_bytes, (void)capacity;
    return false;
}

struct hs_regs hs_sigframe_regs(const struct hs_regs *regs, const uint8_t *code, uint64_t noted)
{
    (void)code, (void)noted;
    return *regs;
}

void hs_sigframe_build(const struct hs_sigframe *frame, uint8_t *area)
{
    memset(area, 0, frame->place.end - frame->place.frame);
}

struct hs_harvest hs_operands_harvest(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                                      struct hs_operand *ret, size_t capacity)
{
    (void)code, (void)n_bytes, (void)vaddr, (void)ret, (void)capacity;
    return (struct hs_harvest){0};
}

bool hs_operands_hint(const uint8_t *code, size_t n_bytes, hs_addr vaddr, hs_addr low, hs_addr high,
                      size_t *at, hs_addr *ret_first)
{
    (void)code, (void)n_bytes, (void)vaddr, (void)low, (void)high, (void)at, (void)ret_first;
    return false;
}

bool hs_operands_hint_absolute(const uint8_t *code, size_t n_bytes, hs_addr low, hs_addr high,
                               size_t *at, hs_addr *ret_first)
{
    (void)code, (void)n_bytes, (void)low, (void)high, (void)at, (void)ret_first;
    return false;
}

struct hs_harvest hs_operands_fields(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                                     struct hs_operand *ret, size_t capacity)
{
    return hs_operands_harvest(code, n_bytes, vaddr, ret, capacity);
}

size_t hs_operands_constant_calls(const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                                  struct hs_constant_call *ret, size_t capacity)
{
    (void)code, (void)n_bytes, (void)vaddr, (void)ret, (void)capacity;
    return 0;
}

bool hs_code_move(const uint8_t *code, size_t n, hs_addr vaddr, struct hs_move *ret)
{
    (void)code, (void)n, (void)vaddr, (void)ret;
    return false;
}
