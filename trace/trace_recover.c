#include "trace_recover.h"

#include "base/alloc.h"

/* The costs of a way, in bits or so: how unlikely it is. */
#define COST_CLEAR 8     /* a bit is cleared, and the columns look sound */
#define COST_CLEAR_ODD 2 /* and the columns are those of no expression */
#define COST_NAMING 7    /* Env.f in typecore.ml */
#define COST_TWICE 14    /* the writer would have said where in the list it is */
#define COST_FAR 3       /* far from where that function was */
#define COST_OTHER 12    /* the code was something else before */
#define COST_OPPOSED 8   /* its neighbours are both of one other file */
#define COST_DOUBTED 2   /* of two others */
#define FAR_LINES 150
#define ODD_CHARS 200
#define MAX_COST_OVER_BEST 40
#define DOUBT_COST 5 /* ways that are so near to the best make what they see doubtful */
#define FAULT_BITS 3U
#define NO_NODE UINT32_MAX

struct trace_way_node {
    uint32_t parent;
    hs_str file, function;
    uint8_t clear;
};

struct trace_way {
    struct trace_names names;
    const uint8_t *at;
    uint64_t code;
    uint32_t n_left, n; /* records of the location that it is in */
    uint32_t cost, node;
};

void hs_trace_recovery_fini(struct trace_recovery *recovery)
{
    hs_pages_free(recovery->now, TRACE_N_WAYS, sizeof *recovery->now);
    hs_pages_free(recovery->next, TRACE_N_WAYS, sizeof *recovery->next);
    hs_free(recovery->nodes);
    hs_trace_places_fini(&recovery->places);
    *recovery = (struct trace_recovery){0};
}

void hs_trace_ways_fini(struct trace_ways *ways)
{
    hs_free(ways->ways);
    *ways = (struct trace_ways){0};
}

/* ---- one step ---- */

enum step_state { STEP_RECORD, STEP_END, STEP_OTHER, STEP_DEAD };

static enum step_state judge_header(const struct trace_packet *packet, uint32_t header)
{
    unsigned event = header >> TRACE_TIME_BITS;
    bool is_other = (event >= TRACE_EVENT_ALLOC && event <= TRACE_EVENT_COLLECT) ||
                    (event >= TRACE_EVENT_SHORT_FIRST && event <= TRACE_EVENT_SHORT_LAST);
    uint64_t time_us = hs_trace_packet_time(packet, header);
    if (event == TRACE_EVENT_LOCATION)
        return time_us == packet->begin_us ? STEP_RECORD : STEP_DEAD;
    return is_other && time_us <= packet->end_us ? STEP_OTHER : STEP_DEAD;
}

/* Goes to the next record of a packet of locations. */
static enum step_state to_record(struct trace_way *way, const struct trace_packet *packet,
                                 const uint8_t *end)
{
    struct trace_bytes bytes = {way->at, end, false};
    while (way->n_left == 0) {
        if (bytes.at == end)
            return STEP_END;
        uint32_t header = trace_bytes_u32(&bytes);
        enum step_state state = bytes.failed ? STEP_DEAD : judge_header(packet, header);
        if (state != STEP_RECORD)
            return state;
        way->code = trace_bytes_code(&bytes);
        way->n = way->n_left = trace_bytes_u8(&bytes);
        way->at = bytes.at;
    }
    return bytes.failed || end - way->at < 6 ? STEP_DEAD : STEP_RECORD;
}

static unsigned peek_file_code(const struct trace_way *way)
{
    return (unsigned)(way->at[4] >> 6 | (way->at[5] & 7) << 2);
}

/* The costs of the ways of a list, side by side: a way is 8 KB, and to look through all of them for
 * the dearest would be the dearest step. */
struct way_costs {
    uint32_t costs[TRACE_N_WAYS];
    size_t n, max;
    size_t dearest; /* where, once the list is full */
};

struct search {
    struct trace_recovery *recovery;
    const struct trace_packet *packet;
    const uint8_t *end;
    struct trace_ways *kept;
    struct way_costs of_next, of_kept;
    size_t n_now;
};

