/* The two tables of `export --to graph` become a snapshot again.
 *
 *   nodes.tsv   id address words static type idom retained_words tier     ids count from 0
 *   edges.tsv   from to offset strength class tier used     in any order (edge_order.h)
 *
 * Tables may be made by others too: of idom, retained_words, used and an edge's tier nothing is
 * read, and they may be missing, and so may classes (then exact, or weak), tiers of roots, and
 * strengths (then strong) and offsets (then an edge's place among those of its source). What has no
 * words is part of the root tree; its parent and its targets are edges; a tree that is not laid out
 * as ours is turned into one (free_roots.h). The tables say nothing of how wide a word is: 8 bytes,
 * or 4 or 1 when blocks of 8 would overlap, or when offsets are not multiples of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/strtab.h"
#include "edge_order.h"
#include "free_roots.h"
#include "json_scan.h"
#include "readers.h"
#include "snapshot/reader.h"

enum { LABEL_BYTES = 1024 };

struct lines {
    struct hs_map map;
    size_t at;
    uint64_t number;
    unsigned n_columns; /* of its header */
};

struct node_row {
    uint64_t id, address, words;
    bool is_static;
    const char *type;
    size_t n_type;
    uint8_t tier; /* of a leaf of the root tree; 0 when the table does not say */
};

struct tables {
    struct maker *maker;
    struct lines nodes, edges;
    struct hs_strtab types; /* number N is type N; 0 has no name */
    bool is_sorted;         /* edges come from `order`: they did not stand by their source */
    struct edge_order order;
    uint64_t n_chunk_most; /* edges of one chunk */
    uint64_t n_left_out;   /* edges to roots that are no part of their tree */
    struct edge_row next;  /* the first edge of the block behind */
    bool has_next;
    uint64_t n_tree, n_blocks; /* rows: of roots, of blocks */
    bool is_free;              /* the roots do not stand as ours do */
    struct free_roots roots;   /* then */
};

/* ---- lines ---- */

static hs_status lines_open(const char *directory, const char *name, struct lines *ret,
                            struct hs_error *err)
{
    char path[4096];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return hs_fail(err, HS_USAGE, "the name '%s' is too long", directory);
    return hs_map_open(path, &ret->map, err);
}

/* The next line without its end; false at the end of the file. */
static bool line_next(struct lines *lines, const char **ret, size_t *ret_n)
{
    size_t left = lines->map.n_bytes - lines->at;
    if (left == 0) /* an empty file is not mapped */
        return false;
    const char *begin = (const char *)lines->map.bytes + lines->at;
    const char *end = memchr(begin, '\n', left);
    size_t n = end != NULL ? (size_t)(end - begin) : left;
    lines->at += n + (end != NULL);
    lines->number++;
    *ret = begin;
    *ret_n = n;
    return true;
}

struct cells {
    const char *at, *end;
    bool failed;
};

static const char *cell_next(struct cells *cells, size_t *ret_n)
{
    const char *begin = cells->at;
    if (begin == NULL) {
        cells->failed = true;
        *ret_n = 0;
        return "";
    }
    const char *tab = memchr(begin, '\t', (size_t)(cells->end - begin));
    *ret_n = (size_t)((tab != NULL ? tab : cells->end) - begin);
    cells->at = tab != NULL ? tab + 1 : NULL;
    return begin;
}

static unsigned digit_of(char c)
{
    unsigned letter = ((unsigned char)c | 0x20u) - 'a';
    return (unsigned)c - '0' < 10 ? (unsigned)c - '0' : letter < 6 ? letter + 10 : 16;
}

static uint64_t cell_number(struct cells *cells)
{
    size_t n;
    const char *text = cell_next(cells, &n);
    unsigned base = n > 2 && text[0] == '0' && text[1] == 'x' ? 16 : 10;
    uint64_t value = 0;
    cells->failed |= n == 0;
    for (size_t i = base == 16 ? 2 : 0; i < n; i++) {
        unsigned digit = digit_of(text[i]);
        cells->failed |= digit >= base || __builtin_mul_overflow(value, base, &value) ||
                         __builtin_add_overflow(value, digit, &value);
    }
    return value;
}

