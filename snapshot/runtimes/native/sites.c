/* Turns return addresses into sites.
 *
 *   samples -> distinct stacks -> distinct code addresses -> names -> distinct sites
 *
 * Two code addresses may have the same names and places (one file mapped twice), so sites are told
 * apart by what their frames say, not by where they lie. */
#include "sites.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"

/* The bounds of all distinct stacks; what is beyond has no site. */
#define SITES_MAX_FRAMES ((size_t)1 << 24)
#define SITES_MAX_PLACES ((size_t)1 << 20)

struct site_stack {
    const uint8_t *frames; /* borrowed from the image; the key, with n_frames */
    uint32_t n_frames, sampler;
    uint32_t first_sample; /* lowest index of a sample that has it */
    size_t first;          /* of sites.kinds, when it is known */
    uint32_t n_kinds;
    uint32_t site;
};

/* A code address with its names: [first, first + n) of sites.named. */
struct site_place {
    hs_addr address;
    const struct hs_object *object;
    size_t first;
    uint32_t n;
    uint32_t kind; /* equal for places that say the same */
    bool is_allocator;
};

struct sites {
    struct hs_native *native;         /* borrowed */
    const struct hs_sampled_set *set; /* borrowed */
    struct site_stack *stacks;        /* owned, all of them */
    size_t n_stacks;
    struct site_place *places; /* by address */
    size_t n_places;
    struct hs_site_frame *named;
    size_t n_named, named_capacity;
    const struct site_place **of_kind; /* one of each kind */
    uint32_t *kinds;                   /* the stacks' places, the innermost first */
    size_t n_kinds;
    struct hs_site_frame *frames; /* what is written */
    size_t n_frames, frames_capacity;
    uint32_t n_sites;
};

static void sites_fini(struct sites *s)
{
    hs_free(s->stacks);
    hs_free(s->places);
    hs_free(s->named);
    hs_free(s->of_kind);
    hs_free(s->kinds);
    hs_free(s->frames);
}

/* The bits of a script's place, a number that its sampler gave it; above them stands the number of
 * the sampler. */
#define SCRIPT_BITS 48
static hs_addr stack_frame(const struct site_stack *stack, uint32_t i)
{
    hs_addr frame = hs_load_u64(stack->frames + 8 * (size_t)i);
    bool is_script = frame >> (SCRIPT_BITS - 1) == 1;
    return is_script ? frame | (hs_addr)stack->sampler << SCRIPT_BITS : frame;
}

/* ---- distinct stacks */

static int stack_compare(const void *left, const void *right)
{
    const struct site_stack *a = left, *b = right;

    if (a->frames != b->frames)
        return a->frames < b->frames ? -1 : 1;
    if (a->n_frames != b->n_frames)
        return a->n_frames < b->n_frames ? -1 : 1;
    if (a->sampler != b->sampler)
        return a->sampler < b->sampler ? -1 : 1;
    return a->first_sample < b->first_sample ? -1 : a->first_sample > b->first_sample;
}

static bool stack_is_same(const struct site_stack *a, const struct site_stack *b)
{
    return a->frames == b->frames && a->n_frames == b->n_frames && a->sampler == b->sampler;
}

static hs_status sites_find_stacks(struct sites *s, struct hs_error *err)
{
    size_t n = 0, n_frames = 0;

    HS_TRY(HS_ALLOC(&s->stacks, s->set->n_blocks, err));
    for (size_t i = 0; i < s->set->n_blocks; i++) {
        const struct hs_sampled *block = &s->set->blocks[i];
        if (block->n_frames != 0)
            s->stacks[n++] = (struct site_stack){.frames = block->frames,
                                                 .n_frames = block->n_frames,
                                                 .sampler = block->sampler,
                                                 .first_sample = (uint32_t)i,
                                                 .site = HS_NO_SITE};
    }
    if (n > 1)
        qsort(s->stacks, n, sizeof *s->stacks, stack_compare);
    for (size_t i = 0; i < n && n_frames <= SITES_MAX_FRAMES; i++) {
        if (s->n_stacks != 0 && stack_is_same(&s->stacks[s->n_stacks - 1], &s->stacks[i]))
            continue;
        n_frames += s->stacks[i].n_frames;
        if (n_frames <= SITES_MAX_FRAMES)
            s->stacks[s->n_stacks++] = s->stacks[i];
    }
    if (n_frames <= SITES_MAX_FRAMES)
        return HS_OK;
    return hs_findings_note(&s->native->dump->findings, true, err,
                            "the samples have more backtraces than can be read: some are left out");
}

/* ---- distinct code addresses, and their names */

static int address_compare(const void *left, const void *right)
{
    hs_addr a = *(const hs_addr *)left, b = *(const hs_addr *)right;
    return a < b ? -1 : a > b;
}

