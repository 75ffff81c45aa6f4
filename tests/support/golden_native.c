/* links: hs_format */
/* The golden file of a C program, and that file with one thing wrong. */
#include "golden_forge.h"

void hs_golden_string(struct hs_graph_builder *b, const char *text, hs_str *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    if (hs_strtab_add(&b->strings, text, ret, &err) != HS_OK)
        *ret = 0;
}

void hs_golden_set(struct hs_forge *f, enum hs_section_kind kind, size_t at, uint8_t value)
{
    hs_forge_set_byte(hs_forge_section(f, kind, 0), at, value);
}

/* Value at `row` of the `column`-th of n_rows one-byte columns behind a one-byte count. */
void hs_golden_set_cell(struct hs_forge *f, enum hs_section_kind kind, size_t n_rows, size_t column,
                        size_t row, uint8_t value)
{
    hs_golden_set(f, kind, 1 + n_rows * column + row, value);
}

static void golden_native_blocks(struct hs_graph_builder *b, uint32_t *table, uint32_t *node)
{
    b->next_address = 0x5581c0001010;
    *table = hs_graph_builder_block(b, 6, false);
    b->next_address += 8;
    *node = hs_graph_builder_block(b, 3, false);
    uint32_t text = hs_graph_builder_block(b, 5, false);
    uint32_t unsure = hs_graph_builder_block(b, 2, false);
    b->next_address = 0x7f0000000000;
    uint32_t mapping = hs_graph_builder_block(b, 512, true);
    b->blocks[*node].type = hs_graph_builder_type(b, "struct node", 0, HS_FORM_RECORD);
    b->blocks[text].type = hs_graph_builder_type(b, "block of 40 bytes", 0, HS_FORM_BYTES);
    b->blocks[mapping].type = hs_graph_builder_type(b, "mapping", 0, HS_FORM_MAPPING);
    b->blocks[unsure].state = HS_BLOCK_UNSURE;
    b->blocks[*table] = (struct hs_block_record){.address = b->blocks[*table].address,
                                                 .words = b->blocks[*table].words,
                                                 .is_counted = true,
                                                 .entries = 1,
                                                 .room = 2};
    b->blocks[*node].is_counted = true;
    b->blocks[*node].entries = 5;
    b->blocks[*node].room = HS_NO_ROOM;
    b->blocks[mapping].state = HS_BLOCK_STATIC | HS_BLOCK_MAPPING;
    b->types[0] =
        (struct hs_type){.name = b->types[0].name, .form = HS_FORM_RECORD, .stride_bytes = 24};
    hs_golden_string(b, "struct entry[]", &b->types[0].name);
    hs_graph_builder_member(b, 0, 0, "key", "char *");
    hs_graph_builder_member(b, 0, 16, "value", "struct node *");
    hs_graph_builder_member(b, 1, 0, "next", "struct node *");
    hs_graph_builder_member(b, 1, 8, "as.text", "char *");
    hs_graph_builder_member(b, 1, 8, "as.number", "long");
    hs_graph_builder_edge_at(b, *table, text, HS_EDGE_INTERIOR, 0);
    hs_graph_builder_edge_at(b, *table, *node, HS_EDGE_EXACT, 5);
    hs_graph_builder_edge_at(b, *node, *table, HS_EDGE_PAST_END, 1);
    hs_graph_builder_reason(b, HS_REASON_END_POINTER);
    hs_graph_builder_edge_at(b, mapping, unsure, HS_EDGE_GUESSED, 100);
    hs_graph_builder_reason(b, HS_REASON_WEAK_POINTER);
}

void hs_golden_native(struct hs_graph_builder *b)
{
    static struct hs_memory_row memory[HS_N_MEMORY_STATES];
    static struct hs_binary binary;
    uint32_t table, node;
    golden_native_blocks(b, &table, &node);
    hs_golden_string(b, "/usr/bin/server", &binary.path);
    hs_golden_string(b, "/usr/lib/debug/.build-id/00/ff.debug", &binary.debug_file);
    binary.has_debug_info = true;
    b->facts.binaries = &binary;
    b->facts.n_binaries = 1;
    for (uint8_t i = 0; i < HS_N_MEMORY_STATES; i++) {
        memory[i] = (struct hs_memory_row){
            .state = i, .n_bytes = 100U + i, .resident_bytes = 10U + i, .n_blocks = i};
        hs_golden_string(b, i == HS_MEMORY_OTHER ? "stacks" : "glibc", &memory[i].owner);
        b->facts.resident_bytes += memory[i].resident_bytes;
    }
    b->facts.stop_way = HS_SNAP_WAY_READ;
    b->facts.predicted_ns = 20000000;
    b->facts.growth_bytes = 4096;
    hs_golden_string(b, "a seccomp filter is active", &b->facts.why_no_copy);
    b->facts.memory = memory;
    b->facts.n_memory = HS_N_MEMORY_STATES;
    uint32_t slot = hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "server", "server.c", "server",
                                          "server.table", table);
    b->leaves[slot].offset = 8;
    slot = hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "server", "server.c", "server", "server.last",
                                 node);
    b->leaves[slot].offset = 16;
    b->leaves[slot].edge_class = HS_EDGE_INTERIOR;
    (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "server", "server.c", "first", node);
    slot = hs_graph_builder_leaf(b, HS_ROOT_STACK, "thread 7", "#1 main", "sp+8", table);
    b->leaves[slot].edge_class = HS_EDGE_GUESSED;
    b->leaves[slot].certainty = HS_CONSERVATIVE;
    b->leaves[slot].tier = HS_TIER_DOUBTFUL;
    slot = hs_graph_builder_leaf(b, HS_ROOT_UNCLAIMED, "mappings", NULL, "0x7f0000000000", 4);
    b->leaves[slot].tier = HS_TIER_RUNTIME;
}

