/* Names of the words of a type that may be pointers: "series.hashes", "tags", "conns[2].buf". What
 * the runtime keeps for a map or a channel apart from its values has a name in parentheses, which
 * the path in one line leaves out. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "typing.h"

enum {
    MEMBERS_MAX = 1024, /* of one type */
    PARTS_MAX = 64,     /* types within each other */
    NAME_BYTES = 256
};

/* A value within the type: the next field or element of it is named next. */
struct part {
    struct hs_go_type type;
    uint64_t offset;    /* in the block */
    uint64_t next;      /* number of the field or element */
    size_t n_name;      /* length of the names in front */
    bool is_bucket;     /* its fields are those of the entries of a map */
    bool has_no_places; /* elements are not told apart */
    bool is_closed;     /* fields have no names: a key of a map */
};

struct naming {
    const struct hs_go_heap *heap;
    struct hs_go_members *ret;
    uint32_t number;
    size_t begin; /* of this type's members */
    struct part parts[PARTS_MAX];
    size_t n_parts;
    char name[NAME_BYTES];
};

static hs_status add(struct naming *n, uint64_t offset, const char *name, struct hs_error *err)
{
    struct hs_go_members *all = n->ret;
    struct hs_member member = {.type = n->number, .offset_bytes = offset};

    if (all->n - n->begin == MEMBERS_MAX)
        return HS_OK;
    HS_TRY(hs_strtab_add(&n->heap->dump->strings, name, &member.name, err));
    HS_TRY(HS_GROW(&all->members, &all->capacity, all->n + 1, err));
    all->members[all->n++] = member;
    return HS_OK;
}

/* Puts a name behind those of the values around it. False: it has no room. */
static bool append(struct naming *n, size_t at, const char *name)
{
    bool has_dot = at != 0 && name[0] != '[' && name[0] != '(' && name[0] != '\0';
    int length = snprintf(n->name + at, NAME_BYTES - at, "%s%s", has_dot ? "." : "", name);
    return length >= 0 && (size_t)length < NAME_BYTES - at;
}

/* Begins with a value, or names the word of one that is no struct and no array. */
static hs_status enter(struct naming *n, struct part part, struct hs_error *err)
{
    part.n_name = strlen(n->name);
    if (part.type.n_pointer_bytes == 0)
        return HS_OK;
    if (part.type.kind == HS_GO_STRUCT || part.type.kind == HS_GO_ARRAY) {
        if (n->n_parts < PARTS_MAX)
            n->parts[n->n_parts++] = part;
        return HS_OK;
    }
    return add(n, part.offset + (part.type.kind == HS_GO_INTERFACE ? HS_WORD_BYTES : 0), n->name,
               err);
}

/* Calls a field of the entries of a map by what it is: up to 1.23 {topbits, keys, elems, overflow},
 * since 1.24 {ctrl, slots of {key, elem}}, or {ctrl, keys, elems}. */
static const char *bucket_name(const char *field, struct part *part)
{
    part->has_no_places = true;
    if (strcmp(field, "keys") == 0 || strcmp(field, "key") == 0) {
        part->is_closed = true;
        return "(keys)";
    }
    if (strcmp(field, "slots") == 0) {
        part->is_bucket = true;
        return "";
    }
    return strcmp(field, "overflow") == 0 ? "(overflow)" : "[...]";
}

/* Goes on with the next field of a struct. False: there is no other. */
static bool next_field(struct naming *n, struct part *of, struct part *ret)
{
    struct hs_go_field field;
    char text[NAME_BYTES];
    const char *name = text;

    if (!hs_go_field(n->heap, of->type.address, of->next++, &field))
        return false;
    *ret = (struct part){.offset = of->offset + field.offset, .is_closed = of->is_closed};
    if (!hs_go_read_type(n->heap, field.type, &ret->type) ||
        field.offset > of->type.n_bytes - ret->type.n_bytes || of->is_closed ||
        !hs_go_text(n->heap, field.name, text, sizeof text))
        text[0] = '\0';
    if (of->is_bucket)
        name = bucket_name(text, ret);
    if (!append(n, of->n_name, name))
        n->name[of->n_name] = '\0';
    return true;
}

static bool next_element(struct naming *n, struct part *of, struct part *ret)
{
    hs_addr element;
    char text[NAME_BYTES] = "";

    if (of->next >= hs_go_array_length(n->heap, of->type.address) ||
        !hs_go_u64(n->heap, of->type.address + HS_GO_ELEM_AT, &element))
        return false;
    *ret = (struct part){.is_closed = of->is_closed, .is_bucket = of->is_bucket};
    if (!hs_go_read_type(n->heap, element, &ret->type) || ret->type.n_bytes == 0 ||
        of->next >= of->type.n_bytes / ret->type.n_bytes)
        return false;
    if (!of->has_no_places)
        snprintf(text, sizeof text, "[%llu]", (unsigned long long)of->next);
    ret->offset = of->offset + of->next++ * ret->type.n_bytes;
    if (!append(n, of->n_name, text))
        n->name[of->n_name] = '\0';
    return true;
}

/* Names the words of one value of a type. */
static hs_status name_value(struct naming *n, const struct hs_go_named_type *type,
                            struct hs_error *err)
{
    struct part next = {.is_bucket = type->holding == HS_GO_HOLD_BUCKETS};

    if (!hs_go_read_type(n->heap, type->type, &next.type))
        return HS_OK;
    /* A pointer or a slice that is a value of its own: its word is all that there is. */
    if (next.type.kind != HS_GO_STRUCT && next.type.kind != HS_GO_ARRAY &&
        (next.type.kind != HS_GO_INTERFACE || type->stride_bytes == 0))
        return HS_OK;
    HS_TRY(enter(n, next, err));
    while (n->n_parts != 0 && n->ret->n - n->begin < MEMBERS_MAX) {
        struct part *part = &n->parts[n->n_parts - 1];
        bool is_there = part->type.kind == HS_GO_STRUCT ? next_field(n, part, &next)
                                                        : next_element(n, part, &next);
        if (!is_there)
            n->n_parts--;
        else if (next.type.address != 0)
            HS_TRY(enter(n, next, err));
    }
    return HS_OK;
}

hs_status hs_go_add_members(const struct hs_go_heap *heap, const struct hs_go_named_type *type,
                            uint32_t number, struct hs_go_members *ret, struct hs_error *err)
{
    enum { FIRST_AT = 16, OLD_AT = 24, EXTRA_AT = 40 };
    struct naming n = {.heap = heap, .ret = ret, .number = number, .begin = ret->n};

    switch ((enum hs_go_holding)type->holding) {
    case HS_GO_HOLD_ONE:
    case HS_GO_HOLD_ROW:
    case HS_GO_HOLD_BUCKETS:
    case HS_GO_HOLD_CLOSURE:
        return type->type == 0 ? HS_OK : name_value(&n, type, err);
    case HS_GO_HOLD_CHAN:
        return add(&n, FIRST_AT, "(buffer)", err);
    case HS_GO_HOLD_TABLE:
        return add(&n, FIRST_AT, "(groups)", err);
    case HS_GO_HOLD_MAP:
        HS_TRY(add(&n, FIRST_AT, "(entries)", err));
        if (heap->layout->minor >= HS_GO_MINOR_OF_GROUPS)
            return HS_OK;
        HS_TRY(add(&n, OLD_AT, "(old entries)", err));
        return add(&n, EXTRA_AT, "(overflow)", err);
    case HS_GO_HOLD_DIRECTORY:
        return add(&n, 0, "(tables)", err);
    default:
        return HS_OK;
    }
}
