/* Ephemerons and weak arrays (weak.c): abstract blocks of the major heap in one list.
 *
 *   field 0 link | 1 data | 2.. keys           caml_ephe_none marks an empty slot
 *
 * The data lives when the ephemeron does and no key is dead (major_gc.c mark_ephe_aux). Each
 * ephemeron waits for one dead key at a time, in a hash table from keys to those who wait; when
 * that key is reached it looks for the next. So the fixed point costs the sum of the keys, however
 * they chain. */
#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/load.h"
#include "base/table.h"
#include "marker.h"
#include "v5/ocaml5.h"

enum { FORWARDS_MAX = 64 };

static int ephe_compare(const void *a, const void *b)
{
    const struct hs_ocaml_ephemeron *x = a, *y = b;
    return x->block < y->block ? -1 : x->block > y->block;
}

static bool ephe_is_one(const struct hs_block_map *map, hs_addr address, struct hs_block *ret)
{
    if (!hs_map_resolve(map, address, ret) || ret->address != address ||
        ret->span->area != HS_AREA_HEAP)
        return false;
    uint64_t header = hs_block_head(ret);
    return HS_HEADER_TAG(header) == HS_TAG_ABSTRACT &&
           HS_HEADER_WOSIZE(header) >= HS_EPHE_FIRST_KEY;
}

/* Adds the ephemerons of one list; *ret_is_damaged is set when it does not end well. */
static hs_status ephe_add_list(const struct hs_block_map *map, uint64_t at,
                               struct hs_ocaml_marks *marks, bool *ret_is_damaged,
                               struct hs_error *err)
{
    size_t n = 0;
    hs_addr turtle = 0; /* Brent's: a mark that is moved up at powers of two */

    while (at != 0) {
        struct hs_block block;
        if (at == turtle || !ephe_is_one(map, at, &block)) {
            *ret_is_damaged = true;
            break;
        }
        if ((n & (n - 1)) == 0)
            turtle = at;
        HS_TRY(
            HS_GROW(&marks->ephemerons, &marks->ephemerons_capacity, marks->n_ephemerons + 1, err));
        marks->ephemerons[marks->n_ephemerons++] = (struct hs_ocaml_ephemeron){.block = at};
        n++;
        at = hs_load_u64(hs_map_bytes(block.span, at));
    }
    return HS_OK;
}

/* Lists the ephemerons of OCaml 5: by struct caml_ephe_info {todo, live, ...} of each domain
 * (weak.h), and orph_structs.ephe_list_live. */
static hs_status ephe_list5(const struct hs_ocaml *rt, const struct hs_block_map *map,
                            struct hs_ocaml_marks *marks, bool *ret_is_damaged,
                            struct hs_error *err)
{
    const struct hs_ocaml5 *five = rt->five;
    uint64_t list = 0;

    for (size_t i = 0; i < five->n_domains; i++) {
        hs_addr info = hs_ocaml5_word(&five->domains[i], five->layout.ephe_info);
        for (unsigned k = 0; k < 2; k++) {
            if (hs_image_u64(rt->image, info + k * HS_WORD, &list))
                HS_TRY(ephe_add_list(map, list, marks, ret_is_damaged, err));
            else
                *ret_is_damaged = true;
        }
    }
    if (five->orphans == 0 || !hs_image_u64(rt->image, five->orphans, &list))
        *ret_is_damaged = true;
    else
        HS_TRY(ephe_add_list(map, list, marks, ret_is_damaged, err));
    return HS_OK;
}

static hs_status ephe_list4(const struct hs_ocaml *rt, const struct hs_block_map *map,
                            struct hs_ocaml_marks *marks, bool *ret_is_damaged,
                            struct hs_error *err)
{
    struct hs_live_symbol head;
    uint64_t at = 0;

    if (!hs_objects_find(rt->objects, "caml_ephe_list_head", &head) ||
        !hs_image_u64(rt->image, head.address, &at)) {
        *ret_is_damaged = true;
        return HS_OK;
    }
    return ephe_add_list(map, at, marks, ret_is_damaged, err);
}

