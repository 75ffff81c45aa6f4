#include "symbols/locals.h"

#include <dwarf.h>
#include <string.h>

#include "location.h"
#include "types/pool.h"

enum {
    LOCALS_MAX_ENTRIES = 1 << 20,    /* visited in one function */
    LOCALS_MAX_OPERATIONS = 1 << 20, /* of all its expressions */
    LOCALS_MAX_VARIABLES = 4096,     /* in scope */
};

/* An inlined function that covers the instruction, and where it was called. */
struct locals_inlined {
    const char *function;
    uint64_t call_file;
    uint32_t call_line;
    unsigned depth; /* of its entry in the walk */
};

/* The declaration of a variable that has one place for all of its scope; line 0: unknown, or such a
 * one does not say when the variable begins. */
struct locals_declared {
    uint64_t file; /* in the function's line table */
    uint32_t line;
};

struct locals_walk {
    struct hs_ctypes *types;
    struct debug_info *info;
    const struct hs_frame_place *frame;
    struct location_frame location;
    struct hs_locals *ret;
    const struct debug_unit *unit;
    hs_addr vaddr;
    const char *function;                              /* the real one */
    struct locals_inlined inlined[HS_INLINED_MAX - 1]; /* from the outermost on */
    size_t n_inlined, n_open; /* the chain, and how much of it is around the entry visited */
    size_t n_variables;
    struct locals_declared declared[HS_LOCALS_MAX]; /* of ret->locals */
    struct locals_declared unplaced[HS_UNPLACED_MAX];
};

static const char *text_or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

/* A place that holds all or a piece of a variable. */
static void local_add(struct locals_walk *walk, const struct debug_entry *entry,
                      const struct location_piece *piece, const struct locals_declared *declared)
{
    struct hs_locals *ret = walk->ret;
    if (ret->n_locals == HS_LOCALS_MAX) {
        ret->is_complete = false;
        return;
    }
    struct hs_ctype_facts facts;
    hs_ctype type = hs_ctypes_type_of_(walk->types, walk->frame->file, entry);
    hs_ctype_facts(walk->types, type, &facts);
    walk->declared[ret->n_locals] = *declared;
    ret->locals[ret->n_locals++] = (struct hs_local){
        .name = text_or_empty(hs_ctypes_short_name_of_(walk->types, walk->frame->file, entry)),
        .function = walk->n_open > 0 ? walk->inlined[walk->n_open - 1].function : walk->function,
        .type = type,
        .n_bytes = piece->n_bytes == 0 ? facts.n_bytes : piece->n_bytes,
        .offset_bytes = piece->offset_bytes,
        .address = piece->kind == LOCATION_MEMORY ? piece->address : 0,
        .reg = piece->kind == LOCATION_REGISTER ? piece->reg : HS_N_REGISTERS,
        .n_inlined = (uint8_t)walk->n_open,
        .is_argument = entry->tag == DW_TAG_formal_parameter,
        .is_entry_value = piece->kind == LOCATION_ENTRY,
    };
}

/* Finds the expression that holds here. A variable without any was optimised out or is nowhere at
 * this instruction, say optimisers; clang 14 says so of variables that it still has in memory, and
 * therefore it is no proof of anything. */
static bool find_expression(struct locals_walk *walk, const struct debug_entry *entry,
                            struct debug_bytes *ret)
{
    if (hs_entry_has_(walk->info, entry, DW_AT_const_value))
        return false;
    if (walk->n_variables < LOCALS_MAX_VARIABLES &&
        hs_entry_expression_(walk->info, entry, DW_AT_location, walk->vaddr, ret)) {
        walk->n_variables++;
        return true;
    }
    walk->ret->is_complete = false;
    return false;
}

/* Finds where a variable of C or C++ is declared. Lines of other languages may be those of macros.
 */
static struct locals_declared declared_at(struct locals_walk *walk, const struct debug_entry *entry)
{
    struct debug_value line, file;
    struct debug_entry holder;
    uint16_t language = walk->unit->language;

    if (!(hs_language_is_c_(language) || hs_language_is_cpp_(language)) ||
        !hs_entry_inherited_(walk->info, entry, DW_AT_decl_line, &line, &holder) ||
        !hs_entry_inherited_(walk->info, entry, DW_AT_decl_file, &file, &holder) ||
        holder.unit != walk->unit || line.number > UINT32_MAX)
        return (struct locals_declared){0};
    return (struct locals_declared){file.number, (uint32_t)line.number};
}

/* Finds where a variable is declared, if it lies in the frame for all of its scope: where the
 * expression is the only one. */
