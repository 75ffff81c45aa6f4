/* export --to perfetto: the heap as packets of a trace that ui.perfetto.dev opens.
 *
 *   packet    8 time | 10 sequence (1) | 56 heap graph
 *   graph     1 pid | 6 number | 2 objects | 7 roots | 9 types | 4 names of fields | 5 to be
 *             continued, in all packets but the last
 *   object    1 id | 2 type | 3 bytes | 4 fields (packed) | 5 targets (packed)
 *
 * An object's id is its node. Roots have no names in this format: each leaf of the root tree is an
 * object of no size whose type is called as the root is. Types and names follow the objects: they
 * are looked up at the end. Source: protos/perfetto/trace/profiling/heap_graph.proto, and
 * heap_graph_module.cc and heap_graph_tracker.cc of its reader. */
#include "analysis/chunk_pass.h"
#include "base/bitmap.h"
#include "export/exporter.h"
#include "out_edges.h"
#include "proto.h"

enum { PACKET_BYTES = 256 << 10, SEQUENCE = 1 };
enum { TRACE_PACKET = 1, PACKET_PROCESSES = 2, PACKET_TIME = 8, PACKET_SEQUENCE = 10 };
enum { PACKET_GRAPH = 56, PROCESS = 1, PROCESS_PID = 1, PROCESS_COMMAND = 3 };
enum { GRAPH_PID = 1, GRAPH_OBJECT, GRAPH_FIELD = 4, GRAPH_CONTINUED, GRAPH_NUMBER };
enum { GRAPH_ROOT = 7, GRAPH_TYPE = 9 };
enum { OBJECT_ID = 1, OBJECT_TYPE, OBJECT_BYTES, OBJECT_FIELDS, OBJECT_TARGETS };
enum { ROOT_OBJECTS = 1, ROOT_TYPE };
enum { ROOT_GLOBAL = 1, ROOT_STACK = 4, ROOT_THREAD = 8 };
enum { TYPE_ID = 1, TYPE_NAME = 3, TYPE_KIND = 7, KIND_NORMAL = 1 };
enum { FIELD_ID = 1, FIELD_NAME };
/* The name of a pointer where the type has no member; members' names have the ids of their strings
 * and 1. */
enum { FIELD_NAMELESS = 1 };

struct dump {
    struct hs_view *view;
    struct hs_pen pen;
    struct hs_proto proto;
    struct hs_bitmap named; /* by string: it names a field */
    uint64_t n_packets;
    size_t packet, graph; /* those that are begun */
};

static void packet_begin(struct dump *d)
{
    d->packet = hs_proto_begin(&d->proto, TRACE_PACKET);
    hs_proto_number(&d->proto, PACKET_TIME, d->view->facts->taken_ns);
    hs_proto_number(&d->proto, PACKET_SEQUENCE, SEQUENCE);
    d->graph = hs_proto_begin(&d->proto, PACKET_GRAPH);
    hs_proto_number(&d->proto, GRAPH_PID, d->view->facts->pid);
    hs_proto_number(&d->proto, GRAPH_NUMBER, d->n_packets++);
}

static void packet_end(struct dump *d, bool is_last)
{
    hs_proto_number(&d->proto, GRAPH_CONTINUED, !is_last);
    hs_proto_end(&d->proto, d->graph);
    hs_proto_end(&d->proto, d->packet);
    hs_proto_flush(&d->proto, &d->pen);
}

static void packet_room(struct dump *d)
{
    if (d->proto.buffer.n_bytes < PACKET_BYTES)
        return;
    packet_end(d, false);
    packet_begin(d);
}

