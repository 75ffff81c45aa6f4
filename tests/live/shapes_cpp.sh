#!/usr/bin/env bash
# Containers of C++ by their shape: as many of each as the program made, with debug information,
# without it and stripped, at high addresses and at low ones, as programs at a fixed address have
# them; and none in a program that has only C's.
. "$(dirname "$0")/_native.sh"
need g++
n=${HS_SHAPES_OBJECTS:-1000}

compare()
{
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    python3 - "$work/log" "$work/types.json" "$@" <<'PYTHON' || fail "$1"
import json, sys
wrong, found = 0, {}
for row in json.load(open(sys.argv[2]))["types"]:
    found[row["type"]] = found.get(row["type"], 0) + row["objects"]
for line in open(sys.argv[1]):
    word, *rest = line.split(None, 2)
    if word not in sys.argv[4:]:
        continue
    name, there = rest[1].strip(), int(rest[0])
    if found.get(name, 0) != there:
        print(f"{sys.argv[3]}: {found.get(name, 0)} of {name}, there are {there}")
        wrong += 1
sys.exit(wrong != 0)
PYTHON
}

cp "$fixtures/shapes_cpp.cpp" "$work/"
g++ -O1 -g -o "$work/shapes.debug" "$work/shapes_cpp.cpp" || fail "building"
g++ -O1 -o "$work/shapes.plain" "$work/shapes_cpp.cpp" || fail "building"
strip -o "$work/shapes.stripped" "$work/shapes.plain"
g++ -O1 -s -no-pie -fno-pie -o "$work/shapes.low" "$work/shapes_cpp.cpp" || fail "building"
for program in debug plain stripped low; do
    start "$work/shapes.$program" "$n"
    dump
    if [ "$program" = debug ]; then
        compare "$program" DWARF TYPE
    else
        compare "$program" SHAPE TYPE
    fi
    leave
done

# Lists, trees and a hash table of C in a process that has libstdc++ too.
gcc -O1 -o "$work/c_heap" "$SOURCE_DIR/bench/native_target.c" -Wl,--no-as-needed -lstdc++ ||
    fail "building"
strip "$work/c_heap"
start "$work/c_heap" 20000
dump
"$HEAPSNAP" info "$work/heap.snap" >"$work/info" || fail "info"
grep -q ' 0 by the shape of containers' "$work/info" || { cat "$work/info"; fail "false shapes"; }
leave
