/* The records that have another in their middle (container_of): C's lists and trees are linked by a
 * member of what they hold (Linux's list_head, BSD's queues, uthash), and such a pointer tells the
 * type of that member alone. And which record begins as another does, member by member: what
 * interpreters and libraries of objects make of a macro for the header of all. Of C++ which class
 * has another as a base or as a member: there are many more of them, so that only those of a size
 * that is asked for are looked into. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "pool.h"

enum {
    ENCLOSING_MAX = 1 << 20,  /* members kept of one file */
    ENCLOSING_OF_ONE = 256,   /* of one record */
    ENCLOSING_MAX_DEPTH = 16, /* records in records that wait to be looked into */
    ENCLOSING_HEADER = 32,    /* members that two records may begin with alike */
    ENCLOSING_LOOK = 256,     /* records, after each of which all lists are summed */
    ENCLOSING_GRANULE = 8,    /* sizes that are listed together */
    ENCLOSING_GRANULES = 6,   /* that one question may be about */
};
#define ENCLOSING_HEIR                                                        \
    UINT64_C(0x9e3779b97f4a7c15) /* tells keys of bases from those of members \
                                  */

static uint64_t enclosing_key(uint64_t name, uint64_t offset)
{
    return hs_hash(name ^ hs_hash(offset));
}

/* Hashes a name, of "struct list" as of "list": as hs_ctypes_find has it. 0 for what has no name.
 */
static uint64_t name_hash(struct hs_ctypes *types, hs_ctype type)
{
    static const char keyword[] = "struct ";
    const char *name = hs_ctypes_type_name_(types, type);
    if (name == NULL || name[0] == '\0' || strchr(name, '{') != NULL)
        return 0;
    if (strncmp(name, keyword, sizeof keyword - 1) == 0)
        name += sizeof keyword - 1;
    return hs_ctypes_wanted_(name, strlen(name)).whole;
}

static bool is_of(struct hs_ctypes *types, hs_ctype type, bool (*is_language)(uint16_t))
{
    struct debug_entry entry;
    const struct ctypes_type *t = hs_ctypes_get_(types, type);
    struct debug_info *info = t->die == 0 ? NULL : hs_ctypes_info_(types, t->file);
    return info != NULL && hs_entry_read_(info, t->die, &entry) &&
           is_language(entry.unit->language);
}

static bool is_of_c(struct hs_ctypes *types, hs_ctype type)
{
    return is_of(types, type, hs_language_is_c_);
}

bool hs_ctypes_is_c_or_cpp(struct hs_ctypes *types, hs_ctype type)
{
    return is_of_c(types, type) || is_of(types, type, hs_language_is_cpp_);
}

static bool enclosing_add(struct hs_ctypes *types, struct ctypes_file *file, hs_ctype record,
                          uint64_t key)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t n_bytes = hs_ctypes_get_(types, record)->n_bytes;
    if (file->n_enclosing == ENCLOSING_MAX)
        return false;
    if (n_bytes > UINT32_MAX)
        return true;
    if (HS_GROW(&file->enclosing, &file->enclosing_capacity, file->n_enclosing + 1, &err) !=
        HS_OK) {
        hs_ctypes_out_(types);
        return false;
    }
    file->enclosing[file->n_enclosing++] =
        (struct ctypes_enclosing){.key = key, .record = record, .n_bytes = (uint32_t)n_bytes};
    return true;
}

/* Goes on from the hash of the members before; where they are, what they are called and of which
 * type. */
static uint64_t header_hash(struct hs_ctypes *types, uint64_t hash,
                            const struct ctypes_member *member)
{
    const char *type = hs_ctypes_type_name_(types, member->type);
    hash = hs_ctypes_hash_(hash, member->name, strlen(member->name));
    hash = type == NULL ? hash : hs_ctypes_hash_(hash, type, strlen(type));
    return hs_hash_pair(hash, member->offset);
}

