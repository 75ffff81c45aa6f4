#include "frame_row.h"

#include "cfi_expression.h"

static bool rule_is_sound(const struct frame_row *row, const struct frame_rule *rule)
{
    return rule->kind < FRAME_RULE_N_KINDS && rule->number < HS_N_REGISTERS &&
           (uint32_t)rule->at + rule->n_bytes <= row->n_expression_bytes;
}

bool hs_frame_row_is_sound_(const struct frame_row *row, hs_addr vaddr)
{
    if (row->n_expression_bytes > FRAME_ROW_EXPRESSION_BYTES || row->has_rules > 1 ||
        row->is_signal_frame > 1)
        return false;
    if (row->begin == 0 && row->end == 0)
        return row->has_rules == 0;
    if (row->begin > vaddr || row->end <= vaddr || !rule_is_sound(row, &row->cfa))
        return false;
    for (unsigned i = 0; i < HS_N_REGISTERS; i++)
        if (!rule_is_sound(row, &row->rules[i]))
            return false;
    return true;
}

/* A step in the making. */
struct step {
    const struct hs_registers *r;
    const struct hs_memory_reader *memory;
    const uint8_t *expressions;
    hs_addr cfa;
};

static bool step_expression(const struct step *step, const struct frame_rule *rule, bool has_cfa,
                            uint64_t *ret)
{
    return hs_cfi_evaluate_(step->expressions + rule->at, rule->n_bytes, step->r, step->memory,
                            has_cfa, step->cfa, ret);
}

static bool step_offset(const struct step *step, const struct frame_rule *rule, uint64_t *ret)
{
    if (!hs_register_known(step->r, (enum hs_register)rule->number))
        return false;
    *ret = step->r->value[rule->number] + (uint64_t)rule->offset;
    return true;
}

static bool step_cfa(const struct step *step, const struct frame_rule *rule, hs_addr *ret)
{
    if (rule->kind == FRAME_RULE_EXPRESSION)
        return step_expression(step, rule, false, ret);
    return rule->kind == FRAME_RULE_REGISTER && step_offset(step, rule, ret);
}

/* Reads a saved register; its place is told only when it could be read. */
static bool step_saved(const struct step *step, hs_addr at, uint64_t *ret, hs_addr *ret_at)
{
    if (!step->memory->read(step->memory->context, at, ret, sizeof(*ret)))
        return false;
    *ret_at = at;
    return true;
}

/* The caller's value of a register, and where in memory it was if it was there; false when it is
 * not known. */
static bool step_register(const struct step *step, const struct frame_rule *rule, uint64_t *ret,
                          hs_addr *ret_at)
{
    uint64_t at;
    switch (rule->kind) {
    case FRAME_RULE_REGISTER:
        return step_offset(step, rule, ret);
    case FRAME_RULE_SAVED:
        return step_saved(step, step->cfa + (uint64_t)rule->offset, ret, ret_at);
    case FRAME_RULE_VALUE:
        *ret = step->cfa + (uint64_t)rule->offset;
        return true;
    case FRAME_RULE_SAVED_EXPRESSION:
        return step_expression(step, rule, true, &at) && step_saved(step, at, ret, ret_at);
    case FRAME_RULE_EXPRESSION:
        return step_expression(step, rule, true, ret);
    default:
        return false;
    }
}

hs_status hs_frame_row_step_(const struct frame_row *row, const uint8_t *expressions,
                             const struct hs_registers *r, const struct hs_memory_reader *memory,
                             const char *name, struct hs_frame *ret, struct hs_error *err)
{
    struct step step = {r, memory, expressions, 0};
    if (!row->has_rules || !step_cfa(&step, &row->cfa, &step.cfa))
        return hs_fail(err, HS_FORMAT, "the frame entry of '%s' for %#llx cannot be evaluated",
                       name, (unsigned long long)r->value[HS_REG_PC]);
    struct hs_frame frame = {.cfa = step.cfa, .is_signal_frame = row->is_signal_frame != 0};
    if (row->rules[HS_REG_PC].kind == FRAME_RULE_OUTERMOST) {
        frame.is_outermost = true;
        *ret = frame;
        return HS_OK;
    }
    /* Nothing need say where the stack pointer was: the frame address is its value by definition.
     */
    frame.caller.value[HS_REG_SP] = step.cfa;
    frame.caller.known = UINT64_C(1) << HS_REG_SP;
    for (unsigned i = 0; i < HS_N_REGISTERS; i++)
        if (step_register(&step, &row->rules[i], &frame.caller.value[i], &frame.saved_at[i]))
            frame.caller.known |= UINT64_C(1) << i;
    if (!hs_register_known(&frame.caller, HS_REG_PC))
        return hs_fail(err, HS_TARGET, "cannot read the return address of the frame at %#llx",
                       (unsigned long long)step.cfa);
    *ret = frame;
    return HS_OK;
}
