/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
/* What is asked of function bodies, and what the answers, hostile as they may be, make of closures
 * and of slots of stacks. */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "ocaml/source_types/bodies.h"
#include "typed_heap.h"

static struct hs_error err;

#define HEAP(w) ((struct hs_sheap){&(w)->fake->rt, &(w)->map, &(w)->fake->roots, &(w)->marks})

/* Types 0 to 4; M.u differs from M.t in what its last field is. */
#define FOUR(n, last) \
    "row\t" n "\t0\t4\tfields\t-\nchild\t-\ta\nchild\t-\tb\nchild\t-\tc\nchild\t" last "\td\n"
static const char types[] =
    TYPES_HEAD "type\tblock\tlist\tint list\n"
               "row\t0\t0\t2\tfields\t::\nchild\t-\t0\nchild\t0\t1\n"
               "type\tblock\tM.t\tM.t\n" FOUR("1", "0") "type\tblock\tM.u\tM.u\n" FOUR(
                   "2", "3") "type\tleaf\tstring\tstring\nrow\t3\t252\t*\tleaf\t-\n"
                             "type\tunknown\t-\tunknown\n";

static hs_addr put_record(struct fake_heap *fake, hs_addr last)
{
    return fake_block(fake, 0, 4, (const uint64_t[]){1, 3, 5, last});
}

/* A slot in the frame of a call at m.ml:LINE, characters 4 to 9. */
static void put_slot_of(struct fake_heap *fake, hs_addr target, const char *file, uint32_t line)
{
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_STACK,
                                         .level = HS_LEVEL_LEAF,
                                         .field = HS_NO_FIELD,
                                         .line = line,
                                         .char_begin = 4,
                                         .char_end = 9},
                                .target = target};
    assert_int_equal(hs_strtab_add(&fake->strings, file, &leaf.root.file, &err), HS_OK);
    assert_int_equal(hs_strtab_add(&fake->strings, "camlM__f_12", &leaf.root.symbol, &err), HS_OK);
    assert_int_equal(hs_roots_add(&fake->roots.roots, &leaf, &err), HS_OK);
}

static void put_slot(struct fake_heap *fake, hs_addr target)
{
    put_slot_of(fake, target, "m.ml", 3);
}

static hs_addr put_closure(struct fake_heap *fake, hs_addr code, hs_addr first, hs_addr second)
{
    const uint64_t fields[] = {code, UINT64_C(1) << 56 | 5, first, second};
    return fake_block(fake, HS_TAG_CLOSURE, 4, fields);
}

#define HERE "scope\tm.ml\t3\t4\t9\n"

/* ---- slots */

/* Of the types in scope the only one that the block and what it leads to fit. */
static void a_slot_has_the_type_that_fits(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr list = put_list(fake, 2, 1), record = put_record(fake, list);
    put_slot(fake, record);
    world_make(&w, fake, types, HERE "child\t2\tx\nchild\t1\ty\nchild\t3\tz\n");
    assert_string_equal(type_at(&w, record), "M.t");
    assert_string_equal(type_at(&w, list), "int list");
    assert_int_equal(w.push.counts.n_probable_blocks, 3);
    assert_int_equal(w.push.counts.n_unlikely, 0);
    world_close(&w);
}

