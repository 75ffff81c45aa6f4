#include "boxed/frames.h"

#include <string.h>

#include "cfi_check.h"
#include "dwarf/frame_row.h"
#include "dwarf_object.h"

/* Column values that are no register. Our own choice, told to libdwarf, so that both generations
 * agree; they must lie above the table. */
enum { CFI_UNDEFINED = 1034, CFI_SAME = 1035, CFI_CFA = 1436 };

struct hs_frame_tables {
    struct dwarf_object object;
    char *name; /* owned */
    Dwarf_Cie *cies;
    Dwarf_Fde *fdes;
    Dwarf_Signed n_cies, n_fdes;
};

static hs_status tables_list(struct hs_frame_tables *tables, bool is_eh, struct hs_error *err)
{
    Dwarf_Debug dbg = tables->object.dbg;
    dwarf_set_frame_rule_table_size(dbg, CFI_N_COLUMNS);
    dwarf_set_frame_undefined_value(dbg, CFI_UNDEFINED);
    dwarf_set_frame_same_value(dbg, CFI_SAME);
    dwarf_set_frame_cfa_value(dbg, CFI_CFA);
    dwarf_set_frame_rule_initial_value(dbg, CFI_SAME);
    Dwarf_Error error = NULL;
    int res = is_eh ? dwarf_get_fde_list_eh(dbg, &tables->cies, &tables->n_cies, &tables->fdes,
                                            &tables->n_fdes, &error)
                    : dwarf_get_fde_list(dbg, &tables->cies, &tables->n_cies, &tables->fdes,
                                         &tables->n_fdes, &error);
    if (res == DW_DLV_OK && tables->n_fdes > 0)
        return HS_OK;
    hs_status status = hs_fail(err, HS_FORMAT, "'%s' has no usable frame tables: %s", tables->name,
                               error == NULL ? "they are empty" : dwarf_errmsg(error));
    compat_error_drop(dbg, &error);
    if (res != DW_DLV_OK)
        tables->n_cies = tables->n_fdes = 0;
    return status;
}

static hs_status tables_open_section(struct hs_elf *elf, bool is_eh, struct hs_frame_tables **ret,
                                     struct hs_error *err)
{
    hs_auto(hs_frame_tables) *tables = NULL;
    HS_TRY(HS_ALLOC(&tables, 1, err));
    HS_TRY(hs_strdup(hs_elf_name(elf), &tables->name, err));
    HS_TRY(hs_dwarf_object_open_(elf, is_eh ? DWARF_EH_FRAME : DWARF_DEBUG_FRAME, &tables->object,
                                 err));
    if (hs_cfi_check_(&tables->object.sections[1], is_eh, err) != HS_OK)
        return hs_context(err, "'%s'", tables->name);
    HS_TRY(tables_list(tables, is_eh, err));
    *ret = HS_STEAL(tables);
    return HS_OK;
}

hs_status hs_frame_tables_open(struct hs_elf *elf, struct hs_frame_tables **ret,
                               struct hs_error *err)
{
    hs_status status = HS_FORMAT;
    if (hs_dwarf_object_present_(elf, DWARF_EH_FRAME))
        status = tables_open_section(elf, true, ret, err);
    if (status == HS_FORMAT && hs_dwarf_object_present_(elf, DWARF_DEBUG_FRAME))
        return tables_open_section(elf, false, ret, err);
    if (status == HS_FORMAT && !hs_dwarf_object_present_(elf, DWARF_EH_FRAME))
        return hs_fail(err, HS_FORMAT, "'%s' has no frame tables", hs_elf_name(elf));
    return status;
}

void hs_frame_tables_close(struct hs_frame_tables *tables)
{
    if (tables == NULL)
        return;
    if (tables->n_cies > 0 || tables->n_fdes > 0)
        compat_frames_dealloc(tables->object.dbg, tables->cies, tables->n_cies, tables->fdes,
                              tables->n_fdes);
    hs_dwarf_object_close_(&tables->object);
    hs_free(tables->name);
    hs_free(tables);
}

size_t hs_frame_tables_n_functions(const struct hs_frame_tables *tables)
{
    return (size_t)tables->n_fdes;
}

/* Tells whether the augmentation has an 'S': the frame of a signal handler's trampoline. */
static bool fde_is_signal_frame(struct hs_frame_tables *tables, Dwarf_Fde fde)
{
    Dwarf_Error error = NULL;
    Dwarf_Cie cie;
    Dwarf_Unsigned n_bytes, code_alignment, n_instructions;
    Dwarf_Signed data_alignment;
    Dwarf_Small version;
    Dwarf_Half return_column, offset_size;
    compat_bytes instructions;
    char *letters = NULL;
    int res = dwarf_get_cie_of_fde(fde, &cie, &error);
    if (res == DW_DLV_OK)
        res = dwarf_get_cie_info_b(cie, &n_bytes, &version, &letters, &code_alignment,
                                   &data_alignment, &return_column, &instructions, &n_instructions,
                                   &offset_size, &error);
    compat_error_drop(tables->object.dbg, &error);
    return res == DW_DLV_OK && letters != NULL && strchr(letters, 'S') != NULL;
}

