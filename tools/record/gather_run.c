#include "gather_run.h"

#include <ctype.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "tool.h"

enum { READ_BYTES = 64 << 10, READS_AT_ONCE = 16, POLL_MS = 1000, FILES_PER_PEER = 64 };
/* The limits for strangers, who have not proved the token yet. There are few places for them beside
 * those of --peers, for a short time: who floods us delays others, and shuts nobody out. */
enum { STRANGERS = 64, ACCEPTS_AT_ONCE = 16, LINES_AT_ONCE = 8 };
#define HELLO_NS (UINT64_C(2) * 1000000000)  /* to prove the token in */
#define STAY_NS (UINT64_C(300) * 1000000)    /* that a stranger has, however many others come */
#define PAUSE_NS (UINT64_C(1000) * 1000000)  /* when the system gives us no descriptor */
#define LINES_NS (UINT64_C(10) * 1000000000) /* LINES_AT_ONCE refusals are told in that time */

struct hs_gather_peer {
    struct hs_gather *gather; /* borrowed */
    int fd;
    struct hs_wire_peer wire;
    struct hs_record_files files;
    uint64_t heard_ns, begun_ns;
    char from[NI_MAXHOST + NI_MAXSERV + 8];
};

static volatile sig_atomic_t wants_end;

static void on_signal(int number)
{
    (void)number;
    wants_end = 1;
}

/* ---- names and files ---- */

void hs_gather_name(const char *host, uint64_t pid, uint64_t begun_us, char *name)
{
    char clean[HS_WIRE_HOST_BYTES] = "unknown", when[32] = "";
    time_t seconds = (time_t)(begun_us / 1000000);
    struct tm parts;
    size_t n = 0;
    for (; host[n] != '\0' && n + 1 < sizeof clean; n++) {
        bool is_plain = isascii((unsigned char)host[n]) && isalnum((unsigned char)host[n]);
        bool is_inner = n != 0 && (host[n] == '.' || host[n] == '-' || host[n] == '_');
        clean[n] = is_plain || is_inner ? host[n] : '_';
    }
    if (n != 0)
        clean[n] = '\0';
    if (gmtime_r(&seconds, &parts) == NULL || parts.tm_year > 8099 ||
        strftime(when, sizeof when, "%Y%m%dT%H%M%SZ", &parts) == 0)
        (void)snprintf(when, sizeof when, "unknown");
    (void)snprintf(name, HS_GATHER_NAME_BYTES, "%s-%lu-%s", clean, (unsigned long)pid, when);
}

static hs_status open_file(void *context, const struct hs_packet *info, unsigned number,
                           struct hs_record_file *ret, struct hs_error *err)
{
    struct hs_gather_peer *peer = context;
    char name[HS_GATHER_NAME_BYTES];
    (void)number; /* a name that is taken gets another */
    if (peer->files.n_files >= FILES_PER_PEER)
        return hs_fail(err, HS_LIMIT, "process %lu is not kept: it has sent %d traces already",
                       (unsigned long)info->pid, FILES_PER_PEER);
    hs_gather_name(peer->wire.host, info->pid, info->begin_us, name);
    return hs_record_file_new(peer->gather->dir_fd, name, peer->gather->access, ret, err);
}

static void complain(void *context, const char *text)
{
    const struct hs_gather_peer *peer = context;
    hs_talk("%s: %s", peer->from, text);
}

/* ---- one sender ---- */

static uint64_t kept_bytes(const struct hs_gather_peer *peer)
{
    uint64_t n = 0;
    for (size_t i = 0; i < peer->files.n_files; i++)
        n += peer->files.files[i].n_bytes;
    return n;
}

static hs_status take_packet(void *context, const uint8_t *bytes, size_t n_bytes,
                             struct hs_error *err)
{
    struct hs_gather_peer *peer = context;
    struct hs_packet packet;
    struct hs_packet_event first = {0};
    bool more;
    HS_TRY(hs_packet_open(bytes, n_bytes, &packet, err));
    HS_TRY(hs_packet_check(&packet, err));
    struct hs_packet_walk walk = {.packet = &packet};
    HS_TRY(hs_packet_next(&walk, &first, &more, err));
    bool is_info = more && first.kind == HS_PACKET_INFO;
    if (n_bytes > peer->gather->peer_bytes_max - kept_bytes(peer))
        return hs_fail(err, HS_LIMIT, "it sends more than --peer-bytes allows");
    return hs_record_files_put(&peer->files, &packet, is_info, bytes, n_bytes, err);
}

