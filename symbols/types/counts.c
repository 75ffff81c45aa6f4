/* Finds where containers say how many elements they have, and how many they have room for: by the
 * names of their members in libstdc++ (gcc 5 to 14), libc++ (LLVM 5 to 21), Rust's library and
 * GLib, and of uthash. */
#include <string.h>

#include "pool.h"

enum { COUNTS_MOST_STEPS = 4096, COUNTS_STACK = 128, COUNTS_MOST_ELEMENTS = 64, COUNTS_PARTS = 16 };

static const struct counts_rule {
    const char *record; /* its own name, or, up to '<', how that begins */
    const char *body, *entries, *room;
    uint8_t by, room_by; /* enum hs_ccount_by, enum hs_croom_by */
} counts_rules[] = {
    {"_Vector_impl", "_M_start", "_M_finish", "_M_end_of_storage", HS_CCOUNT_END, HS_CROOM_END},
    {"_Rb_tree_impl<", "_M_header._M_parent", "_M_node_count", NULL, HS_CCOUNT_NODES,
     HS_CROOM_NONE},
    {"_List_impl", "_M_node._M_next", "_M_node._M_size", NULL, HS_CCOUNT_NODES, HS_CROOM_NONE},
    {"_Hashtable<", "_M_buckets", "_M_element_count", "_M_bucket_count", HS_CCOUNT_TABLE,
     HS_CROOM_NUMBER},
    {"_Deque_impl", "_M_map", "_M_start", "_M_finish", HS_CCOUNT_DEQUE, HS_CROOM_NONE},
    {"basic_string<", "_M_dataplus._M_p", "_M_string_length", "_M_allocated_capacity",
     HS_CCOUNT_NUMBER, HS_CROOM_NUMBER},
    {"vector<", "__begin_", "__end_", "__cap_", HS_CCOUNT_END, HS_CROOM_END},
    {"vector<", "__begin_", "__end_", "__end_cap_.__value_", HS_CCOUNT_END, HS_CROOM_END},
    {"__tree<", "__end_node_.__left_", "__size_", NULL, HS_CCOUNT_NODES, HS_CROOM_NONE},
    {"__tree<", "__pair1_.__value_.__left_", "__pair3_.__value_", NULL, HS_CCOUNT_NODES,
     HS_CROOM_NONE},
    {"list<", "__end_.__next_", "__size_", NULL, HS_CCOUNT_NODES, HS_CROOM_NONE},
    {"list<", "__end_.__next_", "__size_alloc_.__value_", NULL, HS_CCOUNT_NODES, HS_CROOM_NONE},
    {"__hash_table<", "__bucket_list_", "__size_", NULL, HS_CCOUNT_TABLE, HS_CROOM_NONE},
    {"__hash_table<", "__bucket_list_", "__p2_.__value_", NULL, HS_CCOUNT_TABLE, HS_CROOM_NONE},
    {"Vec<", "buf", "len", "buf.inner.cap", HS_CCOUNT_NUMBER, HS_CROOM_NUMBER},
    {"Vec<", "buf", "len", "buf.cap", HS_CCOUNT_NUMBER, HS_CROOM_NUMBER},
    {"VecDeque<", "buf", "len", "buf.inner.cap", HS_CCOUNT_NUMBER, HS_CROOM_NUMBER},
    {"VecDeque<", "buf", "len", "buf.cap", HS_CCOUNT_NUMBER, HS_CROOM_NUMBER},
    {"RawTable<", "table.ctrl", "table.items", "table.growth_left", HS_CCOUNT_BEHIND,
     HS_CROOM_LEFT},
    {"BTreeMap<", "root", "length", NULL, HS_CCOUNT_NODES, HS_CROOM_NONE},
    {"LinkedList<", "head", "len", NULL, HS_CCOUNT_NODES, HS_CROOM_NONE},
    {"_GHashTable", "keys", "nnodes", "size", HS_CCOUNT_TABLE, HS_CROOM_NUMBER},
    {"_GPtrArray", "pdata", "len", NULL, HS_CCOUNT_NUMBER, HS_CROOM_NONE},
    {"_GByteArray", "data", "len", NULL, HS_CCOUNT_NUMBER, HS_CROOM_NONE},
    {"_GQueue", "head", "length", NULL, HS_CCOUNT_NODES, HS_CROOM_NONE},
    {"UT_hash_table", "buckets", "num_items", NULL, HS_CCOUNT_TABLE, HS_CROOM_NONE},
};
enum { N_COUNTS_RULES = sizeof counts_rules / sizeof *counts_rules };

struct counts_part {
    hs_ctype type;
    uint64_t offset;
};

static struct ctypes_type counts_type(struct hs_ctypes *types, hs_ctype *number)
{
    struct ctypes_type type = *hs_ctypes_get_(types, *number);
    if (type.definition == 0)
        return type;
    *number = type.definition;
    return *hs_ctypes_get_(types, *number);
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
            struct counts_part inner = {member.type, parts[at].offset + member.offset};
            if (strncmp(member.name, name, n_name) == 0 && member.name[n_name] == '\0') {
                *part = inner;
                return true;
            }
            if (member.name[0] == '\0' && n < COUNTS_PARTS)
                parts[n++] = inner;
        }
    }
    return false;
}

