/* Names for the shapes of blocks, each made once. */
#include "types.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/append.h"
#include "base/load.h"
#include "symbols/demangle.h"
#include "symbols/elf.h"

enum {
    TYPES_MAX = 1 << 20, /* a hostile heap may name any code address: then one common type */
    NAME_BYTES = 512,
    METHODS_MAX = 4096,   /* of a class that are looked at */
    IDENTIFIER_BYTES = 64 /* of custom operations: "_bigarr02", "_z" */
};

void hs_ocaml_types_fini(struct hs_ocaml_types *types)
{
    if (types == NULL)
        return;
    hs_free(types->types);
    hs_dict_fini(&types->by_address);
    hs_dict_fini(&types->by_call);
    hs_dict_fini(&types->constructors);
    hs_free(types->by_name);
    hs_free(types->by_row);
    hs_free(types->row_of);
    hs_free(types->captured_of);
    hs_free(types->counted_as);
    *types = (struct hs_ocaml_types){0};
}

hs_status hs_ocaml_types_add(struct hs_ocaml_types *types, const struct hs_type *type,
                             uint32_t *ret, struct hs_error *err)
{
    HS_TRY(HS_GROW(&types->types, &types->types_capacity, types->n_types + 1, err));
    HS_TRY(HS_GROW(&types->row_of, &types->row_of_capacity, types->n_types + 1, err));
    HS_TRY(HS_GROW(&types->captured_of, &types->captured_of_capacity, types->n_types + 1, err));
    types->types[types->n_types] = *type;
    *ret = (uint32_t)types->n_types++;
    return HS_OK;
}

/* Finds the type of this name: the one there is, or a new one. */
hs_status hs_ocaml_type_named(struct hs_ocaml_types *types, const char *name, unsigned tag,
                              enum hs_type_form form, uint32_t *ret, struct hs_error *err)
{
    hs_str text;

    HS_TRY(hs_strtab_add(types->rt->strings, name, &text, err));
    HS_TRY(HS_GROW(&types->by_name, &types->by_name_capacity, (size_t)text + 1, err));
    if (types->by_name[text] == 0) {
        const struct hs_type type = {.name = text, .tag = (uint16_t)tag, .form = (uint8_t)form};
        uint32_t added;
        HS_TRY(hs_ocaml_types_add(types, &type, &added, err));
        types->by_name[text] = added + 1;
    }
    *ret = types->by_name[text] - 1;
    return HS_OK;
}

static hs_status type_of_shape(struct hs_ocaml_types *types, unsigned tag, uint64_t wosize,
                               uint32_t *ret, struct hs_error *err)
{
    unsigned fields = wosize < HS_SHAPE_FIELDS ? (unsigned)wosize : HS_SHAPE_FIELDS;
    uint32_t *known = &types->shapes[tag][fields];
    char name[64];

    if (*known == 0) {
        snprintf(name, sizeof name, "block tag %u, %u%s field%s", tag, fields,
                 fields == HS_SHAPE_FIELDS ? "+" : "", fields == 1 ? "" : "s");
        HS_TRY(hs_ocaml_type_named(types, name, tag, HS_FORM_BLOCK, known, err));
        ++*known;
    }
    *ret = *known - 1;
    return HS_OK;
}

static const struct {
    const char *name;
    enum hs_type_form form;
} type_others[256] = {
    [HS_TAG_LAZY] = {"lazy", HS_FORM_LAZY},
    [HS_TAG_CLOSURE] = {"closure", HS_FORM_CLOSURE},
    [HS_TAG_OBJECT] = {"object", HS_FORM_OBJECT},
    [HS_TAG_INFIX] = {"infix", HS_FORM_OTHER},
    [HS_TAG_FORWARD] = {"forward", HS_FORM_FORWARD},
    [HS_TAG_ABSTRACT] = {"abstract", HS_FORM_ABSTRACT},
    [HS_TAG_STRING] = {"string", HS_FORM_STRING},
    [HS_TAG_DOUBLE] = {"float", HS_FORM_FLOAT},
    [HS_TAG_DOUBLE_ARRAY] = {"float array", HS_FORM_FLOAT_ARRAY},
    [HS_TAG_CUSTOM] = {"custom", HS_FORM_CUSTOM},
};

