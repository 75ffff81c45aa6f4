/* The root tree of a Java heap:
 *
 *   kind      module              unit                            leaf
 *   globals   static fields       a class                         one field of it (by policy)
 *   globals   system classes      system classes                  a class
 *   stacks    thread N            #1 Class.method (File.java:7)   a local variable
 *   locals    thread N            the same                        a JNI local
 *   C roots   JNI globals, monitors in use, threads, ...          an object
 *
 * Threads have numbers and no names: a thread's name is a string of the heap. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "run.h"

struct roots_maker {
    struct hprof_run *run;
    hs_node kinds[HS_N_ROOT_KINDS]; /* 0: not made */
};

static hs_status kind_make(struct roots_maker *m, unsigned kind, hs_node *ret, struct hs_error *err)
{
    if (m->kinds[kind] == 0) {
        hs_str name;
        HS_TRY(hs_strtab_add(&m->run->maker->strings, hs_root_group_name(kind), &name, err));
        HS_TRY(maker_group(m->run->maker, 0, kind, name, &m->kinds[kind], err));
    }
    *ret = m->kinds[kind];
    return HS_OK;
}

static hs_status module_make(struct roots_maker *m, unsigned kind, const char *text, hs_node *ret,
                             struct hs_error *err)
{
    hs_str name;
    hs_node above;
    HS_TRY(kind_make(m, kind, &above, err));
    HS_TRY(maker_name(m->run->maker, "", text, strlen(text), &name, err));
    return maker_group(m->run->maker, above, kind, name, ret, err);
}

/* Targets are object indexes until the number of roots is known. */
static hs_status leaf_make(struct roots_maker *m, hs_node unit, uint64_t object,
                           struct hs_root root, const char *text, struct hs_error *err)
{
    root.parent = unit;
    root.level = HS_LEVEL_LEAF;
    root.target = object;
    root.field = HS_NO_FIELD;
    HS_TRY(maker_name(m->run->maker, "", text, strlen(text), &root.name, err));
    return maker_root(m->run->maker, &root, NULL, err);
}

/* ---- static fields ---- */

static hs_status class_statics(struct roots_maker *m, const struct hprof_class *of, hs_node *module,
                               struct hs_error *err)
{
    struct hprof_run *run = m->run;
    struct hprof_statics walk;
    struct hprof_static at;
    hs_node unit = 0;
    char text[3 * MAKER_NAME_BYTES];
    HS_TRY(hs_hprof_statics(run, of, &walk, err));
    while (hs_hprof_static_next(&walk, &at)) {
        if (at.name == 0 || at.type != HPROF_OBJECT || at.target == 0)
            continue;
        uint64_t object = hs_id_find(&run->objects, at.target);
        if (object == UINT64_MAX)
            continue;
        if (*module == 0)
            HS_TRY(module_make(m, HS_ROOT_GLOBAL, "static fields", module, err));
        if (unit == 0)
            HS_TRY(maker_group(run->maker, *module, HS_ROOT_GLOBAL, of->name, &unit, err));
        struct hs_root root = {0};
        HS_TRY(hs_hprof_name(run, at.name, false, &root.symbol, err));
        (void)snprintf(text, sizeof text, "%s.%s", hs_strtab_get(&run->maker->strings, of->name),
                       hs_strtab_get(&run->maker->strings, root.symbol));
        HS_TRY(leaf_make(m, unit, object, root, text, err));
    }
    return HS_OK;
}

/* ---- threads ---- */

struct frame_text {
    struct hs_root where; /* function, file, line */
    char text[3 * MAKER_NAME_BYTES];
};

/* The body of frame `at` of a thread's trace; 0 when there is none. */
static uint64_t frame_find(const struct hprof_run *run, uint32_t thread, uint32_t at)
{
    uint64_t of = hs_id_find(&run->threads, thread);
    if (of == UINT64_MAX || at == UINT32_MAX)
        return 0;
    uint64_t trace = hs_id_find(&run->traces, run->roots[run->threads.places[of].at].frame);
    if (trace == UINT64_MAX)
        return 0;
    struct hprof_reader r = hs_hprof_read(&run->file, run->traces.places[trace].at, UINT64_MAX);
    hs_hprof_skip(&r, 8);
    uint64_t n = hs_hprof_number(&r, 4);
    if (at >= n)
        return 0;
    hs_hprof_skip(&r, (uint64_t)at * run->file.id_bytes);
    uint64_t frame = hs_id_find(&run->frames, hs_hprof_id(&r));
    return r.failed || frame == UINT64_MAX ? 0 : run->frames.places[frame].at;
}

