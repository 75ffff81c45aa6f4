/* links: hs_symbols hs_base */
#include "ctypes_fixture.h"

#include <elf.h>
#include <limits.h>

#include "base/buffer.h"
#include "base/error.h"
#include "fail_each.h"
#include "symbols/split.h"

/* The .dwo of the fixture, or with is_packaged the .dwp; `changed` instead of it, when that is not
 * empty. */
static char dwo_path[PATH_MAX], package_path[PATH_MAX], directory[32];
static uint8_t changed[1 << 20];
static size_t n_changed;
static bool is_packaged, changed_has_hole;
static const off_t HOLE_BYTES = (off_t)3 << 30;

static hs_status open_either(struct hs_elf **ret, struct hs_error *err)
{
    const char *path = is_packaged ? package_path : dwo_path;
    char other[PATH_MAX + 16];

    if (n_changed != 0) {
        snprintf(other, sizeof other, "%s/changed", directory);
        int out = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        assert_true(out >= 0 && write(out, changed, n_changed) == (ssize_t)n_changed);
        assert_true(!changed_has_hole || ftruncate(out, HOLE_BYTES) == 0);
        close(out);
        path = other;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    hs_status status = fd < 0 ? HS_OK : hs_elf_open_sections(fd, path, ret, err);
    if (fd >= 0)
        close(fd);
    return status == HS_LIMIT ? HS_LIMIT : HS_OK;
}

static hs_status open_dwo(void *context, const char *compiled_in, const char *name,
                          struct hs_elf **ret, struct hs_error *err)
{
    (void)context;
    assert_true(compiled_in[0] == '/' && name[0] != '\0');
    return is_packaged ? HS_OK : open_either(ret, err);
}

static hs_status open_package(void *context, struct hs_elf **ret, struct hs_error *err)
{
    (void)context;
    return is_packaged ? open_either(ret, err) : HS_OK;
}

static const struct hs_split_places places = {.open = open_dwo, .open_package = open_package};

/* What is known of the merged file: the sizes of some records, 0 for what is not there. */
static uint64_t ask(const struct hs_buffer *merged)
{
    static const char *const names[] = {"user", "guest", "derived", "closure"};
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_ctypes) *types = NULL;
    hs_type_file file = 0;
    uint64_t sum = 0;
    const char *missing;

    assert_int_equal(hs_elf_open_memory(merged->bytes, merged->n_bytes, "merged", &elf, &err),
                     HS_OK);
    assert_int_equal(hs_ctypes_new(&types, &err), HS_OK);
    assert_int_equal(hs_ctypes_add(types, elf, &file, &err), HS_OK);
    for (size_t i = 0; file != 0 && i < sizeof names / sizeof *names; i++) {
        struct hs_ctype_facts facts;
        size_t n;
        bool is_cut;
        hs_ctype type = hs_ctypes_find(types, file, names[i]);
        hs_ctype_facts(types, type, &facts);
        (void)hs_ctypes_slots(types, type, &n, &is_cut);
        sum = sum * 1000 + facts.n_bytes;
    }
    (void)(file != 0 && hs_ctypes_split(types, file, &missing));
    return sum;
}

/* `types`: an option, such as for units of types. */
static void build_with(struct fixture *f, const char *compiler, const char *version,
                       const char *types)
{
    char here[PATH_MAX];
    const char *const command[] = {compiler, version, types, "-gsplit-dwarf",
                                   FIXTURE_DIRECTORY "ctypes_members.c"};
    struct hs_error err = HS_ERROR_INIT;

    assert_non_null(getcwd(here, sizeof here));
    snprintf(directory, sizeof directory, "/tmp/hs-split-XXXXXX");
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chdir(directory), 0); /* clang writes the .dwo here */
    fixture_build(f, command, sizeof(command) / sizeof(command[0]));
    snprintf(dwo_path, sizeof dwo_path, "%s/ctypes_members.dwo", directory);
    if (access(dwo_path, R_OK) != 0)
        snprintf(dwo_path, sizeof dwo_path, "%s-ctypes_members.dwo", f->program);
    assert_int_equal(access(dwo_path, R_OK), 0);
    assert_int_equal(chdir(here), 0);
    assert_int_equal(hs_elf_open_path(f->program, &f->elf, &err), HS_OK);
    snprintf(package_path, sizeof package_path, "%s/all.dwp", directory);
    n_changed = 0;
    is_packaged = false;
}

static void build(struct fixture *f, const char *compiler, const char *version)
{
    build_with(f, compiler, version, "-fno-debug-types-section");
}

