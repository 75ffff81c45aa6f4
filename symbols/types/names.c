/* The names of entries. */
#include <dwarf.h>
#include <string.h>

#include "base/bisect.h"
#include "pool.h"

enum { NAMES_MAX_PARTS = 48 };

/* A text that is written from its end to its beginning. */
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

/* Tells whether names of others are qualified by this. Blocks and the like are passed through. */
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

/* The place of a walk over a unit: the scopes around it. */
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
                HS_GROW(&notes->scopes, &notes->scopes_capacity, notes->n_scopes + 1, &err) !=
                    HS_OK) {
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

bool hs_ctypes_scope_around_(struct hs_ctypes *types, hs_type_file number,
                             const struct debug_entry *entry, struct debug_entry *ret)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    struct ctypes_unit *notes = hs_ctypes_unit_(types, file, entry->unit);
    if (notes == NULL)
        return false;
    if (!notes->has_scopes)
        scopes_list(types, &file->info, entry->unit, notes);
    size_t low = HS_FIRST_NOT(at, 0, notes->n_scopes, notes->scopes[at].die < entry->die);
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
        if (!hs_ctypes_scope_around_(types, file, &at, &at))
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

bool hs_language_is_cpp_(uint16_t language)
{
    return language == DW_LANG_C_plus_plus || language == DW_LANG_C_plus_plus_03 ||
           language == DW_LANG_C_plus_plus_11 || language == DW_LANG_C_plus_plus_14 ||
           language == 0x2a || language == 0x2b; /* C++17, C++20 */
}
