/* links: hs_analysis */
/* Keys against their definition, on random heaps in any order of addresses, in memory and by a
 * file; names of roots, lists, limits. */
#include "analysis/key_file.h"

#include "unit.h"

#include "fail_each.h"
#include "made_view.h"

enum { N_TYPES = 4, MOST_BLOCKS = 60, MOST_LEAVES = 8, MOST_KEYS = 400, TEXT = 200 };

/* ---- a heap that is made the same way in another order of blocks */

struct heap {
    uint32_t n_blocks, n_edges, n_leaves;
    uint32_t type[MOST_BLOCKS], words[MOST_BLOCKS];
    struct {
        uint32_t source, target;
        unsigned edge_class;
    } edges[4 * MOST_BLOCKS];
    struct {
        uint32_t target;
        unsigned kind, tier;
        char name[16];
    } leaves[MOST_LEAVES];
};

static const unsigned kinds[] = {HS_ROOT_GLOBAL, HS_ROOT_TLS, HS_ROOT_STACK, HS_ROOT_FINALISER};

static struct heap random_heap(uint64_t *random)
{
    struct heap heap = {.n_blocks = 1 + hs_random_below(random, MOST_BLOCKS)};
    heap.n_edges = hs_random_below(random, 3 * heap.n_blocks);
    heap.n_leaves = 1 + hs_random_below(random, MOST_LEAVES);
    for (uint32_t i = 0; i < heap.n_blocks; i++) {
        heap.type[i] = hs_random_below(random, N_TYPES);
        heap.words[i] = 8 + hs_random_below(random, 9);
    }
    for (uint32_t i = 0; i < heap.n_edges; i++) {
        heap.edges[i].source = hs_random_below(random, heap.n_blocks);
        heap.edges[i].target = hs_random_below(random, heap.n_blocks);
        heap.edges[i].edge_class =
            hs_random_below(random, 5) == 0 ? HS_EDGE_GUESSED : HS_EDGE_EXACT;
    }
    for (uint32_t i = 0; i < heap.n_leaves; i++) {
        heap.leaves[i].target = hs_random_below(random, heap.n_blocks);
        heap.leaves[i].kind = kinds[hs_random_below(random, 4)];
        heap.leaves[i].tier = hs_random_below(random, HS_N_TIERS);
        (void)snprintf(heap.leaves[i].name, sizeof heap.leaves[i].name, "v%u[%u]",
                       hs_random_below(random, 4), i);
    }
    return heap;
}

/* `place`: where in memory each block lies. */
static void make(const struct heap *heap, const uint32_t *place, struct made_view *made)
{
    struct hs_graph_builder *b = &made->builder;
    uint32_t types[N_TYPES] = {0};
    uint32_t at[MOST_BLOCKS];
    for (uint32_t i = 0; i < heap->n_blocks; i++)
        at[place[i]] = i;
    for (uint32_t i = 0; i < heap->n_blocks; i++)
        (void)hs_graph_builder_block(b, heap->words[at[i]], false);
    types[0] = hs_graph_builder_type(b, "block of 9 bytes", 0, HS_FORM_BYTES);
    types[1] = hs_graph_builder_type(b, "struct zebra", 0, HS_FORM_RECORD);
    types[2] = hs_graph_builder_type(b, "struct ant", 0, HS_FORM_RECORD);
    types[3] = hs_graph_builder_type(b, "struct mule", 0, HS_FORM_RECORD);
    for (uint32_t i = 0; i < heap->n_blocks; i++)
        b->blocks[place[i]].type = types[heap->type[i]];
    for (uint32_t i = 0; i < heap->n_edges; i++)
        hs_graph_builder_edge(b, place[heap->edges[i].source], place[heap->edges[i].target],
                              heap->edges[i].edge_class);
    for (uint32_t i = 0; i < heap->n_leaves; i++) {
        uint32_t leaf = hs_graph_builder_leaf(b, heap->leaves[i].kind, "m", "u",
                                              heap->leaves[i].name, place[heap->leaves[i].target]);
        b->leaves[leaf].tier = (uint8_t)heap->leaves[i].tier;
    }
    made_view_open(made);
}

/* ---- by definition */

struct plain_key {
    char text[TEXT], step[32];
    int above; /* -1: a root */
    unsigned steps;
    uint64_t words, n;
};

