/* links: hs_ocaml hs_runtimes hs_process hs_symbols */
#include "unit.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live_child.h"
#include "ocaml/names/private.h"
#include "symbols/elf.h"

static struct hs_error err;
static char directory[64], helper[PATH_MAX];

/* Every integer in the fixture is a variable's own: the value names it. What the helper calls slot
 * n must hold the value that belongs to that name. */
static const char probe_mli[] = "val b : int\n"
                                "exception Bad\n"
                                "module Bad : sig val y : int end\n"
                                "val shadowed : int\n"
                                "external size : string -> int = \"%string_length\"\n"
                                "val prim : string -> int\n"
                                "class c : object method m : int end\n"
                                "val a : int\n"
                                "val included_public : int\n"
                                "module F (X : sig end) : sig val z : int end\n"
                                "val run : unit -> unit\n";
static const char probe_ml[] =
    "let v = Sys.opaque_identity\n"
    "let a = v 101\n"
    "let hidden = v 102\n"
    "let shadowed = v 103\n"
    "let shadowed = shadowed + v 1\n"
    "exception Bad\n"
    "exception Own\n"
    "module Bad = struct let x = v 105 let y = v 106 module Deep = struct let d = v 107 end end\n"
    "let (p, q) = (v 108, v 109)\n"
    "external size : string -> int = \"%string_length\"\n"
    "external prim : string -> int = \"%string_length\"\n"
    "class c = object method m = 1 end\n"
    "include struct let included_public = v 110 let included = v 111 end\n"
    "include (struct let constrained = v 112 let gone = v 113 end : sig val constrained : int "
    "end)\n"
    "module _ = struct let nameless = v 114 end\n"
    "open struct let opened = v 115 end\n"
    "module rec R : sig val r : int end = struct let r = 116 end\n"
    "module F (X : sig end) = struct let z = v 117 end\n"
    "module Alias = List\n"
    "type t = ..\n"
    "type t += One | Two of int\n"
    "let b = v 118\n"
    "let run () = print_string \"ready\\n\"; flush stdout;\n"
    "  while true do Unix.sleep 1000 done; exit (hidden + p + q + included + opened)\n"
    "let () = run ()\n";

static const struct {
    const char *name;
    unsigned value;
} truth[] = {
    {"a", 101},          {"hidden", 102},      {"Bad.x", 105}, {"Bad.y", 106},
    {"Bad.Deep.d", 107}, {"p", 108},           {"q", 109},     {"included_public", 110},
    {"included", 111},   {"constrained", 112}, {"gone", 113},  {"opened", 115},
    {"b", 118},
};

static void put_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Runs in the directory, quietly; the exit status. */
static int run(const char *const *arguments)
{
    int report;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        if (chdir(directory) == 0)
            execvp(arguments[0], (char *const *)arguments);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &report, 0), pid);
    return WIFEXITED(report) ? WEXITSTATUS(report) : -1;
}

static bool compile(const char *output)
{
    const char *const arguments[] = {"ocamlfind", "ocamlopt", "-bin-annot", "-package",
                                     "unix",      "-linkpkg", "probe.mli",  "probe.ml",
                                     "-o",        output,     NULL};
    return run(arguments) == 0;
}

