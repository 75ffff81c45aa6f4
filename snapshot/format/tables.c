/* The small tables of a snapshot, read whole when it is opened. */
#include <assert.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "reader_internal.h"
#include "schema.h"
#include "varint.h"

static hs_status tables_end(const struct hs_cursor *c, struct hs_error *err)
{
    if (hs_cursor_left(c) != 0)
        return hs_fail(err, HS_FORMAT, "%zu bytes are left over at its end", hs_cursor_left(c));
    return HS_OK;
}

static hs_status tables_add_string(struct hs_snap *snap, struct hs_cursor *c, struct hs_error *err)
{
    const char *text = hs_cursor_string(c);
    HS_TRY(hs_cursor_check(c, "a string", err));
    size_t n = strlen(text) + 1;
    if (n == 1)
        return hs_fail(err, HS_FORMAT, "string %zu is empty", snap->n_strings + 1);
    assert(snap->text_bytes + n <= snap->text_capacity);
    memcpy(snap->text + snap->text_bytes, text, n);
    snap->string_begin[snap->n_strings++] = snap->text_bytes;
    snap->text_bytes += n;
    return HS_OK;
}

/* A count, then so many texts, each with its NUL. */
static hs_status tables_strings(struct hs_snap *snap, const struct hs_section *section,
                                struct hs_cursor *c, struct hs_error *err)
{
    uint64_t n = hs_cursor_varint(c);
    HS_TRY(hs_cursor_check(c, "the count of strings", err));
    if (section->id != (uint64_t)snap->n_strings + 1)
        return hs_fail(err, HS_FORMAT, "it begins with string %llu instead of %zu",
                       (unsigned long long)section->id, snap->n_strings + 1);
    if (n > hs_cursor_left(c) / 2 || n + snap->n_strings > UINT32_MAX)
        return hs_fail(err, HS_FORMAT, "%llu strings cannot stand in %zu bytes",
                       (unsigned long long)n, hs_cursor_left(c));
    HS_TRY(HS_GROW(&snap->text, &snap->text_capacity, snap->text_bytes + hs_cursor_left(c), err));
    HS_TRY(HS_GROW(&snap->string_begin, &snap->string_capacity, snap->n_strings + (size_t)n, err));
    for (uint64_t i = 0; i < n; i++)
        HS_TRY(tables_add_string(snap, c, err));
    return HS_OK;
}

static struct hs_column_limits tables_limits(const struct hs_snap *snap)
{
    return (struct hs_column_limits){.version = snap->header.version, .n_strings = snap->n_strings};
}

static hs_status tables_roots(struct hs_snap *snap, struct hs_cursor *c, struct hs_error *err)
{
    const struct hs_column_limits limits = tables_limits(snap);
    HS_TRY(hs_schema_decode_list(&hs_schema_roots, c, &limits, &snap->roots, &snap->n_roots, err));
    if (limits.version == 1)
        hs_roots_from_first(snap->roots, snap->n_roots);
    if (limits.version < 3)
        hs_roots_tiers_from_second(snap->roots, snap->n_roots);
    const struct hs_root_limits of_roots = {
        .version = limits.version,
        .n_roots = snap->n_roots,
        .n_blocks = snap->header.n_blocks,
    };
    return hs_roots_verify(snap->roots, &of_roots, err);
}

static hs_status tables_types(struct hs_snap *snap, struct hs_cursor *c, struct hs_error *err)
{
    const struct hs_column_limits limits = {.version = snap->header.version,
                                            .n_strings = UINT32_MAX};
    HS_TRY(hs_schema_decode_list(&hs_schema_types, c, &limits, &snap->types, &snap->n_types, err));
    snap->has_types = true;
    if (limits.version < 2)
        return HS_OK;
    HS_TRY(hs_schema_decode_list(&hs_schema_members, c, &limits, &snap->members, &snap->n_members,
                                 err));
    return hs_members_verify(snap->members, snap->n_members, snap->types, snap->n_types, err);
}

