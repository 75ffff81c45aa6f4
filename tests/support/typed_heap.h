/* A made-up heap with a table of source types, marked and pushed. */
#ifndef HS_TESTS_TYPED_HEAP_H
#define HS_TESTS_TYPED_HEAP_H

#include "fake_heap.h"
#include "ocaml/source_types/push.h"

#define TYPES_HEAD "#heapsnap-ocaml-types 1\n"

struct world {
    struct fake_heap *fake;
    struct hs_block_map map;
    struct hs_ocaml_marks marks;
    struct hs_stables tables;
    struct hs_spush push;
};

/* A heap in which camlM is, the first of static data. */
struct fake_heap *unit_heap(void);
/* The fields of camlM, each that is a block a root. */
void put_unit(struct fake_heap *fake, const uint64_t *fields, size_t n);
/* Elements alike; the empty list is 1. */
hs_addr put_list(struct fake_heap *fake, size_t n, hs_addr element);

/* Marks the heap and parses the table, its two parts in a row. */
void world_open(struct world *w, struct fake_heap *fake, const char *first, const char *lines);
hs_status world_push(struct world *w, struct hs_error *err);
/* Both. */
void world_make(struct world *w, struct fake_heap *fake, const char *first, const char *lines);
void world_close(struct world *w);

/* "" when it has none. */
const char *type_at(const struct world *w, hs_addr address);

#endif
