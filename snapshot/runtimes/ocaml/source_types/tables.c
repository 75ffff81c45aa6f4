/* Lines become tables. */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "names/fields.h"

enum { INNER_DEPTH = 8, ALIAS_DEPTH = 16, TAG_MAX = 255 };

static const char header_line[] = "#heapsnap-ocaml-types 1";

struct parse {
    struct hs_stables *tables;
    struct hs_text_field fields[HS_FIELDS_MAX];
    size_t n_fields;
    /* The parts to which the next lines belong; NULL: those of nothing that is kept */
    struct hs_spart *children, *cases, *witnesses;
    bool may_have_children;
    struct hs_error *err;
};

void hs_stables_fini(struct hs_stables *tables)
{
    if (tables == NULL)
        return;
    hs_strtab_fini(&tables->strings);
    hs_free(tables->types);
    hs_free(tables->rows);
    hs_free(tables->children);
    hs_free(tables->cases);
    hs_free(tables->witnesses);
    hs_free(tables->known);
    hs_free(tables->roots);
    hs_free(tables->exts);
    hs_free(tables->keys);
    hs_free(tables->captured);
    hs_free(tables->held);
    hs_free(tables->scopes);
    *tables = (struct hs_stables){0};
}

/* ---- fields */

static bool field_is(struct hs_text_field field, const char *text)
{
    return field.n_bytes == strlen(text) && memcmp(field.text, text, field.n_bytes) == 0;
}

static bool parse_signed(struct hs_text_field field, int64_t *ret)
{
    bool is_negative = field.n_bytes > 0 && field.text[0] == '-';
    uint32_t value;

    if (is_negative) {
        field.text++;
        field.n_bytes--;
    }
    if (!hs_field_number(field, UINT32_MAX, &value))
        return false;
    *ret = is_negative ? -(int64_t)value : (int64_t)value;
    return true;
}

static bool parse_type(struct hs_text_field field, hs_stype *ret)
{
    return hs_field_number(field, HS_STYPES_MAX - 1, ret);
}

static bool parse_type_or_none(struct hs_text_field field, hs_stype *ret)
{
    *ret = HS_STYPE_NONE;
    return field_is(field, "-") || parse_type(field, ret);
}

/* Finds which of `n` words the field is. */
static bool parse_word(struct hs_text_field field, const char *const *words, size_t n, uint8_t *ret)
{
    for (size_t i = 0; i < n; i++)
        if (field_is(field, words[i])) {
            *ret = (uint8_t)i;
            return true;
        }
    return false;
}

/* Takes a text; a backslash is written \x5c, and other escapes stay as they are. */
static hs_status parse_text(struct parse *p, struct hs_text_field field, hs_str *ret)
{
    char text[HS_FIELD_BYTES];
    size_t n = 0;

    *ret = 0;
    if (field_is(field, "-"))
        return HS_OK;
    for (size_t i = 0; i < field.n_bytes; i++) {
        text[n++] = field.text[i];
        if (field.n_bytes - i >= 4 && memcmp(field.text + i, "\\x5c", 4) == 0)
            i += 3;
    }
    return hs_strtab_add_n(&p->tables->strings, text, n, ret, p->err);
}

/* ---- lines. Each sets *ret_good when it is one, and then adds what it says. */

static void parse_leave(struct parse *p)
{
    p->children = p->cases = p->witnesses = NULL;
    p->may_have_children = false;
}

static hs_status line_type(struct parse *p, bool *ret_good)
{
    static const char *const kinds[] = {"unknown", "abstract", "leaf", "block"};
    struct hs_stables *t = p->tables;
    struct hs_stype_entry type = {.inner = HS_STYPE_NONE, .alias = HS_STYPE_NONE};

    if (p->n_fields != 4 || t->n_types == HS_STYPES_MAX ||
        !parse_word(p->fields[1], kinds, sizeof kinds / sizeof *kinds, &type.kind))
        return HS_OK;
    *ret_good = true;
    parse_leave(p);
    HS_TRY(parse_text(p, p->fields[2], &type.head));
    HS_TRY(parse_text(p, p->fields[3], &type.display));
    HS_TRY(HS_GROW(&t->types, &t->types_capacity, t->n_types + 1, p->err));
    t->types[t->n_types++] = type;
    return HS_OK;
}

