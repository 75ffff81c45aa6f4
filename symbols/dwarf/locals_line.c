#include "locals_line.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "types/form.h"

enum {
    LINE_MARK_BYTES = 2048, /* of program between two marks */
    LINE_WALK_BACK = 8,     /* sequences that may lie within the one looked for */
};

struct line_row {
    hs_addr vaddr;
    uint64_t file, line;
};

struct line_program {
    struct hs_cursor c; /* over the operations */
    const uint8_t *n_operands;
    uint8_t n_minimum, line_range, opcode_base;
    int8_t line_base;
    hs_addr wanted;
    struct line_row now, before; /* `before` when has_before: the row above in its sequence */
    bool has_before, found, has_address, ran_out;
    struct line_marks *marks; /* to be listed; NULL when looking for `wanted` */
    size_t marked_at;         /* in the program; 0: not in this sequence */
};

/* A cursor over one table, behind its length field. */
static struct hs_cursor table_cursor(struct debug_info *info, const struct debug_unit *unit,
                                     bool *ret_is_long)
{
    struct elf_view *section = &info->sections[DEBUG_LINE];
    struct hs_cursor c = hs_cursor_make(section->bytes, section->n_bytes);
    c.failed = !unit->has_lines || unit->line_at >= section->n_bytes;
    if (c.failed)
        return c;
    hs_elf_view_need_(section, unit->line_at, 12);
    hs_cursor_seek(&c, (size_t)unit->line_at);
    uint64_t n = hs_cursor_u32(&c);
    *ret_is_long = n == UINT32_MAX;
    if (*ret_is_long)
        n = hs_cursor_u64(&c);
    if (n > hs_cursor_left(&c))
        c.failed = true;
    else
        c.n_bytes = c.at + (size_t)n;
    if (!c.failed)
        hs_elf_view_need_(section, c.at, n);
    return c;
}

static bool program_open(struct debug_info *info, const struct debug_unit *unit,
                         struct line_program *ret)
{
    bool is_long = false;
    struct hs_cursor c = table_cursor(info, unit, &is_long);
    uint16_t version = hs_cursor_u16(&c);
    if (version < 2 || version > 5)
        return false;
    if (version == 5 && hs_cursor_u16(&c) != 8) /* address size 8, segment size 0 */
        return false;
    uint64_t n_head = is_long ? hs_cursor_u64(&c) : hs_cursor_u32(&c), begin = c.at + n_head;
    if (n_head > hs_cursor_left(&c))
        return false;
    *ret = (struct line_program){.n_minimum = hs_cursor_u8(&c)};
    hs_cursor_skip(&c, version >= 4 ? 2 : 1); /* operations per instruction, default of is_stmt */
    ret->line_base = (int8_t)hs_cursor_u8(&c);
    ret->line_range = hs_cursor_u8(&c);
    ret->opcode_base = hs_cursor_u8(&c);
    ret->n_operands = ret->opcode_base == 0 ? NULL : hs_cursor_bytes(&c, ret->opcode_base - 1u);
    if (ret->n_operands == NULL || ret->line_range == 0)
        return false;
    hs_cursor_seek(&c, (size_t)begin);
    ret->c = c;
    return !c.failed;
}

static void sequence_begin(struct line_program *p)
{
    p->now = (struct line_row){.file = 1, .line = 1};
    p->has_before = p->has_address = false;
    p->marked_at = 0;
}

/* Sequences at 0, or at no address at all, are of sections that the linker left out. */
static void mark_add(struct line_program *p)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct line_marks *marks = p->marks;
    if (!p->has_address || (p->marked_at != 0 && p->c.at - p->marked_at < LINE_MARK_BYTES))
        return;
    p->ran_out =
        p->ran_out || HS_GROW(&marks->items, &marks->capacity, marks->n + 1, &ignored) != HS_OK;
    if (p->ran_out)
        return;
    p->marked_at = p->c.at;
    marks->items[marks->n++] = (struct line_mark){p->now.vaddr, p->now.file, p->now.line, p->c.at};
}

/* A row says where the one before it ends. */
static void row_emit(struct line_program *p, bool is_end)
{
    if (p->marks != NULL && !is_end)
        mark_add(p);
    if (p->has_before && p->before.vaddr <= p->wanted && p->wanted < p->now.vaddr)
        p->found = p->marks == NULL && p->has_address;
    else
        p->before = p->now;
    p->has_before = true;
}

static void advance(struct line_program *p, uint64_t n_operations)
{
    p->now.vaddr += n_operations * p->n_minimum;
}