static hs_status row_fail(const struct lines *lines, const char *what, struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "line %llu of its %s", (unsigned long long)lines->number, what);
}

/* The tier of a node, three cells on; 0 when there is none: it is no failure, also not what is
 * none.
 */
static uint8_t cell_tier(struct cells cells)
{
    const char *text = "";
    size_t n = 0;
    for (int i = 0; i < 3; i++)
        text = cell_next(&cells, &n);
    bool is_tier = !cells.failed && n == 1 && text[0] >= '0' && text[0] < '0' + HS_N_TIERS;
    return is_tier ? (uint8_t)(text[0] - '0') : HS_TIER_FIRM;
}

/* The class of an edge in the next cell, if it is one of such a strength. */
static uint8_t cell_class(struct cells cells, bool is_strong)
{
    size_t n;
    const char *text = cell_next(&cells, &n);
    for (uint8_t i = 0; !cells.failed && i < HS_N_EDGE_CLASSES; i++) {
        const char *name = hs_edge_class_name(i);
        bool may_be = is_strong ? i <= HS_EDGE_EPHEMERON : i > HS_EDGE_EPHEMERON;
        if (may_be && strlen(name) == n && memcmp(name, text, n) == 0)
            return i;
    }
    return is_strong ? HS_EDGE_EXACT : HS_EDGE_WEAK;
}

/* False at the end, with *status set. */
static bool node_next(struct tables *t, struct node_row *ret, hs_status *status,
                      struct hs_error *err)
{
    const char *text;
    size_t n;
    if (!line_next(&t->nodes, &text, &n))
        return false;
    struct cells cells = {.at = text, .end = text + n};
    ret->id = cell_number(&cells);
    ret->address = cell_number(&cells);
    ret->words = cell_number(&cells);
    ret->is_static = cell_number(&cells) != 0;
    ret->type = cell_next(&cells, &ret->n_type);
    ret->tier = cell_tier(cells);
    if (!cells.failed && ret->id == t->nodes.number - 2)
        return true;
    *status = row_fail(&t->nodes, "nodes is malformed or out of order", err);
    return false;
}

static bool has_offsets(const struct tables *t)
{
    return t->edges.n_columns > 2;
}

static bool edge_parse(struct tables *t, struct edge_row *ret, hs_status *status,
                       struct hs_error *err)
{
    const char *text, *strength = "strong";
    size_t n, n_strength = 6;
    if (!line_next(&t->edges, &text, &n))
        return false;
    struct cells cells = {.at = text, .end = text + n};
    ret->from = cell_number(&cells);
    ret->to = cell_number(&cells);
    ret->offset = has_offsets(t) ? cell_number(&cells) : 0;
    if (t->edges.n_columns > 3)
        strength = cell_next(&cells, &n_strength);
    ret->is_strong = n_strength == 6 && memcmp(strength, "strong", 6) == 0;
    ret->edge_class = cell_class(cells, ret->is_strong);
    ret->line = t->edges.number;
    uint64_t n_nodes = t->n_tree + t->n_blocks;
    if (!cells.failed && ret->from < n_nodes && ret->to < n_nodes)
        return true;
    *status = row_fail(&t->edges, "edges is malformed", err);
    return false;
}

static bool edge_next(struct tables *t, struct edge_row *ret, hs_status *status,
                      struct hs_error *err)
{
    if (!t->is_sorted)
        return edge_parse(t, ret, status, err);
    bool is_there = edge_order_next(&t->order, ret, status, err);
    t->edges.number = is_there ? ret->line : t->edges.number;
    return is_there;
}

