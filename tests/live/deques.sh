#!/usr/bin/env bash
# A deque has what stands between its first and its last element, and nothing by what its blocks and
# the map of these held before: of libstdc++ at two optimisations, and the map of libc++.
. "$(dirname "$0")/_native.sh"
need g++

check()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "$1: types"
    python3 - "$work" "$1" <<'PYTHON' || fail "$1"
import json, sys
work, what = sys.argv[1:]
roots, types = (json.load(open(f"{work}/{name}.json")) for name in ("roots", "types"))
said = [line.split() for line in open(work + "/log")]
keeps = {root["name"]: root["retained_words"] for root in roots["roots"]}
bad = []
for _, words, name in (line for line in said if line[0] == "OWNS"):
    own = 0 # the blocks of the deque, and what it stands in
    if name == "queue":
        own = sum(row["words"] for row in types["types"] if row["type"] in
                  ("Queue", "Event[]", "Event", "Event *[]", "Event *"))
    if keeps.get(name) != int(words) + own:
        bad.append(f"{name} keeps {keeps.get(name)} words, not {words} and {own}")
for _, n, name in (line for line in said if line[0] == "TYPE"):
    found = sum(row["objects"] for row in types["types"] if row["type"] == name)
    if found != int(n):
        bad.append(f"{found} of {name}, there are {n}")
print(f"{what}: kept keeps {keeps['kept']} words, queue {keeps['queue']}")
print("\n".join("FAILED: " + text for text in bad))
sys.exit(bad != [])
PYTHON
}

# try WHAT PLANTED POPPED COMPILER [OPTION]...
try()
{
    "${@:4}" -o "$work/deques" "$fixtures/deques.cpp" 2>"$work/said" || return 1
    start "$work/deques" "$2" "$3"
    rm -f "$work"/heap.snap.idx
    dump
    check "$1"
    leave
}

try "g++ -O0" 512 20 g++ -std=c++17 -g -O0 || fail "building: $(cat "$work/said")"
try "g++ -O2" 512 20 g++ -std=c++17 -g -O2 || fail "building: $(cat "$work/said")"
try "g++ -O2, one block" 512 30 g++ -std=c++17 -g -O2 || fail "building: $(cat "$work/said")"
if command -v clang++ >/dev/null &&
    echo '#include <deque>' | clang++ -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null; then
    try "clang++, libc++" 0 0 clang++ -stdlib=libc++ -std=c++17 -g -fstandalone-debug -O1 ||
        fail "building: $(cat "$work/said")"
else
    echo "NOT TESTED: libc++: not installed"
fi
