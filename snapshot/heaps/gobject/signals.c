#include "gobject/signals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "data_words.h"

enum {
    TABLE_BYTES = 96,
    MOST_ENTRIES = 1 << 24,
    MOST_LISTS = 1 << 16, /* signals of one instance that have handlers */
    LIST_BYTES = 32,
    LIST_HANDLERS = 8,
    HANDLER_NEXT = 8,
    HANDLER_PREVIOUS = 16,
    HANDLER_CLOSURE = 40,
    HANDLER_INSTANCE = 48,
    CLOSURE_CALLBACK = 32, /* of struct _GCClosure, which is public */
    NAME_BYTES = 256,
};

struct reading {
    const struct hs_image *image;
    const struct hs_heap_map *map;
    struct gobject_signals *signals;
    struct hs_error *err;
    uint64_t n_looks; /* at entries and handlers, of all that may be such tables */
    bool is_sound;
};

/* A hash table of GLib's whose keys are addresses. */
struct entries {
    hs_addr keys_at, hashes_at, values_at;
    const uint8_t *keys, *hashes, *values;
    uint64_t n, n_used;
};

void hs_gobject_signals_fini(struct gobject_signals *signals)
{
    hs_free(signals->pairs);
    hs_dict_fini(&signals->owner_of);
    hs_dict_fini(&signals->handlers);
    hs_dict_fini(&signals->first_of);
    *signals = (struct gobject_signals){0};
}

static bool entries_find(const struct hs_image *image, hs_addr table, struct entries *ret)
{
    const uint8_t *b =
        table % HS_WORD_BYTES == 0 ? hs_image_bytes(image, table, TABLE_BYTES) : NULL;
    if (b == NULL)
        return false;
    uint64_t n = hs_load_u64(b);
    uint32_t n_nodes = hs_load_u32(b + 16), n_occupied = hs_load_u32(b + 20);
    if (n < 8 || n > MOST_ENTRIES || (n & (n - 1)) != 0 || hs_load_u32(b + 12) != n - 1 ||
        n_nodes == 0 || n_nodes > n_occupied || n_occupied > n)
        return false;
    *ret = (struct entries){.keys_at = hs_load_u64(b + 32),
                            .hashes_at = hs_load_u64(b + 40),
                            .values_at = hs_load_u64(b + 48),
                            .n = n,
                            .n_used = n_nodes};
    ret->keys = hs_image_bytes(image, ret->keys_at, n * HS_WORD_BYTES);
    ret->hashes = hs_image_bytes(image, ret->hashes_at, n * sizeof(uint32_t));
    ret->values = hs_image_bytes(image, ret->values_at, n * HS_WORD_BYTES);
    return ret->keys != NULL && ret->hashes != NULL && ret->values != NULL;
}

static bool block_at(const struct reading *r, hs_addr address, struct hs_heap_block *ret)
{
    enum hs_pointer how = hs_heap_map_resolve(r->map, address, ret);
    return how == HS_POINTER_START || how == HS_POINTER_INTERIOR;
}

static hs_status own(struct reading *r, const struct hs_heap_block *owner,
                     const struct hs_heap_block *block)
{
    struct gobject_signals *s = r->signals;

    HS_TRY(HS_GROW(&s->pairs, &s->capacity, s->n + 1, r->err));
    s->pairs[s->n++] = (struct gobject_pair){owner->begin, block->begin};
    return hs_dict_put(&s->owner_of, block->begin, owner->begin, r->err);
}

/* The handlers of one list, each of which leads back. */
static hs_status read_chain(struct reading *r, const struct hs_heap_block *owner, hs_addr instance,
                            hs_addr handler)
{
    struct hs_heap_block block;
    uint64_t back;

    for (; handler != 0 && r->is_sound;) {
        r->is_sound = r->n_looks++ < MOST_ENTRIES && block_at(r, handler, &block) &&
                      block.begin == handler && block.bytes != NULL &&
                      block.n_bytes >= HANDLER_INSTANCE + HS_WORD_BYTES &&
                      hs_image_u64(r->image, handler + HANDLER_INSTANCE, &back) &&
                      back == instance && hs_dict_find(&r->signals->handlers, handler) == NULL;
        if (!r->is_sound)
            return HS_OK;
        HS_TRY(hs_dict_put(&r->signals->handlers, handler, GOBJECT_UNNAMED, r->err));
        HS_TRY(own(r, owner, &block));
        handler = hs_load_u64(block.bytes + HANDLER_NEXT);
    }
    return HS_OK;
}

