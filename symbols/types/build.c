/* Types from entries: each from its own entry and its children, never from other types. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/checked.h"
#include "containers.h"
#include "pool.h"
#include "rules/rules.h"
#include "variants.h"

enum { BUILD_POINTER_BYTES = 8 };

hs_ctype hs_ctypes_make_(struct hs_ctypes *types, const struct ctypes_type *made)
{
    struct hs_error err = HS_ERROR_INIT;
    if (types->n_types >= CTYPES_MAX_TYPES ||
        HS_GROW(&types->items, &types->types_capacity, types->n_types + 1, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return 0;
    }
    types->items[types->n_types] = *made;
    return (hs_ctype)types->n_types++;
}

hs_ctype hs_ctypes_pointer_to_(struct hs_ctypes *types, hs_ctype of, hs_type_file file)
{
    return hs_ctypes_make_(types, &(struct ctypes_type){.kind = HS_CTYPE_POINTER,
                                                        .file = file,
                                                        .of = of,
                                                        .n_bytes = BUILD_POINTER_BYTES,
                                                        .flags = TYPE_BUILT});
}

/* Returns uintptr_t and its kind, as one type of the pool. */
static hs_ctype hidden_pointer(struct hs_ctypes *types)
{
    if (types->hidden_pointer == 0)
        types->hidden_pointer = hs_ctypes_make_(
            types, &(struct ctypes_type){.kind = HS_CTYPE_SCALAR,
                                         .n_bytes = BUILD_POINTER_BYTES,
                                         .name = "uintptr_t",
                                         .flags = TYPE_BUILT | TYPE_HAS_NAME | TYPE_HIDES});
    return types->hidden_pointer;
}

static bool tag_is_looked_through(uint16_t tag)
{
    switch (tag) {
    case DW_TAG_typedef:
    case DW_TAG_const_type:
    case DW_TAG_volatile_type:
    case DW_TAG_restrict_type:
    case DW_TAG_packed_type:
    case DW_TAG_shared_type:
    case DW_TAG_atomic_type:
    case DW_TAG_immutable_type:
        return true;
    default:
        return false;
    }
}

static bool alias_hides(const char *name)
{
    return strcmp(name, "uintptr_t") == 0 || strcmp(name, "intptr_t") == 0;
}

/* The type of an entry that is no typedef. */
static hs_ctype resolve_own(struct hs_ctypes *types, hs_type_file file, hs_die die,
                            const char *alias)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dict *known = &types->files[file - 1]->types;
    hs_ctype type = (hs_ctype)hs_dict_get(known, die, 0);
    if (type == 0) {
        struct ctypes_type made = {.die = die, .file = file};
        type = hs_ctypes_make_(types, &made);
        if (type != 0 && hs_dict_put(known, die, type, &err) != HS_OK)
            hs_ctypes_out_(types);
    }
    if (type != 0 && types->items[type].alias == NULL)
        types->items[type].alias = alias;
    return type;
}

/* Tells whether a typedef of void is a name for what a library keeps to itself, as curl's CURL: at
 * the top level of its unit, and no other spelling of "void". */
static bool is_opaque_name(struct hs_ctypes *types, hs_type_file file,
                           const struct debug_entry *entry, const char *name)
{
    static const char plain[] = "void";
    char qualified[CTYPES_MAX_NAME];
    size_t n = strlen(name);

    return n != 0 &&
           (n < sizeof plain - 1 || strcasecmp(name + n - (sizeof plain - 1), plain) != 0) &&
           hs_ctypes_qualified_(types, file, entry, qualified, sizeof qualified) > 0 &&
           strcmp(qualified, name) == 0;
}

