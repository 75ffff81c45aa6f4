#!/usr/bin/env bash
# File systems that a process serves (FUSE): one that hangs must not hold the target, and one that
# is the target must not hold us.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && [ -w /dev/fuse ] || skip "no FUSE here, or no right to mount"
command -v cc >/dev/null || skip "no compiler"
cd "$work"

cat >one_fuse.c <<'C'
/* A FUSE file system of one file, without a library: one_fuse POINT FILE. It says "ready" when it
 * is mounted. SIGUSR1: it answers no more; SIGUSR2: it goes on. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t is_held;
static void on_signal(int number) { is_held = number == SIGUSR1; }

static char request[1 << 20];
static int device, file;
static struct stat about;

static void answer(uint64_t unique, int error, const void *bytes, size_t n)
{
    struct fuse_out_header head = {sizeof head + (uint32_t)n, error, unique};
    struct iovec parts[2] = {{&head, sizeof head}, {(void *)bytes, n}};
    (void)!writev(device, parts, n != 0 ? 2 : 1);
}
static struct fuse_attr attributes(uint64_t node)
{
    struct fuse_attr a = {.ino = node, .nlink = 1, .blksize = 4096};
    a.mode = node == 1 ? S_IFDIR | 0755 : S_IFREG | 0755;
    a.size = node == 1 ? 0 : (uint64_t)about.st_size;
    a.blocks = a.size / 512;
    return a;
}
static void serve(const struct fuse_in_header *in, const void *body)
{
    static char bytes[1 << 17];
    uint64_t u = in->unique;
    if (in->opcode == FUSE_INIT) {
        /* As most have it: who needs a page waits for the page, not for an answer of ours. */
        struct fuse_init_out out = {.major = 7, .minor = 31, .max_readahead = 1 << 16,
                                    .max_write = 1 << 16, .flags = FUSE_ASYNC_READ};
        answer(u, 0, &out, sizeof out);
    } else if (in->opcode == FUSE_LOOKUP && in->nodeid == 1 && strcmp(body, "program") == 0) {
        struct fuse_entry_out out = {.nodeid = 2, .attr = attributes(2)};
        answer(u, 0, &out, sizeof out);
    } else if (in->opcode == FUSE_LOOKUP) {
        answer(u, -ENOENT, NULL, 0);
    } else if (in->opcode == FUSE_GETATTR) {
        struct fuse_attr_out out = {.attr = attributes(in->nodeid)};
        answer(u, 0, &out, sizeof out);
    } else if (in->opcode == FUSE_OPEN || in->opcode == FUSE_OPENDIR) {
        struct fuse_open_out out = {.fh = 1};
        out.open_flags = in->opcode == FUSE_OPEN ? FOPEN_KEEP_CACHE : 0;
        answer(u, 0, &out, sizeof out);
    } else if (in->opcode == FUSE_READ) {
        const struct fuse_read_in *read_in = body;
        size_t n = read_in->size < sizeof bytes ? read_in->size : sizeof bytes;
        ssize_t got = pread(file, bytes, n, (off_t)read_in->offset);
        answer(u, got < 0 ? -EIO : 0, bytes, got < 0 ? 0 : (size_t)got);
    } else if (in->opcode == FUSE_RELEASE || in->opcode == FUSE_FLUSH ||
               in->opcode == FUSE_RELEASEDIR) {
        answer(u, 0, NULL, 0);
    } else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_BATCH_FORGET &&
               in->opcode != FUSE_INTERRUPT) {
        answer(u, -ENOSYS, NULL, 0);
    }
}
int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    char options[128];
    device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    file = argc > 2 ? open(argv[2], O_RDONLY | O_CLOEXEC) : -1;
    if (device < 0 || file < 0 || fstat(file, &about) != 0)
        return 2;
    snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
    if (mount("one_fuse", argv[1], "fuse", MS_NODEV, options) != 0)
        return 3;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct timespec soon = {0, 20000000};
        ssize_t n = read(device, request, sizeof request);
        while (is_held) /* also what was asked before the signal was seen */
            nanosleep(&soon, NULL);
        if (n < 0 && errno == ENODEV)
            return 0;
        if (n >= (ssize_t)sizeof(struct fuse_in_header))
            serve((void *)request, request + sizeof(struct fuse_in_header));
    }
}
C
cat >ticker.c <<'C'
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
char untouched[8 << 20] = {1}; /* of the file, and never read here */
struct node {
    struct node *next;
    char rest[100];
} *head;
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}
/* A page fault in a file: nothing ends that wait but its file system. */
static void *touch(void *page)
{
    *(volatile char *)page;
    return NULL;
}
/* Answers each line with how long it stood still at most, in ms. The line "touch" has a thread look
 * at a page in the middle of the file that is mapped. */
