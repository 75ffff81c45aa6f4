/* links: hs_target */
/* The texts of /proc that tell what the kernel holds, and damaged ones. */
#include "unit.h"

#include "base/alloc.h"
#include "target/kernel_words.h"

static struct hs_error err;
static struct hs_mapping mappings[2] = {
    {.begin = 0x10000, .end = 0x20000, .readable = true, .writable = true},
    {.begin = 0x7f0000000000, .end = 0x7f0000100000, .readable = true, .writable = true},
};
static struct hs_target target = {.mappings = mappings, .n_mappings = 2};
static const struct hs_lifetime lifetime = {.boot_s = 100, .began_s = 170};

static int forget(void **state)
{
    hs_free(target.kernel_words);
    target.kernel_words = NULL;
    target.n_kernel_words = target.kernel_words_capacity = 0;
    return 0;
}

static void epoll_sets(void **state)
{
    static const char text[] =
        "pos:\t0\nflags:\t02\nmnt_id:\t15\nino:\t2065\n"
        "tfd:        5 events:       19 data:     7f0000000010  pos:0 ino:811 sdev:f\n"
        "tfd:       12 events: 80000019 data:               c  pos:0 ino:811 sdev:f\n"
        "tfd:       13 events:       19 data: ffffffffffffffff  pos:0 ino:811 sdev:f\n"
        "tfd:       14 events:       19 data:           10008  pos:0 ino:811 sdev:f";
    assert_int_equal(hs_kernel_words_of_epoll(&target, 4, text, &err), HS_OK);
    assert_int_equal(target.n_kernel_words, 2);
    assert_int_equal(target.kernel_words[0].place, HS_KERNEL_EPOLL);
    assert_int_equal(target.kernel_words[0].fd, 4);
    assert_int_equal(target.kernel_words[0].of_fd, 5);
    assert_int_equal(target.kernel_words[0].word, 0x7f0000000010);
    assert_int_equal(target.kernel_words[1].of_fd, 14);
    assert_int_equal(target.kernel_words[1].word, 0x10008);
}

static void timers(void **state)
{
    static const char text[] =
        "ID: 0\nsignal: 64/00007f0000000020\nnotify: signal/pid.7\nClockID: 1\n"
        "ID: 7\nsignal: 0/0000000000000000\nnotify: none/pid.7\nClockID: 1\n"
        "ID: 9\nsignal: 34/0000000000010010\n";
    assert_int_equal(hs_kernel_words_of_timers(&target, text, &err), HS_OK);
    assert_int_equal(target.n_kernel_words, 2);
    assert_int_equal(target.kernel_words[0].of_fd, 0);
    assert_int_equal(target.kernel_words[0].word, 0x7f0000000020);
    assert_int_equal(target.kernel_words[1].of_fd, 9);
    assert_int_equal(target.kernel_words[1].place, HS_KERNEL_TIMER);
}

static void counters(void **state)
{
    assert_int_equal(hs_kernel_words_of_eventfd(&target, 3,
                                                "pos:\t0\neventfd-count:      7f0000000010\n"
                                                "eventfd-id: 4\n",
                                                &err),
                     HS_OK);
    assert_int_equal(hs_kernel_words_of_eventfd(&target, 4, "eventfd-count:  1\n", &err), HS_OK);
    assert_int_equal(target.n_kernel_words, 1);
    assert_int_equal(target.kernel_words[0].place, HS_KERNEL_EVENTFD);
    assert_int_equal(target.kernel_words[0].word, 0x7f0000000010);
}

