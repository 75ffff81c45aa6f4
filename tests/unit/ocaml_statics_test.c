/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* C statics of a stripped runtime, from made-up code: found in either order, and not believed when
 * the memory does not look like them. */
#include "unit.h"

#include "elf_writer.h"
#include "ocaml/roots.h"
#include "symbols/elf.h"

#define BIAS UINT64_C(0x560000000000)
#define TEXT UINT64_C(0x1000)
#define DATA UINT64_C(0x3000)

enum { DATA_WORDS = 128, CODE_BYTES = 512 };

/* Word numbers of the variables. */
enum { TO_DO = 6, LAST = 8, FIRST = 12, ENTRIES = 20, DYN = 30, CURRENT = 31, NAMED = 40 };

struct program {
    uint64_t data[DATA_WORDS];
    uint8_t code[CODE_BYTES];
    size_t n_code;
    struct elf_writer writer;
    struct hs_object object;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_target target;
    struct hs_mapping mapping;
    struct hs_ocaml rt;
    uint64_t begin[5]; /* of each function, by order of `functions` */
};

static const char *const functions[5] = {"caml_final_do_roots", "caml_memprof_do_roots",
                                         "caml_register_dyn_global", "caml_thread_self",
                                         "caml_named_value"};

/* An instruction with an operand relative to rip; `tail` are bytes after the displacement. */
static void emit(struct program *p, const char *opcode, size_t word, size_t tail)
{
    size_t n = strlen(opcode), end = p->n_code + n + 4 + tail;
    int32_t displacement = (int32_t)(DATA + word * HS_WORD - (TEXT + end));
    memcpy(p->code + p->n_code, opcode, n);
    memcpy(p->code + p->n_code + n, &displacement, 4);
    memset(p->code + p->n_code + n + 4, 0, tail);
    p->n_code = end;
}

static void ends(struct program *p)
{
    p->code[p->n_code++] = 0xc3;
}

#define LEA_RBP "\x48\x8d\x2d"
#define LEA_RAX "\x48\x8d\x05"
#define CMP_0 "\x48\x83\x3d" /* one byte of immediate follows */
#define MOV_R13 "\x4c\x8b\x2d"
#define MOV_RAX "\x48\x8b\x05"
#define STORE_RAX "\x48\x89\x05"

/* As gcc 12 compiled 4.13.1; `extra` puts a third candidate between. */
static void write_code(struct program *p, bool extra)
{
    p->begin[0] = p->n_code;
    emit(p, LEA_RBP, FIRST, 0);
    emit(p, CMP_0, FIRST + 2, 1);
    emit(p, CMP_0, LAST + 2, 1);
    emit(p, LEA_RBP, LAST, 0);
    if (extra) {
        emit(p, CMP_0, NAMED + 2, 1);
        emit(p, LEA_RBP, NAMED, 0);
    }
    emit(p, MOV_R13, TO_DO, 0);
    ends(p);
    p->begin[1] = p->n_code;
    emit(p, CMP_0, ENTRIES + 3, 1);
    emit(p, LEA_RBP, ENTRIES, 0);
    ends(p);
    p->begin[2] = p->n_code;
    emit(p, STORE_RAX, DYN, 0);
    ends(p);
    p->begin[3] = p->n_code;
    emit(p, MOV_RAX, CURRENT, 0);
    ends(p);
    p->begin[4] = p->n_code;
    emit(p, LEA_RAX, NAMED, 0);
    ends(p);
}

static void program_init(struct program *p, bool extra)
{
    memset(p, 0, sizeof *p);
    p->data[ENTRIES + 1] = 128; /* MIN_ENTRIES_GLOBAL_ALLOC_LEN */
    write_code(p, extra);
}

