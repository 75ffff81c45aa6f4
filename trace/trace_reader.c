#include "trace_reader.h"

#include <math.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

#define GIVE_BACK_BYTES ((size_t)4 << 20)
#define FORESEEN_BYTES ((size_t)64 << 20)

const char *hs_trace_source_name(unsigned source)
{
    static const char *const names[HS_N_TRACE_SOURCES] = {"minor", "major", "external"};
    return source < HS_N_TRACE_SOURCES ? names[source] : "?";
}

const struct hs_trace_info *hs_trace_info(const struct hs_trace *trace)
{
    return &trace->info;
}

const struct hs_trace_gaps *hs_trace_gaps(const struct hs_trace *trace)
{
    return &trace->gaps;
}

const char *hs_trace_string(const struct hs_trace *trace, hs_str id)
{
    return hs_strtab_get(&trace->sites.strings, id);
}

const struct hs_trace_location *hs_trace_locations(const struct hs_trace *trace, uint64_t code,
                                                   size_t *ret_n)
{
    const struct trace_site *site = hs_trace_sites_find(&trace->sites, code);
    *ret_n = site == NULL ? 0 : site->n;
    return site == NULL ? NULL : trace->sites.locations + site->first;
}

/* ---- domains ---- */

static void domain_free(struct trace_domain *domain)
{
    if (domain == NULL)
        return;
    hs_pages_free(domain->slots, TRACE_N_SLOTS + 1, sizeof *domain->slots);
    hs_free(domain->frames);
    hs_trace_ways_fini(&domain->ways);
    hs_free(domain->names);
    hs_free(domain);
}

static hs_status domain_new(uint32_t number, struct trace_domain **ret, struct hs_error *err)
{
    struct trace_domain *domain;
    HS_TRY(HS_ALLOC(&domain, 1, err));
    domain->number = number;
    hs_status status = HS_ALLOC(&domain->names, 1, err);
    if (status == HS_OK)
        status = HS_PAGES_ALLOC(&domain->slots, TRACE_N_SLOTS + 1, err);
    if (status != HS_OK) {
        domain_free(domain);
        return status;
    }
    hs_trace_names_init(domain->names);
    *ret = domain;
    return HS_OK;
}

/* Zeroes the cache, and forgets the last backtrace. */
static void domain_clear(struct trace_domain *domain)
{
    hs_pages_discard(domain->slots, (TRACE_N_SLOTS + 1) * sizeof *domain->slots);
    domain->n_frames = 0;
}

/* Forgets a domain's state: part of what the writer wrote for it is lost, and nothing of it is
 * known any more. */
static void domain_lose(struct trace_domain *domain)
{
    domain_clear(domain);
    domain->next_mask = TRACE_LOST_SLOT;
    domain->is_backtrace_lost = true;
    hs_trace_names_lose(domain->names);
    domain->ways.n = 0;
}

static void domain_rewind(struct trace_domain *domain)
{
    domain_clear(domain);
    domain->next_mask = 0;
    domain->is_backtrace_lost = domain->is_begun = false;
    hs_trace_names_init(domain->names);
    domain->ways.n = 0;
    domain->last_us = 0;
}

/* Finds a domain; NULL when there are more than we keep. */
static hs_status find_domain(struct hs_trace *trace, uint32_t number, struct trace_domain **ret,
                             struct hs_error *err)
{
    for (size_t i = 0; i < trace->n_domains; i++) {
        if (trace->domains[i]->number == number) {
            *ret = trace->domains[i];
            (*ret)->is_begun = true;
            return HS_OK;
        }
    }
    *ret = NULL;
    if (trace->n_domains == TRACE_MAX_DOMAINS)
        return HS_OK;
    HS_TRY(HS_GROW(&trace->domains, &trace->domains_capacity, trace->n_domains + 1, err));
    HS_TRY(domain_new(number, ret, err));
    (*ret)->is_begun = true;
    trace->domains[trace->n_domains++] = *ret;
    return HS_OK;
}

/* ---- opening ---- */

/* Strings of the trace information: found first, copied at once. */
struct info_text {
    const char *text;
    size_t n;
};

static hs_status keep_texts(struct hs_trace *trace, const struct info_text *texts,
                            struct hs_error *err)
{
    const char **kept[4] = {&trace->info.executable, &trace->info.host, &trace->info.runtime,
                            &trace->info.context};
    size_t n_bytes = 0;
    for (unsigned i = 0; i < 4; i++)
        n_bytes += texts[i].n + 1;
    HS_TRY(HS_ALLOC(&trace->strings, n_bytes, err));
    char *to = trace->strings;
    for (unsigned i = 0; i < 4; i++) {
        if (texts[i].n != 0)
            memcpy(to, texts[i].text, texts[i].n);
        *kept[i] = to;
        to += texts[i].n + 1;
    }
    return HS_OK;
}

