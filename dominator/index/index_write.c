#include "index_write.h"

#include <assert.h>
#include <stddef.h>
#include <xxhash.h>

#include "index_cells.h"
#include "index_resume.h"

/* ---- the whole ---- */

static hs_status header_write(struct index_writer *writer, struct hs_error *err)
{
    struct index_header *header = &writer->header;
    header->checksum = XXH3_64bits(header, offsetof(struct index_header, checksum));
    return index_output_patch(writer->out, 0, header, sizeof *header, err);
}

static uint64_t section_end(const struct index_header *header, unsigned section)
{
    return header->sections[section].offset + header->sections[section].n_bytes;
}

/* Clears the bytes between sections, whatever was there before. */
static hs_status gap_clear(struct index_writer *writer, uint64_t begin, uint64_t end,
                           struct hs_error *err)
{
    static const uint8_t zeros[INDEX_PAGE];
    assert(end - begin <= sizeof zeros);
    return index_output_patch(writer->out, begin, zeros, end - begin, err);
}

/* Cuts the file behind the sections that are there, and clears the gaps between them. */
static hs_status writer_start(struct index_writer *writer, struct hs_error *err)
{
    struct index_header *header = &writer->header;
    uint64_t begin = index_packed_begin(header->n_tree), end = 0;

    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        if (index_write_has(writer, i))
            end = i == INDEX_REACHABLE ? begin : section_end(header, i);
    HS_TRY(index_output_cut(writer->out, end, err));
    HS_TRY(index_output_pad(writer->out, begin, err));
    HS_TRY(gap_clear(writer, 0, INDEX_PAGE, err));
    HS_TRY(gap_clear(writer, INDEX_PAGE + index_reachable_bytes(header->n_tree), begin, err));
    for (unsigned i = INDEX_PREDECESSORS + 1; i < INDEX_N_SECTIONS; i++)
        if (index_write_has(writer, i))
            HS_TRY(gap_clear(writer, section_end(header, i - 1), header->sections[i].offset, err));
    return header_write(writer, err);
}

hs_status index_write_init(struct index_output *out, const struct hs_snap *snap, uint64_t policy,
                           struct hs_budget *budget, struct index_writer *ret, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    struct index_writer writer = {
        .snap = snap,
        .budget = budget,
        .out = out,
        .section = INDEX_N_SECTIONS,
        .header =
            {
                .magic = INDEX_MAGIC,
                .version = INDEX_VERSION,
                .n_sections = INDEX_N_SECTIONS,
                .snap_checksum = totals->checksum,
                .snap_bytes = totals->file_bytes,
                .policy = policy,
                .n_nodes = totals->n_tree + totals->n_blocks,
                .n_tree = totals->n_tree,
            },
    };

    HS_TRY(index_resume_adopt(out, snap, &writer.header, err));
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        writer.is_resumed |= index_write_has(&writer, i);
    HS_TRY(writer_start(&writer, err));
    *ret = writer;
    return HS_OK;
}

static void section_fini(struct index_writer *writer)
{
    hs_packed_writer_fini(&writer->packed);
    index_reader_close(&writer->sources);
    hs_budget_release(writer->budget, writer->reserved_bytes);
    writer->reserved_bytes = 0;
    writer->section = INDEX_N_SECTIONS;
}

void index_write_fini(struct index_writer *writer)
{
    section_fini(writer);
    hs_bitmap_fini(&writer->single);
    *writer = (struct index_writer){0};
}

bool index_write_has(const struct index_writer *writer, enum index_section section)
{
    return writer->header.sections[section].n_bytes != 0;
}

hs_status index_write_finish(struct index_writer *writer, struct hs_error *err)
{
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        if (!index_write_has(writer, i))
            return hs_fail(err, HS_BUG, "section %u of the index is missing", i);
    return HS_OK;
}

/* ---- sections ---- */

static hs_status section_sink(void *context, const void *bytes, size_t n_bytes,
                              struct hs_error *err)
{
    struct index_writer *writer = context;
    return index_output_append(writer->out, bytes, n_bytes, err);
}

uint64_t index_write_bytes(const struct index_writer *writer, enum index_section section)
{
    return hs_packed_table_bytes(index_n_cells(&writer->header, section)) + INDEX_WRITE_BYTES;
}

