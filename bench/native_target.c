/* A heap of N malloc blocks to be dumped: 40 % in one list that a global holds, 10 % nodes and 10 %
 * keys of a hash table with one array of buckets, 20 % in a binary tree that a static holds, 5 % in
 * a list that only the stack of main holds, 5 % in one that a thread-local variable holds, 10 %
 * lost in chains of ten. Prints "BLOCKS n LOST n", then READY, and waits for its standard input to
 * end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct list {
    struct list *next;
    long value;
};

struct entry {
    struct entry *next;
    char *key;
    long value;
};

struct tree {
    struct tree *left, *right;
    long value;
};

struct list *volatile g_list;
struct entry **volatile g_buckets;
static struct tree *volatile s_tree;
static __thread struct list *volatile t_list;

static void *block(size_t n_bytes)
{
    void *p = malloc(n_bytes);
    if (p == NULL)
        abort();
    memset(p, 0, n_bytes);
    return p;
}

__attribute__((noinline)) static struct list *make_list(long n)
{
    struct list *list = NULL;
    for (long i = 0; i < n; i++) {
        struct list *node = block(sizeof *node);
        node->next = list;
        node->value = i;
        list = node;
    }
    return list;
}

__attribute__((noinline)) static void make_table(long n)
{
    struct entry **buckets = block((size_t)n * sizeof *buckets);
    for (long i = 0; i < n; i++) {
        struct entry *entry = block(sizeof *entry);
        entry->key = block(24);
        snprintf(entry->key, 24, "key %ld", i);
        entry->value = i;
        size_t at = (size_t)(i * 2654435761) % (size_t)n;
        entry->next = buckets[at];
        buckets[at] = entry;
    }
    g_buckets = buckets;
}

/* Node i has the children 2 i + 1 and 2 i + 2. */
__attribute__((noinline)) static void make_tree(long n)
{
    struct tree **nodes = block((size_t)n * sizeof *nodes);
    for (long i = 0; i < n; i++)
        nodes[i] = block(sizeof *nodes[i]);
    for (long i = 0; i < n; i++) {
        nodes[i]->left = 2 * i + 1 < n ? nodes[2 * i + 1] : NULL;
        nodes[i]->right = 2 * i + 2 < n ? nodes[2 * i + 2] : NULL;
    }
    s_tree = n > 0 ? nodes[0] : NULL;
    memset(nodes, 0, (size_t)n * sizeof *nodes);
    free(nodes);
}

__attribute__((noinline)) static void lose(long n)
{
    for (long i = 0; i < n; i += 10) {
        struct list *volatile chain = make_list(n - i < 10 ? n - i : 10);
        if (chain == NULL)
            abort();
        chain = NULL;
    }
}

__attribute__((noinline)) static void scrub(void)
{
    volatile char room[1 << 16];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
    __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15", "memory");
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
    char byte;
    g_list = make_list(n / 10 * 4);
    make_table(n / 10);
    make_tree(n / 10 * 2);
    struct list *volatile on_stack = make_list(n / 20);
    t_list = make_list(n / 20);
    lose(n / 10);
    scrub();
    printf("BLOCKS %ld LOST %ld\n", n / 10 * 8 + n / 20 * 2 + n / 10 + 1, n / 10);
    printf("READY\n");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return on_stack == NULL && n >= 20;
}
