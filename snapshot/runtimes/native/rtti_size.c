/* The size of a class by the code that deletes its objects.
 *
 * A virtual destructor is followed in the table by one that gives the memory back, too (Itanium C++
 * ABI 2.5.2 and 5.2.4), since C++14 with the size as the second argument:
 *
 *   mov $0x40, %esi ... jmp operator delete(void *, unsigned long)
 *
 * Other functions of a class may delete other objects, so what is found are candidates. */
#include <string.h>

#include "arch/operands.h"
#include "base/load.h"
#include "flow.h"
#include "process/constants.h"

enum { SLOTS = 8, CODE_BYTES = 512, MAX_OPERANDS = 96, STUB_BYTES = 16, WORD = 8 };
enum { MOVE_ESI = 0xbe, MOVE_BYTES = 5, BEFORE_BYTES = 24 };

static const char sized_delete[] = "_ZdlPvm";

struct code {
    const struct hs_native *native;
    const struct hs_object *object;
    hs_addr vaddr;
    uint8_t bytes[CODE_BYTES];
    size_t n_bytes;
};

static bool is_delete(const struct code *code, hs_addr address)
{
    struct hs_live_symbol symbol;

    return hs_objects_at(&code->native->dump->objects, address, &symbol) &&
           symbol.address == address && strcmp(symbol.name, sized_delete) == 0;
}

/* The function whose address the word at `at` has, as the loader put it there. */
static bool is_delete_at(const struct code *code, hs_addr at)
{
    const struct hs_dump *dump = code->native->dump;
    uint64_t word;

    return hs_constant_u64(&dump->image, &dump->objects, at, &word) && is_delete(code, word);
}

/* The function itself, or a stub that jumps through such a word. */
static bool calls_delete(const struct code *code, const struct hs_operand *operand)
{
    hs_addr bias = code->object->bias;
    uint8_t stub[STUB_BYTES];
    struct hs_operand through;

    if (operand->kind == HS_OPERAND_CALL_THROUGH)
        return is_delete_at(code, operand->target + bias);
    if (operand->kind != HS_OPERAND_CALL && operand->kind != HS_OPERAND_JUMP)
        return false;
    if (is_delete(code, operand->target + bias))
        return true;
    size_t n = hs_elf_copy_at(code->object->elf, operand->target, stub, sizeof stub);
    struct hs_harvest found = hs_operands_harvest(stub, n, operand->target, &through, 1);
    return found.n_operands == 1 && through.kind == HS_OPERAND_CALL_THROUGH &&
           is_delete_at(code, through.target + bias);
}

/* What was put into the second argument last before the instruction at `at`; 0: nothing. */
static uint64_t second_argument(const struct code *code, size_t at)
{
    size_t least = at > BEFORE_BYTES ? at - BEFORE_BYTES : 0;

    for (size_t i = at; i >= least + MOVE_BYTES; i--)
        if (code->bytes[i - MOVE_BYTES] == MOVE_ESI)
            return hs_load_u32(code->bytes + i - MOVE_BYTES + 1);
    return 0;
}

static void add_size(struct hs_deleted_sizes *sizes, uint64_t n_bytes)
{
    if (n_bytes < WORD || n_bytes > UINT32_MAX || sizes->n == HS_DELETED_SIZES)
        return;
    for (size_t i = 0; i < sizes->n; i++)
        if (sizes->bytes[i] == n_bytes)
            return;
    sizes->bytes[sizes->n++] = (uint32_t)n_bytes;
}

static void in_function(const struct hs_native *native, hs_addr address,
                        struct hs_deleted_sizes *ret)
{
    struct hs_operand operands[MAX_OPERANDS];
    struct code code = {.native = native,
                        .object = hs_objects_object_at(&native->dump->objects, address)};

    if (code.object == NULL)
        return;
    code.vaddr = address - code.object->bias;
    code.n_bytes = hs_elf_copy_at(code.object->elf, code.vaddr, code.bytes, sizeof code.bytes);
    struct hs_harvest found =
        hs_operands_harvest(code.bytes, code.n_bytes, code.vaddr, operands, MAX_OPERANDS);
    for (size_t i = 0; i < found.n_operands; i++) {
        uint64_t n_bytes = second_argument(&code, (size_t)(operands[i].insn - code.vaddr));
        if (n_bytes != 0 && calls_delete(&code, &operands[i]))
            add_size(ret, n_bytes);
    }
}

void hs_rtti_deleted_sizes(const struct hs_native *native, hs_addr table,
                           struct hs_deleted_sizes *ret)
{
    const struct hs_dump *dump = native->dump;
    uint64_t function;

    *ret = (struct hs_deleted_sizes){0};
    for (unsigned i = 0; i < SLOTS; i++)
        if (hs_constant_u64(&dump->image, &dump->objects, table + i * WORD, &function))
            in_function(native, function, ret);
}
