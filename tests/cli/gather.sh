#!/usr/bin/env bash
# parts: record
# gather: several senders at once, wrong tokens, garbage, cut lines, a reader that does not read.
. "$(dirname "$0")/lib.sh"
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
case $SANITIZED in *thread*) skip "the program's threads are not ours to judge" ;; esac
command -v cc >/dev/null || skip "no compiler"
cd "$work"

cat >busy.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *kept[1000];
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 5000;
    for (int i = 0; i < n; i++) {
        free(kept[i % 1000]);
        kept[i % 1000] = malloc(3000);
        if (i % 1000 == 0 && argc > 2)
            for (volatile int k = 0; k < 1000000; k++)
                ;
    }
    if (argc > 3) {
        puts("ready");
        fflush(stdout);
        getchar();
    }
    puts("said by the program");
    return 0;
}
C
cc -g -O1 -o busy busy.c || fail "building"
umask 077
echo 'a secret of thirty-two characters' >token
echo 'another secret, as long as that one' >other

# gather_on PORT OPTIONS...: started; its place in $place.
gather_on()
{
    local port=$1
    shift
    : >listening # or what the gather before said is read, until the new one has begun
    "$HEAPSNAP" gather --listen "127.0.0.1:$port" --token token -o traces "$@" >listening \
        2>gather.err &
    gatherer=$!
    started+=("$gatherer")
    for _ in $(seq 600); do
        grep -q listening listening && break
        kill -0 "$gatherer" 2>/dev/null || fail "gather ended: $(cat gather.err)"
        sleep 0.1
    done
    place=$(sed -n 's/^listening on //p' listening)
}
# told PATTERN: gather has said so.
told()
{
    for _ in $(seq 600); do
        grep -qE -- "$1" gather.err && return
        sleep 0.1
    done
    fail "gather does not say '$1': $(cat gather.err)"
}
end_gather()
{
    kill -TERM "$gatherer"
    wait "$gatherer" || fail "gather: $(cat gather.err)"
}

# --- before anything is sent ---
exits 2 gather
exits 2 gather -o traces
exits 2 gather --token token
exits 2 gather --token token -o traces --listen nonsense
exits 5 gather --token missing -o traces
cp token readable && chmod 644 readable
exits 2 gather --token readable -o traces
mentions "others may read it"
(umask 077 && echo short >short)
exits 2 gather --token short -o traces
exits 5 gather --token token -o busy
exits 5 record --to 127.0.0.1:1 --token token -- ./busy
mentions "cannot send to '127.0.0.1:1': Connection refused"
mentions "'./busy' runs all the same; nothing is recorded"
grep -q "said by the program" out || fail "the program was not started"
ls heapsnap.*.trace 2>/dev/null && fail "a file that nobody asked for"
exits 5 record --to 127.0.0.1:1 --token token -o kept.trace -- ./busy 20000
mentions "[1-9][0-9]* sampled allocations of process [0-9]+ in 'kept.trace'"
exits 5 record --to 127.0.0.1:1 --token missing -- ./busy
mentions "cannot read the token 'missing'"
grep -q "said by the program" out || fail "without a token it was not started"

# --- two senders at once ---
gather_on 0
port=${place##*:}
exits 5 gather --listen "127.0.0.1:$port" --token token -o more
mentions "Address already in use"
"$HEAPSNAP" record --rate 16KiB --to "$place" --token token -- ./busy 20000 slow >one.out \
    2>one.err &
one=$!
"$HEAPSNAP" record --rate 16KiB --to "$place" --token token -o local.trace -- ./busy 20000 slow \
    >two.out 2>two.err &
two=$!
wait "$one" || fail "sender one: $(cat one.err)"
wait "$two" || fail "sender two: $(cat two.err)"
grep -q "said by the program" one.out || fail "the program's output"
grep -qE "[0-9]+ packets sent to '$place', 0 dropped" one.err || fail "no counts: $(cat one.err)"
told 'complete: [0-9]+ sampled.*(.|\n)*'
for _ in $(seq 600); do [ "$(grep -c complete gather.err)" -ge 2 ] && break; sleep 0.1; done
[ "$(ls traces/*.trace | wc -l)" -eq 2 ] || fail "not one file for each: $(ls traces)"
for trace in traces/*.trace; do
    "$HEAPSNAP" trace dump "$trace" >dumped || fail "$trace"
    [ "$(grep -c alloc_ext dumped)" -gt 1000 ] || fail "$trace is short"
    grep -q 'main@.*busy.c:' dumped || fail "$trace has no names"
    [ "$(stat -c %a "$trace")" = 600 ] || fail "others may read $trace"
done
ls heapsnap.*.trace 2>/dev/null && fail "a file that nobody asked for"
"$HEAPSNAP" trace dump local.trace >kept || fail "the local copy"
cmp -s local.trace traces/*-"$(sed -n 's/.*process \([0-9]*\) in.*/\1/p' two.err)"-*.trace ||
    fail "what was sent is not what was kept"

# --- another token, and no token at all ---
exits 5 record --to "$place" --token other -- ./busy
mentions "does not take us"
grep -q "said by the program" out || fail "refused, and the program was not started"
told 'refused: it has another token'
python3 - "$port" <<'PYTHON' || fail "garbage"
import os, socket, sys
for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"", os.urandom(100000), b"HSRECRD1" + bytes(5000)):
    peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    peer.settimeout(60)
    assert peer.recv(8) == b"HSGATHR1"
    try:
        peer.sendall(garbage)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(4096):
            pass
    except OSError: # it closes as soon as it knows
        pass
