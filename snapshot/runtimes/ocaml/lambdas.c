#include "lambdas.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "frame_label.h"
#include "object_lines.h"
#include "symbols/demangle.h"

enum { NAME_BYTES = 512 };

void hs_lambdas_fini(struct hs_lambdas *lambdas)
{
    if (lambdas == NULL)
        return;
    hs_free(lambdas->all);
    *lambdas = (struct hs_lambdas){0};
}

static int compare_code(const void *left, const void *right)
{
    hs_addr a = ((const struct hs_lambda *)left)->code, b = ((const struct hs_lambda *)right)->code;
    return (a > b) - (a < b);
}

/* Lists a function that has no name and whose end is known. */
static hs_status add_function(const struct hs_ocaml *rt, hs_addr code, struct hs_lambdas *lambdas,
                              struct hs_error *err)
{
    struct hs_live_symbol symbol;
    char name[NAME_BYTES];

    if (!hs_objects_at(rt->objects, code, &symbol) || symbol.address != code || symbol.size == 0)
        return HS_OK;
    (void)hs_demangle(symbol.name, name, sizeof name);
    if (strstr(name, "(fun)") == NULL)
        return HS_OK;
    HS_TRY(HS_GROW(&lambdas->all, &lambdas->capacity, lambdas->n + 1, err));
    lambdas->all[lambdas->n++] = (struct hs_lambda){.code = code, .end = code + symbol.size};
    return HS_OK;
}

/* Finds the function that begins at or before an address. */
static struct hs_lambda *at_or_before(const struct hs_lambdas *lambdas, hs_addr address)
{
    size_t low = 0, high = lambdas->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (lambdas->all[middle].code <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? NULL : &lambdas->all[low - 1];
}

static const char *base_name(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash == NULL ? file : slash + 1;
}

static hs_status take_place(const struct hs_ocaml *rt, const struct hs_frame_entry *entry,
                            struct hs_lambda *lambda, struct hs_error *err)
{
    struct hs_frame_place place;
    char file[NAME_BYTES];

    if (!hs_frame_own_place(rt, entry, file, sizeof file, &place) ||
        (lambda->file != 0 && lambda->line <= place.line))
        return HS_OK;
    lambda->line = place.line;
    return hs_strtab_add(rt->strings, base_name(file), &lambda->file, err);
}

/* Tells whether a file is that of a function's unit: "Rope.Node.(fun)" and node.ml. Where a
 * function begins with code that was inlined, the line table has the place of that, in another
 * file. */
static bool is_file_of_unit(const char *file, const char *function)
{
    size_t n = strcspn(file, ".");

    for (const char *part = function; part != NULL; part = strchr(part, '.')) {
        part += *part == '.';
        if (strcspn(part, ".") == n && strncasecmp(part, file, n) == 0)
            return n != 0;
    }
    return false;
}

/* Takes the line that a function begins at from the line table of its binary, unless a call of it
 * is told to come before that. A method has no row where it begins, which is still the last one of
 * the function before it: then the row of its end counts, if that begins within. */
static hs_status take_line(const struct hs_ocaml *rt, struct hs_object_lines *all,
                           struct hs_lambda *lambda, struct hs_error *err)
{
    const struct hs_object *object = hs_objects_object_at(rt->objects, lambda->code);
    struct hs_lines *lines = object == NULL ? NULL : hs_object_lines_of(all, object);
    struct hs_live_symbol symbol;
    char name[NAME_BYTES];

    if (lines == NULL || !hs_objects_at(rt->objects, lambda->code, &symbol))
        return HS_OK;
    (void)hs_demangle(symbol.name, name, sizeof name);
    struct hs_source source = hs_lines_find_code(lines, lambda->code - object->bias);
    if (source.bytes_before != 0) {
        source = hs_lines_find_code(lines, lambda->end - object->bias - 1);
        if (source.bytes_before >= lambda->end - lambda->code)
            return HS_OK;
    }
    const char *file = base_name(source.file);
    if (source.line == 0 || !is_file_of_unit(file, name) ||
        (lambda->file != 0 && lambda->line <= source.line))
        return HS_OK;
    lambda->line = source.line;
    return hs_strtab_add(rt->strings, file, &lambda->file, err);
}

static hs_status take_lines(const struct hs_ocaml *rt, struct hs_lambdas *lambdas,
                            struct hs_error *err)
{
    struct hs_object_lines all;
    hs_status status = hs_object_lines_init(&all, rt->objects, err);

    if (status != HS_OK)
        return status;
    for (size_t i = 0; i < lambdas->n && status == HS_OK; i++)
        status = take_line(rt, &all, &lambdas->all[i], err);
    hs_object_lines_fini(&all);
    return status;
}

static hs_status find(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                      const struct hs_dict *functions, struct hs_lambdas *ret, struct hs_error *err)
{
    for (size_t i = 0; i < functions->n; i++)
        HS_TRY(add_function(rt, functions->entries[i].key, ret, err));
    if (ret->n == 0)
        return HS_OK;
    qsort(ret->all, ret->n, sizeof *ret->all, compare_code);
    for (size_t i = 0; frames != NULL && i < frames->n_entries; i++) {
        hs_addr address = frames->entries[i].return_address;
        struct hs_lambda *lambda = at_or_before(ret, address);
        if (lambda != NULL && address <= lambda->end)
            HS_TRY(take_place(rt, &frames->entries[i], lambda, err));
    }
    return take_lines(rt, ret, err);
}

hs_status hs_lambdas_find(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                          const struct hs_dict *functions, struct hs_lambdas *ret,
                          struct hs_error *err)
{
    struct hs_lambdas lambdas = {0};
    hs_status status = find(rt, frames, functions, &lambdas, err);
    if (status == HS_OK)
        *ret = lambdas;
    else
        hs_lambdas_fini(&lambdas);
    return status;
}

const struct hs_lambda *hs_lambda_at(const struct hs_lambdas *lambdas, hs_addr code)
{
    const struct hs_lambda *found = lambdas == NULL ? NULL : at_or_before(lambdas, code);
    return found != NULL && found->code == code && found->file != 0 ? found : NULL;
}
