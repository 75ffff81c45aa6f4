#include "types.h"

#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "base/alloc.h"

enum { NAME_BYTES = 1024, MEMBERS_PER_TYPE = 4096, ARRAYS_NESTED = 16 };

/* The kinds of keys in the table. */
enum types_key {
    KEY_CTYPE = 1,
    KEY_SIZE,
    KEY_NAME,
    KEY_MIDDLE,
    KEY_OBJECT,
    KEY_MEMORY,
    KEY_SIZED,
    KEY_TABLE,
    KEY_NUMBERED,
    KEY_FINDER,
    KEY_ELEMENTS,
    KEY_SLOTTED,
    KEY_FLAT
};
#define KEY_SHIFT 60
#define WORD 8

void hs_native_types_fini(struct hs_native_types *types)
{
    if (types == NULL)
        return;
    for (size_t i = 0; i < types->n_types; i++)
        hs_free(types->types[i].own_members);
    hs_free(types->types);
    hs_dict_fini(&types->by_key);
    hs_dict_fini(&types->named);
    *types = (struct hs_native_types){0};
}

static uint64_t types_key(enum types_key kind, uint64_t value)
{
    return (uint64_t)kind << KEY_SHIFT | (value & ((UINT64_C(1) << KEY_SHIFT) - 1));
}

static hs_status types_add(struct hs_native_types *types, const struct hs_native_type *type,
                           hs_ntype *ret, struct hs_error *err)
{
    if (types->n_types == UINT32_MAX - 1)
        return hs_fail(err, HS_LIMIT, "more types of blocks than a snapshot holds");
    HS_TRY(HS_GROW(&types->types, &types->capacity, types->n_types + 1, err));
    types->types[types->n_types++] = *type;
    *ret = (hs_ntype)types->n_types;
    return HS_OK;
}

/* Tells whether two descriptions are of one type. */
static bool types_agree(const struct hs_native_type *a, const struct hs_native_type *b)
{
    if (a->type.form != b->type.form || a->n_bytes != b->n_bytes || a->n_slots != b->n_slots ||
        (a->ctype == 0) != (b->ctype == 0) || a->is_array != b->is_array)
        return false;
    for (size_t i = 0; i < a->n_slots; i++)
        if (a->slots[i].offset_bytes != b->slots[i].offset_bytes)
            return false;
    return true;
}

/* Tells whether a type is, by its name, a value of C++ with its counter before it. */
static bool types_is_shared_box(const char *name)
{
    static const char *const boxes[] = {"std::make_shared<", "std::_Sp_counted_ptr_inplace<",
                                        "std::__1::__shared_ptr_emplace<"};

    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        if (strncmp(name, boxes[i], strlen(boxes[i])) == 0)
            return true;
    return false;
}

/* Finds the type of this name that agrees with `type`, or adds a new one. */
static hs_status types_intern(struct hs_native_types *types, const char *name,
                              struct hs_native_type *type, hs_ntype *ret, struct hs_error *err)
{
    HS_TRY(
        hs_strtab_add(types->strings, name[0] != '\0' ? name : "(unnamed)", &type->type.name, err));
    /* A name alone is another key than that of a described type: it always agrees with itself. */
    uint64_t key = types_key(KEY_NAME, type->type.name | (uint64_t)type->type.form << 32 |
                                           (uint64_t)(type->ctype == 0) << 48);
    hs_ntype found = (hs_ntype)hs_dict_get(&types->by_key, key, 0);
    if (found != 0 && types_agree(hs_native_type_of(types, found), type)) {
        *ret = found;
        return HS_OK;
    }
    type->is_shared_box = types_is_shared_box(name);
    HS_TRY(types_add(types, type, ret, err));
    return found != 0 ? HS_OK : hs_dict_put(&types->by_key, key, *ret, err);
}

hs_status hs_native_types_of_name(struct hs_native_types *types, const char *name,
                                  enum hs_type_form form, hs_ntype *ret, struct hs_error *err)
{
    struct hs_native_type type = {.type = {.form = (uint8_t)form}};
    return types_intern(types, name, &type, ret, err);
}

