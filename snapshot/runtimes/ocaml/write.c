/* A snapshot of an OCaml heap alone; and where its blocks are. */
#include "base/alloc.h"
#include "base/bisect.h"
#include "ocaml/ocaml_emit.h"
#include "v5/ocaml5.h"

enum { BLOCKS_PER_TELL = 1 << 16 };

struct write {
    const struct hs_ocaml_emission *work; /* borrowed */
    struct hs_ocaml_emitter *emitter;     /* owned */
    struct hs_snap_writer *writer;        /* owned */
    uint64_t n_tree;
};

static hs_node write_node(const void *context, hs_addr block, uint64_t rank)
{
    const struct write *w = context;
    (void)block;
    return w->n_tree + rank;
}

static uint64_t write_rank(const void *context, hs_addr block)
{
    return hs_block_map_rank(context, block);
}

static hs_status write_open(struct write *w, struct hs_error *err)
{
    const struct hs_ocaml_emission *work = w->work;
    struct hs_rank_of rank_of = {.rank = write_rank, .context = work->map};
    struct hs_root *tree = NULL;

    HS_TRY(
        hs_roots_finish(&work->roots->roots, work->rt->strings, &rank_of, &tree, &w->n_tree, err));
    hs_status status = hs_snap_writer_new(work->out, work->rt->strings, work->facts, tree,
                                          w->n_tree, work->map->n_blocks, &w->writer, err);
    hs_free(tree);
    return status;
}

static hs_status write_blocks(struct write *w, struct hs_error *err)
{
    struct hs_ocaml_block block;
    bool more;

    for (uint64_t n_done = 1;; n_done++) {
        HS_TRY(hs_ocaml_emitter_next(w->emitter, &block, &more, err));
        if (!more)
            return HS_OK;
        HS_TRY(hs_snap_writer_block(w->writer, &block.record, block.edges, block.n_edges, err));
        if (n_done % BLOCKS_PER_TELL == 0)
            HS_TRY(hs_progress_tell(w->work->progress, "writing blocks", n_done,
                                    w->work->map->n_blocks, err));
    }
}

static hs_status write_all(struct write *w, struct hs_snap_totals *ret, struct hs_error *err)
{
    hs_auto_free struct hs_sample *samples = NULL;
    struct hs_snap_ending ending = {0};

    HS_TRY(write_open(w, err));
    HS_TRY(write_blocks(w, err));
    HS_TRY(hs_ocaml_emitter_samples(w->emitter, &samples, &ending.n_samples, err));
    ending.samples = samples;
    ending.types = hs_ocaml_emitter_types(w->emitter, &ending.n_types);
    return hs_snap_writer_finish(w->writer, &ending, ret, err);
}

hs_status hs_ocaml_emit(const struct hs_ocaml_emission *emission, struct hs_snap_totals *ret,
                        struct hs_error *err)
{
    struct write w = {.work = emission};
    const struct hs_ocaml_numbering numbering = {.node = write_node, .context = &w};

    hs_status status = hs_ocaml_emitter_new(emission, &numbering, &w.emitter, err);
    if (status == HS_OK)
        status = write_all(&w, ret, err);
    hs_snap_writer_free(w.writer);
    hs_ocaml_emitter_free(w.emitter);
    return status;
}

uint64_t hs_ocaml_n_blocks(const struct hs_ocaml_emission *emission)
{
    return emission->map->n_blocks;
}

uint64_t hs_ocaml_blocks_below(const struct hs_ocaml_emission *emission, hs_addr address)
{
    const struct hs_spans *spans = &emission->map->spans;
    size_t at = HS_FIRST_ABOVE(spans->spans, spans->n, begin, address);

    if (at == 0)
        return 0;
    const struct hs_span *span = &spans->spans[at - 1];
    hs_addr end = address < span->end ? address : span->end;
    return hs_bitmap_rank(&emission->map->starts,
                          span->first_bit + (end - span->begin + HS_WORD - 1) / HS_WORD);
}

uint64_t hs_ocaml_block_rank(const struct hs_ocaml_emission *emission, hs_addr block)
{
    return hs_block_map_rank(emission->map, block);
}

bool hs_ocaml_area_at(const struct hs_ocaml_emission *emission, size_t at,
                      struct hs_ocaml_area *ret)
{
    const struct hs_spans *spans = &emission->map->spans;

    if (at >= spans->n)
        return false;
    const struct hs_span *span = &spans->spans[at];
    *ret = (struct hs_ocaml_area){.begin = span->begin,
                                  .end = span->end,
                                  .is_static =
                                      span->area != HS_AREA_HEAP && span->area != HS_AREA_YOUNG};
    return true;
}

bool hs_ocaml_minor_heap_at(const struct hs_ocaml_emission *emission, size_t at,
                            struct hs_ocaml_area *ret)
{
    const struct hs_ocaml *rt = emission->rt;

    *ret = (struct hs_ocaml_area){0};
    if (rt->five == NULL && at == 0) {
        ret->begin = rt->young_start;
        ret->end = rt->young_end;
        return true;
    }
    if (rt->five == NULL || at >= rt->five->n_domains)
        return false;
    ret->begin = rt->five->domains[at].young_start;
    ret->end = rt->five->domains[at].young_end;
    return true;
}

const hs_addr *hs_ocaml_root_cells(const struct hs_ocaml_emission *emission, size_t *ret_n)
{
    *ret_n = emission->roots->n_cells;
    return emission->roots->cells;
}

const struct hs_roots *hs_ocaml_leaves(const struct hs_ocaml_emission *emission)
{
    return &emission->roots->roots;
}
