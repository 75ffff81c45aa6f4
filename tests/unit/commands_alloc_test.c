/* links: hs_tools_lib hs_format */
/* Every command with every one of its allocations failing in turn: over a limit, said so, nothing
 * half written, nothing kept (descriptors here, memory by the leak check of preset asan).
 *
 * Of allocations made from one place, by the calls on the stack, the first two of a command fail;
 * and of those whose inner calls failed in six ways under other commands, as all that opens a
 * snapshot or computes an index, the first two under each line of the command. HS_LONG=1: all. */
#include "unit.h"

#include <dirent.h>
#include <execinfo.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/budget.h"
#include "graph_builder.h"
#include "tools/tool.h"
#include "trace_writer.h"

#define IMPORTS HS_SOURCE_DIR "/tests/fuzz/corpus/import"

enum { MAX_WORDS = 12, MAX_FAILURES = 20000 };

static char work[64], snap[96], out_dir[96], out[128], export_dir[128], tables[96];
static char trace[96];                 /* of the heap's samples */
static char known[96], child_text[16]; /* suppressions; a process to look at */
static pid_t child;
static int child_end; /* of its standard input and output */

/* A heap with all that commands have columns for. */
static void make_snap(void)
{
    struct hs_graph_builder b = {0};
    uint32_t list = hs_graph_builder_blocks(&b, 40, 3);
    uint32_t type = hs_graph_builder_type(&b, "string", 252, 0);
    for (uint32_t i = 0; i + 1 < 40; i++)
        hs_graph_builder_edge(&b, list + i, list + i + 1, HS_EDGE_EXACT);
    uint32_t pair = hs_graph_builder_block(&b, 3, false);
    uint32_t text = hs_graph_builder_block(&b, 5, false);
    uint32_t constant = hs_graph_builder_block(&b, 2, true);
    b.blocks[text].type = type;
    hs_graph_builder_edge(&b, pair, text, HS_EDGE_EXACT);
    hs_graph_builder_edge(&b, pair, constant, HS_EDGE_EXACT);
    hs_graph_builder_edge(&b, list + 39, pair, HS_EDGE_EXACT);
    (void)hs_graph_builder_block(&b, 7, false); /* garbage */
    hs_graph_builder_leaf(&b, HS_ROOT_GLOBAL, "prog", "Main", "Main.list", list);
    hs_graph_builder_leaf(&b, HS_ROOT_GLOBAL, "prog", "Main", "Main.pair", pair);
    hs_graph_builder_leaf(&b, HS_ROOT_STACK, "thread 7", "#1 Main.f", "Main.f slot sp+8", list + 5);
    static struct hs_sampler sampler = {.kind = HS_SAMPLER_MEMPROF, .period_words = 100};
    b.facts.samplers = &sampler;
    b.facts.n_samplers = 1;
    b.facts.pid = 77;
    hs_graph_builder_sample(&b, 0, list + 7);
    hs_graph_builder_sample(&b, 1, list + 9);
    hs_graph_builder_sample(&b, 1234, text);
    hs_graph_builder_frame(&b, 0, "Main.read", "main.ml", 7);
    hs_graph_builder_frame(&b, 0, "Main", "main.ml", 70);
    b.samples[2].site = 0;
    hs_graph_builder_file(&b, snap);
    hs_graph_builder_fini(&b);
}

/* The backtraces of two samples, and a third that is not in the heap. */
static void make_trace(void)
{
    static struct trace_writer w;
    const uint64_t codes[] = {0x1000, 0x2000};
    trace_writer_init(&w, 77, 1000000, 0.01, "");
    trace_writer_location(&w, 0x1000, "Main", "main.ml", 70);
    trace_writer_location(&w, 0x2000, "Main.cons", "main.ml", 5);
    for (uint64_t i = 0; i < 3; i++)
        (void)trace_writer_alloc(&w, i, 2, 1, codes, 2);
    trace_writer_file(&w, trace);
}

