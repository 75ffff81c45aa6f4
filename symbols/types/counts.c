/* Finds where containers say how many elements they have, and how many they have room for: by the
 * rules of a container (rules/rules.h), which name its members. */
#include <dwarf.h>
#include <string.h>

#include "pool.h"
#include "rules/rules.h"

enum { COUNTS_MOST_STEPS = 4096, COUNTS_STACK = 128, COUNTS_MOST_ELEMENTS = 64, COUNTS_PARTS = 16 };
enum { COUNTS_BYTE_BITS = 8, COUNTS_MOST_BITS = 63 };

struct counts_part {
    hs_ctype type;
    uint64_t offset;
    bool is_in_body;
    uint8_t n_bits; /* of a field of bits, which begins a byte; 0: it is none */
};

static struct ctypes_type counts_type(struct hs_ctypes *types, hs_ctype *number)
{
    struct ctypes_type type = *hs_ctypes_get_(types, *number);
    if (type.definition == 0)
        return type;
    *number = type.definition;
    return *hs_ctypes_get_(types, *number);
}

/* Finds a field of bits by name, which is no member elsewhere. */
static bool counts_bits(struct hs_ctypes *types, const struct ctypes_type *type, const char *name,
                        size_t n_name, struct counts_part *ret)
{
    struct debug_info *info = type->die == 0 ? NULL : hs_ctypes_info_(types, type->file);
    struct debug_entry top, entry;
    uint64_t n_bits, at;
    if (info == NULL || !hs_entry_read_(info, type->die, &top))
        return false;
    struct debug_walk walk = hs_walk_begin_(info, &top);
    bool is_it = false;
    while (!is_it && hs_walk_next_(&walk, &entry)) {
        const char *its = entry.tag == DW_TAG_member && walk.depth == 1
                              ? hs_entry_text_(info, &entry, DW_AT_name)
                              : NULL;
        is_it = its != NULL && strncmp(its, name, n_name) == 0 && its[n_name] == '\0';
        hs_walk_skip_(&walk, &entry);
    }
    if (!is_it || !hs_entry_number_(info, &entry, DW_AT_bit_size, &n_bits) ||
        !hs_entry_number_(info, &entry, DW_AT_data_bit_offset, &at) || n_bits == 0 ||
        n_bits > COUNTS_MOST_BITS || at % COUNTS_BYTE_BITS != 0)
        return false;
    ret->offset += at / COUNTS_BYTE_BITS;
    ret->n_bits = (uint8_t)n_bits;
    return true;
}

/* Finds a member by name, of a record or of what it is made of without one: its base classes. */
static bool counts_member(struct hs_ctypes *types, struct counts_part *part, const char *name,
                          size_t n_name)
{
    struct counts_part parts[COUNTS_PARTS] = {*part};
    size_t n = 1;
    for (size_t at = 0; at < n; at++) {
        struct ctypes_type type = counts_type(types, &parts[at].type);
        bool has_members = type.kind == HS_CTYPE_RECORD || type.kind == HS_CTYPE_UNION;
        for (uint32_t i = 0; has_members && i < type.n_members; i++) {
            const struct ctypes_member member = types->members[type.first_member + i];
            struct counts_part inner = {member.type, parts[at].offset + member.offset,
                                        part->is_in_body, 0};
            if (strncmp(member.name, name, n_name) == 0 && member.name[n_name] == '\0') {
                *part = inner;
                return true;
            }
            if (member.name[0] == '\0' && n < COUNTS_PARTS)
                parts[n++] = inner;
        }
        if (has_members && counts_bits(types, &type, name, n_name, &parts[at])) {
            *part = parts[at];
            return true;
        }
    }
    return false;
}

/* Finds a member by its path, of the record or, behind "->", of the body. */
static bool counts_path(struct hs_ctypes *types, hs_ctype record, const char *path,
                        struct counts_part *ret)
{
    *ret = (struct counts_part){record, 0, false, 0};
    for (const char *at = path; *at != '\0';) {
        size_t n = strcspn(at, ".-");
        if (!counts_member(types, ret, at, n))
            return false;
        at += n;
        if (*at == '-') {
            struct ctypes_type type = counts_type(types, &ret->type);
            if (type.kind != HS_CTYPE_POINTER || ret->is_in_body)
                return false;
            *ret = (struct counts_part){type.of, 0, true, 0};
            at++;
        }
        at += *at != '\0';
    }
    return true;
}

/* Finds what a pointer leads to that stands there, itself or as the first one of a record. */
static bool counts_pointer(struct hs_ctypes *types, struct counts_part *part, hs_ctype *ret_of)
{
    struct ctypes_type type = counts_type(types, &part->type);
    size_t n = 0;
    bool is_cut;
    *ret_of = type.of;
    if (type.kind == HS_CTYPE_POINTER)
        return true;
    const struct hs_cslot *slots = hs_ctypes_slots(types, part->type, &n, &is_cut);
    if (n == 0)
        return false;
    part->offset += slots[0].offset_bytes;
    *ret_of = slots[0].pointee;
    return true;
}

/* Finds a number by its path, of a size that there is; all zero without a path. */
static bool counts_number(struct hs_ctypes *types, hs_ctype record, const char *path,
                          struct hs_cnumber *ret)
{
    struct counts_part part;
    *ret = (struct hs_cnumber){0};
    if (path == NULL)
        return true;
    if (!counts_path(types, record, path, &part))
        return false;
    uint64_t n_bytes = part.n_bits == 0 ? hs_ctypes_size_(types, part.type) : 1;
    while (n_bytes * COUNTS_BYTE_BITS < part.n_bits)
        n_bytes *= 2;
    *ret = (struct hs_cnumber){part.offset, (uint8_t)n_bytes, part.n_bits, part.is_in_body};
    return n_bytes == 1 || n_bytes == 2 || n_bytes == 4 || n_bytes == 8;
}

