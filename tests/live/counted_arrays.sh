#!/usr/bin/env bash
# What an array has beyond those that are counted keeps nothing that its owner keeps: by the names
# of members, by an enumeration that says that a slot is deleted, by Rust's MaybeUninit; and where
# no type tells, by a length and a room whose array bears them out.
. "$(dirname "$0")/_native.sh"
need gcc

# check WHAT VARIABLE LEAST MOST: a variable alone keeps so many words; VARIABLE "": any does.
check()
{
    rm -f "$work"/heap.snap.idx
    dump
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    python3 - "$work/roots.json" "$@" <<'PYTHON' || fail "$1"
import json, sys
roots, what, variable, least, most = sys.argv[1:]
keeps = {}
for root in json.load(open(roots))["roots"]:
    if root["kind"] != "set":
        name = root["name"].split(".")[0] or root["name"]
        keeps[name] = keeps.get(name, 0) + root["retained_words"]
print(what, keeps)
among = [keeps.get(variable, 0)] if variable else keeps.values()
sys.exit(not any(int(least) <= words <= int(most) for words in among))
PYTHON
}

for options in "-g -O0" "-g -O2"; do
    # shellcheck disable=SC2086
    gcc $options -o "$work/counted" "$fixtures/counted_arrays.c" || fail "building"
    start "$work/counted"
    check "$options" mine 70070 70090
    check "$options" table 7700 7900
    leave
done
gcc -O2 -s -o "$work/counted" "$fixtures/counted_arrays.c" || fail "building"
start "$work/counted"
check "stripped" "" 14000 14010
leave
command -v rustc >/dev/null || { echo "without Rust: no rustc"; exit 0; }
rustc -g -O -o "$work/counted" "$fixtures/counted_arrays.rs" || fail "building Rust's"
start "$work/counted"
check "Rust" counted_arrays::KEEPER 28000 28100
leave
