/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
/* What blocks are called, and that no name ever comes from the heap. */
#include "unit.h"

#include "base/alloc.h"
#include "base/load.h"
#include "fail_each.h"
#include "fake_heap.h"
#include "ocaml/types.h"

struct typed {
    struct fake_heap *fake;
    struct hs_block_map map;
    struct hs_ocaml_types types;
};

static struct typed type_heap(struct fake_heap *fake)
{
    struct hs_error err = HS_ERROR_INIT;
    struct typed t = {.fake = fake, .types = {.rt = &fake->rt}};

    fake_heap_seal(fake);
    assert_int_equal(hs_block_map_build(&t.map, &fake->rt, &err), HS_OK);
    return t;
}

static const struct hs_type *type_of(struct typed *t, hs_addr address, enum hs_ephe_state ephemeron)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_block block;
    uint32_t type, again;

    assert_true(hs_map_resolve(&t->map, address, &block));
    uint64_t header = hs_block_head(&block);
    assert_int_equal(hs_ocaml_type(&t->types, &block, header, ephemeron, &type, &err), HS_OK);
    assert_int_equal(hs_ocaml_type(&t->types, &block, header, ephemeron, &again, &err), HS_OK);
    assert_int_equal(type, again);
    assert_true(type < t->types.n_types);
    return &t->types.types[type];
}

static const char *name_of(struct typed *t, hs_addr address)
{
    return hs_strtab_get(&t->fake->strings, type_of(t, address, HS_EPHE_NONE)->name);
}

static void release(struct typed *t)
{
    hs_ocaml_types_fini(&t->types);
    hs_block_map_fini(&t->map);
    fake_heap_free(t->fake);
}

static void names_shapes(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr one = fake_block(fake, 0, 1, NULL), sixteen = fake_block(fake, 3, 16, NULL);
    hs_addr many = fake_block(fake, 0, 17, NULL), more = fake_block(fake, 0, 500, NULL);
    hs_addr lazy = fake_block(fake, HS_TAG_LAZY, 1, NULL);
    hs_addr object = fake_block(fake, HS_TAG_OBJECT, 3, NULL);
    hs_addr forward = fake_block(fake, HS_TAG_FORWARD, 1, NULL);
    hs_addr abstract = fake_block(fake, HS_TAG_ABSTRACT, 3, NULL);
    hs_addr string = fake_block(fake, HS_TAG_STRING, 3, NULL);
    hs_addr number = fake_block(fake, HS_TAG_DOUBLE, 1, NULL);
    hs_addr numbers = fake_block(fake, HS_TAG_DOUBLE_ARRAY, 9, NULL);
    const uint64_t none[] = {1, FAKE_NONE, 1}, data[] = {1, 1, 1};
    hs_addr weak = fake_block(fake, HS_TAG_ABSTRACT, 3, none);
    hs_addr table = fake_block(fake, HS_TAG_ABSTRACT, 3, data);
    struct typed t = type_heap(fake);

    assert_string_equal(name_of(&t, one), "block tag 0, 1 field");
    assert_string_equal(name_of(&t, sixteen), "block tag 3, 16 fields");
    assert_string_equal(name_of(&t, many), "block tag 0, 17+ fields");
    assert_ptr_equal(type_of(&t, many, HS_EPHE_NONE), type_of(&t, more, HS_EPHE_NONE));
    assert_int_equal(type_of(&t, sixteen, HS_EPHE_NONE)->tag, 3);
    assert_int_equal(type_of(&t, sixteen, HS_EPHE_NONE)->form, HS_FORM_BLOCK);
    assert_string_equal(name_of(&t, lazy), "lazy");
    assert_string_equal(name_of(&t, object), "object");
    assert_string_equal(name_of(&t, forward), "forward");
    assert_string_equal(name_of(&t, abstract), "abstract");
    assert_string_equal(name_of(&t, string), "string");
    assert_string_equal(name_of(&t, number), "float");
    assert_string_equal(name_of(&t, numbers), "float array");
    assert_int_equal(type_of(&t, numbers, HS_EPHE_NONE)->form, HS_FORM_FLOAT_ARRAY);
    const struct {
        hs_addr address;
        enum hs_ephe_state state;
        const char *name;
    } weak_ones[] = {{weak, HS_EPHE_ALIVE, "weak array"},
                     {table, HS_EPHE_ALIVE, "ephemeron"},
                     {weak, HS_EPHE_EMPTY, "empty weak array"},
                     {table, HS_EPHE_EMPTY, "empty ephemeron"}};
    for (size_t i = 0; i < sizeof weak_ones / sizeof *weak_ones; i++) {
        const struct hs_type *type = type_of(&t, weak_ones[i].address, weak_ones[i].state);
        assert_string_equal(hs_strtab_get(&fake->strings, type->name), weak_ones[i].name);
        assert_int_equal(type->form, HS_FORM_WEAK);
    }
    assert_string_equal(name_of(&t, FAKE_ATOM_AT + HS_WORD), "block tag 0, 0 fields");
    release(&t);
}