hs_status hs_native_types_of_own_word(struct hs_native_types *types, const char *name,
                                      hs_ntype *ret, struct hs_error *err)
{
    HS_TRY(hs_native_types_of_name(types, name, HS_FORM_RECORD, ret, err));
    types->types[*ret - 1].is_own_word = true;
    return HS_OK;
}

hs_status hs_native_types_of_plain(struct hs_native_types *types, const char *name, hs_ntype *ret,
                                   struct hs_error *err)
{
    HS_TRY(hs_native_types_of_name(types, name, HS_FORM_SCALAR, ret, err));
    types->types[*ret - 1].is_plain = true;
    return HS_OK;
}

hs_status hs_native_types_of_object(struct hs_native_types *types,
                                    const struct hs_interpreter *interpreter, uint32_t number,
                                    hs_ntype *ret, struct hs_error *err)
{
    uint64_t key = types_key(KEY_OBJECT, number);
    struct hs_object_type what = {0};

    *ret = (hs_ntype)hs_dict_get(&types->by_key, key, 0);
    if (*ret != 0)
        return HS_OK;
    HS_TRY(interpreter->model->describe(interpreter->state, number, &what, err));
    struct hs_native_type type = {
        .type = {.name = what.name,
                 .tag = what.is_hidden ? HS_TAG_HIDDEN : 0,
                 .form = HS_FORM_PYTHON,
                 .stride_bytes = what.stride_bytes},
        .members = what.members,
        .n_members = what.n_members,
    };
    HS_TRY(types_add(types, &type, ret, err));
    return hs_dict_put(&types->by_key, key, *ret, err);
}

static hs_status types_of_sized(struct hs_native_types *types, enum types_key kind, hs_str name,
                                uint64_t n_bytes, hs_ntype *ret, struct hs_error *err)
{
    uint64_t key = types_key(kind, name | n_bytes << 32);

    *ret = (hs_ntype)hs_dict_get(&types->by_key, key, 0);
    if (*ret != 0)
        return HS_OK;
    bool is_array = kind == KEY_ELEMENTS;
    struct hs_native_type type = {
        .type = {.name = name, .form = HS_FORM_RECORD, .stride_bytes = is_array ? n_bytes : 0},
        .n_bytes = n_bytes,
        .is_array = is_array,
        .is_sized = n_bytes != 0,
        .is_own_word = true};
    HS_TRY(types_add(types, &type, ret, err));
    return hs_dict_put(&types->by_key, key, *ret, err);
}

hs_status hs_native_types_of_sized(struct hs_native_types *types, hs_str name, uint64_t n_bytes,
                                   hs_ntype *ret, struct hs_error *err)
{
    return types_of_sized(types, KEY_SIZED, name, n_bytes, ret, err);
}

hs_status hs_native_types_of_elements(struct hs_native_types *types, hs_str name,
                                      uint64_t element_bytes, hs_ntype *ret, struct hs_error *err)
{
    return types_of_sized(types, KEY_ELEMENTS, name, element_bytes, ret, err);
}

hs_status hs_native_types_of_slotted(struct hs_native_types *types, hs_str name,
                                     uint64_t element_bytes, const struct hs_cslot *slots,
                                     size_t n_slots, hs_ntype *ret, struct hs_error *err)
{
    uint64_t key = types_key(KEY_SLOTTED, name | element_bytes << 32);
    struct hs_native_type element = {.type = {.name = name, .form = HS_FORM_RECORD},
                                     .n_bytes = element_bytes,
                                     .said_bytes = element_bytes,
                                     .slots = slots,
                                     .n_slots = n_slots};
    struct hs_native_type type = {.type = element.type,
                                  .n_bytes = WORD,
                                  .is_sized = true,
                                  .is_own_word = true,
                                  .tail = {.at_bytes = WORD, .is_numbered = true}};

    *ret = (hs_ntype)hs_dict_get(&types->by_key, key, 0);
    if (*ret != 0)
        return HS_OK;
    HS_TRY(types_add(types, &element, &type.tail_type, err));
    HS_TRY(types_add(types, &type, ret, err));
    return hs_dict_put(&types->by_key, key, *ret, err);
}

