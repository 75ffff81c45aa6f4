/* Units, their abbreviation tables and what their root entries say. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "form.h"

enum {
    UNITS_LONG = 0xfffffff0, /* lengths from here on are not lengths */
    UNITS_MAX_CODE = 1 << 20,
    UNITS_SPARE_CODES = 4096,
    UNITS_ROOT_BYTES = 1024,
    UNITS_CODE_BYTES = 16,
    UNITS_HEAD_BYTES = 48, /* more than any header has */
    UNITS_PEEK_BYTES = 4096,
    UNITS_STEPS = 4, /* to list one */
};

static const char *const section_names[DEBUG_N_SECTIONS] = {
    [DEBUG_INFO] = ".debug_info",         [DEBUG_TYPES] = ".debug_types",
    [DEBUG_ABBREV] = ".debug_abbrev",     [DEBUG_STR] = ".debug_str",
    [DEBUG_LINE_STR] = ".debug_line_str", [DEBUG_STR_OFFSETS] = ".debug_str_offsets",
    [DEBUG_ADDR] = ".debug_addr",         [DEBUG_RANGES] = ".debug_ranges",
    [DEBUG_RNGLISTS] = ".debug_rnglists", [DEBUG_LOC] = ".debug_loc",
    [DEBUG_LOCLISTS] = ".debug_loclists", [DEBUG_LINE] = ".debug_line",
    [DEBUG_ARANGES] = ".debug_aranges",   [DEBUG_GDB_INDEX] = ".gdb_index",
    [DEBUG_NAMES] = ".debug_names",
};

static uint64_t units_offset(struct hs_cursor *c, const struct debug_unit *unit)
{
    return unit->n_offset_bytes == 8 ? hs_cursor_u64(c) : hs_cursor_u32(c);
}

static bool units_is_known(const struct debug_unit *unit)
{
    return unit->version >= 2 && unit->version <= 5 && unit->type != DW_UT_split_type;
}

/* Reads the header behind the length. `unit->begin` is set and `c`, which began there, ends with
 * the unit. */
static bool units_read_header(struct hs_cursor *c, bool in_types, struct debug_unit *unit)
{
    uint64_t type_at = 0;
    bool has_type = in_types;
    unit->version = hs_cursor_u16(c);
    unit->type = in_types ? DW_UT_type : DW_UT_compile;
    uint8_t n_address_bytes = 0;
    if (unit->version >= 5) {
        unit->type = hs_cursor_u8(c);
        n_address_bytes = hs_cursor_u8(c);
        has_type = unit->type == DW_UT_type || unit->type == DW_UT_split_type;
    }
    unit->abbreviations_at = units_offset(c, unit);
    if (unit->version < 5)
        n_address_bytes = hs_cursor_u8(c);
    if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
        unit->split_id = hs_cursor_u64(c);
    if (has_type) {
        unit->signature = hs_cursor_u64(c);
        type_at = units_offset(c, unit);
    }
    if (c->failed || n_address_bytes != 8 || !units_is_known(unit))
        return false;
    unit->root = unit->begin + c->at;
    if (has_type && type_at < unit->end - unit->begin)
        unit->signed_type = unit->begin + type_at;
    return true;
}

static hs_status units_add(struct debug_info *info, const struct debug_unit *unit,
                           struct hs_error *err)
{
    HS_TRY(HS_GROW(&info->units, &info->units_capacity, info->n_units + 1, err));
    info->units[info->n_units++] = *unit;
    if (unit->signed_type == 0)
        return HS_OK;
    HS_TRY(HS_GROW(&info->signatures, &info->signatures_capacity, info->n_signatures + 1, err));
    info->signatures[info->n_signatures++] =
        (struct debug_signature){unit->signature, unit->signed_type};
    return HS_OK;
}

/* A few bytes of a section, read on where units are small. */
struct units_peeking {
    uint8_t bytes[UNITS_PEEK_BYTES];
    uint64_t at; /* of `bytes` */
    size_t n;
};

/* A cursor over a unit's header, or what there is of it. */
static struct hs_cursor peeking_at(struct units_peeking *p, const struct elf_view *section,
                                   uint64_t at)
{
    bool is_near = p->n != 0 && at - p->at < 2 * UNITS_PEEK_BYTES;
    if (p->n == 0 || at - p->at > p->n || p->n - (at - p->at) < UNITS_HEAD_BYTES) {
        p->n =
            hs_elf_view_peek_(section, at, p->bytes, is_near ? sizeof(p->bytes) : UNITS_HEAD_BYTES);
        p->at = at;
    }
    size_t n = p->n - (size_t)(at - p->at);
    return hs_cursor_make(p->bytes + (at - p->at), n < UNITS_HEAD_BYTES ? n : UNITS_HEAD_BYTES);
}

