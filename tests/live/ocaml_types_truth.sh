#!/usr/bin/env bash
# parts: ocaml
# A program that counts its own blocks by type, each kind that the language has: every count is
# equal, with the helper that reads its .cmt files, for two seeds and for the stripped program.
. "$(dirname "$0")/_target.sh"
. "$SOURCE_DIR/tests/live/_types_truth.sh"
need ocamlfind python3
[ -x "$(dirname "$HEAPSNAP")/heapsnap-ocaml-types" ] ||
    { echo "skipped: heapsnap-ocaml-types was not built"; exit 77; }

# The helpers run as the owner of the target.
chmod 755 "$work"
cp "$fixtures/ocaml_types.ml" "$work/"
(cd "$work" && ocamlfind ocamlopt -w -a -g -bin-annot ocaml_types.ml -o ocaml_types) ||
    fail "building"
cp "$work/ocaml_types" "$work/stripped"
strip "$work/stripped"
truth ocaml_types
printf '#!/bin/sh\nexec "%s/stripped" 1789\n' "$work" >"$work/seeded"
chmod 755 "$work/seeded"
truth seeded
