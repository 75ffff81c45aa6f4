/* The bytes of a signal frame. */
#include "arch/sigframe.h"

#include <assert.h>
#include <cpuid.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#define FRAME_PAGE_TABLE_BYTES ((hs_addr)2 << 20) /* what one page of the page table maps */
/* The base is page-aligned; the frame such that the stack pointer behind it is aligned to 64. */
#define FRAME_OFFSET (HS_SIGFRAME_BELOW + 56)
#define FRAME_CHILD_GAP ((hs_addr)256)
#define FRAME_TAIL_BYTES ((hs_addr)128)

/* uapi/asm/sigcontext.h, processor's manual */
#define XSTATE_SOFTWARE_AT 464 /* bytes that the hardware leaves to software */
#define XSTATE_HEADER_AT 512   /* XSTATE_BV */
#define XSTATE_BYTES_MIN 576
#define XSTATE_MAGIC1 UINT32_C(0x46505853)
#define XSTATE_MAGIC2 UINT32_C(0x46505845)
#define XSTATE_TILE_DATA 18 /* the one state that a thread must ask for before it may name it */
#define XSTATE_LEAF 0xd

/* Kernel-internal results of a system call that starts again (include/linux/errno.h). */
enum { RESTARTSYS = -512, RESTARTNOINTR = -513, RESTARTNOHAND = -514, RESTART_BLOCK = -516 };

struct frame_bytes {
    uint64_t return_address;
    uint64_t flags, link;
    uint64_t altstack_pointer;
    uint32_t altstack_flags, altstack_padding;
    uint64_t altstack_bytes;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
    uint64_t eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t error, trap, old_mask, fault_address, xstate;
    uint64_t reserved[8];
    uint64_t signal_mask;
    uint8_t info[128];
};

static_assert(offsetof(struct frame_bytes, r8) == 48 &&
                  offsetof(struct frame_bytes, cs) == 48 + 144 &&
                  offsetof(struct frame_bytes, xstate) == 48 + 184 &&
                  offsetof(struct frame_bytes, signal_mask) == 48 + 256 &&
                  sizeof(struct frame_bytes) == 440,
              "struct rt_sigframe of x86-64");

/* The header by which the frame of the processor's extended state announces itself. */
struct frame_software {
    uint32_t magic1, extended_bytes;
    uint64_t features;
    uint32_t xstate_bytes, padding[7];
};

static hs_addr frame_align(hs_addr address, hs_addr to)
{
    return (address + to - 1) & ~(to - 1);
}

bool hs_sigframe_choose(hs_addr stack_begin, hs_addr stack_pointer, size_t xstate_bytes,
                        struct hs_sigframe_place *ret)
{
    struct hs_sigframe_place place;

    if (stack_pointer < stack_begin || stack_pointer - stack_begin < HS_SIGFRAME_STACK_BYTES)
        return false;
    hs_addr base = (stack_pointer - HS_SIGFRAME_STACK_BYTES) & ~(FRAME_PAGE_TABLE_BYTES - 1);
    if (base < stack_begin)
        base = stack_begin;
    place.frame = base + FRAME_OFFSET;
    place.xstate = frame_align(place.frame + sizeof(struct frame_bytes), 64);
    place.child_stack =
        frame_align(place.xstate + xstate_bytes + sizeof XSTATE_MAGIC2 + FRAME_CHILD_GAP, 16);
    place.scratch = place.child_stack + 64;
    place.end = place.child_stack + FRAME_TAIL_BYTES;
    if (place.end - place.frame > HS_SIGFRAME_BYTES_MAX)
        return false;
    *ret = place;
    return true;
}

bool hs_sigframe_is_taken(hs_addr stack_begin, hs_addr stack_pointer)
{
    hs_addr base = stack_pointer & ~(FRAME_PAGE_TABLE_BYTES - 1);
    hs_addr offset = stack_pointer - (base > stack_begin ? base : stack_begin);

    return stack_pointer > stack_begin &&
           (offset == FRAME_OFFSET || offset == FRAME_OFFSET + sizeof(uint64_t) ||
            stack_pointer - stack_begin == FRAME_OFFSET ||
            stack_pointer - stack_begin == FRAME_OFFSET + sizeof(uint64_t));
}

/* Returns the bytes of the standard form with these features. */
static size_t xstate_size(uint64_t features)
{
    size_t n = XSTATE_BYTES_MIN;

    for (unsigned i = 2; i < 63; i++) {
        unsigned bytes = 0, at = 0, c, d;
        if ((features >> i & 1) == 0 || !__get_cpuid_count(XSTATE_LEAF, i, &bytes, &at, &c, &d))
            continue;
        if (n < (size_t)at + bytes)
            n = (size_t)at + bytes;
    }
    return n;
}

