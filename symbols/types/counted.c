/* Arrays in records of C of which another member tells how much is in use: { int n; T *a[8]; }, and
 * { unsigned head, tail; T *slot[16]; }. That is known by the names of members alone, so it is
 * asked of the value whether it can be so: of an array of which the first n are all there, no more
 * are said to be. What counts a table's items has holes among the first n, or more items.
 *
 * The same of an array that a pointer leads to, where a third member is how much room it has:
 * { int n, cap; T **at; }. */
#include <string.h>

#include "pool.h"

enum { COUNTED_LEAST = 2, COUNTED_MOST = 64 };

#define COUNTED_IN(names, name, n) counted_in((names), sizeof(names) / sizeof((names)[0]), name, n)

static bool counted_in(const char *const *names, size_t n_names, const char *name, size_t n)
{
    for (size_t i = 0; i < n_names; i++)
        if (strlen(names[i]) == n && strncmp(names[i], name, n) == 0)
            return true;
    return false;
}

/* "n", "count", "n_items", "num_slots", "slot_count", "used". */
static bool counted_is_count(const char *name)
{
    static const char *const whole[] = {"n",    "num",  "cnt",  "count", "len",
                                        "size", "used", "fill", "nr",    "length"};
    size_t n;
    const char *own = hs_ctypes_own_name_(name, &n);
    const char *last = own + n;
    while (last > own && last[-1] != '_')
        last--;
    size_t n_first = strcspn(own, "_");
    return COUNTED_IN(whole, last, (size_t)(own + n - last)) ||
           (n_first < n && n_first <= strlen("num") && COUNTED_IN(whole, own, n_first));
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

struct counted_found {
    struct ctypes_member array, count, ring[2];
    uint64_t n_elements;
    uint8_t n_count_bytes, n_ring_bytes[2];
    unsigned n_arrays, n_counts, n_ring[2];
};

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
    if (!is_number || member->offset > INT64_MAX)
        return;
    if (counted_is_count(member->name)) {
        found->n_counts++;
        found->count = *member;
        found->n_count_bytes = (uint8_t)n_bytes;
    }
    unsigned end = counted_ring_end(member->name);
    if (end != 0) {
        found->n_ring[end - 1]++;
        found->ring[end - 1] = *member;
        found->n_ring_bytes[end - 1] = (uint8_t)n_bytes;
    }
}

/* "cap", "capacity", "alloc", "n_alloc", "max_items". */
static bool counted_is_room(const char *name)
{
    static const char *const whole[] = {
        "cap",      "capacity", "alloc", "allocated", "alloced",   "nalloc",  "room",  "max",
        "reserved", "limit",    "space", "avail",     "allocsize", "maxsize", "asize", "total"};
    size_t n;
    const char *own = hs_ctypes_own_name_(name, &n);
    const char *last = own + n;
    while (last > own && last[-1] != '_')
        last--;
    return COUNTED_IN(whole, last, (size_t)(own + n - last)) ||
           COUNTED_IN(whole, own, strcspn(own, "_"));
}

/* Where what is in use begins, or a table of which items are spread over all. */
static bool counted_is_other(const char *name)
{
    static const char *const whole[] = {"start", "first", "begin",   "base",  "offset",
                                        "off",   "mask",  "buckets", "table", "hash",
                                        "bins",  "heads", "index"};
    size_t n;
    const char *own = hs_ctypes_own_name_(name, &n);
    return COUNTED_IN(whole, own, n) || counted_ring_end(name) != 0;
}

struct counted_room {
    struct ctypes_member pointer, count, room, size;
    unsigned n_pointers, n_counts, n_rooms, n_sizes, n_others;
};

static void counted_look_for_room(struct hs_ctypes *types, const struct ctypes_member *member,
                                  struct counted_room *found)
{
    const struct ctypes_type part = *hs_ctypes_get_(types, member->type);
    uint64_t n_bytes = part.kind == HS_CTYPE_SCALAR ? hs_ctypes_size_(types, member->type) : 0;
    bool is_number = (n_bytes == 4 || n_bytes == 8) && member->offset <= INT64_MAX;
    size_t n;
    const char *own = hs_ctypes_own_name_(member->name, &n);

