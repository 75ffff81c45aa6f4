/* Sockets of the network in which something waits that the process itself may have sent:
 * connections of which it has both ends, of which one waits to be accepted, or was closed since;
 * datagrams, whose sender is not told. Only that they are there is known. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/table.h"
#include "target/kernel_words.h"
#include "target/procfs.h"
#include "target_private.h"

enum {
    CONNECTIONS_PORTS = 1 << 16,
    CONNECTIONS_PORT_DIGITS = 4,
    CONNECTIONS_BITS = 64,
    CONNECTIONS_COLUMNS = 10,
};

/* Lines of net/tcp, net/udp and net/raw: sl local remote st tx_queue:rx_queue tr:when retransmitted
 * uid timeout inode (net/ipv4/tcp_ipv4.c); of net/netlink: sk Eth Pid Groups Rmem Wmem Dump Locks
 * Drops Inode (net/netlink/af_netlink.c). */
enum { SL, LOCAL, REMOTE, STATE, QUEUES, INODE = 9 };
enum { PROTOCOL = 1, RECEIVED = 4 };

struct line {
    const char *columns[CONNECTIONS_COLUMNS];
    size_t n[CONNECTIONS_COLUMNS];
    uint64_t inode;
};

struct connection {
    uint64_t local, remote; /* hashes of addresses and ports */
    uint32_t port;          /* the local one */
    bool listens, waits;
};

/* The bits of one end of a connection. */
enum { END_WAITS = 1, END_IS_OWN = 2 };

struct connections {
    struct hs_target *target; /* borrowed */
    uint64_t *listening;      /* owned: bits of the ports at which the process listens */
    struct hs_dict ends;      /* owned */
};

static bool read_line(const char *at, const char *end, struct line *ret)
{
    for (size_t i = 0; i < CONNECTIONS_COLUMNS; i++) {
        while (at < end && *at == ' ')
            at++;
        ret->columns[i] = at;
        while (at < end && *at != ' ')
            at++;
        ret->n[i] = (size_t)(at - ret->columns[i]);
    }
    const char *digits = ret->columns[INODE];
    return ret->n[INODE] != 0 && hs_proc_digits(&digits, end, 10, &ret->inode);
}

/* Returns the hash of an address, of IPv4 also where a socket of IPv6 has it. */
static uint64_t hash_address(const char *text, size_t n)
{
    static const char mapped[] = "0000000000000000FFFF0000";
    size_t n_mapped = sizeof mapped - 1;

    if (n > n_mapped && memcmp(text, mapped, n_mapped) == 0)
        return hs_hash_bytes(text + n_mapped, n - n_mapped);
    return hs_hash_bytes(text, n);
}

static bool is_zero(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (text[i] != '0' && text[i] != ':')
            return false;
    return true;
}

/* Reads the port at the end of an address: digits that are capitals. */
static bool read_port(const char *end, uint32_t *ret)
{
    uint32_t port = 0;

    for (const char *at = end - CONNECTIONS_PORT_DIGITS; at < end; at++) {
        if (*at >= '0' && *at <= '9')
            port = port << 4 | (uint32_t)(*at - '0');
        else if (*at >= 'A' && *at <= 'F')
            port = port << 4 | (uint32_t)(*at - 'A' + 10);
        else
            return false;
    }
    *ret = port;
    return true;
}

