#!/usr/bin/env bash
# parts: export
# A C++ program that has lost known objects: each is a certain leak, nothing else is, and types are
# named by RTTI alone (stripped) as well as by DWARF.
. "$(dirname "$0")/_native.sh"
need g++
n=${HS_LEAKS_OBJECTS:-1000}

compare()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    python3 - "$work/log" "$work/leaks.json" "$work/types.json" "$1" <<'PYTHON' || fail "$1"
import json, sys
leaks, types = json.load(open(sys.argv[2])), json.load(open(sys.argv[3]))
wrong = 0

def equal(what, expected, found):
    global wrong
    if expected != found:
        print(f"{sys.argv[4]}: {what}: {found}, there are {expected}")
        wrong += 1

lost, held = {}, {}
for group in leaks["groups"]:
    if group["certainty"] == "certain":
        lost[group["type"]] = lost.get(group["type"], 0) + group["count"]
for row in types["types"]:
    held[row["type"]] = held.get(row["type"], 0) + row["objects"]
for line in open(sys.argv[1]):
    word, *rest = line.split()
    if word == "LOST":
        equal("lost " + rest[0], int(rest[1]), lost.get(rest[0], 0))
    elif word == "HELD":
        equal("held " + rest[0], int(rest[1]), held.get(rest[0], 0))
    elif word == "LOST_BLOCKS":
        equal("lost blocks", int(rest[0]), leaks["certain"]["count"])
equal("possible leaks", 0, leaks["possible"]["count"])
sys.exit(wrong != 0)
PYTHON
}

# reads_like PATTERN TYPE: the path to one of the first reached objects of the type is written so.
reads_like()
{
    "$HEAPSNAP" export "$work/heap.snap" --to graph -o "$work/graph" || fail "export"
    for node in $(awk -F '\t' -v type="$2" '$5 == type && $8 != "-" && n++ < 60 { print $1 }' \
        "$work/graph/nodes.tsv"); do
        "$HEAPSNAP" paths "$work/heap.snap" --to "#$node" --limit 1 >"$work/paths" || fail "paths"
        grep -q "= $1\$" "$work/paths" && return
    done
    cat "$work/paths"
    fail "no path to $2 reads like $1"
}

cp "$fixtures/leaks_cpp.cpp" "$work/"
g++ -O1 -g -o "$work/leaks_cpp" "$work/leaks_cpp.cpp" || fail "building"
strip -o "$work/leaks_cpp.stripped" "$work/leaks_cpp"
for program in leaks_cpp leaks_cpp.stripped; do
    start "$work/$program" "$n"
    dump
    compare "$program"
    if [ "$program" = leaks_cpp ]; then
        reads_like 'g_registry->by_name.buckets\[[0-9]*\]->second' shop::Other
        reads_like 's_all\[[0-9]*\]' shop::Other
        reads_like 'g_registry->queue.first->.*value' shop::Derived
        reads_like 'g_registry->recent.map\[[0-9]*\]' 'int[]'
    fi
    leave
done
