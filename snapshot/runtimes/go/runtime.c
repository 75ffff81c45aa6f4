/* Programs of Go, as the driver of a dump sees them (runtimes/runtime.h): the collector's heap and
 * the goroutines. What C code of theirs has is the native runtime's. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/units.h"
#include "session.h"
#include "version.h"

/* ---- which programs */

static bool go_serves(const struct hs_objects *objects)
{
    struct hs_go_version version;
    return hs_go_version(objects, &version);
}

/* Finds the layout of the program's heap, or refuses it. */
static hs_status find_layout(const struct hs_objects *objects, struct hs_go_version *version,
                             const struct hs_go_layout **ret, struct hs_error *err)
{
    const char *name = objects->objects[0].name;

    if (!hs_go_version(objects, version))
        return hs_fail(err, HS_TARGET, "'%s' is no program of Go", name);
    *ret = version->has_experiments ? NULL : hs_go_layout(version->minor);
    if (*ret != NULL)
        return HS_OK;
    (void)hs_fail(err, HS_TARGET,
                  "'%s' is a program of Go%s%s, whose heap is not read: known is that of Go %s",
                  name, version->text[0] == '\0' ? "" : " ", version->text, hs_go_layout_names());
    return HS_TARGET;
}

static hs_status go_describe(const struct hs_objects *objects, char *runtime, char *heap, size_t n,
                             struct hs_error *err)
{
    const struct hs_go_layout *layout;
    struct hs_go_version version;

    HS_TRY(find_layout(objects, &version, &layout, err));
    snprintf(runtime, n, "a program of Go %s", version.text);
    snprintf(heap, n, "Go's own heap");
    return HS_OK;
}

/* ---- opening, and what comes before a stop */

static void go_forget(void *state)
{
    struct hs_go_session *s = state;

    hs_go_goroutines_fini(&s->goroutines);
    hs_go_heap_fini(&s->heap);
    hs_go_masks_fini(&s->masks);
    hs_findings_fini(&s->findings);
    s->findings = (struct hs_findings){.strings = &s->dump->strings};
    s->heap = (struct hs_go_heap){.dump = s->dump, .layout = s->layout, .masks = &s->masks};
}

static void go_close(void *state)
{
    struct hs_go_session *s = state;

    if (s == NULL)
        return;
    go_forget(s);
    hs_findings_fini(&s->findings);
    hs_go_code_fini(&s->code);
    hs_go_waits_fini(&s->waits);
    hs_go_samples_fini(&s->samples);
    hs_go_typing_fini(&s->typing);
    hs_roots_fini(&s->roots);
    hs_free(s->finalized);
    hs_bitmap_fini(&s->reached);
    hs_bitmap_fini(&s->records);
    hs_go_owners_fini(&s->owners);
    hs_dict_fini(&s->size_types);
    hs_free(s->types);
    hs_free(s->members.members);
    hs_free(s->edges);
    hs_free(s);
}

static hs_status go_open(struct hs_dump *dump, void **ret_state, struct hs_error *err)
{
    const struct hs_go_layout *layout = NULL;
    struct hs_go_version version;
    struct hs_go_session *s;

    HS_TRY(find_layout(&dump->objects, &version, &layout, err));
    HS_TRY(HS_ALLOC(&s, 1, err));
    s->dump = dump;
    s->layout = layout;
    go_forget(s);
    hs_status status = hs_strtab_add(&dump->strings, version.text, &s->fact.version, err);
    if (status == HS_OK)
        *ret_state = s;
    else
        go_close(s);
    return status;
}

static hs_status go_prepare(void *state, struct hs_error *err)
{
    (void)state;
    (void)err;
    return HS_OK;
}

static void go_rehearse(void *state, bool copies)
{
    (void)state;
    (void)copies; /* the same memory as the native runtime's, which does it */
}

/* Copies all private memory that is no file's, and the program's data. */
static hs_status go_copy(void *state, struct hs_error *err)
{
    struct hs_go_session *s = state;
    struct hs_dump *dump = s->dump;

    for (size_t i = 0; i < dump->target.n_mappings; i++) {
        const struct hs_mapping *m = &dump->target.mappings[i];
        if (m->inode == 0 && !m->shared && m->readable &&
            strncmp(hs_mapping_path(&dump->target, m), "[v", 2) != 0)
            HS_TRY(hs_image_copy(&dump->image, &dump->target, m->begin, m->end, err));
    }
    return hs_objects_copy_data(&dump->objects, &dump->image, &dump->target, err);
}

/* ---- blocks and roots */