static hs_status read_info(struct hs_trace *trace, const char *name, struct hs_error *err)
{
    const struct trace_packet *first = &trace->first;
    struct trace_bytes b = {trace->file + first->body, trace->file + first->end, false};
    struct info_text texts[4] = {0};
    uint32_t header = trace_bytes_u32(&b);
    double rate = trace_bytes_f64(&b);
    unsigned word_bits = trace_bytes_u8(&b);
    for (unsigned i = 0; i < 3; i++)
        texts[i].text = trace_bytes_string(&b, &texts[i].n);
    uint64_t pid = trace_bytes_u64(&b);
    if (first->version >= 2)
        texts[3].text = trace_bytes_string(&b, &texts[3].n);
    if (b.failed || header >> TRACE_TIME_BITS != TRACE_EVENT_INFO)
        return hs_fail(err, HS_FORMAT,
                       "%s is damaged: its first packet does not hold the trace's information",
                       name);
    if (!isfinite(rate) || rate <= 0 || (word_bits != 64 && word_bits != 32))
        return hs_fail(err, HS_FORMAT, "%s is damaged: a sampling rate of %g, words of %u bits",
                       name, rate, word_bits);
    trace->info = (struct hs_trace_info){
        .version = first->version,
        .samples_per_word = rate,
        .word_bytes = word_bits / 8,
        .begun_us = first->begin_us,
        .pid = pid,
        .file_bytes = trace->n_bytes,
    };
    trace->info_end = (size_t)(b.at - trace->file);
    return keep_texts(trace, texts, err);
}

static hs_status foresee(struct hs_trace *trace, struct hs_error *err);

static hs_status read_first(struct hs_trace *trace, const char *name, struct hs_error *err)
{
    if (trace->n_bytes == 0)
        return hs_fail(err, HS_FORMAT, "%s is empty", name);
    switch (hs_trace_packet_read(trace->file, trace->n_bytes, 0, &trace->first)) {
    case TRACE_PACKET_WHOLE:
        return read_info(trace, name, err);
    case TRACE_PACKET_CUT:
        return hs_fail(err, HS_FORMAT, "%s is cut before its first event: it ends after %zu bytes",
                       name, trace->n_bytes);
    case TRACE_PACKET_FUTURE:
        (void)hs_fail(err, HS_FORMAT, "%s is a trace of version %u; we know 1 to %u", name,
                      trace->first.version, TRACE_MAX_VERSION);
        return hs_hint(err, "a newer heapsnap may read it");
    case TRACE_PACKET_NONE:
        break;
    }
    (void)hs_fail(err, HS_FORMAT, "%s is no allocation trace", name);
    return hs_hint(err, "traces are written by memtrace and by 'heapsnap record'");
}

static hs_status trace_open(struct hs_map *map, const void *bytes, size_t n_bytes, const char *name,
                            struct hs_trace **ret, struct hs_error *err)
{
    struct hs_trace *trace;
    hs_status status = HS_ALLOC(&trace, 1, err);
    if (status != HS_OK) {
        hs_map_close(map);
        return status;
    }
    if (map != NULL)
        trace->map = *map;
    trace->file = bytes;
    trace->n_bytes = n_bytes;
    trace->recovery.sites = &trace->sites;
    status = read_first(trace, name, err);
    if (status == HS_OK)
        status = foresee(trace, err);
    if (status != HS_OK) {
        hs_trace_close(trace);
        return status;
    }
    if (trace->map.is_file)
        (void)madvise((void *)trace->file, n_bytes, MADV_SEQUENTIAL); /* advice only */
    *ret = trace;
    return HS_OK;
}

hs_status hs_trace_open_bytes(const void *bytes, size_t n_bytes, struct hs_trace **ret,
                              struct hs_error *err)
{
    return trace_open(NULL, bytes, n_bytes, "the trace", ret, err);
}

hs_status hs_trace_open(const char *path, struct hs_trace **ret, struct hs_error *err)
{
    struct hs_map map;
    char name[256];
    HS_TRY(hs_map_open(path, &map, err));
    (void)snprintf(name, sizeof name, "'%.240s'", path);
    return trace_open(&map, map.bytes, map.n_bytes, name, ret, err);
}