/* What answers make of a slot that holds a record of M.t. */
static void answers_of_slots(void **state)
{
    static const struct {
        const char *lines, *type;
    } cases[] = {
        {"", ""},
        {HERE, ""},
        {HERE "child\t-\tx\n", ""},
        {HERE "child\t4\tx\n", ""},
        {HERE "child\t1048575\tx\nchild\t1\ty\n", "M.t"}, /* of which nothing ever came */
        {HERE "child\t4\tx\nchild\t1\ty\nchild\t-\tz\n", "M.t"},
        {HERE "child\t1\tx\nchild\t1\tx\nchild\t1\tx\n", "M.t"},
        {HERE "child\t1\tx\n" HERE "child\t2\tx\n", "M.t"}, /* the first counts */
        {HERE "child\t2\tx\n" HERE "child\t1\tx\n", ""},
        {HERE HERE "child\t1\tx\n", ""},
        {HERE "child\t1\tx\n" HERE, "M.t"},
        {"scope\tm.ml\t3\t4\t8\nchild\t1\tx\n", ""},
        {"scope\tn.ml\t3\t4\t9\nchild\t1\tx\n", ""},
        {"scope\tm.ml\t4294967295\t4294967295\t4294967295\nchild\t1\tx\n", ""},
        /* two types that it can be of: neither */
        {"type\tblock\tM.v\tM.v\n" FOUR("5", "0") HERE "child\t1\tx\nchild\t5\ty\n", ""},
        /* two names of one type */
        {"type\tblock\tM.v\tM.v\nalias\t1\n" FOUR("5", "0") HERE "child\t5\tx\nchild\t1\ty\n",
         "M.t"},
        /* types that are their own insides */
        {"type\tblock\tM.v\tM.v\ninner\t5\n" HERE "child\t5\tx\nchild\t1\ty\n", "M.t"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_heap *fake = unit_heap();
        struct world w;
        hs_addr record = put_record(fake, put_list(fake, 2, 1));
        put_slot(fake, record);
        world_make(&w, fake, types, cases[i].lines);
        if (strcmp(type_at(&w, record), cases[i].type) != 0)
            fail_msg("answer %zu: '%s', not '%s'", i, type_at(&w, record), cases[i].type);
        world_close(&w);
    }
}

/* One small block fits many types by chance; three do not. */
static void a_slot_needs_more_than_chance(void **state)
{
    for (size_t n = 1; n <= 4; n++) {
        struct fake_heap *fake = unit_heap();
        struct world w;
        hs_addr list = put_list(fake, n, 1);
        put_slot(fake, list);
        world_make(&w, fake, types, HERE "child\t0\tx\n");
        assert_string_equal(type_at(&w, list), n < 3 ? "" : "int list");
        world_close(&w);
    }
}

/* A wrong guess meets what a variable of the module leads to, and says nothing of it. */
static void a_slot_yields_to_variables(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr record = put_record(fake, put_list(fake, 2, 1));
    put_unit(fake, (const uint64_t[]){record}, 1);
    put_slot(fake, record);
    world_make(&w, fake, types, "root\tM\t0\t1\n" HERE "child\t2\tx\n");
    assert_string_equal(type_at(&w, record), "M.t");
    assert_int_equal(w.push.counts.n_conflicts + w.push.counts.n_misfits, 0);
    assert_int_equal(w.push.counts.n_probable_blocks, 0);
    world_close(&w);
}

/* Many slots with a scope of many types, none of which fits: the trials come to an end, and what
 * was not tried has no type. */
static void trials_are_bounded(void **state)
{
    enum { SLOTS = 3000, IN_SCOPE = 10000, LINE_BYTES = 12 };
    struct fake_heap *fake = unit_heap();
    struct world w;
    char *lines = NULL;
    hs_addr list = put_list(fake, 2, 1), first = put_record(fake, list);
    hs_addr last = put_record(fake, list);
    assert_int_equal(HS_ALLOC(&lines, (size_t)(IN_SCOPE + 8) * LINE_BYTES, &err), HS_OK);
    size_t used = (size_t)snprintf(lines, 64, HERE);
    for (size_t i = 0; i < IN_SCOPE; i++)
        used += (size_t)snprintf(lines + used, LINE_BYTES, "child\t2\tx\n");
    snprintf(lines + used, LINE_BYTES, "child\t1\ty\n");
    for (size_t i = 0; i < SLOTS; i++)
        put_slot(fake, first);
    put_slot(fake, last);
    world_make(&w, fake, types, lines);
    assert_string_equal(type_at(&w, first), "M.t");
    assert_string_equal(type_at(&w, last), "");
    world_close(&w);
    hs_free(lines);
}

/* ---- closures */

/* What answers make of a closure of M.f that captured a list and a record. */
static void answers_of_closures(void **state)
{
#define F(n) "captured\tM\tf_12\t" n "\n"
    static const struct {
        const char *lines, *list, *record;
    } cases[] = {
        {F("2") "child\t0\tx\nchild\t1\ty\n", "int list", "M.t"},
        {F("2"), "", ""},
        {F("2") "child\t0\tx\n", "", ""},                               /* cut */
        {F("2") "child\t0\tx\nchild\t1\ty\nchild\t0\tz\n", "", ""},     /* too many */
        {F("4194304") "child\t0\tx\nchild\t1\ty\n", "int list", "M.t"}, /* its lines count */
        {F("0") "child\t-\tx\nchild\t1048575\ty\n", "", ""},
        {F("2") "child\t4\tx\nchild\t1\ty\n", "", "M.t"},
        {F("2") "child\t1\tx\nchild\t0\ty\n", "", ""}, /* what does not fit costs all */
        {F("2") "child\t0\tx\nchild\t3\ty\n", "", ""},
        {F("1") "child\t0\tx\n" F("2") "child\t0\tx\nchild\t1\ty\n", "int list", "M.t"},
        {F("2") F("2") "child\t0\tx\nchild\t1\ty\n", "int list", "M.t"},
        {F("2") "child\t1\tx\nchild\t0\ty\n" F("2") "child\t0\tx\nchild\t1\ty\n", "", ""},
        {"captured\tM\tg_13\t2\nchild\t0\tx\nchild\t1\ty\n", "", ""},
        {"captured\tNone\tf_12\t2\nchild\t0\tx\nchild\t1\ty\n", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fake_heap *fake = unit_heap();
        struct world w;
        hs_addr list = put_list(fake, 1, 1), record = put_record(fake, list);
        fake_root(fake, put_closure(fake, FAKE_CODE_F, list, record), false);
        world_make(&w, fake, types, cases[i].lines);
        if (cases[i].list[0] == '\0' && cases[i].record[0] != '\0') /* by the record's last field */
            assert_string_equal(type_at(&w, list), "int list");
        else if (strcmp(type_at(&w, list), cases[i].list) != 0)
            fail_msg("answer %zu: a list is '%s'", i, type_at(&w, list));
        if (strcmp(type_at(&w, record), cases[i].record) != 0)
            fail_msg("answer %zu: a record is '%s'", i, type_at(&w, record));
        assert_int_equal(w.push.counts.n_misfits, 0);
        world_close(&w);
    }
}

/* Where one closure of a function does not fit, nothing more is said of that function. */
static void a_function_that_misfits_is_dropped(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct world w;
    hs_addr list = put_list(fake, 1, 1), record = put_record(fake, list);
    hs_addr odd = fake_block(fake, 9, 1, (const uint64_t[]){1});
    fake_root(fake, put_closure(fake, FAKE_CODE_F, odd, odd), false);
    fake_root(fake, put_closure(fake, FAKE_CODE_F, list, record), false);
    fake_root(fake, put_closure(fake, FAKE_CODE_G, 1, record), false);
    world_make(&w, fake, types,
               F("2") "child\t0\tx\nchild\t2\ty\n"
                      "captured\tM\tg_13\t2\nchild\t0\tx\nchild\t1\ty\n");
    assert_string_equal(type_at(&w, record), "M.t"); /* by M.g */
    assert_string_equal(type_at(&w, odd), "");
    assert_int_equal(w.push.counts.n_misfits + w.push.counts.n_conflicts, 0);
    world_close(&w);
}

/* ---- questions */

static size_t count(const struct hs_buffer *text, const char *line)
{
    const uint8_t *at = text->bytes, *end = text->bytes + text->n_bytes;
    size_t n = 0;
    while (at < end && (at = memmem(at, (size_t)(end - at), line, strlen(line))) != NULL) {
        at += strlen(line);
        n++;
    }
    return n;
}

static void asks_what_the_heap_has(void **state)
{
    struct fake_heap *fake = unit_heap();
    struct hs_buffer text = {0};
    struct world w;
    hs_addr list = put_list(fake, 1, 1);
    fake_root(fake, put_closure(fake, FAKE_CODE_F, 1, 1), false);
    fake_root(fake, put_closure(fake, FAKE_CODE_F, 1, 3), false);
    fake_root(fake, put_closure(fake, FAKE_CODE_CURRY, 1, 1), false);
    fake_root(fake, put_closure(fake, FAKE_CODE_F + 4, 1, 1), false); /* no function begins there */
    (void)put_closure(fake, FAKE_CODE_G, 1, 1);                       /* dead */
    put_slot(fake, list);
    put_slot(fake, list);
    put_slot_of(fake, list, "m.ml\nlambda M fun_1 x.ml 1 2 3", 3);
    world_open(&w, fake, types, "");
    assert_int_equal(hs_sbodies_ask(&HEAP(&w), &text, &err), HS_OK);
    assert_int_equal(count(&text, "closure M f_12 *\n"), 1);
    assert_int_equal(count(&text, "frame m.ml 3 4 9\n"), 1);
    assert_int_equal(count(&text, "look M\n"), 1);
    assert_int_equal(count(&text, "\n"), 3);
    hs_buffer_fini(&text);
    world_close(&w);
}

static void asks_no_more_than_it_may(void **state)
{
    enum { CALLS = 5000, MOST = 4096 };
    struct fake_heap *fake = unit_heap();
    struct hs_buffer text = {0};
    struct world w;
    hs_addr list = put_list(fake, 1, 1);
    for (uint32_t i = 0; i < CALLS; i++)
        put_slot_of(fake, list, "m.ml", i + 1);
    world_open(&w, fake, types, "");
    assert_int_equal(hs_sbodies_ask(&HEAP(&w), &text, &err), HS_OK);
    assert_int_equal(count(&text, "frame m.ml "), MOST);
    hs_buffer_fini(&text);
    world_close(&w);
}

static hs_status bodies_use(struct world *w, struct hs_buffer *text)
{
    HS_TRY(hs_sbodies_ask(&HEAP(w), text, &err));
    return world_push(w, &err);
}

static void bodies_survive_failed_allocations(void **state)
{
    FAIL_EACH (f, .at_least = 8) {
        struct fake_heap *fake = unit_heap();
        struct hs_buffer text = {0};
        struct world w;
        hs_addr record = put_record(fake, put_list(fake, 2, 1));
        fake_root(fake, put_closure(fake, FAKE_CODE_F, 1, 1), false);
        put_slot(fake, record);
        world_open(&w, fake, types, HERE "child\t1\ty\n" F("2") "child\t0\tx\nchild\t1\ty\n");
        (void)FAIL_EACH_TRY(f, bodies_use(&w, &text));
        hs_buffer_fini(&text);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_has_the_type_that_fits),
        cmocka_unit_test(answers_of_slots),
        cmocka_unit_test(a_slot_needs_more_than_chance),
        cmocka_unit_test(a_slot_yields_to_variables),
        cmocka_unit_test(trials_are_bounded),
        cmocka_unit_test(answers_of_closures),
        cmocka_unit_test(a_function_that_misfits_is_dropped),
        cmocka_unit_test(asks_what_the_heap_has),
        cmocka_unit_test(asks_no_more_than_it_may),
        cmocka_unit_test(bodies_survive_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
