#include "symbols/elf_users.h"

#include "arch/operands.h"
#include "base/bisect.h"
#include "elf_code.h"

enum { OPERANDS = 256, FIELDS_WITHIN_BYTES = 48, BEFORE_DISPLACEMENT = 3 /* of a lea */ };

/* The number of times that the function looked at mentions a place. */
struct count {
    uint32_t function; /* its number from 1; another one's count is none */
    uint32_t n;
};

enum looked_for { MENTIONS, FIELDS, CALLS };

struct callers {
    const struct hs_elf_symbol **ret;
    size_t most, n;
};

struct users {
    enum looked_for looked_for;
    const hs_addr *hints; /* borrowed, like the rest: one of these is mentioned where a place is */
    size_t n_hints;
    const hs_addr *places;
    size_t n;
    struct hs_elf_user *ret;
    struct callers *callers;               /* NULL: not asked for */
    bool (*may_use)(const char *function); /* NULL: all may */
    struct elf_code code;
    struct count *counts; /* owned: by place */
};

/* ---- is it worth decoding? */

static bool users_has(struct users *u, hs_addr first)
{
    size_t i = HS_FIRST_NOT(at, 0, u->n_hints, u->hints[at] < first);

    /* without effort: nothing is harvested after it, either */
    return !hs_effort_take(&u->code.effort, 2) ||
           (i != u->n_hints && u->hints[i] - first < HS_OPERAND_HINT_BYTES);
}

/* Tells whether the code may mention any place. */
static bool users_hint(struct users *u, const uint8_t *code, size_t n_bytes, hs_addr vaddr)
{
    hs_addr low = u->hints[0], high = u->hints[u->n_hints - 1] + 1, first;

    for (size_t next = 0; hs_operands_hint(code, n_bytes, vaddr, low, high, &next, &first);)
        if (users_has(u, first))
            return true;
    if (u->code.elf->is_dyn)
        return false; /* its constants are no addresses */
    for (size_t next = 0; hs_operands_hint_absolute(code, n_bytes, low, high, &next, &first);)
        if (users_has(u, first))
            return true;
    return false;
}

/* ---- what it mentions */

static void users_count(struct users *u, hs_addr target, const struct hs_elf_symbol *function,
                        uint32_t number)
{
    size_t i = HS_FIRST_NOT(at, 0, u->n, u->places[at] < target);

    if (i == u->n || u->places[i] != target)
        return;
    struct count *count = &u->counts[i];
    if (count->function != number) {
        *count = (struct count){.function = number};
        u->ret[i].n_functions++;
        if (u->callers != NULL && u->callers->n++ < u->callers->most)
            u->callers->ret[u->callers->n - 1] = function;
    }
    if (++count->n > u->ret[i].n_mentions) {
        u->ret[i].function = function;
        u->ret[i].n_mentions = count->n;
    }
}

static bool users_is_wanted(const struct users *u, const struct hs_operand *found)
{
    if (u->looked_for == CALLS)
        return found->kind == HS_OPERAND_CALL || found->kind == HS_OPERAND_JUMP;
    return found->kind < HS_OPERAND_CALL && !(found->is_absolute && u->code.elf->is_dyn);
}

static void users_harvest(struct users *u, const uint8_t *code, size_t n_bytes,
                          const struct hs_elf_symbol *function, uint32_t number)
{
    struct hs_operand found[OPERANDS];
    struct hs_harvest h = {.n_decoded_bytes = 1};

    for (size_t done = 0; done < n_bytes && h.n_decoded_bytes != 0; done += h.n_decoded_bytes) {
        h = hs_operands_harvest(code + done, n_bytes - done, function->vaddr + done, found,
                                OPERANDS);
        if (!hs_effort_take(&u->code.effort, 1 + h.n_decoded_bytes / 2))
            return;
        for (size_t i = 0; i < h.n_operands; i++)
            if (users_is_wanted(u, &found[i]))
                users_count(u, found[i].target, function, number);
    }
}

/* Looks for the next place that mentions a base; n_bytes: there is none. */
static size_t users_next_base(struct users *u, const uint8_t *code, size_t n_bytes, hs_addr vaddr,
                              size_t *next)
{
    hs_addr low = u->hints[0], high = u->hints[u->n_hints - 1] + 1, first;

    while (hs_operands_hint(code, n_bytes, vaddr, low, high, next, &first))
        if (users_has(u, first))
            return *next - 1 < BEFORE_DISPLACEMENT ? 0 : *next - 1 - BEFORE_DISPLACEMENT;
    return n_bytes;
}

