#include "heap_generator.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "heap_edges.h"

#define N_OWNERS (1U << 20)
#define SLACK 64 /* a structure may end this many blocks after the heap is full */

/* Block numbers here are in order of allocation, from 1; 0 stands for the roots. */
struct generator {
    struct heap_edges edges;
    uint64_t random;
    uint32_t n, next;
    uint32_t *owners; /* objects that structures may hang from: a random sample */
    uint32_t n_owners;
    uint32_t first_string, n_strings;
    uint32_t first_hub, n_hubs;
    bool tangled;
};

static uint32_t below(struct generator *g, uint32_t n)
{
    return bench_below(&g->random, n);
}

static bool chance(struct generator *g, double p)
{
    return bench_unit(&g->random) < p;
}

static bool is_full(const struct generator *g)
{
    return g->next + SLACK >= g->n;
}

static uint32_t block(struct generator *g)
{
    return g->next++;
}

static void edge(struct generator *g, uint32_t source, uint32_t target)
{
    heap_edges_add(&g->edges, source, target);
}

/* Popular strings are much more popular than the others. */
static uint32_t string(struct generator *g)
{
    double u = bench_unit(&g->random);
    return g->first_string + (uint32_t)((g->n_strings - 1) * u * u * u * u);
}

static uint32_t hub(struct generator *g)
{
    return g->first_hub + below(g, g->n_hubs);
}

static void owner_add(struct generator *g, uint32_t owner)
{
    uint32_t at = g->n_owners < N_OWNERS ? g->n_owners++ : below(g, N_OWNERS);
    g->owners[at] = owner;
}

static uint32_t owner(struct generator *g)
{
    return g->owners[below(g, g->n_owners)];
}

/* A structure's first block is held by an object, or by a root. */
static uint32_t structure(struct generator *g)
{
    uint32_t head = block(g);
    edge(g, g->n_owners == 0 || chance(g, 0.08) ? 0 : owner(g), head);
    if (g->tangled && g->n_owners != 0)
        edge(g, head, owner(g));
    return head;
}

static uint32_t pareto(struct generator *g, double low, double high, double shape)
{
    double u = bench_unit(&g->random);
    return (uint32_t)(low / pow(1 - u * (1 - pow(low / high, shape)), 1 / shape));
}

#define RECORD_FIELDS 8 /* fewer than this */
#define RECORD_DEPTH 4

/* One field of a record; returns the record that it holds, or 0. */
static uint32_t record_field(struct generator *g, uint32_t self, bool may_nest)
{
    double u = bench_unit(&g->random);
    uint32_t held = 0;
    if (u < 0.33 && !is_full(g)) {
        held = block(g);
        edge(g, self, held);
        return u < 0.22 && may_nest ? held : 0;
    }
    if (u < 0.75)
        edge(g, self, string(g));
    else if (u < 0.90)
        edge(g, self, hub(g));
    else if (u < 0.93 && g->n_owners != 0)
        edge(g, self, owner(g));
    return held;
}

/* A record with a few fields, some of them records of records, `depth` levels above the last. */
static uint32_t record(struct generator *g, int depth)
{
    struct {
        uint32_t self;
        int depth;
    } open[RECORD_FIELDS * (RECORD_DEPTH + 1)];
    uint32_t first = block(g), n = 1;

    open[0].self = first;
    open[0].depth = depth;
    while (n != 0) {
        uint32_t self = open[--n].self;
        int at = open[n].depth;
        for (uint32_t i = 3 + below(g, RECORD_FIELDS - 3); i != 0; i--) {
            uint32_t held = record_field(g, self, at < RECORD_DEPTH);
            if (held == 0)
                continue;
            open[n].self = held;
            open[n++].depth = at + 1;
        }
        if (chance(g, 0.05))
            owner_add(g, self);
    }
    return first;
}

static uint32_t payload(struct generator *g)
{
    double u = bench_unit(&g->random);
    return u < 0.25 ? block(g) : u < 0.5 ? string(g) : record(g, 3);
}

/* ---- structures ---- */

