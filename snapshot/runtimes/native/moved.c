#include "moved.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "borrowed.h"
#include "flow.h"
#include "moved_blocks.h"

enum { MOVED_WORD = 8, MOVED_COUNTER_BYTES = 1024, MOVED_PLACE_BYTES = 64 };

/* A variable of a call, or one word of it. */
struct moved_holder {
    hs_addr target, variable; /* variable: its address; 0: it is in registers */
    uint32_t thread, frame, n_variable_bytes;
    uint32_t turn; /* among those of its thread that hold the same */
    uint8_t owning, n_inlined, depth;
    hs_str name;
    size_t leaf;
};

struct moved {
    struct hs_native *native;     /* borrowed */
    const struct hs_flow *flow;   /* borrowed */
    struct moved_holder *holders; /* owned */
    size_t n, capacity;
    struct hs_moved_value *values; /* owned: what the holders hold, in their order */
    size_t n_values, values_capacity;
};

static int moved_order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Orders holders by what they hold and by thread; of one thread the variable that it was moved to
 * last comes first: of the innermost call, the largest, the first that is declared. */
static int moved_compare(const void *a, const void *b)
{
    const struct moved_holder *x = a, *y = b;
    const int orders[] = {
        moved_order(x->target, y->target),
        moved_order(x->owning, y->owning),
        moved_order(x->turn, y->turn), /* all 0 at first */
        moved_order(y->thread, x->thread),
        moved_order(x->frame, y->frame),
        moved_order(y->n_inlined, x->n_inlined),
        moved_order(y->n_variable_bytes, x->n_variable_bytes),
        moved_order(y->depth, x->depth), /* a record of one member is as large as that */
        moved_order(x->leaf, y->leaf),
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++)
        if (orders[i] != 0)
            return orders[i];
    return 0;
}

static bool moved_is_same(const struct moved_holder *a, const struct moved_holder *b)
{
    return a->thread == b->thread && a->frame == b->frame && a->variable == b->variable &&
           a->name == b->name;
}

static bool moved_holds_same(const struct moved_holder *a, const struct moved_holder *b)
{
    return a->target == b->target && a->owning == b->owning;
}

/* Sorts the holders of each value: the first one of each thread, that of the thread that began last
 * before the others; then the second ones, and so on. */
static void moved_sort(struct moved *m)
{
    if (m->n == 0)
        return;
    qsort(m->holders, m->n, sizeof *m->holders, moved_compare);
    for (size_t i = 1; i < m->n; i++) {
        const struct moved_holder *before = &m->holders[i - 1];
        struct moved_holder *holder = &m->holders[i];
        if (moved_holds_same(before, holder) && before->thread == holder->thread)
            holder->turn = before->turn + !moved_is_same(before, holder);
    }
    qsort(m->holders, m->n, sizeof *m->holders, moved_compare);
}

static hs_status moved_collect(struct moved *m, struct hs_error *err)
{
    const struct hs_roots *roots = &m->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        if (leaf->owning == HS_OWNING_NOT || leaf->root.tier == HS_TIER_DOUBTFUL)
            continue;
        hs_addr at = leaf->root.address;
        HS_TRY(HS_GROW(&m->holders, &m->capacity, m->n + 1, err));
        m->holders[m->n++] = (struct moved_holder){
            .target = leaf->target,
            .variable = at == 0 ? 0 : at - leaf->root.offset,
            .thread = leaf->root.thread,
            .frame = leaf->root.frame,
            .n_variable_bytes = leaf->n_variable_bytes,
            .owning = leaf->owning,
            .depth = leaf->owning_depth,
            .n_inlined = leaf->n_inlined,
            .name = leaf->group_variable != 0 ? leaf->group_variable : leaf->root.name,
            .leaf = i};
    }
    return HS_OK;
}

/* Returns the number in the member of the block's record that has this name; 1 where there is none.
 */
static uint64_t moved_member(const struct moved *m, const struct hs_heap_block *block,
                             const char *name)
{
    hs_ntype number = hs_flow_type(m->flow, block->rank);
    hs_ctype type = number == 0 ? 0 : hs_native_type_of(&m->flow->types, number)->ctype;
    char place[MOVED_PLACE_BYTES];

    for (uint64_t at = 0; type != 0 && at < MOVED_COUNTER_BYTES; at += MOVED_WORD)
        if (at + MOVED_WORD <= block->n_bytes &&
            hs_ctypes_place(m->native->ctypes, type, at, place, sizeof place, NULL) != 0 &&
            strncmp(place, name, strlen(name)) == 0)
            return hs_load_u64(block->bytes + at);
    return 1;
}

/* Returns how many owners of this kind the block has by its own words. */
static uint64_t moved_owners(const struct moved *m, const struct moved_holder *holder)
{
    struct hs_heap_block block;

    if (hs_heap_map_resolve(&m->native->dump->heaps.map, holder->target, &block) !=
            HS_POINTER_START ||
        block.bytes == NULL || block.n_bytes < MOVED_WORD)
        return UINT64_MAX;
    switch ((enum hs_owning)holder->owning) {
    case HS_OWNING_COUNTED: /* ArcInner and RcInner begin with the strong owners: repr(C) */
        return hs_load_u64(block.bytes);
    case HS_OWNING_SENDER:
        return moved_member(m, &block, "senders");
    case HS_OWNING_RECEIVER:
        return moved_member(m, &block, "receivers");
    case HS_OWNING_ALONE:
    case HS_OWNING_NOT:
        break;
    }
    return 1;
}

/* Lowers the holders of one block beyond its owners to doubtful, of which so many are in blocks. */
static void moved_lower(struct moved *m, size_t begin, size_t end, uint32_t n_in_blocks)
{
    uint64_t n_owners = moved_owners(m, &m->holders[begin]), n = UINT64_C(1) + n_in_blocks;

    for (size_t i = begin; i < end; i++) {
        struct hs_root *root = &m->native->roots.leaves[m->holders[i].leaf].root;
        n += i != begin && !moved_is_same(&m->holders[i - 1], &m->holders[i]);
        if (n > n_owners)
            hs_root_lower(root, HS_TIER_DOUBTFUL, HS_REASON_MOVED_AWAY);
    }
}

/* Returns the end of those that hold the same as the one at `begin`. */
static size_t moved_end(const struct moved *m, size_t begin)
{
    size_t end = begin + 1;

    while (end < m->n && moved_holds_same(&m->holders[end], &m->holders[begin]))
        end++;
    return end;
}

static hs_status moved_run(struct moved *m, struct hs_error *err)
{
    HS_TRY(moved_collect(m, err));
    moved_sort(m);
    for (size_t i = 0; i < m->n; i = moved_end(m, i)) {
        HS_TRY(HS_GROW(&m->values, &m->values_capacity, m->n_values + 1, err));
        m->values[m->n_values++] =
            (struct hs_moved_value){.target = m->holders[i].target, .owning = m->holders[i].owning};
    }
    HS_TRY(hs_moved_in_blocks(m->native, m->flow, m->values, m->n_values, err));
    for (size_t i = 0, value = 0; i < m->n; i = moved_end(m, i), value++)
        moved_lower(m, i, moved_end(m, i), m->values[value].n_owners);
    return HS_OK;
}

hs_status hs_moved_find(struct hs_native *native, const struct hs_flow *flow, struct hs_error *err)
{
    struct moved m = {.native = native, .flow = flow};
    hs_status status = moved_run(&m, err);

    hs_free(m.holders);
    hs_free(m.values);
    return status;
}
