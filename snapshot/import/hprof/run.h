/* One import of an HPROF file:
 *
 *   hs_hprof_scan       every record: where names, classes, frames, roots and objects stand
 *   hs_hprof_classes    classes: names, where objects of each hold pointers, their types
 *   hs_hprof_roots      the root tree
 *   write               objects in the order of their identifiers
 *
 * Resident: 17 bytes an object, 16 a name. */
#ifndef HS_HPROF_RUN_H
#define HS_HPROF_RUN_H

#include "file.h"
#include "id_table.h"
#include "maker.h"

enum { HPROF_MAX_DEPTH = 1024, HPROF_MAX_BASIC = HPROF_N_TYPES };

struct hprof_field {
    uint32_t offset; /* bytes from the begin of an object's data */
    hs_str name;
    bool is_referent; /* of a class that is a reference */
};

struct hprof_class {
    uint64_t id, super_id;
    uint64_t name_id; /* a string of the file */
    hs_str name;
    uint64_t body;     /* of the sub-record in the file */
    uint32_t super;    /* index, or UINT32_MAX */
    uint32_t raw_size; /* of an object, as the file says */
    uint64_t n_data;   /* bytes that objects have, of this class and those above */
    uint64_t n_bytes;  /* of an object, by the rules of sizes */
    uint64_t n_static_bytes;
    size_t first_field, n_fields; /* objects' pointers: run->fields */
    bool is_reference;            /* soft, weak, final, phantom, or below */
};

struct hprof_root {
    uint64_t id;
    uint32_t thread, frame; /* serial; index, UINT32_MAX: none */
    uint8_t tag;
};

struct hprof_run {
    struct maker *maker;
    const struct hs_import_policy *policy;
    struct hprof_file file;
    struct id_table strings, objects, load_classes, serials, frames, traces, threads;
    struct id_table holders;     /* objects that are threads, by index, with their serial number */
    struct hprof_class *classes; /* owned: by ascending id */
    size_t n_classes, class_capacity;
    struct hprof_field *fields; /* owned */
    size_t n_fields, field_capacity;
    struct hprof_root *roots; /* owned: of the file, in its order */
    size_t n_roots, root_capacity;
    unsigned oop_bytes, min_bytes;           /* of a pointer and of an object without fields */
    bool raw_sizes;                          /* the file gives true sizes of objects */
    uint32_t unknown_type;                   /* of objects whose class is not known */
    uint32_t array_types[HPROF_MAX_BASIC];   /* types of arrays of basic values */
    uint64_t array_classes[HPROF_MAX_BASIC]; /* and their classes; 0: none */
    uint64_t n_missing;                      /* pointers to objects that the file does not have */
    unsigned address_shift;
    bool made_up; /* addresses are by rank */
};

hs_status hs_hprof_scan(struct hprof_run *run, struct hs_error *err);
hs_status hs_hprof_classes(struct hprof_run *run, struct hs_error *err);
hs_status hs_hprof_roots(struct hprof_run *run, struct hs_error *err);

/* A name of the file, cut; with '/' turned into '.' when it is a class's. */
hs_status hs_hprof_name(struct hprof_run *run, uint64_t string, bool is_class, hs_str *ret,
                        struct hs_error *err);
/* NULL when there is no such class. */
const struct hprof_class *hs_hprof_class(const struct hprof_run *run, uint64_t id);

/* Types: objects of class i, the class object of class i, arrays of basic values. */
static inline uint32_t hs_hprof_object_type(size_t at)
{
    return (uint32_t)(2 * at);
}

/* A class object's pointers, in the order of its record. */
struct hprof_static {
    uint64_t name;     /* a string; 0: no static field */
    const char *fixed; /* the name of what is none: "<super>" */
    uint64_t target;
    unsigned type; /* basic type */
};
struct hprof_statics {
    struct hprof_reader reader;
    const struct hprof_class *of;
    unsigned part; /* 0..3 fixed pointers, 4 constants, 5 static fields, 6 the end */
    uint64_t n_left;
    uint64_t fixed[4];
};
hs_status hs_hprof_statics(const struct hprof_run *run, const struct hprof_class *of,
                           struct hprof_statics *ret, struct hs_error *err);
/* False at the end. */
bool hs_hprof_static_next(struct hprof_statics *walk, struct hprof_static *ret);
/* Tells whether the class object holds it, by the policy; statics that are roots are not held. */
bool hs_hprof_static_held(const struct hprof_run *run, const struct hprof_static *at);

#endif
