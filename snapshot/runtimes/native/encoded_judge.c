/* Judges whether the matches of encoded addresses are more than chance, and notes those that are.
 */
#include <stdio.h>

#include "base/alloc.h"
#include "encoded_search.h"
#include "globals.h"

/* The thresholds of matches. One word of a strong encoding is enough where its matches are more
 * than four times the words that lead beside lost blocks; of the others, and where addresses are
 * short or cut, eight and a tenth of a group are needed. */
enum {
    STRONG_BITS = 36,
    TIMES = 4,
    LEAST = 8,
    LEAST_OF_MASK = 4,
    LEAST_OF_TABLE = 4,
    TENTH = 10,
    CHANCE = 6
};
enum { NOTES_MOST = 48, TEXT_BYTES = 160, PLACE_BYTES = 120 };

/* The matches of one group by one encoding. */
struct judged {
    uint64_t n_found, n_of, n_beside;
    uint64_t n_in_table, n_beside_in_table;
};

static unsigned bits_left(const struct hs_encoded *e, unsigned id)
{
    unsigned length = e->least_length;

    if (id >= ENCODED_RIGHT && id < ENCODED_SWAPPED)
        length -= length < id - ENCODED_RIGHT + 1 ? length : id - ENCODED_RIGHT + 1;
    return length;
}

/* Tells whether a shift cuts off the first bits of an address: of millions of words without any
 * meaning some are one of these by chance. */
static bool is_cut(const struct hs_encoded *e, unsigned id)
{
    return id < ENCODED_RIGHT && id - ENCODED_LEFT >= ENCODED_WHOLE_SHIFTS &&
           e->least_length + id - ENCODED_LEFT + 1 > 64;
}

static bool is_strong(const struct hs_encoded *e, unsigned id)
{
    return !is_cut(e, id) && bits_left(e, id) >= STRONG_BITS &&
           e->n_found[id] > TIMES * e->n_beside[id] &&
           (id < ENCODED_MASKED || e->n_found[id] >= LEAST_OF_MASK);
}

/* ---- what is said */

static void encoding_text(const struct hs_encoded *e, unsigned id, char text[TEXT_BYTES])
{
    if (id < ENCODED_SWAPPED) {
        bool is_left = id < ENCODED_RIGHT;
        unsigned n = (is_left ? id - ENCODED_LEFT : id - ENCODED_RIGHT) + 1;
        (void)snprintf(text, TEXT_BYTES, "addresses shifted %s by %u bit%s",
                       is_left ? "left" : "right", n, n == 1 ? "" : "s");
    } else if (id == ENCODED_SWAPPED) {
        (void)snprintf(text, TEXT_BYTES, "addresses with their bytes in the other order");
    } else if (id == ENCODED_COMPLEMENT) {
        (void)snprintf(text, TEXT_BYTES, "complements or negatives of addresses");
    } else if (id == ENCODED_PACKED) {
        (void)snprintf(text, TEXT_BYTES, "addresses packed in six bytes");
    } else if (id == ENCODED_TAGGED) {
        (void)snprintf(text, TEXT_BYTES, "addresses with tags above them");
    } else if (id == ENCODED_DOUBLE) {
        (void)snprintf(text, TEXT_BYTES, "addresses as fractions of 64 bits");
    } else if (id < ENCODED_BEFORE) {
        (void)snprintf(text, TEXT_BYTES, "exclusive or of addresses and a constant");
    } else if (id == ENCODED_BEFORE) {
        (void)snprintf(text, TEXT_BYTES,
                       "addresses one element, or the block's size, before the block");
    } else {
        unsigned unit = hs_encoded_unit_bytes[(id - ENCODED_OFFSET) % ENCODED_UNITS];
        hs_addr base = e->bases[(id - ENCODED_OFFSET) / ENCODED_UNITS];
        (void)snprintf(text, TEXT_BYTES, "32-bit distances from 0x%llx in units of %u byte%s",
                       (unsigned long long)base, unit, unit == 1 ? "" : "s");
    }
}