/* A row in the making. */
struct row_maker {
    struct frame_row row;
    uint8_t *expressions;
};

/* Keeps an expression; false when there is none or no room. */
static bool make_expression(struct row_maker *maker, const Dwarf_Regtable_Entry3 *rule,
                            enum frame_rule_kind kind, struct frame_rule *ret)
{
    Dwarf_Unsigned n = 0;
    const void *bytes = compat_rule_block(rule, &n);
    size_t at = maker->row.n_expression_bytes;
    if (bytes == NULL || n > FRAME_ROW_EXPRESSION_BYTES - at)
        return false;
    memcpy(maker->expressions + at, bytes, (size_t)n);
    maker->row.n_expression_bytes = (uint16_t)(at + n);
    *ret = (struct frame_rule){.kind = (uint8_t)kind, .at = (uint16_t)at, .n_bytes = (uint16_t)n};
    return true;
}

static void make_place(enum frame_rule_kind kind, Dwarf_Half number,
                       const Dwarf_Regtable_Entry3 *rule, struct frame_rule *ret)
{
    *ret = (struct frame_rule){.kind = (uint8_t)kind,
                               .number = (uint8_t)number,
                               .offset = rule == NULL ? 0 : compat_rule_offset(rule)};
}

static bool make_cfa(struct row_maker *maker, const Dwarf_Regtable_Entry3 *rule)
{
    if (rule->dw_value_type == DW_EXPR_EXPRESSION || rule->dw_value_type == DW_EXPR_VAL_EXPRESSION)
        return make_expression(maker, rule, FRAME_RULE_EXPRESSION, &maker->row.cfa);
    if (rule->dw_value_type != DW_EXPR_OFFSET || rule->dw_regnum >= HS_N_REGISTERS)
        return false;
    make_place(FRAME_RULE_REGISTER, rule->dw_regnum, rule, &maker->row.cfa);
    return true;
}

/* A rule that names another column, or says that there is none. */
static void make_column(unsigned number, const Dwarf_Regtable_Entry3 *rule, struct frame_rule *ret)
{
    Dwarf_Half column = rule->dw_regnum;
    if (column == CFI_UNDEFINED && number == HS_REG_PC)
        make_place(FRAME_RULE_OUTERMOST, 0, NULL, ret);
    else if (column == CFI_SAME && (HS_REGS_CALLEE_SAVED >> number & 1) != 0)
        make_place(FRAME_RULE_REGISTER, (Dwarf_Half)number, NULL, ret);
    else if (column < HS_N_REGISTERS)
        make_place(FRAME_RULE_REGISTER, column, NULL, ret);
}

static void make_register(struct row_maker *maker, unsigned number,
                          const Dwarf_Regtable_Entry3 *rule)
{
    struct frame_rule *ret = &maker->row.rules[number]; /* FRAME_RULE_UNKNOWN so far */
    switch (rule->dw_value_type) {
    case DW_EXPR_OFFSET:
        if (rule->dw_offset_relevant)
            make_place(FRAME_RULE_SAVED, 0, rule, ret);
        else
            make_column(number, rule, ret);
        return;
    case DW_EXPR_VAL_OFFSET:
        make_place(FRAME_RULE_VALUE, 0, rule, ret);
        return;
    case DW_EXPR_EXPRESSION:
        (void)make_expression(maker, rule, FRAME_RULE_SAVED_EXPRESSION, ret);
        return;
    case DW_EXPR_VAL_EXPRESSION:
        (void)make_expression(maker, rule, FRAME_RULE_EXPRESSION, ret);
        return;
    default:
        return;
    }
}

void hs_frame_tables_row(struct hs_frame_tables *tables, hs_addr vaddr, struct frame_row *ret,
                         uint8_t *expressions)
{
    struct row_maker maker = {.expressions = expressions};
    Dwarf_Error error = NULL;
    Dwarf_Addr begin = 0, last = 0, row;
    Dwarf_Fde fde;
    *ret = maker.row;
    int res = dwarf_get_fde_at_pc(tables->fdes, vaddr, &fde, &begin, &last, &error);
    compat_error_drop(tables->object.dbg, &error);
    if (res != DW_DLV_OK || begin > vaddr || vaddr > last || last == UINT64_MAX)
        return;
    maker.row.begin = begin;
    maker.row.end = last + 1;
    Dwarf_Regtable_Entry3 rules[CFI_N_COLUMNS] = {0};
    Dwarf_Regtable3 table = {.rt3_reg_table_size = CFI_N_COLUMNS, .rt3_rules = rules};
    res = dwarf_get_fde_info_for_all_regs3(fde, vaddr, &table, &row, &error);
    compat_error_drop(tables->object.dbg, &error);
    if (res == DW_DLV_OK && make_cfa(&maker, &table.rt3_cfa_rule)) {
        maker.row.has_rules = 1;
        maker.row.is_signal_frame = fde_is_signal_frame(tables, fde);
        for (unsigned i = 0; i < HS_N_REGISTERS; i++)
            make_register(&maker, i, &rules[i]);
    }
    *ret = maker.row;
}
