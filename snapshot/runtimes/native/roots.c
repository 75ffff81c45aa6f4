/* Variables and their slots; the one place where a word becomes a leaf. */
#include "roots.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "ends.h"
#include "flow.h"
#include "rule_lines.h"
#include "sole.h"
#include "tiers.h"

enum { ROOTS_ARRAY_DEPTH = 16 };

#define ROOTS_SKIP_BYTES (UINT64_C(1) << 18)

bool hs_native_resolve(const struct hs_native *native, uint64_t word, enum hs_pointer *ret_how,
                       struct hs_heap_block *ret)
{
    const struct hs_heap_map *map = &native->dump->heaps.map;
    uint64_t mask = native->dump->options->pointer_mask;
    enum hs_pointer how = HS_POINTER_NONE;
    if (hs_heap_map_may_hold(map, word))
        how = hs_heap_map_resolve(map, word, ret);
    if (how == HS_POINTER_NONE && (word & mask) != 0 && hs_heap_map_may_hold(map, word & ~mask))
        how = hs_heap_map_resolve(map, word & ~mask, ret);
    *ret_how = how;
    return how != HS_POINTER_NONE;
}

static hs_status add_seed(struct hs_native *native, const struct hs_root_leaf *leaf,
                          const struct hs_heap_block *block, uint64_t word,
                          const struct hs_native_chosen *to, struct hs_error *err)
{
    bool is_of_call = leaf->root.kind == HS_ROOT_STACK || leaf->root.kind == HS_ROOT_REGISTER;

    HS_TRY(HS_GROW(&native->seeds, &native->seeds_capacity, native->n_seeds + 1, err));
    native->seeds[native->n_seeds++] = (struct hs_native_seed){.at = leaf->root.address,
                                                               .block = block->begin,
                                                               .word = word,
                                                               .pointee = to->pointee,
                                                               .used_by = to->used_by,
                                                               .used = to->used,
                                                               .used_from = to->used_from,
                                                               .is_of_call = is_of_call,
                                                               .is_bare = to->is_bare};
    return HS_OK;
}

/* Tells whether a word of the loader's or libc's that leads to registered memory is a stale
 * pointer: neither has anything there, so that it is of memory that was mapped at this place
 * before, such as the loader's cache of libraries. */
static bool is_left_over(const struct hs_root_leaf *leaf, const struct hs_heap_block *block)
{
    return leaf->root.tier == HS_TIER_RUNTIME && block->span->owner == HS_OWNER_registered;
}

/* Tells whether a root is the interpreter's own, so that it keeps only what nobody else does: on a
 * stack of the program `python`, which has names for what the program has there; to one of its own
 * tables, whoever leads there; or to a part of a Python object, which no word of C keeps. */
static bool is_interpreters(const struct hs_native *native, const struct hs_interpreter *python,
                            const struct hs_root_leaf *leaf, const struct hs_heap_block *block)
{
    if (leaf->root.tier != HS_TIER_FIRM)
        return false;
    if (native->is_interpreter &&
        (leaf->root.kind == HS_ROOT_STACK || leaf->root.kind == HS_ROOT_REGISTER ||
         leaf->root.kind == HS_ROOT_TLS))
        return true;
    if (python->model == NULL)
        return false;
    return (python->model->is_own != NULL && python->model->is_own(python->state, block)) ||
           (python->model->is_part != NULL && python->model->is_part(python->state, block));
}

/* Tells whether a word in a binary's data leads into an object of Python's, or to a part of one:
 * who has an object has its address. Tables of numbers are full of such words where the heap lies
 * low, as it does beside a program that is linked to a fixed place. */
static bool is_inside(const struct hs_interpreter *python, const struct hs_root_leaf *leaf,
                      const struct hs_heap_block *block, uint64_t word)
{
    return leaf->root.kind == HS_ROOT_GLOBAL && python->model != NULL &&
           python->model->is_inside != NULL && python->model->is_inside(python->state, block, word);
}

