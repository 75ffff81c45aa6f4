#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/checked.h"
#include "base/load.h"
#include "flow.h"
#include "process/constants.h"
#include "qt.h"
#include "rules/rules.h"
#include "symbols/demangle.h"
#include "symbols/elf.h"

enum { MAX_TABLES = 1 << 20, MAX_BASES = 16, NAME_BYTES = 1024, WORD = 8 };
enum { MAX_SIZED = 1 << 14 };                        /* tables whose code is read */
enum { BASE_OFFSET_SHIFT = 8, BASE_IS_VIRTUAL = 1 }; /* of __base_class_type_info */

/* Finds a segment where the object file says, unless that lies outside of what is mapped. */
static bool rtti_segment(const struct hs_object *object, const struct hs_elf_segment *segment,
                         struct hs_rtti_segment *ret)
{
    uint64_t end;

    ret->begin = segment->vaddr + object->bias;
    if (!hs_add_fits(ret->begin, segment->n_memory_bytes, &end) || end > object->end ||
        ret->begin < object->begin)
        return false;
    ret->end = end;
    return true;
}

static int rtti_compare(const void *a, const void *b)
{
    const struct hs_rtti_segment *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

/* Lists the segments where tables can be: data that the loader relocates, or read-only data of a
 * program at a fixed address. */
static hs_status rtti_list_segments(struct hs_rtti *rtti, struct hs_error *err)
{
    size_t capacity = 0;

    for (size_t i = 0; i < rtti->native->dump->objects.n; i++) {
        const struct hs_object *object = &rtti->native->dump->objects.objects[i];
        size_t n;
        const struct hs_elf_segment *segments = hs_elf_segments(object->elf, &n);
        for (size_t j = 0; j < n; j++) {
            struct hs_rtti_segment segment = {.object = i};
            if ((!segments[j].writable && hs_elf_is_dyn(object->elf)) || segments[j].executable ||
                !rtti_segment(object, &segments[j], &segment))
                continue;
            HS_TRY(HS_GROW(&rtti->segments, &capacity, rtti->n_segments + 1, err));
            rtti->segments[rtti->n_segments++] = segment;
        }
    }
    if (rtti->n_segments > 1)
        qsort(rtti->segments, rtti->n_segments, sizeof *rtti->segments, rtti_compare);
    return HS_OK;
}

/* Every program with exceptions or run-time types has one of these; of a stripped static program
 * nothing tells. */
bool hs_rtti_is_possible(const struct hs_objects *objects)
{
    static const char *const names[] = {"__gxx_personality_v0",
                                        "_ZTVN10__cxxabiv117__class_type_infoE",
                                        "_ZTVN10__cxxabiv120__si_class_type_infoE"};
    struct hs_live_symbol symbol;

    if (objects->n == 0)
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (hs_objects_find(objects, names[i], &symbol))
            return true;
    for (size_t i = 0; i < objects->n; i++)
        if (strncmp(objects->objects[i].name, "libstdc++", 9) == 0 ||
            strncmp(objects->objects[i].name, "libc++", 6) == 0)
            return true;
    const struct hs_elf *program = objects->objects[0].elf;
    return !hs_elf_has_interpreter(program) && !hs_elf_has_symtab(program);
}

/* Tells whether a rule describes a class of any library that the process has. */
static bool rtti_has_class_rules(const struct hs_dump *dump)
{
    for (size_t i = 0; i < dump->objects.n; i++)
        if (hs_rules_class(dump->options->rules, NULL, dump->objects.objects[i].name) != NULL)
            return true;
    return false;
}

hs_status hs_rtti_open(struct hs_rtti *rtti, struct hs_native *native, struct hs_error *err)
{
    *rtti = (struct hs_rtti){.native = native,
                             .is_possible = hs_rtti_is_possible(&native->dump->objects)};
    if (!rtti->is_possible)
        return HS_OK;
    rtti->has_class_rules = rtti_has_class_rules(native->dump);
    return rtti_list_segments(rtti, err);
}

void hs_rtti_close(struct hs_rtti *rtti)
{
    hs_free(rtti->segments);
    hs_dict_fini(&rtti->tables);
    *rtti = (struct hs_rtti){0};
}

static const struct hs_rtti_segment *rtti_segment_at(const struct hs_rtti *rtti, hs_addr address)
{
    size_t low = HS_FIRST_ABOVE(rtti->segments, rtti->n_segments, end, address);

    if (low == rtti->n_segments || address < rtti->segments[low].begin)
        return NULL;
    return &rtti->segments[low];
}

static bool rtti_word(const struct hs_rtti *rtti, hs_addr address, uint64_t *ret)
{
    const struct hs_dump *dump = rtti->native->dump;
    return hs_constant_u64(&dump->image, &dump->objects, address, ret);
}

/* Tells whether a text may be a type's name: "3Foo", "N2ns3FooE", "St9exception"; with '*' in
 * front: local to its file. */
static bool rtti_is_name(const char *text)
{
    char first = text[0] == '*' ? text[1] : text[0];
    return (first >= '0' && first <= '9') || first == 'N' || first == 'S' || first == 'Z';
}

/* Reads the mangled name at `address`; false when it is none. */
static bool rtti_name(const struct hs_rtti *rtti, hs_addr address, char *text, size_t n_bytes)
{
    const struct hs_dump *dump = rtti->native->dump;

    if (!hs_constant_string(&dump->image, &dump->objects, address, text, n_bytes))
        return false;
    for (const char *at = text; *at != '\0'; at++)
        if (*at <= ' ' || *at >= 0x7f)
            return false;
    return rtti_is_name(text);
}

static bool rtti_in_object(const struct hs_rtti *rtti, hs_addr address)
{
    return address % WORD == 0 && rtti_segment_at(rtti, address) != NULL;
}

/* Finds the base class that a class begins with: its only one (__si_class_type_info), or of several
 * (__vmi_class_type_info: flags, how many; of each its type, and flags below its offset). */
static bool rtti_first_base(const struct hs_rtti *rtti, hs_addr info, hs_addr *ret)
{
    uint64_t word, base, place;

    if (!rtti_word(rtti, info + 2 * WORD, &word))
        return false;
    *ret = word;
    if (rtti_in_object(rtti, word))
        return true;
    for (uint64_t i = 0; i < word >> 32 && i < MAX_BASES; i++) {
        hs_addr at = info + 3 * WORD + 2 * WORD * i;
        if (!rtti_word(rtti, at, &base) || !rtti_word(rtti, at + WORD, &place))
            return false;
        *ret = base;
        if (place >> BASE_OFFSET_SHIFT == 0 && (place & BASE_IS_VIRTUAL) == 0)
            return true;
    }
    return false;
}

/* Sets what a rule says of the class whose type_info this is, or of one that it begins with. */
static void rtti_apply_class(const struct hs_rtti *rtti, hs_addr info, struct hs_native_type *type)
{
    const struct hs_rules *rules = rtti->native->dump->options->rules;
    const struct hs_object *objects = rtti->native->dump->objects.objects;
    char mangled[NAME_BYTES], name[NAME_BYTES];
    uint64_t at;

    for (int i = 0; rtti->has_class_rules && i < MAX_BASES; i++) {
        const struct hs_rtti_segment *segment = rtti_segment_at(rtti, info);
        if (segment == NULL || !rtti_in_object(rtti, info) || !rtti_word(rtti, info + WORD, &at) ||
            !rtti_name(rtti, at, mangled, sizeof mangled))
            return;
        hs_demangle_type(mangled, name, sizeof name);
        const char *library = objects[segment->object].name;
        const struct hs_rule *rule = hs_rules_class(rules, name, library);
        if (rule != NULL) {
            type->other_words = rule->words;
            type->layout = hs_layout_of_class(name, library);
        }
        if (rule != NULL || !rtti_first_base(rtti, info, &info))
            return;
    }
}

static bool rtti_same_sizes(const struct hs_deleted_sizes *a, const struct hs_deleted_sizes *b)
{
    return a->n == b->n && a->are_more == b->are_more &&
           memcmp(a->bytes, b->bytes, a->n * sizeof *a->bytes) == 0;
}

/* Learns which sizes objects of a class may have. Two classes may have one name, each in its file:
 * of such nothing is known. */
static void rtti_learn_size(struct hs_rtti *rtti, hs_addr address, struct hs_native_type *type)
{
    struct hs_deleted_sizes sizes = {0};
    bool is_first = !type->is_dynamic && !type->is_ambiguous;

    if (rtti->n_sized < MAX_SIZED)
        hs_rtti_deleted_sizes(rtti->native, address, &sizes);
    rtti->n_sized++;
    type->is_ambiguous |= !is_first && !rtti_same_sizes(&sizes, &type->deleted);
    type->is_dynamic = !type->is_ambiguous;
    type->deleted = sizes;
}

/* Reads the mangled name of the type_info at `info`, which begins with a table of its own. */
static bool rtti_info_name(const struct hs_rtti *rtti, hs_addr info, char *mangled, size_t n_bytes)
{
    uint64_t own, name_at;

    return rtti_in_object(rtti, info) && rtti_word(rtti, info, &own) && rtti_in_object(rtti, own) &&
           rtti_word(rtti, info + WORD, &name_at) && rtti_name(rtti, name_at, mangled, n_bytes);
}

/* Finds the record of a name, as the object with its type_info or virtual table describes it. */
static hs_ctype rtti_record(const struct hs_native *native, size_t object, const char *name)
{
    return native->ctypes == NULL
               ? 0
               : hs_ctypes_find(native->ctypes, native->of_object[object].types, name);
}

/* Learns the class of the table at `address` by its own words. */
static hs_status rtti_learn(struct hs_rtti *rtti, struct hs_native_types *types, hs_addr address,
                            size_t object, hs_ntype *ret, struct hs_error *err)
{
    uint64_t top, info;
    char mangled[NAME_BYTES], name[NAME_BYTES], shorter[NAME_BYTES];
    struct hs_native *native = rtti->native;

    *ret = 0;
    if (!rtti_word(rtti, address - 2 * WORD, &top) || top != 0 ||
        !rtti_word(rtti, address - WORD, &info) ||
        !rtti_info_name(rtti, info, mangled, sizeof mangled))
        return HS_OK;
    hs_demangle_type(mangled, name, sizeof name);
    if (native->ctypes != NULL) {
        hs_ctype ctype = rtti_record(native, object, name);
        HS_TRY(hs_native_types_of_ctype(types, ctype, false, ret, err));
    }
    if (*ret == 0) {
        hs_shorten_type(name, shorter, sizeof shorter);
        HS_TRY(hs_native_types_of_own_word(types, shorter, ret, err));
        rtti_learn_size(rtti, address, &types->types[*ret - 1]);
    }
    if (*ret != 0)
        rtti_apply_class(rtti, info, &types->types[*ret - 1]);
    return HS_OK;
}

hs_status hs_rtti_find(struct hs_rtti *rtti, struct hs_native_types *types, uint64_t word,
                       hs_ntype *ret, struct hs_error *err)
{
    *ret = 0;
    if (!rtti->is_possible || word % WORD != 0 || word < 2 * WORD)
        return HS_OK;
    const uint64_t *known = hs_dict_find(&rtti->tables, word);
    if (known != NULL) {
        *ret = (hs_ntype)*known;
        return HS_OK;
    }
    const struct hs_rtti_segment *segment = rtti_segment_at(rtti, word);
    if (segment == NULL || rtti->tables.n == MAX_TABLES)
        return HS_OK;
    HS_TRY(rtti_learn(rtti, types, word, segment->object, ret, err));
    return hs_dict_put(&rtti->tables, word, *ret, err);
}

/* ---- what was thrown: __cxa_allocate_exception puts a header before the object. Both libstdc++
 * (struct __cxa_refcounted_exception) and libc++abi (struct __cxa_exception) have, in 64 bits:
 *
 *   count of references | type_info * at 16 | ... | exception class at 96 | ... | object at 128
 *
 * where the class is "GNUCC++" or "CLNGC++" and a byte that is 0: Itanium C++ ABI, exception
 * handling, 2.2.1. */
enum { THROWN_INFO = 16, THROWN_CLASS = 96, THROWN_KEY = 1, THROWN_RECORD_KEY = 2 };
#define THROWN_BY_GNU UINT64_C(0x474e5543432b2b00)
#define THROWN_BY_CLANG UINT64_C(0x434c4e47432b2b00)

/* Names what was thrown by the type_info at `info`, once, and notes the record of the object. */
static hs_status rtti_learn_thrown(struct hs_rtti *rtti, struct hs_native_types *types,
                                   hs_addr info, struct hs_named_type *ret, struct hs_error *err)
{
    const struct hs_rtti_segment *segment = rtti_segment_at(rtti, info);
    char mangled[NAME_BYTES], name[NAME_BYTES], shorter[NAME_BYTES], thrown[NAME_BYTES];
    hs_str text;

    if (segment != NULL && rtti_info_name(rtti, info, mangled, sizeof mangled)) {
        hs_demangle_type(mangled, name, sizeof name);
        ret->inner = rtti_record(rtti->native, segment->object, name);
        hs_shorten_type(name, shorter, sizeof shorter);
        (void)snprintf(thrown, sizeof thrown, "%.1000s" HS_TYPE_THROWN, shorter);
        HS_TRY(hs_strtab_add(types->strings, thrown, &text, err));
        HS_TRY(hs_native_types_of_sized(types, text, 0, &ret->type, err));
    }
    HS_TRY(hs_dict_put(&rtti->tables, info + THROWN_KEY, ret->type, err));
    return hs_dict_put(&rtti->tables, info + THROWN_RECORD_KEY, ret->inner, err);
}

hs_status hs_rtti_thrown(struct hs_rtti *rtti, struct hs_native_types *types,
                         const struct hs_heap_block *block, struct hs_named_type *ret,
                         struct hs_error *err)
{
    *ret = (struct hs_named_type){.offset_bytes = HS_THROWN_OBJECT};
    if (!rtti->is_possible || block->bytes == NULL || block->n_bytes <= HS_THROWN_OBJECT)
        return HS_OK;
    uint64_t by = hs_load_u64(block->bytes + THROWN_CLASS);
    hs_addr info = hs_load_u64(block->bytes + THROWN_INFO);
    if ((by != THROWN_BY_GNU && by != THROWN_BY_CLANG) || info % WORD != 0 || info == 0)
        return HS_OK;
    const uint64_t *known = hs_dict_find(&rtti->tables, info + THROWN_KEY);
    if (known == NULL)
        return rtti->tables.n >= MAX_TABLES - 1 ? HS_OK
                                                : rtti_learn_thrown(rtti, types, info, ret, err);
    ret->type = (hs_ntype)*known;
    ret->inner = (hs_ctype)hs_dict_get(&rtti->tables, info + THROWN_RECORD_KEY, 0);
    return HS_OK;
}