PYTHON
told 'refused: it does not speak this protocol'
[ "$(ls traces/*.trace | wc -l)" -eq 2 ] || fail "garbage made files: $(ls traces)"

# --- a sender that is cut off leaves what came ---
mkfifo hold
"$HEAPSNAP" record --rate 16KiB --to "$place" --token token -- ./busy 40000 slow wait <hold \
    >cut.out 2>cut.err &
cut=$!
started+=("$cut")
exec 9>hold
for _ in $(seq 600); do grep -q ready cut.out && break; sleep 0.1; done
pid=$(pgrep -P "$cut" -x busy)
for _ in $(seq 600); do # packets are on their way
    [ "$(cat traces/*-"$pid"-*.trace 2>/dev/null | wc -c)" -gt 40000 ] && break
    sleep 0.1
done
kill -KILL "$cut"
wait "$cut" 2>/dev/null || true
told 'cut off: what came is kept: [0-9]+ sampled'
exec 9>&-
for _ in $(seq 600); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
grep -q "said by the program" cut.out || fail "the program did not go on"
"$HEAPSNAP" trace dump traces/*-"$pid"-*.trace >dumped || fail "what came cannot be read"
[ "$(grep -c alloc_ext dumped)" -gt 100 ] || fail "what came is short"
end_gather

# --- a reader that does not read: the program is not held up, what is dropped is counted ---
gather_on 0
"$HEAPSNAP" record --rate 16 --to "$place" --token token -- ./busy 900000 fast wait <hold \
    >slow.out 2>slow.err &
slow=$!
started+=("$slow")
exec 9>hold
for _ in $(seq 600); do
    pid=$(pgrep -P "$slow" -x busy || echo none)
    ls traces/*"-$pid-"* >/dev/null 2>&1 && break
    sleep 0.1
done
kill -STOP "$gatherer"
for _ in $(seq 1200); do grep -q ready slow.out && break; sleep 0.1; done
grep -q ready slow.out || fail "the program waits for the network"
kill -CONT "$gatherer"
exec 9>&-
wait "$slow" || fail "slow: $(cat slow.err)"
dropped="packets sent to '$place', [1-9][0-9]* dropped \([1-9][0-9]* bytes\)"
grep -qE "$dropped|[1-9][0-9]* more were lost" slow.err || fail "nothing dropped: $(cat slow.err)"
told 'complete: [0-9]+ sampled'
end_gather

# --- limits ---
gather_on 0 --peers 1 --peer-bytes 10k --idle 1s
"$HEAPSNAP" record --rate 16KiB --to "$place" --token token -- ./busy 20000 slow >out 2>limit.err &&
    fail "more than --peer-bytes was taken"
grep -q "it closed the connection\|reset by peer\|Broken pipe\|did not say that all" limit.err ||
    fail "the sender does not know: $(cat limit.err)"
told 'sends more than --peer-bytes allows'
end_gather
gather_on 0 --peers 1
"$HEAPSNAP" record --to "$place" --token token -- ./busy 100 fast wait <hold >one.out 2>one.err &
one=$!
started+=("$one")
exec 9>hold
for _ in $(seq 600); do grep -q ready one.out && break; sleep 0.1; done
exits 5 record --to "$place" --token token -- ./busy
told 'refused: there are 1 senders already'
mentions "does not take us"
grep -q "said by the program" out || fail "no room there, and the program was not started"
exec 9>&-
wait "$one" || fail "who was there: $(cat one.err)"
end_gather
