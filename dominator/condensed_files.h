/* A condensed graph in files (dominator/condensed.h): how it is made and how it is read.
 *
 *   rows:   from the last word to the first they come by descending node, as searches from the
 *           roots want them; from the first to the last by ascending node, as lanes do
 *   sizes:  in the order of a search: nodes descending, then ends */
#ifndef HS_CONDENSED_FILES_H
#define HS_CONDENSED_FILES_H

#include "dominator/condensed.h"
#include "strong_components.h"

/* The most roots that are searched for together, in as many passes as it takes. */
#define CONDENSED_REST_MAX ((uint32_t)1 << 16)

/* The inputs of a condensed graph: components, and the edges between the units that are in them. */
struct condensed_parts {
    const struct strong_components *components;
    const struct hs_unit_edge_source *edges;
};

/* Writes the rows, sets n_nodes and what nodes of the root tree lead to alone. 4 bytes per node and
 * HS_STORED_LEAST_BYTES while it runs. */
hs_status condensed_files_make(const struct condensed_parts *parts, struct hs_condensed *condensed,
                               struct hs_error *err);
void condensed_files_fini(struct hs_condensed *condensed);

/* Reads own sizes of all places, or those of nodes or ends alone. Zero the reader first. */
hs_status condensed_files_sizes(const struct hs_condensed *condensed, bool nodes, bool ends,
                                struct hs_spill_reader *ret, struct hs_error *err);
hs_status condensed_files_next(struct hs_spill_reader *reader, struct hs_sizes *ret,
                               struct hs_error *err);

#endif
