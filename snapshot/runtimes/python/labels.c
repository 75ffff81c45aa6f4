/* The names of blocks, and of the words in them. Types of blocks are numbered:
 *
 *   [0, n)                           objects of the n classes
 *   [n, n + PY_N_BLOCK_KINDS)        parts of objects, of each kind
 *   from there on                    dictionaries of attributes, by shape (shapes.c)
 *
 * An object's words: members that its class or one it derives from declares (PyMemberDef:
 * `__closure__`, `__self__`, the `__slots__` of a program), then what every object of its kind has:
 * `[2]`, `(items)`, `(attributes)`, the attributes that 3.13 keeps in the object. In parentheses
 * stands what leads to a part, which a path in Python's words leaves out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/load.h"
#include "python.h"

enum {
    AT_MEMBERS = 240,
    TYPE_BASE = 256,
    AT_TYPE_DICT = 264,
    AT_DICT = 288,
    MEMBER_BYTES = 40, /* of PyMemberDef: name, type, offset, flags, doc */
    MEMBER_OBJECT = 6,
    MEMBER_OBJECT_EX = 16,
    MOST_MEMBERS_OF_ONE = 256,
    MOST_ITEMS = 32,
    MOST_MEMBERS = 1 << 21,
    TEXT_BYTES = 2 * PY_NAME_BYTES,
};

void hs_python_names_fini(struct py_names *names)
{
    hs_free(names->of_class);
    hs_free(names->n_shapes);
    hs_free(names->shapes);
    hs_free(names->members);
    hs_table_fini(&names->by_shape);
    *names = (struct py_names){0};
}

/* ---- lists of members */

hs_status hs_python_add_label(struct py_state *s, uint64_t offset, const char *name,
                              struct hs_error *err)
{
    struct py_names *names = &s->names;
    struct hs_object_member member = {.offset_bytes = offset};
    size_t before = names->members_capacity;

    if (names->n_members >= MOST_MEMBERS)
        return HS_OK;
    HS_TRY(hs_strtab_add(&s->dump->strings, name, &member.name, err));
    HS_TRY(HS_GROW(&names->members, &names->members_capacity, names->n_members + 1, err));
    names->members[names->n_members++] = member;
    return before == names->members_capacity
               ? HS_OK
               : hs_dump_plan_reserve(&s->dump->plan,
                                      (names->members_capacity - before) * sizeof *names->members,
                                      "names of Python's attributes", err);
}

/* Sorts members by offset, by insertion, as lists are short or in order. Of several at one offset
 * the first stays before the others. */
static void sort_members(struct hs_object_member *members, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct hs_object_member member = members[i];
        size_t at = i;
        for (; at > 0 && members[at - 1].offset_bytes > member.offset_bytes; at--)
            members[at] = members[at - 1];
        members[at] = member;
    }
}

void hs_python_end_labels(struct py_names *names, size_t begin, struct py_labels *ret)
{
    size_t n = begin;

    if (names->n_members != begin)
        sort_members(names->members + begin, names->n_members - begin);
    for (size_t i = begin; i < names->n_members; i++)
        if (n == begin || names->members[n - 1].offset_bytes != names->members[i].offset_bytes)
            names->members[n++] = names->members[i];
    names->n_members = n;
    ret->begin = (uint32_t)begin;
    ret->n = (uint32_t)(n - begin);
}

/* ---- classes */

bool hs_python_class_module(const struct py_view *view, const struct py_class *class,
                            char module[PY_NAME_BYTES])
{
    hs_addr dict = hs_python_word(view, class->address + AT_TYPE_DICT);
    return hs_python_identifier(view, hs_python_dict_value(view, dict, "__module__"), true, module,
                                PY_NAME_BYTES);
}

/* Makes the name of a class: "collections.OrderedDict", "__main__.Cache.Entry"; of the
 * interpreter's own what they say. */
hs_status hs_python_class_name(struct py_state *s, const struct py_class *class, bool reads_names,
                               hs_str *ret, struct hs_error *err)
{
    const struct py_view *view = &s->view;
    char module[PY_NAME_BYTES], path[PY_NAME_BYTES], text[TEXT_BYTES];

    if (!reads_names || !class->is_heap || class->is_of_c)
        return hs_strtab_add(&s->dump->strings, class->name, ret, err);
    if (!hs_python_class_module(view, class, module) || strcmp(module, "builtins") == 0)
        module[0] = '\0';
    if (!hs_python_identifier(view,
                              hs_python_word(view, class->address + view->layout->ht_qualname),
                              true, path, sizeof path))
        (void)snprintf(path, sizeof path, "%s", class->name);
    (void)snprintf(text, sizeof text, "%s%s%s", module, module[0] != '\0' ? "." : "", path);
    return hs_strtab_add(&s->dump->strings, text, ret, err);
}

