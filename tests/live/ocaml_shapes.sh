#!/usr/bin/env bash
# parts: ocaml
# Containers of OCaml's library that are told by their shape alone: a stripped program counts its
# own, every count is equal, and what only looks like one has no type. People read of them.
. "$(dirname "$0")/_target.sh"
. "$SOURCE_DIR/tests/live/_types_truth.sh"
need ocamlfind python3

cp "$fixtures/ocaml_shapes.ml" "$work/"
(cd "$work" && ocamlfind ocamlopt -w -a ocaml_shapes.ml -o ocaml_shapes) || fail "building"
strip "$work/ocaml_shapes"
shapes ocaml_shapes

# By the place that keeps it, and in the plural.
"$HEAPSNAP" paths "$work/ocaml_shapes.snap" --to type:hash-table-entry -n 0 >"$work/paths" ||
    fail "paths: $(cat "$work/paths")"
grep -q 'hash-table-entry\.next' "$work/paths" || fail "fields without names: $(cat "$work/paths")"
"$HEAPSNAP" suspects "$work/ocaml_shapes.snap" >"$work/suspects" || fail "suspects"
grep -Eq '[0-9]+ (list-cells|hash-table-entries)' "$work/suspects" ||
    fail "suspects: $(cat "$work/suspects")"
