/* Arrays of records of C of which another member tells how much is in use: { int n; T *a[8]; },
 * { unsigned head, tail; T *slot[16]; }, { T **items; size_t len, cap; }, { T **items; int n; } and
 * { T **slots; unsigned in, out; }. That is known by the names of members alone, so it is asked of
 * the value whether it can be so: of an array of which the first n are all there, no more are said
 * to be. What counts a table's items has holes among the first n, or more items. The room of an
 * array that stands elsewhere must be its block's.
 *
 * In Rust { len: usize, items: [MaybeUninit<T>; 8] } is known by its types: what is not counted
 * nobody may read. */
#include <string.h>

#include "pool.h"

enum { COUNTED_LEAST = 2, COUNTED_MOST = 64, COUNTED_DEPTH = 4 };

#define COUNTED_IN(names, name, n) counted_in((names), sizeof(names) / sizeof((names)[0]), name, n)

static bool counted_in(const char *const *names, size_t n_names, const char *name, size_t n)
{
    for (size_t i = 0; i < n_names; i++)
        if (strlen(names[i]) == n && strncmp(names[i], name, n) == 0)
            return true;
    return false;
}

/* Tells whether the last part of a member's own name, behind underscores, is one of these. */
#define COUNTED_ENDS_IN(names, name) \
    counted_ends_in((names), sizeof(names) / sizeof((names)[0]), name)

static bool counted_ends_in(const char *const *names, size_t n_names, const char *name)
{
    size_t n;
    const char *own = hs_ctypes_own_name_(name, &n);
    const char *last = own + n;
    while (last > own && last[-1] != '_')
        last--;
    return counted_in(names, n_names, last, (size_t)(own + n - last));
}

/* "n", "count", "n_items", "num_slots", "slot_count", "used". */
static bool counted_is_count(const char *name)
{
    static const char *const whole[] = {"n",    "num",  "cnt",  "count", "len",
                                        "size", "used", "fill", "nr",    "length"};
    size_t n;
    const char *own = hs_ctypes_own_name_(name, &n);
    size_t n_first = strcspn(own, "_");
    return COUNTED_ENDS_IN(whole, name) ||
           (n_first < n && n_first <= strlen("num") && COUNTED_IN(whole, own, n_first));
}

/* "cap", "capacity", "n_alloc", "items_max". */
static bool counted_is_room(const char *name)
{
    static const char *const whole[] = {"cap",   "capacity", "alloc", "allocated", "alloced",
                                        "room",  "max",      "avail", "asize",     "nalloc",
                                        "limit", "maxlen",   "space", "reserved"};
    return COUNTED_ENDS_IN(whole, name);
}

/* "size", which is the room where another member is a count. */
static bool counted_is_size(const char *name)
{
    static const char *const whole[] = {"size", "sz"};
    size_t n;
    const char *own = hs_ctypes_own_name_(name, &n);
    return COUNTED_IN(whole, own, n);
}

/* The two ends of a ring: 1 and 2; 0: neither. */
static unsigned counted_ring_end(const char *name)
{
    static const char *const first[] = {"head", "front", "in", "wr", "put", "write"};
    static const char *const second[] = {"tail", "rear", "back", "out", "rd", "get", "read"};
    size_t n;
    const char *own = hs_ctypes_own_name_(name, &n);
    return COUNTED_IN(first, own, n) ? 1 : COUNTED_IN(second, own, n) ? 2 : 0;
}

/* Tells which end of a ring goes first, by the name of that which counted_ring_end calls the first:
 * some put at the head and take at the tail, some the other way round. */
static enum ctypes_ring counted_ring_first(const char *name)
{
    static const char *const puts[] = {"in", "wr", "put", "write"};
    size_t n;
    const char *own = hs_ctypes_own_name_(name, &n);
    static const char *const takes[] = {"front"};
    return COUNTED_IN(puts, own, n)    ? RING_OTHER_FIRST
           : COUNTED_IN(takes, own, n) ? RING_FIRST
                                       : RING_EITHER;
}

struct counted_found {
    struct ctypes_member array, count, ring[2], room, size;
    uint64_t n_elements;
    uint8_t n_count_bytes, n_ring_bytes[2], n_room_bytes, n_size_bytes;
    unsigned n_arrays, n_counts, n_ring[2], n_rooms, n_sizes;
};

/* Notes a number by its name; "size" is the count where nothing else is. */
static void counted_number(const struct ctypes_member *member, uint8_t n_bytes,
                           struct counted_found *found)
{
    unsigned end = counted_ring_end(member->name);

