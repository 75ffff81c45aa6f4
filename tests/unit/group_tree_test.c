/* links: hs_analysis */
/* Groups and accumulations against their definition, on random heaps; long lists, tables, limits.
 */
#include "analysis/group_tree.h"

#include "unit.h"

#include "analysis/dominator_types.h"
#include "base/alloc.h"
#include "edge_list.h"
#include "fail_each.h"
#include "made_view.h"

/* A group is written as the types on its way, each a digit from 1 on: at most N_TYPES of them. */
enum { N_TYPES = 3, N_CODES = 4 * 4 * 4 * 4, MAX_BLOCKS = 150 };

struct plain_group {
    uint64_t n, own, words;
};

struct plain {
    struct plain_group groups[N_CODES];
    unsigned code_of[MAX_BLOCKS];
};

static unsigned digits_of(unsigned code, unsigned *digits)
{
    unsigned reversed[8], n = 0;
    for (; code != 0; code /= 4)
        reversed[n++] = code % 4;
    for (unsigned i = 0; i < n; i++)
        digits[i] = reversed[n - 1 - i];
    return n;
}

/* The code of a block of a type below a group: the way up to the type when it is on it. */
static unsigned code_below(unsigned code, unsigned digit)
{
    unsigned digits[8], n = digits_of(code, digits), cut = 0;
    for (unsigned i = 0; i < n; i++) {
        cut = cut * 4 + digits[i];
        if (digits[i] == digit)
            return cut;
    }
    return code * 4 + digit;
}

static unsigned plain_code(const struct made_view *made, hs_node top, hs_node node)
{
    hs_node above = hs_index_idom(made->view.index, node);
    unsigned digit =
        made->builder.blocks[node - made->view.n_tree].type + 1; /* blocks are in order */
    if (above < made->view.n_tree)
        return digit;
    return code_below(plain_code(made, top, above), digit);
}

static bool is_below(const struct made_view *made, hs_node top, hs_node node)
{
    for (; node != HS_NO_NODE && node != top; node = hs_index_idom(made->view.index, node))
        if (node == 0)
            return false;
    return node == top;
}

/* By definition. */
static void group_plainly(const struct made_view *made, hs_node top, struct plain *plain)
{
    memset(plain, 0, sizeof *plain);
    for (uint32_t i = 0; i < made->builder.n_blocks; i++) {
        hs_node node = made->view.n_tree + i;
        if (!is_below(made, top, node))
            continue;
        unsigned code = plain->code_of[i] = plain_code(made, top, node), digits[8], cut = 0;
        unsigned n = digits_of(code, digits);
        uint64_t words = made->builder.blocks[i].words;
        plain->groups[code].n++;
        plain->groups[code].own += words;
        plain->groups[0].words += words;
        for (unsigned j = 0; j < n; j++) {
            cut = cut * 4 + digits[j];
            plain->groups[cut].words += words;
        }
    }
}

static unsigned plain_largest(const struct plain *plain, unsigned code)
{
    unsigned best = 0;
    for (unsigned digit = 1; digit <= N_TYPES; digit++) {
        unsigned at = code * 4 + digit;
        if (at < N_CODES && plain->groups[at].n > 0 &&
            (best == 0 || plain->groups[at].words > plain->groups[best].words))
            best = at;
    }
    return best;
}

static void check_steps(const struct plain *plain, const struct hs_accumulation *at,
                        unsigned percent, unsigned *codes)
{
    unsigned code = 0, n = 0;
    for (;;) {
        codes[n] = code;
        assert_true(n < at->n_steps);
        assert_int_equal(at->steps[n].words, plain->groups[code].words);
        assert_int_equal(at->steps[n].n_blocks, plain->groups[code].n);
        assert_int_equal(at->steps[n].own_words, plain->groups[code].own);
        assert_int_equal(at->steps[n++].type, code == 0 ? HS_UNTYPED : code % 4 - 1);
        unsigned next = plain_largest(plain, code);
        if (next == 0 || plain->groups[next].words * 100 < plain->groups[code].words * percent)
            break;
        code = next;
    }
    assert_int_equal(at->n_steps, n);
    unsigned next = plain_largest(plain, code);
    assert_int_equal(at->parts[0].words, next == 0 ? 0 : plain->groups[next].words);
}

