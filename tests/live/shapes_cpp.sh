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

cat >"$work/small.cpp" <<'CPP'
#include <cstdio>
#include <unistd.h>
#include <vector>
std::vector<int *> table;
int main()
{
    char byte;
    for (int i = 0; i < 300; i++)
        table.push_back(new int[40]);
    puts("READY");
    fflush(stdout);
    return (int)read(STDIN_FILENO, &byte, 1);
}
CPP
for options in "" -static-libstdc++ -static; do
    # shellcheck disable=SC2086
    g++ -O1 -g $options -o "$work/small" "$work/small.cpp" || fail "building $options"
    start "$work/small"
    rm -f "$work"/heap.snap.idx
    dump
    "$HEAPSNAP" suspects "$work/heap.snap" --json -n 0 >"$work/suspects.json" || fail "suspects"
    python3 - "$work/suspects.json" "$options" <<'PYTHON' || fail "small $options"
import json, sys
rows = json.load(open(sys.argv[1]))["suspects"]
print(f"small {sys.argv[2]}: {[row['sentence'] for row in rows]}")
sys.exit(not rows or not rows[0]["sentence"].startswith("table ") or
         any(row["each_words"] and row["each_words"] * 8 > 70000 for row in rows))
PYTHON
    leave
done
