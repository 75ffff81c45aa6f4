/* The merging of .dwo files (-gsplit-dwarf, DWARF 5, 3.1.2 and 7.3.2): they are put behind the
 * sections of the file that has the skeletons of its units, as one ELF file in memory. Of each
 * .dwo:
 *
 *     .debug_info.dwo         appended; of its units the place of their abbreviations is moved
 *     .debug_abbrev.dwo       copied; what describes the root of a unit gets constants that say
 *                             where its addresses, strings and lists are, which the skeleton has
 *     .debug_str_offsets.dwo  appended; each offset is moved by what is before the strings
 *     the others              appended
 *
 * Units of types (-fdebug-types-section) have sections of their own in a .dwo, all of one name. A
 * .dwp (package.c) has the parts of many files, and their strings together.
 *
 * A file is used when its unit has the number that the skeleton has (DWO id): it is of one build.
 * All of it is hostile: what is not as it should be is left out, whole. */
#include <dwarf.h>
#include <elf.h>
#include <string.h>

#include "arch/processor.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "entry.h"
#include "package.h"
#include "symbols/split.h"

enum {
    MERGE_FILES = 1 << 14,
    MERGE_SECTIONS = 12,
    MERGE_UNIT_HEAD = 20,    /* of a split unit of DWARF 5 with offsets of 4 bytes */
    MERGE_LIST_HEAD = 12,    /* of its lists */
    MERGE_OFFSETS_HEAD = 8,  /* of its offsets of strings */
    MERGE_ROOT_BYTES = 96,   /* what is added to an abbreviation, at the most */
    MERGE_ATTRIBUTES = 1024, /* of one */
};

enum merge_section {
    M_INFO = PACKAGE_INFO,
    M_ABBREV = PACKAGE_ABBREV,
    M_STR_OFFSETS = PACKAGE_STR_OFFSETS,
    M_RNGLISTS = PACKAGE_RNGLISTS,
    M_LOCLISTS = PACKAGE_LOCLISTS,
    M_STR = PACKAGE_PARTS,
    M_OTHERS
};

static const struct {
    const char *name, *of_split;
} merge_names[MERGE_SECTIONS] = {
    [M_INFO] = {".debug_info", ".debug_info.dwo"},
    [M_ABBREV] = {".debug_abbrev", ".debug_abbrev.dwo"},
    [M_STR] = {".debug_str", ".debug_str.dwo"},
    [M_STR_OFFSETS] = {".debug_str_offsets", ".debug_str_offsets.dwo"},
    [M_RNGLISTS] = {".debug_rnglists", ".debug_rnglists.dwo"},
    [M_LOCLISTS] = {".debug_loclists", ".debug_loclists.dwo"},
    [M_OTHERS] = {".debug_addr", NULL},
    {".debug_line", NULL},
    {".debug_line_str", NULL},
    {".debug_aranges", NULL},
    {".debug_ranges", NULL},
    {".debug_loc", NULL},
};

struct merge {
    struct hs_elf *elf; /* borrowed: has the skeletons */
    const struct hs_split_places *places;
    uint64_t left_bytes; /* that may be taken */
    struct hs_buffer sections[MERGE_SECTIONS];
    struct hs_split_found *found;
    struct package package;
    bool package_is_tried, has_strings; /* its strings are here, from strings_at on */
    uint64_t strings_at;
    struct hs_dict tables; /* by the place of abbreviations in the package: which unit's, from 1 */
    struct merge_table {
        uint64_t at, str_offsets; /* here; those of its strings, in the package */
    } * made;                     /* owned */
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
    uint64_t id, low, addr_base, line_at;
    bool has_lines;
    uint64_t begin[M_OTHERS];
};

/* The parts of a .dwo, whose units are in all of its sections of one name, or of a package. */
struct merge_parts {
    struct hs_elf *dwo; /* borrowed; NULL: of a package */
    const uint8_t *bytes[M_OTHERS];
    size_t n[M_OTHERS];
};