static struct locals_declared declared_of(struct locals_walk *walk, const struct debug_entry *entry,
                                          const struct debug_bytes *expression)
{
    struct debug_value location;
    uint8_t op = expression->n_bytes > 0 ? expression->bytes[0] : 0;
    bool is_in_frame = op == DW_OP_fbreg || (op >= DW_OP_breg0 && op <= DW_OP_breg31);

    if (!is_in_frame || entry->tag != DW_TAG_variable ||
        !hs_entry_value_(walk->info, entry, DW_AT_location, &location) || location.bytes == NULL)
        return (struct locals_declared){0};
    return declared_at(walk, entry);
}

/* Lists a variable that has no place here. */
static void unplaced_add(struct locals_walk *walk, const struct debug_entry *entry)
{
    struct hs_locals *ret = walk->ret;

    if (entry->tag != DW_TAG_variable || ret->n_unplaced == HS_UNPLACED_MAX ||
        hs_entry_has_(walk->info, entry, DW_AT_const_value))
        return;
    walk->unplaced[ret->n_unplaced] = declared_at(walk, entry);
    ret->unplaced[ret->n_unplaced++] = (struct hs_local){
        .name = text_or_empty(hs_ctypes_short_name_of_(walk->types, walk->frame->file, entry)),
        .function = walk->n_open > 0 ? walk->inlined[walk->n_open - 1].function : walk->function,
        .type = hs_ctypes_type_of_(walk->types, walk->frame->file, entry),
        .reg = HS_N_REGISTERS,
        .n_inlined = (uint8_t)walk->n_open,
    };
}

static void visit_variable(struct locals_walk *walk, const struct debug_entry *entry)
{
    struct debug_bytes expression;
    struct location location;
    if (hs_entry_flag_(walk->info, entry, DW_AT_declaration))
        return;
    if (!find_expression(walk, entry, &expression)) {
        unplaced_add(walk, entry);
        return;
    }
    const struct locals_declared declared = declared_of(walk, entry, &expression);
    hs_location_evaluate_(&walk->location, expression.bytes, expression.n_bytes, &location);
    walk->ret->is_complete &= location.is_known;
    for (size_t i = 0; i < location.n_pieces; i++) {
        uint8_t kind = location.pieces[i].kind;
        if (kind == LOCATION_MEMORY || kind == LOCATION_REGISTER || kind == LOCATION_ENTRY)
            local_add(walk, entry, &location.pieces[i], &declared);
        walk->ret->is_complete &= kind != LOCATION_NOWHERE;
    }
}

/* Enters an inlined function; false when it is not to be looked into. Two that stand side by side
 * cannot both be around one instruction: the first is taken. */
static bool open_inlined(struct locals_walk *walk, const struct debug_entry *entry, unsigned depth)
{
    uint64_t line = 0, file = 0;
    if (walk->n_inlined == HS_INLINED_MAX - 1 || walk->n_open != walk->n_inlined) {
        walk->ret->is_complete = false;
        return false;
    }
    (void)hs_entry_number_(walk->info, entry, DW_AT_call_line, &line);
    (void)hs_entry_number_(walk->info, entry, DW_AT_call_file, &file);
    walk->inlined[walk->n_inlined++] = (struct locals_inlined){
        .function = text_or_empty(hs_ctypes_name_of_(walk->types, walk->frame->file, entry)),
        .call_file = file,
        .call_line = line <= UINT32_MAX ? (uint32_t)line : 0,
        .depth = depth,
    };
    walk->n_open = walk->n_inlined;
    return true;
}

/* Visits an entry; false when nothing below it matters. */
static bool visit_entry(struct locals_walk *walk, const struct debug_entry *entry, unsigned depth)
{
    while (walk->n_open > 0 && walk->inlined[walk->n_open - 1].depth >= depth)
        walk->n_open--;
    if (depth >= DEBUG_MAX_DEPTH - 1)
        walk->ret->is_complete = false; /* what is deeper is not told of */
    switch (entry->tag) {
    case DW_TAG_variable:
    case DW_TAG_formal_parameter:
        visit_variable(walk, entry);
        return false;
    case DW_TAG_inlined_subroutine:
        return hs_entry_covers_(walk->info, entry, walk->vaddr) && open_inlined(walk, entry, depth);
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        return hs_entry_covers_(walk->info, entry, walk->vaddr);
    case DW_TAG_GNU_formal_parameter_pack:
        return true;
    default:
        return false;
    }
}

static void walk_function(struct locals_walk *walk, const struct debug_entry *function)
{
    struct debug_walk entries = hs_walk_begin_(walk->info, function);
    struct debug_entry entry;
    for (uint32_t n = 0; hs_walk_next_(&entries, &entry); n++) {
        if (n == LOCALS_MAX_ENTRIES) {
            walk->ret->is_complete = false;
            return;
        }
        if (!visit_entry(walk, &entry, entries.depth))
            hs_walk_skip_(&entries, &entry);
    }
}

