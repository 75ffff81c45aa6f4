#!/usr/bin/env bash
# A block gets no type that it has not earned: one node at its beginning makes it no array of nodes,
# and text in a large buffer no string of C++.
. "$(dirname "$0")/_native.sh"
need gcc

gcc -O1 -g -o "$work/earned" "$fixtures/types_earned.c" || fail "building"
start "$work/earned"
dump
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" 2>/dev/null || fail "types"
if grep -e 'node\[\]' -e 'string text' "$work/types"; then
    fail "types that nobody said"
fi
grep -q 'struct node$' "$work/types" || fail "nodes have lost their type"
leave
