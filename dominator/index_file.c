#include "index_file.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#define XXH_STATIC_LINKING_ONLY /* the size of a state, to have it in our memory */
#include <xxhash.h>

#include "base/alloc.h"
#include "base/checked.h"

#define MAP_BYTES ((uint64_t)4 << 20)     /* made resident and given back at a time */
#define CHECK_BYTES ((uint64_t)128 << 10) /* looked at twice while in the processor's cache */

static hs_status file_damaged(struct hs_error *err, const char *what)
{
    return hs_fail(err, HS_FORMAT, "the index is damaged: %s", what);
}

static hs_status footer_check(const struct index_footer *footer, const struct hs_snap *snap,
                              struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);

    if (footer->magic != INDEX_MAGIC || footer->version != INDEX_VERSION ||
        footer->n_sections != INDEX_N_SECTIONS)
        return hs_fail(err, HS_FORMAT, "not an index of this version");
    if (footer->checksum != XXH3_64bits(footer, offsetof(struct index_footer, checksum)))
        return file_damaged(err, "its footer does not match its checksum");
    if (footer->snap_checksum != totals->checksum || footer->snap_bytes != totals->file_bytes ||
        footer->n_tree != totals->n_tree || footer->n_nodes < footer->n_tree ||
        footer->n_nodes - footer->n_tree != totals->n_blocks)
        return hs_fail(err, HS_FORMAT, "the index is of another snapshot");
    if (footer->n_predecessors >= UINT32_MAX || footer->n_dominated >= footer->n_nodes ||
        footer->n_static > footer->n_nodes)
        return file_damaged(err, "its counts are too large");
    return HS_OK;
}

static hs_status extents_check(const struct index_footer *footer, uint64_t n_bytes,
                               struct hs_error *err)
{
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++) {
        const struct index_extent *extent = &footer->sections[i];
        uint64_t end;
        if (extent->offset % INDEX_PAGE != 0 ||
            extent->n_bytes != hs_index_section_bytes(footer, i) ||
            !hs_add_fits(extent->offset, extent->n_bytes, &end) || end > n_bytes)
            return file_damaged(err, "a section lies outside the file");
    }
    return HS_OK;
}

/* ---- contents ---- */

/* What the values of a section must keep to. */
struct value_rule {
    bool is_u32;
    bool ascends;      /* from 0 to `last` */
    uint32_t limit;    /* values are below */
    bool allows_none;  /* or HS_NONE */
    uint32_t previous; /* the last one seen */
};

static struct value_rule section_rule(const struct index_footer *footer, enum index_section at)
{
    struct value_rule rule = {.is_u32 = true, .limit = footer->n_nodes};
    switch (at) {
    case INDEX_IDOM:
        rule.allows_none = true;
        return rule;
    case INDEX_PREDECESSORS:
    case INDEX_DOMINATED:
        return rule;
    case INDEX_PREDECESSOR_BEGIN:
        rule.ascends = true;
        rule.limit = (uint32_t)footer->n_predecessors + 1;
        return rule;
    case INDEX_DOMINATED_BEGIN:
        rule.ascends = true;
        rule.limit = (uint32_t)footer->n_dominated + 1;
        return rule;
    default:
        return (struct value_rule){0}; /* sizes: any number will do */
    }
}

/* Values at a time, so that compilers make vectors of the loops below. */
#define LANES 16

/* Any of them out of range. HS_NONE + 1 is 0. */
static uint32_t values_exceed(const uint32_t *values, size_t n, uint32_t limit, uint32_t shift)
{
    uint32_t bad[LANES] = {0}, any = 0;
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            bad[lane] |= (uint32_t)(values[i + lane] + shift >= limit + shift);
    for (; i < n; i++)
        any |= (uint32_t)(values[i] + shift >= limit + shift);
    for (size_t lane = 0; lane < LANES; lane++)
        any |= bad[lane];
    return any;
}

