#!/usr/bin/env bash
# parts: ocaml
# A damaged block header in a live program: the rest is exact, the snapshot says what is missing,
# and the target goes on.
. "$(dirname "$0")/_roots.sh"
build heap_damaged unix heap_damaged.ml heap_damaged_stubs.c
for how in 0 1 2 3; do
    start "$work/heap_damaged" "$how"
    compare_roots "damage $how"
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json"
    python3 - "$work/info.json" <<'EOF' || fail "the damage $how is not stated"
import json, sys
info = json.load(open(sys.argv[1]))
assert [p for p in info["proofs"] if not p["holds"]], "all proofs hold over a damaged heap"
text = json.dumps(info)
assert "damaged block header" in text, text
EOF
    leave
done