static bool is_identifier(const char *name)
{
    for (const char *at = name; *at != '\0'; at++)
        if ((*at < 'a' || *at > 'z') && (*at < 'A' || *at > 'Z') && *at != '_' &&
            (at == name || *at < '0' || *at > '9'))
            return false;
    return name[0] != '\0';
}

/* Adds the members of one type, a list that ends with one without a name. */
static hs_status add_members(struct py_state *s, const struct py_class *class, hs_addr type,
                             struct hs_error *err)
{
    hs_addr list = hs_python_word(&s->view, type + AT_MEMBERS);
    char name[PY_NAME_BYTES];

    for (int i = 0; i < MOST_MEMBERS_OF_ONE && list != 0 && hs_python_may_look(&s->view, 1); i++) {
        const uint8_t *member = hs_python_bytes(&s->view, list, MEMBER_BYTES);
        if (member == NULL || hs_load_u64(member) == 0)
            return HS_OK;
        uint32_t what = hs_load_u32(member + PY_WORD);
        uint64_t offset = hs_load_u64(member + (size_t)2 * PY_WORD);
        if ((what == MEMBER_OBJECT || what == MEMBER_OBJECT_EX) && offset < class->n_bytes &&
            offset % PY_WORD == 0 &&
            hs_python_string(&s->view, hs_load_u64(member), name, sizeof name) &&
            is_identifier(name))
            HS_TRY(hs_python_add_label(s, class->object_at + offset, name, err));
        list += MEMBER_BYTES;
    }
    return HS_OK;
}

static hs_status add_inherited(struct py_state *s, const struct py_class *class, bool reads_names,
                               struct hs_error *err)
{
    enum { TYPE_FLAGS = 168, IS_HEAP = 1 << 9 };
    hs_addr type = class->address;

    for (int i = 0; i < PY_MAX_CHAIN && type != 0 && type % PY_WORD == 0; i++) {
        if (reads_names || (hs_python_word(&s->view, type + TYPE_FLAGS) & IS_HEAP) == 0)
            HS_TRY(add_members(s, class, type, err));
        type = hs_python_word(&s->view, type + TYPE_BASE);
    }
    return HS_OK;
}

struct kind_member {
    uint8_t kind;
    uint16_t offset;
    const char *name;
};

/* Adds the members that objects of a kind have without declaring them. */
static hs_status add_of_kind(struct py_state *s, const struct py_class *class, struct hs_error *err)
{
    static const struct kind_member members[] = {
        {PY_LIST, 24, "(items)"},        {PY_DICT, 32, "(table)"},
        {PY_DICT, 40, "(values)"},       {PY_SET, 40, "(table)"},
        {PY_DEQUE, 24, "(items)"},       {PY_DEQUE, 32, "(last items)"},
        {PY_MODULE, 16, "(attributes)"}, {PY_TYPE, 264, "(attributes)"},
        {PY_MODULE, 32, "(state)"},      {PY_MODULE, 48, "__name__"},
        {PY_BYTEARRAY, 32, "(bytes)"},   {PY_ARRAY, 24, "(items)"},
        {PY_NDARRAY, 16, "data"},        {PY_NDARRAY, 32, "(sizes)"},
        {PY_NDARRAY, 40, "(steps)"},     {PY_NDARRAY, 48, "base"},
        {PY_NDARRAY, 56, "dtype"},       {PY_BUFFERED, 16, "raw"},
        {PY_BUFFERED, 56, "(bytes)"},    {PY_TEXT_FILE, 16, "(characters)"},
    };
    char name[16];

    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].kind == class->kind)
            HS_TRY(hs_python_add_label(s, class->object_at + (uint64_t)members[i].offset,
                                       members[i].name, err));
    for (unsigned i = 0; i < MOST_ITEMS && class->kind == PY_TUPLE; i++) {
        (void)snprintf(name, sizeof name, "[%u]", i);
        HS_TRY(hs_python_add_label(s, class->object_at + class->kind_bytes + (uint64_t)i * PY_WORD,
                                   name, err));
    }
    if (strcmp(class->name, "cell") == 0)
        HS_TRY(hs_python_add_label(s, class->object_at + 16U, "(contents)", err));
    return HS_OK;
}

