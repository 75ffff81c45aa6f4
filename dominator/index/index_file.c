#include "index_file.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "index_cells.h"
#include "index_output.h"

static hs_status file_damaged(struct hs_error *err, const char *what)
{
    return hs_fail(err, HS_FORMAT, "the index is damaged: %s", what);
}

/* ---- the header, and what it says of sections ---- */

hs_status index_file_check_header(const struct index_header *header, const struct hs_snap *snap,
                                  uint64_t policy, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);

    if (header->magic == INDEX_MAGIC && header->version < INDEX_VERSION)
        return hs_fail(err, HS_FORMAT, "it is of an older version");
    if (header->magic != INDEX_MAGIC || header->version != INDEX_VERSION ||
        header->n_sections != INDEX_N_SECTIONS)
        return hs_fail(err, HS_FORMAT, "the index is not of this version");
    if (header->checksum != XXH3_64bits(header, offsetof(struct index_header, checksum)))
        return file_damaged(err, "its header does not match its checksum");
    if (header->snap_checksum != totals->checksum || header->snap_bytes != totals->file_bytes ||
        header->n_tree != totals->n_tree || header->n_nodes < header->n_tree ||
        header->n_nodes - header->n_tree != totals->n_blocks)
        return hs_fail(err, HS_FORMAT, "the index is of another snapshot");
    if (header->policy != policy)
        return hs_fail(err, HS_FORMAT, "the index is of another policy");
    if (header->n_sets > HS_OWNER_SETS_MAX)
        return file_damaged(err, "it has too many sets");
    return HS_OK;
}

uint64_t index_file_section_begin(const struct index_header *header, enum index_section section)
{
    if (section == INDEX_REACHABLE)
        return INDEX_PAGE;
    if (section == INDEX_PREDECESSORS)
        return index_packed_begin(header->n_tree);
    const struct index_extent *before = &header->sections[section - 1];
    return index_page_end(before->offset + before->n_bytes);
}

bool index_file_section_fits(const struct index_header *header, enum index_section section,
                             uint64_t n_bytes)
{
    const struct index_extent *extent = &header->sections[section];
    uint64_t least = section == INDEX_REACHABLE
                         ? index_reachable_bytes(header->n_tree)
                         : hs_packed_table_bytes(index_n_cells(header, section));
    uint64_t end;

    return extent->n_bytes >= least && (section != INDEX_REACHABLE || extent->n_bytes == least) &&
           hs_add_fits(extent->offset, extent->n_bytes, &end) && end <= n_bytes &&
           extent->offset == index_file_section_begin(header, section);
}

hs_status index_file_sizes_page(const struct index_file *file, uint64_t page,
                                const struct hs_sizes **ret, struct hs_error *err)
{
    uint64_t n_tree = file->header->n_tree, first = page * INDEX_SIZES_PAGE, hash;
    const uint8_t *section = file->bytes + INDEX_PAGE;
    uint64_t n = n_tree - first < INDEX_SIZES_PAGE ? n_tree - first : INDEX_SIZES_PAGE;
    const void *sizes = section + first * sizeof **ret;

    memcpy(&hash, section + n_tree * sizeof **ret + page * sizeof hash, sizeof hash);
    if (XXH3_64bits(sizes, n * sizeof **ret) != hash)
        return file_damaged(err, "sizes do not match their checksum");
    *ret = sizes; /* aligned: the section begins on a page */
    return HS_OK;
}

static hs_status sizes_verify(const struct index_file *file, struct hs_error *err)
{
    const struct hs_sizes *sizes;
    for (uint64_t page = 0; page < index_sizes_pages(file->header->n_tree); page++)
        HS_TRY(index_file_sizes_page(file, page, &sizes, err));
    return HS_OK;
}

static hs_packed_skip *const section_skip[INDEX_N_SECTIONS] = {
    [INDEX_PREDECESSORS] = hs_packed_skip_row, [INDEX_RETAINED] = index_cells_skip_sizes,
    [INDEX_IDOM] = hs_packed_skip_number,      [INDEX_OWNERS] = hs_packed_skip_number,
    [INDEX_SET_ROOTS] = hs_packed_skip_row,    [INDEX_SETS] = index_cells_skip_set,
    [INDEX_DOMINATED] = hs_packed_skip_row,
};

static hs_status section_open(const struct index_file *file, enum index_section section,
                              struct hs_packed *ret, struct hs_error *err)
{
    const struct index_extent *extent = &file->header->sections[section];
    HS_TRY(hs_packed_open(file->bytes + extent->offset, extent->n_bytes,
                          index_n_cells(file->header, section), section_skip[section], ret, err));
    ret->n_values = index_n_values(file->header, section);
    ret->is_mapped = file->map.bytes != NULL;
    return HS_OK;
}

hs_status index_file_section_verify(const struct index_file *file, enum index_section section,
                                    struct hs_error *err)
{
    struct hs_packed packed;

    if (section == INDEX_REACHABLE)
        return sizes_verify(file, err);
    HS_TRY(section_open(file, section, &packed, err));
    hs_status status = hs_packed_verify(&packed, err);
    hs_packed_close(&packed);
    return status;
}

/* ---- opening ---- */

static hs_status file_check(struct index_file *file, const struct hs_snap *snap, uint64_t policy,
                            bool deeply, struct hs_error *err)
{
    if (file->n_bytes < INDEX_PAGE)
        return file_damaged(err, "it is cut");
    file->header = (const void *)file->bytes;
    HS_TRY(index_file_check_header(file->header, snap, policy, err));
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        if (!index_file_section_fits(file->header, i, file->n_bytes))
            return file_damaged(err, "a section lies outside the file");
    const struct index_extent *last = &file->header->sections[INDEX_N_SECTIONS - 1];
    if (last->offset + last->n_bytes != file->n_bytes)
        return file_damaged(err, "bytes behind the last section");
    for (unsigned i = 0; i < INDEX_N_SECTIONS && deeply; i++)
        HS_TRY(index_file_section_verify(file, i, err));
    for (unsigned i = INDEX_PREDECESSORS; i < INDEX_N_SECTIONS; i++)
        HS_TRY(section_open(file, i, &file->packed[i], err));
    return HS_OK;
}

static hs_status file_accept(struct index_file *file, const struct hs_snap *snap, uint64_t policy,
                             bool deeply, struct index_file *ret, struct hs_error *err)
{
    hs_status status = file_check(file, snap, policy, deeply, err);
    if (status == HS_OK)
        *ret = *file;
    else
        index_file_close(file);
    return status;
}

hs_status index_file_open(const char *path, const struct hs_snap *snap, uint64_t policy,
                          uid_t maker, bool deeply, struct index_file *ret, struct hs_error *err)
{
    struct index_file file = {0};

    HS_TRY(hs_map_open_trusted(path, maker, &file.map, err));
    file.bytes = file.map.bytes;
    file.n_bytes = file.map.n_bytes;
    return file_accept(&file, snap, policy, deeply, ret, err);
}

hs_status index_file_of_output(struct index_output *out, const struct hs_snap *snap,
                               uint64_t policy, struct index_file *ret, struct hs_error *err)
{
    struct index_file file = {.n_bytes = index_output_size(out)};
    HS_TRY(index_output_view(out, 0, file.n_bytes, &file.map, &file.bytes, err));
    return file_accept(&file, snap, policy, false, ret, err);
}

void index_file_close(struct index_file *file)
{
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        hs_packed_close(&file->packed[i]);
    hs_map_close(&file->map);
    *file = (struct index_file){0};
}
