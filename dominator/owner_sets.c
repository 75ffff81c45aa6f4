#include "dominator/owner_sets.h"

#include <assert.h>

#include "owner_table.h"

hs_status hs_owner_sets_give(struct hs_condensed *condensed, const struct hs_owner_tops *tops,
                             const struct hs_owner_request *request,
                             const struct hs_progress *progress, struct hs_error *err)
{
    struct hs_owners owners = {
        .condensed = condensed,
        .tops = tops,
        .roots = request->roots,
        .max_listed = request->max_listed,
        .sink_bytes = request->sink_bytes,
        .progress = progress,
    };

    assert(condensed->signature != NULL);
    hs_status status = owner_table_make(&owners, err);
    if (status == HS_OK)
        status = request->take(request->context, &owners, err);
    owner_table_fini(&owners.table);
    return status;
}

uint32_t hs_owners_n_sets(const struct hs_owners *owners)
{
    return (uint32_t)owners->table.n;
}

struct hs_sizes hs_owners_others(const struct hs_owners *owners, uint64_t *ret_n)
{
    *ret_n = owners->table.n_others;
    return owners->table.others;
}

struct hs_owner_set hs_owners_set(const struct hs_owners *owners, uint32_t set)
{
    assert(set >= 1 && set <= owners->table.n);
    return owners->table.entries[set - 1].set;
}

/* ---- top units ---- */

struct top_run {
    const struct hs_owners *owners;
    const struct hs_owner_top_sink *sink;
};

static hs_status top_put(void *context, hs_node top, uint64_t place, struct hs_error *err)
{
    const struct top_run *run = context;
    const struct owner_table *table = &run->owners->table;
    const struct owner_entry *entry =
        owner_table_find(table, run->owners->condensed->signature[place]);
    uint32_t set = entry == NULL ? HS_SET_OTHERS : (uint32_t)(entry - table->entries) + 1;

    return run->sink->put(run->sink->context, top, set, err);
}

hs_status hs_owners_tops(const struct hs_owners *owners, const struct hs_owner_top_sink *sink,
                         struct hs_error *err)
{
    struct top_run run = {owners, sink};

    assert(owners->condensed->signature != NULL);
    return owners->tops->run(owners->tops->context, top_put, &run, err);
}