static hs_status add_function(struct py_state *s, const struct py_class *class,
                              struct hs_error *err)
{
    const struct hs_python_layout *layout = s->view.layout;
    const struct kind_member members[] = {
        {PY_OTHER, layout->func_globals, "__globals__"},
        {PY_OTHER, layout->func_code, "__code__"},
        {PY_OTHER, layout->func_closure, "__closure__"},
        /* The two words before the closure, in all versions; no member descriptor has them. */
        {PY_OTHER, (uint16_t)(layout->func_closure - 2 * PY_WORD), "__defaults__"},
        {PY_OTHER, (uint16_t)(layout->func_closure - PY_WORD), "__kwdefaults__"},
        {PY_OTHER, layout->func_qualname, "__qualname__"},
        {PY_OTHER, layout->func_module, "__module__"},
    };

    if (class->is_heap || strcmp(class->name, "function") != 0)
        return HS_OK;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        HS_TRY(hs_python_add_label(s, class->object_at + (uint64_t)members[i].offset,
                                   members[i].name, err));
    return HS_OK;
}

/* Names what an exception and a traceback have: who keeps exceptions keeps the frames that they
 * went through. */
static hs_status add_exception(struct py_state *s, const struct py_class *class,
                               struct hs_error *err)
{
    enum { TYPE_FLAGS = 168, IS_EXCEPTION = 1 << 30, ARGS = 24 };
    static const char *const names[] = {"__traceback__", "__context__", "__cause__"};
    uint64_t first = class->object_at + (s->view.layout->minor >= 11 ? 40U : 32U); /* notes */

    if (!class->is_heap && strcmp(class->name, "traceback") == 0)
        return hs_python_add_label(s, class->object_at + 16U, "tb_next", err);
    if ((hs_python_word(&s->view, class->address + TYPE_FLAGS) & IS_EXCEPTION) == 0 ||
        class->n_bytes < first - class->object_at + sizeof names)
        return HS_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        HS_TRY(hs_python_add_label(s, first + i * PY_WORD, names[i], err));
    return hs_python_add_label(s, class->object_at + (uint64_t)ARGS, "args", err);
}

/* Names a dictionary, or the values of one, before the object or at the place that its type tells.
 */
static hs_status add_dict(struct py_state *s, const struct py_class *class, struct hs_error *err)
{
    int64_t at = (int64_t)hs_python_word(&s->view, class->address + AT_DICT);

    if (class->has_dict && class->object_at == 32) {
        HS_TRY(hs_python_add_label(s, 0, "(attributes)", err));
        return hs_python_add_label(s, PY_WORD, "(attributes)", err);
    }
    if (at >= 2 * PY_WORD && at < (int64_t) class->n_bytes && at % PY_WORD == 0)
        return hs_python_add_label(s, class->object_at + (uint64_t)at, "(attributes)", err);
    return HS_OK;
}

/* Names the attributes that 3.13 keeps in the object, in the order of the table of names that its
 * class has. */
static hs_status add_inline(struct py_state *s, const struct py_class *class, struct hs_error *err)
{
    const struct py_view *view = &s->view;
    struct py_keys keys;
    char name[PY_NAME_BYTES];

    if (!class->has_inline || !class->is_heap ||
        !hs_python_keys(view, hs_python_word(view, class->address + view->layout->ht_cached_keys),
                        &keys))
        return HS_OK;
    uint64_t first = class->object_at + (uint64_t) class->n_bytes + PY_WORD;
    uint64_t period = (keys.is_text ? 2U : 3U) * (uint64_t)PY_WORD;
    for (uint64_t i = 0; i < keys.n_entries && i < UINT8_MAX && hs_python_may_look(&s->view, 1);
         i++) {
        hs_addr key = keys.entries + i * period + (keys.is_text ? 0U : (unsigned)PY_WORD);
        if (hs_python_identifier(view, hs_python_word(view, key), false, name, sizeof name))
            HS_TRY(hs_python_add_label(s, first + i * PY_WORD, name, err));
    }
    return HS_OK;
}

static hs_status label_class(struct py_state *s, size_t number, bool reads_names,
                             struct hs_error *err)
{
    const struct py_class *class = &s->classes.all[number];
    struct py_labels *labels = &s->names.of_class[number];
    size_t begin = s->names.n_members;

