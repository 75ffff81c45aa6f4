/* Facts of types, and what a place in a value is called. */
#include <stdio.h>
#include <string.h>

#include "base/bisect.h"
#include "containers.h"
#include "pool.h"

enum { PLACE_MAX_MEMBERS = 1 << 16, PLACE_MAX_ALTERNATIVES = 4 }; /* looked at for one name */

void hs_ctype_facts(struct hs_ctypes *types, hs_ctype number, struct hs_ctype_facts *ret)
{
    hs_ctypes_trim_(types);
    const char *name = hs_ctypes_type_name_(types, number);
    uint64_t n_bytes = hs_ctypes_size_(types, number);
    const struct ctypes_type *type = hs_ctypes_get_(types, number);
    *ret = (struct hs_ctype_facts){.name = name,
                                   .n_bytes = n_bytes,
                                   .of = type->of,
                                   .n_elements = type->n_elements,
                                   .alias = type->kind == HS_CTYPE_RECORD ? type->alias : NULL,
                                   .kind = type->kind,
                                   .is_declaration = (type->flags & TYPE_DECLARED) != 0,
                                   .is_text = (type->flags & TYPE_TEXT) != 0,
                                   .may_free = (type->flags & TYPE_FREES) != 0};
}

bool hs_ctypes_is_opaque(struct hs_ctypes *types, hs_ctype number)
{
    const struct ctypes_type *type = hs_ctypes_get_(types, number);

    return type->kind == HS_CTYPE_RECORD && (type->flags & TYPE_DECLARED) != 0;
}

bool hs_ctypes_same(struct hs_ctypes *types, hs_ctype a, hs_ctype b)
{
    if (a == b)
        return true;
    if (a == 0 || b == 0 || a >= types->n_types || b >= types->n_types)
        return false;
    const char *name_a = hs_ctypes_type_name_(types, a), *name_b = hs_ctypes_type_name_(types, b);
    if (hs_ctypes_size_(types, a) != hs_ctypes_size_(types, b) || strcmp(name_a, name_b) != 0)
        return false;
    struct ctypes_type s = *hs_ctypes_get_(types, a), t = *hs_ctypes_get_(types, b);
    if (s.kind != t.kind || s.n_members != t.n_members || s.n_elements != t.n_elements)
        return false;
    for (uint32_t i = 0; i < s.n_members; i++) {
        const struct ctypes_member *m = &types->members[s.first_member + i],
                                   *n = &types->members[t.first_member + i];
        if (m->offset != n->offset || strcmp(m->name, n->name) != 0)
            return false;
    }
    return true;
}

struct place_text {
    char *text;
    size_t n, room; /* without the NUL */
};

static void place_put(struct place_text *t, const char *part)
{
    for (; *part != '\0' && t->n < t->room; part++)
        t->text[t->n++] = *part;
}

/* The flat slot of a type at `offset`, or NULL. */
static const struct hs_cslot *slot_at(struct hs_ctypes *types, hs_ctype type, uint64_t offset)
{
    size_t n;
    bool is_cut;
    const struct hs_cslot *slots = hs_ctypes_slots(types, type, &n, &is_cut);
    size_t low = HS_FIRST_NOT(at, 0, n, slots[at].offset_bytes < offset);
    return low < n && slots[low].offset_bytes == offset ? &slots[low] : NULL;
}

static bool member_covers(struct hs_ctypes *types, const struct ctypes_member *member,
                          uint64_t offset)
{
    if (offset < member->offset)
        return false;
    const struct ctypes_type *part = hs_ctypes_get_(types, member->type);
    bool is_hidden = part->kind == HS_CTYPE_RECORD && part->n_bytes == 0 && part->definition == 0 &&
                     (part->flags & TYPE_DECLARED) != 0;
    bool is_open = part->kind == HS_CTYPE_ARRAY && part->n_elements == 0;
    return is_open || is_hidden || offset - member->offset < hs_ctypes_size_(types, member->type);
}

