/* Makes page runs of the leaves of the tree.
 *
 * Pages are visited in ascending order and each belongs to one run at most, so that no tree,
 * however false, gives overlapping runs or more work than its leaves have words. */
#include "base/alloc.h"
#include "base/bisect.h"
#include "tree.h"

/* The state of the walk over the pages of all leaves. */
struct extents_walk {
    struct jemalloc_tree *tree;
    const uint8_t *leaf_bytes; /* of leaf number `leaf` */
    size_t leaf;
    uint64_t next_page; /* pages below are taken */
    size_t edata_hint;
    uint64_t n_padded, n_unpadded; /* large extents one page longer than their class; as long */
    uint64_t n_fitting[2];         /* extents that the classes of quantum 8 and 16 explain */
};

static const uint8_t *extents_leaf(const struct jemalloc_tree *tree, size_t leaf)
{
    return hs_image_bytes(tree->image, tree->leaves[leaf].address, jemalloc_leaf_bytes(tree));
}

/* The extent entered under `page`, which lies at or behind the current leaf; 0 for none. */
static hs_addr extents_entered(const struct extents_walk *walk, uint64_t page)
{
    const struct jemalloc_tree *tree = walk->tree;
    size_t low = walk->leaf;
    const uint8_t *bytes = walk->leaf_bytes;

    if (page - tree->leaves[low].first_page >= jemalloc_leaf_pages(tree)) {
        low = HS_FIRST_NOT(at, low + 1, tree->n_leaves, tree->leaves[at].first_page <= page) - 1;
        if (page - tree->leaves[low].first_page >= jemalloc_leaf_pages(tree))
            return 0;
        bytes = extents_leaf(tree, low);
    }
    return bytes == NULL
               ? 0
               : hs_jemalloc_entry(tree, bytes, page - tree->leaves[low].first_page).edata;
}

static const uint8_t *extents_edata(struct extents_walk *walk, hs_addr address)
{
    const struct hs_image_range *range;

    if (address % 64 != 0 || address >= HS_USER_END)
        return NULL;
    range = hs_image_find(walk->tree->image, address, &walk->edata_hint);
    if (range == NULL || range->end - address < JEMALLOC_EDATA_BYTES)
        return NULL;
    return range->bytes + (address - range->begin);
}

/* Does what the edata says of itself agree with where it was found? */
static bool extents_is_placed(const struct extents_walk *walk, const uint8_t *edata,
                              const struct jemalloc_entry *entry, uint64_t page,
                              uint64_t *ret_n_pages)
{
    uint64_t n_pages = hs_load_u64(edata + 16) >> JEMALLOC_PAGE_SHIFT;

    if (hs_load_u64(edata + 8) >> JEMALLOC_PAGE_SHIFT != page || n_pages == 0 ||
        n_pages > UINT32_MAX || n_pages > (HS_USER_END >> JEMALLOC_PAGE_SHIFT) - page)
        return false;
    *ret_n_pages = n_pages;
    return extents_entered(walk, page + n_pages - 1) == entry->edata;
}

/* A slab needs as many regions as fit, a large block room for its bytes. */
static bool extents_is_sound(struct extents_walk *walk, const struct jemalloc_extent *extent)
{
    uint64_t usable, n_bytes = extent->n_pages * JEMALLOC_PAGE;
    uint64_t bits = hs_load_u64(extent->edata);
    uint64_t address = hs_load_u64(extent->edata + 8);

    if ((bits >> 12 & 1) != (extent->kind == JEMALLOC_SLAB))
        return false;
    if (extent->kind == JEMALLOC_SLAB)
        return extent->szind < jemalloc_n_small(walk->tree) && address == extent->begin &&
               jemalloc_n_regions(walk->tree, extent) != 0;
    if (extent->szind < jemalloc_n_small(walk->tree)) /* a sampled small block */
        return n_bytes >= 4 * JEMALLOC_PAGE && address % 16 == 0;
    usable = hs_jemalloc_class_bytes(walk->tree, extent->szind);
    walk->n_padded += n_bytes == usable + JEMALLOC_PAGE;
    walk->n_unpadded += n_bytes == usable;
    /* 5.3.1 rounds to pages, so that a block may be shorter than its class, not than the one below
     */
    return address % 16 == 0 && n_bytes > hs_jemalloc_class_bytes(walk->tree, extent->szind - 1u) &&
           n_bytes - JEMALLOC_PAGE <= usable;
}

