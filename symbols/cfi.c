#include "symbols/cfi.h"

#include <string.h>

#include "cfi_check.h"
#include "cfi_expression.h"
#include "dwarf_object.h"

/* Column values that are no register. Our own choice, told to libdwarf, so that both generations
 * agree; they must lie above the table. */
enum { CFI_UNDEFINED = 1034, CFI_SAME = 1035, CFI_CFA = 1436 };

/* What the System V ABI has a callee keep: unmentioned, they still hold the caller's value. */
#define CFI_CALLEE_SAVED                                                     \
    (UINT32_C(1) << HS_RBX | UINT32_C(1) << HS_RBP | UINT32_C(1) << HS_R12 | \
     UINT32_C(1) << HS_R13 | UINT32_C(1) << HS_R14 | UINT32_C(1) << HS_R15)

struct hs_cfi {
    struct dwarf_object object;
    char *name; /* owned */
    Dwarf_Cie *cies;
    Dwarf_Fde *fdes;
    Dwarf_Signed n_cies, n_fdes;
};

static hs_status cfi_list(struct hs_cfi *cfi, bool is_eh, struct hs_error *err)
{
    Dwarf_Debug dbg = cfi->object.dbg;
    dwarf_set_frame_rule_table_size(dbg, CFI_N_COLUMNS);
    dwarf_set_frame_undefined_value(dbg, CFI_UNDEFINED);
    dwarf_set_frame_same_value(dbg, CFI_SAME);
    dwarf_set_frame_cfa_value(dbg, CFI_CFA);
    dwarf_set_frame_rule_initial_value(dbg, CFI_SAME);
    Dwarf_Error error = NULL;
    int res =
        is_eh
            ? dwarf_get_fde_list_eh(dbg, &cfi->cies, &cfi->n_cies, &cfi->fdes, &cfi->n_fdes, &error)
            : dwarf_get_fde_list(dbg, &cfi->cies, &cfi->n_cies, &cfi->fdes, &cfi->n_fdes, &error);
    if (res == DW_DLV_OK && cfi->n_fdes > 0)
        return HS_OK;
    hs_status status = hs_fail(err, HS_FORMAT, "'%s' has no usable frame tables: %s", cfi->name,
                               error == NULL ? "they are empty" : dwarf_errmsg(error));
    compat_error_drop(dbg, &error);
    if (res != DW_DLV_OK)
        cfi->n_cies = cfi->n_fdes = 0;
    return status;
}

static hs_status cfi_open_section(struct hs_elf *elf, bool is_eh, struct hs_cfi **ret,
                                  struct hs_error *err)
{
    hs_auto(hs_cfi) *cfi = NULL;
    HS_TRY(hs_alloc(1, sizeof(*cfi), (void **)&cfi, err));
    HS_TRY(hs_strdup(hs_elf_name(elf), &cfi->name, err));
    HS_TRY(
        hs_dwarf_object_open_(elf, is_eh ? DWARF_EH_FRAME : DWARF_DEBUG_FRAME, &cfi->object, err));
    if (hs_cfi_check_(&cfi->object.sections[1], is_eh, err) != HS_OK)
        return hs_context(err, "'%s'", cfi->name);
    HS_TRY(cfi_list(cfi, is_eh, err));
    *ret = HS_STEAL(cfi);
    return HS_OK;
}

hs_status hs_cfi_open(struct hs_elf *elf, struct hs_cfi **ret, struct hs_error *err)
{
    hs_status status = HS_FORMAT;
    if (hs_dwarf_object_present_(elf, DWARF_EH_FRAME))
        status = cfi_open_section(elf, true, ret, err);
    if (status == HS_FORMAT && hs_dwarf_object_present_(elf, DWARF_DEBUG_FRAME))
        return cfi_open_section(elf, false, ret, err);
    if (status == HS_FORMAT && !hs_dwarf_object_present_(elf, DWARF_EH_FRAME))
        return hs_fail(err, HS_FORMAT, "'%s' has no frame tables", hs_elf_name(elf));
    return status;
}