struct plain {
    const struct heap *heap;
    unsigned tier[MOST_BLOCKS];
    struct plain_key keys[MOST_KEYS]; /* in the order of keys */
    int n_keys;
    int key[MOST_BLOCKS], met[MOST_BLOCKS]; /* -1: none */
};

static const char *const type_names[] = {"block", "struct zebra", "struct ant", "struct mule"};

static int find_plain(const struct plain *plain, int above, const char *step)
{
    for (int at = above; plain->keys[at].above >= 0; at = plain->keys[at].above)
        if (strcmp(plain->keys[at].step, step) == 0)
            return at;
    for (int i = 0; i < plain->n_keys; i++)
        if (plain->keys[i].above == above && strcmp(plain->keys[i].step, step) == 0)
            return i;
    return -1;
}

static void add_plain(struct plain *plain, int above, const char *step)
{
    struct plain_key *key = &plain->keys[plain->n_keys];
    assert_true(plain->n_keys < MOST_KEYS);
    key->above = above;
    key->steps = above < 0 ? 0 : plain->keys[above].steps + 1;
    (void)snprintf(key->step, sizeof key->step, "%s", step);
    (void)snprintf(key->text, sizeof key->text, "%s%s%s", above < 0 ? "" : plain->keys[above].text,
                   above < 0 ? "" : " > ", step);
    plain->n_keys++;
}

/* The blocks that were met get keys; new keys come in the order of what they hang on, then of
 * names, because they are added so. */
static bool settle_plain(struct plain *plain)
{
    static const unsigned by_name[N_TYPES] = {0, 2, 3, 1};
    bool is_any = false;
    for (int above = 0, n = plain->n_keys; above < n; above++)
        for (unsigned k = 0; k < N_TYPES; k++)
            for (uint32_t i = 0; i < plain->heap->n_blocks; i++) {
                unsigned type = by_name[k];
                if (plain->met[i] == above && plain->heap->type[i] == type &&
                    find_plain(plain, above, type_names[type]) < 0)
                    add_plain(plain, above, type_names[type]);
            }
    for (uint32_t i = 0; i < plain->heap->n_blocks; i++)
        if (plain->met[i] >= 0) {
            plain->key[i] = find_plain(plain, plain->met[i], type_names[plain->heap->type[i]]);
            plain->met[i] = -1;
            is_any = true;
        }
    return is_any;
}

static void meet_plain(struct plain *plain, uint32_t block, int key, unsigned tier)
{
    int *met = &plain->met[block];
    if (plain->key[block] < 0 && plain->tier[block] <= tier && (*met < 0 || key < *met))
        *met = key;
}

/* Over all edges from blocks that have a key: what was met before stays. */
static void flood_plain(struct plain *plain, unsigned tier)
{
    const struct heap *heap = plain->heap;
    while (settle_plain(plain))
        for (uint32_t i = 0; i < heap->n_edges; i++) {
            uint32_t source = heap->edges[i].source, target = heap->edges[i].target;
            unsigned worth = hs_edge_tier(heap->edges[i].edge_class);
            worth = worth > plain->tier[source] ? worth : plain->tier[source];
            if (plain->key[source] >= 0 && worth <= plain->tier[target])
                meet_plain(plain, target, plain->key[source], tier);
        }
}

static int root_round(unsigned kind)
{
    return kind == HS_ROOT_GLOBAL ? 0 : kind == HS_ROOT_FINALISER ? 1 : kind == HS_ROOT_TLS ? 2 : 3;
}

struct plain_root {
    char name[16];
    unsigned kind, tier;
};

static int compare_roots(const void *left, const void *right)
{
    const struct plain_root *a = left, *b = right;
    if (a->tier != b->tier)
        return (int)a->tier - (int)b->tier;
    if (a->kind != b->kind)
        return root_round(a->kind) - root_round(b->kind);
    return strcmp(a->name, b->name);
}

static int plain_roots(const struct heap *heap, struct plain_root *roots)
{
    int n = 0;
    for (uint32_t i = 0; i < heap->n_leaves; i++) {
        struct plain_root root = {.kind = heap->leaves[i].kind, .tier = heap->leaves[i].tier};
        (void)snprintf(root.name, sizeof root.name, "%.2s[]", heap->leaves[i].name);
        int same = 0;
        while (same < n &&
               (roots[same].kind != root.kind || strcmp(roots[same].name, root.name) != 0))
            same++;
        if (same == n)
            roots[n++] = root;
        else if (root.tier < roots[same].tier)
            roots[same].tier = root.tier;
    }
    qsort(roots, (size_t)n, sizeof *roots, compare_roots);
    return n;
}