unsigned hs_jemalloc_live_regions(const struct jemalloc_extent *extent, unsigned n,
                                  uint64_t live[JEMALLOC_BITMAP_WORDS])
{
    unsigned n_live = 0;

    memset(live, 0, JEMALLOC_BITMAP_WORDS * sizeof *live);
    for (unsigned i = 0; i * 64 < n; i++) {
        live[i] = ~hs_load_u64(extent->edata + 64 + 8 * (size_t)i);
        if (n - i * 64 < 64)
            live[i] &= (UINT64_C(1) << (n - i * 64)) - 1;
        n_live += (unsigned)__builtin_popcountll(live[i]);
    }
    return n_live;
}

/* Does the class that an extent in use has with this quantum explain it? Of a slab the count of
 * free regions has to agree with the bitmap, which says much more than that the regions fit. */
static bool extents_fits(const struct jemalloc_tree *tree, unsigned lg_quantum,
                         const struct jemalloc_extent *extent)
{
    struct jemalloc_tree other = {.is_52 = tree->is_52, .lg_quantum = (uint8_t)lg_quantum};
    uint64_t live[JEMALLOC_BITMAP_WORDS], n_bytes = extent->n_pages * JEMALLOC_PAGE;

    if (extent->kind == JEMALLOC_SLAB) {
        unsigned n =
            extent->szind < jemalloc_n_small(&other) ? jemalloc_n_regions(&other, extent) : 0;
        return n != 0 &&
               n - hs_jemalloc_live_regions(extent, n, live) == jemalloc_n_free(&other, extent);
    }
    uint64_t usable = hs_jemalloc_class_bytes(&other, extent->szind);
    return extent->szind >= jemalloc_n_small(&other) &&
           (n_bytes == usable || n_bytes == usable + JEMALLOC_PAGE);
}

/* The extent that begins at `page`, or one damaged page. */
static struct jemalloc_extent extents_decode(struct extents_walk *walk,
                                             const struct jemalloc_entry *entry, uint64_t page)
{
    struct jemalloc_tree *tree = walk->tree;
    struct jemalloc_extent extent = {page << JEMALLOC_PAGE_SHIFT, NULL, 1, JEMALLOC_DAMAGED, 0, 0};
    const uint8_t *edata = extents_edata(walk, entry->edata);
    uint64_t n_pages;

    if (edata == NULL || !extents_is_placed(walk, edata, entry, page, &n_pages))
        return extent;
    uint64_t bits = hs_load_u64(edata);
    uint64_t szind = bits >> (tree->is_52 ? 18 : 20) & 255;
    unsigned state = (unsigned)(tree->is_52 ? bits >> 16 & 3 : bits >> 17 & 7);
    extent.edata = edata;
    extent.n_pages = (uint32_t)n_pages;
    extent.state = (uint8_t)state;
    extent.szind = (uint8_t)szind;
    tree->n_huge_pages += !tree->is_52 && (bits >> 14 & 1) != 0 ? n_pages : 0;
    if (state != JEMALLOC_ACTIVE) {
        tree->n_torn += state > JEMALLOC_RETAINED; /* between two states: 5.3 edata.h */
        extent.kind = JEMALLOC_UNUSED;
        return extent;
    }
    if (szind >= jemalloc_n_classes(tree) || szind != entry->szind) {
        tree->n_torn++; /* handed out or taken back at this very moment */
        extent.kind = JEMALLOC_UNUSED;
        extent.state = JEMALLOC_DIRTY;
        return extent;
    }
    extent.kind = entry->is_slab ? JEMALLOC_SLAB : JEMALLOC_LARGE;
    for (unsigned i = 0; i < 2; i++)
        walk->n_fitting[i] += extents_fits(tree, JEMALLOC_MIN_LG_QUANTUM + i, &extent);
    if (!extents_is_sound(walk, &extent))
        extent.kind = JEMALLOC_DAMAGED;
    return extent;
}

static hs_status extents_add(struct jemalloc_tree *tree, const struct jemalloc_extent *extent,
                             struct hs_error *err)
{
    if (extent->kind == JEMALLOC_DAMAGED) {
        struct jemalloc_extent *last =
            tree->n_extents == 0 ? NULL : &tree->extents[tree->n_extents - 1];
        if (last != NULL && last->kind == JEMALLOC_DAMAGED &&
            last->begin + last->n_pages * JEMALLOC_PAGE == extent->begin &&
            last->n_pages < UINT32_MAX - extent->n_pages) {
            last->n_pages += extent->n_pages;
            return HS_OK;
        }
        tree->n_damaged++;
    }
    HS_TRY(HS_GROW(&tree->extents, &tree->extents_capacity, tree->n_extents + 1, err));
    tree->extents[tree->n_extents++] = *extent;
    return HS_OK;
}