static size_t count_entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;
    if (dir == NULL)
        return 0;
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

/* Removes what commands leave in a directory, which has no directories of its own. */
static void empty(const char *path)
{
    char name[512];
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (strcmp(name, snap) != 0 && strcmp(name, trace) != 0)
            (void)unlink(name);
    }
    closedir(dir);
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    return remove(path);
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static size_t read_whole(const char *path, char *bytes, size_t n)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t got = fread(bytes, 1, n, file);
    assert_true(got < n);
    fclose(file);
    return got;
}

/* Runs one command line as main does. The talk and, without -o, the product go nowhere. */
static hs_status run(const char *const *words, struct hs_error *err)
{
    char *argv[MAX_WORDS + 1] = {(char *)"heapsnap"};
    int argc = 1;
    struct hs_invocation inv = {0};
    struct hs_tool tool = {0};
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)words[argc - 1];
    hs_status status = hs_parse(argc, argv, &inv, err);
    if (status == HS_OK)
        status = hs_tool_init(&tool, &inv, err);
    if (status == HS_OK)
        status = inv.command->run(&tool, &inv, err);
    if (status == HS_OK)
        status = hs_tool_commit(&tool, err);
    hs_tool_fini(&tool);
    return status;
}

struct quiet {
    int out, err;
};

static struct quiet quiet_begin(void)
{
    fflush(stdout);
    fflush(stderr);
    struct quiet saved = {dup(STDOUT_FILENO), dup(STDERR_FILENO)};
    int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
    return saved;
}

static void quiet_end(struct quiet saved)
{
    fflush(stdout);
    fflush(stderr);
    dup2(saved.out, STDOUT_FILENO);
    dup2(saved.err, STDERR_FILENO);
    close(saved.out);
    close(saved.err);
}

/* ---- which of them fail ---- */

enum { MAX_DEPTH = 48, INNER = 10, OUTER = 3, N_TALLIES = 1 << 14 };

/* Where an allocation of the command is made: hashes of all calls, the inner and the outer ones. */
struct place {
    uint64_t whole, inner, outer;
};

struct tally {
    uint64_t key;
    unsigned n;
};

/* How often an allocation fails in one place, in all commands together and in each: what sanitizers
 * see of it they see at once, and they take three times as long. */
#ifdef HS_SANITIZED
enum { PER_PLACE = 1, PER_COMMAND = 1 };
#else
enum { PER_PLACE = 6, PER_COMMAND = 2 };
#endif

static struct place places[MAX_FAILURES];
static uint64_t noted_from; /* hs_alloc_count() before the command */
static bool is_noting;
static int base_depth; /* of the stack that all commands have in common */
static struct tally of_trial[N_TALLIES], of_all[N_TALLIES];

static unsigned *tally(struct tally *tallies, uint64_t key)
{
    size_t at = (size_t)(key % N_TALLIES);
    while (tallies[at].n != 0 && tallies[at].key != key)
        at = (at + 1) % N_TALLIES;
    tallies[at].key = key;
    return &tallies[at].n;
}

static uint64_t hash_calls(void *const *calls, int n, uint64_t seed)
{
    uint64_t hash = seed;
    for (int i = 0; i < n; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)calls[i]) * UINT64_C(0x9E3779B97F4A7C15) + (hash >> 29);
    return hash;
}

/* Notes the place of the allocation that was made last. */
static void note(uint64_t before)
{
    void *calls[MAX_DEPTH];
    uint64_t nth = hs_alloc_count() - noted_from;
    if (!is_noting || hs_alloc_count() == before || nth > MAX_FAILURES)
        return;
    int n = backtrace(calls, MAX_DEPTH) - base_depth;
    if (n < 1)
        return;
    int inner = n < INNER ? n : INNER, outer = n < OUTER ? n : OUTER;
    places[nth - 1] = (struct place){.whole = hash_calls(calls, n, 1),
                                     .inner = hash_calls(calls, inner, 2),
                                     .outer = hash_calls(calls + n - outer, outer, 3)};
}