hs_ctype hs_ctypes_resolve_(struct hs_ctypes *types, hs_type_file file, hs_die die)
{
    struct hs_error err = HS_ERROR_INIT;
    struct debug_info *info = hs_ctypes_info_(types, file);
    const char *alias = NULL;
    hs_die at = die;
    if (info == NULL)
        return 0;
    for (int hop = 0; hop < CTYPES_MAX_HOPS && at != 0; hop++) {
        struct debug_entry entry;
        hs_ctype known = (hs_ctype)hs_dict_get(&types->files[file - 1]->types, at, 0);
        if (known == 0) {
            if (!hs_entry_read_(info, at, &entry))
                return 0;
            if (!tag_is_looked_through(entry.tag)) {
                known = resolve_own(types, file, at, alias);
            } else if (entry.tag == DW_TAG_typedef) {
                const char *name = hs_entry_text_(info, &entry, DW_AT_name);
                if (name != NULL && alias_hides(name))
                    known = hidden_pointer(types);
                alias = name == NULL ? alias : hs_ctypes_keep_(types, name, CTYPES_MAX_NAME);
                if (name != NULL && !hs_entry_has_(info, &entry, DW_AT_type) &&
                    is_opaque_name(types, file, &entry, name))
                    known = resolve_own(types, file, at, alias);
            }
        }
        if (known != 0) {
            if (at != die && hs_dict_put(&types->files[file - 1]->types, die, known, &err) != HS_OK)
                hs_ctypes_out_(types);
            return known;
        }
        at = hs_entry_reference_(info, &entry, DW_AT_type);
    }
    types->n_damaged += at != 0; /* a cycle */
    return 0;
}

hs_ctype hs_ctypes_type_of_(struct hs_ctypes *types, hs_type_file file,
                            const struct debug_entry *entry)
{
    struct debug_info *info = hs_ctypes_info_(types, file);
    struct debug_value value;
    struct debug_entry holder;
    if (info == NULL || !hs_entry_inherited_(info, entry, DW_AT_type, &value, &holder))
        return 0;
    return hs_ctypes_resolve_(types, file, hs_entry_reference_(info, &holder, DW_AT_type));
}