static hs_status place_text(const struct hs_encoded *e, hs_addr at, char text[PLACE_BYTES])
{
    struct hs_native *native = e->scan->native;
    const struct hs_object *object = hs_objects_object_at(&native->dump->objects, at);
    struct hs_heap_block block;
    hs_addr end;

    if (object != NULL) {
        struct hs_native_variable v = {0};
        HS_TRY(hs_native_find_variable(native, (size_t)(object - native->dump->objects.objects), at,
                                       &v, &end, e->err));
        hs_native_variable_text(native, &v);
        (void)snprintf(text, PLACE_BYTES, "%.80s+0x%llx", v.text,
                       (unsigned long long)(at - v.begin));
    } else if (hs_heap_map_resolve(e->map, at, &block) != HS_POINTER_NONE &&
               block.span->owner != HS_OWNER_MAPPING) {
        (void)snprintf(text, PLACE_BYTES, "0x%llx, in the block at 0x%llx", (unsigned long long)at,
                       (unsigned long long)block.begin);
    } else {
        (void)snprintf(text, PLACE_BYTES, "0x%llx", (unsigned long long)at);
    }
    return HS_OK;
}

static hs_status note_of(struct hs_encoded *e, const char *encoding, size_t group,
                         const struct judged *judged, hs_addr at, size_t *n_notes)
{
    char place[PLACE_BYTES];

    if (++*n_notes > NOTES_MOST)
        return HS_OK;
    HS_TRY(place_text(e, at, place));
    return hs_findings_note(
        &e->scan->native->dump->findings, false, e->err,
        "%s, such as at %s, lead to %llu of %llu lost " HS_NOTE_OF_SIZE HS_NOTE_NOT_CERTAIN,
        encoding, place, (unsigned long long)judged->n_found, (unsigned long long)judged->n_of,
        (unsigned long long)e->groups[group].n_bytes);
}

static hs_status note(struct hs_encoded *e, unsigned id, size_t group, const struct judged *judged,
                      hs_addr at, size_t *n_notes)
{
    char encoding[TEXT_BYTES];

    encoding_text(e, id, encoding);
    return note_of(e, encoding, group, judged, at, n_notes);
}

hs_status hs_encoded_note(struct hs_encoded *e, size_t group, hs_addr at, uint64_t n_found,
                          const char *encoding)
{
    const struct judged judged = {.n_found = n_found, .n_of = e->groups[group].n_lost};

    return note_of(e, encoding, group, &judged, at, &e->n_notes);
}

/* ---- strong ones */

static uint32_t *count_of(struct hs_encoded *e, unsigned id, size_t group)
{
    return &e->counts[(size_t)id * e->n_groups + group];
}

static hs_status count_one(struct hs_encoded *e, const struct hs_heap_block *block)
{
    uint8_t by = e->found_by[block->rank - e->first];

    if (by != 0)
        ++*count_of(e, by - 1U, hs_encoded_group_of(e, block));
    return HS_OK;
}

hs_status hs_encoded_count(struct hs_encoded *e)
{
    return hs_encoded_each_lost(e, count_one);
}

bool hs_encoded_has_strong(const struct hs_encoded *e)
{
    for (unsigned id = 0; id < ENCODED_N_STRONG; id++)
        if (e->n_found[id] != 0 && is_strong(e, id))
            return true;
    return false;
}

static hs_status judge_strong(struct hs_encoded *e, size_t *n_notes)
{
    for (unsigned id = 0; id < ENCODED_N_STRONG; id++) {
        for (size_t g = 0; e->n_found[id] != 0 && g < e->n_groups; g++) {
            struct hs_encoded_group *group = &e->groups[g];
            struct judged judged = {
                .n_found = *count_of(e, id, g), .n_of = group->n_lost, .n_beside = e->n_beside[id]};
            uint64_t n_of = group->n_heads != 0 ? group->n_heads : group->n_lost;
            bool is_tenth = judged.n_found * TENTH >= n_of;
            bool is_many = judged.n_found >= LEAST && judged.n_found > TIMES * judged.n_beside;
            if (judged.n_found == 0 || (!is_strong(e, id) && !(is_tenth && is_many)))
                continue;
            group->is_possible |= is_tenth;
            HS_TRY(note(e, id, g, &judged, e->first_at[id].at, n_notes));
        }
    }
    return HS_OK;
}

/* ---- the others */

static void count_sampled(const struct hs_encoded *e, unsigned id, struct judged *of_group)
{
    for (size_t i = 0; i < e->n_samples; i++) {
        uint64_t bit = hs_encoded_hit_bit(id, (unsigned)i);
        struct judged *judged = &of_group[e->samples[i].group];
        judged->n_of++;
        judged->n_found += hs_bitmap_get(&e->hits[0], bit);
        judged->n_beside += hs_bitmap_get(&e->hits[1], bit);
        judged->n_in_table += hs_bitmap_get(&e->in_table[0], bit);
        judged->n_beside_in_table += hs_bitmap_get(&e->in_table[1], bit);
    }
}

/* Counts the matches beside blocks of each group, over all distances: divided by the number of
 * these, what one encoding matches by chance. */