static void make_list(struct generator *g, uint32_t n)
{
    uint32_t last = structure(g);
    for (uint32_t i = 0; i < n && !is_full(g); i++) {
        uint32_t cell = block(g);
        edge(g, last, cell);
        edge(g, cell, payload(g));
        last = cell;
    }
}

static void make_doubly_linked(struct generator *g, uint32_t n)
{
    uint32_t head = structure(g), last = head;
    bool has_tail = chance(g, 0.6), is_ring = has_tail && chance(g, 0.5);
    for (uint32_t i = 0; i < n && !is_full(g); i++) {
        uint32_t cell = block(g);
        edge(g, last, cell);
        if (last != head || is_ring)
            edge(g, cell, last);
        edge(g, cell, payload(g));
        last = cell;
    }
    if (has_tail && last != head)
        edge(g, head, last);
    if (is_ring && last != head)
        edge(g, last, head);
}

static void make_hash_table(struct generator *g, uint32_t n)
{
    uint32_t table = structure(g), buckets = block(g);
    uint32_t *chain = bench_pages(n, sizeof *chain);
    edge(g, table, buckets);
    for (uint32_t i = 0; i < n && !is_full(g); i++) {
        uint32_t entry = block(g), at = below(g, n);
        if (chain[at] != 0)
            edge(g, entry, chain[at]);
        chain[at] = entry;
        edge(g, entry, chance(g, 0.6) ? string(g) : block(g));
        edge(g, entry, record(g, 2));
    }
    for (uint32_t i = 0; i < n; i++)
        if (chain[i] != 0)
            edge(g, buckets, chain[i]);
    hs_pages_free(chain, n, sizeof *chain);
}

/* A search tree, grown by hanging nodes under the one at half their place: balanced enough. */
static void make_tree(struct generator *g, uint32_t n)
{
    uint32_t head = structure(g), n_nodes = 0;
    bool has_parents = chance(g, 0.3);
    uint32_t *nodes = bench_pages((size_t)n + 1, sizeof *nodes);

    for (; n_nodes < n && !is_full(g); n_nodes++) {
        uint32_t node = block(g);
        uint32_t parent = n_nodes == 0 ? head : nodes[(n_nodes - 1) / 2];
        nodes[n_nodes] = node;
        edge(g, parent, node);
        if (has_parents)
            edge(g, node, parent);
        edge(g, node, chance(g, 0.5) ? string(g) : block(g));
        edge(g, node, payload(g));
    }
    if (!has_parents && n_nodes > 8 && chance(g, 0.3)) { /* a second version, by path copying */
        uint32_t last = structure(g);
        for (uint32_t i = below(g, n_nodes / 50 + 1) + 1; i != 0 && !is_full(g); i--) {
            uint32_t copy = block(g);
            edge(g, last, copy);
            edge(g, copy, nodes[below(g, n_nodes)]);
            edge(g, copy, nodes[below(g, n_nodes)]);
            edge(g, copy, block(g));
            last = copy;
        }
    }
    hs_pages_free(nodes, (size_t)n + 1, sizeof *nodes);
}

/* First child, next sibling, parent, and often the document itself. */
static void make_document(struct generator *g, uint32_t n)
{
    uint32_t document = structure(g), root = block(g), n_nodes = 0;
    uint32_t *nodes = bench_pages(2 * ((size_t)n + 1), sizeof *nodes);
    uint32_t *last_child = nodes + n + 1;

    edge(g, document, root);
    edge(g, root, document);
    nodes[n_nodes++] = root;
    while (n_nodes < n && !is_full(g)) {
        uint32_t at = n_nodes > 200 ? n_nodes - 1 - below(g, 200) : below(g, n_nodes);
        uint32_t node = block(g);
        edge(g, last_child[at] != 0 ? last_child[at] : nodes[at], node);
        last_child[at] = node;
        edge(g, node, nodes[at]);
        if (chance(g, 0.5))
            edge(g, node, document);
        edge(g, node, payload(g));
        nodes[n_nodes++] = node;
    }
    hs_pages_free(nodes, 2 * ((size_t)n + 1), sizeof *nodes);
}

