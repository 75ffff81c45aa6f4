/* Places that are fixed: an address, or an offset in the thread's block. */
#include <dwarf.h>

#include "form.h"
#include "pool.h"

static bool form_is_block(uint16_t form)
{
    return form == DW_FORM_exprloc || form == DW_FORM_block1 || form == DW_FORM_block ||
           form == DW_FORM_block2 || form == DW_FORM_block4;
}

/* The first operation: an address, or a constant that is one with what follows. */
static bool place_first(struct debug_info *info, const struct debug_unit *unit, struct hs_cursor *c,
                        uint64_t *ret, bool *ret_may_be_fixed)
{
    uint8_t op = hs_cursor_u8(c);
    *ret_may_be_fixed = op == DW_OP_addr || op == DW_OP_addrx || op == DW_OP_GNU_addr_index;
    switch (op) {
    case DW_OP_addr:
    case DW_OP_const8u:
        *ret = hs_cursor_u64(c);
        return true;
    case DW_OP_const4u:
        *ret = hs_cursor_u32(c);
        return true;
    case DW_OP_addrx:
    case DW_OP_constx:
    case DW_OP_GNU_addr_index:
    case DW_OP_GNU_const_index:
        return hs_debug_indexed_address_(info, unit, hs_cursor_varint(c), ret);
    default:
        return false;
    }
}

enum ctypes_place_kind hs_ctypes_fixed_place_(struct debug_info *info,
                                              const struct debug_unit *unit,
                                              const struct debug_value *location, uint64_t *ret)
{
    struct hs_cursor c = hs_cursor_make(location->bytes, location->n_bytes);
    uint64_t place = 0;
    bool may_be_fixed = false;
    if (!form_is_block(location->form) || !place_first(info, unit, &c, &place, &may_be_fixed))
        return PLACE_NONE;
    uint8_t next = hs_cursor_left(&c) > 0 ? hs_cursor_u8(&c) : 0;
    if (next == DW_OP_plus_uconst) {
        place += hs_cursor_varint(&c);
        next = hs_cursor_left(&c) > 0 ? hs_cursor_u8(&c) : 0;
    }
    if (c.failed || hs_cursor_left(&c) > 0)
        return PLACE_NONE;
    *ret = place;
    if (next == DW_OP_form_tls_address || next == DW_OP_GNU_push_tls_address)
        return PLACE_TLS;
    return next == 0 && may_be_fixed && place != 0 ? PLACE_FIXED : PLACE_NONE;
}
