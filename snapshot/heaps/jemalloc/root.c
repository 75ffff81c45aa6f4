/* Finds the root of jemalloc's radix tree.
 *
 * The root array lies in .bss, 2 MiB of it (256 KiB when built for 57 address bits), so that the
 * search needs no symbol: a word of a large data segment that points to something whose entries
 * name extents that contain their own pages is a word of the root, and its place in the root
 * follows from the addresses of those extents. A root is believed when all its words lead to such
 * leaves. */
#include <stdlib.h>

#include "base/alloc.h"
#include "tree.h"

enum {
    ROOT_MAX_SAMPLES = 32,    /* entries of a leaf looked at */
    ROOT_MIN_AGREEING = 3,    /* entries that have to name one place */
    ROOT_MAX_CANDIDATES = 64, /* roots that words speak for */
    ROOT_MAX_NODE_WORDS = 16, /* words of a node looked at when it is judged */
};
/* Words looked at behind candidate pointers, in all: half a second. Zeroed arrays that data
 * segments point to are read to their end, and hostile data could point to one from everywhere. */
#define ROOT_BUDGET_WORDS (UINT64_C(1) << 29)

/* Below the quantum powers of two, then four quanta, then four steps from each power of two to the
 * next (sc.c: size_classes). */
uint64_t hs_jemalloc_class_bytes(const struct jemalloc_tree *tree, unsigned szind)
{
    unsigned lg = tree->lg_quantum, n_tiny = lg - JEMALLOC_MIN_LG_QUANTUM;

    if (szind >= jemalloc_n_classes(tree))
        return 0;
    if (szind < n_tiny)
        return UINT64_C(8) << szind;
    unsigned group = (szind - n_tiny) / 4, step = (szind - n_tiny) % 4 + 1;
    if (group == 0)
        return (uint64_t)step << lg;
    return (UINT64_C(4) << lg << (group - 1)) + (step * (UINT64_C(1) << lg) << (group - 1));
}

struct jemalloc_entry hs_jemalloc_entry(const struct jemalloc_tree *tree, const uint8_t *leaf,
                                        uint64_t number)
{
    struct jemalloc_entry entry;

    if (tree->bits == 48) {
        uint64_t word = hs_load_u64(leaf + number * 8);
        /* 5.3 aligns an edata to 128 bytes and keeps the state below; 5.2 to 64 */
        entry.edata = (uint64_t)((int64_t)(word << 16) >> 16) & ~UINT64_C(63);
        entry.szind = word >> 48;
        entry.is_slab = (word & 1) != 0;
        return entry;
    }
    uint64_t meta = hs_load_u64(leaf + number * 16 + 8);
    entry.edata = hs_load_u64(leaf + number * 16);
    entry.szind = tree->is_52 ? meta & UINT32_MAX : (meta & UINT32_MAX) >> 5;
    entry.is_slab = ((tree->is_52 ? meta >> 32 : meta) & 1) != 0;
    return entry;
}

/* The evidence, from samples of its entries, that a leaf is one. */
struct root_evidence {
    uint64_t first_page; /* what the leaf's first entry stands for, if n_good != 0 */
    unsigned n_good, n_bad, n_53, n_52;
};

static const uint8_t *root_edata(const struct hs_image *image, hs_addr address, size_t *hint)
{
    const struct hs_image_range *range;

    if (address == 0 || address % 64 != 0 || address >= HS_USER_END)
        return NULL;
    range = hs_image_find(image, address, hint);
    if (range == NULL || range->end - address < JEMALLOC_EDATA_BYTES)
        return NULL;
    return range->bytes + (address - range->begin);
}

/* The page that a leaf's first entry stands for, when its entry `number` belongs to the extent of
 * `edata`: the first or last page of that, or any page of a slab. False when it can be none. */
static bool root_place(const uint8_t *edata, bool is_slab, uint64_t mask, uint64_t number,
                       uint64_t *ret_first_page)
{
    const uint64_t n_user = HS_USER_END >> JEMALLOC_PAGE_SHIFT;
    uint64_t first = hs_load_u64(edata + 8) >> JEMALLOC_PAGE_SHIFT;
    uint64_t n_pages = hs_load_u64(edata + 16) >> JEMALLOC_PAGE_SHIFT;

    if (first == 0 || n_pages == 0 || first >= n_user || n_pages > n_user - first)
        return false;
    uint64_t last = first + n_pages - 1;
    uint64_t page = (first & ~mask) | number; /* in the leaf of the first page, or of the last */
    if (page < first)
        page = (last & ~mask) | number;
    if (page < first || page > last || (!is_slab && page != first && page != last))
        return false;
    *ret_first_page = page - number;
    return true;
}

