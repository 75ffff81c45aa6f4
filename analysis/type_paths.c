#include "analysis/type_paths.h"

#include "analysis/set_tops.h"
#include "base/alloc.h"

static hs_status find(struct hs_type_paths *paths, struct hs_error *err)
{
    struct hs_instances *all = &paths->instances;
    if (paths->set != 0)
        HS_TRY(hs_instances_of_set(paths->view, paths->set, all, err));
    else
        HS_TRY(hs_instances_of(paths->view, paths->type, all, err));
    HS_TRY(hs_path_tree_make(paths->view, all->targets, all->n, &paths->tree, err));
    return hs_path_tree_sum(&paths->tree, all->targets, &paths->sums, err);
}

static hs_status keep(struct hs_type_paths *paths, hs_status status, struct hs_type_paths *ret)
{
    if (status == HS_OK)
        *ret = *paths;
    else
        hs_type_paths_fini(paths);
    return status;
}

hs_status hs_type_paths_find(struct hs_view *view, struct hs_type_family type,
                             struct hs_type_paths *ret, struct hs_error *err)
{
    struct hs_type_paths paths = {.view = view, .type = type};
    return keep(&paths, find(&paths, err), ret);
}

hs_status hs_set_paths_find(struct hs_view *view, uint32_t set, struct hs_type_paths *ret,
                            struct hs_error *err)
{
    struct hs_type_paths paths = {.view = view, .set = set};
    return keep(&paths, find(&paths, err), ret);
}

void hs_type_paths_fini(struct hs_type_paths *paths)
{
    hs_instances_fini(&paths->instances);
    hs_path_tree_fini(&paths->tree);
    hs_free(paths->sums);
    *paths = (struct hs_type_paths){0};
}

uint64_t hs_type_paths_n_followed(const struct hs_type_paths *paths)
{
    return paths->instances.n - paths->tree.n_unfollowed;
}