void hs_trace_close(struct hs_trace *trace)
{
    if (trace == NULL)
        return;
    for (size_t i = 0; i < trace->n_domains; i++)
        domain_free(trace->domains[i]);
    hs_free(trace->domains);
    hs_trace_sites_fini(&trace->sites);
    hs_trace_recovery_fini(&trace->recovery);
    hs_free(trace->choices.choices);
    hs_free(trace->strings);
    hs_map_close(&trace->map);
    hs_free(trace);
}

void hs_trace_rewind(struct hs_trace *trace)
{
    for (size_t i = 0; i < trace->n_domains; i++)
        domain_rewind(trace->domains[i]);
    trace->choices.n = trace->n_chosen = 0;
    trace->is_suspect = trace->is_foreseen;
    trace->recovery.n_steps = 0;
    trace->recovery.places.n = 0;
    trace->gaps = (struct hs_trace_gaps){0};
    trace->next_packet = trace->given_back = 0;
    trace->in_packet = false;
}

/* ---- packets ---- */

static void give_back(struct hs_trace *trace)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t end = trace->next_packet / page * page;
    if (!trace->map.is_file || end < trace->given_back + GIVE_BACK_BYTES)
        return;
    (void)madvise((void *)(trace->file + trace->given_back), end - trace->given_back,
                  MADV_DONTNEED); /* advice only */
    trace->given_back = end;
}

/* The rest of a packet says nothing; the next may begin before it ends, when its size was hit. */
static void skip_rest(struct hs_trace *trace, size_t from)
{
    trace->gaps.n_damaged_packets++;
    trace->next_packet =
        hs_trace_packet_find(trace->file, trace->n_bytes, from, trace->packet.end, &trace->first);
    trace->in_packet = false;
}

static void skip_damaged(struct hs_trace *trace, size_t from)
{
    const struct trace_packet *packet = &trace->packet;
    bool has_locations_alone =
        packet->check_slot == TRACE_NO_CHECK && packet->id_begin == packet->id_end;
    if (has_locations_alone) { /* the code cache has no part in it */
        hs_trace_names_lose(trace->domain->names);
        trace->domain->ways.n = 0;
    } else {
        domain_lose(trace->domain);
    }
    skip_rest(trace, from);
}

/* Skips to the next place where a packet begins: here none does. */
static void skip_garbage(struct hs_trace *trace, bool is_cut)
{
    size_t at = trace->next_packet;
    size_t found =
        hs_trace_packet_find(trace->file, trace->n_bytes, at + 1, trace->n_bytes, &trace->first);
    trace->gaps.n_damaged_packets += found < trace->n_bytes || !is_cut;
    if (found == trace->n_bytes) {
        trace->gaps.cut_bytes += found - at;
    } else {
        for (size_t i = 0; i < trace->n_domains; i++) /* whose it was is lost, too */
            if (trace->domains[i]->is_begun)
                domain_lose(trace->domains[i]);
    }
    trace->next_packet = found;
}

/* Checks the header's claim about one slot of the cache; a slot that was lost learns it. */
static bool check_holds(const struct trace_packet *packet, struct trace_domain *domain)
{
    if (packet->check_slot == TRACE_NO_CHECK)
        return true;
    if (packet->check_slot >= TRACE_N_SLOTS || packet->check_prediction >= TRACE_N_SLOTS)
        return false;
    struct trace_slot *slot = &domain->slots[packet->check_slot];
    uint16_t next = (uint16_t)(packet->check_prediction ^ domain->next_mask);
    bool is_lossy = domain->next_mask != 0;
    if (is_lossy && slot->code == 0)
        slot->code = packet->check_code;
    if (is_lossy && slot->next == 0)
        slot->next = next;
    return slot->code == packet->check_code && slot->next == next;
}

static bool any_cleared(const struct trace_choices *choices)
{
    for (size_t i = 0; i < choices->n; i++) {
        if (choices->choices[i].clear != 0)
            return true;
    }
    return false;
}

