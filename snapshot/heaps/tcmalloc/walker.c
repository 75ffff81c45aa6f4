/* gperftools' tcmalloc: its spans and blocks. */
#include <string.h>

#include "base/alloc.h"
#include "carve.h"
#include "tcmalloc/parts.h"

static void tcmalloc_close(void *state)
{
    struct tcmalloc *tcmalloc = state;

    if (tcmalloc == NULL)
        return;
    hs_free(tcmalloc->caches);
    hs_table_fini(&tcmalloc->known_caches);
    hs_free(tcmalloc->leaves);
    hs_free(tcmalloc->spans);
    hs_free(tcmalloc->free);
    hs_free(tcmalloc);
}

static hs_status tcmalloc_find(struct tcmalloc *tcmalloc, struct hs_error *err)
{
    uint64_t n_most = 0;

    HS_TRY(hs_tcmalloc_locate(tcmalloc, err));
    if (tcmalloc->root == 0)
        return HS_OK;
    HS_TRY(hs_tcmalloc_spans(tcmalloc, err));
    for (size_t i = 0; i < tcmalloc->n_spans; i++) {
        uint64_t n = hs_tcmalloc_n_blocks(tcmalloc, &tcmalloc->spans[i]);
        n_most = n > n_most ? n : n_most;
    }
    tcmalloc->n_free_words = n_most / 64 + 1;
    return HS_ALLOC(&tcmalloc->free, tcmalloc->n_free_words, err);
}

static hs_status tcmalloc_open(const struct hs_process_copy *process, void **ret_state,
                               struct hs_error *err)
{
    struct tcmalloc *tcmalloc;

    if (process->target == NULL)
        return HS_OK;
    HS_TRY(HS_ALLOC(&tcmalloc, 1, err));
    tcmalloc->process = process;
    hs_status status = tcmalloc_find(tcmalloc, err);
    if (status == HS_OK && tcmalloc->n_spans != 0)
        *ret_state = tcmalloc;
    else
        tcmalloc_close(tcmalloc);
    return status;
}

static const char *tcmalloc_version(const void *state)
{
    (void)state;
    return "2";
}

/* ---- spans and claims */

static struct hs_heap_span tcmalloc_span(const struct tcmalloc *tcmalloc,
                                         const struct tcmalloc_span *span)
{
    const uint64_t n = hs_tcmalloc_n_blocks(tcmalloc, span);
    const uint64_t unit =
        n == 0 ? span->end - span->begin : tcmalloc->class_bytes[span->class_number];

    return (struct hs_heap_span){.begin = span->begin,
                                 .end = span->begin + (n == 0 ? 1 : n) * unit,
                                 .unit_bytes = unit,
                                 .tag = span->class_number,
                                 .form = n == 0 ? HS_SPAN_SINGLE : HS_SPAN_UNIFORM,
                                 .owner = HS_OWNER_tcmalloc};
}

static hs_status tcmalloc_claim(struct hs_ledger *ledger, enum hs_memory_state state, hs_addr begin,
                                hs_addr end, struct hs_error *err)
{
    return hs_ledger_claim(ledger, TCMALLOC_OWNER, state, begin, end, 0, err);
}

static hs_status tcmalloc_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                    struct hs_error *err)
{
    const struct tcmalloc *t = state;

    for (size_t i = 0; i < t->n_spans; i++) {
        const struct hs_heap_span span = tcmalloc_span(t, &t->spans[i]);
        HS_TRY(tcmalloc_claim(ledger, HS_MEMORY_FREE, t->spans[i].begin, t->spans[i].end, err));
        HS_TRY(tcmalloc_claim(ledger, HS_MEMORY_INTERNAL, t->spans[i].address,
                              t->spans[i].address + TCMALLOC_SPAN_BYTES, err));
        if (t->spans[i].is_in_use)
            HS_TRY(hs_heap_map_add(map, &span, err));
    }
    for (size_t i = 0; i < t->n_leaves; i++)
        HS_TRY(tcmalloc_claim(ledger, HS_MEMORY_INTERNAL, t->leaves[i].begin,
                              t->leaves[i].begin + TCMALLOC_LEAF_BYTES, err));
    for (size_t i = 0; i < t->n_caches; i++)
        HS_TRY(tcmalloc_claim(ledger, HS_MEMORY_INTERNAL, t->caches[i],
                              t->caches[i] + TCMALLOC_CACHE_BYTES, err));
    return HS_OK;
}

/* ---- live bits */

struct marking {
    struct tcmalloc *tcmalloc;
    struct hs_carve_marking blocks;
    uint64_t n_of_classes, n_sound;  /* spans */
    uint64_t n_free;                 /* blocks */
    uint64_t free[TCMALLOC_CLASSES]; /* blocks in spans of each */
};

