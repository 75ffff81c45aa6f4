#!/usr/bin/env bash
# The edges of Python's objects are what the interpreter says they refer to: dead slots, hashes,
# characters and what freed memory held before give none.
. "$(dirname "$0")/_native.sh"

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
declare -A seen
for python in /usr/bin/python3 "$(command -v python3)" \
    "$HOME"/.pyenv/versions/3.{9,10,12,13}.*/bin/python3; do
    [ -x "$python" ] || continue
    real=$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))') || continue
    [ -z "${seen[$real]:-}" ] || continue
    seen[$real]=1
    check "$real"
    n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no python3"; exit 77; }