/* The group whose number has grown most, of equal ones the first; else the heaviest, of equal ones
 * the last. */
static unsigned plain_members(const struct plain *plain, const unsigned *codes, unsigned n)
{
    unsigned best = 0, heaviest = 1;
    double most = 0;
    for (unsigned i = 1; i < n; i++) {
        double above = i == 1 ? 1 : (double)plain->groups[codes[i - 1]].n;
        double growth = (double)plain->groups[codes[i]].n / above;
        if (growth > most * (1 + 1e-12)) {
            most = growth;
            best = i;
        }
        if (plain->groups[codes[i]].own >= plain->groups[codes[heaviest]].own)
            heaviest = i;
    }
    return n == 1 ? 0 : most >= 2 ? best : heaviest;
}

static int ascending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* The member below one that has seven eighths of all, where none of the others has an eighth of it.
 */
static hs_node below_root(const struct made_view *made, const struct plain *plain, unsigned members,
                          hs_node most, uint64_t n, uint64_t all_words)
{
    struct hs_index *index = made->view.index;
    uint64_t most_words = hs_index_retained(index, most).words, second_words = 0;
    hs_node second = HS_NO_NODE;
    for (uint32_t i = 0; i < made->builder.n_blocks; i++) {
        hs_node node = made->view.n_tree + i;
        if (plain->code_of[i] != members || node == most ||
            hs_index_retained(index, node).words <= second_words)
            continue;
        second = node;
        second_words = hs_index_retained(index, node).words;
    }
    bool is_root = n >= 8 && second != HS_NO_NODE && second_words <= most_words / 8 &&
                   most_words >= all_words - all_words / 8;
    return is_root ? second : most;
}

static void check_members(const struct made_view *made, hs_node top, const struct plain *plain,
                          const struct hs_accumulation *at, unsigned members)
{
    struct hs_index *index = made->view.index;
    uint64_t sizes[MAX_BLOCKS], n = 0, n_direct[MAX_BLOCKS] = {0}, n_at_place = 0;
    hs_node first = made->view.n_tree, most = HS_NO_NODE, point = HS_NO_NODE;
    for (uint32_t i = 0; i < made->builder.n_blocks; i++) {
        hs_node node = first + i;
        if (plain->code_of[i] != members)
            continue;
        sizes[n++] = made->builder.blocks[i].words;
        if (most == HS_NO_NODE ||
            hs_index_retained(index, node).words > hs_index_retained(index, most).words)
            most = node;
        hs_node above = hs_index_idom(index, node);
        if (above < first)
            n_at_place++;
        else
            n_direct[above - first]++;
    }
    uint64_t best = 0;
    for (uint32_t i = 0; i < made->builder.n_blocks; i++)
        if (n_direct[i] > best) {
            best = n_direct[i];
            point = first + i;
        }
    if (n_at_place > best) {
        best = n_at_place;
        point = top;
    }
    qsort(sizes, n, sizeof *sizes, ascending);
    assert_int_equal(at->steps[at->members].n_blocks, n);
    assert_int_equal(at->median_words, sizes[(n - 1) / 2]);
    assert_int_equal(at->largest_words, sizes[n - 1]);
    assert_int_equal(at->top,
                     below_root(made, plain, members, most, n, at->steps[at->members].words));
    assert_int_equal(at->n_direct, best);
    assert_int_equal(at->point, point);
}

/* Checks that each row is the group of the types above it, that what a row hides and shows is what
 * it has, and that no group that is left out has more than a row. */
