#include "recorded.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"
#include "frame_label.h"
#include "heaps/recorder.h"
#include "heaps/sampled.h"

struct recorded {
    struct hs_record_anchor anchor;
    struct hs_record_slot *slots; /* owned: those of blocks that move, by number */
    size_t n_slots, capacity;
};

bool hs_ocaml_is_recorders(const struct hs_ocaml *rt, uint64_t value)
{
    return rt->recorder != 0 &&
           value - rt->recorder - offsetof(struct hs_record_anchor, ocaml_blocks) <
               sizeof(uint64_t) * HS_RECORD_OCAML_WORDS;
}

/* Reads the anchor; false where there is none of this process that has samples of OCaml. */
static bool read_anchor(struct hs_root_walk *walk, struct hs_record_anchor *ret)
{
    struct hs_ocaml *rt = walk->rt;
    struct hs_live_symbol symbol;
    const uint8_t *bytes;

    if (!hs_objects_find(rt->objects, HS_RECORD_ANCHOR_NAME, &symbol))
        return false;
    hs_walk_need(walk, symbol.address, sizeof *ret);
    bytes = hs_image_bytes(rt->image, symbol.address, sizeof *ret);
    if (bytes == NULL)
        return false;
    memcpy(ret, bytes, sizeof *ret);
    if (ret->magic != HS_RECORD_MAGIC || !hs_recorder_is_sound(ret) ||
        ret->ocaml != HS_RECORD_OCAML_SAMPLES)
        return false;
    rt->recorder = symbol.address;
    return hs_recorder_is_own(rt->target, ret->pid);
}

static int compare_slots(const void *left, const void *right)
{
    const struct hs_record_slot *a = left, *b = right;
    uint64_t x = hs_record_number(a->address), y = hs_record_number(b->address);

    return x < y ? -1 : x > y;
}

static hs_status read_slots(struct hs_root_walk *walk, struct recorded *recorded)
{
    const struct hs_record_anchor *anchor = &recorded->anchor;
    const uint8_t *bytes = hs_image_bytes(walk->rt->image, anchor->slots,
                                          (size_t)anchor->n_slots * sizeof *recorded->slots);

    if (bytes == NULL)
        return HS_OK;
    for (uint64_t i = 0; i < anchor->n_slots; i++) {
        struct hs_record_slot slot;
        memcpy(&slot, bytes + i * sizeof slot, sizeof slot);
        if (!hs_record_is_key(slot.address) || slot.n_samples == 0)
            continue;
        HS_TRY(HS_GROW(&recorded->slots, &recorded->capacity, recorded->n_slots + 1, walk->err));
        recorded->slots[recorded->n_slots++] = slot;
    }
    if (recorded->n_slots > 1)
        qsort(recorded->slots, recorded->n_slots, sizeof *recorded->slots, compare_slots);
    return HS_OK;
}

static const struct hs_record_slot *find_slot(const struct recorded *recorded, uint64_t number)
{
    size_t at = HS_FIRST_NOT(i, 0, recorded->n_slots,
                             hs_record_number(recorded->slots[i].address) < number);
    const struct hs_record_slot *slot = &recorded->slots[at];

    return at < recorded->n_slots && hs_record_number(slot->address) == number ? slot : NULL;
}

/* ---- sites */

/* Names a return address, which lies behind the call. */
static hs_status name_address(struct hs_root_walk *walk, hs_addr address, struct hs_site_frame *ret)
{
    const struct hs_object *object = hs_objects_object_at(walk->rt->objects, address - 1);
    struct hs_frame_label label;

    HS_TRY(hs_frame_label_of_code(walk, address - 1, &label));
    ret->function = label.function;
    ret->offset = address - 1 - (object == NULL ? 0 : object->bias);
    return object == NULL ? HS_OK
                          : hs_strtab_add(walk->rt->strings, object->name, &ret->module, walk->err);
}

static hs_status name_frame(struct hs_root_walk *walk, const struct recorded *recorded,
                            hs_addr frame, struct hs_site_frame *ret)
{
    const struct hs_sampled_by sampler = {.scripts = recorded->anchor.stacks,
                                          .scripts_bytes = recorded->anchor.stacks_bytes};
    struct hs_sampled_script place;

    if ((frame & HS_SAMPLED_SCRIPT) == 0)
        return name_address(walk, frame, ret);
    if (!hs_sampled_script(walk->rt->image, &sampler, frame, &place))
        return hs_strtab_add(walk->rt->strings, "?", &ret->function, walk->err);
    ret->line = place.line;
    HS_TRY(hs_strtab_add(walk->rt->strings, place.function, &ret->function, walk->err));
    return hs_strtab_add(walk->rt->strings, place.file, &ret->file, walk->err);
}

