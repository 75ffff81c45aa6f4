/* Compiles a fixture, runs it, and compares hs_ctypes with what it told (fixtures/ctypes_truth.h).
 * Included by one test each. */
#ifndef CTYPES_FIXTURE_H
#define CTYPES_FIXTURE_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/ctypes.h"
#include "symbols/debugfile.h"
#include "symbols/demangle.h"

#define FIXTURE_DIRECTORY HS_SOURCE_DIR "/tests/unit/fixtures/"

struct fixture {
    char directory[64], program[80], truth[80];
    char other[80], shared[80]; /* with dwz: a copy, and what both share; "" without */
    struct hs_elf *elf, *supplement;
    struct hs_ctypes *types;
    hs_type_file file;
    struct {
        char name[256];
        hs_ctype type;
    } subjects[256];
    size_t n_subjects, n_told;
};

/* Runs a command with its output to a file; its exit status, 127 when there is no such program. */
static int fixture_run(const char *const command[], const char *output)
{
    pid_t pid = fork();
    if (pid == 0) {
        int fd = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        dup2(fd, 1);
        if (getenv("CTYPES_VERBOSE") == NULL)
            dup2(fd, 2);
        execvp(command[0], (char *const *)(uintptr_t)command);
        _exit(127);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static void fixture_remove(struct fixture *f)
{
    unlink(f->program);
    unlink(f->truth);
    unlink(f->other);
    unlink(f->shared);
    rmdir(f->directory);
}

/* Compiles; a compiler that is not there skips the test. `-o program` is added. */
static void fixture_build(struct fixture *f, const char *const command[], size_t n)
{
    const char *all[32] = {NULL};
    *f = (struct fixture){.n_told = 0};
    snprintf(f->directory, sizeof(f->directory), "/tmp/hs-ctypes-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    snprintf(f->program, sizeof(f->program), "%s/program", f->directory);
    snprintf(f->truth, sizeof(f->truth), "%s/truth", f->directory);
    assert_true(n + 3 < 32);
    memcpy(all, command, n * sizeof(*all));
    all[n] = "-o";
    all[n + 1] = f->program;
    int status = fixture_run(all, f->truth);
    if (status != 0)
        fixture_remove(f);
    if (status == 127)
        skip();
    if (status != 0)
        fail_msg("'%s' cannot compile the fixture: %d", command[0], status);
}

/* Has dwz move what the program and a copy of it have both to a third file; false where there is no
 * dwz. */
static inline bool fixture_share(struct fixture *f)
{
    snprintf(f->other, sizeof(f->other), "%s/other", f->directory);
    snprintf(f->shared, sizeof(f->shared), "%s/shared", f->directory);
    const char *const copy[] = {"cp", f->program, f->other, NULL};
    const char *const share[] = {"dwz", "-m", f->shared, "-r", f->program, f->other, NULL};
    assert_int_equal(fixture_run(copy, f->truth), 0);
    int status = fixture_run(share, f->truth);
    f->n_subjects = f->n_told = 0;
    if (status == 127)
        f->shared[0] = '\0';
    assert_true(status == 0 || status == 127);
    return status == 0;
}

static void fixture_open(struct fixture *f)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_debugfile_link link;
    assert_int_equal(hs_elf_open_path(f->program, &f->elf, &err), HS_OK);
    if (f->shared[0] != '\0') {
        assert_true(hs_debugfile_supplement(f->elf, &link));
        assert_int_equal(
            hs_debugfile_open_supplement(f->elf, &link, "", NULL, 0, &f->supplement, &err), HS_OK);
        assert_non_null(f->supplement);
        hs_elf_set_supplement(f->elf, f->supplement);
    }
    assert_int_equal(hs_ctypes_new(&f->types, &err), HS_OK);
    assert_int_equal(hs_ctypes_add(f->types, f->elf, &f->file, &err), HS_OK);
    assert_int_equal(f->file, 1);
}

static void fixture_close(struct fixture *f)
{
    hs_ctypes_free(f->types);
    hs_elf_close(f->elf);
    hs_elf_close(f->supplement);
    f->types = NULL;
    f->elf = f->supplement = NULL;
}

static hs_ctype fixture_subject(struct fixture *f, const char *name)
{
    for (size_t i = 0; i < f->n_subjects; i++)
        if (strcmp(f->subjects[i].name, name) == 0)
            return f->subjects[i].type;
    hs_ctype type = hs_ctypes_find(f->types, f->file, name);
    if (type == 0)
        fail_msg("no subject '%s'", name);
    return type;
}

static const char *fixture_type_name(struct fixture *f, hs_ctype type)
{
    struct hs_ctype_facts facts;
    hs_ctype_facts(f->types, type, &facts);
    assert_non_null(facts.name);
    return facts.name;
}

/* Compilers agree on a template argument's name but for where its const stands, and those of Rust
 * on all but what is behind an Rc. The fixture says the names that the libraries have. */
static void fixture_same_name(const char *said, const char *told)
{
    char text[2][512], shorter[512];
    hs_shorten_type(told, shorter, sizeof(shorter));
    const char *from[2] = {said, shorter};
    for (int i = 0; i < 2; i++) {
        size_t n = 0;
        for (const char *at = from[i]; *at != '\0' && n < sizeof(text[i]) - 1; at++) {
            if (strncmp(at, "const", 5) == 0)
                at += 4;
            else if (strncmp(at, "RcInner<", 8) == 0)
                n += (size_t)snprintf(text[i] + n, sizeof(text[i]) - n, "RcBox"), at += 6;
            else if (*at != ' ')
                text[i][n++] = *at;
        }
        text[i][n] = '\0';
    }
    assert_string_equal(text[0], text[1]);
}

static void fixture_variable(struct fixture *f, char *const field[6])
{
    struct hs_cvariable v = {0}, last = {0};
    uint64_t at = strtoull(field[2], NULL, 10), n_bytes = strtoull(field[3], NULL, 10);
    bool is_tls = field[0][0] == 'T';
    bool found = is_tls ? hs_ctypes_tls_variable_at(f->types, f->file, at, &v)
                        : hs_ctypes_variable_at(f->types, f->file, at, &v);
    if (!found)
        fail_msg("no variable '%s' at %s", field[1], field[2]);
    assert_string_equal(v.name, field[1]);
    assert_int_equal(v.vaddr, at);
    assert_int_equal(v.n_bytes, n_bytes);
    fixture_same_name(fixture_type_name(f, v.type), field[4]);
    assert_true(v.line > 0);
    assert_non_null(strstr(v.file, "/tests/unit/fixtures/ctypes_"));
    found = is_tls ? hs_ctypes_tls_variable_at(f->types, f->file, at + n_bytes - 1, &last)
                   : hs_ctypes_variable_at(f->types, f->file, at + n_bytes - 1, &last);
    assert_true(found && last.vaddr == v.vaddr);
    assert_true(f->n_subjects < 256 && strlen(field[1]) < 256);
    snprintf(f->subjects[f->n_subjects].name, 256, "%s", field[1]);
    f->subjects[f->n_subjects++].type = v.type;
}

static void fixture_place(struct fixture *f, hs_ctype type, char *const field[6])
{
    char text[256];
    hs_ctype inner = 0;
    for (char *at = field[3]; *at != '\0'; at++)
        *at = *at == '/' ? '|' : *at; /* alternatives */
    size_t n =
        hs_ctypes_place(f->types, type, strtoull(field[2], NULL, 10), text, sizeof(text), &inner);
    assert_int_equal(n, strlen(text));
    assert_string_equal(text, field[3]);
    if (field[0][0] == 'P')
        fixture_same_name(fixture_type_name(f, inner), field[4]);
}

/* W: a sure slot there leads to this type. M: a slot there may be a pointer. */
static void fixture_word(struct fixture *f, hs_ctype type, char *const field[6])
{
    size_t n = 0, i = 0;
    bool is_cut = false, is_sure = field[0][0] == 'W';
    uint64_t offset = strtoull(field[2], NULL, 10);
    const struct hs_cslot *slots = hs_ctypes_slots(f->types, type, &n, &is_cut);
    while (i < n && slots[i].offset_bytes != offset)
        i++;
    if (i == n)
        fail_msg("no slot at %s of '%s'", field[2], field[1]);
    assert_true(slots[i].may_be_pointer_only != is_sure);
    if (is_sure)
        fixture_same_name(fixture_type_name(f, slots[i].pointee), field[3]);
}

struct fixture_value {
    uint8_t bytes[512];
    size_t n_bytes, at;
};

static bool fixture_value_read(void *context, int64_t from_slot, unsigned n_bytes, uint64_t *ret)
{
    const struct fixture_value *value = context;
    uint64_t at = value->at + (uint64_t)from_slot;
    if (at > value->n_bytes || value->n_bytes - at < n_bytes)
        return false;
    *ret = 0;
    memcpy(ret, value->bytes + at, n_bytes);
    return true;
}

/* A: what a slot with choices leads to, by the bytes of a value. */
static void fixture_choice(struct fixture *f, hs_ctype type, char *const field[6])
{
    size_t n = 0, i = 0;
    bool is_cut = false;
    struct fixture_value value = {.at = strtoull(field[2], NULL, 10)};
    const struct hs_cslot *slots = hs_ctypes_slots(f->types, type, &n, &is_cut);
    struct hs_cchosen chosen;
    for (const char *at = field[4]; at[0] != '\0'; at += 2) {
        const char digits[3] = {at[0], at[1], '\0'};
        assert_true(value.n_bytes < sizeof(value.bytes));
        value.bytes[value.n_bytes++] = (uint8_t)strtoul(digits, NULL, 16);
    }
    while (i < n && slots[i].offset_bytes != value.at)
        i++;
    if (i == n || slots[i].n_choices == 0)
        fail_msg("no choices at %s of '%s'", field[2], field[1]);
    bool is_there = hs_ctypes_choose(f->types, &slots[i], fixture_value_read, &value, &chosen);
    hs_ctype to = !is_there
                      ? 0
                      : hs_ctypes_told(f->types, f->file, chosen.told_by,
                                       chosen.word - strtoull(field[5], NULL, 10), chosen.pointee);
    fixture_same_name(to == 0 ? "-" : fixture_type_name(f, to), field[3]);
}

static void fixture_slot(struct fixture *f, hs_ctype type, char *const field[6])
{
    size_t n = 0;
    bool is_cut = false;
    uint64_t offset = strtoull(field[2], NULL, 10);
    const struct hs_cslot *slots = hs_ctypes_slots(f->types, type, &n, &is_cut);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || slots[i - 1].offset_bytes < slots[i].offset_bytes);
        if (slots[i].offset_bytes != offset)
            continue;
        fixture_same_name(slots[i].pointee == 0 ? "-" : fixture_type_name(f, slots[i].pointee),
                          field[4]);
        if (slots[i].may_be_pointer_only != (strcmp(field[5], "maybe") == 0))
            fail_msg("'%s' of '%s' is not %s", field[3], field[1], field[5]);
        fixture_place(f, type, field);
        return;
    }
    fail_msg("no slot '%s' at %s of '%s'", field[3], field[2], field[1]);
}

