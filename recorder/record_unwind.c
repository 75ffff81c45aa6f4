#include "record_unwind.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define PAGE_BYTES HS_RECORD_PAGE_BYTES
#define RULE_BITS 13
#define PROBES_MAX 512U /* pages of a stack that are looked at in one go */
#define FRAME_BYTES_MAX (UINT64_C(1) << 30)

extern void *__libc_stack_end __attribute__((weak));

/* Both words are written without a lock: an entry is good when they fit together. */
struct entry {
    uint64_t ip_and_rule; /* xored */
    uint64_t rule;
};
static struct entry entries[1U << RULE_BITS];

struct walk {
    uint64_t ip, rsp, rbp;
    uint64_t low, top;  /* reads in here are safe */
    uint64_t good_page; /* and in the last page that was probed */
    bool is_exact;      /* ip is the next instruction itself, not a return address */
};

void hs_record_unwind_forget(void)
{
    for (unsigned i = 0; i < 1U << RULE_BITS; i++) {
        __atomic_store_n(&entries[i].rule, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&entries[i].ip_and_rule, 0, __ATOMIC_RELAXED);
    }
}

/* The kernel reads the set of signals before it finds that there is nothing to do with it. Not by
 * syscall(), which would change errno. */
bool hs_record_is_mapped(uint64_t page)
{
    long result = SYS_rt_sigprocmask;
    register long n_bytes __asm__("r10") = 8;

    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(~0UL), "S"(page), "d"(0UL), "r"(n_bytes)
                     : "rcx", "r11", "memory");
    return result == -EINVAL;
}

static bool read_word(struct walk *walk, uint64_t address, uint64_t *ret)
{
    uint64_t page = address & ~(PAGE_BYTES - 1);

    if ((address & 7) != 0 || page == 0 || address >= HS_RECORD_USER_TOP)
        return false;
    if ((address < walk->low || address >= walk->top) && page != walk->good_page) {
        if (!hs_record_is_mapped(page))
            return false;
        walk->good_page = page;
    }
    memcpy(ret, (const void *)(uintptr_t)address, sizeof *ret);
    return true;
}

/* A thread's stack ends below its control block, that of the first one where the kernel put the
 * arguments. Another stack (of a signal, of a coroutine) may lie below these, with a hole between:
 * so each page down to rsp is looked at, once in the life of a thread. */
static void find_limits(struct walk *walk, struct hs_record_stack_range *range)
{
    uint64_t top = (uint64_t)(uintptr_t)__builtin_thread_pointer();

    walk->low = walk->top = 0;
    if (walk->rsp >= top)
        top = &__libc_stack_end != NULL ? (uint64_t)(uintptr_t)__libc_stack_end : 0;
    if (walk->rsp >= top)
        return;
    if (range->top != top) {
        range->top = top;
        range->low = (top - 8) & ~(PAGE_BYTES - 1);
    }
    for (unsigned i = 0; i < PROBES_MAX && range->low > walk->rsp; i++) {
        if (!hs_record_is_mapped(range->low - PAGE_BYTES))
            return;
        range->low -= PAGE_BYTES;
    }
    if (range->low <= walk->rsp) {
        walk->low = range->low;
        walk->top = top;
    }
}

static struct hs_record_rule cached_rule(uint64_t ip)
{
    struct entry *entry = &entries[ip * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RULE_BITS)];
    uint64_t packed = __atomic_load_n(&entry->rule, __ATOMIC_RELAXED);
    struct hs_record_rule rule;

    _Static_assert(sizeof rule == sizeof packed, "a rule is one word");
    if ((__atomic_load_n(&entry->ip_and_rule, __ATOMIC_RELAXED) ^ packed) == ip) {
        memcpy(&rule, &packed, sizeof rule);
        return rule;
    }
    rule = hs_record_rule_of(ip);
    memcpy(&packed, &rule, sizeof packed);
    __atomic_store_n(&entry->rule, packed, __ATOMIC_RELAXED);
    __atomic_store_n(&entry->ip_and_rule, ip ^ packed, __ATOMIC_RELAXED);
    return rule;
}

