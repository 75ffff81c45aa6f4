/* links: hs_names hs_dump hs_format */
/* Names that come to a snapshot later: a small snapshot of a program that is compiled here, with
 * every allocation failing once, and with what a hostile snapshot may say of its binaries. */
#include "ctypes_fixture.h"

#include "base/file.h"
#include "fail_each.h"
#include "names/names.h"
#include "snapshot/reader.h"
#include "snapshot/writer.h"

#define BIAS ((hs_addr)0x100000)
#define HEAP ((hs_addr)0x7000000)

static const char source[] = "struct item { struct item *next; long number[5]; };\n"
                             "static struct item *volatile items;\n"
                             "int main(void) { return items != 0; }\n";

struct later {
    struct fixture f;
    hs_addr items; /* vaddr of the variable */
    char snap[96], named[96];
    const char *build_id; /* as the snapshot has it */
    hs_addr begin;        /* of the binary, as the snapshot has it */
};

static hs_str add(struct hs_strtab *strings, const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_str ret;
    assert_int_equal(hs_strtab_add(strings, text, &ret, &err), HS_OK);
    return ret;
}

/* Writes three blocks in a row, of which the first hangs on a word of .bss. */
static void write_snapshot(const struct later *l)
{
    enum { N_TREE = 5, N_BLOCKS = 3 };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_strtab strings = {0};
    struct hs_out out = {0};
    struct hs_snap_writer *writer;
    struct hs_snap_totals totals;
    struct hs_elf_section bss;
    char place[64];

    assert_true(hs_elf_section_named(l->f.elf, ".bss", &bss));
    snprintf(place, sizeof place, ".bss+0x%llx", (unsigned long long)(l->items - bss.vaddr));
    hs_str module = add(&strings, "program");
    struct hs_root tree[N_TREE] = {
        {.name = add(&strings, "all"), .target = HS_NO_NODE, .field = HS_NO_FIELD}};
    for (unsigned i = 1; i < N_TREE; i++)
        tree[i] = (struct hs_root){.parent = i - 1,
                                   .level = (uint8_t)(i < N_TREE - 1 ? i : HS_LEVEL_LEAF),
                                   .target = i < N_TREE - 1 ? HS_NO_NODE : N_TREE,
                                   .name = add(&strings, i < N_TREE - 1 ? "program" : place),
                                   .module = module,
                                   .field = HS_NO_FIELD,
                                   .certainty = HS_CONSERVATIVE};
    tree[N_TREE - 1].symbol = add(&strings, ".bss");
    tree[N_TREE - 1].address = l->items + BIAS;
    tree[N_TREE - 1].offset = l->items - bss.vaddr;
    const struct hs_binary binary = {.path = add(&strings, "/nowhere/program"),
                                     .build_id = add(&strings, l->build_id),
                                     .begin = l->begin};
    const struct hs_snap_facts facts = {.word_bytes = 8, .binaries = &binary, .n_binaries = 1};
    const struct hs_type type = {.name = add(&strings, "block of 56 bytes"), .form = HS_FORM_BYTES};
    assert_int_equal(hs_out_open_path(l->snap, &out, &err), HS_OK);
    assert_int_equal(
        hs_snap_writer_new(&out, &strings, &facts, tree, N_TREE, N_BLOCKS, &writer, &err), HS_OK);
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        struct hs_edge next = {.target = N_TREE + i + 1};
        const struct hs_block_record block = {.address = HEAP + i * 64, .words = 7};
        assert_int_equal(
            hs_snap_writer_block(writer, &block, &next, i + 1 < N_BLOCKS ? 1 : 0, &err), HS_OK);
    }
    const struct hs_snap_ending ending = {.types = &type, .n_types = 1};
    assert_int_equal(hs_snap_writer_finish(writer, &ending, &totals, &err), HS_OK);
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_snap_writer_free(writer);
    hs_out_close(&out);
    hs_strtab_fini(&strings);
}

