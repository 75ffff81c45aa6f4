/* Finalisers, as OCaml 4 and 5 keep them (runtime/finalise.c).
 *
 *   table:  {table, old, young, size}           entry: fun, val, int offset (24 bytes)
 *   to do:  {next, int size, items...} -> ...   item: the same
 *
 * caml_final_do_roots: functions are roots; values that wait for their death (Gc.finalise and
 * Gc.finalise_last alike) are not, so they are listed as weak; in the list of those about to run
 * both are roots.
 *
 * An alarm (Gc.create_alarm) is such a value, { active, f }, which its function registers again
 * each time that it is found dead: until it is deleted it lives, and is a root. */
#include "finalisers.h"

#include <string.h>

#include "symbols/demangle.h"

enum {
    ENTRY_BYTES = 24,
    TO_DO_SIZE = 8,
    TO_DO_ITEMS = 16,
    NAME_BYTES = 512,
};

static const uint64_t max_entries = UINT64_C(1) << 32;

struct final_group {
    const char *module; /* "Gc.finalise" */
    bool value_is_weak;
};

/* Finds the name of a finalisation function: " Foo.close", or "". */
static void function_name(struct hs_root_walk *walk, uint64_t closure, char *text, size_t n)
{
    struct hs_live_symbol symbol;
    hs_addr block;
    uint64_t code;
    text[0] = '\0';
    if (hs_block_of_value(walk->blocks, closure, &block) &&
        hs_image_u64(walk->rt->image, closure, &code) &&
        hs_objects_at(walk->rt->objects, code, &symbol) && symbol.address == code &&
        hs_is_ocaml_symbol(symbol.name)) {
        text[0] = ' ';
        hs_demangle(symbol.name, text + 1, n - 1);
    }
}

static hs_status add_leaf(struct hs_root_walk *walk, const struct final_group *group,
                          hs_addr address, uint64_t value, const char *what, const char *function,
                          bool weak)
{
    struct hs_root_leaf leaf = hs_walk_leaf(HS_ROOT_FINALISER);
    if (!hs_block_of_value(walk->blocks, value, &leaf.target))
        return HS_OK;
    leaf.root.address = address;
    leaf.root.weak = weak;
    HS_TRY(hs_walk_name(walk, &leaf.root.name, "%s %s%s", group->module, what, function));
    HS_TRY(hs_walk_name(walk, &leaf.group_module, "%s", group->module));
    HS_TRY(hs_walk_name(walk, &leaf.group_unit, "%ss", what));
    return hs_roots_add(&walk->roots->roots, &leaf, walk->err);
}

/* Tells whether a finalisation function is that of alarms, and the alarm has not been deleted; then
 * *ret_calls is the function that it calls. */
static bool is_alarm(struct hs_root_walk *walk, const char *function, uint64_t value,
                     uint64_t *ret_calls)
{
    enum { TRUE_VALUE = 3 };
    static const char library[] = " Stdlib", call[] = ".call_alarm";
    size_t n = strlen(function);
    hs_addr block;
    uint64_t active, is_active;

    return n > sizeof call && strncmp(function, library, sizeof library - 1) == 0 &&
           strcmp(function + n - (sizeof call - 1), call) == 0 &&
           hs_block_of_value(walk->blocks, value, &block) &&
           hs_image_u64(walk->rt->image, value, &active) &&
           hs_image_u64(walk->rt->image, value + HS_WORD, ret_calls) &&
           hs_block_of_value(walk->blocks, active, &block) &&
           hs_image_u64(walk->rt->image, active, &is_active) && is_active == TRUE_VALUE;
}

static hs_status walk_entry(struct hs_root_walk *walk, const struct final_group *group,
                            hs_addr entry)
{
    static const struct final_group alarms = {.module = "Gc.create_alarm"};
    char function[NAME_BYTES];
    uint64_t fun, value, calls;
    if (!hs_walk_u64(walk, entry, &fun) || !hs_walk_u64(walk, entry + HS_WORD, &value) ||
        hs_walk_is_copying(walk))
        return HS_OK;
    function_name(walk, fun, function, sizeof function);
    HS_TRY(add_leaf(walk, group, entry, fun, "function", function, false));
    if (group->value_is_weak && is_alarm(walk, function, value, &calls)) {
        function_name(walk, calls, function, sizeof function);
        return add_leaf(walk, &alarms, entry + HS_WORD, value, "alarm", function, false);
    }
    return add_leaf(walk, group, entry + HS_WORD, value, "value", function, group->value_is_weak);
}

static hs_status walk_entries(struct hs_root_walk *walk, const struct final_group *group,
                              hs_addr table, uint64_t n)
{
    uint64_t n_bytes;
    if (n > max_entries || __builtin_mul_overflow(n, (uint64_t)ENTRY_BYTES, &n_bytes)) {
        walk->n_damaged++;
        return HS_OK;
    }
    if (hs_walk_is_copying(walk)) {
        hs_walk_need(walk, table, n_bytes);
        return HS_OK;
    }
    uint64_t unreadable = walk->n_unreadable;
    for (uint64_t i = 0; i < n && walk->n_unreadable == unreadable; i++)
        HS_TRY(walk_entry(walk, group, table + i * ENTRY_BYTES));
    return HS_OK;
}

hs_status hs_finalisers_walk_set(struct hs_root_walk *walk, const char *module, hs_addr set)
{
    const struct final_group group = {.module = module, .value_is_weak = true};
    uint64_t table, young;
    if (!hs_walk_u64(walk, set, &table) || !hs_walk_u64(walk, set + 2 * HS_WORD, &young))
        return HS_OK;
    return walk_entries(walk, &group, table, young);
}

hs_status hs_finalisers_walk_to_do(struct hs_root_walk *walk, hs_addr head)
{
    const struct final_group group = {.module = "finalisers about to run"};
    struct hs_cycle cycle = {0};
    uint64_t cell = 0, next;
    uint32_t size;
    if (!hs_walk_u64(walk, head, &cell))
        return HS_OK;
    for (; !hs_walk_list_ends(walk, &cycle, cell); cell = next) {
        if (!hs_walk_u64(walk, cell, &next) || !hs_walk_u32(walk, cell + TO_DO_SIZE, &size))
            return HS_OK;
        if (size > INT32_MAX)
            walk->n_damaged++;
        else
            HS_TRY(walk_entries(walk, &group, cell + TO_DO_ITEMS, size));
    }
    return HS_OK;
}
