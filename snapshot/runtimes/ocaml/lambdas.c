#include "lambdas.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "frame_label.h"
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

static hs_status take_place(const struct hs_ocaml *rt, const struct hs_frame_entry *entry,
                            struct hs_lambda *lambda, struct hs_error *err)
{
    struct hs_frame_place place;
    char file[NAME_BYTES];

    if (!hs_frame_own_place(rt, entry, file, sizeof file, &place) ||
        (lambda->file != 0 && lambda->line <= place.line))
        return HS_OK;
    const char *slash = strrchr(file, '/');
    lambda->line = place.line;
    return hs_strtab_add(rt->strings, slash == NULL ? file : slash + 1, &lambda->file, err);
}

static hs_status find(const struct hs_ocaml *rt, const struct hs_frame_table *frames,
                      const struct hs_dict *functions, struct hs_lambdas *ret, struct hs_error *err)
{
    for (size_t i = 0; i < functions->n; i++)
        HS_TRY(add_function(rt, functions->entries[i].key, ret, err));
    if (ret->n == 0 || frames == NULL)
        return HS_OK;
    qsort(ret->all, ret->n, sizeof *ret->all, compare_code);
    for (size_t i = 0; i < frames->n_entries; i++) {
        hs_addr address = frames->entries[i].return_address;
        struct hs_lambda *lambda = at_or_before(ret, address);
        if (lambda != NULL && address <= lambda->end)
            HS_TRY(take_place(rt, &frames->entries[i], lambda, err));
    }
    return HS_OK;
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
