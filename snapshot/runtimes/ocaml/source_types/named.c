/* Source types as the snapshot names them: one type for each constructor, whose members are its
 * fields. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "types.h"

enum { NAME_BYTES = 2048 };

/* Tells whether a block is named by its source type. Of the others the form tells more: which
 * function a closure is of, what a custom block's operations are called. */
static bool named_by_source(const struct hs_stype_entry *type, const struct hs_srow *row)
{
    switch (row->tag) {
    case HS_TAG_LAZY:
    case HS_TAG_OBJECT:
    case HS_TAG_FORWARD:
        return type->kind == HS_STYPE_BLOCK;
    case HS_TAG_DOUBLE_ARRAY: /* a record of floats: only that has a size by its type */
        return type->kind == HS_STYPE_BLOCK && row->size != HS_STYPE_ANY_SIZE;
    default:
        return row->tag < HS_TAG_LAZY;
    }
}

static enum hs_type_form named_form(const struct hs_srow *row)
{
    switch (row->tag) {
    case HS_TAG_LAZY:
        return HS_FORM_LAZY;
    case HS_TAG_OBJECT:
        return HS_FORM_OBJECT;
    case HS_TAG_FORWARD:
        return HS_FORM_FORWARD;
    case HS_TAG_DOUBLE_ARRAY:
        return HS_FORM_FLOAT_ARRAY;
    default:
        return HS_FORM_BLOCK;
    }
}

static hs_status named_add(struct hs_ocaml_types *types, const struct hs_stype_entry *type,
                           const struct hs_srow *row, uint32_t *ret, struct hs_error *err)
{
    const struct hs_strtab *texts = &types->push->tables->strings;
    struct hs_type made = {.tag = row->tag,
                           .form = (uint8_t)named_form(row),
                           .stride_bytes = row->kind == HS_SROW_ALL ? HS_WORD : 0};
    char name[NAME_BYTES];
    bool has_suffix = type->has_constructors && row->constructor != 0;

    snprintf(name, sizeof name, "%s%s%s",
             type->display != 0 ? hs_strtab_get(texts, type->display) : "block",
             has_suffix ? "." : "", has_suffix ? hs_strtab_get(texts, row->constructor) : "");
    HS_TRY(hs_strtab_add(types->rt->strings, name, &made.name, err));
    return hs_ocaml_types_add(types, &made, ret, err);
}

hs_status hs_ocaml_source_type(struct hs_ocaml_types *types, const struct hs_block *block,
                               uint64_t header, uint32_t *ret, bool *ret_found,
                               struct hs_error *err)
{
    const struct hs_stables *tables = types->push->tables;

    *ret_found = false;
    if (types->push->column == NULL)
        return HS_OK;
    hs_stype type = hs_spush_type(types->push, hs_bitmap_rank(&types->map->starts, block->bit));
    const struct hs_srow *row =
        type == HS_STYPE_NONE
            ? NULL
            : hs_stables_row(tables, type, HS_HEADER_TAG(header), HS_HEADER_WOSIZE(header));
    if (row == NULL || !named_by_source(&tables->types[type], row))
        return HS_OK;
    if (row->kind == HS_SROW_EXT) {
        HS_TRY(hs_ocaml_constructor_type(types, block, header, ret, ret_found, err));
        if (*ret_found)
            return HS_OK;
    }
    size_t at = (size_t)(row - tables->rows);
    HS_TRY(HS_GROW(&types->by_row, &types->by_row_capacity, tables->n_rows, err));
    if (types->by_row[at] == 0) {
        HS_TRY(named_add(types, &tables->types[type], row, ret, err));
        types->by_row[at] = *ret + 1;
        types->row_of[*ret] = (uint32_t)at + 1;
    }
    *ret = types->by_row[at] - 1;
    *ret_found = true;
    return HS_OK;
}

void hs_ocaml_source_captured(struct hs_ocaml_types *types, const struct hs_block *block,
                              uint64_t header, uint32_t type)
{
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    uint64_t from, end;

    if (types->push == NULL || types->push->functions.n == 0 ||
        types->captured_of[type].number != 0)
        return;
    const uint64_t *at =
        hs_dict_find(&types->push->functions, hs_closure_code(fields, HS_HEADER_WOSIZE(header)));
    hs_block_fields(block, header, &from, &end);
    const struct hs_stables *tables = types->push->tables;
    const struct hs_scaptured *found = at == NULL ? NULL : hs_scaptured_of(tables, *at, end - from);
    if (found != NULL)
        types->captured_of[type] =
            (struct hs_captured){(uint32_t)(found - tables->captured) + 1, (uint32_t)from};
}

/* Finds the parts of a type, field `from` being the first; NULL: there are none. */
static const struct hs_spart *parts_of(const struct hs_ocaml_types *types, size_t type,
                                       uint32_t *from)
{
    const struct hs_stables *tables = types->push->tables;

    *from = 0;
    if (types->row_of[type] != 0) {
        const struct hs_srow *row = &tables->rows[types->row_of[type] - 1];
        return row->kind == HS_SROW_FIELDS ? &row->children : NULL;
    }
    if (types->captured_of[type].number == 0)
        return NULL;
    *from = types->captured_of[type].from;
    return &tables->captured[types->captured_of[type].number - 1].children;
}

