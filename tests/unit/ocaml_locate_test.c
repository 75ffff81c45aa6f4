/* links: hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
/* Finding the runtime in a made-up process: both layouts, refusals, damage. */
#include "unit.h"

#include "base/alloc.h"
#include "elf_writer.h"
#include "fail_each.h"
#include "ocaml/locate.h"
#include "symbols/elf.h"

#define BIAS UINT64_C(0x550000000000)
#define DATA_AT (BIAS + 0x3000)
#define STATE_AT UINT64_C(0x7e0000000000)
#define CHUNKS_AT UINT64_C(0x7f0000000000)

enum { PAGE = 512, DATA_WORDS = PAGE, CHUNK_PAGES = 4, N_CHUNKS = 3 };
enum { DATA_STATE, DATA_HEAP, DATA_NONE, DATA_ATOMS, DATA_SEGMENTS, CODE_SEGMENTS = 14, SYS = 20 };

/* One page of runtime variables, one of state, three chunks a page apart. */
struct process {
    uint64_t data[DATA_WORDS], state[PAGE];
    uint64_t heap[N_CHUNKS * CHUNK_PAGES * PAGE];
    struct elf_writer writer;
    struct hs_target target;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_strtab strings;
    struct hs_ocaml rt;
};

static const char *const native_symbols[] = {
    "Caml_state",      "caml_heap_start", "caml_ephe_none", "caml_atom_table",
    "caml_frametable", "caml_globals",    "caml_do_exit",   NULL};

static uint64_t vaddr_of(const char *symbol)
{
    static const struct {
        const char *name;
        unsigned word;
    } places[] = {{"Caml_state", DATA_STATE},
                  {"caml_heap_start", DATA_HEAP},
                  {"caml_ephe_none", DATA_NONE},
                  {"caml_atom_table", DATA_ATOMS},
                  {"caml_data_segments", DATA_SEGMENTS},
                  {"caml_code_segments", CODE_SEGMENTS},
                  {"camlStdlib__Sys", SYS + 1}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (strcmp(places[i].name, symbol) == 0)
            return 0x3000 + 8 * places[i].word;
    }
    return 0x3800;
}

static void add_symbols(struct elf_writer *w, const char *const *names, size_t section)
{
    for (; *names != NULL; names++)
        elf_writer_symbol(w, *names, STT_OBJECT, STB_GLOBAL, vaddr_of(*names), 8,
                          (uint16_t)section);
}

static hs_addr chunk_at(unsigned i)
{
    return CHUNKS_AT + ((uint64_t)i * CHUNK_PAGES + 1) * PAGE * 8;
}

static uint64_t *chunk_head(struct process *p, unsigned i, unsigned head_words)
{
    return &p->heap[((size_t)i * CHUNK_PAGES + 1) * PAGE - head_words];
}

static void fill_heap(struct process *p, unsigned head_words)
{
    for (unsigned i = 0; i < N_CHUNKS; i++) {
        uint64_t *head = chunk_head(p, i, head_words);
        head[0] = chunk_at(i) - 4096;
        head[2] = 2 * PAGE * 8;
        head[3] = i + 1 < N_CHUNKS ? chunk_at(i + 1) : 0;
    }
    p->data[DATA_HEAP] = chunk_at(0);
    p->state[42] = N_CHUNKS * 2 * PAGE;
    p->state[46] = N_CHUNKS;
}

static struct process *process_new(const char *const *symbols, const char *const *more)
{
    struct process *p = calloc(1, sizeof *p);
    struct hs_error err = HS_ERROR_INIT;

