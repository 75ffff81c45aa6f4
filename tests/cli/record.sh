#!/usr/bin/env bash
# parts: record
# record: the program's own status, what is refused, outputs that fail, processes that fork.
. "$(dirname "$0")/lib.sh"
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
case $SANITIZED in *thread*) skip "the program's threads are not ours to judge" ;; esac
command -v cc >/dev/null || skip "no compiler"
cd "$work"
record() { heapsnap record "$@"; }

cat >busy.c <<'C'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static void *kept[5000];
__attribute__((noinline)) void keep_some(int n)
{
    for (int i = 0; i < n; i++) {
        kept[i % 5000] = malloc(3000);
        memset(kept[i % 5000], 1, 3000);
        if (i % 2)
            free(kept[i % 5000]);
    }
}
int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 5000;
    keep_some(n);
    if (argc > 1 && strcmp(argv[1], "kill") == 0)
        raise(SIGKILL);
    for (int i = 3; argc > 1 && strcmp(argv[1], "closes") == 0 && i < 70000; i++)
        close(i);
    if (argc > 1 && strcmp(argv[1], "exec") == 0)
        execl("./busy", "busy", "exit", argv[2], (char *)0);
    if (argc > 1 && strcmp(argv[1], "forks") == 0)
        for (int i = 0; i < 1000; i++) {
            pid_t child = fork();
            if (child == 0) {
                keep_some(3);
                _exit(0);
            }
            waitpid(child, 0, 0);
        }
    if (argc > 1 && strcmp(argv[1], "children") == 0)
        for (int i = 0; i < 3; i++)
            if (fork() == 0) {
                keep_some(n);
                return 0;
            }
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        puts("ready");
        fflush(stdout);
        while (getchar() == 'x') {
            keep_some(n);
            puts("done");
            fflush(stdout);
        }
    }
    while (wait(0) > 0)
        ;
    puts("said by the program");
    return argc > 3 ? atoi(argv[3]) : 0;
}
C
cc -g -O1 -o busy busy.c || fail "building"

# events FILE: how many allocations it has; it must be sound.
events()
{
    "$HEAPSNAP" trace dump "$1" >dumped || fail "trace dump $1"
    grep -c 'alloc_ext' dumped || true
}

# --- the program's own words, files and status ---
record --rate 16KiB -- ./busy exit 5000 7
[ "$code" -eq 7 ] || fail "exit $code, not the program's 7: $(cat err)"
[ "$(cat out)" = "said by the program" ] || fail "its output is not its own: $(cat out)"
mentions "sampled allocations of process [0-9]+ in 'heapsnap\.[0-9]+\.trace'"
ls heapsnap.*.trace >/dev/null || fail "no trace"
n=$(events heapsnap.*.trace)
[ "$n" -gt 100 ] || fail "only $n samples"
grep -q 'keep_some@.*busy.c:' dumped || fail "no names: $(head -3 dumped)"
[ "$(stat -c %a heapsnap.*.trace)" = 600 ] || fail "others may read the trace"
rm heapsnap.*.trace

record -o killed.trace -- ./busy kill
[ "$code" -eq 137 ] || fail "exit $code of a killed program"
"$HEAPSNAP" trace dump killed.trace >/dev/null || fail "the trace of a killed program"

record --quiet --mode 0640 -o moded.trace -- ./busy exit
[ "$code" -eq 0 ] || fail "exit $code: $(cat err)"
[ ! -s err ] || fail "not quiet: $(cat err)"
[ "$(stat -c %a moded.trace)" = 640 ] || fail "--mode is not kept to"

# --- options of the program are the program's ---
record -o o.trace -- ./busy exit 10 3 --help --version
[ "$code" -eq 3 ] || fail "the program's --help was taken"
record -o o.trace ./busy exit 10 4 -h
[ "$code" -eq 4 ] || fail "the program's -h was taken"
exits 0 record --help
grep -q "usage: heapsnap record \[OPTION\]... PROGRAM" out || fail "usage: $(grep usage out)"

# --- an exec begins another trace; one without allocations is not kept ---
record --rate 16KiB -o exec.trace -- ./busy exec 40000
[ "$code" -eq 0 ] || fail "exec: $code"
[ "$(events exec.trace)" -gt 100 ] && [ "$(events exec.trace.2)" -gt 100 ] || fail "exec: $(ls)"
record --rate 1GiB -o sh.trace -- sh -c 'exec ./busy exit 50' # samples nothing
[ -e sh.trace ] && [ ! -e sh.trace.2 ] || fail "an empty trace was kept: $(ls)"

