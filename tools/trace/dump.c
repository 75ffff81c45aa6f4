/* trace dump: the events of an allocation trace, one a line. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "look/gaps.h"
#include "trace/trace.h"
#include "trace_commands.h"

/* Lines are put together here and written when it is that full. */
#define DUMP_BUFFER_BYTES 65536
/* The room for what a line has besides names. */
#define DUMP_LINE_BYTES 160

static void put_text(struct hs_buffer *b, const char *text)
{
    hs_buffer_put_bytes(b, text, strlen(text));
}

/* Puts a number right-aligned to `width` in `fill`; at most 20 digits. */
static void put_number(struct hs_buffer *b, uint64_t value, size_t width, char fill)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    while (width > sizeof digits - at)
        hs_buffer_put_u8(b, (uint8_t)fill), width--;
    hs_buffer_put_bytes(b, digits + at, sizeof digits - at);
}

static bool is_plain(const char *text, size_t *ret_n)
{
    size_t n = 0;
    while (text[n] > 0x1f && text[n] < 0x7f)
        n++;
    *ret_n = n;
    return text[n] == '\0';
}

/* A name from the file, made safe for a terminal. */
static hs_status put_name(struct hs_buffer *b, const char *text, struct hs_error *err)
{
    size_t n;
    if (!is_plain(text, &n))
        return hs_text_sanitise(text, n + strlen(text + n), HS_TEXT_TERMINAL, b, err);
    HS_TRY(hs_buffer_reserve(b, n, err));
    hs_buffer_put_bytes(b, text, n);
    return HS_OK;
}

static const char *name_or_mark(const struct hs_trace *trace, hs_str id)
{
    return id == 0 ? "?" : hs_trace_string(trace, id);
}

static hs_status put_location(struct hs_buffer *b, const struct hs_trace *trace,
                              const struct hs_trace_location *location, struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(b, DUMP_LINE_BYTES, err));
    hs_buffer_put_u8(b, ' ');
    HS_TRY(put_name(b, name_or_mark(trace, location->function), err));
    HS_TRY(hs_buffer_reserve(b, DUMP_LINE_BYTES, err));
    hs_buffer_put_u8(b, '@');
    HS_TRY(put_name(b, name_or_mark(trace, location->file), err));
    HS_TRY(hs_buffer_reserve(b, DUMP_LINE_BYTES, err));
    hs_buffer_put_u8(b, ':');
    put_number(b, location->line, 0, ' ');
    hs_buffer_put_u8(b, ':');
    put_number(b, location->char_begin, 0, ' ');
    hs_buffer_put_u8(b, '-');
    put_number(b, location->char_end, 0, ' ');
    return HS_OK;
}

static hs_status put_frames(struct hs_buffer *b, const struct hs_trace *trace,
                            const struct hs_trace_event *event, struct hs_error *err)
{
    for (size_t i = 0; i < event->n_frames; i++) {
        size_t n;
        const struct hs_trace_location *locations = hs_trace_locations(trace, event->frames[i], &n);
        for (size_t j = 0; j < n; j++)
            HS_TRY(put_location(b, trace, &locations[j], err));
        if (n == 0) {
            HS_TRY(hs_buffer_reserve(b, DUMP_LINE_BYTES, err));
            put_text(b, " $");
            put_number(b, event->frames[i], 0, ' ');
        }
    }
    return HS_OK;
}

static hs_status put_event(struct hs_buffer *b, const struct hs_trace *trace,
                           const struct hs_trace_event *event, struct hs_error *err)
{
    static const char *const allocs[HS_N_TRACE_SOURCES] = {" alloc ", " alloc_major ",
                                                           " alloc_ext "};
    HS_TRY(hs_buffer_reserve(b, DUMP_LINE_BYTES, err));
    put_number(b, event->time_us, 10, '0');
    hs_buffer_put_u8(b, ' ');
    put_number(b, event->id, 10, '0');
    if (event->kind == HS_TRACE_ALLOC) {
        put_text(b, allocs[event->source]);
        put_number(b, event->n_samples, 0, ' ');
        put_text(b, " len=");
        put_number(b, event->words, 0, ' ');
        put_text(b, " dom=");
        put_number(b, event->domain, 0, ' ');
        put_text(b, "  "); /* the second one is where a sign would be */
        put_number(b, event->n_common, 3, ' ');
        hs_buffer_put_u8(b, ':');
        HS_TRY(put_frames(b, trace, event, err));
        HS_TRY(hs_buffer_reserve(b, 1, err));
    } else {
        put_text(b, event->kind == HS_TRACE_PROMOTE ? " promote" : " collect");
    }
    hs_buffer_put_u8(b, '\n');
    return HS_OK;
}

