/* Names: which are kept, and where the rules need them.
 *
 * A node's name is text of the program for kinds that the program names in its source (classes,
 * functions) or that V8 names; for strings, numbers, symbols and patterns it is their contents and
 * is left out. */
#include <string.h>

#include "base/alloc.h"
#include "run.h"

static const struct {
    const char *prefix;
    uint8_t form;
    int8_t kept;
} kinds[V8_N_NODE_KINDS] = {
    [V8_HIDDEN] = {"hidden", HS_FORM_OTHER, 0},
    [V8_ARRAY] = {"array", HS_FORM_BLOCK, 1},
    [V8_STRING] = {"string", HS_FORM_STRING, -1},
    [V8_OBJECT] = {"object", HS_FORM_OBJECT, 2},
    [V8_CODE] = {"code", HS_FORM_OTHER, 3},
    [V8_CLOSURE] = {"closure", HS_FORM_CLOSURE, 4},
    [V8_REGEXP] = {"regexp", HS_FORM_OTHER, -1},
    [V8_NUMBER] = {"number", HS_FORM_FLOAT, -1},
    [V8_NATIVE] = {"native", HS_FORM_CUSTOM, 5},
    [V8_SYNTHETIC] = {"synthetic", HS_FORM_OTHER, 6},
    [V8_CONS_STRING] = {"concatenated string", HS_FORM_STRING, -1},
    [V8_SLICED_STRING] = {"sliced string", HS_FORM_STRING, -1},
    [V8_SYMBOL] = {"symbol", HS_FORM_OTHER, -1},
    [V8_BIGINT] = {"bigint", HS_FORM_OTHER, -1},
    [V8_SHAPE] = {"object shape", HS_FORM_OTHER, 7},
    [V8_OTHER_NODE] = {"other", HS_FORM_OTHER, -1},
};

int hs_v8_kept_kind(unsigned node_kind)
{
    return kinds[node_kind].kept;
}

/* First the types without a name, one for each kind; then the wanted ones in their order. */
uint32_t hs_v8_type(const struct v8_run *run, const struct v8_node *node)
{
    int kept = hs_v8_kept_kind(node->kind);
    if (kept < 0)
        return node->kind;
    uint64_t rank = hs_bitmap_rank(&run->wanted, node->name * V8_N_KEPT + (unsigned)kept);
    return (uint32_t)(V8_N_NODE_KINDS + rank);
}

/* The digits at *at as a number below 2^63; false when there are none. */
static bool take_number(const char **at, const char *end, uint64_t *ret)
{
    struct json_slice walk = {(const uint8_t *)*at, (const uint8_t *)end};
    if (*at == end || **at < '0' || **at > '9')
        return false;
    bool ok = true;
    *ret = hs_scan_number(&walk, &ok);
    *at = (const char *)walk.at;
    return ok;
}

static bool ends_with(const char *text, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - text) >= n && memcmp(end - n, word, n) == 0;
}

/* "N / part of key (X @K) -> value (Y @V) pair in WeakMap (table @T)", as DevTools takes it apart
 * (HeapSnapshot.ts, tryParseWeakMapEdgeName): T. The names X and Y may hold anything. */
static bool pair_parse(const char *text, size_t n, uint64_t *ret_table)
{
    static const char begin[] = " / part of key (", middle[] = ") -> value (";
    static const char before_table[] = ") pair in WeakMap (table @";
    const char *at = text, *end = text + n;
    uint64_t number;
    if (n < 64 || end[-1] != ')' || !take_number(&at, end, &number) ||
        (size_t)(end - at) < sizeof begin || memcmp(at, begin, sizeof begin - 1) != 0)
        return false;
    const char *digits = --end;
    while (digits > at && digits[-1] >= '0' && digits[-1] <= '9')
        digits--;
    if (!ends_with(at, digits, before_table) || !take_number(&digits, end, ret_table))
        return false;
    return memmem(at, (size_t)(end - at), middle, sizeof middle - 1) != NULL;
}

static hs_status pair_note(struct v8_run *run, uint64_t string, struct json_slice value,
                           struct hs_error *err)
{
    /* Such a name is plain text but for the names in it; its end is what matters. */
    uint64_t table;
    if (!pair_parse((const char *)value.at + 1, (size_t)(value.end - value.at) - 2, &table))
        return HS_OK;
    HS_TRY(maker_grow(run->maker, (void **)&run->pair_table, &run->pair_capacity, run->n_pairs + 1,
                      sizeof table, "pairs of WeakMaps", err));
    run->pair_table[run->n_pairs++] = table;
    hs_bitmap_set(&run->pairs, string);
    return HS_OK;
}