/* Version 1 knew samples of Gc.Memprof only, and no sites. */
static hs_status tables_samples_from_first(struct hs_snap *snap, struct hs_error *err)
{
    struct hs_sampler *sampler;
    HS_TRY(HS_ALLOC(&sampler, 1, err));
    *sampler = (struct hs_sampler){.kind = HS_SAMPLER_MEMPROF};
    snap->facts.samplers = sampler;
    snap->facts.n_samplers = 1;
    for (size_t i = 0; i < snap->n_samples; i++)
        snap->samples[i].site = HS_NO_SITE;
    return HS_OK;
}

static hs_status tables_samples(struct hs_snap *snap, struct hs_cursor *c, struct hs_error *err)
{
    const struct hs_column_limits limits = tables_limits(snap);
    const struct hs_column_limits later = {.version = limits.version, .n_strings = UINT32_MAX};

    HS_TRY(hs_schema_decode_list(&hs_schema_samples, c, &limits, &snap->samples, &snap->n_samples,
                                 err));
    if (limits.version < 2)
        HS_TRY(tables_samples_from_first(snap, err));
    else
        HS_TRY(hs_schema_decode_list(&hs_schema_site_frames, c, &later, &snap->site_frames,
                                     &snap->n_site_frames, err));
    HS_TRY(hs_site_frames_verify(snap->site_frames, snap->n_site_frames, &snap->n_sites, err));
    const struct hs_samples_limits of_samples = {.n_roots = snap->n_roots,
                                                 .n_blocks = snap->header.n_blocks,
                                                 .n_samplers = snap->facts.n_samplers,
                                                 .n_sites = snap->n_sites};
    return hs_samples_verify(snap->samples, snap->n_samples, &of_samples, err);
}

static hs_status tables_histogram(struct hs_snap *snap, struct hs_cursor *c, struct hs_error *err)
{
    uint64_t n = hs_cursor_varint(c);
    HS_TRY(hs_cursor_check(c, "the count of in-degrees", err));
    uint64_t expected = (snap->header.n_blocks + 1023) >> HS_HISTOGRAM_SHIFT;
    if (n != expected || n > hs_cursor_left(c))
        return hs_fail(err, HS_FORMAT, "it has %llu in-degrees instead of %llu",
                       (unsigned long long)n, (unsigned long long)expected);
    HS_TRY(HS_ALLOC(&snap->in_degrees, (size_t)n, err));
    snap->n_in_degrees = (size_t)n;
    for (size_t i = 0; i < snap->n_in_degrees; i++)
        snap->in_degrees[i] = hs_cursor_varint(c);
    return hs_cursor_check(c, "an in-degree", err);
}

static hs_status tables_read(struct hs_snap *snap, const struct hs_section *section,
                             const struct hs_section_view *view, struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(view->bytes, view->n_bytes);
    const struct hs_column_limits limits = tables_limits(snap);
    hs_status status = HS_BUG;
    switch (section->kind) {
    case HS_SECTION_STRINGS:
        status = tables_strings(snap, section, &c, err);
        break;
    case HS_SECTION_META:
        status = hs_facts_decode(&c, &limits, &snap->facts, err);
        snap->facts.word_bytes = snap->header.word_bytes;
        break;
    case HS_SECTION_ROOTS:
        status = tables_roots(snap, &c, err);
        break;
    case HS_SECTION_TYPES:
        status = tables_types(snap, &c, err);
        break;
    case HS_SECTION_SAMPLES:
        status = tables_samples(snap, &c, err);
        break;
    case HS_SECTION_HISTOGRAM:
        status = tables_histogram(snap, &c, err);
        break;
    default:
        return hs_fail(err, HS_BUG, "section %s is no table", hs_section_name(section->kind));
    }
    return status == HS_OK ? tables_end(&c, err) : status;
}

