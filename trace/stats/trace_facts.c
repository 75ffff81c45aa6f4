#include "stats/trace_facts.h"

static void count_event(struct hs_trace_facts *facts, const struct hs_trace_event *event)
{
    uint64_t *word = &facts->domains[event->domain / 64 % (65536 / 64)];
    uint64_t bit = (uint64_t)1 << event->domain % 64;
    facts->n_domains += (*word & bit) == 0;
    *word |= bit;
    if (event->kind == HS_TRACE_ALLOC) {
        facts->n_of_source[event->source]++;
        facts->n_frames += event->n_frames;
    }
}

hs_status hs_trace_facts_read(struct hs_trace_facts *facts, const char *path,
                              struct hs_budget *budget, struct hs_error *err)
{
    struct hs_trace_event event;
    bool more;
    hs_trace_objects_init(&facts->objects, budget);
    HS_TRY(hs_trace_open(path, &facts->trace, err));
    facts->info = hs_trace_info(facts->trace);
    facts->gaps = hs_trace_gaps(facts->trace);
    for (;;) {
        HS_TRY(hs_trace_next(facts->trace, &event, &more, err));
        if (!more)
            break;
        count_event(facts, &event);
        HS_TRY(hs_trace_objects_add(&facts->objects, &event, err));
    }
    HS_TRY(hs_trace_objects_finish(&facts->objects, err));
    facts->scale = hs_trace_scale_of(&facts->objects, facts->info->samples_per_word);
    return HS_OK;
}

void hs_trace_facts_fini(struct hs_trace_facts *facts)
{
    hs_trace_objects_fini(&facts->objects);
    hs_trace_close(facts->trace);
    facts->trace = NULL;
}
