/* Rules from .eh_frame: the table of .eh_frame_hdr leads to the description of a function, and its
 * instructions are run up to the address. What is more than compilers make of ordinary functions
 * is "the tables do not say". The tables are mapped and belong to code that runs, so they are
 * believed within the bounds of their module. */
#include "record_unwind.h"

#include <dlfcn.h>
#include <string.h>

#define RBP 6U
#define RSP 7U
#define RIP 16U
#define DEPTH_MAX 8U
#define STATIC_TABLES_BYTES (64U << 20)

struct bytes {
    const uint8_t *at, *end;
    bool is_bad;
};

/* The part of a row that we need. */
struct row {
    struct hs_record_rule rule;
    bool is_outermost; /* has no return address */
    bool is_other;     /* the CFA, or where rbp is, is none of those that we know */
};

struct frame_info {
    uint64_t code_align, begin, end;
    int64_t data_align;
    uint8_t encoding; /* of addresses */
    bool has_augmentation, is_signal, is_bad;
    struct bytes instructions; /* of the CIE, then of the FDE */
};

struct machine {
    struct row row, initial, stack[DEPTH_MAX];
    unsigned depth;
};

static uint64_t fixed(struct bytes *in, unsigned n_bytes)
{
    uint64_t value = 0;

    if ((size_t)(in->end - in->at) < n_bytes) {
        in->is_bad = true;
        return 0;
    }
    memcpy(&value, in->at, n_bytes);
    in->at += n_bytes;
    return value;
}

static uint64_t uleb(struct bytes *in)
{
    uint64_t value = 0, byte = 0x80;

    for (unsigned shift = 0; (byte & 0x80) != 0 && shift < 64; shift += 7) {
        byte = fixed(in, 1);
        value |= (byte & 0x7f) << shift;
    }
    return value;
}

static int64_t sleb(struct bytes *in)
{
    uint64_t value = 0, byte = 0x80;
    unsigned shift = 0;

    for (; (byte & 0x80) != 0 && shift < 64; shift += 7) {
        byte = fixed(in, 1);
        value |= (byte & 0x7f) << shift;
    }
    if (shift < 64 && (byte & 0x40) != 0)
        value |= ~UINT64_C(0) << shift;
    return (int64_t)value;
}

/* Reads DW_EH_PE_*: absolute or relative to the place, of 4 or 8 bytes. */
static uint64_t encoded(struct bytes *in, uint8_t encoding)
{
    uint64_t base = (encoding & 0x70) == 0x10 ? (uint64_t)(uintptr_t)in->at : 0, value;

    switch (encoding & 0x0f) {
    case 0x03: /* udata4 */
        value = fixed(in, 4);
        break;
    case 0x0b: /* sdata4 */
        value = (uint64_t)(int64_t)(int32_t)fixed(in, 4);
        break;
    case 0x00:
    case 0x04:
    case 0x0c:
        value = fixed(in, 8);
        break;
    default:
        in->is_bad = true;
        return 0;
    }
    if ((encoding & 0x70) > 0x10 || (encoding & 0x80) != 0)
        in->is_bad = true;
    return base + value;
}

/* Reads an entry of a 32-bit length: the others belong to sections of 4 GiB. */
static struct bytes entry_at(const uint8_t *at, const uint8_t *end)
{
    struct bytes in = {at, end, at + 4 > end};
    uint64_t length = fixed(&in, 4);

    if (length == 0 || length >= 0xfffffff0 || length > (uint64_t)(end - in.at))
        in.is_bad = true;
    else
        in.end = in.at + length;
    return in;
}

static void read_augmentation(struct bytes *in, const char *letters, struct frame_info *info)
{
    for (; *letters != '\0'; letters++) {
        switch (*letters) {
        case 'R':
            info->encoding = (uint8_t)fixed(in, 1);
            break;
        case 'P': {
            uint8_t encoding = (uint8_t)fixed(in, 1) & 0x7f;

            (void)encoded(in, encoding);
            break;
        }
        case 'L':
            (void)fixed(in, 1);
            break;
        case 'S':
            info->is_signal = true;
            break;
        default:
            in->is_bad = true;
        }
    }
}

