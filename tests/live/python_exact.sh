#!/usr/bin/env bash
# parts: python export
# The edges of Python's objects are what the interpreter says they refer to: dead slots, hashes,
# characters and what freed memory held before give none.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_python.sh"

check()
{
    start "$1" "$fixtures/python_exact.py"
    dump
    rm -rf "$work/graph"
    mkdir "$work/graph"
    "$HEAPSNAP" export "$work/heap.snap" --to graph -o "$work/graph" 2>"$work/talk" ||
        fail "$1: export"
    echo "$1:"
    python3 "$SOURCE_DIR/tests/live/_python_exact_compare.py" "$work/log" "$work/graph" ||
        fail "$1"
    leave
}

n_checked=0
for python in $(pythons 3.14); do
    check "$python"
    n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no python3"; exit 77; }
