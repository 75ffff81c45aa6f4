/* Globals: every field of every block of the gc_roots tables, those of the program (caml_globals)
 * and those of dynamically linked modules.
 *
 *   caml_globals[]:   table, table, ..., 0        linked in
 *   caml_dyn_globals: {table, next} -> ...        Dynlink
 *   table:            block, block, ..., 0        one per unit, several with flambda
 *
 * Dynamically linked tables are taken from the symbols of the mapped plugins, which strip leaves in
 * place; the runtime's own list is the cross-check and adds what has no symbol. Tables of a plugin
 * that has not run yet hold only immediates. Source: runtime/roots_nat.c, caml_do_roots. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "roots.h"
#include "symbols/demangle.h"
#include "symbols/elf.h"

enum { MAX_TABLES = 1 << 20, MAX_FIELDS = 1 << 26, UNIT_BYTES = 512 };

struct table {
    hs_addr address;
    uint32_t order;
    bool is_dynamic;
};

struct tables {
    struct table *tables; /* owned */
    size_t n, capacity;
};

/* The unit that a table belongs to: its symbol without "caml" and "__gc_roots". */
struct unit {
    char symbol[UNIT_BYTES]; /* "camlLtac_plugin__Tacenv"; empty when unknown */
    const struct hs_object *object;
    hs_str module, name; /* "ltac_plugin", "Ltac_plugin.Tacenv" */
    bool is_dynamic;
};

static hs_status tables_add(struct tables *tables, hs_addr address, bool is_dynamic,
                            struct hs_error *err)
{
    if (tables->n == MAX_TABLES)
        return HS_OK;
    HS_TRY(HS_GROW(&tables->tables, &tables->capacity, tables->n + 1, err));
    tables->tables[tables->n] = (struct table){address, (uint32_t)tables->n, is_dynamic};
    tables->n++;
    return HS_OK;
}