/* The helper lies in ../../bin beside the tests. */
static bool find_helper(void)
{
    char own[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    if (n <= 0)
        return false;
    own[n] = '\0';
    *strrchr(own, '/') = '\0';
    int k = snprintf(helper, sizeof helper, "%s/../../bin/heapsnap-ocaml-names", own);
    return k > 0 && (size_t)k < sizeof helper && access(helper, X_OK) == 0;
}

static int make_directory(void **state)
{
    snprintf(directory, sizeof directory, "/tmp/hs_names_request_test.XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static int remove_directory(void **state)
{
    const char *const arguments[] = {"rm", "-rf", directory, NULL};
    return run(arguments);
}

/* Starts the program in the directory and waits for its word. */
static pid_t start(const char *name)
{
    char path[128], word[8] = "";
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    snprintf(path, sizeof path, "%s/%s", directory, name);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(ready[1], 1);
        if (chdir("/") == 0)
            execl(path, path, (char *)NULL);
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], word, 6), 6);
    close(ready[0]);
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void ask(pid_t pid, struct hs_target *target, struct hs_objects *objects,
                struct hs_names *names)
{
    const char *const dirs[] = {directory};
    struct hs_names_request request = {
        .helper = helper, .dirs = dirs, .n_dirs = 1, .timeout_ns = 60000000000};
    if (hs_target_open(pid, target, &err) != HS_OK ||
        hs_objects_open(objects, target, &err) != HS_OK ||
        hs_names_run_helper(&request, target, objects, names, &err) != HS_OK)
        fail_msg("%s", err.message);
}

static bool slot_of(const struct hs_names *names, const char *wanted, uint32_t *ret_slot,
                    struct hs_name *ret)
{
    for (uint32_t slot = 0; slot < 200; slot++)
        if (hs_names_find(names, "Probe", slot, ret) && strcmp(ret->name, wanted) == 0) {
            *ret_slot = slot;
            return true;
        }
    return false;
}

static uint64_t read_field(struct hs_target *target, const struct hs_objects *objects,
                           uint32_t slot)
{
    struct hs_live_symbol block;
    uint64_t value;
    assert_true(hs_objects_find(objects, "camlProbe", &block));
    assert_int_equal(hs_target_read(target, block.address + (hs_addr)slot * 8, &value, 8, &err),
                     HS_OK);
    return value;
}

static void names_are_those_of_the_values(void **state)
{
    struct hs_target target;
    struct hs_objects objects = {0};
    struct hs_names names = {0};
    struct hs_name name;
    uint32_t slot;

    put_file("probe.mli", probe_mli);
    put_file("probe.ml", probe_ml);
    if (!find_helper() || !compile("probe"))
        skip(); /* no OCaml here */
    pid_t pid = start("probe");
    ask(pid, &target, &objects, &names);
    assert_string_equal(names.note, "");
    for (size_t i = 0; i < sizeof truth / sizeof *truth; i++) {
        if (!slot_of(&names, truth[i].name, &slot, &name))
            fail_msg("no slot is called '%s'", truth[i].name);
        if (read_field(&target, &objects, slot) != 2 * (uint64_t)truth[i].value + 1)
            fail_msg("'%s' is not slot %u", truth[i].name, slot);
        assert_string_equal(name.file, "probe.ml");
    }
    /* a nameless module has slots, too, but they are never filled */
    assert_true(slot_of(&names, "_.nameless", &slot, &name));
    /* the exported one of two of the same name, and the lines of the source */
    assert_true(slot_of(&names, "shadowed", &slot, &name));
    assert_int_equal(read_field(&target, &objects, slot), 2 * 104 + 1);
    assert_int_equal(name.line, 5);
    assert_true(slot_of(&names, "Bad.Deep.d", &slot, &name));
    assert_int_equal(name.line, 8);
    hs_names_fini(&names);
    hs_objects_close(&objects);
    hs_target_close(&target);
    end(pid);
}

static void files_of_another_build_are_refused(void **state)
{
    struct hs_target target;
    struct hs_objects objects = {0};
    struct hs_names names = {0};
    struct hs_name name;
    uint32_t slot;
    char changed[sizeof probe_ml + 64];

    put_file("probe.mli", probe_mli);
    put_file("probe.ml", probe_ml);
    if (!find_helper() || !compile("probe"))
        skip();
    pid_t pid = start("probe");
    /* the same interface, one more private variable: only the block's size tells */
    snprintf(changed, sizeof changed, "let first = Sys.opaque_identity 1\n%s", probe_ml);
    put_file("probe.ml", changed);
    assert_true(compile("probe2"));
    ask(pid, &target, &objects, &names);
    assert_true(slot_of(&names, "b", &slot, &name)); /* exported: still certain */
    assert_int_equal(read_field(&target, &objects, slot), 2 * 118 + 1);
    assert_false(slot_of(&names, "hidden", &slot, &name));
    assert_true(names.n_partial >= 1);
    hs_names_fini(&names);
    hs_objects_close(&objects);
    hs_target_close(&target);
    /* another interface: nothing of it counts */
    put_file("probe.mli", "val run : unit -> unit\n");
    assert_true(compile("probe3"));
    ask(pid, &target, &objects, &names);
    assert_false(slot_of(&names, "b", &slot, &name));
    assert_int_equal(names.n_stale, 1);
    hs_names_fini(&names);
    hs_objects_close(&objects);
    hs_target_close(&target);
    end(pid);
}

static void run_helper(const char *bytes, size_t n, struct hs_buffer *out, char *note)
{
    struct hs_names_process process = {.program = helper,
                                       .what = "source names",
                                       .input = bytes,
                                       .n_input_bytes = n,
                                       .uid = geteuid(),
                                       .gid = getegid(),
                                       .timeout_ns = 60000000000};
    assert_int_equal(hs_names_run(&process, out, note, 160, &err), HS_OK);
}

/* The list of units comes from the target's memory: no bytes of it may harm the helper. */
static void a_hostile_list_of_units_is_survived(void **state)
{
    static const unsigned char good[] = {
        0x84, 0x95, 0xa6, 0xbe, 0,   0,   0,   47,  0,    0,    0,    6,    0,    0,   0,   18,
        0,    0,    0,    17, /* header */
        0xa0, 0xc0, 0x25, 'P',  'r', 'o', 'b', 'e', 0x90, 0x30, 'd',  'i',  'g',  'e', 's', 't',
        '-',  '-',  '-',  '-',  '-', '-', '-', '-', '-',  '-',  0x40, 0xa0, 0x25, 'P', 'r', 'o',
        'b',  'e',  0x40, 0x40, 0,   0,   0,   0,   0,    0,    0,    0,    0,    0,   0,
    };
    unsigned seed = 5;
    if (!find_helper())
        skip();
    for (int round = 0; round < 12; round++) {
        struct hs_buffer question = {0}, answer = {0};
        char note[160];
        assert_int_equal(hs_buffer_reserve(&question, 400 * 80, &err), HS_OK);
        for (int k = 0; k < 300; k++) { /* many lists in one question: the helper starts slowly */
            unsigned char bytes[sizeof good];
            memcpy(bytes, good, sizeof good);
            for (int d = 0; d < k % 5; d++) {
                seed = seed * 1103515245 + 12345;
                bytes[seed / 13 % sizeof good] = (unsigned char)(seed >> 16);
            }
            char line[32];
            int n = snprintf(line, sizeof line, "map %zu\n", sizeof good);
            hs_buffer_put_bytes(&question, line, (size_t)n);
            hs_buffer_put_bytes(&question, bytes, sizeof good);
        }
        run_helper((const char *)question.bytes, question.n_bytes, &answer, note);
        assert_string_equal(note, "");
        assert_true(answer.n_bytes > 6);
        hs_buffer_fini(&question);
        hs_buffer_fini(&answer);
    }
}

static void a_malformed_question_is_refused(void **state)
{
    static const char *const bad[] = {
        "x\n", "map -1\n", "map 99999999999\n", "slots A\n", "slots A x\n", "what 1\n", "map x\n"};
    if (!find_helper())
        skip();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hs_buffer out = {0};
        char note[160];
        run_helper(bad[i], strlen(bad[i]), &out, note);
        assert_non_null(strstr(note, "exit status 1"));
        assert_int_equal(out.n_bytes, 0);
        hs_buffer_fini(&out);
    }
}