/* Plans the reading of a packet that begins with a location. */
static hs_status plan_locations(struct hs_trace *trace, struct hs_error *err)
{
    struct trace_domain *domain = trace->domain;
    struct trace_bytes peek = trace->bytes;
    enum trace_verdict verdict;
    trace->choices.n = trace->n_chosen = 0;
    if (trace_bytes_u32(&peek) >> TRACE_TIME_BITS != TRACE_EVENT_LOCATION)
        return HS_OK;
    HS_TRY(hs_trace_judge(&trace->recovery, domain->names, &trace->packet, trace->bytes, &verdict,
                          err));
    if (verdict == TRACE_MIXED || (verdict == TRACE_SOUND && !trace->is_suspect))
        return HS_OK;
    if (domain->ways.ways == NULL && trace->n_recovered_domains++ >= TRACE_MAX_RECOVERED_DOMAINS)
        return HS_OK;
    HS_TRY(hs_trace_recover(&trace->recovery, domain->names, &domain->ways, &trace->packet,
                            trace->bytes, &trace->choices, err));
    if (domain->ways.n == 0) { /* no way leads through: it is another damage */
        hs_trace_names_lose(domain->names);
    } else if (!trace->is_suspect && !any_cleared(&trace->choices)) { /* nor does it explain this */
        domain->ways.n = 0;
        trace->choices.n = 0;
    } else {
        trace->is_suspect = true;
    }
    return HS_OK;
}

/* Goes to the first event of the packet that was read, unless it is not for us. */
static hs_status enter_packet(struct hs_trace *trace, struct hs_error *err)
{
    const struct trace_packet *packet = &trace->packet;
    bool is_first = packet->begin == 0;
    trace->next_packet = packet->end;
    if (packet->pid != trace->info.pid && !is_first) {
        trace->gaps.n_foreign_packets++;
        return HS_OK;
    }
    HS_TRY(find_domain(trace, packet->domain, &trace->domain, err));
    if (trace->domain == NULL || !check_holds(packet, trace->domain)) {
        if (trace->domain != NULL)
            domain_lose(trace->domain);
        skip_rest(trace, packet->body);
        return HS_OK;
    }
    size_t begin = is_first ? trace->info_end : packet->body;
    trace->bytes =
        (struct trace_bytes){trace->file + begin, trace->file + packet->end, .failed = false};
    trace->next_id = packet->id_begin;
    trace->in_packet = true;
    return plan_locations(trace, err);
}

/* Goes to the next packet that is ours. in_packet is false at the end of the file. */
static hs_status next_packet(struct hs_trace *trace, struct hs_error *err)
{
    give_back(trace);
    while (!trace->in_packet && trace->next_packet < trace->n_bytes) {
        enum trace_packet_state state =
            hs_trace_packet_read(trace->file, trace->n_bytes, trace->next_packet, &trace->packet);
        if (state == TRACE_PACKET_WHOLE && trace->packet.version == trace->info.version)
            HS_TRY(enter_packet(trace, err));
        else
            skip_garbage(trace, state == TRACE_PACKET_CUT);
    }
    return HS_OK;
}

/* Reads the locations of a packet that was entered, and leaves it. */
static hs_status read_locations_of(struct hs_trace *trace, struct hs_error *err)
{
    while (!trace->is_suspect && !trace->bytes.failed &&
           trace_bytes_u32(&trace->bytes) >> TRACE_TIME_BITS == TRACE_EVENT_LOCATION)
        HS_TRY(hs_trace_read_location(trace, &trace->bytes, err));
    trace->in_packet = false;
    return HS_OK;
}

/* Foresees whether the writer had the fault, which is seen some time after it struck: what can be
 * found in the first part of the file is found out before anything is read. */
static hs_status foresee(struct hs_trace *trace, struct hs_error *err)
{
    size_t end = trace->n_bytes < FORESEEN_BYTES ? trace->n_bytes : FORESEEN_BYTES;
    while (!trace->is_suspect && trace->next_packet < end &&
           hs_trace_packet_read(trace->file, trace->n_bytes, trace->next_packet, &trace->packet) ==
               TRACE_PACKET_WHOLE &&
           trace->packet.version == trace->info.version) {
        trace->next_packet = trace->packet.end;
        if (trace->packet.check_slot == TRACE_NO_CHECK)
            HS_TRY(enter_packet(trace, err));
        if (trace->in_packet)
            HS_TRY(read_locations_of(trace, err));
        give_back(trace);
    }
    if (trace->is_suspect) { /* names that were read by then may be wrong */
        hs_trace_sites_fini(&trace->sites);
    }
    trace->is_foreseen = trace->is_suspect;
    hs_trace_rewind(trace);
    return HS_OK;
}

/* ---- events ---- */

