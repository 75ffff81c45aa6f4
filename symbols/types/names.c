/* What entries and types are called. */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "pool.h"

enum { NAMES_MAX_PARTS = 48, NAMES_MAX_SUFFIXES = 32 };

/* Text that is written from its end to its beginning. */
struct names_text {
    char text[CTYPES_MAX_NAME];
    size_t begin;
};

static void text_prepend(struct names_text *t, const char *part)
{
    size_t n = strnlen(part, CTYPES_MAX_NAME);
    if (n <= t->begin) {
        t->begin -= n;
        memcpy(t->text + t->begin, part, n);
    }
}

/* Names of others are qualified by these. Blocks and the like are passed through. */
static bool tag_is_scope(uint16_t tag)
{
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_interface_type:
    case DW_TAG_subprogram:
        return true;
    default:
        return false;
    }
}

/* Entries whose full names may be asked for. */
static bool tag_is_qualified(uint16_t tag)
{
    return tag_is_scope(tag) || tag == DW_TAG_variable || tag == DW_TAG_member ||
           tag == DW_TAG_typedef;
}

/* Where a walk over a unit stands: the scopes around it. */
struct names_walk {
    struct hs_ctypes *types;
    struct debug_info *info;
    struct ctypes_unit *notes;
    struct names_level {
        hs_die die;     /* of a scope, else 0 */
        uint32_t scope; /* its number once it is listed */
        bool is_function;
    } levels[DEBUG_MAX_DEPTH + 2];
    unsigned n_levels;
};

/* Lists the scopes around the entry at `depth`, the outermost first. */
static void walk_list_scopes(struct names_walk *w, unsigned depth)
{
    struct hs_error err = HS_ERROR_INIT;
    struct ctypes_unit *notes = w->notes;
    uint32_t parent = 0;
    for (unsigned i = 1; i < depth; i++) {
        struct names_level *level = &w->levels[i];
        if (level->die == 0)
            continue;
        if (level->scope == 0) {
            if (notes->n_scopes >= UINT32_MAX - 1 ||
                hs_grow((void **)&notes->scopes, &notes->scopes_capacity, notes->n_scopes + 1,
                        sizeof(*notes->scopes), &err) != HS_OK) {
                hs_ctypes_out_(w->types);
                return;
            }
            notes->scopes[notes->n_scopes++] = (struct ctypes_scope){level->die, 0, parent};
            level->scope = (uint32_t)notes->n_scopes;
        }
        parent = level->scope;
    }
}

/* The entries at `depth` and deeper have ended before `at`. */
static void walk_close(struct names_walk *w, unsigned depth, hs_die at)
{
    for (unsigned i = depth; i < w->n_levels; i++)
        if (w->levels[i].scope != 0)
            w->notes->scopes[w->levels[i].scope - 1].end = at;
    w->n_levels = depth;
}

/* Variables of functions are asked for only when they have a fixed place. */
static bool walk_wants(const struct names_walk *w, const struct debug_entry *entry, unsigned depth)
{
    struct debug_value value;
    uint64_t place;
    bool in_function = false;
    if (!tag_is_qualified(entry->tag))
        return false;
    for (unsigned i = 1; i < depth; i++)
        in_function |= w->levels[i].is_function;
    return entry->tag != DW_TAG_variable || !in_function ||
           (hs_entry_value_(w->info, entry, DW_AT_location, &value) &&
            hs_ctypes_fixed_place_(w->info, entry->unit, &value, &place) != PLACE_NONE);
}

static void scopes_list(struct hs_ctypes *types, struct debug_info *info,
                        const struct debug_unit *unit, struct ctypes_unit *notes)
{
    struct names_walk w = {.types = types, .info = info, .notes = notes, .n_levels = 1};
    struct debug_entry root, entry;
    notes->has_scopes = true;
    if (!hs_entry_read_(info, unit->root, &root))
        return;
    struct debug_walk walk = hs_walk_begin_(info, &root);
    while (hs_walk_next_(&walk, &entry)) {
        unsigned depth = walk.depth;
        if (depth < w.n_levels)
            walk_close(&w, depth, entry.die);
        if (depth > 1 && walk_wants(&w, &entry, depth))
            walk_list_scopes(&w, depth);
        bool is_scope = tag_is_scope(entry.tag);
        while (w.n_levels <= depth)
            w.levels[w.n_levels++] = (struct names_level){0};
        w.levels[depth] = (struct names_level){.die = is_scope ? entry.die : 0,
                                               .is_function = entry.tag == DW_TAG_subprogram};
    }
    walk_close(&w, 1, unit->end);
}