/* Types may use strings that come after them. */
static hs_status tables_verify_types(const struct hs_snap *snap, struct hs_error *err)
{
    for (size_t i = 0; i < snap->n_types; i++)
        if (snap->types[i].name > snap->n_strings)
            return hs_fail(err, HS_FORMAT,
                           "section TYPES is damaged: type %zu is named by string "
                           "%u of %zu",
                           i, snap->types[i].name, snap->n_strings);
    for (size_t i = 0; i < snap->n_members; i++)
        if (snap->members[i].name > snap->n_strings || snap->members[i].type_name > snap->n_strings)
            return hs_fail(err, HS_FORMAT,
                           "section TYPES is damaged: member %zu is named by strings %u and %u of "
                           "%zu",
                           i, snap->members[i].name, snap->members[i].type_name, snap->n_strings);
    return HS_OK;
}

static hs_status tables_verify_sites(const struct hs_snap *snap, struct hs_error *err)
{
    for (size_t i = 0; i < snap->n_site_frames; i++) {
        const struct hs_site_frame *frame = &snap->site_frames[i];
        if (frame->function > snap->n_strings || frame->file > snap->n_strings ||
            frame->module > snap->n_strings)
            return hs_fail(err, HS_FORMAT,
                           "section SAMPLES is damaged: frame %zu is named by strings %u, %u and "
                           "%u of %zu",
                           i, frame->function, frame->file, frame->module, snap->n_strings);
    }
    return HS_OK;
}

static hs_status tables_read_at(struct hs_snap *snap, size_t at, struct hs_unpacker *unpacker,
                                struct hs_error *err)
{
    struct hs_section_view view;
    assert(at < snap->n_sections);
    const struct hs_section *section = &snap->sections[at];
    HS_TRY(hs_section_load(&snap->file, section, unpacker, &view, err));
    if (tables_read(snap, section, &view, err) != HS_OK)
        return hs_section_context(section, err);
    return HS_OK;
}

hs_status hs_snap_read_tables(struct hs_snap *snap, bool whole_tables, struct hs_error *err)
{
    struct hs_unpacker unpacker = {0};
    hs_status status = HS_OK;
    for (size_t i = 0; i < HS_FRONT_SECTIONS && status == HS_OK; i++)
        status = tables_read_at(snap, i, &unpacker, err);
    size_t back = HS_FRONT_SECTIONS + HS_CHUNK_SECTIONS * snap->n_chunks;
    for (size_t i = 0; i < HS_BACK_SECTIONS && whole_tables && status == HS_OK; i++)
        status = tables_read_at(snap, back + i, &unpacker, err);
    if (status == HS_OK)
        status = tables_verify_types(snap, err);
    if (status == HS_OK)
        status = tables_verify_sites(snap, err);
    hs_unpacker_fini(&unpacker);
    return status;
}

/* The directory must describe exactly this file: the kinds in their order, the sizes filling the
 * space up to the trailer, the heads giving the checksum. */
static hs_status trailer_verify_sections(struct hs_snap *snap, const struct hs_section *trailer,
                                         const struct hs_footer *footer, struct hs_error *err)
{
    uint8_t bytes[HS_HEAD_BYTES];
    uint64_t offset = HS_HEADER_BYTES;
    assert(snap->file.n_bytes >= HS_HEADER_BYTES);
    uint64_t checksum = hs_checksum_chain(snap->file.bytes, HS_HEADER_BYTES, 0);
    for (size_t i = 0; i < snap->n_sections; i++) {
        struct hs_section *section = &snap->sections[i];
        uint64_t in_chunks = i - HS_FRONT_SECTIONS;
        bool is_column = in_chunks < HS_CHUNK_SECTIONS * snap->n_chunks;
        if (section->kind != hs_section_expected(i, snap->n_chunks) ||
            (section->kind != HS_SECTION_STRINGS &&
             section->id != (is_column ? in_chunks / HS_CHUNK_SECTIONS : 0)))
            return hs_fail(err, HS_FORMAT, "its section %zu is out of order", i);
        section->offset = offset;
        hs_head_encode(section, bytes);
        checksum = hs_checksum_chain(bytes, sizeof bytes, checksum);
        if (section->stored_bytes > trailer->offset - offset ||
            trailer->offset - offset - section->stored_bytes < HS_HEAD_BYTES)
            return hs_fail(err, HS_FORMAT, "its section %zu reaches into the trailer", i);
        offset += HS_HEAD_BYTES + section->stored_bytes;
    }
    if (offset != trailer->offset)
        return hs_fail(err, HS_FORMAT, "its sections leave a hole before the trailer");
    hs_head_encode(trailer, bytes);
    checksum = hs_checksum_chain(bytes, sizeof bytes, checksum);
    if (checksum != footer->checksum && !snap->file.trust_hashes)
        return hs_fail(err, HS_FORMAT, "the file's checksum is wrong");
    return HS_OK;
}