/* Tells whether another owner of the block frees it, whatever this variable says. */
static bool is_owned_by_other(const struct hs_native *native, const struct hs_root_leaf *leaf,
                              const struct hs_heap_block *block)
{
    hs_addr owner = hs_heaps_owner(&native->dump->heaps, block);
    return owner != 0 && owner != leaf->root.address && leaf->root.tier == HS_TIER_FIRM;
}

bool hs_native_is_handle(const struct hs_native *native, hs_ctype pointee)
{
    struct hs_ctype_facts facts;
    if (native->ctypes == NULL || pointee == 0)
        return false;
    hs_ctype_facts(native->ctypes, pointee, &facts);
    return facts.is_declaration;
}

/* Tells whether a word is the end of the block before. The block that it leads to stays in reach:
 * it may yet be a pointer. */
static bool is_end_of_other(const struct hs_native *native, const struct hs_root_leaf *leaf,
                            const struct hs_native_chosen *to, const struct hs_heap_block *block)
{
    struct hs_heap_block before;
    const struct hs_ends_place place =
        hs_ends_place_of(native, to->is_alone ? 0 : leaf->root.address);
    return hs_ends_is(native, &place, block, to->is_end, &before);
}

/* Sets the class of a root's edge. One past the end, where that rule is switched off, is taken to
 * be inside. */
static void set_class(const struct hs_native *native, enum hs_pointer how, bool is_end,
                      struct hs_root *root)
{
    bool is_past = how == HS_POINTER_PAST_END && hs_native_asks(native, HS_REASON_PAST_END);

    root->edge_class = (uint8_t)(is_end                    ? HS_EDGE_GUESSED
                                 : is_past                 ? HS_EDGE_PAST_END
                                 : how == HS_POINTER_START ? HS_EDGE_EXACT
                                                           : HS_EDGE_INTERIOR);
    if (is_end || is_past)
        root->reason = is_end ? HS_REASON_END_POINTER : HS_REASON_PAST_END;
}

/* Lowers a root by what its word leads to. */
static void lower_word(const struct hs_native *native, const struct hs_interpreter *python,
                       struct hs_root_leaf *leaf, const struct hs_heap_block *block, uint64_t word)
{
    if (!hs_edge_is_sure(leaf->root.edge_class))
        return; /* doubtful, and why is known */
    if (python->model != NULL && python->model->is_left != NULL &&
        python->model->is_left(python->state, block, leaf->root.address))
        hs_root_lower(&leaf->root, HS_TIER_DOUBTFUL, HS_REASON_LEFT_BEHIND);
    else if (is_inside(python, leaf, block, word))
        hs_root_lower(&leaf->root, HS_TIER_DOUBTFUL, HS_REASON_PYTHON_PART);
    else if (is_interpreters(native, python, leaf, block))
        hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_INTERPRETER);
    else if (is_owned_by_other(native, leaf, block))
        hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_OWNED_ELSEWHERE);
    else if (leaf->root.tier == HS_TIER_RUNTIME && leaf->root.reason == HS_REASON_NONE)
        leaf->root.reason = HS_REASON_RUNTIME_TABLE;
}

static hs_status add_word(struct hs_native *native, uint64_t word, struct hs_root_leaf *leaf,
                          const struct hs_native_chosen *to, struct hs_error *err)
{
    struct hs_heap_block block;
    enum hs_pointer how;
    if (!hs_native_resolve(native, word, &how, &block))
        return HS_OK;
    const struct hs_interpreter python = hs_dump_interpreter(native->dump);
    if (leaf->root.address != 0 && python.model != NULL &&
        python.model->is_list_end(python.state, &block, leaf->root.address, word))
        return HS_OK; /* the first and the last object that Python's collector tracks */
    leaf->target = block.begin;
    bool is_end = how == HS_POINTER_START && hs_native_asks(native, HS_REASON_END_POINTER) &&
                  is_end_of_other(native, leaf, to, &block);
    if (leaf->root.edge_class != HS_EDGE_GUESSED)
        set_class(native, how, is_end, &leaf->root);
    lower_word(native, &python, leaf, &block, word);
    if (hs_edge_tier(leaf->root.edge_class) > leaf->root.tier)
        leaf->root.tier = (uint8_t)hs_edge_tier(leaf->root.edge_class);
    if (to->pointee != 0 && !is_end && !is_left_over(leaf, &block)) {
        leaf->root.certainty = HS_EXACT;
        leaf->is_handle = hs_native_is_handle(native, to->pointee);
        HS_TRY(add_seed(native, leaf, &block, word, to, err));
    }
    return hs_roots_add(&native->roots, leaf, err);
}

