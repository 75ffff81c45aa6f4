#!/usr/bin/env bash
# Roots by the names of a Python program: what it knows of its own variables, attributes, closures,
# generators and frames is what they retain. With --no-names there are none of them.
. "$(dirname "$0")/_native.sh"

check()
{
    start "$1" "$fixtures/python_names.py"
    dump
    echo "$1:"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$1: roots"
    python3 "$SOURCE_DIR/tests/live/_python_names_compare.py" "$work/log" "$work/roots.json" ||
        fail "$1"
    dump --no-names
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$1: roots of no names"
    if grep -q "__main__" "$work/roots.json"; then fail "$1: a name in spite of --no-names"; fi
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
