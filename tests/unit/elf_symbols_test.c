/* links: hs_symbols hs_base */
#include "unit.h"

#include <unistd.h>

#include "elf_writer.h"
#include "symbols/elf.h"

static struct elf_writer w;

static struct hs_elf *open_sample(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    if (hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err) != HS_OK)
        fail_msg("%s", err.message);
    return elf;
}

static void sorts_and_flags(void **state)
{
    for (int as_dynsym = 0; as_dynsym < 2; as_dynsym++) {
        elf_writer_sample(&w);
        w.as_dynsym = as_dynsym != 0;
        elf_writer_finish(&w);
        hs_auto(hs_elf) *elf = open_sample();
        size_t n, n_tls;
        const struct hs_elf_symbol *s = hs_elf_symbols(elf, &n);
        const struct hs_elf_symbol *tls = hs_elf_tls_symbols(elf, &n_tls);
        assert_int_equal(hs_elf_has_symtab(elf), !as_dynsym);
        assert_int_equal(n, 4); /* malloc is not defined here */
        assert_string_equal(s[0].name, "main");
        assert_string_equal(s[1].name, "helper");
        assert_string_equal(s[2].name, "table");
        assert_string_equal(s[3].name, "camlStm");
        assert_true(s[0].is_global && !s[1].is_global);
        assert_int_equal(s[0].kind, HS_SYMBOL_CODE);
        assert_int_equal(s[2].kind, HS_SYMBOL_DATA);
        assert_int_equal(s[3].kind, HS_SYMBOL_LABEL);
        assert_int_equal(n_tls, 1);
        assert_string_equal(tls[0].name, "caml_state");
        assert_true(tls[0].vaddr == 8 && tls[0].kind == HS_SYMBOL_TLS);
        assert_ptr_equal(hs_elf_find(elf, "caml_state"), tls);
        assert_ptr_equal(hs_elf_find(elf, "camlStm"), &s[3]);
        assert_null(hs_elf_find(elf, "malloc"));
        assert_null(hs_elf_find(elf, ""));
        assert_null(hs_elf_find(elf, "mai"));
    }
}

static void prefers_symtab_then_dynsym(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    for (size_t i = 1; i <= w.n_sections; i++) /* a .symtab whose names are gone is none */
        if (elf_writer_section_header(&w, i)->sh_type == SHT_SYMTAB)
            elf_writer_section_header(&w, i)->sh_link = 0x7fffffff;
    hs_auto(hs_elf) *elf = open_sample();
    size_t n;
    hs_elf_symbols(elf, &n);
    assert_int_equal(n, 0);
    assert_false(hs_elf_has_symtab(elf));
}

static void leaves_out_bad_entries(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    elf_writer_symbol_entry(&w, 1)->st_name = UINT32_MAX; /* helper: name outside */
    elf_writer_symbol_entry(&w, 2)->st_size = UINT64_MAX; /* main: wraps, size unknown */
    elf_writer_symbol_entry(&w, 3)->st_name = 0;          /* table: no name */
    elf_writer_symbol_entry(&w, 4)->st_shndx = SHN_ABS;   /* camlStm: a number, no place */
    hs_auto(hs_elf) *elf = open_sample();
    size_t n;
    const struct hs_elf_symbol *s = hs_elf_symbols(elf, &n);
    assert_int_equal(n, 1);
    assert_string_equal(s[0].name, "main");
    assert_true(s[0].n_bytes == 0);
}

static void needs_terminated_names(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    size_t strings = w.n_sections - 1; /* .strtab */
    Elf64_Shdr *h = elf_writer_section_header(&w, strings);
    const char *names = (const char *)w.bytes + h->sh_offset;
    size_t end = 0;
    for (size_t i = 0; i + 6 < h->sh_size; i++)
        if (memcmp(names + i, "malloc", 6) == 0)
            end = i + 3;
    assert_true(end > 0);
    h->sh_size = end; /* cut inside "malloc": the names before it stay good */
    elf_writer_symbol_entry(&w, 6)->st_shndx = 2;
    hs_auto(hs_elf) *elf = open_sample();
    assert_non_null(hs_elf_find(elf, "main"));
    assert_null(hs_elf_find(elf, "mal"));
    assert_null(hs_elf_find(elf, "malloc"));
}