static bool read_cie(struct bytes in, struct frame_info *info)
{
    uint64_t id = fixed(&in, 4), version = fixed(&in, 1), n_bytes;
    const char *letters = (const char *)in.at;
    size_t n_letters = in.is_bad ? 0 : strnlen(letters, (size_t)(in.end - in.at));
    const uint8_t *instructions;

    in.at += n_letters + 1;
    if (in.is_bad || id != 0 || (version != 1 && version != 3) || in.at > in.end)
        return false;
    info->code_align = uleb(&in);
    info->data_align = sleb(&in);
    if ((version == 1 ? fixed(&in, 1) : uleb(&in)) != RIP)
        return false;
    info->has_augmentation = letters[0] == 'z';
    if (!info->has_augmentation)
        return false;
    n_bytes = uleb(&in);
    if (in.is_bad || n_bytes > (uint64_t)(in.end - in.at))
        return false;
    instructions = in.at + n_bytes;
    read_augmentation(&in, letters + 1, info);
    info->instructions = (struct bytes){instructions, in.end, false};
    return !in.is_bad;
}

/* Reads CFA = *(rbp + offset), or rbp kept at rbp + offset: the two that gcc makes where main or
 * vector code aligns its stack. */
static bool rbp_expression(struct bytes *in, bool with_deref, int64_t *ret)
{
    uint64_t n_bytes = uleb(in);
    struct bytes block = {in->at, in->at + n_bytes, false};

    if (in->is_bad || n_bytes > (uint64_t)(in->end - in->at)) {
        in->is_bad = true;
        return false;
    }
    in->at = block.end;
    if (fixed(&block, 1) != 0x70 + RBP)
        return false;
    *ret = sleb(&block);
    if (with_deref && fixed(&block, 1) != 0x06)
        return false;
    return !block.is_bad && block.at == block.end;
}

static void set_cfa(struct machine *machine, uint64_t reg, int64_t offset)
{
    machine->row.is_other = (reg != RSP && reg != RBP) || offset != (int32_t)offset;
    machine->row.rule.cfa = reg == RSP ? HS_RECORD_CFA_RSP : HS_RECORD_CFA_RBP;
    machine->row.rule.cfa_offset = (int32_t)offset;
}

static void set_saved(struct machine *machine, uint64_t reg, uint8_t where, int64_t offset)
{
    if (reg == RIP && where == HS_RECORD_RBP_AT_CFA && offset != -8)
        machine->row.is_other = true;
    if (reg != RBP)
        return;
    machine->row.rule.rbp = where;
    machine->row.rule.rbp_offset = (int16_t)offset;
    if (offset != (int16_t)offset)
        machine->row.is_other = true;
}

static void restore(struct machine *machine, uint64_t reg)
{
    if (reg == RBP) {
        machine->row.rule.rbp = machine->initial.rule.rbp;
        machine->row.rule.rbp_offset = machine->initial.rule.rbp_offset;
    }
    if (reg == RIP)
        machine->row.is_outermost = machine->initial.is_outermost;
}

/* Instructions that change where a register is. */
static void run_register(struct machine *machine, struct bytes *in, uint8_t op,
                         const struct frame_info *info)
{
    uint64_t reg = uleb(in);
    int64_t offset = 0;

    switch (op) {
    case 0x05: /* offset_extended */
        set_saved(machine, reg, HS_RECORD_RBP_AT_CFA, (int64_t)uleb(in) * info->data_align);
        break;
    case 0x11: /* offset_extended_sf */
        set_saved(machine, reg, HS_RECORD_RBP_AT_CFA, sleb(in) * info->data_align);
        break;
    case 0x06: /* restore_extended */
        restore(machine, reg);
        break;
    case 0x07: /* undefined */
        if (reg == RIP)
            machine->row.is_outermost = true;
        break;
    case 0x08: /* same_value */
        set_saved(machine, reg, HS_RECORD_RBP_SAME, 0);
        break;
    case 0x09: /* register */
        (void)uleb(in);
        if (reg == RBP || reg == RIP)
            machine->row.is_other = true;
        break;
    case 0x10: /* expression */
    case 0x16: /* val_expression */
        if (rbp_expression(in, false, &offset) && op == 0x10)
            set_saved(machine, reg, HS_RECORD_RBP_AT_RBP, offset);
        else if (reg == RBP || reg == RIP)
            machine->row.is_other = true;
        break;
    default:
        in->is_bad = true;
    }
}

