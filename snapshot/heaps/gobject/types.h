/* The types of GObject, as libgobject has them in the process (private to snapshot/heaps). None of
 * its structures is public. They are read as GLib 2.74 and 2.84 have them, which differ by one
 * word, and each is believed only where it proves itself.
 *
 *   static_type_nodes_ht   GHashTable: name -> GType; the hash of each name is stored beside it
 *   TypeNode               what a GType is the address of: its supers[] begin with itself
 *   TypeData               the class, and the sizes of an instance and of its private parts
 *
 *   | private parts | GtkWidget: class, ... |     one block: an instance is not at its begin
 *                     ^ what pointers lead to
 *
 * Sources: gobject/gtype.c (struct _TypeNode, _InstanceData, g_type_create_instance), glib/ghash.c
 * (struct _GHashTable). */
#ifndef HS_GOBJECT_TYPES_H
#define HS_GOBJECT_TYPES_H

#include "base/table.h"
#include "heaps/allocator.h"

struct gobject_type {
    hs_addr class_at;
    hs_addr class_init; /* code of the library that has the type; 0: unknown */
    hs_str name, class_name;
    uint16_t private_bytes, instance_bytes;
};

struct gobject_types {
    const struct hs_process_copy *process; /* borrowed */
    struct gobject_type *types;            /* owned */
    size_t n, capacity;
    struct hs_dict by_class; /* address of the class > index */
    hs_addr first_class, last_class;
    uint16_t *private_sizes; /* owned: each once, ascending */
    size_t n_private_sizes, private_sizes_capacity;
    uint64_t n_entries;        /* of what may be tables of names: looked at so far */
    uint64_t n_names, n_sound; /* of the tables of names: all, those that are what they say */
};

/* Adds the types of one table of names, if `table` leads to one; *ret_is_one. Fails with HS_LIMIT.
 */
hs_status hs_gobject_read_table(struct gobject_types *types, hs_addr table, bool *ret_is_one,
                                struct hs_error *err);
/* After the last table. */
hs_status hs_gobject_types_seal(struct gobject_types *types, struct hs_error *err);
void hs_gobject_types_fini(struct gobject_types *types);

/* Is there an instance of a type at `address`? *ret_private_bytes: so far before it its block
 * begins. For who knows no types yet. */
bool hs_gobject_is_instance(const struct hs_image *image, hs_addr address,
                            uint16_t *ret_private_bytes);

#endif
