/* The blocks of each shape: the dictionaries that instances, classes and modules have for their
 * attributes, the closures of functions, the frames in generators. Of all other dictionaries the
 * keys are data of the program: they are never read. */
#include <stdio.h>
#include <string.h>

#include "base/load.h"
#include "python.h"

enum {
    PY_MOST_KEYS = 128,
    TABLE_DICT = 32,
    DICT_VALUES = 40,
    MODULE_NAME = 48,
    TYPE_DICT = 264,
    AT_DICT = 288,
    TEXT_BYTES = 3 * PY_NAME_BYTES,
};

/* The owner of a dictionary. */
struct owner {
    hs_str name;
    uint32_t class_number; /* of an instance; HS_NO_NUMBER: of something that is there once */
};

/* Returns the state of the block that a word leads into, if it is of this kind. */
static uint64_t *known_at(struct py_state *s, hs_addr word, enum py_block_kind kind,
                          struct hs_heap_block *ret)
{
    enum hs_pointer how =
        word == 0 ? HS_POINTER_NONE : hs_heap_map_resolve(&s->dump->heaps.map, word, ret);

    if ((how != HS_POINTER_START && how != HS_POINTER_INTERIOR) || ret->bytes == NULL)
        return NULL;
    uint64_t *known = &s->blocks.known[ret->rank];
    return hs_python_known_kind(*known) == kind ? known : NULL;
}

/* Hashes the addresses of the keys: texts that are names are one object each. */
static bool hash_keys(struct py_state *s, const struct py_keys *keys, uint64_t *ret)
{
    uint64_t hash = hs_hash(keys->n_entries << 1 | keys->is_text);

    if (!hs_python_may_look(&s->view, keys->n_entries))
        return false;
    for (uint64_t i = 0; i < keys->n_entries; i++) {
        const uint8_t *key = hs_python_bytes(&s->view, hs_python_key_at(keys, i), PY_WORD);
        if (key == NULL)
            return false;
        hash = hs_hash_pair(hash, hs_load_u64(key));
    }
    *ret = hs_hash_pair(hash, keys->entries_at);
    return true;
}

/* ---- dictionaries */

static hs_status note_values(struct py_state *s, hs_addr values, hs_addr table,
                             const struct owner *owner, struct hs_error *err)
{
    struct hs_heap_block block;
    uint64_t *known = known_at(s, values, PY_BLOCK_VALUES, &block);
    struct py_shape wanted = {.owner = owner->name, .of = table, .hash = table};
    uint32_t number;

    if (known == NULL || hs_python_known_number(*known) >> PY_VALUES_BITS != 0)
        return HS_OK;
    wanted.at = (uint32_t)hs_python_known_first(*known);
    HS_TRY(hs_python_shape(s, &wanted, owner->class_number, &number, err));
    *known = hs_python_known(PY_BLOCK_VALUES, wanted.at,
                             hs_python_n_values(*known) | (uint64_t)number << PY_VALUES_BITS);
    return HS_OK;
}

static hs_status note_table(struct py_state *s, hs_addr table, const struct owner *owner,
                            struct hs_error *err)
{
    struct hs_heap_block block;
    uint64_t *known = known_at(s, table, PY_BLOCK_KEYS, &block);
    struct py_shape wanted = {.owner = owner->name, .of = table, .kind = PY_SHAPE_TABLE};
    struct py_keys keys;
    uint32_t number;

    if (known == NULL || hs_python_known_number(*known) != 0 || block.begin != table ||
        !hs_python_keys(&s->view, table, &keys))
        return HS_OK;
    wanted.hash = table;
    if (owner->class_number != HS_NO_NUMBER &&
        (keys.n_entries > PY_MOST_KEYS || !hash_keys(s, &keys, &wanted.hash)))
        return HS_OK;
    HS_TRY(hs_python_shape(s, &wanted, owner->class_number, &number, err));
    *known = hs_python_known(PY_BLOCK_KEYS, 0, number);
    return HS_OK;
}

static hs_status note_dict(struct py_state *s, hs_addr dict, const struct owner *owner,
                           struct hs_error *err)
{
    struct hs_heap_block block;
    const uint64_t *known = known_at(s, dict, PY_BLOCK_OBJECT, &block);

