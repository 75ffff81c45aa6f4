/* The pass over a file or some of its units: where variables are, where records are described.
 *
 * A unit's abbreviations are turned into plans: an entry of no interest whose forms have fixed
 * sizes is passed in one step. Linear in the bytes of .debug_info. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "form.h"
#include "pool.h"

enum {
    INDEX_WINDOW = 1 << 20, /* of a unit, brought in at a time */
    INDEX_ENTRY = 1 << 14,  /* nearly all entries are smaller */
    INDEX_STEPS = 2,        /* that an entry costs */
};

struct index_plan {
    uint32_t stamp; /* of the unit that it was made for */
    uint32_t attributes_at;
    int32_t n_bytes; /* of all values, -1 when it depends */
    uint16_t tag;
    bool has_children, is_wanted;
};

struct index_pass {
    struct hs_ctypes *types;
    struct ctypes_file *file;
    struct debug_info *info;
    const struct debug_unit *unit;
    struct index_plan *plans; /* owned; [code] */
    size_t n_plans;
    uint32_t stamp;
    unsigned level; /* of the entry: 0 for the root */
    uint64_t
        prefixes[DEBUG_MAX_DEPTH + 1]; /* hash of the names around, by level; 0: in a function */
};

/* The facts about an entry that the pass wants. */
struct index_facts {
    struct debug_value name, location, origin;
    bool is_declaration;
};

/* The first of a name stays, but a record is better than a typedef. */
static void named_add(struct index_pass *pass, uint64_t hash, hs_die die, bool is_typedef)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dict *names = &pass->file->names;
    const uint64_t *known = hs_dict_find(names, hash);
    if ((known == NULL || ((*known & 1) != 0 && !is_typedef)) &&
        hs_dict_put(names, hash, die << 1 | is_typedef, &err) != HS_OK)
        hs_ctypes_out_(pass->types);
}

static bool plan_wants(const struct index_pass *pass, uint16_t tag, bool has_name, bool has_place,
                       bool has_origin)
{
    switch (tag) {
    case DW_TAG_variable:
        return has_place;
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        return has_name || has_origin;
    case DW_TAG_typedef:
        return has_name && pass->unit->language != DW_LANG_Rust;
    case DW_TAG_namespace:
    case DW_TAG_subprogram:
        return true;
    default:
        return false;
    }
}

static bool plan_make(struct index_pass *pass, size_t code, struct index_plan *plan)
{
    const struct debug_table *table = &pass->info->tables[pass->unit->table - 1];
    struct debug_value value;
    bool has_name = false, has_place = false, has_origin = false;
    if (code >= table->n_codes || table->codes[code] == 0)
        return false;
    struct hs_cursor c = hs_form_abbreviation_(pass->info, table->codes[code]);
    *plan = (struct index_plan){.stamp = pass->stamp, .tag = (uint16_t)hs_cursor_varint(&c)};
    plan->has_children = hs_cursor_u8(&c) != 0;
    plan->attributes_at = (uint32_t)c.at;
    while (hs_form_next_(&c, &value)) {
        int n_bytes = hs_form_size_(pass->unit, value.form);
        plan->n_bytes = n_bytes < 0 || plan->n_bytes < 0 ? -1 : plan->n_bytes + n_bytes;
        has_name |= value.attribute == DW_AT_name;
        has_place |= value.attribute == DW_AT_location;
        has_origin |= value.attribute == DW_AT_specification;
    }
    plan->is_wanted = plan_wants(pass, plan->tag, has_name, has_place, has_origin);
    return !c.failed;
}

static struct index_plan *plan_of(struct index_pass *pass, uint64_t code)
{
    if (code >= pass->n_plans)
        return NULL;
    struct index_plan *plan = &pass->plans[code];
    return plan->stamp == pass->stamp || plan_make(pass, (size_t)code, plan) ? plan : NULL;
}

/* Reads (or passes over) the values of an entry. */
static bool index_read(const struct index_pass *pass, const struct index_plan *plan,
                       struct hs_cursor *c, struct index_facts *ret)
{
    struct hs_cursor list = hs_form_abbreviation_(pass->info, plan->attributes_at);
    struct debug_value value;
    while (hs_form_next_(&list, &value)) {
        if (!hs_form_read_(c, pass->unit, &value))
            return false;
        if (value.attribute == DW_AT_name)
            ret->name = value;
        else if (value.attribute == DW_AT_location)
            ret->location = value;
        else if (value.attribute == DW_AT_specification)
            ret->origin = value;
        else if (value.attribute == DW_AT_declaration)
            ret->is_declaration = true;
    }
    return true;
}