static hs_status go_list(void *state, struct hs_error *err)
{
    struct hs_go_session *s = state;

    HS_TRY(hs_progress_tell(s->dump->options->progress, "listing blocks", 0, 0, err));
    HS_TRY(hs_go_find_module(&s->heap, err));
    HS_TRY(hs_go_find_heap(&s->heap, err));
    HS_TRY(hs_go_read_spans(&s->heap, err));
    HS_TRY(hs_go_find_goroutines(&s->heap, &s->goroutines, err));
    HS_TRY(hs_go_seal(&s->heap, err));
    return hs_go_prove(s, err);
}

static hs_status go_claim(void *state, struct hs_error *err)
{
    return hs_go_claim(state, err);
}

/* Tells what is garbage, and which frames were taken word by word. */
static hs_status note_reach(struct hs_go_session *s, struct hs_error *err)
{
    char garbage[HS_UNIT_TEXT_BYTES], heap[HS_UNIT_TEXT_BYTES];
    uint64_t n_bytes = s->heap.object_bytes - s->reached_bytes;

    hs_format_bytes(n_bytes, garbage);
    hs_format_bytes(s->heap.object_bytes, heap);
    HS_TRY(hs_findings_note(&s->findings, false, err,
                            "Go: %s of the heap's %s (%llu objects) are garbage that the collector "
                            "has yet to take: no root reaches them",
                            garbage, heap, (unsigned long long)(s->heap.n_objects - s->n_reached)));
    if (s->n_dangling != 0)
        HS_TRY(hs_findings_note(&s->findings, s->goroutines.n_interrupted == 0, err,
                                "Go: %llu words of reached objects lead to objects that are not in "
                                "use",
                                (unsigned long long)s->n_dangling));
    if (s->goroutines.n_cut != 0)
        HS_TRY(hs_findings_note(&s->findings, true, err,
                                "Go: of %llu stacks not all frames could be followed",
                                (unsigned long long)s->goroutines.n_cut));
    return hs_findings_note(&s->findings, false, err,
                            "Go: %llu frames of %zu goroutines by the compiler's stack maps, %llu "
                            "interrupted ones word by word",
                            (unsigned long long)s->goroutines.n_exact, s->goroutines.n,
                            (unsigned long long)s->goroutines.n_interrupted);
}

static hs_status go_roots(void *state, struct hs_error *err)
{
    struct hs_go_session *s = state;

    HS_TRY(hs_progress_tell(s->dump->options->progress, "collecting roots", 0, 0, err));
    HS_TRY(hs_go_name_goroutines(&s->goroutines, err));
    HS_TRY(hs_go_read_code(&s->heap, &s->goroutines, &s->code, err));
    s->typing.code = &s->code;
    HS_TRY(hs_go_collect_statics(s, err));
    HS_TRY(hs_go_collect_roots(s, err));
    HS_TRY(hs_progress_tell(s->dump->options->progress, "marking", 0, s->heap.n_objects, err));
    HS_TRY(hs_go_find_waits(s, err));
    HS_TRY(hs_go_reach(s, err));
    HS_TRY(hs_go_name_leaked(s, err));
    HS_TRY(hs_progress_tell(s->dump->options->progress, "naming types", 0, 0, err));
    HS_TRY(hs_go_see_types(&s->heap, &s->goroutines, &s->typing, err));
    for (size_t i = 0; i < s->n_finalized; i++)
        HS_TRY(hs_go_put(&s->typing, 0, s->finalized[i].object, s->finalized[i].type,
                         HS_GO_HOLD_ONE, err));
    HS_TRY(hs_go_guess_types(&s->typing, &s->goroutines, err));
    HS_TRY(hs_go_follow_types(&s->typing, err));
    if (!s->dump->options->no_names)
        HS_TRY(hs_go_note_c_calls(s, err));
    return note_reach(s, err);
}

static const struct hs_roots *go_leaves(const void *state)
{
    const struct hs_go_session *s = state;
    return &s->roots;
}

static hs_status go_foreign_words(void *state, bool of_garbage,
                                  hs_status (*visit)(void *context, uint64_t word,
                                                     struct hs_error *err),
                                  void *context, struct hs_error *err)
{
    const struct hs_go_session *s = state;
    const struct hs_go_heap *heap = &s->heap;

    for (size_t i = 0; i < heap->n_spans; i++) {
        const struct hs_go_span *span = &heap->spans[i];
        bool may_hold = !span->is_stack && (span->spanclass & 1) == 0;
        for (uint64_t k = 0; may_hold && k < span->n_elems; k++) {
            const uint8_t *bytes;
            if (!hs_bitmap_get(&heap->live, span->first_slot + k) ||
                hs_bitmap_get(&s->reached, span->first_slot + k) == of_garbage)
                continue;
            bytes = hs_image_bytes(&s->dump->image, span->begin + k * span->elem_bytes,
                                   span->elem_bytes);
            for (uint64_t w = 0; bytes != NULL && w < span->elem_bytes / HS_WORD_BYTES; w++)
                HS_TRY(visit(context, hs_load_u64(bytes + w * HS_WORD_BYTES), err));
        }
    }
    return HS_OK;
}

