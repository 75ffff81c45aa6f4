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
