#include "record_packet.h"

#include <string.h>

#define MAGIC UINT32_C(0xC1FC1FC1)
#define TIME_BITS 25
#define STRING_BYTES 4096U
#define NO_CHECK 0xFFFFU
#define MISS 3U
#define LINE_BITS 20
#define NEW_NAME 31U /* a file or a function that follows as a string */
#define SOURCE_EXTERNAL 2U

enum { EVENT_INFO, EVENT_LOCATION, EVENT_ALLOC, EVENT_PROMOTION, EVENT_COLLECTION };

/* Tells whether there is room: asked before an event is written, at its largest. */
static bool has_room(const struct hs_record_packet *packet, size_t n_bytes)
{
    return packet->n_bytes + n_bytes <= HS_RECORD_PACKET_BYTES;
}

static void put(struct hs_record_packet *packet, const void *bytes, size_t n_bytes)
{
    memcpy(packet->bytes + packet->n_bytes, bytes, n_bytes);
    packet->n_bytes += (uint32_t)n_bytes;
}

static void put_u8(struct hs_record_packet *packet, uint64_t value)
{
    packet->bytes[packet->n_bytes++] = (uint8_t)value;
}

static void put_u16(struct hs_record_packet *packet, uint64_t value)
{
    uint16_t low = (uint16_t)value;

    put(packet, &low, sizeof low);
}

static void put_u64(struct hs_record_packet *packet, uint64_t value)
{
    put(packet, &value, sizeof value);
}

/* The readers of the middle form take it as signed. */
static void put_vint(struct hs_record_packet *packet, uint64_t value)
{
    if (value < 253) {
        put_u8(packet, value);
    } else if (value <= UINT16_MAX) {
        put_u8(packet, 253);
        put_u16(packet, value);
    } else if (value <= INT32_MAX) {
        uint32_t low = (uint32_t)value;

        put_u8(packet, 254);
        put(packet, &low, sizeof low);
    } else {
        put_u8(packet, 255);
        put_u64(packet, value);
    }
}

static void put_string(struct hs_record_packet *packet, const char *text)
{
    put(packet, text, strnlen(text, STRING_BYTES - 1));
    put_u8(packet, 0);
}

static void put_event(struct hs_record_packet *packet, unsigned event, uint64_t now_us)
{
    uint32_t head = (uint32_t)(now_us & ((1U << TIME_BITS) - 1)) | event << TIME_BITS;

    put(packet, &head, sizeof head);
    packet->n_events++;
    if (now_us > packet->end_us)
        packet->end_us = now_us;
}

void hs_record_packet_begin(struct hs_record_packet *packet, uint64_t now_us, uint64_t pid)
{
    packet->begin_us = packet->end_us = now_us;
    packet->pid = pid;
    packet->id_begin = packet->id_next;
    packet->n_events = 0;
    packet->n_bytes = HS_RECORD_HEADER_BYTES;
    packet->n_shared = 0;
    if (packet->codes == NULL)
        return;
    packet->codes->n_last = 0;
    packet->codes->generation++;
}

void hs_record_packet_end(struct hs_record_packet *packet, uint64_t now_us)
{
    uint32_t n_bytes = packet->n_bytes, n_bits = 8 * n_bytes, magic = MAGIC, zero = 0;

    packet->n_bytes = 0;
    put(packet, &magic, sizeof magic);
    put(packet, &n_bits, sizeof n_bits);
    put_u64(packet, packet->begin_us);
    put_u64(packet, now_us > packet->end_us ? now_us : packet->end_us);
    put(packet, &zero, sizeof zero);
    put_u16(packet, 3);
    put_u64(packet, packet->pid);
    put_u16(packet, 0); /* domain */
    put_u16(packet, NO_CHECK);
    put_u16(packet, 0);
    put_u64(packet, 0);
    put_u64(packet, packet->id_begin);
    put_u64(packet, packet->id_next);
    packet->n_bytes = n_bytes;
}

bool hs_record_packet_info(struct hs_record_packet *packet, const struct hs_record_info *info)
{
    if (!has_room(packet, 4 * STRING_BYTES + 32))
        return false;
    put_event(packet, EVENT_INFO, packet->begin_us);
    put(packet, &info->samples_per_word, sizeof info->samples_per_word);
    put_u8(packet, 64);
    put_string(packet, info->executable);
    put_string(packet, info->host);
    put_string(packet, info->parameters);
    put_u64(packet, packet->pid);
    put_string(packet, info->context);
    return true;
}

