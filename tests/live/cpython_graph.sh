#!/usr/bin/env bash
# parts: python
# What Python's objects keep: the lists of the collector and weak references keep nothing, so that
# a dictionary retains what it holds, cycles out of use are possible leaks, what is in use is none.
. "$(dirname "$0")/_native.sh"

# judge NAME: what the program said against $work/heap.snap
judge()
{
    local tree live garbage value
    tree=$(awk '/^TREE/ { print $2 }' "$work/log")
    live=$(awk '/^LIVE/ { print $2 }' "$work/log")
    garbage=$(awk '/^GARBAGE/ { print $2 }' "$work/log")
    value=$(awk '/^VALUE/ { print $2 }' "$work/log")
    for what in tree live garbage value; do
        "$HEAPSNAP" object "$work/heap.snap" "${!what}" --json >"$work/$what.json" ||
            fail "$1: no object $what at ${!what}"
    done
    "$HEAPSNAP" leaks "$work/heap.snap" --json -n 0 >"$work/leaks.json" || fail "leaks"
    "$HEAPSNAP" dominators "$work/heap.snap" --json -n 20 >"$work/dominators.json" ||
        fail "dominators"
    "$HEAPSNAP" info "$work/heap.snap" --json >"$work/info.json" || fail "info"
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" || fail "types"
    python3 "$SOURCE_DIR/tests/live/_cpython_graph_compare.py" "$work" || fail "$1"
}

check()
{
    start "$1" "$fixtures/cpython_graph.py"
    echo "$1:"
    dump
    judge "$1"
    leave
}

n_checked=0
declare -A seen
for python in /usr/bin/python3 "$(command -v python3)" \
    "$HOME"/.pyenv/versions/3.{8,10,12,13}.*/bin/python3; do
    [ -x "$python" ] || continue
    real=$("$python" -c 'import os, sys; print(os.path.realpath(sys.executable))') || continue
    [ -z "${seen[$real]:-}" ] || continue
    seen[$real]=1
    check "$real"
    n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || exit 77
