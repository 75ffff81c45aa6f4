/* Reading, naming and adding: what every walk over roots does. */
#include <stdarg.h>
#include <stdio.h>

#include "roots.h"

enum {
    COPY_WINDOW_BYTES = 16 * 1024, /* small structures of malloc memory lie together */
    NAME_BYTES = 1024,
};

static const uint64_t max_list_cells = UINT64_C(1) << 28;
/* The bounds of the allowance: about 10 s, however much a program has mapped. */
static const uint64_t max_words = UINT64_C(1) << 28, spare_words = UINT64_C(1) << 18;

void hs_walk_allow(struct hs_root_walk *walk)
{
    const struct hs_target *target = walk->rt->target;
    uint64_t n_words = 0;

    for (size_t i = 0; i < target->n_mappings; i++) {
        if (target->mappings[i].readable)
            n_words += (target->mappings[i].end - target->mappings[i].begin) / HS_WORD;
    }
    walk->n_spent = 0;
    walk->allowance = n_words < max_words / 2 ? 2 * n_words + spare_words : max_words;
}

bool hs_walk_spend(struct hs_root_walk *walk, uint64_t n)
{
    if (n > walk->allowance - walk->n_spent) {
        walk->n_spent = walk->allowance;
        return false;
    }
    walk->n_spent += n;
    return true;
}

void hs_walk_need(struct hs_root_walk *walk, hs_addr address, uint64_t n_bytes)
{
    if (!hs_walk_is_copying(walk) || walk->status != HS_OK)
        return;
    hs_addr end;
    if (__builtin_add_overflow(address, n_bytes, &end))
        return;
    while (address < end) {
        const struct hs_mapping *mapping = hs_target_mapping_at(walk->rt->target, address);
        if (mapping == NULL || !mapping->readable)
            return;
        hs_addr from = address & ~(hs_addr)(COPY_WINDOW_BYTES - 1);
        hs_addr to = (end + COPY_WINDOW_BYTES - 1) & ~(hs_addr)(COPY_WINDOW_BYTES - 1);
        if (from < mapping->begin)
            from = mapping->begin;
        if (to > mapping->end || to < end)
            to = mapping->end;
        walk->status = hs_image_copy(walk->rt->image, walk->rt->target, from, to, walk->err);
        if (walk->status != HS_OK)
            return;
        address = to;
    }
}

bool hs_walk_u64(struct hs_root_walk *walk, hs_addr address, uint64_t *ret)
{
    bool may = hs_walk_spend(walk, 1);
    if (may && hs_image_u64(walk->rt->image, address, ret))
        return true;
    if (may && hs_walk_is_copying(walk)) {
        hs_walk_need(walk, address, sizeof *ret);
        return hs_image_u64(walk->rt->image, address, ret);
    }
    walk->n_unreadable++;
    return false;
}

bool hs_walk_u32(struct hs_root_walk *walk, hs_addr address, uint32_t *ret)
{
    bool may = hs_walk_spend(walk, 1);
    if (may && hs_image_u32(walk->rt->image, address, ret))
        return true;
    if (may && hs_walk_is_copying(walk)) {
        hs_walk_need(walk, address, sizeof *ret);
        return hs_image_u32(walk->rt->image, address, ret);
    }
    walk->n_unreadable++;
    return false;
}

hs_status hs_walk_name(struct hs_root_walk *walk, hs_str *ret, const char *format, ...)
{
    char text[NAME_BYTES];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n < 0)
        text[0] = '\0';
    return hs_strtab_add(walk->rt->strings, text, ret, walk->err);
}

struct hs_root_leaf hs_walk_leaf(enum hs_root_kind kind)
{
    return (struct hs_root_leaf){
        .root = {.target = HS_NO_NODE, .field = HS_NO_FIELD, .kind = (uint8_t)kind}};
}

hs_status hs_walk_add(struct hs_root_walk *walk, uint64_t value, struct hs_root_leaf *leaf)
{
    if (!hs_block_of_value(walk->blocks, value, &leaf->target))
        return HS_OK;
    return hs_roots_add(&walk->roots->roots, leaf, walk->err);
}

hs_status hs_walk_add_of_thread(struct hs_root_walk *walk, const struct hs_ocaml_thread *thread,
                                unsigned offset_bytes, const char *what)
{
    uint64_t value;
    struct hs_root_leaf leaf = hs_walk_leaf(HS_ROOT_HOOK);
    leaf.root.address = thread->info + offset_bytes;
    if (!hs_walk_u64(walk, leaf.root.address, &value) || hs_walk_is_copying(walk))
        return HS_OK;
    leaf.root.thread = (uint32_t)thread->tid;
    HS_TRY(hs_walk_name(walk, &leaf.root.name, "%s of thread %d", what, (int)thread->tid));
    HS_TRY(hs_walk_name(walk, &leaf.group_module, "thread %d", (int)thread->tid));
    HS_TRY(hs_walk_name(walk, &leaf.group_unit, "systhreads"));
    return hs_walk_add(walk, value, &leaf);
}

bool hs_cycle_found(struct hs_cycle *cycle, hs_addr cell)
{
    if (cell == cycle->saved && cycle->steps != 0)
        return true;
    if (cycle->steps == cycle->power) {
        cycle->saved = cell;
        cycle->power = cycle->power == 0 ? 1 : 2 * cycle->power;
    }
    return ++cycle->steps > max_list_cells;
}

bool hs_walk_list_ends(struct hs_root_walk *walk, struct hs_cycle *cycle, hs_addr cell)
{
    if (cell == 0)
        return true;
    bool is_damaged = hs_cycle_found(cycle, cell);
    walk->n_damaged += is_damaged;
    return is_damaged;
}