/* Adds what entry `number` of a leaf says. */
static void root_sample(const struct jemalloc_tree *tree, const uint8_t *leaf, uint64_t number,
                        struct root_evidence *evidence, size_t *hint)
{
    struct jemalloc_tree as_52 = {.bits = tree->bits, .is_52 = true};
    struct jemalloc_entry entry = hs_jemalloc_entry(tree, leaf, number);
    struct jemalloc_entry entry_52 = hs_jemalloc_entry(&as_52, leaf, number);
    const uint8_t *edata = root_edata(tree->image, entry.edata, hint);
    uint64_t place;

    if (entry.edata == 0)
        return;        /* 5.3 clears the pointer and keeps the state of a merged run */
    evidence->n_bad++; /* until shown good */
    if (edata == NULL || !root_place(edata, entry.is_slab || entry_52.is_slab,
                                     jemalloc_leaf_pages(tree) - 1, number, &place))
        return;
    if (evidence->n_good != 0 && evidence->first_page != place)
        return;
    evidence->first_page = place;
    evidence->n_good++;
    evidence->n_bad--;
    /* The entry of a last page, and any of a free run, may keep the class of an earlier block. */
    uint64_t bits = hs_load_u64(edata);
    evidence->n_53 += (bits >> 20 & 255) == entry.szind;
    evidence->n_52 += (bits >> 18 & 255) == entry_52.szind;
}

/* Samples entries [i, n) of a leaf; false when enough is known. */
static bool root_sample_part(const struct jemalloc_tree *tree, const uint8_t *leaf, uint64_t i,
                             uint64_t n, uint64_t *budget, struct root_evidence *evidence)
{
    size_t unit = tree->bits == 48 ? 8 : 16, hint = 0;

    for (; i<n && * budget> 0; i++, --*budget) {
        if (hs_load_u64(leaf + i * unit) == 0)
            continue;
        root_sample(tree, leaf, i, evidence, &hint);
        if (evidence->n_bad > 3 + evidence->n_good / 4 ||
            evidence->n_good + evidence->n_bad >= ROOT_MAX_SAMPLES)
            return false;
    }
    return *budget > 0;
}

/* Samples the leaf at `address`; false when it cannot be one. */
static bool root_judge_leaf(const struct jemalloc_tree *tree, hs_addr address, uint64_t *budget,
                            struct root_evidence *evidence)
{
    const uint8_t *leaf = address % 64 != 0 || address >= HS_USER_END
                              ? NULL
                              : hs_image_bytes(tree->image, address, jemalloc_leaf_bytes(tree));
    hs_addr end = address + jemalloc_leaf_bytes(tree), part, part_end;
    unsigned unit = tree->bits == 48 ? 8 : 16;

    memset(evidence, 0, sizeof *evidence);
    if (leaf == NULL)
        return false;
    for (hs_addr at = address; hs_image_next_present(tree->image, at, end, &part, &part_end);
         at = part_end)
        if (!root_sample_part(tree, leaf, (part - address) / unit, (part_end - address) / unit,
                              budget, evidence))
            break;
    return evidence->n_bad <= 3 + evidence->n_good / 4 && evidence->n_good >= evidence->n_bad;
}

/* Is what `address` points to a leaf (48 bits) or a node of leaves (57 bits)? The page that the
 * first byte of its address range stands for. */
static bool root_judge_child(const struct jemalloc_tree *tree, hs_addr address, uint64_t *budget,
                             uint64_t *ret_first_page)
{
    struct root_evidence evidence;

    if (tree->bits == 48) {
        if (!root_judge_leaf(tree, address, budget, &evidence) ||
            evidence.n_good < ROOT_MIN_AGREEING)
            return false;
        *ret_first_page = evidence.first_page;
        return true;
    }
    const uint8_t *node = hs_image_bytes(tree->image, address, UINT64_C(1) << 18);
    unsigned n_seen = 0;
    if (node == NULL)
        return false;
    for (uint64_t i = 0; i < UINT64_C(1) << 15 && *budget > 0; i++, --*budget) {
        hs_addr leaf = hs_load_u64(node + i * 8);
        if (leaf == 0)
            continue;
        if (++n_seen > ROOT_MAX_NODE_WORDS || !root_judge_leaf(tree, leaf, budget, &evidence))
            return false;
        if (evidence.n_good < ROOT_MIN_AGREEING)
            continue;
        if ((evidence.first_page >> 15 & 0x7fff) != i)
            return false;
        *ret_first_page = evidence.first_page >> 30 << 30;
        return true;
    }
    return false;
}