static hs_status sites_find_places(struct sites *s, struct hs_error *err)
{
    hs_auto_free hs_addr *all = NULL;
    size_t n = 0, n_all = 0;

    for (size_t i = 0; i < s->n_stacks; i++)
        n_all += s->stacks[i].n_frames;
    HS_TRY(HS_ALLOC(&all, n_all, err));
    for (size_t i = 0, at = 0; i < s->n_stacks; i++)
        for (uint32_t k = 0; k < s->stacks[i].n_frames; k++)
            all[at++] = stack_frame(&s->stacks[i], k);
    if (n_all > 1)
        qsort(all, n_all, sizeof *all, address_compare);
    for (size_t i = 0; i < n_all; i++)
        if (n == 0 || all[n - 1] != all[i])
            all[n++] = all[i];
    HS_TRY(HS_ALLOC(&s->places, n, err));
    for (size_t i = 0; i < n; i++)
        s->places[i].address = all[i];
    s->n_places = n;
    return HS_OK;
}

static hs_status sites_name_place(struct sites *s, hs_addr address, struct hs_locals *locals,
                                  struct hs_native_place *ret, struct hs_error *err)
{
    size_t sampler = address >> SCRIPT_BITS;

    ret->address = address;
    if ((address & HS_SAMPLED_SCRIPT) == 0 || sampler >= s->set->n_samplers)
        return hs_native_name_place(s->native, locals, ret, err);
    ret->address = address & ((UINT64_C(1) << SCRIPT_BITS) - 1);
    return hs_native_name_script(s->native, &s->set->samplers[sampler], ret, err);
}

static hs_status sites_name_places(struct sites *s, struct hs_error *err)
{
    hs_auto_free struct hs_locals *locals = NULL;
    struct hs_native_place named;

    HS_TRY(HS_ALLOC(&locals, 1, err));
    for (size_t i = 0; i < s->n_places && i < SITES_MAX_PLACES; i++) {
        struct site_place *place = &s->places[i];
        HS_TRY(sites_name_place(s, place->address, locals, &named, err));
        HS_TRY(HS_GROW(&s->named, &s->named_capacity, s->n_named + named.n_frames, err));
        memcpy(s->named + s->n_named, named.frames, named.n_frames * sizeof *s->named);
        place->object = named.object;
        place->is_allocator = named.is_allocator;
        place->first = s->n_named;
        place->n = (uint32_t)named.n_frames;
        s->n_named += named.n_frames;
    }
    if (s->n_places <= SITES_MAX_PLACES)
        return HS_OK;
    s->n_places = SITES_MAX_PLACES; /* frames of others are left out of their sites */
    return hs_findings_note(&s->native->dump->findings, true, err,
                            "the samples have more code addresses than can be named: some are left "
                            "out of their backtraces");
}

/* ---- which of them say the same */

struct kind_key {
    const struct hs_site_frame *frames;
    struct site_place *place;
};

static int frame_compare(const struct hs_site_frame *a, const struct hs_site_frame *b)
{
    const uint64_t x[] = {a->offset, a->module, a->function, a->file, a->line};
    const uint64_t y[] = {b->offset, b->module, b->function, b->file, b->line};

    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int kind_compare(const void *left, const void *right)
{
    const struct kind_key *a = left, *b = right;

    if (a->place->n != b->place->n)
        return a->place->n < b->place->n ? -1 : 1;
    for (uint32_t i = 0; i < a->place->n; i++) {
        int order = frame_compare(&a->frames[i], &b->frames[i]);
        if (order != 0)
            return order;
    }
    return 0;
}

static hs_status sites_find_kinds(struct sites *s, struct hs_error *err)
{
    hs_auto_free struct kind_key *keys = NULL;
    uint32_t n_kinds = 0;

    HS_TRY(HS_ALLOC(&keys, s->n_places, err));
    HS_TRY(HS_ALLOC(&s->of_kind, s->n_places, err));
    for (size_t i = 0; i < s->n_places; i++)
        keys[i] = (struct kind_key){s->named + s->places[i].first, &s->places[i]};
    if (s->n_places > 1)
        qsort(keys, s->n_places, sizeof *keys, kind_compare);
    for (size_t i = 0; i < s->n_places; i++) {
        if (i == 0 || kind_compare(&keys[i - 1], &keys[i]) != 0)
            s->of_kind[n_kinds++] = keys[i].place;
        keys[i].place->kind = n_kinds - 1;
    }
    return HS_OK;
}

/* ---- distinct sites */

static const struct site_place *sites_place(const struct sites *s, hs_addr address)
{
    size_t low = HS_FIRST_NOT(at, 0, s->n_places, s->places[at].address < address);
    return low < s->n_places && s->places[low].address == address ? &s->places[low] : NULL;
}

static bool is_own(const struct site_place *place, const struct hs_object *own)
{
    return place->is_allocator || (own != NULL && place->object == own && !own->is_executable);
}

/* Keeps the kinds of a stack's places from the first on that is not the allocator's or the
 * sampler's; at least the last. */
static void sites_trim(struct sites *s, struct site_stack *stack)
{
    const struct hs_object *own = s->set->samplers[stack->sampler].own;
    bool is_inside = true;

    stack->first = s->n_kinds;
    for (uint32_t i = 0; i < stack->n_frames; i++) {
        const struct site_place *place = sites_place(s, stack_frame(stack, i));
        if (place == NULL)
            continue;
        is_inside = is_inside && is_own(place, own);
        if (!is_inside || i + 1 == stack->n_frames)
            s->kinds[s->n_kinds++] = place->kind;
    }
    stack->n_kinds = (uint32_t)(s->n_kinds - stack->first);
}

static hs_status sites_trim_all(struct sites *s, struct hs_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_stacks; i++)
        n += s->stacks[i].n_frames;
    HS_TRY(HS_ALLOC(&s->kinds, n, err));
    for (size_t i = 0; i < s->n_stacks; i++)
        sites_trim(s, &s->stacks[i]);
    return HS_OK;
}