    if (known == NULL)
        return HS_OK;
    const struct py_class *class = &s->classes.all[hs_python_known_number(*known)];
    if (class->kind != PY_DICT || dict != block.begin + class->object_at)
        return HS_OK;
    const uint8_t *object = block.bytes + class->object_at;
    hs_addr keys = hs_load_u64(object + TABLE_DICT);
    hs_addr values = hs_python_values(&s->view, hs_load_u64(object + DICT_VALUES));
    return values != 0 ? note_values(s, values, keys, owner, err) : note_table(s, keys, owner, err);
}

/* ---- objects that have one */

/* Notes the attributes of an instance: values before the object (3.11 and 3.12) or a dictionary. */
static hs_status note_instance(struct py_state *s, const struct py_class *class,
                               const uint8_t *object, const struct owner *owner,
                               struct hs_error *err)
{
    const struct py_view *view = &s->view;
    int64_t at = (int64_t)hs_python_word(view, class->address + AT_DICT);

    if (class->has_dict && class->object_at == 32) {
        uint64_t first = hs_load_u64(object - 32), second = hs_load_u64(object - 24);
        hs_addr values = view->layout->minor == 11 ? first : (second & 1) != 0 ? second + 1 : 0;
        hs_addr keys = hs_python_word(view, class->address + view->layout->ht_cached_keys);
        if (values != 0 && view->layout->minor < 13)
            HS_TRY(note_values(s, values, keys, owner, err));
        return (second & 1) != 0 ? HS_OK : note_dict(s, second, owner, err);
    }
    if (at >= 2 * PY_WORD && at < (int64_t) class->n_bytes && at % PY_WORD == 0)
        return note_dict(s, hs_load_u64(object + at), owner, err);
    return HS_OK;
}

static hs_status note_class(struct py_state *s, hs_addr object, struct hs_error *err)
{
    struct owner owner = {.class_number = HS_NO_NUMBER};
    char text[TEXT_BYTES];
    uint32_t number;

    HS_TRY(hs_python_class(&s->view, &s->classes, object, &number, err));
    if (number == HS_NO_NUMBER)
        return HS_OK;
    HS_TRY(hs_python_class_name(s, &s->classes.all[number], true, &owner.name, err));
    (void)snprintf(text, sizeof text, "class %s", hs_strtab_get(&s->dump->strings, owner.name));
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &owner.name, err));
    return note_dict(s, hs_python_word(&s->view, object + TYPE_DICT), &owner, err);
}

static hs_status note_module(struct py_state *s, const uint8_t *object, hs_addr dict,
                             struct hs_error *err)
{
    struct owner owner = {.class_number = HS_NO_NUMBER};
    char name[PY_NAME_BYTES], text[TEXT_BYTES];

    if (!hs_python_identifier(&s->view, hs_load_u64(object + MODULE_NAME), true, name, sizeof name))
        (void)snprintf(name, sizeof name, "[...]");
    (void)snprintf(text, sizeof text, "module %s", name);
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &owner.name, err));
    return note_dict(s, dict, &owner, err);
}

/* ---- variables */

static hs_status note_function(struct py_state *s, const uint8_t *object, struct hs_error *err)
{
    const struct hs_python_layout *layout = s->view.layout;
    hs_addr closure = hs_load_u64(object + layout->func_closure);
    hs_addr code = hs_load_u64(object + layout->func_code);
    struct hs_heap_block block;
    struct py_shape wanted = {.kind = PY_SHAPE_CLOSURE, .of = code, .hash = code};
    char text[TEXT_BYTES];
    uint32_t number;

    if (closure == 0)
        return HS_OK;
    uint64_t *known = known_at(s, closure, PY_BLOCK_OBJECT, &block);
    if (known == NULL || hs_python_known_first(*known) != 0)
        return HS_OK;
    const struct py_class *class = &s->classes.all[hs_python_known_number(*known)];
    if (class->kind != PY_TUPLE || !class->is_exact || closure != block.begin + class->object_at)
        return HS_OK;
    hs_python_function_name(&s->view, code, text, sizeof text);
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &wanted.owner, err));
    wanted.at = (class->object_at + class->kind_bytes) / PY_WORD;
    HS_TRY(hs_python_shape(s, &wanted, HS_NO_NUMBER, &number, err));
    *known = hs_python_known(PY_BLOCK_OBJECT, number, hs_python_known_number(*known));
    return HS_OK;
}

