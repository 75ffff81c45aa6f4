/* The tree of roots with the names that came later. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "names_private.h"
#include "symbols/demangle.h"
#include "symbols/elf.h"

enum { NAME_BYTES = 1024 };

/* ---- a leaf as it was */

static hs_str moved(const struct names *names, hs_str old)
{
    return names->strings[old];
}

/* Copies a root with the strings of the new snapshot. */
static struct hs_root root_of(const struct names *names, const struct hs_root *old)
{
    struct hs_root root = *old;

    root.name = moved(names, old->name);
    root.module = moved(names, old->module);
    root.symbol = moved(names, old->symbol);
    root.file = moved(names, old->file);
    root.function = moved(names, old->function);
    return root;
}

/* Finds the groups of a leaf by the nodes above it. */
static void group(const struct names *names, const struct hs_root *old, struct hs_root_leaf *leaf)
{
    const struct hs_root *above = hs_snap_root(names->snap, old->parent);

    for (; above->level != HS_LEVEL_ALL; above = hs_snap_root(names->snap, above->parent)) {
        hs_str name = moved(names, above->name);
        if (above->level == HS_LEVEL_VARIABLE)
            leaf->group_variable = name;
        else if (above->level == HS_LEVEL_UNIT)
            leaf->group_unit = name;
        else if (above->level == HS_LEVEL_MODULE)
            leaf->group_module = name;
    }
}

static struct hs_root_leaf leaf_of(const struct names *names, const struct hs_root *old)
{
    struct hs_root_leaf leaf = {.root = root_of(names, old)};

    group(names, old, &leaf);
    if (old->target != HS_NO_NODE)
        leaf.target = old->target - hs_snap_totals(names->snap)->n_tree + 1;
    return leaf;
}

/* ---- what is called otherwise now */

/* Tells whether a leaf that is called by its section (".bss+0x40") is where the file has that
 * section. */
static bool is_placed(const struct names *names, const struct hs_object *object,
                      const struct hs_root *root)
{
    const char *symbol = hs_names_text(names, root->symbol);
    const char *name = hs_names_text(names, root->name);
    size_t n = strlen(symbol);
    struct hs_elf_section section;
    char *end;

    if (symbol[0] != '.' || strncmp(name, symbol, n) != 0)
        return true;
    unsigned long long offset = name[n] == '+' ? strtoull(name + n + 1, &end, 16) : 0;
    return hs_elf_section_named(object->elf, symbol, &section) &&
           section.vaddr + object->bias + offset == root->address;
}

/* Finds the object that names are had of, and in whose memory an address is. */
static bool object_at(const struct names *names, hs_addr at, size_t *ret)
{
    for (size_t i = 0; i < names->dump.objects.n; i++) {
        const struct hs_object *object = &names->dump.objects.objects[i];
        if (names->is_found[i] && at >= object->begin && at < object->end) {
            *ret = i;
            return true;
        }
    }
    return false;
}

static bool object_called(const struct names *names, const char *name, size_t n, size_t *ret)
{
    for (size_t i = 0; i < names->dump.objects.n; i++) {
        const char *its = names->dump.objects.objects[i].name;
        if (names->is_found[i] && strncmp(its, name, n) == 0 && its[n] == '\0') {
            *ret = i;
            return true;
        }
    }
    return false;
}

/* Tells whether the dump lowered a root by what was in memory, which stays. */
static bool is_lowered(const struct hs_root *root)
{
    return !hs_edge_is_sure(root->edge_class) ||
           (root->tier != HS_TIER_FIRM && root->reason != HS_REASON_NONE &&
            root->reason != HS_REASON_RUNTIME_TABLE && root->reason < HS_FIRST_LINE_REASON);
}

/* Puts what a slot is called now into a leaf; what only memory tells is as it was. */
static hs_status take_slot(struct names *names, const struct hs_later_slot *slot,
                           struct hs_root_leaf *leaf, struct hs_error *err)
{
    const struct hs_root old = leaf->root;
    hs_str thread = leaf->group_module;

    leaf->group_module = old.kind == HS_ROOT_TLS ? thread : slot->leaf.group_module;
    leaf->group_unit = slot->leaf.group_unit;
    leaf->group_variable = slot->leaf.group_variable;
    leaf->root = slot->leaf.root;
    leaf->root.thread = old.thread;
    leaf->root.weak = old.weak;
    leaf->root.certainty = slot->is_pointer ? HS_EXACT : HS_CONSERVATIVE;
    names->report->n_slots++;
    if (is_lowered(&old)) {
        leaf->root.edge_class = old.edge_class;
        hs_root_lower(&leaf->root, (enum hs_tier)old.tier, old.reason);
        return HS_OK;
    }
    if (hs_edge_is_sure(leaf->root.edge_class))
        leaf->root.edge_class = old.edge_class;
    if (hs_edge_tier(leaf->root.edge_class) > leaf->root.tier)
        leaf->root.tier = (uint8_t)hs_edge_tier(leaf->root.edge_class);
    if (leaf->root.edge_class != HS_EDGE_EXACT || slot->pointee == 0 || leaf->target == 0)
        return HS_OK;
    HS_TRY(HS_GROW(&names->seeds, &names->seeds_capacity, names->n_seeds + 1, err));
    names->seeds[names->n_seeds++] = (struct names_seed){leaf->target - 1, slot->pointee};
    return HS_OK;
}

