#include "index/index.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "index_engine.h"
#include "index_policy.h"
#include "index_private.h"

struct index_task {
    const struct hs_snap *snap;
    const struct hs_index_options *options;
    struct index_policy policy; /* owned */
    struct hs_index_estimate estimate;
};

/* ---- where ---- */

/* The path for a place, or NULL in *ret when there is none. */
static hs_status place_path(const struct index_task *task, enum hs_index_place place,
                            const char *end, char **ret, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(task->snap);
    const struct hs_index_options *options = task->options;
    char suffix[32];
    bool beside = place == HS_INDEX_BESIDE;
    const char *base = beside ? options->snap_path : options->cache_dir;
    void *memory;

    *ret = NULL;
    if (base == NULL || options->snap_path == NULL)
        return HS_OK;
    index_policy_suffix(&task->policy, suffix, sizeof suffix);
    size_t n = strlen(base) + sizeof suffix + 48;
    HS_TRY(hs_alloc(n, 1, &memory, err));
    if (beside)
        (void)snprintf(memory, n, "%s%s%s", base, suffix, end);
    else
        (void)snprintf(memory, n, "%s/%016llx%s%s", base, (unsigned long long)totals->checksum,
                       suffix, end);
    *ret = memory;
    return HS_OK;
}

static hs_status index_place_path(const struct index_task *task, enum hs_index_place place,
                                  char **ret, struct hs_error *err)
{
    return place_path(task, place, ".idx", ret, err);
}

hs_status hs_index_place_path(const struct hs_snap *snap, const struct hs_index_options *options,
                              enum hs_index_place place, const char *end, char **ret,
                              struct hs_error *err)
{
    struct index_task task = {.snap = snap, .options = options};
    HS_TRY(index_policy_init(snap, &options->policy, &task.policy, err));
    hs_status status = place_path(&task, place, end, ret, err);
    index_policy_fini(&task.policy);
    return status;
}

hs_status hs_index_policy_key(const struct hs_snap *snap, const struct hs_policy *policy,
                              uint64_t *ret, struct hs_error *err)
{
    struct index_policy found;
    HS_TRY(index_policy_init(snap, policy, &found, err));
    *ret = found.key;
    index_policy_fini(&found);
    return HS_OK;
}

/* Makes the directories of a path; those that are there are fine, and so is failing: opening the
 * file will tell. */