/* The linker puts these before the allocator's own (--wrap). */
hs_status __real_hs_alloc(size_t n, size_t size, void **ret, struct hs_error *err);
hs_status __wrap_hs_alloc(size_t n, size_t size, void **ret, struct hs_error *err);
hs_status __wrap_hs_alloc(size_t n, size_t size, void **ret, struct hs_error *err)
{
    uint64_t before = hs_alloc_count();
    hs_status status = __real_hs_alloc(n, size, ret, err);
    note(before);
    return status;
}

hs_status __real_hs_grow(void **array, size_t *capacity, size_t needed, size_t size,
                         struct hs_error *err);
hs_status __wrap_hs_grow(void **array, size_t *capacity, size_t needed, size_t size,
                         struct hs_error *err);
hs_status __wrap_hs_grow(void **array, size_t *capacity, size_t needed, size_t size,
                         struct hs_error *err)
{
    uint64_t before = hs_alloc_count();
    hs_status status = __real_hs_grow(array, capacity, needed, size, err);
    note(before);
    return status;
}

hs_status __real_hs_pages_alloc(size_t n, size_t size, void **ret, struct hs_error *err);
hs_status __wrap_hs_pages_alloc(size_t n, size_t size, void **ret, struct hs_error *err);
hs_status __wrap_hs_pages_alloc(size_t n, size_t size, void **ret, struct hs_error *err)
{
    uint64_t before = hs_alloc_count();
    hs_status status = __real_hs_pages_alloc(n, size, ret, err);
    note(before);
    return status;
}

/* Of this machine, as any other: it is asked by each command. */
uint64_t __wrap_hs_memory_available_bytes(void);
uint64_t __wrap_hs_memory_available_bytes(void)
{
    return UINT64_C(4) << 30;
}

/* To find what the system allows reads some forty files, which took two thirds of the time: one
 * command does it, with every allocation of that failing, too. */
static bool asks_the_system;

void __real_hs_memory_bound(struct hs_memory_bound *ret);
void __wrap_hs_memory_bound(struct hs_memory_bound *ret);
void __wrap_hs_memory_bound(struct hs_memory_bound *ret)
{
    if (asks_the_system)
        __real_hs_memory_bound(ret);
    else
        *ret = (struct hs_memory_bound){UINT64_MAX, NULL};
}

/* One that was not noted always fails. */
static bool is_wanted(uint64_t nth, unsigned kind)
{
    static int is_long = -1;
    if (is_long < 0)
        is_long = getenv("HS_LONG") != NULL;
    if (is_long || nth > MAX_FAILURES || places[nth - 1].whole == 0)
        return true;
    const struct place *place = &places[nth - 1];
    unsigned *whole = tally(of_trial, place->whole), *outer = tally(of_trial, place->outer);
    unsigned *inner = tally(of_all, place->inner + kind);
    if (*whole >= PER_COMMAND || (*inner >= PER_PLACE && *outer >= PER_COMMAND))
        return false;
    ++*whole;
    ++*outer;
    ++*inner;
    return true;
}

/* `with_index`: an index is there; otherwise each run computes it anew. */
struct trial {
    const char *const *words;
    bool with_index, sticky, has_out;
    uint64_t n_failed;
    char reference[1 << 20];
    size_t n_reference;
};

static void prepare(const struct trial *t)
{
    struct hs_error err = HS_ERROR_INIT;
    static const char *const index[] = {"index", snap, NULL};
    empty(out_dir);
    remove_tree(export_dir);
    if (t->with_index)
        assert_int_equal(run(index, &err), HS_OK);
    else
        empty(work);
}

