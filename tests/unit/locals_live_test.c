/* links: hs_symbols hs_base */
/* A program compiled by several compilers stops itself and has said where its variables are: the
 * frames above are walked and every variable is found there. */
#include "unit.h"

#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbols/locals.h"

#define SOURCE HS_SOURCE_DIR "/tests/live/fixtures/frame_locals"

enum { MAX_CLAIMS = 64, MAX_FRAMES = 8 };

/* A line of what the program says. */
struct claim {
    char kind[8], function[48], name[32];
    unsigned long long number, n_bytes;
    bool is_met;
};

struct stopped {
    pid_t pid;
    struct claim claims[MAX_CLAIMS];
    size_t n_claims;
    uint64_t bias;
    char path[64];
};

static char directory[64];

static bool read_target(void *context, hs_addr at, void *ret, size_t n_bytes)
{
    const struct stopped *stopped = context;
    struct iovec here = {ret, n_bytes}, there = {(void *)(uintptr_t)at, n_bytes};
    return process_vm_readv(stopped->pid, &here, 1, &there, 1, 0) == (ssize_t)n_bytes;
}

static int run(char *const *arguments)
{
    pid_t pid = fork();
    if (pid == 0) {
        execvp(arguments[0], arguments);
        _exit(77);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static void read_claims(struct stopped *stopped, FILE *f)
{
    char line[256];
    while (fgets(line, sizeof(line), f) != NULL) {
        struct claim *claim = &stopped->claims[stopped->n_claims];
        assert_true(stopped->n_claims < MAX_CLAIMS);
        *claim = (struct claim){.number = 0};
        int n = sscanf(line, "%7s %47s %31s %llx %llu", claim->kind, claim->function, claim->name,
                       &claim->number, &claim->n_bytes);
        if (strcmp(claim->kind, "line") == 0)
            claim->number = strtoull(claim->name, NULL, 10);
        assert_true(n >= 3);
        stopped->n_claims++;
    }
}

static uint64_t first_mapping(const struct stopped *stopped)
{
    char path[64], line[512];
    unsigned long long begin = 0;
    snprintf(path, sizeof(path), "/proc/%d/maps", (int)stopped->pid);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        if (strstr(line, stopped->path) != NULL) {
            assert_int_equal(sscanf(line, "%llx", &begin), 1);
            break;
        }
    fclose(f);
    return begin;
}

/* Starts the program and waits for its trap. */
static void start(struct stopped *stopped)
{
    char output[80];
    int status;
    snprintf(output, sizeof(output), "%s/output", directory);
    stopped->pid = fork();
    if (stopped->pid == 0) {
        if (freopen(output, "w", stdout) == NULL || ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(1);
        execl(stopped->path, stopped->path, (char *)NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(stopped->pid, &status, 0), stopped->pid);
    assert_true(WIFSTOPPED(status)); /* the exec */
    assert_int_equal(ptrace(PTRACE_CONT, stopped->pid, NULL, NULL), 0);
    assert_int_equal(waitpid(stopped->pid, &status, 0), stopped->pid);
    assert_true(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
    FILE *f = fopen(output, "r");
    assert_non_null(f);
    read_claims(stopped, f);
    fclose(f);
    stopped->bias = first_mapping(stopped);
}

static void stop(struct stopped *stopped)
{
    (void)kill(stopped->pid, SIGKILL);
    (void)waitpid(stopped->pid, NULL, 0);
    (void)unlink(stopped->path);
}

static struct hs_registers top_registers(const struct stopped *stopped)
{
    struct hs_regs regs;
    assert_int_equal(ptrace(PTRACE_GETREGS, stopped->pid, NULL, &regs), 0);
    return hs_registers_of(&regs);
}

static const struct hs_local *find_local(const struct hs_locals *locals, const struct claim *claim)
{
    for (size_t i = 0; i < locals->n_locals; i++)
        if (strcmp(locals->locals[i].name, claim->name) == 0 &&
            strcmp(locals->locals[i].function, claim->function) == 0)
            return &locals->locals[i];
    return NULL;
}

static bool local_value(struct stopped *stopped, const struct hs_local *local,
                        const struct hs_registers *r, uint64_t *ret)
{
    if (local->reg < HS_N_REGISTERS) {
        assert_true(hs_register_known(r, local->reg));
        *ret = r->value[local->reg];
        return true;
    }
    return local->address != 0 && read_target(stopped, local->address, ret, 8);
}

/* Ticks off what one frame shows to be true; what it shows to be false is a failure. */
static void check_frame(struct stopped *stopped, const struct hs_locals *locals,
                        const struct hs_registers *r)
{
    for (size_t i = 0; i < stopped->n_claims; i++) {
        struct claim *claim = &stopped->claims[i];
        const struct hs_local *local = find_local(locals, claim);
        uint64_t value;
        if (strstr("at maybe", claim->kind) != NULL && local != NULL) {
            assert_int_equal(local->address, claim->number);
            assert_int_equal(local->n_bytes, claim->n_bytes);
            claim->is_met = true;
        } else if (strcmp(claim->kind, "value") == 0 && local != NULL) {
            if (!local_value(stopped, local, r, &value))
                continue;
            if (value != claim->number)
                fail_msg("%s is %#llx", claim->name, (unsigned long long)value);
            claim->is_met = true;
        }
        for (size_t j = 0; j < locals->n_chain && strcmp(claim->kind, "line") == 0; j++)
            if (strcmp(locals->chain[j].function, claim->function) == 0) {
                assert_int_equal(locals->chain[j].line, claim->number);
                assert_non_null(strstr(locals->chain[j].file, "frame_locals."));
                claim->is_met = true;
            }
    }
    for (size_t i = 0; i < locals->n_locals; i++)
        assert_string_not_equal(locals->locals[i].name, "not_here");
}

/* Every variable is one of the function that its place in the chain says. */
static void check_chain(const struct hs_locals *locals)
{
    for (size_t i = 0; i < locals->n_locals; i++) {
        const struct hs_local *local = &locals->locals[i];
        assert_true(local->n_inlined < locals->n_chain);
        assert_string_equal(local->function,
                            locals->chain[locals->n_chain - 1 - local->n_inlined].function);
    }
}

static size_t check_stack(struct stopped *stopped, struct hs_elf *elf, struct hs_ctypes *types,
                          hs_type_file file)
{
    struct hs_error err = HS_ERROR_INIT;
    static struct hs_locals locals;
    struct hs_memory_reader memory = {read_target, stopped};
    struct hs_registers r = top_registers(stopped);
    hs_auto(hs_dwarf_box) *box = NULL;
    hs_auto(hs_cfi) *cfi = NULL;
    size_t n_complete = 0;
    assert_int_equal(hs_dwarf_box_new(NULL, &box, &err), HS_OK);
    assert_int_equal(hs_cfi_open(box, elf, NULL, &cfi, &err), HS_OK);
    for (int i = 0; i < MAX_FRAMES; i++) {
        struct hs_frame frame;
        if (hs_cfi_step(cfi, stopped->bias, &r, true, &memory, &frame, &err) != HS_OK)
            break;
        struct hs_frame_place place = {.file = file,
                                       .bias = stopped->bias,
                                       .registers = &r,
                                       .is_return_address = true, /* behind the trap, too */
                                       .cfa = frame.cfa,
                                       .memory = &memory,
                                       .caller = &frame.caller};
        assert_int_equal(hs_locals_at(types, &place, &locals, &err), HS_OK);
        if (!locals.is_known)
            break;
        check_frame(stopped, &locals, &r);
        n_complete += locals.is_complete;
        assert_true(locals.n_chain > 0);
        check_chain(&locals);
        const char *function = locals.chain[locals.n_chain - 1].function;
        if (strcmp(function, "main") == 0 || strcmp(function, "frame_locals::main") == 0)
            return n_complete;
        r = frame.caller;
    }
    fail_msg("did not get to main");
    return 0;
}

/* Compiles and starts it; false when there is no such compiler. */
static bool start_compiled(struct stopped *stopped, const char *compiler, const char *level,
                           const char *version)
{
    bool is_cxx = strstr(compiler, "++") != NULL, is_rust = strcmp(compiler, "rustc") == 0;
    snprintf(stopped->path, sizeof(stopped->path), "%s/program", directory);
    const char *const c[] = {compiler, "-x",          is_cxx ? "c++" : "c", level, version,
                             "-o",     stopped->path, SOURCE ".c",          NULL};
    const char *const rust[] = {compiler, "-g",          "-C",         is_rust ? level : "",
                                "-o",     stopped->path, SOURCE ".rs", NULL};
    int status = run((char *const *)(uintptr_t)(is_rust ? rust : c));
    if (status == 77)
        return false;
    assert_int_equal(status, 0);
    start(stopped);
    return true;
}

static void check_claims(const struct stopped *stopped, const char *what, bool is_plain)
{
    size_t n_met = 0;
    for (size_t i = 0; i < stopped->n_claims; i++) {
        const struct claim *claim = &stopped->claims[i];
        n_met += claim->is_met;
        if (!claim->is_met && (is_plain || strstr("at line", claim->kind) != NULL))
            fail_msg("%s: not seen: %s of %s", what, claim->name, claim->function);
    }
    print_message("%s: %zu of %zu\n", what, n_met, stopped->n_claims);
}

static void check_program(const char *compiler, const char *level, const char *version)
{
    struct stopped stopped = {.n_claims = 0};
    struct hs_error err = HS_ERROR_INIT;
    bool is_plain = level[strlen(level) - 1] == '0';
    char what[64];
    if (!start_compiled(&stopped, compiler, level, version))
        return;
    snprintf(what, sizeof(what), "%s %s %s", compiler, level, version);
    hs_auto(hs_elf) *elf = NULL;
    hs_auto(hs_ctypes) *types = NULL;
    hs_type_file file = 0;
    assert_int_equal(hs_elf_open_path(stopped.path, &elf, &err), HS_OK);
    assert_int_equal(hs_ctypes_new(&types, &err), HS_OK);
    assert_int_equal(hs_ctypes_add(types, elf, &file, &err), HS_OK);
    assert_int_not_equal(file, 0);
    size_t n_complete = check_stack(&stopped, elf, types, file);
    if (is_plain)
        assert_int_equal(n_complete, strstr(compiler, "++") != NULL ? 3 : 2);
    assert_int_equal(hs_ctypes_n_damaged(types), 0);
    stop(&stopped);
    check_claims(&stopped, what, is_plain);
}

static void finds_variables_where_they_are(void **state)
{
    static const char *const compilers[] = {"gcc", "clang", "g++", "clang++"};
    static const char *const levels[] = {"-O0", "-O1", "-O2"};
    static const char *const versions[] = {"-gdwarf-5", "-gdwarf-4"};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 3; j++)
            for (size_t k = 0; k < 2; k++)
                check_program(compilers[i], levels[j], versions[k]);
}

static void finds_variables_of_rust(void **state)
{
    check_program("rustc", "opt-level=0", "");
    check_program("rustc", "opt-level=2", "");
}

/* Each allocation fails once: the frame is then either as it is, or not told of. */
static void reports_running_out_of_memory(void **state)
{
    static struct hs_locals whole, part;
    struct stopped stopped = {.n_claims = 0};
    struct hs_error err = HS_ERROR_INIT;
    if (!start_compiled(&stopped, "gcc", "-O1", "-gdwarf-5"))
        skip();
    struct hs_registers r = top_registers(&stopped);
    struct hs_memory_reader memory = {read_target, &stopped};
    hs_auto(hs_elf) *elf = NULL;
    uint64_t n_failed = 0;
    assert_int_equal(hs_elf_open_path(stopped.path, &elf, &err), HS_OK);
    for (uint64_t nth = 0;; nth++) {
        hs_auto(hs_ctypes) *types = NULL;
        struct hs_frame_place place = {.bias = stopped.bias,
                                       .registers = &r,
                                       .is_return_address = true,
                                       .cfa = r.value[HS_RSP],
                                       .memory = &memory};
        hs_alloc_fail_at(nth, false);
        uint64_t before = hs_alloc_count();
        hs_status status = hs_ctypes_new(&types, &err);
        if (status == HS_OK)
            status = hs_ctypes_add(types, elf, &place.file, &err);
        if (status == HS_OK)
            status = hs_locals_at(types, &place, &part, &err);
        bool is_over = nth > hs_alloc_count() - before;
        hs_alloc_fail_at(0, false);
        if (nth == 0)
            whole = part;
        assert_true(status == HS_OK || status == HS_LIMIT);
        n_failed += status != HS_OK;
        if (status == HS_OK && place.file != 0) {
            assert_int_equal(part.n_locals, whole.n_locals);
            assert_int_equal(part.n_chain, whole.n_chain);
            assert_int_equal(part.is_complete, whole.is_complete);
        }
        if (is_over)
            break;
    }
    stop(&stopped);
    assert_true(whole.is_known && whole.n_locals > 3 && whole.n_chain == 3);
    assert_true(n_failed > 10);
}

static int set_up(void **state)
{
    snprintf(directory, sizeof(directory), "%s", "/tmp/hs_locals.XXXXXX");
    return mkdtemp(directory) == NULL;
}

static int tear_down(void **state)
{
    char path[80];
    snprintf(path, sizeof(path), "%s/output", directory);
    (void)unlink(path);
    return rmdir(directory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_variables_where_they_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(finds_variables_of_rust, set_up, tear_down),
        cmocka_unit_test_setup_teardown(reports_running_out_of_memory, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
