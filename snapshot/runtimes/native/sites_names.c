/* The functions at a code address: the inlined ones too where there is debug information, else the
 * symbol, else the place in the file. */
#include <string.h>

#include "globals.h"
#include "process/unwind.h"
#include "sites.h"
#include "symbols/demangle.h"

/* Tells whether a function allocates for its caller. */
static bool is_allocator_name(const char *name)
{
    static const char *const names[] = {
        "malloc",        "calloc",  "realloc",      "reallocarray",
        "memalign",      "valloc",  "pvalloc",      "posix_memalign",
        "aligned_alloc", "imalloc", "imalloc_body", "imalloc_no_sample",
    };
    static const char *const prefixes[] = {
        "operator new",    "je_",
        "_rjem_",          "prof_backtrace",
        "hs_record_",      "heapsnap_record",
        "__libc_malloc",   "PyObject_Malloc",
        "PyObject_Calloc", "PyObject_Realloc",
        "PyMem_Malloc",    "PyMem_Calloc",
        "PyMem_Realloc",   "PyMem_Raw",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static hs_status name_by_locals(struct hs_native *native, const struct hs_locals *locals,
                                struct hs_native_place *place, struct hs_error *err)
{
    char function[HS_VARIABLE_NAME_BYTES];

    for (size_t i = 0; i < locals->n_chain; i++) {
        const struct hs_inlined *inlined = &locals->chain[i];
        struct hs_site_frame frame = {.line = inlined->line};
        function[0] = '\0';
        if (inlined->function != NULL && inlined->function[0] != '\0')
            hs_demangle(inlined->function, function, sizeof function);
        HS_TRY(hs_strtab_add(&native->dump->strings, function, &frame.function, err));
        HS_TRY(hs_strtab_add(&native->dump->strings, inlined->file, &frame.file, err));
        place->frames[place->n_frames++] = frame;
    }
    return HS_OK;
}

static hs_status name_by_symbol(struct hs_native *native, struct hs_native_place *place,
                                struct hs_error *err)
{
    const struct hs_object *object = place->object;
    const struct hs_elf_symbol *symbol =
        object == NULL
            ? NULL
            : hs_elf_symbol_at(hs_native_symbols(object), place->address - 1 - object->bias, NULL);
    char function[HS_VARIABLE_NAME_BYTES] = "";

    if (symbol != NULL)
        hs_native_symbol_name(symbol->name, function, sizeof function);
    place->frames[0] = (struct hs_site_frame){0};
    place->n_frames = 1;
    return hs_strtab_add(&native->dump->strings, function, &place->frames[0].function, err);
}

/* Sets module and offset of all frames, and whether the last one, the function that the code
 * belongs to, is an allocator's. */
static hs_status name_finish(struct hs_native *native, struct hs_native_place *place,
                             struct hs_error *err)
{
    const struct hs_object *object = place->object;
    hs_str module = 0;

    if (object != NULL)
        HS_TRY(hs_strtab_add(&native->dump->strings, object->name, &module, err));
    for (size_t i = 0; i < place->n_frames; i++) {
        place->frames[i].module = module;
        place->frames[i].offset = place->address - 1 - (object == NULL ? 0 : object->bias);
    }
    place->is_allocator = is_allocator_name(
        hs_strtab_get(&native->dump->strings, place->frames[place->n_frames - 1].function));
    return HS_OK;
}

hs_status hs_native_name_place(struct hs_native *native, struct hs_locals *locals,
                               struct hs_native_place *place, struct hs_error *err)
{
    place->object = hs_objects_object_at(&native->dump->objects, place->address - 1);
    place->n_frames = 0;
    hs_type_file types =
        place->object == NULL || native->of_object == NULL
            ? 0
            : native->of_object[place->object - native->dump->objects.objects].types;
    if (types != 0 && native->ctypes != NULL) {
        const struct hs_registers registers = {.value = {[HS_REG_PC] = place->address},
                                               .known = UINT64_C(1) << HS_REG_PC};
        const struct hs_memory_reader memory = hs_unwind_image_reader(&native->dump->image);
        const struct hs_frame_place at = {.file = types,
                                          .bias = place->object->bias,
                                          .registers = &registers,
                                          .is_return_address = true,
                                          .memory = &memory};
        HS_TRY(hs_locals_at(native->ctypes, &at, locals, err));
        if (locals->is_known && locals->n_chain != 0)
            HS_TRY(name_by_locals(native, locals, place, err));
    }
    if (place->n_frames == 0)
        HS_TRY(name_by_symbol(native, place, err));
    return name_finish(native, place, err);
}

hs_status hs_native_name_script(struct hs_native *native, const struct hs_sampled_by *sampler,
                                struct hs_native_place *place, struct hs_error *err)
{
    struct hs_strtab *strings = &native->dump->strings;
    struct hs_sampled_script script;
    struct hs_site_frame frame = {0};

    if (native->dump->options->no_names ||
        !hs_sampled_script(&native->dump->image, sampler, place->address, &script)) {
        HS_TRY(hs_strtab_add(strings, "[script]", &frame.function, err));
    } else {
        HS_TRY(hs_strtab_add(strings, script.function, &frame.function, err));
        HS_TRY(hs_strtab_add(strings, script.file, &frame.file, err));
        frame.line = script.line;
    }
    place->object = NULL;
    place->is_allocator = false;
    place->frames[0] = frame;
    place->n_frames = 1;
    return HS_OK;
}
