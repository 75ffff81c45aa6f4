#include "package.h"

#include <string.h>

#include "dwo.h"

/* A table is at most two thirds full: of a sound one a few steps find what is there. */
enum { PROBES_MOST = 1024 };
enum {
    INDEX_HEAD = 16,
    INDEX_MOST = 1 << 20,
    INDEX_COLUMNS = 16,
    INDEX_VERSION = 5,
    INDEX_OLD = 2
};

/* DW_SECT_...: DWARF 5, 7.3.5.3; by the version of the index. 0: there is none. */
static const uint32_t part_columns[PACKAGE_PARTS] = {
    [PACKAGE_INFO] = 1,     [PACKAGE_ABBREV] = 3,   [PACKAGE_STR_OFFSETS] = 6,
    [PACKAGE_RNGLISTS] = 8, [PACKAGE_LOCLISTS] = 5,
};
static const uint32_t old_part_columns[PACKAGE_PARTS] = {
    [PACKAGE_INFO] = 1,        [PACKAGE_TYPES] = 2, [PACKAGE_ABBREV] = 3,
    [PACKAGE_STR_OFFSETS] = 6, [PACKAGE_LOC] = 5,
};

static uint32_t u32_at(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static hs_status read_index(struct hs_elf *elf, const char *name, struct package_index *ret,
                            struct hs_error *err)
{
    const uint8_t *bytes;
    size_t n;

    *ret = (struct package_index){0};
    HS_TRY(hs_dwo_section_(elf, name, &bytes, &n, err));
    if (n < INDEX_HEAD)
        return HS_OK;
    struct package_index index = {.bytes = bytes,
                                  .version = u32_at(bytes) & UINT16_MAX,
                                  .n_columns = u32_at(bytes + 4),
                                  .n_rows = u32_at(bytes + 8),
                                  .n_slots = u32_at(bytes + 12)};
    bool is_known = index.version == INDEX_VERSION || u32_at(bytes) == INDEX_OLD;
    if (!is_known || index.n_columns > INDEX_COLUMNS || index.n_rows > INDEX_MOST ||
        index.n_slots > 2 * INDEX_MOST || (index.n_slots & (index.n_slots - 1)) != 0)
        return HS_OK;
    size_t table = (2 * index.n_rows + 1) * index.n_columns * 4;
    if (INDEX_HEAD + index.n_slots * 12 + table <= n)
        *ret = index;
    return HS_OK;
}

hs_status hs_package_read_(struct package *package, struct hs_error *err)
{
    if (package->elf == NULL)
        return HS_OK;
    for (size_t i = 0; i < PACKAGE_PARTS; i++)
        HS_TRY(hs_dwo_section_(package->elf, hs_dwo_names_[i], &package->bytes[i], &package->n[i],
                               err));
    HS_TRY(hs_dwo_section_(package->elf, hs_dwo_names_[DWO_STR], &package->strings,
                           &package->n_strings, err));
    HS_TRY(read_index(package->elf, ".debug_cu_index", &package->units, err));
    return read_index(package->elf, ".debug_tu_index", &package->types, err);
}

/* Finds row `row`, from 0; false when it leads out of the sections. */
static bool row_at(const struct package *package, const struct package_index *index, size_t row,
                   struct package_row *ret)
{
    const uint32_t *known = index->version == INDEX_OLD ? old_part_columns : part_columns;
    const uint8_t *columns = index->bytes + INDEX_HEAD + index->n_slots * 12;
    const uint8_t *at = columns + (1 + row) * index->n_columns * 4,
                  *n = at + index->n_rows * index->n_columns * 4;

    *ret = (struct package_row){0};
    for (size_t i = 0; i < index->n_columns; i++)
        for (size_t part = 0; part < PACKAGE_PARTS; part++) {
            if (known[part] == 0 || u32_at(columns + i * 4) != known[part])
                continue;
            ret->at[part] = u32_at(at + i * 4);
            ret->n[part] = u32_at(n + i * 4);
            if (ret->at[part] > package->n[part] || ret->n[part] > package->n[part] - ret->at[part])
                return false;
        }
    return true;
}

bool hs_package_find_(const struct package *package, uint64_t id, struct package_row *ret)
{
    const struct package_index *index = &package->units;
    uint64_t mask = index->n_slots - 1, slot = id & mask, step = ((id >> 32) & mask) | 1;

    for (size_t i = 0; index->bytes != NULL && i < index->n_slots && i < PROBES_MOST; i++) {
        const uint8_t *numbers = index->bytes + INDEX_HEAD;
        uint32_t row = u32_at(numbers + index->n_slots * 8 + slot * 4);
        uint64_t number;
        memcpy(&number, numbers + slot * 8, sizeof number);
        if (row == 0)
            return false;
        if (number == id)
            return row <= index->n_rows && row_at(package, index, row - 1, ret);
        slot = (slot + step) & mask;
    }
    return false;
}

bool hs_package_type_(const struct package *package, size_t number, struct package_row *ret)
{
    if (package->types.bytes == NULL || package->types.version != package->units.version ||
        number >= package->types.n_rows)
        return false;
    if (!row_at(package, &package->types, number, ret))
        *ret = (struct package_row){0};
    return true;
}
