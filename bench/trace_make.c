/* Writes an allocation trace in memtrace's format, version 2, as a program of many small functions
 * would: backtraces that share most of their frames with the one before, coded with the cache of
 * the format. About one event in two is an allocation. Prints what it wrote.
 *
 *     trace_make FILE [ALLOCATIONS]        default: 1091936, about 2.2 million events */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_FUNCTIONS = 3000,
    N_CALLEES = 6,
    MAX_DEPTH = 64,
    N_SLOTS = 16384,
    PACKET_BYTES = 32768,
    HEADER_BYTES = 66,
    MAX_EVENT_BYTES = 1024,
    N_LIVE = 20000,
    NO_CHECK = 0xFFFF,
};
#define BEGUN_US UINT64_C(1700000000000000)
#define RATE 1e-3

struct maker {
    FILE *out;
    uint64_t random;
    uint32_t callees[N_FUNCTIONS][N_CALLEES];
    /* The writer's state. */
    uint64_t code[N_SLOTS];
    uint16_t next[N_SLOTS];
    unsigned check_slot;
    uint64_t check_code; /* of the packet that is written, as are: */
    uint16_t check_next, check;
    uint8_t packet[PACKET_BYTES];
    size_t n;
    uint64_t now_us, packet_us, first_id, next_id;
    /* The program's. */
    uint32_t stack[MAX_DEPTH];
    unsigned depth, n_common;
    uint64_t live[N_LIVE];
    uint64_t n_events, n_frames;
};

static uint64_t draw(struct maker *m, uint64_t below)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return m->random % below;
}

static uint64_t code_of(uint32_t function)
{
    return UINT64_C(0x55d0c0de0000) + (uint64_t)function * 52;
}

static void put(struct maker *m, uint64_t value, unsigned n_bytes)
{
    memcpy(m->packet + m->n, &value, n_bytes);
    m->n += n_bytes;
}

static void put_vint(struct maker *m, uint64_t value)
{
    if (value < 253) {
        put(m, value, 1);
    } else if (value <= UINT16_MAX) {
        put(m, 253, 1);
        put(m, value, 2);
    } else {
        put(m, 254, 1);
        put(m, value, 4);
    }
}

static void put_text(struct maker *m, const char *text)
{
    memcpy(m->packet + m->n, text, strlen(text) + 1);
    m->n += strlen(text) + 1;
}

static void packet_begin(struct maker *m, bool is_checked)
{
    m->n = HEADER_BYTES;
    m->packet_us = m->now_us;
    m->first_id = m->next_id;
    m->check = is_checked ? (uint16_t)m->check_slot : NO_CHECK;
    m->check_code = is_checked ? m->code[m->check_slot] : 0;
    m->check_next = is_checked ? m->next[m->check_slot] : 0;
}

static void packet_end(struct maker *m)
{
    size_t n = m->n;
    m->n = 0;
    put(m, 0xC1FC1FC1, 4);
    put(m, n * 8, 4);
    put(m, m->packet_us, 8);
    put(m, m->now_us, 8);
    put(m, 0, 4);
    put(m, 2, 2);
    put(m, 4711, 8);
    put(m, m->check, 2);
    put(m, m->check_next, 2);
    put(m, m->check_code, 8);
    put(m, m->first_id, 8);
    put(m, m->next_id, 8);
    if (fwrite(m->packet, 1, n, m->out) != n)
        abort();
}

static void put_event(struct maker *m, unsigned event)
{
    put(m, (m->now_us & 0x1FFFFFF) | (uint64_t)event << 25, 4);
}

static void write_info(struct maker *m)
{
    double rate = RATE;
    uint64_t bits;
    memcpy(&bits, &rate, sizeof bits);
    packet_begin(m, false);
    put_event(m, 0);
    put(m, bits, 8);
    put(m, 64, 1);
    put_text(m, "trace_make");
    put_text(m, "bench");
    put_text(m, "v=0");
    put(m, 4711, 8);
    put_text(m, "");
    packet_end(m);
}

/* All of them at once: 30 functions to a file, each name a new one. */
static void write_locations(struct maker *m)
{
    char text[64];
    packet_begin(m, false);
    for (uint32_t i = 0; i < N_FUNCTIONS; i++) {
        bool is_new_file = i % 30 == 0;
        if (m->n + 200 > PACKET_BYTES) {
            packet_end(m);
            packet_begin(m, false);
        }
        put_event(m, 1);
        put(m, code_of(i), 8);
        put(m, 1, 1);
        put(m,
            (i % 900 + 1) | UINT64_C(4) << 20 | UINT64_C(40) << 28 |
                (uint64_t)(is_new_file ? 31 : 0) << 38 | UINT64_C(31) << 43,
            6);
        (void)snprintf(text, sizeof text, "src/module_%u.ml", i / 30);
        if (is_new_file)
            put_text(m, text);
        (void)snprintf(text, sizeof text, "Module_%u.function_%u", i / 30, i);
        put_text(m, text);
    }
    packet_end(m);
}

