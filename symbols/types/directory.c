/* .gdb_index and the lookup of names. */
#include "directory.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "directory_names.h"
#include "form.h"
#include "pool.h"

enum { GDB_MAX_UNITS = 1 << 12 }; /* of one name that are tried */

size_t hs_directory_unit_at_(const struct debug_info *info, uint64_t begin)
{
    size_t low = HS_FIRST_FROM(info->units, info->n_units, begin, begin);
    return low < info->n_units && info->units[low].begin == begin ? low : info->n_units;
}

uint64_t hs_directory_number_(struct debug_info *info, enum debug_section_number section,
                              uint64_t at, unsigned n_bytes)
{
    const struct elf_view *view = &info->sections[section];
    struct hs_cursor c = hs_cursor_make(view->bytes, view->n_bytes);
    if (at >= view->n_bytes)
        return UINT64_MAX;
    hs_debug_need_(info, section, at, n_bytes);
    hs_cursor_seek(&c, (size_t)at);
    uint64_t number = n_bytes == 8 ? hs_cursor_u64(&c) : hs_cursor_u32(&c);
    return c.failed ? UINT64_MAX : number;
}

void hs_directory_cover_(const struct debug_info *info, struct debug_directory *directory,
                         uint64_t begin)
{
    size_t unit = hs_directory_unit_at_(info, begin);
    if (unit < info->n_units)
        directory->covered[unit / 64] |= UINT64_C(1) << unit % 64;
}

bool hs_directory_covers_(const struct debug_directory *directory, size_t unit)
{
    return (directory->covered[unit / 64] >> unit % 64 & 1) != 0;
}

/* Replaces where a name stands by its hash; false when there is none that anybody asks for. */
static bool name_hash(struct debug_info *info, struct elf_view *strings, uint64_t at, uint32_t *ret)
{
    const char *text = hs_debug_text_at_(strings, at);
    if (text == NULL) {
        info->n_damaged++;
        return false;
    }
    if (strncmp(text, "_Z", 2) == 0 || *text == '\0') /* a linkage name */
        return false;
    /* Functions come as "f(int)"; "(anonymous namespace)::x" does not. */
    size_t n = strcspn(text, "(<");
    if (text[n] != '(' || n == 0 || text[n - 1] == ':')
        n = strlen(text);
    *ret = (uint32_t)(hs_ctypes_hash_(CTYPES_HASH_SEED, text, n) >> 32);
    hs_debug_trim_(info);
    return true;
}

static int name_order(const void *a, const void *b)
{
    const struct directory_name *m = a, *n = b;
    if (m->hash != n->hash)
        return m->hash < n->hash ? -1 : 1;
    return (m->at > n->at) - (m->at < n->at);
}

/* Hashes names in the order of the text: tables are in that of a hash, and text is read piece by
 * piece. */
void hs_directory_hash_(struct debug_info *info, struct debug_directory *directory, size_t first,
                        struct elf_view *strings, uint64_t base)
{
    size_t n = first;
    if (first < directory->n_names)
        qsort(directory->names + first, directory->n_names - first, sizeof(*directory->names),
              name_order);
    for (size_t i = first; i < directory->n_names && !hs_debug_is_spent_(info); i++) {
        struct directory_name name = directory->names[i];
        if (name_hash(info, strings, base + name.hash, &name.hash))
            directory->names[n++] = name;
    }
    directory->n_names = n;
}

hs_status hs_directory_add_(struct debug_info *info, struct debug_directory *directory,
                            uint64_t name, uint64_t at, struct hs_error *err)
{
    if (name > UINT32_MAX || at > UINT32_MAX) {
        info->n_damaged++;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&directory->names, &directory->names_capacity, directory->n_names + 1, err));
    directory->names[directory->n_names++] = (struct directory_name){(uint32_t)name, (uint32_t)at};
    return HS_OK;
}

struct gdb_header {
    uint64_t units, type_units, addresses, symbols, symbols_end, pool;
};

/* Sections of the index in this order, whole, one behind the other. */
static bool gdb_header_read(struct debug_info *info, struct gdb_header *ret)
{
    uint64_t n = info->sections[DEBUG_GDB_INDEX].n_bytes, field[7];
    for (unsigned i = 0; i < 7; i++)
        field[i] = hs_directory_number_(info, DEBUG_GDB_INDEX, 4 * i, 4);
    if (field[0] < 4 || field[0] > 9)
        return false;
    *ret = (struct gdb_header){field[1], field[2], field[3],
                               field[4], field[5], field[0] < 9 ? field[5] : field[6]};
    return ret->units <= ret->type_units && ret->type_units <= ret->addresses &&
           ret->addresses <= ret->symbols && ret->symbols <= ret->symbols_end &&
           ret->symbols_end <= ret->pool && ret->pool <= n && n <= UINT32_MAX;
}

