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

# Those that count themselves say so: as many elements as the program has put there.
sed -n 's/^let \(.*\)_sizes = \[ \(.*\) \]/\1=\2/p' "$fixtures/ocaml_shapes.ml" |
    tr -d ' _' >"$work/sizes"
[ "$(wc -l <"$work/sizes")" = 3 ] || fail "sizes of the program"
"$HEAPSNAP" types "$work/ocaml_shapes.snap" --group-by container --format tsv -n 0 >"$work/said" ||
    fail "types --group-by container"
while IFS='=' read -r kind sizes; do
    expected=$(tr ';' '\n' <<<"$sizes" | awk '{n++; sum += $1} END {print n, sum}')
    found=$(awk -F '\t' -v kind="$kind" '$6 == kind || $6 == "hash-" kind {print $1, $2}' \
        "$work/said")
    [ "$found" = "$expected" ] || fail "$kind: $found, not $expected"
done <"$work/sizes"
