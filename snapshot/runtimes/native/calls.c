#include "calls.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "borrowed.h"
#include "firm.h"
#include "visits.h"

enum { LITTLE_ONE_IN = 8 };

/* A variable of a call, by its leaf among the roots. */
struct call_variable {
    uint32_t thread, frame; /* from 1, the innermost */
    uint8_t n_inlined;      /* calls of this frame that have no frame of their own, around it */
    bool is_met;            /* shared, and what outlives calls or is main's leads there, too */
    size_t leaf;
};

struct call {
    size_t first, n; /* its variables */
    uint32_t thread;
    bool is_main;
    uint32_t depth;   /* how many calls with variables are further out on its stack */
    uint64_t n_bytes; /* of blocks that nothing leads to which outlives it */
};

struct calls {
    struct hs_scan *scan;
    struct hs_bitmap *own; /* NULL: not asked */
    struct hs_firm walk;
    struct hs_visits visits;         /* with `own` */
    struct call_variable *variables; /* owned: by thread, those of outer calls first */
    size_t n_variables, variables_capacity;
    struct call *calls; /* owned */
    size_t n_calls, calls_capacity;
};

static void calls_fini(struct calls *c)
{
    hs_free(c->variables);
    hs_free(c->calls);
}

static struct hs_root_leaf *leaf_of(const struct calls *c, size_t variable)
{
    return &c->scan->native->roots.leaves[c->variables[variable].leaf];
}

static bool is_firm(const struct hs_root_leaf *leaf)
{
    return leaf->root.tier == HS_TIER_FIRM && !leaf->root.weak;
}

static bool is_of_call(const struct hs_root_leaf *leaf)
{
    return (leaf->root.kind == HS_ROOT_STACK || leaf->root.kind == HS_ROOT_REGISTER) &&
           leaf->root.thread != 0 && leaf->root.frame != 0;
}

static int by_stack(const void *a, const void *b)
{
    const struct call_variable *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->frame != y->frame)
        return x->frame > y->frame ? -1 : 1;
    if (x->n_inlined != y->n_inlined)
        return x->n_inlined < y->n_inlined ? -1 : 1;
    return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

/* Orders calls: main, then the outermost of all stacks, then those that these have called. */
static int by_depth(const void *a, const void *b)
{
    const struct call *x = a, *y = b;

    if (x->is_main != y->is_main)
        return x->is_main ? -1 : 1;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_thread(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static hs_status list_variables(struct calls *c, struct hs_error *err)
{
    const struct hs_roots *roots = &c->scan->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root *root = &roots->leaves[i].root;
        if (!is_firm(&roots->leaves[i]) || !is_of_call(&roots->leaves[i]))
            continue;
        HS_TRY(HS_GROW(&c->variables, &c->variables_capacity, c->n_variables + 1, err));
        c->variables[c->n_variables++] =
            (struct call_variable){.thread = root->thread,
                                   .frame = root->frame,
                                   .n_inlined = roots->leaves[i].n_inlined,
                                   .leaf = i};
    }
    if (c->n_variables != 0)
        qsort(c->variables, c->n_variables, sizeof *c->variables, by_stack);
    return HS_OK;
}

static bool is_same_call(const struct call_variable *a, const struct call_variable *b)
{
    return a->thread == b->thread && a->frame == b->frame && a->n_inlined == b->n_inlined;
}

/* Lists the calls. *ret_any: one is inside another, or has a variable that may be borrowed. */
static hs_status list_calls(struct calls *c, bool *ret_any, struct hs_error *err)
{
    *ret_any = false;
    for (size_t i = 0; i < c->n_variables; i++)
        *ret_any |= leaf_of(c, i)->may_own || leaf_of(c, i)->owning == HS_OWNING_ALONE;
    for (size_t i = 0, end; i < c->n_variables; i = end) {
        const struct call_variable *first = &c->variables[i];
        struct call *outer = c->n_calls == 0 ? NULL : &c->calls[c->n_calls - 1];
        bool is_inner = outer != NULL && outer->thread == first->thread;
        uint32_t depth = is_inner ? outer->depth + 1 : 0;
        for (end = i + 1; end < c->n_variables && is_same_call(&c->variables[end], first);)
            end++;
        HS_TRY(HS_GROW(&c->calls, &c->calls_capacity, c->n_calls + 1, err));
        c->calls[c->n_calls++] = (struct call){.first = i,
                                               .n = end - i,
                                               .thread = first->thread,
                                               .is_main = leaf_of(c, i)->is_mains,
                                               .depth = depth};
        *ret_any |= is_inner;
    }
    return HS_OK;
}

/* Marks what roots that outlive all calls lead to. */
static hs_status meet_lasting(struct calls *c, struct hs_error *err)
{
    const struct hs_roots *roots = &c->scan->native->roots;

    for (size_t i = 0; i < roots->n_leaves; i++)
        if (is_firm(&roots->leaves[i]) && !is_of_call(&roots->leaves[i]))
            HS_TRY(hs_firm_add(&c->walk, &roots->leaves[i], err));
    HS_TRY(hs_firm_drain(&c->walk, err));
    return c->visits.scan == NULL ? HS_OK : hs_visits_begin(&c->visits, err);
}

static bool is_met(const struct calls *c, const struct hs_root_leaf *leaf)
{
    struct hs_heap_block block;

    return hs_heap_map_resolve(&c->scan->native->dump->heaps.map, leaf->target, &block) ==
               HS_POINTER_START &&
           (c->visits.scan == NULL ? hs_bitmap_get(c->walk.marks, block.rank)
                                   : hs_visits_is_met(&c->visits, block.rank));
}

/* Lowers the plain pointers in records that lead to what something outliving the call has met. */
static void lend_found(struct calls *c, const struct call *call)
{
    for (size_t i = call->first; i < call->first + call->n; i++) {
        struct hs_root_leaf *leaf = leaf_of(c, i);
        if (leaf->may_own && is_met(c, leaf))
            hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_BORROWED_BY_CALL);
    }
}