hs_status hs_native_add_word(struct hs_native *native, uint64_t word, struct hs_root_leaf *leaf,
                             hs_ctype pointee, struct hs_error *err)
{
    const struct hs_native_chosen to = {.pointee = pointee, .is_there = true};
    return add_word(native, word, leaf, &to, err);
}

bool hs_native_is_root_memory(const struct hs_native *native, const struct hs_heap_block *block)
{
    const struct hs_range_set *set = &native->root_ranges;
    hs_addr end = block->begin + block->n_bytes, begin, free_end;
    if (set->n == 0)
        return false;
    return !hs_range_set_next_outside(set, block->begin, end, &begin, &free_end) ||
           begin != block->begin || free_end != end;
}

/* Reduces a place in what may be an array of arrays to one in an element. False where there are no
 * such elements. */
static bool reduce_arrays(struct hs_ctypes *ctypes, hs_ctype *type, uint64_t *offset,
                          struct hs_ctype_facts *facts)
{
    for (unsigned depth = 0; depth < ROOTS_ARRAY_DEPTH; depth++) {
        struct hs_ctype_facts element;
        hs_ctype_facts(ctypes, *type, facts);
        if (facts->kind != HS_CTYPE_ARRAY)
            return true;
        hs_ctype_facts(ctypes, facts->of, &element);
        if (facts->of == 0 || element.n_bytes == 0)
            return false;
        *offset %= element.n_bytes;
        *type = facts->of;
    }
    return false;
}

static const struct hs_cslot *slot_at(const struct hs_cslot *slots, size_t n, uint64_t offset)
{
    size_t low = HS_FIRST_FROM(slots, n, offset_bytes, offset);
    return low < n && slots[low].offset_bytes == offset ? &slots[low] : NULL;
}

static enum hs_slot_form form_of_slot(const struct hs_cslot *slot, hs_ctype *ret_pointee)
{
    *ret_pointee = slot->may_be_pointer_only ? 0 : slot->pointee;
    if (slot->is_weak)
        return HS_SLOT_WEAK;
    return slot->may_be_pointer_only ? HS_SLOT_MAYBE : HS_SLOT_POINTER;
}

enum hs_slot_form hs_native_slot_form(struct hs_ctypes *ctypes, hs_ctype type, uint64_t offset,
                                      hs_ctype *ret_pointee, const struct hs_cslot **ret_slot)
{
    struct hs_ctype_facts facts;
    size_t n = 0;
    bool is_cut = false;
    *ret_pointee = 0;
    if (ret_slot != NULL)
        *ret_slot = NULL;
    if (ctypes == NULL || type == 0 || !reduce_arrays(ctypes, &type, &offset, &facts) ||
        facts.kind == HS_CTYPE_UNKNOWN || facts.kind == HS_CTYPE_VOID || facts.is_declaration ||
        offset >= facts.n_bytes)
        return HS_SLOT_UNKNOWN;
    if (facts.kind == HS_CTYPE_POINTER) {
        *ret_pointee = offset == 0 ? facts.of : 0;
        return offset == 0 ? HS_SLOT_POINTER : HS_SLOT_NONE;
    }
    const struct hs_cslot *slots = hs_ctypes_slots(ctypes, type, &n, &is_cut);
    const struct hs_cslot *slot = slot_at(slots, n, offset);
    if (slot == NULL)
        return is_cut && (n == 0 || offset > slots[n - 1].offset_bytes) ? HS_SLOT_UNKNOWN
                                                                        : HS_SLOT_NONE;
    if (ret_slot != NULL)
        *ret_slot = slot;
    return form_of_slot(slot, ret_pointee);
}

