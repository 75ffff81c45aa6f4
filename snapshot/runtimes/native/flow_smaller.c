/* The choice between an heir that fills a block and a smaller one in a block that malloc did not
 * cut to its size: glibc gives away all of a free chunk where less than its least block would be
 * left of it, so that a few objects have 16 bytes more than their like. Of heirs without virtual
 * functions neither size nor words tell which one it is, but the arrays that lead to it do, where
 * the program keeps the two classes apart. */
#include "flow_private.h"

enum {
    WORD = 8,
    KINDS = 8,      /* of objects in one array; one with more of them says nothing */
    ONE_IN = 64,    /* at most, that may be the larger heir, of those in an array of the smaller */
    HOME_LEAST = 8, /* larger heirs in an array without any of the smaller */
    DOUBTS = 1 << 12
};

/* The objects of one type that an array leads to. */
struct kind {
    uint32_t name;
    uint64_t n;
};

struct tally {
    struct kind kinds[KINDS];
    size_t n;
    bool are_more;
};

/* The pointers at one place in all elements of an array. */
struct column {
    struct hs_heap_block block;
    const struct hs_native_type *type;
    const struct hs_cslot *slot;
    struct hs_native_use use;
};

/* An object that such a pointer leads to: its type, and the one that it may be as well. */
struct object {
    struct hs_heap_block block;
    hs_ntype has, smaller; /* smaller 0: none */
};

struct search {
    struct flow *f;
    struct hs_dict parts;  /* types whose heirs are in question */
    struct hs_dict doubts; /* by rank: the smaller heir; 0: some array denies it */
    struct hs_dict homes;  /* names of larger heirs that an array has without smaller ones */
    bool is_second;        /* all arrays have been asked once */
};

static uint32_t name_of(const struct search *s, hs_ntype type)
{
    return hs_native_type_of(&s->f->result->types, type)->type.name;
}

static uint64_t count_of(const struct tally *tally, uint32_t name)
{
    for (size_t i = 0; i < tally->n; i++)
        if (tally->kinds[i].name == name)
            return tally->kinds[i].n;
    return 0;
}

static void add_to(struct tally *tally, uint32_t name)
{
    size_t i = 0;

    while (i < tally->n && tally->kinds[i].name != name)
        i++;
    if (i == KINDS) {
        tally->are_more = true;
        return;
    }
    tally->n += i == tally->n;
    tally->kinds[i].name = name;
    tally->kinds[i].n++;
}

/* Finds the object that element `at` bytes into the array leads to; false when it leads to none
 * whose type is one record. */
static bool object_at(const struct search *s, const struct column *column, uint64_t at,
                      struct object *ret)
{
    const struct flow *f = s->f;
    const uint64_t word = hs_load_u64(column->block.bytes + at + column->slot->offset_bytes);
    const enum hs_pointer how = hs_flow_resolve(f->native, word, &ret->block);

    if (how != HS_POINTER_START && how != HS_POINTER_INTERIOR)
        return false;
    ret->has = hs_flow_had_(f, ret->block.rank);
    if (ret->has == 0 || !hs_flow_is_record_(hs_native_type_of(&f->result->types, ret->has)))
        return false;
    ret->smaller = ret->block.span->form != HS_SPAN_HEADERS
                       ? 0
                       : hs_native_enclosing_smaller(&f->enclosing, column->slot->pointee,
                                                     hs_flow_offset(f->native, word, &ret->block),
                                                     ret->block.n_bytes);
    return true;
}

/* Tells whether an object may be either heir. */
static bool is_doubtful(const struct object *object)
{
    return object->smaller != 0 && object->smaller != object->has;
}

/* Tells whether the array is one of the smaller heirs, but for a few that may be the larger. */
static bool is_of_smaller(const struct search *s, const struct tally *tally,
                          const struct object *object)
{
    return !tally->are_more && count_of(tally, name_of(s, object->has)) <=
                                   count_of(tally, name_of(s, object->smaller)) / ONE_IN;
}

/* Tells whether nothing in the words of an object is the larger heir's, or denies the smaller. */
static bool words_allow(const struct search *s, const struct object *object)
{
    const struct flow *f = s->f;
    const struct hs_native_type *larger = hs_native_type_of(&f->result->types, object->has),
                                *smaller = hs_native_type_of(&f->result->types, object->smaller);

    return hs_native_agree(&f->enclosing.by, &object->block, larger, 0, 0).n_leading == 0 &&
           !hs_native_agree(&f->enclosing.by, &object->block, smaller, 0, 0).disagrees;
}

/* Notes what an array says of one object that may be either; the second time whether it denies what
 * another one said. */
static hs_status note(struct search *s, const struct tally *tally, const struct object *object,
                      struct hs_error *err)
{
    const bool is_of = is_of_smaller(s, tally, object);

    if (s->is_second) {
        uint64_t *doubt = hs_dict_find(&s->doubts, object->block.rank);
        if (doubt != NULL && !is_of)
            *doubt = 0;
        return HS_OK;
    }
    const uint32_t name = name_of(s, object->has);
    if (is_of && s->doubts.n <= DOUBTS && words_allow(s, object))
        return hs_dict_put(&s->doubts, object->block.rank, object->smaller, err);
    if (!tally->are_more && count_of(tally, name) >= HOME_LEAST &&
        count_of(tally, name_of(s, object->smaller)) == 0 && hs_dict_find(&s->homes, name) == NULL)
        return hs_dict_put(&s->homes, name, 1, err);
    return HS_OK;
}

