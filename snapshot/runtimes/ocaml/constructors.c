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

enum { CONSTRUCTOR_WORDS = 2 };

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

bool hs_ocaml_constructor_name(const struct hs_ocaml *rt, const struct hs_block *constructor,
                               char *name, size_t n)
{
    const uint8_t *fields = hs_map_bytes(constructor->span, constructor->address);

    return (hs_load_u64(fields + HS_WORD) & 1) != 0 && text_of(rt, hs_load_u64(fields), name, n);
}

bool hs_ocaml_constructor_of(const struct hs_block_map *map, const struct hs_block *block,
                             uint64_t header, struct hs_block *ret)
{
    if (HS_HEADER_TAG(header) != 0 || HS_HEADER_WOSIZE(header) < 2)
        return false;
    uint64_t value = hs_load_u64(hs_map_bytes(block->span, block->address));
    if (value % HS_WORD != 0 || value == 0 || !hs_map_resolve(map, value, ret) ||
        !hs_bitmap_get(&map->starts, ret->bit))
        return false;
    uint64_t head = hs_block_head(ret);
    return HS_HEADER_TAG(head) == HS_TAG_OBJECT && HS_HEADER_WOSIZE(head) == CONSTRUCTOR_WORDS;
}
