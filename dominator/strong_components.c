#include "strong_components.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/bitmap.h"
#include "graph/pages.h"

/* A stack of a depth-first search: the search's way down from the front, from the back the nodes
 * that were left before their component was closed. A node is never in both. */
struct search {
    uint32_t n_nodes;
    const uint32_t *begin;
    const uint32_t *target;      /* NULL: in `rows` */
    struct hs_stored_rows *rows; /* whose begins these are */
    uint32_t *rank;   /* 0: not met; open: number of the first open node that it leads to, from 1;
                         closed: HS_NONE - 1 - component, greater than any of the others */
    uint32_t *stack;  /* n_nodes */
    uint32_t *cursor; /* next edge, by place on the way */
    struct hs_bitmap is_low; /* leads to an open node before it */
    uint32_t n_open, n_path, n_left, n_components;
};

static void search_fini(struct search *s)
{
    size_t n = s->n_nodes;
    hs_pages_free(s->rank, n, sizeof(uint32_t));
    hs_pages_free(s->stack, n, sizeof(uint32_t));
    hs_pages_free(s->cursor, n, sizeof(uint32_t));
    hs_bitmap_fini(&s->is_low);
}

static hs_status search_init(struct search *s, struct hs_error *err)
{
    uint32_t **const arrays[] = {&s->rank, &s->stack, &s->cursor};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        HS_TRY(HS_PAGES_ALLOC(arrays[i], s->n_nodes, err));
    }
    return hs_bitmap_init(&s->is_low, s->n_nodes, err);
}

static void search_enter(struct search *s, uint32_t node)
{
    s->rank[node] = ++s->n_open;
    s->cursor[s->n_path] = s->begin[node];
    s->stack[s->n_path++] = node;
}

/* The node's edges are done: closes its component when it is the component's first node. */
static void search_leave(struct search *s, uint32_t node)
{
    uint32_t n = s->n_nodes, first = s->rank[node];

    s->n_path--;
    if (hs_bitmap_get(&s->is_low, node)) {
        s->stack[n - ++s->n_left] = node;
        return;
    }
    uint32_t closed = HS_NONE - 1 - s->n_components++;
    while (s->n_left != 0 && s->rank[s->stack[n - s->n_left]] >= first) {
        s->rank[s->stack[n - s->n_left--]] = closed;
        s->n_open--;
    }
    s->rank[node] = closed;
    s->n_open--;
}

/* An edge that leads to a new node is looked at again when that is left. */
static void search_run(struct search *s)
{
    search_enter(s, 0);
    while (s->n_path != 0) {
        uint32_t node = s->stack[s->n_path - 1], found = HS_NONE;
        uint32_t at = s->cursor[s->n_path - 1], end = s->begin[node + 1];
        for (; at < end; at++) {
            uint32_t target = s->target[at], rank = s->rank[target];
            if (rank == 0) {
                found = target;
                break;
            }
            if (rank < s->rank[node]) {
                s->rank[node] = rank;
                hs_bitmap_set(&s->is_low, node);
            }
        }
        s->cursor[s->n_path - 1] = at;
        if (found != HS_NONE)
            search_enter(s, found);
        else
            search_leave(s, node);
    }
    assert(s->n_left == 0 && s->n_open == 0);
}

/* The same of rows in a file, whose rows end with HS_NONE. */
static hs_status search_run_stored(struct search *s, struct hs_error *err)
{
    search_enter(s, 0);
    while (s->n_path != 0) {
        uint32_t node = s->stack[s->n_path - 1], at = s->cursor[s->n_path - 1], target;
        for (;; at++) {
            HS_TRY(hs_stored_rows_word(s->rows, at, &target, err));
            if (target == HS_NONE || s->rank[target] == 0)
                break;
            if (s->rank[target] < s->rank[node]) {
                s->rank[node] = s->rank[target];
                hs_bitmap_set(&s->is_low, node);
            }
        }
        s->cursor[s->n_path - 1] = at;
        if (target != HS_NONE)
            search_enter(s, target);
        else
            search_leave(s, node);
    }
    assert(s->n_left == 0 && s->n_open == 0);
    return HS_OK;
}

uint64_t strong_components_bytes(uint64_t n_nodes)
{
    return 3 * n_nodes * sizeof(uint32_t) + n_nodes / 8 + 8;
}

static hs_status search_all(struct search *s, struct strong_components *ret, struct hs_error *err)
{
    assert(s->n_nodes >= 1);
    HS_TRY(search_init(s, err));
    if (s->rows == NULL)
        search_run(s);
    else
        HS_TRY(search_run_stored(s, err));
    for (uint32_t i = 0; i < s->n_nodes; i++)
        s->rank[i] = s->rank[i] == 0 ? HS_NONE : HS_NONE - 1 - s->rank[i];
    *ret = (struct strong_components){
        .n_nodes = s->n_nodes, .n_components = s->n_components, .of = HS_STEAL(s->rank)};
    return HS_OK;
}

hs_status strong_components_find(const struct hs_graph *graph, struct strong_components *ret,
                                 struct hs_error *err)
{
    struct search s = {.n_nodes = graph->n_nodes, .begin = graph->begin, .target = graph->target};
    hs_status status = search_all(&s, ret, err);
    search_fini(&s);
    return status;
}

hs_status strong_components_stored(struct hs_stored_rows *rows, struct strong_components *ret,
                                   struct hs_error *err)
{
    struct search s = {.n_nodes = rows->n_nodes, .begin = rows->begin, .rows = rows};
    hs_status status = search_all(&s, ret, err);
    search_fini(&s);
    return status;
}

void strong_components_fini(struct strong_components *components)
{
    hs_pages_free(components->of, components->n_nodes, sizeof(uint32_t));
    *components = (struct strong_components){0};
}
