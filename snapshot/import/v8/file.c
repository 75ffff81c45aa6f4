#include "file.h"

static const char *const node_kind_names[V8_OTHER_NODE] = {
    [V8_HIDDEN] = "hidden",
    [V8_ARRAY] = "array",
    [V8_STRING] = "string",
    [V8_OBJECT] = "object",
    [V8_CODE] = "code",
    [V8_CLOSURE] = "closure",
    [V8_REGEXP] = "regexp",
    [V8_NUMBER] = "number",
    [V8_NATIVE] = "native",
    [V8_SYNTHETIC] = "synthetic",
    [V8_CONS_STRING] = "concatenated string",
    [V8_SLICED_STRING] = "sliced string",
    [V8_SYMBOL] = "symbol",
    [V8_BIGINT] = "bigint",
    [V8_SHAPE] = "object shape",
};

static const char *const edge_kind_names[V8_OTHER_EDGE] = {
    [V8_CONTEXT] = "context",   [V8_ELEMENT] = "element",    [V8_PROPERTY] = "property",
    [V8_INTERNAL] = "internal", [V8_HIDDEN_EDGE] = "hidden", [V8_SHORTCUT] = "shortcut",
    [V8_WEAK] = "weak",
};

/* ---- the meta object ---- */

/* The position of a name in an array of strings; the array's length in *ret_n. */
static int position(struct json_slice array, const char *name, unsigned *ret_n)
{
    struct json_slice walk = hs_scan_enter(array), value;
    int found = -1;
    unsigned n = 0;
    for (; hs_scan_next(&walk, NULL, &value) && n <= V8_MAX_FIELDS; n++)
        if (found < 0 && hs_scan_is(value, name))
            found = (int)n;
    *ret_n = n;
    return found;
}

static bool fields_find(struct json_slice meta, const char *key, const char *const *names,
                        unsigned *const *places, unsigned n_names, unsigned *ret_n)
{
    struct json_slice array;
    if (!hs_scan_member(meta, key, &array))
        return false;
    for (unsigned i = 0; i < n_names; i++) {
        int at = position(array, names[i], ret_n);
        if (at < 0)
            return false;
        *places[i] = (unsigned)at;
    }
    return *ret_n <= V8_MAX_FIELDS;
}

/* The kinds stand at the place of the field "type". */
static bool kinds_find(struct json_slice meta, const char *key, unsigned place,
                       const char *const *names, unsigned n_names, uint8_t *kinds, unsigned *ret_n)
{
    struct json_slice array, value;
    if (!hs_scan_member(meta, key, &array))
        return false;
    struct json_slice walk = hs_scan_enter(array);
    for (unsigned i = 0; i <= place; i++)
        if (!hs_scan_next(&walk, NULL, &value))
            return false;
    unsigned n = 0;
    walk = hs_scan_enter(value);
    while (hs_scan_next(&walk, NULL, &value)) {
        if (n == V8_MAX_KINDS)
            return false;
        unsigned kind = 0;
        while (kind < n_names && !hs_scan_is(value, names[kind]))
            kind++;
        kinds[n++] = (uint8_t)kind; /* n_names: another */
    }
    *ret_n = n;
    return n != 0;
}

static bool meta_read(struct v8_file *file, struct json_slice meta)
{
    static const char *const node_fields[] = {"type", "name", "id", "self_size", "edge_count"};
    static const char *const edge_fields[] = {"type", "name_or_index", "to_node"};
    unsigned *const node_places[] = {&file->type, &file->name, &file->id, &file->self_size,
                                     &file->edge_count};
    unsigned *const edge_places[] = {&file->edge_type, &file->edge_name, &file->edge_to};
    return fields_find(meta, "node_fields", node_fields, node_places, 5, &file->n_node_fields) &&
           fields_find(meta, "edge_fields", edge_fields, edge_places, 3, &file->n_edge_fields) &&
           kinds_find(meta, "node_types", file->type, node_kind_names, V8_OTHER_NODE,
                      file->node_kinds, &file->n_node_kinds) &&
           kinds_find(meta, "edge_types", file->edge_type, edge_kind_names, V8_OTHER_EDGE,
                      file->edge_kinds, &file->n_edge_kinds);
}