static void search_plainly(struct plain *plain)
{
    const struct heap *heap = plain->heap;
    struct plain_root roots[MOST_LEAVES];
    int n = plain_roots(heap, roots);
    for (int i = 0; i < n; i++)
        add_plain(plain, -1, roots[i].name);
    for (unsigned tier = 0; tier < HS_N_TIERS; tier++) {
        for (uint32_t i = 0; i < heap->n_edges && tier > 0; i++) {
            uint32_t source = heap->edges[i].source, target = heap->edges[i].target;
            unsigned worth = hs_edge_tier(heap->edges[i].edge_class);
            worth = worth > plain->tier[source] ? worth : plain->tier[source];
            if (plain->key[source] >= 0 && worth <= plain->tier[target])
                meet_plain(plain, target, plain->key[source], tier);
        }
        flood_plain(plain, tier);
        for (int round = 0; round < 4; round++) {
            for (uint32_t i = 0; i < heap->n_leaves; i++)
                for (int r = 0; r < n; r++)
                    if (heap->leaves[i].tier == tier && roots[r].kind == heap->leaves[i].kind &&
                        root_round(roots[r].kind) == round &&
                        strncmp(roots[r].name, heap->leaves[i].name, 2) == 0)
                        meet_plain(plain, heap->leaves[i].target, r, tier);
            flood_plain(plain, tier);
        }
    }
}

static struct plain plain_of(const struct heap *heap, const struct made_view *made,
                             const uint32_t *place)
{
    struct plain plain = {.heap = heap};
    for (uint32_t i = 0; i < heap->n_blocks; i++) {
        plain.tier[i] = hs_index_tier(made->view.index, made->view.n_tree + place[i]);
        plain.key[i] = plain.met[i] = -1;
    }
    search_plainly(&plain);
    for (uint32_t i = 0; i < heap->n_blocks; i++)
        if (plain.key[i] >= 0) {
            plain.keys[plain.key[i]].words += heap->words[i];
            plain.keys[plain.key[i]].n++;
        }
    return plain;
}

/* ---- both */

static void check_keys(const struct plain *plain, const struct hs_keys *keys, const uint32_t *place)
{
    char text[TEXT];
    for (int i = 0; i < plain->n_keys; i++) {
        const struct hs_key *key = &keys->keys[i + 1]; /* behind that of all */
        hs_key_text(keys, (uint32_t)i + 1, text, sizeof text);
        assert_string_equal(text, plain->keys[i].text);
        assert_int_equal(key->parent, plain->keys[i].above + 1);
        assert_int_equal(key->own.words, plain->keys[i].words);
        assert_int_equal(key->own.objects, plain->keys[i].n);
        assert_int_equal(key->steps, plain->keys[i].steps);
    }
    uint64_t n_unreached = 0, words = 0;
    for (uint32_t i = 0; i < plain->heap->n_blocks; i++) {
        uint32_t key = keys->of_block[place[i]];
        assert_int_equal(key, plain->key[i] < 0 ? HS_NO_KEY : (uint32_t)plain->key[i] + 1);
        n_unreached += plain->key[i] < 0;
        words += plain->heap->words[i];
    }
    assert_int_equal(keys->keys[0].all.words, words);
    assert_int_equal(keys->keys[0].all.objects, plain->heap->n_blocks);
    const struct hs_key *lost = &keys->keys[plain->n_keys + 1];
    assert_int_equal(keys->n > (size_t)plain->n_keys + 1, n_unreached > 0);
    if (n_unreached > 0) {
        assert_int_equal(lost->form, HS_KEY_UNREACHED);
        assert_int_equal(lost->all.objects, n_unreached);
    }
}

static void check_heap(const struct heap *heap, const uint32_t *place)
{
    struct made_view made = {0};
    struct hs_error err = HS_ERROR_INIT;
    make(heap, place, &made);
    struct plain plain = plain_of(heap, &made, place);
    struct hs_budget budget = {.limit_bytes = UINT64_MAX, .n_threads = 1};
    made.view.session.budget = &budget;
    for (int in_file = 0; in_file < 2; in_file++) {
        const struct hs_keys_query query = {.with_blocks = true, .in_file = in_file};
        struct hs_keys keys;
        assert_int_equal(hs_keys_find(&made.view, &query, &keys, &err), HS_OK);
        check_keys(&plain, &keys, place);
        hs_keys_fini(&keys);
        assert_int_equal(budget.used_bytes, 0);
    }
    made.view.session.budget = NULL;
    made_view_close(&made);
}