static hs_status type_of_tag(struct hs_ocaml_types *types, unsigned tag, uint32_t *ret,
                             struct hs_error *err)
{
    uint32_t *known = &types->others[tag];

    if (*known == 0) {
        HS_TRY(hs_ocaml_type_named(types, type_others[tag].name, tag, type_others[tag].form, known,
                                   err));
        ++*known;
    }
    *ret = *known - 1;
    return HS_OK;
}

static hs_status type_of_ephemeron(struct hs_ocaml_types *types, bool has_data, bool is_empty,
                                   uint32_t *ret, struct hs_error *err)
{
    static const char *const names[2][2] = {{"weak array", "ephemeron"},
                                            {"empty weak array", "empty ephemeron"}};
    uint32_t *known = &types->weak[is_empty][has_data];

    if (*known == 0) {
        HS_TRY(hs_ocaml_type_named(types, names[is_empty][has_data], HS_TAG_ABSTRACT, HS_FORM_WEAK,
                                   known, err));
        ++*known;
    }
    *ret = *known - 1;
    return HS_OK;
}

/* ---- closures and customs: by address */

static void type_sanitise(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text < ' ' || *text > '~')
            *text = '?';
    }
}

bool hs_ocaml_identifier(const struct hs_ocaml *rt, hs_addr operations, char *text, size_t n)
{
    uint64_t identifier;

    if (hs_objects_object_at(rt->objects, operations) == NULL ||
        !hs_image_u64(rt->image, operations, &identifier))
        return false;
    const struct hs_object *object = hs_objects_object_at(rt->objects, identifier);
    if (object == NULL)
        return false;
    size_t n_bytes;
    const uint8_t *bytes = hs_elf_bytes_from(object->elf, identifier - object->bias, n, &n_bytes);
    size_t length = bytes == NULL ? 0 : strnlen((const char *)bytes, n_bytes);
    if (length == 0 || length >= n)
        return false;
    memcpy(text, bytes, length);
    text[length] = '\0';
    type_sanitise(text);
    return true;
}

static void type_describe_custom(const struct hs_ocaml *rt, hs_addr operations, char *name)
{
    char identifier[IDENTIFIER_BYTES];

    if (hs_ocaml_identifier(rt, operations, identifier, sizeof identifier))
        snprintf(name, NAME_BYTES, "custom %s", identifier);
    else
        snprintf(name, NAME_BYTES, "custom");
}

static bool type_starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* Puts the place of a function without a name into its own: "closure Stm.(fun at stm.ml:7)". */
static void put_place(const struct hs_ocaml_types *types, hs_addr code, char *name)
{
    static const char anonymous[] = "(fun)";
    const struct hs_lambda *lambda = hs_lambda_at(types->lambdas, code);
    size_t n = strlen(name), n_anonymous = sizeof anonymous - 1;

    if (lambda == NULL || n < n_anonymous || strcmp(name + n - n_anonymous, anonymous) != 0)
        return;
    name[n - 1] = '\0';
    hs_append(name, NAME_BYTES, " at %s:%u)", hs_strtab_get(types->rt->strings, lambda->file),
              lambda->line);
}

static void type_describe_closure(const struct hs_ocaml_types *types, hs_addr code, char *name,
                                  bool *ret_is_wrapper)
{
    const struct hs_ocaml *rt = types->rt;
    struct hs_live_symbol symbol;
    char function[NAME_BYTES - 64];

    *ret_is_wrapper = false;
    if (!hs_objects_at(rt->objects, code, &symbol) || !symbol.is_code) {
        snprintf(name, NAME_BYTES, "closure");
        return;
    }
    *ret_is_wrapper = type_starts_with(symbol.name, "caml_curry") ||
                      type_starts_with(symbol.name, "caml_tuplify");
    if (*ret_is_wrapper) { /* when field 2 does not help: an argument applied to a function */
        snprintf(name, NAME_BYTES, "closure (partial application)");
        return;
    }
    (void)hs_demangle(symbol.name, function, sizeof function);
    if (code == symbol.address)
        snprintf(name, NAME_BYTES, "closure %s", function);
    else
        snprintf(name, NAME_BYTES, "closure %s+%llu", function,
                 (unsigned long long)(code - symbol.address));
    put_place(types, code, name);
    type_sanitise(name);
}