void hs_cfi_close(struct hs_cfi *cfi)
{
    if (cfi == NULL)
        return;
    if (cfi->n_cies > 0 || cfi->n_fdes > 0)
        compat_frames_dealloc(cfi->object.dbg, cfi->cies, cfi->n_cies, cfi->fdes, cfi->n_fdes);
    hs_dwarf_object_close_(&cfi->object);
    hs_free(cfi->name);
    hs_free(cfi);
}

size_t hs_cfi_n_functions(const struct hs_cfi *cfi)
{
    return (size_t)cfi->n_fdes;
}

static bool cfi_entry_at(struct hs_cfi *cfi, hs_addr vaddr, Dwarf_Fde *ret, hs_addr *ret_begin,
                         hs_addr *ret_last)
{
    Dwarf_Error error = NULL;
    Dwarf_Addr begin = 0, last = 0;
    int res = dwarf_get_fde_at_pc(cfi->fdes, vaddr, ret, &begin, &last, &error);
    compat_error_drop(cfi->object.dbg, &error);
    *ret_begin = begin;
    *ret_last = last;
    return res == DW_DLV_OK && begin <= vaddr && vaddr <= last;
}

bool hs_cfi_function_at(struct hs_cfi *cfi, hs_addr vaddr, hs_addr *ret_begin, hs_addr *ret_end)
{
    Dwarf_Fde fde;
    hs_addr begin, last;
    if (!cfi_entry_at(cfi, vaddr, &fde, &begin, &last))
        return false;
    *ret_begin = begin;
    *ret_end = last + 1;
    return true;
}

/* 'S' in the augmentation: the frame of a signal handler's trampoline. */
static bool cfi_is_signal_frame(struct hs_cfi *cfi, Dwarf_Fde fde)
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
    compat_error_drop(cfi->object.dbg, &error);
    return res == DW_DLV_OK && letters != NULL && strchr(letters, 'S') != NULL;
}

/* One step in the making. */
struct step {
    const struct hs_registers *r;
    const struct hs_memory_reader *memory;
    hs_addr cfa;
};

static bool step_expression(const struct step *step, const Dwarf_Regtable_Entry3 *rule,
                            bool has_cfa, uint64_t *ret)
{
    Dwarf_Unsigned n = 0;
    const void *bytes = compat_rule_block(rule, &n);
    return bytes != NULL &&
           hs_cfi_evaluate_(bytes, (size_t)n, step->r, step->memory, has_cfa, step->cfa, ret);
}

static bool step_read(const struct step *step, hs_addr at, uint64_t *ret)
{
    return step->memory->read(step->memory->context, at, ret, sizeof(*ret));
}

static bool step_cfa(const struct step *step, const Dwarf_Regtable_Entry3 *rule, hs_addr *ret)
{
    if (rule->dw_value_type == DW_EXPR_EXPRESSION || rule->dw_value_type == DW_EXPR_VAL_EXPRESSION)
        return step_expression(step, rule, false, ret);
    if (rule->dw_value_type != DW_EXPR_OFFSET || rule->dw_regnum >= HS_N_REGISTERS ||
        !hs_register_known(step->r, (enum hs_register)rule->dw_regnum))
        return false;
    *ret = step->r->value[rule->dw_regnum] + (uint64_t)compat_rule_offset(rule);
    return true;
}

/* Reads a saved register; its place is told only when it could be read. */
static bool step_saved(const struct step *step, hs_addr at, uint64_t *ret, hs_addr *ret_at)
{
    if (!step_read(step, at, ret))
        return false;
    *ret_at = at;
    return true;
}

/* The caller's value of register `number`, and where in memory it was if it was there; false when
 * it is not known. */
