#!/usr/bin/env bash
# parts: ocaml
# Stops of a program that hardly does anything but allocate large blocks: each dump is exact, or
# says why not, and what does not change is right in all of them.
. "$(dirname "$0")/_roots.sh"
build heap_storm unix heap_storm.ml
start "$work/heap_storm.stripped"
n_exact=0
many_stops stripped 20
echo "$n_exact of 20 stops are exact"
[ "$n_exact" -ge 10 ] || fail "too few stops are exact"