static hs_status line_inner(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    *ret_good = p->n_fields == 2 && t->n_types != 0 &&
                parse_type_or_none(p->fields[1], &t->types[t->n_types - 1].inner);
    if (*ret_good)
        t->types[t->n_types - 1].has_inner = true;
    return HS_OK;
}

static hs_status line_alias(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    *ret_good = p->n_fields == 2 && t->n_types != 0 &&
                parse_type(p->fields[1], &t->types[t->n_types - 1].alias);
    return HS_OK;
}

static bool parse_size(struct hs_text_field field, uint32_t *ret)
{
    *ret = HS_STYPE_ANY_SIZE;
    return field_is(field, "*") || hs_field_number(field, HS_STYPE_ANY_SIZE - 1, ret);
}

static hs_status line_row(struct parse *p, bool *ret_good)
{
    static const char *const kinds[] = {"leaf", "fields", "all", "ext", "hash"};
    struct hs_stables *t = p->tables;
    struct hs_srow row = {.number = (uint32_t)t->n_rows};
    uint32_t tag;

    if (p->n_fields != 6 || t->n_rows == HS_SROWS_MAX || !parse_type(p->fields[1], &row.type) ||
        !hs_field_number(p->fields[2], TAG_MAX, &tag) || !parse_size(p->fields[3], &row.size) ||
        !parse_word(p->fields[4], kinds, sizeof kinds / sizeof *kinds, &row.kind))
        return HS_OK;
    *ret_good = true;
    row.tag = (uint8_t)tag;
    HS_TRY(parse_text(p, p->fields[5], &row.constructor));
    HS_TRY(HS_GROW(&t->rows, &t->rows_capacity, t->n_rows + 1, p->err));
    row.children.first = (uint32_t)t->n_children;
    row.cases.first = (uint32_t)t->n_cases;
    row.witnesses.first = (uint32_t)t->n_witnesses;
    struct hs_srow *added = &t->rows[t->n_rows++];
    *added = row;
    p->children = &added->children;
    p->cases = row.kind == HS_SROW_HASH ? &added->cases : NULL;
    p->witnesses = &added->witnesses;
    p->may_have_children = true;
    return HS_OK;
}

static hs_status line_child(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    struct hs_schild child;

    if (p->n_fields != 3 || !p->may_have_children || t->n_children == HS_SCHILDREN_MAX ||
        !parse_type_or_none(p->fields[1], &child.type))
        return HS_OK;
    *ret_good = true;
    if (p->children == NULL)
        return HS_OK;
    HS_TRY(parse_text(p, p->fields[2], &child.label));
    HS_TRY(HS_GROW(&t->children, &t->children_capacity, t->n_children + 1, p->err));
    t->children[t->n_children++] = child;
    p->children->n++;
    return HS_OK;
}

static hs_status line_case(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    struct hs_scase one = {.number = (uint32_t)t->n_cases};

    if (p->n_fields != 4 || p->cases == NULL || t->n_cases == HS_SCHILDREN_MAX ||
        !parse_signed(p->fields[1], &one.hash) || !parse_type_or_none(p->fields[3], &one.type))
        return HS_OK;
    *ret_good = true;
    HS_TRY(parse_text(p, p->fields[2], &one.constructor));
    HS_TRY(HS_GROW(&t->cases, &t->cases_capacity, t->n_cases + 1, p->err));
    t->cases[t->n_cases++] = one;
    p->cases->n++;
    return HS_OK;
}

