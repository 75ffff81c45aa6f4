/* Roots by the names that a program itself uses: an entry of a module's namespace, an attribute of
 * a class.
 *
 * What a name holds belongs to that name, whoever else refers to it: that is a convention, not
 * what would be freed. So each block has one name at most, the first of
 *
 *   1. where it was defined: classes and functions found at their `__module__`.`__qualname__`
 *   2. entries of modules, in the order of sys.modules, then attributes of classes
 *   3. names such as `__doc__`
 *
 * Modules and their dictionaries are roots of their own. Scopes are gone through one by one: a
 * class in a class is put behind those that wait. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "python.h"

enum {
    MODULE_DICT = 16,
    WRAPPED = 16, /* the function in a staticmethod or classmethod */
    TYPE_DICT = 264,
    MAX_SCOPES = 1 << 20,
    MAX_NAMES = 1 << 22,
    NAMES_STEP = 1 << 12,
    TEXT_BYTES = 3 * PY_NAME_BYTES,
};

/* The memory of so many names: here, among all roots, and their texts. */
#define STEP_BYTES (NAMES_STEP * (2 * sizeof(struct hs_root_leaf) + PY_NAME_BYTES))

enum round { ROUND_DEFINITIONS, ROUND_NAMES, ROUND_SPECIAL, N_ROUNDS };

/* A namespace. */
struct scope {
    hs_addr dict;
    hs_str module, path;   /* "app.users", "Session.Meta"; path 0: the module itself */
    hs_str of_interpreter; /* "interpreter 2: app.users"; of the first as the module */
    hs_str file;           /* "users.py"; 0: unknown */
};

struct names {
    struct py_state *s;
    struct scope *scopes; /* owned */
    size_t n_scopes, capacity;
    struct hs_table by_dict;
    enum round round;
};

static bool is_class_named(const struct py_class *class, const char *name)
{
    return class != NULL && strcmp(class->name, name) == 0;
}

static const char *text_of(const struct names *n, hs_str string)
{
    return hs_strtab_get(&n->s->dump->strings, string);
}

bool hs_python_is_named(const struct py_state *s, hs_addr word)
{
    struct hs_heap_block block;
    enum hs_pointer how = hs_heap_map_resolve(&s->dump->heaps.map, word, &block);

    return (how == HS_POINTER_START || how == HS_POINTER_INTERIOR) &&
           hs_bitmap_get(&s->named, block.rank);
}

hs_status hs_python_take_memory(struct py_state *s, uint64_t n_bytes, struct hs_error *err)
{
    s->lacks_memory |= n_bytes > s->most_name_bytes;
    if (s->lacks_memory) {
        s->looks_left = 0;
        return HS_OK;
    }
    s->most_name_bytes -= n_bytes;
    return hs_dump_plan_reserve(&s->dump->plan, n_bytes, "what Python's names are", err);
}

hs_status hs_python_add_root(struct py_state *s, struct hs_root_leaf *leaf, hs_addr word,
                             bool is_passing, struct hs_error *err)
{
    struct hs_heap_block block;
    enum hs_pointer how = hs_heap_map_resolve(&s->dump->heaps.map, word, &block);

    if ((how != HS_POINTER_START && how != HS_POINTER_INTERIOR) ||
        (block.span->states & HS_BLOCK_MAPPING) != 0)
        return HS_OK;
    if (s->n_names >= MAX_NAMES) {
        s->looks_left = 0;
        return HS_OK;
    }
    if (s->n_names % NAMES_STEP == 0)
        HS_TRY(hs_python_take_memory(s, STEP_BYTES, err));
    if (s->lacks_memory)
        return HS_OK;
    leaf->target = block.begin;
    leaf->root.field = HS_NO_FIELD;
    leaf->root.certainty = HS_EXACT;
    leaf->root.edge_class = how == HS_POINTER_START ? HS_EDGE_EXACT : HS_EDGE_INTERIOR;
    if (!is_passing)
        hs_bitmap_set(&s->named, block.rank);
    s->n_names++;
    return hs_roots_add(&s->roots, leaf, err);
}