static hs_status type_of_address(struct hs_ocaml_types *types, hs_addr address, unsigned tag,
                                 uint32_t *ret, bool *ret_is_wrapper, struct hs_error *err)
{
    uint64_t key = address << 1 | (tag == HS_TAG_CUSTOM);
    const uint64_t *known = hs_dict_find(&types->by_address, key);
    char name[NAME_BYTES];

    *ret_is_wrapper = false;
    if (known != NULL) {
        *ret = (uint32_t)(*known >> 1);
        *ret_is_wrapper = (*known & 1) != 0;
        return HS_OK;
    }
    if (types->n_types >= TYPES_MAX || types->by_address.n >= TYPES_MAX)
        return type_of_tag(types, tag, ret, err);
    if (tag == HS_TAG_CUSTOM)
        type_describe_custom(types->rt, address, name);
    else
        type_describe_closure(types, address, name, ret_is_wrapper);
    HS_TRY(hs_ocaml_type_named(types, name, tag, type_others[tag].form, ret, err));
    return hs_dict_put(&types->by_address, key, (uint64_t)*ret << 1 | *ret_is_wrapper, err);
}

/* Finds the type of a closure. One of several arguments begins with caml_curryN, its own code is in
 * field 2 (mlvalues.h, cmm_helpers.ml emit_constant_closure): arity 0 and 1 have none. */
static hs_status type_of_closure(struct hs_ocaml_types *types, const uint8_t *fields,
                                 uint64_t wosize, uint32_t *ret, struct hs_error *err)
{
    int64_t arity = (int64_t)hs_load_u64(fields + HS_WORD) >> 56;
    bool is_wrapper;
    uint32_t inner;

    HS_TRY(type_of_address(types, hs_load_u64(fields), HS_TAG_CLOSURE, ret, &is_wrapper, err));
    if (!is_wrapper || wosize < 3 || arity == 0 || arity == 1)
        return HS_OK;
    HS_TRY(type_of_address(types, hs_load_u64(fields + 2 * HS_WORD), HS_TAG_CLOSURE, &inner,
                           &is_wrapper, err));
    if (!is_wrapper)
        *ret = inner;
    return HS_OK;
}

/* Finds the type of a suspended continuation, by the call that it waits in. */
static hs_status type_of_continuation(struct hs_ocaml_types *types, hs_addr block, uint32_t *ret,
                                      struct hs_error *err)
{
    hs_addr pc = hs_ocaml_continuation_call(types->rt, types->frames, block);
    const uint64_t *known = hs_dict_find(&types->by_call, pc);
    char name[NAME_BYTES];

    if (known != NULL) {
        *ret = (uint32_t)*known;
        return HS_OK;
    }
    hs_ocaml_continuation_name(types->rt, types->frames, pc, name, sizeof name);
    type_sanitise(name);
    HS_TRY(hs_ocaml_type_named(types, name, HS_TAG_CONT, HS_FORM_BLOCK, ret, err));
    return hs_dict_put(&types->by_call, pc, *ret, err);
}

/* Resolves a word to a block of the map. */
static bool block_at(const struct hs_ocaml_types *types, uint64_t word, struct hs_block *ret)
{
    *ret = (struct hs_block){0};
    return types->map != NULL && word % HS_WORD == 0 && word != 0 &&
           hs_map_resolve(types->map, word, ret) && hs_bitmap_get(&types->map->starts, ret->bit);
}

/* Finds the last method without a name in a table of methods (camlinternalOO.ml): a class puts its
 * own behind those that it inherits. The table begins with a number. NULL: none has a place. */
static const struct hs_lambda *last_method(const struct hs_ocaml_types *types,
                                           const struct hs_block *table)
{
    uint64_t header = hs_block_head(table), n = HS_HEADER_WOSIZE(header);
    const uint8_t *fields = hs_map_bytes(table->span, table->address);
    unsigned n_looked_at = 0;

    if (HS_HEADER_TAG(header) != 0 || n < 2 || (hs_load_u64(fields) & 1) == 0)
        return NULL;
    for (uint64_t i = n; i-- > 1 && n_looked_at < METHODS_MAX; n_looked_at++) {
        struct hs_block method;
        if (!block_at(types, hs_load_u64(fields + i * HS_WORD), &method))
            continue;
        uint64_t head = hs_block_head(&method), wosize = HS_HEADER_WOSIZE(head);
        if (HS_HEADER_TAG(head) != HS_TAG_CLOSURE || wosize < 2)
            continue;
        const struct hs_lambda *lambda = hs_lambda_at(
            types->lambdas, hs_closure_code(hs_map_bytes(method.span, method.address), wosize));
        if (lambda != NULL)
            return lambda;
    }
    return NULL;
}