    if (counted_is_size(member->name)) {
        found->n_sizes++;
        found->size = *member;
        found->n_size_bytes = n_bytes;
    } else if (counted_is_count(member->name)) {
        found->n_counts++;
        found->count = *member;
        found->n_count_bytes = n_bytes;
    }
    if (counted_is_room(member->name)) {
        found->n_rooms++;
        found->room = *member;
        found->n_room_bytes = n_bytes;
    }
    if (end != 0) {
        found->n_ring[end - 1]++;
        found->ring[end - 1] = *member;
        found->n_ring_bytes[end - 1] = n_bytes;
    }
}

static void counted_look(struct hs_ctypes *types, const struct ctypes_member *member,
                         struct counted_found *found)
{
    const struct ctypes_type part = *hs_ctypes_get_(types, member->type);
    if (part.kind == HS_CTYPE_ARRAY && hs_ctypes_get_(types, part.of)->kind == HS_CTYPE_POINTER) {
        found->n_arrays++;
        found->array = *member;
        found->n_elements = part.n_elements;
    }
    uint64_t n_bytes = part.kind == HS_CTYPE_SCALAR ? hs_ctypes_size_(types, member->type) : 0;
    bool is_number = n_bytes == 1 || n_bytes == 2 || n_bytes == 4 || n_bytes == 8;
    if (is_number && member->offset <= INT64_MAX)
        counted_number(member, (uint8_t)n_bytes, found);
}

/* Finds the only member that leads to pointers or, where none does, to records of another kind.
 * Reads the entries of what its pointers lead to. */
static bool counted_find_pointer(struct hs_ctypes *types, const struct ctypes_type *type,
                                 uint64_t *ret_at, bool *ret_is_row)
{
    unsigned n_rows = 0, n_records = 0;
    uint64_t rows_at = 0, records_at = 0;

    for (uint32_t i = 0; i < type->n_members; i++) {
        const struct ctypes_member member = types->members[type->first_member + i];
        const struct ctypes_type part = *hs_ctypes_get_(types, member.type);
        if (part.kind != HS_CTYPE_POINTER || part.of == 0 || member.n_whens != 0)
            continue;
        const struct ctypes_type *to = hs_ctypes_get_(types, part.of);
        uint8_t kind = to->die == type->die && to->file == type->file ? HS_CTYPE_VOID : to->kind;
        n_rows += kind == HS_CTYPE_POINTER;
        rows_at = kind == HS_CTYPE_POINTER ? member.offset : rows_at;
        n_records += kind == HS_CTYPE_RECORD;
        records_at = kind == HS_CTYPE_RECORD ? member.offset : records_at;
    }
    *ret_at = n_rows == 1 ? rows_at : records_at;
    *ret_is_row = n_rows == 1;
    return n_rows == 1 || (n_rows == 0 && n_records == 1);
}

/* Says what is in use of an array of pointers elsewhere, by the ends of a ring or by a count. */
static bool counted_row(const struct counted_found *found, struct ctypes_counted *ret)
{
    const struct ctypes_member *count = found->n_counts != 0 ? &found->count : &found->size;
    unsigned n_counts = found->n_counts != 0 ? found->n_counts : found->n_sizes;

    if (found->n_ring[0] == 1 && found->n_ring[1] == 1 && found->n_counts == 0 &&
        found->n_ring_bytes[0] == found->n_ring_bytes[1]) {
        ret->when = (struct ctypes_when){
            (int64_t)found->ring[0].offset, found->ring[1].offset - found->ring[0].offset,
            counted_ring_first(found->ring[0].name), found->n_ring_bytes[0], WHEN_USED_RING};
        return true;
    }
    ret->when = (struct ctypes_when){
        (int64_t)count->offset, 0, 0,
        found->n_counts != 0 ? found->n_count_bytes : found->n_size_bytes, WHEN_USED_ROOM};
    return n_counts == 1 && found->n_rooms == 0 && found->n_ring[0] + found->n_ring[1] == 0;
}

/* Says how many elements there are of an array that a pointer of the record leads to, where there
 * is one count, and one room beside it, or by less where it leads to pointers. */
