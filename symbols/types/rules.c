/* The targets of a container's links, and the names of its members: by the rules of containers.h.
 */
#include <stdio.h>
#include <string.h>

#include "containers.h"
#include "pool.h"

/* Names of members as people would call them: of what follows `before`, "" for anything. NULL:
 * passed through. Names of libstdc++ that are not here are. */
static const struct rules_member {
    const char *before, *name, *to;
} rules_members[] = {
    {"_M_header", "_M_parent", "root"},
    {"_M_header", "_M_left", "first"},
    {"_M_header", "_M_right", "last"},
    {"_M_node", "_M_next", "first"},
    {"_M_node", "_M_prev", "last"},
    {"_M_before_begin", "_M_nxt", "first"},
    {"_M_head", "_M_next", "first"},
    {"_M_start", "_M_cur", "begin"}, /* a deque's iterators */
    {"_M_start", "_M_first", "begin.first"},
    {"_M_start", "_M_last", "begin.last"},
    {"_M_start", "_M_node", "begin.node"},
    {"_M_finish", "_M_first", "first"},
    {"_M_finish", "_M_last", "last"},
    {"_M_finish", "_M_node", "node"},
    {"", "_M_finish", "end"},
    {"", "_M_end_of_storage", "end_of_storage"},
    {"", "_M_parent", "parent"},
    {"", "_M_left", "left"},
    {"", "_M_right", "right"},
    {"", "_M_next", "next"},
    {"", "_M_nxt", "next"},
    {"", "_M_prev", "previous"},
    {"", "_M_buckets", "buckets"},
    {"", "_M_single_bucket", "single_bucket"},
    {"", "_M_map", "map"},
    {"", "_M_pi", "control"},
};

/* The crates of Rust's library whose records tell something inside; the rest is wrapping. */
static const char *const rules_rust_crates[] = {
    "alloc::", "core::", "hashbrown::", "std::", "tokio::runtime::task::", "tokio::loom::"};
static const char *const rules_rust_members[] = {"keys", "vals", "edges", "parent", "root",
                                                 "head", "tail", "next",  "prev"};

#define RULES_COUNT(array) (sizeof(array) / sizeof((array)[0]))
enum { RULES_LANG_RUST = 0x1c };

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hs_ctypes_hash_(hash, text, strlen(text));
}

static uint64_t rules_hash(const char *node, const char *argument, size_t n, const char *end)
{
    uint64_t hash = hash_text(hash_text(CTYPES_HASH_SEED, node), "<");
    return hash_text(hs_ctypes_hash_(hash, argument, n), end);
}

/* The node of a container, by name; 0 when it is not described. */
static hs_ctype rules_node(struct hs_ctypes *types, const struct rules_container *rule,
                           const struct ctypes_type *container)
{
    const char *argument;
    size_t n;
    struct debug_entry entry;
    struct debug_info *info = hs_ctypes_info_(types, container->file);
    if (info == NULL || !hs_entry_read_(info, container->die, &entry))
        return 0;
    const char *name = hs_ctypes_short_name_of_(types, container->file, &entry);
    if (name == NULL || !hs_ctypes_argument_text_(name, rule->value, &argument, &n))
        return 0;
    const char *colon = strrchr(rule->node, ':'), *last = colon == NULL ? rule->node : colon + 1;
    for (size_t i = 0; i < 2 && rule->ends[i] != NULL; i++) {
        struct ctypes_wanted wanted = {rules_hash(rule->node, argument, n, rule->ends[i]),
                                       rules_hash(last, argument, n, rule->ends[i])};
        hs_ctype node = hs_ctypes_find_wanted_(types, container->file, &wanted);
        if (node != 0)
            return node;
    }
    return 0;
}

static bool rules_is_rust(struct hs_ctypes *types, const struct ctypes_type *type)
{
    struct debug_entry entry;
    struct debug_info *info = hs_ctypes_info_(types, type->file);
    return info != NULL && hs_entry_read_(info, type->die, &entry) &&
           entry.unit->language == RULES_LANG_RUST;
}

/* The states of an async function, "0", "3", "4": which of them holds a variable tells nothing. */
static bool rules_is_state(const char *name)
{
    return *name != '\0' && name[strspn(name, "0123456789")] == '\0';
}