/* Reads one instance: the array of its lists, and the handlers in these. */
static hs_status read_instance(struct reading *r, hs_addr instance, hs_addr lists)
{
    struct hs_heap_block owner, array;
    uint16_t private_bytes;
    uint32_t n = 0;

    r->is_sound = hs_gobject_is_instance(r->image, instance, &private_bytes) &&
                  block_at(r, instance, &owner) && block_at(r, lists, &array) &&
                  array.begin == lists && array.bytes != NULL && array.n_bytes >= HS_WORD_BYTES;
    if (r->is_sound) {
        n = hs_load_u32(array.bytes);
        r->is_sound = n <= MOST_LISTS && (array.n_bytes - HS_WORD_BYTES) / LIST_BYTES >= n;
    }
    if (!r->is_sound)
        return HS_OK;
    HS_TRY(own(r, &owner, &array));
    for (uint32_t i = 0; i < n && r->is_sound; i++)
        HS_TRY(read_chain(
            r, &owner, instance,
            hs_load_u64(array.bytes + HS_WORD_BYTES + (size_t)i * LIST_BYTES + LIST_HANDLERS)));
    return HS_OK;
}

/* Data may lead to what looks like a table from each of its words. */
static bool may_look(struct reading *r, const struct entries *entries)
{
    bool may = r->n_looks <= MOST_ENTRIES && entries->n <= MOST_ENTRIES - r->n_looks;
    r->n_looks += may ? entries->n : 0;
    return may;
}

static bool is_used(const struct entries *entries, uint64_t i)
{
    return hs_load_u32(entries->hashes + i * sizeof(uint32_t)) >= 2;
}

/* Is it the table of instances? Then all of it is sound. */
static hs_status read_lists(struct reading *r, const struct entries *entries)
{
    r->is_sound = entries->keys_at != entries->values_at && may_look(r, entries);
    for (uint64_t i = 0; i < entries->n && r->is_sound; i++)
        if (is_used(entries, i))
            HS_TRY(read_instance(r, hs_load_u64(entries->keys + i * HS_WORD_BYTES),
                                 hs_load_u64(entries->values + i * HS_WORD_BYTES)));
    r->is_sound &= r->signals->handlers.n != 0;
    return HS_OK;
}

/* The set of all handlers: each is in a list of an instance. */
static bool is_set(struct reading *r, const struct entries *entries)
{
    bool is_one = entries->keys_at == entries->values_at && may_look(r, entries);

    for (uint64_t i = 0; i < entries->n && is_one; i++)
        if (is_used(entries, i))
            is_one = hs_dict_find(&r->signals->handlers,
                                  hs_load_u64(entries->keys + i * HS_WORD_BYTES)) != NULL;
    return is_one;
}

static int pairs_order(const void *a, const void *b)
{
    const struct gobject_pair *x = a, *y = b;
    if (x->owner != y->owner)
        return x->owner < y->owner ? -1 : 1;
    return (x->block > y->block) - (x->block < y->block);
}

static hs_status seal(struct reading *r)
{
    struct gobject_signals *s = r->signals;

    if (s->n != 0)
        qsort(s->pairs, s->n, sizeof *s->pairs, pairs_order);
    for (size_t i = 0; i < s->n; i++)
        if (i == 0 || s->pairs[i - 1].owner != s->pairs[i].owner)
            HS_TRY(hs_dict_put(&s->first_of, s->pairs[i].owner, i, r->err));
    return HS_OK;
}

/* A set has its values where its keys are. The hash of an address is its lower half. */
static void add_table(struct gobject_signals *signals, const struct entries *entries)
{
    signals->arrays[signals->n_arrays++] = entries->keys_at;
    signals->arrays[signals->n_arrays++] = entries->hashes_at;
    signals->arrays[signals->n_arrays++] = entries->values_at;
}

/* Reads a table as if it were the one of instances with handlers; nothing is kept of one that is
 * not. */
static hs_status try_lists(struct reading *r, const struct entries *entries)
{
    HS_TRY(read_lists(r, entries));
    if (!r->is_sound)
        hs_gobject_signals_fini(r->signals);
    return HS_OK;
}

static hs_status read_tables(struct reading *r, const struct hs_process_copy *process,
                             const struct hs_object *object)
{
    struct hs_data_words words = {.process = process, .object = object};
    struct entries lists = {0}, entries;
    hs_addr address;
    uint64_t word;

    while (lists.n == 0 && hs_data_words_next(&words, &address, &word)) {
        if (!entries_find(r->image, word, &entries))
            continue;
        HS_TRY(try_lists(r, &entries));
        if (r->is_sound)
            lists = entries;
    }
    if (lists.n == 0)
        return HS_OK;
    add_table(r->signals, &lists);
    words = (struct hs_data_words){.process = process, .object = object};
    while (r->signals->n_arrays < GOBJECT_ARRAYS && hs_data_words_next(&words, &address, &word))
        if (entries_find(r->image, word, &entries) && is_set(r, &entries))
            add_table(r->signals, &entries);
    return seal(r);
}

