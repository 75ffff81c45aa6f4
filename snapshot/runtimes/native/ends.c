#include "ends.h"

#include "ends_alike.h"
#include "flow.h"

enum { ENDS_WORD = 8, ENDS_NEAR_WORDS = HS_ENDS_NEAR_WORDS };

/* Words beside one that leads to the start of a block. */
struct ends_near {
    uint64_t words[2 * ENDS_NEAR_WORDS];
    int distance[2 * ENDS_NEAR_WORDS]; /* below 0: it stands before */
    int n;
};

static void ends_look(const struct hs_ends_place *place, struct ends_near *ret)
{
    uint64_t from = place->at < ENDS_NEAR_WORDS * ENDS_WORD
                        ? place->at % ENDS_WORD
                        : place->at - ENDS_NEAR_WORDS * ENDS_WORD;

    ret->n = 0;
    for (uint64_t at = from; at + ENDS_WORD <= place->n_bytes; at += ENDS_WORD) {
        if (at > place->at + ENDS_NEAR_WORDS * ENDS_WORD)
            break;
        if (at == place->at)
            continue;
        ret->words[ret->n] = hs_load_u64(place->bytes + at);
        ret->distance[ret->n++] = (int)((int64_t)(at - place->at) / ENDS_WORD);
    }
}

/* The votes of the words beside it for the block before and the one behind. */
struct ends_votes {
    int n_begin, n_middle; /* that lead to the start of the block before, into it */
    int n_same;            /* as the word, behind the last of those that stand before it */
    int before;            /* how far the nearest of those is that stand before the word */
    int own; /* how far the nearest is that leads into the block behind, or is its end */
};

static struct ends_votes ends_count(const struct ends_near *near,
                                    const struct hs_heap_block *before,
                                    const struct hs_heap_block *target)
{
    struct ends_votes votes = {.before = 2 * ENDS_NEAR_WORDS, .own = 2 * ENDS_NEAR_WORDS};

    for (int i = 0; i < near->n; i++) {
        uint64_t word = near->words[i];
        int distance = near->distance[i], far = distance < 0 ? -distance : distance;
        if (word == target->begin)
            votes.n_same++;
        else if (word > target->begin && word - target->begin <= target->n_bytes)
            votes.own = far < votes.own ? far : votes.own;
        if (word - before->begin >= before->n_bytes)
            continue;
        votes.n_begin += word == before->begin;
        votes.n_middle += word != before->begin;
        if (distance < 0) {
            votes.before = far;
            votes.n_same = 0;
        }
    }
    return votes;
}

/* Tells whether the words beside it agree that it is an end. (n, n, m, m), two list heads of one
 * node each, is none: no buffer looks so. */
static bool ends_agree(const struct ends_votes *votes)
{
    int n = votes->n_begin + votes->n_middle;
    bool is_twice = n == 2 && votes->n_same == 1 && votes->n_middle == 0;

    return (n >= 2 || (n == 1 && votes->n_same != 0)) && !is_twice &&
           votes->before < 2 * ENDS_NEAR_WORDS && votes->before <= votes->own;
}

/* Returns how many words before it the word stands that leads to the start of the block before,
 * where the two may be a pair (begin, end) by what stands beside them; 0: they are none. A row of
 * nodes goes on, on either side. */
static unsigned ends_pair(const struct ends_near *near, const struct ends_votes *votes,
                          const struct hs_heap_block *before, const struct hs_heap_block *target)
{
    if (votes->n_begin != 1 || votes->n_middle != 0 || votes->before > ENDS_NEAR_WORDS ||
        votes->before > votes->own)
        return 0;
    for (int i = 0; i < near->n; i++)
        if ((near->distance[i] == 1 && near->words[i] == target->begin + target->n_bytes) ||
            (near->distance[i] == -votes->before - 1 &&
             near->words[i] + before->n_bytes == before->begin))
            return 0;
    return (unsigned)votes->before;
}

struct hs_ends_place hs_ends_place_of(const struct hs_native *native, hs_addr address)
{
    const struct hs_image_range *range =
        address == 0 ? NULL : hs_image_find(&native->dump->image, address, &(size_t){0});

    if (range == NULL)
        return (struct hs_ends_place){0};
    return (struct hs_ends_place){range->bytes, range->end - range->begin, address - range->begin,
                                  NULL};
}

/* Finds the block that ends where `target` begins. In a slab it is as large, if it is there at all,
 * which is asked for when all else agrees. */
static bool ends_before(const struct hs_native *native, const struct hs_heap_block *target,
                        struct hs_heap_block *ret)
{
    const struct hs_heap_span *span = target->span;

    if (span->form == HS_SPAN_UNIFORM && target->begin != span->begin) {
        ret->begin = target->begin - span->unit_bytes;
        ret->n_bytes = span->unit_bytes;
        return true;
    }
    return hs_flow_resolve(native, target->begin - 1, ret) != HS_POINTER_NONE &&
           ret->begin + ret->n_bytes == target->begin;
}

/* Tells whether a pair alone is (begin, end) by others in its place. */
static bool ends_are_alike(const struct hs_native *native, const struct hs_ends_place *place,
                           const struct ends_near *near, const struct ends_votes *votes,
                           const struct hs_heap_block *before, const struct hs_heap_block *target)
{
    unsigned back = ends_pair(near, votes, before, target);

    return back != 0 && hs_ends_are_alike(native, place, back, before);
}

bool hs_ends_is(const struct hs_native *native, const struct hs_ends_place *place,
                const struct hs_heap_block *target, bool is_named, struct hs_heap_block *ret_before)
{
    struct hs_heap_block before;
    struct ends_near near = {0};

    if (target->span->owner == HS_OWNER_MAPPING || !hs_ends_may_be(place, target, is_named) ||
        !ends_before(native, target, &before))
        return false;
    if (place->bytes != NULL) {
        ends_look(place, &near);
        const struct ends_votes votes = ends_count(&near, &before, target);
        if (is_named ? votes.n_begin + votes.n_middle == 0
                     : !ends_agree(&votes) &&
                           !ends_are_alike(native, place, &near, &votes, &before, target))
            return false;
    }
    if (hs_flow_resolve(native, target->begin - 1, &before) == HS_POINTER_NONE ||
        before.begin + before.n_bytes != target->begin)
        return false;
    *ret_before = before;
    return true;
}
