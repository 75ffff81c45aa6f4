/* The file of a bytecode program: sections, and at its end their table.
 *
 *   sections | { name[4], u32 bytes } ... | u32 number of these | "Caml1999X030"
 *
 * Numbers are big-endian. SYMB is a marshalled {number of globals; map from what they are to their
 * numbers}: a node of the map is {left; what; number; right; height}, and what begins with a name.
 * Source: bytecomp/bytesections.ml, symtable.ml, ident.ml of 4.13.1 and 4.14.2. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "bytecode.h"
#include "locate.h"
#include "marshal.h"

enum { TRAILER_BYTES = 16, ENTRY_BYTES = 8, SECTIONS_MAX = 64, GLOBALS_MAX = 1 << 20 };
enum { NODE_FIELDS = 5, NODE_WHAT = 1, NODE_NUMBER = 2, NAME_BYTES = 256 };
enum { PATH_BYTES = 4096 };

static uint32_t load_big(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

/* Finds a section, from the last back to the first. */
static bool find_section(const uint8_t *bytes, size_t n_bytes, const char *name,
                         const uint8_t **ret, size_t *ret_n)
{
    if (n_bytes < TRAILER_BYTES || memcmp(bytes + n_bytes - TRAILER_BYTES + 4, "Caml1999X", 9) != 0)
        return false;
    uint32_t n = load_big(bytes + n_bytes - TRAILER_BYTES);
    if (n > SECTIONS_MAX || (size_t)n * ENTRY_BYTES > n_bytes - TRAILER_BYTES)
        return false;
    size_t table = n_bytes - TRAILER_BYTES - (size_t)n * ENTRY_BYTES, end = table;
    for (uint32_t i = n; i-- > 0;) {
        const uint8_t *entry = bytes + table + (size_t)i * ENTRY_BYTES;
        size_t length = load_big(entry + 4);
        if (length > end)
            return false;
        end -= length;
        if (memcmp(entry, name, 4) == 0) {
            *ret = bytes + end;
            *ret_n = length;
            return true;
        }
    }
    return false;
}

/* Tells whether a text is what a unit or an exception can be called. */
static bool is_name(const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        bool is_letter = (text[i] >= 'a' && text[i] <= 'z') || (text[i] >= 'A' && text[i] <= 'Z');
        if (!is_letter && text[i] != '_' && text[i] != '\'' &&
            (i == 0 || text[i] < '0' || text[i] > '9'))
            return false;
    }
    return n != 0 && n < NAME_BYTES;
}

/* Takes the name that a node of the map has, if the object is one. */
static hs_status take_node(const struct hs_marshal *v, const struct hs_marshal_object *node,
                           struct hs_strtab *strings, struct hs_bytecode_names *ret,
                           struct hs_error *err)
{
    char text[NAME_BYTES];

    if (node->tag != 0 || node->n != NODE_FIELDS)
        return HS_OK;
    const struct hs_marshal_object *what = hs_marshal_at(v, v->fields[node->first + NODE_WHAT]);
    uint64_t number = v->fields[node->first + NODE_NUMBER];
    if (what == NULL || what->tag == HS_MARSHAL_TEXT || what->n == 0 || (number & 1) == 0 ||
        number / 2 >= GLOBALS_MAX)
        return HS_OK;
    const struct hs_marshal_object *name = hs_marshal_at(v, v->fields[what->first]);
    if (name == NULL || name->tag != HS_MARSHAL_TEXT || !is_name(v->bytes + name->first, name->n))
        return HS_OK;
    memcpy(text, v->bytes + name->first, name->n);
    text[name->n] = '\0';
    size_t n = (size_t)(number / 2) + 1;
    HS_TRY(HS_GROW(&ret->names, &ret->capacity, n, err));
    for (; ret->n < n; ret->n++)
        ret->names[ret->n] = 0;
    return hs_strtab_add(strings, text, &ret->names[n - 1], err);
}

hs_status hs_bytecode_names_of(const uint8_t *bytes, size_t n_bytes, struct hs_strtab *strings,
                               struct hs_bytecode_names *ret, struct hs_error *err)
{
    struct hs_marshal value;
    const uint8_t *section;
    size_t n;
    hs_status status = HS_OK;

    if (!find_section(bytes, n_bytes, "SYMB", &section, &n))
        return hs_fail(err, HS_FORMAT, "no table of symbols of a bytecode program");
    HS_TRY(hs_marshal_read(&value, section, n, err));
    for (size_t i = 0; i < value.n_objects && status == HS_OK; i++)
        status = take_node(&value, &value.objects[i], strings, ret, err);
    hs_marshal_fini(&value);
    return status;
}

/* Makes the path of the program's file, as the process sees it. */
static bool path_of(struct hs_root_walk *walk, char *path, size_t n)
{
    const struct hs_ocaml *rt = walk->rt;
    char name[PATH_BYTES];
    uint64_t at;

    if (rt->target->core != NULL || !hs_ocaml_symbol_word(rt, "caml_exe_name", &at) || at == 0)
        return false;
    hs_walk_need(walk, at, PATH_BYTES);
    if (hs_walk_is_copying(walk) || !hs_image_string(rt->image, at, name, sizeof name) ||
        name[0] == '\0')
        return false;
    bool is_absolute = name[0] == '/';
    return (size_t)snprintf(path, n, "/proc/%d/%s%s", (int)rt->target->pid,
                            is_absolute ? "root" : "cwd/", name) < n;
}

hs_status hs_bytecode_names(struct hs_root_walk *walk, struct hs_bytecode_names *ret)
{
    char path[PATH_BYTES + 64];
    struct hs_map map;
    struct hs_error ignored = HS_ERROR_INIT;

    if (!path_of(walk, path, sizeof path) ||
        hs_map_open_trusted(path, walk->rt->target->uid, &map, &ignored) != HS_OK)
        return HS_OK;
    hs_status status =
        hs_bytecode_names_of(map.bytes, map.n_bytes, walk->rt->strings, ret, &ignored);
    hs_map_close(&map);
    return status == HS_LIMIT ? hs_fail(walk->err, HS_LIMIT, "no memory for the names of globals")
                              : HS_OK;
}
