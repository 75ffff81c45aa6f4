/* export --to hprof: a heap dump of Java, for VisualVM, Eclipse MAT and our own import.
 *
 *   "JAVA PROFILE 1.0.2\0" | u4 8 | u8 ms
 *   records    string, class is loaded, empty stack trace, segments of the heap, end
 *   segment    classes, objects, roots, as they come; about a MiB, but each object whole
 *
 * HPROF has no sizes but those that follow from an object's class, so there is a class for each
 * type, size and number of pointers: its fields are the members of the type and then as many
 * pointers without a name as one more is needed. An object's id is its node; its size is that of
 * the block, which java.lang.Object's own size tells readers to take as it is written.
 *
 * Roots have no names in HPROF, but classes do: each leaf of the root tree is a class of that name
 * with one static field. Weak edges are left out.
 *
 * Limit: sizes are of 32 bits; a block of 4 GiB or more is written as one of 4 GiB less 8 bytes. A
 * class has at most 65,535 fields, and those with more stand on a chain of classes: a block of more
 * than 60 million pointers is refused. 32 bytes are held for each class.
 *
 * Big-endian. Source: HotSpot's heapDumper.cpp. */
#include <stdio.h>
#include <string.h>

#include "analysis/chunk_pass.h"
#include "base/alloc.h"
#include "base/bitmap.h"
#include "base/table.h"
#include "export/exporter.h"
#include "out_edges.h"
#include "pen.h"

enum { SEGMENT_BYTES = 1 << 20, ID_BYTES = 8, OBJECT_BYTES = 16, STACK = 1 };
enum { RECORD_STRING = 1, RECORD_CLASS = 2, RECORD_TRACE = 5, RECORD_SEGMENT = 0x1c };
enum { RECORD_END = 0x2c, SUB_STICKY = 5, SUB_CLASS = 0x20, SUB_INSTANCE, SUB_ARRAY };
enum { KIND_OBJECT = 2 };
/* Members of a type that are fields of its classes; pointers in one class of a chain; its length.
 */
enum { MOST_MEMBERS = 64, LINK_FIELDS = 60000, MOST_LINKS = 1000 };
/* A class dump has so many bytes beside its fields, and a field so many. */
enum { CLASS_BYTES = 128, FIELD_BYTES = ID_BYTES + 1 };

/* Ids of classes, behind those of nodes. */
enum { CLASS_OBJECT, CLASS_CLASS, CLASS_STRING, CLASS_LOADER, CLASS_SYSTEM, CLASS_PROPERTIES };
enum {
    CLASS_ENTRY = CLASS_PROPERTIES + 1,
    CLASS_ENTRIES,
    CLASS_REFERENCE,
    CLASS_WEAK,
    CLASS_SOFT,
    CLASS_FINAL,
    CLASS_PHANTOM,
    OBJECT_PROPERTIES,
    OBJECT_TABLE,
    N_FIXED
};
static const char *const fixed_names[] = {
    [CLASS_OBJECT] = "java/lang/Object",
    [CLASS_CLASS] = "java/lang/Class",
    [CLASS_STRING] = "java/lang/String",
    [CLASS_LOADER] = "java/lang/ClassLoader",
    [CLASS_SYSTEM] = "java/lang/System",
    [CLASS_PROPERTIES] = "java/util/Properties",
    [CLASS_ENTRY] = "java/util/Hashtable$Entry",
    [CLASS_ENTRIES] = "[Ljava/util/Hashtable$Entry;",
    [CLASS_REFERENCE] = "java/lang/ref/Reference",
    [CLASS_WEAK] = "java/lang/ref/WeakReference",
    [CLASS_SOFT] = "java/lang/ref/SoftReference",
    [CLASS_FINAL] = "java/lang/ref/FinalReference",
    [CLASS_PHANTOM] = "java/lang/ref/PhantomReference",
};

/* Ids of strings: number and one of these. */
#define OF_FIXED ((uint64_t)1 << 56)
#define OF_STRING ((uint64_t)2 << 56)
#define OF_TYPE ((uint64_t)3 << 56)
#define OF_ROOT ((uint64_t)4 << 56)
#define OF_POINTER ((uint64_t)5 << 56)
enum { TEXT_TARGET = N_FIXED, TEXT_PROPS, TEXT_TABLE, TEXT_REFERENT, TEXT_LINK };

/* A class of blocks. */
struct shape {
    uint32_t type;
    uint64_t words, n_pointers; /* beside the members */
};