static void talk_peer(const struct hs_gather_peer *peer, const char *why)
{
    uint64_t n_allocs = 0, n_missing = 0;
    for (size_t i = 0; i < peer->files.n_files; i++) {
        n_allocs += peer->files.files[i].n_allocs;
        n_missing += peer->files.files[i].n_missing + peer->files.files[i].n_cut;
    }
    const char *name = peer->files.n_files != 0 ? peer->files.files[0].name : "nothing";
    hs_talk("%s: %s: %lu sampled allocations in '%s', %lu lost; %lu packets, dropped %lu "
            "(%lu bytes)",
            peer->from, why, (unsigned long)n_allocs, name, (unsigned long)n_missing,
            (unsigned long)peer->wire.counts.n_sent, (unsigned long)peer->wire.counts.n_dropped,
            (unsigned long)peer->wire.counts.n_dropped_bytes);
}

static void free_peer(struct hs_gather_peer *peer)
{
    hs_record_files_close(&peer->files);
    hs_record_files_fini(&peer->files);
    hs_wire_peer_fini(&peer->wire);
    if (peer->fd >= 0)
        (void)close(peer->fd);
    hs_free(peer);
}

/* Reports how many refusals were only counted, once the time of their lines is over: what anybody
 * can make us say must not fill a disk. */
static void talk_refusals(struct hs_gather *gather, uint64_t now)
{
    if (now - gather->lines_begun_ns < LINES_NS)
        return;
    if (gather->n_unsaid != 0)
        hs_talk("%lu more were refused within %lu s", (unsigned long)gather->n_unsaid,
                (unsigned long)((now - gather->lines_begun_ns) / 1000000000));
    gather->lines_begun_ns = now;
    gather->n_lines = gather->n_unsaid = 0;
}

static void talk_refusal(struct hs_gather *gather, const char *from, const char *why)
{
    talk_refusals(gather, hs_now_ns());
    if (gather->n_lines++ < LINES_AT_ONCE)
        hs_talk("%s: refused: %s", from, why);
    else
        gather->n_unsaid++;
}

/* Closes a connection and says why, of one that proved nothing at a bounded rate. The caller has
 * taken it off the list. */
static void let_go(struct hs_gather_peer *peer, const char *why)
{
    hs_record_files_close(&peer->files);
    if (!peer->wire.is_known)
        talk_refusal(peer->gather, peer->from, why);
    else if (!peer->gather->is_quiet || !peer->wire.has_ended)
        talk_peer(peer, why);
    peer->gather->n_known -= peer->wire.is_known;
    free_peer(peer);
}

/* The token is proved: from here on it counts against --peers. */
static hs_status admit(void *context, struct hs_error *err)
{
    struct hs_gather *gather = ((struct hs_gather_peer *)context)->gather;
    if (gather->n_known >= gather->n_peers_max)
        return hs_fail(err, HS_LIMIT, "there are %lu senders already",
                       (unsigned long)gather->n_known);
    gather->n_known++;
    return HS_OK;
}

