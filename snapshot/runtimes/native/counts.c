#include "counts.h"

#include <limits.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/checked.h"
#include "flow.h"
#include "rules/rules.h"
#include "snapshot/reader.h"

enum {
    COUNTS_MAX = 1 << 20,
    COUNTS_FEW = 64,
    COUNTS_ALL = 1 << 16, /* of a heap of so many blocks each may have a count */
    COUNTS_ONE_IN = 8,
    COUNTS_NODE_MOST = 16,  /* elements in a node: 11 in Rust's B-trees */
    COUNTS_CHAIN_MOST = 64, /* in a block of a deque of Python */
    COUNTS_TRIES = 16,
    COUNTS_SAID_BITS = 8,
    WORD = 8
};

/* A value in the copy: where it stands in the process, and its bytes. */
struct counts_value {
    hs_addr at;
    const uint8_t *bytes;
    uint64_t n_bytes;
};

uint64_t hs_native_counts_bytes(uint64_t n_blocks)
{
    uint64_t all = n_blocks < COUNTS_ALL ? n_blocks : COUNTS_ALL;
    uint64_t share = n_blocks / COUNTS_ONE_IN, n = (share > all ? share : all) + COUNTS_FEW;
    return (n < COUNTS_MAX ? n : COUNTS_MAX) * sizeof(struct hs_native_count);
}

void hs_native_counts_fini(struct hs_native_counts *counts)
{
    hs_free(counts->rows);
    hs_free(counts->holders);
    hs_free(counts->said);
    hs_dict_fini(&counts->of_type);
    *counts = (struct hs_native_counts){0};
}

/* Finds the members by which values of a type are counted, once for each type. *ret is borrowed
 * until the next call. */
static hs_status counts_said(struct hs_native *native, hs_ctype type, const struct hs_ccount **ret,
                             size_t *ret_n, struct hs_error *err)
{
    struct hs_native_counts *counts = &native->counts;
    struct hs_ccount found[HS_CTYPE_MAX_COUNTS];
    const uint64_t *known = hs_dict_find(&counts->of_type, type);
    uint64_t packed = known == NULL ? 0 : *known;

    if (known == NULL) {
        size_t n = hs_ctypes_counts(native->ctypes, type, found);
        packed = (uint64_t)counts->n_said << COUNTS_SAID_BITS | n;
        HS_TRY(HS_GROW(&counts->said, &counts->said_capacity, counts->n_said + n, err));
        for (size_t i = 0; i < n; i++)
            counts->said[counts->n_said++] = found[i];
        HS_TRY(hs_dict_put(&counts->of_type, type, packed, err));
    }
    *ret_n = packed & ((1 << COUNTS_SAID_BITS) - 1);
    *ret = *ret_n == 0 ? NULL : counts->said + (packed >> COUNTS_SAID_BITS);
    return HS_OK;
}

hs_status hs_native_counts_hold(struct hs_native *native, hs_addr at, hs_ctype type,
                                struct hs_error *err)
{
    struct hs_native_counts *counts = &native->counts;
    const struct hs_ccount *said;
    size_t n;

    if (native->ctypes == NULL || at == 0 || type == 0 ||
        (counts->n_holders != 0 && counts->holders[counts->n_holders - 1].at == at))
        return HS_OK;
    HS_TRY(counts_said(native, type, &said, &n, err));
    if (n == 0)
        return HS_OK;
    HS_TRY(HS_GROW(&counts->holders, &counts->holders_capacity, counts->n_holders + 1, err));
    counts->holders[counts->n_holders++] = (struct hs_native_holder){at, type};
    return HS_OK;
}

/* ---- what one container says */

/* Reads a number of 1, 2, 4 or 8 bytes of the value. */
static bool value_number(const struct counts_value *value, uint64_t at, unsigned n_bytes,
                         uint64_t *ret)
{
    if (at > value->n_bytes || value->n_bytes - at < n_bytes)
        return false;
    *ret = 0;
    for (unsigned i = n_bytes; i > 0; i--)
        *ret = *ret << 8 | value->bytes[at + i - 1];
    return true;
}

/* An iterator of a deque of libstdc++: bits/stl_deque.h. */
struct counts_iterator {
    uint64_t at, begin, end, node;
};