static hs_status line_witness(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    struct hs_switness one;

    if (p->n_fields != 4 || p->witnesses == NULL || t->n_witnesses == HS_SCHILDREN_MAX ||
        !hs_field_number(p->fields[1], UINT32_MAX, &one.field) ||
        !hs_field_number(p->fields[2], UINT32_MAX, &one.payload) ||
        !hs_field_number(p->fields[3], UINT32_MAX, &one.family))
        return HS_OK;
    *ret_good = true;
    HS_TRY(HS_GROW(&t->witnesses, &t->witnesses_capacity, t->n_witnesses + 1, p->err));
    t->witnesses[t->n_witnesses++] = one;
    p->witnesses->n++;
    return HS_OK;
}

static hs_status line_known(struct parse *p, bool *ret_good)
{
    static const char *const ways[] = {"value", "captured"};
    struct hs_stables *t = p->tables;
    struct hs_sknown one;
    uint8_t way;

    if (p->n_fields != 6 || t->n_known == HS_SROWS_MAX ||
        !hs_field_number(p->fields[1], UINT32_MAX, &one.family) ||
        !parse_type_or_none(p->fields[2], &one.type) ||
        !hs_field_number(p->fields[4], UINT32_MAX, &one.slot) ||
        !parse_word(p->fields[5], ways, sizeof ways / sizeof *ways, &way))
        return HS_OK;
    *ret_good = true;
    one.is_captured = way == 1;
    HS_TRY(parse_text(p, p->fields[3], &one.unit));
    HS_TRY(HS_GROW(&t->known, &t->known_capacity, t->n_known + 1, p->err));
    t->known[t->n_known++] = one;
    return HS_OK;
}

static hs_status line_root(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    struct hs_sroot one;

    if (p->n_fields != 4 || t->n_roots == HS_SROWS_MAX ||
        !hs_field_number(p->fields[2], UINT32_MAX, &one.slot) ||
        !parse_type(p->fields[3], &one.type))
        return HS_OK;
    *ret_good = true;
    HS_TRY(parse_text(p, p->fields[1], &one.unit));
    HS_TRY(HS_GROW(&t->roots, &t->roots_capacity, t->n_roots + 1, p->err));
    t->roots[t->n_roots++] = one;
    return HS_OK;
}

static hs_status line_key(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    struct hs_sroot one = {.type = HS_STYPE_NONE};

    if (p->n_fields != 4 || t->n_keys == HS_SROWS_MAX ||
        !hs_field_number(p->fields[2], UINT32_MAX, &one.slot) ||
        !parse_type_or_none(p->fields[3], &one.type))
        return HS_OK;
    *ret_good = true;
    HS_TRY(parse_text(p, p->fields[1], &one.unit));
    HS_TRY(HS_GROW(&t->keys, &t->keys_capacity, t->n_keys + 1, p->err));
    t->keys[t->n_keys++] = one;
    return HS_OK;
}

static hs_status line_ext(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    struct hs_sext one = {.children = {.first = (uint32_t)t->n_children}};

    if (p->n_fields != 4 || t->n_exts == HS_SROWS_MAX ||
        !hs_field_number(p->fields[2], UINT32_MAX, &one.slot))
        return HS_OK;
    *ret_good = true;
    HS_TRY(parse_text(p, p->fields[1], &one.unit));
    HS_TRY(parse_text(p, p->fields[3], &one.constructor));
    HS_TRY(HS_GROW(&t->exts, &t->exts_capacity, t->n_exts + 1, p->err));
    t->exts[t->n_exts++] = one;
    parse_leave(p);
    p->children = &t->exts[t->n_exts - 1].children;
    p->may_have_children = true;
    return HS_OK;
}

static hs_status line_captured(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    struct hs_scaptured one = {.children = {.first = (uint32_t)t->n_children}};
    uint32_t n;

    if (p->n_fields != 4 || t->n_captured == HS_SROWS_MAX ||
        !hs_field_number(p->fields[3], UINT32_MAX, &n))
        return HS_OK;
    *ret_good = true;
    HS_TRY(parse_text(p, p->fields[1], &one.unit));
    HS_TRY(parse_text(p, p->fields[2], &one.function));
    HS_TRY(HS_GROW(&t->captured, &t->captured_capacity, t->n_captured + 1, p->err));
    t->captured[t->n_captured++] = one;
    parse_leave(p);
    p->children = &t->captured[t->n_captured - 1].children;
    p->may_have_children = true;
    return HS_OK;
}

