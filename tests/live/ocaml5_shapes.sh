#!/usr/bin/env bash
# parts: ocaml
# Containers that are told by their shape, in OCaml 5: every count is equal.
. "$(dirname "$0")/_ocaml5.sh"
. "$SOURCE_DIR/tests/live/_types_truth.sh"
build ocaml_shapes ocaml_shapes.ml
shapes ocaml_shapes.stripped