/* ---- the file ---- */

static bool is_array(struct json_slice value)
{
    return value.at != NULL && *value.at == '[';
}

/* A number and what separates it take two bytes at least. */
static bool has_room(struct json_slice array, uint64_t n_rows, unsigned n_fields)
{
    return n_rows <= (uint64_t)(array.end - array.at) / 2 / n_fields;
}

static hs_status header_read(struct v8_file *file, struct json_slice snapshot, struct hs_error *err)
{
    struct json_slice meta, value;
    if (!hs_scan_member(snapshot, "meta", &meta) || !meta_read(file, meta))
        return hs_fail(err, HS_FORMAT, "its description of fields is not one that is known");
    if (!hs_scan_member(snapshot, "node_count", &value) || !hs_scan_count(value, &file->n_nodes) ||
        !hs_scan_member(snapshot, "edge_count", &value) || !hs_scan_count(value, &file->n_edges))
        return hs_fail(err, HS_FORMAT, "it does not say how many nodes and edges it has");
    uint64_t root = 0;
    if (hs_scan_member(snapshot, "root_index", &value) && !hs_scan_count(value, &root))
        return hs_fail(err, HS_FORMAT, "its root is no number");
    file->root = root / file->n_node_fields;
    if (!has_room(file->nodes, file->n_nodes, file->n_node_fields) ||
        !has_room(file->edges, file->n_edges, file->n_edge_fields))
        return hs_fail(err, HS_FORMAT, "it has fewer nodes or edges than it says");
    if (file->root >= file->n_nodes)
        return hs_fail(err, HS_FORMAT, "it has no root");
    return HS_OK;
}

static hs_status strings_count(struct v8_file *file, struct hs_error *err)
{
    struct json_slice walk = hs_scan_enter(file->strings), value;
    while (hs_scan_next(&walk, NULL, &value)) {
        if (*value.at != '"')
            return hs_scan_fail(file->map.bytes, value.at, "its strings hold something else", err);
        file->n_strings++;
    }
    if (walk.at == NULL || file->n_strings > UINT32_MAX)
        return hs_scan_fail(file->map.bytes, file->strings.at, "its strings are malformed", err);
    return HS_OK;
}

static hs_status file_find(struct v8_file *file, struct hs_error *err)
{
    const uint8_t *bytes = file->map.bytes;
    const uint8_t *end = bytes + file->map.n_bytes;
    struct json_slice all = {hs_scan_space(bytes, end), end}, snapshot = {0}, key, value;
    struct json_slice walk = hs_scan_enter(all);
    bool is_first = true;
    while (hs_scan_next(&walk, &key, &value)) {
        if (is_first && !hs_scan_is(key, "snapshot"))
            break;
        is_first = false;
        if (hs_scan_is(key, "snapshot"))
            snapshot = value;
        else if (hs_scan_is(key, "nodes"))
            file->nodes = value;
        else if (hs_scan_is(key, "edges"))
            file->edges = value;
        else if (hs_scan_is(key, "strings"))
            file->strings = value;
    }
    if (is_first || snapshot.at == NULL) {
        (void)hs_fail(err, HS_FORMAT, "it is not a heap snapshot of V8");
        return hs_hint(err, "such a file begins with {\"snapshot\":{\"meta\":");
    }
    if (walk.at == NULL || *walk.at != '}' || !is_array(file->nodes) || !is_array(file->edges) ||
        !is_array(file->strings))
        return hs_fail(err, HS_FORMAT, "it is cut or damaged: its %s not whole",
                       !is_array(file->nodes)   ? "nodes are"
                       : !is_array(file->edges) ? "edges are"
                                                : "strings are");
    HS_TRY(header_read(file, snapshot, err));
    return strings_count(file, err);
}