/* Writes an offset without stdio, in the middle of somebody's allocation. */
static void put_offset(struct hs_record_packet *packet, uint64_t offset)
{
    int n_digits = 1;

    while (n_digits < 16 && offset >> 4 * n_digits != 0)
        n_digits++;
    put(packet, "+0x", 3);
    while (n_digits-- > 0)
        put_u8(packet, (uint8_t) "0123456789abcdef"[offset >> 4 * n_digits & 15]);
    put_u8(packet, 0);
}

bool hs_record_packet_place(struct hs_record_packet *packet, const struct hs_record_place *place,
                            bool is_same_file)
{
    uint64_t record = (uint64_t)NEW_NAME << 43 | (is_same_file ? 0 : (uint64_t)NEW_NAME) << 38 |
                      (place->line & ((1U << LINE_BITS) - 1));

    if (!has_room(packet, 2 * STRING_BYTES + 64))
        return false;
    put_event(packet, EVENT_LOCATION, packet->begin_us);
    put_u64(packet, place->code);
    put_u8(packet, 1);
    put(packet, &record, 6);
    if (!is_same_file)
        put_string(packet, place->file);
    if (place->function != NULL)
        put_string(packet, place->function);
    else
        put_offset(packet, place->offset);
    return true;
}

/* The slot of a code is where its hash says; another code there is driven out. */
static void put_code(struct hs_record_packet *packet, uint64_t code)
{
    uint64_t at = code * UINT64_C(0x9e3779b97f4a7c15) >> 52;
    struct hs_record_codes *codes = packet->codes;

    _Static_assert(HS_RECORD_CODES == 1U << 12, "the hash has 12 bits");
    if (codes->slots[at].generation == codes->generation && codes->slots[at].code == code) {
        put_u16(packet, at << 2);
        return;
    }
    codes->slots[at].generation = codes->generation;
    codes->slots[at].code = code;
    put_u16(packet, at << 2 | MISS);
    put_u64(packet, code);
}

static unsigned source_of(const struct hs_record_slot *sample)
{
    return hs_record_is_key(sample->address) ? sample->address & 3 : SOURCE_EXTERNAL;
}

bool hs_record_packet_alloc(struct hs_record_packet *packet, const struct hs_record_slot *sample,
                            const uint64_t *frames, unsigned n_frames, uint64_t now_us)
{
    struct hs_record_codes *codes = packet->codes;
    unsigned n_common = 0, limit = n_frames < codes->n_last ? n_frames : codes->n_last;

    if (!has_room(packet, 40 + 10 * (size_t)n_frames))
        return false;
    while (n_common < limit && codes->last[n_common] == frames[n_frames - 1 - n_common])
        n_common++;
    put_event(packet, EVENT_ALLOC, now_us);
    put_vint(packet, sample->bytes == 0 ? 1 : (sample->bytes - 1) / 8 + 1);
    put_vint(packet, sample->n_samples);
    put_u8(packet, source_of(sample));
    put_vint(packet, n_common);
    put_u16(packet, n_frames - n_common);
    for (unsigned i = n_common; i < n_frames; i++) {
        codes->last[i] = frames[n_frames - 1 - i];
        put_code(packet, codes->last[i]);
    }
    codes->n_last = n_frames;
    packet->id_next++;
    return true;
}

static bool put_about(struct hs_record_packet *packet, unsigned event, uint64_t id, uint64_t now_us)
{
    if (!has_room(packet, 16))
        return false;
    put_event(packet, event, now_us);
    put_vint(packet, packet->id_next - 1 - id);
    return true;
}

bool hs_record_packet_free(struct hs_record_packet *packet, uint64_t id, uint64_t now_us)
{
    return put_about(packet, EVENT_COLLECTION, id, now_us);
}

bool hs_record_packet_promote(struct hs_record_packet *packet, uint64_t id, uint64_t now_us)
{
    return put_about(packet, EVENT_PROMOTION, id, now_us);
}
