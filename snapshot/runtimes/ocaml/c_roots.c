/* C global roots: three skip lists of addresses of C variables that hold a value.
 *
 *   caml_global_roots        caml_register_global_root               "plain"
 *   caml_global_roots_young  ..._generational_global_root, may be young  "generational, young"
 *   caml_global_roots_old    the same, in the major heap                 "generational, old"
 *
 *   list: forward[17], level       cell: key (address of the root), data, forward[0], ...
 *
 * Keys ascend strictly, so a list that does not is damaged and ends there.
 * Source: runtime/globroots.c, skiplist.c, callback.c (named values) of 4.13.1, 4.14.2,
 * 5.1.1, 5.2.0 and 5.3, which agree. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "object_lines.h"
#include "registrars.h"
#include "symbols/elf.h"
#include "v5/ocaml5.h"

enum {
    CELL_KEY = 0,
    CELL_FORWARD = 16,
    NAMED_NEXT = 8,
    NAMED_TEXT = 16,
    NAMED_BUCKETS = 13,
    NAME_BYTES = 200,
    WINDOW_BYTES = 1 << 15,
};

/* The most bytes of binaries that are searched, a few seconds' worth: programs have tens of named
 * values, not thousands. */
static const uint64_t max_searched = UINT64_C(1) << 33;

/* Roots registered by caml_register_named_value: by address. */
struct named {
    hs_addr key;
    hs_str label; /* 0: its text is not from a binary and is not told */
};

struct names {
    struct named *named; /* owned, ascending after names_collect */
    size_t n, capacity;
    struct hs_object_lines lines;
    struct hs_registrars registrars; /* found when the first root of malloc memory is named */
    bool has_registrars;
    hs_str heap_module;  /* group of roots in malloc memory */
    uint64_t n_searched; /* bytes of binaries, for texts of named values */
};

static void names_fini(struct names *names)
{
    hs_object_lines_fini(&names->lines);
    hs_free(names->named);
}

static bool is_printable(const char *text)
{
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        if (!isprint((unsigned char)*text))
            return false;
    }
    return true;
}

/* Searches a segment for a text, by windows that overlap by the text, its end included. */
static bool is_in_segment(struct hs_elf *elf, const struct hs_elf_segment *segment,
                          const char *text, size_t n_text)
{
    uint8_t window[WINDOW_BYTES];
    size_t n_bytes = n_text;

    for (uint64_t at = 0; n_bytes >= n_text && at < segment->n_file_bytes;
         at += n_bytes - n_text + 1) {
        uint64_t n = segment->n_file_bytes - at;
        n_bytes = hs_elf_copy_at(elf, segment->vaddr + at, window,
                                 n < sizeof window ? (size_t)n : sizeof window);
        if (memmem(window, n_bytes, text, n_text) != NULL)
            return true;
    }
    return false;
}

/* Tells whether a mapped file holds this text. Only then may it enter the snapshot: what lies in
 * malloc memory is the program's data. */
static bool is_in_binaries(struct names *names, const struct hs_objects *objects, const char *text)
{
    for (size_t i = 0; i < objects->n; i++) {
        size_t n_segments;
        const struct hs_elf_segment *s = hs_elf_segments(objects->objects[i].elf, &n_segments);
        for (size_t k = 0; k < n_segments; k++) {
            if (s[k].executable || s[k].n_file_bytes == 0)
                continue;
            if (s[k].n_file_bytes > max_searched - names->n_searched)
                return false;
            names->n_searched += s[k].n_file_bytes;
            if (is_in_segment(objects->objects[i].elf, &s[k], text, strlen(text) + 1))
                return true;
        }
    }
    return false;
}

static hs_status names_add(struct hs_root_walk *walk, struct names *names, hs_addr cell)
{
    char text[NAME_BYTES];
    struct named named = {.key = cell};
    if (!hs_walk_is_copying(walk) &&
        hs_image_string(walk->rt->image, cell + NAMED_TEXT, text, sizeof text) &&
        is_printable(text) && is_in_binaries(names, walk->rt->objects, text))
        HS_TRY(hs_walk_name(walk, &named.label, "caml_register_named_value \"%s\"", text));
    HS_TRY(HS_GROW(&names->named, &names->capacity, names->n + 1, walk->err));
    names->named[names->n++] = named;
    return HS_OK;
}

static int by_key(const void *a, const void *b)
{
    const struct named *x = a, *y = b;
    return x->key < y->key ? -1 : x->key > y->key;
}

