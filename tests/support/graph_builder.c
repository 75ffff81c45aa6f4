/* links: hs_format */
#include "graph_builder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "format/writer_internal.h"

static void builder_must(hs_status status, const struct hs_error *err)
{
    if (status == HS_OK)
        return;
    fprintf(stderr, "graph builder: %s\n", err->message);
    abort();
}

static void builder_expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "graph builder: %s\n", what);
    abort();
}

static void builder_grow(void *array, size_t *capacity, size_t needed, size_t size)
{
    struct hs_error err = HS_ERROR_INIT;
    void *memory;
    memcpy(&memory, array, sizeof memory);
    builder_must(hs_grow(&memory, capacity, needed, size, &err), &err);
    memcpy(array, &memory, sizeof memory);
}

#define BUILDER_ADD(b, member)                                                \
    (builder_grow(&(b)->member, &(b)->member##_capacity, (b)->n_##member + 1, \
                  sizeof *(b)->member),                                       \
     &(b)->member[(b)->n_##member++])

static hs_str builder_string(struct hs_graph_builder *b, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_str id = 0;
    builder_must(hs_strtab_add(&b->strings, text, &id, &err), &err);
    return id;
}

void hs_graph_builder_fini(struct hs_graph_builder *b)
{
    hs_strtab_fini(&b->strings);
    hs_free(b->blocks);
    hs_free(b->edges);
    hs_free(b->leaves);
    hs_free(b->groups);
    hs_free(b->types);
    hs_free(b->members);
    hs_free(b->samples);
    hs_free(b->frames);
    hs_free(b->degree);
    hs_free(b->bytes);
    *b = (struct hs_graph_builder){0};
}

static uint64_t builder_word_bytes(const struct hs_graph_builder *b)
{
    return b->facts.word_bytes != 0 ? b->facts.word_bytes : 8;
}

uint32_t hs_graph_builder_type(struct hs_graph_builder *b, const char *name, uint16_t tag,
                               unsigned form)
{
    if (b->n_types == 0 && b->n_blocks != 0) {
        struct hs_type *first = BUILDER_ADD(b, types);
        *first = (struct hs_type){.name = builder_string(b, "block"), .form = HS_FORM_BLOCK};
    }
    struct hs_type *type = BUILDER_ADD(b, types);
    *type = (struct hs_type){.name = builder_string(b, name), .tag = tag, .form = (uint8_t)form};
    return (uint32_t)(b->n_types - 1);
}

void hs_graph_builder_member(struct hs_graph_builder *b, uint32_t type, uint64_t offset_bytes,
                             const char *name, const char *type_name)
{
    struct hs_member *member = BUILDER_ADD(b, members);
    *member = (struct hs_member){
        .type = type,
        .offset_bytes = offset_bytes,
        .name = builder_string(b, name),
        .type_name = builder_string(b, type_name),
    };
}

uint32_t hs_graph_builder_block(struct hs_graph_builder *b, uint64_t words, bool is_static)
{
    builder_expect(words != 0, "a block has at least one word");
    if (b->next_address == 0)
        b->next_address = 0x10000;
    builder_grow(&b->degree, &b->degree_capacity, b->n_blocks + 1, sizeof *b->degree);
    struct hs_block_record *block = BUILDER_ADD(b, blocks);
    *block = (struct hs_block_record){
        .address = b->next_address,
        .words = words,
        .state = is_static ? HS_BLOCK_STATIC : 0,
    };
    b->next_address += words * builder_word_bytes(b);
    return (uint32_t)(b->n_blocks - 1);
}

uint32_t hs_graph_builder_blocks(struct hs_graph_builder *b, uint32_t n, uint64_t words)
{
    uint32_t first = (uint32_t)b->n_blocks;
    for (uint32_t i = 0; i < n; i++)
        (void)hs_graph_builder_block(b, words, false);
    return first;
}

void hs_graph_builder_edge_at(struct hs_graph_builder *b, uint32_t source, uint32_t target,
                              unsigned edge_class, uint32_t offset_words)
{
    builder_expect(source < b->n_blocks, "an edge from a block that was not made yet");
    struct hs_graph_builder_edge_record *edge = BUILDER_ADD(b, edges);
    *edge = (struct hs_graph_builder_edge_record){
        .source = source,
        .target = target,
        .offset_words = offset_words,
        .edge_class = (uint8_t)edge_class,
    };
    b->degree[source]++;
}

void hs_graph_builder_reason(struct hs_graph_builder *b, enum hs_reason reason)
{
    builder_expect(b->n_edges != 0, "a reason without an edge");
    b->edges[b->n_edges - 1].reason = (uint8_t)reason;
}

void hs_graph_builder_edge(struct hs_graph_builder *b, uint32_t source, uint32_t target,
                           unsigned edge_class)
{
    builder_expect(source < b->n_blocks, "an edge from a block that was not made yet");
    uint64_t last = b->blocks[source].words - 1;
    uint32_t next = b->degree[source];
    hs_graph_builder_edge_at(b, source, target, edge_class, next < last ? next : (uint32_t)last);
}

/* The group below `parent` with this name, made when new. There are few groups. */
static size_t builder_group(struct hs_graph_builder *b, size_t parent, unsigned level,
                            unsigned kind, const char *text)
{
    hs_str name = builder_string(b, text);
    for (size_t i = b->n_groups; i-- > 1;) {
        const struct hs_root *group = &b->groups[i];
        if (group->parent == parent && group->level == level && group->name == name)
            return i;
    }
    struct hs_root *group = BUILDER_ADD(b, groups);
    *group = (struct hs_root){
        .parent = parent,
        .target = HS_NO_NODE,
        .level = (uint8_t)level,
        .kind = (uint8_t)kind,
        .field = HS_NO_FIELD,
        .name = name,
    };
    return b->n_groups - 1;
}

static void builder_need_top(struct hs_graph_builder *b)
{
    if (b->n_groups == 0)
        (void)builder_group(b, 0, HS_LEVEL_ALL, 0, "all");
}

uint32_t hs_graph_builder_leaf(struct hs_graph_builder *b, unsigned kind, const char *module,
                               const char *unit, const char *name, uint32_t target)
{
    return hs_graph_builder_slot(b, kind, module, unit, NULL, name, target);
}

uint32_t hs_graph_builder_slot(struct hs_graph_builder *b, unsigned kind, const char *module,
                               const char *unit, const char *variable, const char *name,
                               uint32_t target)
{
    builder_need_top(b);
    const char *none = "(none)";
    size_t parent = builder_group(b, 0, HS_LEVEL_KIND, kind, hs_root_kind_name(kind));
    parent = builder_group(b, parent, HS_LEVEL_MODULE, kind, module != NULL ? module : none);
    parent = builder_group(b, parent, HS_LEVEL_UNIT, kind, unit != NULL ? unit : none);
    if (variable != NULL)
        parent = builder_group(b, parent, HS_LEVEL_VARIABLE, kind, variable);
    struct hs_root *leaf = BUILDER_ADD(b, leaves);
    *leaf = (struct hs_root){
        .parent = parent,
        .target = target == HS_GRAPH_BUILDER_NOWHERE ? HS_NO_NODE : target,
        .level = HS_LEVEL_LEAF,
        .kind = (uint8_t)kind,
        .field = HS_NO_FIELD,
        .name = builder_string(b, name),
        .module = builder_string(b, module),
    };
    return (uint32_t)(b->n_leaves - 1);
}

void hs_graph_builder_sample(struct hs_graph_builder *b, uint64_t id, uint32_t block)
{
    struct hs_sample *sample = BUILDER_ADD(b, samples);
    *sample = (struct hs_sample){
        .id = id,
        .node = block == HS_GRAPH_BUILDER_NOWHERE ? HS_NO_NODE : block,
        .n_samples = 1,
        .words = block == HS_GRAPH_BUILDER_NOWHERE ? 1 : b->blocks[block].words,
        .state = HS_SAMPLE_LIVE,
        .site = HS_NO_SITE,
    };
}

void hs_graph_builder_frame(struct hs_graph_builder *b, uint32_t site, const char *function,
                            const char *file, uint32_t line)
{
    struct hs_site_frame *frame = BUILDER_ADD(b, frames);
    *frame = (struct hs_site_frame){
        .site = site,
        .function = builder_string(b, function),
        .file = builder_string(b, file),
        .module = builder_string(b, "demo"),
        .line = line,
        .offset = 16 + 4 * (b->n_frames - 1),
    };
}

/* Groups are numbered as they were made (a parent is made before its children), then the leaves. */
hs_node hs_graph_builder_n_tree(const struct hs_graph_builder *b)
{
    size_t n_groups = b->n_groups == 0 ? 1 : b->n_groups;
    return n_groups + b->n_leaves;
}

hs_node hs_graph_builder_node(const struct hs_graph_builder *b, uint32_t block)
{
    return hs_graph_builder_n_tree(b) + block;
}

hs_node hs_graph_builder_leaf_node(const struct hs_graph_builder *b, uint32_t leaf)
{
    return (b->n_groups == 0 ? 1 : b->n_groups) + leaf;
}

static struct hs_root *builder_make_tree(struct hs_graph_builder *b)
{
    builder_need_top(b);
    size_t n_tree = (size_t)hs_graph_builder_n_tree(b);
    struct hs_error err = HS_ERROR_INIT;
    void *memory = NULL;
    builder_must(hs_alloc(n_tree, sizeof(struct hs_root), &memory, &err), &err);
    struct hs_root *tree = memory;
    memcpy(tree, b->groups, b->n_groups * sizeof *tree);
    if (b->n_leaves != 0)
        memcpy(tree + b->n_groups, b->leaves, b->n_leaves * sizeof *tree);
    for (size_t i = b->n_groups; i < n_tree; i++)
        if (tree[i].target != HS_NO_NODE)
            tree[i].target += n_tree;
    return tree;
}

/* The edges of each block together, in the order in which they were added. */
static struct hs_edge *builder_sort_edges(const struct hs_graph_builder *b)
{
    struct hs_error err = HS_ERROR_INIT;
    void *memory = NULL;
    void *places = NULL;
    builder_must(hs_alloc(b->n_edges, sizeof(struct hs_edge), &memory, &err), &err);
    builder_must(hs_alloc(b->n_blocks + 1, sizeof(size_t), &places, &err), &err);
    struct hs_edge *edges = memory;
    size_t *place = places;
    for (size_t i = 0; i < b->n_blocks; i++)
        place[i + 1] = place[i] + b->degree[i];
    for (size_t i = 0; i < b->n_edges; i++) {
        const struct hs_graph_builder_edge_record *edge = &b->edges[i];
        edges[place[edge->source]++] = (struct hs_edge){
            .target = hs_graph_builder_node(b, edge->target),
            .offset_words = edge->offset_words,
            .edge_class = edge->edge_class,
            .reason = edge->reason,
        };
    }
    hs_free(places);
    return edges;
}

static void builder_finish_tables(struct hs_graph_builder *b, struct hs_sample **ret)
{
    struct hs_error err = HS_ERROR_INIT;
    void *memory = NULL;
    if (b->n_types == 0) {
        struct hs_type *type = BUILDER_ADD(b, types);
        *type = (struct hs_type){.name = builder_string(b, "block"), .form = HS_FORM_BLOCK};
    }
    builder_must(hs_alloc(b->n_samples, sizeof(struct hs_sample), &memory, &err), &err);
    struct hs_sample *samples = memory;
    for (size_t i = 0; i < b->n_samples; i++) {
        samples[i] = b->samples[i];
        if (samples[i].node != HS_NO_NODE)
            samples[i].node += hs_graph_builder_n_tree(b);
    }
    *ret = samples;
}

static hs_status builder_write_blocks(struct hs_graph_builder *b, struct hs_edge *edges,
                                      struct hs_snap_writer *writer, struct hs_error *err)
{
    for (size_t i = 0; i < b->n_blocks; i++) {
        HS_TRY(hs_snap_writer_block(writer, &b->blocks[i], edges, b->degree[i], err));
        edges += b->degree[i];
    }
    return HS_OK;
}

hs_status hs_graph_builder_write(struct hs_graph_builder *b, struct hs_out *out,
                                 struct hs_snap_totals *ret_totals, struct hs_error *err)
{
    struct hs_snap_writer *writer = NULL;
    struct hs_snap_totals totals;
    struct hs_sample *samples;
    struct hs_root *tree = builder_make_tree(b);
    struct hs_edge *edges = builder_sort_edges(b);
    builder_finish_tables(b, &samples);
    b->facts.word_bytes = (uint32_t)builder_word_bytes(b);
    static const struct hs_sampler memprof = {.kind = HS_SAMPLER_MEMPROF};
    if (b->n_samples != 0 && b->facts.n_samplers == 0) {
        b->facts.samplers = &memprof;
        b->facts.n_samplers = 1;
    }

    if (b->zstd_level != 0)
        hs_snap_writer_set_level(b->zstd_level < 0 ? 0 : b->zstd_level);
    hs_status status = hs_snap_writer_new(out, &b->strings, &b->facts, tree,
                                          hs_graph_builder_n_tree(b), b->n_blocks, &writer, err);
    hs_snap_writer_set_level(-1);
    if (status == HS_OK)
        status = builder_write_blocks(b, edges, writer, err);
    if (status == HS_OK)
        status = hs_snap_writer_finish(writer,
                                       &(struct hs_snap_ending){
                                           .types = b->types,
                                           .n_types = b->n_types,
                                           .members = b->members,
                                           .n_members = b->n_members,
                                           .samples = samples,
                                           .n_samples = b->n_samples,
                                           .site_frames = b->frames,
                                           .n_site_frames = b->n_frames,
                                       },
                                       &totals, err);
    if (status == HS_OK && ret_totals != NULL)
        *ret_totals = totals;
    hs_snap_writer_free(writer);
    hs_free(samples);
    hs_free(edges);
    hs_free(tree);
    return status;
}

void hs_graph_builder_bytes(struct hs_graph_builder *b, void **ret, size_t *ret_n)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    struct stat about;
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    builder_expect(fd >= 0, "memfd_create failed");
    builder_must(hs_out_open_fd(fd, "memory", &out, &err), &err);
    builder_must(hs_graph_builder_write(b, &out, NULL, &err), &err);
    builder_must(hs_out_commit(&out, &err), &err);
    hs_out_close(&out);

    builder_expect(fstat(fd, &about) == 0, "fstat failed");
    size_t n = (size_t)about.st_size;
    void *bytes = NULL;
    builder_must(hs_alloc(n, 1, &bytes, &err), &err);
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, (char *)bytes + done, n - done, (off_t)done);
        builder_expect(got > 0, "reading back failed");
        done += (size_t)got;
    }
    close(fd);
    *ret = bytes;
    *ret_n = n;
}