/* Skips the test where there is no such packer: that of binutils (`dwp`) cannot do DWARF 5. */
static void build_package(struct fixture *f, const char *compiler, const char *version,
                          const char *types, const char *packer)
{
    const char *const command[] = {"timeout", "20", packer, "-o", package_path, dwo_path, NULL};

    build_with(f, compiler, version, types);
    is_packaged = fixture_run(command, "/dev/null") == 0;
    if (!is_packaged) {
        unlink(dwo_path);
        hs_elf_close(f->elf);
        fixture_remove(f);
        (void)rmdir(directory);
        skip();
    }
}

static void end(struct fixture *f)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/changed", directory);
    unlink(path);
    unlink(package_path);
    unlink(dwo_path);
    hs_elf_close(f->elf);
    fixture_remove(f);
    assert_int_equal(rmdir(directory), 0);
}

static uint64_t merged_is(struct fixture *f, uint64_t most_bytes, size_t n_used)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer merged = {0};
    struct hs_split_found found;

    assert_int_equal(hs_split_merge(f->elf, &places, most_bytes, &merged, &found, &err), HS_OK);
    assert_int_equal(found.n_files, 1);
    assert_true(n_used == SIZE_MAX || found.n_used == n_used);
    assert_true((found.n_used != 0) == (merged.n_bytes != 0));
    uint64_t sum = merged.n_bytes == 0 ? 0 : ask(&merged);
    hs_buffer_fini(&merged);
    return sum;
}

static void read_changed(void)
{
    int fd = open(is_packaged ? package_path : dwo_path, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, changed, sizeof changed);
    assert_true(n > 0 && (size_t)n < sizeof changed);
    n_changed = (size_t)n;
    close(fd);
}

static void compare(const char *compiler, const char *version)
{
    static struct fixture f;
    build(&f, compiler, version);
    assert_int_equal(merged_is(&f, 1 << 24, 1), UINT64_C(56032064024));
    assert_int_equal(merged_is(&f, 100, 0), 0); /* no room for it */
    unlink(dwo_path);
    assert_int_equal(merged_is(&f, 1 << 24, 0), 0);
    end(&f);
}

static void brings_in_what_is_split(void **state)
{
    (void)state;
    compare("gcc", "-gdwarf-5");
    compare("clang", "-gdwarf-5");
    compare("gcc", "-gdwarf-4");
    compare("clang", "-gdwarf-4");
    compare("gcc", "-gdwarf-3");
}

/* Of units of types there are as many sections of one name as types. */
static void brings_in_units_of_types(void **state)
{
    static const struct {
        const char *compiler, *version;
    } kinds[] = {{"gcc", "-gdwarf-5"}, {"gcc", "-gdwarf-4"}, {"clang", "-gdwarf-4"}};
    static struct fixture f;
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        build_with(&f, kinds[i].compiler, kinds[i].version, "-fdebug-types-section");
        assert_int_equal(merged_is(&f, 1 << 24, 1), UINT64_C(56032064024));
        end(&f);
    }
}

static void compare_package(const char *compiler, const char *version, const char *types,
                            const char *packer)
{
    static struct fixture f;
    build_package(&f, compiler, version, types, packer);
    assert_int_equal(merged_is(&f, 1 << 24, 1), UINT64_C(56032064024));
    assert_int_equal(merged_is(&f, 100, 0), 0); /* no room for it */
    unlink(package_path);
    assert_int_equal(merged_is(&f, 1 << 24, 0), 0);
    end(&f);
}

static void brings_in_packages(void **state)
{
    (void)state;
    /* llvm-dwp 14 does not end with some .dwo of gcc's. */
    compare_package("clang", "-gdwarf-5", "-fno-debug-types-section", "llvm-dwp");
    compare_package("clang", "-gdwarf-5", "-fdebug-types-section", "llvm-dwp");
}

static void brings_in_older_packages(void **state)
{
    (void)state;
    compare_package("gcc", "-gdwarf-4", "-fno-debug-types-section", "dwp");
    compare_package("gcc", "-gdwarf-4", "-fdebug-types-section", "dwp");
    compare_package("clang", "-gdwarf-4", "-fdebug-types-section", "dwp");
}

/* Any byte may be any other: what comes of it is no crash, and nothing that is too much. */
static void damage(struct fixture *f, int n_times)
{
    uint64_t seed = 88172645463325252;

    for (int i = 0; i < n_times; i++) {
        read_changed();
        for (int k = 0; k < 3; k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            changed[seed % n_changed] = (uint8_t)(seed >> 32);
        }
        if (i % 10 == 9)
            n_changed = 1 + seed % n_changed;
        (void)merged_is(f, 1 << 24, SIZE_MAX);
    }
    end(f);
}

static void survives_damage(void **state)
{
    static struct fixture f;
    (void)state;
    build(&f, "gcc", "-gdwarf-5");
    damage(&f, 700);
    build_with(&f, "gcc", "-gdwarf-4", "-fdebug-types-section");
    damage(&f, 700);
}

