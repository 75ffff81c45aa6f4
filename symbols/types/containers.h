/* The records that are containers, and the targets of their links. */
#ifndef HS_TYPES_CONTAINERS_H
#define HS_TYPES_CONTAINERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RULES_LEAF "LeafNode<"
#define RULES_VECTOR "RawVec<"
#define RULES_INNER "InternalNode<"
#define RULES_JSON "basic_json<"
#define RULES_JSON_DATA "data" /* in it, since 3.11.3 */
#define RULES_QT_LIST "QList<"
#define RULES_QT_HASH "QHash<"
#define RULES_QT_SPAN "Span<"                 /* Qt 6 */
#define RULES_QT_POINTER "QArrayDataPointer<" /* Qt 6 */
#define RULES_QT_ARRAY "QTypedArrayData<"
#define RULES_VARIANT "_Variant_storage<"
#define RULES_VARIANT_LLVM "__base<"

struct rules_container {
    const char *prefix;  /* of the record's own name */
    int8_t storage;      /* the value's template argument, for raw storage; else -1 */
    int8_t value;        /* the text argument that the node is of, or RULES_SELF: the record is the
                            node, or RULES_ELEMENT: its first type argument is; or another of
                            those below */
    const char *base;    /* what the links point to, qualified */
    const char *node;    /* the node that it is the base of, up to its '<' */
    const char *ends[2]; /* what follows the value in the node's name */
};

enum {
    RULES_SELF = -1,
    RULES_ELEMENT = -2,
    RULES_TEXT = -3,  /* bytes of a text */
    RULES_ALL = -4,   /* the node has all arguments of the container */
    RULES_QT = -5,    /* see qt.c */
    RULES_LIBCXX = -6 /* see libcxx.c */
};

/* Finds the rule for a record of this (unqualified) name, 0 when none. */
uint8_t hs_ctypes_rule_(const char *name);
/* Returns the entry of a rule that is not 0. */
const struct rules_container *hs_ctypes_container_(uint8_t rule);
/* Tells whether records of this rule are nodes, whose links are in their base. */
bool hs_ctypes_rule_is_node_(uint8_t rule);
/* Tells whether this is the (qualified) name of such a base. */
bool hs_ctypes_is_link_(const char *name);
/* Returns the number of the type argument of which records of this rule store a value; -1 for
 * records that are no such storage. */
int hs_ctypes_rule_storage_(uint8_t rule);
/* Finds argument number `wanted`, from 0, in the text of a template's name; false when there is
 * none. */
bool hs_ctypes_argument_text_(const char *name, int wanted, const char **ret, size_t *ret_n);

#endif
