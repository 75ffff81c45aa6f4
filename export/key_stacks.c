/* The keys of a snapshot as stacks: a root, and types on top of it. */
#include <stdio.h>
#include <string.h>

#include "analysis/keys.h"
#include "base/alloc.h"
#include "export/stacks.h"

static const struct hs_stack_value values[] = {{"inuse_objects", "count"},
                                               {"inuse_space", "bytes"}};

static uint32_t binary_of(const struct hs_view *view, hs_str module)
{
    const struct hs_snap_facts *facts = view->facts;
    const char *name = hs_view_string(view, module);
    size_t n = strlen(name);
    for (size_t i = 0; i < facts->n_binaries && n != 0; i++) {
        const char *path = hs_view_string(view, facts->binaries[i].path);
        size_t n_path = strlen(path);
        if (n_path >= n && strcmp(path + n_path - n, name) == 0 &&
            (n_path == n || path[n_path - n - 1] == '/'))
            return (uint32_t)i + 1;
    }
    return 0;
}

static hs_status name_add(struct hs_stack_tree *tree, const struct hs_keys *keys,
                          const struct hs_key *key, hs_str *ret, struct hs_error *err)
{
    const char *name = hs_strtab_get(&keys->names, key->name);
    const char *kind = hs_root_kind_name(key->kind);
    struct hs_buffer text = {0};
    if (key->form != HS_KEY_ROOT)
        return hs_strtab_add(&tree->strings, name[0] == '\0' ? "?" : name, ret, err);
    hs_status status = hs_buffer_reserve(&text, strlen(kind) + strlen(name) + 8, err);
    if (status == HS_OK) {
        hs_buffer_put_bytes(&text, "root ", 5);
        hs_buffer_put_bytes(&text, kind, strlen(kind));
        hs_buffer_put_u8(&text, ' ');
        hs_buffer_put_bytes(&text, name, strlen(name));
        status = hs_strtab_add_n(&tree->strings, (const char *)text.bytes, text.n_bytes, ret, err);
    }
    hs_buffer_fini(&text);
    return status;
}

static hs_status key_add(struct hs_stack_tree *tree, const struct hs_view *view,
                         const struct hs_keys *keys, const struct hs_key *key, struct hs_error *err)
{
    struct hs_stack_frame frame = {0};
    struct hs_stack_node *node;
    uint32_t at;
    HS_TRY(name_add(tree, keys, key, &frame.name, err));
    if (key->form == HS_KEY_ROOT && key->root != HS_NO_NODE) {
        const struct hs_root *root = hs_snap_root(view->snap, key->root);
        HS_TRY(hs_strtab_add(&tree->strings, hs_view_string(view, root->file), &frame.file, err));
        frame.line = frame.file == 0 ? 0 : root->line;
        frame.binary = binary_of(view, root->module);
    }
    HS_TRY(hs_stack_frame_add(tree, &frame, &at, err));
    HS_TRY(hs_stack_node_add(tree, &node, err));
    /* Number 0, the whole heap, is no frame. */
    node->parent = key->parent == 0 || key->parent == HS_NO_KEY ? HS_NO_STACK : key->parent - 1;
    node->frame = at;
    if (key->form == HS_KEY_ROOT)
        HS_TRY(hs_strtab_add(&tree->strings, hs_strtab_get(&keys->names, key->name), &node->label,
                             err));
    node->kind = key->kind;
    node->tier = key->tier;
    node->is_root = key->form != HS_KEY_TYPE;
    node->values[0] = key->own.objects;
    node->values[1] = key->own.words * view->facts->word_bytes;
    return HS_OK;
}

static hs_status binaries_add(struct hs_stack_tree *tree, const struct hs_view *view,
                              struct hs_error *err)
{
    const struct hs_snap_facts *facts = view->facts;
    HS_TRY(HS_ALLOC(&tree->binaries, facts->n_binaries, err));
    for (size_t i = 0; i < facts->n_binaries; i++) {
        struct hs_stack_binary *binary = &tree->binaries[tree->n_binaries++];
        HS_TRY(hs_strtab_add(&tree->strings, hs_view_string(view, facts->binaries[i].path),
                             &binary->path, err));
        HS_TRY(hs_strtab_add(&tree->strings, hs_view_string(view, facts->binaries[i].build_id),
                             &binary->build_id, err));
    }
    return HS_OK;
}

static hs_status facts_add(struct hs_stack_tree *tree, const struct hs_view *view,
                           const struct hs_keys *keys, struct hs_error *err)
{
    char text[256];
    const struct hs_snap_totals *totals = view->totals;
    (void)snprintf(text, sizeof text,
                   "heapsnap: process %lu, %llu objects of %llu words%s; what is under a frame is "
                   "what it owns: one holder of perhaps several",
                   (unsigned long)view->facts->pid,
                   (unsigned long long)(totals->n_blocks - totals->n_static_blocks),
                   (unsigned long long)totals->heap_words,
                   keys->is_cut ? ", the deepest keys cut" : "");
    tree->types = values;
    tree->n_values = 2;
    tree->shown = 1;
    tree->has_roots = true;
    tree->time_ns = view->facts->taken_ns;
    HS_TRY(hs_strtab_add(&tree->strings, text, &tree->comment, err));
    HS_TRY(hs_strtab_add(&tree->strings, hs_view_string(view, view->facts->command), &tree->command,
                         err));
    return binaries_add(tree, view, err);
}

hs_status hs_stack_tree_of_view(struct hs_view *view, struct hs_stack_tree *ret,
                                struct hs_error *err)
{
    struct hs_keys keys = {0};
    hs_status status = hs_keys_find(view, &(struct hs_keys_query){0}, &keys, err);
    if (status == HS_OK)
        status = facts_add(ret, view, &keys, err);
    for (size_t i = 1; i < keys.n && status == HS_OK; i++)
        status = key_add(ret, view, &keys, &keys.keys[i], err);
    hs_keys_fini(&keys);
    return status;
}