static bool send_waiting(struct hs_gather_peer *peer)
{
    struct hs_buffer *out = &peer->wire.out;
    if (out->n_bytes == 0)
        return true;
    ssize_t n = send(peer->fd, out->bytes, out->n_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    memmove(out->bytes, out->bytes + n, out->n_bytes - (size_t)n);
    out->n_bytes -= (size_t)n;
    return true;
}

/* Hears a peer: NULL as long as all is well, else why it is let go. */
static const char *hear(struct hs_gather_peer *peer, uint64_t now, struct hs_error *err)
{
    static uint8_t bytes[READ_BYTES];
    for (int i = 0; i < READS_AT_ONCE; i++) {
        ssize_t n = recv(peer->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return NULL;
        if (n == 0 && peer->wire.has_ended)
            return "complete";
        if (n <= 0)
            return peer->wire.is_known ? "cut off: what came is kept" : "it went away";
        peer->heard_ns = now;
        if (hs_wire_peer_hear(&peer->wire, bytes, (size_t)n, err) != HS_OK)
            return err->message;
    }
    return NULL;
}

static const char *is_late(const struct hs_gather_peer *peer, uint64_t now)
{
    if (!peer->wire.is_known && now - peer->begun_ns > HELLO_NS)
        return "it did not say who it is";
    if (now > peer->heard_ns && now - peer->heard_ns > peer->gather->idle_ns)
        return "silent for too long: what came is kept";
    return NULL;
}

/* ---- all of them ---- */

static void name_peer(struct hs_gather_peer *peer, const struct sockaddr *place, socklen_t n)
{
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (getnameinfo(place, n, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        (void)snprintf(peer->from, sizeof peer->from, "%s:%s", host, port);
}

static hs_status add_peer(struct hs_gather *gather, int fd, const struct sockaddr *place,
                          socklen_t n_place, struct hs_error *err)
{
    struct hs_gather_peer *peer;
    HS_TRY(HS_GROW(&gather->peers, &gather->capacity, gather->n_peers + 1, err));
    HS_TRY(HS_ALLOC(&peer, 1, err));
    *peer = (struct hs_gather_peer){.gather = gather, .fd = fd, .from = "unknown"};
    peer->heard_ns = peer->begun_ns = hs_now_ns();
    peer->files.open = open_file;
    peer->files.complain = complain;
    peer->files.context = peer;
    peer->wire.admit = admit;
    peer->wire.take = take_packet;
    peer->wire.context = peer;
    name_peer(peer, place, n_place);
    hs_status status = hs_wire_peer_init(&peer->wire, gather->token, err);
    if (status != HS_OK) {
        peer->fd = -1;
        free_peer(peer);
        return status;
    }
    gather->peers[gather->n_peers++] = peer;
    return HS_OK;
}

/* Returns the length of a peer's address without the port. */
static size_t host_bytes(const struct hs_gather_peer *peer)
{
    const char *colon = strrchr(peer->from, ':');
    return colon == NULL ? strlen(peer->from) : (size_t)(colon - peer->from);
}

static size_t n_strangers_of(const struct hs_gather *gather, const struct hs_gather_peer *one)
{
    size_t n = 0, n_host = host_bytes(one);
    for (size_t i = 0; i < gather->n_peers; i++) {
        const struct hs_gather_peer *peer = gather->peers[i];
        n += !peer->wire.is_known && host_bytes(peer) == n_host &&
             memcmp(peer->from, one->from, n_host) == 0;
    }
    return n;
}

/* Finds the stranger that goes when another one comes: of the host that has the most, the oldest.
 */
static bool find_oldest(const struct hs_gather *gather, size_t *ret)
{
    size_t most = 0;
    for (size_t i = 0; i < gather->n_peers; i++) {
        const struct hs_gather_peer *peer = gather->peers[i];
        if (peer->wire.is_known)
            continue;
        size_t n = n_strangers_of(gather, peer);
        if (n > most || (n == most && peer->begun_ns < gather->peers[*ret]->begun_ns)) {
            most = n;
            *ret = i;
        }
    }
    return most != 0;
}

static void take_off(struct hs_gather *gather, size_t at, const char *why)
{
    struct hs_gather_peer *peer = gather->peers[at];
    gather->peers[at] = gather->peers[--gather->n_peers];
    let_go(peer, why);
}

/* Makes room for one more. False: all strangers have just come, and the next one waits before the
 * door. */
static bool make_room(struct hs_gather *gather, uint64_t now)
{
    size_t at = 0;
    if (gather->n_peers - gather->n_known < STRANGERS || !find_oldest(gather, &at))
        return true;
    uint64_t until = gather->peers[at]->begun_ns + STAY_NS;
    if (now < until) {
        gather->closed_until_ns = until;
        return false;
    }
    take_off(gather, at, "it did not say who it is before others came");
    return true;
}

/* The connection stays before the door and would wake us again and again: it is not looked at for a
 * while. A stranger's descriptor is one that can be had. */
static void pause_accept(struct hs_gather *gather, int why, uint64_t now)
{
    size_t at = 0;
    gather->closed_until_ns = now + PAUSE_NS;
    talk_refusal(gather, "a sender", strerror(why));
    if (find_oldest(gather, &at) && now > gather->peers[at]->begun_ns + STAY_NS) {
        gather->closed_until_ns = 0;
        take_off(gather, at, "it did not say who it is before others came");
    }
}

static bool is_transient(int why)
{
    return why == EAGAIN || why == EINTR || why == ECONNABORTED || why == EPROTO;
}

/* Accepts few at a time, so that those who are there are heard in between. */
static hs_status accept_peers(struct hs_gather *gather, struct hs_error *err)
{
    for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
        struct sockaddr_storage place;
        socklen_t n = sizeof place;
        uint64_t now = hs_now_ns();
        if (!make_room(gather, now))
            return HS_OK;
        int fd =
            accept4(gather->listener, (struct sockaddr *)&place, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 && !is_transient(errno))
            pause_accept(gather, errno, now);
        if (fd < 0)
            return HS_OK; /* none, or none that can be had now */
        hs_status status = add_peer(gather, fd, (struct sockaddr *)&place, n, err);
        if (status != HS_OK) {
            (void)close(fd);
            return status;
        }
    }
    return HS_OK;
}

static void serve(struct hs_gather *gather, size_t at, short events)
{
    struct hs_gather_peer *peer = gather->peers[at];
    struct hs_error err = HS_ERROR_INIT;
    uint64_t now = hs_now_ns();
    const char *why = NULL;
    if (events != 0)
        why = hear(peer, now, &err);
    if (!send_waiting(peer) && why == NULL)
        why = "it went away";
    if (why == NULL)
        why = is_late(peer, now);
    if (why == NULL)
        return;
    take_off(gather, at, why);
}

/* Returns how long to wait, in milliseconds: until others are let in again, at most as long as late
 * ones may wait for us to look. */
static int patience_ms(const struct hs_gather *gather, uint64_t now)
{
    uint64_t left_ns = gather->closed_until_ns > now ? gather->closed_until_ns - now : 0;
    return left_ns == 0 || left_ns / 1000000 >= POLL_MS ? POLL_MS : (int)(left_ns / 1000000) + 1;
}

static hs_status wait_and_serve(struct hs_gather *gather, struct pollfd *waits,
                                struct hs_error *err)
{
    size_t n = gather->n_peers;
    uint64_t now = hs_now_ns();
    bool is_open = now >= gather->closed_until_ns;
    waits[0] = (struct pollfd){.fd = is_open ? gather->listener : -1, .events = POLLIN};
    for (size_t i = 0; i < n; i++) {
        bool has_out = gather->peers[i]->wire.out.n_bytes != 0;
        waits[i + 1] = (struct pollfd){.fd = gather->peers[i]->fd,
                                       .events = (short)(POLLIN | (has_out ? POLLOUT : 0))};
    }
    if (poll(waits, n + 1, is_open ? POLL_MS : patience_ms(gather, now)) < 0)
        return errno == EINTR ? HS_OK : hs_fail_errno(err, HS_IO, "cannot wait for senders");
    talk_refusals(gather, now);
    for (size_t i = n; i-- > 0;) /* from the end: who goes is replaced by one that was served */
        serve(gather, i, waits[i + 1].revents);
    return waits[0].revents != 0 ? accept_peers(gather, err) : HS_OK;
}

/* A sender is a descriptor, and each of its files. */
static void raise_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* what is there must do otherwise */
}

hs_status hs_gather_run(struct hs_gather *gather, struct hs_error *err)
{
    struct sigaction action = {.sa_handler = on_signal};
    hs_auto_free struct pollfd *waits = NULL;
    HS_TRY(HS_ALLOC(&waits, gather->n_peers_max + STRANGERS + 1, err));
    raise_files();
    gather->lines_begun_ns = hs_now_ns();
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    while (!wants_end)
        HS_TRY(wait_and_serve(gather, waits, err));
    while (gather->n_peers != 0)
        let_go(gather->peers[--gather->n_peers], "ended by us: what came is kept");
    gather->lines_begun_ns = hs_now_ns() - LINES_NS; /* what is not said yet */
    talk_refusals(gather, hs_now_ns());
    return HS_OK;
}

void hs_gather_fini(struct hs_gather *gather)
{
    while (gather->n_peers != 0)
        free_peer(gather->peers[--gather->n_peers]);
    hs_free(gather->peers);
    if (gather->listener >= 0)
        (void)close(gather->listener);
    if (gather->dir_fd >= 0)
        (void)close(gather->dir_fd);
    gather->peers = NULL;
}