static bool value_iterator(const struct counts_value *value, uint64_t at,
                           struct counts_iterator *ret)
{
    return value_number(value, at, WORD, &ret->at) &&
           value_number(value, at + WORD, WORD, &ret->begin) &&
           value_number(value, at + 2 * WORD, WORD, &ret->end) &&
           value_number(value, at + 3 * WORD, WORD, &ret->node) && ret->begin <= ret->at &&
           ret->at <= ret->end;
}

/* Counts a deque that has one block of elements only, an empty one too: that block is nearly all
 * of its memory, its table of blocks next to nothing. */
static bool count_deque_block(const struct hs_native *native, const struct counts_value *value,
                              const struct hs_ccount *said, struct hs_native_count *ret)
{
    struct counts_iterator first, last;
    struct hs_heap_block block;

    if (!value_iterator(value, said->entries.at, &first) ||
        !value_iterator(value, said->room.at, &last) || first.node != last.node ||
        last.at < first.at || first.begin == first.end ||
        hs_flow_resolve(native, first.begin, &block) != HS_POINTER_START ||
        first.end - first.begin > block.n_bytes)
        return false;
    *ret = (struct hs_native_count){.rank = block.rank,
                                    .entries = (last.at - first.at) / said->element_bytes,
                                    .room = (first.end - first.begin) / said->element_bytes};
    return true;
}

static bool count_deque(const struct counts_value *value, const struct hs_ccount *said,
                        const struct hs_heap_block *body, struct hs_native_count *ret)
{
    struct counts_iterator first, last;

    if (!value_iterator(value, said->entries.at, &first) ||
        !value_iterator(value, said->room.at, &last) || last.node < first.node ||
        first.node < body->begin || last.node - body->begin > body->n_bytes - WORD)
        return false;
    uint64_t n_nodes = (last.node - first.node) / WORD;
    uint64_t each = (first.end - first.begin) / said->element_bytes;
    uint64_t n_before = (first.at - first.begin) / said->element_bytes;
    uint64_t n_last = (last.at - last.begin) / said->element_bytes;
    if (each == 0 || n_nodes > UINT64_MAX / 2 / each || n_nodes * each + n_last < n_before)
        return false;
    ret->entries = n_nodes * each + n_last - n_before;
    ret->room = (n_nodes + 1) * each;
    return ret->entries <= ret->room;
}

/* Counts the elements of a vector: it has addresses behind its elements, and behind its room. */
static bool count_vector(const struct counts_value *value, const struct hs_ccount *said,
                         const struct hs_heap_block *body, struct hs_native_count *ret)
{
    uint64_t end, room_end;

    if (!value_number(value, said->entries.at, WORD, &end) ||
        !value_number(value, said->room.at, WORD, &room_end) || end < body->begin ||
        room_end < end || room_end - body->begin > body->n_bytes ||
        (end - body->begin) % said->element_bytes != 0)
        return false;
    ret->entries = (end - body->begin) / said->element_bytes;
    ret->room = (room_end - body->begin) / said->element_bytes;
    return true;
}

/* Reads a number of the container, or of its body; 0 when it has none. */
static bool said_number(const struct counts_value *value, const struct hs_heap_block *body,
                        const struct hs_cnumber *number, uint64_t *ret)
{
    const struct counts_value in_body = {body->begin, body->bytes,
                                         body->bytes == NULL ? 0 : body->n_bytes};

    if (!value_number(number->is_in_body ? &in_body : value, number->at, number->n_bytes, ret))
        return false;
    if (number->n_bits != 0 && number->n_bits < WORD * CHAR_BIT)
        *ret &= (UINT64_C(1) << number->n_bits) - 1;
    return true;
}

/* Returns the room that it says; HS_NO_ROOM: none, or more than the body can have. */
static uint64_t room_of(const struct hs_ccount *said, uint64_t entries, uint64_t number,
                        uint64_t most)
{
    uint64_t room = number;

    if (said->room_by == HS_ROOM_NONE ||
        (said->room_by == HS_ROOM_LEFT && !hs_add_fits(entries, number, &room)))
        return HS_NO_ROOM;
    return room < entries || room > most ? HS_NO_ROOM : room;
}

