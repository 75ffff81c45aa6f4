/* A list of all objects of an interpreter whose first is held by a `void *`, which says nothing of
 * it: types would begin to flow at whichever objects typed pointers happen to lead to, and go to
 * those behind them only. From each root the blocks are gone through by the link of a header
 * (hs_ctypes_is_header): where enough of them are known to have it, and few to have not, those
 * without a type have it. */
#include "flow_private.h"

enum { WORD = 8 };
enum { HEADS_LEAST = 8, HEADS_ODD_ONE_IN = 8 }; /* blocks of a list; those of another type */

/* The link of a header, at `at` of all that begin with it. */
struct link {
    hs_ctype header;
    uint64_t at;
};

/* Finds the block that a block's link leads to the start of. */
static bool link_next(const struct flow *f, const struct link *link,
                      const struct hs_heap_block *block, struct hs_heap_block *ret)
{
    return hs_flow_may_have_type_(block) && block->n_bytes >= link->at + WORD &&
           hs_flow_resolve(f->native, hs_load_u64(block->bytes + link->at), ret) ==
               HS_POINTER_START;
}

static bool has_header(const struct flow *f, const struct link *link,
                       const struct hs_heap_block *block)
{
    hs_ntype type = hs_flow_type(f->result, block->rank);
    const struct hs_native_type *has = type == 0 || (type & HS_FLOW_IS_TENTATIVE) != 0
                                           ? NULL
                                           : hs_native_type_of(&f->result->types, type);

    return has != NULL && has->ctype != 0 && !has->is_array &&
           (hs_ctypes_same(f->native->ctypes, has->ctype, link->header) ||
            hs_ctypes_begins_with(f->native->ctypes, has->ctype, link->header));
}

/* A walk over the blocks of a list, up to its end or where it has been gone through before. */
struct walk {
    uint64_t n_untyped, n_known, n_other; /* `known`: that have the header */
    bool joins;                           /* one that has been looked at, and has the header */
};

static struct walk walk_from(const struct flow *f, const struct link *link,
                             struct hs_heap_block block, struct hs_bitmap *walked)
{
    struct walk walk = {0};

    for (;;) {
        struct hs_heap_block next;
        bool is_known = has_header(f, link, &block);
        walk.joins = is_known && hs_bitmap_get(walked, block.rank);
        if (hs_bitmap_get(walked, block.rank))
            return walk;
        hs_bitmap_set(walked, block.rank);
        walk.n_known += is_known;
        walk.n_untyped += hs_flow_type(f->result, block.rank) == 0;
        walk.n_other += !is_known && hs_flow_type(f->result, block.rank) != 0;
        if (!link_next(f, link, &block, &next))
            return walk;
        block = next;
    }
}

static bool is_list(const struct walk *walk)
{
    uint64_t n = walk->n_untyped + walk->n_known;

    return n >= HEADS_LEAST && (walk->joins || walk->n_known >= HEADS_LEAST) &&
           walk->n_other <= n / HEADS_ODD_ONE_IN;
}

/* Walks the list that one root leads to, and gives its blocks without a type that of the header.
 * *ret is set when blocks got a type. */
static hs_status head_of(struct flow *f, const struct link *link, hs_addr address,
                         struct hs_bitmap *walked, bool *ret, struct hs_error *err)
{
    struct hs_heap_block block, next;

    if (hs_flow_resolve(f->native, address, &block) != HS_POINTER_START)
        return HS_OK;
    const struct walk walk = walk_from(f, link, block, walked);
    if (walk.n_untyped == 0 || !is_list(&walk))
        return HS_OK;
    for (uint64_t i = walk.n_untyped + walk.n_known + walk.n_other; i > 0; i--) {
        bool has_next = link_next(f, link, &block, &next);
        if (hs_flow_type(f->result, block.rank) == 0) {
            HS_TRY(hs_flow_look_(f, &block, 0, link->header, err));
            *ret |= hs_flow_type(f->result, block.rank) != 0;
        }
        if (!has_next)
            break;
        block = next;
    }
    return HS_OK;
}

static hs_status heads_by(struct flow *f, const struct link *link, bool *ret, struct hs_error *err)
{
    const struct hs_roots *roots = &f->native->roots;
    struct hs_bitmap walked = {0};

    HS_TRY(hs_bitmap_init(&walked, f->result->n_blocks, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < roots->n_leaves && status == HS_OK; i++) {
        const struct hs_root *root = &roots->leaves[i].root;
        if (root->edge_class == HS_EDGE_EXACT && root->kind != HS_ROOT_STACK &&
            root->kind != HS_ROOT_REGISTER)
            status = head_of(f, link, roots->leaves[i].target, &walked, ret, err);
    }
    hs_bitmap_fini(&walked);
    return status;
}

hs_status hs_flow_heads_(struct flow *f, bool *ret, struct hs_error *err)
{
    const struct hs_native_types *types = &f->result->types;

    *ret = false;
    for (size_t i = 0; i < types->n_types; i++) {
        const struct hs_native_type type = types->types[i];
        for (size_t k = 0; type.is_header && k < type.n_slots; k++) {
            const struct link link = {type.ctype, type.slots[k].offset_bytes};
            if (hs_ctypes_same(f->native->ctypes, type.slots[k].pointee, type.ctype))
                HS_TRY(heads_by(f, &link, ret, err));
        }
    }
    return HS_OK;
}
