/* links: hs_tools_lib hs_trace */
/* parts: record */
/* Any bytes as packets of a recorder: what is checked and translated has to be read without a gap
 * by the reader of traces. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tools/record/translate.h"
#include "trace/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_PACKETS = 64 };

/* Names cost a look at a file; those of these inputs are of none. */
static struct hs_namer *one_namer(void)
{
    static struct hs_namer *namer;
    struct hs_error err = HS_ERROR_INIT;
    if (namer == NULL && hs_namer_new(NULL, 0, &namer, &err) != HS_OK)
        abort();
    return namer;
}

/* The size in its head says how long a packet is; what it claims beyond the input is the input. */
static size_t packet_bytes(const uint8_t *bytes, size_t n_bytes)
{
    uint32_t n_bits = 0;
    if (n_bytes >= 8)
        memcpy(&n_bits, bytes + 4, sizeof n_bits);
    return n_bits / 8 == 0 || n_bits / 8 > n_bytes ? n_bytes : n_bits / 8;
}

static void read_again(const struct hs_buffer *all)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace *trace = NULL;
    struct hs_trace_event event;
    bool more = true;
    if (hs_trace_open_bytes(all->bytes, all->n_bytes, &trace, &err) != HS_OK)
        return;
    while (hs_trace_next(trace, &event, &more, &err) == HS_OK && more)
        ;
    hs_trace_close(trace);
}

static void check_locations(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_packet packet;
    for (size_t at = 0; at < n_bytes; at += packet.n_bytes) {
        hs_status status =
            hs_packet_open(bytes + at, packet_bytes(bytes + at, n_bytes - at), &packet, &err);
        assert(status == HS_OK);
        status = hs_packet_check(&packet, &err);
        assert(status == HS_OK);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_translator t = {.namer = one_namer()};
    struct hs_buffer all = {0};
    size_t n_packets = 0;
    for (size_t at = 0, n; at < n_bytes && n_packets < MAX_PACKETS; at += n, n_packets++) {
        struct hs_packet packet;
        const uint8_t *out;
        size_t n_out;
        bool is_info;
        n = packet_bytes(bytes + at, n_bytes - at);
        if (hs_packet_open(bytes + at, n, &packet, &err) != HS_OK ||
            hs_translate(&t, &packet, &out, &n_out, &is_info, &err) != HS_OK)
            continue;
        check_locations(out, n_out);
        if (hs_buffer_reserve(&all, n_out, &err) != HS_OK)
            abort();
        hs_buffer_put_bytes(&all, out, n_out);
        if (n_packets % 3 == 2)
            hs_translate_undo(&t, packet.pid);
    }
    if (all.n_bytes != 0)
        read_again(&all);
    hs_buffer_fini(&all);
    hs_translator_fini(&t);
    return 0;
}
