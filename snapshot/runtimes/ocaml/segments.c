/* The areas of static data, code and the atoms of an OCaml program.
 *
 * The executable lists its units in caml_data_segments and caml_code_segments (begin, end pairs up
 * to begin = 0; startup_nat.c init_static). A plugin's units are known by their symbols alone:
 * camlM__data_begin, camlM__data_end, likewise code (natdynlink.c registers just these). Pointers
 * equal to a data segment's end are static data too: PR#5509, the zero word after it. */
#include <stdio.h>
#include <string.h>

#include "locate.h"
#include "symbols/elf.h"
#include "v5/ocaml5.h"

enum { SEGMENTS_MAX = 1 << 20, ATOM_WORDS = 256 + 1 };

bool hs_ocaml_symbol_word(const struct hs_ocaml *rt, const char *name, uint64_t *ret)
{
    struct hs_live_symbol symbol;

    return hs_objects_find(rt->objects, name, &symbol) &&
           hs_image_u64(rt->image, symbol.address, ret);
}

static bool segment_is_sane(const struct hs_ocaml *rt, hs_addr begin, hs_addr end)
{
    const struct hs_object *object = hs_objects_object_at(rt->objects, begin);

    return object != NULL && begin <= end && end <= object->end;
}

static hs_status segments_of_executable(struct hs_ocaml *rt, const char *table, uint64_t more,
                                        uint64_t alignment, struct hs_range_set *set,
                                        struct hs_error *err)
{
    struct hs_live_symbol symbol;
    uint64_t n_bad = 0;

    if (!hs_objects_find(rt->objects, table, &symbol))
        return hs_findings_note(&rt->findings, true, err, "the program has no table '%s'", table);
    for (uint64_t i = 0; i < SEGMENTS_MAX; i++) {
        uint64_t begin, end;
        if (!hs_image_u64(rt->image, symbol.address + 16 * i, &begin) ||
            !hs_image_u64(rt->image, symbol.address + 16 * i + HS_WORD, &end) || begin == 0)
            break;
        if (!segment_is_sane(rt, begin, end) || ((begin | end) & (alignment - 1)) != 0)
            n_bad++;
        else
            HS_TRY(hs_range_set_add(set, begin, end + more, err));
    }
    if (n_bad != 0)
        HS_TRY(hs_findings_note(&rt->findings, true, err,
                                "%llu damaged entries in '%s' were left out",
                                (unsigned long long)n_bad, table));
    return HS_OK;
}

static bool ends_with(const char *text, size_t n, const char *end)
{
    size_t n_end = strlen(end);
    return n >= n_end && memcmp(text + n - n_end, end, n_end) == 0;
}

/* Finds the span that a `..._begin` symbol of a plugin opens; false when its end is missing or not
 * sane. */
static bool segment_of_symbol(const struct hs_ocaml *rt, const struct hs_object *object,
                              const struct hs_elf_symbol *symbol, hs_addr *ret_begin,
                              hs_addr *ret_end)
{
    char name[1024];
    size_t n = strlen(symbol->name);
    struct hs_live_symbol end;

    if (n + 1 > sizeof name)
        return false;
    snprintf(name, sizeof name, "%.*send", (int)(n - strlen("begin")), symbol->name);
    if (!hs_object_find(object, name, &end))
        return false;
    *ret_begin = symbol->vaddr + object->bias;
    *ret_end = end.address;
    return segment_is_sane(rt, *ret_begin, *ret_end);
}

static hs_status segments_of_plugin(struct hs_ocaml *rt, const struct hs_object *object,
                                    struct hs_error *err)
{
    size_t n_symbols;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(object->elf, &n_symbols);

    for (size_t i = 0; i < n_symbols; i++) {
        const char *name = symbols[i].name;
        size_t n = strlen(name);
        hs_addr begin, end;
        if (strncmp(name, "caml", 4) != 0)
            continue;
        bool is_data = ends_with(name, n, "__data_begin") || ends_with(name, n, ".data_begin");
        bool is_code = ends_with(name, n, "__code_begin") || ends_with(name, n, ".code_begin");
        if ((!is_data && !is_code) || !segment_of_symbol(rt, object, &symbols[i], &begin, &end))
            continue;
        if (is_code)
            HS_TRY(hs_range_set_add(&rt->code, begin, end, err));
        else if (((begin | end) & (HS_WORD - 1)) == 0)
            HS_TRY(hs_range_set_add(&rt->statics, begin, end + HS_WORD, err));
    }
    return HS_OK;
}

static hs_status segments_atoms(struct hs_ocaml *rt, struct hs_error *err)
{
    uint64_t table;

    if (!hs_ocaml_symbol_word(rt, "caml_atom_table", &table) || table == 0 ||
        table % HS_WORD != 0 || table > UINT64_MAX / 2)
        return hs_findings_note(&rt->findings, true, err, "the atom table was not found");
    HS_TRY(hs_image_copy(rt->image, rt->target, table, table + ATOM_WORDS * HS_WORD, err));
    rt->atoms_begin = table;
    rt->atoms_end = table + ATOM_WORDS * HS_WORD;
    return HS_OK;
}

hs_status hs_ocaml_find_segments(struct hs_ocaml *rt, struct hs_error *err)
{
    if (rt->is_bytecode)
        return segments_atoms(rt, err); /* all other blocks are in the heap */
    HS_TRY(segments_of_executable(rt, "caml_data_segments", HS_WORD, HS_WORD, &rt->statics, err));
    HS_TRY(segments_of_executable(rt, "caml_code_segments", 0, 1, &rt->code, err));
    for (size_t i = 0; i < rt->objects->n; i++) {
        if (!rt->objects->objects[i].is_executable)
            HS_TRY(segments_of_plugin(rt, &rt->objects->objects[i], err));
    }
    hs_range_set_merge(&rt->statics);
    hs_range_set_merge(&rt->code);
    return rt->five != NULL ? hs_ocaml5_find_statics(rt, err) : segments_atoms(rt, err);
}

static bool version_is_sane(const char *text)
{
    size_t n = strspn(text, "0123456789.");

    return text[0] >= '1' && text[0] <= '9' && strchr(text, '.') != NULL && n >= 4 &&
           strspn(text + n, "+~-abcdefghijklmnopqrstuvwxyz0123456789.") == strlen(text + n);
}

/* Sys.ocaml_version is a constant string, so it lies in the program's own data. */
bool hs_ocaml_stated_version(const struct hs_ocaml *rt, char *version, size_t n)
{
    struct hs_live_symbol sys;
    uint64_t header;

    if (!hs_objects_find(rt->objects, "camlStdlib__Sys", &sys) ||
        !hs_image_u64(rt->image, sys.address - HS_WORD, &header))
        return false;
    for (uint64_t i = 0; i < HS_HEADER_WOSIZE(header) && i < 128; i++) {
        uint64_t value, string_header;
        char text[32];
        if (hs_image_u64(rt->image, sys.address + HS_WORD * i, &value) && value % HS_WORD == 0 &&
            hs_objects_object_at(rt->objects, value) != NULL &&
            hs_image_u64(rt->image, value - HS_WORD, &string_header) &&
            HS_HEADER_TAG(string_header) == HS_TAG_STRING && HS_HEADER_WOSIZE(string_header) <= 3 &&
            hs_image_string(rt->image, value, text, sizeof text) && version_is_sane(text)) {
            snprintf(version, n, "%s", text);
            return true;
        }
    }
    return false;
}
