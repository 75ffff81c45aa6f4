#!/usr/bin/env bash
# parts: ocaml
# An OCaml program that is not a native one of 4.13 or 4.14 is told what it is, with exit code 3,
# and goes on.
. "$(dirname "$0")/_roots.sh"

# refused PROGRAM PATTERN: dumps the running process $pid
refused()
{
    local code=0
    rm -f "$work/heap.snap"
    "$HEAPSNAP" dump "$pid" -o "$work/heap.snap" >"$work/out" 2>&1 || code=$?
    cat "$work/out"
    [ "$code" = 3 ] || fail "$1: exit code $code, expected 3"
    grep -q -e "$2" "$work/out" || fail "$1: the message lacks '$2'"
    [ ! -e "$work/heap.snap" ] || fail "$1: a file was left behind"
    kill -0 "$pid" || fail "$1: the target did not survive"
}

cp "$fixtures/heap_wait.ml" "$work/"
(cd "$work" && ocamlfind ocamlc -w -a heap_wait.ml -o heap_wait.byte &&
    ocamlfind ocamlc -w -a -custom heap_wait.ml -o heap_wait.custom)
for variant in byte custom; do
    start "$work/heap_wait.$variant"
    refused "$variant" "bytecode"
    leave
done