/* False when the command was done before the nth allocation. */
static bool fails_at(struct trial *t, uint64_t nth)
{
    static char found[sizeof t->reference];
    struct hs_error err = HS_ERROR_INIT;
    prepare(t);
    size_t n_fds = count_entries("/proc/self/fd");
    uint64_t before = hs_alloc_count();
    hs_alloc_fail_at(nth, t->sticky);
    hs_status status = run(t->words, &err);
    hs_alloc_fail_at(0, false);
    bool is_over = hs_alloc_count() - before < nth;
    assert_int_equal(count_entries("/proc/self/fd"), n_fds);
    assert_true(status == HS_OK || status == HS_LIMIT);
    if (status != HS_OK) {
        assert_false(is_over);
        assert_true(err.message[0] != 0);
        assert_int_equal(count_entries(out_dir), 0);
    } else if (t->has_out) { /* what failed was not needed: the answer is the same */
        assert_int_equal(count_entries(out_dir), 1);
        assert_int_equal(read_whole(out, found, sizeof found), t->n_reference);
        assert_memory_equal(found, t->reference, t->n_reference);
    }
    return !is_over;
}

/* Returns how many allocations the command makes. Those of one that makes `n_known` have failed
 * already: it does not look for an index. */
static uint64_t try_all(struct trial *t, uint64_t n_known)
{
    struct hs_error err = HS_ERROR_INIT;
    prepare(t);
    memset(places, 0, sizeof places);
    memset(of_trial, 0, sizeof of_trial);
    void *calls[MAX_DEPTH];
    base_depth = backtrace(calls, MAX_DEPTH);
    noted_from = hs_alloc_count();
    is_noting = true;
    hs_status status = run(t->words, &err);
    is_noting = false;
    uint64_t n = hs_alloc_count() - noted_from;
    assert_int_equal(status, HS_OK);
    if (n == n_known)
        return n;
    t->has_out = access(out, F_OK) == 0;
    t->n_reference = t->has_out ? read_whole(out, t->reference, sizeof t->reference) : 0;
    for (uint64_t nth = 1;; nth++) {
        assert_true(nth < MAX_FAILURES);
        if (!is_wanted(nth, t->sticky * 2u + t->with_index))
            continue;
        if (!fails_at(t, nth))
            return n;
        t->n_failed++;
    }
}

static void try_command(const char *const *words)
{
    static struct trial trial;
    uint64_t n[4], n_failed = 0;
    struct quiet saved = quiet_begin();
    asks_the_system = strcmp(words[0], "types") == 0;
    for (unsigned i = 0; i < 4; i++) {
        trial = (struct trial){.words = words, .with_index = i % 2 == 1, .sticky = i >= 2};
        n[i] = try_all(&trial, i % 2 == 1 ? n[i - 1] : 0);
        n_failed += trial.n_failed;
    }
    quiet_end(saved);
    print_message("%-12s %llu allocations without an index, %llu with one: %llu failed\n", words[0],
                  (unsigned long long)n[0], (unsigned long long)n[1], (unsigned long long)n_failed);
    assert_true(n[0] > 0 && n_failed > 0);
}

/* What `export --to graph` makes of the heap, for import. */
static int make_tables(void)
{
    struct hs_error err = HS_ERROR_INIT;
    const char *const words[] = {"export", snap, "--to", "graph", "-o", tables, NULL};
    struct quiet saved = quiet_begin();
    hs_status status = run(words, &err);
    quiet_end(saved);
    return status == HS_OK ? 0 : -1;
}

static int make_known(void)
{
    snprintf(known, sizeof known, "%s.known", work);
    FILE *file = fopen(known, "w");
    if (file == NULL)
        return -1;
    fputs("# known\ntype:nothing of this name\n", file);
    return fclose(file);
}

/* A program that a dump could read, whatever this test was built with: one of the system, that has
 * begun when it says what it is told. */
