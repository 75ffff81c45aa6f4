/* A policy as the engines and the file need it: names of types looked up, and a number that tells
 * one policy's index from another's. */
#ifndef HS_INDEX_POLICY_H
#define HS_INDEX_POLICY_H

#include "index/index.h"

struct index_policy {
    uint64_t key;                 /* 0 firm, 1 conservative, else firm with these types */
    bool has_tiers;               /* edges take part by tiers */
    bool has_types;               /* `pointers_in` is set */
    struct hs_bitmap pointers_in; /* by type; owned */
};

#define INDEX_POLICY_FIRM 0
#define INDEX_POLICY_CONSERVATIVE 1

/* Looks up the types. HS_USAGE when the snapshot has no type of a name. O(types * names). */
hs_status index_policy_init(const struct hs_snap *snap, const struct hs_policy *policy,
                            struct index_policy *ret, struct hs_error *err);
void index_policy_fini(struct index_policy *policy);

/* Writes the part of the file's name before ".idx": "" or ".conservative" or a number; n >= 32. */
void index_policy_suffix(const struct index_policy *policy, char *text, size_t n);

static inline const struct hs_bitmap *index_policy_types(const struct index_policy *policy)
{
    return policy->has_types ? &policy->pointers_in : NULL;
}

#endif
