#include "handles.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "flow.h"
#include "opaque.h"
#include "rules/rules.h"

enum { WORD = 8, NAME_BYTES = 512 };

struct handles {
    struct hs_native *native;
    struct hs_flow *flow;
    bool *are_handles; /* owned: by number of a type, less 1: rules say that it lists records */
    size_t n_types;    /* before those of the first records */
};

/* A record of a list, or the handle itself. */
struct link {
    hs_addr at; /* where pointers to it lead */
    struct hs_heap_block block;
};

/* Writes the name of a type that is known by its name only, as rules have it. */
static bool bare_name(const struct handles *h, hs_ntype type, char *ret)
{
    static const char tag[] = "struct ";
    const struct hs_native_type *of = hs_native_type_of(&h->flow->types, type);
    const char *name = hs_strtab_get(h->flow->types.strings, of->type.name);

    if (of->ctype != 0 || !hs_type_is_opaque(name, of->type.form))
        return false;
    if (strncmp(name, tag, sizeof tag - 1) == 0)
        name += sizeof tag - 1;
    size_t n = strlen(name) - (sizeof HS_TYPE_OPAQUE - 1);
    (void)snprintf(ret, NAME_BYTES, "%.*s", (int)(n < NAME_BYTES ? n : NAME_BYTES - 1), name);
    return true;
}

static const struct hs_rule *next_rule(const struct handles *h, const char *name, size_t *at)
{
    return hs_rules_type_next(h->native->dump->options->rules, HS_RULE_HANDLE,
                              HS_RULE_C | HS_RULE_CPP, name, at);
}

/* ---- one list */

static bool read_word(const struct link *link, uint64_t offset, uint64_t *ret)
{
    uint64_t at = link->at - link->block.begin + offset;

    if (link->block.n_bytes < WORD || at > link->block.n_bytes - WORD)
        return false;
    *ret = hs_load_u64(link->block.bytes + at);
    return true;
}

/* Takes the record that a word leads to, if it leads back to the handle. */
static bool take_record(const struct handles *h, const struct link *handle,
                        const struct hs_rule_chain *chain, uint64_t word, struct link *ret)
{
    enum hs_pointer how = hs_flow_resolve(h->native, word, &ret->block);
    uint64_t back;

    if ((how != HS_POINTER_START && how != HS_POINTER_INTERIOR) || ret->block.bytes == NULL ||
        (ret->block.span->states & (HS_BLOCK_MAPPING | HS_BLOCK_STATIC)) != 0 ||
        ret->block.begin == handle->block.begin)
        return false;
    ret->at = word;
    return (word - ret->block.begin) % WORD == 0 && read_word(ret, chain->back, &back) &&
           back == handle->at;
}

/* Tells whether a record begins its block, behind a header at most. */
static bool begins_block(const struct link *record)
{
    return record->at - record->block.begin <= HS_OPAQUE_HEADER_BYTES;
}

/* Tells of a list that was believed. */
struct list {
    uint64_t n, least_bytes; /* its records; of the smallest block that begins with one */
    hs_addr shared;          /* of a block in which there are records behind others; 0: none */
};

static void add_record(struct list *list, const struct link *record)
{
    list->n++;
    if (!begins_block(record))
        list->shared = record->block.begin;
    else if (list->least_bytes == 0 || record->block.n_bytes < list->least_bytes)
        list->least_bytes = record->block.n_bytes;
}

/* Tells whether a list ends with a word: it is 0, or leads back into the handle, which is the head
 * of the list. */
static bool is_end(const struct link *handle, uint64_t word)
{
    return word == 0 || word - handle->block.begin < handle->block.n_bytes;
}

/* Goes over a list, each record of which is as it must be; n is 0 when it is empty or not believed.
 * A list that ends in a circle is found out by a record that waits for the walk to come back, each
 * time twice as long (Brent 1980). */
static struct list read_list(const struct handles *h, const struct link *handle,
                             const struct hs_rule_chain *chain)
{
    struct list list = {0};
    uint64_t word, most = 1;
    hs_addr waits = 0;
    struct link record;

    if (!read_word(handle, chain->first, &word))
        return list;
    while (!is_end(handle, word)) {
        if (word == waits || !take_record(h, handle, chain, word, &record))
            return (struct list){0};
        add_record(&list, &record);
        if (list.n == most) {
            waits = word;
            most *= 2;
        }
        if (!read_word(&record, chain->next, &word))
            return (struct list){0};
    }
    return list;
}