void hs_graph_builder_file(struct hs_graph_builder *b, const char *path)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    builder_must(hs_out_open_path(path, &out, &err), &err);
    builder_must(hs_graph_builder_write(b, &out, NULL, &err), &err);
    builder_must(hs_out_commit(&out, &err), &err);
    hs_out_close(&out);
}

struct hs_snap *hs_graph_builder_open(struct hs_graph_builder *b)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    size_t n;
    hs_free(b->bytes);
    b->bytes = NULL;
    hs_graph_builder_bytes(b, &b->bytes, &n);
    builder_must(hs_snap_open_bytes(b->bytes, n, 0, &snap, &err), &err);
    return snap;
}

void hs_graph_builder_small(struct hs_graph_builder *b, uint32_t *leaf, uint32_t *weak_leaf)
{
    for (int i = 0; i < 4; i++)
        (void)hs_graph_builder_block(b, 8, false);
    hs_graph_builder_edge(b, 0, 1, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, 0, 1, HS_EDGE_INTERIOR);
    hs_graph_builder_edge(b, 0, 0, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, 0, 2, HS_EDGE_WEAK);
    hs_graph_builder_edge(b, 1, 3, HS_EDGE_EPHEMERON);
    hs_graph_builder_edge(b, 1, 0, HS_EDGE_EPHEMERON);
    hs_graph_builder_edge(b, 1, 2, HS_EDGE_EPHEMERON_OFF);
    *leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", 0);
    *weak_leaf = hs_graph_builder_leaf(b, HS_ROOT_FINALISER, NULL, NULL, "last", 2);
    b->leaves[*weak_leaf].weak = true;
}
