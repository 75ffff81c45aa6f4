#include "prepare.h"

#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "symbols/lines.h"
#include "tiers.h"

/* Whose variables are not the program's. */
static bool prepare_is_system(const char *name)
{
    static const char *const beginnings[] = {
        "ld-linux",    "ld-2.",       "ld-musl",     "ld.so",      "libc.so",
        "libc-2.",     "libm.so",     "libm-2.",     "libpthread", "libdl.so",
        "libdl-2.",    "librt.so",    "librt-2.",    "libresolv",  "libnss_",
        "libjemalloc", "libtcmalloc", "libmimalloc", "libgcc_s",   "libc_malloc_debug",
    };
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

static hs_status prepare_reserve(struct hs_native *native, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_dump_plan_reserve_spare(&native->dump->plan, n_bytes, "debug information", err));
    native->debug_bytes += n_bytes;
    return HS_OK;
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

/* The types of a file that there is no room for are left out, which the snapshot says. */
static hs_status prepare_types(struct hs_native *native, const struct hs_object *object,
                               struct hs_native_object *known, struct hs_error *err)
{
    struct hs_elf *elf = hs_object_with_types(object);
    struct hs_error why = HS_ERROR_INIT;
    struct hs_ctypes_needs needs;
    char size[HS_UNIT_TEXT_BYTES];

    if (elf == NULL)
        return HS_OK;
    hs_ctypes_foresee(elf, &needs);
    uint64_t n_bytes = needs.whole_bytes + needs.list_bytes;
    if (prepare_reserve(native, n_bytes, &why) == HS_OK) {
        native->list_bytes += needs.list_bytes;
        return hs_ctypes_add(native->ctypes, elf, &known->types, err);
    }
    hs_format_bytes(n_bytes, size);
    return hs_findings_note(&native->dump->findings, true, err,
                            "types of '%.200s' are left out: they need %s, more than --memory "
                            "leaves",
                            object->name, size);
}

/* Where there is room, lists may be several times what they are as a rule. */
static void prepare_bounds(struct hs_native *native)
{
    enum { UNUSUAL = 4, SHARE = 2 };
    const struct hs_dump *dump = native->dump;
    uint64_t room = hs_dump_plan_room(&dump->plan), more = UNUSUAL * native->list_bytes;
    struct hs_error ignored = HS_ERROR_INIT;

    if (more > room / SHARE)
        more = room / SHARE;
    if (prepare_reserve(native, more, &ignored) == HS_OK)
        native->list_bytes += more;
    hs_ctypes_bound(native->ctypes, hs_dump_piece_bytes(dump->options->budget), native->list_bytes);
}

/* With room for the pieces of debug information, or for as many as there is. */
static hs_status prepare_ctypes(struct hs_native *native, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;

    HS_TRY(hs_ctypes_new(&native->ctypes, err));
    (void)prepare_reserve(native, hs_dump_piece_bytes(native->dump->options->budget), &ignored);
    return HS_OK;
}

hs_status hs_native_prepare_objects(struct hs_native *native, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&native->of_object, native->dump->objects.n, err));
    if (!native->dump->options->no_names)
        HS_TRY(prepare_ctypes(native, err));
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_object *object = &native->dump->objects.objects[i];
        struct hs_native_object *known = &native->of_object[i];
        known->is_system = !object->is_executable && prepare_is_system(object->name);
        known->is_runtime = !object->is_executable && hs_native_is_runtime(object->name);
        known->is_python = hs_native_is_python(object);
        if (native->ctypes != NULL)
            HS_TRY(prepare_types(native, object, known, err));
    }
    if (native->ctypes != NULL)
        prepare_bounds(native);
    return HS_OK;
}