/* Writes the process of the trace: a pid and a command line. */
static void put_process(struct dump *d)
{
    size_t packet = hs_proto_begin(&d->proto, TRACE_PACKET);
    hs_proto_number(&d->proto, PACKET_TIME, d->view->facts->taken_ns);
    hs_proto_number(&d->proto, PACKET_SEQUENCE, SEQUENCE);
    size_t processes = hs_proto_begin(&d->proto, PACKET_PROCESSES);
    size_t process = hs_proto_begin(&d->proto, PROCESS);
    hs_proto_number(&d->proto, PROCESS_PID, d->view->facts->pid);
    hs_proto_name(&d->proto, PROCESS_COMMAND, hs_view_string(d->view, d->view->facts->command));
    hs_proto_end(&d->proto, process);
    hs_proto_end(&d->proto, processes);
    hs_proto_end(&d->proto, packet);
    hs_proto_flush(&d->proto, &d->pen);
}

static uint64_t field_at(struct dump *d, uint32_t type, uint64_t offset_words)
{
    uint64_t offset = offset_words * d->view->facts->word_bytes;
    const struct hs_member *member = hs_snap_member_at(d->view->snap, type, offset, NULL);
    if (member == NULL || member->name == 0)
        return FIELD_NAMELESS;
    hs_bitmap_set(&d->named, member->name);
    return (uint64_t)member->name + FIELD_NAMELESS + 1;
}

static void put_block(struct dump *d, const struct hs_chunk *chunk, uint32_t block,
                      struct hs_out_edges *edges)
{
    struct hs_proto *p = &d->proto;
    struct hs_out_edge edge;
    size_t object = hs_proto_begin(p, GRAPH_OBJECT);
    hs_proto_number(p, OBJECT_ID, chunk->first + block);
    hs_proto_number(p, OBJECT_TYPE, chunk->type[block] + (uint64_t)1);
    hs_proto_number(p, OBJECT_BYTES, chunk->words[block] * d->view->facts->word_bytes);
    hs_out_edges_of(edges, block);
    if (hs_out_edges_next(edges, &edge)) {
        size_t fields = hs_proto_begin(p, OBJECT_FIELDS);
        do
            hs_proto_packed(p, field_at(d, chunk->type[block], edge.offset_words));
        while (hs_out_edges_next(edges, &edge));
        hs_proto_end(p, fields);
        size_t targets = hs_proto_begin(p, OBJECT_TARGETS);
        hs_out_edges_again(edges);
        while (hs_out_edges_next(edges, &edge))
            hs_proto_packed(p, edge.target);
        hs_proto_end(p, targets);
    }
    hs_proto_end(p, object);
    packet_room(d);
}

static hs_status put_blocks(struct dump *d, struct hs_error *err)
{
    struct hs_chunk_pass pass = hs_chunk_pass_of(d->view, HS_COL_ALL, "exporting");
    while (hs_pen_ok(&d->pen) && hs_chunk_pass_next(&pass, err)) {
        struct hs_out_edges edges = {.chunk = &pass.chunk};
        for (uint32_t i = 0; i < pass.chunk.n_blocks; i++)
            put_block(d, &pass.chunk, i, &edges);
    }
    return hs_chunk_pass_end(&pass);
}

static unsigned root_type(unsigned kind)
{
    switch (kind) {
    case HS_ROOT_STACK:
    case HS_ROOT_LOCAL:
    case HS_ROOT_REGISTER:
        return ROOT_STACK;
    case HS_ROOT_TLS:
        return ROOT_THREAD;
    default:
        return ROOT_GLOBAL;
    }
}

/* Roots have types of their own behind those of the snapshot. */
static uint64_t root_type_id(const struct dump *d, hs_node leaf)
{
    return d->view->totals->n_types + 1 + leaf;
}

