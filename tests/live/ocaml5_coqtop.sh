#!/usr/bin/env bash
# parts: ocaml
# Debian 13's coqtop (OCaml 5.3, stripped) in its scratch root, with a large library loaded: two
# dumps of the stopped process say the same; the roots that reach most equal the runtime's own
# caml_obj_reachable_words, called in the same stopped process; names come from the .cmt files, and
# of 96 % of the words of structured blocks the types; the target lives on.
OCAML5_WITH=--coq
. "$(dirname "$0")/_ocaml5.sh"
. "$SOURCE_DIR/tests/live/_coqtop.sh"
need nm chroot
[ "$(id -u)" -eq 0 ] || { echo "skipped: chroot needs root"; exit 77; }
[ -n "${ocaml5_root:-}" ] || { echo "skipped: OCAML5 names a compiler, not a root"; exit 77; }

with_names
with_types
start_coqtop chroot "$ocaml5_root" coqtop -q
dump_stopped
"$HEAPSNAP" info "$work/one.snap" | grep -o 'source types: [0-9.]* % .*' >"$work/share" ||
    fail "no source types"
words=$(sed -n 's/.* blocks (\([0-9]*\)[.0-9]* % of words).*/\1/p' "$work/share")
misfits=$(sed -n 's/.* joins, \([0-9]*\) misfits.*/\1/p' "$work/share")
[ "$words" -ge 96 ] && [ "$misfits" -le 10 ] || fail "$(cat "$work/share")"
counts_equal ocaml5
works_on
echo "coqtop: all well"