static int make_child(void)
{
    int ends[2];
    char byte = '.';

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDIN_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        execlp("cat", "cat", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    child_end = ends[0];
    snprintf(child_text, sizeof child_text, "%d", (int)child);
    return write(child_end, &byte, 1) == 1 && read(child_end, &byte, 1) == 1 ? 0 : -1;
}

static int setup(void **state)
{
    /* in memory where that can be: each run writes and syncs its product */
    snprintf(work, sizeof work, "%s/heapsnap-alloc-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(work) == NULL)
        return -1;
    snprintf(snap, sizeof snap, "%s/heap.snap", work);
    snprintf(out_dir, sizeof out_dir, "%s.out", work);
    snprintf(out, sizeof out, "%s/out", out_dir);
    snprintf(export_dir, sizeof export_dir, "%s.graph", work);
    snprintf(tables, sizeof tables, "%s.tables", work);
    (void)setenv("XDG_CACHE_HOME", "/dev/null", 1);
    if (mkdir(out_dir, 0700) != 0)
        return -1;
    snprintf(trace, sizeof trace, "%s/app.ctf", work);
    make_snap();
    make_trace();
    if (make_known() != 0 || make_child() != 0)
        return -1;
    return make_tables();
}

static int teardown(void **state)
{
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    (void)close(child_end);
    (void)unlink(known);
    remove_tree(export_dir);
    empty(tables);
    (void)rmdir(tables);
    empty(out_dir);
    (void)rmdir(out_dir);
    empty(work);
    (void)unlink(snap);
    (void)unlink(trace);
    return rmdir(work);
}

#define COMMAND(name, ...)                                      \
    static void name(void **state)                              \
    {                                                           \
        static const char *const words[] = {__VA_ARGS__, NULL}; \
        (void)state;                                            \
        try_command(words);                                     \
    }

COMMAND(info, "info", snap, "-o", out)
COMMAND(info_json, "info", snap, "--json", "-o", out)
COMMAND(roots, "roots", snap, "-o", out)
COMMAND(roots_json, "roots", snap, "--json", "-o", out)
COMMAND(roots_by_unit, "roots", snap, "--group-by", "unit", "-o", out)
COMMAND(dominators, "dominators", snap, "--json", "-o", out)
COMMAND(paths, "paths", snap, "--to", "1234", "-o", out)
COMMAND(paths_cut, "paths", snap, "--to", "1234", "--cut", "--json", "-o", out)
COMMAND(paths_disjoint, "paths", snap, "--to", "1234", "--disjoint", "--json", "-o", out)
COMMAND(types, "types", snap, "-o", out)
COMMAND(object, "object", snap, "1234", "-o", out)
COMMAND(object_root, "object", snap, "root:Main.list", "--json", "-o", out)
COMMAND(samples, "samples", snap, "--json", "-o", out)
COMMAND(samples_traced, "samples", snap, "--trace", trace, "-o", out)
COMMAND(samples_grouped, "samples", snap, "--trace", trace, "--group-by", "site,root,type", "-o",
        out)
COMMAND(roots_traced, "roots", snap, "--trace", trace, "-o", out)
COMMAND(roots_sites, "roots", snap, "--sites", "--json", "-o", out)
COMMAND(paths_traced, "paths", snap, "--to", "1", "--trace", trace, "--json", "-o", out)
COMMAND(paths_site, "paths", snap, "--to", "site:Main.cons", "--trace", trace, "-o", out)
COMMAND(paths_site_json, "paths", snap, "--to", "site:...Main", "--json", "-o", out)
COMMAND(leaks, "leaks", snap, "-o", out)
COMMAND(suspects, "suspects", snap, "--threshold=0", "-o", out)
COMMAND(leaks_json, "leaks", snap, "--suppressions", known, "--json", "-o", out)
COMMAND(doctor, "doctor", child_text)
COMMAND(version, "version")
COMMAND(export_graph, "export", snap, "--to", "graph", "-o", export_dir)
COMMAND(export_parquet, "export", snap, "--to", "parquet", "--no-addresses", "-o", export_dir)
COMMAND(export_v8, "export", snap, "--to", "v8", "-o", out)
COMMAND(export_folded, "export", snap, "--to", "folded", "-o", out)
COMMAND(export_pprof, "export", snap, "--to", "pprof", "-o", out)
COMMAND(export_speedscope, "export", snap, "--to", "speedscope", "-o", out)
COMMAND(export_heaptrack, "export", snap, "--to", "heaptrack", "-o", out)
COMMAND(export_callgrind, "export", snap, "--to", "callgrind", "-o", out)
COMMAND(export_ncdu, "export", snap, "--to", "ncdu", "-o", out)
COMMAND(export_perfetto, "export", snap, "--to", "perfetto", "-o", out)
COMMAND(export_hprof, "export", snap, "--to", "hprof", "-o", out)
COMMAND(export_dot, "export", snap, "--to", "dot", "--of", "root:Main.list", "-o", out)
COMMAND(export_sqlite, "export", snap, "--to", "sqlite", "-o", out)
COMMAND(trace_export, "trace", "export", trace, "--to", "pprof", "-o", out)
COMMAND(report, "report", snap, "-o", out)
COMMAND(import_v8, "import", "--from", "v8", IMPORTS "v8/all_kinds.heapsnapshot", "-o", out)
COMMAND(import_hprof, "import", "--from", "hprof", IMPORTS "hprof/id8.hprof", "-o", out)
COMMAND(import_graph, "import", "--from", "graph", tables, "-o", out)
COMMAND(make_index, "index", snap)
COMMAND(deep_check, "check", snap)
COMMAND(help, "help", "roots")
COMMAND(completion, "completion", "zsh")

static const struct CMUnitTest exports[] = {
    cmocka_unit_test(export_folded),     cmocka_unit_test(export_pprof),
    cmocka_unit_test(export_speedscope), cmocka_unit_test(export_heaptrack),
    cmocka_unit_test(export_callgrind),  cmocka_unit_test(export_ncdu),
    cmocka_unit_test(export_perfetto),   cmocka_unit_test(export_hprof),
    cmocka_unit_test(export_dot),        cmocka_unit_test(export_sqlite),
    cmocka_unit_test(trace_export),
};

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(info),           cmocka_unit_test(info_json),
        cmocka_unit_test(roots),          cmocka_unit_test(roots_json),
        cmocka_unit_test(roots_by_unit),  cmocka_unit_test(dominators),
        cmocka_unit_test(paths),          cmocka_unit_test(paths_disjoint),
        cmocka_unit_test(paths_cut),      cmocka_unit_test(types),
        cmocka_unit_test(object),         cmocka_unit_test(object_root),
        cmocka_unit_test(samples),        cmocka_unit_test(export_graph),
        cmocka_unit_test(export_parquet), cmocka_unit_test(export_v8),
        cmocka_unit_test(report),         cmocka_unit_test(import_v8),
        cmocka_unit_test(import_hprof),   cmocka_unit_test(import_graph),
        cmocka_unit_test(make_index),     cmocka_unit_test(deep_check),
        cmocka_unit_test(help),           cmocka_unit_test(completion),
        cmocka_unit_test(leaks),          cmocka_unit_test(leaks_json),
        cmocka_unit_test(suspects),       cmocka_unit_test(doctor),
        cmocka_unit_test(version),        cmocka_unit_test(samples_traced),
        cmocka_unit_test(roots_traced),   cmocka_unit_test(samples_grouped),
        cmocka_unit_test(roots_sites),    cmocka_unit_test(paths_traced),
        cmocka_unit_test(paths_site),     cmocka_unit_test(paths_site_json),
    };
    int n_failed = cmocka_run_group_tests(exports, setup, teardown);
    return n_failed + cmocka_run_group_tests(tests, setup, teardown);
}
