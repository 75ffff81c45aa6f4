/* The common part of the stacks of all OCaml versions: the slots of a frame, the words of an
 * interrupted one, C local roots.
 *
 * Limit: beyond FRAME_OWN_GROUPS frames of one thread, frames of one return address share a
 * group, so that a runaway recursion gives few names; each leaf keeps its frame number.
 *
 * Source: caml_do_local_roots_nat of runtime/roots_nat.c, amd64.S of 4.13.1 and 4.14.2;
 * caml_do_local_roots of runtime/roots.c, scan_stack_frames of fiber.c, amd64.S of 5.1.1, 5.2.0 and
 * 5.3. */
#include "stack.h"

#include <stdio.h>

#include "arch/registers.h"
#include "base/alloc.h"
#include "base/bisect.h"

enum {
    FRAME_OWN_GROUPS = 10000,
    LOCAL_N_TABLES = 8,
    LOCAL_N_ITEMS = 16,
    LOCAL_TABLES = 24,
    LOCAL_MAX_TABLES = 5,
    LOCAL_MAX_ITEMS = 1 << 24,
};

static const char *text_of(const struct hs_stack_walk *s, hs_str id)
{
    return hs_strtab_get(s->walk->rt->strings, id);
}

/* Names the group of a frame: "#3 Stm.observe (stm/stm.ml:2420)". */
static hs_status frame_group(struct hs_stack_walk *s, const struct hs_frame_label *label,
                             hs_str *ret)
{
    char function[512], place[512] = "";
    /* Copied: the table of strings moves while a name is added. */
    snprintf(function, sizeof function, "%s", text_of(s, label->function));
    if (label->file != 0)
        snprintf(place, sizeof place, " (%s:%u)", text_of(s, label->file), label->line);
    if (s->frame > FRAME_OWN_GROUPS)
        return hs_walk_name(s->walk, ret, "#%u and deeper %s%s", FRAME_OWN_GROUPS + 1, function,
                            place);
    return hs_walk_name(s->walk, ret, "#%u %s%s", s->frame, function, place);
}

struct hs_root_leaf hs_stack_leaf(const struct hs_stack_walk *s, enum hs_root_kind kind,
                                  const struct hs_frame_label *label)
{
    struct hs_root_leaf leaf = hs_walk_leaf(kind);
    leaf.root.thread = (uint32_t)s->thread->tid;
    leaf.root.frame = s->frame;
    leaf.root.function = label->function;
    leaf.root.symbol = label->symbol;
    leaf.root.offset = label->offset;
    leaf.root.file = label->file;
    leaf.root.line = label->line;
    leaf.root.char_begin = label->char_begin;
    leaf.root.char_end = label->char_end;
    leaf.group_module = s->module;
    return leaf;
}

/* Names and adds a leaf whose target is set. The group is made at a frame's first leaf. */
static hs_status add_slot(struct hs_stack_walk *s, struct hs_root_leaf *leaf, const char *what,
                          const char *where, const struct hs_frame_label *label, hs_str *group)
{
    char function[512];
    snprintf(function, sizeof function, "%s", text_of(s, label->function));
    if (*group == 0)
        HS_TRY(frame_group(s, label, group));
    leaf->group_unit = *group;
    HS_TRY(hs_walk_name(s->walk, &leaf->root.name, "%s %s %s", function, what, where));
    return hs_roots_add(&s->walk->roots->roots, leaf, s->walk->err);
}

static hs_status walk_slot(struct hs_stack_walk *s, uint16_t live,
                           const struct hs_frame_label *label, hs_str *group)
{
    char where[32];
    uint64_t value;
    bool in_register = (live & 1) != 0;
    unsigned number = live >> 1;
    hs_addr address = in_register ? s->gc_regs + (hs_addr)number * HS_WORD : s->sp + live;
    struct hs_root_leaf leaf;
    hs_addr target;
    if (in_register && number >= HS_OCAML_N_SAVED)
        return HS_OK;
    if (!hs_walk_u64(s->walk, address, &value) ||
        !hs_block_of_value(s->walk->blocks, value, &target))
        return HS_OK;
    leaf = hs_stack_leaf(s, HS_ROOT_STACK, label);
    leaf.root.address = address;
    leaf.target = target;
    if (in_register)
        return add_slot(s, &leaf, "register", hs_register_name(hs_ocaml_saved[number]), label,
                        group);
    snprintf(where, sizeof where, "sp+%u", live);
    return add_slot(s, &leaf, "slot", where, label, group);
}

