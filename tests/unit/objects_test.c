/* links: hs_runtimes hs_process hs_symbols */
#include "unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "live_child.h"
#include "process/objects.h"
#include "symbols/elf.h"

static struct hs_error err;

/* Exported by no other object. */
int objects_test_marker_variable = 4711;
__attribute__((noinline, used)) void objects_test_marker_function(void);
void objects_test_marker_function(void)
{
    __asm__ volatile("");
}

static void body_sleep(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;)
        pause();
}

static void open_all(const struct live_child *child, struct hs_target *target,
                     struct hs_objects *objects)
{
    if (hs_target_open(child->pid, target, &err) != HS_OK ||
        hs_objects_open(objects, target, &err) != HS_OK)
        fail_msg("%s", err.message);
}

static void finds_symbols_at_their_run_time_addresses(void **state)
{
    struct live_child child = live_child_start(body_sleep);
    struct hs_target target;
    struct hs_objects objects = {0};
    struct hs_live_symbol found;

    open_all(&child, &target, &objects);
    assert_true(objects.n >= 3);
    assert_true(objects.objects[0].is_executable);
    assert_string_equal(objects.objects[0].name, "objects_test");
    for (size_t i = 1; i < objects.n; i++) {
        assert_false(objects.objects[i].is_executable);
        assert_true(i == 1 || objects.objects[i - 1].end <= objects.objects[i].begin);
    }
    /* the child is our copy: its addresses are ours */
    assert_true(hs_objects_find(&objects, "objects_test_marker_variable", &found));
    assert_true(found.address == (hs_addr)(uintptr_t)&objects_test_marker_variable);
    assert_int_equal(found.size, sizeof objects_test_marker_variable);
    assert_false(found.is_code);
    assert_ptr_equal(found.object, &objects.objects[0]);
    assert_true(hs_objects_at(&objects, (hs_addr)(uintptr_t)objects_test_marker_function, &found));
    assert_string_equal(found.name, "objects_test_marker_function");
    assert_true(found.is_code);
    assert_true(hs_objects_find(&objects, "gnu_get_libc_version", &found));
    assert_true(found.address == (hs_addr)(uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
    assert_non_null(strstr(found.object->name, "libc"));
    assert_false(hs_objects_find(&objects, "no such symbol", &found));
    assert_false(hs_object_find(&objects.objects[0], "qsort_r_no", &found));
    assert_false(hs_objects_at(&objects, 0, &found));
    assert_null(hs_objects_object_at(&objects, UINT64_MAX));
    hs_objects_close(&objects);
    hs_objects_close(&objects);
    hs_objects_close(NULL);
    hs_target_close(&target);
    live_child_end(&child);
}

/* A copy of a library under a name of its own, removed once it is loaded. */
static char library[] = "/tmp/hs_objects_test_plugin.XXXXXX.cmxs";

static void body_load_later(struct live_shared *shared)
{
    live_child_ready(shared);
    while (atomic_load(&shared->end) == 0)
        live_sleep_us(1000);
    atomic_store(&shared->begin, (uint64_t)(uintptr_t)dlopen(library, RTLD_NOW));
    for (;;)
        pause();
}

static void copy_library(void)
{
    char from[PATH_MAX], command_of_copy[] = "/bin/cp";
    Dl_info info;
    int fd = mkstemps(library, 5);
    assert_true(fd >= 0);
    close(fd);
    assert_true(dladdr(dlsym(RTLD_DEFAULT, "cos"), &info) != 0 ||
                dladdr(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"), &info) != 0);
    snprintf(from, sizeof from, "%s", "/lib/x86_64-linux-gnu/libm.so.6");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        execl(command_of_copy, "cp", from, library, (char *)NULL);
    int report;
    assert_int_equal(waitpid(pid, &report, 0), pid);
    assert_int_equal(report, 0);
}

static void update_adds_what_was_loaded_since(void **state)
{
    struct hs_target target;
    struct hs_objects objects = {0};
    struct hs_live_symbol found;

    if (access("/lib/x86_64-linux-gnu/libm.so.6", R_OK) != 0)
        skip();
    copy_library();
    struct live_child child = live_child_start(body_load_later);
    open_all(&child, &target, &objects);
    size_t n = objects.n;
    atomic_store(&child.shared->end, 1);
    for (int i = 0; i < 5000 && atomic_load(&child.shared->begin) == 0; i++)
        live_sleep_us(1000);
    unlink(library);
    assert_true(atomic_load(&child.shared->begin) != 0);
    assert_int_equal(hs_target_stop(&target, &err), HS_OK);
    assert_int_equal(hs_objects_update(&objects, &target, &err), HS_OK);
    hs_target_resume(&target);
    if (geteuid() == 0) { /* a deleted file is reached through map_files, which is root's */
        const struct hs_object *plugin = NULL;
        assert_true(objects.n > n);
        for (size_t i = 0; i < objects.n; i++)
            if (strcmp(objects.objects[i].path, library) == 0)
                plugin = &objects.objects[i];
        assert_non_null(plugin);
        assert_null(strstr(plugin->name, ".cmxs"));
        assert_true(hs_object_find(plugin, "cbrt", &found));
        assert_ptr_equal(hs_objects_object_at(&objects, found.address), plugin);
    }
    n = objects.n;
    assert_int_equal(hs_objects_update(&objects, &target, &err), HS_OK);
    assert_int_equal(objects.n, n);
    hs_objects_close(&objects);
    hs_target_close(&target);
    live_child_end(&child);
}

static const char *const maths = "/lib/x86_64-linux-gnu/libm.so.6";

/* Loads a library; counters: 0 the load address, 1 where cbrt is. */
static uint8_t *load_maths(struct live_shared *shared)
{
    void *cbrt_at = dlsym(dlopen(maths, RTLD_NOW), "cbrt");
    Dl_info info;
    if (cbrt_at == NULL || dladdr(cbrt_at, &info) == 0)
        abort();
    atomic_store(&shared->counters[0], (uint64_t)(uintptr_t)info.dli_fbase);
    atomic_store(&shared->counters[1], (uint64_t)(uintptr_t)cbrt_at);
    return info.dli_fbase;
}

static void body_without_head(struct live_shared *shared)
{
    if (munmap(load_maths(shared), 4096) != 0)
        abort();
    live_child_ready(shared);
    for (;;)
        pause();
}

/* As V8 does with its builtins. */
static void body_with_code_twice(struct live_shared *shared)
{
    (void)load_maths(shared);
    uint64_t code = atomic_load(&shared->counters[1]) & ~UINT64_C(4095);
    off_t offset = (off_t)(code - atomic_load(&shared->counters[0]));
    int fd = open(maths, O_RDONLY);
    /* Where no other mapping follows: the file's others would be taken for more of this one. */
    if (mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ||
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, offset) == MAP_FAILED ||
        mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        abort();
    close(fd);
    live_child_ready(shared);
    for (;;)
        pause();
}

/* Whatever of it is mapped, it is one object, with its names, and nothing is missing. */
static void expect_maths(live_body *body)
{
    struct live_child child = live_child_start(body);
    struct hs_target target;
    struct hs_objects objects = {0};
    struct hs_live_symbol found;
    char missing[512];
    size_t n = 0;
    open_all(&child, &target, &objects);
    for (size_t i = 0; i < objects.n; i++)
        n += strcmp(objects.objects[i].name, "libm.so.6") == 0;
    assert_int_equal(n, 1);
    assert_true(hs_objects_find(&objects, "cbrt", &found));
    assert_true(found.address == atomic_load(&child.shared->counters[1]));
    assert_ptr_equal(hs_objects_object_at(&objects, found.address), found.object);
    if (hs_objects_missing(&objects, 0, missing, sizeof missing))
        fail_msg("%s", missing);
    hs_objects_close(&objects);
    hs_target_close(&target);
    live_child_end(&child);
}

static void a_file_without_its_first_page_has_names(void **state)
{
    if (access(maths, R_OK) != 0)
        skip();
    expect_maths(body_without_head);
}

static void code_that_is_mapped_twice_is_no_other_file(void **state)
{
    if (access(maths, R_OK) != 0)
        skip();
    expect_maths(body_with_code_twice);
}

static void body_by_linker(struct live_shared *shared)
{
    live_child_ready(shared);
    execl("/lib64/ld-linux-x86-64.so.2", "ld.so", "/bin/sleep", "60", (char *)NULL);
}

static void a_program_run_by_the_linker_is_found(void **state)
{
    struct live_child child = live_child_start(body_by_linker);
    struct hs_target target;
    struct hs_objects objects = {0};

    if (access("/lib64/ld-linux-x86-64.so.2", X_OK) != 0)
        skip();
    assert_true(live_wait_state(child.pid, 'S'));
    live_sleep_us(100000);
    open_all(&child, &target, &objects);
    assert_string_equal(objects.objects[0].name, "sleep");
    assert_true(objects.objects[0].is_executable);
    int n_executables = 0;
    for (size_t i = 0; i < objects.n; i++) {
        n_executables += objects.objects[i].is_executable;
        assert_true(i < 2 || objects.objects[i - 1].begin < objects.objects[i].begin);
    }
    assert_int_equal(n_executables, 1);
    hs_objects_close(&objects);
    hs_target_close(&target);
    live_child_end(&child);
}

static char server[] = "/tmp/hs_objects_server.XXXXXX";

static void body_by_link(struct live_shared *shared)
{
    live_child_ready(shared);
    execl(server, strrchr(server, '/') + 1, "60", (char *)NULL);
}

static void a_program_is_called_as_it_was_started(void **state)
{
    int fd = mkstemp(server);
    assert_true(fd >= 0);
    (void)close(fd);
    (void)unlink(server);
    assert_int_equal(symlink("/bin/sleep", server), 0);
    struct live_child child = live_child_start(body_by_link);
    struct hs_target target;
    struct hs_objects objects = {0};
    assert_true(live_wait_state(child.pid, 'S'));
    live_sleep_us(100000);
    open_all(&child, &target, &objects);
    assert_string_equal(objects.objects[0].name, strrchr(server, '/') + 1);
    assert_non_null(strstr(objects.objects[0].path, "sleep"));
    hs_objects_close(&objects);
    hs_target_close(&target);
    live_child_end(&child);
    (void)unlink(server);
}

static void its_name_is_what_two_sources_say(void **state)
{
    static const struct {
        const char *command, *name, *expected;
    } cases[] = {
        {"redis-server *:7399", "redis-server", "redis-server"},
        {"/usr/bin/redis-server *:7399", "redis-server", "redis-server"},
        {"redis-server *:7399", "redis-server *:", "redis-server"},
        {"a b", "a b", "a"},
        {"/opt/a_very_long_name_of_a_server -x", "a_very_long_nam", "a_very_long_name_of_a_server"},
        {"/usr/bin/python3 ./tool.py", "tool.py", "objects_test"},
        {"nginx: master process", "nginx", "objects_test"},
        {"-sh", "sh", "objects_test"},
        {"server", "serve", "objects_test"},
        {"serve", "server", "objects_test"},
        {"server", "", "objects_test"},
        {"", "server", "objects_test"},
        {"/bin/", "bin", "objects_test"},
        {"ld.so /bin/server", "ld.so", "objects_test"},
    };
    struct live_child child = live_child_start(body_sleep);
    struct hs_target target;
    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hs_objects objects = {0};
        hs_free(target.command);
        assert_int_equal(hs_strdup(cases[i].command, &target.command, &err), HS_OK);
        (void)snprintf(target.name, sizeof target.name, "%s", cases[i].name);
        assert_int_equal(hs_objects_open(&objects, &target, &err), HS_OK);
        assert_string_equal(objects.objects[0].name, cases[i].expected);
        hs_objects_close(&objects);
    }
    hs_target_close(&target);
    live_child_end(&child);
}

static void every_failed_allocation(void **state)
{
    struct live_child child = live_child_start(body_sleep);
    struct hs_target target;

    assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
    FAIL_EACH (each, .mode = FAIL_REST, .at_least = 3) {
        struct hs_objects objects = {0};
        (void)FAIL_EACH_TRY(each, hs_objects_open(&objects, &target, &err));
        hs_objects_close(&objects);
    }
    hs_target_close(&target);
    live_child_end(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_symbols_at_their_run_time_addresses),
        cmocka_unit_test(update_adds_what_was_loaded_since),
        cmocka_unit_test(a_file_without_its_first_page_has_names),
        cmocka_unit_test(code_that_is_mapped_twice_is_no_other_file),
        cmocka_unit_test(a_program_run_by_the_linker_is_found),
        cmocka_unit_test(a_program_is_called_as_it_was_started),
        cmocka_unit_test(its_name_is_what_two_sources_say),
        cmocka_unit_test(every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
