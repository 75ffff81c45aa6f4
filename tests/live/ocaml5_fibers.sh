#!/usr/bin/env bash
# parts: ocaml
# A suspended continuation, nested fibers, a callback in a fiber, domains with threads, local
# storage and finalisers of their own.
. "$(dirname "$0")/_ocaml5.sh"
compare_flags=--with-static
. "$SOURCE_DIR/tests/live/_roots_check.sh"
build ocaml5_fibers threads.cmxa ocaml5_fibers.ml roots_basic_stubs.c
check ocaml5_fibers
