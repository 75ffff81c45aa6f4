/* The snapshots of a connection, as its tables and functions ask for them. */
#include "hub.h"

#include "analysis/block_file.h"

enum { FEW_LOOKS = 8, ALL_LOOKED = UINT32_MAX };

struct hs_sql_source *hs_sql_hub_find(const struct hs_sql_hub *hub, const char *name)
{
    for (unsigned i = 0; i < hub->n_sources; i++)
        if (name == NULL || sqlite3_stricmp(hub->sources[i]->name, name) == 0)
            return hub->sources[i];
    return NULL;
}

void hs_sql_source_looked(struct hs_sql_source *source)
{
    struct hs_error ignored; /* without the file the answers are the same */
    bool has_more = false;
    if (source->n_looks == ALL_LOOKED || ++source->n_looks <= FEW_LOOKS)
        return;
    if (hs_block_file_add(&source->view, &has_more, &ignored) != HS_OK || !has_more)
        source->n_looks = ALL_LOOKED;
}

void hs_sql_hub_begin(struct hs_sql_hub *hub, uint64_t timeout_ns)
{
    uint64_t now = hs_now_ns();
    hub->deadline_ns = timeout_ns == 0 || timeout_ns > UINT64_MAX - now ? 0 : now + timeout_ns;
    hub->is_late = hub->has_failed = false;
    hub->denied[0] = 0;
}

hs_status hs_sql_hub_check(const struct hs_sql_hub *hub, hs_status status, struct hs_error *err)
{
    for (unsigned i = 0; i < hub->n_sources && status == HS_OK; i++)
        status = hs_view_check(&hub->sources[i]->view, status, err);
    return status;
}
