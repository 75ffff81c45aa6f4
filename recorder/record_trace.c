#include "record_trace.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct hs_record_codes codes;

/* A child that shares our memory, or was made without fork handlers, must not write as us. */
static bool write_packet(struct hs_record_trace *trace, struct hs_record_packet *packet,
                         uint64_t now_us)
{
    bool is_written;

    hs_record_packet_end(packet, now_us);
    is_written = (uint64_t)syscall(SYS_getpid) == trace->pid &&
                 hs_record_output_packet(&trace->output, packet->bytes, packet->n_bytes);
    packet->n_bytes = 0;
    return is_written;
}

static bool flush_names(struct hs_record_trace *trace)
{
    bool is_written = true;

    if (trace->names.n_bytes != 0)
        is_written = write_packet(trace, &trace->names, trace->names.begin_us);
    for (uint32_t i = 0; i < trace->n_pending && !is_written; i++)
        trace->pending[i]->module = 0;
    if (!is_written)
        memset(trace->plain, 0, sizeof trace->plain);
    trace->n_pending = 0;
    return is_written;
}

static bool flush(struct hs_record_trace *trace, uint64_t now_us)
{
    bool is_written = flush_names(trace);

    if (trace->events.n_bytes != 0 && !write_packet(trace, &trace->events, now_us)) {
        trace->n_lost += trace->events.n_events;
        is_written = false;
    }
    return is_written;
}

/* Begins to hold packets; one that the reader has taken is as good as sent. */
static void hold_begin(struct hs_record_trace *trace)
{
    if (hs_record_held_begin(&trace->holder))
        trace->events.n_bytes = trace->names.n_bytes = trace->n_pending = 0;
}

static void hold_end(struct hs_record_trace *trace, uint64_t now_us)
{
    hs_record_held_end(&trace->holder, &trace->names, &trace->events, now_us);
}

bool hs_record_trace_flush(struct hs_record_trace *trace, uint64_t now_us)
{
    bool is_written;

    hold_begin(trace);
    is_written = flush(trace, now_us);
    hold_end(trace, now_us);
    return is_written;
}

void hs_record_trace_unloaded(struct hs_record_trace *trace)
{
    trace->places.unloads++;
    memset(trace->plain, 0, sizeof trace->plain);
}

void hs_record_trace_begin(struct hs_record_trace *trace, const struct hs_record_info *info,
                           uint64_t now_us)
{
    trace->events.codes = &codes;
    trace->events.n_bytes = trace->names.n_bytes = 0;
    trace->events.id_next = 0;
    trace->n_pending = 0;
    trace->next_id = 0;
    memset(trace->plain, 0, sizeof trace->plain);
    hs_record_packet_begin(&trace->events, now_us, trace->pid);
    (void)hs_record_packet_info(&trace->events, info); /* the first event has room */
    (void)hs_record_trace_flush(trace, now_us);
    trace->n_lost = 0;
}

/* An event may not lie before its packet, nor the packets of names behind those of events that
 * they come before. */
static void make_ready(struct hs_record_trace *trace, uint64_t now_us)
{
    struct hs_record_packet *events = &trace->events;

    if (events->n_bytes != 0 && now_us - events->begin_us > HS_RECORD_FLUSH_US)
        (void)flush(trace, now_us);
    if (events->n_bytes == 0) {
        events->id_next = trace->next_id;
        hs_record_packet_begin(events, now_us, trace->pid);
    }
}

static void explain(struct hs_record_trace *trace, struct hs_record_known *known,
                    const struct hs_record_place *place, const char **last_file)
{
    struct hs_record_packet *names = &trace->names;

    if (trace->n_pending == sizeof trace->pending / sizeof *trace->pending)
        (void)flush_names(trace);
    for (int i = 0; i < 2; i++) {
        if (names->n_bytes == 0) {
            names->id_next = trace->events.id_begin;
            hs_record_packet_begin(names, trace->events.begin_us, trace->pid);
            *last_file = NULL;
        }
        if (hs_record_packet_place(names, place, *last_file == place->file))
            break;
        (void)flush_names(trace);
    }
    *last_file = place->file;
    trace->pending[trace->n_pending++] = known;
}