hs_status hs_native_types_of_finder(struct hs_native_types *types, hs_str name,
                                    uint16_t other_words, hs_ntype *ret, struct hs_error *err)
{
    uint64_t key = types_key(KEY_FINDER, name | (uint64_t)other_words << 32);

    *ret = (hs_ntype)hs_dict_get(&types->by_key, key, 0);
    if (*ret != 0)
        return HS_OK;
    struct hs_native_type type = {.type = {.name = name, .form = HS_FORM_RECORD},
                                  .is_own_word = true,
                                  .other_words = other_words};
    HS_TRY(types_add(types, &type, ret, err));
    return hs_dict_put(&types->by_key, key, *ret, err);
}

hs_status hs_native_types_of_size(struct hs_native_types *types, uint64_t n_bytes, hs_ntype *ret,
                                  struct hs_error *err)
{
    uint64_t key = types_key(KEY_SIZE, n_bytes);
    char name[64];

    *ret = (hs_ntype)hs_dict_get(&types->by_key, key, 0);
    if (*ret != 0)
        return HS_OK;
    snprintf(name, sizeof name, "block of %llu byte%s", (unsigned long long)n_bytes,
             n_bytes == 1 ? "" : "s");
    HS_TRY(hs_native_types_of_name(types, name, HS_FORM_BYTES, ret, err));
    return hs_dict_put(&types->by_key, key, *ret, err);
}

/* Looks through arrays to their element; false when nothing can be said of what is left. */
static bool types_element(struct hs_native_types *types, hs_ctype *ctype, bool *is_array,
                          struct hs_ctype_facts *facts)
{
    for (unsigned i = 0; i < ARRAYS_NESTED; i++) {
        hs_ctype_facts(types->ctypes, *ctype, facts);
        if (facts->kind != HS_CTYPE_ARRAY)
            return facts->kind != HS_CTYPE_UNKNOWN && facts->kind != HS_CTYPE_VOID &&
                   facts->n_bytes != 0 && !facts->is_declaration;
        *ctype = facts->of;
        *is_array = true;
    }
    return false;
}

static enum hs_type_form types_form(unsigned kind)
{
    return kind == HS_CTYPE_POINTER  ? HS_FORM_POINTER
           : kind == HS_CTYPE_SCALAR ? HS_FORM_SCALAR
                                     : HS_FORM_RECORD;
}

/* Tells whether a scalar is memory of any use: what other languages than C call a byte (u8,
 * std::byte). C's characters are text until something else is said of them. */
static bool types_is_memory(const struct hs_ctype_facts *facts)
{
    if (facts->is_text || facts->kind != HS_CTYPE_SCALAR)
        return false;
    static const char *const text[] = {"char", "signed char", "unsigned char",
                                       "bool", "_Bool",       "char8_t"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++)
        if (strcmp(facts->name, text[i]) == 0)
            return false;
    return facts->n_bytes == 1;
}

bool hs_native_is_number(const struct hs_ctype_facts *facts)
{
    return facts->kind == HS_CTYPE_SCALAR && !types_is_memory(facts) &&
           strcmp(facts->name, "uintptr_t") != 0;
}

/* Learns the tail that may stand behind a record: more of an array that it ends with. */
static void types_learn_end(struct hs_native_types *types, struct hs_native_type *type)
{
    struct hs_ctype_facts facts;

    if (type->is_array || type->type.form != HS_FORM_RECORD ||
        !hs_ctypes_tail(types->ctypes, type->ctype, &type->tail))
        return;
    hs_ctype_facts(types->ctypes, type->tail.element, &facts);
    bool is_number = hs_native_is_number(&facts);
    type->is_open_text = is_number && !type->tail.is_one;
    type->is_open = !is_number && !type->tail.is_one;
    if (is_number || types_is_memory(&facts)) /* of memory of any use nothing is known */
        type->tail.element = 0;
    type->has_pointees |= type->tail.element != 0;
}

