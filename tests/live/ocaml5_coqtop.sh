#!/usr/bin/env bash
# Debian 13's coqtop (OCaml 5.3, stripped) in its scratch root, with a large library loaded: two
# dumps of the stopped process say the same; the roots that reach most equal the runtime's own
# caml_obj_reachable_words, called in the same stopped process; names come from the .cmt files; the
# target lives on.
OCAML5_WITH=--coq
. "$(dirname "$0")/_ocaml5.sh"
. "$SOURCE_DIR/tests/live/_coqtop.sh"
need gdb chroot
[ "$(id -u)" -eq 0 ] || { echo "skipped: chroot needs root"; exit 77; }
[ -n "${ocaml5_root:-}" ] || { echo "skipped: OCAML5 names a compiler, not a root"; exit 77; }

with_names
start_coqtop chroot "$ocaml5_root" coqtop -q
dump_stopped
counts_equal ocaml5 "$(readlink "/proc/$pid/exe")"
works_on
echo "coqtop: all well"
