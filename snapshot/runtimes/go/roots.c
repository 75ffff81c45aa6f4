/* Roots beside package variables: goroutines, each by its stack, and finalizers. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "session.h"

/* The kinds of mheap.go, special. */
enum {
    MINOR_OF_LONG_OFFSETS = 24,
    MINOR_OF_ARGUMENTS = 26,
    SPECIALS_MAX = 1 << 24,
    LABEL_BYTES = 640
};

/* ---- goroutines */

static const char *state_of(const struct hs_go_session *s, const struct hs_go_goroutine *g)
{
    static const char *const states[] = {
        [0] = "new",         [1] = "runnable", [2] = "running", [3] = "in a system call",
        [8] = "stack grows", [9] = "preempted"};
    enum { WAITING = 4 };

    if (g->status == WAITING) {
        const char *reason = hs_go_wait_reason(s->layout, g->wait_reason);
        return reason == NULL ? "waiting" : reason;
    }
    return g->status < sizeof states / sizeof *states && states[g->status] != NULL
               ? states[g->status]
               : "in an unknown state";
}

static hs_status add_goroutine(struct hs_go_session *s, const struct hs_go_goroutine *g,
                               struct hs_error *err)
{
    struct hs_strtab *strings = &s->dump->strings;
    const char *function = hs_strtab_get(strings, g->function);
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_STACK,
                                         .certainty = HS_EXACT,
                                         .edge_class = HS_EDGE_EXACT,
                                         .field = HS_NO_FIELD,
                                         .address = g->g},
                                .target = g->stack_begin};
    char text[LABEL_BYTES];

    if (g->is_runtime)
        hs_root_lower(&leaf.root, HS_TIER_RUNTIME, HS_REASON_RUNTIME_TABLE);
    HS_TRY(hs_strtab_add(strings, g->is_runtime ? "the runtime's own" : "goroutines",
                         &leaf.group_module, err));
    if (function[0] == '\0')
        function = "of an unknown function";
    snprintf(text, sizeof text, "goroutine %s", function);
    HS_TRY(hs_strtab_add(strings, text, &leaf.group_variable, err));
    HS_TRY(hs_strtab_add(strings, function, &leaf.group_unit, err));
    const char *inner = hs_strtab_get(strings, g->waits_in);
    snprintf(text, sizeof text, "goroutine %llu, %s%s%s", (unsigned long long)g->id, state_of(s, g),
             inner[0] == '\0' ? "" : " in ", inner);
    HS_TRY(hs_strtab_add(strings, text, &leaf.root.name, err));
    leaf.root.function = g->function;
    leaf.root.file = g->made_file;
    leaf.root.line = g->made_file == 0 ? 0 : g->made_line;
    return hs_roots_add(&s->roots, &leaf, err);
}

/* ---- finalizers */

static hs_status add_finalizer(struct hs_go_session *s, hs_addr target, const char *group,
                               const char *what, struct hs_error *err)
{
    struct hs_go_block block;
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_FINALISER,
                                         .certainty = HS_EXACT,
                                         .edge_class = HS_EDGE_EXACT,
                                         .field = HS_NO_FIELD}};

    if (!hs_go_resolve(&s->heap, target, &block))
        return HS_OK;
    leaf.target = block.begin;
    hs_root_lower(&leaf.root, HS_TIER_RUNTIME, HS_REASON_RUNTIME_TABLE);
    HS_TRY(hs_strtab_add(&s->dump->strings, "finalizers", &leaf.group_module, err));
    HS_TRY(hs_strtab_add(&s->dump->strings, what, &leaf.root.name, err));
    HS_TRY(hs_strtab_add(&s->dump->strings, group, &leaf.group_variable, err));
    leaf.group_unit = leaf.root.name;
    return hs_roots_add(&s->roots, &leaf, err);
}

/* Notes the type of an object that has a finalizer, for when types are put. */
static hs_status note_finalized(struct hs_go_session *s, hs_addr object, hs_addr type,
                                struct hs_error *err)
{
    HS_TRY(HS_GROW(&s->finalized, &s->finalized_capacity, s->n_finalized + 1, err));
    s->finalized[s->n_finalized++] = (struct hs_go_finalized){.object = object, .type = type};
    return HS_OK;
}