static void index_variable(struct index_pass *pass, hs_die die, const struct index_facts *facts)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t place = 0;
    enum ctypes_place_kind kind =
        hs_ctypes_fixed_place_(pass->info, pass->unit, &facts->location, &place);
    if (kind == PLACE_NONE)
        return;
    struct ctypes_variables *list = kind == PLACE_TLS ? &pass->file->tls : &pass->file->variables;
    if (list->n >= UINT32_MAX - 1 ||
        HS_GROW(&list->items, &list->capacity, list->n + 1, &err) != HS_OK)
        hs_ctypes_out_(pass->types);
    else
        list->items[list->n++] = (struct ctypes_variable){.vaddr = place, .die = die};
}

static void index_late(struct index_pass *pass, hs_die die)
{
    struct hs_error err = HS_ERROR_INIT;
    struct ctypes_file *file = pass->file;
    if (HS_GROW(&file->late, &file->late_capacity, file->n_late + 1, &err) != HS_OK)
        hs_ctypes_out_(pass->types);
    else
        file->late[file->n_late++] = die;
}

/* Notes a namespace, record or typedef; returns the prefix of what is in it. */
static uint64_t index_named(struct index_pass *pass, uint16_t tag, hs_die die,
                            const struct index_facts *facts)
{
    uint64_t prefix = pass->prefixes[pass->level];
    struct debug_entry entry = {.unit = pass->unit};
    const char *name = NULL;
    if (facts->name.form != 0)
        name = hs_entry_value_text_(pass->info, &entry, &facts->name);
    if (tag == DW_TAG_namespace && name == NULL)
        name = "(anonymous namespace)";
    if (prefix == 0)
        return 0;
    if (facts->origin.form != 0 && tag != DW_TAG_namespace && !facts->is_declaration)
        index_late(pass, die); /* its name is that of the place where it was declared */
    if (name == NULL || facts->origin.form != 0)
        return 0;
    uint64_t hash = hs_ctypes_hash_(prefix, name, strlen(name));
    if (tag != DW_TAG_namespace && !facts->is_declaration)
        named_add(pass, hash, die, tag == DW_TAG_typedef);
    return hs_ctypes_hash_(hash, "::", 2);
}

/* Passes over an entry's values, or takes what is wanted of them. */
static bool index_values(struct index_pass *pass, const struct index_plan *plan,
                         struct hs_cursor *c, struct index_facts *ret)
{
    if (!plan->is_wanted && plan->n_bytes >= 0)
        hs_cursor_skip(c, (size_t)plan->n_bytes);
    else if (!index_read(pass, plan, c, ret))
        c->failed = true;
    return !c->failed;
}

/* Takes one entry; false when damaged or when the unit ends. */
static bool index_step(struct index_pass *pass, struct hs_cursor *c, uint64_t shift)
{
    hs_die die = shift + c->at;
    uint64_t code = hs_cursor_varint(c);
    if (code == 0 && !c->failed)
        return pass->level > 0 && --pass->level > 0;
    const struct index_plan *plan = c->failed ? NULL : plan_of(pass, code);
    struct index_facts facts = {0};
    if (plan == NULL) {
        pass->info->n_damaged++;
        return false;
    }
    if (!index_values(pass, plan, c, &facts)) {
        pass->info->n_damaged++;
        return false;
    }
    uint64_t prefix = pass->prefixes[pass->level];
    if (plan->is_wanted && plan->tag == DW_TAG_variable)
        index_variable(pass, die, &facts);
    else if (plan->is_wanted && plan->tag == DW_TAG_subprogram)
        prefix = 0;
    else if (plan->is_wanted)
        prefix = index_named(pass, plan->tag, die, &facts);
    if (plan->has_children) {
        if (pass->level >= DEBUG_MAX_DEPTH) {
            pass->info->n_damaged++;
            return false;
        }
        pass->prefixes[++pass->level] = prefix;
    }
    return pass->level > 0;
}

