/* Prints the roots of a heap snapshot that retain most, and of each the blocks below it that keep
 * most of that alive.
 *
 *     cc biggest_roots.c $(pkg-config --cflags --libs heapsnap) -o biggest_roots
 *     ./biggest_roots heap.snap [HOW MANY]
 *
 * Columns, apart by tabs: retained words, percent of the heap, node, name. */
#include <heapsnap/heapsnap.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHILDREN = 3 };

static struct heapsnap_error err;

static void die(void)
{
    fprintf(stderr, "biggest_roots: %s\n", err.message);
    if (err.hint[0] != 0)
        fprintf(stderr, "hint: %s\n", err.hint);
    exit(1);
}

/* Names come from the process: nothing of them may steer the terminal. */
static void print_row(const char *indent, uint64_t words, uint64_t heap_words, uint64_t node,
                      const char *name)
{
    double percent = heap_words == 0 ? 0 : 100.0 * (double)words / (double)heap_words;
    printf("%s%" PRIu64 "\t%.1f\t#%" PRIu64 "\t", indent, words, percent, node);
    for (; *name != 0; name++)
        putchar((unsigned char)*name < ' ' || *name == 127 ? '?' : *name);
    putchar('\n');
}

static void print_children(struct heapsnap *snap, uint64_t root, uint64_t heap_words)
{
    struct heapsnap_child *children;
    struct heapsnap_node node;
    size_t n;
    if (heapsnap_dominated(snap, root, CHILDREN, &children, &n, &err) != HEAPSNAP_OK)
        die();
    for (size_t i = 0; i < n; i++) {
        if (heapsnap_get_node(snap, children[i].node, &node, &err) != HEAPSNAP_OK)
            die();
        print_row("  ", children[i].retained_words, heap_words, node.node, node.name);
    }
    heapsnap_free(children);
}

int main(int argc, char **argv)
{
    struct heapsnap_options options = {.struct_bytes = sizeof options};
    struct heapsnap_summary summary;
    struct heapsnap_root *roots;
    struct heapsnap *snap;
    uint64_t shared_words;
    size_t n;
    if (argc < 2) {
        fprintf(stderr, "usage: biggest_roots heap.snap [HOW MANY]\n");
        return 2;
    }
    size_t most = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 10;
    if (heapsnap_open(argv[1], &options, &snap, &err) != HEAPSNAP_OK)
        die();
    heapsnap_get_summary(snap, &summary);
    if (heapsnap_roots(snap, &roots, &n, &shared_words, &err) != HEAPSNAP_OK)
        die();
    for (size_t i = 0; i < n && i < most; i++) {
        print_row("", roots[i].retained_words, summary.heap_words, roots[i].node, roots[i].name);
        print_children(snap, roots[i].node, summary.heap_words);
    }
    printf("heap %" PRIu64 ", shared %" PRIu64 ", unreached %" PRIu64 " words\n",
           summary.heap_words, shared_words, summary.unreached_words);
    heapsnap_free(roots);
    heapsnap_close(snap);
    return 0;
}
