#!/usr/bin/env bash
# A block gets no type that it has not earned: one node at its beginning makes it no array of nodes,
# and text in a large buffer no string of C++; nor the type that one pointer of a hundred says.
. "$(dirname "$0")/_native.sh"
need gcc g++

gcc -O1 -g -o "$work/earned" "$fixtures/types_earned.c" || fail "building"
start "$work/earned"
dump
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" 2>/dev/null || fail "types"
if grep -e 'node\[\]' -e 'string text' "$work/types"; then
    fail "types that nobody said"
fi
grep -q 'struct node$' "$work/types" || fail "nodes have lost their type"
grep -q 'struct owner$' "$work/types" || fail "the many did not win: $(cat "$work/types")"
if grep 'struct another$' "$work/types"; then
    fail "what one variable says"
fi
leave

# Nor one of what it only has as a member, where the C library alone has debug information.
g++ -O2 -std=c++17 -pthread -o "$work/lent" "$fixtures/types_lent.cpp" || fail "building"
start "$work/lent" 3000
rm -f "$work"/heap.snap.idx
dump
"$HEAPSNAP" types "$work/heap.snap" -n 0 >"$work/types" 2>/dev/null || fail "types"
if grep -e 'pthread_mutex_t\[\]' -e '__pthread_internal_list' "$work/types"; then
    fail "a program's blocks have types of the C library"
fi
leave