/* Tells whether a block is one record, and has no better name. */
static bool may_name(const struct handles *h, const struct list *list, const struct link *record)
{
    hs_ntype type = hs_flow_type(h->flow, record->block.rank);
    char had[NAME_BYTES];

    return begins_block(record) && record->block.begin != list->shared &&
           record->block.n_bytes / 2 <= list->least_bytes && (type == 0 || bare_name(h, type, had));
}

static void name_records(const struct handles *h, const struct link *handle,
                         const struct hs_rule_chain *chain, const struct list *list, hs_ntype name)
{
    struct link record;
    uint64_t word;

    if (!read_word(handle, chain->first, &word))
        return;
    while (!is_end(handle, word) && take_record(h, handle, chain, word, &record) &&
           read_word(&record, chain->next, &word))
        if (may_name(h, list, &record))
            hs_flow_set_type(h->flow, record.block.rank, name);
}

static hs_status take_list(const struct handles *h, const struct link *handle,
                           const struct hs_rule *rule, bool *ret, struct hs_error *err)
{
    const struct list list = read_list(h, handle, &rule->chain);
    char name[NAME_BYTES];
    hs_ntype type;

    *ret = list.n != 0;
    if (list.n == 0)
        return HS_OK;
    (void)snprintf(name, sizeof name, "%s" HS_TYPE_OPAQUE, rule->value);
    HS_TRY(hs_native_types_of_name(&h->flow->types, name, HS_FORM_RECORD, &type, err));
    name_records(h, handle, &rule->chain, &list, type);
    return hs_native_counts_put(&h->native->counts, handle->block.rank, list.n, err);
}

/* ---- all of them */

/* Takes the lists of a handle, which begins with its block or behind its library's header. */
static hs_status take_handle(const struct handles *h, const struct hs_heap_block *block,
                             const char *name, struct hs_error *err)
{
    const struct hs_rule *rule;
    size_t at = 0;

    while ((rule = next_rule(h, name, &at)) != NULL) {
        bool is_taken = false;
        for (uint64_t i = 0; i <= HS_OPAQUE_HEADER_BYTES && !is_taken; i += WORD) {
            const struct link handle = {block->begin + i, *block};
            HS_TRY(take_list(h, &handle, rule, &is_taken, err));
        }
    }
    return HS_OK;
}

static hs_status take_handles(const struct handles *h, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &h->native->dump->heaps.map};
    struct hs_heap_block block;
    char name[NAME_BYTES];

    for (uint64_t rank = 0; rank < h->flow->n_blocks; rank++) {
        hs_ntype type = hs_flow_type(h->flow, rank);
        if (type == 0 || type > h->n_types || !h->are_handles[type - 1])
            continue;
        hs_heap_map_forward(&it, rank);
        if (hs_heap_map_next(&it, &block) && block.bytes != NULL && bare_name(h, type, name))
            HS_TRY(take_handle(h, &block, name, err));
    }
    hs_native_counts_settle(&h->native->counts);
    return HS_OK;
}

/* Notes which types are of handles. *ret: there are some. */
static hs_status find_handles(struct handles *h, bool *ret, struct hs_error *err)
{
    char name[NAME_BYTES];

    *ret = false;
    h->n_types = h->flow->types.n_types;
    HS_TRY(HS_ALLOC(&h->are_handles, h->n_types == 0 ? 1 : h->n_types, err));
    for (size_t i = 0; i < h->n_types; i++) {
        size_t at = 0;
        h->are_handles[i] =
            bare_name(h, (hs_ntype)(i + 1), name) && next_rule(h, name, &at) != NULL;
        *ret |= h->are_handles[i];
    }
    return HS_OK;
}

hs_status hs_native_handles(struct hs_native *native, struct hs_flow *flow, struct hs_error *err)
{
    struct handles h = {.native = native, .flow = flow};
    bool is_any;

    if (native->ctypes == NULL)
        return HS_OK;
    hs_status status = find_handles(&h, &is_any, err);
    if (status == HS_OK && is_any)
        status = take_handles(&h, err);
    hs_free(h.are_handles);
    return status;
}
