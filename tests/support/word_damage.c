/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
#include "word_damage.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "snapshot/reader.h"

enum { OPERATION_BYTES = 6 };

void damage_add(struct damage_areas *areas, hs_addr at, uint64_t *words, size_t n)
{
    if (n == 0)
        return;
    assert(areas->n < DAMAGE_AREAS);
    areas->items[areas->n++] = (struct damage_area){at, words, n};
}

static uint64_t hostile_word(const struct damage_areas *areas, unsigned kind, unsigned argument,
                             uint64_t old, hs_addr at)
{
    const struct damage_area *other = &areas->items[argument % areas->n];
    switch (kind % 10) {
    case 0:
        return argument;
    case 1:
        return UINT64_MAX - argument;
    case 2:
        return UINT64_C(1) << argument % 64;
    case 3:
        return old ^ UINT64_C(1) << argument % 64;
    case 4:
        return old + 8 * (uint64_t)(int64_t)(int16_t)argument;
    case 5:
        return at + 8 * (uint64_t)(int64_t)(int16_t)argument;
    case 6:
        return other->at + 8 * (uint64_t)(argument / areas->n % other->n);
    case 7:
        return other->words[argument / areas->n % other->n];
    case 8: /* a header */
        return (uint64_t)(argument >> 6) << 10 | (uint64_t)(argument & 3) << 8 |
               (240 + (argument >> 2) % 16);
    default:
        return (uint64_t)argument << argument % 48;
    }
}

void damage_apply(const struct damage_areas *areas, const uint8_t *bytes, size_t n_bytes)
{
    for (size_t i = 0; (i + 1) * OPERATION_BYTES <= n_bytes && i < DAMAGE_OPERATIONS; i++) {
        const uint8_t *op = bytes + i * OPERATION_BYTES;
        const struct damage_area *area = &areas->items[op[5] % areas->n];
        size_t place = (op[0] | (size_t)op[1] << 8) % area->n;
        area->words[place] = hostile_word(areas, op[2], op[3] | (unsigned)op[4] << 8,
                                          area->words[place], area->at + 8 * place);
    }
}

void damage_check_spans(const struct hs_spans *spans)
{
    for (size_t i = 0; i < spans->n; i++) {
        assert(spans->spans[i].begin < spans->spans[i].end);
        assert(i == 0 || spans->spans[i - 1].end <= spans->spans[i].begin);
    }
}

void damage_check_ranges(const struct hs_range_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        assert(set->ranges[i].begin < set->ranges[i].end);
        assert(i == 0 || set->ranges[i - 1].end < set->ranges[i].begin);
    }
}

void damage_check_blocks(const struct hs_block_map *map)
{
    uint64_t n_words = 0;
    damage_check_spans(&map->spans);
    for (size_t i = 0; i < map->spans.n; i++) {
        const struct hs_span *span = &map->spans.spans[i];
        if (span->area == HS_AREA_HEAP || span->area == HS_AREA_YOUNG)
            n_words += (span->end - span->begin) / HS_WORD;
    }
    assert(map->n_live_words + map->n_free_words + map->n_fragment_words + map->n_damaged_words +
               map->n_unborn_words ==
           n_words);
}

void damage_check_snapshot(int fd)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (hs_snap_open(path, 0, &snap, &err) != HS_OK || hs_snap_check(snap, NULL, &err) != HS_OK) {
        fprintf(stderr, "%s\n", err.message);
        abort();
    }
    hs_snap_close(snap);
}
