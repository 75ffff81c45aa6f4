/* Timers that are to fire: roots of their own, by what they call. time.go (timer), sleep.go of the
 * package time: a program's own functions are called by time.goFunc, channels are written by
 * time.sendTime. */
#include <stdio.h>
#include <string.h>

#include "session.h"

enum { MINOR_OF_PAIRS = 23, LABEL_BYTES = HS_GO_NAME_BYTES + 32 };

/* Names the function that a closure runs, without what the compiler adds for a method's value. */
static bool closure_name(const struct hs_go_heap *heap, hs_addr closure, char *text, size_t n)
{
    static const char bound[] = "-fm";
    struct hs_go_function function;
    uint64_t entry;

    if (!hs_go_u64(heap, closure, &entry) || !hs_go_function_at(heap, entry, &function) ||
        !hs_go_function_name(heap, &function, text, n))
        return false;
    size_t n_text = strlen(text), n_bound = sizeof bound - 1;
    if (n_text > n_bound && strcmp(text + n_text - n_bound, bound) == 0)
        text[n_text - n_bound] = '\0';
    return true;
}

/* Says what a timer does, as the name of all that do so. */
static void timer_name(const struct hs_go_heap *heap, hs_addr timer, char *text, bool *ret_is_own)
{
    const struct hs_go_layout *l = heap->layout;
    hs_addr argument = hs_go_member(heap, timer, l->timer_f + 2 * (int64_t)HS_WORD_BYTES);
    char name[HS_GO_NAME_BYTES] = "";

    *ret_is_own = true;
    if (!closure_name(heap, hs_go_member(heap, timer, l->timer_f), name, sizeof name)) {
        snprintf(text, LABEL_BYTES, "timers of an unknown function");
        return;
    }
    if (strcmp(name, "time.sendTime") == 0) {
        snprintf(text, LABEL_BYTES, "%s",
                 hs_go_member(heap, timer, l->timer_period) != 0
                     ? "timers of time.NewTicker"
                     : "timers of time.NewTimer and time.After");
        return;
    }
    if (strcmp(name, "time.goFunc") == 0)
        (void)closure_name(heap, argument, name, sizeof name);
    *ret_is_own = strncmp(name, "runtime.", strlen("runtime.")) != 0;
    snprintf(text, LABEL_BYTES, "timers of %s", name);
}

static hs_status add_timer(struct hs_go_session *s, hs_addr at, struct hs_error *err)
{
    struct hs_strtab *strings = &s->dump->strings;
    hs_addr timer = hs_go_member(&s->heap, at, 0);
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_REGISTERED,
                                         .certainty = HS_EXACT,
                                         .edge_class = HS_EDGE_EXACT,
                                         .address = at,
                                         .field = HS_NO_FIELD}};
    struct hs_go_block block;
    char text[LABEL_BYTES];
    bool is_own;

    if (!hs_go_resolve(&s->heap, timer, &block))
        return HS_OK;
    leaf.target = block.begin;
    timer_name(&s->heap, timer, text, &is_own);
    if (!is_own)
        hs_root_lower(&leaf.root, HS_TIER_RUNTIME, HS_REASON_RUNTIME_TABLE);
    HS_TRY(hs_strtab_add(strings, "timers", &leaf.group_module, err));
    leaf.group_unit = leaf.group_module;
    HS_TRY(hs_strtab_add(strings, text, &leaf.group_variable, err));
    HS_TRY(hs_strtab_add(strings, "a timer", &leaf.root.name, err));
    return hs_roots_add(&s->roots, &leaf, err);
}

hs_status hs_go_collect_timers(struct hs_go_session *s, struct hs_error *err)
{
    const struct hs_go_heap *heap = &s->heap;
    uint64_t stride = HS_WORD_BYTES * (heap->layout->minor < MINOR_OF_PAIRS ? 1 : 2);
    uint64_t n_left = heap->live.n_bits; /* processors may share an array: of a hostile program */
    struct hs_go_block block;

    for (size_t i = 0; i < s->goroutines.n_ps; i++) {
        hs_addr slice = s->goroutines.ps[i] + (uint64_t)heap->layout->p_timers;
        hs_addr begin = hs_go_member(heap, slice, 0);
        uint64_t n = hs_go_member(heap, slice, HS_WORD_BYTES);
        if (!hs_go_resolve(heap, begin, &block) ||
            n > (block.begin + block.span->elem_bytes - begin) / stride)
            continue;
        for (uint64_t k = 0; k < n && n_left != 0; k++, n_left--)
            HS_TRY(add_timer(s, begin + k * stride, err));
    }
    return HS_OK;
}