static int by_address(const void *a, const void *b)
{
    const struct table *x = a, *y = b;
    if (x->address != y->address)
        return x->address < y->address ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static int by_order(const void *a, const void *b)
{
    const struct table *x = a, *y = b;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Keeps the first of several additions of one table. */
static void tables_unique(struct tables *tables)
{
    if (tables->n == 0)
        return;
    qsort(tables->tables, tables->n, sizeof *tables->tables, by_address);
    size_t kept = 1;
    for (size_t i = 1; i < tables->n; i++) {
        if (tables->tables[i].address != tables->tables[kept - 1].address)
            tables->tables[kept++] = tables->tables[i];
    }
    tables->n = kept;
    qsort(tables->tables, tables->n, sizeof *tables->tables, by_order);
}

static hs_status add_linked(struct hs_root_walk *walk, struct tables *tables)
{
    struct hs_live_symbol symbol;
    uint64_t table;
    if (!hs_objects_find(walk->rt->objects, "caml_globals", &symbol))
        return HS_OK;
    for (hs_addr at = symbol.address; hs_walk_u64(walk, at, &table) && table != 0; at += HS_WORD) {
        if (tables->n == MAX_TABLES)
            return HS_OK;
        HS_TRY(tables_add(tables, table, false, walk->err));
    }
    return HS_OK;
}

static bool has_suffix(const char *text, size_t n, const char *suffix)
{
    size_t n_suffix = strlen(suffix);
    return n >= n_suffix && memcmp(text + n - n_suffix, suffix, n_suffix) == 0;
}

static hs_status add_plugin_tables(struct hs_root_walk *walk, struct tables *tables)
{
    const struct hs_objects *objects = walk->rt->objects;
    for (size_t i = 0; i < objects->n; i++) {
        const struct hs_object *object = &objects->objects[i];
        size_t n_symbols;
        const struct hs_elf_symbol *symbols = hs_elf_symbols(object->elf, &n_symbols);
        if (object->is_executable)
            continue;
        for (size_t k = 0; k < n_symbols; k++) {
            if (strncmp(symbols[k].name, "caml", 4) == 0 &&
                has_suffix(symbols[k].name, strlen(symbols[k].name), "gc_roots"))
                HS_TRY(tables_add(tables, symbols[k].vaddr + object->bias, true, walk->err));
        }
    }
    return HS_OK;
}

/* Adds the tables of the runtime's list; while the target is stopped this copies the list. */
static hs_status add_registered(struct hs_root_walk *walk, struct tables *tables)
{
    hs_addr head = walk->roots->stops->statics.dyn_globals;
    struct hs_cycle cycle = {0};
    uint64_t cell = 0, table, next;
    if (head == 0 || !hs_walk_u64(walk, head, &cell))
        return HS_OK;
    for (; !hs_walk_list_ends(walk, &cycle, cell); cell = next) {
        if (!hs_walk_u64(walk, cell, &table) || !hs_walk_u64(walk, cell + HS_WORD, &next))
            return HS_OK;
        if (table != 0)
            HS_TRY(tables_add(tables, table, true, walk->err));
    }
    return HS_OK;
}

/* Finds the unit of a table: "camlStm__gc_roots" -> symbol "camlStm", name "Stm". */
static hs_status unit_init(struct hs_root_walk *walk, const struct table *table, struct unit *ret)
{
    static const char *const suffixes[] = {"__gc_roots", ".gc_roots", "$gc_roots"};
    struct hs_live_symbol symbol;
    char readable[UNIT_BYTES];
    *ret = (struct unit){.is_dynamic = table->is_dynamic};
    ret->object = hs_objects_object_at(walk->rt->objects, table->address);
    const char *module = ret->object != NULL ? ret->object->name : "";
    HS_TRY(hs_strtab_add(walk->rt->strings, module, &ret->module, walk->err));
    if (!hs_objects_at(walk->rt->objects, table->address, &symbol) ||
        symbol.address != table->address)
        return HS_OK;
    size_t n = strlen(symbol.name);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        if (has_suffix(symbol.name, n, suffixes[i])) {
            n -= strlen(suffixes[i]);
            break;
        }
    }
    if (n >= UNIT_BYTES || n <= strlen("caml"))
        return HS_OK;
    memcpy(ret->symbol, symbol.name, n);
    hs_demangle(ret->symbol, readable, sizeof readable);
    return hs_strtab_add(walk->rt->strings, readable, &ret->name, walk->err);
}

/* Names a field: "Stm field 63" (source names are put in later, by symbol and field); of a block
 * with a symbol of its own (flambda) "Stm.table", "Stm.pair field 1". */
static hs_status name_field(struct hs_root_walk *walk, const struct unit *unit, const char *symbol,
                            uint64_t field, uint64_t n_fields, struct hs_root *root)
{
    char readable[UNIT_BYTES];
    hs_demangle(symbol, readable, sizeof readable);
    if (n_fields == 1 && strcmp(symbol, unit->symbol) != 0)
        return hs_walk_name(walk, &root->name, "%s", readable);
    return hs_walk_name(walk, &root->name, "%s field %llu", readable, (unsigned long long)field);
}

/* Remembers that the leaves stand for the fields of `block`. */
static hs_status register_block(struct hs_root_walk *walk, hs_addr block)
{
    struct hs_ocaml_roots *roots = walk->roots;
    HS_TRY(HS_GROW(&roots->module_blocks, &roots->module_blocks_capacity,
                   roots->n_module_blocks + 1, walk->err));
    roots->module_blocks[roots->n_module_blocks++] = block;
    return HS_OK;
}

/* Adds a leaf for each field of a block that leads to one. `unit` has an object. */
static hs_status walk_block(struct hs_root_walk *walk, const struct unit *unit, hs_addr block)
{
    struct hs_live_symbol symbol = {0};
    uint64_t header, value;
    if (block % HS_WORD != 0 || !hs_walk_u64(walk, block - HS_WORD, &header))
        return HS_OK;
    uint64_t n_fields = HS_HEADER_WOSIZE(header);
    if (n_fields > (unit->object->end - unit->object->begin) / HS_WORD ||
        walk->n_fields > MAX_FIELDS) {
        walk->n_damaged++;
        return HS_OK;
    }
    if (n_fields == 0)
        return HS_OK;
    walk->n_fields += n_fields;
    HS_TRY(register_block(walk, block));
    struct hs_root_leaf leaf =
        hs_walk_leaf(unit->is_dynamic ? HS_ROOT_DYNAMIC_GLOBAL : HS_ROOT_GLOBAL);
    bool has_symbol = hs_objects_at(walk->rt->objects, block, &symbol) && symbol.address == block;
    const char *symbol_name = has_symbol ? symbol.name : unit->symbol;
    leaf.root.module = leaf.group_module = unit->module;
    leaf.group_unit = unit->name;
    HS_TRY(hs_strtab_add(walk->rt->strings, symbol_name, &leaf.root.symbol, walk->err));
    for (uint64_t field = 0; field < n_fields; field++) {
        leaf.root.address = block + field * HS_WORD;
        if (!hs_walk_u64(walk, leaf.root.address, &value))
            return HS_OK;
        if (!hs_block_of_value(walk->blocks, value, &leaf.target))
            continue;
        leaf.root.offset = field * HS_WORD;
        leaf.root.field = (uint32_t)field;
        leaf.root.file = 0;
        leaf.root.line = 0;
        HS_TRY(name_field(walk, unit, symbol_name, field, n_fields, &leaf.root));
        HS_TRY(hs_roots_add(&walk->roots->roots, &leaf, walk->err));
    }
    return HS_OK;
}

static hs_status walk_table(struct hs_root_walk *walk, const struct table *table)
{
    struct unit unit;
    uint64_t block;
    HS_TRY(unit_init(walk, table, &unit));
    if (unit.object == NULL) { /* of a file that could not be opened */
        walk->n_damaged++;
        return HS_OK;
    }
    hs_addr end = unit.object->end;
    for (hs_addr at = table->address; at < end && hs_walk_u64(walk, at, &block) && block != 0;
         at += HS_WORD)
        HS_TRY(walk_block(walk, &unit, block));
    return HS_OK;
}

static int by_value(const void *a, const void *b)
{
    hs_addr x = *(const hs_addr *)a, y = *(const hs_addr *)b;
    return x < y ? -1 : x > y;
}

static hs_status walk_tables(struct hs_root_walk *walk, struct tables *tables)
{
    HS_TRY(add_linked(walk, tables));
    HS_TRY(add_plugin_tables(walk, tables));
    HS_TRY(add_registered(walk, tables));
    tables_unique(tables);
    for (size_t i = 0; i < tables->n; i++)
        HS_TRY(walk_table(walk, &tables->tables[i]));
    if (walk->roots->n_module_blocks != 0)
        qsort(walk->roots->module_blocks, walk->roots->n_module_blocks, sizeof(hs_addr), by_value);
    return HS_OK;
}

hs_status hs_ocaml_walk_globals(struct hs_root_walk *walk)
{
    struct tables tables = {0};
    hs_status status =
        hs_walk_is_copying(walk) ? add_registered(walk, &tables) : walk_tables(walk, &tables);
    hs_free(tables.tables);
    return status;
}