static void random_heaps(void **state)
{
    for (uint64_t seed = 1; seed <= 80; seed++) {
        uint64_t random = seed * 123456789;
        struct heap heap = random_heap(&random);
        uint32_t place[MOST_BLOCKS];
        for (uint32_t i = 0; i < heap.n_blocks; i++)
            place[i] = i;
        check_heap(&heap, place);
        for (uint32_t i = heap.n_blocks; i-- > 1;) {
            uint32_t other = hs_random_below(&random, i + 1), kept = place[i];
            place[i] = place[other];
            place[other] = kept;
        }
        check_heap(&heap, place);
    }
}

/* ---- from the file that is kept */

static void check_kept(struct made_view *made)
{
    const struct hs_keys_query query = {0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_keys found, kept;
    bool is_kept;
    assert_int_equal(hs_keys_find(&made->view, &query, &found, &err), HS_OK);
    assert_int_equal(hs_key_file_keys(&made->view, &kept, &is_kept, &err), HS_OK);
    assert_true(is_kept);
    assert_int_equal(found.n, kept.n);
    for (size_t i = 0; i < found.n; i++) {
        const struct hs_key *a = &found.keys[i], *b = &kept.keys[i];
        assert_true(a->parent == b->parent && a->form == b->form && a->set == b->set);
        assert_true(a->own.words == b->own.words && a->all.words == b->all.words &&
                    a->all.objects == b->all.objects);
        assert_string_equal(hs_strtab_get(&found.names, a->name),
                            hs_strtab_get(&kept.names, b->name));
    }
    hs_keys_fini(&found);
    hs_keys_fini(&kept);
}

static void write_table(const char *path, const struct hs_snap_keys *table)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer bytes = {0};
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(hs_snap_keys_encode(table, &bytes, &err), HS_OK);
    assert_int_equal(fwrite(bytes.bytes, 1, bytes.n_bytes, file), bytes.n_bytes);
    assert_int_equal(fclose(file), 0);
    hs_buffer_fini(&bytes);
}

/* Keys that are kept are those that are found, sets and all; of an index that numbers its sets in
 * another way they are not believed. */
static void kept_ones_are_the_same(void **state)
{
    uint64_t random = 99, n_sets = 0;
    for (int i = 0; i < 60; i++) {
        struct heap heap = random_heap(&random);
        uint32_t place[MOST_BLOCKS];
        struct made_view made = {0};
        struct hs_error err = HS_ERROR_INIT;
        struct hs_snap_keys table;
        struct hs_keys kept;
        bool is_kept;
        char *path;
        for (uint32_t k = 0; k < heap.n_blocks; k++)
            place[k] = k;
        make(&heap, place, &made);
        n_sets += hs_index_n_sets(made.view.index);
        const struct hs_key_file_options options = {.session = &made.session};
        assert_int_equal(hs_key_file_keys(&made.view, &kept, &is_kept, &err), HS_OK);
        assert_false(is_kept);
        assert_int_equal(hs_key_file_of(made.path, &options, &table, &path, &err), HS_OK);
        assert_non_null(path);
        check_kept(&made);
        table.facts.sets_hash++;
        write_table(path, &table);
        assert_int_equal(hs_key_file_keys(&made.view, &kept, &is_kept, &err), HS_OK);
        assert_false(is_kept);
        (void)unlink(path);
        hs_free(path);
        hs_snap_keys_fini(&table);
        made_view_close(&made);
    }
    assert_true(n_sets >= 10);
}

static void find(struct made_view *made, struct hs_keys *keys)
{
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_keys_query query = {0};
    assert_int_equal(hs_keys_find(&made->view, &query, keys, &err), HS_OK);
}

