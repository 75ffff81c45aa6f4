/* Stacks, control blocks, and what the dynamic linker allocated for itself. */
#include "stacks_extent.h"

#include <string.h>

#include "base/load.h"
#include "link_map.h"

#define EXTENT_PAGE UINT64_C(4096)
#define EXTENT_PART_BYTES (UINT64_C(1) << 18) /* looked at together whether it was ever touched */
#define EXTENT_STACK_BYTES                                                \
    (UINT64_C(1) << 28) /* a larger one is not recognised when it is left \
                         */

enum {
    EXTENT_TRIES = 64,      /* words of one stack that lead to themselves, as control blocks do */
    EXTENT_LINK_MAP = 1160, /* struct link_map of 2.36 */
    TCB_SELF = 16,
    TCB_ALIGN = 64,
    TCB_BYTES = 0x900, /* of glibc 2.31 to 2.41, when libc does not say: 0x900 to 0x940 */
    TCB_MIN_BYTES = 0x200,
    TCB_MAX_BYTES = 0x4000,
    TCB_TOP_BYTES = 0x2000, /* at most so far above the thread pointer a stack ends */
};

/* Returns the size, libc's own word for libthread_db, exported since 2.2.3. */
uint64_t hs_native_tcb_bytes(const struct hs_native *native)
{
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        struct hs_elf *elf = native->dump->objects.objects[i].elf;
        const struct hs_elf_symbol *symbol = hs_elf_find(elf, "_thread_db_sizeof_pthread");
        uint32_t n;
        const uint8_t *bytes =
            symbol != NULL ? hs_elf_bytes_at(elf, symbol->vaddr, sizeof n) : NULL;
        if (bytes == NULL)
            continue;
        memcpy(&n, bytes, sizeof n);
        if (n >= TCB_MIN_BYTES && n <= TCB_MAX_BYTES)
            return n;
    }
    return TCB_BYTES;
}

static uint64_t static_tls_bytes(const struct hs_native *native)
{
    uint64_t n = 0;
    for (size_t i = 0; i < native->dump->objects.n; i++)
        if (native->of_object[i].tls_offset > n)
            n = native->of_object[i].tls_offset;
    return n;
}

static bool is_tcb(const struct hs_image *image, hs_addr at)
{
    uint64_t tcb, self;
    return at % HS_WORD_BYTES == 0 && hs_image_u64(image, at, &tcb) && tcb == at &&
           hs_image_u64(image, at + TCB_SELF, &self) && self == at;
}

/* Finds the stack by stackblock, stackblock_size and guardsize, which are adjacent in all versions;
 * 0 in the first thread. What lies below the mapping of the control block, from `begin` on, is no
 * stack. */
static void read_stack_block(const struct hs_native *native, hs_addr begin,
                             struct hs_native_tcb *tcb)
{
    const uint8_t *bytes = hs_image_bytes(&native->dump->image, tcb->tcb, tcb->end - tcb->tcb);
    if (bytes == NULL)
        return;
    for (size_t i = 3 * HS_WORD_BYTES; i + 3 * HS_WORD_BYTES <= tcb->end - tcb->tcb;
         i += HS_WORD_BYTES) {
        uint64_t block, n, guard, end;
        memcpy(&block, bytes + i, sizeof block);
        memcpy(&n, bytes + i + HS_WORD_BYTES, sizeof n);
        memcpy(&guard, bytes + i + 2ul * HS_WORD_BYTES, sizeof guard);
        if (block < EXTENT_PAGE || block >= tcb->tcb || __builtin_add_overflow(block, n, &end) ||
            end < tcb->tcb + TCB_MIN_BYTES || end > tcb->tcb + TCB_TOP_BYTES || guard >= n ||
            guard % EXTENT_PAGE != 0 || block + guard >= tcb->tls_begin)
            continue;
        tcb->stack_begin = block + guard > begin ? block + guard : begin;
        tcb->stack_end = end;
        tcb->is_given = guard == 0;
        if (tcb->end > end)
            tcb->end = end;
        return;
    }
}

