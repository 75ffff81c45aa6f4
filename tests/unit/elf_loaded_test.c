/* links: hs_boxed hs_symbols */
/* Objects made of what is loaded of them, against their files. */
#include "unit.h"

#include <link.h>

#include "boxed/frames.h"
#include "symbols/elf_loaded.h"

static struct hs_error err;

static bool read_own(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    memcpy(ret, (const void *)(uintptr_t)at, n_bytes);
    return true;
}

static const struct hs_memory_reader own_memory = {read_own, NULL};

struct place {
    const char *name;
    char path[512];
    hs_addr begin, end;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *context)
{
    struct place *place = context;
    if (strstr(info->dlpi_name, place->name) == NULL)
        return 0;
    strncpy(place->path, info->dlpi_name, sizeof place->path - 1);
    place->begin = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *s = &info->dlpi_phdr[i];
        if (s->p_type != PT_LOAD)
            continue;
        hs_addr begin = (info->dlpi_addr + s->p_vaddr) & ~(hs_addr)4095;
        place->begin = begin < place->begin ? begin : place->begin;
        place->end = (info->dlpi_addr + s->p_vaddr + s->p_memsz + 4095) & ~(hs_addr)4095;
    }
    return 1;
}

static struct place place_of(const char *name)
{
    struct place place = {.name = name};
    assert_int_equal(dl_iterate_phdr(find_object, &place), 1);
    return place;
}

struct loaded {
    void *bytes;
    size_t n_bytes;
    struct hs_elf *elf;
};

static struct loaded take(const struct hs_memory_reader *memory, hs_addr begin, hs_addr end)
{
    struct loaded loaded = {0};
    if (hs_elf_read_loaded(memory, begin, end, &loaded.bytes, &loaded.n_bytes, &err) == HS_OK &&
        hs_elf_open_memory(loaded.bytes, loaded.n_bytes, "loaded", &loaded.elf, &err) != HS_OK)
        loaded.elf = NULL;
    return loaded;
}

static void drop(struct loaded *loaded)
{
    hs_elf_close(loaded->elf);
    hs_pages_free(loaded->bytes, loaded->n_bytes, 1);
}

static void expect_equal_code(struct hs_elf *file, struct hs_elf *loaded)
{
    struct hs_elf_section text;
    assert_true(hs_elf_section_named(file, ".text", &text));
    const uint8_t *expected = hs_elf_bytes_at(file, text.vaddr, text.n_bytes);
    const uint8_t *found = hs_elf_bytes_at(loaded, text.vaddr, text.n_bytes);
    assert_non_null(expected);
    assert_non_null(found);
    assert_memory_equal(found, expected, text.n_bytes);
}

static void expect_equal_segments(struct hs_elf *file, struct hs_elf *loaded)
{
    size_t n, n_found;
    const struct hs_elf_segment *expected = hs_elf_segments(file, &n);
    const struct hs_elf_segment *found = hs_elf_segments(loaded, &n_found);
    assert_int_equal(n_found, n);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(found[i].vaddr, expected[i].vaddr);
        assert_int_equal(found[i].n_memory_bytes, expected[i].n_memory_bytes);
        assert_int_equal(found[i].writable, expected[i].writable);
        if (expected[i].writable) /* not the file's any more: nobody may take them for it */
            assert_null(hs_elf_bytes_at(loaded, expected[i].vaddr, 1));
    }
}

/* Every symbol that the file exports is in the loaded one, at its place. */
static void expect_equal_symbols(struct hs_elf *file, struct hs_elf *loaded)
{
    static const char *const some[] = {"malloc", "free", "qsort", "environ", "errno"};
    size_t n;
    const struct hs_elf_symbol *symbols = hs_elf_symbols(loaded, &n);
    assert_true(n > 1000);
    for (size_t i = 0; i < n; i++) {
        uint64_t offset;
        const struct hs_elf_symbol *at = hs_elf_symbol_at(file, symbols[i].vaddr, &offset);
        assert_non_null(at);
        assert_int_equal(offset, 0);
    }
    for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
        const struct hs_elf_symbol *expected = hs_elf_find(file, some[i]);
        const struct hs_elf_symbol *found = hs_elf_find(loaded, some[i]);
        assert_int_equal(expected == NULL, found == NULL);
        if (expected != NULL)
            assert_int_equal(found->vaddr, expected->vaddr);
    }
    assert_non_null(hs_elf_find(loaded, "malloc"));
    if (!hs_elf_has_symtab(file)) {
        size_t n_expected;
        (void)hs_elf_symbols(file, &n_expected);
        assert_int_equal(n, n_expected);
    }
}

