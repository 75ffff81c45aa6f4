#!/usr/bin/env bash
# parts: record
# gather: who has no token shuts nobody out, fills no log, and does not make it spin.
. "$(dirname "$0")/lib.sh"
[ -e "$BUILD_DIR/bin/libheapsnap-record.so" ] || skip "no recorder in this build"
case $SANITIZED in *thread*) skip "the program's threads are not ours to judge" ;; esac
cd "$work"
umask 077
echo 'a secret of thirty-two characters' >token

# gather_on OPTIONS...: started; its place in $place.
gather_on()
{
    : >listening
    "$HEAPSNAP" gather --token token -o traces "$@" >listening 2>gather.err &
    gatherer=$!
    started+=("$gatherer")
    for _ in $(seq 600); do grep -q listening listening && break; sleep 0.1; done
    place=$(sed -n 's/^listening on //p' listening)
}
end_gather()
{
    kill -TERM "$gatherer"
    wait "$gatherer" || fail "gather: $(cat gather.err)"
}
# idle N SECONDS: so many connections that say nothing, made anew when they are let go.
cat >idle.py <<'PYTHON'
import selectors, socket, sys, time
place, count, seconds = ("127.0.0.1", int(sys.argv[1])), int(sys.argv[2]), float(sys.argv[3])
selector, until = selectors.DefaultSelector(), time.monotonic() + seconds
made, there = 0, 0
def more():
    global made, there
    peer = socket.socket()
    peer.setblocking(False)
    peer.connect_ex(place)
    selector.register(peer, selectors.EVENT_READ)
    made, there = made + 1, there + 1
while time.monotonic() < until:
    while there < count:
        more()
    for key, _ in selector.select(0.1):
        try:
            gone = not key.fileobj.recv(4096)
        except OSError:
            gone = True
        if gone:
            selector.unregister(key.fileobj)
            key.fileobj.close()
            there -= 1
    if made == count:
        print("there", flush=True)
print("made", made)
PYTHON

# --- 64 places, 150 idle connections that come again and again ---
gather_on
python3 idle.py "${place##*:}" 150 12 >idle.out &
idle=$!
started+=("$idle")
for _ in $(seq 100); do grep -q there idle.out && break; sleep 0.1; done
for i in 1 2 3; do
    exits 0 record --to "$place" --token token -- /bin/true
    mentions "packets sent to '$place', 0 dropped"
done
wait "$idle" || fail "idle ones"
made=$(sed -n 's/^made //p' idle.out)
[ "$made" -gt 200 ] || fail "the idle ones were not let go: $made"
end_gather
lines=$(grep -c refused gather.err)
[ "$lines" -lt 40 ] || fail "$lines lines of $made refusals"
grep -qE '[0-9]+ more were refused within [0-9]+ s' gather.err || fail "no sum: $(cat gather.err)"

# --- few descriptors: it waits without spinning, and goes on when there are some again ---
: >listening
(ulimit -n 12 && exec "$HEAPSNAP" gather --token token -o traces) >listening 2>gather.err &
gatherer=$!
started+=("$gatherer")
for _ in $(seq 600); do grep -q listening listening && break; sleep 0.1; done
place=$(sed -n 's/^listening on //p' listening)
ticks() { awk '{ print $14 + $15 }' "/proc/$gatherer/stat"; }
python3 idle.py "${place##*:}" 30 4 >idle.out &
idle=$!
started+=("$idle")
sleep 1
before=$(ticks)
sleep 2
[ $(($(ticks) - before)) -lt 50 ] || fail "it spins: $(($(ticks) - before)) ticks in 2 s"
wait "$idle" || fail "idle ones"
grep -q 'refused: Too many open files' gather.err || fail "not said: $(cat gather.err)"
exits 0 record --to "$place" --token token -- /bin/true
end_gather

# --- who proves nothing goes after two seconds ---
gather_on
exec 8<>"/dev/tcp/127.0.0.1/${place##*:}"
for _ in $(seq 600); do grep -q 'it did not say who it is' gather.err && break; sleep 0.1; done
grep -q 'it did not say who it is' gather.err || fail "it stays: $(cat gather.err)"
exec 8>&-
end_gather