/* All names end with the last byte of a long table. */
static void leaves_out_endless_names(void **state)
{
    static char text[20000];
    memset(text, 'a', sizeof text - 1);
    elf_writer_sample(&w);
    size_t blob = elf_writer_section(&w, ".blob", SHT_PROGBITS, 0x9000, text, sizeof text);
    elf_writer_finish(&w);
    Elf64_Shdr *h = elf_writer_section_header(&w, w.n_sections - 1); /* .strtab */
    h->sh_offset = elf_writer_section_header(&w, blob)->sh_offset;
    h->sh_size = sizeof text;
    elf_writer_symbol_entry(&w, 1)->st_name = sizeof text - 100;
    hs_auto(hs_elf) *elf = open_sample();
    size_t n;
    const struct hs_elf_symbol *s = hs_elf_symbols(elf, &n);
    assert_int_equal(n, 1);
    assert_int_equal(strlen(s[0].name), 99);
}

static void prefers_the_global_of_one_name(void **state)
{
    elf_writer_init(&w);
    elf_writer_symbol(&w, "same", STT_FUNC, STB_LOCAL, 0x1000, 8, 1);
    elf_writer_symbol(&w, "same", STT_FUNC, STB_GLOBAL, 0x2000, 8, 1);
    elf_writer_symbol(&w, "same", STT_FUNC, STB_LOCAL, 0x3000, 8, 1);
    elf_writer_symbol(&w, "twice", STT_FUNC, STB_LOCAL, 0x5000, 8, 1);
    elf_writer_symbol(&w, "twice", STT_FUNC, STB_LOCAL, 0x4000, 8, 1);
    elf_writer_finish(&w);
    hs_auto(hs_elf) *elf = open_sample();
    assert_true(hs_elf_find(elf, "same")->vaddr == 0x2000);
    assert_true(hs_elf_find(elf, "twice")->vaddr == 0x4000);
}

static const char *at(const struct hs_elf *elf, hs_addr vaddr, uint64_t offset)
{
    uint64_t found = 77;
    const struct hs_elf_symbol *s = hs_elf_symbol_at(elf, vaddr, &found);
    if (s == NULL)
        return NULL;
    assert_true(found == offset);
    assert_ptr_equal(hs_elf_symbol_at(elf, vaddr, NULL), s);
    return s->name;
}

static void finds_by_address(void **state)
{
    elf_writer_init(&w);
    elf_writer_segment(&w, PT_LOAD, PF_R, 0x1000, 0x1000, 0);
    elf_writer_segment(&w, PT_LOAD, PF_R, 0x8000, 0x1000, 0);
    elf_writer_symbol(&w, "outer", STT_FUNC, STB_GLOBAL, 0x1000, 0x100, 1);
    elf_writer_symbol(&w, "inner", STT_FUNC, STB_LOCAL, 0x1010, 0x10, 1);
    elf_writer_symbol(&w, "alias", STT_FUNC, STB_LOCAL, 0x1000, 0x100, 1);
    elf_writer_symbol(&w, "label", STT_NOTYPE, STB_GLOBAL, 0x1000, 0, 1);
    elf_writer_symbol(&w, "open_end", STT_NOTYPE, STB_LOCAL, 0x1200, 0, 1);
    elf_writer_symbol(&w, "far", STT_OBJECT, STB_GLOBAL, 0x8100, 8, 1);
    elf_writer_finish(&w);
    hs_auto(hs_elf) *elf = open_sample();
    assert_string_equal(at(elf, 0x1000, 0), "outer"); /* sized and global before the others */
    assert_string_equal(at(elf, 0x1018, 8), "inner");
    assert_string_equal(at(elf, 0x1020, 0x20), "outer"); /* behind the inner one again */
    assert_null(at(elf, 0x1150, 0)); /* no label stretches over the end of what says its size */
    assert_string_equal(at(elf, 0x1300, 0x100), "open_end");
    assert_string_equal(at(elf, 0x8107, 7), "far");
    assert_null(at(elf, 0x8108, 0)); /* a label of another segment is no answer */
    assert_null(at(elf, 0x500, 0));
    assert_null(at(elf, UINT64_MAX, 0));
}

/* A stripped program: a few variables and functions have kept their names, what lies between has
 * not. */
