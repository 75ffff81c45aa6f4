#include "analysis/type_family.h"

#include <string.h>

#include "base/alloc.h"
#include "base/strtab.h"

/* Tells whether the name of a type of this form is that of a type in the source; of other forms it
 * tells only what the block itself shows. */
static bool is_source(const struct hs_type *type, const char *name)
{
    switch (type->form) {
    case HS_FORM_BLOCK:
        return strncmp(name, "block tag ", 10) != 0 && strncmp(name, "continuation", 12) != 0;
    case HS_FORM_OBJECT:
        return strncmp(name, "object (", 8) != 0;
    case HS_FORM_LAZY:
    case HS_FORM_FORWARD:
    case HS_FORM_FLOAT_ARRAY:
        return true;
    default:
        return false;
    }
}

bool hs_type_is_source(const struct hs_view *view, uint32_t type)
{
    const struct hs_type *record = hs_snap_type(view->snap, type);

    return hs_view_has_runtime(view, "ocaml") &&
           is_source(record, hs_view_string(view, record->name)) &&
           strcmp(hs_view_string(view, record->name), hs_type_form_name(record->form)) != 0;
}

bool hs_type_is_known(const struct hs_view *view, uint32_t type)
{
    const struct hs_type *record = hs_snap_type(view->snap, type);
    const char *name = hs_view_string(view, record->name);

    if (strncmp(name, "block tag ", 10) == 0)
        return false;
    switch (record->form) {
    case HS_FORM_BYTES:
    case HS_FORM_MAPPING:
    case HS_FORM_ABSTRACT:
        return false;
    case HS_FORM_OTHER:
        return name[0] != '\0' && strcmp(name, "unknown") != 0;
    default:
        return true;
    }
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Returns how many bytes come before the dot of the constructor; all when there is none. A
 * constructor follows a type, whose name begins with no capital, unlike a module's. */
static size_t instance_bytes(const char *name)
{
    size_t n = strlen(name), dot = n;

    while (dot > 0 && name[dot - 1] != '.' && name[dot - 1] != ' ' && name[dot - 1] != ')')
        dot--;
    if (dot == 0 || name[dot - 1] != '.' || (!is_capital(name[dot]) && name[dot] != ':'))
        return n;
    dot--; /* of "Constr.t.App" the last dot; what is before it must be a type */
    size_t before = dot;
    while (before > 0 && name[before - 1] != '.' && name[before - 1] != ' ')
        before--;
    return dot != 0 && !is_capital(name[before]) ? dot : n;
}

/* Returns where the head of name[0, n), the type without its arguments, begins: behind the
 * arguments, which come first. */
static size_t head_begin(const char *name, size_t n)
{
    size_t begin = 0;
    int depth = 0;

    for (size_t i = 0; i < n; i++) {
        depth += name[i] == '(' || name[i] == '[' || name[i] == '<';
        depth -= name[i] == ')' || name[i] == ']' || name[i] == '>';
        if (name[i] == ' ' && depth == 0)
            begin = i + 1;
    }
    return begin;
}

/* Counts the parts of a tuple that is all of name[0, n); 0 when it is none. */
static unsigned tuple_parts(const char *name, size_t n)
{
    unsigned parts = 1;
    int depth = 0;

    if (n == 0 || name[0] != '(')
        return 0;
    for (size_t i = 0; i < n; i++) {
        depth += name[i] == '(' || name[i] == '[' || name[i] == '<';
        depth -= name[i] == ')' || name[i] == ']' || name[i] == '>';
        if (depth == 0 && i + 1 < n)
            return 0;
        parts += depth == 1 && name[i] == '*';
    }
    return parts > 1 ? parts : 0;
}

struct text {
    char *bytes;
    size_t n, room;
};

static void put(struct text *t, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n && t->n + 1 < t->room; i++)
        t->bytes[t->n++] = bytes[i];
    t->bytes[t->n] = '\0';
}

