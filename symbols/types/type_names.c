/* The names of types. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "pool.h"

enum { NAMES_MAX_SUFFIXES = 32 };

bool hs_language_is_c_(uint16_t language)
{
    return language == DW_LANG_C89 || language == DW_LANG_C || language == DW_LANG_C99 ||
           language == DW_LANG_C11 || language == DW_LANG_ObjC || language == 0x2c; /* C17 */
}

static const char *name_keyword(uint16_t tag)
{
    switch (tag) {
    case DW_TAG_structure_type:
        return "struct ";
    case DW_TAG_union_type:
        return "union ";
    case DW_TAG_enumeration_type:
        return "enum ";
    default:
        return "";
    }
}

static const char *name_of_nameless(uint16_t tag)
{
    switch (tag) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
        return "struct {...}";
    case DW_TAG_union_type:
        return "union {...}";
    case DW_TAG_enumeration_type:
        return "enum {...}";
    case DW_TAG_subroutine_type:
        return "function";
    case DW_TAG_ptr_to_member_type:
        return "pointer to member";
    case DW_TAG_unspecified_type:
        return "void";
    default:
        return "?";
    }
}

/* Tells whether a class without a name is a closure of C++: it has a call operator. */
static bool name_is_closure(struct debug_info *info, const struct debug_entry *class)
{
    struct debug_walk walk = hs_walk_begin_(info, class);
    struct debug_entry entry;
    if (class->tag != DW_TAG_structure_type && class->tag != DW_TAG_class_type)
        return false;
    while (hs_walk_next_(&walk, &entry)) {
        const char *name = hs_entry_text_(info, &entry, DW_AT_name);
        if (entry.tag == DW_TAG_subprogram && name != NULL && strcmp(name, "operator()") == 0)
            return true;
        hs_walk_skip_(&walk, &entry);
    }
    return false;
}

/* Names a closure by the function that it is made in: "Shop::fill::<lambda>". */
static size_t name_closure(struct hs_ctypes *types, hs_type_file file,
                           const struct debug_entry *entry, char *text, size_t n_text)
{
    static const char lambda[] = "<lambda>";
    char raw[CTYPES_MAX_NAME];
    struct debug_entry scope;
    size_t n = 0;
    if (hs_ctypes_scope_around_(types, file, entry, &scope) &&
        hs_ctypes_qualified_(types, file, &scope, raw, sizeof(raw)) > 0)
        n = hs_ctypes_pretty_(raw, text, n_text);
    if (n != 0 && n + 2 < n_text) {
        memcpy(text + n, "::", 3);
        n += 2;
    }
    if (n + sizeof lambda > n_text)
        return n;
    memcpy(text + n, lambda, sizeof lambda);
    return n + sizeof lambda - 1;
}

/* The name of a type with an entry and a name of its own. */
static size_t name_own(struct hs_ctypes *types, const struct ctypes_type *type, char *text,
                       size_t n_text)
{
    char raw[CTYPES_MAX_NAME];
    struct debug_entry entry;
    struct debug_info *info = hs_ctypes_info_(types, type->file);
    if (info == NULL || !hs_entry_read_(info, type->die, &entry))
        return (size_t)snprintf(text, n_text, "?");
    const char *keyword = hs_language_is_c_(entry.unit->language) ? name_keyword(entry.tag) : "";
    size_t n = 0;
    if (hs_ctypes_qualified_(types, type->file, &entry, raw, sizeof(raw)) > 0) {
        n = (size_t)snprintf(text, n_text, "%s", keyword);
        return n + hs_ctypes_pretty_(raw, text + n, n_text - n);
    }
    if (type->alias == NULL && name_is_closure(info, &entry))
        return name_closure(types, type->file, &entry, text, n_text);
    const char *name = type->alias != NULL ? type->alias : name_of_nameless(entry.tag);
    n = strnlen(name, n_text - 1);
    memcpy(text, name, n);
    text[n] = '\0';
    return n;
}

