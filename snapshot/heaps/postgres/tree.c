#include <stdio.h>

#include "base/alloc.h"
#include "base/load.h"
#include "carve.h"
#include "postgres/contexts.h"
#include "process/constants.h"

enum {
    WORD = 8,
    NAME_BYTES = 64,
    TEXT_BYTES = NAME_BYTES + 32,
};
#define MOST_CONTEXTS ((size_t)1 << 24)

/* The context at an address if its parent is who leads to it, and its elder sibling the one before.
 * So each is met once, whatever the words say. */
static const uint8_t *context_at(const struct postgres *p, hs_addr at, hs_addr parent,
                                 hs_addr elder)
{
    const uint8_t *bytes =
        at % WORD == 0 ? hs_image_bytes(p->process->image, at, POSTGRES_CONTEXT_BYTES) : NULL;

    return bytes != NULL && hs_load_u64(bytes + POSTGRES_AT_PARENT) == parent &&
                   hs_load_u64(bytes + POSTGRES_AT_PREV_CHILD) == elder
               ? bytes
               : NULL;
}

/* Writes the name of a context as PostgreSQL's own reports give it. It has to be a constant of a
 * binary: else it may be data of the program, and is left out. Hash tables are all named
 * "dynahash", and told apart by what identifies them, a copy of the name that their code gives. */
static void context_name(const struct postgres *p, const uint8_t *bytes, char *name)
{
    const struct hs_process_copy *process = p->process;
    hs_addr ident = hs_load_u64(bytes + POSTGRES_AT_IDENT);

    if (!hs_carve_constant_text(process, hs_load_u64(bytes + POSTGRES_AT_NAME), name, NAME_BYTES))
        snprintf(name, NAME_BYTES, "(unnamed)");
    if (ident != 0 && strcmp(name, "dynahash") == 0 &&
        !hs_constant_string(process->image, process->objects, ident, name, NAME_BYTES))
        snprintf(name, NAME_BYTES, "dynahash");
}

static hs_status add_context(struct postgres *p, hs_addr at, const uint8_t *bytes, uint32_t parent,
                             struct hs_error *err)
{
    HS_TRY(HS_GROW(&p->contexts, &p->contexts_capacity, p->n_contexts + 1, err));
    p->contexts[p->n_contexts++] =
        (struct postgres_context){.address = at,
                                  .said_bytes = hs_load_u64(bytes + POSTGRES_AT_ALLOCATED),
                                  .parent = parent,
                                  .first_child = POSTGRES_NONE,
                                  .next_child = POSTGRES_NONE};
    return HS_OK;
}

/* Makes the names of a context's own block and of its chunks, if it was read. */
static hs_status name_context(struct postgres *p, uint32_t number, struct hs_error *err)
{
    struct hs_strtab *strings = p->process->findings->strings;
    struct postgres_context *context = &p->contexts[number];
    const uint8_t *bytes =
        hs_image_bytes(p->process->image, context->address, POSTGRES_CONTEXT_BYTES);
    char name[NAME_BYTES], text[TEXT_BYTES];

    if (context->form == NULL || bytes == NULL)
        return HS_OK;
    context_name(p, bytes, name);
    snprintf(text, sizeof text, "MemoryContext %s", name);
    HS_TRY(hs_strtab_add(strings, text, &context->object_name, err));
    snprintf(text, sizeof text, "chunk in %s", name);
    return hs_strtab_add(strings, text, &context->chunk_name, err);
}

/* One that was read, and where it hangs among those. */
static void join(struct postgres *p, uint32_t number)
{
    struct postgres_context *context = &p->contexts[number];

    while (context->parent != POSTGRES_NONE && p->contexts[context->parent].form == NULL)
        context->parent = p->contexts[context->parent].parent;
    if (context->form == NULL || context->parent == POSTGRES_NONE)
        return;
    context->next_child = p->contexts[context->parent].first_child;
    p->contexts[context->parent].first_child = number;
}