/* Lists the units of a section from `at` to `end`, which is where it ends, or where the part of the
 * supplementary file begins. */
static hs_status units_list(struct debug_info *info, enum debug_section_number number, uint64_t at,
                            uint64_t end, struct hs_error *err)
{
    const struct elf_view *section = &info->sections[number];
    uint64_t shift = number == DEBUG_TYPES ? info->sections[DEBUG_INFO].n_bytes : 0;
    bool is_supplement =
        number == DEBUG_INFO && info->supplement.is_there && end == section->n_bytes;
    struct units_peeking peeking = {.n = 0};
    while (at < end && info->n_units < DEBUG_MAX_UNITS &&
           hs_effort_take(info->effort, UNITS_STEPS)) {
        struct hs_cursor c = peeking_at(&peeking, section, at);
        struct debug_unit unit = {
            .begin = shift + at, .n_offset_bytes = 4, .is_supplement = is_supplement};
        uint64_t n = hs_cursor_u32(&c);
        if (n == UINT32_MAX) {
            unit.n_offset_bytes = 8;
            n = hs_cursor_u64(&c);
        } else if (n >= UNITS_LONG) {
            c.failed = true;
        }
        if (c.failed || c.at > end - at || n > end - at - c.at)
            break;
        if (n < hs_cursor_left(&c))
            c.n_bytes = c.at + (size_t)n;
        at += c.at + n;
        unit.end = shift + at;
        if (units_read_header(&c, number == DEBUG_TYPES, &unit)) {
            unit.abbreviations_at += is_supplement ? info->supplement.abbrev : 0;
            HS_TRY(units_add(info, &unit, err));
        } else {
            info->n_damaged += n != 0;
        }
    }
    info->n_damaged += at < end;
    return HS_OK;
}

/* Reads the roots of units before DWARF 5 where some may be split: only these say what they are. */
static hs_status units_tell_old(struct debug_info *info, struct hs_error *err)
{
    if (info->sections[DEBUG_ADDR].n_bytes == 0)
        return HS_OK;
    for (size_t i = 0; i < info->n_units; i++) {
        struct debug_unit *unit = &info->units[i];
        if (unit->version < 5 && unit->type == DW_UT_compile && !hs_debug_unit_load_(info, unit) &&
            info->is_out_of_memory)
            return hs_fail(err, HS_LIMIT, "no memory to list units of debug information");
        hs_debug_trim_(info);
    }
    return HS_OK;
}

/* Joins each skeleton with its unit (merge.c). */
static hs_status units_join(struct debug_info *info, struct hs_error *err)
{
    struct hs_dict skeletons = {.n = 0};
    hs_status status = units_tell_old(info, err);

    for (size_t i = 0; i < info->n_units && status == HS_OK; i++)
        if (info->units[i].type == DW_UT_skeleton)
            status = hs_dict_put(&skeletons, info->units[i].split_id, i, err);
    for (size_t i = 0; i < info->n_units && status == HS_OK && skeletons.n != 0; i++) {
        const uint64_t *skeleton = info->units[i].type == DW_UT_split_compile
                                       ? hs_dict_find(&skeletons, info->units[i].split_id)
                                       : NULL;
        if (skeleton != NULL)
            info->units[*skeleton].split = (uint32_t)i + 1;
    }
    hs_dict_fini(&skeletons);
    return status;
}

static int signature_order(const void *a, const void *b)
{
    const struct debug_signature *s = a, *t = b;
    return (s->signature > t->signature) - (s->signature < t->signature);
}

static hs_status units_open_section(struct hs_elf *elf, enum debug_section_number number,
                                    struct elf_view_total *total, struct debug_info *info,
                                    struct hs_error *err)
{
    struct hs_elf_section section;
    if (!hs_elf_section_named(elf, section_names[number], &section) || !section.is_in_file)
        return HS_OK;
    struct hs_error why = HS_ERROR_INIT;
    hs_status status =
        hs_elf_view_open_(elf, section_names[number], total, &info->sections[number], &why);
    if (status == HS_LIMIT || status == HS_IO) { /* of a temporary file */
        *err = why;
        return status;
    }
    info->n_damaged += status != HS_OK;
    return HS_OK;
}

