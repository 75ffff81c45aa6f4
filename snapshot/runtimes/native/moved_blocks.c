#include "moved_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "choose.h"
#include "flow.h"

enum { MOVED_WORD = 8, MOVED_SLOTS = 64 };

struct moved_blocks {
    const struct hs_native *native;
    const struct hs_flow *flow;
    struct hs_moved_value *values;
    size_t n_values;
    uint8_t *owning; /* owned: MOVED_SLOTS for each type, enum hs_owning */
};

/* Tells whether what is there may be left over: a slot of a queue or a node of a tree, which say
 * elsewhere what is in it; or what a closure captured, which a call that consumes it moves out of
 * the box that it stands in (a thread's does, for as long as the thread runs). */
static bool may_be_left(const struct hs_native *native, hs_ctype type, uint64_t offset)
{
    hs_ctype around[HS_CTYPE_MAX_AROUND];
    struct hs_ctype_facts facts;
    bool is_whole;
    size_t n = hs_ctypes_around(native->ctypes, type, offset, around, &is_whole);

    for (size_t i = 0; i < n; i++) {
        hs_ctype_facts(native->ctypes, around[i], &facts);
        if (strstr(facts.name, "MaybeUninit<") != NULL ||
            strstr(facts.name, "ManuallyDrop<") != NULL ||
            strstr(facts.name, "{closure_env#") != NULL)
            return true;
    }
    return false;
}

static bool find_owning_slots(struct moved_blocks *m)
{
    bool is_any = false;
    uint8_t depth;

    for (size_t t = 0; t < m->flow->types.n_types; t++) {
        const struct hs_native_type *type = &m->flow->types.types[t];
        for (size_t i = 0; type->ctype != 0 && i < type->n_slots && i < MOVED_SLOTS; i++) {
            uint64_t offset = type->slots[i].offset_bytes;
            uint8_t owning = (uint8_t)hs_native_owning(m->native, type->ctype, offset, &depth);
            if (owning == HS_OWNING_NOT || offset % MOVED_WORD != 0 ||
                may_be_left(m->native, type->ctype, offset))
                continue;
            m->owning[t * MOVED_SLOTS + i] = owning;
            is_any = true;
        }
    }
    return is_any;
}

static int compare_values(const void *a, const void *b)
{
    const struct hs_moved_value *x = a, *y = b;

    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return x->owning - y->owning;
}

static void count_word(struct moved_blocks *m, uint64_t word, uint8_t owning)
{
    struct hs_moved_value asked = {.target = word, .owning = owning};
    struct hs_moved_value *found =
        bsearch(&asked, m->values, m->n_values, sizeof asked, compare_values);

    if (found != NULL && found->n_owners != UINT32_MAX)
        found->n_owners++;
}

/* Tells whether a block is an Rc or Arc without owners, whose value is dropped: weak references
 * alone keep the memory. */
static bool is_dropped(const struct moved_blocks *m, const struct hs_native_type *type,
                       const struct hs_heap_block *block)
{
    static const char *const counted[] = {"alloc::sync::ArcInner<", "alloc::rc::RcBox<",
                                          "alloc::rc::RcInner<"};
    struct hs_ctype_facts facts;

    hs_ctype_facts(m->native->ctypes, type->ctype, &facts);
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (strncmp(facts.name, counted[i], strlen(counted[i])) == 0)
            return block->n_bytes < MOVED_WORD || hs_load_u64(block->bytes) == 0;
    return false;
}

static void count_in_element(struct moved_blocks *m, const struct hs_heap_block *block,
                             hs_ntype number, uint64_t at)
{
    const struct hs_native_type *type = hs_native_type_of(&m->flow->types, number);

    for (size_t i = 0; i < type->n_slots && i < MOVED_SLOTS; i++) {
        const struct hs_cslot *slot = &type->slots[i];
        uint8_t owning = m->owning[(number - 1) * MOVED_SLOTS + i];
        uint64_t end = at + slot->offset_bytes + MOVED_WORD;
        if (owning == HS_OWNING_NOT || end > block->n_bytes ||
            (slot->n_choices != 0 &&
             !hs_native_is_chosen(m->native, slot, block->bytes, block->n_bytes, end - MOVED_WORD)))
            continue;
        count_word(m, hs_load_u64(block->bytes + end - MOVED_WORD), owning);
    }
}

static void count_in_block(struct moved_blocks *m, const struct hs_heap_block *block,
                           hs_ntype number)
{
    const struct hs_native_type *type = hs_native_type_of(&m->flow->types, number);
    struct hs_native_use use =
        hs_native_reserves_use(&m->flow->reserves, block->rank, block->n_bytes);
    uint64_t end = type->is_array ? use.end : type->n_bytes;

    if (type->n_bytes == 0 || type->n_slots == 0 || use.list != 0 || end > block->n_bytes ||
        is_dropped(m, type, block))
        return;
    for (uint64_t at = type->is_array ? use.from : 0; at < end && end - at >= type->n_bytes;
         at += type->n_bytes)
        count_in_element(m, block, number, at);
}

hs_status hs_moved_in_blocks(const struct hs_native *native, const struct hs_flow *flow,
                             struct hs_moved_value *values, size_t n, struct hs_error *err)
{
    struct moved_blocks m = {.native = native, .flow = flow, .values = values, .n_values = n};
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    struct hs_heap_block block;

    if (n == 0 || native->ctypes == NULL)
        return HS_OK;
    HS_TRY(HS_ALLOC(&m.owning, (flow->types.n_types + 1) * MOVED_SLOTS, err));
    bool is_any = find_owning_slots(&m);
    while (is_any && hs_heap_map_next(&it, &block)) {
        hs_ntype number = hs_flow_type(flow, block.rank);
        if (number != 0 && block.bytes != NULL)
            count_in_block(&m, &block, number);
    }
    hs_free(m.owning);
    return HS_OK;
}
