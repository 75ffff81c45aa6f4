/* The runtime's C static variables that hold roots.
 *
 * A stripped program has no names for them, but the exported functions that use them do mention
 * their addresses: caml_final_do_roots reads finalisable_first, finalisable_last and to_do_hd, and
 * so on. What is harvested counts only when the memory there looks as the runtime's invariants say
 * (runtime/finalise.c, memprof.c, roots_nat.c, callback.c, systhreads/st_stubs.c). */
#include "mentions.h"
#include "roots.h"

enum {
    NAMED_VALUE_BUCKETS = 13,
    MEMPROF_MIN_ALLOC_LEN = 128, /* MIN_ENTRIES_GLOBAL_ALLOC_LEN */
};

static bool is_pointer_variable(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t word;
    return address != 0 && hs_ocaml_words_at(rt, address, &word, 1) && hs_ocaml_may_point(rt, word);
}

/* Tells whether this is a struct finalisable {table, old, young, size}: old <= young <= size. */
static bool is_finalisable(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t w[4];
    return address != 0 && hs_ocaml_words_at(rt, address, w, 4) && w[1] <= w[2] && w[2] <= w[3] &&
           w[3] < UINT64_C(1) << 40 && hs_ocaml_may_point(rt, w[0]) && (w[0] != 0) == (w[3] != 0);
}

/* Tells whether this is a struct entry_array {t, min_alloc_len, alloc_len, len, young_idx,
 * delete_idx}. */
static bool is_entries_global(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t w[6];
    return address != 0 && hs_ocaml_words_at(rt, address, w, 6) && w[1] == MEMPROF_MIN_ALLOC_LEN &&
           w[3] <= w[2] && w[4] <= w[3] && w[5] <= w[3] && w[2] < UINT64_C(1) << 40 &&
           hs_ocaml_may_point(rt, w[0]) && (w[0] != 0) == (w[2] != 0);
}

static bool is_named_values(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t w[NAMED_VALUE_BUCKETS];
    if (address == 0 || !hs_ocaml_words_at(rt, address, w, NAMED_VALUE_BUCKETS))
        return false;
    for (size_t i = 0; i < NAMED_VALUE_BUCKETS; i++) {
        if (!hs_ocaml_may_point(rt, w[i]))
            return false;
    }
    return true;
}

static bool is_inside(hs_addr address, hs_addr base, uint64_t n_bytes)
{
    return base != 0 && address >= base && address - base < n_bytes;
}

/* Finds the finalisers' variables by the code that uses them. The two structs are known by their
 * `young` fields (+16), whose contents loops compare with, while of `table` only the address or the
 * contents are taken once. */
static void harvest_finalisers(const struct hs_ocaml *rt, struct hs_ocaml_statics *ret)
{
    enum { YOUNG_OFFSET = 16, STRUCT_BYTES = 32 };
    struct hs_mentions m;
    hs_mentions_harvest(rt, "caml_final_do_roots", &m);
    hs_addr found[2] = {0, 0};
    size_t n = 0;
    for (size_t i = 0; i < m.n; i++) {
        hs_addr base = m.at[i].target - YOUNG_OFFSET;
        if (m.at[i].kind == HS_OPERAND_ADDRESS || !hs_mentions_has(&m, base) ||
            !is_finalisable(rt, base))
            continue;
        if (n == 2)
            return; /* not the function we know */
        found[n++] = base;
    }
    if (n != 2)
        return;
    ret->finalisable_first = found[0];
    ret->finalisable_last = found[1];
    for (size_t i = 0; i < m.n; i++) {
        hs_addr address = m.at[i].target;
        if (m.at[i].kind == HS_OPERAND_LOAD && !is_inside(address, found[0], STRUCT_BYTES) &&
            !is_inside(address, found[1], STRUCT_BYTES) && is_pointer_variable(rt, address)) {
            ret->to_do_hd = address;
            return;
        }
    }
}

static void find_finalisers(const struct hs_ocaml *rt, struct hs_ocaml_statics *ret)
{
    hs_addr first = hs_ocaml_symbol_address(rt, "finalisable_first");
    hs_addr last = hs_ocaml_symbol_address(rt, "finalisable_last");
    hs_addr to_do = hs_ocaml_symbol_address(rt, "to_do_hd");
    if (is_finalisable(rt, first) && is_finalisable(rt, last) && is_pointer_variable(rt, to_do)) {
        ret->finalisable_first = first;
        ret->finalisable_last = last;
        ret->to_do_hd = to_do;
        return;
    }
    harvest_finalisers(rt, ret);
}

static hs_addr find_entries_global(const struct hs_ocaml *rt)
{
    static const char *const users[] = {"caml_memprof_do_roots", "caml_memprof_oldify_young_roots",
                                        "caml_memprof_stop"};
    enum { LEN_OFFSET = 24 };
    hs_addr address = hs_ocaml_symbol_address(rt, "entries_global");
    if (is_entries_global(rt, address))
        return address;
    for (size_t u = 0; u < sizeof users / sizeof *users; u++) {
        struct hs_mentions m;
        hs_mentions_harvest(rt, users[u], &m);
        for (size_t i = 0; i < m.n; i++) {
            if (is_entries_global(rt, m.at[i].target))
                return m.at[i].target;
            if (is_entries_global(rt, m.at[i].target - LEN_OFFSET))
                return m.at[i].target - LEN_OFFSET;
        }
    }
    return 0;
}

/* Finds a variable by its symbol, or else as one that `function` accesses in one of the ways of
 * `kinds` (bits). */
static hs_addr find_variable(const struct hs_ocaml *rt, const char *name, const char *function,
                             unsigned kinds, bool (*is_it)(const struct hs_ocaml *, hs_addr))
{
    hs_addr address = hs_ocaml_symbol_address(rt, name);
    if (address != 0 && is_it(rt, address))
        return address;
    struct hs_mentions m;
    hs_mentions_harvest(rt, function, &m);
    for (size_t i = 0; i < m.n; i++) {
        if ((kinds >> m.at[i].kind & 1) != 0 && is_it(rt, m.at[i].target))
            return m.at[i].target;
    }
    return 0;
}

void hs_ocaml_find_statics(const struct hs_ocaml *rt, struct hs_ocaml_statics *ret)
{
    const unsigned address = 1u << HS_OPERAND_ADDRESS, load = 1u << HS_OPERAND_LOAD;
    const unsigned store = 1u << HS_OPERAND_STORE, read = 1u << HS_OPERAND_READ;
    const unsigned modify = 1u << HS_OPERAND_MODIFY;
    *ret = (struct hs_ocaml_statics){0};
    find_finalisers(rt, ret);
    ret->entries_global = find_entries_global(rt);
    ret->dyn_globals =
        find_variable(rt, "caml_dyn_globals",
                      rt->five == NULL ? "caml_register_dyn_global" : "caml_register_dyn_globals",
                      load | store | read | modify, is_pointer_variable);
    ret->curr_thread =
        find_variable(rt, "curr_thread", "caml_thread_self", load | read, is_pointer_variable);
    ret->named_values =
        find_variable(rt, "named_value_table", "caml_named_value", address, is_named_values);
}
