/* The unit of an address: by .debug_aranges (DWARF 5, 6.1.2) and by what units say of themselves.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "directory.h"
#include "directory_names.h"

enum { ARANGES_HEAD_BYTES = 32, ARANGES_WALK_BACK = 32 }; /* ranges nested in the one looked for */

struct code_adding {
    struct debug_info *info;
    uint32_t unit;
};

static bool unit_visit(void *context, hs_addr begin, hs_addr end)
{
    const struct code_adding *adding = context;
    struct debug_info *info = adding->info;
    struct hs_error err = HS_ERROR_INIT;
    if (HS_GROW(&info->ranges, &info->ranges_capacity, info->n_ranges + 1, &err) != HS_OK) {
        info->is_out_of_memory = true;
        return false;
    }
    info->ranges[info->n_ranges++] = (struct debug_range){begin, end, adding->unit};
    return true;
}

struct aranges_set {
    uint64_t unit, first, end; /* offset of the unit, of the first pair, of the end */
};

/* Reads the header at `at`; false when the section has no more that can be used. */
static bool set_read(struct debug_info *info, uint64_t at, struct aranges_set *ret)
{
    const struct elf_view *view = &info->sections[DEBUG_ARANGES];
    struct hs_cursor c = hs_cursor_make(view->bytes, view->n_bytes);
    hs_debug_need_(info, DEBUG_ARANGES, at, ARANGES_HEAD_BYTES);
    hs_cursor_seek(&c, (size_t)at);
    uint64_t n = hs_cursor_u32(&c);
    bool is_long = n == UINT32_MAX;
    if (is_long)
        n = hs_cursor_u64(&c);
    if (c.failed || n > hs_cursor_left(&c))
        return false;
    ret->end = c.at + n;
    uint16_t version = hs_cursor_u16(&c);
    ret->unit = is_long ? hs_cursor_u64(&c) : hs_cursor_u32(&c);
    uint8_t n_address = hs_cursor_u8(&c), n_segment = hs_cursor_u8(&c);
    ret->first = at + ((c.at - at + 15) & ~UINT64_C(15)); /* pairs are aligned to their size */
    return !c.failed && version == 2 && n_address == 8 && n_segment == 0;
}

void hs_directory_ranges_(struct debug_info *info, uint64_t *told)
{
    struct aranges_set set;
    for (uint64_t at = 0; at < info->sections[DEBUG_ARANGES].n_bytes && !hs_debug_is_spent_(info);
         at = set.end) {
        if (!set_read(info, at, &set)) {
            info->n_damaged++;
            return;
        }
        size_t unit = hs_directory_unit_at_(info, set.unit);
        struct code_adding adding = {info, (uint32_t)unit};
        if (unit == info->n_units) {
            info->n_damaged++;
            continue;
        }
        for (uint64_t pair = set.first; pair + 16 <= set.end && !hs_debug_is_spent_(info);
             pair += 16) {
            hs_addr begin = hs_directory_number_(info, DEBUG_ARANGES, pair, 8);
            uint64_t n = hs_directory_number_(info, DEBUG_ARANGES, pair + 8, 8);
            if (begin == 0 || n == 0 || n > UINT64_MAX - begin)
                continue; /* the end, or a section that the linker left out */
            if (!unit_visit(&adding, begin, begin + n))
                return;
            told[unit / 64] |= UINT64_C(1) << unit % 64;
        }
        hs_debug_trim_(info);
    }
}

static int range_order(const void *a, const void *b)
{
    const struct debug_range *r = a, *s = b;
    if (r->begin != s->begin)
        return r->begin < s->begin ? -1 : 1;
    return (r->unit > s->unit) - (r->unit < s->unit);
}

/* Adds the ranges of the units that `told` (which may be NULL) does not have. */
static void ranges_of_roots(struct debug_info *info, const uint64_t *told)
{
    for (size_t i = 0; i < info->n_units; i++) {
        struct debug_entry root;
        struct code_adding adding = {info, (uint32_t)i};
        if (told != NULL && (told[i / 64] >> i % 64 & 1) != 0)
            continue;
        if (hs_debug_unit_load_(info, &info->units[i]) &&
            hs_entry_read_(info, info->units[i].root, &root))
            hs_entry_ranges_(info, &root, unit_visit, &adding);
        hs_debug_trim_(info);
    }
    if (info->n_ranges > 0)
        qsort(info->ranges, info->n_ranges, sizeof(*info->ranges), range_order);
}

static void ranges_read(struct debug_info *info)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto_free uint64_t *told = NULL;
    info->ranges_from = RANGES_OF_ROOTS;
    if (info->sections[DEBUG_ARANGES].n_bytes > 0 &&
        HS_ALLOC(&told, info->n_units / 64 + 1, &err) == HS_OK) {
        info->ranges_from = RANGES_OF_TABLES;
        hs_directory_ranges_(info, told);
    }
    ranges_of_roots(info, told);
}

bool hs_debug_read_roots_(struct debug_info *info)
{
    if (info->ranges_from == RANGES_OF_ROOTS)
        return false;
    info->ranges_from = RANGES_OF_ROOTS;
    info->n_ranges = 0;
    ranges_of_roots(info, NULL);
    return true;
}

struct debug_unit *hs_debug_unit_at_(struct debug_info *info, hs_addr vaddr)
{
    if (info->ranges_from == RANGES_NOT_READ)
        ranges_read(info);
    size_t low = HS_FIRST_ABOVE(info->ranges, info->n_ranges, begin, vaddr);
    for (size_t back = 0; back < ARANGES_WALK_BACK && back < low; back++) {
        struct debug_range *range = &info->ranges[low - 1 - back];
        if (vaddr >= range->end)
            continue;
        struct debug_unit *unit = &info->units[range->unit];
        if (unit->split != 0)
            unit = &info->units[unit->split - 1];
        return hs_debug_unit_load_(info, unit) ? unit : NULL;
    }
    return NULL;
}