/* Adds a root for an entry of a scope, by its name: "app.users.Session.table". */
static hs_status add_named(struct names *n, const struct scope *scope, const char *name,
                           hs_addr slot, hs_addr value, struct hs_error *err)
{
    char text[TEXT_BYTES + PY_NAME_BYTES + PY_INTERPRETER_BYTES];
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_GLOBAL, .address = slot},
                                .group_module = scope->of_interpreter,
                                .group_unit = scope->path};

    (void)snprintf(text, sizeof text, "%s%s%s%s%s", text_of(n, scope->of_interpreter),
                   scope->path != 0 ? "." : "", scope->path != 0 ? text_of(n, scope->path) : "",
                   name[0] == '[' ? "" : ".", name);
    HS_TRY(hs_strtab_add(&n->s->dump->strings, text, &leaf.root.name, err));
    leaf.root.symbol = leaf.root.name;
    leaf.root.module = scope->of_interpreter;
    leaf.root.file = scope->file;
    return hs_python_add_root(n->s, &leaf, value, false, err);
}

static hs_status add_scope(struct names *n, const struct scope *scope, struct hs_error *err)
{
    uint64_t hash = hs_hash(scope->dict);

    if (n->n_scopes >= MAX_SCOPES ||
        HS_TABLE_FIND(&n->by_dict, hash, i, n->scopes[i].dict == scope->dict) != HS_NO_NUMBER)
        return HS_OK;
    HS_TRY(HS_GROW(&n->scopes, &n->capacity, n->n_scopes + 1, err));
    HS_TRY(hs_table_add(&n->by_dict, hash, n->n_scopes, err));
    n->scopes[n->n_scopes++] = *scope;
    return HS_OK;
}

static const struct py_class *class_at(const struct names *n, hs_addr object)
{
    return hs_python_class_of(&n->s->view, &n->s->classes, object);
}

/* Finds the `__module__` of a class or function, its `__qualname__`, and the dictionary of a class.
 * False for any other value. */
static bool definition(const struct names *n, hs_addr value, const struct py_class *class,
                       char *module, char *path, hs_addr *ret_dict)
{
    const struct py_view *view = &n->s->view;
    hs_addr module_text, path_text;

    *ret_dict = 0;
    if (class->kind == PY_TYPE) {
        enum { AT_FLAGS_OF_TYPE = 168, IS_HEAP = 1 << 9 };
        if ((hs_python_word(view, value + AT_FLAGS_OF_TYPE) & IS_HEAP) == 0)
            return false;
        *ret_dict = hs_python_word(view, value + TYPE_DICT);
        module_text = hs_python_dict_value(view, *ret_dict, "__module__");
        path_text = hs_python_word(view, value + view->layout->ht_qualname);
    } else if (!class->is_heap && strcmp(class->name, "function") == 0) {
        module_text = hs_python_word(view, value + view->layout->func_module);
        path_text = hs_python_word(view, value + view->layout->func_qualname);
    } else {
        return false;
    }
    return hs_python_identifier(view, module_text, true, module, PY_NAME_BYTES) &&
           hs_python_identifier(view, path_text, true, path, PY_NAME_BYTES);
}

/* Adds a class or function that is defined at this entry of the scope. A class is a scope then,
 * too. */
static hs_status add_definition(struct names *n, const struct scope *scope,
                                const struct py_entries *it, const char *name, struct hs_error *err)
{
    char module[PY_NAME_BYTES], path[PY_NAME_BYTES], here[TEXT_BYTES];
    const struct py_class *class = class_at(n, it->value);
    hs_addr value = it->value;
    struct scope inner = {
        .module = scope->module, .of_interpreter = scope->of_interpreter, .file = scope->file};

    if (is_class_named(class, "staticmethod") || is_class_named(class, "classmethod")) {
        value = hs_python_word(&n->s->view, value + WRAPPED);
        class = class_at(n, value);
    }
    if (class == NULL || !definition(n, value, class, module, path, &inner.dict))
        return HS_OK;
    (void)snprintf(here, sizeof here, "%s%s%s", scope->path != 0 ? text_of(n, scope->path) : "",
                   scope->path != 0 ? "." : "", name);
    if (strcmp(module, text_of(n, scope->module)) != 0 || strcmp(path, here) != 0 ||
        hs_python_is_named(n->s, value))
        return HS_OK;
    n->s->n_definitions++;
    HS_TRY(add_named(n, scope, name, it->slot, value, err));
    if (inner.dict == 0)
        return HS_OK;
    HS_TRY(hs_strtab_add(&n->s->dump->strings, here, &inner.path, err));
    return add_scope(n, &inner, err);
}