hs_status hs_stack_frame(struct hs_stack_walk *s, const struct hs_frame_entry *entry,
                         const struct hs_frame_descriptor *d)
{
    struct hs_frame_label label;
    hs_str group = 0;
    uint16_t live;
    if (d->n_live == 0 || !hs_walk_spend(s->walk, d->n_live))
        return HS_OK;
    HS_TRY(hs_frame_label_of(s->walk, &s->labels, entry, &label));
    for (unsigned i = 0; i < d->n_live && hs_frame_live(s->walk->rt->image, d, i, &live); i++)
        HS_TRY(walk_slot(s, live, &label, &group));
    return HS_OK;
}

hs_status hs_stack_cut(struct hs_stack_walk *s, const char *why)
{
    return hs_findings_note(&s->walk->rt->findings, true, s->walk->err,
                            "the stack of thread %d is cut at frame %u (return address 0x%llx): %s",
                            (int)s->thread->tid, s->frame, (unsigned long long)s->pc, why);
}

hs_status hs_stack_next_frame(struct hs_stack_walk *s, const struct hs_frame_descriptor *d,
                              bool *ret_more)
{
    uint64_t n_bytes = hs_frame_bytes(d), pc;
    hs_addr sp;
    *ret_more = false;
    if (n_bytes < HS_WORD || __builtin_add_overflow(s->sp, n_bytes, &sp) ||
        !hs_walk_u64(s->walk, sp - HS_WORD, &pc))
        return hs_stack_cut(s, "the stack cannot be read");
    s->sp = sp;
    s->pc = pc;
    s->frame++;
    *ret_more = true;
    return HS_OK;
}

/* Adds the words of memory that look like values, named by their distance from the first. */
static hs_status walk_words(struct hs_stack_walk *s, hs_addr begin, hs_addr end, const char *from,
                            const struct hs_frame_label *label, hs_str *group)
{
    for (hs_addr at = (begin + 7) & ~(hs_addr)7; at + HS_WORD <= end; at += HS_WORD) {
        char where[48];
        uint64_t value;
        struct hs_root_leaf leaf = hs_stack_leaf(s, HS_ROOT_STACK, label);
        if (!hs_walk_spend(s->walk, 1))
            return HS_OK;
        if (!hs_image_u64(s->walk->rt->image, at, &value) ||
            !hs_block_of_value(s->walk->blocks, value, &leaf.target))
            continue;
        leaf.root.address = at;
        leaf.root.certainty = HS_CONSERVATIVE;
        snprintf(where, sizeof where, "%s+%llu", from, (unsigned long long)(at - begin));
        HS_TRY(add_slot(s, &leaf, "word", where, label, group));
    }
    return HS_OK;
}

static hs_status walk_registers(struct hs_stack_walk *s, const struct hs_frame_label *label,
                                hs_str *group)
{
    const struct hs_target *target = s->walk->rt->target;
    for (size_t i = 0; i < target->n_threads; i++) {
        const struct hs_registers r = hs_registers_of(&target->threads[i].regs);
        if (target->threads[i].tid != s->thread->tid)
            continue;
        for (unsigned k = 0; k < HS_OCAML_N_SAVED; k++) {
            struct hs_root_leaf leaf = hs_stack_leaf(s, HS_ROOT_REGISTER, label);
            if (!hs_block_of_value(s->walk->blocks, r.value[hs_ocaml_saved[k]], &leaf.target))
                continue;
            leaf.root.certainty = HS_CONSERVATIVE;
            HS_TRY(
                add_slot(s, &leaf, "register", hs_register_name(hs_ocaml_saved[k]), label, group));
        }
    }
    return HS_OK;
}

/* Adds every word that looks like a value of the frame that was running and has no descriptor for
 * where it stands. Registers and words are of different kinds, so each has its own group. */
hs_status hs_stack_interrupted(struct hs_stack_walk *s)
{
    const struct hs_ocaml_thread *t = s->thread;
    struct hs_frame_label label = {0};
    hs_str words = 0, registers = 0;
    if (t->words_begin >= t->words_end && t->c_words_begin >= t->c_words_end && !t->registers)
        return HS_OK;
    if (t->interrupted != 0)
        HS_TRY(hs_frame_label_of_code(s->walk, t->interrupted, &label));
    else
        HS_TRY(hs_walk_name(s->walk, &label.function, "C"));
    HS_TRY(walk_words(s, t->c_words_begin, t->c_words_end, "C stack", &label, &words));
    HS_TRY(walk_words(s, t->words_begin, t->words_end, "sp", &label, &words));
    if (t->registers)
        HS_TRY(walk_registers(s, &label, &registers));
    s->frame++;
    return HS_OK;
}

