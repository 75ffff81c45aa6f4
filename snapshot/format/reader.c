/* Opens a snapshot: what is it, is it whole, what does its front and its trailer say. */
#include "snapshot/reader.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "reader_internal.h"
#include "schema.h"

static hs_status reader_not_a_snapshot(const struct hs_snap *snap, struct hs_error *err)
{
    /* The magic after a transfer in text mode: CR LF became LF, or the top bit is gone. */
    static const char stripped[] = "\x89HSNAP\n";
    static const char seven_bits[] = "\x09HSNAP";
    const uint8_t *bytes = snap->file.bytes;
    size_t n_bytes = snap->file.n_bytes;
    if ((n_bytes >= 7 && memcmp(bytes, stripped, 7) == 0) ||
        (n_bytes >= 6 && memcmp(bytes, seven_bits, 6) == 0)) {
        (void)hs_fail(err, HS_FORMAT, "it was damaged by a transfer in text mode");
        return hs_hint(err, "copy it again as binary");
    }
    (void)hs_fail(err, HS_FORMAT, "it is not a snapshot");
    return hs_hint(err, "make one with 'heapsnap dump PID -o FILE'");
}

static hs_status reader_fail_cut(uint64_t n_bytes, const char *where, struct hs_error *err)
{
    (void)hs_fail(err, HS_FORMAT, "it is cut at byte %llu, %s", (unsigned long long)n_bytes, where);
    return hs_hint(err, "run the dump again; 'heapsnap info' shows what is whole");
}

static hs_status reader_header(struct hs_snap *snap, struct hs_error *err)
{
    const struct hs_file_bytes *file = &snap->file;
    size_t n_magic = file->n_bytes < HS_MAGIC_BYTES ? file->n_bytes : HS_MAGIC_BYTES;
    if (file->n_bytes == 0) {
        (void)hs_fail(err, HS_FORMAT, "it is empty");
        return hs_hint(err, "the dump that should have written it has failed: run it again");
    }
    if (memcmp(file->bytes, HS_SNAP_MAGIC, n_magic) != 0)
        return reader_not_a_snapshot(snap, err);
    if (file->n_bytes < HS_HEADER_BYTES)
        return reader_fail_cut(file->n_bytes, "in its header", err);

    bool is_sound = hs_header_decode(file->bytes, &snap->header) || file->trust_hashes;
    if (snap->header.version > HS_FORMAT_VERSION) {
        (void)hs_fail(err, HS_FORMAT, "it has format version %u, and this program reads up to %d",
                      snap->header.version, HS_FORMAT_VERSION);
        return hs_hint(err, "use a newer heapsnap");
    }
    const struct hs_header *header = &snap->header;
    unsigned word_bytes = header->word_bytes;
    bool is_word = word_bytes == 4 || word_bytes == 8 || (word_bytes == 1 && header->version >= 2);
    if (!is_sound || header->version == 0 || header->flags != 0 || !is_word ||
        header->n_blocks > HS_MAX_BLOCKS)
        return hs_fail(err, HS_FORMAT, "its header is damaged");
    return HS_OK;
}