static hs_status names_collect(struct hs_root_walk *walk, struct names *names)
{
    hs_addr table = walk->roots->stops->statics.named_values;
    for (unsigned bucket = 0; table != 0 && bucket < NAMED_BUCKETS; bucket++) {
        struct hs_cycle cycle = {0};
        uint64_t cell = 0, next;
        if (!hs_walk_u64(walk, table + bucket * HS_WORD, &cell))
            continue;
        for (; !hs_walk_list_ends(walk, &cycle, cell); cell = next) {
            hs_walk_need(walk, cell, NAMED_TEXT + NAME_BYTES);
            if (!hs_walk_u64(walk, cell + NAMED_NEXT, &next))
                break;
            HS_TRY(names_add(walk, names, cell));
        }
    }
    if (names->n != 0)
        qsort(names->named, names->n, sizeof *names->named, by_key);
    return HS_OK;
}

static const struct named *names_find(const struct names *names, hs_addr key)
{
    const struct named wanted = {.key = key};
    return names->n == 0 ? NULL : bsearch(&wanted, names->named, names->n, sizeof wanted, by_key);
}

/* Names a root's variable and place by DWARF, when the object has it. A failure to open is no
 * failure. */
static hs_status name_by_dwarf(struct hs_root_walk *walk, struct names *names,
                               const struct hs_object *object, struct hs_root *root)
{
    struct hs_lines *lines = hs_object_lines_of(&names->lines, object);
    if (lines == NULL)
        return HS_OK;
    struct hs_source source = hs_lines_find_variable(lines, root->address - object->bias);
    if (source.name[0] == '\0')
        return HS_OK;
    root->line = source.line;
    HS_TRY(hs_strtab_add(walk->rt->strings, source.file, &root->file, walk->err));
    return hs_strtab_add(walk->rt->strings, source.name, &root->name, walk->err);
}

/* Finds the symbol that holds an address. The nearest one below it would mislead: a C static of a
 * stripped program lies after a variable that kept its name and is none of its. */
static const struct hs_elf_symbol *symbol_around(const struct hs_object *object, hs_addr address)
{
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(object->elf, &n);
    hs_addr vaddr = address - object->bias;
    size_t low = HS_FIRST_ABOVE(symbols, n, vaddr, vaddr);
    if (low == 0 || hs_elf_segment_at(object->elf, symbols[low - 1].vaddr) !=
                        hs_elf_segment_at(object->elf, vaddr))
        return NULL;
    hs_addr nearest = symbols[low - 1].vaddr;
    while (low > 1 && symbols[low - 2].vaddr == nearest)
        low--; /* global ones come first */
    return vaddr - nearest < symbols[low - 1].n_bytes || vaddr == nearest ? &symbols[low - 1]
                                                                          : NULL;
}

static hs_status name_by_object(struct hs_root_walk *walk, struct names *names,
                                const struct hs_object *object, struct hs_root *root)
{
    const struct hs_elf_symbol *symbol = symbol_around(object, root->address);
    struct hs_elf_section section;
    HS_TRY(hs_strtab_add(walk->rt->strings, object->name, &root->module, walk->err));
    if (symbol != NULL) {
        root->offset = root->address - object->bias - symbol->vaddr;
        HS_TRY(hs_strtab_add(walk->rt->strings, symbol->name, &root->symbol, walk->err));
        if (root->offset == 0)
            root->name = root->symbol;
        else
            HS_TRY(hs_walk_name(walk, &root->name, "%s+%llu", symbol->name,
                                (unsigned long long)root->offset));
    } else if (hs_elf_section_at(object->elf, root->address - object->bias, &section)) {
        root->offset = root->address - object->bias - section.vaddr;
        HS_TRY(hs_walk_name(walk, &root->symbol, "%.255s", section.name));
        HS_TRY(hs_walk_name(walk, &root->name, "%.255s+0x%llx", section.name,
                            (unsigned long long)root->offset));
    } else {
        HS_TRY(hs_walk_name(walk, &root->name, "%s+0x%llx", object->name,
                            (unsigned long long)(root->address - object->begin)));
    }
    return name_by_dwarf(walk, names, object, root);
}

/* Names a root in memory of malloc, by those who register such roots where that can be told. */
static hs_status name_in_heap(struct hs_root_walk *walk, struct names *names, bool is_plain,
                              struct hs_root *root)
{
    if (!names->has_registrars)
        HS_TRY(hs_registrars_find(walk->rt, &names->lines, &names->registrars, walk->err));
    names->has_registrars = true;
    const struct hs_registrar *by =
        is_plain ? &names->registrars.plain : &names->registrars.generational;
    if (by->name == 0)
        return hs_walk_name(walk, &root->name, "C root in malloc memory at 0x%llx",
                            (unsigned long long)root->address);
    root->function = by->function;
    root->file = by->file;
    root->line = by->line;
    return hs_walk_name(walk, &root->name, "C root registered by %s at 0x%llx",
                        hs_strtab_get(walk->rt->strings, by->name),
                        (unsigned long long)root->address);
}