static void types_learn_slots(struct hs_native_types *types, struct hs_native_type *type)
{
    bool is_cut = false;

    type->slots = hs_ctypes_slots(types->ctypes, type->ctype, &type->n_slots, &is_cut);
    type->said_bytes = type->n_bytes;
    if (is_cut)
        type->said_bytes = type->n_slots != 0 ? type->slots[type->n_slots - 1].offset_bytes : 0;
    for (size_t i = 0; i < type->n_slots; i++) {
        type->has_pointees |= type->slots[i].pointee != 0 || type->slots[i].n_choices != 0;
        type->has_unaligned |= type->slots[i].offset_bytes % WORD != 0;
        type->has_ends |= type->slots[i].is_end;
        type->has_untold |= type->slots[i].is_untold;
    }
    type->has_unaligned |= type->is_array && type->n_slots != 0 && type->n_bytes % WORD != 0;
}

/* Learns whether it is a node of a container, or has the head of a list of such. */
static void types_learn_links(struct hs_native_types *types, struct hs_native_type *type)
{
    bool begins_with_pointer = type->n_slots != 0 && type->slots[0].offset_bytes == 0;

    type->depth = (uint8_t)hs_ctypes_depth(types->ctypes, type->ctype);
    type->is_node = hs_ctypes_is_node(types->ctypes, type->ctype);
    type->is_ring_head = !type->is_node && begins_with_pointer &&
                         hs_ctypes_is_node(types->ctypes, type->slots[0].pointee);
}

/* Finds the twin of a type that is written under the same name, and of whose words nothing is
 * known. */
static hs_status types_of_memory(struct hs_native_types *types, hs_ntype listed, bool is_of_middle,
                                 hs_ntype *ret, struct hs_error *err)
{
    uint64_t key = types_key(is_of_middle ? KEY_MIDDLE : KEY_MEMORY, listed);

    *ret = (hs_ntype)hs_dict_get(&types->by_key, key, 0);
    if (*ret != 0)
        return HS_OK;
    struct hs_native_type type = *hs_native_type_of(types, listed);
    type.is_memory = true;
    type.is_of_middle = is_of_middle;
    type.listed_as = listed;
    HS_TRY(types_add(types, &type, ret, err));
    return hs_dict_put(&types->by_key, key, *ret, err);
}

hs_status hs_native_types_of_ctype(struct hs_native_types *types, hs_ctype ctype, bool is_array,
                                   hs_ntype *ret, struct hs_error *err)
{
    uint64_t key = types_key(KEY_CTYPE, (uint64_t)ctype << 1 | is_array);
    struct hs_ctype_facts facts;
    char name[NAME_BYTES];
    hs_ntype found = (hs_ntype)hs_dict_get(&types->by_key, key, 0);

    *ret = found;
    if (found != 0 || ctype == 0 || types->ctypes == NULL ||
        !types_element(types, &ctype, &is_array, &facts))
        return HS_OK;
    struct hs_native_type type = {
        .ctype = ctype,
        .n_bytes = facts.n_bytes,
        .is_array = is_array,
        .type = {.form = (uint8_t)types_form(facts.kind),
                 .stride_bytes = is_array ? facts.n_bytes : 0},
    };
    types_learn_slots(types, &type);
    types_learn_end(types, &type);
    if (!is_array) {
        type.larger = hs_ctypes_larger(types->ctypes, ctype);
        type.heir_bytes = hs_ctypes_largest_heir(types->ctypes, ctype);
        type.is_header = type.heir_bytes != 0 && hs_ctypes_is_header(types->ctypes, ctype);
        type.counted = hs_ctypes_counted(types->ctypes, ctype, &type.counted_at);
        types_learn_links(types, &type);
        type.may_be_numbered = hs_ctypes_may_be_numbered(types->ctypes, ctype);
    }
    snprintf(name, sizeof name, "%s%s", facts.name, is_array ? "[]" : "");
    HS_TRY(types_intern(types, name, &type, ret, err));
    if (facts.kind == HS_CTYPE_SCALAR && types_is_memory(&facts))
        HS_TRY(types_of_memory(types, *ret, false, ret, err));
    return hs_dict_put(&types->by_key, key, *ret, err);
}

const struct hs_native_type *hs_native_types_known(const struct hs_native_types *types,
                                                   hs_ctype ctype)
{
    hs_ntype type =
        (hs_ntype)hs_dict_get(&types->by_key, types_key(KEY_CTYPE, (uint64_t)ctype << 1), 0);

    return type == 0 ? NULL : hs_native_type_of(types, type);
}