static bool count_number(const struct hs_native *native, const struct counts_value *value,
                         const struct hs_ccount *said, const struct hs_heap_block *body,
                         struct hs_native_count *ret)
{
    uint64_t room, less, most = body->n_bytes, most_room = most;

    if (!said_number(value, body, &said->entries, &ret->entries) ||
        !said_number(value, body, &said->less, &less) ||
        !said_number(value, body, &said->room, &room) || less > ret->entries)
        return false;
    ret->entries -= less;
    if (said->by == HS_COUNT_NUMBER && said->element_bytes != 0)
        most_room = most = body->n_bytes / said->element_bytes;
    else if (said->by == HS_COUNT_NODES || said->by == HS_COUNT_TABLE)
        most = native->dump->heaps.map.n_blocks * COUNTS_NODE_MOST;
    if (ret->entries > most || (said->by == HS_COUNT_NODES && ret->entries == 0))
        return false;
    ret->room = room_of(said, ret->entries, room, most_room);
    return said->by != HS_COUNT_NUMBER || said->element_bytes != 1 ||
           body->n_bytes >= HS_COUNTS_TEXT_BYTES;
}

/* Tells whether a container may lead so to its body: to its start, to elements behind it (a table
 * of hashbrown), or past the number of its elements, as `new T[n]` does (Itanium C++ ABI, 2.7). */
static bool may_lead(const struct hs_ccount *said, enum hs_pointer how, uint64_t inside_bytes)
{
    return how == HS_POINTER_START ||
           (how == HS_POINTER_INTERIOR &&
            (said->by == HS_COUNT_BEHIND || (said->by == HS_COUNT_TABLE && inside_bytes == WORD)));
}

static bool count_one(const struct hs_native *native, const struct counts_value *value,
                      const struct hs_ccount *said, struct hs_native_count *ret)
{
    struct hs_heap_block body;
    uint64_t word;

    if (!value_number(value, said->body_at, WORD, &word))
        return false;
    enum hs_pointer how = hs_flow_resolve(native, word, &body);
    if ((how != HS_POINTER_START && how != HS_POINTER_INTERIOR) ||
        !may_lead(said, how, word - body.begin) || value->at - body.begin < body.n_bytes)
        return false; /* or its own: a list that is empty, a short text */
    ret->rank = body.rank;
    if (said->by == HS_COUNT_DEQUE)
        return count_deque(value, said, &body, ret);
    if (said->by == HS_COUNT_END)
        return count_vector(value, said, &body, ret);
    return count_number(native, value, said, &body, ret);
}

/* Returns for how many elements a container has room, or how many it has. */
static uint64_t size_of(const struct hs_native_count *count)
{
    return count->room == HS_NO_ROOM ? count->entries : count->room;
}

static int larger_first(const void *left, const void *right)
{
    const struct hs_native_count *a = left, *b = right;
    uint64_t a_size = size_of(a), b_size = size_of(b);

    if (a_size != b_size)
        return a_size > b_size ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Makes room for larger ones: leaves the larger half of the counts. */
static void counts_halve(struct hs_native_counts *counts)
{
    size_t n = counts->n_most / 2;

    qsort(counts->rows, counts->n, sizeof *counts->rows, larger_first);
    counts->left_out_size = size_of(&counts->rows[n]);
    counts->n_left_out += counts->n - n;
    counts->n = n;
}

static hs_status counts_add(struct hs_native_counts *counts, const struct hs_native_count *count,
                            struct hs_error *err)
{
    bool is_small = counts->n_left_out != 0 && size_of(count) <= counts->left_out_size;

    if (counts->n_most == 0 || is_small) {
        counts->n_left_out++;
        return HS_OK;
    }
    if (counts->n == counts->n_most)
        counts_halve(counts);
    HS_TRY(HS_GROW(&counts->rows, &counts->capacity, counts->n + 1, err));
    counts->rows[counts->n++] = *count;
    return HS_OK;
}

static hs_status count_value(struct hs_native *native, const struct counts_value *value,
                             const struct hs_ccount *said, size_t n, struct hs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct hs_native_count count;
        if (!count_one(native, value, &said[i], &count))
            continue;
        HS_TRY(counts_add(&native->counts, &count, err));
        if (said[i].by == HS_COUNT_DEQUE && count_deque_block(native, value, &said[i], &count))
            HS_TRY(counts_add(&native->counts, &count, err));
    }
    return HS_OK;
}

