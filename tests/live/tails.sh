#!/usr/bin/env bash
# Types flow on from the elements of an array that a record ends with: as many of each as the
# program made.
. "$(dirname "$0")/_native.sh"
need gcc

for options in "-O0 -gdwarf-5" "-O2 -gdwarf-4"; do
    # shellcheck disable=SC2086
    gcc $options -o "$work/tails" "$fixtures/tails.c" || fail "building $options"
    start "$work/tails" 1000
    rm -f "$work"/heap.snap.idx
    dump
    types_are "$options"
    leave
done