static hs_status root_add_leaf(struct jemalloc_tree *tree, hs_addr address, uint64_t first_page,
                               uint64_t *n_bad, struct hs_error *err)
{
    if (address % 64 != 0 || address >= HS_USER_END ||
        hs_image_bytes(tree->image, address, jemalloc_leaf_bytes(tree)) == NULL) {
        ++*n_bad;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&tree->leaves, &tree->leaves_capacity, tree->n_leaves + 1, err));
    tree->leaves[tree->n_leaves++] = (struct jemalloc_leaf){address, first_page};
    return HS_OK;
}

/* The leaves below the root's word number `i`. */
static hs_status root_add_child(struct jemalloc_tree *tree, hs_addr child, uint64_t i,
                                uint64_t *n_bad, struct hs_error *err)
{
    if (tree->bits == 48)
        return root_add_leaf(tree, child, i << 18, n_bad, err);
    const uint8_t *node = hs_image_bytes(tree->image, child, UINT64_C(1) << 18);
    if (node == NULL || i >= 32) { /* beyond user space */
        ++*n_bad;
        return HS_OK;
    }
    for (uint64_t k = 0; k < UINT64_C(1) << 15; k++) {
        hs_addr leaf = hs_load_u64(node + k * 8);
        if (leaf != 0)
            HS_TRY(root_add_leaf(tree, leaf, i << 30 | k << 15, n_bad, err));
    }
    return HS_OK;
}

static int root_by_address(const void *a, const void *b)
{
    hs_addr x = ((const struct jemalloc_leaf *)a)->address;
    hs_addr y = ((const struct jemalloc_leaf *)b)->address;
    return (x > y) - (x < y);
}

static int root_by_page(const void *a, const void *b)
{
    uint64_t x = ((const struct jemalloc_leaf *)a)->first_page;
    uint64_t y = ((const struct jemalloc_leaf *)b)->first_page;
    return (x > y) - (x < y);
}

/* Drops leaves that lie over each other, so that looking at all of them is linear in the copy, and
 * those that do not look like leaves of their place. How many were dropped. */
static uint64_t root_judge_leaves(struct jemalloc_tree *tree, struct root_evidence *sum)
{
    size_t n = 0, n_all = tree->n_leaves;
    struct root_evidence evidence = {0};
    hs_addr end = 0;
    bool is_free = false; /* the leaf before `end` is one, and has no place yet */

    if (n_all > 1)
        qsort(tree->leaves, n_all, sizeof *tree->leaves, root_by_address);
    for (size_t i = 0; i < n_all; i++) {
        struct jemalloc_leaf leaf = tree->leaves[i];
        if (leaf.address >= end) {
            uint64_t most = jemalloc_leaf_pages(tree), budget = ROOT_BUDGET_WORDS - tree->n_looks;
            if (budget > most)
                budget = most;
            most = budget;
            is_free = budget != 0 && root_judge_leaf(tree, leaf.address, &budget, &evidence);
            tree->n_looks += most - budget;
            end = leaf.address + jemalloc_leaf_bytes(tree);
        }
        if (!is_free || leaf.address != end - jemalloc_leaf_bytes(tree) ||
            (evidence.n_good != 0 && evidence.first_page != leaf.first_page))
            continue;
        is_free = false; /* another word may name it too, for a place where it is not */
        sum->n_good += evidence.n_good;
        sum->n_53 += evidence.n_53;
        sum->n_52 += evidence.n_52;
        tree->leaves[n++] = leaf;
    }
    tree->n_leaves = n;
    if (n > 1)
        qsort(tree->leaves, n, sizeof *tree->leaves, root_by_page);
    return n_all - n;
}

