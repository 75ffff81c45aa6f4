/* Types of two sources under one numbering, by first use. */
#include <string.h>

#include "base/alloc.h"
#include "mixed.h"

void hs_mixed_types_fini(struct hs_mixed_types *types)
{
    if (types == NULL)
        return;
    hs_free(types->types);
    for (unsigned i = 0; i < HS_MIXED_SOURCES; i++)
        hs_free(types->numbers[i]);
    *types = (struct hs_mixed_types){0};
}

static hs_status types_add(struct hs_mixed_types *types, unsigned source, uint32_t index,
                           struct hs_error *err)
{
    size_t *capacity = &types->numbers_capacity[source];
    size_t before = *capacity;

    HS_TRY(hs_grow((void **)&types->numbers[source], capacity, (size_t)index + 1,
                   sizeof *types->numbers[source], err));
    if (*capacity > before)
        memset(types->numbers[source] + before, 0,
               (*capacity - before) * sizeof *types->numbers[source]);
    if (types->numbers[source][index] != 0)
        return HS_OK;
    HS_TRY(hs_grow((void **)&types->types, &types->types_capacity, types->n_types + 1,
                   sizeof *types->types, err));
    types->types[types->n_types++] = (struct hs_mixed_type){.source = source, .index = index};
    types->numbers[source][index] = (uint32_t)types->n_types;
    return HS_OK;
}

hs_status hs_mixed_types_number(struct hs_mixed_types *types, unsigned source, uint32_t index,
                                uint32_t *ret, struct hs_error *err)
{
    if (index >= types->numbers_capacity[source] || types->numbers[source][index] == 0)
        HS_TRY(types_add(types, source, index, err));
    *ret = types->numbers[source][index] - 1;
    return HS_OK;
}

/* Index of the first member of a type or a later one. */
static size_t members_from(const struct hs_member *members, size_t n, uint32_t type)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (members[middle].type < type)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Of the types that blocks have, by their new numbers. */
static hs_status types_renumber_members(const struct hs_mixed_types *types,
                                        struct hs_mixed_type_tables *tables, struct hs_error *err)
{
    struct hs_member *members;
    void *array;
    size_t n = 0;

    HS_TRY(hs_alloc(tables->n_members, sizeof *members, &array, err));
    members = array;
    for (size_t i = 0; i < types->n_types; i++) {
        if (types->types[i].source != HS_MIXED_NATIVE)
            continue;
        uint32_t index = types->types[i].index;
        for (size_t at = members_from(tables->members, tables->n_members, index);
             at < tables->n_members && tables->members[at].type == index; at++) {
            members[n] = tables->members[at];
            members[n++].type = (uint32_t)i;
        }
    }
    hs_free(tables->members);
    tables->members = members;
    tables->n_members = n;
    return HS_OK;
}

hs_status hs_mixed_types_finish(const struct hs_mixed_types *types, struct hs_native_types *native,
                                const struct hs_type *ocaml, struct hs_mixed_type_tables *ret,
                                struct hs_error *err)
{
    hs_auto_free struct hs_type *of_native = NULL;
    struct hs_mixed_type_tables tables = {.n_types = types->n_types};
    void *array;

    HS_TRY(hs_native_types_list(native, &of_native, err));
    HS_TRY(hs_alloc(types->n_types, sizeof *tables.types, &array, err));
    tables.types = array;
    for (size_t i = 0; i < types->n_types; i++) {
        const struct hs_mixed_type *type = &types->types[i];
        tables.types[i] =
            type->source == HS_MIXED_NATIVE ? of_native[type->index] : ocaml[type->index];
    }
    hs_status status = hs_native_types_members(native, &tables.members, &tables.n_members, err);
    if (status == HS_OK)
        status = types_renumber_members(types, &tables, err);
    if (status == HS_OK) {
        *ret = tables;
    } else {
        hs_free(tables.types);
        hs_free(tables.members);
    }
    return status;
}