/* Opens the sections of the supplementary file behind the file's own. */
static hs_status units_open_supplement(struct hs_elf *elf, struct elf_view_total *total,
                                       struct debug_info *info, struct hs_error *err)
{
    struct debug_supplement *s = &info->supplement;
    uint64_t *const begins[DEBUG_N_SECTIONS] = {[DEBUG_INFO] = &s->info,
                                                [DEBUG_ABBREV] = &s->abbrev,
                                                [DEBUG_STR] = &s->str,
                                                [DEBUG_LINE_STR] = &s->line_str,
                                                [DEBUG_LINE] = &s->line};
    struct debug_info other = {.effort = info->effort};
    hs_status status = HS_OK;

    for (int i = 0; i < DEBUG_N_SECTIONS && status == HS_OK; i++) {
        if (begins[i] == NULL)
            continue;
        *begins[i] = info->sections[i].n_bytes;
        status = units_open_section(elf, (enum debug_section_number)i, total, &other, err);
        if (status == HS_OK && other.sections[i].n_bytes != 0)
            status = hs_elf_view_join_(&info->sections[i], &other.sections[i], err);
    }
    info->n_damaged += other.n_damaged;
    s->is_there = info->sections[DEBUG_INFO].n_bytes > s->info;
    return status;
}

void hs_debug_foresee_(struct hs_elf *elf, uint64_t *ret_whole_bytes, uint64_t *ret_piece_bytes)
{
    struct hs_elf *other = hs_elf_supplement_(elf);

    *ret_whole_bytes = 0;
    *ret_piece_bytes = 0;
    for (int i = 0; i < DEBUG_N_SECTIONS; i++) {
        uint64_t whole, pieces, more = 0, more_pieces = 0;
        hs_elf_view_foresee_(elf, section_names[i], &whole, &pieces);
        if (other != NULL)
            hs_elf_view_foresee_(other, section_names[i], &more, &more_pieces);
        *ret_whole_bytes += whole + more;
        *ret_piece_bytes += pieces + more_pieces;
        if (more + more_pieces != 0) /* joined: what is there whole comes in pieces besides */
            *ret_piece_bytes += whole + more;
    }
    uint64_t worth = hs_elf_effort_(elf)->left; /* no more is read whole */
    if (*ret_whole_bytes > worth)
        *ret_whole_bytes = worth;
}

/* Passes over one abbreviation; false when damaged. */
static bool table_skip(struct hs_cursor *c)
{
    struct debug_value ignored;
    int n = 0;
    if (hs_cursor_varint(c) > UINT16_MAX) /* its tag */
        return false;
    hs_cursor_skip(c, 1);
    while (hs_form_next_(c, &ignored))
        if (++n > DEBUG_MAX_ATTRIBUTES)
            return false;
    return !c->failed;
}

/* Reads a table. Damage ends it: what was listed stays. */
static hs_status table_read(struct debug_info *info, struct debug_table *table,
                            struct hs_error *err)
{
    size_t capacity = 0;
    struct hs_cursor c = hs_form_abbreviation_(info, table->at);
    c.failed = hs_cursor_left(&c) == 0;
    while (!c.failed && c.at <= UINT32_MAX) {
        c = hs_form_abbreviation_(info, c.at);
        uint64_t code = hs_cursor_varint(&c);
        size_t at = c.at;
        if (c.failed || code == 0)
            break;
        uint64_t cost = 1 + (code >= table->n_codes ? code + 1 - table->n_codes : 0);
        if (code > UNITS_MAX_CODE || cost > info->abbreviations_left || !table_skip(&c)) {
            c.failed = true;
            break;
        }
        info->abbreviations_left -= cost;
        if (code >= table->n_codes) {
            HS_TRY(HS_GROW(&table->codes, &capacity, (size_t)code + 1, err));
            table->n_codes = (size_t)code + 1;
        }
        table->codes[code] = (uint32_t)at;
    }
    info->n_damaged += c.failed;
    return HS_OK;
}

static hs_status table_find(struct debug_info *info, uint64_t at, uint32_t *ret,
                            struct hs_error *err)
{
    uint32_t found = HS_TABLE_FIND(&info->by_place, hs_hash(at), i, info->tables[i].at == at);
    if (found == HS_NO_NUMBER) {
        struct debug_table table = {.at = at};
        HS_TRY(HS_GROW(&info->tables, &info->tables_capacity, info->n_tables + 1, err));
        hs_status status = table_read(info, &table, err);
        if (status == HS_OK)
            status = hs_table_add(&info->by_place, hs_hash(at), info->n_tables, err);
        if (status != HS_OK) {
            hs_free(table.codes);
            return status;
        }
        found = (uint32_t)info->n_tables;
        info->tables[info->n_tables++] = table;
    }
    *ret = found + 1;
    return HS_OK;
}

