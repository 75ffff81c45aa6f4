#include "trace_sites.h"

#include <string.h>

#include "base/alloc.h"

void hs_trace_sites_fini(struct trace_sites *sites)
{
    hs_free(sites->sites);
    hs_table_fini(&sites->by_code);
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

static uint32_t site_of(const struct trace_sites *sites, uint64_t code)
{
    return HS_TABLE_FIND(&sites->by_code, hs_hash(code), i, sites->sites[i].code == code);
}

const struct trace_site *hs_trace_sites_find(const struct trace_sites *sites, uint64_t code)
{
    uint32_t at = site_of(sites, code);
    return at == HS_NO_NUMBER ? NULL : &sites->sites[at];
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
    uint32_t at = site_of(sites, code);
    struct trace_site site = {.code = code};
    if (at != HS_NO_NUMBER)
        site = sites->sites[at];
    if (site.n != 0 && any_damaged(locations, n) &&
        !any_damaged(sites->locations + site.first, site.n))
        return HS_OK;
    if (site.n < n) {
        if (sites->n_locations + n > TRACE_MAX_LOCATIONS)
            return HS_OK;
        HS_TRY(HS_GROW(&sites->locations, &sites->capacity, sites->n_locations + n, err));
        HS_TRY(HS_GROW(&sites->sites, &sites->sites_capacity, sites->n_sites + 1, err));
        if (at == HS_NO_NUMBER) {
            HS_TRY(hs_table_add(&sites->by_code, hs_hash(code), sites->n_sites, err));
            at = (uint32_t)sites->n_sites++;
        }
        site.first = (uint32_t)sites->n_locations;
        sites->n_locations += n;
    }
    site.n = (uint32_t)n;
    sites->sites[at] = site;
    memcpy(sites->locations + site.first, locations, n * sizeof *locations);
    return HS_OK;
}