/* "Libnames.full_path Map.Make(Globnames.ExtRefOrdered).t" -> "Map.Make(_).t" */
static void put_head(struct text *t, const char *name, size_t n)
{
    unsigned parts = tuple_parts(name, n);
    int depth = 0;

    if (parts != 0) {
        put(t, "(_", 2);
        for (unsigned i = 1; i < parts; i++)
            put(t, " * _", 4);
        put(t, ")", 1);
        return;
    }
    for (size_t i = head_begin(name, n); i < n; i++) {
        if (name[i] == ')' && --depth == 0)
            put(t, "_", 1);
        if (depth == 0)
            put(t, &name[i], 1);
        if (name[i] == '(' && depth++ == 0 && name[i + 1] == ')')
            depth = 0;
    }
}

void hs_type_family_name(const struct hs_view *view, uint32_t type, enum hs_type_level level,
                         char *text, size_t n)
{
    const char *name = hs_view_string(view, hs_snap_type(view->snap, type)->name);
    struct text t = {text, 0, n};

    text[0] = '\0';
    if (level == HS_TYPE_CONSTRUCTOR || !hs_type_is_source(view, type))
        put(&t, name, strlen(name));
    else if (level == HS_TYPE_INSTANCE || strncmp(name, "module ", 7) == 0 || name[0] == '<' ||
             name[0] == '[')
        put(&t, name, instance_bytes(name));
    else
        put_head(&t, name, instance_bytes(name));
}

hs_status hs_type_families(const struct hs_view *view, enum hs_type_level level, uint32_t **ret,
                           struct hs_error *err)
{
    uint32_t n = (uint32_t)view->totals->n_types, *family = NULL;
    char name[HS_TYPE_NAME_BYTES];
    struct hs_strtab names = {0};
    uint32_t *first = NULL;
    size_t capacity = 0;
    hs_status status = HS_ALLOC(&family, n, err);

    for (uint32_t i = 0; i < n && status == HS_OK; i++) {
        hs_str text;
        size_t before = names.n_strings;
        hs_type_family_name(view, i, level, name, sizeof name);
        status = hs_strtab_add(&names, name, &text, err);
        if (status == HS_OK)
            status = HS_GROW(&first, &capacity, (size_t)text + 1, err);
        if (status != HS_OK)
            break;
        if (names.n_strings != before || text == 0)
            first[text] = i;
        family[i] = first[text];
    }
    hs_strtab_fini(&names);
    hs_free(first);
    if (status != HS_OK)
        hs_free(family);
    else
        *ret = family;
    return status;
}

bool hs_type_family_find(const struct hs_view *view, const char *name, struct hs_type_family *ret)
{
    static const enum hs_type_level levels[] = {HS_TYPE_CONSTRUCTOR, HS_TYPE_INSTANCE,
                                                HS_TYPE_HEAD};
    char text[HS_TYPE_NAME_BYTES];
    unsigned n_levels = hs_view_has_runtime(view, "ocaml") ? 3 : 1;

    for (unsigned k = 0; k < n_levels; k++)
        for (uint32_t i = 0; i < view->totals->n_types; i++) {
            hs_type_family_name(view, i, levels[k], text, sizeof text);
            if (strcmp(text, name) != 0)
                continue;
            *ret = (struct hs_type_family){.first = i, .level = levels[k]};
            return true;
        }
    return false;
}

hs_status hs_type_family_members(const struct hs_view *view, struct hs_type_family family,
                                 struct hs_bitmap *ret, struct hs_error *err)
{
    char name[HS_TYPE_NAME_BYTES], text[HS_TYPE_NAME_BYTES];

    HS_TRY(hs_bitmap_init(ret, view->totals->n_types, err));
    hs_bitmap_set(ret, family.first);
    if (family.level == HS_TYPE_CONSTRUCTOR)
        return HS_OK; /* of one name; a name that several types have means the first */
    hs_type_family_name(view, family.first, family.level, name, sizeof name);
    for (uint32_t i = family.first + 1; i < view->totals->n_types; i++) {
        hs_type_family_name(view, i, family.level, text, sizeof text);
        if (strcmp(text, name) == 0)
            hs_bitmap_set(ret, i);
    }
    return HS_OK;
}
