#include "dominator/index.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "index_build.h"
#include "index_file.h"

struct hs_index {
    struct index_file file; /* mapped, or zero when in memory */
    struct index_sink sink; /* in memory, or zero */
    const struct index_footer *footer;
    char *path; /* owned; NULL when only in memory */
    bool was_built;
    const uint32_t *idom, *predecessor_begin, *predecessors, *dominated_begin, *dominated;
    const void *words, *static_words;
    const uint32_t *objects, *static_objects;
    const struct hs_sizes *reachable;
    struct hs_bitmap has_static; /* its words are a section, its ranks owned */
};

/* ---- where ---- */

enum index_place { PLACE_BESIDE, PLACE_CACHE, N_PLACES };

/* The path for a place, or NULL in *ret when there is none. */
static hs_status index_place_path(const struct hs_snap *snap,
                                  const struct hs_index_options *options, enum index_place place,
                                  char **ret, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    bool beside = place == PLACE_BESIDE;
    const char *base = beside ? options->snap_path : options->cache_dir;
    void *memory;

    *ret = NULL;
    if (base == NULL || options->snap_path == NULL)
        return HS_OK;
    size_t n = strlen(base) + 48;
    HS_TRY(hs_alloc(n, 1, &memory, err));
    if (beside)
        (void)snprintf(memory, n, "%s.idx", base);
    else
        (void)snprintf(memory, n, "%s/%016llx.idx", base, (unsigned long long)totals->checksum);
    *ret = memory;
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

static const void *index_section(const struct hs_index *index, enum index_section at)
{
    return index->file.footer != NULL ? index_file_section(&index->file, at)
                                      : index->sink.memory[at];
}

static hs_status index_attach(struct hs_index *index, struct hs_error *err)
{
    uint64_t n_static;

    index->footer = index->file.footer != NULL ? index->file.footer : &index->sink.footer;
    index->idom = index_section(index, INDEX_IDOM);
    index->predecessor_begin = index_section(index, INDEX_PREDECESSOR_BEGIN);
    index->predecessors = index_section(index, INDEX_PREDECESSORS);
    index->dominated_begin = index_section(index, INDEX_DOMINATED_BEGIN);
    index->dominated = index_section(index, INDEX_DOMINATED);
    index->words = index_section(index, INDEX_WORDS);
    index->objects = index_section(index, INDEX_OBJECTS);
    index->static_words = index_section(index, INDEX_STATIC_WORDS);
    index->static_objects = index_section(index, INDEX_STATIC_OBJECTS);
    index->reachable = index_section(index, INDEX_REACHABLE);
    /* The map is read-only; neither are these words written. */
    index->has_static.words = (uint64_t *)(uintptr_t)index_section(index, INDEX_STATIC_BITS);
    index->has_static.n_bits = index->footer->n_nodes;
    uint64_t rest = index->footer->n_nodes % 64;
    if (rest != 0 && index->has_static.words[index->footer->n_nodes / 64] >> rest != 0)
        return hs_fail(err, HS_FORMAT, "the index is damaged: bits behind the last node");
    HS_TRY(hs_bitmap_index(&index->has_static, &n_static, err));
    if (n_static != index->footer->n_static)
        return hs_fail(err, HS_FORMAT, "the index is damaged: static nodes do not add up");
    return HS_OK;
}

/* Gives up what is open, keeps the object. */
static void index_detach(struct hs_index *index)
{
    index->has_static.words = NULL; /* borrowed */
    hs_bitmap_fini(&index->has_static);
    index_file_close(&index->file);
    index_sink_fini(&index->sink);
    hs_free(index->path);
    *index = (struct hs_index){0};
}

/* Opens what a place has. Anything but success or running out of memory means: not usable. */
static hs_status index_try_file(struct hs_index *index, const struct hs_snap *snap, char *path,
                                bool deeply, struct hs_error *err)
{
    hs_status status = index_file_open(path, snap, deeply, &index->file, err);
    if (status == HS_OK)
        status = index_attach(index, err);
    if (status == HS_OK)
        index->path = path;
    else
        index_detach(index);
    return status;
}

static hs_status index_open_any(struct hs_index *index, const struct hs_snap *snap,
                                const struct hs_index_options *options, bool *ret_found,
                                struct hs_error *err)
{
    *ret_found = false;
    for (unsigned place = 0; place < N_PLACES && !options->rebuild; place++) {
        char *path;
        HS_TRY(index_place_path(snap, options, place, &path, err));
        if (path == NULL)
            continue;
        hs_status status = index_try_file(index, snap, path, true, err);
        *ret_found = status == HS_OK;
        if (status == HS_OK)
            return HS_OK;
        hs_free(path);
        if (status == HS_LIMIT)
            return status;
    }
    return HS_OK;
}

/* ---- building ---- */

static hs_status index_build_memory(struct hs_index *index, const struct hs_snap *snap,
                                    const struct hs_progress *progress, struct hs_error *err)
{
    HS_TRY(index_sink_init(NULL, &index->sink, err));
    HS_TRY(index_build_run(snap, progress, &index->sink, err));
    return index_attach(index, err);
}

/* `*ret_unwritable`: the fault is the file's, not the build's. */
static hs_status index_build_file(const struct hs_snap *snap, const struct hs_progress *progress,
                                  char *path, bool *ret_unwritable, struct hs_error *err)
{
    struct hs_out out;
    struct index_sink sink = {0};

    hs_status status = hs_out_open_path(path, &out, err);
    if (status != HS_OK) {
        *ret_unwritable = status == HS_IO;
        return status;
    }
    status = index_sink_init(&out, &sink, err);
    if (status == HS_OK)
        status = index_build_run(snap, progress, &sink, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    *ret_unwritable = out.failed;
    index_sink_fini(&sink);
    hs_out_close(&out);
    return status;
}

/* Builds into the first place that can be written, else into memory. */
static hs_status index_build_any(struct hs_index *index, const struct hs_snap *snap,
                                 const struct hs_index_options *options, struct hs_error *err)
{
    for (unsigned place = 0; place < N_PLACES && !options->no_write; place++) {
        bool unwritable = false;
        char *path;
        HS_TRY(index_place_path(snap, options, place, &path, err));
        if (path == NULL)
            continue;
        if (place == PLACE_CACHE)
            index_make_parents(path);
        hs_status status = index_build_file(snap, options->progress, path, &unwritable, err);
        if (status == HS_OK)
            status = index_try_file(index, snap, path, false, err);
        if (status == HS_OK)
            return HS_OK;
        hs_free(path);
        if (status != HS_IO && !unwritable)
            return status;
    }
    return index_build_memory(index, snap, options->progress, err);
}

hs_status hs_index_open(const struct hs_snap *snap, const struct hs_index_options *options,
                        struct hs_index **ret, struct hs_error *err)
{
    void *memory;
    bool found;

    if (hs_snap_is_cut(snap)) {
        (void)hs_fail(err, HS_FORMAT, "the snapshot is cut: what it holds cannot be added up");
        return hs_hint(err, "'heapsnap info' shows what is whole; dump the process again");
    }
    HS_TRY(hs_alloc(1, sizeof(struct hs_index), &memory, err));
    struct hs_index *index = memory;
    hs_status status = index_open_any(index, snap, options, &found, err);
    if (status == HS_OK && !found) {
        status = index_build_any(index, snap, options, err);
        index->was_built = true;
    }
    if (status == HS_OK)
        *ret = index;
    else
        hs_index_close(index);
    return status;
}

void hs_index_close(struct hs_index *index)
{
    if (index == NULL)
        return;
    index_detach(index);
    hs_free(index);
}

/* ---- answers ---- */

const char *hs_index_path(const struct hs_index *index)
{
    return index->path;
}

bool hs_index_was_built(const struct hs_index *index)
{
    return index->was_built;
}

uint32_t hs_index_n_nodes(const struct hs_index *index)
{
    return index->footer->n_nodes;
}

uint32_t hs_index_idom(const struct hs_index *index, uint32_t node)
{
    assert(node < index->footer->n_nodes);
    return index->idom[node];
}

bool hs_index_is_reached(const struct hs_index *index, uint32_t node)
{
    assert(node < index->footer->n_nodes);
    return node == 0 || index->idom[node] != HS_NONE;
}

static uint64_t words_value(const void *values, uint64_t total, uint64_t at)
{
    return index_words_width(total) == sizeof(uint32_t) ? ((const uint32_t *)values)[at]
                                                        : ((const uint64_t *)values)[at];
}

struct hs_sizes hs_index_retained(const struct hs_index *index, uint32_t node)
{
    const struct index_footer *footer = index->footer;

    assert(node < footer->n_nodes);
    struct hs_sizes sizes = {
        .words = words_value(index->words, footer->reached.words, node),
        .objects = index->objects[node],
    };
    if (hs_bitmap_get(&index->has_static, node)) {
        uint64_t at = hs_bitmap_rank(&index->has_static, node);
        sizes.static_words = words_value(index->static_words, footer->reached.static_words, at);
        sizes.static_objects = index->static_objects[at];
    }
    return sizes;
}

struct hs_sizes hs_index_reachable(const struct hs_index *index, uint32_t tree_node)
{
    assert(tree_node < index->footer->n_tree);
    return index->reachable[tree_node];
}

struct hs_sizes hs_index_reached_total(const struct hs_index *index)
{
    return index->footer->reached;
}

struct hs_sizes hs_index_unreached_total(const struct hs_index *index)
{
    return index->footer->unreached;
}

const uint32_t *hs_index_predecessors(const struct hs_index *index, uint32_t node, uint32_t *ret_n)
{
    assert(node < index->footer->n_nodes);
    *ret_n = index->predecessor_begin[node + 1] - index->predecessor_begin[node];
    return index->predecessors + index->predecessor_begin[node];
}

const uint32_t *hs_index_dominated(const struct hs_index *index, uint32_t node, uint32_t *ret_n)
{
    assert(node < index->footer->n_nodes);
    *ret_n = index->dominated_begin[node + 1] - index->dominated_begin[node];
    return index->dominated + index->dominated_begin[node];
}