static void known_note(struct json_slice value, const char *name, uint64_t string, uint64_t *list,
                       size_t *n)
{
    if (*n < V8_MAX_KNOWN && hs_scan_is(value, name))
        list[(*n)++] = string;
}

static hs_status types_make(struct v8_run *run, uint64_t string, const char *text, size_t n,
                            struct hs_error *err)
{
    for (unsigned kept = 0; kept < V8_N_KEPT; kept++) {
        if (!hs_bitmap_get(&run->wanted, string * V8_N_KEPT + kept))
            continue;
        unsigned kind = 0;
        while (kinds[kind].kept != (int)kept)
            kind++;
        hs_str name;
        HS_TRY(maker_name(run->maker, kinds[kind].prefix, text, n, &name, err));
        HS_TRY(maker_type(run->maker, name, kinds[kind].form, err));
    }
    return HS_OK;
}

static bool is_wanted(const struct v8_run *run, uint64_t string)
{
    for (unsigned kept = 0; kept < V8_N_KEPT; kept++)
        if (hs_bitmap_get(&run->wanted, string * V8_N_KEPT + kept))
            return true;
    return false;
}

/* A name as source has it. */
static bool is_identifier(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool is_digit = c >= '0' && c <= '9';
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
        if (!is_letter && !(is_digit && i != 0))
            return false;
    }
    return n != 0 && n <= V8_LONGEST_PROPERTY;
}

/* The name of a property when it is one that is kept, else 0. */
static hs_status property_name(struct v8_run *run, const char *text, size_t n, hs_str *ret,
                               struct hs_error *err)
{
    *ret = 0;
    return is_identifier(text, n) ? maker_name(run->maker, "", text, n, ret, err) : HS_OK;
}

/* The numbers of labels and of names of properties that have been read. */
struct names_counts {
    uint64_t n_labels, n_properties;
};

static hs_status name_read(struct v8_run *run, uint64_t string, struct json_slice value,
                           struct names_counts *counts, struct hs_error *err)
{
    HS_TRY(pair_note(run, string, value, err));
    known_note(value, "(Document DOM trees)", string, run->dom_trees, &run->n_dom_trees);
    known_note(value, "system / ExternalStringData", string, run->external_data,
               &run->n_external_data);
    bool is_label = hs_bitmap_get(&run->labels, string);
    bool is_property = hs_bitmap_get(&run->properties, string);
    if (!is_label && !is_property && !is_wanted(run, string))
        return HS_OK;
    char text[2 * MAKER_NAME_BYTES];
    size_t n = hs_scan_text(value, text, sizeof text);
    if (is_label)
        HS_TRY(maker_name(run->maker, "", text, n, &run->label[counts->n_labels++], err));
    if (is_property)
        HS_TRY(property_name(run, text, n, &run->property_name[counts->n_properties++], err));
    return types_make(run, string, text, n, err);
}

static hs_status names_prepare(struct v8_run *run, struct hs_error *err)
{
    uint64_t n_labels, n_wanted, n_properties;
    HS_TRY(hs_v8_bitmap(run, run->file.n_strings, &run->pairs, err));
    HS_TRY(hs_bitmap_index(&run->properties, &n_properties, err));
    HS_TRY(hs_bitmap_index(&run->labels, &n_labels, err));
    HS_TRY(hs_bitmap_index(&run->wanted, &n_wanted, err));
    size_t capacity = 0, n_names = 0;
    HS_TRY(maker_grow(run->maker, (void **)&run->property_name, &n_names, (size_t)n_properties + 1,
                      sizeof *run->property_name, "names of properties", err));
    HS_TRY(maker_grow(run->maker, (void **)&run->label, &capacity, (size_t)n_labels + 1,
                      sizeof *run->label, "names of roots", err));
    for (unsigned kind = 0; kind < V8_N_NODE_KINDS; kind++) {
        hs_str name;
        HS_TRY(maker_name(run->maker, kinds[kind].prefix, "", 0, &name, err));
        HS_TRY(maker_type(run->maker, name, kinds[kind].form, err));
    }
    return HS_OK;
}

hs_status hs_v8_names_read(struct v8_run *run, struct hs_error *err)
{
    HS_TRY(names_prepare(run, err));
    struct json_slice walk = hs_scan_enter(run->file.strings), value;
    struct names_counts counts = {0};
    uint64_t n_pairs;
    for (uint64_t string = 0; hs_scan_next(&walk, NULL, &value); string++)
        HS_TRY(name_read(run, string, value, &counts, err));
    return hs_bitmap_index(&run->pairs, &n_pairs, err);
}