/* Texts of a place as it is kept, each with a NUL behind it; false when it is damaged. */
static bool script_of(const struct hs_record_trace *trace, uint64_t frame, char *text,
                      struct hs_record_place *ret)
{
    const struct hs_record_stack *kept =
        (const void *)(uintptr_t)(trace->stacks + 8 * (frame ^ HS_RECORD_SCRIPT));
    const char *names = (const char *)&kept->frames[1];
    size_t n_file = kept->frames[0] >> 32 & UINT16_MAX, n_function = kept->frames[0] >> 48;

    if (n_file + n_function > HS_RECORD_SCRIPT_BYTES)
        return false;
    memcpy(text, names, n_file);
    memcpy(text + n_file + 1, names + n_file, n_function);
    text[n_file] = text[n_file + 1 + n_function] = '\0';
    *ret = (struct hs_record_place){.code = frame,
                                    .file = text,
                                    .function = text + n_file + 1,
                                    .line = (uint32_t)kept->frames[0]};
    return true;
}

/* Explains a frame of a script; its code is the frame itself. */
static void explain_script(struct hs_record_trace *trace, uint64_t frame)
{
    char text[HS_RECORD_SCRIPT_BYTES + 2];
    const char *no_file = NULL;
    struct hs_record_known *known;
    struct hs_record_place place;

    if (hs_record_place_script(&trace->places, frame, &known) &&
        script_of(trace, frame, text, &place))
        explain(trace, known, &place, &no_file);
}

/* The codes of the frames, after what explains them; false when they are the frames themselves. */
static bool code_frames(struct hs_record_trace *trace, const uint64_t *frames, unsigned n_frames,
                        uint64_t *coded)
{
    const char *file, *last_file = NULL;
    uint64_t offset = 0;
    bool is_other = false;

    for (unsigned i = 0; i < n_frames; i++) {
        struct hs_record_known *known;
        struct hs_record_place place;

        coded[i] = frames[i];
        if ((frames[i] & HS_RECORD_SCRIPT) != 0) {
            explain_script(trace, frames[i]);
            last_file = NULL;
            continue;
        }
        known = hs_record_place_find(&trace->places, frames[i], &file, &offset);
        place = (struct hs_record_place){
            .code = hs_record_place_code(known), .file = file, .offset = offset};
        if (file != NULL)
            explain(trace, known, &place, &last_file);
        coded[i] = hs_record_place_code(known);
        is_other |= coded[i] != frames[i];
    }
    return is_other;
}

void hs_record_trace_alloc(struct hs_record_trace *trace, const struct hs_record_slot *sample,
                           const uint64_t *frames, unsigned n_frames, uint64_t now_us)
{
    uint32_t *plain = &trace->plain[sample->stack * 0x9e3779b1U >> 20];
    uint64_t coded[HS_RECORD_FRAMES_MAX];

    _Static_assert(HS_RECORD_PLAIN == 1U << 12, "the hash has 12 bits");
    if (!trace->is_wanted) {
        trace->next_id++;
        return;
    }
    hold_begin(trace);
    make_ready(trace, now_us);
    if (sample->stack == 0 || *plain != sample->stack) {
        *plain = sample->stack; /* before: what is lost on the way clears it */
        if (code_frames(trace, frames, n_frames, coded)) {
            *plain = 0;
            frames = coded;
        }
    }
    if (!hs_record_packet_alloc(&trace->events, sample, frames, n_frames, now_us)) {
        (void)flush(trace, now_us);
        make_ready(trace, now_us);
        (void)hs_record_packet_alloc(&trace->events, sample, frames, n_frames, now_us);
    }
    trace->next_id++;
    hold_end(trace, now_us);
}

/* Writes one of the events that only name an allocation. */
static void write_about(struct hs_record_trace *trace,
                        bool (*put)(struct hs_record_packet *, uint64_t, uint64_t), uint64_t id,
                        uint64_t now_us)
{
    if (!trace->is_wanted)
        return;
    hold_begin(trace);
    make_ready(trace, now_us);
    if (!put(&trace->events, id, now_us)) {
        (void)flush(trace, now_us);
        make_ready(trace, now_us);
        (void)put(&trace->events, id, now_us);
    }
    hold_end(trace, now_us);
}

void hs_record_trace_free(struct hs_record_trace *trace, uint64_t id, uint64_t now_us)
{
    write_about(trace, hs_record_packet_free, id, now_us);
}

void hs_record_trace_promote(struct hs_record_trace *trace, uint64_t id, uint64_t now_us)
{
    write_about(trace, hs_record_packet_promote, id, now_us);
}