    assert_non_null(p);
    p->data[DATA_STATE] = STATE_AT;
    p->data[DATA_NONE] = DATA_AT + 0x700;
    p->data[DATA_SEGMENTS] = DATA_AT + 0x400;
    p->data[DATA_SEGMENTS + 1] = DATA_AT + 0x500;
    p->data[CODE_SEGMENTS] = BIAS + 0x3801;
    p->data[CODE_SEGMENTS + 1] = BIAS + 0x3900;
    p->state[1] = STATE_AT + 0x800; /* young_ptr */
    p->state[4] = p->state[6] = STATE_AT + 0x400;
    p->state[5] = p->state[7] = STATE_AT + 0xc00;
    p->rt = (struct hs_ocaml){.target = &p->target,
                              .image = &p->image,
                              .objects = &p->objects,
                              .strings = &p->strings,
                              .findings.strings = &p->strings};
    elf_writer_init(&p->writer);
    size_t data =
        elf_writer_section(&p->writer, ".data", SHT_PROGBITS, 0x3000, p->data, sizeof p->data);
    elf_writer_segment(&p->writer, PT_LOAD, PF_R | PF_W, 0x3000, sizeof p->data, data);
    add_symbols(&p->writer, symbols, data);
    add_symbols(&p->writer, more, data);
    elf_writer_finish(&p->writer);
    assert_int_equal(
        hs_elf_open_memory(p->writer.bytes, p->writer.n_bytes, "program", &p->object.elf, &err),
        HS_OK);
    p->object.bias = BIAS;
    p->object.begin = DATA_AT;
    p->object.end = DATA_AT + sizeof p->data;
    p->object.is_executable = true;
    p->object.name = (char *)"program";
    p->objects = (struct hs_objects){.objects = &p->object, .n = 1, .capacity = 1};
    return p;
}

static const char *const segment_symbols[] = {"caml_data_segments", "caml_code_segments", NULL};
static const char *const nothing[] = {NULL};

static hs_status locate(struct process *p, struct hs_error *err)
{
    assert_int_equal(hs_image_add(&p->image, DATA_AT, p->data, sizeof p->data, err), HS_OK);
    assert_int_equal(hs_image_add(&p->image, STATE_AT, p->state, sizeof p->state, err), HS_OK);
    assert_int_equal(hs_image_add(&p->image, CHUNKS_AT, p->heap, sizeof p->heap, err), HS_OK);
    return hs_ocaml_locate(&p->rt, err);
}

static void process_free(struct process *p)
{
    hs_ocaml_fini(&p->rt);
    hs_image_fini(&p->image);
    hs_strtab_fini(&p->strings);
    hs_elf_close(p->object.elf);
    free(p);
}

static bool all_proofs_hold(const struct process *p)
{
    for (size_t i = 0; i < p->rt.findings.n_proofs; i++) {
        if (!p->rt.findings.proofs[i].holds)
            return false;
    }
    return p->rt.findings.n_proofs != 0;
}

static bool has_gap(const struct process *p, const char *text)
{
    for (size_t i = 0; i < p->rt.findings.n_notes; i++) {
        if (p->rt.findings.notes[i].is_gap &&
            strstr(hs_strtab_get(&p->strings, p->rt.findings.notes[i].text), text) != NULL)
            return true;
    }
    return false;
}

static void finds_both_layouts(void **state)
{
    static const char *const of_4_14[] = {"caml_terminate_signals", "caml_data_segments",
                                          "caml_code_segments", NULL};
    for (unsigned head = 6; head <= 7; head++)
        for (unsigned says_14 = 0; says_14 < 2; says_14++) { /* the sum decides, not the symbol */
            struct hs_error err = HS_ERROR_INIT;
            struct process *p = process_new(native_symbols, says_14 ? of_4_14 : segment_symbols);
            fill_heap(p, head);
            hs_status status = locate(p, &err);
            assert_string_equal(err.message, "");
            assert_int_equal(status, HS_OK);
            assert_int_equal(p->rt.chunk_head_words, head);
            assert_string_equal(p->rt.version, head == 6 ? "4.13" : "4.14");
            assert_int_equal(p->rt.chunks.n, N_CHUNKS);
            for (unsigned i = 0; i < N_CHUNKS; i++) {
                assert_int_equal(p->rt.chunks.spans[i].begin, chunk_at(i));
                assert_int_equal(p->rt.chunks.spans[i].end, chunk_at(i) + 2 * PAGE * 8);
            }
            assert_int_equal(p->rt.statics.ranges[0].end, DATA_AT + 0x508); /* PR#5509 */
            assert_int_equal(p->rt.code.ranges[0].begin, BIAS + 0x3801);
            assert_int_equal(p->rt.young_ptr, STATE_AT + 0x800);
            assert_int_equal(p->rt.ephe_none, DATA_AT + 0x700);
            assert_true(all_proofs_hold(p));
            process_free(p);
        }
}

/* A block that finds no room has been taken off already when the runtime is called for it. */
static void takes_an_allocation_without_room(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct process *p = process_new(native_symbols, segment_symbols);

    fill_heap(p, 7);
    p->state[1] = STATE_AT + 0x400 - 257 * 8;
    assert_int_equal(locate(p, &err), HS_OK);
    process_free(p);
}