/* The library's containers that count (hashtbl.ml, queue.ml, stack.ml; 4.13 to 5.4). */
static const struct counted {
    unsigned field, n;
    const char *labels[4];
} counted[] = {
    {0, 4, {"size", "data", "seed", "initial_size"}},
    {0, 3, {"length", "first", "last"}},
    {1, 2, {"c", "len"}},
};
enum { COUNTED_NONE = 1, COUNTED_FIRST = 2 };

static bool is_labelled(const struct hs_stables *tables, const struct hs_spart *parts,
                        const struct counted *as)
{
    if (parts->n != as->n)
        return false;
    for (uint32_t i = 0; i < parts->n; i++) {
        hs_str label = tables->children[parts->first + i].label;
        if (label == 0 || strcmp(hs_strtab_get(&tables->strings, label), as->labels[i]) != 0)
            return false;
    }
    return true;
}

static uint8_t counted_as(const struct hs_ocaml_types *types, uint32_t type)
{
    uint32_t from;
    const struct hs_spart *parts = parts_of(types, type, &from);

    for (size_t i = 0; parts != NULL && i < sizeof counted / sizeof *counted; i++)
        if (from == 0 && is_labelled(types->push->tables, parts, &counted[i]))
            return (uint8_t)(COUNTED_FIRST + counted[i].field);
    return COUNTED_NONE;
}

hs_status hs_ocaml_source_count(struct hs_ocaml_types *types, const struct hs_block *block,
                                uint64_t header, uint32_t type, bool *ret_is, uint64_t *ret,
                                struct hs_error *err)
{
    *ret_is = false;
    HS_TRY(HS_GROW(&types->counted_as, &types->counted_as_capacity, (size_t)type + 1, err));
    if (types->counted_as[type] == 0)
        types->counted_as[type] = counted_as(types, type);
    uint64_t field = types->counted_as[type] - (uint64_t)COUNTED_FIRST;
    if (types->counted_as[type] == COUNTED_NONE || field >= HS_HEADER_WOSIZE(header))
        return HS_OK;
    uint64_t value = hs_load_u64(hs_map_bytes(block->span, block->address) + field * HS_WORD);
    *ret = value >> 1;
    *ret_is = value % 2 != 0 && *ret != 0 && *ret < types->map->starts.n_bits;
    return HS_OK;
}

static const struct {
    unsigned word;
    const char *name;
} bigarray_members[] = {{1, "data"}, {4, "proxy"}};

static bool is_bigarray(const struct hs_ocaml_types *types, uint32_t type)
{
    const struct hs_type *of = &types->types[type];
    return of->form == HS_FORM_CUSTOM &&
           strcmp(hs_strtab_get(types->rt->strings, of->name), "custom _bigarr02") == 0;
}

/* Adds the members of a type, for which there is room. */
static hs_status members_of(const struct hs_ocaml_types *types, uint32_t type,
                            const struct hs_spart *parts, uint32_t from, struct hs_member *to,
                            size_t *n, struct hs_error *err)
{
    const struct hs_stables *tables = types->push->tables;
    const struct hs_strtab *texts = &tables->strings;

    for (uint32_t i = 0; i < parts->n; i++) {
        const struct hs_schild *child = &tables->children[parts->first + i];
        struct hs_member member = {.type = type, .offset_bytes = (from + (uint64_t)i) * HS_WORD};
        if (child->label == 0)
            continue;
        HS_TRY(hs_strtab_add(types->rt->strings, hs_strtab_get(texts, child->label), &member.name,
                             err));
        if (child->type < tables->n_types)
            HS_TRY(hs_strtab_add(types->rt->strings,
                                 hs_strtab_get(texts, tables->types[child->type].display),
                                 &member.type_name, err));
        to[(*n)++] = member;
    }
    return HS_OK;
}

/* Adds the members of a Bigarray (custom_data.c), which no source declares, for which there is
 * room.
 */
static hs_status bigarray_members_of(const struct hs_ocaml_types *types, uint32_t type,
                                     struct hs_member *to, size_t *n, struct hs_error *err)
{
    if (!is_bigarray(types, type))
        return HS_OK;
    for (size_t i = 0; i < sizeof bigarray_members / sizeof *bigarray_members; i++) {
        struct hs_member member = {.type = type,
                                   .offset_bytes = bigarray_members[i].word * HS_WORD};
        HS_TRY(hs_strtab_add(types->rt->strings, bigarray_members[i].name, &member.name, err));
        to[(*n)++] = member;
    }
    return HS_OK;
}

hs_status hs_ocaml_source_members(const struct hs_ocaml_types *types, struct hs_member **ret,
                                  size_t *ret_n, struct hs_error *err)
{
    struct hs_member *members = NULL;
    size_t most = 0, n = 0;
    hs_status status = HS_OK;
    const struct hs_spart *parts;
    uint32_t from;

    for (size_t i = 0; i < types->n_types; i++)
        if ((parts = parts_of(types, i, &from)) != NULL)
            most += parts->n;
        else if (is_bigarray(types, (uint32_t)i))
            most += sizeof bigarray_members / sizeof *bigarray_members;
    HS_TRY(HS_ALLOC(&members, most, err));
    for (uint32_t i = 0; i < types->n_types && status == HS_OK; i++)
        if ((parts = parts_of(types, i, &from)) != NULL)
            status = members_of(types, i, parts, from, members, &n, err);
        else
            status = bigarray_members_of(types, i, members, &n, err);
    if (status != HS_OK) {
        hs_free(members);
        return status;
    }
    *ret = members;
    *ret_n = n;
    return HS_OK;
}
