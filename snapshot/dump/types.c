/* Types of several runtimes under one numbering, by first use. */
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "parts.h"

void hs_type_numbers_fini(struct hs_type_numbers *numbers)
{
    if (numbers == NULL)
        return;
    hs_free(numbers->types);
    for (unsigned i = 0; i < HS_N_RUNTIMES; i++)
        hs_free(numbers->numbers[i]);
    *numbers = (struct hs_type_numbers){0};
}

void hs_type_tables_fini(struct hs_type_tables *tables)
{
    hs_free(tables->types);
    hs_free(tables->members);
    *tables = (struct hs_type_tables){0};
}

static hs_status numbers_add(struct hs_type_numbers *numbers, unsigned source, uint32_t index,
                             struct hs_error *err)
{
    size_t *capacity = &numbers->numbers_capacity[source];
    size_t before = *capacity;

    HS_TRY(HS_GROW(&numbers->numbers[source], capacity, (size_t)index + 1, err));
    if (*capacity > before)
        memset(numbers->numbers[source] + before, 0,
               (*capacity - before) * sizeof *numbers->numbers[source]);
    if (numbers->numbers[source][index] != 0)
        return HS_OK;
    HS_TRY(HS_GROW(&numbers->types, &numbers->types_capacity, numbers->n_types + 1, err));
    numbers->types[numbers->n_types++] = (struct hs_type_source){.source = source, .index = index};
    numbers->numbers[source][index] = (uint32_t)numbers->n_types;
    return HS_OK;
}

hs_status hs_type_numbers_get(struct hs_type_numbers *numbers, unsigned source, uint32_t index,
                              uint32_t *ret, struct hs_error *err)
{
    if (index >= numbers->numbers_capacity[source] || numbers->numbers[source][index] == 0)
        HS_TRY(numbers_add(numbers, source, index, err));
    *ret = numbers->numbers[source][index] - 1;
    return HS_OK;
}

/* Index of the first member of a type or a later one. */
static size_t members_from(const struct hs_type_tables *tables, uint32_t type)
{
    return HS_FIRST_NOT(at, 0, tables->n_members, tables->members[at].type < type);
}

/* The members of the types that blocks have, by their new numbers; into `to`, which has room for
 * all. Returns how many. */
static size_t merge_members(const struct hs_type_numbers *numbers,
                            const struct hs_type_tables *sources, struct hs_member *to)
{
    size_t n = 0;

    for (size_t i = 0; i < numbers->n_types; i++) {
        const struct hs_type_tables *from = &sources[numbers->types[i].source];
        uint32_t index = numbers->types[i].index;
        for (size_t at = members_from(from, index);
             at < from->n_members && from->members[at].type == index; at++) {
            to[n] = from->members[at];
            to[n++].type = (uint32_t)i;
        }
    }
    return n;
}

static hs_status merge(const struct hs_type_numbers *numbers, const struct hs_type_tables *sources,
                       size_t n_sources, struct hs_type_tables *ret, struct hs_error *err)
{
    size_t n_members = 0;

    for (size_t i = 0; i < n_sources; i++)
        n_members += sources[i].n_members;
    HS_TRY(HS_ALLOC(&ret->types, numbers->n_types, err));
    ret->n_types = numbers->n_types;
    for (size_t i = 0; i < numbers->n_types; i++)
        ret->types[i] = sources[numbers->types[i].source].types[numbers->types[i].index];
    HS_TRY(HS_ALLOC(&ret->members, n_members, err));
    ret->n_members = merge_members(numbers, sources, ret->members);
    return HS_OK;
}

hs_status hs_type_numbers_merge(const struct hs_type_numbers *numbers,
                                struct hs_type_tables *sources, size_t n_sources,
                                struct hs_type_tables *ret, struct hs_error *err)
{
    hs_status status = HS_OK;

    if (n_sources == 1) {
        *ret = sources[0];
        return HS_OK;
    }
    status = merge(numbers, sources, n_sources, ret, err);
    for (size_t i = 0; i < n_sources; i++)
        hs_type_tables_fini(&sources[i]);
    if (status != HS_OK)
        hs_type_tables_fini(ret);
    return status;
}
