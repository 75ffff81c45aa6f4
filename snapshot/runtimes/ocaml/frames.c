/* Collects the frame tables: caml_frametable[] of the program, and every caml*frametable of the
 * mapped plugins (their symbols survive strip; the runtime's own list of them is static). */
#include <string.h>

#include "roots.h"
#include "symbols/elf.h"

enum { MAX_TABLES = 1 << 20, MIN_DESCRIPTOR_BYTES = 16 };

/* Adds a table. Descriptors of a sound program lie side by side in its files: more of them than fit
 * there come from tables laid over each other. *ret_any is false then, and that is noted once. */
static hs_status add_table(struct hs_ocaml *rt, struct hs_frame_table *frames, hs_addr table,
                           bool *ret_any, struct hs_error *err)
{
    uint64_t n_bytes = 0;
    for (size_t i = 0; i < rt->objects->n; i++)
        n_bytes += rt->objects->objects[i].end - rt->objects->objects[i].begin;
    *ret_any = frames->n_entries <= n_bytes / MIN_DESCRIPTOR_BYTES;
    if (!*ret_any)
        return hs_findings_note(&rt->findings, true, err,
                                "frame tables overlap: not all were read");
    return hs_frame_table_add(frames, rt->image, table, err);
}

static hs_status add_linked(struct hs_ocaml *rt, struct hs_frame_table *frames,
                            struct hs_error *err)
{
    struct hs_live_symbol symbol;
    uint64_t table;
    if (rt->is_bytecode)
        return HS_OK; /* its interpreter has a stack of its own */
    if (!hs_objects_find(rt->objects, "caml_frametable", &symbol))
        return hs_findings_note(&rt->findings, true, err,
                                "stacks cannot be walked: no symbol caml_frametable");
    bool more = true;
    for (uint64_t i = 0; more && i < MAX_TABLES; i++) {
        if (!hs_image_u64(rt->image, symbol.address + i * HS_WORD, &table) || table == 0)
            return HS_OK;
        HS_TRY(add_table(rt, frames, table, &more, err));
    }
    return HS_OK;
}

static bool is_frame_table(const char *name)
{
    static const char suffix[] = "frametable";
    size_t n = strlen(name);
    return strncmp(name, "caml", 4) == 0 && n > sizeof suffix + 4 &&
           strcmp(name + n - (sizeof suffix - 1), suffix) == 0;
}

static hs_status add_plugin(struct hs_ocaml *rt, const struct hs_object *object,
                            struct hs_frame_table *frames, struct hs_error *err)
{
    size_t n_symbols;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(object->elf, &n_symbols);
    bool more = true;
    for (size_t i = 0; more && i < n_symbols; i++) {
        if (is_frame_table(symbols[i].name))
            HS_TRY(add_table(rt, frames, symbols[i].vaddr + object->bias, &more, err));
    }
    return HS_OK;
}

hs_status hs_ocaml_load_frames(struct hs_ocaml *rt, struct hs_frame_table *frames,
                               struct hs_error *err)
{
    HS_TRY(add_linked(rt, frames, err));
    for (size_t i = 0; i < rt->objects->n; i++) {
        if (!rt->objects->objects[i].is_executable)
            HS_TRY(add_plugin(rt, &rt->objects->objects[i], frames, err));
    }
    return hs_frame_table_seal(frames, err);
}
