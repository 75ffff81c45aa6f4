/* Hash tables of Qt (corelib/tools/qhash.h), of which all words agree.
 *
 *   Qt 5, QHashData:   0 | buckets | references, how many | bytes of a node, bits | buckets ...
 *         buckets:     first node or the table ...
 *         node:        next or the table | hash, ... | key, value
 *   Qt 6, Data:        references | how many | buckets | seed | spans, behind their number
 *         Span:        128 bytes: which entry each bucket has, or 0xff | entries | how many, free
 *         entries:     key, value ...
 *
 * What was taken out of an entry stays there until another thing comes in. */
#include "shapes.h"

enum { WORD = 8, QT_MOST_SIZED = 1 << 24, QT_MOST_REFERENCES = 1 << 24 };
enum { DATA_BYTES = 40, DATA_NUMBERS = 0xf, SPAN_BUCKETS = 128, SPAN_BYTES = 144 };
enum { SPAN_NOTHING = 0xff };
enum { HASH_BYTES = 48, HASH_SIZE_AT = 20, HASH_NODE_BYTES_AT = 24, HASH_BUCKETS_AT = 32 };
/* Words that hold numbers, as bits: beside a number of four bytes stands what was there before. */
enum { HASH_NUMBERS = 0x3c, HASH_NODE_NUMBERS = 1 << 1 };
enum { HASH_LEAST_NODE_BYTES = 16 };

/* ---- Qt 5 */

struct qt5_hash {
    struct hs_heap_block data, buckets;
    uint64_t n, n_buckets, node_bytes;
};

static bool qt5_hash_of(struct hs_shapes *s, const struct hs_heap_block *block,
                        struct qt5_hash *ret)
{
    if (!hs_shapes_fits(block, HASH_BYTES) || hs_load_u64(block->bytes) != 0)
        return false;
    *ret = (struct qt5_hash){.data = *block,
                             .n = hs_load_u32(block->bytes + HASH_SIZE_AT),
                             .node_bytes = hs_load_u32(block->bytes + HASH_NODE_BYTES_AT),
                             .n_buckets = hs_load_u32(block->bytes + HASH_BUCKETS_AT)};
    return ret->n != 0 && ret->n_buckets != 0 && ret->node_bytes >= HASH_LEAST_NODE_BYTES &&
           ret->node_bytes < QT_MOST_SIZED && ret->n + ret->n_buckets <= s->budget &&
           hs_shapes_body_at(s, hs_load_u64(block->bytes + WORD), &ret->buckets) &&
           hs_shapes_fits(&ret->buckets, ret->n_buckets * WORD);
}

/* Visits the nodes of all buckets; the chain of each ends with the table. False where they are not
 * as many as it says. `type`: given to each; 0: to none. */
static bool qt5_hash_nodes(struct hs_shapes *s, const struct qt5_hash *hash, hs_ntype type)
{
    struct hs_heap_block node;
    uint64_t n = 0;

    for (uint64_t i = 0; i < hash->n_buckets; i++) {
        uint64_t at = hs_load_u64(hash->buckets.bytes + i * WORD);
        for (; at != hash->data.begin; at = hs_load_u64(node.bytes)) {
            if (n++ == hash->n || hs_shapes_is_spent(s) || !hs_shapes_body_at(s, at, &node) ||
                !hs_shapes_fits(&node, hash->node_bytes))
                break;
            if (type != 0)
                hs_shapes_give(s, &node, type);
        }
        if (at != hash->data.begin)
            return false;
    }
    return n == hash->n;
}

static hs_status hash_sized(struct hs_shapes *s, const char *name, uint64_t n_bytes,
                            uint16_t others, hs_ntype *ret, struct hs_error *err)
{
    hs_str interned;

    HS_TRY(hs_strtab_add(s->flow->types.strings, name, &interned, err));
    HS_TRY(hs_native_types_of_sized(&s->flow->types, interned, n_bytes, ret, err));
    s->flow->types.types[*ret - 1].other_words = others;
    return HS_OK;
}

static hs_status qt5_try(struct hs_shapes *s, const struct hs_heap_block *block,
                         struct hs_error *err)
{
    struct qt5_hash hash;
    hs_ntype data, node, buckets;

    if (!qt5_hash_of(s, block, &hash))
        return HS_OK;
    if (!qt5_hash_nodes(s, &hash, 0)) {
        hs_shapes_spend(s, hash.n + hash.n_buckets);
        return HS_OK;
    }
    HS_TRY(hash_sized(s, "QHash", HASH_BYTES, HASH_NUMBERS, &data, err));
    HS_TRY(hash_sized(s, "QHash node", hash.node_bytes, HASH_NODE_NUMBERS, &node, err));
    uint64_t n_bytes = hash.n_buckets * WORD;
    HS_TRY(hash_sized(s, "QHash buckets", n_bytes < QT_MOST_SIZED ? n_bytes : 0, 0, &buckets, err));
    (void)qt5_hash_nodes(s, &hash, node);
    hs_shapes_give(s, &hash.buckets, buckets);
    hs_shapes_give(s, &hash.data, data);
    return HS_OK;
}

/* ---- Qt 6 */

/* The pointer to the entries, the only one in a span: the rest is bytes, and what was there before.
 */
static const struct hs_cslot span_slot = {.offset_bytes = SPAN_BUCKETS};