static void check_rows(struct made_view *made, const struct plain *plain, hs_node top,
                       uint64_t max_rows)
{
    const struct hs_dominator_query query = {.max_depth = UINT64_MAX, .max_rows = max_rows};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dominator_types types;
    unsigned codes[N_CODES], n_groups = 1;
    uint64_t shown[N_CODES] = {0}, n_hidden = 0, least = UINT64_MAX;
    assert_int_equal(hs_dominator_types_select(&made->view, top, 0, &query, &types, &err), HS_OK);
    for (unsigned code = 1; code < N_CODES; code++)
        n_groups += plain->groups[code].n != 0;
    assert_int_equal(types.n, max_rows != 0 && max_rows < n_groups ? max_rows : n_groups);
    for (size_t i = 0; i < types.n; i++) {
        const struct hs_dominator_type *row = &types.rows[i];
        codes[i] = i == 0 ? 0 : codes[row->parent] * 4 + row->type + 1;
        assert_int_equal(row->depth, i == 0 ? 0 : types.rows[row->parent].depth + 1);
        assert_int_equal(row->n_blocks, plain->groups[codes[i]].n);
        assert_int_equal(row->own_words, plain->groups[codes[i]].own);
        assert_int_equal(row->words, plain->groups[codes[i]].words);
        shown[i == 0 ? 0 : row->parent] += i == 0 ? 0 : row->words;
        n_hidden += row->n_hidden;
        least = row->words < least ? row->words : least;
        assert_true(i == 0 || row->place != NULL);
    }
    for (size_t i = 0; i < types.n; i++)
        assert_int_equal(types.rows[i].words,
                         types.rows[i].own_words + shown[i] + types.rows[i].hidden_words);
    assert_true(n_hidden <= n_groups - types.n && (n_hidden != 0 || n_groups == types.n));
    for (unsigned code = 1; code < N_CODES; code++) {
        size_t at = 0;
        while (at < types.n && codes[at] != code)
            at++;
        assert_true(at < types.n || plain->groups[code].words <= least);
    }
    hs_dominator_types_fini(&types);
}

static void check_place(struct made_view *made, const struct hs_group_kinds *kinds,
                        const struct plain *plain, hs_node top, unsigned percent)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_group_place place = {.node = top};
    struct hs_group_tree tree;
    struct hs_accumulation at;
    unsigned codes[HS_GROUP_STEPS + 1];
    assert_int_equal(hs_group_tree_init(kinds, &place, &tree, &err), HS_OK);
    assert_int_equal(tree.groups[0].words, hs_index_retained(made->view.index, top).words);
    assert_int_equal(hs_group_accumulation(&tree, &place, percent, &at, &err), HS_OK);
    hs_group_tree_fini(&tree);
    check_steps(plain, &at, percent, codes);
    assert_int_equal(at.members, plain_members(plain, codes, at.n_steps));
    if (at.members != 0)
        check_members(made, top, plain, &at, codes[at.members]);
}

static void fill_randomly(struct hs_graph_builder *b, uint64_t *random)
{
    uint32_t n = 1 + hs_random_below(random, MAX_BLOCKS);
    bool is_list = hs_random_below(random, 3) == 0;
    for (uint32_t i = 0; i < N_TYPES; i++)
        (void)hs_graph_builder_type(b, "a type", 0, 0);
    for (uint32_t i = 0; i < n; i++) {
        (void)hs_graph_builder_block(b, 2 + hs_random_below(random, 9), false);
        b->blocks[i].type = hs_random_below(random, N_TYPES);
    }
    for (uint32_t i = 1; i < n; i++) {
        uint32_t above = is_list ? i - 1 : hs_random_below(random, i);
        hs_graph_builder_edge(b, above, i, HS_EDGE_EXACT);
        if (hs_random_below(random, 20) == 0)
            hs_graph_builder_edge(b, hs_random_below(random, n), i, HS_EDGE_EXACT);
    }
    hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "m", "u", "v", "v.a", 0);
    for (uint32_t i = 0; i < 3; i++)
        hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "m", "u", "v", "v.b", hs_random_below(random, n));
}

static hs_node variable_of(const struct hs_view *view)
{
    hs_node node = 0;
    while (hs_snap_root(view->snap, node)->level != HS_LEVEL_VARIABLE)
        node++;
    return node;
}

static void random_heaps(void **state)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct made_view made = {0};
        uint64_t random = seed * 987654321;
        fill_randomly(&made.builder, &random);
        made_view_open(&made);
        struct hs_error err = HS_ERROR_INIT;
        struct hs_group_kinds kinds;
        struct plain plain;
        hs_node variable = variable_of(&made.view);
        group_plainly(&made, variable, &plain);
        assert_int_equal(hs_group_kinds_init(&made.view, &kinds, &err), HS_OK);
        for (unsigned percent = 0; percent <= 100; percent += 10)
            check_place(&made, &kinds, &plain, variable, percent);
        hs_group_kinds_fini(&kinds);
        for (uint64_t max_rows = 0; max_rows <= 9; max_rows += 3)
            check_rows(&made, &plain, variable, max_rows);
        made_view_close(&made);
    }
}