/* A window at a time: with link-time optimisation a unit may be the whole program. */
static void index_entries(struct index_pass *pass, const struct debug_unit *unit)
{
    struct hs_cursor c = hs_form_window_(pass->info, unit, unit->root, INDEX_WINDOW), before;
    uint64_t shift = unit->root - c.at;
    for (;;) {
        bool is_cut = hs_form_is_cut_(pass->info, unit, &c);
        if (is_cut && c.n_bytes - c.at < INDEX_ENTRY) {
            hs_ctypes_trim_(pass->types);
            c = hs_form_window_(pass->info, unit, shift + c.at, INDEX_WINDOW);
        }
        uint64_t n_damaged = pass->info->n_damaged;
        before = c;
        if (hs_cursor_left(&c) == 0 || !hs_effort_take(pass->info->effort, INDEX_STEPS))
            return;
        if (index_step(pass, &c, shift))
            continue;
        if (!c.failed || !hs_form_is_cut_(pass->info, unit, &c))
            return;
        pass->info->n_damaged = n_damaged; /* an entry larger than the window */
        c = hs_form_cursor_(pass->info, unit, shift + before.at);
    }
}

static void index_unit(struct index_pass *pass, struct debug_unit *unit)
{
    struct hs_error err = HS_ERROR_INIT;
    if (!hs_debug_unit_load_(pass->info, unit))
        return;
    pass->unit = unit;
    pass->stamp++;
    pass->level = 0;
    pass->prefixes[0] = CTYPES_HASH_SEED;
    size_t capacity = pass->n_plans, n_codes = pass->info->tables[unit->table - 1].n_codes;
    if (n_codes > pass->n_plans) {
        if (HS_GROW(&pass->plans, &capacity, n_codes, &err) != HS_OK) {
            hs_ctypes_out_(pass->types);
            return;
        }
        pass->n_plans = capacity;
    }
    index_entries(pass, unit);
}

static int variable_order(const void *a, const void *b)
{
    const struct ctypes_variable *v = a, *w = b;
    if (v->vaddr != w->vaddr)
        return v->vaddr < w->vaddr ? -1 : 1;
    return (v->die > w->die) - (v->die < w->die);
}

void hs_ctypes_sort_(struct ctypes_variables *variables)
{
    if (variables->n_sorted < variables->n)
        qsort(variables->items, variables->n, sizeof(*variables->items), variable_order);
    variables->n_sorted = variables->n;
}

static void index_late_names(struct index_pass *pass, hs_type_file number)
{
    char text[CTYPES_MAX_NAME];
    for (size_t i = 0; i < pass->file->n_late; i++) {
        struct debug_entry entry;
        hs_die die = pass->file->late[i];
        if (!hs_entry_read_(pass->info, die, &entry))
            continue;
        size_t n = hs_ctypes_qualified_(pass->types, number, &entry, text, sizeof(text));
        if (n > 0)
            named_add(pass, hs_ctypes_hash_(CTYPES_HASH_SEED, text, n), die, false);
    }
    hs_free(pass->file->late);
    pass->file->late = NULL;
    pass->file->n_late = pass->file->late_capacity = 0;
}

/* Indexes units [first, end) as far as that was not done. */
static bool index_units(struct hs_ctypes *types, hs_type_file number, size_t first, size_t end)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    struct index_pass pass = {.types = types, .file = file, .info = &file->info};
    bool did_some = false;
    for (size_t i = first; i < end && !hs_debug_is_spent_(&file->info); i++) {
        struct ctypes_unit *notes = hs_ctypes_unit_(types, file, &file->info.units[i]);
        if (notes == NULL || notes->is_indexed)
            continue;
        notes->is_indexed = did_some = true;
        index_unit(&pass, &file->info.units[i]);
        hs_ctypes_trim_(types);
    }
    hs_free(pass.plans);
    index_late_names(&pass, number);
    return did_some;
}

void hs_ctypes_index_(struct hs_ctypes *types, hs_type_file number)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    if (file == NULL || file->is_indexed)
        return;
    file->is_indexed = true;
    (void)index_units(types, number, 0, file->info.n_units);
    hs_directory_close_(&file->directory);
}

bool hs_ctypes_index_unit_(struct hs_ctypes *types, hs_type_file number, size_t unit)
{
    return index_units(types, number, unit, unit + 1);
}

hs_die hs_ctypes_indexed_(const struct ctypes_file *file, uint64_t hash, bool *ret_is_typedef)
{
    uint64_t found = hs_dict_get(&file->names, hash, 0);
    *ret_is_typedef = (found & 1) != 0;
    return found >> 1;
}