struct dump {
    struct hs_view *view;
    struct hs_pen pen;
    struct hs_buffer segment;
    struct shape *shapes; /* owned */
    size_t n_shapes, shape_capacity;
    struct hs_table shape_table;
    struct hs_bitmap strings, types; /* that have been written */
    uint64_t n_pointer_names;        /* the same of "[0]", "[1]", ... */
    uint64_t n_links;                /* the same of the chain */
    uint32_t n_loaded;
};

/* ---- numbers ---- */

static void put_big(struct hs_buffer *b, uint64_t value, unsigned n_bytes)
{
    for (unsigned i = n_bytes; i-- != 0;)
        hs_buffer_put_u8(b, (uint8_t)(value >> 8 * i));
}

static void put_id(struct hs_buffer *b, uint64_t id)
{
    put_big(b, id, ID_BYTES);
}

static void put_field(struct hs_buffer *b, uint64_t name)
{
    put_id(b, name);
    put_big(b, KIND_OBJECT, 1);
}

static bool segment_room(struct dump *d, size_t n_bytes)
{
    if (hs_pen_ok(&d->pen))
        d->pen.status = hs_buffer_reserve(&d->segment, n_bytes, &d->pen.error);
    return hs_pen_ok(&d->pen);
}

/* ---- records ---- */

static void record(struct dump *d, unsigned tag, uint64_t n_bytes)
{
    if (!hs_pen_room(&d->pen, 9))
        return;
    put_big(&d->pen.buffer, tag, 1);
    put_big(&d->pen.buffer, 0, 4);
    put_big(&d->pen.buffer, n_bytes, 4);
}

static void segment_end(struct dump *d)
{
    if (d->segment.n_bytes == 0)
        return;
    if (d->segment.n_bytes > UINT32_MAX && hs_pen_ok(&d->pen))
        d->pen.status = hs_fail(&d->pen.error, HS_LIMIT, "an object is too large for HPROF");
    record(d, RECORD_SEGMENT, d->segment.n_bytes);
    hs_pen_bytes(&d->pen, d->segment.bytes, d->segment.n_bytes);
    d->segment.n_bytes = 0;
}

/* A name that begins like an array's gets a word before it: it would be read as one. */
static void put_string(struct dump *d, uint64_t id, const char *before, const char *text)
{
    struct hs_buffer clean = {0};
    if (hs_pen_ok(&d->pen))
        d->pen.status =
            hs_text_sanitise(text, strlen(text), HS_TEXT_TERMINAL, &clean, &d->pen.error);
    record(d, RECORD_STRING, ID_BYTES + strlen(before) + clean.n_bytes);
    if (hs_pen_room(&d->pen, ID_BYTES))
        put_id(&d->pen.buffer, id);
    hs_pen_text(&d->pen, before);
    hs_pen_bytes(&d->pen, clean.bytes, clean.n_bytes);
    hs_buffer_fini(&clean);
}

static void put_loaded(struct dump *d, uint64_t class, uint64_t name)
{
    record(d, RECORD_CLASS, 4 + ID_BYTES + 4 + ID_BYTES);
    if (!hs_pen_room(&d->pen, 4 + ID_BYTES + 4 + ID_BYTES))
        return;
    put_big(&d->pen.buffer, ++d->n_loaded, 4);
    put_id(&d->pen.buffer, class);
    put_big(&d->pen.buffer, STACK, 4);
    put_id(&d->pen.buffer, name);
}

/* ---- classes ---- */

static uint64_t fixed_id(const struct dump *d, unsigned which)
{
    return d->view->n_nodes + which;
}

/* The first `at` links of the chain; below the first is java.lang.Object. */
static uint64_t link_id(const struct dump *d, uint64_t at)
{
    return at == 0 ? fixed_id(d, CLASS_OBJECT) : d->view->n_nodes + N_FIXED + at;
}

static uint64_t shape_id(const struct dump *d, size_t shape)
{
    return d->view->n_nodes + N_FIXED + MOST_LINKS + 1 + shape;
}

/* Writes all of a class up to the number of its static fields, with room for n fields of either
 * kind. */
static bool class_begin(struct dump *d, uint64_t id, uint64_t super, uint64_t n_bytes, uint64_t n)
{
    if (!segment_room(d, CLASS_BYTES + n * (FIELD_BYTES + ID_BYTES)))
        return false;
    struct hs_buffer *b = &d->segment;
    put_big(b, SUB_CLASS, 1);
    put_id(b, id);
    put_big(b, STACK, 4);
    put_id(b, super);
    for (unsigned i = 0; i < 5; i++) /* loader, signers, domain, two reserved */
        put_id(b, 0);
    put_big(b, n_bytes, 4);
    put_big(b, 0, 2);
    return true;
}

