#include "index_policy.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/nearest.h"

const char *hs_policy_name(unsigned kind)
{
    static const char *const names[HS_N_POLICY_KINDS] = {"firm", "conservative"};
    return kind < HS_N_POLICY_KINDS ? names[kind] : NULL;
}

static const char *type_name(const void *context, size_t at)
{
    const struct hs_snap *snap = context;
    return hs_snap_string(snap, hs_snap_type(snap, (uint32_t)at)->name);
}

/* "node" is "struct node"; a misspelt one is the nearest; or NULL. */
static const char *meant_type(const struct hs_snap *snap, const char *name)
{
    uint64_t n_types = hs_snap_totals(snap)->n_types;
    size_t n = strlen(name);

    for (uint64_t i = 0; i < n_types; i++) {
        const char *text = type_name(snap, i);
        size_t n_text = strlen(text);
        if (n != 0 && n_text > n && text[n_text - n - 1] == ' ' &&
            strcmp(text + n_text - n, name) == 0)
            return text;
    }
    return hs_nearest(name, type_name, snap, n_types);
}

/* Marks the types of a name: several may have it, and all of them are meant. */
static hs_status mark_types(const struct hs_snap *snap, const char *name, struct hs_bitmap *types,
                            struct hs_error *err)
{
    bool found = false;

    for (uint64_t i = 0; i < types->n_bits; i++) {
        const struct hs_type *type = hs_snap_type(snap, (uint32_t)i);
        if (strcmp(hs_snap_string(snap, type->name), name) != 0)
            continue;
        hs_bitmap_set(types, i);
        found = true;
    }
    if (found)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "the snapshot has no type '%.100s'", name);
    const char *meant = meant_type(snap, name);
    if (meant != NULL)
        return hs_hint(err, "did you mean '%.200s'?", meant);
    return hs_hint(err, "'heapsnap types' lists them: name one as it is printed there");
}

static hs_status policy_types(const struct hs_snap *snap, const struct hs_policy *policy,
                              struct index_policy *ret, struct hs_error *err)
{
    HS_TRY(hs_bitmap_init(&ret->pointers_in, hs_snap_totals(snap)->n_types, err));
    ret->has_types = true;
    for (size_t i = 0; i < policy->n_pointers_in; i++)
        HS_TRY(mark_types(snap, policy->pointers_in[i], &ret->pointers_in, err));
    /* By the types and not by the names: their order does not matter. */
    uint64_t n_bytes = (ret->pointers_in.n_bits + 63) / 64 * sizeof(uint64_t);
    ret->key = XXH3_64bits(ret->pointers_in.words, n_bytes) | 2;
    return HS_OK;
}

hs_status index_policy_init(const struct hs_snap *snap, const struct hs_policy *policy,
                            struct index_policy *ret, struct hs_error *err)
{
    *ret = (struct index_policy){.key = INDEX_POLICY_FIRM};
    if (policy->kind == HS_POLICY_CONSERVATIVE) {
        ret->key = INDEX_POLICY_CONSERVATIVE;
        return HS_OK;
    }
    ret->has_tiers = hs_snap_has_tiers(snap);
    if (policy->n_pointers_in == 0)
        return HS_OK;
    hs_status status = policy_types(snap, policy, ret, err);
    if (status != HS_OK)
        index_policy_fini(ret);
    return status;
}

void index_policy_fini(struct index_policy *policy)
{
    hs_bitmap_fini(&policy->pointers_in);
    *policy = (struct index_policy){0};
}

void index_policy_suffix(const struct index_policy *policy, char *text, size_t n)
{
    if (policy->key == INDEX_POLICY_FIRM)
        text[0] = '\0';
    else if (policy->key == INDEX_POLICY_CONSERVATIVE)
        (void)snprintf(text, n, ".conservative");
    else
        (void)snprintf(text, n, ".%016llx", (unsigned long long)policy->key);
}
