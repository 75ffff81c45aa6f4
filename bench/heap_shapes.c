#include "heap_edges.h"
#include "heap_generator.h"

static const char *const names[] = {
    [SHAPE_LIST_THEN_ARRAY] = "list, then array also held by the root",
    [SHAPE_LIST_AND_ARRAY] = "list, then array also held by 97 cells",
    [SHAPE_DOUBLY_LINKED] = "doubly linked list with tail",
    [SHAPE_COMMON_STRING] = "list of one common string",
    [SHAPE_LADDER] = "irreducible ladder",
    [SHAPE_PARALLEL_LISTS] = "two lists of the same elements",
};

const char *heap_shape_name(enum heap_shape shape)
{
    return names[shape];
}

static void shape_array(struct heap_edges *edges, uint32_t n, bool from_root)
{
    uint32_t half = n / 2;
    for (uint32_t i = 0; i < half; i++)
        heap_edges_add(edges, i, i + 1);
    for (uint32_t i = half + 1; i < n; i++) {
        heap_edges_add(edges, half, i);
        heap_edges_add(edges, from_root ? 0 : 1 + i % 97, i);
    }
}

static void shape_doubly_linked(struct heap_edges *edges, uint32_t n)
{
    heap_edges_add(edges, 0, 1);
    heap_edges_add(edges, 0, n - 1);
    for (uint32_t i = 1; i + 1 < n; i++) {
        heap_edges_add(edges, i, i + 1);
        heap_edges_add(edges, i + 1, i);
    }
}

static void shape_common_string(struct heap_edges *edges, uint32_t n)
{
    for (uint32_t i = 0; i + 2 < n; i++) {
        heap_edges_add(edges, i, i + 1);
        heap_edges_add(edges, i, n - 1);
    }
}

static void shape_ladder(struct heap_edges *edges, uint32_t n)
{
    heap_edges_add(edges, 0, 1);
    heap_edges_add(edges, 0, n / 2);
    heap_edges_add(edges, 0, n - 1);
    for (uint32_t i = 1; i + 3 < n; i++) {
        heap_edges_add(edges, i, i + 1);
        heap_edges_add(edges, i, i + 2);
        if (i > 2)
            heap_edges_add(edges, i, i - 2);
    }
}

static void shape_parallel_lists(struct heap_edges *edges, uint32_t n)
{
    uint32_t third = (n - 1) / 3;
    for (uint32_t i = 0; i < third; i++) {
        heap_edges_add(edges, i, i + 1);
        heap_edges_add(edges, i == 0 ? 0 : third + i, third + i + 1);
        heap_edges_add(edges, i + 1, 2 * third + 1 + i);
        heap_edges_add(edges, third + i + 1, 3 * third - i);
    }
}

struct hs_graph heap_shape_generate(enum heap_shape shape, uint32_t n_nodes)
{
    struct heap_edges edges;
    heap_edges_init(&edges, (size_t)n_nodes * 3);
    switch (shape) {
    case SHAPE_LIST_THEN_ARRAY:
    case SHAPE_LIST_AND_ARRAY:
        shape_array(&edges, n_nodes, shape == SHAPE_LIST_THEN_ARRAY);
        break;
    case SHAPE_DOUBLY_LINKED:
        shape_doubly_linked(&edges, n_nodes);
        break;
    case SHAPE_COMMON_STRING:
        shape_common_string(&edges, n_nodes);
        break;
    case SHAPE_LADDER:
        shape_ladder(&edges, n_nodes);
        break;
    case SHAPE_PARALLEL_LISTS:
    case N_HEAP_SHAPES:
        shape_parallel_lists(&edges, n_nodes);
        break;
    }
    return heap_edges_graph(&edges, n_nodes, 1);
}

struct hs_graph heap_forward_generate(const struct heap_forward *recipe)
{
    struct heap_edges edges;
    uint64_t random = recipe->seed * 2 + 1;
    uint32_t first = recipe->n_leaves + 1, n = recipe->n_blocks;

    heap_edges_init(&edges, (size_t)n * 2 + 2 * (size_t)recipe->n_leaves);
    for (uint32_t i = 0; i < recipe->n_leaves; i++) {
        heap_edges_add(&edges, 0, 1 + i);
        heap_edges_add(&edges, 1 + i, first + bench_below(&random, recipe->within));
    }
    for (uint32_t i = 0; i + 1 < n; i++) {
        uint32_t left = n - i - 1, span = left < recipe->span ? left : recipe->span;
        for (int k = 0; k < 2; k++)
            heap_edges_add(&edges, first + i, first + i + 1 + bench_below(&random, span));
    }
    return heap_edges_graph(&edges, first + n, first);
}
