/* The merging of .dwo files (-gsplit-dwarf, DWARF 5, 3.1.2 and 7.3.2; before it as GNU's
 * DebugFission has it): they are put behind the sections of the file that has the skeletons of its
 * units, as one ELF file in memory. Of each .dwo:
 *
 *     .debug_info.dwo, .debug_types.dwo
 *                             appended; of its units the place of their abbreviations is moved
 *     .debug_abbrev.dwo       copied; what describes the root of a unit gets constants that say
 *                             where its addresses, strings and lists are, which the skeleton has
 *     .debug_str_offsets.dwo  appended; each offset is moved by what is before the strings
 *     the others              appended
 *
 * Before DWARF 5 the lists of places have a form of their own, and begin where .debug_loc.dwo does:
 * the root gets DW_AT_loclists_base, which such a unit has from nobody else (units.c).
 *
 * A .dwp (package.c) has the parts of many files, and their strings together.
 *
 * A file is used when its unit has the number that the skeleton has (DWO id): it is of one build.
 * All of it is hostile: what is not as it should be is left out, whole. */
#include <dwarf.h>
#include <elf.h>
#include <string.h>

#include "arch/processor.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "dwo.h"
#include "entry.h"
#include "symbols/split.h"

enum {
    MERGE_FILES = 1 << 14,
    MERGE_SECTIONS = 13,
    MERGE_LIST_HEAD = 12,    /* of the lists of a split unit of DWARF 5 */
    MERGE_OFFSETS_HEAD = 8,  /* of its offsets of strings; before it there is none */
    MERGE_ROOT_BYTES = 96,   /* what is added to an abbreviation, at the most */
    MERGE_ATTRIBUTES = 1024, /* of one */
};

enum merge_section {
    M_INFO = PACKAGE_INFO,
    M_ABBREV = PACKAGE_ABBREV,
    M_STR_OFFSETS = PACKAGE_STR_OFFSETS,
    M_RNGLISTS = PACKAGE_RNGLISTS,
    M_LOCLISTS = PACKAGE_LOCLISTS,
    M_LOC = PACKAGE_LOC,
    M_TYPES = PACKAGE_TYPES,
    M_STR = DWO_STR,
    M_OTHERS
};

static const char *const merge_names[MERGE_SECTIONS] = {
    [M_INFO] = ".debug_info",
    [M_ABBREV] = ".debug_abbrev",
    [M_STR] = ".debug_str",
    [M_STR_OFFSETS] = ".debug_str_offsets",
    [M_RNGLISTS] = ".debug_rnglists",
    [M_LOCLISTS] = ".debug_loclists",
    [M_LOC] = ".debug_loc",
    [M_TYPES] = ".debug_types",
    [M_OTHERS] = ".debug_addr",
    ".debug_line",
    ".debug_line_str",
    ".debug_aranges",
    ".debug_ranges",
};

struct merge {
    struct hs_elf *elf; /* borrowed: has the skeletons */
    const struct hs_split_places *places;
    uint64_t left_bytes; /* that may be taken */
    uint64_t left_vain;  /* that may be read of files which are not used */
    struct hs_buffer sections[MERGE_SECTIONS];
    struct hs_split_found *found;
    struct package package;
    bool package_is_tried, has_strings; /* its strings are here, from strings_at on */
    uint64_t strings_at;
    struct hs_dict tables; /* by the place of abbreviations in the package: which unit's, from 1 */
    struct merge_table {
        uint64_t at, str_offsets; /* here; those of its strings, in the package */
        bool is_old;
    } * made; /* owned */
    size_t n_made, made_capacity;
};

static uint32_t u32_at(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static void put_u32_at(uint8_t *bytes, uint32_t value)
{
    memcpy(bytes, &value, sizeof value);
}

static hs_status append(struct merge *m, size_t section, const uint8_t *bytes, size_t n,
                        struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(&m->sections[section], n, err));
    hs_buffer_put_bytes(&m->sections[section], bytes, n);
    m->left_bytes -= n < m->left_bytes ? n : m->left_bytes;
    return HS_OK;
}

