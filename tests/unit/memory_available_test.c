/* links: hs_base */
#include "unit.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/budget.h"

/* A made-up machine: proc/ and the mount points of two hierarchies, all below one directory. */
static char root[64];

static void make_directory(const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

/* '@' in the text stands for the directory. */
static void put(const char *name, const char *text)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '@')
            assert_true(fputs(root, file) >= 0);
        else
            assert_true(fputc(*at, file) != EOF);
    }
    assert_int_equal(fclose(file), 0);
}

static uint64_t available(void)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/proc", root);
    return hs_memory_available_under(path);
}

static int make_machine(void **state)
{
    static const char *const names[] = {
        "proc",     "proc/self",  "v1", "v1/outer", "v1/outer/inner",
        "my mount", "my mount/a", "v2", "v2/slice", "v2/slice/scope",
    };
    (void)snprintf(root, sizeof root, "%s", "/tmp/hs_memory_test.XXXXXX");
    if (mkdtemp(root) == NULL)
        return -1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        make_directory(names[i]);
    return 0;
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place)
{
    return remove(path);
}

static int remove_machine(void **state)
{
    return nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void knows_nothing(void **state)
{
    assert_true(available() == UINT64_MAX);
    put("proc/meminfo", "MemTotal:  1 kB\n");
    assert_true(available() == UINT64_MAX);
    put("proc/meminfo", "MemAvailable: 99999999999999999999999 kB\n");
    assert_true(available() == UINT64_MAX);
    put("proc/meminfo", "");
    assert_true(available() == UINT64_MAX);
}

static void reads_meminfo(void **state)
{
    put("proc/meminfo", "MemTotal:  10000 kB\nMemFree: 5 kB\nMemAvailable:    3000 kB\n");
    assert_int_equal(available(), 3000 * 1024);
}

static void reads_all_groups_of_version_1(void **state)
{
    put("proc/meminfo", "MemAvailable:    100000000 kB\n");
    put("proc/self/cgroup", "9:cpu,cpuacct:/wrong\n4:blkio,memory:/outer/inner\n0::/\n");
    put("proc/self/mountinfo",
        "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
        "32 31 0:29 / @/v2 rw,relatime shared:4 - cgroup cgroup rw,cpu\n"
        "35 31 0:32 / @/v1 rw,relatime shared:4 master:2 - cgroup cgroup rw,blkio,memory\n");
    assert_int_equal(available(), 100000000ULL * 1024);
    put("v1/memory.limit_in_bytes", "9223372036854771712\n");
    put("v1/memory.usage_in_bytes", "123\n");
    assert_int_equal(available(), 100000000ULL * 1024);
    put("v1/outer/memory.limit_in_bytes", "50000\n");
    put("v1/outer/memory.usage_in_bytes", "20000\n");
    assert_int_equal(available(), 30000);
    put("v1/outer/memory.stat", "inactive_file 1\ntotal_inactive_file 4000\n");
    assert_int_equal(available(), 34000);
    put("v1/outer/inner/memory.limit_in_bytes", "10000\n");
    put("v1/outer/inner/memory.usage_in_bytes", "9000\n");
    assert_int_equal(available(), 1000);
    put("v1/outer/inner/memory.usage_in_bytes", "10001\n");
    assert_int_equal(available(), 0);
}

/* A container sees its group as the mount's root; spaces of a mount point are escaped. */
static void follows_mounts_of_a_part(void **state)
{
    put("proc/meminfo", "MemAvailable:    100000000 kB\n");
    put("proc/self/mountinfo", "35 31 0:32 /box @/my\\040mount rw - cgroup cgroup rw,memory\n");
    put("my mount/memory.limit_in_bytes", "5000\n");
    put("my mount/a/memory.limit_in_bytes", "600\n");
    put("proc/self/cgroup", "4:memory:/box/a\n");
    assert_int_equal(available(), 600);
    put("proc/self/cgroup", "4:memory:/box\n");
    assert_int_equal(available(), 5000);
    put("proc/self/cgroup", "4:memory:/boxer/a\n");
    assert_int_equal(available(), 5000);
    put("proc/self/cgroup", "4:memory:/elsewhere\n");
    assert_int_equal(available(), 5000);
}

static void reads_version_2(void **state)
{
    put("proc/meminfo", "MemAvailable:    100000000 kB\n");
    put("proc/self/cgroup", "0::/slice/scope\n");
    put("proc/self/mountinfo", "35 31 0:32 / @/v2 rw - cgroup2 cgroup2 rw,nsdelegate\n");
    put("v2/slice/scope/memory.max", "max\n");
    put("v2/slice/scope/memory.current", "700\n");
    assert_int_equal(available(), 100000000ULL * 1024);
    put("v2/slice/memory.max", "9000\n");
    put("v2/slice/memory.current", "3000\n");
    put("v2/slice/memory.stat", "anon 5\ninactive_file 500\n");
    assert_int_equal(available(), 6500);
    put("v2/slice/scope/memory.high", "1000\n");
    assert_int_equal(available(), 300);
}

static void looks_quickly_at_the_groups_with_a_limit(void **state)
{
    struct hs_memory_groups groups;
    char path[128];
    put("proc/meminfo", "MemAvailable:    100000000 kB\n");
    put("proc/self/cgroup", "0::/slice/scope\n");
    put("proc/self/mountinfo", "35 31 0:32 / @/v2 rw - cgroup2 cgroup2 rw,nsdelegate\n");
    put("v2/slice/scope/memory.max", "max\n");
    put("v2/slice/memory.max", "9000\n");
    put("v2/slice/memory.current", "3000\n");
    put("v2/slice/memory.stat", "anon 5\ninactive_file 500\n");
    (void)snprintf(path, sizeof path, "%s/proc", root);
    assert_int_equal(hs_memory_groups_find(path, "self", &groups), 6500);
    assert_int_equal(groups.n, 1);
    assert_int_equal(hs_memory_available_at_least(&groups), 6000);
    put("v2/slice/memory.current", "8999\n");
    assert_int_equal(hs_memory_available_at_least(&groups), 1);
    put("v2/slice/memory.current", "10000\n");
    assert_int_equal(hs_memory_available_at_least(&groups), 0);
    put("v2/slice/memory.max", "max\n");
    assert_int_equal(hs_memory_available_at_least(&groups), 100000000ULL * 1024);
    put("proc/meminfo", "MemAvailable:    7 kB\n");
    assert_int_equal(hs_memory_available_at_least(&groups), 7 * 1024);
    groups.has_more = true;
    assert_int_equal(hs_memory_available_at_least(&groups), 0);
}

static void bears_nonsense(void **state)
{
    put("proc/meminfo", "MemAvailable:    2000 kB");
    put("proc/self/cgroup", "\n:\n0:\n::::\nmemory\n4:memory:/outer/inner");
    put("proc/self/mountinfo", "\n1\n1 2 3\n1 2 3 4 5\n1 2 3 4 5 6\n1 2 3 4 5 6 -\n"
                               "1 2 3 4 5 6 - cgroup\n1 2 3 4 5 6 - cgroup x\n"
                               "1 2 3 \\ \\77 6 - cgroup x memory");
    assert_int_equal(available(), 2000 * 1024);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(knows_nothing, make_machine, remove_machine),
        cmocka_unit_test_setup_teardown(reads_meminfo, make_machine, remove_machine),
        cmocka_unit_test_setup_teardown(reads_all_groups_of_version_1, make_machine,
                                        remove_machine),
        cmocka_unit_test_setup_teardown(follows_mounts_of_a_part, make_machine, remove_machine),
        cmocka_unit_test_setup_teardown(reads_version_2, make_machine, remove_machine),
        cmocka_unit_test_setup_teardown(looks_quickly_at_the_groups_with_a_limit, make_machine,
                                        remove_machine),
        cmocka_unit_test_setup_teardown(bears_nonsense, make_machine, remove_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
