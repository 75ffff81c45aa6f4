/* The table of source names. */
#include "ocaml/names.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "fields.h"
#include "private.h"

void hs_names_fini(struct hs_names *names)
{
    if (names == NULL)
        return;
    hs_strtab_fini(&names->strings);
    hs_free(names->entries);
    memset(names, 0, sizeof *names);
}

static bool names_is_unit(struct hs_text_field field)
{
    for (size_t i = 0; i < field.n_bytes; i++) {
        char c = field.text[i];
        bool good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    c == '_' || c == '\'';
        if (!good)
            return false;
    }
    return field.n_bytes != 0;
}

static hs_status names_add(struct hs_names *names, const struct hs_text_field *fields,
                           struct hs_name_entry *entry, struct hs_error *err)
{
    struct hs_strtab *strings = &names->strings;

    HS_TRY(hs_strtab_add_n(strings, fields[0].text, fields[0].n_bytes, &entry->unit, err));
    HS_TRY(hs_strtab_add_n(strings, fields[2].text, fields[2].n_bytes, &entry->name, err));
    HS_TRY(hs_strtab_add_n(strings, fields[3].text, fields[3].n_bytes, &entry->file, err));
    HS_TRY(HS_GROW(&names->entries, &names->capacity, names->n_entries + 1, err));
    entry->number = names->n_entries;
    names->entries[names->n_entries++] = *entry;
    return HS_OK;
}

/* Parses a line; *ret_good is false for one that is none. */
static hs_status names_parse_line(struct hs_names *names, const char *line, size_t n_bytes,
                                  bool *ret_good, struct hs_error *err)
{
    struct hs_text_field fields[HS_FIELDS_MAX];
    struct hs_name_entry entry = {0};
    size_t n;

    *ret_good = hs_fields_split(line, n_bytes, fields, &n) && n >= 5 && names_is_unit(fields[0]) &&
                hs_field_number(fields[1], UINT32_MAX, &entry.slot) && fields[2].n_bytes != 0 &&
                hs_field_is_clean(fields[2]) && hs_field_is_clean(fields[3]) &&
                (fields[4].n_bytes == 0 || hs_field_number(fields[4], UINT32_MAX, &entry.line));
    return *ret_good ? names_add(names, fields, &entry, err) : HS_OK;
}

/* Returns the count after " KEY=" in the helper's last line. */
static uint64_t names_count(const char *line, size_t n_bytes, const char *key)
{
    const char *found = memmem(line, n_bytes, key, strlen(key));
    uint64_t value = 0;

    if (found == NULL)
        return 0;
    for (const char *c = found + strlen(key); c < line + n_bytes && *c >= '0' && *c <= '9'; c++)
        if (value < UINT32_MAX)
            value = value * 10 + (uint64_t)(*c - '0');
    return value;
}

/* Reads examples of units, by their names alone: "#missing Wp Eva__Main". */
static void names_read_examples(char *ret, const char *line, size_t n, const char *word)
{
    size_t n_word = strlen(word), at = 0;

    if (n <= n_word || memcmp(line, word, n_word) != 0)
        return;
    for (size_t i = n_word; i < n;) {
        const char *space = memchr(line + i, ' ', n - i);
        size_t n_unit = (size_t)(space != NULL ? space - line : (ptrdiff_t)n) - i;
        const struct hs_text_field unit = {line + i, n_unit};
        if (!names_is_unit(unit) || at + n_unit + sizeof ", " > HS_NAMES_EXAMPLES_BYTES)
            break;
        at += (size_t)snprintf(ret + at, HS_NAMES_EXAMPLES_BYTES - at, "%s%.*s",
                               at == 0 ? "" : ", ", (int)n_unit, line + i);
        i += n_unit + 1;
    }
}

static void names_read_comment(struct hs_names *names, const char *line, size_t n)
{
    static const char compiler[] = "#compiler ";
    names_read_examples(names->partial, line, n, "#partial ");
    names_read_examples(names->stale, line, n, "#stale ");
    names_read_examples(names->missing, line, n, "#missing ");
    if (n > strlen(compiler) && memcmp(line, compiler, strlen(compiler)) == 0)
        hs_field_word(line + strlen(compiler), n - strlen(compiler), names->compiler,
                      sizeof names->compiler);
    if (n < 6 || memcmp(line, "#units", 6) != 0)
        return;
    names->n_units = names_count(line, n, " wanted=");
    names->n_named = names_count(line, n, " named=");
    names->n_partial = names_count(line, n, " partial=");
    names->n_stale = names_count(line, n, " stale=");
    names->n_missing = names_count(line, n, " missing=");
}

