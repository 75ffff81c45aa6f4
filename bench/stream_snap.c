/* stream_snap BLOCKS FILE [SEED]: writes the heap of heap_stream.h as a snapshot, in bounded
 * memory: 200 million blocks, or a thousand million, where a disk has room for some 5 bytes each.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "heap_edges.h"
#include "heap_stream.h"
#include "made_roots.h"

#define RUNS_PER_UNIT 64 /* roots of one source file */

struct writing {
    struct heap_stream stream;
    struct made_roots made;
    struct hs_snap_writer *writer;
};

/* all -> globals -> the program -> a unit of 64 directories each -> directory */
static void make_roots(struct writing *w)
{
    uint64_t n_runs = w->stream.n_blocks / HEAP_STREAM_RUN;
    hs_node unit = 0;

    (void)made_root(&w->made, 0, HS_LEVEL_ALL, made_name(&w->made, "all", 0));
    (void)made_root(&w->made, 0, HS_LEVEL_KIND, made_name(&w->made, "globals", 0));
    (void)made_root(&w->made, 1, HS_LEVEL_MODULE, made_name(&w->made, "program", 0));
    for (uint64_t run = 0; run < n_runs; run++) {
        if (run % RUNS_PER_UNIT == 0) {
            unit = w->made.n_roots;
            (void)made_root(&w->made, 2, HS_LEVEL_UNIT,
                            made_name(&w->made, "unit%llu.c", run / RUNS_PER_UNIT));
        }
        uint64_t block = heap_stream_held(&w->stream, run);
        if (block == UINT64_MAX)
            continue;
        struct hs_root *root =
            made_root(&w->made, unit, HS_LEVEL_LEAF, made_name(&w->made, "directory%llu", run));
        root->target = block; /* made a node once the size of the tree is known */
        root->address = 0x1000 + 8 * run;
    }
    for (size_t i = 0; i < w->made.n_roots; i++)
        if (w->made.roots[i].target != HS_NO_NODE)
            w->made.roots[i].target += w->made.n_roots;
}

static void write_blocks(struct writing *w)
{
    static uint64_t targets[HEAP_STREAM_MAX_ROW];
    static struct hs_edge edges[HEAP_STREAM_MAX_ROW];
    hs_addr address = 0x7f0000000000;

    for (uint64_t block = 0; block < w->stream.n_blocks; block++) {
        uint32_t n, words = heap_stream_words(&w->stream, block);
        heap_stream_row(&w->stream, block, targets, &n);
        if (words < n)
            words = n;
        for (uint32_t i = 0; i < n; i++)
            edges[i] = (struct hs_edge){.target = w->made.n_roots + targets[i], .offset_words = i};
        const struct hs_block_record record = {
            .address = address, .words = words, .type = words < 9 ? words : 9};
        bench_must(hs_snap_writer_block(w->writer, &record, edges, n, &w->made.err), &w->made.err);
        address += words * 8 + 16;
    }
}

static void write_end(struct writing *w)
{
    struct hs_type types[10];
    struct hs_snap_totals totals;

    for (unsigned i = 0; i < 10; i++)
        types[i] = (struct hs_type){.name = made_name(&w->made, "block of %llu words", i),
                                    .form = HS_FORM_BYTES};
    const struct hs_snap_ending ending = {.types = types, .n_types = 10};
    bench_must(hs_snap_writer_finish(w->writer, &ending, &totals, &w->made.err), &w->made.err);
    (void)printf("%llu blocks, %llu edges, %llu bytes\n", (unsigned long long)totals.n_blocks,
                 (unsigned long long)totals.n_edges, (unsigned long long)totals.file_bytes);
}

int main(int argc, char **argv)
{
    struct writing w = {.stream.seed = 1};
    struct hs_out out;

    if (argc != 3 && argc != 4) {
        (void)fprintf(stderr, "usage: stream_snap BLOCKS FILE [SEED]\n");
        return 2;
    }
    uint64_t n = strtoull(argv[1], NULL, 10);
    w.stream.n_blocks = (n + HEAP_STREAM_RUN - 1) / HEAP_STREAM_RUN * HEAP_STREAM_RUN;
    if (argc == 4)
        w.stream.seed = strtoull(argv[3], NULL, 10);
    make_roots(&w);
    const struct hs_snap_facts facts = {.word_bytes = 8,
                                        .pid = 1,
                                        .command = made_name(&w.made, "stream_snap", 0),
                                        .tool_version = made_name(&w.made, "bench", 0),
                                        .n_stop_attempts = 1};
    bench_must(hs_out_open_path(argv[2], &out, &w.made.err), &w.made.err);
    bench_must(hs_snap_writer_new(&out, &w.made.strings, &facts, w.made.roots, w.made.n_roots,
                                  w.stream.n_blocks, &w.writer, &w.made.err),
               &w.made.err);
    write_blocks(&w);
    write_end(&w);
    bench_must(hs_out_commit(&out, &w.made.err), &w.made.err);
    hs_snap_writer_free(w.writer);
    hs_out_close(&out);
    hs_strtab_fini(&w.made.strings);
    hs_free(w.made.roots);
    return 0;
}