static void put_pointer_names(struct dump *d, uint64_t n)
{
    char name[24];
    for (; d->n_pointer_names < n; d->n_pointer_names++) {
        (void)snprintf(name, sizeof name, "[%llu]", (unsigned long long)d->n_pointer_names);
        put_string(d, OF_POINTER | d->n_pointer_names, "", name);
    }
}

/* Classes of nothing but pointers, each on top of the one before. */
static void put_links(struct dump *d, uint64_t n)
{
    while (d->n_links < n && hs_pen_ok(&d->pen)) {
        uint64_t super = link_id(d, d->n_links), id = link_id(d, ++d->n_links);
        put_pointer_names(d, LINK_FIELDS);
        put_loaded(d, id, OF_FIXED | TEXT_LINK);
        if (!class_begin(d, id, super, 0, LINK_FIELDS))
            return;
        put_big(&d->segment, 0, 2);
        put_big(&d->segment, LINK_FIELDS, 2);
        for (uint64_t i = 0; i < LINK_FIELDS; i++)
            put_field(&d->segment, OF_POINTER | i);
    }
}

/* The members that are fields of the classes of a type: the first at each offset, where the type is
 * one structure that is not too large. Their number. */
static size_t members_of(const struct dump *d, uint32_t type, const struct hs_member **ret)
{
    size_t n_all, n = 0;
    const struct hs_member *members = hs_snap_members(d->view->snap, type, &n_all);
    if (n_all > MOST_MEMBERS || hs_snap_type(d->view->snap, type)->stride_bytes != 0)
        return 0;
    for (size_t i = 0; i < n_all; i++)
        if (n == 0 || ret[n - 1]->offset_bytes != members[i].offset_bytes)
            ret[n++] = &members[i];
    return n;
}

static void put_name_of(struct dump *d, hs_str name)
{
    if (hs_bitmap_get(&d->strings, name))
        return;
    hs_bitmap_set(&d->strings, name);
    put_string(d, OF_STRING | name, "", hs_view_string(d->view, name));
}

static void put_type_name(struct dump *d, uint32_t type)
{
    const char *name = hs_view_string(d->view, hs_snap_type(d->view->snap, type)->name);
    if (hs_bitmap_get(&d->types, type))
        return;
    hs_bitmap_set(&d->types, type);
    put_string(d, OF_TYPE | type, name[0] == '[' || name[0] == '\0' ? "type " : "", name);
}

static void put_shape(struct dump *d, size_t at)
{
    const struct shape *shape = &d->shapes[at];
    const struct hs_member *members[MOST_MEMBERS];
    size_t n_members = members_of(d, shape->type, members);
    uint64_t n_links = shape->n_pointers / LINK_FIELDS, n_own = shape->n_pointers % LINK_FIELDS;
    uint64_t n_bytes = shape->words > UINT32_MAX / d->view->facts->word_bytes
                           ? UINT32_MAX - 7
                           : shape->words * d->view->facts->word_bytes;
    put_links(d, n_links);
    put_pointer_names(d, n_own);
    for (size_t i = 0; i < n_members; i++)
        put_name_of(d, members[i]->name);
    put_type_name(d, shape->type);
    put_loaded(d, shape_id(d, at), OF_TYPE | shape->type);
    if (!class_begin(d, shape_id(d, at), link_id(d, n_links), n_bytes, n_members + n_own))
        return;
    put_big(&d->segment, 0, 2);
    put_big(&d->segment, n_members + n_own, 2);
    for (size_t i = 0; i < n_members; i++)
        put_field(&d->segment, OF_STRING | members[i]->name);
    for (uint64_t i = 0; i < n_own; i++)
        put_field(&d->segment, OF_POINTER | i);
}

/* The class of blocks of this shape, which is written when it is the first. */
static size_t shape_of(struct dump *d, const struct shape *of)
{
    uint64_t hash = hs_hash_pair(hs_hash_pair(of->type, of->words), of->n_pointers);
    uint32_t at = HS_TABLE_FIND(&d->shape_table, hash, i,
                                d->shapes[i].type == of->type && d->shapes[i].words == of->words &&
                                    d->shapes[i].n_pointers == of->n_pointers);
    if (at != HS_NO_NUMBER || !hs_pen_ok(&d->pen))
        return at;
    if (of->n_pointers / LINK_FIELDS > MOST_LINKS)
        d->pen.status = hs_fail(&d->pen.error, HS_LIMIT,
                                "a block of %llu pointers is more than HPROF has classes for",
                                (unsigned long long)of->n_pointers);
    else
        d->pen.status = hs_grow((void **)&d->shapes, &d->shape_capacity, d->n_shapes + 1,
                                sizeof *d->shapes, &d->pen.error);
    if (hs_pen_ok(&d->pen))
        d->pen.status = hs_table_add(&d->shape_table, hash, d->n_shapes, &d->pen.error);
    if (!hs_pen_ok(&d->pen))
        return 0;
    d->shapes[d->n_shapes] = *of;
    put_shape(d, d->n_shapes);
    return d->n_shapes++;
}

