#include "parts.h"

#include <string.h>

#include "base/checked.h"
#include "containers.h"

static bool member_named(struct hs_ctypes *types, hs_ctype number, const char *name,
                         struct ctypes_member *ret)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    for (uint32_t i = 0; i < type.n_members; i++) {
        *ret = types->members[type.first_member + i];
        if (strcmp(ret->name, name) == 0)
            return true;
    }
    return false;
}

/* A part that is there when the condition holds; false when there is no room. */
static bool parts_add(struct hs_ctypes *types, const struct ctypes_member *part,
                      const struct ctypes_when *when, struct ctypes_parts *parts)
{
    uint32_t first = (uint32_t)types->n_whens;
    if (parts->n == PARTS_MAX || !hs_ctypes_when_add_(types, when))
        return false;
    parts->own[parts->n] = *part;
    parts->own[parts->n].first_when = first;
    parts->own[parts->n++].n_whens = 1;
    return true;
}

/* A std::variant of libstdc++ (include/std/variant) or libc++ (variant): unions in unions, each
 * of one alternative and the rest, and the number of the one that is there. */
struct parts_variant {
    const char *rule, *all, *index, *first, *rest;
};

static const struct parts_variant variants[] = {
    {RULES_VARIANT, "_M_u", "_M_index", "_M_first", "_M_rest"},
    {RULES_VARIANT_LLVM, "__data", "__index", "__head", "__tail"},
};

/* False when it is not so. */
static bool parts_of_variant(struct hs_ctypes *types, hs_ctype number,
                             const struct parts_variant *is, struct ctypes_parts *parts)
{
    struct ctypes_member first, rest, index;
    if (!member_named(types, number, is->all, &rest) ||
        !member_named(types, number, is->index, &index) || index.offset > INT64_MAX)
        return false;
    uint64_t n_index_bytes = hs_ctypes_size_(types, index.type), offset = rest.offset;
    if (n_index_bytes != 1 && n_index_bytes != 2 && n_index_bytes != 4)
        return false;
    while (member_named(types, rest.type, is->first, &first)) {
        struct ctypes_when when = {(int64_t)index.offset, parts->n, parts->n,
                                   (uint8_t)n_index_bytes, WHEN_IS};
        if (!hs_add_fits(offset, first.offset, &first.offset) ||
            !parts_add(types, &first, &when, parts))
            return false;
        if (!member_named(types, rest.type, is->rest, &rest) ||
            !hs_add_fits(offset, rest.offset, &offset))
            break;
    }
    return parts->n > 0;
}

/* A value of nlohmann's JSON, by its value_t: a union of C whose tag is known. */
static bool parts_of_json(struct hs_ctypes *types, hs_ctype number, struct ctypes_parts *parts)
{
    static const struct {
        const char *name;
        uint64_t tag;
    } alternatives[] = {{"object", 1}, {"array", 2}, {"string", 3}, {"binary", 8}};
    struct ctypes_member tag, value, one;
    parts->may_lack = true;
    if (!member_named(types, number, "m_type", &tag) ||
        !member_named(types, number, "m_value", &value) || hs_ctypes_size_(types, tag.type) != 1 ||
        tag.offset > INT64_MAX)
        return false;
    for (size_t i = 0; i < sizeof(alternatives) / sizeof(alternatives[0]); i++) {
        uint64_t is = alternatives[i].tag;
        struct ctypes_when when = {(int64_t)tag.offset, is, is, 1, WHEN_IS};
        if (!member_named(types, value.type, alternatives[i].name, &one))
            continue;
        if (!hs_add_fits(value.offset, one.offset, &one.offset))
            return false;
        if (!parts_add(types, &one, &when, parts))
            return false;
    }
    return parts->n > 0;
}

/* Elements of an array, of which so many are there as a number says, and `n_more`. */
static bool parts_add_counted(struct hs_ctypes *types, const struct ctypes_member *array,
                              uint64_t count_at, uint64_t n_more, struct ctypes_parts *parts)
{
    struct ctypes_type type = *hs_ctypes_get_(types, array->type);
    uint64_t stride = hs_ctypes_size_(types, type.of);
    if (type.kind != HS_CTYPE_ARRAY || type.n_elements > PARTS_MAX)
        return false;
    for (uint64_t i = 0; i < type.n_elements; i++) {
        struct ctypes_when when = {(int64_t)count_at, i + 1 < n_more ? 0 : i + 1 - n_more,
                                   UINT16_MAX, sizeof(uint16_t), WHEN_IS};
        struct ctypes_member element = {.type = type.of};
        if (!hs_mul_fits(i, stride, &element.offset) ||
            !hs_add_fits(element.offset, array->offset, &element.offset) ||
            !parts_add(types, &element, &when, parts))
            return false;
    }
    return true;
}

/* Finds the number of keys in a node of a B-tree; false when it is not made as we know it. */
static bool node_length(struct hs_ctypes *types, hs_ctype number, uint64_t *ret_at,
                        bool *ret_is_inner)
{
    struct ctypes_member data, length;
    *ret_is_inner = member_named(types, number, "data", &data);
    *ret_at = *ret_is_inner ? data.offset : 0;
    return member_named(types, *ret_is_inner ? data.type : number, "len", &length) &&
           hs_ctypes_size_(types, length.type) == sizeof(uint16_t) &&
           hs_add_fits(*ret_at, length.offset, ret_at) && *ret_at <= INT64_MAX;
}

/* Nodes of Rust's B-trees (alloc/src/collections/btree/node.rs) have room for 11 keys, 11 values
 * and, inner ones, 12 edges: of these the first `len` are there, and one edge more. */
static bool parts_of_node(struct hs_ctypes *types, hs_ctype number, struct ctypes_parts *parts)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    uint64_t length_at;
    bool is_inner;
    if (!node_length(types, number, &length_at, &is_inner))
        return false;
    for (uint32_t i = 0; i < type.n_members; i++) {
        struct ctypes_member member = types->members[type.first_member + i];
        bool is_counted = strcmp(member.name, "keys") == 0 || strcmp(member.name, "vals") == 0 ||
                          strcmp(member.name, "edges") == 0;
        if (is_counted) {
            if (!parts_add_counted(types, &member, length_at, is_inner ? 1 : 0, parts))
                return false;
        } else if (parts->n == PARTS_MAX) {
            return false;
        } else {
            parts->own[parts->n++] = member;
        }
    }
    return true;
}

struct ctypes_parts hs_ctypes_parts_(struct hs_ctypes *types, hs_ctype number)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    struct ctypes_parts parts = {.is_union = true, .has_own = true};
    const char *rule = type.rule == 0 ? "" : hs_ctypes_container_(type.rule)->prefix;
    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
        if (strcmp(rule, variants[i].rule) == 0 &&
            parts_of_variant(types, number, &variants[i], &parts))
            return parts;
    if ((strcmp(rule, RULES_JSON) == 0 || strcmp(rule, RULES_JSON_DATA) == 0) &&
        parts_of_json(types, number, &parts))
        return parts;
    parts = (struct ctypes_parts){.has_own = true};
    if ((strcmp(rule, RULES_LEAF) == 0 || strcmp(rule, RULES_INNER) == 0) &&
        parts_of_node(types, number, &parts))
        return parts;
    return (struct ctypes_parts){
        .is_union = type.kind == HS_CTYPE_UNION, .first = type.first_member, .n = type.n_members};
}
