/* links: hs_format hs_dep_zstd */
#include "golden_files.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/alloc.h"
#include "golden_forge.h"

/* ---- files that open ---- */

static void golden_minimal(struct hs_graph_builder *b)
{
    b->facts.n_stop_attempts = 1;
}

/* The worked example of docs/format.md. */
static void golden_example(struct hs_graph_builder *b)
{
    hs_golden_string(b, "./demo", &b->facts.command);
    hs_golden_string(b, "heapsnap 0.1.0", &b->facts.tool_version);
    b->facts.pid = 4242;
    b->facts.pause_ns = 1500000;
    b->facts.read_bytes = 1 << 20;
    b->facts.n_stop_attempts = 1;
    b->next_address = 0x601000;
    uint32_t module = hs_graph_builder_block(b, 2, true);
    b->next_address = 0x7f0000001000;
    uint32_t list = hs_graph_builder_block(b, 3, false);
    uint32_t text = hs_graph_builder_block(b, 2, false);
    b->next_address += 16;
    uint32_t tail = hs_graph_builder_block(b, 3, false);
    b->blocks[text].type = hs_graph_builder_type(b, "string", 252, HS_FORM_STRING);
    b->blocks[tail].state = HS_BLOCK_YOUNG;
    hs_graph_builder_edge_at(b, list, tail, HS_EDGE_EXACT, 1);
    hs_graph_builder_edge_at(b, list, text, HS_EDGE_EXACT, 0);
    hs_graph_builder_edge_at(b, tail, text, HS_EDGE_EXACT, 0);
    hs_graph_builder_edge_at(b, tail, list, HS_EDGE_WEAK, 1);
    hs_graph_builder_reason(b, HS_REASON_WEAK_REFERENCE);
    uint32_t vcs = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "demo", "Stm", "Stm.VCS", list);
    b->leaves[vcs].address = 0x601000;
    b->leaves[vcs].field = 0;
    b->leaves[vcs].line = 318;
    (void)hs_graph_builder_leaf(b, HS_ROOT_STACK, "thread 4242", "#1 Stm.observe", "slot sp+16",
                                tail);
    hs_graph_builder_sample(b, 7, text);
    (void)module;
}

/* Every edge class, words of four bytes, every list of the facts. */
static void golden_classes(struct hs_graph_builder *b)
{
    static struct hs_runtime_fact runtime;
    static struct hs_proof proof;
    static struct hs_binary binary;
    static struct hs_note note;
    static const struct hs_range hole = {0x1000, 0x2000};
    b->facts.word_bytes = 4;
    hs_golden_string(b, "ocaml", &runtime.name);
    hs_golden_string(b, "4.14.1", &runtime.version);
    hs_golden_string(b, "heap words", &proof.what);
    proof.expected = 10;
    proof.found = 10;
    proof.holds = true;
    hs_golden_string(b, "/usr/bin/demo", &binary.path);
    hs_golden_string(b, "00ff", &binary.build_id);
    binary.begin = 0x400000;
    binary.has_symtab = true;
    hs_golden_string(b, "one range could not be read", &note.text);
    note.is_gap = true;
    b->facts.runtimes = &runtime;
    b->facts.proofs = &proof;
    b->facts.binaries = &binary;
    b->facts.notes = &note;
    b->facts.unreadable = &hole;
    b->facts.n_runtimes = b->facts.n_proofs = b->facts.n_binaries = 1;
    b->facts.n_notes = b->facts.n_unreadable = 1;
    uint32_t first = hs_graph_builder_blocks(b, 9, 9);
    for (unsigned i = 0; i < HS_N_EDGE_CLASSES; i++)
        hs_graph_builder_edge_at(b, first, first + 1 + i, i, i);
    hs_graph_builder_edge_at(b, first + 8, first, HS_EDGE_EXACT, 3);
    hs_graph_builder_edge_at(b, first + 8, first, HS_EDGE_EXACT, 5);
    (void)hs_graph_builder_leaf(b, HS_ROOT_C_ROOT, NULL, NULL, "root", first + 8);
}

/* More than one chunk. */
static void golden_chunks(struct hs_graph_builder *b)
{
    b->zstd_level = 0;
    uint32_t n = HS_CHUNK_BLOCKS + 3;
    uint32_t first = hs_graph_builder_blocks(b, n, 3);
    for (uint32_t i = 0; i + 1 < n; i++)
        hs_graph_builder_edge_at(b, first + i, first + i + 1, HS_EDGE_EXACT, 1);
    hs_graph_builder_edge_at(b, first + n - 1, first, HS_EDGE_EXACT, 0);
    (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "demo", "List", "List.all", first);
}

