#!/usr/bin/env bash
# parts: ocaml
# Source types in OCaml 5: the program that counts its own blocks by type, and one whose domains
# made them, where a suspended fiber holds others.
. "$(dirname "$0")/_ocaml5.sh"
. "$SOURCE_DIR/tests/live/_types_truth.sh"
with_names
with_types
chmod 755 "$work"
library=$("$ocaml5" -where)
for program in ocaml_types ocaml5_types; do
    compile5 "$program" -bin-annot "$program.ml"
    truth "$program" --names-path "$library"
done

# Local storage of domains: each value by the variable that holds its key.
"$HEAPSNAP" paths "$work/ocaml5_types.snap" --to 'type:Ocaml5_types.item array' -n 0 \
    >"$work/paths" || fail "paths"
grep -qF "Domain.DLS.Ocaml5_types.held" "$work/paths" ||
    { cat "$work/paths"; fail "local storage is not told by its keys"; }
