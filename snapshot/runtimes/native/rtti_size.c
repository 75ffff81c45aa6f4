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

enum { SLOTS = 8, CODE_BYTES = 512, MAX_CALLS = 32, STUB_BYTES = 16, WORD = 8 };

static const char sized_delete[] = "_ZdlPvm";

struct code {
    const struct hs_native *native;
    const struct hs_object *object;
    hs_addr vaddr;
};

static bool is_delete(const struct code *code, hs_addr address)
{
    struct hs_live_symbol symbol;

    return hs_objects_at(&code->native->dump->objects, address, &symbol) &&
           symbol.address == address && strcmp(symbol.name, sized_delete) == 0;
}

/* Tells whether the word at `vaddr` has the address of operator delete, as the loader put it there,
 * or will at the first call: until then it leads back into the stub. */
static bool is_delete_at(const struct code *code, hs_addr vaddr)
{
    const struct hs_dump *dump = code->native->dump;
    uint64_t word;

    if (hs_constant_u64(&dump->image, &dump->objects, vaddr + code->object->bias, &word) &&
        is_delete(code, word))
        return true;
    const char *name = hs_elf_imported_at(code->object->elf, vaddr);
    return name != NULL && strcmp(name, sized_delete) == 0;
}

/* Tells whether an operand calls operator delete itself, or a stub that jumps through such a word.
 */
static bool calls_delete(const struct code *code, const struct hs_operand *operand)
{
    hs_addr bias = code->object->bias;
    uint8_t stub[STUB_BYTES];
    struct hs_operand through;

    if (operand->kind == HS_OPERAND_CALL_THROUGH)
        return is_delete_at(code, operand->target);
    if (operand->kind != HS_OPERAND_CALL && operand->kind != HS_OPERAND_JUMP)
        return false;
    if (is_delete(code, operand->target + bias))
        return true;
    size_t n = hs_elf_copy_at(code->object->elf, operand->target, stub, sizeof stub);
    struct hs_harvest found = hs_operands_harvest(stub, n, operand->target, &through, 1);
    return found.n_operands == 1 && through.kind == HS_OPERAND_CALL_THROUGH &&
           is_delete_at(code, through.target);
}

static void add_size(struct hs_deleted_sizes *sizes, uint64_t n_bytes)
{
    if (n_bytes < WORD || n_bytes > UINT32_MAX)
        return;
    for (size_t i = 0; i < sizes->n; i++)
        if (sizes->bytes[i] == n_bytes)
            return;
    if (sizes->n == HS_DELETED_SIZES)
        sizes->are_more = true;
    else
        sizes->bytes[sizes->n++] = (uint32_t)n_bytes;
}

/* Adds the sizes that a function deletes; it ends at `end` at the most, where another one begins.
 */
static void in_function(struct code *code, hs_addr end, struct hs_deleted_sizes *ret)
{
    struct hs_constant_call calls[MAX_CALLS];
    uint8_t bytes[CODE_BYTES];
    size_t n_most = end - code->vaddr < CODE_BYTES ? (size_t)(end - code->vaddr) : CODE_BYTES;
    size_t n_bytes = hs_elf_copy_at(code->object->elf, code->vaddr, bytes, n_most);
    size_t n = hs_operands_constant_calls(bytes, n_bytes, code->vaddr, calls, MAX_CALLS);

    for (size_t i = 0; i < n; i++)
        if (calls_delete(code, &calls[i].to))
            add_size(ret, calls[i].second);
}

/* Returns the object whose code is at an address; NULL: there is none. */
static const struct hs_object *code_at(const struct hs_native *native, hs_addr address)
{
    const struct hs_object *object = hs_objects_object_at(&native->dump->objects, address);
    const struct hs_elf_segment *segment =
        object == NULL ? NULL : hs_elf_segment_at(object->elf, address - object->bias);
    return segment != NULL && segment->executable ? object : NULL;
}

void hs_rtti_deleted_sizes(const struct hs_native *native, hs_addr table,
                           struct hs_deleted_sizes *ret)
{
    const struct hs_dump *dump = native->dump;
    uint64_t functions[SLOTS];
    size_t n = 0;

    *ret = (struct hs_deleted_sizes){0};
    while (n < SLOTS &&
           hs_constant_u64(&dump->image, &dump->objects, table + n * WORD, &functions[n]) &&
           code_at(native, functions[n]) != NULL)
        n++;
    for (size_t i = 0; i < n; i++) {
        struct code code = {.native = native, .object = code_at(native, functions[i])};
        hs_addr end = UINT64_MAX;
        code.vaddr = functions[i] - code.object->bias;
        for (size_t j = 0; j < n; j++)
            if (functions[j] > functions[i] && functions[j] - code.object->bias < end)
                end = functions[j] - code.object->bias;
        in_function(&code, end, ret);
    }
}
