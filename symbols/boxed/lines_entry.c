/* The attributes of one debugging information entry: names, numbers, addresses, ranges. */
#include <string.h>

#include "base/cursor.h"
#include "lines_check.h"
#include "lines_private.h"

enum {
    ENTRY_MAX_HOPS = 4,         /* concrete -> abstract -> declaration */
    ENTRY_MAX_RANGES = 1 << 20, /* of one entry */
    ENTRY_MAX_NAME = 1 << 16,   /* bytes; templates are long, but not that long */
};

void hs_dwarf_damage_(struct hs_dwarf *dwarf, Dwarf_Error *error)
{
    if (*error != NULL)
        dwarf->n_damaged++;
    compat_error_drop(dwarf->object.dbg, error);
}

Dwarf_Die hs_dwarf_entry_open_(struct hs_dwarf *dwarf, Dwarf_Off entry)
{
    Dwarf_Error error = NULL;
    Dwarf_Die die = NULL;
    if (dwarf_offdie_b(dwarf->object.dbg, entry, 1, &die, &error) != DW_DLV_OK)
        die = NULL;
    hs_dwarf_damage_(dwarf, &error);
    return die;
}

static Dwarf_Attribute entry_attribute(struct hs_dwarf *dwarf, Dwarf_Die die, Dwarf_Half number)
{
    Dwarf_Error error = NULL;
    Dwarf_Attribute attribute = NULL;
    if (dwarf_attr(die, number, &attribute, &error) != DW_DLV_OK)
        attribute = NULL;
    hs_dwarf_damage_(dwarf, &error);
    return attribute;
}

bool hs_dwarf_entry_number_(struct hs_dwarf *dwarf, Dwarf_Die die, Dwarf_Half number, uint64_t *ret)
{
    Dwarf_Attribute attribute = entry_attribute(dwarf, die, number);
    if (attribute == NULL)
        return false;
    Dwarf_Error error = NULL;
    Dwarf_Unsigned value = 0;
    int res = dwarf_formudata(attribute, &value, &error);
    compat_error_drop(dwarf->object.dbg, &error);
    if (res != DW_DLV_OK) { /* DW_FORM_implicit_const, which gcc likes for files, is signed */
        Dwarf_Signed number_signed = 0;
        res = dwarf_formsdata(attribute, &number_signed, &error);
        compat_error_drop(dwarf->object.dbg, &error); /* a form that holds no number: no damage */
        value = (Dwarf_Unsigned)number_signed;
    }
    dwarf_dealloc_attribute(attribute);
    *ret = value;
    return res == DW_DLV_OK;
}

bool hs_dwarf_entry_low_(struct hs_dwarf *dwarf, Dwarf_Die die, hs_addr *ret)
{
    Dwarf_Error error = NULL;
    Dwarf_Addr low = 0;
    int res = dwarf_lowpc(die, &low, &error);
    hs_dwarf_damage_(dwarf, &error);
    *ret = low;
    return res == DW_DLV_OK;
}

bool hs_dwarf_entry_has_lines_(struct hs_dwarf *dwarf, Dwarf_Die root)
{
    const struct dwarf_section *lines = hs_dwarf_object_section_(&dwarf->object, ".debug_line");
    Dwarf_Attribute attribute = entry_attribute(dwarf, root, DW_AT_stmt_list);
    Dwarf_Error error = NULL;
    Dwarf_Off offset = 0;
    if (attribute == NULL)
        return false;
    int res = dwarf_global_formref(attribute, &offset, &error);
    hs_dwarf_damage_(dwarf, &error);
    dwarf_dealloc_attribute(attribute);
    if (res != DW_DLV_OK || lines == NULL)
        return false;
    bool is_good = hs_lines_check_table_(lines->bytes, lines->n_bytes, offset);
    dwarf->n_damaged += !is_good;
    return is_good;
}

/* DW_OP_addr A and DW_OP_addrx N are the whole expression of a variable with a fixed place. */
static bool entry_expression_address(struct hs_dwarf *dwarf, Dwarf_Die die, struct hs_cursor c,
                                     hs_addr *ret)
{
    uint8_t op = hs_cursor_u8(&c);
    if (op == DW_OP_addr) {
        *ret = hs_cursor_u64(&c);
        return !c.failed && hs_cursor_left(&c) == 0;
    }
    if (op != DW_OP_addrx && op != DW_OP_GNU_addr_index)
        return false;
    Dwarf_Error error = NULL;
    Dwarf_Addr address = 0;
    uint64_t index = hs_cursor_varint(&c);
    if (c.failed || hs_cursor_left(&c) != 0)
        return false;
    int res = dwarf_debug_addr_index_to_addr(die, index, &address, &error);
    hs_dwarf_damage_(dwarf, &error);
    *ret = address;
    return res == DW_DLV_OK;
}

