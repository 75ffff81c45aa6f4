/* Names a block by the way to it from a root: "server.db[0].dict". Texts are the caller's
 * (hs_free) and not cleaned for a terminal. */
#ifndef HS_ANALYSIS_BLOCK_NAME_H
#define HS_ANALYSIS_BLOCK_NAME_H

#include "analysis/path_fold.h"

/* The text of a folded way from a root; the root's name alone where types say nothing. */
hs_status hs_fold_text(const struct hs_view *view, hs_node root, const struct hs_path_fold *fold,
                       char **ret, struct hs_error *err);

/* Names a block that one root keeps by its dominators. `root` is told where they are too many. */
hs_status hs_name_by_dominators(struct hs_view *view, hs_node block, hs_node root, char **ret,
                                struct hs_error *err);

/* Names the way to a block from the nearest of its dominators that has the type, by a shortest way
 * of pointers where one is found, else by dominators: ".__traceback__.tb_frame". *ret is left as it
 * is when none has it, or no member tells. `is_outermost`: of a few of the type in each other, a
 * view and the array that it is of, from the outermost. */
hs_status hs_name_below(struct hs_view *view, hs_node block, uint32_t type, bool is_outermost,
                        char **ret, struct hs_error *err);

/* Names a shortest way from a block back to itself: "->handler->self"; where no member tells the
 * classes on it: "through X, Y", or "". *ret is left as it is when none is found, and where none of
 * them counts who refers to it: only of these a cycle is the reason why they are lost. */
hs_status hs_name_cycle(struct hs_view *view, hs_node block, char **ret, struct hs_error *err);

/* Finds on such a way the first object of Python that its collector does not look into: nothing
 * frees the cycle then. HS_UNTYPED: there is none. */
hs_status hs_cycle_hidden(struct hs_view *view, hs_node block, uint32_t *ret, struct hs_error *err);

/* Replaces the indices of a way by stars: "[17].key" by "[*].key". */
void hs_fold_indices(char *text);

/* Names any block by its dominators where one root keeps it, else by a shortest path; *ret is left
 * as it is when no root reaches it. */
hs_status hs_block_name(struct hs_view *view, hs_node block, char **ret, struct hs_error *err);

/* Backs out of the container that many hang in: of the way to one of them what all share, without
 * its place in a list, "{x1588}" and what follows, and without its index where it is one of many.
 * NULL stays. */
void hs_holder_trim(char *holder, bool is_one_of_many);

#endif
