#!/usr/bin/env bash
# parts: ocaml export
# Weak arrays and ephemerons of a live program: nothing weak is reached, data lives by its keys.
. "$(dirname "$0")/_roots.sh"
build heap_weak unix heap_weak.ml
# A minor heap that is never collected keeps the dead data where it is.
export OCAMLRUNPARAM="s=4M"
check heap_weak
start "$work/heap_weak.stripped"
"$HEAPSNAP" dump "$pid" -o "$work/heap.snap" || fail "dump"
"$ORACLE" "$work/heap.snap" sum | tee "$work/sum"
alive=$(awk '/^by ephemerons/ { print $3 }' "$work/sum")
stated=$(awk '/^ALIVE/ { print $2 }' "$work/log")
[ "$alive" = "$stated" ] || fail "$alive words live by ephemerons, the program made $stated"
"$HEAPSNAP" export "$work/heap.snap" --to graph -o "$work/graph"
dead=$(awk -F'\t' '$6 == "-" && ($3 == 701 || $3 == 301) { n += $3 } END { print n + 0 }' \
    "$work/graph/nodes.tsv")
stated=$(awk '/^DEAD/ { print $2 }' "$work/log")
[ "$dead" = "$stated" ] || fail "$dead words of data are dead, the program dropped $stated"
awk -F"\t" '$4 == "weak" { n++ } END { exit n == 0 }' "$work/graph/edges.tsv" || fail "no weak edge"