static void the_library_of_c(void **state)
{
    struct place place = place_of("/libc.so");
    struct hs_elf *file;
    struct hs_frame_tables *expected, *found;
    uint64_t bias, bias_found;
    assert_int_equal(hs_elf_open_path(place.path, &file, &err), HS_OK);
    struct loaded loaded = take(&own_memory, place.begin, place.end);
    if (loaded.elf == NULL)
        fail_msg("%s", err.message);
    assert_true(hs_elf_build_id(file)[0] != '\0');
    assert_string_equal(hs_elf_build_id(loaded.elf), hs_elf_build_id(file));
    assert_true(hs_elf_bias(file, place.begin, 0, &bias));
    assert_true(hs_elf_bias(loaded.elf, place.begin, 0, &bias_found));
    assert_int_equal(bias_found, bias);
    expect_equal_segments(file, loaded.elf);
    expect_equal_code(file, loaded.elf);
    expect_equal_symbols(file, loaded.elf);
    assert_int_equal(hs_frame_tables_open(file, &expected, &err), HS_OK);
    assert_int_equal(hs_frame_tables_open(loaded.elf, &found, &err), HS_OK);
    assert_int_equal(hs_frame_tables_n_functions(found), hs_frame_tables_n_functions(expected));
    hs_frame_tables_close(expected);
    hs_frame_tables_close(found);
    drop(&loaded);
    hs_elf_close(file);
}

/* A program that is not position-independent is loaded where it says; so is the kernel's vDSO,
 * whose dynamic section nobody has changed. */
static void the_vdso(void **state)
{
    struct place place = place_of("linux-vdso.so");
    struct loaded loaded = take(&own_memory, place.begin, place.end);
    if (loaded.elf == NULL)
        skip(); /* one whose only segment has no page of its own */
    assert_non_null(hs_elf_find(loaded.elf, "__vdso_clock_gettime"));
    drop(&loaded);
}

/* ---- damage */

struct window {
    hs_addr begin;
    const uint8_t *bytes;
    size_t n_bytes;
};

static bool read_window(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    const struct window *w = context;
    if (at < w->begin || at - w->begin > w->n_bytes || n_bytes > w->n_bytes - (at - w->begin))
        return false;
    memcpy(ret, w->bytes + (at - w->begin), n_bytes);
    return true;
}

/* Nothing but a clean refusal or an object of which all can be asked. */
static void ask_all(const struct window *window)
{
    const struct hs_memory_reader memory = {read_window, (void *)(uintptr_t)window};
    struct loaded loaded = take(&memory, window->begin, window->begin + window->n_bytes);
    struct hs_frame_tables *cfi;
    if (loaded.elf != NULL) {
        (void)hs_elf_find(loaded.elf, "clock_gettime");
        (void)hs_elf_symbol_at(loaded.elf, 0x800, NULL);
        if (hs_frame_tables_open(loaded.elf, &cfi, &err) == HS_OK)
            hs_frame_tables_close(cfi);
    }
    drop(&loaded);
}

static void damaged_ones(void **state)
{
    struct place place = place_of("linux-vdso.so");
    size_t n = place.end - place.begin;
    uint8_t *copy = malloc(n);
    struct window window = {place.begin, copy, n};
    unsigned seed = 1;
    assert_non_null(copy);
    for (unsigned turn = 0; turn < 3000; turn++) {
        memcpy(copy, (const void *)(uintptr_t)place.begin, n);
        for (unsigned i = 0; i < 1 + turn % 4; i++) {
            seed = seed * 1103515245 + 12345;
            /* mostly in the headers and tables at the front */
            size_t at = (seed >> 8) % (turn % 3 != 0 ? 1024 : n);
            copy[at] = turn % 2 ? (uint8_t)(seed >> 24) : 0xff;
        }
        ask_all(&window);
    }
    memcpy(copy, (const void *)(uintptr_t)place.begin, n);
    for (size_t cut = 0; cut < n; cut += cut < 1024 ? 8 : 512) {
        window.n_bytes = cut;
        ask_all(&window);
    }
    free(copy);
}

static void what_is_none(void **state)
{
    static const uint8_t zeros[4096];
    struct window window = {0x1000, zeros, sizeof zeros};
    const struct hs_memory_reader memory = {read_window, &window};
    void *bytes = NULL;
    size_t n;
    assert_int_equal(hs_elf_read_loaded(&memory, 0x1000, 0x2000, &bytes, &n, &err), HS_FORMAT);
    assert_int_equal(hs_elf_read_loaded(&memory, 0x5000, 0x6000, &bytes, &n, &err), HS_TARGET);
    assert_int_equal(hs_elf_read_loaded(&memory, 0x1000, 0x1000, &bytes, &n, &err), HS_FORMAT);
    assert_null(bytes);
}

static void out_of_memory(void **state)
{
    struct place place = place_of("/libc.so");
    void *bytes = NULL;
    size_t n;
    hs_alloc_fail_at(1, true);
    hs_status status = hs_elf_read_loaded(&own_memory, place.begin, place.end, &bytes, &n, &err);
    hs_alloc_fail_at(0, false);
    assert_int_equal(status, HS_LIMIT);
    assert_null(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_of_c), cmocka_unit_test(the_vdso),
        cmocka_unit_test(damaged_ones),     cmocka_unit_test(what_is_none),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
