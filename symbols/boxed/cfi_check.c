#include "cfi_check.h"

#include <string.h>

#include "base/bisect.h"
#include "base/cursor.h"

enum {
    CHECK_MAX_REMEMBERED = 64, /* nested remember_state; compilers make 1 */
    CHECK_ENCODING_PCREL = 0x10,
    CHECK_MAX_STEPS = 1 << 28,
};

struct check_cie {
    uint64_t offset;  /* of its length field */
    uint8_t encoding; /* of FDE addresses */
    bool has_data;    /* 'z': FDEs carry augmentation data */
};

struct check {
    const struct dwarf_section *section;
    bool is_eh;
    struct check_cie *cies; /* owned, ascending */
    size_t n_cies, capacity;
    const struct check_cie *last;
    uint64_t n_switches; /* FDEs whose CIE is not that of the FDE before */
};

/* Operands of DW_CFA_*, from 0: r register, u and s LEB128, b block, 1 2 4 8 bytes; "x" unknown.
 * set_loc takes an encoded pointer and is refused: no x86-64 compiler makes it. */
static const char *const operand_kinds[] = {
    [DW_CFA_nop] = "",
    [DW_CFA_set_loc] = "x",
    [DW_CFA_advance_loc1] = "1",
    [DW_CFA_advance_loc2] = "2",
    [DW_CFA_advance_loc4] = "4",
    [DW_CFA_offset_extended] = "ru",
    [DW_CFA_restore_extended] = "r",
    [DW_CFA_undefined] = "r",
    [DW_CFA_same_value] = "r",
    [DW_CFA_register] = "rr",
    [DW_CFA_remember_state] = "",
    [DW_CFA_restore_state] = "",
    [DW_CFA_def_cfa] = "ru",
    [DW_CFA_def_cfa_register] = "r",
    [DW_CFA_def_cfa_offset] = "u",
    [DW_CFA_def_cfa_expression] = "b",
    [DW_CFA_expression] = "rb",
    [DW_CFA_offset_extended_sf] = "rs",
    [DW_CFA_def_cfa_sf] = "rs",
    [DW_CFA_def_cfa_offset_sf] = "s",
    [DW_CFA_val_offset] = "ru",
    [DW_CFA_val_offset_sf] = "x", /* libdwarf of 2021 applies it to the wrong register */
    [DW_CFA_val_expression] = "rb",
    [DW_CFA_GNU_args_size] = "u",
};

static bool check_operand(struct hs_cursor *c, char kind)
{
    switch (kind) {
    case 'r':
        return hs_cursor_varint(c) < CFI_N_COLUMNS && !c->failed;
    case 'u':
    case 's': /* the same bytes, read as signed */
        hs_cursor_varint(c);
        return !c->failed;
    case 'b': {
        uint64_t n = hs_cursor_varint(c);
        if (c->failed || n > hs_cursor_left(c))
            return false;
        hs_cursor_skip(c, (size_t)n);
        return true;
    }
    case '1':
    case '2':
    case '4':
        hs_cursor_skip(c, (size_t)(kind - '0'));
        return !c->failed;
    default:
        return false;
    }
}

/* A frame program: known operations, operands inside, states restored only after remembered. */
static bool check_program(struct hs_cursor c)
{
    int remembered = 0;
    while (hs_cursor_left(&c) > 0) {
        uint8_t op = hs_cursor_u8(&c);
        const char *kinds = NULL;
        if (op >= 0x40) /* advance_loc, offset and restore carry their operand in the low bits */
            kinds = op >> 6 == 2 ? "u" : "";
        else if (op < sizeof(operand_kinds) / sizeof(operand_kinds[0]))
            kinds = operand_kinds[op];
        if (kinds == NULL)
            return false;
        remembered += (op == DW_CFA_remember_state) - (op == DW_CFA_restore_state);
        if (remembered < 0 || remembered > CHECK_MAX_REMEMBERED)
            return false;
        for (; *kinds != '\0'; kinds++)
            if (!check_operand(&c, *kinds))
                return false;
    }
    return true;
}

/* Returns the size of a pointer in an encoding that we and libdwarf read alike, or 0. */
static size_t check_encoded_size(uint8_t encoding)
{
    switch (encoding & ~CHECK_ENCODING_PCREL) {
    case DW_EH_PE_absptr:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
        return 8;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
        return 4;
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
        return 2;
    default:
        return 0;
    }
}

/* Checks an augmentation: "" or "z" and any of L, P, R, S; the data of each letter inside its
 * block. */
