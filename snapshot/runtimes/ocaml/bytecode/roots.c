/* The roots that bytecode programs have in place of compiled ones: globals, and the slots of the
 * interpreter's stacks. */
#include <stdio.h>
#include <stdlib.h>

#include "arch/registers.h"
#include "base/alloc.h"
#include "bytecode.h"
#include "locate.h"

enum {
    STATE_STACK_LOW = 17, /* words of Caml_state */
    STATE_STACK_HIGH = 18,
    STATE_EXTERN_SP = 20,
    THREAD_STACK_LOW = 3, /* words of caml_thread_struct */
    THREAD_STACK_HIGH = 4,
    THREAD_SP = 6,
    GLOBALS_MAX = 1 << 20,
    FIELDS_MAX = 1 << 20,
    C_STACK_BYTES = 16 << 10, /* what calls the interpreter makes have there */
};

static const uint64_t stack_bytes_max = UINT64_C(1) << 33;

/* ---- globals */

struct globals {
    struct hs_root_walk *walk;
    struct hs_bytecode_names names;
    hs_str module; /* the program */
};

static hs_status register_block(struct hs_root_walk *walk, hs_addr block)
{
    struct hs_ocaml_roots *roots = walk->roots;

    HS_TRY(HS_GROW(&roots->module_blocks, &roots->module_blocks_capacity,
                   roots->n_module_blocks + 1, walk->err));
    roots->module_blocks[roots->n_module_blocks++] = block;
    return HS_OK;
}

static hs_status add_leaf(struct globals *g, hs_addr address, uint64_t value, hs_str unit,
                          hs_str name)
{
    struct hs_root_leaf leaf = hs_walk_leaf(HS_ROOT_GLOBAL);

    leaf.root.address = address;
    leaf.root.module = leaf.group_module = g->module;
    leaf.group_unit = unit;
    leaf.root.name = name;
    return hs_walk_add(g->walk, value, &leaf);
}

/* Adds the fields of a unit's block, and the block itself, which leads nowhere else. */
static hs_status add_unit(struct globals *g, hs_addr at, hs_addr block, uint64_t n, hs_str unit)
{
    char text[512];
    hs_str name;

    (void)snprintf(text, sizeof text, "%s", hs_strtab_get(g->walk->rt->strings, unit));
    HS_TRY(hs_walk_name(g->walk, &name, "%s (its block)", text));
    HS_TRY(add_leaf(g, at, block, unit, name));
    HS_TRY(register_block(g->walk, block));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t value;
        hs_addr target;
        if (!hs_walk_u64(g->walk, block + i * HS_WORD, &value))
            return HS_OK;
        if (!hs_block_of_value(g->walk->blocks, value, &target))
            continue;
        HS_TRY(hs_walk_name(g->walk, &name, "%s field %llu", text, (unsigned long long)i));
        HS_TRY(add_leaf(g, block + i * HS_WORD, value, unit, name));
    }
    return HS_OK;
}

static hs_status add_global(struct globals *g, hs_addr at, uint64_t number, uint64_t value)
{
    hs_addr block;
    hs_str name = number < g->names.n ? g->names.names[number] : 0;
    bool is_named = name != 0;

    if (!hs_block_of_value(g->walk->blocks, value, &block))
        return HS_OK;
    if (!is_named)
        HS_TRY(hs_walk_name(g->walk, &name, "global %llu", (unsigned long long)number));
    uint64_t header = hs_block_header(g->walk->blocks, block), n = HS_HEADER_WOSIZE(header);
    if (is_named && HS_HEADER_TAG(header) == 0 && n != 0 && n < FIELDS_MAX)
        return add_unit(g, at, block, n, name);
    hs_str constants;
    HS_TRY(hs_walk_name(g->walk, &constants, "%s", is_named ? "exceptions" : "constants"));
    return add_leaf(g, at, value, constants, name);
}

