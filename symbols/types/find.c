/* Names and addresses to entries: what is indexed already, then the units that a directory of the
 * file names, then all. */
#include <string.h>

#include "pool.h"
#include "symbols/demangle.h"

enum {
    FIND_MAX_UNITS = 64,    /* looked into for one variable */
    FIND_UNITS_SHARE = 16,  /* one unit of so many is looked into singly, then all at once */
    FIND_MAX_SYMBOL = 4096, /* bytes of a readable name */
};

/* Returns the begin of the last part of a qualified name. */
static size_t last_part(const char *text, size_t n_bytes)
{
    size_t begin = 0;
    unsigned depth = 0;
    for (size_t i = 0; i < n_bytes; i++) {
        if (strchr("<([", text[i]) != NULL && text[i] != '\0')
            depth++;
        else if (depth > 0 && strchr(">)]", text[i]) != NULL && text[i] != '\0')
            depth--;
        else if (depth == 0 && text[i] == ':' && i + 1 < n_bytes && text[i + 1] == ':')
            begin = i + 2;
    }
    return begin < n_bytes ? begin : 0;
}

struct ctypes_wanted hs_ctypes_wanted_(const char *text, size_t n_bytes)
{
    size_t last = last_part(text, n_bytes);
    return (struct ctypes_wanted){hs_ctypes_hash_(CTYPES_HASH_SEED, text, n_bytes),
                                  hs_ctypes_hash_(CTYPES_HASH_SEED, text + last, n_bytes - last)};
}

/* The file's directory; NULL when there is none. Units that it does not tell of are indexed. */
static struct debug_directory *find_directory(struct hs_ctypes *types, hs_type_file number)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    struct hs_error err = HS_ERROR_INIT;
    if (file->is_indexed)
        return NULL;
    if (!file->has_directory) {
        if (hs_directory_open_(&file->info, &file->directory, &err) != HS_OK) {
            hs_ctypes_out_(types);
            return NULL;
        }
        file->has_directory = true;
        for (size_t i = 0; file->directory.kind != DIRECTORY_NONE && i < file->info.n_units; i++)
            if (!hs_directory_covers_(&file->directory, i))
                hs_ctypes_index_unit_(types, number, i);
    }
    return file->directory.kind == DIRECTORY_NONE ? NULL : &file->directory;
}

static uint64_t directory_hash(const struct debug_directory *directory,
                               const struct ctypes_wanted *wanted)
{
    return directory->kind == DIRECTORY_GDB_INDEX ? wanted->whole : wanted->last;
}

struct find_name {
    struct hs_ctypes *types;
    hs_type_file number;
    uint64_t hash;
    hs_die typedefs, record;
};

static bool find_look(struct find_name *find)
{
    bool is_typedef = false;
    hs_die die =
        hs_ctypes_indexed_(hs_ctypes_file_(find->types, find->number), find->hash, &is_typedef);
    if (die != 0 && is_typedef)
        find->typedefs = die;
    else
        find->record = die;
    return find->record != 0;
}

static bool find_name_unit(void *context, size_t unit)
{
    struct find_name *find = context;
    return !hs_ctypes_index_unit_(find->types, find->number, unit) || !find_look(find);
}

hs_die hs_ctypes_named_(struct hs_ctypes *types, hs_type_file number,
                        const struct ctypes_wanted *wanted)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    struct find_name find = {.types = types, .number = number, .hash = wanted->whole};
    if (file == NULL)
        return 0;
    if (find_look(&find))
        return find.record;
    const struct debug_directory *directory = find_directory(types, number);
    if (directory == NULL)
        hs_ctypes_index_(types, number);
    else if (!find_look(&find))
        hs_directory_units_(&file->info, directory, directory_hash(directory, wanted),
                            find_name_unit, &find);
    (void)find_look(&find);
    return find.record != 0 ? find.record : find.typedefs;
}

struct find_variable {
    struct hs_ctypes *types;
    hs_type_file number;
    unsigned n_units;
    bool did_some;
};

static bool find_variable_unit(void *context, size_t unit)
{
    struct find_variable *find = context;
    find->did_some |= hs_ctypes_index_unit_(find->types, find->number, unit);
    return ++find->n_units < FIND_MAX_UNITS;
}

static unsigned find_text(struct find_variable *find, const struct debug_directory *directory,
                          const char *text, size_t n_bytes)
{
    struct ctypes_wanted wanted = hs_ctypes_wanted_(text, n_bytes);
    find->n_units = 0;
    if (n_bytes > 0)
        hs_directory_units_(&hs_ctypes_file_(find->types, find->number)->info, directory,
                            directory_hash(directory, &wanted), find_variable_unit, find);
    return find->n_units;
}

/* Tells whether a symbol is made by compilers and has no place in the source: tables of classes,
 * guards. */
static bool symbol_is_made(const char *name)
{
    return strncmp(name, "_ZT", 3) == 0 || strncmp(name, "_ZG", 3) == 0;
}

/* Indexes the units that tell of what a symbol names: "ns::x", "x.0" (a static of a C function),
 * "f.x" (the same by clang), "ns::f()::x". */
static void find_symbol(struct find_variable *find, const struct debug_directory *directory,
                        const char *symbol)
{
    char text[FIND_MAX_SYMBOL];
    size_t n = hs_demangle(symbol, text, sizeof(text));
    unsigned n_units = find_text(find, directory, text, n);
    size_t n_head = strcspn(text, "."), last = last_part(text, n);
    if (n_units == 0 && n_head < n)
        n_units = find_text(find, directory, text, n_head);
    if (n_units == 0 && last > 2) {
        n_head = last - 2;
        if (n_head > 2 && memcmp(text + n_head - 2, "()", 2) == 0)
            n_head -= 2;
        (void)find_text(find, directory, text, n_head);
    }
}

bool hs_ctypes_index_for_(struct hs_ctypes *types, hs_type_file number,
                          const struct hs_elf_symbol *symbol)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    const struct debug_directory *directory = find_directory(types, number);
    struct find_variable find = {.types = types, .number = number};
    if (file->is_indexed)
        return false;
    if (directory != NULL && symbol != NULL && symbol_is_made(symbol->name))
        return false;
    if (directory != NULL && symbol != NULL &&
        ++file->n_asked <= FIND_MAX_UNITS + file->info.n_units / FIND_UNITS_SHARE)
        find_symbol(&find, directory, symbol->name);
    if (!find.did_some)
        hs_ctypes_index_(types, number);
    return true;
}