/* Tells whether the name of this one is made from the name of what it is of. */
static bool name_is_made(struct hs_ctypes *types, const struct ctypes_type *type)
{
    struct debug_entry entry;
    struct debug_info *info = hs_ctypes_info_(types, type->file);
    if (type->kind == HS_CTYPE_ARRAY)
        return true;
    if (type->kind != HS_CTYPE_POINTER && (type->flags & TYPE_CODE) == 0)
        return false;
    if (type->of == 0 && type->kind != HS_CTYPE_POINTER)
        return false;
    return type->die == 0 || info == NULL || !hs_entry_read_(info, type->die, &entry) ||
           !hs_entry_has_(info, &entry, DW_AT_name);
}

struct names_suffix {
    char text[32];
    bool is_array;
};

static struct names_suffix name_suffix(const struct ctypes_type *type)
{
    struct names_suffix suffix = {.is_array = type->kind == HS_CTYPE_ARRAY};
    if (suffix.is_array && type->n_elements != 0)
        snprintf(suffix.text, sizeof(suffix.text), "[%llu]", (unsigned long long)type->n_elements);
    else if (suffix.is_array)
        snprintf(suffix.text, sizeof(suffix.text), "[]");
    else if ((type->flags & TYPE_REFERENCE) != 0)
        snprintf(suffix.text, sizeof(suffix.text), "&");
    else
        snprintf(suffix.text, sizeof(suffix.text), "*");
    return suffix;
}

/* Adds "*", "&" or "[n]" to a name: "char **", "int [2][3]" (the outer dimension first). */
static size_t name_add(char *text, size_t n, size_t n_text, const struct names_suffix *suffix,
                       size_t *arrays_at)
{
    size_t n_suffix = strlen(suffix->text);
    bool is_tight = n > 0 && (text[n - 1] == '*' || text[n - 1] == '&') && !suffix->is_array;
    if (suffix->is_array && *arrays_at == 0) {
        if (n + 1 >= n_text)
            return n;
        text[n++] = ' ';
        *arrays_at = n;
    } else if (!suffix->is_array) {
        if (!is_tight && n + 1 < n_text)
            text[n++] = ' ';
        *arrays_at = 0;
    }
    size_t at = suffix->is_array ? *arrays_at : n;
    if (n + n_suffix >= n_text)
        return n;
    memmove(text + at + n_suffix, text + at, n - at);
    memcpy(text + at, suffix->text, n_suffix);
    text[n + n_suffix] = '\0';
    return n + n_suffix;
}

static size_t name_make(struct hs_ctypes *types, hs_ctype number, char *text, size_t n_text)
{
    struct names_suffix suffixes[NAMES_MAX_SUFFIXES];
    size_t n_suffixes = 0, arrays_at = 0, n;
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    while (n_suffixes < NAMES_MAX_SUFFIXES && number != 0 && name_is_made(types, &type)) {
        suffixes[n_suffixes++] = name_suffix(&type);
        number = type.of;
        type = *hs_ctypes_get_(types, number);
    }
    if (number == 0)
        n = (size_t)snprintf(text, n_text, "%s", n_suffixes > 0 ? "void" : "?");
    else if (type.name != NULL)
        n = (size_t)snprintf(text, n_text, "%s", type.name);
    else
        n = name_own(types, &type, text, n_text);
    n = n < n_text ? n : n_text - 1;
    while (n_suffixes > 0)
        n = name_add(text, n, n_text, &suffixes[--n_suffixes], &arrays_at);
    return n;
}

const char *hs_ctypes_type_name_(struct hs_ctypes *types, hs_ctype number)
{
    char text[CTYPES_MAX_NAME];
    const struct ctypes_type *type = hs_ctypes_get_(types, number);
    if ((type->flags & TYPE_HAS_NAME) == 0) {
        size_t n = name_make(types, number, text, sizeof(text));
        const char *name = hs_ctypes_keep_(types, text, n);
        struct ctypes_type *named = hs_ctypes_get_(types, number);
        named->flags |= TYPE_HAS_NAME;
        named->name = name;
        type = named;
    }
    return type->name == NULL ? "?" : type->name;
}