/* Frames name their class by its serial number. */
static hs_str class_of_serial(const struct hprof_run *run, uint64_t serial)
{
    uint64_t at = hs_id_find(&run->serials, serial);
    const struct hprof_class *of =
        at != UINT64_MAX ? hs_hprof_class(run, run->serials.places[at].at) : NULL;
    return of != NULL ? of->name : 0;
}

static hs_status frame_describe(struct hprof_run *run, uint64_t body, uint32_t at,
                                struct frame_text *ret, struct hs_error *err)
{
    *ret = (struct frame_text){.where = {.frame = at + 1}};
    struct hprof_reader r = hs_hprof_read(&run->file, body, UINT64_MAX);
    if (body == 0) {
        ret->where.frame = 0;
        (void)snprintf(ret->text, sizeof ret->text, "no frame");
        return HS_OK;
    }
    (void)hs_hprof_id(&r);
    HS_TRY(hs_hprof_name(run, hs_hprof_id(&r), false, &ret->where.function, err));
    (void)hs_hprof_id(&r);
    HS_TRY(hs_hprof_name(run, hs_hprof_id(&r), false, &ret->where.file, err));
    hs_str class_name = class_of_serial(run, hs_hprof_number(&r, 4));
    uint64_t line = hs_hprof_number(&r, 4);
    ret->where.line = line <= INT32_MAX ? (uint32_t)line : 0; /* negative: unknown, native */
    const struct hs_strtab *strings = &run->maker->strings;
    (void)snprintf(ret->text, sizeof ret->text, "#%u %s.%s", at + 1,
                   hs_strtab_get(strings, class_name), hs_strtab_get(strings, ret->where.function));
    return HS_OK;
}

static bool is_of_thread(unsigned tag)
{
    return tag == HPROF_JAVA_FRAME || tag == HPROF_JNI_LOCAL;
}

/* Orders roots by kind, thread and frame; then as in the file. */
static int frame_order(const void *a, const void *b)
{
    const struct hprof_root *x = *(const struct hprof_root *const *)a;
    const struct hprof_root *y = *(const struct hprof_root *const *)b;
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->frame != y->frame)
        return x->frame < y->frame ? -1 : 1;
    return x < y ? -1 : x > y;
}

struct frame_groups {
    const struct hprof_root *last; /* NULL: none yet */
    hs_node module, unit;
    struct frame_text frame;
    unsigned n_slots;
};

static hs_status frame_leaf(struct roots_maker *m, const struct hprof_root *root,
                            struct frame_groups *g, struct hs_error *err)
{
    struct hprof_run *run = m->run;
    unsigned kind = root->tag == HPROF_JAVA_FRAME ? HS_ROOT_STACK : HS_ROOT_LOCAL;
    bool is_same = g->last != NULL && g->last->tag == root->tag && g->last->thread == root->thread;
    char text[3 * MAKER_NAME_BYTES + 48];
    if (!is_same) {
        (void)snprintf(text, sizeof text, "thread %u", root->thread);
        HS_TRY(module_make(m, kind, text, &g->module, err));
        run->maker->roots[g->module].thread = root->thread;
    }
    if (!is_same || g->last->frame != root->frame) {
        hs_str name;
        uint64_t body = frame_find(run, root->thread, root->frame);
        HS_TRY(frame_describe(run, body, root->frame, &g->frame, err));
        HS_TRY(maker_name(run->maker, "", g->frame.text, strlen(g->frame.text), &name, err));
        HS_TRY(maker_group(run->maker, g->module, kind, name, &g->unit, err));
        struct hs_root *unit = &run->maker->roots[g->unit];
        unit->thread = root->thread;
        unit->frame = g->frame.where.frame;
        g->n_slots = 0;
    }
    g->last = root;
    uint64_t object = hs_id_find(&run->objects, root->id);
    if (object == UINT64_MAX)
        return HS_OK;
    struct hs_root leaf = g->frame.where;
    leaf.thread = root->thread;
    (void)snprintf(text, sizeof text, "%s local %u", g->frame.text, ++g->n_slots);
    return leaf_make(m, g->unit, object, leaf, text, err);
}

