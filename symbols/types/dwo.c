#include "dwo.h"

#include <dwarf.h>
#include <string.h>

#include "form.h"

const char *const hs_dwo_names_[DWO_PARTS] = {
    [PACKAGE_INFO] = ".debug_info.dwo",
    [PACKAGE_ABBREV] = ".debug_abbrev.dwo",
    [PACKAGE_STR_OFFSETS] = ".debug_str_offsets.dwo",
    [PACKAGE_RNGLISTS] = ".debug_rnglists.dwo",
    [PACKAGE_LOCLISTS] = ".debug_loclists.dwo",
    [PACKAGE_LOC] = ".debug_loc.dwo",
    [PACKAGE_TYPES] = ".debug_types.dwo",
    [DWO_STR] = ".debug_str.dwo",
};

static uint32_t u32_at(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

uint64_t hs_dwo_claims_(struct hs_elf *elf)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < hs_elf_n_sections(elf); i++) {
        struct hs_elf_section section;
        bool is_part = false;
        if (!hs_elf_section(elf, i, &section) || !section.is_in_file)
            continue;
        for (size_t part = 0; part < DWO_PARTS && !is_part; part++)
            is_part = strcmp(section.name, hs_dwo_names_[part]) == 0;
        uint64_t n = is_part ? hs_elf_claimed_bytes_(elf, &section) : 0;
        sum = n > UINT64_MAX - sum ? UINT64_MAX : sum + n;
    }
    return sum;
}

hs_status hs_dwo_section_(struct hs_elf *elf, const char *name, const uint8_t **ret, size_t *ret_n,
                          struct hs_error *err)
{
    struct hs_error why = HS_ERROR_INIT;
    hs_status status = hs_elf_section_bytes_named(elf, name, ret, ret_n, &why);

    if (status == HS_OK)
        return HS_OK;
    *ret = NULL;
    *ret_n = 0;
    if (status == HS_LIMIT)
        *err = why;
    return status == HS_LIMIT ? HS_LIMIT : HS_OK;
}

hs_status hs_dwo_parts_(struct hs_elf *dwo, struct dwo_parts *ret, struct hs_error *err)
{
    *ret = (struct dwo_parts){.dwo = dwo};
    for (size_t i = 0; i < DWO_PARTS; i++)
        HS_TRY(hs_dwo_section_(dwo, hs_dwo_names_[i], &ret->bytes[i], &ret->n[i], err));
    return HS_OK;
}

bool hs_dwo_next_(const struct dwo_parts *parts, size_t part, size_t *at, const uint8_t **ret,
                  size_t *ret_n, hs_status *status, struct hs_error *err)
{
    struct hs_elf_section section;
    struct hs_error why = HS_ERROR_INIT;

    if (parts->dwo == NULL) {
        *ret = parts->bytes[part];
        *ret_n = parts->n[part];
        return (*at)++ == 0;
    }
    for (size_t n = hs_elf_n_sections(parts->dwo); *at < n; (*at)++) {
        if (!hs_elf_section(parts->dwo, *at, &section) ||
            strcmp(section.name, hs_dwo_names_[part]) != 0)
            continue;
        hs_status read = hs_elf_section_bytes(parts->dwo, *at, ret, ret_n, &why);
        if (read == HS_LIMIT) {
            *err = why;
            *status = HS_LIMIT;
            return false;
        }
        if (read == HS_OK)
            return (*at)++, true;
    }
    return false;
}

/* Reads the attributes of an abbreviation and, where `values` is given, of an entry that has it:
 * *ret is the number that a root has before DWARF 5, 0 when it has none. False when damaged. */
static bool read_attributes(struct hs_cursor *abbreviation, struct hs_cursor *values, uint64_t *ret)
{
    static const struct debug_unit old = {.version = 4, .n_offset_bytes = 4};
    struct debug_value value;

    *ret = 0;
    for (int i = 0; i < DEBUG_MAX_ATTRIBUTES && hs_form_next_(abbreviation, &value); i++) {
        if (values == NULL)
            continue;
        if (!hs_form_read_(values, &old, &value))
            return false;
        if (value.attribute == DW_AT_GNU_dwo_id)
            *ret = value.number;
    }
    return !abbreviation->failed;
}

/* Finds the number of a unit from before DWARF 5 by the abbreviation of its root. */
static bool old_unit_is_of(const struct dwo_parts *parts, const uint8_t *head, size_t n,
                           uint64_t id, struct hs_effort *effort)
{
    struct hs_cursor abbreviations =
        hs_cursor_make(parts->bytes[PACKAGE_ABBREV], parts->n[PACKAGE_ABBREV]);
    struct hs_cursor root = hs_cursor_make(head, n);
    uint64_t found;

    hs_cursor_seek(&root, DWO_OLD_UNIT_HEAD);
    uint64_t wanted = hs_cursor_varint(&root);
    if (root.failed || u32_at(head + 6) != 0 || head[10] != 8)
        return false;
    while (!abbreviations.failed) {
        size_t begin = abbreviations.at;
        uint64_t code = hs_cursor_varint(&abbreviations), tag = hs_cursor_varint(&abbreviations);
        hs_cursor_skip(&abbreviations, 1);
        if (abbreviations.failed || code == 0)
            return false;
        if (!read_attributes(&abbreviations, code == wanted ? &root : NULL, &found) ||
            !hs_effort_take(effort, abbreviations.at - begin))
            return false;
        if (code == wanted)
            return tag == DW_TAG_compile_unit && found == id;
    }
    return false;
}

/* Tells whether a unit, of at least u32_at(head) + 4 bytes, is the one with the number. */
static bool unit_is_of(const struct dwo_parts *parts, const uint8_t *head, size_t n, uint64_t id,
                       bool is_old, struct hs_effort *effort)
{
    uint64_t found;
    uint16_t version;

    memcpy(&version, head + 4, sizeof version);
    if (is_old)
        return version >= 2 && version < 5 && old_unit_is_of(parts, head, n, id, effort);
    if (version != 5 || n < DWO_UNIT_HEAD || head[6] != DW_UT_split_compile)
        return false;
    memcpy(&found, head + 12, sizeof found);
    return found == id;
}

hs_status hs_dwo_has_(const struct dwo_parts *parts, uint64_t id, bool is_old,
                      struct hs_effort *effort, bool *ret, struct hs_error *err)
{
    const uint8_t *bytes;
    size_t at = 0, n;
    hs_status status = HS_OK;

    *ret = false;
    while (parts->n[PACKAGE_ABBREV] != 0 && !*ret &&
           hs_dwo_next_(parts, PACKAGE_INFO, &at, &bytes, &n, &status, err))
        for (size_t i = 0; n - i >= DWO_OLD_UNIT_HEAD && u32_at(bytes + i) <= n - i - 4 && !*ret;
             i += 4 + (size_t)u32_at(bytes + i))
            *ret = u32_at(bytes + i) >= DWO_OLD_UNIT_HEAD - 4 &&
                   unit_is_of(parts, bytes + i, 4 + (size_t)u32_at(bytes + i), id, is_old, effort);
    return status;
}