static void says_when_the_count_differs(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct process *p = process_new(native_symbols, segment_symbols);

    fill_heap(p, 6);
    p->state[42] += 1;
    assert_int_equal(locate(p, &err), HS_OK);
    assert_int_equal(p->rt.chunk_head_words, 6);
    assert_false(all_proofs_hold(p));
    assert_true(has_gap(p, "but the runtime counts 3073"));
    process_free(p);
}

static void refuses_a_damaged_list_of_chunks(void **state)
{
    const struct {
        unsigned chunk, word;
        uint64_t value;
    } damages[] = {{2, 3, CHUNKS_AT + PAGE * 8},                          /* back to the first */
                   {1, 3, CHUNKS_AT + (CHUNK_PAGES + 1) * PAGE * 8 + 64}, /* into itself */
                   {0, 2, UINT64_C(1) << 46},
                   {1, 2, 0},
                   {1, 2, 12},
                   {2, 3, UINT64_C(0x600000000000)}, /* ascending no more */
                   {2, 3, UINT64_C(0x7ffffff00001)},
                   {2, 3, UINT64_C(0x7fff00000000)}, /* nothing there */
                   {2, 3, UINT64_MAX - 7}};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct process *p = process_new(native_symbols, segment_symbols);
        fill_heap(p, 6);
        chunk_head(p, damages[i].chunk, 6)[damages[i].word] = damages[i].value;
        assert_int_equal(locate(p, &err), HS_TARGET);
        assert_non_null(strstr(err.message, "list of heap chunks of 'program' is damaged"));
        process_free(p);
    }
}

static void refuses_a_runtime_that_is_not_sane(void **state)
{
    const struct {
        bool in_data;
        unsigned word;
        uint64_t value;
        const char *message;
    } damages[] = {{true, DATA_STATE, 0, "has not started yet"},
                   {true, DATA_STATE, 9, "not sane"},
                   {true, DATA_STATE, UINT64_MAX - 7, "not sane"},
                   {true, DATA_STATE, UINT64_C(0x10000), "cannot be read"},
                   {false, 4, 0, "has not started yet"},
                   {false, 42, 0, "has not started yet"},
                   {false, 1, 0, "impossible bounds"},
                   {false, 1, STATE_AT + 0x400 - 258 * 8, "impossible bounds"},
                   {false, 1, STATE_AT + 0xc08, "impossible bounds"},
                   {false, 5, STATE_AT + 0x801, "impossible bounds"},
                   {false, 7, UINT64_MAX - 7, "impossible bounds"}};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct process *p = process_new(native_symbols, segment_symbols);
        fill_heap(p, 6);
        (damages[i].in_data ? p->data : p->state)[damages[i].word] = damages[i].value;
        assert_int_equal(locate(p, &err), HS_TARGET);
        assert_non_null(strstr(err.message, damages[i].message));
        process_free(p);
    }
}

static void leaves_out_damaged_segments(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct process *p = process_new(native_symbols, segment_symbols);

    fill_heap(p, 6);
    const uint64_t bad[] = {
        64, 128, DATA_AT + 0x600, DATA_AT + 0x500, DATA_AT + 0x601, DATA_AT + 0x700};
    memcpy(&p->data[DATA_SEGMENTS + 2], bad, sizeof bad);
    assert_int_equal(locate(p, &err), HS_OK);
    assert_int_equal(p->rt.statics.n, 1);
    assert_true(has_gap(p, "3 damaged entries in 'caml_data_segments'"));
    process_free(p);
}

static void state_version(struct process *p, const char *version)
{
    uint64_t *string = &p->data[SYS + 10];
    size_t n_words = strlen(version) / 8 + 1;

    p->data[SYS] = UINT64_C(4) << 10 | 3 << 8;
    p->data[SYS + 1] = 1;
    p->data[SYS + 2] = DATA_AT + 8; /* no string */
    p->data[SYS + 3] = DATA_AT + (SYS + 10) * 8;
    p->data[SYS + 9] = (uint64_t)n_words << 10 | 3 << 8 | HS_TAG_STRING;
    memcpy(string, version, strlen(version) + 1);
}