hs_status index_write_begin(struct index_writer *writer, enum index_section section,
                            struct hs_error *err)
{
    const struct hs_packed_sink sink = {section_sink, writer};
    uint64_t n_cells = index_n_cells(&writer->header, section);
    uint64_t reserved_bytes = index_write_bytes(writer, section);

    assert(writer->section == INDEX_N_SECTIONS && !index_write_has(writer, section));
    for (unsigned i = INDEX_PREDECESSORS; i < section; i++)
        assert(index_write_has(writer, i));
    HS_TRY(hs_budget_reserve(writer->budget, reserved_bytes, "writing the index", err));
    writer->reserved_bytes = reserved_bytes;
    writer->section = section;
    HS_TRY(hs_packed_writer_init(&sink, n_cells, &writer->packed, err));
    writer->packed.n_values = index_n_values(&writer->header, section);
    if (section == INDEX_IDOM && writer->single.words == NULL)
        HS_TRY(index_reader_open(writer, INDEX_PREDECESSORS, hs_packed_skip_row, &writer->sources,
                                 err));
    return index_output_pad(writer->out, index_page_end(index_output_size(writer->out)), err);
}

/* Finds the unreached size as the rest. */
static hs_status unreached_find(struct index_writer *writer, struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(writer->snap);
    const struct hs_sizes *in = &writer->header.reached;
    uint64_t n_static = totals->n_static_blocks;

    if (n_static > totals->n_blocks || in->words > totals->heap_words ||
        in->static_words > totals->static_words || in->static_objects > n_static ||
        in->objects > totals->n_blocks - n_static)
        return hs_fail(err, HS_FORMAT, "the snapshot has more blocks than its trailer says");
    writer->header.unreached = (struct hs_sizes){
        .words = totals->heap_words - in->words,
        .objects = totals->n_blocks - n_static - in->objects,
        .static_words = totals->static_words - in->static_words,
        .static_objects = n_static - in->static_objects,
    };
    return HS_OK;
}

hs_status index_write_end(struct index_writer *writer, struct hs_error *err)
{
    enum index_section section = writer->section;
    struct index_extent *extent = &writer->header.sections[section];

    if (section == INDEX_RETAINED)
        HS_TRY(unreached_find(writer, err));
    if (section == INDEX_IDOM)
        hs_bitmap_fini(&writer->single);
    HS_TRY(hs_packed_finish(&writer->packed, err));
    uint64_t n_bytes = writer->packed.n_bytes;
    *extent = (struct index_extent){index_output_size(writer->out) - n_bytes, n_bytes};
    section_fini(writer);
    return header_write(writer, err);
}

hs_status index_write_note_single(struct index_writer *writer, struct hs_error *err)
{
    assert(writer->single.words == NULL);
    return hs_bitmap_init(&writer->single, writer->header.n_nodes, err);
}

static void single_note(struct index_writer *writer, const struct hs_piece *piece)
{
    for (uint32_t i = 0; piece->of_row == 0 && i < piece->n; i++)
        if (piece->begin[i + 1] - piece->begin[i] == 1)
            hs_bitmap_set(&writer->single, piece->first + i);
}

hs_status index_write_rows(struct index_writer *writer, const struct hs_piece *piece,
                           struct hs_error *err)
{
    assert(writer->section == INDEX_PREDECESSORS || writer->section == INDEX_DOMINATED);
    if (writer->section == INDEX_PREDECESSORS) {
        writer->header.n_predecessors += piece->begin[piece->n] - piece->begin[0];
        if (writer->single.words != NULL)
            single_note(writer, piece);
    }
    return hs_packed_piece(&writer->packed, piece, err);
}

static hs_status put_rows(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    return index_write_rows(context, piece, err);
}

struct hs_piece_sink index_write_sink(struct index_writer *writer)
{
    return (struct hs_piece_sink){put_rows, writer};
}

/* Finds the only predecessor of a node, or HS_NO_NODE: of one that is reached it is the immediate
 * dominator. */