/* What waits at both ends of a ring is told; what is under way only counted. */
static void rings(void **state)
{
    static const char quiet[] = "SqHead:\t3\nCachedSqHead:\t3\nCqTail:\t3\nCachedCqTail:\t3\n"
                                "SQEs:\t1\n    3: opcode:READ, fd:9, flags:0, off:0, "
                                "addr:0x7f0000000020, rw_flags:0x0, buf_index:0 user_data:65552\n"
                                "CQEs:\t1\n    2: user_data:139637976727600, res:1, flags:0\n"
                                "UserBufs:\t1\n    0: 0x7f0000000040/4096\n"
                                "CqOverflowList:\n  user_data=65560, res=0, flags=0\n";
    static const char busy[] = "CachedSqHead:\t4\nCachedCqTail:\t3\n";
    assert_int_equal(hs_kernel_words_of_uring(&target, 3, quiet, &err), HS_OK);
    assert_int_equal(target.untold, 0);
    assert_int_equal(target.n_kernel_words, 5);
    assert_int_equal(target.kernel_words[0].word, 0x7f0000000020);
    assert_int_equal(target.kernel_words[1].word, 0x10010);
    assert_int_equal(target.kernel_words[2].word, 0x7f0000000030);
    assert_int_equal(target.kernel_words[3].word, 0x7f0000000040);
    assert_int_equal(target.kernel_words[4].word, 0x10018);
    assert_int_equal(hs_kernel_words_of_uring(&target, 3, busy, &err), HS_OK);
    assert_int_equal(target.untold, HS_UNTOLD_URING);
    target.untold = 0;
    assert_int_equal(hs_kernel_words_of_uring(&target, 3, "pos: 0\n", &err), HS_OK);
    assert_int_equal(target.untold, HS_UNTOLD_URING); /* an older kernel tells nothing */
    target.untold = 0;
}

static void queues_of_messages(void **state)
{
    static const char heading[] =
        "       key      msqid perms      cbytes       qnum lspid lrpid\n";
    static const struct {
        const char *of_posix, *of_system_v;
        bool is_untold;
    } cases[] = {
        {"QSIZE:0          NOTIFY:0     SIGNO:0     NOTIFY_PID:0     ", "", false},
        {"QSIZE:16         NOTIFY:0     SIGNO:0     NOTIFY_PID:0     ", "", true},
        {"QSIZE:0          NOTIFY:0     SIGNO:34    NOTIFY_PID:9     ", "", true},
        {"QSIZE:", "", true}, /* whatever it is */
        {NULL, "  -5          0   600           8          1    77     0 0 0 0 0 190 0 0\n", true},
        {NULL, "  -5          0   600           0          0    77     0 0 0 0 0 190 0 0\n", false},
        {NULL, "  -5          0   600           8          1    78     0 0 0 0 0 190 0 0\n", false},
        {NULL, "  -5          0   600           8          1    77     0 0 0 0 0 150 0 0\n", false},
        {NULL, "  -5          0   600           8          1    77     0 0 0 0 0 99 0 0\n", true},
        {NULL, "          5          0   600           8          1", false},
        {NULL, "   5 99999999999999999999 600 8 1 77 0 0 0 0 0 190 0 0\n", false},
    };

    target.pid = 77;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        target.untold = 0;
        if (cases[i].of_posix != NULL)
            hs_kernel_words_of_mqueue(&target, cases[i].of_posix);
        hs_kernel_words_of_msg(&target, &lifetime, heading);
        hs_kernel_words_of_msg(&target, &lifetime, cases[i].of_system_v);
        assert_int_equal(target.untold, cases[i].is_untold ? HS_UNTOLD_MESSAGES : 0);
    }
    target.untold = 0;
    target.pid = 0;
}

