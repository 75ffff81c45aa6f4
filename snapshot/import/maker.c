#include "maker.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"

/* The edges of one object that are kept in memory: up to the first number they must fit, at the
 * second they go to a file. */
enum { MAKER_EDGES_LEAST = 1 << 12, MAKER_EDGES_MOST = 1 << 20 };

void maker_init(const struct hs_import_options *options, struct hs_out *out, struct maker *ret)
{
    *ret = (struct maker){.options = options, .out = out, .word_bytes = 1};
}

void maker_fini(struct maker *maker)
{
    hs_snap_writer_free(maker->writer);
    hs_strtab_fini(&maker->strings);
    hs_free(maker->types);
    hs_free(maker->members);
    hs_free(maker->roots);
    hs_free(maker->edges);
    hs_budget_release(maker->options->budget, maker->reserved_bytes);
    *maker = (struct maker){.options = maker->options};
}

static hs_status maker_reserve(struct maker *maker, uint64_t n_bytes, const char *what,
                               struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(maker->options->budget, n_bytes, what, err));
    maker->reserved_bytes += n_bytes;
    return HS_OK;
}

hs_status maker_grow(struct maker *maker, void **array, size_t *capacity, size_t needed,
                     size_t size, const char *what, struct hs_error *err)
{
    if (needed <= *capacity)
        return HS_OK;
    /* The capacity that hs_grow will choose. */
    uint64_t n_new = needed > 2 * *capacity ? needed : 2 * *capacity;
    HS_TRY(maker_reserve(maker, (n_new - *capacity) * size, what, err));
    return hs_grow(array, capacity, needed, size, err);
}

hs_status maker_pages(struct maker *maker, uint64_t n, size_t size, const char *what, void **ret,
                      struct hs_error *err)
{
    uint64_t n_bytes;
    if (!hs_mul_fits(n, size, &n_bytes) || n_bytes > SIZE_MAX / 2)
        return hs_fail(err, HS_LIMIT, "%s: %llu elements are too many", what,
                       (unsigned long long)n);
    HS_TRY(maker_reserve(maker, n_bytes, what, err));
    return hs_pages_alloc((size_t)n, size, ret, err);
}

void maker_pages_free(struct maker *maker, void *pages, uint64_t n, size_t size)
{
    if (pages == NULL)
        return;
    hs_pages_free(pages, (size_t)n, size);
    hs_budget_release(maker->options->budget, n * size);
    maker->reserved_bytes -= n * size;
}

/* A rune of UTF-8 is not cut in half: at most three bytes go with it. */
static size_t name_cut(const char *text, size_t n)
{
    if (n <= MAKER_NAME_BYTES)
        return n;
    n = MAKER_NAME_BYTES;
    for (int i = 0; i < 3 && ((uint8_t)text[n] & 0xc0) == 0x80; i++)
        n--;
    return n;
}

hs_status maker_name(struct maker *maker, const char *prefix, const char *text, size_t n_bytes,
                     hs_str *ret, struct hs_error *err)
{
    char name[MAKER_NAME_BYTES + 64];
    size_t n_prefix = strlen(prefix);
    assert(n_prefix < 48);
    memcpy(name, prefix, n_prefix);
    size_t n = n_prefix;
    size_t n_cut = name_cut(text, n_bytes);
    if (n_prefix != 0 && n_bytes != 0)
        name[n++] = ' ';
    if (n_cut != 0)
        memcpy(name + n, text, n_cut);
    n += n_cut;
    if (n_cut < n_bytes) {
        memcpy(name + n, "...", 3);
        n += 3;
    }
    HS_TRY(hs_strtab_add_n(&maker->strings, name, n, ret, err));
    const struct hs_strtab *table = &maker->strings;
    uint64_t used = table->text_capacity + 8 * (table->begin_capacity + table->by_text.n_slots);
    if (used <= maker->n_string_taken)
        return HS_OK;
    HS_TRY(maker_reserve(maker, used - maker->n_string_taken, "names", err));
    maker->n_string_taken = used;
    return HS_OK;
}

hs_status maker_type(struct maker *maker, hs_str name, unsigned form, struct hs_error *err)
{
    if (maker->n_types == UINT32_MAX)
        return hs_fail(err, HS_LIMIT, "more than %u types", UINT32_MAX);
    HS_TRY(maker_grow(maker, (void **)&maker->types, &maker->type_capacity, maker->n_types + 1,
                      sizeof *maker->types, "types", err));
    maker->types[maker->n_types++] = (struct hs_type){.name = name, .form = (uint8_t)form};
    return HS_OK;
}

hs_status maker_member(struct maker *maker, const struct hs_member *member, struct hs_error *err)
{
    HS_TRY(maker_grow(maker, (void **)&maker->members, &maker->member_capacity,
                      maker->n_members + 1, sizeof *member, "the fields of types", err));
    maker->members[maker->n_members++] = *member;
    return HS_OK;
}