/* Tells a cut file from another one, where there is no end where it should be. */
static hs_status reader_endless(struct hs_snap *snap, unsigned flags, struct hs_error *err)
{
    struct hs_walk walk;
    struct hs_footer footer;
    char where[96];
    HS_TRY(hs_snap_walk(snap, &walk, err));
    uint64_t n_chunks = hs_chunks_of(snap->header.n_blocks);
    uint64_t rest = snap->file.n_bytes - walk.cut_offset;
    if (walk.is_damaged) {
        (void)hs_fail(err, HS_FORMAT, "its head does not belong there");
        return hs_section_context(&walk.damaged, err);
    }
    bool is_complete = walk.n_whole == hs_sections_of(n_chunks);
    if (is_complete && rest >= HS_FOOTER_BYTES) {
        if (hs_footer_decode(snap->file.bytes + walk.cut_offset, &footer))
            return hs_fail(err, HS_FORMAT, "%llu bytes follow its end",
                           (unsigned long long)(rest - HS_FOOTER_BYTES));
        return hs_fail(err, HS_FORMAT, "its last %d bytes are damaged", HS_FOOTER_BYTES);
    }
    if (is_complete)
        (void)snprintf(where, sizeof where, "in its last %d bytes", HS_FOOTER_BYTES);
    else
        (void)snprintf(where, sizeof where, "in section %s, which begins at byte %llu",
                       hs_section_name(hs_section_expected(walk.n_whole, n_chunks)),
                       (unsigned long long)walk.cut_offset);
    if ((flags & HS_SNAP_ALLOW_CUT) == 0 || walk.n_whole < HS_FRONT_SECTIONS)
        return reader_fail_cut(snap->file.n_bytes, where, err);
    return hs_snap_open_cut(snap, &walk, err);
}

static hs_status reader_whole(struct hs_snap *snap, const struct hs_footer *footer,
                              struct hs_error *err)
{
    HS_TRY(hs_snap_read_trailer(snap, footer, err));
    HS_TRY(hs_snap_read_tables(snap, true, err));
    const struct hs_snap_totals *totals = &snap->totals;
    if (totals->n_tree != snap->n_roots || totals->n_types != snap->n_types ||
        totals->n_members != snap->n_members || totals->n_samples != snap->n_samples ||
        totals->n_strings != snap->n_strings)
        return hs_fail(err, HS_FORMAT, "its tables are not as long as its trailer says");
    return HS_OK;
}

static hs_status reader_open(struct hs_snap *snap, unsigned flags, struct hs_error *err)
{
    struct hs_footer footer;
    HS_TRY(reader_header(snap, err));
    const uint8_t *end = snap->file.bytes + snap->file.n_bytes;
    if (snap->file.n_bytes >= HS_HEADER_BYTES + HS_FOOTER_BYTES &&
        hs_footer_decode(end - HS_FOOTER_BYTES, &footer))
        return reader_whole(snap, &footer, err);
    return reader_endless(snap, flags, err);
}

hs_status hs_snap_open_bytes(const void *bytes, size_t n_bytes, unsigned flags,
                             struct hs_snap **ret, struct hs_error *err)
{
    struct hs_snap *snap;
    HS_TRY(HS_ALLOC(&snap, 1, err));
    snap->file = (struct hs_file_bytes){
        .bytes = bytes,
        .n_bytes = n_bytes,
        .trust_hashes = (flags & HS_SNAP_TRUST_HASHES) != 0,
    };
    hs_status status = reader_open(snap, flags, err);
    if (status == HS_OK)
        *ret = snap;
    else
        hs_snap_close(snap);
    return status;
}

hs_status hs_snap_open(const char *path, unsigned flags, struct hs_snap **ret, struct hs_error *err)
{
    struct hs_map map;
    struct hs_snap *snap = NULL;
    HS_TRY(hs_map_open(path, &map, err));
    if (hs_snap_open_bytes(map.bytes, map.n_bytes, flags, &snap, err) != HS_OK) {
        hs_map_close(&map);
        return hs_context(err, "cannot read '%s'", path);
    }
    snap->map = map;
    *ret = snap;
    return HS_OK;
}

void hs_snap_close(struct hs_snap *snap)
{
    if (snap == NULL)
        return;
    hs_facts_fini(&snap->facts);
    hs_free(snap->sections);
    hs_free(snap->chunks);
    hs_free(snap->text);
    hs_free(snap->string_begin);
    hs_free(snap->roots);
    hs_free(snap->types);
    hs_free(snap->members);
    hs_free(snap->samples);
    hs_free(snap->site_frames);
    hs_free(snap->in_degrees);
    hs_map_close(&snap->map);
    hs_free(snap);
}

