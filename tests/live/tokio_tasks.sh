#!/usr/bin/env bash
# Tasks of tokio are roots by the function that they run: each function's keep what hangs on them,
# to the word, whatever else of the runtime leads to them, and paths name the variables that they
# hold while they wait.
. "$(dirname "$0")/_native.sh"
need rustc
n=${HS_TASKS:-300}

compare()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    "$HEAPSNAP" paths "$work/heap.snap" --to 'type:alloc::string::String[]' >"$work/paths" ||
        fail "paths"
    "$HEAPSNAP" roots "$work/heap.snap" -n 0 >"$work/kept" || fail "roots"
    grep -q 'tokio::DOWNLOADS' "$work/kept" ||
        fail "$1: who keeps what is over: $(cat "$work/kept")"
    grep -q 'backlog' "$work/paths" || { cat "$work/paths"; fail "$1: no variable is named"; }
    python3 - "$work/log" "$work/roots.json" "$work/types.json" "$1" "$n" <<'PYTHON' || fail "$1"
import json, sys
log, roots, types, what, n = sys.argv[1:]
found = {root["name"]: root for root in json.load(open(roots))["roots"]}
wrong = 0
for line in open(log):
    if not line.startswith("OWNED "):
        continue
    name, words = line[len("OWNED "):].rsplit(None, 1)
    root = found.get(name, {"retained_words": 0, "group": None})
    print(f"{what}: {name} keeps {root['retained_words']} words of {words}")
    wrong += root["retained_words"] != int(words) or root["group"][1] != "tokio tasks"
    wrong += root.get("thread") is not None or root["kind"] != "stack"
cells = sum(row["objects"] for row in json.load(open(types))["types"]
            if row["type"].startswith("tokio::runtime::task::core::Cell<"))
if cells != 3 * int(n):
    print(f"{cells} tasks, there are {3 * int(n)}")
    wrong += 1
if any("download" in name for name in found):
    print("a task that is over is a root")
    wrong += 1
sys.exit(wrong != 0)
PYTHON
}

for rustc in $(rust_compilers); do
    version=$("$rustc" --version)
    for options in "-Copt-level=0" "-Copt-level=3"; do
        "$rustc" --edition=2021 -g "$options" --crate-name tokio -o "$work/tasks" \
            "$fixtures/tokio_tasks.rs" 2>"$work/said" ||
            { cat "$work/said"; fail "building with $rustc"; }
        start "$work/tasks" "$n"
        rm -f "$work"/heap.snap.idx
        dump
        compare "$version $options"
        leave
    done
done
