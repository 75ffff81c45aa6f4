#!/usr/bin/env bash
# parts: ocaml
# The kinds of roots that OCaml 4 has too, in OCaml 5: globals, a stack local under a deep
# recursion, C roots of every list, C locals, systhreads, finalisers.
. "$(dirname "$0")/_ocaml5.sh"
compare_flags=--with-static
. "$SOURCE_DIR/tests/live/_roots_check.sh"
build roots_basic roots_basic.ml roots_basic_stubs.c
check roots_basic
build roots_threads threads.cmxa roots_threads.ml
check roots_threads
build roots_finalisers roots_finalisers.ml
check roots_finalisers
