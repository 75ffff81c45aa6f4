#!/usr/bin/env bash
# Of a value of pthread_setspecific libc only gives back what it was given. Where a variable of the
# program leads to the same, that keeps it alone, in a stripped program, too; what a key alone leads
# to the key keeps.
. "$(dirname "$0")/_native.sh"
need gcc

# check WHAT ALONE: who keeps the two lists; the variable its own alone (yes), or with the key.
check()
{
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "$1: roots"
    python3 - "$work" "$1" "$2" <<'PYTHON' || fail "$1"
import json, sys
work, what, alone = sys.argv[1:]
said = dict(line.split() for line in open(work + "/log") if line.split()[0] in ("STATE", "OWN"))
keeps = {}
for root in json.load(open(work + "/roots.json"))["roots"]:
    if root["is_root"]:
        kind = "key" if "pthread_setspecific" in root["name"] else root["kind"]
        keeps[kind] = keeps.get(kind, 0) + root["retained_words"]
print(f"{what}: {keeps}, said {said}")
sys.exit((keeps["global"] >= int(said["STATE"])) != (alone == "yes") or
         keeps["key"] != int(said["OWN"]))
PYTHON
}

for strip in no yes; do
    gcc -O1 -o "$work/keys" "$fixtures/keys.c" -pthread || fail "building"
    [ $strip = no ] || strip "$work/keys"
    start "$work/keys"
    rm -f "$work"/heap.snap.idx
    dump
    check "stripped: $strip" yes
    rm -f "$work"/heap.snap.idx
    dump --rules=-given-back
    check "stripped: $strip, without the rule" no
    leave
done