/* Two sockets of one connection; another one of which the other end is not the process's. */
static void connections_to_itself(void **state)
{
    static const char heading[] = "  sl  local_address rem_address   st tx_queue rx_queue tr\n";
    static const char quiet[] =
        "   0: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000 0 0 41 1\n"
        "   1: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 0 0 42 1\n";
    static const char other[] =
        "   2: 0100007F:1F91 0100007F:D432 01 00000000:00000010 00:00000000 00000000 0 0 43 1\n"
        "   3: 0100007F:D432 0100007F:1F91 01 00000000:00000010 00:00000000 00000000 0 0 99 1\n"
        "   4: 0100007F:1F90 0100007F:D431 01\n   5: x\n\n";
    static const char waits[] =
        "   0: 0100007F:1F90 0100007F:D431 01 00000000:00000320 00:00000000 00000000 0 0 41 1\n"
        "   1: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:00000000 00000000 0 0 42 1";
    static uint64_t inodes[] = {43, 41, 42};
    target.inet_inodes = inodes;
    target.n_inet_inodes = 3;
    assert_int_equal(hs_kernel_words_of_tcp(&target, heading, &err), HS_OK);
    assert_int_equal(hs_kernel_words_of_tcp(&target, quiet, &err), HS_OK);
    assert_int_equal(hs_kernel_words_of_tcp(&target, other, &err), HS_OK);
    assert_int_equal(target.untold, 0);
    assert_int_equal(hs_kernel_words_of_tcp(&target, waits, &err), HS_OK);
    assert_int_equal(target.untold, HS_UNTOLD_LOOP);
    target.untold = 0;
    target.n_inet_inodes = 0;
    assert_int_equal(hs_kernel_words_of_tcp(&target, waits, &err), HS_OK);
    assert_int_equal(target.untold, 0);
    target.inet_inodes = NULL;
}

/* One end waits to be accepted, or was closed since, at a port at which the process listens; one is
 * a socket of IPv6 with an address of IPv4. */
static void connections_of_which_one_end_has_no_file(void **state)
{
    static const struct {
        const char *text;
        bool is_untold;
    } cases[] = {
        {"0: 0100007F:1F90 00000000:0000 0A 00000000:00000001 00:0 0 0 0 41 1\n"
         "1: 0100007F:1F90 0100007F:D431 01 00000000:00000020 00:0 0 0 0 0 1\n"
         "2: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:0 0 0 0 42 1\n",
         true},
        {"1: 0100007F:1F90 0100007F:D431 01 00000000:00000020 00:0 0 0 0 0 1\n"
         "2: 0100007F:D431 0100007F:1F90 05 00000000:00000000 00:0 0 0 0 0 1\n"
         "0: 0100007F:1F90 00000000:0000 0A 00000000:00000001 00:0 0 0 0 41 1\n",
         true},
        {"1: 0100007F:1F90 0100007F:D431 01 00000000:00000020 00:0 0 0 0 0 1\n"
         "2: 0100007F:D431 0100007F:1F90 05 00000000:00000000 00:0 0 0 0 0 1\n"
         "0: 0100007F:1F90 00000000:0000 0A 00000000:00000001 00:0 0 0 0 99 1\n",
         false},
        {"0: 0100007F:1F90 00000000:0000 0A 00000000:00000001 00:0 0 0 0 41 1\n"
         "1: 0100007F:1F90 0100007F:D431 01 00000000:00000020 00:0 0 0 0 0 1\n"
         "2: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:0 0 0 0 99 1\n",
         false},
        {"0: 0100007F:D431 0100007F:1F90 01 00000000:00000000 00:0 0 0 0 42 1\n"
         "0: 0000000000000000FFFF00000100007F:1F90 0000000000000000FFFF00000100007F:D431 01 "
         "00000000:00000008 00:0 0 0 0 41 1\n",
         true},
    };
    static uint64_t inodes[] = {42, 41};
    target.inet_inodes = inodes;
    target.n_inet_inodes = 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        target.untold = 0;
        assert_int_equal(hs_kernel_words_of_tcp(&target, cases[i].text, &err), HS_OK);
        assert_int_equal(target.untold, cases[i].is_untold ? HS_UNTOLD_LOOP : 0);
    }
    target.untold = 0;
    target.n_inet_inodes = 0;
    target.inet_inodes = NULL;
}