hs_status hs_ephe_list(const struct hs_ocaml *rt, const struct hs_block_map *map,
                       struct hs_ocaml_marks *marks, bool *ret_is_damaged, struct hs_error *err)
{
    *ret_is_damaged = false;
    HS_TRY(rt->five != NULL ? ephe_list5(rt, map, marks, ret_is_damaged, err)
                            : ephe_list4(rt, map, marks, ret_is_damaged, err));
    size_t n = marks->n_ephemerons;
    if (n > 1)
        qsort(marks->ephemerons, n, sizeof *marks->ephemerons, ephe_compare);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) { /* a cycle repeats blocks before it is seen */
        if (kept == 0 || marks->ephemerons[kept - 1].block != marks->ephemerons[i].block)
            marks->ephemerons[kept++] = marks->ephemerons[i];
    }
    marks->n_ephemerons = kept;
    return HS_OK;
}

/* Returns the target of a forward block, when the collector would look through it; else false. */
static bool ephe_forward(const struct hs_block_map *map, const struct hs_block *block,
                         struct hs_block *ret)
{
    uint64_t value = hs_load_u64(hs_map_bytes(block->span, block->address));

    if (!hs_map_resolve(map, value, ret))
        return false;
    unsigned tag = HS_HEADER_TAG(hs_block_head(ret));
    return tag != HS_TAG_FORWARD && tag != HS_TAG_LAZY && tag != HS_TAG_DOUBLE;
}

bool hs_ephe_key(const struct hs_block_map *map, uint64_t value, struct hs_block *ret)
{
    struct hs_block block;

    if (value == map->rt->ephe_none || !hs_map_resolve(map, value, &block))
        return false;
    for (unsigned i = 0; i < FORWARDS_MAX; i++) {
        struct hs_block next;
        if (HS_HEADER_TAG(hs_block_head(&block)) != HS_TAG_FORWARD ||
            !ephe_forward(map, &block, &next))
            break;
        block = next;
    }
    if (block.span->area != HS_AREA_HEAP && block.span->area != HS_AREA_YOUNG)
        return false; /* static: cannot die */
    *ret = block;
    return true;
}

/* ---- those who wait */

struct ephe_wait {
    uint64_t bit;   /* of the key, plus 1; 0 = free slot */
    uint32_t first; /* ephemeron number plus 1 */
};

struct ephe_waits {
    struct ephe_wait *slots; /* owned */
    size_t n_slots;          /* a power of two, above 2 * ephemerons: slots are reused, not freed */
    size_t n_used;
    uint32_t *next;     /* owned: of each ephemeron, the next that waits for the same key */
    uint64_t *next_key; /* owned: of each ephemeron, the field to look at next */
};

static struct ephe_wait *ephe_slot(const struct ephe_waits *waits, uint64_t bit)
{
    size_t slot = (size_t)hs_hash(bit) & (waits->n_slots - 1);

    while (waits->slots[slot].bit != 0 && waits->slots[slot].bit != bit + 1)
        slot = (slot + 1) & (waits->n_slots - 1);
    return &waits->slots[slot];
}

static hs_status ephe_waits_rehash(struct ephe_waits *waits, size_t n_slots, struct hs_error *err)
{
    struct ephe_waits bigger = *waits;

    HS_TRY(HS_ALLOC(&bigger.slots, n_slots, err));
    bigger.n_slots = n_slots;
    bigger.n_used = 0;
    for (size_t i = 0; i < waits->n_slots; i++) {
        if (waits->slots[i].first == 0)
            continue; /* nobody waits there any more */
        *ephe_slot(&bigger, waits->slots[i].bit - 1) = waits->slots[i];
        bigger.n_used++;
    }
    hs_free(waits->slots);
    *waits = bigger;
    return HS_OK;
}

