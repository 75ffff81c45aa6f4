#include "prepare.h"

#include <string.h>

#include "base/alloc.h"
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

hs_status hs_native_prepare_objects(struct hs_native *native, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&native->of_object, native->dump->objects.n, err));
    if (!native->dump->options->no_names)
        HS_TRY(hs_ctypes_new(&native->ctypes, err));
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_object *object = &native->dump->objects.objects[i];
        struct hs_native_object *known = &native->of_object[i];
        known->is_system = !object->is_executable && prepare_is_system(object->name);
        known->is_runtime = !object->is_executable && hs_native_is_runtime(object->name);
        known->is_python = hs_native_is_python(object);
        if (native->ctypes == NULL)
            continue;
        struct hs_elf *with_types =
            object->debug != NULL && hs_dwarf_present(object->debug) ? object->debug : object->elf;
        if (hs_dwarf_present(with_types))
            HS_TRY(hs_ctypes_add(native->ctypes, with_types, &known->types, err));
    }
    return HS_OK;
}
