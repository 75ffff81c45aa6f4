/* trace dump: the events of an allocation trace, one a line. */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "gaps.h"
#include "report/json.h"
#include "trace/trace.h"
#include "trace_commands.h"

/* Lines are put together here and written when it is that full. */
#define DUMP_BUFFER_BYTES 65536
/* Room for what a line has besides names. */
#define DUMP_LINE_BYTES 160

static void put_text(struct hs_buffer *b, const char *text)
{
    hs_buffer_put_bytes(b, text, strlen(text));
}

/* Right-aligned to `width` in `fill`; at most 20 digits. */
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

static void json_frames(struct hs_json *json, const struct hs_trace *trace,
                        const struct hs_trace_event *event)
{
    char code[32];
    hs_json_begin_array(json, "backtrace", HS_JSON_LINE);
    for (size_t i = 0; i < event->n_frames; i++) {
        size_t n;
        const struct hs_trace_location *locations = hs_trace_locations(trace, event->frames[i], &n);
        for (size_t j = 0; j < n; j++) {
            hs_json_begin_object(json, NULL, HS_JSON_LINE);
            hs_json_string(
                json, "function",
                locations[j].function == 0 ? NULL : hs_trace_string(trace, locations[j].function));
            hs_json_string(json, "file",
                           locations[j].file == 0 ? NULL
                                                  : hs_trace_string(trace, locations[j].file));
            hs_json_u64(json, "line", locations[j].line);
            hs_json_u64(json, "char_begin", locations[j].char_begin);
            hs_json_u64(json, "char_end", locations[j].char_end);
            if (locations[j].is_damaged)
                hs_json_bool(json, "damaged", true);
            hs_json_end_object(json);
        }
        if (n == 0) {
            (void)snprintf(code, sizeof code, "0x%llx", (unsigned long long)event->frames[i]);
            hs_json_begin_object(json, NULL, HS_JSON_LINE);
            hs_json_string(json, "code", code);
            hs_json_end_object(json);
        }
    }
    hs_json_end_array(json);
}

static void json_event(struct hs_json *json, const struct hs_trace *trace,
                       const struct hs_trace_event *event)
{
    static const char *const kinds[] = {"alloc", "promote", "collect"};
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    hs_json_u64(json, "time_us", event->time_us);
    hs_json_u64(json, "id", event->id);
    hs_json_string(json, "event", kinds[event->kind]);
    hs_json_u64(json, "domain", event->domain);
    if (event->kind == HS_TRACE_ALLOC) {
        hs_json_string(json, "source", hs_trace_source_name(event->source));
        hs_json_u64(json, "n_samples", event->n_samples);
        hs_json_u64(json, "words", event->words);
        hs_json_u64(json, "n_common", event->n_common);
        json_frames(json, trace, event);
    }
    hs_json_end_object(json);
}

static hs_status dump_json(struct hs_tool *tool, struct hs_trace *trace, bool is_lines,
                           struct hs_error *err)
{
    struct hs_trace_event event;
    struct hs_json json;
    bool more;
    hs_json_init(&json, &tool->out, is_lines ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    if (!is_lines) {
        hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
        hs_json_string(&json, "schema", "heapsnap.trace-dump/1");
        hs_json_begin_array(&json, "events", HS_JSON_BLOCK);
    }
    HS_TRY(hs_trace_next(trace, &event, &more, err));
    while (more) {
        json_event(&json, trace, &event);
        HS_TRY(hs_trace_next(trace, &event, &more, err));
    }
    if (!is_lines) {
        hs_json_end_array(&json);
        hs_json_end_object(&json);
    }
    return hs_json_finish(&json, err);
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
    hs_status status = format == HS_FORMAT_TABLE
                           ? dump_lines(tool, trace, &buffer, err)
                           : dump_json(tool, trace, format == HS_FORMAT_NDJSON, err);
    hs_buffer_fini(&buffer);
    if (status == HS_OK)
        hs_trace_tell_gaps(inv->arguments[1], trace);
    hs_trace_close(trace);
    return status;
}