static void fixture_count(struct fixture *f, hs_ctype type, const char *name, const char *count)
{
    size_t n = 0;
    bool is_cut = true;
    hs_ctypes_slots(f->types, type, &n, &is_cut);
    if (n != strtoull(count, NULL, 10) || is_cut)
        fail_msg("'%s' has %zu slots, not %s", name, n, count);
}

/* H: may a record around the pointer there free it ("frees", "keeps"), or is it a reference? */
static void fixture_holder(struct fixture *f, hs_ctype type, char *const field[6])
{
    hs_ctype around[HS_CTYPE_MAX_AROUND];
    struct hs_ctype_facts facts = {.name = ""};
    bool may_free = false, is_whole;
    size_t n = hs_ctypes_around(f->types, type, strtoull(field[2], NULL, 10), around, &is_whole);
    if (n < 2 || !is_whole)
        fail_msg("nothing is around the pointer at %s of '%s'", field[2], field[1]);
    assert_int_equal(around[0], type);
    for (size_t i = 0; i < n; i++) {
        hs_ctype_facts(f->types, around[i], &facts);
        may_free |= facts.may_free;
    }
    const char *found = facts.name[strlen(facts.name) - 1] == '&' ? "reference"
                        : may_free                                ? "frees"
                                                                  : "keeps";
    assert_int_equal(facts.kind, HS_CTYPE_POINTER);
    if (strcmp(found, field[3]) != 0)
        fail_msg("%s of '%s' %s", field[2], field[1], found);
}