/* Adds an object that has a finalizer, and the function: by the type that this is called with. */
static hs_status add_finalized(struct hs_go_session *s, hs_addr object, hs_addr at,
                               struct hs_error *err)
{
    const struct hs_go_layout *l = s->layout;
    char name[HS_GO_TYPE_NAME_BYTES], text[HS_GO_TYPE_NAME_BYTES + 32];
    struct hs_go_type type;
    uint64_t element;

    if (!hs_go_read_type(&s->heap, hs_go_member(&s->heap, at, l->specialfinalizer_ot), &type) ||
        !hs_go_type_name(&s->heap, &type, name))
        snprintf(name, sizeof name, "objects of an unknown type");
    else if (type.kind == HS_GO_POINTER &&
             hs_go_u64(&s->heap, type.address + HS_GO_ELEM_AT, &element))
        HS_TRY(note_finalized(s, object, element, err));
    snprintf(text, sizeof text, "finalizers of %s", name[0] == '*' ? name + 1 : name);
    HS_TRY(add_finalizer(s, object, text, "an object with a finalizer", err));
    return add_finalizer(s, hs_go_member(&s->heap, at, l->specialfinalizer_fn), text, "a finalizer",
                         err);
}

/* Adds what a cleanup keeps: its function, since 1.26 its argument, too. */
static hs_status add_cleanup(struct hs_go_session *s, hs_addr at, struct hs_error *err)
{
    unsigned n = s->layout->minor < MINOR_OF_ARGUMENTS ? 1 : 3;

    for (unsigned i = 0; i < n; i++)
        HS_TRY(add_finalizer(
            s,
            hs_go_member(&s->heap, at, s->layout->specialfinalizer_fn + (int)(i * HS_WORD_BYTES)),
            "cleanups", "a cleanup", err));
    return HS_OK;
}

/* Adds the finalizers of a span's objects: a list of records by offset. */
static hs_status add_specials(struct hs_go_session *s, const struct hs_go_span *span,
                              uint64_t *n_left, struct hs_error *err)
{
    const struct hs_go_layout *l = s->layout;
    const struct hs_image *image = &s->dump->image;
    uint64_t bytes = span->end - span->begin;

    for (hs_addr at = span->specials; at != 0 && *n_left != 0; at = hs_go_member(&s->heap, at, 0)) {
        uint64_t offset = hs_go_member(&s->heap, at, HS_WORD_BYTES);
        uint8_t kind;
        --*n_left;
        offset = l->minor < MINOR_OF_LONG_OFFSETS ? (uint16_t)offset : offset;
        if (!hs_image_u8(image, at + (uint64_t)l->special_kind, &kind) || offset >= bytes)
            return HS_OK;
        if (kind == l->special_profile)
            HS_TRY(hs_go_add_sample(&s->heap, at, span->begin + offset, &s->samples, err));
        if (kind == l->special_cleanup)
            HS_TRY(add_cleanup(s, at, err));
        if (kind == l->special_weakhandle)
            HS_TRY(add_finalizer(s, hs_go_member(&s->heap, at, l->specialfinalizer_fn),
                                 "weak handles", "a weak handle", err));
        if (kind == l->special_finalizer)
            HS_TRY(add_finalized(s, span->begin + offset, at, err));
    }
    return HS_OK;
}

hs_status hs_go_collect_roots(struct hs_go_session *s, struct hs_error *err)
{
    uint64_t n_left = SPECIALS_MAX;

    for (size_t i = 0; i < s->goroutines.n; i++) {
        const struct hs_go_goroutine *g = &s->goroutines.goroutines[i];
        if (g->stack_begin < g->stack_end)
            HS_TRY(add_goroutine(s, g, err));
    }
    HS_TRY(hs_go_collect_timers(s, err));
    hs_go_find_rate(&s->heap, s->goroutines.n_ps == 0 ? 0 : s->goroutines.ps[0], &s->samples);
    for (size_t i = 0; i < s->heap.n_spans; i++)
        if (!s->heap.spans[i].is_stack && s->heap.spans[i].specials != 0)
            HS_TRY(add_specials(s, &s->heap.spans[i], &n_left, err));
    hs_go_judge_rate(&s->heap, &s->samples);
    return HS_OK;
}
