/* The runtime's C static variables that hold roots.
 *
 * A stripped program has no names for them, but the exported functions that use them do mention
 * their addresses: caml_final_do_roots reads finalisable_first, finalisable_last and to_do_hd, and
 * so on. What is harvested counts only when the memory there looks as the runtime's invariants say
 * (runtime/finalise.c, memprof.c, roots_nat.c, callback.c, systhreads/st_stubs.c). */
#include "ocaml_roots.h"
#include "symbols/elf.h"
#include "symbols/operands.h"

enum {
    MAX_OPERANDS = 256,
    MAX_CODE_BYTES = 2048,
    NAMED_VALUE_BUCKETS = 13,
    MEMPROF_MIN_ALLOC_LEN = 128, /* MIN_ENTRIES_GLOBAL_ALLOC_LEN */
};

/* Addresses of writable data that one function mentions, in order, without repeats. */
struct mentions {
    struct hs_operand at[MAX_OPERANDS]; /* targets at run-time addresses */
    size_t n;
};

static bool is_writable_data(const struct hs_object *object, hs_addr address)
{
    const struct hs_elf_segment *segment = hs_elf_segment_at(object->elf, address - object->bias);
    return segment != NULL && segment->writable;
}

static bool mentions_has(const struct mentions *m, hs_addr address)
{
    for (size_t i = 0; i < m->n; i++) {
        if (m->at[i].target == address)
            return true;
    }
    return false;
}

static void mentions_harvest(const struct hs_ocaml *rt, const char *function, struct mentions *ret)
{
    struct hs_live_symbol symbol;
    ret->n = 0;
    if (!hs_objects_find(rt->objects, function, &symbol))
        return;
    const struct hs_object *object = symbol.object;
    size_t n_bytes =
        symbol.size == 0 || symbol.size > MAX_CODE_BYTES ? MAX_CODE_BYTES : (size_t)symbol.size;
    hs_addr vaddr = symbol.address - object->bias;
    const uint8_t *code = hs_elf_bytes_at(object->elf, vaddr, n_bytes);
    if (code == NULL)
        return;
    struct hs_operand all[MAX_OPERANDS];
    struct hs_harvest h = hs_operands_harvest(code, n_bytes, vaddr, all, MAX_OPERANDS);
    for (size_t i = 0; i < h.n_operands; i++) {
        struct hs_operand operand = all[i];
        operand.target += object->bias;
        if (operand.kind >= HS_OPERAND_CALL || !is_writable_data(object, operand.target))
            continue;
        if (!mentions_has(ret, operand.target))
            ret->at[ret->n++] = operand;
    }
}

static hs_addr symbol_of(const struct hs_ocaml *rt, const char *name)
{
    struct hs_live_symbol symbol;
    return hs_objects_find(rt->objects, name, &symbol) ? symbol.address : 0;
}

static bool words_at(const struct hs_ocaml *rt, hs_addr address, uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!hs_image_u64(rt->image, address + i * HS_WORD, &words[i]))
            return false;
    }
    return true;
}

/* Null, or a word-aligned address of readable memory. */
static bool is_pointer(const struct hs_ocaml *rt, uint64_t word)
{
    if (word == 0)
        return true;
    const struct hs_mapping *mapping = hs_target_mapping_at(rt->target, word);
    return word % HS_WORD == 0 && mapping != NULL && mapping->readable;
}

static bool is_pointer_variable(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t word;
    return address != 0 && words_at(rt, address, &word, 1) && is_pointer(rt, word);
}

/* struct finalisable {table, old, young, size}: old <= young <= size. */
static bool is_finalisable(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t w[4];
    return address != 0 && words_at(rt, address, w, 4) && w[1] <= w[2] && w[2] <= w[3] &&
           w[3] < UINT64_C(1) << 40 && is_pointer(rt, w[0]) && (w[0] != 0) == (w[3] != 0);
}

/* struct entry_array {t, min_alloc_len, alloc_len, len, young_idx, delete_idx}. */
static bool is_entries_global(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t w[6];
    return address != 0 && words_at(rt, address, w, 6) && w[1] == MEMPROF_MIN_ALLOC_LEN &&
           w[3] <= w[2] && w[4] <= w[3] && w[5] <= w[3] && w[2] < UINT64_C(1) << 40 &&
           is_pointer(rt, w[0]) && (w[0] != 0) == (w[2] != 0);
}

static bool is_named_values(const struct hs_ocaml *rt, hs_addr address)
{
    uint64_t w[NAMED_VALUE_BUCKETS];
    if (address == 0 || !words_at(rt, address, w, NAMED_VALUE_BUCKETS))
        return false;
    for (size_t i = 0; i < NAMED_VALUE_BUCKETS; i++) {
        if (!is_pointer(rt, w[i]))
            return false;
    }
    return true;
}

static bool is_inside(hs_addr address, hs_addr base, uint64_t n_bytes)
{
    return base != 0 && address >= base && address - base < n_bytes;
}

/* The two structs are known by their `young` fields (+16), whose contents loops compare with, while
 * of `table` only the address or the contents are taken once. */
static void harvest_finalisers(const struct hs_ocaml *rt, struct hs_ocaml_statics *ret)
{
    enum { YOUNG_OFFSET = 16, STRUCT_BYTES = 32 };
    struct mentions m;
    mentions_harvest(rt, "caml_final_do_roots", &m);
    hs_addr found[2] = {0, 0};
    size_t n = 0;
    for (size_t i = 0; i < m.n; i++) {
        hs_addr base = m.at[i].target - YOUNG_OFFSET;
        if (m.at[i].kind == HS_OPERAND_ADDRESS || !mentions_has(&m, base) ||
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
    hs_addr first = symbol_of(rt, "finalisable_first");
    hs_addr last = symbol_of(rt, "finalisable_last");
    hs_addr to_do = symbol_of(rt, "to_do_hd");
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
    hs_addr address = symbol_of(rt, "entries_global");
    if (is_entries_global(rt, address))
        return address;
    for (size_t u = 0; u < sizeof users / sizeof *users; u++) {
        struct mentions m;
        mentions_harvest(rt, users[u], &m);
        for (size_t i = 0; i < m.n; i++) {
            if (is_entries_global(rt, m.at[i].target))
                return m.at[i].target;
            if (is_entries_global(rt, m.at[i].target - LEN_OFFSET))
                return m.at[i].target - LEN_OFFSET;
        }
    }
    return 0;
}

/* A pointer variable that `function` accesses in one of the ways of `kinds` (bits). */
static hs_addr find_variable(const struct hs_ocaml *rt, const char *name, const char *function,
                             unsigned kinds, bool (*is_it)(const struct hs_ocaml *, hs_addr))
{
    hs_addr address = symbol_of(rt, name);
    if (address != 0 && is_it(rt, address))
        return address;
    struct mentions m;
    mentions_harvest(rt, function, &m);
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
    *ret = (struct hs_ocaml_statics){0};
    find_finalisers(rt, ret);
    ret->entries_global = find_entries_global(rt);
    ret->dyn_globals = find_variable(rt, "caml_dyn_globals", "caml_register_dyn_global",
                                     load | store | read, is_pointer_variable);
    ret->curr_thread =
        find_variable(rt, "curr_thread", "caml_thread_self", load | read, is_pointer_variable);
    ret->named_values =
        find_variable(rt, "named_value_table", "caml_named_value", address, is_named_values);
}