    if (part.kind == HS_CTYPE_POINTER && hs_ctypes_get_(types, part.of)->kind == HS_CTYPE_POINTER) {
        found->n_pointers++;
        found->n_others += counted_is_other(member->name);
        found->pointer = *member;
    } else if (is_number && counted_is_other(member->name)) {
        found->n_others++;
    } else if (is_number && counted_is_room(member->name)) {
        found->n_rooms++;
        found->room = *member;
    } else if (is_number && n == strlen("size") && strncmp(own, "size", n) == 0) {
        found->n_sizes++;
        found->size = *member;
    } else if (is_number && counted_is_count(member->name)) {
        found->n_counts++;
        found->count = *member;
    }
}

/* A size is how much is in use beside a capacity, and the room beside a count. */
static bool counted_settle_size(struct counted_room *found)
{
    if (found->n_sizes == 1 && found->n_counts == 0) {
        found->count = found->size;
        found->n_counts = 1;
    } else if (found->n_sizes == 1 && found->n_rooms == 0) {
        found->room = found->size;
        found->n_rooms = 1;
    } else if (found->n_sizes != 0) {
        return false;
    }
    return found->n_counts == 1 && found->n_rooms == 1;
}

/* Is it { n, cap, T ** }? */
static bool counted_has_room(struct hs_ctypes *types, const struct ctypes_type *type,
                             struct ctypes_counted *ret)
{
    struct counted_room found = {0};
    for (uint32_t i = 0; i < type->n_members; i++) {
        const struct ctypes_member member = types->members[type->first_member + i];
        counted_look_for_room(types, &member, &found);
    }
    if (found.n_pointers != 1 || found.n_others != 0 || found.pointer.n_whens != 0 ||
        !counted_settle_size(&found))
        return false;
    ret->array_at = found.pointer.offset;
    ret->n_whens = 2;
    ret->whens[0] =
        (struct ctypes_when){(int64_t)found.count.offset, 0, UINT64_MAX,
                             (uint8_t)hs_ctypes_size_(types, found.count.type), WHEN_USED_FULL};
    ret->whens[1] =
        (struct ctypes_when){(int64_t)found.room.offset, 0, UINT64_MAX,
                             (uint8_t)hs_ctypes_size_(types, found.room.type), WHEN_USED_ROOM};
    return true;
}

bool hs_ctypes_counted_by_(struct hs_ctypes *types, const struct ctypes_type *type,
                           struct ctypes_counted *ret)
{
    struct counted_found found = {0};
    if (type->kind != HS_CTYPE_RECORD || type->rule != 0 || (type->flags & TYPE_DANGLES) != 0)
        return false;
    if (counted_has_room(types, type, ret))
        return true;
    for (uint32_t i = 0; i < type->n_members; i++) {
        const struct ctypes_member member = types->members[type->first_member + i];
        counted_look(types, &member, &found);
    }
    if (found.n_arrays != 1 || found.n_elements < COUNTED_LEAST ||
        found.n_elements > COUNTED_MOST || found.array.n_whens != 0)
        return false;
    ret->array_at = found.array.offset;
    ret->n_whens = 1;
    if (found.n_counts == 1 && found.n_ring[0] + found.n_ring[1] == 0) {
        ret->whens[0] = (struct ctypes_when){(int64_t)found.count.offset, 0, found.n_elements,
                                             found.n_count_bytes, WHEN_COUNTED};
        return true;
    }
    ret->whens[0] = (struct ctypes_when){(int64_t)found.ring[0].offset,
                                         found.ring[1].offset - found.ring[0].offset, 0,
                                         found.n_ring_bytes[0], WHEN_DIFFER};
    return found.n_ring[0] == 1 && found.n_ring[1] == 1 && found.n_counts == 0 &&
           found.n_ring_bytes[0] == found.n_ring_bytes[1];
}