struct golden_open {
    const char *name;
    void (*build)(struct hs_graph_builder *b);
    bool is_packed;
};

static const struct golden_open opens[] = {
    {"example.snap", golden_example, false},    {"minimal.snap", golden_minimal, false},
    {"classes.snap", golden_classes, false},    {"native.snap", hs_golden_native, false},
    {"samples.snap", hs_golden_samples, false}, {"chunks.snap", golden_chunks, true},
};

static void golden_build(void (*build)(struct hs_graph_builder *b), void **ret, size_t *ret_n)
{
    struct hs_graph_builder b = {.zstd_level = -1};
    build(&b);
    hs_graph_builder_bytes(&b, ret, ret_n);
    hs_graph_builder_fini(&b);
}

/* ---- the example with one thing wrong and its checksums right ---- */

static void forge_append_byte(struct hs_forge *f, enum hs_section_kind kind, uint8_t value)
{
    struct hs_forge_section *section = hs_forge_section(f, kind, 0);
    hs_forge_splice(section, section->raw.n_bytes, 0, &value, 1);
}

enum { EXAMPLE_TREE = 9 }; /* all, 2 kinds, module, unit, thread, frame, 2 leaves */

static void forge_parent(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 0, 1, 2); /* node 1 below node 1 */
}
static void forge_level(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 1, 2, 1); /* a module that is a kind */
}
static void forge_level_range(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 1, 2, 9);
}
static void forge_two_tops(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 1, 1, 0);
}
static void forge_kind(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 2, 1, HS_N_ROOT_KINDS);
}
static void forge_inner_target(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 7, 1, 22); /* node 1 targets node 10 */
}
static void forge_target_in_tree(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 7, 7, 4); /* leaf 7 targets node 1 */
}
static void forge_no_tree(struct hs_forge *f)
{
    struct hs_forge_section *roots = hs_forge_section(f, HS_SECTION_ROOTS, 0);
    hs_forge_splice(roots, 0, roots->raw.n_bytes, "", 1);
}
static void forge_many_roots(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_ROOTS, 0, 0x7f);
}
static void forge_sizes_gap(struct hs_forge *f)
{
    static const uint8_t wrap[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    struct hs_forge_section *sizes = hs_forge_section(f, HS_SECTION_SIZES, 0);
    hs_forge_splice(sizes, sizes->raw.n_bytes - 11, 1, wrap, sizeof wrap);
}
static void forge_zero_words(struct hs_forge *f)
{
    struct hs_forge_section *sizes = hs_forge_section(f, HS_SECTION_SIZES, 0);
    hs_forge_set_byte(sizes, sizes->raw.n_bytes - 10, 0);
}
static void forge_state(struct hs_forge *f)
{
    struct hs_forge_section *sizes = hs_forge_section(f, HS_SECTION_SIZES, 0);
    hs_forge_set_byte(sizes, sizes->raw.n_bytes - 2, 0x40);
}
static void forge_run_length(struct hs_forge *f)
{
    struct hs_forge_section *sizes = hs_forge_section(f, HS_SECTION_SIZES, 0);
    hs_forge_set_byte(sizes, sizes->raw.n_bytes - 1, 9);
}
static void forge_first_address(struct hs_forge *f)
{
    f->chunks[0].first_address++;
}
static void forge_type(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_BLOCK_TYPES, 1, 2);
}
static void forge_degree(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EDGES, 1, 0x7f);
}
static void forge_degree_wrap(struct hs_forge *f)
{
    static const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
    hs_forge_splice(hs_forge_section(f, HS_SECTION_EDGES, 0), 1, 1, huge, sizeof huge);
}
static void forge_varint(struct hs_forge *f)
{
    static const uint8_t overlong[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                       0xff, 0xff, 0xff, 0xff, 0x01};
    hs_forge_splice(hs_forge_section(f, HS_SECTION_EDGES, 0), 4, 1, overlong, sizeof overlong);
}
static void forge_target(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EDGES, 4, 100);
}
static void forge_target_tree(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EDGES, 4, 3); /* two nodes back: a root */
}
static void forge_target_gap(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EDGES, 5, 100);
}
static void forge_edges_left(struct hs_forge *f)
{
    forge_append_byte(f, HS_SECTION_EDGES, 0);
}
static void forge_edges_short(struct hs_forge *f)
{
    struct hs_forge_section *edges = hs_forge_section(f, HS_SECTION_EDGES, 0);
    hs_forge_splice(edges, edges->raw.n_bytes - 1, 1, "", 0);
}
static void forge_field(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_FIELDS, 2, 7); /* behind the one run of classes */
}
static void forge_class(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_FIELDS, 0, HS_EDGE_WEAK);
}
static void forge_class_run(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_FIELDS, 1, 4); /* of three edges */
}
static void forge_offset_missing(struct hs_forge *f)
{
    struct hs_forge_section *fields = hs_forge_section(f, HS_SECTION_FIELDS, 0);
    hs_forge_splice(fields, fields->raw.n_bytes - 1, 1, "", 0);
}
static void forge_offset_left(struct hs_forge *f)
{
    forge_append_byte(f, HS_SECTION_FIELDS, 0);
}
static void forge_doubtful(struct hs_forge *f)
{
    f->totals.n_doubtful_edges++;
}
static void forge_tier_range(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 6, 7, HS_N_TIERS);
}
static void forge_tier_top(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 6, 0, HS_TIER_RUNTIME);
}
static void forge_tier_inner(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, EXAMPLE_TREE, 6, 3, HS_TIER_DOUBTFUL);
}
static void forge_extra_class(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EXTRA, 4, HS_EDGE_EXACT);
}
static void forge_extra_source(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EXTRA, 1, 4);
}
static void forge_extra_target(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EXTRA, 2, 2);
}
static void forge_extra_count(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EXTRA, 0, 2);
}
static void forge_extra_field(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EXTRA, 3, 3);
}
static void forge_extra_reason(struct hs_forge *f)
{
    static const uint8_t beyond[] = {0x80, 0x02}; /* 256 */
    hs_forge_splice(hs_forge_section(f, HS_SECTION_EXTRA, 0), 5, 1, beyond, sizeof beyond);
}
static void forge_extra_reason_class(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_EXTRA, 4, HS_EDGE_EPHEMERON);
}
static void forge_string_empty(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_STRINGS, 1, 0);
}
static void forge_string_count(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_STRINGS, 0, 100);
}
static void forge_string_first(struct hs_forge *f)
{
    hs_forge_section(f, HS_SECTION_STRINGS, 1)->head.id = 2;
}
static void forge_string_id(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_META, 2, 100);
}
static void forge_type_name(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_TYPES, 2, 0, 1, 120);
}
static void forge_sample_node(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_SAMPLES, 2, 100);
}
static void forge_histogram(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_HISTOGRAM, 1, 6);
}
static void forge_histogram_count(struct hs_forge *f)
{
    forge_append_byte(f, HS_SECTION_HISTOGRAM, 0);
    hs_golden_set(f, HS_SECTION_HISTOGRAM, 0, 2);
}
static void forge_n_edges(struct hs_forge *f)
{
    f->totals.n_edges++;
}
static void forge_chunk_edges(struct hs_forge *f)
{
    f->chunks[0].n_edges++;
}
static void forge_words(struct hs_forge *f)
{
    f->totals.heap_words++;
}
static void forge_static_blocks(struct hs_forge *f)
{
    f->totals.n_static_blocks++;
}
static void forge_n_blocks(struct hs_forge *f)
{
    f->totals.n_blocks++;
}
static void forge_n_types(struct hs_forge *f)
{
    f->totals.n_types++;
}
static void forge_promise(struct hs_forge *f)
{
    f->header.n_blocks = 1;
    f->totals.n_blocks = 1;
}
static void forge_huge_promise(struct hs_forge *f)
{
    f->header.n_blocks = HS_MAX_BLOCKS;
    f->totals.n_blocks = HS_MAX_BLOCKS;
}
static void forge_order(struct hs_forge *f)
{
    struct hs_forge_section *sizes = hs_forge_section(f, HS_SECTION_SIZES, 0);
    struct hs_forge_section swapped = sizes[0];
    sizes[0] = sizes[1];
    sizes[1] = swapped;
}
static void forge_chunk_number(struct hs_forge *f)
{
    hs_forge_section(f, HS_SECTION_EDGES, 0)->head.id = 1;
}
static void forge_trailer_left(struct hs_forge *f)
{
    struct hs_error err = HS_ERROR_INIT;
    if (hs_buffer_reserve(&f->trailer_tail, 1, &err) == HS_OK)
        hs_buffer_put_u8(&f->trailer_tail, 0);
}
static void forge_version(struct hs_forge *f)
{
    f->header.version = HS_FORMAT_VERSION + 1;
}
static void forge_version_zero(struct hs_forge *f)
{
    f->header.version = 0;
}
static void forge_header_flags(struct hs_forge *f)
{
    f->header.flags = 1;
}
static void forge_word_bytes(struct hs_forge *f)
{
    f->header.word_bytes = 3;
}