static hs_status name_root(struct hs_root_walk *walk, struct names *names, bool is_plain,
                           struct hs_root_leaf *leaf)
{
    struct hs_root *root = &leaf->root;
    const struct hs_object *object = hs_objects_object_at(walk->rt->objects, root->address);
    if (object != NULL) {
        HS_TRY(name_by_object(walk, names, object, root));
        leaf->group_module = root->module;
        return HS_OK;
    }
    leaf->group_module = names->heap_module;
    if (walk->rt->five == NULL && root->address == walk->rt->state + HS_STATE_LAST_EXN * HS_WORD)
        return hs_walk_name(walk, &root->name, "Caml_state->backtrace_last_exn");
    const struct named *named = names_find(names, root->address);
    if (named == NULL)
        return name_in_heap(walk, names, is_plain, root);
    if (named->label != 0)
        root->name = named->label;
    else
        HS_TRY(hs_walk_name(walk, &root->name, "caml_register_named_value at 0x%llx",
                            (unsigned long long)root->address));
    return HS_OK;
}

static hs_status add_cell(struct hs_root_walk *walk, hs_addr cell)
{
    struct hs_ocaml_roots *roots = walk->roots;
    HS_TRY(HS_GROW(&roots->cells, &roots->cells_capacity, roots->n_cells + 1, walk->err));
    roots->cells[roots->n_cells++] = cell;
    return HS_OK;
}

static int by_address(const void *a, const void *b)
{
    const hs_addr *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static hs_status walk_list(struct hs_root_walk *walk, struct names *names, const char *list,
                           const char *unit)
{
    struct hs_live_symbol symbol;
    if (!hs_objects_find(walk->rt->objects, list, &symbol)) {
        if (hs_walk_is_copying(walk))
            return HS_OK;
        return hs_findings_note(&walk->rt->findings, true, walk->err,
                                "C global roots were not scanned: no symbol %s", list);
    }
    struct hs_root_leaf leaf = hs_walk_leaf(HS_ROOT_C_ROOT);
    bool is_plain = strcmp(unit, "plain") == 0;
    const struct hs_root blank = leaf.root;
    uint64_t cell, key, value, previous = 0;
    HS_TRY(hs_strtab_add(walk->rt->strings, unit, &leaf.group_unit, walk->err));
    for (bool more = hs_walk_u64(walk, symbol.address, &cell); more && cell != 0;
         more = hs_walk_u64(walk, cell + CELL_FORWARD, &cell)) {
        if (!hs_walk_u64(walk, cell + CELL_KEY, &key))
            break;
        if (key <= previous) {
            walk->n_damaged++;
            break;
        }
        previous = key;
        if (!hs_walk_is_copying(walk))
            HS_TRY(add_cell(walk, cell));
        if (!hs_walk_u64(walk, key, &value) || hs_walk_is_copying(walk) ||
            !hs_block_of_value(walk->blocks, value, &leaf.target))
            continue;
        if (walk->rt->five != NULL && hs_ocaml5_is_domain_root(walk->rt->five, key))
            continue;
        leaf.root = blank;
        leaf.root.address = key;
        HS_TRY(name_root(walk, names, is_plain, &leaf));
        HS_TRY(hs_roots_add(&walk->roots->roots, &leaf, walk->err));
    }
    return HS_OK;
}

static hs_status walk_lists(struct hs_root_walk *walk, struct names *names)
{
    HS_TRY(hs_object_lines_init(&names->lines, walk->rt->objects, walk->err));
    HS_TRY(hs_strtab_add(walk->rt->strings, "malloc memory", &names->heap_module, walk->err));
    HS_TRY(names_collect(walk, names));
    HS_TRY(walk_list(walk, names, "caml_global_roots", "plain"));
    HS_TRY(walk_list(walk, names, "caml_global_roots_young", "generational, young"));
    HS_TRY(walk_list(walk, names, "caml_global_roots_old", "generational, old"));
    if (walk->roots->n_cells > 1)
        qsort(walk->roots->cells, walk->roots->n_cells, sizeof(hs_addr), by_address);
    return HS_OK;
}

hs_status hs_ocaml_walk_c_roots(struct hs_root_walk *walk)
{
    struct names names = {0};
    hs_status status = walk_lists(walk, &names);
    names_fini(&names);
    return status;
}
