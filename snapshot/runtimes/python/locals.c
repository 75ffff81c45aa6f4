/* Variables of threads (threading.local): to each such object belongs a dictionary for each thread.
 * Roots by the name of the object, in the group of the thread: `__main__.tls.rows`.
 *
 * Up to 3.12 the state of a thread has for the key of each object a dummy, which leads to its
 * dictionary; since 3.13 it has one key for all objects, which have a dictionary of dictionaries.
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "python.h"

enum {
    MAX_LOCALS = 1 << 16,
    TYPE_BASE = 256,
    AT_KEY = 16,
    AT_DICT_OF_DUMMY = 16,
    AT_DICTIONARIES = 40, /* since 3.13 */
    TEXT_BYTES = 4 * PY_NAME_BYTES,
};

struct local {
    hs_addr block, object;
    hs_str name; /* 0: none */
};

struct locals {
    struct py_state *s;
    hs_addr type;      /* of which all of them are */
    struct local *all; /* owned */
    size_t n, capacity;
    struct hs_table by_block;
};

static hs_addr find_type(const struct py_state *s)
{
    for (size_t i = 0; i < s->classes.n; i++)
        if (s->classes.all[i].is_type && strcmp(s->classes.all[i].name, "_thread._local") == 0)
            return s->classes.all[i].address;
    return 0;
}

static bool is_local(const struct locals *l, const struct py_class *class)
{
    hs_addr type = class->address;

    if (class->kind != PY_OTHER)
        return false;
    for (int i = 0; i < PY_MAX_CHAIN && type != 0; i++) {
        if (type == l->type)
            return true;
        type = hs_python_word(&l->s->view, type + TYPE_BASE);
    }
    return false;
}

static hs_status add_local(struct locals *l, const struct py_class *class,
                           const struct hs_heap_block *block, struct hs_error *err)
{
    if (l->n >= MAX_LOCALS)
        return HS_OK;
    HS_TRY(HS_GROW(&l->all, &l->capacity, l->n + 1, err));
    HS_TRY(hs_table_add(&l->by_block, hs_hash(block->begin), l->n, err));
    l->all[l->n++] =
        (struct local){.block = block->begin, .object = block->begin + class->object_at};
    return HS_OK;
}

static hs_status find_locals(struct locals *l, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &l->s->dump->heaps.map};
    struct hs_heap_block block;
    struct hs_bitmap ours = {0};
    hs_status status = hs_bitmap_init(&ours, l->s->classes.n, err);

    for (size_t i = 0; status == HS_OK && i < l->s->classes.n; i++)
        if (is_local(l, &l->s->classes.all[i]))
            hs_bitmap_set(&ours, i);
    while (status == HS_OK && hs_heap_map_next(&it, &block)) {
        uint64_t known = l->s->blocks.known[block.rank], number = hs_python_known_number(known);
        if (hs_python_known_kind(known) == PY_BLOCK_OBJECT && hs_bitmap_get(&ours, number))
            status = add_local(l, &l->s->classes.all[number], &block, err);
    }
    hs_bitmap_fini(&ours);
    return status;
}

/* Finds the names that modules and classes give them. */
static void find_names(struct locals *l)
{
    const struct hs_roots *roots = &l->s->roots;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        hs_addr target = roots->leaves[i].target;
        uint32_t at = HS_TABLE_FIND(&l->by_block, hs_hash(target), k, l->all[k].block == target);
        if (at != HS_NO_NUMBER && l->all[at].name == 0)
            l->all[at].name = roots->leaves[i].root.name;
    }
}

/* Finds the dictionary that a thread has of a local; 0: none. */
static hs_addr dictionary(const struct py_view *view, const struct local *local, hs_addr state)
{
    char key[PY_NAME_BYTES];

    if (view->layout->thread_local_key == PY_NONE) {
        hs_addr own = hs_python_word(view, state + view->layout->thread_dict);
        if (own == 0 ||
            !hs_python_ascii(view, hs_python_word(view, local->object + AT_KEY), key, sizeof key))
            return 0;
        hs_addr dummy = hs_python_dict_value(view, own, key);
        return dummy == 0 ? 0 : hs_python_word(view, dummy + AT_DICT_OF_DUMMY);
    }
    hs_addr own = hs_python_word(view, state + view->layout->thread_local_key);
    struct py_entries it;
    hs_python_entries(view, hs_python_word(view, local->object + AT_DICTIONARIES), &it);
    while (own != 0 && hs_python_next_entry(view, &it))
        if (it.key == own)
            return it.value;
    return 0;
}

static hs_status add_variable(const struct locals *l, const struct local *local,
                              const struct py_threads *thread, const struct py_entries *it,
                              struct hs_error *err)
{
    struct py_state *s = l->s;
    char name[PY_NAME_BYTES], text[TEXT_BYTES + PY_NAME_BYTES];
    struct hs_root_leaf leaf = {
        .root = {.kind = HS_ROOT_TLS, .address = it->slot, .thread = thread->tid},
        .group_module = thread->module};

    if (hs_python_is_named(s, it->value))
        return HS_OK;
    bool is_name = hs_python_identifier(&s->view, it->key, false, name, sizeof name);
    bool is_loop =
        local->name == 0 && hs_python_is_loop(s, it->value); /* asyncio's policy has it */
    (void)snprintf(text, sizeof text, "%s%s%s",
                   local->name == 0 ? "[thread-local]"
                                    : hs_strtab_get(&s->dump->strings, local->name),
                   is_name ? "." : "", is_name ? name : "[...]");
    HS_TRY(hs_strtab_add(&s->dump->strings, is_loop ? PY_LOOP_NAME : text, &leaf.root.name, err));
    return hs_python_add_root(s, &leaf, it->value, false, err);
}

static hs_status add_thread(const struct locals *l, const struct py_threads *thread,
                            struct hs_error *err)
{
    for (size_t i = 0; i < l->n; i++) {
        hs_addr dict = dictionary(&l->s->view, &l->all[i], thread->state);
        const struct py_class *class = hs_python_class_of(&l->s->view, &l->s->classes, dict);
        struct py_entries it;
        if (!hs_python_may_look(&l->s->view, 1))
            return HS_OK;
        if (dict == 0 || class == NULL || class->kind != PY_DICT)
            continue;
        hs_python_entries(&l->s->view, dict, &it);
        while (hs_python_next_entry(&l->s->view, &it))
            HS_TRY(add_variable(l, &l->all[i], thread, &it, err));
    }
    return HS_OK;
}

static hs_status add_threads(struct locals *l, struct hs_error *err)
{
    struct py_threads it = {0};
    bool is_there;

    HS_TRY(find_locals(l, err));
    find_names(l);
    HS_TRY(hs_python_next_thread(l->s, &it, &is_there, err));
    while (is_there) {
        HS_TRY(add_thread(l, &it, err));
        HS_TRY(hs_python_next_thread(l->s, &it, &is_there, err));
    }
    return HS_OK;
}

hs_status hs_python_name_locals(struct py_state *s, struct hs_error *err)
{
    struct locals l = {.s = s, .type = find_type(s)};

    if (l.type == 0)
        return HS_OK;
    hs_status status = add_threads(&l, err);
    hs_free(l.all);
    hs_table_fini(&l.by_block);
    return status;
}
