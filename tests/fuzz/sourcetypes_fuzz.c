/* links: hs_ocaml hs_runtimes hs_process hs_base */
/* Any bytes as what heapsnap-ocaml-types answers; what was understood is asked and joined. */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "ocaml/source_types/joins.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_TEXT_BYTES = 1 << 16, MAX_JOINS = 64 };

static void check_part(const struct hs_spart *part, size_t n)
{
    assert(part->n == 0 || (part->first < n && part->n <= n - part->first));
}

static void check_type(const struct hs_stables *t, hs_stype type)
{
    assert(type < t->n_types || type >= HS_STYPE_FORGOTTEN);
}

static void check_rows(const struct hs_stables *t)
{
    for (size_t i = 0; i < t->n_rows; i++) {
        const struct hs_srow *row = &t->rows[i];
        assert(row->type < t->n_types);
        check_part(&row->children, t->n_children);
        check_part(&row->cases, t->n_cases);
        check_part(&row->witnesses, t->n_witnesses);
        const struct hs_srow *found = hs_stables_row(t, row->type, row->tag, row->size);
        assert(found != NULL && found->tag == row->tag && found->size == row->size);
    }
    for (size_t i = 0; i < t->n_children; i++)
        check_type(t, t->children[i].type);
    for (size_t i = 0; i < t->n_cases; i++)
        check_type(t, t->cases[i].type);
}

static void check_types(const struct hs_stables *t)
{
    for (size_t i = 0; i < t->n_types; i++) {
        hs_stype type = (hs_stype)i;
        check_type(t, t->types[i].inner);
        assert(hs_stype_proper(t, type) < t->n_types);
        assert(t->types[i].n_rows == 0 ||
               t->types[i].first_row + (size_t)t->types[i].n_rows <= t->n_rows);
        (void)hs_stables_fit(t, &type, (unsigned)(i % 256), i);
        check_type(t, type);
    }
    for (size_t i = 0; i < t->n_roots; i++) {
        check_type(t, t->roots[i].type);
        const char *unit = hs_strtab_get(&t->strings, t->roots[i].unit);
        if (unit[0] != '\0')
            (void)hs_stables_root(t, unit, t->roots[i].slot);
    }
    for (size_t i = 0; i < t->n_exts; i++)
        check_part(&t->exts[i].children, t->n_children);
}

/* The join is above both: joined again with either it stays. */
static void check_joins(struct hs_stables *t)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sjoins joins = {.tables = t, .most_types = t->n_types + 1000};
    size_t n = t->n_types;
    for (size_t i = 0; i < n && i < MAX_JOINS; i++) {
        hs_stype a = hs_stype_proper(t, (hs_stype)i), b = (hs_stype)((i * 7 + 1) % n), c, d;
        assert(hs_sjoin(&joins, a, b, &c, &err) == HS_OK);
        if (c == HS_STYPE_NONE)
            continue;
        assert(hs_sjoin(&joins, c, a, &d, &err) == HS_OK);
        assert(d == c || d == HS_STYPE_NONE || t->n_types >= joins.most_types ||
               hs_sjoin(&joins, d, c, &b, &err) == HS_OK);
    }
    hs_sjoins_fini(&joins);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_stables tables = {0};
    if (n_bytes > MAX_TEXT_BYTES)
        return 0;
    hs_status status = hs_stables_parse(&tables, (const char *)bytes, n_bytes, &err);
    assert(status == HS_OK || status == HS_FORMAT);
    if (status != HS_OK) {
        assert(tables.types == NULL && tables.n_types == 0);
        return 0;
    }
    check_rows(&tables);
    check_types(&tables);
    check_joins(&tables);
    check_rows(&tables);
    hs_stables_fini(&tables);
    return 0;
}