/* Lists a record under what it begins with: two members and more. */
static bool list_headers(struct hs_ctypes *types, struct ctypes_file *file, hs_ctype record)
{
    const struct ctypes_type t = *hs_ctypes_get_(types, record);
    uint64_t hash = CTYPES_HASH_SEED;
    for (uint32_t i = 0; i < t.n_members && i < ENCLOSING_HEADER; i++) {
        const struct ctypes_member member = types->members[t.first_member + i];
        hash = header_hash(types, hash, &member);
        if (i > 0 && !enclosing_add(types, file, record, hash))
            return false;
    }
    return true;
}

/* Tells whether a member is a base class, which has no name. */
static bool is_base(const struct ctypes_member *member)
{
    return member->name[0] == '\0';
}

/* The parts of a record that are listed: of C++ the bases under keys of their own. */
enum { LIST_MEMBERS = 1, LIST_BASES = 2 };

/* Lists all members of a record that are records, and theirs; or all bases, and theirs. */
static bool list_record(struct hs_ctypes *types, struct ctypes_file *file, hs_ctype record,
                        unsigned what)
{
    struct {
        hs_ctype type;
        uint64_t offset;
    } waiting[ENCLOSING_MAX_DEPTH] = {{record, 0}};
    uint64_t salt = what == LIST_BASES ? ENCLOSING_HEIR : 0;
    size_t n_waiting = 1, n_listed = 0;
    while (n_waiting > 0) {
        hs_ctype type = waiting[--n_waiting].type;
        uint64_t at = waiting[n_waiting].offset;
        const struct ctypes_type holder = *hs_ctypes_get_(types, type);
        for (uint32_t i = 0; i < holder.n_members && n_listed < ENCLOSING_OF_ONE; i++) {
            const struct ctypes_member member = types->members[holder.first_member + i];
            if ((what == LIST_BASES && !is_base(&member)) ||
                hs_ctypes_get_(types, member.type)->kind != HS_CTYPE_RECORD)
                continue;
            uint64_t name = name_hash(types, member.type);
            n_listed++;
            if (name != 0 &&
                !enclosing_add(types, file, record, enclosing_key(name ^ salt, at + member.offset)))
                return false;
            if (n_waiting < ENCLOSING_MAX_DEPTH) {
                waiting[n_waiting].type = member.type;
                waiting[n_waiting++].offset = at + member.offset;
            }
        }
    }
    return true;
}

static int compare_enclosing(const void *a, const void *b)
{
    const struct ctypes_enclosing *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->n_bytes != y->n_bytes)
        return x->n_bytes < y->n_bytes ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

/* A record is listed once for each of its typedefs. */
static size_t keep_each_once(struct ctypes_enclosing *list, size_t n)
{
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++)
        if (n_kept == 0 || compare_enclosing(&list[n_kept - 1], &list[i]) != 0)
            list[n_kept++] = list[i];
    return n_kept;
}

static void sort_enclosing(struct ctypes_file *file)
{
    if (file->n_enclosing != 0)
        qsort(file->enclosing, file->n_enclosing, sizeof *file->enclosing, compare_enclosing);
    file->n_enclosing = keep_each_once(file->enclosing, file->n_enclosing);
}

static void list_file(struct hs_ctypes *types, hs_type_file number)
{
    hs_ctypes_index_(types, number);
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    file->has_enclosing = true;
    for (size_t i = 0; i < file->names.n; i++) {
        if (i % ENCLOSING_LOOK == 0 && hs_ctypes_is_full_(types))
            break;
        hs_ctypes_trim_(types);
        hs_ctype record = hs_ctypes_resolve_(types, number, file->names.entries[i].value >> 1);
        const struct ctypes_type *t = hs_ctypes_get_(types, record);
        if (t->kind == HS_CTYPE_RECORD && t->n_bytes != 0 && t->definition == 0 &&
            is_of_c(types, record) &&
            !(list_record(types, file, record, LIST_MEMBERS) && list_headers(types, file, record)))
            break;
    }
    sort_enclosing(file);
}

