/* Suspects as a growing list. */
#include "base/alloc.h"
#include "suspect_finds.h"

const char *hs_suspect_list_name(unsigned list)
{
    static const char *const names[HS_N_SUSPECT_LISTS] = {"owner", "joint", "lost", "waste"};
    return list < HS_N_SUSPECT_LISTS ? names[list] : NULL;
}

hs_status hs_suspect_add(struct hs_suspects *suspects, enum hs_suspect_list list,
                         struct hs_suspect **ret, struct hs_error *err)
{
    HS_TRY(HS_GROW(&suspects->rows, &suspects->capacity, suspects->n + 1, err));
    struct hs_suspect *row = &suspects->rows[suspects->n++];
    *row = (struct hs_suspect){
        .list = list,
        .objects = HS_SUSPECT_UNKNOWN,
        .type = HS_UNTYPED,
        .hidden = HS_UNTYPED,
        .evidence = HS_NO_NODE,
        .entry = HS_NO_NODE,
        .inner = HS_NO_NODE,
        .at = {.top = HS_NO_NODE,
               .point = HS_NO_NODE,
               .bulk_top = HS_NO_NODE,
               .class_tops = {HS_NO_NODE, HS_NO_NODE}},
    };
    *ret = row;
    return HS_OK;
}

void hs_suspect_fini(struct hs_suspect *row)
{
    hs_free(row->holder);
    hs_free(row->alias);
    hs_free(row->class_holders[0]);
    hs_free(row->class_holders[1]);
    hs_free(row->bulk_place);
    hs_free(row->within_place);
    hs_free(row->cycle);
    hs_free(row->site);
    hs_free(row->all_roots);
    hs_free(row->fold_name);
}

void hs_suspects_fini(struct hs_suspects *suspects)
{
    for (size_t i = 0; i < suspects->n; i++)
        hs_suspect_fini(&suspects->rows[i]);
    hs_free(suspects->rows);
    hs_free(suspects->garbage_cycle);
    *suspects = (struct hs_suspects){0};
}