static const char *rules_rust_member(struct hs_ctypes *types, hs_ctype number, const char *name)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    if (rules_is_state(name))
        return NULL;
    const char *record = hs_ctypes_type_name_(types, number);
    bool is_library = false;
    for (size_t i = 0; i < RULES_COUNT(rules_rust_crates); i++)
        is_library |= strncmp(record, rules_rust_crates[i], strlen(rules_rust_crates[i])) == 0;
    if (!is_library || !rules_is_rust(types, &type))
        return name;
    for (size_t i = 0; i < RULES_COUNT(rules_rust_members); i++)
        if (strcmp(name, rules_rust_members[i]) == 0)
            return name;
    return NULL;
}

const char *hs_ctypes_rule_member_(struct hs_ctypes *types, hs_ctype type, const char *before,
                                   const char *name)
{
    if (strncmp(name, "_M_", 3) != 0)
        return rules_rust_member(types, type, name);
    for (size_t i = 0; i < RULES_COUNT(rules_members); i++) {
        const struct rules_member *rule = &rules_members[i];
        if (strcmp(rule->name, name) == 0 &&
            (rule->before[0] == '\0' || strcmp(rule->before, before) == 0))
            return rule->to;
    }
    return NULL;
}

bool hs_ctypes_is_node(struct hs_ctypes *types, hs_ctype number)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    return type.kind == HS_CTYPE_RECORD &&
           (hs_ctypes_rule_is_node_(type.rule) ||
            hs_ctypes_is_link_(hs_ctypes_type_name_(types, number)) ||
            hs_ctypes_libcxx_is_node_(types, number));
}

hs_ctype hs_ctypes_larger(struct hs_ctypes *types, hs_ctype number)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    struct debug_entry entry;
    if (type.rule == 0 || strcmp(hs_ctypes_container_(type.rule)->prefix, RULES_LEAF) != 0 ||
        !rules_is_rust(types, &type))
        return 0;
    struct debug_info *info = hs_ctypes_info_(types, type.file);
    if (info == NULL || !hs_entry_read_(info, type.die, &entry))
        return 0;
    const char *name = hs_ctypes_short_name_of_(types, type.file, &entry);
    if (name == NULL)
        return 0;
    char text[CTYPES_MAX_NAME];
    int n = snprintf(text, sizeof(text), "alloc::collections::btree::node::InternalNode<%s",
                     name + strlen(RULES_LEAF));
    if (n < 0 || (size_t)n >= sizeof(text))
        return 0;
    hs_ctype larger = hs_ctypes_find(types, type.file, text);
    return hs_ctypes_size_(types, larger) > hs_ctypes_size_(types, number) ? larger : 0;
}

bool hs_ctypes_may_be_numbered(struct hs_ctypes *types, hs_ctype number)
{
    const struct ctypes_type type = *hs_ctypes_get_(types, number);
    struct debug_entry entry;
    struct debug_info *info = hs_ctypes_info_(types, type.file);
    return type.kind == HS_CTYPE_RECORD && info != NULL && hs_entry_read_(info, type.die, &entry) &&
           hs_language_is_cpp_(entry.unit->language);
}

/* Writes the name of a record as its entry has it, with the allocators that a shown name leaves
 * out: what has it as an argument is called so. */
static bool rules_full_name(struct hs_ctypes *types, const struct ctypes_type *type, char *name,
                            size_t n_name)
{
    struct debug_entry entry;
    struct debug_info *info = hs_ctypes_info_(types, type->file);
    return info != NULL && hs_entry_read_(info, type->die, &entry) &&
           hs_ctypes_qualified_(types, type->file, &entry, name, n_name) > 0;
}