/* Levels of one block each, and one level of all at once. */
static void long_and_wide(void **state)
{
    enum { LONG = 100000, WIDE = 200000 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    struct hs_keys keys;
    made_list(b, LONG);
    uint32_t hub = hs_graph_builder_block(b, WIDE, false);
    uint32_t first = hs_graph_builder_blocks(b, WIDE, 2);
    uint32_t type = hs_graph_builder_type(b, "struct leaf", 0, HS_FORM_RECORD);
    for (uint32_t i = 0; i < WIDE; i++) {
        b->blocks[first + i].type = type;
        hs_graph_builder_edge(b, hub, first + i, HS_EDGE_EXACT);
    }
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "hub", hub);
    made_view_open(&made);
    find(&made, &keys);
    assert_int_equal(keys.n, 6); /* all, U.x, hub, U.x > block, hub > block, ... > struct leaf */
    assert_int_equal(keys.keys[3].own.objects, LONG);
    assert_int_equal(keys.keys[5].own.objects, WIDE);
    assert_int_equal(keys.keys[5].parent, 4);
    hs_keys_fini(&keys);
    made_view_close(&made);
}

/* What two variables keep together is of the nearer one, and says by which set it is kept. */
static void shared(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    struct hs_keys keys;
    uint32_t far = hs_graph_builder_blocks(b, 2, 3), both = hs_graph_builder_block(b, 50, false);
    uint32_t below = hs_graph_builder_block(b, 7, false);
    uint32_t type = hs_graph_builder_type(b, "struct text", 0, HS_FORM_RECORD);
    b->blocks[below].type = type;
    hs_graph_builder_edge(b, far, far + 1, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, far + 1, both, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, both, below, HS_EDGE_EXACT);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "a", far);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "z", both);
    made_view_open(&made);
    find(&made, &keys);
    assert_int_equal(keys.n, 6);
    assert_string_equal(hs_strtab_get(&keys.names, keys.keys[4].name), "block");
    assert_int_equal(keys.keys[4].parent, 2);
    assert_int_equal(keys.keys[4].own.words, 50);
    assert_int_equal(keys.keys[3].set, 0);
    assert_int_equal(keys.keys[4].set, 1);
    assert_int_equal(keys.keys[5].set, 1); /* hangs on what the set keeps */
    hs_keys_fini(&keys);
    made_view_close(&made);
}

static void names_of_roots(void **state)
{
    static const char *const names[][2] = {
        {"server.cache[17]", "server.cache[]"},
        {"a[3].b[4][5].c", "a[].b[][].c"},
        {"#12 main slot sp+160", "main slot"},
        {"loop slot sp-8", "loop slot"},
        {".bss+0x380", ".bss+0x380"},
        {"table2", "table2"},
        {"a[]", "a[]"},
        {"#x", "#x"},
        {"a[9", "a[9"},
        {"", ""},
    };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t block = hs_graph_builder_block(b, 3, false), leaves[10];
    for (unsigned i = 0; i < 10; i++)
        leaves[i] = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", names[i][0], block);
    made_view_open(&made);
    for (unsigned i = 0; i < 10; i++) {
        char text[64];
        hs_node leaf = hs_graph_builder_leaf_node(b, leaves[i]);
        hs_key_root_name(&made.view, leaf, text, sizeof text);
        assert_string_equal(text, names[i][1]);
        hs_key_root_name(&made.view, leaf, text, 4);
        assert_true(strlen(text) < 4 && strncmp(text, names[i][1], strlen(text)) == 0);
    }
    made_view_close(&made);
}

/* Numbers of files and timers are another with each connection; a signal's is its name. */
static void what_the_kernel_keeps_has_no_numbers(void **state)
{
    static const char *const names[][3] = {
        {"kernel", "epoll 5 data of file 100", "epoll data of file"},
        {"kernel", "timer 3 value", "timer value"},
        {"kernel", "in pipe or socket 12", "in pipe or socket"},
        {"kernel", "signal 34 value", "signal 34 value"},
        {"kernel", "epoll 5x of", "epoll 5x of"},
        {"m", "epoll 5 data of file 100", "epoll 5 data of file 100"},
    };
    enum { N = sizeof names / sizeof *names };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t block = hs_graph_builder_block(b, 3, false), leaves[N];
    for (unsigned i = 0; i < N; i++)
        leaves[i] =
            hs_graph_builder_leaf(b, HS_ROOT_REGISTERED, names[i][0], "u", names[i][1], block);
    made_view_open(&made);
    for (unsigned i = 0; i < N; i++) {
        char text[64];
        hs_key_root_name(&made.view, hs_graph_builder_leaf_node(b, leaves[i]), text, sizeof text);
        assert_string_equal(text, names[i][2]);
    }
    made_view_close(&made);
}

