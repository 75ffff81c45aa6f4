#include "wrappers.h"

#include <stdio.h>
#include <string.h>

#include "native.h"
#include "rules/rules.h"

enum { WRAPPER_BYTES = 8, WRAPPER_MOST_TYPES = 1 << 14, WRAPPER_MOST_SLOTS = 64 };

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), n_end = strlen(end);
    return n >= n_end && strcmp(name + n - n_end, end) == 0;
}

/* Tells whether a class is named as what stands for a pointer: a template, or by its name's end. */
static bool is_called_so(const char *name)
{
    static const char *const ends[] = {"ptr", "Ptr", "Pointer", "Ref", "Handle", "Observer"};

    if (name[0] == '\0' || name[strlen(name) - 1] == '>')
        return name[0] != '\0';
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(name, ends[i]))
            return true;
    return false;
}

/* Tells whether a class is of a library that the shipped rules are for. */
static bool is_standard(const char *name)
{
    static const char *const scopes[] = {
        "std::", "__gnu_cxx::", "boost::", "core::", "alloc::", "hashbrown::", "tokio::"};
    for (size_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if (strncmp(name, scopes[i], strlen(scopes[i])) == 0)
            return true;
    return false;
}

static bool is_wrapper(struct hs_ctypes *ctypes, hs_ctype type, struct hs_ctype_facts *facts)
{
    hs_ctype_facts(ctypes, type, facts);
    return facts->kind == HS_CTYPE_RECORD && facts->n_bytes == WRAPPER_BYTES &&
           is_called_so(facts->name) && !is_standard(facts->name);
}

static void keep(struct hs_native_wrappers *wrappers, const char *name, const char *target)
{
    struct hs_native_wrapper one;

    if (wrappers->n == HS_WRAPPERS_MOST || strlen(target) >= sizeof one.target ||
        !hs_rule_pattern_of(name, one.pattern, sizeof one.pattern))
        return;
    (void)snprintf(one.target, sizeof one.target, "%s", target);
    for (size_t i = 0; i < wrappers->n; i++)
        if (strcmp(wrappers->list[i].pattern, one.pattern) == 0 &&
            strcmp(wrappers->list[i].target, one.target) == 0)
            return;
    wrappers->list[wrappers->n++] = one;
}

/* Notes the outermost class around a slot that is no more than its pointer, from `first` on. */
static void look(struct hs_native *native, hs_ctype type, uint64_t offset,
                 const struct hs_cslot *slot, size_t first)
{
    hs_ctype around[HS_CTYPE_MAX_AROUND];
    struct hs_ctype_facts facts, target;
    bool is_whole;

    if (slot->pointee == 0 || slot->may_be_pointer_only || slot->is_weak || slot->is_owned)
        return;
    hs_ctype_facts(native->ctypes, slot->pointee, &target);
    if (target.kind != HS_CTYPE_RECORD)
        return;
    size_t n = hs_ctypes_around(native->ctypes, type, offset, around, &is_whole);
    for (size_t i = first; is_whole && i < n; i++)
        if (is_wrapper(native->ctypes, around[i], &facts)) {
            keep(&native->wrappers, facts.name, target.name);
            return;
        }
}

void hs_native_wrapper_of(struct hs_native *native, hs_ctype type, uint64_t offset,
                          const struct hs_cslot *slot)
{
    if (slot == NULL || type == native->wrappers.last)
        return;
    native->wrappers.last = type;
    look(native, type, offset, slot, 0);
}

/* Looks at the types of blocks, at the classes within them: a block that is one itself is a level
 * of a list of pointers. */
static void look_at_types(struct hs_native *native, const struct hs_native_types *types)
{
    for (size_t i = 0; i < types->n_types && i < WRAPPER_MOST_TYPES; i++) {
        const struct hs_native_type *type = &types->types[i];
        for (size_t k = 0; type->ctype != 0 && k < type->n_slots && k < WRAPPER_MOST_SLOTS; k++)
            look(native, type->ctype, type->slots[k].offset_bytes, &type->slots[k], 1);
    }
}

hs_status hs_native_note_wrappers(struct hs_native *native, const struct hs_flow *flow,
                                  struct hs_error *err)
{
    if (native->ctypes == NULL)
        return HS_OK;
    look_at_types(native, &flow->types);
    for (size_t i = 0; i < native->wrappers.n; i++)
        HS_TRY(hs_findings_note(&native->dump->findings, false, err, HS_NOTE_WRAPPER "%s%s%s",
                                native->wrappers.list[i].pattern, HS_NOTE_WRAPPER_OF,
                                native->wrappers.list[i].target));
    return HS_OK;
}