hs_status hs_v8_file_open(const char *path, struct v8_file *ret, struct hs_error *err)
{
    struct v8_file file = {0};
    HS_TRY(hs_map_open(path, &file.map, err));
    hs_status status =
        file.map.n_bytes == 0 ? hs_fail(err, HS_FORMAT, "it is empty") : file_find(&file, err);
    if (status == HS_OK)
        *ret = file;
    else
        hs_map_close(&file.map);
    return status;
}

void hs_v8_file_close(struct v8_file *file)
{
    hs_map_close(&file->map);
    *file = (struct v8_file){0};
}

/* ---- rows ---- */

struct v8_walk hs_v8_walk_begin(const struct v8_file *file)
{
    return (struct v8_walk){
        .file = file,
        .nodes = hs_scan_enter(file->nodes),
        .edges = hs_scan_enter(file->edges),
    };
}

static bool row_take(struct json_slice *walk, uint64_t *row, unsigned n)
{
    bool ok = true;
    for (unsigned i = 0; i < n; i++)
        row[i] = hs_scan_number(walk, &ok);
    return ok;
}

hs_status hs_v8_next_node(struct v8_walk *walk, struct v8_node *ret, struct hs_error *err)
{
    const struct v8_file *file = walk->file;
    uint64_t row[V8_MAX_FIELDS];
    if (!row_take(&walk->nodes, row, file->n_node_fields))
        return hs_scan_fail(file->map.bytes, walk->nodes.at, "a node is malformed", err);
    uint64_t type = row[file->type];
    if (type >= file->n_node_kinds || row[file->name] >= file->n_strings)
        return hs_scan_fail(file->map.bytes, walk->nodes.at, "a node has no such type or name",
                            err);
    *ret = (struct v8_node){
        .kind = file->node_kinds[type],
        .name = row[file->name],
        .id = row[file->id],
        .n_bytes = row[file->self_size],
        .n_edges = row[file->edge_count],
    };
    walk->n_nodes++;
    return HS_OK;
}

hs_status hs_v8_next_edge(struct v8_walk *walk, struct v8_edge *ret, struct hs_error *err)
{
    const struct v8_file *file = walk->file;
    uint64_t row[V8_MAX_FIELDS];
    if (!row_take(&walk->edges, row, file->n_edge_fields))
        return hs_scan_fail(file->map.bytes, walk->edges.at, "an edge is malformed", err);
    uint64_t type = row[file->edge_type], name = row[file->edge_name];
    uint64_t to = row[file->edge_to];
    if (type >= file->n_edge_kinds || to % file->n_node_fields != 0 ||
        to / file->n_node_fields >= file->n_nodes)
        return hs_scan_fail(file->map.bytes, walk->edges.at, "an edge has no such type or target",
                            err);
    *ret = (struct v8_edge){file->edge_kinds[type], name, to / file->n_node_fields};
    if (hs_v8_is_named(ret->kind) && ret->kind != V8_OTHER_EDGE && name >= file->n_strings)
        return hs_scan_fail(file->map.bytes, walk->edges.at, "an edge has no such name", err);
    walk->n_edges++;
    return HS_OK;
}

static bool is_at_end(struct json_slice walk)
{
    return hs_scan_space(walk.at, walk.end) + 1 == walk.end;
}

hs_status hs_v8_walk_end(const struct v8_walk *walk, bool with_edges, struct hs_error *err)
{
    const struct v8_file *file = walk->file;
    if (walk->n_nodes != file->n_nodes || !is_at_end(walk->nodes))
        return hs_scan_fail(file->map.bytes, walk->nodes.at, "more nodes than it says", err);
    if (with_edges && (walk->n_edges != file->n_edges || !is_at_end(walk->edges)))
        return hs_scan_fail(file->map.bytes, walk->edges.at, "more edges than it says", err);
    return HS_OK;
}
