/* Variables of a snapshot that is there already: found and called as in a dump. */
#include "native/later.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "globals.h"
#include "later_private.h"
#include "prepare.h"
#include "rule_lines.h"
#include "tiers.h"

/* Adds the debug information of the objects. What is damaged has no types. */
static hs_status later_add_types(struct hs_later *later, struct hs_error *err)
{
    const struct hs_objects *objects = &later->native.dump->objects;

    hs_ctypes_bound(later->native.ctypes, 0, 0);
    for (size_t i = 0; i < objects->n; i++) {
        struct hs_elf *elf = hs_object_with_types(&objects->objects[i]);
        if (elf != NULL)
            HS_TRY(
                hs_ctypes_add(later->native.ctypes, elf, &later->native.of_object[i].types, err));
    }
    return HS_OK;
}

hs_status hs_later_new(struct hs_dump *dump, struct hs_later **ret, struct hs_error *err)
{
    struct hs_later *later;

    HS_TRY(HS_ALLOC(&later, 1, err));
    later->native.dump = dump;
    hs_status status = hs_native_prepare_objects(&later->native, err);
    if (status == HS_OK)
        status = later_add_types(later, err);
    if (status == HS_OK)
        status = hs_strtab_add(&dump->strings, "(no source)", &later->no_source, err);
    later->types.strings = &dump->strings;
    later->types.ctypes = later->native.ctypes;
    if (status != HS_OK) {
        hs_later_free(later);
        return status;
    }
    *ret = later;
    return HS_OK;
}

void hs_later_free(struct hs_later *later)
{
    if (later == NULL)
        return;
    hs_native_types_fini(&later->types);
    hs_ctypes_free(later->native.ctypes);
    hs_free(later->native.of_object);
    hs_free(later);
}

/* Takes the line of a file of rules from a reason: the snapshot knows its own lines alone. */
static uint8_t plain_reason(uint8_t reason, enum hs_reason plain)
{
    return reason >= HS_FIRST_LINE_REASON ? (uint8_t)plain : reason;
}

static hs_status later_finish(struct hs_later *later, struct hs_native_variable *variable,
                              hs_addr at, struct hs_later_slot *ret, struct hs_error *err)
{
    struct hs_root_leaf leaf = variable->leaf;
    struct hs_native_slot slot;

    hs_native_variable_text(&later->native, variable);
    leaf.root.reason = plain_reason(leaf.root.reason, HS_REASON_RUNTIME_TABLE);
    HS_TRY(
        hs_native_describe_slot(&later->native, variable, at - variable->begin, &leaf, &slot, err));
    leaf.root.reason = plain_reason(leaf.root.reason, HS_REASON_WEAK_POINTER);
    leaf.root.address = at;
    bool is_chosen = slot.slot != NULL && (slot.slot->n_choices != 0 || slot.slot->is_untold);
    *ret = (struct hs_later_slot){
        .leaf = leaf,
        .is_pointer = slot.form == HS_SLOT_POINTER,
        .pointee = slot.form == HS_SLOT_POINTER && !is_chosen ? slot.pointee : 0};
    return HS_OK;
}

hs_status hs_later_global(struct hs_later *later, size_t object, hs_addr at,
                          struct hs_later_slot *ret, bool *ret_found, struct hs_error *err)
{
    struct hs_native *native = &later->native;
    struct hs_native_variable v = {
        .leaf.root = {.kind = HS_ROOT_GLOBAL, .certainty = HS_CONSERVATIVE}};
    hs_addr end;

    HS_TRY(hs_native_set_module(native, &native->dump->objects.objects[object], &v.leaf, err));
    HS_TRY(hs_native_find_variable(native, object, at, &v, &end, err));
    *ret_found = !hs_root_is_place(hs_strtab_get(&native->dump->strings, v.name));
    v.leaf.group_unit = v.leaf.root.file != 0 ? v.leaf.root.file : later->no_source;
    return *ret_found ? later_finish(later, &v, at, ret, err) : HS_OK;
}

/* Finds the thread-local symbol that holds an offset. */
static const struct hs_elf_symbol *tls_symbol(const struct hs_object *object, uint64_t offset)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_tls_symbols(hs_native_symbols(object), &n);
    size_t next = HS_FIRST_ABOVE(symbols, n, vaddr, offset);

    while (next > 0 && symbols[next - 1].vaddr <= offset) {
        const struct hs_elf_symbol *symbol = &symbols[--next];
        if (offset - symbol->vaddr < symbol->n_bytes)
            return symbol;
        if (symbol->n_bytes != 0)
            break;
    }
    return NULL;
}

static hs_status tls_by_symbol(struct hs_native *native, size_t object, uint64_t offset, hs_addr at,
                               struct hs_native_variable *v, bool *ret_found, struct hs_error *err)
{
    const struct hs_elf_symbol *symbol = tls_symbol(&native->dump->objects.objects[object], offset);
    char text[HS_VARIABLE_NAME_BYTES];

    *ret_found = symbol != NULL;
    if (symbol == NULL)
        return HS_OK;
    hs_native_symbol_name(symbol->name, text, sizeof text);
    hs_native_cut_macros(text);
    v->begin = at - offset + symbol->vaddr;
    v->n_bytes = symbol->n_bytes;
    v->is_whole = v->n_bytes > HS_WORD_BYTES;
    HS_TRY(hs_strtab_add(&native->dump->strings, text, &v->name, err));
    v->leaf.root.symbol = v->name;
    hs_native_set_tier(native, object, symbol->name, false, &v->leaf.root);
    return HS_OK;
}

hs_status hs_later_tls(struct hs_later *later, size_t object, uint64_t offset, hs_addr at,
                       struct hs_later_slot *ret, bool *ret_found, struct hs_error *err)
{
    struct hs_native *native = &later->native;
    struct hs_native_variable v = {
        .leaf.root = {.kind = HS_ROOT_TLS, .certainty = HS_CONSERVATIVE}};
    struct hs_cvariable found = {0};

    *ret_found = false;
    if (native->of_object[object].types != 0 &&
        hs_ctypes_tls_variable_at(native->ctypes, native->of_object[object].types, offset, &found))
        HS_TRY(hs_native_describe(native, &found, at - offset, at, &v, ret_found, err));
    if (*ret_found)
        hs_native_set_tier(native, object, found.name, false, &v.leaf.root);
    else
        HS_TRY(tls_by_symbol(native, object, offset, at, &v, ret_found, err));
    if (!*ret_found)
        return HS_OK;
    HS_TRY(hs_native_set_module(native, &native->dump->objects.objects[object], &v.leaf, err));
    v.leaf.group_unit = v.leaf.root.file != 0 && !native->of_object[object].is_system
                            ? v.leaf.root.file
                            : v.leaf.group_module;
    return later_finish(later, &v, at, ret, err);
}