/* Looks into those whose size is in this granule, once; whether there are any. */
static bool list_granule(struct hs_ctypes *types, hs_type_file number, uint64_t granule,
                         unsigned what)
{
    struct hs_error err = HS_ERROR_INIT;
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    size_t first = HS_FIRST_NOT(at, 0, file->n_sized,
                                file->sized[at].n_bytes / ENCLOSING_GRANULE < granule),
           i = first;
    uint64_t listed = hs_dict_get(&file->sizes, granule, 0);
    if ((listed & what) != 0)
        return false;
    if (hs_dict_put(&file->sizes, granule, listed | what, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return false;
    }
    for (; i < file->n_sized && file->sized[i].n_bytes / ENCLOSING_GRANULE == granule; i++) {
        if ((i - first) % ENCLOSING_LOOK == 0 && hs_ctypes_is_full_(types))
            break;
        hs_ctypes_trim_(types);
        if (!file->sized[i].is_cpp)
            continue;
        hs_ctype record = hs_ctypes_resolve_(types, number, file->sized[i].die);
        const struct ctypes_type *t = hs_ctypes_get_(types, record);
        if (t->kind == HS_CTYPE_RECORD && t->definition == 0 &&
            !list_record(types, file, record, what))
            break;
    }
    return i != first;
}

/* The file of `part`, a record of C++, all of those sizes listed; NULL when there are none to ask
 * for. */
static struct ctypes_file *sized_file(struct hs_ctypes *types, hs_ctype part, uint64_t least_bytes,
                                      uint64_t most_bytes, unsigned what)
{
    hs_type_file number = hs_ctypes_get_(types, part)->file;
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    uint64_t granule = least_bytes / ENCLOSING_GRANULE, last = most_bytes / ENCLOSING_GRANULE;
    bool is_new = false;
    if (file == NULL || hs_ctypes_get_(types, part)->kind != HS_CTYPE_RECORD ||
        last - granule >= ENCLOSING_GRANULES || !is_of(types, part, hs_language_is_cpp_))
        return NULL;
    hs_ctypes_list_sizes_(types, number);
    for (; granule <= last; granule++)
        is_new |= list_granule(types, number, granule, what);
    if (is_new)
        sort_enclosing(file);
    return file;
}

/* The keys under which records are that have `part` at `offset`; how many. */
static size_t keys_of(struct hs_ctypes *types, hs_ctype part, uint64_t offset, uint64_t ret[2])
{
    size_t n = 0;
    uint64_t name = name_hash(types, part), hash = CTYPES_HASH_SEED;
    const struct ctypes_type t = *hs_ctypes_get_(types, part);
    if (name != 0)
        ret[n++] = enclosing_key(name, offset);
    if (offset != 0 || t.n_members < 2 || t.n_members > ENCLOSING_HEADER)
        return n;
    for (uint32_t i = 0; i < t.n_members; i++) {
        const struct ctypes_member member = types->members[t.first_member + i];
        hash = header_hash(types, hash, &member);
    }
    ret[n++] = hash;
    return n;
}

/* The file of `part`, all its records listed; NULL when there are none to ask for. */
static struct ctypes_file *listed_file(struct hs_ctypes *types, hs_ctype part)
{
    const struct ctypes_type *t = hs_ctypes_get_(types, part);
    hs_type_file number = t->file;
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    if (t->kind != HS_CTYPE_RECORD || file == NULL || !is_of_c(types, part))
        return NULL;
    hs_ctypes_trim_(types);
    if (!file->has_enclosing)
        list_file(types, number);
    return file;
}

/* The first of a key that has a size of at least `least_bytes`. */
static size_t first_of(const struct ctypes_file *file, uint64_t key, uint64_t least_bytes)
{
    const struct ctypes_enclosing *list = file->enclosing;
    return HS_FIRST_NOT(at, 0, file->n_enclosing,
                        list[at].key < key ||
                            (list[at].key == key && list[at].n_bytes < least_bytes));
}

struct ctypes_taken {
    hs_ctype *records;
    size_t n;
};

static bool is_listed(struct hs_ctypes *types, const hs_ctype *records, size_t n, hs_ctype record)
{
    for (size_t i = 0; i < n; i++)
        if (hs_ctypes_same(types, records[i], record))
            return true;
    return false;
}

static int compare_types(const void *a, const void *b)
{
    hs_ctype x = *(const hs_ctype *)a, y = *(const hs_ctype *)b;
    return (x > y) - (x < y);
}

/* Adds those of a key and these sizes to `ret`; false when there are too many. */
static bool take_key(struct hs_ctypes *types, const struct ctypes_file *file, uint64_t key,
                     hs_ctype part, uint64_t least_bytes, uint64_t most_bytes,
                     struct ctypes_taken *ret)
{
    for (size_t i = first_of(file, key, least_bytes);
         i < file->n_enclosing && file->enclosing[i].key == key &&
         file->enclosing[i].n_bytes <= most_bytes;
         i++) {
        hs_ctype record = file->enclosing[i].record;
        if (hs_ctypes_same(types, record, part) || is_listed(types, ret->records, ret->n, record))
            continue;
        if (ret->n == HS_CTYPE_MAX_ENCLOSING)
            return false;
        ret->records[ret->n++] = record;
    }
    return true;
}

/* Does it lead to others like it? Of C++ nothing else is looked for in the middle of records. */
static bool is_hook(struct hs_ctypes *types, hs_ctype part)
{
    size_t n;
    bool is_cut;
    const struct hs_cslot *slots = hs_ctypes_slots(types, part, &n, &is_cut);
    for (size_t i = 0; i < n; i++)
        if (hs_ctypes_same(types, slots[i].pointee, part))
            return true;
    return false;
}

size_t hs_ctypes_enclosing(struct hs_ctypes *types, hs_ctype part, uint64_t offset_bytes,
                           uint64_t least_bytes, uint64_t most_bytes,
                           hs_ctype ret[HS_CTYPE_MAX_ENCLOSING])
{
    const struct ctypes_file *file = listed_file(types, part);
    if (file == NULL && is_hook(types, part))
        file = sized_file(types, part, least_bytes, most_bytes, LIST_MEMBERS);
    struct ctypes_taken taken = {.records = ret};
    uint64_t keys[2];
    size_t n_keys = file == NULL ? 0 : keys_of(types, part, offset_bytes, keys);
    for (size_t k = 0; k < n_keys; k++)
        if (!take_key(types, file, keys[k], part, least_bytes, most_bytes, &taken))
            return 0;
    if (taken.n > 1)
        qsort(ret, taken.n, sizeof *ret, compare_types);
    return taken.n;
}

size_t hs_ctypes_heirs(struct hs_ctypes *types, hs_ctype part, uint64_t offset_bytes,
                       uint64_t least_bytes, uint64_t most_bytes,
                       hs_ctype ret[HS_CTYPE_MAX_ENCLOSING])
{
    const struct ctypes_file *file = sized_file(types, part, least_bytes, most_bytes, LIST_BASES);
    struct ctypes_taken taken = {.records = ret};
    uint64_t name = file == NULL ? 0 : name_hash(types, part);
    if (name == 0 || !take_key(types, file, enclosing_key(name ^ ENCLOSING_HEIR, offset_bytes),
                               part, least_bytes, most_bytes, &taken))
        return 0;
    if (taken.n > 1)
        qsort(ret, taken.n, sizeof *ret, compare_types);
    return taken.n;
}

bool hs_ctypes_has_heir(struct hs_ctypes *types, hs_ctype part, uint64_t least_bytes,
                        uint64_t most_bytes)
{
    const struct ctypes_file *file = sized_file(types, part, least_bytes, most_bytes, LIST_BASES);
    uint64_t name = file == NULL ? 0 : name_hash(types, part);
    uint64_t key = enclosing_key(name ^ ENCLOSING_HEIR, 0);
    size_t at = name == 0 ? 0 : first_of(file, key, least_bytes);
    return name != 0 && at < file->n_enclosing && file->enclosing[at].key == key &&
           file->enclosing[at].n_bytes <= most_bytes;
}

uint64_t hs_ctypes_largest_heir(struct hs_ctypes *types, hs_ctype part)
{
    const struct ctypes_file *file = listed_file(types, part);
    uint64_t keys[2], most = 0, own = hs_ctypes_get_(types, part)->n_bytes;
    size_t n_keys = file == NULL ? 0 : keys_of(types, part, 0, keys);
    for (size_t k = 0; k < n_keys; k++) {
        size_t end = HS_FIRST_ABOVE(file->enclosing, file->n_enclosing, key, keys[k]);
        const struct ctypes_enclosing *last = end == 0 ? NULL : &file->enclosing[end - 1];
        if (last != NULL && last->key == keys[k] && last->n_bytes > own && last->n_bytes > most)
            most = last->n_bytes;
    }
    return most;
}

size_t hs_ctypes_open_heirs(struct hs_ctypes *types, hs_ctype part, uint64_t most_bytes,
                            hs_ctype ret[HS_CTYPE_MAX_ENCLOSING])
{
    const struct ctypes_file *file = listed_file(types, part);
    struct ctypes_taken taken = {.records = ret};
    uint64_t keys[2];
    size_t n_keys = file == NULL ? 0 : keys_of(types, part, 0, keys);
    for (size_t k = 0; k < n_keys; k++)
        for (size_t i = first_of(file, keys[k], 0);
             i < file->n_enclosing && file->enclosing[i].key == keys[k] &&
             file->enclosing[i].n_bytes <= most_bytes && taken.n < HS_CTYPE_MAX_ENCLOSING;
             i++) {
            hs_ctype record = file->enclosing[i].record;
            struct hs_ctail tail;
            if (hs_ctypes_tail(types, record, &tail) && !hs_ctypes_same(types, record, part) &&
                !is_listed(types, ret, taken.n, record))
                ret[taken.n++] = record;
        }
    return taken.n;
}

bool hs_ctypes_is_header(struct hs_ctypes *types, hs_ctype part)
{
    hs_ctype found[HS_CTYPE_MAX_ENCLOSING];
    return is_of_c(types, part) && is_hook(types, part) &&
           hs_ctypes_open_heirs(types, part, UINT64_MAX, found) != 0;
}

/* Tells whether a type begins, member by member, with all of `part`. */
static bool has_header(struct hs_ctypes *types, hs_ctype type, hs_ctype part)
{
    const struct ctypes_type t = *hs_ctypes_get_(types, type), p = *hs_ctypes_get_(types, part);
    if (p.n_members < 2 || p.n_members > ENCLOSING_HEADER || t.n_members <= p.n_members)
        return false;
    for (uint32_t i = 0; i < p.n_members; i++) {
        const struct ctypes_member a = types->members[t.first_member + i],
                                   b = types->members[p.first_member + i];
        if (a.offset != b.offset || strcmp(a.name, b.name) != 0 ||
            strcmp(hs_ctypes_type_name_(types, a.type), hs_ctypes_type_name_(types, b.type)) != 0)
            return false;
    }
    return true;
}

hs_type_file hs_ctypes_file_of(struct hs_ctypes *types, hs_ctype type)
{
    return hs_ctypes_get_(types, type)->file;
}

/* The member that a record begins with; false where that may be a virtual table's pointer, or there
 * are several: bases without members have no room. */
static bool first_member(struct hs_ctypes *types, hs_ctype record, struct ctypes_member *ret)
{
    const struct ctypes_type t = *hs_ctypes_get_(types, record);
    unsigned n = 0;
    for (uint32_t i = 0; i < t.n_members; i++) {
        const struct ctypes_member member = types->members[t.first_member + i];
        const struct ctypes_type part = *hs_ctypes_get_(types, member.type);
        bool is_described = (part.flags & TYPE_DECLARED) == 0;
        if (member.offset != 0 ||
            (part.kind == HS_CTYPE_RECORD && is_described && part.n_members == 0))
            continue;
        if (n++ > 0 || strncmp(member.name, "_vptr", strlen("_vptr")) == 0)
            return false;
        *ret = member;
    }
    return n == 1;
}

enum hs_cfirst hs_ctypes_first(struct hs_ctypes *types, hs_ctype type)
{
    for (int hop = 0; hop < CTYPES_MAX_HOPS; hop++) {
        const struct ctypes_type t = *hs_ctypes_get_(types, type);
        struct ctypes_member first;
        if (t.kind == HS_CTYPE_POINTER)
            return HS_CFIRST_POINTER;
        if (t.kind == HS_CTYPE_SCALAR)
            return (t.flags & (TYPE_CODE | TYPE_HIDES)) == 0 && hs_ctypes_size_(types, type) > 1
                       ? HS_CFIRST_NUMBER
                       : HS_CFIRST_UNKNOWN;
        if (t.kind != HS_CTYPE_RECORD || !first_member(types, type, &first))
            return HS_CFIRST_UNKNOWN;
        type = first.type;
    }
    return HS_CFIRST_UNKNOWN;
}

unsigned hs_ctypes_depth(struct hs_ctypes *types, hs_ctype type)
{
    for (unsigned depth = 0; depth < CTYPES_MAX_HOPS; depth++) {
        const struct ctypes_type t = *hs_ctypes_get_(types, type);
        if (t.n_members == 0 || types->members[t.first_member].offset != 0)
            return depth;
        type = types->members[t.first_member].type;
    }
    return CTYPES_MAX_HOPS;
}

bool hs_ctypes_begins_with(struct hs_ctypes *types, hs_ctype type, hs_ctype part)
{
    for (int hop = 0; hop < CTYPES_MAX_HOPS; hop++) {
        if (has_header(types, type, part))
            return true;
        const struct ctypes_type t = *hs_ctypes_get_(types, type);
        if (t.n_members == 0 || types->members[t.first_member].offset != 0)
            return false;
        type = types->members[t.first_member].type;
        if (hs_ctypes_same(types, type, part))
            return true;
    }
    return false;
}

bool hs_ctypes_has_code_at(struct hs_ctypes *types, hs_ctype type, uint64_t offset)
{
    for (int hop = 0; hop < CTYPES_MAX_HOPS; hop++) {
        const struct ctypes_type t = *hs_ctypes_get_(types, type);
        if (t.kind == HS_CTYPE_UNION)
            return true;
        if (t.kind == HS_CTYPE_SCALAR)
            return offset == 0 && (t.flags & TYPE_CODE) != 0;
        if (t.kind == HS_CTYPE_ARRAY) {
            uint64_t n_bytes = hs_ctypes_size_(types, t.of);
            type = t.of;
            offset = n_bytes == 0 ? offset : offset % n_bytes;
            continue;
        }
        uint32_t i = 0;
        for (; i < t.n_members; i++) {
            const struct ctypes_member *member = &types->members[t.first_member + i];
            if (offset >= member->offset &&
                offset - member->offset < hs_ctypes_size_(types, member->type))
                break;
        }
        if (t.kind != HS_CTYPE_RECORD || i == t.n_members)
            return false;
        offset -= types->members[t.first_member + i].offset;
        type = types->members[t.first_member + i].type;
    }
    return false;
}