static hs_status add_children(struct postgres *p, uint32_t parent, struct hs_error *err)
{
    const hs_addr address = p->contexts[parent].address;
    hs_addr elder = 0, at = 0;

    (void)hs_image_u64(p->process->image, address + POSTGRES_AT_FIRST_CHILD, &at);
    while (at != 0) {
        const uint8_t *bytes = context_at(p, at, address, elder);
        if (bytes == NULL || p->n_contexts == MOST_CONTEXTS ||
            !hs_postgres_spend(p, POSTGRES_LOOK)) {
            p->n_damaged++;
            return HS_OK;
        }
        uint32_t number = (uint32_t)p->n_contexts;
        HS_TRY(add_context(p, at, bytes, parent, err));
        HS_TRY(hs_postgres_read_blocks(p, number, err));
        HS_TRY(name_context(p, number, err));
        join(p, number);
        elder = at;
        at = hs_load_u64(bytes + POSTGRES_AT_NEXT_CHILD);
    }
    return HS_OK;
}

/* The types that contexts say they have; of those that were read there are at most three. */
struct types {
    uint32_t types[4];
    size_t n;
};

static bool has_type(const struct types *types, uint32_t type)
{
    for (size_t i = 0; i < types->n; i++)
        if (types->types[i] == type)
            return true;
    return false;
}

/* Contexts that were not read are of another kind than those that are known, unless they are of one
 * that others of this process are of: then they were caught in a change. */
static void count_others(struct postgres *p)
{
    struct types known = {.n = 0};
    uint32_t type;

    for (size_t i = 0; i < p->n_contexts && known.n < sizeof known.types / sizeof *known.types; i++)
        if (p->contexts[i].form != NULL &&
            hs_image_u32(p->process->image, p->contexts[i].address, &type) &&
            !has_type(&known, type))
            known.types[known.n++] = type;
    for (size_t i = 0; i < p->n_contexts; i++) {
        if (p->contexts[i].form != NULL ||
            !hs_image_u32(p->process->image, p->contexts[i].address, &type))
            continue;
        p->n_damaged += has_type(&known, type);
        p->n_others += !has_type(&known, type);
    }
}

/* ---- no two may have the same memory */

static hs_status are_disjoint(const struct postgres *p, bool *ret, struct hs_error *err)
{
    hs_auto_free struct hs_extent *extents = NULL;
    size_t n = 0;

    HS_TRY(HS_ALLOC(&extents, p->n_contexts + p->n_blocks, err));
    for (size_t i = 0; i < p->n_contexts; i++)
        if (p->contexts[i].form != NULL)
            extents[n++] = (struct hs_extent){
                p->contexts[i].address, p->contexts[i].address + p->contexts[i].form->object_bytes};
    for (size_t i = 0; i < p->n_blocks; i++)
        extents[n++] = (struct hs_extent){p->blocks[i].begin, p->blocks[i].end};
    *ret = hs_carve_are_disjoint(extents, n);
    return HS_OK;
}

static hs_status read_all(struct postgres *p, struct hs_error *err)
{
    bool is_sound;

    HS_TRY(name_context(p, 0, err));
    for (size_t i = 0; i < p->n_contexts; i++)
        HS_TRY(add_children(p, (uint32_t)i, err));
    count_others(p);
    HS_TRY(are_disjoint(p, &is_sound, err));
    p->is_strange = !is_sound;
    return HS_OK;
}

hs_status hs_postgres_read_tree(struct postgres *postgres, struct hs_error *err)
{
    hs_addr top = 0;

    (void)hs_image_u64(postgres->process->image, postgres->variable, &top);
    if (top == 0) /* not yet */
        return HS_OK;
    const uint8_t *bytes = context_at(postgres, top, 0, 0);
    postgres->is_strange = bytes == NULL;
    if (bytes == NULL)
        return HS_OK;
    HS_TRY(add_context(postgres, top, bytes, POSTGRES_NONE, err));
    HS_TRY(hs_postgres_find_release(postgres, err));
    postgres->is_strange = postgres->chunks == NULL;
    if (postgres->chunks != NULL)
        HS_TRY(read_all(postgres, err));
    if (postgres->is_strange)
        postgres->n_contexts = postgres->n_blocks = 0;
    return HS_OK;
}
