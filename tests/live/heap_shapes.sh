#!/usr/bin/env bash
# parts: ocaml
# Every shape of value, in young and in compacted heaps, under each allocation policy: what each
# global reaches is what the runtime says, all blocks together are Gc.stat's live words, the proofs
# hold, and no byte of a string is in the file.
. "$(dirname "$0")/_roots.sh"

proofs_hold()
{
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json"
    python3 - "$work/info.json" "$work/log" <<'EOF'
import json, sys
info = json.load(open(sys.argv[1]))
proofs = info["proofs"]
bad = [p for p in proofs if not p["holds"]]
assert len(proofs) >= 6 and not bad, bad
young = [p["found"] for p in proofs if "minor heap" in p["what"]][0]
live = [int(l.split()[1]) for l in open(sys.argv[2]) if l.startswith("LIVE")][0]
words = json.load(open(sys.argv[1].replace("info", "roots")))["heap"]["words"]
print("  major heap: %d words, by Gc.stat %d" % (words - young, live))
assert words - young == live, (words, young, live)
EOF
}

build heap_shapes unix heap_shapes.ml
check heap_shapes
check heap_shapes compact
for policy in 0 1 2; do
    echo "allocation policy $policy, a small minor heap"
    export OCAMLRUNPARAM="a=$policy,s=4k,i=1000"
    start "$work/heap_shapes.stripped" compact
    compare_roots "policy $policy"
    proofs_hold || fail "a proof does not hold"
    # The binary's names are in the unpacked bytes, so a name of the heap would be, too.
    python3 "$(dirname "$0")/_unpack.py" "$work/heap.snap" "$work/plain" || fail "unpacking"
    grep -aq camlHeap_shapes "$work/plain" || fail "the unpacked bytes hold no names"
    if grep -aq -e Hunter2 -e Swordfish "$work/heap.snap" "$work/plain"; then
        fail "a string of the program is in the snapshot"
    fi
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json"
    if grep -q -e Hunter2 -e Swordfish "$work/types.json" "$work/info.json" "$work/roots.json"; then
        fail "a string of the program is in a name"
    fi
    leave
done
