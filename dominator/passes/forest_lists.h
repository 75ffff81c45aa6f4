/* The children of every node that are single nodes, packed in memory: the regions as trees.
 *
 *   group:  of 64 nodes, u64 which of them have a list | u64 where the first of these lists is
 *   list:   zigzag(first child - node), then gaps - 1, ascending, each as
 *             1xxxxxxx ... 1xxxxxxx 0Lxxxxxx      most significant bits first, L: last of the list
 *
 * So a list ends at a byte of the form 01xxxxxx, and lists that are not wanted are stepped over
 * eight bytes at a time. About 1.3 bytes per child of a heap, 6 at most, and a quarter of a byte
 * per node. The bytes are pages of which only what is written costs memory, but the most that they
 * can be is reserved from the start: how much it is shows while others take memory, too. */
#ifndef HS_FOREST_LISTS_H
#define HS_FOREST_LISTS_H

#include <string.h>

#include "base/budget.h"

struct forest_group {
    uint64_t has; /* bit i: node 64 * group + i has a list */
    uint64_t at;  /* of the first of them */
};

struct forest_lists {
    struct forest_group *groups; /* owned pages */
    uint8_t *bytes;              /* owned pages */
    uint64_t n_groups, n_bytes, capacity;
    uint64_t reserved; /* of the budget: the most, once finished what is used */
    hs_node node;      /* whose list is being written */
    hs_node last;      /* its last child */
    bool is_open;      /* there is such a list */
    unsigned longest;  /* bytes of a child at most */
    struct hs_budget *budget;
};

/* Returns the memory that forest_lists_init reserves. */
uint64_t forest_lists_max_bytes(uint64_t n_nodes, uint64_t n_children);
hs_status forest_lists_init(struct hs_budget *budget, uint64_t n_nodes, uint64_t n_children,
                            struct forest_lists *ret, struct hs_error *err);
void forest_lists_fini(struct forest_lists *lists);
/* Adds the next n >= 1 children of a node: ascending nodes, ascending children of each. HS_BUG when
 * there are more children than said. */
hs_status forest_lists_add(struct forest_lists *lists, hs_node node, const hs_node *children,
                           uint32_t n, struct hs_error *err);
/* Gives back what was reserved too much. */
void forest_lists_finish(struct forest_lists *lists);

static inline bool forest_has_list(const struct forest_lists *lists, hs_node node)
{
    return lists->groups[node >> 6].has >> (node & 63) & 1;
}

static inline void forest_prefetch(const struct forest_lists *lists, hs_node node)
{
    __builtin_prefetch(&lists->groups[node >> 6]);
}

/* A child that was read, and where the next one is. */
struct forest_cursor {
    uint64_t at;
    hs_node child;
    bool has_more;
};

/* Returns the first child of a node that has a list. */
struct forest_cursor forest_lists_first(const struct forest_lists *lists, hs_node node);

static inline uint64_t forest_number(const uint8_t *bytes, struct forest_cursor *cursor)
{
    uint64_t value = 0;
    uint8_t byte = bytes[cursor->at++];
    while (byte & 0x80) {
        value = value << 7 | (byte & 0x7f);
        byte = bytes[cursor->at++];
    }
    cursor->has_more = (byte & 0x40) == 0;
    return value << 6 | (byte & 0x3f);
}

/* Moves on to the next child: there must be more. */
static inline void forest_next(const struct forest_lists *lists, struct forest_cursor *cursor)
{
    cursor->child += forest_number(lists->bytes, cursor) + 1;
}

#endif
