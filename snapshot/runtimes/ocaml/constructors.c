/* Exceptions and other values of extensible types, by their constructor.
 *
 *   value:        constructor | argument | ...
 *                     v
 *   constructor:  name | number                 tag 248, of two fields
 *                   v
 *   name:         "Parser.Bad_record"           static data of the program or of a plugin
 *
 * So they have a name without any file of the compiler's. Source: lambda/translcore.ml,
 * transl_extension_constructor; the same in 4.13 to 5.4. */
#include <string.h>

#include "base/load.h"
#include "symbols/elf.h"
#include "types.h"

enum { NAME_BYTES = 160, CONSTRUCTOR_WORDS = 2, CONSTRUCTORS_MAX = 1 << 16 };

/* Tells whether a text can be the name of a constructor, behind modules: "Unix.Unix_error". */
static bool is_constructor(const char *text)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_'.";
    const char *last = strrchr(text, '.');

    last = last == NULL ? text : last + 1;
    return text[0] >= 'A' && text[0] <= 'Z' && last[0] >= 'A' && last[0] <= 'Z' &&
           text[strspn(text, letters)] == '\0';
}

/* Copies a string of static data, from the file that it is in. */
static bool text_of(const struct hs_ocaml *rt, uint64_t value, char *text, size_t n)
{
    const struct hs_object *object =
        value % HS_WORD == 0 ? hs_objects_object_at(rt->objects, value) : NULL;
    size_t n_bytes;

    if (object == NULL)
        return false;
    const uint8_t *bytes = hs_elf_bytes_from(object->elf, value - object->bias, n, &n_bytes);
    size_t length = bytes == NULL ? 0 : strnlen((const char *)bytes, n_bytes);
    if (length == 0 || length >= n)
        return false;
    memcpy(text, bytes, length);
    text[length] = '\0';
    return is_constructor(text);
}

static bool constructor_name(const struct hs_ocaml *rt, const struct hs_block *constructor,
                             char *name, size_t n)
{
    const uint8_t *fields = hs_map_bytes(constructor->span, constructor->address);

    return (hs_load_u64(fields + HS_WORD) & 1) != 0 && text_of(rt, hs_load_u64(fields), name, n);
}

hs_status hs_ocaml_constructor_type(struct hs_ocaml_types *types, const struct hs_block *block,
                                    uint64_t header, uint32_t *ret, bool *ret_found,
                                    struct hs_error *err)
{
    uint64_t value;
    struct hs_block to;
    char name[NAME_BYTES];

    *ret_found = false;
    if (HS_HEADER_TAG(header) != 0 || HS_HEADER_WOSIZE(header) < 2)
        return HS_OK;
    value = hs_load_u64(hs_map_bytes(block->span, block->address));
    if (value % HS_WORD != 0 || value == 0 || !hs_map_resolve(types->map, value, &to) ||
        !hs_bitmap_get(&types->map->starts, to.bit))
        return HS_OK;
    uint64_t head = hs_block_head(&to);
    if (HS_HEADER_TAG(head) != HS_TAG_OBJECT || HS_HEADER_WOSIZE(head) != CONSTRUCTOR_WORDS)
        return HS_OK;
    const uint64_t *known = hs_dict_find(&types->constructors, to.address);
    if (known != NULL) {
        *ret = (uint32_t)*known - 1;
        *ret_found = *known != 0;
        return HS_OK;
    }
    if (types->constructors.n >= CONSTRUCTORS_MAX)
        return HS_OK;
    *ret_found = constructor_name(types->rt, &to, name, sizeof name);
    if (*ret_found)
        HS_TRY(hs_ocaml_type_named(types, name, 0, HS_FORM_BLOCK, ret, err));
    return hs_dict_put(&types->constructors, to.address, *ret_found ? (uint64_t)*ret + 1 : 0, err);
}