static hs_status idom_only(struct index_writer *writer, hs_node node, hs_node idom, hs_node *ret,
                           struct hs_error *err)
{
    if (writer->single.words != NULL) {
        *ret = hs_bitmap_get(&writer->single, node) ? idom : HS_NO_NODE;
        return HS_OK;
    }
    HS_TRY(index_cells_only(&writer->sources.packed, node, ret, err));
    if (node % HS_PACKED_PAGE == 0)
        hs_packed_release(&writer->sources.packed);
    if (*ret != HS_NO_NODE && idom != HS_NO_NODE && idom != *ret && node != 0)
        return hs_fail(err, HS_BUG, "block %llu is not dominated by its only predecessor",
                       (unsigned long long)node);
    return HS_OK;
}

hs_status index_write_idom(struct index_writer *writer, hs_node node, hs_node idom,
                           struct hs_error *err)
{
    hs_node only;

    assert(writer->section == INDEX_IDOM && node == writer->packed.next);
    HS_TRY(idom_only(writer, node, idom, &only, err));
    uint64_t code = index_idom_code(node, idom, only);
    return hs_packed_cell(&writer->packed, &code, 1, err);
}

/* Lists two to four numbers, for which there is room. Returns how many. */
static unsigned sizes_numbers(const struct hs_sizes *sizes, uint64_t *numbers)
{
    bool has_static = sizes->static_words != 0 || sizes->static_objects != 0;

    numbers[0] = sizes->words;
    numbers[1] = sizes->objects << 1 | has_static;
    if (!has_static)
        return 2;
    numbers[2] = sizes->static_words;
    numbers[3] = sizes->static_objects;
    return 4;
}

hs_status index_write_retained(struct index_writer *writer, hs_node node,
                               const struct hs_sizes *retained, struct hs_error *err)
{
    uint64_t numbers[4];

    assert(writer->section == INDEX_RETAINED && node == writer->packed.next);
    if (node == 0)
        writer->header.reached = *retained;
    return hs_packed_cell(&writer->packed, numbers, sizes_numbers(retained, numbers), err);
}

hs_status index_write_owner(struct index_writer *writer, hs_node node, unsigned tier, uint32_t set,
                            struct hs_error *err)
{
    uint64_t number = (uint64_t)set << INDEX_TIER_BITS | tier;

    assert(writer->section == INDEX_OWNERS && node == writer->packed.next);
    (void)node;
    assert(tier <= HS_TIER_NONE && (set <= writer->header.n_sets || set == HS_SET_OTHERS));
    return hs_packed_cell(&writer->packed, &number, 1, err);
}

hs_status index_write_set(struct index_writer *writer, const struct hs_owner_set *set,
                          struct hs_error *err)
{
    uint64_t numbers[7];

    assert(writer->section == INDEX_SETS);
    unsigned n = sizes_numbers(&set->retained, numbers);
    numbers[n++] = set->n_tops;
    numbers[n++] = set->n_roots;
    numbers[n++] = set->first_top;
    return hs_packed_cell(&writer->packed, numbers, n, err);
}

/* ---- reachable sizes ---- */

static uint64_t sizes_hash(const struct hs_sizes *sizes, uint64_t n_tree, uint64_t page)
{
    uint64_t first = page * INDEX_SIZES_PAGE, n = n_tree - first;
    n = n < INDEX_SIZES_PAGE ? n : INDEX_SIZES_PAGE;
    return XXH3_64bits(sizes + first, n * sizeof *sizes);
}

hs_status index_write_reachable(struct index_writer *writer, const struct hs_sizes *sizes,
                                struct hs_error *err)
{
    uint64_t n_tree = writer->header.n_tree, n_pages = index_sizes_pages(n_tree);
    uint64_t at = INDEX_PAGE + n_tree * sizeof *sizes, hashes[512];

    assert(!index_write_has(writer, INDEX_REACHABLE));
    HS_TRY(index_output_patch(writer->out, INDEX_PAGE, sizes, n_tree * sizeof *sizes, err));
    for (uint64_t page = 0, n; page < n_pages; page += n) {
        for (n = 0; n < sizeof hashes / sizeof *hashes && page + n < n_pages; n++)
            hashes[n] = sizes_hash(sizes, n_tree, page + n);
        HS_TRY(index_output_patch(writer->out, at + page * sizeof *hashes, hashes,
                                  n * sizeof *hashes, err));
    }
    writer->header.sections[INDEX_REACHABLE] =
        (struct index_extent){INDEX_PAGE, index_reachable_bytes(n_tree)};
    return header_write(writer, err);
}