static bool step_register(const struct step *step, const Dwarf_Regtable_Entry3 *rule,
                          enum hs_register number, uint64_t *ret, hs_addr *ret_at)
{
    uint64_t at;
    switch (rule->dw_value_type) {
    case DW_EXPR_OFFSET:
        if (rule->dw_offset_relevant)
            return step_saved(step, step->cfa + (uint64_t)compat_rule_offset(rule), ret, ret_at);
        if (rule->dw_regnum == CFI_SAME && (CFI_CALLEE_SAVED >> number & 1) == 0)
            return false;
        if (rule->dw_regnum != CFI_SAME)
            number = (enum hs_register)rule->dw_regnum;
        if (number >= HS_N_REGISTERS || !hs_register_known(step->r, number))
            return false;
        *ret = step->r->value[number];
        return true;
    case DW_EXPR_VAL_OFFSET:
        *ret = step->cfa + (uint64_t)compat_rule_offset(rule);
        return true;
    case DW_EXPR_EXPRESSION:
        return step_expression(step, rule, true, &at) && step_saved(step, at, ret, ret_at);
    case DW_EXPR_VAL_EXPRESSION:
        return step_expression(step, rule, true, ret);
    default:
        return false;
    }
}

static bool rule_is_undefined(const Dwarf_Regtable_Entry3 *rule)
{
    return rule->dw_value_type == DW_EXPR_OFFSET && !rule->dw_offset_relevant &&
           rule->dw_regnum == CFI_UNDEFINED;
}

static hs_status step_frame(const struct step *step, const Dwarf_Regtable_Entry3 *rules,
                            struct hs_frame *ret, struct hs_error *err)
{
    struct hs_frame frame = {.cfa = step->cfa};
    if (rule_is_undefined(&rules[HS_RIP])) {
        frame.is_outermost = true;
        *ret = frame;
        return HS_OK;
    }
    /* Nothing need say where rsp was: the frame address is its value by definition. */
    frame.caller.value[HS_RSP] = step->cfa;
    frame.caller.known = UINT32_C(1) << HS_RSP;
    for (unsigned i = 0; i < HS_N_REGISTERS; i++)
        if (step_register(step, &rules[i], (enum hs_register)i, &frame.caller.value[i],
                          &frame.saved_at[i]))
            frame.caller.known |= UINT32_C(1) << i;
    if (!hs_register_known(&frame.caller, HS_RIP))
        return hs_fail(err, HS_TARGET, "cannot read the return address of the frame at %#llx",
                       (unsigned long long)step->cfa);
    *ret = frame;
    return HS_OK;
}

hs_status hs_cfi_step(struct hs_cfi *cfi, uint64_t bias, const struct hs_registers *r,
                      bool is_return_address, const struct hs_memory_reader *memory,
                      struct hs_frame *ret, struct hs_error *err)
{
    hs_addr rip = r->value[HS_RIP], vaddr = rip - bias - (is_return_address ? 1 : 0);
    hs_addr begin, last;
    Dwarf_Fde fde;
    if (!hs_register_known(r, HS_RIP) || !cfi_entry_at(cfi, vaddr, &fde, &begin, &last))
        return hs_fail(err, HS_FORMAT, "no frame entry of '%s' covers %#llx", cfi->name,
                       (unsigned long long)rip);
    Dwarf_Regtable_Entry3 rules[CFI_N_COLUMNS] = {0};
    Dwarf_Regtable3 table = {.rt3_reg_table_size = CFI_N_COLUMNS, .rt3_rules = rules};
    Dwarf_Error error = NULL;
    Dwarf_Addr row;
    int res = dwarf_get_fde_info_for_all_regs3(fde, vaddr, &table, &row, &error);
    compat_error_drop(cfi->object.dbg, &error);
    struct step step = {r, memory, 0};
    if (res != DW_DLV_OK || !step_cfa(&step, &table.rt3_cfa_rule, &step.cfa))
        return hs_fail(err, HS_FORMAT, "the frame entry of '%s' for %#llx cannot be evaluated",
                       cfi->name, (unsigned long long)rip);
    HS_TRY(step_frame(&step, rules, ret, err));
    ret->is_signal_frame = cfi_is_signal_frame(cfi, fde);
    return HS_OK;
}