static bool read_tcb(const struct hs_native *native, hs_addr at, uint64_t n_tcb, uint64_t n_tls,
                     struct hs_native_tcb *ret)
{
    const struct hs_mapping *mapping = hs_target_mapping_at(&native->dump->target, at);
    if (mapping == NULL)
        return false;
    *ret = (struct hs_native_tcb){.tcb = at, .tls_begin = at, .end = at + n_tcb};
    if (ret->end > mapping->end)
        ret->end = mapping->end;
    if (at - mapping->begin >= n_tls)
        ret->tls_begin = at - n_tls;
    read_stack_block(native, mapping->begin, ret);
    return true;
}

bool hs_native_read_tcb(const struct hs_native *native, hs_addr tcb, struct hs_native_tcb *ret)
{
    if (!is_tcb(&native->dump->image, tcb))
        return false;
    uint64_t n_tcb = native->tcb_bytes != 0 ? native->tcb_bytes : hs_native_tcb_bytes(native);
    return read_tcb(native, tcb, n_tcb, static_tls_bytes(native), ret);
}

bool hs_native_static_tls(const struct hs_native *native, const struct hs_thread *thread,
                          hs_addr *ret_begin, hs_addr *ret_end)
{
    struct hs_native_tcb tcb;
    if (!hs_native_read_tcb(native, hs_regs_thread_pointer(&thread->regs), &tcb))
        return false;
    *ret_begin = tcb.tls_begin;
    *ret_end = tcb.end;
    return true;
}

static bool is_claimed(const struct hs_native *native, hs_addr at)
{
    hs_addr begin, end;
    return !hs_ledger_next_unclaimed(&native->dump->heaps.ledger, at, at + 1, &begin, &end);
}

/* Finds the mapping of a stack: the first thread's [stack], whose place the kernel says; else where
 * the thread runs. Anonymous memory only: a stack in a program's variable is a variable. */
static bool mapped_extent(const struct hs_native *native, const struct hs_thread *thread,
                          struct hs_stack_extent *ret)
{
    const struct hs_mapping *m = NULL;
    if (thread->tid == native->dump->target.pid)
        for (size_t i = native->dump->target.n_mappings; m == NULL && i-- > 0;)
            if (strcmp(hs_mapping_path(&native->dump->target, &native->dump->target.mappings[i]),
                       "[stack]") == 0)
                m = &native->dump->target.mappings[i];
    if (m == NULL)
        m = hs_target_mapping_at(&native->dump->target, hs_regs_sp(&thread->regs));
    if (m == NULL || !m->readable || m->inode != 0 ||
        hs_objects_object_at(&native->dump->objects, m->begin) != NULL)
        return false;
    *ret = (struct hs_stack_extent){m->begin, m->begin, m->end};
    return true;
}

/* Finds where a stack that the program gave its thread (pthread_attr_setstack) begins to be one: a
 * control block or a table may lie at its low end. A stack is written from above: the first page
 * below the frames that was never written to is between. Where there is none all of it is stack. */
static hs_addr end_of_data(const struct hs_native *native, hs_addr begin, hs_addr sp)
{
    const struct hs_image *image = &native->dump->image;

    for (hs_addr page = sp & ~(EXTENT_PAGE - 1); page > begin && page - begin >= EXTENT_PAGE;) {
        page -= EXTENT_PAGE;
        const uint8_t *bytes = hs_image_bytes(image, page, EXTENT_PAGE);
        bool is_written =
            bytes != NULL && hs_image_resident_bytes(image, page, page + EXTENT_PAGE) != 0;
        for (size_t i = 0; is_written; i += HS_WORD_BYTES) {
            if (i == EXTENT_PAGE)
                return page;
            if (hs_load_u64(bytes + i) != 0)
                break;
        }
        if (!is_written)
            return page;
    }
    return begin;
}

