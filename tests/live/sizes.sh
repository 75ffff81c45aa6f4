#!/usr/bin/env bash
# A word behind an object of C++, which malloc adds, and a vector's reserve keep nothing: each of
# two variables keeps what it has, alone, without debug information; also where a library
# deleted nothing yet, so that the loader has not put the function's address where its code jumps.
. "$(dirname "$0")/_native.sh"
need g++

library="-O2 -DNO_SHAPES -L$work -Wl,-rpath,$work -lshapes"
g++ -std=c++17 -s -O2 -shared -fPIC -Wl,-z,lazy -DONLY_SHAPES -o "$work/libshapes.so" \
    "$fixtures/sizes.cpp" || fail "building the library"

for options in -O0 -O2 "-O2 -fno-plt" "$library"; do
    # shellcheck disable=SC2086
    g++ -std=c++17 -s -rdynamic -o "$work/sizes" "$fixtures/sizes.cpp" $options ||
        fail "building $options"
    start "$work/sizes" 2000
    rm -f "$work"/heap.snap.idx
    dump
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" || fail "roots"
    python3 - "$work/roots.json" "$options" <<'PYTHON' || fail "$options"
import json, sys
found = {r["name"]: r for r in json.load(open(sys.argv[1]))["roots"]}
others, shapes = found["others"], found["shapes"]
print(f"{sys.argv[2]}: others {others['retained_words']} of {others['reachable_words']}, shapes "
      f"{shapes['retained_words']} of {shapes['reachable_words']}")
# Of texts nothing tells how large they are: one of these may have a word more.
sys.exit(min(others["retained_objects"], shapes["retained_objects"]) < 1996)
PYTHON
    leave
done
