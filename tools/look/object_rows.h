/* The rows of `object`: what stands in some relation to the object, or to the owner set, that was
 * asked for. */
#ifndef HS_LOOK_OBJECT_ROWS_H
#define HS_LOOK_OBJECT_ROWS_H

#include "analysis/containers.h"
#include "report/listing.h"

#define HS_POINTS_TO "points to" /* the relation of links that lead out */

/* A relation that is no edge, in JSON. */
extern const struct hs_record hs_node_record;

/* Writes a link. `with_why`: the row tells why the link counts for less. */
hs_status hs_object_put_link(struct hs_sink *sink, const struct hs_surroundings *around,
                             bool with_why, const char *relation, const struct hs_link *link,
                             struct hs_error *err);
hs_status hs_object_put_node(struct hs_sink *sink, struct hs_view *view, const char *relation,
                             hs_node node, struct hs_error *err);
/* Writes the line "[n more]" of a relation; none for 0, and in JSON. */
hs_status hs_object_put_more(struct hs_sink *sink, const char *relation, uint64_t n,
                             struct hs_error *err);

/* A container whose body the object is, or to whose body it leads: a record of its own in JSON, as
 * a line "orders: std::map<int, Order>: 2000 elements". */
extern const struct hs_record hs_container_record;
hs_status hs_object_put_container(struct hs_sink *sink, struct hs_view *view,
                                  const struct hs_container *container, struct hs_error *err);

#endif