bool hs_dwarf_entry_address_(struct hs_dwarf *dwarf, Dwarf_Die die, hs_addr *ret)
{
    Dwarf_Attribute attribute = entry_attribute(dwarf, die, DW_AT_location);
    if (attribute == NULL)
        return false;
    Dwarf_Error error = NULL;
    Dwarf_Half form = 0;
    bool found = false;
    if (dwarf_whatform(attribute, &form, &error) != DW_DLV_OK) {
        hs_dwarf_damage_(dwarf, &error);
    } else if (form == DW_FORM_exprloc) {
        Dwarf_Unsigned n = 0;
        Dwarf_Ptr bytes = NULL;
        if (dwarf_formexprloc(attribute, &n, &bytes, &error) == DW_DLV_OK && bytes != NULL)
            found = entry_expression_address(dwarf, die, hs_cursor_make(bytes, (size_t)n), ret);
        hs_dwarf_damage_(dwarf, &error);
    } else {
        Dwarf_Block *block = NULL; /* DWARF 2 and 3; a location list has another form */
        if (dwarf_formblock(attribute, &block, &error) == DW_DLV_OK) {
            found = entry_expression_address(
                dwarf, die, hs_cursor_make(block->bl_data, (size_t)block->bl_len), ret);
            dwarf_dealloc(dwarf->object.dbg, block, DW_DLA_BLOCK);
        }
        compat_error_drop(dwarf->object.dbg, &error);
    }
    dwarf_dealloc_attribute(attribute);
    return found;
}

/* The entry that this one completes, by its offset; false when there is none. */
static bool entry_origin(struct hs_dwarf *dwarf, Dwarf_Die die, Dwarf_Off *ret)
{
    Dwarf_Attribute attribute = entry_attribute(dwarf, die, DW_AT_abstract_origin);
    if (attribute == NULL)
        attribute = entry_attribute(dwarf, die, DW_AT_specification);
    if (attribute == NULL)
        return false;
    Dwarf_Error error = NULL;
    Dwarf_Off offset = 0;
    int res = dwarf_global_formref(attribute, &offset, &error);
    compat_error_drop(dwarf->object.dbg, &error); /* dwz: a reference to another file */
    dwarf_dealloc_attribute(attribute);
    *ret = offset;
    return res == DW_DLV_OK;
}

static hs_status entry_name(struct hs_dwarf *dwarf, Dwarf_Die die, hs_str *ret,
                            struct hs_error *err)
{
    Dwarf_Attribute attribute = entry_attribute(dwarf, die, DW_AT_name);
    if (attribute == NULL)
        return HS_OK;
    Dwarf_Error error = NULL;
    char *name = NULL;
    hs_status status = HS_OK;
    if (dwarf_formstring(attribute, &name, &error) == DW_DLV_OK && name != NULL &&
        strnlen(name, ENTRY_MAX_NAME) < ENTRY_MAX_NAME)
        status = hs_strtab_add(&dwarf->strings, name, ret, err);
    compat_error_drop(dwarf->object.dbg, &error); /* dwz: a string in another file */
    dwarf_dealloc_attribute(attribute);
    return status;
}

hs_status hs_dwarf_entry_facts_(struct hs_dwarf *dwarf, Dwarf_Off entry, struct dwarf_facts *ret,
                                struct hs_error *err)
{
    struct dwarf_facts facts = {0};
    hs_status status = HS_OK;
    bool goes_on = true;
    for (int hop = 0; hop < ENTRY_MAX_HOPS && goes_on && status == HS_OK; hop++) {
        Dwarf_Die die = hs_dwarf_entry_open_(dwarf, entry);
        uint64_t line;
        if (die == NULL)
            break;
        if (facts.name == 0)
            status = entry_name(dwarf, die, &facts.name, err);
        if (facts.line == 0 && hs_dwarf_entry_number_(dwarf, die, DW_AT_decl_line, &line))
            facts.line = line <= UINT32_MAX ? (uint32_t)line : 0;
        if (!facts.has_file) {
            facts.has_file = hs_dwarf_entry_number_(dwarf, die, DW_AT_decl_file, &facts.file);
            facts.file_entry = entry;
        }
        goes_on = entry_origin(dwarf, die, &entry);
        dwarf_dealloc_die(die);
    }
    if (status == HS_OK)
        *ret = facts;
    return status;
}

struct range_sink {
    const struct dwarf_unit *unit;
    dwarf_range_add *add;
    void *context;
};

static hs_status range_add(const struct range_sink *sink, hs_addr begin, hs_addr end,
                           struct hs_error *err)
{
    /* Discarded sections leave ranges at 0; an empty or turned range covers nothing. */
    return begin < end && begin != 0 ? sink->add(sink->context, begin, end, err) : HS_OK;
}