static const char *file_name(struct locals_walk *walk, uint64_t number)
{
    return text_or_empty(hs_ctypes_file_name_(walk->types, walk->frame->file, walk->unit, number));
}

/* The unit was touched when the function was looked up: its notes are there. */
static bool line_at(struct locals_walk *walk, uint64_t *ret_file, uint32_t *ret_line)
{
    struct ctypes_file *file = hs_ctypes_file_(walk->types, walk->frame->file);
    struct ctypes_unit *notes =
        file == NULL ? NULL : hs_ctypes_unit_(walk->types, file, walk->unit);
    return notes != NULL && hs_locals_line_at_(walk->info, walk->unit, &notes->lines, walk->vaddr,
                                               ret_file, ret_line);
}

/* Builds the chain: each function of it executes where the next inner one was called; the innermost
 * where the line table says. */
static void chain_build(struct locals_walk *walk)
{
    struct hs_locals *ret = walk->ret;
    uint64_t file = 0;
    uint32_t line = 0;
    if (!line_at(walk, &file, &line))
        file = UINT64_MAX;
    for (size_t i = walk->n_inlined; i > 0; i--) {
        const struct locals_inlined *inlined = &walk->inlined[i - 1];
        ret->chain[ret->n_chain++] =
            (struct hs_inlined){inlined->function, file_name(walk, file), line};
        file = inlined->call_file;
        line = inlined->call_line;
    }
    ret->chain[ret->n_chain++] = (struct hs_inlined){walk->function, file_name(walk, file), line};
}

/* Leaves out the variables that are declared behind what their function executes: the scope of a
 * block begins with the block, not with the declaration, and what lies in their place is left from
 * something else. A loop that comes back to before them has ended them, too. */
static size_t leave_out_of(struct locals_walk *walk, struct hs_local *locals,
                           const struct locals_declared *declared, size_t n)
{
    const struct hs_locals *ret = walk->ret;
    size_t n_left = 0;
    for (size_t i = 0; i < n; i++) {
        const struct hs_inlined *place = &ret->chain[ret->n_chain - 1 - locals[i].n_inlined];
        if (place->line == 0 || declared[i].line <= place->line ||
            strcmp(file_name(walk, declared[i].file), place->file) != 0)
            locals[n_left++] = locals[i];
    }
    return n_left;
}

static void leave_out_ahead(struct locals_walk *walk)
{
    struct hs_locals *ret = walk->ret;
    ret->n_locals = leave_out_of(walk, ret->locals, walk->declared, ret->n_locals);
    ret->n_unplaced = leave_out_of(walk, ret->unplaced, walk->unplaced, ret->n_unplaced);
}

static void walk_begin(struct locals_walk *walk, const struct debug_entry *function)
{
    const struct hs_frame_place *frame = walk->frame;
    struct debug_bytes base;
    walk->location = (struct location_frame){
        .info = walk->info,
        .unit = function->unit,
        .registers = frame->registers,
        .caller = frame->caller,
        .memory = frame->memory,
        .bias = frame->bias,
        .cfa = frame->cfa,
        .n_operations_left = LOCALS_MAX_OPERATIONS,
    };
    walk->unit = function->unit;
    walk->function = text_or_empty(hs_ctypes_name_of_(walk->types, frame->file, function));
    if (hs_entry_expression_(walk->info, function, DW_AT_frame_base, walk->vaddr, &base))
        walk->location.has_frame_base = hs_location_frame_base_(
            &walk->location, base.bytes, base.n_bytes, &walk->location.frame_base);
}

hs_status hs_locals_at(struct hs_ctypes *types, const struct hs_frame_place *frame,
                       struct hs_locals *ret, struct hs_error *err)
{
    struct hs_locals locals = {.n_locals = 0};
    struct debug_entry function;
    hs_ctypes_trim_(types);
    struct locals_walk walk = {
        .types = types,
        .info = hs_ctypes_info_(types, frame->file),
        .frame = frame,
        .ret = &locals,
        .vaddr =
            frame->registers->value[HS_REG_PC] - frame->bias - (frame->is_return_address ? 1 : 0),
    };
    if (walk.info != NULL && hs_register_known(frame->registers, HS_REG_PC) &&
        hs_ctypes_function_at_(types, frame->file, walk.vaddr, &function)) {
        uint64_t n_damaged = walk.info->n_damaged;
        locals.is_known = locals.is_complete = true;
        locals.is_c = hs_language_is_c_(function.unit->language);
        walk_begin(&walk, &function);
        walk_function(&walk, &function);
        chain_build(&walk);
        leave_out_ahead(&walk);
        locals.is_complete &= walk.info->n_damaged == n_damaged && !hs_debug_is_spent_(walk.info);
    }
    if (hs_ctypes_ran_out_(types))
        return hs_fail(err, HS_LIMIT, "out of memory for the variables of a frame");
    *ret = locals;
    return HS_OK;
}