hs_status maker_root(struct maker *maker, const struct hs_root *root, hs_node *ret,
                     struct hs_error *err)
{
    HS_TRY(maker_grow(maker, (void **)&maker->roots, &maker->root_capacity, maker->n_roots + 1,
                      sizeof *root, "roots", err));
    struct hs_root *made = &maker->roots[maker->n_roots];
    *made = *root;
    if (maker->n_roots != 0) {
        const struct hs_root *parent = &maker->roots[root->parent];
        if (root->level != HS_LEVEL_LEAF)
            made->level = parent->level + 1;
        if (parent->level != HS_LEVEL_ALL)
            made->kind = parent->kind;
        if (parent->level >= HS_LEVEL_MODULE && made->module == 0)
            made->module = parent->module;
        if (made->level == HS_LEVEL_MODULE)
            made->module = made->name;
    }
    if (ret != NULL)
        *ret = maker->n_roots;
    maker->n_roots++;
    return HS_OK;
}

hs_status maker_group(struct maker *maker, hs_node parent, unsigned kind, hs_str name, hs_node *ret,
                      struct hs_error *err)
{
    struct hs_root root = {
        .parent = parent,
        .target = HS_NO_NODE,
        .kind = (uint8_t)kind,
        .field = HS_NO_FIELD,
        .name = name,
    };
    return maker_root(maker, &root, ret, err);
}

hs_status maker_note(struct maker *maker, bool is_gap, struct hs_error *err, const char *format,
                     ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert(maker->n_notes < MAKER_MAX_NOTES);
    struct hs_note *note = &maker->notes[maker->n_notes++];
    note->is_gap = is_gap;
    return hs_strtab_add(&maker->strings, text, &note->text, err);
}

hs_status maker_begin(struct maker *maker, uint64_t n_blocks, struct hs_error *err)
{
    const char *slash = strrchr(maker->options->path, '/');
    const char *file = slash != NULL && slash[1] != 0 ? slash + 1 : maker->options->path;
    struct hs_snap_facts facts = {
        .word_bytes = maker->word_bytes,
        .runtimes = &maker->runtime,
        .n_runtimes = maker->runtime.name != 0,
        .notes = maker->notes,
        .n_notes = maker->n_notes,
    };
    HS_TRY(hs_strtab_add(&maker->strings, file, &facts.command, err));
    HS_TRY(hs_strtab_add(&maker->strings, maker->options->tool_version, &facts.tool_version, err));
    HS_TRY(hs_snap_writer_new(maker->out, &maker->strings, &facts, maker->roots, maker->n_roots,
                              n_blocks, &maker->writer, err));
    hs_snap_writer_set_budget(maker->writer, maker->options->budget);
    return HS_OK;
}

/* Fields beyond the block are moved to its last word. */
static void edges_clamp(struct maker *maker, uint64_t words)
{
    for (size_t i = 0; i < maker->n_edges; i++)
        if (maker->edges[i].offset_words >= words)
            maker->edges[i].offset_words = words - 1;
}

static hs_status edges_part(struct maker *maker, struct hs_error *err)
{
    uint64_t n_more =
        maker->n_given < maker->n_given_most ? maker->n_given_most - maker->n_given : 0;

    edges_clamp(maker, maker->next_words);
    HS_TRY(hs_snap_writer_part(maker->writer, maker->edges, maker->n_edges, n_more, err));
    maker->n_edges = 0;
    return HS_OK;
}

hs_status maker_edge_room(struct maker *maker, struct hs_error *err)
{
    bool may_part = maker->next_words != 0 && maker->n_edges >= MAKER_EDGES_LEAST;

    if (may_part && maker->n_edges >= MAKER_EDGES_MOST)
        return edges_part(maker, err);
    hs_status status =
        maker_grow(maker, (void **)&maker->edges, &maker->edge_capacity, maker->n_edges + 1,
                   sizeof *maker->edges, "the edges of one object", err);
    if (status != HS_LIMIT || !may_part)
        return status;
    *err = (struct hs_error)HS_ERROR_INIT;
    return edges_part(maker, err);
}

hs_status maker_block_of(struct maker *maker, hs_addr address, uint64_t words, uint32_t type,
                         bool is_static, struct hs_error *err)
{
    struct hs_block_record block = {
        .address = address,
        .words = words,
        .type = type,
        .state = is_static ? HS_BLOCK_STATIC : 0,
    };
    assert(words != 0);
    assert(maker->next_words == 0 || maker->next_words == words);
    edges_clamp(maker, words);
    hs_status status =
        hs_snap_writer_block(maker->writer, &block, maker->edges, maker->n_edges, err);
    maker->n_edges = 0;
    maker->n_given = 0;
    maker->next_words = 0;
    return status;
}

hs_status maker_block(struct maker *maker, hs_addr address, uint64_t n_bytes, uint32_t type,
                      struct hs_error *err)
{
    assert(maker->word_bytes == 1);
    return maker_block_of(maker, address, n_bytes == 0 ? 1 : n_bytes, type, n_bytes == 0, err);
}

hs_status maker_finish(struct maker *maker, struct hs_import_report *ret, struct hs_error *err)
{
    struct hs_snap_ending ending = {
        .types = maker->types,
        .n_types = maker->n_types,
        .members = maker->members,
        .n_members = maker->n_members,
    };
    HS_TRY(hs_snap_writer_finish(maker->writer, &ending, &ret->totals, err));
    ret->n_roots = 0;
    for (size_t i = 0; i < maker->n_roots; i++)
        ret->n_roots += maker->roots[i].level == HS_LEVEL_LEAF;
    return HS_OK;
}
