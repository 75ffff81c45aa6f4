/* trace names: a copy of a recorder's trace with names in the place of addresses. */
#include "name_places.h"

#include <limits.h>
#include <string.h>

#include "record/translate.h"
#include "trace_commands.h"

enum { HINT_PACKETS = 64 };

/* The whole packet at `at`, or false at the end, where a cut one counts as none. */
static hs_status packet_at(const struct hs_map *map, size_t at, struct hs_packet *ret,
                           bool *ret_more, struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(map->bytes, map->n_bytes);
    hs_cursor_seek(&c, at);
    hs_cursor_skip(&c, 4);
    size_t n = hs_cursor_u32(&c) / 8;
    *ret_more = !c.failed && n <= map->n_bytes - at;
    return *ret_more ? hs_packet_open(map->bytes + at, n, ret, err) : HS_OK;
}

static hs_status name_packets(struct hs_tool *tool, struct hs_translator *t,
                              const struct hs_map *map, struct hs_error *err)
{
    struct hs_packet packet;
    const uint8_t *bytes;
    size_t n_bytes, n_packets = 0;
    bool more = true, is_info;
    for (size_t at = 0;; at += packet.n_bytes, n_packets++) {
        HS_TRY(hs_progress_tell(&tool->progress, "naming places", at, map->n_bytes, err));
        HS_TRY(packet_at(map, at, &packet, &more, err));
        if (!more)
            break;
        HS_TRY(hs_translate(t, &packet, &bytes, &n_bytes, &is_info, err));
        HS_TRY(hs_out_write(&tool->out, bytes, n_bytes, err));
    }
    return n_packets != 0 ? HS_OK : hs_fail(err, HS_FORMAT, "it is no trace");
}

static void talk(const struct hs_translator *t)
{
    hs_talk("%lu places, %lu of them without a name", (unsigned long)t->n_places,
            (unsigned long)t->n_unnamed);
    for (size_t i = 0; i < hs_namer_n_notes(t->namer); i++)
        hs_talk("%s", hs_namer_note(t->namer, i));
}

hs_status hs_trace_cmd_names(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_error *err)
{
    const char *path = inv->arguments[1], *debug_dirs[HS_MAX_REPEATED];
    size_t n_dirs = hs_repeated(inv, HS_OPT_DEBUG_PATH, debug_dirs);
    struct hs_map map = {0};
    hs_auto(hs_namer) *namer = NULL;
    if (tool->terminal.is_terminal) {
        (void)hs_fail(err, HS_USAGE, "cannot write a trace to a terminal");
        return hs_hint(err, "heapsnap trace names %.100s -o named.trace", path);
    }
    HS_TRY(hs_namer_new(debug_dirs, n_dirs, &namer, err));
    HS_TRY(hs_map_open(path, &map, err));
    struct hs_translator t = {.namer = namer};
    hs_status status = name_packets(tool, &t, &map, err);
    if (status == HS_OK)
        talk(&t);
    else if (status == HS_FORMAT) {
        (void)hs_context(err, "cannot name the places of '%s'", path);
        (void)hs_hint(err, "only traces of heapsnap's own recorder have places without names");
    }
    hs_translator_fini(&t);
    hs_map_close(&map);
    return status;
}

/* Tells whether the locations of the first packets are all addresses. */
static bool is_unnamed(const struct hs_map *map)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_packet packet;
    bool more = true, has_address = false;
    uint64_t address;
    size_t at = 0;
    for (int i = 0; i < HINT_PACKETS; i++, at += packet.n_bytes) {
        if (packet_at(map, at, &packet, &more, &ignored) != HS_OK || !more)
            break;
        struct hs_packet_walk walk = {.packet = &packet};
        struct hs_packet_event event;
        while (hs_packet_next(&walk, &event, &more, &ignored) == HS_OK && more) {
            if (event.kind != HS_PACKET_LOCATION)
                continue;
            if (!hs_namer_address(event.name, &address))
                return false;
            has_address = true;
        }
    }
    return has_address;
}

void hs_trace_names_hint(struct hs_tool *tool, const char *path)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_map map = {0};
    if (strcmp(path, "-") == 0 || hs_map_open(path, &map, &ignored) != HS_OK)
        return;
    if (is_unnamed(&map))
        hs_tool_hint(tool,
                     "its places are addresses: 'heapsnap trace names %.200s -o FILE' gives "
                     "them names",
                     path);
    hs_map_close(&map);
}