static bool differs(const struct trace_sites *sites, const struct trace_way *way,
                    const struct trace_record *record)
{
    const struct trace_site *site = hs_trace_sites_find(sites, way->code);
    if (site == NULL || site->n != way->n)
        return false;
    const struct hs_trace_location *known = &sites->locations[site->first + way->n - way->n_left];
    return !known->is_damaged && known->line == record->line &&
           (known->file != record->file || known->function != record->function);
}

static uint32_t cost_of(const struct search *s, const struct trace_way *way,
                        const struct trace_record *record, unsigned clear)
{
    static const uint32_t costs_of_neighbours[] = {
        [TRACE_NEIGHBOURS_AGREE] = 0,
        [TRACE_NEIGHBOURS_DOUBT] = COST_DOUBTED,
        [TRACE_NEIGHBOURS_OPPOSE] = COST_OPPOSED,
    };
    const struct trace_sites *sites = s->recovery->sites;
    uint32_t cost = 0;
    int width = record->char_end - record->char_begin;
    if (clear != 0)
        cost += width < 0 || width > ODD_CHARS ? COST_CLEAR_ODD : COST_CLEAR;
    if (record->is_twice)
        cost += COST_TWICE;
    if (record->is_new_function && !hs_trace_is_named_after(sites, record->function, record->file))
        cost += COST_NAMING;
    if (record->function_line != 0 && (record->line > record->function_line + FAR_LINES ||
                                       record->function_line > record->line + FAR_LINES))
        cost += COST_FAR;
    if (differs(sites, way, record))
        cost += COST_OTHER;
    if (way->n_left == way->n) /* what is inlined comes from anywhere */
        cost += costs_of_neighbours[hs_trace_places_judge(&s->recovery->places, way->code,
                                                          record->file)];
    return cost;
}

/* Reads the way's next record; *ret is false where it ends. */
static hs_status step(const struct search *s, struct trace_way *way, unsigned clear,
                      struct trace_record *record, bool *ret, struct hs_error *err)
{
    struct trace_bytes bytes = {way->at, s->end, false};
    HS_TRY(hs_trace_read_record(s->recovery->sites, s->packet->version, &way->names, &bytes, clear,
                                record, err));
    *ret = !bytes.failed && !record->is_text_odd && record->file != 0 && record->function != 0;
    way->at = bytes.at;
    return HS_OK;
}

/* ---- is it needed? ---- */

/* A new function that is not named after its file, but after another that the fault may hide. */
static bool is_named_after_other(const struct trace_sites *sites, const struct trace_names *before,
                                 const struct trace_record *record)
{
    if (!record->is_new_function || hs_trace_is_named_after(sites, record->function, record->file))
        return false;
    for (unsigned clear = 1; clear <= FAULT_BITS; clear++) {
        const struct trace_file *file =
            (record->file_code & clear) == clear && record->file_code != TRACE_NEW_NAME
                ? hs_trace_names_peek(before, record->file_code & ~clear)
                : NULL;
        if (file != NULL && hs_trace_is_named_after(sites, record->function, file->name))
            return true;
    }
    return false;
}

hs_status hs_trace_judge(struct trace_recovery *recovery, const struct trace_names *names,
                         const struct trace_packet *packet, struct trace_bytes bytes,
                         enum trace_verdict *ret, struct hs_error *err)
{
    struct search s = {.recovery = recovery, .packet = packet, .end = bytes.end};
    struct trace_way way = {.names = *names, .at = bytes.at};
    struct trace_names before;
    enum step_state state;
    bool has_places = false;
    *ret = TRACE_SUSPECT;
    while ((state = to_record(&way, packet, bytes.end)) == STEP_RECORD) {
        struct trace_record record;
        bool goes_on;
        before = way.names;
        HS_TRY(step(&s, &way, 0, &record, &goes_on, err));
        if (!goes_on || (record.is_twice && has_places) ||
            is_named_after_other(recovery->sites, &before, &record))
            return HS_OK;
        has_places |= record.file_code != TRACE_NEW_NAME;
        way.n_left--;
    }
    *ret = state == STEP_END ? TRACE_SOUND : state == STEP_OTHER ? TRACE_MIXED : TRACE_SUSPECT;
    return HS_OK;
}

