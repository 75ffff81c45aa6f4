/* Bigarrays: custom blocks whose data is memory of C.
 *
 *   custom block | operations | data | dimensions | flags | proxy | sizes ... |
 *                               |                              |
 *                               v                              v (of a part of another array, and
 * of malloc                            what has parts) proxy | references | data of the whole |
 * size |
 *
 * Source: runtime/caml/bigarray.h, the same in 4.13 to 5.4. */
#include "bigarrays.h"

#include "base/load.h"

enum { BIGARRAY_DATA = 1, BIGARRAY_PROXY = 4, BIGARRAY_LEAST_WORDS = 5 };
enum { PROXY_REFERENCES = 0, PROXY_DATA = 1 };

static const char data_name[] = "data of a Bigarray",
                  left_name[] = "data of a Bigarray of which a part is left";

struct bigarrays {
    const struct hs_ocaml *rt;
    hs_addr operations;
    hs_status (*visit)(void *context, hs_addr data, const char *name, struct hs_error *err);
    void *context;
};

static hs_status look_at(const struct bigarrays *b, const struct hs_block *block,
                         struct hs_error *err)
{
    uint64_t header = hs_block_head(block), whole, n_references;
    const uint8_t *fields = hs_map_bytes(block->span, block->address);

    if (HS_HEADER_TAG(header) != HS_TAG_CUSTOM || HS_HEADER_WOSIZE(header) < BIGARRAY_LEAST_WORDS ||
        hs_load_u64(fields) != b->operations)
        return HS_OK;
    hs_addr data = hs_load_u64(fields + BIGARRAY_DATA * HS_WORD);
    uint64_t proxy = hs_load_u64(fields + BIGARRAY_PROXY * HS_WORD);
    if (proxy == 0 ||
        !hs_image_u64(b->rt->image, proxy + PROXY_REFERENCES * HS_WORD, &n_references) ||
        !hs_image_u64(b->rt->image, proxy + PROXY_DATA * HS_WORD, &whole))
        return b->visit(b->context, data, data_name, err);
    return b->visit(b->context, whole, n_references == 1 ? left_name : data_name, err);
}

hs_status hs_bigarrays_each(const struct hs_ocaml *rt, const struct hs_block_map *map,
                            hs_status (*visit)(void *context, hs_addr data, const char *name,
                                               struct hs_error *err),
                            void *context, struct hs_error *err)
{
    struct bigarrays b = {.rt = rt, .visit = visit, .context = context};
    struct hs_live_symbol symbol;

    if (!hs_objects_find(rt->objects, "caml_ba_ops", &symbol))
        return HS_OK;
    b.operations = symbol.address;
    for (size_t i = 0; i < map->spans.n; i++) {
        const struct hs_span *span = &map->spans.spans[i];
        uint64_t end = span->first_bit + (span->end - span->begin) / HS_WORD;
        if (span->area != HS_AREA_HEAP && span->area != HS_AREA_YOUNG)
            continue;
        for (uint64_t bit = hs_bitmap_next(&map->starts, span->first_bit); bit < end;
             bit = hs_bitmap_next(&map->starts, bit + 1)) {
            const struct hs_block block = {.span = span,
                                           .address =
                                               span->begin + (bit - span->first_bit) * HS_WORD,
                                           .bit = bit};
            HS_TRY(look_at(&b, &block, err));
        }
    }
    return HS_OK;
}
