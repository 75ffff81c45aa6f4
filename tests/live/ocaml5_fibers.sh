#!/usr/bin/env bash
# parts: ocaml
# A suspended continuation, nested fibers, a callback in a fiber, domains with threads, local
# storage and finalisers of their own.
. "$(dirname "$0")/_ocaml5.sh"
compare_flags=--with-static
. "$SOURCE_DIR/tests/live/_roots_check.sh"
build ocaml5_fibers threads.cmxa ocaml5_fibers.ml roots_basic_stubs.c
check ocaml5_fibers

# A suspended continuation is called by the call that it waits in, in the stripped program, too.
line=$(grep -n -m 1 "Effect.perform Park" "$fixtures/ocaml5_fibers.ml" | cut -d: -f1)
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" || fail "types"
grep -qF "continuation of Ocaml5_fibers.body (ocaml5_fibers.ml:$line)" "$work/types" ||
    { grep continuation "$work/types"; fail "the parked continuation has no name"; }

# Values of domains' local storage are told by the variable of their key, without files, too.
"$HEAPSNAP" object "$work/heap.snap" type:Domain.DLS >"$work/object" || fail "object"
grep -qE 'Ocaml5_fibers field [0-9]+[^:]*: ' "$work/object" ||
    { cat "$work/object"; fail "no key of local storage"; }
