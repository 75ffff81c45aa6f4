/* links: hs_symbols hs_rules hs_base */
/* Any bytes as an ELF file with debug information: variables, types, slots, places, functions. The
 * seeds are small programs, linked without a C library, with DWARF 4 and 5 and type units. */
#include <string.h>

#include "rules/rules.h"
#include "symbols/types/ctypes_private.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

/* A value of which each byte tells something else. */
static bool fuzz_read(void *context, int64_t from_slot_bytes, unsigned n_bytes, uint64_t *ret)
{
    uint64_t *seed = context;
    if (n_bytes != 1 && n_bytes != 2 && n_bytes != 4 && n_bytes != 8)
        __builtin_trap();
    *seed = *seed * 6364136223846793005 + 1442695040888963407;
    *ret = from_slot_bytes < -4096 ? 0 : (*seed >> 33) % 4;
    return *seed >> 61 != 0;
}

static void fuzz_choices(struct hs_ctypes *types, const struct hs_cslot *slot)
{
    struct hs_cchosen chosen;
    uint64_t seed = slot->offset_bytes;
    if (slot->n_choices == 0 || !hs_ctypes_choose(types, slot, fuzz_read, &seed, &chosen))
        return;
    for (hs_addr at = 0; at < 4; at++)
        (void)hs_ctypes_told(types, 1, chosen.told_by, 0x401000 + at * 16, chosen.pointee);
}

static void fuzz_enclosing(struct hs_ctypes *types, hs_ctype part, uint64_t offset)
{
    hs_ctype records[HS_CTYPE_MAX_ENCLOSING];
    struct hs_ctype_facts facts;
    size_t n = hs_ctypes_enclosing(types, part, offset, 1, 128, records);
    for (size_t i = 0; i < n; i++) {
        hs_ctype_facts(types, records[i], &facts);
        if (facts.kind != HS_CTYPE_RECORD || facts.n_bytes < 1 || facts.n_bytes > 128 ||
            (i > 0 && records[i - 1] >= records[i]))
            __builtin_trap();
        (void)hs_ctypes_begins_with(types, records[i], part);
        (void)hs_ctypes_depth(types, records[i]);
        (void)hs_ctypes_first(types, records[i]);
        (void)hs_ctypes_is_node(types, records[i]);
    }
}

/* Of C++, where a question is about few sizes. */
static void fuzz_heirs(struct hs_ctypes *types, hs_ctype part, uint64_t offset)
{
    hs_ctype heirs[HS_CTYPE_MAX_ENCLOSING];
    struct hs_ctype_facts facts;
    size_t n = hs_ctypes_heirs(types, part, offset, 17, 48, heirs);
    bool has = hs_ctypes_has_heir(types, part, 17, 48);
    for (size_t i = 0; i < n; i++) {
        hs_ctype_facts(types, heirs[i], &facts);
        if (facts.kind != HS_CTYPE_RECORD || facts.n_bytes < 17 || facts.n_bytes > 48 ||
            (offset == 0 && !has) || (i > 0 && heirs[i - 1] >= heirs[i]))
            __builtin_trap();
    }
    (void)hs_ctypes_enclosing(types, part, offset, 17, 48, heirs);
}

static void fuzz_type(struct hs_ctypes *types, hs_ctype type, int depth)
{
    struct hs_ctype_facts facts;
    char text[32];
    size_t n = 0;
    bool is_cut = false;
    for (; type != 0 && depth > 0; depth--) {
        hs_ctype_facts(types, type, &facts);
        if (facts.name == NULL || strlen(facts.name) > 1 << 14)
            __builtin_trap();
        (void)hs_ctypes_may_be_numbered(types, type);
        const struct hs_cslot *slots = hs_ctypes_slots(types, type, &n, &is_cut);
        if (n > HS_CTYPE_MAX_SLOTS)
            __builtin_trap();
        for (size_t i = 0; i < n; i++) {
            if (i > 0 && slots[i - 1].offset_bytes >= slots[i].offset_bytes)
                __builtin_trap();
            if (i < 32)
                fuzz_choices(types, &slots[i]);
            if (i < 32 && hs_ctypes_place(types, type, slots[i].offset_bytes, text, sizeof(text),
                                          NULL) >= sizeof(text))
                __builtin_trap();
        }
        if (!hs_ctypes_same(types, type, type))
            __builtin_trap();
        fuzz_enclosing(types, type, n);
        fuzz_heirs(types, type, n);
        type = n > 0 ? slots[n / 2].pointee : facts.of;
    }
}