int main(int n_arguments, char **arguments)
{
    double last, longest = 0;
    char *mapped = NULL;
    pthread_t thread;
    if (n_arguments > 1)
        mapped = mmap(NULL, 8 << 20, PROT_READ, MAP_PRIVATE, open(arguments[1], O_RDONLY), 0);
    for (int i = 0; i < 20000; i++) {
        struct node *node = malloc(sizeof *node);
        memset(node, 1, sizeof *node);
        node->next = head;
        head = node;
    }
    for (last = now_ms();;) {
        struct pollfd in = {0, POLLIN, 0};
        char line[64];
        if (poll(&in, 1, 1) > 0) {
            if (read(0, line, sizeof line) <= 0)
                return 0;
            if (line[0] == 't')
                pthread_create(&thread, NULL, touch, mapped + (4 << 20));
            printf("%.0f\n", longest);
            fflush(stdout);
            longest = 0;
        }
        double at = now_ms();
        longest = at - last > longest ? at - last : longest;
        last = at;
    }
}
C
cc -O1 -w -o one_fuse one_fuse.c || skip "no FUSE in the headers of the kernel"
cc -g -O1 -w -pthread -o ticker ticker.c || fail "building"
mkdir first second
trap 'cleanup; umount -l first second 2>/dev/null || true; rm -rf "$work"' EXIT

# serve DIRECTORY FILE: its server in $server.
serve()
{
    ./one_fuse "$1" "$2" >served &
    server=$!
    started+=("$server")
    for _ in $(seq 600); do
        grep -q ready served && return
        kill -0 "$server" 2>/dev/null || skip "nothing can be mounted here"
        sleep 0.1
    done
    fail "the server does not begin"
}

# --- the target's file hangs: it goes on, whatever we wait for, and killing us is safe ---
serve first ticker
mkfifo ask
# begin PROGRAM...: the target.
begin()
{
    "$@" <ask >answers &
    target=$!
    started+=("$target")
    exec 7>ask
    asked=0
}
# stood_still [LINE]: how long, in ms, since the last question.
stood_still()
{
    echo "${1:-}" >&7
    asked=$((asked + 1))
    for _ in $(seq 600); do [ "$(wc -l <answers)" -ge "$asked" ] && break; sleep 0.1; done
    [ "$(wc -l <answers)" -ge "$asked" ] || fail "the target does not answer"
    still=$(tail -1 answers)
}
begin ./first/program
stood_still
heapsnap dump "$target" -o sound.snap
[ "$code" -eq 0 ] || skip "nothing can be dumped here: $(cat err)"
for options in "" "--stop read --max-pause 500ms"; do
    allowed=2000 # by default
    [ -z "$options" ] || allowed=1000
    sync
    echo 3 >/proc/sys/vm/drop_caches
    kill -USR1 "$server"
    stood_still
    # shellcheck disable=SC2086
    timeout -s KILL 6 "$HEAPSNAP" dump "$target" $options -o hung.snap >out 2>err || true
    stood_still
    [ "$still" -lt "$allowed" ] || fail "dump $options: the target stood still for $still ms"
    [ ! -e hung.snap ] || fail "dump $options: half a file"
    kill -USR2 "$server"
done
exits 0 dump "$target" -o again.snap
exec 7>&-
wait "$target" || fail "the target did not end well"

# --- a thread in state D, in a fault on a page of such a file: all others run again within half a
# second, or --max-pause, and it is named with what it waits in ---
begin ./ticker first/program
stood_still
sync
echo 3 >/proc/sys/vm/drop_caches
kill -USR1 "$server"
stood_still touch
for _ in $(seq 600); do
    grep -q '^State:.*D' /proc/"$target"/task/*/status && break
    sleep 0.1
done
grep -q '^State:.*D' /proc/"$target"/task/*/status || fail "no thread is in state D"
# A busy machine may be late by any time: the least of some rounds counts.
for options in "" "--stop read --max-pause 300ms"; do
    allowed=500
    [ -z "$options" ] || allowed=300
    least=1000000
    for _ in $(seq 5); do
        stood_still
        # shellcheck disable=SC2086
        exits 3 dump "$target" $options -o waiting.snap
        mentions "its thread [0-9]* is in state D and cannot be stopped: it waits in the kernel"
        stood_still
        [ ! -e waiting.snap ] || fail "dump $options: half a file"
        [ "$still" -ge "$least" ] || least=$still
        [ "$least" -ge $((allowed + 200)) ] || break
    done
    [ "$least" -lt $((allowed + 200)) ] ||
        fail "dump $options: the target stood still for $least ms at the least"
done
kill -USR2 "$server"
exits 0 dump "$target" -o again.snap
exec 7>&-
wait "$target" || fail "the target did not end well"
umount first

# --- the target serves the file that we are: nothing of it is needed while it stands still ---
serve second "$HEAPSNAP"
for options in "" "--stop read"; do
    sync
    echo 3 >/proc/sys/vm/drop_caches
    code=0
    # shellcheck disable=SC2086
    timeout -s KILL 20 ./second/program dump "$server" $options -o self.snap >out 2>err || code=$?
    [ "$code" -eq 0 ] || fail "dump $options of who serves us: exit $code: $(cat err)"
done
kill -0 "$server" || fail "the server is gone"
umount second