/* Instructions that change how the CFA is computed. */
static void run_cfa(struct machine *machine, struct bytes *in, uint8_t op,
                    const struct frame_info *info)
{
    uint64_t reg = machine->row.rule.cfa == HS_RECORD_CFA_RSP ? RSP : RBP;
    int64_t offset = machine->row.rule.cfa_offset;

    switch (op) {
    case 0x0c: /* def_cfa */
        reg = uleb(in);
        set_cfa(machine, reg, (int64_t)uleb(in));
        break;
    case 0x12: /* def_cfa_sf */
        reg = uleb(in);
        set_cfa(machine, reg, sleb(in) * info->data_align);
        break;
    case 0x0d: /* def_cfa_register */
        set_cfa(machine, uleb(in), offset);
        break;
    case 0x0e: /* def_cfa_offset */
    case 0x13: /* def_cfa_offset_sf */
        offset = op == 0x0e ? (int64_t)uleb(in) : sleb(in) * info->data_align;
        machine->row.rule.cfa_offset = (int32_t)offset;
        break;
    default: /* def_cfa_expression */
        machine->row.is_other = !rbp_expression(in, true, &offset) || offset != (int32_t)offset;
        machine->row.rule.cfa = HS_RECORD_CFA_RBP_DEREF;
        machine->row.rule.cfa_offset = (int32_t)offset;
    }
}

static void run_other(struct machine *machine, struct bytes *in, uint8_t op,
                      const struct frame_info *info)
{
    switch (op) {
    case 0x00: /* nop */
        break;
    case 0x0a: /* remember_state */
        if (machine->depth == DEPTH_MAX)
            in->is_bad = true;
        else
            machine->stack[machine->depth++] = machine->row;
        break;
    case 0x0b: /* restore_state */
        if (machine->depth == 0)
            in->is_bad = true;
        else
            machine->row = machine->stack[--machine->depth];
        break;
    case 0x2e: /* GNU_args_size */
        (void)uleb(in);
        break;
    default:
        if ((op >= 0x0c && op <= 0x0f) || op == 0x12 || op == 0x13)
            run_cfa(machine, in, op, info);
        else
            run_register(machine, in, op, info);
    }
}

/* Runs instructions up to, and without, what holds behind `ip`. */
static void run(struct machine *machine, struct bytes in, const struct frame_info *info,
                uint64_t ip)
{
    uint64_t at = info->begin;

    while (in.at < in.end && !in.is_bad) {
        uint8_t op = (uint8_t)fixed(&in, 1), low = op & 0x3f;
        uint64_t delta = 0;

        switch (op >> 6) {
        case 1:
            delta = low;
            break;
        case 2:
            set_saved(machine, low, HS_RECORD_RBP_AT_CFA, (int64_t)uleb(&in) * info->data_align);
            break;
        case 3:
            restore(machine, low);
            break;
        default:
            if (op >= 0x02 && op <= 0x04) /* advance_loc1, 2, 4 */
                delta = fixed(&in, 1U << (op - 0x02));
            else
                run_other(machine, &in, op, info);
        }
        at += delta * info->code_align;
        if (at > ip)
            break;
    }
    if (in.is_bad)
        machine->row.is_other = true;
}