/* Entries [i, n) of the leaf at hand. */
static hs_status extents_of_part(struct extents_walk *walk, uint64_t i, uint64_t n,
                                 struct hs_error *err)
{
    struct jemalloc_tree *tree = walk->tree;
    uint64_t first = tree->leaves[walk->leaf].first_page;
    size_t unit = tree->bits == 48 ? 8 : 16;

    if (walk->next_page > first && walk->next_page - first > i)
        i = walk->next_page - first;
    while (i < n) {
        if (hs_load_u64(walk->leaf_bytes + i * unit) == 0) {
            i++;
            continue;
        }
        struct jemalloc_entry entry = hs_jemalloc_entry(tree, walk->leaf_bytes, i);
        if (entry.edata == 0) { /* of a run merged with the one before */
            i++;
            continue;
        }
        struct jemalloc_extent extent = extents_decode(walk, &entry, first + i);
        HS_TRY(extents_add(tree, &extent, err));
        walk->next_page = first + i + extent.n_pages;
        i += extent.n_pages;
    }
    return HS_OK;
}

static hs_status extents_of_leaf(struct extents_walk *walk, struct hs_error *err)
{
    const struct jemalloc_tree *tree = walk->tree;
    hs_addr begin = tree->leaves[walk->leaf].address, part, part_end;
    hs_addr end = begin + jemalloc_leaf_bytes(tree);
    unsigned unit = tree->bits == 48 ? 8 : 16;

    for (hs_addr at = begin; hs_image_next_present(tree->image, at, end, &part, &part_end);
         at = part_end)
        HS_TRY(extents_of_part(walk, (part - begin) / unit, (part_end - begin) / unit, err));
    return HS_OK;
}

/* Reads all leaves with tree->lg_quantum; *ret_lg_quantum is the one that explains more of what is
 * there. */
static hs_status extents_walk(struct jemalloc_tree *tree, unsigned *ret_lg_quantum,
                              struct hs_error *err)
{
    struct extents_walk walk = {.tree = tree};

    tree->n_extents = 0;
    for (walk.leaf = 0; walk.leaf < tree->n_leaves; walk.leaf++) {
        walk.leaf_bytes = extents_leaf(tree, walk.leaf);
        if (walk.leaf_bytes != NULL)
            HS_TRY(extents_of_leaf(&walk, err));
    }
    tree->large_pad_bytes = walk.n_padded >= walk.n_unpadded ? JEMALLOC_PAGE : 0;
    *ret_lg_quantum =
        walk.n_fitting[0] > walk.n_fitting[1] ? JEMALLOC_MIN_LG_QUANTUM : JEMALLOC_LG_QUANTUM;
    return HS_OK;
}

hs_status hs_jemalloc_read_extents(struct jemalloc_tree *tree, struct hs_error *err)
{
    uint64_t n_torn = tree->n_torn, n_damaged = tree->n_damaged;
    unsigned lg_quantum;

    tree->lg_quantum = JEMALLOC_LG_QUANTUM;
    HS_TRY(extents_walk(tree, &lg_quantum, err));
    if (lg_quantum == tree->lg_quantum)
        return HS_OK;
    tree->lg_quantum = (uint8_t)lg_quantum;
    tree->n_torn = n_torn;
    tree->n_damaged = n_damaged;
    tree->n_huge_pages = 0;
    return extents_walk(tree, &lg_quantum, err);
}

void hs_jemalloc_large(const struct jemalloc_tree *tree, const struct jemalloc_extent *extent,
                       hs_addr *ret_begin, uint64_t *ret_n_bytes)
{
    hs_addr begin = hs_load_u64(extent->edata + 8);
    uint64_t n_bytes = extent->n_pages * JEMALLOC_PAGE;
    uint64_t usable = hs_jemalloc_class_bytes(tree, extent->szind);
    uint64_t room = n_bytes - (begin - extent->begin);

    /* 5.3.1 rounds large blocks to pages, not to classes: then the extent is shorter */
    if (extent->szind >= jemalloc_n_small(tree) && n_bytes > tree->large_pad_bytes &&
        usable > n_bytes - tree->large_pad_bytes)
        usable = n_bytes - tree->large_pad_bytes;
    *ret_begin = begin;
    *ret_n_bytes = usable < room ? usable : room;
}