static void forge_pack(struct hs_forge_section *section, const void *bytes, size_t n_bytes)
{
    static uint8_t packed[1 << 18];
    size_t n = ZSTD_compress(packed, sizeof packed, bytes, n_bytes, 3);
    assert(!ZSTD_isError(n));
    hs_forge_splice(section, 0, section->raw.n_bytes, packed, n);
    section->head.flags = HS_SECTION_ZSTD;
    section->head.raw_bytes = n_bytes;
    section->keep_raw_bytes = true;
}

/* 64 MiB in a few kilobytes. */
static void forge_bomb(struct hs_forge *f)
{
    struct hs_error err = HS_ERROR_INIT;
    size_t n = (size_t)64 << 20;
    void *zeros = NULL;
    if (hs_pages_alloc(n, 1, &zeros, &err) != HS_OK)
        return;
    forge_pack(hs_forge_section(f, HS_SECTION_EDGES, 0), zeros, n);
    hs_pages_free(zeros, n, 1);
}
static void forge_pack_size(struct hs_forge *f)
{
    static const uint8_t zeros[1000];
    struct hs_forge_section *edges = hs_forge_section(f, HS_SECTION_EDGES, 0);
    forge_pack(edges, zeros, sizeof zeros);
    edges->head.raw_bytes++;
}
static void forge_pack_tail(struct hs_forge *f)
{
    static const uint8_t zeros[1000];
    struct hs_forge_section *edges = hs_forge_section(f, HS_SECTION_EDGES, 0);
    forge_pack(edges, zeros, sizeof zeros);
    hs_forge_splice(edges, edges->raw.n_bytes, 0, "x", 1);
}
static void forge_pack_broken(struct hs_forge *f)
{
    static const uint8_t zeros[1000];
    struct hs_forge_section *edges = hs_forge_section(f, HS_SECTION_EDGES, 0);
    forge_pack(edges, zeros, sizeof zeros);
    hs_forge_set_byte(edges, 7, 0xff);
}
static void forge_raw_size(struct hs_forge *f)
{
    struct hs_forge_section *edges = hs_forge_section(f, HS_SECTION_EDGES, 0);
    edges->head.raw_bytes = 1;
    edges->keep_raw_bytes = true;
}