/* Notes which variables of the calls from this one on may share what has been met with its owners.
 */
static void find_shared(struct calls *c, size_t from)
{
    for (; from < c->n_calls; from++)
        for (size_t i = c->calls[from].first; i < c->calls[from].first + c->calls[from].n; i++)
            c->variables[i].is_met = leaf_of(c, i)->may_share && is_met(c, leaf_of(c, i));
}

/* Lowers the variables by which a visitor shares what lasts longer than its call (visits.h). */
static void lend_shared(struct calls *c, const struct call *call)
{
    for (size_t i = call->first; i < call->first + call->n; i++)
        if (c->variables[i].is_met && (call->depth != 0 || !leaf_of(c, i)->is_argument))
            hs_root_lower(&leaf_of(c, i)->root, HS_TIER_RUNTIME, HS_REASON_BORROWED_BY_CALL);
}

/* Lowers sole owners of what a variable of the program, or a task, has too: it was moved there. */
static void lend_moved(struct calls *c)
{
    for (size_t i = 0; i < c->n_variables; i++) {
        struct hs_root_leaf *leaf = leaf_of(c, i);
        if (leaf->owning == HS_OWNING_ALONE && is_met(c, leaf))
            hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_MOVED_AWAY);
    }
}

static hs_status meet_call(struct calls *c, struct call *call, struct hs_error *err)
{
    uint64_t before = c->walk.n_bytes;
    bool is_visitor = false;

    lend_found(c, call);
    hs_visits_call_begin(&c->visits);
    for (size_t i = call->first; i < call->first + call->n; i++)
        HS_TRY(hs_firm_add(&c->walk, leaf_of(c, i), err));
    HS_TRY(hs_firm_drain(&c->walk, err));
    call->n_bytes = c->walk.n_bytes - before;
    if (c->visits.scan != NULL)
        HS_TRY(hs_visits_call_end(&c->visits, call->is_main, &is_visitor, err));
    if (is_visitor)
        lend_shared(c, call);
    return HS_OK;
}

static hs_status meet_all(struct calls *c, struct hs_error *err)
{
    HS_TRY(meet_lasting(c, err));
    lend_moved(c);
    if (c->n_calls != 0)
        qsort(c->calls, c->n_calls, sizeof *c->calls, by_depth);
    for (size_t i = 0; i < c->n_calls; i++) {
        if (c->visits.scan != NULL && (i == 0 || c->calls[i - 1].is_main))
            find_shared(c, i);
        HS_TRY(meet_call(c, &c->calls[i], err));
    }
    if (c->n_calls != 0)
        qsort(c->calls, c->n_calls, sizeof *c->calls, by_thread);
    return HS_OK;
}

static void lend_to(struct calls *c, const struct call *call)
{
    for (size_t i = call->first; i < call->first + call->n; i++)
        hs_root_lower(&leaf_of(c, i)->root, HS_TIER_RUNTIME, HS_REASON_BORROWED_BY_CALL);
}

/* Lowers, of the calls [begin, end) of one stack, the outermost first, those behind the one with
 * most bytes that have little beside it. */
static void lend(struct calls *c, size_t begin, size_t end)
{
    size_t most = begin;

    for (size_t i = begin + 1; i < end; i++)
        if (c->calls[i].n_bytes > c->calls[most].n_bytes)
            most = i;
    for (size_t i = most + 1; i < end; i++)
        if (c->calls[i].n_bytes < c->calls[most].n_bytes / LITTLE_ONE_IN)
            lend_to(c, &c->calls[i]);
}

static void lend_all(struct calls *c)
{
    for (size_t i = 0, end; i < c->n_calls; i = end) {
        for (end = i + 1; end < c->n_calls && c->calls[end].depth != 0;)
            end++;
        lend(c, i, end);
    }
}

static hs_status calls_walk(struct calls *c, struct hs_bitmap *marks, struct hs_error *err)
{
    HS_TRY(hs_firm_open(&c->walk, c->scan, marks, err));
    c->walk.is_own = c->own != NULL;
    hs_status status = HS_OK;
    if (c->own != NULL && c->n_variables != 0)
        status = hs_visits_open(&c->visits, c->scan, &c->walk, err);
    if (status == HS_OK)
        status = meet_all(c, err);
    hs_visits_close(&c->visits);
    hs_firm_close(&c->walk);
    HS_TRY(status);
    lend_all(c);
    return HS_OK;
}

/* Walks with the marks of what is reached, which are not used yet, and clears them. */
static hs_status calls_walk_unasked(struct calls *c, struct hs_error *err)
{
    struct hs_bitmap *marks = &c->scan->reached;
    uint64_t n_blocks = marks->n_bits;

    HS_TRY(calls_walk(c, marks, err));
    hs_bitmap_fini(marks);
    return hs_bitmap_init(marks, n_blocks, err);
}

static hs_status calls_run(struct calls *c, struct hs_error *err)
{
    bool any;

    HS_TRY(list_variables(c, err));
    HS_TRY(list_calls(c, &any, err));
    if (c->own != NULL)
        return calls_walk(c, c->own, err);
    return any ? calls_walk_unasked(c, err) : HS_OK;
}

hs_status hs_calls_lend(struct hs_scan *scan, struct hs_bitmap *own, struct hs_error *err)
{
    struct calls c = {.scan = scan, .own = own};

    hs_status status = calls_run(&c, err);
    calls_fini(&c);
    return status;
}