static void believes_the_stated_version(void **state)
{
    static const char *const with_sys[] = {"camlStdlib__Sys", "caml_data_segments",
                                           "caml_code_segments", NULL};
    static const struct {
        const char *version;
        hs_status status;
        const char *found;
    } cases[] = {{"4.13.1", HS_OK, "4.13.1"},
                 {"4.14.2+flambda", HS_OK, "4.14.2+flambda"},
                 {"4.12.0", HS_TARGET, "is an OCaml 4.12.0 program"},
                 {"not a version", HS_OK, "4.13"},
                 {"4.1\x1b[31m", HS_OK, "4.13"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct process *p = process_new(native_symbols, with_sys);
        fill_heap(p, 6);
        state_version(p, cases[i].version);
        assert_int_equal(locate(p, &err), cases[i].status);
        if (cases[i].status == HS_OK)
            assert_string_equal(p->rt.version, cases[i].found);
        else
            assert_non_null(strstr(err.message, cases[i].found));
        process_free(p);
    }
}

/* Each program that we do not support is told what it is, and what would do. */
static void refuses_by_name(void **state)
{
    static const struct {
        const char *symbols[6];
        const char *message;
    } cases[] = {
        {{"caml_start_code", "Caml_state"}, "an OCaml bytecode program of a version before 4.13"},
        {{"caml_interprete", "caml_minor_heaps_start"},
         "an OCaml 5 bytecode program or its interpreter"},
        {{"caml_frametable", "caml_globals", "caml_minor_heaps_start"}, "is an OCaml 5 program"},
        {{"caml_frametable", "caml_globals", "caml_heap_start"}, "4.09 or earlier"},
        {{"caml_frametable", "caml_globals", "Caml_state"}, "a version from 4.10 to 4.12"},
        {{"caml_alloc_shr"}, "has no OCaml modules"},
        {{"JNI_CreateJavaVM"}, "is a Java virtual machine"},
        {{"Py_Initialize"}, "is a Python interpreter"},
        {{"runtime.main"}, "is a Go program"},
        {{"rust_eh_personality"}, "is a Rust program"},
        {{"__gxx_personality_v0"}, "is a C++ program"},
        {{"main"}, "another language, perhaps C"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct process *p = process_new(cases[i].symbols, nothing);
        fill_heap(p, 6);
        assert_int_equal(locate(p, &err), HS_TARGET);
        if (strstr(err.message, cases[i].message) == NULL)
            fail_msg("'%s' lacks '%s'", err.message, cases[i].message);
        assert_non_null(strstr(err.message, "'program' is "));
        assert_non_null(strstr(err.hint, "OCaml 4.13 and 4.14"));
        process_free(p);
    }
}

static void names_the_old_version_that_a_program_states(void **state)
{
    static const char *const symbols[] = {"caml_frametable", "caml_globals", "Caml_state",
                                          "camlStdlib__Sys", NULL};
    struct hs_error err = HS_ERROR_INIT;
    struct process *p = process_new(symbols, nothing);

    fill_heap(p, 6);
    state_version(p, "4.11.2");
    assert_int_equal(locate(p, &err), HS_TARGET);
    assert_non_null(strstr(err.message, "an OCaml 4.11.2 program"));
    process_free(p);
}

static void fails_cleanly_without_memory(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 3) {
        struct hs_error err = HS_ERROR_INIT;
        struct process *p = process_new(native_symbols, segment_symbols);
        fill_heap(p, 6);
        assert_int_equal(hs_image_add(&p->image, DATA_AT, p->data, sizeof p->data, &err), HS_OK);
        assert_int_equal(hs_image_add(&p->image, STATE_AT, p->state, sizeof p->state, &err), HS_OK);
        assert_int_equal(hs_image_add(&p->image, CHUNKS_AT, p->heap, sizeof p->heap, &err), HS_OK);
        (void)FAIL_EACH_TRY(each, hs_ocaml_locate(&p->rt, &err));
        process_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_both_layouts),
        cmocka_unit_test(takes_an_allocation_without_room),
        cmocka_unit_test(says_when_the_count_differs),
        cmocka_unit_test(refuses_a_damaged_list_of_chunks),
        cmocka_unit_test(refuses_a_runtime_that_is_not_sane),
        cmocka_unit_test(leaves_out_damaged_segments),
        cmocka_unit_test(believes_the_stated_version),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(names_the_old_version_that_a_program_states),
        cmocka_unit_test(fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