static const struct hs_golden_forged forged[] = {
    {"future_version", forge_version, OPEN, "format version 6", false},
    {"version_zero", forge_version_zero, OPEN, "its header is damaged", false},
    {"header_flags", forge_header_flags, OPEN, "its header is damaged", false},
    {"word_bytes", forge_word_bytes, OPEN, "its header is damaged", false},
    {"promise", forge_promise, OPEN, "is out of range", false},
    {"promise_huge", forge_huge_promise, OPEN, "its counts do not agree", false},
    {"n_blocks", forge_n_blocks, OPEN, "its counts do not agree", false},
    {"n_types", forge_n_types, OPEN, "tables are not as long as its trailer says", false},
    {"n_edges", forge_n_edges, CHECK, "its trailer counts 4 edges, and there are 3", false},
    {"heap_words", forge_words, CHECK, "heap words", false},
    {"static_blocks", forge_static_blocks, CHECK, "static blocks", false},
    {"chunk_edges", forge_chunk_edges, CHECK, "not as the trailer describes", false},
    {"first_address", forge_first_address, CHECK, "not as the trailer describes", false},
    {"section_order", forge_order, OPEN, "out of order", false},
    {"chunk_number", forge_chunk_number, OPEN, "out of order", false},
    {"trailer_left", forge_trailer_left, OPEN, "1 bytes are left over", false},
    {"string_empty", forge_string_empty, OPEN, "string 1 is empty", false},
    {"string_count", forge_string_count, OPEN, "cannot stand in", false},
    {"string_first", forge_string_first, OPEN, "begins with string 2", false},
    {"string_id", forge_string_id, OPEN, "over its limit", false},
    {"type_name", forge_type_name, OPEN, "is named by string", false},
    {"no_tree", forge_no_tree, OPEN, "lacks node 0", false},
    {"many_roots", forge_many_roots, OPEN, "cannot stand in", false},
    {"root_parent", forge_parent, OPEN, "does not stand before it", false},
    {"root_level", forge_level, OPEN, "level 1 cannot stand below level 1", false},
    {"root_level_range", forge_level_range, OPEN, "over its limit 5", false},
    {"root_two_tops", forge_two_tops, OPEN, "node 0 alone", false},
    {"root_kind", forge_kind, OPEN, "over its limit", false},
    {"root_inner_target", forge_inner_target, OPEN, "only a leaf has a target", false},
    {"root_target_in_tree", forge_target_in_tree, OPEN, "is out of range", false},
    {"sample_node", forge_sample_node, OPEN, "which is no block", false},
    {"histogram_lie", forge_histogram, CHECK, "6 pointers, and there are 5", false},
    {"histogram_count", forge_histogram_count, OPEN, "2 in-degrees instead of 1", false},
    {"address_wrap", forge_sizes_gap, CHECK, "no room in the address space", false},
    {"zero_words", forge_zero_words, CHECK, "no room in the address space", false},
    {"state_unknown", forge_state, CHECK, "runs of states are malformed", false},
    {"run_too_long", forge_run_length, CHECK, "runs of states are malformed", false},
    {"type_out_of_range", forge_type, CHECK, "has type 2 of 2", false},
    {"degree_overflow", forge_degree, CHECK, "more than there is room for", false},
    {"degree_wrap", forge_degree_wrap, CHECK, "more than there is room for", false},
    {"varint_overlong", forge_varint, CHECK, "malformed number", false},
    {"target_out_of_range", forge_target, CHECK, "a node that does not exist", false},
    {"target_is_root", forge_target_tree, CHECK, "a node that does not exist", false},
    {"target_gap", forge_target_gap, CHECK, "a node that does not exist", false},
    {"edges_left_over", forge_edges_left, CHECK, "1 bytes are left over", false},
    {"edges_short", forge_edges_short, CHECK, "is damaged", false},
    {"field_beyond_block", forge_field, CHECK, "has an edge at word 7", false},
    {"class_weak", forge_class, CHECK, "edge classes are malformed", false},
    {"class_run", forge_class_run, CHECK, "edge classes are malformed", false},
    {"offset_missing", forge_offset_missing, CHECK, "at block 12", false},
    {"offset_left_over", forge_offset_left, CHECK, "1 bytes are left over", false},
    {"doubtful_edges", forge_doubtful, CHECK, "counts 1 doubtful edges, and there are 0", false},
    {"tier_range", forge_tier_range, OPEN, "over its limit 2", false},
    {"tier_top", forge_tier_top, OPEN, "root 0: only a leaf has a tier", false},
    {"tier_inner", forge_tier_inner, OPEN, "root 3: only a leaf has a tier", false},
    {"extra_strong", forge_extra_class, CHECK, "has class 0", false},
    {"extra_source", forge_extra_source, CHECK, "from outside its chunk", false},
    {"extra_target", forge_extra_target, CHECK, "a node that does not exist", false},
    {"extra_count", forge_extra_count, CHECK, "cannot stand in", false},
    {"extra_field", forge_extra_field, CHECK, "extra edge at word 3", false},
    {"extra_reason", forge_extra_reason, CHECK, "extra edge 0 has reason 256", false},
    {"extra_reason_class", forge_extra_reason_class, CHECK, "extra edge 0 has reason 1", false},
    {"raw_size", forge_raw_size, CHECK, "in another size", false},
    {"zstd_bomb", forge_bomb, CHECK, "more than is allowed", true},
    {"zstd_size", forge_pack_size, CHECK, "not the one that its head describes", true},
    {"zstd_tail", forge_pack_tail, CHECK, "not the one that its head describes", true},
    {"zstd_broken", forge_pack_broken, CHECK, "is damaged", true},
};