static hs_status mark_span(struct marking *m, const struct tcmalloc_span *span,
                           struct hs_error *err)
{
    const struct hs_heap_span expected = tcmalloc_span(m->tcmalloc, span);
    const uint64_t n = hs_tcmalloc_n_blocks(m->tcmalloc, span), n_words = (n + 63) / 64;
    uint64_t *blocks = m->tcmalloc->free, n_free; /* those that are free first, then the others */

    if (!span->is_in_use)
        return HS_OK;
    if (span->class_number == 0)
        return hs_carve_mark_one(&m->blocks, span->begin, span->end - span->begin, err);
    memset(blocks, 0, n_words * sizeof *blocks);
    m->n_of_classes++;
    m->n_sound += hs_tcmalloc_free_blocks(m->tcmalloc, span, blocks, &n_free);
    m->n_free += n_free;
    m->free[span->class_number] += n_free;
    for (uint64_t i = 0; i < n_words; i++)
        blocks[i] = ~blocks[i];
    if (n % 64 != 0)
        blocks[n_words - 1] &= (UINT64_C(1) << n % 64) - 1;
    return hs_carve_mark(&m->blocks, &expected, blocks, err);
}

static hs_status tcmalloc_report(const struct marking *m, const struct tcmalloc_cached *cached,
                                 struct hs_error *err)
{
    const struct tcmalloc *t = m->tcmalloc;
    struct hs_findings *findings = t->process->findings;
    uint64_t n_classes = 0;

    for (unsigned i = 1; t->central != 0 && i < t->n_classes; i++)
        n_classes += hs_tcmalloc_central_free(t, i) == m->free[i];
    findings->n_torn += m->n_of_classes - m->n_sound + cached->n_lists - cached->n_sound +
                        t->n_damaged + (t->central == 0 ? 0 : t->n_classes - 1 - n_classes);
    HS_TRY(hs_findings_proof(findings, "tcmalloc: spans with as many free blocks as they say",
                             m->n_of_classes, m->n_sound, err));
    HS_TRY(hs_findings_proof(findings, "tcmalloc: lists of cached blocks as they say",
                             cached->n_lists, cached->n_sound, err));
    if (t->central != 0)
        HS_TRY(hs_findings_proof(findings, "tcmalloc: classes with as many free blocks as they say",
                                 t->n_classes - 1, n_classes, err));
    if (t->n_damaged != 0 || m->blocks.n_missing != 0)
        HS_TRY(hs_findings_note(
            findings, true, err,
            "tcmalloc: %llu spans or leaves are damaged, or were caught in a change, "
            "%llu blocks overlap others: they are left out",
            (unsigned long long)t->n_damaged, (unsigned long long)m->blocks.n_missing));
    if (t->central == 0 || t->n_caches == 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "tcmalloc: its %s were not found: what they hold ready counts as "
                                "live",
                                t->central == 0 ? "central lists" : "caches of threads"));
    return HS_OK;
}

static hs_status tcmalloc_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                               struct hs_error *err)
{
    struct marking m = {.tcmalloc = state, .blocks = {map, ledger, HS_OWNER_tcmalloc, 0}};
    struct tcmalloc_cached cached;

    for (size_t i = 0; i < m.tcmalloc->n_spans; i++)
        HS_TRY(mark_span(&m, &m.tcmalloc->spans[i], err));
    HS_TRY(hs_tcmalloc_caches(m.tcmalloc, map, ledger, &cached, err));
    HS_TRY(hs_ledger_set_blocks(ledger, TCMALLOC_OWNER, HS_MEMORY_FREE, m.n_free, err));
    HS_TRY(hs_ledger_set_blocks(ledger, TCMALLOC_OWNER, HS_MEMORY_CACHED, cached.n_blocks, err));
    return tcmalloc_report(&m, &cached, err);
}

/* Eight sizes between two powers of two, and whole pages. */
static bool tcmalloc_may_round(const struct hs_heap_block *block, uint64_t n_bytes)
{
    return block->n_bytes - n_bytes <= n_bytes / 4;
}

const struct hs_allocator hs_allocator_tcmalloc = {
    .name = TCMALLOC_OWNER,
    .open = tcmalloc_open,
    .add_spans = tcmalloc_add_spans,
    .mark = tcmalloc_mark,
    .close = tcmalloc_close,
    .version = tcmalloc_version,
    .known_as = "tcmalloc",
    .library = "libtcmalloc",
    .symbols = {"tc_malloc"},
    .may_round = tcmalloc_may_round,
};