static bool counted_elsewhere(struct hs_ctypes *types, const struct ctypes_type *type,
                              const struct counted_found *found, struct ctypes_counted *ret)
{
    bool is_size_room = found->n_rooms == 0, is_row;
    const struct ctypes_member *room = is_size_room ? &found->size : &found->room;
    const struct ctypes_member *count =
        is_size_room || found->n_counts == 1 ? &found->count : &found->size;
    unsigned n_counts = is_size_room ? found->n_counts : found->n_counts + found->n_sizes;

    if (found->n_counts + found->n_sizes + found->n_ring[0] == 0 ||
        !counted_find_pointer(types, type, &ret->array_at, &is_row))
        return false;
    if (n_counts != 1 || (is_size_room ? found->n_sizes : found->n_rooms) != 1)
        return is_row && counted_row(found, ret);
    ret->when = (struct ctypes_when){
        (int64_t)count->offset, room->offset - count->offset,
        is_size_room ? found->n_size_bytes : found->n_room_bytes,
        count == &found->count ? found->n_count_bytes : found->n_size_bytes, WHEN_USED_ROOM};
    return true;
}

/* Finds an array of MaybeUninit, itself or as the only member of records. Returns its elements; 0:
 * it is none. */
static uint64_t counted_uninit(struct hs_ctypes *types, const struct ctypes_member *member,
                               uint64_t *ret_stride)
{
    static const char uninit[] = "core::mem::maybe_uninit::MaybeUninit<";
    hs_ctype number = member->type;

    for (unsigned depth = 0; depth < COUNTED_DEPTH; depth++) {
        const struct ctypes_type part = *hs_ctypes_get_(types, number);
        if (part.kind == HS_CTYPE_ARRAY) {
            *ret_stride = hs_ctypes_size_(types, part.of);
            return strncmp(hs_ctypes_type_name_(types, part.of), uninit, sizeof uninit - 1) == 0
                       ? part.n_elements
                       : 0;
        }
        if (part.kind != HS_CTYPE_RECORD || part.n_members != 1)
            return 0;
        number = types->members[part.first_member].type;
    }
    return 0;
}

/* Says how many elements there are of the only array of MaybeUninit of a record of Rust, where a
 * member is called `len`. */
static bool counted_rust(struct hs_ctypes *types, const struct ctypes_type *type,
                         struct ctypes_counted *ret)
{
    unsigned n_arrays = 0, n_lens = 0;

    for (uint32_t i = 0; i < type->n_members; i++) {
        const struct ctypes_member member = types->members[type->first_member + i];
        uint64_t n_bytes = hs_ctypes_size_(types, member.type), stride = 0;
        uint64_t n = member.n_whens != 0 ? 0 : counted_uninit(types, &member, &stride);
        if (n > 1 && n <= COUNTED_MOST && stride != 0) {
            n_arrays++;
            ret->array_at = member.offset;
            ret->when.high = stride;
        }
        if (strcmp(member.name, "len") == 0 && member.offset <= INT64_MAX &&
            (n_bytes == 1 || n_bytes == 2 || n_bytes == 4 || n_bytes == 8)) {
            n_lens++;
            ret->when.at = (int64_t)member.offset;
            ret->when.n_bytes = (uint8_t)n_bytes;
        }
    }
    ret->when.kind = WHEN_BELOW;
    return n_arrays == 1 && n_lens == 1;
}

bool hs_ctypes_counted_by_(struct hs_ctypes *types, const struct ctypes_type *type,
                           struct ctypes_counted *ret)
{
    struct counted_found found = {0};
    *ret = (struct ctypes_counted){0};
    if (type->kind != HS_CTYPE_RECORD || type->rule != 0)
        return false;
    if ((type->flags & TYPE_DANGLES) != 0)
        return counted_rust(types, type, ret);
    for (uint32_t i = 0; i < type->n_members; i++) {
        const struct ctypes_member member = types->members[type->first_member + i];
        counted_look(types, &member, &found);
    }
    unsigned n_counts = found.n_counts != 0 ? found.n_counts : found.n_sizes;
    if (found.n_arrays == 0)
        return counted_elsewhere(types, type, &found, ret);
    if (found.n_arrays != 1 || found.n_elements < COUNTED_LEAST ||
        found.n_elements > COUNTED_MOST || found.array.n_whens != 0)
        return false;
    ret->array_at = found.array.offset;
    if (n_counts == 1 && found.n_ring[0] + found.n_ring[1] == 0) {
        bool is_size = found.n_counts == 0;
        ret->when = (struct ctypes_when){
            (int64_t)(is_size ? found.size.offset : found.count.offset), 0, found.n_elements,
            is_size ? found.n_size_bytes : found.n_count_bytes, WHEN_COUNTED};
        return true;
    }
    ret->when = (struct ctypes_when){(int64_t)found.ring[0].offset,
                                     found.ring[1].offset - found.ring[0].offset, 0,
                                     found.n_ring_bytes[0], WHEN_DIFFER};
    return found.n_ring[0] == 1 && found.n_ring[1] == 1 && n_counts == 0 &&
           found.n_ring_bytes[0] == found.n_ring_bytes[1];
}
