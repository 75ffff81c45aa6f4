/* Backtraces of the calling thread, from inside its allocator: by frame pointers, or by the unwind
 * tables of the modules with what they say kept per return address. Takes no lock, allocates
 * nothing, and reads no address of the stack that was not found to be mapped; so it may run in a
 * signal handler, and on any stack. A chain that makes no sense ends the backtrace.
 *
 * x86-64. Unwind tables need glibc 2.35 (_dl_find_object); without it, and for code that has no
 * tables, frame pointers are tried. */
#ifndef HS_RECORD_UNWIND_H
#define HS_RECORD_UNWIND_H

#include <heapsnap/recorded.h>

#include <stdbool.h>

#define HS_RECORD_PAGE_BYTES UINT64_C(4096)
#define HS_RECORD_USER_TOP (UINT64_C(1) << 47)

enum hs_record_stacks {
    HS_RECORD_STACKS_AUTO, /* tables, and frame pointers where there are none */
    HS_RECORD_STACKS_FRAMES,
    HS_RECORD_STACKS_TABLES,
    HS_RECORD_STACKS_NONE
};

/* The stack of one thread: pages of its own stack that are known to be mapped, [low, top). Zero at
 * first. */
struct hs_record_stack_range {
    uint64_t low, top;
};

/* The frame of a function of ours that the program called (by a call or by a jump): where
 * __builtin_frame_address(0) points there. */
struct hs_record_frame {
    uint64_t rbp;
    uint64_t return_address;
};

/* The return addresses, the innermost first, and where the stack of each frame begins: that of its
 * caller ends it. */
struct hs_record_backtrace {
    unsigned n;
    uint64_t frames[HS_RECORD_FRAMES_MAX], sp[HS_RECORD_FRAMES_MAX];
};
void hs_record_backtrace(const struct hs_record_frame *frame, enum hs_record_stacks how,
                         struct hs_record_stack_range *range, struct hs_record_backtrace *ret);
/* Tells whether a page of memory may be read: asks the kernel, some 100 ns. */
bool hs_record_is_mapped(uint64_t page);
/* Forgets what was learnt of the addresses of modules that were unloaded. */
void hs_record_unwind_forget(void);

/* The rules by which a frame's caller is found. */
enum hs_record_cfa {
    HS_RECORD_CFA_NONE, /* the tables do not say */
    HS_RECORD_CFA_RSP,
    HS_RECORD_CFA_RBP,
    HS_RECORD_CFA_RBP_DEREF, /* the word at rbp + offset: functions that align their stack */
    HS_RECORD_CFA_SIGNAL,    /* the kernel's frame: registers are in a ucontext at rsp */
    HS_RECORD_CFA_END        /* the outermost function */
};
enum hs_record_rbp { HS_RECORD_RBP_SAME, HS_RECORD_RBP_AT_CFA, HS_RECORD_RBP_AT_RBP };

struct hs_record_rule {
    uint8_t cfa, rbp; /* enum hs_record_cfa, enum hs_record_rbp */
    int16_t rbp_offset;
    int32_t cfa_offset; /* the return address is always in the word below the CFA */
};

/* Returns the rule of the unwind tables for a return address. `ip` is any address inside of the
 * call. */
struct hs_record_rule hs_record_rule_of(uint64_t ip);

#endif