bool hs_sigframe_state(uint8_t *xstate, size_t *n_bytes, size_t capacity)
{
    struct frame_software software = {.magic1 = XSTATE_MAGIC1};
    uint32_t magic2 = XSTATE_MAGIC2;
    uint64_t used;

    if (*n_bytes < XSTATE_BYTES_MIN)
        return false;
    memcpy(&software.features, xstate + XSTATE_SOFTWARE_AT, sizeof software.features);
    memcpy(&used, xstate + XSTATE_HEADER_AT, sizeof used);
    if ((used & ~software.features) != 0)
        return false;
    size_t n = *n_bytes;
    if ((software.features >> XSTATE_TILE_DATA & 1) != 0 && (used >> XSTATE_TILE_DATA & 1) == 0) {
        software.features &= ~(UINT64_C(1) << XSTATE_TILE_DATA);
        n = xstate_size(software.features);
    }
    if (n > *n_bytes || n > capacity - sizeof magic2)
        return false;
    software.xstate_bytes = (uint32_t)n;
    software.extended_bytes = (uint32_t)(n + sizeof magic2);
    memcpy(xstate + XSTATE_SOFTWARE_AT, &software, sizeof software);
    memcpy(xstate + n, &magic2, sizeof magic2);
    *n_bytes = n;
    return true;
}

/* Returns the call's own number where the kernel restarts it by restart_syscall and has forgotten
 * that number. A restart of it after sigreturn would fail with EINTR; the code says which it was:
 * `mov $nr, %eax; syscall`, as every C library has it. */
static uint64_t frame_restarted_number(const uint8_t *code, uint64_t noted)
{
    static const uint16_t calls[] = {SYS_nanosleep, SYS_clock_nanosleep, SYS_poll, SYS_futex};
    uint32_t number;

    if (noted != 0)
        return noted;
    if (code == NULL || code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
        return SYS_restart_syscall;
    memcpy(&number, code + 1, sizeof number);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (calls[i] == number)
            return number;
    return SYS_restart_syscall;
}

struct hs_regs hs_sigframe_regs(const struct hs_regs *regs, const uint8_t *code, uint64_t noted)
{
    struct hs_regs result = *regs;
    int64_t rax = (int64_t)regs->rax;

    if ((int64_t)regs->orig_rax < 0)
        return result;
    if (rax == RESTARTSYS || rax == RESTARTNOINTR || rax == RESTARTNOHAND || rax == RESTART_BLOCK) {
        result.rip -= 2; /* onto the two bytes of `syscall` */
        result.rax = regs->orig_rax == SYS_restart_syscall ? frame_restarted_number(code, noted)
                                                           : regs->orig_rax;
    }
    return result;
}

void hs_sigframe_build(const struct hs_sigframe *frame, uint8_t *area)
{
    const struct hs_sigframe_place *place = &frame->place;
    const struct hs_regs *r = &frame->regs;
    /* Flags: extended state follows; the stack segment is to be restored. Those of the alternate
     * stack are none that exist, so that it stays as it is. */
    struct frame_bytes bytes = {
        .return_address = frame->sigreturn,
        .flags = 1 | 2 | 4,
        .altstack_flags = 0x7fff,
        .r8 = r->r8,
        .r9 = r->r9,
        .r10 = r->r10,
        .r11 = r->r11,
        .r12 = r->r12,
        .r13 = r->r13,
        .r14 = r->r14,
        .r15 = r->r15,
        .rdi = r->rdi,
        .rsi = r->rsi,
        .rbp = r->rbp,
        .rbx = r->rbx,
        .rdx = r->rdx,
        .rax = r->rax,
        .rcx = r->rcx,
        .rsp = r->rsp,
        .rip = r->rip,
        .eflags = r->eflags,
        .cs = (uint16_t)r->cs,
        .ss = (uint16_t)r->ss,
        .xstate = place->xstate,
        .signal_mask = frame->signal_mask,
    };
    uint64_t leave = frame->leave;

    memset(area, 0, place->end - place->frame);
    memcpy(area, &bytes, sizeof bytes);
    memcpy(area + (place->xstate - place->frame), frame->xstate,
           frame->xstate_bytes + sizeof XSTATE_MAGIC2);
    memcpy(area + (place->child_stack - place->frame), &leave, sizeof leave);
}