/* Lends the language of a unit to the partial units that it imports, which dwz puts first in it.
 * The partial units that got it so are added to the list `imported`. */
static void units_lend_one(struct debug_info *info, const struct debug_unit *unit,
                           struct debug_unit **imported, size_t *n_imported)
{
    struct debug_entry root, child;

    if (!hs_entry_read_(info, unit->root, &root))
        return;
    struct debug_walk walk = hs_walk_begin_(info, &root);
    while (hs_walk_next_(&walk, &child) && child.tag == DW_TAG_imported_unit) {
        hs_die target = hs_entry_reference_(info, &child, DW_AT_import);
        struct debug_unit *lent = target == 0 ? NULL : hs_debug_unit_of_(info, target);
        if (lent == NULL || !lent->is_partial || lent->language != 0)
            continue;
        lent->language = unit->language;
        imported[(*n_imported)++] = lent; /* once: it has a language now */
    }
    hs_debug_trim_(info);
}

/* Finds the tag of a unit's root without reading more of it; 0 when it is damaged. */
static uint64_t units_peek_tag(struct debug_info *info, struct debug_unit *unit)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_cursor c = hs_form_window_(info, unit, unit->root, UNITS_CODE_BYTES);
    uint64_t code = hs_cursor_varint(&c);

    if (c.failed || table_find(info, unit->abbreviations_at, &unit->table, &err) != HS_OK) {
        info->is_out_of_memory |= !c.failed;
        return 0;
    }
    const struct debug_table *table = &info->tables[unit->table - 1];
    if (code >= table->n_codes || table->codes[code] == 0)
        return 0;
    struct hs_cursor abbreviation = hs_form_abbreviation_(info, table->codes[code]);
    return hs_cursor_varint(&abbreviation);
}

/* Tells whether dwz made the file smaller: it puts the units first that others import, or in a
 * file that has nothing else. */
static bool units_have_partial(struct debug_info *info)
{
    if (info->n_units == 0 || info->supplement.is_there)
        return info->supplement.is_there;
    struct debug_unit *first = &info->units[0];
    if (first->version >= 5)
        return first->type == DW_UT_partial;
    return units_peek_tag(info, first) == DW_TAG_partial_unit;
}

/* Gives partial units, which say none, the language of the first that imports them: directly, or
 * from one that it imports. */
static hs_status units_lend_languages(struct debug_info *info, struct hs_error *err)
{
    hs_auto_free struct debug_unit **imported = NULL;
    size_t n_imported = 0;

    if (!units_have_partial(info))
        return info->is_out_of_memory
                   ? hs_fail(err, HS_LIMIT, "no memory to list units of debug information")
                   : HS_OK;
    HS_TRY(HS_ALLOC(&imported, info->n_units, err));
    for (size_t i = 0; i < info->n_units; i++) {
        struct debug_unit *unit = &info->units[i];
        if (hs_debug_unit_load_(info, unit) && !unit->is_partial && unit->language != 0)
            units_lend_one(info, unit, imported, &n_imported);
    }
    for (size_t i = 0; i < n_imported; i++)
        units_lend_one(info, imported[i], imported, &n_imported);
    return HS_OK;
}

/* Lists them in the order of hs_die: where types stand behind both files' .debug_info. */
static hs_status units_list_all(struct debug_info *info, struct hs_error *err)
{
    uint64_t n_info = info->sections[DEBUG_INFO].n_bytes;
    uint64_t n_own = info->supplement.is_there ? info->supplement.info : n_info;

    HS_TRY(units_list(info, DEBUG_INFO, 0, n_own, err));
    if (n_own < n_info)
        HS_TRY(units_list(info, DEBUG_INFO, n_own, n_info, err));
    return units_list(info, DEBUG_TYPES, 0, info->sections[DEBUG_TYPES].n_bytes, err);
}

hs_status hs_debug_open_(struct hs_elf *elf, struct elf_view_total *total, struct debug_info *ret,
                         struct hs_error *err)
{
    struct debug_info info = {.effort = hs_elf_effort_(elf), .total = total};
    hs_status status = HS_OK;
    for (int i = 0; i < DEBUG_N_SECTIONS && status == HS_OK; i++)
        status = units_open_section(elf, (enum debug_section_number)i, total, &info, err);
    if (status == HS_OK && hs_elf_supplement_(elf) != NULL)
        status = units_open_supplement(hs_elf_supplement_(elf), total, &info, err);
    info.abbreviations_left = info.sections[DEBUG_ABBREV].n_bytes + UNITS_SPARE_CODES;
    if (status == HS_OK)
        status = units_list_all(&info, err);
    if (status == HS_OK)
        status = units_join(&info, err);
    if (status == HS_OK)
        status = units_lend_languages(&info, err);
    if (status != HS_OK) {
        hs_debug_close_(&info);
        return status;
    }
    if (info.n_signatures > 0)
        qsort(info.signatures, info.n_signatures, sizeof(*info.signatures), signature_order);
    *ret = info;
    return HS_OK;
}