/* ---- files of versions 1 to 3, which nothing writes any more ---- */

struct golden_kept {
    const char *name;
    unsigned verdict;
    const char *message;
};

static const struct golden_kept kept[] = {
    {"v1_example", HS_GOLDEN_OPENS, ""},
    {"v1_classes", HS_GOLDEN_OPENS, ""},
    {"v1_level_five", OPEN, "over its limit 4"},
    {"v1_state_mapping", CHECK, "runs of states are malformed"},
    {"v1_word_bytes", OPEN, "its header is damaged"},
    {"v2_example", HS_GOLDEN_OPENS, ""},
    {"v2_minimal", HS_GOLDEN_OPENS, ""},
    {"v2_classes", HS_GOLDEN_OPENS, ""},
    {"v2_native", HS_GOLDEN_OPENS, ""},
    {"v2_samples", HS_GOLDEN_OPENS, ""},
    {"v2_chunks", HS_GOLDEN_OPENS, ""},
    {"v2_cut_06_FIELDS", OPEN, "it is cut at byte 682, in section FIELDS"},
    {"v2_cut_12_TRAILER", OPEN, "it is cut at byte 1042, in section TRAILER"},
    {"v2_flip_06_FIELDS", CHECK, "section FIELDS of chunk 0 at byte 640 is damaged"},
    {"v2_n_edges", CHECK, "its trailer counts 4 edges, and there are 3"},
    {"v2_many_roots", OPEN, "cannot stand in"},
    {"v2_root_inner_target", OPEN, "only a leaf has a target"},
    {"v2_root_class_weak", OPEN, "over its limit 3"},
    {"v2_root_class_inner", OPEN, "only a leaf has a target"},
    {"v2_field_beyond_block", CHECK, "has an edge at word 7"},
    {"v2_class_weak", CHECK, "edge classes are malformed"},
    {"v3_example", HS_GOLDEN_OPENS, ""},
    {"v3_minimal", HS_GOLDEN_OPENS, ""},
    {"v3_classes", HS_GOLDEN_OPENS, ""},
    {"v3_native", HS_GOLDEN_OPENS, ""},
    {"v3_samples", HS_GOLDEN_OPENS, ""},
    {"v3_chunks", HS_GOLDEN_OPENS, ""},
    {"v3_cut_06_FIELDS", OPEN, "it is cut at byte 691, in section FIELDS"},
    {"v3_cut_12_TRAILER", OPEN, "it is cut at byte 1051, in section TRAILER"},
    {"v3_flip_06_FIELDS", CHECK, "section FIELDS of chunk 0 at byte 649 is damaged"},
    {"v3_n_edges", CHECK, "its trailer counts 4 edges, and there are 3"},
    {"v3_root_inner_target", OPEN, "only a leaf has a target"},
    {"v3_root_class_weak", OPEN, "over its limit 3"},
    {"v3_field_beyond_block", CHECK, "has an edge at word 7"},
    {"v3_class_weak", CHECK, "edge classes are malformed"},
    {"v3_tier_range", OPEN, "over its limit 2"},
    {"v3_tier_inner", OPEN, "root 3: only a leaf has a tier"},
    {"v3_doubtful_edges", CHECK, "counts 1 doubtful edges, and there are 0"},
    {"v4_example", HS_GOLDEN_OPENS, ""},
    {"v4_minimal", HS_GOLDEN_OPENS, ""},
    {"v4_classes", HS_GOLDEN_OPENS, ""},
    {"v4_native", HS_GOLDEN_OPENS, ""},
    {"v4_samples", HS_GOLDEN_OPENS, ""},
    {"v4_chunks", HS_GOLDEN_OPENS, ""},
    {"v4_cut_06_FIELDS", OPEN, "it is cut at byte 700, in section FIELDS"},
    {"v4_cut_12_TRAILER", OPEN, "it is cut at byte 1061, in section TRAILER"},
    {"v4_flip_06_FIELDS", CHECK, "section FIELDS of chunk 0 at byte 658 is damaged"},
    {"v4_n_edges", CHECK, "its trailer counts 4 edges, and there are 3"},
    {"v4_root_inner_target", OPEN, "only a leaf has a target"},
    {"v4_root_class_weak", OPEN, "over its limit 3"},
    {"v4_field_beyond_block", CHECK, "has an edge at word 7"},
    {"v4_class_weak", CHECK, "edge classes are malformed"},
    {"v4_tier_range", OPEN, "over its limit 2"},
    {"v4_tier_inner", OPEN, "root 3: only a leaf has a tier"},
    {"v4_doubtful_edges", CHECK, "counts 1 doubtful edges, and there are 0"},
    {"v4_reason_run", CHECK, "runs of reasons are malformed"},
};

