#!/usr/bin/env bash
# Roots by the names of a Python program: what it knows of its own variables, attributes, closures,
# generators and frames is what they retain, and paths read as the program writes them. With
# --no-names there are none of them.
. "$(dirname "$0")/_native.sh"

# paths_read ROOT PATH: a list that the root keeps is found there.
paths_read()
{
    "$HEAPSNAP" sql "$work/heap.snap" --format tsv >"$work/lists" 2>"$work/talk" \
        "select b.id from reached_from('root:$1') r join blocks b on b.id = r.id
         where b.type = 'list'" || fail "lists of $1"
    for list in $(tail -n +2 "$work/lists"); do
        "$HEAPSNAP" paths "$work/heap.snap" --to "#$list" >"$work/paths" 2>"$work/talk" ||
            fail "paths to #$list"
        if grep -qF "= $2" "$work/paths"; then return; fi
    done
    cat "$work/paths"
    fail "no path reads $2"
}

check()
{
    start "$1" "$fixtures/python_names.py"
    dump
    echo "$1:"
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$1: roots"
    python3 "$SOURCE_DIR/tests/live/_python_names_compare.py" "$work/log" "$work/roots.json" ||
        fail "$1"
    paths_read __main__.held __main__.held.rows
    case "$("$1" -c 'import sys; print(sys.version_info >= (3, 11))')" in
    True)
        paths_read __main__.closure __main__.closure.__closure__.rows
        paths_read __main__.generator __main__.generator.state
        ;;
    esac
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