static void run_special(struct line_program *p, uint8_t op)
{
    uint8_t adjusted = (uint8_t)(op - p->opcode_base);
    advance(p, adjusted / p->line_range);
    p->now.line += (uint64_t)(int64_t)(p->line_base + adjusted % p->line_range);
    row_emit(p, false);
}

static void run_extended(struct line_program *p)
{
    uint64_t n = hs_cursor_varint(&p->c);
    if (p->c.failed || n == 0 || n > hs_cursor_left(&p->c)) {
        p->c.failed = true;
        return;
    }
    struct hs_cursor c = hs_cursor_make(hs_cursor_bytes(&p->c, (size_t)n), (size_t)n);
    uint8_t op = hs_cursor_u8(&c);
    if (op == DW_LNE_end_sequence) {
        row_emit(p, true);
        if (!p->found)
            sequence_begin(p);
    } else if (op == DW_LNE_set_address) {
        p->now.vaddr = n == 9 ? hs_cursor_u64(&c) : 0;
        p->has_address = p->now.vaddr != 0;
    }
}

static void run_standard(struct line_program *p, uint8_t op)
{
    switch (op) {
    case DW_LNS_copy:
        row_emit(p, false);
        break;
    case DW_LNS_advance_pc:
        advance(p, hs_cursor_varint(&p->c));
        break;
    case DW_LNS_advance_line:
        p->now.line += (uint64_t)hs_form_signed_(&p->c);
        break;
    case DW_LNS_set_file:
        p->now.file = hs_cursor_varint(&p->c);
        break;
    case DW_LNS_const_add_pc:
        advance(p, (uint8_t)(255 - p->opcode_base) / p->line_range);
        break;
    case DW_LNS_fixed_advance_pc:
        p->now.vaddr += hs_cursor_u16(&p->c);
        break;
    default:
        for (uint8_t i = 0; i < p->n_operands[op - 1]; i++)
            hs_cursor_varint(&p->c);
    }
}

static void run_one(struct line_program *p)
{
    uint8_t op = hs_cursor_u8(&p->c);
    if (op >= p->opcode_base)
        run_special(p, op);
    else if (op == 0)
        run_extended(p);
    else
        run_standard(p, op);
}

static int mark_order(const void *a, const void *b)
{
    const struct line_mark *m = a, *n = b;
    if (m->vaddr != n->vaddr)
        return m->vaddr < n->vaddr ? -1 : 1;
    return (m->at > n->at) - (m->at < n->at);
}

/* Lists the marks of a whole program, or none when memory runs out. */
static void marks_list(struct line_program p, struct line_marks *marks)
{
    p.marks = marks;
    sequence_begin(&p);
    while (hs_cursor_left(&p.c) > 0)
        run_one(&p);
    marks->is_listed = !p.ran_out;
    marks->n = p.ran_out ? 0 : marks->n;
    if (marks->n > 0)
        qsort(marks->items, marks->n, sizeof(*marks->items), mark_order);
}

/* Runs from the program's beginning to the row, over all sequences. */
static void run_whole(struct line_program *p)
{
    sequence_begin(p);
    while (hs_cursor_left(&p->c) > 0 && !p->found)
        run_one(p);
}

/* Runs on from a mark to the end of its sequence, or until the rows have passed `wanted`. */
static bool run_from(struct line_program *p, const struct line_mark *mark)
{
    p->c.failed = false;
    hs_cursor_seek(&p->c, (size_t)mark->at);
    p->now = p->before = (struct line_row){mark->vaddr, mark->file, mark->line};
    p->has_before = p->has_address = true;
    while (hs_cursor_left(&p->c) > 0 && !p->found && p->has_before && p->before.vaddr <= p->wanted)
        run_one(p);
    return p->found;
}

bool hs_locals_line_at_(struct debug_info *info, const struct debug_unit *unit,
                        struct line_marks *marks, hs_addr vaddr, uint64_t *ret_file,
                        uint32_t *ret_line)
{
    struct line_program p;
    if (!program_open(info, unit, &p))
        return false;
    p.wanted = vaddr;
    if (!marks->is_listed)
        marks_list(p, marks);
    size_t low = HS_FIRST_NOT(at, 0, marks->n, marks->items[at].vaddr <= vaddr);
    if (!marks->is_listed)
        run_whole(&p);
    for (size_t back = 0; back < LINE_WALK_BACK && back < low && !p.found; back++)
        (void)run_from(&p, &marks->items[low - 1 - back]);
    if (!p.found)
        return false;
    *ret_file = p.before.file;
    *ret_line = p.before.line <= UINT32_MAX ? (uint32_t)p.before.line : 0;
    return true;
}
