/* Timers that are to fire: roots of their own, by what they call. time.go (timer), sleep.go of the
 * package time: a program's own functions are called by time.goFunc, channels are written by
 * time.sendTime. */
#include <stdio.h>
#include <string.h>

#include "session.h"

enum { MINOR_OF_PAIRS = 23, LABEL_BYTES = HS_GO_NAME_BYTES + 32, INLINED_MAX = 64 };

/* The line of the program that makes timers with a channel, where there is but one. */
enum kind { ONCE, AGAIN, N_KINDS };
struct maker {
    unsigned n;
    hs_str file;
    uint32_t line;
};
struct makers {
    struct hs_go_session *s;
    struct hs_dict functions;       /* of the package time -> kind of what they make */
    char sources[HS_GO_NAME_BYTES]; /* the folder of Go's own */
    struct maker of[N_KINDS];
};

static hs_status add_function(void *context, hs_addr entry, const char *name, struct hs_error *err)
{
    static const struct {
        const char *name;
        enum kind kind;
    } known[] = {{"time.NewTimer", ONCE},
                 {"time.After", ONCE},
                 {"time.NewTicker", AGAIN},
                 {"time.Tick", AGAIN}};
    static const char runtime[] = "runtime/proc.go";
    struct makers *m = context;
    struct hs_go_function function;
    uint32_t line;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            return hs_dict_put(&m->functions, entry, known[i].kind, err);
    if (strcmp(name, "runtime.main") != 0 || !hs_go_function_at(&m->s->heap, entry, &function) ||
        !hs_go_line(&m->s->heap, &function, entry, m->sources, sizeof m->sources, &line))
        return HS_OK;
    size_t n = strlen(m->sources), n_name = sizeof runtime - 1;
    bool is_there = n >= n_name && strcmp(m->sources + n - n_name, runtime) == 0;
    m->sources[is_there ? n - n_name : 0] = '\0';
    return HS_OK;
}

/* Tells whether a source file is of Go's own packages: it is in their folder, which a build may
 * have left out of names; then the first part of its path is no host's. */
static bool is_own_source(const struct makers *m, const char *file)
{
    size_t n = strlen(m->sources), n_first = strcspn(file, "/");

    return n != 0 ? strncmp(file, m->sources, n) == 0
                  : file[n_first] == '/' && memchr(file, '.', n_first) == NULL;
}

static hs_status add_call(void *context, const struct hs_go_function *caller, hs_addr at,
                          uint64_t kind, struct hs_error *err)
{
    struct makers *m = context;
    const struct hs_go_heap *heap = &m->s->heap;
    struct maker made = {.n = 1}, *there = &m->of[kind];
    char file[HS_GO_NAME_BYTES];
    unsigned n_left = INLINED_MAX;
    bool is_own;

    /* A call that was inlined into the program's own function is that function's. */
    do {
        if (!hs_go_line(heap, caller, at, file, sizeof file, &made.line))
            return HS_OK;
        is_own = is_own_source(m, file);
    } while (is_own && n_left-- != 0 && hs_go_step_out(heap, caller, &at));
    if (is_own)
        return HS_OK;
    HS_TRY(hs_strtab_add(&heap->dump->strings, file, &made.file, err));
    if (there->n == 0)
        *there = made;
    else if (there->file != made.file || there->line != made.line)
        there->n++;
    return HS_OK;
}

static hs_status find_makers(struct hs_go_session *s, struct makers *ret, struct hs_error *err)
{
    ret->s = s;
    HS_TRY(hs_go_each_function(&s->heap, add_function, ret, err));
    return hs_go_each_call(&s->heap, &ret->functions, add_call, ret, err);
}

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

/* Says what a timer does, as the name of all that do so; *ret_kind: of one with a channel. */
static void timer_name(const struct hs_go_heap *heap, hs_addr timer, char *text, bool *ret_is_own,
                       enum kind *ret_kind)
{
    const struct hs_go_layout *l = heap->layout;
    hs_addr argument = hs_go_member(heap, timer, l->timer_f + 2 * (int64_t)HS_WORD_BYTES);
    char name[HS_GO_NAME_BYTES] = "";

    *ret_is_own = true;
    *ret_kind = N_KINDS;
    if (!closure_name(heap, hs_go_member(heap, timer, l->timer_f), name, sizeof name)) {
        snprintf(text, LABEL_BYTES, "timers of an unknown function");
        return;
    }
    if (strcmp(name, "time.sendTime") == 0) {
        *ret_kind = hs_go_member(heap, timer, l->timer_period) != 0 ? AGAIN : ONCE;
        snprintf(text, LABEL_BYTES, "%s",
                 *ret_kind == AGAIN ? "timers of time.NewTicker"
                                    : "timers of time.NewTimer and time.After");
        return;
    }
    if (strcmp(name, "time.goFunc") == 0)
        (void)closure_name(heap, argument, name, sizeof name);
    *ret_is_own = strncmp(name, "runtime.", strlen("runtime.")) != 0;
    snprintf(text, LABEL_BYTES, "timers of %s", name);
}

static hs_status add_timer(const struct makers *makers, hs_addr at, struct hs_error *err)
{
    struct hs_go_session *s = makers->s;
    struct hs_strtab *strings = &s->dump->strings;
    hs_addr timer = hs_go_member(&s->heap, at, 0);
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_REGISTERED,
                                         .certainty = HS_EXACT,
                                         .edge_class = HS_EDGE_EXACT,
                                         .address = at,
                                         .field = HS_NO_FIELD}};
    struct hs_go_block block;
    char text[LABEL_BYTES];
    enum kind kind;
    bool is_own;

    if (!hs_go_resolve(&s->heap, timer, &block))
        return HS_OK;
    leaf.target = block.begin;
    timer_name(&s->heap, timer, text, &is_own, &kind);
    if (kind != N_KINDS && makers->of[kind].n == 1) {
        leaf.root.file = makers->of[kind].file;
        leaf.root.line = makers->of[kind].line;
    }
    if (!is_own)
        hs_root_lower(&leaf.root, HS_TIER_RUNTIME, HS_REASON_RUNTIME_TABLE);
    HS_TRY(hs_strtab_add(strings, "timers", &leaf.group_module, err));
    leaf.group_unit = leaf.group_module;
    HS_TRY(hs_strtab_add(strings, text, &leaf.group_variable, err));
    HS_TRY(hs_strtab_add(strings, "a timer", &leaf.root.name, err));
    return hs_roots_add(&s->roots, &leaf, err);
}

static hs_status add_timers(const struct makers *makers, struct hs_error *err)
{
    const struct hs_go_session *s = makers->s;
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
            HS_TRY(add_timer(makers, begin + k * stride, err));
    }
    return HS_OK;
}

hs_status hs_go_collect_timers(struct hs_go_session *s, struct hs_error *err)
{
    struct makers makers = {.s = s};
    hs_status status = s->dump->options->no_names ? HS_OK : find_makers(s, &makers, err);

    if (status == HS_OK)
        status = add_timers(&makers, err);
    hs_dict_fini(&makers.functions);
    return status;
}
