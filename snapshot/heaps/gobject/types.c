/* Reads the types in libgobject's tables. */
#include "gobject/types.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "process/constants.h"

enum {
    NAME_BYTES = 256,
    TABLE_BYTES = 72, /* struct _GHashTable, as far as it is read */
    NODE_BYTES = 64,  /* struct _TypeNode before its supers, without the word that is gone */
    DATA_BYTES = 68,  /* struct _InstanceData, as far as it is read */
    LEAST_SOUND = 8,  /* names of a table; GObject's own are more */
    MOST_TYPES = 1 << 20,
    MOST_ENTRIES = 1 << 24, /* looked at in all: hostile data may lead to a table from everywhere */
    LAST_FUNDAMENTAL = 255 << 2,
    FUNDAMENTAL_INTERFACE = 2 << 2, /* G_TYPE_INTERFACE and so on */
    FUNDAMENTAL_ENUM = 12 << 2,
    FUNDAMENTAL_FLAGS = 13 << 2,
    FUNDAMENTAL_BOXED = 18 << 2,
};

void hs_gobject_types_fini(struct gobject_types *types)
{
    hs_free(types->types);
    hs_free(types->private_sizes);
    hs_dict_fini(&types->by_class);
    *types = (struct gobject_types){0};
}

/* ---- a type by its GType */

struct node {
    hs_addr data, fundamental;
};

/* A node has its own address in it, behind as many bytes as its version has. */
static bool node_read(const struct hs_image *image, hs_addr address, struct node *ret)
{
    uint64_t own, shift = 0;
    uint32_t facts;

    if (address % HS_WORD_BYTES != 0 || address <= LAST_FUNDAMENTAL || address >= HS_USER_END)
        return false;
    if (!hs_image_u64(image, address + NODE_BYTES, &own))
        return false;
    if (own != address) {
        shift = HS_WORD_BYTES;
        if (!hs_image_u64(image, address + NODE_BYTES + shift, &own) || own != address)
            return false;
    }
    hs_addr supers = address + NODE_BYTES + shift;
    if (!hs_image_u32(image, address + 12 + shift, &facts) ||
        !hs_image_u64(image, address + 24 + shift, &ret->data))
        return false;
    uint64_t n_supers = facts & 255;
    return hs_image_u64(image, supers + n_supers * HS_WORD_BYTES, &ret->fundamental) &&
           ret->fundamental <= LAST_FUNDAMENTAL;
}

/* Enumerations, flags, boxed types and interfaces have no instances that lead to their class. */
static bool node_has_instances(const struct node *node)
{
    return node->data != 0 && node->fundamental != FUNDAMENTAL_INTERFACE &&
           node->fundamental != FUNDAMENTAL_ENUM && node->fundamental != FUNDAMENTAL_FLAGS &&
           node->fundamental != FUNDAMENTAL_BOXED;
}

/* False when the type has no class in memory: then it has no instances either. */
static bool node_type(const struct hs_image *image, hs_addr address, struct gobject_type *ret)
{
    struct node node;
    uint64_t own;

    if (!node_read(image, address, &node) || !node_has_instances(&node))
        return false;
    const uint8_t *data = hs_image_bytes(image, node.data, DATA_BYTES);
    if (data == NULL)
        return false;
    *ret = (struct gobject_type){.class_at = hs_load_u64(data + 56),
                                 .class_init = hs_load_u64(data + 32),
                                 .instance_bytes = hs_load_u16(data + 64),
                                 .private_bytes = hs_load_u16(data + 66)};
    return ret->instance_bytes >= HS_WORD_BYTES && ret->private_bytes % HS_WORD_BYTES == 0 &&
           hs_image_u64(image, ret->class_at, &own) && own == address;
}

bool hs_gobject_is_instance(const struct hs_image *image, hs_addr address,
                            uint16_t *ret_private_bytes)
{
    struct gobject_type type;
    uint64_t class_at, gtype;

    if (!hs_image_u64(image, address, &class_at) || !hs_image_u64(image, class_at, &gtype) ||
        !node_type(image, gtype, &type) || type.class_at != class_at)
        return false;
    *ret_private_bytes = type.private_bytes;
    return true;
}

/* ---- the table of names */

/* The words of a hash table of GLib's: `n` of each. */
struct names {
    const uint8_t *keys, *hashes, *values;
    uint64_t n, n_used;
};

static bool names_find(const struct hs_image *image, hs_addr table, struct names *ret)
{
    const uint8_t *bytes =
        table % HS_WORD_BYTES == 0 ? hs_image_bytes(image, table, TABLE_BYTES) : NULL;
    if (bytes == NULL)
        return false;
    uint64_t n = hs_load_u64(bytes);
    uint32_t n_nodes = hs_load_u32(bytes + 16), n_occupied = hs_load_u32(bytes + 20);
    if (n < LEAST_SOUND || n > MOST_TYPES || (n & (n - 1)) != 0 || hs_load_u32(bytes + 12) != n - 1)
        return false;
    if (n_nodes < LEAST_SOUND || n_nodes > n_occupied || n_occupied > n)
        return false;
    *ret = (struct names){
        .keys = hs_image_bytes(image, hs_load_u64(bytes + 32), n * HS_WORD_BYTES),
        .hashes = hs_image_bytes(image, hs_load_u64(bytes + 40), n * sizeof(uint32_t)),
        .values = hs_image_bytes(image, hs_load_u64(bytes + 48), n * HS_WORD_BYTES),
        .n = n,
        .n_used = n_nodes,
    };
    return ret->keys != NULL && ret->hashes != NULL && ret->values != NULL;
}