static hs_status frames_make(struct roots_maker *m, struct hs_error *err)
{
    struct hprof_run *run = m->run;
    const struct hprof_root **list = NULL;
    size_t capacity = 0, n = 0;
    HS_TRY(maker_grow(run->maker, (void **)&list, &capacity, run->n_roots + 1, sizeof(void *),
                      "roots of threads", err));
    for (size_t i = 0; i < run->n_roots; i++)
        if (is_of_thread(run->roots[i].tag))
            list[n++] = &run->roots[i];
    qsort(list, n, sizeof(void *), frame_order);
    struct frame_groups groups = {0};
    hs_status status = HS_OK;
    for (size_t i = 0; i < n && status == HS_OK; i++)
        status = frame_leaf(m, list[i], &groups, err);
    hs_free(list);
    return status;
}

/* ---- the rest ---- */

static const struct {
    uint8_t tag, kind;
    const char *name;
} groups[] = {
    {HPROF_STICKY_CLASS, HS_ROOT_GLOBAL, "system classes"},
    {HPROF_INTERNED_STRING, HS_ROOT_GLOBAL, "interned strings"},
    {HPROF_JNI_GLOBAL, HS_ROOT_C_ROOT, "JNI globals"},
    {HPROF_THREAD_OBJECT, HS_ROOT_C_ROOT, "threads"},
    {HPROF_MONITOR_USED, HS_ROOT_C_ROOT, "monitors in use"},
    {HPROF_JNI_MONITOR, HS_ROOT_C_ROOT, "JNI monitors"},
    {HPROF_DEBUGGER, HS_ROOT_C_ROOT, "debugger"},
    {HPROF_REFERENCE_CLEANUP, HS_ROOT_C_ROOT, "reference cleanup"},
    {HPROF_VM_INTERNAL, HS_ROOT_C_ROOT, "virtual machine"},
    {HPROF_UNKNOWN, HS_ROOT_C_ROOT, "unknown roots"},
    {HPROF_NATIVE_STACK, HS_ROOT_STACK, "native stacks"},
    {HPROF_THREAD_BLOCK, HS_ROOT_STACK, "thread blocks"},
    {HPROF_FINALIZING, HS_ROOT_FINALISER, "being finalised"},
};

static hs_status group_leaf(struct roots_maker *m, size_t group, size_t number, hs_node unit,
                            const struct hprof_root *root, struct hs_error *err)
{
    struct hprof_run *run = m->run;
    char text[MAKER_NAME_BYTES + 64];
    uint64_t object = hs_id_find(&run->objects, root->id);
    if (object == UINT64_MAX)
        return HS_OK;
    const struct hprof_class *of = hs_hprof_class(run, root->id);
    if (of != NULL)
        (void)snprintf(text, sizeof text, "class %s",
                       hs_strtab_get(&run->maker->strings, of->name));
    else if (root->tag == HPROF_THREAD_OBJECT)
        (void)snprintf(text, sizeof text, "thread %u", root->thread);
    else
        (void)snprintf(text, sizeof text, "%s[%zu]", groups[group].name, number);
    const struct hs_root leaf = {.thread = root->thread};
    return leaf_make(m, unit, object, leaf, text, err);
}

static hs_status group_make(struct roots_maker *m, size_t group, struct hs_error *err)
{
    struct hprof_run *run = m->run;
    hs_node module = 0, unit = 0;
    size_t number = 0;
    for (size_t i = 0; i < run->n_roots; i++) {
        if (run->roots[i].tag != groups[group].tag)
            continue;
        if (module == 0) {
            HS_TRY(module_make(m, groups[group].kind, groups[group].name, &module, err));
            HS_TRY(maker_group(run->maker, module, 0, run->maker->roots[module].name, &unit, err));
        }
        HS_TRY(group_leaf(m, group, number++, unit, &run->roots[i], err));
    }
    return HS_OK;
}

hs_status hs_hprof_roots(struct hprof_run *run, struct hs_error *err)
{
    struct roots_maker m = {.run = run};
    struct maker *maker = run->maker;
    hs_str name;
    hs_node statics = 0;
    HS_TRY(hs_strtab_add(&maker->strings, "all", &name, err));
    HS_TRY(maker_group(maker, 0, 0, name, NULL, err));
    for (size_t i = 0; i < run->n_classes && run->policy->static_roots; i++)
        HS_TRY(class_statics(&m, &run->classes[i], &statics, err));
    if (!run->policy->thread_locals)
        HS_TRY(frames_make(&m, err));
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        HS_TRY(group_make(&m, i, err));
    for (size_t i = 0; i < maker->n_roots; i++)
        if (maker->roots[i].target != HS_NO_NODE)
            maker->roots[i].target += maker->n_roots;
    return HS_OK;
}
