/* links: hs_target */
/* Which files may lead what is written there back to the process: of this one, which is its own
 * target. */
#include "unit.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/target_private.h"

static struct hs_target target;

static bool leads_back(int fd)
{
    const struct hs_queue_file file = {.fd = (uint32_t)fd};
    return hs_queue_leads_back(&target, &file);
}

static void own_sockets(void **state)
{
    static const int types[] = {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        int ends[2];
        assert_int_equal(socketpair(AF_UNIX, types[i], 0, ends), 0);
        assert_true(leads_back(ends[0]));
        assert_true(leads_back(ends[1]));
        close(ends[0]);
        assert_false(leads_back(ends[0]));
        close(ends[1]);
    }
}

/* Those of other families are not even opened. */
static void others(void **state)
{
    static const int families[] = {AF_INET, AF_INET6, AF_NETLINK};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        int fd = socket(families[i], SOCK_DGRAM, 0);
        if (fd < 0) /* the system does not have it */
            continue;
        assert_false(leads_back(fd));
        close(fd);
    }
    int fd = socket(AF_UNIX, SOCK_STREAM, 0); /* of no connection: it has no peer */
    assert_true(fd >= 0);
    assert_false(leads_back(fd));
    close(fd);
}

/* The number of a socket that is given to a file of another kind in between. */
static void no_sockets(void **state)
{
    int fd = open("/dev/null", O_RDONLY);
    assert_true(fd >= 0);
    assert_false(leads_back(fd));
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_sockets),
        cmocka_unit_test(others),
        cmocka_unit_test(no_sockets),
    };

    target.pid = getpid();
    target.pidfd = (int)syscall(SYS_pidfd_open, target.pid, 0);
    if (target.pidfd < 0) {
        (void)fprintf(stderr, "skipped: no pidfd_open\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
