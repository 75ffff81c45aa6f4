#!/usr/bin/env bash
# parts: ocaml
# Debian's coqtop, stripped, with a large library loaded: two dumps of the stopped process are the
# same bytes; the roots that reach most equal the runtime's own caml_obj_reachable_words, called in
# the same stopped process; the sums close; the target lives on.
. "$SOURCE_DIR/tests/live/_target.sh"
. "$SOURCE_DIR/tests/live/_coqtop.sh"
need coqtop nm python3

start_coqtop coqtop -q
dump_stopped
counts_equal ocaml4
works_on
echo "coqtop: all well"
