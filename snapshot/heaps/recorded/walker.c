/* Reads the tables that the recorder (heapsnap/recorded.h) keeps in the process from the copy, and
 * keeps them out of the roots. */
#include "base/alloc.h"
#include "heaps/recorder.h"
#include "heaps/sampled.h"
#include "registered/parts.h"

#define RECORD_OWNER "heapsnap record"
enum {
    RECORD_MAX = 8, /* of one process: preloaded, and linked into several of its binaries */
    RECORD_FIRST_ADDRESS = 2, /* smaller ones mark slots that are free */
};

struct recorded {
    struct hs_record_anchor anchor;
    hs_addr address;
    const struct hs_object *object;
};

struct record {
    const struct hs_process_copy *process; /* borrowed */
    struct recorded tables[RECORD_MAX];
    size_t n;
};

/* ---- finding */

static hs_status record_add(struct record *record, const struct hs_object *object, hs_addr address,
                            struct hs_error *err)
{
    struct recorded table = {.address = address, .object = object};
    const uint8_t *bytes = hs_image_bytes(record->process->image, address, sizeof table.anchor);

    for (size_t i = 0; i < record->n; i++)
        if (record->tables[i].address == address)
            return HS_OK;
    if (bytes == NULL)
        return HS_OK;
    memcpy(&table.anchor, bytes, sizeof table.anchor);
    if (table.anchor.magic == 0)
        return HS_OK; /* loaded, and never begun */
    if (table.anchor.magic != HS_RECORD_MAGIC || !hs_recorder_is_sound(&table.anchor))
        return hs_findings_note(record->process->findings, true, err,
                                "'%s' has a record of samples that cannot be read: it is damaged, "
                                "or of another version",
                                object->name);
    if (record->n == RECORD_MAX)
        return hs_findings_note(record->process->findings, true, err,
                                "more than %d records of samples: those of '%s' are left out",
                                RECORD_MAX, object->name);
    record->tables[record->n++] = table;
    return HS_OK;
}

static hs_status record_find_in(struct record *record, const struct hs_object *object,
                                struct hs_error *err)
{
    struct hs_registered_notes notes = {.object = object, .type = HS_RECORD_NOTE_TYPE};
    struct hs_live_symbol symbol;
    hs_addr anchor;

    if (object->elf != NULL && hs_object_find(object, HS_RECORD_ANCHOR_NAME, &symbol))
        HS_TRY(record_add(record, object, symbol.address, err));
    while (hs_registered_next(&notes, &anchor))
        HS_TRY(record_add(record, object, anchor, err));
    return HS_OK;
}

static hs_status record_find(struct record *record, struct hs_error *err)
{
    const struct hs_objects *objects = record->process->objects;

    for (size_t i = 0; objects != NULL && i < objects->n; i++)
        HS_TRY(record_find_in(record, &objects->objects[i], err));
    return HS_OK;
}

/* ---- the allocator: no blocks, only claims */

static void record_close(void *state)
{
    hs_free(state);
}

static hs_status record_open(const struct hs_process_copy *process, void **ret_state,
                             struct hs_error *err)
{
    struct record *record;
    HS_TRY(HS_ALLOC(&record, 1, err));
    record->process = process;
    hs_status status = record_find(record, err);
    if (status == HS_OK && record->n != 0)
        *ret_state = record;
    else
        record_close(record);
    return status;
}

static hs_status record_claim(const struct record *record, struct hs_ledger *ledger, hs_addr begin,
                              uint64_t n_bytes, struct hs_error *err)
{
    const struct hs_image_range *range = hs_image_find(record->process->image, begin, NULL);

    if (range == NULL || n_bytes == 0)
        return HS_OK;
    hs_addr end = range->end - begin < n_bytes ? range->end : begin + n_bytes;
    return hs_ledger_claim(ledger, RECORD_OWNER, HS_MEMORY_INTERNAL, begin, end, 0, err);
}

/* Claims the variables of the recorder's own library: the trace that it has not written yet holds
 * addresses of what was allocated, in the forms of the trace, and keeps none of it. */
static hs_status record_claim_library(const struct record *record, const struct hs_object *object,
                                      struct hs_ledger *ledger, struct hs_error *err)
{
    const struct hs_image *image = record->process->image;

    if (object->is_executable || strcmp(object->name, "libheapsnap-record.so") != 0)
        return HS_OK;
    for (size_t i = 0; i < image->n_ranges; i++) {
        hs_addr begin = image->ranges[i].begin, end = image->ranges[i].end;
        begin = begin < object->begin ? object->begin : begin;
        end = end > object->end ? object->end : end;
        if (begin < end)
            HS_TRY(record_claim(record, ledger, begin, end - begin, err));
    }
    return HS_OK;
}

