/* The dynamic type of a pointer to anything, by the word beside it: a table of Rust's, or a
 * function of libstdc++ or libc++ that knows the type. */
#include <dwarf.h>
#include <string.h>

#include "containers.h"
#include "pool.h"

enum { TOLD_ARGUMENT_OF_HANDLER = 1 }; /* _Function_handler<signature, functor> */

/* The text of `name` with the part that begins with "dyn " replaced, or with "(dyn ", as rustc
 * writes "dyn Shape + Send"; 0 when it has none or is too long. */
static size_t told_replaced(const char *name, const char *with, char *text, size_t n_text)
{
    const char *begin = strstr(name, "dyn "), *end = begin;
    unsigned depth = 0;
    if (begin == NULL)
        return 0;
    for (; *end != '\0' && (depth > 0 || strchr(">,])", *end) == NULL); end++) {
        if (strchr("<[(", *end) != NULL)
            depth++;
        else if (strchr(">])", *end) != NULL)
            depth--;
    }
    if (begin > name && begin[-1] == '(' && *end == ')') {
        begin--;
        end++;
    }
    size_t n_before = (size_t)(begin - name), n_with = strlen(with), n_after = strlen(end);
    if (n_before + n_with + n_after >= n_text)
        return 0;
    memcpy(text, name, n_before);
    memcpy(text + n_before, with, n_with);
    memcpy(text + n_before + n_with, end, n_after + 1);
    return n_before + n_with + n_after;
}

/* An Arc<dyn Shape> leads to an ArcInner<dyn Shape>, which is an ArcInner<Circle>. */
static hs_ctype told_inside(struct hs_ctypes *types, hs_type_file file, hs_ctype declared,
                            hs_ctype own)
{
    char text[CTYPES_MAX_NAME];
    const char *name = hs_ctypes_type_name_(types, declared);
    if (strncmp(name, "dyn ", 4) == 0 || strncmp(name, "(dyn ", 5) == 0)
        return own;
    size_t n = told_replaced(name, hs_ctypes_type_name_(types, own), text, sizeof(text));
    if (n == 0)
        return 0;
    return hs_ctypes_find(types, file, text);
}

/* rustc (debuginfo/metadata.rs, create_vtable_di_node): a variable for each table, of a type that
 * is contained in the type that the table is of. */
static hs_ctype told_by_table(struct hs_ctypes *types, hs_type_file file, hs_addr vaddr,
                              hs_ctype declared)
{
    struct debug_info *info = hs_ctypes_info_(types, file);
    struct hs_cvariable variable;
    struct debug_entry entry;
    if (!hs_ctypes_variable_at(types, file, vaddr, &variable) || variable.vaddr != vaddr ||
        variable.type == 0)
        return 0;
    struct ctypes_type table = types->items[variable.type];
    if (table.die == 0 || table.file != file || !hs_entry_read_(info, table.die, &entry))
        return 0;
    hs_die die = hs_entry_reference_(info, &entry, DW_AT_containing_type);
    hs_ctype own = die == 0 ? 0 : hs_ctypes_resolve_(types, file, die);
    return own == 0 ? 0 : told_inside(types, file, declared, own);
}

/* Tells whether what a _Base_manager<functor> manages is in the std::function itself. */
static bool told_is_in_place(struct debug_info *info, const struct debug_entry *manager)
{
    struct debug_walk walk = hs_walk_begin_(info, manager);
    struct debug_entry entry;
    uint64_t value = 0;
    while (hs_walk_next_(&walk, &entry)) {
        const char *name = hs_entry_text_(info, &entry, DW_AT_name);
        if (name != NULL && strcmp(name, "__stored_locally") == 0)
            return !hs_entry_number_(info, &entry, DW_AT_const_value, &value) || value != 0;
        hs_walk_skip_(&walk, &entry);
    }
    return true; /* it is not as we know it */
}