static hs_status line_held(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    struct hs_sheld one = {.children = {.first = (uint32_t)t->n_children}};
    uint32_t n;

    if (p->n_fields != 6 || t->n_held == HS_SROWS_MAX ||
        !hs_field_number(p->fields[2], UINT32_MAX, &one.slot) ||
        !hs_field_number(p->fields[5], UINT32_MAX, &n))
        return HS_OK;
    *ret_good = true;
    HS_TRY(parse_text(p, p->fields[1], &one.holder));
    HS_TRY(parse_text(p, p->fields[3], &one.unit));
    HS_TRY(parse_text(p, p->fields[4], &one.function));
    HS_TRY(HS_GROW(&t->held, &t->held_capacity, t->n_held + 1, p->err));
    t->held[t->n_held++] = one;
    parse_leave(p);
    p->children = &t->held[t->n_held - 1].children;
    p->may_have_children = true;
    return HS_OK;
}

static hs_status line_scope(struct parse *p, bool *ret_good)
{
    struct hs_stables *t = p->tables;
    struct hs_sscope one = {.children = {.first = (uint32_t)t->n_children}};

    if (p->n_fields != 5 || t->n_scopes == HS_SROWS_MAX ||
        !hs_field_number(p->fields[2], UINT32_MAX, &one.line) ||
        !hs_field_number(p->fields[3], UINT32_MAX, &one.first_char) ||
        !hs_field_number(p->fields[4], UINT32_MAX, &one.last_char))
        return HS_OK;
    *ret_good = true;
    HS_TRY(parse_text(p, p->fields[1], &one.file));
    HS_TRY(HS_GROW(&t->scopes, &t->scopes_capacity, t->n_scopes + 1, p->err));
    t->scopes[t->n_scopes++] = one;
    parse_leave(p);
    p->children = &t->scopes[t->n_scopes - 1].children;
    p->may_have_children = true;
    return HS_OK;
}

static hs_status line_unit(struct parse *p, bool *ret_good)
{
    static const char *const states[] = {"typed", "no_cmt", "stale", "no_file"};
    struct hs_stables *t = p->tables;
    hs_str unit;
    uint8_t state;

    if (p->n_fields != 4 ||
        !parse_word(p->fields[2], states, sizeof states / sizeof *states, &state))
        return HS_OK;
    *ret_good = true;
    uint64_t n_lacking = t->n_units[1] + t->n_units[2] + t->n_units[3];
    t->n_units[state]++;
    if (state == HS_SUNIT_TYPED || n_lacking >= sizeof t->missing / sizeof *t->missing)
        return HS_OK;
    HS_TRY(parse_text(p, p->fields[1], &unit));
    t->missing[n_lacking] = unit;
    return HS_OK;
}

static hs_status parse_line(struct parse *p, const char *line, size_t n_bytes, bool *ret_good)
{
    static const struct {
        const char *verb;
        hs_status (*add)(struct parse *p, bool *ret_good);
    } lines[] = {
        {"type", line_type},       {"inner", line_inner},       {"alias", line_alias},
        {"row", line_row},         {"child", line_child},       {"case", line_case},
        {"witness", line_witness}, {"known", line_known},       {"root", line_root},
        {"ext", line_ext},         {"captured", line_captured}, {"scope", line_scope},
        {"held", line_held},       {"key", line_key},           {"unit", line_unit},
    };

    *ret_good = false;
    if (!hs_fields_split(line, n_bytes, p->fields, &p->n_fields))
        return HS_OK;
    for (size_t i = 0; i < p->n_fields; i++)
        if (!hs_field_is_clean(p->fields[i]))
            return HS_OK;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (field_is(p->fields[0], lines[i].verb))
            return lines[i].add(p, ret_good);
    return HS_OK;
}

