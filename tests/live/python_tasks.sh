#!/usr/bin/env bash
# Variables of what tasks of asyncio wait in are roots: those of one line of all tasks together are
# one, and each owns what the program says, in every version. With --no-names there are none.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_python.sh"

check()
{
    local line
    start "$1" "$fixtures/python_tasks.py"
    dump
    echo "$1:"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$1: roots"
    python3 "$SOURCE_DIR/tests/live/_python_tasks_compare.py" "$work/log" "$work/roots.json" ||
        fail "$1"
    COLUMNS=120 "$HEAPSNAP" roots "$work/heap.snap" --group-by frame -n 4 >"$work/frames" \
        2>"$work/talk" || fail "$1: frames"
    line=$(awk '/ task serve\(\) local request$/ { print $3 }' "$work/log")
    grep -q "task serve() (python_tasks.py:$line)" "$work/frames" ||
        { cat "$work/frames"; fail "$1: no such frame"; }
    dump --no-names
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$1: roots of no names"
    if grep -q "task serve" "$work/roots.json"; then fail "$1: a name in spite of --no-names"; fi
    leave
}

n_checked=0
for python in $(pythons 3.13 3.14); do
    check "$python"
    n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no python3"; exit 77; }