static hs_status go_facts(void *state, struct hs_runtime_facts *ret, struct hs_snap_facts *facts,
                          struct hs_error *err)
{
    struct hs_go_session *s = state;

    HS_TRY(hs_strtab_add(&s->dump->strings, "go", &s->fact.name, err));
    s->fact.certainty = s->goroutines.n_interrupted == 0 ? HS_EXACT : HS_CONSERVATIVE;
    *ret =
        (struct hs_runtime_facts){.runtimes = &s->fact, .n_runtimes = 1, .findings = &s->findings};
    if (s->samples.n_samples != 0) {
        ret->samplers = &s->samples.sampler;
        ret->n_samplers = 1;
    }
    return hs_dump_own_facts(s->dump, facts, err);
}

/* ---- where the blocks are */

static uint64_t go_n_blocks(const void *state)
{
    const struct hs_go_session *s = state;
    return s->heap.n_live;
}

static uint64_t go_below(const void *state, hs_addr address)
{
    const struct hs_go_session *s = state;
    const struct hs_go_heap *heap = &s->heap;
    size_t at = HS_FIRST_ABOVE(heap->spans, heap->n_spans, begin, address);

    if (at == 0)
        return 0;
    const struct hs_go_span *span = &heap->spans[at - 1];
    hs_addr end = address < span->end ? address : span->end;
    return hs_bitmap_rank(&heap->live,
                          span->first_slot +
                              (end - span->begin + span->elem_bytes - 1) / span->elem_bytes);
}

static uint64_t go_rank(const void *state, hs_addr address)
{
    const struct hs_go_session *s = state;
    struct hs_go_block block;

    return hs_go_slot(&s->heap, address, &block) && block.begin == address &&
                   hs_bitmap_get(&s->heap.live, block.slot)
               ? hs_bitmap_rank(&s->heap.live, block.slot)
               : HS_NO_NODE;
}

/* ---- writing */

static bool go_peek(void *state, hs_addr *ret)
{
    return hs_go_peek(state, ret);
}

static hs_status go_next(void *state, hs_addr not_before, struct hs_runtime_block *ret,
                         struct hs_error *err)
{
    (void)not_before; /* no block of another runtime lies in an object */
    return hs_go_next(state, ret, err);
}

static hs_status go_types(void *state, struct hs_type_tables *ret, struct hs_error *err)
{
    return hs_go_types(state, ret, err);
}

static hs_status go_samples(void *state, struct hs_runtime_samples *ret, struct hs_error *err)
{
    struct hs_go_session *s = state;
    const struct hs_go_samples *samples = &s->samples;
    struct hs_sample *copy;
    struct hs_go_block block;

    *ret = (struct hs_runtime_samples){0};
    if (samples->n_samples == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&copy, samples->n_samples, err));
    for (size_t i = 0; i < samples->n_samples; i++) {
        copy[i] = samples->samples[i];
        copy[i].node =
            hs_go_resolve(&s->heap, copy[i].id, &block)
                ? hs_dump_node(s->dump, s, block.begin, hs_bitmap_rank(&s->heap.live, block.slot))
                : HS_NO_NODE;
    }
    *ret = (struct hs_runtime_samples){.samples = copy,
                                       .n_samples = samples->n_samples,
                                       .frames = samples->frames,
                                       .n_frames = samples->n_frames};
    return HS_OK;
}

const struct hs_runtime hs_runtime_go = {
    .name = "go",
    .known_as = "Go's runtime",
    .has_own_heap = true,
    .bytes_of_a_block = sizeof(uint32_t) + sizeof(uint64_t) + sizeof(struct hs_go_typed),
    .serves = go_serves,
    .describe = go_describe,
    .open = go_open,
    .close = go_close,
    .prepare = go_prepare,
    .rehearse = go_rehearse,
    .forget = go_forget,
    .copy = go_copy,
    .list = go_list,
    .claim = go_claim,
    .roots = go_roots,
    .leaves = go_leaves,
    .foreign_words = go_foreign_words,
    .facts = go_facts,
    .n_blocks = go_n_blocks,
    .below = go_below,
    .rank = go_rank,
    .peek = go_peek,
    .next = go_next,
    .types = go_types,
    .samples = go_samples,
};