/* The unit that a skeleton stands for, and the begin of its parts in the merged sections. */
struct merge_unit {
    uint64_t id, low, addr_base, ranges_base, line_at;
    bool has_lines, is_old; /* from before DWARF 5 */
    uint64_t begin[M_OTHERS];
};

static void put_sleb(struct hs_buffer *b, uint64_t value)
{
    while (value >= 0x40) {
        hs_buffer_put_u8(b, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    hs_buffer_put_u8(b, (uint8_t)value);
}

static void put_constant(struct hs_buffer *b, uint16_t attribute, uint64_t value)
{
    hs_buffer_put_varint(b, attribute);
    hs_buffer_put_varint(b, DW_FORM_implicit_const);
    put_sleb(b, value);
}

static void put_root(struct hs_buffer *b, const struct merge_unit *unit, uint64_t tag)
{
    put_constant(b, DW_AT_str_offsets_base,
                 unit->begin[M_STR_OFFSETS] + (unit->is_old ? 0 : MERGE_OFFSETS_HEAD));
    put_constant(b, DW_AT_addr_base, unit->addr_base);
    if (unit->is_old) {
        put_constant(b, DW_AT_GNU_ranges_base, unit->ranges_base);
        put_constant(b, DW_AT_loclists_base, unit->begin[M_LOC]);
    } else {
        put_constant(b, DW_AT_rnglists_base, unit->begin[M_RNGLISTS] + MERGE_LIST_HEAD);
        put_constant(b, DW_AT_loclists_base, unit->begin[M_LOCLISTS] + MERGE_LIST_HEAD);
    }
    if (tag == DW_TAG_compile_unit && unit->low != 0)
        put_constant(b, DW_AT_low_pc, unit->low);
    if (unit->has_lines)
        put_constant(b, DW_AT_stmt_list, unit->line_at);
}

/* Copies one abbreviation, with more where it is of a root; false when damaged. */
static bool copy_abbreviation(struct hs_cursor *c, const struct merge_unit *unit,
                              struct hs_buffer *b)
{
    size_t begin = c->at;
    uint64_t tag = hs_cursor_varint(c);
    hs_cursor_skip(c, 1);
    for (int i = 0; i < MERGE_ATTRIBUTES; i++) {
        size_t at = c->at;
        uint64_t attribute = hs_cursor_varint(c), form = hs_cursor_varint(c);
        if (c->failed)
            return false;
        if (attribute == 0 && form == 0) {
            hs_buffer_put_bytes(b, c->bytes + begin, at - begin);
            if (tag == DW_TAG_compile_unit || tag == DW_TAG_type_unit)
                put_root(b, unit, tag);
            hs_buffer_put_bytes(b, c->bytes + at, c->at - at);
            return true;
        }
        if (form == DW_FORM_implicit_const)
            (void)hs_cursor_varint(c); /* of a signed number: as long */
    }
    return false;
}

static hs_status copy_abbreviations(struct merge *m, const struct dwo_parts *parts,
                                    const struct merge_unit *unit, bool *ret_is_sound,
                                    struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(parts->bytes[M_ABBREV], parts->n[M_ABBREV]);
    struct hs_buffer *b = &m->sections[M_ABBREV];

    *ret_is_sound = false;
    HS_TRY(hs_buffer_reserve(b, parts->n[M_ABBREV] + MERGE_ROOT_BYTES, err));
    for (;;) {
        size_t at = c.at;
        uint64_t code = hs_cursor_varint(&c);
        if (c.failed)
            return HS_OK;
        HS_TRY(
            hs_buffer_reserve(b, hs_cursor_left(&c) + MERGE_ROOT_BYTES + HS_VARINT_MAX_BYTES, err));
        hs_buffer_put_bytes(b, c.bytes + at, c.at - at);
        if (code == 0)
            break;
        if (!copy_abbreviation(&c, unit, b))
            return HS_OK;
    }
    *ret_is_sound = true;
    return HS_OK;
}

/* Moves the units of a .dwo, all of which have one table of abbreviations, at its beginning. */
static bool move_units(uint8_t *bytes, size_t n, const struct merge_unit *unit)
{
    size_t n_head = unit->is_old ? DWO_OLD_UNIT_HEAD : DWO_UNIT_HEAD, place = unit->is_old ? 6 : 8;

    for (size_t at = 0; at < n;) {
        if (n - at < n_head || u32_at(bytes + at) > n - at - 4 || u32_at(bytes + at) < n_head - 4 ||
            u32_at(bytes + at + place) != 0 || (bytes[at + 4] < 5) != unit->is_old)
            return false;
        put_u32_at(bytes + at + place, (uint32_t)unit->begin[M_ABBREV]);
        if (!unit->is_old && bytes[at + 6] == DW_UT_split_type)
            bytes[at + 6] = DW_UT_type;
        at += 4 + u32_at(bytes + at);
    }
    return true;
}

static void move_strings(uint8_t *bytes, size_t n, const struct merge_unit *unit,
                         uint64_t strings_at)
{
    for (size_t at = unit->is_old ? 0 : MERGE_OFFSETS_HEAD; at + 4 <= n; at += 4)
        put_u32_at(bytes + at, u32_at(bytes + at) + (uint32_t)strings_at);
}

/* Merges the units of these parts that are in M_INFO or M_TYPES; *ret_is_sound is false when
 * something is wrong with them. */
static hs_status merge_units_of(struct merge *m, const struct dwo_parts *parts, size_t part,
                                const struct merge_unit *unit, bool *ret_is_sound,
                                struct hs_error *err)
{
    struct hs_buffer *section = &m->sections[part];
    const uint8_t *bytes;
    size_t at = 0, n;
    hs_status status = HS_OK;

    while (*ret_is_sound && hs_dwo_next_(parts, part, &at, &bytes, &n, &status, err)) {
        uint64_t begin = section->n_bytes;
        *ret_is_sound = n <= m->left_bytes && begin + n < UINT32_MAX;
        if (!*ret_is_sound)
            break;
        HS_TRY(append(m, part, bytes, n, err));
        *ret_is_sound = move_units(section->bytes + begin, n, unit);
    }
    return status;
}

/* Merges all units, or none. */
static hs_status merge_units(struct merge *m, const struct dwo_parts *parts,
                             const struct merge_unit *unit, bool *ret_is_sound,
                             struct hs_error *err)
{
    size_t n_info = m->sections[M_INFO].n_bytes, n_types = m->sections[M_TYPES].n_bytes;

    *ret_is_sound = true;
    HS_TRY(merge_units_of(m, parts, M_INFO, unit, ret_is_sound, err));
    if (unit->is_old)
        HS_TRY(merge_units_of(m, parts, M_TYPES, unit, ret_is_sound, err));
    if (!*ret_is_sound) {
        m->sections[M_INFO].n_bytes = n_info;
        m->sections[M_TYPES].n_bytes = n_types;
    }
    return HS_OK;
}

/* The strings of a package, once. */
static hs_status merge_strings(struct merge *m, struct hs_error *err)
{
    if (m->has_strings)
        return HS_OK;
    m->has_strings = true;
    m->strings_at = m->sections[M_STR].n_bytes;
    return append(m, M_STR, m->package.strings, m->package.n_strings, err);
}

/* Notes the abbreviations of the package that are here, for its units of types. */
static hs_status note_table(struct merge *m, const struct package_row *row,
                            const struct merge_unit *unit, struct hs_error *err)
{
    HS_TRY(HS_GROW(&m->made, &m->made_capacity, m->n_made + 1, err));
    m->made[m->n_made++] =
        (struct merge_table){unit->begin[M_ABBREV], row->at[PACKAGE_STR_OFFSETS], unit->is_old};
    return hs_dict_put(&m->tables, row->at[PACKAGE_ABBREV], m->n_made, err);
}

static bool has_room(const struct merge *m, const struct dwo_parts *parts, struct merge_unit *unit)
{
    uint64_t n_bytes = MERGE_ROOT_BYTES + (m->has_strings ? 0 : m->package.n_strings);

    for (size_t i = 0; i < M_OTHERS; i++) {
        unit->begin[i] = m->sections[i].n_bytes;
        n_bytes += parts->n[i];
        if (unit->begin[i] + parts->n[i] + m->package.n_strings + MERGE_ROOT_BYTES > UINT32_MAX)
            return false;
    }
    return n_bytes <= m->left_bytes;
}

static hs_status merge_parts(struct merge *m, const struct dwo_parts *parts,
                             struct merge_unit *unit, bool *ret, struct hs_error *err)
{
    bool is_sound;

    *ret = false;
    if (!has_room(m, parts, unit))
        return HS_OK;
    HS_TRY(copy_abbreviations(m, parts, unit, &is_sound, err));
    if (is_sound)
        HS_TRY(merge_units(m, parts, unit, &is_sound, err));
    if (!is_sound) {
        m->sections[M_ABBREV].n_bytes = unit->begin[M_ABBREV];
        return HS_OK;
    }
    if (parts->dwo == NULL)
        HS_TRY(merge_strings(m, err));
    for (size_t i = 0; i < M_OTHERS; i++)
        if (i != M_INFO && i != M_TYPES && i != M_ABBREV)
            HS_TRY(append(m, i, parts->bytes[i], parts->n[i], err));
    move_strings(m->sections[M_STR_OFFSETS].bytes + unit->begin[M_STR_OFFSETS],
                 parts->n[M_STR_OFFSETS], unit,
                 parts->dwo == NULL ? m->strings_at : unit->begin[M_STR]);
    *ret = true;
    return HS_OK;
}

static void parts_of_row(const struct merge *m, const struct package_row *row,
                         struct dwo_parts *ret)
{
    *ret = (struct dwo_parts){0};
    for (size_t i = 0; i < PACKAGE_PARTS; i++) {
        ret->bytes[i] = m->package.bytes[i] + row->at[i];
        ret->n[i] = row->n[i];
    }
}

/* Tells whether what a file claims may be read; of one that is not used it counts as in vain. */
static bool may_read(const struct merge *m, struct hs_elf *elf, uint64_t *ret_claims)
{
    *ret_claims = hs_dwo_claims_(elf);
    return *ret_claims <= m->left_bytes && *ret_claims <= m->left_vain && *ret_claims <= INT32_MAX;
}

static hs_status open_package(struct merge *m, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t claims;

    if (m->package_is_tried || m->places->open_package == NULL)
        return HS_OK;
    m->package_is_tried = true;
    hs_status status = m->places->open_package(m->places->context, &m->package.elf, &ignored);
    if (status == HS_LIMIT)
        *err = ignored;
    if (status != HS_OK || m->package.elf == NULL)
        return status == HS_LIMIT ? HS_LIMIT : HS_OK;
    return may_read(m, m->package.elf, &claims) ? hs_package_read_(&m->package, err) : HS_OK;
}

/* The unit out of the package; *ret, whether it is there. */
static hs_status merge_packaged(struct merge *m, struct merge_unit *unit, bool *ret,
                                struct hs_error *err)
{
    struct package_row row;
    struct dwo_parts parts;

    *ret = false;
    HS_TRY(open_package(m, err));
    if ((m->package.units.version < 5) != unit->is_old ||
        !hs_package_find_(&m->package, unit->id, &row))
        return HS_OK;
    parts_of_row(m, &row, &parts);
    HS_TRY(hs_dwo_has_(&parts, unit->id, unit->is_old, hs_elf_effort_(m->elf), ret, err));
    if (*ret)
        HS_TRY(merge_parts(m, &parts, unit, ret, err));
    m->found->n_packaged += *ret;
    return *ret ? note_table(m, &row, unit, err) : HS_OK;
}

/* The units of types of the package that go with what was taken out of it. */
static hs_status merge_packaged_types(struct merge *m, struct hs_error *err)
{
    struct package_row row;

    for (size_t i = 0; m->n_made != 0 && hs_package_type_(&m->package, i, &row); i++) {
        uint64_t number = hs_dict_get(&m->tables, row.at[PACKAGE_ABBREV], 0);
        const struct merge_table *table = number != 0 ? &m->made[number - 1] : NULL;
        struct dwo_parts parts;
        bool is_sound;
        if (table == NULL || table->str_offsets != row.at[PACKAGE_STR_OFFSETS])
            continue;
        struct merge_unit unit = {.begin[M_ABBREV] = table->at, .is_old = table->is_old};
        parts_of_row(m, &row, &parts);
        HS_TRY(merge_units(m, &parts, &unit, &is_sound, err));
    }
    return HS_OK;
}

static hs_status merge_opened(struct merge *m, struct hs_elf *dwo, struct merge_unit *unit,
                              bool *ret, struct hs_error *err)
{
    struct dwo_parts parts;
    uint64_t claims;

    if (!may_read(m, dwo, &claims))
        return HS_OK;
    HS_TRY(hs_dwo_parts_(dwo, &parts, err));
    HS_TRY(hs_dwo_has_(&parts, unit->id, unit->is_old, hs_elf_effort_(m->elf), ret, err));
    if (*ret)
        HS_TRY(merge_parts(m, &parts, unit, ret, err));
    m->left_vain -= *ret ? 0 : claims;
    return HS_OK;
}

static hs_status merge_dwo(struct merge *m, struct debug_info *info, const struct debug_entry *root,
                           struct merge_unit *unit, bool *ret, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto(hs_elf) *dwo = NULL;
    const char *name = hs_entry_text_(info, root, DW_AT_dwo_name),
               *directory = hs_entry_text_(info, root, DW_AT_comp_dir);

    if (name == NULL)
        name = hs_entry_text_(info, root, DW_AT_GNU_dwo_name);
    *ret = false;
    hs_status status = name == NULL
                           ? HS_OK
                           : m->places->open(m->places->context, directory != NULL ? directory : "",
                                             name, &dwo, &ignored);
    if (status == HS_LIMIT)
        *err = ignored;
    hs_debug_drop_(info);
    if (status != HS_OK || dwo == NULL)
        return status == HS_LIMIT ? HS_LIMIT : HS_OK;
    return merge_opened(m, dwo, unit, ret, err);
}

static hs_status merge_file(struct merge *m, struct debug_info *info,
                            const struct debug_unit *skeleton, struct hs_error *err)
{
    struct debug_entry root;
    struct merge_unit unit = {.id = skeleton->split_id,
                              .low = skeleton->low,
                              .addr_base = skeleton->addr_base,
                              .ranges_base = skeleton->rnglists_base,
                              .line_at = skeleton->line_at,
                              .has_lines = skeleton->has_lines,
                              .is_old = skeleton->version < 5};
    bool is_used;

    if (!hs_entry_read_(info, skeleton->root, &root))
        return HS_OK;
    HS_TRY(merge_dwo(m, info, &root, &unit, &is_used, err));
    if (!is_used)
        HS_TRY(merge_packaged(m, &unit, &is_used, err));
    m->found->n_used += is_used;
    return HS_OK;
}

static hs_status merge_all(struct merge *m, struct debug_info *info, struct hs_error *err)
{
    const uint8_t *bytes;
    size_t n;

    for (size_t i = 0; i < MERGE_SECTIONS; i++) {
        HS_TRY(hs_dwo_section_(m->elf, merge_names[i], &bytes, &n, err));
        HS_TRY(append(m, i, bytes, n, err));
    }
    for (size_t i = 0; i < info->n_units && m->found->n_files < MERGE_FILES; i++) {
        if (info->units[i].type != DW_UT_skeleton)
            continue;
        if (!hs_debug_unit_load_(info, &info->units[i])) {
            if (info->is_out_of_memory)
                return hs_fail(err, HS_LIMIT, "no memory to read '%s'", hs_elf_name(m->elf));
            continue;
        }
        m->found->n_files++;
        HS_TRY(merge_file(m, info, &info->units[i], err));
    }
    return merge_packaged_types(m, err);
}

/* Sections, their names, their headers. */
static hs_status write_file(struct merge *m, struct hs_buffer *ret, struct hs_error *err)
{
    static const char table[] = ".shstrtab";
    Elf64_Ehdr head = {.e_type = ET_DYN,
                       .e_machine = HS_ARCH_ELF_MACHINE,
                       .e_version = EV_CURRENT,
                       .e_ehsize = sizeof head,
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = MERGE_SECTIONS + 2,
                       .e_shstrndx = MERGE_SECTIONS + 1};
    Elf64_Shdr sections[MERGE_SECTIONS + 2] = {0};
    size_t n_bytes = sizeof head + sizeof sections + sizeof table + 1 + 8, n_names = 1;

    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    for (size_t i = 0; i < MERGE_SECTIONS; i++)
        n_bytes += m->sections[i].n_bytes + strlen(merge_names[i]) + 1;
    HS_TRY(hs_buffer_reserve(ret, n_bytes, err));
    hs_buffer_put_bytes(ret, &head, sizeof head);
    for (size_t i = 0; i <= MERGE_SECTIONS; i++) {
        const char *name = i == MERGE_SECTIONS ? table : merge_names[i];
        Elf64_Shdr *section = &sections[i + 1];
        section->sh_name = (uint32_t)n_names;
        section->sh_type = i == MERGE_SECTIONS ? SHT_STRTAB : SHT_PROGBITS;
        section->sh_offset = ret->n_bytes;
        section->sh_addralign = 1;
        section->sh_size = i == MERGE_SECTIONS ? n_names + sizeof table : m->sections[i].n_bytes;
        n_names += strlen(name) + 1;
        if (i < MERGE_SECTIONS) {
            hs_buffer_put_bytes(ret, m->sections[i].bytes, m->sections[i].n_bytes);
            hs_buffer_fini(&m->sections[i]);
        }
    }
    hs_buffer_put_u8(ret, 0);
    for (size_t i = 0; i < MERGE_SECTIONS; i++)
        hs_buffer_put_bytes(ret, merge_names[i], strlen(merge_names[i]) + 1);
    hs_buffer_put_bytes(ret, table, sizeof table);
    while (ret->n_bytes % 8 != 0)
        hs_buffer_put_u8(ret, 0);
    head.e_shoff = ret->n_bytes;
    hs_buffer_put_bytes(ret, sections, sizeof sections);
    memcpy(ret->bytes, &head, sizeof head);
    return HS_OK;
}

/* Tells whether skeletons are possible: their .dwo gives addresses by their numbers in .debug_addr.
 * Sections are not read, let alone unpacked, for what has none. */
static bool may_have_skeletons(const struct hs_elf *elf)
{
    struct hs_elf_section section;
    return hs_elf_section_named(elf, ".debug_addr", &section);
}

static bool has_skeletons(const struct debug_info *info)
{
    for (size_t i = 0; i < info->n_units; i++)
        if (info->units[i].type == DW_UT_skeleton)
            return true;
    return false;
}

hs_status hs_split_merge(struct hs_elf *elf, const struct hs_split_places *places,
                         uint64_t most_bytes, struct hs_buffer *ret, struct hs_split_found *found,
                         struct hs_error *err)
{
    struct merge m = {.elf = elf,
                      .places = places,
                      .left_bytes = most_bytes,
                      .left_vain = most_bytes,
                      .found = found};
    struct elf_view_total total = {0};
    struct debug_info info;

    *found = (struct hs_split_found){0};
    if (!may_have_skeletons(elf))
        return HS_OK;
    HS_TRY(hs_debug_open_(elf, &total, &info, err));
    hs_status status = has_skeletons(&info) ? merge_all(&m, &info, err) : HS_OK;
    hs_debug_close_(&info);
    if (status == HS_OK && found->n_used != 0)
        status = write_file(&m, ret, err);
    for (size_t i = 0; i < MERGE_SECTIONS; i++)
        hs_buffer_fini(&m.sections[i]);
    hs_elf_close(m.package.elf);
    hs_dict_fini(&m.tables);
    hs_free(m.made);
    return status;
}