/* A key that sorts stacks by the kinds of their places; equal ones by the first sample that has
 * them. */
struct site_key {
    const uint32_t *kinds;
    struct site_stack *stack;
    uint32_t leader; /* number of the key that stands for its site */
};

static int site_content_compare(const struct site_key *a, const struct site_key *b)
{
    if (a->stack->n_kinds != b->stack->n_kinds)
        return a->stack->n_kinds < b->stack->n_kinds ? -1 : 1;
    return memcmp(a->kinds, b->kinds, a->stack->n_kinds * sizeof *a->kinds);
}

static int site_compare(const void *left, const void *right)
{
    const struct site_key *a = left, *b = right;
    int order = site_content_compare(a, b);

    if (order != 0)
        return order;
    return a->stack->first_sample < b->stack->first_sample
               ? -1
               : a->stack->first_sample > b->stack->first_sample;
}

static int site_first_compare(const void *left, const void *right)
{
    const struct site_key *a = *(struct site_key *const *)left;
    const struct site_key *b = *(struct site_key *const *)right;
    return a->stack->first_sample < b->stack->first_sample
               ? -1
               : a->stack->first_sample > b->stack->first_sample;
}

/* Writes the frames of a site and gives it its number. */
static hs_status sites_write(struct sites *s, const struct site_stack *stack, struct hs_error *err)
{
    for (uint32_t i = 0; i < stack->n_kinds; i++) {
        const struct site_place *place = s->of_kind[s->kinds[stack->first + i]];
        HS_TRY(HS_GROW(&s->frames, &s->frames_capacity, s->n_frames + place->n, err));
        for (uint32_t k = 0; k < place->n; k++) {
            s->frames[s->n_frames] = s->named[place->first + k];
            s->frames[s->n_frames++].site = s->n_sites;
        }
    }
    s->n_sites++;
    return HS_OK;
}

/* Numbers the sites in the order of the samples. */
static hs_status sites_number(struct sites *s, struct hs_error *err)
{
    hs_auto_free struct site_key *keys = NULL;
    hs_auto_free struct site_key **leaders = NULL;
    size_t n_leaders = 0, n = 0;

    HS_TRY(HS_ALLOC(&keys, s->n_stacks, err));
    HS_TRY(HS_ALLOC(&leaders, s->n_stacks, err));
    for (size_t i = 0; i < s->n_stacks; i++)
        if (s->stacks[i].n_kinds != 0)
            keys[n++] =
                (struct site_key){.kinds = s->kinds + s->stacks[i].first, .stack = &s->stacks[i]};
    if (n > 1)
        qsort(keys, n, sizeof *keys, site_compare);
    for (size_t i = 0; i < n; i++) {
        bool is_new = i == 0 || site_content_compare(&keys[i - 1], &keys[i]) != 0;
        keys[i].leader = is_new ? (uint32_t)i : keys[i - 1].leader;
        if (is_new)
            leaders[n_leaders++] = &keys[i];
    }
    if (n_leaders > 1)
        qsort(leaders, n_leaders, sizeof *leaders, site_first_compare);
    for (size_t i = 0; i < n_leaders; i++) {
        leaders[i]->stack->site = s->n_sites;
        HS_TRY(sites_write(s, leaders[i]->stack, err));
    }
    for (size_t i = 0; i < n; i++)
        keys[i].stack->site = keys[keys[i].leader].stack->site;
    return HS_OK;
}

