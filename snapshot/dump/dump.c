/* The order of a dump. Slow work stands before the stop or after the target has been let go. */
#include "dump/dump.h"

#include "base/alloc.h"
#include "base/own_pages.h"
#include "parts.h"
#include "symbols/elf.h"
#include "symbols/lines.h"

#define RUNTIME_ENTRY(name) [HS_RUNTIME_##name] = &hs_runtime_##name,
const struct hs_runtime *const hs_runtimes[HS_N_RUNTIMES] = {HS_RUNTIMES(RUNTIME_ENTRY)};

/* ---- which runtimes serve the process */

/* Tells whether C code has more memory than the runtime's own heap, and enough of it to matter. A
 * core says nothing of it, nor does a heap whose size is not told. */
static bool dump_c_has_most(const struct hs_dump *dump, const struct hs_serving *serving)
{
    const uint64_t least_bytes = 16 << 20;

    if (dump->options->core != NULL || serving->runtime->own_bytes == NULL)
        return false;
    uint64_t own_bytes = serving->runtime->own_bytes(serving->state);
    uint64_t bytes = hs_dump_anonymous_bytes(dump->options->pid);
    return own_bytes != 0 && bytes > own_bytes && bytes - own_bytes > own_bytes &&
           bytes - own_bytes >= least_bytes;
}

static bool dump_is_alone(const struct hs_dump *dump, const struct hs_serving *serving)
{
    return dump->options->own_heap_alone && serving->runtime->has_own_heap &&
           !(dump->options->unless_c_has_most && dump_c_has_most(dump, serving));
}

/* Refuses a process whose heap needs a part that this build lacks: nothing of it could be read. */
static hs_status dump_check_built(const struct hs_dump *dump, struct hs_error *err)
{
    const struct hs_unbuilt_runtime *unbuilt = hs_unbuilt_runtime(&dump->objects);

    if (unbuilt == NULL || !unbuilt->has_own_heap)
        return HS_OK;
    (void)hs_fail(err, HS_TARGET, "'%s' is %s, and this heapsnap was built without the part %s",
                  dump->objects.objects[0].name, unbuilt->what, unbuilt->part);
    return hs_hint(err, "build it with -D%s=ON", unbuilt->with);
}

static hs_status dump_recognise(struct hs_dump *dump, struct hs_error *err)
{
    bool is_alone = false;

    HS_TRY(dump_check_built(dump, err));
    for (size_t i = 0; i < HS_N_RUNTIMES; i++) {
        if (!hs_runtimes[i]->serves(&dump->objects) || (is_alone && !hs_runtimes[i]->has_own_heap))
            continue;
        struct hs_serving *serving = &dump->serving[dump->n_serving];
        HS_TRY(hs_runtimes[i]->open(dump, &serving->state, err));
        serving->runtime = hs_runtimes[i];
        dump->n_serving++;
        dump->n_listing += !hs_runtimes[i]->has_no_blocks;
        is_alone |= dump_is_alone(dump, serving);
    }
    return HS_OK;
}

static hs_status dump_prepare(struct hs_dump *dump, struct hs_error *err)
{
    HS_TRY(hs_dump_open(dump->options, &dump->target, err));
    HS_TRY(hs_dump_find_programs(dump, err));
    HS_TRY(hs_objects_open(&dump->objects, &dump->target, err));
    HS_TRY(dump_recognise(dump, err));
    for (size_t i = 0; i < dump->n_serving; i++)
        HS_TRY(dump->serving[i].runtime->prepare(dump->serving[i].state, err));
    return HS_OK;
}

/* ---- roots, and what they lead to across runtimes */

struct dump_marking {
    struct hs_dump *dump;
    size_t from;     /* the runtime whose words these are */
    bool of_garbage; /* of its */
};

static hs_status dump_mark_word(void *context, uint64_t word, struct hs_error *err)
{
    const struct dump_marking *m = context;

    for (size_t i = 0; i < m->dump->n_serving; i++) {
        const struct hs_serving *serving = &m->dump->serving[i];
        if (i != m->from && serving->runtime->mark_word != NULL)
            HS_TRY(serving->runtime->mark_word(serving->state, word, m->of_garbage, err));
    }
    return HS_OK;
}

static hs_status dump_mark_words(struct hs_dump *dump, bool of_garbage, struct hs_error *err)
{
    for (size_t i = 0; i < dump->n_serving && dump->n_serving > 1; i++) {
        const struct hs_serving *serving = &dump->serving[i];
        struct dump_marking marking = {.dump = dump, .from = i, .of_garbage = of_garbage};
        if (serving->runtime->foreign_words != NULL)
            HS_TRY(serving->runtime->foreign_words(serving->state, of_garbage, dump_mark_word,
                                                   &marking, err));
    }
    return HS_OK;
}

/* Marks what the roots of an interpreter lead to, whose objects are blocks of others: some of these
 * nothing else leads to. */
static hs_status dump_mark_leaves(struct hs_dump *dump, struct hs_error *err)
{
    for (size_t i = 0; i < dump->n_serving; i++) {
        const struct hs_serving *serving = &dump->serving[i];
        struct dump_marking marking = {.dump = dump, .from = i};
        const struct hs_roots *roots =
            serving->runtime->has_no_blocks ? serving->runtime->leaves(serving->state) : NULL;
        for (size_t j = 0; roots != NULL && j < roots->n_leaves; j++) {
            const struct hs_root_leaf *leaf = &roots->leaves[j];
            bool is_inside = leaf->root.edge_class == HS_EDGE_INTERIOR;
            if (!leaf->root.weak)
                HS_TRY(dump_mark_word(&marking, leaf->target + is_inside, err));
        }
    }
    return HS_OK;
}

