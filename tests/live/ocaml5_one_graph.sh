#!/usr/bin/env bash
# parts: ocaml
# As one_graph.sh, for OCaml 5.
. "$(dirname "$0")/_ocaml5.sh"
build one_graph one_graph.ml one_graph_stubs.c
for variant in one_graph one_graph.stripped; do
    start "$work/$variant"
    "$HEAPSNAP" dump --heaps all "$pid" -o "$work/heap.snap" || fail "dump of $variant"
    "$HEAPSNAP" check "$work/heap.snap" >/dev/null || fail "check"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    python3 "$SOURCE_DIR/tests/live/_one_graph_compare.py" "$work/log" "$work/roots.json" \
        "$work/leaks.json" || fail "$variant"
    leave
done

# Stacks of suspended fibers are memory of malloc that their continuations keep, and no leak; what
# the runtime has for itself is no suspect.
build ocaml5_fibers threads.cmxa ocaml5_fibers.ml roots_basic_stubs.c
start "$work/ocaml5_fibers"
"$HEAPSNAP" dump --heaps all "$pid" -o "$work/heap.snap" || fail "dump of fibers"
leave
"$HEAPSNAP" types "$work/heap.snap" -n 0 --json >"$work/types.json" || fail "types of fibers"
"$HEAPSNAP" leaks "$work/heap.snap" --certainty certain >"$work/leaks" 2>&1 ||
    fail "leaks of fibers"
"$HEAPSNAP" suspects "$work/heap.snap" >"$work/suspects" 2>&1 || fail "suspects of fibers"
python3 - "$work/types.json" <<'PYTHON' || fail "stacks of continuations"
import json, sys
of = {row["type"]: row for row in json.load(open(sys.argv[1]))["types"]}
assert "stack of a continuation" in of, list(of)[:50]
PYTHON
! grep -F "stack of a continuation" "$work/leaks" || fail "a stack of a continuation is a leak"
! grep -E "Caml_state|stw_|memory of a collector" "$work/suspects" ||
    fail "the runtime is a suspect"
