/* Names for data without one, by the pointers of known type that lead there: the loop that a
 * library has in its data is `loop->handle_queue` where the program has `loop`.
 *
 * One pass over the data of binaries with debug information, before any is scanned for roots. A
 * variable that is such a pointer goes before a member of one. Types do not flow this way.
 *
 * Limit: pointers on stacks and in blocks name nothing. */
#include "globals_pointed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"

enum {
    POINTED_MOST = 1 << 16,  /* pointers that are kept */
    POINTED_BYTES = 1 << 16, /* how far into an object one names */
    POINTED_TRIES = 64,      /* pointers that are asked for one place */
    POINTED_TEXT = HS_VARIABLE_NAME_BYTES
};

static int pointed_order(const void *a, const void *b)
{
    const struct hs_pointed_at *x = a, *y = b;
    if (x->target != y->target)
        return x->target < y->target ? -1 : 1;
    return (x->at > y->at) - (x->at < y->at);
}

static bool is_typed(const struct hs_native *native, size_t object)
{
    return native->ctypes != NULL && native->of_object[object].types != 0;
}

/* The bounds of the data that debug information does not tell of. */
static void find_bounds(struct hs_pointed *pointed, const struct hs_native *native)
{
    pointed->low = UINT64_MAX;
    for (size_t i = 0; i < native->dump->objects.n; i++) {
        const struct hs_object *object = &native->dump->objects.objects[i];
        if (is_typed(native, i))
            continue;
        pointed->low = object->begin < pointed->low ? object->begin : pointed->low;
        pointed->high = object->end > pointed->high ? object->end : pointed->high;
    }
}

static hs_status look_at(struct hs_pointed *pointed, const struct hs_native *native, hs_addr at,
                         const uint8_t *bytes, uint64_t n_bytes, struct hs_error *err)
{
    for (uint64_t i = 0; i + HS_WORD_BYTES <= n_bytes && pointed->n < POINTED_MOST;
         i += HS_WORD_BYTES) {
        uint64_t word = hs_load_u64(bytes + i);
        if (word < pointed->low || word >= pointed->high)
            continue;
        const struct hs_object *object = hs_objects_object_at(&native->dump->objects, word);
        if (object == NULL || object->elf == NULL ||
            is_typed(native, (size_t)(object - native->dump->objects.objects)))
            continue;
        const struct hs_elf_segment *segment = hs_elf_segment_at(object->elf, word - object->bias);
        if (segment == NULL || !segment->writable)
            continue;
        HS_TRY(HS_GROW(&pointed->all, &pointed->capacity, pointed->n + 1, err));
        pointed->all[pointed->n++] = (struct hs_pointed_at){.target = word, .at = at + i};
    }
    return HS_OK;
}

hs_status hs_native_pointed_look(struct hs_pointed *pointed, const struct hs_native *native,
                                 size_t object, hs_addr begin, hs_addr end, struct hs_error *err)
{
    const struct hs_image *image = &native->dump->image;
    hs_addr at, part_end;

    if (!is_typed(native, object))
        return HS_OK;
    if (pointed->high == 0)
        find_bounds(pointed, native);
    begin = (begin + HS_WORD_BYTES - 1) & ~(hs_addr)(HS_WORD_BYTES - 1);
    for (; pointed->high != 0 && hs_image_next_present(image, begin, end, &at, &part_end);
         begin = part_end) {
        const uint8_t *bytes = hs_image_bytes(image, at, part_end - at);
        if (bytes != NULL)
            HS_TRY(look_at(pointed, native, at, bytes, part_end - at, err));
    }
    return HS_OK;
}

void hs_native_pointed_sort(struct hs_pointed *pointed)
{
    if (pointed->n > 1)
        qsort(pointed->all, pointed->n, sizeof *pointed->all, pointed_order);
}

/* Is it a link of a list, in the record that it leads to? Its list is not its member's. */
static bool is_link(struct hs_ctypes *ctypes, hs_ctype type, uint64_t offset, hs_ctype pointee)
{
    hs_ctype around[HS_CTYPE_MAX_AROUND];
    bool is_whole;
    size_t n = hs_ctypes_around(ctypes, type, offset, around, &is_whole);

    for (size_t i = 0; i < n; i++)
        if (hs_ctypes_same(ctypes, around[i], pointee))
            return true;
    return false;
}