bool hs_snap_is_cut(const struct hs_snap *snap)
{
    return snap->is_cut;
}

uint32_t hs_snap_format_version(const struct hs_snap *snap)
{
    return snap->header.version;
}

const struct hs_snap_facts *hs_snap_facts(const struct hs_snap *snap)
{
    return &snap->facts;
}

const struct hs_snap_totals *hs_snap_totals(const struct hs_snap *snap)
{
    return &snap->totals;
}

const char *hs_snap_string(const struct hs_snap *snap, hs_str id)
{
    if (id == 0 || id > snap->n_strings)
        return "";
    return snap->text + snap->string_begin[id - 1];
}

const struct hs_root *hs_snap_root(const struct hs_snap *snap, hs_node tree_node)
{
    assert(tree_node < snap->n_roots);
    return &snap->roots[tree_node];
}

const struct hs_type *hs_snap_type(const struct hs_snap *snap, uint32_t type)
{
    assert(type < snap->n_types);
    return &snap->types[type];
}

/* The first member that is not before (type, offset). */
static size_t reader_lower_bound(const struct hs_snap *snap, uint64_t type, uint64_t offset_bytes)
{
    return HS_FIRST_NOT(
        at, 0, snap->n_members,
        snap->members[at].type < type ||
            (snap->members[at].type == type && snap->members[at].offset_bytes < offset_bytes));
}

const struct hs_member *hs_snap_members(const struct hs_snap *snap, uint32_t type, size_t *ret_n)
{
    size_t begin = reader_lower_bound(snap, type, 0);
    *ret_n = reader_lower_bound(snap, (uint64_t)type + 1, 0) - begin;
    return *ret_n == 0 ? NULL : &snap->members[begin];
}

const struct hs_member *hs_snap_member_at(const struct hs_snap *snap, uint32_t type,
                                          uint64_t offset_bytes, uint64_t *ret_element)
{
    assert(type < snap->n_types);
    uint64_t stride = snap->types[type].stride_bytes;
    if (ret_element != NULL)
        *ret_element = stride != 0 ? offset_bytes / stride : 0;
    if (stride != 0)
        offset_bytes %= stride;
    size_t at = reader_lower_bound(snap, type, offset_bytes);
    if (at < snap->n_members && snap->members[at].type == type &&
        snap->members[at].offset_bytes == offset_bytes)
        return &snap->members[at];
    if (at == 0 || snap->members[at - 1].type != type)
        return NULL;
    return &snap->members[reader_lower_bound(snap, type, snap->members[at - 1].offset_bytes)];
}

const struct hs_sample *hs_snap_sample(const struct hs_snap *snap, size_t at)
{
    assert(at < snap->n_samples);
    return &snap->samples[at];
}

const struct hs_sample *hs_snap_find_samples(const struct hs_snap *snap, uint64_t id, size_t *ret_n)
{
    size_t begin = HS_FIRST_FROM(snap->samples, snap->n_samples, id, id), end = begin;

    while (end < snap->n_samples && snap->samples[end].id == id)
        end++;
    *ret_n = end - begin;
    return begin < end ? &snap->samples[begin] : NULL;
}

uint32_t hs_snap_n_sites(const struct hs_snap *snap)
{
    return snap->n_sites;
}

const struct hs_site_frame *hs_snap_site(const struct hs_snap *snap, uint32_t site, size_t *ret_n)
{
    assert(site < snap->n_sites);
    size_t low = HS_FIRST_NOT(at, 0, snap->n_site_frames, snap->site_frames[at].site < site);
    size_t end = low;
    while (end < snap->n_site_frames && snap->site_frames[end].site == site)
        end++;
    *ret_n = end - low;
    return &snap->site_frames[low];
}

const uint64_t *hs_snap_in_degrees(const struct hs_snap *snap, size_t *ret_n)
{
    *ret_n = snap->n_in_degrees;
    return snap->in_degrees;
}
