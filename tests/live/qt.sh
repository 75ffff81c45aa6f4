#!/usr/bin/env bash
# Objects, containers and connections of Qt: each tree of objects keeps what it has, alone, with and
# without debug information, and with it all has its type, of Qt 5 and 6.
. "$(dirname "$0")/_native.sh"
need g++ pkg-config

# each_keeps_its_own WHAT
each_keeps_its_own()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    python3 - "$work/roots.json" "$1" <<'PYTHON' || fail "$1"
import json, sys
d = json.load(open(sys.argv[1]))
kept = {name: sum(r["retained_words"] for r in d["roots"] if r["name"] == name)
        for name in ("left", "right")}
words = d["heap"]["reachable_words"] - 9089 # libstdc++'s pool
print(f"{sys.argv[2]}: of {words} words {kept}")
sys.exit(min(kept.values()) * 100 < 45 * words or sum(kept.values()) * 100 < 96 * words)
PYTHON
}

for version in 5 6; do
    flags=$(pkg-config --cflags --libs "Qt${version}Core" 2>/dev/null) ||
        { echo "NOT TESTED: Qt $version: there is no Qt${version}Core"; continue; }
    # shellcheck disable=SC2086
    g++ -std=c++17 -fPIC -O0 -g -rdynamic -o "$work/qt" "$fixtures/qt.cpp" $flags ||
        fail "building"
    strip -o "$work/stripped" "$work/qt"
    for program in qt stripped; do
        start "$work/$program" 2000
        rm -f "$work"/heap.snap.idx
        dump
        [ "$program" = stripped ] || types_are "Qt $version"
        each_keeps_its_own "Qt $version, $program"
        leave
    done
done