/* Returns the place of the element behind one, past what was never touched. */
static uint64_t next_of(const struct search *s, const struct column *column, uint64_t at)
{
    const uint64_t step = column->type->n_bytes, end = at + step;

    if (end / HS_FLOW_PART == at / HS_FLOW_PART || end >= column->use.end)
        return end;
    const uint64_t touched =
        hs_flow_touched(s->f->native, &column->block, end & ~(HS_FLOW_PART - 1));
    return touched > end ? end + (touched - end) / step * step : end;
}

/* Goes through the objects of a column: counts them, then asks of those that may be either. */
static hs_status ask_column(struct search *s, const struct column *column, struct hs_error *err)
{
    const uint64_t step = column->type->n_bytes;
    const uint64_t from = (column->use.from + step - 1) / step * step, end = column->use.end;
    struct tally tally = {0};
    struct object object;
    bool is_any = false;

    for (uint64_t at = from; at < end && end - at >= step; at = next_of(s, column, at)) {
        if (!object_at(s, column, at, &object))
            continue;
        add_to(&tally, name_of(s, object.has));
        is_any |= is_doubtful(&object);
    }
    for (uint64_t at = from; is_any && at < end && end - at >= step; at = next_of(s, column, at))
        if (object_at(s, column, at, &object) && is_doubtful(&object))
            HS_TRY(note(s, &tally, &object, err));
    return HS_OK;
}

static hs_status ask_arrays(struct search *s, struct hs_error *err)
{
    struct flow *f = s->f;
    struct column column;
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};

    while (hs_heap_map_next(&it, &column.block)) {
        hs_ntype number = hs_flow_had_(f, column.block.rank);
        column.type = number == 0 ? NULL : hs_native_type_of(&f->result->types, number);
        if (column.type == NULL || !column.type->is_array || column.type->n_bytes < WORD ||
            column.type->is_table || column.block.bytes == NULL)
            continue;
        column.use =
            hs_native_reserves_use(&f->result->reserves, column.block.rank, column.block.n_bytes);
        for (size_t i = 0; i < column.type->n_slots; i++) {
            column.slot = &column.type->slots[i];
            if (column.slot->n_choices == 0 &&
                column.slot->offset_bytes <= column.type->n_bytes - WORD &&
                hs_dict_find(&s->parts, column.slot->pointee) != NULL)
                HS_TRY(ask_column(s, &column, err));
        }
    }
    return HS_OK;
}

/* Keeps the doubts that no array denies, of heirs that the program has in arrays of their own as
 * well. Of more than there is room for none: which come first says nothing. */
static hs_status take(struct search *s, struct hs_error *err)
{
    for (size_t i = 0; i < s->doubts.n && s->doubts.n <= DOUBTS; i++) {
        const struct hs_dict_entry *doubt = &s->doubts.entries[i];
        const uint32_t name = name_of(s, hs_flow_had_(s->f, doubt->key));
        if (doubt->value != 0 && hs_dict_find(&s->homes, name) != NULL)
            HS_TRY(hs_dict_put(&s->f->smaller, doubt->key, doubt->value, err));
    }
    return HS_OK;
}

static hs_status find(struct search *s, struct hs_error *err)
{
    HS_TRY(hs_native_enclosing_find_smaller(&s->f->enclosing, &s->parts, err));
    if (s->parts.n == 0)
        return HS_OK;
    HS_TRY(ask_arrays(s, err));
    if (s->doubts.n == 0 || s->homes.n == 0)
        return HS_OK;
    s->is_second = true;
    HS_TRY(ask_arrays(s, err));
    return take(s, err);
}

hs_status hs_flow_find_smaller_(struct flow *f, struct hs_error *err)
{
    struct search search = {.f = f};

    hs_status status = find(&search, err);
    hs_dict_fini(&search.parts);
    hs_dict_fini(&search.doubts);
    hs_dict_fini(&search.homes);
    return status;
}

void hs_flow_deny_smaller_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                           hs_ctype pointee)
{
    uint64_t *smaller = offset != 0 ? NULL : hs_dict_find(&f->smaller, block->rank);
    struct hs_ctype_facts facts;

    if (smaller == NULL || *smaller == 0)
        return;
    hs_ctype_facts(f->native->ctypes, pointee, &facts);
    const hs_ctype heir = hs_native_type_of(&f->result->types, (hs_ntype)*smaller)->ctype;
    if (facts.kind == HS_CTYPE_RECORD && hs_native_is_other(f->native->ctypes, heir, pointee))
        *smaller = 0;
}

hs_status hs_flow_give_smaller_(struct flow *f, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    struct hs_heap_block block;

    for (size_t i = 0; i < f->smaller.n; i++) {
        const struct hs_dict_entry smaller = f->smaller.entries[i];
        hs_block_queue_seek(&it, smaller.key, &block);
        if (smaller.value != 0)
            HS_TRY(hs_flow_give_(f, &block, (hs_ntype)smaller.value, err));
    }
    return HS_OK;
}