hs_status hs_native_name(struct hs_native *native, hs_str *ret, struct hs_error *err,
                         const char *format, ...)
{
    char text[2 * HS_VARIABLE_NAME_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hs_strtab_add(&native->dump->strings, text, ret, err);
}

void hs_native_variable_text(const struct hs_native *native, struct hs_native_variable *variable)
{
    snprintf(variable->text, sizeof variable->text, "%s",
             hs_strtab_get(&native->dump->strings, variable->name));
}

/* Names a slot of a variable: "server.db[0]", "table[17]", "main_list", "table+0x18"; "table[...]"
 * for the slots behind those that get names. */
static hs_status slot_name(struct hs_native *native, const struct hs_native_variable *v,
                           uint64_t offset, hs_str *ret, struct hs_error *err)
{
    char place[HS_VARIABLE_NAME_BYTES];
    struct hs_ctype_facts facts = {0};
    hs_ctype inner = 0;
    size_t n = 0;
    if (v->n_slots > HS_VARIABLE_NAMED_SLOTS)
        return hs_native_name(native, ret, err, "%s[...]", v->text);
    if (v->type != 0 && native->ctypes != NULL)
        n = hs_ctypes_place(native->ctypes, v->type, offset, place, sizeof place, &inner);
    if (n != 0)
        return hs_native_name(native, ret, err, "%s%s%s", v->text, place[0] == '[' ? "" : ".",
                              place);
    if (inner != 0)
        hs_ctype_facts(native->ctypes, inner, &facts);
    if (offset == 0 || facts.kind == HS_CTYPE_POINTER) /* a container's own pointer is itself */
        return hs_native_name(native, ret, err, "%s", v->text);
    return hs_native_name(native, ret, err, "%s+0x%llx", v->text, (unsigned long long)offset);
}

/* Names the interpreter's own variables where nothing but their contents tells. */
static void name_by_content(struct hs_native *native, const struct hs_native_variable *variable,
                            const struct hs_heap_block *block, struct hs_root_leaf *leaf)
{
    const struct hs_interpreter python = hs_dump_interpreter(native->dump);
    if (leaf->root.kind != HS_ROOT_GLOBAL || variable->text[0] != '.' || python.model == NULL ||
        python.model->variable_name == NULL)
        return;
    hs_str name = python.model->variable_name(python.state, leaf->root.address, block);
    if (name != 0)
        leaf->root.name = name;
}

/* Tells whether a variable's name says that it is an end: "main local __for_end", "limit". */
static bool is_named_end(const struct hs_native_variable *variable)
{
    const char *space = strrchr(variable->text, ' ');
    return hs_ctypes_is_end_name(space == NULL ? variable->text : space + 1);
}

/* Notes what is asked of the variable later: its containers, and which pointer of a union holds. */
static hs_status note_slot(struct hs_native *native, const struct hs_native_variable *variable,
                           const struct hs_cslot *slot, struct hs_root_leaf *leaf,
                           struct hs_error *err)
{
    if (leaf->root.address != 0 && !variable->is_alone)
        HS_TRY(hs_native_counts_hold(native, leaf->root.address - leaf->root.offset, variable->type,
                                     err));
    leaf->is_owned = slot != NULL && slot->is_owned && slot->n_choices == 0;
    leaf->owns_sole = leaf->is_owned && !slot->may_be_pointer_only &&
                      hs_sole_is(native, variable->type, leaf->root.offset);
    if (slot == NULL || !slot->is_untold)
        return HS_OK;
    HS_TRY(hs_unions_note(native, variable, slot, &leaf->untold, err));
    if (leaf->untold == 0 && hs_native_asks(native, HS_REASON_UNSURE_UNION)) {
        leaf->root.edge_class = HS_EDGE_GUESSED; /* there are more than are told apart */
        leaf->root.reason = HS_REASON_UNSURE_UNION;
    }
    return HS_OK;
}

/* Lowers a root by what its type says of the slot, which is NULL where it says nothing. */
static void lower_slot(const struct hs_native *native, enum hs_slot_form form,
                       const struct hs_cslot *slot, bool is_there, struct hs_root *root)
{
    bool is_weak_by_type = form == HS_SLOT_WEAK && slot != NULL && slot->is_weak;
    enum hs_reason reason = form == HS_SLOT_NONE   ? HS_REASON_NO_POINTER
                            : form == HS_SLOT_WEAK ? HS_REASON_WEAK_POINTER
                            : !is_there            ? HS_REASON_INACTIVE_ALTERNATIVE
                                                   : HS_REASON_NONE;

    if (reason == HS_REASON_NONE || !hs_native_asks(native, reason))
        return;
    root->edge_class = HS_EDGE_GUESSED;
    root->reason = hs_native_line(native, reason, is_weak_by_type ? slot->weak_by : 0);
}

/* Finds the form of a slot by its variable's type; weak where something is known to clear the word.
 */
static enum hs_slot_form slot_form_at(const struct hs_native *native,
                                      const struct hs_native_variable *variable, uint64_t offset,
                                      hs_addr address, hs_ctype *ret_pointee,
                                      const struct hs_cslot **ret_slot)
{
    enum hs_slot_form form =
        hs_native_slot_form(native->ctypes, variable->type, offset, ret_pointee, ret_slot);
    bool is_cleared = address != 0 && hs_heaps_is_cleared_at(&native->dump->heaps, address);

    return is_cleared ? HS_SLOT_WEAK : form;
}

hs_status hs_native_describe_slot(struct hs_native *native, struct hs_native_variable *variable,
                                  uint64_t offset, struct hs_root_leaf *leaf,
                                  struct hs_native_slot *ret, struct hs_error *err)
{
    ret->form =
        hs_native_slot_form(native->ctypes, variable->type, offset, &ret->pointee, &ret->slot);
    variable->n_slots++;
    lower_slot(native, ret->form, ret->slot, true, &leaf->root);
    leaf->root.field = HS_NO_FIELD;
    leaf->root.offset = offset;
    leaf->group_variable = variable->is_whole ? variable->name : 0;
    if (ret->form == HS_SLOT_WEAK)
        HS_TRY(
            hs_native_name(native, &leaf->group_variable, err, "%s" HS_ROOT_WEAK, variable->text));
    return slot_name(native, variable, offset, &leaf->root.name, err);
}

hs_status hs_native_add_slot(struct hs_native *native, struct hs_native_variable *variable,
                             uint64_t offset, hs_addr address, uint64_t word, struct hs_error *err)
{
    struct hs_root_leaf leaf = variable->leaf;
    struct hs_heap_block block;
    enum hs_pointer how;
    struct hs_native_chosen to = {.is_there = true};
    if (!hs_native_resolve(native, word, &how, &block))
        return HS_OK;
    variable->n_slots++;
    const struct hs_cslot *slot;
    enum hs_slot_form form = slot_form_at(native, variable, offset, address, &to.pointee, &slot);
    hs_native_wrapper_of(native, variable->type, offset, slot);
    if (slot != NULL && slot->n_choices != 0 && address != 0)
        HS_TRY(hs_native_choose_at(native, slot, address, &to, err));
    to.is_alone = variable->is_alone;
    to.is_bare = slot == NULL && form == HS_SLOT_POINTER;
    to.is_end = slot != NULL ? slot->is_end : form == HS_SLOT_POINTER && is_named_end(variable);
    if ((form == HS_SLOT_POINTER || to.pointee != 0) && to.is_there)
        leaf.root.certainty = HS_EXACT;
    lower_slot(native, form, slot, to.is_there, &leaf.root);
    leaf.root.field = HS_NO_FIELD;
    leaf.root.address = address;
    leaf.root.offset = offset;
    HS_TRY(note_slot(native, variable, slot, &leaf, err));
    if (variable->is_whole)
        leaf.group_variable = variable->name;
    if (form == HS_SLOT_WEAK)
        HS_TRY(
            hs_native_name(native, &leaf.group_variable, err, "%s" HS_ROOT_WEAK, variable->text));
    HS_TRY(slot_name(native, variable, offset, &leaf.root.name, err));
    name_by_content(native, variable, &block, &leaf);
    if (leaf.root.tier == HS_TIER_FIRM &&
        hs_native_is_own_place(native, variable->text,
                               hs_strtab_get(&native->dump->strings, leaf.root.name)))
        hs_root_lower(&leaf.root, HS_TIER_RUNTIME, HS_REASON_INTERPRETER);
    return add_word(native, word, &leaf, &to, err);
}

struct hs_word_scan hs_native_scan(hs_addr begin, hs_addr end)
{
    hs_addr at = (begin + HS_WORD_BYTES - 1) & ~(hs_addr)(HS_WORD_BYTES - 1);
    end &= ~(hs_addr)(HS_WORD_BYTES - 1);
    if (at < begin || at > end)
        at = end;
    return (struct hs_word_scan){.at = at, .end = end, .stop = at};
}

/* Returns the first range that ends behind `at`, or NULL. */
static const struct hs_image_range *range_from(const struct hs_image *image, hs_addr at,
                                               size_t *hint)
{
    const struct hs_image_range *found = hs_image_find(image, at, hint);
    if (found != NULL)
        return found;
    size_t next = HS_FIRST_ABOVE(image->ranges, image->n_ranges, end, at);
    return next < image->n_ranges ? &image->ranges[next] : NULL;
}

/* Goes on to memory that is in the copy and was touched: at most ROOTS_SKIP_BYTES at a time. */
static bool scan_refill(const struct hs_native *native, struct hs_word_scan *scan)
{
    while (scan->at < scan->end) {
        const struct hs_image_range *range =
            range_from(&native->dump->image, scan->at, &scan->hint);
        if (range == NULL || range->begin >= scan->end)
            break;
        if (range->begin > scan->at)
            scan->at = (range->begin + HS_WORD_BYTES - 1) & ~(hs_addr)(HS_WORD_BYTES - 1);
        hs_addr next = (scan->at | (ROOTS_SKIP_BYTES - 1)) + 1;
        if (next > range->end || next <= scan->at)
            next = range->end;
        if (next > scan->end)
            next = scan->end;
        hs_addr there = scan->at, there_end;
        bool is_there = next > scan->at && hs_image_next_present(&native->dump->image, scan->at,
                                                                 range->end, &there, &there_end);
        if (is_there && there < next && next - scan->at >= HS_WORD_BYTES) {
            scan->bytes = range->bytes + (scan->at - range->begin);
            scan->stop = next;
            return true;
        }
        if (!is_there) /* nothing in all the rest of the range */
            next = range->end < scan->end ? range->end : scan->end;
        else if ((there & ~(hs_addr)(ROOTS_SKIP_BYTES - 1)) > next)
            next = there & ~(hs_addr)(ROOTS_SKIP_BYTES - 1);
        scan->at = (next + HS_WORD_BYTES - 1) & ~(hs_addr)(HS_WORD_BYTES - 1);
    }
    scan->at = scan->stop = scan->end;
    return false;
}

bool hs_native_next_word(const struct hs_native *native, struct hs_word_scan *scan, hs_addr *ret_at,
                         uint64_t *ret_word)
{
    for (;;) {
        while (scan->at < scan->stop && scan->stop - scan->at >= HS_WORD_BYTES) {
            struct hs_heap_block block;
            enum hs_pointer how;
            uint64_t word = hs_load_u64(scan->bytes);
            scan->at += HS_WORD_BYTES;
            scan->bytes += HS_WORD_BYTES;
            if (word == 0 || !hs_native_resolve(native, word, &how, &block))
                continue;
            *ret_at = scan->at - HS_WORD_BYTES;
            *ret_word = word;
            return true;
        }
        if (scan->stop > scan->at)
            scan->at = (scan->stop + HS_WORD_BYTES - 1) & ~(hs_addr)(HS_WORD_BYTES - 1);
        if (!scan_refill(native, scan))
            return false;
    }
}