/* Any of them less than the one before it. */
static uint32_t values_descend(const uint32_t *values, size_t n)
{
    uint32_t bad[LANES] = {0}, any = 0;
    size_t i = 1;
    for (; i + LANES <= n; i += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            bad[lane] |= (uint32_t)(values[i + lane] < values[i + lane - 1]);
    for (; i < n; i++)
        any |= (uint32_t)(values[i] < values[i - 1]);
    for (size_t lane = 0; lane < LANES; lane++)
        any |= bad[lane];
    return any;
}

static bool values_keep(struct value_rule *rule, const uint32_t *values, size_t n)
{
    if (!rule->is_u32 || n == 0)
        return true;
    if (values_exceed(values, n, rule->limit, rule->allows_none ? 1 : 0) != 0)
        return false;
    if (!rule->ascends)
        return true;
    if (values[0] < rule->previous || values_descend(values, n) != 0)
        return false;
    rule->previous = values[n - 1];
    return true;
}

static bool piece_check(struct value_rule *rule, const uint8_t *bytes, uint64_t n_bytes,
                        XXH3_state_t *hash)
{
    bool keeps = true;
    for (uint64_t done = 0, n; done < n_bytes && keeps; done += n) {
        const void *piece = bytes + done;
        n = n_bytes - done < CHECK_BYTES ? n_bytes - done : CHECK_BYTES;
        (void)XXH3_64bits_update(hash, piece, n);
        keeps = values_keep(rule, piece, n / sizeof(uint32_t));
    }
    return keeps;
}

/* In pieces that are given back at once: checking must not make the whole file resident. */
static hs_status section_check(const struct index_file *file, enum index_section at,
                               XXH3_state_t *hash, struct hs_error *err)
{
    const struct index_extent *extent = &file->footer->sections[at];
    struct value_rule rule = section_rule(file->footer, at);
    uint8_t *bytes = (uint8_t *)(uintptr_t)index_file_section(file, at);

    (void)XXH3_64bits_reset(hash);
    for (uint64_t done = 0, n; done < extent->n_bytes; done += n) {
        n = extent->n_bytes - done < MAP_BYTES ? extent->n_bytes - done : MAP_BYTES;
        (void)madvise(bytes + done, n, MADV_POPULATE_READ); /* older kernels: slower */
        bool keeps = piece_check(&rule, bytes + done, n, hash);
        (void)madvise(bytes + done, n, MADV_DONTNEED);
        if (!keeps)
            return file_damaged(err, "a number is out of range");
    }
    if (XXH3_64bits_digest(hash) != extent->checksum)
        return file_damaged(err, "a section does not match its checksum");
    if (rule.ascends && rule.previous != rule.limit - 1)
        return file_damaged(err, "rows do not cover their section");
    return HS_OK;
}

static hs_status contents_check(const struct index_file *file, struct hs_error *err)
{
    void *hash;
    hs_status status = HS_OK;

    HS_TRY(hs_pages_alloc(1, sizeof(XXH3_state_t), &hash, err));
    for (unsigned i = 0; i < INDEX_N_SECTIONS && status == HS_OK; i++)
        status = section_check(file, i, hash, err);
    hs_pages_free(hash, 1, sizeof(XXH3_state_t));
    return status;
}

/* ---- opening ---- */

static hs_status file_check(struct index_file *file, const struct hs_snap *snap, bool deeply,
                            struct hs_error *err)
{
    uint64_t n_bytes = file->map.n_bytes;

    /* The footer starts on a page, so it may be looked at where it lies. */
    if (n_bytes < sizeof *file->footer || (n_bytes - sizeof *file->footer) % INDEX_PAGE != 0)
        return file_damaged(err, "it is cut");
    file->footer = (const void *)(file->map.bytes + n_bytes - sizeof *file->footer);
    HS_TRY(footer_check(file->footer, snap, err));
    HS_TRY(extents_check(file->footer, n_bytes - sizeof *file->footer, err));
    return deeply ? contents_check(file, err) : HS_OK;
}

hs_status index_file_open(const char *path, const struct hs_snap *snap, bool deeply,
                          struct index_file *ret, struct hs_error *err)
{
    struct index_file file = {0};
    struct stat about;

    /* Not a pipe or a device that somebody put there: opening it could hang. */
    if (stat(path, &about) != 0)
        return hs_fail_errno(err, HS_IO, "cannot open '%s'", path);
    if (!S_ISREG(about.st_mode))
        return hs_fail(err, HS_FORMAT, "'%s' is not a file", path);
    HS_TRY(hs_map_open(path, &file.map, err));
    hs_status status = file_check(&file, snap, deeply, err);
    if (status == HS_OK)
        *ret = file;
    else
        hs_map_close(&file.map);
    return status;
}

void index_file_close(struct index_file *file)
{
    hs_map_close(&file->map);
    file->footer = NULL;
}
