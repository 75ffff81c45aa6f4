#!/usr/bin/env bash
# What was moved is its new owner's, and variables that had it before are none: in Rust, where a
# move leaves the bytes. Into closures of threads, a larger variable, a static one; with each
# compiler, with and without optimisation.
. "$(dirname "$0")/_native.sh"
need rustc

check()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "$1: leaks"
    python3 - "$work" "$1" <<'PYTHON' || fail "$1"
import json, sys
work, what = sys.argv[1:]
roots, leaks = (json.load(open(f"{work}/{name}.json")) for name in ("roots", "leaks"))
by_id = {root["id"]: root for root in roots["roots"]}
owners = [([root["name"]], root["retained_words"]) for root in roots["roots"]]
owners += [([by_id[root]["name"] for root in s["roots"]], s["retained_words"])
           for s in roots["sets"]]
big = {tuple(sorted(names)): words for names, words in owners if words > 9000}

print(f"{what}: {big}")
mains = sorted(name for names in big for name in names if name.startswith("moved::main local "))
bad = [f"more than two owners: {names}" for names in big if len(names) > 2]
# the queue's sender is in `ingest`; of the cache's two owners main is one, where it is told
kept = [name.rsplit(" ", 1)[1] for name in mains]
if ("ingest" not in kept or "feeds" not in kept or len(kept) > 3 or
        set(kept) - {"ingest", "feeds", "cache", "loader_cache"}):
    bad.append(f"main has {mains}")
for sender in ("ingest", "feeds"):
    if [len(names) for names in big if f"moved::main local {sender}" in names] != [2]:
        bad.append(f"the queue of {sender} has not its sender and its receiver")
if not any(len(names) == 1 and "SETTINGS" in names[0] for names in big):
    bad.append("the settings are not their static variable's alone")
if leaks["certain"]["count"] != 0:
    bad.append(f"lost: {leaks['groups'][:3]}")
print("\n".join("FAILED: " + text for text in bad))
sys.exit(bad != [])
PYTHON
}

cp "$fixtures/moved.rs" "$work/"
while read -r rustc; do
    for options in "-g" "-g -O"; do
        # shellcheck disable=SC2086
        "$rustc" --edition 2021 $options -o "$work/moved" "$work/moved.rs" 2>/dev/null ||
            fail "building"
        start "$work/moved"
        rm -f "$work"/heap.snap.idx
        dump
        check "$options of $("$rustc" --version)"
        stop_target
    done
done < <(rust_compilers)