static struct hs_accumulation accumulate(struct made_view *made, hs_node node)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_group_place place = {.node = node};
    struct hs_group_kinds kinds;
    struct hs_group_tree tree;
    struct hs_accumulation at = {0};
    assert_int_equal(hs_group_kinds_init(&made->view, &kinds, &err), HS_OK);
    assert_int_equal(hs_group_tree_init(&kinds, &place, &tree, &err), HS_OK);
    assert_int_equal(hs_group_accumulation(&tree, &place, 70, &at, &err), HS_OK);
    hs_group_tree_fini(&tree);
    hs_group_kinds_fini(&kinds);
    return at;
}

/* A list of 200,000 links, each with a text of half its size: one step, whose members are links. */
static void a_long_list(void **state)
{
    enum { N = 200000 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t first = hs_graph_builder_blocks(b, N, 4);
    uint32_t texts = hs_graph_builder_blocks(b, N, 2);
    uint32_t link = hs_graph_builder_type(b, "struct link", 0, HS_FORM_RECORD);
    for (uint32_t i = 0; i < N; i++) {
        b->blocks[first + i].type = link;
        hs_graph_builder_edge(b, first + i, texts + i, HS_EDGE_EXACT);
        if (i + 1 < N)
            hs_graph_builder_edge(b, first + i, first + i + 1, HS_EDGE_EXACT);
    }
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "list", first);
    made_view_open(&made);
    struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, leaf));
    assert_int_equal(at.n_steps, 2);
    assert_int_equal(at.members, 1);
    assert_int_equal(at.steps[1].type, link);
    assert_int_equal(at.steps[1].n_blocks, N);
    assert_int_equal(at.steps[1].words, N * 6);
    assert_int_equal(at.median_words, 4);
    assert_int_equal(at.top, hs_graph_builder_node(b, first));
    assert_int_equal(at.n_direct, 1);
    assert_int_equal(at.parts[0].n_blocks, N);
    made_view_close(&made);
}

/* struct cache -> entry *[] -> 500 entries -> a text each, which has most: the entries hang on the
 * array. Texts and sizes without a type are one. */
static void a_table(void **state)
{
    enum { N = 500 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t cache = hs_graph_builder_block(b, 3, false);
    uint32_t array = hs_graph_builder_type(b, "entry *[]", 0, HS_FORM_POINTER);
    uint32_t entry = hs_graph_builder_type(b, "struct entry", 0, HS_FORM_RECORD);
    uint32_t small = hs_graph_builder_type(b, "block of 800 bytes", 0, HS_FORM_BYTES);
    uint32_t large = hs_graph_builder_type(b, "block of 1600 bytes", 0, HS_FORM_BYTES);
    uint32_t slots = hs_graph_builder_block(b, N, false);
    b->blocks[slots].type = array;
    hs_graph_builder_edge(b, cache, slots, HS_EDGE_EXACT);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t one = hs_graph_builder_block(b, 3, false);
        uint32_t text = hs_graph_builder_block(b, i % 5 == 0 ? 200 : 100, false);
        b->blocks[one].type = entry;
        b->blocks[text].type = i % 5 == 0 ? large : small;
        hs_graph_builder_edge(b, slots, one, HS_EDGE_EXACT);
        hs_graph_builder_edge(b, one, text, HS_EDGE_EXACT);
    }
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "cache", cache);
    made_view_open(&made);
    struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, leaf));
    assert_int_equal(at.n_steps, 5);
    assert_int_equal(at.steps[at.members].type, entry);
    assert_int_equal(at.point, hs_graph_builder_node(b, slots));
    assert_int_equal(at.n_direct, N);
    assert_int_equal(at.steps[4].type, HS_UNTYPED);
    assert_int_equal(at.steps[4].n_blocks, N);
    made_view_close(&made);
}

/* A dict of 100 exceptions, each with a traceback of three frames with dicts of their own: the
 * dicts are more, but it is exceptions that somebody kept; what most of them is are dicts. */