/* ---- whole files that are something else ---- */

struct golden_bytes {
    const char *name, *bytes;
    size_t n_bytes;
    const char *message;
};

#define TEXT(text) text, sizeof text - 1

static const struct golden_bytes others[] = {
    {"empty", TEXT(""), "it is empty"},
    {"garbage", TEXT("\x17\x00\xfe garbage \xff\xff\xff\xff"), "it is not a snapshot"},
    {"c_source", TEXT("#include <stdio.h>\n\nint main(void)\n{\n    return 0;\n}\n"),
     "it is not a snapshot"},
    {"text_mode", TEXT("\x89HSNAP\n\1\0\0\0\0\0\0\0"), "a transfer in text mode"},
    {"seven_bits", TEXT("\x09HSNAP\r\n\1\0\0\0\0\0\0\0"), "a transfer in text mode"},
    {"magic_only", TEXT(HS_SNAP_MAGIC), "cut at byte 8, in its header"},
    {"magic_half", TEXT("\x89HS"), "cut at byte 3, in its header"},
};

/* ---- the example cut and flipped ---- */

enum { N_EXAMPLE_SECTIONS = HS_FRONT_SECTIONS + HS_CHUNK_SECTIONS + HS_BACK_SECTIONS + 1 };

static void golden_section(const struct hs_golden_file *file, size_t at, struct hs_section *ret)
{
    const uint8_t *bytes = file->bytes;
    uint64_t offset = HS_HEADER_BYTES;
    for (size_t i = 0; i <= at; i++) {
        assert(offset + HS_HEAD_BYTES <= file->n_bytes);
        hs_head_decode(bytes + offset, offset, ret);
        offset += HS_HEAD_BYTES + ret->stored_bytes;
    }
}