static void body_sleep(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;)
        pause();
}

static void asks_for_the_right_directories(void **state)
{
    struct live_child child = live_child_start(body_sleep);
    const char *const dirs[] = {"/first", "/with\nnewline", "/second"};
    struct hs_names_request request = {.helper = "x", .dirs = dirs, .n_dirs = 3};
    struct hs_target target;
    struct hs_objects objects = {0};
    struct hs_buffer out = {0};
    char own[PATH_MAX], line[PATH_MAX + 8];

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    assert_int_equal(hs_objects_open(&objects, &target, &err), HS_OK);
    assert_int_equal(hs_names_write_request(&request, &target, &objects, &out, &err), HS_OK);
    assert_int_equal(hs_buffer_reserve(&out, 1, &err), HS_OK);
    hs_buffer_put_u8(&out, 0);
    const char *text = (const char *)out.bytes;
    assert_ptr_equal(strstr(text, "dir /first\ndir /second\n"), text);
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    assert_true(n > 0);
    own[n] = '\0';
    *strrchr(own, '/') = '\0';
    snprintf(line, sizeof line, "dir %s\n", own);
    assert_non_null(strstr(text, line));
    assert_null(strstr(text, "map ")); /* no OCaml here */
    hs_buffer_fini(&out);
    hs_objects_close(&objects);
    hs_target_close(&target);
    live_child_end(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_those_of_the_values, make_directory,
                                        remove_directory),
        cmocka_unit_test_setup_teardown(files_of_another_build_are_refused, make_directory,
                                        remove_directory),
        cmocka_unit_test(a_hostile_list_of_units_is_survived),
        cmocka_unit_test(a_malformed_question_is_refused),
        cmocka_unit_test(asks_for_the_right_directories),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