static void index_make_parents(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

/* ---- opening ---- */

/* A large file is verified page by page, as it is used. */
static bool index_is_small(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && (uint64_t)about.st_size <= HS_INDEX_EAGER_BYTES;
}

uid_t hs_index_maker(const struct hs_index_options *options, enum hs_index_place place)
{
    struct stat about;
    bool is_known = place == HS_INDEX_BESIDE && stat(options->snap_path, &about) == 0;
    return is_known ? about.st_uid : geteuid();
}

/* Tells whether the index was left by the snapshot that had this name before: a new one took its
 * place. */
static bool index_is_older(const char *path, const char *snap_path)
{
    struct stat index, snap;
    if (snap_path == NULL || stat(path, &index) != 0 || stat(snap_path, &snap) != 0)
        return false;
    return index.st_mtim.tv_sec < snap.st_mtim.tv_sec ||
           (index.st_mtim.tv_sec == snap.st_mtim.tv_sec &&
            index.st_mtim.tv_nsec < snap.st_mtim.tv_nsec);
}

/* Reports an index that is there and cannot be used, and why: computing it again takes time. */
static void index_tell_stale(const struct hs_index_options *options, const char *path,
                             hs_status status, const struct hs_error *err)
{
    if (status == HS_FORMAT && options->stale != NULL && !index_is_older(path, options->snap_path))
        options->stale(options->context, path, err->message);
}

/* Bounds the pages of the index file that stay resident to a quarter of the budget, or less where
 * all else leaves less. */
static void index_bound(struct hs_index *index, struct hs_budget *budget)
{
    if (budget == NULL || budget->limit_bytes == UINT64_MAX)
        return;
    hs_packed_pool_end(&index->pool);
    index->pool = (struct hs_packed_pool){.members = index->file.packed,
                                          .n_members = INDEX_N_SECTIONS,
                                          .most_bytes = budget->limit_bytes / 4,
                                          .budget = budget};
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        if (index->file.packed[i].is_mapped)
            index->file.packed[i].pool = &index->pool;
    hs_packed_pool_begin(&index->pool);
}

static hs_status index_open_any(struct hs_index *index, const struct index_task *task,
                                bool *ret_found, struct hs_error *err)
{
    const struct hs_index_options *options = task->options;

    *ret_found = false;
    for (unsigned place = 0; place < HS_N_INDEX_PLACES && !options->rebuild; place++) {
        char *path;
        HS_TRY(index_place_path(task, place, &path, err));
        if (path == NULL)
            continue;
        hs_status status =
            index_file_open(path, task->snap, task->policy.key, hs_index_maker(options, place),
                            index_is_small(path), &index->file, err);
        index_tell_stale(options, path, status, err);
        *ret_found = status == HS_OK;
        bool is_there = status == HS_IO && options->must_read && access(path, F_OK) == 0;
        if (status == HS_OK) {
            index_bound(index, options->budget);
            index->path = path;
            return HS_OK;
        }
        hs_free(path);
        if (status == HS_LIMIT || is_there)
            return status;
    }
    return HS_OK;
}

/* ---- building ---- */

/* `*ret_keep`: it ended early, with work done that the next run may use. */
static hs_status index_write(const struct index_task *task, struct index_output *out,
                             bool *ret_keep, bool *ret_resumed, struct hs_error *err)
{
    struct hs_budget *budget = task->options->budget;
    struct index_writer writer = {0};

    hs_status status = index_write_init(out, task->snap, task->policy.key, budget, &writer, err);
    if (status == HS_OK)
        status = index_engine_run(&(struct index_work){.snap = task->snap,
                                                       .policy = &task->policy,
                                                       .budget = budget,
                                                       .progress = task->options->progress,
                                                       .in_memory = task->estimate.in_memory,
                                                       .memory_bytes = task->estimate.memory_bytes},
                                  &writer, err);
    if (status == HS_OK)
        status = index_write_finish(&writer, err);
    if (status == HS_OK)
        status = index_output_commit(out, err);
    *ret_keep = status == HS_LIMIT && index_write_has(&writer, INDEX_PREDECESSORS);
    *ret_resumed = writer.is_resumed;
    index_write_fini(&writer);
    return status;
}

/* Computes the index. The work that an earlier run left may be of our format and of this snapshot
 * and still be wrong: when things do not fit together then, computes it again without that. */
static hs_status index_write_anew(const struct index_task *task, struct index_output *out,
                                  bool *ret_keep, struct hs_error *err)
{
    bool resumed = false;

    hs_status status = index_write(task, out, ret_keep, &resumed, err);
    if (!resumed || (status != HS_FORMAT && status != HS_BUG))
        return status;
    HS_TRY(index_output_cut(out, 0, err));
    return index_write(task, out, ret_keep, &resumed, err);
}

/* Builds into an output and opens what it has. Memory moves into the index, a file is closed. */
static hs_status index_build_into(struct hs_index *index, const struct index_task *task,
                                  struct index_output *out, bool *ret_unwritable,
                                  struct hs_error *err)
{
    bool keep = false;

    hs_status status = index_write_anew(task, out, &keep, err);
    *ret_unwritable = out->failed;
    if (status == HS_OK)
        status = index_file_of_output(out, task->snap, task->policy.key, &index->file, err);
    if (status == HS_OK)
        index_bound(index, task->options->budget);
    if (status == HS_OK && index->file.map.bytes == NULL) {
        index->memory = *out;
        *out = (struct index_output){0};
    }
    index_output_close(out, keep);
    return status;
}

/* Checks that the disk has room for what is still to be written. */
static hs_status index_room(const struct index_task *task, const struct index_output *out,
                            struct hs_error *err)
{
    uint64_t wanted = index_engine_file_bytes(task->snap), has = index_output_size(out);
    char *directory;

    HS_TRY(hs_strdup(out->path, &directory, err));
    char *slash = strrchr(directory, '/');
    if (slash != NULL)
        slash[slash == directory] = '\0';
    hs_status status =
        hs_disk_need(slash == NULL ? "." : directory, wanted > has ? wanted - has : 0, err);
    hs_free(directory);
    return status;
}

/* A place without room is none that can be written. */
static hs_status index_build_named(struct hs_index *index, const struct index_task *task,
                                   const char *path, bool *ret_unwritable, struct hs_error *err)
{
    struct index_output out;

    *ret_unwritable = true;
    HS_TRY(
        index_output_open_named(path, !task->options->rebuild, task->options->access, &out, err));
    hs_status status = index_room(task, &out, err);
    if (status != HS_OK) {
        index_output_close(&out, index_output_size(&out) != 0);
        return status;
    }
    return index_build_into(index, task, &out, ret_unwritable, err);
}

/* Builds an index that nothing can keep: in memory if the budget has room for it beside the work,
 * else in a file without a name. */
static hs_status index_build_unnamed(struct hs_index *index, const struct index_task *task,
                                     struct hs_error *err)
{
    struct hs_budget *budget = task->options->budget;
    uint64_t resident = task->estimate.memory_bytes + index_engine_file_bytes(task->snap);
    struct index_output out;
    bool unwritable;

    if (task->estimate.in_memory && resident <= hs_budget_left_bytes(budget))
        HS_TRY(
            index_output_open_memory(index_engine_file_bytes_max(task->snap), budget, &out, err));
    else {
        HS_TRY(hs_disk_need(hs_spill_directory(budget), index_engine_file_bytes(task->snap), err));
        HS_TRY(index_output_open_unnamed(budget, &out, err));
    }
    return index_build_into(index, task, &out, &unwritable, err);
}

/* Builds into the first place that can be written. */
static hs_status index_build_any(struct hs_index *index, const struct index_task *task,
                                 struct hs_error *err)
{
    const struct hs_index_options *options = task->options;

    for (unsigned place = 0; place < HS_N_INDEX_PLACES && !options->no_write; place++) {
        bool unwritable;
        char *path;
        HS_TRY(index_place_path(task, place, &path, err));
        if (path == NULL)
            continue;
        if (place == HS_INDEX_CACHE)
            index_make_parents(path);
        hs_status status = index_build_named(index, task, path, &unwritable, err);
        if (status == HS_OK) {
            index->path = path;
            return HS_OK;
        }
        hs_free(path);
        if (status != HS_IO || !unwritable)
            return status;
    }
    return index_build_unnamed(index, task, err);
}

static hs_status index_build(struct hs_index *index, struct index_task *task, struct hs_error *err)
{
    HS_TRY(index_engine_choose(task->snap, task->options->budget, &task->estimate, err));
    index->was_built = true;
    return index_build_any(index, task, err);
}

/* A kept one, or one that is computed unless only a kept one is wanted: *ret_found false. */
static hs_status index_find(struct hs_index *index, struct index_task *task, bool *ret_found,
                            struct hs_error *err)
{
    HS_TRY(index_policy_init(task->snap, &task->options->policy, &task->policy, err));
    hs_status status = index_open_any(index, task, ret_found, err);
    if (status == HS_OK && !*ret_found && !task->options->only_kept) {
        status = index_build(index, task, err);
        *ret_found = status == HS_OK;
    }
    index_policy_fini(&task->policy);
    return status;
}

hs_status hs_index_open(const struct hs_snap *snap, const struct hs_index_options *options,
                        struct hs_index **ret, struct hs_error *err)
{
    bool found = false;

    if (hs_snap_is_cut(snap)) {
        (void)hs_fail(err, HS_FORMAT, "the snapshot is cut: what it holds cannot be added up");
        return hs_hint(err, "'heapsnap info' shows what is whole; dump the process again");
    }
    struct index_task task = {.snap = snap, .options = options};
    struct hs_index *index;
    HS_TRY(HS_ALLOC(&index, 1, err));
    hs_status status = index_find(index, &task, &found, err);
    if (status != HS_OK || !found)
        hs_index_close(index);
    if (status == HS_OK)
        *ret = found ? index : NULL;
    return status;
}

void hs_index_close(struct hs_index *index)
{
    if (index == NULL)
        return;
    hs_packed_pool_end(&index->pool);
    index_file_close(&index->file);
    index_output_close(&index->memory, false);
    hs_free(index->path);
    hs_free(index);
}

const char *hs_index_path(const struct hs_index *index)
{
    return index->path;
}

bool hs_index_was_built(const struct hs_index *index)
{
    return index->was_built;
}

enum hs_policy_kind hs_index_policy(const struct hs_index *index)
{
    bool is_conservative = index->file.header->policy == INDEX_POLICY_CONSERVATIVE;
    return is_conservative ? HS_POLICY_CONSERVATIVE : HS_POLICY_FIRM;
}
