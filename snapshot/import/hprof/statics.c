/* The pointers of class objects. */
#include "run.h"

enum { PART_CONSTANTS = 4, PART_FIELDS, PART_END };

hs_status hs_hprof_statics(const struct hprof_run *run, const struct hprof_class *of,
                           struct hprof_statics *ret, struct hs_error *err)
{
    unsigned id_bytes = run->file.id_bytes;
    struct hprof_statics walk = {.reader = hs_hprof_read(&run->file, of->body, UINT64_MAX)};
    walk.of = of;
    hs_hprof_skip(&walk.reader, id_bytes + 4);
    for (unsigned i = 0; i < PART_CONSTANTS; i++)
        walk.fixed[i] = hs_hprof_id(&walk.reader);
    hs_hprof_skip(&walk.reader, 2 * id_bytes + 4);
    walk.n_left = hs_hprof_number(&walk.reader, 2);
    if (walk.reader.failed)
        return hs_hprof_fail(&walk.reader, "a class", err);
    *ret = walk;
    return HS_OK;
}

static bool value_take(struct hprof_statics *walk, struct hprof_static *ret)
{
    struct hprof_reader *r = &walk->reader;
    if (walk->part == PART_CONSTANTS)
        (void)hs_hprof_number(r, 2);
    else
        ret->name = hs_hprof_id(r);
    ret->type = (unsigned)hs_hprof_number(r, 1);
    unsigned n_bytes = hs_hprof_type_bytes(r->file, ret->type);
    ret->target = hs_hprof_number(r, n_bytes);
    r->failed |= n_bytes == 0;
    walk->n_left--;
    return !r->failed;
}

bool hs_hprof_static_next(struct hprof_statics *walk, struct hprof_static *ret)
{
    static const char *const fixed[PART_CONSTANTS] = {"<super>", "<loader>", "<signers>",
                                                      "<protection domain>"};
    if (walk->reader.failed)
        return false;
    *ret = (struct hprof_static){.type = HPROF_OBJECT, .fixed = "<constant>"};
    if (walk->part < PART_CONSTANTS) {
        ret->fixed = fixed[walk->part];
        ret->target = walk->fixed[walk->part++];
        return true;
    }
    if (walk->part == PART_CONSTANTS && walk->n_left == 0) {
        walk->part = PART_FIELDS;
        walk->n_left = hs_hprof_number(&walk->reader, 2);
    }
    if (walk->part == PART_FIELDS && walk->n_left == 0)
        walk->part = PART_END;
    return walk->part != PART_END && !walk->reader.failed && value_take(walk, ret);
}

/* The loader is held always. Without class edges, as in VisualVM, a class object holds no more than
 * it and the static fields. */
bool hs_hprof_static_held(const struct hprof_run *run, const struct hprof_static *at)
{
    if (at->type != HPROF_OBJECT || at->target == 0)
        return false;
    if (at->name != 0)
        return !run->policy->static_roots;
    return run->policy->class_edges || at->fixed[1] == 'l';
}
