#!/usr/bin/env bash
# parts: python sql
# Roots by the names of a Python program: what it knows of its own variables, attributes, closures,
# generators and frames is what they retain, and paths read as the program writes them. With
# --no-names there are none of them.
. "$(dirname "$0")/_native.sh"
. "$(dirname "$0")/_python.sh"

# paths_read ROOT PATH: a list that the root keeps is found there.
paths_read()
{
    "$HEAPSNAP" sql "$work/heap.snap" --format tsv >"$work/lists" 2>"$work/talk" \
        "select b.id from reached_from('root:$1') r join blocks b on b.id = r.id
         where b.type = 'list' order by b.retained_words desc" || fail "lists of $1"
    for list in $(tail -n +2 "$work/lists"); do
        "$HEAPSNAP" paths "$work/heap.snap" --to "#$list" >"$work/paths" 2>"$work/talk" ||
            fail "paths to #$list"
        if grep -qF "= $2" "$work/paths"; then return; fi
    done
    cat "$work/paths"
    fail "no path reads $2"
}

# All 300 on one way, wherever the objects of one class have the attribute, and nothing on it that
# the language has no name for.
tree_reads()
{
    COLUMNS=200 "$HEAPSNAP" paths "$work/heap.snap" --to type:__main__.Leaf >"$work/paths" \
        2>"$work/talk" || fail "paths to a type"
    grep -qE "^ *300 .* global __main__\.members \(python_names\.py\) > list\[\*\]" "$work/paths" &&
        grep -qE "> __main__\.Member\.kept > list\[\*\] > __main__\.Leaf$" "$work/paths" && return
    cat "$work/paths"
    fail "the tree of paths reads otherwise"
}

# says ROOT TEXT: what the suspects' paragraph about the root says of it.
says()
{
    "$HEAPSNAP" suspects "$work/heap.snap" --threshold 1 -n 0 2>"$work/talk" |
        awk -v RS= '{ gsub(/\n +/, " "); print }' >"$work/suspects" || fail "suspects"
    grep -F " $1 (" "$work/suspects" | grep -qF "$2" && return
    cat "$work/suspects"
    fail "suspects do not say '$2' of $1"
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
    if [ "$(minor "$1")" -lt 12 ]; then # a variable of its own, with a symbol or stripped
        grep -qE '"name": ?"interned( texts)?"' "$work/roots.json" ||
            fail "$1: the table of interned texts has no name"
    fi
    paths_read __main__.held __main__.held.rows
    paths_read __main__.page __main__.page.rows
    "$HEAPSNAP" types "$work/heap.snap" --json -n 0 >"$work/types.json" 2>"$work/talk" ||
        fail "$1: types"
    if ! grep -qF '"__main__.Page[...]"' "$work/types.json" ||
        grep -qa "private words" "$work/types.json" "$work/heap.snap.idx"; then
        fail "$1: a class that is called by no identifier"
    fi
    paths_read __main__.closure __main__.closure.__closure__.rows
    case "$("$1" -c 'import sys; print(sys.version_info >= (3, 11))')" in
    True)
        paths_read __main__.generator __main__.generator.state
        tree_reads
        says __main__.table "is Python's convention: another object refers to it, too, "
        says __main__.Cache.entries "alone keeps"
        ;;
    False) paths_read __main__.generator __main__.generator.gi_frame.state ;;
    esac
    dump --no-names
    "$HEAPSNAP" roots "$work/heap.snap" --json -n 0 >"$work/roots.json" 2>"$work/talk" ||
        fail "$1: roots of no names"
    if grep -q "__main__" "$work/roots.json"; then fail "$1: a name in spite of --no-names"; fi
    leave
}

n_checked=0
for python in $(pythons 3.13 3.14); do
    check "$python"
    n_checked=$((n_checked + 1))
done
[ "$n_checked" -gt 0 ] || { echo "skipped: no python3"; exit 77; }