static hs_status ephe_wait_for(struct hs_marker *m, struct ephe_waits *waits, uint32_t number,
                               const struct hs_block *key, struct hs_error *err)
{
    if (2 * (waits->n_used + 1) > waits->n_slots)
        HS_TRY(ephe_waits_rehash(waits, waits->n_slots * 2, err));
    struct ephe_wait *wait = ephe_slot(waits, key->bit);
    if (wait->bit == 0) {
        wait->bit = key->bit + 1;
        waits->n_used++;
    }
    waits->next[number] = wait->first;
    wait->first = number + 1;
    hs_bitmap_set(&m->watched, key->bit);
    return HS_OK;
}

/* Looks at the keys from where it stopped: waits for the next dead one, or becomes active. */
static hs_status ephe_advance(struct hs_marker *m, struct ephe_waits *waits, uint32_t number,
                              struct hs_error *err)
{
    struct hs_ocaml_ephemeron *ephemeron = &m->marks->ephemerons[number];
    hs_addr address = ephemeron->block;
    struct hs_block self, key;

    bool is_known = hs_map_resolve(m->map, address, &self);
    assert(is_known);
    (void)is_known;
    if (!hs_marker_is_reached(m, &self))
        return ephe_wait_for(m, waits, number, &self, err);
    ephemeron->is_reached = true;
    const uint8_t *fields = hs_map_bytes(self.span, address);
    uint64_t wosize = HS_HEADER_WOSIZE(hs_block_head(&self));
    for (uint64_t i = waits->next_key[number]; i < wosize; i++) {
        waits->next_key[number] = i;
        if (hs_ephe_key(m->map, hs_load_u64(fields + i * HS_WORD), &key) &&
            !hs_marker_is_reached(m, &key))
            return ephe_wait_for(m, waits, number, &key, err);
    }
    ephemeron->is_active = true;
    uint64_t data = hs_load_u64(fields + HS_EPHE_DATA * HS_WORD);
    if (data != m->map->rt->ephe_none)
        hs_marker_value(m, data);
    return HS_OK;
}

/* Wakes those who waited for the keys that were reached since. */
static hs_status ephe_wake(struct hs_marker *m, struct ephe_waits *waits, struct hs_error *err)
{
    while (m->n_woken != 0) {
        struct hs_block key;
        bool is_known = hs_map_resolve(m->map, m->woken[--m->n_woken], &key);
        assert(is_known);
        (void)is_known;
        struct ephe_wait *wait = ephe_slot(waits, key.bit);
        uint32_t number = wait->first;
        wait->first = 0;
        while (number != 0) {
            uint32_t next = waits->next[number - 1];
            HS_TRY(ephe_advance(m, waits, number - 1, err));
            number = next;
        }
        hs_marker_drain(m);
    }
    return HS_OK;
}

static hs_status ephe_run(struct hs_marker *m, struct ephe_waits *waits, struct hs_error *err)
{
    size_t n = m->marks->n_ephemerons;

    HS_TRY(ephe_waits_rehash(waits, 64, err));
    HS_TRY(HS_ALLOC(&waits->next, n, err));
    HS_TRY(HS_ALLOC(&waits->next_key, n, err));
    /* At any time at most one key per ephemeron is watched and not yet reached. */
    HS_TRY(HS_ALLOC(&m->woken, n, err));
    m->woken_capacity = n;
    HS_TRY(hs_bitmap_init(&m->watched, m->map->starts.n_bits, err));
    m->is_watching = true;
    for (uint32_t i = 0; i < n; i++) {
        waits->next_key[i] = HS_EPHE_FIRST_KEY;
        HS_TRY(ephe_advance(m, waits, i, err));
    }
    hs_marker_drain(m);
    HS_TRY(ephe_wake(m, waits, err));
    m->is_watching = false;
    return HS_OK;
}

hs_status hs_ephe_mark(struct hs_marker *m, struct hs_error *err)
{
    struct ephe_waits waits = {0};

    if (m->marks->n_ephemerons == 0)
        return HS_OK;
    if (m->marks->n_ephemerons >= UINT32_MAX)
        return hs_fail(err, HS_LIMIT, "more than 2^32 ephemerons");
    hs_status status = ephe_run(m, &waits, err);
    hs_free(waits.slots);
    hs_free(waits.next);
    hs_free(waits.next_key);
    return status;
}