/* Reads the ranges of DWARF 5: .debug_rnglists. */
static hs_status ranges_new(struct hs_dwarf *dwarf, Dwarf_Attribute attribute, Dwarf_Half form,
                            const struct range_sink *sink, struct hs_error *err)
{
    Dwarf_Error error = NULL;
    Dwarf_Off offset = 0;
    Dwarf_Unsigned value = 0, n = 0, global = 0;
    Dwarf_Rnglists_Head head = NULL;
    int res = form == DW_FORM_rnglistx ? dwarf_formudata(attribute, &value, &error)
                                       : dwarf_global_formref(attribute, &offset, &error);
    if (res == DW_DLV_OK && form != DW_FORM_rnglistx)
        value = offset;
    if (res == DW_DLV_OK)
        res = dwarf_rnglists_get_rle_head(attribute, form, value, &head, &n, &global, &error);
    hs_status status = HS_OK;
    for (Dwarf_Unsigned i = 0; res == DW_DLV_OK && i < n && i < ENTRY_MAX_RANGES; i++) {
        unsigned length = 0, code = 0;
        Dwarf_Unsigned raw1 = 0, raw2 = 0, begin = 0, end = 0;
        Dwarf_Bool unavailable = 0;
        res = dwarf_get_rnglists_entry_fields_a(head, i, &length, &code, &raw1, &raw2, &unavailable,
                                                &begin, &end, &error);
        bool is_base = code == DW_RLE_base_address || code == DW_RLE_base_addressx;
        if (res != DW_DLV_OK || code == DW_RLE_end_of_list || status != HS_OK)
            break;
        if (!is_base && !unavailable)
            status = range_add(sink, begin, end, err);
    }
    if (head != NULL)
        dwarf_dealloc_rnglists_head(head);
    hs_dwarf_damage_(dwarf, &error);
    return status;
}

/* Reads the ranges of DWARF 2 to 4: .debug_ranges, relative to the unit's low address. */
static hs_status ranges_old(struct hs_dwarf *dwarf, Dwarf_Die die, Dwarf_Attribute attribute,
                            const struct range_sink *sink, struct hs_error *err)
{
    Dwarf_Error error = NULL;
    Dwarf_Off offset = 0, real = 0;
    Dwarf_Unsigned n_bytes = 0;
    Dwarf_Ranges *ranges = NULL;
    Dwarf_Signed n = 0;
    Dwarf_Addr base = sink->unit->low;
    int res = dwarf_global_formref(attribute, &offset, &error);
    if (res == DW_DLV_OK)
        res = dwarf_get_ranges_b(dwarf->object.dbg, offset, die, &real, &ranges, &n, &n_bytes,
                                 &error);
    hs_status status = HS_OK;
    for (Dwarf_Signed i = 0; res == DW_DLV_OK && i < n && i < ENTRY_MAX_RANGES; i++) {
        if (ranges[i].dwr_type == DW_RANGES_END || status != HS_OK)
            break;
        if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
            base = ranges[i].dwr_addr2;
        else
            status = range_add(sink, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2, err);
    }
    if (res == DW_DLV_OK)
        compat_ranges_dealloc(dwarf->object.dbg, ranges, n);
    hs_dwarf_damage_(dwarf, &error);
    return status;
}

static hs_status ranges_single(struct hs_dwarf *dwarf, Dwarf_Die die, const struct range_sink *sink,
                               struct hs_error *err)
{
    Dwarf_Error error = NULL;
    Dwarf_Addr high = 0;
    hs_addr low;
    Dwarf_Half form = 0;
    enum Dwarf_Form_Class class = DW_FORM_CLASS_UNKNOWN;
    if (!hs_dwarf_entry_low_(dwarf, die, &low))
        return HS_OK;
    int res = dwarf_highpc_b(die, &high, &form, &class, &error);
    hs_dwarf_damage_(dwarf, &error);
    if (res != DW_DLV_OK)
        return HS_OK;
    if (class == DW_FORM_CLASS_CONSTANT && __builtin_add_overflow(low, high, &high))
        return HS_OK;
    return range_add(sink, low, high, err);
}

hs_status hs_dwarf_entry_ranges_(struct hs_dwarf *dwarf, const struct dwarf_unit *unit,
                                 Dwarf_Die die, dwarf_range_add *add, void *context,
                                 struct hs_error *err)
{
    struct range_sink sink = {unit, add, context};
    Dwarf_Attribute attribute = entry_attribute(dwarf, die, DW_AT_ranges);
    if (attribute == NULL)
        return ranges_single(dwarf, die, &sink, err);
    Dwarf_Error error = NULL;
    Dwarf_Half form = 0;
    hs_status status = HS_OK;
    if (dwarf_whatform(attribute, &form, &error) == DW_DLV_OK)
        status = unit->version >= 5 ? ranges_new(dwarf, attribute, form, &sink, err)
                                    : ranges_old(dwarf, die, attribute, &sink, err);
    hs_dwarf_damage_(dwarf, &error);
    dwarf_dealloc_attribute(attribute);
    return status;
}