hs_status hs_jemalloc_accept(struct jemalloc_tree *tree, hs_addr root, bool is_strict,
                             bool *ret_accepted, struct hs_error *err)
{
    const uint8_t *bytes = hs_image_bytes(tree->image, root, jemalloc_root_bytes(tree));
    struct root_evidence sum = {0};
    uint64_t n_bad = 0;

    tree->n_leaves = 0;
    tree->n_damaged = 0;
    *ret_accepted = false;
    if (bytes == NULL)
        return HS_OK;
    for (uint64_t i = 0; i < jemalloc_root_bytes(tree) / 8; i++) {
        hs_addr child = hs_load_u64(bytes + i * 8);
        if (child != 0)
            HS_TRY(root_add_child(tree, child, i, &n_bad, err));
        if (n_bad > 4 + tree->n_leaves / 16)
            return HS_OK;
    }
    n_bad += root_judge_leaves(tree, &sum);
    if (sum.n_good < ROOT_MIN_AGREEING || sum.n_53 + sum.n_52 == 0 || tree->n_leaves == 0 ||
        n_bad > (is_strict ? 0 : 4 + tree->n_leaves / 16))
        return HS_OK;
    tree->root = root;
    tree->is_52 = sum.n_52 > sum.n_53;
    tree->lg_quantum = JEMALLOC_LG_QUANTUM; /* until the extents tell */
    tree->n_damaged = n_bad;
    *ret_accepted = true;
    return HS_OK;
}

void hs_jemalloc_tree_fini(struct jemalloc_tree *tree)
{
    hs_free(tree->leaves);
    hs_free(tree->extents);
    memset(tree, 0, sizeof *tree);
}

/* Places that words speak for, most spoken for first. */
struct root_search {
    struct jemalloc_tree tree; /* of the bits searched for */
    struct {
        hs_addr root;
        uint64_t n_votes;
    } candidates[ROOT_MAX_CANDIDATES];
    size_t n_candidates;
    uint64_t budget;
    uint64_t n_looks; /* when candidates were judged */
};

static void root_vote(struct root_search *search, hs_addr root)
{
    size_t i = 0;

    while (i < search->n_candidates && search->candidates[i].root != root)
        i++;
    if (i == ROOT_MAX_CANDIDATES)
        return;
    if (i == search->n_candidates) {
        search->candidates[i].root = root;
        search->candidates[i].n_votes = 0;
        search->n_candidates++;
    }
    search->candidates[i].n_votes++;
    for (; i > 0 && search->candidates[i - 1].n_votes < search->candidates[i].n_votes; i--) {
        hs_addr swap = search->candidates[i].root;
        uint64_t n_votes = search->candidates[i].n_votes;
        search->candidates[i] = search->candidates[i - 1];
        search->candidates[i - 1].root = swap;
        search->candidates[i - 1].n_votes = n_votes;
    }
}

/* Lets every word of [at, part_end), a part of [begin, end), vote. */
static void root_scan_part(struct root_search *search, hs_addr begin, hs_addr end, hs_addr at,
                           hs_addr part_end)
{
    const struct hs_image *image = search->tree.image;
    const uint8_t *bytes = hs_image_bytes(image, at, part_end - at);
    uint64_t leaf_bytes = search->tree.bits == 48 ? UINT64_C(1) << 21 : UINT64_C(1) << 18;
    unsigned shift = search->tree.bits == 48 ? 18 : 30;
    uint64_t first_page = 0;
    size_t hint = 0;
    hs_addr last = 0; /* what was judged before */
    bool is_child = false;

    if (bytes == NULL)
        return;
    for (; at + 8 <= part_end && search->budget > 0; at += 8, bytes += 8) {
        hs_addr child = hs_load_u64(bytes);
        if (child == 0 || child % 64 != 0 || child >= HS_USER_END)
            continue;
        if (child != last) {
            const struct hs_image_range *range = hs_image_find(image, child, &hint);
            last = child;
            search->budget--;
            is_child = range != NULL && range->end - child >= leaf_bytes &&
                       root_judge_child(&search->tree, child, &search->budget, &first_page);
        }
        if (!is_child)
            continue;
        uint64_t offset = (first_page >> shift) * 8;
        if (offset <= at - begin && jemalloc_root_bytes(&search->tree) <= end - (at - offset))
            root_vote(search, at - offset);
    }
}