/* The member that holds `offset`. Of several (a union's; empty base classes have a byte too) the
 * first with a pointer there. */
static bool place_member(struct hs_ctypes *types, const struct ctypes_type *type, uint64_t offset,
                         struct ctypes_member *ret)
{
    size_t n_found = 0;
    for (uint32_t i = 0; i < type->n_members && i < PLACE_MAX_MEMBERS; i++) {
        struct ctypes_member member = types->members[type->first_member + i];
        if (!member_covers(types, &member, offset))
            continue;
        if (n_found == 0)
            *ret = member;
        else if (n_found == 1 && slot_at(types, ret->type, offset - ret->offset) != NULL)
            return true;
        if (n_found > 0 && slot_at(types, member.type, offset - member.offset) != NULL) {
            *ret = member;
            return true;
        }
        n_found++;
    }
    return n_found > 0;
}

static void place_put_name(struct place_text *t, const char *name)
{
    if (*name != '\0' && t->n > 0)
        place_put(t, ".");
    place_put(t, name);
}

/* A member of `type`, as people would call it. Raw storage of a container's node is passed through:
 * its value is what stands there. */
static void place_put_member(struct hs_ctypes *types, struct place_text *t, hs_ctype type,
                             const char *before, const struct ctypes_member *member)
{
    if (hs_ctypes_rule_storage_(hs_ctypes_get_(types, member->type)->rule) >= 0)
        return;
    const char *name = hs_ctypes_rule_member_(types, type, before, member->name);
    if (name != NULL)
        place_put_name(t, name);
}

/* Names of what is in one place, each once. */
struct place_names {
    const char *names[PLACE_MAX_ALTERNATIVES];
    size_t n, n_more; /* more than fit */
};

static void names_add(struct place_names *names, const char *name)
{
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(names->names[i], name) == 0)
            return;
    if (names->n < PLACE_MAX_ALTERNATIVES)
        names->names[names->n++] = name;
    else
        names->n_more++;
}

/* "Str|Arr" */
static void place_put_names(struct place_text *t, const struct place_names *names)
{
    for (size_t i = 0; i < names->n; i++) {
        if (i == 0)
            place_put_name(t, names->names[i]);
        else
            place_put(t, "|");
        place_put(t, i == 0 ? "" : names->names[i]);
    }
    place_put(t, names->n_more != 0 ? "|..." : "");
}

/* Writes the names of the alternatives of an enumeration that have a pointer there, or of a union,
 * when it has pointers to several types. Where the alternatives themselves tell nothing, what is in
 * them is called: the variables of an async function, of which each state has some. False when one
 * name is all; then it is gone into. */
static bool place_put_alternatives(struct hs_ctypes *types, struct place_text *t, hs_ctype number,
                                   const char *before, uint64_t offset)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    const struct hs_cslot *slot = slot_at(types, number, offset);
    bool is_told = true, is_hidden = false, is_one = slot == NULL || slot->pointee != 0;
    struct place_names names = {.n = 0}, inside = {.n = 0};
    size_t n = 0;
    for (uint32_t i = 0; i < type.n_members && i < PLACE_MAX_MEMBERS; i++) {
        struct ctypes_member member = types->members[type.first_member + i], inner = {.name = ""};
        if (!member_covers(types, &member, offset) ||
            slot_at(types, member.type, offset - member.offset) == NULL)
            continue;
        const char *name = hs_ctypes_rule_member_(types, number, before, member.name);
        struct ctypes_type part = *hs_ctypes_get_(types, member.type);
        is_told &= member.n_whens != 0;
        is_hidden |= name == NULL || *name == '\0';
        names_add(&names, name == NULL ? "" : name);
        (void)place_member(types, &part, offset - member.offset, &inner);
        names_add(&inside, inner.name == NULL ? "" : inner.name);
        n++;
    }
    bool is_called = inside.n != 0 && *inside.names[0] != '\0' && *inside.names[0] != '_';
    if (n < 2 || (!is_told && (is_hidden || is_one)) || (is_hidden && is_called && inside.n == 1))
        return false;
    if (!is_hidden)
        place_put_names(t, &names);
    else if (is_called) /* Ok and Err have __0 in them */
        place_put_names(t, &inside);
    return true;
}

