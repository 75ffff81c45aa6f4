#!/usr/bin/env bash
# Random graphs of blocks: exactly what no root reaches is a certain leak, as the program that made
# them knows and LeakSanitizer finds; and nothing is a possible one.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 -g -o "$work/random" "$fixtures/random_leaks.c" || fail "building"
checked=""
gcc -O1 -g -fsanitize=leak -DAT_END -o "$work/checked" "$fixtures/random_leaks.c" 2>"$work/talk" &&
    checked=yes
for seed in 1 2 3 4 5 6 7 8; do
    start "$work/random" "$seed"
    dump
    lost=$(awk '$1 == "LOST" { print $2 }' "$work/log")
    rm -f "$work/heap.snap.idx"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" 2>"$work/talk" ||
        fail "leaks"
    found=$(python3 -c 'import json, sys
leaks = json.load(open(sys.argv[1]))
print(leaks["certain"]["count"], leaks["possible"]["count"])' "$work/leaks.json")
    [ "$found" = "$lost 0" ] || fail "seed $seed: $found certain and possible, $lost are lost"
    "$HEAPSNAP" leaks "$work/heap.snap" >"$work/table" 2>"$work/talk" || fail "leaks"
    grep -q 'what cannot be seen: ' "$work/talk" || fail "nothing is said of what is not seen"
    leave
    [ -n "$checked" ] || continue
    "$work/checked" "$seed" >"$work/checked.log" 2>&1 || true
    grep -q "in $lost allocation" "$work/checked.log" || # it does not work under a debugger
        grep -q "LeakSanitizer has encountered a fatal error" "$work/checked.log" ||
        fail "seed $seed: LeakSanitizer finds others than the $lost that are lost"
done