static void later_init(struct later *l)
{
    struct hs_error err = HS_ERROR_INIT;
    char path[] = "/tmp/hs-names-XXXXXX.c";
    int fd = mkstemps(path, 2);

    assert_true(fd >= 0 && write(fd, source, sizeof source - 1) == (ssize_t)sizeof source - 1);
    close(fd);
    const char *const command[] = {"gcc", "-g", "-O0", "-Wl,--build-id", path};
    *l = (struct later){0};
    fixture_build(&l->f, command, sizeof command / sizeof *command);
    unlink(path);
    assert_int_equal(hs_elf_open_path(l->f.program, &l->f.elf, &err), HS_OK);
    l->items = hs_elf_find(l->f.elf, "items")->vaddr;
    l->build_id = hs_elf_build_id(l->f.elf);
    l->begin = BIAS;
    snprintf(l->snap, sizeof l->snap, "%s/a.snap", l->f.directory);
    snprintf(l->named, sizeof l->named, "%s/b.snap", l->f.directory);
}

static void later_fini(struct later *l)
{
    hs_elf_close(l->f.elf);
    unlink(l->snap);
    unlink(l->named);
    fixture_remove(&l->f);
}

static hs_status name_it(const struct later *l, struct hs_names_report *report,
                         struct hs_error *err)
{
    const char *directory = l->f.directory;
    const struct hs_names_options options = {
        .snapshot = l->snap, .debug_dirs = &directory, .n_debug_dirs = 1, .is_always = true};
    struct hs_out out = {0};
    hs_status status = hs_out_open_path(l->named, &out, err);

    if (status == HS_OK)
        status = hs_names_add(&options, &out, report, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    return status;
}

static void check_named(const struct later *l)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap;
    const struct hs_root *leaf = NULL;
    struct hs_chunk chunk = {0};

    assert_int_equal(hs_snap_open(l->named, 0, &snap, &err), HS_OK);
    assert_int_equal(hs_snap_check(snap, NULL, &err), HS_OK);
    for (uint64_t i = 0; i < hs_snap_totals(snap)->n_tree; i++)
        if (hs_snap_root(snap, i)->level == HS_LEVEL_LEAF)
            leaf = hs_snap_root(snap, i);
    assert_string_equal(hs_snap_string(snap, leaf->name), "items");
    assert_int_equal(leaf->line, 2);
    assert_int_equal(leaf->certainty, HS_EXACT);
    assert_int_equal(leaf->address, l->items + BIAS);
    assert_int_equal(hs_snap_load_chunk(snap, 0, HS_COL_ALL, &chunk, &err), HS_OK);
    for (unsigned i = 0; i < 3; i++)
        assert_string_equal(hs_snap_string(snap, hs_snap_type(snap, chunk.type[i])->name),
                            "struct item");
    assert_int_equal(chunk.target[0], chunk.first + 1);
    hs_chunk_fini(&chunk);
    assert_true(hs_snap_facts(snap)->binaries[0].has_debug_info);
    hs_snap_close(snap);
}

static void names_come(void **state)
{
    struct hs_names_report report;
    struct hs_error err = HS_ERROR_INIT;
    struct later l;
    later_init(&l);
    write_snapshot(&l);
    assert_int_equal(name_it(&l, &report, &err), HS_OK);
    assert_int_equal(report.n_slots, 1);
    assert_int_equal(report.n_typed, 3);
    check_named(&l);
    FAIL_EACH (each, .at_least = 100, .may_do_without = true) {
        struct hs_error failed = HS_ERROR_INIT;
        (void)FAIL_EACH_TRY(each, name_it(&l, &report, &failed));
    }
    check_named(&l);
    later_fini(&l);
}

/* A build-id that is none, another one, and a place where the program cannot have been. */
static void lies_add_nothing(void **state)
{
    static const char *const ids[] = {"", "ab", "../../etc", "0123456789", "AB\ncd", "abc"};
    struct hs_names_report report;
    struct hs_error err = HS_ERROR_INIT;
    struct later l;
    later_init(&l);
    const char *build_id = l.build_id;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        l.build_id = ids[i];
        write_snapshot(&l);
        assert_int_equal(name_it(&l, &report, &err), HS_OK);
        assert_int_equal(report.n_found, 0);
    }
    static const hs_addr begins[] = {0, BIAS + 0x1000, UINT64_MAX & ~(hs_addr)0xfff, 1};
    l.build_id = build_id;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        l.begin = begins[i];
        write_snapshot(&l);
        assert_int_equal(name_it(&l, &report, &err), HS_OK);
        assert_int_equal(report.n_slots, 0);
    }
    later_fini(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_come),
        cmocka_unit_test(lies_add_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