static void survives_damaged_packages(void **state)
{
    static struct fixture f;
    (void)state;
    build_package(&f, "clang", "-gdwarf-5", "-fdebug-types-section", "llvm-dwp");
    damage(&f, 700);
}

static void survives_damaged_older_packages(void **state)
{
    static struct fixture f;
    (void)state;
    build_package(&f, "gcc", "-gdwarf-4", "-fdebug-types-section", "dwp");
    damage(&f, 700);
}

static void another_build_is_not_used(void **state)
{
    static struct fixture f;
    (void)state;
    build(&f, "gcc", "-gdwarf-5");
    read_changed();
    for (size_t i = 0; i + 8 < n_changed; i++)
        if (changed[i] == 5 && changed[i + 1] == 0 && changed[i + 2] == 5 && changed[i + 3] == 8) {
            changed[i + 8] ^= 1; /* version 5, a split unit: its number */
            break;
        }
    assert_int_equal(merged_is(&f, 1 << 24, 0), 0);
    end(&f);
}

/* Before DWARF 5 the number is an attribute of the root: the only eight bytes that both have. */
/* Tells whether eight bytes look like a hash: others that two files have in common are mostly
 * zeros. */
static bool is_hash(const uint8_t *bytes)
{
    unsigned n_different = 0;
    for (size_t i = 0; i < 8; i++)
        n_different += memchr(bytes, bytes[i], i) == NULL;
    return n_different >= 6;
}

static void another_old_build_is_not_used(void **state)
{
    static struct fixture f;
    const uint8_t *skeleton = NULL;
    struct hs_error err = HS_ERROR_INIT;
    size_t n = 0, n_found = 0;
    (void)state;
    build(&f, "gcc", "-gdwarf-4");
    read_changed();
    assert_int_equal(hs_elf_section_bytes_named(f.elf, ".debug_info", &skeleton, &n, &err), HS_OK);
    for (size_t at = 11; at + 8 <= n; at++) {
        uint8_t *same = memmem(changed, n_changed, skeleton + at, 8);
        if (same == NULL || !is_hash(skeleton + at))
            continue;
        same[7] ^= 1;
        n_found++;
    }
    assert_int_equal(n_found, 1);
    assert_int_equal(merged_is(&f, 1 << 24, 0), 0);
    end(&f);
}

/* A hole is not read: it is longer than what may be taken. */
static void holes_are_not_read(void **state)
{
    static const char *const versions[] = {"-gdwarf-4", "-gdwarf-5"};
    static struct fixture f;
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        build(&f, "gcc", versions[i]);
        read_changed();
        Elf64_Ehdr *head = (Elf64_Ehdr *)(void *)changed;
        Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(changed + head->e_shoff);
        const char *names = (const char *)changed + sections[head->e_shstrndx].sh_offset;
        for (size_t k = 1; k < head->e_shnum; k++)
            if (strcmp(names + sections[k].sh_name, ".debug_str.dwo") == 0)
                sections[k].sh_size = (uint64_t)HOLE_BYTES - sections[k].sh_offset;
        changed_has_hole = true;
        assert_int_equal(merged_is(&f, UINT64_C(1) << 40, 0), 0);
        changed_has_hole = false;
        end(&f);
    }
}

static void fail_each(struct fixture *f)
{
    FAIL_EACH (each, .at_least = 8) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_buffer merged = {0};
        struct hs_split_found found;
        (void)FAIL_EACH_TRY(each, hs_split_merge(f->elf, &places, 1 << 24, &merged, &found, &err));
        hs_buffer_fini(&merged);
    }
    end(f);
}

static void every_failed_allocation(void **state)
{
    static struct fixture f;
    (void)state;
    build(&f, "gcc", "-gdwarf-5");
    fail_each(&f);
    build(&f, "gcc", "-gdwarf-4");
    fail_each(&f);
}

static void every_failed_allocation_of_packages(void **state)
{
    static struct fixture f;
    (void)state;
    build_package(&f, "clang", "-gdwarf-5", "-fdebug-types-section", "llvm-dwp");
    fail_each(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(brings_in_what_is_split),
        cmocka_unit_test(brings_in_units_of_types),
        cmocka_unit_test(brings_in_packages),
        cmocka_unit_test(brings_in_older_packages),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(survives_damaged_packages),
        cmocka_unit_test(survives_damaged_older_packages),
        cmocka_unit_test(another_build_is_not_used),
        cmocka_unit_test(another_old_build_is_not_used),
        cmocka_unit_test(holes_are_not_read),
        cmocka_unit_test(every_failed_allocation),
        cmocka_unit_test(every_failed_allocation_of_packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