/* The base class of a _Function_handler. */
static bool told_base(struct debug_info *info, const struct debug_entry *top,
                      struct debug_entry *ret)
{
    struct debug_walk walk = hs_walk_begin_(info, top);
    struct debug_entry entry;
    while (hs_walk_next_(&walk, &entry)) {
        hs_die die =
            entry.tag == DW_TAG_inheritance ? hs_entry_reference_(info, &entry, DW_AT_type) : 0;
        if (die != 0 && hs_entry_read_(info, die, ret)) {
            die = hs_entry_reference_(info, ret, DW_AT_signature);
            return die == 0 || hs_entry_read_(info, die, ret);
        }
        hs_walk_skip_(&walk, &entry);
    }
    return false;
}

/* The class that a function belongs to: where it is described, when it has a type unit. */
static bool told_owner(struct hs_ctypes *types, hs_type_file file,
                       const struct debug_entry *function, struct debug_entry *ret)
{
    struct debug_info *info = hs_ctypes_info_(types, file);
    struct debug_entry at = *function;
    for (int hop = 0; hop < DEBUG_MAX_HOPS && hs_entry_origin_(info, &at, &at); hop++)
        continue; /* it was declared in its class */
    if (!hs_ctypes_scope_around_(types, file, &at, ret))
        return false;
    hs_die die = hs_entry_reference_(info, ret, DW_AT_signature);
    return die == 0 || hs_entry_read_(info, die, ret);
}

static bool told_begins(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* A closure has no name; what it is an argument of calls it "Shop::fill(int)::<lambda()>". */
static hs_ctype told_argument(struct hs_ctypes *types, hs_type_file file,
                              const struct debug_entry *owner, const char *name, int wanted)
{
    hs_ctype type = hs_ctypes_argument_(types, file, owner->die, wanted);
    char raw[CTYPES_MAX_NAME], text[CTYPES_MAX_NAME];
    const char *argument;
    size_t n;
    if (type == 0 || types->items[type].alias != NULL ||
        !hs_ctypes_argument_text_(name, wanted, &argument, &n))
        return type;
    for (; n > 0 && argument[0] == ' '; n--)
        argument++;
    for (; n > 0 && argument[n - 1] == ' '; n--)
        continue;
    if (n >= sizeof(raw))
        return type;
    memcpy(raw, argument, n);
    raw[n] = '\0';
    n = hs_ctypes_pretty_(raw, text, sizeof(text));
    types->items[type].alias = hs_ctypes_keep_(types, text, n);
    return type;
}

static hs_ctype told_by_code(struct hs_ctypes *types, hs_type_file file, hs_addr vaddr)
{
    struct debug_info *info = hs_ctypes_info_(types, file);
    struct debug_entry function, owner, base;
    if (info == NULL || !hs_ctypes_function_at_(types, file, vaddr, &function) ||
        !told_owner(types, file, &function, &owner))
        return 0;
    const char *name = hs_ctypes_short_name_of_(types, file, &owner);
    if (name == NULL)
        return 0;
    if (told_begins(name, "_Manager_external<") || told_begins(name, "_LargeHandler<"))
        return told_argument(types, file, &owner, name, 0);
    if (told_begins(name, "_Function_handler<") && told_base(info, &owner, &base) &&
        !told_is_in_place(info, &base))
        return told_argument(types, file, &owner, name, TOLD_ARGUMENT_OF_HANDLER);
    if (told_begins(name, "_Base_manager<") && !told_is_in_place(info, &owner))
        return told_argument(types, file, &owner, name, 0);
    return 0;
}

hs_ctype hs_ctypes_told(struct hs_ctypes *types, hs_type_file file, enum hs_ctold_by by,
                        hs_addr vaddr, hs_ctype declared)
{
    hs_ctypes_trim_(types);
    switch (by) {
    case HS_CTOLD_TABLE:
        return told_by_table(types, file, vaddr, declared);
    case HS_CTOLD_CODE:
        return told_by_code(types, file, vaddr);
    case HS_CTOLD_NOT:
        break;
    }
    return declared;
}