static hs_status trailer_decode(struct hs_snap *snap, const struct hs_section_view *view,
                                struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(view->bytes, view->n_bytes);
    const struct hs_column_limits limits = {.version = snap->header.version};
    snap->totals.n_doubtful_edges = HS_UNKNOWN_DOUBT;
    HS_TRY(hs_schema_decode(&hs_schema_totals, &c, &snap->totals, 1, &limits, err));
    HS_TRY(
        hs_schema_decode_list(&hs_schema_chunks, &c, &limits, &snap->chunks, &snap->n_chunks, err));
    HS_TRY(hs_schema_decode_list(&hs_schema_sections, &c, &limits, &snap->sections,
                                 &snap->n_sections, err));
    HS_TRY(tables_end(&c, err));
    if (snap->totals.n_blocks != snap->header.n_blocks || snap->totals.n_chunks != snap->n_chunks ||
        snap->n_chunks != hs_chunks_of(snap->header.n_blocks) ||
        snap->n_sections + 1 != hs_sections_of(snap->n_chunks))
        return hs_fail(err, HS_FORMAT, "its counts do not agree");
    return HS_OK;
}

static hs_status trailer_read(struct hs_snap *snap, const struct hs_section *trailer,
                              const struct hs_footer *footer, struct hs_unpacker *unpacker,
                              struct hs_error *err)
{
    struct hs_section_view view;
    HS_TRY(hs_section_load(&snap->file, trailer, unpacker, &view, err));
    hs_status status = trailer_decode(snap, &view, err);
    if (status == HS_OK)
        status = trailer_verify_sections(snap, trailer, footer, err);
    return status == HS_OK ? HS_OK : hs_section_context(trailer, err);
}

hs_status hs_snap_read_trailer(struct hs_snap *snap, const struct hs_footer *footer,
                               struct hs_error *err)
{
    struct hs_section trailer;
    struct hs_unpacker unpacker = {0};
    size_t n_bytes = snap->file.n_bytes;
    if (footer->file_bytes != n_bytes ||
        n_bytes < HS_HEADER_BYTES + HS_HEAD_BYTES + HS_FOOTER_BYTES ||
        footer->trailer_offset < HS_HEADER_BYTES ||
        footer->trailer_offset > n_bytes - HS_FOOTER_BYTES - HS_HEAD_BYTES)
        return hs_fail(err, HS_FORMAT, "its last %d bytes are damaged", HS_FOOTER_BYTES);
    hs_head_decode(snap->file.bytes + footer->trailer_offset, footer->trailer_offset, &trailer);
    if (trailer.kind != HS_SECTION_TRAILER || trailer.id != 0 ||
        trailer.stored_bytes != n_bytes - HS_FOOTER_BYTES - HS_HEAD_BYTES - trailer.offset)
        return hs_fail(err, HS_FORMAT, "its trailer at byte %llu is damaged",
                       (unsigned long long)trailer.offset);
    hs_status status = trailer_read(snap, &trailer, footer, &unpacker, err);
    hs_unpacker_fini(&unpacker);
    snap->totals.checksum = footer->checksum;
    snap->totals.file_bytes = footer->file_bytes;
    return status;
}