static hs_status record_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                                  struct hs_error *err)
{
    const struct record *record = state;

    (void)map;
    for (size_t i = 0; i < record->n; i++) {
        const struct hs_record_anchor *anchor = &record->tables[i].anchor;
        uint64_t slots_bytes = anchor->n_slots * sizeof(struct hs_record_slot);
        uint64_t stacks_bytes = (anchor->stacks_bytes + 4095) & ~UINT64_C(4095);
        HS_TRY(record_claim_library(record, record->tables[i].object, ledger, err));
        HS_TRY(record_claim(record, ledger, record->tables[i].address, sizeof *anchor, err));
        HS_TRY(record_claim(record, ledger, anchor->slots, slots_bytes, err));
        HS_TRY(record_claim(record, ledger, anchor->stacks, stacks_bytes, err));
    }
    return HS_OK;
}

static hs_status record_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                             struct hs_error *err)
{
    (void)state;
    (void)map;
    (void)ledger;
    (void)err;
    return HS_OK;
}

static const char *record_version(const void *state)
{
    (void)state;
    return "1";
}

/* ---- reading */

static hs_status record_read_slot(const struct record *record, const struct recorded *table,
                                  const uint8_t *bytes, struct hs_sampled_set *set,
                                  uint64_t *n_damaged, struct hs_error *err)
{
    struct hs_record_slot slot;

    memcpy(&slot, bytes, sizeof slot);
    if (slot.address < RECORD_FIRST_ADDRESS || hs_record_is_key(slot.address))
        return HS_OK; /* the runtime whose block it is knows where it lies */
    if (slot.address >= HS_USER_END || slot.n_samples == 0) {
        ++*n_damaged;
        return HS_OK;
    }
    struct hs_sampled sample = {.address = slot.address,
                                .id = slot.id,
                                .n_bytes = slot.bytes,
                                .n_samples = slot.n_samples,
                                .sampler = (uint32_t)(set->n_samplers - 1)};
    if (slot.stack != 0)
        *n_damaged += !hs_recorder_stack(record->process->image, &table->anchor, slot.stack,
                                         &sample.frames, &sample.n_frames);
    return hs_sampled_add(set, &sample, err);
}

static hs_status record_read_slots(const struct record *record, const struct recorded *table,
                                   struct hs_sampled_set *set, struct hs_error *err)
{
    const struct hs_image *image = record->process->image;
    const size_t size = sizeof(struct hs_record_slot);
    hs_addr begin = table->anchor.slots, end = begin + table->anchor.n_slots * size;
    hs_addr part, part_end;
    uint64_t n_damaged = 0;

    if (table->anchor.n_slots != 0 && hs_image_bytes(image, begin, (size_t)(end - begin)) == NULL)
        return hs_findings_note(record->process->findings, true, err,
                                "the samples recorded by '%s' are not in the copy",
                                table->object->name);
    for (hs_addr at = begin; hs_image_next_present(image, at, end, &part, &part_end);
         at = part_end) {
        hs_addr first = begin + (part - begin + size - 1) / size * size;
        for (hs_addr slot = first; slot < part_end && end - slot >= size; slot += size) {
            const uint8_t *bytes = hs_image_bytes(image, slot, size);
            if (bytes != NULL)
                HS_TRY(record_read_slot(record, table, bytes, set, &n_damaged, err));
        }
    }
    if (n_damaged == 0)
        return HS_OK;
    return hs_findings_note(record->process->findings, true, err,
                            "%llu samples recorded by '%s' are damaged: they lack their backtrace, "
                            "or were left out",
                            (unsigned long long)n_damaged, table->object->name);
}

static hs_status record_read(const struct record *record, const struct recorded *table,
                             struct hs_sampled_set *set, struct hs_error *err)
{
    const struct hs_record_anchor *anchor = &table->anchor;
    struct hs_sampled_by sampler = {
        .own = table->object, .scripts = anchor->stacks, .scripts_bytes = anchor->stacks_bytes};

    if (!hs_recorder_is_own(record->process->target, anchor->pid))
        return hs_findings_note(record->process->findings, false, err,
                                "'%s' records in the process that this one was forked from "
                                "(%u), not in this one: there are no samples of it",
                                table->object->name, anchor->pid);
    HS_TRY(hs_recorder_facts(anchor, HS_SAMPLER_RECORD, record->process->findings->strings,
                             &sampler.facts, err));
    HS_TRY(hs_sampled_add_sampler(set, &sampler, err));
    return record_read_slots(record, table, set, err);
}

static hs_status record_sampled(const void *state, const struct hs_heap_map *map,
                                const struct hs_process_copy *process, struct hs_sampled_set *set,
                                struct hs_error *err)
{
    const struct record *record = state;

    (void)map;
    (void)process;
    for (size_t i = 0; i < record->n; i++)
        HS_TRY(record_read(record, &record->tables[i], set, err));
    return HS_OK;
}

const struct hs_allocator hs_allocator_recorded = {
    .name = RECORD_OWNER,
    .open = record_open,
    .add_spans = record_add_spans,
    .mark = record_mark,
    .close = record_close,
    .version = record_version,
    .has_no_blocks = true,
    .sampled = record_sampled,
};
