/* Three short sequences in the target's own code. The bytes are sought, not symbols: they need not
 * be whole instructions of the program, only be there to be executed. */
#include <string.h>

#include "base/alloc.h"
#include "copy_private.h"

#define CODE_PART_BYTES ((size_t)1 << 20)
#define CODE_OVERLAP_BYTES ((size_t)16)
#define CODE_MAPPING_BYTES_MAX ((hs_addr)256 << 20)
#define CODE_SEARCH_BYTES_MAX ((uint64_t)512 << 20)

/* syscall; ret */
static const uint8_t code_call[] = {0x0f, 0x05, 0xc3};
/* mov $15, %rax; syscall: how libraries return from handlers, and debuggers know it */
static const uint8_t code_sigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
/* mov $231, %eax; syscall (exit_group), mov $60, %eax; syscall (exit) */
static const uint8_t code_leave_group[] = {0xb8, 0xe7, 0, 0, 0, 0x0f, 0x05};
static const uint8_t code_leave[] = {0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05};

struct code_sought {
    const uint8_t *bytes;
    size_t n;
    size_t to; /* member of struct hs_copy_code */
};

static const struct code_sought code_sought[] = {
    {code_call, sizeof code_call, offsetof(struct hs_copy_code, call)},
    {code_sigreturn, sizeof code_sigreturn, offsetof(struct hs_copy_code, sigreturn)},
    {code_leave_group, sizeof code_leave_group, offsetof(struct hs_copy_code, leave)},
    {code_leave, sizeof code_leave, offsetof(struct hs_copy_code, leave)},
};
enum { CODE_N_SOUGHT = sizeof code_sought / sizeof *code_sought };

static hs_addr *code_member(struct hs_copy_code *code, const struct code_sought *sought)
{
    return (hs_addr *)((char *)code + sought->to);
}

bool hs_copy_code_is_whole(const struct hs_copy_code *code)
{
    return code->call != 0 && code->sigreturn != 0 && code->leave != 0;
}

void hs_copy_code_search(struct hs_copy_code *code, const uint8_t *bytes, size_t n_bytes,
                         hs_addr address)
{
    for (size_t i = 0; i < CODE_N_SOUGHT; i++) {
        const struct code_sought *sought = &code_sought[i];
        const uint8_t *found;
        if (*code_member(code, sought) != 0)
            continue;
        found = memmem(bytes, n_bytes, sought->bytes, sought->n);
        if (found != NULL)
            *code_member(code, sought) = address + (hs_addr)(found - bytes);
    }
}

/* Nobody but the program itself may change what will be executed. */
static bool code_may_hold(const struct hs_target *target, const struct hs_mapping *m)
{
    const char *path = hs_mapping_path(target, m);

    return m->executable && m->readable && !m->writable && !m->shared && path[0] != '[' &&
           m->end - m->begin <= CODE_MAPPING_BYTES_MAX;
}

static void code_search_mapping(const struct hs_target *target, const struct hs_mapping *m,
                                struct hs_copy_code *code, uint8_t *part)
{
    struct hs_memory memory = target->live;

    for (hs_addr at = m->begin; at < m->end && !hs_copy_code_is_whole(code);) {
        size_t n = m->end - at < CODE_PART_BYTES ? m->end - at : CODE_PART_BYTES;
        ssize_t got = hs_memory_read(&memory, at, part, n);
        if (got <= 0)
            return;
        hs_copy_code_search(code, part, (size_t)got, at);
        if ((size_t)got <= CODE_OVERLAP_BYTES || at + (size_t)got >= m->end)
            return;
        at += (size_t)got - CODE_OVERLAP_BYTES;
    }
}

/* The C library first: all three are in it, as a rule. */
static bool code_is_likely(const struct hs_target *target, const struct hs_mapping *m)
{
    const char *path = hs_mapping_path(target, m);

    return strstr(path, "/libc") != NULL || strstr(path, "/ld-") != NULL;
}

hs_status hs_copy_code_find(const struct hs_target *target, struct hs_copy_code *ret,
                            struct hs_error *err)
{
    struct hs_copy_code code = {0};
    hs_auto_free uint8_t *part = NULL;
    uint64_t n_searched = 0;
    void *memory;

    HS_TRY(hs_alloc(CODE_PART_BYTES, 1, &memory, err));
    part = memory;
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < target->n_mappings; i++) {
            const struct hs_mapping *m = &target->mappings[i];
            if (!code_may_hold(target, m) || code_is_likely(target, m) != (round == 0) ||
                n_searched > CODE_SEARCH_BYTES_MAX || hs_copy_code_is_whole(&code))
                continue;
            code_search_mapping(target, m, &code, part);
            n_searched += m->end - m->begin;
        }
    *ret = code;
    return HS_OK;
}

static bool code_stands(const struct hs_target *target, const struct code_sought *sought,
                        hs_addr address)
{
    const struct hs_mapping *m = hs_target_mapping_at(target, address);
    struct hs_memory memory = target->live;
    uint8_t bytes[CODE_OVERLAP_BYTES];

    return m != NULL && code_may_hold(target, m) && m->end - address >= sought->n &&
           hs_memory_read(&memory, address, bytes, sought->n) == (ssize_t)sought->n &&
           memcmp(bytes, sought->bytes, sought->n) == 0;
}

bool hs_copy_code_stands(const struct hs_target *target, const struct hs_copy_code *code)
{
    return code_stands(target, &code_sought[0], code->call) &&
           code_stands(target, &code_sought[1], code->sigreturn) &&
           (code_stands(target, &code_sought[2], code->leave) ||
            code_stands(target, &code_sought[3], code->leave));
}