/* ---- all ways ---- */

/* The earliest of the dearest. */
static size_t dearest_of(const struct way_costs *list)
{
    size_t dearest = 0;
    for (size_t i = 1; i < list->n; i++) {
        if (list->costs[i] > list->costs[dearest])
            dearest = i;
    }
    return dearest;
}

static bool has_place(const struct way_costs *list, uint32_t cost)
{
    return list->n < list->max || list->costs[list->dearest] > cost;
}

/* Returns the slot of the list for a way of that cost, for which there is a place. */
static size_t take_place(struct way_costs *list, uint32_t cost)
{
    size_t at = list->n < list->max ? list->n++ : list->dearest;
    list->costs[at] = cost;
    if (list->n == list->max)
        list->dearest = dearest_of(list);
    return at;
}

static hs_status add_node(struct trace_recovery *recovery, struct trace_way *way,
                          const struct trace_record *record, unsigned clear, struct hs_error *err)
{
    HS_TRY(HS_GROW(&recovery->nodes, &recovery->nodes_capacity, recovery->n_nodes + 1, err));
    recovery->nodes[recovery->n_nodes] = (struct trace_way_node){
        .parent = way->node,
        .file = record->file,
        .function = record->function,
        .clear = (uint8_t)clear,
    };
    way->node = (uint32_t)recovery->n_nodes++;
    return HS_OK;
}

/* The way's next record, read with those bits cleared, as a way of its own. One that is too dear by
 * what it has paid already is not even read. */
static hs_status try_way(struct search *s, const struct trace_way *from, unsigned clear,
                         struct hs_error *err)
{
    struct trace_way way;
    struct trace_record record;
    bool goes_on;
    s->recovery->n_steps++;
    if (!has_place(&s->of_next, from->cost + (clear != 0 ? COST_CLEAR_ODD : 0)))
        return HS_OK;
    way = *from;
    HS_TRY(step(s, &way, clear, &record, &goes_on, err));
    if (!goes_on)
        return HS_OK;
    way.cost += cost_of(s, &way, &record, clear);
    way.n_left--;
    if (!has_place(&s->of_next, way.cost))
        return HS_OK;
    HS_TRY(add_node(s->recovery, &way, &record, clear, err));
    s->recovery->next[take_place(&s->of_next, way.cost)] = way;
    return HS_OK;
}

/* The way with every reading of its next record; one that is at the packet's end is kept. */
static hs_status go_on(struct search *s, struct trace_way *way, struct hs_error *err)
{
    enum step_state state = to_record(way, s->packet, s->end);
    if (state == STEP_END && has_place(&s->of_kept, way->cost))
        s->kept->ways[take_place(&s->of_kept, way->cost)] = *way;
    if (state != STEP_RECORD)
        return HS_OK;
    unsigned bits = peek_file_code(way) & FAULT_BITS;
    for (unsigned clear = 0; clear <= bits; clear++) {
        if ((clear & ~bits) == 0)
            HS_TRY(try_way(s, way, clear, err));
    }
    return HS_OK;
}

static uint32_t least_cost(const struct trace_way *ways, size_t n)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < n; i++)
        least = ways[i].cost < least ? ways[i].cost : least;
    return least;
}