/* No more steps than are kept, and texts that are cut. */
static void many_types(void **state)
{
    enum { N = 40 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    struct hs_keys keys;
    uint32_t first = hs_graph_builder_blocks(b, N, 2);
    for (uint32_t i = 0; i < N; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "struct t%02u", i);
        b->blocks[first + i].type = hs_graph_builder_type(b, name, 0, HS_FORM_RECORD);
        if (i + 1 < N)
            hs_graph_builder_edge(b, first + i, first + i + 1, HS_EDGE_EXACT);
    }
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "v", first);
    made_view_open(&made);
    find(&made, &keys);
    assert_int_equal(keys.n, 2 + HS_KEY_STEPS);
    assert_int_equal(keys.keys[1 + HS_KEY_STEPS].own.objects, N - HS_KEY_STEPS + 1);
    char text[TEXT], cut[12];
    hs_key_text(&keys, 1 + HS_KEY_STEPS, text, sizeof text);
    assert_int_equal(strlen(text), 1 + HS_KEY_STEPS * strlen(" > struct t00"));
    hs_key_text(&keys, 1 + HS_KEY_STEPS, cut, sizeof cut);
    assert_int_equal(strncmp(cut, text, sizeof cut - 1), 0);
    assert_int_equal(strlen(cut), sizeof cut - 1);
    hs_keys_fini(&keys);
    made_view_close(&made);
}

/* More names of roots than there are keys for. */
static void many_roots(void **state)
{
    enum { N = HS_KEYS_MOST / 2 + 100 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    struct hs_keys keys;
    uint32_t first = hs_graph_builder_blocks(b, N, 3);
    for (uint32_t i = 0; i < N; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "v%06u", i);
        hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", name, first + i);
    }
    made_view_open(&made);
    find(&made, &keys);
    assert_true(keys.is_cut);
    const struct hs_key *others = &keys.keys[HS_KEYS_MOST / 2];
    assert_string_equal(hs_strtab_get(&keys.names, others->name), "[other roots]");
    assert_int_equal(others->all.objects, 101);
    assert_int_equal(keys.keys[0].all.words, 3 * N);
    hs_keys_fini(&keys);
    made_view_close(&made);
}

/* Very many names, each with two types below it, leave keys for large types: below a stack, and
 * below the last of the names. */
static void many_names_and_a_stack(void **state)
{
    enum { N = HS_KEYS_MOST / 2 - 100 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    struct hs_keys keys;
    char text[TEXT];
    unsigned n_there = 0;
    uint32_t types[2] = {hs_graph_builder_type(b, "struct one", 0, HS_FORM_RECORD),
                         hs_graph_builder_type(b, "struct two", 0, HS_FORM_RECORD)};
    uint32_t first = hs_graph_builder_blocks(b, 2 * N + 2, 3);
    for (uint32_t i = 0; i < N + 1; i++) {
        char name[16];
        b->blocks[first + 2 * i].type = types[0];
        b->blocks[first + 2 * i + 1].type = types[1];
        hs_graph_builder_edge(b, first + 2 * i, first + 2 * i + 1, HS_EDGE_EXACT);
        (void)snprintf(name, sizeof name, "v%06u", i);
        hs_graph_builder_leaf(b, i < N ? HS_ROOT_GLOBAL : HS_ROOT_STACK, "m", "u",
                              i < N ? name : "frame", first + 2 * i);
    }
    uint32_t large = hs_graph_builder_blocks(b, 2, 300);
    for (uint32_t i = 0; i < 2; i++) {
        b->blocks[large + i].type = hs_graph_builder_type(b, "struct large", 0, HS_FORM_RECORD);
        hs_graph_builder_edge(b, first + 2 * (N - 1 + i), large + i, HS_EDGE_EXACT);
    }
    made_view_open(&made);
    find(&made, &keys);
    assert_true(keys.is_cut);
    assert_int_equal(keys.n, HS_KEYS_MOST);
    assert_int_equal(keys.keys[0].all.words, 3 * (2 * N + 2) + 2 * 300);
    char last[64];
    (void)snprintf(last, sizeof last, "v%06u > struct one > struct large", N - 1);
    for (uint32_t i = 0; i < keys.n; i++) {
        hs_key_text(&keys, i, text, sizeof text);
        bool is_large =
            strcmp(text, "frame > struct one > struct large") == 0 || strcmp(text, last) == 0;
        n_there += is_large && keys.keys[i].own.words == 300;
        assert_true(i == 0 || keys.keys[i].parent < i);
    }
    assert_int_equal(n_there, 2);
    hs_keys_fini(&keys);
    made_view_close(&made);
}

/* A dict that an object has is not the dict that the object is in; a class in itself by way of one
 * is one step. */
static void classes_and_dicts(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    struct hs_keys keys;
    uint32_t dict = hs_graph_builder_type(b, "dict", 0, HS_FORM_PYTHON);
    uint32_t class = hs_graph_builder_type(b, "__main__.Node", 0, HS_FORM_PYTHON);
    uint32_t text = hs_graph_builder_type(b, "str", 0, HS_FORM_PYTHON);
    const uint32_t types[] = {dict, dict, class, dict, class, dict, text};
    enum { N = sizeof types / sizeof *types };
    uint32_t first = hs_graph_builder_blocks(b, N, 3);
    for (uint32_t i = 0; i < N; i++) {
        b->blocks[first + i].type = types[i];
        if (i > 0)
            hs_graph_builder_edge(b, first + i - 1, first + i, HS_EDGE_EXACT);
    }
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "nodes", first);
    made_view_open(&made);
    find(&made, &keys);
    static const struct {
        const char *text;
        unsigned objects;
    } expected[] = {
        {"nodes > dict", 2},
        {"nodes > dict > __main__.Node", 2},
        {"nodes > dict > __main__.Node > dict", 2},
        {"nodes > dict > __main__.Node > dict > str", 1},
    };
    char found[TEXT];
    assert_int_equal(keys.n, 6);
    for (uint32_t i = 0; i < 4; i++) {
        hs_key_text(&keys, i + 2, found, sizeof found);
        assert_string_equal(found, expected[i].text);
        assert_int_equal(keys.keys[i + 2].own.objects, expected[i].objects);
    }
    hs_keys_fini(&keys);
    made_view_close(&made);
}