hs_ctype hs_ctypes_counted(struct hs_ctypes *types, hs_ctype number, uint64_t *ret_offset)
{
    static const char *const counted[] = {"alloc::sync::ArcInner<", "alloc::rc::RcInner<",
                                          "alloc::rc::RcBox<"}; /* up to 1.84 */
    const struct ctypes_type type = *hs_ctypes_get_(types, number);
    bool is_made = type.kind == HS_CTYPE_RECORD || type.kind == HS_CTYPE_UNION; /* an enumeration */
    char text[CTYPES_MAX_NAME], name[CTYPES_MAX_NAME];
    hs_ctype found = 0;
    *ret_offset = 0;
    if (!is_made || !rules_is_rust(types, &type) ||
        !rules_full_name(types, &type, name, sizeof name))
        return 0;
    for (size_t i = 0; i < RULES_COUNT(counted); i++) {
        int n = snprintf(text, sizeof(text), "%s%s>", counted[i], name);
        if (n < 0 || (size_t)n >= sizeof(text))
            return 0;
        const struct ctypes_wanted wanted = hs_ctypes_wanted_(text, (size_t)n);
        hs_die die = hs_ctypes_named_(types, type.file, &wanted); /* others are searched in vain */
        hs_ctype one = die == 0 ? 0 : hs_ctypes_resolve_(types, type.file, die);
        if (one != 0 && found != 0)
            return 0;
        found = one != 0 ? one : found;
    }
    const struct ctypes_type holder = *hs_ctypes_get_(types, found);
    for (uint32_t i = 0; found != 0 && i < holder.n_members; i++) {
        const struct ctypes_member *member = &types->members[holder.first_member + i];
        if (strcmp(member->name, "data") == 0 || strcmp(member->name, "value") == 0)
            *ret_offset = member->offset;
    }
    return *ret_offset != 0 ? found : 0;
}

/* Tells whether a type is the record of this qualified name. */
static bool rules_is(struct hs_ctypes *types, hs_ctype number, const char *name)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    return (type.kind == HS_CTYPE_RECORD || type.kind == HS_CTYPE_SCALAR) &&
           strcmp(hs_ctypes_type_name_(types, number), name) == 0;
}

/* Returns the bytes that a text or a vector has, as one type of the pool: a u8 elsewhere may be
 * memory that something else is made of. */
static hs_ctype rules_text(struct hs_ctypes *types)
{
    if (types->text == 0)
        types->text = hs_ctypes_make_(
            types, &(struct ctypes_type){.kind = HS_CTYPE_SCALAR,
                                         .n_bytes = 1,
                                         .name = "u8",
                                         .flags = TYPE_BUILT | TYPE_HAS_NAME | TYPE_TEXT});
    return types->text;
}

/* Returns the target of the links of a container, or of its node; 0: it is not described. */
static hs_ctype rules_target(struct hs_ctypes *types, hs_ctype number,
                             const struct rules_container *rule)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    hs_ctype node = number;
    if (rule->value >= 0)
        node = rules_node(types, rule, &type);
    else if (rule->value == RULES_ALL)
        node = hs_ctypes_node_(types, number, rule->node);
    else if (rule->value == RULES_ELEMENT)
        node = hs_ctypes_argument_(types, type.file, type.die, 0);
    if (rule->value == RULES_TEXT ||
        (rule->value == RULES_ELEMENT && strcmp(rule->prefix, RULES_VECTOR) == 0 &&
         rules_is(types, node, "u8")))
        node = rules_text(types);
    return node;
}

void hs_ctypes_rule_apply_(struct hs_ctypes *types, hs_ctype number, struct ctypes_found *found,
                           size_t n)
{
    struct ctypes_type type = *hs_ctypes_get_(types, number);
    const struct rules_container *rule = hs_ctypes_container_(type.rule);
    if (rule->base == NULL)
        return;
    hs_ctype node, pointer = 0, last = 0; /* last: what was no base the last time */
    if (rule->value == RULES_QT) {
        hs_ctypes_qt_apply_(types, number, rule->prefix, found, n);
        return;
    }
    if (rule->value == RULES_LIBCXX) {
        hs_ctypes_libcxx_apply_(types, number, found, n);
        return;
    }
    node = rules_target(types, number, rule);
    for (size_t i = 0; node != 0 && i < n; i++) {
        hs_ctype to = found[i].slot.pointee;
        if (to == 0 || to == last)
            continue;
        struct ctypes_type target = *hs_ctypes_get_(types, to);
        if (target.kind == HS_CTYPE_POINTER && rules_is(types, target.of, rule->base)) {
            pointer = pointer == 0 ? hs_ctypes_pointer_to_(types, node, type.file) : pointer;
            found[i].slot.pointee = pointer; /* an array of links: buckets */
        } else if (rules_is(types, to, rule->base)) {
            if (rule->value == RULES_SELF && found[i].slot.offset_bytes >= target.n_bytes)
                continue; /* of the value: an iterator's */
            found[i].slot.pointee = node;
        } else {
            last = to;
        }
    }
}