static void datagrams(void **state)
{
    static const struct {
        const char *text;
        bool is_netlink, is_untold;
    } cases[] = {
        {"7: 0100007F:D8C0 00000000:0000 07 00000000:00000300 00:0 0 0 0 41 2\n", false, true},
        {"7: 0100007F:D8C0 00000000:0000 07 00000000:00000000 00:0 0 0 0 41 2\n", false, false},
        {"7: 0100007F:D8C0 00000000:0000 07 00000000:00000300 00:0 0 0 0 99 2\n", false, false},
        {"00000000f1093d79 2 361 00000000 16640 0 0 2 0 41\n", true, true},
        {"00000000f1093d79 2 361 00000000 0 16640 0 2 0 41\n", true, false},
        {"00000000f1093d79 15 361 00000000 16640 0 0 2 0 41\n", true, false},
        {"sk Eth Pid Groups Rmem Wmem Dump Locks Drops Inode\n7: x:\n:", true, false},
        {"7: 1 2 3 :", false, false},
    };
    static uint64_t inodes[] = {41};
    target.inet_inodes = inodes;
    target.n_inet_inodes = 1;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        target.untold = 0;
        assert_int_equal(
            hs_kernel_words_of_datagrams(&target, cases[i].text, cases[i].is_netlink, &err), HS_OK);
        assert_int_equal(target.untold, cases[i].is_untold ? HS_UNTOLD_QUEUE : 0);
    }
    target.untold = 0;
    target.n_inet_inodes = 0;
    target.inet_inodes = NULL;
}

/* Files that only a ring has: a pipe, one without a name, memory that was unmapped. */
static void registered_with_rings(void **state)
{
    static const char *const alone[] = {"    0: pipe:[686172]\n", "    1: /memfd:x (deleted)\n",
                                        "    0: 0x7f9000000000/4096\n"};
    static const char *const others[] = {"    0: /etc/hostname\n", "    0: 0x7f0000000040/4096\n"};
    static const char quiet[] = "CachedSqHead:\t4\nCachedCqTail:\t4\n";
    char text[128];

    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++) {
        target.untold = 0;
        (void)snprintf(text, sizeof text, "%s%s", quiet, alone[i]);
        assert_int_equal(hs_kernel_words_of_uring(&target, 3, text, &err), HS_OK);
        assert_int_equal(target.untold, HS_UNTOLD_REGISTERED);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        target.untold = 0;
        (void)snprintf(text, sizeof text, "%s%s", quiet, others[i]);
        assert_int_equal(hs_kernel_words_of_uring(&target, 3, text, &err), HS_OK);
        assert_int_equal(target.untold, 0);
    }
}

/* Memory that a process with the same pid made or used before this one began is not this one's. A
 * time before the machine began tells nothing: the clock was set since. */
static void memory_that_was_let_go(void **state)
{
    static const struct {
        const char *line;
        bool is_untold;
    } cases[] = {
        {"       key      shmid perms       size  cpid  lpid nattch   uid\n", false},
        {"  0          5   600      65536    77    78      0  0 0 0 0 190 0 190\n", true},
        {" -7          5   600      65536    76    77      1  0 0 0 0 190 150 150\n", true},
        {" -7          5   600      65536    76    77      1  0 0 0 0 150 190 150\n", true},
        {"  0          5   600      65536    76    78      1  0 0 0 0 190 190 190\n", false},
        {"  0          5   600      65536    77    77      0  0 0 0 0 150 160 150\n", false},
        {"  0          5   600      65536    77    78      0  0 0 0 0 90 90 90\n", true},
        {"         0          5   600      65536    77", false},
    };
    target.pid = 77;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        target.untold = 0;
        hs_kernel_words_of_shm(&target, &lifetime, cases[i].line);
        assert_int_equal(target.untold, cases[i].is_untold ? HS_UNTOLD_DETACHED : 0);
    }
    target.untold = 0;
    target.pid = 0;
}