/* ---- objects ---- */

/* Puts the pointers of a block that lead from a member into its place in `slots`; the number of the
 * others. */
static uint64_t fill_members(const struct dump *d, struct hs_out_edges *edges,
                             const struct hs_member *const *members, size_t n_members,
                             hs_node *slots)
{
    struct hs_out_edge edge;
    uint64_t n_others = 0;
    memset(slots, 0, n_members * sizeof *slots);
    while (hs_out_edges_next(edges, &edge)) {
        uint64_t offset = edge.offset_words * d->view->facts->word_bytes;
        size_t i = 0;
        while (i < n_members && members[i]->offset_bytes != offset)
            i++;
        if (i < n_members && slots[i] == 0)
            slots[i] = edge.target;
        else
            n_others++;
    }
    return n_others;
}

/* The pointers that did not go into a member: those are the first of each target and offset. */
static void put_others(struct dump *d, struct hs_out_edges *edges,
                       const struct hs_member *const *members, size_t n_members)
{
    struct hs_out_edge edge;
    uint64_t taken = 0; /* members, a bit each */
    hs_out_edges_again(edges);
    while (hs_out_edges_next(edges, &edge)) {
        uint64_t offset = edge.offset_words * d->view->facts->word_bytes;
        size_t i = 0;
        while (i < n_members && members[i]->offset_bytes != offset)
            i++;
        if (i < n_members && (taken >> i & 1) == 0)
            taken |= (uint64_t)1 << i;
        else
            put_id(&d->segment, edge.target);
    }
}