static void a_class_behind_dicts(void **state)
{
    enum { N = 100, FRAMES = 3, KEY_WORDS = 30 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    const uint32_t dict = hs_graph_builder_type(b, "dict", 0, HS_FORM_PYTHON),
                   keys = hs_graph_builder_type(b, "dict keys", 0, HS_FORM_PYTHON),
                   error = hs_graph_builder_type(b, "ValueError", 0, HS_FORM_PYTHON),
                   frame = hs_graph_builder_type(b, "frame", 0, HS_FORM_PYTHON);
    uint32_t all = hs_graph_builder_block(b, 8, false), all_keys;
    b->blocks[all].type = dict;
    all_keys = hs_graph_builder_block(b, N, false);
    b->blocks[all_keys].type = keys;
    hs_graph_builder_edge(b, all, all_keys, HS_EDGE_EXACT);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t above = hs_graph_builder_block(b, 12, false);
        b->blocks[above].type = error;
        hs_graph_builder_edge(b, all_keys, above, HS_EDGE_EXACT);
        for (uint32_t at = 0; at < FRAMES; at++) {
            uint32_t one = hs_graph_builder_blocks(b, 3, KEY_WORDS);
            b->blocks[one].type = frame;
            b->blocks[one + 1].type = dict;
            b->blocks[one + 2].type = keys;
            b->blocks[one].words = b->blocks[one + 1].words = 8;
            hs_graph_builder_edge(b, above, one, HS_EDGE_EXACT);
            hs_graph_builder_edge(b, one, one + 1, HS_EDGE_EXACT);
            hs_graph_builder_edge(b, one + 1, one + 2, HS_EDGE_EXACT);
            above = one;
        }
    }
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "failed", all);
    made_view_open(&made);
    struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, leaf));
    assert_int_equal(at.steps[at.members].type, error);
    assert_int_equal(at.steps[at.members].n_blocks, N);
    assert_int_equal(at.steps[at.members].words, N * (12 + FRAMES * (8 + 8 + KEY_WORDS)));
    assert_int_equal(at.point, hs_graph_builder_node(b, all_keys));
    assert_int_equal(at.bulk.type, dict); /* with its keys, which are a part of it */
    assert_int_equal(at.bulk.n_blocks, N * FRAMES);
    assert_int_equal(at.bulk.own_words, N * FRAMES * (8 + KEY_WORDS));
    made_view_close(&made);
}

/* Adds reports of rows, each with what a library knows of it, in two dicts; `has_rows`: the rows
 * are objects of the program. */
static void add_reports(struct hs_graph_builder *b, bool has_rows, uint32_t row, uint32_t state)
{
    enum { N = 8, ROWS = 20 };
    const uint32_t dict = hs_graph_builder_type(b, "dict", 0, HS_FORM_PYTHON),
                   list = hs_graph_builder_type(b, "list", 0, HS_FORM_PYTHON),
                   report = hs_graph_builder_type(b, "__main__.Report", 0, HS_FORM_PYTHON);
    uint32_t all = hs_graph_builder_block(b, N, false);
    b->blocks[all].type = list;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t one = hs_graph_builder_block(b, 8, false);
        b->blocks[one].type = report;
        hs_graph_builder_edge(b, all, one, HS_EDGE_EXACT);
        for (uint32_t k = 0; k < ROWS; k++) {
            uint32_t of = hs_graph_builder_blocks(b, 4, 12);
            b->blocks[of].type = state;
            b->blocks[of].words = 4;
            b->blocks[of + 1].type = b->blocks[of + 2].type = dict;
            b->blocks[of + 1].words = b->blocks[of + 2].words = 8;
            b->blocks[of + 3].type = has_rows ? row : dict;
            hs_graph_builder_edge(b, one, of, HS_EDGE_EXACT);
            hs_graph_builder_edge(b, of, of + 1, HS_EDGE_EXACT);
            hs_graph_builder_edge(b, of, of + 2, HS_EDGE_EXACT);
            hs_graph_builder_edge(b, has_rows ? one : of, of + 3, HS_EDGE_EXACT);
        }
    }
    (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "reports", all);
}

/* Dicts that objects have a few of are told by the objects, a library's by as many of the
 * program. */