static hs_status search_begin(struct search *s, const struct trace_names *names,
                              const uint8_t *begin, struct hs_error *err)
{
    struct trace_recovery *recovery = s->recovery;
    if (recovery->now == NULL)
        HS_TRY(HS_PAGES_ALLOC(&recovery->now, TRACE_N_WAYS, err));
    if (recovery->next == NULL)
        HS_TRY(HS_PAGES_ALLOC(&recovery->next, TRACE_N_WAYS, err));
    if (s->kept->ways == NULL)
        HS_TRY(HS_ALLOC(&s->kept->ways, TRACE_N_KEPT_WAYS, err));
    if (s->kept->n == 0)
        s->kept->ways[s->kept->n++] = (struct trace_way){.names = *names};
    uint32_t least = least_cost(s->kept->ways, s->kept->n);
    for (size_t i = 0; i < s->kept->n; i++) {
        struct trace_way *way = &recovery->now[i];
        *way = s->kept->ways[i];
        way->at = begin;
        way->n_left = 0;
        way->cost -= least;
        way->node = NO_NODE;
    }
    s->n_now = s->kept->n;
    s->of_kept = (struct way_costs){.max = TRACE_N_KEPT_WAYS};
    recovery->n_nodes = 0;
    return HS_OK;
}

static hs_status search_all(struct search *s, struct hs_error *err)
{
    struct trace_recovery *recovery = s->recovery;
    while (s->n_now != 0 && recovery->n_steps < TRACE_MAX_STEPS &&
           recovery->n_nodes < TRACE_MAX_WAY_NODES) {
        uint32_t limit = least_cost(recovery->now, s->n_now) + MAX_COST_OVER_BEST;
        s->of_next = (struct way_costs){.max = TRACE_N_WAYS};
        for (size_t i = 0; i < s->n_now; i++) {
            if (recovery->now[i].cost <= limit)
                HS_TRY(go_on(s, &recovery->now[i], err));
        }
        struct trace_way *next = recovery->next;
        recovery->next = recovery->now;
        recovery->now = next;
        s->n_now = s->of_next.n;
    }
    s->kept->n = s->of_kept.n;
    return HS_OK;
}

/* ---- what came of it ---- */

static size_t way_length(const struct trace_recovery *recovery, const struct trace_way *way)
{
    size_t n = 0;
    for (uint32_t node = way->node; node != NO_NODE; node = recovery->nodes[node].parent)
        n++;
    return n;
}

/* Marks the places where another way sees something else than the best. */
static void doubt(const struct trace_recovery *recovery, const struct trace_way *best,
                  const struct trace_way *other, struct trace_choices *ret)
{
    uint32_t left = best->node, right = other->node;
    if (way_length(recovery, other) != ret->n)
        return;
    for (size_t i = ret->n; i-- > 0 && left != right;) {
        const struct trace_way_node *a = &recovery->nodes[left], *b = &recovery->nodes[right];
        ret->choices[i].is_doubtful |= a->file != b->file || a->function != b->function;
        left = a->parent;
        right = b->parent;
    }
}

static hs_status choose(const struct search *s, struct trace_choices *ret, struct hs_error *err)
{
    const struct trace_recovery *recovery = s->recovery;
    const struct trace_way *ways = s->kept->ways, *best = &ways[0];
    for (size_t i = 1; i < s->kept->n; i++)
        best = ways[i].cost < best->cost ? &ways[i] : best;
    size_t n = way_length(recovery, best);
    HS_TRY(HS_GROW(&ret->choices, &ret->capacity, n, err));
    ret->n = n;
    uint32_t node = best->node;
    for (size_t i = n; i-- > 0; node = recovery->nodes[node].parent)
        ret->choices[i] = (struct trace_choice){.clear = recovery->nodes[node].clear};
    for (size_t i = 0; i < s->kept->n; i++) {
        if (ways[i].cost <= best->cost + DOUBT_COST)
            doubt(recovery, best, &ways[i], ret);
    }
    return HS_OK;
}

hs_status hs_trace_recover(struct trace_recovery *recovery, const struct trace_names *names,
                           struct trace_ways *ways, const struct trace_packet *packet,
                           struct trace_bytes bytes, struct trace_choices *ret,
                           struct hs_error *err)
{
    struct search s = {.recovery = recovery, .packet = packet, .end = bytes.end, .kept = ways};
    ret->n = 0;
    HS_TRY(search_begin(&s, names, bytes.at, err));
    HS_TRY(search_all(&s, err));
    if (s.n_now != 0) /* a bound was met */
        ways->n = 0;
    return ways->n == 0 ? HS_OK : choose(&s, ret, err);
}
