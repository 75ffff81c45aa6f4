#include "translate.h"

#include <limits.h>
#include <string.h>

#include "base/table.h"

enum { MAX_PROCESSES = 256, FIRST_SLOTS = 1024, MAX_SLOTS = 1 << 23 };

void hs_translator_fini(struct hs_translator *t)
{
    for (size_t i = 0; i < t->n_known; i++)
        hs_free(t->known[i].hashes);
    hs_free(t->known);
    hs_free(t->fresh);
    hs_buffer_fini(&t->locations.buffer);
    *t = (struct hs_translator){0};
}

/* ---- what was written ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hs_hash_pair(hash, hs_hash_bytes(text, strlen(text)));
}

/* Hashes a place with the module in it: another one may be loaded to where one was. */
static uint64_t place_hash(const struct hs_packet_event *event)
{
    uint64_t hash = hash_text(hash_text(event->code, event->file), event->name);
    return hash != 0 ? hash : 1;
}

/* Returns the slot of a hash, or the one where it would be. */
static uint64_t *find_slot(const struct hs_known_places *known, uint64_t hash)
{
    size_t at = (size_t)(hash >> 16) & (known->n_slots - 1);
    while (known->hashes[at] != 0 && known->hashes[at] != hash)
        at = (at + 1) & (known->n_slots - 1);
    return &known->hashes[at];
}

static hs_status grow_slots(struct hs_known_places *known, struct hs_error *err)
{
    struct hs_known_places larger = *known;
    larger.n_slots = known->n_slots == 0 ? FIRST_SLOTS : 2 * known->n_slots;
    HS_TRY(HS_ALLOC(&larger.hashes, larger.n_slots, err));
    for (size_t i = 0; i < known->n_slots; i++)
        if (known->hashes[i] != 0)
            *find_slot(&larger, known->hashes[i]) = known->hashes[i];
    hs_free(known->hashes);
    *known = larger;
    return HS_OK;
}

/* Adds a hash; *ret_is_new is false when it is known. With too many of them all are forgotten, and
 * come again. */
static hs_status add_hash(struct hs_known_places *known, uint64_t hash, bool *ret_is_new,
                          struct hs_error *err)
{
    if (4 * (known->n_hashes + 1) > 3 * known->n_slots) {
        if (known->n_slots < MAX_SLOTS) {
            HS_TRY(grow_slots(known, err));
        } else {
            memset(known->hashes, 0, known->n_slots * sizeof *known->hashes);
            known->n_hashes = 0;
        }
    }
    uint64_t *slot = find_slot(known, hash);
    *ret_is_new = *slot == 0;
    known->n_hashes += *slot == 0;
    *slot = hash;
    return HS_OK;
}

/* Removes a hash. Those that follow in the run move up, so that no search ends early. */
static void remove_hash(struct hs_known_places *known, uint64_t hash)
{
    uint64_t *slot = known->n_slots == 0 ? NULL : find_slot(known, hash);
    if (slot == NULL || *slot == 0)
        return;
    *slot = 0;
    known->n_hashes--;
    for (size_t at = (size_t)(slot - known->hashes);;) {
        at = (at + 1) & (known->n_slots - 1);
        uint64_t moved = known->hashes[at];
        if (moved == 0)
            return;
        known->hashes[at] = 0;
        *find_slot(known, moved) = moved;
    }
}

static struct hs_known_places *known_of(struct hs_translator *t, uint64_t pid)
{
    for (size_t i = 0; i < t->n_known; i++)
        if (t->known[i].pid == pid)
            return &t->known[i];
    return NULL;
}

/* A process that begins (anew, as another program) knows nothing. */
static hs_status begin_process(struct hs_translator *t, const struct hs_packet *packet,
                               struct hs_known_places **ret, struct hs_error *err)
{
    struct hs_known_places *known = known_of(t, packet->pid);
    if (known == NULL && t->n_known < MAX_PROCESSES) {
        HS_TRY(HS_GROW(&t->known, &t->known_capacity, t->n_known + 1, err));
        known = &t->known[t->n_known++];
    } else if (known == NULL) {
        known = &t->known[packet->pid % MAX_PROCESSES];
    }
    hs_free(known->hashes);
    *known = (struct hs_known_places){.pid = packet->pid, .begun_us = packet->begin_us};
    *ret = known;
    return HS_OK;
}

void hs_translate_undo(struct hs_translator *t, uint64_t pid)
{
    struct hs_known_places *known = known_of(t, pid);
    for (size_t i = 0; known != NULL && i < t->n_fresh; i++)
        remove_hash(known, t->fresh[i]);
    t->n_fresh = 0;
}

/* ---- translating ---- */

static hs_status put_place(struct hs_translator *t, const struct hs_known_places *known,
                           const struct hs_packet *packet, const struct hs_packet_event *event,
                           struct hs_error *err)
{
    struct hs_place_name as_is = {event->name, event->file, event->line};
    const struct hs_place_name *names = &as_is;
    size_t n_names = 1;
    uint64_t vaddr, still;
    if (hs_namer_address(event->name, &vaddr)) {
        pid_t pid = t->is_live && known->pid <= INT_MAX ? (pid_t)known->pid : 0;
        hs_namer_process(t->namer, pid, known->begun_us);
        HS_TRY(hs_namer_find(t->namer, event->file, vaddr, &names, &n_names, err));
        t->n_unnamed += hs_namer_address(names[0].function, &still);
    }
    t->n_places++;
    return hs_location_put(&t->locations, packet, event->code, names, n_names, err);
}

static hs_status put_location(struct hs_translator *t, struct hs_known_places *known,
                              const struct hs_packet *packet, const struct hs_packet_event *event,
                              struct hs_error *err)
{
    uint64_t hash = place_hash(event);
    bool is_new;
    HS_TRY(add_hash(known, hash, &is_new, err));
    if (!is_new)
        return HS_OK;
    HS_TRY(HS_GROW(&t->fresh, &t->fresh_capacity, t->n_fresh + 1, err));
    t->fresh[t->n_fresh++] = hash;
    return put_place(t, known, packet, event, err);
}

hs_status hs_translate(struct hs_translator *t, const struct hs_packet *packet, const uint8_t **ret,
                       size_t *ret_n_bytes, bool *ret_is_info, struct hs_error *err)
{
    struct hs_packet_walk walk = {.packet = packet};
    struct hs_known_places *known = known_of(t, packet->pid);
    struct hs_packet_event event;
    bool is_info = false;

    HS_TRY(hs_packet_check(packet, err));
    t->n_fresh = 0;
    t->locations.buffer.n_bytes = t->locations.begin = 0;
    for (bool more = true;;) {
        HS_TRY(hs_packet_next(&walk, &event, &more, err));
        if (!more)
            break;
        is_info |= event.kind == HS_PACKET_INFO;
        if (known == NULL || event.kind == HS_PACKET_INFO)
            HS_TRY(begin_process(t, packet, &known, err));
        if (event.kind == HS_PACKET_LOCATION)
            HS_TRY(put_location(t, known, packet, &event, err));
    }
    hs_location_close(&t->locations);
    HS_TRY(hs_packet_strip(packet, &t->locations.buffer, err));
    t->locations.begin = t->locations.buffer.n_bytes;
    *ret = t->locations.buffer.bytes;
    *ret_n_bytes = t->locations.buffer.n_bytes;
    *ret_is_info = is_info;
    return HS_OK;
}