static hs_status add_entry(struct names *n, const struct scope *scope, const struct py_entries *it,
                           struct hs_error *err)
{
    char name[PY_NAME_BYTES];
    bool is_name = hs_python_identifier(&n->s->view, it->key, false, name, sizeof name);
    bool is_special = is_name && name[0] == '_' && name[1] == '_';

    if (n->round == ROUND_DEFINITIONS)
        return is_name ? add_definition(n, scope, it, name, err) : HS_OK;
    if (is_special != (n->round == ROUND_SPECIAL) || hs_python_is_named(n->s, it->value))
        return HS_OK;
    return add_named(n, scope, is_name ? name : "[...]", it->slot, it->value, err);
}

static hs_status go_through(struct names *n, struct hs_error *err)
{
    for (size_t i = 0; i < n->n_scopes; i++) { /* more are added meanwhile */
        struct scope scope = n->scopes[i];
        struct py_entries it;
        hs_python_entries(&n->s->view, scope.dict, &it);
        while (hs_python_next_entry(&n->s->view, &it))
            HS_TRY(add_entry(n, &scope, &it, err));
    }
    return HS_OK;
}

/* Fills in a module's name, alone and with its interpreter's, and its file. */
static hs_status describe(const struct names *n, hs_addr interpreter, hs_addr key,
                          struct scope *scope, struct hs_error *err)
{
    const struct py_view *view = &n->s->view;
    struct hs_strtab *strings = &n->s->dump->strings;
    char name[PY_NAME_BYTES], file[PY_NAME_BYTES], whose[PY_INTERPRETER_BYTES];
    char text[sizeof name + sizeof whose];

    if (!hs_python_identifier(view, key, true, name, sizeof name))
        (void)snprintf(name, sizeof name, "[...]");
    hs_python_interpreter_name(n->s, interpreter, whose, sizeof whose);
    (void)snprintf(text, sizeof text, "%s%s", whose, name);
    HS_TRY(hs_strtab_add(strings, name, &scope->module, err));
    HS_TRY(hs_strtab_add(strings, text, &scope->of_interpreter, err));
    hs_python_base_name(view, hs_python_dict_value(view, scope->dict, "__file__"), file);
    return file[0] == '\0' ? HS_OK : hs_strtab_add(strings, file, &scope->file, err);
}

/* Adds roots for a module itself and its dictionary, and its scope. */
static hs_status add_module(struct names *n, hs_addr interpreter, const struct py_entries *it,
                            struct hs_error *err)
{
    hs_addr dict = hs_python_word(&n->s->view, it->value + MODULE_DICT);
    const struct py_class *class = class_at(n, it->value), *of_dict = class_at(n, dict);
    struct scope scope = {.dict = dict};

    if (class == NULL || of_dict == NULL || of_dict->kind != PY_DICT ||
        (class->kind != PY_OTHER && class->kind != PY_MODULE))
        return HS_OK;
    HS_TRY(describe(n, interpreter, it->key, &scope, err));
    n->s->n_modules++;
    if (!hs_python_is_named(n->s, it->value))
        HS_TRY(add_named(n, &scope, "__self__", it->slot, it->value, err));
    if (!hs_python_is_named(n->s, dict))
        HS_TRY(add_named(n, &scope, "__dict__", it->value + MODULE_DICT, dict, err));
    return add_scope(n, &scope, err);
}

static hs_status add_modules(struct names *n, struct hs_error *err)
{
    const struct py_view *view = &n->s->view;
    struct py_interpreters interpreters = {0};

    while (hs_python_next_interpreter(n->s, &interpreters)) {
        struct py_entries it;
        hs_python_entries(
            view, hs_python_word(view, interpreters.at + view->layout->interp_modules), &it);
        while (hs_python_next_entry(view, &it))
            HS_TRY(add_module(n, interpreters.at, &it, err));
    }
    return HS_OK;
}

hs_status hs_python_name_modules(struct py_state *s, struct hs_error *err)
{
    struct names n = {.s = s};
    hs_status status = add_modules(&n, err);

    for (n.round = ROUND_DEFINITIONS; n.round < N_ROUNDS && status == HS_OK; n.round++)
        status = go_through(&n, err);
    hs_free(n.scopes);
    hs_table_fini(&n.by_dict);
    return status;
}
