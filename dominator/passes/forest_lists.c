#include "forest_lists.h"

#include <assert.h>

#include "base/load.h"
#include "graph/pages.h"

#define SLACK 16 /* eight bytes are looked at from anywhere, and ten written */
#define HIGH_BITS 0x8080808080808080U
#define LOW_BITS 0x0101010101010101U

static unsigned list_count(uint64_t bits)
{
    bits -= bits >> 1 & 0x5555555555555555U;
    bits = (bits & 0x3333333333333333U) + (bits >> 2 & 0x3333333333333333U);
    bits = (bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0fU;
    return (unsigned)(bits * 0x0101010101010101U >> 56);
}

/* Writes a number of at most 64 bits; returns how many bytes. */
static unsigned list_put(uint8_t *to, uint64_t value)
{
    unsigned n = 1;
    for (uint64_t above = value >> 6; above != 0; above >>= 7)
        n++;
    to[n - 1] = (uint8_t)(value & 0x3f);
    value >>= 6;
    for (unsigned i = n - 1; i-- > 0; value >>= 7)
        to[i] = (uint8_t)(0x80 | (value & 0x7f));
    return n;
}

static hs_status lists_alloc(struct forest_lists *lists, struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_dense_pages(lists->n_groups, sizeof *lists->groups, &memory, err));
    lists->groups = memory;
    HS_TRY(hs_dense_pages(lists->capacity + SLACK, 1, &memory, err));
    lists->bytes = memory;
    return HS_OK;
}

static unsigned lists_longest(uint64_t n_nodes)
{
    uint8_t longest[SLACK];
    return list_put(longest, 2 * n_nodes);
}

uint64_t forest_lists_max_bytes(uint64_t n_nodes, uint64_t n_children)
{
    return (n_nodes / 64 + 1) * sizeof(struct forest_group) + n_children * lists_longest(n_nodes);
}

hs_status forest_lists_init(struct hs_budget *budget, uint64_t n_nodes, uint64_t n_children,
                            struct forest_lists *ret, struct hs_error *err)
{
    struct forest_lists lists = {.budget = budget, .n_groups = n_nodes / 64 + 1};

    assert(n_nodes < (uint64_t)1 << 62);
    lists.longest = lists_longest(n_nodes);
    lists.capacity = n_children * lists.longest;
    lists.reserved = forest_lists_max_bytes(n_nodes, n_children);
    HS_TRY(hs_budget_reserve(budget, lists.reserved, "the forest", err));
    hs_status status = lists_alloc(&lists, err);
    if (status == HS_OK) {
        *ret = lists;
        return HS_OK;
    }
    hs_pages_free(lists.groups, lists.n_groups, sizeof *lists.groups);
    hs_budget_release(budget, lists.reserved);
    return status;
}

void forest_lists_fini(struct forest_lists *lists)
{
    if (lists->groups == NULL)
        return;
    hs_pages_free(lists->groups, lists->n_groups, sizeof *lists->groups);
    hs_pages_free(lists->bytes, lists->capacity + SLACK, 1);
    hs_budget_release(lists->budget, lists->reserved);
    *lists = (struct forest_lists){0};
}

/* Ends the list that is open. */
static void lists_close(struct forest_lists *lists)
{
    if (lists->is_open)
        lists->bytes[lists->n_bytes - 1] |= 0x40;
    lists->is_open = false;
}

void forest_lists_finish(struct forest_lists *lists)
{
    lists_close(lists);
    uint64_t used = lists->n_groups * sizeof *lists->groups + lists->n_bytes;
    hs_budget_release(lists->budget, lists->reserved - used);
    lists->reserved = used;
}

/* Opens the list of a node with its first child. */
static void lists_begin(struct forest_lists *lists, hs_node node, hs_node child)
{
    struct forest_group *group = &lists->groups[node >> 6];

    assert(!lists->is_open || node > lists->node);
    lists_close(lists);
    if (group->has == 0)
        group->at = lists->n_bytes;
    group->has |= (uint64_t)1 << (node & 63);
    lists->is_open = true;
    lists->node = node;
    uint64_t number = child >= node ? (child - node) << 1 : ((node - child) << 1) - 1;
    lists->n_bytes += list_put(lists->bytes + lists->n_bytes, number);
}

hs_status forest_lists_add(struct forest_lists *lists, hs_node node, const hs_node *children,
                           uint32_t n, struct hs_error *err)
{
    hs_node last = lists->last;
    uint32_t i = 0;

    if (lists->n_bytes + (uint64_t)n * lists->longest > lists->capacity)
        return hs_fail(err, HS_BUG, "a second sweep gave other edges than the first");
    if (!lists->is_open || lists->node != node) {
        last = children[i++];
        lists_begin(lists, node, last);
    }
    uint8_t *out = lists->bytes + lists->n_bytes;
    for (; i < n; i++) {
        assert(children[i] > last);
        out += list_put(out, children[i] - last - 1);
        last = children[i];
    }
    lists->n_bytes = (uint64_t)(out - lists->bytes);
    lists->last = last;
    return HS_OK;
}

/* Returns the offset of the list after `n` others from `at` on. */
static uint64_t lists_step_over(const uint8_t *bytes, uint64_t at, unsigned n)
{
    for (;; at += 8) {
        uint64_t word = hs_load_u64(bytes + at);
        uint64_t ends = word << 1 & ~word & HIGH_BITS;
        unsigned n_ends = (unsigned)((ends >> 7) * LOW_BITS >> 56);
        if (n_ends >= n) {
            for (; n > 1; n--)
                ends &= ends - 1;
            return at + (unsigned)__builtin_ctzll(ends) / 8 + 1;
        }
        n -= n_ends;
    }
}

struct forest_cursor forest_lists_first(const struct forest_lists *lists, hs_node node)
{
    const struct forest_group *group = &lists->groups[node >> 6];
    unsigned n_before = list_count(group->has & (((uint64_t)1 << (node & 63)) - 1));
    struct forest_cursor cursor = {.at = group->at};

    assert(forest_has_list(lists, node));
    if (n_before != 0)
        cursor.at = lists_step_over(lists->bytes, group->at, n_before);
    uint64_t number = forest_number(lists->bytes, &cursor);
    cursor.child = number & 1 ? node - (number >> 1) - 1 : node + (number >> 1);
    return cursor;
}
