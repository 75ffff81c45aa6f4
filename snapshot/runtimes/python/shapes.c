/* Shapes: which words of a block have which names. An instance, a class and a module keep their
 * attributes in a table of a dictionary, beside the values or, where many instances have the same
 * names, apart from them; functions and generators have variables. Blocks of one shape are one type
 * of the snapshot, with the names as its members. A class whose instances have ever other names
 * (PY_MOST_VARIANTS, PY_MOST_KEYS) has none for those that came late. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "python.h"

enum {
    PY_MOST_VARIANTS = 64,
    TEXT_BYTES = 3 * PY_NAME_BYTES,
    SHAPES_STEP = 1 << 10,
    SHAPE_BYTES = 1 << 9, /* with its names, here and among the types */
};

hs_addr hs_python_key_at(const struct py_keys *keys, uint64_t i)
{
    uint64_t n_words = keys->is_text ? 2 : 3;
    return keys->entries + (i * n_words + n_words - 2) * PY_WORD;
}

/* ---- what a shape says */

static hs_status label_attributes(struct py_state *s, const struct py_shape *shape,
                                  struct hs_error *err)
{
    struct py_keys keys;
    char name[PY_NAME_BYTES];

    if (!hs_python_keys(&s->view, shape->of, &keys))
        return HS_OK;
    uint64_t period = keys.is_text ? 2 : 3, first = keys.entries_at / PY_WORD + period - 1;
    for (uint64_t i = 0; i < keys.n_entries && hs_python_may_look(&s->view, 1); i++) {
        hs_addr key = hs_python_word(&s->view, hs_python_key_at(&keys, i));
        uint64_t word = shape->kind == PY_SHAPE_TABLE ? first + i * period : shape->at + i;
        if (key == 0)
            continue;
        bool is_name = hs_python_identifier(&s->view, key, false, name, sizeof name);
        HS_TRY(hs_python_add_label(s, word * PY_WORD, is_name ? name : "[...]", err));
    }
    return HS_OK;
}

static hs_status label_shape(struct py_state *s, struct py_shape *shape, struct hs_error *err)
{
    static const char *const what[] = {
        [PY_SHAPE_VALUES] = "attributes of ",
        [PY_SHAPE_TABLE] = "attributes of ",
        [PY_SHAPE_CLOSURE] = "closure of ",
        [PY_SHAPE_FRAME] = "",
    };
    size_t begin = s->names.n_members;
    char text[TEXT_BYTES];

    (void)snprintf(text, sizeof text, "%s%s", what[shape->kind],
                   hs_strtab_get(&s->dump->strings, shape->owner));
    HS_TRY(hs_strtab_add(&s->dump->strings, text, &shape->labels.name, err));
    if (shape->kind == PY_SHAPE_VALUES || shape->kind == PY_SHAPE_TABLE)
        HS_TRY(label_attributes(s, shape, err));
    else
        HS_TRY(hs_python_label_variables(s, shape, err));
    hs_python_end_labels(&s->names, begin, &shape->labels);
    return HS_OK;
}

hs_status hs_python_shape(struct py_state *s, const struct py_shape *wanted, uint32_t class_number,
                          uint32_t *ret, struct hs_error *err)
{
    struct py_names *names = &s->names;
    const struct py_shape *all = names->shapes;
    uint64_t hash = hs_hash_pair(wanted->hash, (uint64_t)wanted->owner << 2 | wanted->kind);
    uint32_t at = HS_TABLE_FIND(&names->by_shape, hash, i,
                                all[i].hash == wanted->hash && all[i].owner == wanted->owner &&
                                    all[i].kind == wanted->kind && all[i].at == wanted->at);

    *ret = at + 1;
    if (at != HS_NO_NUMBER)
        return HS_OK;
    *ret = 0;
    if (names->n_shapes_all >= PY_MOST_SHAPES ||
        (class_number != HS_NO_NUMBER && names->n_shapes[class_number]++ >= PY_MOST_VARIANTS))
        return HS_OK;
    if (names->n_shapes_all % SHAPES_STEP == 0)
        HS_TRY(hs_python_take_memory(s, SHAPES_STEP * SHAPE_BYTES, err));
    if (s->lacks_memory)
        return HS_OK;
    HS_TRY(HS_GROW(&names->shapes, &names->shapes_capacity, names->n_shapes_all + 1, err));
    HS_TRY(hs_table_add(&names->by_shape, hash, names->n_shapes_all, err));
    struct py_shape *shape = &names->shapes[names->n_shapes_all++];
    *shape = *wanted;
    *ret = (uint32_t)names->n_shapes_all;
    return label_shape(s, shape, err);
}