/* The record that the word at `offset` of a variable leads to, if its type says one; 0: none. */
static hs_ctype record_at(struct hs_ctypes *ctypes, hs_ctype type, uint64_t offset,
                          uint64_t *ret_n_bytes)
{
    struct hs_ctype_facts facts;
    hs_ctype pointee;

    if (type == 0 || hs_native_slot_form(ctypes, type, offset, &pointee, NULL) != HS_SLOT_POINTER ||
        pointee == 0)
        return 0;
    hs_ctype_facts(ctypes, pointee, &facts);
    *ret_n_bytes = facts.n_bytes;
    return facts.kind != HS_CTYPE_RECORD || facts.is_declaration ||
                   is_link(ctypes, type, offset, pointee)
               ? 0
               : pointee;
}

/* The name of what `from` leads to, `offset` bytes behind where it leads: "loop->handle_queue[0]".
 * *ret_is_plain: it is a variable, no member. */
static hs_status place_of(struct hs_native *native, const struct hs_pointed_at *from,
                          uint64_t offset, char text[POINTED_TEXT], bool *ret_is_plain,
                          struct hs_error *err)
{
    const struct hs_object *object = hs_objects_object_at(&native->dump->objects, from->at);
    struct hs_native_variable v = {0};
    char member[POINTED_TEXT / 2] = "", place[POINTED_TEXT / 2];
    uint64_t n_bytes = 0;
    hs_addr end;

    text[0] = '\0';
    if (object == NULL)
        return HS_OK;
    HS_TRY(hs_native_find_variable(native, (size_t)(object - native->dump->objects.objects),
                                   from->at, &v, &end, err));
    const uint64_t in_variable = from->at - v.begin;
    const hs_ctype record = record_at(native->ctypes, v.type, in_variable, &n_bytes);
    if (record == 0 || offset >= n_bytes ||
        hs_ctypes_place(native->ctypes, record, offset, place, sizeof place, NULL) == 0 ||
        (v.n_bytes > HS_WORD_BYTES &&
         hs_ctypes_place(native->ctypes, v.type, in_variable, member, sizeof member, NULL) == 0))
        return HS_OK;
    *ret_is_plain = member[0] == '\0';
    (void)snprintf(text, POINTED_TEXT, "%.200s%s%.140s->%.140s",
                   hs_strtab_get(&native->dump->strings, v.name),
                   member[0] == '\0' || member[0] == '[' ? "" : ".", member, place);
    return HS_OK;
}

/* Is it in data, and called by its section alone? */
static bool is_unnamed(const struct hs_native *native, const struct hs_root_leaf *leaf)
{
    return leaf->root.kind == HS_ROOT_GLOBAL && leaf->root.symbol != 0 &&
           hs_root_is_place(hs_strtab_get(&native->dump->strings, leaf->root.symbol)) &&
           hs_root_is_place(hs_strtab_get(&native->dump->strings, leaf->root.name));
}

static hs_status name_leaf(const struct hs_pointed *pointed, struct hs_native *native,
                           struct hs_root *root, struct hs_error *err)
{
    char text[POINTED_TEXT], best[POINTED_TEXT] = "";
    bool is_plain = false;
    size_t next = HS_FIRST_ABOVE(pointed->all, pointed->n, target, root->address);

    for (size_t i = next, tries = 0; i-- > 0 && !is_plain && tries < POINTED_TRIES; tries++) {
        uint64_t offset = root->address - pointed->all[i].target;
        if (offset >= POINTED_BYTES)
            break;
        HS_TRY(place_of(native, &pointed->all[i], offset, text, &is_plain, err));
        if (text[0] != '\0')
            memcpy(best, text, sizeof best);
    }
    if (best[0] == '\0')
        return HS_OK;
    HS_TRY(hs_strtab_add(&native->dump->strings, best, &root->name, err));
    root->symbol = root->name;
    root->offset = 0;
    return HS_OK;
}

hs_status hs_native_pointed_name(const struct hs_pointed *pointed, struct hs_native *native,
                                 size_t first, struct hs_error *err)
{
    struct hs_roots *roots = &native->roots;

    for (size_t i = first; pointed->n != 0 && i < roots->n_leaves; i++)
        if (is_unnamed(native, &roots->leaves[i]))
            HS_TRY(name_leaf(pointed, native, &roots->leaves[i].root, err));
    return HS_OK;
}

void hs_native_pointed_fini(struct hs_pointed *pointed)
{
    hs_free(pointed->all);
    *pointed = (struct hs_pointed){0};
}