/* Harvests what follows each mention of a base, up to the next. */
static void users_fields(struct users *u, const uint8_t *code, size_t n_bytes,
                         const struct hs_elf_symbol *function, uint32_t number)
{
    struct hs_operand found[FIELDS_WITHIN_BYTES];
    size_t next = 0;

    if (u->may_use != NULL && !u->may_use(function->name))
        return;
    for (size_t at = users_next_base(u, code, n_bytes, function->vaddr, &next), after; at < n_bytes;
         at = after) {
        after = users_next_base(u, code, n_bytes, function->vaddr, &next);
        size_t n = after - at < FIELDS_WITHIN_BYTES ? after - at : FIELDS_WITHIN_BYTES;
        struct hs_harvest h =
            hs_operands_fields(code + at, n, function->vaddr + at, found, FIELDS_WITHIN_BYTES);
        if (!hs_effort_take(&u->code.effort, 1 + h.n_decoded_bytes / 2))
            return;
        for (size_t i = 0; i < h.n_operands; i++)
            if (users_is_wanted(u, &found[i]))
                users_count(u, found[i].target, function, number);
    }
}

/* Functions of several names count once, and none reaches into the next: so each byte is looked at
 * once. */
static void users_look(struct users *u, const struct hs_elf *names)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(names, &n);

    for (size_t i = 0, next; i < n && hs_effort_take(&u->code.effort, 1); i = next) {
        const struct hs_elf_symbol *function = &symbols[i];
        for (next = i + 1; next < n && symbols[next].vaddr == function->vaddr; next++)
            function = function->kind == HS_SYMBOL_CODE ? function : &symbols[next];
        size_t n_bytes = function->n_bytes;
        if (next < n && symbols[next].vaddr - function->vaddr < n_bytes)
            n_bytes = symbols[next].vaddr - function->vaddr;
        if (function->kind != HS_SYMBOL_CODE || n_bytes == 0)
            continue;
        const uint8_t *code = hs_elf_code_at_(&u->code, function->vaddr, &n_bytes);
        if (code != NULL && u->looked_for == FIELDS)
            users_fields(u, code, n_bytes, function, (uint32_t)next);
        else if (code != NULL && users_hint(u, code, n_bytes, function->vaddr))
            users_harvest(u, code, n_bytes, function, (uint32_t)next);
    }
}

static hs_status users_run(struct users *u, struct hs_elf *elf, const struct hs_elf *names,
                           struct hs_error *err)
{
    for (size_t i = 0; i < u->n; i++)
        u->ret[i] = (struct hs_elf_user){0};
    if (u->n == 0 || u->n_hints == 0)
        return HS_OK;
    hs_status status = hs_elf_code_init_(&u->code, elf, err);
    if (status == HS_OK)
        status = HS_ALLOC(&u->counts, u->n, err);
    if (status == HS_OK)
        users_look(u, names);
    hs_free(u->counts);
    hs_elf_code_fini_(&u->code);
    return status;
}

hs_status hs_elf_users(struct hs_elf *elf, const struct hs_elf *names, const hs_addr *places,
                       size_t n, struct hs_elf_user *ret, struct hs_error *err)
{
    struct users u = {.hints = places, .n_hints = n, .places = places, .n = n, .ret = ret};

    return users_run(&u, elf, names, err);
}

hs_status hs_elf_field_users(struct hs_elf *elf, const struct hs_elf *names,
                             const struct hs_elf_field_query *query, struct hs_elf_user *ret,
                             struct hs_error *err)
{
    struct users u = {.looked_for = FIELDS,
                      .hints = query->bases,
                      .n_hints = query->n_bases,
                      .places = query->places,
                      .n = query->n_places,
                      .ret = ret,
                      .may_use = query->may_use};

    return users_run(&u, elf, names, err);
}

hs_status hs_elf_callers(struct hs_elf *elf, const struct hs_elf *names, hs_addr callee,
                         const struct hs_elf_symbol **ret, size_t most, size_t *ret_n,
                         struct hs_error *err)
{
    struct hs_elf_user most_often;
    struct callers callers = {.ret = ret, .most = most};
    struct users u = {.looked_for = CALLS,
                      .hints = &callee,
                      .n_hints = 1,
                      .places = &callee,
                      .n = 1,
                      .ret = &most_often,
                      .callers = &callers};

    HS_TRY(users_run(&u, elf, names, err));
    *ret_n = callers.n;
    return HS_OK;
}
