/* links: hs_tools_lib hs_analysis */
/* parts: watch */
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/buffer.h"
#include "made_directory.h"
#include "made_keys.h"
#include "tools/watch/growth.h"

#define HOUR_NS ((uint64_t)3600 * 1000000000)
enum { DUMPS = 5 };

static void name_of(char *name, size_t n, size_t t)
{
    (void)snprintf(name, n, "heap-20261122T080000Z-%06zu.snap.keys", t + 1);
}

static void put_file(int dir_fd, size_t t, struct hs_snap_keys *table)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer bytes = {0};
    char name[64];
    name_of(name, sizeof name, t);
    made_keys_end(table);
    assert_int_equal(hs_snap_keys_encode(table, &bytes, &err), HS_OK);
    int fd = openat(dir_fd, name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes.bytes, bytes.n_bytes), (ssize_t)bytes.n_bytes);
    (void)close(fd);
    hs_buffer_fini(&bytes);
    hs_snap_keys_fini(table);
}

/* Dumps an hour apart, each with 100 words more: all of it on another key in each dump, but for
 * `steady` words a step on one. */
static struct hs_watch_rate rate_of(uint64_t steady)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_rate rate;
    char path[MADE_DIRECTORY_BYTES], name[64];
    made_directory(path);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t t = 0; t < DUMPS; t++) {
        struct hs_snap_keys table = {0};
        made_keys_begin(&table, (1 + t) * HOUR_NS);
        (void)made_keys_add(&table, 0, "one", HS_KEY_ROOT, 1,
                            t % 2 == 0 ? 500 + (100 - steady) * t : 1);
        (void)made_keys_add(&table, 0, "other", HS_KEY_ROOT, 1,
                            t % 2 == 0 ? 1 : 500 + (100 - steady) * t);
        (void)made_keys_add(&table, 0, "leak", HS_KEY_ROOT, 1, 50 + steady * t);
        made_keys_put(&table, HS_KEY_LIST_TYPES, "struct cell", 1, 551 + 100 * t);
        put_file(fd, t, &table);
    }
    assert_int_equal(hs_watch_growth_rate(fd, 1, &rate, &err), HS_OK);
    for (size_t t = 0; t < DUMPS; t++) {
        name_of(name, sizeof name, t);
        (void)unlinkat(fd, name, 0);
    }
    (void)close(fd);
    (void)rmdir(path);
    assert_int_equal(rate.n_dumps, DUMPS);
    return rate;
}

static void a_key_has_its_rate(void **state)
{
    struct hs_watch_rate rate = rate_of(80);
    assert_string_equal(rate.key, "leak");
    assert_true(rate.bytes_per_hour == 640);
}

static void the_heap_has_one_where_no_key_does(void **state)
{
    struct hs_watch_rate rate = rate_of(0);
    assert_string_equal(rate.key, "[the whole heap]");
    assert_true(rate.bytes_per_hour == 800);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_has_its_rate),
        cmocka_unit_test(the_heap_has_one_where_no_key_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
