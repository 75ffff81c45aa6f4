/* Records by their sizes: which of them a block may be of which nothing but its size is known. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "pool.h"

enum {
    SIZED_LOOK = 256,           /* records, after each of which all lists are summed */
    SIZED_MOST_LOOKED = 1 << 12 /* of one size */
};

static int compare_sized(const void *a, const void *b)
{
    const struct ctypes_sized *x = a, *y = b;
    if (x->n_bytes != y->n_bytes)
        return x->n_bytes < y->n_bytes ? -1 : 1;
    return (x->die > y->die) - (x->die < y->die);
}

/* The record that a typedef gives a record without a name; that itself where it has one. */
static bool read_record(struct debug_info *info, hs_die die, bool is_typedef,
                        struct debug_entry *ret)
{
    if (!hs_entry_read_(info, die, ret))
        return false;
    if (!is_typedef)
        return true;
    hs_die of = hs_entry_reference_(info, ret, DW_AT_type);
    return of != 0 && hs_entry_read_(info, of, ret) && !hs_entry_has_(info, ret, DW_AT_name);
}

/* The size of a record that is described; 0: it is none, or declared only. */
static struct ctypes_sized size_of(struct debug_info *info, hs_die die, bool is_typedef)
{
    struct debug_entry entry;
    uint64_t n_bytes;
    if (!read_record(info, die, is_typedef, &entry) ||
        (entry.tag != DW_TAG_structure_type && entry.tag != DW_TAG_class_type) ||
        hs_entry_flag_(info, &entry, DW_AT_declaration) ||
        !hs_entry_number_(info, &entry, DW_AT_byte_size, &n_bytes) || n_bytes > UINT32_MAX)
        return (struct ctypes_sized){0};
    return (struct ctypes_sized){die, (uint32_t)n_bytes, hs_language_is_cpp_(entry.unit->language)};
}

void hs_ctypes_list_sizes_(struct hs_ctypes *types, hs_type_file number)
{
    struct hs_error err = HS_ERROR_INIT;
    size_t n = 0;
    if (hs_ctypes_file_(types, number)->has_sized)
        return;
    hs_ctypes_index_(types, number);
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    file->has_sized = true;
    for (size_t i = 0; i < file->names.n; i++) {
        uint64_t value = file->names.entries[i].value;
        if (i % SIZED_LOOK == 0 && hs_ctypes_is_full_(types))
            break;
        hs_ctypes_trim_(types);
        struct ctypes_sized sized = size_of(&file->info, value >> 1, (value & 1) != 0);
        if (sized.n_bytes == 0)
            continue;
        if (HS_GROW(&file->sized, &file->sized_capacity, n + 1, &err) != HS_OK) {
            hs_ctypes_out_(types);
            break;
        }
        file->sized[n++] = sized;
    }
    if (n != 0)
        qsort(file->sized, n, sizeof *file->sized, compare_sized);
    for (size_t i = 0; i < n; i++)
        if (file->n_sized == 0 || file->sized[file->n_sized - 1].die != file->sized[i].die)
            file->sized[file->n_sized++] = file->sized[i];
}

static bool is_listed(struct hs_ctypes *types, const hs_ctype *records, size_t n, hs_ctype record)
{
    for (size_t i = 0; i < n; i++)
        if (hs_ctypes_same(types, records[i], record))
            return true;
    return false;
}

/* Tells whether a name is of a standard library, of which there are hundreds of a common size, in
 * every program the same; the object in a block of counts is what is asked. */
static bool is_of_standard_library(const char *name)
{
    static const char *const counted[] = {"alloc::rc::RcInner<", "alloc::rc::RcBox<",
                                          "alloc::sync::ArcInner<"};
    static const char *const libraries[] = {
        "std::",   "core::",      "alloc::",      "hashbrown::", "__gnu_cxx::",
        "gimli::", "addr2line::", "std_detect::", "(",           "["};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (strncmp(name, counted[i], strlen(counted[i])) == 0)
            name += strlen(counted[i]);
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return true;
    return false;
}

/* Lists the records in a range of sizes, all or the program's own; 0 when there are more. */
static size_t list_of_size(struct hs_ctypes *types, hs_type_file number, size_t first,
                           uint64_t most_bytes, bool is_own, hs_ctype ret[HS_CTYPE_MAX_OF_SIZE])
{
    const struct ctypes_file *file = hs_ctypes_file_(types, number);
    size_t n = 0;
    for (size_t i = first; i < file->n_sized && file->sized[i].n_bytes <= most_bytes; i++) {
        hs_ctypes_trim_(types);
        hs_ctype record = hs_ctypes_resolve_(types, number, file->sized[i].die);
        struct hs_ctype_facts facts;
        hs_ctype_facts(types, record, &facts);
        if (facts.kind != HS_CTYPE_RECORD || (is_own && is_of_standard_library(facts.name)) ||
            is_listed(types, ret, n, record))
            continue;
        if (n == HS_CTYPE_MAX_OF_SIZE || i - first == SIZED_MOST_LOOKED)
            return 0;
        ret[n++] = record;
    }
    return n;
}

size_t hs_ctypes_of_size(struct hs_ctypes *types, hs_type_file number, uint64_t least_bytes,
                         uint64_t most_bytes, hs_ctype ret[HS_CTYPE_MAX_OF_SIZE])
{
    if (hs_ctypes_file_(types, number) == NULL)
        return 0;
    hs_ctypes_list_sizes_(types, number);
    const struct ctypes_file *file = hs_ctypes_file_(types, number);
    size_t first = HS_FIRST_NOT(at, 0, file->n_sized, file->sized[at].n_bytes < least_bytes);
    size_t n = list_of_size(types, number, first, most_bytes, false, ret);
    return n != 0 ? n : list_of_size(types, number, first, most_bytes, true, ret);
}