void hs_debug_drop_(struct debug_info *info)
{
    for (int i = 0; i < DEBUG_N_SECTIONS; i++)
        hs_elf_view_drop_(&info->sections[i]);
}

void hs_debug_trim_(struct debug_info *info)
{
    size_t n = 0;
    for (int i = 0; i < DEBUG_N_SECTIONS; i++)
        n += info->sections[i].n_resident;
    if (n > hs_elf_view_most_(info->total))
        hs_debug_drop_(info);
}

void hs_debug_close_(struct debug_info *info)
{
    for (int i = 0; i < DEBUG_N_SECTIONS; i++)
        hs_elf_view_close_(&info->sections[i]);
    for (size_t i = 0; i < info->n_tables; i++)
        hs_free(info->tables[i].codes);
    hs_free(info->units);
    hs_free(info->tables);
    hs_table_fini(&info->by_place);
    hs_free(info->ranges);
    hs_free(info->signatures);
    *info = (struct debug_info){0};
}

static void units_read_base(struct debug_unit *unit, const struct debug_value *value)
{
    switch (value->attribute) {
    case DW_AT_language:
        unit->language = (uint16_t)value->number;
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        unit->addr_base = value->number;
        break;
    case DW_AT_str_offsets_base:
        unit->str_offsets_base = value->number;
        break;
    case DW_AT_GNU_dwo_id:
        if (unit->version < 5) {
            unit->split_id = value->number;
            unit->type = DW_UT_skeleton;
        }
        break;
    case DW_AT_rnglists_base:
    case DW_AT_GNU_ranges_base:
        unit->rnglists_base = value->number;
        break;
    case DW_AT_loclists_base:
        unit->loclists_base = value->number;
        if (unit->version < 5 && unit->type == DW_UT_skeleton)
            unit->type = DW_UT_split_compile; /* merge.c writes it */
        break;
    case DW_AT_stmt_list:
        unit->line_at = value->number;
        unit->has_lines = true;
        break;
    default:
        break;
    }
}

static bool units_read_bases(struct debug_info *info, struct debug_unit *unit,
                             const struct debug_entry *root, uint64_t n_window)
{
    struct debug_value value;
    struct hs_cursor list = hs_form_abbreviation_(info, root->attributes_at);
    struct hs_cursor values = hs_form_window_(info, unit, root->values_at, n_window);
    while (hs_form_next_(&list, &value)) {
        if (!hs_form_read_(&values, unit, &value))
            return false;
        units_read_base(unit, &value);
    }
    return !list.failed;
}

static bool units_read_root(struct debug_info *info, struct debug_unit *unit)
{
    struct debug_entry root;
    if (!hs_entry_read_(info, unit->root, &root) ||
        (!units_read_bases(info, unit, &root, UNITS_ROOT_BYTES) &&
         !units_read_bases(info, unit, &root, UINT64_MAX)))
        return false;
    unit->is_partial = root.tag == DW_TAG_partial_unit;
    if (unit->is_supplement)
        unit->line_at += info->supplement.line;
    hs_addr low = 0; /* its form may need the base just read */
    if (hs_entry_address_(info, &root, DW_AT_low_pc, &low))
        unit->low = low;
    return true;
}

bool hs_debug_unit_load_(struct debug_info *info, struct debug_unit *unit)
{
    struct hs_error err = HS_ERROR_INIT;
    if (unit->has_root)
        return !unit->is_damaged;
    if (hs_debug_is_spent_(info))
        return false;
    if (table_find(info, unit->abbreviations_at, &unit->table, &err) != HS_OK) {
        info->is_out_of_memory = true; /* asked again, it may work */
        return false;
    }
    unit->has_root = true;
    unit->is_damaged = !units_read_root(info, unit);
    info->n_damaged += unit->is_damaged;
    return !unit->is_damaged;
}

struct debug_unit *hs_debug_unit_of_(struct debug_info *info, hs_die die)
{
    size_t low = HS_FIRST_NOT(at, 0, info->n_units, info->units[at].begin <= die);
    if (low == 0)
        return NULL;
    struct debug_unit *unit = &info->units[low - 1];
    if (die < unit->root || die >= unit->end || !hs_debug_unit_load_(info, unit))
        return NULL;
    return unit;
}