/* Objects with random references to each other: what stays irreducible. */
static void make_application(struct generator *g, uint32_t n)
{
    uint32_t *objects = bench_pages((size_t)n + 1, sizeof *objects), n_objects = 0;

    objects[n_objects++] = structure(g);
    while (n_objects < n && !is_full(g)) {
        bool recent = chance(g, 0.5) && n_objects > 50;
        uint32_t parent = objects[recent ? n_objects - 1 - below(g, 50) : below(g, n_objects)];
        uint32_t self = block(g);
        edge(g, parent, self);
        objects[n_objects++] = self;
        if (chance(g, 0.3))
            edge(g, self, block(g));
        if (chance(g, 0.35))
            edge(g, self, string(g));
        if (chance(g, 0.7))
            edge(g, self, objects[below(g, n_objects)]);
        if (chance(g, 0.3))
            edge(g, objects[below(g, n_objects)], self);
        if (chance(g, 0.15))
            edge(g, self, hub(g));
        if (g->n_owners != 0 && chance(g, 0.02))
            edge(g, self, owner(g));
        if (chance(g, 0.2))
            owner_add(g, self);
    }
    hs_pages_free(objects, (size_t)n + 1, sizeof *objects);
}

static void make_array(struct generator *g, uint32_t n)
{
    uint32_t array = structure(g);
    uint32_t second = chance(g, 0.4) ? structure(g) : 0;
    for (uint32_t i = 0; i < n && !is_full(g); i++) {
        uint32_t element = record(g, 2);
        edge(g, array, element);
        if (second != 0 && chance(g, 0.9))
            edge(g, second, element);
    }
}

/* ---- the mix ---- */

static const struct {
    void (*make)(struct generator *g, uint32_t n);
    double share, low, high_share, shape; /* of all blocks; of the Pareto law */
} mix[] = {
    {make_list, 0.13, 8, 1.0 / 20, 0.6},       {make_doubly_linked, 0.09, 8, 1.0 / 40, 0.6},
    {make_hash_table, 0.22, 8, 1.0 / 60, 0.6}, {make_tree, 0.13, 8, 1.0 / 60, 0.6},
    {make_document, 0.08, 20, 1.0 / 80, 0.6},  {make_application, 0.25, 100, 1.0 / 80, 0.5},
    {make_array, 0.10, 8, 1.0 / 80, 0.6},
};
#define N_MIX (sizeof mix / sizeof *mix)

static void generate_pools(struct generator *g)
{
    g->n_hubs = g->n / 20000 + 8;
    g->first_hub = g->next;
    for (uint32_t i = 0; i < g->n_hubs; i++)
        edge(g, 0, block(g));
    uint32_t table = block(g);
    edge(g, 0, table);
    g->n_strings = g->n / 30 + 1;
    g->first_string = g->next;
    for (uint32_t i = 0; i < g->n_strings; i++) {
        uint32_t self = block(g);
        if (chance(g, 0.15)) /* the others live only where they are used */
            edge(g, table, self);
    }
    for (int i = 0; i < 200 && !is_full(g); i++) {
        uint32_t self = record(g, 0);
        edge(g, 0, self);
        owner_add(g, self);
    }
}

/* Structures, the kind furthest behind its share first, and now and then garbage. */
static void generate_structures(struct generator *g)
{
    double made[N_MIX] = {0};

    while (!is_full(g)) {
        size_t kind = 0;
        for (size_t i = 1; i < N_MIX; i++)
            if (made[i] / mix[i].share < made[kind] / mix[kind].share)
                kind = i;
        uint32_t before = g->next;
        double high = g->n * mix[kind].high_share;
        mix[kind].make(g, pareto(g, mix[kind].low, high > 1000 ? high : 1000, mix[kind].shape));
        made[kind] += g->next - before;
        if (chance(g, 0.03)) {
            uint32_t garbage = block(g);
            for (int i = 0; i < 30 && !is_full(g); i++)
                edge(g, garbage, record(g, 3));
        }
    }
}

/* ---- addresses ---- */

/* A permutation of [1, n): runs of allocation interleave within a window, and one block in ten lies
 * anywhere. Runs are sorted by place through counting. */
