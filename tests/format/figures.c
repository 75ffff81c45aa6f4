/* links: hs_format */
/* What our reader finds in a file, in the words of second_reader.py. Exit 1 when it is not sound.
 */
#include <stdio.h>

#include "snapshot/reader.h"

static void figures_print_members(const struct hs_snap *snap)
{
    for (uint64_t type = 0; type < hs_snap_totals(snap)->n_types; type++) {
        size_t n;
        const struct hs_member *members = hs_snap_members(snap, (uint32_t)type, &n);
        for (size_t i = 0; i < n; i++)
            printf("member %u %llu %s %s\n", members[i].type,
                   (unsigned long long)members[i].offset_bytes,
                   hs_snap_string(snap, members[i].name),
                   hs_snap_string(snap, members[i].type_name));
    }
}

static void figures_print_samples(const struct hs_snap *snap)
{
    const struct hs_snap_facts *facts = hs_snap_facts(snap);

    for (size_t i = 0; i < facts->n_samplers; i++) {
        const struct hs_sampler *sampler = &facts->samplers[i];
        printf("sampler %u %.17g %llu %llu %s\n", sampler->kind, sampler->period_words,
               (unsigned long long)sampler->begun_ns, (unsigned long long)sampler->n_lost,
               hs_snap_string(snap, sampler->trace));
    }
    for (uint64_t i = 0; i < hs_snap_totals(snap)->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(snap, i);
        printf("sample %llu %lld %llu %llu %u %u %lld\n", (unsigned long long)sample->id,
               sample->node == HS_NO_NODE ? -1LL : (long long)sample->node,
               (unsigned long long)sample->n_samples, (unsigned long long)sample->words,
               sample->state, sample->sampler,
               sample->site == HS_NO_SITE ? -1LL : (long long)sample->site);
    }
    for (uint32_t site = 0; site < hs_snap_n_sites(snap); site++) {
        size_t n;
        const struct hs_site_frame *frames = hs_snap_site(snap, site, &n);
        for (size_t i = 0; i < n; i++)
            printf("frame %u %s %s %s %u %llu\n", frames[i].site,
                   hs_snap_string(snap, frames[i].function), hs_snap_string(snap, frames[i].file),
                   hs_snap_string(snap, frames[i].module), frames[i].line,
                   (unsigned long long)frames[i].offset);
    }
}

static void figures_print_counts(const struct hs_snap *snap)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk chunk = {0};
    for (uint64_t at = 0; at < hs_snap_totals(snap)->n_chunks; at++) {
        if (hs_snap_load_chunk(snap, at, HS_COL_COUNTS, &chunk, &err) != HS_OK)
            fprintf(stderr, "%s\n", err.message);
        for (uint32_t i = 0; i < chunk.n_counts; i++) {
            const struct hs_block_count *count = &chunk.counts[i];
            printf("count %llu %llu ", (unsigned long long)chunk.first + count->at,
                   (unsigned long long)count->entries);
            if (count->room == HS_NO_ROOM)
                printf("None\n");
            else
                printf("%llu\n", (unsigned long long)count->room);
        }
    }
    hs_chunk_fini(&chunk);
}

/* How many edges each rule lowered. */
static void figures_print_reasons(const struct hs_snap *snap)
{
    uint64_t n[HS_MAX_REASON + 1] = {0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk chunk = {0};
    for (uint64_t at = 0; at < hs_snap_totals(snap)->n_chunks; at++) {
        if (hs_snap_load_chunk(snap, at, HS_COL_REASONS | HS_COL_EXTRA, &chunk, &err) != HS_OK)
            fprintf(stderr, "%s\n", err.message);
        for (uint64_t e = 0; e < chunk.n_edges; e++)
            n[chunk.edge_reason[e]]++;
        for (uint64_t e = 0; e < chunk.n_extra; e++)
            n[chunk.extra[e].reason]++;
    }
    hs_chunk_fini(&chunk);
    for (unsigned reason = 1; reason <= HS_MAX_REASON; reason++)
        if (n[reason] != 0)
            printf("reason %u %llu\n", reason, (unsigned long long)n[reason]);
}

static void figures_print(const struct hs_snap *snap)
{
    const struct hs_snap_totals *t = hs_snap_totals(snap);
    const struct hs_snap_facts *facts = hs_snap_facts(snap);
    const struct {
        const char *name;
        uint64_t value;
    } figures[] = {
        {"n_tree", t->n_tree},
        {"n_blocks", t->n_blocks},
        {"n_edges", t->n_edges},
        {"n_extra_edges", t->n_extra_edges},
        {"n_static_blocks", t->n_static_blocks},
        {"heap_words", t->heap_words},
        {"static_words", t->static_words},
        {"n_types", t->n_types},
        {"n_samples", t->n_samples},
        {"n_strings", t->n_strings},
        {"n_chunks", t->n_chunks},
        {"n_members", t->n_members},
        {"n_doubtful_edges", t->n_doubtful_edges}, /* -1: unknown */
    };
    printf("version %u\n", hs_snap_format_version(snap));
    printf("word_bytes %u\n", facts->word_bytes);
    printf("pid %u\n", facts->pid);
    printf("command %s\n", hs_snap_string(snap, facts->command));
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++)
        printf("%s %lld\n", figures[i].name, (long long)figures[i].value);
    printf("resident_bytes %llu\n", (unsigned long long)facts->resident_bytes);
    printf("stop %u %llu %llu %s\n", facts->stop_way, (unsigned long long)facts->predicted_ns,
           (unsigned long long)facts->growth_bytes, hs_snap_string(snap, facts->why_no_copy));
    printf("times %llu %llu\n", (unsigned long long)facts->taken_ns,
           (unsigned long long)facts->started_ns);
    for (size_t i = 0; i < facts->n_memory; i++) {
        const struct hs_memory_row *row = &facts->memory[i];
        printf("memory %s %u %llu %llu %llu\n", hs_snap_string(snap, row->owner), row->state,
               (unsigned long long)row->n_bytes, (unsigned long long)row->resident_bytes,
               (unsigned long long)row->n_blocks);
    }
    printf("checksum %016llx\n", (unsigned long long)t->checksum);
    for (hs_node i = 0; i < t->n_tree; i++) {
        const struct hs_root *root = hs_snap_root(snap, i);
        if (root->level != HS_LEVEL_LEAF)
            continue;
        if (root->target == HS_NO_NODE)
            printf("leaf %llu None ", (unsigned long long)i);
        else
            printf("leaf %llu %llu ", (unsigned long long)i, (unsigned long long)root->target);
        printf("%u %u %u %s\n", root->edge_class, root->tier, root->reason,
               hs_snap_string(snap, root->name));
    }
    figures_print_counts(snap);
    figures_print_reasons(snap);
    figures_print_members(snap);
    figures_print_samples(snap);
}

int main(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    if (argc != 2) {
        fprintf(stderr, "usage: format_figures FILE\n");
        return 2;
    }
    hs_status status = hs_snap_open(argv[1], 0, &snap, &err);
    if (status == HS_OK)
        status = hs_snap_check(snap, NULL, &err);
    if (status == HS_OK)
        figures_print(snap);
    else
        fprintf(stderr, "%s\n", err.message);
    hs_snap_close(snap);
    return status == HS_OK ? 0 : 1;
}