bool hs_native_stack_extent(const struct hs_native *native, const struct hs_thread *thread,
                            struct hs_stack_extent *ret)
{
    struct hs_stack_extent extent;
    struct hs_native_tcb tcb;
    hs_addr sp = hs_regs_sp(&thread->regs);
    bool has_tcb = hs_native_read_tcb(native, hs_regs_thread_pointer(&thread->regs), &tcb);
    if (has_tcb && tcb.stack_end != 0)
        extent = (struct hs_stack_extent){tcb.stack_begin, tcb.stack_begin, tcb.tls_begin};
    else if (!mapped_extent(native, thread, &extent))
        return false;
    if (has_tcb && extent.mapping_begin <= sp && sp < tcb.tls_begin && tcb.tls_begin < extent.end)
        extent.end = tcb.tls_begin;
    if (extent.mapping_begin <= sp && sp < extent.end)
        extent.begin = sp;
    if (has_tcb && tcb.is_given && extent.begin == sp)
        extent.mapping_begin = end_of_data(native, extent.mapping_begin, sp);
    if (extent.end <= extent.begin || is_claimed(native, extent.begin))
        return false;
    *ret = extent;
    return true;
}

static bool is_of_thread(const struct hs_native *native, hs_addr tcb)
{
    for (size_t i = 0; i < native->dump->target.n_threads; i++)
        if (hs_regs_thread_pointer(&native->dump->target.threads[i].regs) == tcb)
            return true;
    return false;
}

/* Finds a control block of an ended thread in the page at `page`, with its stack from `begin` on.
 */
static bool find_in_page(const struct hs_native *native, hs_addr page, hs_addr begin,
                         unsigned *n_left, struct hs_native_tcb *ret)
{
    const uint8_t *bytes = hs_image_bytes(&native->dump->image, page, EXTENT_PAGE);
    for (size_t i = 0; bytes != NULL && i < EXTENT_PAGE; i += TCB_ALIGN) {
        uint64_t word = hs_load_u64(bytes + i);
        if (word != page + i || *n_left == 0)
            continue;
        --*n_left;
        if (hs_native_read_tcb(native, page + i, ret) && ret->stack_begin == begin)
            return true;
    }
    return false;
}

/* Finds the control block whose stack begins with `stack`, the mapping above a guard. */
static bool find_ended(const struct hs_native *native, const struct hs_mapping *stack,
                       struct hs_native_tcb *ret)
{
    hs_addr end = stack->end;
    unsigned n_left = EXTENT_TRIES;
    if (end - stack->begin > EXTENT_STACK_BYTES)
        end = stack->begin + EXTENT_STACK_BYTES;
    for (hs_addr at = stack->begin; at < end; at += EXTENT_PAGE) {
        hs_addr part = at + EXTENT_PART_BYTES < end ? at + EXTENT_PART_BYTES : end;
        if (at % EXTENT_PART_BYTES == 0 &&
            hs_image_resident_bytes(&native->dump->image, at, part) == 0) {
            at = part - EXTENT_PAGE;
            continue;
        }
        if (!find_in_page(native, at, stack->begin, &n_left, ret))
            continue;
        if (ret->stack_end > stack->end)
            ret->stack_end = stack->end;
        return !is_of_thread(native, ret->tcb);
    }
    return false;
}

/* Finds the offset of a member of struct pthread, as libthread_db is told of it: {bits, elements,
 * offset}. */
static bool member_of_tcb(const struct hs_native *native, const char *name, uint32_t *ret)
{
    uint32_t words[3];

    for (size_t i = 0; i < native->dump->objects.n; i++) {
        struct hs_elf *elf = native->dump->objects.objects[i].elf;
        const struct hs_elf_symbol *symbol = hs_elf_find(elf, name);
        const uint8_t *bytes =
            symbol != NULL ? hs_elf_bytes_at(elf, symbol->vaddr, sizeof words) : NULL;
        if (bytes == NULL)
            continue;
        memcpy(words, bytes, sizeof words);
        *ret = words[2];
        return words[2] >= TCB_SELF && words[2] < TCB_MAX_BYTES;
    }
    return false;
}

