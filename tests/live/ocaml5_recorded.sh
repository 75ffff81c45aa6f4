#!/usr/bin/env bash
# parts: ocaml record
# As ocaml_recorded.sh, in OCaml 5: domains, effects, and the packing of places since 5.2.
. "$(dirname "$0")/_ocaml5.sh"
. "$SOURCE_DIR/tests/live/_recorded.sh"

build recorded recorded.ml
compare "$work/recorded" 8000 20000
compare "$work/recorded.stripped" 8000 20000
compare "$work/recorded" 1 300

build recorded_rough threads.cmxa recorded_rough.ml
OCAMLRUNPARAM=l=200k same "$work/recorded_rough" 80000 2000
build recorded_domains recorded_domains.ml
same "$work/recorded_domains" 80000 2000

build recorded_own recorded_own.ml
for stop in "" stop; do
    # shellcheck disable=SC2086
    "$work/recorded_own" $stop >"$work/alone" || fail "own alone"
    # shellcheck disable=SC2086
    told "until the program used Gc.Memprof itself" "$work/recorded_own" $stop
    cmp "$work/alone" "$work/out" || fail "a program that samples by itself says something else"
done