/* Adds the frames of a stack as a site. */
static hs_status add_site(struct hs_root_walk *walk, const struct recorded *recorded,
                          uint32_t stack, uint32_t site)
{
    struct hs_ocaml_roots *roots = walk->roots;
    const uint8_t *frames;
    uint32_t n;

    if (!hs_recorder_stack(walk->rt->image, &recorded->anchor, stack, &frames, &n))
        n = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct hs_site_frame frame = {.site = site};
        HS_TRY(name_frame(walk, recorded, hs_load_u64(frames + 8 * (size_t)i), &frame));
        HS_TRY(HS_GROW(&roots->site_frames, &roots->site_frames_capacity, roots->n_site_frames + 1,
                       walk->err));
        roots->site_frames[roots->n_site_frames++] = frame;
    }
    if (n != 0)
        return HS_OK;
    walk->n_damaged++;
    HS_TRY(HS_GROW(&roots->site_frames, &roots->site_frames_capacity, roots->n_site_frames + 1,
                   walk->err));
    roots->site_frames[roots->n_site_frames] = (struct hs_site_frame){.site = site};
    return hs_strtab_add(walk->rt->strings, "?",
                         &roots->site_frames[roots->n_site_frames++].function, walk->err);
}

/* ---- samples */

/* Joins the samples of the runtime with the slots; `site` is the offset of the stack. */
static void join_samples(struct hs_ocaml_roots *roots, const struct recorded *recorded)
{
    size_t n = 0;

    for (size_t i = 0; i < roots->n_samples; i++) {
        struct hs_ocaml_sample joined = roots->samples[i];
        const struct hs_record_slot *slot = find_slot(recorded, joined.sample.id);
        if (slot == NULL)
            continue;
        joined.sample.id = slot->id;
        joined.sample.n_samples = slot->n_samples;
        joined.sample.site = slot->stack == 0 ? HS_NO_SITE : slot->stack;
        roots->samples[n++] = joined;
    }
    roots->n_samples = n;
}

static int compare_stacks(const void *left, const void *right)
{
    const struct hs_ocaml_sample *a = left, *b = right;

    if (a->sample.site != b->sample.site)
        return a->sample.site < b->sample.site ? -1 : 1;
    return a->sample.id < b->sample.id ? -1 : a->sample.id > b->sample.id;
}

/* Numbers the stacks, each once, and names them. */
static hs_status number_sites(struct hs_root_walk *walk, const struct recorded *recorded)
{
    struct hs_ocaml_roots *roots = walk->roots;
    uint32_t n_sites = 0, last = HS_NO_SITE;

    if (roots->n_samples > 1)
        qsort(roots->samples, roots->n_samples, sizeof *roots->samples, compare_stacks);
    for (size_t i = 0; i < roots->n_samples; i++) {
        struct hs_sample *sample = &roots->samples[i].sample;
        uint32_t stack = sample->site;
        if (stack == HS_NO_SITE)
            continue;
        if (stack != last)
            HS_TRY(add_site(walk, recorded, stack, n_sites++));
        last = stack;
        sample->site = n_sites - 1;
    }
    return HS_OK;
}

static hs_status join(struct hs_root_walk *walk, struct recorded *recorded)
{
    HS_TRY(read_slots(walk, recorded));
    join_samples(walk->roots, recorded);
    HS_TRY(number_sites(walk, recorded));
    walk->roots->is_recorded = true;
    return hs_recorder_facts(&recorded->anchor, HS_SAMPLER_MEMPROF, walk->rt->strings,
                             &walk->roots->recorder, walk->err);
}

hs_status hs_ocaml_walk_recorded(struct hs_root_walk *walk)
{
    struct recorded recorded = {.slots = NULL};

    if (!read_anchor(walk, &recorded.anchor))
        return HS_OK;
    hs_walk_need(walk, recorded.anchor.slots,
                 recorded.anchor.n_slots * sizeof(struct hs_record_slot));
    hs_walk_need(walk, recorded.anchor.stacks, recorded.anchor.stacks_bytes);
    if (hs_walk_is_copying(walk))
        return walk->status;
    hs_status status = join(walk, &recorded);
    hs_free(recorded.slots);
    return status;
}