/* Cuts in the middle of each section, and of the end. */
static void golden_cut(size_t at, struct hs_golden_file *file)
{
    struct hs_section section;
    if (at == N_EXAMPLE_SECTIONS) {
        (void)snprintf(file->name, sizeof file->name, "cut_end.snap");
        file->n_bytes -= HS_FOOTER_BYTES / 2;
        (void)snprintf(file->message, sizeof file->message, "it is cut at byte %zu, in its last 32",
                       file->n_bytes);
        return;
    }
    golden_section(file, at, &section);
    (void)snprintf(file->name, sizeof file->name, "cut_%02zu_%s.snap", at,
                   hs_section_name(section.kind));
    file->n_bytes = (size_t)(section.offset + HS_HEAD_BYTES + section.stored_bytes / 2);
    (void)snprintf(file->message, sizeof file->message,
                   "it is cut at byte %zu, in section %s, which begins at byte %zu", file->n_bytes,
                   hs_section_name(section.kind), (size_t)section.offset);
}

static void golden_flip(size_t at, struct hs_golden_file *file)
{
    struct hs_section section;
    uint8_t *bytes = file->bytes;
    if (at >= N_EXAMPLE_SECTIONS) {
        bool is_header = at == N_EXAMPLE_SECTIONS;
        (void)snprintf(file->name, sizeof file->name,
                       is_header ? "flip_header.snap" : "flip_end.snap");
        (void)snprintf(file->message, sizeof file->message,
                       is_header ? "its header is damaged" : "its last 32 bytes are damaged");
        bytes[is_header ? 17 : file->n_bytes - 20] ^= 4;
        return;
    }
    golden_section(file, at, &section);
    bool is_column = section.kind >= HS_SECTION_SIZES && section.kind <= HS_SECTION_EXTRA;
    file->verdict = is_column ? HS_GOLDEN_FAILS_CHECK : HS_GOLDEN_FAILS_OPEN;
    bytes[section.offset + HS_HEAD_BYTES + section.stored_bytes / 2] ^= 4;
    (void)snprintf(file->name, sizeof file->name, "flip_%02zu_%s.snap", at,
                   hs_section_name(section.kind));
    (void)snprintf(file->message, sizeof file->message, "section %s%s at byte %zu is damaged",
                   hs_section_name(section.kind), is_column ? " of chunk 0" : "",
                   (size_t)section.offset);
}