/* Finds the type of an object by the methods that it has: nothing in it says its class. */
static hs_status type_of_object(struct hs_ocaml_types *types, const struct hs_block *block,
                                uint64_t header, uint32_t *ret, struct hs_error *err)
{
    struct hs_block table;
    char name[NAME_BYTES];

    if (HS_HEADER_WOSIZE(header) < 2 ||
        !block_at(types, hs_load_u64(hs_map_bytes(block->span, block->address)), &table))
        return type_of_tag(types, HS_TAG_OBJECT, ret, err);
    const uint64_t *known = hs_dict_find(&types->by_call, table.address);
    if (known != NULL) {
        *ret = (uint32_t)*known;
        return HS_OK;
    }
    const struct hs_lambda *method =
        types->by_call.n < TYPES_MAX ? last_method(types, &table) : NULL;
    if (method == NULL)
        return type_of_tag(types, HS_TAG_OBJECT, ret, err);
    (void)snprintf(name, sizeof name, "object (method at %.400s:%u)",
                   hs_strtab_get(types->rt->strings, method->file), method->line);
    type_sanitise(name);
    HS_TRY(hs_ocaml_type_named(types, name, HS_TAG_OBJECT, HS_FORM_OBJECT, ret, err));
    return hs_dict_put(&types->by_call, table.address, *ret, err);
}

hs_status hs_ocaml_constructor_type(struct hs_ocaml_types *types, const struct hs_block *block,
                                    uint64_t header, uint32_t *ret, bool *ret_found,
                                    struct hs_error *err)
{
    struct hs_block constructor = {0};
    char name[NAME_BYTES];

    *ret_found = false;
    if (types->map == NULL || !hs_ocaml_constructor_of(types->map, block, header, &constructor))
        return HS_OK;
    const uint64_t *known = hs_dict_find(&types->constructors, constructor.address);
    if (known != NULL) {
        *ret = (uint32_t)*known - 1;
        *ret_found = *known != 0;
        return HS_OK;
    }
    if (types->constructors.n >= TYPES_MAX)
        return HS_OK;
    *ret_found = hs_ocaml_constructor_name(types->rt, &constructor, name, sizeof name);
    if (*ret_found)
        HS_TRY(hs_ocaml_type_named(types, name, 0, HS_FORM_BLOCK, ret, err));
    return hs_dict_put(&types->constructors, constructor.address,
                       *ret_found ? (uint64_t)*ret + 1 : 0, err);
}

hs_status hs_ocaml_type(struct hs_ocaml_types *types, const struct hs_block *block, uint64_t header,
                        enum hs_ephe_state ephemeron, uint32_t *ret, struct hs_error *err)
{
    unsigned tag = HS_HEADER_TAG(header);
    uint64_t wosize = HS_HEADER_WOSIZE(header);
    const uint8_t *fields = hs_map_bytes(block->span, block->address);

    if (tag == HS_TAG_CONT && types->rt->five != NULL)
        return type_of_continuation(types, block->address, ret, err);
    if (tag == HS_TAG_OBJECT)
        return type_of_object(types, block, header, ret, err);
    if (tag == 0) {
        bool is_found;
        HS_TRY(hs_ocaml_constructor_type(types, block, header, ret, &is_found, err));
        if (is_found)
            return HS_OK;
    }
    if (tag < HS_SHAPE_TAGS)
        return type_of_shape(types, tag, wosize, ret, err);
    if (ephemeron != HS_EPHE_NONE)
        return type_of_ephemeron(types, hs_load_u64(fields + HS_WORD) != types->rt->ephe_none,
                                 ephemeron == HS_EPHE_EMPTY, ret, err);
    if (tag == HS_TAG_CLOSURE && wosize >= 2)
        return type_of_closure(types, fields, wosize, ret, err);
    if (tag == HS_TAG_CUSTOM && wosize >= 1) {
        bool is_wrapper;
        return type_of_address(types, hs_load_u64(fields), tag, ret, &is_wrapper, err);
    }
    return type_of_tag(types, tag, ret, err);
}
