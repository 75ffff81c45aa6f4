/* Containers: how many elements they have, and how many they have room for. A snapshot has that of
 * their bodies (the array of a vector, the buckets of a hash table, the root of a tree, the first
 * node of a list, a collection of Python), as the program itself counts them.
 *
 *   body                           container              element
 *   std::map<int, Order>::node     std::map<int, Order>   Order
 *   Order[]                        Order[]                Order
 *   Order *[], by a place ".map"   std::deque<Order>      Order */
#ifndef HS_ANALYSIS_CONTAINERS_H
#define HS_ANALYSIS_CONTAINERS_H

#include "analysis/field_path.h"
#include "analysis/surroundings.h"

enum { HS_CONTAINER_NAME_BYTES = 512, HS_CONTAINER_TEXT_BYTES = 96 };

struct hs_container {
    hs_node body;
    uint64_t entries, room;                /* room HS_NO_ROOM: it is not known */
    char name[HS_CONTAINER_NAME_BYTES];    /* "" when no type is known */
    char element[HS_CONTAINER_NAME_BYTES]; /* the type of an element; "" unknown */
    char place[HS_FIELD_NAME_BYTES];       /* in its holder: "orders"; "" of the body itself */
};

/* Reads what the body at a node says; false in *ret_is for a block that is none, and for roots. */
hs_status hs_container_of(struct hs_view *view, hs_node node, struct hs_container *ret,
                          bool *ret_is, struct hs_error *err);

/* Names a container and its elements by the type of its body, as far as that tells. */
void hs_container_name(const struct hs_view *view, uint32_t type, struct hs_container *ret);

/* The next of the containers whose bodies the node's words lead to, as hs_surroundings_find has
 * them, each body once; *at begins with 0. False in *ret_is at the end. */
hs_status hs_container_next(const struct hs_surroundings *around, size_t *at,
                            struct hs_container *ret, bool *ret_is, struct hs_error *err);

/* Writes "1000 elements, room for 4096". */
void hs_container_text(const struct hs_container *container, char text[HS_CONTAINER_TEXT_BYTES]);

#endif
