#!/usr/bin/env bash
# parts: ocaml
# Stops of three domains of OCaml 5 that hardly do anything but allocate, that compute, and among
# which others start and end: what each keeps, in a global and on its stack, is right in all dumps,
# and a dump that is called exact has no proof that fails.
. "$(dirname "$0")/_ocaml5.sh"
compare_flags=--with-static
. "$SOURCE_DIR/tests/live/_roots_check.sh"
build ocaml5_storm ocaml5_storm.ml
n_exact=0
n=0
for run in "ocaml5_storm alloc 8" "ocaml5_storm.stripped alloc 4" \
    "ocaml5_storm.stripped compute 3" "ocaml5_storm churn 8"; do
    read -r program mode stops <<<"$run"
    start "$work/$program" "$mode"
    many_stops "$run" "$stops"
    n=$((n + stops))
done
echo "$n_exact of $n stops are exact"
[ "$n_exact" -ge 18 ] || fail "too few stops are exact"
