#!/usr/bin/env bash
# Objects, containers and connections of Qt: each tree of objects keeps what it has, alone, and all
# of it has its type, of Qt 5 and 6.
. "$(dirname "$0")/_native.sh"
need g++ pkg-config

for version in 5 6; do
    flags=$(pkg-config --cflags --libs "Qt${version}Core" 2>/dev/null) ||
        { echo "NOT TESTED: Qt $version: there is no Qt${version}Core"; continue; }
    # shellcheck disable=SC2086
    g++ -std=c++17 -fPIC -O0 -g -o "$work/qt" "$fixtures/qt.cpp" $flags || fail "building"
    start "$work/qt" 2000
    rm -f "$work"/heap.snap.idx
    dump
    types_are "Qt $version"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    python3 - "$work/roots.json" "Qt $version" <<'PYTHON' || fail "Qt $version"
import json, sys
d = json.load(open(sys.argv[1]))
kept = {name: sum(r["retained_words"] for r in d["roots"] if r["name"] == name)
        for name in ("left", "right")}
words = d["heap"]["reachable_words"] - 9089 # libstdc++'s pool
print(f"{sys.argv[2]}: of {words} words {kept}")
sys.exit(min(kept.values()) * 100 < 45 * words or sum(kept.values()) * 100 < 96 * words)
PYTHON
    leave
done
