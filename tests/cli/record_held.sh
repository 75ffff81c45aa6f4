#!/usr/bin/env bash
# parts: record
# record: what a program has not sent yet is in the trace when it goes quiet, and whatever its end.
. "$(dirname "$0")/lib.sh"
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
case $SANITIZED in *thread*) skip "the program's threads are not ours to judge" ;; esac
command -v cc >/dev/null || skip "no compiler"
cd "$work"

cat >ends.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
void *volatile kept[4000];
__attribute__((noinline)) static void keep(int n)
{
    for (int i = 0; i < n; i++)
        kept[i % 4000] = malloc(100 + i);
}
/* More than one descriptor in a message, again and again. */
static void flood(int socket)
{
    for (int i = 0; i < 300; i++) {
        union {
            struct cmsghdr head;
            char bytes[CMSG_SPACE(3 * sizeof(int))];
        } control = {.head = {CMSG_LEN(3 * sizeof(int)), SOL_SOCKET, SCM_RIGHTS}};
        int fds[3] = {0, 1, 2};
        struct iovec part = {"hsheld01", 8};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};
        memcpy(CMSG_DATA(&control.head), fds, sizeof fds);
        sendmsg(socket, &message, 0);
    }
}
int main(int argc, char **argv)
{
    const char *end = argv[1];
    keep(1180);
    if (strcmp(end, "flood") == 0) {
        flood(atoi(getenv("HEAPSNAP_RECORD_FD")));
        sleep(1);
        char count[64];
        snprintf(count, sizeof count, "ls /proc/%d/fd | wc -l >descriptors", getppid());
        return system(count);
    }
    if (strcmp(end, "trickle") == 0) {
        usleep(1500000);
        keep(1);
        usleep(1500000);
        close(open("third", O_CREAT | O_WRONLY, 0600));
        usleep(500000);
        keep(1);
        return 0;
    }
    if (strcmp(end, "quiet") == 0) {
        pause();
    } else if (strcmp(end, "again") == 0) {
        sleep(6); /* taken by now */
        keep(500);
        sleep(6);
        keep(500);
    } else if (strcmp(end, "_exit") == 0) {
        _exit(0);
    } else if (strcmp(end, "kill") == 0) {
        raise(SIGKILL);
    } else if (strcmp(end, "crash") == 0) {
        *(volatile int *)argc = 1;
    } else if (strcmp(end, "exec") == 0) {
        execl(argv[0], argv[0], "_exit", (char *)0);
    } else if (strcmp(end, "clone") == 0) {
        /* A child that no handler of fork is told of. */
        if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
            keep(2000);
            _exit(0);
        }
        wait(0);
        keep(20);
        _exit(0);
    }
    return 0;
}
C
cc -g -O1 -w -o ends ends.c || fail "building"

# kept FILE: how many allocations of ours are in it; it must be sound.
kept()
{
    "$HEAPSNAP" trace dump "$1" >dumped 2>dumped.err || fail "trace dump $1: $(cat dumped.err)"
    grep alloc_ext dumped | grep -c 'keep@' || true
}
# recorded END CODE COUNT
recorded()
{
    heapsnap record --rate 1 -o "$1.trace" -- ./ends "$1"
    [ "$code" -eq "$2" ] || fail "$1: exit $code: $(cat err)"
    [ "$(kept "$1.trace")" -eq "$3" ] || fail "$1: $(kept "$1.trace") of $3: $(cat err)"
    ! grep -q "lost" err || fail "$1: $(cat err)"
}
recorded exit 0 1180
recorded _exit 0 1180
recorded kill 137 1180
recorded crash 139 1180
recorded exec 0 1180
[ "$(kept exec.trace.2)" -eq 1180 ] || fail "exec: $(kept exec.trace.2) of the second program"
recorded clone 0 1200
recorded again 0 2180
[ "$(grep alloc_ext dumped | awk '{ print $2 }' | sort | uniq -d | wc -l)" -eq 0 ] ||
    fail "again: something is there twice"

# --- more descriptors than belong there ---
recorded flood 0 1180
[ "$(cat descriptors)" -lt 100 ] || fail "record has $(cat descriptors) descriptors open"

# --- one that is never quiet for long: what it samples is there before it samples again ---
for tries in 1 2 3; do
    rm -f third trickle.trace
    "$HEAPSNAP" record --rate 1 -o trickle.trace -- ./ends trickle >out 2>err &
    recorder=$!
    started+=("$recorder")
    n=0
    while [ ! -e third ] && [ "$n" -lt 1180 ]; do
        n=$(kept trickle.trace 2>/dev/null) || n=0
        sleep 0.1
    done
    wait "$recorder" || fail "trickle: $(cat err)"
    [ "$n" -lt 1180 ] || break
    [ "$tries" -lt 3 ] || fail "trickle: after three seconds $n of 1180 samples are in the trace"
done
[ "$(kept trickle.trace)" -eq 1182 ] || fail "trickle: $(kept trickle.trace) of 1182"

# --- a quiet one: all of it within seconds, at any rate ---
for rate in 1 1KiB; do
    "$HEAPSNAP" record --rate "$rate" -o "quiet.$rate.trace" -- ./ends quiet >out 2>err &
    recorder=$!
    started+=("$recorder")
    n=0 same=0
    # What comes in parts, a part in 400 ms, is all there when nothing came for two seconds.
    for _ in $(seq 600); do
        before=$n
        n=$(kept "quiet.$rate.trace" 2>/dev/null) || n=0
        [ "$n" -eq 1180 ] && break
        if [ "$n" -eq "$before" ]; then same=$((same + 1)); else same=0; fi
        [ "$rate" != 1 ] && [ "$n" -gt 100 ] && [ "$same" -ge 20 ] && break
        sleep 0.1
    done
    [ "$n" -gt 100 ] || fail "$rate: a quiet program's samples are not in the trace: $n"
    kill -TERM "$recorder"
    wait "$recorder" && fail "not ended by the signal"
    [ "$(kept "quiet.$rate.trace")" -eq "$n" ] || fail "$rate: more after the end"
    claimed=$(sed -n 's/^heapsnap: \([0-9]*\) sampled allocations of .*/\1/p' err)
    [ "$claimed" -ge "$n" ] || fail "$rate: $claimed claimed, $n there"
done