/* Hexadecimal digits in [at, end), at most `most`; moves behind them. */
static uint32_t take_hex(const char **at, const char *end, size_t most)
{
    uint32_t code = 0;
    for (; *at < end && most != 0 && digit_of(**at) < 16; most--)
        code = code << 4 | digit_of(*(*at)++);
    return code;
}

/* An escape as `export` writes them, at *at behind its backslash: t, n, r, backslash, xNN for a
 * byte, u{N} for a code point. */
static size_t take_escape(const char **at, const char *end, char *to)
{
    static const char letters[] = "tnr", meant[] = "\t\n\r";
    char c = *(*at)++;
    const char *letter = c == 0 ? NULL : strchr(letters, c);
    to[0] = letter != NULL ? meant[letter - letters] : c;
    if (c == 'x')
        to[0] = (char)take_hex(at, end, 2);
    if (c != 'u' || *at == end || **at != '{')
        return 1;
    ++*at;
    size_t n = hs_scan_utf8(take_hex(at, end, 6), to);
    *at += *at < end && **at == '}';
    return n;
}

/* A label as it was; cut to the room. */
static size_t label_restore(const char *text, size_t n, char *to, size_t room)
{
    const char *at = text, *end = text + n;
    size_t used = 0;
    while (at < end && used + 4 <= room)
        if (*at++ != '\\' || at == end)
            to[used++] = at[-1];
        else
            used += take_escape(&at, end, to + used);
    return used;
}

static void lines_rewind(struct lines *lines)
{
    const char *header;
    size_t n;
    lines->at = 0;
    lines->number = 0;
    if (!line_next(lines, &header, &n))
        return;
    lines->n_columns = 1;
    for (size_t i = 0; i < n; i++)
        lines->n_columns += header[i] == '\t';
}

static hs_status edges_rewind(struct tables *t, struct hs_error *err)
{
    if (t->is_sorted)
        return edge_order_begin(&t->order, err);
    lines_rewind(&t->edges);
    return HS_OK;
}

/* ---- the root tree ---- */

/* Adds a node of the tree; what the tables do not say of a leaf is unknown: its kind is that of the
 * node below all. */
static hs_status tree_node(struct tables *t, const struct node_row *row, struct hs_error *err)
{
    hs_str name;
    char label[LABEL_BYTES];
    size_t n = label_restore(row->type, row->n_type, label, sizeof label);
    HS_TRY(maker_name(t->maker, "", label, n, &name, err));
    HS_TRY(maker_group(t->maker, 0, HS_ROOT_GLOBAL, name, NULL, err));
    t->maker->roots[row->id].level = row->id == 0 ? HS_LEVEL_ALL : HS_N_LEVELS;
    t->maker->roots[row->id].address = row->address;
    t->maker->roots[row->id].tier = row->tier;
    return HS_OK;
}

static unsigned kind_named(const char *group)
{
    for (unsigned kind = 0; kind < HS_N_ROOT_KINDS; kind++)
        if (strcmp(group, hs_root_group_name(kind)) == 0)
            return kind;
    return HS_ROOT_GLOBAL;
}

static uint8_t leaf_class(const struct edge_row *edge)
{
    return edge->edge_class <= HS_EDGE_GUESSED ? edge->edge_class : HS_EDGE_EXACT;
}

/* False when the tree is not one of ours. */
static bool tree_edge(struct tables *t, const struct edge_row *edge)
{
    struct hs_root *from = &t->maker->roots[edge->from];
    if (edge->to >= t->n_tree) {
        if (from->target != HS_NO_NODE)
            return false;
        from->target = edge->to;
        from->weak = !edge->is_strong;
        from->edge_class = leaf_class(edge);
        return true;
    }
    struct hs_root *to = &t->maker->roots[edge->to];
    if (edge->to <= edge->from || to->level != HS_N_LEVELS || from->level >= HS_LEVEL_LEAF)
        return false;
    to->parent = edge->from;
    to->level = from->level + 1;
    to->kind = from->kind;
    if (to->level == HS_LEVEL_KIND)
        to->kind = (uint8_t)kind_named(hs_strtab_get(&t->maker->strings, to->name));
    to->module = to->level == HS_LEVEL_MODULE ? to->name : from->module;
    return true;
}