static int by_value(const void *a, const void *b)
{
    hs_addr x = *(const hs_addr *)a, y = *(const hs_addr *)b;
    return (x > y) - (x < y);
}

static hs_status add_globals(struct globals *g, hs_addr variable, hs_addr table)
{
    hs_addr block;
    hs_str unit, name;

    if (!hs_block_of_value(g->walk->blocks, table, &block) || block != table)
        return HS_OK;
    uint64_t n = HS_HEADER_WOSIZE(hs_block_header(g->walk->blocks, block));
    HS_TRY(hs_walk_name(g->walk, &g->module, "%s", g->walk->rt->objects->objects[0].name));
    HS_TRY(hs_walk_name(g->walk, &unit, "globals"));
    HS_TRY(hs_walk_name(g->walk, &name, "caml_global_data"));
    HS_TRY(add_leaf(g, variable, table, unit, name));
    HS_TRY(register_block(g->walk, block));
    for (uint64_t i = 0; i < n && i < GLOBALS_MAX; i++) {
        uint64_t value;
        if (!hs_walk_u64(g->walk, block + i * HS_WORD, &value))
            break;
        HS_TRY(add_global(g, block + i * HS_WORD, i, value));
    }
    qsort(g->walk->roots->module_blocks, g->walk->roots->n_module_blocks, sizeof(hs_addr),
          by_value);
    return HS_OK;
}

hs_status hs_bytecode_walk_globals(struct hs_root_walk *walk)
{
    struct globals g = {.walk = walk};
    struct hs_live_symbol variable;
    uint64_t table;

    HS_TRY(hs_bytecode_names(walk, &g.names));
    hs_status status = HS_OK;
    if (!hs_walk_is_copying(walk) &&
        hs_objects_find(walk->rt->objects, "caml_global_data", &variable) &&
        hs_walk_u64(walk, variable.address, &table))
        status = add_globals(&g, variable.address, table);
    hs_free(g.names.names);
    return status;
}

/* ---- stacks */

struct byte_stack {
    struct hs_root_walk *walk;
    const struct hs_ocaml_thread *thread;
    hs_addr low, sp, high;
    bool is_conservative; /* the interpreter runs */
    hs_str module, group;
};

/* Reads where the stack of a thread lies: of the current one the runtime's state says it. */
static bool find_stack(struct byte_stack *s)
{
    const struct hs_ocaml_thread *t = s->thread;
    hs_addr base = t->is_current ? s->walk->rt->state : t->info;
    unsigned low = t->is_current ? STATE_STACK_LOW : THREAD_STACK_LOW;
    unsigned high = t->is_current ? STATE_STACK_HIGH : THREAD_STACK_HIGH;
    unsigned sp = t->is_current ? STATE_EXTERN_SP : THREAD_SP;

    return hs_walk_u64(s->walk, base + low * (hs_addr)HS_WORD, &s->low) &&
           hs_walk_u64(s->walk, base + high * (hs_addr)HS_WORD, &s->high) &&
           hs_walk_u64(s->walk, base + sp * (hs_addr)HS_WORD, &s->sp) &&
           (s->low | s->sp | s->high) % HS_WORD == 0 && s->low <= s->sp && s->sp <= s->high &&
           s->high - s->low <= stack_bytes_max;
}

/* Lowers the stack pointer to the lowest register that may be it, where the thread is not in a
 * system call: in one the interpreter has saved its own. */
static void find_top(struct byte_stack *s, const struct hs_thread *kernel)
{
    const struct hs_registers r = hs_registers_of(&kernel->regs);

    if (!s->thread->is_current || hs_regs_in_call(&kernel->regs))
        return;
    s->is_conservative = true;
    for (unsigned k = 0; k < HS_OCAML_N_SAVED; k++) {
        uint64_t value = r.value[hs_ocaml_saved[k]];
        if (value % HS_WORD == 0 && value >= s->low && value < s->sp)
            s->sp = value;
    }
}