static void parse_comment(struct parse *p, const char *line, size_t n_bytes)
{
    static const char compiler[] = "#compiler ", end[] = "#end ", stopped[] = "#stopped ";
    struct hs_stables *t = p->tables;

    if (n_bytes >= strlen(end) && memcmp(line, end, strlen(end)) == 0)
        t->is_whole = true;
    if (n_bytes > strlen(stopped) && memcmp(line, stopped, strlen(stopped)) == 0)
        hs_field_word(line + strlen(stopped), n_bytes - strlen(stopped), t->stopped,
                      sizeof t->stopped);
    if (n_bytes > strlen(compiler) && memcmp(line, compiler, strlen(compiler)) == 0)
        hs_field_word(line + strlen(compiler), n_bytes - strlen(compiler), t->compiler,
                      sizeof t->compiler);
}

static hs_status parse_all(struct parse *p, const char *text, size_t n_bytes)
{
    const char *end = n_bytes != 0 ? text + n_bytes : text;

    for (uint64_t number = 1; text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((stop != NULL ? stop : end) - text);
        bool good = number != 1 || field_is((struct hs_text_field){text, n}, header_line);
        if (n > 0 && text[0] == '#')
            parse_comment(p, text, n);
        else if (n > 0 && good)
            HS_TRY(parse_line(p, text, n, &good));
        if (!good)
            return hs_fail(p->err, HS_FORMAT, "line %llu of the answer is none",
                           (unsigned long long)number);
        text += n + 1;
    }
    return HS_OK;
}

/* ---- order */

static int by_fit(const void *a, const void *b)
{
    const struct hs_srow *x = a, *y = b;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->tag != y->tag)
        return x->tag < y->tag ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int by_slot(const void *a, const void *b)
{
    const struct hs_sroot *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* Orders equal ones as they came: children are numbered on, and one that has none begins where the
 * next one does, so it goes first. */
static int by_children(const struct hs_spart *x, const struct hs_spart *y)
{
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return x->n < y->n ? -1 : x->n > y->n;
}

static int by_function(const void *a, const void *b)
{
    const struct hs_scaptured *x = a, *y = b;
    if (x->unit != y->unit)
        return x->unit < y->unit ? -1 : 1;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return by_children(&x->children, &y->children);
}

static int by_place(const void *a, const void *b)
{
    const struct hs_sscope *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->first_char != y->first_char)
        return x->first_char < y->first_char ? -1 : 1;
    if (x->last_char != y->last_char)
        return x->last_char < y->last_char ? -1 : 1;
    return by_children(&x->children, &y->children);
}

