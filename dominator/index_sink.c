#include "index_sink.h"

#include <assert.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* the size of a state, to have it in our memory */
#include <xxhash.h>

#include "base/alloc.h"

uint64_t hs_index_section_bytes(const struct index_footer *footer, enum index_section section)
{
    uint64_t n = footer->n_nodes;
    switch (section) {
    case INDEX_IDOM:
    case INDEX_OBJECTS:
        return n * sizeof(uint32_t);
    case INDEX_PREDECESSOR_BEGIN:
    case INDEX_DOMINATED_BEGIN:
        return (n + 1) * sizeof(uint32_t);
    case INDEX_PREDECESSORS:
        return footer->n_predecessors * sizeof(uint32_t);
    case INDEX_DOMINATED:
        return footer->n_dominated * sizeof(uint32_t);
    case INDEX_WORDS:
        return n * index_words_width(footer->reached.words);
    case INDEX_STATIC_BITS:
        return (n + 63) / 64 * sizeof(uint64_t);
    case INDEX_STATIC_WORDS:
        return footer->n_static * index_words_width(footer->reached.static_words);
    case INDEX_STATIC_OBJECTS:
        return footer->n_static * sizeof(uint32_t);
    case INDEX_REACHABLE:
        return footer->n_tree * sizeof(struct hs_sizes);
    case INDEX_N_SECTIONS:
        break;
    }
    assert(false);
    return 0;
}

hs_status index_sink_init(struct hs_out *out, struct index_sink *ret, struct hs_error *err)
{
    void *hash;
    /* XXH3's state wants 64-byte alignment, which pages have. */
    HS_TRY(hs_pages_alloc(1, sizeof(XXH3_state_t), &hash, err));
    *ret = (struct index_sink){.out = out, .section = INDEX_N_SECTIONS, .hash = hash};
    return HS_OK;
}

void index_sink_fini(struct index_sink *sink)
{
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        hs_pages_free(sink->memory[i], sink->footer.sections[i].n_bytes, 1);
    hs_pages_free(sink->hash, 1, sizeof(XXH3_state_t));
    *sink = (struct index_sink){0};
}

static hs_status sink_pad(struct index_sink *sink, struct hs_error *err)
{
    static const uint8_t zeros[INDEX_PAGE];
    uint64_t over = sink->out->n_written % INDEX_PAGE;
    return over == 0 ? HS_OK : hs_out_write(sink->out, zeros, INDEX_PAGE - over, err);
}

hs_status index_sink_begin(struct index_sink *sink, enum index_section section, uint64_t n_bytes,
                           struct hs_error *err)
{
    struct index_extent *extent = &sink->footer.sections[section];

    assert(sink->section == INDEX_N_SECTIONS && sink->memory[section] == NULL);
    if (sink->out == NULL) {
        HS_TRY(hs_pages_alloc(n_bytes, 1, &sink->memory[section], err));
    } else {
        HS_TRY(sink_pad(sink, err));
        extent->offset = sink->out->n_written;
    }
    extent->n_bytes = n_bytes;
    sink->section = section;
    sink->n_written = 0;
    (void)XXH3_64bits_reset(sink->hash);
    return HS_OK;
}

hs_status index_sink_write(struct index_sink *sink, const void *bytes, size_t n_bytes,
                           struct hs_error *err)
{
    assert(n_bytes <= sink->footer.sections[sink->section].n_bytes - sink->n_written);
    if (sink->out == NULL && n_bytes != 0) {
        memcpy((uint8_t *)sink->memory[sink->section] + sink->n_written, bytes, n_bytes);
    } else if (n_bytes != 0) {
        (void)XXH3_64bits_update(sink->hash, bytes, n_bytes);
        HS_TRY(hs_out_write(sink->out, bytes, n_bytes, err));
    }
    sink->n_written += n_bytes;
    return HS_OK;
}

hs_status index_sink_end(struct index_sink *sink, struct hs_error *err)
{
    struct index_extent *extent = &sink->footer.sections[sink->section];

    if (sink->n_written != extent->n_bytes)
        return hs_fail(err, HS_BUG, "section %d of the index has %llu of %llu bytes", sink->section,
                       (unsigned long long)sink->n_written, (unsigned long long)extent->n_bytes);
    extent->checksum = XXH3_64bits_digest(sink->hash);
    sink->section = INDEX_N_SECTIONS;
    return HS_OK;
}

hs_status index_sink_put(struct index_sink *sink, enum index_section section, const void *bytes,
                         uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(index_sink_begin(sink, section, n_bytes, err));
    HS_TRY(index_sink_write(sink, bytes, n_bytes, err));
    return index_sink_end(sink, err);
}

hs_status index_sink_finish(struct index_sink *sink, struct hs_error *err)
{
    struct index_footer *footer = &sink->footer;

    footer->magic = INDEX_MAGIC;
    footer->version = INDEX_VERSION;
    footer->n_sections = INDEX_N_SECTIONS;
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        assert(footer->sections[i].n_bytes == hs_index_section_bytes(footer, i));
    footer->checksum = XXH3_64bits(footer, offsetof(struct index_footer, checksum));
    if (sink->out == NULL)
        return HS_OK;
    HS_TRY(sink_pad(sink, err));
    return hs_out_write(sink->out, footer, sizeof *footer, err);
}
