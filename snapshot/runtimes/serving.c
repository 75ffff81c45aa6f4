/* The questions of the runtimes of one dump to each other, and the life of what they share. */
#include "base/alloc.h"
#include "runtimes/runtime.h"

void hs_dump_bind(struct hs_dump *dump)
{
    dump->findings.strings = &dump->strings;
    dump->process = (struct hs_process_copy){.target = &dump->target,
                                             .image = &dump->image,
                                             .objects = &dump->objects,
                                             .findings = &dump->findings,
                                             .plan = &dump->plan,
                                             .rules = dump->options->rules};
}

void hs_dump_fini(struct hs_dump *dump)
{
    hs_target_resume(&dump->target);
    hs_heaps_close(&dump->heaps);
    hs_findings_fini(&dump->findings);
    hs_free(dump->debug_notes);
    hs_residency_fini(&dump->residency);
    hs_dump_plan_fini(&dump->plan);
    hs_image_fini(&dump->image);
    hs_objects_close(&dump->objects);
    hs_target_close(&dump->target);
    hs_strtab_fini(&dump->strings);
}

hs_node hs_dump_node_among(const struct hs_dump *dump, const void *self, hs_addr block,
                           uint64_t rank)
{
    hs_node node = dump->n_tree + rank;

    for (size_t i = 0; i < dump->n_serving; i++)
        if (dump->serving[i].state != self)
            node += dump->serving[i].runtime->below(dump->serving[i].state, block);
    return node;
}

struct hs_interpreter hs_dump_interpreter(const struct hs_dump *dump)
{
    for (size_t i = 0; i < dump->n_serving; i++) {
        const struct hs_serving *serving = &dump->serving[i];
        const struct hs_object_model *model =
            serving->runtime->objects == NULL ? NULL : serving->runtime->objects(serving->state);
        if (model != NULL)
            return (struct hs_interpreter){.model = model, .state = serving->state};
    }
    return hs_heaps_interpreter(&dump->heaps);
}

const hs_addr *hs_dump_records(const struct hs_dump *dump, const void *self, size_t *ret_n)
{
    *ret_n = 0;
    for (size_t i = 0; i < dump->n_serving; i++)
        if (dump->serving[i].state != self && dump->serving[i].runtime->records != NULL)
            return dump->serving[i].runtime->records(dump->serving[i].state, ret_n);
    return NULL;
}
