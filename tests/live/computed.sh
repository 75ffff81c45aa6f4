#!/usr/bin/env bash
# What two words together lead to (lists linked by xor, tables of offsets) is possibly lost, and the
# row says why; blocks that are lost beside small numbers of all kinds stay certain leaks.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 -o "$work/computed" "$fixtures/computed.c" || fail "building"
start "$work/computed"
for stop in copy read; do
    dump --stop "$stop"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    python3 - "$work/log" "$work/leaks.json" "$stop" <<'PYTHON' || fail "$stop"
import json, sys
groups, wrong = json.load(open(sys.argv[2]))["groups"], 0
for line in open(sys.argv[1]):
    state, *rest = line.split()
    if state not in ("HIDDEN", "LOST"):
        continue
    words = (int(rest[1]) + 23) // 16 * 2 - 1 # as glibc rounds
    of = [group for group in groups if group["words_each"] == words]
    certain = sum(group["count"] for group in of if group["certainty"] == "certain")
    others = [group for group in of if group["certainty"] == "possible"]
    possible = sum(group["count"] for group in others)
    told = all("two words together" in group["why"] for group in others)
    good = (certain == 0 and 98 <= possible <= 100 and told if state == "HIDDEN" else
            97 <= certain <= 100)
    if not good:
        print(f"{sys.argv[3]}: {rest[0]}: {certain} certain, {possible} possible leaks", others)
        wrong += 1
sys.exit(wrong != 0)
PYTHON
done
leave
