#include "local_storage.h"

#include <string.h>

#include "base/alloc.h"
#include "roots.h"
#include "v5/ocaml5.h"

enum { KEYS_MAX = 1 << 12, KEY_FIELDS = 2 };

/* The variable that holds the key of an index. */
struct key {
    size_t leaf; /* its number among the roots, plus 1; 0: none */
    hs_stype type;
    bool is_sure;  /* the variable's type is that of a key */
    bool is_doubt; /* another variable may hold it */
};

bool hs_slocal_is_root(const struct hs_ocaml *rt, const struct hs_root *root)
{
    const struct hs_ocaml5 *five = rt->five;

    if (five == NULL || root->kind != HS_ROOT_C_ROOT || five->layout.dls_root == 0)
        return false;
    for (size_t i = 0; i < five->n_domains; i++)
        if (root->address == five->domains[i].state + (hs_addr)five->layout.dls_root * HS_WORD)
            return true;
    return false;
}

static bool block_at(const struct hs_sheap *heap, uint64_t value, struct hs_block *ret)
{
    return (value & 1) == 0 && hs_map_resolve(heap->map, value, ret) &&
           hs_bitmap_get(&heap->map->starts, ret->bit);
}

bool hs_slocal_is_empty(const struct hs_block_map *map, uint64_t value)
{
    struct hs_block block;

    if ((value & 1) != 0 || !hs_map_resolve(map, value, &block) ||
        !hs_bitmap_get(&map->starts, block.bit))
        return false;
    uint64_t header = hs_block_head(&block);
    return HS_HEADER_TAG(header) == 0 && HS_HEADER_WOSIZE(header) == 1 &&
           hs_load_u64(hs_map_bytes(block.span, block.address)) == 1;
}

/* Reads the index of the key that a variable may hold: a pair of an integer and a function. */
static bool key_index(const struct hs_sheap *heap, const struct hs_root_leaf *leaf, size_t *ret)
{
    struct hs_block block, function;

    if ((leaf->root.kind != HS_ROOT_GLOBAL && leaf->root.kind != HS_ROOT_DYNAMIC_GLOBAL) ||
        leaf->root.weak || leaf->root.field == HS_NO_FIELD ||
        !block_at(heap, leaf->target, &block) || block.address != leaf->target)
        return false;
    uint64_t header = hs_block_head(&block);
    if (HS_HEADER_TAG(header) != 0 || HS_HEADER_WOSIZE(header) != KEY_FIELDS)
        return false;
    const uint8_t *fields = hs_map_bytes(block.span, block.address);
    uint64_t index = hs_load_u64(fields);
    *ret = index >> 1;
    return (index & 1) != 0 && *ret < KEYS_MAX &&
           block_at(heap, hs_load_u64(fields + HS_WORD), &function) &&
           HS_HEADER_TAG(hs_block_head(&function)) == HS_TAG_CLOSURE;
}

/* Returns the size of the largest storage that a domain has. */
static size_t storage_size(const struct hs_sheap *heap)
{
    const struct hs_roots *roots = &heap->roots->roots;
    struct hs_block block;
    size_t most = 0;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        if (!hs_slocal_is_root(heap->rt, &roots->leaves[i].root) ||
            !block_at(heap, roots->leaves[i].target, &block))
            continue;
        uint64_t size = HS_HEADER_WOSIZE(hs_block_head(&block));
        most = size > most ? size : most;
    }
    return most < KEYS_MAX ? most : KEYS_MAX;
}

/* Notes a variable for its index. One whose type says that it holds a key comes before all others;
 * of several others none is believed. */
static void note_key(struct key *key, size_t leaf, hs_stype type, bool is_sure)
{
    if (key->leaf != 0 && key->is_sure && !is_sure)
        return;
    bool is_first = key->leaf == 0 || (is_sure && !key->is_sure);
    *key = (struct key){leaf + 1, type, is_sure, !is_first};
}

static size_t find_keys(const struct hs_stables *tables, const struct hs_sheap *heap,
                        struct key *keys, size_t n)
{
    const struct hs_roots *roots = &heap->roots->roots;
    size_t n_used = 0, index;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root *root = &roots->leaves[i].root;
        hs_stype type = HS_STYPE_NONE;
        if (!key_index(heap, &roots->leaves[i], &index) || index >= n)
            continue;
        const char *symbol = hs_strtab_get(heap->rt->strings, root->symbol);
        bool is_sure = strncmp(symbol, "caml", 4) == 0 &&
                       hs_stables_key(tables, symbol + 4, root->field, &type);
        note_key(&keys[index], i, type, is_sure);
        n_used = index >= n_used ? index + 1 : n_used;
    }
    return n_used;
}

static hs_status add_fields(struct hs_stables *t, const struct hs_sheap *heap,
                            const struct key *keys, size_t n, struct hs_error *err)
{
    HS_TRY(HS_GROW(&t->children, &t->children_capacity, t->n_children + n, err));
    for (size_t i = 0; i < n; i++) {
        struct hs_schild child = {.type = HS_STYPE_NONE};
        if (keys[i].leaf != 0 && !keys[i].is_doubt) {
            const struct hs_root *root = &heap->roots->roots.leaves[keys[i].leaf - 1].root;
            const char *name = hs_strtab_get(heap->rt->strings, root->name);
            HS_TRY(hs_strtab_add(&t->strings, name, &child.label, err));
            child.type = keys[i].type;
        }
        t->children[t->n_children++] = child;
    }
    return HS_OK;
}

static hs_status add_type(struct hs_spush *push, const struct hs_sheap *heap,
                          const struct key *keys, size_t n, struct hs_error *err)
{
    struct hs_stables *t = push->tables;
    struct hs_stype_entry type = {.inner = HS_STYPE_NONE,
                                  .alias = HS_STYPE_NONE,
                                  .first_row = (uint32_t)t->n_rows,
                                  .n_rows = 1,
                                  .kind = HS_STYPE_BLOCK};
    const struct hs_srow row = {.type = (hs_stype)t->n_types,
                                .size = HS_STYPE_ANY_SIZE,
                                .kind = HS_SROW_FIELDS,
                                .number = (uint32_t)t->n_rows,
                                .children = {(uint32_t)t->n_children, (uint32_t)n}};

    HS_TRY(hs_strtab_add(&t->strings, "Domain.DLS", &type.head, err));
    type.display = type.head;
    HS_TRY(add_fields(t, heap, keys, n, err));
    HS_TRY(HS_GROW(&t->types, &t->types_capacity, t->n_types + 1, err));
    HS_TRY(HS_GROW(&t->rows, &t->rows_capacity, t->n_rows + 1, err));
    push->storage_type = row.type;
    t->types[t->n_types++] = type;
    t->rows[t->n_rows++] = row;
    return HS_OK;
}

hs_status hs_slocal_add(struct hs_spush *push, const struct hs_sheap *heap, struct hs_error *err)
{
    hs_auto_free struct key *keys = NULL;
    size_t n = heap->rt->five == NULL ? 0 : storage_size(heap);

    push->storage_type = HS_STYPE_NONE;
    if (n == 0 || push->tables->n_types >= HS_STYPES_MAX || push->tables->n_rows >= HS_SROWS_MAX)
        return HS_OK;
    HS_TRY(HS_ALLOC(&keys, n, err));
    size_t n_used = find_keys(push->tables, heap, keys, n);
    return n_used == 0 ? HS_OK : add_type(push, heap, keys, n_used, err);
}