static void put_root(struct dump *d, hs_node leaf, const struct hs_root *root)
{
    struct hs_proto *p = &d->proto;
    size_t object = hs_proto_begin(p, GRAPH_OBJECT);
    hs_proto_number(p, OBJECT_ID, leaf);
    hs_proto_number(p, OBJECT_TYPE, root_type_id(d, leaf));
    hs_proto_number(p, OBJECT_BYTES, 0);
    hs_proto_number(p, OBJECT_FIELDS, FIELD_NAMELESS);
    hs_proto_number(p, OBJECT_TARGETS, root->target);
    hs_proto_end(p, object);
    size_t of = hs_proto_begin(p, GRAPH_ROOT);
    hs_proto_number(p, ROOT_OBJECTS, leaf);
    hs_proto_number(p, ROOT_TYPE, root_type(root->kind));
    hs_proto_end(p, of);
    size_t type = hs_proto_begin(p, GRAPH_TYPE);
    hs_proto_number(p, TYPE_ID, root_type_id(d, leaf));
    size_t name = hs_proto_begin(p, TYPE_NAME);
    hs_proto_text(p, "root ");
    hs_proto_text(p, hs_root_kind_name(root->kind));
    hs_proto_text(p, " ");
    hs_proto_clean(p, hs_view_string(d->view, root->name));
    hs_proto_end(p, name);
    hs_proto_number(p, TYPE_KIND, KIND_NORMAL);
    hs_proto_end(p, type);
    packet_room(d);
}

static void put_roots(struct dump *d)
{
    for (hs_node node = 0; node < d->view->n_tree && hs_pen_ok(&d->pen); node++) {
        const struct hs_root *root = hs_snap_root(d->view->snap, node);
        if (root->target != HS_NO_NODE && !root->weak)
            put_root(d, node, root);
    }
}

static void put_types(struct dump *d)
{
    for (uint32_t i = 0; i < d->view->totals->n_types && hs_pen_ok(&d->pen); i++) {
        size_t type = hs_proto_begin(&d->proto, GRAPH_TYPE);
        hs_proto_number(&d->proto, TYPE_ID, i + (uint64_t)1);
        hs_proto_name(&d->proto, TYPE_NAME,
                      hs_view_string(d->view, hs_snap_type(d->view->snap, i)->name));
        hs_proto_number(&d->proto, TYPE_KIND, KIND_NORMAL);
        hs_proto_end(&d->proto, type);
        packet_room(d);
    }
}

static void put_field(struct dump *d, uint64_t id, const char *name)
{
    size_t field = hs_proto_begin(&d->proto, GRAPH_FIELD);
    hs_proto_number(&d->proto, FIELD_ID, id);
    hs_proto_name(&d->proto, FIELD_NAME, name);
    hs_proto_end(&d->proto, field);
    packet_room(d);
}

static void put_fields(struct dump *d)
{
    put_field(d, FIELD_NAMELESS, "pointer");
    for (uint64_t i = hs_bitmap_next(&d->named, 0); i < d->named.n_bits && hs_pen_ok(&d->pen);
         i = hs_bitmap_next(&d->named, i + 1))
        put_field(d, i + FIELD_NAMELESS + 1, hs_view_string(d->view, (hs_str)i));
}

static hs_status put_all(struct dump *d, struct hs_error *err)
{
    HS_TRY(hs_bitmap_init(&d->named, d->view->totals->n_strings + 1, err));
    put_process(d);
    packet_begin(d);
    HS_TRY(put_blocks(d, err));
    put_roots(d);
    put_types(d);
    put_fields(d);
    packet_end(d, true);
    return HS_OK;
}

static hs_status export_perfetto(struct hs_view *view, const struct hs_export_target *target,
                                 struct hs_error *err)
{
    struct dump d = {.view = view, .pen = hs_pen_of(target->out), .proto.error = HS_ERROR_INIT};
    hs_status status = hs_pen_finish(&d.pen, put_all(&d, err), err);
    hs_bitmap_fini(&d.named);
    hs_proto_fini(&d.proto);
    return status;
}

const struct hs_exporter hs_exporter_perfetto = {
    .needs = HS_VIEW_SNAP,
    .is_binary = true,
    .write = export_perfetto,
};