static hs_status gdb_open(struct debug_info *info, struct debug_directory *directory,
                          struct hs_error *err)
{
    struct gdb_header head;
    if (!gdb_header_read(info, &head)) {
        info->n_damaged++;
        return HS_OK;
    }
    directory->units = head.units;
    directory->pool = head.pool;
    directory->n_units = (uint32_t)((head.type_units - head.units) / 16);
    for (uint32_t i = 0; i < directory->n_units; i++)
        hs_directory_cover_(
            info, directory,
            hs_directory_number_(info, DEBUG_GDB_INDEX, head.units + 16 * (uint64_t)i, 8));
    for (uint64_t at = head.symbols; at + 8 <= head.symbols_end && !hs_debug_is_spent_(info);
         at += 8) {
        uint64_t name = hs_directory_number_(info, DEBUG_GDB_INDEX, at, 4);
        uint64_t vector = hs_directory_number_(info, DEBUG_GDB_INDEX, at + 4, 4);
        if (name != 0 || vector != 0)
            HS_TRY(hs_directory_add_(info, directory, name, head.pool + vector, err));
        hs_debug_trim_(info);
    }
    hs_directory_hash_(info, directory, 0, &info->sections[DEBUG_GDB_INDEX], head.pool);
    directory->kind = DIRECTORY_GDB_INDEX;
    return HS_OK;
}

static bool gdb_units(struct debug_info *info, const struct debug_directory *directory, uint64_t at,
                      directory_visit *visit, void *context)
{
    uint64_t n = hs_directory_number_(info, DEBUG_GDB_INDEX, at, 4);
    for (uint64_t i = 1; i <= n && i <= GDB_MAX_UNITS; i++) {
        uint64_t number = hs_directory_number_(info, DEBUG_GDB_INDEX, at + 4 * i, 4);
        if (number == UINT64_MAX)
            return true;
        number &= 0xffffff; /* above: what kind of symbol */
        if (number >= directory->n_units)
            continue; /* a type unit */
        size_t unit = hs_directory_unit_at_(
            info, hs_directory_number_(info, DEBUG_GDB_INDEX, directory->units + 16 * number, 8));
        if (unit < info->n_units && !visit(context, unit))
            return false;
    }
    return true;
}

hs_status hs_directory_open_(struct debug_info *info, struct debug_directory *ret,
                             struct hs_error *err)
{
    struct debug_directory directory = {.kind = DIRECTORY_NONE};
    HS_TRY(HS_ALLOC(&directory.covered, info->n_units / 64 + 1, err));
    hs_status status = HS_OK;
    if (info->sections[DEBUG_GDB_INDEX].n_bytes > 0)
        status = gdb_open(info, &directory, err);
    if (status == HS_OK && directory.kind == DIRECTORY_NONE &&
        info->sections[DEBUG_NAMES].n_bytes > 0)
        status = hs_directory_names_open_(info, &directory, err);
    if (status != HS_OK) {
        hs_directory_close_(&directory);
        return status;
    }
    if (directory.n_names > 0)
        qsort(directory.names, directory.n_names, sizeof(*directory.names), name_order);
    *ret = directory;
    return HS_OK;
}

void hs_directory_close_(struct debug_directory *directory)
{
    hs_free(directory->names);
    hs_free(directory->tables);
    hs_free(directory->covered);
    *directory = (struct debug_directory){.kind = DIRECTORY_NONE};
}

struct directory_finding {
    struct debug_info *info;
    directory_visit *visit;
    void *context;
};

static bool finding_visit(void *context, uint64_t begin)
{
    const struct directory_finding *finding = context;
    size_t unit = hs_directory_unit_at_(finding->info, begin);
    return unit == finding->info->n_units || finding->visit(finding->context, unit);
}

void hs_directory_units_(struct debug_info *info, const struct debug_directory *directory,
                         uint64_t hash, directory_visit *visit, void *context)
{
    uint32_t wanted = (uint32_t)(hash >> 32);
    struct directory_finding finding = {info, visit, context};
    size_t low = HS_FIRST_NOT(at, 0, directory->n_names, directory->names[at].hash < wanted);
    bool goes_on = true;
    for (; goes_on && low < directory->n_names && directory->names[low].hash == wanted; low++) {
        uint64_t at = directory->names[low].at;
        goes_on = directory->kind == DIRECTORY_GDB_INDEX
                      ? gdb_units(info, directory, at, visit, context)
                      : hs_directory_names_units_(info, directory, at, finding_visit, &finding);
    }
}