# --- refusals ---
exits 2 record
exits 2 record -- ./missing
exits 2 record -- no-such-program-anywhere
exits 2 record --rate 0 -- ./busy
exits 2 record -o - -- ./busy
exits 2 record --to 127.0.0.1:1 -- ./busy
exits 3 record -- ./busy.c
mentions "it is not executable"
exits 3 record -- "$work"
cp busy setuid && chmod u+s setuid
exits 3 record -- ./setuid
mentions "it is setuid, so that the recorder.s library cannot be loaded into it"
cp busy setgid && chmod g+s setgid
exits 3 record -- ./setgid
if cc -static -o static busy.c 2>/dev/null; then
    exits 3 record -- ./static
    mentions "it is static"
    mentions "pkg-config"
fi
if cc -m32 -o small busy.c 2>/dev/null; then
    exits 3 record -- ./small
    mentions "32-bit"
fi
printf '\177ELF\2\1\1' >broken && chmod +x broken
exits 3 record -- ./broken
printf 'no program' >text && chmod +x text
exits 3 record -- ./text

# --- outputs that cannot be written ---
exits 5 record -o "$work/no/such/place" -- ./busy exit
mentions "'.*/busy' runs all the same; nothing is recorded"
[ "$(cat out)" = "said by the program" ] || fail "it was not started for want of a trace"
exits 5 record -o "$work" -- ./busy exit
[ "$(cat out)" = "said by the program" ] || fail "it was not started for want of a trace"
exits 7 record -o "$work/no/such/place" -- ./busy exit 5000 7
record --rate 16KiB -o /dev/full -- ./busy exit 5000
[ "$code" -eq 5 ] || fail "/dev/full: exit $code"
[ "$(cat out)" = "said by the program" ] || fail "/dev/full: the program was hurt"
mentions "the trace '/dev/full' ends here: No space left on device"
mentions "^heapsnap: 0 sampled allocations of process [0-9]+ in '/dev/full' \(0 B"
mentions "[1-9][0-9]* more came and could not be written"
# On a small disk the first ones are in the file, and no more than that are claimed.
if mkdir small && mount -t tmpfs -o size=64k none small 2>/dev/null; then
    trap 'umount small; cleanup' EXIT
    record --rate 4KiB -o small/full.trace -- ./busy exit 40000
    [ "$code" -eq 5 ] || fail "a full disk: exit $code: $(cat err)"
    [ "$(cat out)" = "said by the program" ] || fail "a full disk: the program was hurt"
    mentions "the trace 'small/full.trace' ends here: No space left on device"
    claimed=$(sed -n 's/^heapsnap: \([0-9]*\) sampled allocations of .*/\1/p' err)
    [ "$(events small/full.trace)" -eq "$claimed" ] ||
        fail "$claimed claimed, $(events small/full.trace) in the file"
    [ "$claimed" -gt 0 ] || fail "a full disk: nothing before it was full: $(cat err)"
    umount small
    trap cleanup EXIT
else
    echo "not tried: a small disk (no right to mount)" >&2
fi
# Without a process for it, or a descriptor, the program runs all the same.
unrecorded=0
for n in 6 7 8 9 10 11; do # fewer do not do for looking at the program
    code=0
    (ulimit -Sn $n && exec "$HEAPSNAP" record -o none.trace -- ./busy exit 5 7) >out 2>err ||
        code=$?
    grep -q "cannot record: cannot open './busy'" err && continue
    [ "$(cat out)" = "said by the program" ] || fail "$n descriptors: not started: $(cat err)"
    [ "$code" -eq 7 ] || fail "$n descriptors: exit $code: $(cat err)"
    ! grep -q "nothing is recorded" err || unrecorded=$((unrecorded + 1))
done
[ "$unrecorded" -gt 0 ] || fail "there were always enough descriptors"

mkfifo hold
"$HEAPSNAP" record --rate 16KiB -o gone.trace -- ./busy wait 5000 <hold >unlinked.out 2>err &
recorder=$!
started+=("$recorder")
exec 9>hold
for _ in $(seq 600); do grep -q ready unlinked.out && break; sleep 0.1; done
rm gone.trace
printf 'x' >&9
exec 9>&-
code=0
wait "$recorder" || code=$?
[ "$code" -eq 5 ] || fail "unlinked: exit $code: $(cat err)"
mentions "it was removed while it was written"
[ ! -e gone.trace ] || fail "it is there again"

