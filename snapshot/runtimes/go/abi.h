/* The descriptions of types in a Go program, which no strip takes away (private to
 * snapshot/runtimes/go): internal/abi/type.go. Fields of structs have their names there. */
#ifndef HS_GO_ABI_H
#define HS_GO_ABI_H

#include "heap.h"

enum { HS_GO_TYPE_NAME_BYTES = 512, HS_GO_ELEM_AT = 48, HS_GO_FIELDS_MAX = 1 << 16 };
/* The place in a map's type where that of its buckets stands, since 1.24 that of its groups. */
enum { HS_GO_ENTRIES_AT = 64, HS_GO_MINOR_OF_GROUPS = 24 };
/* The place in a map's record where its entries, or its directory, stand. */
enum { HS_GO_MAP_ENTRIES_AT = 16 };
enum hs_go_kind {
    HS_GO_ARRAY = 17,
    HS_GO_CHAN,
    HS_GO_FUNC,
    HS_GO_INTERFACE,
    HS_GO_MAP,
    HS_GO_POINTER,
    HS_GO_SLICE,
    HS_GO_STRING,
    HS_GO_STRUCT,
    HS_GO_UNSAFE
};

struct hs_go_type {
    hs_addr address;
    uint64_t n_bytes, n_pointer_bytes; /* no word behind these is a pointer */
    unsigned kind, flags;
    bool is_direct; /* a word of an interface is the value itself */
};

/* Reads the description at an address. False: there is none, or it makes no sense. */
bool hs_go_read_type(const struct hs_go_heap *heap, hs_addr address, struct hs_go_type *ret);
/* Reads a type's name into `text` of HS_GO_TYPE_NAME_BYTES: "tsdb.Head", "[]string". */
bool hs_go_type_name(const struct hs_go_heap *heap, const struct hs_go_type *type, char *text);
bool hs_go_is_named(const struct hs_go_heap *heap, hs_addr type, const char *name);
/* Finds the type that the first word of an interface says: it is one, or leads to a table of
 * methods {interface, type}. 0: it says none. */
hs_addr hs_go_dynamic_type(const struct hs_go_heap *heap, uint64_t word);
/* Finds the field of a struct that an offset is in: `offset` becomes that in the field. */
bool hs_go_field_at(const struct hs_go_heap *heap, hs_addr type, uint64_t *offset, hs_addr *ret);

/* Finds what a word of a type leads to. */
struct hs_go_slot_kind {
    uint8_t kind;   /* enum hs_go_kind; 0: nothing that is known */
    hs_addr of;     /* the type of what it leads to; of a map the map's; 0: unknown */
    hs_addr holder; /* of HS_GO_UNSAFE: the struct of which it is a field; else 0 */
};
struct hs_go_slot_kind hs_go_find_slot(const struct hs_go_heap *heap, hs_addr address,
                                       uint64_t offset);

/* A field of a struct, and how many there are; false: there is none of this number. */
struct hs_go_field {
    hs_addr name; /* for hs_go_text */
    hs_addr type;
    uint64_t offset;
};
uint64_t hs_go_n_fields(const struct hs_go_heap *heap, hs_addr type);
bool hs_go_field(const struct hs_go_heap *heap, hs_addr type, uint64_t number,
                 struct hs_go_field *ret);
/* Reads the text of a name: its first bytes where it is longer than `n` - 1. False: it has none. */
bool hs_go_text(const struct hs_go_heap *heap, hs_addr name, char *text, size_t n);
/* The number of elements of an array. */
uint64_t hs_go_array_length(const struct hs_go_heap *heap, hs_addr type);

#endif