static void no_name_stretches_over_an_end(void **state)
{
    elf_writer_init(&w);
    elf_writer_segment(&w, PT_LOAD, PF_R, 0x1000, 0x2000, 0);
    static const char zeros[0x200];
    size_t init = elf_writer_section(&w, ".init", SHT_PROGBITS, 0x1000, zeros, 0x20);
    size_t text = elf_writer_section(&w, ".text", SHT_PROGBITS, 0x1020, zeros, sizeof zeros);
    elf_writer_symbol(&w, "_init", STT_FUNC, STB_GLOBAL, 0x1000, 0, (uint16_t)init);
    elf_writer_symbol(&w, "start", STT_NOTYPE, STB_GLOBAL, 0x1040, 0, (uint16_t)text);
    elf_writer_symbol(&w, "caml_exe_name", STT_OBJECT, STB_GLOBAL, 0x1100, 8, (uint16_t)text);
    elf_writer_symbol(&w, "last", STT_NOTYPE, STB_GLOBAL, 0x1180, 0, (uint16_t)text);
    elf_writer_finish(&w);
    elf_writer_section_header(&w, init)->sh_flags = SHF_ALLOC;
    elf_writer_section_header(&w, text)->sh_flags = SHF_ALLOC;
    hs_auto(hs_elf) *elf = open_sample();
    assert_string_equal(at(elf, 0x1008, 8), "_init");
    assert_null(at(elf, 0x1028, 0)); /* another section */
    assert_string_equal(at(elf, 0x1050, 0x10), "start");
    assert_string_equal(at(elf, 0x1107, 7), "caml_exe_name");
    assert_null(at(elf, 0x1108, 0)); /* neither caml_exe_name+8 nor start+0xc8 */
    assert_string_equal(at(elf, 0x1190, 0x10), "last");
}

extern const char __ehdr_start[];
int elf_symbols_test_variable = 4;

static void knows_this_program(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &elf, &err), HS_OK);
    uint64_t bias = hs_elf_is_dyn(elf) ? (uint64_t)(uintptr_t)__ehdr_start : 0, offset;
    const struct hs_elf_symbol *f =
        hs_elf_symbol_at(elf, (uint64_t)(uintptr_t)&finds_by_address + 1 - bias, &offset);
    assert_non_null(f);
    assert_string_equal(f->name, "finds_by_address");
    assert_int_equal(offset, 1);
    const struct hs_elf_symbol *v = hs_elf_find(elf, "elf_symbols_test_variable");
    assert_non_null(v);
    assert_true(v->vaddr + bias == (uint64_t)(uintptr_t)&elf_symbols_test_variable);
    assert_int_equal(v->n_bytes, sizeof(int));
    int in_file;
    memcpy(&in_file, hs_elf_bytes_at(elf, v->vaddr, sizeof(in_file)), sizeof(in_file));
    assert_int_equal(in_file, 4);
    size_t n;
    const struct hs_elf_symbol *s = hs_elf_symbols(elf, &n);
    for (size_t i = 1; i < n; i++)
        assert_true(s[i - 1].vaddr <= s[i].vaddr);
}

/* A distribution's stripped OCaml program: the names the capture stands on. */
static void knows_a_stripped_ocaml_program(void **state)
{
    static const char *const programs[] = {"/usr/bin/ocamlopt.opt", "/usr/bin/coqtop"};
    static const char *const names[] = {"caml_globals", "caml_frametable", "caml_data_segments",
                                        "caml_final_do_roots"};
    size_t n_seen = 0;
    for (size_t i = 0; i < 2; i++) {
        struct hs_error err = HS_ERROR_INIT;
        hs_auto(hs_elf) *elf = NULL;
        if (access(programs[i], R_OK) != 0)
            continue;
        assert_int_equal(hs_elf_open_path(programs[i], &elf, &err), HS_OK);
        n_seen++;
        for (size_t j = 0; j < sizeof(names) / sizeof(names[0]); j++)
            assert_non_null(hs_elf_find(elf, names[j]));
    }
    if (n_seen == 0) {
        print_message("SKIPPED: no OCaml program is installed\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorts_and_flags),
        cmocka_unit_test(prefers_symtab_then_dynsym),
        cmocka_unit_test(leaves_out_bad_entries),
        cmocka_unit_test(needs_terminated_names),
        cmocka_unit_test(leaves_out_endless_names),
        cmocka_unit_test(prefers_the_global_of_one_name),
        cmocka_unit_test(finds_by_address),
        cmocka_unit_test(no_name_stretches_over_an_end),
        cmocka_unit_test(knows_this_program),
        cmocka_unit_test(knows_a_stripped_ocaml_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
