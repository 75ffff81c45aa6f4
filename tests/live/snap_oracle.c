/* An independent reader of snapshots for live tests: plain arrays, plain searches.
 *
 *   snap_oracle SNAP                 proofs, notes and totals
 *   snap_oracle SNAP roots [WORDS]   every root leaf that reaches at least WORDS heap words:
 *                                    reachable heap words, static words, blocks, kind, name
 *   snap_oracle SNAP sum             words alive by ephemerons only, alive, not alive, in all
 *   snap_oracle SNAP sole NAME       words lost when the leaf of this name is taken away
 *   snap_oracle SNAP types           address, words and type of each block, one a line
 *   snap_oracle SNAP graph           a line for each block, and one for each edge: from, to, words
 *                                    from the source's start and class; from, to and class of
 * extras
 *
 * Reachable: strong edges only. Alive (sum, sole): strong and active ephemeron edges. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "snapshot/reader.h"

struct oracle {
    struct hs_snap *snap;
    const struct hs_snap_totals *totals;
    uint64_t n_nodes, n_tree;
    uint64_t *words;
    uint8_t *is_static;
    uint64_t *begin; /* of strong edges, then of strong and ephemeron ones */
    uint32_t *target;
    uint64_t *more_begin;
    uint32_t *more_target;
    uint32_t *seen; /* number of the search that saw it last */
    uint32_t search;
    uint32_t *stack;
};

static void *need(size_t n, size_t size)
{
    void *memory = calloc(n + 1, size);
    if (memory == NULL)
        exit(70);
    return memory;
}

static void check(hs_status status, const struct hs_error *err)
{
    if (status != HS_OK) {
        fprintf(stderr, "snap_oracle: %s\n", err->message);
        exit(1);
    }
}

static void load_chunk(struct oracle *o, const struct hs_chunk *chunk, uint64_t *n_edges,
                       uint64_t *n_more)
{
    uint64_t extra = 0;

    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        hs_node node = chunk->first + i;
        o->words[node] = chunk->words[i];
        o->is_static[node] = (chunk->state[i] & HS_BLOCK_STATIC) != 0;
        o->begin[node] = *n_edges;
        for (uint64_t e = chunk->edge_begin[i]; e < chunk->edge_begin[i + 1]; e++)
            o->target[(*n_edges)++] = (uint32_t)chunk->target[e];
        o->more_begin[node] = *n_more;
        for (; extra < chunk->n_extra && chunk->extra[extra].source == node; extra++) {
            if (chunk->extra[extra].edge_class == HS_EDGE_EPHEMERON)
                o->more_target[(*n_more)++] = (uint32_t)chunk->extra[extra].target;
        }
    }
    if (extra != chunk->n_extra) {
        fprintf(stderr, "snap_oracle: extra edges out of order\n");
        exit(1);
    }
}

static void load(struct oracle *o, const char *path)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk chunk = {0};
    uint64_t n_edges = 0, n_more = 0;

    check(hs_snap_open(path, 0, &o->snap, &err), &err);
    check(hs_snap_check(o->snap, NULL, &err), &err);
    o->totals = hs_snap_totals(o->snap);
    o->n_tree = o->totals->n_tree;
    o->n_nodes = o->n_tree + o->totals->n_blocks;
    o->words = need(o->n_nodes, sizeof *o->words);
    o->is_static = need(o->n_nodes, sizeof *o->is_static);
    o->begin = need(o->n_nodes, sizeof *o->begin);
    o->more_begin = need(o->n_nodes, sizeof *o->more_begin);
    o->target = need(o->totals->n_edges, sizeof *o->target);
    o->more_target = need(o->totals->n_extra_edges, sizeof *o->more_target);
    o->seen = need(o->n_nodes, sizeof *o->seen);
    o->stack = need(o->n_nodes, sizeof *o->stack);
    for (uint64_t i = 0; i < o->totals->n_chunks; i++) {
        check(hs_snap_load_chunk(o->snap, i, HS_COL_ALL, &chunk, &err), &err);
        load_chunk(o, &chunk, &n_edges, &n_more);
    }
    o->begin[o->n_nodes] = n_edges;
    o->more_begin[o->n_nodes] = n_more;
    hs_chunk_fini(&chunk);
}

struct reach {
    uint64_t heap_words, static_words, n_blocks;
};

