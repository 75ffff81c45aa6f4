#!/usr/bin/env bash
# A file system of others in user space, Debian's bindfs, which has a program's binary and library:
# both are read through it, and while it hangs the program goes on and we can be killed.
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] && [ -w /dev/fuse ] || skip "no /dev/fuse here, or no right to mount"
command -v bindfs >/dev/null || skip "there is no bindfs: scripts/deps test installs it"
command -v cc >/dev/null || skip "no compiler"
cd "$work"
mkdir plain mounted
trap 'cleanup; umount -l mounted 2>/dev/null || true; rm -rf "$work"' EXIT

cat >shelf.c <<'C'
#include <stdlib.h>
#include <string.h>
struct book {
    struct book *next;
    char title[88];
} *shelf;
/* Of 16 MiB, so that it is not read whole where a part is needed. */
char ballast[16 << 20] = {1};
void fill(int n)
{
    while (n-- > 0) {
        struct book *book = malloc(sizeof *book);
        memset(book, 1, sizeof *book);
        book->next = shelf;
        shelf = book;
    }
}
C
cat >reader.c <<'C'
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
void fill(int n);
struct page {
    struct page *next;
    char text[120];
} *notes;
static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}
/* Answers each line with how long it stood still at most since the last one, in ms. */
int main(void)
{
    double last, at, longest = 0;
    fill(5000);
    for (int i = 0; i < 3000; i++) {
        struct page *page = malloc(sizeof *page);
        memset(page, 1, sizeof *page);
        page->next = notes;
        notes = page;
    }
    for (last = now_ms();; last = at) {
        struct pollfd in = {0, POLLIN, 0};
        char line[64];
        if (poll(&in, 1, 1) > 0) {
            if (read(0, line, sizeof line) <= 0)
                return 0;
            printf("%.0f\n", longest);
            fflush(stdout);
            longest = 0;
        }
        at = now_ms();
        longest = at - last > longest ? at - last : longest;
    }
}
C
cc -g -O1 -w -shared -fPIC -o plain/libshelf.so shelf.c || fail "building the library"
cc -g -O1 -w -o plain/reader reader.c -Lplain -lshelf -Wl,-rpath,"$work/mounted" ||
    fail "building the program"
bindfs -f plain mounted >served 2>&1 &
server=$!
started+=("$server")
for _ in $(seq 600); do
    [ -e mounted/reader ] && break
    kill -0 "$server" 2>/dev/null || skip "bindfs mounts nothing here: $(cat served)"
    sleep 0.1
done
[ -e mounted/reader ] || fail "bindfs does not begin"

mkfifo ask
./mounted/reader <ask >answers &
target=$!
started+=("$target")
exec 7>ask
asked=0
# stood_still: how long, in ms, since the last question.
stood_still()
{
    echo >&7
    asked=$((asked + 1))
    for _ in $(seq 600); do [ "$(wc -l <answers)" -ge "$asked" ] && break; sleep 0.1; done
    [ "$(wc -l <answers)" -ge "$asked" ] || fail "the target does not answer"
    still=$(tail -1 answers)
}

# What the binary and the library say is there.
is_whole()
{
    exits 0 check "$1"
    exits 0 roots "$1" --json
    for name in notes shelf; do
        grep -q "\"name\": \"$name\"" out || fail "$1: no variable '$name'"
    done
    exits 0 types "$1" --json
    for name in page book; do
        grep -q "\"struct $name\"" out || fail "$1: no type 'struct $name'"
    done
}
stood_still
heapsnap dump "$target" -o sound.snap
[ "$code" -eq 0 ] || skip "nothing can be dumped here: $(cat err)"
is_whole sound.snap

# It hangs: what is read of it is waited for before the target is stopped, and no limit is needed to
# get away.
for options in "" "--stop read --max-pause 500ms"; do
    sync
    echo 3 >/proc/sys/vm/drop_caches
    kill -STOP "$server"
    stood_still
    code=0
    # shellcheck disable=SC2086
    timeout -s KILL 5 "$HEAPSNAP" dump "$target" $options -o hung.snap >out 2>err || code=$?
    [ "$code" -ne 0 ] || fail "dump $options: nothing of a file system that hangs was needed"
    stood_still
    [ "$still" -lt 3000 ] || fail "dump $options: the target stood still for $still ms"
    [ ! -e hung.snap ] || fail "dump $options: half a file"
    echo "dump $options: exit $code, the target stood still for $still ms"
    kill -CONT "$server"
done
exits 0 dump "$target" -o again.snap
is_whole again.snap
exec 7>&-
wait "$target" || fail "the target did not end well"
umount mounted