static void damaged_texts(void **state)
{
    static const char *const texts[] = {
        "",
        "\n\n",
        "tfd:",
        "tfd: 5 data:",
        "tfd: x data: 10008",
        "data: 10008 tfd: 5",
        "tfd: 5\ndata: 10008",
        "tfd: 5 data: 110000000000000000008",
        "tfd: 5 data: g",
        "ID: 1 signal:",
        "signal: 3/",
        "signal: /10008",
        "signal: 99999999999999999999/10008",
        "signal: 3 10008",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(hs_kernel_words_of_epoll(&target, 4, texts[i], &err), HS_OK);
        assert_int_equal(hs_kernel_words_of_timers(&target, texts[i], &err), HS_OK);
        assert_int_equal(hs_kernel_words_of_eventfd(&target, 4, texts[i], &err), HS_OK);
        assert_int_equal(hs_kernel_words_of_uring(&target, 4, texts[i], &err), HS_OK);
        assert_int_equal(target.n_kernel_words, 0);
    }
    target.untold = 0;
}

static void vector_registers(void **state)
{
    uint64_t words[] = {0, 0x10000, 0x10000, 0x1ffff, 0x20000, 0x7f0000000000, UINT64_MAX, 3};
    assert_int_equal(
        hs_kernel_words_of_state(&target, 77, (const uint8_t *)words, sizeof words + 0, &err),
        HS_OK);
    assert_int_equal(target.n_kernel_words, 3);
    assert_int_equal(target.kernel_words[2].word, 0x7f0000000000);
    assert_int_equal(target.kernel_words[2].tid, 77);
    assert_int_equal(hs_kernel_words_of_state(&target, 77, (const uint8_t *)words, 7, &err), HS_OK);
    assert_int_equal(target.n_kernel_words, 3);
}

/* Memory that is shared or may not be written to holds no block of this process. */
static void other_memory(void **state)
{
    const struct hs_kernel_word word = {.word = 0x10000};
    mappings[0].shared = true;
    assert_int_equal(hs_kernel_words_add(&target, &word, &err), HS_OK);
    mappings[0].shared = false;
    mappings[0].writable = false;
    mappings[0].inode = 5;
    assert_int_equal(hs_kernel_words_add(&target, &word, &err), HS_OK);
    assert_int_equal(target.n_kernel_words, 0);
    mappings[0].inode = 0;
    assert_int_equal(hs_kernel_words_add(&target, &word, &err), HS_OK);
    assert_int_equal(target.n_kernel_words, 1);
    mappings[0].writable = true;
}

/* What is over the limit is not dropped in silence. */
static void too_many(void **state)
{
    struct hs_kernel_word word = {.word = 0x10000};
    for (size_t i = 0; i < (size_t)1 << 20; i++)
        assert_int_equal(hs_kernel_words_add(&target, &word, &err), HS_OK);
    assert_int_equal(target.untold, 0);
    word.word = 0x30000; /* no address */
    assert_int_equal(hs_kernel_words_add(&target, &word, &err), HS_OK);
    assert_int_equal(target.untold, 0);
    word.word = 0x10000;
    assert_int_equal(hs_kernel_words_add(&target, &word, &err), HS_OK);
    assert_int_equal(target.untold, HS_UNTOLD_MANY);
    assert_int_equal(target.n_kernel_words, (size_t)1 << 20);
    target.untold = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(epoll_sets, forget),
        cmocka_unit_test_teardown(timers, forget),
        cmocka_unit_test_teardown(counters, forget),
        cmocka_unit_test_teardown(rings, forget),
        cmocka_unit_test_teardown(queues_of_messages, forget),
        cmocka_unit_test_teardown(connections_to_itself, forget),
        cmocka_unit_test_teardown(connections_of_which_one_end_has_no_file, forget),
        cmocka_unit_test_teardown(datagrams, forget),
        cmocka_unit_test_teardown(registered_with_rings, forget),
        cmocka_unit_test_teardown(memory_that_was_let_go, forget),
        cmocka_unit_test_teardown(damaged_texts, forget),
        cmocka_unit_test_teardown(vector_registers, forget),
        cmocka_unit_test_teardown(other_memory, forget),
        cmocka_unit_test_teardown(too_many, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