/* Finds the chunk whose C callees hold `cell`: the one that ends lowest above it. */
static const struct hs_stack_chunk *chunk_above(const struct hs_stack_walk *s, hs_addr cell)
{
    size_t low = HS_FIRST_ABOVE(s->chunks, s->n_chunks, above, cell);
    return low < s->n_chunks ? &s->chunks[low] : NULL;
}

static hs_status add_local(struct hs_stack_walk *s, hs_addr cell, hs_addr address, uint64_t value)
{
    struct hs_root_leaf leaf = hs_walk_leaf(HS_ROOT_LOCAL);
    const struct hs_stack_chunk *chunk = chunk_above(s, cell);
    char function[512] = "";
    if (!hs_block_of_value(s->walk->blocks, value, &leaf.target))
        return HS_OK;
    leaf.root.address = address;
    leaf.root.thread = (uint32_t)s->thread->tid;
    leaf.group_module = s->module;
    if (chunk == NULL) {
        HS_TRY(hs_walk_name(s->walk, &leaf.group_unit, "C"));
        HS_TRY(hs_walk_name(s->walk, &leaf.root.name, "C local"));
    } else {
        snprintf(function, sizeof function, "%s", text_of(s, chunk->function));
        leaf.root.frame = chunk->frame;
        leaf.root.function = chunk->function;
        HS_TRY(hs_walk_name(s->walk, &leaf.group_unit, "C called from #%u %s", chunk->frame,
                            function));
        HS_TRY(hs_walk_name(s->walk, &leaf.root.name, "C local below %s", function));
    }
    return hs_roots_add(&s->walk->roots->roots, &leaf, s->walk->err);
}

static hs_status walk_local_table(struct hs_stack_walk *s, hs_addr cell, hs_addr table, uint64_t n)
{
    if (n > LOCAL_MAX_ITEMS) {
        s->walk->n_damaged++;
        n = LOCAL_MAX_ITEMS;
    }
    for (uint64_t i = 0; i < n; i++) {
        hs_addr address = table + i * HS_WORD;
        uint64_t value;
        if (!hs_walk_u64(s->walk, address, &value))
            return HS_OK;
        if (!hs_walk_is_copying(s->walk))
            HS_TRY(add_local(s, cell, address, value));
    }
    return HS_OK;
}

hs_status hs_stack_locals(struct hs_stack_walk *s)
{
    struct hs_cycle cycle = {0};
    uint64_t next, n_tables, n_items, table;
    for (hs_addr cell = s->thread->local_roots; !hs_walk_list_ends(s->walk, &cycle, cell);
         cell = next) {
        if (!hs_walk_u64(s->walk, cell, &next) ||
            !hs_walk_u64(s->walk, cell + LOCAL_N_TABLES, &n_tables) ||
            !hs_walk_u64(s->walk, cell + LOCAL_N_ITEMS, &n_items))
            return HS_OK;
        s->walk->n_damaged += n_tables > LOCAL_MAX_TABLES;
        for (unsigned i = 0; i < LOCAL_MAX_TABLES && i < n_tables; i++) {
            if (!hs_walk_u64(s->walk, cell + LOCAL_TABLES + i * HS_WORD, &table))
                return HS_OK;
            HS_TRY(walk_local_table(s, cell, table, n_items));
        }
    }
    return HS_OK;
}

void hs_stack_begin(struct hs_stack_walk *s, const struct hs_ocaml_thread *thread)
{
    s->thread = thread;
    s->n_chunks = 0;
    s->frame = 1;
    s->sp = thread->sp;
    s->pc = thread->pc;
    s->gc_regs = thread->gc_regs;
    s->module = 0;
}

hs_status hs_stack_chunk_here(struct hs_stack_walk *s, struct hs_stack_chunk *ret)
{
    const struct hs_frame_entry *entry = hs_frame_table_find(s->walk->roots->frames, s->pc);
    struct hs_frame_label label = {0};
    if (entry != NULL)
        HS_TRY(hs_frame_label_of(s->walk, &s->labels, entry, &label));
    *ret = (struct hs_stack_chunk){s->sp, s->frame, label.function};
    return HS_OK;
}

hs_status hs_stack_add_chunk(struct hs_stack_walk *s, const struct hs_stack_chunk *chunk)
{
    HS_TRY(HS_GROW(&s->chunks, &s->chunks_capacity, s->n_chunks + 1, s->walk->err));
    s->chunks[s->n_chunks++] = *chunk;
    return HS_OK;
}

void hs_stack_fini(struct hs_stack_walk *s)
{
    hs_frame_labels_fini(&s->labels);
    hs_free(s->chunks);
}