/* Finds the iterators of a deque, which tell what its elements are. */
static bool counts_deque(struct hs_ctypes *types, hs_ctype record,
                         const struct hs_rule_container *said, struct hs_ccount *ret)
{
    static const char current[] = "_M_cur";
    struct counts_part first, last;
    hs_ctype of;
    if (!counts_path(types, record, said->entries, &first) ||
        !counts_path(types, record, said->room, &last) || first.is_in_body || last.is_in_body)
        return false;
    ret->entries.at = first.offset;
    ret->room.at = last.offset;
    if (!counts_member(types, &first, current, strlen(current)) ||
        !counts_pointer(types, &first, &of))
        return false;
    ret->element_bytes = hs_ctypes_size_(types, of);
    return ret->element_bytes != 0;
}

static bool counts_by_rule(struct hs_ctypes *types, hs_ctype record,
                           const struct hs_rule_container *said, struct hs_ccount *ret)
{
    struct counts_part body;
    hs_ctype of;
    if (!counts_path(types, record, said->body, &body) || body.is_in_body ||
        !counts_pointer(types, &body, &of))
        return false;
    *ret = (struct hs_ccount){.body_at = body.offset,
                              .by = said->by,
                              .room_by = said->room_by,
                              .element_bytes = hs_ctypes_size_(types, of)};
    if (said->by == HS_COUNT_DEQUE)
        return counts_deque(types, record, said, ret);
    if (!counts_number(types, record, said->entries, &ret->entries) ||
        !counts_number(types, record, said->less, &ret->less) ||
        !counts_number(types, record, said->room, &ret->room))
        return false;
    if (ret->entries.is_in_body || ret->room.is_in_body)
        ret->element_bytes = 0; /* it begins with a record of its own */
    return said->by != HS_COUNT_END || ret->element_bytes != 0;
}

/* Tells whether the record is a container, and then where what it counts stands, from its start. */
static bool counts_of_record(struct hs_ctypes *types, hs_ctype record,
                             const struct ctypes_type *type, struct hs_ccount *ret)
{
    struct debug_entry entry;
    struct debug_info *info = type->die == 0 ? NULL : hs_ctypes_info_(types, type->file);
    if (info == NULL || !hs_entry_read_(info, type->die, &entry))
        return false;
    const char *name = hs_ctypes_short_name_of_(types, type->file, &entry);
    unsigned language = hs_ctypes_language_(&entry);
    if (name == NULL || !hs_rules_may_type(types->rules, HS_RULE_CONTAINER, language, name))
        return false;
    const struct hs_rule *rule;
    name = hs_ctypes_name_of_(types, type->file, &entry);
    for (size_t at = 0; name != NULL && (rule = hs_rules_type_next(types->rules, HS_RULE_CONTAINER,
                                                                   language, name, &at)) != NULL;)
        if (counts_by_rule(types, record, &rule->container, ret))
            return true;
    return false;
}

static size_t counts_push(struct hs_ctypes *types, const struct counts_part *part,
                          const struct ctypes_type *type, struct counts_part *stack, size_t n)
{
    uint64_t each = type->kind == HS_CTYPE_ARRAY ? hs_ctypes_size_(types, type->of) : 0;
    uint64_t most = each == 0 ? 0 : type->n_elements;
    most = most < COUNTS_MOST_ELEMENTS ? most : COUNTS_MOST_ELEMENTS;
    for (uint64_t i = 0; i < most && n < COUNTS_STACK; i++)
        stack[n++] = (struct counts_part){type->of, part->offset + i * each, false, 0};
    /* A union of one is a member that nobody constructs by itself (messages of protobuf). */
    bool has_members =
        type->kind == HS_CTYPE_RECORD || (type->kind == HS_CTYPE_UNION && type->n_members == 1);
    for (uint32_t i = 0; has_members && i < type->n_members; i++) {
        const struct ctypes_member member = types->members[type->first_member + i];
        unsigned kind = hs_ctypes_get_(types, member.type)->kind;
        if ((kind == HS_CTYPE_RECORD || kind == HS_CTYPE_ARRAY || kind == HS_CTYPE_UNION) &&
            n < COUNTS_STACK)
            stack[n++] = (struct counts_part){member.type, part->offset + member.offset, false, 0};
    }
    return n;
}

/* Moves a number of the container with it. */
static void counts_move(struct hs_cnumber *number, uint64_t offset)
{
    number->at += number->is_in_body ? 0 : offset;
}

size_t hs_ctypes_counts(struct hs_ctypes *types, hs_ctype number,
                        struct hs_ccount ret[HS_CTYPE_MAX_COUNTS])
{
    struct counts_part stack[COUNTS_STACK] = {{number, 0, false, 0}};
    size_t n = 1, n_found = 0;
    hs_ctypes_trim_(types);
    for (unsigned step = 0; n > 0 && n_found < HS_CTYPE_MAX_COUNTS && step < COUNTS_MOST_STEPS;
         step++) {
        struct counts_part part = stack[--n];
        struct ctypes_type type = counts_type(types, &part.type);
        struct hs_ccount count;
        if (type.kind == HS_CTYPE_RECORD && counts_of_record(types, part.type, &type, &count)) {
            count.body_at += part.offset;
            counts_move(&count.entries, part.offset);
            counts_move(&count.less, part.offset);
            counts_move(&count.room, part.offset);
            ret[n_found++] = count;
        } else {
            n = counts_push(types, &part, &type, stack, n);
        }
    }
    return n_found;
}