static void push(struct oracle *o, uint64_t node, size_t *n)
{
    if (o->seen[node] != o->search) {
        o->seen[node] = o->search;
        o->stack[(*n)++] = (uint32_t)node;
    }
}

static void follow(struct oracle *o, size_t n, bool with_ephemerons, struct reach *reach)
{
    while (n != 0) {
        uint32_t node = o->stack[--n];
        *(o->is_static[node] ? &reach->static_words : &reach->heap_words) += o->words[node];
        reach->n_blocks++;
        for (uint64_t e = o->begin[node]; e < o->begin[node + 1]; e++)
            push(o, o->target[e], &n);
        for (uint64_t e = o->more_begin[node]; with_ephemerons && e < o->more_begin[node + 1]; e++)
            push(o, o->more_target[e], &n);
    }
}

static struct reach reach_of(struct oracle *o, uint64_t node)
{
    struct reach reach = {0};
    size_t n = 0;

    o->search++;
    push(o, node, &n);
    follow(o, n, false, &reach);
    return reach;
}

/* What all strong leaves but `without` keep alive, with or without the help of ephemerons. */
static struct reach alive_without(struct oracle *o, uint64_t without, bool with_ephemerons)
{
    struct reach reach = {0};

    o->search++;
    for (uint64_t i = 0; i < o->n_tree; i++) {
        const struct hs_root *root = hs_snap_root(o->snap, i);
        size_t n = 0;
        if (root->target == HS_NO_NODE || root->weak || i == without)
            continue;
        push(o, root->target, &n);
        follow(o, n, with_ephemerons, &reach);
    }
    return reach;
}

static void print_facts(const struct oracle *o)
{
    const struct hs_snap_facts *facts = hs_snap_facts(o->snap);

    for (size_t i = 0; i < facts->n_proofs; i++)
        printf("proof %s: %s: expected %" PRIu64 " found %" PRIu64 "\n",
               facts->proofs[i].holds ? "holds" : "FAILS",
               hs_snap_string(o->snap, facts->proofs[i].what), facts->proofs[i].expected,
               facts->proofs[i].found);
    for (size_t i = 0; i < facts->n_notes; i++)
        printf("%s: %s\n", facts->notes[i].is_gap ? "gap" : "note",
               hs_snap_string(o->snap, facts->notes[i].text));
    for (size_t i = 0; i < facts->n_runtimes; i++)
        printf("runtime %s %s\n", hs_snap_string(o->snap, facts->runtimes[i].name),
               hs_snap_string(o->snap, facts->runtimes[i].version));
    printf("totals blocks %" PRIu64 " edges %" PRIu64 " extra %" PRIu64 " static %" PRIu64
           " heap_words %" PRIu64 " static_words %" PRIu64 " types %" PRIu64 " bytes %" PRIu64 "\n",
           o->totals->n_blocks, o->totals->n_edges, o->totals->n_extra_edges,
           o->totals->n_static_blocks, o->totals->heap_words, o->totals->static_words,
           o->totals->n_types, o->totals->file_bytes);
}

static void print_roots(struct oracle *o, uint64_t at_least)
{
    for (uint64_t i = 0; i < o->n_tree; i++) {
        const struct hs_root *root = hs_snap_root(o->snap, i);
        if (root->target == HS_NO_NODE)
            continue;
        struct reach reach = reach_of(o, root->target);
        if (reach.heap_words >= at_least)
            printf("%12" PRIu64 " %9" PRIu64 " %9" PRIu64 " %#" PRIx64 " %s%s\t%s\t%s:%u\n",
                   reach.heap_words, reach.static_words, reach.n_blocks, root->address,
                   hs_root_kind_name(root->kind), root->weak ? "(weak)" : "",
                   hs_snap_string(o->snap, root->name), hs_snap_string(o->snap, root->file),
                   root->line);
    }
}