/* A leaf below a unit has got the level of a variable until its target is seen; then it may have
 * nothing below it. Parents come first. */
static bool tree_close(struct tables *t)
{
    for (uint64_t i = 0; i < t->n_tree; i++) {
        struct hs_root *root = &t->maker->roots[i];
        if (root->target != HS_NO_NODE && root->level == HS_LEVEL_VARIABLE)
            root->level = HS_LEVEL_LEAF;
        if (root->level == HS_N_LEVELS ||
            (i != 0 && t->maker->roots[root->parent].level >= HS_LEVEL_LEAF) ||
            (root->target != HS_NO_NODE) > (root->level == HS_LEVEL_LEAF))
            return false;
    }
    return true;
}

/* The edges of roots stand before all others; `take` may be NULL. */
static hs_status tree_edges(struct tables *t,
                            hs_status (*take)(struct tables *, const struct edge_row *,
                                              struct hs_error *),
                            struct hs_error *err)
{
    hs_status status = HS_OK;
    HS_TRY(edges_rewind(t, err));
    while ((t->has_next = edge_next(t, &t->next, &status, err)) && t->next.from < t->n_tree)
        HS_TRY(take(t, &t->next, err));
    return status;
}

static hs_status strict_take(struct tables *t, const struct edge_row *edge, struct hs_error *err)
{
    (void)err;
    t->is_free |= !t->is_free && !tree_edge(t, edge);
    return HS_OK;
}

static hs_status free_count(struct tables *t, const struct edge_row *edge, struct hs_error *err)
{
    (void)err;
    if (edge->to >= t->n_tree) {
        free_roots_hold(&t->roots, edge->from);
        return HS_OK;
    }
    t->n_left_out += !free_roots_below(&t->roots, edge->from, edge->to);
    return HS_OK;
}

/* Targets are rows until all roots are made. */
static hs_status free_take(struct tables *t, const struct edge_row *edge, struct hs_error *err)
{
    const struct hs_root root = {
        .target = edge->to, .weak = !edge->is_strong, .edge_class = leaf_class(edge)};
    return edge->to < t->n_tree ? HS_OK : free_roots_leaf(&t->roots, edge->from, &root, err);
}

/* The node of a block, of its row. */
static hs_node block_node(const struct tables *t, uint64_t row)
{
    return row - t->n_tree + t->maker->n_roots;
}

static hs_status tree_read(struct tables *t, struct hs_error *err)
{
    HS_TRY(tree_edges(t, strict_take, err));
    t->is_free |= !tree_close(t);
    if (!t->is_free) {
        for (uint64_t i = 0; i < t->n_tree; i++)
            if (t->maker->roots[i].level != HS_LEVEL_LEAF)
                t->maker->roots[i].tier = HS_TIER_FIRM;
        return HS_OK;
    }
    HS_TRY(free_roots_init(t->maker, &t->roots, err));
    HS_TRY(tree_edges(t, free_count, err));
    HS_TRY(free_roots_begin(&t->roots, err));
    HS_TRY(tree_edges(t, free_take, err));
    for (size_t i = 0; i < t->maker->n_roots; i++)
        if (t->maker->roots[i].target != HS_NO_NODE)
            t->maker->roots[i].target = block_node(t, t->maker->roots[i].target);
    return HS_OK;
}

/* ---- nodes and blocks ---- */