static hs_status dump_lines(struct hs_tool *tool, struct hs_trace *trace, struct hs_buffer *b,
                            struct hs_error *err)
{
    struct hs_trace_event event;
    bool more;
    HS_TRY(hs_trace_next(trace, &event, &more, err));
    while (more) {
        HS_TRY(put_event(b, trace, &event, err));
        if (b->n_bytes >= DUMP_BUFFER_BYTES) {
            HS_TRY(hs_out_write(&tool->out, b->bytes, b->n_bytes, err));
            b->n_bytes = 0;
        }
        HS_TRY(hs_trace_next(trace, &event, &more, err));
    }
    return hs_out_write(&tool->out, b->bytes, b->n_bytes, err);
}

/* ---- JSON ---- */

static const char *name_or_null(const struct hs_trace *trace, hs_str id)
{
    return id == 0 ? NULL : hs_trace_string(trace, id);
}

struct backtrace {
    const struct hs_trace *trace;
    const struct hs_trace_event *event;
};

static hs_status put_object(struct hs_sink *sink, const struct hs_trace *trace,
                            const struct hs_trace_location *location, struct hs_error *err)
{
    return hs_sink_pairs(
        sink,
        HS_PAIRS(HS_TEXT("function", name_or_null(trace, location->function)),
                 HS_TEXT("file", name_or_null(trace, location->file)),
                 HS_COUNT("line", location->line), HS_COUNT("char_begin", location->char_begin),
                 HS_COUNT("char_end", location->char_end),
                 location->is_damaged ? (struct hs_pair)HS_VALUE("damaged", BOOL, true)
                                      : (struct hs_pair)HS_PAIRS_END),
        err);
}

static hs_status put_backtrace(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct backtrace *of = context;
    for (size_t i = 0; i < of->event->n_frames; i++) {
        size_t n;
        uint64_t code = of->event->frames[i];
        const struct hs_trace_location *locations = hs_trace_locations(of->trace, code, &n);
        for (size_t j = 0; j < n; j++)
            HS_TRY(put_object(sink, of->trace, &locations[j], err));
        if (n == 0)
            HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_VALUE("code", ADDRESS, code)), err));
    }
    return HS_OK;
}

static hs_status put_events(void *context, struct hs_sink *sink, struct hs_error *err)
{
    static const char *const kinds[] = {"alloc", "promote", "collect"};
    struct hs_trace *trace = context;
    struct hs_trace_event event;
    struct backtrace backtrace = {trace, &event};
    const struct hs_list frames = {.each = put_backtrace, .context = &backtrace, .is_line = true};
    for (bool more;;) {
        HS_TRY(hs_trace_next(trace, &event, &more, err));
        if (!more)
            return HS_OK;
        bool is_alloc = event.kind == HS_TRACE_ALLOC;
        HS_TRY(hs_sink_pairs(
            sink,
            HS_PAIRS(HS_COUNT("time_us", event.time_us), HS_COUNT("id", event.id),
                     HS_TEXT("event", kinds[event.kind]), HS_COUNT("domain", event.domain),
                     is_alloc
                         ? (struct hs_pair)HS_TEXT("source", hs_trace_source_name(event.source))
                         : (struct hs_pair)HS_PAIRS_END,
                     HS_COUNT("n_samples", event.n_samples), HS_COUNT("words", event.words),
                     HS_COUNT("n_common", event.n_common), HS_ROWS("backtrace", &frames)),
            err));
    }
}

static hs_status dump_json(struct hs_tool *tool, const struct hs_invocation *inv,
                           struct hs_trace *trace, struct hs_error *err)
{
    const struct hs_list events = {.each = put_events, .context = trace};
    const struct hs_listing listing = {
        .rows = &events,
        .document =
            HS_PAIRS(HS_TEXT("schema", "heapsnap.trace-dump/1"), HS_ROWS("events", &events)),
    };
    return hs_tool_list(tool, inv, &listing, err);
}

hs_status hs_trace_cmd_dump(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_error *err)
{
    enum hs_format format = hs_tool_format(inv);
    if (format == HS_FORMAT_TSV) {
        (void)hs_fail(err, HS_USAGE, "'trace dump' writes no tsv: backtraces fit in no column");
        return hs_hint(err, "--format ndjson writes one object a line");
    }
    struct hs_trace *trace;
    HS_TRY(hs_trace_open(inv->arguments[1], &trace, err));
    struct hs_buffer buffer = {0};
    hs_status status = format == HS_FORMAT_TABLE ? dump_lines(tool, trace, &buffer, err)
                                                 : dump_json(tool, inv, trace, err);
    hs_buffer_fini(&buffer);
    if (status == HS_OK)
        hs_trace_tell_gaps(inv->arguments[1], trace);
    hs_trace_close(trace);
    return status;
}