static void print_sum(struct oracle *o)
{
    struct reach strong = alive_without(o, HS_NO_NODE, false);
    struct reach alive = alive_without(o, HS_NO_NODE, true);
    uint64_t n_in_one = 0;
    uint32_t *degree = need(o->n_nodes, sizeof *degree);

    for (uint64_t e = 0; e < o->begin[o->n_nodes]; e++)
        degree[o->target[e]]++;
    for (uint64_t i = o->n_tree; i < o->n_nodes; i++)
        n_in_one += degree[i] == 1;
    printf("by ephemerons %" PRIu64 " words\n", alive.heap_words - strong.heap_words);
    printf("reached %" PRIu64 " words in %" PRIu64 " blocks, unreached %" PRIu64 ", heap %" PRIu64
           ", one edge in: %.1f %%\n",
           alive.heap_words, alive.n_blocks, o->totals->heap_words - alive.heap_words,
           o->totals->heap_words, 100.0 * (double)n_in_one / (double)(o->n_nodes - o->n_tree));
    free(degree);
}

static int print_sole(struct oracle *o, const char *name)
{
    uint64_t all = alive_without(o, HS_NO_NODE, true).heap_words;

    for (uint64_t i = 0; i < o->n_tree; i++) {
        const struct hs_root *root = hs_snap_root(o->snap, i);
        if (root->target == HS_NO_NODE || strcmp(hs_snap_string(o->snap, root->name), name) != 0)
            continue;
        printf("%" PRIu64 "\n", all - alive_without(o, i, true).heap_words);
        return 0;
    }
    fprintf(stderr, "snap_oracle: no root is called '%s'\n", name);
    return 2;
}

static void print_types(const struct oracle *o)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk chunk = {0};

    for (uint64_t at = 0; at < o->totals->n_chunks; at++) {
        check(hs_snap_load_chunk(o->snap, at, HS_COL_SIZES | HS_COL_TYPES, &chunk, &err), &err);
        for (uint32_t i = 0; i < chunk.n_blocks; i++)
            printf("%" PRIx64 " %" PRIu64 " %s\n", chunk.address[i], chunk.words[i],
                   hs_snap_string(o->snap, hs_snap_type(o->snap, chunk.type[i])->name));
    }
    hs_chunk_fini(&chunk);
}

static void print_chunk(const struct oracle *o, const struct hs_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        printf("%" PRIu64 " %" PRIx64 " %" PRIu64 " %u %s\n", chunk->first + i, chunk->address[i],
               chunk->words[i], chunk->state[i],
               hs_snap_string(o->snap, hs_snap_type(o->snap, chunk->type[i])->name));
        for (uint64_t e = chunk->edge_begin[i]; e < chunk->edge_begin[i + 1]; e++)
            printf("%" PRIu64 " > %" PRIu64 " %" PRIu64 " %u\n", chunk->first + i, chunk->target[e],
                   chunk->offset_words[e], chunk->edge_class[e]);
    }
    for (uint64_t i = 0; i < chunk->n_extra; i++)
        printf("%" PRIu64 " >> %" PRIu64 " %u\n", chunk->extra[i].source, chunk->extra[i].target,
               chunk->extra[i].edge_class);
}

static void print_graph(const struct oracle *o)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chunk chunk = {0};

    for (uint64_t at = 0; at < o->totals->n_chunks; at++) {
        check(hs_snap_load_chunk(o->snap, at, HS_COL_ALL, &chunk, &err), &err);
        print_chunk(o, &chunk);
    }
    hs_chunk_fini(&chunk);
}

static void oracle_close(struct oracle *o)
{
    free(o->words);
    free(o->is_static);
    free(o->begin);
    free(o->more_begin);
    free(o->target);
    free(o->more_target);
    free(o->seen);
    free(o->stack);
    hs_snap_close(o->snap);
}

int main(int argc, char **argv)
{
    struct oracle o = {0};
    int code = 0;

    if (argc < 2) {
        fprintf(stderr,
                "usage: snap_oracle SNAP [roots [WORDS] | sum | sole NAME | types | graph]\n");
        return 2;
    }
    load(&o, argv[1]);
    if (argc == 2)
        print_facts(&o);
    else if (strcmp(argv[2], "roots") == 0)
        print_roots(&o, argc > 3 ? strtoull(argv[3], NULL, 10) : 0);
    else if (strcmp(argv[2], "sum") == 0)
        print_sum(&o);
    else if (strcmp(argv[2], "types") == 0)
        print_types(&o);
    else if (strcmp(argv[2], "graph") == 0)
        print_graph(&o);
    else if (strcmp(argv[2], "sole") == 0 && argc > 3)
        code = print_sole(&o, argv[3]);
    else
        code = 2;
    oracle_close(&o);
    return code;
}