# --- a thousand forks are one trace; --children one for each ---
record --rate 16KiB -o forks.trace -- ./busy forks 5000
[ "$code" -eq 0 ] || fail "forks: $code: $(cat err)"
[ "$(events forks.trace)" -gt 100 ] || fail "forks: no samples"
[ "$(ls forks.trace* | wc -l)" -eq 1 ] || fail "forks: $(ls forks.trace*)"
record --rate 16KiB --children -o family.trace -- ./busy children 5000
[ "$code" -eq 0 ] || fail "children: $code: $(cat err)"
[ "$(ls family.trace* | wc -l)" -eq 4 ] || fail "children: $(ls family.trace*)"
for trace in family.trace*; do
    [ "$(events "$trace")" -gt 100 ] || fail "children: $trace"
done

# --- switched on while it runs ---
record --rate 16KiB --start off -o off.trace -- ./busy exit 5000
[ "$(events off.trace)" -eq 0 ] || fail "it samples although it is off"

# --- switched off and on; killed recorders leave the program alone ---
"$HEAPSNAP" record --rate 16KiB --start off -o switch.trace -- ./busy wait 5000 <hold >switch.out \
    2>switch.err &
recorder=$!
started+=("$recorder")
exec 9>hold
# answered FILE N: the program has said "done" N times.
answered()
{
    for _ in $(seq 600); do
        [ "$(grep -c done "$1")" -ge "$2" ] && return
        sleep 0.1
    done
    fail "the program does not answer"
}
printf x >&9
answered switch.out 1
pid=$(pgrep -P "$recorder" -x busy)
started+=("$pid")
exits 0 record --switch on "$pid"
printf x >&9
answered switch.out 2
exits 0 record --switch off "$pid"
printf x >&9
answered switch.out 3
exits 0 record --switch on "$pid"
kill -KILL "$recorder"
wait "$recorder" 2>/dev/null || true
printf x >&9
answered switch.out 4
printf x >&9
answered switch.out 5
exec 9>&-
for _ in $(seq 600); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
grep -q "said by the program" switch.out || fail "the program did not outlive its recorder"
"$HEAPSNAP" trace dump switch.trace >/dev/null || fail "what a killed recorder left cannot be read"
"$HEAPSNAP" record --rate 16KiB --start off -o on.trace -- ./busy wait 5000 <hold >on.out 2>err &
recorder=$!
started+=("$recorder")
exec 9>hold
printf x >&9
answered on.out 1
exits 0 record --switch on "$(pgrep -P "$recorder" -x busy)"
printf x >&9
answered on.out 2
exec 9>&-
wait "$recorder" || fail "switched: $(cat err)"
[ "$(events on.trace)" -gt 100 ] || fail "it does not sample although it was switched on"
exits 3 record --switch on $$
mentions "not loaded into it"
exits 2 record --switch on
exits 2 record --switch on x

# --- a program that closes everything goes on, and what came before is kept ---
record --rate 16KiB -o closed.trace -- ./busy closes 40000 6
[ "$code" -eq 6 ] || fail "closes: exit $code: $(cat err)"
[ "$(cat out)" = "said by the program" ] || fail "closes: $(cat out)"
[ "$(events closed.trace)" -gt 100 ] || fail "closes: no samples"

# --- signals reach the program ---
"$HEAPSNAP" record -o term.trace -- ./busy wait <hold >term.out 2>err &
recorder=$!
started+=("$recorder")
exec 9>hold
for _ in $(seq 600); do grep -q ready term.out && break; sleep 0.1; done
kill -TERM "$recorder"
code=0
wait "$recorder" || code=$?
exec 9>&-
[ "$code" -eq 143 ] || fail "TERM: exit $code"

# --- a trace that the library wrote by itself gets its names later ---
HEAPSNAP_RECORD_FILE=$work/raw.trace HEAPSNAP_RECORD_RATE=16384 \
    LD_PRELOAD=$BUILD_DIR/bin/libheapsnap-record.so ./busy exit >/dev/null || fail "preloaded"
heapsnap trace dump raw.trace
[ "$code" -eq 0 ] || fail "raw: $(cat err)"
grep -q keep_some out && fail "it has names already"
mentions "trace names raw.trace"
exits 0 trace names raw.trace -o named.trace
[ "$(events named.trace)" -gt 100 ] || fail "named: no samples"
grep -q 'keep_some@.*busy.c:' dumped || fail "named: no names"
"$HEAPSNAP" trace dump named.trace 2>err >/dev/null || fail "named"
! grep -q hint err || fail "named: $(cat err)"
cp busy busy.new && sleep 0.1 && mv busy.new busy
exits 0 trace names raw.trace -o late.trace
mentions "was replaced or changed"
printf 'nothing' >nothing
exits 4 trace names nothing -o late.trace