struct qt6_hash {
    struct hs_heap_block data, spans;
    uint64_t n, n_spans;
};

static bool qt6_hash_of(struct hs_shapes *s, const struct hs_heap_block *block,
                        struct qt6_hash *ret)
{
    if (!hs_shapes_fits(block, DATA_BYTES))
        return false;
    uint32_t references = hs_load_u32(block->bytes);
    uint64_t n = hs_load_u64(block->bytes + WORD), n_buckets = hs_load_u64(block->bytes + 2 * WORD);
    *ret = (struct qt6_hash){.data = *block, .n = n, .n_spans = n_buckets / SPAN_BUCKETS};
    return references != 0 && references < QT_MOST_REFERENCES && n != 0 && n <= n_buckets &&
           n_buckets % SPAN_BUCKETS == 0 && n_buckets <= s->budget &&
           hs_shapes_body_at(s, hs_load_u64(block->bytes + 4 * WORD) - WORD, &ret->spans) &&
           hs_shapes_fits(&ret->spans, WORD + ret->n_spans * SPAN_BYTES) &&
           hs_load_u64(ret->spans.bytes) == ret->n_spans;
}

/* Counts the buckets of a span that have something; *ret_entries: their block, if there are any.
 * False where they do not agree. */
static bool qt6_span(struct hs_shapes *s, const uint8_t *span, uint64_t *ret_n,
                     struct hs_heap_block *ret_entries)
{
    uint64_t entries = hs_load_u64(span + SPAN_BUCKETS);
    uint8_t n_entries = span[SPAN_BUCKETS + WORD];

    *ret_n = 0;
    for (unsigned i = 0; i < SPAN_BUCKETS; i++) {
        if (span[i] != SPAN_NOTHING && span[i] >= n_entries)
            return false;
        *ret_n += span[i] != SPAN_NOTHING;
    }
    if (entries == 0 || n_entries == 0)
        return entries == 0 && n_entries == 0;
    return hs_shapes_body_at(s, entries, ret_entries) && ret_entries->n_bytes / n_entries >= WORD;
}

/* Returns the size of an entry, in whole words; 0 where `n` of them do not fill the block. */
static uint64_t qt6_entry_bytes(const struct hs_heap_block *entries, uint64_t n)
{
    uint64_t each = entries->n_bytes / n - entries->n_bytes / n % WORD;
    return each < QT_MOST_SIZED && hs_shapes_fits(entries, each * n) ? each : 0;
}

static hs_status qt6_entries(struct hs_shapes *s, const struct hs_heap_block *entries, hs_addr span,
                             uint64_t n, struct hs_error *err)
{
    const uint64_t each = qt6_entry_bytes(entries, n);
    const struct hs_native_use use = {.end = each * n};
    hs_ntype type;
    hs_str name;

    if (each == 0)
        return HS_OK;
    HS_TRY(hs_strtab_add(s->flow->types.strings, "QHash nodes", &name, err));
    HS_TRY(hs_native_types_of_elements(&s->flow->types, name, each, &type, err));
    hs_shapes_give(s, entries, type);
    HS_TRY(hs_native_reserves_say(&s->flow->reserves, entries->rank, entries->n_bytes, use, each,
                                  err));
    return hs_native_reserves_say_list(&s->flow->reserves, entries->rank, span, err);
}

static hs_status qt6_try(struct hs_shapes *s, const struct hs_heap_block *block,
                         struct hs_error *err)
{
    struct hs_heap_block entries;
    struct qt6_hash hash;
    uint64_t n = 0, n_here;
    hs_ntype data, spans;
    hs_str name;

    if (!qt6_hash_of(s, block, &hash))
        return HS_OK;
    for (uint64_t i = 0; i < hash.n_spans; i++, n += n_here)
        if (!qt6_span(s, hash.spans.bytes + WORD + i * SPAN_BYTES, &n_here, &entries)) {
            hs_shapes_spend(s, (i + 1) * SPAN_BUCKETS);
            return HS_OK;
        }
    if (n != hash.n) {
        hs_shapes_spend(s, hash.n_spans * SPAN_BUCKETS);
        return HS_OK;
    }
    for (uint64_t i = 0; i < hash.n_spans; i++) {
        uint64_t at = WORD + i * SPAN_BYTES;
        const uint8_t *span = hash.spans.bytes + at;
        if (qt6_span(s, span, &n_here, &entries) && n_here != 0)
            HS_TRY(qt6_entries(s, &entries, hash.spans.begin + at, span[SPAN_BUCKETS + WORD], err));
    }
    HS_TRY(hash_sized(s, "QHash", DATA_BYTES, DATA_NUMBERS, &data, err));
    HS_TRY(hs_strtab_add(s->flow->types.strings, "QHash spans", &name, err));
    HS_TRY(
        hs_native_types_of_slotted(&s->flow->types, name, SPAN_BYTES, &span_slot, 1, &spans, err));
    hs_shapes_give(s, &hash.spans, spans);
    hs_shapes_give(s, &hash.data, data);
    return HS_OK;
}

hs_status hs_shapes_try_qt_hash(struct hs_shapes *s, const struct hs_heap_block *block,
                                struct hs_error *err)
{
    return s->qt_version == 5 ? qt5_try(s, block, err) : qt6_try(s, block, err);
}
