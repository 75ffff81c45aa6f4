/* Custom blocks whose data is memory of C.
 *
 *   Bigarray   operations | data | dimensions | flags | proxy | sizes ...
 *                           |                           |
 *                           v                           v (of a part of another array, and of what
 *                        of malloc                         has parts) proxy | references | data of
 *                                                          the whole | size
 *   channel    operations | channel: position, next, previous, buffer of 64 KiB
 *
 * Sources: runtime/caml/bigarray.h and runtime/caml/io.h, the same in 4.13 to 5.4. All open
 * channels are in one list, which only finds them: the collector frees a closed one with its custom
 * block. */
#include "custom_data.h"

#include <string.h>

#include "base/load.h"
#include "types.h"

enum { BIGARRAY_DATA = 1, BIGARRAY_PROXY = 4, BIGARRAY_LEAST_WORDS = 5 };
enum { PROXY_REFERENCES = 0, PROXY_DATA = 1 };
enum { CHANNEL_DATA = 1, CHANNEL_LEAST_WORDS = 2, IDENTIFIER_BYTES = 32, KINDS_MAX = 1 << 12 };
enum kind { KIND_OTHER, KIND_BIGARRAY, KIND_CHANNEL };

static const char data_name[] = "data of a Bigarray",
                  left_name[] = "data of a Bigarray of which a part is left",
                  channel_name[] = "channel of OCaml";

struct custom_data {
    const struct hs_ocaml *rt;
    hs_addr bigarrays;
    struct hs_dict kinds; /* by the address of operations */
    hs_status (*visit)(void *context, hs_addr data, const char *name, struct hs_error *err);
    void *context;
};

/* Finds the kind by the operations: a channel's have no symbol where a program is stripped. */
static hs_status kind_of(struct custom_data *c, hs_addr operations, enum kind *ret,
                         struct hs_error *err)
{
    const uint64_t *known = hs_dict_find(&c->kinds, operations);
    char identifier[IDENTIFIER_BYTES];

    *ret = KIND_OTHER;
    if (known != NULL) {
        *ret = (enum kind) * known;
        return HS_OK;
    }
    if (c->bigarrays != 0 && operations == c->bigarrays)
        *ret = KIND_BIGARRAY;
    else if (hs_ocaml_identifier(c->rt, operations, identifier, sizeof identifier) &&
             strcmp(identifier, "_chan") == 0)
        *ret = KIND_CHANNEL;
    return c->kinds.n < KINDS_MAX ? hs_dict_put(&c->kinds, operations, *ret, err) : HS_OK;
}

static hs_status visit_bigarray(const struct custom_data *c, const uint8_t *fields,
                                struct hs_error *err)
{
    hs_addr data = hs_load_u64(fields + BIGARRAY_DATA * HS_WORD);
    uint64_t proxy = hs_load_u64(fields + BIGARRAY_PROXY * HS_WORD), whole, n_references;

    if (proxy == 0 ||
        !hs_image_u64(c->rt->image, proxy + PROXY_REFERENCES * HS_WORD, &n_references) ||
        !hs_image_u64(c->rt->image, proxy + PROXY_DATA * HS_WORD, &whole))
        return c->visit(c->context, data, data_name, err);
    return c->visit(c->context, whole, n_references == 1 ? left_name : data_name, err);
}

static hs_status look_at(struct custom_data *c, const struct hs_block *block, struct hs_error *err)
{
    uint64_t header = hs_block_head(block), n_words = HS_HEADER_WOSIZE(header);
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    enum kind kind;

    if (HS_HEADER_TAG(header) != HS_TAG_CUSTOM || n_words < CHANNEL_LEAST_WORDS)
        return HS_OK;
    HS_TRY(kind_of(c, hs_load_u64(fields), &kind, err));
    if (kind == KIND_CHANNEL)
        return c->visit(c->context, hs_load_u64(fields + CHANNEL_DATA * HS_WORD), channel_name,
                        err);
    return kind == KIND_BIGARRAY && n_words >= BIGARRAY_LEAST_WORDS ? visit_bigarray(c, fields, err)
                                                                    : HS_OK;
}

static hs_status look_at_span(struct custom_data *c, const struct hs_block_map *map,
                              const struct hs_span *span, struct hs_error *err)
{
    uint64_t end = span->first_bit + (span->end - span->begin) / HS_WORD;

    for (uint64_t bit = hs_bitmap_next(&map->starts, span->first_bit); bit < end;
         bit = hs_bitmap_next(&map->starts, bit + 1)) {
        const struct hs_block block = {
            .span = span, .address = span->begin + (bit - span->first_bit) * HS_WORD, .bit = bit};
        HS_TRY(look_at(c, &block, err));
    }
    return HS_OK;
}

hs_status hs_custom_data_each(const struct hs_ocaml *rt, const struct hs_block_map *map,
                              hs_status (*visit)(void *context, hs_addr data, const char *name,
                                                 struct hs_error *err),
                              void *context, struct hs_error *err)
{
    struct custom_data c = {.rt = rt, .visit = visit, .context = context};
    struct hs_live_symbol symbol;
    hs_status status = HS_OK;

    if (hs_objects_find(rt->objects, "caml_ba_ops", &symbol))
        c.bigarrays = symbol.address;
    for (size_t i = 0; i < map->spans.n && status == HS_OK; i++) {
        const struct hs_span *span = &map->spans.spans[i];
        if (span->area == HS_AREA_HEAP || span->area == HS_AREA_YOUNG)
            status = look_at_span(&c, map, span, err);
    }
    hs_dict_fini(&c.kinds);
    return status;
}