static void find(struct program *p, struct hs_ocaml_statics *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    struct elf_writer *w = &p->writer;
    elf_writer_init(w);
    w->as_dynsym = true;
    size_t text = elf_writer_section(w, ".text", SHT_PROGBITS, TEXT, p->code, sizeof p->code);
    size_t data = elf_writer_section(w, ".data", SHT_PROGBITS, DATA, p->data, sizeof p->data);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_X, TEXT, sizeof p->code, text);
    elf_writer_segment(w, PT_LOAD, PF_R | PF_W, DATA, sizeof p->data, data);
    for (size_t i = 0; i < 5; i++) {
        uint64_t end = i == 4 ? p->n_code : p->begin[i + 1];
        elf_writer_symbol(w, functions[i], STT_FUNC, STB_GLOBAL, TEXT + p->begin[i],
                          end - p->begin[i], (uint16_t)text);
    }
    elf_writer_finish(w);
    assert_int_equal(hs_elf_open_memory(w->bytes, w->n_bytes, "made", &p->object.elf, &err), HS_OK);
    p->object.bias = BIAS;
    p->object.begin = BIAS + TEXT;
    p->object.end = BIAS + DATA + sizeof p->data;
    p->object.is_executable = true;
    p->objects = (struct hs_objects){.objects = &p->object, .n = 1, .capacity = 1};
    p->mapping = (struct hs_mapping){
        .begin = BIAS, .end = BIAS + 0x10000, .readable = true, .writable = true};
    p->target.mappings = &p->mapping;
    p->target.n_mappings = 1;
    assert_int_equal(hs_image_add(&p->image, BIAS + DATA, p->data, sizeof p->data, &err), HS_OK);
    p->rt = (struct hs_ocaml){.image = &p->image, .objects = &p->objects, .target = &p->target};
    hs_ocaml_find_statics(&p->rt, ret);
}

static void program_fini(struct program *p)
{
    hs_image_fini(&p->image);
    hs_elf_close(p->object.elf);
}

static hs_addr at(size_t word)
{
    return BIAS + DATA + word * HS_WORD;
}

static void finds_them_all(void **state)
{
    static struct program p;
    struct hs_ocaml_statics s;
    program_init(&p, false);
    find(&p, &s);
    assert_int_equal(s.finalisable_first, at(FIRST));
    assert_int_equal(s.finalisable_last, at(LAST));
    assert_int_equal(s.to_do_hd, at(TO_DO));
    assert_int_equal(s.entries_global, at(ENTRIES));
    assert_int_equal(s.dyn_globals, at(DYN));
    assert_int_equal(s.curr_thread, at(CURRENT));
    assert_int_equal(s.named_values, at(NAMED));
    program_fini(&p);
}

/* Three candidates for two variables: better none than the wrong two. */
static void does_not_guess(void **state)
{
    static struct program p;
    struct hs_ocaml_statics s;
    program_init(&p, true);
    find(&p, &s);
    assert_int_equal(s.finalisable_first, 0);
    assert_int_equal(s.finalisable_last, 0);
    assert_int_equal(s.to_do_hd, 0);
    assert_int_equal(s.entries_global, at(ENTRIES));
    program_fini(&p);
}

static void does_not_believe_impossible_contents(void **state)
{
    static struct program p;
    struct hs_ocaml_statics s;
    program_init(&p, false);
    p.data[FIRST + 1] = 5; /* old > young */
    p.data[ENTRIES + 1] = 127;
    p.data[DYN] = 0x1000;        /* not mapped */
    p.data[CURRENT] = at(1) + 1; /* not aligned */
    p.data[NAMED + 12] = 8;
    find(&p, &s);
    assert_int_equal(s.finalisable_first, 0);
    assert_int_equal(s.entries_global, 0);
    assert_int_equal(s.dyn_globals, 0);
    assert_int_equal(s.curr_thread, 0);
    assert_int_equal(s.named_values, 0);
    program_fini(&p);
}

static void tables_in_use_are_believed(void **state)
{
    static struct program p;
    struct hs_ocaml_statics s;
    program_init(&p, false);
    p.data[FIRST] = at(100);
    p.data[FIRST + 1] = 3;
    p.data[FIRST + 2] = 4;
    p.data[FIRST + 3] = 30;
    p.data[ENTRIES] = at(100);
    p.data[ENTRIES + 2] = 256;
    p.data[ENTRIES + 3] = 200;
    find(&p, &s);
    assert_int_equal(s.finalisable_first, at(FIRST));
    assert_int_equal(s.entries_global, at(ENTRIES));
    program_fini(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_them_all),
        cmocka_unit_test(does_not_guess),
        cmocka_unit_test(does_not_believe_impossible_contents),
        cmocka_unit_test(tables_in_use_are_believed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
