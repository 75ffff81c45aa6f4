#include "type_paths_print.h"
#include "analysis/root_name.h"

#include <string.h>

static struct hs_path_tree_shown shown_of(const struct hs_type_paths *paths)
{
    struct hs_path_tree_shown shown = {
        .view = paths->view,
        .tree = &paths->tree,
        .sums = paths->sums,
    };
    if (paths->instances.stride == 1) /* else they are of other measure */
        shown.unreached = paths->instances.unreached;
    return shown;
}

static hs_status print_heading(struct hs_tool *tool, const struct hs_type_paths *paths,
                               struct hs_error *err)
{
    const struct hs_instances *all = &paths->instances;
    char label[512], name[HS_TYPE_NAME_BYTES], size[HS_SIZE_TEXT_BYTES];
    unsigned word_bytes = paths->view->facts->word_bytes;
    if (paths->set != 0) {
        hs_set_label(paths->view, paths->set, label, sizeof label);
        HS_TRY(hs_tool_say(tool, err, "%s", label));
        return hs_print(&tool->out, err, "%zu block%s, with all that hangs on %s %s\n", all->n,
                        all->n == 1 ? "" : "s", all->n == 1 ? "it" : "them",
                        hs_tool_size(tool, all->reached.words, word_bytes, size));
    }
    hs_type_family_name(paths->view, paths->type.first, paths->type.level, name, sizeof name);
    HS_TRY(hs_tool_print_clean(tool, name, err));
    HS_TRY(hs_print(&tool->out, err, ": %lu objects that roots reach, %s\n",
                    (unsigned long)all->reached.objects,
                    hs_tool_size(tool, all->reached.words, word_bytes, size)));
    if (hs_type_paths_n_followed(paths) == all->reached.objects)
        return HS_OK;
    return hs_print(&tool->out, err, "counted are %lu of them, one of every %lu\n",
                    (unsigned long)hs_type_paths_n_followed(paths), (unsigned long)all->stride);
}

hs_status hs_type_paths_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              const struct hs_type_paths *paths, struct hs_error *err)
{
    struct hs_path_tree_shown shown = shown_of(paths);
    if (hs_tool_format(inv) == HS_FORMAT_TABLE)
        HS_TRY(print_heading(tool, paths, err));
    return hs_path_tree_print(tool, inv, &shown, err);
}

hs_status hs_type_paths_pairs_init(const struct hs_type_paths *paths, uint64_t limit,
                                   struct hs_type_paths_pairs *ret, struct hs_error *err)
{
    const struct hs_instances *all = &paths->instances;
    *ret = (struct hs_type_paths_pairs){
        .shown = shown_of(paths),
        .set_of = {paths->view, paths->set, UINT64_MAX},
        .set = {.each = hs_set_one, .context = &ret->set_of, .is_block = true},
        .members = {HS_ONE("set", &ret->set), HS_PAIRS_END},
    };
    if (paths->set == 0) {
        hs_type_family_name(paths->view, paths->type.first, paths->type.level, ret->name,
                            sizeof ret->name);
        const struct hs_pair instances[] = {
            HS_OBJECT("instances"),
            HS_TEXT("type", ret->name),
            HS_COUNT("objects", all->reached.objects),
            HS_COUNT("words", all->reached.words),
            HS_COUNT("followed_objects", hs_type_paths_n_followed(paths)),
            HS_COUNT("unreached_objects", all->unreached.objects),
            HS_COUNT("unreached_words", all->unreached.words),
            HS_END,
            HS_PAIRS_END};
        memcpy(ret->members, instances, sizeof instances);
    }
    return hs_path_tree_pairs_init(&ret->shown, limit, &ret->tree, err);
}