/* ---- all of them */

/* The counts of a native type's values: a range of struct hs_native_counts.said. */
struct counts_of_type {
    uint32_t first, n;        /* of objects n is 1 once there was a collection */
    uint32_t n_tries;         /* of objects that were asked, up to COUNTS_TRIES */
    bool is_object, is_named; /* it is asked itself: count_object, count_named */
};

/* Counts the containers in a block of the type or, where it is an array, in its elements in use. */
static hs_status count_block(struct hs_native *native, const struct hs_flow *flow,
                             const struct hs_heap_block *block, const struct hs_native_type *type,
                             const struct counts_of_type *of, struct hs_error *err)
{
    const struct hs_ccount *said = native->counts.said + of->first;
    size_t n = of->n;
    uint64_t at = 0, end = type->n_bytes;

    if (type->n_bytes == 0)
        return HS_OK;
    if (type->is_array) {
        const struct hs_native_use use =
            hs_native_reserves_use(&flow->reserves, block->rank, block->n_bytes);
        at = use.from;
        end = use.end;
    }
    end = end < block->n_bytes ? end : block->n_bytes;
    for (; at < end && end - at >= type->n_bytes; at += type->n_bytes) {
        const struct counts_value value = {block->begin + at, block->bytes + at, type->n_bytes};
        HS_TRY(count_value(native, &value, said, n, err));
    }
    return HS_OK;
}

/* Counts the elements of a collection of Python, which is its own body. A type of which the first
 * objects are none is not asked again. */
static hs_status count_object(struct hs_native *native, const struct hs_interpreter *python,
                              const struct hs_heap_block *block, struct counts_of_type *of,
                              struct hs_error *err)
{
    const uint64_t n_blocks = native->dump->heaps.map.n_blocks;
    struct hs_object_count said;
    struct hs_heap_block body = {0};

    bool is_collection = python->model->count(python->state, block, &said);
    of->n_tries += of->n_tries < COUNTS_TRIES;
    of->is_object = of->n_tries < COUNTS_TRIES || of->n != 0;
    if (!is_collection)
        return HS_OK;
    of->n = 1;
    if (said.entries == 0)
        return HS_OK;
    bool is_chain = said.body == 0;
    if (!is_chain && hs_flow_resolve(native, said.body, &body) == HS_POINTER_NONE)
        return HS_OK;
    uint64_t most = is_chain ? n_blocks * COUNTS_CHAIN_MOST : body.n_bytes / said.element_bytes;
    if (said.entries > most)
        return HS_OK;
    uint64_t room = said.room < said.entries || said.room > most ? HS_NO_ROOM : said.room;
    const struct hs_native_count count = {block->rank, said.entries, room};
    return counts_add(&native->counts, &count, err);
}

/* Counts the elements of a container that is known by what it consists of: GLib's. */
static hs_status count_named(struct hs_native *native, const struct hs_heap_block *block,
                             struct hs_error *err)
{
    struct hs_object_name name;

    if (!hs_heaps_object_name(&native->dump->heaps, block, &name) || !name.is_counted)
        return HS_OK;
    const struct hs_native_count count = {block->rank, name.entries, name.room};
    return counts_add(&native->counts, &count, err);
}

/* Finds for each type, by its number, what in its blocks is counted. */
static hs_status counts_by_type(struct hs_native *native, const struct hs_flow *flow,
                                struct counts_of_type *of, struct hs_error *err)
{
    const bool has_names = hs_heaps_have_object_names(&native->dump->heaps);
    const struct hs_interpreter python = hs_heaps_interpreter(&native->dump->heaps);

    for (size_t i = 0; i < flow->types.n_types; i++) {
        const struct hs_native_type *type = &flow->types.types[i];
        const struct hs_ccount *said = NULL;
        size_t n = 0;
        if (type->ctype != 0 && type->n_slots != 0)
            HS_TRY(counts_said(native, type->ctype, &said, &n, err));
        if (n != 0)
            of[i + 1] = (struct counts_of_type){.first = (uint32_t)(said - native->counts.said),
                                                .n = (uint32_t)n};
        bool is_python = type->type.form == HS_FORM_PYTHON;
        of[i + 1].is_object = is_python && python.model != NULL && python.model->count != NULL;
        of[i + 1].is_named = has_names && type->ctype == 0 && type->type.form == HS_FORM_RECORD;
    }
    return HS_OK;
}