/* The next section with units, from number *at on, which goes on behind it; false: no more. */
static bool next_units(const struct merge_parts *parts, size_t *at, const uint8_t **ret,
                       size_t *ret_n, hs_status *status, struct hs_error *err)
{
    struct hs_elf_section section;
    struct hs_error why = HS_ERROR_INIT;

    if (parts->dwo == NULL) {
        *ret = parts->bytes[M_INFO];
        *ret_n = parts->n[M_INFO];
        return (*at)++ == 0;
    }
    for (size_t n = hs_elf_n_sections(parts->dwo); *at < n; (*at)++) {
        if (!hs_elf_section(parts->dwo, *at, &section) ||
            strcmp(section.name, merge_names[M_INFO].of_split) != 0)
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

/* A section, or nothing. */
static hs_status section_of(struct hs_elf *elf, const char *name, const uint8_t **ret,
                            size_t *ret_n, struct hs_error *err)
{
    struct hs_error why = HS_ERROR_INIT;
    hs_status status = hs_elf_section_bytes_named(elf, name, ret, ret_n, &why);

    if (status == HS_LIMIT)
        *err = why;
    else if (status != HS_OK)
        *ret_n = 0;
    return status == HS_LIMIT ? HS_LIMIT : HS_OK;
}

static hs_status parts_of(struct hs_elf *dwo, struct merge_parts *ret, struct hs_error *err)
{
    *ret = (struct merge_parts){.dwo = dwo};
    for (size_t i = 0; i < M_OTHERS; i++)
        HS_TRY(section_of(dwo, merge_names[i].of_split, &ret->bytes[i], &ret->n[i], err));
    return HS_OK;
}

/* Tells whether this is the unit that has the skeleton. */
static bool unit_is_of(const uint8_t *head, size_t n, uint64_t id)
{
    uint64_t found;

    if (n < MERGE_UNIT_HEAD)
        return false;
    memcpy(&found, head + 12, sizeof found);
    return u32_at(head) < n && head[4] == 5 && head[5] == 0 && head[6] == DW_UT_split_compile &&
           found == id;
}

/* Looks for that unit in the parts: *ret tells whether one of them has it. */
static hs_status parts_are_of(const struct merge_parts *parts, uint64_t id, bool *ret,
                              struct hs_error *err)
{
    const uint8_t *bytes;
    size_t at = 0, n;
    hs_status status = HS_OK;

    *ret = false;
    while (parts->n[M_ABBREV] != 0 && !*ret && next_units(parts, &at, &bytes, &n, &status, err))
        for (size_t i = 0; i < n && !*ret; i += 4 + (size_t)u32_at(bytes + i)) {
            *ret = unit_is_of(bytes + i, n - i, id);
            if (n - i < MERGE_UNIT_HEAD || u32_at(bytes + i) > n - i - 4)
                break;
        }
    return status;
}

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
    put_constant(b, DW_AT_str_offsets_base, unit->begin[M_STR_OFFSETS] + MERGE_OFFSETS_HEAD);
    put_constant(b, DW_AT_addr_base, unit->addr_base);
    put_constant(b, DW_AT_rnglists_base, unit->begin[M_RNGLISTS] + MERGE_LIST_HEAD);
    put_constant(b, DW_AT_loclists_base, unit->begin[M_LOCLISTS] + MERGE_LIST_HEAD);
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

static hs_status copy_abbreviations(struct merge *m, const struct merge_parts *parts,
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
static bool move_units(uint8_t *bytes, size_t n, uint64_t abbreviations_at)
{
    for (size_t at = 0; at < n;) {
        if (n - at < MERGE_UNIT_HEAD || u32_at(bytes + at) > n - at - 4 ||
            u32_at(bytes + at) < MERGE_UNIT_HEAD - 4 || u32_at(bytes + at + 8) != 0)
            return false;
        put_u32_at(bytes + at + 8, (uint32_t)abbreviations_at);
        if (bytes[at + 6] == DW_UT_split_type)
            bytes[at + 6] = DW_UT_type;
        at += 4 + u32_at(bytes + at);
    }
    return true;
}

static void move_strings(uint8_t *bytes, size_t n, uint64_t strings_at)
{
    for (size_t at = MERGE_OFFSETS_HEAD; at + 4 <= n; at += 4)
        put_u32_at(bytes + at, u32_at(bytes + at) + (uint32_t)strings_at);
}

/* Merges all units of these parts; *ret_is_sound is false when something is wrong with them. */
static hs_status merge_units(struct merge *m, const struct merge_parts *parts,
                             uint64_t abbreviations_at, bool *ret_is_sound, struct hs_error *err)
{
    struct hs_buffer *info = &m->sections[M_INFO];
    const uint8_t *bytes;
    size_t at = 0, n;
    hs_status status = HS_OK;

    *ret_is_sound = true;
    while (*ret_is_sound && next_units(parts, &at, &bytes, &n, &status, err)) {
        uint64_t begin = info->n_bytes;
        *ret_is_sound = n <= m->left_bytes && begin + n < UINT32_MAX;
        if (!*ret_is_sound)
            break;
        HS_TRY(append(m, M_INFO, bytes, n, err));
        *ret_is_sound = move_units(info->bytes + begin, n, abbreviations_at);
    }
    return status;
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
        (struct merge_table){unit->begin[M_ABBREV], row->at[PACKAGE_STR_OFFSETS]};
    return hs_dict_put(&m->tables, row->at[PACKAGE_ABBREV], m->n_made, err);
}

static bool has_room(const struct merge *m, const struct merge_parts *parts,
                     struct merge_unit *unit)
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

static hs_status merge_parts(struct merge *m, const struct merge_parts *parts,
                             struct merge_unit *unit, bool *ret, struct hs_error *err)
{
    bool is_sound;

    *ret = false;
    if (!has_room(m, parts, unit))
        return HS_OK;
    HS_TRY(copy_abbreviations(m, parts, unit, &is_sound, err));
    if (is_sound)
        HS_TRY(merge_units(m, parts, unit->begin[M_ABBREV], &is_sound, err));
    if (!is_sound) {
        m->sections[M_INFO].n_bytes = unit->begin[M_INFO];
        m->sections[M_ABBREV].n_bytes = unit->begin[M_ABBREV];
        return HS_OK;
    }
    if (parts->dwo == NULL)
        HS_TRY(merge_strings(m, err));
    for (size_t i = M_ABBREV + 1; i < M_OTHERS; i++)
        HS_TRY(append(m, i, parts->bytes[i], parts->n[i], err));
    move_strings(m->sections[M_STR_OFFSETS].bytes + unit->begin[M_STR_OFFSETS],
                 parts->n[M_STR_OFFSETS], parts->dwo == NULL ? m->strings_at : unit->begin[M_STR]);
    *ret = true;
    return HS_OK;
}

static void parts_of_row(const struct merge *m, const struct package_row *row,
                         struct merge_parts *ret)
{
    *ret = (struct merge_parts){0};
    for (size_t i = 0; i < PACKAGE_PARTS; i++) {
        ret->bytes[i] = m->package.bytes[i] + row->at[i];
        ret->n[i] = row->n[i];
    }
}

/* The unit out of the package; *ret, whether it is there. */
static hs_status merge_packaged(struct merge *m, struct merge_unit *unit, bool *ret,
                                struct hs_error *err)
{
    struct package_row row;
    struct merge_parts parts;

    *ret = false;
    if (!m->package_is_tried && m->places->open_package != NULL) {
        struct hs_error ignored = HS_ERROR_INIT;
        m->package_is_tried = true;
        hs_status status = m->places->open_package(m->places->context, &m->package.elf, &ignored);
        if (status == HS_LIMIT)
            *err = ignored;
        HS_TRY(status == HS_LIMIT ? HS_LIMIT : HS_OK);
        HS_TRY(hs_package_read_(&m->package, err));
    }
    if (!hs_package_find_(&m->package, unit->id, &row))
        return HS_OK;
    parts_of_row(m, &row, &parts);
    HS_TRY(parts_are_of(&parts, unit->id, ret, err));
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
        struct merge_parts parts;
        bool is_sound;
        uint64_t begin = m->sections[M_INFO].n_bytes;
        if (number == 0 || m->made[number - 1].str_offsets != row.at[PACKAGE_STR_OFFSETS])
            continue;
        parts_of_row(m, &row, &parts);
        HS_TRY(merge_units(m, &parts, m->made[number - 1].at, &is_sound, err));
        if (!is_sound)
            m->sections[M_INFO].n_bytes = begin;
    }
    return HS_OK;
}

static hs_status merge_dwo(struct merge *m, struct debug_info *info, const struct debug_entry *root,
                           struct merge_unit *unit, bool *ret, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto(hs_elf) *dwo = NULL;
    struct merge_parts parts;
    const char *name = hs_entry_text_(info, root, DW_AT_dwo_name),
               *directory = hs_entry_text_(info, root, DW_AT_comp_dir);

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
    HS_TRY(parts_of(dwo, &parts, err));
    HS_TRY(parts_are_of(&parts, unit->id, ret, err));
    return *ret ? merge_parts(m, &parts, unit, ret, err) : HS_OK;
}

static hs_status merge_file(struct merge *m, struct debug_info *info,
                            const struct debug_unit *skeleton, struct hs_error *err)
{
    struct debug_entry root;
    struct merge_unit unit = {.id = skeleton->split_id,
                              .low = skeleton->low,
                              .addr_base = skeleton->addr_base,
                              .line_at = skeleton->line_at,
                              .has_lines = skeleton->has_lines};
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
        HS_TRY(section_of(m->elf, merge_names[i].name, &bytes, &n, err));
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
        n_bytes += m->sections[i].n_bytes + strlen(merge_names[i].name) + 1;
    HS_TRY(hs_buffer_reserve(ret, n_bytes, err));
    hs_buffer_put_bytes(ret, &head, sizeof head);
    for (size_t i = 0; i <= MERGE_SECTIONS; i++) {
        const char *name = i == MERGE_SECTIONS ? table : merge_names[i].name;
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
        hs_buffer_put_bytes(ret, merge_names[i].name, strlen(merge_names[i].name) + 1);
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
    struct merge m = {.elf = elf, .places = places, .left_bytes = most_bytes, .found = found};
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