static void root_scan(struct root_search *search, hs_addr begin, hs_addr end)
{
    const struct hs_image *image = search->tree.image;
    hs_addr part, part_end;

    if (hs_image_bytes(image, begin, end - begin) == NULL)
        return;
    for (hs_addr at = begin; hs_image_next_present(image, at, end, &part, &part_end); at = part_end)
        root_scan_part(search, begin, end, part, part_end);
}

/* Runs of adjacent private writable mappings that begin in a file and hold the root. */
static void root_scan_segments(struct root_search *search, const struct hs_target *target)
{
    const struct hs_mapping *m = target->mappings;

    for (size_t i = 0; i < target->n_mappings; i++) {
        if (m[i].inode == 0 || !m[i].writable || m[i].shared)
            continue;
        hs_addr begin = m[i].begin, end = m[i].end;
        while (i + 1 < target->n_mappings && m[i + 1].begin == end && m[i + 1].writable &&
               !m[i + 1].shared && hs_mapping_path(target, &m[i + 1])[0] != '[')
            end = m[++i].end;
        if (end - begin >= jemalloc_root_bytes(&search->tree))
            root_scan(search, begin, end);
    }
}

/* A symbol saves the search: the root lies inside the object it names. */
static void root_scan_symbols(struct root_search *search, const struct hs_objects *objects)
{
    static const char *const names[] = {
        "je_arena_emap_global", "je_extents_rtree", "_rjem_je_arena_emap_global",
        "_rjem_je_extents_rtree", /* Rust's tikv-jemalloc-sys */
    };

    for (size_t i = 0; objects != NULL && i < objects->n; i++) {
        for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
            struct hs_live_symbol symbol;
            if (hs_object_find(&objects->objects[i], names[k], &symbol) && symbol.size != 0 &&
                symbol.size <= UINT64_C(1) << 24 && symbol.address < HS_USER_END)
                root_scan(search, symbol.address & ~UINT64_C(7),
                          (symbol.address + symbol.size) & ~UINT64_C(7));
        }
    }
}

static bool root_is_known(const struct jemalloc_tree *trees, size_t n, hs_addr root)
{
    for (size_t i = 0; i < n; i++)
        if (root + (UINT64_C(1) << 21) > trees[i].root &&
            root < trees[i].root + jemalloc_root_bytes(&trees[i]))
            return true;
    return false;
}

/* Moves the candidates that prove themselves to `trees`. Strictly first: of a word that holds a
 * copy of a root's word the place is false and the true root disagrees with it. */
static hs_status root_accept(struct root_search *search, bool is_strict,
                             struct jemalloc_tree *trees, size_t *n_trees, struct hs_error *err)
{
    for (size_t i = 0; i < search->n_candidates && *n_trees < JEMALLOC_MAX_TREES; i++) {
        struct jemalloc_tree *tree = &trees[*n_trees];
        hs_addr root = search->candidates[i].root;
        bool accepted = false;
        if (root_is_known(trees, *n_trees, root))
            continue;
        *tree = (struct jemalloc_tree){.image = search->tree.image, .bits = search->tree.bits};
        tree->n_looks = search->n_looks;
        hs_status status = hs_jemalloc_accept(tree, root, is_strict, &accepted, err);
        search->n_looks = tree->n_looks;
        if (status != HS_OK || !accepted)
            hs_jemalloc_tree_fini(tree);
        if (status != HS_OK)
            return status;
        *n_trees += accepted;
    }
    return HS_OK;
}

hs_status hs_jemalloc_find(const struct hs_process_copy *process, struct jemalloc_tree *trees,
                           size_t *ret_n_trees, struct hs_error *err)
{
    static const uint8_t widths[] = {48, 57};
    hs_auto_free struct root_search *search = NULL;
    size_t n = 0;

    *ret_n_trees = 0;
    HS_TRY(HS_ALLOC(&search, 1, err));
    for (size_t i = 0; i < sizeof widths; i++) {
        memset(search, 0, sizeof *search);
        search->tree.image = process->image;
        search->tree.bits = widths[i];
        search->budget = ROOT_BUDGET_WORDS;
        root_scan_symbols(search, process->objects);
        root_scan_segments(search, process->target);
        HS_TRY(root_accept(search, true, trees, &n, err));
        HS_TRY(root_accept(search, false, trees, &n, err));
        *ret_n_trees = n;
    }
    return HS_OK;
}