/* ---- the C program with one thing wrong */

/* all, globals, module, unit, variable, stacks, thread, frame, unclaimed, 2 groups, 5 leaves */
enum { NATIVE_TREE = 16, NATIVE_TYPES = 4, NATIVE_MEMBERS = 5 };

static void forge_root_level(struct hs_forge *f, size_t node, uint8_t level)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, NATIVE_TREE, 1, node, level);
}
static void forge_leaf_of_module(struct hs_forge *f)
{
    forge_root_level(f, 3, HS_LEVEL_LEAF);
}
static void forge_variable_of_module(struct hs_forge *f)
{
    forge_root_level(f, 3, HS_LEVEL_VARIABLE);
}
static void forge_leaf_of_leaf(struct hs_forge *f)
{
    forge_root_level(f, 4, HS_LEVEL_LEAF);
}
static void forge_variable_target(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, NATIVE_TREE, 7, 4, 36); /* the variable: node 17 */
}
static void forge_root_class_weak(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, NATIVE_TREE, 5, NATIVE_TREE - 1, HS_EDGE_WEAK);
}
static void forge_root_class_inner(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_ROOTS, NATIVE_TREE, 5, 4, HS_EDGE_INTERIOR);
}
static void forge_reason_inner(struct hs_forge *f)
{
    struct hs_forge_section *roots = hs_forge_section(f, HS_SECTION_ROOTS, 0);
    size_t reasons = roots->raw.n_bytes - NATIVE_TREE; /* the last column */
    hs_forge_set_byte(roots, reasons + 4, HS_REASON_STALE);
}
/* The last bytes of FIELDS are two runs: a reason and a length each. */
static void forge_reason_run(struct hs_forge *f)
{
    struct hs_forge_section *fields = hs_forge_section(f, HS_SECTION_FIELDS, 0);
    hs_forge_set_byte(fields, fields->raw.n_bytes - 1, 2);
}
static void forge_reason_empty(struct hs_forge *f)
{
    struct hs_forge_section *fields = hs_forge_section(f, HS_SECTION_FIELDS, 0);
    hs_forge_set_byte(fields, fields->raw.n_bytes - 3, 0);
}
static void forge_reason_missing(struct hs_forge *f)
{
    struct hs_forge_section *fields = hs_forge_section(f, HS_SECTION_FIELDS, 0);
    hs_forge_splice(fields, fields->raw.n_bytes - 2, 2, "", 0);
}
static void forge_reason_range(struct hs_forge *f)
{
    static const uint8_t beyond[] = {0x80, 0x02}; /* 256 */
    struct hs_forge_section *fields = hs_forge_section(f, HS_SECTION_FIELDS, 0);
    hs_forge_splice(fields, fields->raw.n_bytes - 2, 1, beyond, sizeof beyond);
}
/* Behind five types of a byte each: two counts of three numbers, 0 1 3 and 0 5 0. */
static void forge_count_number(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_BLOCK_TYPES, 5, 6);
}
static void forge_count_missing(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_BLOCK_TYPES, 5, 3);
}
static void forge_count_left(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_BLOCK_TYPES, 5, 1);
}
static void forge_count_block(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_BLOCK_TYPES, 9, 4);
}
static void forge_count_room(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_BLOCK_TYPES, 7, 3);
}
static void forge_state_mapping(struct hs_forge *f)
{
    struct hs_forge_section *sizes = hs_forge_section(f, HS_SECTION_SIZES, 0);
    hs_forge_set_byte(sizes, sizes->raw.n_bytes - 2, HS_BLOCK_MAPPING);
}
static void forge_member_cell(struct hs_forge *f, size_t column, size_t row, uint8_t value)
{
    size_t begin = 1 + 4 * NATIVE_TYPES + 1;
    hs_golden_set(f, HS_SECTION_TYPES, begin + NATIVE_MEMBERS * column + row, value);
}
static void forge_member_type(struct hs_forge *f)
{
    forge_member_cell(f, 0, 4, 6); /* 1 + 3 */
}
static void forge_member_order(struct hs_forge *f)
{
    forge_member_cell(f, 0, 1, 2);
    forge_member_cell(f, 0, 2, 1); /* types 0 1 0 ... */
}
static void forge_member_offset_order(struct hs_forge *f)
{
    forge_member_cell(f, 1, 4, 1); /* 8 - 1 behind 8 */
}
static void forge_member_beyond(struct hs_forge *f)
{
    forge_member_cell(f, 1, 1, 48); /* 24 of 24 */
}
static void forge_member_name(struct hs_forge *f)
{
    forge_member_cell(f, 2, 4, 120);
}
static void forge_member_count(struct hs_forge *f)
{
    hs_golden_set(f, HS_SECTION_TYPES, 1 + 4 * NATIVE_TYPES, 0x7f);
}
static void forge_members_lost(struct hs_forge *f)
{
    f->totals.n_members++;
}
static void forge_form(struct hs_forge *f)
{
    hs_golden_set_cell(f, HS_SECTION_TYPES, NATIVE_TYPES, 2, 1, HS_N_FORMS);
}
static void forge_memory_cell(struct hs_forge *f, size_t column, size_t row, uint8_t value)
{
    struct hs_forge_section *meta = hs_forge_section(f, HS_SECTION_META, 0);
    size_t begin = meta->raw.n_bytes - 1 - 5 * HS_N_MEMORY_STATES; /* no samplers follow */
    hs_forge_set_byte(meta, begin + HS_N_MEMORY_STATES * column + row, value);
}
static void forge_memory_owner(struct hs_forge *f)
{
    forge_memory_cell(f, 0, 2, 100);
}
static void forge_memory_state(struct hs_forge *f)
{
    forge_memory_cell(f, 1, 2, HS_N_MEMORY_STATES);
}