void hs_ctypes_member_add_(struct hs_ctypes *types, struct ctypes_type *type, uint64_t offset,
                           hs_ctype of, const char *name)
{
    struct hs_error err = HS_ERROR_INIT;
    if (types->n_members >= UINT32_MAX ||
        HS_GROW(&types->members, &types->members_capacity, types->n_members + 1, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return;
    }
    if (type->n_members == 0)
        type->first_member = (uint32_t)types->n_members;
    types->members[types->n_members++] =
        (struct ctypes_member){.offset = offset, .name = name == NULL ? "" : name, .type = of};
    type->n_members++;
}

/* Finds the offset of a member or a base class; false when that is computed (virtual bases). */
static bool member_offset(struct debug_info *info, const struct debug_entry *entry, uint64_t *ret)
{
    struct debug_value value;
    *ret = 0;
    if (!hs_entry_value_(info, entry, DW_AT_data_member_location, &value))
        return true;
    if (value.bytes == NULL) {
        *ret = value.number;
        return true;
    }
    struct hs_cursor c = hs_cursor_make(value.bytes, value.n_bytes); /* DWARF 2 */
    if (hs_cursor_u8(&c) != DW_OP_plus_uconst)
        return false;
    *ret = hs_cursor_varint(&c);
    return !c.failed && hs_cursor_left(&c) == 0;
}

static void build_member(struct hs_ctypes *types, struct debug_info *info,
                         const struct debug_entry *entry, struct ctypes_type *type)
{
    uint64_t offset, number;
    bool is_base = entry->tag == DW_TAG_inheritance;
    if (is_base && hs_entry_number_(info, entry, DW_AT_virtuality, &number) && number != 0)
        return;
    if (hs_entry_flag_(info, entry, DW_AT_declaration) ||
        hs_entry_flag_(info, entry, DW_AT_external) || /* static */
        hs_entry_has_(info, entry, DW_AT_bit_size) ||
        hs_entry_has_(info, entry, DW_AT_data_bit_offset) || !member_offset(info, entry, &offset))
        return;
    hs_ctype of = hs_ctypes_type_of_(types, type->file, entry);
    const char *name = is_base || of == 0 ? NULL : hs_entry_text_(info, entry, DW_AT_name);
    if (of != 0)
        hs_ctypes_member_add_(types, type, offset, of,
                              name == NULL ? "" : hs_ctypes_keep_(types, name, CTYPES_MAX_NAME));
}

hs_ctype hs_ctypes_argument_(struct hs_ctypes *types, hs_type_file file, hs_die die, int wanted)
{
    struct debug_info *info = hs_ctypes_info_(types, file);
    struct debug_entry top, entry;
    if (info == NULL || !hs_entry_read_(info, die, &top))
        return 0;
    struct debug_walk walk = hs_walk_begin_(info, &top);
    while (hs_walk_next_(&walk, &entry)) {
        if (entry.tag == DW_TAG_template_type_parameter && wanted-- == 0)
            return hs_ctypes_type_of_(types, file, &entry);
        hs_walk_skip_(&walk, &entry);
    }
    return 0;
}

/* The number that tells which alternative of a variant part is there; 0 bytes when there is none.
 */
static uint64_t variant_number(struct hs_ctypes *types, hs_type_file file,
                               const struct debug_entry *part, uint64_t *ret_at)
{
    struct debug_info *info = hs_ctypes_info_(types, file);
    struct debug_entry number, type;
    uint64_t n_bytes = 0;
    *ret_at = 0;
    hs_die die = hs_entry_reference_(info, part, DW_AT_discr);
    if (die == 0 || !hs_entry_read_(info, die, &number) || number.tag != DW_TAG_member ||
        !member_offset(info, &number, ret_at))
        return 0;
    hs_ctype of = hs_ctypes_type_of_(types, file, &number); /* which may move the items */
    die = types->items[of].die;
    return die != 0 && hs_entry_read_(info, die, &type) &&
                   hs_entry_number_(info, &type, DW_AT_byte_size, &n_bytes)
               ? n_bytes
               : 0;
}

/* A destructor that the source declares; those that compilers add free nothing by themselves. */
static bool is_destructor(struct debug_info *info, const struct debug_entry *entry)
{
    if (entry->tag != DW_TAG_subprogram || hs_entry_flag_(info, entry, DW_AT_artificial))
        return false;
    const char *name = hs_entry_text_(info, entry, DW_AT_name);
    return name != NULL && name[0] == '~';
}

/* Members, base classes and, of a Rust enumeration, the alternatives: then a union. */
static void build_members(struct hs_ctypes *types, struct debug_info *info,
                          const struct debug_entry *top, struct ctypes_type *type)
{
    struct debug_entry entry;
    struct debug_walk walk = hs_walk_begin_(info, top);
    struct ctypes_variants variants = {0};
    while (hs_walk_next_(&walk, &entry)) {
        if (walk.depth <= variants.depth)
            hs_ctypes_variants_end_(types, &variants);
        if (entry.tag == DW_TAG_variant_part && variants.depth == 0) {
            uint64_t at, n_bytes = variant_number(types, type->file, &entry, &at);
            hs_ctypes_variants_begin_(types, walk.depth, at, n_bytes, &variants);
            type->kind = HS_CTYPE_UNION;
        } else if (entry.tag == DW_TAG_variant && variants.depth != 0) {
            hs_ctypes_variants_enter_(info, &entry, &variants);
        } else if (entry.tag == DW_TAG_inheritance ||
                   (entry.tag == DW_TAG_member &&
                    walk.depth == (variants.depth == 0 ? 1 : variants.depth + 2))) {
            uint32_t n = type->n_members; /* no discriminant: that is no pointer */
            build_member(types, info, &entry, type);
            if (variants.depth != 0 && type->n_members > n)
                hs_ctypes_variants_added_(types, &variants);
            hs_walk_skip_(&walk, &entry);
        } else {
            type->flags |= is_destructor(info, &entry) ? TYPE_FREES : 0;
            hs_walk_skip_(&walk, &entry);
        }
    }
    hs_ctypes_variants_end_(types, &variants);
}

unsigned hs_ctypes_language_(const struct debug_entry *entry)
{
    if (entry->unit->language == DW_LANG_Rust)
        return HS_RULE_RUST;
    return hs_language_is_cpp_(entry->unit->language) ? HS_RULE_CPP : HS_RULE_C;
}

/* Looks up the rules about a record by its name. Most names are told by their last part to have
 * none. */
static unsigned build_by_rules(struct hs_ctypes *types, const struct debug_entry *entry,
                               const char *name, struct ctypes_type *type)
{
    static const struct {
        enum hs_rule_kind kind;
        unsigned flag;
    } said[] = {{HS_RULE_FIND, TYPE_WEAK}, {HS_RULE_OWN, TYPE_OWNS}};
    unsigned language = hs_ctypes_language_(entry), flags = 0;

    for (size_t i = 0; name != NULL && i < sizeof said / sizeof *said; i++) {
        if (!hs_rules_may_type(types->rules, said[i].kind, language, name))
            continue;
        const char *whole = hs_ctypes_name_of_(types, type->file, entry);
        const struct hs_rule *rule =
            whole == NULL ? NULL : hs_rules_type(types->rules, said[i].kind, language, whole);
        if (rule == NULL)
            continue;
        flags |= said[i].flag;
        if (rule->kind == HS_RULE_FIND)
            type->weak_by = rule->number;
    }
    return flags;
}

/* Marks the members of a record that a rule says only find what they lead to. */
static void mark_members(struct hs_ctypes *types, const struct debug_entry *entry, const char *name,
                         const struct ctypes_type *type)
{
    unsigned language = hs_ctypes_language_(entry);

    if (name == NULL || !hs_rules_may_type(types->rules, HS_RULE_FIND_MEMBERS, language, name))
        return;
    const char *whole = hs_ctypes_name_of_(types, type->file, entry);
    const struct hs_rule *rule =
        whole == NULL ? NULL : hs_rules_type(types->rules, HS_RULE_FIND_MEMBERS, language, whole);
    for (uint32_t i = 0; rule != NULL && i < type->n_members; i++) {
        struct ctypes_member *member = &types->members[type->first_member + i];
        for (size_t k = 0; k < rule->n_members; k++)
            member->finds |= strcmp(member->name, rule->members[k]) == 0;
        member->find_by = member->finds ? rule->number : 0;
    }
}

static void build_record(struct hs_ctypes *types, struct debug_info *info,
                         const struct debug_entry *entry, struct ctypes_type *type)
{
    const char *name = hs_entry_text_(info, entry, DW_AT_name);
    type->kind = entry->tag == DW_TAG_union_type ? HS_CTYPE_UNION : HS_CTYPE_RECORD;
    type->rule = name == NULL ? 0 : hs_ctypes_rule_(name);
    int storage = hs_ctypes_rule_storage_(type->rule);
    hs_ctype value = storage < 0 ? 0 : hs_ctypes_argument_(types, type->file, entry->die, storage);
    if (value != 0)
        hs_ctypes_member_add_(types, type, 0, value, "");
    else
        build_members(types, info, entry, type);
    mark_members(types, entry, name, type);
    bool is_rust = entry->unit->language == DW_LANG_Rust;
    type->flags |= (uint16_t)((is_rust ? TYPE_DANGLES | TYPE_FREES : 0) |
                              build_by_rules(types, entry, name, type));
    hs_ctypes_mark_told_(types, type, name, is_rust);
}

/* The description of what an entry declares: by signature, else by name. 0 when there is none. */
static hs_ctype build_definition(struct hs_ctypes *types, hs_type_file file,
                                 const struct debug_entry *entry)
{
    char text[CTYPES_MAX_NAME];
    struct debug_entry found;
    struct debug_info *info = hs_ctypes_info_(types, file);
    hs_die die = hs_entry_reference_(info, entry, DW_AT_signature);
    if (die == 0) {
        size_t n = hs_ctypes_qualified_(types, file, entry, text, sizeof(text));
        struct ctypes_wanted wanted = hs_ctypes_wanted_(text, n);
        die = n == 0 ? 0 : hs_ctypes_named_any_(types, &file, &wanted);
    }
    info = hs_ctypes_info_(types, file);
    if (die == 0 || !hs_entry_read_(info, die, &found) ||
        hs_entry_flag_(info, &found, DW_AT_declaration) ||
        hs_entry_has_(info, &found, DW_AT_signature) ||
        (found.tag != DW_TAG_structure_type && found.tag != DW_TAG_class_type &&
         found.tag != DW_TAG_union_type))
        return 0;
    return resolve_own(types, file, die, NULL);
}

/* Returns one dimension; 0 when it is flexible or computed. */
static uint64_t build_dimension(struct debug_info *info, const struct debug_entry *entry)
{
    uint64_t count, lower = 0, upper;
    if (hs_entry_number_(info, entry, DW_AT_count, &count))
        return count;
    if (!hs_entry_number_(info, entry, DW_AT_upper_bound, &upper))
        return 0;
    if (hs_entry_number_(info, entry, DW_AT_lower_bound, &lower) && lower > upper)
        return 0;
    return upper - lower + 1; /* of -1, as some write it, 0 */
}

static void build_array(struct hs_ctypes *types, struct debug_info *info,
                        const struct debug_entry *top, struct ctypes_type *type)
{
    uint64_t dimensions[CTYPES_MAX_DIMENSIONS];
    size_t n = 0;
    struct debug_entry entry;
    struct debug_walk walk = hs_walk_begin_(info, top);
    while (hs_walk_next_(&walk, &entry)) {
        if (entry.tag == DW_TAG_subrange_type && n < CTYPES_MAX_DIMENSIONS)
            dimensions[n++] = build_dimension(info, &entry);
        hs_walk_skip_(&walk, &entry);
    }
    type->kind = HS_CTYPE_ARRAY;
    type->of = hs_ctypes_type_of_(types, type->file, top);
    for (; n > 1; n--) {
        struct ctypes_type inner = {.kind = HS_CTYPE_ARRAY,
                                    .file = type->file,
                                    .of = type->of,
                                    .n_elements = dimensions[n - 1],
                                    .flags = TYPE_BUILT};
        type->of = hs_ctypes_make_(types, &inner);
    }
    type->n_elements = n == 0 ? 0 : dimensions[0];
}

static void build_pointer(struct hs_ctypes *types, struct debug_info *info,
                          const struct debug_entry *entry, struct ctypes_type *type)
{
    struct debug_entry target;
    type->kind = HS_CTYPE_POINTER;
    type->n_bytes = type->n_bytes == 0 ? BUILD_POINTER_BYTES : type->n_bytes;
    type->of = hs_ctypes_type_of_(types, type->file, entry);
    if (entry->tag != DW_TAG_pointer_type)
        type->flags |= TYPE_REFERENCE;
    hs_die die = type->of == 0 ? 0 : types->items[type->of].die;
    if (die != 0 && hs_entry_read_(info, die, &target) && target.tag == DW_TAG_subroutine_type) {
        type->kind = HS_CTYPE_SCALAR;
        type->flags |= TYPE_CODE;
    } else if (type->n_bytes != BUILD_POINTER_BYTES) {
        type->kind = HS_CTYPE_SCALAR;
    }
}

static void build_by_tag(struct hs_ctypes *types, struct debug_info *info,
                         struct debug_entry *entry, struct ctypes_type *type)
{
    switch (entry->tag) {
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
        build_record(types, info, entry, type);
        break;
    case DW_TAG_array_type:
        build_array(types, info, entry, type);
        break;
    case DW_TAG_pointer_type:
    case DW_TAG_reference_type:
    case DW_TAG_rvalue_reference_type:
        build_pointer(types, info, entry, type);
        break;
    case DW_TAG_ptr_to_member_type:
        type->kind = HS_CTYPE_SCALAR;
        type->n_bytes = type->n_bytes == 0 ? BUILD_POINTER_BYTES : type->n_bytes;
        break;
    case DW_TAG_subroutine_type:
        type->kind = HS_CTYPE_SCALAR;
        type->flags |= TYPE_CODE;
        break;
    case DW_TAG_unspecified_type:
        type->kind = HS_CTYPE_VOID;
        break;
    case DW_TAG_typedef: /* of void: see is_opaque_name */
        type->kind = HS_CTYPE_RECORD;
        type->flags |= TYPE_DECLARED;
        break;
    case DW_TAG_base_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_subrange_type:
    case DW_TAG_string_type:
        type->kind = HS_CTYPE_SCALAR;
        break;
    default:
        break;
    }
}

/* Builds from the type's own entry; `definition` is not 0 when that only declares it. */
static void build_own(struct hs_ctypes *types, hs_ctype number, hs_ctype *definition)
{
    struct ctypes_type type = types->items[number];
    types->items[number].flags |= TYPE_BUILT;
    struct debug_info *info = hs_ctypes_info_(types, type.file);
    struct debug_entry entry;
    if (info == NULL || !hs_entry_read_(info, type.die, &entry))
        return;
    if (hs_entry_flag_(info, &entry, DW_AT_declaration) ||
        hs_entry_has_(info, &entry, DW_AT_signature)) { /* gcc's stand-ins for type units */
        type.flags |= TYPE_DECLARED;
        if (entry.tag != DW_TAG_enumeration_type)
            *definition = build_definition(types, type.file, &entry);
    }
    if (!hs_entry_number_(info, &entry, DW_AT_byte_size, &type.n_bytes))
        type.n_bytes = 0;
    build_by_tag(types, info, &entry, &type);
    type.flags |= TYPE_BUILT;
    types->items[number] = type;
}

/* A declaration becomes a copy of what it declares, members shared: so each entry is read once. */
static void build(struct hs_ctypes *types, hs_ctype number)
{
    hs_ctype definition = 0, ignored = 0;
    build_own(types, number, &definition);
    if (definition == 0 || definition == number)
        return;
    if ((types->items[definition].flags & TYPE_BUILT) == 0)
        build_own(types, definition, &ignored);
    struct ctypes_type type = types->items[definition];
    type.flags &= (uint16_t) ~(TYPE_FLATTENED | TYPE_FLATTENING | TYPE_CUT);
    type.slots = NULL;
    type.n_slots = 0;
    type.definition = definition;
    types->items[number] = type;
}

struct ctypes_type *hs_ctypes_get_(struct hs_ctypes *types, hs_ctype type)
{
    if (type >= types->n_types)
        type = 0;
    if ((types->items[type].flags & TYPE_BUILT) == 0)
        build(types, type);
    return &types->items[type];
}

uint64_t hs_ctypes_size_(struct hs_ctypes *types, hs_ctype type)
{
    uint64_t n_bytes = 1;
    for (int hop = 0; hop < CTYPES_MAX_HOPS; hop++) {
        const struct ctypes_type *t = hs_ctypes_get_(types, type);
        if (t->kind != HS_CTYPE_ARRAY)
            return hs_mul_fits(n_bytes, t->n_bytes, &n_bytes) ? n_bytes : 0;
        if (!hs_mul_fits(n_bytes, t->n_elements, &n_bytes))
            return 0;
        type = t->of;
    }
    return 0;
}

hs_die hs_ctypes_named_any_(struct hs_ctypes *types, hs_type_file *file,
                            const struct ctypes_wanted *wanted)
{
    hs_die die = hs_ctypes_named_(types, *file, wanted);
    for (hs_type_file i = 1; die == 0 && i <= types->n_files; i++) {
        die = hs_ctypes_named_(types, i, wanted);
        if (die != 0)
            *file = i;
    }
    return die;
}

hs_ctype hs_ctypes_find_wanted_(struct hs_ctypes *types, hs_type_file file,
                                const struct ctypes_wanted *wanted)
{
    hs_die die = hs_ctypes_named_any_(types, &file, wanted);
    return die == 0 ? 0 : hs_ctypes_resolve_(types, file, die);
}

hs_ctype hs_ctypes_find(struct hs_ctypes *types, hs_type_file file, const char *name)
{
    static const char *const keywords[] = {"struct ", "class ", "union "};
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
        if (strncmp(name, keywords[i], strlen(keywords[i])) == 0) {
            name += strlen(keywords[i]);
            break;
        }
    hs_ctypes_trim_(types);
    struct ctypes_wanted wanted = hs_ctypes_wanted_(name, strlen(name));
    hs_ctype found = hs_ctypes_find_wanted_(types, file, &wanted);
    uint8_t kind = hs_ctypes_get_(types, found)->kind;
    return kind == HS_CTYPE_RECORD || kind == HS_CTYPE_UNION ? found : 0;
}