hs_status hs_native_types_counted(struct hs_native_types *types, hs_ctype ctype, uint64_t offset,
                                  uint64_t n_bytes, hs_ctype *ret, struct hs_error *err)
{
    struct hs_ctype_facts facts;
    hs_ntype number;

    *ret = 0;
    HS_TRY(hs_native_types_of_ctype(types, ctype, false, &number, err));
    const struct hs_native_type *type = number == 0 ? NULL : hs_native_type_of(types, number);
    if (type == NULL || type->counted == 0 || type->counted_at != offset)
        return HS_OK;
    hs_ctype_facts(types->ctypes, type->counted, &facts);
    if (facts.n_bytes <= n_bytes && n_bytes - facts.n_bytes < HS_SLACK_BYTES)
        *ret = type->counted;
    return HS_OK;
}

/* Finds the type of elements of `ctype` behind `at_bytes` that are none of them. */
static hs_status types_of_behind(struct hs_native_types *types, enum types_key kind, hs_ctype ctype,
                                 uint64_t at_bytes, hs_ntype *ret, struct hs_error *err)
{
    uint64_t key = types_key(kind, ctype | at_bytes << 32);
    hs_ntype element, listed;

    *ret = (hs_ntype)hs_dict_get(&types->by_key, key, 0);
    if (*ret != 0)
        return HS_OK;
    HS_TRY(hs_native_types_of_ctype(types, ctype, false, &element, err));
    HS_TRY(hs_native_types_of_ctype(types, ctype, true, &listed, err));
    if (element == 0 || listed == 0)
        return HS_OK;
    const struct hs_native_type *of = hs_native_type_of(types, element);
    struct hs_native_type type = {
        .type = {.name = hs_native_type_of(types, listed)->type.name, .form = HS_FORM_RECORD},
        .ctype = of->ctype,
        .n_bytes = at_bytes,
        .said_bytes = at_bytes,
        .tail = {.element = of->ctype,
                 .at_bytes = at_bytes,
                 .is_numbered = kind == KEY_NUMBERED,
                 .is_table = kind == KEY_FLAT},
        .tail_type = element,
        .has_pointees = of->has_pointees,
        .is_open = true,
    };
    HS_TRY(types_add(types, &type, ret, err));
    return hs_dict_put(&types->by_key, key, *ret, err);
}

hs_status hs_native_types_of_numbered(struct hs_native_types *types, hs_ctype ctype,
                                      uint64_t at_bytes, hs_ntype *ret, struct hs_error *err)
{
    return types_of_behind(types, KEY_NUMBERED, ctype, at_bytes, ret, err);
}

hs_status hs_native_types_of_flat(struct hs_native_types *types, hs_ctype ctype, uint64_t at_bytes,
                                  hs_ntype *ret, struct hs_error *err)
{
    return types_of_behind(types, KEY_FLAT, ctype, at_bytes, ret, err);
}

hs_status hs_native_types_of_tail(struct hs_native_types *types, hs_ntype record, hs_ntype *ret,
                                  struct hs_error *err)
{
    hs_ctype element = hs_native_type_of(types, record)->tail.element;

    *ret = 0;
    if (element != 0)
        HS_TRY(hs_native_types_of_ctype(types, element, false, ret, err));
    types->types[record - 1].tail_type = *ret;
    return HS_OK;
}

hs_status hs_native_types_of_middle(struct hs_native_types *types, hs_ctype ctype, hs_ntype *ret,
                                    struct hs_error *err)
{
    hs_ntype listed;

    HS_TRY(hs_native_types_of_ctype(types, ctype, true, &listed, err));
    *ret = listed;
    return listed == 0 || hs_native_type_of(types, listed)->is_memory
               ? HS_OK
               : types_of_memory(types, listed, true, ret, err);
}

hs_status hs_native_types_of_table(struct hs_native_types *types, hs_ctype ctype, hs_ntype *ret,
                                   struct hs_error *err)
{
    hs_ntype listed;