    if (!class->is_type)
        return HS_OK;
    HS_TRY(hs_python_class_name(s, class, reads_names, &labels->name, err));
    HS_TRY(add_inherited(s, class, reads_names, err));
    HS_TRY(add_of_kind(s, class, err));
    HS_TRY(add_function(s, class, err));
    HS_TRY(add_exception(s, class, err));
    HS_TRY(add_dict(s, class, err));
    if (reads_names)
        HS_TRY(add_inline(s, class, err));
    hs_python_end_labels(&s->names, begin, labels);
    return HS_OK;
}

hs_status hs_python_label_classes(struct py_state *s, bool reads_names, struct hs_error *err)
{
    static const char *const parts[PY_N_BLOCK_KINDS] = {
        [PY_BLOCK_STATE] = "module state",
        [PY_BLOCK_NUMBERS] = "numbers of C",
        [PY_BLOCK_ITEMS] = "list items",
        [PY_BLOCK_VALUES] = "instance values",
        [PY_BLOCK_KEYS] = "dict keys",
        [PY_BLOCK_SET_TABLE] = "set table",
        [PY_BLOCK_DEQUE] = "deque items",
        [PY_BLOCK_SPARE] = "spare",
        [PY_BLOCK_TEXT] = "text",
        [PY_BLOCK_RAW] = "raw bytes",
        [PY_BLOCK_REFERENCES] = "array items",
        [PY_BLOCK_SYNTAX] = "syntax tree",
    };
    struct py_names *names = &s->names;
    size_t n = s->classes.n;

    HS_TRY(hs_dump_plan_reserve(&s->dump->plan,
                                n * (sizeof *names->of_class + sizeof *names->n_shapes),
                                "names of Python's classes", err));
    HS_TRY(HS_ALLOC(&names->of_class, n, err));
    HS_TRY(HS_ALLOC(&names->n_shapes, n, err));
    names->n_classes = n;
    for (size_t i = 0; i < PY_N_BLOCK_KINDS; i++)
        if (parts[i] != NULL)
            HS_TRY(hs_strtab_add(&s->dump->strings, parts[i], &names->of_part[i], err));
    for (size_t i = 0; i < n; i++)
        HS_TRY(label_class(s, i, reads_names, err));
    return HS_OK;
}

/* ---- of struct hs_object_model */

uint32_t hs_python_type(const void *state, const struct hs_heap_block *block)
{
    const struct py_state *s = state;
    uint64_t known = s->blocks.known[block->rank], number = hs_python_known_number(known), shape;
    enum py_block_kind kind = hs_python_known_kind(known);
    uint32_t parts = (uint32_t)s->names.n_classes;

    switch (kind) {
    case PY_BLOCK_UNKNOWN:
        return HS_NO_NUMBER;
    case PY_BLOCK_OBJECT:
        shape = hs_python_known_first(known);
        return shape == 0 ? (uint32_t)number : parts + PY_N_BLOCK_KINDS + (uint32_t)shape - 1;
    case PY_BLOCK_ITEMS: /* places are counted from the start of the block */
        return hs_python_known_first(known) == 0 ? parts + PY_BLOCK_ITEMS : parts;
    case PY_BLOCK_VALUES:
        shape = number >> PY_VALUES_BITS;
        break;
    case PY_BLOCK_KEYS:
        shape = number;
        break;
    default:
        return parts + kind;
    }
    return shape == 0 ? parts + kind : parts + PY_N_BLOCK_KINDS + (uint32_t)shape - 1;
}

hs_status hs_python_describe(const void *state, uint32_t type, struct hs_object_type *ret,
                             struct hs_error *err)
{
    const struct py_state *s = state;
    const struct py_names *names = &s->names;
    const struct py_labels *labels;

    (void)err;
    *ret = (struct hs_object_type){0};
    if (type < names->n_classes) {
        labels = &names->of_class[type];
        ret->is_hidden = !s->classes.all[type].has_gc;
    } else if (type - names->n_classes < PY_N_BLOCK_KINDS) {
        unsigned kind = (unsigned)(type - names->n_classes);
        ret->name = names->of_part[kind == PY_BLOCK_UNKNOWN ? PY_BLOCK_ITEMS : kind];
        ret->is_hidden = kind == PY_BLOCK_REFERENCES;
        ret->stride_bytes = kind == PY_BLOCK_ITEMS || kind == PY_BLOCK_REFERENCES ? PY_WORD : 0;
        return HS_OK;
    } else {
        labels = &names->shapes[type - names->n_classes - PY_N_BLOCK_KINDS].labels;
    }
    ret->name = labels->name;
    ret->n_members = labels->n;
    ret->members = labels->n == 0 ? NULL : names->members + labels->begin;
    return HS_OK;
}
