/* The buffers of open files: bytes that were read or written, and below them what the memory held
 * before. Words in there are pointers by accident.
 *
 *   _IO_list_all -> FILE | flags, magic | ... | +0x38 buffer begin, end | ... | +0x68 next FILE
 *
 * fopen has one block for a FILE and for what wide characters need, of which it writes little.
 *
 * Source: glibc, libio/bits/types/struct_FILE.h, which has not changed its layout since 2.1;
 * libio/iofopen.c. */
#include <string.h>

#include "flow.h"

enum {
    STDIO_BUFFER_AT = 0x38,
    STDIO_END_AT = 0x40,
    STDIO_NEXT_AT = 0x68,
    STDIO_CODECVT_AT = 0x98, /* from here on: what only wide characters need */
    STDIO_MODE_AT = 0xc0,    /* 32 bits, above 0: of wide characters */
    STDIO_FOPEN_BYTES = 0x1d8,
    STDIO_ROUNDED_BYTES = 32,
    STDIO_MAX_FILES = 1 << 20, /* so that any list ends */
};
#define STDIO_MAGIC UINT64_C(0xfbad0000)
#define STDIO_MAGIC_MASK UINT64_C(0xffff0000)

/* Notes that the part of fopen's block for wide characters, the last, is not in use. */
static hs_status stdio_no_wide(const struct hs_native *native, struct hs_flow *flow, hs_addr file,
                               struct hs_error *err)
{
    const struct hs_native_use use = {.end = STDIO_CODECVT_AT, .is_said = true};
    struct hs_heap_block block;
    uint32_t mode;

    if (!hs_image_u32(&native->dump->image, file + STDIO_MODE_AT, &mode) ||
        (mode != 0 && mode <= INT32_MAX) ||
        hs_flow_resolve(native, file, &block) != HS_POINTER_START ||
        block.n_bytes - STDIO_FOPEN_BYTES >= STDIO_ROUNDED_BYTES)
        return HS_OK;
    return hs_native_reserves_say(&flow->reserves, block.rank, block.n_bytes, use, 1, err);
}

static hs_status stdio_file(const struct hs_native *native, struct hs_flow *flow, hs_addr file,
                            struct hs_error *err)
{
    const struct hs_image *image = &native->dump->image;
    struct hs_heap_block block;
    uint64_t begin, end;
    hs_ntype type;

    if (!hs_image_u64(image, file + STDIO_BUFFER_AT, &begin) ||
        !hs_image_u64(image, file + STDIO_END_AT, &end) || begin >= end ||
        hs_flow_resolve(native, begin, &block) != HS_POINTER_START || end - begin > block.n_bytes ||
        hs_flow_type(flow, block.rank) != 0 || (block.span->states & HS_BLOCK_MAPPING) != 0)
        return HS_OK;
    HS_TRY(hs_native_types_of_plain(&flow->types, "buffer of a FILE", &type, err));
    hs_flow_set_type(flow, block.rank, type);
    flow->n_typed++;
    return HS_OK;
}

static bool stdio_is_rusts(const char *symbol)
{
    return strcmp(symbol, "std::io::stdio::STDOUT") == 0 ||
           strcmp(symbol, "std::io::stdio::stdin::INSTANCE") == 0;
}

/* Names the buffers of Rust's standard library, which most programs have without debug information:
 * all that these variables have on the heap is their buffer (std/src/io/stdio.rs). */
static hs_status stdio_rust(const struct hs_native *native, struct hs_flow *flow,
                            struct hs_error *err)
{
    struct hs_heap_block block;
    hs_ntype type;

    for (size_t i = 0; i < native->roots.n_leaves; i++) {
        const struct hs_root *root = &native->roots.leaves[i].root;
        if (root->kind != HS_ROOT_GLOBAL || root->symbol == 0 ||
            !stdio_is_rusts(hs_strtab_get(&native->dump->strings, root->symbol)) ||
            hs_flow_resolve(native, native->roots.leaves[i].target, &block) != HS_POINTER_START ||
            hs_flow_type(flow, block.rank) != 0 || (block.span->states & HS_BLOCK_MAPPING) != 0)
            continue;
        HS_TRY(hs_native_types_of_plain(&flow->types, "buffer of standard streams", &type, err));
        hs_flow_set_type(flow, block.rank, type);
        flow->n_typed++;
    }
    return HS_OK;
}

typedef hs_status stdio_visit(const struct hs_native *native, struct hs_flow *flow, hs_addr file,
                              struct hs_error *err);

/* Visits the open files of all copies of the library. */
static hs_status stdio_each(const struct hs_native *native, struct hs_flow *flow,
                            stdio_visit *visit, struct hs_error *err)
{
    const struct hs_image *image = &native->dump->image;

    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_object *object = &native->dump->objects.objects[i];
        const struct hs_elf_symbol *list = hs_elf_find(object->elf, "_IO_list_all");
        uint64_t file, flags;
        if (list == NULL || list->kind != HS_SYMBOL_DATA ||
            !hs_image_u64(image, list->vaddr + object->bias, &file))
            continue;
        for (unsigned n = 0;
             n < STDIO_MAX_FILES && file != 0 && hs_image_u64(image, file, &flags) &&
             (flags & STDIO_MAGIC_MASK) == STDIO_MAGIC;
             n++) {
            HS_TRY(visit(native, flow, file, err));
            if (!hs_image_u64(image, file + STDIO_NEXT_AT, &file))
                break;
        }
    }
    return HS_OK;
}

hs_status hs_native_stdio(const struct hs_native *native, struct hs_flow *flow,
                          struct hs_error *err)
{
    HS_TRY(stdio_rust(native, flow, err));
    return stdio_each(native, flow, stdio_file, err);
}

hs_status hs_native_stdio_unused(const struct hs_native *native, struct hs_flow *flow,
                                 struct hs_error *err)
{
    return stdio_each(native, flow, stdio_no_wide, err);
}
