#!/usr/bin/env bash
# Ways to hold a block or to lose it, 2,000 blocks of each (HS_MATRIX_BLOCKS): every block is judged
# as the program says, with debug information and without any symbol, tags hidden and shown by a
# mask.
. "$(dirname "$0")/_native.sh"
blocks=${HS_MATRIX_BLOCKS:-2000}

compare()
{
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    python3 - "$work/log" "$work/leaks.json" "$@" <<'PYTHON' || fail "$1"
import json, sys
log, leaks = open(sys.argv[1]), json.load(open(sys.argv[2]))
what, overrides = sys.argv[3], dict(word.split("=") for word in sys.argv[4:])
found = {}
for group in leaks["groups"]:
    key = group["words_each"], group["certainty"]
    found[key] = found.get(key, 0) + group["count"]
wrong = 0
for line in log:
    if not line.startswith("CLASS"):
        continue
    name, *numbers = line.split()[1:]
    words, count, live, possible, certain = map(int, numbers)
    if name in overrides:
        live, possible, certain = (count if overrides[name] == kind else 0
                                   for kind in ("live", "possible", "certain"))
    got = found.get((words, "possible"), 0), found.get((words, "certain"), 0)
    if got != (possible, certain):
        print(f"{what}: {name}: {got[0]} possible and {got[1]} certain leaks, "
              f"there are {possible} and {certain}")
        wrong += 1
sizes = {int(line.split()[2]) for line in open(sys.argv[1]) if line.startswith("CLASS")}
for (words, certainty), count in found.items():
    if words not in sizes:
        print(f"{what}: {count} {certainty} leaks of {words} words, which nobody made")
        wrong += 1
sys.exit(wrong != 0)
PYTHON
}

cp "$fixtures/matrix.c" "$work/"
cc -O1 -g -pthread -o "$work/matrix" "$work/matrix.c" || fail "building"
cc -O1 -s -DSTRIPPED -pthread -o "$work/matrix.stripped" "$work/matrix.c" || fail "building"
# What alloca gave is no variable's, and unclaimed mappings are nobody's: such words may be dead.
doubtful="thread_stack=possible main_stack=possible unclaimed=possible"
for program in matrix matrix.stripped; do
    known=$doubtful
    [ "$program" != matrix ] || known="$known packed=possible" # its type is char, at any place
    start "$work/$program" "$blocks"
    dump
    # shellcheck disable=SC2086
    compare "$program" $known
    "$HEAPSNAP" roots "$work/heap.snap" --kind unclaimed,tls,stack --json >"$work/roots.json"
    for kind in unclaimed tls stack; do
        grep -q "\"kind\": \"$kind\"" "$work/roots.json" || fail "$program: no root of kind $kind"
    done
    dump --pointer-mask 0x8000000000000000
    # shellcheck disable=SC2086
    compare "$program with a mask" tagged=live $known
    leave
done
