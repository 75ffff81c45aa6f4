#include "dwarf_object.h"

#include <elf.h>
#include <string.h>

#include "info_check.h"
#include "lines_check.h"

/* First the one without which the rest is of no use. */
static const char *const purpose_sections[DWARF_N_PURPOSES][DWARF_MAX_SECTIONS] = {
    [DWARF_EH_FRAME] = {".eh_frame"},
    [DWARF_DEBUG_FRAME] = {".debug_frame"},
    [DWARF_DEBUG_INFO] = {".debug_info", ".debug_abbrev", ".debug_line", ".debug_line_str",
                          ".debug_str", ".debug_str_offsets", ".debug_addr", ".debug_ranges",
                          ".debug_rnglists"},
};

static int object_section_info(void *context, compat_index number, compat_section *ret, int *error)
{
    const struct dwarf_object *object = context;
    (void)error;
    if (number >= object->n_sections)
        return DW_DLV_NO_ENTRY;
    const struct dwarf_section *s = &object->sections[number];
    compat_section_set(ret, s->name, s->vaddr, s->n_bytes, number == 0 ? SHT_NULL : SHT_PROGBITS);
    return DW_DLV_OK;
}

static int object_load_section(void *context, compat_index number, Dwarf_Small **ret, int *error)
{
    const struct dwarf_object *object = context;
    (void)error;
    if (number == 0 || number >= object->n_sections || object->sections[number].n_bytes == 0)
        return DW_DLV_NO_ENTRY;
    *ret = (Dwarf_Small *)(uintptr_t)object->sections[number].bytes; /* only read: no relocation */
    return DW_DLV_OK;
}

static compat_endianness object_byte_order(void *context)
{
    (void)context;
    return COMPAT_LITTLE_ENDIAN;
}

static Dwarf_Small object_word_size(void *context)
{
    (void)context;
    return 8;
}

static Dwarf_Unsigned object_section_count(void *context)
{
    return ((const struct dwarf_object *)context)->n_sections;
}

#if HS_LIBDWARF_NEW_API
static Dwarf_Unsigned object_file_size(void *context)
{
    const struct dwarf_object *object = context;
    Dwarf_Unsigned n = 0;
    for (size_t i = 0; i < object->n_sections; i++)
        n += object->sections[i].n_bytes;
    return n;
}

static const compat_methods object_methods = {
    .om_get_section_info = object_section_info,
    .om_get_byte_order = object_byte_order,
    .om_get_length_size = object_word_size,
    .om_get_pointer_size = object_word_size,
    .om_get_filesize = object_file_size,
    .om_get_section_count = object_section_count,
    .om_load_section = object_load_section,
};
#else
static const compat_methods object_methods = {
    .get_section_info = object_section_info,
    .get_byte_order = object_byte_order,
    .get_length_size = object_word_size,
    .get_pointer_size = object_word_size,
    .get_section_count = object_section_count,
    .load_section = object_load_section,
};
#endif

bool hs_dwarf_object_present_(const struct hs_elf *elf, enum dwarf_purpose purpose)
{
    struct hs_elf_section section;
    return hs_elf_section_named(elf, purpose_sections[purpose][0], &section) &&
           section.is_in_file && section.n_bytes != 0;
}

const struct dwarf_section *hs_dwarf_object_section_(const struct dwarf_object *object,
                                                     const char *name)
{
    for (size_t i = 1; i < object->n_sections; i++)
        if (strcmp(object->sections[i].name, name) == 0)
            return &object->sections[i];
    return NULL;
}

static hs_status object_add(struct dwarf_object *object, struct hs_elf *elf, const char *name,
                            struct hs_error *err)
{
    struct hs_elf_section section;
    if (!hs_elf_section_named(elf, name, &section) || !section.is_in_file)
        return hs_fail(err, HS_FORMAT, "'%s' has no section '%s'", hs_elf_name(elf), name);
    struct dwarf_section *s = &object->sections[object->n_sections];
    HS_TRY(hs_elf_section_bytes_named(elf, name, &s->bytes, &s->n_bytes, err));
    if (strcmp(name, ".debug_rnglists") == 0 && !hs_lines_check_ranges_(s->bytes, s->n_bytes))
        return hs_fail(err, HS_FORMAT, "'%s' of '%s' is damaged", name, hs_elf_name(elf));
    s->name = name;
    s->vaddr = section.vaddr;
    object->n_sections++;
    return HS_OK;
}

hs_status hs_dwarf_object_open_(struct hs_elf *elf, enum dwarf_purpose purpose,
                                struct dwarf_object *ret, struct hs_error *err)
{
    const char *const *names = purpose_sections[purpose];
    *ret = (struct dwarf_object){.n_sections = 1, .sections = {{.name = ""}}};
    HS_TRY(object_add(ret, elf, names[0], err));
    if (purpose == DWARF_DEBUG_INFO) {
        bool is_good = false;
        HS_TRY(hs_info_check_(elf, &is_good, err));
        if (!is_good)
            return hs_fail(err, HS_FORMAT, "'%s' of '%s' is damaged", names[0], hs_elf_name(elf));
    }
    for (size_t i = 1; i < DWARF_MAX_SECTIONS - 1 && names[i] != NULL; i++) {
        struct hs_error ignored = HS_ERROR_INIT;
        if (object_add(ret, elf, names[i], &ignored) == HS_LIMIT)
            return hs_fail(err, HS_LIMIT, "%s", ignored.message);
    }
#if HS_LIBDWARF_NEW_API
    ret->interface = (compat_interface){.ai_object = ret, .ai_methods = &object_methods};
#else
    ret->interface = (compat_interface){.object = ret, .methods = &object_methods};
#endif
    Dwarf_Error error = NULL;
    int res =
        dwarf_object_init_b(&ret->interface, NULL, NULL, DW_GROUPNUMBER_BASE, &ret->dbg, &error);
    if (res == DW_DLV_OK)
        return HS_OK;
    hs_status status = hs_fail(err, HS_FORMAT, "'%s' has no usable '%s': %s", hs_elf_name(elf),
                               names[0], error == NULL ? "nothing in it" : dwarf_errmsg(error));
    compat_error_drop(NULL, &error);
    ret->dbg = NULL;
    return status;
}

void hs_dwarf_object_close_(struct dwarf_object *object)
{
    if (object->dbg != NULL)
        compat_finish(object->dbg);
    *object = (struct dwarf_object){0};
}
