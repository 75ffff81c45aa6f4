#include "prepare.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "rules/rules.h"
#include "symbols/lines.h"
#include "tiers.h"

enum { LEAST_LISTS = 4 }; /* of what lists may take, a part that may be enough */

/* Returns the rule of this kind by which an object's variables are not the program's, or NULL. */
static const struct hs_rule *prepare_is(const struct hs_native *native,
                                        const struct hs_object *object, enum hs_rule_kind kind)
{
    return object->is_executable ? NULL
                                 : hs_rules_name(native->dump->options->rules, kind, object->name);
}

static hs_status prepare_reserve(struct hs_native *native, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_dump_plan_reserve_spare(&native->dump->plan, n_bytes, "debug information", err));
    native->debug_bytes += n_bytes;
    return HS_OK;
}

/* Reserves what can be had without taking room from a copy that is in a file: with less of it
 * resident a dump takes several times as long. */
static bool prepare_reserve_unused(struct hs_native *native, uint64_t n_bytes)
{
    struct hs_error ignored = HS_ERROR_INIT;

    return n_bytes <= hs_budget_left_bytes(native->dump->options->budget) &&
           prepare_reserve(native, n_bytes, &ignored) == HS_OK;
}

void hs_native_forget_objects(struct hs_native *native)
{
    hs_free(native->of_object);
    native->of_object = NULL;
    hs_ctypes_free(native->ctypes);
    native->ctypes = NULL;
    hs_dump_plan_release(&native->dump->plan, native->debug_bytes);
    native->debug_bytes = native->list_bytes = 0;
}

/* Reserves memory for lists: as much as they may take, or a half, or a quarter of it. False: there
 * is not even that. */
static bool prepare_lists(struct hs_native *native, uint64_t list_bytes)
{
    struct hs_error ignored = HS_ERROR_INIT;

    for (uint64_t n_bytes = list_bytes; n_bytes >= list_bytes / LEAST_LISTS; n_bytes /= 2) {
        if (prepare_reserve(native, n_bytes, &ignored) == HS_OK) {
            native->list_bytes += n_bytes;
            return true;
        }
        if (n_bytes == 0)
            break;
    }
    return false;
}

/* Reserves the lists of a file's names and records. What has no room for them has no types, which
 * the snapshot says. */
static hs_status prepare_list_types(struct hs_native *native, const struct hs_object *object,
                                    struct hs_native_object *known, struct hs_error *err)
{
    struct hs_elf *elf = hs_object_with_types(object);
    struct hs_ctypes_needs needs;
    char size[HS_UNIT_TEXT_BYTES];

    if (elf == NULL)
        return HS_OK;
    hs_ctypes_foresee(elf, &needs);
    known->has_lists = prepare_lists(native, needs.list_bytes);
    if (known->has_lists)
        return HS_OK;
    hs_format_bytes(needs.list_bytes, size);
    return hs_findings_note(&native->dump->findings, true, err,
                            "types of '%.200s' are left out: they need %s, more than --memory "
                            "leaves",
                            object->name, size);
}

/* Notes .dwo files that could not be used, which nothing else would tell. */
static hs_status prepare_tell_split(struct hs_native *native, const struct hs_object *object,
                                    hs_type_file file, struct hs_error *err)
{
    char more[48] = "";
    const char *name;
    size_t n = hs_ctypes_split(native->ctypes, file, &name);

    if (n == 0)
        return HS_OK;
    if (n > 1)
        snprintf(more, sizeof more, " and %zu more", n - 1);
    return hs_findings_note(&native->dump->findings, true, err,
                            "types and variables of '%.200s' are missing: what describes them "
                            "(-gsplit-dwarf) is in '%.200s'%s, not there, of another build, "
                            "damaged, or too large: keep it where it was built, or beside the "
                            "program",
                            object->name, name != NULL ? name : "", more);
}

/* Adds the types of an object. Sections that are compressed are unpacked into temporary files where
 * memory has no room for them. */
static hs_status prepare_add_types(struct hs_native *native, const struct hs_object *object,
                                   struct hs_native_object *known, struct hs_error *err)
{
    struct hs_ctypes_needs needs;

    if (!known->has_lists)
        return HS_OK;
    struct hs_elf *elf = hs_object_with_types(object);
    hs_ctypes_foresee(elf, &needs);
    bool has_room = prepare_reserve_unused(native, needs.whole_bytes);
    hs_ctypes_unpack_to(native->ctypes, has_room ? NULL : native->dump->options->budget);
    HS_TRY(hs_ctypes_add(native->ctypes, elf, &known->types, err));
    return prepare_tell_split(native, object, known->types, err);
}

/* Bounds the lists; where there is room, they may be several times what they are as a rule. */
static void prepare_bounds(struct hs_native *native)
{
    enum { UNUSUAL = 4, SHARE = 2 };
    const struct hs_budget *budget = native->dump->options->budget;
    uint64_t left = hs_budget_left_bytes(budget), more = UNUSUAL * native->list_bytes;

    if (more > left / SHARE)
        more = left / SHARE;
    if (prepare_reserve_unused(native, more))
        native->list_bytes += more;
    hs_ctypes_bound(native->ctypes, hs_dump_piece_bytes(budget), native->list_bytes);
}

static hs_status prepare_new_types(struct hs_native *native, struct hs_error *err)
{
    HS_TRY(hs_ctypes_new(&native->ctypes, err));
    hs_ctypes_use_rules(native->ctypes, native->dump->options->rules);
    return HS_OK;
}

hs_status hs_native_prepare_objects(struct hs_native *native, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&native->of_object, native->dump->objects.n, err));
    if (!native->dump->options->no_names)
        HS_TRY(prepare_new_types(native, err));
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_object *object = &native->dump->objects.objects[i];
        struct hs_native_object *known = &native->of_object[i];
        const struct hs_rule *runtime = prepare_is(native, object, HS_RULE_LIBRARY);
        known->is_system = prepare_is(native, object, HS_RULE_SYSTEM) != NULL;
        known->is_runtime = runtime != NULL;
        known->runtime_by = runtime == NULL ? 0 : runtime->number;
        known->is_interpreter = hs_native_has_interpreter(native->dump->options->rules, object);
    }
    return HS_OK;
}

hs_status hs_native_prepare_types(struct hs_native *native, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;

    if (native->ctypes == NULL)
        return HS_OK;
    /* Pieces have their room, or as much of it as there is. */
    (void)prepare_reserve(native, hs_dump_piece_bytes(native->dump->options->budget), &ignored);
    const struct hs_objects *objects = &native->dump->objects;
    for (size_t i = 0; i < objects->n; i++)
        HS_TRY(prepare_list_types(native, &objects->objects[i], &native->of_object[i], err));
    for (size_t i = 0; i < objects->n; i++)
        HS_TRY(prepare_add_types(native, &objects->objects[i], &native->of_object[i], err));
    prepare_bounds(native);
    return HS_OK;
}
