/* Labels of frames: function, source, what was inlined; else the symbol; else the place. */
#include "frames_label.h"

#include <stdio.h>
#include <string.h>

#include "globals.h"
#include "process/unwind.h"
#include "symbols/demangle.h"
#include "tiers.h"

enum { LABEL_BYTES = 768, LABEL_INLINED = 3 };

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Appends a place: " (server.c:4021)" or "". */
static void append_place(char *text, size_t n, const char *file, uint32_t line)
{
    size_t at = strlen(text);
    if (file == NULL || file[0] == '\0')
        return;
    if (line != 0)
        snprintf(text + at, n - at, " (%s:%u)", base_name(file), line);
    else
        snprintf(text + at, n - at, " (%s)", base_name(file));
}

static hs_status intern(struct hs_native *native, const char *text, hs_str *ret,
                        struct hs_error *err)
{
    return hs_strtab_add(&native->dump->strings, text, ret, err);
}

/* Labels a call that is described: "#3 processCommand (server.c:4021), inlined lookupKey (db.c:60)"
 */
static hs_status label_described(const struct hs_frames *f, const struct hs_locals *locals,
                                 struct hs_native_frame_label *ret, struct hs_error *err)
{
    const struct hs_inlined *real = &locals->chain[locals->n_chain - 1];
    char text[LABEL_BYTES], function[HS_VARIABLE_NAME_BYTES];
    hs_demangle(real->function != NULL ? real->function : "?", function, sizeof function);
    snprintf(text, sizeof text, "#%u %s", f->number, function);
    append_place(text, sizeof text, real->file, real->line);
    for (size_t i = locals->n_chain - 1; i > 0 && locals->n_chain - i <= LABEL_INLINED; i--) {
        const struct hs_inlined *inlined = &locals->chain[i - 1];
        char name[HS_VARIABLE_NAME_BYTES];
        size_t at = strlen(text);
        hs_demangle(inlined->function != NULL ? inlined->function : "?", name, sizeof name);
        snprintf(text + at, sizeof text - at, ", inlined %s", name);
        append_place(text, sizeof text, inlined->file, inlined->line);
    }
    ret->line = real->line;
    HS_TRY(intern(f->native, function, &ret->function, err));
    HS_TRY(intern(f->native, real->file, &ret->file, err));
    return intern(f->native, text, &ret->unit, err);
}

/* Returns where the function that holds `pc` begins in its file, by the frame tables, so that all
 * its frames have one name. */
static hs_addr function_begin(const struct hs_object *object, hs_addr pc)
{
    hs_addr begin, end, vaddr = pc - object->bias;
    return object->cfi != NULL && hs_cfi_function_at(object->cfi, vaddr, &begin, &end) ? begin
                                                                                       : vaddr;
}

/* Labels a call by its symbol: "#3 malloc in libc.so.6", "#3 libfoo.so+0x1230", "#3 code at
 * 0x7f..." */
static hs_status label_by_symbol(const struct hs_frames *f, const struct hs_object *object,
                                 struct hs_native_frame_label *ret, struct hs_error *err)
{
    hs_addr pc = f->r.value[HS_REG_PC] - (f->is_return_address ? 1 : 0);
    char function[HS_VARIABLE_NAME_BYTES];
    const struct hs_elf_symbol *symbol =
        object == NULL ? NULL
                       : hs_elf_symbol_at(hs_native_symbols(object), pc - object->bias, NULL);
    if (object == NULL)
        snprintf(function, sizeof function, "code at 0x%llx",
                 (unsigned long long)f->r.value[HS_REG_PC]);
    else if (symbol == NULL)
        snprintf(function, sizeof function, "%s+0x%llx", object->name,
                 (unsigned long long)function_begin(object, pc));
    else
        hs_native_symbol_name(symbol->name, function, sizeof function);
    HS_TRY(intern(f->native, function, &ret->function, err));
    if (symbol == NULL || object->is_executable)
        return hs_native_name(f->native, &ret->unit, err, "#%u %s", f->number, function);
    return hs_native_name(f->native, &ret->unit, err, "#%u %s in %s", f->number, function,
                          object->name);
}

static bool is_called_by_main(const struct hs_frames *f)
{
    if (!hs_register_known(&f->step.caller, HS_REG_PC))
        return false;
    hs_addr pc = f->step.caller.value[HS_REG_PC] - 1;
    const struct hs_object *object = hs_objects_object_at(&f->native->dump->objects, pc);
    const struct hs_elf_symbol *symbol =
        object == NULL ? NULL
                       : hs_elf_symbol_at(hs_native_symbols(object), pc - object->bias, NULL);
    return symbol != NULL && strcmp(symbol->name, "main") == 0;
}

hs_status hs_native_label_frame(const struct hs_frames *frames, struct hs_locals *locals,
                                struct hs_native_frame_label *ret, struct hs_error *err)
{
    struct hs_native *native = frames->native;
    struct hs_native_frame_label label = {.number = frames->number};
    const struct hs_object *object = hs_objects_object_at(
        &native->dump->objects, frames->r.value[HS_REG_PC] - (frames->is_return_address ? 1 : 0));
    size_t number = object == NULL ? 0 : (size_t)(object - native->dump->objects.objects);
    hs_type_file types = object == NULL ? 0 : native->of_object[number].types;
    if (object != NULL)
        HS_TRY(intern(native, object->name, &label.module, err));
    if (object != NULL && hs_native_is_interpreters(native, number))
        label.tier = HS_TIER_RUNTIME;
    if (locals != NULL && native->ctypes != NULL && types != 0) {
        const struct hs_memory_reader memory = hs_unwind_image_reader(&native->dump->image);
        struct hs_frame_place place = {.file = types,
                                       .bias = object->bias,
                                       .registers = &frames->r,
                                       .is_return_address = frames->is_return_address,
                                       .cfa = frames->step.cfa,
                                       .memory = &memory,
                                       .caller = &frames->step.caller};
        HS_TRY(hs_locals_at(native->ctypes, &place, locals, err));
        label.has_locals = locals->is_known && locals->n_chain != 0;
        label.is_c = locals->is_c;
    }
    if (label.has_locals)
        HS_TRY(label_described(frames, locals, &label, err));
    else
        HS_TRY(label_by_symbol(frames, object, &label, err));
    label.is_main = strcmp(hs_strtab_get(&native->dump->strings, label.function), "main") == 0;
    if (label.is_main)
        label.n_outer = 2;
    else if (is_called_by_main(frames))
        label.n_outer = 1;
    *ret = label;
    return HS_OK;
}
