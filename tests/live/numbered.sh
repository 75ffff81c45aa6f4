#!/usr/bin/env bash
# Types flow on from the elements of what `new T[n]` gave, whether or not their number stands before
# them: as many of each as the program made.
. "$(dirname "$0")/_native.sh"
need g++

for options in "-O0 -gdwarf-5" "-O2 -gdwarf-4"; do
    # shellcheck disable=SC2086
    g++ -std=c++17 $options -o "$work/numbered" "$fixtures/numbered.cpp" || fail "building $options"
    start "$work/numbered" 500
    rm -f "$work"/heap.snap.idx
    dump
    types_are "$options"
    leave
done
