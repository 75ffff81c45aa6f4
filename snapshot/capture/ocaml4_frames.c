/* Collects the frame tables: caml_frametable[] of the program, and every caml*frametable of the
 * mapped plugins (their symbols survive strip; the runtime's own list of them is static). */
#include <string.h>

#include "ocaml4_roots.h"
#include "symbols/elf.h"

enum { MAX_TABLES = 1 << 20 };

static hs_status add_linked(struct hs_ocaml4 *rt, struct hs_frame_table *frames,
                            struct hs_error *err)
{
    struct hs_live_symbol symbol;
    uint64_t table;
    if (!hs_objects_find(rt->objects, "caml_frametable", &symbol))
        return hs_ocaml4_note(rt, true, err, "stacks cannot be walked: no symbol caml_frametable");
    for (uint64_t i = 0; i < MAX_TABLES; i++) {
        if (!hs_image_u64(rt->image, symbol.address + i * HS_WORD, &table) || table == 0)
            return HS_OK;
        HS_TRY(hs_frame_table_add(frames, rt->image, table, err));
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

static hs_status add_plugin(struct hs_ocaml4 *rt, const struct hs_object *object,
                            struct hs_frame_table *frames, struct hs_error *err)
{
    size_t n_symbols;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(object->elf, &n_symbols);
    for (size_t i = 0; i < n_symbols; i++) {
        if (is_frame_table(symbols[i].name))
            HS_TRY(hs_frame_table_add(frames, rt->image, symbols[i].vaddr + object->bias, err));
    }
    return HS_OK;
}

hs_status hs_ocaml4_load_frames(struct hs_ocaml4 *rt, struct hs_frame_table *frames,
                                struct hs_error *err)
{
    HS_TRY(add_linked(rt, frames, err));
    for (size_t i = 0; i < rt->objects->n; i++) {
        if (!rt->objects->objects[i].is_executable)
            HS_TRY(add_plugin(rt, &rt->objects->objects[i], frames, err));
    }
    return hs_frame_table_seal(frames, err);
}
