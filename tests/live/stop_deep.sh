#!/usr/bin/env bash
# A main thread at the deepest place of its stack leaves no room for the frame of a copy: another
# moment is waited for, and the process is never read stopped.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 -o "$work/deep" "$fixtures/stop_deep.c" || fail "building"
start "$work/deep" 32
stops=0 turn=0
# One moment in three is bad: sooner or later one is met, and twelve in a row never.
while [ "$turn" -lt 4 ] || { [ "$stops" -le "$turn" ] && [ "$turn" -lt 40 ]; }; do
    turn=$((turn + 1))
    dump
    way=$("$HEAPSNAP" info "$work/heap.snap" --json | python3 -c '
import json, sys
info = json.load(sys.stdin)
print(info["stop"], info["stop_attempts"])')
    [ "${way% *}" = copy ] || { cat "$work/talk"; fail "dump $turn: $way"; }
    stops=$((stops + ${way#* }))
done
[ "$stops" -gt "$turn" ] || fail "no moment was ever bad: this tests nothing"
kill -0 "$pid" || fail "it has ended"
echo "$turn dumps, $stops stops, all by a copy"