static hs_status count_blocks(struct hs_native *native, const struct hs_flow *flow,
                              struct hs_error *err)
{
    const struct hs_interpreter python = hs_heaps_interpreter(&native->dump->heaps);
    struct hs_heap_iterator it = {.map = &native->dump->heaps.map};
    struct hs_heap_block block;
    hs_auto_free struct counts_of_type *of = NULL;

    HS_TRY(HS_ALLOC(&of, flow->types.n_types + 1, err));
    HS_TRY(counts_by_type(native, flow, of, err));
    for (uint64_t rank = 0; rank < flow->n_blocks; rank++) {
        hs_ntype type = hs_flow_type(flow, rank) & ~HS_FLOW_IS_TENTATIVE;
        if (!of[type].is_object && !of[type].is_named && of[type].n == 0)
            continue;
        hs_heap_map_forward(&it, rank);
        if (!hs_heap_map_next(&it, &block) || block.bytes == NULL)
            continue;
        if (of[type].is_object)
            HS_TRY(count_object(native, &python, &block, &of[type], err));
        else if (of[type].is_named)
            HS_TRY(count_named(native, &block, err));
        else
            HS_TRY(count_block(native, flow, &block, hs_native_type_of(&flow->types, type),
                               &of[type], err));
    }
    return HS_OK;
}

static int count_order(const void *left, const void *right)
{
    const struct hs_native_count *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->entries != b->entries)
        return a->entries > b->entries ? -1 : 1;
    return a->room < b->room ? -1 : a->room > b->room;
}

void hs_native_counts_settle(struct hs_native_counts *counts)
{
    size_t n = 0;

    if (counts->n > 1)
        qsort(counts->rows, counts->n, sizeof *counts->rows, count_order);
    for (size_t i = 0; i < counts->n; i++)
        if (n == 0 || counts->rows[n - 1].rank != counts->rows[i].rank)
            counts->rows[n++] = counts->rows[i];
    counts->n = n;
}

hs_status hs_native_counts_put(struct hs_native_counts *counts, uint64_t rank, uint64_t entries,
                               struct hs_error *err)
{
    const struct hs_native_count count = {rank, entries, HS_NO_ROOM};
    return counts_add(counts, &count, err);
}

hs_status hs_native_counts_find(struct hs_native *native, const struct hs_flow *flow,
                                struct hs_error *err)
{
    struct hs_native_counts *counts = &native->counts;
    struct hs_ctype_facts facts;

    for (size_t i = 0; native->ctypes != NULL && i < counts->n_holders; i++) {
        const struct hs_native_holder *holder = &counts->holders[i];
        const struct hs_ccount *said;
        size_t n;
        hs_ctype_facts(native->ctypes, holder->type, &facts);
        const struct counts_value value = {
            holder->at, hs_image_bytes(&native->dump->image, holder->at, facts.n_bytes),
            facts.n_bytes};
        HS_TRY(counts_said(native, holder->type, &said, &n, err));
        if (value.bytes != NULL)
            HS_TRY(count_value(native, &value, said, n, err));
    }
    HS_TRY(count_blocks(native, flow, err));
    hs_native_counts_settle(counts);
    if (counts->n_left_out == 0)
        return HS_OK;
    return hs_findings_note(&native->dump->findings, false, err,
                            "%llu containers of at most %llu elements are not counted: there is "
                            "room for one block of %d, the largest containers",
                            (unsigned long long)counts->n_left_out,
                            (unsigned long long)counts->left_out_size, COUNTS_ONE_IN);
}

const struct hs_native_count *hs_native_counts_of(struct hs_native_counts *counts, uint64_t rank)
{
    if (counts->cursor > 0 && counts->rows[counts->cursor - 1].rank >= rank)
        counts->cursor = HS_FIRST_NOT(at, 0, counts->n, counts->rows[at].rank < rank);
    while (counts->cursor < counts->n && counts->rows[counts->cursor].rank < rank)
        counts->cursor++;
    bool is_there = counts->cursor < counts->n && counts->rows[counts->cursor].rank == rank;
    return is_there ? &counts->rows[counts->cursor] : NULL;
}
