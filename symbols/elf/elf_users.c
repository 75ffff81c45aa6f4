#include "symbols/elf_users.h"

#include "arch/operands.h"
#include "base/bisect.h"
#include "elf_code.h"

enum { OPERANDS = 256 };

/* The number of times that the function looked at mentions a place. */
struct count {
    uint32_t function; /* its number from 1; another one's count is none */
    uint32_t n;
};

struct users {
    const hs_addr *places; /* borrowed, like the rest */
    size_t n;
    struct hs_elf_user *ret;
    struct elf_code code;
    struct count *counts; /* owned: by place */
};

/* ---- is it worth decoding? */

static bool users_has(struct users *u, hs_addr first)
{
    size_t i = HS_FIRST_NOT(at, 0, u->n, u->places[at] < first);

    /* without effort: nothing is harvested after it, either */
    return !hs_effort_take(&u->code.effort, 2) ||
           (i != u->n && u->places[i] - first < HS_OPERAND_HINT_BYTES);
}

/* Tells whether the code may mention any place. */
static bool users_hint(struct users *u, const uint8_t *code, size_t n_bytes, hs_addr vaddr)
{
    hs_addr low = u->places[0], high = u->places[u->n - 1] + 1, first;

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
    if (count->function != number)
        *count = (struct count){.function = number};
    if (++count->n > u->ret[i].n_mentions)
        u->ret[i] = (struct hs_elf_user){function, count->n};
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
            if (found[i].kind < HS_OPERAND_CALL && !(found[i].is_absolute && u->code.elf->is_dyn))
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
        if (code != NULL && users_hint(u, code, n_bytes, function->vaddr))
            users_harvest(u, code, n_bytes, function, (uint32_t)next);
    }
}

hs_status hs_elf_users(struct hs_elf *elf, const struct hs_elf *names, const hs_addr *places,
                       size_t n, struct hs_elf_user *ret, struct hs_error *err)
{
    struct users u = {.places = places, .n = n, .ret = ret};

    for (size_t i = 0; i < n; i++)
        ret[i] = (struct hs_elf_user){0};
    if (n == 0)
        return HS_OK;
    hs_status status = hs_elf_code_init_(&u.code, elf, err);
    if (status == HS_OK)
        status = HS_ALLOC(&u.counts, n, err);
    if (status == HS_OK)
        users_look(&u, names);
    hs_free(u.counts);
    hs_elf_code_fini_(&u.code);
    return status;
}