static hs_status nodes_read(struct tables *t, struct hs_error *err)
{
    struct node_row row, before = {0};
    hs_status status = HS_OK;
    uint64_t word_bytes = 8;
    lines_rewind(&t->nodes);
    while (node_next(t, &row, &status, err)) {
        if (t->n_blocks == 0 && row.words == 0) {
            HS_TRY(tree_node(t, &row, err));
            t->n_tree++;
            continue;
        }
        uint64_t room = row.address - before.address;
        if (row.words == 0)
            return row_fail(&t->nodes, "nodes has no words, as roots have: they must come first",
                            err);
        if (row.words > UINT64_MAX / 8 ||
            (t->n_blocks != 0 && (row.address <= before.address || room < before.words)))
            return row_fail(&t->nodes, "nodes does not stand behind the one before", err);
        while (t->n_blocks != 0 && word_bytes > 1 && room < before.words * word_bytes)
            word_bytes = word_bytes == 8 ? 4 : 1;
        hs_str type;
        HS_TRY(hs_strtab_add_n(&t->types, row.type, row.n_type, &type, err));
        t->n_blocks++;
        before = row;
    }
    HS_TRY(status);
    if (t->n_tree == 0)
        return hs_fail(err, HS_FORMAT, "its nodes have no root");
    if (before.words > (UINT64_MAX - before.address) / word_bytes)
        return row_fail(&t->nodes, "nodes does not fit in an address space", err);
    t->maker->word_bytes = (uint32_t)word_bytes;
    return HS_OK;
}

/* ---- edges ---- */

/* The edges of one chunk so far, of edges by their source. */
struct chunk_count {
    uint64_t chunk, n;
};

static void count_edge(struct tables *t, const struct edge_row *edge, struct chunk_count *count)
{
    if (edge->from < t->n_tree)
        return;
    uint64_t chunk = (edge->from - t->n_tree) / HS_CHUNK_BLOCKS;
    *count = (struct chunk_count){chunk, chunk == count->chunk ? count->n + 1 : 1};
    t->n_chunk_most = count->n > t->n_chunk_most ? count->n : t->n_chunk_most;
}

/* Offsets are in bytes and stand at words. An edge from an object to a root keeps nothing: nobody
 * keeps a root. */
static hs_status edges_look(struct tables *t, bool *ret_is_ordered, struct hs_error *err)
{
    struct chunk_count count = {0};
    struct edge_row edge;
    hs_status status = HS_OK;
    uint64_t from = 0;

    *ret_is_ordered = true;
    HS_TRY(edges_rewind(t, err));
    while (edge_next(t, &edge, &status, err)) {
        while (edge.offset % t->maker->word_bytes != 0)
            t->maker->word_bytes = t->maker->word_bytes == 8 ? 4 : 1;
        *ret_is_ordered &= edge.from >= from;
        from = edge.from;
        t->n_left_out += edge.from >= t->n_tree && edge.to < t->n_tree;
        count_edge(t, &edge, &count);
    }
    return status;
}

static hs_status edges_sort(struct tables *t, struct hs_error *err)
{
    struct chunk_count count = {0};
    struct edge_row edge;
    hs_status status = HS_OK;

    HS_TRY(edges_rewind(t, err));
    while (edge_next(t, &edge, &status, err))
        HS_TRY(edge_order_add(&t->order, &edge, err));
    HS_TRY(status);
    HS_TRY(edge_order_end(&t->order, err));
    t->is_sorted = true;
    t->n_chunk_most = 0;
    HS_TRY(edges_rewind(t, err));
    while (edge_next(t, &edge, &status, err))
        count_edge(t, &edge, &count);
    return status;
}

static hs_status edges_find(struct tables *t, struct hs_error *err)
{
    bool is_ordered;
    HS_TRY(edges_look(t, &is_ordered, err));
    return is_ordered ? HS_OK : edges_sort(t, err);
}

static hs_status types_make(struct tables *t, struct hs_error *err)
{
    for (size_t i = 0; i <= t->types.n_strings; i++) {
        const char *text = hs_strtab_get(&t->types, (hs_str)i);
        char label[LABEL_BYTES];
        hs_str name;
        size_t n = label_restore(text, strlen(text), label, sizeof label);
        HS_TRY(maker_name(t->maker, "", label, n, &name, err));
        HS_TRY(maker_type(t->maker, name, HS_FORM_OTHER, err));
    }
    return HS_OK;
}

