/* Three short sequences in the target's own code. The bytes are sought, not symbols: they need not
 * be whole instructions of the program, only be there to be executed. */
#include <string.h>

#include "arch/calls.h"
#include "base/alloc.h"
#include "copy_private.h"

#define CODE_PART_BYTES ((size_t)1 << 20)
#define CODE_OVERLAP_BYTES ((size_t)16)
#define CODE_MAPPING_BYTES_MAX ((hs_addr)256 << 20)
#define CODE_SEARCH_BYTES_MAX ((uint64_t)512 << 20)

static hs_addr *code_member(struct hs_copy_code *code, enum hs_code_purpose purpose)
{
    return purpose == HS_CODE_CALL        ? &code->call
           : purpose == HS_CODE_SIGRETURN ? &code->sigreturn
                                          : &code->leave;
}

bool hs_copy_code_is_whole(const struct hs_copy_code *code)
{
    return code->call != 0 && code->sigreturn != 0 && code->leave != 0;
}

void hs_copy_code_search(struct hs_copy_code *code, const uint8_t *bytes, size_t n_bytes,
                         hs_addr address)
{
    for (size_t i = 0; i < hs_n_code_sequences; i++) {
        const struct hs_code_sequence *sought = &hs_code_sequences[i];
        const uint8_t *found;
        hs_addr *member = code_member(code, sought->purpose);
        if (*member != 0)
            continue;
        found = memmem(bytes, n_bytes, sought->bytes, sought->n_bytes);
        if (found != NULL)
            *member = address + (hs_addr)(found - bytes);
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

    HS_TRY(HS_ALLOC(&part, CODE_PART_BYTES, err));
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

static bool code_stands(const struct hs_target *target, const struct hs_code_sequence *sought,
                        hs_addr address)
{
    const struct hs_mapping *m = hs_target_mapping_at(target, address);
    struct hs_memory memory = target->live;
    uint8_t bytes[sizeof sought->bytes];

    return m != NULL && code_may_hold(target, m) && m->end - address >= sought->n_bytes &&
           hs_memory_read(&memory, address, bytes, sought->n_bytes) == sought->n_bytes &&
           memcmp(bytes, sought->bytes, sought->n_bytes) == 0;
}

bool hs_copy_code_stands(const struct hs_target *target, const struct hs_copy_code *code)
{
    struct hs_copy_code seen = *code;
    unsigned standing = 0;

    for (size_t i = 0; i < hs_n_code_sequences; i++) {
        const struct hs_code_sequence *sought = &hs_code_sequences[i];
        if (code_stands(target, sought, *code_member(&seen, sought->purpose)))
            standing |= 1U << sought->purpose;
    }
    return standing == (1U << HS_CODE_CALL | 1U << HS_CODE_SIGRETURN | 1U << HS_CODE_LEAVE);
}