static void objects_before_their_dicts(void **state)
{
    for (int has_rows = 0; has_rows < 2; has_rows++) {
        struct made_view made = {0};
        struct hs_graph_builder *b = &made.builder;
        const uint32_t row = hs_graph_builder_type(b, "__main__.Row", 0, HS_FORM_PYTHON),
                       known = hs_graph_builder_type(b, "orm.State", 0, HS_FORM_PYTHON);
        add_reports(b, has_rows != 0, row, known);
        made_view_open(&made);
        struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, 0));
        assert_int_equal(at.steps[at.members].n_blocks, 8);
        assert_int_equal(at.bulk.type, has_rows ? row : known);
        assert_int_equal(at.bulk.n_blocks, 8 * 20);
        made_view_close(&made);
    }
}

/* Objects of a library of which no more than a name is known take the place of what hangs on them,
 * unless they are the members themselves. All of it counts as unknown. */
static void opaque_objects_before_what_hangs_on_them(void **state)
{
    enum { N = 50, BELOW = 3, BYTES = 40 };
    for (int is_in_records = 0; is_in_records < 2; is_in_records++) {
        struct made_view made = {0};
        struct hs_graph_builder *b = &made.builder;
        const uint32_t record = hs_graph_builder_type(b, "struct peer", 0, HS_FORM_RECORD),
                       cert = hs_graph_builder_type(b, "X509" HS_TYPE_OPAQUE, 0, HS_FORM_RECORD),
                       bytes = hs_graph_builder_type(b, "block of 320 bytes", 0, HS_FORM_BYTES);
        uint32_t all = hs_graph_builder_block(b, N, false);
        b->blocks[all].type = record;
        for (uint32_t i = 0; i < N; i++) {
            uint32_t above = all, one;
            if (is_in_records) {
                one = hs_graph_builder_block(b, 8, false);
                b->blocks[one].type = record;
                hs_graph_builder_edge(b, all, one, HS_EDGE_EXACT);
                above = one;
            }
            one = hs_graph_builder_blocks(b, 1 + BELOW, BYTES);
            b->blocks[one].type = cert;
            b->blocks[one].words = 10;
            hs_graph_builder_edge(b, above, one, HS_EDGE_EXACT);
            for (uint32_t at = 1; at <= BELOW; at++) {
                b->blocks[one + at].type = bytes;
                hs_graph_builder_edge(b, one, one + at, HS_EDGE_EXACT);
            }
        }
        uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "peers", all);
        made_view_open(&made);
        struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, leaf));
        assert_int_equal(at.steps[at.members].type, is_in_records ? record : cert);
        assert_int_equal(at.bulk.n_blocks, is_in_records ? N : 0);
        if (is_in_records) {
            assert_int_equal(at.bulk.type, cert);
            assert_int_equal(at.bulk.own_words, N * 10);
            assert_int_equal(at.bulk.words, N * (10 + BELOW * BYTES));
        }
        made_view_close(&made);
    }
}

/* A map's nodes and its values are as many: values tell what they are. Two levels of a class in
 * nodes of the same container fold all the same. */
static void values_before_nodes(void **state)
{
    enum { N = 60 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    const uint32_t node =
                       hs_graph_builder_type(b, "std::map<int, Order *>::node", 0, HS_FORM_RECORD),
                   order = hs_graph_builder_type(b, "Order", 0, HS_FORM_RECORD);
    uint32_t map = hs_graph_builder_block(b, 6, false), above = map;
    for (uint32_t i = 0; i < N; i++) {
        uint32_t one = hs_graph_builder_blocks(b, 2, 6);
        b->blocks[one].type = node;
        b->blocks[one + 1].type = order;
        hs_graph_builder_edge(b, i % 2 == 0 ? map : above, one, HS_EDGE_EXACT);
        hs_graph_builder_edge(b, one, one + 1, HS_EDGE_EXACT);
        above = one + 1;
    }
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "orders", map);
    made_view_open(&made);
    struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, leaf));
    assert_int_equal(at.steps[at.members].type, order);
    assert_int_equal(at.steps[at.members].n_blocks, N);
    made_view_close(&made);
}