/* ---- all of them, in order ---- */

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
enum {
    N_CUTS = N_EXAMPLE_SECTIONS + 1,
    N_FLIPS = N_EXAMPLE_SECTIONS + 2,
};

size_t hs_golden_count(void)
{
    return LENGTH(opens) + LENGTH(others) + N_CUTS + N_FLIPS + LENGTH(forged) +
           HS_N_GOLDEN_FORGED_NATIVE + HS_N_GOLDEN_FORGED_SAMPLES + LENGTH(kept);
}

static void golden_make_other(size_t at, struct hs_golden_file *file)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct golden_bytes *other = &others[at];
    (void)snprintf(file->name, sizeof file->name, "%s.snap", other->name);
    (void)snprintf(file->message, sizeof file->message, "%s", other->message);
    if (hs_alloc(other->n_bytes, 1, &file->bytes, &err) == HS_OK)
        memcpy(file->bytes, other->bytes, other->n_bytes);
    file->n_bytes = other->n_bytes;
}

static void golden_make_forged(const struct hs_golden_forged *entry,
                               void (*build)(struct hs_graph_builder *b),
                               struct hs_golden_file *file)
{
    struct hs_forge forge;
    (void)snprintf(file->name, sizeof file->name, "%s.snap", entry->name);
    (void)snprintf(file->message, sizeof file->message, "%s", entry->message);
    file->verdict = entry->verdict;
    file->is_packed = entry->is_packed;
    void *example;
    size_t n_example;
    golden_build(build, &example, &n_example);
    hs_forge_open(&forge, example, n_example);
    hs_free(example);
    entry->edit(&forge);
    hs_forge_bytes(&forge, &file->bytes, &file->n_bytes);
    hs_forge_close(&forge);
}

static void golden_make_kept(const struct golden_kept *entry, struct hs_golden_file *file)
{
    (void)snprintf(file->name, sizeof file->name, "%s.snap", entry->name);
    (void)snprintf(file->message, sizeof file->message, "%s", entry->message);
    file->verdict = entry->verdict;
    file->is_kept = true;
}

/* Behind the cuts and flips. */
static void golden_make_late(size_t at, struct hs_golden_file *file)
{
    if (at < LENGTH(forged)) {
        golden_make_forged(&forged[at], golden_example, file);
        return;
    }
    at -= LENGTH(forged);
    if (at < HS_N_GOLDEN_FORGED_NATIVE) {
        golden_make_forged(&hs_golden_forged_native[at], hs_golden_native, file);
        return;
    }
    at -= HS_N_GOLDEN_FORGED_NATIVE;
    if (at < HS_N_GOLDEN_FORGED_SAMPLES) {
        golden_make_forged(&hs_golden_forged_samples[at], hs_golden_samples, file);
        return;
    }
    golden_make_kept(&kept[at - HS_N_GOLDEN_FORGED_SAMPLES], file);
}

void hs_golden_make(size_t at, struct hs_golden_file *ret)
{
    *ret = (struct hs_golden_file){.verdict = HS_GOLDEN_FAILS_OPEN};
    if (at < LENGTH(opens)) {
        ret->verdict = HS_GOLDEN_OPENS;
        ret->is_packed = opens[at].is_packed;
        (void)snprintf(ret->name, sizeof ret->name, "%s", opens[at].name);
        golden_build(opens[at].build, &ret->bytes, &ret->n_bytes);
        return;
    }
    at -= LENGTH(opens);
    if (at < LENGTH(others)) {
        golden_make_other(at, ret);
        return;
    }
    at -= LENGTH(others);
    if (at >= N_CUTS + N_FLIPS) {
        golden_make_late(at - N_CUTS - N_FLIPS, ret);
        return;
    }
    golden_build(golden_example, &ret->bytes, &ret->n_bytes);
    if (at < N_CUTS)
        golden_cut(at, ret);
    else
        golden_flip(at - N_CUTS, ret);
}

void hs_golden_fini(struct hs_golden_file *file)
{
    hs_free(file->bytes);
    *file = (struct hs_golden_file){0};
}

const char *hs_golden_verdict_name(unsigned verdict)
{
    static const char *const names[HS_N_GOLDEN_VERDICTS] = {"opens", "fails open", "fails check"};
    return verdict < HS_N_GOLDEN_VERDICTS ? names[verdict] : "?";
}