static hs_status find_chance(const struct hs_encoded *e, struct judged *of_group, uint64_t *chance)
{
    for (unsigned id = ENCODED_OFFSET; id < ENCODED_OFFSET + e->n_bases * ENCODED_UNITS; id++) {
        for (size_t g = 0; g < e->n_groups; g++)
            of_group[g] = (struct judged){0};
        count_sampled(e, id, of_group);
        for (size_t g = 0; g < e->n_groups; g++)
            chance[g] += of_group[g].n_beside;
    }
    return HS_OK;
}

/* Tells whether matches are more than chance. Of numbers that a program has many of all may be met
 * by chance, but not in tables in which all lead to blocks. */
static bool is_believed(const struct judged *judged, uint64_t chance, size_t n_ids)
{
    if (judged->n_in_table >= LEAST_OF_TABLE && judged->n_in_table * TENTH >= judged->n_of &&
        judged->n_in_table >= TIMES * (judged->n_beside_in_table + 1))
        return true;
    return judged->n_found >= LEAST && judged->n_found * TENTH >= judged->n_of &&
           judged->n_found >= TIMES * (judged->n_beside + 1) &&
           (judged->n_found - TIMES) * n_ids >= CHANCE * chance;
}

static hs_status judge_sampled(struct hs_encoded *e, size_t *n_notes)
{
    hs_auto_free struct judged *of_group = NULL;
    hs_auto_free uint64_t *chance = NULL;
    const size_t n_ids = e->n_bases * ENCODED_UNITS;

    HS_TRY(HS_ALLOC(&of_group, e->n_groups, e->err));
    HS_TRY(HS_ALLOC(&chance, e->n_groups, e->err));
    HS_TRY(find_chance(e, of_group, chance));
    for (unsigned id = ENCODED_BEFORE; id < ENCODED_OFFSET + n_ids; id++) {
        if (e->first_at[id].at == 0)
            continue;
        for (size_t g = 0; g < e->n_groups; g++)
            of_group[g] = (struct judged){0};
        count_sampled(e, id, of_group);
        for (size_t g = 0; g < e->n_groups; g++) {
            if (e->groups[g].is_possible ||
                !is_believed(&of_group[g], id == ENCODED_BEFORE ? 0 : chance[g], n_ids))
                continue;
            e->groups[g].is_possible = true;
            HS_TRY(note(e, id, g, &of_group[g], e->first_at[id].at, n_notes));
        }
    }
    return HS_OK;
}

/* Judges blocks of any sizes whose addresses a table counted from 1 has in a row. */
static hs_status judge_rows(struct hs_encoded *e, size_t *n_notes)
{
    for (size_t i = 0; i < e->n_samples; i++) {
        struct hs_encoded_group *group = &e->groups[e->samples[i].group];
        const struct judged judged = {.n_found = 1, .n_of = group->n_lost};
        if (!hs_bitmap_get(&e->in_row, i) || group->is_possible)
            continue;
        group->is_possible = group->n_lost <= TENTH;
        struct hs_heap_block block;
        if (hs_heap_map_resolve(e->map, e->samples[i].begin, &block) == HS_POINTER_START)
            HS_TRY(hs_scan_mark_unsure(e->scan, &block, e->err));
        HS_TRY(note(e, ENCODED_BEFORE, e->samples[i].group, &judged, e->samples[i].before_at,
                    n_notes));
    }
    return HS_OK;
}

static hs_status mark_one(struct hs_encoded *e, const struct hs_heap_block *block)
{
    uint8_t by = e->found_by[block->rank - e->first];

    return e->groups[hs_encoded_group_of(e, block)].is_possible ||
                   (by != 0 && is_strong(e, by - 1U))
               ? hs_scan_mark_unsure(e->scan, block, e->err)
               : HS_OK;
}

hs_status hs_encoded_mark(struct hs_encoded *e)
{
    return hs_encoded_each_lost(e, mark_one);
}

hs_status hs_encoded_judge(struct hs_encoded *e)
{
    HS_TRY(judge_strong(e, &e->n_notes));
    HS_TRY(judge_sampled(e, &e->n_notes));
    return judge_rows(e, &e->n_notes);
}

hs_status hs_encoded_note_rest(struct hs_encoded *e)
{
    if (e->n_notes <= NOTES_MOST)
        return HS_OK;
    return hs_findings_note(&e->scan->native->dump->findings, false, e->err,
                            "addresses in disguise lead to lost blocks of %zu more "
                            "sizes" HS_NOTE_NOT_CERTAIN,
                            e->n_notes - NOTES_MOST);
}
