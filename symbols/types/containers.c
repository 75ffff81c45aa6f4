/* Containers of libstdc++ (gcc 5 to 14, bits/stl_tree.h, stl_list.h, forward_list.h,
 * hashtable_policy.h, ext/aligned_buffer.h): their links point to a base of the node, their values
 * stand in raw storage. The others (vector, deque, string, smart pointers) say themselves what they
 * point to. A node's value may have iterators, of any container: only the links of the node itself
 * lead to its like. Of libc++ see libcxx.c. */
#include "containers.h"

#include <stddef.h>
#include <string.h>

#define RULES_TREE "std::_Rb_tree_node_base", "std::_Rb_tree_node"
#define RULES_LIST "std::__detail::_List_node_base", "std::_List_node"
#define RULES_FORWARD "std::_Fwd_list_node_base", "std::_Fwd_list_node"
#define RULES_HASH "std::__detail::_Hash_node_base", "std::__detail::_Hash_node"

static const struct rules_container rules[] = {
    {"__aligned_membuf<", 0, RULES_SELF, NULL, NULL, {NULL, NULL}},
    {"__aligned_buffer<", 0, RULES_SELF, NULL, NULL, {NULL, NULL}},
    {"aligned_storage<", 0, RULES_SELF, NULL, NULL, {NULL, NULL}}, /* of boost::optional */
    {"_Rb_tree<", -1, 1, RULES_TREE, {">", NULL}},
    {"_Rb_tree_node<", -1, RULES_SELF, RULES_TREE, {NULL, NULL}},
    {"_Rb_tree_iterator<", -1, 0, RULES_TREE, {">", NULL}},
    {"_Rb_tree_const_iterator<", -1, 0, RULES_TREE, {">", NULL}},
    {"_List_base<", -1, 0, RULES_LIST, {">", NULL}},
    {"_List_node<", -1, RULES_SELF, RULES_LIST, {NULL, NULL}},
    {"_List_iterator<", -1, 0, RULES_LIST, {">", NULL}},
    {"_List_const_iterator<", -1, 0, RULES_LIST, {">", NULL}},
    {"_Fwd_list_base<", -1, 0, RULES_FORWARD, {">", NULL}},
    {"_Fwd_list_node<", -1, RULES_SELF, RULES_FORWARD, {NULL, NULL}},
    {"_Fwd_list_iterator<", -1, 0, RULES_FORWARD, {">", NULL}},
    {"_Fwd_list_const_iterator<", -1, 0, RULES_FORWARD, {">", NULL}},
    {"_Hashtable<", -1, 1, RULES_HASH, {",false>", ",true>"}},
    {"_Hash_node<", -1, RULES_SELF, RULES_HASH, {NULL, NULL}},
    {"__tree<", -1, RULES_LIBCXX, "", NULL, {NULL, NULL}},
    {"__tree_", -1, RULES_LIBCXX, "", NULL, {NULL, NULL}},
    {"__list_", -1, RULES_LIBCXX, "", NULL, {NULL, NULL}},
    {"__hash_", -1, RULES_LIBCXX, "", NULL, {NULL, NULL}},
    {RULES_VECTOR, -1, RULES_ELEMENT, "u8", NULL, {NULL, NULL}}, /* Rust 1.82: RawVecInner */
    {"RawTable<", -1, RULES_ELEMENT, "u8", NULL, {NULL, NULL}},  /* hashbrown: HashMap, HashSet */
    {"&str", -1, RULES_TEXT, "u8", NULL, {NULL, NULL}},
    {"&mut str", -1, RULES_TEXT, "u8", NULL, {NULL, NULL}},
    {"&[u8]", -1, RULES_TEXT, "u8", NULL, {NULL, NULL}},
    {"&mut [u8]", -1, RULES_TEXT, "u8", NULL, {NULL, NULL}},
    {"Box<str", -1, RULES_TEXT, "u8", NULL, {NULL, NULL}},
    {"Box<[u8]", -1, RULES_TEXT, "u8", NULL, {NULL, NULL}},
    {"QMapData<", -1, RULES_ALL, "QMapNodeBase", "QMapNode", {NULL, NULL}}, /* Qt 5 */
    {"QMapNode<", -1, RULES_SELF, "QMapNodeBase", NULL, {NULL, NULL}},
    {RULES_QT_LIST, -1, RULES_QT, "", NULL, {NULL, NULL}},
    {RULES_QT_HASH, -1, RULES_QT, "", NULL, {NULL, NULL}},
    {RULES_QT_SPAN, -1, RULES_QT, "", NULL, {NULL, NULL}},
    {RULES_QT_POINTER, -1, RULES_QT, "", NULL, {NULL, NULL}},
    {RULES_QT_ARRAY, -1, RULES_SELF, NULL, NULL, {NULL, NULL}},
    {RULES_LEAF, -1, RULES_SELF, NULL, NULL, {NULL, NULL}},
    {RULES_INNER, -1, RULES_SELF, NULL, NULL, {NULL, NULL}},
    {RULES_JSON, -1, RULES_SELF, NULL, NULL, {NULL, NULL}},
    {RULES_JSON_DATA, -1, RULES_SELF, NULL, NULL, {NULL, NULL}},
    {RULES_VARIANT, -1, RULES_SELF, NULL, NULL, {NULL, NULL}},
    {RULES_VARIANT_LLVM, -1, RULES_SELF, NULL, NULL, {NULL, NULL}},
};

uint8_t hs_ctypes_rule_(const char *name)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (strncmp(name, rules[i].prefix, strlen(rules[i].prefix)) == 0)
            return (uint8_t)(i + 1);
    return 0;
}

const struct rules_container *hs_ctypes_container_(uint8_t rule)
{
    return &rules[rule - 1];
}

bool hs_ctypes_rule_is_node_(uint8_t rule)
{
    return rule != 0 && rules[rule - 1].value == RULES_SELF && rules[rule - 1].base != NULL;
}

bool hs_ctypes_is_link_(const char *name)
{
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
        if (rules[i].value == RULES_SELF && rules[i].base != NULL &&
            strcmp(name, rules[i].base) == 0)
            return true;
    return false;
}

int hs_ctypes_rule_storage_(uint8_t rule)
{
    return rule == 0 ? -1 : rules[rule - 1].storage;
}

bool hs_ctypes_argument_text_(const char *name, int wanted, const char **ret, size_t *ret_n)
{
    const char *begin = strchr(name, '<');
    unsigned depth = 0;
    if (begin == NULL)
        return false;
    begin++;
    for (const char *at = begin; *at != '\0'; at++) {
        if (depth == 0 && (*at == ',' || *at == '>')) {
            if (wanted-- == 0) {
                *ret = begin;
                *ret_n = (size_t)(at - begin);
                return true;
            }
            begin = at + 1;
        } else if (strchr("<([", *at) != NULL) {
            depth++;
        } else if (depth > 0 && strchr(">)]", *at) != NULL) {
            depth--;
        }
    }
    return false;
}