/* The function that holds `ip`, by bisection; NULL when none does. */
static const uint8_t *find_fde(const uint8_t *header, const uint8_t *end, uint64_t ip)
{
    struct bytes in = {header, end, false};
    uint64_t head = fixed(&in, 4), base = (uint64_t)(uintptr_t)header, n, low = 0, high;
    const int32_t *pairs;

    /* version 1, a relative pointer, a 4-byte count, pairs of 4 bytes relative to the header */
    if (in.is_bad || head != 0x3b031b01)
        return NULL;
    (void)fixed(&in, 4);
    n = high = fixed(&in, 4);
    pairs = (const void *)in.at;
    if (in.is_bad || n == 0 || n > (uint64_t)(end - in.at) / 8)
        return NULL;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (base + (uint64_t)(int64_t)pairs[2 * middle] <= ip)
            low = middle;
        else
            high = middle;
    }
    return (const void *)(uintptr_t)(base + (uint64_t)(int64_t)pairs[2 * low + 1]);
}

static bool read_fde(const uint8_t *begin, const uint8_t *end, const uint8_t *at, uint64_t ip,
                     struct frame_info *info, struct bytes *ret)
{
    struct bytes in, cie;
    uint64_t back, n_bytes;
    const uint8_t *here;

    if (at == NULL || at < begin || at >= end)
        return false;
    in = entry_at(at, end);
    here = in.at;
    back = fixed(&in, 4);
    if (in.is_bad || back == 0 || back > (uint64_t)(here - begin))
        return false;
    cie = entry_at(here - back, end);
    if (cie.is_bad || !read_cie(cie, info))
        return false;
    info->begin = encoded(&in, info->encoding);
    info->end = info->begin + encoded(&in, info->encoding & 0x0f);
    n_bytes = uleb(&in);
    if (in.is_bad || ip < info->begin || ip >= info->end || n_bytes > (uint64_t)(in.end - in.at))
        return false;
    in.at += n_bytes;
    *ret = in;
    return true;
}

#if defined(DLFO_STRUCT_HAS_EH_DBASE)
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

static bool module_of(uint64_t ip, const uint8_t **ret_begin, const uint8_t **ret_end,
                      const uint8_t **ret_header)
{
    struct dl_find_object object;

    if (_dl_find_object == NULL || _dl_find_object((void *)(uintptr_t)ip, &object) != 0 ||
        object.dlfo_eh_frame == NULL)
        return false;
    *ret_begin = object.dlfo_map_start;
    *ret_end = object.dlfo_map_end;
    *ret_header = object.dlfo_eh_frame;
    /* A program without a loader counts only its code as its map. */
    if (*ret_header < *ret_begin)
        *ret_begin = *ret_header;
    if (*ret_header >= *ret_end)
        *ret_end = *ret_header + STATIC_TABLES_BYTES;
    return true;
}
#else
static bool module_of(uint64_t ip, const uint8_t **ret_begin, const uint8_t **ret_end,
                      const uint8_t **ret_header)
{
    (void)ip, (void)ret_begin, (void)ret_end, (void)ret_header;
    return false;
}
#endif

struct hs_record_rule hs_record_rule_of(uint64_t ip)
{
    struct hs_record_rule none = {.cfa = HS_RECORD_CFA_NONE};
    struct frame_info info = {.encoding = 0};
    struct machine machine = {.depth = 0};
    const uint8_t *begin, *end, *header;
    struct bytes instructions;

    if (!module_of(ip, &begin, &end, &header) ||
        !read_fde(begin, end, find_fde(header, end, ip), ip, &info, &instructions))
        return none;
    if (info.is_signal)
        return (struct hs_record_rule){.cfa = HS_RECORD_CFA_SIGNAL};
    run(&machine, info.instructions, &info, UINT64_MAX);
    machine.initial = machine.row;
    run(&machine, instructions, &info, ip);
    if (machine.row.is_outermost)
        return (struct hs_record_rule){.cfa = HS_RECORD_CFA_END};
    return machine.row.is_other ? none : machine.row.rule;
}