static void fuzz_unit(struct hs_ctypes *types, hs_type_file file, struct debug_info *info,
                      struct debug_unit *unit)
{
    struct debug_entry root, entry, function;
    struct debug_bytes expression;
    int n = 0;
    if (!hs_debug_unit_load_(info, unit) || !hs_entry_read_(info, unit->root, &root))
        return;
    struct debug_walk walk = hs_walk_begin_(info, &root);
    while (hs_walk_next_(&walk, &entry) && ++n < 2000) {
        hs_addr low = 0;
        fuzz_type(types, hs_ctypes_type_of_(types, file, &entry), 4);
        hs_ctypes_name_of_(types, file, &entry);
        if (hs_entry_low_(info, &entry, &low) &&
            hs_ctypes_function_at_(types, file, low, &function) &&
            !hs_entry_covers_(info, &function, low))
            __builtin_trap();
        hs_entry_expression_(info, &entry, 0x02, low, &expression); /* DW_AT_location */
        (void)hs_ctypes_told(types, file, n % 2 == 0 ? HS_CTOLD_CODE : HS_CTOLD_TABLE, low, 0);
        struct hs_ctask task;
        if (hs_ctypes_task(types, file, low, &task) && (task.cell == 0 || task.future == NULL))
            __builtin_trap();
        if (n % 8 == 0)
            hs_walk_skip_(&walk, &entry);
    }
    for (uint64_t i = 0; i < 4; i++)
        hs_ctypes_file_name_(types, file, unit, i);
    struct hs_ctask_header header;
    (void)hs_ctypes_task_header(types, file, &header);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL, *supplement = NULL;
    struct hs_ctypes *types = NULL;
    hs_type_file file = 0;
    size_t n_symbols = 0;
    struct hs_cvariable v;
    static struct hs_rules rules; /* read once */
    if (rules.n_sets == 0 && hs_rules_shipped(&rules, &err) != HS_OK)
        return 0;
    if (hs_elf_open_memory(bytes, n_bytes, "fuzz", &elf, &err) != HS_OK)
        return 0;
    /* Half of them as if dwz had moved what they refer to into another such file. */
    if ((bytes[n_bytes / 2] & 1) != 0 &&
        hs_elf_open_memory(bytes, n_bytes, "supplement", &supplement, &err) == HS_OK)
        hs_elf_set_supplement(elf, supplement);
    if (hs_ctypes_new(&types, &err) == HS_OK)
        hs_ctypes_use_rules(types, &rules);
    if (types != NULL && hs_ctypes_add(types, elf, &file, &err) == HS_OK && file != 0) {
        const struct hs_elf_symbol *symbols = hs_elf_symbols(elf, &n_symbols);
        for (size_t i = 0; i < n_symbols && i < 64; i++)
            if (hs_ctypes_variable_at(types, file, symbols[i].vaddr, &v))
                fuzz_type(types, v.type, 8);
        const char *split = NULL;
        (void)hs_ctypes_split(types, file, &split);
        for (uint64_t at = 0; at < 64; at += 8)
            if (hs_ctypes_tls_variable_at(types, file, at, &v))
                fuzz_type(types, v.type, 8);
        fuzz_type(types, hs_ctypes_find(types, file, "node"), 8);
        struct debug_info *info = hs_ctypes_info_(types, file);
        for (size_t i = 0; i < info->n_units && i < 64; i++)
            fuzz_unit(types, file, info, &info->units[i]);
    }
    hs_ctypes_free(types);
    hs_elf_close(elf);
    hs_elf_close(supplement);
    return 0;
}