static bool check_augmentation(struct hs_cursor *c, const char *letters, struct check_cie *cie)
{
    cie->encoding = DW_EH_PE_absptr;
    cie->has_data = letters[0] == 'z';
    if (letters[0] == '\0')
        return true;
    if (!cie->has_data)
        return false;
    uint64_t n = hs_cursor_varint(c);
    if (c->failed || n > hs_cursor_left(c))
        return false;
    struct hs_cursor data = hs_cursor_make(hs_cursor_bytes(c, (size_t)n), (size_t)n);
    for (letters++; *letters != '\0'; letters++) {
        if (*letters == 'S')
            continue;
        if (strchr("LPR", *letters) == NULL)
            return false;
        uint8_t encoding = hs_cursor_u8(&data);
        if (*letters == 'R')
            cie->encoding = encoding;
        if (*letters == 'P') /* the pointer itself; bit 7 says only that it is indirect */
            hs_cursor_skip(&data, check_encoded_size(encoding & 0x7f));
        if (data.failed || (*letters == 'P' && check_encoded_size(encoding & 0x7f) == 0))
            return false;
    }
    return check_encoded_size(cie->encoding) >= 4;
}

static bool check_cie(struct check *check, struct hs_cursor c, uint64_t offset,
                      struct check_cie *ret)
{
    *ret = (struct check_cie){.offset = offset};
    uint8_t version = hs_cursor_u8(&c);
    const char *letters = hs_cursor_string(&c);
    bool is_4 = version == 4 && !check->is_eh;
    if (letters == NULL || (version != 1 && version != 3 && !is_4))
        return false;
    if (is_4 && (hs_cursor_u8(&c) != 8 || hs_cursor_u8(&c) != 0)) /* address, segment size */
        return false;
    hs_cursor_varint(&c); /* code and data alignment */
    hs_cursor_varint(&c);
    uint64_t return_column = version == 1 ? hs_cursor_u8(&c) : hs_cursor_varint(&c);
    return !c.failed && return_column == 16 && check_augmentation(&c, letters, ret) &&
           check_program(c);
}

static const struct check_cie *check_cie_at(const struct check *check, uint64_t offset)
{
    size_t low = HS_FIRST_FROM(check->cies, check->n_cies, offset, offset);
    return low < check->n_cies && check->cies[low].offset == offset ? &check->cies[low] : NULL;
}

static bool check_fde(const struct check_cie *cie, struct hs_cursor c)
{
    hs_cursor_skip(&c, 2 * check_encoded_size(cie->encoding));
    if (cie->has_data) {
        uint64_t n = hs_cursor_varint(&c);
        if (c.failed || n > hs_cursor_left(&c))
            return false;
        hs_cursor_skip(&c, (size_t)n);
    }
    return !c.failed && check_program(c);
}

/* Checks the records in one pass: the CIEs when `cies`, else the FDEs, whose CIE may come later. */
static hs_status check_records(struct check *check, bool cies, struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(check->section->bytes, check->section->n_bytes);
    while (hs_cursor_left(&c) >= 4) {
        uint64_t offset = c.at, n = hs_cursor_u32(&c);
        if (n == 0 && check->is_eh)
            break; /* the terminator */
        struct hs_cursor record = hs_cursor_make(hs_cursor_bytes(&c, (size_t)n), (size_t)n);
        uint32_t id = record.bytes == NULL ? 0 : hs_cursor_u32(&record);
        bool is_cie = id == (check->is_eh ? 0 : UINT32_MAX), is_good = !c.failed && !record.failed;
        if (is_good && is_cie && cies) {
            HS_TRY(HS_GROW(&check->cies, &check->capacity, check->n_cies + 1, err));
            is_good = check_cie(check, record, offset, &check->cies[check->n_cies++]);
        } else if (is_good && !is_cie && !cies) {
            /* In .eh_frame the pointer counts back from itself. */
            const struct check_cie *cie = check_cie_at(check, check->is_eh ? offset + 4 - id : id);
            is_good = cie != NULL && check_fde(cie, record);
            check->n_switches += cie != check->last;
            check->last = cie;
        }
        if (!is_good)
            return hs_fail(err, HS_FORMAT, "frame record at byte %llu of '%s' is damaged",
                           (unsigned long long)offset, check->section->name);
    }
    return HS_OK;
}

hs_status hs_cfi_check_(const struct dwarf_section *section, bool is_eh, struct hs_error *err)
{
    struct check check = {.section = section, .is_eh = is_eh};
    hs_status status = check_records(&check, true, err);
    if (status == HS_OK)
        status = check_records(&check, false, err);
    /* At each switch libdwarf walks the list of CIEs; linkers merge them down to a handful. */
    if (status == HS_OK && check.n_switches * check.n_cies > CHECK_MAX_STEPS)
        status = hs_fail(err, HS_LIMIT, "'%s' switches between %zu frame headers too often",
                         section->name, check.n_cies);
    hs_free(check.cies);
    return status;
}
