#!/usr/bin/env bash
# parts: record
# A connection that is cut in the middle of a frame: gather keeps all whole packets, both sides say
# so, and record claims no more than was sent.
. "$(dirname "$0")/lib.sh"
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
case $SANITIZED in *thread*) skip "the program's threads are not ours to judge" ;; esac
command -v cc >/dev/null || skip "no compiler"
cd "$work"
umask 077
echo 'a secret of thirty-two characters' >token
cat >busy.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
void *volatile kept[1000];
int main(void)
{
    for (int i = 0; i < 200000; i++) {
        free(kept[i % 1000]);
        kept[i % 1000] = malloc(3000);
        if (i % 2000 == 0)
            usleep(10000);
    }
    puts("said by the program");
    return 0;
}
C
cc -g -O1 -w -o busy busy.c || fail "building"
# Lets BYTES through to gather, then resets both sides.
cat >cut.py <<'PYTHON'
import socket, struct, sys, threading
place, limit = ("127.0.0.1", int(sys.argv[1])), int(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
near, _ = listener.accept()
far = socket.create_connection(place)
def back():
    try:
        while data := far.recv(4096):
            near.sendall(data)
    except OSError:
        pass
threading.Thread(target=back, daemon=True).start()
while limit > 0:
    data = near.recv(min(4096, limit))
    if not data:
        break
    far.sendall(data)
    limit -= len(data)
for end in (far, near):
    end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
far.close()
near.close()
PYTHON
"$HEAPSNAP" gather --token token -o traces >listening 2>gather.err &
gatherer=$!
started+=("$gatherer")
for _ in $(seq 600); do grep -q listening listening && break; sleep 0.1; done
place=$(sed -n 's/^listening on //p' listening)

for bytes in 100 400 20011 100003 300007; do # in the hello, the first packet, and later ones
    rm -f port # of the round before
    python3 -B cut.py "${place##*:}" "$bytes" >port &
    cutter=$!
    started+=("$cutter")
    for _ in $(seq 600); do [ -s port ] && break; sleep 0.1; done
    heapsnap record --rate 4KiB --to "127.0.0.1:$(cat port)" --token token -- ./busy
    [ "$code" -eq 5 ] || fail "$bytes: exit $code: $(cat err)"
    [ "$(cat out)" = "said by the program" ] || fail "$bytes: the program was hurt: $(cat err)"
    [ "$bytes" -gt 200 ] || { mentions "nothing is recorded" && continue; }
    mentions "[0-9]+ packets sent to .*, [1-9][0-9]* dropped \([0-9]+ bytes\): .*not have arrived"
done
n_cut() { grep -c 'cut off: what came is kept' gather.err || true; }
for _ in $(seq 600); do [ "$(n_cut)" -ge 4 ] && break; sleep 0.1; done
[ "$(n_cut)" -ge 4 ] || fail "$(cat gather.err)"
for trace in traces/*.trace; do
    "$HEAPSNAP" trace dump "$trace" >dumped 2>dumped.err || fail "$trace: $(cat dumped.err)"
    said=$(sed -n "s/.*: \([0-9]*\) sampled allocations in '${trace##*/}'.*/\1/p" gather.err)
    [ "$(grep -c alloc_ext dumped || true)" -eq "$said" ] ||
        fail "$trace: $said said, $(grep -c alloc_ext dumped) there"
done
[ "$said" -gt 0 ] || fail "nothing came at all: $(cat gather.err)"
kill -TERM "$gatherer"
wait "$gatherer" || fail "gather: $(cat gather.err)"