    *ret = 0;
    HS_TRY(hs_native_types_of_ctype(types, ctype, true, &listed, err));
    if (listed == 0)
        return HS_OK;
    uint64_t key = types_key(KEY_TABLE, listed);
    *ret = (hs_ntype)hs_dict_get(&types->by_key, key, 0);
    if (*ret != 0)
        return HS_OK;
    struct hs_native_type type = *hs_native_type_of(types, listed);
    type.is_table = true;
    type.listed_as = listed;
    HS_TRY(types_add(types, &type, ret, err));
    return hs_dict_put(&types->by_key, key, *ret, err);
}

hs_status hs_native_types_list(struct hs_native_types *types, struct hs_type **ret,
                               struct hs_error *err)
{
    HS_TRY(HS_ALLOC(ret, types->n_types, err));
    for (size_t i = 0; i < types->n_types; i++)
        (*ret)[i] = types->types[i].type;
    return HS_OK;
}

struct types_members {
    struct hs_member *members; /* owned */
    size_t n, capacity;
};

static hs_status types_add_member(struct hs_native_types *types, size_t index,
                                  const struct hs_cslot *slot, struct types_members *list,
                                  struct hs_error *err)
{
    uint64_t offset = slot->offset_bytes;
    struct hs_member member = {.type = (uint32_t)index, .offset_bytes = offset};
    struct hs_ctype_facts facts;
    char name[NAME_BYTES];
    hs_ctype inner = 0;
    size_t n = hs_ctypes_place(types->ctypes, types->types[index].ctype, offset, name, sizeof name,
                               &inner);

    hs_ctype_facts(types->ctypes, inner, &facts);
    if (n == 0 && facts.kind != HS_CTYPE_POINTER)
        return HS_OK;
    HS_TRY(hs_strtab_add(types->strings, n == 0 ? "value" : name, &member.name, err));
    if (slot->is_weak) {
        (void)snprintf(name, sizeof name, HS_MEMBER_WEAK "%s", inner == 0 ? "" : facts.name);
        HS_TRY(hs_strtab_add(types->strings, name, &member.type_name, err));
    } else if (inner != 0 && !slot->is_owned) {
        HS_TRY(hs_strtab_add(types->strings, facts.name, &member.type_name, err));
    }
    HS_TRY(HS_GROW(&list->members, &list->capacity, list->n + 1, err));
    list->members[list->n++] = member;
    return HS_OK;
}

static hs_status types_add_names(const struct hs_native_types *types, size_t index,
                                 struct types_members *list, struct hs_error *err)
{
    const struct hs_native_type *type = &types->types[index];

    HS_TRY(HS_GROW(&list->members, &list->capacity, list->n + type->n_members, err));
    for (size_t i = 0; i < type->n_members; i++)
        list->members[list->n++] = (struct hs_member){
            .type = (uint32_t)index,
            .offset_bytes = type->members[i].offset_bytes,
            .name = type->members[i].name,
        };
    return HS_OK;
}

static hs_status types_list_members(struct hs_native_types *types, struct types_members *list,
                                    struct hs_error *err)
{
    for (size_t i = 0; i < types->n_types; i++) {
        const struct hs_native_type *type = &types->types[i];
        if (type->n_members != 0)
            HS_TRY(types_add_names(types, i, list, err));
        if (type->ctype == 0 || type->type.form != HS_FORM_RECORD)
            continue;
        for (size_t j = 0; j < type->n_slots && j < MEMBERS_PER_TYPE; j++) {
            uint64_t offset = type->slots[j].offset_bytes;
            if (offset >= type->n_bytes || (j > 0 && type->slots[j - 1].offset_bytes == offset))
                continue;
            HS_TRY(types_add_member(types, i, &type->slots[j], list, err));
        }
    }
    return HS_OK;
}

hs_status hs_native_types_members(struct hs_native_types *types, struct hs_member **ret,
                                  size_t *ret_n, struct hs_error *err)
{
    struct types_members list = {0};
    hs_status status = types_list_members(types, &list, err);

    if (status != HS_OK) {
        hs_free(list.members);
        return status;
    }
    *ret = list.members;
    *ret_n = list.n;
    return HS_OK;
}
