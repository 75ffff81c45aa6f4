#include "record_hook.h"

#include <string.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

#define PAGE_BYTES UINT64_C(4096)
#define STEP_BYTES (UINT64_C(64) << 10)
#define N_STEPS 16384U /* a GiB: within what a jump reaches */
#define FIRST_ADDRESS (UINT64_C(64) << 10)
#define INSTRUCTION_BYTES 8U /* at most, of those that are known */
#define READ_BYTES 24U
#define FAR_JUMP_BYTES 14U

/* Returns the bytes of an instruction between registers; 0: another one. */
static unsigned length_of(const uint8_t *at)
{
    bool is_wide = (at[0] & 0xF8) == 0x48; /* REX.W */

    if ((at[0] & 0xF8) == 0x50)
        return 1; /* push */
    if (at[0] == 0x41 && (at[1] & 0xF8) == 0x50)
        return 2; /* push of r8 and on */
    if (is_wide && (at[1] == 0x89 || at[1] == 0x8B || at[1] == 0xD1) && at[2] >= 0xC0)
        return 3; /* mov and shifts by one */
    if (is_wide && at[1] == 0x83 && at[2] >= 0xC0)
        return 4; /* sub $n, %rsp and its kin */
    if (is_wide && at[1] == 0x81 && at[2] >= 0xC0)
        return 7;
    return 0;
}

/* Returns the bytes of an instruction that names a variable by its distance; 0: another one.
 * *ret_distance: where that stands. */
static unsigned length_with_distance(const uint8_t *at, unsigned *ret_distance)
{
    unsigned prefix = (at[0] & 0xF0) == 0x40 ? 1 : 0; /* REX */
    uint8_t code = at[prefix];
    bool is_short = code == 0x83; /* cmp $n, and its kin: a byte behind the distance */

    if ((at[prefix + 1] & 0xC7) != 0x05 ||
        (!is_short && code != 0x8B && code != 0x89 && code != 0x8D && code != 0x3B && code != 0x85))
        return 0;
    *ret_distance = prefix + 2;
    return prefix + 6 + is_short;
}

bool hs_record_hook_read(const uint8_t *code, unsigned n_bytes, struct hs_record_beginning *ret)
{
    static const uint8_t pad[] = {0xF3, 0x0F, 0x1E, 0xFA}; /* endbr64 */
    struct hs_record_beginning begin = {0};

    if (n_bytes >= sizeof pad && memcmp(code, pad, sizeof pad) == 0)
        begin.skipped = sizeof pad;
    code += begin.skipped;
    n_bytes -= begin.skipped;
    while (begin.n < HS_RECORD_HOOK_BYTES) {
        unsigned each = 0, distance = 0;

        if (begin.n + INSTRUCTION_BYTES <= n_bytes)
            each = length_of(code + begin.n);
        if (each == 0 && begin.n + INSTRUCTION_BYTES <= n_bytes && begin.distance == 0) {
            each = length_with_distance(code + begin.n, &distance);
            begin.distance = begin.n + distance;
            begin.end = begin.n + each;
        }
        if (each == 0)
            return false;
        begin.n += each;
    }
    *ret = begin;
    return true;
}

/* Maps a page that the function can jump to: below it, where there is mostly room, or above. */
static uint8_t *map_near(uint64_t function)
{
    uint64_t at = function & ~(STEP_BYTES - 1);

    for (unsigned i = 0; i < 2 * N_STEPS; i++) {
        uint64_t distance = (i % N_STEPS + 1) * STEP_BYTES;
        uint64_t address = i < N_STEPS ? at - distance : at + distance;
        void *page;

        if (i < N_STEPS && (distance >= at || address < FIRST_ADDRESS))
            continue;
        page = mmap((void *)(uintptr_t)address, PAGE_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if ((uint64_t)(uintptr_t)page == address)
            return page;
        if (page != MAP_FAILED)
            (void)munmap(page, PAGE_BYTES); /* an old kernel, which takes it for a wish */
    }
    return NULL;
}

/* Writes a jump to anywhere: the address stands behind it. */
static unsigned put_far_jump(uint8_t *at, uint64_t to)
{
    static const uint8_t jump[] = {0xFF, 0x25, 0, 0, 0, 0};

    _Static_assert(sizeof jump + sizeof to == FAR_JUMP_BYTES, "both stand there");
    memcpy(at, jump, sizeof jump);
    memcpy(at + sizeof jump, &to, sizeof to);
    return FAR_JUMP_BYTES;
}

static bool write_code(uint8_t *at, const uint8_t *bytes, size_t n_bytes)
{
    uint64_t first = (uint64_t)(uintptr_t)at & ~(PAGE_BYTES - 1);
    uint64_t end = ((uint64_t)(uintptr_t)at + n_bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    void *page = (void *)(uintptr_t)first;

    if (mprotect(page, end - first, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return false;
    memcpy(at, bytes, n_bytes);
    (void)mprotect(page, end - first, PROT_READ | PROT_EXEC);
    return true;
}

/* Moves the beginning: the variable of its distance stays where it is. */
static bool move(const struct hs_record_beginning *begin, const uint8_t *code, uint8_t *to)
{
    int32_t old;
    int64_t distance;

    memcpy(to, code, begin->n);
    if (begin->distance == 0)
        return true;
    memcpy(&old, code + begin->distance, sizeof old);
    distance = old + (code - to);
    old = (int32_t)distance;
    memcpy(to + begin->distance, &old, sizeof old);
    return distance == old;
}

bool hs_record_hook(void *function, void (*to)(void), void **ret_rest)
{
    uint8_t *code = function, jump[HS_RECORD_HOOK_BYTES] = {0xE9}, *page, *rest;
    struct hs_record_beginning begin;
    int32_t distance;

    _Static_assert(2 * FAR_JUMP_BYTES + READ_BYTES <= HS_RECORD_MOVED_BYTES, "both have room");
    if (!hs_record_hook_read(code, READ_BYTES, &begin) ||
        (page = map_near((uint64_t)(uintptr_t)code)) == NULL)
        return false;
    code += begin.skipped;
    rest = page + FAR_JUMP_BYTES;
    (void)put_far_jump(page, (uint64_t)(uintptr_t)to);
    (void)put_far_jump(rest + begin.n, (uint64_t)(uintptr_t)code + begin.n);
    distance = (int32_t)(page - (code + sizeof jump));
    memcpy(jump + 1, &distance, sizeof distance);
    if (move(&begin, code, rest) && mprotect(page, PAGE_BYTES, PROT_READ | PROT_EXEC) == 0 &&
        write_code(code, jump, sizeof jump)) {
        *ret_rest = rest;
        return true;
    }
    (void)munmap(page, PAGE_BYTES);
    return false;
}