static bool name_is_one(const char *name)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
    static const char others[] = "0123456789-+";
    const char *at = name;

    if (strspn(name, letters) == 0)
        return false;
    while (*at != '\0' && (strchr(letters, *at) != NULL || strchr(others, *at) != NULL))
        at++;
    return *at == '\0';
}

/* glib/gstring.c, g_str_hash; 0 and 1 mean free places of a table. */
static uint32_t name_hash(const char *name)
{
    uint32_t hash = 5381;

    for (; *name != '\0'; name++)
        hash = hash * 33 + (unsigned char)*name; /* names are of ASCII: no sign to extend */
    return hash < 2 ? 2 : hash;
}

/* Is entry number i a name as its hash says, of a type? */
static bool names_entry(const struct hs_process_copy *process, const struct names *names,
                        uint64_t i, char name[NAME_BYTES], hs_addr *ret_gtype)
{
    struct node node;

    *ret_gtype = hs_load_u64(names->values + i * HS_WORD_BYTES);
    return hs_constant_string(process->image, process->objects,
                              hs_load_u64(names->keys + i * HS_WORD_BYTES), name, NAME_BYTES) &&
           name_is_one(name) &&
           name_hash(name) == hs_load_u32(names->hashes + i * sizeof(uint32_t)) &&
           (*ret_gtype <= LAST_FUNDAMENTAL || node_read(process->image, *ret_gtype, &node));
}

/* Most of a table must be sound: one may have been caught in the middle of a change. */
static bool names_are_sound(struct gobject_types *types, const struct names *names)
{
    char name[NAME_BYTES];
    uint64_t n = 0, n_sound = 0;
    hs_addr gtype;

    if (names->n > MOST_ENTRIES - types->n_entries)
        return false;
    types->n_entries += names->n;
    for (uint64_t i = 0; i < names->n; i++) {
        if (hs_load_u32(names->hashes + i * sizeof(uint32_t)) < 2)
            continue;
        n++;
        n_sound += names_entry(types->process, names, i, name, &gtype);
        if (n == LEAST_SOUND && n_sound == 0)
            return false;
    }
    if (n_sound < LEAST_SOUND || n_sound < n - n / 4)
        return false;
    types->n_names += names->n_used;
    types->n_sound += n_sound;
    return true;
}

static hs_status types_add(struct gobject_types *types, const char *name,
                           const struct gobject_type *type, struct hs_error *err)
{
    struct hs_strtab *strings = types->process->findings->strings;
    char class_name[NAME_BYTES + sizeof "Class"];
    struct gobject_type new = *type;

    if (hs_dict_find(&types->by_class, type->class_at) != NULL || types->n == MOST_TYPES)
        return HS_OK;
    snprintf(class_name, sizeof class_name, "%sClass", name);
    HS_TRY(hs_strtab_add(strings, name, &new.name, err));
    HS_TRY(hs_strtab_add(strings, class_name, &new.class_name, err));
    HS_TRY(HS_GROW(&types->types, &types->capacity, types->n + 1, err));
    HS_TRY(hs_dict_put(&types->by_class, new.class_at, types->n, err));
    types->types[types->n++] = new;
    return HS_OK;
}

hs_status hs_gobject_read_table(struct gobject_types *types, hs_addr table, bool *ret_is_one,
                                struct hs_error *err)
{
    const struct hs_image *image = types->process->image;
    struct names names;
    char name[NAME_BYTES];
    hs_addr gtype;

    *ret_is_one = names_find(image, table, &names) && names_are_sound(types, &names);
    for (uint64_t i = 0; *ret_is_one && i < names.n; i++) {
        struct gobject_type type;
        if (hs_load_u32(names.hashes + i * sizeof(uint32_t)) >= 2 &&
            names_entry(types->process, &names, i, name, &gtype) && node_type(image, gtype, &type))
            HS_TRY(types_add(types, name, &type, err));
    }
    return HS_OK;
}

static int types_compare(const void *left, const void *right)
{
    const uint16_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

hs_status hs_gobject_types_seal(struct gobject_types *types, struct hs_error *err)
{
    size_t n = 0;

    if (types->n == 0)
        return HS_OK;
    HS_TRY(HS_GROW(&types->private_sizes, &types->private_sizes_capacity, types->n, err));
    types->first_class = UINT64_MAX;
    for (size_t i = 0; i < types->n; i++) {
        const struct gobject_type *type = &types->types[i];
        types->private_sizes[i] = type->private_bytes;
        if (type->class_at < types->first_class)
            types->first_class = type->class_at;
        if (type->class_at > types->last_class)
            types->last_class = type->class_at;
    }
    qsort(types->private_sizes, types->n, sizeof *types->private_sizes, types_compare);
    for (size_t i = 0; i < types->n; i++)
        if (n == 0 || types->private_sizes[n - 1] != types->private_sizes[i])
            types->private_sizes[n++] = types->private_sizes[i];
    types->n_private_sizes = n;
    return HS_OK;
}