static hs_status name_global(struct names *names, struct hs_root_leaf *leaf, struct hs_error *err)
{
    struct hs_later_slot slot;
    bool is_found;
    size_t object;

    if (leaf->root.address == 0 || !object_at(names, leaf->root.address, &object) ||
        !is_placed(names, &names->dump.objects.objects[object], &leaf->root))
        return HS_OK;
    HS_TRY(hs_later_global(names->later, object, leaf->root.address, &slot, &is_found, err));
    return is_found ? take_slot(names, &slot, leaf, err) : HS_OK;
}

/* Names "TLS of MODULE+0x10", which is that far in the module's block. */
static hs_status name_tls(struct names *names, struct hs_root_leaf *leaf, struct hs_error *err)
{
    const char *name = hs_names_text(names, leaf->root.name);
    const size_t n_begin = strlen(HS_PLACE_TLS);
    struct hs_later_slot slot;
    bool is_found;
    size_t object;

    if (strncmp(name, HS_PLACE_TLS, n_begin) != 0)
        return HS_OK;
    const char *plus = strrchr(name, '+');
    size_t n = plus != NULL ? (size_t)(plus - name) - n_begin : strlen(name) - n_begin;
    if (!object_called(names, name + n_begin, n, &object))
        return HS_OK;
    HS_TRY(hs_later_tls(names->later, object, leaf->root.offset, leaf->root.address, &slot,
                        &is_found, err));
    return is_found ? take_slot(names, &slot, leaf, err) : HS_OK;
}

/* ---- functions */

/* Finds the name of the function that a call is called by: "MODULE+0x1230" is where it begins. */
static bool function_name(const struct names *names, const char *function, char *text,
                          size_t n_bytes)
{
    const char *plus = strrchr(function, '+');
    char *end;
    size_t object;

    if (plus == NULL || strncmp(plus, "+0x", 3) != 0 ||
        !object_called(names, function, (size_t)(plus - function), &object))
        return false;
    unsigned long long vaddr = strtoull(plus + 1, &end, 16);
    const struct hs_elf_symbol *symbol =
        hs_elf_symbol_at(names->dump.objects.objects[object].elf, vaddr, NULL);
    if (*end != '\0' || symbol == NULL || symbol->kind != HS_SYMBOL_CODE)
        return false;
    hs_demangle(symbol->name, text, n_bytes);
    return true;
}

/* Puts `now` in the place of the first `old` of a text. */
static hs_status replace(struct names *names, const char *old, const char *now, hs_str *text,
                         struct hs_error *err)
{
    char whole[NAME_BYTES];
    const char *begin = hs_names_text(names, *text), *at = strstr(begin, old);

    if (at == NULL)
        return HS_OK;
    snprintf(whole, sizeof whole, "%.*s%s%s", (int)(at - begin), begin, now, at + strlen(old));
    return hs_strtab_add(&names->dump.strings, whole, text, err);
}

static hs_status name_call(struct names *names, struct hs_root_leaf *leaf, struct hs_error *err)
{
    char old[NAME_BYTES], now[NAME_BYTES];

    if (leaf->root.function == 0 ||
        snprintf(old, sizeof old, "%s", hs_names_text(names, leaf->root.function)) >= NAME_BYTES ||
        !function_name(names, old, now, sizeof now))
        return HS_OK;
    names->report->n_functions++;
    HS_TRY(hs_strtab_add(&names->dump.strings, now, &leaf->root.function, err));
    HS_TRY(replace(names, old, now, &leaf->root.name, err));
    HS_TRY(replace(names, old, now, &leaf->group_variable, err));
    return replace(names, old, now, &leaf->group_unit, err);
}

static hs_status name_leaf(struct names *names, struct hs_root_leaf *leaf, struct hs_error *err)
{
    if (leaf->root.kind == HS_ROOT_GLOBAL)
        return name_global(names, leaf, err);
    if (leaf->root.kind == HS_ROOT_TLS)
        return name_tls(names, leaf, err);
    return name_call(names, leaf, err);
}

hs_status hs_names_call_objects(struct names *names, struct hs_error *err)
{
    for (uint64_t i = 0; i < hs_snap_totals(names->snap)->n_tree; i++) {
        const struct hs_root *root = hs_snap_root(names->snap, i);
        const char *module = hs_snap_string(names->snap, root->module);
        size_t object;
        if (root->kind != HS_ROOT_GLOBAL || root->level != HS_LEVEL_LEAF || module[0] == '\0' ||
            !object_at(names, root->address, &object) ||
            strcmp(names->dump.objects.objects[object].name, module) == 0)
            continue;
        hs_free(names->dump.objects.objects[object].name);
        names->dump.objects.objects[object].name = NULL;
        HS_TRY(hs_strdup(module, &names->dump.objects.objects[object].name, err));
    }
    return HS_OK;
}

static uint64_t rank_of(const void *context, hs_addr target)
{
    (void)context;
    return target == 0 ? HS_NO_NODE : target - 1;
}

hs_status hs_names_make_tree(struct names *names, struct hs_error *err)
{
    static const struct hs_rank_of rank = {rank_of, NULL};

    for (uint64_t i = 0; i < hs_snap_totals(names->snap)->n_tree; i++) {
        const struct hs_root *old = hs_snap_root(names->snap, i);
        if (old->level != HS_LEVEL_LEAF)
            continue;
        struct hs_root_leaf leaf = leaf_of(names, old);
        HS_TRY(name_leaf(names, &leaf, err));
        HS_TRY(hs_roots_add(&names->roots, &leaf, err));
    }
    return hs_roots_finish(&names->roots, &names->dump.strings, &rank, &names->tree, &names->n_tree,
                           err);
}