/* Contexts of one size, each in another, and the memory in the innermost: that one is told. */
static void one_in_another(void **state)
{
    enum { N = 3, CHUNKS = 100 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t contexts = hs_graph_builder_blocks(b, N, 28);
    uint32_t chunks = hs_graph_builder_blocks(b, 2 * CHUNKS, 8);
    for (uint32_t i = 0; i < N; i++) {
        static const char *const names[N] = {"MemoryContext Top", "MemoryContext Cache",
                                             "MemoryContext Plan"};
        b->blocks[contexts + i].type = hs_graph_builder_type(b, names[i], 0, HS_FORM_RECORD);
        if (i + 1 < N)
            hs_graph_builder_edge(b, contexts + i, contexts + i + 1, HS_EDGE_EXACT);
    }
    const uint32_t halves[2] = {hs_graph_builder_type(b, "struct key", 0, HS_FORM_RECORD),
                                hs_graph_builder_type(b, "struct value", 0, HS_FORM_RECORD)};
    for (uint32_t i = 0; i < 2 * CHUNKS; i++) {
        b->blocks[chunks + i].type = halves[i % 2];
        hs_graph_builder_edge(b, contexts + N - 1, chunks + i, HS_EDGE_EXACT);
    }
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "Top", contexts);
    made_view_open(&made);
    struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, leaf));
    assert_int_equal(at.n_steps, N + 1);
    assert_int_equal(at.members, N);
    assert_int_equal(at.top, hs_graph_builder_node(b, contexts + N - 1));
    assert_int_equal(at.parts[0].n_blocks, CHUNKS);
    made_view_close(&made);
}

/* A widget that has all others in a list of its own: one of these says where they are. Objects of a
 * class are as large as they and their attributes are. */
static void a_root_of_its_class(void **state)
{
    enum { N = 100, ATTRIBUTE_WORDS = 6 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    const uint32_t widget = hs_graph_builder_type(b, "__main__.Widget", 0, HS_FORM_PYTHON),
                   values =
                       hs_graph_builder_type(b, "attributes of __main__.Widget", 0, HS_FORM_PYTHON),
                   list = hs_graph_builder_type(b, "list", 0, HS_FORM_PYTHON),
                   items = hs_graph_builder_type(b, "list items", 0, HS_FORM_PYTHON);
    uint32_t root = hs_graph_builder_blocks(b, 4, N), first;
    const uint32_t types[] = {widget, values, list, items};
    for (uint32_t i = 0; i < 4; i++)
        b->blocks[root + i].type = types[i];
    for (uint32_t i = 0; i < 3; i++)
        hs_graph_builder_edge(b, root + i, root + i + 1, HS_EDGE_EXACT);
    first = hs_graph_builder_blocks(b, 2 * N, ATTRIBUTE_WORDS);
    for (uint32_t i = first; i < first + 2 * N; i += 2) {
        b->blocks[i].type = widget;
        b->blocks[i + 1].type = values;
        b->blocks[i].words = 4;
        hs_graph_builder_edge(b, root + 3, i, HS_EDGE_EXACT);
        hs_graph_builder_edge(b, i, i + 1, HS_EDGE_EXACT);
    }
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "root", root);
    made_view_open(&made);
    struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, leaf));
    assert_int_equal(at.steps[at.members].type, widget);
    assert_int_equal(at.steps[at.members].n_blocks, N + 1);
    assert_int_equal(at.median_words, 4 + ATTRIBUTE_WORDS);
    assert_in_range(at.top, hs_graph_builder_node(b, first),
                    hs_graph_builder_node(b, first + 2 * N - 1));
    made_view_close(&made);
}

/* Connections in a list, with memory of C that two of them lead to: that hangs on the list, which
 * leads to objects alone, and is told as theirs. */
