#include "functions.h"

#include <string.h>

#include "base/bisect.h"
#include "base/cursor.h"
#include "base/load.h"
#include "process/constants.h"

enum {
    RECORD_BYTES = 44, /* of _func, without the tables behind it; 40 before 1.20 */
    RECORD_OLD_BYTES = 40,
    MINOR_OF_START_LINE = 20,
    FTAB_BYTES = 8,
    TABLE_WINDOW = 256, /* of a table by address that is read at first */
    TABLE_MAX = 1 << 16,
    NO_FUNCDATA = -1
};
/* symtab.go: PCDATA_InlTreeIndex, FUNCDATA_InlTree. */
enum {
    PCDATA_INLINED = 2,
    FUNCDATA_INLINED = 3,
    INLINED_BYTES = 16,
    INLINED_OLD_BYTES = 20,
    INLINED_OLD_NAME_AT = 12,
    INLINED_MAX = 64 /* calls within calls */
};

static size_t record_bytes(const struct hs_go_heap *heap)
{
    return heap->layout->minor < MINOR_OF_START_LINE ? RECORD_OLD_BYTES : RECORD_BYTES;
}

bool hs_go_function_at(const struct hs_go_heap *heap, hs_addr pc, struct hs_go_function *ret)
{
    const struct hs_go_module *m = &heap->module;
    size_t n_record = record_bytes(heap);

    if (pc < m->text || pc >= m->etext)
        return false;
    uint32_t offset = (uint32_t)(pc - m->text);
    size_t at = HS_FIRST_NOT(i, 0, m->n_functions, hs_load_u32(m->ftab + i * FTAB_BYTES) <= offset);
    if (at == 0)
        return false;
    const uint8_t *entry = m->ftab + (at - 1) * FTAB_BYTES;
    hs_addr record = m->pclntable + hs_load_u32(entry + sizeof(uint32_t));
    const uint8_t *bytes = hs_go_bytes(heap, record, n_record);
    if (bytes == NULL)
        return false;
    *ret = (struct hs_go_function){
        .entry = m->text + hs_load_u32(entry),
        .record = record,
        .name = (int32_t)hs_load_u32(bytes + 4),
        .pcsp = hs_load_u32(bytes + 16),
        .pcfile = hs_load_u32(bytes + 20),
        .pcln = hs_load_u32(bytes + 24),
        .n_pcdata = hs_load_u32(bytes + 28),
        .file_table = hs_load_u32(bytes + 32),
        .id = bytes[n_record - 4],
        .n_funcdata = bytes[n_record - 1],
    };
    return true;
}

bool hs_go_function_name(const struct hs_go_heap *heap, const struct hs_go_function *function,
                         char *text, size_t n)
{
    hs_addr at = heap->module.funcnametab + (uint64_t)(int64_t)function->name;

    return hs_constant_string(&heap->dump->image, &heap->dump->objects, at, text, n) &&
           text[0] != '\0';
}

/* Goes through a table of differences of values and of addresses until it passes pc. */
static bool table_value(const uint8_t *bytes, size_t n, hs_addr entry, hs_addr pc, bool *ret_ends,
                        int32_t *ret)
{
    struct hs_cursor c = hs_cursor_make(bytes, n);
    int64_t value = -1;
    hs_addr at = entry;

    *ret_ends = false;
    for (bool is_first = true;; is_first = false) {
        uint64_t step = hs_cursor_varint(&c);
        if (c.failed)
            return false;
        *ret_ends = step == 0 && !is_first;
        if (*ret_ends)
            return false;
        value = (int32_t)(value + (int64_t)(step >> 1 ^ -(step & 1)));
        at += hs_cursor_varint(&c);
        if (c.failed)
            return false;
        if (pc < at) {
            *ret = (int32_t)value;
            return true;
        }
    }
}

bool hs_go_pc_value(const struct hs_go_heap *heap, const struct hs_go_function *function,
                    uint32_t offset, hs_addr pc, int32_t *ret)
{
    const struct hs_go_module *m = &heap->module;
    uint64_t left = offset < m->n_pctab ? m->n_pctab - offset : 0;
    bool ends = offset == 0;

    for (size_t n = TABLE_WINDOW; !ends && left != 0 && n <= TABLE_MAX; n *= 4) {
        size_t n_there = n < left ? n : left;
        const uint8_t *bytes = hs_go_bytes(heap, m->pctab + offset, n_there);
        if (bytes == NULL)
            return false;
        if (table_value(bytes, n_there, function->entry, pc, &ends, ret))
            return true;
        if (n_there == left)
            return false;
    }
    return false;
}