/* Returns the place of the interpreter's frame in a generator or a frame object; up to 3.10 the
 * latter has the frame's members itself. PY_NONE: it has none, as its call still runs, or the
 * generator's frame is an object of its own. */
static uint64_t frame_in(const struct hs_python_layout *layout, const struct py_class *class,
                         const struct hs_heap_block *block)
{
    enum { IN_FRAME_OBJECT = 2 };
    uint64_t owner = class->object_at + (uint64_t)layout->frame_object_data + layout->frame_owner;

    if (class->kind == PY_GENERATOR)
        return layout->gen_frame;
    if (layout->gen_frame == PY_NONE)
        return 0;
    return owner < block->n_bytes && block->bytes[owner] == IN_FRAME_OBJECT
               ? layout->frame_object_data
               : PY_NONE;
}

/* Notes the frame in a generator, or in a frame object that a traceback keeps. */
static hs_status note_frame(struct py_state *s, uint32_t class_number,
                            const struct hs_heap_block *block, struct hs_error *err)
{
    const struct hs_python_layout *layout = s->view.layout;
    const struct py_class *class = &s->classes.all[class_number];
    struct py_shape wanted = {.kind = PY_SHAPE_FRAME};
    char name[TEXT_BYTES], text[TEXT_BYTES + PY_NAME_BYTES + 1];
    uint32_t number;

    uint64_t frame = frame_in(layout, class, block);
    if (frame == PY_NONE ||
        class->object_at + frame + layout->frame_code + PY_WORD > block->n_bytes)
        return HS_OK;
    frame += class->object_at;
    wanted.of = wanted.hash =
        hs_python_untagged(layout, hs_load_u64(block->bytes + frame + layout->frame_code));
    wanted.at = (uint32_t)((frame + layout->frame_localsplus) / PY_WORD);
    hs_python_function_name(&s->view, wanted.of, name, sizeof name);
    (void)snprintf(text, sizeof text, "%s %s", class->name, name);
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &wanted.owner, err));
    HS_TRY(hs_python_shape(s, &wanted, HS_NO_NUMBER, &number, err));
    s->blocks.known[block->rank] = hs_python_known(PY_BLOCK_OBJECT, number, class_number);
    return HS_OK;
}

/* ---- all */

static hs_status note_object(struct py_state *s, uint32_t number, const struct hs_heap_block *block,
                             struct hs_error *err)
{
    enum { MODULE_DICT = 16, MODULE_BYTES = MODULE_NAME + PY_WORD };
    const struct py_class *class = &s->classes.all[number];
    const uint8_t *object = block->bytes + class->object_at;
    struct owner owner = {.name = s->names.of_class[number].name, .class_number = number};

    if (class->kind == PY_TYPE)
        return note_class(s, block->begin + class->object_at, err);
    if (class->kind == PY_MODULE && class->n_bytes >= MODULE_BYTES)
        return note_module(s, object, hs_load_u64(object + MODULE_DICT), err);
    if (class->kind == PY_GENERATOR || class->kind == PY_FRAME)
        HS_TRY(note_frame(s, number, block, err));
    else if (!class->is_heap && strcmp(class->name, "function") == 0)
        HS_TRY(note_function(s, object, err));
    return note_instance(s, class, object, &owner, err);
}

hs_status hs_python_find_shapes(struct py_state *s, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &s->dump->heaps.map};
    struct hs_heap_block block;

    while (!s->lacks_memory && hs_heap_map_next(&it, &block)) {
        uint64_t known = s->blocks.known[block.rank];
        if (block.bytes != NULL && hs_python_known_kind(known) == PY_BLOCK_OBJECT)
            HS_TRY(note_object(s, (uint32_t)hs_python_known_number(known), &block, err));
    }
    return HS_OK;
}
