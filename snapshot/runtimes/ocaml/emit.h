/* The output of a walk of an OCaml heap, block by block in address order, each with its strong,
 * weak and ephemeron edges. */
#ifndef HS_OCAML_EMIT_H
#define HS_OCAML_EMIT_H

#include "runtimes/runtime.h"

struct hs_ocaml_session;
struct hs_ocaml_emitter;

/* Makes an emitter, after marking. Indexes the map: no block is added afterwards. `session` is
 * borrowed until free. Resident: the ranks (1/64 byte per word), the edges of one block, 16 bytes
 * per key of a live ephemeron. */
hs_status hs_ocaml_emitter_new(struct hs_ocaml_session *session, struct hs_ocaml_emitter **ret,
                               struct hs_error *err);
void hs_ocaml_emitter_free(struct hs_ocaml_emitter *emitter);
/* Returns the address of the next block; false behind the last. */
bool hs_ocaml_emitter_peek(struct hs_ocaml_emitter *emitter, hs_addr *ret);
/* Makes the next block and its edges; a peek must have found it. Custom and abstract blocks have
 * foreign words. */
hs_status hs_ocaml_emitter_next(struct hs_ocaml_emitter *emitter, struct hs_runtime_block *ret,
                                struct hs_error *err);
/* Finds the next reached block, or the next that is garbage, that has foreign words: those alone,
 * no edges and no type. False behind the last. */
bool hs_ocaml_emitter_next_foreign(struct hs_ocaml_emitter *emitter, bool of_garbage,
                                   struct hs_runtime_block *ret);
/* Goes back to before the first block. */
void hs_ocaml_emitter_rewind(struct hs_ocaml_emitter *emitter);
/* Lists the types of the blocks that were given so far. */
hs_status hs_ocaml_emitter_types(const struct hs_ocaml_emitter *emitter, struct hs_type_tables *ret,
                                 struct hs_error *err);
/* Lists sampled allocations by ascending id, with their nodes. */
hs_status hs_ocaml_emitter_samples(const struct hs_ocaml_emitter *emitter,
                                   struct hs_runtime_samples *ret, struct hs_error *err);

#endif
