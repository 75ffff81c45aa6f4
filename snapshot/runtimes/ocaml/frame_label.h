/* The name of a return address into OCaml code: function, source place, symbol. Each is worked out
 * once; a recursion of a million frames asks a million times. */
#ifndef HS_OCAML_FRAME_LABEL_H
#define HS_OCAML_FRAME_LABEL_H

#include "roots.h"

struct hs_frame_label {
    hs_str function; /* "Stm.observe", "List.map (inlined in Foo.bar)" */
    hs_str symbol;   /* "camlStm__observe_6961" */
    hs_str file;     /* 0 without debug information */
    uint32_t line, char_begin, char_end;
    uint64_t offset; /* of the return address from the symbol */
};

struct hs_frame_labels {
    struct hs_frame_label *labels; /* owned */
    size_t n, capacity;
    uint32_t *of_entry; /* owned: label index + 1 by entry index of the frame table */
};

void hs_frame_labels_fini(struct hs_frame_labels *labels);

/* Finds the label of a return address, by its entry in the frame table. */
hs_status hs_frame_label_of(struct hs_root_walk *walk, struct hs_frame_labels *labels,
                            const struct hs_frame_entry *entry, struct hs_frame_label *ret);

/* Makes the label of any code address, by its symbol alone. */
hs_status hs_frame_label_of_code(struct hs_root_walk *walk, hs_addr code,
                                 struct hs_frame_label *ret);

/* Finds the place that a descriptor has in the function that it is of, behind all inlined ones;
 * false when there is none. `file` has n bytes. */
bool hs_frame_own_place(const struct hs_ocaml *rt, const struct hs_frame_entry *entry, char *file,
                        size_t n, struct hs_frame_place *ret);

#endif