static void no_room(void **state)
{
    struct made_view made = {0};
    struct hs_error err = HS_ERROR_INIT;
    const struct hs_keys_query query = {0};
    uint64_t random = 5;
    (void)made_random(&made.builder, &random, 3);
    made_view_open(&made);
    struct hs_budget budget = {.n_threads = 1};
    made.view.session.budget = &budget;
    struct hs_keys keys;
    hs_status status = HS_LIMIT;
    for (; status == HS_LIMIT; budget.limit_bytes += (uint64_t)128 << 10) {
        status = hs_keys_find(&made.view, &query, &keys, &err);
        assert_true(status == HS_OK || status == HS_LIMIT);
        if (status == HS_LIMIT)
            assert_int_equal(budget.used_bytes, 0);
    }
    assert_true(budget.peak_bytes <= budget.limit_bytes);
    hs_keys_fini(&keys);
    made.view.session.budget = NULL;
    made_view_close(&made);
}

static void allocations_fail(void **state)
{
    struct made_view made = {0};
    struct hs_error err = HS_ERROR_INIT;
    uint64_t random = 7;
    (void)made_random(&made.builder, &random, 3);
    made_view_open(&made);
    struct hs_keys first = {0}; /* decoded chunks stay with the view */
    assert_int_equal(hs_keys_find(&made.view, &(const struct hs_keys_query){0}, &first, &err),
                     HS_OK);
    hs_keys_fini(&first);
    for (int in_file = 0; in_file < 2; in_file++)
        FAIL_EACH (each, .at_least = 20) {
            const struct hs_keys_query query = {.with_blocks = true, .in_file = in_file};
            struct hs_keys keys = {0};
            if (FAIL_EACH_TRY(each, hs_keys_find(&made.view, &query, &keys, &err)) == HS_OK)
                hs_keys_fini(&keys);
        }
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_the_kernel_keeps_has_no_numbers),
        cmocka_unit_test(random_heaps),
        cmocka_unit_test(kept_ones_are_the_same),
        cmocka_unit_test(long_and_wide),
        cmocka_unit_test(shared),
        cmocka_unit_test(names_of_roots),
        cmocka_unit_test(many_types),
        cmocka_unit_test(many_roots),
        cmocka_unit_test(many_names_and_a_stack),
        cmocka_unit_test(classes_and_dicts),
        cmocka_unit_test(no_room),
        cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