static hs_status edge_put(struct tables *t, const struct edge_row *edge, struct hs_error *err)
{
    if (edge->to < t->n_tree)
        return HS_OK; /* told: tell_left_out */
    const struct hs_edge made = {
        .target = block_node(t, edge->to),
        .offset_words = has_offsets(t) ? edge->offset / t->maker->word_bytes : t->maker->n_given,
        .edge_class = edge->edge_class,
    };
    return maker_edge(t->maker, made, err);
}

static hs_status block_put(struct tables *t, const struct node_row *row, struct hs_error *err)
{
    hs_str type = 0;
    HS_TRY(hs_strtab_add_n(&t->types, row->type, row->n_type, &type, err));
    return maker_block_of(t->maker, row->address, row->words, type, row->is_static, err);
}

/* The edges of one block as they stand. */
static hs_status edges_stream(struct tables *t, uint64_t from, struct hs_error *err)
{
    hs_status status = HS_OK;

    for (; t->has_next && t->next.from == from; t->has_next = edge_next(t, &t->next, &status, err))
        HS_TRY(edge_put(t, &t->next, err));
    return status;
}

static hs_status blocks_write(struct tables *t, struct hs_error *err)
{
    struct node_row row;
    hs_status status = HS_OK;
    lines_rewind(&t->nodes);
    while (node_next(t, &row, &status, err)) {
        if (row.id < t->n_tree)
            continue;
        if ((row.id - t->n_tree) % HS_CHUNK_BLOCKS == 0)
            HS_TRY(hs_progress_tell(t->maker->options->progress, "writing", row.id,
                                    t->n_tree + t->n_blocks, err));
        maker_expect(t->maker, row.words, t->n_chunk_most);
        HS_TRY(edges_stream(t, row.id, err));
        HS_TRY(block_put(t, &row, err));
    }
    return status;
}

static hs_status tell_left_out(struct tables *t, struct hs_error *err)
{
    if (t->n_left_out == 0)
        return HS_OK;
    return maker_note(
        t->maker, false, err,
        "%llu edges lead to roots, which nothing keeps: they keep nothing new and are "
        "left out",
        (unsigned long long)t->n_left_out);
}

static hs_status tables_all(struct tables *t, struct hs_import_report *ret, struct hs_error *err)
{
    const char *directory = t->maker->options->path;
    HS_TRY(lines_open(directory, "nodes.tsv", &t->nodes, err));
    HS_TRY(lines_open(directory, "edges.tsv", &t->edges, err));
    HS_TRY(nodes_read(t, err));
    HS_TRY(edges_find(t, err));
    HS_TRY(tree_read(t, err));
    HS_TRY(types_make(t, err));
    HS_TRY(hs_strtab_add(&t->maker->strings, "graph tables", &t->maker->runtime.name, err));
    HS_TRY(maker_note(t->maker, false, err,
                      "imported: tables of %llu nodes; a word is taken as %u bytes",
                      (unsigned long long)(t->n_tree + t->n_blocks), t->maker->word_bytes));
    HS_TRY(tell_left_out(t, err));
    HS_TRY(maker_begin(t->maker, t->n_blocks, err));
    HS_TRY(blocks_write(t, err));
    return maker_finish(t->maker, ret, err);
}

hs_status hs_tables_import(struct maker *maker, struct hs_import_report *ret, struct hs_error *err)
{
    struct tables t = {.maker = maker, .order = {.maker = maker}};
    hs_status status = tables_all(&t, ret, err);
    hs_map_close(&t.nodes.map);
    hs_map_close(&t.edges.map);
    hs_strtab_fini(&t.types);
    free_roots_fini(&t.roots);
    edge_order_fini(&t.order);
    return status;
}
