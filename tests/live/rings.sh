#!/usr/bin/env bash
# A list whose head a library has is the library's, though variables of the program are links of it:
# a ring, and a list as BSD has it; of a loop of events, of any other library. So it is where the
# head is in a block that all members lead to, or that is told by its place alone; and a member does
# not lead to what has the list's head in it. A ring of the program's own is its own.
. "$(dirname "$0")/_native.sh"
need gcc

# check WHAT LIBRARY
check()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "$1: leaks"
    python3 - "$work" "$1" "$2" <<'PYTHON' || fail "$1"
import json, sys
work, what, library = sys.argv[1:]
roots, leaks = (json.load(open(f"{work}/{name}.json")) for name in ("roots", "leaks"))
said = {word: int(n) for word, n in (line.split() for line in open(work + "/log") if " " in line)}
keeps = {}
for root in roots["roots"]:
    name = root["module"] if root["module"] == library else root["name"].split(".")[0]
    keeps[name] = keeps.get(name, 0) + root["retained_words"]
print(f"{what}: {said}, {library} keeps {keeps.get(library)}, jobs {keeps.get('jobs')}, "
      f"tick {keeps.get('tick')}, input {keeps.get('input')}, loop {keeps.get('loop')}, "
      f"beat {keeps.get('beat')}, hub {keeps.get('hub')}, self {keeps.get('self')}, "
      f"desk {keeps.get('desk')}, cursor {keeps.get('cursor')}, first {keeps.get('first')}")
ok = (keeps.get(library) == said["TIMED"] + said["WATCHED"] and keeps["jobs"] == said["OWN"] and
      keeps["loop"] == said["LOOPED"] and not keeps.get("tick") and not keeps.get("input") and
      not keeps.get("beat") and keeps["hub"] == said["HUBBED"] and not keeps.get("self") and
      keeps["desk"] == said["DESKED"] and not keeps.get("cursor") and not keeps.get("first"))
sys.exit(not ok or leaks["certain"]["count"] + leaks["possible"]["count"] != 0)
PYTHON
}

for library in librings.so libuv.so.9; do
    gcc -O1 -shared -fPIC -Wl,-soname,"$library" -o "$work/$library" "$fixtures/rings_library.c" ||
        fail "building the library"
    strip "$work/$library"
    for options in -O0 -O2; do
        gcc $options -g -o "$work/rings" "$fixtures/rings.c" "$work/$library" \
            -Wl,-rpath,"$work" || fail "building"
        start "$work/rings"
        rm -f "$work"/heap.snap.idx
        dump
        check "$library, $options" "$library"
        leave
    done
done