static void names_closures_by_their_function(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    const uint64_t arity1 = UINT64_C(1) << 56 | 5, arity2 = UINT64_C(2) << 56 | 7;
    const uint64_t tuple = UINT64_C(254) << 56 | 7; /* arity -2 */
    const uint64_t f[] = {FAKE_CODE_F, arity1, 1};
    const uint64_t g[] = {FAKE_CODE_CURRY, arity2, FAKE_CODE_G, 1};
    const uint64_t tupled[] = {FAKE_CODE_CURRY, tuple, FAKE_CODE_F};
    const uint64_t partial[] = {FAKE_CODE_CURRY, arity1, 1, 1};
    const uint64_t twice[] = {FAKE_CODE_CURRY, arity2, FAKE_CODE_CURRY};
    const uint64_t inside[] = {FAKE_CODE_G + 4, arity1, 1};
    const uint64_t foreign[] = {0x1234, arity1, 1};
    const uint64_t huge[] = {UINT64_MAX, arity1, 1};
    const struct {
        const uint64_t *fields;
        size_t n;
        const char *name;
    } cases[] = {{f, 3, "closure M.f"},
                 {g, 4, "closure M.g"},
                 {tupled, 3, "closure M.f"},
                 {partial, 4, "closure (partial application)"},
                 {twice, 3, "closure (partial application)"},
                 {inside, 3, "closure M.g+4"},
                 {foreign, 3, "closure"},
                 {huge, 3, "closure"}};
    enum { N = sizeof cases / sizeof cases[0] };
    hs_addr blocks[N];
    for (size_t i = 0; i < N; i++)
        blocks[i] = fake_block(fake, HS_TAG_CLOSURE, cases[i].n, cases[i].fields);
    struct typed t = type_heap(fake);

    for (size_t i = 0; i < N; i++) {
        assert_string_equal(name_of(&t, blocks[i]), cases[i].name);
        assert_int_equal(type_of(&t, blocks[i], false)->form, HS_FORM_CLOSURE);
    }
    assert_ptr_equal(type_of(&t, blocks[0], false), type_of(&t, blocks[2], false));
    release(&t);
}

static void names_customs_from_files_only(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    uint64_t secret = hs_load_u64("SECRET!");
    hs_addr text = fake_block(fake, HS_TAG_STRING, 1, &secret);
    hs_addr static_text = fake_static(fake, HS_TAG_STRING, 1, &secret);
    hs_addr operations[4];
    const uint64_t identifiers[4] = {text, FAKE_OBJECT_AT + 0x2006, FAKE_OBJECT_AT + 0x3f00, 0};
    for (unsigned i = 0; i < 4; i++)
        operations[i] = fake_static(fake, HS_TAG_ABSTRACT, 1, &identifiers[i]);
    const uint64_t good[] = {FAKE_CUSTOM_OPS, 1};
    hs_addr custom = fake_block(fake, HS_TAG_CUSTOM, 2, good);
    hs_addr customs[4];
    for (unsigned i = 0; i < 4; i++)
        customs[i] = fake_block(fake, HS_TAG_CUSTOM, 1, &operations[i]);
    hs_addr on_heap = fake_block(fake, HS_TAG_CUSTOM, 1, &text);
    const uint64_t integer[] = {1};
    hs_addr odd = fake_block(fake, HS_TAG_CUSTOM, 1, integer);
    (void)static_text;
    struct typed t = type_heap(fake);

    assert_string_equal(name_of(&t, custom), "custom _fake");
    assert_string_equal(name_of(&t, customs[0]), "custom");        /* the text lies on the heap */
    assert_string_equal(name_of(&t, customs[1]), "custom _?[31m"); /* an escape sequence */
    assert_string_equal(name_of(&t, customs[2]), "custom");
    assert_string_equal(name_of(&t, customs[3]), "custom");
    assert_string_equal(name_of(&t, on_heap), "custom");
    assert_string_equal(name_of(&t, odd), "custom");
    for (hs_str id = 1; id <= fake->strings.n_strings; id++)
        assert_null(strstr(hs_strtab_get(&fake->strings, id), "SECRET"));
    release(&t);
}

/* Thousands of different code addresses, as a hostile heap may hold. */
static void keeps_many_closures_apart(void **state)
{
    struct fake_heap *fake = fake_heap_new();
    hs_addr first = 0;
    for (unsigned i = 0; i < 15000; i++) {
        const uint64_t fields[] = {UINT64_C(0x100000) + 16 * i, UINT64_C(1) << 56 | 5};
        hs_addr block = fake_block(fake, HS_TAG_CLOSURE, 2, fields);
        first = first == 0 ? block : first;
    }
    struct typed t = type_heap(fake);

    for (unsigned i = 0; i < 15000; i++)
        assert_string_equal(name_of(&t, first + 3 * HS_WORD * i), "closure");
    assert_int_equal(t.types.n_types, 1);
    release(&t);
}

static void fails_cleanly_without_memory(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 2) {
        struct hs_error err = HS_ERROR_INIT;
        struct fake_heap *fake = fake_heap_new();
        const uint64_t g[] = {FAKE_CODE_CURRY, UINT64_C(2) << 56 | 7, FAKE_CODE_G, 1};
        hs_addr block = fake_block(fake, HS_TAG_CLOSURE, 4, g);
        struct typed t = type_heap(fake);
        struct hs_block at;
        uint32_t type;
        assert_true(hs_map_resolve(&t.map, block, &at));
        hs_status status = FAIL_EACH_TRY(
            each, hs_ocaml_type(&t.types, &at, hs_block_head(&at), HS_EPHE_NONE, &type, &err));
        if (status != HS_OK)
            assert_string_equal(name_of(&t, block), "closure M.g"); /* and works afterwards */
        release(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_shapes),
        cmocka_unit_test(names_closures_by_their_function),
        cmocka_unit_test(names_customs_from_files_only),
        cmocka_unit_test(keeps_many_closures_apart),
        cmocka_unit_test(fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
