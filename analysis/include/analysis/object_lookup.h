/* WHAT: the one spelling of an object, printed by every command and accepted by every command.
 *
 *   N, sample:N    a sampled allocation's id          #N          a node
 *   sample:KIND:N  the same, of one of two samplers   root:NAME   a root
 *   0xADDR         a target address, inside is fine
 *   type:NAME      a type, or a family of types: the blocks that retain most
 *   set:N          an owner set: its top units that retain most
 *   NAME           a root, or else a type: of that very name, else a root that it is the end of */
#ifndef HS_ANALYSIS_OBJECT_LOOKUP_H
#define HS_ANALYSIS_OBJECT_LOOKUP_H

#include "analysis/sample_lookup.h"
#include "analysis/type_family.h"

#define HS_OBJECT_INSTANCES 10

enum hs_object_kind {
    HS_OBJECT_SAMPLE,
    HS_OBJECT_ADDRESS,
    HS_OBJECT_NODE,
    HS_OBJECT_ROOT,
    HS_OBJECT_TYPE,
    HS_OBJECT_SET
};

struct hs_object_spec {
    enum hs_object_kind kind;
    const struct hs_sample *sample;     /* when asked for by sample id */
    hs_node nodes[HS_OBJECT_INSTANCES]; /* at least one; several only for a type or a set */
    unsigned n_nodes;
    struct hs_type_family type; /* when asked for by type */
    uint32_t set;               /* when asked for by set */
};

/* Looks up what `text` means. HS_USAGE when there is no such thing (what was looked for, what it
 * may be meant to be, and how to see what there is) or a root's name is ambiguous (the hint lists
 * candidates). An exact name wins over a suffix. */
hs_status hs_object_lookup(struct hs_view *view, const char *text, struct hs_object_spec *ret,
                           struct hs_error *err);
/* The same with the view's samples joined: a trace tells what became of a sample that is gone. */
hs_status hs_object_lookup_joined(struct hs_sample_join *join, const char *text,
                                  struct hs_object_spec *ret, struct hs_error *err);

/* The checks of a bare name (no "root:", "#", address and the like): whether `text` is one, and
 * whether a root or a type is called so. One that is neither may be a site's, which is no
 * object. */
bool hs_object_is_bare(const char *text);
bool hs_object_is_known(const struct hs_view *view, const char *name);

/* Finds the block that a root points to which the user has named `text`; of those that the slots of
 * a variable lead to, the one that retains most. Needs an index. HS_USAGE when it is none, or a
 * group of roots. */
hs_status hs_object_target(const struct hs_view *view, const char *text, hs_node node, hs_node *ret,
                           struct hs_error *err);

/* Writes the slots of a variable, as in "#12 server.db, #13 server.clients, ...". `text` has n
 * bytes. */
void hs_object_list_slots(const struct hs_view *view, hs_node variable, char *text, size_t n);

#endif
