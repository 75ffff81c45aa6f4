#!/usr/bin/env bash
# An allocator of a program's own over blocks of malloc's: by a line of rules its cells are blocks,
# to the number, so that each list has what is in it, where slabs held parts of all. Tcl's is known.
. "$(dirname "$0")/_native.sh"

words="block 4096 first 32 class 1 header 16 size 8 next 0 magic 0 0xa70000a7 mask 0xff0000ff"
printf 'heapsnap-rules 1\ncells "house cell" %s when symbol "house_alloc"\n' "$words" \
    >"$work/house.rules"
gcc -O2 -g -rdynamic -o "$work/cells" "$fixtures/cells.c" || fail "building cells.c"
start "$work/cells"
dump --rules="$work/house.rules"
"$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
"$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
leave
python3 - "$work/roots.json" "$work/leaks.json" <<'PYTHON' || fail "cells"
import json, sys
roots, leaks = (json.load(open(path)) for path in sys.argv[1:])
by_name = {root["name"]: root for root in roots["roots"]}
N = 20000
jobs = N - (N + 2) // 3
found = {name: by_name[name]["retained_objects"] for name in ("sessions", "jobs")}
assert found == {"sessions": 2 * N, "jobs": jobs}, found
assert by_name["sessions"]["retained_words"] == N * (2 + 5), by_name["sessions"]
assert by_name["jobs"]["retained_words"] == jobs * 5, by_name["jobs"]
assert leaks["certain"]["count"] == leaks["possible"]["count"] == 0, leaks
PYTHON

command -v tclsh >/dev/null || { echo "the rest is skipped: no tclsh"; exit 0; }
cat >"$work/program.tcl" <<'TCL'
for {set i 0} {$i < 20000} {incr i} {set a($i) [list item$i $i]; lappend l [list x$i y]}
puts READY
flush stdout
gets stdin
TCL
start tclsh "$work/program.tcl"
rm -f "$work"/heap.snap*
dump
"$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
"$HEAPSNAP" suspects "$work/heap.snap" --json >"$work/suspects.json" || fail "suspects"
leave
python3 - "$work/types.json" "$work/suspects.json" <<'PYTHON' || fail "tclsh"
import json, sys
types, suspects = (json.load(open(path)) for path in sys.argv[1:])
values = [row["objects"] for row in types["types"] if row["type"] == "Tcl_Obj"]
if not values:
    print("the rest is skipped: this Tcl takes its values from elsewhere")
    sys.exit(0)
# A list of two of each kind; "y" is one for all, and some are the program's words.
assert 100000 <= values[0] < 103000, values
first = suspects["suspects"][0]
print(first["sentence"])
assert "Tcl_Obj" in first["sentence"] and "static variables of" not in first["sentence"], first
PYTHON
