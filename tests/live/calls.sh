#!/usr/bin/env bash
# What a call has is that call's, whatever those that it has called hold of it: copies of its
# structures, tables, lists of pointers; what these have for themselves is theirs. A parser of C++
# in two threads, at two optimisations; at a third two of the calls are inlined.
. "$(dirname "$0")/_native.sh"
need g++

check()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "$1: leaks"
    "$HEAPSNAP" suspects "$work/heap.snap" >"$work/suspects" || fail "$1: suspects"
    python3 - "$work" "$1" "$fixtures/calls.cpp" <<'PYTHON' || { cat "$work/suspects"; fail "$1"; }
import json, sys
work, what, source = sys.argv[1:]
roots, leaks = (json.load(open(f"{work}/{name}.json")) for name in ("roots", "leaks"))
n, n_bytes = next(map(int, line.split()[1:]) for line in open(work + "/log")
                  if line.startswith("TOKENS"))
words = n_bytes // 8
kept = {}
for root in roots["roots"]:
    if root["retained_words"] != 0:
        kept.setdefault(root["name"], []).append((root["retained_words"], root["tier"]))
# the first and the last token have a variable of their own within the structure
found = sorted((words for name in kept if name.startswith("parse local tokens")
                for words, tier in kept[name] if tier == "firm"), reverse=True)
least = [n * words, n // 2 * words]
print(f"{what}: tokens keep {found[:2]}, {least} are in the lists; attributed "
      f"{roots['attributed_words']} of {roots['heap']['reachable_words']}")
bad = [f"tokens keep {found}"] if found[:2] != least else []
# six calls in each of two threads have a table of 50 nodes and one of 100 pointers
own = [(name, tiers) for name, tiers in kept.items()
       if name.startswith(("visit local", "check local"))]
bad += [f"{name} is {tiers}" for name, tiers in own if any(tier != "runtime" for _, tier in tiers)]
n_tables = sum(words for name, tiers in own if "seen" in name for words, _ in tiers)
if n_tables < 12 * 49 * 6:
    bad.append(f"tables of calls keep {n_tables} words: {own}")
# where a variable's own call is, whether it has a frame of its own or not
at = next(n for n, line in enumerate(open(source), 1) if "visit(of.first" in line)
places = {root["line"] for root in roots["roots"] if root["name"].startswith("check local stack")}
if places != {at}:
    bad.append(f"check's variable is at {places}, not {at}")
if leaks["certain"]["count"] != 0:
    bad.append(f"lost: {leaks['groups'][:3]}")
print("\n".join("FAILED: " + text for text in bad))
sys.exit(bad != [])
PYTHON
    grep -q "parse local tokens.*alone" "$work/suspects" || fail "$1: suspects"
}

for options in -O0 -O1 '-O2 -DINLINED'; do
    # shellcheck disable=SC2086
    g++ $options -g -pthread -o "$work/calls" "$fixtures/calls.cpp" || fail "building $options"
    start "$work/calls"
    rm -f "$work"/heap.snap.idx
    dump
    check "$options"
    stop_target
done
