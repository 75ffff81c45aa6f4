/* Containers of libc++ (LLVM 5 to 21: list, __tree, __hash_table). As in libstdc++ links lead to a
 * base of the node. Those of a list and of a table of hashes are of the node's own template
 * arguments; that of a tree is one for all trees: its node is told by who has the link, the tree,
 * the node or an iterator. An iterator that is the value of another container's node leads to nodes
 * of its own. */
#include <stdio.h>
#include <string.h>

#include "containers.h"
#include "pool.h"

#define LIBCXX_LIST "__list_node_base<"
#define LIBCXX_HASH "__hash_node_base<"
#define LIBCXX_TREE "__tree_node_base<"
#define LIBCXX_TREE_END "__tree_end_node<"

static bool begins(const char *text, const char *with)
{
    return text != NULL && strncmp(text, with, strlen(with)) == 0;
}

/* The unqualified name of a record; NULL when it has none. */
static const char *short_name(struct hs_ctypes *types, hs_ctype number)
{
    const struct ctypes_type type = *hs_ctypes_get_(types, number);
    struct debug_entry entry;
    struct debug_info *info =
        type.kind == HS_CTYPE_RECORD && type.die != 0 ? hs_ctypes_info_(types, type.file) : NULL;
    if (info == NULL || !hs_entry_read_(info, type.die, &entry))
        return NULL;
    return hs_ctypes_short_name_of_(types, type.file, &entry);
}

/* The record `node` of these arguments in the namespace of `like` ("std::__1::"); 0 when it is not
 * described. */
static hs_ctype node_named(struct hs_ctypes *types, hs_ctype like, const char *node,
                           const char *arguments, size_t n_arguments, const char *end)
{
    const struct ctypes_type type = *hs_ctypes_get_(types, like);
    struct debug_entry entry;
    struct debug_info *info = hs_ctypes_info_(types, type.file);
    char name[CTYPES_MAX_NAME], text[CTYPES_MAX_NAME];
    if (info == NULL || !hs_entry_read_(info, type.die, &entry))
        return 0;
    const char *own = hs_ctypes_short_name_of_(types, type.file, &entry);
    size_t n_all = hs_ctypes_qualified_(types, type.file, &entry, name, sizeof(name));
    size_t n_own = own == NULL ? SIZE_MAX : strlen(own);
    if (n_own > n_all || n_arguments >= sizeof(text))
        return 0;
    int n = snprintf(text, sizeof(text), "%.*s%s%.*s%s", (int)(n_all - n_own), name, node,
                     (int)n_arguments, arguments, end);
    if (n < 0 || (size_t)n >= sizeof(text))
        return 0;
    struct ctypes_wanted wanted = hs_ctypes_wanted_(text, (size_t)n);
    return hs_ctypes_find_wanted_(types, type.file, &wanted);
}

/* Returns the type that argument number `wanted` of a record points to. */
static hs_ctype node_argument(struct hs_ctypes *types, hs_ctype number, int wanted)
{
    const struct ctypes_type type = *hs_ctypes_get_(types, number);
    hs_ctype pointer = hs_ctypes_argument_(types, type.file, type.die, wanted);
    const struct ctypes_type *to = hs_ctypes_get_(types, pointer);
    return to->kind == HS_CTYPE_POINTER ? to->of : 0;
}

/* The node of a tree of which `holder` has links; 0 when it has none that say it. */
static hs_ctype tree_node(struct hs_ctypes *types, hs_ctype holder)
{
    const char *name = short_name(types, holder), *argument;
    size_t n;
    if (begins(name, "__tree_node<"))
        return holder;
    if (begins(name, "__tree_iterator<") || begins(name, "__tree_const_iterator<"))
        return node_argument(types, holder, 1);
    if (!begins(name, "__tree<") || !hs_ctypes_argument_text_(name, 0, &argument, &n))
        return 0;
    return node_named(types, holder, "__tree_node<", argument, n, ", void *>");
}

/* Returns up to where the links of a node are: its value, if it has links, has those of other
 * nodes. */
static uint64_t links_end(struct hs_ctypes *types, hs_ctype node)
{
    const struct ctypes_type type = *hs_ctypes_get_(types, node);
    return type.n_members == 0 ? 0 : hs_ctypes_size_(types, types->members[type.first_member].type);
}

bool hs_ctypes_libcxx_is_node_(struct hs_ctypes *types, hs_ctype number)
{
    static const char *const nodes[] = {"__list_node<", LIBCXX_LIST, "__hash_node<", LIBCXX_HASH,
                                        "__tree_node<", LIBCXX_TREE, LIBCXX_TREE_END};
    const char *name = short_name(types, number);
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++)
        if (begins(name, nodes[i]))
            return true;
    return false;
}

/* The node that `base` is the base of; 0 when it is none. */
static hs_ctype node_of(struct hs_ctypes *types, hs_ctype base, hs_ctype in_tree)
{
    const char *name = short_name(types, base);
    if (begins(name, LIBCXX_LIST)) {
        const char *arguments = name + strlen(LIBCXX_LIST);
        return node_named(types, base, "__list_node<", arguments, strlen(arguments), "");
    }
    if (begins(name, LIBCXX_HASH))
        return node_argument(types, base, 0);
    return begins(name, LIBCXX_TREE) || begins(name, LIBCXX_TREE_END) ? in_tree : 0;
}

void hs_ctypes_libcxx_apply_(struct hs_ctypes *types, hs_ctype number, struct ctypes_found *found,
                             size_t n)
{
    hs_ctype in_tree = tree_node(types, number);
    uint64_t tree_end = in_tree == number ? links_end(types, number) : UINT64_MAX;
    hs_ctype had = 0, node = 0; /* the last link's, of which there are often two */
    for (size_t i = 0; i < n; i++) {
        hs_ctype to = found[i].slot.pointee;
        struct ctypes_type target = *hs_ctypes_get_(types, to);
        if (to == 0)
            continue;
        hs_ctype one = node_of(types, target.kind == HS_CTYPE_POINTER ? target.of : to,
                               found[i].slot.offset_bytes < tree_end ? in_tree : 0);
        if (one == 0)
            continue;
        if (target.kind == HS_CTYPE_POINTER) { /* buckets */
            one = to == had ? node : hs_ctypes_pointer_to_(types, one, target.file);
            had = to;
            node = one;
        }
        found[i].slot.pointee = one;
        for (uint32_t k = 0; k < found[i].slot.n_choices; k++)
            if (types->choices[found[i].slot.first_choice + k].pointee == to)
                types->choices[found[i].slot.first_choice + k].pointee = one;
    }
}