static int by_hash(const void *a, const void *b)
{
    const struct hs_scase *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Makes a reference to a type that never came say nothing. */
static void seal_references(struct hs_stables *t)
{
    for (size_t i = 0; i < t->n_types; i++)
        if (t->types[i].inner >= t->n_types)
            t->types[i].inner = HS_STYPE_NONE;
    for (size_t i = 0; i < t->n_children; i++)
        if (t->children[i].type >= t->n_types)
            t->children[i].type = HS_STYPE_NONE;
    for (size_t i = 0; i < t->n_cases; i++)
        if (t->cases[i].type >= t->n_types)
            t->cases[i].type = HS_STYPE_NONE;
    for (size_t i = 0; i < t->n_roots; i++)
        if (t->roots[i].type >= t->n_types)
            t->roots[i].type = HS_STYPE_NONE;
    for (size_t i = 0; i < t->n_keys; i++)
        if (t->keys[i].type >= t->n_types)
            t->keys[i].type = HS_STYPE_NONE;
    for (size_t i = 0; i < t->n_known; i++)
        if (t->known[i].type >= t->n_types)
            t->known[i].type = HS_STYPE_NONE;
}

/* Makes names of names those of what these are names of; those that go in circles are none. */
static void seal_aliases(struct hs_stables *t)
{
    for (size_t i = 0; i < t->n_types; i++) {
        hs_stype at = t->types[i].alias;
        unsigned depth = 0;
        while (at < t->n_types && t->types[at].alias < t->n_types && depth++ < ALIAS_DEPTH)
            at = t->types[at].alias;
        t->types[i].alias = at < t->n_types && depth <= ALIAS_DEPTH ? at : HS_STYPE_NONE;
    }
}

static void seal_type(struct hs_stables *t, struct hs_stype_entry *type)
{
    hs_str first = 0;
    bool has_first = false;

    for (uint32_t i = 0; i < type->n_rows; i++) {
        const struct hs_srow *row = &t->rows[type->first_row + i];
        if (row->kind != HS_SROW_FIELDS || row->constructor == 0)
            continue;
        type->has_constructors |= has_first && row->constructor != first;
        first = row->constructor;
        has_first = true;
    }
}

static void seal(struct hs_stables *t)
{
    size_t n = 0;

    seal_references(t);
    seal_aliases(t);
    if (t->n_rows > 1)
        qsort(t->rows, t->n_rows, sizeof *t->rows, by_fit);
    if (t->n_roots > 1)
        qsort(t->roots, t->n_roots, sizeof *t->roots, by_slot);
    if (t->n_keys > 1)
        qsort(t->keys, t->n_keys, sizeof *t->keys, by_slot);
    if (t->n_captured > 1)
        qsort(t->captured, t->n_captured, sizeof *t->captured, by_function);
    if (t->n_scopes > 1)
        qsort(t->scopes, t->n_scopes, sizeof *t->scopes, by_place);
    for (size_t i = 0; i < t->n_rows; i++)
        if (t->rows[i].cases.n > 1)
            qsort(t->cases + t->rows[i].cases.first, t->rows[i].cases.n, sizeof *t->cases, by_hash);
    for (; n < t->n_rows && t->rows[n].type < t->n_types; n++) {
        struct hs_stype_entry *type = &t->types[t->rows[n].type];
        if (type->n_rows++ == 0)
            type->first_row = (uint32_t)n;
    }
    t->n_rows = n;
    for (size_t i = 0; i < t->n_types; i++)
        seal_type(t, &t->types[i]);
}

hs_status hs_stables_parse(struct hs_stables *tables, const char *text, size_t n_bytes,
                           struct hs_error *err)
{
    struct hs_stables made = {0};
    struct parse p = {.tables = &made, .err = err};
    hs_status status = parse_all(&p, text, n_bytes);

    if (status != HS_OK) {
        hs_stables_fini(&made);
        return status;
    }
    seal(&made);
    *tables = made;
    return HS_OK;
}

/* ---- asking */

const struct hs_srow *hs_stables_row(const struct hs_stables *tables, hs_stype type, unsigned tag,
                                     uint64_t size)
{
    const struct hs_stype_entry *entry = &tables->types[type];
    uint32_t n = entry->n_rows;
    if (n == 0) /* there may be no rows at all */
        return NULL;
    const struct hs_srow *rows = &tables->rows[entry->first_row];
    /* The usual type has one row for each tag, from 0 on. */
    if (tag < n && rows[tag].tag == tag && rows[tag].size == size)
        return &rows[tag];
    uint64_t key = (uint64_t)tag << 32 | (size < HS_STYPE_ANY_SIZE ? size : HS_STYPE_ANY_SIZE);
    size_t at = HS_FIRST_NOT(i, 0, n, ((uint64_t)rows[i].tag << 32 | rows[i].size) < key);

    if (at == n || rows[at].tag != tag)
        return NULL;
    if (rows[at].size == size)
        return &rows[at];
    /* of any size: the last one of the tag */
    at = HS_FIRST_NOT(i, at, n,
                      ((uint64_t)rows[i].tag << 32 | rows[i].size) <
                          ((uint64_t)tag << 32 | HS_STYPE_ANY_SIZE));
    return at < n && rows[at].tag == tag ? &rows[at] : NULL;
}

const struct hs_srow *hs_stables_fit(const struct hs_stables *tables, hs_stype *type, unsigned tag,
                                     uint64_t size)
{
    hs_stype at = *type;

    for (unsigned i = 0; i < INNER_DEPTH; i++) {
        const struct hs_srow *row = hs_stables_row(tables, at, tag, size);
        if (row != NULL) {
            *type = at;
            return row;
        }
        if (!tables->types[at].has_inner)
            return NULL;
        at = tables->types[at].inner;
        if (hs_stype_is_open(tables, at)) {
            *type = at;
            return NULL;
        }
    }
    return NULL;
}

/* Returns the number of a text that the answer has; 0: it does not. */
static hs_str text_find(const struct hs_stables *tables, const char *text)
{
    uint32_t at = HS_TABLE_FIND(&tables->strings.by_text, hs_hash_bytes(text, strlen(text)), i,
                                strcmp(hs_strtab_get(&tables->strings, i + 1), text) == 0);
    return at == HS_NO_NUMBER ? 0 : at + 1;
}

hs_stype hs_stables_case(const struct hs_stables *tables, const struct hs_srow *row, int64_t hash)
{
    if (row->cases.n == 0) /* there may be no cases at all */
        return HS_STYPE_NONE;
    const struct hs_scase *cases = &tables->cases[row->cases.first];
    size_t at = HS_FIRST_NOT(i, 0, row->cases.n, cases[i].hash < hash);

    return at < row->cases.n && cases[at].hash == hash ? cases[at].type : HS_STYPE_NONE;
}

hs_stype hs_stables_root(const struct hs_stables *tables, const char *unit, uint32_t slot)
{
    const struct hs_sroot wanted = {.unit = text_find(tables, unit), .slot = slot};

    if (wanted.unit == 0)
        return HS_STYPE_NONE;
    size_t at = HS_FIRST_NOT(i, 0, tables->n_roots, by_slot(&tables->roots[i], &wanted) < 0);
    return at < tables->n_roots && by_slot(&tables->roots[at], &wanted) == 0
               ? tables->roots[at].type
               : HS_STYPE_NONE;
}

bool hs_stables_key(const struct hs_stables *tables, const char *unit, uint32_t slot, hs_stype *ret)
{
    const struct hs_sroot wanted = {.unit = text_find(tables, unit), .slot = slot};

    if (wanted.unit == 0)
        return false;
    size_t at = HS_FIRST_NOT(i, 0, tables->n_keys, by_slot(&tables->keys[i], &wanted) < 0);
    if (at == tables->n_keys || by_slot(&tables->keys[at], &wanted) != 0)
        return false;
    *ret = tables->keys[at].type;
    return true;
}

const struct hs_scaptured *hs_stables_captured(const struct hs_stables *tables, const char *unit,
                                               const char *function)
{
    const struct hs_scaptured wanted = {.unit = text_find(tables, unit),
                                        .function = text_find(tables, function)};

    if (wanted.unit == 0 || wanted.function == 0)
        return NULL;
    size_t at =
        HS_FIRST_NOT(i, 0, tables->n_captured, by_function(&tables->captured[i], &wanted) < 0);
    const struct hs_scaptured *found = &tables->captured[at];
    return at < tables->n_captured && found->unit == wanted.unit &&
                   found->function == wanted.function
               ? found
               : NULL;
}

const struct hs_sscope *hs_stables_scope(const struct hs_stables *tables, const char *file,
                                         uint32_t line, uint32_t first_char, uint32_t last_char)
{
    const struct hs_sscope wanted = {.file = text_find(tables, file),
                                     .line = line,
                                     .first_char = first_char,
                                     .last_char = last_char};

    if (wanted.file == 0)
        return NULL;
    size_t at = HS_FIRST_NOT(i, 0, tables->n_scopes, by_place(&tables->scopes[i], &wanted) < 0);
    const struct hs_sscope *found = &tables->scopes[at];
    return at < tables->n_scopes && found->file == wanted.file && found->line == line &&
                   found->first_char == first_char && found->last_char == last_char
               ? found
               : NULL;
}
