#!/usr/bin/env bash
# A main thread at the deepest place of its stack leaves no room for the frame of a copy: another
# moment is waited for, and the process is never read stopped. One that stays there gets a stack
# that has grown, as for a signal, unless its limit forbids that.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 -o "$work/deep" "$fixtures/stop_deep.c" || fail "building"
start "$work/deep" 32
# way: how the last dump read it, and in how many stops.
way()
{
    "$HEAPSNAP" info "$work/heap.snap" --json | python3 -c '
import json, sys
info = json.load(sys.stdin)
print(info["stop"], info["stop_attempts"])'
}
stops=0 turn=0
# One moment in three is bad: sooner or later one is met, and twelve in a row never.
while [ "$turn" -lt 4 ] || { [ "$stops" -le "$turn" ] && [ "$turn" -lt 40 ]; }; do
    turn=$((turn + 1))
    dump
    way=$(way)
    [ "${way% *}" = copy ] || { cat "$work/talk"; fail "dump $turn: $way"; }
    stops=$((stops + ${way#* }))
done
[ "$stops" -gt "$turn" ] || fail "no moment was ever bad: this tests nothing"
kill -0 "$pid" || fail "it has ended"
echo "$turn dumps, $stops stops, all by a copy"
stop_target

stack_kib()
{
    local at
    at=$(grep '\[stack\]' "/proc/$pid/maps")
    at=${at%% *}
    echo $(((16#${at#*-} - 16#${at%-*}) >> 10))
}
start "$work/deep" 32 300
before=$(stack_kib)
prlimit --pid "$pid" --stack="$((before << 10)):"
dump -v
[ "$(way)" = "read 12" ] || fail "without room: $(way)"
grep -q "there is too little stack left" "$work/talk" || { cat "$work/talk"; fail "no reason"; }
[ "$(stack_kib)" = "$before" ] || fail "its stack has grown beyond its limit"
prlimit --pid "$pid" --stack="$((before + 64 << 10)):"
dump
[ "$(way)" = "copy 12" ] || fail "with room: $(way)"
grown=$(($(stack_kib) - before))
[ "$grown" -gt 0 ] && [ "$grown" -le 48 ] || fail "its stack has grown by $grown KiB"
dump
[ "$(way)" = "copy 1" ] || fail "then: $(way)"
kill -0 "$pid" || fail "it has ended"
echo "at the bottom: its stack has grown by $grown KiB"