struct hs_thread_result hs_native_thread_result(const struct hs_native *native)
{
    struct hs_thread_result at = {0};
    uint32_t start, policy;

    /* joinid, result, { schedparam, schedpolicy }, start_routine */
    if (!member_of_tcb(native, "_thread_db_pthread_tid", &at.tid) ||
        !member_of_tcb(native, "_thread_db_pthread_start_routine", &start) ||
        !member_of_tcb(native, "_thread_db_pthread_schedpolicy", &policy) ||
        policy + sizeof policy != start || start % HS_WORD_BYTES != 0 || start < TCB_MIN_BYTES)
        return (struct hs_thread_result){0};
    at.result = start - 2 * HS_WORD_BYTES;
    at.joinid = start - 3 * HS_WORD_BYTES;
    return at;
}

bool hs_native_awaits_join(const struct hs_native *native, const struct hs_thread_result *at,
                           hs_addr tcb)
{
    uint64_t joinid;
    uint32_t tid;

    if (at->result == 0)
        return true;
    return hs_image_u32(&native->dump->image, tcb + at->tid, &tid) && tid == 0 &&
           hs_image_u64(&native->dump->image, tcb + at->joinid, &joinid) && joinid != tcb;
}

/* Tells whether a mapping is the guard below a stack. In the cores that gdb writes a guard may be
 * read. */
static bool is_guarded(const struct hs_target *target, const struct hs_mapping *guard,
                       const struct hs_mapping *stack)
{
    return guard->end == stack->begin && (!guard->readable || target->core != NULL) &&
           !guard->writable && guard->inode == 0;
}

bool hs_native_next_ended(const struct hs_native *native, size_t *at, struct hs_native_tcb *ret)
{
    const struct hs_target *target = &native->dump->target;
    for (size_t i = *at; i + 1 < target->n_mappings; i++) {
        const struct hs_mapping *guard = &target->mappings[i], *stack = guard + 1;
        if (!is_guarded(target, guard, stack) || !stack->writable || stack->shared ||
            stack->inode != 0 || is_claimed(native, stack->begin))
            continue;
        if (find_ended(native, stack, ret)) {
            *at = i + 1;
            return true;
        }
    }
    *at = target->n_mappings;
    return false;
}

struct loader_walk {
    struct hs_native *native;
    void (*visit)(void *context, hs_addr begin, hs_addr end);
    void *context;
};

static void visit_pages(const struct loader_walk *walk, hs_addr begin, hs_addr end)
{
    const struct hs_mapping *mapping = hs_target_mapping_at(&walk->native->dump->target, begin);
    if (mapping == NULL || mapping->inode != 0 || is_claimed(walk->native, begin))
        return;
    begin &= ~(EXTENT_PAGE - 1);
    end = (end + EXTENT_PAGE - 1) & ~(EXTENT_PAGE - 1);
    if (end > mapping->end)
        end = mapping->end;
    if (begin < end)
        walk->visit(walk->context, begin, end);
}

static void visit_link_map(void *context, hs_addr entry)
{
    visit_pages(context, entry, entry + EXTENT_LINK_MAP);
}

void hs_native_each_loader_range(struct hs_native *native,
                                 void (*visit)(void *context, hs_addr begin, hs_addr end),
                                 void *context)
{
    struct loader_walk walk = {native, visit, context};
    hs_native_each_link_map(native, visit_link_map, &walk);
    for (size_t i = 0; i < native->dump->target.n_threads; i++) {
        const struct hs_thread *thread = &native->dump->target.threads[i];
        struct hs_native_tcb tcb;
        if (thread->tid == native->dump->target.pid &&
            hs_native_read_tcb(native, hs_regs_thread_pointer(&thread->regs), &tcb))
            visit_pages(&walk, tcb.tls_begin, tcb.end);
    }
}