/* Steps by the registers that the kernel saved; the stack may be another one. */
static bool step_signal(struct walk *walk, struct hs_record_stack_range *range)
{
    uint64_t registers = walk->rsp + offsetof(ucontext_t, uc_mcontext.gregs);
    uint64_t rip, rsp, rbp;

    if (!read_word(walk, registers + 8 * REG_RIP, &rip) ||
        !read_word(walk, registers + 8 * REG_RSP, &rsp) ||
        !read_word(walk, registers + 8 * REG_RBP, &rbp))
        return false;
    walk->ip = rip;
    walk->rsp = rsp;
    walk->rbp = rbp;
    walk->is_exact = true;
    find_limits(walk, range);
    return true;
}

static bool step_to(struct walk *walk, uint64_t cfa, uint64_t rbp)
{
    if (cfa <= walk->rsp || cfa - walk->rsp > FRAME_BYTES_MAX ||
        !read_word(walk, cfa - 8, &walk->ip))
        return false;
    walk->rsp = cfa;
    walk->rbp = rbp;
    walk->is_exact = false;
    return true;
}

static bool step_frame(struct walk *walk)
{
    uint64_t rbp;

    return walk->rbp >= walk->rsp && read_word(walk, walk->rbp, &rbp) &&
           step_to(walk, walk->rbp + 16, rbp);
}

static bool step_tables(struct walk *walk, const struct hs_record_rule *rule)
{
    uint64_t base = rule->cfa == HS_RECORD_CFA_RSP ? walk->rsp : walk->rbp, rbp = walk->rbp;
    uint64_t cfa = base + (uint64_t)(int64_t)rule->cfa_offset;

    if (rule->cfa == HS_RECORD_CFA_RBP_DEREF && !read_word(walk, cfa, &cfa))
        return false;
    if (rule->rbp != HS_RECORD_RBP_SAME &&
        !read_word(walk,
                   (rule->rbp == HS_RECORD_RBP_AT_CFA ? cfa : walk->rbp) +
                       (uint64_t)(int64_t)rule->rbp_offset,
                   &rbp))
        return false;
    return step_to(walk, cfa, rbp);
}

static bool step(struct walk *walk, enum hs_record_stacks how, struct hs_record_stack_range *range)
{
    struct hs_record_rule rule = {.cfa = HS_RECORD_CFA_NONE};

    if (how != HS_RECORD_STACKS_FRAMES)
        rule = cached_rule(walk->ip - !walk->is_exact);
    switch (rule.cfa) {
    case HS_RECORD_CFA_END:
        return false;
    case HS_RECORD_CFA_SIGNAL:
        return step_signal(walk, range);
    case HS_RECORD_CFA_NONE:
        return how != HS_RECORD_STACKS_TABLES && step_frame(walk);
    default:
        return step_tables(walk, &rule);
    }
}

void hs_record_backtrace(const struct hs_record_frame *frame, enum hs_record_stacks how,
                         struct hs_record_stack_range *range, struct hs_record_backtrace *ret)
{
    struct walk walk = {.ip = frame->return_address,
                        .rsp = (uint64_t)(uintptr_t)(frame + 1),
                        .rbp = frame->rbp,
                        .good_page = (uint64_t)(uintptr_t)frame & ~(PAGE_BYTES - 1)};
    unsigned n = 0;

    ret->n = 0;
    if (how == HS_RECORD_STACKS_NONE)
        return;
    find_limits(&walk, range);
    while (n < HS_RECORD_FRAMES_MAX && walk.ip >= PAGE_BYTES && walk.ip < HS_RECORD_USER_TOP) {
        ret->sp[n] = walk.rsp;
        ret->frames[n++] = walk.ip;
        if (!step(&walk, how, range))
            break;
    }
    ret->n = n;
}