uint32_t hs_go_pcdata(const struct hs_go_heap *heap, const struct hs_go_function *function,
                      uint32_t which)
{
    uint32_t offset = 0;
    hs_addr at = function->record + record_bytes(heap) + (uint64_t)which * sizeof offset;

    return which < function->n_pcdata && hs_go_u32(heap, at, &offset) ? offset : 0;
}

hs_addr hs_go_funcdata(const struct hs_go_heap *heap, const struct hs_go_function *function,
                       uint32_t which)
{
    uint32_t offset;
    hs_addr at = function->record + record_bytes(heap) +
                 ((uint64_t)function->n_pcdata + which) * sizeof offset;

    if (which >= function->n_funcdata || !hs_go_u32(heap, at, &offset) ||
        offset == (uint32_t)NO_FUNCDATA)
        return 0;
    return heap->module.gofunc + offset;
}

/* Finds the call that was inlined at an instruction, in the tree of such calls {id, name, address
 * in the caller}: symtab.go, inlinedCall; symtabinl.go since 1.20. `ret` is the function with the
 * name of the inlined one, and the address becomes that of the call. False: there is none. */
static bool inlined_at(const struct hs_go_heap *heap, const struct hs_go_function *function,
                       hs_addr *pc, struct hs_go_function *ret)
{
    bool is_old = heap->layout->minor < MINOR_OF_START_LINE;
    uint64_t n_bytes = is_old ? INLINED_OLD_BYTES : INLINED_BYTES;
    hs_addr tree = hs_go_funcdata(heap, function, FUNCDATA_INLINED);
    uint32_t table = hs_go_pcdata(heap, function, PCDATA_INLINED);
    int32_t number;

    if (tree == 0 || table == 0 || !hs_go_pc_value(heap, function, table, *pc, &number) ||
        number < 0)
        return false;
    const uint8_t *call = hs_go_bytes(heap, tree + (uint32_t)number * n_bytes, n_bytes);
    if (call == NULL)
        return false;
    *ret = *function;
    ret->name = (int32_t)hs_load_u32(call + (is_old ? INLINED_OLD_NAME_AT : 4));
    *pc = function->entry + hs_load_u32(call + (is_old ? INLINED_OLD_NAME_AT : 4) + 4);
    return true;
}

bool hs_go_inlined_name(const struct hs_go_heap *heap, const struct hs_go_function *function,
                        hs_addr pc, char *text, size_t n)
{
    struct hs_go_function inlined;
    bool is_found = false;

    for (unsigned i = 0; i < INLINED_MAX && inlined_at(heap, function, &pc, &inlined); i++)
        is_found = true;
    return is_found && hs_go_function_name(heap, &inlined, text, n);
}

bool hs_go_step_out(const struct hs_go_heap *heap, const struct hs_go_function *function,
                    hs_addr *pc)
{
    struct hs_go_function inlined;

    return inlined_at(heap, function, pc, &inlined);
}

bool hs_go_innermost_name(const struct hs_go_heap *heap, const struct hs_go_function *function,
                          hs_addr pc, char *text, size_t n)
{
    struct hs_go_function inlined;

    return hs_go_function_name(
        heap, inlined_at(heap, function, &pc, &inlined) ? &inlined : function, text, n);
}

bool hs_go_line(const struct hs_go_heap *heap, const struct hs_go_function *function, hs_addr pc,
                char *file, size_t n, uint32_t *ret_line)
{
    const struct hs_go_module *m = &heap->module;
    int32_t number, line;
    uint32_t offset;

    if (!hs_go_pc_value(heap, function, function->pcfile, pc, &number) || number < 0 ||
        !hs_go_pc_value(heap, function, function->pcln, pc, &line) || line <= 0 ||
        !hs_go_u32(heap,
                   m->cutab + ((uint64_t)function->file_table + (uint32_t)number) * sizeof offset,
                   &offset) ||
        !hs_constant_string(&heap->dump->image, &heap->dump->objects, m->filetab + offset, file, n))
        return false;
    *ret_line = (uint32_t)line;
    return true;
}