static void fixture_line(struct fixture *f, char *line)
{
    char *field[6] = {NULL};
    size_t n = 0;
    for (char *at = line; at != NULL && n < 6; n++) {
        field[n] = at;
        at = strchr(at, '|');
        if (at != NULL)
            *at++ = '\0';
    }
    assert_true(n >= 4);
    f->n_told++;
    if (field[0][0] == 'V' || field[0][0] == 'T') {
        fixture_variable(f, field);
        return;
    }
    hs_ctype type = fixture_subject(f, field[1]);
    struct hs_ctype_facts facts;
    size_t n_slots = 0;
    bool is_cut = false;
    switch (field[0][0]) {
    case 'F':
        hs_ctype_facts(f->types, type, &facts);
        assert_int_equal(facts.n_bytes, strtoull(field[2], NULL, 10));
        fixture_count(f, type, field[1], field[3]);
        break;
    case 'N':
        fixture_count(f, type, field[1], field[2]);
        break;
    case 'H':
        fixture_holder(f, type, field);
        break;
    case 'S':
        fixture_slot(f, type, field);
        break;
    case 'W':
    case 'M':
        fixture_word(f, type, field);
        break;
    case 'A':
        fixture_choice(f, type, field);
        break;
    case 'P':
        fixture_place(f, type, field);
        break;
    case 'C':
        hs_ctypes_slots(f->types, type, &n_slots, &is_cut);
        assert_int_equal(n_slots, HS_CTYPE_MAX_SLOTS);
        assert_true(is_cut);
        break;
    default:
        fail_msg("line '%s'", line);
    }
}

/* Runs the program and compares all that it tells; at least `n_least` lines. */
static inline void fixture_compare_program(struct fixture *f, size_t n_least)
{
    const char *const command[] = {f->program, NULL};
    char line[2048];
    fixture_open(f);
    assert_int_equal(fixture_run(command, f->truth), 0);
    FILE *truth = fopen(f->truth, "re");
    assert_non_null(truth);
    while (fgets(line, sizeof(line), truth) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (getenv("CTYPES_VERBOSE") != NULL)
            fprintf(stderr, "%s\n", line);
        fixture_line(f, line);
    }
    fclose(truth);
    assert_true(f->n_told >= n_least);
    assert_int_equal(hs_ctypes_n_damaged(f->types), 0);
    fixture_close(f);
}

static inline void fixture_compare(struct fixture *f, size_t n_least)
{
    fixture_compare_program(f, n_least);
    fixture_remove(f);
}

#endif