static bool counts_path(struct hs_ctypes *types, hs_ctype record, const char *path,
                        struct counts_part *ret)
{
    *ret = (struct counts_part){record, 0};
    for (const char *at = path; *at != '\0';) {
        size_t n = strcspn(at, ".");
        if (!counts_member(types, ret, at, n))
            return false;
        at += n + (at[n] == '.');
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

/* A number of a size that there is; 0: there is none. */
static uint8_t counts_number(struct hs_ctypes *types, const struct counts_part *part)
{
    uint64_t n_bytes = hs_ctypes_size_(types, part->type);
    return n_bytes == 1 || n_bytes == 2 || n_bytes == 4 || n_bytes == 8 ? (uint8_t)n_bytes : 0;
}

static bool counts_by_rule(struct hs_ctypes *types, hs_ctype record, const struct counts_rule *rule,
                           struct hs_ccount *ret)
{
    struct counts_part body, entries, room = {0};
    hs_ctype of;
    if (!counts_path(types, record, rule->body, &body) || !counts_pointer(types, &body, &of) ||
        !counts_path(types, record, rule->entries, &entries) ||
        (rule->room != NULL && !counts_path(types, record, rule->room, &room)))
        return false;
    *ret = (struct hs_ccount){.body_at = body.offset,
                              .entries_at = entries.offset,
                              .room_at = room.offset,
                              .by = rule->by,
                              .room_by = rule->room_by,
                              .element_bytes = hs_ctypes_size_(types, of)};
    if (rule->by == HS_CCOUNT_DEQUE) {
        if (!counts_member(types, &entries, "_M_cur", strlen("_M_cur")) ||
            !counts_pointer(types, &entries, &of))
            return false;
        ret->element_bytes = hs_ctypes_size_(types, of);
        return ret->element_bytes != 0;
    }
    ret->entries_bytes = counts_number(types, &entries);
    ret->room_bytes = rule->room == NULL ? 0 : counts_number(types, &room);
    return ret->entries_bytes != 0 && (rule->room == NULL || ret->room_bytes != 0) &&
           (rule->by != HS_CCOUNT_END || ret->element_bytes != 0);
}

static const char *counts_name(struct hs_ctypes *types, const struct ctypes_type *type)
{
    struct debug_entry entry;
    struct debug_info *info = type->die == 0 ? NULL : hs_ctypes_info_(types, type->file);
    if (info == NULL || !hs_entry_read_(info, type->die, &entry))
        return NULL;
    return hs_ctypes_short_name_of_(types, type->file, &entry);
}

/* Tells whether the record is a container, and then where what it counts stands, from its start. */
static bool counts_of_record(struct hs_ctypes *types, hs_ctype record,
                             const struct ctypes_type *type, struct hs_ccount *ret)
{
    const char *name = counts_name(types, type);
    if (name == NULL)
        return false;
    for (size_t i = 0; i < N_COUNTS_RULES; i++) {
        const char *wanted = counts_rules[i].record;
        size_t n = strlen(wanted);
        bool is_it = strncmp(name, wanted, n) == 0 && (wanted[n - 1] == '<' || name[n] == '\0');
        if (is_it && counts_by_rule(types, record, &counts_rules[i], ret))
            return true;
    }
    return false;
}

static size_t counts_push(struct hs_ctypes *types, const struct counts_part *part,
                          const struct ctypes_type *type, struct counts_part *stack, size_t n)
{
    uint64_t each = type->kind == HS_CTYPE_ARRAY ? hs_ctypes_size_(types, type->of) : 0;
    uint64_t most = each == 0 ? 0 : type->n_elements;
    most = most < COUNTS_MOST_ELEMENTS ? most : COUNTS_MOST_ELEMENTS;
    for (uint64_t i = 0; i < most && n < COUNTS_STACK; i++)
        stack[n++] = (struct counts_part){type->of, part->offset + i * each};
    for (uint32_t i = 0; type->kind == HS_CTYPE_RECORD && i < type->n_members; i++) {
        const struct ctypes_member member = types->members[type->first_member + i];
        unsigned kind = hs_ctypes_get_(types, member.type)->kind;
        if ((kind == HS_CTYPE_RECORD || kind == HS_CTYPE_ARRAY) && n < COUNTS_STACK)
            stack[n++] = (struct counts_part){member.type, part->offset + member.offset};
    }
    return n;
}

size_t hs_ctypes_counts(struct hs_ctypes *types, hs_ctype number,
                        struct hs_ccount ret[HS_CTYPE_MAX_COUNTS])
{
    struct counts_part stack[COUNTS_STACK] = {{number, 0}};
    size_t n = 1, n_found = 0;
    hs_ctypes_trim_(types);
    for (unsigned step = 0; n > 0 && n_found < HS_CTYPE_MAX_COUNTS && step < COUNTS_MOST_STEPS;
         step++) {
        struct counts_part part = stack[--n];
        struct ctypes_type type = counts_type(types, &part.type);
        struct hs_ccount count;
        if (type.kind == HS_CTYPE_RECORD && counts_of_record(types, part.type, &type, &count)) {
            count.body_at += part.offset;
            count.entries_at += part.offset;
            count.room_at += part.offset;
            ret[n_found++] = count;
        } else {
            n = counts_push(types, &part, &type, stack, n);
        }
    }
    return n_found;
}
