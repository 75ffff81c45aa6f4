#include "timings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/units.h"
#include "options.h"
#include "report/json.h"

#define NS_PER_S 1000000000.0

static uint64_t ns_of(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_usec * 1000U;
}

/* Reads one number of proc(5)'s io; 0 where the kernel keeps none. */
static uint64_t io_number(const char *text, const char *key)
{
    const char *at = strstr(text, key);
    return at == NULL ? 0 : strtoull(at + strlen(key), NULL, 10);
}

static void mark_io(struct hs_timings_mark *mark)
{
    char text[512];
    FILE *file = fopen("/proc/self/io", "re");
    if (file == NULL)
        return;
    size_t n = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[n] = '\0';
    mark->read_bytes = io_number(text, "rchar: ");
    mark->written_bytes = io_number(text, "wchar: ");
}

static struct hs_timings_mark mark_now(void)
{
    struct rusage own;
    struct hs_timings_mark mark = {.wall_ns = hs_now_ns()};
    if (getrusage(RUSAGE_SELF, &own) == 0) {
        mark.user_ns = ns_of(own.ru_utime);
        mark.system_ns = ns_of(own.ru_stime);
        mark.peak_bytes = (uint64_t)own.ru_maxrss * 1024;
    }
    mark_io(&mark);
    return mark;
}

static void add_since(struct hs_timings_mark *sum, const struct hs_timings_mark *from,
                      const struct hs_timings_mark *to)
{
    sum->wall_ns += to->wall_ns - from->wall_ns;
    sum->user_ns += to->user_ns - from->user_ns;
    sum->system_ns += to->system_ns - from->system_ns;
    sum->read_bytes += to->read_bytes - from->read_bytes;
    sum->written_bytes += to->written_bytes - from->written_bytes;
    sum->peak_bytes = to->peak_bytes;
}

/* The number of a stage, which is added when it is new. */
static unsigned stage_of(struct hs_timings *timings, const char *name)
{
    for (unsigned i = 0; i < timings->n_stages; i++)
        if (timings->stages[i].name == name || strcmp(timings->stages[i].name, name) == 0)
            return i;
    if (timings->n_stages == HS_TIMINGS_STAGES_MOST)
        return HS_TIMINGS_STAGES_MOST - 1;
    timings->stages[timings->n_stages] = (struct hs_timings_stage){.name = name};
    return timings->n_stages++;
}

static void end_stage(struct hs_timings *timings)
{
    struct hs_timings_mark now = mark_now();
    if (now.peak_bytes < timings->at.peak_bytes) /* the kernel's count is not to the page */
        now.peak_bytes = timings->at.peak_bytes;
    add_since(&timings->stages[timings->stage].sum, &timings->at, &now);
    timings->at = now;
}

void hs_timings_begin(struct hs_timings *timings)
{
    *timings = (struct hs_timings){.is_on = true, .at = mark_now()};
    timings->stage = stage_of(timings, "beginning");
}

void hs_timings_enter(struct hs_timings *timings, const char *stage)
{
    if (!timings->is_on || timings->stages[timings->stage].name == stage)
        return;
    unsigned number = stage_of(timings, stage);
    if (number == timings->stage)
        return;
    end_stage(timings);
    timings->stage = number;
}

/* ---- writing */

static struct hs_timings_mark sum_of(const struct hs_timings *timings)
{
    const struct hs_timings_mark none = {0};
    struct hs_timings_mark all = {0};
    for (unsigned i = 0; i < timings->n_stages; i++)
        add_since(&all, &none, &timings->stages[i].sum);
    all.peak_bytes = timings->at.peak_bytes;
    return all;
}

/* Returns the seconds of processes that were started for the command and have ended. */
static double helper_seconds(void)
{
    struct rusage children;
    if (getrusage(RUSAGE_CHILDREN, &children) != 0)
        return 0;
    return (double)(ns_of(children.ru_utime) + ns_of(children.ru_stime)) / NS_PER_S;
}

static void write_mark(struct hs_json *json, const struct hs_timings_mark *mark)
{
    hs_json_real(json, "wall_seconds", (double)mark->wall_ns / NS_PER_S);
    hs_json_real(json, "user_seconds", (double)mark->user_ns / NS_PER_S);
    hs_json_real(json, "system_seconds", (double)mark->system_ns / NS_PER_S);
    hs_json_u64(json, "peak_bytes", mark->peak_bytes);
    hs_json_u64(json, "read_bytes", mark->read_bytes);
    hs_json_u64(json, "written_bytes", mark->written_bytes);
}

static hs_status write_json(const struct hs_timings *timings, const char *command,
                            struct hs_out *out, struct hs_error *err)
{
    const struct hs_timings_mark all = sum_of(timings);
    struct hs_json json;
    hs_json_init(&json, out, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.timings/1");
    hs_json_string(&json, "command", command);
    write_mark(&json, &all);
    hs_json_real(&json, "helper_seconds", helper_seconds());
    hs_json_begin_array(&json, "stages", HS_JSON_BLOCK);
    for (unsigned i = 0; i < timings->n_stages; i++) {
        hs_json_begin_object(&json, NULL, HS_JSON_LINE);
        hs_json_string(&json, "stage", timings->stages[i].name);
        write_mark(&json, &timings->stages[i].sum);
        hs_json_end_object(&json);
    }
    hs_json_end_array(&json);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static hs_status write_row(struct hs_out *out, const char *name, const struct hs_timings_mark *mark,
                           struct hs_error *err)
{
    char peak[HS_UNIT_TEXT_BYTES], in[HS_UNIT_TEXT_BYTES], written[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(mark->peak_bytes, peak);
    hs_format_bytes(mark->read_bytes, in);
    hs_format_bytes(mark->written_bytes, written);
    return hs_print(out, err, "%8.3f %8.3f %8.3f %10s %10s %10s  %s\n",
                    (double)mark->wall_ns / NS_PER_S, (double)mark->user_ns / NS_PER_S,
                    (double)mark->system_ns / NS_PER_S, peak, in, written, name);
}

static hs_status write_text(const struct hs_timings *timings, const char *command,
                            struct hs_out *out, struct hs_error *err)
{
    const struct hs_timings_mark all = sum_of(timings);
    HS_TRY(hs_print(out, err, "%8s %8s %8s %10s %10s %10s  %s\n", "WALL S", "USER S", "SYSTEM S",
                    "PEAK", "READ", "WRITTEN", "STAGE"));
    for (unsigned i = 0; i < timings->n_stages; i++)
        HS_TRY(write_row(out, timings->stages[i].name, &timings->stages[i].sum, err));
    return write_row(out, command, &all, err);
}

hs_status hs_timings_end(struct hs_timings *timings, const struct hs_timings_output *output,
                         struct hs_error *err)
{
    struct hs_out out;
    if (!timings->is_on)
        return HS_OK;
    end_stage(timings);
    timings->is_on = false;
    if (output->path != NULL)
        HS_TRY(hs_out_open_path(output->path, &out, err));
    else
        HS_TRY(hs_out_open_fd(STDERR_FILENO, "standard error", &out, err));
    hs_status status = output->form == HS_TIMINGS_JSON
                           ? write_json(timings, output->command, &out, err)
                           : write_text(timings, output->command, &out, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    return status;
}
