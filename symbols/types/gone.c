/* Slots of C and C++ that an enumeration marks as deleted: { enum state state; T *value; }, of
 * which `state` is DELETED. What was in the slot stays there, and is no longer its own. It is known
 * by the names of enumerators alone, so such a pointer still keeps what nothing surer leads to. */
#include <dwarf.h>
#include <string.h>
#include <strings.h>

#include "pool.h"

enum { GONE_MOST_MEMBERS = 8, GONE_MOST_NAMES = 16, GONE_MOST_STATES = 4 };

/* Tells whether the last word of a name is one of these: "SLOT_DELETED", "kSlotDeleted". */
static bool gone_is_name(const char *name)
{
    static const char *const words[] = {"deleted", "tombstone", "erased", "vacant", "empty"};
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n_word = strlen(words[i]);
        if (n < n_word || strcasecmp(name + n - n_word, words[i]) != 0)
            continue;
        char first = name[n - n_word], before = n == n_word ? '_' : name[n - n_word - 1];
        if (before == '_' || (first >= 'A' && first <= 'Z' && before >= 'a' && before <= 'z'))
            return true;
    }
    return false;
}

/* Finds the values of an enumeration that say that nothing is there. Returns how many; 0 as well
 * where all say so, or it is no enumeration, or one of many names. */
static size_t gone_states(struct hs_ctypes *types, const struct ctypes_type *type,
                          uint64_t ret[GONE_MOST_STATES])
{
    struct debug_info *info = type->die == 0 ? NULL : hs_ctypes_info_(types, type->file);
    struct debug_entry top, entry;
    size_t n = 0, n_names = 0;

    if (info == NULL || !hs_entry_read_(info, type->die, &top) ||
        top.tag != DW_TAG_enumeration_type)
        return 0;
    struct debug_walk walk = hs_walk_begin_(info, &top);
    while (n_names <= GONE_MOST_NAMES && hs_walk_next_(&walk, &entry)) {
        const char *name =
            entry.tag == DW_TAG_enumerator ? hs_entry_text_(info, &entry, DW_AT_name) : NULL;
        uint64_t value;
        n_names += name != NULL;
        if (name == NULL || !gone_is_name(name) ||
            !hs_entry_number_(info, &entry, DW_AT_const_value, &value))
            continue;
        if (n == GONE_MOST_STATES)
            return 0;
        ret[n++] = value;
    }
    return n < n_names && n_names <= GONE_MOST_NAMES ? n : 0;
}

/* Adds the conditions that the number at `offset` is none of these. */
static bool gone_whens(struct hs_ctypes *types, uint64_t offset, uint64_t n_bytes,
                       const uint64_t *states, size_t n)
{
    uint64_t most = n_bytes == 8 ? UINT64_MAX : (UINT64_C(1) << 8 * n_bytes) - 1;

    for (size_t i = 0; i < n; i++) {
        const struct ctypes_when when = {(int64_t)offset, states[i] & most, states[i] & most,
                                         (uint8_t)n_bytes, WHEN_IS_NOT};
        if (!hs_ctypes_when_add_(types, &when))
            return false;
    }
    return true;
}

void hs_ctypes_mark_gone_(struct hs_ctypes *types, const struct ctypes_type *type)
{
    uint64_t states[GONE_MOST_STATES], offset = 0, n_bytes = 0;
    size_t n_pointers = 0, n_enums = 0, n = 0;

    if (type->kind != HS_CTYPE_RECORD || type->rule != 0 || type->n_members > GONE_MOST_MEMBERS)
        return;
    for (uint32_t i = 0; i < type->n_members; i++)
        n_pointers += hs_ctypes_get_(types, types->members[type->first_member + i].type)->kind ==
                      HS_CTYPE_POINTER;
    for (uint32_t i = 0; n_pointers != 0 && i < type->n_members; i++) {
        const struct ctypes_member member = types->members[type->first_member + i];
        const struct ctypes_type part = *hs_ctypes_get_(types, member.type);
        size_t its = part.kind == HS_CTYPE_SCALAR ? gone_states(types, &part, states) : 0;
        if (its == 0)
            continue;
        n = its;
        n_enums++;
        offset = member.offset;
        n_bytes = hs_ctypes_size_(types, member.type);
    }
    uint32_t first = (uint32_t)types->n_whens; /* here: building a member's type may add some */
    if (n_enums != 1 || offset > INT64_MAX || n_bytes == 0 || n_bytes > 8 ||
        !gone_whens(types, offset, n_bytes, states, n))
        return;
    for (uint32_t i = 0; i < type->n_members; i++) {
        struct ctypes_member *member = &types->members[type->first_member + i];
        if (member->n_whens != 0 || hs_ctypes_get_(types, member->type)->kind != HS_CTYPE_POINTER)
            continue;
        member->first_when = first;
        member->n_whens = (uint32_t)n;
    }
}
