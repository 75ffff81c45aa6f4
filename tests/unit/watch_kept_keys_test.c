/* links: hs_tools_lib */
/* parts: watch */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/watch/kept_keys.h"

enum { MANY = 20000 };

/* As after each dump: what is there, less what the rule takes. */
static void thinned_step_by_step(void **state)
{
    static bool is_there[MANY + 1];
    for (uint64_t newest = 1; newest <= MANY; newest++) {
        is_there[newest] = true;
        for (uint64_t i = 1; i <= newest; i++)
            is_there[i] = is_there[i] && hs_watch_keys_stay(i, newest);
    }
    size_t n = 0;
    for (uint64_t i = 1; i <= MANY; i++) {
        /* Taking some away earlier took away nothing that would stay now. */
        assert_int_equal(is_there[i], hs_watch_keys_stay(i, MANY));
        n += is_there[i];
        if (MANY - i < HS_WATCH_KEYS_ALL)
            assert_true(is_there[i]);
    }
    assert_in_range(n, 128 + 64 * 6, 128 + 64 * 8);
    /* Those of any age: no gap is longer than a 64th of the age behind it. */
    uint64_t last = MANY;
    for (uint64_t i = MANY; i >= 1000; i--) {
        if (!is_there[i])
            continue;
        assert_true(last - i <= 1 + (MANY - i) / 64);
        last = i;
    }
    assert_true(hs_watch_keys_stay(7, 7));
    assert_true(hs_watch_keys_stay(UINT64_MAX, 1)); /* newer than the newest */
    assert_false(hs_watch_keys_stay(1, UINT64_MAX));
    assert_true(hs_watch_keys_stay(0, UINT64_MAX));
}

static void touch(int dir_fd, const char *name)
{
    int fd = openat(dir_fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static bool is_there(int dir_fd, const char *name)
{
    return faccessat(dir_fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static void in_a_directory(void **state)
{
    char path[] = "/tmp/heapsnap-keys-XXXXXX", name[HS_WATCH_KEYS_NAME_BYTES];
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_keys keys;
    size_t n_removed = 0;
    assert_non_null(mkdtemp(path));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (unsigned i = 1; i <= 200; i++) {
        (void)snprintf(name, sizeof name, "heap-20261122T080000Z-%06u.snap.keys", i);
        touch(fd, name);
    }
    touch(fd, "heap-20261122T080000Z-000021.snap");
    touch(fd, "heap-20261122T080000Z-000023.snap.keys.mine");
    assert_int_equal(symlinkat("somewhere", fd, "heap-20261122T080001Z-000025.snap.keys"), 0);
    assert_int_equal(hs_watch_keys_scan(fd, 11, &keys, &err), HS_OK);
    assert_int_equal(keys.n, 190);
    assert_int_equal(keys.files[0].number, 11);
    assert_int_equal(keys.files[189].number, 200);
    hs_watch_keys_fini(&keys);
    /* Of the series from 11 on: odd ones up to 72 go, but for the one that has its snapshot. */
    assert_int_equal(hs_watch_keys_thin(fd, 11, &n_removed, &err), HS_OK);
    assert_int_equal(n_removed, 30);
    assert_true(is_there(fd, "heap-20261122T080000Z-000009.snap.keys"));
    assert_false(is_there(fd, "heap-20261122T080000Z-000011.snap.keys"));
    assert_true(is_there(fd, "heap-20261122T080000Z-000012.snap.keys"));
    assert_true(is_there(fd, "heap-20261122T080000Z-000021.snap.keys"));
    assert_false(is_there(fd, "heap-20261122T080000Z-000071.snap.keys"));
    assert_true(is_there(fd, "heap-20261122T080000Z-000073.snap.keys"));
    assert_true(is_there(fd, "heap-20261122T080000Z-000023.snap.keys.mine"));
    assert_true(is_there(fd, "heap-20261122T080001Z-000025.snap.keys"));
    for (unsigned i = 1; i <= 200; i++) {
        (void)snprintf(name, sizeof name, "heap-20261122T080000Z-%06u.snap.keys", i);
        (void)unlinkat(fd, name, 0);
    }
    assert_int_equal(unlinkat(fd, "heap-20261122T080000Z-000021.snap", 0), 0);
    assert_int_equal(unlinkat(fd, "heap-20261122T080000Z-000023.snap.keys.mine", 0), 0);
    assert_int_equal(unlinkat(fd, "heap-20261122T080001Z-000025.snap.keys", 0), 0);
    (void)close(fd);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thinned_step_by_step),
        cmocka_unit_test(in_a_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
