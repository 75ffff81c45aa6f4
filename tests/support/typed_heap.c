/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
#include "typed_heap.h"

#include "unit.h"

#include "base/alloc.h"
#include "process/dump_plan.h"

static struct hs_error err;

hs_addr put_list(struct fake_heap *fake, size_t n, hs_addr element)
{
    hs_addr list = 1;
    while (n-- > 0)
        list = fake_block(fake, 0, 2, (const uint64_t[]){element, list});
    return list;
}

enum { UNIT_FIELDS = 12 };

struct fake_heap *unit_heap(void)
{
    struct fake_heap *fake = fake_heap_new();
    uint64_t fields[UNIT_FIELDS];
    for (size_t i = 0; i < UNIT_FIELDS; i++)
        fields[i] = 1;
    assert_int_equal(fake_static(fake, 0, UNIT_FIELDS, fields), FAKE_UNIT_AT);
    return fake;
}

void put_unit(struct fake_heap *fake, const uint64_t *fields, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct hs_root_leaf leaf = {
            .root = {.kind = HS_ROOT_GLOBAL, .level = HS_LEVEL_LEAF, .field = (uint32_t)i},
            .target = fields[i]};
        *fake_word(fake, FAKE_UNIT_AT + i * HS_WORD) = fields[i];
        assert_int_equal(hs_strtab_add(&fake->strings, "camlM", &leaf.root.symbol, &err), HS_OK);
        if ((fields[i] & 1) == 0)
            assert_int_equal(hs_roots_add(&fake->roots.roots, &leaf, &err), HS_OK);
    }
}

hs_status world_push(struct world *w, struct hs_error *error)
{
    struct hs_dump_plan plan = {0};
    w->push.tables = &w->tables;
    return hs_spush_run(&w->push, &w->fake->rt, &w->map, &w->fake->roots, &w->marks, &plan, error);
}

void world_open(struct world *w, struct fake_heap *fake, const char *first, const char *lines)
{
    size_t n_bytes = strlen(first) + strlen(lines);
    char *text = NULL;
    *w = (struct world){.fake = fake};
    assert_int_equal(HS_ALLOC(&text, n_bytes + 1, &err), HS_OK);
    snprintf(text, n_bytes + 1, "%s%s", first, lines);
    fake_heap_seal(fake);
    assert_int_equal(hs_stables_parse(&w->tables, text, n_bytes, &err), HS_OK);
    hs_free(text);
    assert_int_equal(hs_block_map_build(&w->map, &fake->rt, &err), HS_OK);
    assert_int_equal(hs_ocaml_mark(&fake->rt, &w->map, &fake->roots, &w->marks, &err), HS_OK);
    assert_int_equal(hs_block_map_index(&w->map, &err), HS_OK);
}

void world_make(struct world *w, struct fake_heap *fake, const char *first, const char *lines)
{
    world_open(w, fake, first, lines);
    assert_int_equal(world_push(w, &err), HS_OK);
}

void world_close(struct world *w)
{
    hs_spush_fini(&w->push);
    hs_stables_fini(&w->tables);
    hs_ocaml_marks_fini(&w->marks);
    hs_block_map_fini(&w->map);
    fake_heap_free(w->fake);
}

const char *type_at(const struct world *w, hs_addr address)
{
    hs_stype type = hs_spush_type(&w->push, hs_block_map_rank(&w->map, address));
    return type == HS_STYPE_NONE ? ""
                                 : hs_strtab_get(&w->tables.strings, w->tables.types[type].display);
}
