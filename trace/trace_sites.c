#include "trace_sites.h"

#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"

void hs_trace_sites_init(struct trace_sites *sites)
{
    *sites = (struct trace_sites){0};
    if (getrandom(&sites->secret, sizeof sites->secret, GRND_NONBLOCK) !=
        (ssize_t)sizeof sites->secret)
        sites->secret = (uint64_t)(uintptr_t)sites * 0x9e3779b97f4a7c15U;
}

void hs_trace_sites_fini(struct trace_sites *sites)
{
    hs_free(sites->slots);
    hs_free(sites->locations);
    hs_strtab_fini(&sites->strings);
    *sites = (struct trace_sites){0};
}

hs_status hs_trace_sites_string(struct trace_sites *sites, const char *text, size_t n_bytes,
                                hs_str *ret, struct hs_error *err)
{
    if (n_bytes >= TRACE_MAX_TEXT_BYTES ||
        sites->strings.text_bytes > TRACE_MAX_TEXT_BYTES - n_bytes) {
        *ret = 0;
        return HS_OK;
    }
    return hs_strtab_add_n(&sites->strings, text, n_bytes, ret, err);
}

static uint64_t sites_hash(const struct trace_sites *sites, uint64_t code)
{
    uint64_t h = code ^ sites->secret;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdU;
    h = (h ^ sites->secret << 1 ^ h >> 33) * 0xc4ceb9fe1a85ec53U;
    return h ^ h >> 33;
}

/* The slot of a code, or the free one where it belongs. */
static struct trace_site *sites_slot(const struct trace_sites *sites, uint64_t code)
{
    size_t mask = sites->n_slots - 1;
    size_t at = (size_t)sites_hash(sites, code) & mask;
    while (sites->slots[at].n != 0 && sites->slots[at].code != code)
        at = (at + 1) & mask;
    return &sites->slots[at];
}

const struct trace_site *hs_trace_sites_find(const struct trace_sites *sites, uint64_t code)
{
    if (sites->n_slots == 0)
        return NULL;
    const struct trace_site *slot = sites_slot(sites, code);
    return slot->n == 0 ? NULL : slot;
}

/* Keeps the table at most half full with one more code. */
static hs_status sites_reserve(struct trace_sites *sites, struct hs_error *err)
{
    if ((sites->n_used + 1) * 2 <= sites->n_slots)
        return HS_OK;
    struct trace_site *old = sites->slots;
    size_t n_old = sites->n_slots;
    void *slots;
    HS_TRY(hs_alloc(n_old == 0 ? 256 : n_old * 2, sizeof *old, &slots, err));
    sites->slots = slots;
    sites->n_slots = n_old == 0 ? 256 : n_old * 2;
    for (size_t i = 0; i < n_old; i++) {
        if (old[i].n != 0)
            *sites_slot(sites, old[i].code) = old[i];
    }
    hs_free(old);
    return HS_OK;
}

static bool any_damaged(const struct hs_trace_location *locations, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (locations[i].is_damaged)
            return true;
    }
    return false;
}

hs_status hs_trace_sites_put(struct trace_sites *sites, uint64_t code,
                             const struct hs_trace_location *locations, size_t n,
                             struct hs_error *err)
{
    HS_TRY(sites_reserve(sites, err));
    struct trace_site *slot = sites_slot(sites, code);
    if (slot->n != 0 && any_damaged(locations, n) &&
        !any_damaged(sites->locations + slot->first, slot->n))
        return HS_OK;
    if (slot->n < n) {
        if (sites->n_locations + n > TRACE_MAX_LOCATIONS)
            return HS_OK;
        HS_TRY(hs_grow((void **)&sites->locations, &sites->capacity, sites->n_locations + n,
                       sizeof *sites->locations, err));
        sites->n_used += slot->n == 0;
        slot->code = code;
        slot->first = (uint32_t)sites->n_locations;
        sites->n_locations += n;
    }
    slot->n = (uint32_t)n;
    memcpy(sites->locations + slot->first, locations, n * sizeof *locations);
    return HS_OK;
}