static int names_compare(const void *a, const void *b, void *context)
{
    const struct hs_strtab *strings = context;
    const struct hs_name_entry *x = a, *y = b;
    int order = x->unit == y->unit
                    ? 0
                    : strcmp(hs_strtab_get(strings, x->unit), hs_strtab_get(strings, y->unit));

    if (order != 0)
        return order;
    if (x->slot != y->slot)
        return x->slot < y->slot ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Sorts, and keeps the first of several lines for one slot. */
static void names_seal(struct hs_names *names)
{
    size_t n = 0;

    if (names->n_entries > 1)
        qsort_r(names->entries, names->n_entries, sizeof *names->entries, names_compare,
                &names->strings);
    for (size_t i = 0; i < names->n_entries; i++) {
        const struct hs_name_entry *e = &names->entries[i];
        if (n > 0 && names->entries[n - 1].unit == e->unit && names->entries[n - 1].slot == e->slot)
            continue;
        names->entries[n++] = *e;
    }
    names->n_entries = n;
}

static hs_status names_parse_all(struct hs_names *names, const char *text, size_t n_bytes,
                                 const char *what, struct hs_error *err)
{
    const char *end = n_bytes != 0 ? text + n_bytes : text; /* no text may be NULL */
    uint64_t number = 1;

    for (; text < end; number++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((stop != NULL ? stop : end) - text);
        bool good = true;
        if (n > 0 && text[0] == '#')
            names_read_comment(names, text, n);
        else if (n > 0)
            HS_TRY(names_parse_line(names, text, n, &good, err));
        if (!good) {
            (void)hs_fail(err, HS_FORMAT, "cannot use '%s': line %llu is not a line of names", what,
                          (unsigned long long)number);
            return hs_hint(err, "a line is: unit, slot, name, file, line, separated by tabs");
        }
        text += n + 1;
    }
    return HS_OK;
}

hs_status hs_names_parse(struct hs_names *names, const char *text, size_t n_bytes, const char *what,
                         struct hs_error *err)
{
    struct hs_names new = {0};
    hs_status status = names_parse_all(&new, text, n_bytes, what, err);

    if (status != HS_OK) {
        hs_names_fini(&new);
        return status;
    }
    names_seal(&new);
    *names = new;
    return HS_OK;
}

hs_status hs_names_load_file(const char *path, struct hs_names *ret, struct hs_error *err)
{
    struct hs_map map;

    HS_TRY(hs_map_open(path, &map, err));
    hs_status status = hs_names_parse(ret, (const char *)map.bytes, map.n_bytes, path, err);
    hs_map_close(&map);
    return status;
}

bool hs_names_find(const struct hs_names *names, const char *unit, uint32_t slot,
                   struct hs_name *ret)
{
    size_t low = 0, high = names->n_entries;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct hs_name_entry *e = &names->entries[middle];
        int order = strcmp(hs_strtab_get(&names->strings, e->unit), unit);
        if (order == 0 && e->slot == slot) {
            ret->name = hs_strtab_get(&names->strings, e->name);
            ret->file = hs_strtab_get(&names->strings, e->file);
            ret->line = e->line;
            return true;
        }
        if (order < 0 || (order == 0 && e->slot < slot))
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

/* Appends a count with examples: ", 5 none: no .cmi (Wp, Eva__Main, ...)". */
static size_t names_tell_some(char *text, size_t n_bytes, uint64_t n_units, const char *what,
                              const char *examples)
{
    if (n_units == 0)
        return 0;
    size_t n_told = examples[0] != '\0';
    for (const char *c = examples; *c != '\0'; c++)
        n_told += *c == ',';
    int n = snprintf(text, n_bytes, ", %llu %s%s%s%s%s", (unsigned long long)n_units, what,
                     n_told != 0 ? " (" : "", examples,
                     n_units > n_told && n_told != 0 ? ", ..." : "", n_told != 0 ? ")" : "");
    return n < 0 || (size_t)n >= n_bytes ? 0 : (size_t)n;
}

bool hs_names_tell(const struct hs_names *names, char *text, size_t n_bytes)
{
    text[0] = '\0';
    if (names->n_units == 0)
        return false;
    bool is_all = names->n_named == names->n_units;
    int head = snprintf(text, n_bytes, "names of variables: %llu of %llu OCaml units",
                        (unsigned long long)names->n_named, (unsigned long long)names->n_units);
    size_t n = head < 0 || (size_t)head >= n_bytes ? 0 : (size_t)head;
    n += names_tell_some(text + n, n_bytes - n, names->n_partial,
                         "only what the .cmi exports, for want of a .cmt", names->partial);
    n += names_tell_some(text + n, n_bytes - n, names->n_stale,
                         "without: only a .cmi of another build", names->stale);
    n += names_tell_some(text + n, n_bytes - n, names->n_missing, "without: no .cmi",
                         names->missing);
    if (!is_all)
        (void)snprintf(
            text + n, n_bytes - n,
            "; they come with -dev packages, or --names-path leads to where it was built");
    return true;
}

static size_t names_series_bytes(const char *version)
{
    size_t n = strspn(version, "0123456789");
    return version[n] == '.' ? n + 1 + strspn(version + n + 1, "0123456789") : n;
}

/* Notes that the helper is of another compiler than the program, whose files it cannot read. */
static void names_note_foreign(struct hs_names *names, const char *version)
{
    size_t n = names_series_bytes(version);
    bool is_of_it =
        n == names_series_bytes(names->compiler) && memcmp(version, names->compiler, n) == 0;
    if (n == 0 || names->compiler[0] == '\0' || is_of_it || names->note[0] != '\0' ||
        names->n_named + names->n_partial != 0)
        return;
    snprintf(names->note, sizeof names->note,
             "no source names: heapsnap-ocaml-names is of OCaml %s and cannot read files of %s; "
             "'heapsnap-ocaml-helper OCAMLOPT', with the ocamlopt of %.*s, builds what can",
             names->compiler, version, (int)n, version);
}

hs_status hs_names_take(struct hs_names *ret, const char *text, size_t n_bytes, const char *helper,
                        const struct hs_objects *objects, struct hs_error *err)
{
    char version[32] = "";

    (void)hs_names_version(objects, version, sizeof version);
    HS_TRY(hs_names_parse(ret, text, n_bytes, helper, err));
    names_note_foreign(ret, version);
    return HS_OK;
}

static hs_status names_ask(const struct hs_names_request *request, const struct hs_target *target,
                           const struct hs_objects *objects, const struct hs_buffer *question,
                           struct hs_buffer *answer, struct hs_names *ret, struct hs_error *err)
{
    char note[sizeof ret->note] = "", version[32] = "", helper[PATH_MAX];

    (void)hs_names_version(objects, version, sizeof version);
    hs_names_choose_helper(request->helper, version, helper, sizeof helper);
    struct hs_names_process process = {
        .program = helper,
        .what = "source names",
        .input = question->bytes,
        .n_input_bytes = question->n_bytes,
        .uid = target->uid,
        .gid = target->gid,
        .timeout_ns = request->timeout_ns != 0 ? request->timeout_ns : HS_NAMES_TIMEOUT_NS,
    };
    HS_TRY(hs_names_run(&process, answer, note, sizeof note, err));
    /* A line that was cut short is not one. */
    while (answer->n_bytes > 0 && answer->bytes[answer->n_bytes - 1] != '\n')
        answer->n_bytes--;
    HS_TRY(hs_names_parse(ret, (const char *)answer->bytes, answer->n_bytes, helper, err));
    memcpy(ret->note, note, sizeof note);
    names_note_foreign(ret, version);
    return HS_OK;
}

hs_status hs_names_run_written(const struct hs_names_request *request,
                               const struct hs_target *target, const struct hs_objects *objects,
                               const struct hs_buffer *question, struct hs_names *ret,
                               struct hs_error *err)
{
    struct hs_buffer answer = {0};
    hs_status status = names_ask(request, target, objects, question, &answer, ret, err);

    hs_buffer_fini(&answer);
    return status;
}

hs_status hs_names_run_helper(const struct hs_names_request *request,
                              const struct hs_target *target, const struct hs_objects *objects,
                              struct hs_names *ret, struct hs_error *err)
{
    struct hs_buffer question = {0};
    hs_status status = hs_names_write_request(request, target, objects, &question, err);

    if (status == HS_OK)
        status = hs_names_run_written(request, target, objects, &question, ret, err);
    hs_buffer_fini(&question);
    return status;
}