static hs_status dump_mark(struct hs_dump *dump, struct hs_error *err)
{
    HS_TRY(dump_mark_leaves(dump, err));
    HS_TRY(dump_mark_words(dump, false, err));
    HS_TRY(dump_mark_words(dump, true, err));
    for (size_t i = 0; i < dump->n_serving; i++)
        if (dump->serving[i].runtime->mark_end != NULL)
            HS_TRY(dump->serving[i].runtime->mark_end(dump->serving[i].state, err));
    return HS_OK;
}

static hs_status dump_walk(struct hs_dump *dump, struct hs_leaves *leaves, struct hs_error *err)
{
    for (size_t i = 0; i < dump->n_serving; i++)
        HS_TRY(dump->serving[i].runtime->roots(dump->serving[i].state, err));
    HS_TRY(hs_leaves_gather(dump, leaves, err));
    return dump_mark(dump, err);
}

/* ---- all of it */

static void dump_tell_memory(const struct hs_dump *dump, struct hs_dump_report *ret)
{
    struct hs_dump_needs needs;

    hs_dump_foresee(dump->options->budget, &dump->plan.load, &needs);
    ret->copy_bytes = dump->plan.load.copy_bytes;
    ret->has_spilled = dump->image.paged != NULL;
    ret->foreseen_bytes = ret->has_spilled ? needs.least_bytes : needs.seen_bytes;
}

/* Fails when a part of what was put into temporary files, or of the binaries, could not be read
 * again. */
static hs_status dump_check(const struct hs_dump *dump, struct hs_error *err)
{
    HS_TRY(hs_image_check(&dump->image, err));
    HS_TRY(hs_objects_check(&dump->objects, err));
    for (size_t i = 0; i < dump->n_serving; i++)
        if (dump->serving[i].runtime->check != NULL)
            HS_TRY(dump->serving[i].runtime->check(dump->serving[i].state, err));
    return HS_OK;
}

/* Tells whether debug information, which is not here, would name what is kept: of a program in a
 * language whose runtime has no names of its own. */
static bool dump_is_stripped(const struct hs_dump *dump)
{
    const struct hs_object *program = &dump->objects.objects[0];

    return dump->n_serving == 1 && !dump->serving[0].runtime->has_own_heap &&
           hs_dump_interpreter(dump).model == NULL && program->debug == NULL &&
           !hs_dwarf_present(program->elf) && *hs_elf_build_id(program->elf) != '\0';
}

static hs_status dump_write(struct hs_dump *dump, struct hs_leaves *leaves,
                            struct hs_dump_facts *facts, struct hs_out *out,
                            struct hs_dump_report *ret, struct hs_error *err)
{
    HS_TRY(dump_walk(dump, leaves, err));
    HS_TRY(hs_dump_facts_gather(dump, facts, err));
    HS_TRY(hs_dump_write(dump, leaves, facts, out, &ret->totals, err));
    HS_TRY(dump_check(dump, err));
    hs_dump_facts_tell(facts, &dump->strings, ret);
    ret->stop = dump->target.report;
    ret->n_served = dump->n_served;
    ret->is_stripped = dump->objects.n != 0 && dump_is_stripped(dump);
    ret->served_bytes = dump->served_bytes;
    dump_tell_memory(dump, ret);
    return HS_OK;
}

static hs_status dump_run(struct hs_dump *dump, struct hs_out *out, struct hs_dump_report *ret,
                          struct hs_error *err)
{
    struct hs_dump_report report = {0};
    struct hs_dump_facts facts = {0};
    struct hs_leaves leaves = {0};

    HS_TRY(dump_prepare(dump, err));
    (void)hs_own_pages_load();
    HS_TRY(hs_dump_capture(dump, err));
    hs_status status = dump_write(dump, &leaves, &facts, out, &report, err);
    hs_dump_facts_fini(&facts);
    hs_leaves_fini(&leaves);
    if (status == HS_OK)
        *ret = report;
    return status;
}

/* Lets the target go if it is still stopped, whatever way the dump ends. */
static void dump_close(struct hs_dump *dump)
{
    hs_target_resume(&dump->target);
    for (size_t i = dump->n_serving; i-- > 0;)
        dump->serving[i].runtime->close(dump->serving[i].state);
    hs_dump_fini(dump);
}

static hs_status dump_with(const struct hs_dump_options *options, struct hs_out *out,
                           struct hs_dump_report *ret, struct hs_error *err)
{
    struct hs_dump dump = {.options = options};

    hs_dump_bind(&dump);
    hs_status status = dump_run(&dump, out, ret, err);
    if (dump.target.pid != 0 && options->core == NULL) /* opened: what is missing now was there */
        status = hs_refusal_if_ended(options->pid, status, err);
    dump_close(&dump);
    return status;
}

hs_status hs_dump_process(const struct hs_dump_options *options, struct hs_out *out,
                          struct hs_dump_report *ret, struct hs_error *err)
{
    if (options->core != NULL)
        HS_TRY(hs_progress_tell(options->progress, "opening the core", 0, 0, err));
    return dump_with(options, out, ret, err);
}