/* Returns from some calls, makes some others. */
static void run_on(struct maker *m)
{
    unsigned returns = (unsigned)draw(m, 5), calls = 1 + (unsigned)draw(m, 5);
    unsigned kept = m->depth > returns + 2 ? m->depth - returns : 2;
    if (draw(m, 200) == 0)
        kept = 2 + (unsigned)draw(m, 8);
    kept = kept < m->depth ? kept : m->depth;
    m->n_common = kept;
    m->depth = kept;
    while (calls-- > 0 && m->depth < MAX_DEPTH) {
        uint64_t skew = draw(m, 16);
        unsigned which = skew < 9 ? 0 : skew < 12 ? 1 : (unsigned)draw(m, N_CALLEES);
        uint32_t caller = m->depth == 0 ? 0 : m->stack[m->depth - 1];
        m->stack[m->depth++] = m->callees[caller][which];
    }
}

static unsigned slot_of(uint64_t code)
{
    return (unsigned)((code * UINT64_C(0x9e3779b97f4a7c15)) >> 50);
}

/* The frames behind the common ones as code words; how many it were. */
static unsigned put_backtrace(struct maker *m)
{
    unsigned at = 0, n_words = 0;
    for (unsigned i = m->n_common; i < m->depth; n_words++) {
        uint64_t code = code_of(m->stack[i++]);
        unsigned slot = slot_of(code), run = 0;
        m->next[at] = (uint16_t)slot;
        at = slot;
        if (m->code[slot] != code) {
            m->code[slot] = code;
            put(m, slot << 2 | 3, 2);
            put(m, code, 8);
            continue;
        }
        while (i < m->depth && run < 255 && m->code[m->next[at]] == code_of(m->stack[i])) {
            at = m->next[at];
            run++;
            i++;
        }
        put(m, slot << 2 | (run < 2 ? run : 2), 2);
        if (run >= 2)
            put(m, run, 1);
    }
    m->check_slot = at;
    return n_words;
}

static void put_alloc(struct maker *m)
{
    uint64_t words = draw(m, 10) < 9 ? 1 + draw(m, 12) : 17 + draw(m, 4000);
    bool is_short = words <= 16;
    run_on(m);
    put_event(m, is_short ? 100 + (unsigned)words : 2);
    if (!is_short) {
        put_vint(m, words);
        put_vint(m, 1 + words / 1000);
        put(m, words > 256, 1);
    }
    put_vint(m, m->n_common);
    size_t count_at = m->n;
    put(m, 0, is_short ? 1 : 2);
    unsigned n_words = put_backtrace(m);
    memcpy(m->packet + count_at, &n_words, is_short ? 1 : 2);
    m->next_id++;
    m->n_frames += m->depth;
    m->n_events++;
}

static void put_fate(struct maker *m, unsigned event, uint64_t id)
{
    put_event(m, event);
    put_vint(m, m->next_id - 1 - id);
    m->n_events++;
}

/* One allocation, and as a rule the end of an older one. */
static void live_on(struct maker *m)
{
    put_alloc(m);
    uint64_t id = m->next_id - 1, *place = &m->live[draw(m, N_LIVE)];
    if (draw(m, 10) == 0)
        put_fate(m, 3, id);
    if (*place != 0)
        put_fate(m, 4, *place - 1);
    *place = id + 1;
}

int main(int argc, char **argv)
{
    static struct maker m;
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 1091936;
    if (argc < 2 || (m.out = fopen(argv[1], "wb")) == NULL) {
        fprintf(stderr, "usage: trace_make FILE [ALLOCATIONS]\n");
        return 2;
    }
    m.random = 88172645463325252;
    m.now_us = BEGUN_US;
    for (uint32_t i = 0; i < N_FUNCTIONS; i++)
        for (unsigned j = 0; j < N_CALLEES; j++)
            m.callees[i][j] = (uint32_t)draw(&m, N_FUNCTIONS);
    write_info(&m);
    write_locations(&m);
    packet_begin(&m, true);
    for (uint64_t i = 0; i < n; i++) {
        if (m.n + MAX_EVENT_BYTES > PACKET_BYTES) {
            packet_end(&m);
            packet_begin(&m, true);
        }
        m.now_us += draw(&m, 20);
        live_on(&m);
    }
    packet_end(&m);
    if (fclose(m.out) != 0)
        return 5;
    printf("%" PRIu64 " events, %" PRIu64 " frames\n", m.n_events, m.n_frames);
    return 0;
}