/* The innermost scope around an entry; false when it stands in none. */
static bool scope_around(struct hs_ctypes *types, hs_type_file number,
                         const struct debug_entry *entry, struct debug_entry *ret)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    struct ctypes_unit *notes = hs_ctypes_unit_(types, file, entry->unit);
    if (notes == NULL)
        return false;
    if (!notes->has_scopes)
        scopes_list(types, &file->info, entry->unit, notes);
    size_t low = 0, high = notes->n_scopes;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (notes->scopes[middle].die < entry->die)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t at = low; at != 0; at = notes->scopes[at - 1].parent)
        if (entry->die < notes->scopes[at - 1].end)
            return hs_entry_read_(&file->info, notes->scopes[at - 1].die, ret);
    return false;
}

size_t hs_ctypes_qualified_(struct hs_ctypes *types, hs_type_file file,
                            const struct debug_entry *entry, char *text, size_t n_text)
{
    struct names_text t = {.begin = CTYPES_MAX_NAME - 1};
    struct debug_info *info = hs_ctypes_info_(types, file);
    struct debug_entry at = *entry, holder;
    struct debug_value value;
    for (int part = 0; part < NAMES_MAX_PARTS; part++) {
        const char *name = NULL;
        if (hs_entry_inherited_(info, &at, DW_AT_name, &value, &holder)) {
            name = hs_entry_value_text_(info, &holder, &value);
            at = holder;
        } else if (at.tag == DW_TAG_namespace) {
            name = "(anonymous namespace)";
        }
        if (part == 0 && (name == NULL || *name == '\0'))
            return 0;
        if (name != NULL && *name != '\0') {
            if (part > 0)
                text_prepend(&t, "::");
            text_prepend(&t, name);
        }
        for (int hop = 0; hop < DEBUG_MAX_HOPS && hs_entry_origin_(info, &at, &at); hop++)
            continue; /* it stands where it was declared first */
        if (!scope_around(types, file, &at, &at))
            break;
    }
    size_t n = CTYPES_MAX_NAME - 1 - t.begin;
    n = n < n_text ? n : n_text - 1;
    memcpy(text, t.text + t.begin, n);
    text[n] = '\0';
    return n;
}

const char *hs_ctypes_name_of_(struct hs_ctypes *types, hs_type_file file,
                               const struct debug_entry *entry)
{
    char raw[CTYPES_MAX_NAME], text[CTYPES_MAX_NAME];
    if (hs_ctypes_info_(types, file) == NULL ||
        hs_ctypes_qualified_(types, file, entry, raw, sizeof(raw)) == 0)
        return NULL;
    size_t n = hs_ctypes_pretty_(raw, text, sizeof(text));
    return hs_ctypes_keep_(types, text, n);
}

const char *hs_ctypes_short_name_of_(struct hs_ctypes *types, hs_type_file file,
                                     const struct debug_entry *entry)
{
    struct debug_info *info = hs_ctypes_info_(types, file);
    struct debug_value value;
    struct debug_entry holder;
    if (info == NULL || !hs_entry_inherited_(info, entry, DW_AT_name, &value, &holder))
        return NULL;
    const char *name = hs_entry_value_text_(info, &holder, &value);
    return name == NULL ? NULL : hs_ctypes_keep_(types, name, CTYPES_MAX_NAME);
}

static bool language_is_c(uint16_t language)
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

/* The name of a type with an entry and a name of its own. */
static size_t name_own(struct hs_ctypes *types, const struct ctypes_type *type, char *text,
                       size_t n_text)
{
    char raw[CTYPES_MAX_NAME];
    struct debug_entry entry;
    struct debug_info *info = hs_ctypes_info_(types, type->file);
    if (info == NULL || !hs_entry_read_(info, type->die, &entry))
        return (size_t)snprintf(text, n_text, "?");
    const char *keyword = language_is_c(entry.unit->language) ? name_keyword(entry.tag) : "";
    size_t n = 0;
    if (hs_ctypes_qualified_(types, type->file, &entry, raw, sizeof(raw)) > 0) {
        n = (size_t)snprintf(text, n_text, "%s", keyword);
        return n + hs_ctypes_pretty_(raw, text + n, n_text - n);
    }
    const char *name = type->alias != NULL ? type->alias : name_of_nameless(entry.tag);
    n = strnlen(name, n_text - 1);
    memcpy(text, name, n);
    text[n] = '\0';
    return n;
}

/* Whether the name of this one is made from the name of what it is of. */
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
