#!/usr/bin/env bash
# parts: ocaml
# Stops of a program that hardly does anything but allocate large blocks: each dump is exact, or
# says why not, and what does not change is right in all of them.
. "$(dirname "$0")/_roots.sh"
build heap_storm unix heap_storm.ml
start "$work/heap_storm.stripped"
n_exact=0
for i in $(seq 20); do
    compare_roots "stop $i" >"$work/out" 2>&1 || { cat "$work/out"; fail "stop $i"; }
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json"
    if grep -q "not exact" "$work/out"; then
        grep "not exact" "$work/out"
    else
        n_exact=$((n_exact + 1))
        python3 -c '
import json, sys
bad = [p for p in json.load(open(sys.argv[1]))["proofs"] if not p["holds"]]
sys.exit("a proof fails in an exact dump: %s" % bad if bad else 0)' "$work/info.json" ||
            fail "stop $i"
    fi
done
echo "$n_exact of 20 stops are exact"
[ "$n_exact" -ge 10 ] || fail "too few stops are exact"