size_t hs_ctypes_place(struct hs_ctypes *types, hs_ctype number, uint64_t offset, char *text,
                       size_t n_bytes, hs_ctype *ret_type)
{
    struct place_text t = {text, 0, n_bytes == 0 ? 0 : n_bytes - 1};
    hs_ctypes_trim_(types);
    const char *before = "";
    char index[32];
    for (int hop = 0; hop < CTYPES_MAX_HOPS; hop++) {
        struct ctypes_type type = *hs_ctypes_get_(types, number);
        struct ctypes_member member = {0};
        if (type.kind == HS_CTYPE_ARRAY) {
            uint64_t stride = hs_ctypes_size_(types, type.of);
            if (stride == 0 || (type.n_elements != 0 && offset / stride >= type.n_elements))
                break;
            snprintf(index, sizeof(index), "[%llu]", (unsigned long long)(offset / stride));
            place_put(&t, index);
            offset %= stride;
            number = type.of;
        } else if (type.kind == HS_CTYPE_UNION &&
                   place_put_alternatives(types, &t, number, before, offset)) {
            number = 0;
            break;
        } else if ((type.kind == HS_CTYPE_RECORD || type.kind == HS_CTYPE_UNION) &&
                   place_member(types, &type, offset, &member)) {
            place_put_member(types, &t, number, before, &member);
            before = *member.name == '\0' ? before : member.name;
            offset -= member.offset;
            number = member.type;
        } else {
            break;
        }
    }
    if (n_bytes > 0)
        text[t.n] = '\0';
    if (ret_type != NULL)
        *ret_type = number;
    return t.n;
}

/* The one member of a union, or alternative of an enumeration, that has a pointer there. */
static bool only_alternative(struct hs_ctypes *types, const struct ctypes_type *type,
                             uint64_t offset, struct ctypes_member *ret)
{
    size_t n = 0;
    for (uint32_t i = 0; i < type->n_members && i < PLACE_MAX_MEMBERS; i++) {
        struct ctypes_member member = types->members[type->first_member + i];
        if (!member_covers(types, &member, offset) ||
            slot_at(types, member.type, offset - member.offset) == NULL)
            continue;
        *ret = member;
        n++;
    }
    return n == 1;
}

size_t hs_ctypes_around(struct hs_ctypes *types, hs_ctype number, uint64_t offset,
                        hs_ctype ret[HS_CTYPE_MAX_AROUND], bool *ret_is_whole)
{
    size_t n = 0;
    hs_ctypes_trim_(types);
    *ret_is_whole = false;
    while (n < HS_CTYPE_MAX_AROUND) {
        struct ctypes_type type = *hs_ctypes_get_(types, number);
        struct ctypes_member member = {0};
        ret[n++] = number;
        if (type.kind == HS_CTYPE_ARRAY) {
            uint64_t stride = hs_ctypes_size_(types, type.of);
            if (stride == 0 || (type.n_elements != 0 && offset / stride >= type.n_elements))
                return n;
            offset %= stride;
            number = type.of;
        } else if (type.kind == HS_CTYPE_RECORD || type.kind == HS_CTYPE_UNION) {
            if (!(type.kind == HS_CTYPE_RECORD ? place_member(types, &type, offset, &member)
                                               : only_alternative(types, &type, offset, &member)))
                return n;
            offset -= member.offset;
            number = member.type;
        } else {
            *ret_is_whole = type.kind == HS_CTYPE_POINTER && offset == 0;
            return n;
        }
    }
    return n;
}