static void entries_that_share(void **state)
{
    enum { N = 40, OWN_WORDS = 6, SHARED_WORDS = 90 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    const uint32_t list = hs_graph_builder_type(b, "list", 0, HS_FORM_PYTHON),
                   items = hs_graph_builder_type(b, "list items", 0, HS_FORM_PYTHON),
                   connection = hs_graph_builder_type(b, "sqlite3.Connection", 0, HS_FORM_PYTHON),
                   block = hs_graph_builder_type(b, "block of 720 bytes", 0, HS_FORM_BYTES);
    uint32_t all = hs_graph_builder_blocks(b, 2, N), first;
    b->blocks[all].type = list;
    b->blocks[all + 1].type = items;
    hs_graph_builder_edge(b, all, all + 1, HS_EDGE_EXACT);
    first = hs_graph_builder_blocks(b, 2 * N, SHARED_WORDS);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t entry = first + 2 * i, other = first + 2 * ((i + 1) % N);
        b->blocks[entry].type = connection;
        b->blocks[entry].words = OWN_WORDS;
        b->blocks[entry + 1].type = block;
        hs_graph_builder_edge(b, all + 1, entry, HS_EDGE_EXACT);
        hs_graph_builder_edge(b, entry, entry + 1, HS_EDGE_EXACT);
        hs_graph_builder_edge(b, other, entry + 1, HS_EDGE_EXACT);
    }
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "all", all);
    made_view_open(&made);
    struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, leaf));
    assert_int_equal(at.steps[at.members].type, connection);
    assert_int_equal(at.steps[at.members].n_blocks, N);
    assert_int_equal(at.steps[at.members].words, N * (OWN_WORDS + SHARED_WORDS));
    assert_int_equal(at.bulk.n_blocks, N);
    assert_int_equal(at.bulk.own_words, N * SHARED_WORDS);
    made_view_close(&made);
}

/* A chain of more types than steps are kept, and the memory that it takes. */
static void many_types(void **state)
{
    enum { N = 300 };
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    struct hs_budget budget = {.limit_bytes = 64 << 10};
    uint32_t first = hs_graph_builder_blocks(b, N, 2);
    for (uint32_t i = 0; i < N; i++) {
        b->blocks[first + i].type = hs_graph_builder_type(b, "a type", 0, 0);
        if (i + 1 < N)
            hs_graph_builder_edge(b, first + i, first + i + 1, HS_EDGE_EXACT);
    }
    uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u", "v", first);
    made_view_open(&made);
    made.view.session.budget = &budget;
    struct hs_accumulation at = accumulate(&made, hs_graph_builder_leaf_node(b, leaf));
    assert_int_equal(at.n_steps, HS_GROUP_STEPS + 1);
    assert_int_equal(at.steps[HS_GROUP_STEPS].n_blocks, 1); /* the rest is below it, uncounted */
    assert_int_equal(at.steps[HS_GROUP_STEPS].own_words, 2 * (N - HS_GROUP_STEPS + 1));
    assert_int_equal(budget.used_bytes, 0);
    struct hs_group_kinds kinds = {0};
    struct hs_error err = HS_ERROR_INIT;
    budget.limit_bytes = 100;
    assert_int_equal(hs_group_kinds_init(&made.view, &kinds, &err), HS_LIMIT);
    assert_int_equal(budget.used_bytes, 0);
    made.view.session.budget = NULL;
    made_view_close(&made);
}

static void allocations_fail(void **state)
{
    struct made_view made = {0};
    struct hs_error err = HS_ERROR_INIT;
    uint64_t random = 5;
    fill_randomly(&made.builder, &random);
    made_view_open(&made);
    const struct hs_suspect_query query = {.max_rows = 10, .follow_percent = 70};
    struct hs_suspects first = {0}; /* decoded chunks stay with the view */
    assert_int_equal(hs_suspects_find(&made.view, &query, &first, &err), HS_OK);
    assert_int_equal(first.n, 1);
    hs_suspects_fini(&first);
    FAIL_EACH (each, .at_least = 8, .may_do_without = true) {
        struct hs_suspects found = {0};
        hs_status status = FAIL_EACH_TRY(each, hs_suspects_find(&made.view, &query, &found, &err));
        assert_true(status == HS_OK || status == HS_LIMIT);
        hs_suspects_fini(&found);
    }
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_heaps),
        cmocka_unit_test(a_long_list),
        cmocka_unit_test(a_table),
        cmocka_unit_test(a_class_behind_dicts),
        cmocka_unit_test(objects_before_their_dicts),
        cmocka_unit_test(opaque_objects_before_what_hangs_on_them),
        cmocka_unit_test(values_before_nodes),
        cmocka_unit_test(one_in_another),
        cmocka_unit_test(a_root_of_its_class),
        cmocka_unit_test(entries_that_share),
        cmocka_unit_test(many_types),
        cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
