#!/usr/bin/env bash
# parts: python
# Variables of what greenlets and tasks of asyncio and trio wait in are roots: those of one line of
# all tasks together are one, and each owns what the program says, in every version. With --no-names
# there are none.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_python.sh"

# agree PYTHON PROGRAM [SHARE]: a program, its dump, and what it says of itself.
agree()
{
    start "$1" "$fixtures/$2"
    dump
    echo "$1 $2:"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$1: roots"
    python3 "$SOURCE_DIR/tests/live/_python_tasks_compare.py" "$work/log" "$work/roots.json" \
        "${@:2}" || fail "$1 $2"
}

# in_group PYTHON GROUP: there is one of this name among those of threads.
in_group()
{
    "$HEAPSNAP" roots "$work/heap.snap" --group-by thread -n 0 >"$work/threads" 2>"$work/talk" ||
        fail "$1: threads"
    grep -q " $2 " "$work/threads" || fail "$1: no group $2"
}

# nameless PYTHON NAME: with --no-names no root's name begins so.
nameless()
{
    dump --no-names
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$1: roots of no names"
    if grep -q "$2" "$work/roots.json"; then fail "$1: '$2' in spite of --no-names"; fi
}

check()
{
    local line
    agree "$1" python_tasks.py
    in_group "$1" "asyncio tasks"
    COLUMNS=120 "$HEAPSNAP" roots "$work/heap.snap" --group-by frame -n 4 >"$work/frames" \
        2>"$work/talk" || fail "$1: frames"
    line=$(awk '/ task serve\(\) local request$/ { print $3 }' "$work/log")
    grep -q "task serve() (python_tasks.py:$line)" "$work/frames" ||
        { cat "$work/frames"; fail "$1: no such frame"; }
    nameless "$1" "task serve"
    leave
}

check_trio()
{
    agree "$1" python_trio.py
    in_group "$1" "trio tasks"
    leave
}

# Since 3.11 they have stacks of their own. What calls that have returned left there may hold some.
check_greenlets()
{
    agree "$1" python_greenlets.py 0.04
    in_group "$1" greenlets
    nameless "$1" "greenlet serve"
    leave
}

# has PYTHON MODULE
has()
{
    "$1" -c "import $2" 2>"$work/talk" || { echo "$1: no $2"; return 1; }
}

n_checked=0
for python in $(pythons 3.13 3.14); do
    check "$python"
    if has "$python" trio; then check_trio "$python"; fi
    if [ "$(minor "$python")" -ge 11 ] && has "$python" greenlet; then
        check_greenlets "$python"
    fi
    n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no python3"; exit 77; }