static void put_block(struct dump *d, const struct hs_chunk *chunk, uint32_t block,
                      struct hs_out_edges *edges)
{
    const struct hs_member *members[MOST_MEMBERS];
    hs_node slots[MOST_MEMBERS];
    struct shape shape = {.type = chunk->type[block], .words = chunk->words[block]};
    size_t n_members = members_of(d, shape.type, members);
    hs_out_edges_of(edges, block);
    shape.n_pointers = fill_members(d, edges, members, n_members, slots);
    size_t class = shape_of(d, &shape);
    uint64_t n_bytes = (n_members + shape.n_pointers) * ID_BYTES;
    if (!segment_room(d, 64 + n_bytes))
        return;
    put_big(&d->segment, SUB_INSTANCE, 1);
    put_id(&d->segment, chunk->first + block);
    put_big(&d->segment, STACK, 4);
    put_id(&d->segment, shape_id(d, class));
    put_big(&d->segment, n_bytes, 4);
    for (size_t i = 0; i < n_members; i++)
        put_id(&d->segment, slots[i]);
    put_others(d, edges, members, n_members);
    if (d->segment.n_bytes >= SEGMENT_BYTES)
        segment_end(d);
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

/* ---- roots, and what every Java heap has ---- */

static void put_static(struct dump *d, uint64_t class, unsigned name, uint64_t target)
{
    if (!class_begin(d, class, fixed_id(d, CLASS_OBJECT), 0, 1))
        return;
    put_big(&d->segment, 1, 2);
    put_field(&d->segment, OF_FIXED | name);
    put_id(&d->segment, target);
    put_big(&d->segment, 0, 2);
    put_big(&d->segment, SUB_STICKY, 1);
    put_id(&d->segment, class);
    if (d->segment.n_bytes >= SEGMENT_BYTES)
        segment_end(d);
}

static void put_roots(struct dump *d)
{
    char before[64];
    for (hs_node node = 0; node < d->view->n_tree && hs_pen_ok(&d->pen); node++) {
        const struct hs_root *root = hs_snap_root(d->view->snap, node);
        if (root->target == HS_NO_NODE || root->weak)
            continue;
        (void)snprintf(before, sizeof before, "root %s ", hs_root_kind_name(root->kind));
        put_string(d, OF_ROOT | node, before, hs_view_string(d->view, root->name));
        put_loaded(d, node, OF_ROOT | node);
        put_static(d, node, TEXT_TARGET, root->target);
    }
}

/* A class whose objects have one field, or none. */
static void put_plain_class(struct dump *d, unsigned which, uint64_t n_bytes, unsigned field)
{
    uint64_t super = fixed_id(d, which >= CLASS_WEAK ? CLASS_REFERENCE : CLASS_OBJECT);
    if (!class_begin(d, fixed_id(d, which), which == CLASS_OBJECT ? 0 : super, n_bytes, 1))
        return;
    put_big(&d->segment, 0, 2);
    put_big(&d->segment, field != 0, 2);
    if (field != 0)
        put_field(&d->segment, OF_FIXED | field);
}

/* Writes java.lang.System.props, a table of properties, empty: VisualVM asks it what Java this is.
 * It also insists on the four classes of weak references. */
static void put_properties(struct dump *d)
{
    uint64_t properties = fixed_id(d, OBJECT_PROPERTIES), table = fixed_id(d, OBJECT_TABLE);
    put_static(d, fixed_id(d, CLASS_SYSTEM), TEXT_PROPS, properties);
    put_plain_class(d, CLASS_PROPERTIES, OBJECT_BYTES, TEXT_TABLE);
    if (!segment_room(d, 128))
        return;
    put_big(&d->segment, SUB_INSTANCE, 1);
    put_id(&d->segment, properties);
    put_big(&d->segment, STACK, 4);
    put_id(&d->segment, fixed_id(d, CLASS_PROPERTIES));
    put_big(&d->segment, ID_BYTES, 4);
    put_id(&d->segment, table);
    put_big(&d->segment, SUB_ARRAY, 1);
    put_id(&d->segment, table);
    put_big(&d->segment, STACK, 4);
    put_big(&d->segment, 0, 4);
    put_id(&d->segment, fixed_id(d, CLASS_ENTRIES));
}

static void put_java(struct dump *d)
{
    static const char *const texts[] = {
        [TEXT_TARGET] = "target",
        [TEXT_PROPS] = "props",
        [TEXT_TABLE] = "table",
        [TEXT_REFERENT] = "referent",
        [TEXT_LINK] = "heapsnap/ManyPointers",
    };
    for (unsigned i = TEXT_TARGET; i <= TEXT_LINK; i++)
        put_string(d, OF_FIXED | i, "", texts[i]);
    for (unsigned i = 0; i < OBJECT_PROPERTIES; i++) {
        put_string(d, OF_FIXED | i, "", fixed_names[i]);
        put_loaded(d, fixed_id(d, i), OF_FIXED | i);
    }
    record(d, RECORD_TRACE, 12);
    if (hs_pen_room(&d->pen, 12)) {
        put_big(&d->pen.buffer, STACK, 4);
        put_big(&d->pen.buffer, 0, 8);
    }
    for (unsigned i = CLASS_OBJECT; i <= CLASS_LOADER; i++)
        put_plain_class(d, i, OBJECT_BYTES, 0);
    put_plain_class(d, CLASS_ENTRY, OBJECT_BYTES, 0);
    put_plain_class(d, CLASS_ENTRIES, 0, 0);
    put_plain_class(d, CLASS_REFERENCE, OBJECT_BYTES, TEXT_REFERENT);
    for (unsigned i = CLASS_WEAK; i <= CLASS_PHANTOM; i++)
        put_plain_class(d, i, OBJECT_BYTES, 0);
    put_properties(d);
}

static hs_status put_all(struct dump *d, struct hs_error *err)
{
    static const char magic[] = "JAVA PROFILE 1.0.2";
    HS_TRY(hs_bitmap_init(&d->strings, d->view->totals->n_strings + 1, err));
    HS_TRY(hs_bitmap_init(&d->types, d->view->totals->n_types, err));
    hs_pen_bytes(&d->pen, magic, sizeof magic);
    if (hs_pen_room(&d->pen, 12)) {
        put_big(&d->pen.buffer, ID_BYTES, 4);
        put_big(&d->pen.buffer, d->view->facts->taken_ns / 1000000, 8);
    }
    put_java(d);
    put_roots(d);
    HS_TRY(put_blocks(d, err));
    segment_end(d);
    record(d, RECORD_END, 0);
    return HS_OK;
}

static hs_status export_hprof(struct hs_view *view, const struct hs_export_target *target,
                              struct hs_error *err)
{
    struct dump d = {.view = view, .pen = hs_pen_of(target->out)};
    hs_status status = hs_pen_finish(&d.pen, put_all(&d, err), err);
    hs_buffer_fini(&d.segment);
    hs_free(d.shapes);
    hs_table_fini(&d.shape_table);
    hs_bitmap_fini(&d.strings);
    hs_bitmap_fini(&d.types);
    return status;
}

const struct hs_exporter hs_exporter_hprof = {
    .needs = HS_VIEW_SNAP,
    .is_binary = true,
    .write = export_hprof,
};
