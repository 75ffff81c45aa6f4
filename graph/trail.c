#include "trail.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/ids.h"

enum {
    TRAIL_STEP = 64,         /* entries of which the first has its place in the shape kept */
    TRAIL_RESERVE = 1 << 16, /* entries that are reserved in the budget at a time */
    MARKS_PER_PAGE = 32768   /* nodes whose marks are in one page of memory */
};

static uint64_t words_of(uint64_t n_bits)
{
    return n_bits / 64 + 1;
}

static uint64_t found_of(uint64_t n_nodes)
{
    return n_nodes / TRAIL_STEP + 1;
}

hs_status trail_init(uint64_t n_nodes, struct hs_budget *budget, struct trail *ret,
                     struct hs_error *err)
{
    struct trail t = {.n_nodes = n_nodes, .width = hs_ids_width(n_nodes), .budget = budget};
    uint64_t n = n_nodes;
    hs_status status = hs_pages_alloc(n + 2, t.width, (void **)&t.nodes, err);
    if (status == HS_OK)
        status = HS_PAGES_ALLOC(&t.shape, words_of(2 * n), err);
    if (status == HS_OK)
        status = HS_PAGES_ALLOC(&t.found, found_of(n), err);
    if (status == HS_OK)
        status = HS_PAGES_ALLOC(&t.marks, words_of(n), err);
    if (status == HS_OK)
        status = HS_PAGES_ALLOC(&t.pages, words_of(n / MARKS_PER_PAGE), err);
    if (status == HS_OK)
        *ret = t;
    else
        trail_fini(&t);
    return status;
}

void trail_fini(struct trail *trail)
{
    uint64_t n = trail->n_nodes;
    hs_pages_free(trail->nodes, n + 2, trail->width);
    hs_pages_free(trail->shape, words_of(2 * n), sizeof *trail->shape);
    hs_pages_free(trail->found, found_of(n), sizeof *trail->found);
    hs_pages_free(trail->marks, words_of(n), sizeof *trail->marks);
    hs_pages_free(trail->pages, words_of(n / MARKS_PER_PAGE), sizeof *trail->pages);
    hs_budget_release(trail->budget, trail->reserved_bytes);
    *trail = (struct trail){0};
}

static hs_status reserve(struct trail *trail, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(trail->budget, n_bytes, "the search for paths", err));
    trail->reserved_bytes += n_bytes;
    return HS_OK;
}

hs_status trail_mark(struct trail *trail, hs_node node, struct hs_error *err)
{
    assert(node < trail->n_nodes);
    uint64_t page = node / MARKS_PER_PAGE;
    if ((trail->pages[page >> 6] >> (page & 63) & 1) == 0) {
        HS_TRY(reserve(trail, MARKS_PER_PAGE / 8, err));
        trail->pages[page >> 6] |= (uint64_t)1 << (page & 63);
    }
    trail->marks[node >> 6] |= (uint64_t)1 << (node & 63);
    return HS_OK;
}

hs_status trail_put(struct trail *trail, hs_node node, struct hs_error *err)
{
    assert(trail->n < trail->n_nodes);
    if (trail->n == trail->n_reserved) {
        uint64_t each = (uint64_t)TRAIL_RESERVE * trail->width;
        HS_TRY(reserve(trail, each + TRAIL_RESERVE / 4 + TRAIL_RESERVE / TRAIL_STEP * 8, err));
        trail->n_reserved += TRAIL_RESERVE;
    }
    HS_TRY(trail_mark(trail, node, err));
    if (trail->n % TRAIL_STEP == 0)
        trail->found[trail->n / TRAIL_STEP] = trail->n + trail->at;
    memcpy(trail->nodes + trail->n * trail->width, &node, trail->width); /* little-endian */
    trail->n++; /* its bit of the shape is 0 already */
    return HS_OK;
}

bool trail_next(struct trail *trail, hs_node *ret)
{
    if (trail->at == trail->n)
        return false;
    uint64_t place = trail->n + trail->at;
    trail->shape[place >> 6] |= (uint64_t)1 << (place & 63);
    *ret = trail_node(trail, trail->at++);
    return true;
}

hs_node trail_node(const struct trail *trail, uint64_t entry)
{
    assert(entry < trail->n);
    hs_node node = 0;
    memcpy(&node, trail->nodes + entry * trail->width, trail->width);
    return node;
}

uint64_t trail_from(const struct trail *trail, uint64_t entry)
{
    assert(entry > 0 && entry < trail->n);
    uint64_t place = trail->found[entry / TRAIL_STEP];
    for (uint64_t more = entry % TRAIL_STEP, at = place + 1; more > 0;) {
        uint64_t zeros = ~trail->shape[at >> 6] >> (at & 63);
        uint64_t n = (uint64_t)__builtin_popcountll(zeros);
        if (n < more) {
            more -= n;
            at = (at | 63) + 1;
            continue;
        }
        for (; more > 1; more--)
            zeros &= zeros - 1;
        place = at + (uint64_t)__builtin_ctzll(zeros);
        more = 0;
    }
    return place - entry - 1;
}

void trail_clear(struct trail *trail)
{
    for (uint64_t i = 0; i < trail->n; i++) {
        hs_node node = trail_node(trail, i);
        trail->marks[node >> 6] &= ~((uint64_t)1 << (node & 63));
    }
    memset(trail->shape, 0, words_of(trail->n + trail->at) * sizeof *trail->shape);
    trail->n = trail->at = 0;
}