static hs_status add_word(struct byte_stack *s, enum hs_root_kind kind, uint64_t value,
                          hs_addr address, const char *what, uint64_t number)
{
    struct hs_root_leaf leaf = hs_walk_leaf(kind);

    if (!hs_block_of_value(s->walk->blocks, value, &leaf.target))
        return HS_OK;
    leaf.root.thread = (uint32_t)s->thread->tid;
    leaf.root.frame = 1;
    leaf.root.address = address;
    leaf.root.certainty = s->is_conservative ? HS_CONSERVATIVE : HS_EXACT;
    leaf.group_module = s->module;
    leaf.group_unit = s->group;
    HS_TRY(hs_walk_name(s->walk, &leaf.root.name, "%s %llu", what, (unsigned long long)number));
    return hs_roots_add(&s->walk->roots->roots, &leaf, s->walk->err);
}

/* Adds what the interpreter and its callees have in registers and on the C stack. */
static hs_status add_running(struct byte_stack *s, const struct hs_thread *kernel)
{
    const struct hs_registers r = hs_registers_of(&kernel->regs);
    hs_addr begin = hs_regs_sp(&kernel->regs) & ~(hs_addr)(HS_WORD - 1);
    uint64_t value;

    for (unsigned k = 0; !hs_walk_is_copying(s->walk) && k < HS_OCAML_N_SAVED; k++)
        HS_TRY(add_word(s, HS_ROOT_REGISTER, r.value[hs_ocaml_saved[k]], 0, "interpreter register",
                        k));
    hs_walk_need(s->walk, begin, C_STACK_BYTES);
    for (hs_addr at = begin; !hs_walk_is_copying(s->walk) && at < begin + C_STACK_BYTES;
         at += HS_WORD)
        if (hs_image_u64(s->walk->rt->image, at, &value))
            HS_TRY(add_word(s, HS_ROOT_STACK, value, at, "C stack", (at - begin) / HS_WORD));
    return HS_OK;
}

/* Slots count from the bottom, so that one has its number for as long as its call runs. */
static hs_status add_slots(struct byte_stack *s)
{
    uint64_t value;

    hs_walk_need(s->walk, s->sp, s->high - s->sp);
    for (hs_addr at = s->sp; !hs_walk_is_copying(s->walk) && at < s->high; at += HS_WORD) {
        if (!hs_walk_u64(s->walk, at, &value))
            return HS_OK;
        HS_TRY(add_word(s, HS_ROOT_STACK, value, at, "stack slot", (s->high - at) / HS_WORD));
    }
    return HS_OK;
}

static hs_status walk_stack(struct byte_stack *s)
{
    const struct hs_thread *kernel = hs_ocaml_kernel_thread(s->walk->rt, s->thread->tid);

    if (!find_stack(s)) {
        s->walk->n_damaged++;
        return HS_OK;
    }
    if (kernel != NULL)
        find_top(s, kernel);
    if (!hs_walk_is_copying(s->walk)) {
        HS_TRY(hs_walk_name(s->walk, &s->module, "thread %d", (int)s->thread->tid));
        HS_TRY(hs_walk_name(s->walk, &s->group, "stack of the interpreter"));
    }
    if (s->is_conservative && !hs_walk_is_copying(s->walk))
        HS_TRY(hs_findings_note(&s->walk->rt->findings, false, s->walk->err,
                                "the interpreter of bytecode was running: its stack and registers "
                                "were scanned conservatively"));
    if (s->is_conservative)
        HS_TRY(add_running(s, kernel));
    return add_slots(s);
}

hs_status hs_bytecode_walk_stacks(struct hs_root_walk *walk)
{
    const struct hs_ocaml_stops *stops = walk->roots->stops;

    for (size_t i = 0; i < stops->n; i++) {
        struct byte_stack s = {.walk = walk, .thread = &stops->threads[i]};
        HS_TRY(walk_stack(&s));
    }
    return HS_OK;
}