const struct hs_golden_forged hs_golden_forged_native[HS_N_GOLDEN_FORGED_NATIVE] = {
    {"leaf_of_module", forge_leaf_of_module, OPEN, "level 5 cannot stand below level 2", false},
    {"variable_of_module", forge_variable_of_module, OPEN, "level 4 cannot stand below level 2",
     false},
    {"leaf_of_leaf", forge_leaf_of_leaf, OPEN, "level 5 cannot stand below level 5", false},
    {"variable_target", forge_variable_target, OPEN, "only a leaf has a target", false},
    {"root_class_weak", forge_root_class_weak, OPEN, "over its limit 3", false},
    {"reason_inner", forge_reason_inner, OPEN, "root 4: only a leaf has a reason", false},
    {"reason_run", forge_reason_run, CHECK, "runs of reasons are malformed", false},
    {"reason_empty", forge_reason_empty, CHECK, "runs of reasons are malformed", false},
    {"reason_missing", forge_reason_missing, CHECK, "runs of reasons are malformed", false},
    {"reason_range", forge_reason_range, CHECK, "runs of reasons are malformed", false},
    {"count_number", forge_count_number, CHECK, "number of counts is malformed", false},
    {"count_missing", forge_count_missing, CHECK, "", false},
    {"count_left", forge_count_left, CHECK, "left over at its end", false},
    {"count_block", forge_count_block, CHECK, "is of no block, or beyond its room", false},
    {"count_room", forge_count_room, CHECK, "is of no block, or beyond its room", false},
    {"root_class_inner", forge_root_class_inner, OPEN, "only a leaf has a target", false},
    {"state_mapping", forge_state_mapping, CHECK, "is of a mapping and counts as heap", false},
    {"member_type", forge_member_type, OPEN, "member 4 is of type 4 of 4", false},
    {"member_order", forge_member_order, OPEN, "member 2 is out of order", false},
    {"member_offset_order", forge_member_offset_order, OPEN, "member 4 is out of order", false},
    {"member_beyond", forge_member_beyond, OPEN, "lies beyond its element of 24", false},
    {"member_name", forge_member_name, OPEN, "member 4 is named by strings", false},
    {"member_count", forge_member_count, OPEN, "cannot stand in", false},
    {"members_lost", forge_members_lost, OPEN, "not as long as its trailer says", false},
    {"type_form", forge_form, OPEN, "over its limit 18", false},
    {"memory_owner", forge_memory_owner, OPEN, "over its limit", false},
    {"memory_state", forge_memory_state, OPEN, "over its limit 6", false},
};