static uint32_t *shuffle_addresses(struct generator *g, uint32_t n)
{
    uint32_t *place = bench_pages(n, sizeof *place), *order = bench_pages(n, sizeof *order);
    uint32_t *begin = bench_pages((size_t)n * 2 + 2002, sizeof *begin);
    uint32_t window = n / 40 + 1000;

    for (uint32_t i = 1, run = 0, left = 0; i < n; i++, left--) {
        if (left == 0) {
            run = i + below(g, window);
            left = 1 + below(g, 48);
        }
        order[i] = run;
        begin[run + 1]++;
    }
    for (size_t i = 0; i < (size_t)n * 2 + 2001; i++)
        begin[i + 1] += begin[i];
    for (uint32_t i = 1; i < n; i++)
        place[i] = 1 + begin[order[i]]++;
    for (uint32_t i = 0; i < n / 20; i++) {
        uint32_t a = 1 + below(g, n - 1), b = 1 + below(g, n - 1), kept = place[a];
        place[a] = place[b];
        place[b] = kept;
    }
    hs_pages_free(order, n, sizeof *order);
    hs_pages_free(begin, (size_t)n * 2 + 2002, sizeof *begin);
    return place;
}

/* Inner nodes 0 .. 3 and the leaves: a chain of four, under whose last the leaves hang. */
static uint32_t add_tree(struct generator *g, struct heap_edges *edges, uint32_t n_leaves)
{
    enum { INNER = 4 };
    if (n_leaves == 0)
        return 1;
    for (uint32_t i = 1; i < INNER; i++)
        heap_edges_add(edges, i - 1, i);
    for (uint32_t i = 0; i < n_leaves; i++) {
        heap_edges_add(edges, INNER - 1, INNER + i);
        heap_edges_add(edges, INNER + i, INNER + n_leaves + below(g, g->next - 1));
    }
    return INNER + n_leaves;
}

/* Node numbers: the tree, then blocks by address. What node 0 held goes to the leaves in turn. */
static struct hs_graph generator_graph(struct generator *g, const struct heap_recipe *recipe)
{
    uint32_t n = g->next, held = 0;
    uint32_t *place = shuffle_addresses(g, n);
    struct heap_edges edges;

    heap_edges_init(&edges, g->edges.n + n + 3 * (size_t)recipe->n_leaves + 8);
    uint32_t n_tree = add_tree(g, &edges, recipe->n_leaves);
    for (size_t i = 0; i < g->edges.n; i++) {
        uint32_t source = g->edges.ends[2 * i], target = g->edges.ends[2 * i + 1];
        uint32_t from = n_tree - 1 + place[source];
        if (source == 0)
            from = recipe->n_leaves == 0 ? 0 : n_tree - 1 - held++ % recipe->n_leaves;
        heap_edges_add(&edges, from, n_tree - 1 + place[target]);
    }
    if (recipe->held_one_by_one) /* the last block is the array, the last leaf its root */
        for (uint32_t i = 1; i < n; i++)
            heap_edges_add(&edges, n_tree - 1 + n, n_tree - 1 + i);
    if (recipe->held_one_by_one)
        heap_edges_add(&edges, n_tree - 1, n_tree - 1 + n);
    hs_pages_free(place, n, sizeof *place);
    return heap_edges_graph(&edges, n_tree + n - (recipe->held_one_by_one ? 0 : 1), n_tree);
}

struct hs_graph heap_generate(const struct heap_recipe *recipe)
{
    struct generator g = {
        .random = recipe->seed * 2 + 1,
        .n = recipe->n_blocks < 2000 ? 2000 : recipe->n_blocks,
        .next = 1,
        .tangled = recipe->tangled,
    };
    g.owners = bench_pages(N_OWNERS, sizeof *g.owners);
    heap_edges_init(&g.edges, (size_t)g.n * 5 / 2);
    for (int i = 0; i < 20; i++)
        (void)bench_random(&g.random);
    generate_pools(&g);
    generate_structures(&g);
    struct hs_graph graph = generator_graph(&g, recipe);
    hs_pages_free(g.edges.ends, g.edges.capacity * 2, sizeof(uint32_t));
    hs_pages_free(g.owners, N_OWNERS, sizeof *g.owners);
    return graph;
}