static hs_status sites_find(struct sites *s, struct hs_error *err)
{
    HS_TRY(sites_find_stacks(s, err));
    HS_TRY(sites_find_places(s, err));
    HS_TRY(sites_name_places(s, err));
    HS_TRY(sites_find_kinds(s, err));
    HS_TRY(sites_trim_all(s, err));
    return sites_number(s, err);
}

static uint32_t sites_of(const struct sites *s, const struct hs_sampled *block)
{
    const struct site_stack key = {
        .frames = block->frames, .n_frames = block->n_frames, .sampler = block->sampler};
    size_t low = HS_FIRST_NOT(at, 0, s->n_stacks, stack_compare(&s->stacks[at], &key) < 0);
    return low < s->n_stacks && stack_is_same(&s->stacks[low], &key) ? s->stacks[low].site
                                                                     : HS_NO_SITE;
}

/* ---- samples */

static hs_status samples_make(const struct sites *s, struct hs_native_samples *ret,
                              struct hs_error *err)
{
    const struct hs_heap_map *map = &s->native->dump->heaps.map;
    uint64_t n_lost = 0;

    HS_TRY(HS_ALLOC(&ret->samplers, s->set->n_samplers, err));
    for (size_t i = 0; i < s->set->n_samplers; i++)
        ret->samplers[ret->n_samplers++] = s->set->samplers[i].facts;
    HS_TRY(HS_ALLOC(&ret->samples, s->set->n_blocks, err));
    for (size_t i = 0; i < s->set->n_blocks; i++) {
        const struct hs_sampled *block = &s->set->blocks[i];
        struct hs_heap_block found;
        bool is_block = hs_heap_map_resolve(map, block->address, &found) == HS_POINTER_START &&
                        found.span->owner != HS_OWNER_MAPPING;
        n_lost += !is_block;
        ret->samples[ret->n_samples++] = (struct hs_sample){
            .id = block->id,
            .node = is_block ? found.rank : HS_NO_NODE,
            .n_samples = block->n_samples,
            .words = block->n_bytes / HS_WORD_BYTES + (block->n_bytes % HS_WORD_BYTES != 0),
            .state = HS_SAMPLE_LIVE,
            .sampler = block->sampler,
            .site = block->n_frames == 0 ? HS_NO_SITE : sites_of(s, block)};
    }
    if (n_lost == 0)
        return HS_OK;
    return hs_findings_note(&s->native->dump->findings, true, err,
                            "%llu samples are of blocks that no allocator that is read has in use",
                            (unsigned long long)n_lost);
}

void hs_native_samples_fini(struct hs_native_samples *samples)
{
    if (samples == NULL)
        return;
    hs_free(samples->samplers);
    hs_free(samples->samples);
    hs_free(samples->frames);
    *samples = (struct hs_native_samples){0};
}

hs_status hs_native_collect_samples(struct hs_native *native, struct hs_native_samples *ret,
                                    struct hs_error *err)
{
    struct hs_sampled_set set = {0};
    struct sites sites = {.native = native, .set = &set};
    struct hs_native_samples samples = {0};

    HS_TRY(hs_sampled_read(&native->dump->heaps, &native->dump->process, &set, err));
    hs_status status = set.n_samplers == 0 ? HS_OK : sites_find(&sites, err);
    if (status == HS_OK && set.n_samplers != 0)
        status = samples_make(&sites, &samples, err);
    samples.frames = HS_STEAL(sites.frames);
    samples.n_frames = sites.n_frames;
    sites_fini(&sites);
    hs_sampled_fini(&set);
    if (status != HS_OK)
        hs_native_samples_fini(&samples);
    else
        *ret = samples;
    return status;
}

hs_status hs_native_samples_place(const struct hs_native *native,
                                  const struct hs_native_samples *samples,
                                  struct hs_runtime_samples *ret, struct hs_error *err)
{
    const struct hs_heap_map *map = &native->dump->heaps.map;
    struct hs_heap_block block;
    struct hs_sample *placed;
    HS_TRY(HS_ALLOC(&placed, samples->n_samples, err));
    for (size_t i = 0; i < samples->n_samples; i++) {
        struct hs_heap_iterator it = {.map = map};
        placed[i] = samples->samples[i];
        if (placed[i].node == HS_NO_NODE)
            continue;
        hs_heap_map_seek(&it, placed[i].node);
        placed[i].node = hs_heap_map_next(&it, &block)
                             ? hs_dump_node(native->dump, native, block.begin, block.rank)
                             : HS_NO_NODE;
    }
    *ret = (struct hs_runtime_samples){.samples = placed,
                                       .n_samples = samples->n_samples,
                                       .frames = samples->frames,
                                       .n_frames = samples->n_frames};
    return HS_OK;
}