hs_status hs_gobject_read_lists(const struct hs_image *image, const struct hs_heap_map *map,
                                hs_addr table, struct gobject_signals *ret, struct hs_error *err)
{
    struct reading r = {.image = image, .map = map, .signals = ret, .err = err};
    struct entries entries;

    if (!entries_find(image, table, &entries))
        return HS_OK;
    HS_TRY(try_lists(&r, &entries));
    if (r.is_sound)
        add_table(ret, &entries);
    return seal(&r);
}

hs_status hs_gobject_read_signals(const struct gobject_types *types, const struct hs_heap_map *map,
                                  struct gobject_signals *ret, struct hs_error *err)
{
    const struct hs_process_copy *process = types->process;
    struct reading r = {.image = process->image, .map = map, .signals = ret, .err = err};
    struct hs_live_symbol symbol;

    for (size_t i = 0; process->objects != NULL && i < process->objects->n; i++)
        if (ret->n == 0 &&
            hs_object_find(&process->objects->objects[i], "g_signal_connect_data", &symbol))
            HS_TRY(read_tables(&r, process, &process->objects->objects[i]));
    return HS_OK;
}

hs_addr hs_gobject_owner(const struct gobject_signals *signals, const struct hs_heap_block *block)
{
    return signals->n == 0 ? 0 : hs_dict_get(&signals->owner_of, block->begin, 0);
}

bool hs_gobject_owned(const struct gobject_signals *signals, const struct hs_heap_block *owner,
                      uint64_t *cursor, hs_addr *ret_begin, hs_addr *ret_end)
{
    const uint64_t *first = signals->n == 0 ? NULL : hs_dict_find(&signals->first_of, owner->begin);
    if (first == NULL || *first + *cursor >= signals->n ||
        signals->pairs[*first + *cursor].owner != owner->begin)
        return false;
    *ret_begin = signals->pairs[*first + (*cursor)++].block;
    *ret_end = *ret_begin + 1;
    return true;
}

uint64_t hs_gobject_finds(const struct gobject_signals *signals, const struct hs_heap_block *block)
{
    const uint64_t of_handler = UINT64_C(1) << HANDLER_NEXT / HS_WORD_BYTES |
                                UINT64_C(1) << HANDLER_PREVIOUS / HS_WORD_BYTES |
                                UINT64_C(1) << HANDLER_INSTANCE / HS_WORD_BYTES;

    for (size_t i = 0; i < signals->n_arrays; i++)
        if (signals->arrays[i] == block->begin)
            return UINT64_MAX;
    return signals->handlers.n != 0 && hs_dict_find(&signals->handlers, block->begin) != NULL
               ? of_handler
               : 0;
}

/* Finds the function that the closure of a handler calls; NULL: none that has a name. */
static const char *callback_of(const struct hs_process_copy *process, hs_addr handler)
{
    struct hs_live_symbol symbol;
    uint64_t closure, callback;

    if (process->objects == NULL ||
        !hs_image_u64(process->image, handler + HANDLER_CLOSURE, &closure) ||
        !hs_image_u64(process->image, closure + CLOSURE_CALLBACK, &callback) ||
        !hs_objects_at(process->objects, callback, &symbol) || symbol.address != callback ||
        !symbol.is_code)
        return NULL;
    return symbol.name;
}

hs_status hs_gobject_name_handlers(const struct hs_process_copy *process,
                                   struct gobject_signals *signals, struct hs_error *err)
{
    for (size_t i = 0; i < signals->n; i++) {
        char text[NAME_BYTES];
        hs_str name;
        if (hs_dict_find(&signals->handlers, signals->pairs[i].block) == NULL)
            continue;
        const char *callback = callback_of(process, signals->pairs[i].block);
        (void)snprintf(text, sizeof text, "signal handler%s%.200s", callback == NULL ? "" : " ",
                       callback == NULL ? "" : callback);
        HS_TRY(hs_strtab_add(process->findings->strings, text, &name, err));
        HS_TRY(hs_dict_put(&signals->handlers, signals->pairs[i].block, name, err));
    }
    return HS_OK;
}

bool hs_gobject_handler_name(const struct gobject_signals *signals,
                             const struct hs_heap_block *block, hs_str *ret)
{
    const uint64_t *name = hs_dict_find(&signals->handlers, block->begin);

    if (name == NULL || *name == GOBJECT_UNNAMED)
        return false;
    *ret = (hs_str)*name;
    return true;
}