static bool read_connection(const struct line *line, struct connection *ret)
{
    uint32_t port;

    if (line->n[LOCAL] <= CONNECTIONS_PORT_DIGITS ||
        !read_port(line->columns[LOCAL] + line->n[LOCAL], &port))
        return false;
    *ret = (struct connection){.local = hash_address(line->columns[LOCAL], line->n[LOCAL]),
                               .remote = hash_address(line->columns[REMOTE], line->n[REMOTE]),
                               .port = port,
                               .listens = line->n[STATE] == 2 &&
                                          memcmp(line->columns[STATE], "0A", 2) == 0,
                               .waits = !is_zero(line->columns[QUEUES], line->n[QUEUES])};
    return true;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void sort_inodes(struct hs_target *target)
{
    if (target->n_inet_inodes > 1)
        qsort(target->inet_inodes, target->n_inet_inodes, sizeof *target->inet_inodes,
              compare_numbers);
}

static bool is_own(const struct hs_target *target, uint64_t inode)
{
    return target->n_inet_inodes != 0 && bsearch(&inode, target->inet_inodes, target->n_inet_inodes,
                                                 sizeof inode, compare_numbers) != NULL;
}

typedef hs_status of_line(struct connections *c, const struct line *line, struct hs_error *err);

static hs_status each_line(struct connections *c, const char *text, of_line *take,
                           struct hs_error *err)
{
    struct line line;

    while (*text != '\0') {
        const char *end = strchrnul(text, '\n');
        if (read_line(text, end, &line))
            HS_TRY(take(c, &line, err));
        text = *end == '\0' ? end : end + 1;
    }
    return HS_OK;
}

static hs_status take_listening(struct connections *c, const struct line *line,
                                struct hs_error *err)
{
    struct connection one;
    (void)err;

    if (is_own(c->target, line->inode) && read_connection(line, &one) && one.listens)
        c->listening[one.port / CONNECTIONS_BITS] |= UINT64_C(1) << one.port % CONNECTIONS_BITS;
    return HS_OK;
}

/* Takes an end that is a socket of the process, or has no inode: it was closed, or nobody has
 * accepted it, and its port says of which process. */
static hs_status take_end(struct connections *c, const struct line *line, struct hs_error *err)
{
    struct connection one;
    bool own = is_own(c->target, line->inode);

    if ((!own && line->inode != 0) || !read_connection(line, &one) || one.listens)
        return HS_OK;
    own |= (c->listening[one.port / CONNECTIONS_BITS] >> one.port % CONNECTIONS_BITS & 1) != 0;
    uint64_t end = (one.waits ? END_WAITS : 0) | (own ? END_IS_OWN : 0);
    const uint64_t *other = hs_dict_find(&c->ends, hs_hash_pair(one.remote, one.local));
    if (other != NULL && ((*other | end) & END_WAITS) != 0 && ((*other | end) & END_IS_OWN) != 0)
        c->target->untold |= HS_UNTOLD_LOOP;
    return hs_dict_put(&c->ends, hs_hash_pair(one.local, one.remote), end, err);
}

hs_status hs_kernel_words_of_tcp(struct hs_target *target, const char *text, struct hs_error *err)
{
    struct connections c = {.target = target};

    if (target->n_inet_inodes == 0)
        return HS_OK;
    sort_inodes(target);
    HS_TRY(HS_ALLOC(&c.listening, CONNECTIONS_PORTS / CONNECTIONS_BITS, err));
    hs_status status = each_line(&c, text, take_listening, err);
    if (status == HS_OK)
        status = each_line(&c, text, take_end, err);
    hs_dict_fini(&c.ends);
    hs_free(c.listening);
    return status;
}

/* ---- datagrams */

static void note_received(struct connections *c, const struct line *line, const char *received)
{
    const char *end = line->columns[INODE];
    size_t n = (size_t)(end - received);
    const char *stop = memchr(received, ' ', n);

    if (is_own(c->target, line->inode) &&
        !is_zero(received, stop == NULL ? n : (size_t)(stop - received)))
        c->target->untold |= HS_UNTOLD_QUEUE;
}

static hs_status take_datagrams(struct connections *c, const struct line *line,
                                struct hs_error *err)
{
    const char *received = memchr(line->columns[QUEUES], ':', line->n[QUEUES]);
    (void)err;

    if (received != NULL)
        note_received(c, line, received + 1);
    return HS_OK;
}

/* Looks at one protocol: in the others the kernel is the one that sends. */
static hs_status take_netlink(struct connections *c, const struct line *line, struct hs_error *err)
{
    (void)err;
    if (line->n[PROTOCOL] == 1 && line->columns[PROTOCOL][0] == '2') /* NETLINK_USERSOCK */
        note_received(c, line, line->columns[RECEIVED]);
    return HS_OK;
}

hs_status hs_kernel_words_of_datagrams(struct hs_target *target, const char *text, bool is_netlink,
                                       struct hs_error *err)
{
    struct connections c = {.target = target};

    sort_inodes(target);
    return each_line(&c, text, is_netlink ? take_netlink : take_datagrams, err);
}

/* ---- all of them */

static hs_status look_at_tcp(struct hs_target *target, struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL, *of_v6 = NULL, *both = NULL;
    size_t n = 0, n_v6 = 0;

    if (hs_proc_read_of(target->live.pid, "net/tcp", &text, &n, &ignored) != HS_OK)
        n = 0;
    if (hs_proc_read_of(target->live.pid, "net/tcp6", &of_v6, &n_v6, &ignored) != HS_OK)
        n_v6 = 0;
    HS_TRY(HS_ALLOC(&both, n + n_v6 + 1, err)); /* one end may be of each */
    memcpy(both, text == NULL ? "" : text, n);
    memcpy(both + n, of_v6 == NULL ? "" : of_v6, n_v6);
    return hs_kernel_words_of_tcp(target, both, err);
}

hs_status hs_kernel_words_of_connections(struct hs_target *target, struct hs_error *err)
{
    static const char *const files[] = {"net/udp", "net/udp6", "net/udplite", "net/udplite6",
                                        "net/raw", "net/raw6", "net/netlink"};
    const size_t n_files = sizeof files / sizeof *files;

    if (target->n_inet_inodes == 0)
        return HS_OK;
    HS_TRY(look_at_tcp(target, err));
    for (size_t i = 0; i < n_files; i++) {
        struct hs_error ignored = HS_ERROR_INIT;
        hs_auto_free char *text = NULL;
        size_t n;
        if (hs_proc_read_of(target->live.pid, files[i], &text, &n, &ignored) == HS_OK)
            HS_TRY(hs_kernel_words_of_datagrams(target, text, i + 1 == n_files, err));
    }
    return HS_OK;
}
