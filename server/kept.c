#include "kept.h"

#include "base/alloc.h"

struct hs_kept *hs_kept_find(struct hs_kept_shelf *shelf, const uint64_t key[2])
{
    for (size_t i = 0; i < shelf->n; i++) {
        struct hs_kept *kept = shelf->items[i];
        if (kept->key[0] != key[0] || kept->key[1] != key[1])
            continue;
        kept->used_at = ++shelf->clock;
        kept->n_users++;
        return kept;
    }
    return NULL;
}

/* The one that was not used for longest. */
static void drop_oldest(struct hs_kept_shelf *shelf)
{
    size_t oldest = 0;
    for (size_t i = 1; i < shelf->n; i++)
        if (shelf->items[i]->used_at < shelf->items[oldest]->used_at)
            oldest = i;
    struct hs_kept *kept = shelf->items[oldest];
    shelf->n_bytes -= kept->map.n_bytes;
    shelf->items[oldest] = shelf->items[--shelf->n];
    hs_kept_let_go(kept);
}

hs_status hs_kept_add(struct hs_kept_shelf *shelf, const uint64_t key[2], struct hs_map *map,
                      struct hs_kept **ret, struct hs_error *err)
{
    struct hs_kept *kept = NULL;
    if (HS_ALLOC(&kept, 1, err) != HS_OK) {
        hs_map_close(map);
        return err->status;
    }
    *kept = (struct hs_kept){.key = {key[0], key[1]}, .map = *map, .n_users = 1};
    *map = (struct hs_map){0};
    *ret = kept;
    if (kept->map.n_bytes > HS_SERVER_KEPT_BYTES)
        return HS_OK;
    while (shelf->n == HS_SERVER_KEPT ||
           (shelf->n > 0 && shelf->n_bytes + kept->map.n_bytes > HS_SERVER_KEPT_BYTES))
        drop_oldest(shelf);
    kept->used_at = ++shelf->clock;
    kept->n_users++;
    shelf->n_bytes += kept->map.n_bytes;
    shelf->items[shelf->n++] = kept;
    return HS_OK;
}

void hs_kept_let_go(struct hs_kept *kept)
{
    if (kept == NULL || --kept->n_users > 0)
        return;
    hs_json_rows_fini(&kept->rows);
    hs_map_close(&kept->map);
    hs_free(kept);
}

void hs_kept_clear(struct hs_kept_shelf *shelf)
{
    while (shelf->n > 0)
        drop_oldest(shelf);
}
