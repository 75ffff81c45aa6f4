/* links: hs_heaps */
#include "fake_prof.h"

#include <math.h>

#include "unit.h"

/* A context has 1 KiB: gctx in front, tctx in the middle. */
enum {
    CONTEXTS_BYTES = 0xc000, /* at the end of the data, behind the root */
    CONTEXT_BYTES = 1024,
    TCTX_OFFSET = 512,
    MAX_CONTEXTS = 40,
    SAMPLED_PAGES = 5
};

static void map_more(struct fake_prof *prof, size_t at, hs_addr begin, hs_addr end)
{
    for (size_t i = FAKE_PROF_MAPPINGS - 1; i > at; i--)
        prof->mappings[i] = prof->mappings[i - 1];
    prof->mappings[at] = (struct hs_mapping){
        .begin = begin, .end = end, .readable = true, .inode = 1, .executable = true};
}

void fake_prof_init(struct fake_prof *prof, struct fake_jemalloc *fake, const char *environment)
{
    struct hs_error err = HS_ERROR_INIT;

    memset(prof, 0, sizeof *prof);
    prof->fake = fake;
    memcpy(prof->mappings, fake->mappings, sizeof fake->mappings);
    map_more(prof, 1, FAKE_PROF_CODE_AT, FAKE_PROF_CODE_END);
    map_more(prof, FAKE_PROF_MAPPINGS - 1, FAKE_PROF_STACK_AT,
             FAKE_PROF_STACK_AT + FAKE_PROF_STACK_BYTES);
    prof->mappings[FAKE_PROF_MAPPINGS - 1] =
        (struct hs_mapping){.begin = FAKE_PROF_STACK_AT,
                            .end = FAKE_PROF_STACK_AT + FAKE_PROF_STACK_BYTES,
                            .readable = true,
                            .writable = true,
                            .path_at = 1};
    (void)snprintf(fake->path_text + 1, sizeof fake->path_text - 1, "[stack]");
    fake->target.mappings = prof->mappings;
    fake->target.n_mappings = FAKE_PROF_MAPPINGS;
    if (environment != NULL)
        (void)snprintf((char *)prof->stack + FAKE_PROF_STACK_BYTES - 200, 199, "%s", environment);
    assert_int_equal(
        hs_image_add(&fake->image, FAKE_PROF_STACK_AT, prof->stack, FAKE_PROF_STACK_BYTES, &err),
        HS_OK);
}

hs_addr fake_prof_gctx_at(const struct fake_prof *prof, unsigned context)
{
    return FAKE_JE_DATA_AT + prof->fake->data_bytes - CONTEXTS_BYTES +
           context * (hs_addr)CONTEXT_BYTES;
}

hs_addr fake_prof_tctx_at(const struct fake_prof *prof, unsigned context)
{
    return fake_prof_gctx_at(prof, context) + TCTX_OFFSET;
}

uint8_t *fake_prof_bytes(struct fake_prof *prof, hs_addr address)
{
    return prof->fake->data + (address - FAKE_JE_DATA_AT);
}

unsigned fake_prof_context(struct fake_prof *prof, unsigned n_frames)
{
    unsigned context = prof->n_contexts++;
    hs_addr gctx_at = fake_prof_gctx_at(prof, context);
    uint8_t *gctx = fake_prof_bytes(prof, gctx_at);
    uint8_t *tctx = fake_prof_bytes(prof, fake_prof_tctx_at(prof, context));
    unsigned vec = prof->fake->is_52 ? 72 : 104;

    assert_true(context < MAX_CONTEXTS && n_frames <= 8);
    fake_put(gctx, 16, fake_prof_tctx_at(prof, context)); /* the tree's root */
    fake_put(gctx, vec, gctx_at + vec + 16);
    fake_put(gctx, vec + 8, n_frames);
    for (unsigned i = 0; i < n_frames; i++)
        fake_put(gctx, vec + 16 + 8 * i, FAKE_PROF_CODE_AT + 0x100 * context + 0x10 * i);
    fake_put(tctx, prof->fake->is_52 ? 56 : 96, gctx_at);
    fake_put(tctx, prof->fake->is_52 ? 80 : 120, 1); /* no right child; the node is red */
    return context;
}

unsigned fake_prof_sample(struct fake_prof *prof, unsigned context, unsigned szind,
                          uint64_t usable_bytes, unsigned lg_period)
{
    unsigned extent =
        fake_jemalloc_extent(prof->fake, SAMPLED_PAGES, szind, false, JEMALLOC_ACTIVE);
    uint8_t *tctx = fake_prof_bytes(prof, fake_prof_tctx_at(prof, context));
    uint8_t *edata = fake_jemalloc_edata(prof->fake, extent);
    double size = (double)usable_bytes;

    fake_put(edata, prof->fake->is_52 ? 72 : 80, fake_prof_tctx_at(prof, context));
    if (prof->fake->is_52) {
        fake_put(tctx, 24, hs_load_u64(tctx + 24) + 1);
        return extent;
    }
    double weight = size / (1 - exp(-size / (double)(UINT64_C(1) << lg_period)));
    fake_put(tctx, 32, hs_load_u64(tctx + 32) + 1);
    fake_put(tctx, 56, hs_load_u64(tctx + 56) + (uint64_t)(weight + 0.5));
    return extent;
}