/* A backtrace's words follow. */
static hs_status read_alloc(struct hs_trace *trace, unsigned event, struct hs_trace_event *ret,
                            struct hs_error *err)
{
    struct trace_bytes *bytes = &trace->bytes;
    bool is_long = event == TRACE_EVENT_ALLOC;
    int64_t words = is_long ? trace_bytes_vint(bytes) : event - (TRACE_EVENT_SHORT_FIRST - 1);
    int64_t n_samples = is_long ? trace_bytes_vint(bytes) : 1;
    unsigned source = is_long ? trace_bytes_u8(bytes) : HS_TRACE_MINOR;
    int64_t n_common = trace_bytes_vint(bytes);
    unsigned n_words = is_long ? trace_bytes_u16(bytes) : trace_bytes_u8(bytes);
    if (words < 0 || n_samples < 1 || source >= HS_N_TRACE_SOURCES || n_common < 0 ||
        trace->next_id >= trace->packet.id_end)
        bytes->failed = true;
    if (bytes->failed)
        return HS_OK;
    size_t n_before = trace->domain->is_backtrace_lost ? 0 : trace->domain->n_frames;
    HS_TRY(hs_trace_read_backtrace(trace, bytes, (uint64_t)n_common, n_words, err));
    *ret = (struct hs_trace_event){
        .kind = HS_TRACE_ALLOC,
        .source = (uint8_t)source,
        .id = trace->next_id++,
        .n_samples = (uint64_t)n_samples,
        .words = (uint64_t)words,
        .n_common = (uint32_t)((size_t)n_common < n_before ? (size_t)n_common : n_before),
        .n_frames = (uint32_t)trace->domain->n_frames,
        .frames = trace->domain->frames,
    };
    return HS_OK;
}

static void read_end(struct hs_trace *trace, unsigned event, struct hs_trace_event *ret)
{
    int64_t delta = trace_bytes_vint(&trace->bytes);
    int64_t id;
    if (__builtin_sub_overflow((int64_t)trace->next_id - 1, delta, &id) || id < 0)
        trace->bytes.failed = true;
    *ret = (struct hs_trace_event){
        .kind = event == TRACE_EVENT_PROMOTE ? HS_TRACE_PROMOTE : HS_TRACE_COLLECT,
        .id = (uint64_t)id,
    };
}

/* Reads one event of the packet; *ret_is_event is false for what the caller does not see. */
static hs_status read_event(struct hs_trace *trace, struct hs_trace_event *ret, bool *ret_is_event,
                            struct hs_error *err)
{
    uint32_t header = trace_bytes_u32(&trace->bytes);
    uint64_t time_us = hs_trace_packet_time(&trace->packet, header);
    unsigned event = header >> TRACE_TIME_BITS;
    *ret_is_event = event != TRACE_EVENT_LOCATION;
    if (time_us > trace->packet.end_us) {
        trace->bytes.failed = true;
        return HS_OK;
    }
    if (event == TRACE_EVENT_LOCATION)
        return hs_trace_read_location(trace, &trace->bytes, err);
    if (event == TRACE_EVENT_ALLOC ||
        (event >= TRACE_EVENT_SHORT_FIRST && event <= TRACE_EVENT_SHORT_LAST))
        HS_TRY(read_alloc(trace, event, ret, err));
    else if (event == TRACE_EVENT_PROMOTE || event == TRACE_EVENT_COLLECT)
        read_end(trace, event, ret);
    else
        trace->bytes.failed = true;
    if (trace->bytes.failed)
        return HS_OK;

    struct trace_domain *domain = trace->domain;
    uint64_t since_us = time_us < trace->info.begun_us ? 0 : time_us - trace->info.begun_us;
    domain->last_us = since_us > domain->last_us ? since_us : domain->last_us;
    ret->time_us = domain->last_us;
    ret->domain = domain->number;
    return HS_OK;
}

static void leave_packet(struct hs_trace *trace)
{
    trace->in_packet = false;
    trace->gaps.n_damaged_packets += trace->next_id != trace->packet.id_end;
}

hs_status hs_trace_next(struct hs_trace *trace, struct hs_trace_event *ret, bool *ret_more,
                        struct hs_error *err)
{
    for (;;) {
        if (!trace->in_packet) {
            HS_TRY(next_packet(trace, err));
            if (!trace->in_packet) {
                *ret_more = false;
                return HS_OK;
            }
        }
        if (trace->bytes.at == trace->bytes.end) {
            leave_packet(trace);
            continue;
        }
        size_t at = (size_t)(trace->bytes.at - trace->file);
        bool is_event;
        HS_TRY(read_event(trace, ret, &is_event, err));
        if (trace->bytes.failed) {
            skip_damaged(trace, at);
        } else if (is_event) {
            *ret_more = true;
            return HS_OK;
        }
    }
}
