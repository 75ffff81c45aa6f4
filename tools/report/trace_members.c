#include "trace_members.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "capture.h"
#include "trace/look.h"
#include "viewer/trace_columns.h"

enum { NAME_BYTES = 300, MOST_CELLS = 250000, N_LEVELS = 18 };

bool hs_trace_is_one(const char *path)
{
    static const uint8_t magic[] = {0xC1, 0x1F, 0xFC, 0xC1};
    uint8_t first[sizeof magic] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return false;
    bool is_one = read(fd, first, sizeof first) == (ssize_t)sizeof first &&
                  memcmp(first, magic, sizeof magic) == 0;
    (void)close(fd);
    return is_one;
}

/* ---- what the commands print */

/* Asks for half as many rows until they have room. `n_rows` 0: there is no -n. */
static hs_status put_answer(struct hs_tool *tool, struct hs_page *page, const char *const *question,
                            const char *name, unsigned n_rows, size_t most_packed,
                            struct hs_error *err)
{
    hs_status status = HS_OK;
    for (bool has_room = false; status == HS_OK && !has_room; n_rows /= 2) {
        char rows[16];
        struct hs_map printed;
        size_t n_packed;
        (void)snprintf(rows, sizeof rows, "-n%u", n_rows);
        const char *words[] = {"trace", question[0], question[1], "--json", NULL, NULL};
        words[4] = n_rows != 0 ? rows : NULL;
        HS_TRY(hs_capture(tool, words, &printed, err));
        const struct hs_page_member member = {name, printed.bytes, printed.n_bytes, NAME_BYTES};
        status = hs_page_measure(&member, &n_packed, err);
        has_room = n_packed <= most_packed || n_rows <= 1;
        if (status == HS_OK && has_room)
            status = hs_page_put(page, &member, err);
        hs_map_close(&printed);
    }
    return status;
}

/* ---- its allocations */

static struct hs_trace_columns_room room_of(unsigned level)
{
    unsigned n_points = 240 >> level / 2;
    return (struct hs_trace_columns_room){
        .n_points = n_points < 3 ? 3 : n_points,
        .n_calls = 160000 >> level,
        .n_sites = 16000 >> level,
        .n_sizes = 8000 >> level,
        .n_cells = MOST_CELLS,
    };
}

/* Tells fewer calls, sizes and times apart until it has room. */
static hs_status put_columns(struct hs_trace_columns *columns, struct hs_page *page,
                             size_t most_packed, struct hs_error *err)
{
    hs_status status = HS_OK;
    bool is_put = false;
    for (unsigned level = 0; status == HS_OK && !is_put && level < N_LEVELS; level++) {
        const struct hs_trace_columns_room room = room_of(level);
        struct hs_buffer text = {0};
        size_t n_packed = 0;
        bool fits;
        status = hs_trace_columns_write(columns, &room, &text, &fits, err);
        const struct hs_page_member member = {"trace", text.bytes, text.n_bytes, NAME_BYTES};
        if (status == HS_OK && fits)
            status = hs_page_measure(&member, &n_packed, err);
        is_put = fits && (n_packed <= most_packed || level + 1 == N_LEVELS);
        if (status == HS_OK && is_put)
            status = hs_page_put(page, &member, err);
        hs_buffer_fini(&text);
    }
    if (status == HS_OK && !is_put)
        return hs_fail(err, HS_BUG, "the trace has no room on a page, however little is shown");
    return status;
}

static hs_status put_look(struct hs_tool *tool, const struct hs_trace_look *look,
                          struct hs_page *page, size_t most_packed, struct hs_error *err)
{
    const struct hs_trace_columns_of of = {&look->objects, &look->places, &look->scale,
                                           look->info->word_bytes};
    struct hs_trace_columns *columns = NULL;
    HS_TRY(hs_trace_columns_new(&of, hs_tool_budget(tool), &columns, err));
    hs_status status = put_columns(columns, page, most_packed, err);
    hs_trace_columns_free(columns);
    return status;
}

static hs_status put_trace(struct hs_tool *tool, const char *path, struct hs_page *page,
                           size_t most_packed, struct hs_error *err)
{
    char *words[] = {"heapsnap", "trace", "live", "--", (char *)(uintptr_t)path};
    struct hs_invocation *inv = NULL;
    struct hs_trace_look look;
    HS_TRY(HS_ALLOC(&inv, 1, err));
    hs_status status = hs_parse(sizeof words / sizeof *words, words, inv, err);
    if (status == HS_OK) {
        status = hs_trace_look_open(tool, inv, &look, err);
        if (status == HS_OK)
            status = put_look(tool, &look, page, most_packed, err);
        hs_trace_look_close(&look);
    }
    hs_free(inv);
    return status;
}

hs_status hs_trace_members_put(struct hs_tool *tool, const char *path, struct hs_page *page,
                               size_t most_packed, struct hs_error *err)
{
    const char *info[] = {"info", path}, *top[] = {"top", path}, *lifetimes[] = {"lifetimes", path};
    HS_TRY(put_trace(tool, path, page, most_packed / 100 * 78, err));
    HS_TRY(put_answer(tool, page, info, "trace_info", 0, SIZE_MAX, err));
    HS_TRY(put_answer(tool, page, top, "trace_top", 400, most_packed / 10, err));
    return put_answer(tool, page, lifetimes, "trace_lifetimes", 300, most_packed / 10, err);
}
